"""The command ``clgeom region``: coverage polygons of a raster, of points, or of a computed radio map."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click

from clgeom.commands.options import (
    FINITE,
    Rule,
    check_files,
    columns_option,
    command,
    crs_option,
    is_typed,
    layer_option,
    nodata_option,
    output_option,
    page_option,
    path_option,
    plot_option,
    profile_option,
    with_default,
)
from clgeom.commands.region_options import BUDGETS, FOR_SEGMENTS, POINTS_EACH, SEGMENTS
from clgeom.commands.terminal import Call
from clgeom.errors import InvalidInput
from clgeom.geo.smooth import MOST_ROUNDS
from clgeom.io.outputs import GEOMETRIES, IN_LONLAT, either

MODELS = (
    *("wim", "wim-los", "free-space", "two-ray", "okumura-hata", "cost231-hata"),
    *("uma", "uma-los", "umi", "umi-los", "rma", "rma-los"),
)
CUTS = ("count", "width")
OUTLINES = ("segments", "cells")
#: Parameters of functions that are not options of the command: errors name the input.
INPUTS = {"transform": "transform", "raster": "raster", "points": "points", "polygons": "option --clip"}
#: Least area of the parts of a computed map, in m2: a square of 50 m, which planners use as a bin. Smaller parts are
#: specks of the shadowing: of the usual map at -75 dBm 853 of 880 parts, with 14% of the cells.
MADE_LEAST = 2500.0
#: Most rows and columns of a computed map.
MOST_CELLS_A_SIDE = 1 << 15


def _has_points(file: Any) -> bool:
    from clgeom.io.files import ENDINGS, is_stdin

    endings = tuple(ending for kind in ("table", "arrow", "lidar", "layer") for ending in ENDINGS[kind])
    return isinstance(file, str) and (is_stdin(file) or file.lower().endswith(endings))


def _source(given: Any) -> str:
    """Return what the map or the points are from, in words."""
    if given.file is None:
        return f"--model {given.model}" if given.model else "neither a FILE nor a --model"
    if isinstance(given.file, tuple):
        return f"{len(given.file):,} FILEs"
    return f"the {'points of' if _has_points(given.file) else 'raster'} '{given.file}'"


def _along_cells(given: Any) -> bool:
    """Return whether polygons are along the cells: asked for, by an option for them, or without one for segments."""
    if given.outline is not None or any(getattr(given, name) is not None for name in BUDGETS):
        return given.outline != "segments"
    context = click.get_current_context()
    typed = any(parameter.name in FOR_SEGMENTS and is_typed(context, parameter) for parameter in context.command.params)
    return _is_raster(given) and not (typed or given.holes)


def _is_raster(given: Any) -> bool:
    return not _has_points(given.file)


def _by_segments(given: Any) -> bool:
    return not _along_cells(given)


def _has_several_segments(given: Any) -> bool:
    return given.segments is None or _numbers(given.segments) != 1


def _is_one(given: Any) -> bool:
    return not isinstance(given.file, tuple)


RULES = (
    Rule("comparison before", "is for one FILE; run the command for each.", _is_one, _source),
    Rule(
        f"segments outline cuts axis parts holes simplify nested bands metrics weights comparison {' '.join(BUDGETS)}",
        "does not go together with --before, whose polygons are exactly along the cells.",
        lambda given: given.before is None,
        lambda given: f"--before {given.before}",
    ),
    Rule("size pixel frequency sigma seed", "is for a map of --model.", lambda given: given.model is not None, _source),
    Rule("seed", "is for shadowing; remove it, or --sigma 0.", lambda given: given.sigma != 0),
    Rule("band array nodata window parts holes outline page comparison sites", "is for rasters.", _is_raster, _source),
    Rule(f"least nested bands metrics weights {' '.join(BUDGETS)}", "is for rasters.", _is_raster, _source),
    Rule("layer value columns", "is for points.", lambda given: given.file is None or not _is_raster(given), _source),
    Rule("before clip", "is for rasters of files.", lambda given: not given.model and _is_raster(given), _source),
    Rule("band array nodata window layer value columns", "is for a FILE.", lambda given: not given.model, _source),
    Rule(
        "direction unit",
        "is for levels. Of points, --value names the column that --level is compared with.",
        lambda given: _is_raster(given) or given.value is not None,
    ),
    Rule(
        " ".join(BUDGETS),
        "is for polygons along the cells (--outline cells).",
        lambda given: given.outline != "segments",
    ),
    Rule("simplify", "is for outlines of segments. Use --tolerance along the cells.", _by_segments),
    Rule(" ".join(FOR_SEGMENTS[:4]), "is for outlines of segments (--outline segments).", _by_segments),
    Rule(
        "holes",
        "must be 0 along the cells, where all holes are cut out.",
        lambda given: _by_segments(given) or given.holes == 0,
        lambda given: f"{given.holes:g}",
    ),
    Rule(
        "cuts axis",
        "is for several segments; --segments 1 gives the convex hull.",
        _has_several_segments,
    ),
    Rule(
        "simplify",
        "moves boundaries outwards only; --segments 1 gives the convex hull, which loses points with any vertex.",
        _has_several_segments,
    ),
    Rule(
        "output picture page comparison nested bands metrics simplify outline least weights unit crs profile",
        "Several --segments print a comparison only; they do not go together with {option}.",
        lambda given: "," not in (given.segments or ""),
    ),
    Rule(
        "levels",
        "must name each level once.",
        lambda given: len(set(given.levels)) == len(given.levels),
        lambda given: f"{next(level for level in given.levels if given.levels.count(level) > 1):g} twice",
    ),
    Rule("least", "must be 0 or more.", lambda given: given.least >= 0),
    Rule("simplify", "must be 0 or more.", lambda given: given.simplify >= 0),
    Rule(
        "densify",
        "must be a distance above 0.",
        lambda given: given.densify > 0,
        lambda given: f"{given.densify:g}",
    ),
    Rule(
        "size",
        f"must be within 1 to {MOST_CELLS_A_SIDE:,}.",
        lambda given: 1 <= given.size <= MOST_CELLS_A_SIDE,
        lambda given: f"{given.size:,}",
    ),
    Rule("seed", "must be 0 or more.", lambda given: given.seed >= 0, lambda given: given.seed),
    Rule("bands", "The options --nested and {option} do not go together.", lambda given: not given.nested),
    Rule(
        "nested bands",
        "The options --nested and --bands need an output (-o) or a picture (--plot, --html). Got only {option}.",
        lambda given: given.output or given.picture or given.page,
    ),
    Rule("smooth", "is for rasters.", _is_raster, _source),
    Rule("smooth", "needs an output (-o) or a picture (--plot).", lambda given: given.output or given.picture),
    Rule("smooth", "is for outlines as they are, without --before.", lambda given: given.before is None),
    Rule("sites", "needs a picture (--plot) or a page (--html).", lambda given: given.picture or given.page),
    Rule(
        "densify",
        "is for an output (-o) that ends in .geojson, .json or .kml.",
        lambda given: (given.output or "").lower().endswith(IN_LONLAT),
    ),
)


#: Sections of options in the help.
SECTIONS = {
    "Levels and outlines": "levels direction outline segments cuts axis parts holes least simplify nested bands",
    "Polygons along the cells": "vertices part_vertices tolerance iou",
    "Raster input": "band array window nodata clip before weights",
    "Point input": "columns layer value",
    "Raster and point input": "crs unit",
    "Radio map instead of FILE": "model size pixel frequency sigma seed",
    "Output": "output densify smooth picture page sites comparison metrics profile",
}
EXAMPLES = (
    (
        "Draw where a computed radio map reaches -75 and -85 dBm",
        "clgeom region --model wim --level -75 --level -85 --plot coverage.png",
    ),
    (
        "Polygons of a raster that follow its cells closely, without parts below 10,000 m2",
        "clgeom region signal.tif --level -95 --iou 0.95 --least 10000 -o signal.gpkg",
    ),
    ("The outline of the points of a table, with 32 segments", "clgeom region survey.csv --segments 32 -o outline.wkt"),
)


def _one_or_several(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> Any:
    """Return no file as None, one as a name, and several as a tuple."""
    return value if len(value) > 1 else value[0] if value else None


@command(
    sections=SECTIONS,
    examples=EXAMPLES,
    rules=RULES,
    named={"levels": "option --level", "shape": "option --size", **INPUTS},
)
@click.argument("file", metavar="[FILE]...", nargs=-1, type=click.Path(), callback=_one_or_several)
@click.option("--level", "levels", type=FINITE, multiple=True, help="Level to cover; may be repeated.")
@with_default("--direction", ">=", "Cover values at or above a level, or at or below it.", click.Choice([">=", "<="]))
@click.option(
    "--segments",
    metavar="N[,N...]",
    help="Number of segments of each region: its resolution. 1 gives the convex hull. Several numbers print a "
    f"comparison.  [default: {SEGMENTS}; for points at most one for each {POINTS_EACH} of them]",
)
@click.option(
    "--outline",
    type=click.Choice(OUTLINES),
    help="Polygons along the cells, or outlines of few vertices, of --segments.  [default: segments with an option for "
    "these, else cells]",
)
@click.option("--vertices", type=int, metavar="N", help="Most vertices of each level.")
@click.option("--part-vertices", type=int, metavar="N", help="Most vertices of each polygon.")
@click.option(
    "--tolerance", type=FINITE, metavar="DISTANCE", help="Largest distance of a polygon from its cells, in map units."
)
@click.option("--iou", type=FINITE, help="Smallest area of the cells divided by that of the polygons, such as 0.95.")
@with_default("--cuts", "count", "Segments with equally many covered columns, or of equal width.", click.Choice(CUTS))
@with_default("--axis", "x", "Segments along x, or along both axes for a closer outline.", click.Choice(["x", "both"]))
@with_default("--parts/--no-parts", True, "One region for each connected part, or one for each level.")
@click.option("--holes", type=FINITE, metavar="AREA", help="Cut out holes of at least this area, in square map units.")
@click.option(
    "--least",
    type=FINITE,
    metavar="AREA",
    help=f"Leave out parts whose cells have less area, in square map units.  [default: 0 for FILE, {MADE_LEAST:,g} m2 "
    "for --model]",
)
@click.option(
    "--simplify",
    type=FINITE,
    metavar="DISTANCE",
    help="Remove vertices nearer than this to the outline; every cell stays covered.",
)
@click.option("--nested", is_flag=True, help="One shape for each level, each within that of the level before.")
@click.option("--bands", is_flag=True, help="One shape for each level, without that of the next level.")
@click.option("--model", type=click.Choice(MODELS), metavar="MODEL", help=f"Path loss of the map: {either(MODELS)}.")
@with_default("--size", 512, "Number of rows, and of columns.")
@with_default("--pixel", 5.0, "Side of a cell in metres.")
@click.option("--frequency", type=FINITE, help="Frequency in MHz.  [default: 900 for okumura-hata, else 1800]")
@with_default("--sigma", 8.0, "Standard deviation of the shadowing in dB.")
@with_default("--seed", 0, "Seed of the shadowing.")
@with_default("--band", 1, "Band of the raster, from 1.")
@click.option("--array", metavar="NAME", help="Array of a .npz file, or variable of a NetCDF file or Zarr store.")
@click.option(
    "--window",
    type=int,
    nargs=4,
    metavar="ROW COLUMN ROWS COLUMNS",
    help="Read only this part: its first row and column, its rows and columns.",
)
@path_option(
    "--clip", metavar="POLYGONS", help="Use only cells with their centre in a polygon: .gpkg, .geojson, .shp or .fgb."
)
@path_option(
    "--before", metavar="RASTER", help="Polygons of what FILE gained and lost since this raster of the same cells."
)
@path_option(
    "--weights", metavar="RASTER", help="Print the sum of this raster, such as population, over the covered cells."
)
@columns_option("Columns of x and y, by name or by number from 1.")
@layer_option
@click.option("--value", metavar="NAME|N", help="Column that --level is compared with.")
@crs_option
@nodata_option
@click.option("--unit", help="Unit of the levels.  [default: that of the raster, dBm for --model]")
@output_option(f"Write the regions: {either(GEOMETRIES)}.")
@click.option(
    "--densify",
    type=FINITE,
    metavar="METRES",
    help="Largest distance of an edge from its curve in longitude and latitude (.geojson, .json, .kml).  [default: "
    "1/128 of a cell]",
)
@with_default(
    "--smooth",
    0,
    "Cut corners in so many rounds in files and pictures, for presentation: not exact.",
    click.IntRange(0, MOST_ROUNDS),
)
@plot_option("Draw the input and the regions")
@page_option
@click.option(
    "--transmitter",
    "sites",
    type=FINITE,
    nargs=2,
    multiple=True,
    metavar="X Y",
    help="Mark a transmitter in pictures, in map coordinates; may be repeated.",
)
@path_option(
    "--compare",
    "comparison",
    metavar="PNG",
    help="Draw the first level with more and more segments: .png, .svg or .pdf.",
)
@click.option(
    "--metrics", is_flag=True, help="Print superfluous and missed area of the regions and of the convex hull."
)
@profile_option
def region(
    call: Call,
    file: Any,
    levels: Any,
    output: str | None,
    picture: str | None,
    page: str | None,
    comparison: str | None,
    profile: bool,
    **options: Any,
) -> None:
    """Coverage polygons of a raster, of points, or of a computed radio map.

    A raster FILE is .tif, .nc, .zarr, .asc, .img, .npy or .npz. Each connected part of the cells that reach a --level
    becomes a polygon. Several rasters go into one output or picture; the attribute "name" is the name of the file.

    A FILE of points is a table (.csv, .tsv, .txt, .csv.gz), .parquet, .feather, .las, .laz, .gpkg, .geojson, .shp or
    .fgb; - reads standard input. All points get one outline, or with --value those that reach a --level.

    --model computes a radio map with shadowing: Walfisch-Ikegami (wim), free space, flat ground (two-ray),
    Okumura-Hata, COST 231-Hata, or urban macro and micro and rural macro cells of 3GPP (uma, umi, rma); -los is with
    line of sight.

    Polygons are valid and cover every cell that reaches the level. They are along the cells, exactly or within a budget
    such as --iou, and those of one level do not overlap (in .geojson and .kml polygons that touch overlap by a small
    margin). With --segments, or another option for segments, they have few vertices, and fill bays and holes.

    GeoJSON and KML are in longitude and latitude. They need a coordinate reference system, or points in columns named
    lon and lat. Areas in km2 are on the ellipsoid.
    """
    if options["least"] is None:
        made = file is None and "," not in (options["segments"] or "")
        options["least"] = MADE_LEAST if made else 0.0
    options["outline"] = "cells" if _along_cells(SimpleNamespace(**options, file=file)) else "segments"
    if options["segments"] is not None:
        options["segments"] = _numbers(options["segments"])
    elif options["outline"] == "segments" and not _has_points(file):
        options["segments"] = SEGMENTS
    outputs = {"output": output, "picture": picture, "page": page, "comparison": comparison}
    _check(file, levels, outputs, options)
    if isinstance(file, tuple):
        from clgeom.commands.region_several import run_on_rasters

        run_on_rasters(call, file, levels, outputs, profile, options)
    elif options["before"]:
        from clgeom.commands.region_change import run_on_change

        run_on_change(call, file, levels, outputs, profile, options)
    elif _has_points(file):
        from clgeom.commands.region_points import run_on_points

        run_on_points(call, file, levels, output, picture, profile, options)
    else:
        from clgeom.commands.region_raster import run_on_raster

        run_on_raster(call, file, levels, outputs, profile, options)


def _numbers(text: str) -> Any:
    """Return the value of --segments: a number, or a list of several."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"The option --segments must be whole numbers, as 64 or 8,32,128. Got '{text}'.") from None
    return numbers[0] if len(numbers) == 1 else numbers


