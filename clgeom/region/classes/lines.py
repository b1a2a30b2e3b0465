"""Lines between faces as arrays: pieces of them are joined to arcs, and arcs to the rings of faces, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.geo.ragged import ranges_of
from clgeom.intake.typing import NDArray
from clgeom.region.classes.arcs import Arcs, no_arcs


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines of corners, each with the faces at both sides; -1 is none, or one that is done with."""

    corners: NDArray[np.int32]
    starts: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.left)

    @staticmethod
    def none() -> Lines:
        return Lines(np.empty((0, 2), np.int32), np.zeros(1, np.int64), *(np.empty(0, np.int64) for _ in "lr"))

    @staticmethod
    def joined(*parts: Lines) -> Lines:
        """Return the lines of several, one after the other."""
        sizes = np.concatenate([np.diff(one.starts) for one in parts])
        corners, left, right = (np.concatenate([getattr(one, name) for one in parts]) for name in FIELDS)
        return Lines(corners, np.append(0, np.cumsum(sizes)), left, right)

    @property
    def first(self) -> NDArray[np.int32]:
        return self.corners[self.starts[:-1]]

    @property
    def last(self) -> NDArray[np.int32]:
        return self.corners[self.starts[1:] - 1]

    def some(self, chosen: NDArray[np.bool_]) -> Lines:
        """Return some of the lines."""
        own, starts = ranges_of(self.starts, np.flatnonzero(chosen))
        return Lines(_taken(self.corners, own), starts, self.left[chosen], self.right[chosen])

    def beside(self, numbers: NDArray[np.int64]) -> Lines:
        """Return the lines with new numbers of faces; the last number is that of none."""
        return Lines(self.corners, self.starts, numbers[self.left], numbers[self.right])


FIELDS = ("corners", "left", "right")


