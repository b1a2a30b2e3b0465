"""Adaptive regions against their definition in exact fractions, bit for bit, on shapes made to break it."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from device_settings import in_setting
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference import region as reference
from regions import SHAPES, comb, in_order, same

from clgeom import adaptive_region, convex_hull
from clgeom.core import launch
from clgeom.core.tuning import override
from clgeom.errors import InvalidInput
from clgeom.intake.arrays import as_device_points, as_device_values
from clgeom.region.arc.chains import chains_of
from clgeom.region.arc.outline_plans import OutlineOptions
from clgeom.region.arc.study import region_by_kernel


def types(session):
    return DTYPES if session.profile.fp64 else tuple(t for t in DTYPES if t != np.float64)


def check(points, segments, session, **options):
    """A region's chains against the exact envelope: nowhere inside of it, and as near to it as rounding allows."""
    points = in_order(points)
    region = adaptive_region(points, segments, device=session, **options)
    groups = reference.groups_of(points, segments, by=options.get("cuts", "count"))
    assert region.segments == len(groups) and region.n == len(points)
    given_points = set(reference.exact(points))
    for side, chain in ((1, region.lower), (-1, region.upper)):
        assert chain.dtype == points.dtype
        exact, got = reference.chain(groups, side), reference.exact(chain)
        assert all(a[0] < b[0] for a, b in zip(got, got[1:]))
        assert (got[0][0], got[-1][0]) == (exact[0][0], exact[-1][0])
        assert all(side * (y - reference.at(got, x)) >= 0 for x, y in exact)
        for x, y in got:
            on = reference.at(exact, x)
            if (x, y) in given_points:
                assert y == on
            else:  # a crossing: the nearest value on or beyond the envelope at its x
                assert reference.neighbour(on, points.dtype, -side) == y
    assert region.contains(points).all()
    return region


# The definition -------------------------------------------------------------------------------------------------


@pytest.mark.optimised
@pytest.mark.parametrize("name", CLOUDS)
def test_region_is_the_union_of_neighbours_hulls(subtests, session, name):
    for dtype in types(session):
        points = cloud(name, 60, dtype)
        for segments in (2, 7, 80):
            with subtests.test(segments=segments):
                for cuts in ("count", "width"):
                    check(points, segments, session, cuts=cuts)


@pytest.mark.parametrize("name", CLOUDS)
def test_one_segment_is_the_convex_hull(session, name):
    for dtype in types(session):
        points = cloud(name, 200, dtype)
        region, hull = (f for f in (adaptive_region(points, 1, device=session), convex_hull(points, device=session)))
        assert np.array_equal(np.concatenate(region.parts), hull.points)
        assert region.area == hull.area


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 7)), min_size=1, max_size=40),
    st.integers(1, 14),
    st.sampled_from(["count", "width"]),
    st.sampled_from(DTYPES),
)
@settings(max_examples=40)
def test_any_points_of_a_lattice(points, segments, cuts, dtype):
    region = check(np.array(points, dtype), segments, None, cuts=cuts)
    shape = region.to_shapely()
    assert shape.is_valid and shape.area == pytest.approx(region.area, rel=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from(DTYPES))
@example(18230, 1, np.float64)
@settings(max_examples=25)
def test_area_never_grows_when_cuts_nest(seed, segments, dtype):
    rng = np.random.default_rng(seed)
    shape = rng.choice(["square", "normal", "spiral", "clusters", "near_line"])
    points = cloud(shape, int(rng.integers(1, 400)), dtype, seed=seed)
    # crossings are rounded outward, in the last places of coordinates
    box = convex_hull(points).area + float(np.abs(points).max()) * float(np.ptp(points.astype(float), axis=0).max())
    slack = box * (1e-6 if dtype == np.int32 else 64 * float(np.finfo(dtype).eps))
    for cuts in ("count", "width"):
        areas = [adaptive_region(points, k * segments, cuts=cuts).area for k in (1, 2, 4, 12)]
        assert all(b <= a + slack for a, b in zip(areas, areas[1:])), areas


