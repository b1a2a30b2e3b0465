"""Arrays of CUDA without a GPU: a driver whose device memory is the host's, beside a CPU that poses as a GPU."""

import ctypes
import threading
import weakref

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest
from device_settings import imposed_session
from hypothesis import given
from hypothesis import strategies as st

import clgeom
from clgeom.dp.problems import edit_distance
from clgeom.errors import InputWarning, InvalidInput
from clgeom.intake import shared
from clgeom.intake.device_arrays import is_device_array, on_host
from clgeom.intake.interop import cuda as arrays
from clgeom.intake.shared import SharedArray, shared_pool, tensor_of
from clgeom.quirks import cuda

pytestmark = [pytest.mark.settings("as_is"), pytest.mark.filterwarnings("error::clgeom.errors.InputWarning")]


class Mapping:
    """Memory of the host, at an address of its own."""

    def __init__(self, gpu, nbytes):
        self.gpu, self.nbytes = gpu, nbytes
        self.is_used = self.is_exported = False
        self.memory = np.zeros(nbytes + 64, np.uint8)
        self.address = -(-self.memory.ctypes.data // 64) * 64
        gpu.mapped.add(self)


class Gpu:
    """A GPU whose commands are done at once, and noted."""

    number, granularity, stream = 0, 1 << 12, 77

    def __init__(self):
        self.said, self.mapped, self.largest = [], weakref.WeakSet(), 1 << 62
        self.held = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def wait(self, stream=None):
        self.said.append(("wait", stream))

    def copy(self, to, source, nbytes, stream):
        ctypes.memmove(to, source, nbytes)
        self.said.append(("copy", stream))

    fetch = copy

    def allocation(self, pointer):
        for begin, nbytes in self.held.items():
            if begin <= pointer < begin + max(nbytes, 1):
                return begin, nbytes
        raise cuda.CudaError("cuMemGetAddressRange: CUDA_ERROR_NOT_FOUND (500)")

    def create(self, nbytes):
        if nbytes > self.largest:
            raise cuda.CudaError("cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY (2)")
        return Mapping(self, nbytes)


class Driver:
    def __init__(self, gpu):
        self.gpu = gpu

    def gpu_number(self, pointer):
        return self.gpu.number


class Array:
    """An array of a library of CUDA."""

    def __init__(self, gpu, values, stream=5):
        self.values, self.stream, self.gpu = values, stream, gpu
        low, high = np.lib.array_utils.byte_bounds(values) if hasattr(np.lib, "array_utils") else np.byte_bounds(values)
        for begin, nbytes in list(gpu.held.items()):  # memory of arrays that are gone
            if begin < high and low < begin + nbytes:
                del gpu.held[begin]
        gpu.held[low] = high - low

    @property
    def __cuda_array_interface__(self):
        found = dict(self.values.__array_interface__)
        return {
            **{key: found[key] for key in ("shape", "typestr", "data", "strides")},
            "version": 3,
            "stream": self.stream,
        }

    def get(self):
        return self.values.copy()


@pytest.fixture(scope="module")
def gpu():
    """A GPU that "pocl" is, as far as the interfaces say."""
    found = Gpu()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda, "driver", lambda: Driver(found))
        patch.setattr(cuda, "gpus", lambda: (found,))
        patch.setattr(cuda, "gpu_of", lambda device: found)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR

        def imported(context, mapping):
            memory = (ctypes.c_ubyte * mapping.nbytes).from_address(mapping.address)
            buffer = cl.Buffer(context, flags, hostbuf=memory)
            buffer.kept_memory = mapping.memory
            return buffer

        patch.setattr(cuda, "imported", imported)
        yield found


