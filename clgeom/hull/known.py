"""Trials of a device with known answers (clgeom.core.trust): hulls.

The points are on two parabolas, one upside down above the other, which are all vertices, and within them. All
coordinates are whole numbers below 2**24: exact in every type.
"""

from __future__ import annotations

import numpy as np

from clgeom.hull.batch.hulls import convex_hulls
from clgeom.hull.convex import convex_hull
from clgeom.hull.heaphull import heaphull_filter


def two_parabolas(m, inside, dtype):
    """4 m + 2 vertices and points inside them, twice and in disorder; the indices of the vertices in order."""
    x = np.arange(-m, m + 1)
    height = 2 * m * m + 100
    lower, upper = np.stack([x, x * x], axis=1), np.stack([x, height - x * x], axis=1)[::-1]
    k = np.arange(inside)
    within = np.stack([k * 7 % m - m // 2, m * m + 1 + k * 31 % 98], axis=1)
    points = np.concatenate([lower, upper, within, lower[::3], within[::2]])
    order = np.arange(len(points)) * 7919 % len(points)
    if len(set(order.tolist())) < len(points):  # no permutation: a multiple of 7919
        order = np.arange(len(points))[::-1]
    shuffled = points[order]
    place = np.full(len(points), len(points))
    place[order] = np.arange(len(points))
    first = place[: 4 * m + 2].copy()
    again = place[4 * m + 2 + inside :][: len(lower[::3])]
    first[: 2 * m + 1 : 3] = np.minimum(first[: 2 * m + 1 : 3], again)  # of equal points the lowest index
    return shuffled.astype(dtype), first


def _right(session, points, vertices, **options):
    hull = convex_hull(points, device=session, **options)
    found = np.array_equal(hull.vertices, vertices) and np.array_equal(hull.points, points[vertices])
    return hull.dimension == 2 and found


def few_points(session, dtype) -> bool:
    """Hulls of so few points that one launch makes them."""
    return all(_right(session, *two_parabolas(m, 100, dtype)) for m in (2, 100))


def sieve(session, dtype) -> bool:
    """A hull of many points, most of them inside."""
    return _right(session, *two_parabolas(10, 8_000, dtype))


def hoods(session, dtype) -> bool:
    """A hull of many points, most of them vertices, by sorting and merging."""
    return _right(session, *two_parabolas(700, 200, dtype), filter="none")


def octagon(session, dtype) -> bool:
    """What the filter leaves: the quadrants of vertices, and points inside."""
    points, vertices = two_parabolas(300, 5_000, dtype)
    labels = heaphull_filter(points, device=session).labels
    corners = points[vertices].astype(np.float64)
    x, y = corners[:, 0], corners[:, 1] - 90_050
    quadrant = np.select([(x > 0) & (y > 0), (x < 0) & (y > 0), (x < 0) & (y < 0), (x > 0) & (y < 0)], [1, 2, 3, 4], 0)
    within = np.abs(points[:, 1].astype(np.float64) - 90_050) < 50
    asked = (np.abs(x) > 1) & (np.abs(x) < 300)  # not the corners of the octagon
    return np.array_equal(labels[vertices][asked], quadrant[asked]) and not labels[within].any()


def batches(session, dtype) -> bool:
    """Hulls of groups of all sizes, in one call."""
    groups = [two_parabolas(m, inside, dtype) for m, inside in ((2, 5), (40, 0), (9, 2_000), (300, 3), (3, 3))]
    sizes = [len(points) for points, _ in groups]
    offsets = np.append(0, np.cumsum(sizes))
    found = convex_hulls(np.concatenate([points for points, _ in groups]), offsets, device=session)
    expected = [offset + vertices for offset, (_, vertices) in zip(offsets, groups)]
    return np.array_equal(found.vertices, np.concatenate(expected)) and np.array_equal(
        np.diff(found.offsets), [len(vertices) for vertices in expected]
    )
