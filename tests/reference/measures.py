"""Measures of convex polygons by brute force over all edges, pairs and triples, in rational arithmetic."""

from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations

#: Digits far beyond those of a float, and its exponents squared.
WIDE = Context(prec=150, Emin=-9999, Emax=9999)


def _minus(a, b):
    return a[0] - b[0], a[1] - b[1]


def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1]


def _cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


def _square(a):
    return _dot(a, a)


def rationals(corners):
    return [tuple(map(Fraction, corner)) for corner in corners.tolist()]


def diameter(corners):
    """(length, first corner, second corner) of two corners or more."""
    p = rationals(corners)
    i, j = max(combinations(range(len(p)), 2), key=lambda ij: (_square(_minus(p[ij[0]], p[ij[1]])), -ij[0], -ij[1]))
    return rounded_root(_square(_minus(p[i], p[j]))), i, j


def _edges(p):
    """(edge, its number, height, corner farthest from it, places along the edge from its first corner) of all edges."""
    for i in range(len(p)):
        edge = _minus(p[(i + 1) % len(p)], p[i])
        heights = [_cross(edge, _minus(q, p[i])) for q in p]
        places = [_dot(edge, _minus(q, p[i])) for q in p]
        yield edge, i, max(heights), heights.index(max(heights)), min(places), max(places)


def width(corners):
    """(length, edge, corner) of two corners or more."""
    found = [(height**2 / _square(edge), i, j) for edge, i, height, j, _, _ in _edges(rationals(corners))]
    square, edge, corner = min(found)
    return rounded_root(square), edge, corner


def rectangle(corners, by):
    """(area, perimeter, length, height, corners, edge) of two corners or more."""
    p = rationals(corners)

    def size(one):
        edge, i, height, _, low, high = one
        sides = (height + high - low) ** 2 if by == "perimeter" else height * (high - low)
        return sides / _square(edge), i

    edge, i, height, _, low, high = min(_edges(p), key=size)
    square, length = _square(edge), high - low
    numbers = [float_of(height * length / square)]
    numbers += [rounded_root(one**2 / square) for one in (2 * (height + length), length, height)]
    places = [(low, 0), (high, 0), (high, height), (low, height)]
    box = [
        [p[i][0] + (edge[0] * s - edge[1] * t) / square, p[i][1] + (edge[1] * s + edge[0] * t) / square]
        for s, t in places
    ]
    return *numbers, [[float_of(x) for x in corner] for corner in box], i


def circle(corners):
    """(center, radius, corners of the first pair or acute triple) of two corners or more."""
    p = rationals(corners)

    def holds(center, a):
        return all(_square(_minus(q, center)) <= _square(_minus(a, center)) for q in p)

    for i, j in combinations(range(len(p)), 2):
        center = ((p[i][0] + p[j][0]) / 2, (p[i][1] + p[j][1]) / 2)
        if holds(center, p[i]):
            return [float_of(x) for x in center], rounded_root(_square(_minus(p[i], center))), [i, j, -1]
    for i, j, k in combinations(range(len(p)), 3):
        a, b, c = p[i], p[j], p[k]
        if min(_dot(_minus(v, u), _minus(w, u)) for u, v, w in ((a, b, c), (b, c, a), (c, a, b))) <= 0:
            continue
        (bx, by), (cx, cy) = b, c = _minus(b, a), _minus(c, a)
        below = 2 * _cross(b, c)
        center = (
            a[0] + (cy * _square(b) - by * _square(c)) / below,
            a[1] + (bx * _square(c) - cx * _square(b)) / below,
        )
        if holds(center, a):
            return [float_of(x) for x in center], rounded_root(_square(_minus(a, center))), [i, j, k]
    raise AssertionError("no circle")


def extent(corners, direction):
    p, d = rationals(corners), tuple(map(Fraction, direction))
    places = [_dot(q, d) for q in p]
    return rounded_root((max(places) - min(places)) ** 2 / _square(d))


def _half_planes(corners):
    """(point, direction) of half-planes to the left, which a convex polygon, a segment or a point is common to."""
    if len(corners) == 1:
        return [(corners[0], way) for way in ((1, 0), (0, 1), (-1, 0), (0, -1))]
    planes = [(a, _minus(b, a)) for a, b in zip(corners, corners[1:] + corners[:1])]
    return planes + [(a, (y, -x)) for a, (x, y) in planes if len(corners) == 2]


def intersection(first, second):
    """The rational corners of what two polygons, segments or points have in common, by half-planes, in order."""
    found = rationals(first)
    for at, way in _half_planes(rationals(second)):
        sides, subject, found = [_cross(way, _minus(point, at)) for point in found], found, []
        for k, (p, side) in enumerate(zip(subject, sides)):
            q, other = subject[k - 1], sides[k - 1]
            if side * other < 0:
                share = other / (other - side)
                found.append((q[0] + share * (p[0] - q[0]), q[1] + share * (p[1] - q[1])))
            if side >= 0:
                found.append(p)
    found = list(dict.fromkeys(found))
    while len(found) > 2:
        turns = [
            _cross(_minus(b, a), _minus(c, b)) for a, b, c in zip(found[-1:] + found[:-1], found, found[1:] + found[:1])
        ]
        if all(turns):
            break
        found = [b for b, turn in zip(found, turns) if turn] if any(turns) else [min(found), max(found)]
    return found


def area(corners):
    """The area of a polygon of rational corners."""
    return sum((_cross(a, b) for a, b in zip(corners, corners[1:] + corners[:1])), Fraction(0)) / 2


def _square_from(point, a, b):
    """The square of the distance of a point from a segment."""
    along, apart = _minus(b, a), _minus(point, a)
    share = min(max(_dot(apart, along) / _square(along), 0), 1) if any(along) else 0
    return _square((apart[0] - share * along[0], apart[1] - share * along[1]))


def distance(first, second):
    if intersection(first, second):
        return 0.0
    p, q = rationals(first), rationals(second)
    edges = [(one, list(zip(two, two[1:] + two[:1]))) for one, two in ((p, q), (q, p))]
    return rounded_root(min(_square_from(point, *edge) for some, of in edges for point in some for edge in of))


def rounded_root(number):
    return float(WIDE.sqrt(WIDE.divide(Decimal(number.numerator), Decimal(number.denominator))))


def float_of(number):
    """The nearest float, infinite beyond the range."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
