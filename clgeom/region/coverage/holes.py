"""Holes in coverage: uncovered cells that share sides, and that coverage encloses.

Their rings are exact. All corners of cells are found at once: those on one row, taken in pairs from left to right, are
the ends of horizontal edges; those in one column of vertical edges. Where two cells share only a corner, that corner
counts twice, and the rings touch there.
"""

from __future__ import annotations

import functools
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
class Holes:
    """Uncovered areas that coverage encloses: hole h has the runs from ``ends[h - 1]`` to ``ends[h]``.

    `mask` has the number of the mask of each, `region` that of the region around it. `runs` are the runs of all
    coverage, `owner` has the region of each. Islands of other regions inside a hole are cut out with it.
    """

    column: NDArray[Any]
    top: NDArray[Any]
    bottom: NDArray[Any]
    ends: NDArray[Any]
    mask: NDArray[Any]
    region: NDArray[Any]
    runs: Runs
    owner: NDArray[Any]

    @functools.cached_property
    def rings(self) -> list[tuple[NDArray[Any], ...]]:
        """The boundary of each hole in columns and rows: the outer ring, then those of islands of the same region."""
        sizes, found = np.diff(self.ends, prepend=0), [list[NDArray[Any]]() for _ in range(len(self.ends))]
        numbers = np.repeat(np.arange(len(sizes)), sizes)
        for hole, ring in trace_runs(self.column, self.top, self.bottom, numbers):
            found[hole].append(ring)
        return [self._ordered(hole, rings) if len(rings) > 1 else tuple(rings) for hole, rings in enumerate(found)]

    def _ordered(self, hole: int, rings: list[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
        outer, *inner = sorted(rings, key=twice_area, reverse=True)
        owners = [self.owner[self.runs.find(self.mask[hole], *right_of(ring))] for ring in inner]
        return outer, *(ring for ring, owner in zip(inner, owners) if owner == self.region[hole])


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Hole:
    """One of the holes of regions."""

    holes: Holes
    number: int

    @property
    def cells(self) -> int:
        begin, end = [0, *self.holes.ends.tolist()][self.number : self.number + 2]
        return int((self.holes.bottom - self.holes.top + 1)[begin:end].sum())

    def rings(self) -> tuple[NDArray[Any], ...]:
        """Return the boundary in columns and rows: the outer ring, then the rings of islands of the same region."""
        return self.holes.rings[self.number]


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
    column, top, bottom = (values[members] for values in (side, gaps.top, gaps.bottom))
    ends = np.searchsorted(roots[members], chosen, side="right")
    holes = Holes(column, top, bottom, ends, gaps.mask[chosen], owner[above], runs, owner)
    found: dict[int, list[Hole]] = {}
    for number, region in enumerate(owner[above].tolist()):
        found.setdefault(region, []).append(Hole(holes, number))
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
    framed = np.zeros((mask.shape[1], mask.shape[0] + 2), np.int8)
    framed[:, 1:-1] = mask.T
    ends = np.diff(framed, axis=1)
    (column, top), (_, after) = np.nonzero(ends > 0), np.nonzero(ends < 0)
    return [ring for _, ring in trace_runs(column, top, after - 1, np.zeros(len(column), np.int64))]


def trace_runs(
    column: NDArray[Any], top: NDArray[Any], bottom: NDArray[Any], number: NDArray[Any]
) -> list[tuple[int, NDArray[Any]]]:
    """(number of its cells, ring) of all rings, as of `trace`, around cells in runs: `top` to `bottom` of columns.

    Runs do not touch in a column, and those of different numbers are traced each by themselves.
    """
    # each run has an edge above, with a cell below it, and one below; an edge has a corner on its left and on its right
    x, above = np.concatenate([column, column]), np.arange(2 * len(column)) < len(column)
    y, of = np.concatenate([top, bottom + 1]), np.concatenate([number, number])
    x, y, of, above = np.concatenate([x + 1, x]), np.tile(y, 2), np.tile(of, 2), np.tile(above, 2)
    starts = np.arange(len(x)) >= len(x) // 2
    order = np.lexsort((starts, x, y, of))
    x, y, of, above = x[order], y[order], of[order], above[order]
    meet = (x[1:] == x[:-1]) & (y[1:] == y[:-1]) & (of[1:] == of[:-1])
    straight = np.flatnonzero(meet & (above[1:] == above[:-1]))
    saddle = np.flatnonzero(meet & (above[1:] != above[:-1]))
    kept = np.ones(len(x), bool)
    kept[straight] = kept[straight + 1] = False
    # Left to right: corner 2k with 2k + 1. At a saddle the first copy ends the edge from the left, the second begins
    # the one to the right. Downwards: the copy whose edge bounds the cell above comes first.
    second, double = np.zeros(len(x), bool), np.zeros(len(x), bool)
    second[saddle], second[saddle + 1] = above[saddle], above[saddle]
    second[saddle + 1] ^= True
    double[saddle] = double[saddle + 1] = True
    x, y, of, above, second, double = (values[kept] for values in (x, y, of, above, second, double))
    n = len(x)
    downwards = np.lexsort((second, y, x, of))
    beside, across = np.arange(n) ^ 1, np.empty(n, np.int64)
    across[downwards[0::2]], across[downwards[1::2]] = downwards[1::2], downwards[0::2]
    left = np.arange(0, n, 2)
    tail = np.where(above[left], left, left + 1)  # so that the cell is on the left of its edge
    following = np.full(n, -1)
    following[tail] = across[beside[tail]]
    corners = np.stack([x, y], axis=1)
    after, doubles, rings = following.tolist(), double.tolist(), []
    for start in tail.tolist():
        if after[start] < 0:
            continue
        ring: list[int] = []
        at, passes_twice = start, False
        while after[at] >= 0:
            ring += (at, at ^ 1)
            passes_twice |= doubles[at] or doubles[at ^ 1]
            after[at], at = -1, after[at]
        parts = _simple(ring, corners) if passes_twice else [ring]
        rings += [(int(of[start]), corners[part]) for part in parts]
    return rings


def _simple(ring: list[int], corners: np.ndarray) -> list[list[int]]:
    """Return the simple rings of a ring of corner numbers, which is split where it passes one position twice."""
    positions = list(map(tuple, corners[ring].tolist()))
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


def right_of(ring: np.ndarray) -> tuple[int, int]:
    """Column and row of the unset cell to the right of the first edge of a ring."""
    along = np.sign(ring[1] - ring[0])
    return tuple(np.floor(ring[0] + 0.5 * along - 0.5 * np.array([-along[1], along[0]])).astype(int).tolist())
