"""Arrays that come on the device: any byte order, any strides, any place in a buffer, whatever queue fills them.

Every function that takes such an array must read it as NumPy does. Nothing may go through the host where the
type is one that kernels read.
"""

import sys
import types

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

import clgeom
from clgeom import dp, radio
from clgeom.core.launch import read
from clgeom.errors import DeviceError, InvalidInput
from clgeom.intake.arrays import as_device_points, as_device_values, session_of
from clgeom.intake.device_arrays import fetched, is_device_array, overlap, share_memory

BIG_ENDIAN = (">u2", ">u4", ">u8", ">i2", ">i4", ">i8", ">f2", ">f4", ">f8")


def there(session, values, **options):
    return cl_array.to_device(session.queue, values, **options)


def some(dtype, n=1000, seed=0):
    """Numbers whose bytes in the other order are in another order."""
    bits = np.random.default_rng(seed).integers(0, 1 << 63, n, dtype=np.uint64)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (bits.astype(float) / 2**50 - 4000).astype(dtype)
    return bits.astype(f"u{dtype.itemsize}").view(f"{dtype.kind}{dtype.itemsize}").astype(dtype)


@pytest.fixture
def no_host_copy(monkeypatch, request):
    """Arrays cannot be taken to the host by pyopencl's ways or by ours, once the kernels have been tried."""
    session = request.getfixturevalue("any_session" if "any_session" in request.fixturenames else "session")
    as_device_values(session, there(session, some("float32"))[::2], caller="test")

    def refuse(*arguments, **options):
        raise AssertionError("a copy through the host")

    monkeypatch.setattr(cl_array.Array, "get", refuse)
    monkeypatch.setattr("clgeom.intake.device_arrays.fetched", refuse)
    monkeypatch.setattr("clgeom.intake.arrays.to_device", refuse)


def values_of(array):
    """What kernels see of a DeviceArray."""
    (chunk,) = array.chunks
    return read(array.session, chunk.buffer, array.dtype, array.n * array.width)


VIEWS = {
    "whole": lambda a: a,
    "aligned": lambda a: a[512:],
    "misaligned": lambda a: a[1:],
    "one": lambda a: a[7:8],
    "strided": lambda a: a[3::7],
    "reversed": lambda a: a[::-1],
    "backwards": lambda a: a[-2:5:-3],
}


@pytest.mark.settings("as_is", "as_gpu", "odd_shapes")
@pytest.mark.parametrize("dtype", ("uint8", ">u2", "float32", ">f8"))
def test_values_of_any_layout_stay_on_the_device(any_session, no_host_copy, dtype):
    if any_session.profile.kind == "gpu" and not any_session.profile.fp64 and dtype == ">f8":
        pytest.skip("float64 is refused where the device has none, which other tests hold")
    values = some(dtype)
    array = there(any_session, values)
    for view in VIEWS.values():
        found = as_device_values(any_session, view(array), caller="test")
        assert found.dtype.isnative
        np.testing.assert_array_equal(values_of(found), view(values))


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("dtype", ("float32", ">i4"))
def test_points_of_any_layout_stay_on_the_device(any_session, no_host_copy, dtype):
    values = some(dtype, 3000).reshape(1000, 3)
    table = there(any_session, values)
    columns = there(any_session, np.asfortranarray(values[:, :2]))
    for array, wanted in (
        (columns, values[:, :2]),
        (columns[5:], values[5:, :2]),
        (table[:, 1:], values[:, 1:]),
        (table[::-2, ::2], values[::-2, ::2]),
        (table[3:, 1::-1], values[3:, 1::-1]),
    ):
        found = as_device_points(any_session, array, caller="test")
        assert found.dtype.isnative and found.n == len(wanted)
        np.testing.assert_array_equal(values_of(found).reshape(-1, 2), wanted)


def test_fetched_takes_any_array(session):
    values = some(">i4", 24).reshape(2, 3, 4)
    array = there(session, values)
    for view in (
        lambda a: a,
        lambda a: a[1],
        lambda a: a[:, ::2, ::-1],
        lambda a: a[1, 2, 3],
        lambda a: a[:, 1:1],
    ):
        found = fetched(view(array).with_queue(None))
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, view(values))
    records = np.array([(1, 2.5), (3, 4.5)], [("a", ">u2"), ("b", ">f4")])
    np.testing.assert_array_equal(fetched(there(session, records)[1:]), records[1:])  # as they are


