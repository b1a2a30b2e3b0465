"""Points that come in chunks: from host arrays to devices with memory of their own, and from mapped files."""

import functools
import inspect
import os
import weakref
from dataclasses import replace

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from device_settings import imposed_session

import clgeom
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.hull import stream
from clgeom.hull.convex import convex_hull
from clgeom.hull.pieces import PointStream
from clgeom.intake.mapped import is_mapped
from clgeom.scale import Chunks

#: Bytes of a chunk: of 16, 21 (an odd number that fits no tile) and 1024 points of float32.
CHUNKS = (128, 168, 8192)


@functools.cache
def said_to_be_gpu(session):
    return imposed_session(session.device, kind="gpu")


@pytest.fixture
def gpu(session):
    """The device, said to have memory of its own; one session for all tests, which builds kernels once."""
    return said_to_be_gpu(session)


@pytest.fixture
def chunks(monkeypatch):
    monkeypatch.setattr(stream, "LARGER", 1)
    return lambda nbytes: monkeypatch.setattr(stream, "CHUNK_BYTES", nbytes)


def allowed(session, dtype):
    return np.dtype(dtype) != np.float64 or session.profile.fp64


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_hull_of_chunks(subtests, gpu, session, chunks, name, dtype):
    if not allowed(session, dtype):
        return
    points = cloud(name, 1500, dtype)
    expected = convex_hull(points, device=session)
    for nbytes in CHUNKS[:: 2 if dtype == np.float32 else 1]:
        with subtests.test(nbytes=nbytes):
            chunks(nbytes)
            found = convex_hull(points, device=gpu)
            np.testing.assert_array_equal(found.vertices, expected.vertices)
            np.testing.assert_array_equal(found.points, expected.points)
            assert found.dimension == expected.dimension and found.n == 1500


@pytest.mark.parametrize("max_bytes", (1, 1 << 16, 1 << 20))
def test_pieces_of_chunks_are_of_one_size(max_bytes):
    """An eighth of the memory at least half of which is used, or 4096 bytes, whatever the sizes of chunks are."""
    points = cloud("normal", 60_000, np.float64)
    for each in (7, 1000, 60_000):
        source = Chunks(np.split(points, range(each, len(points), each)), max_bytes=max_bytes)
        pieces = list(PointStream(source, "test", "raise").pieces())
        np.testing.assert_array_equal(np.concatenate([piece.rows for piece in pieces]), points)
        sizes, most = np.array([piece.rows.nbytes for piece in pieces]), max(max_bytes // 8, 4096)
        assert sizes.max() <= most and sizes[:-1].min() >= most // 2


@pytest.mark.parametrize("collinear", ("drop", "keep"))
@pytest.mark.parametrize("name", ("grid", "three_positions", "normal"))
def test_hull_of_chunks_keeps_ties(gpu, session, chunks, name, collinear):
    """The lowest of equal points, and every point on an edge, though they are in other chunks."""
    points = cloud(name, 3000, np.int32)
    chunks(1000)
    found = convex_hull(points, collinear=collinear, device=gpu)
    expected = convex_hull(points, collinear=collinear, device=session)
    np.testing.assert_array_equal(found.vertices, expected.vertices)


def test_pieces_come_whole_and_in_order(gpu, chunks):
    points = cloud("normal", 1001, np.float32)
    chunks(800)
    firsts = []
    for piece, array in stream.pieces_of(gpu, points):
        np.testing.assert_array_equal(array.to_host(), points[array.first : array.first + array.n])
        firsts.append(piece.first)
    assert firsts == [*range(0, 1001, 100)]
    done = []
    convex_hull(points, device=gpu, progress=lambda *bytes_: done.append(bytes_))
    assert done == [(min(first + 100, 1001) * 8, points.nbytes) for first in firsts]


@pytest.mark.parametrize("kind", ("cpu", "gpu"))
def test_mapped_file(session, chunks, tmp_path, kind):
    points = cloud("disc", 5000, np.float32)
    np.save(tmp_path / "points.npy", points)
    chunks(4000)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    assert is_mapped(mapped) and not is_mapped(mapped[1:]) and not is_mapped(points)
    device, done = imposed_session(session.device, kind=kind), []
    found = convex_hull(mapped, device=device, progress=lambda *bytes_: done.append(bytes_))
    np.testing.assert_array_equal(found.vertices, convex_hull(points, device=session).vertices)
    assert done[-1] == (points.nbytes, points.nbytes) and len(done) == 10


@pytest.mark.parametrize("kind", ("cpu", "gpu"))
@pytest.mark.parametrize("fate", ("changed in memory", "replaced", "deleted"))
def test_mapped_file_that_is_not_what_its_name_leads_to(session, chunks, tmp_path, fate, kind):
    points = cloud("disc", 5000, np.float32)
    path = tmp_path / "points.npy"
    np.save(path, points)
    chunks(4000)
    mapped = np.load(path, mmap_mode="c" if fate == "changed in memory" else "r")
    assert is_mapped(mapped)
    if fate == "changed in memory":
        mapped[[5, 3000]] = points[[5, 3000]] = [(100, 100), (-50, 3)]
    elif fate == "replaced":
        np.save(tmp_path / "other.npy", points * 2)
        (tmp_path / "other.npy").replace(path)
    else:
        path.unlink()
    found = convex_hull(mapped, device=imposed_session(session.device, kind=kind))
    expected = convex_hull(points, device=session)
    np.testing.assert_array_equal(found.vertices, expected.vertices)
    np.testing.assert_array_equal(found.points, expected.points)


@pytest.mark.parametrize("cut", (1, 4, 30_001))
def test_file_that_is_cut_while_it_is_read(session, chunks, tmp_path, cut):
    points = cloud("disc", 5000, np.float32)
    path = tmp_path / "points.npy"
    np.save(path, points)
    chunks(4000)
    mapped = np.load(path, mmap_mode="r")
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - cut)
    with pytest.raises(InvalidInput, match="points.npy' must have 40,128 bytes and more.* was cut after it was mapped"):
        convex_hull(mapped, device=session)


