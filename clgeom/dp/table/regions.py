"""Regions of a table: what ``table[...]`` selects, as rows and columns of cells that are a constant step apart."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.errors import InvalidInput, short


@dataclass(frozen=True)
class Region:
    """Cell (r, c) of a region is cell ``(i + r * di, j + c * dj)`` of the table.

    `i`, `j`: Its first cell.
    `di`, `dj`: Steps, which may be negative.
    `rows`, `columns`: Its shape, with dropped axes.
    `dropped`: The axes that an integer has selected: results are without them, as in NumPy.
    """

    i: int
    j: int
    di: int
    dj: int
    rows: int
    columns: int
    dropped: tuple[bool, bool] = (False, False)

    @property
    def sides(self) -> tuple[int, int]:
        return self.rows, self.columns

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in NumPy."""
        return tuple(side for side, gone in zip(self.sides, self.dropped) if not gone)

    @property
    def slices(self) -> tuple[slice, slice]:
        """What selects the region, with dropped axes, from an array."""

        def side(first: int, step: int, count: int) -> slice:
            end = first + step * count
            return slice(first, None if end < 0 else end, step) if count else slice(0)

        return side(self.i, self.di, self.rows), side(self.j, self.dj, self.columns)

    def axis(self, axis: Any, caller: str) -> int | None:
        """Return the axis of the region (0 or 1) for a caller's `axis`; None for all cells."""
        kept = [k for k in (0, 1) if not self.dropped[k]]
        if axis is None:
            return None
        try:
            at = operator.index(axis)
        except TypeError:
            at = len(kept)
        if isinstance(axis, (bool, np.bool_)) or not -len(kept) <= at < len(kept):
            raise wrong("axis", caller, f"None or an axis of a region with {len(kept)} dimensions", short(axis))
        return kept[at]

    def parts(self, axis: int, most: int) -> Iterator[tuple[int, Region]]:
        """(first, region) of parts of at most `most` cells, or of one row (or column), split along an axis."""
        size, width = self.sides[axis], self.sides[1 - axis]
        step = max(most // max(width, 1), 1)
        for first in range(0, size, step):
            count = min(step, size - first)
            if axis == 0:
                yield first, replace(self, i=self.i + first * self.di, rows=count)
            else:
                yield first, replace(self, j=self.j + first * self.dj, columns=count)


def region_of(index: Any, shape: Sequence[int], *, caller: str) -> Region | None:
    """Return the region that integers, slices and ``...`` select from a table; None for an index of another kind.

    IndexError for an integer beyond the table, as in NumPy.
    """
    index = index if isinstance(index, tuple) else (index,)
    ellipses = sum(part is Ellipsis for part in index)
    if ellipses > 1 or len(index) - ellipses > 2:
        return None
    at = next((k for k, part in enumerate(index) if part is Ellipsis), len(index))
    missing = (slice(None),) * (2 - len(index) + (at < len(index)))
    sides = []
    for axis, part in enumerate((*index[:at], *missing, *index[at + 1 :])):
        size = shape[axis]
        if isinstance(part, slice):
            try:
                begin, stop, step = part.indices(size)
            except (TypeError, ValueError) as error:
                raise InvalidInput(f"{caller} takes slices of integers with a step other than 0: {error}.") from error
            count = len(range(begin, stop, step))
            sides.append((begin if count else 0, step, count, False))
        elif isinstance(part, (int, np.integer)) and not isinstance(part, bool):
            sides.append((place(axis, part, shape), 1, 1, True))
        else:
            return None
    (i, di, rows, no_rows), (j, dj, columns, no_columns) = sides
    return Region(i, j, di, dj, rows, columns, (no_rows, no_columns))


def place(axis: int, at: Any, shape: Sequence[int]) -> int:
    """Return a row or column counted from the start; IndexError where the table has none."""
    size = shape[axis]
    if not -size <= at < size:
        raise IndexError(f"{'row' if axis == 0 else 'column'} {at} of a table with {size}")
    return int(at) % size
