"""Staged copies: the right bytes in every order of events, and nothing that goes on after an error."""

import collections
import contextlib
import functools
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from device_settings import imposed_session
from faults import Faults
from hypothesis import given
from hypothesis import strategies as st

import clgeom
from clgeom.core import launch, staging
from clgeom.core.staging import Link, threads_for
from clgeom.errors import ClgeomError, DeviceError, InvalidInput
from clgeom.hull import stream

SLOT = 1 << 12
PART = 1 << 8
LEAST = 1 << 10
THREADS = 3


@functools.cache
def said_to_be_gpu(session):
    return imposed_session(session.device, kind="gpu")


@pytest.fixture
def gpu(session, monkeypatch):
    """The device, said to have memory of its own, with small slots; whatever has a kilobyte is staged."""
    small = {"SLOT_BYTES": SLOT, "LEAST_PART": PART, "LEAST_BYTES": LEAST, "FIRST_BYTES": 0}
    for name, value in small.items():
        monkeypatch.setattr(staging, name, value)
    monkeypatch.setattr(staging.Stage, "most_threads", THREADS)
    monkeypatch.setattr(staging, "threads_for", lambda nbytes, link, most, **_: most)
    return said_to_be_gpu(session)


@pytest.fixture
def transfers(monkeypatch):
    """The staged copies that were made."""
    made, init = [], staging.Transfer.__init__

    def noting(self, stage, way, threads):
        made.append(way.name)
        init(self, stage, way, threads)

    monkeypatch.setattr(staging.Transfer, "__init__", noting)
    return made


def free_slots(gpu):
    return gpu.cached(("stage",), None).slots.qsize()


def there_and_back(gpu, values):
    buffer = launch.allocate(gpu, values.nbytes)
    launch.write(gpu, buffer, values)
    return launch.read(gpu, buffer, values.dtype, values.size)


# The choice -----------------------------------------------------------------------------------------------------

speeds = st.floats(1e6, 1e12)
links = st.builds(Link, plain=speeds, locked=speeds, fill=speeds)


@given(links, st.integers(1, 1 << 40), st.integers(1, 64))
def test_a_staged_copy_is_expected_to_gain(link, nbytes, most):
    threads = threads_for(nbytes, link, most)
    assert 0 <= threads <= most
    if threads:
        assert link.staged(nbytes, threads) * staging.LEAST_GAIN < nbytes / link.plain
        assert threads_for(2 * nbytes, link, most) >= threads  # larger arrays are staged, too
        assert link.staged(nbytes, threads) == min(link.staged(nbytes, k + 1) for k in range(most))
        if threads > 1:  # no more than keep the link busy
            assert link.fill * staging.SHARED_SPEED * (threads - 1) <= link.locked
    if link.locked <= link.plain or link.fill * most <= link.plain:
        assert threads == 0


