"""Reads outside the table, proven before the fill: that one happens, or that none does.

A cell reads another where the conditions on the path to the read hold. With the fact that the index is outside the
table, they are inequalities between integers: without a solution the read never happens, and a solution is a cell that
reads outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.dp.analysis.conditions import ONE, Path, Paths
from clgeom.dp.analysis.inequalities import solution, value_of
from clgeom.dp.analysis.sums import Sum, combine, indices_of
from clgeom.dp.fills import Fill
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.graphs import depends_on, walk
from clgeom.dp.language.mistakes import deep_enough
from clgeom.dp.language.nodes import evaluate
from clgeom.dp.language.trace import Expr
from clgeom.dp.paths import stages


@dataclass(frozen=True)
class Outside:
    """A cell that reads outside the table, and the cell that it reads."""

    cell: tuple[int, int]
    read: tuple[int, int]


def check(fill: Fill, nodes: Equation) -> None:
    """Raise `DependencyError` for a read that is proven to leave the table. Cached for each shape and scalars."""

    def make() -> Outside | None:
        with deep_enough(fill.equation.name):
            return first_read(fill, nodes)

    key = "read outside", fill.pattern.name, fill.shape, fill.start, fill.stop, tuple(_integers(fill).items())
    outside = fill.equation.cache.get(key, make)
    if outside is not None:
        raise stages.fault(fill, outside.cell, stages.RANGE, *outside.read)


def first_read(fill: Fill, nodes: Equation) -> Outside | None:
    """Return a cell of the earliest stage with a read that is proven to leave the table; None if none is proven."""
    paths, solutions = _paths(fill, nodes), []
    for part, path in _reads_outside(paths, fill):
        if path.sufficient and (values := solved(path)) is not None:
            values = _earliest(paths, fill, path, values)
            stage = fill.pattern.stage_of(values["i"], values["j"], *fill.shape)
            solutions.append(((stage, values["i"], values["j"]), part, values))
    if not solutions:
        return None
    _, part, values = min(solutions, key=lambda solution: solution[0])
    row, column = (_index_of(fill, arg, values, values[axis]) for arg, axis in zip(part.args, "ij"))
    return Outside((values["i"], values["j"]), (row, column))


def paths_outside(fill: Fill, nodes: Equation) -> Iterator[Path]:
    """Return the paths to reads outside the table, as far as conditions on indices tell."""
    return (path for _, path in _reads_outside(_paths(fill, nodes), fill))


def solved(path: Path) -> dict[Any, int] | None:
    """Return the values of variables on a path, the lowest i first; None if none are known."""
    return solution(path.box, path.facts, ("i", "j"))


def are_inside(
    value: Expr, parameters: Mapping[str, Any], shape: tuple[int, ...], sizes: Mapping[str, tuple[int, ...]]
) -> bool:
    """Return whether all cells and elements of parameters that a cell reads are proven to exist.

    It assumes that sums in indices do not wrap around. `sizes`: the shapes of parameters.
    """
    paths = Paths((value,), parameters, shape=shape, exact=indices_of(value))
    for part, path in paths.to("cell", "load"):
        for index, size in zip(part.args, shape if part.op == "cell" else sizes[part.data]):
            form = paths.form(index)
            if form is None:
                return False
            for case, total in paths.cases(path, form):
                if any(paths.is_possible(case, fact) for fact in _facts_outside(total, size)):
                    return False
    return True


def _facts_outside(index: Sum, size: int) -> tuple[Sum, Sum]:
    """Return the facts of an index below 0, and of one that is at least the size."""
    return combine(combine({}, index, -1), ONE, -1), combine(index, ONE, -size)


def _integers(fill: Fill) -> dict[str, int]:
    """Return the parameters that are one integer."""
    return {name: int(value) for name, value in fill.values.items() if not value.ndim and value.dtype.kind in "iu"}


def _paths(fill: Fill, nodes: Equation) -> Paths:
    values = {name: (value, value) for name, value in _integers(fill).items()}
    return Paths(nodes.computed, nodes.parameters, shape=fill.shape, values=values, certain=True)


def _reads_outside(paths: Paths, fill: Fill) -> Iterator[tuple[Expr, Path]]:
    """(cell node, path on which it lies outside the table), where the intervals do not exclude that."""
    stage = _stage(fill)
    start = combine(stage, ONE, -fill.start)
    stop = combine(combine({}, stage, -1), ONE, fill.stop - 1)
    for part, path in paths.to("cell", start=paths.with_facts(paths.start, start, stop)):
        for arg, size in zip(part.args, fill.shape):
            form = paths.form(arg)
            for case, total in () if form is None else paths.cases(path, form):
                if all(v is None or isinstance(v, str) or v.op == "index" for v in total):
                    for fact in _facts_outside(total, size):
                        yield from ((part, outside) for outside in paths.with_facts(case, fact))


def _index_of(fill: Fill, arg: Expr, values: Mapping[Any, int], unknown: int) -> int:
    """Return the value of an index in a cell; `unknown` if it depends on other cells."""
    loops = any(part.op == "index" and part not in values for part in walk(arg))
    if loops or depends_on(arg, ("cell", "reduce", "argreduce")):
        return unknown
    n, m = fill.shape
    nodes = {part: np.int64(value) for part, value in values.items() if not isinstance(part, str)}
    return int(evaluate(arg, {"i": values["i"], "j": values["j"], "n": n, "m": m, **fill.values}, nodes))


def _earliest(paths: Paths, fill: Fill, path: Path, values: dict[Any, int]) -> dict[Any, int]:
    """Return a solution in the earliest stage, by bisection."""
    stage = _stage(fill)
    low, high = fill.start, value_of(stage, values)
    while low < high:
        middle = (low + high) // 2
        earlier = paths.with_facts(path, combine(combine({}, stage, -1), ONE, middle))
        better = solved(earlier[0]) if earlier else None
        if better is None:
            low = middle + 1
        else:
            values, high = better, value_of(stage, better)
    return values


def _stage(fill: Fill) -> Sum:
    """Return the stage of a cell as a sum."""
    stage = {"rows": {"i": 1}, "columns": {"j": 1}, "nose": {"i": 1, "j": 1}}.get(
        fill.pattern.kind, combine({"i": -1, "j": 1}, ONE, fill.shape[0] - 1)
    )
    return combine(combine({}, stage, -1), ONE, fill.stages - 1) if fill.pattern.reverse else stage
