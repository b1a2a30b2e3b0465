"""Running plans. Only this module allocates scratch memory, enqueues kernels and reads results back; `host_memory` has
buffers in memory of the host.

It runs the plan in the example of `clgeom.core.plan` and reads its scratch memory like this::

    result = run(session, plan, points=buffer)
    result.read(boxes)
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core import staging
from clgeom.core.build import kernel_of, new_kernel
from clgeom.core.call import current, loading
from clgeom.core.failures import failure, failures
from clgeom.core.kept import Launch, ScratchLease, kept_plan, name_of, number_setter
from clgeom.core.plan import Plan, Scratch, Series, phase_of
from clgeom.errors import DeviceLimit

if TYPE_CHECKING:
    import pyopencl as cl
    from numpy.typing import DTypeLike

    from clgeom.core.device import Session
    from clgeom.core.plan import Step


class Result:
    """The buffers of a run by name. Those of a plan that keeps its memory are leased as long as the result lives.

    `event` is that of the last launch in the session's queue, None after other queues.
    """

    def __init__(
        self,
        session: Session,
        queue: cl.CommandQueue,
        buffers: dict[str, cl.Buffer],
        lease: ScratchLease | None = None,
        event: cl.Event | None = None,
    ) -> None:
        self.session, self._queue, self.buffers, self._lease = session, queue, buffers, lease
        self.event = event

    def __getitem__(self, name: str | Scratch) -> cl.Buffer:
        name = name_of(name)
        if self._lease is not None and name not in self.buffers:
            self.buffers[name] = self._lease.reference(name)
        return self.buffers[name]

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers, or of the leased ones."""
        return sum(buffer.size for buffer in self.buffers.values()) if self._lease is None else self._lease.set.nbytes

    def drop_others(self, names: Collection[str]) -> None:
        """Let go of all buffers but those of these names, and of leased ones with the result."""
        self.buffers = {name: self[name] for name in names if self._lease is None or name in self.buffers}

    def read(self, scratch: Scratch, count: int | None = None, start: int = 0) -> np.ndarray:
        """Scratch memory as a new array, after waiting for all earlier commands."""
        count = scratch.count if count is None else count
        return read(self.session, self[scratch], scratch.dtype, count, start, queue=self._queue)


#: A paced run waits after slices of so many launches, first and at most, or of so many seconds.
FIRST_LAUNCHES, WATCH_LAUNCHES = 2, 64
WATCH_SECONDS = 0.05
#: Whether a `watch` is being called, which may be a user's function that runs plans.
_is_watching: contextvars.ContextVar[bool] = contextvars.ContextVar("clgeom_is_watching", default=False)


def run(
    session: Session,
    plan: Plan,
    *,
    numbers: dict[str, np.generic] | None = None,
    watch: Callable[[float], object] | None = None,
    paced: bool = False,
    **buffers: Any,
) -> Result:
    """Enqueue the steps of a plan in order and return without waiting for the last of them.

    Within `clgeom.core.call.recording` the phases are recorded, one for each step or series. If the call is timed, the
    times come from the device's events, and the run waits for its end.

    `buffers` are those that the names in the steps' arguments stand for; chunks of a `DeviceArray` have the names
    "name[0]", "name[1]" ... `numbers` are what each `Number` of the arguments stands for. ``watch(share)`` is called
    repeatedly with the share of launches that have ended. `paced` keeps little work enqueued from the first launches
    on, so that an exception (of `watch`, or KeyboardInterrupt) ends the run soon. A run that is watched, or has a long
    Series, is paced from its first slice on.
    """
    bound: dict[str, cl.Buffer] = {}
    for name, value in buffers.items():
        if hasattr(value, "bindings"):
            bound.update(value.bindings(name))
        else:
            bound[name] = value
    call, record, numbers = current(), loading(), numbers or {}
    timed = call is not None and call.timed
    queue, pace = session.queue, None
    events: list[tuple[cl.Event, ...]] = []
    if paced or watch or plan.is_long:
        pace = _Pace(plan, watch, FIRST_LAUNCHES if paced else WATCH_LAUNCHES)
    try:
        launches, lease = _launches(session, plan, bound)
        if timed:  # the rule of clgeom.core.memory: use another queue only after the commands of the session's queue
            queue = session.profiling_queue
            if lease is None:
                _allocate(session, ((scratch.name, scratch.nbytes) for scratch in plan.scratch.values()), bound)
            finish(session)
        for launch in launches:
            if launch.scratch:  # one launch's after the other: the device works at the same time
                _allocate(session, launch.scratch, bound)
            is_first = record is not None and record.is_first(launch.step.key)
            enqueue = _enqueue_first if is_first else _enqueue
            events.append(enqueue(session, queue, launch, bound, numbers, pace, timed))
        if timed:
            finish(session, queue)
            for event in itertools.chain(*events):  # a driver may note the end of one later than the queue's
                event.wait()
    except BaseException:
        settle(queue)
        raise
    if call is not None:
        call.phases += map(phase_of, plan, events) if timed else plan.phases
        if call.plans is not None:
            call.plans.append((plan, {name: int(getattr(memory, "size", 0)) for name, memory in bound.items()}))
    last = None if timed or not events or not events[-1] else events[-1][-1]
    return Result(session, queue, bound, lease, last)


