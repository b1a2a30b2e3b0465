"""Running plans. Only this module allocates scratch memory, enqueues kernels and reads results back.

A plan is a list of steps, made without a device and easy to test; a step is one kernel launch::

    boxes = Scratch("boxes", np.float32, 4 * groups)
    plan = Plan(Step("primitives/extent_partial", policy, args=("points", np.uint64(n), boxes), groups=groups))
    result = run(session, plan, points=buffer)
    result.read(boxes)
"""

from __future__ import annotations

import contextlib
import functools
import time
from dataclasses import dataclass, field

import numpy as np

from clgeom.errors import DeviceLimit
from clgeom.runtime.build import kernel_of
from clgeom.runtime.call import current, loading
from clgeom.runtime.failures import failure, failures
from clgeom.runtime.policies import Policy, ceil_div
from clgeom.runtime.tuning import select


@dataclass(frozen=True)
class Scratch:
    """Device memory that lives as long as the run's result. `count` elements of `dtype`."""

    name: str
    dtype: np.dtype
    count: int

    @property
    def nbytes(self) -> int:
        return max(np.dtype(self.dtype).itemsize * int(self.count), 1)


@dataclass(frozen=True)
class Step:
    """One launch: a kernel, its shape, its template parameters, its arguments.

    `args` are names of buffers bound by `run`, `Scratch` memory, or NumPy scalars. `groups` work-groups of
    ``policy.wg_size`` items are launched. `bytes_moved` is what the step reads and writes of global memory.
    """

    kernel: str
    policy: Policy
    args: tuple
    groups: int
    params: dict = field(default_factory=dict)
    bytes_moved: int = 0
    options: tuple = ()

    def __post_init__(self):
        for arg in self.args:
            if not isinstance(arg, (str, Scratch, np.generic)):
                raise TypeError(
                    f"an argument of {self.kernel} must be a buffer's name, a Scratch or a NumPy scalar, not {arg!r}"
                )

    @classmethod
    def over(
        cls, profile, kernel, args, n, *, dtype=None, tile=None, most=None, params=None, bytes_moved=0, options=()
    ):
        """The launch of a kernel over `n` elements: policy and number of groups are those of this device.

        Parameters
        ----------
        profile : DeviceProfile
        kernel : str
        args : tuple
        n : int
        dtype : numpy.dtype, optional
            Type of the elements, for policies that depend on it.
        tile : int, optional
            Elements of a group's tile where that is fixed; else the policy's.
        most : int, optional
            Elements that the policy is chosen for where this is one launch of several.
        params, bytes_moved, options
            As in `Step`.
        """
        policy = select(profile, kernel, dtype, n if most is None else most)
        groups = policy.groups(ceil_div(n, tile or policy.tile), profile.compute_units)
        return cls(kernel, policy, args, groups, params or {}, bytes_moved, options)

    @functools.cached_property
    def key(self) -> tuple:
        """What `kernel_of` knows the kernel by."""
        parameters = {**self.policy.parameters(), **self.params}
        return self.kernel, tuple(sorted(parameters.items())), self.options


@dataclass(frozen=True)
class Series:
    """Launches of one kernel with different numbers: the stages of a table, for example.

    Launch r takes the values ``values[r]`` for the arguments at `places` of the step, and ``groups[r]`` work-groups.

    Parameters
    ----------
    step : Step
        Its own values at `places`, which give their types, and its own `groups` are not used.
    places : tuple of int
    values : ndarray, shape (launches, len(places))
    groups : ndarray of int, shape (launches,)
    """

    step: Step
    places: tuple[int, ...]
    values: np.ndarray
    groups: np.ndarray

    @property
    def args(self) -> tuple:
        return self.step.args


