"""The sieve: what it may throw away, in whatever order points come; hulls of hulls; lists that overrun."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import reference.hull as reference
from clouds import CLOUDS, DTYPES, cloud
from effort import LONG, thinned
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clgeom.core.device import Session
from clgeom.core.launch import read, run
from clgeom.core.plan import Plan
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.hull.convex import convex_hull
from clgeom.hull.sieve import launches as sieve_launches
from clgeom.hull.sieve import sieve
from clgeom.hull.sieve.launches import Polygons, Tiles
from clgeom.hull.sieve.sieve import hull_plan, start_sieve
from clgeom.intake.arrays import to_device

#: Tiles of 64 points and, for groups, of 128: a few hundred points take every path.
SHAPES = {
    "groups": {
        "hull/sieve/sieve": Policy("group", 32, 8, groups_per_unit=1),
        "hull/sieve/sample_extremes": Policy("group", 32, 4),
        "hull/sieve/extreme_polygon": Policy("group", 256),
        "hull/sieve/cap_extremes": Policy("group", 64),
        "hull/sieve/polygon_cut": Policy("group", 32),
        "hull/sieve/tile_hoods": Policy("group", 32, 4),
    },
    "unusual": {
        "hull/sieve/sieve": Policy("group", 64, 2, groups_per_unit=4),
        "hull/sieve/sample_extremes": Policy("group", 2, 5),
        "hull/sieve/extreme_polygon": Policy("group", 32),
        "hull/sieve/cap_extremes": Policy("group", 16),
        "hull/sieve/polygon_cut": Policy("group", 256),
        "hull/sieve/tile_hoods": Policy("group", 32, 3),
    },
    "serially": {
        "hull/sieve/sieve": Policy("serial", 1, 32, groups_per_unit=4),
        "hull/sieve/tile_hull": Policy("serial", 1, 64),
    },
}
SIZES = (1, 2, 3, 63, 64, 65, 127, 128, 129, 257, 513)


@pytest.fixture(params=("groups", "serially"))
def shape(request):
    with override(SHAPES[request.param]):
        yield request.param


def is_built(session, shape, dtype):
    """One type only, but in the long profile: other tests have the others, and to build kernels takes long."""
    return dtype == np.float32 or (LONG and (dtype != np.float64 or session.profile.fp64))


def found_by(session, points, keep=False, short=True):
    """What the sieve finds, and the ids of the points it leaves when it finds no hull."""
    found = start_sieve(to_device(session, points, caller="test"), keep_collinear=keep, short=short)()
    if found.vertices is not None:
        return found, None
    everything = np.arange(len(points))
    return found, everything if found.ids is None else read(session, found.ids, np.uint32, found.n)


def check(session, points, keep=False):
    expected = reference.convex_hull(points, collinear="keep" if keep else "drop")
    for short in (True, False):
        found, left = found_by(session, points, keep, short)
        if left is not None:
            assert set(expected) <= set(left.tolist())
        else:
            assert found.vertices.tolist() == expected
            np.testing.assert_array_equal(found.corners, points[expected])
            assert found.dimension == reference.dimension(points)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_sizes(session, shape, n, dtype):
    if not is_built(session, shape, dtype):
        return
    for name in ("normal", "disc"):
        check(session, cloud(name, n, dtype))


@pytest.mark.skipif(not LONG, reason="builds take long: the long profile only")
@pytest.mark.parametrize("name", ("normal", "disc", "grid", "circle"))
def test_unusual_items(subtests, session, name):
    """Fewer work-items than directions; numbers of points that are no powers of two."""
    with override(SHAPES["unusual"]):
        for n in SIZES:
            with subtests.test(n=n):
                check(session, cloud(name, n, np.float32))


def test_small_device(session):
    """The shapes that a GPU gets which has small groups and no more local memory than OpenCL asks for."""
    small = Session(session.device, max_wg_size=32, local_mem_bytes=1 << 15)
    small.profile = replace(small.profile, kind="gpu")
    for name in ("normal", "circle", "grid"):
        check(small, cloud(name, 5000, np.float32))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_clouds(session, shape, name, dtype):
    if not is_built(session, shape, dtype):
        return
    points = cloud(name, 270, dtype)
    check(session, points)
    if dtype == np.float32:
        check(session, points, keep=True)


@pytest.mark.parametrize("keep", (False, True))
def test_points_of_almost_the_same_x(session, shape, keep):
    """Keys of tiles are as coarse as the extent of the tile: few, many and all of their points have the same."""
    points = cloud("disc", 200, np.float32)
    points = points / np.abs(points).max()
    far = points.copy()
    far[77] = 1e12, 3
    column = points.copy()
    column[:, 0] = np.float32(2)
    for some in (
        far,
        column,
        np.round(points * 2),
        np.round(points * np.float32([0.9, 9])),
        points * np.float32([1e-30, 1]),
    ):
        check(session, some.astype(np.float32), keep)


def orders(points):
    """Orders that a sample of every so many points takes badly."""
    by_x = np.lexsort((points[:, 1], points[:, 0]))
    outside = np.argsort(-np.hypot(*(points - points.mean(axis=0)).T.astype(float)))
    between = np.empty(len(points), int)  # what the stride of the sample misses are the outermost points
    stride = 3
    inner = np.arange(0, len(points), stride)
    between[inner] = outside[-len(inner) :]
    between[np.setdiff1d(np.arange(len(points)), inner)] = outside[: len(points) - len(inner)]
    yield from (by_x, by_x[::-1], outside, outside[::-1], between)


@pytest.mark.parametrize("name", ("normal", "disc", "grid"))
def test_adversarial_orders(session, shape, name):
    points = cloud(name, 900, np.float32)
    for order in orders(points):
        check(session, np.ascontiguousarray(points[order]))


def one_far(rng, n):
    points = rng.normal(size=(n, 2))
    points[n // 2] = 1e30, -1e30  # nearly all in one bin
    return points


ADVERSARIAL = {
    "one far": one_far,
    "x constant": lambda rng, n: np.stack([np.full(n, 3.0), rng.normal(size=n)], axis=1),
    "y constant": lambda rng, n: np.stack([rng.normal(size=n), np.full(n, 3.0)], axis=1),
    "tiny": lambda rng, n: rng.normal(size=(n, 2)) * 1e-40,
    "huge": lambda rng, n: rng.uniform(-3e38, 3e38, size=(n, 2)),
    "flat": lambda rng, n: rng.normal(size=(n, 2)) * (1e30, 1e-30),
    "far off": lambda rng, n: rng.normal(size=(n, 2)) + 2.0**24,
    "heavy tails": lambda rng, n: rng.standard_cauchy(size=(n, 2)),
    "powers": lambda rng, n: 2.0 ** rng.uniform(-120, 120, size=(n, 2)) * rng.choice([-1, 1], size=(n, 2)),
}


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_adversarial_coordinates(session, shape, name, dtype):
    if not is_built(session, shape, dtype):
        return
    points = ADVERSARIAL[name](np.random.default_rng(3), 400).astype(dtype)
    check(session, points)


def twelve_sided(rng, n):
    """Points in a polygon of twelve sides, on its sides, and its corners."""
    first = np.array([(41, 11), (30, 30), (11, 41)])
    quarter = np.array([(0, 1), (-1, 0)])
    corners = 64 * np.concatenate([first @ np.linalg.matrix_power(quarter, k) for k in range(4)])
    side, share = rng.integers(0, 12, n // 8), rng.integers(0, 65, (n // 8, 1))
    on = (corners[side] * share + np.roll(corners, -1, axis=0)[side] * (64 - share)) // 64
    inside = rng.integers(-64 * 30, 64 * 30, (n - len(on) - 12, 2))
    return rng.permutation(np.concatenate([corners, on, inside]))


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.parametrize("scale", ((1, 1), (1e-3, 1e4), (2.0**-60, 2.0**60), (7e-20, 1e-20)))
def test_points_on_the_sides_of_a_hull_of_twelve_sides(session, scale, dtype):
    """With keep_collinear they are vertices: the sieve's shape in the hull contains none."""
    if not is_built(session, "serially", dtype):
        return
    points = twelve_sided(np.random.default_rng(11), 1500) * (2.0 ** np.round(np.log2(scale)))
    for offset in ((0, 0), (2.0**20, -(2.0**19))):
        with override(SHAPES["serially"]):
            check(session, (points + offset).astype(dtype), keep=True)


