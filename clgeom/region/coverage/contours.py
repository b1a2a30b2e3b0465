"""Boundaries of cells, exactly: rings of whole numbers around areas of a mask.

The corners of all rings are found at once. Corners on one row, taken in pairs from left to right, are the ends of
horizontal edges; corners in one column are the ends of vertical edges. Where two cells share only a corner, that corner
counts twice, and the rings touch there.
"""

from __future__ import annotations

import numpy as np


def trace(mask: np.ndarray) -> list[np.ndarray]:
    """Rings around the cells of a mask that are set, with their corners in columns and rows.

    Parameters
    ----------
    mask : ndarray of bool, shape (rows, columns)

    Returns
    -------
    list of ndarray of int64, shape (m, 2)
        Not closed. Outer rings have a positive area (by the shoelace formula in column and row), rings of holes a
        negative one. No ring touches itself: cells that share only a corner are not joined there.
    """
    framed = np.pad(mask, 1)
    nw, ne, sw, se = framed[:-1, :-1], framed[:-1, 1:], framed[1:, :-1], framed[1:, 1:]
    saddle = (nw == se) & (ne == sw) & (nw != ne)
    y, x = np.nonzero(saddle | (((nw != sw) != (ne != se)) & ((nw != ne) != (sw != se))))
    double = saddle[y, x]
    y, x = np.repeat(y, 1 + double), np.repeat(x, 1 + double)
    n = len(x)
    if n == 0:
        return []
    # Left to right: corner 2k with 2k + 1. At a saddle the first copy ends the edge from the left, the second begins
    # the one to the right. Downwards: the copy whose edge bounds the cell above comes first.
    second = np.r_[False, (x[1:] == x[:-1]) & (y[1:] == y[:-1])]
    crossed = saddle[y, x] & ne[y, x]
    downwards = np.lexsort((second ^ crossed, y, x))
    beside, across = np.arange(n) ^ 1, np.empty(n, np.int64)
    across[downwards[0::2]], across[downwards[1::2]] = downwards[1::2], downwards[0::2]
    left = np.arange(0, n, 2)
    tail = np.where(se[y[left], x[left]], left, left + 1)  # so that the cell is on the left of its edge
    following = np.full(n, -1)
    following[tail] = across[beside[tail]]
    corners = np.stack([x, y], axis=1)
    after, rings = following.tolist(), []
    for start in tail.tolist():
        if after[start] < 0:
            continue
        ring: list[int] = []
        at = start
        while after[at] >= 0:
            ring += (at, at ^ 1)
            after[at], at = -1, after[at]
        rings += [corners[part] for part in _simple(ring, corners)]
    return rings


def _simple(ring: list[int], corners: np.ndarray) -> list[list[int]]:
    """Return the simple rings of a ring of corner numbers, which is split where it passes one position twice."""
    positions = list(map(tuple, corners[ring].tolist()))
    if len(set(positions)) == len(positions):
        return [ring]
    parts: list[list[int]] = []
    path: list[tuple[int, tuple[int, int]]] = []
    seen: dict[tuple[int, int], int] = {}
    for number, position in zip(ring, positions):
        if position in seen:
            at = seen[position]
            parts.append([other for other, _ in path[at:]])
            for _, left in path[at:]:
                del seen[left]
            del path[at:]
        seen[position] = len(path)
        path.append((number, position))
    return [*parts, [number for number, _ in path]]


def twice_area(ring: np.ndarray) -> int:
    """Twice the area of a ring of whole numbers, by the shoelace formula."""
    x, y = ring.T
    return int((x * np.roll(y, -1) - np.roll(x, -1) * y).sum())


def trace_runs(column: np.ndarray, top: np.ndarray, bottom: np.ndarray) -> list[np.ndarray]:
    """`trace` of the cells in runs: rows `top` to `bottom` of each column."""
    first_column, first_row = int(column.min()), int(top.min())
    shape = int(bottom.max()) - first_row + 2, int(column.max()) - first_column + 1
    steps = np.zeros(shape, np.int8)  # a run begins with +1 and ends with -1; no two runs begin in one cell
    np.add.at(steps, (top - first_row, column - first_column), 1)
    np.add.at(steps, (bottom + 1 - first_row, column - first_column), -1)
    mask = np.cumsum(steps, axis=0, dtype=np.int8)[:-1].astype(bool)
    return [ring + (first_column, first_row) for ring in trace(mask)]


def right_of(ring: np.ndarray) -> tuple[int, int]:
    """Column and row of the unset cell to the right of the first edge of a ring."""
    along = np.sign(ring[1] - ring[0])
    return tuple(np.floor(ring[0] + 0.5 * along - 0.5 * np.array([-along[1], along[0]])).astype(int).tolist())