def _check(file: Any, levels: Any, outputs: Any, options: dict[str, Any]) -> None:
    """Refuse wrong options and outputs that cannot be written, before the work starts."""
    from clgeom.optional import require_matplotlib, require_shapely
    from clgeom.plotting.figures import FORMATS as PICTURES
    from clgeom.plotting.html import PAGE_FORMATS

    output, picture, page, comparison = outputs.values()
    if (file is None) == (options["model"] is None):
        raise InvalidInput("Name a FILE, or a --model that computes a map, but not both.")
    if file is not None and not levels and not _has_points(file):
        raise InvalidInput("A raster needs one --level or more, such as --level -85.")
    if isinstance(file, tuple):
        points = next((one for one in file if _has_points(one)), None)
        if points is not None:
            raise InvalidInput(f"Several FILEs must be rasters. Got the points of '{points}' instead.")
        if isinstance(options["segments"], list):
            raise InvalidInput(f"Several --segments are for one FILE. Got {len(file):,} FILEs instead.")
    if isinstance(options["segments"], list) and _has_points(file):
        raise InvalidInput(f"Several --segments are for rasters. Got the points of '{file}' instead.")
    cut = options["holes"] is not None or options["axis"] == "both" or options["nested"] or options["bands"]
    if cut or comparison or options["metrics"] or isinstance(options["segments"], list):
        require_shapely()
    if page:
        require_matplotlib()  # for the image of the raster
    pictures = ((picture, PICTURES), (page, PAGE_FORMATS), (comparison, PICTURES))
    check_files(file, (output, GEOMETRIES), *pictures, crs=options["crs"], caller="region")
