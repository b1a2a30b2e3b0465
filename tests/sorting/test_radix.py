"""Radix sort against NumPy and against a plain model: every type, shape, order and way of passing arrays."""

import re
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import sort as reference

import clgeom.sorting.radix.sort
from clgeom import argsort, sort, sort_by_key
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.primitives.gather import pick_plan
from clgeom.runtime import arrays
from clgeom.runtime.arrays import as_device_values
from clgeom.runtime.device import Session
from clgeom.runtime.launch import Scratch, run
from clgeom.runtime.tuning import override, select
from clgeom.sorting.keys import KEY_TYPES, KeyOrder
from clgeom.sorting.outputs import entries_overlap
from clgeom.sorting.radix.passes import digit_windows, radix_plan
from clgeom.sorting.radix.sort import Profiled

#: Around the capacities of the one-launch sort (256, 2048, 16384), around tiles and shares of them.
SIZES = (0, 1, 2, 255, 257, 513, 2047, 2049, 4097, 16_383, 16_384, 16_385, 33_011)
NAMES = tuple(dtype.name for dtype in KEY_TYPES)


def bits_of(array):
    """An array as unsigned integers, so that NaNs and the signs of zeros are compared."""
    return array.view(f"uint{8 * array.dtype.itemsize}")


def random_keys(rng, n, dtype):
    if dtype.kind == "f":
        return (rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


def special_keys(rng, n, dtype):
    """Every bit pattern is likely to occur; for floats NaNs of both signs and several payloads, zeros, infinities."""
    keys = random_keys(rng, n, dtype)
    if dtype.kind != "f":
        ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0], dtype)
        return np.where(rng.random(n) < 0.5, keys, rng.choice(ends, n))
    bits = bits_of(keys).copy()
    infinity = int(bits_of(np.array([np.inf], dtype))[0])
    sign = 1 << (8 * dtype.itemsize - 1)
    words = [
        0,
        sign,
        infinity,
        infinity | sign,
        infinity | 1,
        infinity | sign | 1,
        infinity | infinity >> 1,
        sign - 1,
    ]
    chosen = np.array(words, bits.dtype)[rng.integers(0, len(words), n)]
    return np.where(rng.random(n) < 0.5, bits, chosen).view(dtype)


DISTRIBUTIONS = {
    "random": random_keys,
    "special": special_keys,
    "sorted": lambda rng, n, dtype: np.sort(random_keys(rng, n, dtype)),
    "reversed": lambda rng, n, dtype: np.sort(random_keys(rng, n, dtype))[::-1].copy(),
    "constant": lambda rng, n, dtype: np.full(n, 42, dtype),
    "few": lambda rng, n, dtype: rng.integers(0, 5, n).astype(dtype),
    "narrow": lambda rng, n, dtype: (rng.integers(0, 100, n) + 20).astype(dtype),
}


def keys_of(name, n, dtype, seed=0):
    rng = np.random.default_rng([zlib.crc32(name.encode()), n, seed])
    return DISTRIBUTIONS[name](rng, n, np.dtype(dtype))


def expected_order(keys, descending=False):
    """The stable order by NumPy: ascending, or of the negated keys."""
    if not descending:
        return np.argsort(keys, kind="stable")
    return np.argsort(-keys if keys.dtype.kind == "f" else ~keys, kind="stable")


def check(keys, descending, device):
    """sort, argsort and sort_by_key of these keys against NumPy."""
    order = expected_order(keys, descending)
    indices = argsort(keys, descending=descending, device=device)
    assert indices.dtype == np.int64
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(bits_of(sort(keys, descending=descending, device=device)), bits_of(keys[order]))


# Against NumPy ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_sort_matches_numpy(session, name, dtype):
    for n in SIZES:
        for descending in (False, True):
            check(keys_of(name, n, dtype), descending, session)


@pytest.mark.settings("as_gpu", "odd_shapes")
def test_sort_in_other_shapes(any_session):
    for n in (1, 300, 2049, 9001):
        check(keys_of("special", n, np.float32), True, any_session)


