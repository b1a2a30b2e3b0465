"""Heaphull in plain NumPy and Python, one point after another where NumPy has no function: octagon, queues, chains.

It computes in float64, as its source does in floating point, and is the sequential program that clgeom's times of the
published tables are compared with. Its chains are loops of Python: times of many queued points say little.
"""

from __future__ import annotations

import numpy as np

#: Most points in queues for which it is timed.
MOST_QUEUED = 2_000_000


def extremes_of(points) -> list[int]:
    """The lowest indices of the points with the largest and the smallest x, y, x + y and y - x."""
    x, y = points.T
    return [int(find(key)) for key in (x, y, x + y, y - x) for find in (np.argmax, np.argmin)]


def queues_of(points) -> list[np.ndarray]:
    """The indices of the points that are not strictly inside the octagon, in queues by the quarter of its edges."""
    east, west, north, south, northeast, southwest, northwest, southeast = extremes_of(points)
    corners = list(dict.fromkeys((east, northeast, north, northwest, west, southwest, south, southeast)))
    x, y = points.T
    # the box between the diagonal corners is in the octagon
    inside = (x > max(x[northwest], x[southwest])) & (x < min(x[northeast], x[southeast]))
    inside &= (y > max(y[southwest], y[southeast])) & (y < min(y[northeast], y[northwest]))
    rest = np.flatnonzero(~inside)
    x, y = points[rest].T.astype(np.float64)
    octagon = points[corners].astype(np.float64)
    queue_of = np.zeros(len(rest), np.uint8)
    for a, b in zip(octagon, np.roll(octagon, -1, axis=0)):
        dx, dy = b - a
        quarter = 1 if dy > 0 and dx <= 0 else 2 if dx < 0 else 3 if dy < 0 else 4
        queue_of[(dx * (y - a[1]) - dy * (x - a[0]) <= 0) & (queue_of == 0)] = quarter
    return [rest[queue_of == quarter] for quarter in (1, 2, 3, 4)]


def heaphull(points) -> np.ndarray:
    """The vertices of the hull, counter-clockwise: a chain for each queue, end to end."""
    queues = queues_of(points)
    queued = np.concatenate(queues)
    keys = _keys(points[queued])
    # of the points that are farthest in a direction, counter-clockwise: the first and the last
    firsts = [queued[np.lexsort((keys[side - 1], keys[side]))[-1]] for side in range(4)]
    lasts = [queued[np.lexsort((keys[(side + 1) % 4], keys[side]))[-1]] for side in range(4)]
    chains = [_chain(points, queues[q], firsts[q], lasts[q], firsts[(q + 1) % 4], q) for q in range(4)]
    return np.concatenate(chains)


def _keys(places) -> list[np.ndarray]:
    """How far points are to the east, north, west and south."""
    x, y = places.T.astype(np.float64)
    return [x, y, -x, -y]


def _chain(points, queue, first, last, after, quarter) -> np.ndarray:
    """The vertices from `first` to before `after`, of which `last` is one: a scan of the queue in order."""
    ids = np.concatenate([queue, [first, last, after]])
    keys = _keys(points[ids])
    back, forth = keys[quarter], keys[(quarter + 1) % 4]
    between = np.flatnonzero((forth >= forth[-3]) & (back >= back[-1]))
    order = between[np.lexsort((-back[between], forth[between]))]
    x, y = points[ids[order]].T.astype(np.float64).tolist()
    stack: list[int] = []
    for k in range(len(order)):
        while len(stack) > 1:
            a, b = stack[-2], stack[-1]
            if (x[b] - x[a]) * (y[k] - y[a]) - (y[b] - y[a]) * (x[k] - x[a]) > 0:
                break
            stack.pop()
        if not stack or (x[stack[-1]], y[stack[-1]]) != (x[k], y[k]):
            stack.append(k)
    return ids[order[stack[:-1]]]
