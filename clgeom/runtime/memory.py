"""Device memory that is kept for the next call: a pool of buffers by size, and the rule of their reuse.

A buffer returns to the pool when the last reference to it goes, in whatever thread that is. It may be handed out again
at once, even if commands of the session's queue still use it: that queue is in order, so the next holder's commands run
after them. Other queues do not take part in that order, hence the rule:

    Whoever uses a buffer of the pool on another queue than the session's
    1. begins there after what the session's queue had to do when the buffer was handed out, and
    2. ends before the buffer returns, or names what has to end first (`Pool.hold`).

Profiled runs take all their memory, wait for the session's queue, and at their end for their own (`launch.run`). Copies
beside the session's queue wait for a marker of it, and their event holds the buffer (`launch.copy_in`). An array for
the caller is complete when the caller gets it, and the caller's queue holds its buffer: what that queue had to do when
the last reference went has to end first (`launch.as_array`). Memory that is held is not waited for; meanwhile other
memory is handed out. An array that its owner reads on yet another queue must stay referenced until that queue is done,
as everywhere in pyopencl.

Buffers are made without a command on any queue: a driver may find only at their first use that it has no memory. The
functions of `launch` then give all unused memory back, and try again, before they raise `DeviceLimit`.
"""

from __future__ import annotations

import collections
import functools
import gc
import threading

#: Sizes are rounded up to so many leading bits: at most 1/16 of a buffer is not used.
SIZE_BITS = 5
#: No buffer is smaller.
LEAST_BYTES = 256


class _Loan:
    """An attribute of a buffer that was handed out: it goes with the buffer, and says so."""

    __slots__ = ("holds", "memory", "returned", "size")

    def __init__(self, size, memory, returned):
        self.size, self.memory, self.returned, self.holds = size, memory, returned, ()

    def __del__(self):  # any thread, at any time, also within the garbage collector: nothing is done here
        self.returned((self.size, self.memory, self.holds))


class Pool:
    """Buffers of one context. All methods may be called from several threads at once.

    Parameters
    ----------
    context : pyopencl.Context
    queue : pyopencl.CommandQueue
        The queue whose order the rule is about: in order, of this context.
    """

    def __init__(self, context, queue):
        import pyopencl as cl

        self._queue, self._lock = queue, threading.RLock()
        self._new = functools.partial(cl.Buffer, context, cl.mem_flags.READ_WRITE)
        self._reference_to, self._no_memory = cl.Buffer.from_int_ptr, cl.MemoryError
        self._free: dict[int, list] = {}
        self._returned: collections.deque = collections.deque()
        self._held: list = []
        self._loans = 0

    def allocate(self, nbytes: int, limit: int | None = None):
        """A buffer of at least so many bytes, not more than `limit`; ``pyopencl.MemoryError`` if there is no memory."""
        size = rounded_up(nbytes)
        if limit is not None and size > limit >= nbytes:
            size = max(nbytes, 1)
        try:
            return self._handed_out(size)
        except self._no_memory:
            gc.collect()  # what only circles of references keep
            self.free_held()
            return self._handed_out(size)

    def _handed_out(self, size):
        with self._lock:
            if self._returned or self._held:
                self._take_back()
            free = self._free.get(size)
            memory = free.pop() if free else self._new(size)
            buffer = self._reference_to(memory.int_ptr, True)  # a new object for the same memory
            buffer.clgeom_loan = _Loan(size, memory, self._returned.append)
            self._loans += 1
            return buffer

    def hold(self, buffer, *until) -> None:
        """Keep the memory of a buffer, when it returns, until events have ended or queues have done what they had to.

        Parameters
        ----------
        buffer : pyopencl.Buffer
            One that `allocate` has handed out; others do not return, so nothing happens to them.
        *until : pyopencl.Event or pyopencl.CommandQueue
        """
        loan = getattr(buffer, "clgeom_loan", None)
        if loan is not None:
            loan.holds += tuple(one for one in until if one != self._queue)

    def _take_back(self):
        """Sort what has returned into what is free and what is held. The lock is held."""
        while self._returned:
            size, memory, holds = self._returned.popleft()
            self._loans -= 1
            if holds:
                self._held.append((size, memory, _events(holds)))
            else:
                self._free.setdefault(size, []).append(memory)
        if self._held:
            held, self._held = self._held, []
            for size, memory, events in held:
                ended = _all_ended(events)
                if ended:
                    self._free.setdefault(size, []).append(memory)
                elif ended is False:
                    self._held.append((size, memory, events))
                # else something went wrong: the driver, which keeps memory in use, gets it back

    def free_held(self) -> None:
        """Give memory that nobody uses back to the driver."""
        with self._lock:
            self._take_back()
            held, self._held = self._held, []
            free, self._free = self._free, {}
        del held, free  # drivers keep memory that commands still use until those have ended

    @property
    def active_blocks(self) -> int:
        """Buffers that somebody has a reference to."""
        with self._lock:
            self._take_back()
            return self._loans

    @property
    def held_blocks(self) -> int:
        """Buffers that are kept for the next call."""
        with self._lock:
            self._take_back()
            return sum(map(len, self._free.values())) + len(self._held)


def part_of(buffer, origin: int, nbytes: int):
    """A region of a buffer as a buffer that keeps the whole from returning to its pool."""
    part = buffer.get_sub_region(origin, nbytes)
    part.clgeom_whole = buffer
    return part


def rounded_up(nbytes: int) -> int:
    """The size of the buffer for so many bytes."""
    if nbytes <= LEAST_BYTES:
        return LEAST_BYTES
    step = 1 << (nbytes - 1).bit_length() - SIZE_BITS
    return -(-nbytes // step) * step


def _events(holds):
    """Events after which nothing of `holds` uses the memory any more; None when that cannot be known."""
    import pyopencl as cl

    events = []
    try:
        for one in holds:
            if isinstance(one, cl.CommandQueue):
                events.append(cl.enqueue_marker(one))
                one.flush()  # or it might never end
            else:
                events.append(one)
    except cl.Error:
        return None
    return events


def _all_ended(events):
    """Whether all events have ended; None when one has failed."""
    import pyopencl as cl

    if events is None:
        return None
    try:
        states = [event.command_execution_status for event in events]
    except cl.Error:
        return None
    if min(states) < 0:
        return None
    return max(states) == cl.command_execution_status.COMPLETE
