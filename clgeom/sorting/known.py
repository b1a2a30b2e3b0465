"""Trials of a device with known answers (clgeom.runtime.trust): sorting."""

from __future__ import annotations

import numpy as np

from clgeom.runtime.call import recording
from clgeom.sorting.bins import bincount, histogram
from clgeom.sorting.radix.sort import argsort, sort
from clgeom.sorting.search import searchsorted
from clgeom.sorting.shellsort.sort import shellsort
from clgeom.sorting.take import take
from clgeom.sorting.unique import unique


def _keys(n):
    return (np.arange(n, dtype=np.uint64) * 2654435761 % (1 << 32)).astype(np.uint32)


def radix(session, dtype) -> bool:
    """Whether many keys are in order."""
    keys = _keys(20_000)
    with recording():  # so that the host leaves few keys to the device
        return np.array_equal(sort(keys, device=session), np.sort(keys))


def payloads(session, dtype) -> bool:
    """Whether equal keys are in the order they came."""
    twins = _keys(20_000) >> np.uint32(20)
    with recording():
        return np.array_equal(argsort(twins, device=session), np.argsort(twins, kind="stable"))


def narrow(session, dtype) -> bool:
    """Whether keys of few bits are in order."""
    keys = _keys(20_000).astype(np.uint8)
    with recording():
        return np.array_equal(sort(keys, device=session), np.sort(keys))


def segments(session, dtype) -> bool:
    """Whether few keys, and keys in segments, are in order, and equal ones in the order they came."""
    few = _keys(500)
    offsets = np.array([0, 3, 3, 200, 500])
    expected = np.concatenate([np.sort(few[a:b]) for a, b in zip(offsets, offsets[1:])])
    with recording():
        return np.array_equal(
            argsort(few >> np.uint32(27), device=session), np.argsort(few >> 27, kind="stable")
        ) and np.array_equal(sort(few, offsets=offsets, device=session), expected)


def distinct(session, dtype) -> bool:
    """Whether distinct keys are found, with their first indices, inverse indices and counts."""
    keys = (_keys(3_000) >> np.uint32(21)).astype(np.float32)
    options = {"return_index": True, "return_inverse": True, "return_counts": True}
    return all(map(np.array_equal, unique(keys, device=session, **options), np.unique(keys, **options)))


def searches(session, dtype) -> bool:
    """Whether keys are found among sorted ones, rows taken, and columns sorted."""
    import pyopencl.array as cl_array

    keys, numbers = np.sort(_keys(500)), _keys(3_000)
    table = (numbers >> np.uint32(28)).reshape(300, 10)
    rows = (numbers % 300).astype(np.int64)
    there, places = (cl_array.to_device(session.queue, array) for array in (table, rows))
    return (
        np.array_equal(searchsorted(keys, numbers, device=session), np.searchsorted(keys, numbers))
        and np.array_equal(take(there, places, axis=0, device=session).get(), table[rows])
        and np.array_equal(argsort(there, axis=0, device=session).get(), np.argsort(table, axis=0, kind="stable"))
    )


def bins(session, dtype) -> bool:
    """Whether numbers are counted, and values in bins."""
    import pyopencl.array as cl_array

    numbers = (_keys(3_000) >> np.uint32(22)).astype(np.int32)
    there = cl_array.to_device(session.queue, numbers.astype(np.float32))
    counts = histogram(there, 16, device=session)[0].get()
    return np.array_equal(bincount(numbers, device=session), np.bincount(numbers)) and np.array_equal(
        counts, np.histogram(numbers, 16)[0]
    )


def shellsorts(session, dtype) -> bool:
    """Whether Shellsort, as it is chosen for the device, sorts."""
    keys = _keys(9_000)
    return np.array_equal(shellsort(keys, device=session).keys, np.sort(keys))
