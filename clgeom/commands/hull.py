"""The command ``clgeom hull``: the convex hull of points, or of each group of points."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class HullCall:
    """A call of the command: what it reads, how it computes, and where the result goes.

    `reading` has the options of `read_cloud`, `options` those of `convex_hull`.
    """

    files: list[str]
    reading: dict[str, Any]
    crs: Any
    options: dict[str, Any]
    antimeridian: bool
    output: str | None
    picture: str | None
    trace: str | None
    device: str | None
    as_json: bool
    profile: bool

    @functools.cached_property
    def session(self) -> Session:
        from clgeom.core.device import as_session

        return as_session(self.device)

    @property
    def computing(self) -> dict[str, Any]:
        """The parameters of functions that compute hulls."""
        return {**self.options, "device": self.session, "profile": self.profile}

    def turn(self, names: Any, crs: Any) -> float | None:
        """Return the longitude of one turn, None for what is not longitude and latitude; see `turn_of_columns`."""
        from clgeom.commands.hull_across import turn_of_columns

        return turn_of_columns(names, crs, self.antimeridian)


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
    collinear: str,
    nonfinite: str,
    profile: bool,
    device: str | None,
    as_json: bool,
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
    from clgeom.io.files import files_of
    from clgeom.io.vector import require_packages

    files = files_of(files, caller="hull")
    formats = (*GEOMETRIES, *(ARRAYS if by is None and not by_file else ()))
    _check_outputs(files, (output, formats), picture, trace)
    if output is not None and output.lower().endswith(BY_PACKAGES):
        require_packages(output)
    if crs is not None:
        from clgeom.geo.geodesy import as_crs

        as_crs(crs, caller="hull")
    reading = {"columns": columns, "array": array, "layer": layer, "nan_if_empty": nonfinite == "drop"}
    options = {"collinear": collinear, "nonfinite": nonfinite}
    call = HullCall(files, reading, crs, options, antimeridian, output, picture, trace, device, as_json, profile)
    if by_file:
        _hulls_by_file(call, skip_bad, max_bytes)
    elif by is not None:
        _hulls_by(call, by, noise)
    elif picture is None and trace is None and are_large(files):
        _hull_of_large(call)
    else:
        _hull_of_all(call)


def _check_outputs(files: list[str], output: Any, picture: str | None, trace: str | None) -> None:
    """Refuse outputs that cannot be written, before the work starts."""
    from clgeom.io.atomic import check_outputs
    from clgeom.optional import require_matplotlib
    from clgeom.plotting.figures import FORMATS
    from clgeom.plotting.hoods import TRACE_FORMATS

    if picture or trace:
        require_matplotlib()
    check_outputs(files, output, (picture, FORMATS), (trace, TRACE_FORMATS))


# One hull ---------------------------------------------------------------------------------------------------------


def _hull_of_all(call: HullCall) -> None:
    """Compute, write and print one hull of all points."""
    from clgeom import convex_hull
    from clgeom.commands.hull_across import placed
    from clgeom.commands.hull_files import nonfinite_count
    from clgeom.io.hulls import encode_hull
    from clgeom.io.points import saying_where
    from clgeom.io.vector import is_map

    cloud, counts, seconds = _read(call)
    crs = _system(call, cloud)
    if call.trace:
        from clgeom.plotting.hoods import check_traceable

        check_traceable(cloud.points)
    computing, turn = call.computing, call.turn(cloud.names, crs)
    with terminal.progress("hull", hidden=call.as_json) as progress, saying_where(call.files, counts):
        hull, work = terminal.worked(convex_hull, cloud.points, progress=progress, **computing)
    hull = _in_system(call, hull, cloud, turn, lambda: [cloud.coordinates])
    content = encode_hull(hull, call.output, crs=crs) if call.output and not is_map(call.output) else None
    places = placed(hull, cloud.coordinates)
    if call.picture:  # first, because drawing may be refused
        from clgeom.plotting.figures import axis_names
        from clgeom.plotting.hulls import save_hull_plot

        style = {"filled": hull.dimension == 2, "axes": axis_names(cloud.names, crs)}
        save_hull_plot(placed(hull, hull.points), call.picture, count=hull.n, points=places, **style)
    if call.trace:
        _save_trace(call, places)
    _write_hull(call, hull, crs, content)
    _print_hull(call, hull, cloud, nonfinite_count(cloud.points, call.options), crs, work, seconds)


def _hull_of_large(call: HullCall) -> None:
    """Compute, write and print one hull of all points of files that are read in parts."""
    from clgeom.commands.hull_files import coordinates_of, hull_of_large_files
    from clgeom.io.points import cloud_parts, saying_where

    counts: list[int] = []
    computing = call.computing  # a wrong device is refused before a file is read
    first = next(cloud_parts(call.files[0], rows=1, **call.reading))
    first = first if call.crs is None else replace(first, crs=call.crs)
    crs = _system(call, first)
    turn = call.turn(first.names, crs)
    with terminal.progress("hull", hidden=call.as_json) as progress, saying_where(call.files, counts):
        (hull, cloud, left_out), work = terminal.worked(hull_of_large_files, call, computing, first, counts, progress)
    hull = _in_system(call, hull, cloud, turn, lambda: coordinates_of(call.files, call.reading))
    _write_hull(call, hull, crs)
    _print_hull(call, hull, cloud, left_out, crs, work)


def _in_system(call: HullCall, hull: Any, cloud: Cloud, turn: float | None, parts: Any) -> Any:
    """Return a hull in coordinates of the reference system, or the one across the antimeridian."""
    from clgeom.commands.hull_across import across
    from clgeom.commands.scaling import scaled_hull

    return across(call, scaled_hull(hull, cloud), parts, turn)


def _read(call: HullCall, by: str | None = None) -> tuple[Cloud, list[int], float]:
    """Return the points of all files, the number of points of each file, and the seconds for reading."""
    from clgeom.io.cloud import joined, with_note_if_empty
    from clgeom.io.points import read_cloud, saying_where

    clouds, seconds = [], 0.0
    for file in call.files:
        with terminal.progress(f"reading {file}", hidden=call.as_json) as progress, saying_where([file], [0]):
            cloud, taken = terminal.timed(read_cloud, file, by=by, **call.reading, progress=progress)
        clouds.append(with_note_if_empty(cloud, file))
        seconds += taken
    cloud, taken = terminal.timed(joined, clouds, call.files, call.crs)
    return cloud, [len(cloud.points) for cloud in clouds], seconds + taken


def _system(call: HullCall, cloud: Cloud) -> Any:
    """Return the reference system of the output: that of the option, or else that of the file.

    With --antimeridian, longitudes of 0 to 360 degrees become those of GeoJSON where the system is named.
    """
    from clgeom.geo.lonlat import WGS84, named_lonlat
    from clgeom.io.files import kind_of
    from clgeom.io.hulls import check_lonlat
    from clgeom.io.vector import is_map
    from clgeom.optional import is_installed

    crs, output = cloud.crs, call.output
    check_lonlat(output, cloud.names, crs, has_columns=kind_of(call.files[0]) in ("table", "arrow", "numpy"))
    if output is None:
        return crs
    reprojected = call.antimeridian and output.lower().endswith(IN_LONLAT) and is_installed("pyproj")
    if not (is_map(output) or reprojected):
        return crs
    if crs is None and cloud.names is not None and named_lonlat(*cloud.names):
        return WGS84
    if crs is None and is_map(output):
        click.echo(f"clgeom: note: '{output}' names no reference system, for none is known (--crs)", err=True)
    return crs


def _write_hull(call: HullCall, hull: Any, crs: Any, content: Any = None) -> None:
    """Write a hull to a file, if there is an output."""
    from clgeom.io.atomic import replacing
    from clgeom.io.hulls import encode_hull
    from clgeom.io.vector import is_map

    if call.output and is_map(call.output):
        hull.to_file(call.output, crs=crs)
    elif call.output:
        content = encode_hull(hull, call.output, crs=crs) if content is None else content
        with replacing(call.output) as out:
            out.write(content)


def _save_trace(call: HullCall, points: Any) -> None:
    """Draw the stages of the upper and the lower hood."""
    import numpy as np

    from clgeom import lower_hood, upper_hood
    from clgeom.intake.arrays import leave_out
    from clgeom.plotting.hoods import save_trace

    points = np.asarray(leave_out(points, nonfinite=call.options["nonfinite"], caller="hull")[0])
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    options: dict[str, Any] = {"collinear": call.options["collinear"], "trace": True, "device": call.session}
    upper, lower = upper_hood(points, **options), lower_hood(points, **options)
    assert call.trace is not None
    save_trace(points, call.trace, upper.stages or (), lower.stages or ())


def _print_hull(
    call: HullCall, hull: Any, cloud: Cloud, left_out: int, crs: Any, work: Any, reading: float | None = None
) -> None:
    """Print a hull; `reading` are the seconds for reading, if the file was read before."""
    from clgeom.commands.hull_across import turn_of_columns
    from clgeom.geo.longitudes import DEGREES, latitude_fault

    if call.as_json:
        read = {} if reading is None else {"read": reading}
        facts = {
            **_facts_of(hull, hull.area, hull.perimeter),
            "device": call.session.profile.name,
            "seconds": {**read, "load": work.loading, "hull": work.seconds},
            **({"phases": terminal.phases_as_json(hull.phases)} if call.profile else {}),
            "left_out": left_out,
        }
        terminal.print_json({**facts, **_file_facts(cloud, crs)})
        return
    in_degrees = turn_of_columns(cloud.names, crs, False) == DEGREES
    in_degrees = in_degrees and latitude_fault(hull.points[:, 1], DEGREES) is None
    terminal.print_facts(
        ("points", f"{hull.n:,} ({cloud.points.dtype})"),
        *_lines_of_input(call, cloud.notes, crs),
        *_left_out_words(left_out),
        ("hull", f"{counted(len(hull.vertices), 'vertex', 'vertices')}, {DIMENSIONS[hull.dimension]}"),
        *((("longitudes", "continuous across the antimeridian"),) if hull.across is not None else ()),
        ("area", f"{hull.area!r}{' square degrees' if in_degrees else ''}"),
        ("perimeter", f"{hull.perimeter!r}{' degrees' if in_degrees else ''}"),
        ("time", work.words(**({} if reading is None else {"reading the file": reading}))),
        *(("wrote", name) for name in (call.output, call.picture, call.trace) if name),
    )
    if call.profile:
        terminal.print_phases(hull.phases)


# Hulls of groups --------------------------------------------------------------------------------------------------


def _hulls_by(call: HullCall, by: str, noise: str | None) -> None:
    """Compute, write and print a hull for each group of points."""
    import numpy as np

    from clgeom import convex_hulls_by_label
    from clgeom.commands.hull_across import batch_across, placed_groups
    from clgeom.commands.hull_files import nonfinite_count
    from clgeom.commands.scaling import named_batch, scaled_batch
    from clgeom.io.cloud import NO_GROUP
    from clgeom.io.points import saying_where

    cloud, counts, reading = _read(call, by)
    crs, groups = _system(call, cloud), cloud.groups
    assert groups is not None
    named = [number for number, name in enumerate(groups.names) if str(name) == noise]
    numbers = np.where(groups.numbers == named[0], NO_GROUP, groups.numbers) if named else groups.numbers
    computing, turn = call.computing, call.turn(cloud.names, crs)
    with saying_where(call.files, counts):
        batch, work = terminal.worked(convex_hulls_by_label, cloud.points, numbers, noise=NO_GROUP, **computing)
    batch = batch_across(call, scaled_batch(batch, cloud), cloud, numbers, turn)
    places = placed_groups(batch, cloud, numbers) if call.picture else None
    batch = named_batch(batch, groups)
    names = batch.labels.tolist()
    if call.picture:  # first, because it may be refused
        from clgeom.plotting.figures import axis_names, plain
        from clgeom.plotting.hulls import save_hulls_plot

        title = f"{counted(len(batch), 'convex hull', 'convex hulls')} by {plain(groups.title)}"
        about = {"labels": names, "axes": axis_names(cloud.names, crs), "title": title}
        save_hulls_plot(batch.corners, batch.offsets, call.picture, points=places, **about)
    _write_hulls(call, batch, groups.title, crs)
    left_out = batch.left_out + nonfinite_count(cloud.points[numbers != NO_GROUP], call.options)
    if call.as_json:
        facts = {
            "points": len(cloud.points),
            "by": groups.title,
            "left_out": left_out,
            "hulls": _hulls_as_json(batch, "group"),
            "device": call.session.profile.name,
            "seconds": {"read": reading, "load": work.loading, "hulls": work.seconds},
            **({"phases": terminal.phases_as_json(batch.phases)} if call.profile else {}),
        }
        terminal.print_json({**facts, **_file_facts(cloud, crs)})
        return
    terminal.print_facts(
        ("points", f"{len(cloud.points):,} ({cloud.points.dtype})"),
        *_lines_of_input(call, cloud.notes, crs),
        *_left_out_words(left_out, noise is not None),
        ("hulls", f"{len(batch):,} by {groups.title}, {counted(len(batch.vertices), 'vertex', 'vertices')}"),
        ("time", work.words(**{"reading the file": reading})),
        *(("wrote", name) for name in (call.output, call.picture) if name),
    )
    if call.profile:
        terminal.print_phases(batch.phases)


def _hulls_by_file(call: HullCall, skip_bad: bool, max_bytes: str | None) -> None:
    """Compute, write and print a hull for each file."""
    from clgeom.commands.hull_files import batch_of, hulls_of_files

    session = call.session  # a wrong device is refused before anything is read or written
    systems: list[Any] = []
    (hulls, bad, state), work = terminal.worked(
        hulls_of_files,
        call,
        skip_bad=skip_bad,
        max_bytes=None if max_bytes is None else size_in_bytes(max_bytes, "max_bytes", caller="hull"),
        check=lambda cloud: systems.append(_system(call, cloud)),
    )
    batch, system = batch_of(hulls), systems[0]
    _write_hulls(call, batch, "file", system)
    state.remove()
    lost = sum(one.get("left_out", 0) for one in hulls)
    points, notes = int(batch.sizes.sum()), dict.fromkeys(note for one in hulls for note in one["notes"])
    for file, why in bad:
        click.echo(f"clgeom: note: '{file}' is left out: {why}", err=True)
    if call.as_json:
        facts = {
            "files": len(call.files),
            "points": points,
            "hulls": _hulls_as_json(batch, "file"),
            "left_out": [{"file": file, "error": why} for file, why in bad],
            "points_left_out": lost,
            "device": session.profile.name,
            "seconds": {"load": work.loading, "hulls": work.seconds},
        }
        terminal.print_json({**facts, "crs": None if system is None else str(system), "notes": list(notes)})
        return
    terminal.print_facts(
        ("files", f"{len(call.files):,}"),
        ("points", f"{points:,}"),
        *_lines_of_input(call, notes, system),
        *((("left out", counted(len(bad), "file", "files")),) if bad else ()),
        *_left_out_words(lost),
        ("hulls", f"{len(batch):,} by file, {counted(len(batch.vertices), 'vertex', 'vertices')}"),
        ("time", work.words()),
        *((("wrote", call.output),) if call.output else ()),
    )


def _write_hulls(call: HullCall, batch: Any, title: str, crs: Any) -> None:
    """Write the hulls of groups to a file, if there is an output."""
    from clgeom.io.hulls import write_hulls
    from clgeom.io.vector import is_map

    if call.output and is_map(call.output):
        batch.to_file(call.output, crs=crs)
    elif call.output:
        write_hulls(batch, batch.labels.tolist(), title, call.output, crs=crs)


# Output -----------------------------------------------------------------------------------------------------------


def _lines_of_input(call: HullCall, notes: Iterable[str], crs: Any) -> list[tuple[str, str]]:
    """Return lines with the reference system if it is known, the notes of the files, and the device."""
    from clgeom.io.cloud import crs_words

    system = [] if crs is None else [("system", crs_words(crs))]
    return [*system, *(("note", note) for note in notes), ("device", terminal.device_words(call.session))]


def _left_out_words(count: int, always: bool = False) -> tuple[Any, ...]:
    """Return a line with the number of points that were left out."""
    return (("left out", counted(count, "point", "points")),) if count or always else ()


def _file_facts(cloud: Cloud, crs: Any) -> dict[str, Any]:
    """Return reference system and notes of the file, for JSON."""
    return {"crs": None if crs is None else str(crs), "notes": list(cloud.notes)}


def _facts_of(hull: Any, area: float, perimeter: float) -> dict[str, Any]:
    return {
        "points": int(hull.n),
        "dimension": int(hull.dimension),
        "vertices": hull.vertices.tolist(),
        "coordinates": hull.points.tolist(),
        "antimeridian": hull.across is not None,
        "area": area,
        "perimeter": perimeter,
    }


def _hulls_as_json(batch: Any, what: str) -> list[Any]:
    measured = zip(batch.labels.tolist(), batch, batch.areas.tolist(), batch.perimeters.tolist())
    return [{what: name, **_facts_of(hull, area, perimeter)} for name, hull, area, perimeter in measured]
