"""Arrays of CuPy and PyTorch on the session's GPU: in place, or copied on the device in their streams' order."""

import gc
import threading

import numpy as np
import pytest

import clgeom
from clgeom.core.device import Session
from clgeom.dp.problems.edits import LCS
from clgeom.errors import InvalidInput
from clgeom.intake.device_arrays import is_device_array
from clgeom.intake.interop.cuda import LEAST_BYTES
from clgeom.intake.shared import shared_pool

cupy = pytest.importorskip("cupy")
pytestmark = [pytest.mark.settings("as_is"), pytest.mark.filterwarnings("error::clgeom.errors.InputWarning")]
SIZES = (0, 1, 5, 1000, LEAST_BYTES // 8 - 1, LEAST_BYTES // 8, 300_000)


@pytest.fixture(autouse=True)
def shared(session):
    pool = shared_pool(session)
    if pool is None:
        pytest.skip("the device shares no memory with CUDA")
    return pool


def host(value):
    return value.get() if hasattr(value, "get") else np.asarray(value)


def forms(values):
    """Arrays of CUDA with these values, by name, in layouts that libraries make."""
    there = cupy.asarray(values)
    yield "CuPy", there
    wide = cupy.zeros((*values.shape[:-1], values.shape[-1] + 3), values.dtype)
    wide[..., 1 : values.shape[-1] + 1] = there
    yield "part of rows", wide[..., 1 : values.shape[-1] + 1]
    yield "backwards", cupy.ascontiguousarray(there[::-1])[::-1]
    yield "by columns", cupy.asfortranarray(there)
    yield "with address alone", type("Plain", (), {"__cuda_array_interface__": bare(there), "kept": there})()
    torch = pytest.importorskip("torch")
    if values.dtype != np.uint32 and values.dtype != np.uint64:
        yield "PyTorch", torch.as_tensor(values, device="cuda")


def bare(there):
    """The interface without a stream, as version 2 has it."""
    found = dict(there.__cuda_array_interface__)
    found.pop("stream", None)
    return found | {"version": 2}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.int32))
def test_hulls_of_points_of_cuda(session, n, dtype):
    points = (np.random.default_rng(n).normal(size=(n, 2)) * 1000).astype(dtype)
    expected = clgeom.convex_hull(points, device=session)
    for name, given in forms(points):
        found = clgeom.convex_hull(given, device=session)
        assert found.dimension == expected.dimension, name
        assert np.array_equal(host(found.vertices), expected.vertices), name
        assert np.array_equal(host(found.points), expected.points), name


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", (np.float32, np.int64, np.uint8))
def test_sorts_of_keys_of_cuda(session, n, dtype):
    keys = (np.random.default_rng(n).normal(size=n) * 100).astype(dtype)
    for name, given in forms(keys):
        found = clgeom.sort(given)
        assert is_device_array(found), name
        back = cupy.asarray(found)
        assert back.device.id == shared_pool(session).gpu.number
        assert np.array_equal(host(back), np.sort(keys)), name
        assert np.array_equal(host(clgeom.argsort(given)), np.argsort(keys, kind="stable")), name


def test_results_are_the_same_memory_for_both(session, shared):
    keys = cupy.random.default_rng(1).integers(0, 1 << 30, 100_000, dtype=np.int32)
    found = clgeom.sort(keys)
    one, other = cupy.asarray(found), cupy.from_dlpack(found)
    assert one.data.ptr == other.data.ptr == found.__cuda_array_interface__["data"][0]
    assert shared.buffer_at(one.data.ptr, one.nbytes) is not None
    one[:] = one[::-1].copy()
    assert np.array_equal(found.get(), np.sort(keys.get())[::-1])  # after waiting for CUDA
    # the memory that both share is read in place
    before = shared.active_blocks
    again = clgeom.sort(one)
    assert shared.active_blocks == before
    assert np.array_equal(again.get(), np.sort(keys.get()))
    out = clgeom.sort(one, descending=True, out=one)
    assert np.array_equal(host(one), np.sort(keys.get())[::-1])
    assert np.array_equal(host(out), host(one))


def test_an_array_elsewhere_is_no_place_for_a_result(session):
    keys = cupy.arange(10)
    with pytest.raises(InvalidInput, match="out"):
        clgeom.sort(keys, out=cupy.zeros_like(keys))


