"""What adaptive regions promise: parts, holes of width 0, points they contain, simplified ones, pictures."""

import numpy as np
import pytest
from batches import device_arrays
from clouds import DTYPES, cloud
from effort import LONG
from reference import region as reference
from regions import comb, in_order

import clgeom
from clgeom import adaptive_region
from clgeom.errors import InvalidInput
from clgeom.region.arc.study import Walk, published_walk


def masks():
    rng = np.random.default_rng(5)
    yield "mask", np.argwhere(rng.random((30, 40)) < 0.2)
    yield "comb", comb(50)
    yield "c", np.argwhere(np.hypot(*np.mgrid[-15:16, -15:16]) > 11)
    yield "pixel", np.array([(3, 4), (3, 5), (4, 4), (4, 5)])
    yield "bridge", np.array([(0, 0), (0, 5), (1, 1), (2, 1), (3, 1), (4, 0), (4, 6)])


@pytest.mark.parametrize("name, points", list(masks()), ids=lambda v: v if isinstance(v, str) else "")
@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_are_valid(subtests, name, points, dtype):
    points = points.astype(dtype)
    for segments in (1, 3, 8, 40):
        with subtests.test(segments=segments):
            region = adaptive_region(points, segments)
            shape = region.to_shapely()
            assert shape.is_valid and shape.area == pytest.approx(region.area, rel=1e-6)
            assert all(len(part) > 0 for part in region.parts)
            for ring in region.rings:
                assert clgeom.orient2d(ring[0], ring[1], ring[2]) != 0 or len(ring) > 3


def test_pinched_regions_have_parts():
    bow = [(0, 0), (0, 4), (1, 2), (2, 0), (2, 4)]
    region = adaptive_region(bow, 5)
    assert len(region.rings) == 2 and region.__geo_interface__["type"] == "MultiPolygon" and region.area == 4.0
    with pytest.raises(InvalidInput, match="2 parts"):
        region.polygon
    line = adaptive_region([*bow, (3, 4)], 6)
    assert [len(part) for part in line.parts] == [3, 4]
    dashes = adaptive_region([(0, 0), (1, 1), (2, 0), (3, 0), (4, 0), (4, 3)], 5)
    assert [len(part) for part in dashes.parts] == [2, 2, 2, 3]
    assert dashes.__geo_interface__["type"] == "GeometryCollection" and dashes.to_shapely().is_valid


@pytest.mark.parametrize("axis", ("x", "y", "both"))
def test_length_is_the_number_of_distinct_vertices(axis):
    """34_011: of integers, so that regions are pinched and flat."""
    rng = np.random.default_rng(34_011 + len(axis))
    for k in range(400 if LONG else 12):
        points = rng.integers(0, 6, (int(rng.integers(0, 30)), 2)) * (1 if k % 3 else 0.5)
        region = adaptive_region(points.reshape(-1, 2), int(rng.integers(1, 8)), axis=axis)
        assert len(region) == len({tuple(vertex) for part in region.parts for vertex in part.tolist()})
        assert bool(region) == (len(region) > 0) == (len(points) > 0)
        if axis != "both" and len(region):
            count = len(region)
            assert f" {count} {'vertex' if count == 1 else 'vertices'} in" in repr(region)
            assert len(region.parts) > 1 or count == len(region.parts[0])
    square = adaptive_region([(0, 0), (2, 0), (2, 2), (0, 2)], 1, axis=axis)
    assert len(square) == 4


def test_regions_of_lower_dimension():
    for points, kind, parts in (
        ([], "GeometryCollection", 0),
        ([(2, 3)], "Point", 1),
        ([(2, 3), (2, 5), (2, 4)], "LineString", 1),
        ([(1, 1), (2, 2), (3, 3)], "LineString", 1),
    ):
        region = adaptive_region(np.array(points, np.float32).reshape(-1, 2), 1)
        assert region.__geo_interface__["type" if kind else ""] == kind and len(region.parts) == parts
        assert region.area == 0.0 and not region.contains((9, 9)) and repr(region).startswith("Region(")
        assert region.to_shapely().is_valid and region.contains(points or np.empty((0, 2))).all()
        assert len(region.bounds) == 4 and region.simplify(1.0).parts is not None


def test_contains_is_exact():
    points = in_order(cloud("square", 300, np.float32))
    region = adaptive_region(points, 40)
    upper = reference.exact(region.upper)
    queries = []
    for a, b in zip(upper[::3], upper[1::3]):
        x = np.float32((a[0] + b[0]) / 2)
        on = reference.at(upper, reference.exact([(x, 0)])[0][0])
        queries += [(x, reference.neighbour(on, np.float32, way)) for way in (-1, 1)]
    queries = np.array([(float(x), float(y)) for x, y in queries], np.float32)
    expected = [reference.at(upper, x) >= y for x, y in reference.exact(queries)]
    assert region.contains(queries).tolist() == expected and not all(expected)
    with pytest.raises(InvalidInput, match=r"must be finite. Got nan at index \[0, 1\]"):
        region.contains((0.5, np.nan))


