"""The command ``clgeom region`` for a raster, or for a computed radio map: the regions of each level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from clgeom.arguments import wrong_file
from clgeom.commands import terminal
from clgeom.commands.region_facts import (
    METRICS,
    check_crs,
    check_densify,
    covered_cells,
    drawn_levels,
    facts_as_json,
    level_facts,
    measured,
    parts_of,
    print_columns,
    print_levels,
    print_resolutions,
    written_words,
)
from clgeom.commands.region_options import BUDGETS
from clgeom.commands.terminal import Call
from clgeom.errors import InputWarning, InvalidInput, warn
from clgeom.geo.geodesy import shown
from clgeom.optional import is_installed

if TYPE_CHECKING:
    from clgeom.core.device import Session

#: Default levels of a computed radio map.
DEFAULT_LEVELS = (-75.0, -85.0, -95.0)
#: Number of regions at a level from which a note names --least.
MANY_REGIONS = 100
#: Position of a computed map: the centre of Munich.
MADE_CRS, MADE_ORIGIN = "EPSG:32632", (691_000.0, 5_335_500.0)


@dataclass(frozen=True)
class Found:
    """The regions of a raster, and facts about its levels."""

    raster: Any
    kept_raster: Any  # without small parts
    regions: Any  # all; `kept` without those that are empty or too small, `shapes` as they are written
    kept: Any
    shapes: Any
    rows: list[dict[str, Any]]
    unit: str
    reading: float
    work: terminal.Work


def find_regions(
    call: Call,
    file: str | None,
    levels: Any,
    profile: bool,
    options: dict[str, Any],
    *,
    compared: Any = None,
    name: str = "",
) -> Found:
    """Read or make a raster and find its regions; `options` gets the unit. A `name` is that of the raster."""
    from clgeom.core.call import watched

    session = call.session
    with call.progress("making the map" if file is None else f"reading {file}"):
        raster, reading = terminal.timed(placed_from, file, session, options, compared)
    raster = replace(raster, names=(name,)) if name else raster
    if raster.crs is not None:
        check_densify(options["densify"], raster.crs)
    options["unit"] = unit = options["unit"] or raster.unit or ""
    with call.progress("regions") as progress, watched(progress):
        (found, kept_raster, left_out), work = terminal.worked(_regions, raster, levels, session, profile, options)
    if isinstance(options["segments"], list):
        return Found(raster, kept_raster, found, found, found, [], unit, reading, work)
    kept = _kept(found, raster, options)
    shapes = _shapes(kept, options)
    drawn = drawn_levels(shapes, levels)
    cells = covered_cells(kept_raster, found.grid, drawn, options)
    rows = [level_facts(raster, found.grid, shapes, level, cells[level], left_out) for level in drawn]
    if options["weights"]:
        _add_sums(rows, kept_raster, options)
    return Found(raster, kept_raster, found, kept, shapes, rows, unit, reading, work)


def check_reference(files: Any, found: Any, output: str | None, pictures: tuple[str | None, ...] = ()) -> None:
    """Refuse rasters of several reference systems in one file, unless it is in longitude and latitude."""
    from clgeom.geo.geodesy import same_crs
    from clgeom.io.outputs import IN_LONLAT

    in_lonlat = output is None or output.lower().endswith(IN_LONLAT)
    if in_lonlat and not any(pictures):
        return
    for file, one in zip(files[1:], found[1:]):
        both = one.raster.crs, found[0].raster.crs
        if both[0] is not both[1] and (None in both or not same_crs(*both)):
            if None in both:
                raise wrong_file(
                    file if both[0] is None else files[0],
                    "has no reference system, and others have one: name that of all (--crs EPSG:32632)",
                )
            hint = "Warp one of them" if in_lonlat else "Write .geojson, in longitude and latitude, or warp one of them"
            raise wrong_file(file, f"is in {shown(both[0])}, and '{files[0]}' in {shown(both[1])}. {hint}")


def run_on_raster(call: Call, file: str, levels: Any, outputs: Any, profile: bool, options: dict[str, Any]) -> None:
    """Read or make a raster, find its regions, write and draw them, and print facts about them."""
    session, levels = call.session, levels or DEFAULT_LEVELS
    made = find_regions(call, file, levels, profile, options, compared=outputs["comparison"])
    raster, found, kept, shapes, rows = made.raster, made.regions, made.kept, made.shapes, made.rows
    kept_raster, reading, work = made.kept_raster, made.reading, made.work
    if isinstance(options["segments"], list):
        print_resolutions(call, found, work)
        return
    if not kept:
        raise InvalidInput(nothing_words(file, raster, levels, options))
    warn_beyond(options["sites"], [found.grid])
    written = _write(shapes, raster, found.grid, outputs, levels, options, session)
    rows_of_metrics = measured(kept_raster, kept, levels, options, session) if options["metrics"] else []
    phases = found.phases if profile else ()
    facts = facts_as_json(raster, rows, call.facts(work), rows_of_metrics, phases, written)
    band = f"band {options['band']} of {raster.bands}, " if raster.bands > 1 else ""
    if raster.transform is None:
        where = "no transform: the coordinates are columns and rows"
    else:
        where = "no coordinate reference system" if raster.crs is None else shown(raster.crs).strip("'")
    call.report(
        {**facts, "unit": options["unit"], "least": options["least"]},
        ("map", f"{' x '.join(map(str, raster.values.shape))} cells ({raster.values.dtype}), {band}{where}"),
        ("device", terminal.device_words(session)),
        ("time", work.words(**{f"{'making' if file is None else 'reading'} the map": reading})),
        *_small_parts_words(rows, file, options),
        ("wrote", [written_words(outputs["output"], written), *list(outputs.values())[1:]]),
    )
    if call.as_json:
        return
    print_levels(rows, options)
    if rows_of_metrics:
        click.echo()
        print_columns(METRICS, rows_of_metrics)
    if profile:
        click.echo()
        terminal.print_phases(found.phases)


def placed_from(file: str | None, session: Session, options: dict[str, Any], compared: Any) -> Any:
    """Return the raster of a file, or a computed radio map."""
    from clgeom.intake.interop.rasters import Raster
    from clgeom.io.rasters import open_raster, read_raster

    if file is not None:
        read: dict[str, Any] = {name: options[name] for name in ("band", "array", "nodata", "window")}
        # these compare all cells at once
        whole = compared or options["metrics"] or options["weights"] or isinstance(options["segments"], list)
        raster = (read_raster if whole else open_raster)(file, **read)
        crs = options["crs"]
        check_crs(raster, crs, file)
        if crs is None and raster.crs is not None:
            crs = _known_crs(raster.crs, file)
        if crs is not None and raster.transform is None:
            raise wrong_file(file, f"has no transform: the position of its cells in {shown(crs)} is unknown")
        raster = replace(raster, crs=crs, sites=options["sites"])
        if options["clip"]:
            from clgeom.region.coverage.clip import clip_raster

            raster = clip_raster(raster, options["clip"])
        return raster
    from clgeom.radio import coverage_map

    given: dict[str, Any] = {name: options[name] for name in ("model", "pixel", "frequency", "sigma", "seed")}
    where: dict[str, Any] = {"origin": MADE_ORIGIN, "crs": options["crs"] or MADE_CRS}
    made = coverage_map((options["size"], options["size"]), **given, **where, device=session)
    sites = options["sites"] or tuple(made.sites)
    return Raster(made.values, made.transform, made.crs, unit=made.unit, sites=sites)


def warn_beyond(sites: Any, grids: Any) -> None:
    """Warn of transmitters outside of all maps, which pictures do not show."""
    bounds = [grid.bounds for grid in grids]
    beyond = [(x, y) for x, y in sites if not any(a <= x <= c and b <= y <= d for a, b, c, d in bounds)]
    if beyond:
        (x, y), others = beyond[0], f" and {len(beyond) - 1:,} more" if len(beyond) > 1 else ""
        maps = f"the map: {grids[0].extent}" if len(grids) == 1 else "all maps"
        warn(f"Pictures do not show the --transmitter {x:.10g} {y:.10g}{others}, outside of {maps}.", InputWarning)


def _add_sums(rows: Any, raster: Any, options: dict[str, Any]) -> None:
    """Add to each level's facts the sum of the weights over its cells; of a band, those of its cells alone."""
    from clgeom.io.rasters import read_raster
    from clgeom.region.covered import covered_area

    weights: Any = read_raster(options["weights"], window=options["window"])
    where = {"transform": raster.transform, "crs": raster.crs, "nodata": raster.nodata}
    levels = sorted({level for row in rows for level in (row["level"], row["upto"]) if level is not None})
    found = covered_area(raster.values, levels, direction=options["direction"], weights=weights, **where)
    sums = {one.level: one.sums["weight"] for one in found}
    for row in rows:
        row["weights"] = sums[row["level"]] - (0.0 if row["upto"] is None else sums[row["upto"]])


