"""Reads with clamped indices as reads at constant distances, for which there are faster kernels::

M[i - 1, maximum(j - 1, 0)]   is   M[i - 1, j - 1] if j >= 1 else M[i - 1, j]
"""

from __future__ import annotations

import itertools
from typing import TypeAlias

from clgeom.dp.analysis.sums import simplify
from clgeom.dp.language.graphs import walk
from clgeom.dp.language.trace import Expr, arithmetic, compare, constant, logical, node, rebuild

#: Most rows, or columns, in which an index may be clamped.
MOST = 3

#: The condition under which an index is at this distance of its axis, None for all other cells; and the distance.
Place: TypeAlias = tuple[Expr | None, int]
#: The same of a cell: conditions on its row and its column, and both distances.
Case: TypeAlias = tuple[list[Expr], tuple[int, int]]
OWN = 0, 0


def near_read(indices: tuple[Expr, ...], type: str | None, data: str | None) -> Expr | None:
    """Return the value of a cell with clamped indices from reads at constant distances.

    None where no index is clamped, one is of another form, or a clamped read would be one of the cell itself.
    """
    cases = _cases(indices)
    return _chosen(cases, type, data) if cases and all(by != OWN for _, by in cases) else None


def without_own_reads(*roots: Expr | None) -> list[Expr | None]:
    """Return nodes with the clamped reads that never are reads of the cell itself as reads at constant distances::

        i == 0 ? 1 : M[maximum(i - 1, 0), j]   is   i == 0 ? 1 : M[i - 1, j]

    A read is of the cell itself where its axes are at the ends of their clamps: there, no node may need the read.
    """
    given = [root for root in roots if root is not None]
    known: dict[Expr, Expr] = {}
    leaves = {part.op: part for part in walk(*given) if part.op in "ij"}
    for read in [part for part in walk(*given) if part.op == "cell"]:
        cases = _cases(read.args) or []
        others = [case for case in cases if case[1] != OWN]
        if others == cases:
            continue
        clamped = [(index, axis) for index, axis in zip(read.args, "ij") if index.op != axis]
        ends = {leaves[axis]: end for index, axis in clamped if (end := _end(index, axis)) is not None}
        if len(ends) == len(clamped):
            mark = Expr("cell", (), read.type, "own")
            there = [simplify(root, {}, {**ends, read: mark}) for root in given]
            if all(part is not mark for part in walk(*there)):
                known[read] = _chosen(others, read.type, read.data)
    return [root if root is None or not known else rebuild(root, lambda part: part, known) for root in roots]


def _end(index: Expr, axis: str) -> Expr | None:
    """Return the end of a clamped index, None where the index is beyond it in rows or columns other than its own."""
    sides = (index.args, index.args[::-1]) if index.op in ("max", "min") else ()
    return next((end for given, end in sides if _distance(given, axis) not in (None, 0)), None)


def _chosen(cases: list[Case], type: str | None, data: str | None) -> Expr:
    """Return the read of the first case that holds; the last case holds wherever no other does."""
    value: Expr | None = None
    for tests, distances in reversed(cases):
        read = node("cell", *(_moved(axis, by) for axis, by in zip("ij", distances)), type=type, data=data)
        if value is None or not tests:
            value = read
        else:
            value = node("where", tests[0] if len(tests) == 1 else logical("and", *tests), read, value)
    assert value is not None
    return value


def _cases(indices: tuple[Expr, ...]) -> list[Case] | None:
    """Return the cases of a read, each where no earlier one holds; None if no index is clamped or one is of no form."""
    if all(index.op not in ("max", "min") for index in indices):
        return None
    rows, columns = (_places(index, axis, length) for index, axis, length in zip(indices, "ij", "nm"))
    if rows is None or columns is None:
        return None
    return [
        ([test for test in (row_test, column_test) if test is not None], (di, dj))
        for (row_test, di), (column_test, dj) in itertools.product(rows, columns)
    ]


def _places(index: Expr, axis: str, length: str) -> list[Place] | None:
    """Return the distances of an index, each with its condition where no earlier one holds; None for other forms."""
    by = _distance(index, axis)
    if by is not None:
        return [(None, by)]
    if index.op not in ("max", "min"):
        return None
    own = node(axis, type="int")
    for given, end in (index.args, index.args[::-1]):
        by = _distance(given, axis)
        if by is None:
            continue
        if index.op == "max" and end.op == "const" and end.data >= 0:  # rows 0 .. clamped - 1
            clamped = end.data - by
            tests = [compare("ge", own, clamped), *(compare("eq", own, at) for at in range(1, clamped)[::-1])]
            distances = [by, *(end.data - at for at in range(clamped)[::-1])]
        elif index.op == "min" and (last := _distance(end, length)) is not None and last < 0:
            clamped = by - last - 1  # the last rows: at the one before `at` others
            ends = [arithmetic("sub", node(length, type="int"), 1 + at) for at in range(max(clamped, 0) + 1)]
            tests = [compare("le", own, ends[-1]), *(compare("eq", own, ends[at]) for at in range(1, clamped)[::-1])]
            distances = [by, *(at + 1 + last for at in range(clamped)[::-1])]
        else:
            continue
        if clamped > MOST:
            return None
        if clamped <= 0:
            return [(None, by)]
        return list(zip([*tests, None], distances))
    return None


def _distance(index: Expr, name: str) -> int | None:
    """c for an index that is an axis or a length plus c, else None."""
    steps = 0
    while index.op in ("add", "sub") and index.args[1].op == "const":
        steps += int(index.args[1].data) * (1 if index.op == "add" else -1)
        index = index.args[0]
    return steps if index.op == name else None


def _moved(axis: str, by: int) -> Expr:
    return arithmetic("add", node(axis, type="int"), constant(by, "int"))
