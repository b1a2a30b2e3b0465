"""Exact rings around the covered cells of rasters: labels, boundaries and order of their corners, on the device.

raster -> runs of covered cells in rows (runs)
runs   -> connected parts, of cells that share sides (coverage_unite)
runs   -> for each end of a run the one that follows on the boundary (rings_link)
ends   -> chains of them (rings_trace on CPUs, where a chain is a ring; rings_link, rings_chains, rings_firsts)
chains -> their ring and their place in it (rings_walk, rings_jump, rings_rank)
rings  -> sorted by part (rings_leaders, a radix sort, rings_sizes, rings_place)
chains -> sides along rows in order (rings_sides; not on CPUs), and their corners (rings_corners)

The host reads the numbers of runs, of chains, of rings and corners, and a few numbers of each map and level.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.core.device import Session
from clgeom.core.plan import Argument, Number, Plan, Scratch, Step
from clgeom.core.profile import DeviceProfile
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit
from clgeom.primitives.scan import sums_plan
from clgeom.region.coverage.masks import Masks
from clgeom.region.coverage.runs import connection_plan
from clgeom.region.rings.runs import CountedRuns, count_runs, upload_runs
from clgeom.sorting.radix.passes import digit_windows, order_plan
from clgeom.sorting.radix.work import features_of

LINK, TRACE, CHAINS, FIRSTS, WALK, JUMP, RANK, LEADERS, SIZES, PLACE, SIDES, CORNERS, FACTS = (
    f"region/rings/rings_{name}"
    for name in "link trace chains firsts walk jump rank leaders sizes place sides corners facts".split()
)
UINT, ULONG = np.dtype(np.uint32), np.dtype(np.uint64)
#: Most corners of one batch, for kernels that count them with 31 bits.
MOST_CORNERS = (1 << 31) - (1 << 20)
#: Windows that a round of rings_jump adds to the one of a chain.
HOPS = 4


@dataclass(frozen=True, eq=False)
class DeviceRings:
    """The rings of some masks in the memory of a device.

    The first ring of a polygon is its outer one, of positive area by the shoelace formula; the others are holes, of
    negative area. No ring touches itself. `memory` has buffers by name: `corners` (int32, columns and rows) and
    `saddles` (uint8, where two rings touch) of each corner, with its `ring_of` and its `mask_of`; `begins`, the first
    corner of each ring, and `firsts`, the first ring of each polygon, both with an end; `owners`, the mask of each
    polygon, ascending; `areas` (int64), the cells of all rings before every second corner; `facts` (uint64), the number
    of polygons and the facts. Others are of uint32.
    """

    masks: Masks
    corners: int
    rings: int
    polygons: int
    facts: np.ndarray  # numbers of corners, and of cells, before each mask and in all; int64, shape (masks + 1, 2)
    runs: CountedRuns
    memory: dict[str, Any]


def twice_areas(corners: np.ndarray, rings: np.ndarray) -> np.ndarray:
    """Twice the area of each ring by the shoelace formula, shape (number of rings,), int64; exact."""
    if len(corners) == 0:
        return np.zeros(len(rings) - 1, np.int64)
    x, y = corners.T.astype(np.int64)
    after = np.arange(1, len(x) + 1)
    after[rings[1:] - 1] = rings[:-1]
    return np.add.reduceat(x * y[after] - x[after] * y, rings[:-1])


def trace_rings(masks: Masks, given: np.ndarray | None = None) -> DeviceRings | None:
    """Return the rings around the covered cells of all masks, sorted by mask and by the first row and column of a
    polygon.

    None if there are none. After `DeviceLimit` fewer maps at a time may do. `given` are the packed runs of a raster, of
    which then only the size is used.
    """
    session, rows = masks.session, masks.stack.rows
    runs = count_runs(masks) if given is None else upload_runs(masks, given)
    if runs.count == 0:
        return None
    profile, size, starts = session.profile, runs.sized(runs.count), runs.buffers["coverage_starts"]
    key = len(masks), rows, size
    numbers: dict[str, np.generic] = {"runs": np.uint32(runs.count), "edges": np.uint32(2 * runs.count)}
    made, names = runs.run(
        session,
        ("rings linked", runs.key, *key),
        lambda: _link_plan(profile, len(masks), rows, *runs.plan(size)),
        numbers,
        runs.buffers,
    )
    found: dict[str, Any] = {scratch.name: made[scratch] for scratch in names.values()}
    chains = int(made.read(names["chains"], 1, 2 * runs.count)[0])
    length, numbers["chains"] = runs.sized(chains), np.uint32(chains)
    rank = functools.partial(_rank_plan, profile, size, length, names)
    made, ranks = runs.run(session, ("rings ranked", size, length), rank, numbers, found)
    total = int(made.read(ranks["heads"], 1, chains)[0])
    rings, corners = total >> 32, total & 0xFFFFFFFF
    if corners > MOST_CORNERS:
        raise DeviceLimit(
            f"The polygons of {len(masks):,} maps and levels have {corners:,} corners, more than {MOST_CORNERS:,}."
        )
    found |= {scratch.name: made[scratch] for scratch in ranks.values()}
    names, sizes = {**names, **ranks}, (length, runs.sized(rings), runs.sized(corners))
    numbers |= {"rings": np.uint32(rings), "corners": np.uint32(corners), "sides": np.uint32(corners // 2)}
    place = functools.partial(_placement_plan, session, names, *sizes, rows, len(masks))
    buffers = found | {"coverage_starts": starts}
    made, memory = runs.run(session, ("rings placed", *key, *sizes), place, numbers, buffers)
    facts = made.read(memory["facts"]).astype(np.int64)
    return DeviceRings(
        masks,
        corners,
        rings,
        int(facts[0]),
        facts[1:].reshape(-1, 2),
        runs,
        {name: made[scratch] for name, scratch in memory.items()},
    )


def _placement_plan(
    session: Session, names: dict[str, Scratch], chains: int, rings: int, corners: int, rows: int, masks: int
) -> tuple[Plan, dict[str, Scratch]]:
    """(the plan from leading chains to rings in order and their corners, its memory by name)."""
    profile, n, ring_count = session.profile, Number("chains"), Number("rings")
    leaders, parts = Scratch("rings_ring_leaders", UINT, rings), Scratch("rings_ring_parts", UINT, rings)
    heads, first_edges, runs = names["heads"], names["first_edges"], names["lefts"].count
    args: tuple[Argument, ...] = (heads, first_edges, names["roots"], n, ring_count, np.uint32(rings), leaders, parts)
    led = Step.over(profile, LEADERS, args, chains, bytes_moved=8 * chains)
    # the leader of an outer ring is the left side of the first run of its part, before those of the part's holes
    windows = digit_windows((1 << (runs - 1).bit_length()) - 1)
    by_part, order = order_plan(profile, parts, leaders, features_of(session), windows=windows, prefix="rings_parts")
    sizes = Scratch("rings_ring_sizes", ULONG, rings + 1)
    args = (order, first_edges, heads, ring_count, sizes)
    sized = Step.over(profile, SIZES, args, rings + 1, bytes_moved=32 * rings)
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
    numbers = Scratch("rings_numbers", UINT, chains)
    args = (order, first_edges, sizes, names["row_of"], ring_count, np.uint32(rows))
    args += (*(memory[name] for name in ("begins", "firsts", "owners")), numbers, memory["facts"])
    placed = Step.over(profile, PLACE, args, rings + 1, bytes_moved=32 * rings)
    listed, steps = select(profile, CORNERS, UINT, corners).variant != "serial", [placed]
    items, number = chains, n
    args = (*(names[name] for name in ("first_edges", "leaders", "places")), numbers, memory["begins"])
    if listed:
        items, number, sides = corners // 2, Number("sides"), Scratch("rings_sides", ULONG, corners // 2)
        of_chains: tuple[Argument, ...] = (names["following"], names["turns"], *args, n, sides)
        steps.append(Step.over(profile, SIDES, of_chains, chains, bytes_moved=20 * chains + 10 * runs + 4 * corners))
        args = (sides,)
    args = (*(names[name] for name in ("lefts", "rights", "row_of", "following", "turns")), *args, number)
    args += (np.uint32(rows), Number("corners"))
    args += tuple(memory[name] for name in ("corners", "saddles", "ring_of", "mask_of", "areas"))
    nbytes = 20 * chains + 34 * runs + 21 * corners
    steps.append(Step.over(profile, CORNERS, args, items, params={"listed": listed}, bytes_moved=nbytes))
    args = ("coverage_starts", names["chains"], heads, memory["areas"], np.uint32(masks), np.uint32(rows))
    found = Step.over(profile, FACTS, (*args, memory["facts"]), masks + 1, bytes_moved=36 * masks)
    plan = Plan(led) + by_part + Plan(sized) + sums_plan(profile, sizes, sizes, prefix="sizes") + Plan(*steps)
    return plan + sums_plan(profile, memory["areas"], memory["areas"], prefix="areas") + Plan(found), memory


def _link_plan(
    profile: DeviceProfile, masks: int, rows: int, finding: Plan, runs: tuple[Scratch, ...]
) -> tuple[Plan, dict[str, Scratch]]:
    """(the plan that finds runs, links their ends and begins chains of these, its memory by name)."""
    lefts, rights, row_of, parents = runs
    count, edges, n = lefts.count, 2 * lefts.count, Number("runs")
    names = {"lefts": lefts, "rights": rights, "row_of": row_of}
    sizes = {"roots": count, "following": edges, "turns": edges, "chains": edges + 1}
    names |= {name: Scratch(f"rings_{name}", UINT, length) for name, length in sizes.items()}
    names["turns"] = Scratch("rings_turns", np.dtype(np.uint8), edges)
    uniting = connection_plan(
        profile, count, (lefts, rights, row_of, "coverage_starts", n, np.uint32(rows)), parents, n, names["roots"]
    )
    cut = select(profile, JUMP, UINT, edges).variant != "serial"
    args: tuple[Argument, ...] = (lefts, rights, row_of, "coverage_starts", names["roots"], n, np.uint32(rows))
    args += (names["following"], names["turns"])
    link = Step.over(profile, LINK, args, count, params={"cut": cut}, bytes_moved=40 * count)
    plan = finding + uniting + Plan(link)
    if not cut:
        own = select(profile, TRACE, UINT, edges)
        args = (names["following"], "coverage_starts", np.uint32(masks), np.uint32(rows), names["turns"])
        plan += Plan(Step(TRACE, own, args, own.groups(masks, profile.compute_units), bytes_moved=6 * edges))
    args = (names["turns"], Number("edges"), names["chains"])
    plan += Plan(Step.over(profile, CHAINS, args, edges + 1, bytes_moved=5 * edges))
    return plan + sums_plan(profile, names["chains"], names["chains"], prefix="chains"), names


def _rank_plan(
    profile: DeviceProfile, runs: int, chains: int, names: dict[str, Scratch]
) -> tuple[Plan, dict[str, Scratch]]:
    """(the plan that finds the ring of each chain and its place in it, its memory by name)."""
    edges = 2 * runs
    ranks = {name: Scratch(f"rings_{name}", UINT, chains) for name in ("first_edges", "leaders", "places")}
    ranks["heads"] = Scratch("rings_heads", ULONG, chains + 1)
    cut = select(profile, JUMP, UINT, edges).variant != "serial"
    rounds = 0
    while cut and (HOPS + 1) ** rounds < 2 * chains:  # a window is then longer than a ring, and so is the next one
        rounds += 1
    n, firsts = Number("chains"), ranks["first_edges"]
    states = [Scratch(f"rings_states_{i}", UINT, 4 * chains) for i in (0, 1)]
    lists = [Scratch(f"rings_list_{i}", UINT, chains) for i in (0, 1)]
    lengths = Scratch("rings_lengths", UINT, rounds + 2)
    args: tuple[Argument, ...] = (names["following"], names["turns"], names["chains"], firsts, n)
    args += (*states, lists[0], lengths)
    steps = [
        Step.over(profile, FIRSTS, (names["chains"], Number("edges"), firsts), edges, bytes_moved=4 * edges),
        Step.over(profile, "primitives/clear_words", (lengths, np.uint64(rounds + 2)), rounds + 2),
        Step.over(profile, WALK, args, chains, bytes_moved=5 * edges + 28 * chains),
    ]
    for number in range(rounds):
        one, other = number % 2, (number + 1) % 2
        args = (np.uint32(number), lists[one], states[one], states[other], lists[other], lengths)
        steps.append(Step.over(profile, JUMP, args, chains, bytes_moved=48 * chains >> number))
    args = (states[rounds % 2], n, *(ranks[name] for name in ("leaders", "places", "heads")))
    steps.append(Step.over(profile, RANK, args, chains, bytes_moved=48 * chains))
    return Plan(*steps) + sums_plan(profile, ranks["heads"], ranks["heads"], prefix="heads"), ranks
