"""`sort_file`: what `sort` and `argsort` return, for files cut in every way, also after it was interrupted."""

import contextlib
import json
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from children import environment
from hypothesis import given
from hypothesis import strategies as st
from sort_keys import DISTRIBUTIONS
from sorted_files import check, saved

import clgeom
from clgeom.errors import InvalidInput
from clgeom.scale.sorting import file, runs, state
from clgeom.scale.sorting import job as external
from clgeom.scale.sorting.pipeline import Pipeline
from clgeom.scale.sorting.runs import Run, blocks_of
from clgeom.sorting.keys import KEY_TYPES
from clgeom.sorting.splitters import splitters

#: Less memory than is accepted, so that few keys are many chunks.
LEAST = 1 << 16


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    monkeypatch.setattr(file, "LEAST_BYTES", LEAST)


def dense(rng, n, dtype):
    """Most keys share their leading bits, so that these do not tell blocks apart."""
    keys = rng.integers(0, 120, n).astype(dtype)
    return np.where(rng.random(n) < 0.05, DISTRIBUTIONS["special"](rng, n, dtype), keys)


@given(
    dtype=st.sampled_from(KEY_TYPES),
    name=st.sampled_from([*DISTRIBUTIONS, "dense"]),
    n=st.integers(0, 12_000),
    chunk=st.integers(1, 5_000),
    options=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_file_is_sorted_as_the_array(tmp_path_factory, session, dtype, name, n, chunk, options):
    descending, with_indices, from_chunks = options
    folder = tmp_path_factory.mktemp("sort")
    keys = {**DISTRIBUTIONS, "dense": dense}[name](np.random.default_rng(n), n, dtype)
    source = saved(folder / "keys.npy", keys)
    if from_chunks:
        source = (keys[start : start + chunk] for start in range(0, max(n, 1), chunk))
    more = {"indices": folder / "order.npy"} if with_indices else {}
    out = folder / "sorted.npy"
    found = clgeom.scale.sort_file(source, out, max_bytes=LEAST, descending=descending, device=session, **more)
    if n or not from_chunks:
        check(found, keys, descending)
    names = {"keys.npy", "sorted.npy", *(("order.npy",) if with_indices else ())}
    assert set(os.listdir(folder)) == names
    assert 0 < found.peak.host_bytes <= LEAST


@pytest.fixture
def groups(monkeypatch):
    """The groups of buckets so far."""
    names, write = [], external.FileSort._blocks_of_buckets
    noted = lambda job, group, *rest: names.append(group) or write(job, group, *rest)  # noqa: E731
    monkeypatch.setattr(external.FileSort, "_blocks_of_buckets", noted)
    return names


@pytest.mark.parametrize("dtype", ("int64", "float64"))
@pytest.mark.parametrize("quicker", (False, True))
def test_buckets_of_equal_prefixes_are_divided(tmp_path, monkeypatch, groups, dtype, quicker):
    monkeypatch.setattr(external, "_host_is_quicker", lambda *_: quicker and dtype == "int64")
    # the sample sees the even keys only, which are spread; the others share all but their last bits
    keys = np.random.default_rng(0).integers(-(2**62), 2**62, 1 << 16)
    keys[1::2] = np.random.default_rng(1).integers(5, 9, 1 << 15)
    monkeypatch.setattr(external, "SAMPLE", len(keys) // 2)
    keys = keys.view(dtype) if dtype == "float64" else keys
    found = clgeom.scale.sort_file(saved(tmp_path / "keys.npy", keys), tmp_path / "sorted.npy", max_bytes=1 << 18)
    check(found, keys)
    assert len(groups) > 1, "all blocks could be cut between prefixes"


@pytest.mark.parametrize("name, from_chunks", (("random", False), ("dense", False), ("few", True)))
def test_buckets_of_buckets_as_of_little_memory(tmp_path, monkeypatch, groups, name, from_chunks):
    """Buckets of three levels; where they were interrupted, the same call goes on in each."""
    monkeypatch.setattr(external, "LEAST_ROWS", 1 << 10)
    monkeypatch.setattr(external, "LEAST_BUCKETS", 4)
    keys = {**DISTRIBUTIONS, "dense": dense}[name](np.random.default_rng(5), 20_000, np.dtype(np.int64))
    source, out, seen = saved(tmp_path / "keys.npy", keys), tmp_path / "s.npy", []
    options = {"max_bytes": LEAST, "indices": tmp_path / "order.npy", "progress": lambda *now: seen.append(now)}
    if from_chunks:
        check(clgeom.scale.sort_file(np.array_split(keys, 7), out, **options), keys)
    else:
        write, calls = Pipeline.write, []
        with monkeypatch.context() as patched:
            for stop in (60, 700, 900):
                patched.setattr(Pipeline, "write", lambda *a: calls.append(0) or (1 // (stop - len(calls)), write(*a)))  # noqa: B023
                calls.clear()
                with contextlib.suppress(ZeroDivisionError):
                    clgeom.scale.sort_file(source, out, **options)
        found = clgeom.scale.sort_file(source, out, **options)
        check(found, keys)
        assert all(done <= in_all for done, in_all in seen) and seen[-1] == (16 * len(keys),) * 2
    assert name == "few" or max(group.count(".") for group in groups) >= (2 if name == "random" else 1)
    assert sorted(os.listdir(tmp_path)) == ["keys.npy", "order.npy", "s.npy"]


def test_what_is_noted_and_the_rooms_of_buckets_stay_few(tmp_path):
    """Whatever the sample, and however many chunks there are."""
    rng, sample = np.random.default_rng(3), np.zeros(50, np.uint8)
    first = runs.Buckets(sample, 40_000, 100, 50)
    for _ in range(800):
        list(first.place(lambda keys: keys, np.sort(rng.integers(0, 256, 50).astype(np.uint8))))
    assert len(first.overflow) < 20 and first.end < 4 * 40_000


@pytest.mark.slow
def test_time_is_proportional_to_keys_in_little_memory(tmp_path):
    """Four times the keys in 1 MB: six times the time at most, of the processor, with a pass more."""
    taken = []
    for n in (400_000, 400_000, 1_600_000):
        keys = np.random.default_rng(1).integers(0, 1000, n)
        source, begin = saved(tmp_path / "keys.npy", keys), time.process_time()
        found = clgeom.scale.sort_file(source, tmp_path / "s.npy", max_bytes="1 MB", indices=tmp_path / "order.npy")
        taken.append(time.process_time() - begin)
        check(found, keys)
    assert taken[2] < 6 * taken[1]


@pytest.mark.parametrize("descending", (False, True))
def test_threads_of_the_host_sort_blocks(tmp_path, monkeypatch, descending):
    monkeypatch.setattr(external, "_host_is_quicker", lambda *_: True)
    for dtype in ("uint8", "int16", "uint64", "int64"):
        keys = DISTRIBUTIONS["special"](np.random.default_rng(3), 30_000, np.dtype(dtype))
        source = saved(tmp_path / "keys.npy", keys)
        check(
            clgeom.scale.sort_file(source, tmp_path / "s.npy", max_bytes=LEAST, descending=descending), keys, descending
        )


def test_other_types_byte_orders_and_chunks(tmp_path):
    rng = np.random.default_rng(0)
    for keys in (
        rng.integers(0, 2**63, 9000).astype(">u8"),
        rng.normal(size=9000).astype(">f4"),
        rng.random(9000) < 0.3,
        rng.integers(0, 9**9, 9000).astype("M8[s]"),
    ):
        check(clgeom.scale.sort_file(saved(tmp_path / "keys.npy", keys), tmp_path / "s.npy", max_bytes=LEAST), keys)
        check(clgeom.scale.sort_file(keys, tmp_path / "s.npy", max_bytes=LEAST), keys)
    empty, lists = np.empty(0, np.float32), [[3, 1], [], [2]]
    assert clgeom.scale.sort_file([empty, *lists], tmp_path / "s.npy").keys.tolist() == [1, 2, 3]
    assert clgeom.scale.sort_file([], tmp_path / "s.npy").keys.tolist() == []


@given(st.lists(st.lists(st.integers(0, 40), max_size=200), min_size=1, max_size=5), st.integers(1, 60))
def test_blocks_hold_each_key_once_and_in_order(tmp_path_factory, columns, capacity):
    folder, runs = tmp_path_factory.mktemp("runs"), []
    for k, column in enumerate(columns):
        path = folder / f"{k}"
        np.sort(np.array(column, np.uint64)).tofile(path)
        runs.append(Run((path,), np.dtype(np.uint64), 0, len(column)))
    runs = [run for run in runs if len(run)]
    if not runs:
        return
    blocks = blocks_of(runs, lambda keys: keys, capacity)
    contents = [np.concatenate([part[np.arange(len(part))] for part in block.parts]) for block in blocks]
    assert np.concatenate([np.sort(one) for one in contents]).tolist() == sorted(sum(columns, []))
    for block, keys in zip(blocks, contents):
        assert block.n == len(keys) and (block.n <= capacity or len(np.unique(keys)) == 1)
        split = [np.concatenate([p[np.arange(len(p))] for p in one.parts]) for one in block.split(7)]
        assert np.concatenate(split).tolist() == keys.tolist() and max(map(len, split)) <= 7


@given(
    st.lists(st.lists(st.integers(0, 255), max_size=300), min_size=1, max_size=5),
    st.lists(st.integers(0, 255), min_size=1, max_size=50),
    st.integers(1, 60),
)
def test_buckets_hold_each_key_once_and_in_order(chunks, sample, target):
    """Also where the sample has nothing of the keys."""
    n = max(sum(map(len, chunks)), 1)
    chunks = [np.sort(np.array(chunk, np.uint8)) for chunk in chunks]
    first = runs.Buckets(np.sort(np.array(sample, np.uint8)), n, target, 2 * target)
    rows = {}
    for chunk in chunks:
        again = runs.Buckets(np.sort(np.array(sample, np.uint8)), n, target, 2 * target)
        again.restore(json.loads(json.dumps(first.facts())))
        placed = list(first.place(lambda keys: keys, chunk))
        assert placed == list(again.place(lambda keys: keys, chunk))
        for part, row in placed:
            new = dict(enumerate(chunk[part].tolist(), row))
            assert not rows.keys() & new.keys() and max(new) < first.end and row >= first.starts[0]
            rows.update(new)
    blocks = first.blocks((), np.dtype(np.uint8), 0)
    contents = [[rows[row] for part in block.parts for row in range(part.start, part.stop)] for block in blocks]
    assert sum(map(sorted, contents), []) == np.sort(np.concatenate(chunks)).tolist()
    assert all(len(set(keys)) == 1 for block, keys in zip(blocks, contents) if block.of_one_prefix)


@pytest.mark.parametrize("in_threads", (False, True))
def test_output_replaces_buckets_unless_keys_are_unlike_their_sample(tmp_path, monkeypatch, in_threads):
    monkeypatch.setattr(external, "_host_is_quicker", lambda *_: in_threads)
    in_place, found = [], runs.are_read_in_time
    monkeypatch.setattr(external, "are_read_in_time", lambda *these: in_place.append(found(*these)) or in_place[-1])
    monkeypatch.setattr(external, "SAMPLE", 10_000)
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**62, 20_000)
    check(clgeom.scale.sort_file(saved(tmp_path / "a.npy", keys), tmp_path / "s.npy", max_bytes=LEAST), keys)
    keys[1::2] >>= 20  # the sample sees the others
    check(clgeom.scale.sort_file(saved(tmp_path / "b.npy", keys), tmp_path / "s.npy", max_bytes=LEAST), keys)
    assert in_place == [True, False]


# Interruption ---------------------------------------------------------------------------------------------------------


class Broken(Exception):
    pass


@pytest.mark.parametrize(
    "share, error, in_place",  # all pairs
    [
        (share, error, (number + turn) % 2 == 1)
        for number, share in enumerate((0.0, 0.3, 0.7, 0.93, 0.99))
        for turn, error in enumerate((Broken, KeyboardInterrupt))
    ],
)
def test_the_same_call_goes_on_after_an_interruption(tmp_path, monkeypatch, share, error, in_place):
    keys = np.random.default_rng(0).integers(0, 2**60, 20_000)
    source, out, order = saved(tmp_path / "keys.npy", keys), tmp_path / "sorted.npy", tmp_path / "order.npy"
    write, count, options = Pipeline.write, [], {"max_bytes": 1 << 18, "indices": order}
    stops = []

    def interrupted(pipeline, file, array):
        count.append(file.name)
        if len(count) in stops:
            write(pipeline, file, array[: len(array) // 2])
            raise error
        write(pipeline, file, array)

    if not in_place:
        monkeypatch.setattr(external, "are_read_in_time", lambda *_: False)
    monkeypatch.setattr(Pipeline, "write", interrupted)
    clgeom.scale.sort_file(source, out, **options)
    whole = len(count)
    order.unlink()
    out.write_bytes(b"as it was")
    stops.append(whole + 1 + int(share * whole))
    with pytest.raises(error):
        clgeom.scale.sort_file(source, out, **options)
    assert out.read_bytes() == b"as it was" and not order.exists()
    before = len(count)
    found = clgeom.scale.sort_file(source, out, **options)
    check(found, keys)
    assert found.resumed == bool(share) and sorted(os.listdir(tmp_path)) == ["keys.npy", "order.npy", "sorted.npy"]
    assert len(count) - before <= whole * (1 - share) + whole / found.runs, "more than a chunk was done again"


@pytest.mark.parametrize("stop", (1, 7, 14))
@pytest.mark.parametrize("quicker", (False, True))
def test_another_device_goes_on(tmp_path, monkeypatch, quicker, stop):
    """Blocks begin where they did in the call before, whoever sorts them. Some are of runs of equal prefixes."""
    keys = np.random.default_rng(0).integers(-(2**62), 2**62, 1 << 16)
    keys[1::2] = np.random.default_rng(1).integers(5, 99, 1 << 15)
    source, out = saved(tmp_path / "keys.npy", keys), tmp_path / "s.npy"
    noted, note_written = [], state.State.note_written

    def interrupted(state, count):
        note_written(state, count)
        noted.append(count)
        if len(noted) == stop:
            raise Broken

    monkeypatch.setattr(external, "PARTS", 1)
    with monkeypatch.context() as patched:
        patched.setattr(state.State, "note_written", interrupted)
        patched.setattr(external, "_host_is_quicker", lambda *_: quicker)
        with pytest.raises(Broken):
            clgeom.scale.sort_file(source, out, max_bytes=1 << 18)
    monkeypatch.setattr(external, "_host_is_quicker", lambda *_: not quicker)
    found = clgeom.scale.sort_file(source, out, max_bytes=1 << 18)
    check(found, keys)
    assert found.resumed


@pytest.mark.parametrize("in_place", (False, True))
def test_interruption_while_the_outputs_get_their_names(tmp_path, monkeypatch, in_place):
    keys = np.random.default_rng(0).integers(0, 2**60, 20_000)
    source, options = saved(tmp_path / "keys.npy", keys), {"max_bytes": 1 << 18, "indices": tmp_path / "order.npy"}
    if not in_place:
        monkeypatch.setattr(external, "are_read_in_time", lambda *_: False)

    def take_one_name(part, out, note):
        os.replace(part, out)
        raise Broken

    with monkeypatch.context() as patched:
        patched.setattr(external, "take_name", take_one_name)
        with pytest.raises(Broken):
            clgeom.scale.sort_file(source, tmp_path / "sorted.npy", **options)
    check(clgeom.scale.sort_file(source, tmp_path / "sorted.npy", **options), keys)
    assert sorted(os.listdir(tmp_path)) == ["keys.npy", "order.npy", "sorted.npy"]


def stop_before_the_end(monkeypatch, source, out):
    """Sort a file, but for the names of the outputs; its state is left."""

    def fail(*_):
        raise Broken

    with monkeypatch.context() as patched:
        patched.setattr(external.FileSort, "_publish", fail)
        with pytest.raises(Broken):
            clgeom.scale.sort_file(source, out, max_bytes=LEAST)


def test_state_of_another_input_is_not_used(tmp_path, monkeypatch):
    keys = np.random.default_rng(0).integers(0, 2**60, 20_000)
    source, out = saved(tmp_path / "keys.npy", keys), tmp_path / "sorted.npy"
    stop_before_the_end(monkeypatch, source, out)
    saved(source, keys[::-1] ^ 1)
    found = clgeom.scale.sort_file(source, out, max_bytes=LEAST)
    assert not found.resumed
    check(found, keys[::-1] ^ 1)


@pytest.mark.parametrize("way", ("replaced", "written over"))
def test_state_of_an_input_of_the_same_size_and_time_is_not_used(tmp_path, monkeypatch, way):
    keys = np.random.default_rng(0).integers(0, 2**60, 20_000)
    source, out = saved(tmp_path / "keys.npy", keys), tmp_path / "sorted.npy"
    before = os.stat(source)
    stop_before_the_end(monkeypatch, source, out)
    if way == "replaced":
        saved(tmp_path / "other.npy", keys ^ 1).replace(source)
    else:
        saved(source, keys ^ 1)
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (os.stat(source).st_size, os.stat(source).st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    found = clgeom.scale.sort_file(source, out, max_bytes=LEAST)
    assert not found.resumed
    check(found, keys ^ 1)


def run_python(code, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX's")
def test_full_disk_and_killed_process_keep_the_state(tmp_path):
    """A limit of the size of files stands for a full disk: the system refuses to write more."""
    keys = np.random.default_rng(0).integers(0, 2**60, 40_000)
    source, out = saved(tmp_path / "keys.npy", keys), tmp_path / "sorted.npy"
    done = run_python(
        """
        import resource, sys, clgeom, signal, os
        from clgeom.scale.sorting import file, job as external
        file.LEAST_BYTES = 1
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        clgeom.scale.sort_file(sys.argv[1], sys.argv[2], max_bytes=1 << 19)  # so that all kernels are built
        os.unlink(sys.argv[2])
        resource.setrlimit(resource.RLIMIT_FSIZE, (413_000, resource.RLIM_INFINITY))
        for _ in range(2):
            try:
                clgeom.scale.sort_file(*sys.argv[1:], max_bytes=1 << 19)
            except clgeom.errors.InvalidInput as error:
                print(error)
            external.reserve = lambda *_: None  # as where files get their space when they are written
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        from clgeom.scale.sorting.state import State
        State.note_written = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        clgeom.scale.sort_file(*sys.argv[1:], max_bytes=1 << 19)
        """,
        source,
        out,
    )
    assert done.returncode == -9, done.stderr
    at_once, later = done.stdout.splitlines()
    assert at_once.endswith("cannot be written: File too large.")
    assert "cannot be written: File too large. What is sorted is kept in" in later
    assert not out.exists()
    found = clgeom.scale.sort_file(source, out, max_bytes=1 << 19)
    assert found.resumed
    check(found, keys)


# Bad input ------------------------------------------------------------------------------------------------------------


def test_bad_input_is_one_error_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.undo()
    keys = saved(tmp_path / "keys.npy", np.arange(9))
    out = tmp_path / "s.npy"
    for arguments, options, said in (
        ((tmp_path / "none.npy", out), {}, "cannot be read"),
        ((keys, tmp_path / "s.csv"), {}, "must end in .npy"),
        ((keys, keys), {}, "is the input file"),
        ((keys, out), {"indices": out}, "is the output"),
        ((keys, out), {"max_bytes": "1 XB"}, "'max_bytes' parameter of sort_file must be a size of at least 1,000,000"),
        ((keys, out), {"max_bytes": "999 KB"}, "Got '999 KB' instead"),
        ((keys, out), {"max_bytes": 10}, "Got 10 instead"),
        ((saved(tmp_path / "flat.npy", np.ones((2, 2))), out), {}, "must have shape"),
        ((saved(tmp_path / "text.npy", np.array(["a"])), out), {}, "must be one of uint8"),
        ((np.ones(5), None), {}, "An output must be the path of a file. Got None instead"),
        ((keys, 5), {}, "An output must be the path of a file. Got 5 instead"),
        ((keys, out), {"indices": 5}, "An output must be the path of a file. Got 5 instead"),
        ((str(tmp_path / "a\0b.npy"), out), {}, "The name of a file must not hold a null character"),
        ((keys, str(tmp_path / "a\0b.npy")), {}, "cannot be written: .*null"),
        ((keys, out), {"progress": 5}, "'progress' parameter of sort_file must be a function. Got 5 instead"),
        ((7, out), {}, "must be the path of a .npy file, an array, or an iterable"),
        (([np.ones(3), np.arange(3)], out), {}, "must be of one type. Got int64 after float64"),
        (([np.ones((3, 2))], out), {}, "must have shape"),
    ):
        with pytest.raises(InvalidInput, match=said):
            clgeom.scale.sort_file(*arguments, **options)
    assert sorted(os.listdir(tmp_path)) == ["flat.npy", "keys.npy", "text.npy"]


def test_input_that_changes_is_refused(tmp_path, monkeypatch):
    keys = np.random.default_rng(0).integers(0, 2**60, 20_000)
    source, out = saved(tmp_path / "keys.npy", keys), tmp_path / "sorted.npy"
    run = Pipeline.run

    def changing(pipeline, *stages):
        run(pipeline, *stages)
        os.utime(source, ns=(1, 1))

    monkeypatch.setattr(Pipeline, "run", changing)
    with pytest.raises(InvalidInput, match="was changed while it was sorted"):
        clgeom.scale.sort_file(source, out, max_bytes=LEAST)
    assert os.listdir(tmp_path) == ["keys.npy"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows refuses to remove open files")
def test_one_process_writes_an_output_at_a_time(tmp_path):
    keys = saved(tmp_path / "keys.npy", np.arange(20_000))
    out = tmp_path / "s.npy"

    def chunks():
        yield np.arange(5)
        yield np.arange(5)
        with pytest.raises(InvalidInput, match="another process is writing it"):
            clgeom.scale.sort_file(keys, out)

    assert clgeom.scale.sort_file(chunks(), out).n == 10


@pytest.mark.parametrize("error", (Broken, ConnectionError))
def test_error_of_an_iterable_is_raised_and_nothing_is_left(tmp_path, error):
    def chunks():
        yield np.arange(20_000)
        raise error

    with pytest.raises(error):
        clgeom.scale.sort_file(chunks(), tmp_path / "s.npy", max_bytes=LEAST)
    assert os.listdir(tmp_path) == []


def test_progress_ends_with_all_bytes(tmp_path):
    seen = []
    source = saved(tmp_path / "keys.npy", np.arange(20_000)[::-1])
    clgeom.scale.sort_file(source, tmp_path / "s.npy", max_bytes=LEAST, progress=lambda *now: seen.append(now))
    assert seen == sorted(seen) and seen[-1] == (320_000, 320_000)


def test_a_state_of_keys_that_no_file_has_is_not_taken_up(tmp_path):
    """A process was killed while it sorted another array."""
    keys, out = np.random.default_rng(1).integers(0, 99, LEAST, np.int32), tmp_path / "out.npy"
    job = {"format": 1, "sort": [None, False, 0, 1]}
    for most in range(1, 1 + 4 * LEAST, LEAST // 8):  # whatever the size of runs is
        job["sort"][2] = most
        kept = state.State(out, job, goes_on=False)
        kept.note("buckets", chunks=1, complete=True)
        kept.close(keep=True)
    again = state.State(out, job, goes_on=False)
    assert not again.resumed and not again.groups
    again.note("buckets", chunks=1)
    again.close(keep=True)
    found = clgeom.scale.sort_file(keys, out, max_bytes=LEAST)
    assert not found.resumed and np.array_equal(found.keys, np.sort(keys))


def test_one_writes_an_output_at_a_time(tmp_path):
    """Others are refused, and what is published is of one input."""
    rng, outcomes = np.random.default_rng(2), []
    inputs = [rng.integers(0, 1 << 40, LEAST // 8) for _ in range(3)]
    wanted = {np.sort(keys).tobytes() for keys in inputs}

    def work(keys):
        for _ in range(12):
            try:
                found = clgeom.scale.sort_file(keys, tmp_path / "out.npy", max_bytes=LEAST)
                outcomes.append(np.load(found.path).tobytes() in wanted)
            except InvalidInput as refused:
                outcomes.append("another process is writing it" in str(refused))

    threads = [threading.Thread(target=work, args=(keys,)) for keys in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 36 and all(outcomes)
    assert [path.name for path in tmp_path.iterdir()] == ["out.npy"]


def test_chunks_that_are_none_or_empty(tmp_path):
    keys = np.arange(5, dtype=np.int16)
    with pytest.raises(InvalidInput):
        clgeom.scale.sort_file(iter([keys, None, keys]), tmp_path / "out.npy")
    assert not list(tmp_path.iterdir())
    for empty in (keys[:0], iter([keys[:0], keys[:0]])):
        assert clgeom.scale.sort_file(empty, tmp_path / "out.npy").dtype == np.int16
        assert np.load(tmp_path / "out.npy").dtype == np.int16


@given(st.lists(st.sampled_from((0, 1, 7, 254, 255)), min_size=1, max_size=40), st.integers(1, 12))
def test_buckets_have_few_samples_or_one_prefix(samples, most):
    """Whatever prefixes are frequent, the least and the greatest of the type among them."""
    samples = np.sort(np.array(samples, np.uint8))
    begins = splitters(samples, most)
    assert begins.dtype == np.uint8 and (np.diff(begins.astype(int)) > 0).all() and 0 not in begins
    for bucket in np.split(samples, np.searchsorted(samples, begins)):
        assert len(bucket) <= most or len(np.unique(bucket)) == 1
