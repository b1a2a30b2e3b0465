"""Trials of a device with known answers (clgeom.runtime.trust): sorting."""

from __future__ import annotations

import numpy as np

from clgeom.runtime.call import recording
from clgeom.sorting.radix.sort import argsort, sort
from clgeom.sorting.shellsort.sort import shellsort


def radix(session, dtype) -> bool:
    """Whether few and many keys, and keys in segments, are in order, and equal ones in the order they came."""
    k = np.arange(20_000, dtype=np.uint64)
    keys = (k * 2654435761 % (1 << 32)).astype(np.uint32)
    twins, narrow = keys >> np.uint32(20), keys.astype(np.uint8)
    few = keys[:500]
    offsets = np.array([0, 3, 3, 200, 500])
    segments = np.concatenate([np.sort(few[a:b]) for a, b in zip(offsets, offsets[1:])])
    with recording():  # so that the host leaves few keys to the device
        return (
            np.array_equal(sort(keys, device=session), np.sort(keys))
            and np.array_equal(sort(narrow, device=session), np.sort(narrow, kind="stable"))
            and np.array_equal(argsort(twins, device=session), np.argsort(twins, kind="stable"))
            and np.array_equal(argsort(few >> np.uint32(27), device=session), np.argsort(few >> 27, kind="stable"))
            and np.array_equal(sort(few, offsets=offsets, device=session), segments)
        )


def shellsorts(session, dtype) -> bool:
    """Whether Shellsort, as it is chosen for the device, sorts."""
    keys = (np.arange(9_000, dtype=np.uint64) * 2654435761 % (1 << 32)).astype(np.uint32)
    return np.array_equal(shellsort(keys, device=session).keys, np.sort(keys))