def _allocate(session: Session, scratch: Iterable[tuple[str, int]], bound: dict[str, cl.Buffer]) -> None:
    """Add scratch memory, as (name, bytes), to the bound memory."""
    for name, nbytes in scratch:
        if name not in bound:
            bound[name] = allocate(session, nbytes)


def _launches(
    session: Session, plan: Plan, bound: dict[str, cl.Buffer]
) -> tuple[Iterable[Launch], ScratchLease | None]:
    """(launches of a plan, lease of their memory or None). New launches are made when they are asked for."""
    import pyopencl as cl

    holder = cl.MemoryObjectHolder
    shared = frozenset([name for name, memory in bound.items() if not isinstance(memory, holder)])
    kept = kept_plan(session, plan) if plan.is_kept and not shared and not _is_watching.get() else None
    if kept is None:
        return (_launch_of(session, part, shared) for part in plan), None
    lease = kept.lease(session, bound, allocate)
    return kept.launches(session) if lease is None else lease.set.launches, lease


def _launch_of(session: Session, part: Step | Series, shared: frozenset[str]) -> Launch:
    """Return a launch with the kernel object of this thread, which the next launch of this kernel takes, too.

    Within a `watch` it is a new one, since the watched run may be in a series, which relies on the arguments it set.
    `shared` are the names that stand for shared virtual memory.
    """
    import pyopencl as cl

    pointers: tuple[int, ...] = ()
    if shared:
        memory = (str, Scratch)
        pointers = tuple(at for at, arg in enumerate(part.args) if isinstance(arg, memory) and name_of(arg) in shared)
    kernel = new_kernel(session, part.key) if _is_watching.get() else kernel_of(session, part.key, pointers)
    try:
        return Launch(part, kernel, set())
    except cl.Error as error:
        raise failure(session.device, f"launch {part.key[0]}", error) from error


def _enqueue_first(
    session: Session,
    queue: cl.CommandQueue,
    launch: Launch,
    bound: dict[str, cl.Buffer],
    numbers: dict[str, np.generic],
    pace: _Pace | None,
    timed: bool,
) -> tuple[cl.Event, ...]:
    """Enqueue a launch whose kernel is new, and wait; what its first launch waited for counts as loading."""
    finish(session, queue)
    try:
        events = _enqueue(session, session.profiling_queue, launch, bound, numbers, pace, True)
        finish(session, session.profiling_queue)
        for event in events:
            event.wait()
    except BaseException:
        settle(session.profiling_queue)
        raise
    record = loading()
    if events and record is not None:
        times = events[0].profile
        record.seconds += (times.start - times.queued) / 1e9
    return events if timed else ()


def _enqueue(
    session: Session,
    queue: cl.CommandQueue,
    launch: Launch,
    bound: dict[str, cl.Buffer],
    numbers: dict[str, np.generic],
    pace: _Pace | None = None,
    timed: bool = False,
) -> tuple[cl.Event, ...]:
    """Enqueue a launch, or all of a series; returns their events when timed, else that of the last one."""
    import pyopencl as cl

    kernel, events = launch.kernel, list[cl.Event]()
    try:
        for at, name in launch.buffers:
            kernel.set_arg(at, bound[name])
        for at, name in launch.numbers:
            number_setter(kernel)(at, numbers[name])
        for items, local in launch.sizes:
            try:
                event = cl.enqueue_nd_range_kernel(queue, kernel, items, local)
            except cl.MemoryError:
                event = _again(
                    session, queue, functools.partial(cl.enqueue_nd_range_kernel, queue, kernel, items, local)
                )
            if not timed:
                events.clear()
            events.append(event)
            if pace:
                pace.launched(event)
    except cl.Error as error:
        settle(session.queue)  # kernels may still use host memory that the caller frees next
        raise failure(session.device, f"launch {launch.step.kernel}", error) from error
    return tuple(events)


