"""The command ``clgeom hull``: the convex hull of points, or of each group of points."""

from __future__ import annotations

import click

from clgeom.commands import terminal
from clgeom.commands.terminal import with_default
from clgeom.runtime.messages import counted

COLLINEAR, NONFINITE = ("keep", "drop"), ("raise", "drop")


@click.command()
@click.argument("file")
@terminal.columns_option("Columns of x and y, by name or by number from 1.")
@click.option("--by", metavar="COLUMN", help="Column whose values name the groups; one hull per value.")
@click.option("--array", metavar="NAME", help="Array of a .npz file.")
@click.option("--crs", help="Coordinate reference system, such as EPSG:32632; GeoJSON is reprojected from it.")
@click.option("-o", "--output", metavar="OUT", help="Write the hull: .geojson, .csv, .wkt, .npy or .npz.")
@click.option("--plot", "picture", metavar="PNG", help="Draw points and hull: .png, .svg or .pdf.")
@click.option("--trace", metavar="GIF", help="Draw how sorted blocks of points merge into the hull: .gif or .png.")
@with_default("--collinear", "drop", "Keep points on edges as vertices, or drop them.", click.Choice(COLLINEAR))
@with_default("--nonfinite", "raise", "Refuse points with NaN or infinity, or drop them.", click.Choice(NONFINITE))
@click.option("--profile", is_flag=True, help="Print time, bytes and shape of each phase.")
@terminal.device_option
@terminal.json_option
@terminal.named_options(points="points")
def hull(file, columns, by, array, crs, output, picture, trace, collinear, nonfinite, profile, device, as_json):
    """Convex hull of the points in FILE (.npy, .npz, .csv, .tsv, .txt).

    The first line of a table is a header if none of its fields is a number. Columns named lon,lat or x,y or
    easting,northing are found. Lines that start with # are comments.

    GeoJSON is in longitude and latitude. It needs columns named lon,lat or longitude,latitude, or --crs, from which
    the hull is reprojected. The other formats keep the coordinates.

    With --by there is one hull for each value of a column, or of an array of a .npz file. -o then writes a polygon,
    line or point for each hull to .geojson, or the vertices to .csv. Names are compared as they are written: 1 and 01
    are two groups.
    """
    from clgeom.io.groups import HULLS_FORMATS
    from clgeom.io.hulls import HULL_FORMATS

    if by is not None and (picture or trace):
        raise click.UsageError("--plot and --trace draw a single hull, and --by makes many.")
    _check_outputs(file, (output, HULL_FORMATS if by is None else HULLS_FORMATS), picture, trace)
    if crs is not None:
        from clgeom.geodesy import as_crs

        as_crs(crs, caller="hull")
    options = {"collinear": collinear, "nonfinite": nonfinite, "profile": profile}
    if by is None:
        _hull_of_all(file, columns, array, crs, output, picture, trace, device, as_json, options)
    else:
        _hulls_by(by, file, columns, array, crs, output, device, as_json, options)


def _hull_of_all(file, columns, array, crs, output, picture, trace, device, as_json, options):
    """Compute, write and print one hull of all points."""
    from clgeom import convex_hull
    from clgeom.io.atomic import replacing
    from clgeom.io.hulls import check_lonlat, encode_hull
    from clgeom.io.points import read_named_points, saying_where
    from clgeom.runtime.device import as_session

    with terminal.progress(f"reading {file}", hidden=as_json) as progress:
        (points, names), reading = terminal.timed(
            read_named_points, file, columns=columns, array=array, progress=progress
        )
    check_lonlat(output, names, crs)
    if trace:
        from clgeom.plotting.hoods import check_traceable

        check_traceable(points)
    session = as_session(device)
    with terminal.progress("hull", hidden=as_json) as progress, saying_where(file):
        found, computing = terminal.timed(convex_hull, points, device=session, progress=progress, **options)
    content = encode_hull(found, output, crs=crs) if output else None
    if picture:  # first, because it may be refused
        from clgeom.plotting.hulls import save_hull_plot

        save_hull_plot(found.points, picture, count=found.n, filled=found.dimension == 2, points=points)
    if trace:
        _save_trace(points, trace, options["collinear"], options["nonfinite"], session)
    if output:
        with replacing(output) as out:
            out.write(content)
    if as_json:
        seconds = {"read": reading, "hull": computing}
        terminal.print_json(_hull_as_json(found, session, seconds, options["profile"]))
        return
    terminal.print_facts(
        ("points", f"{found.n:,} ({points.dtype})"),
        ("device", terminal.device_words(session)),
        ("hull", f"{counted(len(found.vertices), 'vertex', 'vertices')}, dimension {found.dimension}"),
        ("area", f"{found.area!r}"),
        ("perimeter", f"{found.perimeter!r}"),
        ("time", f"{terminal.duration(computing)} (reading the file: {terminal.duration(reading)})"),
        *(("wrote", name) for name in (output, picture, trace) if name),
    )
    if options["profile"]:
        terminal.print_phases(found.phases)


