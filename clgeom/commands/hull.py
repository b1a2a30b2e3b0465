"""The command ``clgeom hull``: the convex hull of points, or of each group of points."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from clgeom.arguments import size_in_bytes
from clgeom.commands import terminal
from clgeom.commands.options import (
    Rule,
    array_option,
    columns_option,
    command,
    crs_option,
    output_option,
    path_option,
    plot_option,
    profile_option,
    with_default,
)
from clgeom.core.messages import counted
from clgeom.io.outputs import ARRAYS, BY_PACKAGES, GEOMETRIES, IN_LONLAT, either

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.io.cloud import Cloud

COLLINEAR, NONFINITE = ("keep", "drop"), ("raise", "drop")
#: Dimensions of hulls in words.
DIMENSIONS = {
    -1: "dimension -1 (no points)",
    0: "dimension 0 (a point)",
    1: "dimension 1 (a segment)",
    2: "dimension 2",
}
RULES = (
    Rule("trace", "draws a single hull, and --by makes many.", lambda given: given.by is None),
    Rule("noise", "names a group of --by.", lambda given: given.by is not None),
    Rule("skip_bad max_bytes", "is for --by-file.", lambda given: given.by_file),
    Rule(
        "by picture trace profile",
        "is for points that are read together; --by-file makes a hull for each file.",
        lambda given: not given.by_file,
    ),
)


SECTIONS = {
    "Input": "columns array layer crs",
    "Groups": "by noise by_file skip_bad max_bytes",
    "Hull": "collinear nonfinite antimeridian",
    "Output": "output picture trace profile",
}
EXAMPLES = (
    ("The hull of the points of a table with columns lon and lat", "clgeom hull stations.csv -o hull.geojson"),
    ("A hull for each country, drawn and written", "clgeom hull cities.csv --by country --plot c.png -o c.gpkg"),
    (
        "Columns by name, in metres; GeoJSON is in degrees",
        "clgeom hull a.csv --columns x,y --crs EPSG:32632 -o a.geojson",
    ),
)


@command(sections=SECTIONS, examples=EXAMPLES, rules=RULES, named={"points": "points"})
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@columns_option("Columns of x and y, by name or by number from 1.")
@click.option("--by", metavar="COLUMN", help="Compute a hull for each value of this column.")
@click.option("--by-file", is_flag=True, help="Compute a hull for each file. The command can be interrupted.")
@click.option("--skip-bad", is_flag=True, help="With --by-file: name files that cannot be read, and leave them out.")
@click.option("--max-bytes", metavar="SIZE", help="With --by-file: most memory for points, such as 1GB.")
@click.option("--noise", metavar="VALUE", help="With --by: leave out the points of this value, such as -1.")
@array_option
@click.option("--layer", metavar="NAME", help="Layer of a vector file.")
@crs_option
@click.option(
    "--antimeridian",
    is_flag=True,
    help="Compute the hull across 180 degrees of longitude where the points are closest together there.",
)
@output_option(f"Write the hulls: {either(GEOMETRIES)}; a single hull also as {either(ARRAYS)}.")
@plot_option("Draw points and hulls")
@path_option("--trace", metavar="GIF", help="Draw how blocks of sorted points merge into the hull: .gif or .png.")
@with_default("--collinear", "drop", "Keep points on edges as vertices, or drop them.", click.Choice(COLLINEAR))
@with_default("--nonfinite", "raise", "Refuse points with NaN or infinity, or drop them.", click.Choice(NONFINITE))
@profile_option
def hull(
    files: list[str],
    columns: list[str] | None,
    by: str | None,
    by_file: Any,
    skip_bad: bool,
    max_bytes: str | None,
    noise: str | None,
    array: str | None,
    layer: str | None,
    crs: Any,
    antimeridian: Any,
    output: str | None,
    picture: str | None,
    trace: str | None,
    device: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Convex hull of the points of one file, or of several files together.

    FILE is a table (.csv, .tsv, .txt, .csv.gz), .parquet, .feather, .las, .laz, .gpkg, .geojson, .shp, .fgb, .npy or
    .npz; - reads standard input. A pattern in quotes, such as 'survey/*.laz', names several files.

    Columns named lon,lat or x,y or easting,northing are found; --columns names others. The first line of a table is a
    header if none of its fields is a number or stands for a missing one. Lines that start with # are comments. In
    vector files every vertex is a point. Hulls of LAS and LAZ are computed on the integers of the file.

    GeoJSON and KML are in longitude and latitude. They need columns named lon,lat or longitude,latitude, a file with a
    reference system, or --crs; the hull is reprojected. The other formats keep the coordinates.

    --by takes a column, a dimension of LAS such as classification, or an array of a .npz file. Its values are compared
    as text: 1 and 01 are two groups. -o writes a polygon, line or point for each hull, and to .csv their vertices.

    A hull of longitudes and latitudes that lie closer together across 180 degrees gets a warning. --antimeridian
    computes it there; its vertices are points of the file, and its geometry is cut at 180 degrees. No hull in longitude
    and latitude contains a pole.

    --by-file reads files in parts; they may be larger than memory. Finished hulls are kept beside OUT: after an
    interrupt or an error the same command continues.
    """
    from clgeom.commands.hull_files import are_large
    from clgeom.io.chunks import files_of
    from clgeom.io.vector import require_packages

    files = files_of(files, caller="hull")
    formats = (*GEOMETRIES, *(ARRAYS if by is None and not by_file else ()))
    _check_outputs(files, (output, formats), picture, trace)
    if output is not None and output.lower().endswith(BY_PACKAGES):
        require_packages(output)
    if crs is not None:
        from clgeom.geo.geodesy import as_crs

        as_crs(crs, caller="hull")
    what = {"columns": columns, "array": array, "layer": layer, "nan_if_empty": options["nonfinite"] == "drop"}
    if by_file:
        options["antimeridian"] = antimeridian
        _hulls_by_file(files, what, crs, output, skip_bad, max_bytes, device, as_json, options)
        return
    options["antimeridian"] = antimeridian
    if by is None and picture is None and trace is None and are_large(files):
        _hull_of_large(files, what, crs, output, device, as_json, options)
        return
    cloud, counts, reading = _read(files, as_json, crs, by=by, **what)
    crs = _system(files[0], output, cloud, antimeridian)
    if by is None:
        _hull_of_all(files, cloud, counts, reading, crs, output, picture, trace, device, as_json, options)
    else:
        _hulls_by(files, cloud, counts, reading, crs, noise, output, picture, device, as_json, options)