@pytest.mark.parametrize("kind", ("cpu", "gpu"))
@pytest.mark.parametrize("part", (slice(None), slice(100, None), slice(None, None, 3), slice(None, None, -2)))
def test_file_that_is_cut_before_it_is_read_at_once(session, tmp_path, kind, part):
    """Also a part of it; a part that the file still has is read."""
    points, path = cloud("disc", 5000, np.float32), tmp_path / "points.npy"
    np.save(path, points)
    mapped, device = np.load(path, mmap_mode="r"), imposed_session(session.device, kind=kind)
    expected = convex_hull(points[part], device=session)
    np.testing.assert_array_equal(convex_hull(mapped[part], device=device).points, expected.points)
    os.truncate(path, 128 + 8 * 3000)
    calls = [lambda: mapped[part], lambda: iter([mapped[:9], mapped[part]])]
    calls += [lambda: Chunks([mapped[part]], copy=False), lambda: np.asarray(mapped[part])]
    for points_of in calls:
        for nonfinite in ("raise", "drop"):
            with pytest.raises(InvalidInput, match="has 24,128: it was cut after it was mapped"):
                convex_hull(points_of(), nonfinite=nonfinite, device=device)
    expected = convex_hull(points[:3000], device=session)
    np.testing.assert_array_equal(convex_hull(mapped[:3000], device=device).points, expected.points)


@pytest.mark.parametrize("of_chunks", (False, True))
def test_file_whose_last_page_is_cut_while_it_is_read_at_once(session, tmp_path, monkeypatch, of_chunks):
    """What is missing of that page reads as zeros, where points were not copied to the device before."""
    points, path = cloud("disc", 5000, np.float32) + 9, tmp_path / "points.npy"
    np.save(path, points)
    hull_of = inspect.unwrap(convex_hull).__globals__["hull_of"]

    def cutting(array, options):
        os.truncate(path, 40_128 - 100)
        return hull_of(array, options)

    monkeypatch.setattr("clgeom.hull.convex.hull_of", cutting)
    mapped = np.load(path, mmap_mode="r")
    if of_chunks and not session.profile.unified_memory:
        found = convex_hull(Chunks([mapped], copy=False), device=session)
        np.testing.assert_array_equal(found.points, convex_hull(points, device=session).points)
        return
    with pytest.raises(InvalidInput, match="cut after it was mapped"):
        convex_hull(Chunks([mapped], copy=False) if of_chunks else mapped, device=session)


@pytest.mark.parametrize("kind", ("cpu", "gpu"))
@pytest.mark.parametrize("size", (8, 24_128, 24_131))
def test_file_that_is_cut_between_its_pieces(session, chunks, tmp_path, kind, size):
    points, path = cloud("disc", 5000, np.float32), tmp_path / "points.npy"
    np.save(path, points)
    chunks(4000)
    with pytest.raises(InvalidInput, match="cut after it was mapped"):
        convex_hull(
            np.load(path, mmap_mode="r"),
            device=imposed_session(session.device, kind=kind),
            progress=lambda *_: os.truncate(path, size),
        )


