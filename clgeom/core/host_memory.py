"""Buffers in the memory of arrays of the host, which CPU devices use where it is."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from clgeom.core.failures import failure
from clgeom.core.launch import note_kernels, settle
from clgeom.core.memory import POISON

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session

#: Seconds from a KeyboardInterrupt in a destructor to the one that callers get.
INTERRUPT_SECONDS = 0.05


class _ArrayInUse:
    """An attribute of a buffer in an array's memory: keeps the array until all kernels that may use it have ended.

    The driver keeps the buffer for them, but not the array.
    """

    __slots__ = ("array", "queue")

    def __init__(self, array: np.ndarray, queue: cl.CommandQueue) -> None:
        self.array, self.queue = array, queue

    def __del__(self) -> None:  # in any thread, at any time
        try:
            try:
                self.queue.finish()
            except KeyboardInterrupt:  # Python drops it in here
                self.queue.finish()
                interrupt_later()
        except Exception:
            return  # a queue that failed runs nothing; at the end of the process no other module may be there


def interrupt_later() -> None:
    """Raise KeyboardInterrupt in the main thread in `INTERRUPT_SECONDS`, after the destructor that has caught it."""
    timer = threading.Timer(INTERRUPT_SECONDS, _thread.interrupt_main)
    timer.daemon = True
    timer.start()


def host_buffer(session: Session, array: np.ndarray, *, writable: bool = False) -> cl.Buffer:
    """Return a buffer in the memory of a contiguous array, for kernels to read, or to write and `show_host`."""
    import pyopencl as cl

    flags = cl.mem_flags.READ_WRITE if writable else cl.mem_flags.READ_ONLY
    try:
        buffer = cl.Buffer(session.context, flags | cl.mem_flags.USE_HOST_PTR, hostbuf=array)
    except cl.Error as error:
        raise failure(session.device, f"use {array.nbytes:,} bytes of the host", error) from error
    buffer.clgeom_array = _ArrayInUse(array, session.queue)  # type: ignore[attr-defined]  # an attribute of our own
    return buffer


def in_place(session: Session, array: np.ndarray) -> cl.Buffer:
    """Return a buffer in the memory of a contiguous array, for kernels to write (on CPU devices); see `show_host`."""
    if session.pool.is_poisoned:
        array.view(np.uint8)[...] = POISON
    return host_buffer(session, array.view(f"uint{8 * array.dtype.itemsize}"), writable=True)


def show_host(session: Session, buffer: cl.Buffer, array: np.ndarray) -> None:
    """Wait until what kernels wrote to an array's memory is visible in the array."""
    show_all(session, [(buffer, array)])


def show_all(session: Session, pairs: Iterable[tuple[cl.Buffer, np.ndarray]]) -> None:
    """Wait until what kernels wrote to the memory of arrays is visible in the arrays."""
    import pyopencl as cl

    try:
        for buffer, array in pairs:
            mapped, _ = cl.enqueue_map_buffer(
                session.queue, buffer, cl.map_flags.READ, 0, array.shape, array.dtype, is_blocking=False
            )
            event = mapped.base.release(session.queue)
        # one wait for all commands: CPU drivers take 30 us for each. The arrays may be freed at once.
        event.wait()
    except cl.Error as error:
        settle(session.queue)
        raise failure(session.device, "show results", error) from error
    note_kernels(session)
