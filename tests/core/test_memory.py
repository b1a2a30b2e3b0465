"""The pool of device memory: reuse, several threads, and other queues than the session's (clgeom.core.memory)."""

import contextlib
import gc
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from clouds import cloud
from device_settings import imposed_session
from effort import LONG

import clgeom
from clgeom.core import launch
from clgeom.core.device import Session
from clgeom.core.kept import Launch
from clgeom.core.launch import allocate, copy_in, read, run, write
from clgeom.core.memory import LEAST_BYTES, part_of, rounded_up
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.errors import DeviceLimit
from clgeom.hull import stream

N = 1 << 16
#: So that the device sorts, not NumPy.
SORT = {"sorting/radix/radix_count": Policy("serial", wg_size=1)}


@pytest.fixture
def fresh(session):
    """A session whose pool nobody else uses."""
    return Session(session.device)


@contextlib.contextmanager
def blocked(queue):
    """Commands enqueued on the queue in this block do not begin before its end."""
    import pyopencl as cl

    gate = cl.UserEvent(queue.context)
    cl.enqueue_barrier(queue, wait_for=[gate])
    queue.flush()
    try:
        yield
    finally:
        gate.set_status(cl.command_execution_status.COMPLETE)


# Reuse ----------------------------------------------------------------------------------------------------------


