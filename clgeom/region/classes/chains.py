"""Arcs and rings by chains of steps, for devices with many work-items.

corners -> steps from each to the next (classes_link), in chains (rings_walk), in arcs (rings_jump, classes_emit)
arcs    -> halves, forwards and backwards, in rings round faces (classes_halves, rings_jump)
rings   -> sorted by face, the exterior first (classes_keys, a radix sort, classes_rings)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clgeom.core.plan import Plan, Scratch
from clgeom.errors import DeviceLimit
from clgeom.intake.arrays import c_name
from clgeom.region.classes.work import BYTE, INT, LONG, MOST, UINT, ULONG, Arguments, Counts, Work
from clgeom.region.rings.trace import CHAINS, FIRSTS, HOPS, JUMP, WALK
from clgeom.sorting.radix.passes import digit_windows, order_plan
from clgeom.sorting.radix.work import features_of


class Jumps(NamedTuple):
    """Launches of rings_jump: memory that they begin with (states of both rounds, the list and its length), the final
    states, and the launches.
    """

    memory: tuple[Scratch, Scratch, Scratch, Scratch]
    final: Scratch
    plan: Plan


def _jumps(work: Work, name: str, n: int) -> Jumps:
    """Return the launches of rings_jump for `n` chains, and their memory."""
    rounds, plan = 0, Plan()
    while (HOPS + 1) ** rounds < 2 * n:  # a window is then longer than a ring, and so is the next one
        rounds += 1
    states = [work.new(f"{name}_states_{i}", UINT, 4 * n) for i in (0, 1)]
    lists = [work.new(f"{name}_list_{i}", UINT, n) for i in (0, 1)]
    lengths = work.new(f"{name}_lengths", UINT, rounds + 2)
    for i in range(rounds):
        one, other = i % 2, (i + 1) % 2
        args = i, lists[one], states[one], states[other], lists[other], lengths
        plan += work.over(JUMP, args, n, 48 >> i)
    return Jumps((states[0], states[1], lists[0], lengths), states[rounds % 2], plan)


def chained_rings(work: Work, counts: Counts, faces: int, dtype: np.dtype) -> Plan:
    """Find arcs and rings; returns the launch that unites the faces of one class that share a corner."""
    arcs = _chain(work, *counts[:3])
    _find_rings(work, arcs, counts.opened, counts.corners, faces)
    args: Arguments = ("kinds", "slots", "nodes", "arrivals", "left", "right", "values", counts.corners)
    return work.over("diagonals", (*args, "parents_of_faces"), counts.corners, 30, value=c_name(dtype))


def _chain(work: Work, corners: int, nodes: int, opened: int) -> int:
    """Join steps from corner to corner to arcs; returns the number of arcs."""
    made: Arguments = (
        work.new("places", UINT, 2 * corners),
        work.new("kinds", BYTE, corners),
        work.new("slots", UINT, corners),
        work.new("nodes", UINT, corners),
    )
    args: Arguments = ("planes", "counts", "run_counts", work.n, work.words, opened, *made)
    plan = work.over("corners", args, work.n, 32)
    steps = corners - nodes + opened
    before, begins, ends = (work.new(name, UINT, steps) for name in ("before", "step_begins", "step_ends"))
    turns, chains = work.new("turns", BYTE, steps), work.new("chains", UINT, steps + 1)
    args = "places", "kinds", "slots", "active", "counts", corners, work.words, before, begins, ends, turns
    plan += work.over("link", args, corners, 60)
    plan += work.over(CHAINS, (turns, steps, chains), steps + 1, 5)
    work.run(plan + work.sums("chains"))
    count = int(work.read("chains", 1, steps)[0])
    firsts = work.new("chain_firsts", UINT, count)
    jumps, sizes = _jumps(work, "chain", count), work.new("sizes", ULONG, count + 1)
    plan = work.over(FIRSTS, (chains, steps, firsts), steps, 4) + work.clear(jumps.memory[-1])
    plan += work.over(WALK, (before, turns, chains, firsts, count, *jumps.memory), count, 40) + jumps.plan
    plan += work.over("sizes", (jumps.final, firsts, turns, count, opened, sizes), count, 28)
    work.run(plan + work.sums("sizes"))
    points, arcs = work.last("sizes")
    if 2 * arcs > MOST:
        raise DeviceLimit(f"The classes of these rasters have {arcs:,} arcs, and at most {MOST // 2:,} are possible.")
    made = (
        work.new("arc_corners", INT, 2 * points),
        work.new("areas", LONG, points),
        work.new("starts", LONG, arcs + 1),
        work.new("heads", UINT, arcs),
        work.new("arrivals", UINT, 4 * nodes),
    )
    args = jumps.final.name, firsts, before, turns, sizes, begins, ends, "places", "nodes", count, work.lines
    work.run(work.over("emit", (*args, *made), count, 128) + work.sums("areas"))
    work.drop(
        "before", "turns", "chains", "chain_firsts", "sizes", "counts", "active", *(one.name for one in jumps.memory)
    )
    return arcs


def _find_rings(work: Work, arcs: int, opened: int, corners: int, faces: int) -> None:
    """Find the faces beside arcs, and join these to rings."""
    left, right, before = (
        work.new(*one) for one in (("left", INT, arcs), ("right", INT, arcs), ("prior", UINT, 2 * arcs))
    )
    halves, sides = 2 * arcs, (left, right)
    args: Arguments = ("heads", "step_begins", "step_ends", "places", "planes", "run_counts", "faces", arcs, opened)
    plan = work.over("sides", (*args, work.words, work.lines, work.columns, *sides, before), arcs, 100)
    args = "kinds", "slots", "nodes", "arrivals", *sides, corners, before
    plan += work.over("halves", args, corners, 30)
    jumps, sizes = _jumps(work, "half", halves), work.new("half_sizes", ULONG, halves + 1)
    plan += work.clear(jumps.memory[-1]) + work.over("begin", (before, halves, *jumps.memory), halves, 40) + jumps.plan
    plan += work.over("ring_sizes", (jumps.final, *sides, halves, sizes), halves + 1, 28)
    work.run(plan + work.sums("half_sizes"))
    work.drop("planes", "run_counts", "faces", "step_begins", "step_ends", "places", "prior")
    placed, rings = work.last("half_sizes")
    areas, owners, begins = (
        work.new(*one)
        for one in (("ring_areas", LONG, placed + 1), ("owners", UINT, rings), ("ring_begins", UINT, rings))
    )
    args = jumps.final.name, sizes, *sides, "areas", "starts", halves, placed, areas, owners, begins
    plan = work.over("place", args, halves, 60) + work.sums("ring_areas")
    keys = work.new("keys", UINT, rings)
    plan += work.over("keys", (areas, owners, begins, rings, placed, keys), rings, 32)
    windows = digit_windows((1 << (2 * faces - 1).bit_length()) - 1)
    features = features_of(work.session)
    ordered, order = order_plan(work.session.profile, keys, "index", features, windows=windows, prefix="rings_by_face")
    places, starts, cells, face_rings = (
        work.new(*one)
        for one in (
            ("ring_places", UINT, rings),
            ("ring_starts", LONG, rings + 1),
            ("ring_cells", LONG, rings + 1),
            ("face_rings", LONG, faces + 1),
        )
    )
    args = order, keys, areas, begins, rings, placed, faces, places, starts, cells, face_rings
    plan += ordered + work.over("order", args, rings, 60) + work.sums("ring_starts") + work.sums("ring_cells")
    args = jumps.final.name, sizes, places, starts, *sides, halves, work.new("ring_arcs", INT, placed)
    plan += work.over("rings", args, halves, 40)
    made = (
        work.new("cells_of_faces", LONG, faces),
        work.new("layers", INT, faces),
        work.new("parents_of_faces", UINT, faces),
    )
    plan += work.over("cells", (cells, face_rings, "firsts", faces, work.lines, *made), faces, 40)
    work.run(plan)
