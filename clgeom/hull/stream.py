"""Hulls of points that come in pieces: from the host to a device with memory of its own, from a file, or from chunks.

    copy to the device    | piece 0 | piece 1 | piece 2 | ..
    hull on the device              | piece 0 | piece 1 | piece 2 |

Piece k + 1 is copied while the hull of piece k is computed, and piece k + 2 has begun: threads that fill page-locked
memory go on with it when they are done with piece k + 1, while the link brings the last parts of that and the hull of
piece k is computed. The hull of all points is the hull of the pieces' hulls. Few pieces are in memory at a time, so the
device need not hold all points, nor the host those of a file. Pieces of an array are larger than those of a file, which
also take memory of the host: each one's hull delays the copies. Large pieces delay them less, and are two at a time.

A device that has too little memory for a piece gets it in halves, and smaller pieces from there on.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import allocate, copy_in, give_up, wait_for
from clgeom.core.staging import LEAST_BYTES
from clgeom.errors import DeviceLimit
from clgeom.hull.pieces import Piece
from clgeom.intake.arrays import Chunk, DeviceArray, to_device
from clgeom.intake.mapped import MappedPoints, is_mapped, require_whole
from clgeom.intake.subnormals import refuse_flushed

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.core.profile import DeviceProfile
    from clgeom.core.staging import Transfer

CHUNK_BYTES = 1 << 26
#: Pieces of an array are so many times as large, where they are a small part of the device's memory.
LARGER = 4
SMALL_PART = 16
#: Pieces that are on the device at a time, or on their way to it: large ones, and others.
AT_A_TIME, SMALL_AT_A_TIME = 2, 3
#: Pieces of fewer points are not halved where a device has too little memory.
LEAST_POINTS = 1 << 12


def streams(session: Session, points: Any) -> bool:
    """Return whether to copy points of the host to the device in pieces."""
    if is_mapped(points) and not session.profile.is_cpu and points.nbytes >= LEAST_BYTES:
        return True  # threads read the file
    if points.nbytes < 2 * chunk_bytes(session.profile, points):
        return False
    return is_mapped(points) or not session.profile.is_cpu


def chunk_bytes(profile: DeviceProfile, points: np.ndarray, *, on_map: bool | None = None) -> int:
    """Most bytes of a piece; `on_map` is whether its pages stay in the process's memory while it is copied."""
    most = CHUNK_BYTES
    on_map = is_mapped(points) if on_map is None else on_map
    if not on_map and profile.global_mem_bytes >= LARGER * SMALL_PART * CHUNK_BYTES:
        most *= LARGER
    return min(most, profile.max_alloc_bytes)