def _hulls_by(by, file, columns, array, crs, output, device, as_json, options):
    """Compute, write and print a hull for each group of points."""
    from clgeom import convex_hulls_by_label
    from clgeom.io.groups import read_groups, write_hulls
    from clgeom.io.hulls import check_lonlat
    from clgeom.io.points import saying_where
    from clgeom.runtime.device import as_session

    with terminal.progress(f"reading {file}", hidden=as_json) as progress:
        (points, pair, labels, names, title), reading = terminal.timed(
            read_groups, file, by, columns=columns, array=array, progress=progress
        )
    check_lonlat(output, pair, crs)
    session = as_session(device)
    with saying_where(file):
        batch, computing = terminal.timed(convex_hulls_by_label, points, labels, device=session, **options)
    if output:
        write_hulls(batch, names, title, output, crs=crs)
    if as_json:
        facts = {"points": len(points), "by": title, "hulls": _hulls_as_json(batch, names)}
        facts |= {"device": session.profile.name, "seconds": {"read": reading, "hulls": computing}}
        terminal.print_json(facts)
        return
    terminal.print_facts(
        ("points", f"{len(points):,} ({points.dtype})"),
        ("device", terminal.device_words(session)),
        ("hulls", f"{len(batch):,} by {title}, {counted(len(batch.vertices), 'vertex', 'vertices')}"),
        ("time", f"{terminal.duration(computing)} (reading the file: {terminal.duration(reading)})"),
        *((("wrote", output),) if output else ()),
    )
    if options["profile"]:
        terminal.print_phases(batch.phases)


def _hulls_as_json(batch, names):
    return [
        {
            "group": name,
            "points": int(hull.n),
            "dimension": hull.dimension,
            "vertices": hull.vertices.tolist(),
            "coordinates": hull.points.tolist(),
            "area": area,
            "perimeter": perimeter,
        }
        for name, hull, area, perimeter in zip(names, batch, batch.areas.tolist(), batch.perimeters.tolist())
    ]


def _save_trace(points, path, collinear, nonfinite, session):
    """Draw the stages of the upper and the lower hood."""
    import numpy as np

    from clgeom import lower_hood, upper_hood
    from clgeom.plotting.hoods import save_trace
    from clgeom.runtime.arrays import leave_out

    points = np.asarray(leave_out(points, nonfinite=nonfinite, caller="hull")[0])
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    options = {"collinear": collinear, "trace": True, "device": session}
    save_trace(points, path, upper_hood(points, **options).stages, lower_hood(points, **options).stages)


def _check_outputs(file, output, picture, trace):
    """Refuse outputs that cannot be written, before the work starts."""
    from clgeom.io.atomic import check_outputs
    from clgeom.optional import require_matplotlib
    from clgeom.plotting.figures import FORMATS
    from clgeom.plotting.hoods import TRACE_FORMATS

    if picture or trace:
        require_matplotlib()
    check_outputs(file, output, (picture, FORMATS), (trace, TRACE_FORMATS))


def _hull_as_json(found, session, seconds, profile):
    facts = {
        "points": int(found.n),
        "dimension": int(found.dimension),
        "vertices": found.vertices.tolist(),
        "coordinates": found.points.tolist(),
        "area": found.area,
        "perimeter": found.perimeter,
        "device": session.profile.name,
        "seconds": seconds,
    }
    if profile:
        facts["phases"] = terminal.phases_as_json(found.phases)
    return facts
