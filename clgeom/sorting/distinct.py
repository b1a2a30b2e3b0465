"""Distinct values of host keys by NumPy's sort, where that takes less time than the device: few keys, and processors
whose vectors NumPy sorts with.

The results are those of `clgeom.sorting.unique`: of equal keys with different bits the first one is the value.
"""

from __future__ import annotations

import functools
import math
import time

import numpy as np

from clgeom.runtime.call import current
from clgeom.runtime.tuning import overridden
from clgeom.sorting.radix.host import FEW, SUBNORMAL

#: Nanoseconds of a compute unit for each key on the device, by bytes of a key (PoCL, 2 cores of an EPYC, 1e6 keys).
DEVICE_NS = {1: 3.0, 2: 4.0, 4: 16.0, 8: 30.0}
#: Keys by which NumPy's sort is timed, once in a process and for a type.
TIMED = 1 << 13


def distinct_on_host(session, keys, wanted, apart, number) -> list | None:
    """Values and what is wanted of them for host keys; None where the device is to find them."""
    if current() is not None or overridden() or not len(keys):
        return None
    native = keys.dtype.newbyteorder("=")
    if native.kind == "f" and not SUBNORMAL > 0:
        return None
    with_order = wanted["index"] or wanted["inverse"]
    if len(keys) > FEW and (with_order or not _is_quicker(session.profile, native, len(keys))):
        return None
    keys = keys.astype(native, copy=False)
    if with_order:
        order = np.argsort(keys, kind="stable")
        ordered, missing = keys[order], _missing(keys[order])
    else:
        order, ordered = None, np.sort(keys, kind=_kind(native))
        missing = _missing(ordered)
    begins = np.empty(len(keys), bool)
    begins[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    if missing and not apart:
        begins[len(keys) - missing + 1 :] = False
    values = ordered if begins.all() else ordered[begins]
    if order is None:
        _first_bits(values, keys, missing, apart)
    results, starts = [values], np.flatnonzero(begins) if wanted["index"] or wanted["counts"] else None
    if wanted["index"]:
        results.append(order[starts].astype(number, copy=False))
    if wanted["inverse"]:
        inverse = np.empty(len(keys), number)
        inverse[order] = np.cumsum(begins) - 1
        results.append(inverse)
    if wanted["counts"]:
        results.append(np.diff(np.append(starts, len(keys))).astype(number, copy=False))
    return results


def _kind(dtype):
    """The quickest sort of NumPy; that of float16 by vectors was seen to be wrong for many equal keys (2.4)."""
    return "stable" if dtype.itemsize <= 2 else None


def _missing(ordered) -> int:
    """How many of the last keys are NaN or NaT."""
    if ordered.dtype.kind not in "fMm" or ordered[-1] == ordered[-1]:
        return 0
    return len(ordered) - int(np.searchsorted(ordered, ordered[-1]))


def _first_bits(values, keys, missing, apart):
    """Give zeros, NaN and NaT the bits that they have first in the input: a sort need not keep these."""
    if values.dtype.kind != "f":
        return
    zero = int(np.searchsorted(values, 0))
    if zero < len(values) and values[zero] == 0:
        values[zero] = keys[np.argmax(keys == 0)]
    if missing:
        count = missing if apart else 1
        values[len(values) - count :] = keys[np.isnan(keys)][:count]


def _is_quicker(profile, dtype, n) -> bool:
    """Whether NumPy is expected to sort so many keys in less time than a CPU device takes."""
    units = max(profile.compute_units, 1)
    return profile.is_cpu and _numpy_ns(dtype) * math.log2(n) < DEVICE_NS[dtype.itemsize] / units


@functools.cache
def _numpy_ns(dtype) -> float:
    """Nanoseconds that NumPy's sort takes for a key, over the logarithm of the number of keys."""
    rng, seconds = np.random.default_rng(0), []
    keys = rng.standard_normal(TIMED) if dtype.kind == "f" else rng.integers(0, 256, TIMED * dtype.itemsize, np.uint8)
    keys = keys.astype(dtype) if dtype.kind == "f" else keys.view(f"u{dtype.itemsize}").view(dtype)
    for _ in range(3):
        begin = time.perf_counter()
        np.sort(keys, kind=_kind(dtype))
        seconds.append(time.perf_counter() - begin)
    return 1e9 * min(seconds) / (TIMED * math.log2(TIMED))
