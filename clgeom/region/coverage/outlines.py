"""From runs of cells to chains: the corners on each grid line of a region, and regions of like size in one call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clgeom.region.arc.chains import Chains
from clgeom.region.coverage.job import REAL, Job
from clgeom.region.coverage.runs import Runs

#: Candidates and segments of one call of `chains_of`, so that its memory stays modest.
CANDIDATES_AT_ONCE, SEGMENTS_AT_ONCE = 1 << 24, 1 << 22
#: Bytes that a candidate and a segment take of the largest buffers there.
CANDIDATE_BYTES, SEGMENT_BYTES = 16, 32
#: Regions of up to so many candidates share a call: where each candidate is a segment, more segments change nothing.
SIZE_CLASSES = (4, 16, 64, 256)
NONE = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Group:
    """Regions whose chains were made together: region i of `chains` is of `maps`[i], `levels`[i] and `parts`[i]."""

    chains: Chains
    maps: np.ndarray
    levels: np.ndarray
    parts: np.ndarray
    cells: np.ndarray | None = None
    holes: dict | None = None
    across: list | None = None  # for axis="both": (chains, region number) of each region's segments of rows


@dataclass(frozen=True)
class Lines:
    """The grid lines of regions, region after region: at `x`, covered rows from `low` to `high`."""

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray
    starts: np.ndarray


def lines_of(runs: Runs, owner, regions) -> Lines:
    """Highest and lowest corner on each grid line beside the columns of a region; `owner` are the runs' regions."""
    order = np.argsort(owner, kind="stable")  # by region, column, row
    region, column = owner[order], runs.column[order]
    if len(order) == 0:
        return Lines(*(np.empty(0, np.int64) for _ in range(3)), np.zeros(regions + 1, np.int64))
    fresh = np.r_[True, (region[1:] != region[:-1]) | (column[1:] != column[:-1])]
    begin = np.flatnonzero(fresh)
    end = np.r_[begin[1:], len(order)] - 1
    region, column = region[begin], column[begin] % runs.width
    first, after = runs.top[order[begin]], runs.bottom[order[end]] + 1
    # a column has a line on its left; one on its right, too, unless that is the left line of the region's next column
    alone = np.r_[(region[1:] != region[:-1]) | (column[1:] != column[:-1] + 1), True]
    left = np.arange(len(column)) + np.r_[0, np.cumsum(alone)[:-1]]
    total = len(column) + int(alone.sum())
    x, low, high, whose = (np.empty(total, np.int64) for _ in range(4))
    low[:], high[:] = NONE, -1
    x[left], x[left + 1] = column, column + 1
    whose[left] = whose[left + 1] = region
    low[left], high[left] = first, after
    low[left + 1] = np.minimum(low[left + 1], first)
    high[left + 1] = np.maximum(high[left + 1], after)
    return Lines(x, low, high, np.searchsorted(whose, np.arange(regions + 1)))


def outlines(job: Job, lines: Lines) -> list[tuple[Chains, np.ndarray]]:
    """(chains, numbers of their regions) of all regions, those of like size in one call."""
    sizes = np.diff(lines.starts)
    classes = [c for c in SIZE_CLASSES if c < job.segments] if job.cuts == "count" else []
    made = []
    for low, high in zip([-1, *classes], [*classes, NONE]):
        segments = min(job.segments, high)
        chosen = np.flatnonzero((sizes > low) & (sizes <= high))
        room = job.session.profile.max_alloc_bytes
        made += [(_chains(job, lines, some, segments), some) for some in _shares(chosen, sizes, segments, room)]
    return made


def _shares(chosen, sizes, segments, room):
    """Regions in shares that one call of `chains_of` takes, with no buffer of more than `room` bytes."""
    if len(chosen) == 0:
        return
    candidates = max(min(CANDIDATES_AT_ONCE, room // CANDIDATE_BYTES) // 2, 1)
    share = np.cumsum(sizes[chosen]) // candidates  # so a share has fewer than two of these, or one region
    share = np.maximum(share, np.arange(len(chosen)) // regions_at_once(segments, room))
    yield from np.split(chosen, np.flatnonzero(np.diff(share)) + 1)


def regions_at_once(segments, room) -> int:
    """How many regions of so many segments one call of `chains_of` takes."""
    return max(min(SEGMENTS_AT_ONCE, room // SEGMENT_BYTES) // segments, 1)


def _chains(job, lines, regions, segments):
    """The chains of some regions."""
    sizes = np.diff(lines.starts)[regions]
    starts = np.r_[0, np.cumsum(sizes)]
    pick = np.arange(starts[-1]) + np.repeat(lines.starts[regions] - starts[:-1], sizes)
    lower, upper = (
        job.written(np.stack([lines.x[pick], rows[pick]], axis=1).astype(REAL)) for rows in (lines.low, lines.high)
    )
    return job.chains(
        len(pick), segments, regions=len(regions),
        lower="coverage_lower", upper="coverage_upper", starts="coverage_starts",
        coverage_lower=lower, coverage_upper=upper, coverage_starts=job.written(starts.astype(np.uint32)),
    )  # fmt: skip
