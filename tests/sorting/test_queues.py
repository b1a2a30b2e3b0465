"""Keys and results on queues of the caller, whose memory changes or goes at once after the call.

Every command of ours is slow here. So whatever does not wait for it reads too early, or is overwritten too late.
"""

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

import clgeom
from clgeom.core import launch

SLOW = """
kernel void slow(global uint *x, uint n)
{
    uint v = x[0];
    for (uint i = 0; i < n; ++i)
        v = v * 1664525u + 1013904223u + (v >> 3);
    x[0] = v;
}
"""
N = 3000
KEYS = np.random.default_rng(0).integers(0, 200, N).astype(np.uint32)
TABLE = KEYS.reshape(-1, 50)
ORDER = np.argsort(KEYS, kind="stable").astype(np.uint32)
WIDE = np.arange(3 * N, dtype=np.uint32).reshape(-1, 3)
FOUND = np.unique(KEYS, return_index=True, return_inverse=True)

#: A call with arrays on the device, the arrays on the host, and the results.
CALLS = {
    "sort": (clgeom.sort, (KEYS,), (np.sort(KEYS),)),
    "argsort": (clgeom.argsort, (KEYS,), (ORDER,)),
    "sort_by_key": (clgeom.sort_by_key, (KEYS, KEYS ^ 3), (np.sort(KEYS), (KEYS ^ 3)[ORDER])),
    "wide values": (clgeom.sort_by_key, (KEYS, WIDE), (np.sort(KEYS), WIDE[ORDER])),
    "strided": (lambda keys: clgeom.sort(keys[::2]), (np.repeat(KEYS, 2),), (np.sort(KEYS),)),
    "rows": (clgeom.argsort, (TABLE,), (np.argsort(TABLE, kind="stable"),)),
    "columns": (lambda keys: clgeom.sort(keys, axis=0), (TABLE,), (np.sort(TABLE, axis=0),)),
    "argsort of columns": (
        lambda keys: clgeom.argsort(keys, axis=0),
        (TABLE,),
        (np.argsort(TABLE, axis=0, kind="stable"),),
    ),
    "take": (lambda keys, at: clgeom.take(keys, at, mode="clip"), (KEYS, ORDER[::-1].copy()), (KEYS[ORDER[::-1]],)),
    "unique": (
        lambda keys: clgeom.unique(keys.T, return_index=True, return_inverse=True),
        (KEYS.reshape(50, -1).T.copy(),),
        (*FOUND[:2], FOUND[2].reshape(50, -1)),
    ),
    "searchsorted": (
        clgeom.searchsorted,
        (np.sort(KEYS), KEYS[::-1].copy()),
        (np.searchsorted(np.sort(KEYS), KEYS[::-1]),),
    ),
    "searchsorted, sorter": (
        lambda keys, sought, order: clgeom.searchsorted(keys, sought, sorter=order),
        (KEYS, KEYS >> 1, ORDER),
        (np.searchsorted(np.sort(KEYS), KEYS >> 1),),
    ),
    "bincount": (clgeom.bincount, (KEYS,), (np.bincount(KEYS),)),
    "histogram": (lambda keys: clgeom.histogram(keys, [3, 9, 90])[0], (KEYS,), (np.histogram(KEYS, [3, 9, 90])[0],)),
    "topk": (lambda keys: tuple(clgeom.topk(keys, 40, largest=False)), (KEYS,), (np.sort(KEYS)[:40], ORDER[:40])),
    "lexsort": (lambda a, b: clgeom.lexsort([a, b]), (KEYS ^ 3, KEYS >> 4), (np.lexsort([KEYS ^ 3, KEYS >> 4]),)),
}


