"""The hulls of the groups of one chunk of points, on the device: jobs, pieces of large groups, results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.hull.batch_result import flat_hulls, ragged_measures
from clgeom.hull.convex import convex_hull
from clgeom.hull.predicates import predicate_parameters
from clgeom.primitives.gather import gather_plan
from clgeom.primitives.operators import OPERATORS
from clgeom.primitives.scan import Piece, scan_plan
from clgeom.runtime.arrays import as_device_values, c_name, is_device_array, to_device
from clgeom.runtime.launch import Plan, Scratch, Step, allocate, fill, in_place, read, run, show_host, write
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select
from clgeom.sort.radix import digit_windows, peers_of, radix_plan

HULLS, EMIT, SIZES = "batch/batch_hulls", "batch/batch_emit", "batch/batch_sizes"
#: Kinds of jobs of batch_hulls.
ALL, LISTED, PIECES = np.uint32(0), np.uint32(1), np.uint32(2)
#: What a group costs a CPU beside its points, in points.
GROUP_COST = 16
#: Positions are uint32.
MOST_POINTS = (1 << 32) - (1 << 20)


def on_host(offsets):
    """Offsets as an int64 array on the host."""
    return offsets.get().astype(np.int64) if is_device_array(offsets) else offsets


def checked_offsets(offsets, n, *, of):
    """Host offsets as int64 that start at 0, never descend and end at n; `InvalidInput` that names the first wrong."""
    if offsets.dtype == np.uint64 and (offsets > n).any():
        raise _wrong_offset(offsets, int(np.argmax(offsets > n)), n, of=of)
    offsets = offsets.astype(np.int64, copy=False)
    descends = offsets[1:] < offsets[:-1]
    if offsets[0] != 0 or offsets[-1] != n or descends.any():
        wrong = 0 if offsets[0] != 0 else int(np.argmax(descends)) + 1 if descends.any() else len(offsets) - 1
        raise _wrong_offset(offsets, wrong, n, of=of)
    return offsets


def _wrong_offset(offsets, k, n, *, of):
    """The error for offset k."""
    value = int(offsets[k])
    if k and value < int(offsets[k - 1]):
        return InvalidInput(
            f"The 'offsets' parameter of {of} must never descend. Got {value} at [{k}] after {int(offsets[k - 1])}."
        )
    return InvalidInput(
        f"The 'offsets' parameter of {of} must begin with 0 and end with the number of points, {n}. "
        f"Got {value} at [{k}] instead."
    )


class _Pieces(NamedTuple):
    """Groups cut into pieces of about equal size: how many each has, and the first; where each begins, its size."""

    per_group: np.ndarray
    first: np.ndarray
    begin: np.ndarray
    size: np.ndarray

    @classmethod
    def of(cls, sizes, capacity):
        per_group = -(-sizes // capacity)
        first = np.cumsum(per_group) - per_group
        number = np.arange(int(per_group.sum())) - np.repeat(first, per_group)
        whole, parts = np.repeat(sizes, per_group), np.repeat(per_group, per_group)
        begin = whole * number // parts
        return cls(per_group, first, begin, whole * (number + 1) // parts - begin)


class _Results:
    """Memory for `n` results of 8 bytes each, where the caller wants them: the host's own where a CPU computes."""

    def __init__(self, job, dtype, n):
        self.job, self.dtype, self.n = job, np.dtype(dtype), n
        self.host = np.empty(n, dtype) if job.profile.is_cpu and not job.on_device else None
        self.buffer = (
            in_place(job.session, self.host) if self.host is not None else allocate(job.session, 8 * n)
        )

    def finished(self):
        """The results, once all that was enqueued has run."""
        session = self.job.session
        if self.host is not None:
            show_host(session, self.buffer, self.host)
            return self.host
        if not self.job.on_device:
            return read(session, self.buffer, self.dtype, self.n)
        import pyopencl.array as cl_array

        session.queue.finish()  # the array's own queue may be another
        return cl_array.Array(self.job.call.queue, (self.n,), self.dtype, data=self.buffer)


