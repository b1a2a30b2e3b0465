"""convex_hulls and HullBatch against the rational oracle: hulls, measures, labels, the value."""

import functools
import gc
import json
import pickle

import numpy as np
import pytest
from batches import SIZES, device_arrays, mixed
from clouds import cloud
from device_settings import ONE_TYPE, imposed_session
from effort import LONG
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import batch as reference
from reference import hull as reference_hull

import clgeom
from clgeom import conformance
from clgeom.core.device import Session
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.hull.batch.group_hulls import CROWDED, HULLS, TILES, GroupHulls, worth_an_item
from clgeom.hull.batch.hulls import convex_hulls, convex_hulls_by_label
from clgeom.hull.measures import ragged_measures

#: Around a CPU's jobs, what one list of a GPU's work-group holds, and its pieces; what needs several rounds of them.
CROWDED_SIZES = (1025, 0, 3000, 512, 513, 130)

LARGE = (1023, 3, 1024, 1025, 0, 20_000, 2049, 130, 511, 8192, 8193)


@functools.cache
def expected(dtype, collinear):
    points, offsets = mixed(dtype)
    return reference.convex_hulls(points, offsets.tolist(), collinear=collinear)


@functools.cache
def expected_measures(dtype, collinear):
    points, offsets = mixed(dtype)
    groups = np.split(points, offsets[1:-1])
    return np.array(
        [
            reference.measures(points[hull], reference_hull.dimension(group) < 2)
            for hull, group in zip(expected(dtype, collinear), groups)
        ]
    )


def assert_hulls(batch, hulls):
    assert batch.vertices.dtype == np.int64 and batch.offsets.dtype == np.int64
    assert batch.offsets.tolist() == np.append(0, np.cumsum(list(map(len, hulls)))).tolist()
    assert batch.vertices.tolist() == [vertex for hull in hulls for vertex in hull]


def assert_as_convex_hull(batch, points, offsets, collinear="drop", device=None):
    for i, (begin, end) in enumerate(zip(offsets, offsets[1:])):
        hull = clgeom.convex_hull(points[begin:end], collinear=collinear, device=device)
        np.testing.assert_array_equal(batch[i].vertices, hull.vertices + begin)
        assert batch[i].dimension == hull.dimension


# The oracle -----------------------------------------------------------------------------------------------------


def assert_right_for_all_clouds(session, dtype, collinear):
    points, offsets = mixed(dtype)
    batch = convex_hulls(points, offsets, collinear=collinear, device=session)
    assert_hulls(batch, expected(dtype, collinear))
    groups = np.split(points, offsets[1:-1])
    assert batch.dimensions.tolist() == [reference_hull.dimension(group) for group in groups]
    found = np.stack([batch.areas, batch.perimeters], axis=1)
    np.testing.assert_array_equal(found, expected_measures(dtype, collinear))  # bit for bit


@pytest.mark.parametrize("dtype, collinear", [(np.float32, "drop"), (np.float64, "keep"), (np.int32, "drop")])
@pytest.mark.settings("as_is", "no_fp64", "as_gpu")
def test_convex_hulls_of_all_clouds(any_session, refused, dtype, collinear):
    if not refused(any_session, dtype, convex_hulls, *mixed(dtype)):
        assert_right_for_all_clouds(any_session, dtype, collinear)


@pytest.mark.settings("cpu_shapes", "odd_shapes")
def test_convex_hulls_in_other_shapes(any_session):
    assert_right_for_all_clouds(any_session, np.float32, "drop")


@pytest.mark.parametrize("dtype", (np.float32, np.int32))
def test_convex_hulls_keeps_collinear(session, dtype):
    points, offsets = mixed(dtype)
    assert_hulls(convex_hulls(points, offsets, collinear="keep", device=session), expected(dtype, "keep"))


@st.composite
def ragged(draw):
    """Small integers in ragged groups: collinear and equal points everywhere."""
    sizes = draw(st.lists(st.integers(0, 20), max_size=12))
    reach = draw(st.sampled_from([1, 3, 9]))
    coordinate = st.integers(-reach, reach)
    rows = draw(st.lists(st.tuples(coordinate, coordinate), min_size=sum(sizes), max_size=sum(sizes)))
    return np.array(rows, np.float64).reshape(-1, 2), np.append(0, np.cumsum(sizes)).astype(np.int64)


