"""Distinct values and first keys of host keys by NumPy, where that takes less time than the device.

That is so for few keys, and where NumPy sorts with the vectors of the processor, which is timed. The results are those
of `clgeom.sorting.unique` and `clgeom.sorting.select`, bit for bit.
"""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from clgeom.sorting.keys import NATIVE, key_order
from clgeom.sorting.radix.host import FEW, host_may_sort

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.core.profile import DeviceProfile

#: Nanoseconds of a compute unit for each key on the device, by bytes of a key (PoCL, 2 cores of an EPYC, 1e6 keys).
DEVICE_NS = {1: 3.0, 2: 4.0, 4: 16.0, 8: 30.0}
#: The same for the search for the first keys; each takes launches of so many nanoseconds in all.
SELECT_NS = {1: 1.5, 2: 2.0, 4: 3.0, 8: 5.0}
LAUNCHES_NS = 300_000
#: Time of NumPy's partition for a key, in units of `numpy_ns`, and the least one. Fewer keys are sorted instead.
PARTITION = 4
PARTITION_NS = 4.0
PARTED = 256
#: Most repeated keys that are closed up one by one.
CLOSED_UP = 256
#: Keys by which NumPy's sort is timed, once in a process and for a type.
TIMED = 1 << 13


@dataclass(frozen=True)
class Returned:
    """The results of `unique` besides the values, and how to compute them.

    `splits_nan`: whether each NaN and NaT is a value. `index_type`: the type of indices and counts.
    """

    index: bool
    inverse: bool
    counts: bool
    splits_nan: bool
    index_type: np.dtype

    @property
    def order(self) -> bool:
        """Whether the results depend on the order of the keys."""
        return self.index or self.inverse


