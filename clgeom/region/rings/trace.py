"""Exact rings around the covered cells of rasters: labels, boundaries and order of their corners, on the device.

raster -> runs of covered cells in rows (rings_runs)
runs   -> connected parts, of cells that share sides (coverage_unite)
runs   -> for each end of a run the one that follows on the boundary (rings_link)
ends   -> their ring and their place in it (rings_trace on CPUs, rings_jump and rings_rank elsewhere)
rings  -> sorted by part; corners written in order (rings_corners)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clgeom.errors import DeviceLimit
from clgeom.primitives.operators import OPERATORS
from clgeom.primitives.scan import Piece, scan_plan
from clgeom.region.coverage.job import Masks
from clgeom.region.coverage.rasters import Stack
from clgeom.runtime.launch import read, run
from clgeom.runtime.plan import Plan, Scratch, Step
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select

RUNS, LINK, TRACE = "region/rings/rings_runs", "region/rings/rings_link", "region/rings/rings_trace"
JUMP, RANK, CORNERS = "region/rings/rings_jump", "region/rings/rings_rank", "region/rings/rings_corners"
UNITE, SHARES, ROOTS = (f"region/coverage/coverage_{name}" for name in ("unite", "unite_shares", "roots"))
UINT = np.dtype(np.uint32)
#: Most runs of one batch: kernels number their ends with 32 bits.
MOST_RUNS = (1 << 31) - (1 << 20)


@dataclass(frozen=True, eq=False)
class Rings:
    """Rings of polygons, one after the other.

    Parameters
    ----------
    corners : ndarray of int32, shape (n, 2)
        Columns and rows. Rings are not closed. The first ring of a polygon is its outer one, of positive area by the
        shoelace formula; the others are holes, of negative area. No ring touches itself.
    saddles : ndarray of bool, shape (n,)
        Corners at which two rings touch.
    rings : ndarray of int64, shape (number of rings + 1,)
        Ring r has the corners from ``rings[r]`` to ``rings[r + 1]``.
    polygons : ndarray of int64, shape (number of polygons + 1,)
        Polygon p has the rings from ``polygons[p]`` to ``polygons[p + 1]``.
    masks : ndarray of int64, shape (number of polygons,)
        The mask of each polygon, ascending.
    """

    corners: np.ndarray
    saddles: np.ndarray
    rings: np.ndarray
    polygons: np.ndarray
    masks: np.ndarray

    @property
    def ring_polygons(self) -> np.ndarray:
        """The polygon of each ring."""
        return np.repeat(np.arange(len(self.masks)), np.diff(self.polygons))


NOTHING = Rings(
    np.empty((0, 2), np.int32), np.empty(0, bool), np.zeros(1, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64)
)


def joined(parts: list[Rings], masks_before: list[int]) -> Rings:
    """The rings of batches of masks, one after the other; the masks of each follow `masks_before` others."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return NOTHING

    def offsets(name):
        found = [getattr(part, name) for part in parts]
        before = np.cumsum([0, *(int(each[-1]) for each in found[:-1])])
        return np.concatenate([found[0][:1], *(each[1:] + first for each, first in zip(found, before))])

    return Rings(
        np.concatenate([part.corners for part in parts]),
        np.concatenate([part.saddles for part in parts]),
        offsets("rings"),
        offsets("polygons"),
        np.concatenate([part.masks + first for part, first in zip(parts, masks_before)]),
    )


def twice_areas(corners, rings) -> np.ndarray:
    """Twice the area of each ring by the shoelace formula, shape (number of rings,), int64; exact."""
    if len(corners) == 0:
        return np.zeros(len(rings) - 1, np.int64)
    x, y = corners.T.astype(np.int64)
    after = np.arange(1, len(x) + 1)
    after[rings[1:] - 1] = rings[:-1]
    return np.add.reduceat(x * y[after] - x[after] * y, rings[:-1])


