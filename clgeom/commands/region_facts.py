"""Facts that ``clgeom region`` prints: counts, areas and metrics of regions, as tables or as JSON."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from clgeom.commands import terminal
from clgeom.commands.terminal import Call, finite
from clgeom.core.messages import counted
from clgeom.errors import InvalidInput
from clgeom.geo.lonlat import LonLat
from clgeom.optional import is_installed

if TYPE_CHECKING:
    from clgeom.core.device import Session

#: Name and format of the value under each heading of the table of metrics.
METRICS = {
    ">level": ("level", "g"),
    "shape": ("shape", "s"),
    ">vertices": ("vertices", ",d"),
    ">area": ("area", ",.0f"),
    ">superfluous": ("superfluous", ",.0f"),
    ">of the cells": ("superfluous_of_mask", ".1%"),
    ">of the map": ("superfluous_of_map", ".1%"),
    ">missed": ("missed", ",.3g"),
    ">IoU": ("iou", ".3f"),
    ">Hausdorff": ("hausdorff", ".1f"),
}


#: The same for the table of several numbers of segments.
RESOLUTIONS = {
    ">segments": ("segments", ",d"),
    ">level": ("level", "g"),
    ">regions": ("regions", ",d"),
    ">vertices": ("vertices", ",d"),
    ">area": ("area", ",.6g"),
    ">area of cells": ("cells_area", ",.6g"),
    ">superfluous": ("superfluous", ",.6g"),
    ">missed": ("missed", ",.3g"),
    ">IoU": ("iou", ".3f"),
}


def check_densify(densify: float | None, crs: Any) -> None:
    """Refuse --densify for a map in longitude and latitude, whose edges stay straight in the output."""
    if densify is not None and LonLat(crs, caller="region").mapping is None:
        raise InvalidInput(
            "The option --densify is for edges that become curves, and the input is in longitude and latitude already."
        )


def check_crs(raster: Any, crs: str | None, file: str) -> None:
    """Refuse the option --crs with a geographic system for a raster whose cells have no latitudes."""
    from clgeom.geo.longitudes import latitude_fault, turn_of_crs
    from clgeom.region.coverage.grid import Grid

    if crs is None or raster.transform is None or (turn := turn_of_crs(crs)) is None:
        return
    rows, columns = raster.values.shape[-2:]
    middles = Grid(raster.transform, crs, (rows, columns)).to_map(
        [(x, y) for x in (0.5, columns - 0.5) for y in (0.5, rows - 0.5)]
    )
    fault = latitude_fault(middles[:, 1], turn)
    if fault is not None:
        raise InvalidInput(f"The option --crs {crs} does not fit: the cells of '{file}' {fault}.")


def measured(raster: Any, kept: Any, levels: Any, options: dict[str, Any], session: Session) -> Any:
    """Return metrics of the convex hull and of the regions of each level."""
    from clgeom.region.coverage.measures import hull_of, measure
    from clgeom.region.coverage.outlines import mask_polygons

    rows = []
    for level in levels:
        mask = _mask(raster, level, options)
        if not mask.any():
            continue
        exact = mask_polygons(mask)
        if hasattr(kept, "polygon_offsets"):
            own = kept.select(kept.levels == kept.given.index(level))
        else:
            own = [one for one in kept if one.level == level]
        for name, shape in (("convex hull", hull_of(mask)), ("regions", own)):
            rows.append({"level": level, "shape": name, **measure(shape, mask, polygons=exact).asdict()})
    return rows


def print_resolutions(call: Call, found: Any, work: Any) -> None:
    """Print the table of regions of several numbers of segments."""
    rows, device = found.table(), terminal.device_words(call.session)
    call.report({**call.facts(work), "resolutions": rows}, ("device", device), ("time", work.words()))
    if not call.as_json:
        click.echo()
        print_columns(RESOLUTIONS, rows)


def _mask(raster: Any, level: Any, options: dict[str, Any]) -> Any:
    """Return the cells that reach a level."""
    from clgeom.region.coverage.rasters import covered_mask

    return covered_mask(raster.values, level, direction=options["direction"], nodata=raster.nodata, caller="region")


def print_columns(columns: dict[str, tuple[str, str]], rows: Any) -> None:
    """Print a table of some values of each row, such as `METRICS`."""
    terminal.print_table(columns, [[format(row[name], form) for name, form in columns.values()] for row in rows])


def drawn_levels(shapes: Any, levels: Any) -> list[Any]:
    """Return (level, level of the next band or None) of each level that is written, in order."""
    if not hasattr(shapes, "polygon_offsets") and any(hasattr(shape, "upto") for shape in shapes):
        return [(shape.level, shape.upto) for shape in shapes]
    return [(level, None) for level in levels]


def parts_of(values: Any) -> Any:
    """Return pairs of a first row and values: those of a whole raster, or of its strips."""
    return values if hasattr(values, "thinned") else [(0, values)]


def covered_cells(raster: Any, grid: Any, drawn: Any, options: dict[str, Any]) -> Any:
    """Return for each level the number of its cells and their area in km2, from one read of a raster in strips."""
    from clgeom.region.coverage.grid import cells_area

    found: dict[Any, tuple[int, float | None]] = {level: (0, 0.0) for level in drawn}
    a, b, c, d, e, f = grid.transform
    for first, values in parts_of(raster.values):
        own = replace(grid, transform=(a, b, c + b * first, d, e, f + e * first))
        part = replace(raster, values=values)
        for level, upto in drawn:
            mask = _mask(part, level, options)
            if upto is not None:
                mask &= ~_mask(part, upto, options)
            cells, km2 = found[level, upto]
            more = None if km2 is None else _km2(partial(cells_area, mask, own), raster.crs)
            found[level, upto] = cells + int(np.count_nonzero(mask)), None if more is None else km2 + more
    return found


def level_facts(raster: Any, grid: Any, shapes: Any, level: Any, covered: Any, left_out: Any) -> dict[str, Any]:
    """Return counts of shapes, vertices, holes and cells of a level, and the areas of cells and of outlines.

    `level` and `covered` are a key and a value of `covered_cells`; `left_out` has the small parts of each level.
    """
    from clgeom.io.features import count_vertices

    (level, upto), (cells, km2) = level, covered
    small_parts, small_cells = left_out.get(level, (0, 0))
    own: Any
    area: float | None
    if hasattr(shapes, "polygon_offsets"):  # along the cells, where polygons do not overlap
        own = shapes.select(shapes.levels == shapes.given.index(level))
        vertices, holes = len(own.corners), len(own.ring_offsets) - 1 - len(own)
        area, area_km2 = float(own.areas.sum()), _km2(lambda: own.areas_km2.sum() * 1e6, raster.crs)
    else:
        own = [one for one in shapes if one.level == level]
        geometries = [one.__geo_interface__ for one in own]
        vertices, holes = sum(map(count_vertices, geometries)), sum(map(_holes, geometries))
        area, area_km2 = _areas_of_union(own, raster.crs)
    return {
        "level": level,
        "upto": upto,
        "regions": len(own),
        "vertices": vertices,
        "holes": holes,
        "cells": cells,
        "cells_area": cells * grid.cell_area,
        "cells_km2": km2,
        "area": finite(area),
        "area_km2": area_km2,
        "parts_left_out": small_parts,
        "cells_left_out": small_cells,
    }


def _areas_of_union(shapes: Any, crs: Any) -> tuple[float | None, float | None]:
    """Return the area of the union of shapes in map units and in km2; None for several without Shapely."""
    from clgeom.geo.geodesy import earth_areas

    if len(shapes) == 1:
        area, geometry = float(shapes[0].area), shapes[0].__geo_interface__
    elif is_installed("shapely"):
        import shapely

        union = shapely.union_all([one.to_shapely() for one in shapes])
        area, geometry = float(union.area), shapely.geometry.mapping(union)
    else:
        return None, None
    return area, _km2(lambda: float(earth_areas([geometry], crs, caller="area_km2")[0]), crs)


def _holes(geometry: Any) -> Any:
    polygons = geometry["coordinates"] if geometry["type"] == "MultiPolygon" else [geometry["coordinates"]]
    return sum(len(rings) - 1 for rings in polygons if len(rings))


def _km2(square_metres: Any, crs: Any) -> Any:
    """Return an area on the ellipsoid in km2; None without a reference system, or if it cannot express the area."""
    if crs is None or not is_installed("pyproj"):
        return None
    try:
        return finite(square_metres() / 1e6)
    except InvalidInput:
        return None


def print_levels(rows: Any, options: dict[str, Any]) -> None:
    """Print a line for each level."""
    small = ("parts_left_out", "cells_left_out") if any(row["parts_left_out"] for row in rows) else ()

    def area(row: Any, kind: Any) -> str:
        km2 = row["cells_km2" if kind == "cells_area" else "area_km2"]
        plain = row[kind]
        return f"{km2:,.6g} km2" if km2 is not None else "-" if plain is None else f"{plain:,.6g}"

    lines = []
    for row in rows:
        upto = "" if row["upto"] is None else f" to {row['upto']:g}"
        counts = (f"{row[name]:,}" for name in ("regions", "vertices", "holes", "cells"))
        label = f"{options['direction']} {row['level']:g}{upto} {options['unit']}".rstrip()
        sums = (*(f"{row[name]:,}" for name in small), *((f"{row['weights']:,.10g}",) if "weights" in row else ()))
        lines.append((label, *counts, area(row, "cells_area"), area(row, "area"), *sums))
    click.echo()
    headings: tuple[str, ...] = (
        "level",
        ">regions",
        ">vertices",
        ">holes",
        ">cells",
        ">area of cells",
        ">area of outlines",
    )
    headings += (">parts left out", ">their cells") if small else ()
    headings += (">weights",) if rows and "weights" in rows[0] else ()
    terminal.print_table(headings, lines)


def facts_as_json(raster: Any, rows: Any, times: Any, measured: Any, phases: Any, written: Any) -> dict[str, Any]:
    """Return the facts of all levels for JSON; `times` has the device and the times."""
    facts = {
        "rows": int(raster.values.shape[0]),
        "columns": int(raster.values.shape[1]),
        "crs": None if raster.crs is None else str(raster.crs),
        **times,
        "levels": rows,
    }
    if written:
        facts["written"] = {"vertices": written.vertices, "added": written.added}
    if measured:
        facts["metrics"] = measured
    if phases:
        facts["phases"] = terminal.phases_as_json(phases)
    return facts


def written_words(name: Any, written: Any) -> Any:
    """Return the name of an output and the number of its vertices, in words; None without an output."""
    if written is None:
        return name
    added = f", {written.added:,} of them along edges that are curves there" if written.added else ""
    return f"{name} ({counted(written.vertices, 'vertex', 'vertices')}{added})"
