"""The heaphull filter: octagon, labels and queues against the exact definition."""

import functools

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference import hull as reference

from clgeom.core.device import Session
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.errors import InvalidInput
from clgeom.hull.heaphull import heaphull_filter

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 129, 255, 300)
LARGE = (1023, 1025, 4095, 4096, 4097, 8193, 20_000)


@functools.cache
def expected(name, n, dtype):
    points = cloud(name, n, dtype)
    return points, reference.octagon(points), reference.heaphull_labels(points)


def assert_filter(found, octagon, labels):
    assert found.octagon.dtype == np.int64 and found.octagon.tolist() == octagon
    assert found.labels.dtype == np.uint8
    np.testing.assert_array_equal(found.labels, labels)
    assert len(found.queues) == 4 and all(queue.dtype == np.int64 for queue in found.queues)
    for q, queue in enumerate(found.queues, 1):
        np.testing.assert_array_equal(queue, np.flatnonzero(labels == q))
    assert found.kept == np.count_nonzero(labels)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.settings("as_is", "as_gpu", "cpu_shapes", "small_groups")  # no allocation is too small for these
def test_heaphull_filter_clouds(subtests, any_session, refused, name, dtype):
    for n in SIZES if not refused(any_session, dtype, heaphull_filter, cloud(name, 5, dtype)) else ():
        with subtests.test(n=n):
            points, octagon, labels = expected(name, n, dtype)
            assert_filter(heaphull_filter(points, device=any_session), octagon, labels)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("square", "circle", "grid", "octagon_edges", "near_line", "one_point", "huge"))
@pytest.mark.settings("as_is", "as_gpu", "cpu_shapes", "small_groups")  # no allocation is too small for these
def test_heaphull_filter_tile_edges(subtests, any_session, refused, name, dtype):
    for n in LARGE if not refused(any_session, dtype, heaphull_filter, cloud(name, 5, dtype)) else ():
        with subtests.test(n=n):
            points, octagon, labels = expected(name, n, dtype)
            assert_filter(heaphull_filter(points, device=any_session), octagon, labels)


@pytest.mark.parametrize("name", ("normal", "lattice_edges", "octagon_edges"))
def test_heaphull_filter_beyond_one_allocation(any_session, name):
    points, octagon, labels = expected(name, 300_001, np.float32)
    assert_filter(heaphull_filter(points, device=any_session), octagon, labels)


def test_heaphull_filter_queues_beyond_one_allocation(session):
    """All points survive: 4 bytes an index do not fit one buffer of this session."""
    points = cloud("circle", 300_000, np.float32)
    limited = Session(session.device, max_alloc_bytes=1 << 20)
    assert_filter(heaphull_filter(points, device=limited), reference.octagon(points), reference.heaphull_labels(points))


@given(
    hnp.arrays(np.int32, st.tuples(st.integers(1, 40), st.just(2)), elements=st.integers(-4, 4)),
    st.sampled_from([1.0, 0.1, 1e-40, 1e37]),
)
def test_heaphull_filter_small_lattices(session, lattice, scale):
    for points in (lattice, (lattice * scale).astype(np.float32)):
        assert_filter(
            heaphull_filter(points, device=session),
            reference.octagon(points),
            reference.heaphull_labels(points),
        )


@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 12), st.just(2)),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    )
)
def test_heaphull_filter_any_floats(session, points):
    assert_filter(heaphull_filter(points, device=session), reference.octagon(points), reference.heaphull_labels(points))


@pytest.mark.parametrize("wg_size", (1, 16, 32, 64, 256))
def test_heaphull_filter_every_group_size(subtests, session, wg_size):
    with override({"hull/heaphull_label": Policy("group", wg_size=wg_size)}):
        for name in ("normal", "octagon_edges"):
            for n in (100, 3000, 4096, 9000):
                with subtests.test(n=n):
                    points, octagon, labels = expected(name, n, np.float32)
                    assert_filter(heaphull_filter(points, device=session), octagon, labels)


