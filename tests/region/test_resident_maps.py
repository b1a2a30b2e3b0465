"""Regions of maps that are on a device with memory of its own: calls do not wait for it, results do."""

import collections
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest
from device_settings import imposed_session

from clgeom.core import kept
from clgeom.core.cache import Cache
from clgeom.core.device import as_session
from clgeom.core.launch import allocate, run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import Policy
from clgeom.region.arc import chains
from clgeom.region.arc.chains import Unread
from clgeom.region.coverage.regions import coverage_regions

LEVELS = (-85.0, -95.0, -105.0)


@pytest.fixture(scope="module")
def gpu():
    """The device, said to have memory of its own."""
    return imposed_session(as_session(None).device, kind="gpu")


@pytest.fixture(autouse=True)
def known(gpu, monkeypatch):
    """Let arrays in the context of the session belong to it."""
    monkeypatch.setattr("clgeom.core.device.session_of_context", lambda *_: gpu)


def maps_of(count, rows=30, columns=41, seed=0):
    return (-70 - 50 * np.random.default_rng(seed).random((count, rows, columns))).astype(np.float32)


def is_read(regions):
    return all(group.chains.on_host for group in regions._groups)


def check_same(found, expected):
    for name in ("maps", "levels", "parts", "areas"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected):
        assert (one.map, one.level, one.segments, len(one)) == (other.map, other.level, other.segments, len(other))
        for ring, wanted in zip(one.rings, other.rings):
            assert np.array_equal(ring, wanted)


@pytest.mark.parametrize("options", ({}, {"segments": 3, "cuts": "width"}, {"axis": "both"}, {"direction": "<="}))
def test_they_are_those_of_the_host(gpu, options):
    for seed in range(3):  # the first calls make plans, the others take them
        maps = maps_of(5, seed=seed)
        found = coverage_regions(cl_array.to_device(gpu.queue, maps), LEVELS, parts=False, **options)
        assert not is_read(found)
        check_same(found, coverage_regions(maps, LEVELS, parts=False, **options))
        assert is_read(found)


def test_levels_types_and_nodata_have_plans_of_their_own(gpu):
    maps = np.round(maps_of(4))
    for levels, dtype, nodata in (
        (LEVELS, np.float32, None),
        ((-80, -90, -100), np.float32, None),
        (LEVELS, np.float32, -77.0),
        (LEVELS, np.float32, -78.0),
        (LEVELS, np.int16, -78),
        (-95, np.float32, None),
    ):
        values, options = maps.astype(dtype), {"parts": False, "nodata": nodata}
        for _ in range(2):
            found = coverage_regions(cl_array.to_device(gpu.queue, values), levels, **options)
            check_same(found, coverage_regions(values, levels, **options))


def test_more_vertices_than_there_was_room_for(gpu):
    y, x = np.mgrid[:300, :300]
    radii = np.arange(100, 148)[:, None, None]
    discs = (np.hypot(x - 150, y - 150) < radii).astype(np.float32)
    expected = coverage_regions(discs, 1, parts=False, segments=1)
    assert sum(map(len, expected)) > 6 * len(discs) + 1024
    check_same(coverage_regions(cl_array.to_device(gpu.queue, discs), 1, parts=False, segments=1), expected)


def test_maps_that_change_after_the_call(gpu):
    maps, other = maps_of(9), cl.CommandQueue(gpu.context)
    there = cl_array.to_device(other, maps)
    found = coverage_regions(there, LEVELS, parts=False)
    there.fill(0)
    del there
    check_same(found, coverage_regions(maps, LEVELS, parts=False))


def test_results_that_several_threads_ask_for_or_another_process(gpu):
    maps = maps_of(6)
    there, expected = cl_array.to_device(gpu.queue, maps), coverage_regions(maps, LEVELS, parts=False)
    found = coverage_regions(there, LEVELS, parts=False)
    with ThreadPoolExecutor(4) as threads:
        for areas in threads.map(lambda _: found.areas, range(8)):
            assert np.array_equal(areas, expected.areas)
    copied = pickle.loads(pickle.dumps(coverage_regions(there, LEVELS, parts=False)))
    check_same(copied, expected)


def test_memory_of_results_that_nobody_asks_for_is_limited(gpu, monkeypatch):
    there = cl_array.to_device(gpu.queue, maps_of(6))
    for _ in range(3):  # the first runs of a plan take other memory than those that keep it
        coverage_regions(there, LEVELS, parts=False)
    gpu.cache.drop(("unread",))
    sizes = [chains._result.nbytes for chains in _chains(gpu, there)]
    monkeypatch.setattr(chains, "UNREAD_PART", gpu.profile.global_mem_bytes // (3 * sizes[0]))
    gpu.cache.drop(("unread",))
    found = [coverage_regions(there, LEVELS, parts=False) for _ in range(6)]
    assert [is_read(one) for one in found] == [True] * 3 + [False] * 3
    for _ in range(9):  # what is gone needs no room
        coverage_regions(there, LEVELS, parts=False)
    assert [is_read(one) for one in found][4:] == [False] * 2
    gpu.cache.drop(("unread",))


def _chains(gpu, there):
    found = coverage_regions(there, LEVELS, parts=False)
    return [group.chains for group in found._groups]


# Memory of plans that run often --------------------------------------------------------------------------------------


@pytest.fixture
def rounds(gpu):
    """rounds(count): the last result of so many calls with the same maps, after some that make plans."""
    there = cl_array.to_device(gpu.queue, maps_of(5))

    def run(count):
        for _ in range(count):
            found = coverage_regions(there, LEVELS, parts=False)
        return found

    gpu.threads.cache = Cache()  # with what other tests left
    run(4)
    return run


def test_a_round_allocates_nothing(gpu, rounds, monkeypatch):
    counts = collections.Counter()

    def count(owner, name):
        call = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args, **options: counts.update([name]) or call(*args, **options))

    count(gpu.pool, "allocate")
    names = [name for name in dir(cl) if name.startswith("enqueue_")]
    for name in names:
        count(cl, name)
    found = rounds(10)
    launches = counts.pop("enqueue_nd_range_kernel")
    assert launches == 10 * len(found.phases) == 110
    assert not counts, "nothing but launches"
    check_same(found, coverage_regions(maps_of(5), LEVELS, parts=False))


