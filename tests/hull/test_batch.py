"""convex_hulls, convex_hulls_by_label and HullBatch against the rational oracle; the command's option --by."""

import functools
import gc
import json
import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner
from clouds import CLOUDS, cloud
from conftest import ONE_TYPE
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import batch as reference
from reference import hull as reference_hull

import clgeom
from clgeom import conformance
from clgeom.commands import main as cli
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.hull.batch.hulls import convex_hulls, convex_hulls_by_label
from clgeom.hull.batch.job import CROWDED, HULLS, Job, worth_an_item
from clgeom.hull.batch.result import ragged_measures
from clgeom.hull.predicates import predicate_parameters
from clgeom.runtime.arrays import to_device
from clgeom.runtime.device import Session
from clgeom.runtime.launch import Plan, Scratch, Step, allocate, fill
from clgeom.runtime.launch import run as launch
from clgeom.runtime.policies import Policy
from clgeom.runtime.tuning import override

#: Around where the sieve begins, vectors and counted runs end, and a GPU's jobs do.
SIZES = (0, 1, 2, 3, 4, 7, 8, 9, 17, 0, 33, 64, 65, 127, 128, 129, 5)
#: Around a CPU's jobs, what one list of a GPU's work-group holds, and its pieces; what needs several rounds of them.
CROWDED_SIZES = (1025, 0, 3000, 512, 513, 130)
LARGE = (1023, 3, 1024, 1025, 0, 20_000, 2049, 130, 511, 8192, 8193)


@functools.cache
def mixed(dtype):
    """Groups of every cloud in every size, and where they begin."""
    parts = [cloud(name, n, dtype) for name in CLOUDS for n in SIZES]
    points = np.concatenate(parts)
    points.flags.writeable = False
    return points, np.append(0, np.cumsum([len(part) for part in parts]))


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
        job = object.__new__(Job)
        job.offsets = np.append(0, np.cumsum(sizes))
        job.policy = Policy("serial", wg_size=1, groups_per_unit=4)
        job.profile = type("Profile", (), {"compute_units": 2})
        job.array = type("Points", (), {"n": int(job.offsets[-1])})
        bounds = job._bounds(len(sizes), even=False)
        assert bounds[0] == 0 and bounds[-1] == len(sizes) and (np.diff(bounds) >= 0).all()
        cost = np.diff((job.offsets + 16 * np.arange(len(job.offsets)))[bounds])
        assert cost.max() <= cost.sum() / (len(bounds) - 1) + np.max(sizes) + 16
        assert job._bounds(len(sizes), even=True)[[0, -1]].tolist() == [0, len(sizes)]


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


@pytest.mark.fp64
def test_measures_are_close_to_the_exact_ones(session):
    points = cloud("circle", 64_000, np.float64)
    batch = convex_hulls(points, np.arange(0, 64_001, 64), device=session)
    for i, hull in enumerate(batch):
        assert batch.areas[i] == pytest.approx(hull.area, rel=1e-14)
        assert batch.perimeters[i] == pytest.approx(hull.perimeter, rel=1e-14)


@pytest.mark.fp64
@pytest.mark.parametrize("scale", (1e300, 1e-300, 5e-324, 1e-150))
def test_measures_of_extreme_magnitudes(session, scale):
    corners = np.array([(0, 0), (4, 0), (4, 3), (0, 3), (1, 1)]) * scale
    batch = convex_hulls(corners, [0, 5, 5], device=session)
    assert batch.areas[0] == batch[0].area
    assert batch.perimeters.tolist() == [14 * scale, 0]


@pytest.mark.fp64
@pytest.mark.parametrize("x, y", [(1000, -1000), (-1000, 1000), (1000, 10), (-1074, 1023), (-850, -450), (511, 511)])
def test_measures_of_magnitudes_that_differ_by_axis(session, x, y):
    """The differences of vertices are exact here, so area and perimeter are good to their last bits."""
    corners = np.array([(0, 0), (2.0**x, 0), (0, 2.0**y)])
    batch = convex_hulls(corners, [0, 3], device=session)
    assert batch.areas.tolist() == [batch[0].area] == [2.0 ** (x + y - 1)]
    assert batch.perimeters[0] == pytest.approx(batch[0].perimeter, rel=7 * 2.0**-53)