@pytest.mark.parametrize("tolerance", (0, 0.01, 0.2, 10))
def test_simplify_covers_the_region(tolerance):
    for dtype in (np.float32, np.float64):
        points = cloud("square", 1500, dtype)
        region = adaptive_region(points, 120)
        simple = region.simplify(tolerance)
        assert len(simple) < len(region) or tolerance == 0
        assert simple.area >= region.area and simple.contains(points).all()
        assert simple.to_shapely().hausdorff_distance(region.to_shapely()) <= tolerance + 1e-6
        for side, new, old in ((1, simple.lower, region.lower), (-1, simple.upper, region.upper)):
            new = reference.exact(new)
            assert all(side * (y - reference.at(new, x)) >= 0 for x, y in reference.exact(old))
    with pytest.raises(InvalidInput, match="at least 0. Got -1"):
        region.simplify(-1)


@pytest.mark.parametrize("name", ("tiny", "extremes_of_type"))
@pytest.mark.filterwarnings("error")
def test_simplify_keeps_what_is_next_to_nothing(name):
    for seed in range(4):
        region = adaptive_region(cloud(name, 60, np.float64, seed), 20)
        simple = region.simplify(0)
        for new, old in ((simple.lower, region.lower), (simple.upper, region.upper)):
            new = reference.exact(new)
            assert all(y == reference.at(new, x) for x, y in reference.exact(old))


def test_paper_is_the_walk_with_both_contacts(session):
    points = cloud("square", 400, np.float32)
    walk = published_walk(points, 40, device=session)
    region = adaptive_region(points, 40, device=session)
    assert isinstance(walk, Walk) and walk.segments == region.segments == 40
    back = np.diff(walk.upper[:, 0]) < 0
    assert back.sum() + len(region.upper) == len(walk.upper) and back.any()
    inside = region.contains(walk.ring)
    assert inside.all() and len(walk) == len(walk.ring)
    from shapely import LinearRing, union_all
    from shapely.ops import polygonize

    # every face that the walk goes around is part of the region, and they fill it
    faces = union_all(list(polygonize(union_all(LinearRing(walk.ring.astype(float))))))
    assert faces.area == pytest.approx(region.area, rel=1e-5)


def test_plot_draws_every_part():
    pytest.importorskip("matplotlib")
    import matplotlib

    matplotlib.use("Agg")
    points = np.array([(0, 0), (1, 1), (2, 0), (3, 0), (4, 0), (4, 3)])
    ax = adaptive_region(points, 5).plot(points=points)
    assert len(ax.lines) == 4 and "of 6 points" in ax.get_title(loc="left")


@pytest.mark.settings("as_is", "as_gpu")
def test_points_on_the_device_again_and_again(subtests, any_session):
    """Long columns out of order, which a second sort puts right, and results that are read after other calls."""
    rng = np.random.default_rng(8)
    for n, columns in ((3, 1), (300, 2), (300, 400), (4000, 5), (4000, 9000)):
        for dtype in (np.float32, np.int32):
            with subtests.test(n=n, columns=columns, dtype=dtype.__name__):
                kept = []
                for turn in (0, 1, 2, 3, 0):
                    drawn = rng.integers(0, (columns, 50), (n, 2))
                    points = np.unique(drawn, axis=0) if turn > 1 else drawn
                    for segments, cuts in ((4, "count"), (50, "width")):
                        (there,) = device_arrays(any_session, points.astype(dtype))
                        region = adaptive_region(there, segments, cuts=cuts, device=any_session)
                        kept.append((region, points.astype(dtype), segments, cuts))
                for region, points, segments, cuts in kept:
                    alone = adaptive_region(in_order(points), segments, cuts=cuts, assume_sorted=True)
                    assert np.array_equal(region.lower, alone.lower) and np.array_equal(region.upper, alone.upper)
                    assert region.segments == alone.segments


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("dtype", DTYPES)
def test_points_in_order_and_not_in_turn(any_session, dtype):
    """Each in the place of the other kind, also with points that are not finite, which are refused as ever."""
    if dtype == np.float64 and not any_session.profile.fp64:
        pytest.skip("float64 points are refused")
    cases = [cloud(name, 500, dtype, seed=3) for name in ("normal", "spiral", "near_line", "normal")]
    cases[1:3] = map(in_order, cases[1:3])
    zeros = in_order(cases[0])
    zeros[:250, 1] = -0.0 if dtype != np.int32 else 0
    cases += [in_order(zeros), in_order(cases[0]), zeros[::-1].copy(), in_order(zeros)]
    for points in cases:
        found = adaptive_region(*device_arrays(any_session, points), 20, device=any_session)
        alone = adaptive_region(in_order(points), 20, assume_sorted=True)
        for one, other in ((found.lower, alone.lower), (found.upper, alone.upper)):
            assert np.array_equal(one, other)
        assert found.contains(points).all()
        for bad in () if dtype == np.int32 else (np.nan, np.inf):
            wrong = points.copy()
            wrong[123, 1] = bad
            with pytest.raises(InvalidInput, match=rf"must be finite. Got {bad} at index \[123, 1\]"):
                adaptive_region(*device_arrays(any_session, wrong), 20, device=any_session)
