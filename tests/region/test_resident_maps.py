"""Regions of maps that are on a device with memory of its own: calls do not wait for it, results do."""

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest
from conftest import imposed_session

from clgeom.region.arc import chains
from clgeom.region.arc.chains import Unread
from clgeom.region.coverage.regions import coverage_regions
from clgeom.runtime.device import as_session

LEVELS = (-85.0, -95.0, -105.0)


@pytest.fixture(scope="module")
def gpu():
    """The device, said to have memory of its own."""
    return imposed_session(as_session(None).device, kind="gpu")


@pytest.fixture(autouse=True)
def known(gpu, monkeypatch):
    """Let arrays in the context of the session belong to it."""
    monkeypatch.setattr("clgeom.runtime.device.session_of_context", lambda *_: gpu)


def maps_of(count, rows=30, columns=41, seed=0):
    return (-70 - 50 * np.random.default_rng(seed).random((count, rows, columns))).astype(np.float32)


def is_read(regions):
    return all(group.chains._outline.on_host for group in regions._groups)


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
    gpu._made.pop("unread", None)
    sizes = [made.nbytes for made in _made(gpu, there)]
    monkeypatch.setattr(chains, "UNREAD_PART", gpu.profile.global_mem_bytes // (3 * sizes[0]))
    gpu._made.pop("unread", None)
    found = [coverage_regions(there, LEVELS, parts=False) for _ in range(6)]
    assert [is_read(one) for one in found] == [True] * 3 + [False] * 3
    for _ in range(9):  # what is gone needs no room
        coverage_regions(there, LEVELS, parts=False)
    assert [is_read(one) for one in found][4:] == [False] * 2
    gpu._made.pop("unread", None)


def _made(gpu, there):
    found = coverage_regions(there, LEVELS, parts=False)
    return [group.chains._outline._made for group in found._groups]


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
