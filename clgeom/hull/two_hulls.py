"""Two convex polygons: their distance and what they have in common, in rational numbers, rounded once at the end.

The distance is that of the origin from all differences of two corners: from a segment of two of them, the farthest
difference in its direction tells whether another one is nearer. Floats find the few corners that may be farthest.
What both have in common lies between the lower one of the upper chains and the upper one of the lower chains. Exact
signs tell which chain that is at each corner, and where chains cross.

Source: E. G. Gilbert, D. W. Johnson, S. S. Keerthi, A fast procedure for computing the distance between complex objects
in three-dimensional space, IEEE Journal on Robotics and Automation 4 (1988) 193.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from clgeom.hull.calipers import root
from clgeom.hull.predicates import host_signs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clgeom.intake.typing import NDArray

    Point = tuple[Fraction, Fraction]

#: Rounding errors of a scalar product in float64, as a share of its terms' sum, with those of its factors.
ERROR = 2.0**-49


# Distance ---------------------------------------------------------------------------------------------------------


class Corners:
    """The corners of a convex polygon: as they are, and as floats of at most 1 for a first look."""

    def __init__(self, corners: np.ndarray) -> None:
        self.corners = corners
        values = corners.astype(np.float64)
        exponent = int(np.frexp(np.abs(values).max())[1])
        self.scaled = np.ldexp(values, -exponent)

    def point(self, index: int) -> Point:
        """Return a corner in rational numbers."""
        x, y = self.corners[index].tolist()
        return Fraction(x), Fraction(y)

    def farthest(self, direction: Point) -> Point:
        """Return the corner that is farthest in a direction, the first of several."""
        largest = max(map(abs, direction))
        along = np.array([float(one / largest) for one in direction])
        terms = self.scaled * along
        values, error = terms.sum(axis=1), ERROR * np.abs(terms).sum(axis=1) + 2.0**-1060
        near = np.flatnonzero(values + error >= (values - error).max())
        return max((self.point(int(k)) for k in near), key=lambda point: dot(point, direction))


def dot(a: Point, b: Point) -> Fraction:
    return a[0] * b[0] + a[1] * b[1]


def cross(a: Point, b: Point) -> Fraction:
    return a[0] * b[1] - a[1] * b[0]


def minus(a: Point, b: Point) -> Point:
    return a[0] - b[0], a[1] - b[1]


def nearest(a: Point, b: Point) -> tuple[Point, tuple[Point, ...]]:
    """Return the point of a segment that is nearest to the origin, and the ends that it needs."""
    along = minus(b, a)
    length = dot(along, along)
    share = -dot(a, along) / length if length else Fraction(0)
    if share <= 0:
        return a, (a,)
    if share >= 1:
        return b, (b,)
    return (a[0] + share * along[0], a[1] + share * along[1]), (a, b)


def surrounds(corners: Sequence[Point]) -> bool:
    """Return whether a triangle contains the origin."""
    turns = [cross(a, b) for a, b in zip(corners, (*corners[1:], corners[0]))]
    return min(turns) > 0 or max(turns) < 0


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Return the distance of two convex polygons, correctly rounded; 0 if they have a point in common."""
    first, second = Corners(a), Corners(b)
    found = minus(first.point(0), second.point(0))
    simplex: tuple[Point, ...] = (found,)
    while any(found):
        back = -found[0], -found[1]
        more = minus(first.farthest(back), second.farthest(found))
        if dot(found, more) >= dot(found, found):
            break  # all differences are beyond the line through `found`
        corners = (*simplex, more)
        if len(corners) == 3 and surrounds(corners):
            return 0.0
        found, simplex = min(
            (nearest(*pair) for pair in itertools.combinations(corners, 2)), key=lambda one: dot(one[0], one[0])
        )
    square = dot(found, found)
    return root(square.numerator, square.denominator, 0)


# Intersection -----------------------------------------------------------------------------------------------------


