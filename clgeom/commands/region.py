"""The command ``clgeom region``: coverage polygons of a raster, of points, or of a map made from nothing."""

from __future__ import annotations

import math
from pathlib import Path

import click
import numpy as np

from clgeom.commands import terminal
from clgeom.errors import InvalidInput
from clgeom.region.geodesy import shown

MODELS = ("wim", "wim-los", "free-space", "two-ray")
#: What a map made from nothing is cut at when no level is named.
DEFAULT_LEVELS = (-75.0, -85.0, -95.0)
#: Where such a map is: the middle of Munich.
MADE_CRS, MADE_ORIGIN = "EPSG:32632", (691_000.0, 5_335_500.0)
#: Rows and columns of such a map at most.
MOST_CELLS_A_SIDE = 1 << 15


@click.command()
@click.argument("file", required=False)
@click.option("--level", "levels", type=float, multiple=True, help="Threshold; may be repeated.")
@click.option("--direction", type=click.Choice([">=", "<="]), default=">=", show_default=True,
              help="Whether values at or above a level are covered, or those at or below it.")  # fmt: skip
@click.option("--segments", type=int, default=64, show_default=True,
              help="Segments of each region: its resolution. 1 is the convex hull.")  # fmt: skip
@click.option("--cuts", type=click.Choice(["count", "width"]), default="count", show_default=True,
              help="Segments of equally many occupied columns, or equally wide.")  # fmt: skip
@click.option("--axis", type=click.Choice(["x", "both"]), default="x", show_default=True,
              help="Segments of columns; both: within segments of rows, too, which is tighter.")  # fmt: skip
@click.option("--parts/--no-parts", default=True, show_default=True,
              help="A region for each connected part, or one for each level.")  # fmt: skip
@click.option("--holes", type=float, metavar="AREA",
              help="Cut out holes of at least this area, in the map's unit squared.")  # fmt: skip
@click.option("--least", type=float, default=0.0, metavar="AREA",
              help="Leave out parts whose cells have less area than this (they are then missed).")  # fmt: skip
@click.option("--simplify", type=float, metavar="DISTANCE",
              help="Leave out vertices nearer than this to the new outline; nothing covered is lost.")  # fmt: skip
@click.option("--nested", is_flag=True, help="Write and draw one shape a level, each within the one before.")
@click.option("--bands", is_flag=True, help="The same, with the next level cut out of each.")
@click.option("--model", type=click.Choice(MODELS), help="Make a map instead of reading FILE.")
@click.option("--size", type=int, default=512, show_default=True, help="Rows and columns of a map that is made.")
@click.option("--pixel", type=float, default=5.0, show_default=True, help="Side of its cells in m.")
@click.option("--frequency", type=float, default=1800.0, show_default=True, help="Its frequency in MHz.")
@click.option("--sigma", type=float, default=8.0, show_default=True, help="Its shadowing in dB.")
@click.option("--seed", type=int, default=0, show_default=True, help="Its shadowing's seed.")
@click.option("--band", type=int, default=1, show_default=True, help="Which band of a raster.")
@click.option("--array", metavar="NAME", help="Which array of a .npz file.")
@terminal.columns_option("Columns of x and y of points, by name or number from 1.")
@click.option("--value", metavar="NAME|N", help="Column of points with what levels are compared with.")
@click.option("--crs", help="Coordinate reference system, as EPSG:32632, instead of the file's.")
@click.option("--nodata", type=float, help="Value of cells that hold nothing, instead of the file's.")
@click.option("--unit", default="dBm", show_default=True, help="Unit of the levels.")
@click.option("-o", "--output", metavar="OUT", help="Write the regions: .geojson, .gpkg, .kml or .wkt.")
@click.option("--plot", "picture", metavar="PNG", help="Draw the raster and what -o writes: .png, .svg or .pdf.")
@click.option("--compare", "comparison", metavar="PNG",
              help="Draw the first level's cells, convex hull, and regions of more and more segments.")  # fmt: skip
