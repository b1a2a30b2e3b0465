"""Exact geometry of a lower and an upper chain: what lies between them, and chains of fewer vertices beyond them."""

from __future__ import annotations

import contextlib
import heapq
import math
import sys
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from clgeom.core.device import Session
from clgeom.errors import DeviceLimit
from clgeom.hull.batch.membership import contains
from clgeom.hull.predicates import host_signs, orient2d, orientation
from clgeom.intake.arrays import rows_at
from clgeom.intake.typing import NDArray

#: Coordinates, shape (n, 2).
Points: TypeAlias = NDArray[Any]
#: Most triples of points whose orientation the host computes.
FEW_TRIPLES = 1024


def signs(a: Points, b: Points, c: Points, session: Session | None) -> NDArray[np.int8]:
    """Return the exact signs of `orient2d`: of many triples on the device, else on the host."""
    if len(a) > FEW_TRIPLES:
        with contextlib.suppress(DeviceLimit):
            found: NDArray[np.int8] = orient2d(a, b, c, device=session)
            return found
    return host_signs(*(np.asarray(points, np.float64) for points in (a, b, c)))


def sides_of(chain: Points, points: Points, session: Session | None) -> NDArray[np.int8]:
    """Return whether points in a chain's range of x are above it (1), on it (0) or below it (-1)."""
    if len(chain) == 1:
        return np.asarray(np.sign(points[:, 1].astype(object) - chain[0, 1].item()), np.int8)
    edge = np.clip(np.searchsorted(chain[:, 0], points[:, 0], side="right") - 1, 0, len(chain) - 2)
    return signs(rows_at(chain, edge), rows_at(chain, edge + 1), points, session)


def is_between(points: Points, lower: Points, upper: Points, session: Session | None) -> NDArray[np.bool_]:
    """Return whether points are between two chains, or on them."""
    meet = len(lower) > 0 and bool((lower[-1] == upper[-1]).all())
    ring = np.concatenate([lower, upper[::-1][int(meet) :]])
    return contains(session, ring, np.array([0, len(ring)]), points, None)


def parts_between(lower: Points, upper: Points, session: Session | None) -> list[Points]:
    """Polygons, segments and points between the chains, from left to right."""
    if len(lower) == 0:
        return []
    touching = np.concatenate(
        [upper[sides_of(lower, upper, session) == 0], lower[sides_of(upper, lower, session) == 0]]
    )
    touching = touching[np.unique(touching[:, 0], return_index=True)[1]]
    if len(lower) == 1:
        return [touching if len(touching) else np.concatenate([lower, upper])]
    stops = touching[:, 0]
    ends = [lower[0, 0], *stops[(stops > lower[0, 0]) & (stops < lower[-1, 0])], lower[-1, 0]]
    meets = dict(zip(stops.tolist(), touching))
    inner = [(np.searchsorted(c[:, 0], ends, "left"), np.searchsorted(c[:, 0], ends, "right")) for c in (lower, upper)]
    parts = []
    for k, (left, right) in enumerate(zip(ends, ends[1:])):
        bottom, top = (c[after[k] : before[k + 1]] for c, (before, after) in zip((lower, upper), inner))
        first, last = meets.get(left.item()), meets.get(right.item())
        start = [first] if first is not None else [lower[0], upper[0]]
        stop = [last] if last is not None else [lower[-1], upper[-1]]
        if not len(bottom) and not len(top) and first is not None and last is not None:
            parts.append(np.stack([first, last]))
            continue
        parts.append(np.concatenate([start[:1], bottom, stop, top[::-1], np.reshape(start[1:], (-1, 2))]))
    return parts


def simplify_chain(chain: Points, side: int, tolerance: float) -> Points:
    """Return a chain without vertices that lie slightly below the line through their neighbours (above it for side -1).

    The vertex with the least cost is removed first. Its cost is the largest distance along y between the line and the
    original vertices that it passes.
    """
    if len(chain) < 3:
        return chain
    points = chain.tolist()
    before, after = list(range(-1, len(points) - 1)), list(range(1, len(points) + 1))
    xy = chain.astype(np.float64)
    scale = 0.25 if np.abs(xy).max() > 2.0**1000 else 1.0  # so that differences do not overflow
    xy = xy * scale
    tolerance = min(tolerance, sys.float_info.max)  # inf: never removed

    def cost(k: int) -> float:
        i, j = before[k], after[k]
        if i < 0 or j == len(points) or orientation(points[i], points[j], points[k]) * side > 0:
            return math.inf
        (x, y), (dx, dy) = (xy[i + 1 : j] - xy[i]).T, xy[j] - xy[i]
        if dx > 1e-290:
            far = float(np.abs(x / dx * dy - y).max()) / scale
            rounding = 1e-15 * float(np.abs(y).max() + abs(dy)) / scale + sys.float_info.min
            if not abs(far - tolerance) <= rounding:
                return far
        exact = _farthest(points[i : j + 1])
        return math.inf if exact > tolerance else min(float(exact), tolerance)

    costs = [cost(k) for k in range(len(points))]
    queue = [(c, k) for k, c in enumerate(costs) if c <= tolerance]
    heapq.heapify(queue)
    while queue:
        c, k = heapq.heappop(queue)
        if c != costs[k]:
            continue
        i, j = before[k], after[k]
        after[i], before[j], costs[k] = j, i, -1.0
        for neighbour in (i, j):
            costs[neighbour] = cost(neighbour)
            if costs[neighbour] <= tolerance:
                heapq.heappush(queue, (costs[neighbour], neighbour))
    return chain[[k for k, c in enumerate(costs) if c != -1.0]]


def _farthest(points: list[list[Any]]) -> Fraction:
    """Return the largest distance along y of points from the line between the first and the last, exactly."""
    (x0, y0), *inner, (x1, y1) = [(Fraction(x), Fraction(y)) for x, y in points]
    slope = (y1 - y0) / (x1 - x0)
    return max(abs(y0 + (x - x0) * slope - y) for x, y in inner)