def test_sizes_waste_little():
    sizes = [*range(5000), 1 << 20, (1 << 20) + 1, 10**9 + 7, (1 << 32) - 1]
    for nbytes in sizes:
        assert max(nbytes, LEAST_BYTES) <= rounded_up(nbytes) <= max(LEAST_BYTES, nbytes + nbytes // 16 + 1)
    assert len({rounded_up(nbytes) for nbytes in range(1 << 14)}) < 120


def test_memory_returns_with_the_last_reference(fresh):
    first = allocate(fresh, 5000)
    memory, other = first.int_ptr, first
    assert allocate(fresh, 5000).int_ptr != memory  # and that one has returned
    del first
    assert fresh.pool.active_blocks == 1
    assert allocate(fresh, 5000).int_ptr != memory
    del other
    assert fresh.pool.active_blocks == 0 and fresh.pool.held_blocks == 2
    again = [allocate(fresh, 5000).int_ptr for _ in range(3)]
    assert len(set(again)) == 1 and fresh.pool.held_blocks == 2


def test_a_part_keeps_the_whole(fresh):
    whole = allocate(fresh, 1 << 16)
    memory, part = whole.int_ptr, part_of(whole, 1 << 12, 1 << 10)
    del whole
    assert allocate(fresh, 1 << 16).int_ptr != memory
    assert part.size == 1 << 10
    del part
    assert memory in {one.int_ptr for one in [allocate(fresh, 1 << 16) for _ in range(2)]}


def test_memory_returns_from_other_threads_and_from_circles(fresh):
    with ThreadPoolExecutor(1) as pool:
        memory = pool.submit(lambda: allocate(fresh, 9000).int_ptr).result()
    assert allocate(fresh, 9000).int_ptr == memory
    circle = [allocate(fresh, 9000)]
    circle.append(circle)
    del circle
    gc.collect()
    assert fresh.pool.active_blocks == 0 and allocate(fresh, 9000).int_ptr == memory


def test_threads_never_share_memory(fresh):
    """Each thread finds in its memory what it wrote there, however the others take and return theirs."""

    def work(seed):
        rng, kept = np.random.default_rng(seed), []
        for k in range(150):
            values = np.full(int(rng.integers(1, 600)), 1000 * seed + k, np.int32)
            buffer = allocate(fresh, values.nbytes)
            write(fresh, buffer, values)
            kept.append((buffer, values))
            if len(kept) > 5:
                buffer, values = kept.pop(int(rng.integers(len(kept))))
                assert (read(fresh, buffer, np.int32, len(values)) == values).all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert fresh.pool.active_blocks == 0


def test_no_memory_gives_back_what_nobody_uses(fresh, monkeypatch):
    import pyopencl as cl

    new, kept = fresh.pool._new, [allocate(fresh, 1 << size) for size in range(10, 20)]

    def full(nbytes):
        if fresh.pool.held_blocks:
            raise cl.MemoryError("clCreateBuffer failed: MEM_OBJECT_ALLOCATION_FAILURE")
        return new(nbytes)

    monkeypatch.setattr(fresh.pool, "_new", full)
    kept = kept[:3]
    assert fresh.pool.held_blocks == 7
    assert allocate(fresh, 12345).size >= 12345 and len(kept) == 3
    assert fresh.pool.held_blocks == 1

    def empty(nbytes):
        raise cl.MemoryError("clCreateBuffer failed: MEM_OBJECT_ALLOCATION_FAILURE")

    monkeypatch.setattr(fresh.pool, "_new", empty)
    with pytest.raises(DeviceLimit, match="has not enough memory left to hold 99,999 more bytes") as caught:
        allocate(fresh, 99_999)
    assert fresh.profile.name in str(caught.value) and "\n" not in str(caught.value)


def test_memory_missing_at_first_use_is_looked_for_once(fresh, monkeypatch):
    """Drivers may make memory when a command first uses it: the command is tried again, then it is a DeviceLimit."""
    import pyopencl as cl

    out = Scratch("out", np.dtype(np.uint32), 1)
    step = Step("primitives/set_value", Policy("group", wg_size=1), (out,), 1, params={"value": "uint", "to": "3"})
    enqueue, failing = cl.enqueue_nd_range_kernel, []

    def deferred(*args, **kwargs):
        if failing and failing.pop():
            raise cl.MemoryError("clEnqueueNDRangeKernel failed: MEM_OBJECT_ALLOCATION_FAILURE")
        return enqueue(*args, **kwargs)

    run(fresh, Plan(step)).read(out)  # the device is tried now
    fresh.release()
    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", deferred)
    spare = allocate(fresh, 1 << 20)
    del spare
    failing[:] = [True]
    assert run(fresh, Plan(step)).read(out).tolist() == [3]
    assert fresh.pool.held_blocks == 1  # the spare one is gone
    failing[:] = [True, True]
    with pytest.raises(DeviceLimit, match="not enough memory left to launch primitives/set_value"):
        run(fresh, Plan(step))
    assert run(fresh, Plan(step)).read(out).tolist() == [3]


# Other queues ---------------------------------------------------------------------------------------------------


def test_memory_of_a_callers_array_waits_for_the_callers_queue(fresh):
    """What the caller's queue still reads when the array goes is not written by the next calls."""
    import pyopencl as cl
    import pyopencl.array as cl_array

    queue = cl.CommandQueue(fresh.context)
    keys = np.random.default_rng(3).integers(0, 1 << 30, N).astype(np.uint32)
    ordered = clgeom.sort(cl_array.to_device(queue, keys), device=fresh)
    assert ordered.queue == queue
    mine = cl_array.empty(queue, N, np.uint32)
    with blocked(queue):
        cl.enqueue_copy(queue, mine.base_data, ordered.base_data, byte_count=4 * N)
        memory = ordered.base_data.int_ptr
        del ordered
        for _ in range(4):
            clgeom.sort(cl_array.to_device(fresh.queue, keys[::-1].copy()), device=fresh)
            assert allocate(fresh, 4 * N).int_ptr != memory
    queue.finish()
    assert (mine.get() == np.sort(keys)).all()
    assert memory in {one.int_ptr for one in [allocate(fresh, 4 * N) for _ in range(9)]}


def test_memory_of_a_callers_array_on_the_sessions_queue_returns_at_once(fresh):
    import pyopencl.array as cl_array

    there = cl_array.to_device(fresh.queue, np.arange(N, dtype=np.uint32))
    memory = clgeom.sort(there, device=fresh).base_data.int_ptr
    assert memory in {one.int_ptr for one in [allocate(fresh, 4 * N) for _ in range(4)]}


def test_vertices_on_the_device_are_complete_for_other_queues(fresh):
    import pyopencl as cl
    import pyopencl.array as cl_array

    points = cloud("disc", 3000, np.float32)
    there = cl_array.to_device(fresh.queue, points)
    vertices, corners = clgeom.convex_hull(there, device=fresh).on_device()
    queue = cl.CommandQueue(fresh.context)
    got = corners.get(queue=queue)
    np.testing.assert_array_equal(got, points[vertices.get(queue=queue)])


def test_a_copy_beside_the_sessions_queue_begins_after_it_and_holds_its_memory(fresh):
    values = np.arange(1 << 14, dtype=np.uint32)
    before = values[::-1].copy()
    reader, buffer = allocate(fresh, values.nbytes), allocate(fresh, values.nbytes)
    memory = buffer.int_ptr
    write(fresh, buffer, before)
    with blocked(fresh.queue):
        import pyopencl as cl

        cl.enqueue_copy(fresh.queue, reader, buffer, byte_count=values.nbytes)  # of who had the memory before
        copied = copy_in(fresh, buffer, values)
        assert copied.command_execution_status != cl.command_execution_status.COMPLETE
        del buffer
        assert allocate(fresh, values.nbytes).int_ptr != memory
    copied.wait()
    assert (read(fresh, reader, np.uint32, len(values)) == before).all()
    del reader
    taken = {one.int_ptr: one for one in [allocate(fresh, values.nbytes) for _ in range(3)]}
    assert (read(fresh, taken[memory], np.uint32, len(values)) == values).all()


class Watched:
    """Marks what other queues use, and finds memory that is handed out, or used on the session's queue, before its end.

    Whatever uses memory on another queue leaves an event of that; memory on its way out must have none that is open.
    """

    def __init__(self, session, monkeypatch):
        import pyopencl as cl

        self.session, self.open, self.faults, self.uses = session, {}, [], 0
        hand_out, enqueued, copy = session.pool.allocate, launch._enqueue, cl.enqueue_copy
        bind, lock = Launch.bind, threading.Lock()

        def note(event, buffers):
            with lock:
                for buffer in buffers:
                    self.uses += 1
                    self.open.setdefault(buffer.int_ptr, []).append(event)

        def handed_out(nbytes, limit):
            buffer = hand_out(nbytes, limit)
            with lock:
                for event in self.open.pop(buffer.int_ptr, ()):
                    if event.command_execution_status != cl.command_execution_status.COMPLETE:
                        self.faults.append(buffer)
            return buffer

        def marked(session, queue, part, bound, *rest):
            result = enqueued(session, queue, part, bound, *rest)
            if queue != session.queue:
                memory = {**bound, **getattr(part, "memory", {})}
                names = [launch.name_of(a) for a in part.step.args if isinstance(a, (str, Scratch))]
                note(cl.enqueue_marker(queue), [memory[name] for name in names])
            return result

        def binding(part, memory):
            part.memory = memory  # of a kept launch, which its runs do not bind
            bind(part, memory)

        def copied(queue, to, source, **options):
            event = copy(queue, to, source, **options)
            if queue != session.queue:
                note(event, [one for one in (to, source) if isinstance(one, cl.MemoryObjectHolder)])
            return event

        monkeypatch.setattr(session.pool, "allocate", handed_out)
        monkeypatch.setattr(launch, "_enqueue", marked)
        monkeypatch.setattr(Launch, "bind", binding)
        monkeypatch.setattr(cl, "enqueue_copy", copied)


@pytest.mark.settings("as_is", "as_gpu")
def test_no_call_hands_out_memory_that_another_queue_uses(any_session, monkeypatch):
    """Profiled calls, streams of chunks and arrays on callers' queues, from several threads at once."""
    import pyopencl as cl
    import pyopencl.array as cl_array

    fresh = imposed_session(any_session.device, kind=any_session.profile.kind)
    monkeypatch.setattr(stream, "CHUNK_BYTES", 1 << 15)
    watched = Watched(fresh, monkeypatch)
    points = cloud("disc", 30_000, np.float32)
    keys = points[:, 0].copy()
    vertices = clgeom.convex_hull(points, device=fresh).vertices

    def profiled(_):
        hull = clgeom.convex_hull(points, device=fresh, profile=True, filter="octagon")
        return (hull.vertices == vertices).all()

    def streamed(_):
        return (clgeom.convex_hull(points, device=fresh).vertices == vertices).all()

    def callers(_):
        queue = cl.CommandQueue(fresh.context)
        ordered = clgeom.sort(cl_array.to_device(queue, keys), device=fresh)
        return (ordered.get() == np.sort(keys)).all()

    assert profiled(0) and profiled(0)  # the second run of a plan keeps its launches and memory
    works = [profiled, streamed, callers, streamed] * 4
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda work: work(0), works))
    assert not watched.faults and watched.uses > 20