def test_subclasses_are_device_arrays(session):
    class Tagged(cl_array.Array):
        pass

    values = some("float32")
    tagged = Tagged(session.queue, values.shape, values.dtype, data=there(session, values).base_data)
    assert is_device_array(tagged) and not is_device_array(values) and not is_device_array(cl_array)
    np.testing.assert_array_equal(clgeom.sort(tagged).get(), np.sort(values))


def test_parts_of_pools_and_of_parts(session):
    """Neither pooled memory nor a sub-buffer has sub-buffers."""
    pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(session.queue))
    whole = cl.Buffer(session.context, cl.mem_flags.READ_WRITE, 16384)
    values = some("float32", 2048)
    part = cl_array.Array(session.queue, (2048,), np.float32, data=whole.get_sub_region(8192, 8192))
    part.set(values)
    for array in (there(session, values, allocator=pool), part):
        found = as_device_values(session, array[1024:], caller="test")
        np.testing.assert_array_equal(values_of(found), values[1024:])


def test_shared_virtual_memory(session):
    if not hasattr(session.device, "svm_capabilities") or not session.device.svm_capabilities:
        pytest.skip("the device has no shared virtual memory")
    values = some("float32")
    array = there(session, values, allocator=cl.tools.SVMAllocator(session.context, queue=session.queue))
    for view in VIEWS.values():
        np.testing.assert_array_equal(clgeom.sort(view(array)).get(), np.sort(view(values)))
    with pytest.raises(InvalidInput, match="'out' parameter of sort must be in a buffer"):
        clgeom.sort(array, out=array)


def test_what_another_queue_does_comes_first(session):
    """Its fills end before the array is read, and before a result is written to it."""
    values = some("float32")
    given, out = (cl_array.zeros(cl.CommandQueue(session.context), 1000, np.float32) for _ in "io")
    for array in (given, out):
        slow = cl_array.zeros(array.queue, 5_000_000, np.float32)
        for _ in range(20):
            slow.fill(np.float32(1))
    given.set(values, async_=True)
    out.fill(np.float32(7))
    assert clgeom.sort(given, out=out) is out
    out.queue.finish()
    np.testing.assert_array_equal(out.get(), np.sort(values))


def test_arrays_whose_commands_have_failed_are_refused(session):
    """And the session goes on."""
    values, failed = some("float32"), cl.UserEvent(session.context)
    failed.set_status(-5)
    array, out = there(session, values), there(session, values)
    array.add_event(failed)
    with pytest.raises(DeviceError, match="must end first has failed on .*, with status -5"):
        clgeom.sort(array)
    with pytest.raises(DeviceError):
        clgeom.sort(out, out=array)
    np.testing.assert_array_equal(clgeom.sort(out).get(), np.sort(values))


def test_overlap(session):
    whole = there(session, some("float32"))
    half = cl_array.Array(session.queue, (500,), np.float32, data=whole.base_data.get_sub_region(0, 2000))
    other = there(session, some("float32"))
    assert share_memory(whole, half) and share_memory(whole[:10], whole[20:]) and not share_memory(whole, other)
    assert overlap(whole[400:], half) and not overlap(whole[500:], half) and not overlap(whole[:10], whole[10:])
    assert not overlap(whole[:0], whole)


def test_arrays_of_two_contexts_are_refused(session):
    keys = there(session, some("float32"))
    other = cl_array.zeros(cl.CommandQueue(cl.Context([session.device])), 1000, np.float32)
    with pytest.raises(
        InvalidInput, match="'values' parameter of sort_by_key must be in the OpenCL context of the keys"
    ):
        clgeom.sort_by_key(keys, other)
    with pytest.raises(InvalidInput, match="'out' parameter of sort must be in the OpenCL context of the keys"):
        clgeom.sort(keys, out=other)


