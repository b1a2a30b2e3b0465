"""Reads with clamped indices as reads at constant distances, for which there are faster kernels::

M[i - 1, maximum(j - 1, 0)]   is   M[i - 1, j - 1] if j >= 1 else M[i - 1, j]
"""

from __future__ import annotations

import itertools
from typing import TypeAlias

from clgeom.dp.language.trace import Expr, arithmetic, compare, constant, logical, node

#: Most rows, or columns, in which an index may be clamped.
MOST = 3

#: The condition under which an index is at this distance of its axis, None for all other cells; and the distance.
Place: TypeAlias = tuple[Expr | None, int]


def near_read(indices: tuple[Expr, ...], type: str | None, data: str | None) -> Expr | None:
    """Return the value of a cell with clamped indices from reads at constant distances.

    None where no index is clamped, one is of another form, or a clamped read would be one of the cell itself.
    """
    if all(index.op not in ("max", "min") for index in indices):
        return None
    places = [_places(index, axis, length) for index, axis, length in zip(indices, "ij", "nm")]
    if any(place is None for place in places):
        return None
    value: Expr | None = None
    rows, columns = (place or [] for place in places)
    for (row_test, di), (column_test, dj) in reversed(list(itertools.product(rows, columns))):
        if di == dj == 0:
            return None
        own = node("cell", *(_moved(axis, by) for axis, by in (("i", di), ("j", dj))), type=type, data=data)
        tests = [test for test in (row_test, column_test) if test is not None]
        if value is None or not tests:
            value = own
        else:
            value = node("where", tests[0] if len(tests) == 1 else logical("and", *tests), own, value)
    return value


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
