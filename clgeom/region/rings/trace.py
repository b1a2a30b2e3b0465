"""Exact rings around the covered cells of rasters: labels, boundaries and order of their corners, on the device.

raster -> runs of covered cells in rows (runs)
runs   -> connected parts, of cells that share sides (coverage_unite)
runs   -> for each end of a run the one that follows on the boundary (rings_link)
ends   -> their ring and their place in it (rings_trace on CPUs, rings_jump and rings_rank elsewhere)
rings  -> sorted by part (rings_leaders, a radix sort, rings_sizes, rings_place); corners in order (rings_corners)

The host reads the number of runs, those of rings and corners, and a few numbers of each map and level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clgeom.errors import DeviceLimit
from clgeom.region.coverage.job import Masks
from clgeom.region.rings.runs import exclusive_sums, runs_of
from clgeom.runtime.launch import read, run
from clgeom.runtime.plan import Plan, Scratch, Step
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select
from clgeom.sorting.radix.moves import digit_windows, means_of
from clgeom.sorting.radix.passes import radix_plan

LINK, TRACE, JUMP, RANK, LEADERS, SIZES, PLACE, CORNERS, FACTS = (
    f"region/rings/rings_{name}" for name in "link trace jump rank leaders sizes place corners facts".split()
)
UNITE, SHARES, ROOTS = (f"region/coverage/coverage_{name}" for name in ("unite", "unite_shares", "roots"))
UINT, ULONG = np.dtype(np.uint32), np.dtype(np.uint64)
#: Most corners of one batch, for kernels that count them with 31 bits.
MOST_CORNERS = (1 << 31) - (1 << 20)


@dataclass(frozen=True, eq=False)
class Rings:
    """Rings of polygons on the host, one after the other.

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


@dataclass(frozen=True, eq=False)
class DeviceRings:
    """The rings of some masks in the memory of a device, in the order of `Rings`.

    Parameters
    ----------
    masks : Masks
    corners, rings, polygons : int
        Their numbers.
    facts : ndarray of int64, shape (number of masks + 1, 2)
        Numbers of corners, and of cells, before each mask, and in all.
    memory : dict
        Buffers by name: `corners` (int32) and `saddles` (uint8) of each corner, with its `ring_of` and its `mask_of`;
        `begins`, the first corner of each ring, and `firsts`, the first ring of each polygon, both with an end;
        `owners`, the mask of each polygon; `areas` (int64), the cells of all rings before every second corner;
        `facts` (uint64), the number of polygons and the facts. Others are of uint32.
    """

    masks: Masks
    corners: int
    rings: int
    polygons: int
    facts: np.ndarray
    memory: dict

    def fetched(self) -> Rings:
        """A copy on the host."""
        session, n = self.masks.job.session, self.corners

        def values(name, dtype, count):
            return read(session, self.memory[name], dtype, count)

        return Rings(
            values("corners", np.int32, 2 * n).reshape(-1, 2),
            values("saddles", np.uint8, n).astype(bool),
            values("begins", UINT, self.rings + 1).astype(np.int64),
            values("firsts", UINT, self.polygons + 1).astype(np.int64),
            values("owners", UINT, self.polygons).astype(np.int64),
        )


def twice_areas(corners, rings) -> np.ndarray:
    """Twice the area of each ring by the shoelace formula, shape (number of rings,), int64; exact."""
    if len(corners) == 0:
        return np.zeros(len(rings) - 1, np.int64)
    x, y = corners.T.astype(np.int64)
    after = np.arange(1, len(x) + 1)
    after[rings[1:] - 1] = rings[:-1]
    return np.add.reduceat(x * y[after] - x[after] * y, rings[:-1])