@pytest.fixture
def slow(session, monkeypatch):
    """Arms what makes our commands slow; returns a list that gets a marker behind each of them."""
    program = cl.Program(session.context, SLOW).build()
    memory = cl.Buffer(session.context, cl.mem_flags.READ_WRITE, 64)
    cl.enqueue_fill_buffer(session.queue, memory, np.uint32(1), 0, 64).wait()

    behind = []

    def late(command):
        def then(session, queue, *arguments, **options):
            cl.Kernel(program, "slow")(queue, (1,), (1,), memory, np.uint32(1_000_000))
            result = command(session, queue, *arguments, **options)
            behind.append(cl.enqueue_marker(queue))
            return result

        return then

    def arm():
        monkeypatch.setattr(launch, "_enqueue", late(launch._enqueue))
        monkeypatch.setattr(launch, "_copy", late(launch._copy))
        return behind

    return arm


def arrays(session, values):
    """Each on a queue of its own, complete."""
    there = []
    for one in values:
        there.append(cl_array.to_device(cl.CommandQueue(session.context), one))
        there[-1].queue.finish()
    return there


def overwrite(array):
    cl.enqueue_fill_buffer(array.queue, array.base_data, np.uint8(0x55), 0, array.base_data.size)
    array.queue.flush()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("way", ("queue", "events"))
def test_results_wait_for_commands_and_inputs_may_change_at_once(session, slow, name, way):
    """Read on the first array's queue, or on another queue that knows only the result's events."""
    call, values, expected = CALLS[name]
    call(*arrays(session, values))  # kernels are built and tried
    slow()
    given = arrays(session, values)
    results = call(*given)
    results = results if isinstance(results, tuple) else (results,)
    queue = given[0].queue
    for result in results:
        assert result.queue in [array.queue for array in given]
    if way == "events":
        queue = cl.CommandQueue(session.context)
    else:
        for result in results:
            result.events.clear()
    for array in given:
        overwrite(array)
    for result, values in zip(results, expected):
        on = queue if way == "events" else result.queue
        np.testing.assert_array_equal(result.get(queue=on), values)


@pytest.mark.parametrize("own", (False, True))
def test_out_waits_for_commands(session, slow, own):
    """Also on a queue that knows only the events of `out`."""
    clgeom.argsort(cl_array.to_device(session.queue, TABLE), axis=0)
    slow()
    (given,) = arrays(session, (TABLE,))
    for call, out, expected in (
        (clgeom.sort, cl_array.zeros(given.queue, TABLE.shape, np.uint32), np.sort(TABLE)),
        (clgeom.argsort, cl_array.zeros(session.queue, TABLE.shape, np.uint32), np.argsort(TABLE, kind="stable")),
    ):
        assert call(given, out=out) is out
        queue = out.queue if own else cl.CommandQueue(session.context)
        np.testing.assert_array_equal(out.get(queue=queue), expected)
    (given,), out = arrays(session, (KEYS,)), cl_array.zeros(session.queue, N, np.uint32)
    clgeom.sort(given, out=out)
    overwrite(given)
    np.testing.assert_array_equal(out.get(queue=cl.CommandQueue(session.context)), np.sort(KEYS))


def in_host_memory(session, values):
    memory = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    return cl_array.Array(
        session.queue, values.shape, values.dtype, data=cl.Buffer(session.context, memory, hostbuf=values.copy())
    )


@pytest.mark.filterwarnings("ignore:Array has different queue")
@pytest.mark.parametrize("kind", ("memory of the host", "shared virtual memory"))
def test_memory_that_goes_with_its_array_is_read_before(session, slow, kind):
    """A driver frees such memory at once, not after the commands that use it: calls have read it when they return."""
    if kind == "memory of the host":
        make = in_host_memory
    elif session.device.svm_capabilities & cl.device_svm_capabilities.COARSE_GRAIN_BUFFER:

        def make(session, values):
            return cl_array.to_device(session.queue, values, allocator=cl.tools.SVMAllocator(session.context))
    else:
        pytest.skip("no shared virtual memory")
    order = cl_array.to_device(session.queue, ORDER)
    calls = clgeom.sort, lambda keys: clgeom.sort(keys[::2]), lambda keys: clgeom.take(keys, order, mode="clip")
    for call in calls:
        call(make(session, KEYS))
    behind = slow()
    for call in calls:
        del behind[:]
        call(make(session, KEYS))
        assert behind
        assert {marker.command_execution_status for marker in behind} == {cl.command_execution_status.COMPLETE}