class _Pace:
    """Limits how far a run is ahead of the device: by two slices of launches, longer as long as they are quick."""

    def __init__(self, plan: Plan, watch: Callable[[float], object] | None, first: int = FIRST_LAUNCHES) -> None:
        self.watch, self.launches = watch, 0
        self.waited_for: cl.Event | None = None
        self.total = sum(len(part.groups) if isinstance(part, Series) else 1 for part in plan)
        self.last, self.at, self.most = time.perf_counter(), 0, first

    def launched(self, event: cl.Event) -> None:
        self.launches += 1
        began = time.perf_counter()
        if self.launches - self.at < self.most and began - self.last < WATCH_SECONDS:
            return
        if self.waited_for is not None:  # the end of the slice before: the device stays busy with the launches since
            self.waited_for.wait()
            if self.watch:
                token = _is_watching.set(True)
                try:
                    self.watch(self.at / self.total)
                finally:
                    _is_watching.reset(token)
            seconds = time.perf_counter() - self.last
            if seconds > WATCH_SECONDS:
                self.most = max(int(self.most * WATCH_SECONDS / seconds), 1)
            elif seconds < WATCH_SECONDS / 8:
                self.most = min(self.most * 4, WATCH_LAUNCHES)
        self.waited_for, self.last, self.at = event, time.perf_counter(), self.launches


# Memory ---------------------------------------------------------------------------------------------------------


def allocate(session: Session, nbytes: int) -> cl.Buffer:
    """Scratch memory from the session's pool; `DeviceLimit` when the device has too little."""
    import pyopencl as cl

    limit = session.profile.max_alloc_bytes
    if nbytes > limit:
        raise DeviceLimit(f"One buffer of {nbytes:,} bytes is needed, and {session.profile.name} allows {limit:,}.")
    try:
        return session.pool.allocate(nbytes, limit)
    except cl.Error as error:
        settle(session.queue)
        raise failure(session.device, f"hold {nbytes:,} more bytes", error) from error


#: Constants that a session keeps.
MOST_CONSTANTS = 64


def constant(session: Session, values: np.ndarray) -> cl.Buffer:
    """Return a buffer with a few values that kernels only read. The session keeps it, so it is written once."""
    import pyopencl as cl

    values = np.ascontiguousarray(values)

    def make() -> cl.Buffer:
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        with failures(session.device, f"hold {values.nbytes:,} more bytes"):
            return cl.Buffer(session.context, flags, hostbuf=values)

    buffer: cl.Buffer = session.cached(("constants", values.dtype, values.tobytes()), make, most=MOST_CONSTANTS)
    return buffer


