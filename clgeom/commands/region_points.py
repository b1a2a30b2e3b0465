"""The command ``clgeom region`` for points: the adaptive region of all points, or of those that reach each level."""

from __future__ import annotations

import math
from typing import Any

import click
import numpy as np

from clgeom.arguments import wrong_file
from clgeom.commands import terminal
from clgeom.commands.options import is_typed
from clgeom.commands.region_facts import check_densify, written_words
from clgeom.commands.region_options import POINTS_EACH, SEGMENTS
from clgeom.commands.terminal import Call, finite
from clgeom.core.messages import counted
from clgeom.errors import InvalidInput
from clgeom.optional import is_installed


def run_on_points(
    call: Call,
    file: str,
    levels: Any,
    output: str | None,
    picture: str | None,
    profile: bool,
    options: dict[str, Any],
) -> None:
    """Read points, find the region of all or of those that reach each level, write, draw and print."""
    from clgeom import adaptive_region
    from clgeom.commands.hull_coordinates import check_latitudes, turn_of_columns
    from clgeom.core.call import each, watched
    from clgeom.geo.geodesy import areas_or_none
    from clgeom.geo.lonlat import WGS84, named_lonlat
    from clgeom.hull.antimeridian import warn_across
    from clgeom.io.atomic import all_or_none, new_file
    from clgeom.io.features import count_vertices, write_points_regions
    from clgeom.io.points import place_of, read_cloud

    session = call.session
    options["unit"] = options["unit"] or ""
    if bool(levels) != (options["value"] is not None):
        raise InvalidInput("The options --level and --value go together for points.")
    what = {"columns": options["columns"], "layer": options["layer"], "value": options["value"]}
    cloud, reading = call.read(read_cloud, file, **what)
    points, names, values = cloud.coordinates, cloud.names, cloud.values
    crs = cloud.crs if options["crs"] is None else options["crs"]
    if not np.isfinite(points).all():
        row, column = np.argwhere(~np.isfinite(points))[0]
        where = place_of(file, row, column)
        raise InvalidInput(f"The points in '{file}' must be finite. Got {points[row, column]} {where} instead.")
    lonlat = crs is None and names is not None and named_lonlat(*names)
    if lonlat and is_installed("pyproj"):
        crs = WGS84
    if lonlat or crs is not None:
        check_densify(options["densify"], crs)
    chosen = [(None, points)]
    if levels:
        chosen = [(level, points[_reach(values, level, options["direction"])]) for level in levels]
    how = {"cuts": options["cuts"], "axis": options["axis"], "device": session, "profile": profile}
    chosen = [(level, some) for level, some in chosen if len(some)]
    _check_few(options, [some for _, some in chosen])
    with call.progress("regions") as progress, watched(progress):
        made, work = terminal.worked(
            lambda: [
                (level, adaptive_region(some, _segments(options, some), **how)) for level, some in each(session, chosen)
            ]
        )
    if not made:
        raise InvalidInput(f"No point of '{file}' reaches a level." if levels else f"The file '{file}' has no points.")
    turn = turn_of_columns(names, crs, False)
    check_latitudes(points[:, 1], turn, output)
    for (level, one), (_, some) in zip(made, chosen):
        name: Any = None if level is None else f"level {level:g}"
        warn_across(getattr(one, "x", one), some, turn, caller=name)
    if options["simplify"] is not None:
        made = [(level, one.simplify(options["simplify"])) for level, one in made]
    geometries = [one.__geo_interface__ for _, one in made]
    km2 = areas_or_none(geometries, crs)
    features = [
        _feature(number, level, one, geometry, area, options)
        for number, ((level, one), geometry, area) in enumerate(zip(made, geometries, km2), 1)
    ]
    notes = list(cloud.notes)
    if (output or "").lower().endswith(".shp") and any(one["type"] == "GeometryCollection" for one in geometries):
        raise wrong_file(
            output,
            "holds geometries of one type. Got a region with lines instead: use fewer --segments, or "
            "write .gpkg, .fgb or .parquet",
            kind="output",
        )
    if any(_has_lines(one, geometry) for (_, one), geometry in zip(made, geometries)):
        notes.append("the region has lines, of area 0, where its segments have few points; use fewer --segments")
    vertices = [count_vertices(feature["geometry"]) for feature in features]
    written = None
    with all_or_none():
        if output:
            with new_file(output) as target:
                place = {"crs": crs, "lonlat": lonlat, "densify": options["densify"]}
                written = write_points_regions(features, target, **place)
        if picture:
            from clgeom.plotting.figures import axis_names
            from clgeom.plotting.hulls import save_regions_plot

            about: dict[str, Any] = {
                "labels": [feature["properties"]["label"] for feature in features],
                "counts": [one.n for _, one in made],
            }
            about |= {"vertices": vertices, "axes": axis_names(names, crs)}
            save_regions_plot([one.parts for _, one in made], picture, points=points, **about)
    regions = [{**feature["properties"], "vertices": count} for feature, count in zip(features, vertices)]
    phases = sum((one.phases for _, one in made), ())
    about = {**call.facts(work), "notes": notes}
    about |= {"phases": terminal.phases_as_json(phases)} if profile else {}
    call.report(
        {**about, "regions": regions},
        ("points", f"{len(points):,} ({points.dtype})"),
        ("note", notes),
        ("device", terminal.device_words(session)),
        ("time", work.words(**{"reading the file": reading})),
        ("wrote", [written_words(output, written), picture]),
    )
    if call.as_json:
        return
    click.echo()
    rows = []
    for (level, one), count, area in zip(made, vertices, km2):
        segments = " x ".join(f"{k:,}" for k in np.atleast_1d(one.segments))
        name = "all" if level is None else f"{level:g} {options['unit'] or ''}".rstrip()
        rows.append(
            (name, f"{one.n:,}", f"{count:,}", segments, f"{one.area:,.6g}" if area is None else f"{area:,.6g} km2")
        )
    terminal.print_table((">level", ">points", ">vertices", ">segments", ">area"), rows)
    if profile:
        click.echo()
        terminal.print_phases(phases)


