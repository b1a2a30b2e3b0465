"""The eight patterns: the cells that a cell may read, and the order in which stages of cells are filled.

Rows are counted downwards from 0, columns from the left. A pattern is named by where its fill begins and ends::

    RUD  rows, top to bottom         reads up-left, up, up-right
    RDU  rows, bottom to top         reads down-left, down, down-right
    CLR  columns, left to right      reads up-left, left, down-left
    CRL  columns, right to left      reads up-right, right, down-right
    NOSE diagonals from the NW corner (i + j rises)    reads left, up-left, up
    SENO the same in reverse                           reads right, down-right, down
    SONE diagonals from the SW corner (j - i rises)    reads left, down-left, down
    NESO the same in reverse                           reads right, up-right, up

All cells of a stage are filled in parallel, and every read leads to an earlier stage.

Source: dynamic programming by patterns on GPUs, thesis, UNAM; the regions are its classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.arguments import one_of
from clgeom.intake.typing import NDArray

#: Memory layouts of tables: the cells that are contiguous.
LAYOUTS = ("ROWS", "COLUMNS", "DIAGS_NOSE", "DIAGS_SONE")


@dataclass(frozen=True)
class Pattern:
    """A pattern.

    Parameters
    ----------
    name : str
    kind : {"rows", "columns", "nose", "sone"}
        The kind of a stage: a row, a column, a diagonal of constant i + j ("nose") or j - i ("sone").
    reverse : bool
        Stages are filled from the last to the first.
    layout : str
        The layout in which the cells of a stage are contiguous.
    """

    name: str
    kind: str
    reverse: bool
    layout: str

    def stages(self, n: int, m: int) -> int:
        """Return the number of stages of a table of this shape."""
        return {"rows": n, "columns": m}.get(self.kind, n + m - 1)

    def line_of(self, i: NDArray[Any] | int, j: NDArray[Any] | int, n: int, m: int) -> NDArray[Any] | int:
        """Return the row, column or diagonal of a cell, counted in the layout's order."""
        if self.kind == "rows":
            return i
        if self.kind == "columns":
            return j
        return i + j if self.kind == "nose" else n - 1 - i + j

    def stage_of(self, i: NDArray[Any] | int, j: NDArray[Any] | int, n: int, m: int) -> NDArray[Any] | int:
        """Return the stage that fills a cell; works on arrays."""
        line = self.line_of(i, j, n, m)
        return self.stages(n, m) - 1 - line if self.reverse else line

    def count(self, stage: int, n: int, m: int) -> int:
        """Return the number of cells of a stage."""
        if self.kind == "rows":
            return m
        if self.kind == "columns":
            return n
        return min(stage + 1, n, m, n + m - 1 - stage)

    def cell(self, stage: int, position: int, n: int, m: int) -> tuple[int, int]:
        """Return a cell of a stage, in the layout's order."""
        i, j = self.cells_at(stage, position, n, m)
        return int(i), int(j)

    def cells_at(self, stages: Any, positions: Any, n: int, m: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the rows and columns of cells of stages, as `cell` has them; for arrays."""
        line = self.stages(n, m) - 1 - stages if self.reverse else stages
        if self.kind in ("rows", "columns"):
            line, positions = np.broadcast_arrays(line, positions)
            return (line, positions) if self.kind == "rows" else (positions, line)
        down = np.maximum(0, line - (m - 1)) + positions
        return (down if self.kind == "nose" else n - 1 - down), line - down

    def cells(self, stage: int, n: int, m: int) -> list[tuple[int, int]]:
        """Return the cells of a stage."""
        return [self.cell(stage, p, n, m) for p in range(self.count(stage, n, m))]

    def allows(self, di: int, dj: int) -> bool:
        """Return whether a cell may read the one `di` rows below and `dj` columns to the right of it."""
        forward = di > 0 or dj > 0 if self.reverse else di < 0 or dj < 0
        if self.kind == "rows":
            return di > 0 if self.reverse else di < 0
        if self.kind == "columns":
            return dj > 0 if self.reverse else dj < 0
        if self.kind == "nose":
            return forward and (min(di, dj) >= 0 if self.reverse else max(di, dj) <= 0)
        return (di, dj) != (0, 0) and (di <= 0 <= dj if self.reverse else dj <= 0 <= di)

    @property
    def last_is_column(self) -> bool:
        """Whether ``keep="last"`` keeps a column."""
        return self.kind == "columns"

    def last(self, n: int, m: int) -> int:
        """Return the row (or column) that is completed last."""
        if self.kind == "columns":
            return 0 if self.reverse else m - 1
        upwards = self.reverse if self.kind in ("rows", "nose") else not self.reverse
        return 0 if upwards else n - 1

    def corner(self, n: int, m: int) -> tuple[int, int]:
        """Return the cell that holds the answer: the last one of the stage filled last."""
        last = self.last(n, m)
        if self.kind == "columns":
            return n - 1, last
        if self.kind == "rows":
            return last, m - 1
        return last, 0 if self.reverse else m - 1

    def reads(self) -> str:
        """Return the cells that a cell may read, in words."""
        return {
            "RUD": "rows above",
            "RDU": "rows below",
            "CLR": "columns to the left",
            "CRL": "columns to the right",
            "NOSE": "up, left and between",
            "SENO": "down, right and between",
            "SONE": "down, left and between",
            "NESO": "up, right and between",
        }[self.name]


PATTERNS = {
    p.name: p
    for p in (
        Pattern("RUD", "rows", False, "ROWS"),
        Pattern("RDU", "rows", True, "ROWS"),
        Pattern("CLR", "columns", False, "COLUMNS"),
        Pattern("CRL", "columns", True, "COLUMNS"),
        Pattern("NOSE", "nose", False, "DIAGS_NOSE"),
        Pattern("SENO", "nose", True, "DIAGS_NOSE"),
        Pattern("SONE", "sone", False, "DIAGS_SONE"),
        Pattern("NESO", "sone", True, "DIAGS_SONE"),
    )
}


def pattern_name(pattern: int | str | None, *, caller: str) -> str | None:
    """Return the `pattern` parameter of a public function, in capital letters; None for none."""
    if pattern is None:
        return None
    name = pattern.upper() if isinstance(pattern, str) else pattern
    return str(one_of(name, tuple(PATTERNS), "pattern", caller=caller))


def offset(layout: str, i: int, j: int, n: int, m: int) -> int:
    """Return the offset of a cell in a table of this layout, in cells, as an integer of any size."""
    if layout == "ROWS":
        return i * m + j
    if layout == "COLUMNS":
        return j * n + i
    if layout == "DIAGS_SONE":
        i = n - 1 - i
    d = i + j
    return before(d, n, m) + i - max(0, d - (m - 1))


def before(d: int, n: int, m: int) -> int:
    """Return the number of cells on the diagonals before diagonal d of a table, counted from a corner."""
    p, q = min(n, m), max(n, m)
    if d <= p:
        return d * (d + 1) // 2
    if d <= q:
        return p * (p + 1) // 2 + (d - p) * p
    rest = n + m - 1 - d
    return n * m - rest * (rest + 1) // 2
