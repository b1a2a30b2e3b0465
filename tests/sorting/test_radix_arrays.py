"""What radix sorts take and give: layouts, outputs, arrays on the device, keys beyond one allocation."""

import numpy as np
import pytest
from effort import LONG
from hypothesis import given
from hypothesis import strategies as st
from reference import sort as reference
from sort_keys import bits_of, check, device_array, expected_order, keys_of

import clgeom.sorting.radix.work
from clgeom import argsort, sort, sort_by_key
from clgeom.core.device import Session
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.intake import arrays
from clgeom.intake.arrays import to_device
from clgeom.sorting.arrays import entries_overlap
from clgeom.sorting.radix.passes import RadixFeatures
from clgeom.sorting.radix.sort import Profiled
from clgeom.sorting.radix.work import features_of

# What comes in and goes out ---------------------------------------------------------------------------------------


def test_package_is_its_function():
    assert clgeom.sort([3, 1, 2]).tolist() == [1, 2, 3]
    assert clgeom.sort is sort


@pytest.mark.parametrize("n", (50, 17_000))
def test_arrays_of_every_layout(session, n):
    keys = keys_of("random", 2 * n, np.float64)
    locked = keys[:n].copy()
    locked.flags.writeable = False
    misaligned = np.frombuffer(b"x" + keys[:n].tobytes(), np.uint8)[1:].view(np.float64)
    for view in (
        keys[::2],
        keys[n:][::-1],
        keys[:n].astype(">f8"),
        locked,
        misaligned,
        np.ma.array(keys[:n]),
    ):
        before = view.tobytes()
        np.testing.assert_array_equal(sort(view, device=session), np.sort(np.asarray(view)))
        assert view.tobytes() == before
    assert sort([3, 1, 2], device=session).dtype == np.int64


@pytest.mark.parametrize("n", (0, 50, 17_000))
def test_out_receives_the_result(session, n):
    keys = keys_of("random", n, np.float32)
    out, wide = np.empty_like(keys), np.empty(2 * n, np.float32)
    assert sort(keys, out=out, device=session) is out
    np.testing.assert_array_equal(out, np.sort(keys))
    sort(keys, out=wide[::2], device=session)
    np.testing.assert_array_equal(wide[::2], np.sort(keys))
    indices = np.empty(n, np.int64)
    assert argsort(keys, out=indices, device=session) is indices
    np.testing.assert_array_equal(indices, expected_order(keys))


def test_outs_that_cannot_hold_the_result_are_refused(session):
    keys, one = keys_of("random", 50, np.float32), np.zeros(64, np.float32)
    rows = np.zeros((64, 50, 2), np.float32)
    masked = np.ma.array(np.zeros(50, np.float32), mask=[True] + [False] * 49)
    strided = np.lib.stride_tricks.as_strided
    for out, words in (
        (masked, "have no mask. Got a masked array"),
        (np.ma.array(np.zeros(50, np.float32)), "have no mask"),
        (
            strided(one, (50,), (0,)),
            r"have memory of its own for each entry. Got strides \(0,\) for shape \(50,\)",
        ),
        (strided(one, (50,), (2,)), "have memory of its own"),
    ):
        with pytest.raises(InvalidInput, match=f"'out' parameter of sort must {words}"):
            sort(keys, out=out, device=session)
        with pytest.raises(InvalidInput, match="'out.0.' parameter of sort_by_key must"):
            sort_by_key(keys, keys, out=(out, np.empty_like(keys)), device=session)
    values = np.arange(100, dtype=np.float32).reshape(50, 2)
    with pytest.raises(InvalidInput, match=r"'out\[1\]' parameter of sort_by_key must have memory of its own"):
        sort_by_key(keys, values, out=(np.empty_like(keys), strided(one, (50, 2), (4, 4))), device=session)
    for out in (rows[0], rows[:50, 3][::-1, ::-1], rows[5:7, :, 1].T):  # reversed, transposed, with gaps
        _, moved = sort_by_key(keys, values, out=(np.empty_like(keys), out), device=session)
        assert moved is out
        np.testing.assert_array_equal(out, values[expected_order(keys)])
    with pytest.raises(InvalidInput, match="'key_bits' parameter"):
        sort(keys, key_bits=True, device=session)


@pytest.mark.parametrize("dtype", ("uint8", "uint16", "float64"))
@pytest.mark.parametrize("n", (50, 17_000))
def test_out_may_be_the_keys(session, n, dtype):
    keys = keys_of("random", n, dtype)
    expected = np.sort(keys)
    sort(keys, out=keys, device=session)
    np.testing.assert_array_equal(keys, expected)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("dtype", (">f8", ">i2", ">u4"))
