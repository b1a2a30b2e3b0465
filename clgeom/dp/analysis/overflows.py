"""Cells whose value goes beyond their type, in fills that trap: noted by kernels, and named here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from clgeom.core import launch
from clgeom.dp.analysis import bounds
from clgeom.dp.fills import Fill
from clgeom.errors import IntegerOverflow

#: As in dp/dp_overflow.h. No stage is the last 32-bit integer.
KINDS = {"rows": 0, "columns": 1, "nose": 2, "sone": 3}
NONE = np.iinfo(np.int32).max


def are_trapped(fill: Fill) -> bool:
    """Whether a fill notes overflows: where its cells trap and the bounds do not exclude an overflow."""
    if fill.check or fill.equation.cell.overflow != "trap":
        return False
    ranges = tuple((v.min(), v.max()) if v.size else None for v in fill.values.values() if v.dtype.kind in "iu")
    key = "overflow", fill.shape, fill.start, fill.stop, fill.initial is None, ranges
    return bool(fill.equation.cache.get(key, lambda: bounds.overflow(fill) != "impossible"))


def trapped(fill: Fill, run: Callable[[Fill], Any]) -> Any:
    """The result of a run of the fill, whose kernels note overflows.

    Raises `IntegerOverflow` for the first cell that goes beyond its type.
    """
    fill = replace(
        fill,
        traps=True,
        arguments=(*fill.arguments, "dp_overflow"),
        buffers={**fill.buffers, "dp_overflow": launch.allocate(fill.session, 20)},
    )
    _write(fill, -1)
    filled = run(fill)
    stage = _read(fill)[0]
    if stage == NONE:
        return filled
    _write(fill, stage)
    run(fill)  # the kernels are deterministic: the same cells are noted, and the first of this stage
    position = _read(fill)[2]
    raise overflow_of(fill, fill.pattern.cell(stage, position, *fill.shape))


def overflow_of(fill: Fill, cell: tuple[int, int], value: int | None = None) -> IntegerOverflow:
    """The error for a cell beyond its type; it says which type is enough, if the bounds of all cells tell."""
    own = fill.equation.cell
    text = f"Cell {cell} of {fill.equation.name} goes beyond {own.name}"
    if value is not None:
        text += f" with the value {value}"
    found = bounds.of_cells(fill)
    enough = own.enough(*found) if found is not None else None
    error = IntegerOverflow(f"{text}: {enough} is enough." if enough not in (None, own.name) else f"{text}.")
    error.cell = cell  # type: ignore[attr-defined]
    return error


def _write(fill: Fill, stage: int) -> None:
    words = [NONE, stage, NONE, KINDS[fill.pattern.kind], int(fill.pattern.reverse)]
    launch.write(fill.session, fill.buffers["dp_overflow"], np.array(words, np.int32))


def _read(fill: Fill) -> list[int]:
    return list(launch.read(fill.session, fill.buffers["dp_overflow"], np.int32, 3).tolist())
