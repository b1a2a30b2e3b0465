"""Masks of the covered cells of rasters, from the parameters of a call to a few maps at a time on its devices.

raster, levels  ->  CoveredCells   checked and placed; the maps are on the host, on devices, or in strips
maps            ->  Masks          one for each map and level, which kernels compute as they read the raster
masks           ->  results        of a few maps at a time, by the devices of the call (MaskWork)
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import absent, wrong
from clgeom.core.call import Call, Watch, each, watching
from clgeom.core.device import as_session
from clgeom.core.launch import allocate, constant, finish, write
from clgeom.intake.arrays import session_of
from clgeom.intake.chunks import Peak, as_chunks
from clgeom.intake.device_arrays import is_device_array
from clgeom.intake.dispatch import Work, choose_sessions
from clgeom.intake.interop.rasters import Raster, placed_raster
from clgeom.intake.several import are_parts
from clgeom.region.coverage.grid import Grid, as_grid, with_names
from clgeom.region.coverage.named import opened
from clgeom.region.coverage.rasters import Levels, Piece, Stack, as_levels, as_stack
from clgeom.region.coverage.strip_classes import StripClasses, classify_strips

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session

#: Type of coordinates: columns and rows are exact in float32.
REAL = np.dtype(np.float32)
#: Numbers of levels that one launch compares: few, since each is a build.
LEVELS_AT_ONCE = (1, 2, 4, 8)
#: Most candidates and segments of one call of `chains_of`, to limit its memory.
CANDIDATES_AT_ONCE, SEGMENTS_AT_ONCE = 1 << 24, 1 << 22
#: Bytes of a segment in the largest buffer of `chains_of`.
SEGMENT_BYTES = 32
#: Most cells of masks in one batch for parts.
CELLS_AT_ONCE = 1 << 26
#: Bytes of maps from which on GPUs share them (two H200s: 1 GB of maps of 512 x 512 in 0.28 s, one in 0.36 s).
LEAST_SHARED = 1 << 26


@dataclass(frozen=True, eq=False)
class CoveredCells:
    """The cells of a raster that reach levels."""

    values: Any  # the raster as the caller gave it, without its position
    stacks: list[Stack]  # one, or one for each of several arrays on devices
    levels: Levels
    grid: Grid
    classes: StripClasses | None  # those of a raster in strips that are read once

    @property
    def device_arrays(self) -> list[Any]:
        """The arrays on devices that the raster consists of, each with its stack; none if it came from the host."""
        if type(self.values) is np.ndarray:
            return []
        return [array for array in (self.values if are_parts(self.values) else [self.values]) if is_device_array(array)]

    @property
    def peak(self) -> Peak | None:
        """The memory that strips took, at the end of a call."""
        return None if self.classes is None else self.classes.peak(self.stacks[0].session)

    @property
    def masks(self) -> list[Masks]:
        """All masks of each stack."""
        before = itertools.accumulate((stack.maps for stack in self.stacks), initial=0)
        return [Masks(stack, self.levels, 0, stack.maps, first) for stack, first in zip(self.stacks, before)]


def covered_cells(call: Call, raster: Any, levels: Any, direction: Any, device: Any, *, whole: bool) -> CoveredCells:
    """Return the `raster`, `levels`, `direction` and `device` parameters of the function that is called.

    With `whole` a large file is not read by strips, since the function compares all cells on the host.
    """
    caller, is_plain = call.caller, type(raster) is np.ndarray  # which is known to be no other kind of raster
    raster = raster if is_plain else opened(raster, caller=caller, whole=whole)
    placed, classes = raster if isinstance(raster, Raster) else Raster(raster), None
    chunks = None if is_plain else as_chunks(placed.values)
    if chunks is not None:
        device = as_session(device)
        placed = replace(placed, crs=chunks.crs if placed.crs is None else placed.crs)
        # refuse what can be refused before strips are read
        as_grid(placed.transform, placed.crs, (1, 1), caller=caller)
        as_levels(levels, direction, placed.nodata, np.dtype(np.float64), caller=caller)
        classes = classify_strips(chunks, levels, direction, placed.nodata, device, caller=caller)
        placed = replace(placed, values=classes.strips)
    elif not is_plain:
        placed = placed_raster(raster, caller=caller, strips=not whole)
    stacks = _stacks_of(call, placed.values, device)
    dtype, integers = stacks[0].dtype, all(stack.integers for stack in stacks)
    if classes is None:
        levels = as_levels(levels, direction, placed.nodata, dtype, caller=caller, integers=integers)
    shape = stacks[0].rows, stacks[0].columns
    grid = as_grid(placed.transform, placed.crs, shape, caller=caller, unit=placed.unit)
    grid = with_names(grid, placed.names, sum(stack.maps for stack in stacks), caller=caller)
    return CoveredCells(placed.values, stacks, levels if classes is None else classes.levels, grid, classes)


def _stacks_of(call: Call, values: Any, device: Any) -> list[Stack]:
    """Return the maps as one stack, or a stack for each of several device arrays; set the sessions of the call."""
    if type(values) is not np.ndarray and are_parts(values):
        absent(device, "device", "for arrays that are on devices", caller=call.caller)
        stacks = [as_stack(part, session_of(part, None), caller=call.caller) for part in values]
        kinds = sorted({f"{stack.rows} x {stack.columns} of {stack.dtype}" for stack in stacks})
        if len(kinds) > 1:
            raise wrong("raster", call.caller, "maps of one type and size", ", ".join(kinds), verb="have")
        call.sessions = tuple(dict.fromkeys(stack.session for stack in stacks))
        return stacks
    choose_sessions(call, values, device)
    stack = as_stack(values, call.session, caller=call.caller)
    if stack.dtype == np.float64:
        call.sessions = tuple(session for session in call.sessions if session.profile.fp64)
    return [stack]


@dataclass(frozen=True, eq=False)
class Masks:
    """The masks of some maps, one for each map and level, map after map; computed when needed, not stored."""

    stack: Stack
    levels: Levels
    first_map: int  # of the stack
    maps: int
    before: int = 0  # maps of other stacks that come before those of the stack

    def __len__(self) -> int:
        return self.maps * len(self.levels.given)

    @property
    def session(self) -> Session:
        return self.stack.session

    @functools.cached_property
    def compared(self) -> Levels:
        """The levels as kernels compare them."""
        return self.levels.on(self.session.profile)

    def turned(self) -> Masks:
        """Return the masks with rows and columns exchanged."""
        return Masks(self.stack.turned(self.first_map, self.maps), self.levels, 0, self.maps)

    def subset(self, first: int, maps: int) -> Masks:
        """Return the masks of maps from the `first` of these on."""
        return self if maps == self.maps else replace(self, first_map=self.first_map + first, maps=maps)

    def map_and_level(self, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices of the maps and levels of masks."""
        number, level = np.divmod(mask, len(self.levels.given))
        return self.before + self.first_map + number, level

    def pieces(self, *, halo: int) -> Iterator[Piece]:
        """Return the raster of these maps, in pieces that fit in one allocation, each with the rows around it."""
        return self.stack.pieces(self.first_map, self.maps, halo=halo)

    def level_launches(self, most: int = LEVELS_AT_ONCE[-1]) -> Iterator[tuple[int, cl.Buffer, dict[str, Any]]]:
        """(first level, thresholds on the device, template parameters) of each launch, for at most `most` levels."""
        thresholds, first = self.compared.thresholds, 0
        while first < len(thresholds):
            room = max(min(len(thresholds) - first, most), 1)
            width = max(w for w in LEVELS_AT_ONCE if w <= room)
            params = {**self.compared.params(self.stack.dtype), "levels": width}
            yield first, constant(self.session, thresholds[first : first + width]), params
            first += width


