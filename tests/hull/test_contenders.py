"""Edges that may have the best caliper, against calipers of all edges in integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clgeom
from clgeom.hull import contenders
from clgeom.hull.calipers import Corners, best_caliper

PURPOSES = "width", "area", "perimeter", "diameter"


def check(corners, purpose, most=None):
    edges = np.arange(len(corners))
    left = contenders.contenders(corners, edges, purpose)
    assert np.isin(left, edges).all() and (np.diff(left) > 0).all()
    polygon = Corners(corners)
    assert best_caliper(polygon, left.tolist(), purpose) == best_caliper(polygon, range(len(corners)), purpose)
    assert most is None or len(left) <= most


def circle(turn, middle=0.0, mirrored=False, n=600):
    a = np.arange(n) * 2 * np.pi / n + turn
    points = np.stack([np.cos(a), np.sin(a)], axis=1)
    if mirrored:
        points = np.concatenate([points[: n // 2], -points[: n // 2]])
    return clgeom.convex_hull(points + middle).points


@pytest.mark.parametrize("purpose", PURPOSES)
def test_circles_have_few_contenders(purpose, monkeypatch):
    monkeypatch.setattr(contenders, "AT_A_TIME", 100)
    check(circle(0), purpose, 60)
    check(circle(0.3), purpose, 60)
    check(circle(0.1, mirrored=True), purpose, 60)
    check(circle(0.2, middle=1e6), purpose)
    check(circle(0.2) * [1, 1e-9], purpose)
    check(circle(0.2).astype(np.float32), purpose)


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=30),
    st.sampled_from(PURPOSES),
    st.sampled_from([1.0, 0.1, 1e-9, 3e15]),
    st.sampled_from([0.0, 0.7]),
    st.booleans(),
)
def test_contenders_of_any_points(points, purpose, scale, turn, collinear):
    x, y = np.array(points, float).T * scale
    turned = np.stack([x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)], axis=1)
    corners = clgeom.convex_hull(turned, collinear="keep" if collinear else "drop").points
    if len(corners) < 3 or not Corners(corners).in_range:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contenders, "FEW", 0)
        patch.setattr(contenders, "AT_A_TIME", 5)
        check(corners, purpose)