def _read(files: list[str], as_json: bool, crs: Any, **what: Any) -> tuple[Any, ...]:
    """Return the points of all files, the number of points of each file, and the seconds for reading."""
    from clgeom.io.cloud import joined, with_note_if_empty
    from clgeom.io.points import read_cloud, saying_where

    clouds, seconds = [], 0.0
    for file in files:
        with terminal.progress(f"reading {file}", hidden=as_json) as progress, saying_where([file], [0]):
            cloud, taken = terminal.timed(read_cloud, file, **what, progress=progress)
        clouds.append(with_note_if_empty(cloud, file))
        seconds += taken
    cloud, taken = terminal.timed(joined, clouds, files, crs)
    return cloud, [len(cloud.points) for cloud in clouds], seconds + taken


def _system(file: str, output: str | None, cloud: Cloud, wanted: Any) -> Any:
    """Return the reference system of the output: that of the option, or else that of the file.

    Longitudes of 0 to 360 degrees become those of GeoJSON where the system is named: for `wanted`, --antimeridian.
    """
    from clgeom.geo.lonlat import WGS84, named_lonlat
    from clgeom.io.files import kind_of
    from clgeom.io.hulls import check_lonlat
    from clgeom.io.vector import is_map
    from clgeom.optional import is_installed

    crs = cloud.crs
    check_lonlat(output, cloud.names, crs, has_columns=kind_of(file) in ("table", "arrow", "numpy"))
    reprojected = wanted and output is not None and output.lower().endswith(IN_LONLAT) and is_installed("pyproj")
    if output is None or not (is_map(output) or reprojected):
        return crs
    if crs is None and cloud.names is not None and named_lonlat(*cloud.names):
        return WGS84
    if crs is None and is_map(output):
        click.echo(f"clgeom: note: '{output}' names no reference system, for none is known (--crs)", err=True)
    return crs


