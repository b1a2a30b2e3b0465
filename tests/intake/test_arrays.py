"""The only way in: types, layouts, chunks, device arrays, and memory that is read in place."""

import numpy as np
import pytest

import clgeom
from clgeom.core.device import Session, default_session
from clgeom.core.launch import read
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.intake.arrays import (
    CHUNK_ALIGN,
    as_device_points,
    as_device_values,
    c_name,
    canonical_points,
    chunk_bounds,
    is_device_array,
    leave_out,
    session_of,
    to_device,
)


def back(array):
    """A DeviceArray's items, read from the device."""
    parts = [read(array.session, c.buffer, array.dtype, c.count * array.width) for c in array.chunks]
    return np.concatenate([*parts, np.empty(0, array.dtype)])


@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.int32))
def test_canonical_points_are_taken_as_they_are(dtype):
    points = np.arange(20, dtype=dtype).reshape(10, 2)
    assert np.shares_memory(canonical_points(points, caller="test"), points)
    assert np.shares_memory(canonical_points(points[3:], caller="test"), points)


@pytest.mark.parametrize(
    "dtype, becomes",
    [
        ("f2", "f4"),
        ("i1", "i4"),
        ("u1", "i4"),
        ("i2", "i4"),
        ("u2", "i4"),
        ("u4", "f8"),
        ("i8", "f8"),
        ("u8", "f8"),
        (">f2", "f4"),
        (">f4", "f4"),
        (">f8", "f8"),
        (">i2", "i4"),
        (">i4", "i4"),
        (">u4", "f8"),
        (">i8", "f8"),
    ],
)
def test_canonical_points_types(dtype, becomes):
    values = np.array([[0, 1], [2, 100], [127, 3]])
    points = canonical_points(values.astype(dtype), caller="test")
    assert points.dtype == np.dtype(becomes) and points.dtype.isnative and points.flags.c_contiguous
    np.testing.assert_array_equal(points, values)


@pytest.mark.parametrize("dtype", ("i1", "u1", "i2", "u2"))
def test_canonical_points_whole_range_of_small_integers(dtype):
    info = np.iinfo(dtype)
    points = canonical_points(np.array([[info.min, info.max]], dtype), caller="test")
    assert points.tolist() == [[info.min, info.max]]


@pytest.mark.parametrize("value", (2**53, -(2**53), 2**53 - 1))
def test_canonical_points_wide_integers_within_2_to_53(value):
    points = canonical_points([[value, 0]], caller="test")
    assert points.dtype == np.float64 and int(points[0, 0]) == value


@pytest.mark.parametrize(
    "value, dtype",
    [
        (2**53 + 1, "i8"),
        (-(2**53) - 1, "i8"),
        (2**63 - 1, "i8"),
        (-(2**63), "i8"),
        (2**64 - 1, "u8"),
        (2**53 + 1, ">i8"),
    ],
)
def test_canonical_points_wide_integers_beyond_2_to_53(value, dtype):
    points = np.zeros((5, 2), dtype)
    points[3, 1] = value
    with pytest.raises(
        InvalidInput,
        match=rf"The 'p' parameter of f must hold integers within 2\*\*53. Got {value} at \[3, 1\]",
    ):
        canonical_points(points, caller="f", name="p")


def test_canonical_points_makes_strided_swapped_and_unaligned_contiguous():
    points = np.arange(40.0).reshape(20, 2)
    raw = np.zeros(points.nbytes + 8, np.uint8)[3 : 3 + points.nbytes]
    unaligned = raw.view(np.float64).reshape(20, 2)
    unaligned[:] = points
    for same in (
        np.asfortranarray(points),
        np.repeat(points, 2, axis=0)[::2],
        points[::-1][::-1],
        points.astype(">f8"),
        unaligned,
    ):
        mine = canonical_points(same, caller="test")
        assert mine.flags.c_contiguous and mine.flags.aligned and mine.dtype.isnative
        np.testing.assert_array_equal(mine, points)


def test_cpu_devices_read_the_callers_memory(session):
    points = np.arange(2000, dtype=np.float32).reshape(1000, 2)
    points.flags.writeable = False
    array = as_device_points(session, points, caller="test")
    assert array.host is points or np.shares_memory(array.host, points)
    assert (array.n, array.width, array.item_bytes, array.nbytes) == (1000, 2, 8, 8000)
    np.testing.assert_array_equal(back(array), points.ravel())
    np.testing.assert_array_equal(array.to_host()[[5, 3]], points[[5, 3]])