@given(case=ragged(), collinear=st.sampled_from(["drop", "keep"]))
@settings(max_examples=40)
@pytest.mark.fp64
def test_convex_hulls_of_small_integers(session, case, collinear):
    batch = convex_hulls(*case, collinear=collinear, device=session)
    assert_hulls(batch, reference.convex_hulls(case[0], case[1].tolist(), collinear=collinear))


@pytest.mark.settings("as_is", "as_gpu")
def test_convex_hulls_cuts_large_groups(any_session):
    """Some in several rounds; crowded ones on a circle or a line each by itself."""
    parts = [cloud("square", n, np.float32) for n in LARGE]
    parts += [cloud(name, n, np.float32) for name in ("circle", "line", "duplicates") for n in CROWDED_SIZES]
    parts += [cloud("circle", 600, np.float32)] * 3
    parts += [cloud("disc", n, np.float32) for n in (8192, 70_000)]  # more than one list's worth
    points, offsets = np.concatenate(parts), np.append(0, np.cumsum([len(part) for part in parts]))
    for collinear in ("drop", "keep") if any_session.profile.is_cpu else ("drop",):
        batch = convex_hulls(points, offsets, collinear=collinear, device=any_session)
        assert_as_convex_hull(batch, points, offsets, collinear)
        areas, perimeters = ragged_measures(batch.points, batch.offsets, batch.dimensions < 2)
        np.testing.assert_array_equal(batch.areas, areas)
        np.testing.assert_array_equal(batch.perimeters, perimeters)


def test_tiles_of_more_points_than_their_numbers_tell_apart(session):
    """Tiles number points with 16 bits: a group beyond that is cut, however large the tiles of a policy are."""
    corners = cloud("circle", 50, np.float32)
    points = np.concatenate([cloud("disc", 70_000, np.float32) / 2, corners, cloud("disc", 9, np.float32)])
    offsets = [0, 70_050, len(points)]
    session = imposed_session(session.device, kind="gpu")
    with override({TILES: Policy("group", wg_size=64, items_per_thread=2048)}):
        batch = convex_hulls(points, offsets, device=session)
    assert batch[0].vertices.min() >= 70_000  # the corners are the group's last points
    assert_as_convex_hull(batch, points, offsets)


@pytest.mark.settings("as_is")
def test_convex_hulls_finishes_crowded_groups_by_convex_hull(any_session):
    """Groups that no single work-item shall solve; measures are those of the kernels."""
    sizes = [3000, 5, 1500, 0]
    points = cloud("parabola", sum(sizes), np.float32)
    offsets = np.append(0, np.cumsum(sizes))
    by_kernel = convex_hulls(points, offsets, device=any_session)
    with override({CROWDED: Policy("serial", wg_size=1, items_per_thread=1)}):
        batch = convex_hulls(points, offsets, device=any_session)
    for name in ("vertices", "offsets", "areas", "perimeters"):
        np.testing.assert_array_equal(getattr(batch, name), getattr(by_kernel, name))


@pytest.mark.settings("as_is", "as_gpu")
def test_convex_hulls_small_jobs(any_session):
    """A policy changes no answer: jobs of 16 points make pieces of nearly every group."""
    points, offsets = mixed(np.float32)
    variant = "serial" if any_session.profile.is_cpu else "group"
    shape = Policy(variant, wg_size=1 if variant == "serial" else 32, items_per_thread=16, groups_per_unit=3)
    with override({HULLS: shape}):
        batch = convex_hulls(points, offsets, device=any_session)
    assert_hulls(batch, expected(np.float32, "drop"))


def test_convex_hulls_beyond_one_allocation(session):
    """Groups go in parts, and a group of more points than an allocation holds alone."""
    small = Session(session.device, max_alloc_bytes=1 << 20)
    sizes = [50_000, 0, 200_000, 7, 90_000, 41_000, *[3] * 2000]
    offsets = np.append(0, np.cumsum(sizes))
    points = cloud("normal", offsets[-1], np.float32)
    batch = convex_hulls(points, offsets, device=small)
    whole = convex_hulls(points, offsets, device=session)
    for name in ("vertices", "offsets", "areas", "perimeters"):
        np.testing.assert_array_equal(getattr(batch, name), getattr(whole, name))
    assert_as_convex_hull(batch, points, offsets[:7])
    many = convex_hulls(np.zeros((1, 2), np.float32), np.append(np.zeros(100_000, np.int64), 1), device=small)
    assert many.offsets[-2:].tolist() == [0, 1] and len(many) == 100_000