@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.int32))
@pytest.mark.parametrize("name", "normal disc square slanted triangle corner flat far one".split())
def test_shape_is_inside_the_hull_of_the_sample(session, name, dtype):
    """By rational arithmetic."""
    if not is_built(session, "serially", dtype):
        return
    rng = np.random.default_rng(4)
    points = {
        "disc": lambda: cloud("disc", 600, np.float64),
        "square": lambda: rng.random((600, 2)),
        "slanted": lambda: rng.normal(size=(600, 2)) @ [[3, 4], [-0.04, 0.03]],
        "triangle": lambda: np.sort(rng.random((600, 2)), axis=1),
        "corner": lambda: np.concatenate([rng.normal(size=(597, 2)), [(3, 3), (-3, 3), (900, -900)]]),
        "flat": lambda: rng.normal(size=(600, 2)) * (1e10, 1e-10),
        "far": lambda: rng.normal(size=(600, 2)) + 2.0**14,
        "one": lambda: np.full((600, 2), 0.7),
    }.get(name, lambda: rng.normal(size=(600, 2)))()
    if dtype == np.int32 and name != "flat":
        points = points * 1e6
    points = points.clip(*((-(2**31), 2**31 - 1) if dtype == np.int32 else (-np.inf, np.inf))).astype(dtype)
    array = to_device(session, points, caller="test")
    with override(SHAPES["serially"]):
        steps, (frame, bounds) = Tiles.of(array, False).sample(len(points))
    sizes = sieve.allocate(session, 4 * sieve.SIZES)
    sieve.fill(session, sizes, np.uint32(0), sieve.SIZES)
    result = run(session, Plan(*steps), points=array, sizes=sizes)
    scale = np.float64 if dtype == np.float64 else np.float32
    origin, found = read(session, result[frame], dtype, 2), read(session, result[frame], scale, 12)
    is_box = found[10:11].view(np.int32)[0]
    x, y, width, height, across, up = map(Fraction, found[4:10].tolist())
    if width <= 0:
        assert name in ("slanted", "one") or (name == "flat" and dtype == np.int32)  # none that is wide enough
        return
    if dtype == np.int32:
        x, y = x + int(origin[0]), y + int(origin[1])
    if not is_box:
        width, height = 1 / across, 1 / up
    share = (abs(points.astype(float) - (float(x), float(y))) < (float(width), float(height))).all(1).mean()
    assert share > 0.8 or name in ("slanted", "triangle")
    hull = [tuple(map(Fraction, corner)) for corner in points[reference.convex_hull(points)].tolist()]
    for (ax, ay), (bx, by) in zip(hull, hull[1:] + hull[:1]):
        left, ahead = ay - by, bx - ax  # of the side
        room = left * (x - ax) + ahead * (y - ay)
        assert room > 0
        if is_box:
            assert abs(left) * width + abs(ahead) * height < room
        else:
            assert (left * width) ** 2 + (ahead * height) ** 2 < room**2


