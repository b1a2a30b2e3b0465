"""Several devices of one host for one call: pieces of its work, which each device takes as it becomes free.

    pieces     | a | b |    c    |      d      |    e    | f | g |..     one queue, from the first item to the last
    device 0     a       c                       e          f            a thread for each device
    device 1         b               d                          g

A device's first piece is small and tells its speed, unless calls of the same kind have told it. Each next one is a part
of what is left that is in proportion to the device's share of all speeds, so all end at about the same time, whatever
their kinds. A piece is worth half a second at most: then errors and interrupts of one stop all soon. A piece that a
device has no memory for is cut in half and goes back to the queue.

Devices do not see each other's memory. What one needs of another goes through the host, where the copies of large
arrays take page-locked memory (`clgeom.core.staging`); OpenCL has no copies between devices of different contexts.
"""

from __future__ import annotations

import contextvars
import functools
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clgeom.core import trust
from clgeom.core.call import Watch, watched
from clgeom.core.device import Session, all_devices, as_session, why_none
from clgeom.core.launch import flush, settle
from clgeom.core.profile import describe
from clgeom.errors import DeviceLimit, InvalidInput, NoDevice, short
from clgeom.intake.arrays import session_of
from clgeom.intake.device_arrays import is_device_array

if TYPE_CHECKING:
    from clgeom.intake.typing import DevicesLike

T = TypeVar("T")
Item = TypeVar("Item")

#: Share of all work that is a device's first piece, and of a device's part of what is left that is its next.
FIRST, NEXT = 1 / 64, 1 / 2
#: Seconds of work of a piece, at most and at least: shorter ones would be launches more than work.
PIECE_SECONDS, LEAST_SECONDS = 0.5, 0.02
#: A wait of the caller's thread is as long at most, so that a KeyboardInterrupt ends it on every system.
LISTEN_SECONDS = 0.05


# Which devices --------------------------------------------------------------------------------------------------------


def as_sessions(value: Any, device: DevicesLike, *, caller: str) -> tuple[Session, ...]:
    """Return the sessions for a call: several for ``device="all"`` or a list of devices, else the one of `session_of`.

    "all" are all GPUs and accelerators, and the CPUs of one platform: two platforms show one CPU twice. The first
    session has float64 if any has.
    """
    if not (isinstance(device, (list, tuple)) or (isinstance(device, str) and device.lower() == "all")):
        return (session_of(value, device),)
    if is_device_array(value):
        raise InvalidInput(
            f"The 'device' parameter of {caller} must be left out for an array that is on a device. Got "
            f"{short(device)} instead."
        )
    if isinstance(device, str):
        return _float64_first(all_sessions())
    if not device:
        raise InvalidInput(f"The 'device' parameter of {caller} must name a device or several. Got an empty list.")
    for one in device:
        if isinstance(one, (list, tuple)) or (isinstance(one, str) and one.lower() == "all"):
            raise InvalidInput(
                f"The 'device' parameter of {caller} must be 'all', or a list of single devices. Got {short(one)} in a "
                f"list."
            )
    return _float64_first(dict.fromkeys(as_session(one) for one in device))


def _float64_first(sessions: Iterable[Session]) -> tuple[Session, ...]:
    return tuple(sorted(sessions, key=lambda session: not session.profile.fp64))


def all_sessions() -> tuple[Session, ...]:
    """Return a session for each device that "all" stands for."""
    chosen, cpus = [], None
    for device in all_devices():
        profile = describe(device)
        if trust.is_refused(profile) or (profile.is_cpu and profile.platform != (cpus or profile.platform)):
            continue
        if profile.is_cpu:
            cpus = profile.platform
        chosen.append(as_session(device))
    if not chosen:
        raise NoDevice(why_none())
    return tuple(chosen)


def are_parts(values: Any) -> bool:
    """Return whether these are arrays on devices, each a part of the input of a call."""
    return isinstance(values, (list, tuple)) and len(values) > 0 and all(map(is_device_array, values))


# Work -----------------------------------------------------------------------------------------------------------------