@click.option("--metrics", is_flag=True, help="Measure superfluous and missed area against the convex hull.")
@click.option("--profile", is_flag=True, help="Print what each phase took, moved and was shaped as.")
@terminal.device_option
@terminal.json_option
@terminal.named_options(
    levels="option --level", tolerance="option --simplify", shape="option --size", transform="transform",
    raster="raster", points="points",
)  # fmt: skip
def region(file, levels, output, picture, comparison, device, as_json, profile, **options):
    """Coverage polygons of a raster FILE (.tif, .npy, .npz) or of points (.csv): one for each part of each level.

    Polygons are valid, cover every cell that reaches the level, and have few vertices. GeoJSON and KML are in longitude
    and latitude: they need a coordinate reference system, or points in columns named lon and lat. Areas in km2 are on
    the ellipsoid. With --model a radio map is made from nothing: Walfisch-Ikegami (wim), with line of sight (wim-los),
    free space, or flat ground (two-ray), all with shadowing.
    """
    from clgeom.runtime.device import as_session

    _check(file, levels, output, picture, comparison, options)
    session = as_session(device)
    if _has_points(file):
        _of_points(file, levels, output, picture, session, as_json, profile, options)
        return
    raster, reading = terminal.timed(_raster, file, session, options)
    levels = levels or DEFAULT_LEVELS
    found, computing = terminal.timed(_regions, raster, levels, session, profile, options)
    kept = _kept(found, raster, options)
    if not kept:
        raise InvalidInput(_nothing(file, raster, levels, options))
    shapes = _shapes(kept, options)
    written = _write(shapes, raster, found.grid, output, picture, comparison, levels, options, session)
    measured = _measured(raster, kept, levels, options, session) if options["metrics"] else []
    rows = [_level_facts(raster, found.grid, shapes, level, levels, options) for level in _drawn_levels(shapes, levels)]
    if as_json:
        phases = found.phases if profile else ()
        terminal.print_json(_as_json(raster, rows, session, computing, measured, phases, written))
        return
    band = f"band {options['band']} of {raster.bands}, " if raster.bands > 1 else ""
    crs = "no coordinate reference system" if raster.crs is None else shown(raster.crs).strip("'")
    terminal.print_facts(
        ("map", f"{' x '.join(map(str, raster.values.shape))} cells ({raster.values.dtype}), {band}{crs}"),
        ("device", terminal.device_words(session)),
        ("time", f"{terminal.duration(computing)} ({'making' if file is None else 'reading'} the map: "
                 f"{terminal.duration(reading)})"),
        *(("wrote", _written_words(name, written if name == output else None))
          for name in (output, picture, comparison) if name),
    )  # fmt: skip
    _print_levels(rows, options)
    if measured:
        click.echo()
        terminal.print_table(MEASURED, [_measured_row(row) for row in measured])
    if profile:
        click.echo()
        terminal.print_phases(found.phases)


def _has_points(file):
    return file is not None and Path(file).suffix.lower() in (".csv", ".tsv", ".txt")


