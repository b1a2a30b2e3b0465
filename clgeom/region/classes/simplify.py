"""Simplification of arcs: neighbours share each of them, so there are neither gaps nor overlaps between polygons.

A vertex v with the neighbours p and n on its arc can go if the triangle p, v, n has no other vertex within or on its
sides, and p and n have no edge in common yet: then the new edge crosses and touches nothing, and no vertex changes its
side. So the faces, rings and holes of the simplified arcs are those of the exact ones. All vertices are corners of
cells, and every decision about them is one of integers.

    limit 2, 3, 4, ..  (above twice the area of a triangle; each about 5/4 of the one before)
      two rounds       measure -> choose -> remove: vertices with the least triangle among their neighbours go at once

Vertices that go at once are no neighbours. A vertex that goes leaves the triangles of the others as empty as they were,
so the vertices of a round could also go one after the other, in any order.

M. Visvalingam, J. D. Whyatt, "Line generalisation by repeated elimination of points" (1993).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from clgeom.arguments import wrong
from clgeom.region.classes.arcs import Arcs

#: Of vertices that stay while their neighbours do.
NEVER = np.iinfo(np.int64).max
ROUNDS = 2
#: Most corners of a raster, and for each vertex, with a table that tells how many vertices are before each of them.
MOST_COUNTS, MOST_EACH = 1 << 27, 64


@dataclass(frozen=True)
class Goal:
    """How far arcs are simplified."""

    tolerance: float | None = None  # largest distance of a corner from its new edge, in cells
    iou: float | None = None  # least intersection over union of each class of a map and its cells
    vertices: int | None = None  # at most, of each map; shared ones count once
    boundary: bool = False  # whether boundaries to cells without data are simplified, too


def simplify_arcs(arcs: Arcs, goal: Goal, *, caller: str = "simplify") -> Arcs:
    """Return arcs of fewer corners, with the same faces and rings."""
    if not len(arcs):
        return arcs
    layers, rows, columns = arcs.shape
    layer = arcs.layers[arcs.left].astype(np.int64)
    kept = (arcs.right < 0) & (not goal.boundary)
    work = Vertices(arcs.corners, arcs.starts, kept, rows, columns, goal.tolerance, layer)
    work.least[least_lines(*work.ends)] = 1
    work.rooms = _rooms(arcs, goal, work)
    work.simplify(Obstacles.of(work.place, layers * (rows + 1) * work.width))
    if goal.vertices is not None:
        most = int(work.numbers(layers).max(initial=0))
        if most > goal.vertices:
            expected = f"at least {most:,}: a map here keeps so many, by its topology and the other limits"
            raise wrong("vertices", caller, expected, f"{goal.vertices:,}")
    corners, starts = work.made()
    return replace(arcs, corners=corners, starts=starts)


def _rooms(arcs: Arcs, goal: Goal, work: Vertices) -> list[tuple[list[np.ndarray], np.ndarray, bool]]:
    """Return for each budget the owners of arcs, how much each owner may lose, and whether that is an area."""
    rooms: list[tuple[list[np.ndarray], np.ndarray, bool]] = []
    if goal.iou is not None:
        share = 1 - Fraction(goal.iou)
        owner = _numbered(arcs.layers, arcs.values)
        cells = np.bincount(owner, arcs.cells).astype(np.int64)  # exact: below 2**53
        room = [2 * cell * share.numerator // share.denominator for cell in cells.tolist()]
        right = np.append(owner, len(cells))[arcs.right]  # the last one is outside
        rooms.append(([owner[arcs.left], right], np.array([*room, 1 << 62]), True))
    if goal.vertices is not None:
        rooms.append(([work.layer], np.maximum(work.numbers(arcs.shape[0]) - min(goal.vertices, NEVER), 0), False))
    return rooms


def least_lines(begin: np.ndarray, end: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Return of the lines between each two nodes the one that may become straight: that of the least depth."""
    low, high = np.minimum(begin, end), np.maximum(begin, end)
    order = np.lexsort((depth, high, low))
    alone = np.append(True, (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0))[: len(order)]
    return np.asarray(order[alone & (low != high)[order]])


