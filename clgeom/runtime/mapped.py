"""Mapped files whose pages need not stay in the process's memory."""

from __future__ import annotations

import contextlib
import mmap

import numpy as np


def forget(mapped: np.memmap, first: int, last: int) -> None:
    """Take the pages of bytes `first` to `last` of a mapped array out of the process's memory.

    They stay in the system's cache of the file. Nothing happens for a copy-on-write map, whose changes would be lost,
    for a part of a map, and where the system takes no such advice.
    """
    advice, base = getattr(mmap, "MADV_DONTNEED", None), mapped.base
    if advice is None or mapped.mode == "c" or not isinstance(base, mmap.mmap):
        return
    start = mapped.offset % mmap.ALLOCATIONGRANULARITY  # numpy maps from a multiple of the granularity on
    begin, end = -(-(start + first) // mmap.PAGESIZE), (start + last) // mmap.PAGESIZE
    if end > begin:
        with contextlib.suppress(OSError, ValueError):
            base.madvise(advice, begin * mmap.PAGESIZE, (end - begin) * mmap.PAGESIZE)