def test_results_have_memory_of_their_own_until_they_are_read(gpu):
    stacks = [maps_of(5, seed=seed) for seed in range(4)]
    there = [cl_array.to_device(gpu.queue, stack) for stack in stacks]
    for _ in range(3):
        found = [coverage_regions(one, LEVELS, parts=False) for one in there]
        assert not any(map(is_read, found))
        for regions, stack in zip(found[::-1], stacks[::-1]):
            check_same(regions, coverage_regions(stack, LEVELS, parts=False))


def test_both_axes_of_square_maps_have_memory_of_their_own(gpu):
    """One plan runs twice before the first result is used."""
    maps = maps_of(4, 33, 33)
    there = cl_array.to_device(gpu.queue, maps)
    for _ in range(4):
        found = coverage_regions(there, LEVELS, parts=False, axis="both")
        check_same(found, coverage_regions(maps, LEVELS, parts=False, axis="both"))


def test_waiting_memory_is_let_go_of(gpu, rounds, monkeypatch):
    found = rounds(1)
    held, active = gpu.pool.held_blocks, gpu.pool.active_blocks
    assert held > 0 and active > 0
    gpu.pool.free_held()
    assert gpu.pool.held_blocks == 0 and gpu.pool.active_blocks == active, "the result has its memory"
    check_same(found, coverage_regions(maps_of(5), LEVELS, parts=False))
    assert gpu.pool.active_blocks == 0, "what was read has none"
    nbytes = gpu.pool.nbytes
    many = [rounds(1) for _ in range(5)]
    del many
    assert gpu.pool.active_blocks == 0
    gpu.pool.free_held()
    assert gpu.pool.nbytes == 0 < nbytes
    monkeypatch.setattr(kept, "MOST_WITH_MEMORY", 2)  # a round has two plans
    for columns in range(30, 34):
        for _ in range(3):
            coverage_regions(cl_array.to_device(gpu.queue, maps_of(2, 20, columns)), LEVELS, parts=False)
    plans = gpu.thread_cache.of("plans").values()
    assert sum(one.idle is not None for one in plans) == 2 and gpu.pool.active_blocks == 0


def test_plans_that_run_last_keep_their_memory(gpu, monkeypatch):
    """The plan that was made first stays if it goes on running; that which has not run for longest gives way."""
    gpu.threads.cache = Cache()
    monkeypatch.setattr(kept, "MOST_WITH_MEMORY", 2)
    steps = (
        Step(
            "primitives/set_value", Policy("group", 1), (Scratch(name, np.uint32, 1),), 1, {"value": "uint", "to": "0"}
        )
        for name in "abc"
    )
    first, second, third = (Plan(step).kept(memory=True) for step in steps)

    def those_with_memory():
        return [one.plan for one in gpu.thread_cache.of("plans").values() if one.idle is not None]

    for plans in ((first, second), (first, third), (first, third)):
        for _ in range(2):
            for plan in plans:
                run(gpu, plan)
    assert those_with_memory() == [first, third]


def test_large_memory_is_not_kept(gpu, rounds, monkeypatch):
    gpu.threads.cache = Cache()
    monkeypatch.setattr(kept, "SET_PART", gpu.profile.global_mem_bytes // 1000)
    check_same(rounds(4), coverage_regions(maps_of(5), LEVELS, parts=False))
    assert all(one.idle is None for one in gpu.thread_cache.of("plans").values())


def test_memory_that_another_queue_uses_does_not_wait_for_a_round(gpu, rounds):
    found, other = rounds(1), cl.CommandQueue(gpu.context)
    chains = found._groups[0].chains
    buffer, gate = chains._result[chains._out.memory], cl.UserEvent(gpu.context)
    memory, size = buffer.int_ptr, buffer.size
    cl.enqueue_barrier(other, wait_for=[gate])
    gpu.pool.hold(buffer, other)
    del found, chains, buffer
    assert memory not in {one.int_ptr for one in [allocate(gpu, size) for _ in range(4)]}
    chains = rounds(1)._groups[0].chains
    assert chains._result[chains._out.memory].int_ptr != memory
    gate.set_status(cl.command_execution_status.COMPLETE)
    other.finish()
    assert memory in {one.int_ptr for one in [allocate(gpu, size) for _ in range(8)]}


# ----------------------------------------------------------------------------------------------------------------------


def test_what_is_gone_is_not_read():
    class Result:
        def vertices(self):
            read.append(self)

    read, unread = [], Unread(100)
    for _ in range(50):
        unread.add(Result(), 60)
    gc.collect()
    kept = [Result() for _ in range(3)]
    for one in kept:
        unread.add(one, 60)
    assert read == kept[:2] and unread.nbytes == 60
    unread.add(kept[0], 1000)
    assert read == [*kept[:2], kept[2]], "the last one is not read"
