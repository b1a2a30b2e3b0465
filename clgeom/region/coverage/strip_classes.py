"""Rasters in strips that are read once: the class of each cell, which says what levels it reaches.

    strips     | some rows | some rows | ..       of an iterator, which may never be in memory together
    classes    | the number of levels that each cell reaches
    blocks     | runs of equal classes, row after row; or the classes, where runs would take more memory

Regions depend on the classes alone. These are then a raster that is read by strips, as those of large files are. A
block has a million cells, and is unpacked whenever one of its rows is read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.errors import InvalidInput
from clgeom.intake.chunks import Chunks, Meter, Peak, read_ahead
from clgeom.intake.device_arrays import on_host
from clgeom.intake.interop.objects import values_of
from clgeom.intake.interop.rasters import placed_raster
from clgeom.intake.interop.strips import Strips
from clgeom.region.coverage.rasters import LARGEST_SIDE, Levels, as_levels, canonical_cells

BLOCK_CELLS = 1 << 20
#: Bytes of a run: its first cell and its class.
RUN_BYTES = 5


@dataclass(frozen=True, eq=False)
class StripClasses:
    """The classes of a raster, the levels by which they are compared, and the memory that reading took."""

    strips: Strips
    levels: Levels
    meter: Meter

    def peak(self, session: Any) -> Peak:
        """Return the memory of host and device at the end of a call."""
        self.meter.see(session)
        return self.meter.peak()


def classify_strips(
    chunks: Chunks[Any], levels: Any, direction: str, nodata: Any, session: Any, *, caller: str
) -> StripClasses:
    """Read the strips of a raster, each some of its rows, and return the classes of its cells."""
    meter, levels_of, blocks = Meter(), {}, None
    session.pool.free_held()
    pieces = read_ahead(
        _rasters(chunks, caller),
        max_bytes=max(chunks.max_bytes // 2, 1),
        size=lambda found: found[0].nbytes,
        meter=meter,
        thread=chunks.read_ahead,
    )
    with contextlib.closing(pieces):
        for raster, integers in pieces:
            dtype = raster.dtype
            if dtype not in levels_of:  # strips with masked cells have floats where others have integers
                levels_of[dtype] = as_levels(levels, direction, nodata, dtype, caller=caller, integers=integers)
            blocks = blocks or _Blocks(raster.shape[1], levels_of[dtype], meter, caller)
            for first in range(0, len(raster), blocks.height):
                blocks.add(levels_of[dtype].classes(raster[first : first + blocks.height]))
            del raster
    if blocks is None:
        raise wrong("raster", caller, "a row", "strips with none", verb="have")
    blocks.end()
    strips = Strips(blocks.window, (blocks.rows, blocks.columns), blocks.dtype)
    return StripClasses(strips, blocks.given.of_classes(), meter)


def _rasters(chunks: Chunks[Any], caller: str) -> Iterator[tuple[np.ndarray, bool]]:
    """Yield the strips that have rows, as canonical rasters, in memory of their own unless the source allows otherwise.

    With each, whether its cells are integers.
    """
    first: tuple[np.dtype, int] | None = None
    for number, chunk in enumerate(chunks):
        where = f"The strips of {caller}"
        placed = placed_raster(chunk, caller=caller)
        if placed.transform is not None or placed.crs is not None:
            raise InvalidInput(
                f"{where} must be arrays, and 'transform' and 'crs' those of the whole raster. "
                f"Got {type(chunk).__name__} with a position as strip {number}: pass its values."
            )
        values = on_host(placed.values)
        try:
            values = values_of(values, caller=caller, name="raster")
            values = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
        except (ValueError, TypeError) as error:  # ragged lists and the like
            raise InvalidInput(f"{where} must be arrays of numbers. {error} That is strip {number}.") from error
        if values.ndim != 2 or values.shape[1] == 0:
            maps = " For maps call it for each of them." if values.ndim == 3 else ""
            raise InvalidInput(
                f"{where} must have shape (rows, columns), with columns. Got {values.shape} as strip {number}.{maps}"
            )
        found = values.dtype.newbyteorder("="), values.shape[1]
        first = first or found
        if found != first:
            raise InvalidInput(
                f"{where} must have one type and one number of columns, {first[0]} and {first[1]:,} as the first one. "
                f"Got {found[0]} and {found[1]:,} as strip {number}."
            )
        if len(values):
            try:
                (made,), integers = canonical_cells(values, caller=caller)
            except InvalidInput as error:
                raise InvalidInput(f"{error} That is strip {number}.") from error
            shared = chunks.copy and np.may_share_memory(made, np.ma.getdata(values))
            yield made.copy() if shared else made, integers


@dataclass(eq=False)
class _Blocks:
    """The classes of a raster in blocks of some rows, the last one of which is being filled."""

    columns: int
    given: Levels
    meter: Meter
    caller: str
    rows: int = 0
    packed: list[tuple[np.ndarray, np.ndarray | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.height = max(BLOCK_CELLS // self.columns, 1)
        self.dtype = np.dtype(np.uint8 if len(self.given.given) < 256 else np.uint16)
        self.block = np.empty((self.height, self.columns), self.dtype)
        self.meter.add(self.block.nbytes)

    def add(self, classes: np.ndarray) -> None:
        """Add rows, a block's at most."""
        if self.rows + len(classes) > LARGEST_SIDE:
            raise InvalidInput(f"The strips of {self.caller} must have at most {LARGEST_SIDE:,} rows together.")
        while len(classes):
            at = self.rows % self.height
            some = classes[: self.height - at]
            self.block[at : at + len(some)] = some
            self.rows, classes = self.rows + len(some), classes[len(some) :]
            if self.rows % self.height == 0:
                self._pack(self.block)

    def end(self) -> None:
        """Keep the rows of the last block."""
        if self.rows % self.height:
            self._pack(self.block[: self.rows % self.height])
        self.meter.add(-self.block.nbytes)
        del self.block

    def _pack(self, block: np.ndarray) -> None:
        flat = block.reshape(-1)
        starts = np.append(0, np.flatnonzero(flat[1:] != flat[:-1]) + 1)
        runs = RUN_BYTES * len(starts) < flat.size
        one = (flat[starts], starts.astype(np.uint32)) if runs else (flat.copy(), None)
        self.packed.append(one)
        self.meter.add(sum(part.nbytes for part in one if part is not None))

    def _unpacked(self, number: int) -> np.ndarray:
        values, starts = self.packed[number]
        if starts is not None:
            cells = min(self.height, self.rows - number * self.height) * self.columns
            values = np.repeat(values, np.asarray(np.diff(np.append(starts, cells)), np.int64))
        return values.reshape(-1, self.columns)

    def window(self, row: int, column: int, rows: int, columns: int) -> np.ndarray:
        """Return the classes of a part of the raster."""
        found = []
        for number in range(row // self.height, (row + rows - 1) // self.height + 1):
            begin = number * self.height
            part = slice(max(row - begin, 0), row + rows - begin), slice(column, column + columns)
            found.append(self._unpacked(number)[part])
        return np.concatenate(found) if len(found) > 1 else found[0]