# Every public function that takes arrays on the device ------------------------------------------------------------


@pytest.mark.parametrize("dtype", BIG_ENDIAN)
@pytest.mark.parametrize("n", (1, 50, 17_000))
def test_big_endian_keys_sort(session, dtype, n):
    keys = some(dtype, n)
    native = keys.astype(keys.dtype.newbyteorder("="))
    array = there(session, keys)
    assert session_of(array, None) is session
    for found in (clgeom.sort(array), clgeom.shellsort(array, device=session).keys):
        assert found.dtype == native.dtype
        np.testing.assert_array_equal(found.get(), np.sort(native))
    np.testing.assert_array_equal(clgeom.argsort(array).get(), np.argsort(native, kind="stable"))
    order = np.argsort(native, kind="stable")
    values = some(">f4", n, seed=1)
    offsets = there(session, np.array([0, n], ">i8"))
    sorted_keys, moved = clgeom.sort_by_key(array, there(session, values), offsets=offsets)
    assert moved.dtype == values.dtype  # values are moved as they are
    np.testing.assert_array_equal(moved.get(), values[order])
    np.testing.assert_array_equal(sorted_keys.get(), native[order])


@pytest.mark.parametrize("n", (0, 1, 2, 5000))
def test_sorts_of_views(session, no_host_copy, n):
    keys = some("int16", 3 * n + 1)
    array = there(session, keys)
    for view in (lambda a: a[1:], lambda a: a[1::3], lambda a: a[:0:-1]):
        wanted = view(keys)
        for found in (clgeom.sort(view(array)), clgeom.shellsort(view(array)).keys):
            got = read(session, found.base_data, found.dtype, len(found)) if len(found) else np.empty(0, np.int16)
            np.testing.assert_array_equal(got, np.sort(wanted))
            assert not len(found) or not share_memory(found, array)
        values = there(session, np.arange(3 * n + 1, dtype=np.uint32))
        if n:
            _, moved = clgeom.sort_by_key(view(array), view(values))
            got = read(session, moved.base_data, np.uint32, len(moved))
            np.testing.assert_array_equal(keys[got], np.sort(wanted))


POINT_FORMS = {
    "big_endian": lambda s, p: there(s, p.astype(p.dtype.newbyteorder(">"))),
    "strided": lambda s, p: there(s, np.repeat(p, 2, axis=0))[::2],
    "columns": lambda s, p: there(s, np.hstack([p[:, :1], p, p]))[:, 1:3],
    "offset": lambda s, p: there(s, np.vstack([p[:1], p]))[1:],
    "fortran": lambda s, p: there(s, np.asfortranarray(p)),
}


@pytest.mark.parametrize("dtype", ("float32", "int32", "int16"))
@pytest.mark.parametrize("form", POINT_FORMS)
def test_hulls_of_any_layout(session, form, dtype):
    rng = np.random.default_rng(0)
    points = np.round(rng.normal(size=(600, 2)) * 1000).astype(dtype)
    array = POINT_FORMS[form](session, points)
    hull = clgeom.convex_hull(points, device=session)
    found = clgeom.convex_hull(array)
    np.testing.assert_array_equal(found.vertices, hull.vertices)
    np.testing.assert_array_equal(found.points, hull.points)
    assert hull.contains(array).tolist() == hull.contains(points).tolist()
    assert not clgeom.orient2d(array, array, array).any()
    labels = rng.integers(0, 5, len(points)) * 300 + 1
    batch = clgeom.convex_hulls_by_label(points, labels, device=session)
    for given_labels in (
        labels,
        there(session, labels),
        there(session, labels.astype(">u8")),
        there(session, np.repeat(labels, 2).astype(np.int32))[::2],
    ):
        found = clgeom.convex_hulls_by_label(array, given_labels)
        assert found.labels.tolist() == batch.labels.tolist()
        assert found.vertices.get().tolist() == batch.vertices.tolist()
        got = found.points.get()
        assert got.dtype == batch.points.dtype and got.tolist() == batch.points.tolist()
    offsets = np.array([0, 100, 350, 600])
    batch = clgeom.convex_hulls(points, offsets, device=session)
    for given_offsets in (
        offsets,
        there(session, offsets.astype(">i8")),
        there(session, np.repeat(offsets, 2))[::2],
        there(session, offsets.astype(">i2")),
    ):
        found = clgeom.convex_hulls(array, given_offsets)
        assert found.vertices.get().tolist() == batch.vertices.tolist()