def spread(
    sessions: Sequence[Session],
    n: int,
    work: Callable[[Session, int, int], T],
    *,
    kind: str | None = None,
    least: int = 1,
    costs: Any = None,
    tell: Watch | None = None,
) -> list[T]:
    """Return results of ``work(session, start, stop)`` for pieces of ``range(n)``, in the order of the pieces.

    A thread of each session calls `work`; results must not depend on how the items are cut. Pieces have `least` items
    or more. `costs` are the sums of the costs of the items, ascending from 0, shape (n + 1,); by default an item costs
    1. `kind` names work of about the same speed in every call: the first pieces follow the speeds of the last one. The
    caller's thread calls ``tell(items_done, n)`` now and then, and at the end.

    Raises the error of the first items, once the pieces that others work on have ended; `DeviceLimit` if no device has
    memory for the fewest items.
    """
    key = "speeds", kind, tuple(map(weakref.ref, sessions))
    rates = {} if kind is None else sessions[0].cached(key, weakref.WeakKeyDictionary, most=256)
    queue = _WorkQueue(sessions, n, least, None if costs is None else np.asarray(costs, np.float64), rates)
    jobs = {session: [lambda session=session: queue.serve(session, work)] for session in sessions}
    _run(jobs, queue.stop, lambda: queue.done, n, tell)
    return queue.finished()


def by_first_able(sessions: Sequence[Session], work: Callable[[Session], T]) -> T:
    """Return the result of ``work(session)`` of the first session that is not too small for it."""
    for session in sessions[:-1]:
        try:
            return work(session)
        except DeviceLimit:
            session.pool.free_held()
    return work(sessions[-1])


def side_by_side(
    tasks: Sequence[tuple[Session, Item]],
    work: Callable[[Session, Item], T],
    *,
    sizes: Sequence[int] | None = None,
    tell: Watch | None = None,
) -> list[T]:
    """Return results of ``work(session, item)`` for (session, item) pairs, in their order; sessions work side by side.

    `tell` is called as by `spread`, with the sum of the `sizes` of the items that are done; by default an item has 1.
    """
    stopped, results, done = threading.Event(), dict[int, T](), list[int]()
    jobs: dict[Session, list[Callable[[], None]]] = {}
    sizes = sizes or [1] * len(tasks)

    def job(k: int, session: Session, item: Item) -> None:
        if not stopped.is_set():
            results[k] = work(session, item)
            done.append(sizes[k])

    for k, (session, item) in enumerate(tasks):
        jobs.setdefault(session, []).append(functools.partial(job, k, session, item))
    _run(jobs, stopped.set, lambda: sum(done), sum(sizes), tell)
    return [results[k] for k in range(len(tasks))]


def in_turn(
    tasks: Sequence[tuple[Session, Item]],
    begin: Callable[[Session, Item], Callable[[], T]],
    *,
    sizes: Sequence[int] | None = None,
    tell: Watch | None = None,
    waits: bool = False,
) -> list[T]:
    """`side_by_side` for work that the host only enqueues and waits for: results of ``begin(session, item)()``.

    The caller's thread begins an item on each device before it waits for the first: threads would take turns in the
    interpreter. Each device has its thread where `begin` itself waits: if `waits`, or for a CPU, since its calls may do
    all of the work.
    """
    if waits or any(session.profile.is_cpu for session, _ in tasks):
        return side_by_side(tasks, lambda session, item: begin(session, item)(), sizes=sizes, tell=tell)
    queues: dict[Session, list[int]] = {}
    for k, (session, _) in enumerate(tasks):
        queues.setdefault(session, []).append(k)
    results, sizes, done = dict[int, T](), sizes or [1] * len(tasks), 0
    try:
        for turn in itertools.zip_longest(*queues.values()):
            begun = []
            for k in turn:
                if k is not None:
                    session, item = tasks[k]
                    begun.append((k, begin(session, item)))
                    flush(session)
            for k, finish in begun:
                results[k] = finish()
                done += sizes[k]
                if tell is not None:
                    tell(done, sum(sizes))
    except BaseException:
        for session in queues:
            settle(session.queue)
        raise
    return [results[k] for k in range(len(tasks))]


def _run(
    jobs: Mapping[Session, Sequence[Callable[[], None]]],
    stop: Callable[[], None],
    done: Callable[[], int],
    n: int,
    tell: Watch | None,
) -> None:
    """Run the jobs of each session in the thread of the session; an error, or an interrupt of the caller, stops all.

    ``done()`` is how many of `n` items are done, which `tell` gets.
    """

    def serve(own: Sequence[Callable[[], None]]) -> None:
        with watched(None):  # progress is told by the thread of the caller alone
            for job in own:
                job()

    started: list[Future[None]] = []
    try:
        for session, own in jobs.items():
            worker = session.cached(("worker",), lambda: ThreadPoolExecutor(1, "clgeom-device"))
            started.append(worker.submit(contextvars.copy_context().run, serve, own))
        left, told = set(started), 0
        while left:
            ended, left = wait(left, LISTEN_SECONDS, FIRST_COMPLETED)
            if any(one.exception() for one in ended):
                stop()
            if tell is not None and done() > told:
                told = done()
                tell(told, n)
    finally:
        stop()
        for one in started:
            one.cancel()
        wait(started)
    for one in started:
        one.result()