def test_convex_hulls_skewed_sizes(session):
    rng = np.random.default_rng(1)
    sizes = rng.permutation(np.floor(20_000 / np.arange(1, 3000)).astype(np.int64))
    offsets = np.append(0, np.cumsum(sizes))
    points = cloud("normal", offsets[-1], np.float32)
    batch = convex_hulls(points, offsets, device=session)
    assert (np.diff(batch.offsets) <= sizes).all() and batch.sizes.tolist() == sizes.tolist()
    largest = np.argsort(sizes)[-5:]
    for i in [*largest, *range(20)]:
        group = points[offsets[i] : offsets[i + 1]]
        reference_hull.certify(group, batch[i].vertices - offsets[i])


def test_convex_hulls_gives_memory_back_at_once(session):
    """Not when the garbage collector comes by: each call would take new memory until then."""
    points, offsets = cloud("square", 9000, np.float32), [0, 64, 9000]
    gc.collect()
    gc.disable()
    try:
        convex_hulls(points, offsets, device=session)
        before = session.pool.active_blocks
        convex_hulls(points, offsets, device=session)
        assert session.pool.active_blocks == before
    finally:
        gc.enable()


def test_bounds_share_the_cost():
    """Serial jobs of equal cost, whatever the sizes; groups without points cost, too."""
    for sizes in (np.full(1000, 64), np.append(np.zeros(10_000, int), 5000), [3], [0, 0, 1]):
        job = object.__new__(GroupHulls)
        job.offsets = np.append(0, np.cumsum(sizes))
        job.policy = Policy("serial", wg_size=1, groups_per_unit=4)
        job.profile = type("Profile", (), {"compute_units": 2})
        job.array = type("Points", (), {"n": int(job.offsets[-1])})
        bounds = job._bounds(len(sizes), even=False)
        assert bounds[0] == 0 and bounds[-1] == len(sizes) and (np.diff(bounds) >= 0).all()
        cost = np.diff((job.offsets + 16 * np.arange(len(job.offsets)))[bounds])
        assert cost.max() <= cost.sum() / (len(bounds) - 1) + np.max(sizes) + 16
        assert job._bounds(len(sizes), even=True)[[0, -1]].tolist() == [0, len(sizes)]


@pytest.mark.settings(..., "as_amd")
@given(
    families=st.lists(
        st.tuples(st.sampled_from(sorted(conformance.FAMILIES)), st.sampled_from(SIZES + CROWDED_SIZES + (2049,))),
        min_size=1,
        max_size=12,
    ),
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from(conformance.TYPES),
    collinear=st.sampled_from(("drop", "keep")),
)
def test_convex_hulls_of_any_families(any_session, setting, families, seed, dtype, collinear):
    if setting in ONE_TYPE or dtype == "float64" and not any_session.profile.fp64:
        dtype = "float32"
    parts = [conformance.family_points(family, n, dtype, seed) for family, n in families]
    offsets = np.append(0, np.cumsum([len(part) for part in parts]))
    batch = convex_hulls(np.concatenate(parts), offsets, collinear=collinear, device=any_session)
    for k, part in enumerate(parts):
        hull = slice(batch.offsets[k], batch.offsets[k + 1])
        vertices = batch.vertices[hull] - offsets[k]
        if len(part):
            reference_hull.certify(part, vertices, collinear=collinear)
        else:
            assert len(vertices) == 0


def test_worth_an_item_weighs_one_after_the_other_against_all_at_once():
    assert worth_an_item(np.array([1_000_000]), 1000) == 0
    assert worth_an_item(np.array([900]), 1000) == 900
    assert worth_an_item(np.array([3000] * 9), 1000) == 3000
    assert worth_an_item(np.array([700, 1_000_000, 800]), 1000) == 800


# Measures -------------------------------------------------------------------------------------------------------