@dataclass(frozen=True)
class Segmentation:
    """How regions are divided into segments."""

    resolutions: tuple[int, ...]  # numbers of segments, each for regions of their own
    cuts: str
    is_crossed: bool  # whether regions are intersected with those whose segments consist of rows: axis="both"


class MaskWork(Work):
    """The results of ``make(masks)`` in a list: of the masks of a few maps at a time, by the devices of a call.

    `masks` are those of one stack, or of several stacks on devices. A region has `segments` segments. If memory depends
    on the `cells` of masks, these are the most. `waits` says whether `make` waits for the device.
    """

    def __init__(
        self,
        call: Call,
        masks: list[Masks],
        make: Callable[[Masks], Any],
        *,
        segments: int = 1,
        cells: int | None = None,
        waits: bool = True,
    ) -> None:
        self.call, self.masks, self.make, self.waits = call, masks[0], make, waits
        self.segments, self.cells, self.least_cost = segments, cells, LEAST_SHARED
        if len(masks) > 1:
            self.parts = [(some.session, some) for some in masks]
            self.part_sizes = [some.maps for some in masks]

    @property
    def kind(self) -> str:
        return f"{self.call.caller} {self.masks.stack.dtype}"

    @property
    def n(self) -> int:
        return self.masks.maps

    @property
    def cost(self) -> float:
        stack = self.masks.stack
        return float(stack.maps * stack.rows * stack.columns * stack.dtype.itemsize)

    @property
    def progress(self) -> Watch | None:
        return watching()

    def at_once(self, session: Session) -> list[Any]:
        return self.piece(session, 0, self.n)

    def piece(self, session: Session, start: int, stop: int) -> list[Any]:
        masks = self.masks
        if session is not masks.session:
            masks = replace(masks, stack=replace(masks.stack, session=session))
        return self._made(masks.subset(start, stop - start))

    def begin(self, session: Session, part: Masks) -> Callable[[], list[Any]]:
        made, told = self._made(part), self.progress is not None

        def result() -> list[Any]:
            if told:
                finish(session)
            return made

        return result

    def join(self, session: Session, results: list[list[Any]]) -> list[Any]:
        return [result for some in results for result in some]

    def _made(self, masks: Masks) -> list[Any]:
        return [self.make(some) for some in batches_of(masks, self.segments, self.cells)]


