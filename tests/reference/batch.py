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
    reach = max(abs(v) for corner in corners for v in corner)
    power = -520 if reach > 2.0**500 else 900 if reach < 2.0**-800 else 500 if reach < 2.0**-400 else 0
    corners = [(math.ldexp(x, power), math.ldexp(y, power)) for x, y in corners]
    x0, y0 = corners[0]
    area = length = run_area = run_length = 0.0
    pairs = list(zip(corners, corners[1:] + corners[:1]))
    for i, ((x, y), (u, v)) in enumerate(pairs, 1):
        dx, dy = u - x, v - y
        left, left_error = two_product(x - x0, v - y0)
        right, right_error = two_product(y - y0, u - x0)
        run_length += math.sqrt(dx * dx + dy * dy)
        run_area += (left - right) + (left_error - right_error)
        if i % RUN == 0 or i == len(pairs):
            area, length, run_area, run_length = area + run_area, length + run_length, 0.0, 0.0
    back = 2.0**-power
    return 0.0 if flat or area < 0 else area * 0.5 * back * back, length * back


def two_product(a, b):
    """The rounded product, and its rounding error."""
    product = a * b
    return product, float(Fraction(a) * Fraction(b) - Fraction(product))