@pytest.mark.parametrize("n", (0, 50, 17_000))
def test_out_may_have_the_other_byte_order(any_session, setting, n, dtype):
    if any_session.profile.kind == "gpu" and not LONG:
        n = min(n, 3000)  # more than one launch sorts there
        if setting == "as_gpu" and dtype != ">i2":
            return  # the host swaps bytes of all types alike
    native = keys_of("random", n, np.dtype(dtype).newbyteorder("="))
    expected, order = np.sort(native), expected_order(native)
    swapped = native.astype(dtype)
    for keys in (native, swapped):
        for out in (np.empty(n, dtype), np.empty_like(native), np.empty(2 * n, dtype)[::2], keys.copy()):
            assert sort(keys, out=out, device=any_session) is out
            np.testing.assert_array_equal(out, expected)
        itself = keys.copy()
        assert sort(itself, out=itself, device=any_session) is itself and itself.dtype == keys.dtype
        np.testing.assert_array_equal(itself, expected)
    indices = np.empty(n, ">i8")
    assert argsort(swapped, out=indices, device=any_session) is indices
    np.testing.assert_array_equal(indices, order)
    numbers = np.arange(n)
    for values in (numbers.astype(">i8"), numbers, np.stack([numbers, -numbers], axis=1).astype(">i4")):
        for out_type in (values.dtype, values.dtype.newbyteorder("S")):
            outs = np.empty(n, dtype), np.empty(values.shape, out_type)
            found = sort_by_key(swapped, values, out=outs, device=any_session)
            assert found[0] is outs[0] and found[1] is outs[1]
            np.testing.assert_array_equal(outs[0], expected)
            np.testing.assert_array_equal(outs[1], values[order])
    keys, values = swapped.copy(), numbers.astype(">i8")
    sort_by_key(keys, values, out=(keys, values), device=any_session)
    np.testing.assert_array_equal(keys, expected)
    np.testing.assert_array_equal(values, order)
    for other in (np.empty(n, ">f4"), np.empty(n, "i8")):
        with pytest.raises(InvalidInput, match="'out' parameter of sort must be"):
            sort(swapped, out=other, device=any_session)


def test_out_on_the_device_has_native_byte_order(session):
    import pyopencl.array as cl_array

    keys = device_array(session, keys_of("random", 50, np.float64))
    out = cl_array.empty(session.queue, 50, np.dtype(">f8"))
    with pytest.raises(InvalidInput, match="'out' parameter of sort must be float64 .* Got >f8 of shape"):
        sort(keys, out=out, device=session)


def overlap_by_force(array):
    """Whether two entries share a byte: every entry's bytes, marked."""
    offsets = (
        sum(np.arange(n) * s for n, s in zip(array.shape, array.strides))
        if array.ndim == 1
        else np.add.outer(np.arange(array.shape[0]) * array.strides[0], np.arange(array.shape[1]) * array.strides[1])
    )
    places = (np.ravel(offsets)[:, None] + np.arange(array.itemsize)).ravel()
    return len(np.unique(places)) < len(places)


@given(
    st.integers(0, 4), st.integers(0, 4), st.integers(-40, 40), st.integers(-40, 40), st.sampled_from((1, 2, 4, 8, 16))
)
def test_entries_overlap_is_exact(rows, columns, stride, other, itemsize):
    memory = np.zeros(1024, np.uint8)
    view = np.lib.stride_tricks.as_strided(memory[512:].view(f"V{itemsize}"), (rows, columns), (stride, other))
    assert entries_overlap(view) == (view.size > 0 and overlap_by_force(view))


def test_out_of_interleaved_rows_is_taken(session):
    """Strides that do not nest: entries lie at bytes 0, 16, 32 and 24, 40, 56."""
    memory = np.zeros(8)
    out = np.lib.stride_tricks.as_strided(memory, (3, 2), (16, 24))
    keys, values = np.array([2.0, 0.0, 1.0]), np.arange(6.0).reshape(3, 2)
    sort_by_key(keys, values, out=(np.empty(3), out), device=session)
    np.testing.assert_array_equal(out, values[[1, 2, 0]])
    assert memory.tolist() == [2, 0, 4, 3, 0, 5, 0, 1]


