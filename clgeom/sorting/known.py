"""Trials of a device with known answers (clgeom.runtime.trust): sorting."""

from __future__ import annotations

import numpy as np

from clgeom.runtime.call import recording
from clgeom.sorting.radix.sort import argsort, sort
from clgeom.sorting.shellsort.sort import shellsort


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


def shellsorts(session, dtype) -> bool:
    """Whether Shellsort, as it is chosen for the device, sorts."""
    keys = _keys(9_000)
    return np.array_equal(shellsort(keys, device=session).keys, np.sort(keys))
