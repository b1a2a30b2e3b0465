"""The best calipers of many convex polygons: by a kernel, and in integers where it is not sure.

A polygon is a job, or if it is large, its edges are cut into several. Of these jobs, those whose measures may be the
best are compared in integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.tuning import select
from clgeom.hull.calipers import Caliper, Corners, Purpose, best_caliper, numbers_of
from clgeom.hull.circles import MANY, circle_numbers, least_circle
from clgeom.hull.contenders import contenders
from clgeom.hull.predicates import predicate_parameters
from clgeom.intake.arrays import POINT_TYPES, c_name, chunk_bounds, to_device

if TYPE_CHECKING:
    from clgeom.core.device import Session

CALIPERS = "hull/batch/batch_calipers"
#: Purposes in the order of the kernel, and how many numbers a caliper has.
NUMBERS: dict[Purpose, int] = {"width": 1, "area": 12, "perimeter": 12, "diameter": 1, "circle": 3}
#: So few corners are measured on the host.
FEW = 24
#: Edges of a job of a polygon that is too large for one job, or that is the only one.
PIECE = 64
#: Bits in the number of an edge: it may be another one; numbers are not known.
UNSURE_BEST, UNSURE_NUMBERS = np.uint32(1 << 31), np.uint32(1 << 30)


class Found(NamedTuple):
    """The best caliper of each polygon as a row, and its numbers; 0 for polygons of up to one corner.

    Of a circle, the row has its corners, and -1 where there is no third one.
    """

    calipers: np.ndarray
    numbers: np.ndarray


def best_calipers(session: Session, corners: np.ndarray, offsets: np.ndarray, purpose: Purpose) -> Found:
    """Return the best calipers of the polygons ``corners[offsets[i] : offsets[i + 1]]``."""
    counts = np.diff(offsets)
    width = NUMBERS[purpose]
    found = Found(np.zeros((len(counts), 4), np.int64), np.zeros((len(counts), width)))
    unsure = unknown = several = np.flatnonzero(counts > 1)
    is_alone = (counts[several] > MANY) & (purpose == "circle")
    alone = several[is_alone]
    if corners.dtype not in POINT_TYPES:
        corners = corners.astype(np.float64)
    if len(corners) > FEW and session.profile.fp64 and predicate_parameters(session, np.dtype(np.float64))["filtered"]:
        parts = [
            _by_kernel(session, corners, offsets, some, purpose, found)
            for some in _ranges(session, corners, offsets, several[~is_alone])
        ]
        unsure, unknown = (np.concatenate([alone, *(part[k] for part in parts)]) for k in (0, 1))
    is_unsure = np.isin(unknown, unsure)
    for i, anew in zip(unknown.tolist(), is_unsure.tolist()):
        polygon, row = Corners(corners[offsets[i] : offsets[i + 1]]), found.calipers[i]
        if purpose == "circle":
            support = least_circle(polygon) if anew else [k for k in row[:3].tolist() if k >= 0]
            row[:3], found.numbers[i] = [*support, -1][:3], circle_numbers(polygon, support)
        else:
            best = best_caliper(polygon, range(len(polygon)), purpose) if anew else Caliper(*row.tolist())
            row[:], found.numbers[i] = best, numbers_of(polygon, best, purpose)
    if purpose == "diameter":
        found.calipers[:, :2].sort(axis=1)
    return found


def _ranges(session: Session, corners: np.ndarray, offsets: np.ndarray, several: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the polygons of each launch; their corners fit in one buffer, but those of a single large polygon."""
    (_, most), *_ = chunk_bounds(session.profile, 1 << 31, corners.itemsize * 2)
    most = min(most, session.profile.max_alloc_bytes // 48)  # of 2 corners or more, each with 96 bytes of numbers
    ends = offsets[several + 1]
    start = 0
    while start < len(several):
        stop = max(int(np.searchsorted(ends, offsets[several[start]] + most, side="right")), start + 1)
        yield several[start:stop]
        start = stop


def _by_kernel(
    session: Session, corners: np.ndarray, offsets: np.ndarray, which: np.ndarray, purpose: Purpose, found: Found
) -> tuple[np.ndarray, np.ndarray]:
    """Set the calipers and numbers of some polygons; return those with calipers or numbers that are not sure."""
    begin, end = int(offsets[which[0]]), int(offsets[which[-1] + 1])
    array = to_device(session, np.ascontiguousarray(corners[begin:end]), caller="calipers")
    if len(array.chunks) > 1:
        return which, which
    policy = select(session.profile, CALIPERS, corners.dtype, len(which))
    sizes = offsets[which + 1] - offsets[which]
    most = MANY if purpose == "circle" else PIECE if len(which) == 1 else policy.items_per_thread
    pieces = np.where(sizes > most, -(-sizes // PIECE), 1)
    owner = np.repeat(np.arange(len(which)), pieces)
    ends = np.cumsum(pieces)
    part = np.arange(len(owner)) - (ends - pieces)[owner]
    jobs = np.empty((len(owner), 4), np.uint32)
    jobs[:, 0], jobs[:, 1] = (offsets[which] - begin)[owner], sizes[owner]
    jobs[:, 2], jobs[:, 3] = part * sizes[owner] // pieces[owner], (part + 1) * sizes[owner] // pieces[owner]
    best, bounds = Scratch("found", np.uint32, 4 * len(jobs)), Scratch("bounds", np.float64, 2 * len(jobs))
    numbers = Scratch("numbers", np.float64, NUMBERS[purpose] * len(jobs))
    number, width = np.uint32(list(NUMBERS).index(purpose)), np.uint32(NUMBERS[purpose])
    args = "corners[0]", "jobs[0]", np.uint32(len(jobs)), number, width, best, bounds, numbers
    groups = policy.groups(-(-len(jobs) // policy.wg_size), session.profile.compute_units)
    step = Step(CALIPERS, policy, args, groups, {"real": c_name(corners.dtype)}, bytes_moved=array.nbytes + jobs.nbytes)
    result = run(session, Plan(step), corners=array, jobs=to_device(session, jobs, caller="calipers"))
    rows = result.read(best).reshape(-1, 4)
    several = np.flatnonzero(pieces > 1)
    first = ends - pieces if len(several) else slice(None)
    doubtful, unknown = rows[:, 0] >= UNSURE_BEST, rows[first, 0] >= UNSURE_NUMBERS
    rows[:, 0] &= UNSURE_NUMBERS - 1
    span = slice(int(which[0]), int(which[-1]) + 1)
    places = span if span.stop - span.start == len(which) else which  # a range is copied faster
    found.calipers[places] = rows[first].view(np.int32)  # no third corner of a circle: -1
    found.numbers[places] = result.read(numbers).reshape(len(jobs), -1)[first]
    unsure = doubtful[first]
    ranges = result.read(bounds).reshape(-1, 2) if len(several) else np.empty((0, 2))
    for k in several.tolist():
        own = slice(int(ends[k] - pieces[k]), int(ends[k]))
        polygon = corners[offsets[which[k]] : offsets[which[k] + 1]]
        low, high = ranges[own].T
        near = np.flatnonzero(low <= high.min()) + own.start
        unsure[k] = not Corners(polygon).in_range
        if len(near) == 1 and not doubtful[near[0]]:
            found.calipers[which[k]] = rows[near[0]]
        elif not unsure[k]:
            edges = [np.arange(*jobs[j, 2:]) if doubtful[j] else rows[j, :1] for j in near.tolist()]
            edges = contenders(polygon, np.concatenate(edges).astype(np.int64), purpose).tolist()
            found.calipers[which[k]] = best_caliper(Corners(polygon), edges, purpose)
    return which[unsure], which[unknown]
