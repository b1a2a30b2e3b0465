"""ConvexHull beside scipy.spatial.ConvexHull, and where SciPy gives up."""

import inspect
import math
import pickle
import sys
from fractions import Fraction

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from reference import hull as reference

import clgeom
from clgeom.core.device import Session
from clgeom.errors import ClgeomError, DeviceLimit, InvalidInput
from clgeom.hull import scipy_compat
from clgeom.hull.convex import convex_hull
from clgeom.hull.scipy_compat import ConvexHull, edge_equations, qhull_error

#: Clouds whose corners stick out by more than Qhull's tolerance, so that it finds them all and no others.
EXACT_IN_SCIPY = (
    "square",
    "disc",
    "circle_noise",
    "normal",
    "kuzmin",
    "grid",
    "duplicates",
    "clusters",
    "spiral",
    "lattice_edges",
    "three_positions",
    "lattice_star",
    "lexsorted",
    "reverse_sorted",
)
FLAT = ("line", "vertical", "horizontal", "one_point")
ARRAYS = ("points", "vertices", "simplices", "neighbors", "equations", "coplanar", "min_bound", "max_bound")


@pytest.fixture
def spatial():
    return pytest.importorskip("scipy.spatial", reason="compares with SciPy")


def positions(hull, indices):
    return {tuple(p) for p in hull.points[indices].tolist()}


def edges_of(hull):
    """Edges as pairs of positions in either order, each with its equation."""
    ends = hull.points[hull.simplices].tolist()
    return {frozenset(map(tuple, pair)): equation for pair, equation in zip(ends, hull.equations.tolist())}


def assert_consistent(hull):
    """All that the attributes say of each other, for a hull of ours or of SciPy's."""
    h = hull.nsimplex
    assert len(hull.vertices) == h and hull.simplices.shape == hull.neighbors.shape == (h, 2)
    assert hull.equations.shape == (h, 3) and hull.points.shape == (hull.npoints, 2) and hull.ndim == 2
    assert hull.coplanar.shape == (0, 3) and hull.good is None
    assert set(hull.simplices.ravel().tolist()) == set(hull.vertices.tolist())
    for edge, pair in enumerate(hull.neighbors.tolist()):
        for k, neighbor in enumerate(pair):
            assert neighbor != edge and edge in hull.neighbors[neighbor]
            shared = set(hull.simplices[edge].tolist()) & set(hull.simplices[neighbor].tolist())
            assert hull.simplices[edge, 1 - k] in shared  # opposite the end k
    assert hull.min_bound.tolist() == hull.points.min(axis=0).tolist()
    assert hull.max_bound.tolist() == hull.points.max(axis=0).tolist()


def assert_ours(hull):
    """Beyond that, our promises about order, types and equations."""
    assert_consistent(hull)
    for name in ("vertices", "simplices", "neighbors", "coplanar"):
        assert getattr(hull, name).dtype == np.int32, name
    for name in ("points", "equations", "min_bound", "max_bound"):
        assert getattr(hull, name).dtype == np.float64, name
    np.testing.assert_array_equal(hull.simplices[:, 0], hull.vertices)
    np.testing.assert_array_equal(hull.simplices[:, 1], np.roll(hull.vertices, -1))
    normals, offsets = hull.equations[:, :2], hull.equations[:, 2]
    reach = np.abs(normals) @ np.abs(hull.points).max(axis=0)
    for point in np.concatenate([hull.points[::97], hull.points[hull.vertices[::7]]]):
        assert (normals @ point + offsets <= 4 * np.finfo(np.float64).eps * reach).all()
    np.testing.assert_allclose(np.hypot(*hull.equations[:, :2].T), 1, rtol=1e-15)