def test_cuts_of_widths_nest_and_hold_their_columns(subtests):
    points = in_order(cloud("normal", 900, np.float32))
    coarse, fine = (set(reference.cuts(points, k, by="width")) for k in (7, 21))
    assert coarse <= fine
    columns = np.repeat(np.arange(5), 40)
    points = np.stack([columns, np.arange(200) % 11], axis=1).astype(np.int32)
    for segments in (1, 3, 5, 9, 200):
        with subtests.test(segments=segments):
            assert adaptive_region(points, segments).segments == min(segments, 5) or segments == 9
            check(points, segments, None)


def crossing(x, y):
    """Six points of three segments: the lower tangents of neighbours cross between the third and the fourth."""
    dtype = np.float64 if max(np.abs(x).max(), np.abs(y).max()) > 1e39 else np.float32
    points = in_order(np.stack([x, y], axis=1).astype(dtype))
    assert np.array_equal(points[:, 0], np.sort(x).astype(dtype)) and len(set(points[:, 0].tolist())) == 6
    return points


def test_crossings_are_near_those_of_the_tangents(session):
    """At widths of all magnitudes, also where the difference of two x is no number of the type."""
    rng, inner = np.random.default_rng(36), np.array([-1, -0.97, -0.9, 0.9, 0.96, 1])
    of_float64 = (900, 1023) * session.profile.fp64
    for setting, exponents in (("cpu_shapes", (-100, 0, 99, 100, 127)), ("as_gpu", (0, 127, *of_float64))):
        for exponent in exponents:
            reach = float(np.ldexp(1.9, exponent))
            points = crossing(inner * reach, [0, 2, *rng.uniform(0.3, 1, 2), 2, 0])
            for turned in (points, points * np.array([1, -1], points.dtype)):
                with in_setting(session.device, setting) as one:
                    region = check(turned, 3, one)
                side, chain = (1, region.lower) if turned is points else (-1, region.upper)
                exact = reference.chain(reference.groups_of(turned, 3), side)
                assert len(chain) == len(exact) == 3
                assert abs(float(Fraction(float(chain[1, 0])) - exact[1][0])) < 1e-6 * reach


def test_crossings_near_height_zero_are_the_nearest_subnormals(session):
    """At half of the smallest number, within an error bound of four of them: no rounded height tells which is next."""
    rng, found = np.random.default_rng(37), []
    while len(found) < 5:  # the height at 0 is m k / 2**24 - low, half of 2**-20
        k = int(rng.integers(9 << 20, 1 << 24)) | 1
        low = 8 * pow(1 << 24, -1, k) % k
        m = ((low << 24) - 8) // k
        if m < low or not 0.8 < m / (1 << 24) < 1:
            continue
        x, far = np.array([-k, 1 - k, k - (1 << 24), (1 << 24) - k, k - 1, k]), 1 << 24
        found.append(crossing(x, np.ldexp([-low, far, m - low, m - low, far, -low], -129)))
    for setting, points in itertools.product(("cpu_shapes", "as_gpu"), found):
        for sign in (1, -1):
            with in_setting(session.device, setting) as one:
                region = check(points * np.float32([1, sign]), 3, one)
            reflex = (region.lower if sign == 1 else region.upper)[1]
            assert reflex.tolist() == [0, -sign * 2.0**-149]


