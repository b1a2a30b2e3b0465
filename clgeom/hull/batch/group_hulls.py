"""The hulls of the groups in one chunk of points: jobs, pieces of large groups, results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from clgeom.core.host_memory import in_place, show_host
from clgeom.core.launch import allocate, copy, fill, read, run, settle, write
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select, select_fitting
from clgeom.hull.batch.groups import checked_offsets
from clgeom.hull.batch.result import flat_hulls
from clgeom.hull.convex import convex_hull
from clgeom.hull.measures import measure_doubtful, ragged_measures
from clgeom.hull.predicates import predicate_parameters
from clgeom.intake.arrays import as_device_values, c_name, to_device
from clgeom.intake.device_arrays import as_array, on_host
from clgeom.primitives.gather import gather_plan
from clgeom.primitives.scan import sums_plan
from clgeom.sorting.radix.passes import digit_windows, order_plan
from clgeom.sorting.radix.work import features_of

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.policies import Policy
    from clgeom.hull.batch.hulls import HullsWork
    from clgeom.hull.result import Hull
    from clgeom.intake.arrays import DeviceArray
    from clgeom.intake.typing import Collinear, HostOrDevice

HULLS, EMIT, SIZES = "hull/batch/batch_hulls", "hull/batch/batch_emit", "hull/batch/batch_sizes"
CUT, PIECES_OF, CROWDED = "hull/batch/batch_cut", "hull/batch/batch_pieces", "hull/batch/batch_crowded"
TILES = "hull/batch/batch_tiles"
#: Kinds of jobs of batch_hulls.
ALL, LISTED, PIECES = np.uint32(0), np.uint32(1), np.uint32(2)
#: Cost of a group on a CPU besides its points, in points.
GROUP_COST = 16
#: Most points of a piece: batch_tiles numbers them with 16 bits.
MOST_OF_TILE = 1 << 16
#: Most points: kernels index them with uint32.
MOST_POINTS = (1 << 32) - (1 << 20)

#: A large group that `convex_hull` solved: its number, the indices of its vertices among all points, and its hull.
LargeHull: TypeAlias = "tuple[int, np.ndarray, Hull]"
#: Indices of vertices, their coordinates, offsets, areas, perimeters: of all groups.
GroupArrays: TypeAlias = "tuple[HostOrDevice, ...]"


def worth_an_item(sizes: np.ndarray, unit: int) -> int:
    """Return the most points of a crowded group that one work-item solves; `convex_hull` solves the larger groups.

    The work-items run at the same time, so they take as long as the largest of their groups. The calls of `convex_hull`
    run one after the other, and each takes as long as a work-item with `unit` points. The result is the size with the
    least sum of both.
    """
    sizes = np.sort(sizes)[::-1].astype(np.float64)
    costs = np.arange(len(sizes)) + sizes * np.log2(sizes + 1) / (unit * np.log2(unit + 1))
    best = int(np.argmin(np.append(costs, len(sizes))))
    return int(sizes[best]) if best < len(sizes) else 0


def tile_memory(dtype: np.dtype) -> Callable[[Policy], int]:
    """Return the local memory of batch_tiles in bytes: eight points to a work-item, indices and extremes."""
    return lambda shape: shape.wg_size * (16 * dtype.itemsize + 80) + 128


class _Results:
    """Memory for results of one shape: host memory for a CPU device and host points, else device memory.

    It holds no reference to the job. A reference cycle would keep the memory until the garbage collector runs.
    """

    def __init__(self, job: GroupHulls, dtype: DTypeLike, *shape: int) -> None:
        on_device = job.work.on_device
        self.session, self.queue = job.session, job.work.queue if on_device else None
        self.dtype, self.shape = np.dtype(dtype), shape
        self.host = np.empty(shape, dtype) if job.profile.is_cpu and not on_device else None
        nbytes = math.prod(shape) * self.dtype.itemsize
        self.buffer = in_place(job.session, self.host) if self.host is not None else allocate(job.session, nbytes)

    def read(self) -> HostOrDevice:
        """Return the results, after waiting for the queue."""
        if self.host is not None:
            show_host(self.session, self.buffer, self.host)
            return self.host
        if self.queue is None:
            return read(self.session, self.buffer, self.dtype, math.prod(self.shape)).reshape(self.shape)
        return as_array(self.session, self.buffer, self.shape, self.dtype, queue=self.queue)


class GroupHulls:
    """The groups of one chunk of points, and the device memory for their hulls.

    `slots` has one entry for every point. The vertices of a group fill the first of its entries. `counts` has the
    number of vertices of each group, then of each piece.
    """

    def __init__(self, work: HullsWork, array: DeviceArray, offsets: HostOrDevice) -> None:
        self.work, self.array = work, array
        self.offsets, self.groups = offsets, len(offsets) - 1
        self.session = array.session
        self.profile = self.session.profile
        self.policy = select(self.profile, HULLS, array.dtype, array.n)
        self.serial = self.policy.variant == "serial"
        self.capacity = self.policy.items_per_thread
        # groups of more than `capacity` points: points of a piece, and the most points that a piece solves in any case
        self.tiles, self.piece, self.solvable = None, self.capacity, self.capacity
        if not self.serial:
            self.tiles = select_fitting(self.profile, TILES, array.dtype, tile_memory(array.dtype))
            self.piece = min(self.tiles.tile, MOST_OF_TILE)
            self.solvable = min(8 * self.tiles.wg_size, self.piece)
        self.slots = allocate(self.session, 4 * array.n)
        # whether a coordinate is nonfinite; number of stalled groups; whether a measure is in doubt
        self.status = allocate(self.session, 12)
        fill(self.session, self.status, np.uint32(0), 3)
        self.measures: tuple[_Results, _Results] | None = None  # areas, perimeters; None: the host computes them
        if self.profile.fp64:
            self.measures = _Results(self, np.float64, self.groups), _Results(self, np.float64, self.groups)
        self.held: list[DeviceArray] = []  # arrays whose memory kernels may read

    def run(self) -> GroupArrays:
        """(indices of vertices, their coordinates, offsets, areas, perimeters) of all groups."""
        try:
            return self._solve()
        except BaseException:
            settle(self.session.queue)  # kernels may still write to arrays that are freed next
            raise

    def _solve(self) -> GroupArrays:
        listed, large, count = self._order_by_size()
        pieces = self._most_pieces(self.array.n, count) + 1 if count else 1  # one more for the end of a scan
        self.counts = allocate(self.session, 4 * (self.groups + pieces))
        step, buffers = self._hulls_step(ALL if listed is None else LISTED, self.groups, "starts")
        if listed is not None:
            buffers["listed"] = listed
        rows = self.array.one_buffer(f"The points of {self.work.caller}")
        run(self.session, Plan(step), rows=rows, starts=self.starts, **buffers)
        alone = [] if large is None else self._cut(large, count)
        if not count and self.array.dtype.kind == "f":
            self._require_finite()
        return self._emit(alone)

    # Sizes

    def _order_by_size(self) -> tuple[cl.Buffer | None, cl.Buffer | None, int]:
        """Return (groups by size, groups to cut first, number of groups to cut), and set `starts`.

        The first is None for serial jobs or similar sizes, where an order gains nothing; the second if there is none.
        """
        if self.serial:
            self.offsets = checked_offsets(on_host(self.offsets), self.array.n, caller=self.work.caller)
            self.starts = self._numbers(self.offsets)
            which = np.flatnonzero(np.diff(self.offsets) > self.capacity)
            return None, self._numbers(which) if len(which) else None, len(which)
        wrong, seen, large = (int(word) for word in self._sizes_summary())
        if wrong <= self.groups:
            checked_offsets(on_host(self.offsets), self.array.n, caller=self.work.caller)
        if seen & (seen - 1) == 0 and not large:
            return None, None, 0
        classes, features = Scratch("classes", np.uint8, self.groups), features_of(self.session)
        plan, listed = order_plan(self.profile, classes, "index", features, windows=digit_windows(15), prefix="batch")
        result = run(self.session, plan, classes=self.classes)
        return result[listed], result[listed] if large else None, large

    def _sizes_summary(self) -> np.ndarray:
        """Return the summary of batch_sizes; also sets `starts` and `classes`."""
        types = (np.int32, np.int64, np.uint32, np.uint64)
        offsets = as_device_values(self.session, self.offsets, caller=self.work.caller, name="offsets", types=types)
        starts = Scratch("starts", np.uint32, self.groups + 1)
        classes, summary = Scratch("classes", np.uint8, self.groups), Scratch("summary", np.uint32, 3)
        step = Step.over(
            self.profile,
            SIZES,
            ("offsets[0]", np.uint32(self.groups), np.uint32(self.array.n), starts, classes, summary),
            self.groups + 1,
            dtype=offsets.dtype,
            params={"value": c_name(offsets.dtype), "capacity": self.capacity},
            bytes_moved=self.groups * (offsets.item_bytes + 5),
        )
        buffer = allocate(self.session, summary.nbytes)
        write(self.session, buffer, np.array([np.iinfo(np.uint32).max, 0, 0], np.uint32))
        result = run(self.session, Plan(step), offsets=offsets, summary=buffer)
        self.starts, self.classes = result[starts], result[classes]
        return result.read(summary)

    # Hulls

    def _hulls_step(
        self, kind: np.uint32, count: int, jobs: str | Scratch, *, ids: str = "status"
    ) -> tuple[Step, dict[str, Any]]:
        """Return a step of batch_hulls over `count` jobs, and its buffers but "rows" and those named by the caller."""
        bound: dict[str, Any] = {}
        share: str | np.uint32
        if self.serial:
            bounds = self._bounds(count, even=kind == PIECES)
            bound["bounds"] = self._numbers(bounds)
            share, groups = "bounds", len(bounds) - 1
        else:
            share, groups = np.uint32(count), ceil_div(count, self.policy.wg_size)
        outputs, buffers = self._outputs(ids, np.uint32(self.groups))
        moved = self.array.nbytes if kind != PIECES else 0
        args = ("rows", kind, jobs, "listed" if kind == LISTED else "status", share, *outputs)
        return Step(HULLS, self.policy, args, groups, self._params(), bytes_moved=moved), bound | buffers

    def _outputs(self, ids: str, *before_measures: np.uint32) -> tuple[tuple[str | np.uint32, ...], dict[str, Any]]:
        """Return the last arguments of batch_hulls and batch_tiles, and the buffers of these."""
        args: tuple[str | np.uint32, ...] = (np.uint32(ids != "status"), ids, "slots", "counts", "status")
        buffers = {"slots": self.slots, "counts": self.counts, "status": self.status}
        if self.measures is not None:
            args += (*before_measures, "areas", "perimeters")
            buffers |= {"areas": self.measures[0].buffer, "perimeters": self.measures[1].buffer}
        return args, buffers

    def _params(self) -> dict[str, Any]:
        """Template parameters of the kernels that solve groups or pieces."""
        own = {"keep_collinear": self.work.keep_collinear, "measures": self.measures is not None}
        return {**predicate_parameters(self.session, self.array.dtype), **own}

    def _bounds(self, jobs: int, *, even: bool) -> np.ndarray:
        """Return the first job of each work-item, then the number of jobs. All ranges cost about the same."""
        parts = min(self.policy.groups_per_unit * self.profile.compute_units, jobs)
        if even:
            return np.arange(parts + 1) * jobs // parts
        goals = np.arange(1, parts) * ((self.array.n + GROUP_COST * jobs) / parts)
        low, high = np.zeros(parts - 1, np.int64), np.full(parts - 1, jobs)
        while (low < high).any():  # bisection: costs of all groups before group k ascend with k
            middle = (low + high) // 2
            under = self.offsets[middle] + GROUP_COST * middle < goals
            low, high = np.where(under, middle + 1, low), np.where(under, high, middle)
        return np.concatenate([[0], low, [jobs]])

    # Groups in pieces

    def _pieces_step(self, most: int, jobs: Scratch, ids: str) -> tuple[Step, dict[str, Any]]:
        """Return a step that solves each piece with a work-item or a work-group, and its buffers as `_hulls_step`."""
        if self.tiles is None:
            return self._hulls_step(PIECES, most, jobs, ids=ids)
        outputs, buffers = self._outputs(ids)
        args = ("rows", np.uint32(self.groups), jobs, *outputs)
        return Step(TILES, self.tiles, args, most, self._params()), buffers

    def _most_pieces(self, points: int, groups: int) -> int:
        """Return an upper bound of the pieces of `groups` groups with `points` points in all."""
        return points // self.piece + min(groups, points)

    def _cut(self, large: cl.Buffer, groups: int) -> list[LargeHull]:
        """Solve the groups that are too large for one job in rounds of one run each; return the results of `_crowded`.

        A round gathers the vertices of the last round's pieces, cuts them into new pieces and solves these.
        """
        parts, first = Scratch("parts", np.uint32, groups + 1), Scratch("first", np.uint32, groups + 1)
        memory: dict[str, Any] = {
            name: allocate(self.session, parts.nbytes) for name in ("begins", "sizes", "parts", "stalled", "first")
        }
        memory |= {"large": large, "starts": self.starts, "before": self.status, "points": self.array}
        memory["rows"] = self.array.one_buffer(f"The points of {self.work.caller}")
        plan, alone, n, count, rounds = Plan(), [], self.array.n, np.uint32(groups), 0
        while True:
            most = self._most_pieces(n, groups)
            jobs, slot_of = Scratch("jobs", np.uint32, 4 * most), Scratch("slot_of", np.uint32, most)
            left = Scratch("left", np.uint32, most + 1)
            hulls, buffers = self._pieces_step(most, jobs, "ids" if rounds else "status")
            ranges = "begins", "sizes"
            args = "large", count, "starts", np.uint32(rounds), "first", "before", *ranges, parts, "stalled", "status"
            plan += self._step(CUT, groups + 1, *args, piece=self.piece, capacity=self.solvable)
            plan += self._scan(parts, 0, groups + 1, first, "parts_scan")
            numbers = np.uint32(self.groups), jobs, slot_of, "counts"
            plan += self._step(PIECES_OF, most + 1, "large", count, "starts", first, np.uint32(most), *ranges, *numbers)
            plan += Plan(hulls) + self._scan("counts", self.groups, most + 1, left, "left_scan")
            result = run(self.session, plan, **memory, **buffers)
            stalled = self._require_finite()
            total = int(result.read(left, 1, most)[0])
            if stalled:
                alone += self._crowded({**memory, **result.buffers}, groups, stalled)
            if total == 0:
                return alone
            n, rounds = total, rounds + 1
            ids, rows = Scratch("ids", np.uint32, n), Scratch("rows", self.array.dtype, 2 * n)
            plan = Plan(self._emit_step(most, n, ids, starts="slots_before"))
            plan += gather_plan(self.profile, self.array, "points", ids, n, rows)
            memory.pop("rows", None)
            memory |= {"before": result[left], "slots_before": result[slot_of], "offsets_out": self.status}

    def _crowded(self, memory: dict[str, Any], groups: int, stalled: int) -> list[LargeHull]:
        """Solve each stalled group with a serial merge sort; returns the results of `_alone` for the larger ones."""
        fill(self.session, self.status, np.uint32(0), 2)  # each round counts its stalled groups from 0
        which = np.sort(read(self.session, memory["stalled"], np.uint32, stalled))
        begins, sizes = (read(self.session, memory[name], np.uint32, groups)[which] for name in ("begins", "sizes"))
        policy = select(self.profile, CROWDED, self.array.dtype, stalled)
        most = policy.items_per_thread if self.serial else worth_an_item(sizes, policy.items_per_thread)
        groups_of_all = "rows", "ids", "large", "starts", "begins", "sizes", "stalled"
        outputs = "slots", Scratch("other", np.uint32, self.array.n), "counts"
        measures = ("status", "areas", "perimeters") if self.measures is not None else ()
        args = (*groups_of_all, np.uint32(stalled), np.uint32(most), *outputs, *measures)
        step = Step(CROWDED, policy, args, ceil_div(stalled, policy.wg_size), self._params())
        run(self.session, Plan(step), **{name: buffer for name, buffer in memory.items() if name != "points"})
        return [self._alone(memory, int(which[i]), int(begins[i]), int(sizes[i])) for i in np.flatnonzero(sizes > most)]

    def _alone(self, memory: dict[str, Any], k: int, begin: int, size: int) -> LargeHull:
        """Return the hull of large group k, solved by `convex_hull`."""
        group = int(read(self.session, memory["large"], np.uint32, 1, k)[0])
        points = read(self.session, memory["rows"], self.array.dtype, 2 * size, 2 * begin).reshape(-1, 2)
        numbers = read(self.session, memory["ids"], np.uint32, size, begin)
        collinear: Collinear = "keep" if self.work.keep_collinear else "drop"
        hull = convex_hull(points, collinear=collinear, device=self.session)
        return group, numbers[hull.vertices], hull

    # Results

    def _emit_step(
        self, groups: int, total: int, values: Scratch, *, starts: str = "starts", with_offsets: bool = False
    ) -> Step:
        """Return a step that writes vertices one after another, in the type of `values`, and the offsets of groups."""
        dtype = np.dtype(values.dtype)
        policy = select(self.profile, EMIT, dtype, total)
        reach = max(total, groups + 1 if with_offsets else 0)
        counts = np.uint32(groups), np.uint32(total), np.uint32(0), np.uint32(with_offsets)
        return Step(
            EMIT,
            policy,
            args=("slots", starts, "before", *counts, values, "offsets_out"),
            groups=max(ceil_div(reach, policy.tile), 1),
            params={"number": c_name(dtype)},
            bytes_moved=total * (4 + dtype.itemsize),
        )

    def _emit(self, alone: list[LargeHull]) -> GroupArrays:
        """(vertices, their coordinates, offsets, areas, perimeters), on the host or on the device as the points."""
        if alone:
            self._put_back(alone)
        before = Scratch("before", np.uint32, self.groups + 1)
        scanned = run(self.session, self._scan("counts", 0, self.groups + 1, before, "scan"), counts=self.counts)
        total = int(scanned.read(before, 1, self.groups)[0])
        vertices, offsets = _Results(self, np.int64, total), _Results(self, np.int64, self.groups + 1)
        corners = _Results(self, self.array.dtype, total, 2)
        ids, rows = Scratch("ids", np.uint64, total), Scratch("corners", self.array.dtype, 2 * total)
        plan = Plan(self._emit_step(self.groups, total, ids, with_offsets=True))
        plan += gather_plan(self.profile, self.array, "points", ids, total, rows)
        run(
            self.session,
            plan,
            slots=self.slots,
            starts=self.starts,
            before=scanned[before],
            ids=vertices.buffer,
            offsets_out=offsets.buffer,
            points=self.array,
            corners=corners.buffer,
        )
        found = vertices.read(), corners.read(), offsets.read()
        return *found, *self._measures(alone, *found[1:])

    def _measures(self, alone: list[LargeHull], corners: HostOrDevice, offsets: HostOrDevice) -> Sequence[HostOrDevice]:
        """Areas and perimeters; the host computes those of groups in `alone`, those in doubt, and all without fp64."""
        if self.measures is None:
            corners, counted = on_host(corners), on_host(offsets)
            flat = flat_hulls(corners, counted, self.work.keep_collinear, self.session)
            measures = list(ragged_measures(corners, counted, flat))
        else:
            areas, perimeters = (measure.read() for measure in self.measures)
            in_doubt = int(read(self.session, self.status, np.uint32, 1, 2)[0])
            if not alone and not in_doubt:
                return areas, perimeters
            corners, counted, *measures = map(on_host, (corners, offsets, areas, perimeters))
            for group, _, hull in alone:
                measures[0][group], measures[1][group] = hull.area, hull.perimeter
            measure_doubtful(corners, counted, *measures)
        return self.work.upload(*measures) if self.work.on_device else measures

    def _put_back(self, alone: list[LargeHull]) -> None:
        """Write the vertices of the groups that `_alone` solved to `slots` and `counts`."""
        counts = read(self.session, self.counts, np.uint32, self.groups)
        for group, vertices, _ in alone:
            counts[group] = len(vertices)
            begin = int(read(self.session, self.starts, np.uint32, 1, group)[0])
            copy(self.session, self._numbers(vertices), self.slots, 4 * len(vertices), at=4 * begin)
        write(self.session, self.counts, counts)

    def _require_finite(self) -> int:
        """Raise the error for a nonfinite point if a kernel found one; returns the number of stalled groups."""
        nonfinite, stalled = read(self.session, self.status, np.uint32, 2)
        if nonfinite:
            self.work.refuse()
        return int(stalled)

    def _scan(self, numbers: str | Scratch, start: int, n: int, out: Scratch, prefix: str) -> Plan:
        """Return the plan of an exclusive scan of `n` numbers in a buffer, from entry `start` on."""
        return sums_plan(self.profile, numbers, out, start=start, count=n, prefix=prefix)

    def _step(self, kernel: str, items: int, *args: str | Scratch | np.generic, **params: Any) -> Plan:
        """Return a plan of one launch with `items` work-items."""
        policy = select(self.profile, kernel, np.dtype(np.uint32), items)
        return Plan(Step(kernel, policy, args, ceil_div(items, policy.wg_size), params, bytes_moved=4 * items))

    def _numbers(self, values: np.ndarray) -> cl.Buffer:
        """Return a buffer with these numbers as uint32, which lives as long as the job."""
        array = to_device(self.session, np.ascontiguousarray(values, np.uint32), caller=self.work.caller)
        self.held.append(array)
        return array.one_buffer(f"A list of groups of {self.work.caller}")