# Beside SciPy ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EXACT_IN_SCIPY)
def test_convex_hull_as_scipy(subtests, session, spatial, refused, name, dtype):
    if refused(session, dtype, convex_hull, cloud(name, 5, dtype)):
        return
    for n in (8, 60, 3000):
        with subtests.test(n=n):
            points = cloud(name, n, dtype)
            if reference.dimension(points[:300]) < 2:
                continue
            mine, theirs = ConvexHull(points, device=session), spatial.ConvexHull(points)
            assert_ours(mine)
            assert_consistent(theirs)
            np.testing.assert_array_equal(mine.points, theirs.points)
            assert positions(mine, mine.vertices) == positions(theirs, theirs.vertices)
            assert math.isclose(mine.area, theirs.area, rel_tol=1e-12)
            assert math.isclose(mine.volume, theirs.volume, rel_tol=1e-12)
            my_edges, their_edges = edges_of(mine), edges_of(theirs)
            assert set(my_edges) == set(their_edges)
            size = np.abs(mine.points).max()
            for edge, (nx, ny, offset) in my_edges.items():
                length = math.dist(*edge)  # Qhull's normals suffer from short edges far from the origin
                np.testing.assert_allclose((nx, ny), their_edges[edge][:2], rtol=0, atol=1e-14 * size / length)
                assert abs(offset - their_edges[edge][2]) <= 1e-14 * size * (1 + size / length)
            start = mine.vertices.tolist().index(min(mine.vertices, key=lambda v: tuple(mine.points[v])))
            assert start == 0
            around = theirs.points[theirs.vertices].tolist()  # both go round counter-clockwise
            first = around.index(mine.points[mine.vertices[0]].tolist())
            assert mine.points[mine.vertices].tolist() == around[first:] + around[:first]


@pytest.mark.parametrize("name", sorted(set(CLOUDS) - set(EXACT_IN_SCIPY) - set(FLAT) - {"huge", "extremes_of_type"}))
@pytest.mark.fp64
def test_convex_hull_where_scipy_rounds(subtests, session, spatial, name):
    """SciPy may merge edges, or refuse the points: where it gives a hull its measures are ours."""
    for n in (60, 3000):
        with subtests.test(n=n):
            points = cloud(name, n, np.float64)
            mine = ConvexHull(points, device=session)
            assert mine.vertices.tolist() == convex_hull(points, device=session).vertices.tolist()
            assert_ours(mine)
            try:
                theirs = spatial.ConvexHull(points)
            except (spatial.QhullError, ValueError):
                continue
            size = float(np.abs(points).max())
            assert math.isclose(mine.area, theirs.area, rel_tol=1e-12, abs_tol=1e-12 * size)
            assert math.isclose(mine.volume, theirs.volume, rel_tol=1e-12, abs_tol=1e-12 * size * size)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FLAT)
def test_convex_hull_of_flat_points(session, spatial, refused, name, dtype):
    points = cloud(name, 50, dtype)
    if refused(session, dtype, convex_hull, points):
        return
    pytest.raises(spatial.QhullError, spatial.ConvexHull, points)
    words = "50 equal points" if name == "one_point" else "50 points on one line"
    with pytest.raises(spatial.QhullError, match=f"must be at least three points, .* Got {words} instead") as caught:
        ConvexHull(points, device=session)
    for base in (InvalidInput, ClgeomError, ValueError, RuntimeError, clgeom.QhullError):
        assert isinstance(caught.value, base)


@pytest.mark.parametrize("n", (0, 1, 2))
def test_convex_hull_of_too_few_points(session, n):
    with pytest.raises(clgeom.QhullError, match=f"at least three points, not all on one line. Got {n} points instead"):
        ConvexHull(np.arange(2 * n, dtype=np.int32).reshape(n, 2), device=session)


@pytest.mark.fp64
def test_convex_hull_keeps_what_is_nearly_on_a_line(session, spatial):
    points = np.array([[0, 0], [1, 1], [0.5, np.nextafter(0.5, 1)]])
    pytest.raises(spatial.QhullError, spatial.ConvexHull, points)
    hull = ConvexHull(points, device=session)
    assert_ours(hull)
    assert hull.vertices.tolist() == [0, 1, 2]
    assert hull.volume == float(reference.area(points, [0, 1, 2])) > 0


@pytest.mark.fp64
def test_convex_hull_has_all_of_scipys_face(session, spatial):
    theirs, mine = spatial.ConvexHull(np.eye(3)[:, :2]), ConvexHull(np.eye(3)[:, :2], device=session)
    for name in (name for name in dir(theirs) if not name.startswith("_")):
        ours = getattr(mine, name)
        assert callable(ours) or type(ours) is type(getattr(theirs, name)), name
    for name in ARRAYS:
        ours, value = getattr(mine, name), getattr(theirs, name)
        assert (ours.dtype, ours.shape) == (value.dtype, value.shape), name
        assert getattr(mine, name) is getattr(mine, name), name  # computed once
    parameters = inspect.signature(ConvexHull).parameters
    assert list(parameters) == ["points", "incremental", "qhull_options", "device"]
    assert list(inspect.signature(mine.add_points).parameters) == ["points", "restart"]