def rings_of(masks: Masks) -> DeviceRings | None:
    """The rings around the covered cells of all masks, sorted by mask and by the first row and column of a polygon.

    None if there are none. After `DeviceLimit` fewer maps at a time may do.
    """
    session, rows = masks.job.session, masks.stack.rows
    count, runs, buffers = runs_of(masks)
    if count == 0:
        return None
    plan, names = _linked(masks, count, runs)
    edges = 2 * count
    heads = names["heads"]
    plan += exclusive_sums(session.profile, heads, "heads")
    traced = run(session, plan, **buffers)
    total = int(traced.read(heads, 1, edges)[0])
    rings, corners = total >> 32, total & 0xFFFFFFFF
    if corners > MOST_CORNERS:
        raise DeviceLimit(
            f"The polygons of {len(masks):,} maps and levels have {corners:,} corners, more than {MOST_CORNERS:,}."
        )
    plan, memory = _placed(session, names, edges, rings, corners, rows, len(masks))
    known = {scratch.name: traced[scratch] for scratch in names.values()}
    made = run(session, plan, **known, coverage_starts=buffers["coverage_starts"])
    facts = made.read(memory["facts"]).astype(np.int64)
    return DeviceRings(
        masks,
        corners,
        rings,
        int(facts[0]),
        facts[1:].reshape(-1, 2),
        {name: made[scratch] for name, scratch in memory.items()},
    )


def _placed(session, names, edges, rings, corners, rows, masks):
    """(the plan from leading edges to rings in order and their corners, its memory by name)."""
    profile, n = session.profile, np.uint32(edges)
    leaders, parts = Scratch("rings_ring_leaders", UINT, rings), Scratch("rings_ring_parts", UINT, rings)
    heads, edge_args = names["heads"], tuple(names[name] for name in ("lefts", "rights", "row_of"))
    listed = Step.over(profile, LEADERS, (heads, names["roots"], n, leaders, parts), edges, bytes_moved=8 * edges)
    # the leader of an outer ring is the left side of the first run of its part, before those of the part's holes
    by_part, _, order = radix_plan(
        profile,
        parts,
        rings,
        UINT,
        payload=leaders,
        keep_keys=False,
        windows=digit_windows((1 << (edges // 2 - 1).bit_length()) - 1),
        means=means_of(session),
        prefix="rings_parts",
    )
    sizes = Scratch("rings_ring_sizes", ULONG, rings + 1)
    sized = Step.over(profile, SIZES, (order, heads, np.uint32(rings), sizes), rings + 1, bytes_moved=28 * rings)
    memory = {
        name: Scratch(f"rings_{name}", np.dtype(dtype), count)
        for name, dtype, count in (
            ("corners", np.int32, 2 * corners),
            ("saddles", np.uint8, corners),
            ("ring_of", UINT, corners),
            ("mask_of", UINT, corners),
            ("begins", UINT, rings + 1),
            ("firsts", UINT, rings + 1),
            ("owners", UINT, rings),
            ("areas", ULONG, corners // 2 + 1),
            ("facts", ULONG, 2 * masks + 3),
        )
    }
    numbers = Scratch("rings_numbers", UINT, edges)
    placed = Step.over(
        profile,
        PLACE,
        (
            order,
            sizes,
            names["row_of"],
            np.uint32(rings),
            np.uint32(rows),
            *(memory[name] for name in ("begins", "firsts", "owners")),
            numbers,
            memory["facts"],
        ),
        rings + 1,
        bytes_moved=28 * rings,
    )
    written = Step.over(
        profile,
        CORNERS,
        (
            *edge_args,
            *(names[name] for name in ("following", "turns", "leaders", "places")),
            numbers,
            memory["begins"],
            n,
            np.uint32(rows),
            np.uint32(corners),
            *(memory[name] for name in ("corners", "saddles", "ring_of", "mask_of", "areas")),
        ),
        edges,
        bytes_moved=40 * edges,
    )
    facts = (heads, memory["areas"], np.uint32(masks), np.uint32(rows), memory["facts"])
    found = Step.over(profile, FACTS, ("coverage_starts", *facts), masks + 1, bytes_moved=36 * masks)
    plan = Plan(listed) + by_part + Plan(sized) + exclusive_sums(profile, sizes, "sizes") + Plan(placed, written)
    return plan + exclusive_sums(profile, memory["areas"], "areas") + Plan(found), memory


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
        ("heads", ULONG, edges + 1),
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
    links, found = (names["following"], names["turns"]), tuple(names[name] for name in ("leaders", "places", "heads"))
    policy = select(profile, JUMP, UINT, edges)
    if policy.variant == "serial":
        own = select(profile, TRACE, UINT, edges)
        args = (*links, "coverage_starts", np.uint32(masks), np.uint32(rows), *found)
        return Plan(Step(TRACE, own, args, own.groups(masks, profile.compute_units), bytes_moved=20 * edges))
    # after round r each edge knows 2^(r + 3) edges; the last round finds nothing new
    rounds = max(edges.bit_length() - 1, 2)
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