def test_extreme_integers(session):
    points = np.random.default_rng(0).integers(-(2**31), 2**31, (800, 2)).astype(np.int32)
    points[:4] = np.array([(-1, -1), (-1, 1), (1, -1), (1, 1)]) * (2**31 - 1)
    with override(SHAPES["serially"]):
        check(session, np.random.default_rng(1).permutation(points))


@pytest.mark.parametrize("keep", (False, True))
def test_points_in_parts(session, keep, monkeypatch):
    """The first part of the points sharpens the bounds for the others, in any order; a point counts in both."""
    monkeypatch.setattr(sieve_launches, "LEAST_IN_PARTS", 600)
    for kind in "sieve", "hull of points":  # no plans for other parts
        monkeypatch.setitem(session.cache._by_kind, kind, {})
    with override(SHAPES["serially"]):
        for name in ("normal", "disc", "grid", "circle"):
            points = cloud(name, 3000, np.float32)
            for order in (slice(None), *orders(points)):
                check(session, np.ascontiguousarray(points[order]), keep)
        for at in range(0, 3000, 331):
            points = cloud("disc", 3000, np.float32)
            points[at, at % 2] = np.nan
            assert start_sieve(to_device(session, points, caller="test"), keep_collinear=keep)().nonfinite


@pytest.mark.parametrize("bins", (2, 3, 64, 5000))
def test_bins(session, shape, bins, monkeypatch):
    for module in sieve, sieve_launches:
        monkeypatch.setattr(module, "BINS", bins)
    for kind in "sieve", "hull of points":  # no plans for other bins
        monkeypatch.setitem(session.cache._by_kind, kind, {})
    for name in ("normal", "disc", "grid"):
        check(session, cloud(name, 900, np.float32))


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 300), st.just(2)),
        elements=st.floats(-100, 100, width=16) | st.sampled_from([0.0, -0.0, 1.0, 1.0000001, 2.0**-140]),
    ),
    st.booleans(),
)
def test_any_points(session, points, keep):
    with override(SHAPES["serially"]):
        check(session, points, keep)


