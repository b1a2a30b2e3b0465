"""What convex_hulls and convex_hulls_by_label take and refuse: devices, callers' arrays, offsets, labels."""

import itertools
import re

import numpy as np
import pytest
from batches import device_arrays, mixed
from clouds import cloud
from device_settings import in_setting
from reference import hull as reference_hull

from clgeom.core.device import Session
from clgeom.core.launch import allocate, fill
from clgeom.core.launch import run as launch
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import Policy
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.hull.batch.hulls import convex_hulls, convex_hulls_by_label
from clgeom.hull.predicates import predicate_parameters
from clgeom.intake.arrays import to_device


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
            assert isinstance(on_device, type(resident))
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
    params = {**predicate_parameters(session, np.float32), "keep_collinear": True, "measures": False}
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


def test_convex_hulls_refuses_offsets_on_the_device_where_points_are_left_out(any_session):
    points = np.array([(0, 0), (2, 0), (np.nan, 1), (2, 2), (0, 2)], np.float32)
    resident, *offsets = device_arrays(any_session, points, np.array([0, 7]), np.array([0, 3, 2, 5]), np.array([1, 5]))
    messages = "must .* end with the number of points, 5. Got 7", "must never descend. Got 2", "must begin with 0 .*, 5"
    for begins, message in zip(offsets, messages):
        for given in (points, resident):
            with pytest.raises(InvalidInput, match=f"The 'offsets' parameter of convex_hulls {message}"):
                convex_hulls(given, begins, nonfinite="drop", device=any_session)


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


def test_a_single_nonfinite_coordinate_is_found(session):
    """In x or y, of the first, an inner and the last point of a group, on all paths of hulls of groups."""
    rng = np.random.default_rng(0)
    for setting in ("as_is", "as_gpu", "odd_shapes"):
        with in_setting(session.device, setting) as one:
            for n, many in itertools.product((5, 65, 200, 300, 1025, 4100), (1, 3, 20)):
                points = rng.normal(size=(n * many, 2)).astype(np.float32)
                offsets, begin = np.arange(0, n * many + 1, n), many // 2 * n
                for at, column in itertools.product((0, n // 2, n - 1), (0, 1)):
                    before, points[begin + at, column] = points[begin + at, column], np.nan
                    with pytest.raises(
                        InvalidInput, match=rf"must be finite. Got nan at index \[{begin + at}, {column}\]"
                    ):
                        convex_hulls(points, offsets, device=one)
                    points[begin + at, column] = before
