"""Keys of every type and distribution, and the plain model of their order."""

import zlib

import numpy as np
from effort import LONG

from clgeom import argsort, sort
from clgeom.sorting.keys import key_order

#: Of the types that a property is tried with, how many in each setting; all of them in others. Kernels of other shapes
#: are the same source for all types, and to build them takes long.
MOST_TYPES = {"as_gpu": 1, "odd_shapes": 1, "small_groups": 1}


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


def types_in(setting, types):
    """The types to try in a setting: the first ones; all in the long profile."""
    return types if LONG else types[: MOST_TYPES.get(setting)]


def keys_of(name, n, dtype, seed=0):
    rng = np.random.default_rng([zlib.crc32(name.encode()), n, seed])
    return DISTRIBUTIONS[name](rng, n, np.dtype(dtype))


def expected_order(keys, descending=False):
    """The stable order by NumPy: ascending, or of the negated keys."""
    if not descending:
        return np.argsort(keys, kind="stable")
    return np.argsort(-keys if keys.dtype.kind == "f" else ~keys, kind="stable")


def distinct_reference(keys, equal_nan=True):
    """values, index, inverse, counts by the stable order: of equal keys the first one is the value.

    NaN and NaT are one value or one each.
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    differs = ordered[1:] != ordered[:-1]
    if equal_nan:
        differs &= ~((ordered[1:] != ordered[1:]) & (ordered[:-1] != ordered[:-1]))
    begins = np.append(np.ones(min(len(keys), 1), bool), differs)
    starts, inverse = np.flatnonzero(begins), np.empty(len(keys), np.int64)
    inverse[order] = np.cumsum(begins) - 1
    return ordered[starts], order[starts], inverse, np.diff(np.append(starts, len(keys)))


def check(keys, descending, device):
    """sort, argsort and sort_by_key of these keys against NumPy."""
    order = expected_order(keys, descending)
    indices = argsort(keys, descending=descending, device=device)
    assert indices.dtype == np.int64
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(bits_of(sort(keys, descending=descending, device=device)), bits_of(keys[order]))


def device_array(session, values):
    import pyopencl.array as cl_array

    return cl_array.to_device(session.queue, values)


def in_parts(keys, places):
    """The order in which keys less than, equal to and greater than those at some places of the order are parts."""
    digits = key_order(keys.dtype).digits(keys)
    found = np.unique(np.sort(digits)[places])
    return np.argsort(np.searchsorted(found, digits) + np.searchsorted(found, digits, "right"), kind="stable")
