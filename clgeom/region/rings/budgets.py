"""The first removals of vertices that meet a budget, on the device.

removals -> sorted by owner (a map, or a polygon), round, area and number (outward_keys, radix sorts)
         -> sums of areas, or of vertices, in this order (outward_amounts, a scan)
         -> those whose sum since the first one of their owner meets the budget (outward_bounds, outward_take)

Where only the area is limited, the removals before the last limit of each map are within it: the map went on. Then only
those with the last limit are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import allocate, fill, read, run
from clgeom.core.plan import Argument, Plan, Scratch, Step
from clgeom.primitives.scan import sums_plan
from clgeom.region.rings.runs import UINT
from clgeom.region.rings.trace import ULONG, DeviceRings
from clgeom.sorting.radix.passes import digit_windows, radix_plan
from clgeom.sorting.radix.work import features_of

if TYPE_CHECKING:
    import pyopencl as cl

GONE, LIST, KEYS, AMOUNTS, BOUNDS, LEAST, TAKE, SETTLE = (
    f"region/rings/outward_{name}" for name in "gone list keys amounts bounds least take settle".split()
)
#: The word of a state with the result of outward_least, and the words before those of maps, as in cl_src/rings/state.h.
LEAST_WORD, WORDS = 11, 15
#: The first bit of owners that are sorted by apart, as in outward_keys.
OWNERS = 64
#: Flags of removals, as in cl_src/rings/cut.h.
WITHIN, NEEDED = 1, 2


@dataclass(frozen=True)
class Goal:
    """How far rings are simplified."""

    vertices: int | None = None  # at most, of each map and level
    part_vertices: int | None = None  # at most, of each polygon
    tolerance: float | None = None  # largest distance of a new edge from the corners behind it, in cells
    iou: float | None = None  # least intersection over union of the polygons and the cells of each map and level
    apart: bool = False  # whether polygons of different maps and one level stay apart, too


@dataclass(eq=False)
class Removals:
    """The removals of a level, or those with the last limits, in the orders of their owners: maps, or polygons."""

    rings: DeviceRings
    goal: Goal
    corners: int
    args: tuple[Argument, ...]  # by which kernels find the corners
    removed: int
    last: int  # removals with the last limit of each map
    rounds: int
    limit: int  # the largest one
    bound: dict[str, Any]  # buffers by name
    orders: dict[bool, cl.Buffer] = field(default_factory=dict)  # removed corners by owner, round, area and number

    def __post_init__(self) -> None:
        self.session, goal = self.rings.masks.session, self.goal
        self.profile = self.session.profile
        self.only_last = goal.iou is not None and goal.vertices is None and goal.part_vertices is None
        self.count = self.last if self.only_last else self.removed

    def cut(self) -> tuple[str, int] | None:
        """Mark the removals that the goal asks for in `taken`, and the holes that vanish by them in `vanished`.

        If a budget of vertices is too small, return its name and the least that is enough.
        """
        goal = self.goal
        if goal.iou is not None and self.count:
            self.take(False, "area")
        flag = WITHIN if goal.iou is not None else 0
        # of each polygon a budget takes the first removals: both together take the longer one of two such starts
        for name, budget in (("vertices", goal.vertices), ("part_vertices", goal.part_vertices)):
            if budget is None:
                continue
            least = self.take(name == "part_vertices", "vertices", budget)
            if least > budget:
                return name, least
            flag = NEEDED
        n, params = self.corners, {"flag": flag, "last": self.only_last}
        args = (*self.args, "ring_of", "nodes", "state", "taken", "vanished")
        plan = Plan(Step.over(self.profile, SETTLE, args, n, params=params, bytes_moved=14 * n))
        run(self.session, plan, **self.bound)
        return None

    def owners(self, by_polygon: bool) -> tuple[int, tuple[Argument, ...]]:
        """Return the number of owners, and the arguments by which kernels find them."""
        levels = self.args[-2]
        count = self.rings.polygons if by_polygon else self.rings.masks.maps
        return count, ("mask_of", levels, "ring_of", "firsts", np.uint32(self.rings.polygons))

    def _sorted(self, by_polygon: bool) -> cl.Buffer:
        profile, m, n = self.profile, self.count, self.corners
        removed, gone = Scratch("cut_removed", UINT, m), Scratch("cut_gone", UINT, n + 1)
        args = self.args
        which = (*args, "nodes", "state", gone)
        plan = Plan(Step.over(profile, GONE, which, n + 1, params={"last": self.only_last}, bytes_moved=20 * n))
        plan += sums_plan(profile, gone, gone, prefix="cut_gone")
        plan += Plan(Step.over(profile, LIST, (*args, gone, removed), n, bytes_moved=4 * (n + m)))
        made = run(self.session, plan, **self.bound)  # the device works while the rest is planned
        plan = Plan()
        count, owners = self.owners(by_polygon)
        area_bits, round_bits = self.limit.bit_length(), self.rounds.bit_length()
        order, owner_bits = removed, (count - 1).bit_length()
        for shift, some in _words(area_bits + round_bits, owner_bits):
            keys = Scratch(f"cut_keys_{shift}", UINT, m)
            args = (*owners, order, np.uint32(m), "nodes", np.uint32(round_bits), np.uint32(area_bits))
            args += (np.uint32(shift), keys)
            plan += Plan(Step.over(profile, KEYS, args, m, params={"by_polygon": by_polygon}, bytes_moved=24 * m))
            by_key, _, order = radix_plan(
                profile,
                keys,
                m,
                UINT,
                payload=order,
                keep_keys=False,
                windows=digit_windows((1 << some) - 1),
                features=features_of(self.session),
                prefix=f"cut_{shift}",
            )
            plan += by_key
        bound: dict[str, Any] = made.buffers
        return run(self.session, plan, **bound)[order]

    def take(self, by_polygon: bool, what: str, budget: int = 0) -> int:
        """Mark the first removals: within the limits of the "area", or those that a budget of "vertices" needs.

        Returns the most vertices that an owner has after all of its removals, for a budget of vertices.
        """
        profile, session, m = self.profile, self.session, self.count
        count, owners = self.owners(by_polygon)
        by_area, limited = what == "area", what == "vertices" and self.goal.iou is not None
        bounds = allocate(session, 16 * count)
        fill(session, bounds, np.uint64(0), 2 * count)
        bound, plan, params = {**self.bound, "bounds": bounds}, Plan(), {"by_polygon": by_polygon}
        if m:
            if by_polygon not in self.orders:
                self.orders[by_polygon] = self._sorted(by_polygon)
            bound["order"] = self.orders[by_polygon]
            sums, own = Scratch("cut_sums", ULONG, m + 1), {"by_area": by_area, "limited": limited}
            amounts = ("order", np.uint32(m), "nodes", "taken", sums)
            plan += Plan(Step.over(profile, AMOUNTS, amounts, m + 1, params=own, bytes_moved=16 * m))
            plan += sums_plan(profile, sums, sums, prefix="cut_sums")
            args = (*owners, "order", np.uint32(m), sums, "bounds")
            plan += Plan(Step.over(profile, BOUNDS, args, m, params=params, bytes_moved=24 * m))
            args = (*args, "rooms", "begins", "facts", self.args[-1], np.uint64(budget), "state", "taken")
            own |= {**params, "last": self.only_last}
            plan += Plan(Step.over(profile, TAKE, args, m, params=own, bytes_moved=32 * m))
        if by_area:
            run(session, plan, **bound)
            return 0
        args = ("owners", "firsts", "begins", "facts", np.uint32(count), *self.args[-2:], "bounds", "state")
        plan += Plan(Step.over(profile, LEAST, args, count, params=params, bytes_moved=24 * count))
        bound["state"] = allocate(session, 4 * WORDS)
        fill(session, bound["state"], np.uint32(0), WORDS)
        run(session, plan, **bound)
        return int(read(session, bound["state"], UINT, 1, LEAST_WORD)[0])


def _words(low: int, high: int) -> list[tuple[int, int]]:
    """(first bit, bits) of the words to sort by, lowest first: of low and high bits together, or apart."""
    total = low + high if low + high <= OWNERS else low
    words = [(shift, min(total - shift, 32)) for shift in range(0, total, 32)]
    return words if total > low or not high else [*words, (OWNERS, high)]
