"""Outward simplification of exact rings: vertices are removed where that only adds area, the least area first.

A reflex vertex v with the neighbours p and n can go if no corner of any ring is in the triangle p, v, n: then the new
edge crosses nothing, and the polygon grows by the triangle. So polygons keep every cell, holes shrink or vanish, and
rings never cross. All vertices are corners of cells, so every decision is one of integers.

    limit 1, 2, 3, ..  (twice the area that a vertex may add; each about 5/4 of the one before)
      a few rounds     measure -> choose -> remove: vertices that are least among their neighbours go at once
      compact          the list of those that remain

The order of removals does not depend on a budget: a budget takes the first ones, and any number of them is valid.
Removals are tried against the corners of the exact rings, so the order of rings does not matter either. New edges do
not cross: the regions that two of them cut off hold no corner of the other ring, so no edge of the other ring ends
there, and the other new edge would have to enter and leave through one straight edge.

A higher level is simplified after the level around it, and its triangles hold no vertex of that level's result: so it
stays within.

M. Visvalingam, J. D. Whyatt, "Line generalisation by repeated elimination of points" (1993), restricted to additions as
in the polygon hulls of JTS (M. Davis, 2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.region.coverage.job import Job, Masks
from clgeom.region.rings.trace import UINT, Rings, twice_areas
from clgeom.runtime.launch import allocate, fill, read, run, write
from clgeom.runtime.plan import Plan, Step

MARK, MEASURE, CHOOSE, REMOVE, ALIVE = (
    f"region/rings/outward_{name}" for name in ("mark", "measure", "choose", "remove", "alive")
)
#: Rounds with one limit; what remains goes with the next one.
ROUNDS = 3
NEVER, NEW, LAST = 0xFFFFFFFF, 0xFFFFFFFE, 0x80000000
#: The largest key: larger areas are not added at once.
LARGEST = 0x7FFFFFEF


@dataclass(frozen=True)
class Goal:
    """How far rings are simplified.

    Parameters
    ----------
    vertices : int or None
        Most vertices of each map and level.
    part_vertices : int or None
        Most vertices of each polygon.
    tolerance : float or None
        Largest distance of a new edge from the corners behind it, in cells.
    iou : float or None
        Least intersection over union of the polygons and the cells of each map and level.
    apart : bool
        Whether polygons of different maps and one level stay apart, too.
    """

    vertices: int | None = None
    part_vertices: int | None = None
    tolerance: float | None = None
    iou: float | None = None
    apart: bool = False

    @property
    def is_set(self) -> bool:
        return any(value is not None for value in (self.vertices, self.part_vertices, self.tolerance, self.iou))


@dataclass(frozen=True, eq=False)
class Removals:
    """What happened to each corner: the round of its removal (0: none), twice the area added, vertices that it took."""

    rounds: np.ndarray
    areas: np.ndarray
    weights: np.ndarray


def simplified(masks: Masks, rings: Rings, goal: Goal, *, below: bool, caller: str) -> Rings:
    """The rings of masks (maps times levels), simplified outwards as far as the goal says; nested by level.

    `below` says that the lowest level is the most demanding one.
    """
    tried, refused, made = goal, None, None
    while made is None:
        try:
            made = _all_levels(masks, rings, tried, below)
        except _TooFew as few:  # where the level around is simplified less, the next one may need more
            refused, tried = refused or few.name, replace(tried, **{few.name: few.least})
    if refused is None:
        return made
    what = "a part" if refused == "part_vertices" else "a map and level"
    raise InvalidInput(
        f"The '{refused}' parameter of {caller} must be at least {getattr(tried, refused):,}: {what} here needs that "
        f"many to cover its cells. Got {getattr(goal, refused):,} instead."
    )


class _TooFew(Exception):
    """A budget is too small; `least` is what the level that was tried last needs."""

    def __init__(self, name, least):
        super().__init__(name, least)
        self.name, self.least = name, least


def _all_levels(masks: Masks, rings: Rings, goal: Goal, below: bool) -> Rings:
    job, levels, given = masks.job, len(masks.job.levels.given), masks.job.levels.given
    parts, outer = [None] * levels, None
    for level in sorted(range(levels), key=lambda k: given[k], reverse=below):
        chosen = np.flatnonzero(rings.masks % levels == level)
        own = subset(rings, chosen)
        if goal.apart:
            outer = _with_others(job, own, own.masks // levels, masks.maps, outer)
        removals = _removals(job, own, own.masks // levels, masks.maps, goal, outer)
        parts[level] = (chosen, _cut(own, removals, goal, own.masks))
        if levels > 1:
            made = parts[level][1]
            outer = _bitmaps(job, made, made.masks // levels, masks.maps)
    if levels == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([chosen for chosen, _ in parts]), kind="stable")
    return subset(_together([made for _, made in parts]), order)


def subset(rings: Rings, polygons) -> Rings:
    """Some polygons, in the given order."""
    if len(polygons) == len(rings.masks) and (polygons[1:] > polygons[:-1]).all():
        return rings
    chosen, polygon_offsets = _ranges(rings.polygons, polygons)
    corners, ring_offsets = _ranges(rings.rings, chosen)
    return Rings(rings.corners[corners], rings.saddles[corners], ring_offsets, polygon_offsets, rings.masks[polygons])


def _ranges(offsets, chosen):
    """The members of chosen ranges, one range after the other, and their offsets."""
    sizes = np.diff(offsets)[chosen]
    made = np.append(0, np.cumsum(sizes))
    return np.arange(made[-1]) + np.repeat(offsets[:-1][chosen] - made[:-1], sizes), made


def _together(parts):
    sizes = [len(part.corners) for part in parts], [len(part.rings) - 1 for part in parts]
    corners, rings = (np.append(0, np.cumsum(counts)) for counts in sizes)
    return Rings(
        np.concatenate([part.corners for part in parts]),
        np.concatenate([part.saddles for part in parts]),
        np.concatenate([[0], *(part.rings[1:] + first for part, first in zip(parts, corners))]),
        np.concatenate([[0], *(part.polygons[1:] + first for part, first in zip(parts, rings))]),
        np.concatenate([part.masks for part in parts]),
    )


# Removals on the device -----------------------------------------------------------------------------------------------


def _bitmaps(job, rings, maps, count):
    """A buffer with the bits of the corners of the rings; `maps` has the map of each polygon, of `count`."""
    words, stride = _layout(job)
    bitmap = allocate(job.session, 4 * stride * count)
    fill(job.session, bitmap, np.uint32(0), stride * count)
    n = len(rings.corners)
    if n:
        args = ("corners", "masks", np.uint32(n), np.uint32(words), np.uint64(stride), "bitmap")
        owner = _per_corner(rings, maps)
        # copies: the launch may run after this function has returned
        bound = {"corners": job.written(rings.corners), "masks": job.written(owner), "bitmap": bitmap}
        run(job.session, Plan(Step.over(job.session.profile, MARK, args, n, bytes_moved=16 * n)), **bound)
    return bitmap


def _with_others(job, rings, maps, count, outer):
    """A buffer with the bits of `outer`, if there is one, and for each map those of the corners of the other maps."""
    _, stride = _layout(job)

    def bits(buffer):
        return read(job.session, buffer, UINT, stride * count).reshape(count, stride)

    own = bits(_bitmaps(job, rings, maps, count))
    some, several = np.zeros((2, stride), np.uint32)  # of any map, of two or more
    for one in own:
        several |= some & one
        some |= one
    others = (some & ~own) | several
    return job.written(others if outer is None else others | bits(outer))


def _layout(job):
    """Words of a line of a bitmap, and of a map."""
    words = (job.stack.columns + 32) // 32
    return words, words * (job.stack.rows + 1)


def _per_corner(rings, values):
    """Values of polygons, for each corner; uint32."""
    return np.repeat(np.asarray(values, np.uint32)[rings.ring_polygons], np.diff(rings.rings))


def _removals(job: Job, rings: Rings, maps, map_count, goal: Goal, outer) -> Removals:
    """Remove vertices until every map meets the goal, or nothing more can go."""
    session, n = job.session, len(rings.corners)
    if n == 0 or not goal.is_set:
        nothing = np.zeros(n, np.int64)
        return Removals(nothing, nothing, nothing)
    words, stride = _layout(job)
    after = np.arange(1, n + 1, dtype=np.uint32)
    after[rings.rings[1:] - 1] = rings.rings[:-1]
    previous = np.arange(-1, n - 1).astype(np.uint32)
    previous[rings.rings[:-1]] = rings.rings[1:] - 1
    state = np.zeros(3 + 3 * map_count, np.uint32)
    bound = {
        "corners": job.written(rings.corners.reshape(-1)),
        "saddles": job.written(rings.saddles.view(np.uint8)),
        "masks": job.written(_per_corner(rings, maps)),
        "after": job.written(after),
        "next": job.written(after),
        "previous": job.written(previous),
        "keys": job.written(np.full(n, NEW, np.uint32)),
        "rounds": job.written(np.zeros(n, np.uint32)),
        "areas": job.written(np.zeros(n, np.uint32)),
        "alive_0": job.written(np.arange(n, dtype=np.uint32)),
        "alive_1": allocate(session, 4 * n),
        "bitmaps": _bitmaps(job, rings, maps, map_count),
        "state": job.written(state),
    }
    bound["outer"] = bound["bitmaps"] if outer is None else outer
    tolerance = np.inf if goal.tolerance is None else goal.tolerance
    # rounded down, and by more than the three roundings of the kernel's comparison
    squared = np.float32(min(tolerance * tolerance * (1 - 2.0**-20), 1e30))
    params = {"nested": outer is not None, "bounded": goal.tolerance is not None}
    ends = _Ends(rings, maps, map_count, goal)
    limit, number, list_, count = 1, 1, 0, n
    while True:
        state[:3] = count, 0, NEVER
        write(session, bound["state"], state[:3])
        plan = []
        for _ in range(ROUNDS):
            plan += _round(session.profile, count, f"alive_{list_}", words, stride, squared, limit, number, params)
            number += 1
        args = (f"alive_{list_}", "rounds", f"alive_{1 - list_}", "state")
        plan.append(Step.over(session.profile, ALIVE, args, count, bytes_moved=8 * count))
        run(session, Plan(*plan), **bound)
        state = read(session, bound["state"], UINT, len(state))
        was, count, pending, list_ = count, int(state[1]), int(state[2]), 1 - list_
        following = limit * 5 // 4 + 1
        if was == count:
            if pending == NEVER:
                break
            following = max(following, pending)
        if ends.are_met(state[3:].reshape(-1, 3)) or limit >= LARGEST:
            break
        limit = min(following, LARGEST)
    rounds, areas = (read(session, bound[name], UINT, n) for name in ("rounds", "areas"))
    gone = rounds > 0
    weights = np.where(gone, 1 + 2 * (areas >> 31), 0)
    return Removals(rounds, np.where(gone, areas & (LAST - 1), 0).astype(np.int64), weights.astype(np.int64))


def _round(profile, count, alive, words, stride, tolerance, limit, number, params):
    limit, number = np.uint32(limit), np.uint32(number)
    links = ("previous", "next")
    measure = ("corners", "saddles", "masks", alive, *links, "bitmaps", "outer", "after", np.uint32(words))
    measure += (np.uint64(stride), tolerance, limit, "keys", "state")
    choose = (alive, *links, "keys", limit, number, "state", "rounds", "areas")
    remove = (alive, "masks", number, "rounds", "areas", *links, "keys", "state")
    return (
        Step.over(profile, MEASURE, measure, count, params=params, bytes_moved=40 * count),
        Step.over(profile, CHOOSE, choose, count, bytes_moved=24 * count),
        Step.over(profile, REMOVE, remove, count, bytes_moved=12 * count),
    )


class _Ends:
    """Whether all maps have lost as many vertices, or gained as much area, as a goal asks for."""

    def __init__(self, rings, maps, count, goal):
        self.goal = goal
        vertices = np.bincount(_per_corner(rings, maps), minlength=count)
        areas = np.bincount(maps[rings.ring_polygons], twice_areas(rings.corners, rings.rings), count)
        # maps without cells, whose areas are 0, are done
        share = np.inf if goal.iou is None else (1 / goal.iou - 1) * (1 + 1e-9)
        self.most = np.full(count, -1.0)
        self.most[areas > 0] = areas[areas > 0] * share + 1
        self.wanted = vertices - (0 if goal.vertices is None else goal.vertices)

    def are_met(self, sums) -> bool:
        if self.goal.part_vertices is not None:
            return False
        full = sums[:, 1] + sums[:, 2] * 2.0**32 > self.most
        few = (sums[:, 0] >= self.wanted) & (self.goal.vertices is not None)
        return bool((full | few).all())


# The first removals that meet a budget --------------------------------------------------------------------------------


def _cut(rings: Rings, removals: Removals, goal: Goal, groups) -> Rings:
    """The rings after as many removals as the goal asks for. `groups` are the masks of the polygons."""
    if len(rings.corners) == 0:
        return rings
    _, group = np.unique(groups, return_inverse=True)
    kept = np.ones(len(rings.corners), bool)
    gone = removals.rounds > 0
    if goal.iou is not None:
        cells = np.bincount(group[rings.ring_polygons], twice_areas(rings.corners, rings.rings))
        share = 1 / Fraction(goal.iou) - 1
        room = np.array([math.floor(int(area) * share) for area in cells])
        gone = gone & _within(_per_corner(rings, group), removals, removals.areas, room)
    # of each polygon a budget takes the first removals: both together take the longer one of two such starts
    budgets = {"vertices": (goal.vertices, group), "part_vertices": (goal.part_vertices, np.arange(len(rings.masks)))}
    needed = [
        _enough(rings, removals, gone, groups, budget, name)
        for name, (budget, groups) in budgets.items()
        if budget is not None
    ]
    gone = np.logical_or.reduce(needed) if needed else gone
    kept[gone] = False
    return _of_corners(rings, kept)


def _within(owner, removals, amounts, room):
    """Which removals go before the amounts of their group exceed `room`, in the order of removals."""
    order, starts, sums = _ordered(owner, removals, amounts)
    found = np.zeros(len(owner), bool)
    found[order] = sums - starts <= room[owner[order]]
    return found


def _enough(rings, removals, gone, groups, budget, name):
    """Which of the removals `gone` are needed so that no group has more vertices than a budget."""
    owner = _per_corner(rings, groups)
    wanted = np.bincount(owner) - budget
    weights = np.where(gone, removals.weights, 0)
    least = (np.bincount(owner) - np.bincount(owner, weights)).max()
    if least > budget:
        raise _TooFew(name, int(least))
    order, starts, sums = _ordered(owner, removals, weights)
    found = np.zeros(len(owner), bool)
    found[order] = sums - weights[order] - starts < wanted[owner[order]]
    return found & gone


def _ordered(owner, removals, amounts):
    """(removals in order, the sum of the amounts before each one's group, and up to each)."""
    some = np.flatnonzero(removals.rounds)
    order = some[np.lexsort((some, removals.areas[some], removals.rounds[some], owner[some]))]
    sums = np.cumsum(amounts[order])
    fresh = np.flatnonzero(np.r_[True, owner[order][1:] != owner[order][:-1]]) if len(order) else np.empty(0, np.int64)
    before = np.r_[0, sums][fresh]
    return order, np.repeat(before, np.diff(np.append(fresh, len(order)))), sums


def _of_corners(rings: Rings, kept) -> Rings:
    """The rings of the corners that are kept; rings of fewer than three are left out."""
    sizes = _counts(kept, rings.rings)
    whole = sizes >= 3
    kept = kept & np.repeat(whole, np.diff(rings.rings))
    counts = _counts(whole, rings.polygons)
    return Rings(
        rings.corners[kept],
        rings.saddles[kept],
        np.append(0, np.cumsum(sizes[whole])),
        np.append(0, np.cumsum(counts)),
        rings.masks,
    )


def _counts(flags, offsets):
    """How many flags are set in each range."""
    before = np.append(0, np.cumsum(flags))
    return before[offsets[1:]] - before[offsets[:-1]]
