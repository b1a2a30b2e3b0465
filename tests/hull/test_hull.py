"""Hull, the result: its measures against exact ones, membership, exchange with other packages."""

import json
import math
import pickle

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from hulls import expected
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from reference import hull as reference
from reference.batch import measures, rounded

from clgeom.core.device import Session
from clgeom.errors import InvalidInput
from clgeom.hull.batch.hulls import convex_hulls
from clgeom.hull.convex import convex_hull
from clgeom.hull.measures import ragged_measures
from clgeom.hull.result import HullOnDevice


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_hull_area_and_perimeter(subtests, session, refused, name, dtype):
    for n in (0, 1, 2, 3, 10, 300) if not refused(session, dtype, convex_hull, cloud(name, 5, dtype)) else ():
        with subtests.test(n=n):
            points, vertices = expected(name, n, dtype)
            hull = convex_hull(points, device=session)
            assert isinstance(hull.area, float) and hull.area == rounded(reference.area(points, vertices))
            assert hull.perimeter == (rounded(reference.perimeter(points[vertices].tolist())) if n else 0.0)


def polygons(dtype=np.float64):
    """Points whose coordinates, and whose differences, have magnitudes all over those of the type."""
    info = np.finfo(dtype) if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
    if np.dtype(dtype).kind == "f":
        low, high = math.frexp(float(info.smallest_subnormal))[1], info.maxexp - 1
        near = st.sampled_from([0.0, 1.0, 2.0**low, -(2.0**high)])
        power = st.builds(lambda m, e: math.ldexp(m, e), st.integers(-7, 7), st.integers(low, high - 3))
        value = near | power | st.floats(allow_nan=False, allow_infinity=False, width=8 * info.dtype.itemsize)
    else:
        value = st.integers(int(info.min), int(info.max)) | st.integers(-3, 3)
    few = st.lists(value, min_size=1, max_size=4)  # coordinates that come again: upright edges far away
    corner = few.flatmap(lambda values: st.tuples(st.sampled_from(values) | value, st.sampled_from(values)))
    return st.lists(corner, min_size=1, max_size=9).map(lambda rows: np.array(rows, dtype))


@pytest.mark.fp64
@given(points=polygons())
@example(points=np.array([(1e200, 0), (1e200, 1e-130)]))
@example(points=np.array([(1e308, 0), (1e308, 5e-324)]))
@example(points=np.array([(1e160, 1), (1e160, 1 + 1e-15)]))
@example(points=np.array([(5e307, 0), (-4e307, 0)]))
@example(points=np.array([(1.7e308, 5e-324), (1, 1), (-1e308, 0)]))
@example(points=np.array([(0, 0), (1e308, 0), (0, 5e-324)]))
@example(points=np.array([(0, 0), (1e-300, 0), (0, 1e300)]))
@example(points=np.array([(1, 1), (1 + 2**-52, 1), (1, 1 + 2**-52)]))
@example(points=np.array([(1e15, 1e15), (1e15 + 1, 1e15), (1e15, 1e15 + 1)]))
@example(points=np.array([(0, 0), (3e-160, 1e-162), (1e-162, 3e-160)]))
@example(points=np.array([(0, 0), (3, 0), (0, 1)]) * 5e-324)  # its area is not 0
@settings(max_examples=60)
def test_measures_are_correctly_rounded_at_any_magnitudes(session, points):
    """Of a hull, and of batches on the device and on the host."""
    assert_measured(points, session)


def assert_measured(points, session):
    hull = convex_hull(points, device=session)
    batch = convex_hulls(points, [0, len(points)], device=session)
    on_host = ragged_measures(hull.points, np.array([0, len(hull)]), np.array([hull.dimension < 2]))
    expected = measures(hull.points.tolist(), hull.dimension < 2)
    assert (hull.area, hull.perimeter) == expected
    assert (batch.areas.tolist(), batch.perimeters.tolist()) == tuple([one] for one in expected)
    assert [one.tolist() for one in on_host] == [[one] for one in expected]
    assert (hull.area > 0) == (hull.dimension == 2)


@given(points=polygons(np.float32) | polygons(np.int32))
@pytest.mark.settings("as_is", "no_fp64")
@settings(max_examples=60)
def test_measures_of_other_types_are_correctly_rounded(any_session, points):
    assume(any_session.profile.denormals or points.dtype == np.int32)
    assert_measured(points, any_session)