@pytest.mark.parametrize("dtype", DTYPES)
def test_discarded_points_are_strictly_inside(session, shape, dtype):
    """By rational arithmetic, for points put next to the boundary: polygon, box and bins discard none on it."""
    if dtype == np.float64 and not session.profile.fp64:
        return
    rng = np.random.default_rng(5)
    corners = np.array([(0, 0), (4096, 0), (4096, 4096), (0, 4096)])
    along, none = rng.integers(0, 4097, 60), np.zeros(60, int)
    edges = ((along, none), (along, none + 4096), (none, along), (none + 4096, along))
    edges = np.concatenate([np.stack(pair, axis=1) for pair in edges])
    inside = rng.integers(1, 4096, (6000, 2))
    points = rng.permutation(np.concatenate([corners, edges, inside])).astype(dtype)
    array = to_device(session, points, caller="test")
    # hulls of tiles drop what is on an edge if they may
    launches = Tiles.of(array, True) if shape == "serially" else Polygons.of(array, False)
    plan, lists = hull_plan(launches, SHAPES[shape]["hull/sieve/sieve"], len(points), short=False)
    sizes = sieve.allocate(session, 4 * sieve.SIZES)
    sieve.fill(session, sizes, np.uint32(0), sieve.SIZES)
    result = sieve.run(session, plan, points=array, sizes=sizes)
    counts = read(session, sizes, np.uint32, sieve.SIZES)
    assert counts[sieve.KEPT] <= lists[0][0].room
    for parts in lists:
        if not all(0 < counts[part.slot] <= part.room for part in parts):
            continue
        left = [result.read(part.ids, int(counts[part.slot])) for part in parts]
        assert all(len(set(ids.tolist())) == len(ids) for ids in left)
        there = set(map(tuple, points[np.concatenate(left)].tolist()))
        gone = [point for point in map(tuple, points.tolist()) if point not in there]
        assert len(gone) > 100
        for x, y in gone:
            assert 0 < Fraction(x) < 4096 and 0 < Fraction(y) < 4096


def test_hardly_more_than_the_vertices_are_left(session):
    """Of a square at a slant: points beyond several edges of the sample's polygon count in the directions of all."""
    for seed in thinned((1, 7, 8), 2):
        rng = np.random.default_rng(seed)
        points = (rng.random((100_000, 2)) @ [[0.8, 0.6], [-0.6, 0.8]]).astype(np.float32)
        array = to_device(session, points, caller="test")
        with override({"hull/sieve/sieve": SHAPES["groups"]["hull/sieve/sieve"]}):
            shape = SHAPES["groups"]["hull/sieve/sieve"]
            plan, lists = hull_plan(Polygons.of(array, False), shape, len(points), short=False)
            sizes = sieve.allocate(session, 4 * sieve.SIZES)
            sieve.run(session, plan, points=array, sizes=sizes)
        counts = read(session, sizes, np.uint32, sieve.SIZES)
        vertices = set(reference.convex_hull(points))
        assert len(vertices) <= sum(counts[part.slot] for part in lists[-1]) < 200