@pytest.mark.settings("as_gpu")
def test_sort_of_images_in_other_shapes(any_session):
    """Floats that are nothing special are sorted as images of themselves; of wide integers only 32 bits go on."""
    keys = keys_of("random", 9001, np.float32)
    np.testing.assert_array_equal(sort(keys, device=any_session), np.sort(keys))
    keys = keys_of("random", 9001, np.int64)
    np.testing.assert_array_equal(argsort(keys, device=any_session), expected_order(keys))


@pytest.mark.settings("no_fp64")
def test_float64_needs_no_float64_unit(any_session):
    check(keys_of("special", 17_000, np.float64), False, any_session)


@pytest.mark.parametrize("dtype", ("uint32", "float64"))
def test_sort_of_a_million(session, dtype):
    keys = keys_of("random", 1_000_000, dtype)
    check(keys, False, session)


@pytest.mark.parametrize("dtype", ("float16", "float32", "float64"))
def test_special_floats_match_model(session, dtype):
    keys = keys_of("special", 300, dtype)
    for descending in (False, True):
        np.testing.assert_array_equal(
            argsort(keys, descending=descending, device=session),
            reference.argsort(keys, descending=descending),
        )


@given(data=st.data())
def test_argsort_of_any_bits(data):
    dtype = np.dtype(data.draw(st.sampled_from(NAMES)))
    words = data.draw(st.lists(st.integers(0, (1 << 8 * dtype.itemsize) - 1), max_size=40))
    keys = np.array(words, f"uint{8 * dtype.itemsize}").view(dtype)
    descending = data.draw(st.booleans())
    assert argsort(keys, descending=descending).tolist() == reference.argsort(keys, descending=descending).tolist()


#: Ways to lay out n words of so many bits; "digits" vary in some bytes only, so that passes are skipped.
ORDERS = {
    "equal": lambda rng, n, bits: np.full(n, rng.integers(0, 1 << bits, dtype=np.uint64)),
    "two": lambda rng, n, bits: rng.choice(rng.integers(0, 1 << bits, 2, dtype=np.uint64), n),
    "sorted": lambda rng, n, bits: np.sort(words(rng, n, bits)),
    "reversed": lambda rng, n, bits: np.sort(words(rng, n, bits))[::-1],
    "organ_pipe": lambda rng, n, bits: np.sort(words(rng, n, bits))[np.minimum(np.arange(n), n - 1 - np.arange(n))],
    "nearly": lambda rng, n, bits: np.sort(words(rng, n, bits))[
        np.clip(np.arange(n) + rng.integers(-2, 3, n), 0, n - 1)
    ],
    "digits": lambda rng, n, bits: words(rng, n, bits) & rng.choice(np.array([0, 255], np.uint8), 8).view(np.uint64),
    "any": lambda rng, n, bits: words(rng, n, bits),
}
#: Where a kernel's path or its number of tiles changes: runs, merged runs, capacities of one launch, tiles.
EDGES = (1, 16, 32, 256, 512, 2048, 4096, 8192, 16_384)


def words(rng, n, bits):
    return rng.integers(0, 1 << bits, n, dtype=np.uint64)


