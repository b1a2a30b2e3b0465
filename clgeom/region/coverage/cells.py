"""What a function of a raster's coverage takes in: the raster with its position, and levels, checked, on devices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.arguments import absent
from clgeom.core.device import as_session
from clgeom.errors import InvalidInput
from clgeom.intake.chunks import Peak, as_chunks
from clgeom.intake.dispatch import least_of
from clgeom.intake.interop.rasters import Raster, placed_raster
from clgeom.intake.several import are_parts, as_sessions
from clgeom.region.coverage.grid import Grid, as_grid
from clgeom.region.coverage.kept import Kept, kept_strips
from clgeom.region.coverage.rasters import Levels, Stack, as_levels, as_stack

#: Bytes of maps from which on GPUs share them (two H200s: 1 GB of maps of 512 x 512 in 0.28 s, one in 0.36 s).
LEAST_SHARED = 1 << 26


@dataclass(frozen=True, eq=False)
class CoveredCells:
    """The cells of a raster that reach levels.

    Parameters
    ----------
    values : object
        The raster as the caller gave it, without its position.
    stacks : list of Stack
        The maps, for each device that is to work on them.
    levels : Levels
    grid : Grid
    kept : Kept or None
        What was kept of strips that are read once.
    """

    values: Any
    stacks: list[Stack]
    levels: Levels
    grid: Grid
    kept: Kept | None

    @property
    def peak(self) -> Peak | None:
        """The memory that strips took, at the end of a call."""
        return None if self.kept is None else self.kept.peak(self.stacks[0].session)


def covered_cells(raster, levels, direction, device, *, caller, whole) -> CoveredCells:
    """The `raster`, `levels`, `direction` and `device` parameters of a public function.

    With `whole` a large file is not read by strips, since the function compares all cells on the host.
    """
    chunks, kept = as_chunks(raster.values if isinstance(raster, Raster) else raster), None
    if chunks is None:
        placed = placed_raster(raster, caller=caller, strips=not whole)
    else:
        device, placed = as_session(device), raster if isinstance(raster, Raster) else Raster(chunks)
        placed = replace(placed, crs=chunks.crs if placed.crs is None else placed.crs)
        as_grid(placed.transform, placed.crs, (1, 1), caller=caller)  # what can be refused is, before reading strips
        as_levels(levels, direction, placed.nodata, np.dtype(np.float64), caller=caller)
        kept = kept_strips(chunks, levels, direction, placed.nodata, device, caller=caller)
        placed = replace(placed, values=kept.strips)
    stacks = _stacks_of(placed.values, device, caller)
    dtype, integers = stacks[0].dtype, all(one.integers for one in stacks)
    if kept is None:
        levels = as_levels(levels, direction, placed.nodata, dtype, caller=caller, integers=integers)
    shape = stacks[0].rows, stacks[0].columns
    grid = as_grid(placed.transform, placed.crs, shape, caller=caller, unit=placed.unit)
    return CoveredCells(placed.values, stacks, levels if kept is None else kept.levels, grid, kept)


def _stacks_of(raster, device, caller):
    """The maps as a stack for each device that is to work on them; one after another if they are on devices."""
    if are_parts(raster):
        absent(device, "device", "for arrays that are on devices", caller=caller)
        stacks = [as_stack(part, None, caller=caller) for part in raster]
        if len({(stack.dtype, stack.rows, stack.columns) for stack in stacks}) > 1:
            raise InvalidInput(f"The 'raster' parameter of {caller} must have maps of one type and size.")
        return stacks
    sessions = as_sessions(raster, device, caller=caller)
    stack = as_stack(raster, sessions[0], caller=caller)
    if stack.array is None or stack.maps < 2 or stack.array.nbytes < least_of(sessions, LEAST_SHARED):
        return [stack]
    able = [one for one in sessions if one.profile.fp64 or stack.dtype != np.float64]
    return [replace(stack, session=session) for session in able]