@pytest.mark.fp64
@given(
    st.lists(st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)), min_size=3, max_size=12),
    st.integers(-1060, 1010),
    st.integers(-1060, 1010),
)
def test_areas_hold_their_bound_on_lattices_of_any_scale(session, lattice, x, y):
    corners = np.ldexp(np.array(lattice, float), [x, y])
    batch = convex_hulls(corners, [0, len(corners)], device=session)
    exact = reference_hull.area(corners, batch.vertices) if batch.dimensions[0] == 2 else Fraction(0)
    if exact == 0 or float_of(exact) == math.inf:
        assert batch.areas[0] == float_of(exact)
    else:
        error = abs(Fraction(batch.areas[0]) - exact)
        smallest = Fraction(float(np.finfo(float).smallest_subnormal))
        assert error <= (len(batch.vertices) + 4) * exact / 2**53 + smallest


def float_of(number):
    try:
        return float(number)
    except OverflowError:
        return math.inf


@pytest.mark.fp64
def test_measures_far_from_the_origin(session):
    """Relative to a vertex: nothing cancels."""
    corners = np.array([(0, 0), (0.5, 0), (0.5, 0.25), (0, 0.25)]) + [2**40, 2**41]
    batch = convex_hulls(corners, [0, 4], device=session)
    assert batch.areas.tolist() == [0.125] and batch.perimeters.tolist() == [1.5]


def test_measures_on_the_host_are_those_of_the_order():
    """Also beyond one run of edges."""
    t = np.linspace(0, 2 * np.pi, 3000, endpoint=False)
    ring = np.stack([np.cos(t), np.sin(t)], axis=1) * 1e3
    corners = np.concatenate([ring[:5], ring, ring[:1], ring[:2], ring[:2048]])
    offsets = np.array([0, 5, 3005, 3006, 3006, 3008, 5056])
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


# Input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "points, offsets, sizes",
    [
        ([], [0], []),
        ([], [0, 0, 0], [0, 0]),
        ([(1, 2)], [0, 0, 1, 1], [0, 1, 0]),
        (np.empty((0, 2), np.int8), [0], []),
    ],
)
def test_convex_hulls_of_nothing(session, points, offsets, sizes):
    batch = convex_hulls(np.asarray(points, np.float32).reshape(-1, 2), offsets, device=session)
    assert batch.sizes.tolist() == sizes and batch.dimensions.tolist() == [size - 1 for size in sizes]
    assert np.diff(batch.offsets).tolist() == sizes and not batch.areas.any()
    assert [hull.dimension for hull in batch] == batch.dimensions.tolist()
    assert batch.points.shape == (len(batch.vertices), 2)


def fetched(array):
    return array if isinstance(array, np.ndarray) else array.get()


def device_arrays(session, *arrays):
    import pyopencl.array as cl_array

    return [cl_array.to_device(session.queue, np.asarray(array)) for array in arrays]


@pytest.mark.settings("as_is", "as_gpu", "no_fp64")
def test_convex_hulls_on_the_device(any_session):
    points, offsets = mixed(np.float32)
    host = convex_hulls(points, offsets)
    resident, begins = device_arrays(any_session, points, offsets)
    for given_offsets in (
        begins,
        offsets,
        *device_arrays(any_session, offsets.astype(np.int16).astype(np.int32)),
    ):
        batch = convex_hulls(resident, given_offsets, device=any_session)
        for name in ("vertices", "offsets", "areas", "perimeters", "points"):
            on_device = getattr(batch, name)
            assert type(on_device) is type(resident)
            np.testing.assert_array_equal(on_device.get(), getattr(host, name))
            assert on_device.dtype == getattr(host, name).dtype
        assert batch.dimensions.tolist() == host.dimensions.tolist() and batch[5].n == host[5].n
    on_host = convex_hulls(points, begins, device=any_session)
    assert isinstance(on_host.vertices, np.ndarray) and on_host.vertices.tolist() == host.vertices.tolist()


