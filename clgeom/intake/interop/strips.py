"""Rasters larger than memory, which are read by strips: some of the rows, all of the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

#: Rasters of more bytes are read by strips where that is possible.
LARGE_BYTES = 1 << 27
#: Most bytes of a strip, unless one row or one block of the file has more.
STRIP_BYTES = 1 << 24


@dataclass(frozen=True, eq=False)
class Strips:
    """A raster of two dimensions that is read by strips.

    ``window(row, column, rows, columns)`` reads a part: an array, masked where there is no data. Its type may differ
    from part to part unless the raster is `plain`.
    """

    window: Callable[[int, int, int, int], Any]
    shape: tuple[int, int]
    dtype: np.dtype  #: of the stored values
    plain: bool = True  #: parts have the type `dtype` and are not masked
    block: int = 1  #: rows of a block of the file: strips begin at blocks
    is_turned: bool = False  #: rows and columns are exchanged; `shape` is that after the exchange

    ndim = 2

    def rows(self, first: int, last: int) -> Any:
        """Return the rows from `first` up to `last`."""
        if self.is_turned:
            return self.window(0, first, self.shape[1], last - first).T
        return self.window(first, 0, last - first, self.shape[1])

    @property
    def height(self) -> int:
        """The number of rows of a strip."""
        rows = max(STRIP_BYTES // (self.shape[1] * self.dtype.itemsize), 1)
        return rows - rows % self.block if rows > self.block else rows

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Yield the first row and the values of each strip."""
        for first in range(0, self.shape[0], self.height):
            yield first, self.rows(first, min(first + self.height, self.shape[0]))

    def turned(self) -> Strips:
        """Return the raster with rows and columns exchanged."""
        return replace(self, shape=self.shape[::-1], is_turned=not self.is_turned, block=1)

    def whole(self) -> Any:
        """Return all values."""
        return self.rows(0, self.shape[0])

    def thinned(self, step: int) -> Any:
        """Return every `step`-th row and column."""
        # copies: a view would keep its strip
        thin = [values[-first % step :: step, ::step].copy() for first, values in self]
        return np.ma.concatenate(thin)


def is_large(shape: tuple[int, int], dtype: np.dtype) -> bool:
    """Return whether a raster is read by strips."""
    return shape[0] * shape[1] * np.dtype(dtype).itemsize > LARGE_BYTES
