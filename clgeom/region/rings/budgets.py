"""The first removals of vertices that meet a budget, on the device.

removals -> sorted by owner (a map, or a polygon), round, area and number (outward_keys, radix sorts)
         -> sums of areas, or of vertices, in this order (outward_amounts, a scan)
         -> those whose sum since the first one of their owner meets the budget (outward_bounds, outward_take)

Where only the area is limited, the removals before the last limit of each map are within it: the map went on. Then only
those with the last limit are sorted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import allocate, fill, read
from clgeom.core.plan import Argument, Number, Plan, Scratch, Step
from clgeom.primitives.scan import sums_plan
from clgeom.region.rings.runs import UINT
from clgeom.region.rings.trace import ULONG, DeviceRings
from clgeom.sorting.radix.passes import digit_windows, order_plan
from clgeom.sorting.radix.work import features_of

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session

GONE, LIST, KEYS, AMOUNTS, BOUNDS, LEAST, TAKE, SETTLE = (
    f"region/rings/outward_{name}" for name in "gone list keys amounts bounds least take settle".split()
)
#: The word of a state with the result of outward_least, and the words before those of maps, as in cl_src/rings/state.h.
LEAST_WORD, WORDS = 11, 15
#: The first bit of owners that are sorted by apart, as in outward_keys.
OWNERS = 64
#: Of places beyond the removals, where lists of a kept plan are longer than these.
LAST_KEY = np.uint32(0xFFFFFFFF)
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
    level: int
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
        self.area_bits, self.round_bits = self.limit.bit_length(), self.rounds.bit_length()
        numbers = {"level": self.level, "removals": self.count, "polygons": self.rings.polygons}
        numbers |= {"area_bits": self.area_bits, "round_bits": self.round_bits}
        self.numbers: dict[str, np.generic] = {name: np.uint32(number) for name, number in numbers.items()}

    def run(self, kind: str, key: tuple[Any, ...], make: Callable[[int, int], tuple[Any, ...]], **bound: Any) -> Any:
        """Run the plan of ``make(corners, removals)``, for sizes rounded up; return the result, and its memory."""
        runs, masks = self.rings.runs, self.rings.masks
        sizes = runs.sized(max(self.corners, 1)), runs.sized(max(self.count, 1))
        key = (masks.maps, len(masks.levels.given), *sizes, *key)
        key, buffers = (f"removals {kind}", *key), self.bound | bound
        return runs.run(self.session, key, lambda: make(*sizes), self.numbers, buffers, memory=False)

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

        def make(corners: int, _: int) -> tuple[Plan, None]:
            args = (*self.args, "ring_of", "nodes", "state", "taken", "vanished")
            params = {"flag": flag, "last": self.only_last}
            return Plan(Step.over(self.profile, SETTLE, args, corners, params=params, bytes_moved=14 * corners)), None

        self.run("settled", (flag, self.only_last), make)
        return None

    @property
    def owners(self) -> tuple[Argument, ...]:
        """Return the arguments by which kernels find the owners."""
        return "mask_of", self.args[-2], "ring_of", "firsts", Number("polygons")

    def _sorted(self, by_polygon: bool, owners: int) -> cl.Buffer:
        """Return the removed corners by owner, round, area and number."""
        words, session = _words(self.area_bits + self.round_bits, (owners - 1).bit_length()), self.session

        def make(corners: int, m: int) -> tuple[Plan, Scratch]:
            profile, moved = self.profile, 20 * corners
            removed, gone = Scratch("cut_removed", UINT, m), Scratch("cut_gone", UINT, corners + 1)
            args: tuple[Argument, ...] = (*self.args, "nodes", "state", gone)
            plan = Plan(Step.over(profile, GONE, args, corners + 1, params={"last": self.only_last}, bytes_moved=moved))
            plan += sums_plan(profile, gone, gone, prefix="cut_gone")
            args = (*self.args, gone, removed)
            plan += Plan(Step.over(profile, LIST, args, corners, bytes_moved=4 * (corners + m)))
            order, params = removed, {"by_polygon": by_polygon}
            for shift, bits in words:
                args = (*self.owners, order, Number("removals"), "nodes", Number("round_bits"), Number("area_bits"))
                args += (np.uint32(shift), "keys")
                plan += Plan(Step.over(profile, KEYS, args, m, params=params, bytes_moved=24 * m))
                windows, features, prefix = digit_windows((1 << bits) - 1), features_of(session), f"cut_{shift}"
                keys_of_word = Scratch("keys", UINT, m)
                by_key, order = order_plan(profile, keys_of_word, order, features, windows=windows, prefix=prefix)
                plan += by_key
            return plan, order

        keys = filled_buffer(session, LAST_KEY, self.rings.runs.sized(self.count))
        made, order = self.run("sorted", (by_polygon, self.only_last, *words), make, keys=keys)
        buffer: cl.Buffer = made[order]
        return buffer

    def take(self, by_polygon: bool, what: str, budget: int = 0) -> int:
        """Mark the first removals: within the limits of the "area", or those that a budget of "vertices" needs.

        Returns the most vertices that an owner has after all of its removals, for a budget of vertices.
        """
        session, owners = self.session, self.rings.polygons if by_polygon else self.rings.masks.maps
        by_area, limited = what == "area", what == "vertices" and self.goal.iou is not None
        bound: dict[str, Any] = {"bounds": filled_buffer(session, np.uint64(0), 2 * owners)}
        if self.count:
            if by_polygon not in self.orders:
                self.orders[by_polygon] = self._sorted(by_polygon, owners)
            bound["order"] = self.orders[by_polygon]
        if not by_area:
            bound["state"] = filled_buffer(session, np.uint32(0), WORDS)
        self.numbers |= {"budget": np.uint64(budget), "owners": np.uint32(owners)}
        sized = self.rings.runs.sized(owners)

        def make(_: int, m: int) -> tuple[Plan, None]:
            plan, profile, removals, params = Plan(), self.profile, Number("removals"), {"by_polygon": by_polygon}
            if self.count:
                sums, own = Scratch("cut_sums", ULONG, m + 1), {"by_area": by_area, "limited": limited}
                args: tuple[Argument, ...] = ("order", removals, "nodes", "taken", sums)
                plan += Plan(Step.over(profile, AMOUNTS, args, m + 1, params=own, bytes_moved=16 * m))
                plan += sums_plan(profile, sums, sums, prefix="cut_sums")
                args = (*self.owners, "order", removals, sums, "bounds")
                plan += Plan(Step.over(profile, BOUNDS, args, m, params=params, bytes_moved=24 * m))
                args += ("rooms", "begins", "facts", self.args[-1], Number("budget"), "state", "taken")
                own |= {**params, "last": self.only_last}
                plan += Plan(Step.over(profile, TAKE, args, m, params=own, bytes_moved=32 * m))
            if not by_area:
                args = ("owners", "firsts", "begins", "facts", Number("owners"), *self.args[-2:], "bounds", "state")
                plan += Plan(Step.over(profile, LEAST, args, sized, params=params, bytes_moved=24 * sized))
            return plan, None

        self.run("taken", (by_polygon, by_area, limited, self.only_last, self.count > 0, sized), make, **bound)
        return 0 if by_area else int(read(session, bound["state"], UINT, 1, LEAST_WORD)[0])


def filled_buffer(session: Session, value: np.generic, count: int) -> cl.Buffer:
    """Return a buffer of equal numbers."""
    buffer = allocate(session, count * value.itemsize)
    fill(session, buffer, value, count)
    return buffer


def _words(low: int, high: int) -> list[tuple[int, int]]:
    """(first bit, bits) of the words to sort by, lowest first: of low and high bits together, or apart."""
    total = low + high if low + high <= OWNERS else low
    words = [(shift, min(total - shift, 32)) for shift in range(0, total, 32)]
    return words if total > low or not high else [*words, (OWNERS, high)]
