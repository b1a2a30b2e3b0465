"""Intervals of integer expressions: the least and the largest value of a node, as kernels compute it.

Integers of kernels wrap around. An operator whose result may go beyond its type has the interval of the whole type, so
that the interval of every node holds all its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from clgeom.dp.language.graphs import walk
from clgeom.dp.language.types import LIMITS, neutral

if TYPE_CHECKING:
    from clgeom.dp.language.parameters import Parameter
    from clgeom.dp.language.trace import Expr

#: The least and the largest value.
Interval: TypeAlias = tuple[int, int]

#: Indices, and lengths of tables with cells: rows and columns together are below 2**31 (`fills.LONGEST_SIDE`).
SIDE, LENGTH = (0, 2**31 - 2), (1, 2**31 - 2)
#: Operators whose result modulo 2**64 does not depend on a conversion of negative operands to uint64.
MODULAR = frozenset(("add", "sub", "mul", "neg", "cast"))


def join(intervals: Iterable[Interval | None]) -> Interval | None:
    """Return the least interval that holds all of these; None if one is None."""
    intervals = list(intervals)
    ends = [interval for interval in intervals if interval is not None]
    if len(ends) < len(intervals):
        return None
    return min(low for low, _ in ends), max(high for _, high in ends)


def integer_result(op: str, type: str, operands: Sequence[Interval]) -> Interval | None:
    """Return the interval of an operator of integers before it wraps around; None where that is not known.

    `type`: Of the result: "int", "long" or "ulong".
    """
    if type == "ulong" and op not in MODULAR:  # operands are converted first
        operands = [own if own[0] >= 0 else LIMITS["ulong"] for own in operands]
    if op == "bitnot":
        flipped = sum(LIMITS[type]) if type == "ulong" else -1
        return flipped - operands[0][1], flipped - operands[0][0]
    return OPERATORS[op](*operands) if op in OPERATORS else None


def _hull(ends: Iterable[int]) -> Interval:
    ends = list(ends)
    return min(ends), max(ends)


def _product(a: Interval, b: Interval) -> Interval:
    return _hull(end * by for end in a for by in b)


def _quotient(a: Interval, b: Interval) -> Interval:
    """Return the interval of a division that rounds down, and is 0 for the divisor 0."""
    divisors = [by for by in (b[0], -1, 1, b[1]) if b[0] <= by <= b[1] and by]
    return _hull([*(end // by for end in a for by in divisors), *([0] if b[0] <= 0 <= b[1] else [])])


def _remainder(a: Interval, b: Interval) -> Interval:
    """Return the interval of the remainder of that division: it has the sign of the divisor, and is 0 for 0."""
    if 0 <= a[0] and a[1] < b[0]:
        return a
    bottom, top = min(b[0] + 1, 0), max(b[1] - 1, 0)
    return bottom, min(top, a[1]) if a[0] >= 0 and b[0] >= 0 else top


def _left_shift(a: Interval, b: Interval) -> Interval | None:
    return _product(a, (1 << b[0], 1 << b[1])) if 0 <= b[0] and b[1] <= 63 else None


def _right_shift(a: Interval, b: Interval) -> Interval:
    """Return the interval of a shift that is 0 for a negative count."""
    return _hull(end >> min(by, 64) for end in a for by in b) if b[0] >= 0 else (min(a[0], 0), max(a[1], 0))


def _bits(a: Interval, b: Interval) -> Interval:
    """Return the interval of ``& | ^``, from the bits of the operands, and from their signs."""
    bits = max(end.bit_length() for end in (*a, *b))
    return 0 if min(a[0], b[0]) >= 0 else -(1 << bits), (1 << bits) - 1


def _common_bits(a: Interval, b: Interval) -> Interval:
    """Return the interval of ``&``: a number that is not negative bounds it."""
    return (0, min(top for bottom, top in (a, b) if bottom >= 0)) if max(a[0], b[0]) >= 0 else _bits(a, b)


#: The interval of an operator of integers that does not wrap around, by the intervals of its operands.
OPERATORS: dict[str, Callable[..., Interval | None]] = {
    "cast": lambda a: a,
    "neg": lambda a: (-a[1], -a[0]),
    "abs": lambda a: (max(a[0], -a[1], 0), max(-a[0], a[1])),
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "where": lambda test, a, b: join((a, b)),
    "mul": _product,
    "floordiv": _quotient,
    "mod": _remainder,
    "shl": _left_shift,
    "shr": _right_shift,
    "bitand": _common_bits,
    "bitor": _bits,
    "bitxor": _bits,
}


def within(interval: Interval | None, type: str) -> bool:
    """Return whether a known interval lies within a type of integers."""
    return interval is not None and LIMITS[type][0] <= interval[0] and interval[1] <= LIMITS[type][1]


class Intervals:
    """The intervals of the nodes of an equation.

    `parameters`: By name; those without values have the interval of their type.
    `values`: The least and the largest element of parameters.
    `box`: The intervals of "i", "j", "n" ...; by default those of every table.
    `loops`: The ends (lo, hi) of the indices of reductions.
    `cells`: The interval of every cell; by default that of its type.
    `known`: The intervals of nodes, which grows.
    """

    def __init__(
        self,
        parameters: Mapping[str, Parameter] | None = None,
        *,
        values: Mapping[str, Interval] | None = None,
        box: Mapping[str, Interval] | None = None,
        loops: Mapping[Expr, tuple[Expr, Expr]] | None = None,
        cells: Interval | None = None,
        known: dict[Expr, Interval | None] | None = None,
    ) -> None:
        self.parameters, self.values, self.box = parameters or {}, values or {}, box or {}
        self.loops, self.cells = loops or {}, cells
        self.known = {} if known is None else known

    def of(self, part: Expr) -> Interval | None:
        """Return the interval of a node; None of floats."""
        for node in walk(part, beyond=self.known, operands=self._operands):
            exact, whole = self._exact(node), LIMITS.get(node.type)
            # a cell has the interval that is asked about, which narrower cells cannot have
            self.known[node] = exact if whole is None or node.op == "cell" or within(exact, node.type) else whole
        return self.known[part]

    def of_integer(self, part: Expr) -> Interval:
        """Return the interval of a node of integers."""
        interval = self.of(part)
        assert interval is not None
        return interval

    def fits(self, part: Expr) -> bool:
        """Return whether a node of integers never goes beyond its type, provided that its operands do not."""
        self.of(part)
        return part.op in ("cell", "index") or part.type not in LIMITS or within(self._exact(part), part.type)

    def _operands(self, part: Expr) -> tuple[Expr, ...]:
        """Return the nodes whose intervals decide that of a node: of an index, the ends of its loop."""
        return self.loops.get(part, ()) if part.op == "index" else part.args

    def _exact(self, part: Expr) -> Interval | None:
        """Return the interval of a node before it wraps around, from those of its operands; None if it is not known."""
        op, type = part.op, part.type
        if type == "bool":
            return 0, 1
        operands = [self.known[arg] for arg in self._operands(part)]
        if op == "record":
            return join(operands)
        if type not in LIMITS:
            return None
        if op == "const":
            return part.data, part.data
        if op in ("i", "j", "k", "n", "m", "p"):
            return self.box.get(op, SIDE if op in "ijk" else LENGTH)
        if op in ("parameter", "load"):
            return self.values.get(part.data) or self._of_type(part)
        if op == "index":  # lo <= k < hi; where no k is, the interval of one number
            low, high = operands or (None, None)
            first, last = (low or LIMITS[type])[0], (high or LIMITS[type])[1] - 1
            return first, max(first, last)
        if op == "cell":
            return LIMITS[type] if self.cells is None else self.cells
        if op == "cast" and part.args[0].type not in LIMITS:
            return operands[0] or LIMITS[type]  # floats go to the nearest integer
        if op == "reduce":
            return self._of_reduction(part, operands)
        if op == "argreduce":
            lo, hi = operands[1] or LIMITS[type], operands[2] or LIMITS[type]
            return min(lo[0], -1), max(hi[1] - 1, -1)
        if op in ("which_min", "which_max"):
            return 0, len(operands) - 1
        known = [interval for interval in operands if interval is not None]
        exact = integer_result(op, type, known) if len(known) == len(operands) else None
        if exact is not None and op == "add" and {arg.op for arg in part.args} == {"i", "j"}:
            exact = exact[0], min(exact[1], SIDE[1])
        return exact

    def _of_type(self, part: Expr) -> Interval:
        if part.data not in self.parameters:
            return LIMITS[part.type]
        info = np.iinfo(self.parameters[part.data].dtype)
        return int(info.min), int(info.max)

    def _of_reduction(self, part: Expr, operands: Sequence[Interval | None]) -> Interval | None:
        if part.data not in ("min", "max"):
            return None
        _, lo, hi, body, *empty = operands
        if not empty and (lo is None or hi is None or hi[0] <= lo[1]):  # it may be empty
            value = int(neutral(part.data, part.type))
            empty = [(value, value)]
        return join([body, *empty])
