"""Outward simplification of exact rings: vertices are removed where that only adds area, the least area first.

A reflex vertex v with the neighbours p and n can go if no corner of any ring is in the triangle p, v, n: then the new
edge crosses nothing, and the polygon grows by the triangle. So polygons keep every cell, holes shrink or vanish, and
rings never cross. All vertices are corners of cells, so every decision is one of integers.

    limit 1, 2, 3, ..  (twice the area that a vertex may add; each about 5/4 of the one before)
      a few rounds     measure -> choose -> remove: vertices that are least among their neighbours go at once
      advance          the next limit of each map, or its end

The host enqueues several limits, and reads whether any map goes on.

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

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.launch import allocate, copy, fill, read, run
from clgeom.core.plan import Argument, Number, Plan, Step
from clgeom.core.tuning import select
from clgeom.region.coverage.masks import new_buffer
from clgeom.region.rings.budgets import Goal, Removals, filled_buffer
from clgeom.region.rings.trace import UINT, DeviceRings

if TYPE_CHECKING:
    import pyopencl as cl

BEGIN, MARK, OTHERS, MEASURE, CHOOSE, REMOVE, ADVANCE = (
    f"region/rings/outward_{name}" for name in "begin mark others measure choose remove advance".split()
)
#: Rounds with one limit; what remains goes with the next one. These, and the words of the state, are as in
#: cl_src/rings/state.h.
ROUNDS = 2
ACTIVE, ROUND, REMOVED, MOST, LEVEL, ALL, CUT, MAPS, MAP_WORDS = 2, 3, 4, 10, 12, 13, 14, 15, 10
NEVER, NEVER_WANTED = 0xFFFFFFFF, (1 << 31) - 1
#: Limits between two reads by the host: a launch without work costs less than a read, but not on CPUs.
LIMITS_AT_ONCE, LIMITS_AT_ONCE_ON_CPUS = 4, 1
#: The largest side of rasters whose cross products fit in 32 bits.
NARROW = (1 << 15) - 2


def simplify_outward(rings: DeviceRings, goal: Goal) -> tuple[cl.Buffer, cl.Buffer]:
    """Simplify the rings of masks (maps times levels) outwards as far as the goal says; nested by level.

    Returns buffers of uint8: for each corner whether it is taken away, and for each ring whether it is a hole that
    vanishes.
    """
    tried, refused, work = goal, None, Simplification(rings, goal)
    while few := work.all_levels():  # where the level around is simplified less, the next one may need more
        name, least = few
        changed: dict[str, Any] = {name: least}
        refused, tried = refused or name, replace(tried, **changed)
        work = Simplification(rings, tried)
    if refused is None:
        return work.bound["taken"], work.bound["vanished"]
    what = "a part" if refused == "part_vertices" else "a map and level"
    expected = f"at least {getattr(tried, refused):,}: {what} here needs that many to cover its cells"
    raise wrong(refused, rings.masks.stack.caller, expected, f"{getattr(goal, refused):,}")


class Simplification:
    """The rings of all levels, with memory for the removals of one level after the other."""

    def __init__(self, rings: DeviceRings, goal: Goal) -> None:
        self.rings, self.goal, self.masks = rings, goal, rings.masks
        self.session = session = rings.masks.session
        self.levels, self.maps, n = len(rings.masks.levels.given), rings.masks.maps, rings.corners
        stack = rings.masks.stack
        self.words = (stack.columns + 32) // 32  # of a line of a bitmap
        self.stride = self.words * (stack.rows + 1)  # of a map
        self.params = {"bounded": goal.tolerance is not None, "wide": max(stack.rows, stack.columns) > NARROW}
        tolerance = np.inf if goal.tolerance is None else goal.tolerance
        # rounded down, and by more than the three roundings of the kernel's comparison
        self.tolerance = np.float32(min(tolerance * tolerance * (1 - 2.0**-20), 1e30))
        vertices, cells = np.diff(rings.facts, axis=0).T
        of_levels = vertices.reshape(self.maps, self.levels).T
        self.counts = of_levels.sum(axis=1).tolist()
        longest = 4 * max(self.counts)  # bytes of a list with all vertices of a level
        self.bound: dict[str, Any] = {
            **rings.memory,
            "nodes": allocate(session, 16 * n),
            **{name: allocate(session, longest) for name in ("alive_0", "alive_1", "chosen", "dirty")},
            "candidates": allocate(session, ROUNDS * longest),  # each round of a limit lists a vertex at most once
            "taken": allocate(session, n),
            "vanished": filled_buffer(session, np.uint8(0), rings.rings),
            "bitmaps": allocate(session, 4 * self.stride * self.maps),
            "rooms": new_buffer(session, _allowed_gains(cells, goal)),
            "wanted": new_buffer(session, _wanted_removals(vertices, goal)),
            "before": new_buffer(session, np.cumsum(np.insert(of_levels, 0, 0, axis=1), axis=1).astype(UINT)),
            "states": new_buffer(session, self.states()),  # now, since a copy from the host waits for what is enqueued
        }
        self.nested = self.levels > 1 or goal.apart
        if self.nested:
            self.bound["outer"] = filled_buffer(session, np.uint32(0), self.stride * self.maps)
        self.is_first = True

    def states(self) -> np.ndarray:
        """Return the words of each level before the first limit, which is 1."""
        states = np.zeros((self.levels, MAPS + MAP_WORDS * self.maps), UINT)
        states[:, ACTIVE], states[:, LEVEL] = self.maps, np.arange(self.levels)
        states[:, ALL] = self.goal.part_vertices is not None
        states[:, MAPS::MAP_WORDS], states[:, MAPS + 1 :: MAP_WORDS] = 2, NEVER
        return states

    def all_levels(self) -> tuple[str, int] | None:
        """Simplify all levels; if a budget is too small for one, return its name and what is enough for that level."""
        given, below = self.masks.levels.given, self.masks.levels.below  # the lowest level may demand most
        order = sorted(range(self.levels), key=lambda k: given[k], reverse=below)
        for level in order:
            self.remove(level)
            few = self.removals(level).cut()
            if few is not None:
                return few
            if level != order[-1]:
                self.enclose(level)
        return None

    def removals(self, level: int) -> Removals:
        """Return the removals of a level."""
        removed, last, rounds, limit = (self.head[word] for word in (REMOVED, CUT, ROUND, MOST))
        count, args = self.counts[level], self.level_args
        return Removals(self.rings, self.goal, level, count, args, removed, last, rounds, limit, self.bound)

    def remove(self, level: int) -> None:
        """Remove vertices of a level until every map meets the goal, or nothing more can go."""
        session, profile, n = self.session, self.session.profile, self.counts[level]
        state_bytes = UINT.itemsize * (MAPS + MAP_WORDS * self.maps)
        self.bound["state"] = allocate(session, state_bytes)
        copy(session, self.bound["states"], self.bound["state"], state_bytes, start=level * state_bytes)
        fill(session, self.bound["bitmaps"], np.uint32(0), self.stride * self.maps)
        nested = self.nested and (self.goal.apart or not self.is_first)
        measured = not (self.goal.apart or self.params["bounded"])

        def make(n: int) -> Plan:
            args = ("corners", "saddles", "ring_of", "begins", *self.level_args, *self.bitmap_args)
            args += ("mask_of", "outer" if nested else "bitmaps", "nodes", "taken", "bitmaps", f"alive_{int(measured)}")
            params = {"nested": nested, "measured": measured, "wide": self.params["wide"]}
            plan = Plan(Step.over(profile, BEGIN, (*args, "candidates", "state"), n, params=params, bytes_moved=36 * n))
            if self.goal.apart:  # the vertices of other maps are known only now
                args = ("bitmaps", np.uint32(self.maps), np.uint32(self.stride), "outer")
                plan += Plan(Step.over(profile, OTHERS, args, self.stride, bytes_moved=16 * self.stride * self.maps))
            return plan

        self.run("begun", level, (nested, measured, self.goal.apart), make)
        i, at_once = 0, LIMITS_AT_ONCE_ON_CPUS if profile.is_cpu else LIMITS_AT_ONCE
        self.is_first, self.head = False, [0] * MAPS
        if not n:
            return
        first, *others = self.limits(n, nested=nested, measured=measured)
        while i == 0 or self.head[ACTIVE]:
            for _ in range(at_once):
                run(session, others[i % 2] if i else first, **self.bound)
                i += 1
            self.head = read(session, self.bound["state"], UINT, MAPS).tolist()

    def limits(self, count: int, *, nested: bool, measured: bool) -> list[Plan]:
        """Return the launches for the first limit, and for all even and all odd ones after it.

        Even limits, and the first one, go from the first list of vertices to the second one, odd ones from that to the
        first; lists have at most `count` vertices. The session keeps the launches, since their host time is most of a
        small stack's.
        """
        size = 1 << (count - 1).bit_length()
        sizes = self.maps, self.levels, self.words, self.stride
        key = "limits", size, *sizes, self.tolerance, nested, measured, *self.params.items()

        def make() -> list[Plan]:
            even, odd = (self.limit(size, k, nested).kept() for k in (0, 1))
            return [self.limit(size, 0, nested, measured).kept() if measured else even, even, odd]

        plans: list[Plan] = self.session.cached(key, make, policies=True)
        return plans

    def limit(self, count: int, k: int, nested: bool, measured: bool = False) -> Plan:
        """Return the launches for a limit; `measured` if its candidates are listed."""
        profile, levels = self.session.profile, np.uint32(self.levels)
        measure: tuple[Argument, ...] = ("corners", "saddles", "ring_of", "begins", "mask_of", "facts", levels)
        measure += ("bitmaps", "outer" if nested else "bitmaps", *self.bitmap_args, self.tolerance)
        params, steps = {**self.params, "nested": nested}, []
        for number in range(ROUNDS):
            lists = (f"alive_{k}" if number == 0 else "dirty", f"alive_{1 - k}")
            args = (*measure, np.uint32(max(number - 1, 0)), *lists, "nodes", "candidates", "state")
            own, round_ = {**params, "first": number == 0}, np.uint32(number)
            choose = ("candidates", "mask_of", "facts", round_, "nodes", "chosen", "state")
            remove: tuple[Argument, ...] = ("chosen", "mask_of", "facts", levels, round_, "nodes", "dirty")
            remove += (f"alive_{1 - k}", "state")
            if number > 0 or not measured:
                steps.append(Step.over(profile, MEASURE, args, count, params=own, bytes_moved=40 * count))
            steps += [
                Step.over(profile, CHOOSE, choose, count, bytes_moved=24 * count),
                Step.over(profile, REMOVE, remove, count, bytes_moved=12 * count),
            ]
        advance = ("rooms", "wanted", np.uint32(self.maps), levels, "state")
        steps.append(Step(ADVANCE, select(profile, ADVANCE), advance, 1, bytes_moved=24 * self.maps))
        return Plan(*steps)

    def run(self, kind: str, level: int, key: tuple[Any, ...], make: Callable[[int], Plan]) -> None:
        """Run the plan of ``make(corners)`` for the corners of a level, whose number is rounded up."""
        runs, size = self.rings.runs, self.rings.runs.sized(max(self.counts[level], 1))
        key = (f"vertices {kind}", size, self.maps, self.levels, self.words, self.stride, self.params["wide"], *key)
        numbers: dict[str, np.generic] = {"level": np.uint32(level)}
        runs.run(self.session, key, lambda: (make(size), None), numbers, self.bound, memory=False)

    @property
    def level_args(self) -> tuple[Argument, ...]:
        """Return the arguments by which kernels find the corners of a level."""
        return "before", "facts", np.uint32(self.maps), np.uint32(self.levels), Number("level")

    @property
    def bitmap_args(self) -> tuple[Argument, ...]:
        """Words of a line of a bitmap, and of a map."""
        return np.uint32(self.words), np.uint64(self.stride)

    def enclose(self, level: int) -> None:
        """Let the next level stay within the polygons of this one."""
        fill(self.session, self.bound["outer"], np.uint32(0), self.stride * self.maps)

        def make(n: int) -> Plan:
            args = ("corners", *self.level_args, *self.bitmap_args, "ring_of", "taken", "vanished", "outer")
            return Plan(Step.over(self.session.profile, MARK, args, n, bytes_moved=16 * n))

        self.run("marked", level, (), make)


def _allowed_gains(cells: np.ndarray, goal: Goal) -> np.ndarray:
    """Twice the area that each mask may gain, exactly; uint64."""
    most = (1 << 63) - 1
    if goal.iou is None:
        return np.full(len(cells), most, np.uint64)
    share = 1 / Fraction(goal.iou) - 1
    over, under = share.numerator, share.denominator
    if max(over, under) >= 1 << 62 or 2 * int(cells.max()) * over >= under << 50:
        return np.array([min(2 * area * over // under, most) for area in cells.tolist()], np.uint64)
    # rounded, the quotient is at most 1 away from the exact one; the remainder, modulo 2^64, tells
    areas, divisor = 2 * cells.astype(np.uint64), np.uint64(under)
    rooms = (areas.astype(np.float64) * (over / under)).astype(np.uint64)
    rest = (areas * np.uint64(over) - rooms * divisor).view(np.int64)
    return np.asarray(rooms + (rest >= under) - (rest < 0).astype(np.uint64))


def _wanted_removals(vertices: np.ndarray, goal: Goal) -> np.ndarray:
    """Vertices that each mask must lose, or NEVER_WANTED; int32."""
    if goal.vertices is None:
        return np.full(len(vertices), NEVER_WANTED, np.int32)
    return np.asarray(np.maximum(vertices - min(goal.vertices, NEVER_WANTED), -1), np.int32)