def sliver(rng, kind):
    """A group of points whose area or perimeter is hard to round, and float64 can hold."""
    n = int(rng.integers(3, 12))
    points = rng.normal(size=(n, 2))
    if kind == "line":
        points[:, 1] = points[:, 0] / 3
    elif kind == "near line":
        points[:, 1] = points[:, 0] / 7 + points[:, 1] * 10.0 ** -rng.integers(3, 30)
    elif kind == "far":
        points += 10.0 ** rng.integers(2, 14)
    elif kind == "boxes":
        points = points[rng.integers(0, 2, (4, 2)), [[0, 1]] * 4]
    elif kind == "scales":
        points *= 10.0 ** rng.integers(-150, 150, (1 + (n & 1) * (n - 1), 2))
    elif kind == "ends":
        points = rng.integers(-4, 5, (n, 2)) * float(rng.choice([5e-324, 1e-320, 3e307]))
    elif kind == "halves":
        points = rng.integers(-(1 << 28), 1 << 28, (n, 2)).astype(float)
    return points


KINDS = ("plain", "line", "near line", "far", "boxes", "scales", "ends", "halves")


@pytest.mark.fp64
@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
def test_measures_are_those_of_one_hull_correctly_rounded(any_session):
    """And the area is 0 exactly below dimension 2. On the device, too."""
    rng = np.random.default_rng(347)
    groups = [sliver(rng, KINDS[k % len(KINDS)]) for k in range(2400 if LONG else 120)]
    points, offsets = np.concatenate(groups), np.append(0, np.cumsum(list(map(len, groups))))
    for collinear in ("drop", "keep"):
        batch = convex_hulls(points, offsets, collinear=collinear, device=any_session)
        resident = convex_hulls(*device_arrays(any_session, points, offsets), collinear=collinear)
        expected = [reference.measures(hull.points.tolist(), hull.dimension < 2) for hull in batch]
        found = list(zip(batch.areas.tolist(), batch.perimeters.tolist()))
        assert found == expected == [(hull.area, hull.perimeter) for hull in batch]
        assert found == list(zip(resident.areas.get().tolist(), resident.perimeters.get().tolist()))
        assert ((batch.areas > 0) == (batch.dimensions == 2)).all()


@pytest.mark.settings("as_is", "no_fp64")
@pytest.mark.parametrize("dtype", (np.float32, np.int32))
def test_measures_of_other_types_are_those_of_one_hull(any_session, dtype):
    rng = np.random.default_rng(348)
    groups = []
    for k in range(2000 if LONG else 100):
        reach = 2.0 ** rng.integers(2, 31)
        group = rng.uniform(-reach, reach, (int(rng.integers(2, 12)), 2))
        group[:, 1] = group[:, 0] // 2 if k % 5 == 0 else group[:, 1]
        groups.append((group * 10.0 ** rng.integers(-20, 20, (1, 2)) if dtype == np.float32 else group).astype(dtype))
    points, offsets = np.concatenate(groups), np.append(0, np.cumsum(list(map(len, groups))))
    batch = convex_hulls(points, offsets, device=any_session)
    found = list(zip(batch.areas.tolist(), batch.perimeters.tolist()))
    assert found == [reference.measures(hull.points.tolist(), hull.dimension < 2) for hull in batch]
    assert found == [(hull.area, hull.perimeter) for hull in batch]


@pytest.mark.fp64
@pytest.mark.parametrize("x, y", [(1000, -1000), (-1000, 1000), (1000, 10), (-1074, 1023), (-850, -450), (511, 511)])
def test_measures_of_magnitudes_that_differ_by_axis(session, x, y):
    corners = np.array([(0, 0), (2.0**x, 0), (0, 2.0**y)])
    batch = convex_hulls(corners, [0, 3], device=session)
    assert batch.areas.tolist() == [batch[0].area] == [max(2.0 ** (x + y - 1), 5e-324)]
    assert batch.perimeters.tolist() == [batch[0].perimeter]


@pytest.mark.fp64
def test_measures_far_from_the_origin(session):
    """Relative to a vertex: nothing cancels."""
    corners = np.array([(0, 0), (0.5, 0), (0.5, 0.25), (0, 0.25)]) + [2**40, 2**41]
    batch = convex_hulls(corners, [0, 4], device=session)
    assert batch.areas.tolist() == [0.125] and batch.perimeters.tolist() == [1.5]


