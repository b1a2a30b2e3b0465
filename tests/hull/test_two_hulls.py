"""Distance and intersection of two hulls against brute force in rational numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import measures as reference

import clgeom
from clgeom.errors import InvalidInput
from clgeom.hull import two_hulls

SMALL = st.lists(st.tuples(st.integers(-6, 6), st.integers(-6, 6)), min_size=1, max_size=9)
NUMBERS = st.floats(-1e300, 1e300) | st.floats(-1, 1) | st.integers(-3, 3).map(float)
FLOATS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=6)


def check(first, second):
    hull, other = (clgeom.convex_hull(np.array(points)) for points in (first, second))
    met = two_hulls.common(hull.corners, other.corners)
    assert sorted(met) == sorted(reference.intersection(hull.corners, other.corners))
    assert met == two_hulls.common(other.corners, hull.corners) and met[:1] == sorted(met)[:1]
    assert {*map(tuple, hull.intersection(other).tolist())} == {(float(x) + 0.0, float(y) + 0.0) for x, y in met}
    assert hull.distance(other) == reference.distance(hull.corners, other.corners) == other.distance(hull)


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
    check([(-4, -1), (0, -9), (4, -3), (0, 0)], [(-4, 4), (4, -4), (4, 4)])


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