@pytest.mark.fp64
def test_measures_of_exact_terms_whose_sums_lose_bits(session):
    for points in (
        [(0, -(2.0**56)), (2.0**53, 2.0**-24), (1, 2.0**24)],
        [(2.0**-11, 0), (-(2.0**41), -(2.0**-47)), (0, -3 * 2.0**55)],
        [(0.1875, -(2.0**-9)), (-(2.0**22), 2.0**-51), (0, -(2.0**42))],
    ):
        assert_measured(np.array(points), session)


@pytest.mark.fp64
def test_hull_perimeter_of_a_segment_counts_twice(session):
    assert convex_hull([[0, 0], [3, 4], [3, 4]], device=session).perimeter == 10.0
    assert convex_hull([[0, 0], [3, 4], [6, 8]], collinear="keep", device=session).perimeter == 20.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_hull_contains(subtests, session, refused, name, dtype):
    for n in (0, 1, 2, 3, 9, 200) if not refused(session, dtype, convex_hull, cloud(name, 5, dtype)) else ():
        with subtests.test(n=n):
            points, vertices = expected(name, n, dtype)
            queries = [points, cloud(name, 100, dtype, seed=1), cloud("extremes_of_type", 40, dtype)]
            if n:
                corners = points[vertices]
                middle = corners // 2 + np.roll(corners, 1, axis=0) // 2 if dtype == np.int32 else None
                queries.append(corners / 2 + np.roll(corners, 1, axis=0) / 2 if middle is None else middle)
                if dtype != np.int32:
                    with np.errstate(over="ignore"):
                        queries += [np.nextafter(queries[-1], np.array(v, dtype)) for v in (-np.inf, np.inf)]
            queries = np.concatenate(queries).astype(dtype)
            queries = queries[np.isfinite(queries).all(axis=1)]
            for collinear in ("drop", "keep"):
                inside = convex_hull(points, collinear=collinear, device=session).contains(queries)
                assert inside.dtype == bool and inside.shape == (len(queries),)
                np.testing.assert_array_equal(inside, reference.contains(points, vertices, queries))
                assert inside[:n].all()


GRID_POINTS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=14)


@given(GRID_POINTS, st.sampled_from(["drop", "keep"]))
@settings(deadline=None)
def test_hull_contains_beside_vertical_edges(session, points, collinear):
    points = np.array(points, np.float32)
    queries = np.stack(np.meshgrid(np.arange(-4, 4.5, 0.5), np.arange(-4, 4.5, 0.5)), -1).reshape(-1, 2).astype("f4")
    hull = convex_hull(points, collinear=collinear, device=session)
    corners = reference.convex_hull(points)
    np.testing.assert_array_equal(hull.contains(queries), reference.contains(points, corners, queries))


@pytest.mark.fp64
def test_hull_contains_other_types_and_single_points(session):
    hull = convex_hull(np.array([[0, 0], [4, 0], [4, 4], [0, 4]], np.int32), device=session)
    assert hull.contains((2, 2)) is True and hull.contains([5.0, 2]) is False
    assert hull.contains(np.array([[4.0, 4.0], [np.nextafter(4.0, 5.0), 4.0]])).tolist() == [True, False]
    assert hull.contains(np.empty((0, 2))).shape == (0,)
    assert hull.contains(np.array([[1, 1]], np.int8)).tolist() == [True]
    for bad, words in (
        ([[np.nan, 0]], "must be finite. Got nan"),
        ([[1, 2, 3]], r"must have shape \(n, 2\)"),
        ([[1j, 0]], "must be float32"),
    ):
        with pytest.raises(InvalidInput, match=f"^The 'points' parameter of Hull.contains {words}"):
            hull.contains(bad)


def test_hull_contains_in_a_session_without_fp64(session):
    limited = Session(session.device, fp64=False)
    hull = convex_hull(cloud("circle", 100, np.float32), device=limited)
    assert hull.contains(cloud("disc", 50, np.float32)).any()