class _WorkQueue:
    """Work queue with per-device throughput."""

    def __init__(
        self,
        sessions: Sequence[Session],
        n: int,
        least: int,
        costs: np.ndarray | None,
        rates: MutableMapping[Session, tuple[float, float]],
    ) -> None:
        self.least, self.costs, self.stopped = max(least, 1), costs, False
        self.total = float(n) if costs is None else float(costs[-1] - costs[0])
        self.left = [(0, n)] if n else []  # ranges, the first one first
        self.rates = rates  # by session: cost and seconds of its pieces, each counting half as much as the next
        self.speeds: dict[Session, float | None] = {
            one: rates[one][0] / rates[one][1] if one in rates else None for one in sessions
        }
        self.most: dict[Session, int] = {}  # most items of a piece, for devices that had no memory for more
        self.working = self.done = 0
        self.results: dict[int, Any] = {}
        self.errors: dict[int, BaseException] = {}
        self.changed = threading.Condition()

    def stop(self) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()

    def serve(self, session: Session, work: Callable[[Session, int, int], Any]) -> None:
        """Work on pieces until none are left."""
        while (piece := self._take(session)) is not None:
            begin, result, error = time.perf_counter(), None, None
            try:
                result = call_work(work, session, *piece)
            except BaseException as raised:
                error = raised
            try:
                if not self._settle(session, piece, time.perf_counter() - begin, result, error):
                    return
            finally:
                error = None  # no circle of the error, its traceback and this frame

    def finished(self) -> list[Any]:
        """Return the results, once all threads have ended; or the error of the first items."""
        if self.errors:
            raise self.errors[min(self.errors)]
        return [self.results[start] for start in sorted(self.results)]

    def _take(self, session: Session) -> tuple[int, int] | None:
        """Return the next piece for a device; None where nothing is left or can come back."""
        with self.changed:
            while not self.left and self.working and not self.stopped:
                self.changed.wait(LISTEN_SECONDS)
            if self.stopped or not self.left:
                return None
            start, end = self.left[0]
            stop = self._end(session, start, end)
            self.left[:1] = [(stop, end)] if stop < end else []
            self.working += 1
            return start, stop

    def _end(self, session: Session, start: int, end: int) -> int:
        """Return where a device's piece that begins at an item ends."""
        known = [speed for speed in self.speeds.values() if speed]
        own = self.speeds[session]
        if own is None:
            wanted = self.total * FIRST
        else:
            all_speeds = sum(known) * len(self.speeds) / len(known)
            wanted = min(sum(map(self._cost, self.left)) * own / all_speeds * NEXT, own * PIECE_SECONDS)
            wanted = max(wanted, own * LEAST_SECONDS)
        if self.costs is None:
            stop = start + int(wanted)
        else:
            stop = int(np.searchsorted(self.costs, self.costs[start] + wanted, side="right")) - 1
        stop = max(stop, start + self.least)
        stop = min(stop, start + self.most.get(session, stop), end)
        return end if end - stop < self.least and session not in self.most else stop

    def _cost(self, piece: tuple[int, int]) -> float:
        start, stop = piece
        return stop - start if self.costs is None else self.costs[stop] - self.costs[start]

    def _settle(
        self, session: Session, piece: tuple[int, int], seconds: float, result: Any, error: BaseException | None
    ) -> bool:
        """Take the result of a piece, or its error; return whether the device is to go on."""
        start, stop = piece
        with self.changed:
            self.working -= 1
            goes_on = True
            if error is None:
                self.results[start] = result
                self.done += stop - start
                cost, taken = self.rates.get(session, (0.0, 0.0))
                cost, taken = cost / 2 + max(self._cost(piece), 1e-9), taken / 2 + max(seconds, 1e-9)
                self.rates[session], self.speeds[session] = (cost, taken), cost / taken
            elif isinstance(error, DeviceLimit) and (stop - start > self.least or len(self.speeds) > 1):
                self.left.insert(0, piece)
                self.most[session] = (stop - start) // 2
                if stop - start <= self.least:  # of no use here; the others go on
                    goes_on = False
                    del self.speeds[session]
            else:
                self.errors[start] = error
                self.stopped, goes_on = True, False
            self.changed.notify_all()
        if self.most.get(session) and goes_on:
            session.pool.free_held()
        return goes_on


def call_work(work: Callable[[Session, int, int], T], session: Session, start: int, stop: int) -> T:
    """Return the result of a piece; tests replace this to make a device slow, or to let it fail."""
    return work(session, start, stop)