def test_scalars_on_the_device_are_refused(session):
    scalar = there(session, np.array(3.0, np.float32))
    for function, arguments in (
        (clgeom.convex_hull, ()),
        (clgeom.convex_hulls, ([0],)),
        (clgeom.ConvexHull, ()),
        (clgeom.convex_hulls_by_label, ([0],)),
        (clgeom.heaphull_filter, ()),
    ):
        with pytest.raises(InvalidInput, match=r"'points' parameter of \w+ must have shape \(n, 2\). Got \(\)"):
            function(scalar, *arguments)


def test_negative_labels_in_any_byte_order(session):
    points, labels = there(session, some("float32", 20).reshape(10, 2)), np.append(-256, np.arange(9))
    for dtype in ("<i8", ">i8"):
        batch = clgeom.convex_hulls_by_label(points, there(session, labels.astype(dtype)))
        assert batch.labels.tolist() == labels.tolist()


def test_scipy_compatible_hull_of_any_layout(session):
    points = np.random.default_rng(1).normal(size=(200, 2)).astype(np.float32)
    wanted = clgeom.ConvexHull(points, device=session)
    for form in POINT_FORMS.values():
        found = clgeom.ConvexHull(form(session, points), incremental=True)
        np.testing.assert_array_equal(found.vertices, wanted.vertices)


@pytest.mark.parametrize("dtype", (">f4", ">i2", ">u1"))
def test_rasters_of_any_layout(session, dtype):
    raster = np.random.default_rng(2).integers(0, 300, (3, 12, 17)).astype(dtype)
    wide = np.repeat(np.repeat(raster, 2, axis=1), 3, axis=2)
    wanted = clgeom.coverage_regions(raster[1], [100, 200], device=session, outline="segments")
    for array in (
        there(session, raster)[1],
        there(session, wide)[1, ::2, ::3],
        there(session, raster[1].T.copy()).T,
    ):
        found = clgeom.coverage_regions(array, [100, 200], outline="segments")
        assert [region.area for region in found] == [region.area for region in wanted]


def test_path_loss_of_any_layout(session):
    rng = np.random.default_rng(3)
    distance = rng.uniform(0.1, 3, (20, 30)).astype(np.float32)
    wanted = radio.free_space(distance, frequency=900.0, device=session)
    arrays = {
        ">f4": there(session, distance.astype(">f4")),
        "strided": there(session, np.repeat(distance, 2, axis=1))[:, ::2],
        "offset": there(session, np.vstack([distance[:1], distance]))[1:],
        "no queue": there(session, distance).with_queue(None),
    }
    for name, array in arrays.items():
        np.testing.assert_array_equal(fetched(radio.free_space(array, frequency=900.0)), wanted, err_msg=name)


def test_parameters_of_a_table_of_any_layout(session):
    weights = np.array([2, 3, 4, 5, 300], np.int32)
    equation = dp.Equation("w[j]", parameters={"w": "int32[]"}, pattern="RUD")
    for array in (
        there(session, weights.astype(">i4")),
        there(session, np.repeat(weights, 2))[::2],
        there(session, weights).with_queue(None),
    ):
        found = dp.fill(equation, (1, 5), w=array)
        np.testing.assert_array_equal(found.numpy()[0], weights)


@pytest.mark.parametrize("package", ("pyopencl.array", "torch", "pandas", "pandas.api.extensions", "polars", "pyarrow"))
def test_packages_that_another_thread_is_importing_have_no_instances_yet(session, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, types.ModuleType(package))
    assert not is_device_array(np.zeros((3, 2)))
    points, labels = np.random.default_rng(0).normal(size=(50, 2)), np.repeat([0, 1], 25)
    found = clgeom.convex_hulls_by_label(clgeom.scale.Chunks([(points, labels)]), device=session)
    assert len(found) == 2
