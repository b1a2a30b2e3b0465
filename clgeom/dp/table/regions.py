"""Regions of a table: what ``table[...]`` selects, as rows and columns of cells."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from clgeom.arguments import wrong
from clgeom.errors import InvalidInput, short
from clgeom.intake.typing import NDArray

#: The selection of an axis by an index: a line, lines a constant step apart, or any lines.
Side: TypeAlias = "int | range | NDArray[np.int64]"


@dataclass(frozen=True)
class Region:
    """The cells where rows a constant step apart cross columns a constant step apart.

    `dropped`: The axes that an integer has selected: results are without them, as in NumPy.
    """

    rows: range
    columns: range
    dropped: tuple[bool, bool] = (False, False)

    @classmethod
    def whole(cls, shape: tuple[int, int]) -> Region:
        return cls(range(shape[0]), range(shape[1]))

    @property
    def lines(self) -> tuple[range, range]:
        return self.rows, self.columns

    @property
    def sides(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @property
    def cells(self) -> int:
        return len(self.rows) * len(self.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in NumPy."""
        return tuple(side for side, gone in zip(self.sides, self.dropped) if not gone)

    @property
    def slices(self) -> tuple[slice, ...]:
        """What selects the region, with dropped axes, from an array."""
        return tuple(
            slice(line.start, None if line.stop < 0 else line.stop, line.step) if line else slice(0)
            for line in self.lines
        )

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
        """Yield (first line, part) of parts of at most `most` cells, or of a single row (or column), along an axis."""
        step = max(most // max(self.sides[1 - axis], 1), 1)
        for first in range(0, self.sides[axis], step):
            part = self.lines[axis][first : first + step]
            yield first, replace(self, rows=part) if axis == 0 else replace(self, columns=part)


def sides_of(index: Any, shape: tuple[int, int], *, caller: str) -> list[Side] | None:
    """Return the selection of each axis by integers, slices, lists of integers and ``...``; None for another index.

    IndexError for an integer beyond the table, as in NumPy.
    """
    index = index if isinstance(index, tuple) else (index,)
    ellipses = sum(part is Ellipsis for part in index)
    if ellipses > 1 or len(index) - ellipses > 2:
        return None
    at = next((k for k, part in enumerate(index) if part is Ellipsis), len(index))
    missing = (slice(None),) * (2 - len(index) + ellipses)
    sides: list[Side] = []
    for axis, part in enumerate((*index[:at], *missing, *index[at + 1 :])):
        if isinstance(part, slice):
            try:
                sides.append(range(shape[axis])[part])
            except (TypeError, ValueError) as error:
                raise InvalidInput(f"{caller} takes slices of integers with a step other than 0: {error}.") from error
        elif isinstance(part, (int, np.integer)) and not isinstance(part, bool):
            sides.append(place(axis, part, shape))
        elif isinstance(part, (list, np.ndarray)) and (lines := np.asarray(part)).size and lines.dtype.kind in "iu":
            sides.append(places(lines, shape[axis], ("row", "column")[axis]))
        else:
            return None
    return sides


def region_of(sides: list[Side] | None) -> Region | None:
    """Return the region of sides that are integers and ranges; None for others."""
    if sides is None or any(isinstance(side, np.ndarray) for side in sides):
        return None
    dropped = [isinstance(side, int) for side in sides]
    rows, columns = (range(side, side + 1) if isinstance(side, int) else side for side in sides)
    return Region(rows, columns, (dropped[0], dropped[1]))  # type: ignore[arg-type]


def place(axis: int, at: Any, shape: tuple[int, int]) -> int:
    """Return a row or column counted from the start; IndexError where the table has none."""
    size = shape[axis]
    if not -size <= at < size:
        raise IndexError(f"{'row' if axis == 0 else 'column'} {at} of a table with {size}")
    return int(at) % size


def places(indices: Any, size: int, what: str) -> NDArray[np.int64]:
    """Return indices counted from the start; IndexError for one outside, as in NumPy."""
    numbers = np.asarray(indices)
    if numbers.size == 0:
        return numbers.astype(np.int64)
    if numbers.dtype.kind not in "iu":
        raise InvalidInput(f"Indices of a table must be integers. Got {numbers.dtype} instead.")
    bad = (numbers < -size) | (numbers >= size)
    if bad.any():
        raise IndexError(f"{what} {numbers[bad].flat[0]} of a table with {size}")
    numbers = numbers.astype(np.int64)
    return np.where(numbers < 0, numbers + size, numbers)
