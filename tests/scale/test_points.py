"""Hulls of points in chunks: equal to those of all points at once, however they are cut."""

import functools
import gc
import itertools
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from children import environment
from clouds import CLOUDS, DTYPES, cloud
from device_settings import imposed_session
from faults import Faults
from hypothesis import given
from hypothesis import strategies as st
from point_chunks import allowed, cut, same_region

from clgeom import Session, adaptive_region, convex_hull, convex_hulls_by_label
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.hull import stream
from clgeom.hull.batch import stream as batch_stream
from clgeom.hull.batch import within
from clgeom.intake.chunks import Chunks

BATCH = ("vertices", "offsets", "areas", "perimeters", "points", "labels", "sizes", "dimensions", "left_out")


@functools.cache
def said_to_be(session, kind):
    """The device, said to have memory of its own, or none; one session, which builds kernels once."""
    return imposed_session(session.device, kind=kind)


def same_hull(found, expected):
    np.testing.assert_array_equal(found.vertices, expected.vertices)
    np.testing.assert_array_equal(found.points, expected.points)
    assert found.points.dtype == expected.points.dtype and found.vertices.dtype == np.int64
    assert (found.dimension, found.n, found.area) == (expected.dimension, expected.n, expected.area)


def same_batch(found, expected):
    for name in BATCH:
        one, other = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(one, other, err_msg=name)
        assert np.asarray(one).dtype == np.asarray(other).dtype, name


# Hulls ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_hulls_of_all_clouds(session, name, dtype):
    if not allowed(session, dtype):
        return
    points = cloud(name, 1200, dtype)
    expected = convex_hull(points, device=session)
    for chunks in (iter(cut(points, 1, 2, 500)), Chunks(cut(points, *range(0, 1200, 17)), max_bytes=1 << 15)):
        same_hull(convex_hull(chunks, device=session), expected)


@given(
    name=st.sampled_from(sorted(CLOUDS)),
    n=st.integers(0, 400),
    places=st.lists(st.integers(0, 400), max_size=6),
    kind=st.sampled_from(("cpu", "gpu")),
    collinear=st.sampled_from(("drop", "keep")),
    max_bytes=st.sampled_from((1, 1 << 14, 1 << 28)),
    way=st.sampled_from(("list", "generator", "function")),
)
def test_hulls_however_cut(session, name, n, places, kind, collinear, max_bytes, way):
    points = cloud(name, n, np.float32)
    expected = convex_hull(points, collinear=collinear, device=session)
    parts = cut(points, *places)
    source = {"list": parts, "generator": (part for part in parts), "function": lambda: iter(parts)}[way]
    chunks = Chunks(source, max_bytes=max_bytes, copy=way != "function")
    found = convex_hull(chunks, collinear=collinear, device=said_to_be(session, kind))
    same_hull(found, expected)
    assert found.peak.host_bytes >= (0 if n == 0 else 8) and found.peak.device_bytes >= 0


@pytest.mark.fp64
def test_types_are_those_of_the_points_together(session):
    parts = [cloud("disc", 300, np.float32), cloud("square", 300, np.float64), cloud("grid", 300, np.int32)]
    same_hull(convex_hull(iter(parts), device=session), convex_hull(np.concatenate(parts), device=session))
    small = [part.astype(np.int16) for part in cut(cloud("grid", 200, np.int32), 50)]
    same_hull(convex_hull(iter(small), device=session), convex_hull(np.concatenate(small), device=session))


@pytest.mark.parametrize("dtype", ("float32", "float64", "int32", "int16", "float16", "int64"))
def test_types_of_nothing(session, dtype):
    """Chunks that are all empty, or whose points are all left out, give the types of their points."""
    if np.result_type(dtype, np.float32) == np.float64 and not session.profile.fp64:
        return
    empty, options = np.empty((0, 2), dtype), {"nonfinite": "drop", "device": session}
    cases = [[empty, empty], [empty, [], empty]]
    if np.dtype(dtype).kind == "f":
        lost = np.full((5, 2), np.nan, dtype)
        cases += [[lost, lost[:2]], [empty, lost, np.empty((0, 2), np.int32)]]
    for chunks in cases:
        points = np.concatenate([part for part in chunks if len(part)] or [empty])
        same_hull(convex_hull(iter(chunks), **options), convex_hull(points, **options))
        for cuts in ("count", "width"):
            expected = adaptive_region(points, 3, cuts=cuts, **options)
            same_region(adaptive_region(Chunks(chunks), 3, cuts=cuts, **options), expected)
            bounds = {"bounds": (0, 0, 1, 1)} if cuts == "width" else {}
            found = adaptive_region(Chunks(chunks), 3, cuts=cuts, **bounds, **options)
            assert found.lower.dtype == found.upper.dtype == expected.lower.dtype == found.dtype
        for kind in ("int8", "U3", "float32", "object", "bool", "datetime64[D]"):
            expected = convex_hulls_by_label(points, np.zeros(len(points), kind), **options)
            pairs = [(part, np.zeros(len(part), kind) if isinstance(part, np.ndarray) else []) for part in chunks]
            same_batch(convex_hulls_by_label(iter(pairs), **options), expected)