def test_lists_too_long_for_one_launch(subtests, session):
    """Of few points more are left than one launch of hoods takes: those of more points follow, then a longer list."""
    for n in (8000, 3000):
        with subtests.test(n=n):
            rng = np.random.default_rng(2)
            angle, radius = rng.random(n) * 2 * np.pi, 1 - 0.05 * rng.random(n)
            points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).astype(np.float32)
            with override(SHAPES["groups"]):
                array = to_device(session, points, caller="test")
                shape, launches = sieve._launches(array, False)
                plan, lists = hull_plan(launches, shape, n)
                sizes = sieve.allocate(session, 4 * sieve.SIZES)
                sieve.run(session, plan, points=array, sizes=sizes)
                kept = read(session, sizes, np.uint32, sieve.SIZES)[sieve.KEPT]
                assert len(lists) == 1 and n // 2 > kept > sieve_launches.MOST * launches.size
                assert (kept > lists[0][0].room) == (n == 3000)
                check(session, points)


def test_lists_that_overrun(session, shape):
    """Everything is on the hull: no list is long enough, and the hull is right all the same."""
    points = cloud("circle", 3000, np.int32)
    found, left = found_by(session, points)
    assert found.vertices is None and left is not None
    assert convex_hull(points, device=session).vertices.tolist() == reference.convex_hull(points)


def test_not_finite(session):
    """One coordinate of one point, in every shape; of few that are kept, and of so many that no list holds them."""
    places = [(at, column) for at in (0, 1, 450, 899) for column in (0, 1)]
    for shape, name in itertools.product(("groups", "serially"), ("normal", "circle")):
        for (at, column), value in zip(places, itertools.cycle((np.nan, np.inf, -np.inf))):
            points = cloud(name, 900, np.float32)
            points[at, column] = value
            with override(SHAPES[shape]):
                found = start_sieve(to_device(session, points, caller="test"), keep_collinear=False)()
            assert found.nonfinite, (shape, name, at, column, value)


def test_not_finite_in_one_tile(subtests, session, shape):
    for n, every in ((1, 1), (2, 2), (64, 1), (64, 7)):
        with subtests.test(n=n, every=every):
            points = cloud("normal", n, np.float32)
            points[::every] = np.nan
            assert start_sieve(to_device(session, points, caller="test"), keep_collinear=False)().nonfinite


def test_sizes_need_no_first_value(subtests, session, shape, monkeypatch):
    """Few points take a launch that does not use them, more points one that sets them."""
    allocate = sieve.allocate

    def allocate_dirty(session, nbytes):
        memory = allocate(session, nbytes)
        sieve.fill(session, memory, np.uint32(2**32 - 1), nbytes // 4)
        return memory

    monkeypatch.setattr(sieve, "allocate", allocate_dirty)
    for n in (1, 3, 64, 65, 500):
        with subtests.test(n=n):
            check(session, cloud("normal", n, np.float32))


@pytest.mark.parametrize("value", (np.nan, np.inf))
def test_tile_hoods_orders_no_nonfinite_points(session, value):
    """NaN is before nothing and after nothing: indices counted by comparisons would be no permutation."""
    points = cloud("normal", 100, np.float32)
    points[::7] = value
    array = to_device(session, points, caller="test")
    with override(SHAPES["groups"]):
        plan = Plan(Polygons.of(array, False).hull(len(points)))
    lower, upper, nonfinite, _ = run(session, plan, points=array).read(plan[0].args[-1], 4)["id"]
    assert (lower, upper, nonfinite) == (0, 0, 1)
