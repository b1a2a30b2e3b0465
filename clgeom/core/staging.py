"""Copies of large arrays between the host and a device, through page-locked memory that several threads fill.

A device takes page-locked memory as fast as the link allows. Of other memory the driver copies a part at a time to
page-locked memory of its own, with one thread. Here several threads do that, while the link is busy with other parts::

    thread 0    | fill slot 0 | fill slot 3 |
    thread 1      | fill slot 1 | fill slot 4 |
    thread 2        | fill slot 2 | fill slot 5 |
    link                      | 0 | 1 | 2   | 3 | 4 | 5 |

A slot is filled again after its own copy has ended. Copies to the host go the same way back. The slots and the threads
are the session's: they are made for the first copies that gain by them and kept. All threads of the caller share them.

Whether a copy gains is decided by `threads_for` from the speeds of the link, which are measured once for each direction
with the caller's own array.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.call import as_loading
from clgeom.core.failures import failure, failures
from clgeom.errors import ClgeomError

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session

#: Most bytes of a slot, and least bytes of a part. A part of 4 MiB takes 80 us of a link of 55 GB/s, and about 30 us of
#: the interpreter, which one thread at a time has.
SLOT_BYTES = 1 << 22
LEAST_PART = 1 << 18
#: Most threads, and how many more slots there are. H200, 32 cores, a mapped file: 36.9 GB/s by 8, 30.9 by 12; chunks in
#: ordinary memory: 18.5 and 16.4.
MOST_THREADS = 8
SPARE_SLOTS = 4
#: Arrays below this size are always copied plainly.
LEAST_BYTES = 1 << 23
#: Bytes that a session copies plainly before it locks memory for slots, which takes as long as such copies do.
FIRST_BYTES = 1 << 26
#: Seconds that each thread more adds, which the interpreter starts and stops one by one (H200: 0.15 to 0.3 ms).
THREAD_SECONDS = 250e-6
#: A wait is as long at most: Python misses an interrupt at the moment at which a thread begins to wait.
LISTEN_SECONDS = 0.05
#: The speed of each of several threads that copy at a time, of what one alone reaches.
SHARED_SPEED = 0.7
#: How many times as fast a staged copy must be expected to be.
LEAST_GAIN = 1.2


@dataclass(frozen=True)
class Link:
    """Measured speeds of copies in one direction, in bytes per second.

    `plain`: between ordinary memory and the device, by the driver. `locked`: between page-locked memory and the device.
    `fill`: between ordinary and page-locked memory, by one thread.
    """

    plain: float
    locked: float
    fill: float

    def staged(self, nbytes: int, threads: int) -> float:
        """Expected seconds of a staged copy by so many threads."""
        filling = self.fill * (threads * SHARED_SPEED if threads > 1 else 1)
        first = part_bytes(nbytes, threads) / self.fill  # nothing else is done meanwhile
        return threads * THREAD_SECONDS + first + nbytes / min(self.locked, filling)


def part_bytes(nbytes: int, threads: int) -> int:
    """Return the bytes of a part: each thread has two or more."""
    return min(SLOT_BYTES, max(LEAST_PART, -(-nbytes // (2 * threads))))


def threads_for(nbytes: int, link: Link, most: int, *, ahead: bool = False) -> int:
    """Return how many threads, up to `most`, a staged copy takes; 0 where a plain copy is about as fast.

    `ahead`: other copies follow, and begin before this one ends. Then it only matters that the link is always busy.
    """
    if ahead:
        threads = min(most, math.ceil(nbytes / SLOT_BYTES), math.ceil(link.locked / (link.fill * SHARED_SPEED)) + 1)
        filled = link.fill * threads * SHARED_SPEED
        return threads if LEAST_GAIN * link.plain < min(filled, link.locked) else 0
    threads = min(range(1, most + 1), key=functools.partial(link.staged, nbytes))
    return threads if LEAST_GAIN * link.staged(nbytes, threads) < nbytes / link.plain else 0


@dataclass(frozen=True)
class HostCopy:
    """One copy of the bytes of an array, `host`, to a buffer ("in") or from it ("out").

    ``start(memory, at)`` starts a copy between memory of the host and the buffer from its byte `at` on, and returns its
    event. ``read(memory, begin)`` fills memory with the bytes from `begin` on, where that is quicker than from the
    array: those of a mapped file. `ahead` is as for `threads_for`.
    """

    name: str
    host: np.ndarray
    start: Callable[[np.ndarray, int], cl.Event]
    read: Callable[[np.ndarray, int], object] | None = None
    ahead: bool = False

    def fill(self, slot: np.ndarray, begin: int, end: int) -> None:
        """Copy bytes from the array to the slot, or back."""
        if self.read is not None:
            self.read(slot[: end - begin], begin)
            return
        part = self.host[begin:end], slot[: end - begin]
        np.copyto(*(reversed(part) if self.name == "in" else part))


class _Slot:
    """Page-locked memory, and the event of the last copy that used it."""

    def __init__(self, memory: np.ndarray) -> None:
        self.memory = memory
        self.used: cl.Event | None = None


class Stage:
    """The slots and threads of a session, and what is known of its link."""

    def __init__(self, session: Session) -> None:
        self.session, self.lock = session, threading.Lock()
        self.links: dict[str, Link] = {}
        self.copied = 0

    @functools.cached_property
    def most_threads(self) -> int:
        present = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(MOST_THREADS, present)

    @functools.cached_property
    def slots(self) -> queue.SimpleQueue[_Slot]:
        """The slots that no thread has, the one free for longest first."""
        count = self.most_threads + SPARE_SLOTS
        free: queue.SimpleQueue[_Slot] = queue.SimpleQueue()
        for memory in map_pinned(self.session, (count, SLOT_BYTES), np.dtype(np.uint8)):
            free.put(_Slot(memory))
        return free

    @functools.cached_property
    def workers(self) -> futures.ThreadPoolExecutor:
        return futures.ThreadPoolExecutor(self.most_threads, thread_name_prefix="clgeom-copy")

    @contextlib.contextmanager
    def slot(self) -> Iterator[_Slot]:
        """Yield a slot whose memory may be changed, to one of the session's threads, which no interrupt meets."""
        import pyopencl as cl

        slot = self.slots.get()
        try:
            if slot.used is not None:
                with contextlib.suppress(cl.Error):  # raised by the `Transfer` that the event belongs to
                    slot.used.wait()
                slot.used = None
            yield slot
        finally:
            self.slots.put(slot)

    def threads(self, copy: HostCopy) -> int:
        """Return how many threads are to copy; 0 for a plain copy."""
        nbytes = copy.host.nbytes
        if nbytes < LEAST_BYTES:
            return 0
        with self.lock:
            self.copied += nbytes
            if self.copied < FIRST_BYTES:
                return 0
            if copy.name not in self.links:
                with as_loading():
                    work = self.workers.submit(self._measured, copy)
                    try:
                        self.links[copy.name] = work.result()
                    finally:
                        futures.wait([work])
        return threads_for(nbytes, self.links[copy.name], self.most_threads, ahead=copy.ahead)

    def _measured(self, copy: HostCopy) -> Link:
        """Return the speeds of a link, from parts of an array. The later copy of the whole array makes up for all."""
        nbytes = copy.host.nbytes
        size = min(SLOT_BYTES, nbytes // 4)

        def rate(work: Callable[[int], object], at: int) -> float:
            begin = time.perf_counter()
            work(at)
            return size / max(time.perf_counter() - begin, 1e-9)

        # each part of the array once, for a second copy finds it in the cache
        with failures(self.session.device, "measure its link"), self.slot() as slot:
            memory = slot.memory[:size]
            copy.start(memory, 0).wait()  # the driver's own preparations
            locked = max(rate(lambda at: copy.start(memory, at).wait(), 0) for _ in range(3))
            plain = max(rate(lambda at: copy.start(copy.host[at : at + size], at).wait(), at) for at in (0, size))
            ends = nbytes - 2 * size, nbytes - size
            fill = max(rate(lambda at: copy.fill(memory, at, at + size), at) for at in ends)
        return Link(plain, locked, fill)


class Transfer:
    """A staged copy that has begun. It ends by `wait` or `stop`."""

    def __init__(self, stage: Stage, copy: HostCopy, threads: int) -> None:
        nbytes = copy.host.nbytes
        self.stage, self.copy = stage, copy
        self.events: list[cl.Event] = []
        self.starting = threading.Lock()  # see "first_use" in clgeom.quirks
        self.part = SLOT_BYTES if copy.ahead else part_bytes(nbytes, threads)
        self.left = collections.deque(range(0, nbytes, self.part))
        self.work: list[futures.Future[None]] = []
        try:
            for _ in range(threads):
                self.work.append(stage.workers.submit(self._work))
        except BaseException:
            self.stop()
            raise

    def _work(self) -> None:
        """Copy parts until none is left."""
        try:
            while True:
                try:
                    begin = self.left.popleft()
                except IndexError:
                    return
                end = min(begin + self.part, self.copy.host.nbytes)
                with self.stage.slot() as slot:
                    (self._copy_in if self.copy.name == "in" else self._copy_out)(slot, begin, end)
        except BaseException:
            self.left.clear()
            raise

    def _copy_in(self, slot: _Slot, begin: int, end: int) -> None:
        self.copy.fill(slot.memory, begin, end)
        self._start(slot, begin, end)

    def _copy_out(self, slot: _Slot, begin: int, end: int) -> None:
        copied = self._start(slot, begin, end)
        with failures(self.stage.session.device, "end a copy"):
            copied.wait()
        self.copy.fill(slot.memory, begin, end)

    def _start(self, slot: _Slot, begin: int, end: int) -> cl.Event:
        with self.starting:
            slot.used = copied = self.copy.start(slot.memory[: end - begin], begin)
        self.events.append(copied)
        return copied

    def wait(self) -> None:
        """Wait for the end of the copy. After an error nothing of it goes on."""
        import pyopencl as cl

        try:
            while futures.wait(self.work, timeout=LISTEN_SECONDS).not_done:
                pass
            for k in range(len(self.work)):  # without a name, by which an error's frame would hold its own future
                self.work[k].result()
            with failures(self.stage.session.device, "end a copy"):
                cl.wait_for_events(self.events)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Begin no further part, and wait for those that have begun."""
        import pyopencl as cl

        self.left.clear()
        work, self.work = self.work, []  # an error's frames hold this transfer
        futures.wait([one for one in work if not one.cancel()])
        for event in self.events:
            with contextlib.suppress(cl.Error):
                event.wait()


def copy_in(
    session: Session,
    start: Callable[..., cl.Event],
    buffer: cl.Buffer,
    values: np.ndarray,
    *,
    read: Callable[[np.ndarray, int], object] | None = None,
    ahead: bool = False,
) -> Transfer | None:
    """Begin a staged copy of a contiguous array to a buffer; None where the caller is to copy it plainly.

    `start` starts a copy as ``pyopencl.enqueue_copy`` does but for the queue, and returns its event. `read` and `ahead`
    are those of `HostCopy`.
    """
    options = {"read": read, "ahead": ahead}
    return _begin(session, buffer, values, "in", lambda memory, at: start(buffer, memory, dst_offset=at), **options)


def copy_out(
    session: Session, start: Callable[..., cl.Event], buffer: cl.Buffer, origin: int, out: np.ndarray
) -> Transfer | None:
    """Begin a staged copy of a buffer, from byte `origin` on, to a contiguous array; None as for `copy_in`."""
    return _begin(session, buffer, out, "out", lambda memory, at: start(memory, buffer, src_offset=origin + at))


def _begin(
    session: Session,
    buffer: cl.Buffer,
    array: np.ndarray,
    name: str,
    start: Callable[[np.ndarray, int], cl.Event],
    **options: Any,
) -> Transfer | None:
    if array.nbytes < LEAST_BYTES or session.profile.is_cpu or is_locked(array):
        return None
    import pyopencl as cl

    if not isinstance(buffer, cl.MemoryObjectHolder):  # shared virtual memory
        return None
    stage = session.cached(("stage",), functools.partial(Stage, session))
    copy = HostCopy(name, array.reshape(-1).view(np.uint8), start, **options)
    try:
        threads = stage.threads(copy)
        return Transfer(stage, copy, threads) if threads else None
    except (ClgeomError, RuntimeError):  # no memory to lock, or no threads as the interpreter ends: copied plainly
        return None


def map_pinned(session: Session, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return a new array in page-locked memory."""
    import pyopencl as cl

    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if not nbytes:  # which no driver maps
        return np.empty(shape, dtype)
    try:
        memory = cl.Buffer(session.context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, nbytes)
        flags: Any = cl.map_flags.READ | cl.map_flags.WRITE  # a number, which pyopencl's types do not know
        mapped: np.ndarray
        mapped, _ = cl.enqueue_map_buffer(session.queue, memory, flags, 0, shape, dtype, is_blocking=True)
    except cl.Error as error:
        raise failure(session.device, f"lock {nbytes:,} bytes of the host's memory", error) from error
    return mapped


def is_locked(array: np.ndarray) -> bool:
    """Return whether an array is in memory that `map_pinned` has locked."""
    import pyopencl as cl

    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, cl.MemoryMap)