def batches_of(masks: Masks, segments: int = 1, cells: int | None = None) -> Iterator[Masks]:
    """Yield the masks of a few maps at a time, so that no allocation is too large."""
    maps = maps_at_once(masks, segments, cells)
    for first in each(masks.session, range(0, masks.maps, maps)):
        yield masks.subset(first, min(maps, masks.maps - first))


def maps_at_once(masks: Masks, segments: int = 1, cells: int | None = None) -> int:
    """Return the most maps of a batch, for regions of `segments` segments and at most `cells` cells of masks."""
    stack, levels = masks.stack, len(masks.levels.given)
    lines = levels * (max(stack.columns, stack.rows) + 1)
    room = masks.session.profile.max_alloc_bytes
    maps = min(CANDIDATES_AT_ONCE // lines, room // (8 * lines), regions_at_once(masks.session, segments) // levels)
    if cells is not None:
        maps = min(maps, cells // (levels * stack.rows * stack.columns))
    return max(maps, 1)


def regions_at_once(session: Session, segments: int) -> int:
    """Return the most regions of `segments` segments in one call of `chains_of`."""
    room = session.profile.max_alloc_bytes // SEGMENT_BYTES
    return max(min(SEGMENTS_AT_ONCE, room) // segments, 1)


def new_buffer(session: Session, values: np.ndarray) -> cl.Buffer:
    """Return a buffer with these values, which kernels may write."""
    buffer = allocate(session, values.nbytes)
    if values.size:
        write(session, buffer, values)
    return buffer
