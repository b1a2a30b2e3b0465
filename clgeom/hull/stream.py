"""Hulls of points that come in pieces: from the host to a device with memory of its own, or from a file.

    copy to the device    | chunk 0 | chunk 1 | chunk 2 | ..
    hull on the device              | chunk 0 | chunk 1 | chunk 2 |

Chunk k + 1 is copied while the hull of chunk k is computed. The hull of all points is the hull of the chunks' hulls.
Only two chunks are in memory at a time, so the device need not hold all points, nor the host those of a file. Chunks of
an array are larger than those of a file, which also take memory of the host: each one's hull delays the copies.
"""

from __future__ import annotations

import collections
import mmap

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.runtime.arrays import POINT_TYPES, Chunk, DeviceArray, pinned_empty, to_device
from clgeom.runtime.launch import allocate, copy_in, give_up, wait_for
from clgeom.runtime.subnormals import refuse_flushed

CHUNK_BYTES = 1 << 26
#: Chunks of an array are so many times as large, where they are a small part of the device's memory.
LARGER = 4
SMALL_PART = 16


def streams(session, points) -> bool:
    """Whether to copy points of the host to the device in chunks."""
    if points.nbytes < 2 * chunk_bytes(session.profile, points):
        return False
    return is_mapped(points) or not session.profile.is_cpu


def chunk_bytes(profile, points) -> int:
    most = CHUNK_BYTES
    if not is_mapped(points) and profile.global_mem_bytes >= LARGER * SMALL_PART * CHUNK_BYTES:
        most *= LARGER
    return min(most, profile.max_alloc_bytes)


def is_mapped(points) -> bool:
    """Whether the points are a whole file that is mapped to memory."""
    return (
        isinstance(points, np.memmap)
        and isinstance(points.base, mmap.mmap)  # not a part of a file, whose offset is unknown
        and points.filename is not None
        and points.dtype in POINT_TYPES
        and points.ndim == 2
        and points.shape[1] == 2
        and points.flags.c_contiguous
    )


def chunks_on_device(session, points, progress=None):
    """Yield the points as one DeviceArray after the other. Each is valid until the next but one is requested.

    Parameters
    ----------
    session : Session
    points : ndarray or memmap of a point type, shape (n, 2)
    progress : callable, optional
        Called as progress(bytes_done, bytes_in_all) when the work on a chunk is done.
    """
    profile = session.profile
    item_bytes = 2 * points.itemsize
    rows = chunk_bytes(profile, points) // item_bytes
    bounds = [(start, min(rows, len(points) - start)) for start in range(0, len(points), rows)]
    source = _MappedChunks(session, points, rows) if is_mapped(points) else _ArrayChunks(points)
    bring = _in_place if profile.is_cpu else _Copies(session, rows * item_bytes)
    coming = collections.deque([bring(session, source, 0, *bounds[0])])
    try:
        for k, (start, count) in enumerate(bounds):
            if k + 1 < len(bounds):
                coming.append(bring(session, source, k + 1, *bounds[k + 1]))
            array, arrived = coming[0]
            if arrived is not None:
                wait_for(session, arrived)
            coming.popleft()
            refuse_flushed(array, caller="convex_hull", name="points")
            yield array
            if progress is not None:
                progress((start + count) * item_bytes, points.nbytes)
    finally:  # after an error, or when no more chunks are wanted
        for _, arrived in coming:
            if arrived is not None:
                give_up(arrived)


def _in_place(session, source, k, start, count):
    return to_device(session, source.rows(k, start, count), caller="convex_hull", first=start), None


class _Copies:
    """Two buffers on the device, filled in turn on a separate queue."""

    def __init__(self, session, nbytes):
        self.buffers = [allocate(session, nbytes) for _ in range(2)]

    def __call__(self, session, source, k, start, count):
        rows = source.rows(k, start, count)
        buffer = self.buffers[k % 2]
        arrived = copy_in(session, buffer, rows)
        return DeviceArray(session, rows.dtype, count, 2, (Chunk(buffer, 0, count),), rows, start), arrived


class _ArrayChunks:
    """Rows of an array, without a copy on the host."""

    def __init__(self, points):
        self.points = points

    def rows(self, k, start, count):
        return self.points[start : start + count]


class _MappedChunks:
    """Rows of a mapped file, copied from the mapped array to page-locked memory at the speed of reading the file.

    The rows come from the array, not from the file of that name: mode "c" keeps changes in memory, and the file may
    have been replaced or deleted. Reading past the end of a truncated file kills the process, so the size is checked
    before each copy. It is checked after the copy too, since a page truncated in its middle reads as zeros.
    """

    def __init__(self, session, points, rows):
        self.points = points
        self.staging = [pinned_empty((rows, 2), points.dtype, device=session) for _ in range(2)]

    def rows(self, k, start, count):
        into, end = self.staging[k % 2][:count], start + count
        self._require(end)
        into[...] = self.points[start:end]
        self._require(end)
        return into

    def _require(self, n):
        if self.points.base.size() < self.points.offset + n * 2 * self.points.itemsize:
            raise InvalidInput(
                f"The file '{self.points.filename}' must hold {n:,} points and more. "
                f"It ended within them: it was cut after it was mapped."
            )