def rings_of(masks: Masks) -> Rings:
    """The rings around the covered cells of all masks, sorted by mask and by the first row and column of a polygon."""
    session, rows = masks.job.session, masks.stack.rows
    count, runs, buffers = _runs_of_strips(masks) if masks.stack.strips is not None else _runs(masks)
    if count == 0:
        return NOTHING
    plan, names = _linked(masks, count, runs)
    made = run(session, plan, **buffers)
    sizes, roots = made.read(names["sizes"]), made.read(names["roots"])
    leaders = np.flatnonzero(sizes)
    # the leader of an outer ring is the left side of the first run of its part, before those of the part's holes
    part = roots[leaders >> 1]
    order = np.argsort(part, kind="stable")
    leaders, part = leaders[order], part[order]
    rings = np.append(0, np.cumsum(sizes[leaders], dtype=np.int64))
    fresh = np.flatnonzero(np.r_[True, part[1:] != part[:-1]])
    begins = np.zeros(2 * count, np.uint32)
    begins[leaders] = rings[:-1]
    total = int(rings[-1])
    corners, saddles = Scratch("rings_corners", np.int32, 2 * total), Scratch("rings_saddles", np.uint8, total)
    args = (*(names[name] for name in ("lefts", "rights", "row_of", "following", "turns", "leaders", "places")),)
    step = Step.over(
        session.profile,
        CORNERS,
        (*args, "begins", np.uint32(2 * count), np.uint32(rows), corners, saddles),
        2 * count,
        bytes_moved=50 * count,
    )
    bound = {memory.name: made[memory] for memory in args}
    written = run(session, Plan(step), begins=masks.job.written(begins), **bound)
    first_rows = made.read(names["row_of"])[part[fresh]]
    return Rings(
        written.read(corners).reshape(-1, 2),
        written.read(saddles).astype(bool),
        rings,
        np.append(fresh, len(leaders)).astype(np.int64),
        first_rows.astype(np.int64) // rows,
    )


def _runs(masks):
    """(number of runs, (the plan that finds them, their memory), buffers)."""
    session = masks.job.session
    counted, runs_plan, buffers = _counted(masks)
    starts = counted[-1].args[-1]
    made = run(session, counted, **buffers)
    count = _checked(int(read(session, made[starts], UINT, 1, starts.count - 1)[0]), masks)
    return count, runs_plan(count), {"coverage_starts": made[starts], **buffers}


def _checked(count, masks):
    if count > MOST_RUNS:
        raise DeviceLimit(f"The rows of {len(masks):,} maps and levels have more than {MOST_RUNS:,} runs of cells.")
    return count


def _runs_of_strips(masks):
    """The same for a raster that is read by strips: runs do not cross rows, so those of all strips are those of it."""
    job, rows, found, count = masks.job, masks.stack.rows, [], 0
    for piece in masks.pieces(halo=0):
        strip = Stack(job.session, masks.stack.dtype, 1, piece.rows, masks.stack.columns, None, piece.buffer)
        own, (plan, memory), buffers = _runs(replace(masks, stack=strip, first_map=0))
        if own == 0:
            continue
        made = run(job.session, plan, **buffers)
        lefts, rights, row_of = (made.read(one) for one in memory[:3])
        level, row = np.divmod(row_of.astype(np.int64), piece.rows)
        count = _checked(count + own, masks)
        found.append((level * rows + piece.first_row + row, lefts, rights))
    if not found:
        return 0, None, None
    row_of, lefts, rights = (np.concatenate(values) for values in zip(*found))
    order = np.argsort(row_of, kind="stable")  # strips follow each other in every level
    starts = np.append(0, np.cumsum(np.bincount(row_of, minlength=len(masks) * rows)))
    numbers = np.arange(count, dtype=UINT)
    columns = (lefts[order], rights[order], row_of[order].astype(UINT), numbers)
    names = ("rings_lefts", "rings_rights", "rings_row_of", "rings_parents")
    memory = tuple(Scratch(name, values.dtype, count) for name, values in zip(names, columns))
    buffers = {name: job.written(values) for name, values in zip(names, columns)}
    return count, (Plan(), memory), {"coverage_starts": job.written(starts.astype(UINT)), **buffers}


