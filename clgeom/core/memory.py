"""A pool of device buffers by size, and the rule for reusing them.

A buffer returns to the pool when the last reference to it goes, in whatever thread that is. It may be handed out again
at once, even if commands of the session's queue still use it: that queue is in order, so the commands of the next user
run after them. Other queues are not part of that order, hence the rule:

    Code that uses a buffer of the pool on a queue other than the session's
    1. begins there after the commands that the session's queue had when the buffer was handed out, and
    2. ends before the buffer returns, or tells the pool what must end first (`Pool.hold`).

Profiled runs take all their memory, wait for the session's queue, and at their end for their own queue (`launch.run`).
Copies on another queue wait for a marker of the session's queue, and hold the buffer (`launch.copy_in`).
An array for the caller is complete when the caller gets it, or its queue and its events wait for our commands. The
caller's queue holds its buffer: the commands that this queue has when the last reference goes must end first
(`device_arrays.as_array`). The pool does not wait for held memory, but hands out other memory. An array that its owner
reads on yet another queue must stay referenced until that queue is done, as everywhere in pyopencl.

Kept plans hold scratch memory between their runs (`clgeom.core.kept`). The pool has handed it out, but counts it as
held.

Creating a buffer enqueues no command, so a driver may report missing memory only at the first use. The functions of
`launch` then release all unused memory and try again, before they raise `DeviceLimit`.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from typing import Protocol

    import pyopencl as cl

    class Idle(Protocol):
        """Unused memory that others keep: so many buffers count as held by the pool, and `clear` gives them back."""

        @property
        def buffers(self) -> int: ...
        def clear(self) -> None: ...


#: Leading bits to which sizes are rounded up: at most 1/16 of a buffer is unused.
SIZE_BITS = 5
#: Least size of a buffer.
LEAST_BYTES = 256
#: A byte that fills poisoned memory: a large index, and a float that nobody computes.
POISON = 0xA5
#: Memory is held until these events, or the commands then in these queues, have ended.
Until: TypeAlias = "tuple[cl.Event | cl.CommandQueue, ...]"


class Loan(weakref.ref[Any]):
    """Memory in use: when its holder goes, ``Loan(holder, deque.append)`` appends itself to a deque.

    The holder may go in any thread, at any time, also within the garbage collector. No Python code runs then, in which
    Ctrl-C would raise a KeyboardInterrupt that nobody sees. The owner of the memory keeps the loan, which does not come
    back otherwise. Events, and the commands in queues, in `until` must end before the memory is used again.
    """

    __slots__ = ("memory", "until")
    memory: Any
    until: Until


class _Holder:
    """An attribute of a buffer, which goes with it. (Buffers themselves may have no weak references.)"""

    __slots__ = ("__weakref__", "loan")
    loan: Loan


class Pool:
    """Buffers of one context. All methods may be called from several threads at once.

    Memory is taken from deques and given back to them, which is atomic: no lock is taken for what is there. `queue` is
    the one whose order the rule is about: in order, of this context.
    """

    def __init__(self, context: cl.Context, queue: cl.CommandQueue) -> None:
        import pyopencl as cl

        self._queue, self._lock = queue, threading.RLock()
        self._new = functools.partial(cl.Buffer, context, cl.mem_flags.READ_WRITE)
        self._from_pointer: Callable[[int, bool], Any] = cl.Buffer.from_int_ptr
        self._no_memory = cl.MemoryError
        self._fill = cl.enqueue_fill_buffer
        self._free: dict[int, collections.deque[Loan]] = {}  # loans that came back, by size
        self._loans: set[Loan] = set()  # all, out and back: the memory that the driver gave
        self._returned: collections.deque[Loan] = collections.deque()  # loans of held memory that came back
        self._held: list[tuple[Loan, list[cl.Event] | None]] = []  # the same, with the events that must end first
        self._idle: weakref.WeakSet[Idle] = weakref.WeakSet()  # memory of kept plans between their runs
        #: Whether what is handed out is filled, see `poisoned`.
        self.is_poisoned = False

    def allocate(self, nbytes: int, limit: int | None = None) -> cl.Buffer:
        """Return a buffer of so many bytes or more, up to `limit`; raise ``pyopencl.MemoryError`` without memory."""
        size = rounded_up(nbytes)
        if limit is not None and size > limit >= nbytes:
            size = max(nbytes, 1)
        if self._returned or self._held:
            self._take_back()
        free = self._free.get(size)
        if free is None:
            free = self._free.setdefault(size, collections.deque())
        try:
            loan = free.pop()
        except IndexError:
            memory = self._new_memory(size)
        else:
            memory = loan.memory
            self._loans.discard(loan)
        buffer = self.reference_to(memory)
        holder = _Holder()
        buffer.clgeom_holder = holder  # type: ignore[attr-defined]  # an attribute of our own
        self._lend(holder, free, memory)
        if self.is_poisoned:
            self._fill(self._queue, buffer, np.full(1, POISON, np.uint8), 0, buffer.size)
        return buffer

    def reference_to(self, memory: cl.Buffer) -> cl.Buffer:
        """Return a new object for the memory of a buffer."""
        buffer: cl.Buffer = self._from_pointer(memory.int_ptr, True)
        return buffer

    @contextlib.contextmanager
    def poisoned(self) -> Iterator[None]:
        """Fill all memory that is handed out within, so that a kernel shows that leaves its output unwritten."""
        before, self.is_poisoned = self.is_poisoned, True
        try:
            yield
        finally:
            self.is_poisoned = before

    def _lend(self, holder: _Holder, to: collections.deque[Loan], memory: cl.Buffer, until: Until = ()) -> None:
        loan = holder.loan = Loan(holder, to.append)
        loan.memory, loan.until = memory, until
        self._loans.add(loan)

    def _new_memory(self, size: int) -> cl.Buffer:
        try:
            return self._new(size)
        except self._no_memory:
            gc.collect()  # memory that only reference cycles keep
            self.free_held()
            return self._new(size)

    def hold(self, buffer: cl.Buffer, *until: cl.Event | cl.CommandQueue) -> None:
        """Keep the memory of a buffer of `allocate`, when it returns, until events or queues have ended."""
        lease = getattr(buffer, "clgeom_lease", None)
        if lease is not None:  # of a plan that keeps its memory, which must not run with it before
            for one in lease.give_up():
                self.hold(one, *until)
            return
        holder = getattr(buffer, "clgeom_holder", None)
        until = tuple(one for one in until if one != self._queue)
        if holder is None or not until:
            return
        loan = holder.loan
        self._loans.discard(loan)
        self._lend(holder, self._returned, loan.memory, (*loan.until, *(one for one in until if one not in loan.until)))

    def _take_back(self) -> None:
        """Free memory whose events have ended."""
        with self._lock:
            while self._returned:
                loan = self._returned.popleft()
                self._held.append((loan, _events(loan.until)))
            held, self._held = self._held, []
            for loan, events in held:
                ended = _all_ended(events)
                if ended:
                    self._free[loan.memory.size].append(loan)
                elif ended is False:
                    self._held.append((loan, events))
                else:  # after a failure: release it to the driver, which keeps memory that is in use
                    self._loans.discard(loan)

    def count_idle(self, idle: Idle) -> None:
        """Count unused memory that others keep as held, as long as it is referenced elsewhere."""
        with self._lock:
            self._idle.add(idle)

    def free_held(self) -> None:
        """Release unused memory to the driver, which keeps memory that commands still use until they end."""
        with self._lock:
            for idle in self._idle:
                idle.clear()
            self._take_back()
            self._held.clear()
            for free in self._free.values():
                free.clear()
            # those that came back, and those that an interrupted `allocate` has lost
            self._loans.difference_update([loan for loan in tuple(self._loans) if loan() is None])

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers that the driver gave and has not got back."""
        return sum(loan.memory.size for loan in tuple(self._loans))

    @property
    def active_blocks(self) -> int:
        """Number of buffers in use."""
        with self._lock:
            idle = sum(one.buffers for one in self._idle)  # first, since it drops sets that are out of use
            return sum(loan() is not None for loan in tuple(self._loans)) - idle

    @property
    def held_blocks(self) -> int:
        """Number of buffers that are kept for the next call."""
        with self._lock:
            self._take_back()
            idle = sum(one.buffers for one in self._idle)
            return sum(map(len, self._free.values())) + len(self._held) + idle