def test_a_copy_on_other_devices(session):
    if session.profile.is_cpu:
        pytest.skip("CPU devices read in place")
    points = np.zeros((1000, 2), np.float32)
    array = as_device_points(session, points, caller="test")
    points[:] = 1
    assert not back(array).any()


@pytest.mark.parametrize("n", (0, 1, CHUNK_ALIGN - 1, CHUNK_ALIGN, CHUNK_ALIGN + 1, 5 * CHUNK_ALIGN + 3))
@pytest.mark.parametrize("item_bytes", (1, 4, 8, 16))
@pytest.mark.parametrize("limit", (1, 1 << 20, 1_700_000, 1 << 31))
def test_chunk_bounds(session, n, item_bytes, limit):
    profile = Session(session.device, max_alloc_bytes=limit).profile if n else session.profile
    bounds = chunk_bounds(profile, n, item_bytes)
    assert sum(count for _, count in bounds) == n
    assert all(count > 0 for _, count in bounds)
    assert [start for start, _ in bounds] == np.cumsum([0, *(count for _, count in bounds)])[: len(bounds)].tolist()
    assert all(start % CHUNK_ALIGN == 0 for start, _ in bounds)
    assert all(count * item_bytes <= max(profile.max_alloc_bytes, CHUNK_ALIGN * item_bytes) for _, count in bounds)


def test_chunk_bounds_beyond_4_gib(session):
    bounds = chunk_bounds(session.profile, (5 << 32) + 1, 16)
    assert sum(count for _, count in bounds) == (5 << 32) + 1 and all(
        isinstance(v, int) for pair in bounds for v in pair
    )


def test_chunks_hold_all_rows(session):
    limited = Session(session.device, max_alloc_bytes=1 << 20)
    points = np.arange(600_000, dtype=np.float32).reshape(-1, 2)
    array = as_device_points(limited, points, caller="test")
    assert [c.start for c in array.chunks] == [0, 131072, 262144] and array.n == 300_000
    np.testing.assert_array_equal(back(array), points.ravel())
    assert list(array.bindings("points")) == ["points[0]", "points[1]", "points[2]"]
    parts = array.split()
    assert [part.n for part in parts] == [131072, 131072, 37856] and all(len(part.chunks) == 1 for part in parts)
    np.testing.assert_array_equal(np.concatenate([part.host for part in parts]), points)
    np.testing.assert_array_equal(np.concatenate([back(part) for part in parts]), points.ravel())


def test_values_types(session):
    for dtype in (
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float32",
        "float16",
    ):
        values = np.arange(100).astype(dtype)
        for same in (values, values.astype(values.dtype.newbyteorder(">")), np.repeat(values, 2)[::2]):
            array = as_device_values(session, same, caller="test")
            assert array.dtype == values.dtype and array.width == 1
            np.testing.assert_array_equal(back(array), values)


@pytest.mark.parametrize(
    "values, words",
    [
        (np.zeros((2, 2)), r"must have shape \(n,\). Got \(2, 2\)"),
        (3, r"must have shape \(n,\). Got \(\)"),
        (["a"], "must be one of float16, .*Got <U1"),
        ([1j], "must be one of .* Got complex128"),
        (np.zeros(2, bool), "must be one of .* Got bool"),
        ([[1], [1, 2]], "must be an array of numbers"),
    ],
)
def test_values_bad(session, values, words):
    with pytest.raises(InvalidInput, match=f"^The 'keys' parameter of sort {words}"):
        as_device_values(session, values, caller="sort", name="keys")
    with pytest.raises(InvalidInput, match="must be one of uint8. Got float64"):
        as_device_values(session, np.zeros(3), caller="sort", types=("uint8",))


def test_c_names():
    assert [c_name(t) for t in (np.float32, np.float64, np.int32, np.uint8, "int64", "uint16")] == [
        "float",
        "double",
        "int",
        "uchar",
        "long",
        "ushort",
    ]


def test_larger_than_the_device(session):
    if session.profile.is_cpu:
        pytest.skip("CPU devices read the caller's memory")
    n = session.profile.global_mem_bytes // 8 + 1000
    with pytest.raises(DeviceLimit, match="bytes, and .* has"):
        to_device(session, np.zeros((n, 2), np.float32), caller="test")


