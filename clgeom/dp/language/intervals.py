"""Intervals of integer expressions: the least and the largest value of a node, as kernels compute it.

Integers of kernels wrap around. An operator whose result may go beyond its type has the interval of the whole type, so
that the interval of every node holds all its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

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
    low, high = operands[0]
    if op == "neg":
        return -high, -low
    if op == "abs":
        return max(low, -high, 0), max(-low, high)
    if op == "cast":
        return low, high
    if op == "bitnot":
        least, most = LIMITS[type] if type == "ulong" else (0, -1)
        return least + most - high, least + most - low
    if op == "where":
        return join(operands[1:])
    return BINARY[op](low, high, *operands[1]) if op in BINARY else None


def _product(low: int, high: int, least: int, most: int) -> Interval:
    corners = low * least, low * most, high * least, high * most
    return min(corners), max(corners)


def _quotient(low: int, high: int, least: int, most: int) -> Interval:
    """Of a division that rounds down, and is 0 for the divisor 0."""
    divisors = [by for by in (least, -1, 1, most) if least <= by <= most and by]
    corners = [end // by for end in (low, high) for by in divisors] + [0] * (least <= 0 <= most)
    return min(corners), max(corners)


def _remainder(low: int, high: int, least: int, most: int) -> Interval:
    """Of the same division: it has the sign of the divisor, and is 0 for the divisor 0."""
    if 0 <= low and high < least:
        return low, high
    bottom, top = min(least + 1, 0), max(most - 1, 0)
    return bottom, min(top, high) if low >= 0 and least >= 0 else top


def _left_shift(low: int, high: int, least: int, most: int) -> Interval | None:
    if least < 0 or most > 63:
        return None
    return _product(low, high, 1 << least, 1 << most)


def _right_shift(low: int, high: int, least: int, most: int) -> Interval:
    """Of a shift that is 0 for a negative count."""
    if least < 0:
        return min(low, 0), max(high, 0)
    corners = [end >> min(by, 64) for end in (low, high) for by in (least, most)]
    return min(corners), max(corners)


def _bits(op: str, low: int, high: int, least: int, most: int) -> Interval:
    """Of ``& | ^``, from the bits of the operands, and from their signs."""
    if op == "bitand" and max(low, least) >= 0:
        return 0, min(top for bottom, top in ((low, high), (least, most)) if bottom >= 0)
    bits = max(end.bit_length() for end in (low, high, least, most))
    return 0 if min(low, least) >= 0 else -(1 << bits), (1 << bits) - 1


BINARY = {
    "add": lambda low, high, least, most: (low + least, high + most),
    "sub": lambda low, high, least, most: (low - most, high - least),
    "min": lambda low, high, least, most: (min(low, least), min(high, most)),
    "max": lambda low, high, least, most: (max(low, least), max(high, most)),
    "mul": _product,
    "floordiv": _quotient,
    "mod": _remainder,
    "shl": _left_shift,
    "shr": _right_shift,
    "bitand": lambda *ends: _bits("bitand", *ends),
    "bitor": lambda *ends: _bits("bitor", *ends),
    "bitxor": lambda *ends: _bits("bitxor", *ends),
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
        stack = [part]
        while stack:
            top = stack[-1]
            if top in self.known:
                stack.pop()
                continue
            if top.op == "index":
                self.known[top] = LIMITS[top.type]  # the ends of a loop do not depend on its index
                self.known[top] = self._of_index(top)
                continue
            missing = [arg for arg in top.args if arg not in self.known]
            stack += missing
            if not missing:
                exact = self.exact(top)
                whole = LIMITS.get(top.type)
                # a cell has the interval that is asked about, which narrower cells cannot have
                holds = whole is None or top.op == "cell" or within(exact, top.type)
                self.known[top] = exact if holds else whole
        return self.known[part]

    def of_integer(self, part: Expr) -> Interval:
        """Return the interval of a node of integers."""
        interval = self.of(part)
        assert interval is not None
        return interval

    def fits(self, part: Expr) -> bool:
        """Return whether a node of integers never goes beyond its type, provided that its operands do not."""
        self.of(part)
        return part.op == "cell" or part.type not in LIMITS or within(self.exact(part), part.type)

    def exact(self, part: Expr) -> Interval | None:
        """Return the interval of a node before it wraps around, from those of its operands; None if it is not known."""
        op, type = part.op, part.type
        if type == "bool":
            return 0, 1
        operands = [self.of(arg) for arg in part.args]
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
        if op == "index":
            return self.known[part]
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

    def _of_index(self, index: Expr) -> Interval:
        """lo <= k < hi; where no k is, the interval of one number."""
        low, high = map(self.of, self.loops[index]) if index in self.loops else (None, None)
        first, last = (low or LIMITS[index.type])[0], (high or LIMITS[index.type])[1] - 1
        interval = first, max(first, last)
        return interval if within(interval, index.type) else LIMITS[index.type]

    def _of_reduction(self, part: Expr, operands: Sequence[Interval | None]) -> Interval | None:
        if part.data not in ("min", "max"):
            return None
        _, lo, hi, body, *empty = operands
        if not empty and (lo is None or hi is None or hi[0] <= lo[1]):  # it may be empty
            value = int(neutral(part.data, part.type))
            empty = [(value, value)]
        return join([body, *empty])
