"""Whether integers can go beyond their type, by the intervals of values, found before a fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from clgeom.dp.analysis.sums import indices_of
from clgeom.dp.fills import Fill
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.intervals import Interval, Intervals
from clgeom.dp.language.nodes import walk
from clgeom.dp.language.plain_c import nodes_of
from clgeom.dp.language.trace import Expr
from clgeom.dp.language.types import LIMITS


def overflow(fill: Fill) -> Literal["impossible", "possible"]:
    """Whether the intervals exclude that an integer of this fill goes beyond its type."""
    limits = fill.equation.cell.limits
    if limits is None:
        return "impossible"
    interval = of_cells(fill)
    if interval is None:
        return "possible"
    fits = fill.equation.overflow == "saturate" or limits[0] <= interval[0] and interval[1] <= limits[1]
    return "impossible" if fits else "possible"


def of_cells(fill: Fill) -> Interval | None:
    """The interval of all cells if no integer on the way to them goes beyond its type; None if it is not known.

    Intervals of cells grow from stage to stage. Where a value adds up at most one cell (sums of a cell and terms
    without cells, minima, maxima, branches), each stage adds no more than the first one. So the last one is known.
    """
    nodes = nodes_of(fill.equation)
    if nodes is None or fill.initial is not None:
        return None
    if _degree(nodes.value) == MANY:
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
    equation: Equation, shape: tuple[int, int], values: Mapping[str, Any], least: tuple[int, int] | None = None
) -> bool:
    """Whether no integer in the indices and conditions of a traced equation goes beyond its type.

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
    """The intervals of the indices and lengths of a table, by name."""
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
    """The ends (lo, hi) of the indices of reductions."""
    return {part.args[0]: (part.args[1], part.args[2]) for part in walk(*roots) if part.op in ("reduce", "argreduce")}


#: The degree of a value that adds up several cells, or combines them otherwise.
MANY = 2


def _degree(expr: Expr) -> int:
    """The most cells that a value adds up; `MANY` if it combines them otherwise."""
    degrees: dict[Expr, int] = {}
    for part in walk(expr):
        below = [degrees[arg] for arg in part.args]
        if part.op == "cell":
            degree = MANY if any(below) else 1
        elif part.type == "bool" or part.op in ("which_min", "which_max"):
            degree = 0  # these are small for any operands
        elif part.op == "where":
            degree = max(below[1:])
        elif part.op in ("min", "max", "record"):
            degree = max(below)
        elif part.op == "add":
            degree = min(sum(below), MANY)
        elif part.op == "sub":
            degree = MANY if below[1] else below[0]
        elif part.op == "cast" and part.args[0].type in LIMITS:
            degree = below[0]
        elif part.op == "reduce" and part.data in ("min", "max"):
            degree = MANY if any(below[1:3]) else max(below[3:])
        elif part.op == "argreduce":
            degree = MANY if any(below[1:3]) else 0
        else:
            degree = MANY if any(below) else 0
        degrees[part] = degree
    return degrees[expr]