@given(links, st.integers(1, 1 << 40), st.integers(1, 64))
def test_copies_that_follow_each_other_keep_the_link_busy(link, nbytes, most):
    threads = threads_for(nbytes, link, most, ahead=True)
    assert 0 <= threads <= min(most, nbytes // staging.SLOT_BYTES + 1)
    if threads:
        filled = threads * link.fill * staging.SHARED_SPEED
        assert min(filled, link.locked) > link.plain * staging.LEAST_GAIN
        if threads < min(most, nbytes // staging.SLOT_BYTES):
            assert filled >= link.locked
    if link.locked <= link.plain:
        assert threads == 0


GB = 1e9
#: Links, cores, and how many threads copy 1, 16, 64 and 1024 MiB.
MACHINES = {
    "PCIe 5, a fast host": (Link(10 * GB, 55 * GB, 10 * GB), 16, (0, 0, 6, 8)),
    "the same, two cores": (Link(10 * GB, 55 * GB, 10 * GB), 2, (0, 0, 0, 2)),
    "the same, one core": (Link(10 * GB, 55 * GB, 10 * GB), 1, (0, 0, 0, 0)),
    "PCIe 3": (Link(5 * GB, 12 * GB, 9 * GB), 8, (0, 2, 2, 2)),
    "a driver that stages as well": (Link(45 * GB, 50 * GB, 10 * GB), 16, (0, 0, 0, 0)),
    "memory that is shared": (Link(12 * GB, 12 * GB, 12 * GB), 8, (0, 0, 0, 0)),
    "a slow link": (Link(0.9 * GB, 1 * GB, 10 * GB), 8, (0, 0, 0, 0)),
}


@pytest.mark.parametrize("name", MACHINES)
def test_choices_for_known_links(name):
    link, cores, expected = MACHINES[name]
    sizes = (1 << 20, 1 << 24, 1 << 26, 1 << 30)
    assert tuple(threads_for(n, link, min(cores, staging.MOST_THREADS)) for n in sizes) == expected


def test_the_link_is_measured_once_for_each_direction_after_some_copies(session, monkeypatch):
    gpu = imposed_session(session.device, kind="gpu")
    values = np.random.default_rng(0).random(1 << 17)
    monkeypatch.setattr(staging, "LEAST_BYTES", values.nbytes)
    monkeypatch.setattr(staging, "FIRST_BYTES", 5 * values.nbytes)
    measured, measure = [], staging.Stage._measured

    def noting(stage, way):
        measured.append(way.name)
        return measure(stage, way)

    monkeypatch.setattr(staging.Stage, "_measured", noting)
    for k in range(4):
        assert (there_and_back(gpu, values[k:]) == values[k:]).all()
        there_and_back(gpu, values)
    assert measured == ["in", "out"]
    for link in gpu.cached(("stage",), None).links.values():
        assert min(link.plain, link.locked, link.fill) > 0


# Copies ---------------------------------------------------------------------------------------------------------


@given(data=st.data())
def test_the_bytes_arrive(session, data):
    edges = [LEAST, 2 * PART * THREADS, SLOT, 2 * SLOT * THREADS, 10 * SLOT]
    dtype = np.dtype(data.draw(st.sampled_from(["u1", "i2", "f4", "f8", "c16", "V3"])))
    nbytes = data.draw(st.sampled_from(edges)) + data.draw(st.integers(-17, 17)) * dtype.itemsize
    n = max(nbytes // dtype.itemsize, 1)
    values = np.random.default_rng(n).integers(0, 256, n * dtype.itemsize, dtype=np.uint8).view(dtype)
    values.flags.writeable = False
    start = data.draw(st.integers(0, n - 1))
    with pytest.MonkeyPatch.context() as patched:
        gpu = said_to_be_gpu(session)
        small = {"SLOT_BYTES": SLOT, "LEAST_PART": PART, "LEAST_BYTES": LEAST, "FIRST_BYTES": 0}
        for name, value in small.items():
            patched.setattr(staging, name, value)
        patched.setattr(staging.Stage, "most_threads", THREADS)
        threads = data.draw(st.integers(1, THREADS))
        patched.setattr(staging, "threads_for", lambda nbytes, link, most, **_: threads)
        buffer = launch.allocate(gpu, values.nbytes)
        launch.write(gpu, buffer, values)
        found = launch.read(gpu, buffer, dtype, n - start, start)
    assert found.tobytes() == values[start:].tobytes()


def test_what_is_staged(gpu, session, transfers):
    values = np.arange(3000.0)
    there_and_back(gpu, values)
    assert transfers == ["in", "out"]
    there_and_back(gpu, values[: LEAST // 8 - 1])  # small ones are not
    there_and_back(session, values)
    locked = clgeom.pinned_empty((50, 60), device=gpu)
    locked[:] = values.reshape(50, 60)
    for part in (locked, locked[5:], locked.ravel()[7:].view(np.uint64)):
        assert staging.is_locked(part)
        launch.write(gpu, launch.allocate(gpu, part.nbytes), part)
    assert transfers == (["in", "out"] if session.profile.is_cpu else ["in", "out"] * 2)
    assert not staging.is_locked(values) and not staging.is_locked(np.array(locked))


LAYOUTS = {
    "plain": lambda points: points,
    "fortran": np.asfortranarray,
    "strided": lambda points: np.repeat(points, 2, axis=0)[::2],
    "reversed": lambda points: points[::-1].copy()[::-1],
    "big-endian": lambda points: points.astype(points.dtype.newbyteorder(">")),
    "unaligned": lambda points: np.frombuffer(b"x" + points.tobytes(), points.dtype, offset=1).reshape(points.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_calls_with_arrays_of_any_layout(gpu, session, transfers, monkeypatch, layout):
    points = np.random.default_rng(1).standard_normal((3000, 2)).astype(np.float32)
    given, keys = LAYOUTS[layout](points), LAYOUTS[layout](points.ravel())
    given.flags.writeable = keys.flags.writeable = False
    expected = clgeom.convex_hull(points, device=session).vertices
    np.testing.assert_array_equal(clgeom.convex_hull(given, device=gpu).vertices, expected)
    monkeypatch.setattr(stream, "CHUNK_BYTES", 5000)
    monkeypatch.setattr(stream, "LARGER", 1)
    np.testing.assert_array_equal(clgeom.convex_hull(given, device=gpu).vertices, expected)
    assert transfers.count("in") >= 5
    np.testing.assert_array_equal(clgeom.sort(keys, device=gpu), np.sort(points.ravel()))
    np.testing.assert_array_equal(clgeom.argsort(keys, device=gpu), np.argsort(points.ravel(), kind="stable"))
    assert "out" in transfers


def test_results_of_every_family(gpu, session, transfers):
    """Sorted keys, labels, a mask, a table: what is large comes back staged."""
    rng = np.random.default_rng(3)
    keys, grid = rng.integers(0, 99, 4000), rng.random((60, 90)).astype(np.float32)
    points = rng.random((4000, 2)).astype(np.float32)
    a, b = ("".join(rng.choice(list("ACGT"), 200)) for _ in range(2))

    def results(device):
        yield clgeom.sort_by_key(keys, values=points, device=device)[1]
        yield clgeom.heaphull_filter(points, device=device).labels
        yield clgeom.orient2d(points[:1000], points[1000:2000], points[2000:3000], device=device)
        yield clgeom.coverage_regions(grid, (0.5,), device=device, outline="segments")[0].__geo_interface__
        yield clgeom.dp.problems.lcs(a, b, device=device).length
        yield clgeom.radio.free_space(points[:, 0] + 1, frequency=900, device=device)

    for found, expected in zip(results(gpu), results(session)):
        if isinstance(expected, np.ndarray):
            np.testing.assert_array_equal(found, expected)
        else:
            assert found == expected
    assert transfers.count("in") > 5 and transfers.count("out") > 3


def test_several_threads_copy_at_once(gpu):
    rng = np.random.default_rng(4)
    arrays = [rng.random(n) for n in (300, 5000, 20_000, 77_777)]

    def work(k):
        values = arrays[k % len(arrays)] + k
        return (there_and_back(gpu, values) == values).all()

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(48)))
    assert free_slots(gpu) == THREADS + staging.SPARE_SLOTS


# Errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ("MemoryError", "LogicError"))
def test_after_an_error_no_copy_goes_on(gpu, error):
    import pyopencl as cl

    values = np.random.default_rng(5).random(20 * SLOT // 8)
    buffer = launch.allocate(gpu, values.nbytes)
    for work in (
        lambda: launch.write(gpu, buffer, values),
        lambda: launch.read(gpu, buffer, values.dtype, values.size),
        lambda: launch.wait_for(gpu, launch.copy_in(gpu, buffer, values)),
    ):
        work()
        for k in (0, 1, 7, 19):
            with Faults(gpu, "copy", k, many=1 if error == "LogicError" else 99, error=getattr(cl, error)) as faults:
                with pytest.raises(ClgeomError, match="MADE_UP_FAULT"):
                    work()
                calls = faults.calls
                time.sleep(0.01)
                assert faults.calls == calls
            assert free_slots(gpu) == THREADS + staging.SPARE_SLOTS
        assert (there_and_back(gpu, values) == values).all()


def test_a_copy_that_fails_on_the_device_is_an_error(gpu, monkeypatch):
    """It has begun without an error, and its event says later that it failed."""
    import pyopencl as cl

    def fails(*args):
        raise cl.RuntimeError("wait_for_events failed: MADE_UP_FAULT")

    monkeypatch.setattr(cl, "wait_for_events", fails)
    with pytest.raises(DeviceError, match="failed to end a copy. OpenCL says: .* MADE_UP_FAULT"):
        there_and_back(gpu, np.arange(3000.0))


def test_without_memory_to_lock_arrays_are_copied_plainly(session, gpu, transfers):
    import pyopencl as cl

    fresh, values = imposed_session(session.device, kind="gpu"), np.arange(3000.0)
    with Faults(fresh, "map", 0, many=2, error=cl.MemoryError) as faults:
        assert (there_and_back(fresh, values) == values).all()
    assert faults.happened and not transfers
    assert (there_and_back(fresh, values) == values).all()
    assert transfers == ["in", "out"]


def interrupting(monkeypatch, at):
    """Interrupt the main thread when part number `at` is filled; returns the list of parts."""
    fill, parts = staging.HostCopy.fill, []

    def filling(self, *part):
        parts.append(part)
        if len(parts) == at:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        if len(parts) >= at:
            time.sleep(0.001)  # the main thread is told within some parts, not at once
        fill(self, *part)

    monkeypatch.setattr(staging.HostCopy, "fill", filling)
    return parts


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="the interrupt is sent by pthread_kill")
@pytest.mark.parametrize("way", ("in", "out", "beside"))
def test_an_interrupt_ends_a_copy(gpu, monkeypatch, way, request):
    # a shell starts what runs in the background with interrupts ignored
    request.addfinalizer(functools.partial(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT)))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    values = np.random.default_rng(6).random(1000 * SLOT // 8)
    buffer = launch.allocate(gpu, values.nbytes)
    launch.read(gpu, buffer, values.dtype, values.size)
    launch.write(gpu, buffer, values)
    with monkeypatch.context() as patched:
        parts = interrupting(patched, 5)
        with pytest.raises(KeyboardInterrupt):
            if way == "in":
                launch.write(gpu, buffer, values)
            elif way == "out":
                launch.read(gpu, buffer, values.dtype, values.size)
            else:
                launch.wait_for(gpu, launch.copy_in(gpu, buffer, values))
        done = len(parts)
        time.sleep(0.02)
        assert len(parts) == done < 1000
    assert free_slots(gpu) == THREADS + staging.SPARE_SLOTS
    assert (there_and_back(gpu, values) == values).all()


def test_chunks_that_are_not_wanted_are_not_copied(gpu, monkeypatch):
    """The chunk that is under way when the work on another one fails, or ends."""
    points = np.random.default_rng(7).random((4000, 2))
    monkeypatch.setattr(stream, "CHUNK_BYTES", 4 * SLOT)
    monkeypatch.setattr(stream, "LARGER", 1)
    under_way = collections.Counter()
    work = staging.Transfer._work

    def counting(self):
        under_way["begun"] += 1
        try:
            work(self)
        finally:
            under_way["ended"] += 1

    monkeypatch.setattr(staging.Transfer, "_work", counting)
    for piece, array in stream.pieces_of(gpu, points):
        assert len(piece.rows) < len(points) and (array.to_host() == piece.rows).all()
        break
    del piece, array
    assert under_way["begun"] == under_way["ended"]
    with Faults(gpu, "launch", 2), contextlib.suppress(ClgeomError):
        clgeom.convex_hull(points, device=gpu)
    assert under_way["begun"] == under_way["ended"]
    clgeom.convex_hull(points, device=gpu)
    gpu.release()
    assert free_slots(gpu) == THREADS + staging.SPARE_SLOTS


def test_buffers_return_to_the_pool(gpu):
    values = np.arange(5000.0)
    there_and_back(gpu, values)
    before = gpu.pool.active_blocks
    for k in range(3):
        there_and_back(gpu, values)
        with Faults(gpu, "copy", k, many=99), contextlib.suppress(ClgeomError):
            there_and_back(gpu, values)
    assert gpu.pool.active_blocks == before


#: A thread that goes on after the main thread, when the interpreter starts no further work in others.
LATE = """
import sys, threading
from dataclasses import replace
import numpy as np
from clgeom.core import launch, staging
from clgeom.core.device import Session

staging.LEAST_BYTES, staging.FIRST_BYTES, staging.threads_for = 1, 0, lambda nbytes, link, most, **_: most
session, values = Session(sys.argv[1]), np.arange(1e6)
session.profile = replace(session.profile, kind="gpu")

def copies(many):
    for _ in range(many):
        buffer = launch.allocate(session, values.nbytes)
        launch.write(session, buffer, values)
        assert (launch.read(session, buffer, values.dtype, values.size) == values).all()

def late():
    threading.main_thread().join()
    copies(3)
    print("right")

copies(int(sys.argv[2]))
threading.Thread(target=late).start()
"""


@pytest.mark.parametrize("before", (0, 1))
def test_a_thread_that_outlives_the_main_one(session, before):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", LATE, session.profile.name, str(before)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr[-3000:]


def test_threads_and_memory_go_with_their_session(session, gpu):
    fresh, values = imposed_session(session.device, kind="gpu"), np.arange(5000.0)
    before = set(threading.enumerate())
    there_and_back(fresh, values)
    stage = weakref.ref(fresh.cached(("stage",), None))
    own = set(threading.enumerate()) - before  # threads of other sessions may end at any time
    assert own
    del fresh
    gc.collect()
    until = time.monotonic() + 60
    while any(thread.is_alive() for thread in own) and time.monotonic() < until:
        time.sleep(0.001)
    assert not any(thread.is_alive() for thread in own) and stage() is None


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell which file is mapped")
def test_mapped_file_is_read_without_its_map(gpu, monkeypatch, tmp_path):
    points = np.random.default_rng(8).random((4000, 2))
    np.save(tmp_path / "points.npy", points)
    mapped, preadv, reads = np.load(tmp_path / "points.npy", mmap_mode="r"), os.preadv, []
    monkeypatch.setattr(stream, "CHUNK_BYTES", 4 * SLOT)
    monkeypatch.setattr(stream, "LARGER", 1)

    def in_small_parts(file, parts, at):
        reads.append(at)
        return preadv(file, [parts[0][:1000]], at)

    monkeypatch.setattr(os, "preadv", in_small_parts)
    copies = [
        launch.read(gpu, array.chunks[0].buffer, np.float64, 2 * array.n) for _, array in stream.pieces_of(gpu, mapped)
    ]
    assert np.concatenate(copies).tobytes() == points.tobytes()
    assert len(reads) >= points.nbytes // 1000 and min(reads) == mapped.offset
    monkeypatch.setattr(os, "preadv", lambda *_: 0)
    with pytest.raises(InvalidInput, match="must be readable to its end"):
        clgeom.convex_hull(mapped, device=gpu)
    os.truncate(tmp_path / "points.npy", 4096)
    with pytest.raises(InvalidInput, match="cut after it was mapped"):
        clgeom.convex_hull(mapped, device=gpu)
    assert free_slots(gpu) == THREADS + staging.SPARE_SLOTS
