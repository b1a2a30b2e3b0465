"""The runs of covered cells in the rows of rasters, for every map and level, on the device.

On CPUs   raster -> number of runs in each row -> a scan -> runs (rings_runs, twice)
Elsewhere raster -> a bit for each cell, and the number of runs in each word (rings_bits) -> a scan -> runs (rings_ends)

The host reads the number of runs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clgeom.core.launch import allocate, read, run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit
from clgeom.primitives.operators import OPERATORS
from clgeom.primitives.scan import Piece, scan_plan

RUNS, BITS, ENDS = (f"region/rings/rings_{name}" for name in "runs bits ends".split())
UINT = np.dtype(np.uint32)
#: Most runs of one batch, which have four ends of corners that kernels count with 32 bits.
MOST_RUNS = (1 << 30) - (1 << 20)
#: Memory that the rings of a run may take: of the run and its ends, of the ends' rings and of their corners.
RUN_BYTES = 400
#: Cells of a word of rings_bits, and most words of a batch.
WORD, MOST_WORDS = 32, (1 << 31) - (1 << 20)


def runs_of(masks):
    """(number of runs, (the plan that finds them, their memory), buffers), for all rows of masks.

    The memory of runs is that of their first and last columns, the number of their row, and their own number. The
    buffer "coverage_starts" is that of the first run of each row.
    """
    return _runs_of_strips(masks) if masks.stack.strips is not None else _runs(masks)


def exclusive_sums(profile, values, prefix):
    """The plan that replaces values by the sums of those before, in the same memory."""
    pieces = [Piece(values, 0, values.count)]
    return scan_plan(profile, pieces, values.dtype, [values], OPERATORS["sum"], exclusive=True, prefix=prefix)


def _runs(masks):
    session, stack = masks.job.session, masks.stack
    words = len(masks) * stack.rows * ceil_div(stack.columns, WORD)
    policy = select(session.profile, BITS, stack.dtype, words)
    fits = words <= min(MOST_WORDS, session.profile.max_alloc_bytes // UINT.itemsize - 1)
    serial = policy.variant == "serial" or not fits
    counted, total, runs_plan, buffers = (_by_rows if serial else _by_words)(masks)
    made = run(session, counted, **buffers)
    count = _checked(int(read(session, made[total], UINT, 1, total.count - 1)[0]), masks)
    if serial:
        buffers["coverage_starts"] = made[total]
    else:
        buffers |= {"rings_bits": made["rings_bits"], "rings_counts": made[total]}
        buffers["coverage_starts"] = allocate(session, UINT.itemsize * (len(masks) * stack.rows + 1))
    return count, runs_plan(count), buffers


def _checked(count, masks):
    most = MOST_RUNS
    if masks.maps > 1:  # a single map is tried in any case
        most = min(most, max(masks.job.session.profile.global_mem_bytes // RUN_BYTES, 1))
    if count > most:
        raise DeviceLimit(f"The rows of {len(masks):,} maps and levels have more than {most:,} runs of cells.")
    return count


def _runs_of_strips(masks):
    """The same for a raster that is read by strips: runs do not cross rows, so those of all strips are those of it."""
    found, count = [], 0
    for piece in masks.pieces(halo=0):
        strip = replace(masks.stack, rows=piece.rows, buffer=piece.buffer, strips=None)
        own = packed_runs(replace(masks, stack=strip, first_map=0))
        own[1] += np.int32(piece.first_row)
        count = _checked(count + own.shape[1], masks)
        found.append(own)
    return given_runs(masks, runs_below(found))


def packed_runs(masks) -> np.ndarray:
    """The runs of a map on the host, shape (4, number of runs), int32: level, row, first and last column, in order."""
    count, (plan, memory), buffers = _runs(masks)
    if count == 0:
        return np.empty((4, 0), np.int32)
    made = run(masks.job.session, plan, **buffers)
    lefts, rights, row_of = (made.read(one) for one in memory[:3])
    return np.stack([*np.divmod(row_of, np.uint32(masks.stack.rows)), lefts, rights]).astype(np.int32)


def runs_below(strips) -> np.ndarray:
    """The packed runs of strips, whose rows are those of the raster, as those of the raster."""
    runs = np.concatenate(strips, axis=1)
    return runs[:, np.argsort(runs[0], kind="stable")]  # strips follow each other in every level


def given_runs(masks, runs):
    """`runs_of` for the packed runs of a raster."""
    job, rows, count = masks.job, masks.stack.rows, _checked(runs.shape[1], masks)
    if count == 0:
        return 0, None, None
    level, row, lefts, rights = runs
    row_of = level.astype(np.int64) * rows + row
    starts = np.append(0, np.cumsum(np.bincount(row_of, minlength=len(masks) * rows)))
    memory, numbers = _memory(count), np.arange(count, dtype=UINT)
    columns = zip(memory, (lefts, rights, row_of.astype(UINT), numbers))
    buffers = {scratch.name: job.written(np.ascontiguousarray(values)) for scratch, values in columns}
    return count, (Plan(), memory), {"coverage_starts": job.written(starts.astype(UINT)), **buffers}


def _memory(count):
    """Memory of the first and last columns of runs, the numbers of their rows, and their own."""
    names = (("lefts", np.int32), ("rights", np.int32), ("row_of", UINT), ("parents", UINT))
    return tuple(Scratch(f"rings_{name}", np.dtype(dtype), count) for name, dtype in names)


def _launches(masks):
    """((arguments, rows of cells) of the launch for each piece of the raster, template parameters, buffers)."""
    stack, levels, launches, buffers = masks.stack, masks.job.compared, [], {}
    for i, piece in enumerate(masks.pieces(halo=0)):
        buffers[f"raster_{i}"] = piece.buffer
        args = (
            f"raster_{i}",
            np.uint64(piece.start),
            np.uint32(piece.maps),
            np.uint32(piece.first_row),
            np.uint32(piece.rows),
            np.uint32(stack.rows),
            np.uint32(stack.columns),
            np.uint32(piece.first_map - masks.first_map),
            np.uint32(len(levels.given)),
            "thresholds",
            levels.nodata_or_zero,
        )
        launches.append((args, piece.maps * piece.rows))
    buffers["thresholds"] = masks.job.sent(levels.thresholds)
    return launches, levels.params(stack.value), buffers


def _by_rows(masks):
    """(the plan that counts runs, its scratch with their number at the end, a function that plans them, buffers)."""
    stack, profile, levels = masks.stack, masks.job.session.profile, len(masks.job.levels.given)
    lines, (launches, params, buffers) = len(masks) * stack.rows, _launches(masks)
    policy = select(profile, RUNS, stack.dtype, stack.rows * stack.columns)
    counts, starts = Scratch("rings_counts", UINT, lines + 1), Scratch("rings_starts", UINT, lines + 1)
    sums, row_bytes = OPERATORS["sum"], levels * stack.columns * stack.dtype.itemsize

    def steps(emit, *out):
        own = {**params, "emit": emit}
        return Plan(
            *(
                Step(
                    RUNS,
                    policy,
                    (*args, *out),
                    policy.groups(rows * levels, profile.compute_units),
                    own,
                    rows * row_bytes,
                )
                for args, rows in launches
            )
        )

    def runs_plan(count):
        memory = _memory(count)
        return steps(True, "coverage_starts", *memory), memory

    scan = scan_plan(profile, [Piece(counts, 0, lines + 1)], UINT, [starts], sums, exclusive=False, prefix="rings")
    return steps(False, counts) + scan, starts, runs_plan, buffers


def _by_words(masks):
    """The same by bits of cells."""
    stack, profile, lines = masks.stack, masks.job.session.profile, len(masks) * masks.stack.rows
    words, (launches, params, buffers) = ceil_div(stack.columns, WORD), _launches(masks)
    n = lines * words
    bits, counts = Scratch("rings_bits", UINT, n), Scratch("rings_counts", UINT, n + 1)
    plan, levels, row_bytes = Plan(), len(masks.job.levels.given), stack.columns * stack.dtype.itemsize
    for args, rows in launches:
        args = (*args, np.uint32(words), np.uint32(n), bits, counts)
        moved = rows * (row_bytes + 8 * words * levels)
        plan += Plan(Step.over(profile, BITS, args, rows * words, dtype=stack.dtype, params=params, bytes_moved=moved))

    def runs_plan(count):
        memory = _memory(count)
        args = ("rings_bits", "rings_counts", np.uint32(n), np.uint32(words), "coverage_starts", *memory)
        return Plan(Step.over(profile, ENDS, args, n, bytes_moved=8 * n + 16 * count)), memory

    return plan + exclusive_sums(profile, counts, "rings"), counts, runs_plan, buffers
