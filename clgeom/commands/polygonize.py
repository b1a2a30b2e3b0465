"""The command ``clgeom polygonize``: polygons of all classes of a raster of integers, such as land cover."""

from __future__ import annotations

import csv
import math
from types import SimpleNamespace
from typing import Any

import click

from clgeom.commands.options import (
    FINITE,
    Rule,
    check_files,
    command,
    crs_option,
    nodata_option,
    output_option,
    page_option,
    path_option,
    plot_option,
    profile_option,
    with_default,
)
from clgeom.commands.terminal import Call
from clgeom.errors import InputWarning, InvalidInput, warn
from clgeom.io.outputs import APPENDED, GEOMETRIES, IN_LONLAT, either

#: Options that simplify.
LIMITS = ("tolerance", "iou", "vertices")
#: Name and format of the value under each heading of the table of classes.
COLUMNS = {
    ">class": ("class", "d"),
    "name": ("name", "s"),
    ">polygons": ("polygons", ",d"),
    ">cells": ("cells", ",d"),
    ">area of cells": ("cells_area", ",.10g"),
    ">area of polygons": ("area", ",.10g"),
}
#: Rasters of more cells are read by strips.
LARGE_CELLS = 1 << 26
#: Most classes that are printed.
MOST_ROWS = 100


def _is_simplified(given: Any) -> bool:
    return any(getattr(given, name) is not None for name in LIMITS)


def _ends_in(*endings: str) -> Any:
    return lambda given: (given.output or "").lower().endswith(endings)


def _by_strips(given: Any) -> bool:
    others = given.dissolve or given.profile or given.picture or given.page
    return not (others or given.iou is not None or given.vertices is not None) and _ends_in(*APPENDED)(given)


RULES = (
    Rule(
        "max_bytes",
        f"is for an output (-o) that ends in {either(APPENDED)}, without --dissolve, --iou, --vertices, --plot, "
        "--html and --profile.",
        _by_strips,
    ),
    Rule("boundary", "is for simplified polygons (--tolerance, --iou or --vertices).", _is_simplified),
    Rule("connectivity", "has no effect with --dissolve; leave it out.", lambda given: not given.dissolve),
    Rule("layer", "is for an output (-o) that ends in .gpkg.", _ends_in(".gpkg")),
    Rule("densify", "is for an output (-o) that ends in .geojson, .json or .kml.", _ends_in(*IN_LONLAT)),
    Rule(
        "densify",
        "must be a distance above 0.",
        lambda given: given.densify > 0,
        lambda given: f"{given.densify:g}",
    ),
)
SECTIONS = {
    "Raster input": "band array window nodata crs",
    "Polygons": "connectivity dissolve names",
    "Simplification": "tolerance iou vertices boundary",
    "Output": "output layer densify max_bytes picture page profile",
}
EXAMPLES = (
    ("Polygons of all classes of a map of land cover", "clgeom polygonize land.tif -o land.gpkg"),
    (
        "Simplified, with one geometry for each class",
        "clgeom polygonize land.tif --iou 0.95 --dissolve -o classes.geojson",
    ),
    (
        "Simplified by at most 15 m without gaps between neighbours, with the names of classes",
        "clgeom polygonize land.tif --tolerance 15 --names names.csv -o land.gpkg",
    ),
)