def _hull_of_all(
    files: list[str],
    cloud: Cloud,
    counts: Any,
    reading: Any,
    crs: Any,
    output: str | None,
    picture: str | None,
    trace: str | None,
    device: str | None,
    as_json: bool,
    options: dict[str, Any],
) -> None:
    """Compute, write and print one hull of all points."""
    from clgeom import convex_hull
    from clgeom.commands.hull_across import across, placed, turn_of_columns
    from clgeom.commands.hull_files import nonfinite_count
    from clgeom.commands.scaling import scaled_hull
    from clgeom.core.device import as_session
    from clgeom.io.hulls import encode_hull
    from clgeom.io.points import saying_where
    from clgeom.io.vector import is_map

    if trace:
        from clgeom.plotting.hoods import check_traceable

        check_traceable(cloud.points)
    session, wanted = as_session(device), options.pop("antimeridian")
    turn = turn_of_columns(cloud.names, crs, wanted)
    with terminal.progress("hull", hidden=as_json) as progress, saying_where(files, counts):
        found, work = terminal.worked(convex_hull, cloud.points, device=session, progress=progress, **options)
    found = scaled_hull(found, cloud)
    found = across(found, lambda: [cloud.coordinates], turn, session, wanted, options, output=output)
    content = encode_hull(found, output, crs=crs) if output and not is_map(output) else None
    places = placed(found, cloud.coordinates)
    if picture:  # first, because drawing may be refused
        from clgeom.plotting.figures import axis_names
        from clgeom.plotting.hulls import save_hull_plot

        style = {"filled": found.dimension == 2, "axes": axis_names(cloud.names, crs)}
        save_hull_plot(placed(found, found.points), picture, count=found.n, points=places, **style)
    if trace:
        _save_trace(places, trace, options["collinear"], options["nonfinite"], session)
    _write_hull(found, output, crs, content)
    reading = {"reading the file": reading}, {"read": reading}
    written, left_out = (output, picture, trace), nonfinite_count(cloud.points, options)
    _print_hull(found, cloud, left_out, crs, session, work, reading, written, as_json, options["profile"])


def _hull_of_large(
    files: list[str],
    what: Any,
    crs: Any,
    output: str | None,
    device: str | None,
    as_json: bool,
    options: dict[str, Any],
) -> None:
    """Compute, write and print one hull of all points of files that are read in parts."""
    from clgeom.commands.hull_across import across, turn_of_columns
    from clgeom.commands.hull_files import coordinates_of, hull_of_large_files
    from clgeom.commands.scaling import scaled_hull
    from clgeom.core.device import as_session
    from clgeom.io.chunks import cloud_parts
    from clgeom.io.points import saying_where

    session = as_session(device)
    counts: list[int] = []
    first = next(cloud_parts(files[0], rows=1, **what))
    first = first if crs is None else replace(first, crs=crs)
    wanted = options.pop("antimeridian")
    system = _system(files[0], output, first, wanted)
    turn = turn_of_columns(first.names, system, wanted)
    with terminal.progress("hull", hidden=as_json) as progress, saying_where(files, counts):
        (found, cloud, left_out), work = terminal.worked(
            hull_of_large_files, files, what, first, crs, counts, session, options, progress
        )
    found = scaled_hull(found, cloud)
    found = across(found, lambda: coordinates_of(files, what), turn, session, wanted, options, output=output)
    _write_hull(found, output, system)
    _print_hull(found, cloud, left_out, system, session, work, ({}, {}), (output,), as_json, options["profile"])


def _write_hull(found: Any, output: str | None, crs: Any, content: Any = None) -> None:
    """Write a hull to a file, if there is an output."""
    from clgeom.io.atomic import replacing
    from clgeom.io.hulls import encode_hull
    from clgeom.io.vector import is_map

    if output and is_map(output):
        found.to_file(output, crs=crs)
    elif output:
        content = encode_hull(found, output, crs=crs) if content is None else content
        with replacing(output) as out:
            out.write(content)


def _print_hull(
    found: Any,
    cloud: Cloud,
    left_out: Any,
    crs: Any,
    session: Session,
    work: Any,
    reading: Any,
    written: Any,
    as_json: bool,
    profile: bool,
) -> None:
    """Print a hull; `reading` has the times of reading for people and for JSON."""
    from clgeom.commands.hull_across import turn_of_columns
    from clgeom.geo.longitudes import DEGREES, said_of_latitudes

    in_degrees = turn_of_columns(cloud.names, crs, False) == DEGREES
    in_degrees = in_degrees and said_of_latitudes(found.points[:, 1], DEGREES) is None
    if as_json:
        seconds = {**reading[1], "load": work.loading, "hull": work.seconds}
        facts = _hull_as_json(found, session, seconds, profile) | {"left_out": left_out}
        terminal.print_json({**facts, **_file_facts(cloud, crs)})
        return
    terminal.print_facts(
        ("points", f"{found.n:,} ({cloud.points.dtype})"),
        *_system_words(crs),
        *(("note", note) for note in cloud.notes),
        ("device", terminal.device_words(session)),
        *_left_out_words(left_out),
        ("hull", f"{counted(len(found.vertices), 'vertex', 'vertices')}, {DIMENSIONS[found.dimension]}"),
        *((("longitudes", "continuous across the antimeridian"),) if found.across is not None else ()),
        ("area", f"{found.area!r}{' square degrees' if in_degrees else ''}"),
        ("perimeter", f"{found.perimeter!r}{' degrees' if in_degrees else ''}"),
        ("time", work.words(**reading[0])),
        *(("wrote", name) for name in written if name),
    )
    if profile:
        terminal.print_phases(found.phases)