def chains_of(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper chain of a convex polygon, by x, of which no two corners have the same."""
    points = corners.astype(np.float64) + 0.0  # exact: integers are within 2**53
    points = np.roll(points, -np.lexsort(points.T[::-1])[0], axis=0)
    last = np.flatnonzero(points[:, 0] == points[:, 0].max())
    lower, upper = points[: last[0] + 1], np.concatenate([points[last[-1] :], points[:1]])[::-1]
    return lower, upper[np.flatnonzero(upper[:, 0] == upper[0, 0])[-1] :] if len(upper) > 1 else upper


def sides(points: np.ndarray, chain: np.ndarray) -> np.ndarray:
    """Return the sign of points within the range of a chain: 1 above it, 0 on it, -1 below."""
    if len(chain) == 1:
        return np.asarray(np.sign(points[:, 1] - chain[0, 1]), np.int8)
    k = np.clip(np.searchsorted(chain[:, 0], points[:, 0]), 1, len(chain) - 1)
    return host_signs(chain[k - 1], chain[k], points)


class Compared:
    """Two chains between two x, within the range of both: which is above, and where they cross between corners."""

    def __init__(self, first: np.ndarray, second: np.ndarray, begin: float, end: float) -> None:
        self.chains = first, second
        parts = [chain[(begin <= chain[:, 0]) & (chain[:, 0] <= end)] for chain in self.chains]
        #: Of the corners of either chain between both x: 1 above the other chain, 0 on it, -1 below.
        self.first, self.second = sides(parts[0], second), sides(parts[1], first)
        xs, at = np.unique(np.concatenate([part[:, 0] for part in parts]), return_index=True)
        above = np.concatenate([self.first, -self.second])[at]
        self.before = xs[:-1][above[:-1] * above[1:] < 0]

    def crossings(self) -> list[Point]:
        found = []
        for x in self.before:
            (a, b), (c, d) = (edge_at(chain, x) for chain in self.chains)
            along, across, between = minus(b, a), minus(d, c), minus(c, a)
            share = cross(between, across) / cross(along, across)
            found.append((a[0] + share * along[0], a[1] + share * along[1]))
        return found


def edge_at(chain: np.ndarray, x: float) -> tuple[Point, Point]:
    """Return the edge of a chain that begins at x or before, and ends behind it; its last one, or its point, twice."""
    k = min(int(np.searchsorted(chain[:, 0], x, side="right")) - 1, max(len(chain) - 2, 0))
    return exact(chain[k]), exact(chain[min(k + 1, len(chain) - 1)])


def exact(point: np.ndarray) -> Point:
    return Fraction(float(point[0])), Fraction(float(point[1]))


def height(chain: np.ndarray, x: float) -> Fraction:
    """Return y of a chain at x."""
    a, b = edge_at(chain, x)
    return a[1] if a == b else a[1] + (b[1] - a[1]) * (Fraction(x) - a[0]) / (b[0] - a[0])


def common(a: np.ndarray, b: np.ndarray) -> list[Point]:
    """Return the corners of what two convex polygons have in common, counter-clockwise from the least one."""
    lower, upper = zip(chains_of(a), chains_of(b))
    begin, end = (float(f(chain[k, 0] for chain in lower)) for f, k in ((max, 0), (min, -1)))
    if begin > end:
        return []
    pairs = (upper, lower, (upper[0], lower[1]), (lower[0], upper[1]))
    uppers, lowers, one, other = (Compared(*pair, begin, end) for pair in pairs)
    high, low = set(uppers.crossings()), set(lowers.crossings())
    for pair in (one, other):  # an upper chain and a lower one
        high |= (met := set(pair.crossings()))
        low |= met
    for found, chains, masks in (
        (high, upper, ((uppers.first <= 0) & (one.first >= 0), (uppers.second <= 0) & (other.second >= 0))),
        (low, lower, ((lowers.first >= 0) & (other.first <= 0), (lowers.second >= 0) & (one.second <= 0))),
    ):
        for chain, mask in zip(chains, masks):
            found |= {exact(corner) for corner in chain[(begin <= chain[:, 0]) & (chain[:, 0] <= end)][mask]}
    for x in {begin, end}:
        top, bottom = min(height(chain, x) for chain in upper), max(height(chain, x) for chain in lower)
        if bottom <= top:
            high.add((Fraction(x), top))
            low.add((Fraction(x), bottom))
    if high:
        low.add(min(low | high))  # it may be a corner of an upper chain that a lower chain touches
    return without_straight(list(dict.fromkeys([*sorted(low), *sorted(high, reverse=True)])))


def without_straight(points: list[Point]) -> list[Point]:
    """Leave out points on the line of their neighbours, of a convex polygon whose first point is the least one."""
    if len(points) < 3:
        return points
    kept: list[Point] = []
    for point in points:
        while len(kept) > 1 and turn_of(kept[-2], kept[-1], point) == 0:
            kept.pop()
        kept.append(point)
    while len(kept) > 2 and turn_of(kept[-2], kept[-1], kept[0]) == 0:
        kept.pop()
    return kept


def turn_of(a: Point, b: Point, c: Point) -> Fraction:
    return cross(minus(b, a), minus(c, a))


def intersection(a: np.ndarray, b: np.ndarray) -> NDArray[np.float64]:
    """Return the corners of `common`, each number correctly rounded; those that round to the same point once."""
    rounded = dict.fromkeys((float(x) + 0.0, float(y) + 0.0) for x, y in common(a, b))
    return np.array(list(rounded), np.float64).reshape(-1, 2)