@pytest.mark.fp64
def test_convex_hull_is_drawn_by_scipy(session, spatial):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    spatial.convex_hull_plot_2d(ConvexHull(cloud("normal", 100, np.float64), device=session), ax=axes)
    assert axes.collections or len(axes.lines) > 1
    pyplot.close(figure)


@pytest.mark.fp64
def test_convex_hull_docstring_example(session):
    hull = clgeom.ConvexHull([(0, 0), (2, 0), (1, 1), (2, 2), (0, 2)], device=session)
    assert (hull.vertices.tolist(), hull.volume, hull.area) == ([0, 1, 3, 4], 4.0, 8.0)
    assert hull.equations.tolist() == [[0, -1, 0], [1, 0, -2], [0, 1, -2], [-1, 0, 0]]
    assert hull.neighbors.tolist() == [[1, 3], [2, 0], [3, 1], [0, 2]]
    assert repr(hull) == "ConvexHull(4 vertices of 5 points, volume 4)"


# Points one after the other -------------------------------------------------------------------------------------


@pytest.mark.parametrize("restart", (False, True))
@pytest.mark.parametrize("name", ("normal", "grid", "duplicates", "circle", "lattice_edges", "near_line", "huge"))
@pytest.mark.settings("as_is", "no_fp64", "as_gpu")
def test_add_points_equals_a_fresh_hull(subtests, any_session, refused, name, restart):
    for dtype in DTYPES:
        points = cloud(name, 2500, dtype)
        if refused(any_session, dtype, convex_hull, points[:5]):
            continue
        hull = ConvexHull(points[:40], incremental=True, device=any_session)
        for start, stop in ((40, 41), (41, 41), (41, 300), (300, 2500)):
            with subtests.test(start=start, stop=stop):
                hull.simplices, hull.neighbors, hull.equations, hull.min_bound, hull.max_bound
                hull.add_points(points[start:stop], restart)
                fresh = ConvexHull(points[:stop], device=any_session)
                for attribute in ARRAYS:
                    np.testing.assert_array_equal(getattr(hull, attribute), getattr(fresh, attribute), attribute)
                assert (hull.area, hull.volume, hull.npoints) == (fresh.area, fresh.volume, fresh.npoints)
                assert hull.nsimplex == fresh.nsimplex
        assert hull.points.dtype == np.float64


@pytest.mark.fp64
def test_add_points_as_scipy(subtests, session, spatial):
    points = cloud("normal", 500, np.float64)
    mine = ConvexHull(points[:50], True, device=session)
    theirs = spatial.ConvexHull(points[:50], True)
    for start in range(50, 500, 90):
        with subtests.test(start=start):
            for hull in (mine, theirs):
                hull.add_points(points[start : start + 90])
            assert set(mine.vertices.tolist()) == set(theirs.vertices.tolist())
            assert mine.npoints == theirs.npoints and mine.points.shape == theirs.points.shape
            assert math.isclose(mine.volume, theirs.volume, rel_tol=1e-12)
    for hull in (mine, theirs):
        hull.close()
        assert hull.npoints == 500 and hull.volume > 0
        pytest.raises(RuntimeError, hull.add_points, points)


@pytest.mark.fp64
def test_add_points_of_other_types(session):
    hull = ConvexHull(np.array([[0, 0], [4, 0], [0, 4]], np.int32), incremental=True, device=session)
    hull.add_points(np.array([[4, 4.5], [1, 1]], np.float32))
    hull.add_points([[5, np.nextafter(0.5, 1)]])
    hull.add_points(np.array([[-(2**40), 2**53]]), restart=True)
    whole = np.array([[0, 0], [4, 0], [0, 4], [4, 4.5], [1, 1], [5, np.nextafter(0.5, 1)], [-(2**40), 2**53]])
    np.testing.assert_array_equal(hull.points, whole)
    assert hull.vertices.tolist() == reference.convex_hull(whole)


def test_add_points_needs_an_open_incremental_hull(session):
    points = cloud("normal", 20, np.float32)
    closed = ConvexHull(points, incremental=True, device=session)
    closed.close()
    closed.close()
    for hull in (ConvexHull(points, device=session), closed):
        for caught in (RuntimeError, clgeom.QhullError):
            with pytest.raises(caught, match="add_points needs a ConvexHull with incremental=True that is not closed"):
                hull.add_points(points)
        assert hull.npoints == 20