def read(
    session: Session,
    buffer: cl.Buffer,
    dtype: DTypeLike,
    count: int,
    start: int = 0,
    *,
    queue: cl.CommandQueue | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Wait for all commands and return `count` elements of a buffer from `start` on, in `out` or a new array."""
    out, queue = np.empty(count, dtype) if out is None else out, queue or session.queue
    if not count:
        return out
    staged = None
    if out.nbytes >= staging.LEAST_BYTES:
        started = functools.partial(_started, session, queue, "read results")
        staged = staging.copy_out(session, started, buffer, start * out.itemsize, out)
    if staged is None:
        _copy(session, queue, "read results", out, buffer, src_offset=start * out.itemsize)
    else:
        staged.wait()
    note_kernels(session)
    return out


def read_all(session: Session, buffers: Sequence[cl.Buffer], outs: Sequence[np.ndarray]) -> None:
    """Fill arrays from as many buffers, after all earlier commands; short ones with one wait."""
    short = [at for at, out in enumerate(outs) if 0 < out.nbytes < staging.LEAST_BYTES]
    try:
        for at in short[:-1]:
            _copy(session, session.queue, "read results", outs[at], buffers[at], is_blocking=False)
        for at, (buffer, out) in enumerate(zip(buffers, outs)):
            if at not in short[:-1]:
                read(session, buffer, out.dtype, out.size, out=out)
    except BaseException:
        settle(session.queue)  # before the arrays go
        raise


def write(session: Session, buffer: cl.Buffer, values: np.ndarray) -> None:
    """Copy an array into a buffer; waits until the array may change again."""
    values = np.ascontiguousarray(values)
    if values.nbytes >= staging.LEAST_BYTES:
        started = functools.partial(_started, session, session.queue, "take data")
        staged = staging.copy_in(session, started, buffer, values)
        if staged is not None:
            staged.wait()
            return
    _copy(session, session.queue, "take data", buffer, values)


def copy_in(
    session: Session, buffer: cl.Buffer, values: np.ndarray, read: Callable[[np.ndarray, int], object] | None = None
) -> staging.Transfer | cl.Event:
    """Start an asynchronous copy of a contiguous array into a buffer; it ends by `wait_for` or `give_up`.

    The copy begins after the commands now in the session's queue. The memory returns to the pool only after its end.
    ``read(memory, begin)``, if given, reads the array to memory, from byte `begin` on; threads call it.
    """
    import pyopencl as cl

    queue = session.copy_queue
    with failures(session.device, "take data"):
        before = cl.enqueue_marker(session.queue)
        session.queue.flush()  # else the other queue might wait for a command that never begins
    session.pool.hold(buffer, queue)
    started = functools.partial(_started, session, queue, "take data", wait_for=[before])
    staged = staging.copy_in(session, started, buffer, values, read=read, ahead=True)
    if staged is None and read is not None:
        values = np.empty(values.shape, values.dtype)
        read(values.reshape(-1).view(np.uint8), 0)
    return staged or started(buffer, values)


def wait_for(session: Session, copied: staging.Transfer | cl.Event) -> None:
    """Wait for a copy that `copy_in` has started."""
    with failures(session.device, "end a copy"):
        copied.wait()


def give_up(copied: staging.Transfer | cl.Event) -> None:
    """Let no more of a copy begin, and wait until nothing of it runs."""
    import pyopencl as cl

    if isinstance(copied, staging.Transfer):
        copied.stop()
    else:
        with contextlib.suppress(cl.Error):
            copied.wait()


def _started(
    session: Session,
    queue: cl.CommandQueue,
    doing: str,
    to: cl.Buffer | np.ndarray,
    source: cl.Buffer | np.ndarray,
    **options: Any,
) -> cl.Event:
    """Start a copy; returns its event."""
    event = _copy(session, queue, doing, to, source, is_blocking=False, **options)
    with failures(session.device, doing):
        queue.flush()
    return event


def _copy(
    session: Session,
    queue: cl.CommandQueue,
    doing: str,
    to: cl.Buffer | np.ndarray,
    source: cl.Buffer | np.ndarray,
    **options: Any,
) -> cl.Event:
    import pyopencl as cl

    return _enqueued(session, queue, doing, functools.partial(cl.enqueue_copy, queue, to, source, **options))


def _enqueued(session: Session, queue: cl.CommandQueue, doing: str, command: Callable[[], cl.Event]) -> cl.Event:
    """Return the event of a command, repeated without unused memory if there is too little."""
    import pyopencl as cl

    try:
        try:
            return command()
        except cl.MemoryError:
            return _again(session, queue, command)
    except cl.Error as error:
        settle(session.queue)  # kernels may still use host memory that the caller frees next
        raise failure(session.device, doing, error) from error


def _again(session: Session, queue: cl.CommandQueue, command: Callable[[], cl.Event]) -> cl.Event:
    """Return the event of a command for which there was too little memory, without unused memory."""
    session.pool.free_held()
    queue.finish()
    return command()


def finish(session: Session, queue: cl.CommandQueue | None = None) -> None:
    """Wait until all commands in the session's queue, or in another one, have ended."""
    with failures(session.device, "end what was launched"):
        (queue or session.queue).finish()
    note_kernels(session)


def note_kernels(session: Session) -> None:
    """Note which kernels' files are whole, after a wait for the kernels."""
    files = session.kernel_files
    if files is not None and files.due <= time.monotonic():
        files.look()


def flush(session: Session) -> None:
    """Let the device begin what is in the session's queue."""
    with failures(session.device, "launch what was asked for"):
        session.queue.flush()


def settle(queue: cl.CommandQueue) -> None:
    """Wait for the queue after an error, so that nothing still runs when the caller goes on."""
    import pyopencl as cl

    with contextlib.suppress(cl.Error):
        queue.finish()


def fill(session: Session, buffer: cl.Buffer, value: np.generic, count: int) -> None:
    """Set the first `count` elements of a buffer."""
    import pyopencl as cl

    pattern: Any = value  # NumPy's numbers are buffers, too, as pyopencl's types do not know
    nbytes = count * value.itemsize
    command = functools.partial(cl.enqueue_fill_buffer, session.queue, buffer, pattern, 0, nbytes)
    _enqueued(session, session.queue, "fill memory", command)


def joined(session: Session, pieces: Sequence[tuple[cl.Buffer, int]]) -> cl.Buffer:
    """Return a buffer with the bytes of several, as (buffer, bytes); a single one as it is."""
    if len(pieces) == 1:
        return pieces[0][0]
    whole, at = allocate(session, sum(nbytes for _, nbytes in pieces)), 0
    for buffer, nbytes in pieces:
        if nbytes:
            copy(session, buffer, whole, nbytes, at=at)
        at += nbytes
    return whole


def copy(session: Session, source: cl.Buffer, target: cl.Buffer, nbytes: int, *, start: int = 0, at: int = 0) -> None:
    """Enqueue a copy of bytes of a buffer, from byte `start` on, to another one from byte `at` on."""
    options = {"byte_count": nbytes, "src_offset": start, "dst_offset": at}
    _copy(session, session.queue, "move data", target, source, **options)