# Interrupts -------------------------------------------------------------------------------------------------------


def test_memory_comes_back_without_running_python(fresh):
    """No function of Python is called, so that Ctrl-C cannot strike in a destructor and leave a buffer counted."""
    buffer, called = allocate(fresh, 1000), []
    sys.setprofile(lambda frame, event, arg: called.append((event, frame.f_code.co_name)) if event == "call" else None)
    try:
        del buffer
    finally:
        sys.setprofile(None)
    assert not called and fresh.pool.active_blocks == 0 and fresh.pool.held_blocks == 1


def test_memory_of_cycles_comes_back(fresh):
    buffer = allocate(fresh, 1000)
    cycle = [buffer]
    cycle.append(cycle)
    del buffer, cycle
    assert fresh.pool.active_blocks == 1
    gc.collect()
    assert fresh.pool.active_blocks == 0 and fresh.pool.held_blocks == 1


def test_an_interrupted_allocation_is_not_counted_for_long(fresh, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    allocate(fresh, 1000)  # which returns at once
    with monkeypatch.context() as patches, pytest.raises(KeyboardInterrupt):
        patches.setattr(fresh.pool, "reference_to", interrupted)
        allocate(fresh, 1000)
    gc.collect()
    fresh.pool.free_held()
    assert fresh.pool.active_blocks == fresh.pool.held_blocks == fresh.pool.nbytes == 0


def test_interrupts_at_any_time_leave_no_memory_in_use(fresh):
    """Ctrl-C strikes between any two instructions, also where memory comes back."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("there are no timers")
    points = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    keys = np.arange(500, dtype=np.uint32)[::-1].copy()
    expected = clgeom.convex_hull(points, device=fresh).vertices.tolist()
    interrupts, before = 0, signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for k in range(300 if LONG else 60):
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 2e-4 + 7e-6 * k)
                    for _ in range(50):
                        with override(SORT):
                            clgeom.sort(keys, device=fresh)
                        clgeom.convex_hull(points, device=fresh)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:  # also one in the lines after the calls
                interrupts += 1
    finally:
        signal.signal(signal.SIGALRM, before)
    assert clgeom.convex_hull(points, device=fresh).vertices.tolist() == expected
    gc.collect()
    fresh.pool.free_held()
    assert interrupts > 20 and fresh.pool.active_blocks == 0 == fresh.pool.nbytes
