"""Holes in coverage: uncovered cells that share sides, and that coverage encloses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.intake.typing import NDArray
from clgeom.region.coverage.contours import right_of, trace_runs, twice_area
from clgeom.region.coverage.masks import Masks
from clgeom.region.coverage.runs import Runs, connected


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
        return int(self.owner[self.runs.holding(self.mask, *right_of(ring))])


def holes_of(masks: Masks, runs: Runs, owner: NDArray[np.int64], least: float) -> dict[int, list[Hole]]:
    """Return a dictionary from regions to their holes of at least `least` cells. `owner` has the region of each run."""
    gaps = runs.between()
    roots = connected(masks, gaps, corners=False)
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