@pytest.mark.parametrize(
    "bad, words",
    [
        ([[0, 1], [np.nan, 3]], r"add_points must be finite. Got nan at index \[1, 0\] instead"),
        ([[0, 1, 2]], r"add_points must have shape \(n, 2\). Got \(1, 3\)"),
        ([1.0, 2.0], r"add_points must have shape \(n, 2\). Got \(2,\)"),
        (np.ma.array([[0.0, 1.0]], mask=[[1, 0]]), "add_points must not be a masked array"),
        ([["a", "b"]], "add_points must be float32"),
    ],
)
@pytest.mark.parametrize("restart", (False, True))
@pytest.mark.fp64
def test_add_points_refuses_and_stays_as_it_was(session, bad, words, restart):
    points = cloud("normal", 50, np.float64)
    hull = ConvexHull(points, incremental=True, device=session)
    vertices, equations = hull.vertices.copy(), hull.equations.copy()
    with pytest.raises(InvalidInput, match=f"The 'points' parameter of ConvexHull.{words}"):
        hull.add_points(bad, restart=restart)
    assert hull.npoints == 50 and hull.points.shape == (50, 2)
    np.testing.assert_array_equal(hull.vertices, vertices)
    np.testing.assert_array_equal(hull.equations, equations)
    hull.add_points([[9, 9]])
    assert 50 in hull.vertices


@pytest.mark.fp64
def test_add_points_keeps_copies(session):
    buffer = cloud("normal", 10, np.float64)
    first = buffer.copy()
    hull = ConvexHull(buffer, incremental=True, device=session)
    buffer[:] = second = cloud("normal", 10, np.float64, seed=1) + 3
    hull.add_points(buffer)
    buffer[:] = np.nan
    hull.add_points([[0.0, 0.0]], restart=True)
    np.testing.assert_array_equal(hull.points, np.concatenate([first, second, [[0, 0]]]))


# Input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad, words",
    [
        (np.zeros((5, 3)), r"have shape \(n, 2\). Got \(5, 3\)"),
        (np.zeros((5, 1)), r"have shape \(n, 2\). Got \(5, 1\)"),
        (np.zeros(5), r"have shape \(n, 2\). Got \(5,\)"),
        (np.zeros((5, 2, 2)), r"have shape \(n, 2\). Got \(5, 2, 2\)"),
        (np.zeros((5, 2)) * 1j, "be float32, float64, int32"),
        ([[0, 1], [2]], "be an array of numbers"),
        (np.ma.array(np.eye(3)[:, :2]), "not be a masked array"),
        (np.zeros(5, "f8, f8, f8"), "have two columns, .* Got columns f0, f1, f2 instead"),
        ([[0, 0], [0, 1], [1, np.inf], [np.nan, 0]], r"be finite. Got inf at index \[2, 1\]"),
    ],
)
@pytest.mark.fp64
def test_convex_hull_bad_points(session, bad, words):
    with pytest.raises(InvalidInput, match=f"^The 'points' parameter of ConvexHull must {words}") as caught:
        ConvexHull(bad, device=session)
    assert isinstance(caught.value, ValueError) and "\n" not in str(caught.value)
    assert not isinstance(caught.value, clgeom.QhullError)


@pytest.mark.fp64
def test_convex_hull_of_a_table_has_a_dimension_for_each_column(session):
    """SciPy's hull of columns x, y and z is in space: ours of x and y alone would be another one, without a word."""
    frames = [pytest.importorskip("pandas").DataFrame, pytest.importorskip("polars").DataFrame]
    columns = {"east": [0.0, 2.0, 0.0, 0.5], "y": [0.0, 0.0, 2.0, 0.5]}
    for frame in (*frames, pytest.importorskip("pyarrow").table):
        assert ConvexHull(frame(columns), device=session).volume == 2
        for more in ({"x": [0.0] * 4, **columns}, {"id": [1, 2, 3, 4], "x": [0.0] * 4, "y": columns["y"]}):
            with pytest.raises(InvalidInput, match=f"must have two columns, .* Got columns {', '.join(more)} instead"):
                ConvexHull(frame(more), device=session)
    hull = ConvexHull(frames[0](columns), incremental=True, device=session)
    with pytest.raises(InvalidInput, match="of ConvexHull.add_points must have two columns"):
        hull.add_points(frames[0]({"x": [9.0], "y": [9.0], "z": [0.0]}))
    geometries = pytest.importorskip("geopandas").GeoSeries.from_xy(columns["east"], columns["y"])
    named = geometries.to_frame("position").assign(a=1, b=2)
    assert ConvexHull(named, device=session).volume == 2