# Bit for bit ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ("circle", "duplicates", "mixed_magnitudes"))
def test_naive_and_local_kernels_agree(subtests, session, name, monkeypatch):
    def poisoned(session, nbytes, allocate=launch.allocate):  # what is read must have been written
        buffer = allocate(session, nbytes)
        launch.fill(session, buffer, np.uint32(0x7FABCDEF), nbytes // 4)
        return buffer

    monkeypatch.setattr(launch, "allocate", poisoned)
    for dtype in types(session):
        points = cloud(name, 900, dtype)
        shapes = SHAPES if dtype == np.float32 else SHAPES[:1]
        for segments in (1, 4, 300):
            with subtests.test(segments=segments):
                naive = region_by_kernel(points, segments, kernel="naive", device=session)
                for policies in shapes:
                    with override(policies):
                        local = region_by_kernel(points, segments, kernel="local", device=session)
                    assert same(naive, local), (dtype, segments)
                assert same(naive, adaptive_region(points, segments, device=session))


def test_columns_longer_than_segments(subtests, session):
    """Most segments are empty, more side by side than a tile has: the nearest others are found wherever they are."""
    rng, turns = np.random.default_rng(7), itertools.count()
    x = np.repeat(np.arange(60), rng.choice([1, 2, 5, 90], 60))
    for dtype in types(session)[:1]:
        points = in_order(np.stack([x, rng.integers(0, 50, len(x))], axis=1).astype(dtype))
        for segments in (len(x), len(x) // 4, len(x) // 15):
            with subtests.test(segments=segments):
                naive = region_by_kernel(points, segments, kernel="naive", device=session)
                with override(SHAPES[2 + next(turns) % (len(SHAPES) - 2)]):
                    options = {"kernel": "local", "device": session, "assume_sorted": True}
                    assert same(naive, region_by_kernel(points, segments, **options)), (dtype, segments)


def test_other_devices_and_shapes_agree(subtests, session, any_session):
    for name, n, segments in (
        ("circle_noise", 5000, 3),
        ("normal", 5000, 64),
        ("circle", 1100, 2),
        ("grid", 700, 90),
    ):
        with subtests.test(name=name, n=n, segments=segments):
            points = in_order(cloud(name, n, np.float32))
            expected = adaptive_region(points, segments, device=session)
            assert same(expected, adaptive_region(points, segments, assume_sorted=True, device=any_session))


#: Sizes beside those of tiles, strips, rows and blocks.
SIZES = (
    1,
    2,
    3,
    5,
    15,
    16,
    17,
    31,
    33,
    63,
    64,
    65,
    127,
    129,
    255,
    256,
    257,
    511,
    513,
    1023,
    1025,
    2047,
    2049,
    4097,
)

#: Clouds that kernels may get wrong: no order of magnitude, no gap, no direction is what it looks like.
ADVERSARIAL = (
    "mixed_magnitudes",
    "huge",
    "tiny",
    "small",
    "extremes_of_type",
    "near_line",
    "columns",
    "duplicates",
    "ends",
    "parabola",
    "circle",
    "octagon_edges",
    "signed_zeros",
    "far_from_origin",
    "comb",
    "vertical",
    "lattice_star",
)


def adversary(name, n, dtype, seed):
    """A cloud of CLOUDS, or of few columns, of a comb, or with half of the points at the lowest x there is."""
    rng = np.random.default_rng([seed, n])
    if name == "comb":
        return comb(n).astype(dtype)
    points = cloud("mixed_magnitudes" if name == "ends" else "square", n, dtype, seed)
    if name == "columns":
        points[:, 0] = rng.integers(0, n // 40 + 1, n)
    elif name == "ends":
        low = np.finfo(dtype).min if np.dtype(dtype).kind == "f" else np.iinfo(dtype).min
        points[rng.random(n) < 0.5, 0] = low
    else:
        points = cloud(name, n, dtype, seed)
    return points


@pytest.mark.settings(..., "as_amd")
@given(seed=st.integers(0, 999), size=st.sampled_from(SIZES), name=st.sampled_from(ADVERSARIAL), data=st.data())
def test_any_cloud_is_the_same_in_every_setting(any_session, session, seed, size, name, data):
    """The default options of GPUs and CPUs, bit for bit as the kernels of the definition; every point is in it."""
    as_gpu = any_session.profile.kind == "gpu"  # other types are built elsewhere
    dtype = data.draw(st.sampled_from(types(any_session))) if as_gpu else np.float32
    points = adversary(name, size, dtype, seed)
    segments = data.draw(st.sampled_from((1, 2, 7, size // 16 + 1, size // 4 + 1, size // 3 + 1, size, size + 5)))
    cuts, axis = data.draw(st.sampled_from(["count", "width"])), data.draw(st.sampled_from("xy"))
    options = {"cuts": cuts, "axis": axis}
    naive = region_by_kernel(points, segments, kernel="naive", device=session, **options)
    if axis == "x" and data.draw(st.booleans()):
        points, options = in_order(points), {**options, "assume_sorted": True}
    found = adaptive_region(points, segments, device=any_session, **options)
    assert same(naive, found) and found.contains(points[:500]).all()


def test_many_vertices_come_when_asked_for(session):
    points = in_order(cloud("square", 200_000, np.float32))
    region = adaptive_region(points, 70_000, device=session)
    assert "area" not in repr(region) and len(region) > 70_000
    assert len(region) == len(set(map(tuple, np.concatenate([region.lower, region.upper]).tolist())))
    assert region.contains(points[::97]).all()
    again = pickle.loads(pickle.dumps(region))
    assert same(region, again)


def test_points_on_the_device_and_in_any_order(session):
    import pyopencl.array as cla

    points = cloud("normal", 3000, np.float32)
    expected = adaptive_region(in_order(points), 40, device=session)
    assert same(expected, adaptive_region(points, 40, device=session))
    assert same(expected, adaptive_region(cla.to_device(session.queue, points), 40))
    assert same(expected, adaptive_region(cla.to_device(session.queue, in_order(points)), 40, assume_sorted=True))


# Along y, and both ----------------------------------------------------------------------------------------------


def test_axis_y_is_axis_x_of_swapped_points(session):
    points = cloud("spiral", 800, np.float64 if session.profile.fp64 else np.float32)
    along_x = adaptive_region(points[:, ::-1], 25, device=session)
    along_y = adaptive_region(points, 25, axis="y", device=session)
    assert np.array_equal(along_x.lower[:, ::-1], along_y.lower) and along_x.area == along_y.area
    assert along_y.to_shapely().exterior.is_ccw and along_y.contains(points).all()


def test_both_axes_are_tighter_than_one(session):
    t = np.linspace(-2.4, 2.4, 900)
    ring = np.stack([np.cos(t), np.sin(t)], axis=1)
    points = np.concatenate([ring, 1.3 * ring]) @ [[0.6, -0.8], [0.8, 0.6]]
    along_x, along_y, both = (adaptive_region(points, 40, axis=axis, device=session) for axis in ("x", "y", "both"))
    assert both.contains(points).all() and both.area < 0.95 * min(along_x.area, along_y.area)
    shape = both.to_shapely()
    assert shape.is_valid and shape.area == pytest.approx(both.area) and both.segments == (40, 40)
    assert both.simplify(0.01).area >= both.area
    assert "CrossRegion" in repr(both) and len(both.rings) >= 1


# Many regions at once -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cuts", ("count", "width"))
def test_many_regions_at_once(subtests, session, cuts):
    rng = np.random.default_rng(3)
    sizes = [0, 1, 40, 0, 3, 200, 17, 0]
    parts = [in_order(cloud("square", n, np.float32)) if n else np.empty((0, 2), np.float32) for n in sizes]
    lift = rng.random(sum(sizes)).astype(np.float32)
    lower = np.concatenate(parts)
    upper = lower + np.stack([0 * lift, lift], axis=1)
    starts = np.cumsum([0, *sizes]).astype(np.uint32)
    sides = {"low": lower, "up": upper}
    bound = {name: as_device_points(session, p, caller="test").chunks[0].buffer for name, p in sides.items()}
    bound["begins"] = as_device_values(session, starts, caller="test").chunks[0].buffer
    for segments in (1, 6, 2000):
        with subtests.test(segments=segments):
            options = OutlineOptions(
                np.dtype(np.float32), len(lower), "low", "up", segments, starts="begins", regions=len(sizes), cuts=cuts
            )
            chains = chains_of(session, options, **bound)
            assert len(chains) == len(sizes) and "8 regions" in repr(chains)
            for r, size in enumerate(sizes):
                low, up = chains[r]
                if not size:
                    assert len(low) == len(up) == chains.head.effective[r] == 0
                    continue
                first, last = starts[r], starts[r + 1]
                for got, source in ((low, lower[first:last]), (up, upper[first:last])):
                    alone = adaptive_region(in_order(source), segments, cuts=cuts, device=session)
                    assert np.array_equal(got, alone.lower if source.base is lower or got is low else alone.upper)
                    assert chains.head.effective[r] == alone.segments


def test_regions_of_both_axes_that_geos_cannot_intersect(session):
    if not session.profile.fp64:
        pytest.skip("float64 is needed for coordinates as large as these")
    region = adaptive_region(cloud("huge", 2500, np.float64, seed=0), 7, axis="both", device=session)
    with pytest.raises(InvalidInput, match="GEOS cannot intersect regions of coordinates as large as these"):
        region.to_shapely()