class Plan(tuple):
    """Steps, and Series of them, in the order they run."""

    def __new__(cls, *steps):
        return super().__new__(cls, steps)

    def __add__(self, other):
        return Plan(*self, *other)

    @functools.cached_property
    def scratch(self) -> dict[str, Scratch]:
        """All scratch memory of the steps, by name."""
        return {arg.name: arg for step in self for arg in step.args if isinstance(arg, Scratch)}

    @functools.cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of the launches, without times."""
        return tuple(map(phase_of, self))


@dataclass(frozen=True)
class Phase:
    """Shape and time of one launch, or of a series.

    `seconds` is None unless the call was profiled; so is `longest`, the seconds of the longest single launch.

    Examples
    --------
    >>> import clgeom
    >>> hull = clgeom.convex_hull([(0, 0), (4, 0), (4, 3)], profile=True)
    >>> all(phase.seconds > 0 for phase in hull.phases)
    True
    """

    name: str
    seconds: float | None
    bytes_moved: int
    global_size: int
    local_size: int
    policy: Policy
    launches: int = 1
    longest: float | None = None

    @property
    def gb_per_s(self) -> float | None:
        """Bytes moved per nanosecond, None when not profiled."""
        return self.bytes_moved / self.seconds / 1e9 if self.seconds else None


def phase_of(part, events=()) -> Phase:
    """The phase of a Step or Series, which took from its first event's start to its last one's end."""
    step = part.step if isinstance(part, Series) else part
    groups = int(part.groups.max(initial=0)) if isinstance(part, Series) else step.groups
    return Phase(
        step.kernel.rsplit("/", 1)[-1],
        (events[-1].profile.end - events[0].profile.start) * 1e-9 if events else None,
        step.bytes_moved,
        groups * step.policy.wg_size,
        step.policy.wg_size,
        step.policy,
        len(part.groups) if isinstance(part, Series) else 1,
        max(event.profile.end - event.profile.start for event in events) * 1e-9 if events else None,
    )


class Result:
    """Buffers of a run, by name."""

    def __init__(self, session, queue, buffers):
        self.session, self._queue, self.buffers = session, queue, buffers

    def __getitem__(self, name):
        return self.buffers[name.name if isinstance(name, Scratch) else name]

    def read(self, scratch: Scratch, count=None, start=0) -> np.ndarray:
        """Scratch memory as a new array, once everything before has run."""
        return read(
            self.session,
            self[scratch],
            scratch.dtype,
            scratch.count if count is None else count,
            start,
            queue=self._queue,
        )


#: Launches between two looks at the clock, and the most seconds of enqueued work of a watched run.
WATCH_LAUNCHES = 64
WATCH_SECONDS = 0.05


def run(session, plan: Plan, *, watch=None, **buffers) -> Result:
    """Enqueue the steps of a plan in order and return without waiting.

    Within `clgeom.runtime.call.recording` the phases are recorded, one for each step or series; where that asks for
    times, they come from the device's own events, and the run waits for its end.

    Parameters
    ----------
    session : Session
    plan : Plan
    watch : function of a float, optional
        Called now and then with the share of the launches that has ended. The run then keeps little work enqueued, so
        that an exception (of `watch`, or KeyboardInterrupt) ends it soon.
    **buffers : pyopencl.Buffer or DeviceArray
        What the names in the steps' arguments stand for. Chunks of a `DeviceArray` bind as "name[0]", "name[1]" ...
    """
    bound = {}
    for name, value in buffers.items():
        bound.update(value.bindings(name) if hasattr(value, "bindings") else {name: value})
    queue, events, pace = session.queue, [], _Pace(plan, watch) if watch else None
    call, record = current(), loading()
    timed = call is not None and call.timed
    if timed:  # the rule of clgeom.runtime.memory: on another queue only after what the session's had to do
        queue = session.profiling_queue
        for part in plan:
            _take_scratch(session, part, bound)
        finish(session)
    try:
        for part in plan:
            _take_scratch(session, part, bound)  # part by part: the device is at work meanwhile
            first = record is not None and record.is_first(_step(part).key)
            enqueue = _enqueue_first if first else _enqueue
            events.append(enqueue(session, queue, part, bound, pace, timed))
        if timed:
            finish(session, queue)
    except BaseException:
        settle(queue)
        raise
    if call is not None:
        call.phases += map(phase_of, plan, events) if timed else plan.phases
    return Result(session, queue, bound)


def _take_scratch(session, part, bound):
    """Scratch memory for the arguments of a Step or Series that have none yet."""
    for arg in part.args:
        if isinstance(arg, Scratch) and arg.name not in bound:
            bound[arg.name] = allocate(session, arg.nbytes)


def _step(part):
    return part.step if isinstance(part, Series) else part


def _enqueue_first(session, queue, part, bound, pace, timed):
    """Enqueue a part whose kernel is new, and wait; what its first launch waited for counts as loading."""
    finish(session, queue)
    events = _enqueue(session, session.profiling_queue, part, bound, pace, True)
    finish(session, session.profiling_queue)
    if events:
        times = events[0].profile
        loading().seconds += (times.start - times.queued) / 1e9
    return events if timed else ()


def _enqueue(session, queue, part, bound, pace, timed):
    """Enqueue a Step or all of a Series; its events when timed."""
    import pyopencl as cl

    step = _step(part)
    shared = {name for name, memory in bound.items() if not isinstance(memory, cl.MemoryObjectHolder)}
    pointers = ()
    if shared:  # virtual memory
        named = ((at, arg) for at, arg in enumerate(step.args) if not isinstance(arg, np.generic))
        pointers = tuple(at for at, arg in named if _name(arg) in shared)
    kernel, local = kernel_of(session, step.key, pointers), step.policy.wg_size

    def launch(groups):
        try:
            return cl.enqueue_nd_range_kernel(queue, kernel, (groups * local,), (local,))
        except cl.MemoryError as error:
            again = functools.partial(cl.enqueue_nd_range_kernel, queue, kernel, (groups * local,), (local,))
            return _again(session, queue, f"launch {step.kernel}", error, again)

    # measured: set_arg takes 6 to 14 us to find out that it was given a number
    set_number = getattr(kernel, "_set_arg_buf", kernel.set_arg)
    try:
        for at, arg in enumerate(step.args):
            if isinstance(arg, np.generic):
                set_number(at, arg)
            else:
                kernel.set_arg(at, bound[_name(arg)])
        if part is step:
            event = launch(step.groups)
            if pace:
                pace.launched(event)
            return (event,) if timed else ()
        # converted once by columns: thousands of launches are a matter of microseconds each
        columns = [
            (place, list(part.values[:, column].astype(step.args[place].dtype)))
            for column, place in enumerate(part.places)
        ]
        events = []
        for number, groups in enumerate(part.groups.tolist()):
            for place, values in columns:
                set_number(place, values[number])
            event = launch(groups)
            if timed:
                events.append(event)
            if pace:
                pace.launched(event)
        return tuple(events)
    except cl.Error as error:
        raise failure(session.device, f"launch {step.kernel}", error) from error


class _Pace:
    """Keeps a watched run from running far ahead of the device."""

    def __init__(self, plan, watch):
        self.watch, self.launches, self.waited_for = watch, 0, None
        self.total = sum(len(part.groups) if isinstance(part, Series) else 1 for part in plan)
        self.last, self.at = time.perf_counter(), 0

    def launched(self, event):
        self.launches += 1
        now = time.perf_counter()
        if self.launches - self.at < WATCH_LAUNCHES and now - self.last < WATCH_SECONDS:
            return
        if self.waited_for is not None:  # the launches of one slice ago: the device stays busy with those since
            self.waited_for.wait()
            self.watch(self.at / self.total)
        self.waited_for, self.last, self.at = event, time.perf_counter(), self.launches


def _name(arg):
    return arg.name if isinstance(arg, Scratch) else arg


# Memory ---------------------------------------------------------------------------------------------------------


def allocate(session, nbytes: int):
    """Scratch memory of the session's pool; `DeviceLimit` when the device has not that much."""
    import pyopencl as cl

    limit = session.profile.max_alloc_bytes
    if nbytes > limit:
        raise DeviceLimit(f"One buffer of {nbytes:,} bytes is needed, and {session.profile.name} allows {limit:,}.")
    try:
        return session.pool.allocate(nbytes, limit)
    except cl.Error as error:
        settle(session.queue)
        raise failure(session.device, f"hold {nbytes:,} more bytes", error) from error


