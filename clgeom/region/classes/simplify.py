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
#: States of vertices: the triangle is not searched yet, is empty, or holds another vertex, which may go later.
OPEN, EMPTY, BLOCKED = range(3)
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
    return _Lines(arcs, goal).simplified(caller) if len(arcs) else arcs


class _Lines:
    """Vertices of all arcs as lists; the last corner of a closed arc without a node is its first one."""

    def __init__(self, arcs: Arcs, goal: Goal) -> None:
        self.arcs, self.goal = arcs, goal
        _, rows, columns = arcs.shape
        sizes, first, last = np.diff(arcs.starts), arcs.starts[:-1], arcs.starts[1:] - 1
        self.x, self.y = np.ascontiguousarray(arcs.corners.T).astype(np.int64)
        self.arc = np.repeat(np.arange(len(arcs)), sizes)
        layer = arcs.layers[arcs.left].astype(np.int64)
        self.width = columns + 1
        self.row = layer[self.arc] * (rows + 1) + self.y  # of all layers, one below the other
        self.place = self.row * self.width + self.x
        begin, end = self.place[first], self.place[last]
        _, number, count = np.unique(np.append(begin, end), return_inverse=True, return_counts=True)
        is_free = (begin == end) & (count[number[: len(arcs)]] == 2)  # closed, and meets no other arc
        self.is_loop, self.edges = begin == end, sizes - 1
        slots = np.arange(len(self.arc))
        self.before, self.behind = slots - 1, slots + 1
        self.before[first[is_free]], self.behind[last[is_free] - 1] = last[is_free] - 1, first[is_free]
        self.first, self.count = first, sizes - is_free  # vertices of each arc
        self.stays = np.zeros(len(self.arc), bool)
        self.stays[first[~is_free]] = self.stays[last] = True
        self.stays |= ((self.x == 0) | (self.x == columns)) & ((self.y == 0) | (self.y == rows))
        if not goal.boundary:
            self.stays |= (arcs.right < 0)[self.arc]
        self.is_there = np.ones(len(self.arc), bool)
        self.is_there[last[is_free]] = False
        # of several arcs between the same two nodes one may become straight: the one that is so, if any
        low, high = np.minimum(begin, end), np.maximum(begin, end)
        order = np.lexsort((self.edges, high, low))
        alone = np.append(True, (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0))
        self.may_be_straight = np.zeros(len(arcs), bool)
        self.may_be_straight[order[alone]] = True
        self.area = np.full(len(self.arc), NEVER)  # twice that of the triangle of a vertex
        self.key = self.area.copy()  # the same for those that may go
        self.state = np.zeros(len(self.arc), np.uint8)
        self.layer = layer
        self.rooms = self._rooms()

    def _rooms(self) -> list[tuple[list[np.ndarray], np.ndarray, bool]]:
        """Return for each budget the owners of arcs, how much each owner may lose, and whether that is an area."""
        arcs, goal, rooms = self.arcs, self.goal, []
        if goal.iou is not None:
            share = 1 - Fraction(goal.iou)
            owner = _numbered(arcs.layers, arcs.values)
            cells = np.bincount(owner, arcs.cells).astype(np.int64)  # exact: below 2**53
            room = [2 * cell * share.numerator // share.denominator for cell in cells.tolist()]
            right = np.append(owner, len(cells))[arcs.right]  # the last one is outside
            rooms.append(([owner[arcs.left], right], np.array([*room, 1 << 62]), True))
        if goal.vertices is not None:
            rooms.append(([self.layer], np.maximum(self.numbers() - min(goal.vertices, NEVER), 0), False))
        return rooms

    def numbers(self) -> np.ndarray:
        """The vertices of each map; nodes count once."""
        _, rows, _ = self.arcs.shape
        places = np.unique(self.place[self.is_there])
        return np.bincount(places // self.width // (rows + 1), minlength=self.arcs.shape[0])

    # The order of removals ------------------------------------------------------------------------------------------

    def simplified(self, caller: str) -> Arcs:
        self.is_open = np.ones(len(self.arcs), bool)  # arcs whose budgets are not spent
        self.close()
        self.measure(np.flatnonzero(self.is_there & ~self.stays))
        limit, again = 2, 4
        while True:
            removed = 0
            for _ in range(ROUNDS):
                removed += self.round(limit)
            least = int(self.key.min(initial=NEVER))
            if least == NEVER or limit >= again:  # what was blocked may be free now
                freed = self.reopen(NEVER if least == NEVER else limit)
                if least == NEVER and not (freed or removed):
                    break
                again = 2 * limit
                least = int(self.key.min(initial=NEVER))
            if least < NEVER:
                limit = max(limit * 5 // 4, limit + 1, least + 1)
        if self.goal.vertices is not None:
            most = int(self.numbers().max(initial=0))
            if most > self.goal.vertices:
                expected = f"at least {most:,}: a map here keeps so many, by its topology and the other limits"
                raise wrong("vertices", caller, expected, f"{self.goal.vertices:,}")
        return self.made()

    def measure(self, vertices: np.ndarray) -> None:
        """Compute the areas of triangles that have changed."""
        p, n, x, y = self.before[vertices], self.behind[vertices], self.x, self.y
        area = (x[vertices] - x[p]) * (y[n] - y[p]) - (x[n] - x[p]) * (y[vertices] - y[p])
        self.area[vertices] = self.key[vertices] = np.abs(area)
        self.state[vertices] = OPEN

    def round(self, limit: int) -> int:
        """Remove the vertices with the least triangles, of less than a limit; return how many."""
        some = np.flatnonzero(self.key < limit)
        some = some[self.is_open[self.arc[some]]]
        unknown = some[self.state[some] == OPEN]
        self.search(unknown)
        some = some[self.key[some] < limit]
        arc = self.arc[some]
        some = some[np.where(self.is_loop[arc], self.edges[arc] > 3, (self.edges[arc] > 2) | self.may_be_straight[arc])]
        key, p, n = self.key[some], self.before[some], self.behind[some]
        least = (key < self.key[p]) | ((key == self.key[p]) & (some < p))
        least &= (key < self.key[n]) | ((key == self.key[n]) & (some < n))
        some = some[least]
        some = some[np.argsort(self.key[some], kind="stable")]
        some = self.within(some[self.keeps_loops(some)])
        self.remove(some)
        if not len(some):  # no more of these: arcs that are as short as may be, or budgets that are spent
            self.key[self.key < limit] = NEVER
        return len(some)

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
            each = np.repeat(amount, len(mine))
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
        changed = np.unique(np.append(p, n))
        self.measure(changed[~self.stays[changed]])

    def reopen(self, limit: int) -> int:
        """Search the triangles, of less than a limit, that were not empty; return how many are now."""
        some = np.flatnonzero((self.state == BLOCKED) & self.is_there & (self.area < limit))
        some = some[self.is_open[self.arc[some]]]
        self.key[some] = self.area[some]
        self.search(some)
        return int((self.key[some] < NEVER).sum())

    # Triangles ------------------------------------------------------------------------------------------------------

    def search(self, some: np.ndarray) -> None:
        """Find out whether vertices may go, by their triangles and the distance of corners from the new edges."""
        near = self.is_near(some)
        self.key[some[~near]], self.state[some[~near]] = NEVER, EMPTY
        some = some[near]
        free = self.is_empty(some)
        self.state[some] = np.where(free, EMPTY, BLOCKED)
        self.key[some[~free]] = NEVER

    def is_empty(self, some: np.ndarray) -> np.ndarray:
        """Return whether the triangles of vertices hold no other vertex."""
        p, n, x, y = self.before[some], self.behind[some], self.x, self.y
        sides = [(p, some), (some, n), (p, n)]
        steps = [np.gcd(x[b] - x[a], y[b] - y[a]) for a, b in sides]
        area = self.area[some]
        found: np.ndarray = (
            area == steps[0] + steps[1] - steps[2]
        )  # no corner but on the sides to the neighbours (Pick)
        found |= area == 0
        left = np.flatnonzero(~found)
        if not len(left):
            return found
        sides = [(a[left], b[left]) for a, b in sides]
        ends = self.row[[p[left], some[left], n[left]]]
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
        count = np.where(inside, self.counts(np.where(inside, row * self.width + most + 1, 0)) - self.counts(first), 0)
        found[left] = np.add.reduceat(count, begins) == 3
        return found

    def counts(self, places: np.ndarray) -> np.ndarray:
        """Return the number of vertices before places, in the order of rows."""
        there = int(self.is_there.sum())
        if getattr(self, "_counted", None) != there:
            layers, rows, _ = self.arcs.shape
            size, own = layers * (rows + 1) * self.width, self.place[self.is_there]
            self._counted, self._is_dense = there, size <= min(MOST_COUNTS, MOST_EACH * len(self.place))
            if self._is_dense:
                marks = np.zeros(size + 1, np.int32)
                marks[own + 1] = 1
                self._table = np.cumsum(marks, out=marks)
            else:
                self._table = np.unique(own)
        return np.asarray(self._table[places] if self._is_dense else np.searchsorted(self._table, places))

    def is_near(self, some: np.ndarray) -> np.ndarray:
        """Return whether all corners between the neighbours of vertices are within the tolerance of the new edge."""
        if self.goal.tolerance is None or not len(some):
            return np.ones(len(some), bool)
        p, n, arc = self.before[some], self.behind[some], self.arc[some]
        between = (n - p) % self.count[arc] - 1
        of = np.repeat(np.arange(len(some)), between)
        begins = np.cumsum(between) - between
        step = np.arange(len(of)) - begins[of] + 1
        first, count = self.first[arc][of], self.count[arc][of]
        corner = first + (p[of] - first + step) % count
        px, py, nx, ny = self.x[p], self.y[p], self.x[n], self.y[n]
        along_x, along_y = (nx - px)[of], (ny - py)[of]
        x, y = self.x[corner] - px[of], self.y[corner] - py[of]
        dot, square = x * along_x + y * along_y, along_x**2 + along_y**2
        cross = x * along_y - y * along_x
        past = np.where(dot < 0, x * x + y * y, np.where(dot > square, (x - along_x) ** 2 + (y - along_y) ** 2, -1))
        away = np.where(past < 0, cross.astype(np.float64) ** 2 / square, past)
        # more than the roundings of the distance around the tolerance, exact fractions decide
        most, rounding = self.goal.tolerance * self.goal.tolerance, 2.0**-48
        near = away <= most * (1 - rounding)
        close = np.flatnonzero(~near & (away <= most * (1 + rounding)))
        if len(close):
            facts, number = np.unique(np.stack([cross, past, square])[:, close], axis=1, return_inverse=True)
            limit = Fraction(self.goal.tolerance) ** 2
            fits = [(Fraction(c * c, s) if p < 0 else p) <= limit for c, p, s in facts.T.tolist()]
            near[close] = np.array(fits)[number.reshape(-1)]
        return np.asarray(np.logical_and.reduceat(near, begins))

    def made(self) -> Arcs:
        """Return the arcs of the vertices that are there."""
        kept = self.is_there.copy()
        sizes = np.add.reduceat(kept, self.first, dtype=np.int64)
        own = np.flatnonzero(kept)
        is_free = np.diff(self.arcs.starts) != self.count
        begins = np.cumsum(sizes) - sizes
        # the first vertex of a closed arc once more, at its end
        own = np.insert(own, (begins + sizes)[is_free], own[begins[is_free]])
        starts = np.append(0, np.cumsum(sizes + is_free))
        return replace(self.arcs, corners=np.ascontiguousarray(self.arcs.corners[own]), starts=starts)


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