class Job:
    """The groups of one chunk of points, and the device memory that their hulls come to.

    `slots` has a place for every point; a group's vertices stand at the beginning of its places. `counts` says how
    many, for groups and then for pieces of groups.
    """

    def __init__(self, call, array, offsets, groups, on_device):
        self.call, self.array, self.on_device = call, array, on_device
        self.offsets, self.groups = offsets, groups
        self.session, self.phases = call.session, ()
        self.profile = self.session.profile
        self.policy = select(self.profile, HULLS, array.dtype, array.n)
        self.serial = self.policy.variant == "serial"
        self.capacity = self.policy.items_per_thread
        self.measured = self.profile.fp64
        self.slots = allocate(self.session, 4 * array.n)
        self.status = allocate(self.session, 4)
        fill(self.session, self.status, np.uint32(0), 1)
        self.areas = _Results(self, np.float64, groups) if self.measured else None
        self.perimeters = _Results(self, np.float64, groups) if self.measured else None
        self.held = []  # arrays that kernels may read in place

    def run(self):
        listed, large = self._sized()
        more = int(_Pieces.of(self._sizes(large), self.capacity).per_group.sum()) if len(large) else 0
        self.counts = allocate(self.session, 4 * (self.groups + more))
        if listed is None:
            self._launch(ALL, self.groups, jobs=self.starts)
        else:
            self._launch(LISTED, self.groups - len(large), jobs=self.starts, list=listed)
        alone = self._cut(large) if len(large) else []
        self._require_finite()
        return self._emitted(alone)

    # Sizes

    def _sized(self):
        """(numbers of the groups by size, numbers of those that must be cut); makes `starts`.

        The numbers stay None where the order of groups is as good: where each is a part of a serial job, or all are
        about alike.
        """
        if self.serial:
            self.offsets = checked_offsets(on_host(self.offsets), self.array.n, of=self.call.of)
            self.starts = self._given(self.offsets)
            return None, np.flatnonzero(np.diff(self.offsets) > self.capacity)
        summary = self._looked_at()
        wrong, seen, large = (int(word) for word in summary)
        if wrong <= self.groups:
            checked_offsets(on_host(self.offsets), self.array.n, of=self.call.of)
        if seen & (seen - 1) == 0 and not large:
            return None, np.empty(0, np.int64)
        plan, _, listed = radix_plan(
            self.profile, "classes", self.groups, np.uint8, payload="index", keep_keys=False,
            windows=digit_windows(31), peers=peers_of(self.session), prefix="batch",
        )  # fmt: skip
        result = self._run(plan, classes=self.classes)
        tail = result.read(listed, large, self.groups - large) if large else np.empty(0, np.int64)
        return result[listed], tail.astype(np.int64)

    def _looked_at(self):
        """The summary of batch_sizes."""
        types = (np.int32, np.int64, np.uint32, np.uint64)
        offsets = as_device_values(self.session, self.offsets, of=self.call.of, name="offsets", types=types)
        starts = Scratch("starts", np.uint32, self.groups + 1)
        classes, summary = Scratch("classes", np.uint8, self.groups), Scratch("summary", np.uint32, 3)
        policy = select(self.profile, SIZES, offsets.dtype, self.groups)
        step = Step(
            SIZES,
            policy,
            args=("offsets[0]", np.uint32(self.groups), np.uint32(self.array.n), starts, classes, summary),
            groups=policy.groups(ceil_div(self.groups + 1, policy.tile), self.profile.compute_units),
            params={"value": c_name(offsets.dtype), "capacity": self.capacity},
            bytes_moved=self.groups * (offsets.item_bytes + 5),
        )
        buffer = allocate(self.session, summary.nbytes)
        write(self.session, buffer, np.array([np.iinfo(np.uint32).max, 0, 0], np.uint32))
        result = self._run(Plan(step), offsets=offsets, summary=buffer)
        self.starts, self.classes = result[starts], result[classes]
        return result.read(summary)

    def _sizes(self, groups):
        self.offsets = on_host(self.offsets)
        return self.offsets[groups + 1] - self.offsets[groups]

    # Hulls

    def _launch(self, kind, jobs_count, *, jobs, list=None, rows=None, ids=None, weights=None):
        """One launch of batch_hulls over so many jobs."""
        if jobs_count == 0:
            return
        params = {**predicate_parameters(self.session, self.array.dtype), "keep": self.call.keep,
                  "measures": self.measured}  # fmt: skip
        buffers = {
            "rows": rows or self.array.chunks[0].buffer, "jobs": jobs, "list": list or self.status,
            "ids": ids or self.status, "slots": self.slots, "counts": self.counts, "status": self.status,
        }  # fmt: skip
        if self.serial:
            bounds = self._bounds(jobs_count, weights)
            buffers["bounds"] = self._given(bounds)
            share, groups = "bounds", len(bounds) - 1
        else:
            share, groups = np.uint32(jobs_count), ceil_div(jobs_count, self.policy.wg_size)
        measures = ()
        if self.measured:
            buffers |= {"areas": self.areas.buffer, "perimeters": self.perimeters.buffer}
            measures = (np.uint32(self.groups), "areas", "perimeters")
        step = Step(
            HULLS,
            self.policy,
            args=("rows", kind, "jobs", "list", share, np.uint32(ids is not None), "ids", "slots", "counts", "status",
                  *measures),
            groups=groups,
            params=params,
            bytes_moved=self.array.nbytes if kind != PIECES else 0,
        )  # fmt: skip
        self._run(Plan(step), **buffers)

    def _bounds(self, jobs, weights):
        """Where each work-item's range of jobs begins, all about equally costly, and the end."""
        parts = min(self.policy.groups_per_unit * self.profile.compute_units, jobs)
        goals = np.arange(1, parts)
        if weights is not None:
            cost = np.cumsum(weights + GROUP_COST)
            inner = np.searchsorted(cost, goals * (cost[-1] / parts))
        else:  # bisection: the cost of all groups before one never falls
            goals = goals * ((self.array.n + GROUP_COST * jobs) / parts)
            low, high = np.zeros(parts - 1, np.int64), np.full(parts - 1, jobs)
            while (low < high).any():
                middle = (low + high) // 2
                under = self.offsets[middle] + GROUP_COST * middle < goals
                low, high = np.where(under, middle + 1, low), np.where(under, high, middle)
            inner = low
        return np.concatenate([[0], inner, [jobs]])

    # Groups in pieces

    def _cut(self, large):
        """Solve groups of more points than one job takes; returns those that were solved alone, with their vertices."""
        begins, sizes = self.offsets[large], self._sizes(large)
        rows = ids = None
        within, alone = begins.copy(), []  # where each group's points are: in the array, then in `rows`
        while len(large):
            made = _Pieces.of(sizes, self.capacity)
            single = made.per_group == 1
            final = np.repeat(single, made.per_group)
            begin = np.repeat(within, made.per_group) + made.begin
            place = np.repeat(begins, made.per_group) + made.begin
            target = np.where(final, np.repeat(large, made.per_group), self.groups + np.arange(len(final)))
            jobs = np.stack([begin, begin + made.size, place, target], axis=1).ravel()
            self._launch(PIECES, len(final), jobs=self._given(jobs), rows=rows, ids=ids, weights=made.size)
            self._require_finite()
            counts = read(self.session, self.counts, np.uint32, len(final), self.groups).astype(np.int64)
            left = np.add.reduceat(counts, made.first)
            again = ~single
            stalled = again & (2 * left > sizes)
            for k in np.flatnonzero(stalled):
                of_group = slice(made.first[k], made.first[k] + made.per_group[k])
                alone.append((int(large[k]), *self._alone(place[of_group], counts[of_group])))
            again &= ~stalled
            of_again = np.repeat(again, made.per_group)
            large, begins, sizes = large[again], begins[again], left[again]
            if len(large):
                ids, rows = self._collected(place[of_again], counts[of_again])
                within = np.cumsum(sizes) - sizes
        return alone

    def _collected(self, places, counts):
        """The vertices that pieces left in slots, one after another, and their coordinates."""
        n = int(counts.sum())
        before = np.cumsum(counts) - counts
        ids = Scratch("collected", np.uint32, n)
        coordinates = Scratch("collected_rows", self.array.dtype, 2 * n)
        plan = Plan(self._emission(len(places), n, ids, np.uint32))
        plan += gather_plan(self.profile, self.array, "points", ids, n, coordinates)
        result = self._run(
            plan, points=self.array, slots=self.slots, offsets_out=self.status, starts=self._given(places),
            before=self._given(before),
        )  # fmt: skip
        return result[ids], result[coordinates]

    def _alone(self, places, counts):
        """(vertices, their coordinates, dimension) of one group by `convex_hull`, from what its pieces left."""
        import pyopencl.array as cl_array

        ids, rows = self._collected(places, counts)
        n = int(counts.sum())
        given = cl_array.Array(self.session.queue, (n, 2), self.array.dtype, data=rows)
        collinear = "keep" if self.call.keep else "drop"
        hull = convex_hull(given, collinear=collinear, device=self.session, profile=self.call.profile)
        self.phases += hull.phases
        return read(self.session, ids, np.uint32, n)[hull.vertices], hull.points, hull.dimension

    # Results

    def _emission(self, groups, total, values, dtype, *, first=0, offsets=None):
        policy = select(self.profile, EMIT, np.dtype(dtype), total)
        reach = max(total, groups + 1 if offsets else 0)
        return Step(
            EMIT,
            policy,
            args=("slots", "starts", "before", np.uint32(groups), np.uint32(total), np.uint32(first),
                  np.uint32(offsets is not None), values, offsets or "offsets_out"),
            groups=max(ceil_div(reach, policy.tile), 1),
            params={"number": c_name(dtype)},
            bytes_moved=total * (4 + np.dtype(dtype).itemsize),
        )  # fmt: skip

    def _emitted(self, alone):
        """All vertices one after another, the offsets, areas and perimeters, where the caller wants them."""
        if alone:
            self._put_back(alone)
        before = Scratch("before", np.uint32, self.groups)
        plan = scan_plan(
            self.profile, [Piece("counts", 0, self.groups)], np.dtype(np.uint32), [before], OPERATORS["sum"],
            exclusive=True, prefix="batch_scan",
        )  # fmt: skip
        scanned = self._run(plan, counts=self.counts)
        last = self.groups - 1
        total = int(scanned.read(before, 1, last)[0]) + int(
            read(self.session, self.counts, np.uint32, 1, last)[0]
        )
        vertices, offsets = _Results(self, np.int64, total), _Results(self, np.int64, self.groups + 1)
        step = self._emission(self.groups, total, "values", np.uint64, offsets="offsets_out")
        self._run(
            Plan(step), slots=self.slots, starts=self.starts, before=scanned[before], values=vertices.buffer,
            offsets_out=offsets.buffer,
        )  # fmt: skip
        found = vertices.finished(), offsets.finished()
        if not self.measured:
            return *found, *self._measures_on_host(*found), self.phases
        areas, perimeters = self.areas.finished(), self.perimeters.finished()
        for group, _, corners, dimension in alone:
            area, perimeter = ragged_measures(corners, np.array([0, len(corners)]), np.array([dimension < 2]))
            areas[group], perimeters[group] = area[0], perimeter[0]
        return *found, areas, perimeters, self.phases

    def _put_back(self, alone):
        """Enter the vertices of groups solved alone as those of all others are."""
        counts = read(self.session, self.counts, np.uint32, self.groups)
        zero = self._given(np.zeros(1))
        for group, vertices, _, _ in alone:
            counts[group] = len(vertices)
            step = self._emission(1, len(vertices), "values", np.uint32, first=int(self.offsets[group]))
            self._run(
                Plan(step), slots=self._given(vertices), starts=zero, before=zero, values=self.slots,
                offsets_out=self.status,
            )  # fmt: skip
        write(self.session, self.counts, counts)

    def _measures_on_host(self, vertices, offsets):
        """Areas and perimeters where the device has no float64."""
        points = self.array.to_host() if self.array.host is None else self.array.host
        corners, counted = points[on_host(vertices)], on_host(offsets)
        flat = flat_hulls(corners, counted, self.call.keep, self.session)
        measures = ragged_measures(corners, counted, flat)
        return self.call.uploaded(*measures) if self.on_device else measures

    def _require_finite(self):
        if self.array.dtype.kind == "f" and read(self.session, self.status, np.uint32, 1)[0]:
            self.call.refuse()

    def _run(self, plan, **buffers):
        result = run(self.session, plan, profile=self.call.profile, **buffers)
        self.phases += result.phases
        return result

    def _given(self, values):
        """A buffer of these numbers as uint32, kept until all is done."""
        array = to_device(self.session, np.ascontiguousarray(values, np.uint32), of=self.call.of)
        self.held.append(array)
        return array.chunks[0].buffer