@pytest.mark.settings("as_is", "as_gpu", "no_fp64")
def test_a_batch_stays_when_the_callers_arrays_change(any_session):
    points, offsets = (array.copy() for array in mixed(np.float32))
    labels = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    resident, begins = device_arrays(any_session, points, offsets)
    batches = [
        convex_hulls(points, offsets, device=any_session),
        convex_hulls(resident, offsets, device=any_session),
        convex_hulls(points, begins, collinear="keep", device=any_session),
        convex_hulls_by_label(points, labels, device=any_session),
    ]
    expected = [reference_hull.dimension(group) for group in np.split(points, offsets[1:-1])]
    there = points[batches[0].vertices]
    sizes, k = np.diff(offsets), expected.index(2)
    points[:], offsets[:] = 7, 0
    resident.fill(7)
    resident.queue.finish()
    for batch in batches[:2]:
        np.testing.assert_array_equal(fetched(batch.points), there)
    for batch in batches[:3]:
        assert batch.dimensions.tolist() == expected and batch.sizes.tolist() == sizes.tolist()
        assert batch[k].area == pytest.approx(fetched(batch.areas)[k], rel=1e-12)
    assert batches[3].dimensions.max() == 2


def test_convex_hulls_by_label_on_the_device(session):
    points, labels = cloud("normal", 5000, np.float32), np.random.default_rng(3).integers(0, 99, 5000)
    host = convex_hulls_by_label(points, labels, device=session)
    resident, own = device_arrays(session, points, labels)
    for given_labels in (labels, own, *device_arrays(session, labels.astype(np.uint8))):
        batch = convex_hulls_by_label(resident, given_labels)
        for name in ("vertices", "offsets", "areas", "perimeters", "points"):
            np.testing.assert_array_equal(getattr(batch, name).get(), getattr(host, name))
        assert batch.labels.tolist() == host.labels.tolist()
    dropped = convex_hulls_by_label(resident, own, nonfinite="drop")
    np.testing.assert_array_equal(dropped.vertices.get(), host.vertices)
    moved, kept = labels - 50, np.flatnonzero(labels != 7)
    (negative,) = device_arrays(session, moved)
    assert convex_hulls_by_label(resident, negative).labels.tolist() == (host.labels - 50).tolist()
    batch = convex_hulls_by_label(resident, negative, noise=-43)
    assert batch.left_out == 5000 - len(kept) and -43 not in batch.labels
    expected = convex_hulls_by_label(points[kept], moved[kept], device=session)
    np.testing.assert_array_equal(batch.vertices.get(), kept[expected.vertices])
    np.testing.assert_array_equal(batch.areas.get(), expected.areas)
    assert convex_hulls_by_label(points, own).vertices.tolist() == host.vertices.tolist()


@pytest.mark.parametrize("where", ("host", "device", "masked"))
def test_convex_hulls_leaves_points_out(session, where):
    rng = np.random.default_rng(4)
    points, labels = cloud("normal", 2000, np.float32), rng.integers(0, 9, 2000)
    offsets = np.array([0, 0, 700, 703, 2000])
    out = rng.random(2000) < 0.1
    out[700:703] = True
    given = np.where(out[:, None], np.float32(np.nan), points)
    if where == "masked":
        given = np.ma.MaskedArray(points, mask=np.stack([out, np.zeros(2000, bool)], axis=1))
    if where == "device":
        (given,) = device_arrays(session, given)
    for batch, groups in (
        (convex_hulls(given, offsets, nonfinite="drop", device=session), np.repeat([1, 2, 3], np.diff(offsets)[1:])),
        (convex_hulls_by_label(given, labels, nonfinite="drop", device=session), labels),
    ):
        for group, hull in enumerate(batch):
            mine = np.flatnonzero((groups == group) & ~out)
            assert hull.vertices.tolist() == mine[reference_hull.convex_hull(points[mine])].tolist()
            assert hull.n == (groups == group).sum()
            np.testing.assert_array_equal(hull.points, points[hull.vertices])
    if where != "masked":
        first = int(np.argmax(out))
        for function, second in ((convex_hulls, offsets), (convex_hulls_by_label, labels)):
            message = f"'points' parameter of {function.__name__} must be finite. Got nan at index [{first}, 0] instead"
            with pytest.raises(InvalidInput, match=re.escape(message)):
                function(given, second, device=session)


@pytest.mark.parametrize("size", (40, 3000, 70_000))
@pytest.mark.settings("as_is", "as_gpu", "small_allocations")
def test_convex_hulls_refuses_infinities_in_groups_of_any_size(any_session, size):
    points = cloud("circle", 3 * size, np.float32)
    points[2 * size + 1, 1] = np.inf
    with pytest.raises(InvalidInput, match=rf"convex_hulls must be finite. Got inf at index \[{2 * size + 1}, 1\]"):
        convex_hulls(points, [0, size, 2 * size, 3 * size], device=any_session)