def _hulls_by(
    files: list[str],
    cloud: Cloud,
    counts: Any,
    reading: Any,
    crs: Any,
    noise: str | None,
    output: str | None,
    picture: str | None,
    device: str | None,
    as_json: bool,
    options: dict[str, Any],
) -> None:
    """Compute, write and print a hull for each group of points."""
    import numpy as np

    from clgeom import convex_hulls_by_label
    from clgeom.commands.hull_across import batch_across, placed_groups, turn_of_columns
    from clgeom.commands.hull_files import nonfinite_count
    from clgeom.commands.scaling import named_batch, scaled_batch
    from clgeom.core.device import as_session
    from clgeom.io.groups import write_hulls
    from clgeom.io.labels import NO_GROUP
    from clgeom.io.points import saying_where
    from clgeom.io.vector import is_map

    session, groups = as_session(device), cloud.groups
    assert groups is not None
    named = [number for number, name in enumerate(groups.names) if str(name) == noise]
    numbers = np.where(groups.numbers == named[0], NO_GROUP, groups.numbers) if named else groups.numbers
    options["noise"], wanted = NO_GROUP, options.pop("antimeridian")
    turn = turn_of_columns(cloud.names, crs, wanted)
    with saying_where(files, counts):
        batch, work = terminal.worked(convex_hulls_by_label, cloud.points, numbers, device=session, **options)
    batch = scaled_batch(batch, cloud)
    batch = batch_across(batch, cloud, numbers, turn, session, wanted, options, output=output)
    places = placed_groups(batch, cloud, numbers) if picture else None
    batch = named_batch(batch, groups)
    names = batch.labels.tolist()
    if picture:  # first, because it may be refused
        from clgeom.plotting.figures import axis_names, plain
        from clgeom.plotting.hulls import save_hulls_plot

        about = {"labels": names, "axes": axis_names(cloud.names, crs)}
        about["title"] = f"{counted(len(batch), 'convex hull', 'convex hulls')} by {plain(groups.title)}"
        save_hulls_plot(batch.corners, batch.offsets, picture, points=places, **about)
    if output and is_map(output):
        batch.to_file(output, crs=crs)
    elif output:
        write_hulls(batch, names, groups.title, output, crs=crs)
    left_out = batch.left_out + nonfinite_count(cloud.points[numbers != NO_GROUP], options)
    if as_json:
        facts = {"points": len(cloud.points), "by": groups.title, "left_out": left_out}
        facts["hulls"] = _hulls_as_json(batch, names)
        facts |= {
            "device": session.profile.name,
            "seconds": {"read": reading, "load": work.loading, "hulls": work.seconds},
        }
        if options["profile"]:
            facts["phases"] = terminal.phases_as_json(batch.phases)
        terminal.print_json({**facts, **_file_facts(cloud, crs)})
        return
    terminal.print_facts(
        ("points", f"{len(cloud.points):,} ({cloud.points.dtype})"),
        *_system_words(crs),
        *(("note", note) for note in cloud.notes),
        ("device", terminal.device_words(session)),
        *_left_out_words(left_out, noise is not None),
        ("hulls", f"{len(batch):,} by {groups.title}, {counted(len(batch.vertices), 'vertex', 'vertices')}"),
        ("time", work.words(**{"reading the file": reading})),
        *(("wrote", name) for name in (output, picture) if name),
    )
    if options["profile"]:
        terminal.print_phases(batch.phases)