def read(session, buffer, dtype, count: int, start: int = 0, *, queue=None, out=None) -> np.ndarray:
    """`count` elements of a buffer from element `start`, as a new array or in the contiguous array `out`; waits for
    what was enqueued before."""
    out = np.empty(count, dtype) if out is None else out
    if count:
        _copy(session, queue or session.queue, "read results", out, buffer, src_offset=start * out.itemsize)
    return out


def write(session, buffer, values: np.ndarray) -> None:
    """Copy an array into a buffer; waits until the array may change again."""
    _copy(session, session.queue, "take data", buffer, np.ascontiguousarray(values))


def copy_in(session, buffer, values: np.ndarray):
    """Start an asynchronous copy of a contiguous array into a buffer; returns its event.

    The copy begins after what the session's queue has now, and the memory does not return to the pool before its end.
    """
    import pyopencl as cl

    with failures(session.device, "take data"):
        before = cl.enqueue_marker(session.queue)
        session.queue.flush()  # else the other queue might wait for what is never begun
    queue = session.copy_queue
    copied = _copy(session, queue, "take data", buffer, values, is_blocking=False, wait_for=[before])
    session.pool.hold(buffer, copied)
    return copied


def wait_for(session, event) -> None:
    """Wait for an event."""
    with failures(session.device, "end a copy"):
        event.wait()


def _copy(session, queue, doing, to, source, **options):
    import pyopencl as cl

    try:
        return cl.enqueue_copy(queue, to, source, **options)
    except cl.Error as error:
        again = functools.partial(cl.enqueue_copy, queue, to, source, **options)
        return _again(session, queue, doing, error, again)


def _again(session, queue, doing, error, command):
    """Release all unused memory and repeat a command that failed for lack of memory; raise our error otherwise."""
    import pyopencl as cl

    try:
        if not isinstance(error, cl.MemoryError):
            raise error
        session.pool.free_held()
        queue.finish()
        return command()
    except cl.Error as last:
        settle(session.queue)  # kernels may still use memory of the host that the caller is about to free
        raise failure(session.device, doing, last) from last