def _counted(masks):
    """(the plan that counts the runs of each row, a function that makes the plan of the runs, buffers).

    The last argument of the first plan is the scan of the counts.
    """
    stack, levels, profile = masks.stack, masks.job.levels, masks.job.session.profile
    lines, pieces = len(masks) * stack.rows, list(masks.pieces(halo=0))
    policy = select(profile, RUNS, stack.dtype, stack.rows * stack.columns)
    counts, starts = Scratch("rings_counts", UINT, lines + 1), Scratch("rings_starts", UINT, lines + 1)
    buffers = {f"raster_{i}": piece.buffer for i, piece in enumerate(pieces)}
    buffers["thresholds"] = masks.job.sent(levels.thresholds)
    launches = []
    for i, piece in enumerate(pieces):
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
        rows = piece.maps * piece.rows
        launches.append((args, rows * len(levels.given), rows * stack.columns * stack.dtype.itemsize))
    params = levels.params(stack.value)

    def steps(emit, *out):
        return Plan(
            *(
                Step(
                    RUNS,
                    policy,
                    (*args, *out),
                    policy.groups(rows, profile.compute_units),
                    {**params, "emit": emit},
                    moved,
                )
                for args, rows, moved in launches
            )
        )

    scan = scan_plan(
        profile, [Piece(counts, 0, lines + 1)], UINT, [starts], OPERATORS["sum"], exclusive=False, prefix="rings"
    )

    def runs_plan(count):
        lefts, rights = Scratch("rings_lefts", np.int32, count), Scratch("rings_rights", np.int32, count)
        row_of, parents = Scratch("rings_row_of", UINT, count), Scratch("rings_parents", UINT, count)
        return steps(True, "coverage_starts", lefts, rights, row_of, parents), (lefts, rights, row_of, parents)

    return steps(False, counts) + scan, runs_plan, buffers


def _linked(masks, count, runs):
    """(the plan from runs to the order of their ends, its memory by name)."""
    profile, rows = masks.job.session.profile, masks.stack.rows
    plan, (lefts, rights, row_of, parents) = runs
    edges, n = 2 * count, np.uint32(count)
    names = {"lefts": lefts, "rights": rights, "row_of": row_of}
    for name, dtype, length in (
        ("roots", UINT, count),
        ("following", UINT, edges),
        ("turns", np.dtype(np.uint8), edges),
        ("leaders", UINT, edges),
        ("places", UINT, edges),
        ("sizes", UINT, edges),
    ):
        names[name] = Scratch(f"rings_{name}", dtype, length)
    policy = select(profile, UNITE, UINT, count)
    groups = policy.groups(ceil_div(count, policy.tile), profile.compute_units)
    serial = policy.variant == "serial"  # few work-items: each unites its share alone, see coverage_unite_shares
    share = np.uint32(ceil_div(count, groups) if serial else 1)
    args = (lefts, rights, row_of, "coverage_starts", n, np.uint32(rows), np.int32(0), share, parents)
    uniting = [
        Step(name, policy, args, groups, bytes_moved=16 * count) for name in ((SHARES, UNITE) if serial else (UNITE,))
    ]
    roots = Step.over(profile, ROOTS, (parents, n, names["roots"]), count, dtype=UINT, bytes_moved=16 * count)
    link = Step.over(
        profile,
        LINK,
        (
            lefts,
            rights,
            row_of,
            "coverage_starts",
            names["roots"],
            n,
            np.uint32(rows),
            names["following"],
            names["turns"],
        ),
        count,
        bytes_moved=40 * count,
    )
    return plan + Plan(*uniting, roots, link) + _ordered(profile, len(masks), rows, edges, names), names


def _ordered(profile, masks, rows, edges, names):
    """The plan that finds the ring of each edge and its place in it."""
    links, found = (names["following"], names["turns"]), tuple(names[name] for name in ("leaders", "places", "sizes"))
    policy = select(profile, JUMP, UINT, edges)
    if policy.variant == "serial":
        own = select(profile, TRACE, UINT, edges)
        args = (*links, "coverage_starts", np.uint32(masks), np.uint32(rows), *found)
        return Plan(Step(TRACE, own, args, own.groups(masks, profile.compute_units), bytes_moved=20 * edges))
    # after round r each edge knows 2^r others; the last round finds nothing new
    rounds = edges.bit_length() + 2
    states = [Scratch(f"rings_states_{i}", np.dtype(np.uint32), 4 * edges) for i in (0, 1)]
    changed = Scratch("rings_changed", UINT, rounds)
    groups = policy.groups(ceil_div(edges, policy.tile), profile.compute_units)
    clear = Step.over(profile, "primitives/clear_words", (changed, np.uint64(rounds)), rounds)
    jumps = [
        Step(
            JUMP,
            policy,
            (*links, np.uint32(edges), np.uint32(r), states[(r + 1) % 2], states[r % 2], changed),
            groups,
            bytes_moved=32 * edges,
        )
        for r in range(rounds)
    ]
    rank = Step.over(
        profile,
        RANK,
        (*links, np.uint32(edges), states[0], *found),
        edges,
        bytes_moved=40 * edges,
    )
    return Plan(clear, *jumps, rank)
