"""What a function of a raster's coverage takes in: the raster with its position, and levels, checked, on devices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.arguments import absent, wrong
from clgeom.core.call import Call
from clgeom.core.device import as_session
from clgeom.intake.arrays import is_device_array, session_of
from clgeom.intake.chunks import Peak, as_chunks
from clgeom.intake.dispatch import choose_sessions, least_of
from clgeom.intake.interop.rasters import Raster, placed_raster
from clgeom.intake.several import are_parts
from clgeom.region.coverage.grid import Grid, as_grid
from clgeom.region.coverage.rasters import Levels, Stack, as_levels, as_stack
from clgeom.region.coverage.strip_classes import StripClasses, classify_strips

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
    classes : StripClasses or None
        Those of a raster in strips that are read once.
    """

    values: Any
    stacks: list[Stack]
    levels: Levels
    grid: Grid
    classes: StripClasses | None

    @property
    def is_on_device(self) -> bool:
        """Whether the raster is one array on a device."""
        return type(self.values) is not np.ndarray and is_device_array(self.values)

    @property
    def peak(self) -> Peak | None:
        """The memory that strips took, at the end of a call."""
        return None if self.classes is None else self.classes.peak(self.stacks[0].session)


def covered_cells(call: Call, raster, levels, direction, device, *, whole) -> CoveredCells:
    """The `raster`, `levels`, `direction` and `device` parameters of the function that is called.

    With `whole` a large file is not read by strips, since the function compares all cells on the host.
    """
    caller, is_plain = call.caller, type(raster) is np.ndarray  # which is known to be no other kind of raster
    placed, classes = raster if isinstance(raster, Raster) else Raster(raster), None
    chunks = None if is_plain else as_chunks(placed.values)
    if chunks is not None:
        device = as_session(device)
        placed = replace(placed, crs=chunks.crs if placed.crs is None else placed.crs)
        as_grid(placed.transform, placed.crs, (1, 1), caller=caller)  # what can be refused is, before reading strips
        as_levels(levels, direction, placed.nodata, np.dtype(np.float64), caller=caller)
        classes = classify_strips(chunks, levels, direction, placed.nodata, device, caller=caller)
        placed = replace(placed, values=classes.strips)
    elif not is_plain:
        placed = placed_raster(raster, caller=caller, strips=not whole)
    stacks = _stacks_of(call, placed.values, device)
    dtype, integers = stacks[0].dtype, all(one.integers for one in stacks)
    if classes is None:
        levels = as_levels(levels, direction, placed.nodata, dtype, caller=caller, integers=integers)
    shape = stacks[0].rows, stacks[0].columns
    grid = as_grid(placed.transform, placed.crs, shape, caller=caller, unit=placed.unit)
    return CoveredCells(placed.values, stacks, levels if classes is None else classes.levels, grid, classes)


def _stacks_of(call, values, device):
    """The maps as a stack for each device that is to work on them; one after another if they are on devices."""
    if type(values) is not np.ndarray and are_parts(values):
        absent(device, "device", "for arrays that are on devices", caller=call.caller)
        stacks = [as_stack(part, session_of(part, None), caller=call.caller) for part in values]
        kinds = sorted({f"{stack.rows} x {stack.columns} of {stack.dtype}" for stack in stacks})
        if len(kinds) > 1:
            raise wrong("raster", call.caller, "maps of one type and size", ", ".join(kinds), verb="have")
        return stacks
    choose_sessions(call, values, device)
    stack = as_stack(values, call.session, caller=call.caller)
    if stack.array is None or stack.maps < 2 or stack.array.nbytes < least_of(call.sessions, LEAST_SHARED):
        return [stack]
    able = [one for one in call.sessions if one.profile.fp64 or stack.dtype != np.float64]
    return [replace(stack, session=session) for session in able]
