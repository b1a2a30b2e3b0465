"""Outward simplification of the rings of one map and level in plain Python.

The same rounds and limits as in clgeom.region.rings.outward, whose results it has corner by corner.
"""

import math
from fractions import Fraction

import numpy as np

ROUNDS, LARGEST = 2, 0x7FFFFFEF


def cross(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def simplified(polygons, saddles, cells, *, iou=None, vertices=None, part_vertices=None, tolerance=None, around=()):
    """The polygons of one map and level, simplified, without the holes that vanish.

    Parameters
    ----------
    polygons : list of list of list of (int, int)
        The corners of the rings of each polygon.
    saddles : set of (int, int)
    cells : int
        The number of covered cells.
    around : collection of (int, int)
        Corners of the level around.
    """
    corners = [corner for rings in polygons for ring in rings for corner in ring]
    owner = [p for p, rings in enumerate(polygons) for ring in rings for _ in ring]
    removed = _removals(polygons, corners, saddles, tolerance, set(around))
    gone = {index for _, _, index, _ in removed}
    if iou is not None:
        gone = _within(
            [(index, area) for _, area, index, _ in removed], math.floor(2 * cells * (1 / Fraction(iou) - 1))
        )
    needed = []
    if vertices is not None:
        needed.append(_enough(removed, gone, len(corners) - vertices))
    if part_vertices is not None:
        own = [[one for one in removed if owner[one[2]] == p] for p in range(len(polygons))]
        needed.append(set().union(*(_enough(o, gone, owner.count(p) - part_vertices) for p, o in enumerate(own))))
    gone = set().union(*needed) if needed else gone
    made, index = [], 0
    for rings in polygons:
        left = []
        for ring in rings:
            left.append([corner for i, corner in enumerate(ring) if index + i not in gone])
            index += len(ring)
        made.append([ring for ring in left if len(ring) >= 3])
    return made


def _within(amounts, room):
    found, total = set(), 0
    for index, amount in amounts:
        total += amount
        if total <= room:
            found.add(index)
    return found


def _enough(removed, gone, wanted):
    found, total = set(), 0
    for _, _, index, weight in removed:
        if total >= wanted:
            break
        if index in gone:
            found.add(index)
            total += weight
    return found


def _removals(polygons, corners, saddles, tolerance, around):
    """(round, twice the area, corner, vertices that go) of all removals, in order."""
    previous, following, exact, index = {}, {}, {}, 0
    for rings in polygons:
        for ring in rings:
            for i in range(len(ring)):
                following[index + i] = exact[index + i] = index + (i + 1) % len(ring)
                previous[index + (i + 1) % len(ring)] = index + i
            index += len(ring)
    alive, limit, number, removed, taken = list(range(len(corners))), 1, 0, [], set()
    mixed = [index * 2654435761 % 2**32 for index in range(len(corners))]
    squared = None if tolerance is None else np.float32(min(tolerance * tolerance * (1 - 2.0**-20), 1e30))

    def areas_of(vertex):
        """What its removal adds, or None where the vertex stays."""
        p, v, n = (corners[i] for i in (previous[vertex], vertex, following[vertex]))
        area = cross(p, n, v)
        if v in saddles or (p in saddles and n in saddles) or previous[vertex] == following[vertex] or area < 0:
            return None
        return area

    def is_free(vertex):
        p, v, n = (corners[i] for i in (previous[vertex], vertex, following[vertex]))
        if any(cross(p, n, c) >= 0 and cross(n, v, c) > 0 and cross(v, p, c) > 0 for c in corners):
            return False
        low, high = np.min([p, v, n], axis=0), np.max([p, v, n], axis=0)  # the three may be in one line
        near = [c for c in around if c not in (p, n) and low[0] <= c[0] <= high[0] and low[1] <= c[1] <= high[1]]
        if any(min(cross(p, n, c), cross(n, v, c), cross(v, p, c)) >= 0 for c in near):
            return False
        if squared is not None:
            x, y = np.float32(n[0] - p[0]), np.float32(n[1] - p[1])
            hidden = exact[previous[vertex]]
            while hidden != following[vertex]:
                away = np.float32(cross(p, n, corners[hidden]))
                if away * away > squared * (x * x + y * y):
                    return False
                hidden = exact[hidden]
        return True

    while True:
        before, pending = len(removed), None
        for _ in range(ROUNDS):
            number += 1
            keys = {}
            for vertex in alive:
                area = areas_of(vertex)
                if vertex in taken or area is None:
                    continue
                if area > limit:
                    pending = area if pending is None else min(pending, area)
                elif is_free(vertex):
                    keys[vertex] = area, mixed[vertex]
            none = (LARGEST + 1, 0)
            chosen = []
            for vertex, key in keys.items():
                p, q = previous[vertex], following[vertex]
                others = {p, q} | ({previous[p]} if previous[p] == following[q] != vertex else set())
                if all(key < keys.get(other, none) for other in others):
                    chosen.append((number, key[0], vertex, 3 if previous[p] == q else 1))
            for _, _, vertex, _ in chosen:
                p, q = previous[vertex], following[vertex]
                following[p], previous[q] = q, p
                taken.add(vertex)
            removed += sorted(chosen)
        alive = [vertex for vertex in alive if vertex not in taken]
        larger = limit * 5 // 4 + 1
        if len(removed) == before:
            if pending is None:
                return removed
            larger = max(larger, pending)
        limit = min(larger, LARGEST)