def _check(file, levels, output, picture, comparison, options):
    """Everything about the call that can be wrong, found before the work starts."""
    from clgeom.io.atomic import check_output
    from clgeom.io.geo import FORMATS
    from clgeom.plotting import figures as plot
    from clgeom.region.arc.result import require_shapely

    if (file is None) == (options["model"] is None):
        raise InvalidInput("Name a FILE, or a --model to make a map with; not both.")
    if file is not None and not levels and not _has_points(file):
        raise InvalidInput("Name one --level or more.")
    if _has_points(file):
        rasters_own = {"--no-parts": not options["parts"], "--compare": comparison, **{
            f"--{name}": options[name] for name in ("least", "nested", "bands", "metrics", "array", "nodata")
        }, "--holes": options["holes"] is not None}  # fmt: skip
        given = [name for name, value in rasters_own.items() if value not in (None, False, 0)]
        if given:
            raise InvalidInput(f"The option {given[0]} is for rasters. Got the points of '{file}' instead.")
    if not all(map(math.isfinite, levels)):
        raise InvalidInput("The option --level must be a finite number.")
    if len(set(levels)) < len(levels):
        twice = next(level for level in levels if levels.count(level) > 1)
        raise InvalidInput(f"The option --level must name each level once. Got {twice:g} more than once.")
    if not options["least"] >= 0 or (options["simplify"] is not None and not options["simplify"] >= 0):
        raise InvalidInput("The options --least and --simplify must be 0 or more.")
    if (options["nested"] or options["bands"]) and not (output or picture):
        raise InvalidInput("The options --nested and --bands are for what is written (-o) or drawn (--plot).")
    if options["nested"] and options["bands"]:
        raise InvalidInput("The options --nested and --bands do not go together.")
    if not 1 <= options["size"] <= MOST_CELLS_A_SIDE:
        raise InvalidInput(
            f"The option --size must be within 1 to {MOST_CELLS_A_SIDE:,}. Got {options['size']:,} instead."
        )
    if options["seed"] < 0:
        raise InvalidInput(f"The option --seed must be 0 or more. Got {options['seed']} instead.")
    if picture or comparison:
        plot.require_matplotlib()
    cut = options["holes"] is not None or options["axis"] == "both" or options["nested"] or options["bands"]
    if cut or comparison or options["metrics"]:
        require_shapely()
    taken = {Path(file).resolve(): "the input file"} if file else {}
    for name, formats in ((output, FORMATS), (picture, plot.FORMATS), (comparison, plot.FORMATS)):
        if name:
            target = check_output(name, formats)
            if target in taken:
                raise InvalidInput(f"The output '{name}' is {taken[target]}.")
            taken[target] = f"the output '{name}', too"
    if options["crs"] is not None:
        from clgeom.region.geodesy import as_crs

        as_crs(options["crs"], caller="region")


def _raster(file, session, options):
    """The raster to work on: read, or made."""
    from dataclasses import replace

    from clgeom.io.geo import Raster, read_raster

    if file is not None:
        raster = read_raster(file, band=options["band"], array=options["array"], nodata=options["nodata"])
        crs = options["crs"]
        if crs is None and raster.crs is not None:
            crs = _known_crs(raster.crs, file)
        if crs is not None and raster.transform is None:
            raise InvalidInput(f"The file '{file}' has no transform: where its cells are in {shown(crs)} is not known.")
        return replace(raster, crs=crs)
    from clgeom.radio import coverage_map

    made = coverage_map(
        (options["size"], options["size"]), model=options["model"], pixel=options["pixel"],
        frequency=options["frequency"], sigma=options["sigma"], seed=options["seed"], origin=MADE_ORIGIN,
        crs=options["crs"] or MADE_CRS, device=session,
    )  # fmt: skip
    return Raster(made.values, made.transform, made.crs)


def _known_crs(crs, file):
    """The reference system that a file names, once pyproj, where it is there, has found that it knows it."""
    import importlib.util

    from clgeom.region.geodesy import as_crs

    if importlib.util.find_spec("pyproj") is not None:
        try:
            as_crs(crs, caller="region")
        except InvalidInput as error:
            raise InvalidInput(
                f"The file '{file}' names a coordinate reference system that is none: {shown(crs)}. "
                "Name another (--crs EPSG:32632)."
            ) from error
    return crs


def _regions(raster, levels, session, profile, options):
    from clgeom.region.coverage.regions import coverage_regions

    return coverage_regions(
        raster.values, levels, direction=options["direction"], transform=raster.transform, crs=raster.crs,
        nodata=raster.nodata, segments=options["segments"], cuts=options["cuts"], axis=options["axis"],
        parts=options["parts"],
        holes=options["holes"], device=session, profile=profile,
    )  # fmt: skip


