"""The command ``clgeom``. One function per command; what a command needs is imported when it runs."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import click

from clgeom.io import terminal

#: Commands that live beside their algorithms: name -> (module, attribute, one line of help). Imported when used.
ELSEWHERE = {
    "dp": ("clgeom.dp.command", "dp", "Dynamic programming: sequences, knapsacks, tables by a recurrence."),
    "region": ("clgeom.region.command", "region", "Coverage polygons of a raster or of points."),
    "sort": ("clgeom.sort.command", "sort", "Sort the numbers of a file."),
}


class Commands(click.Group):
    """A group that lists the commands of ELSEWHERE without importing them and reports every error in one line."""

    def list_commands(self, ctx):
        return [*super().list_commands(ctx), *(name for name in ELSEWHERE if _exists(name))]

    def get_command(self, ctx, name):
        if name in ELSEWHERE and _exists(name):
            module, attribute, _ = ELSEWHERE[name]
            return getattr(importlib.import_module(module), attribute)
        return super().get_command(ctx, name)

    def format_commands(self, ctx, formatter):
        here = [(name, self.commands[name].get_short_help_str(80)) for name in super().list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [*here, *((name, help) for name, (*_, help) in ELSEWHERE.items() if _exists(name))]
            )

    def main(self, *args, standalone_mode=True, **kwargs):
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **kwargs)
        sys.exit(_run(lambda: super(Commands, self).main(*args, standalone_mode=False, **kwargs)))


def _exists(name) -> bool:
    """Whether the module of a command is there; asked of the file system, for that imports nothing."""
    relative = ELSEWHERE[name][0].removeprefix("clgeom.").replace(".", "/") + ".py"
    return (Path(__file__).parent / relative).exists()


def _run(command) -> int:
    """Run a command; its exit code, with one line on stderr for what the user did wrong."""
    from clgeom.errors import ClgeomError, KernelBuildError

    try:
        result = command()
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        return _complain(error.format_message())
    except KernelBuildError as error:  # carries the source and the compiler's log
        _complain(error)
        return 1
    except ClgeomError as error:
        return _complain(" ".join(str(error).split()))
    except OSError as error:  # of what is printed to: files have errors of ours
        sys.stdout = None  # not to be flushed once more
        _complain(error)
        return 1
    except (click.Abort, KeyboardInterrupt):
        click.echo("clgeom: stopped", err=True)
        return 130


def _complain(message) -> int:
    click.echo(f"clgeom: error: {message}", err=True)
    return 2


@click.group(
    cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.pass_context
def cli(ctx, version):
    """Exact convex hulls, and more, on any OpenCL device."""
    if version:
        import clgeom

        click.echo(f"clgeom {clgeom.__version__}")
        ctx.exit()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main():
    """Entry point of the command ``clgeom``."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # names of places on a terminal that knows few letters
    cli.main(prog_name="clgeom")


# Devices and their health ---------------------------------------------------------------------------------------


@cli.command()
@terminal.json_option
def devices(as_json):
    """List the OpenCL devices of this machine."""
    from clgeom.errors import NoDevice
    from clgeom.runtime.device import devices as find
    from clgeom.runtime.device import why_none

    found = find()
    if as_json:
        terminal.print_json([profile.asdict() for profile in found])
        return
    if not found:
        raise NoDevice(why_none())
    rows = [
        (
            profile.kind,
            profile.name,
            profile.platform,
            f"{profile.compute_units}",
            f"{profile.global_mem_bytes / 2**30:.1f} GiB",
            f"{profile.local_mem_bytes // 1024} KiB",
            f"{profile.max_wg_size}",
            "yes" if profile.fp64 else "no",
        )
        for profile in found
    ]
    terminal.print_table(
        ("kind", "name", "platform", ">units", ">memory", ">local", ">work-group", "fp64"), rows
    )
    click.echo(
        "The first is taken by default; --device or CLGEOM_DEVICE chooses another by part of its name."
    )


@cli.command()
@terminal.device_option
@terminal.json_option
def selftest(device, as_json):
    """Check every kernel against its reference on a device."""
    from clgeom.runtime.device import as_session
    from clgeom.selftest import run

    session = as_session(device)
    if not as_json:
        click.echo(f"Testing {session.profile.name} ({session.profile.platform})")
    checks = []
    for check in run(session):
        checks.append(check)
        if not as_json:
            mark = click.style("ok  ", fg="green") if check.ok else click.style("FAIL", fg="red")
            click.echo(f"{mark} {check.name:<40} {check.seconds:8.3f} s  {check.detail}".rstrip())
    failed = sum(not check.ok for check in checks)
    if as_json:
        fields = [
            {name: getattr(check, name) for name in ("name", "ok", "detail", "seconds")} for check in checks
        ]
        terminal.print_json({"device": session.profile.asdict(), "failed": failed, "checks": fields})
    else:
        click.echo(f"{len(checks) - failed} of {len(checks)} checks passed")
    sys.exit(1 if failed or not checks else 0)