# Device arrays --------------------------------------------------------------------------------------------------


def test_device_array_is_adopted_without_a_copy(session):
    import pyopencl.array as cl_array

    points = np.arange(2000, dtype=np.float32).reshape(1000, 2)
    there = cl_array.to_device(session.queue, points)
    assert is_device_array(there) and not is_device_array(points) and not is_device_array([1])
    array = as_device_points(session, there, caller="test")
    assert array.host is None and array.chunks[0].buffer is there.base_data
    np.testing.assert_array_equal(array.to_host(), points)
    assert session_of(there, None) is session and session_of(there, session) is session
    assert session_of(points, session) is session and session_of(points, None) is default_session()


def test_device_array_filled_by_another_queue_is_waited_for(session):
    import pyopencl as cl
    import pyopencl.array as cl_array

    queue = cl.CommandQueue(session.context)
    there = cl_array.zeros(queue, (500_000, 2), np.float32)
    for _ in range(30):
        there = there + 1
    array = as_device_points(session, there, caller="test")
    assert (back(array) == 30).all()


@pytest.mark.parametrize("offset", (1, 16, 64, 500))
def test_device_array_views(session, offset):
    import pyopencl.array as cl_array

    values = np.arange(1000, dtype=np.float32)
    there = cl_array.to_device(session.queue, values)[offset:]
    np.testing.assert_array_equal(back(as_device_values(session, there, caller="test")), values[offset:])


def test_device_array_of_another_type_is_converted(session):
    import pyopencl.array as cl_array

    points = np.arange(20, dtype=np.int16).reshape(10, 2)
    array = as_device_points(session, cl_array.to_device(session.queue, points), caller="test")
    assert array.dtype == np.int32
    np.testing.assert_array_equal(back(array), points.ravel())


@pytest.mark.parametrize("shape", ((10,), (5, 3), (2, 2, 2)))
def test_device_array_of_wrong_shape(session, shape):
    import pyopencl.array as cl_array

    there = cl_array.zeros(session.queue, shape, np.float32)
    with pytest.raises(InvalidInput, match=r"'points' parameter of test must have shape \(n, 2\). Got \("):
        as_device_points(session, there, caller="test")


def test_device_array_of_another_device_or_context(session):
    import pyopencl as cl
    import pyopencl.array as cl_array

    queue = cl.CommandQueue(cl.Context([session.device]))
    there = cl_array.zeros(queue, (3, 2), np.float32)
    own = session_of(there, None)
    assert own.context == queue.context and own is session_of(there, None)
    with pytest.raises(InvalidInput, match="'device' parameter must be the device that the array is on"):
        session_of(there, session)


# Points left out ------------------------------------------------------------------------------------------------


def test_leave_out_nothing():
    points = np.zeros((3, 2))
    for given in (points, np.ma.array(points), np.ma.array(points, mask=False), [[1, 2]]):
        same, kept = leave_out(given, nonfinite="raise", caller="test")
        assert same is given and kept is None
    assert leave_out(points, nonfinite="drop", caller="test")[1] is None


def test_leave_out_masked_and_nonfinite():
    points = np.arange(12.0).reshape(6, 2)
    points[4, 0] = np.nan
    masked = np.ma.array(points, mask=np.zeros((6, 2), bool))
    masked[1, 0] = np.ma.masked
    left, kept = leave_out(masked, nonfinite="drop", caller="test")
    assert kept.tolist() == [0, 2, 3, 5] and kept.dtype == np.int64
    np.testing.assert_array_equal(left, points[[0, 2, 3, 5]])


@pytest.mark.parametrize("option", ("ignore", None, 1))
def test_leave_out_bad_option(option):
    with pytest.raises(InvalidInput, match="'nonfinite' parameter of test must be 'raise' or 'drop'. Got"):
        leave_out(np.zeros((1, 2)), nonfinite=option, caller="test")


def test_queries_may_be_on_the_device(session):
    import pyopencl.array as cl_array

    points = np.array([(0, 0), (4, 0), (4, 4)], np.float32)
    queries = np.array([(1, 0.5), (0.5, 1)], np.float32)
    there = cl_array.to_device(session.queue, queries)
    assert clgeom.convex_hull(points, device=session).contains(there).tolist() == [True, False]
    assert clgeom.adaptive_region(points, 1, device=session).contains(there).tolist() == [True, False]
