"""Clouds with the hulls that the oracle gives them, and what is the same of every hull."""

import functools

import numpy as np
from clouds import cloud
from reference import hull as reference


@functools.cache
def expected(name, n, dtype, collinear="drop"):
    points = cloud(name, n, dtype)
    points.flags.writeable = False
    return points, reference.convex_hull(points, collinear=collinear)


def assert_hull(hull, points, vertices):
    assert hull.vertices.dtype == np.int64 and hull.vertices.tolist() == vertices
    assert hull.points.dtype == points.dtype
    np.testing.assert_array_equal(hull.points, points[vertices])
    assert hull.dimension == reference.dimension(points[vertices]) and hull.n == len(points)
