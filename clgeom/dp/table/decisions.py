"""Choices packed into 1, 2, 4 or 8 bits, for a traceback without the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core import launch
from clgeom.core.policies import ceil_div
from clgeom.dp.fills import Fill
from clgeom.dp.table.table import Reader
from clgeom.intake.typing import NDArray

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session


def bits_of(fill: Fill) -> int | None:
    """Bits of a choice that a path keeps: 0 if choices are not kept, None if they need more than a byte."""
    count: Any = fill.equation.decisions
    if not fill.keeps_choices:
        return 0
    if isinstance(count, str) or count > 256:
        return None
    return next(bits for bits in (1, 2, 4, 8) if count <= 1 << bits)


def obstacle_by_rows(fill: Fill, *, flipped: bool) -> str | None:
    """Return why a path that stores rows, from the last one up if `flipped`, does not apply; None if it does."""
    if fill.layout not in (None, "ROWS"):
        return f"the layout is {fill.layout}, not ROWS"
    if bits_of(fill) is None:
        return "its choices need more than 8 bits"
    if fill.keep != "table" and (fill.pattern.last_is_column or flipped != (fill.pattern.last(2, 2) == 0)):
        return f"the pattern {fill.pattern.name} completes another line last, and keep={fill.keep!r}"
    return None


@dataclass(eq=False)
class PackedStore:
    """Choices of all cells of a table in device memory, several to a byte: the first column is in the lowest bits.

    Rows and columns are held in the order of filling.

    `bits`: Bits of one choice: 1, 2, 4 or 8.
    `pitch`: Bytes of a row.
    `flip_rows`, `flip_columns`: Whether the last row, or column, is stored first.
    """

    session: Session
    buffer: cl.Buffer
    bits: int
    shape: tuple[int, int]
    pitch: int
    flip_rows: bool = False
    flip_columns: bool = False

    def pointers(self, stem: str) -> dict[str, cl.Buffer]:
        return {f"{stem}0": self.buffer}

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        return np.dtype(np.uint8)

    def _rows(self, first: int, count: int) -> NDArray[np.uint8]:
        """Return the rows in their order in memory, unpacked."""
        m = self.shape[1]
        packed = launch.read(self.session, self.buffer, np.uint8, count * self.pitch, first * self.pitch)
        packed = packed.reshape(count, self.pitch)
        shifts = np.arange(0, 8, self.bits, dtype=np.uint8)
        unpacked: NDArray[np.uint8] = (packed[:, :, None] >> shifts) & np.uint8((1 << self.bits) - 1)
        values = unpacked.reshape(count, -1)[:, :m]
        return values[:, ::-1] if self.flip_columns else values

    def cell(self, i: int, j: int) -> np.uint8:
        """Return the choice of a cell."""
        return self.row(i)[j]  # type: ignore[no-any-return]

    def row(self, i: int) -> NDArray[np.uint8]:
        """Return the choices of a row."""
        return self._rows(self.shape[0] - 1 - i if self.flip_rows else i, 1).ravel()

    def numpy(self) -> NDArray[np.uint8]:
        """Return all choices, shape (n, m)."""
        values = self._rows(0, self.shape[0])
        return np.ascontiguousarray(values[::-1] if self.flip_rows else values)

    def reader(self, name: str) -> Reader:
        """Return the `Reader` of this store."""
        stem = f"dp_{name}0"
        row = "(n - 1 - (a))" if self.flip_rows else "(a)"
        column = "(m - 1 - (b))" if self.flip_columns else "(b)"
        each = 8 // self.bits
        access = (
            f"(int)(({stem}[(ulong){row} * {self.pitch} + {column} / {each}] >> ({column} % {each} * {self.bits}))"
            f" & {(1 << self.bits) - 1})"
        )
        return Reader("", f"global const uchar *{stem}", stem, access, (stem,), {stem: self.buffer})


def new_packed(fill: Fill, bits: int, *, multiple: int, flip_rows: bool, flip_columns: bool = False) -> PackedStore:
    """Memory for the choices of a fill's table; `multiple`: rows have room for a multiple of this number of columns."""
    n, m = fill.shape
    pitch = packed_pitch(m, bits, multiple)
    buffer = launch.allocate(fill.session, n * pitch)
    return PackedStore(fill.session, buffer, bits, fill.shape, pitch, flip_rows, flip_columns)


def packed_pitch(m: int, bits: int, multiple: int) -> int:
    """Return the bytes of a row of m choices, filled up to a multiple of columns."""
    return ceil_div(m, multiple) * multiple * bits // 8
