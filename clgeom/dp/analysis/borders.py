"""Cells next to the borders of conditions, which a check of a few cells computes first.

A condition changes along its border: a row, a column, or a curve with one cell in each row or column. A missing base
case is visible there. A condition compares a sum with 0; solving the sum for i and for j, in floats on the host, gives
its border. Conditions that depend on cells are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from clgeom.dp.analysis.outside import paths_outside, solved
from clgeom.dp.analysis.sums import Sum, affine, combine, difference
from clgeom.dp.fills import Fill
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.graphs import depends_on, walk
from clgeom.dp.language.nodes import evaluate
from clgeom.dp.language.trace import Expr
from clgeom.intake.typing import NDArray

#: Rows, columns, or indices of cells.
Numbers: TypeAlias = NDArray[np.int64]

#: Most rows, columns, cells of one border, and cells in all.
MOST_LINES, MOST_OF_A_BORDER, MOST_CELLS = 16, 256, 4_096
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
#: Nodes that cannot be solved for an index on the host.
NOT_SOLVED = ("cell", "index", "reduce", "argreduce")


def borders(fill: Fill, nodes: Equation) -> tuple[Numbers, Numbers, tuple[Numbers, Numbers]]:
    """Rows, columns and cells (i, j) next to the borders of conditions, and of reads that leave the table."""
    n, m = fill.shape
    rows, columns, cells = [], [], [(np.zeros(0, np.int64),) * 2]
    env = {"n": n, "m": m, **fill.values}
    for path in itertools.islice(paths_outside(fill, nodes), MOST_LINES // 2):
        values = solved(path)
        if values is not None:
            rows.append(values["i"])
            columns.append(values["j"])
    for form in _compared(nodes, fill.shape):
        for axis, along, length in (("j", "i", n), ("i", "j", m)):
            index = next((atom for atom in form if atom is not None and atom.op == axis), None)
            rest = {atom: by for atom, by in form.items() if atom is not index}
            if index is None or any(a is not None and depends_on(a, (*NOT_SOLVED, axis)) for a in rest):
                continue
            fixed = not any(a is not None and depends_on(a, (along,)) for a in rest)
            lines = np.unique(np.linspace(0, length - 1, 1 if fixed else MOST_OF_A_BORDER).astype(np.int64))
            at = _solved_for(form[index], rest, {**env, along: lines})
            if fixed:
                near = int(at[0]) + np.arange(-1, 2)
                (columns if axis == "j" else rows).extend(near.tolist())
                continue
            for step in (0, -1, 1):
                pair = lines, at + step
                cells.append(pair if axis == "j" else pair[::-1])
    i, j = (np.concatenate(part) for part in zip(*cells))
    inside = (0 <= i) & (i < n) & (0 <= j) & (j < m)
    return _lines(rows, n), _lines(columns, m), (i[inside][:MOST_CELLS], j[inside][:MOST_CELLS])


def _compared(nodes: Equation, shape: tuple[int, int]) -> Iterator[Sum]:
    """Yield the sums whose sign changes where a condition changes, or where a read leaves the table."""
    for part in walk(*nodes.computed):
        if part.op in COMPARISONS:
            total = difference(part)
            if total is not None:
                yield total
        elif part.op == "cell":
            for arg, size in zip(part.args, shape):
                form = affine(arg)
                if form is not None:
                    yield form
                    yield combine(form, {None: 1}, -size)


def _solved_for(by: int, rest: Sum, env: dict[str, Any]) -> Numbers:
    """Return the x where by * x + rest is 0, rounded down; -2 where that is far outside every table."""
    known: dict[Expr, Any] = {}
    total: Any = 0
    for atom, factor in rest.items():
        value = 1 if atom is None else evaluate(atom, env, known)
        total = total + factor * np.asarray(value, np.float64)
    lines = next((env[axis] for axis in ("i", "j") if axis in env), np.zeros(1))
    at = np.floor(-total / by) + np.zeros(len(lines))
    at = np.where(np.abs(at) < 2.0**40, at, -2.0)
    return at.astype(np.int64)


def _lines(numbers: list[int], size: int) -> Numbers:
    """Return the first and last few of these lines that are in the table."""
    lines = np.unique([at for at in numbers if 0 <= at < size]).astype(np.int64)
    return np.concatenate([lines[: MOST_LINES // 2], lines[MOST_LINES // 2 :][-MOST_LINES // 2 :]])