def _kept(found, raster, options):
    """The regions that are not empty nor too small, simplified if that was asked for."""
    least = options["least"] / found.grid.cell_area
    kept = [one for one in found if one and (one.cells is None or one.cells >= least)]
    return [one.simplify(options["simplify"]) for one in kept] if options["simplify"] is not None else kept


def _nothing(file, raster, levels, options):
    """What to say when no cell is covered."""
    from clgeom.region.coverage.rasters import known_values

    name = f"'{file}'" if file else "the map"
    values = known_values(raster.values, raster.nodata)
    values = values[np.isfinite(values)]
    if not values.size:
        return f"There is nothing in {name}: every cell is NaN or nodata."
    level = levels[0] if len(levels) == 1 else "any level"
    small = " in a part that is large enough" if options["least"] else ""
    return (
        f"No cell of {name} is {options['direction']} {level}{small}: values are {values.min():g} to {values.max():g}."
    )


def _shapes(kept, options):
    """What is written and drawn: the regions, or one shape a level."""
    from clgeom.region.coverage.bands import nested

    return nested(kept, bands=options["bands"]) if options["nested"] or options["bands"] else kept


def _write(shapes, raster, grid, output, picture, comparison, levels, options, session):
    """Write and draw; all that may be refused comes first. What was written to `output`, None without."""
    from clgeom.io.atomic import replacing
    from clgeom.io.geo import encode_features, features_of
    from clgeom.plotting import figures as plot

    content = written = None
    if output:
        resolution = math.sqrt(grid.cell_area)
        features = features_of(shapes, unit=options["unit"])
        content, written = encode_features(features, output, crs=raster.crs, resolution=resolution)
    if picture:
        plot.save_coverage_plot(shapes, picture, raster=raster, unit=options["unit"])
    if comparison:
        how = {"direction": options["direction"], "unit": options["unit"], "device": session}
        plot.save_comparison_plot(raster, levels[0], comparison, **how)
    if output:
        with replacing(output) as file:
            file.write(content)
    return written


def _written_words(name, written):
    """The name of an output and what is in it."""
    if written is None:
        return name
    added = f", {written.added:,} of them along edges that are curves there" if written.added else ""
    return f"{name} ({written.vertices:,} vertices{added})"


# Points -----------------------------------------------------------------------------------------------------------


