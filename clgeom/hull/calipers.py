"""Rotating calipers of one convex polygon in integers: exact decisions and correctly rounded numbers.

Steps of a counter-clockwise polygon turn left. The corners farthest from an edge in some direction are found by the
quarter turns of later steps relative to it:

    first step in quarter 1 or later      from the corner farthest along the edge
    first step in quarter 2 or later      from the corner farthest from the edge
    first step in quarter 3               from the corner farthest back; the edge's first corner if there is none

A caliper is the edge's first corner and these three corners; others are found by ``hull/batch/batch_calipers``.
"""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

#: What the best caliper has: the least width, the rectangle of least area or perimeter, the largest distance. The least
#: circle has corners instead.
Purpose: TypeAlias = Literal["width", "area", "perimeter", "diameter", "circle"]


class Caliper(NamedTuple):
    """Numbers of corners: an edge's first one, the farthest from it, the farthest along and back."""

    edge: int
    across: int
    along: int
    back: int


class Corners:
    """Corners of a convex polygon as integers times ``2**exponent``, converted when they are first needed."""

    def __init__(self, corners: np.ndarray) -> None:
        self._floats = corners.astype(np.float64, copy=False)
        sizes = np.abs(self._floats)
        least = float(sizes.min(where=sizes > 0, initial=1.0))
        self.exponent = min(max(math.frexp(least)[1] - 53, -1074), 0)
        self._known: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._floats)

    def __getitem__(self, i: int) -> tuple[int, int]:
        i %= len(self._floats)
        found = self._known.get(i)
        if found is None:
            x, y = (self._integer(value) for value in self._floats[i].tolist())
            found = self._known[i] = x, y
        return found

    def _integer(self, value: float) -> int:
        above, below = value.as_integer_ratio()
        return (above << -self.exponent) // below

    def floats(self, which: Any) -> np.ndarray:
        """Return some corners as floats."""
        return np.asarray(self._floats[which])

    @functools.cached_property
    def in_range(self) -> bool:
        """Whether coordinates are 0 or so near 1 that no product of six differences leaves the range of doubles."""
        sizes = np.abs(self._floats)
        return bool(((sizes == 0) | ((sizes >= 2.0**-60) & (sizes < 2.0**120))).all())

    def step(self, a: int, b: int) -> tuple[int, int]:
        """The difference of two corners."""
        (ax, ay), (bx, by) = self[a], self[b]
        return bx - ax, by - ay


def cross(a: tuple[int, int], b: tuple[int, int]) -> int:
    return a[0] * b[1] - a[1] * b[0]


def dot(a: tuple[int, int], b: tuple[int, int]) -> int:
    return a[0] * b[0] + a[1] * b[1]


def square(a: tuple[int, int]) -> int:
    return dot(a, a)


def _quarter(edge: tuple[int, int], step: tuple[int, int]) -> int:
    """Return the quarter turn of a step relative to an edge: 0 for [0, 90) degrees, up to 3."""
    side, along = cross(edge, step), dot(edge, step)
    if side == 0:
        return 0 if along > 0 else 2
    return (0 if along > 0 else 1) if side > 0 else (2 if along < 0 else 3)


def calipers(corners: Corners, edges: Iterable[int]) -> Iterable[Caliper]:
    """Yield the calipers of some ascending edges; of edges on one line, only that of the first."""
    count, before = len(corners), -2
    farthest = [0, 0, 0]
    for i in edges:
        edge = corners.step(i, i + 1)
        previous = corners.step(i - 1, i)
        if cross(previous, edge) == 0 and dot(previous, edge) > 0:
            continue
        for q in range(3):
            if before == i - 1:
                k = max(farthest[q], i + 1)
                while k < i + count and _quarter(edge, corners.step(k, k + 1)) <= q:
                    k += 1
            else:
                steps = range(i + 1, i + count)
                k = i + 1 + bisect.bisect_right(steps, q, key=lambda k: _quarter(edge, corners.step(k, k + 1)))
            farthest[q] = k
        before = i
        yield Caliper(i, farthest[1] % count, farthest[0] % count, farthest[2] % count)


