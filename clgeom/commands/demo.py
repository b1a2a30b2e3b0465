"""The command ``clgeom demo``: the convex hull of the cities of the world."""

from __future__ import annotations

import click

from clgeom.commands import terminal
from clgeom.commands.options import command, path_option
from clgeom.commands.terminal import Call


@command(json=False)
@path_option("-o", "--output", metavar="PNG", help="Write the picture: .png, .svg or .pdf.  [default: clgeom-demo.png]")
def demo(call: Call, output: str | None) -> None:
    """Compute and draw the convex hull of the cities of the world."""
    from clgeom import convex_hull
    from clgeom.data import cities
    from clgeom.errors import InvalidInput
    from clgeom.io.atomic import check_outputs
    from clgeom.optional import require_matplotlib
    from clgeom.plotting.figures import FORMATS
    from clgeom.plotting.hulls import save_hull_plot
    from clgeom.tuner.explain import OFFER, is_unmeasured

    picture = "clgeom-demo.png" if output is None else output
    check_outputs(None, (picture, FORMATS))
    no_picture = None
    try:
        require_matplotlib()
    except InvalidInput as error:
        if output:
            raise
        no_picture = error
    session, world = call.session, cities()
    hull, first = terminal.timed(convex_hull, world.points, device=session)
    again = min(terminal.timed(convex_hull, world.points, device=session)[1] for _ in range(5))
    names = [world.label(index) for index in hull.vertices]
    terminal.print_facts(
        ("cities", f"{len(world):,} (GeoNames, CC BY 4.0)"),
        ("device", terminal.device_words(session)),
        ("hull", f"{len(names)} corners, area {hull.area:,.2f} square degrees"),
        ("time", f"{terminal.duration(again)} (first call, with kernel builds: {terminal.duration(first)})"),
        ("corners", ", ".join(names)),
        ("tuning", OFFER if is_unmeasured(session.profile) else None),
    )
    if no_picture:
        click.echo(f"picture    none. {no_picture}")
        return
    title = f"Convex hull of {len(world):,} cities: {len(names)} corners"
    filled = hull.dimension == 2
    style = {"title": title, "axes": ("longitude (degrees)", "latitude (degrees)")}
    save_hull_plot(hull.points, picture, filled=filled, points=world.points, labels=names, **style)
    terminal.print_facts(("picture", picture))
