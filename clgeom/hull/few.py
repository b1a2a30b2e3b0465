"""Hulls of few points on the host, which takes less time for them than a launch on a CPU.

points -> those not certainly inside the polygon of the outermost ones -> in order
       -> of many: a polygon through them, without corners to the right, over and over
       -> a chain on each side
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clgeom.core.call import current
from clgeom.core.tuning import is_overridden
from clgeom.hull.predicates import THETA, host_signs, orientation

if TYPE_CHECKING:
    from clgeom.core.device import Session

#: Most points, and most of them for the chains, which take 0.5 us for a point. Two cores of EPYC, here and by kernels:
#: 8192 normal points 160 and 270 us, in a disc 390 and 320, on a circle 1360 and 2200; 16384 in a disc 620 and 350.
MOST, MOST_IN_CHAIN = 8192, 128
#: From so many points on, those certainly inside are left out first, which takes 20 us.
LEAST_FILTERED = 40
#: From so many of the others on, corners to the right are left out first, all at once, which takes 15 us each time.
LEAST_IN_POLYGON = 56
#: Directions of the polygon, counter-clockwise.
DIRECTIONS = np.array([(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)], np.float64)
#: A determinant below this may have underflowed.
UNDERFLOW = 1e-307
#: Coordinates of a point and its number.
Row: TypeAlias = tuple[Any, Any, int]


def hull_of_few(session: Session, points: np.ndarray, keep_collinear: bool) -> tuple[np.ndarray, int] | None:
    """(vertices, dimension) of the hull of points of the host; None where kernels are to compute it.

    These also refuse points that are not finite.
    """
    profile, call = session.profile, current()
    if not profile.is_cpu or not 0 < len(points) <= MOST or not profile.denormals:
        return None
    if is_overridden() or (call is not None and (call.kernels_only or call.timed)):
        return None
    if points.dtype == np.float64 and not profile.fp64:
        return None
    numbers = _outer(points) if len(points) >= LEAST_FILTERED else None
    if numbers is None:
        if len(points) >= LEAST_FILTERED:
            return None
        rows = [(x, y, at) for at, (x, y) in enumerate(points.tolist())]
        if not math.isfinite(sum([x + y for x, y, _ in rows])):
            return None
    else:
        if len(numbers) >= LEAST_IN_POLYGON:
            numbers, is_hull = _polygon(points, numbers, keep_collinear)
            if is_hull:
                return numbers, 2
            if len(numbers) > MOST_IN_CHAIN:
                return None
        rows = [(x, y, at) for (x, y), at in zip(points[numbers].tolist(), numbers.tolist())]
    rows.sort()
    return _chains(rows, keep_collinear)


def _outer(points: np.ndarray) -> np.ndarray | None:
    """Return the numbers of points that are not certainly inside the hull; None where points are not finite.

    A point that lies left of all edges of a closed polygon of points is inside their hull, also if rounding took other
    points than the outermost ones.
    """
    across = points.astype(np.float64, copy=False).T
    with np.errstate(all="ignore"):
        ends = list(dict.fromkeys((DIRECTIONS @ across).argmax(1).tolist()))
        corners = points[ends].tolist()
        xs, ys = zip(*corners)
        if not math.isfinite(sum(xs) + sum(ys)):  # or so large that they are for kernels
            return None
        x_most, y_most = max(map(abs, xs)), max(map(abs, ys))
        edges, least = [], []
        for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]]):
            left, ahead = ay - by, bx - ax
            edges.append((left, ahead))
            error = 8 * THETA * (abs(left) * x_most + abs(ahead) * y_most)  # of rounding, here and below
            least.append((left * ax + ahead * ay + error + UNDERFLOW,))
        inside = (np.array(edges) @ across > np.array(least)).all(0)
    return np.flatnonzero(~inside)  # NaN, where something overflowed, tells nothing


def _polygon(points: np.ndarray, numbers: np.ndarray, keep_collinear: bool) -> tuple[np.ndarray, bool]:
    """Return the numbers of fewer points with all vertices; and whether these are the vertices, counter-clockwise.

    The polygon goes from the first point to the last one through those below, and back through those above. A point on
    the right of the line between its neighbours there is no vertex, nor is one between them.
    """
    rows = points[numbers].astype(np.float64, copy=False)
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    x, y = rows[order].T
    is_new = np.empty(len(x), bool)
    is_new[0] = True
    np.logical_or(x[1:] != x[:-1], y[1:] != y[:-1], out=is_new[1:])
    if not is_new.all():
        order, x, y = order[is_new], x[is_new], y[is_new]
    if len(x) < 3:
        return numbers, False
    with np.errstate(all="ignore"):
        turn, error = _cross(x[-1] - x[0], y[-1] - y[0], x - x[0], y - y[0])
        is_above = turn > 0
        is_above[[0, -1]] = False, True
        if (~(abs(turn) > error))[1:-1].any():
            return numbers, False
        at = np.concatenate([(~is_above).nonzero()[0], is_above.nonzero()[0][::-1]])
        while True:
            ring = np.concatenate([at[-1:], at, at[:1]])
            px, py = x[ring], y[ring]
            ux, uy = px[1:] - px[:-1], py[1:] - py[:-1]
            turn, error = _cross(ux[:-1], uy[:-1], ux[1:], uy[1:])
            is_right, former = turn < -error, len(at)
            if is_right.any():
                at = at[~is_right]
                if len(at) < LEAST_IN_POLYGON or len(at) > 0.9 * former:
                    return numbers[order[at]], False
                continue
            doubtful = (~(turn > error)).nonzero()[0]
            if 0 < len(doubtful) <= MOST_IN_CHAIN:
                corners = np.stack([px, py], axis=1)
                signs = host_signs(corners[doubtful], corners[doubtful + 1], corners[doubtful + 2])
                stays = np.ones(former, bool)
                stays[doubtful] = signs >= 0 if keep_collinear else signs > 0
                at = at[stays]
            if len(at) == former:
                return numbers[order[at]], len(doubtful) <= MOST_IN_CHAIN


def _cross(ax: Any, ay: Any, bx: np.ndarray, by: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return cross products of differences of coordinates, and bounds of their errors."""
    left, right = ax * by, ay * bx
    return left - right, THETA * abs(left + right) + UNDERFLOW