class Measured(NamedTuple):
    """Height and length of a caliper's rectangle in integers, times the edge's length; the square of that."""

    height: int
    length: int
    square: int


def measured(corners: Corners, caliper: Caliper) -> Measured:
    edge = corners.step(caliper.edge, caliper.edge + 1)
    height = cross(edge, corners.step(caliper.edge, caliper.across))
    return Measured(height, dot(edge, corners.step(caliper.back, caliper.along)), square(edge))


_TERMS: dict[str, Callable[[Measured], int]] = {
    "width": lambda one: one.height**2,
    "area": lambda one: one.height * one.length,
    "perimeter": lambda one: (one.height + one.length) ** 2,
}


def best_caliper(corners: Corners, edges: Iterable[int], purpose: Purpose) -> Caliper:
    """Return the caliper with the least or largest measure, the first of equal ones.

    Of "diameter", equal pairs are compared by their lower number, then by the other one. Several corners are farthest
    from an edge that is parallel to others: the result has the lowest number.
    """
    best, least = Caliper(0, 0, 0, 0), (1, 0)  # a ratio; infinite
    if purpose == "diameter":
        pairs = ((one, square(corners.step(one.edge, one.across))) for one in calipers(corners, edges))
        best, _ = min(pairs, key=lambda pair: (-pair[1], *sorted(pair[0][:2])))
        low, high = sorted(best[:2])
        return Caliper(low, high, 0, 0)
    for one in calipers(corners, edges):
        sizes = measured(corners, one)
        term = _TERMS[purpose](sizes)
        if term * least[1] < least[0] * sizes.square:
            best, least = one, (term, sizes.square)
    edge, last = corners.step(best.edge, best.edge + 1), corners.step(-1, 0)
    return best._replace(across=0) if cross(edge, last) == 0 > dot(edge, last) else best


# Numbers ---------------------------------------------------------------------------------------------------------


def ratio(above: int, below: int, exponent: int) -> float:
    """``above / below * 2**exponent``, correctly rounded; `below` is above 0."""
    try:
        return (above / (below << -exponent) if exponent < 0 else (above << exponent) / below) + 0.0  # no -0.0
    except OverflowError:
        return -math.inf if above < 0 else math.inf


def root(above: int, below: int, exponent: int) -> float:
    """``sqrt(above / below) * 2**exponent``, correctly rounded."""
    if above == 0:
        return 0.0
    bits = max(0, 70 + (below.bit_length() - above.bit_length()) // 2)  # for a root of 70 bits or more
    quotient, rest = divmod(above << 2 * bits, below)
    found = math.isqrt(quotient)
    inexact = rest != 0 or found * found != quotient
    return ratio(2 * found + inexact, 1, exponent - bits - 1)


def numbers_of(corners: Corners, caliper: Caliper, purpose: Purpose) -> list[float]:
    """Return the numbers of a caliper, each correctly rounded, as ``cl_src/batch/batch_bounded.h``.

    Of a diameter and a width it is one; of a rectangle the area, perimeter, length, height, and four corners.
    """
    exponent, (i, across, along, back) = corners.exponent, caliper
    if purpose == "diameter":
        return [root(square(corners.step(i, across)), 1, exponent)]
    edge, (x, y) = corners.step(i, i + 1), corners[i]
    below, height = square(edge), cross(edge, corners.step(i, across))
    if purpose == "width":
        return [root(height**2, below, exponent)]
    begin, end = dot(edge, corners.step(i, back)), dot(edge, corners.step(i, along))
    length = end - begin
    numbers = [ratio(length * height, below, 2 * exponent)]
    numbers += [root(one**2, below, exponent) for one in (2 * (length + height), length, height)]
    for away, rise in ((begin, 0), (end, 0), (end, height), (begin, height)):
        numbers.append(ratio(x * below + edge[0] * away - edge[1] * rise, below, exponent))
        numbers.append(ratio(y * below + edge[1] * away + edge[0] * rise, below, exponent))
    return numbers
