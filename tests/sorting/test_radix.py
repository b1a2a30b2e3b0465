"""Radix sort against NumPy and against a plain model: every type, shape, values, segments and bits."""

import itertools

import numpy as np
import pytest
from device_settings import in_setting
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import imaginary
from reference import sort as reference
from sort_keys import DISTRIBUTIONS, bits_of, check, expected_order, keys_of, special_keys

from clgeom import argsort, sort, sort_by_key
from clgeom.sorting.keys import KEY_TYPES
from clgeom.sorting.radix.work import most_keys

#: Around the capacities of the one-launch sort (256, 2048, 16384), around tiles and shares of them.
SIZES = (0, 1, 2, 255, 257, 513, 2047, 2049, 4097, 16_383, 16_384, 16_385, 33_011)

NAMES = tuple(dtype.name for dtype in KEY_TYPES)


# Against NumPy ----------------------------------------------------------------------------------------------------


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_sort_matches_numpy(subtests, session, name, dtype):
    for n in SIZES:
        with subtests.test(n=n):
            for descending in (False, True):
                check(keys_of(name, n, dtype), descending, session)


@pytest.mark.settings("as_gpu", "odd_shapes")
def test_sort_in_other_shapes(subtests, any_session):
    for n in (1, 300, 2049, 9001):
        with subtests.test(n=n):
            check(keys_of("special", n, np.float32), True, any_session)


def test_groups_of_several_whole_tiles(session):
    """Random keys, so that each tile has all digits, also the last one."""
    keys = np.random.default_rng(1).integers(0, 2**32, 100_000, dtype=np.uint32)
    with in_setting(session.device, "odd_shapes") as one:
        assert np.array_equal(sort(keys, device=one), np.sort(keys))


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


@pytest.mark.settings("as_is", "small_allocations", "as_gpu", "odd_shapes", "as_amd")
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


def test_one_sort_takes_as_many_keys_as_memory_holds():
    """As each array fits an allocation, and keys and payload, three times, the device; in whole steps of 2**16."""
    for bits, parts, (key, payload) in itertools.product((20, 24, 31), (1, 4, 64), ((1, 0), (4, 8), (8, 4), (8, 8))):
        device = imaginary(max_alloc_bytes=1 << bits, global_mem_bytes=parts << bits)
        room = min((1 << bits) // max(key, payload), 0.9 * (parts << bits) / (3 * (key + payload) + 8))
        most = most_keys(device, key, payload)
        assert room - (1 << 16) < most <= room and (most % (1 << 16) == 0 or most < 1 << 16)
    assert most_keys(imaginary(max_alloc_bytes=1 << 40, global_mem_bytes=1 << 44), 4, 4) == 1 << 31


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
def test_sort_by_key_moves_values(subtests, session, values):
    for n in (0, 100, 17_000):
        with subtests.test(n=n):
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
def test_key_bits_choose_what_is_compared(subtests, session, dtype):
    bits = 8 * np.dtype(dtype).itemsize
    for n in (60, 17_000):
        keys = keys_of("random", n, dtype)
        for descending in (False, True):
            images = np.array([reference.order_bits(key, descending) for key in keys], np.uint64)
            for key_bits in (3, bits, (5, 9), (bits - 3, bits), (0, bits // 2)):
                with subtests.test(n=n, key_bits=key_bits):
                    low, high = key_bits if isinstance(key_bits, tuple) else (0, key_bits)
                    order = np.argsort(images >> np.uint64(low) & np.uint64((1 << high - low) - 1), kind="stable")
                    found = argsort(keys, key_bits=key_bits, descending=descending, device=session)
                    np.testing.assert_array_equal(found, order)
                    moved = sort(keys, key_bits=key_bits, descending=descending, device=session)
                    np.testing.assert_array_equal(moved, keys[order])