def _known_crs(crs: Any, file: str) -> Any:
    """Return the reference system that a file names; refuse one that pyproj, if it is installed, does not know."""
    from clgeom.geo.geodesy import as_crs

    if is_installed("pyproj"):
        try:
            as_crs(crs, caller="region")
        except InvalidInput as error:
            raise wrong_file(
                file, f"names an unknown coordinate reference system: {shown(crs)}. Name another (--crs EPSG:32632)"
            ) from error
    return crs


def _small_parts_words(rows: Any, file: str, options: dict[str, Any]) -> tuple[Any, ...]:
    """Return a line for `terminal.print_facts` about small parts: the limit, or how to set one where parts are many."""
    if any(row["parts_left_out"] for row in rows):
        area = f"{options['least']:,g} {'m2' if file is None else 'square map units'}"
        return (("least", f"parts smaller than {area} are left out; --least 0 keeps them"),)
    most = max(row["regions"] for row in rows)
    if most < MANY_REGIONS:
        return ()
    return (("note", f"{most:,} regions at one level; --least AREA leaves out those whose cells have less area"),)


def _regions(raster: Any, levels: Any, session: Session, profile: bool, options: dict[str, Any]) -> tuple[Any, ...]:
    """Return the regions, the raster without small parts, which they cover, and the small parts of each level."""
    from clgeom.region.coverage.regions import coverage_regions

    kept = raster
    left_out: dict[float, tuple[int, int]] = {}
    if options["least"]:
        from clgeom.region.rings.small_parts import without_small_parts

        along_cells = options["outline"] == "cells"
        joined = "sides" if along_cells else "corners" if options["parts"] else "levels"
        where = {"direction": options["direction"], "device": session, "joined": joined, "report": left_out.update}
        kept = without_small_parts(raster, levels, options["least"], **where)
        if joined != "corners":  # `_kept` leaves out the regions of others
            raster = kept

    names = ("direction", "segments", "cuts", "axis", "parts", "holes", "outline", *BUDGETS)
    given = {name: options[name] for name in names}
    return coverage_regions(raster, levels, **given, device=session, profile=profile), kept, left_out


