"""Adaptive regions as they are defined, over exact fractions: cuts, chains, and what holds of them."""

from fractions import Fraction
from math import floor

import numpy as np


def exact(points) -> list:
    return [(Fraction(x), Fraction(y)) for x, y in np.asarray(points).tolist()]


def cuts(points, segments, *, by="count") -> list[int]:
    """The first number of each segment, and the number of points, for points in lexicographic order.

    Widths are compared as fractions, but distances from the first x are rounded to the points' type.
    """
    points = np.asarray(points)
    xs, n = points[:, 0].tolist(), len(points)
    if points.dtype.kind == "i":
        gaps = points[:, 0].astype(object) - xs[0]
    else:  # on another scale where they would overflow
        scaled = points[:, 0] * points.dtype.type(0.25 if np.abs(points[:, 0]).max() > 1 else 1)
        gaps = scaled - scaled[0]
    distances = [Fraction(d) for d in gaps.tolist()] if by == "width" else []
    found = []
    for k in range(segments):
        if by == "count":
            found.append(xs.index(xs[k * n // segments]))
        else:
            found.append(next((i for i in range(n) if k == 0 or distances[i] * segments >= k * distances[-1]), n))
    return [*found, n]


def det(a, b, c):
    return (a[0] - c[0]) * (b[1] - c[1]) - (a[1] - c[1]) * (b[0] - c[0])


def hull_side(points, side) -> list:
    """The lower (side 1) or upper (side -1) hull of exact points as a function of x."""
    chain = []
    best = {}
    for x, y in points:
        best[x] = min(best.get(x, side * y), side * y)
    for p in sorted((x, side * y) for x, y in best.items()):
        while len(chain) >= 2 and side * det(chain[-2], chain[-1], p) <= 0:
            chain.pop()
        chain.append(p)
    return chain


def at(chain, x):
    """The height of a chain at x; None outside of it."""
    if not chain or not chain[0][0] <= x <= chain[-1][0]:
        return None
    for a, b in zip(chain, chain[1:]):
        if a[0] <= x <= b[0]:
            return a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0])
    return chain[0][1]


def groups_of(points, segments, *, by="count") -> list[list]:
    """The segments that are not empty, as exact points, of points in lexicographic order."""
    cut, points = cuts(points, segments, by=by), exact(points)
    return [points[a:b] for a, b in zip(cut, cut[1:]) if a < b]


def chain(groups, side) -> list:
    """The exact envelope of the hulls of neighbouring groups."""
    pairs = [a + b for a, b in zip(groups, groups[1:])] or groups
    hulls = [hull_side(pair, side) for pair in pairs]
    if len(hulls) <= 1:
        return hulls[0] if hulls else []
    xs = {v[0] for hull in hulls for v in hull}
    for a, b in zip(hulls, hulls[1:]):
        for p, q in zip(a, a[1:]):
            for r, s in zip(b, b[1:]):
                lo, hi = max(p[0], r[0]), min(q[0], s[0])
                if lo < hi:
                    slope_a, slope_b = (q[1] - p[1]) / (q[0] - p[0]), (s[1] - r[1]) / (s[0] - r[0])
                    if slope_a != slope_b:
                        x = ((r[1] - slope_b * r[0]) - (p[1] - slope_a * p[0])) / (slope_a - slope_b)
                        if lo <= x <= hi:
                            xs.add(x)
    best = min if side == 1 else max
    corners = []
    for x in sorted(xs):
        y = best(v for v in (at(hull, x) for hull in hulls) if v is not None)
        while len(corners) >= 2 and det(corners[-2], corners[-1], (x, y)) == 0:
            corners.pop()
        corners.append((x, y))
    return corners


def area(lower, upper) -> Fraction:
    ring = [*lower, *upper[::-1]]
    return sum(p[0] * q[1] - p[1] * q[0] for p, q in zip(ring, ring[1:] + ring[:1])) / 2


def neighbour(value, dtype, direction):
    """The largest value of a type that is at most `value` (direction -1), or the least that is at least it (1)."""
    dtype = np.dtype(dtype)
    if dtype.kind == "i":
        return Fraction(floor(value) if direction < 0 else -floor(-value))
    near = dtype.type(float(value))
    while Fraction(float(near)) * direction < value * direction:
        near = np.nextafter(near, dtype.type(direction * np.inf))
    while Fraction(float(np.nextafter(near, dtype.type(-direction * np.inf)))) * direction >= value * direction:
        near = np.nextafter(near, dtype.type(-direction * np.inf))
    return Fraction(float(near))
