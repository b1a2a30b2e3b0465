"""Trials of a device with known answers (clgeom.core.trust): sorting."""

from __future__ import annotations

import numpy as np

from clgeom.core.call import recording
from clgeom.intake.cl_arrays import to_array
from clgeom.intake.device_arrays import fetched
from clgeom.sorting.bins import bincount, histogram
from clgeom.sorting.radix.sort import argsort, sort
from clgeom.sorting.search import searchsorted
from clgeom.sorting.select import topk
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


def rows(session, dtype) -> bool:
    """Whether indices along an axis count from the first key of their row."""
    table = _keys(3_000).reshape(30, 100)
    found = argsort(to_array(session, table), device=session)
    return np.array_equal(fetched(found), np.argsort(table, kind="stable"))


def takes(session, dtype) -> bool:
    """Whether rows are picked by indices of either sign, and one that is out of range is found."""
    table, at = _keys(3_000).reshape(1000, 3), (_keys(500) % 2000).astype(np.int32) - 1000
    there, indices = to_array(session, table), to_array(session, at)

    def picked(mode):
        return fetched(take(there, indices, axis=0, mode=mode, device=session))

    return all(np.array_equal(picked(mode), np.take(table, at, 0, mode=mode)) for mode in ("raise", "wrap", "clip"))


def uniques(session, dtype) -> bool:
    """Whether distinct keys, the first of each, their places and their counts are found."""
    keys = _keys(5_000) >> np.uint32(20)
    wanted = {"return_index": True, "return_inverse": True, "return_counts": True}
    with recording():
        return all(map(np.array_equal, unique(keys, device=session, **wanted), np.unique(keys, **wanted)))


def firsts(session, dtype) -> bool:
    """Whether the first keys are found, in the order of their indices where they are equal."""
    keys = _keys(40_000) >> np.uint32(8)
    keys[::2] = 5  # more than are wanted
    return all(
        np.array_equal(fetched(topk(to_array(session, keys), 100, largest=largest, device=session).indices), order)
        for largest, order in (
            (False, np.argsort(keys, kind="stable")[:100]),
            (True, np.argsort(~keys, kind="stable")[:100]),
        )
    )


def searches(session, dtype) -> bool:
    """Whether keys are found among others, before and behind equal ones."""
    hay, needles = np.sort(_keys(3_000) >> np.uint32(20)), _keys(1_000) >> np.uint32(20)
    return all(
        np.array_equal(searchsorted(hay, needles, side=side, device=session), np.searchsorted(hay, needles, side))
        for side in ("left", "right")
    )


def bins(session, dtype) -> bool:
    """Whether keys are counted, one by one and between edges, and the least and the greatest are found."""
    keys = _keys(5_000) >> np.uint32(22)
    counts = bincount(to_array(session, keys), device=session)
    between = histogram(keys, [3, 10, 200, 201, 900], device=session)[0]
    return np.array_equal(fetched(counts), np.bincount(keys)) and np.array_equal(
        between, np.histogram(keys, [3, 10, 200, 201, 900])[0]
    )


def shellsorts(session, dtype) -> bool:
    """Whether Shellsort, as it is chosen for the device, sorts."""
    keys = _keys(9_000)
    return np.array_equal(shellsort(keys, device=session).keys, np.sort(keys))