@pytest.mark.fp64
def test_types_of_points_that_are_left_out_count(session):
    chunks = [cloud("disc", 50, np.float32), np.full((3, 2), np.nan)]
    options = {"nonfinite": "drop", "device": session}
    same_hull(convex_hull(iter(chunks), **options), convex_hull(np.concatenate(chunks), **options))
    same_region(adaptive_region(Chunks(chunks), 4, **options), adaptive_region(np.concatenate(chunks), 4, **options))


def test_sources_that_use_their_memory_again(session):
    points = cloud("disc", 1000, np.float32)
    whole = points.copy()

    def source(buffer):
        for part in cut(points, 100, 250, 700):
            buffer[: len(part)] = part
            yield buffer[: len(part)]
            buffer[:] = np.nan

    expected = convex_hull(whole, device=session)
    same_hull(convex_hull(source(np.empty((500, 2), np.float32)), device=session), expected)
    labels = np.arange(1000) % 3
    pairs = ((part, labels[: len(part)]) for part in source(np.empty((500, 2), np.float32)))
    joined = np.concatenate([labels[: len(part)] for part in cut(points, 100, 250, 700)])
    same_batch(convex_hulls_by_label(pairs, device=session), convex_hulls_by_label(whole, joined, device=session))


def test_other_objects_as_chunks(session):
    pandas = pytest.importorskip("pandas")
    points = cloud("disc", 400, np.float32)
    frames = (pandas.DataFrame({"x": part[:, 0], "y": part[:, 1]}) for part in cut(points, 100, 100, 390))
    same_hull(convex_hull(frames, device=session), convex_hull(points, device=session))
    lists = (part.tolist() for part in cut(points, 7, 390))
    assert convex_hull(lists, device=session).n == 400
    masked = np.ma.masked_greater(points, 0.5)
    expected = convex_hull(masked, device=session)
    same_hull(convex_hull(iter(cut(masked, 130, 131)), device=session), expected)


def test_nonfinite_points_are_named_or_left_out(session):
    points = cloud("disc", 3000, np.float32)
    points[2210, 1] = np.nan
    points[2999, 0] = np.inf
    for places in ((2000,), (10, 20, 2205), range(0, 3000, 500)):
        with pytest.raises(InvalidInput, match=r"nan at index \[2210, 1\]"):
            convex_hull(iter(cut(points, *places)), device=session)
        with pytest.raises(InvalidInput, match=r"nan at index \[2210, 1\]"):
            labels = cut(np.arange(3000) % 5, *places)
            convex_hulls_by_label(zip(cut(points, *places), labels), device=session)
        with pytest.raises(InvalidInput, match=r"nan at index \[2210, 1\]"):
            adaptive_region(Chunks(cut(points, *places)), 4, device=session)
        found = convex_hull(iter(cut(points, *places)), nonfinite="drop", device=session)
        same_hull(found, convex_hull(points, nonfinite="drop", device=session))


def test_refused_chunks(session):
    good = cloud("disc", 10, np.float32)
    for bad, said in (
        (np.zeros((4, 3), np.float32), r"must have shape \(n, 2\). Got \(4, 3\).* That is chunk 1."),
        (np.zeros(4), r"must have shape \(n, 2\). Got \(4,\) instead. That is chunk 1."),
        (np.array([("a", "b")]), "That is chunk 1."),
    ):
        with pytest.raises(InvalidInput, match=said):
            convex_hull(iter([good, bad]), device=session)
    with pytest.raises(InvalidInput, match=r"Got \(2,\) instead. That is chunk 0"):
        convex_hull(zip([1.0, 2.0], [3.0, 4.0]), device=session)
    once = Chunks(iter([good]))
    assert convex_hull(once, device=session).n == 10
    with pytest.raises(InvalidInput, match="have been read already"):
        convex_hull(once, device=session)