SWAPPED = (("lat", "lon"), ("y", "x"), ("northing", "easting"), ("POINT_Y", "POINT_X"))


@pytest.mark.fp64
@pytest.mark.parametrize("kind", ("pandas", "nullable", "polars", "pyarrow", "struct", "structured"))
@pytest.mark.parametrize("names", SWAPPED, ids="-".join)
def test_convex_hull_of_a_frame_keeps_the_order_of_its_columns(session, spatial, kind, names):
    """Names such as lat and lon do not swap columns: `vertices` and `equations` are those of the frame's own array."""
    points = cloud("normal", 60, np.float64) * (3, 1) + (7, 50)
    whole, first, more = (_frame(kind, names, part) for part in (points, points[:40], points[40:]))
    theirs = spatial.ConvexHull(points)
    hull = ConvexHull(whole, device=session)
    np.testing.assert_array_equal(hull.points, points)
    assert sorted(hull.vertices) == sorted(theirs.vertices)
    np.testing.assert_array_equal(hull.min_bound, theirs.min_bound)
    assert (hull.equations[:, :2] @ points.mean(axis=0) + hull.equations[:, 2] < 0).all()
    for start, added in ((first, points[40:]), (points[:40], more), (first, more)):
        for restart in (False, True):
            grown = ConvexHull(start, incremental=True, device=session)
            grown.add_points(added, restart=restart)
            np.testing.assert_array_equal(grown.points, points)
            np.testing.assert_array_equal(grown.vertices, hull.vertices)


def _frame(kind, names, points):
    columns = dict(zip(names, points.T))
    if kind in ("pandas", "nullable"):
        frame = pytest.importorskip("pandas").DataFrame(columns)
        return frame if kind == "pandas" else frame.convert_dtypes()
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(columns)
    if kind == "structured":
        return np.rec.fromarrays(list(points.T), names=list(names))
    table = pytest.importorskip("pyarrow").table(columns)
    return table if kind == "pyarrow" else table.to_struct_array()


@pytest.mark.parametrize("options", (None, "", b"", "Qt", b"Qt", "Pp", "QJ Pp", " Qt  Qc"))
def test_convex_hull_default_options(session, options):
    assert ConvexHull(cloud("normal", 20, np.float32), False, options, device=session).npoints == 20


@pytest.mark.parametrize("options", ("QR0", "Qt QG", b"Qx", 3, ["Qt"], "QGx", "Qc Q0"))
def test_convex_hull_other_options(session, options):
    with pytest.raises(
        InvalidInput, match="The 'qhull_options' parameter of ConvexHull must be None or .* Got .* instead"
    ):
        ConvexHull(cloud("normal", 20, np.float32), qhull_options=options, device=session)


def test_convex_hull_device(session):
    points = cloud("normal", 20, np.float64)
    with pytest.raises(DeviceLimit, match="needs float64"):
        ConvexHull(points, device=Session(session.device, fp64=False))
    assert ConvexHull(points.astype(np.float32), device=Session(session.device, fp64=False)).npoints == 20


@pytest.mark.parametrize("dtype", (np.float32, np.int32))
@pytest.mark.parametrize("incremental", (False, True))
def test_convex_hull_device_array(session, dtype, incremental):
    import pyopencl.array as cl_array

    points = cloud("normal", 3000, dtype)
    hull = ConvexHull(cl_array.to_device(session.queue, points), incremental)
    fresh = ConvexHull(points, device=session)
    for attribute in ARRAYS:
        np.testing.assert_array_equal(getattr(hull, attribute), getattr(fresh, attribute), attribute)
    if incremental:
        hull.add_points(cl_array.to_device(session.queue, points[:10] * dtype(3)))
        assert hull.npoints == 3010