@dataclass(frozen=True, eq=False)
class Obstacles:
    """All exact corners, by their places in the order of rows."""

    table: np.ndarray  # how many are before each place, or the places of all
    is_dense: bool = False

    @staticmethod
    def of(places: np.ndarray, size: int) -> Obstacles:
        """Return the obstacles at places, of which there are `size`."""
        if size > min(MOST_COUNTS, MOST_EACH * len(places)):
            return Obstacles(distinct(places))
        marks = np.zeros(size + 1, np.int32)
        marks[places + 1] = 1
        return Obstacles(np.cumsum(marks, out=marks), True)

    def before(self, places: np.ndarray) -> np.ndarray:
        """Return the number of corners before places."""
        return np.asarray(self.table[places] if self.is_dense else np.searchsorted(self.table, places))


class Vertices:
    """Vertices of lines, each with its neighbours: those that are there are linked."""

    def __init__(
        self,
        corners: np.ndarray,
        starts: np.ndarray,
        kept: np.ndarray,
        rows: int,
        columns: int,
        tolerance: float | None,
        layer: np.ndarray | int = 0,
    ) -> None:
        self.corners, self.starts, self.tolerance = corners, starts, tolerance
        sizes, first, last = np.diff(starts), starts[:-1], starts[1:] - 1
        self.x, self.y = np.ascontiguousarray(corners.T).astype(np.int64)
        self.arc = np.repeat(np.arange(len(sizes)), sizes)
        self.layer, self.width, self.height = layer + np.zeros(len(sizes), np.int64), columns + 1, rows + 1
        self.row = self.layer[self.arc] * self.height + self.y  # of all layers, one below the other
        self.place = self.row * self.width + self.x
        within = self.place.copy()
        within[first] = within[last] = -1
        #: The places of both ends of lines, and the last place between them
        self.ends = self.place[first], self.place[last], np.maximum.reduceat(within, first)
        self.is_loop, self.edges = self.ends[0] == self.ends[1], sizes - 1
        slots = np.arange(len(self.arc))
        self.before, self.behind = slots - 1, slots + 1
        self.stays = kept[self.arc]
        self.stays[first] = self.stays[last] = True
        self.stays |= ((self.x == 0) | (self.x == columns)) & ((self.y == 0) | (self.y == rows))
        self.is_there = np.ones(len(self.arc), bool)
        self.least = np.where(self.is_loop, 3, 2)  # edges of each line
        self.area = np.full(len(self.arc), NEVER)  # twice that of the triangle of a vertex
        self.key = self.area.copy()  # the same for those that may go
        self.is_known = np.zeros(len(self.arc), bool)  # whether the triangle was searched
        self.rooms: list[tuple[list[np.ndarray], np.ndarray, bool]] = []
        self.is_open = np.ones(len(sizes), bool)  # lines whose budgets are not spent

    def numbers(self, layers: int) -> np.ndarray:
        """The vertices of each map; nodes count once."""
        places = distinct(self.place[self.is_there])
        return np.bincount(places // self.width // self.height, minlength=layers)

    def made(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the corners that are there, and the first one of each line."""
        sizes = np.add.reduceat(self.is_there, self.starts[:-1], dtype=np.int64)
        return self.corners[self.is_there], np.append(0, np.cumsum(sizes))

    # The order of removals ------------------------------------------------------------------------------------------

    def simplify(self, obstacles: Obstacles) -> None:
        """Remove vertices, as far as the tolerance, the obstacles and the budgets allow."""
        self.obstacles = obstacles
        self.close()
        self.measure(np.flatnonzero(~self.stays))
        limit = 2
        while (least := int(self.key.min(initial=NEVER))) < NEVER:
            while limit <= least:  # the same limits for all lines: each is simplified as it would be alone
                limit = max(limit * 5 // 4, limit + 1)
            for _ in range(ROUNDS):
                self.round(min(limit, NEVER))
            limit = max(limit * 5 // 4, limit + 1)

    def measure(self, vertices: np.ndarray) -> None:
        """Compute the areas of triangles that have changed."""
        p, n = self.before[vertices], self.behind[vertices]
        self.area[vertices] = self.key[vertices] = np.abs(self.cross(p, vertices, n))
        self.is_known[vertices] = False

    def round(self, limit: int) -> None:
        """Remove the vertices with the least triangles, of less than a limit."""
        some = np.flatnonzero(self.key < limit)
        may_go = self.is_open[self.arc[some]] & (self.edges > self.least)[self.arc[some]]
        self.key[some[~may_go]] = NEVER
        some = some[may_go]
        self.search(some[~self.is_known[some]])
        some = some[self.key[some] < limit]
        some = self.choose(some)
        some = some[np.argsort(self.key[some], kind="stable")]
        self.remove(self.within(some[self.keeps_loops(some)]))

    def choose(self, some: np.ndarray) -> np.ndarray:
        """Return the vertices whose triangles are less than their neighbours'; of equal ones in a row every other."""
        key, p, n = self.key[some], self.before[some], self.behind[some]
        follows = np.append(False, (n[:-1] == some[1:]) & (key[:-1] == key[1:]))[: len(some)]
        leads, places = np.append(follows[1:], False)[: len(some)], np.arange(len(some))
        is_even = (places - np.maximum.accumulate(np.where(follows, 0, places))) % 2 == 0
        below = follows | (key < self.key[p]) | ((key == self.key[p]) & (some < p))
        below &= leads | (key < self.key[n]) | ((key == self.key[n]) & (some < n))
        return np.asarray(some[below & is_even])

    def keeps_loops(self, some: np.ndarray) -> np.ndarray:
        """Of a closed arc with four edges only the first vertex may go: it keeps three."""
        arc = self.arc[some]
        is_small, kept = self.is_loop[arc] & (self.edges[arc] == 4), np.ones(len(some), bool)
        small = np.flatnonzero(is_small)
        kept[small] = False
        kept[small[np.unique(arc[small], return_index=True)[1]]] = True
        return kept

    def within(self, some: np.ndarray) -> np.ndarray:
        """Return the vertices, of those in the order of their areas, that the budgets allow; spend these."""
        kept = np.ones(len(some), bool)
        if not self.rooms:
            return some
        spent = [
            (np.stack(owners)[:, self.arc[some]], self.area[some] if is_area else np.ones(len(some), np.int64), room)
            for owners, room, is_area in self.rooms
        ]
        for mine, amount, room in spent:
            each = np.repeat(np.where(kept, amount, 0), len(mine))  # what a budget refuses does not count for the next
            kept &= _first_within(mine.T.ravel(), each, room).reshape(-1, len(mine)).all(axis=1)
        for mine, amount, room in spent:
            for one in mine:
                np.subtract.at(room, one[kept], amount[kept])
        self.close()
        self.key[some[~kept]] = NEVER
        return some[kept]

    def close(self) -> None:
        """Leave arcs as they are whose budgets are spent."""
        for owners, room, _ in self.rooms:
            for owner in owners:
                self.is_open &= room[owner] > 0

    def remove(self, some: np.ndarray) -> None:
        p, n = self.before[some], self.behind[some]
        self.behind[p], self.before[n] = n, p
        self.is_there[some], self.key[some], self.area[some] = False, NEVER, NEVER
        np.subtract.at(self.edges, self.arc[some], 1)
        changed = distinct(np.append(p, n))
        self.measure(changed[~self.stays[changed]])

    # Triangles ------------------------------------------------------------------------------------------------------

    def search(self, some: np.ndarray) -> None:
        """Find out whether vertices may go, by their triangles and the distance of corners from the new edges."""
        self.is_known[some] = True
        free = self.is_near(some)
        free[free] = self.is_empty(some[free])
        self.key[some[~free]] = NEVER

    def is_empty(self, some: np.ndarray) -> np.ndarray:
        """Return whether the triangles of vertices hold no corner but those that went between their neighbours."""
        p, n, x, y = self.before[some], self.behind[some], self.x, self.y
        sides = [(p, some), (some, n), (p, n)]
        steps = [np.gcd(x[b] - x[a], y[b] - y[a]) for a, b in sides]
        area = self.area[some]
        # no corner but on the sides to the neighbours (Pick)
        found: np.ndarray = (area == steps[0] + steps[1] - steps[2]) | (area == 0)
        left = np.flatnonzero(~found)
        if not len(left):
            return found
        some, sides = some[left], [(a[left], b[left]) for a, b in sides]
        ends = self.row[[p[left], some, n[left]]]
        low, high = ends.min(axis=0), ends.max(axis=0)
        rows = high - low + 1
        of = np.repeat(np.arange(len(left)), rows)
        begins = np.cumsum(rows) - rows
        row = low[of] + np.arange(len(of)) - begins[of]
        least, most = np.full(len(of), NEVER), np.full(len(of), -1)
        for a, b in sides:
            above = self.row[a] <= self.row[b]
            a, b = np.where(above, a, b), np.where(above, b, a)
            down, over = self.row[b] - self.row[a], x[b] - x[a]
            some_row = row - self.row[a][of]
            at = np.flatnonzero((some_row >= 0) & (some_row <= down[of]) & (down[of] > 0))
            own = of[at]
            shift = some_row[at] * over[own]
            least[at] = np.minimum(least[at], x[a][own] - (-shift) // down[own])
            most[at] = np.maximum(most[at], x[a][own] + shift // down[own])
        inside = least <= most
        first = np.where(inside, row * self.width + least, 0)
        count = np.where(
            inside,
            self.obstacles.before(np.where(inside, row * self.width + most + 1, 0)) - self.obstacles.before(first),
            0,
        )
        found[left] = np.add.reduceat(count, begins) == 2 + self.between_inside(some)
        return found

    def between_inside(self, some: np.ndarray) -> np.ndarray:
        """Return how many corners between the neighbours of vertices are in their triangles."""
        of, corner, begins = self.between(some)
        turn = np.sign(self.cross(self.before[some], some, self.behind[some]))[of]
        p, v, n = self.before[some][of], some[of], self.behind[some][of]
        inside = (self.cross(p, v, corner) * turn >= 0) & (self.cross(v, n, corner) * turn >= 0)
        inside &= self.cross(n, p, corner) * turn >= 0
        return np.add.reduceat(inside, begins, dtype=np.int64)

    def cross(self, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return twice the areas of triangles, with the sign of their turn."""
        x, y = self.x, self.y
        return np.asarray((x[b] - x[a]) * (y[c] - y[a]) - (x[c] - x[a]) * (y[b] - y[a]))

    def between(self, some: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the exact corners between the neighbours of vertices: (the vertex of each, corners, their begins)."""
        first = self.before[some] + 1
        sizes = self.behind[some] - first
        of = np.repeat(np.arange(len(some)), sizes)
        begins = np.cumsum(sizes) - sizes
        return of, np.arange(len(of)) + (first - begins)[of], begins

    def is_near(self, some: np.ndarray) -> np.ndarray:
        """Return whether all corners between the neighbours of vertices are within the tolerance of the new edge."""
        if self.tolerance is None or not len(some):
            return np.ones(len(some), bool)
        of, corner, begins = self.between(some)
        p, n = self.before[some], self.behind[some]
        px, py, nx, ny = self.x[p], self.y[p], self.x[n], self.y[n]
        along_x, along_y = (nx - px)[of], (ny - py)[of]
        x, y = self.x[corner] - px[of], self.y[corner] - py[of]
        dot, square = x * along_x + y * along_y, along_x**2 + along_y**2
        cross = x * along_y - y * along_x
        past = np.where(dot < 0, x * x + y * y, np.where(dot > square, (x - along_x) ** 2 + (y - along_y) ** 2, -1))
        away = np.where(past < 0, cross.astype(np.float64) ** 2 / square, past)
        # more than the roundings of the distance around the tolerance, exact fractions decide
        most, rounding = self.tolerance * self.tolerance, 2.0**-48
        near = away <= most * (1 - rounding)
        close = np.flatnonzero(~near & (away <= most * (1 + rounding)))
        if len(close):
            facts, number = np.unique(np.stack([cross, past, square])[:, close], axis=1, return_inverse=True)
            limit = Fraction(self.tolerance) ** 2
            fits = [(Fraction(c * c, s) if p < 0 else p) <= limit for c, p, s in facts.T.tolist()]
            near[close] = np.array(fits)[number.reshape(-1)]
        return np.asarray(np.logical_and.reduceat(near, begins))


def distinct(values: np.ndarray) -> np.ndarray:
    """Return distinct values in order, by a sort: `numpy.unique` may hash them, which takes longer."""
    made = np.sort(values)
    return np.asarray(made[np.append(True, made[1:] != made[:-1])[: len(made)]])


def _numbered(layers: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a number from 0 on for each pair of a layer and a class."""
    own = np.unique(values, return_inverse=True)[1].reshape(-1)
    numbers = np.unique(layers.astype(np.int64) * (own.max(initial=0) + 1) + own, return_inverse=True)[1]
    return np.asarray(numbers).reshape(-1)


def _first_within(owner: np.ndarray, amount: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Return the members for which the sum over their owner up to them is within its room."""
    order = np.argsort(owner, kind="stable")
    sums, own = np.cumsum(amount[order]), owner[order]
    is_first = np.append(True, own[1:] != own[:-1])[: len(own)]
    before = (sums - amount[order])[is_first][np.cumsum(is_first) - 1]
    found = np.empty(len(owner), bool)
    found[order] = sums - before <= room[own]
    return found