@pytest.mark.parametrize("dtype", (np.int32, np.float32))
@pytest.mark.parametrize("name", ("circle", "near_line", "mixed_magnitudes", "huge"))
def test_hull_contains_float64_in_a_session_without_fp64(session, name, dtype):
    """Signs that the device cannot compute are computed on the host, as exactly."""
    limited = Session(session.device, fp64=False)
    points = cloud(name, 200, dtype)
    hull = convex_hull(points, device=limited)
    corners = hull.points.astype(np.float64)
    middles = corners / 2 + np.roll(corners, 1, axis=0) / 2
    queries = np.concatenate([middles, np.nextafter(middles, 0), np.nextafter(middles, np.inf), points])
    expected_ = reference.contains(points.astype(np.float64), hull.vertices, queries)
    np.testing.assert_array_equal(hull.contains(queries), expected_)
    assert hull.contains(points.tolist()).all() and 0 < expected_.sum() < len(queries)


HULLS = {
    -1: np.empty((0, 2)),
    0: np.array([[2.0, 3.0]] * 3),
    1: np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]]),
    2: np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [2.0, 1.0]]),
}


@pytest.mark.parametrize("dimension", HULLS)
@pytest.mark.fp64
def test_hull_geo_interface_and_shapely(session, dimension):
    hull = convex_hull(HULLS[dimension], device=session)
    geometry = hull.__geo_interface__
    assert hull.dimension == dimension
    assert geometry["type"] == {-1: "GeometryCollection", 0: "Point", 1: "LineString", 2: "Polygon"}[dimension]
    if dimension == 0:
        assert geometry["coordinates"] == (2.0, 3.0)
    if dimension == 1:
        assert geometry["coordinates"] == ((0.0, 0.0), (3.0, 3.0))
    if dimension == 2:
        assert geometry["coordinates"] == (((0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 0.0)),)
    shapely = pytest.importorskip("shapely", reason="Hull.to_shapely needs Shapely")
    theirs = hull.to_shapely()
    assert theirs.geom_type == geometry["type"] and theirs.is_valid
    assert theirs.equals(shapely.MultiPoint(HULLS[dimension]).convex_hull) or dimension == -1
    assert theirs.area == hull.area
    assert json.loads(json.dumps(geometry))["type"] == geometry["type"]


@pytest.mark.parametrize("dimension, words", [(-1, "no points"), (0, "one point"), (1, "segment"), (2, "polygon")])
@pytest.mark.fp64
def test_hull_repr(session, dimension, words):
    text = repr(convex_hull(HULLS[dimension], device=session))
    assert text.startswith("Hull(") and words in text and len(text) < 200
    assert f"{len(HULLS[dimension])} float64 points" in text


@pytest.mark.fp64
def test_hull_is_frozen_and_has_a_length(session):
    hull = convex_hull(HULLS[2], device=session)
    assert len(hull) == 3 == len(hull.vertices)
    with pytest.raises(AttributeError):
        hull.vertices = None


def test_hull_pickles(session):
    """Spawned processes return hulls."""
    hull = convex_hull(cloud("disc", 5000, np.float32), device=session, profile=True)
    again = pickle.loads(pickle.dumps(hull))
    np.testing.assert_array_equal(again.vertices, hull.vertices)
    assert again.area == hull.area and len(again.phases) == len(hull.phases)
    assert again.contains(hull.points).all()


@pytest.mark.fp64
def test_hull_does_not_follow_the_callers_array(session):
    points = cloud("disc", 5000, np.float64)
    hull = convex_hull(points, device=session)
    corners = hull.points.copy()
    points[:] = 0
    np.testing.assert_array_equal(hull.points, corners)


@pytest.mark.fp64
def test_hull_plot(session):
    matplotlib = pytest.importorskip("matplotlib", reason="Hull.plot needs Matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for points in HULLS.values():
        axes = convex_hull(points, device=session).plot()
        assert isinstance(axes, matplotlib.axes.Axes)
        figure, mine = plt.subplots()
        assert convex_hull(points, device=session).plot(mine) is mine
    plt.close("all")


def test_hull_of_many_vertices_stays_when_the_array_on_the_device_changes(session):
    import pyopencl.array as cl_array

    points = cloud("circle", 3000, np.float32)
    there = cl_array.to_device(session.queue, points)
    hull = convex_hull(there, filter="octagon", device=session)
    there.fill(7)
    there.queue.finish()
    vertices, corners = hull.on_device()
    corners.fill(3)  # the caller's own
    vertices.fill(3)
    np.testing.assert_array_equal(hull.points, points[hull.vertices])
    assert hull.area > 3 and isinstance(hull, HullOnDevice)
