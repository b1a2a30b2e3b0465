"""Exact hulls: a monotone chain over integers for small sets, a certificate for large ones; heaphull's labels."""

import math
from fractions import Fraction

import numpy as np

from reference.orient import scaled_integers, signs_fast
from reference.primitives import extremes


def convex_hull(points, *, collinear="drop") -> list[int]:
    """Indices of the hull's vertices, counter-clockwise from the lexicographically smallest point.

    Of equal points the lowest index counts. With collinear="keep" every distinct point on the boundary is a
    vertex. Points on one line give the two ends (drop) or all distinct points along the line (keep).
    """
    points = np.asarray(points)
    first = {}
    for i, (x, y) in enumerate(scaled_integers(points) if len(points) else []):
        first.setdefault((x, y), i)
    ordered = sorted(first)
    keep = collinear == "keep"
    if len(ordered) <= 2:
        return [first[p] for p in ordered]
    lower, upper = _chain(ordered, keep), _chain(ordered[::-1], keep)
    if len(lower) == len(upper) == len(ordered) and lower == upper[::-1]:  # all on one line, all kept
        return [first[p] for p in ordered]
    return [first[p] for p in lower[:-1] + upper[:-1]]


def _chain(ordered, keep):
    chain = []
    for p in ordered:
        while len(chain) >= 2:
            turn = _det(chain[-2], chain[-1], p)
            if turn > 0 or (keep and turn == 0):
                break
            chain.pop()
        chain.append(p)
    return chain


def _det(a, b, c):
    return (a[0] - c[0]) * (b[1] - c[1]) - (a[1] - c[1]) * (b[0] - c[0])


def dimension(points) -> int:
    """-1 for no points, 0 when all are equal, 1 when all are on a line, else 2."""
    return min(len(convex_hull(points)), 3) - 1


def area(points, vertices) -> Fraction:
    """Exact area of the polygon of these vertices."""
    corners = [tuple(Fraction(v) for v in p) for p in np.asarray(points)[np.asarray(vertices, dtype=int)].tolist()]
    twice = sum(p[0] * q[1] - p[1] * q[0] for p, q in zip(corners, corners[1:] + corners[:1]))
    return twice / 2


def perimeter(corners) -> Fraction:
    """Perimeter of the polygon, within 2**-2100 of itself. A segment counts twice."""
    corners = [tuple(map(Fraction, corner)) for corner in corners]
    total = Fraction(0)
    for (x, y), (u, v) in zip(corners, corners[1:] + corners[:1]):
        square = (u - x) ** 2 + (v - y) ** 2
        n, d = square.numerator, square.denominator
        total += Fraction(math.isqrt(n * d << 4400), d << 2200)
    return total


def contains(points, vertices, queries) -> np.ndarray:
    """Whether each query is in the closed hull of these counter-clockwise vertices, exactly."""
    corners = np.asarray(points)[np.asarray(vertices, dtype=int)]
    h, q = len(corners), len(queries)
    both = scaled_integers(np.concatenate([corners, np.asarray(queries, dtype=corners.dtype)]).reshape(-1, 2))
    corners, queries = both[:h], both[h:]
    if h == 0:
        return np.zeros(q, bool)
    if h == 1:
        return np.array([p == corners[0] for p in queries], bool)
    if h == 2:
        a, b = corners
        return np.array([_det(a, b, p) == 0 and a <= p <= b for p in queries], bool)
    edges = list(zip(corners, corners[1:] + corners[:1]))
    return np.array([all(_det(a, b, p) >= 0 for a, b in edges) for p in queries], bool)


def certify(points, vertices, *, collinear="drop") -> None:
    """Assert that these indices are *the* hull of many points: the one sequence that all the conditions allow.

    The vertices form a lexicographically increasing chain to the largest point and a decreasing one back, turning
    left (or straight, when kept) everywhere; every point is left of, or on, the edge below and above it; with
    "keep" a point on an edge is at a vertex; and each vertex has the lowest index at its position.
    """
    points, vertices = np.asarray(points), np.asarray(vertices)
    n, h = len(points), len(vertices)
    assert n >= 1 and h >= 1 and len(set(vertices.tolist())) == h
    order = np.lexsort((points[:, 1], points[:, 0]))
    ordered = points[order]
    new = np.ones(n, bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    position = np.empty(n, np.int64)  # rank of a point's position among distinct positions
    position[order] = np.cumsum(new) - 1
    lowest = order[new]  # lexsort is stable: the lowest index of each position
    ranks = position[vertices]
    assert (lowest[ranks] == vertices).all(), "a vertex has a twin of lower index"
    last = len(lowest) - 1
    assert ranks[0] == 0, "does not start at the lexicographically smallest point"
    turn = int(np.argmax(ranks))
    assert ranks[turn] == last, "the lexicographically largest point is not a vertex"
    if h <= 2:
        assert h == min(last + 1, 2)
        if h == 2:
            a, b = points[vertices]
            assert not signs_fast(*np.broadcast_arrays(a, b, points)).any(), "two vertices, but not all on a line"
            assert collinear == "drop" or last == 1
        return
    lower, upper = vertices[: turn + 1], np.append(vertices[turn:], vertices[0])
    allowed = (0, 1) if collinear == "keep" else (1,)
    before, after = np.roll(vertices, 1), np.roll(vertices, -1)
    turns = signs_fast(points[before], points[vertices], points[after])
    if turns.any() or collinear == "drop":  # else all are kept on one line, which the two chains below confirm
        assert np.isin(turns, allowed).all(), "not convex"
        assert (turns == 1).sum() >= 3, "no area"
    kept = np.zeros(last + 1, bool)
    kept[ranks] = True
    for chain in (lower, upper[::-1]):
        at = position[chain]
        assert (np.diff(at) > 0).all(), "a chain is not monotone"
        edge = np.clip(np.searchsorted(at, position, side="right") - 1, 0, len(chain) - 2)
        side = signs_fast(points[chain[edge]], points[chain[edge + 1]], points)
        outside = side < 0 if chain is lower else side > 0
        assert not outside.any(), f"point {np.flatnonzero(outside)[:1]} is outside"
        if collinear == "keep":
            assert kept[position[side == 0]].all(), "a point on the boundary is missing"


# The heaphull filter --------------------------------------------------------------------------------------------


def octagon(points) -> list[int]:
    """The exact hull of the extreme points in eight directions, by index, from the lexicographically smallest."""
    found = sorted(set(extremes(points, ((1, 0), (0, 1), (1, 1), (-1, 1)))))
    return [found[k] for k in convex_hull(np.asarray(points)[found])]


def heaphull_labels(points) -> np.ndarray:
    """0 strictly inside the octagon, else the first quadrant with an edge that the point is not strictly left of."""
    points = np.asarray(points)
    corners = octagon(points)
    labels = np.full(len(points), 5, np.uint8)
    for a, b in zip(corners, corners[1:] + corners[:1]):
        q = quadrant(points[a].tolist(), points[b].tolist())
        outside = signs_fast(*np.broadcast_arrays(points[a], points[b], points)) <= 0
        labels[outside & (labels > q)] = q
    labels[labels == 5] = 0
    return labels


def quadrant(a, b) -> int:
    """1 up and left (or straight up), 2 left and down (or left), 3 down and right (or down), 4 right and up."""
    (ax, ay), (bx, by) = a, b
    if by > ay and bx <= ax:
        return 1
    if by <= ay and bx < ax:
        return 2
    if by < ay and bx >= ax:
        return 3
    return 4 if bx > ax else 1
