"""Sorts where float arithmetic flushes subnormal numbers to zero: keys are compared as integers, so nothing changes."""

import re

import numpy as np
import pyopencl.array as cl_array
import pytest
from device_settings import policies
from reference import shell_codes

from clgeom import argsort, shellsort, sort, sort_by_key
from clgeom.core import sources
from clgeom.core.build import build
from clgeom.core.launch import allocate, read, write
from clgeom.core.render import render
from clgeom.core.tuning import override
from clgeom.sorting.keys import KeyOrder
from clgeom.sorting.shellsort.sort import VARIANTS

KERNELS = sources.kernels()

FLUSHES = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void flushes(global const {real} *x, global int *out) {{ out[0] = x[0] == x[1]; out[1] = x[1] + x[1] == 0; }}
"""


@pytest.mark.settings("flushed")
@pytest.mark.parametrize("real, dtype", (("float", "float32"), ("double", "float64")))
def test_setting_flushes(any_session, real, dtype):
    """The setting is what it says: otherwise the tests that use it show nothing."""
    if any_session.profile.runtime != "pocl":
        pytest.skip("other compilers may ignore the option")
    values, out = allocate(any_session, 16), allocate(any_session, 8)
    write(any_session, values, np.array([0, np.finfo(dtype).smallest_subnormal], dtype))
    build(any_session, FLUSHES.format(real=real)).flushes(any_session.queue, (1,), (1,), values, out)
    assert read(any_session, out, np.int32, 2).tolist() == [1, 1]
    assert not any_session.profile.denormals


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name.split("/")[0] == "sorting"])
def test_kernels_have_no_floats(kernel):
    code = re.sub(r"//.*|/\*.*?\*/", "", render(kernel))
    assert not re.search(r"\b(float|double|half)\d*\b", code.replace("#pragma OPENCL EXTENSION cl_khr_fp64", ""))


def subnormal_keys(dtype, n, seed=0):
    """Mostly subnormal numbers of both signs, and zeros, NaNs, infinities and normal numbers among them."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    word, bits = np.dtype(f"u{dtype.itemsize}"), 8 * dtype.itemsize
    mantissa = np.finfo(dtype).nmant
    sign = word.type(1 << (bits - 1))
    small = rng.integers(0, 1 << mantissa, n, dtype=np.uint64).astype(word) | rng.choice([word.type(0), sign], n)
    special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0], dtype).view(word)
    return np.where(rng.random(n) < 0.7, small, rng.choice(special, n)).view(dtype)


def stable_order(keys, descending):
    """NumPy's: -0.0 equals 0.0, NaN is last, equal keys stay in order."""
    return np.argsort(-keys if descending else keys, kind="stable")


def bits_of(array):
    return array.view(f"u{array.itemsize}")


@pytest.mark.settings("flushed")
@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_radix_sort_keeps_subnormal_keys_apart(subtests, any_session, dtype):
    for n in (60, 20_011):  # in one launch, and digit by digit
        with subtests.test(n=n):
            keys = subnormal_keys(dtype, n)
            for descending in (False, True):
                order = stable_order(keys, descending)
                options = {"descending": descending, "device": any_session}
                np.testing.assert_array_equal(argsort(keys, **options), order)
                np.testing.assert_array_equal(bits_of(sort(keys, **options)), bits_of(keys[order]))


@pytest.mark.settings("flushed")
def test_radix_sort_moves_subnormal_values_and_segments(any_session):
    keys, offsets = subnormal_keys("float32", 20_011), [0, 7, 100, 20_000, 20_000, 20_011]
    values = np.arange(len(keys)) * 5e-324
    order = stable_order(keys, False)
    found, moved = sort_by_key(keys, values, device=any_session)
    np.testing.assert_array_equal(bits_of(found), bits_of(keys[order]))
    np.testing.assert_array_equal(bits_of(moved), bits_of(values[order]))
    order = np.concatenate([b + stable_order(keys[b:e], False) for b, e in zip(offsets, offsets[1:])])
    np.testing.assert_array_equal(argsort(keys, offsets=offsets, device=any_session), order)


@pytest.mark.settings("flushed")
def test_group_shapes_keep_subnormal_keys_apart(any_session):
    keys = subnormal_keys("float32", 20_011)
    with override(policies("any")):
        np.testing.assert_array_equal(argsort(keys, device=any_session), stable_order(keys, False))
        np.testing.assert_array_equal(argsort(keys[:2000], device=any_session), stable_order(keys[:2000], False))
        found = shellsort(keys, device=any_session).keys
    np.testing.assert_array_equal(bits_of(found), bits_of(total_order(keys)))


def total_order(keys, descending=False):
    """Shellsort's: by bits, -0.0 before 0.0."""
    order = KeyOrder(keys.dtype, descending)
    return shell_codes.decoded(order, np.sort(shell_codes.encoded(order, keys)))


@pytest.mark.optimised
@pytest.mark.settings("flushed")
@pytest.mark.parametrize(
    "variant, dtype",
    [
        *((variant, "float32") for variant in VARIANTS),
        ("auto", "float16"),
        ("auto", "float64"),
        ("D", "float64"),
    ],
)
def test_shellsort_keeps_subnormal_keys_apart(any_session, dtype, variant):
    keys = subnormal_keys(dtype, 9001 if variant == "auto" else 700)
    items = {"max_items_per_subsequence": 1} if variant in "BC" else {}  # B and C are full sorts so
    for descending in (False, True):
        options = {**items, "descending": descending, "device": any_session}
        result = shellsort(keys, variant=variant, **options)
        assert result.is_sorted
        np.testing.assert_array_equal(bits_of(result.keys), bits_of(total_order(keys, descending)))


@pytest.mark.settings("flushed")
def test_subnormal_keys_on_the_device_keep_their_bits(any_session):
    """Slices, strides, the other byte order and an `out` that shares memory: all copies are of bytes."""
    keys = subnormal_keys("float32", 4000)
    for view in (lambda a: a[1:], lambda a: a[::3]):
        for given in (keys, keys.astype(">f4")):
            wanted = view(keys)[stable_order(view(keys), False)]
            found = sort(view(cl_array.to_device(any_session.queue, given)), device=any_session)
            np.testing.assert_array_equal(bits_of(found.get()), bits_of(wanted))
    there = cl_array.to_device(any_session.queue, keys)
    sort(there, out=there, device=any_session)
    np.testing.assert_array_equal(bits_of(there.get()), bits_of(keys[stable_order(keys, False)]))
