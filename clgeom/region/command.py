"""The command ``clgeom region``: coverage polygons of a raster, of points, or of a map made from nothing."""

from __future__ import annotations

import math
from pathlib import Path

import click
import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io import terminal

MODELS = ("wim", "wim-los", "free-space", "two-ray")
#: What a map made from nothing is cut at when no level is named.
DEFAULT_LEVELS = (-75.0, -85.0, -95.0)
#: Where such a map is: the middle of Munich.
MADE_CRS, MADE_ORIGIN = "EPSG:32632", (691_000.0, 5_335_500.0)


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
@click.option("--nested", is_flag=True, help="Write one shape a level, each within the one before.")
@click.option("--bands", is_flag=True, help="The same, with the next level cut out of each.")
@click.option("--model", type=click.Choice(MODELS), help="Make a map instead of reading FILE.")
@click.option(
    "--size", type=int, default=512, show_default=True, help="Rows and columns of a map that is made."
)
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
@click.option("--plot", "picture", metavar="PNG", help="Draw raster and regions: .png, .svg or .pdf.")
@click.option("--compare", "comparison", metavar="PNG",
              help="Draw the first level's cells, convex hull, and regions of more and more segments.")  # fmt: skip
@click.option("--metrics", is_flag=True, help="Measure superfluous and missed area against the convex hull.")
@click.option("--profile", is_flag=True, help="Print what each phase took, moved and was shaped as.")
@terminal.device_option
@terminal.json_option
def region(file, levels, output, picture, comparison, device, as_json, profile, **options):
    """Coverage polygons of a raster FILE (.tif, .npy, .npz) or of points (.csv): one for each part of each level.

    Polygons are valid, cover every cell that reaches the level, and have few vertices. GeoJSON is in longitude and
    latitude. With --model a radio map is made from nothing: Walfisch-Ikegami (wim), with line of sight (wim-los), free
    space, or flat ground (two-ray), all with shadowing.
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
    _draw(raster, kept, levels, picture, comparison, options, session)
    if output:
        from clgeom.io.geo import features_of, write_features
        from clgeom.region.bands import nested

        layered = options["nested"] or options["bands"]
        shapes = nested(kept, bands=options["bands"]) if layered else kept
        write_features(features_of(shapes, unit=options["unit"]), output, crs=raster.crs)
    measured = _measured(raster, kept, levels, options, session) if options["metrics"] else []
    if as_json:
        phases = found.phases if profile else ()
        terminal.print_json(_as_json(raster, kept, levels, session, computing, measured, phases))
        return
    values = np.ma.getdata(raster.values)
    terminal.print_facts(
        ("map", f"{' x '.join(map(str, values.shape))} cells ({values.dtype}), "
                f"{raster.crs or 'no coordinate reference system'}"),
        ("device", terminal.device_words(session)),
        ("time", f"{terminal.duration(computing)} ({'making' if file is None else 'reading'} the map: "
                 f"{terminal.duration(reading)})"),
        *(("wrote", name) for name in (output, picture, comparison) if name),
    )  # fmt: skip
    _print_levels(kept, levels, options)
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
    from clgeom import plot
    from clgeom.io.atomic import check_output
    from clgeom.io.geo import FORMATS
    from clgeom.region.result import require_shapely

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
    if not options["least"] >= 0 or (options["simplify"] is not None and not options["simplify"] >= 0):
        raise InvalidInput("The options --least and --simplify must be 0 or more.")
    if (options["nested"] or options["bands"]) and not output:
        raise InvalidInput("The options --nested and --bands are for what is written (-o).")
    if options["size"] < 1:
        raise InvalidInput(f"The option --size must be at least 1. Got {options['size']} instead.")
    if picture or comparison:
        plot.require_matplotlib()
    cut = options["holes"] is not None or options["axis"] == "both" or options["nested"] or options["bands"]
    if cut or comparison or options["metrics"]:
        require_shapely()
    source = Path(file).resolve() if file else None
    for name, formats in ((output, FORMATS), (picture, plot.FORMATS), (comparison, plot.FORMATS)):
        if name and check_output(name, formats) == source:
            raise InvalidInput(f"The output '{name}' is the input file.")
    if options["crs"] is not None:
        from clgeom.region.geodesy import as_crs

        as_crs(options["crs"], of="region")


def _raster(file, session, options):
    """The raster to work on: read, or made."""
    from dataclasses import replace

    from clgeom.io.geo import Raster, read_raster

    if file is not None:
        raster = read_raster(file, band=options["band"], array=options["array"])
        chosen = {name: options[name] for name in ("crs", "nodata") if options[name] is not None}
        return replace(raster, **chosen)
    from clgeom.radio import coverage_map

    made = coverage_map(
        (options["size"], options["size"]), model=options["model"], pixel=options["pixel"],
        frequency=options["frequency"], sigma=options["sigma"], seed=options["seed"], origin=MADE_ORIGIN,
        crs=options["crs"] or MADE_CRS, device=session,
    )  # fmt: skip
    return Raster(made.values, made.transform, made.crs)


def _regions(raster, levels, session, profile, options):
    from clgeom.region.coverage import coverage_regions

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
    name = f"'{file}'" if file else "the map"
    values = np.ma.filled(np.ma.asarray(raster.values, np.float64), np.nan)
    values = values[np.isfinite(values) & (values != raster.nodata)]
    if not values.size:
        return f"There is nothing in {name}: every cell is NaN or nodata."
    level = levels[0] if len(levels) == 1 else "any level"
    small = " in a part that is large enough" if options["least"] else ""
    return (
        f"No cell of {name} is {options['direction']} {level}{small}: "
        f"values are {values.min():g} to {values.max():g}."
    )


def _draw(raster, kept, levels, picture, comparison, options, session):
    from clgeom import plot

    if picture:
        plot.save_coverage_plot(kept, picture, raster=raster, unit=options["unit"])
    if comparison:
        plot.save_comparison_plot(
            raster,
            levels[0],
            comparison,
            direction=options["direction"],
            unit=options["unit"],
            device=session,
        )


# Points -----------------------------------------------------------------------------------------------------------


def _of_points(file, levels, output, picture, session, as_json, profile, options):
    """The adaptive region of points, of those that reach each level where they have values."""
    from clgeom import adaptive_region
    from clgeom.io.geo import Feature, write_features
    from clgeom.io.points import read_points
    from clgeom.sort.command import read_numbers

    if bool(levels) != (options["value"] is not None):
        raise InvalidInput("The options --level and --value go together for points.")
    points, reading = terminal.timed(read_points, file, columns=options["columns"])
    if not np.isfinite(points).all():
        row, column = np.argwhere(~np.isfinite(points))[0]
        raise InvalidInput(
            f"The points in '{file}' must be finite. Got {points[row, column]} in point {row + 1} instead."
        )
    chosen = [(None, points)]
    if levels:
        values = read_numbers(file, column=options["value"])
        above = options["direction"] == ">="
        chosen = [(level, points[values >= level if above else values <= level]) for level in levels]
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
            Feature(one.__geo_interface__, {"label": "points", **named, "points": one.n, "area": one.area})
        )
    if output:
        write_features(features, output, crs=options["crs"])
    if picture:
        from clgeom import plot

        labels = [feature.properties["label"] for feature in features]
        plot.save_regions_plot([one for _, one in made], picture, points=points, labels=labels)
    vertices = [sum(map(len, one.parts)) if one.axis == "both" else len(one) for _, one in made]
    if as_json:
        facts = [{**feature.properties, "vertices": count} for feature, count in zip(features, vertices)]
        terminal.print_json({"device": session.profile.name, "seconds": computing, "regions": facts})
        return
    terminal.print_facts(
        ("points", f"{len(points):,} ({points.dtype})"),
        ("device", terminal.device_words(session)),
        ("time", f"{terminal.duration(computing)} (reading the file: {terminal.duration(reading)})"),
        *(("wrote", name) for name in (output, picture) if name),
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


# Showing ----------------------------------------------------------------------------------------------------------

MEASURED = (
    ">level", "shape", ">vertices", ">area", ">superfluous", ">of the cells", ">of the map", ">missed", ">IoU",
    ">Hausdorff",
)  # fmt: skip


def _measured(raster, kept, levels, options, session):
    """Metrics of each level's convex hull and of its regions."""
    from clgeom.region.contours import mask_polygons
    from clgeom.region.metrics import hull_of, measure

    rows = []
    for level in dict.fromkeys(levels):
        values = np.ma.filled(np.ma.asarray(raster.values, np.float64), np.nan)
        mask = values >= level if options["direction"] == ">=" else values <= level
        if raster.nodata is not None:
            mask &= values != raster.nodata
        if not mask.any():
            continue
        exact = mask_polygons(mask)
        own = [one for one in kept if one.level == level]
        for name, shape in (("convex hull", hull_of(mask)), ("regions", own)):
            rows.append({"level": level, "shape": name, **measure(shape, mask, polygons=exact).asdict()})
    return rows