def test_several_arrays_in_one_call(session):
    rng = np.random.default_rng(3)
    keys, values = rng.integers(0, 100, 5000).astype(np.int32), rng.normal(size=5000).astype(np.float32)
    by_key = clgeom.sort_by_key(cupy.asarray(keys), cupy.asarray(values))
    order = np.argsort(keys, kind="stable")
    assert np.array_equal(host(by_key[0]), keys[order])
    assert np.array_equal(host(by_key[1]), values[order])
    a, b, c = (rng.normal(size=(3000, 2)).astype(np.float32) for _ in range(3))
    signs = clgeom.orient2d(*map(cupy.asarray, (a, b, c)))
    assert np.array_equal(host(signs), clgeom.orient2d(a, b, c))
    text, other = (rng.integers(0, 4, 90).astype(np.int32) for _ in range(2))
    table = clgeom.dp.fill(LCS, (91, 91), a=cupy.asarray(text), b=cupy.asarray(other))
    assert np.array_equal(table.numpy(), clgeom.dp.fill(LCS, (91, 91), a=text, b=other, device=session).numpy())
    letters, offsets = rng.integers(0, 4, 4000).astype(np.uint8), np.arange(0, 4001, 40)
    pair = (cupy.asarray(letters), cupy.asarray(offsets)), (cupy.asarray(letters[::-1].copy()), cupy.asarray(offsets))
    plain = (letters, offsets), (letters[::-1].copy(), offsets)
    assert np.array_equal(
        host(clgeom.dp.problems.edit_distance(*pair, operations=False)),
        host(clgeom.dp.problems.edit_distance(*plain, operations=False, device=session)),
    )


def test_the_streams_work_comes_first(session):
    """A stream is busy for long when the call begins; its result is what the array becomes."""
    for n in (1000, 2_000_000):
        keys = cupy.zeros(n, np.float32)
        cupy.cuda.Device().synchronize()
        with cupy.cuda.Stream(non_blocking=True):
            for _ in range(200):
                keys += cupy.float32(1)
            assert host(clgeom.sort(keys)).min() == 200
    torch = pytest.importorskip("torch")
    with torch.cuda.stream(torch.cuda.Stream()):
        values = torch.zeros(2_000_000, device="cuda")
        for _ in range(200):
            values += 1
        assert host(clgeom.sort(values)).min() == 200


def test_arrays_and_results_may_go_at_any_time(session, shared):
    rng = np.random.default_rng(4)
    expected, kept = [], []
    for round in range(60):
        keys = rng.integers(0, 1 << 30, 400_000).astype(np.uint32)
        there = cupy.asarray(keys)
        found = cupy.asarray(clgeom.sort(there))
        del there
        if round % 3:
            kept.append(found)
            expected.append(np.sort(keys))
        if len(kept) > 5:
            assert np.array_equal(host(kept.pop(0)), expected.pop(0))
    for found, values in zip(kept, expected):
        assert np.array_equal(host(found), values)
    kept.clear()
    del found
    gc.collect()
    assert shared.active_blocks == 0
    shared.free_held()
    assert shared.nbytes == 0


def test_results_outlive_their_session(session):
    one = Session(session.device)
    keys = np.random.default_rng(5).normal(size=300_000).astype(np.float32)
    found = clgeom.sort(cupy.asarray(keys), device=one)
    there = cupy.asarray(found)
    del one, found
    gc.collect()
    assert np.array_equal(host(there), np.sort(keys))


def test_threads_and_streams(session):
    """Random calls of several threads, each on streams of its own, against the host's answers."""
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        with cupy.cuda.Stream(non_blocking=True):
            for _ in range(150):
                n = int(rng.choice((3, 50, 1000, 20_000, 150_000, 400_000)))
                points = rng.normal(size=(n, 2)).astype(np.float32)
                keys = points[:, 0].copy()
                there, also = cupy.asarray(points) * 2, cupy.asarray(keys)
                hull = clgeom.convex_hull(there)
                if not np.array_equal(host(hull.vertices), clgeom.convex_hull(points * 2, device="cpu").vertices):
                    wrong.append(("hull", seed, n))
                found = cupy.asarray(clgeom.sort(also)) + 1
                if not np.array_equal(host(found), np.sort(keys) + 1):
                    wrong.append(("sort", seed, n))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_array_beyond_its_memory(session):
    there = cupy.zeros(1000, np.float32)
    found = bare(there) | {"shape": (1 << 40,)}
    claims = type("Claims", (), {"__cuda_array_interface__": found})()
    with pytest.raises(InvalidInput, match="within its memory"):
        clgeom.sort(claims)


def test_gradients_and_types(session):
    torch = pytest.importorskip("torch")
    points = torch.rand(1000, 2, device="cuda", requires_grad=True)
    expected = clgeom.convex_hull(points.detach().cpu().numpy(), device=session).vertices
    assert np.array_equal(clgeom.convex_hull(points).vertices, expected)
    assert torch.equal(torch.as_tensor(clgeom.sort(points[:, 0]), device="cuda"), points.detach()[:, 0].sort().values)
    assert torch.equal(torch.from_dlpack(clgeom.sort(points[:, 1])), points.detach()[:, 1].sort().values)