def few_distinct(keys: np.ndarray) -> np.ndarray | None:
    """Return the distinct values of few integers, with least to do besides; None for other keys."""
    if keys.dtype not in NATIVE or keys.dtype.kind == "f" or not 0 < keys.size <= FEW or not host_may_sort():
        return None
    ordered = keys.flatten()
    ordered.sort(kind=_kind(keys.dtype))
    begins = np.empty(len(ordered), bool)
    begins[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    values: np.ndarray = ordered[begins]
    return values


def distinct_on_host(session: Session, keys: np.ndarray, returned: Returned) -> list[np.ndarray] | None:
    """Return the results of `unique` for host keys; None where the device computes them."""
    if not host_may_sort() or not len(keys):
        return None
    native = keys.dtype.newbyteorder("=")
    if len(keys) > FEW and (returned.order or not _numpy_is_faster(session.profile, native, len(keys))):
        return None
    keys = keys.astype(native, copy=False)
    order = np.argsort(keys, kind="stable") if returned.order else None
    ordered = np.sort(keys, kind=_kind(native)) if order is None else keys[order]
    nan_count = _count_nan(ordered)
    begins = np.empty(len(keys), bool)
    begins[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    if nan_count and not returned.splits_nan:
        begins[len(keys) - nan_count + 1 :] = False
    several_zeros = order is None and _count_zeros(ordered) > 1
    values = _first_keys(ordered, begins)
    if order is None:
        _restore_first_bits(values, keys, several_zeros, nan_count, returned.splits_nan)
    return run_results(values, begins, order, returned)


def run_results(
    values: np.ndarray, begins: np.ndarray, order: np.ndarray | None, returned: Returned
) -> list[np.ndarray]:
    """Return the values of the runs of equal keys, and the first indices, inverse and counts that `unique` returns.

    `begins` marks the sorted keys that begin a run, and `order` has their indices in the input (None: not needed).
    """
    results, n = [values], len(begins)
    starts = np.flatnonzero(begins) if returned.index or returned.counts else np.empty(0, np.int64)
    if returned.index and order is not None:
        results.append(order[starts].astype(returned.index_type, copy=False))
    if returned.inverse:
        inverse = np.empty(n, returned.index_type)
        inverse[order] = np.cumsum(begins) - 1
        results.append(inverse)
    if returned.counts:
        results.append(np.diff(np.append(starts, n)).astype(returned.index_type, copy=False))
    return results


def first_on_host(session: Session, keys: np.ndarray, k: int, descending: bool) -> np.ndarray | None:
    """Return the indices of the first k host keys in stable order; None where the device finds them in less time."""
    profile, dtype, n = session.profile, keys.dtype, len(keys)
    if not host_may_sort():
        return None
    if n > FEW:
        if dtype.kind not in "iuf" or dtype == np.float16 or not 0 < k <= n // 2:
            return None
        by_numpy = max(PARTITION * numpy_ns(dtype), PARTITION_NS)
        if by_numpy * n > SELECT_NS[dtype.itemsize] * n / max(profile.compute_units, 1) + LAUNCHES_NS:
            return None
    found = _first_by_partition(keys, k, descending)
    if found is None:
        return None if n > FEW else _order(keys, descending)[:k]
    first = keys[found]
    return found[np.argsort(_negated(first) if descending else first, kind="stable")]


def _first_by_partition(keys: np.ndarray, k: int, descending: bool) -> np.ndarray | None:
    """Return the ascending indices of the first k keys, equal ones by index; None if a sort is to find them."""
    n, dtype = len(keys), keys.dtype
    if n <= PARTED or not 0 < k < n or dtype.kind not in "iuf" or dtype == np.float16:
        return None
    last = n - k if descending else k - 1
    parted = np.partition(keys, last)
    bound = parted[last]
    if bound != bound or (descending and dtype.kind == "f" and np.isnan(parted[last:]).any()):
        return None
    indices: np.ndarray = np.flatnonzero(keys >= bound if descending else keys <= bound)
    if len(indices) > k:  # several keys equal the last one
        ties = np.flatnonzero(keys[indices] == bound)
        indices = np.delete(indices, ties[k - len(indices) :])
    return indices


def _order(keys: np.ndarray, descending: bool) -> np.ndarray:
    """Return the indices that sort keys of any type."""
    return np.argsort(key_order(keys.dtype, descending).digits(keys), kind="stable")


def _negated(keys: np.ndarray) -> np.ndarray:
    """Return numbers that ascend as these keys descend, NaN last."""
    return -keys if keys.dtype.kind == "f" else ~keys


def _kind(dtype: np.dtype) -> Literal["stable"] | None:
    """Return the quickest sort of NumPy; that of float16 by vectors was seen to be wrong for many equal keys (2.4)."""
    return "stable" if dtype.itemsize <= 2 else None


def _count_nan(ordered: np.ndarray) -> int:
    """Return how many of the last keys are NaN or NaT."""
    if ordered.dtype.kind not in "fMm" or ordered[-1] == ordered[-1]:
        return 0
    return len(ordered) - int(np.searchsorted(ordered, ordered[-1]))


def _count_zeros(ordered: np.ndarray) -> int:
    """Return how many floats are zeros of either sign."""
    if ordered.dtype.kind != "f":
        return 0
    zero = ordered.dtype.type(0)  # of another type NumPy would convert all keys
    return int(np.searchsorted(ordered, zero, "right") - np.searchsorted(ordered, zero))


def _first_keys(ordered: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Return the first key of each run, perhaps in the memory of all: few others are closed up, in half the time."""
    n = len(ordered)
    if n - np.count_nonzero(begins) > CLOSED_UP:
        firsts: np.ndarray = ordered[begins]
        return firsts
    repeated = np.flatnonzero(~begins).tolist()
    to = repeated[0] if repeated else n
    for at, after in zip(repeated, [*repeated[1:], n]):
        ordered[to : to + after - at - 1] = ordered[at + 1 : after]
        to += after - at - 1
    return ordered if to == n else ordered[:to]


def _restore_first_bits(
    values: np.ndarray, keys: np.ndarray, several_zeros: bool, nan_count: int, splits_nan: bool
) -> None:
    """Give zeros and NaN the bits that they have first in the input: a sort need not keep these."""
    if several_zeros:
        values[np.searchsorted(values, values.dtype.type(0))] = keys[np.argmax(keys == 0)]
    if nan_count and values.dtype.kind == "f":
        count = nan_count if splits_nan else 1
        values[len(values) - count :] = keys[np.isnan(keys)][:count]


def _numpy_is_faster(profile: DeviceProfile, dtype: np.dtype, n: int) -> bool:
    """Return whether NumPy is expected to sort so many keys in less time than a CPU device takes."""
    units = max(profile.compute_units, 1)
    return profile.is_cpu and numpy_ns(dtype) * math.log2(n) < DEVICE_NS[dtype.itemsize] / units


@functools.cache
def numpy_ns(dtype: np.dtype) -> float:
    """Nanoseconds that NumPy's sort takes for a key, over the logarithm of the number of keys."""
    rng, seconds = np.random.default_rng(0), []
    keys = rng.standard_normal(TIMED) if dtype.kind == "f" else rng.integers(0, 256, TIMED * dtype.itemsize, np.uint8)
    keys = keys.astype(dtype) if dtype.kind == "f" else keys.view(f"u{dtype.itemsize}").view(dtype)
    for _ in range(3):
        begin = time.perf_counter()
        np.sort(keys, kind=_kind(dtype))
        seconds.append(time.perf_counter() - begin)
    return 1e9 * min(seconds) / (TIMED * math.log2(TIMED))
