"""Overflows of integers: whether the intervals of values exclude them, and the first cell of a fill that traps them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from clgeom.core import launch
from clgeom.dp.analysis.sums import indices_of
from clgeom.dp.fills import Fill
from clgeom.dp.language.graphs import fold, walk
from clgeom.dp.language.intervals import Interval, Intervals
from clgeom.dp.language.plain_c import nodes_of
from clgeom.dp.language.trace import Expr
from clgeom.dp.language.traced import EquationBase
from clgeom.dp.language.types import LIMITS
from clgeom.errors import IntegerOverflow

#: As in dp/dp_overflow.h. No stage is the last 32-bit integer.
KINDS = {"rows": 0, "columns": 1, "nose": 2, "sone": 3}
NONE = np.iinfo(np.int32).max


def overflow(fill: Fill) -> Literal["impossible", "possible"]:
    """Return whether the intervals exclude that an integer of this fill goes beyond its type."""
    limits = fill.equation.cell.limits
    if limits is None:
        return "impossible"
    interval = of_cells(fill)
    if interval is None:
        return "possible"
    fits = fill.equation.overflow == "saturate" or limits[0] <= interval[0] and interval[1] <= limits[1]
    return "impossible" if fits else "possible"


def of_cells(fill: Fill) -> Interval | None:
    """Return the interval of all cells if no integer on the way to them goes beyond its type; None if it is not known.

    Intervals of cells grow from stage to stage. Where a value adds up at most one cell (sums of a cell and terms
    without cells, minima, maxima, branches), each stage adds no more than the first one. So the last one is known.
    """
    nodes = nodes_of(fill.equation)
    if nodes is None or fill.initial is not None:
        return None
    if fold(_degree, {}, nodes.value)[nodes.value] == MANY:
        return None
    box, values, loops = box_of(fill.shape), ranges_of(fill.values), loops_of(nodes.value)

    def intervals(cells: Interval) -> Intervals:
        return Intervals(nodes.parameters, values=values, box=box, loops=loops, cells=cells)

    first = second = (0, 0)
    for _ in range(2):
        value = intervals(second).of(nodes.value)
        if value is None:
            return None
        first, second = second, (min(second[0], value[0]), max(second[1], value[1]))
    growth = min(second[0] - first[0], 0), max(second[1] - first[1], 0)
    stages = fill.stop - fill.start
    last = intervals((second[0] + stages * growth[0], second[1] + stages * growth[1]))
    return last.of(nodes.value) if all(map(last.fits, walk(nodes.value))) else None


def indices_fit(
    equation: EquationBase, shape: tuple[int, ...], values: Mapping[str, Any], least: tuple[int, int] | None = None
) -> bool:
    """Return whether no integer in the indices and conditions of a traced equation goes beyond its type.

    Fast paths and proofs treat these integers as mathematical sums, which do not wrap around. `least`: the least rows
    and columns, of tables of several shapes.
    """
    roots = equation.roots
    indices = equation.cache.get(("indices",), lambda: indices_of(*roots))
    box = box_of(shape)
    if least is not None:
        box |= {"n": (least[0], shape[0]), "m": (least[1], shape[1])}
    intervals = Intervals(equation.parameters, values=ranges_of(values), box=box, loops=loops_of(*roots))
    return all(map(intervals.fits, indices))


def box_of(shape: tuple[int, ...]) -> dict[str, Interval]:
    """Return the intervals of the indices and lengths of a table, by name."""
    box = {index: (0, size - 1) for index, size in zip("ijk", shape)}
    return box | {length: (size, size) for length, size in zip("nmp", shape)}


def ranges_of(values: Mapping[str, Any]) -> dict[str, Interval]:
    """(least, largest) element of each parameter of integers, by name."""
    arrays = {name: np.asarray(value) for name, value in values.items()}
    return {
        name: (int(array.min()), int(array.max()))
        for name, array in arrays.items()
        if array.dtype.kind in "iub" and array.size
    }


def loops_of(*roots: Expr) -> dict[Expr, tuple[Expr, Expr]]:
    """Return the ends (lo, hi) of the indices of reductions."""
    return {part.args[0]: (part.args[1], part.args[2]) for part in walk(*roots) if part.op in ("reduce", "argreduce")}


#: The degree of a value that adds up several cells, or combines them otherwise.
MANY = 2


def _degree(part: Expr, below: list[int]) -> int:
    """Return the most cells that a node adds up, from those of its operands; `MANY` if it combines them otherwise."""
    op = part.op
    if op == "cell":
        return MANY if any(below) else 1
    if part.type == "bool" or op in ("which_min", "which_max"):
        return 0  # these are small for any operands
    if op == "add":
        return min(sum(below), MANY)
    if op == "where":
        return max(below[1:])
    if op in ("min", "max", "record") or op == "cast" and part.args[0].type in LIMITS:
        return max(below)
    if op == "sub" and not below[1]:
        return below[0]
    if op in ("reduce", "argreduce") and not any(below[1:3]) and part.data in ("min", "max"):
        return max(below[3:]) if op == "reduce" else 0
    return MANY if any(below) else 0


# Fills that trap --------------------------------------------------------------------------------------------------


def traps_overflows(fill: Fill) -> bool:
    """Return whether a fill notes overflows: where its cells trap and the bounds do not exclude an overflow."""
    if fill.check or fill.equation.cell.overflow != "trap":
        return False
    ranges = tuple((v.min(), v.max()) if v.size else None for v in fill.values.values() if v.dtype.kind in "iu")
    key = "overflow", fill.shape, fill.start, fill.stop, fill.initial is None, ranges
    return bool(fill.equation.cache.get(key, lambda: overflow(fill) != "impossible"))


def trap_overflows(fill: Fill, run: Callable[[Fill], Any]) -> Any:
    """Return the result of a run of the fill, whose kernels note overflows.

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
    """Return the error for a cell beyond its type; it says which type is enough, if the bounds of all cells tell."""
    own = fill.equation.cell
    text = f"Cell {cell} of {fill.equation.name} goes beyond {own.name}"
    if value is not None:
        text += f" with the value {value}"
    interval = of_cells(fill)
    enough = own.enough(*interval) if interval is not None else None
    error = IntegerOverflow(f"{text}: {enough} is enough." if enough not in (None, own.name) else f"{text}.")
    error.cell = cell  # type: ignore[attr-defined]
    return error


def _write(fill: Fill, stage: int) -> None:
    words = [NONE, stage, NONE, KINDS[fill.pattern.kind], int(fill.pattern.reverse)]
    launch.write(fill.session, fill.buffers["dp_overflow"], np.array(words, np.int32))


def _read(fill: Fill) -> list[int]:
    return list(launch.read(fill.session, fill.buffers["dp_overflow"], np.int32, 3).tolist())