@pytest.mark.settings("as_is", "as_gpu", "small_allocations")
@pytest.mark.parametrize("n", (50, 17_000, 300_001))
def test_outs_may_be_the_values_and_the_keys(any_session, n):
    """Results are written when nothing is left to be read from where they go."""
    if n > 17_000 and any_session.profile.max_alloc_bytes > 1 << 20:
        pytest.skip("in chunks with small allocations only")
    for dtype in (np.float32, np.float64):  # values that kernels move
        keys, values = keys_of("random", n, dtype), np.arange(n).astype(dtype)
        order = expected_order(keys)
        wanted = keys[order], values[order]
        sorted_keys, moved = sort_by_key(keys, values, out=(values, keys), device=any_session)
        assert sorted_keys is values and moved is keys
        np.testing.assert_array_equal(sorted_keys, wanted[0])
        np.testing.assert_array_equal(moved, wanted[1])
    keys = keys_of("random", n, np.float64)  # rows, which the host picks
    order, rows = expected_order(keys), np.arange(3.0 * n).reshape(n, 3)
    wanted, out = rows[order], np.empty((n, 3))
    sort_by_key(keys, rows, out=(rows[:, 1], out), device=any_session)
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(rows[:, 1], keys[order])
    sort_by_key(keys, out, out=(keys, out), device=any_session)
    indices = np.arange(n)[::-1].copy()
    expected = expected_order(indices)
    np.testing.assert_array_equal(argsort(indices, out=indices, device=any_session), expected)


def test_outs_that_share_memory_are_refused(session):
    keys, memory = keys_of("random", 100, np.float32), np.empty(150, np.float32)
    with pytest.raises(InvalidInput, match="'out' parameter of sort_by_key must be two arrays that share no memory"):
        sort_by_key(keys, keys.copy(), out=(memory[:100], memory[50:]), device=session)
    sort_by_key(keys, keys.copy(), out=(np.empty((100, 2), np.float32).T[0], memory[:100]), device=session)
    there, room = device_array(session, keys), device_array(session, np.empty(200, np.float32))
    with pytest.raises(InvalidInput, match="share no memory"):
        sort_by_key(there, there, out=(room[:100], room[99:199]))
    sorted_keys, moved = sort_by_key(there, there, out=(room[:100], room[100:]))
    for found in (sorted_keys, moved, room[:100], room[100:]):
        np.testing.assert_array_equal(found.get(), np.sort(keys))
    sorted_keys, moved = sort_by_key(there, room[:100], out=(room[:100], there))
    np.testing.assert_array_equal(sorted_keys.get(), np.sort(keys))
    np.testing.assert_array_equal(moved.get(), np.sort(keys)[expected_order(keys)])