@pytest.mark.parametrize("incremental", (False, True))
def test_convex_hull_pickles(session, incremental):
    hull = ConvexHull(cloud("normal", 100, np.float32), incremental, device=session)
    again = pickle.loads(pickle.dumps(hull))
    for attribute in ARRAYS:
        np.testing.assert_array_equal(getattr(again, attribute), getattr(hull, attribute), attribute)
    if incremental:
        again.add_points(np.full((1, 2), 9, np.float32))
        assert again.npoints == 101


def test_qhull_error_without_scipy(session, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)  # importing it fails
    error = qhull_error.__wrapped__()
    assert issubclass(error, InvalidInput) and issubclass(error, RuntimeError)
    monkeypatch.setattr(scipy_compat, "qhull_error", lambda: error)
    assert scipy_compat.QhullError is error
    with pytest.raises(error, match="Got 0 points instead"):
        ConvexHull(np.empty((0, 2), np.int32), device=session)
    with pytest.raises(AttributeError, match="no attribute 'Delaunay'"):
        scipy_compat.Delaunay


def test_qhull_error_pickles():
    error = pickle.loads(pickle.dumps(clgeom.QhullError("words")))
    assert type(error) is clgeom.QhullError and str(error) == "words"


# Equations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ("huge", "extremes_of_type", "mixed_magnitudes", "tiny", "small", "far_from_origin"))
@pytest.mark.parametrize("dtype", DTYPES)
def test_edge_equations_of_extreme_magnitudes(name, dtype):
    points = cloud(name, 400, dtype)
    corners = points[reference.convex_hull(points)]
    with np.errstate(all="raise", under="ignore"):
        equations = edge_equations(corners)
    for (nx, ny, offset), a, b in zip(equations.tolist(), corners.tolist(), np.roll(corners, -1, axis=0).tolist()):
        dx, dy = Fraction(b[0]) - Fraction(a[0]), Fraction(b[1]) - Fraction(a[1])
        reach = max(abs(dx), abs(dy))
        dx, dy = float(dx / reach), float(dy / reach)
        length = math.hypot(dx, dy)
        assert math.isclose(nx, dy / length, rel_tol=2e-15, abs_tol=1e-300)
        assert math.isclose(ny, -dx / length, rel_tol=2e-15, abs_tol=1e-300)
        terms = Fraction(nx) * Fraction(a[0]), Fraction(ny) * Fraction(a[1])
        if math.isfinite(offset):
            assert abs(offset + sum(terms)) <= 4e-16 * sum(map(abs, terms)) + 2 * Fraction(5e-324)
        else:
            assert abs(sum(terms)) > 1.7e308


@pytest.mark.parametrize("dtype", (np.float32, np.int32))
def test_a_hull_of_another_type_than_float64_stays_when_its_array_changes(session, dtype):
    """As SciPy's, which converts it."""
    points = cloud("normal", 100, dtype)
    hull, expected = ConvexHull(points, device=session), points.astype(float)
    points[:] = 0
    np.testing.assert_array_equal(hull.points, expected)


# SciPy's own tests, and options of Qhull ---------------------------------------------------------------------------


def of_scipy(test_qhull):
    """SciPy's tests of ConvexHull: name and arguments."""
    for name, test in inspect.getmembers(test_qhull.TestConvexHull, inspect.isfunction):
        if not name.startswith("test_"):
            continue
        ways = [{}]
        for mark in getattr(test, "pytestmark", ()):
            names = [n.strip() for n in mark.args[0].split(",")]
            values = [v if len(names) > 1 else (v,) for v in mark.args[1]]
            ways = [{**way, **dict(zip(names, value))} for way in ways for value in values]
        for way in ways:
            yield name, way


def test_what_scipy_tests(session, spatial, monkeypatch, pytestconfig):
    """All of SciPy's tests of ConvexHull with points in the plane, with ours in the place of its own."""
    for mark in ("fail_slow", "slow", "xslow"):
        pytestconfig.addinivalue_line("markers", f"{mark}: of SciPy's tests")
    test_qhull = pytest.importorskip("scipy.spatial.tests.test_qhull")
    made = []

    def ours(points, *arguments, **options):
        shape = np.shape(points)
        if len(shape) == 2 and shape[1] != 2:
            return spatial.ConvexHull(points, *arguments, **options)
        made.append(shape)
        return ConvexHull(points, *arguments, device=session, **options)

    class Qhull:
        Delaunay = staticmethod(test_qhull.qhull.Delaunay)
        ConvexHull = staticmethod(ours)

    monkeypatch.setattr(test_qhull, "qhull", Qhull)
    tests, ran = list(of_scipy(test_qhull)), 0
    for name, way in tests:
        made.clear()
        getattr(test_qhull.TestConvexHull(), name)(**way)
        ran += bool(made)
    assert ran >= 30 and len(tests) > ran


