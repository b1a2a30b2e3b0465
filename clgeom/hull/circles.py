"""The least circle around a convex polygon, decided in integers.

A circle of two or three corners is stored relative to the first, a: its centre is a + across / below, and a point a + w
is inside if ``w² below <= 2 w across``. The circle grows by the corner farthest outside: it becomes that of at most
four corners. It is the least one if it holds all corners, and two of them are a diameter or three an acute triangle.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from clgeom.hull.calipers import Corners, cross, dot, ratio, root, square

#: Corners from which on a part of them is solved first, and how many of these are one of the part.
MANY, PART = 4096, 64
#: So few corners are compared in integers alone.
FEW = 16
#: Larger than the relative error of a distance in floats.
ERROR = 2.0**-46


class Circle(NamedTuple):
    """A circle in integers; see the module."""

    first: tuple[int, int]
    across: tuple[int, int]
    below: int

    def outside(self, point: tuple[int, int]) -> int:
        """Return a number above 0 for a point outside, 0 for one on the circle; the larger the farther."""
        w = point[0] - self.first[0], point[1] - self.first[1]
        return square(w) * self.below - 2 * dot(w, self.across)


def circle_of(corners: Corners, ends: Sequence[int]) -> Circle:
    """Return the circle whose diameter is between two corners, or the circle through three that turn left."""
    b = corners.step(ends[0], ends[1])
    if len(ends) == 2:
        return Circle(corners[ends[0]], b, 2)
    c = corners.step(ends[0], ends[2])
    across = c[1] * square(b) - b[1] * square(c), b[0] * square(c) - c[0] * square(b)
    return Circle(corners[ends[0]], across, 2 * cross(b, c))


def _is_acute(corners: Corners, ends: Sequence[int]) -> bool:
    i, j, k = ends
    a, b, c = corners.step(i, j), corners.step(j, k), corners.step(k, i)
    return cross(a, b) > 0 and dot(a, b) < 0 and dot(b, c) < 0 and dot(c, a) < 0


def _support(corners: Corners, some: Iterable[int]) -> list[int]:
    """Return the first pair, or else the first acute triple, of the least circle around some ascending corners."""
    some = list(some)
    for ends in (*combinations(some, 2), *combinations(some, 3)):
        if len(ends) == 2 or _is_acute(corners, ends):
            circle = circle_of(corners, ends)
            if all(circle.outside(corners[i]) <= 0 for i in some):
                return list(ends)
    raise AssertionError("no circle around corners")  # pragma: no cover


def _grown(corners: Corners, support: list[int], some: np.ndarray) -> list[int]:
    """Return the support of the least circle around some ascending corners, of equal ones the first."""
    while True:
        circle = circle_of(corners, support)
        near = some[_outermost(corners, circle, some)].tolist()
        farthest = max(near, key=lambda i: circle.outside(corners[i]))
        if circle.outside(corners[farthest]) <= 0:
            return _support(corners, [i for i in near if circle.outside(corners[i]) == 0])
        support = _support(corners, sorted({*support, farthest}))


def _outermost(corners: Corners, circle: Circle, some: np.ndarray) -> Any:
    """Return places of corners that may be on the circle or outside; of a single one if it is outside for sure."""
    if len(some) <= FEW or not corners.in_range:
        return slice(None)
    (x, y), (u, v) = _relative(corners, circle, some, np.longdouble)
    squares, products = x * x + y * y, 2 * (x * u + y * v)
    margin = (
        32 * np.finfo(np.longdouble).eps * (squares.max() + 2 * (np.abs(x).max() + np.abs(y).max()) * np.hypot(u, v))
    )
    beyond = squares - products
    most = int(np.argmax(beyond))
    return [most] if beyond[most] > margin else np.flatnonzero(beyond >= -margin)


def _relative(corners: Corners, circle: Circle, some: Any, real: Any) -> tuple[Any, Any]:
    """Return x and y of corners relative to a circle's first one, and its centre, in floats of a type."""
    unit = Fraction(1, 1 << -corners.exponent)
    first, centre = ([float(a * unit) for a in circle.first], [])
    for u in circle.across:
        number = Fraction(u, circle.below) * unit
        high = float(number)
        centre.append(real(high) + real(float(number - Fraction(high))))
    floats = corners.floats(some)
    return [floats[:, k].astype(real) - real(first[k]) for k in (0, 1)], centre


def least_circle(corners: Corners) -> list[int]:
    """Return the two or three corners of the least circle around a polygon of two or more; of equal ones the first.

    Of many corners, every `PART`-th are solved first. Corners inside by more than the circle moves are inside the next.
    """
    count = len(corners)
    every = np.arange(count)
    if count <= MANY or not corners.in_range:
        return _grown(corners, [0, count // 2], every)
    support, reach = _grown(corners, [0, count // 2 // PART * PART], every[::PART]), 2.0**-20
    while True:
        circle = circle_of(corners, support)
        (x, y), centre = _relative(corners, circle, slice(None), np.float64)
        x -= centre[0]
        y -= centre[1]
        radius = math.hypot(*centre)
        is_near = x * x + y * y > (radius * (1 - reach)) ** 2
        is_near[support] = True
        found = _grown(corners, support, np.flatnonzero(is_near))
        (x, y), _ = _relative(corners, circle, found[:1], np.float64)
        _, new = _relative(corners, circle_of(corners, found), [], np.float64)
        moved = math.hypot(x[0] + new[0] - centre[0], y[0] + new[1] - centre[1])
        if radius * (1 - reach) + moved <= math.hypot(*new) * (1 - ERROR):
            return found
        support, reach = found, min(max(8 * moved / radius, 2.0**-36), 0.5)


def circle_numbers(corners: Corners, support: Sequence[int]) -> list[float]:
    """Return the centre and the radius, each correctly rounded."""
    first, across, below = circle_of(corners, support)
    centre = [ratio(a * below + u, below, corners.exponent) for a, u in zip(first, across)]
    return [*centre, root(square(across), below**2, corners.exponent)]