@pytest.mark.parametrize("share", (0, 1, 2))
@pytest.mark.parametrize("at_once", (False, True))
def test_file_that_is_cut_while_a_piece_is_read(session, chunks, tmp_path, monkeypatch, share, at_once):
    """Devices with memory of their own get the points from the file, not from the map."""
    points, path = cloud("disc", 5000, np.float32), tmp_path / "points.npy"
    np.save(path, points)
    if not at_once:
        chunks(40_000)
        monkeypatch.setattr(stream, "LEAST_BYTES", 0)
    preadv, reads = os.preadv, []

    def cutting(file, memory, at):
        reads.append(at)
        os.truncate(path, 128 + share * 20_000)
        return preadv(file, memory, at)

    monkeypatch.setattr(os, "preadv", cutting)
    mapped, device = np.load(path, mmap_mode="r"), imposed_session(session.device, kind="gpu")
    if share == 2:  # it is whole
        expected = convex_hull(points, device=session)
        np.testing.assert_array_equal(convex_hull(mapped, device=device).points, expected.points)
        assert reads
        return
    with pytest.raises(InvalidInput, match="cut after it was mapped"):
        convex_hull(mapped, device=device)
    assert reads


@pytest.mark.parametrize("room", (1, 2, 3))
def test_device_with_room_for_few_pieces(gpu, session, chunks, monkeypatch, room):
    """As many as fit are there at a time, and none is halved."""
    points, held = cloud("disc", 5000, np.float32), weakref.WeakSet()
    chunks(4000)
    take = stream.allocate

    class Held:
        pass

    def limited(session, nbytes):
        if len(held) == room:
            raise DeviceLimit("no more")
        buffer = take(session, nbytes)
        buffer.held = Held()
        held.add(buffer.held)
        most.append(len(held))
        return buffer

    most, sizes = [], []
    monkeypatch.setattr(stream, "allocate", limited)
    for piece, array in stream.pieces_of(gpu, points):
        np.testing.assert_array_equal(array.to_host(), piece.rows)
        sizes.append(len(piece.rows))
    del piece, array
    assert sizes == [500] * 10 and max(most) == room
    expected = convex_hull(points, device=session)
    np.testing.assert_array_equal(convex_hull(points, device=gpu).vertices, expected.vertices)


@pytest.mark.parametrize("mapped", (False, True))
def test_chunks_name_the_first_that_is_not_finite(gpu, chunks, tmp_path, mapped):
    points = cloud("normal", 4000, np.float32)
    points[3210, 1] = np.nan
    points[3999, 0] = np.inf
    chunks(4000)
    if mapped:
        np.save(tmp_path / "points.npy", points)
        points = np.load(tmp_path / "points.npy", mmap_mode="r")
    with pytest.raises(InvalidInput, match=r"nan at index \[3210, 1\]"):
        convex_hull(points, device=gpu)
    assert len(convex_hull(points, nonfinite="drop", device=gpu)) > 2


def test_pinned_points(gpu, chunks):
    points = clgeom.pinned_empty((3000, 2), np.float32, device=gpu)
    points[:] = cloud("disc", 3000, np.float32)
    chunks(4000)
    np.testing.assert_array_equal(
        convex_hull(points, device=gpu).vertices, convex_hull(points.copy(), device=gpu).vertices
    )
    assert clgeom.pinned_empty(3, "int32", device=gpu).shape == (3,)


def test_chunks_of_an_array_are_larger_where_the_device_has_room(session, tmp_path):
    np.save(tmp_path / "points.npy", np.zeros((10, 2)))
    mapped, array = np.load(tmp_path / "points.npy", mmap_mode="r"), np.zeros((10, 2))
    for gib, expected in ((1, stream.CHUNK_BYTES), (4, 4 * stream.CHUNK_BYTES), (64, 4 * stream.CHUNK_BYTES)):
        profile = replace(session.profile, global_mem_bytes=gib << 30, max_alloc_bytes=gib << 29)
        assert stream.chunk_bytes(profile, array) == expected
        assert stream.chunk_bytes(profile, mapped) == stream.CHUNK_BYTES
        assert stream.chunk_bytes(profile, mapped, on_map=False) == expected
    assert stream.chunk_bytes(replace(profile, max_alloc_bytes=1000), array) == 1000