# Hulls ----------------------------------------------------------------------------------------------------------


@cli.command()
@click.option("-o", "--output", metavar="PNG", help="Where to draw the picture; default: clgeom-demo.png.")
@terminal.device_option
def demo(output, device):
    """Compute and draw the convex hull of the cities of the world."""
    from clgeom import convex_hull, plot
    from clgeom.data import cities
    from clgeom.errors import InvalidInput
    from clgeom.io.atomic import check_output
    from clgeom.runtime.device import as_session

    picture = output or "clgeom-demo.png"
    check_output(picture, plot.FORMATS)
    no_picture = None
    try:
        plot.require_matplotlib()
    except InvalidInput as error:
        if output:
            raise
        no_picture = error
    session, world = as_session(device), cities()
    hull, first = terminal.timed(convex_hull, world.points, device=session)
    again = min(terminal.timed(convex_hull, world.points, device=session)[1] for _ in range(5))
    names = [world.label(index) for index in hull.vertices]
    terminal.print_facts(
        ("cities", f"{len(world):,} (GeoNames, CC BY 4.0)"),
        ("device", terminal.device_words(session)),
        ("hull", f"{len(names)} corners, area {hull.area:,.2f} square degrees"),
        ("time", f"{terminal.duration(again)} (first call, with kernel builds: {terminal.duration(first)})"),
        ("corners", ", ".join(names)),
    )
    if no_picture:
        click.echo(f"picture    none. {no_picture}")
        return
    title = f"Convex hull of {len(world):,} cities: {len(names)} corners"
    plot.save_hull_plot(hull, picture, points=world.points, labels=names, title=title)
    terminal.print_facts(("picture", picture))


@cli.command()
@click.argument("file")
@terminal.columns_option("Columns of x and y, by name or number from 1.")
@click.option("--by", metavar="COLUMN", help="A hull for each group of points: what names the groups.")
@click.option("--array", metavar="NAME", help="Which array of a .npz file.")
@click.option("-o", "--output", metavar="OUT", help="Write the hull: .geojson, .csv, .wkt, .npy or .npz.")
@click.option("--plot", "picture", metavar="PNG", help="Draw points and hull: .png, .svg or .pdf.")
@click.option(
    "--trace", metavar="GIF", help="Draw how sorted blocks of points merge into the hull: .gif or .png."
)
@click.option("--collinear", type=click.Choice(["keep", "drop"]), default="drop", show_default=True,
              help="Points on the hull's edges: vertices or not.")  # fmt: skip
@click.option("--nonfinite", type=click.Choice(["raise", "drop"]), default="raise", show_default=True,
              help="Points with NaN or infinity: an error, or left out.")  # fmt: skip
@click.option("--profile", is_flag=True, help="Print what each phase took, moved and was shaped as.")
@terminal.device_option
@terminal.json_option
def hull(file, columns, by, array, output, picture, trace, collinear, nonfinite, profile, device, as_json):
    """Convex hull of the points in FILE (.npy, .npz, .csv, .tsv, .txt).

    Tables may have a header; columns named like lon,lat or x,y or easting,northing are found. Lines that start
    with # are comments.

    With --by there is one hull for each value, integer or text, of a column (of a .npz file: an array); -o writes a
    polygon, line or point for each to .geojson, or the vertices to .csv.
    """
    if by is not None:
        if picture or trace:
            raise click.UsageError("--plot and --trace draw a single hull, and --by makes many.")
        options = {"collinear": collinear, "nonfinite": nonfinite, "profile": profile}
        _hulls_by(by, file, columns, array, output, device, as_json, options)
        return
    from clgeom import convex_hull
    from clgeom.io.hulls import write_hull
    from clgeom.io.points import read_points
    from clgeom.runtime.device import as_session

    _check_outputs(file, output, picture, trace)
    with terminal.progress(f"reading {file}", hidden=as_json) as progress:
        points, reading = terminal.timed(read_points, file, columns=columns, array=array, progress=progress)
    if trace:
        from clgeom.plot import check_traceable

        check_traceable(points)
    session = as_session(device)
    options = {"collinear": collinear, "nonfinite": nonfinite, "profile": profile}
    with terminal.progress("hull", hidden=as_json) as progress:
        found, computing = terminal.timed(convex_hull, points, device=session, progress=progress, **options)
    if picture:  # first, for it may be refused: then nothing is written
        from clgeom.plot import save_hull_plot

        save_hull_plot(found, picture, points=points)
    if trace:
        _save_trace(points, trace, collinear, nonfinite, session)
    if output:
        write_hull(found, output)
    if as_json:
        terminal.print_json(_hull_as_json(found, session, {"read": reading, "hull": computing}, profile))
        return
    terminal.print_facts(
        ("points", f"{found.n:,} ({points.dtype})"),
        ("device", terminal.device_words(session)),
        ("hull", f"{len(found.vertices):,} vertices, dimension {found.dimension}"),
        ("area", f"{found.area!r}"),
        ("perimeter", f"{found.perimeter!r}"),
        ("time", f"{terminal.duration(computing)} (reading the file: {terminal.duration(reading)})"),
        *(("wrote", name) for name in (output, picture, trace) if name),
    )
    if profile:
        terminal.print_phases(found.phases)


