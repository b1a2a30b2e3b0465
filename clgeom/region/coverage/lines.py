"""Grid lines beside the columns of regions, and the chains of vertices from these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.core.device import Session
from clgeom.core.launch import read
from clgeom.region.arc.chains import Chains, chains_of
from clgeom.region.arc.outline_plans import OutlineOptions
from clgeom.region.coverage.masks import CANDIDATES_AT_ONCE, REAL, new_buffer, regions_at_once
from clgeom.region.coverage.runs import Runs

#: Bytes of a candidate in the largest buffer of `chains_of`.
CANDIDATE_BYTES = 16
NONE = np.iinfo(np.int32).max


@dataclass(frozen=True)
class LinesThere:
    """The grid lines of regions on a device, as points of both sides."""

    lower: Any
    upper: Any
    starts: np.ndarray

    def chains(self, session: Session, segments: int, cuts: str) -> Chains:
        """Return the chains of the regions."""
        regions, starts = len(self.starts) - 1, new_buffer(session, self.starts.astype(np.uint32))
        count = int(self.starts[-1])
        options = OutlineOptions(REAL, count, "lower", "upper", segments, "starts", regions, cuts)
        chains = chains_of(session, options, lower=self.lower, upper=self.upper, starts=starts)
        chains.vertices()
        return chains

    def read(self, session: Session) -> Lines:
        """Return the lines on the host."""
        sides = [read(session, side, REAL, 2 * int(self.starts[-1])) for side in (self.lower, self.upper)]
        (x, low), (_, high) = (side.astype(np.int64).reshape(-1, 2).T for side in sides)
        return Lines(x, low, high, self.starts)


@dataclass(frozen=True)
class Lines:
    """The grid lines of regions, region after region: at `x`, from row `low` to row `high`."""

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray
    starts: np.ndarray


def lines_of(runs: Runs, owner: np.ndarray, regions: int) -> Lines:
    """Highest and lowest corner on each grid line beside a region's columns. `owner` has the region of each run."""
    left, right = np.zeros(regions, np.int64), np.full(regions, -1)
    column = runs.column % runs.width
    # of several values for one place the last one stays: that of the last run, or backwards of the first
    left[owner[::-1]], right[owner] = column[::-1], column
    # a place for each grid line from the left of a region's first column to the right of its last one
    starts = np.append(0, np.cumsum(right - left + 2))
    shift = left - starts[:-1]
    place = column - shift[owner]
    low, high = np.full(starts[-1], NONE, np.int64), np.full(starts[-1], -1)
    low[place[::-1]], high[place] = runs.top[::-1], runs.bottom + 1
    # a line is beside the columns on both of its sides; no column is at a region's last place
    low, high = np.minimum(low, np.roll(low, 1)), np.maximum(high, np.roll(high, 1))
    x = np.arange(starts[-1]) + np.repeat(shift, np.diff(starts))
    there = high >= 0
    if there.all():
        return Lines(x, low, high, starts)
    return Lines(x[there], low[there], high[there], np.append(0, np.cumsum(there))[starts])


def outline_chains(session: Session, lines: Lines, most: int, *, cuts: str) -> list[tuple[Chains, np.ndarray]]:
    """(chains, numbers of their regions) of all regions. `most` is the largest number of segments.

    A region of no more lines, or of a width with no more, has one line in each segment: all its corners are vertices.
    """
    sizes, widths = np.diff(lines.starts), np.diff(lines.starts)
    if cuts == "width":
        there = sizes > 0
        widths[there] = lines.x[lines.starts[1:][there] - 1] - lines.x[lines.starts[:-1][there]] + 1
    is_short, made = widths <= most, []
    if is_short.any():
        short = lines if is_short.all() else lines_of_some(lines, np.flatnonzero(is_short))
        corners = np.empty((2, len(short.x), 2), REAL)
        corners[:, :, 0], corners[0, :, 1], corners[1, :, 1] = short.x, short.low, short.high
        made.append((Chains.known(corners.reshape(-1, 2), short.starts), np.flatnonzero(is_short)))
    for some in shares_of(session, np.flatnonzero(~is_short), sizes, most):
        made.append((_chains(session, lines_of_some(lines, some), most, cuts), some))
    return made


def lines_of_some(lines: Lines, regions: np.ndarray) -> Lines:
    """Return the lines of some of the regions."""
    sizes = np.diff(lines.starts)[regions]
    starts = np.append(0, np.cumsum(sizes))
    pick = np.arange(starts[-1]) + np.repeat(lines.starts[regions] - starts[:-1], sizes)
    return Lines(lines.x[pick], lines.low[pick], lines.high[pick], starts)


def shares_of(session: Session, chosen: np.ndarray, sizes: np.ndarray, segments: int) -> list[np.ndarray]:
    """Shares of the regions for one call of `chains_of` each, so that no buffer is larger than allowed."""
    if len(chosen) == 0:
        return []
    candidates = max(min(CANDIDATES_AT_ONCE, session.profile.max_alloc_bytes // CANDIDATE_BYTES) // 2, 1)
    share = np.cumsum(sizes[chosen]) // candidates  # so a share has fewer than twice as many, or one region
    share = np.maximum(share, np.arange(len(chosen)) // regions_at_once(session, segments))
    return np.split(chosen, np.flatnonzero(np.diff(share)) + 1)


def _chains(session: Session, lines: Lines, segments: int, cuts: str) -> Chains:
    """Return the chains of regions of these lines."""
    lower, upper = (
        new_buffer(session, np.stack([lines.x, rows], axis=1).astype(REAL)) for rows in (lines.low, lines.high)
    )
    return LinesThere(lower, upper, lines.starts).chains(session, segments, cuts)