def part_of(buffer: cl.Buffer, origin: int, nbytes: int) -> cl.Buffer:
    """Return a region of a buffer as a buffer that keeps the whole from returning to its pool."""
    part: cl.Buffer = buffer.get_sub_region(origin, nbytes)
    part.clgeom_whole = buffer  # type: ignore[attr-defined]  # an attribute of our own
    return part


def rounded_up(nbytes: int) -> int:
    """Return the size of the buffer for so many bytes."""
    if nbytes <= LEAST_BYTES:
        return LEAST_BYTES
    step = 1 << (nbytes - 1).bit_length() - SIZE_BITS
    return -(-nbytes // step) * step


def _events(holds: Until) -> list[cl.Event] | None:
    """Events after which nothing in `holds` uses the memory any more; None when that is unknown."""
    import pyopencl as cl

    events = []
    try:
        for one in holds:
            if isinstance(one, cl.CommandQueue):
                events.append(cl.enqueue_marker(one))
                one.flush()  # else it might never end
            else:
                events.append(one)
    except cl.Error:
        return None
    return events


def _all_ended(events: list[cl.Event] | None) -> bool | None:
    """Return whether all events have ended; None when one has failed."""
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


def trim_heap() -> None:
    """Return free memory of the C library's heap to the system.

    A driver's compiler takes 1.6 to 2.3 MB of it for each program of an equation. When it frees them, glibc keeps them.
    """
    import ctypes

    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