def _taken(corners: NDArray[np.int32], chosen: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return some corners, moved as words of 64 bits, which takes a fraction of the time."""
    return np.ascontiguousarray(corners).view(np.int64)[chosen].view(np.int32)


def chained(lines: Lines, behind: NDArray[np.int64]) -> Lines:
    """Return lines joined with those behind them (-1: none), without corners where they go straight on.

    A line that closes so begins at the leftmost of its topmost corners.
    """
    order, sizes, loops = _orders(behind)
    begins = np.append(0, np.cumsum(sizes))
    own, pieces = ranges_of(lines.starts, order)
    kept = np.ones(len(own), bool)
    is_last = np.zeros(len(order), bool)
    is_last[begins[1:] - 1] = True
    joints = pieces[1:][~is_last]  # the first corners of next pieces, which are the last ones of those before
    kept[joints - 1] = False
    kept[joints] = ~_straight(*(lines.corners[own[joints + step]] for step in (-2, 0, 1)))
    starts = np.append(0, np.cumsum(np.add.reduceat(kept, pieces[begins[:-1]], dtype=np.int64))) if len(own) else begins
    corners, heads = _taken(lines.corners, own[kept]), order[begins[:-1]]
    opened = len(loops) - np.count_nonzero(loops)  # closed chains are the last ones
    if opened < len(loops):
        closed, ends = _closed(corners[starts[opened] :], starts[opened:] - starts[opened])
        corners = np.append(corners[: starts[opened]], closed, axis=0)
        starts = np.append(starts[:opened], ends + starts[opened])
    return Lines(corners, starts, lines.left[heads], lines.right[heads])


def _straight(before: NDArray[np.int32], corners: NDArray[np.int32], behind: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return whether lines along cells go straight on at corners."""
    return np.asarray(((before == corners) & (corners == behind)).any(axis=1))


def _orders(behind: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return chains of members, one after the other, their sizes, and whether each is closed."""
    after = behind.tolist()
    order: list[int] = []
    sizes: list[int] = []
    loops: list[bool] = []
    is_head = np.ones(len(after), bool)
    is_head[behind[behind >= 0]] = False
    passed = bytearray(len(after))
    for head in [*np.flatnonzero(is_head).tolist(), *np.flatnonzero(~is_head).tolist()]:
        if passed[head]:
            continue
        at, before = head, len(order)
        while at >= 0 and not passed[at]:
            passed[at] = 1
            order.append(at)
            at = after[at]
        sizes.append(len(order) - before)
        loops.append(at == head)
    return np.array(order, np.int64), np.array(sizes, np.int64), np.array(loops, bool)


def _closed(corners: NDArray[np.int32], starts: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return closed chains from the leftmost of their topmost corners on, where they turn."""
    kept, first, last = np.ones(len(corners), bool), starts[:-1], starts[1:] - 1
    kept[last] = False  # closed again below
    kept[first] = ~_straight(corners[last - 1], corners[first], corners[first + 1])
    sizes = np.add.reduceat(kept, first, dtype=np.int64)
    corners, begins = corners[kept], np.append(0, np.cumsum(sizes))
    key = corners[:, 1].astype(np.int64) << 32 | corners[:, 0]
    least = np.flatnonzero(key == np.repeat(np.minimum.reduceat(key, begins[:-1]), sizes))
    made = np.append(0, np.cumsum(sizes + 1))
    place = np.arange(made[-1]) - np.repeat(made[:-1], sizes + 1) + np.repeat(least - begins[:-1], sizes + 1)
    return corners[np.repeat(begins[:-1], sizes + 1) + place % np.repeat(sizes, sizes + 1)], made


def faces_of(lines: Lines, values: NDArray[Any], cells: NDArray[np.int64], regions: NDArray[Any], shape: Any) -> Arcs:
    """Return faces with all lines around them, which are complete, as `Arcs`; lines may have faces of others beside."""
    if not len(lines):
        return no_arcs(shape, values.dtype)
    arc, side = np.nonzero(np.stack([lines.left, lines.right], axis=1) >= 0)
    face = np.where(side, lines.right[arc], lines.left[arc])
    after = _following(lines, arc, side, face)
    leader = _leaders(after)
    order = np.lexsort((_ranks(after, leader), leader))  # rings by their least arcs
    begins = np.append(np.flatnonzero(np.diff(leader[order], prepend=-1)), len(order))
    areas = np.add.reduceat(np.where(side, -1, 1)[order] * _areas(lines)[arc[order]], begins[:-1])
    owner = face[order[begins[:-1]]]
    sorted_rings = np.lexsort((areas < 0, owner))  # stable: holes by their least arcs
    own, ring_starts = ranges_of(begins, sorted_rings)
    halves = order[own]
    face_rings = np.append(0, np.cumsum(np.bincount(owner, minlength=len(values))))
    ring_arcs = np.where(side, ~arc, arc)[halves].astype(np.int32)
    return as_arcs(shape, lines, values, cells, regions, face_rings, ring_starts, ring_arcs)


def as_arcs(
    shape: Any, lines: Lines, values: NDArray[Any], cells: NDArray[np.int64], regions: Any, *rings: Any
) -> Arcs:
    """Return lines, the faces beside them and their rings, as `Arcs` has them, of a raster of one layer."""
    sides = lines.left.astype(np.int32), lines.right.astype(np.int32)
    layers, regions = np.zeros(len(values), np.int32), numbered(regions).astype(np.int32)
    return Arcs(shape, lines.corners, lines.starts, *sides, values, layers, cells, regions, *rings)


def numbered(regions: NDArray[Any]) -> NDArray[np.int64]:
    """Return numbers of regions in the order of their first faces."""
    _, first, number = np.unique(regions, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number.reshape(-1)])


def _areas(lines: Lines) -> NDArray[np.int64]:
    """Return for each line the sum over its edges of what they add to twice the area of a ring."""
    x, y = lines.corners.T.astype(np.int64)
    each = np.append(x[:-1] * y[1:] - x[1:] * y[:-1], 0)
    each[lines.starts[1:] - 1] = 0
    return np.add.reduceat(each, lines.starts[:-1])


def _following(lines: Lines, arc: Any, side: Any, face: Any) -> NDArray[np.int64]:
    """Return the half of a line after each half on the ring of its face, the one to the right of two."""
    first, last = lines.first.astype(np.int64), lines.last.astype(np.int64)
    width = int(lines.corners[:, 0].max()) + 1
    ends = np.stack([first, last])[:, :, 1] * width + np.stack([first, last])[:, :, 0]
    nodes = np.unique(ends, return_inverse=True)[1].reshape(2, -1)
    count = int(nodes.max()) + 1
    begin, end = face * count + nodes[side, arc], face * count + nodes[1 - side, arc]
    out, back = (lines.corners[lines.starts[:-1] + 1] - first).T, (lines.corners[lines.starts[1:] - 2] - last).T
    leaves, comes = np.where(side, back[:, arc], out[:, arc]), np.where(side, out[:, arc], back[:, arc])
    order = np.argsort(begin, kind="stable")
    own = begin[order]
    at = np.searchsorted(own, end)
    other = np.minimum(at + 1, len(own) - 1)
    two = np.flatnonzero((own[other] == end) & (other > at))
    one, choice, comes = leaves[:, order[at[two]]], leaves[:, order[other[two]]], comes[:, two]
    # which of the two is the first one to the left of where it comes from
    half = [np.sign(_cross(comes, some)) for some in (one, choice)]
    is_other = np.where(half[0] == half[1], _cross(one, choice) < 0, half[1] > half[0])
    at[two[is_other]] += 1
    return np.asarray(order[at])


def _cross(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(one[0] * other[1] - one[1] * other[0])


def _leaders(after: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the least member of the cycle of each member."""
    least, far = np.minimum(np.arange(len(after)), after), after[after]
    active = np.arange(len(after))
    while True:
        differ = active[least[active] != least[after[active]]]
        if not len(differ):
            return np.asarray(least)
        is_open = np.zeros(len(after), bool)
        is_open[least[differ]] = is_open[least[after[differ]]] = True
        active = active[is_open[least[active]]]
        least[active], far[active] = np.minimum(least[active], least[far[active]]), far[far[active]]


def _ranks(after: NDArray[np.int64], leader: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of steps to each member from the leader of its cycle."""
    before = np.empty_like(after)
    before[after] = np.arange(len(after))
    is_leader = leader == np.arange(len(after))
    before[is_leader] = np.flatnonzero(is_leader)
    rank = (~is_leader).astype(np.int64)
    active = np.flatnonzero(before != leader)
    while len(active):
        rank[active] += rank[before[active]]
        before[active] = before[before[active]]
        active = active[before[active] != leader[active]]
    return np.asarray(rank)


def united(count: int, one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.int64]:
    """Return the least member of the set of each of `count` members, of which pairs are in one set."""
    parents: NDArray[np.int64] = np.arange(count)
    while True:
        a, b = parents[one], parents[other]
        differ = a != b
        if not differ.any():
            return parents
        one, other, a, b = one[differ], other[differ], a[differ], b[differ]
        np.minimum.at(parents, np.maximum(a, b), np.minimum(a, b))
        while True:  # to the roots
            up = parents[parents]
            if (up == parents).all():
                break
            parents = up