def _hulls_by(by, file, columns, array, output, device, as_json, options):
    """What ``clgeom hull --by`` does."""
    from clgeom import convex_hulls_by_label
    from clgeom.io.atomic import check_output
    from clgeom.io.groups import HULLS_FORMATS, read_groups, write_hulls
    from clgeom.runtime.device import as_session

    if output:
        check_output(output, HULLS_FORMATS)
        _check_outputs(file, output, None)
    with terminal.progress(f"reading {file}", hidden=as_json) as progress:
        (points, labels, names, title), reading = terminal.timed(
            read_groups, file, by, columns=columns, array=array, progress=progress
        )
    session = as_session(device)
    batch, computing = terminal.timed(convex_hulls_by_label, points, labels, device=session, **options)
    if output:
        write_hulls(batch, names, title, output)
    if as_json:
        facts = {"points": len(points), "by": title, "hulls": _hulls_as_json(batch, names)}
        facts |= {"device": session.profile.name, "seconds": {"read": reading, "hulls": computing}}
        terminal.print_json(facts)
        return
    terminal.print_facts(
        ("points", f"{len(points):,} ({points.dtype})"),
        ("device", terminal.device_words(session)),
        ("hulls", f"{len(batch):,} by {title}, {len(batch.vertices):,} vertices"),
        ("time", f"{terminal.duration(computing)} (reading the file: {terminal.duration(reading)})"),
        *((("wrote", output),) if output else ()),
    )
    if options["profile"]:
        terminal.print_phases(batch.phases)


def _hulls_as_json(batch, names):
    from clgeom.io.hulls import finite

    return [
        {
            "group": name,
            "points": int(hull.n),
            "dimension": hull.dimension,
            "vertices": hull.vertices.tolist(),
            "coordinates": hull.points.tolist(),
            "area": finite(area),
            "perimeter": finite(perimeter),
        }
        for name, hull, area, perimeter in zip(names, batch, batch.areas.tolist(), batch.perimeters.tolist())
    ]


def _save_trace(points, path, collinear, nonfinite, session):
    """Draw the stages of both hoods of the points that the hull is of."""
    import numpy as np

    from clgeom import lower_hood, upper_hood
    from clgeom.plot import save_trace
    from clgeom.runtime.arrays import leave_out

    points = np.asarray(leave_out(points, nonfinite=nonfinite, of="hull")[0])
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    options = {"collinear": collinear, "trace": True, "device": session}
    save_trace(points, path, upper_hood(points, **options).stages, lower_hood(points, **options).stages)


def _check_outputs(file, output, picture, trace=None):
    """Everything about the outputs that can be wrong, found before the work starts."""
    from clgeom import plot
    from clgeom.errors import InvalidInput
    from clgeom.io.atomic import check_output
    from clgeom.io.hulls import HULL_FORMATS

    if picture or trace:
        plot.require_matplotlib()
    for name, formats in ((output, HULL_FORMATS), (picture, plot.FORMATS), (trace, plot.TRACE_FORMATS)):
        if name and check_output(name, formats) == Path(file).resolve():
            raise InvalidInput(f"The output '{name}' is the input file.")


def _hull_as_json(found, session, seconds, profile):
    from clgeom.io.hulls import finite

    facts = {
        "points": int(found.n),
        "dimension": int(found.dimension),
        "vertices": found.vertices.tolist(),
        "coordinates": found.points.tolist(),
        "area": finite(found.area),
        "perimeter": finite(found.perimeter),
        "device": session.profile.name,
        "seconds": seconds,
    }
    if profile:
        facts["phases"] = terminal.phases_as_json(found.phases)
    return facts
