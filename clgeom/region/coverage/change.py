"""What coverage gained and lost between two rasters of the same cells, as polygons along the cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput, short
from clgeom.geo.geodesy import same_crs, shown
from clgeom.intake.chunks import as_chunks
from clgeom.intake.device_arrays import on_host
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.interop.rasters import Raster, placed_raster
from clgeom.intake.typing import AnyArray, DevicesLike, FloatLike
from clgeom.region.coverage.grid import Grid, as_grid
from clgeom.region.coverage.named import opened
from clgeom.region.coverage.outlines import outline_cells
from clgeom.region.coverage.rasters import Levels, as_levels, canonical_cells
from clgeom.region.rings.budgets import Goal
from clgeom.region.rings.emission import ARRAYS
from clgeom.region.rings.polygons import CoveragePolygons

CALLER = "coverage_change"
#: The maps of the result.
NAMES = ("gained", "lost")


@keeps_subnormals
@takes_cuda
def coverage_change(
    before: AnyArray | Raster,
    after: AnyArray | Raster,
    levels: FloatLike | Sequence[FloatLike],
    *,
    direction: Literal[">=", "<="] = ">=",
    device: DevicesLike = None,
    profile: bool = False,
) -> CoveragePolygons:
    """Polygons of the cells that reach a level in one of two rasters alone, exactly along the cells.

    Parameters
    ----------
    before, after : array_like or Raster, shape (rows, columns)
        Two rasters of the same cells, as for `raster_outlines`: arrays, files, datasets. No iterators.
    levels, direction
        As for `raster_outlines`. A cell without data reaches no level, so it may be gained or lost.
    device, profile
        As for `raster_outlines`.

    Returns
    -------
    CoveragePolygons
        Of map 0, named "gained", the cells that only `after` covers; of map 1, named "lost", those that only `before`
        covers. Tables and files have the names as the column "name".

    Raises
    ------
    InvalidInput
        For rasters with other cells or other reference systems; as for `raster_outlines`.
    DeviceLimit
        As for `raster_outlines`.

    See Also
    --------
    raster_outlines : The polygons of one raster.

    Examples
    --------
    >>> import clgeom
    >>> change = clgeom.coverage_change([[-80, -90, -99]], [[-99, -84, -82]], -85)
    >>> change.to_pandas()[["name", "cells"]].values.tolist()
    [['gained', 2], ['lost', 1]]
    """
    old, new = (_placed(raster, name) for raster, name in ((before, "before"), (after, "after")))
    (older, own), (newer, grid) = (_cells(one, name) for one, name in ((old, "before"), (new, "after")))
    _check_same(old, own, new, grid)
    there, here = (
        as_levels(levels, direction, raster.nodata, cells.dtype, caller=CALLER, integers=integers)
        for raster, (cells, integers) in ((old, older), (new, newer))
    )
    masks = _changed(there, older[0], here, newer[0])
    found = outline_cells(masks, 1, Goal(), direction=">=", device=device, profile=profile, caller=CALLER)
    count, arrays = len(here.given), {name: getattr(found, name) for name in ARRAYS}
    arrays["maps"], arrays["levels"] = np.divmod(found.maps, count)
    grid = replace(grid, unit=new.unit or old.unit, names=NAMES)
    return CoveragePolygons(arrays, found.exact_vertices, grid, here.given, here.direction, found.phases)


def _placed(raster: Any, name: str) -> Raster:
    if as_chunks(raster.values if isinstance(raster, Raster) else raster) is not None:
        raise wrong(name, CALLER, "a whole raster, no strips of one", short(raster))
    return placed_raster(opened(raster, caller=CALLER, whole=True), caller=CALLER, name=name)


def _cells(placed: Raster, name: str) -> tuple[tuple[np.ndarray, bool], Grid]:
    """Return the cells of one map, whether they are integers, and their position."""
    cells, integers = canonical_cells(on_host(placed.values), caller=CALLER, name=name)
    if len(cells) > 1:
        raise wrong(name, CALLER, "one map", f"{len(cells):,} of them", verb="have")
    return (cells[0], integers), as_grid(placed.transform, placed.crs, cells.shape[-2:], caller=CALLER)


def _check_same(old: Raster, own: Grid, new: Raster, grid: Grid) -> None:
    """Refuse rasters of other cells."""
    where = f"The 'before' and 'after' parameters of {CALLER} must have the same cells."
    if own.shape != grid.shape:
        raise InvalidInput(
            f"{where} Got {own.shape[0]} x {own.shape[1]} and {grid.shape[0]} x {grid.shape[1]} of them."
        )
    if None not in (old.crs, new.crs) and not same_crs(old.crs, new.crs):
        raise InvalidInput(f"{where} Got {shown(old.crs)} and {shown(new.crs)}: warp one of them.")
    if None not in (old.transform, new.transform) and not grid.has_place(old.transform, caller=CALLER):
        raise InvalidInput(f"{where} Got the transforms {own.transform} and {grid.transform}: warp one of them.")


def _changed(there: Levels, older: np.ndarray, here: Levels, newer: np.ndarray) -> np.ndarray:
    """Return the masks of gained cells of all levels, then those of lost cells."""
    count = len(here.given)
    masks = np.empty((2 * count, *newer.shape), np.uint8)
    for number in range(count):
        was, is_now = there.mask(older, number), here.mask(newer, number)
        masks[number], masks[count + number] = is_now & ~was, was & ~is_now
    return masks
