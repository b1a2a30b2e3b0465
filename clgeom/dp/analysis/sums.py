"""Affine sums: indices as integer multiples of atoms, and conditions that the ranges of these decide.

A sum is a dictionary {atom: coefficient}, its constant under None: ``2 * i - k + 3`` is {i: 2, k: -1, None: 3}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from clgeom.dp.language.graphs import depends_on, walk
from clgeom.dp.language.intervals import Interval
from clgeom.dp.language.trace import Expr, rebuild, settled
from clgeom.dp.language.types import LIMITS

#: Coefficients by atom; the constant under None.
Sum: TypeAlias = dict[Any, int]
#: Intervals by atom, or by its operator, such as "i" and "j".
Box: TypeAlias = Mapping[Any, Interval]


def affine(expr: Expr) -> Sum | None:
    """Return the expression as a sum of integer multiples of atoms; None for expressions that are not integers.

    An atom is any node but a sum, difference or integer multiple; sums with cells are atoms too, since they may wrap
    around. Whether these sums wrap around, `bounds.indices_fit` tells.
    """
    return _affine(expr) if expr.type in LIMITS else None


def difference(comparison: Expr) -> Sum | None:
    """Return the left side of a comparison less the right one; None if a side is no sum of integers."""
    a, b = map(affine, comparison.args)
    return None if a is None or b is None else combine(a, b, -1)


#: Operators of affine sums.
DIVIDED = frozenset(("add", "sub", "neg", "mul"))


def indices_of(*roots: Expr | None) -> frozenset[Expr]:
    """Return the sums, differences, products and negations that `affine` expands in indices, ends of loops and sides of
    comparisons."""
    expanded: set[Expr] = set()

    def visit(expr: Expr) -> None:
        if expr not in expanded and expr.op in DIVIDED | {"cast"} and affine(expr) != {expr: 1}:
            expanded.add(expr)
            for arg in expr.args:
                visit(arg)

    for part in walk(*roots):
        if part.op in INDEXED:
            for arg in part.args[1:3] if part.op in ("reduce", "argreduce") else part.args:
                if arg.type in LIMITS:
                    visit(arg)
    return frozenset(part for part in expanded if part.op in DIVIDED)


INDEXED = frozenset(("cell", "load", "reduce", "argreduce", "lt", "le", "gt", "ge", "eq", "ne"))


def _affine(expr: Expr) -> Sum:
    op, args = expr.op, expr.args
    if op == "const":
        return {None: expr.data} if expr.data else {}
    if op == "cast" and args[0].type in LIMITS and not narrows(expr):
        return _affine(args[0])
    by = next((k for k, arg in enumerate(args) if arg.op == "const"), None)
    if op in ("add", "sub"):
        total = combine(_affine(args[0]), _affine(args[1]), 1 if op == "add" else -1)
    elif op == "neg":
        total = combine({}, _affine(args[0]), -1)
    elif op == "mul" and by is not None:
        total = combine({}, _affine(args[1 - by]), args[by].data)
    else:
        return {expr: 1}
    return {expr: 1} if any(atom is not None and depends_on(atom, ("cell",)) for atom in total) else total


def narrows(expr: Expr) -> bool:
    """Return whether a cast may lose bits of an integer."""
    if expr.op != "cast" or expr.type not in LIMITS or expr.args[0].type not in LIMITS:
        return False
    (low, high), (least, most) = LIMITS[expr.args[0].type], LIMITS[expr.type]
    return low < least or high > most


def combine(a: Sum, b: Sum, factor: int) -> Sum:
    """a + factor * b, of sums."""
    total = dict(a)
    for atom, coefficient in b.items():
        total[atom] = total.get(atom, 0) + factor * coefficient
        if total[atom] == 0:
            del total[atom]
    return total


def range_of(total: Sum, box: Box) -> Interval:
    """(lowest, highest) value of a sum; atoms that are not in the box have the interval of their type."""
    low = high = total.get(None, 0)
    for atom, by in total.items():
        if atom is not None:
            ends = [by * end for end in box.get(atom) or box.get(atom.op) or LIMITS[atom.type]]
            low, high = low + min(ends), high + max(ends)
    return low, high


def simplify(expr: Expr, box: Box, known: Mapping[Expr, Expr] | None = None) -> Expr:
    """Return the expression with conditions folded that the box decides. `known`: New nodes by node."""
    return rebuild(expr, lambda part: _decided(part, box), dict(known or {}))


def _decided(part: Expr, known: Box) -> Expr:
    """Return the node, or what it is known to be."""
    op, args = part.op, part.args
    answer = None
    if op in ("lt", "le", "gt", "ge", "eq", "ne"):
        answer = _holds(part, known)
    elif op == "not" and args[0].op == "const":
        answer = not args[0].data
    if answer is not None:
        return Expr("const", (), "bool", answer)
    if op == "where" and args[0].op == "const":
        return args[1] if args[0].data else args[2]
    side = settled(op, *args) if op in ("and", "or") else None
    return part if side is None else side


def _holds(comparison: Expr, known: Box) -> bool | None:
    """Return whether a comparison holds; None if `known` does not decide it."""
    total = difference(comparison)
    if total is None:
        return None
    low, high = range_of(total, known)
    apart, equal = low > 0 or high < 0, low == high == 0
    holds, fails = {
        "lt": (high < 0, low >= 0),
        "le": (high <= 0, low > 0),
        "gt": (low > 0, high <= 0),
        "ge": (low >= 0, high < 0),
        "eq": (equal, apart),
        "ne": (apart, equal),
    }[comparison.op]
    return True if holds else False if fails else None
