"""Bands: tables of which only the cells with low <= j - i <= high are computed; others have a given value.

The band becomes a part of the equation: the value of a cell is the given one outside, and so is what is read there.
Its ends are parameters, so that one program serves all bands. Tiles outside are not computed at all.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from clgeom.arguments import integers, wrong
from clgeom.dp.analysis.dependences import Far, dependences_of, offset
from clgeom.dp.language import functions, trace, types
from clgeom.dp.language.cells import CellType
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.mistakes import deep_enough
from clgeom.dp.language.nodes import NUMPY
from clgeom.dp.language.parameters import Parameter
from clgeom.dp.language.plain_c import nodes_of
from clgeom.dp.language.trace import Expr, rebuild, with_args
from clgeom.dp.patterns import Pattern
from clgeom.errors import InvalidInput, short

#: The parameters of a banded equation besides its own.
LOW, HIGH, OUTSIDE = "band_low", "band_high", "band_outside"


def checked_band(band: Any, shape: tuple[int, int], outside: Any, *, caller: str) -> tuple[int, int] | None:
    """Return the `band` parameter of a function; None for one that holds the whole table.

    `outside` is for cells outside of a band: another value than 0 is refused without one.
    """
    if band is None:
        if isinstance(outside, Mapping) or not (isinstance(outside, numbers.Number) and not outside):
            raise wrong("outside", caller, "left out without a band", short(outside))
        return None
    low, high = integers(band, 2, "two integers, low <= j - i <= high", "band", caller=caller)
    if low > high:
        raise wrong("band", caller, "low <= high", short(band), verb="have")
    n, m = shape
    low, high = max(low, 1 - n), min(high, m - 1)
    if low > high:
        raise wrong("band", caller, "cells of the table", f"{short(band)} for {n} x {m} cells", verb="hold")
    return None if (low, high) == (1 - n, m - 1) else (low, high)


def check_reachable(band: tuple[int, int], pattern: Pattern, shape: tuple[int, int], *, caller: str) -> None:
    """Refuse a band without the cell that answers for the table, or for NOSE and SENO without the first one."""
    first = pattern.cell(0, 0, *shape) if pattern.kind == "nose" else None
    for what, at in (("answers for the table", pattern.corner(*shape)), ("is filled first", first)):
        if at is not None and not band[0] <= at[1] - at[0] <= band[1]:
            expected = f"cell {at}, which {what} with pattern {pattern.name}: there j - i is {at[1] - at[0]}"
            raise wrong("band", caller, expected, band, verb="hold")


def with_band(
    equation: Equation, band: tuple[int, int], outside: Any, *, caller: str
) -> tuple[Equation, dict[str, Any]]:
    """Return the equation in a band, and the values of its additional parameters."""
    cells = dict(zip(equation.cell.fields or ("",), equation.cell.scalars))
    by_field = outside if isinstance(outside, Mapping) else dict.fromkeys(cells, outside)
    if set(by_field) != set(cells):
        fields = f", or one for each of the fields {', '.join(cells)}" if equation.cell.fields else ""
        raise wrong("outside", caller, f"a number{fields}", short(outside))
    values = {LOW: np.int32(band[0]), HIGH: np.int32(band[1])}
    for name, cell in cells.items():
        value = by_field[name]
        valid = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
        if valid and cell.limits is not None:
            valid = isinstance(value, numbers.Integral) and cell.limits[0] <= int(value) <= cell.limits[1]
        if not valid:
            raise wrong("outside", caller, f"a number of {cell.name}", short(value))
        values[_outside(name)] = NUMPY[cell.type](value)
    return equation.cache.get(("banded",), lambda: _banded(equation, cells, caller)), values


def _outside(field: str) -> str:
    """Return the parameter for cells outside the band, or for a field of them."""
    return f"{OUTSIDE}_{field}" if field else OUTSIDE


def _banded(equation: Equation, cells: Mapping[str, CellType], caller: str) -> Equation:
    nodes = nodes_of(equation)
    if nodes is None:
        raise InvalidInput(f"A band needs an equation in Python, or a simple one in C, which {equation.name} is not.")
    added = {name: Parameter(name, np.dtype(np.int32), 0) for name in (LOW, HIGH)}
    for name, cell in cells.items():
        added[_outside(name)] = Parameter(_outside(name), np.dtype(NUMPY[cell.type]), 0)
    taken = set(added) & set(nodes.parameters)
    if taken:
        raise InvalidInput(f"{caller} with a band needs an equation without a parameter {min(taken)!r}.")
    with types.Trace(equation.cell.type).active(), deep_enough(equation.name):
        node = {name: trace.node("parameter", type=p.type, data=name) for name, p in added.items()}
        i, j = (trace.node(axis, type="int") for axis in "ij")
        here, low, high = j - i, node[LOW], node[HIGH]

        def guarded(read: Expr) -> Expr:
            """Return a read of a cell, or the value outside."""
            down, right = (offset(at, axis) for at, axis in zip(read.args, "ij"))
            inside: Expr | None
            if isinstance(down, int) and isinstance(right, int):
                step = right - down
                inside = here <= high - step if step > 0 else here >= low - step if step < 0 else None
            else:
                apart = read.args[1] - read.args[0]
                inside = (apart >= low) & (apart <= high)
            return read if inside is None else functions.where(inside, read, node[_outside(read.data or "")])

        by: dict[Expr, Expr] = {}

        def in_band(root: Expr) -> Expr:
            return rebuild(root, lambda part: guarded(part) if part.op == "cell" else part, by)

        value, decision = in_band(nodes.value), nodes.decision
        within = (here >= low) & (here <= high)
        if value.op == "record":
            fields = zip(cells, value.args)
            value = with_args(value, tuple(functions.where(within, arg, node[_outside(name)]) for name, arg in fields))
        else:
            value = functions.where(within, value, node[OUTSIDE])
        if decision is not None:
            decision = functions.where(within, in_band(decision), -1 if equation.decisions == "index" else 0)
    banded = copy.copy(nodes)
    parameters = MappingProxyType({**nodes.parameters, **added})
    banded.__dict__.update(value=value, decision=decision, eager=(), parameters=parameters)
    if equation.reach_proven:
        banded.reach = dependences_of(*banded.roots)
        banded.reach_proven = not isinstance(banded.reach, Far)
    return banded
