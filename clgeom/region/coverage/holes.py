"""Holes in coverage: uncovered cells that share sides, and that coverage encloses.

Their rings are exact. All corners of cells are found at once: those on one row, taken in pairs from left to right, are
the ends of horizontal edges; those in one column of vertical edges. Where two cells share only a corner, that corner
counts twice, and the rings touch there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.intake.typing import NDArray
from clgeom.region.coverage.masks import Masks
from clgeom.region.coverage.runs import Runs, label_parts


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Hole:
    """An uncovered area that coverage encloses: runs of cells that share sides.

    `mask` is the number of its mask, `region` the number of the region around it. `runs` are the runs of all coverage,
    `owner` has the region of each. Islands of other regions inside the hole are cut out with it.
    """

    column: NDArray[Any]
    top: NDArray[Any]
    bottom: NDArray[Any]
    mask: int
    region: int
    runs: Runs
    owner: NDArray[Any]

    @property
    def cells(self) -> int:
        return int((self.bottom - self.top + 1).sum())

    def rings(self) -> tuple[NDArray[Any], ...]:
        """Return the boundary in columns and rows: the outer ring, then the rings of islands of the same region."""
        outer, *inner = sorted(trace_runs(self.column, self.top, self.bottom), key=twice_area, reverse=True)
        return outer, *(ring for ring in inner if self._region_of_island(ring) == self.region)

    def _region_of_island(self, ring: NDArray[Any]) -> int:
        return int(self.owner[self.runs.find(self.mask, *right_of(ring))])


def holes_of(masks: Masks, runs: Runs, owner: NDArray[np.int64], least: float) -> dict[int, list[Hole]]:
    """Return a dictionary from regions to their holes of at least `least` cells. `owner` has the region of each run."""
    runs.leave_device()
    gaps = runs.gaps()
    roots = label_parts(masks, gaps, corners=False)
    side = gaps.column % gaps.width
    at_edge = (gaps.top == 0) | (gaps.bottom == gaps.rows - 1) | (side == 0) | (side == gaps.width - 1)
    sizes = np.bincount(roots, gaps.lengths, len(gaps))
    sizes[roots[at_edge]] = 0
    chosen = np.flatnonzero((sizes > 0) & (sizes >= least))
    # a hole's first run has its own surroundings above it: the cells left of the first column are no hole's, and touch
    above = np.searchsorted(runs.keys, gaps.keys[chosen]) - 1
    members = np.flatnonzero(np.isin(roots, chosen))
    members = members[np.argsort(roots[members], kind="stable")]
    column, top, bottom, mask = (values[members] for values in (side, gaps.top, gaps.bottom, gaps.mask))
    ends = np.searchsorted(roots[members], chosen, side="right").tolist()
    found: dict[int, list[Hole]] = {}
    for begin, end, region in zip([0, *ends], ends, owner[above].tolist()):
        own = slice(begin, end)
        hole = Hole(column[own], top[own], bottom[own], int(mask[begin]), region, runs, owner)
        found.setdefault(region, []).append(hole)
    return found


def is_strictly_inside(rings: Sequence[NDArray[Any]], at: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether positions are strictly inside a hole: neither in a covered cell nor on its boundary."""
    column, row = at.T
    inside = np.zeros(len(at), bool)
    near = np.flatnonzero(
        (column > rings[0][:, 0].min())
        & (column < rings[0][:, 0].max())
        & (row > rings[0][:, 1].min())
        & (row < rings[0][:, 1].max())
    )
    for i in near.tolist():
        inside[i] = sum(_winds(ring, *at[i].tolist()) for ring in rings) == 1
    return inside


def _winds(ring: NDArray[Any], x: float, y: float) -> int:
    """1 inside a positive ring of axis-parallel edges, -1 inside a negative one, 0 outside; 2 on the ring."""
    ends = np.roll(ring, -1, axis=0)
    low, high = np.minimum(ring, ends), np.maximum(ring, ends)
    if ((low[:, 0] <= x) & (x <= high[:, 0]) & (low[:, 1] <= y) & (y <= high[:, 1])).any():
        return 2
    upright = ring[:, 0] == ends[:, 0]
    beyond = upright & (ring[:, 0] > x) & (low[:, 1] <= y) & (y < high[:, 1])
    return int(np.sign(ends[beyond, 1] - ring[beyond, 1]).sum())


# Boundaries of cells -------------------------------------------------------------------------------------------


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