def test_reference_systems(session):
    geopandas = pytest.importorskip("geopandas")
    points = cloud("disc", 60, np.float64)
    frames = [geopandas.GeoSeries.from_xy(*part.T, crs="EPSG:32632") for part in cut(points, 20)]
    found = convex_hull(iter(frames), device=session)
    assert str(found.crs) == "EPSG:32632" and found.n == 60
    assert str(convex_hull(Chunks([points], crs="EPSG:3857"), device=session).crs) == "EPSG:3857"
    frames[1] = frames[1].to_crs("EPSG:32633")
    with pytest.raises(InvalidInput, match="one coordinate reference system. Got .*32N and, in chunk 1, .*33N instead"):
        convex_hull(iter(frames), device=session)
    with pytest.raises(InvalidInput, match="one coordinate reference system"):
        convex_hulls_by_label(((frame, np.zeros(len(frame), int)) for frame in frames), device=session)


def test_vertices_that_need_more_memory_are_replaced_by_their_hull(session, monkeypatch):
    """Each chunk's points are all vertices of its hull, and few of all."""
    circle = cloud("circle", 400, np.float64 if session.profile.fp64 else np.float32)
    parts = [circle * scale for scale in range(1, 41)]
    found = convex_hull(Chunks(parts, max_bytes=1 << 15), device=session)
    same_hull(found, convex_hull(np.concatenate(parts), device=session))
    assert found.peak.host_bytes < 40 * circle.nbytes / 2


