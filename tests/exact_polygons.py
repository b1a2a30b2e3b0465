"""Predicates on polygons whose vertices are whole numbers, in integers and fractions, without any package.

A polygon is a list of rings, lists of (x, y) that are not closed; what lies in an odd number of rings is inside.
"""

import itertools
from fractions import Fraction

import numpy as np


def turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def is_between(a, b, c):
    """Whether c, on the line through a and b, is strictly between them."""
    return turn(a, b, c) == 0 and c not in (a, b) and all(min(p, q) <= r <= max(p, q) for p, q, r in zip(a, b, c))


def edges_of(rings):
    return [(a, b) for ring in rings for a, b in zip(ring, [*ring[1:], ring[0]])]


def boxes_apart(a, b, c, d):
    return any(max(a[k], b[k]) < min(c[k], d[k]) or max(c[k], d[k]) < min(a[k], b[k]) for k in (0, 1))


def no_edges_cross(edges):
    """Whether edges have no points in common but ends."""
    for (a, b), (c, d) in itertools.combinations(edges, 2):
        if boxes_apart(a, b, c, d):
            continue
        if {a, b} == {c, d} or any(
            (is_between(a, b, c), is_between(a, b, d), is_between(c, d, a), is_between(c, d, b))
        ):
            return False
        if turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0:
            return False
    return True


def twice_area(ring):
    return sum(a[0] * b[1] - a[1] * b[0] for a, b in edges_of([ring]))


def place(point, edges):
    """1 inside, 0 on an edge, -1 outside; the point may be of fractions."""
    odd, (x, y) = False, point
    for a, b in edges:
        if (a[1] > y) != (b[1] > y):
            side = turn(a, b, point)
            if side == 0:
                return 0
            odd ^= (side > 0) == (b[1] > a[1])
        elif turn(a, b, point) == 0 and all(min(p, q) <= r <= max(p, q) for p, q, r in zip(a, b, (x, y))):
            return 0
    return 1 if odd else -1


def pieces(edges, others):
    """The middles of the pieces into which the other edges cut edges, as fractions."""
    for a, b in edges:
        cuts = {Fraction(0), Fraction(1)}
        along = (b[0] - a[0], b[1] - a[1])
        length = along[0] ** 2 + along[1] ** 2
        for c, d in others:
            if boxes_apart(a, b, c, d):
                continue
            one, two = turn(a, b, c), turn(a, b, d)
            if one == two == 0:
                cuts |= {Fraction(along[0] * (p[0] - a[0]) + along[1] * (p[1] - a[1]), length) for p in (c, d)}
            elif one * two <= 0:
                cuts.add(Fraction(turn(c, d, a), turn(c, d, a) - turn(c, d, b)))
        cuts = sorted(cut for cut in cuts if 0 <= cut <= 1)
        for low, high in itertools.pairwise(cuts):
            middle = (low + high) / 2
            yield a[0] + middle * along[0], a[1] + middle * along[1]


def is_within(inner, outer):
    """Whether polygons, by their edges, lie within others: no piece of an edge of one is on the wrong side."""
    return all(place(point, outer) >= 0 for point in pieces(inner, outer)) and all(
        place(point, inner) <= 0 for point in pieces(outer, inner)
    )


def are_apart(ones, others):
    """Whether polygons, by their edges, have no inner point in common; the same polygons are not told apart."""
    return all(place(point, others) <= 0 for point in pieces(ones, others)) and all(
        place(point, ones) <= 0 for point in pieces(others, ones)
    )


def covers_cells(edges, mask, unit=1):
    """Whether polygons cover all cells of a mask: no edge passes through one, and their middles are inside.

    Cells have sides of `unit`. An edge passes through a cell where their extents overlap along x, along y, and across
    the edge (separating axes).
    """
    dtype = np.int64 if unit == 1 else object
    columns, rows = (unit * where.astype(dtype)[:, None] for where in np.nonzero(mask)[::-1])
    (ax, ay), (bx, by) = (np.array(ends, dtype).T for ends in zip(*edges)) if edges else np.zeros((2, 2, 0), dtype)

    def side(x, y):  # of twice the coordinates
        return (bx - ax) * (y - 2 * ay) - (by - ay) * (x - 2 * ax)

    corners = [side(2 * (columns + i), 2 * (rows + j)) for i in (0, unit) for j in (0, unit)]
    through = (np.minimum.reduce(corners) < 0) & (np.maximum.reduce(corners) > 0)
    for first, second, cells in ((ax, bx, columns), (ay, by, rows)):
        through &= (np.minimum(first, second) < cells + unit) & (np.maximum(first, second) > cells)
    if through.any():
        return False
    x, y = 2 * columns + unit, 2 * rows + unit
    crossed = (2 * ay > y) != (2 * by > y)
    right = (side(x, y) > 0) == (by > ay)
    return bool(((crossed & right).sum(axis=1) % 2 == 1).all())