def _of_points(file, levels, output, picture, session, as_json, profile, options):
    """The adaptive region of points, of those that reach each level where they have values."""
    from clgeom import adaptive_region
    from clgeom.io.atomic import replacing
    from clgeom.io.geo import Feature, encode_features
    from clgeom.io.lonlat import named_lonlat
    from clgeom.io.points import read_named_points, read_valued_points

    if bool(levels) != (options["value"] is not None):
        raise InvalidInput("The options --level and --value go together for points.")
    if levels:
        found, reading = terminal.timed(read_valued_points, file, options["value"], columns=options["columns"])
        points, names, values = found
    else:
        (points, names), reading = terminal.timed(read_named_points, file, columns=options["columns"])
    if not np.isfinite(points).all():
        row, column = np.argwhere(~np.isfinite(points))[0]
        raise InvalidInput(
            f"The points in '{file}' must be finite. Got {points[row, column]} in point {row + 1} instead."
        )
    lonlat = options["crs"] is None and names is not None and named_lonlat(*names)
    chosen = [(None, points)]
    if levels:
        chosen = [(level, points[_reach(values, level, options["direction"])]) for level in levels]
    made, computing = terminal.timed(
        lambda: [
            (
                level,
                adaptive_region(
                    some,
                    options["segments"],
                    cuts=options["cuts"],
                    axis=options["axis"],
                    device=session,
                    profile=profile,
                ),  # fmt: skip
            )
            for level, some in chosen
            if len(some)
        ]
    )
    if not made:
        raise InvalidInput(f"No point of '{file}' {'reaches a level' if levels else 'is there'}.")
    if options["simplify"] is not None:
        made = [(level, one.simplify(options["simplify"])) for level, one in made]
    features = []
    for level, one in made:
        named = {} if level is None else {
            "dbm" if options["unit"] == "dBm" else "level": level,
            "label": f"{options['direction']} {level:g} {options['unit']}".rstrip(),
        }  # fmt: skip
        features.append(
            Feature(
                one.__geo_interface__,
                {"label": "points", **named, "points": one.n, "area": _finite(float(one.area))},
            )
        )
    content = written = None
    if output:
        content, written = encode_features(features, output, crs=options["crs"], lonlat=lonlat)
    if picture:
        from clgeom.plotting import figures as plot

        labels = [feature.properties["label"] for feature in features]
        plot.save_regions_plot([one for _, one in made], picture, points=points, labels=labels)
    if output:
        with replacing(output) as out:
            out.write(content)
    vertices = [sum(map(len, one.parts)) if one.axis == "both" else len(one) for _, one in made]
    if as_json:
        facts = [{**feature.properties, "vertices": count} for feature, count in zip(features, vertices)]
        terminal.print_json({"device": session.profile.name, "seconds": computing, "regions": facts})
        return
    terminal.print_facts(
        ("points", f"{len(points):,} ({points.dtype})"),
        ("device", terminal.device_words(session)),
        ("time", f"{terminal.duration(computing)} (reading the file: {terminal.duration(reading)})"),
        *(("wrote", _written_words(name, written if name == output else None)) for name in (output, picture) if name),
    )
    rows = [
        ("all" if level is None else f"{level:g}", f"{one.n:,}", f"{count:,}",
         " x ".join(f"{k:,}" for k in np.atleast_1d(one.segments)), f"{one.area:,.6g}")
        for (level, one), count in zip(made, vertices)
    ]  # fmt: skip
    terminal.print_table((">level", ">points", ">vertices", ">segments", ">area"), rows)
    if profile:
        click.echo()
        terminal.print_phases(sum((one.phases for _, one in made), ()))


def _reach(values, level, direction):
    """Which values reach a level; integers are compared as such."""
    if values.dtype.kind in "iu":
        level = math.ceil(level) if direction == ">=" else math.floor(level)
    return values >= level if direction == ">=" else values <= level


# Showing ----------------------------------------------------------------------------------------------------------

MEASURED = (
    ">level", "shape", ">vertices", ">area", ">superfluous", ">of the cells", ">of the map", ">missed", ">IoU",
    ">Hausdorff",
)  # fmt: skip


def _measured(raster, kept, levels, options, session):
    """Metrics of each level's convex hull and of its regions."""
    from clgeom.region.coverage.contours import mask_polygons
    from clgeom.region.metrics import hull_of, measure

    rows = []
    for level in levels:
        mask = _mask(raster, level, options)
        if not mask.any():
            continue
        exact = mask_polygons(mask)
        own = [one for one in kept if one.level == level]
        for name, shape in (("convex hull", hull_of(mask)), ("regions", own)):
            rows.append({"level": level, "shape": name, **measure(shape, mask, polygons=exact).asdict()})
    return rows


def _mask(raster, level, options):
    """The cells that reach a level."""
    from clgeom.region.coverage.rasters import covered_mask

    return covered_mask(raster.values, level, direction=options["direction"], nodata=raster.nodata, caller="region")


def _measured_row(row):
    return (
        f"{row['level']:g}", row["shape"], f"{row['vertices']:,}", f"{row['area']:,.0f}", f"{row['superfluous']:,.0f}",
        f"{row['superfluous_of_mask']:.1%}", f"{row['superfluous_of_map']:.1%}", f"{row['missed']:,.3g}",
        f"{row['iou']:.3f}", f"{row['hausdorff']:.1f}",
    )  # fmt: skip


def _drawn_levels(shapes, levels):
    """(level, the level of the next band or None) of what is written, in order."""
    if any(hasattr(shape, "upto") for shape in shapes):
        return [(shape.level, shape.upto) for shape in shapes]
    return [(level, None) for level in levels]


