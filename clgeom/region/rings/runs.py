"""The runs of covered cells in the rows of rasters, for every map and level, on the device.

On CPUs   raster -> number of runs in each row -> a scan -> runs (rings_runs, twice)
Elsewhere raster -> a bit for each cell, and the number of runs in each word (rings_bits) -> a scan -> runs (rings_ends)

The host reads the number of runs.

The session keeps the plans for few runs, with sizes that are rounded up to powers of two: most of the time of a small
raster is that of the host. Their kernels take the sizes themselves as numbers of a run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from clgeom.core.device import Session
from clgeom.core.launch import Result, allocate, constant, run
from clgeom.core.plan import Argument, Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit
from clgeom.primitives.scan import sums_plan
from clgeom.region.coverage.masks import Masks, new_buffer
from clgeom.region.coverage.rasters import Piece as RasterPiece
from clgeom.region.coverage.runs import FEW_PIECES, MOST_KEPT, cached_plan

RUNS, BITS, ENDS = (f"region/rings/rings_{name}" for name in "runs bits ends".split())
UINT = np.dtype(np.uint32)
#: Most runs of one batch, which have four ends of corners that kernels count with 32 bits.
MOST_RUNS = (1 << 30) - (1 << 20)
#: Memory that the rings of a run may take: of the run and its ends, of the ends' rings and of their corners.
RUN_BYTES = 400
#: Function of a number of runs: the plan that finds them, and its memory; see `CountedRuns`.
PlanOfRuns: TypeAlias = Callable[[int], tuple[Plan, tuple[Scratch, ...]]]
#: Cells of a word of rings_bits, and most words of a batch.
WORD, MOST_WORDS = 32, (1 << 31) - (1 << 20)


@dataclass(frozen=True, eq=False)
class CountedRuns:
    """The runs in all rows of masks, which are counted and not listed yet."""

    count: int
    #: What `plan` depends on; None for a raster of many pieces, whose plans are not kept.
    key: tuple[Any, ...] | None
    #: Function of a number of runs. It returns the plan that lists them, and their memory: first and last columns, the
    #: numbers of their rows, and their own numbers.
    plan: PlanOfRuns
    #: Buffers for this plan; "coverage_starts" has the first run of each row.
    buffers: dict[str, Any]

    def sized(self, n: int) -> int:
        """Return a size, which is at most 4 for each run; rounded up where plans are kept."""
        return 1 << (n - 1).bit_length() if self.is_kept else n

    @property
    def is_kept(self) -> bool:
        """Whether the session keeps the plans of these runs."""
        return self.key is not None and self.count <= MOST_KEPT

    def run(
        self,
        session: Session,
        key: tuple[Any, ...],
        make: Callable[[], Any],
        numbers: dict[str, np.generic],
        buffers: dict[str, Any],
        *,
        memory: bool = True,
    ) -> tuple[Result, Any]:
        """Run the plan of ``make()``, which the session keeps for few runs; return the result, and its memory."""
        plan, scratch = cached_plan(session, key, make, is_kept=self.is_kept, memory=memory)
        return run(session, plan, numbers=numbers, **buffers), scratch


def count_runs(masks: Masks) -> CountedRuns:
    """Return the runs in all rows of masks."""
    return _count_runs_of_strips(masks) if masks.stack.strips is not None else _count_runs(masks)


def _count_runs(masks: Masks) -> CountedRuns:
    session, stack, levels = masks.session, masks.stack, masks.compared
    pieces, params = list(masks.pieces(halo=0)), levels.params(stack.dtype)
    buffers: dict[str, Any] = {f"raster_{i}": piece.buffer for i, piece in enumerate(pieces)}
    buffers["thresholds"] = constant(session, levels.thresholds)
    places = tuple((one.start, one.first_map - masks.first_map, one.maps, one.first_row, one.rows) for one in pieces)
    key = stack.dtype, stack.rows, stack.columns, len(masks), places, *params.items(), levels.nodata_or_zero

    def make() -> tuple[Any, ...]:
        words = len(masks) * stack.rows * ceil_div(stack.columns, WORD)
        fits = words <= min(MOST_WORDS, session.profile.max_alloc_bytes // UINT.itemsize - 1)
        serial = not fits or select(session.profile, BITS, stack.dtype, words).variant == "serial"
        return (_by_rows if serial else _by_words)(masks, _launches(masks, pieces), params)

    is_kept = len(pieces) <= FEW_PIECES
    counting, memory, plan = cached_plan(session, ("runs counted", *key), make, is_kept=is_kept)
    made = run(session, counting, **buffers)
    total = memory["rings_starts" if len(memory) == 1 else "rings_counts"]
    count = _check_count(int(made.read(total, 1, total.count - 1)[0]), masks)
    if len(memory) == 1:
        buffers["coverage_starts"] = made[total]
    else:
        buffers |= {name: made[scratch] for name, scratch in memory.items()}
        buffers["coverage_starts"] = allocate(session, UINT.itemsize * (len(masks) * stack.rows + 1))
    return CountedRuns(count, key if is_kept else None, plan, buffers)


def _check_count(count: int, masks: Masks) -> int:
    most = MOST_RUNS
    if masks.maps > 1:  # a single map is tried in any case
        most = min(most, max(masks.session.profile.global_mem_bytes // RUN_BYTES, 1))
    if count > most:
        raise DeviceLimit(f"The rows of {len(masks):,} maps and levels have more than {most:,} runs of cells.")
    return count


def _count_runs_of_strips(masks: Masks) -> CountedRuns:
    """`_count_runs` of a raster that is read by strips, whose runs are those of all strips: no run crosses a row."""
    found, count = [], 0
    for piece in masks.pieces(halo=0):
        strip = replace(masks.stack, rows=piece.rows, buffer=piece.buffer, strips=None)
        own = packed_runs(replace(masks, stack=strip, first_map=0))
        own[1] += np.int32(piece.first_row)
        count = _check_count(count + own.shape[1], masks)
        found.append(own)
    return upload_runs(masks, runs_below(found))


def packed_runs(masks: Masks) -> np.ndarray:
    """Return the runs of a map on the host, shape (4, number of runs), int32: level, row, first and last column, in
    order.
    """
    runs = _count_runs(masks)
    if runs.count == 0:
        return np.empty((4, 0), np.int32)
    plan, memory = runs.plan(runs.count)
    made = run(masks.session, plan, **runs.buffers)
    lefts, rights, row_of = (made.read(one) for one in memory[:3])
    return np.stack([*np.divmod(row_of, np.uint32(masks.stack.rows)), lefts, rights]).astype(np.int32)


def runs_below(strips: list[np.ndarray]) -> np.ndarray:
    """Return the packed runs of strips, whose rows are those of the raster, as those of the raster."""
    runs = np.concatenate(strips, axis=1)
    return runs[:, np.argsort(runs[0], kind="stable")]  # strips follow each other in every level


def upload_runs(masks: Masks, runs: np.ndarray) -> CountedRuns:
    """Return the packed runs of a raster, which are found already."""
    session, rows, count = masks.session, masks.stack.rows, _check_count(runs.shape[1], masks)
    if count == 0:
        return CountedRuns(0, None, lambda size: (Plan(), _memory(size)), {})
    level, row, lefts, rights = runs
    row_of = level.astype(np.int64) * rows + row
    starts = np.append(0, np.cumsum(np.bincount(row_of, minlength=len(masks) * rows)))
    numbers = np.arange(count, dtype=UINT)
    columns = zip(_memory(count), (lefts, rights, row_of.astype(UINT), numbers))
    buffers = {scratch.name: new_buffer(session, np.ascontiguousarray(values)) for scratch, values in columns}
    buffers["coverage_starts"] = new_buffer(session, starts.astype(UINT))
    return CountedRuns(count, ("given",), lambda size: (Plan(), _memory(size)), buffers)


def _memory(count: int) -> tuple[Scratch, ...]:
    """Memory of the first and last columns of runs, the numbers of their rows, and their own."""
    names = (("lefts", np.int32), ("rights", np.int32), ("row_of", UINT), ("parents", UINT))
    return tuple(Scratch(f"rings_{name}", np.dtype(dtype), count) for name, dtype in names)


def _launches(masks: Masks, pieces: list[RasterPiece]) -> list[tuple[tuple[Argument, ...], int]]:
    """(arguments, rows of cells) of the launch for each piece of the raster."""
    stack, levels = masks.stack, masks.compared
    launches: list[tuple[tuple[Argument, ...], int]] = []
    for i, piece in enumerate(pieces):
        sizes = piece.maps, piece.first_row, piece.rows, stack.rows, stack.columns
        numbers = map(np.uint32, (*sizes, piece.first_map - masks.first_map, len(levels.given)))
        args: tuple[Argument, ...] = (
            f"raster_{i}",
            np.uint64(piece.start),
            *numbers,
            "thresholds",
            levels.nodata_or_zero,
        )
        launches.append((args, piece.maps * piece.rows))
    return launches


def _by_rows(
    masks: Masks, launches: list[tuple[tuple[Argument, ...], int]], params: dict[str, Any]
) -> tuple[Plan, dict[str, Scratch], PlanOfRuns]:
    """Return the plan that counts runs, its memory with their number at the end, and the `plan` of `CountedRuns`."""
    stack, profile, levels = masks.stack, masks.session.profile, len(masks.levels.given)
    lines = len(masks) * stack.rows
    policy = select(profile, RUNS, stack.dtype, stack.rows * stack.columns)
    counts, starts = Scratch("rings_counts", UINT, lines + 1), Scratch("rings_starts", UINT, lines + 1)
    row_bytes = levels * stack.columns * stack.dtype.itemsize

    def steps(emit: bool, *out: Argument) -> Plan:
        own = {**params, "emit": emit}
        sized = [((*args, *out), policy.groups(rows * levels, profile.compute_units), rows) for args, rows in launches]
        return Plan(*(Step(RUNS, policy, args, groups, own, rows * row_bytes) for args, groups, rows in sized))

    def plan(count: int) -> tuple[Plan, tuple[Scratch, ...]]:
        memory = _memory(count)
        return steps(True, "coverage_starts", *memory), memory

    scan = sums_plan(profile, counts, starts, exclusive=False, prefix="rings")
    return steps(False, counts) + scan, {"rings_starts": starts}, plan


def _by_words(
    masks: Masks, launches: list[tuple[tuple[Argument, ...], int]], params: dict[str, Any]
) -> tuple[Plan, dict[str, Scratch], PlanOfRuns]:
    """`_by_rows` from bits of cells."""
    stack, profile, lines = masks.stack, masks.session.profile, len(masks) * masks.stack.rows
    words = ceil_div(stack.columns, WORD)
    n = lines * words
    bits, counts = Scratch("rings_bits", UINT, n), Scratch("rings_counts", UINT, n + 1)
    counting, levels, row_bytes = Plan(), len(masks.levels.given), stack.columns * stack.dtype.itemsize
    for args, rows in launches:
        args = (*args, np.uint32(words), np.uint32(n), bits, counts)
        moved = rows * (row_bytes + 8 * words * levels)
        step = Step.over(profile, BITS, args, rows * words, dtype=stack.dtype, params=params, bytes_moved=moved)
        counting += Plan(step)

    def plan(count: int) -> tuple[Plan, tuple[Scratch, ...]]:
        memory = _memory(count)
        args: tuple[Argument, ...] = ("rings_bits", "rings_counts", np.uint32(n), np.uint32(words), "coverage_starts")
        args += memory
        return Plan(Step.over(profile, ENDS, args, n, bytes_moved=8 * n + 16 * count)), memory

    counting += sums_plan(profile, counts, counts, prefix="rings")
    return counting, {"rings_bits": bits, "rings_counts": counts}, plan
