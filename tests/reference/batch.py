"""Hulls of many groups by the oracle of one hull; their measures in rational arithmetic."""

import math

import numpy as np

from reference import hull


def convex_hulls(points, offsets, *, collinear="drop"):
    """Lists of the vertices of each group's hull, as indices into all points."""
    return [
        [begin + vertex for vertex in hull.convex_hull(points[begin:end], collinear=collinear)]
        for begin, end in zip(offsets, offsets[1:])
    ]


def measures(corners, flat):
    """(area, perimeter) of one hull, correctly rounded."""
    corners = np.asarray(corners, np.float64).reshape(-1, 2).tolist()
    area = 0.0 if flat else rounded(hull.area(corners, range(len(corners))))
    return area, rounded(hull.perimeter(corners)) if len(corners) > 1 else 0.0


def rounded(exact) -> float:
    """The nearest float64, inf beyond them; 0 only of 0."""
    try:
        return float(exact) or (math.ulp(0.0) if exact else 0.0)
    except OverflowError:
        return math.inf