def _level_facts(raster, grid, shapes, level, levels, options):
    """What there is at a level: how many shapes and vertices, the area of the cells and of the outlines' union."""
    from clgeom.io.geo import count_vertices
    from clgeom.region.geodesy import cells_area

    level, upto = level
    own = [one for one in shapes if one.level == level]
    mask = _mask(raster, level, options)
    if upto is not None:
        mask &= ~_mask(raster, upto, options)
    cells = int(np.count_nonzero(mask))
    geometry = _union(own)
    return {
        "level": level,
        "upto": upto,
        "regions": len(own),
        "vertices": sum(count_vertices(one.__geo_interface__) for one in own),
        "holes": sum(_holes(one.__geo_interface__) for one in own),
        "cells": cells,
        "cells_area": cells * grid.cell_area,
        "cells_km2": _km2(lambda: cells_area(mask, grid), raster.crs),
        "area": _finite(_area(own, geometry)),
        "area_km2": None if geometry is None else _km2(lambda: _earth_area(geometry, raster.crs), raster.crs),
    }


def _union(own):
    """The union of shapes as a GeoJSON-like geometry; None of several without Shapely."""
    import importlib.util

    if len(own) == 1:
        return own[0].__geo_interface__
    if importlib.util.find_spec("shapely") is None:
        return None
    import shapely

    return shapely.geometry.mapping(shapely.union_all([one.to_shapely() for one in own]))


def _area(own, geometry):
    if len(own) == 1:
        return float(own[0].area)
    if geometry is None:
        return None
    import shapely

    return float(shapely.geometry.shape(geometry).area)


def _earth_area(geometry, crs):
    from clgeom.region.geodesy import earth_areas

    return float(earth_areas([geometry], crs, caller="area_km2")[0])


def _holes(geometry):
    polygons = geometry["coordinates"] if geometry["type"] == "MultiPolygon" else [geometry["coordinates"]]
    return sum(len(rings) - 1 for rings in polygons if len(rings))


def _km2(square_metres, crs):
    """An area on the ellipsoid in km2; None without a place on it, or where its system cannot express it."""
    import importlib.util

    if crs is None or importlib.util.find_spec("pyproj") is None:
        return None
    try:
        return _finite(square_metres() / 1e6)
    except InvalidInput:
        return None


def _print_levels(rows, options):
    """A line for every level."""

    def area(row, kind):
        km2 = row["cells_km2" if kind == "cells_area" else "area_km2"]
        plain = row[kind]
        return f"{km2:,.6g} km2" if km2 is not None else "-" if plain is None else f"{plain:,.6g}"

    lines = []
    for row in rows:
        upto = "" if row["upto"] is None else f" to {row['upto']:g}"
        lines.append((
            f"{options['direction']} {row['level']:g}{upto} {options['unit']}", f"{row['regions']:,}",
            f"{row['vertices']:,}", f"{row['holes']:,}", f"{row['cells']:,}", area(row, "cells_area"),
            area(row, "area"),
        ))  # fmt: skip
    click.echo()
    headings = ("level", ">regions", ">vertices", ">holes", ">cells", ">area of cells", ">area of outlines")
    terminal.print_table(headings, lines)


def _finite(value):
    """A value that JSON can hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _as_json(raster, rows, session, seconds, measured, phases, written):
    facts = {
        "rows": int(raster.values.shape[0]),
        "columns": int(raster.values.shape[1]),
        "crs": None if raster.crs is None else str(raster.crs),
        "device": session.profile.name,
        "seconds": seconds,
        "levels": rows,
    }
    if written:
        facts["written"] = {"vertices": written.vertices, "added": written.added}
    if measured:
        facts["metrics"] = [{name: _finite(value) for name, value in row.items()} for row in measured]
    if phases:
        facts["phases"] = terminal.phases_as_json(phases)
    return facts