def _kept(found: Any, raster: Any, options: dict[str, Any]) -> Any:
    """Return the regions that are neither empty nor too small, simplified with --simplify."""
    if options["outline"] == "cells":  # small parts were left out before
        return found
    least = options["least"] / found.grid.cell_area
    kept = [one for one in found if one and (one.cells is None or one.cells >= least)]
    if options["simplify"] is None and len(kept) == len(found):
        return found
    return [one.simplify(options["simplify"]) for one in kept] if options["simplify"] is not None else kept


def nothing_words(file: str | None, raster: Any, levels: Any, options: dict[str, Any]) -> str:
    """Return the message for a map without covered cells."""
    from clgeom.region.coverage.rasters import known_values

    name, ends = f"'{file}'" if file else "the map", []
    for _, some in parts_of(raster.values):
        values = known_values(some, raster.nodata)
        values = values[np.isfinite(values)]
        ends += [values.min(), values.max()] if values.size else []
    if not ends:
        beyond = f", or outside of '{options['clip']}'" if options["clip"] else ""
        return f"There is nothing in {name}: every cell is NaN or nodata{beyond}."
    shown_level = f"{levels[0]:g}" if len(levels) == 1 else "any level"
    small = (
        f" in a part that is large enough (--least {options['least']:g}; 0 keeps all parts)" if options["least"] else ""
    )
    return (
        f"No cell of {name} is {options['direction']} {shown_level}{small}: values are {min(ends):g} to {max(ends):g}."
    )


def _shapes(kept: Any, options: dict[str, Any]) -> Any:
    """Return the shapes to write and draw: the regions, or one shape for each level."""
    from clgeom.region.coverage.bands import nested

    return nested(kept, bands=options["bands"]) if options["nested"] or options["bands"] else kept


def _write(
    shapes: Any, raster: Any, grid: Any, outputs: Any, levels: Any, options: dict[str, Any], session: Session
) -> Any:
    """Write and draw, after all checks. Return the number of vertices written; None without output."""
    from clgeom.io.atomic import all_or_none, new_file
    from clgeom.io.features import not_empty, write_new_regions
    from clgeom.plotting import coverage as plot
    from clgeom.plotting.figures import plain
    from clgeom.region.coverage.drawn import axes_of, image, outlines, save_html
    from clgeom.region.metrics import comparison as compared

    output, picture, page, comparison = outputs.values()
    written, unit = None, options["unit"]
    with all_or_none():
        if output:
            shown = shapes if hasattr(shapes, "ragged_for_files") else not_empty(shapes)
            how = {name: options[name] for name in ("densify", "smooth")}
            with new_file(output) as file:
                written = write_new_regions(shown, file, crs=raster.crs, unit=unit, **how)
        if page:
            save_html(shapes, page, raster=raster, unit=unit)
        unit = plain(unit)
        if picture:
            how = {"unit": unit, "axes": axes_of(grid), "sites": raster.sites}
            plot.save_coverage_plot(outlines(shapes, unit, smooth=options["smooth"]), picture, **image(raster), **how)
        if comparison:
            values, mask, panels = compared(raster, levels[0], direction=options["direction"], device=session)
            title = f"The map, and where it is {options['direction']} {levels[0]:g} {unit}".rstrip()
            plot.save_comparison_plot(values, mask, panels, comparison, unit=unit, title=title)
    return written