def _measured_row(row):
    return (
        f"{row['level']:g}", row["shape"], f"{row['vertices']:,}", f"{row['area']:,.0f}", f"{row['superfluous']:,.0f}",
        f"{row['superfluous_of_mask']:.1%}", f"{row['superfluous_of_map']:.1%}", f"{row['missed']:,.3g}",
        f"{row['iou']:.3f}", f"{row['hausdorff']:.1f}",
    )  # fmt: skip


def _print_levels(kept, levels, options):
    """A line for every level."""
    rows = []
    for level in dict.fromkeys(levels):
        own = [one for one in kept if one.level == level]
        area = sum(one.area for one in own)
        km2 = _km2(own)
        rows.append((
            f"{options['direction']} {level:g} {options['unit']}", f"{len(own):,}",
            f"{sum(len(one) for one in own):,}",
            f"{sum(len(one.holes) for one in own):,}", f"{area:,.6g}" if km2 is None else f"{km2:,.4g} km2",
        ))  # fmt: skip
    click.echo()
    terminal.print_table(("level", ">regions", ">vertices", ">holes", ">area"), rows)


def _km2(regions):
    import importlib.util

    if not regions or regions[0].crs is None or importlib.util.find_spec("pyproj") is None:
        return None
    return sum(one.area_km2 for one in regions)


def _finite(value):
    """A value that JSON can hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _as_json(raster, kept, levels, session, seconds, measured, phases):
    facts = {
        "rows": int(raster.values.shape[0]),
        "columns": int(raster.values.shape[1]),
        "crs": raster.crs,
        "device": session.profile.name,
        "seconds": seconds,
        "levels": [
            {
                "level": level,
                "regions": sum(one.level == level for one in kept),
                "vertices": sum(len(one) for one in kept if one.level == level),
                "area": float(sum(one.area for one in kept if one.level == level)),
                "area_km2": _km2([one for one in kept if one.level == level]),
            }
            for level in dict.fromkeys(levels)
        ],
    }
    if measured:
        facts["metrics"] = [{name: _finite(value) for name, value in row.items()} for row in measured]
    if phases:
        facts["phases"] = terminal.phases_as_json(phases)
    return facts