def pieces_of(session: Session, points: np.ndarray, start: int = 0, stop: int | None = None) -> DevicePieces:
    """Yield points of an array or a mapped file on the device, from `start` to `stop` or all, piece after piece."""
    source = MappedPoints(points, session.profile.is_cpu) if is_mapped(points) else None
    most = chunk_bytes(session.profile, points, on_map=source is not None and source.file is None)
    rows = max(most // (2 * points.itemsize), 1)
    stop = len(points) if stop is None else stop
    bounds = ((first, min(first + rows, stop)) for first in range(start, stop, rows))
    pieces = (Piece(points[first:last], first, last - first) for first, last in bounds)
    return DevicePieces(session, pieces, most, source)


class DevicePieces:
    """Pieces of points as DeviceArrays of `most_bytes` at most. Each is valid until the next one is requested.

    `pieces` is closed at the end if it is a generator; `source` is the mapped file that has all points.
    """

    def __init__(
        self, session: Session, pieces: Iterator[Piece], most_bytes: int, source: MappedPoints | None = None
    ) -> None:
        self.session, self.pieces, self.source = session, iter(pieces), source
        self.most = min(most_bytes, session.profile.max_alloc_bytes)
        self.again: collections.deque[Piece] = collections.deque()
        self.coming: collections.deque[tuple[Piece, DeviceArray, Transfer | cl.Event | None]] = collections.deque()
        self.buffers: list[cl.Buffer] = []  # filled in turn on a separate queue; none on CPUs, which read in place
        self.at_a_time = 1
        if not session.profile.is_cpu:
            self.at_a_time = SMALL_AT_A_TIME if self.most <= CHUNK_BYTES else AT_A_TIME

    def __iter__(self) -> Iterator[Any]:
        """Yield pairs of a piece and its DeviceArray."""
        try:
            while True:
                while len(self.coming) < self.at_a_time and (piece := self._next()) is not None:
                    self._begin(piece)
                if not self.coming:
                    return
                piece, array, arrived = self.coming[0]
                if arrived is not None:
                    wait_for(self.session, arrived)
                    require_whole(piece.rows)
                self.coming.popleft()
                refuse_flushed(array, caller="convex_hull", name="points")
                yield piece, array
                if arrived is None:
                    require_whole(piece.rows)
                if self.source is not None:
                    self.source.done(piece.first, len(piece.rows))
                del piece, array
        finally:  # after an error, or when no more pieces are wanted
            self._give_up()
            if hasattr(self.pieces, "close"):
                self.pieces.close()

    def smaller(self, piece: Piece) -> bool:
        """Put a piece back that the device had too little memory for; False if it is too small to be halved."""
        self.most = min(self.most, piece.rows.nbytes) // 2
        if len(piece.rows) < LEAST_POINTS:
            return False
        self.again.extendleft([one for one, *_ in reversed(self.coming)])
        self.again.appendleft(piece)
        self._give_up()
        self.session.pool.free_held()
        return True

    def _next(self) -> Piece | None:
        """Return the next piece, at most as large as the device takes."""
        piece = self.again.popleft() if self.again else next(self.pieces, None)
        while piece is not None and piece.rows.nbytes > self.most and len(piece.rows) > 1:
            piece, rest = piece.halves()
            self.again.appendleft(rest)
        return piece

    def _begin(self, piece: Piece) -> None:
        """Begin to bring a piece to the device."""
        require_whole(piece.rows)
        while True:
            try:
                self.coming.append((piece, *self._bring(piece)))
                return
            except DeviceLimit:
                if piece.rows.dtype == np.float64 and not self.session.profile.fp64:
                    raise
                if self.coming:  # less is needed once that is done
                    self.again.appendleft(piece)
                    self.at_a_time = len(self.coming)
                    return
                if not self.smaller(piece) or (half := self._next()) is None:
                    raise
                piece = half

    def _give_up(self) -> None:
        for _, _, arrived in self.coming:
            if arrived is not None:
                give_up(arrived)
        self.coming.clear()
        self.buffers = []

    def _bring(self, piece: Piece) -> tuple[DeviceArray, Transfer | cl.Event | None]:
        """Return a piece as a DeviceArray, and the event of its copy, which is enqueued; None where it is in place."""
        session, rows = self.session, piece.rows
        if session.profile.is_cpu:
            return to_device(session, rows, caller="convex_hull", first=piece.first), None
        if rows.dtype == np.float64:
            session.profile.require_fp64("convex_hull")
        in_use = [chunk.buffer for _, array, _ in self.coming for chunk in array.chunks]
        free = [one for one in self.buffers if one not in in_use and one.size >= rows.nbytes]
        self.buffers = [*in_use, *free]  # smaller ones return to the pool
        buffer = free[0] if free else allocate(session, rows.nbytes)
        self.buffers = [*in_use, *free[1:], buffer]
        read = None if self.source is None else self.source.reader(rows, piece.first)
        arrived = copy_in(session, buffer, rows, read)
        chunks = (Chunk(buffer, 0, len(rows)),)
        return DeviceArray(session, rows.dtype, len(rows), 2, chunks, rows, piece.first), arrived