@pytest.fixture(scope="module")
def posing(gpu):
    """A session of its own whose arrays find it by their context."""
    from clgeom.core import device as devices

    one = imposed_session("pocl", kind="gpu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "session_of_context", lambda context, device=None: one)
        known = devices.as_session
        patch.setattr(devices, "as_session", lambda device=None: one if device is None else known(device))
        yield one


@given(
    st.integers(0, 3),
    st.sampled_from((0, 1, 3, 400, arrays.LEAST_BYTES // 8, arrays.LEAST_BYTES // 8 + 1)),
    st.sampled_from((np.float32, np.float64, np.int32)),
)
def test_layouts(gpu, posing, layout, n, dtype):
    points = (np.random.default_rng(n).normal(size=(n, 2)) * 100).astype(dtype)
    if layout == 1:
        points = np.asfortranarray(points)
    elif layout == 2:
        wide = np.zeros((n, 5), dtype)
        wide[:, 1:3] = points
        points = wide[:, 1:3]
    elif layout == 3:
        points = points[::-1].copy()[::-1]
    found = clgeom.convex_hull(Array(gpu, points), device=posing)
    expected = clgeom.convex_hull(points, device=posing)
    assert np.array_equal(found.vertices, expected.vertices)
    assert np.array_equal(found.points, expected.points)


def test_small_arrays_go_through_the_host(gpu, posing):
    pool = shared_pool(posing)
    for nbytes, shares in ((arrays.LEAST_BYTES - 4, False), (arrays.LEAST_BYTES, True)):
        before, keys = len(gpu.mapped), np.arange(nbytes // 4, dtype=np.int32)
        pool.free_held()
        gpu.said.clear()
        clgeom.sort(Array(gpu, keys), device=posing).get()
        assert gpu.said[:2] == [("copy", 5), ("wait", 5)]
        assert (len(gpu.mapped) > before) == shares


def test_streams(gpu, posing):
    keys = np.arange(1000, dtype=np.int32)
    for stream, said in ((5, [("copy", 5), ("wait", 5)]), (None, [("wait", None), ("copy", 77), ("wait", 77)])):
        gpu.said.clear()
        clgeom.sort(Array(gpu, keys, stream), device=posing)
        assert gpu.said == said


def test_dlpack_of_another_library(gpu, posing):
    """Our own arrays stand for those of a library that gives no stream: their capsule is read, and lets go of them."""
    asked = []

    class Given:
        def __init__(self, array):
            self.array = array

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

        def __dlpack__(self, *, stream):
            asked.append(stream)
            return self.array.__dlpack__(stream=stream)

    keys = np.random.default_rng(1).permutation(3000).astype(np.int16)
    array = clgeom.sort(Array(gpu, keys), device=posing)
    assert isinstance(array, SharedArray)
    before = len(shared._given)
    found = clgeom.sort(Given(array), descending=True, device=posing)
    assert asked == [77]
    assert np.array_equal(found.get(), np.sort(keys)[::-1])
    shared._drop_unused()
    assert len(shared._given) == before
    capsule = array.__dlpack__()
    shared._drop_unused()
    assert len(shared._given) == before + 1
    with pytest.raises((BufferError, RuntimeError, TypeError)):  # of NumPy, which does not read CUDA's memory
        np.from_dlpack(array)
    del capsule
    shared._drop_unused()
    assert len(shared._given) == before


def test_results_by_both_protocols(gpu, posing):
    keys = np.random.default_rng(2).normal(size=5000).astype(np.float32)
    found = clgeom.sort(Array(gpu, keys), device=posing)
    interface = found.__cuda_array_interface__
    assert interface["shape"] == (5000,)
    assert interface["typestr"] == "<f4"
    assert interface["strides"] is None
    values = np.ctypeslib.as_array((ctypes.c_float * 5000).from_address(interface["data"][0]))
    assert np.array_equal(values, np.sort(keys))
    values[0] = -1000  # what CUDA writes, clgeom reads
    assert found.get()[0] == -1000
    gpu.said.clear()
    assert clgeom.sort(found, descending=True).get()[-1] == -1000
    assert ("wait", None) in gpu.said
    part = found[10:20]
    address, shape, strides, dtype = tensor_of(part.__dlpack__())
    assert (address, shape, strides, dtype) == (interface["data"][0] + 40, (10,), (4,), np.float32)
    rows = cl_array.Array.reshape(found, (50, 100))[:, ::2]
    assert rows.__cuda_array_interface__["strides"] == (400, 8)
    with pytest.raises(BufferError):
        found.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        found.__dlpack__(dl_device=(1, 0))


def test_shared_memory_is_read_in_place(gpu, posing):
    keys = np.random.default_rng(3).normal(size=5000).astype(np.float32)
    found = clgeom.sort(Array(gpu, keys), device=posing)
    pool, address = shared_pool(posing), found.__cuda_array_interface__["data"][0]
    view = np.ctypeslib.as_array((ctypes.c_float * 5000).from_address(address))
    before = pool.active_blocks
    there = Array(gpu, view[::-1])
    gpu.said.clear()
    again = clgeom.sort(there, device=posing)
    assert ("copy", 5) not in gpu.said
    assert pool.active_blocks == before
    assert np.array_equal(again.get(), np.sort(keys))
    clgeom.sort(Array(gpu, view), descending=True, out=Array(gpu, view), device=posing)
    assert np.array_equal(view, np.sort(keys)[::-1])
    with pytest.raises(InvalidInput, match="'out'"):
        clgeom.sort(Array(gpu, keys), out=Array(gpu, keys.copy()), device=posing)


def test_memory_that_is_used_again_is_waited_for(gpu, posing):
    pool = shared_pool(posing)
    pool.free_held()
    one = pool.allocate(10)
    where, mapping = one.int_ptr, shared.mapping_of(one)
    mapping.is_exported = True
    del one
    gpu.said.clear()
    again = pool.allocate(10)
    assert again.int_ptr == where
    assert gpu.said == [("wait", None)]
    assert not mapping.is_exported


def test_without_memory_to_share_arrays_go_through_the_host(gpu, posing, monkeypatch):
    shared_pool(posing).free_held()
    monkeypatch.setattr(gpu, "largest", 0)
    keys = np.arange(arrays.LEAST_BYTES, dtype=np.int32)
    with pytest.warns(InputWarning, match="copied through the host"):
        assert np.array_equal(clgeom.sort(Array(gpu, keys), device=posing), keys)


def test_arrays_of_another_device_go_through_the_host(gpu, posing, monkeypatch):
    monkeypatch.setattr(gpu, "number", 3)
    monkeypatch.setattr(Driver, "gpu_number", lambda self, pointer: 1)
    with pytest.warns(InputWarning, match="copied through the host"):
        assert not is_device_array(clgeom.sort(Array(gpu, np.arange(10)), device=posing))


def test_claims_and_masks(gpu, posing):
    class Claims(Array):
        more = {}

        @property
        def __cuda_array_interface__(self):
            return {**super().__cuda_array_interface__, **self.more}

    one = Claims(gpu, np.arange(10, dtype=np.int32))
    for more in ({"shape": (11,)}, {"strides": (-4,)}, {"shape": (1 << 61,)}, {"strides": (400,)}):
        one.more = more
        with pytest.raises(InvalidInput, match="within its memory"):
            clgeom.sort(one, device=posing)
    one.more = {"mask": object()}
    with pytest.warns(InputWarning, match="copied through the host"):
        clgeom.sort(one, device=posing)


def test_views_keep_what_is_read_in_place(gpu, posing):
    keys = np.random.default_rng(6).permutation(5000).astype(np.int32)
    found = clgeom.sort(Array(gpu, keys), device=posing)
    address, pool = found.__cuda_array_interface__["data"][0], shared_pool(posing)
    view = np.ctypeslib.as_array((ctypes.c_int32 * 5000).from_address(address))
    owner = Array(gpu, view)
    owner.kept = found
    part = clgeom.sort(owner, descending=True, out=owner, device=posing)[:10]
    del found, owner
    others = [pool.allocate(20_000) for _ in range(3)]
    assert address not in [shared.mapping_of(one).address for one in others]
    assert np.array_equal(part.get(), np.arange(4999, 4989, -1))


def test_readonly_memory_and_lists_are_no_place_for_results(gpu, posing):
    keys = np.random.default_rng(7).permutation(5000).astype(np.int32)
    found = clgeom.sort(Array(gpu, keys), device=posing)
    address = found.__cuda_array_interface__["data"][0]
    view = np.ctypeslib.as_array((ctypes.c_int32 * 5000).from_address(address))
    view.flags.writeable = False
    with pytest.raises(InvalidInput, match="'out'"):
        clgeom.sort(Array(gpu, keys), out=Array(gpu, view), device=posing)
    with pytest.raises(InvalidInput, match="out"):
        both = [Array(gpu, keys.copy()), Array(gpu, keys.copy())]
        clgeom.sort_by_key(Array(gpu, keys), Array(gpu, keys), out=both, device=posing)


def test_mixed_places_and_weights_go_through_the_host(gpu, posing):
    keys = np.random.default_rng(8).integers(0, 50, 5000).astype(np.int32)
    values = np.arange(5000, dtype=np.float32)
    with pytest.warns(InputWarning, match="copied through the host"):
        found = clgeom.sort_by_key(Array(gpu, keys), values, device=posing)
    assert np.array_equal(found[1], values[np.argsort(keys, kind="stable")])
    with pytest.warns(InputWarning, match="copied through the host"):
        counts = clgeom.bincount(Array(gpu, keys), Array(gpu, values), device=posing)
    assert np.array_equal(counts, np.bincount(keys, values))


def test_threads_ask_for_one_address(gpu, posing):
    for _ in range(20):
        found = clgeom.sort(Array(gpu, np.arange(3000, dtype=np.int32)), device=posing)[100:]
        seen, gate = [], threading.Barrier(6)

        def ask(found=found, seen=seen, gate=gate):
            gate.wait()
            seen.append(found.__cuda_array_interface__["data"][0])

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(seen)) == 1
        values = np.ctypeslib.as_array((ctypes.c_int32 * 2900).from_address(seen[0]))
        assert np.array_equal(values, np.arange(100, 3000))


def test_lists_tuples_and_dictionaries(gpu, posing):
    rng = np.random.default_rng(5)
    letters, offsets = rng.integers(0, 4, 400).astype(np.uint8), np.arange(0, 401, 40)
    given, plain = (Array(gpu, letters), Array(gpu, offsets)), (letters, offsets)
    other = Array(gpu, letters[::-1].copy()), Array(gpu, offsets)
    found = edit_distance(given, other, operations=False, device=posing)
    expected = edit_distance(plain, (letters[::-1].copy(), offsets), operations=False, device=posing)
    assert np.array_equal(on_host(found), expected)
    parts = [rng.normal(size=(50, 2)).astype(np.float32) for _ in range(3)]
    hull = clgeom.convex_hull([Array(gpu, part) for part in parts])
    assert np.array_equal(hull.vertices, clgeom.convex_hull(np.concatenate(parts), device=posing).vertices)
