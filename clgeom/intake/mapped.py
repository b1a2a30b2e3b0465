"""Mapped files: read without their maps, and with pages that need not stay in the process's memory."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from clgeom.core.messages import printable
from clgeom.errors import InvalidInput
from clgeom.intake.arrays import POINT_TYPES


def is_mapped(points: object) -> TypeGuard[np.memmap]:
    """Return whether the points are a whole file that is mapped to memory."""
    return (
        isinstance(points, np.memmap)
        and isinstance(points.base, mmap.mmap)  # not a part of a file, whose offset is unknown
        and points.filename is not None
        and points.dtype in POINT_TYPES
        and points.ndim == 2
        and points.shape[1] == 2
        and points.flags.c_contiguous
    )


if TYPE_CHECKING:
    from io import FileIO


def require_whole(array: np.ndarray) -> None:
    """Refuse an array in a mapped file that was cut since then: reading what it has lost would kill the process.

    Ask before and after reading: a page that is cut in its middle reads as zeros. Nothing happens for other arrays.
    """
    mapped: np.ndarray | None = array
    memory = None
    while isinstance(mapped, np.ndarray) and not isinstance(memory := getattr(mapped, "_mmap", None), mmap.mmap):
        mapped = mapped.base
    if not isinstance(mapped, np.memmap) or not isinstance(memory, mmap.mmap) or not array.size:
        return
    try:
        has = memory.size()
    except (OSError, ValueError):  # no file
        return
    begin = np.frombuffer(memory, np.uint8, 1).ctypes.data
    steps = sum((count - 1) * stride for count, stride in zip(array.shape, array.strides) if stride > 0)
    last = array.ctypes.data + steps + array.itemsize - begin
    wanted = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY + last  # numpy maps from such a multiple on
    if has < wanted:
        raise InvalidInput(
            f"The file '{printable(str(mapped.filename))}' must have {wanted:,} bytes and more. It has {has:,}: it was "
            "cut after it was mapped."
        )


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


def opened(mapped: np.memmap) -> FileIO | None:
    """Return the file of a mapped array, opened to be read; None if it is not certain that its bytes are those of the
    array.

    What is read from it needs no pages in the process's memory, so pieces can be larger. The file of that name may be
    another one by now, and a copy-on-write map may have changes of its own.

    The host of an H200: hulls of 8 GB took in 36.9 GB/s by this and pieces of 256 MB, 22.9 by the map and 64 MB; which
    of both changes gained was not measured. On a virtual machine with two cores one thread copied 1.6 GB/s from the
    file and 4.3 from a new map. CPU devices use the map.
    """
    path = mapped.filename
    if path is None or mapped.mode == "c" or not isinstance(mapped.base, mmap.mmap) or not hasattr(os, "preadv"):
        return None
    with contextlib.ExitStack() as closing, contextlib.suppress(OSError, ValueError):  # deleted, empty, no /proc
        file = closing.enter_context(open(path, "rb", buffering=0))
        with mmap.mmap(file.fileno(), 1, access=mmap.ACCESS_READ) as again:
            other = np.frombuffer(again, np.uint8)
            same = _inode(mapped.ctypes.data) == _inode(other.ctypes.data)
            del other
        if same:
            closing.pop_all()  # the caller's
            return file
    return None


def _inode(address: int) -> tuple[str, str]:
    """Device and number of the file that is mapped to an address."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, _, _, device, inode = line.split()[:5]
        begin, end = (int(number, 16) for number in span.split("-"))
        if begin <= address < end:
            return device, inode
    raise OSError("no file is mapped there")


class MappedPoints:
    """Points in a mapped file (`is_mapped`), which may be cut while it is read. Their pages need not stay in memory.

    The points come from the mapped array, not from the file of that name: mode "c" keeps changes in memory, and the
    file may have been replaced or deleted. Reading a map past the end of its file kills the process: the size is
    checked before each read, but a file may be cut while it is read. What is read from the file ends there. With
    `in_place`, the device reads the map, and the file is not opened.
    """

    def __init__(self, points: np.memmap, in_place: bool) -> None:
        self.points, self.row = points, 2 * points.itemsize
        self.file = None if in_place else opened(points)

    def reader(self, rows: np.ndarray, first: int) -> Callable[[np.ndarray, int], None] | None:
        """Return a function that reads these rows from number `first` on, for `copy_in`; None to copy the map."""
        file = self.file
        if file is None:
            return None
        origin = self.points.offset + first * self.row

        def read(memory: np.ndarray, begin: int) -> None:
            at, left = origin + begin, memory.data
            while left:
                count = os.preadv(file.fileno(), [left], at)
                if not count:
                    require_whole(rows)
                    raise InvalidInput(f"The file '{self.points.filename}' must be readable to its end.")
                at, left = at + count, left[count:]

        return read

    def done(self, first: int, count: int) -> None:
        """Take the pages of some rows out of the process's memory."""
        forget(self.points, first * self.row, (first + count) * self.row)

    def loaded(self) -> np.ndarray:
        """Return all points in memory of their own; the map where the file is not read."""
        read = self.reader(self.points, 0)
        if read is None or self.file is None:
            return self.points
        own = np.empty(self.points.shape, self.points.dtype)
        with self.file:
            read(own.reshape(-1).view(np.uint8), 0)
        return own