def test_batch_tiles_stay_in_their_places(session):
    """Whatever hoods of NaN look like: no more vertices than points."""
    policy, n = Policy("group", 4, 8), 32
    slots, counts, status = (Scratch(name, np.uint32, 2 * n) for name in ("slots", "counts", "status"))
    params = {**predicate_parameters(session, np.float32), "keep": True, "measures": False}
    args = ("points[0]", np.uint32(1), "jobs[0]", np.uint32(0), "status", slots, counts, status)
    for share in (0.1, 0.3, 0.5, 0.8, 0.95):
        points = cloud("normal", n, np.float32)
        points[np.random.default_rng(0).random((n, 2)) < share] = np.nan
        arrays = {"points": points, "jobs": np.array([0, n, 0, 0], np.uint32)}
        arrays = {name: to_device(session, array, caller="test") for name, array in arrays.items()}
        memory = {scratch.name: allocate(session, scratch.nbytes) for scratch in (slots, counts, status)}
        fill(session, memory["slots"], np.uint32(n), 2 * n)
        plan = Plan(Step("hull/batch/batch_tiles", policy, args, 1, params))
        found = launch(session, plan, **arrays, **memory)
        assert found.read(counts, 1)[0] <= n and (found.read(slots)[n:] == n).all()


ENDS = "must begin with 0 and end with the number of points, 9. Got {} at [{}] instead."
BAD_OFFSETS = (
    ([0, 3, 2, 9], "must never descend. Got 2 at [2] after 3."),
    ([0, 3], ENDS.format(3, 1)),
    ([0, 4, 10], ENDS.format(10, 2)),
    ([1, 9], ENDS.format(1, 0)),
    ([-1, 9], ENDS.format(-1, 0)),
    (np.array([0, 2**63], np.uint64), ENDS.format(2**63, 1)),
    ([0.0, 9.0], "must be integers of shape (m + 1,). Got float64 of shape (2,) instead."),
    ([], "must be integers of shape (m + 1,). Got int64 of shape (0,) instead."),
    ([[0, 9]], "must be integers of shape (m + 1,). Got int64 of shape (1, 2) instead."),
    (None, "must be integers of shape (m + 1,). Got object of shape () instead."),
    (np.ma.MaskedArray([0, 5, 9], mask=[0, 1, 0]), "must have no masked entries. Got 1 of them instead."),
)


@pytest.mark.parametrize("offsets, message", BAD_OFFSETS)
def test_convex_hulls_refuses_offsets(session, offsets, message):
    with pytest.raises(InvalidInput, match=re.escape(f"The 'offsets' parameter of convex_hulls {message}")):
        convex_hulls(np.zeros((9, 2), np.float32), offsets, device=session)


@pytest.mark.parametrize("offsets, message", BAD_OFFSETS[:5])
@pytest.mark.settings("as_is", "as_gpu")
def test_convex_hulls_refuses_offsets_on_the_device(any_session, offsets, message):
    points, offsets = device_arrays(any_session, np.zeros((9, 2), np.float32), np.array(offsets))
    with pytest.raises(InvalidInput, match=re.escape(f"The 'offsets' parameter of convex_hulls {message}")):
        convex_hulls(points, offsets, device=any_session)


def test_convex_hulls_refuses_other_arguments():
    points = np.zeros((3, 2), np.float32)
    for bad, message in (
        (
            {"collinear": "no"},
            "'collinear' parameter of convex_hulls must be one of 'drop', 'keep'. Got 'no'",
        ),
        ({"nonfinite": "no"}, "'nonfinite' parameter of convex_hulls must be 'raise' or 'drop'. Got 'no'"),
    ):
        with pytest.raises(InvalidInput, match=message):
            convex_hulls(points, [0, 3], **bad)
    for wrong in (5, np.zeros((3, 3)), ["a", "b", "c"]):
        with pytest.raises(InvalidInput, match="'points' parameter of convex_hulls must"):
            convex_hulls(wrong, [0, 3])


def test_convex_hulls_needs_float64_for_float64(session):
    limited = Session(session.device, fp64=False)
    with pytest.raises(DeviceLimit, match="convex_hulls needs float64"):
        convex_hulls(np.zeros((3, 2)), [0, 3], device=limited)


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


# The command ----------------------------------------------------------------------------------------------------