def drawn_keys(data, names):
    """Keys of any bits around an edge: floats have NaNs of any payload, zeros, infinities, subnormal numbers."""
    dtype = np.dtype(data.draw(st.sampled_from(names)))
    bits = 8 * dtype.itemsize
    n = data.draw(st.sampled_from(EDGES)) * data.draw(st.integers(1, 3)) + data.draw(st.integers(-1, 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    keys = ORDERS[data.draw(st.sampled_from(sorted(ORDERS)))](rng, n, bits).astype(f"u{dtype.itemsize}").view(dtype)
    if dtype.kind == "f" and data.draw(st.booleans()):
        keys = np.where(rng.random(n) < 0.5, special_keys(rng, n, dtype), keys)
    return keys


@pytest.mark.settings("as_is", "small_allocations", "as_gpu", "odd_shapes")
@given(data=st.data())
def test_any_keys_sort_in_every_setting(any_session, request, data):
    """CI builds kernels for three types, in odd shapes for one; the profile "long" for all."""
    names = ("float32",) if "odd_shapes" in request.node.name else ("float32", "uint64", "float16")
    names = NAMES if settings().max_examples > 100 else names
    keys, descending = drawn_keys(data, names), data.draw(st.booleans())
    check(keys, descending, any_session)
    if settings().max_examples > 100:
        values = np.arange(len(keys), dtype=data.draw(st.sampled_from(("u1", "u2", "u4", "u8"))))
        order = expected_order(keys, descending)
        found, moved = sort_by_key(keys, values, descending=descending, device=any_session)
        np.testing.assert_array_equal(bits_of(found), bits_of(keys[order]))
        np.testing.assert_array_equal(moved, values[order])


def test_equal_keys_keep_their_order(session):
    keys = keys_of("few", 50_000, np.int16)
    values = np.arange(len(keys))
    for descending in (False, True):
        _, moved = sort_by_key(keys, values, descending=descending, device=session)
        same = keys[moved][1:] == keys[moved][:-1]
        assert (np.diff(moved)[same] > 0).all()


# Values -----------------------------------------------------------------------------------------------------------

VALUES = {
    "int8": lambda n: np.arange(n).astype(np.int8),
    "uint16": lambda n: np.arange(n).astype(np.uint16),
    "float32": lambda n: np.linspace(-1, 1, n, dtype=np.float32),
    "datetime64": lambda n: np.datetime64("2000-01-01", "s") + np.arange(n),
    "complex128": lambda n: np.arange(n) * (1 + 2j),
    "rows": lambda n: np.arange(3 * n).reshape(n, 3),
    "records": lambda n: np.array([(i % 7, i) for i in range(n)], dtype=[("a", "u1"), ("b", "f8")]),
    "objects": lambda n: np.array([str(i) for i in range(n)], dtype=object),
    "strided": lambda n: np.arange(2 * n)[::2],
}


@pytest.mark.parametrize("values", VALUES)
def test_sort_by_key_moves_values(session, values):
    for n in (0, 100, 17_000):
        keys = keys_of("few", n, np.float32)
        given_values = VALUES[values](n) if n else VALUES[values](1)[:0]
        order = expected_order(keys)
        for out in (None, (np.empty_like(keys), np.empty_like(given_values))):
            sorted_keys, moved = sort_by_key(keys, given_values, out=out, device=session)
            np.testing.assert_array_equal(sorted_keys, keys[order])
            assert moved.dtype == given_values.dtype
            np.testing.assert_array_equal(moved, given_values[order])
            assert out is None or (sorted_keys is out[0] and moved is out[1])


@pytest.mark.settings("as_gpu")
def test_sort_by_key_in_other_shapes(any_session):
    keys = keys_of("special", 17_000, np.float32)
    order = expected_order(keys)
    values = np.arange(len(keys)).astype(np.float64)
    sorted_keys, moved = sort_by_key(keys, values, device=any_session)
    np.testing.assert_array_equal(bits_of(sorted_keys), bits_of(keys[order]))
    np.testing.assert_array_equal(moved, values[order])


# Segments and bits ------------------------------------------------------------------------------------------------


def cuts(rng, n, segments):
    return np.concatenate([[0], np.sort(rng.integers(0, n + 1, segments - 1)), [n]])


SEGMENTS = {"one": 1, "halves": 2, "long": 3, "short": 700, "mostly_empty": 60_000}


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("segments", SEGMENTS)
def test_segments_are_sorted_alone(any_session, segments):
    n = 40_011
    keys = keys_of("special", n, np.float32)
    offsets = cuts(np.random.default_rng(1), n, SEGMENTS[segments])
    order = np.concatenate([b + np.argsort(keys[b:e], kind="stable") for b, e in zip(offsets[:-1], offsets[1:])])
    np.testing.assert_array_equal(argsort(keys, offsets=offsets, device=any_session), order)
    np.testing.assert_array_equal(bits_of(sort(keys, offsets=offsets, device=any_session)), bits_of(keys[order]))
    for values in (
        np.arange(n, dtype=np.int16),
        np.arange(n) * 1j,
    ):  # that kernels move, and that the host picks
        sorted_keys, moved = sort_by_key(keys, values, offsets=offsets, device=any_session)
        np.testing.assert_array_equal(bits_of(sorted_keys), bits_of(keys[order]))
        np.testing.assert_array_equal(moved, values[order])


def test_segments_descend(session):
    keys = keys_of("narrow", 17_000, np.int16)
    for offsets in ([0, 17_000], [0, 10, 10, 17_000, 17_000], [0, 4500, 9000, 12_000, 17_000]):
        expected = reference.argsort(keys, descending=True, offsets=offsets)
        np.testing.assert_array_equal(argsort(keys, descending=True, offsets=offsets, device=session), expected)


def test_segments_of_no_keys(session):
    assert len(sort(np.empty(0, np.float32), offsets=[0], device=session)) == 0
    assert len(argsort(np.empty(0, np.float32), offsets=[0, 0, 0], device=session)) == 0


@pytest.mark.parametrize("dtype", ("uint16", "int32", "float32", "float64"))
def test_key_bits_choose_what_is_compared(session, dtype):
    bits = 8 * np.dtype(dtype).itemsize
    for n in (60, 17_000):
        keys = keys_of("random", n, dtype)
        for descending in (False, True):
            images = np.array([reference.order_bits(key, descending) for key in keys], np.uint64)
            for key_bits in (3, bits, (5, 9), (bits - 3, bits), (0, bits // 2)):
                low, high = key_bits if isinstance(key_bits, tuple) else (0, key_bits)
                order = np.argsort(images >> np.uint64(low) & np.uint64((1 << high - low) - 1), kind="stable")
                found = argsort(keys, key_bits=key_bits, descending=descending, device=session)
                np.testing.assert_array_equal(found, order)
                moved = sort(keys, key_bits=key_bits, descending=descending, device=session)
                np.testing.assert_array_equal(moved, keys[order])


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
def test_out_may_have_the_other_byte_order(any_session, n, dtype):
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


def test_callers_keys_stay(session):
    for n in (50, 17_000):
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
    assert names == ["radix_survey"] + ["radix_count", "radix_spine", "radix_scatter"] * 4
    assert all(phase.seconds is not None for phase in found.phases)
    indices, phases = argsort(np.arange(20_000, dtype=np.uint32), profile=True, device=session)
    assert np.array_equal(indices, np.arange(20_000)) and len(phases) == 4  # in order already: one pass copies


def test_constant_digits_are_skipped(session):
    keys = keys_of("random", 20_000, np.uint64) & np.uint64(0xFF00FF)
    assert len(sort(keys, profile=True, device=session).phases) == 1 + 2 * 3


# On the device ----------------------------------------------------------------------------------------------------


def device_array(session, values):
    import pyopencl.array as cl_array

    return cl_array.to_device(session.queue, values)


@pytest.mark.parametrize("n", (0, 50, 17_000))
@pytest.mark.parametrize("dtype", ("uint8", "float32", "int64"))
def test_device_keys_give_device_results(session, n, dtype):
    keys = keys_of("special", n, dtype)
    order = expected_order(keys)
    there = device_array(session, keys)
    found = sort(there)
    assert type(found) is type(there) and found.dtype == keys.dtype
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
        brought.append(as_device_values(*arguments, **options))
        return brought[-1]

    for module in (clgeom.sorting.keys, clgeom.sorting.radix.sort):
        monkeypatch.setattr(module, "as_device_values", spy)
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
    monkeypatch.setattr(clgeom.sorting.radix.sort, "MOST_ITEMS", 1 << 16)
    keys = keys_of("random", 100_000, np.uint8)
    np.testing.assert_array_equal(argsort(keys, device=any_session), expected_order(keys))
    assert all(len(array.chunks) == 1 for array in brought)


def test_device_keys_beyond_one_allocation(session):
    limited = Session(session.device, context=session.context, max_alloc_bytes=1 << 16)
    keys = device_array(limited, np.zeros(40_000, np.uint8))
    with pytest.raises(DeviceLimit, match="160,000 bytes .* allows 65,536"):
        argsort(keys, device=limited)


# Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong", (np.array([1j]), np.array(["a"]), np.array([None]), np.array([True]), np.zeros(2, "M8[s]"))
)
def test_other_types_are_refused(wrong):
    for function in (sort, argsort):
        with pytest.raises(
            InvalidInput,
            match=f"'keys' parameter of {function.__name__} .* Got {re.escape(str(wrong.dtype))} ",
        ):
            function(wrong)


@pytest.mark.parametrize(
    ("arguments", "message"),
    (
        ({"keys": np.zeros((2, 2))}, r"'keys' parameter of sort must have shape \(n,\). Got \(2, 2\)"),
        ({"keys": 3}, r"Got \(\)"),
        ({"keys": np.ma.array([1.0, 2.0], mask=[0, 1])}, "no masked entries. Got 1 of them"),
        ({"keys": [[1], [2, 3]]}, "'keys' parameter of sort must be an array of numbers"),
        ({"offsets": [0, 3, 2, 4]}, r"must never descend. Got 2 at \[2\] after 3"),
        ({"offsets": [1, 4]}, r"begin with 0 .* Got 1 at \[0\]"),
        ({"offsets": [0, 2]}, r"number of keys, 4. Got 2 at \[-1\]"),
        ({"offsets": [-1, 4]}, r"Got -1 at \[0\]"),
        ({"offsets": [0.0, 4.0]}, "Got float64 of shape"),
        ({"offsets": []}, r"shape \(0,\)"),
        (
            {"descending": "ascending"},
            "'descending' parameter of sort must be True or False. Got 'ascending'",
        ),
        ({"descending": None}, "'descending' .* Got None"),
        ({"key_bits": 0}, "Got 0 instead"),
        ({"key_bits": 65}, "from 1 to 64.* Got 65"),
        ({"key_bits": (8, 8)}, r"Got \(8, 8\)"),
        ({"key_bits": (1.5, 8)}, r"Got \(1.5, 8\)"),
        ({"key_bits": [[1, 2], [3]]}, r"'key_bits' .* Got \[\[1, 2\], \[3\]\]"),
        ({"offsets": [[1, 2], [3]]}, r"'offsets' parameter of sort must be integers of shape \(m \+ 1,\)"),
        (
            {"offsets": np.ma.array([0, 2, 4], mask=[0, 1, 0])},
            "'offsets' .* no masked entries. Got 1 of them",
        ),
        ({"out": np.zeros(3)}, r"'out' .* float64 of shape \(4,\). Got float64 of shape \(3,\)"),
        ({"out": np.zeros(4, np.float32)}, "Got float32"),
        ({"out": [0, 0, 0, 0]}, "must be an ndarray. Got list"),
    ),
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        sort(arguments.pop("keys", np.zeros(4)), **arguments)


def test_bad_values_are_named(session):
    with pytest.raises(InvalidInput, match=r"one entry for each of the 4 keys. Got shape \(3,\)"):
        sort_by_key(np.zeros(4), np.zeros(3))
    with pytest.raises(InvalidInput, match="'values' parameter of sort_by_key must have one entry for each"):
        sort_by_key([3, 1], [[1, 2], [3]])
    for dtype, mask in (("i4", [0, 1]), ("i4, f4", [(0, 1), (0, 0)])):
        hidden = np.ma.array(np.zeros(2, dtype), mask=mask)
        with pytest.raises(InvalidInput, match="'values' .* no masked entries. Got 1 of them"):
            sort_by_key([3, 1], hidden)
    with pytest.raises(InvalidInput, match="pair of arrays"):
        sort_by_key(np.zeros(4), np.zeros(4), out=np.zeros(4))
    with pytest.raises(InvalidInput, match=r"'out\[1\]' .* Got float32"):
        sort_by_key(np.zeros(4), np.zeros(4), out=(np.zeros(4), np.zeros(4, np.float32)))
    there = device_array(session, np.zeros(4))
    with pytest.raises(InvalidInput, match="where the keys are, on the device. Got an array on the host"):
        sort_by_key(there, np.zeros(4))
    with pytest.raises(InvalidInput, match="1, 2, 4 or 8 bytes"):
        sort_by_key(there, device_array(session, np.zeros(4, complex)))
    locked = np.zeros(4)
    locked.flags.writeable = False
    with pytest.raises(InvalidInput, match="read-only"):
        sort(np.zeros(4), out=locked)


# Plans and keys: no device needed ---------------------------------------------------------------------------------


def test_digit_windows_cover_varying_bits():
    assert digit_windows(0) == ()
    assert digit_windows(0xFFFF) == ((0, 8), (8, 8))
    assert digit_windows(0xFF00FF00) == ((8, 8), (24, 8))
    assert digit_windows(0b1100) == ((2, 2),)
    assert digit_windows(1 << 63 | 1) == ((0, 1), (63, 1))
    assert len(digit_windows((1 << 64) - 1)) == 8


@given(varying=st.integers(0, (1 << 64) - 1))
def test_digit_windows_of_any_bits(varying):
    windows = digit_windows(varying)
    covered = sum((1 << width) - 1 << shift for shift, width in windows)
    assert varying & ~covered == 0
    assert all(1 <= width <= 8 for _, width in windows)
    assert all(a[0] + a[1] <= b[0] for a, b in zip(windows, windows[1:]))


@pytest.mark.parametrize("dtype", ("int8", "uint16", "float16"))
@pytest.mark.parametrize("descending", (False, True))
def test_key_codes_are_a_total_order(dtype, descending):
    order = KeyOrder(dtype, descending)
    keys = np.arange(1 << order.bits).astype(order.storage).view(dtype)
    codes, digits = order.encode(keys), order.digits(keys)
    assert len(np.unique(codes)) == len(keys)
    np.testing.assert_array_equal(bits_of(order.decode(codes)), bits_of(keys))
    assert (np.diff(digits[np.argsort(codes)].astype(np.int64)) >= 0).all()
    np.testing.assert_array_equal(np.argsort(digits, kind="stable"), expected_order(keys, descending))


@pytest.mark.settings("as_is", "as_gpu")
def test_plan_sorts_points_by_x_then_y(any_session):
    session, n = any_session, 20_000
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 50, (2, n)).astype(np.float32)
    x[::3] = -0.0
    profile = session.profile
    by_y, _, order = radix_plan(profile, "y", n, np.float32, payload="index", keep_keys=False)
    x_by_y = Scratch("x_by_y", np.uint32, n)
    pick = pick_plan(profile, Scratch("x", np.uint32, n), order, x_by_y)
    by_x, keys, order = radix_plan(profile, x_by_y, n, np.float32, payload=order, prefix="by_x")
    buffers = {name: device_array(session, values).data for name, values in (("x", x), ("y", y))}
    result = run(session, by_y + pick + by_x, **buffers)
    expected = np.lexsort([y, x])
    np.testing.assert_array_equal(result.read(order), expected)
    np.testing.assert_array_equal(result.read(keys).view(np.float32), x[expected])


def test_policies_fit_small_local_memory(session):
    """The scatter's tile shrinks until its local memory fits."""
    small = Session(session.device, context=session.context, local_mem_bytes=16 << 10, max_wg_size=64)
    rows = {k: select(session.profile, k) for k in ("sorting/radix/radix_count", "sorting/radix/radix_spine")}
    from clgeom.runtime.tuning import TABLE

    rows["sorting/radix/radix_scatter"] = TABLE["sorting/radix/radix_scatter"]["any"]
    rows["sorting/radix/radix_segments"] = TABLE["sorting/radix/radix_segments"]["any"]
    with override(rows):
        keys = keys_of("random", 17_000, np.uint64)
        np.testing.assert_array_equal(sort(keys, device=small), np.sort(keys))
        np.testing.assert_array_equal(sort(keys[:2000], device=small), np.sort(keys[:2000]))
