"""Choices packed into 1, 2, 4 or 8 bits, for a traceback without the table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clgeom.core import launch
from clgeom.core.policies import ceil_div
from clgeom.dp.table.table import Reader


def bits_of(job) -> int | None:
    """Bits of a choice that a path keeps: 0 if choices are not kept, None if they need more than a byte."""
    count = job.equation.decisions
    if count is None or job.keep not in ("table", "decisions"):
        return 0
    if count == "index" or count > 256:
        return None
    return next(bits for bits in (1, 2, 4, 8) if count <= 1 << bits)


@dataclass(eq=False)
class PackedStore:
    """Choices of all cells of a table in device memory, several to a byte: the first column is in the lowest bits.

    Rows and columns are held in the order of filling.

    Parameters
    ----------
    session : Session
    buffer : pyopencl.Buffer
    bits : int
        Bits of one choice: 1, 2, 4 or 8.
    shape : tuple of int
    pitch : int
        Bytes of a row.
    flip_rows, flip_columns : bool
        Whether the last row, or column, is stored first.
    """

    session: object
    buffer: object
    bits: int
    shape: tuple[int, int]
    pitch: int
    flip_rows: bool = False
    flip_columns: bool = False

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.uint8)

    def _rows(self, first, count):
        """Rows in their order in memory, unpacked."""
        n, m = self.shape
        packed = launch.read(self.session, self.buffer, np.uint8, count * self.pitch, first * self.pitch)
        packed = packed.reshape(count, self.pitch)
        shifts = np.arange(0, 8, self.bits, dtype=np.uint8)
        values = (packed[:, :, None] >> shifts) & np.uint8((1 << self.bits) - 1)
        values = values.reshape(count, -1)[:, :m]
        return values[:, ::-1] if self.flip_columns else values

    def cell(self, i: int, j: int):
        """The choice of a cell."""
        return self.row(i)[j]

    def row(self, i: int) -> np.ndarray:
        """The choices of a row."""
        return self._rows(self.shape[0] - 1 - i if self.flip_rows else i, 1)[0]

    def numpy(self) -> np.ndarray:
        """All choices, shape (n, m)."""
        values = self._rows(0, self.shape[0])
        return np.ascontiguousarray(values[::-1] if self.flip_rows else values)

    def reader(self, name: str) -> Reader:
        """The `Reader` of this store."""
        stem = f"dp_{name}0"
        row = "(n - 1 - (a))" if self.flip_rows else "(a)"
        column = "(m - 1 - (b))" if self.flip_columns else "(b)"
        each = 8 // self.bits
        access = (
            f"(int)(({stem}[(ulong){row} * {self.pitch} + {column} / {each}] >> ({column} % {each} * {self.bits}))"
            f" & {(1 << self.bits) - 1})"
        )
        return Reader("", f"global const uchar *{stem}", stem, access, (stem,), {stem: self.buffer})


def new_packed(job, bits: int, *, multiple: int, flip_rows: bool, flip_columns: bool = False) -> PackedStore:
    """Memory for the choices of a job's table; `multiple`: rows have room for a multiple of this number of columns."""
    n, m = job.shape
    pitch = packed_pitch(m, bits, multiple)
    buffer = launch.allocate(job.session, n * pitch)
    return PackedStore(job.session, buffer, bits, job.shape, pitch, flip_rows, flip_columns)


def packed_pitch(m: int, bits: int, multiple: int) -> int:
    """Bytes of a row of m choices, filled up to a multiple of columns."""
    return ceil_div(m, multiple) * multiple * bits // 8