@pytest.mark.parametrize("n", (1000, 17_000))
def test_out_may_share_the_keys_memory_by_sub_buffers(session, n):
    import pyopencl as cl
    import pyopencl.array as cl_array

    if session.profile.platform == "NVIDIA CUDA":
        pytest.skip("driver 580 ends the process when written sub-buffers that overlap are released")
    keys = keys_of("random", n, np.float32)
    whole = cl.Buffer(session.context, cl.mem_flags.READ_WRITE, 8 * n)
    parts = (whole.get_sub_region(start, 4 * n) for start in (0, session.device.mem_base_addr_align // 8))
    there, out = (cl_array.Array(session.queue, (n,), np.float32, data=part) for part in parts)
    there.set(keys)
    np.testing.assert_array_equal(sort(there, out=out).get(), np.sort(keys))


def test_callers_keys_stay(subtests, session):
    for n in (50, 17_000):
        with subtests.test(n=n):
            keys = keys_of("special", n, np.float32)
            before = keys.tobytes()
            check(keys, False, session)
            assert keys.tobytes() == before


def test_profile_returns_phases(session):
    keys = keys_of("random", 20_000, np.uint32)
    found = sort(keys, profile=True, device=session)
    assert isinstance(found, Profiled)
    np.testing.assert_array_equal(found.result, np.sort(keys))
    names = [phase.name for phase in found.phases]
    chained = ["clear_words", "radix_digits"] + ["radix_onesweep"] * 4
    reduced = ["radix_survey"] + ["radix_count", "radix_spine", "radix_scatter"] * 4
    assert names == (chained if features_of(session).scan == "chain" else reduced)
    assert all(phase.seconds is not None for phase in found.phases)


def test_constant_digits_are_skipped(session, monkeypatch):
    monkeypatch.setattr("clgeom.sorting.radix.work.features_of", lambda session: RadixFeatures())
    keys = keys_of("random", 20_000, np.uint64) & np.uint64(0xFF00FF)
    assert len(sort(keys, profile=True, device=session).phases) == 1 + 2 * 3
    indices, phases = argsort(np.arange(20_000, dtype=np.uint32), profile=True, device=session)
    assert np.array_equal(indices, np.arange(20_000)) and len(phases) == 4  # in order already: one pass copies


# On the device ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", (0, 50, 17_000))
@pytest.mark.parametrize("dtype", ("uint8", "float32", "int64"))
def test_device_keys_give_device_results(session, n, dtype):
    keys = keys_of("special", n, dtype)
    order = expected_order(keys)
    there = device_array(session, keys)
    found = sort(there)
    assert isinstance(found, type(there)) and found.dtype == keys.dtype
    np.testing.assert_array_equal(bits_of(found.get()), bits_of(keys[order]))
    indices = argsort(there)
    assert indices.dtype == np.uint32
    np.testing.assert_array_equal(indices.get(), order)
    sorted_keys, moved = sort_by_key(there, device_array(session, np.arange(n, dtype=np.float32)))
    np.testing.assert_array_equal(moved.get(), order.astype(np.float32))
    np.testing.assert_array_equal(bits_of(there.get()), bits_of(keys))
    if n:
        out = device_array(session, np.zeros_like(keys))
        assert sort(there, out=out) is out
        np.testing.assert_array_equal(bits_of(out.get()), bits_of(keys[order]))
        sort(there, out=there)
        np.testing.assert_array_equal(bits_of(there.get()), bits_of(keys[order]))


def test_device_keys_in_segments_and_views(session):
    keys = keys_of("random", 17_000, np.float32)
    there = device_array(session, keys)
    np.testing.assert_array_equal(sort(there, offsets=[0, 10, 17_000]).get()[10:], np.sort(keys[10:]))
    np.testing.assert_array_equal(sort(there[1024:]).get(), np.sort(keys[1024:]))
    np.testing.assert_array_equal(sort(there[7:]).get(), np.sort(keys[7:]))
    np.testing.assert_array_equal(argsort(there[::2]).get(), expected_order(keys[::2]))


# Larger than the device -------------------------------------------------------------------------------------------


@pytest.mark.settings("small_allocations")
@pytest.mark.parametrize("dtype", ("uint8", "float32", "float64"))
def test_keys_beyond_one_allocation(any_session, dtype):
    n = 300_001
    keys = keys_of("special", n, dtype)
    check(keys, False, any_session)
    check(keys, True, any_session)
    values = np.arange(n, dtype=np.int32)
    out = np.empty_like(keys), np.empty_like(values)
    sorted_keys, moved = sort_by_key(keys, values, out=out, device=any_session)
    np.testing.assert_array_equal(moved, expected_order(keys))
    np.testing.assert_array_equal(bits_of(out[0]), bits_of(keys[moved]))
    for offsets in ([0, 1000, 131_072, 131_072, 200_000, n], [0, n], [0, 5, n]):
        found, phases = argsort(keys, offsets=offsets, profile=True, device=any_session)
        order = np.concatenate([b + expected_order(keys[b:e]) for b, e in zip(offsets[:-1], offsets[1:])])
        np.testing.assert_array_equal(found, order)
        assert phases


@pytest.mark.settings("small_allocations")
def test_kernels_get_every_array_in_one_chunk(any_session, monkeypatch):
    """They bind the first chunk alone: of keys that one chunk can number, of one more offset, of empty segments."""
    brought = []

    def spy(*arguments, **options):
        brought.append(to_device(*arguments, **options))
        return brought[-1]

    monkeypatch.setattr(clgeom.sorting.radix.work, "to_device", spy)
    n = 1 << 18
    empty = np.append(np.sort(np.random.default_rng(2).integers(0, 101, n + 10)), 100)
    for keys, offsets in (
        (np.zeros(n, np.uint8), np.arange(n + 1)),
        (np.arange(100)[::-1], np.append(0, empty)),
    ):
        found = argsort(keys, offsets=offsets, device=any_session)
        expected = reference.argsort(keys, descending=False, offsets=np.unique(offsets).tolist())
        np.testing.assert_array_equal(found, expected)
    monkeypatch.setattr(arrays, "MOST_ITEMS", 1 << 16)
    monkeypatch.setattr(clgeom.sorting.radix.work, "MOST_ITEMS", 1 << 16)
    keys = keys_of("random", 100_000, np.uint8)
    np.testing.assert_array_equal(argsort(keys, device=any_session), expected_order(keys))
    assert brought and all(len(array.chunks) == 1 for array in brought)


def test_device_keys_beyond_one_allocation(session):
    limited = Session(session.device, context=session.context, max_alloc_bytes=1 << 16)
    keys = device_array(limited, np.zeros(40_000, np.uint8))
    with pytest.raises(DeviceLimit, match="160,000 bytes .* allows 65,536"):
        argsort(keys, device=limited)