def _segments(options: dict[str, Any], points: Any) -> Any:
    """Return the number of segments: as it was typed, else few enough for `POINTS_EACH` points in each."""
    if options["segments"] is not None:
        return options["segments"]
    return min(SEGMENTS, max(1, len(points) // POINTS_EACH))


def _check_few(options: dict[str, Any], sets: Any) -> None:
    """Refuse options for several segments where few points get the convex hull by default: one segment, or two."""
    context = click.get_current_context()
    for option in context.command.params if options["segments"] is None and sets else ():
        if option.name not in ("cuts", "axis", "simplify") or not is_typed(context, option):
            continue
        if all(_segments(options, some) <= 2 for some in sets):
            raise InvalidInput(
                f"The option {option.opts[0]} is for several segments, and {counted(len(sets[0]), 'point', 'points')} "
                "get the convex hull by default. Name a number (--segments 8)."
            )


def _has_lines(region: Any, geometry: Any) -> bool:
    """Return whether a region has lines, or points, though its points are not on one line."""
    shapes = geometry.get("geometries", [geometry])
    if all(shape["type"].endswith("Polygon") for shape in shapes):
        return False
    from clgeom import convex_hull

    x = getattr(region, "x", region)
    return len(convex_hull(np.concatenate([x.lower, x.upper])).vertices) > 2


def _feature(number: int, level: float, region: Any, geometry: Any, km2: Any, options: dict[str, Any]) -> Any:
    """Return a region with its properties in a file."""
    properties = {"id": number, "label": "points"}
    if level is not None:
        properties |= {"level": level, "unit": options["unit"] or None} | (
            {"dbm": level} if options["unit"] == "dBm" else {}
        )
        properties["label"] = f"{options['direction']} {level:g} {options['unit']}".rstrip()
    properties |= {"points": region.n, "area": finite(float(region.area)), "area_km2": km2}
    return {"geometry": geometry, "properties": properties}


def _reach(values: Any, level: float, direction: str) -> Any:
    """Return which values reach a level; integers are compared as integers."""
    if values.dtype.kind in "iu":
        level = math.ceil(level) if direction == ">=" else math.floor(level)
    return values >= level if direction == ">=" else values <= level
