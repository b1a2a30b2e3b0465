"""Points in the hulls of a batch, by a kernel and on the host, against exact arithmetic."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import reference.hull as reference
from clouds import DTYPES
from effort import thinned
from hypothesis import given
from hypothesis import strategies as st

import clgeom
from clgeom.conformance import FAMILIES, family_points
from clgeom.errors import InvalidInput
from clgeom.hull.batch import membership
from clgeom.hull.batch.hulls import convex_hulls

SQUARES = convex_hulls(np.array([(0, 0), (2, 0), (2, 2), (0, 2), (5, 5), (6, 6)], float), [0, 4, 4, 6])


def cases(dtype, seed):
    """Groups of points, offsets, queries on, beside and far from hulls, and their groups, in disorder."""
    parts = [family_points(name, n, dtype, seed) for name in thinned(sorted(FAMILIES), 2) for n in (0, 1, 2, 3, 19)]
    queries, owners = [], []
    for i, part in enumerate(parts):
        half = (part.astype(float) / 2 + np.roll(part, 1, axis=0).astype(float) / 2).astype(dtype)
        near = [] if dtype == np.int32 else [np.nextafter(half, np.array(v, dtype)) for v in (-1e30, 1e30)]
        asked = np.concatenate([part, half, *near, family_points("lattice_edges", 9, dtype), parts[i - 1]])
        queries.append(asked[np.isfinite(asked).all(axis=1)])
        owners.append(np.full(len(queries[-1]), i))
    order = np.random.default_rng(1).permutation(sum(map(len, queries)))
    offsets = np.append(0, np.cumsum([len(part) for part in parts]))
    return np.concatenate(parts), offsets, np.concatenate(queries)[order], np.concatenate(owners)[order]


@pytest.mark.settings("as_is", "as_gpu", "flushed", "small_allocations", "odd_shapes")
@pytest.mark.parametrize("collinear", ["drop", "keep"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_batch_contains(any_session, dtype, collinear, monkeypatch):
    if dtype == np.float64 and not any_session.profile.fp64:
        pytest.skip("no float64 on this device")
    points, offsets, queries, owners = cases(dtype, 3)
    batch = convex_hulls(points, offsets, collinear=collinear)
    object.__setattr__(batch, "session", any_session)
    found = batch.contains(queries, owners)
    expected = np.zeros(len(queries), bool)
    for i, hull in enumerate(convex_hulls(points, offsets)):
        own = owners == i
        expected[own] = reference.contains(hull.points, np.arange(len(hull)), queries[own])
    np.testing.assert_array_equal(found, expected)
    ends = batch.offsets
    np.testing.assert_array_equal(membership._on_host(batch.points, ends, queries, owners), expected)
    monkeypatch.setattr(membership, "POINTS_OF_CORNER", 0)  # each hull by itself, by bins of its corners
    for i, (begin, end) in enumerate(zip(ends, ends[1:])):
        own, corners = owners == i, batch.points[begin:end]
        alone = membership.contains(any_session, corners, np.array([0, len(corners)]), queries[own], None)
        np.testing.assert_array_equal(alone, expected[own])
    assert 0 < expected.sum() < len(expected)


@given(
    st.lists(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), max_size=9), min_size=1, max_size=5),
    st.sampled_from(["drop", "keep"]),
)
def test_batches_contain_what_hulls_do(groups, collinear):
    points = np.array([point for group in groups for point in group], np.float32).reshape(-1, 2)
    offsets = np.append(0, np.cumsum([len(group) for group in groups]))
    batch = convex_hulls(points, offsets, collinear=collinear)
    places = np.stack(np.meshgrid(np.arange(-4, 4.5, 0.5), np.arange(-4, 4.5, 0.5)), -1).reshape(-1, 2).astype("f4")
    for i, hull in enumerate(batch):
        inside = batch.contains(places, i)
        np.testing.assert_array_equal(inside, hull.contains(places))
        np.testing.assert_array_equal(inside, reference.contains(hull.points, np.arange(len(hull)), places))


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_many_points_of_a_large_hull(dtype):
    """With bins of corners that have many of them, some or none."""
    a = np.random.default_rng(4).uniform(0, 2 * np.pi, 3000)
    hull = clgeom.convex_hull((np.stack([np.cos(a), np.sin(a)], axis=1) ** [[1, 3]]).astype(dtype))
    near = np.concatenate([hull.points * dtype(1 + k * 1e-7) for k in range(-6, 7)])
    queries = np.concatenate([near, np.random.default_rng(5).uniform(-1, 1, (len(hull) * 9, 2)).astype(dtype)])
    ends = np.array([0, len(hull)])
    assert membership._bins_of(hull.points, len(queries))[1] > 0
    np.testing.assert_array_equal(hull.contains(queries), membership._on_host(hull.points, ends, queries, None))


@given(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=20),
    st.integers(1, 6),
    st.sampled_from(["x", "y"]),
    st.sampled_from([0, 1 << 30]),
)
def test_points_between_the_chains_of_regions(points, segments, axis, points_of_corner):
    region = clgeom.adaptive_region(np.array(points, np.float32), segments, axis=axis)
    places = np.stack(np.meshgrid(np.arange(-5, 5.5, 0.5), np.arange(-5, 5.5, 0.5)), -1).reshape(-1, 2).astype("f4")
    lower, upper = ([tuple(map(Fraction, corner)) for corner in chain.tolist()] for chain in region._both())
    turned = (places if axis == "x" else places[:, ::-1]).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership, "POINTS_OF_CORNER", points_of_corner)
        found = region.contains(places).tolist()
    expected = [lower[0][0] <= x <= lower[-1][0] and height(lower, x) <= y <= height(upper, x) for x, y in turned]
    assert found == expected


def height(chain, x):
    """y of a chain at x, which is in its range."""
    for (ax, ay), (bx, by) in itertools.pairwise([*chain, chain[-1]]):
        if x == ax or bx == ax:
            return ay
        if x <= bx:
            return ay + (by - ay) * (Fraction(x) - ax) / (bx - ax)
    raise AssertionError(x)


def test_groups_of_points():
    assert SQUARES.contains((1, 1), 0) is True and SQUARES.contains([1, 1], [1]) is False
    assert SQUARES.contains([(5.5, 5.5)] * 3, [0, 1, 2]).tolist() == [False, False, True]
    assert SQUARES.contains(np.empty((0, 2)), []).tolist() == []
    assert SQUARES.contains(np.ones((40, 2), np.int8), np.uint8(0)).all()


def test_batches_across_the_antimeridian():
    places = [(179, 0), (-179, 0), (-179, 1), (0, 0), (1, 0), (0, 1)]
    batch = clgeom.convex_hulls_by_label(places, list("aaabbb"), antimeridian=True)
    assert batch.across and batch.contains([(180, 0.1), (-180, 0.1), (0.1, 0.1)], [0, 0, 1]).all()
    assert not batch.contains([(180, 0.1), (0.1, 0.1)], [1, 0]).any()


@pytest.mark.parametrize(
    "groups, words",
    [
        ([0], r"must be an integer or integers of shape \(2,\)"),
        ([0.0, 1.0], "must be an integer or integers"),
        ([0, 3], "must be numbers of 3 hulls. Got 3 instead"),
        (-1, "must be numbers of 3 hulls. Got -1 instead"),
    ],
)
def test_wrong_groups_are_refused(groups, words):
    with pytest.raises(InvalidInput, match=f"^The 'groups' parameter of HullBatch.contains {words}"):
        SQUARES.contains([(0, 0), (1, 1)], groups)