@pytest.fixture
def cities(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        ("a", 0, 0, "Peru", 3),
        ("b", 1, 0, "Peru", 3),
        ("c", 1, 1, "Peru", 20),
        ("d", 0, 1, "Peru", 20),
        ("e", 0.5, 0.5, "Peru", 20),
        ("f", 9, 9, '"Cote, x"', 3),
        ("g", 10, 10, '"Cote, x"', 20),
    ]
    lines = ["name,lon,lat,country,zone", "# a comment", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "cities.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli.cli, ["hull", *map(str, arguments)], prog_name="clgeom")


def refused(folder, *arguments):
    before = sorted(folder.iterdir())
    result = run(*arguments)
    assert result.exit_code == 2 and result.stdout == "" and result.stderr.count("\n") == 1
    assert sorted(folder.iterdir()) == before, "a refused command left a file"
    return result.stderr


def test_hull_by_column_writes_geojson(cities):
    result = run("cities.csv", "--by", "country", "-o", "out.geojson")
    assert result.exit_code == 0 and "2 by country, 6 vertices" in result.stdout
    made = json.loads((cities / "out.geojson").read_text())
    assert made["type"] == "FeatureCollection"
    found = {feature["properties"]["country"]: feature for feature in made["features"]}
    assert list(found) == ["Cote, x", "Peru"]
    assert found["Cote, x"]["geometry"] == {"type": "LineString", "coordinates": [[9, 9], [10, 10]]}
    ring = [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]
    assert found["Peru"]["geometry"] == {"type": "Polygon", "coordinates": ring}
    assert found["Peru"]["properties"] == {"country": "Peru", "points": 5, "area": 1, "perimeter": 4}


def test_hull_by_integers_writes_csv(cities):
    assert run("cities.csv", "--by", "5", "-o", "out.csv").exit_code == 0
    lines = (cities / "out.csv").read_text().splitlines()
    assert lines[:2] == ["zone,index,x,y", "3,0,0.0,0.0"] and lines[-1].startswith("20,")
    shown = json.loads(run("cities.csv", "--by", "zone", "--json").stdout)
    assert [hull["group"] for hull in shown["hulls"]] == [3, 20] and shown["by"] == "zone"
    assert shown["hulls"][1]["points"] == 4 and shown["hulls"][1]["dimension"] == 2


def test_hull_by_column_of_numpy_files(cities):
    points = np.array([(0, 0), (1, 0), (0, 1), (4, 4)])
    np.save("table.npy", np.column_stack([points, [7, 7, 7, 2]]).astype(float))
    np.savez("table.npz", points=points, kind=np.array(["x", "x", "x", "y"]))
    records = np.array([(0, 0, 1), (1, 0, 1)], [("x", "f4"), ("y", "f4"), ("g", "i2")])
    np.save("records.npy", records)
    for file, by, groups in (
        ("table.npy", "3", [2, 7]),
        ("table.npz", "kind", ["x", "y"]),
        ("records.npy", "g", [1]),
    ):
        shown = json.loads(run(file, "--by", by, "--json").stdout)
        assert [hull["group"] for hull in shown["hulls"]] == groups


def test_hull_by_refuses(cities):
    assert "has no column 'nation'. It has: name, lon" in refused(cities, "cities.csv", "--by", "nation")
    assert "must end in one of .csv, .geojson" in refused(cities, "cities.csv", "--by", "zone", "-o", "out.wkt")
    assert "is the input file" in refused(cities, "cities.csv", "--by", "zone", "-o", "cities.csv")
    assert "--by makes many" in refused(cities, "cities.csv", "--by", "zone", "--plot", "out.png")
    (cities / "gap.csv").write_text("x,y,g\n0,0,a\n1,1,\n")
    message = refused(cities, "gap.csv", "--by", "g", "-o", "out.geojson")
    assert "malformed in line 3: the group in 'g' is missing" in message
    (cities / "nan.csv").write_text("lon,lat,g\n0,0,a\nnan,1,b\n")
    assert "must be finite" in refused(cities, "nan.csv", "--by", "g", "-o", "out.geojson")
    np.savez("floats.npz", points=np.zeros((2, 2)), g=np.array([0.5, 1]), short=np.array([1]))
    assert "must be integers or text. Got float64" in refused(cities, "floats.npz", "--by", "g")
    assert "one for each of the 2 points" in refused(cities, "floats.npz", "--by", "short")
    assert "has no array 'q'" in refused(cities, "floats.npz", "--by", "q")
    assert "cannot be read" in refused(cities, "missing.csv", "--by", "g")