def _hulls_by_file(
    files: list[str],
    what: Any,
    crs: Any,
    output: str | None,
    skip_bad: bool,
    max_bytes: str | None,
    device: str | None,
    as_json: bool,
    options: dict[str, Any],
) -> None:
    """Compute, write and print a hull for each file."""
    from clgeom.commands.hull_files import batch_of, hulls_of_files
    from clgeom.core.device import as_session
    from clgeom.io.groups import write_hulls
    from clgeom.io.vector import is_map

    session = as_session(device)
    systems: list[Any] = []
    options = {name: options[name] for name in ("collinear", "nonfinite", "antimeridian")}
    (hulls, bad, state), work = terminal.worked(
        hulls_of_files,
        files,
        what,
        crs=crs,
        output=output,
        skip_bad=skip_bad,
        max_bytes=None if max_bytes is None else size_in_bytes(max_bytes, "max_bytes", caller="hull"),
        session=session,
        as_json=as_json,
        options=options,
        check=lambda cloud: systems.append(_system(files[0], output, cloud, options["antimeridian"])),
    )
    batch, system = batch_of(hulls), systems[0]
    assert batch.labels is not None
    if output and is_map(output):
        batch.to_file(output, crs=system)
    elif output:
        write_hulls(batch, batch.labels.tolist(), "file", output, crs=system)
    state.remove()
    lost = sum(one.get("left_out", 0) for one in hulls)
    points, notes = int(batch.sizes.sum()), dict.fromkeys(note for one in hulls for note in one["notes"])
    for file, why in bad:
        click.echo(f"clgeom: note: '{file}' is left out: {why}", err=True)
    if as_json:
        facts = {"files": len(files), "points": points, "hulls": _hulls_as_json(batch, batch.labels.tolist(), "file")}
        facts["left_out"] = [{"file": file, "error": why} for file, why in bad]
        facts["points_left_out"] = lost
        facts |= {"device": session.profile.name, "seconds": {"load": work.loading, "hulls": work.seconds}}
        terminal.print_json({**facts, "crs": None if system is None else str(system), "notes": list(notes)})
        return
    terminal.print_facts(
        ("files", f"{len(files):,}"),
        ("points", f"{points:,}"),
        *_system_words(system),
        *(("note", note) for note in notes),
        ("device", terminal.device_words(session)),
        *((("left out", counted(len(bad), "file", "files")),) if bad else ()),
        *_left_out_words(lost),
        ("hulls", f"{len(batch):,} by file, {counted(len(batch.vertices), 'vertex', 'vertices')}"),
        ("time", work.words()),
        *((("wrote", output),) if output else ()),
    )


def _left_out_words(count: int, always: bool = False) -> tuple[Any, ...]:
    """Return a line with the number of points that were left out, for `terminal.print_facts`."""
    return (("left out", counted(count, "point", "points")),) if count or always else ()


def _system_words(crs: Any) -> tuple[Any, ...]:
    """Return a line with the reference system for `terminal.print_facts`; none if it is not known."""
    from clgeom.io.cloud import crs_words

    return () if crs is None else (("system", crs_words(crs)),)


def _file_facts(cloud: Cloud, crs: Any) -> dict[str, Any]:
    """Return reference system, scale and notes of the file, for JSON."""
    return {"crs": None if crs is None else str(crs), "notes": list(cloud.notes)}


def _hulls_as_json(batch: Any, names: Any, what: str = "group") -> list[Any]:
    return [
        {
            what: name,
            "points": int(hull.n),
            "dimension": hull.dimension,
            "vertices": hull.vertices.tolist(),
            "coordinates": hull.points.tolist(),
            "antimeridian": hull.across is not None,
            "area": area,
            "perimeter": perimeter,
        }
        for name, hull, area, perimeter in zip(names, batch, batch.areas.tolist(), batch.perimeters.tolist())
    ]


def _save_trace(points: Any, path: str, collinear: str, nonfinite: str, session: Session) -> None:
    """Draw the stages of the upper and the lower hood."""
    import numpy as np

    from clgeom import lower_hood, upper_hood
    from clgeom.intake.arrays import leave_out
    from clgeom.plotting.hoods import save_trace

    points = np.asarray(leave_out(points, nonfinite=nonfinite, caller="hull")[0])
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    options: dict[str, Any] = {"collinear": collinear, "trace": True, "device": session}
    upper, lower = upper_hood(points, **options), lower_hood(points, **options)
    save_trace(points, path, upper.stages or (), lower.stages or ())


def _check_outputs(files: list[str], output: Any, picture: str | None, trace: str | None) -> None:
    """Refuse outputs that cannot be written, before the work starts."""
    from clgeom.io.atomic import check_outputs
    from clgeom.optional import require_matplotlib
    from clgeom.plotting.figures import FORMATS
    from clgeom.plotting.hoods import TRACE_FORMATS

    if picture or trace:
        require_matplotlib()
    check_outputs(files, output, (picture, FORMATS), (trace, TRACE_FORMATS))


def _hull_as_json(found: Any, session: Session, seconds: Any, profile: bool) -> Any:
    facts = {
        "points": int(found.n),
        "dimension": int(found.dimension),
        "vertices": found.vertices.tolist(),
        "coordinates": found.points.tolist(),
        "antimeridian": found.across is not None,
        "area": found.area,
        "perimeter": found.perimeter,
        "device": session.profile.name,
        "seconds": seconds,
    }
    if profile:
        facts["phases"] = terminal.phases_as_json(found.phases)
    return facts