def _chains(rows: list[Row], keep_collinear: bool) -> tuple[np.ndarray, int]:
    """(vertices, dimension) of the hull of points in lexicographic order; of equal ones the first counts."""
    first, last, end = rows[0], rows[-1], len(rows) - 1
    (ax, ay, _), (bx, by, _) = first, last
    while end > 0 and rows[end - 1][0] == bx and rows[end - 1][1] == by:
        end -= 1
        last = rows[end]
    if end == 0:
        return np.array([first[2]], np.int64), 0
    below, above, on = [first], [first], [first]
    px, py = ax, ay
    for row in rows[1:end]:
        cx, cy, _ = row
        if cx == px and cy == py:
            continue
        px, py = cx, cy
        left, right = (ax - cx) * (by - cy), (ay - cy) * (bx - cx)
        side, error = left - right, THETA * abs(left + right) + UNDERFLOW
        if not (side > error or side < -error):  # also where something overflowed
            side = orientation((ax, ay), (bx, by), (cx, cy))
        (above if side > 0 else below if side < 0 else on).append(row)
    on.append(last)
    if len(below) == len(above) == 1:
        return np.array([at for _, _, at in (on if keep_collinear else (first, last))], np.int64), 1
    straight = on if keep_collinear else [first, last]
    lower = _chain([*below, last], keep_collinear) if len(below) > 1 else straight
    upper = _chain([last, *above[:0:-1], first], keep_collinear) if len(above) > 1 else straight[::-1]
    return np.array([at for _, _, at in (*lower, *upper[1:-1])], np.int64), 2


def _chain(rows: list[Row], keep_collinear: bool) -> list[Row]:
    """Return the points from the first to the last one, between which the chain turns left."""
    chain = rows[:2]
    (ax, ay, _), (bx, by, _) = chain
    for row in rows[2:]:
        cx, cy, _ = row
        while True:
            left, right = (ax - cx) * (by - cy), (ay - cy) * (bx - cx)
            turn, error = left - right, THETA * abs(left + right) + UNDERFLOW
            if turn > error:
                break
            if not turn < -error:
                turn = orientation((ax, ay), (bx, by), (cx, cy))
                if turn > 0 or (keep_collinear and turn == 0):
                    break
            chain.pop()
            bx, by = ax, ay
            if len(chain) == 1:
                break
            ax, ay, _ = chain[-2]
        chain.append(row)
        ax, ay, bx, by = bx, by, cx, cy
    return chain
