"""Holes of coverage: areas without it that it encloses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clgeom.region.coverage.contours import right_of, trace_runs, twice_area
from clgeom.region.coverage.job import Job
from clgeom.region.coverage.runs import Runs, connected


@dataclass(frozen=True, eq=False)
class Hole:
    """An area without coverage that coverage encloses: runs of cells that touch with their sides.

    `mask` is the number of its mask and `region` that of the region around it. Islands in it that are of other regions
    are cut out with it. `runs` are those of all coverage, `owner` their regions.
    """

    column: np.ndarray
    top: np.ndarray
    bottom: np.ndarray
    mask: int
    region: int
    runs: Runs
    owner: np.ndarray

    @property
    def cells(self) -> int:
        return int((self.bottom - self.top + 1).sum())

    def rings(self) -> tuple[np.ndarray, ...]:
        """Its boundary in columns and rows: the outer ring, then those of islands that are of its region, too."""
        outer, *inner = sorted(trace_runs(self.column, self.top, self.bottom), key=twice_area, reverse=True)
        return outer, *(ring for ring in inner if self._region_of_island(ring) == self.region)

    def _region_of_island(self, ring) -> int:
        return int(self.owner[self.runs.holding(self.mask, *right_of(ring))])


def holes_of(job: Job, runs: Runs, owner, least) -> dict[int, list[Hole]]:
    """Region number -> its holes of at least `least` cells. `owner` are the regions of the runs."""
    gaps = runs.between()
    roots = connected(job, gaps, corners=False)
    side = gaps.column % gaps.width
    at_edge = (gaps.top == 0) | (gaps.bottom == gaps.rows - 1) | (side == 0) | (side == gaps.width - 1)
    sizes = np.bincount(roots, gaps.lengths, len(gaps))
    sizes[roots[at_edge]] = 0
    chosen = np.flatnonzero((sizes > 0) & (sizes >= least))
    # a hole's first run has its own surroundings above it: the cells left of the first column are no hole's, and touch
    above = np.searchsorted(runs.keys, gaps.keys[chosen]) - 1
    members = np.flatnonzero(np.isin(roots, chosen))
    members = members[np.argsort(roots[members], kind="stable")]
    column, top, bottom, mask = (of[members] for of in (side, gaps.top, gaps.bottom, gaps.mask))
    ends = np.searchsorted(roots[members], chosen, side="right").tolist()
    found: dict[int, list[Hole]] = {}
    for begin, end, region in zip([0, *ends], ends, owner[above].tolist()):
        own = slice(begin, end)
        hole = Hole(column[own], top[own], bottom[own], int(mask[begin]), region, runs, owner)
        found.setdefault(region, []).append(hole)
    return found