def finish(session, queue=None) -> None:
    """Wait until all that was enqueued has ended, in the session's queue or another."""
    with failures(session.device, "end what was launched"):
        (queue or session.queue).finish()


def settle(queue) -> None:
    """Wait for the queue after an error, so that nothing still runs when the caller goes on."""
    import pyopencl as cl

    with contextlib.suppress(cl.Error):
        queue.finish()


# Arrays of pyopencl ---------------------------------------------------------------------------------------------


def as_array(session, buffer, shape, dtype, *, queue=None):
    """A pool buffer as an array for the caller: complete, and on the caller's queue if one is given."""
    import pyopencl.array as cl_array

    finish(session)
    queue = queue or session.queue
    session.pool.hold(buffer, queue)
    return cl_array.Array(queue, shape, dtype, data=buffer)


def to_array(session, values: np.ndarray, *, queue=None):
    """A copy of a host array as a new array of pyopencl."""
    import pyopencl.array as cl_array

    with failures(session.device, f"take {values.nbytes:,} bytes"):
        return cl_array.to_device(queue or session.queue, np.ascontiguousarray(values))


def new_array(session, shape, dtype, *, queue=None):
    """A new array of pyopencl, not initialised."""
    import pyopencl.array as cl_array

    with failures(session.device, "hold a result"):
        return cl_array.empty(queue or session.queue, shape, dtype)


# Memory of the host ---------------------------------------------------------------------------------------------


def map_pinned(session, shape, dtype) -> np.ndarray:
    """A new array in page-locked memory."""
    import pyopencl as cl

    nbytes = max(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize, 1)
    try:
        memory = cl.Buffer(session.context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, nbytes)
        flags = cl.map_flags.READ | cl.map_flags.WRITE
        mapped, _ = cl.enqueue_map_buffer(session.queue, memory, flags, 0, shape, dtype, is_blocking=True)
    except cl.Error as error:
        raise failure(session.device, f"lock {nbytes:,} bytes of the host's memory", error) from error
    return mapped


def fill(session, buffer, value: np.generic, count: int) -> None:
    """Set the first `count` elements of a buffer."""
    import pyopencl as cl

    nbytes = count * value.itemsize
    try:
        cl.enqueue_fill_buffer(session.queue, buffer, value, 0, nbytes)
    except cl.Error as error:
        again = functools.partial(cl.enqueue_fill_buffer, session.queue, buffer, value, 0, nbytes)
        _again(session, session.queue, "fill memory", error, again)


def joined(session, pieces):
    """One buffer with the given number of bytes of each buffer; the buffer itself if it is the only one."""
    if len(pieces) == 1:
        return pieces[0][0]
    whole, at = allocate(session, sum(nbytes for _, nbytes in pieces)), 0
    for buffer, nbytes in pieces:
        if nbytes:
            copy(session, buffer, whole, nbytes, at=at)
        at += nbytes
    return whole


def copy(session, source, target, nbytes: int, *, start: int = 0, at: int = 0):
    """Enqueue a copy of bytes of a buffer, from byte `start` on, to another one from byte `at` on."""
    _copy(
        session,
        session.queue,
        "move data",
        target,
        source,
        byte_count=nbytes,
        src_offset=start,
        dst_offset=at,
    )


def host_buffer(session, array: np.ndarray, *, writable=False):
    """A buffer that is the memory of a contiguous array (on CPU devices), for kernels to read or also to write.

    What they wrote can be seen in the array after `show_host`.
    """
    import pyopencl as cl

    flags = cl.mem_flags.READ_WRITE if writable else cl.mem_flags.READ_ONLY
    try:
        return cl.Buffer(session.context, flags | cl.mem_flags.USE_HOST_PTR, hostbuf=array)
    except cl.Error as error:
        raise failure(session.device, f"use {array.nbytes:,} bytes of the host", error) from error


def in_place(session, array: np.ndarray):
    """A buffer that is the memory of a contiguous array, for kernels to write (on CPU devices); see `show_host`."""
    return host_buffer(session, array.view(f"uint{8 * array.dtype.itemsize}"), writable=True)


def show_host(session, buffer, array: np.ndarray) -> None:
    """Wait until what kernels wrote to an array's own memory can be seen there."""
    import pyopencl as cl

    try:
        mapped, _ = cl.enqueue_map_buffer(
            session.queue, buffer, cl.map_flags.READ, 0, array.shape, array.dtype, is_blocking=True
        )
        mapped.base.release(session.queue).wait()  # the array may be freed at once
    except cl.Error as error:
        settle(session.queue)
        raise failure(session.device, "show results", error) from error