@command(
    sections=SECTIONS,
    examples=EXAMPLES,
    rules=RULES,
    named={"classes": "raster", "transform": "transform", "names": "option --names", "boundary": "option --boundary"},
    short_help="Polygons of all classes of a raster, such as land cover.",
)
@click.argument("file", type=click.Path())
@with_default("--band", 1, "Band of the raster, from 1.")
@click.option("--array", metavar="NAME", help="Array of a .npz file, or variable of a NetCDF file or Zarr store.")
@click.option(
    "--window",
    type=int,
    nargs=4,
    metavar="ROW COLUMN ROWS COLUMNS",
    help="Read only this part: its first row and column, its rows and columns.",
)
@nodata_option
@crs_option
@with_default(
    "--connectivity",
    "4",
    "Cells of one polygon share sides (4), or sides and corners (8).",
    click.Choice(["4", "8"]),
)
@click.option("--dissolve", is_flag=True, help="One geometry for each class.")
@path_option("--names", metavar="CSV", help="Names of classes: a table with the columns class and name.")
@click.option(
    "--tolerance", type=FINITE, metavar="DISTANCE", help="Largest distance of a line from the cells, in map units."
)
@click.option("--iou", type=FINITE, help="Smallest IoU of the polygons of each class and its cells, such as 0.95.")
@click.option("--vertices", type=int, metavar="N", help="Most vertices of all lines; shared ones count once.")
@click.option("--boundary", is_flag=True, help="Simplify lines between classes and cells without data, too.")
@output_option(f"Write the polygons: {either(GEOMETRIES)}.")
@click.option("--layer", metavar="NAME", help="Name of the layer of a GeoPackage.  [default: that of the file]")
@click.option(
    "--densify",
    type=FINITE,
    metavar="METRES",
    help="Largest distance of an edge from its curve in longitude and latitude (.geojson, .json, .kml).  [default: "
    "1/128 of a cell]",
)
@click.option(
    "--max-bytes",
    metavar="SIZE",
    help="Most memory, such as 2GB: polygons are written as soon as they are complete.  [default: 1GB for rasters of "
    f"more than {LARGE_CELLS:,} cells, if the other options allow it]",
)
@plot_option("Draw the polygons")
@page_option
@profile_option
def polygonize(
    call: Call,
    file: str,
    output: str | None,
    picture: str | None,
    page: str | None,
    layer: str | None,
    profile: bool,
    **options: Any,
) -> None:
    """Polygons of all classes of a raster of integers: land cover, zones, best servers.

    FILE is .tif, .nc, .zarr, .asc, .img, .npy or .npz. Each connected piece of a class becomes a polygon, and each cell
    with data is in exactly one of them. Polygons follow the cells exactly, or are simplified: neighbours share their
    lines, so there are neither gaps nor overlaps.

    GeoJSON and KML are in longitude and latitude. They need a coordinate reference system. Areas are in square map
    units.
    """
    from clgeom.commands import terminal
    from clgeom.commands.region_facts import print_columns, written_words
    from clgeom.core.call import watched
    from clgeom.geo.geodesy import shown
    from clgeom.plotting.figures import FORMATS as PICTURES
    from clgeom.plotting.html import PAGE_FORMATS
    from clgeom.region.coverage.grid import as_grid
    from clgeom.scale.polygons import PolygonizedFile

    inputs = [name for name in (file, options["names"]) if name is not None]
    pictures = ((picture, PICTURES), (page, PAGE_FORMATS))
    check_files(inputs, (output, GEOMETRIES), *pictures, crs=options["crs"], caller="polygonize")
    names = _names(options["names"])
    session = call.session
    with call.progress(f"reading {file}"):
        raster, reading = terminal.timed(_raster, file, options)
    is_large = options["max_bytes"] is not None or math.prod(raster.values.shape) > LARGE_CELLS
    given = {"output": output, "picture": picture, "page": page, "profile": profile}
    by_strips = is_large and _by_strips(SimpleNamespace(**given, **options))
    polygons, phases = None, ()
    with call.progress("polygons") as progress, watched(None if by_strips else progress):
        if by_strips:
            made, work = terminal.worked(_file, raster, output, names, layer, session, progress, options)
        else:
            polygons, work = terminal.worked(_polygons, raster, names, session, profile, options)
    if polygons is not None:
        if not len(polygons):
            raise InvalidInput(f"There is nothing in '{file}': every cell is without data.")
        arcs, phases = polygons.arcs, polygons.phases
        made = PolygonizedFile("", 0, len(arcs), len(arcs.corners), polygons.exact_vertices)
        made._add(polygons)
        made.written = _write(polygons, output, picture, page, layer, options)
    if names and not names.keys() & made.classes.keys():
        warn(f"'{options['names']}' names no class of '{file}'.", InputWarning)
    rows = _rows(made.classes, names, abs(as_grid(raster.transform, None, raster.values.shape, caller="").cell_area))
    facts = {
        "rows": raster.values.shape[0],
        "columns": raster.values.shape[1],
        "crs": None if raster.crs is None else str(raster.crs),
        **call.facts(work),
        "polygons": made.polygons,
        "arcs": made.arcs,
        "vertices": made.vertices,
        "exact_vertices": made.exact_vertices,
        "classes": rows,
    }
    if made.written is not None:
        facts["written"] = {"vertices": made.written.vertices, "added": made.written.added}
    if profile:
        facts["phases"] = terminal.phases_as_json(phases)
    band = f"band {options['band']} of {raster.bands}, " if raster.bands > 1 else ""
    if raster.transform is None:
        where = "no transform: the coordinates are columns and rows"
    else:
        where = "no coordinate reference system" if raster.crs is None else shown(raster.crs).strip("'")
    lines = f"{made.arcs:,} with {made.vertices:,} vertices"
    if _was_simplified(options):
        lines += f", {made.exact_vertices:,} before simplification"
    call.report(
        facts,
        ("map", f"{' x '.join(map(str, raster.values.shape))} cells ({raster.values.dtype}), {band}{where}"),
        ("device", terminal.device_words(session)),
        ("time", work.words(**{"reading the map": reading})),
        ("lines", lines),
        ("wrote", [written_words(output, made.written), picture, page]),
    )
    if call.as_json:
        return
    click.echo()
    has_names = {name: form for name, form in COLUMNS.items() if names or name != "name"}
    print_columns(has_names, [{**row, "name": row["name"] or ""} for row in rows[:MOST_ROWS]])
    if len(rows) > MOST_ROWS:
        click.echo(f"and {len(rows) - MOST_ROWS:,} more classes")
    if profile:
        click.echo()
        terminal.print_phases(phases)


