"""Hulls of many groups by the oracle of one hull; their measures in the order that is promised, in plain Python."""

import math
from fractions import Fraction

from reference import hull

RUN = 1024


def convex_hulls(points, offsets, *, collinear="drop"):
    """Lists of the vertices of each group's hull, as indices into all points."""
    return [
        [begin + vertex for vertex in hull.convex_hull(points[begin:end], collinear=collinear)]
        for begin, end in zip(offsets, offsets[1:])
    ]


def measures(corners, flat):
    """(area, perimeter) of one hull: float64, edges in runs of 1024, each from left to right, then the runs."""
    if len(corners) < 2:
        return 0.0, 0.0
    corners = [tuple(map(float, corner)) for corner in corners]
    across, up = (_power(max(abs(corner[axis]) for corner in corners)) for axis in (0, 1))
    edges = list(zip(corners, corners[1:] + corners[:1]))
    longest = _power(max(map(_reach, edges)))
    corners = [(math.ldexp(x, across), math.ldexp(y, up)) for x, y in corners]
    x0, y0 = corners[0]
    area = length = run_area = run_length = 0.0
    for i in range(1, len(corners) + 1):
        (x, y), (u, v) = corners[i - 1], corners[i % len(corners)]
        left, left_error = two_product(x - x0, v - y0)
        right, right_error = two_product(y - y0, u - x0)
        run_area += (left - right) + (left_error - right_error)
        run_length += _length(edges[i - 1], longest)
        if i % RUN == 0 or i == len(corners):
            area, length, run_area, run_length = area + run_area, length + run_length, 0.0, 0.0
    return 0.0 if flat or area < 0 else _ldexp(area * 0.5, -across - up), _ldexp(length, -longest)


def _reach(edge):
    (x, y), (u, v) = edge
    return max(abs(u - x), abs(v - y))


def _length(edge, longest):
    """The length of an edge, rooted in a scale of its own, in the scale of the longest."""
    (x, y), (u, v) = edge
    own = _power(_reach(edge))
    if own < 0:
        dx, dy = (math.ldexp(b, own) - math.ldexp(a, own) for a, b in ((x, u), (y, v)))
    else:
        dx, dy = math.ldexp(u - x, own), math.ldexp(v - y, own)
    return math.ldexp(math.sqrt(dx * dx + dy * dy), longest - own)


def _power(reach):
    """The power of two by which numbers up to `reach` are scaled."""
    return -520 if reach > 2.0**500 else 900 if reach < 2.0**-800 else 500 if reach < 2.0**-400 else 0


def _ldexp(value, power):
    try:
        return math.ldexp(value, power)
    except OverflowError:
        return math.inf


def two_product(a, b):
    """The rounded product, and its rounding error."""
    product = a * b
    return product, float(Fraction(a) * Fraction(b) - Fraction(product))