def test_heaphull_filter_worked_example(session):
    points = np.array([(0, 0), (10, 0), (10, 10), (0, 10), (5, 5), (5, 0), (10, 5), (5, 10), (0, 5)], np.int32)
    found = heaphull_filter(points, device=session)
    assert found.octagon.tolist() == [0, 1, 2, 3]
    assert found.labels.tolist() == [3, 1, 1, 2, 0, 4, 1, 2, 3]
    assert [queue.tolist() for queue in found.queues] == [[1, 2, 6], [3, 7], [0, 8], [5]]
    assert found.kept == 8


@pytest.mark.fp64
def test_heaphull_filter_of_nothing(session):
    for empty in (np.empty((0, 2)), [], np.empty((0, 2), np.int32)):
        found = heaphull_filter(empty, device=session)
        assert_filter(found, [], np.empty(0, np.uint8))


@pytest.mark.fp64
def test_heaphull_filter_one_and_two_positions(session):
    found = heaphull_filter([[2.0, 3.0]] * 5, device=session)
    assert found.octagon.tolist() == [0] and found.labels.tolist() == [1] * 5
    found = heaphull_filter([[2, 3], [1, 1], [2, 3], [1, 1]], device=session)
    assert found.octagon.tolist() == [1, 0] and found.labels.tolist() == [2] * 4


def test_heaphull_filter_throws_away_nearly_all_of_a_disc(session):
    points = cloud("disc", 100_000, np.float32)
    found = heaphull_filter(points, device=session)
    assert 0 < found.kept < 15_000
    assert np.isin(reference.convex_hull(points[found.labels > 0]), np.arange(found.kept)).all()


@pytest.mark.parametrize("bad", (np.nan, np.inf, -np.inf))
def test_heaphull_filter_nonfinite(any_session, bad):
    points = cloud("disc", 5000, np.float32)
    points[[4321, 17, 3000], [0, 1, 0]] = bad
    with pytest.raises(InvalidInput, match=r"'points' parameter of heaphull_filter must be finite.*index \[17, 1\]"):
        heaphull_filter(points, device=any_session)
    found = heaphull_filter(points, nonfinite="drop", device=any_session)
    kept = np.setdiff1d(np.arange(5000), [4321, 17, 3000])
    labels = np.zeros(5000, np.uint8)
    labels[kept] = reference.heaphull_labels(points[kept])
    assert_filter(found, kept[reference.octagon(points[kept])].tolist(), labels)


def test_heaphull_filter_masked(session):
    points = cloud("disc", 1000, np.float32)
    mask = np.zeros(points.shape, bool)
    mask[[3, 500], [0, 1]] = True
    points[3] = 1e6
    found = heaphull_filter(np.ma.array(points, mask=mask), device=session)
    kept = np.setdiff1d(np.arange(1000), [3, 500])
    labels = np.zeros(1000, np.uint8)
    labels[kept] = reference.heaphull_labels(points[kept])
    assert_filter(found, kept[reference.octagon(points[kept])].tolist(), labels)


@pytest.mark.fp64
def test_heaphull_filter_all_dropped(session):
    found = heaphull_filter(np.full((4, 2), np.nan), nonfinite="drop", device=session)
    assert_filter(found, [], np.zeros(4, np.uint8))


def test_heaphull_filter_device_array(session):
    import pyopencl.array as cl_array

    points, octagon, labels = expected("circle_noise", 4097, np.float32)
    there = cl_array.to_device(session.queue, points)
    assert_filter(heaphull_filter(there, device=session), octagon, labels)
    np.testing.assert_array_equal(there.get(), points)


def test_heaphull_filter_profile(session):
    points = cloud("square", 50_000, np.float32)
    quiet = heaphull_filter(points, device=session).phases
    timed = heaphull_filter(points, device=session, profile=True).phases
    assert [phase.name for phase in quiet] == [phase.name for phase in timed]
    assert {"extremes_partial", "extremes_final", "heaphull_label", "compact_scatter"} <= {p.name for p in timed}
    assert all(phase.seconds is None for phase in quiet)
    assert all(phase.seconds >= 0 for phase in timed)
    assert all(p.global_size % p.local_size == 0 and p.local_size == p.policy.wg_size for p in timed)
    assert sum(p.bytes_moved for p in timed) >= 2 * points.nbytes


def test_heaphull_filter_repr(session):
    text = repr(heaphull_filter(cloud("square", 50_000, np.float32), device=session))
    assert text.startswith("HeaphullFilter(") and len(text) < 400