def seen(points, edges, n):
    """Edges that point n is strictly outside of."""
    a, b, c = (np.asarray(points, object)[at] for at in (edges[:, 0], edges[:, 1], np.full(len(edges), n)))
    turn = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    return turn < 0


@pytest.mark.parametrize("name", ("normal", "grid", "duplicates", "circle_noise", "lattice_edges"))
def test_what_a_point_sees(subtests, session, spatial, name):
    """Beside SciPy, whose edges come in another order, and in rational arithmetic; after add_points too."""
    points = cloud(name, 60, np.float64)
    for n, sign in ((0, ""), (7, "-"), (59, "")):
        with subtests.test(n=n, sign=sign):
            here = ConvexHull(points, qhull_options=f"QG{sign}{n}", device=session)
            exact = seen([tuple(map(Fraction, p)) for p in points.tolist()], here.simplices, n)
            np.testing.assert_array_equal(here.good, ~exact if sign else exact)
            rest = np.delete(points, n, axis=0)
            without = ConvexHull(rest, device=session)
            assert (here.npoints, here.volume, here.area) == (60, without.volume, without.area)
            assert (
                set(map(tuple, points[here.vertices])) == set(map(tuple, rest[without.vertices]))
                and n not in here.vertices
            )
            corners = {frozenset(e) for e in here.simplices.tolist()}
            for edge, pair in enumerate(here.neighbors):
                for k, other in enumerate(pair):  # opposite of an end: the neighbor has the other one
                    assert here.simplices[edge, 1 - k] in here.simplices[other] and other != edge
            assert len(corners) == here.nsimplex and (here.min_bound == points.min(axis=0)).all()
            grown = ConvexHull(points[:60], incremental=True, qhull_options=f"QG{sign}{n}", device=session)
            grown.add_points(points[:5] * 3)
            again = ConvexHull(np.concatenate([points, points[:5] * 3]), qhull_options=f"QG{sign}{n}", device=session)
            np.testing.assert_array_equal(grown.good, again.good)
            np.testing.assert_array_equal(grown.simplices, again.simplices)
            theirs = spatial.ConvexHull(rest, qhull_options="Qt")
            if name in ("normal", "circle_noise"):
                outside = theirs.equations @ [*points[n], 1] > 1e-9
                assert outside.sum() == exact.sum()


def test_points_on_edges(session):
    square = np.array([(0, 0), (4, 0), (4, 4), (0, 4), (1, 0), (2, 2), (4, 3), (1, 0), (0, 2), (9, 9)], float)
    hull = ConvexHull(square[:9], qhull_options="Qc", device=session)
    assert hull.coplanar.tolist() == [[4, 0, 0], [6, 1, 2], [8, 3, 3]] and hull.coplanar.dtype == np.int32
    seen_from = ConvexHull(square, qhull_options="Qc QG9", device=session)
    assert {tuple(row) for row in seen_from.coplanar[:, [0, 2]].tolist()} == {(4, 0), (6, 2), (8, 3)}
    for point, simplex, _ in seen_from.coplanar:
        a, b = square[seen_from.simplices[simplex]]
        assert (b[0] - a[0]) * (square[point][1] - a[1]) == (b[1] - a[1]) * (square[point][0] - a[0])
    assert seen_from.good.sum() == 2 and not len(ConvexHull(square, device=session).coplanar)


def test_no_point_to_see_from(session):
    points = cloud("normal", 20, np.float64)
    with pytest.raises(clgeom.QhullError, match="names point 20 in 'QG', and there are 20"):
        ConvexHull(points, qhull_options="QG20", device=session)
    with pytest.raises(clgeom.QhullError, match="Got 2 points instead"):
        ConvexHull(points[:3], qhull_options="QG1", device=session)
    points[3, 1] = np.nan
    for n in (3, 5, 2):
        with pytest.raises(InvalidInput, match=r"Got nan at index \[3, 1\]"):
            ConvexHull(points, qhull_options=f"QG{n}", device=session)
