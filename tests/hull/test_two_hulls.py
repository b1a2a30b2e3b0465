"""Distance and intersection of two hulls against brute force in rational numbers."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clgeom
from clgeom.errors import InvalidInput
from clgeom.hull import two_hulls
from clgeom.hull.calipers import root

SMALL = st.lists(st.tuples(st.integers(-6, 6), st.integers(-6, 6)), min_size=1, max_size=9)
NUMBERS = st.floats(-1e300, 1e300) | st.floats(-1, 1) | st.integers(-3, 3).map(float)
FLOATS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=6)


def corners_of(points):
    hull = clgeom.convex_hull(np.array(points))
    return hull, [tuple(map(Fraction, corner)) for corner in hull.corners.tolist()]


def edges_of(corners):
    return [*zip(corners, corners[1:] + corners[:1])]


def inside(point, corners):
    """Whether a point is in a polygon, a segment or a point, exactly."""
    (x, y), turns = point, set()
    for a, b in edges_of(corners):
        turns.add(two_hulls.turn_of(a, b, point))
    if len(corners) < 3 and any(turns):
        return False
    within = all(min(column) <= value <= max(column) for value, column in zip((x, y), zip(*corners)))
    return within and min(turns) >= 0


def clipped(subject, clip):
    """Sutherland and Hodgman's intersection: corners, some of them twice or on straight lines."""
    for a, b in edges_of(clip):
        sides = [two_hulls.turn_of(a, b, point) for point in subject]
        found = []
        for k, (p, side) in enumerate(zip(subject, sides)):
            q, other = subject[k - 1], sides[k - 1]
            if side * other < 0:
                share = other / (other - side)
                found.append((q[0] + share * (p[0] - q[0]), q[1] + share * (p[1] - q[1])))
            if side >= 0:
                found.append(p)
        subject = found
    return set(subject)


def square_from(point, edge):
    a, b = edge
    return min(
        two_hulls.dot(c, c) for c in (two_hulls.nearest(two_hulls.minus(a, point), two_hulls.minus(b, point))[0],)
    )


def check(first, second):
    (hull, a), (other, b) = corners_of(first), corners_of(second)
    met = two_hulls.common(hull.corners, other.corners)
    if len(a) > 2 and len(b) > 2:
        expected = clipped(a, b)
        assert set(met) <= expected
        assert all(inside(point, met) if met else False for point in expected)
    assert all(inside(point, a) and inside(point, b) for point in met)
    squares = [square_from(p, edge) for one, two in ((a, b), (b, a)) for p in one for edge in edges_of(two)]
    least = Fraction(0) if met else min(squares)
    assert bool(met) or least > 0
    expected = root(least.numerator, least.denominator, 0)
    assert hull.distance(other) == expected == other.distance(hull)
    assert met == two_hulls.common(other.corners, hull.corners)
    shown = hull.intersection(other)
    assert {*map(tuple, shown.tolist())} == {(float(x) + 0.0, float(y) + 0.0) for x, y in met}
    for corner, (p, q) in zip(met[1:], itertools.pairwise([*met[1:], met[0]]) if len(met) > 2 else ()):
        assert two_hulls.turn_of(corner, p, q) != 0 or len({corner, p, q}) < 3


@given(SMALL, SMALL)
def test_small_integers(first, second):
    check(first, second)


@given(FLOATS, FLOATS)
def test_floats_of_all_sizes(first, second):
    check(first, second)


def test_touching_and_nested():
    square = [(0, 0), (4, 0), (4, 4), (0, 4)]
    check(square, [(4, 4), (9, 5), (5, 9)])
    check(square, [(4, 1), (8, 0), (4, 3)])
    check(square, [(1, 1), (2, 1), (1, 2)])
    check(square, [(2, -5), (2, 9)])
    check([(0, 0)], [(3, 4)])


def test_large_integers():
    """As large as integers may be."""
    far = 1 << 52
    first, second = (clgeom.convex_hull(np.array([(x, 0), (x + 1, 0), (x, 1)], np.int64)) for x in (far, far + 2))
    assert first.distance(second) == 1.0 and len(first.intersection(second)) == 0


def test_circles():
    """Many corners, of which nearly all are as far in some direction."""
    angle = np.random.default_rng(5).random((2, 3_000)) * 7
    first, second = (np.stack([np.cos(one) + shift, np.sin(one)], axis=1) for one, shift in zip(angle, (0, 2.5)))
    near, far = clgeom.convex_hull(first), clgeom.convex_hull(second)
    shapely = pytest.importorskip("shapely")
    assert near.distance(far) == pytest.approx(near.to_shapely().distance(far.to_shapely()), rel=1e-12)
    moved = clgeom.convex_hull(second - (1.7, 0.1))
    area = shapely.Polygon(near.intersection(moved)).area
    assert area == pytest.approx(near.to_shapely().intersection(moved.to_shapely()).area, rel=1e-12)


def test_wrong_hulls():
    hull, nothing = clgeom.convex_hull([(0, 0), (1, 0), (0, 1)]), clgeom.convex_hull(np.empty((0, 2)))
    assert np.isnan(hull.distance(nothing)) and hull.intersection(nothing).shape == (0, 2)
    with pytest.raises(InvalidInput, match="'other' parameter of distance must be a Hull"):
        hull.distance([(0, 0)])
    across = clgeom.convex_hull([(179, 0), (-179, 0), (180, 1)], antimeridian=True)
    with pytest.raises(InvalidInput, match="intersection compares hulls in the plane"):
        hull.intersection(across)