def _was_simplified(options: dict[str, Any]) -> bool:
    return any(options[name] is not None for name in LIMITS)


def _raster(file: str, options: dict[str, Any]) -> Any:
    """Return the raster of a file with its reference system."""
    from dataclasses import replace

    from clgeom.arguments import wrong_file
    from clgeom.commands.region_facts import check_crs
    from clgeom.geo.geodesy import shown
    from clgeom.io.rasters import open_raster

    raster = open_raster(file, **{name: options[name] for name in ("band", "array", "nodata", "window")})
    check_crs(raster, options["crs"], file)
    crs = options["crs"] or raster.crs
    if crs is not None and raster.transform is None:
        raise wrong_file(file, f"has no transform: the position of its cells in {shown(crs)} is unknown")
    return replace(raster, crs=crs)


def _polygons(raster: Any, names: Any, session: Any, profile: bool, options: dict[str, Any]) -> Any:
    """Return the polygons as the options ask for."""
    from clgeom.region.classes.polygonize import polygonize as polygons_of

    connectivity: Any = int(options["connectivity"])
    found = polygons_of(raster, connectivity=connectivity, names=names, device=session, profile=profile)
    if _was_simplified(options) and len(found):
        limits = {name: options[name] for name in LIMITS}
        found = found.simplify(**limits, boundary=options["boundary"])
    return found.dissolve() if options["dissolve"] else found


def _file(
    raster: Any, output: Any, names: Any, layer: Any, session: Any, progress: Any, options: dict[str, Any]
) -> Any:
    """Write the polygons as they are complete."""
    from clgeom.scale.polygons import polygonize_file

    given = {name: options[name] for name in ("tolerance", "boundary", "densify")}
    given |= {"connectivity": int(options["connectivity"]), "names": names, "layer": layer, "progress": progress}
    return polygonize_file(raster, output, **given, max_bytes=options["max_bytes"] or "1 GB", device=session)


def _names(path: str | None) -> dict[int, str]:
    """Return the names of classes of a table with the columns class and name, by its header or in this order."""
    from clgeom.arguments import wrong_file
    from clgeom.io.files import reading

    if path is None:
        return {}
    found: dict[int, str] = {}
    with reading(path), open(path, newline="", encoding="utf-8-sig") as file:
        try:
            rows = [(number, row) for number, row in enumerate(csv.reader(file), 1) if any(map(str.strip, row))]
        except (csv.Error, UnicodeDecodeError) as error:
            raise wrong_file(path, f"is no table of text: {error}") from error
    columns = _header(rows[0][1]) if rows else None
    own, named = columns or (0, 1)
    for number, row in rows[columns is not None :]:
        if len(row) <= max(own, named):
            raise wrong_file(path, f"must have a class and its name in line {number}. Got '{','.join(row)}'")
        try:
            value = int(row[own])
        except ValueError:
            raise wrong_file(path, f"must have a class, a whole number, in line {number}. Got '{row[own]}'") from None
        if value in found:
            raise wrong_file(path, f"names the class {value} twice, in line {number} again")
        found[value] = row[named].strip()
    return found


def _header(row: list[str]) -> tuple[int, int] | None:
    """Return the places of class and name in a header, the first two unless it names them; None for a row of values."""
    heads = [field.strip().lower() for field in row]
    if len(row) < 2 or heads[0][:1].strip("+-.") in {"", *"0123456789"}:
        return None
    own = heads.index("class") if "class" in heads else 0
    return own, heads.index("name") if "name" in heads else 1


def _rows(classes: Any, names: Any, cell_area: float) -> list[dict[str, Any]]:
    """Return the number of polygons, cells and areas of each class."""
    return [
        {
            "class": value,
            "name": names.get(value),
            "polygons": polygons,
            "cells": cells,
            "cells_area": cells * cell_area,
            "area": area,
        }
        for value, (polygons, cells, area) in sorted(classes.items())
    ]


def _write(polygons: Any, output: Any, picture: Any, page: Any, layer: Any, options: dict[str, Any]) -> Any:
    """Write and draw; return what was written, None without an output."""
    from clgeom.io.atomic import all_or_none, new_file
    from clgeom.io.classes import write_new_classes
    from clgeom.plotting.classes import save_classes_plot

    written = None
    with all_or_none():
        if output:
            with new_file(output) as file:
                how = {"crs": polygons.crs, "layer": layer, "densify": options["densify"]}
                written = write_new_classes(polygons, file, **how)
        if picture:
            save_classes_plot(polygons, picture)
        if page:
            polygons.to_html(page)
    return written