@pytest.mark.parametrize("kind", ("cpu", "gpu"))
@pytest.mark.parametrize("fault", ("allocate", "host memory", "copy", "launch"))
def test_a_device_without_memory_gets_smaller_pieces(session, monkeypatch, fault, kind):
    for module in (stream, batch_stream):
        monkeypatch.setattr(module, "LEAST_POINTS", 16)
    device, many = said_to_be(session, kind), 2 if fault in ("copy", "launch") else 1  # commands are tried twice
    points = cloud("disc", 6000, np.float32)
    labels = np.arange(6000) % 7
    chunks = Chunks(cut(points, 3000), max_bytes=1 << 17, copy=False)
    pairs = Chunks(list(zip(chunks, cut(labels, 3000))), max_bytes=1 << 17, copy=False)
    for work, same in (
        (lambda: convex_hull(chunks, device=device), same_hull),
        (lambda: convex_hulls_by_label(pairs, device=device), same_batch),
    ):
        expected = work()
        with Faults(device, fault) as counted:
            same(work(), expected)
        happened = 0
        for first in range(0, counted.calls, max(counted.calls // 3, 1)):
            with Faults(device, fault, first, many=many) as faults:
                same(work(), expected)
            happened += faults.happened
        assert happened or not counted.calls


def test_points_of_two_buffers_are_all_kept(session):
    """One launch reads the points of one buffer, so that those within rectangles are not left out of two."""
    small, n = Session(session.device, max_alloc_bytes=1 << 19), 70_000
    points, labels = cloud("disc", n, np.float32), np.zeros(n, np.int32)
    for device, is_one in ((session, True), (small, False)):
        inner = within.Within(device)
        inner.learn(labels[:1], np.array([200]), points[:200], n)
        assert (inner.outside(points, labels) is not None) == is_one


def test_a_device_that_stays_without_memory(session):
    with Faults(session, "launch", 0, many=10_000), pytest.raises(DeviceLimit):
        convex_hull(Chunks([cloud("disc", 20_000, np.float32)]), device=session)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs the signals of POSIX")
@pytest.mark.parametrize("read_ahead", (True, False))
def test_an_interrupt_ends_an_endless_stream(session, read_ahead):
    points = cloud("disc", 20_000, np.float32)
    convex_hull(iter([points]), device=session)
    before, main = session.pool.active_blocks, threading.main_thread().ident
    signals = signal.signal(signal.SIGINT, signal.default_int_handler)
    stop = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    closed = threading.Event()

    def endless():
        try:
            yield from itertools.repeat(points)
        finally:
            closed.set()

    try:
        stop.start()
        with pytest.raises(KeyboardInterrupt):
            convex_hull(Chunks(endless(), read_ahead=read_ahead), device=session)
        assert closed.wait(60)
    finally:
        stop.cancel()
        signal.signal(signal.SIGINT, signals)
    gc.collect()
    assert session.pool.active_blocks <= before


BLOCKED = """
import sys, time
import numpy as np
import clgeom

def source():
    yield np.zeros((9, 2), np.float32), np.zeros(9, int)
    print("blocked", flush=True)
    time.sleep(600)

device, end = sys.argv[1:]
if end == "interrupt":
    clgeom.convex_hulls_by_label(source(), device=device)
pairs = ((["ACGT"], ["ACG"]) for _ in source())
found = clgeom.align(pairs, device=device)  # an iterator, which is never closed
next(found)
time.sleep(0.2)
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs the signals of POSIX")
@pytest.mark.parametrize("end", ("interrupt", "return"))
def test_the_process_ends_while_a_source_blocks(session, end):
    command = [sys.executable, "-c", BLOCKED, session.profile.name, end]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment(), **pipes) as run:
        try:
            assert run.stdout.readline() == "blocked\n"
            if end == "interrupt":
                time.sleep(0.2)
                run.send_signal(signal.SIGINT)
            _, said = run.communicate(timeout=300)  # the source blocks for longer
        finally:
            run.kill()
    assert run.returncode == 0 if end == "return" else said.strip().endswith("KeyboardInterrupt"), said


def test_progress(session):
    points, done = cloud("disc", 5000, np.float32), []
    convex_hull(
        Chunks(cut(points, *range(0, 5000, 600)), max_bytes=1 << 15, nbytes=points.nbytes),
        progress=lambda *bytes_: done.append(bytes_),
        device=session,
    )
    assert done[-1] == (points.nbytes, points.nbytes) and sorted(done) == done and len(done) > 5


# Hulls by label -------------------------------------------------------------------------------------------------

KINDS = {
    "integers": lambda rng, n: rng.integers(-1, 6, n),
    "small integers": lambda rng, n: rng.integers(0, 200, n).astype(np.uint8),
    "floats": lambda rng, n: rng.choice([-0.0, 0.0, 1.5, np.nan, np.inf], n),
    "texts": lambda rng, n: rng.choice(["north", "south", "e"], n),
    "objects": lambda rng, n: rng.choice(np.array(["b", "a", None], object), n),
    "dates": lambda rng, n: np.datetime64("2026-01-01") + rng.integers(0, 4, n),
    "bools": lambda rng, n: rng.random(n) < 0.5,
}


@given(
    kind=st.sampled_from(sorted(KINDS)),
    name=st.sampled_from(("disc", "grid", "circle", "duplicates", "line")),
    n=st.integers(1, 500),
    places=st.lists(st.integers(0, 500), max_size=6),
    max_bytes=st.sampled_from((1, 1 << 15, 1 << 28)),
    collinear=st.sampled_from(("drop", "keep")),
    noise=st.booleans(),
)
def test_hulls_by_label_however_cut(session, kind, name, n, places, max_bytes, collinear, noise):
    points, labels = cloud(name, n, np.float32), KINDS[kind](np.random.default_rng(n), n)
    options = {"collinear": collinear, "noise": labels[0] if noise else None, "device": session}
    expected = convex_hulls_by_label(points, labels, **options)
    chunks = Chunks(list(zip(cut(points, *places), cut(labels, *places))), max_bytes=max_bytes)
    same_batch(convex_hulls_by_label(chunks, **options), expected)


@pytest.mark.parametrize("kind", ("cpu", "gpu"))
@given(
    types=st.sampled_from(((np.float32, np.int64), (np.float64, np.uint8), (np.int32, np.int16))),
    name=st.sampled_from(("disc", "grid", "signed_zeros", "mixed_magnitudes", "duplicates", "line")),
    n=st.integers(1, 3000),
    apart=st.integers(1, 90),
    collinear=st.sampled_from(("drop", "keep")),
    seed=st.integers(0, 9),
)
def test_points_within_earlier_hulls_of_their_label_change_nothing(
    session, kind, types, name, n, apart, collinear, seed
):
    session, (dtype, label_type) = said_to_be(session, kind), types
    if not allowed(session, dtype):
        return
    rng = np.random.default_rng(seed)
    points, labels = cloud(name, n, dtype), (rng.integers(0, 5, n) * apart % 200).astype(label_type)
    points, labels = (array[rng.permutation(n)] for array in (points, labels))
    options = {"collinear": collinear, "noise": labels[0], "device": session}
    expected = convex_hulls_by_label(points, labels, **options)
    chunks = Chunks(list(zip(np.array_split(points, 9), np.array_split(labels, 9))), max_bytes=1 << 14)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(within, "LEAST_POINTS", 1)
        patched.setattr(within, "POINTS_OF_VERTEX", 1)
        same_batch(convex_hulls_by_label(chunks, **options), expected)


def test_most_points_within_earlier_hulls_of_their_label_are_left_out(session, monkeypatch):
    points, labels = cloud("disc", 90_000, np.float32), np.arange(90_000) % 7 - 3
    points[80_000] = np.nan
    seen, outside = [], within.Within.outside

    def watched(inner, *arrays):
        found = outside(inner, *arrays)
        seen.append(None if found is None else len(found[0]) / len(arrays[0]))
        return found

    monkeypatch.setattr(within.Within, "outside", watched)
    parts = zip(np.array_split(points, 3), np.array_split(labels, 3))
    with pytest.raises(InvalidInput, match="80000"):
        convex_hulls_by_label(Chunks(list(parts), max_bytes=1 << 21), device=session)
    assert seen[0] is None and any(share is not None and share < 0.5 for share in seen)
    points[80_000] = 1e9  # a vertex
    parts = zip(np.array_split(points, 3), np.array_split(labels, 3))
    found = convex_hulls_by_label(Chunks(list(parts), max_bytes=1 << 21), device=session)
    same_batch(found, convex_hulls_by_label(points, labels, device=session))


def test_labels_of_points_that_are_left_out(session):
    points = cloud("disc", 60, np.float32)
    labels = np.repeat([3, 1, 2], 20)
    points[20:40] = np.nan  # all of label 1
    expected = convex_hulls_by_label(points, labels, nonfinite="drop", device=session)
    pairs = zip(cut(points, 10, 30), cut(labels, 10, 30))
    same_batch(convex_hulls_by_label(pairs, nonfinite="drop", device=session), expected)
    empty = convex_hulls_by_label(iter([]), device=session)
    assert len(empty) == 0 and empty.labels.tolist() == []


def test_labels_of_frames_and_geometries(session):
    pandas = pytest.importorskip("pandas")
    shapely = pytest.importorskip("shapely")
    points = cloud("disc", 90, np.float64)
    series = pandas.Series(np.resize(["b", "a", None], 90), name="site", index=range(500, 590))
    expected = convex_hulls_by_label(points, series, device=session)
    found = convex_hulls_by_label(
        ((points[k : k + 40], series.iloc[k : k + 40]) for k in range(0, 90, 40)), device=session
    )
    np.testing.assert_array_equal(found.vertices, expected.vertices)
    assert found.labels.tolist() == expected.labels.tolist() and found.label_name == "site"
    lines = shapely.linestrings(points.reshape(30, 3, 2))
    labels = np.arange(30) % 4
    expected = convex_hulls_by_label(lines, labels, device=session)
    pairs = [(lines[:13], labels[:13]), (lines[13:], labels[13:])]
    same_batch(convex_hulls_by_label(iter(pairs), device=session), expected)


def test_labels_of_geometries_in_lists(session):
    shapely = pytest.importorskip("shapely")
    lines = [shapely.LineString([(0, 0), (k, k), (2, 0)]) for k in (1, 5, 3)]
    chunks = iter([(lines[:1], [1]), (lines[1:], [1, 2])])
    found = convex_hulls_by_label(chunks, device=session)
    same_batch(found, convex_hulls_by_label(np.array(lines, object), [1, 1, 2], device=session))


def test_refused_labels(session):
    points = cloud("disc", 10, np.float32)
    for chunks, said in (
        ([points], "must be pairs of points and labels"),
        ([(points, [1, 2])], "Got 2 labels for 10 points in chunk 0"),
        ([(points, ["a"] * 10), (points, [1] * 10)], "'labels' parameter of convex_hulls_by_label must be"),
        ([(points, np.arange(10)), (points, np.array(["a"] * 10))], "'labels' parameter"),
    ):
        with pytest.raises(InvalidInput, match=said):
            convex_hulls_by_label(iter(chunks), device=session)
    with pytest.raises(InvalidInput, match="'labels' parameter .* must be left out for chunks"):
        convex_hulls_by_label(iter([points]), np.arange(10), device=session)
    large = [np.array([2**63 + 1] * 3, np.uint64), np.array([-1, 2, 3])]
    found = convex_hulls_by_label(((points[:3], one) for one in large), device=session)
    assert found.labels.tolist() == [-1, 2, 3, 2**63 + 1]