def test_measures_on_the_host_of_large_and_of_small_polygons():
    """More than `SIDE_BY_SIDE` vertices, and fewer."""
    t = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    ring = np.stack([np.cos(t), np.sin(t)], axis=1) * 1e3
    corners = np.concatenate([ring[:5], ring, ring[:1], ring[:2], ring[:64], ring[:65]])
    offsets = np.array([0, 5, 305, 306, 306, 308, 372, 437])
    flat = np.diff(offsets) < 3
    areas, perimeters = ragged_measures(corners, offsets, flat)
    parts = np.split(corners, offsets[1:-1])
    found = [reference.measures(part.tolist(), is_flat) for part, is_flat in zip(parts, flat)]
    assert list(zip(areas.tolist(), perimeters.tolist())) == found


# Labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", (np.uint8, np.int16, np.int64, np.uint64))
def test_convex_hulls_by_label(session, dtype):
    rng = np.random.default_rng(2)
    points = rng.integers(-9, 9, (3000, 2)).astype(np.float32)
    labels = (rng.integers(0, 40, 3000) * 3).astype(dtype)
    batch = convex_hulls_by_label(points, labels, device=session)
    assert batch.labels.dtype == dtype and batch.labels.tolist() == sorted(set(labels.tolist()))
    for label, hull in zip(batch.labels, batch):
        mine = np.flatnonzero(labels == label)
        assert hull.vertices.tolist() == mine[reference_hull.convex_hull(points[mine])].tolist()
        assert hull.n == len(mine)
        np.testing.assert_array_equal(hull.points, points[hull.vertices])


def test_convex_hulls_by_label_in_order_are_groups(session):
    points = cloud("normal", 1000, np.float32)
    labels = np.repeat([2, 5, 2**40], [300, 1, 699])
    batch = convex_hulls_by_label(points, labels, device=session)
    assert_hulls(batch, reference.convex_hulls(points, [0, 300, 301, 1000]))
    assert batch.labels.tolist() == [2, 5, 2**40]
    assert len(convex_hulls_by_label([], [], device=session)) == 0


# The value ------------------------------------------------------------------------------------------------------


@pytest.fixture
def batch():
    points = np.array([(0, 0), (2, 0), (2, 2), (0, 2), (1, 1), (5, 5), (6, 6), (7, 7), (3, 4)], np.float32)
    return convex_hulls(points, [0, 5, 8, 8, 9])


def test_batch_as_sequence(batch):
    assert len(batch) == 4 and repr(batch) == "HullBatch(4 hulls, 7 vertices)"
    assert [hull.dimension for hull in batch] == [2, 1, -1, 0]
    assert batch[-1].vertices.tolist() == [8] and batch[np.int8(1)].vertices.tolist() == [5, 7]
    assert [hull.dimension for hull in batch[1:]] == [1, -1, 0] and batch[2:2] == []
    assert batch[0].area == batch.areas[0] == 4 and batch[0].contains((1, 1))
    for wrong in (4, -5):
        with pytest.raises(IndexError):
            batch[wrong]
    with pytest.raises(TypeError):
        batch[1.0]


def test_batch_for_others(batch):
    shapely = pytest.importorskip("shapely", reason="compares with Shapely")
    made = batch.to_shapely()
    kinds = ["Polygon", "LineString", "GeometryCollection", "Point"]
    assert [geometry.geom_type for geometry in made] == kinds
    assert [shapely.equals_exact(a, b.to_shapely()) for a, b in zip(made, batch)] == [True] * 4
    collection = json.loads(json.dumps(batch.__geo_interface__))
    assert [feature["geometry"]["type"] for feature in collection["features"]] == kinds
    assert collection["features"][1]["properties"] == {
        "points": 3,
        "area": 0,
        "perimeter": batch.perimeters[1],
    }


def test_batch_pickles(batch, session):
    points, offsets = device_arrays(session, batch.points, batch.offsets)
    for made in (batch, convex_hulls(points, offsets)):
        again = pickle.loads(pickle.dumps(made))
        assert [hull.dimension for hull in again] == [2, 1, -1, 0]
        np.testing.assert_array_equal(again.points, batch.points)


def test_batch_profiled(batch):
    again = convex_hulls(batch.points, batch.offsets, profile=True)
    assert "batch_hulls" in [phase.name for phase in again.phases]
    assert all(phase.seconds > 0 for phase in again.phases)
