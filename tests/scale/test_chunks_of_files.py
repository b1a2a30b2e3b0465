"""Files in parts: the same points and sequences as read whole; damaged and changed files."""

import gzip
import itertools
import os

import numpy as np
import pytest
from clouds import cloud
from hypothesis import given
from hypothesis import strategies as st

import clgeom
from clgeom import convex_hull, convex_hulls_by_label, scale
from clgeom.errors import InvalidInput
from clgeom.intake.chunks import Chunks
from clgeom.io.fasta import iterate_sequences, read_sequences
from clgeom.io.files import files_of
from clgeom.io.points import cloud_parts, read_cloud
from clgeom.scale import chunks as module
from clgeom.scale import read_chunks

N = 700


def write_laz(path, points, labels, *, scale=0.01, offset=(0.0, 0.0), crs=None):
    laspy = pytest.importorskip("laspy")
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = np.array([scale] * 3), np.array([*offset, 0.0])
    if crs:
        pyproj = pytest.importorskip("pyproj")
        header.add_crs(pyproj.CRS(crs))
    las = laspy.LasData(header)
    las.x, las.y = points.T
    las.z = np.zeros(len(points))
    las.classification = labels
    las.write(str(path))


def write(path, seed=0, **options):
    """A file of points with labels; returns the name of the column of labels."""
    points, labels = cloud("disc", N, np.float64, seed), np.arange(N) % 5
    kind = path.suffix
    if kind in (".laz", ".las"):
        write_laz(path, points, labels, **options)
        return "classification"
    if kind in (".parquet", ".feather"):
        pa = pytest.importorskip("pyarrow")
        table = pa.table({"x": points[:, 0], "y": points[:, 1], "site": np.array(list("abcde"))[labels]})
        if kind == ".parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, path, row_group_size=150)
        else:
            import pyarrow.feather

            pyarrow.feather.write_feather(table, path, chunksize=150)
        return "site"
    if kind == ".npy":
        np.save(path, np.column_stack([points, labels]))
        return "3"
    if kind == ".npz":
        np.savez(path, points=points, site=labels)
        return "site"
    text = "x,y,site\n" + "".join(f"{x!r},{y!r},s{k}\n" for (x, y), k in zip(points.tolist(), labels.tolist()))
    opened = gzip.open if kind == ".gz" else open
    with opened(path, "wt") as file:
        file.write(text)
    return "site"


FORMATS = ("a.las", "a.laz", "a.parquet", "a.feather", "a.npy", "a.npz", "a.csv", "a.csv.gz")


@pytest.mark.parametrize("name", FORMATS)
def test_parts_are_the_whole(subtests, tmp_path, name):
    path = tmp_path / name
    by = write(path)
    columns = None if name == "a.npz" else ("1", "2")
    whole = read_cloud(path, by=by, columns=columns)
    for rows in (1, 64, 699, 700, 10_000):
        with subtests.test(rows=rows):
            done = []
            parts = cloud_parts(
                path, rows=rows, by=by, columns=columns, progress=lambda *part, done=done: done.append(part)
            )
            clouds = list(parts)
            assert max(len(one.points) for one in clouds) <= rows and done[-1][0] == done[-1][1]
            np.testing.assert_array_equal(np.concatenate([one.points for one in clouds]), whole.points)
            assert {one.points.dtype for one in clouds} == {whole.points.dtype}
            assert {(one.names, one.scale, one.offset) for one in clouds} == {(whole.names, whole.scale, whole.offset)}
            labels = [one.groups.names[number] for one in clouds for number in one.groups.numbers]
            assert labels == [whole.groups.names[number] for number in whole.groups.numbers]


@pytest.mark.parametrize("name", ("a.laz", "a.parquet", "a.npy", "a.csv"))
def test_hulls_of_files(session, tmp_path, name):
    if not session.profile.fp64:
        return
    paths = [tmp_path / f"{k}{name}" for k in range(3)]
    by = [write(path, seed) for seed, path in enumerate(paths)][0]
    columns = ("1", "2")
    whole = [read_cloud(path, columns=columns, by=by) for path in paths]
    points = np.concatenate([one.coordinates for one in whole])
    labels = np.concatenate([np.array(one.groups.names)[one.groups.numbers] for one in whole])
    chunks = read_chunks(str(tmp_path / f"*{name}"), columns=columns, max_bytes=1 << 17)
    found, expected = convex_hull(chunks, device=session), convex_hull(points, device=session)
    np.testing.assert_array_equal(found.vertices, expected.vertices)
    np.testing.assert_array_equal(found.points, expected.points)
    assert found.n == 3 * N and found.peak.host_bytes <= 1 << 17
    batch = convex_hulls_by_label(read_chunks(paths, columns=columns, by=by), device=session)
    expected = convex_hulls_by_label(points, labels, device=session)
    np.testing.assert_array_equal(batch.vertices, expected.vertices)
    assert batch.labels.tolist() == expected.labels.tolist()
    region = clgeom.adaptive_region(chunks, 20, device=session)
    np.testing.assert_array_equal(region.upper, clgeom.adaptive_region(points, 20, device=session).upper)


def test_empty_files(session, tmp_path):
    np.save(tmp_path / "a.npy", np.empty((0, 2)))
    (tmp_path / "b.csv").write_text("x,y\n")
    write_laz(tmp_path / "c.laz", np.empty((0, 2)), np.empty(0, int))
    assert convex_hull(read_chunks(str(tmp_path / "*")), device=session).n == 0


def test_files_of_patterns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b.npy", "a.npy", "odd[1].npy"):
        np.save(name, np.zeros((1, 2)))
    assert files_of("*.npy", caller="test") == ["a.npy", "b.npy", "odd[1].npy"]
    assert files_of(["b.npy", "?.npy", "missing.npy"], caller="test") == ["b.npy", "a.npy", "b.npy", "missing.npy"]
    assert files_of("odd[1].npy", caller="test") == ["odd[1].npy"]
    for wrong, said in (("*.laz", "There is no file"), ([], "must name a file or more"), ([3], "must be names of")):
        with pytest.raises(InvalidInput, match=said):
            files_of(wrong, caller="test")


def test_reference_systems_of_files(session, tmp_path):
    pytest.importorskip("pyproj")
    for name, crs in (("a", 32632), ("b", 32632), ("c", 32633)):
        write(tmp_path / f"{name}.laz", crs=crs)
    if not session.profile.fp64:
        return
    assert convex_hull(read_chunks([tmp_path / "a.laz", tmp_path / "b.laz"]), device=session).crs == "EPSG:32632"
    with pytest.raises(
        InvalidInput, match=r"a.laz' and '.*c.laz' must be in one coordinate reference system. Got EPSG:"
    ):
        convex_hull(read_chunks(str(tmp_path / "*.laz")), device=session)
    assert convex_hull(read_chunks(str(tmp_path / "*.laz"), crs=3857), device=session).crs == 3857
    with pytest.raises(InvalidInput, match="crs"):
        read_chunks(str(tmp_path / "*.laz"), crs="EPSG:nothing")


@pytest.mark.parametrize("name", ("b.laz", "b.parquet", "b.npy", "b.npz"))
def test_a_damaged_file_among_good_ones(session, tmp_path, name):
    write(tmp_path / "a.npy")
    write(tmp_path / name)
    with open(tmp_path / name, "r+b") as file:
        file.truncate(os.path.getsize(tmp_path / name) * 3 // 4)
    with pytest.raises(InvalidInput, match=f"The file '.*{name}' "):
        convex_hull(read_chunks([tmp_path / "a.npy", tmp_path / name], columns=("1", "2")), device=session)


def test_a_file_that_changes_between_readings(session, tmp_path):
    if not session.profile.fp64:
        return
    path = tmp_path / "a.npy"
    np.save(path, cloud("disc", 100, np.float64))
    chunks = read_chunks(path)
    assert convex_hull(chunks, device=session).n == 100
    np.save(path, cloud("disc", 101, np.float64))
    with pytest.raises(InvalidInput, match="a.npy' has changed since it was read before"):
        convex_hull(chunks, device=session)


# Sequences ------------------------------------------------------------------------------------------------------


FASTQ = "".join(f"@r{k} x\n{'ACGT' * (k + 1)}\n+\n{'I' * 4 * (k + 1)}\n" for k in range(30))
FASTA = "".join(f">r{k}\n{'ACGT' * (k + 1)}\nAC\n" for k in range(30))


@pytest.mark.parametrize("text", (FASTQ, FASTA, "\n\n" + FASTQ.replace("\n", "\r\n"), "; note\n" + FASTA))
@pytest.mark.parametrize("packed", (False, True))
def test_batches_of_sequences(tmp_path, monkeypatch, text, packed):
    path = tmp_path / "reads.txt"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    whole = [record.sequence for record in read_sequences(path)]
    assert len(whole) == 30 and whole == [record.sequence for record in iterate_sequences(path)]
    for most, batches in ((1, 30), (1 << 30, 1)):
        found = list(module.read_sequences(path, max_bytes=most))
        assert [*itertools.chain(*found)] == whole and len(found) == batches
    both = list(itertools.chain(*module.read_sequences([path, path], max_bytes=1 << 12)))
    assert both == whole * 2


def test_pairs_in_chunks(session):
    rng = np.random.default_rng(3)
    a, b = (
        [rng.choice(np.frombuffer(b"ACGT", np.uint8), rng.integers(1, 40)).tobytes() for _ in range(120)]
        for _ in range(2)
    )

    def pairs(step):
        return ((a[k : k + step], b[k : k + step]) for k in range(0, 120, step))

    for function in (clgeom.dp.problems.edit_distance, clgeom.dp.problems.lcs):
        found = function(pairs(50), device=session)
        np.testing.assert_array_equal(found, function(a, b, device=session))
        assert found.dtype == np.int32 and len(function(iter([]), device=session)) == 0
        assert function(iter([([], []), (a[:1], b[:1])]), device=session).tolist() == found[:1].tolist()
    expected = clgeom.align(a, b, device=session)
    batches = list(clgeom.align(pairs(50), device=session))
    assert [len(batch) for batch in batches] == [50, 50, 20]
    np.testing.assert_array_equal(np.concatenate([batch.scores for batch in batches]), expected.scores)
    np.testing.assert_array_equal(np.concatenate([batch.operations for batch in batches]), expected.operations)
    with_one = clgeom.align(((batch, b[0]) for batch in (a[:60], a[60:])), path=False, free_ends=None, device=session)
    found = np.concatenate([batch.scores for batch in with_one])
    np.testing.assert_array_equal(found, clgeom.align(a, b[0], path=False, device=session).scores)


@given(
    n=st.integers(0, 30),
    places=st.lists(st.integers(0, 30), max_size=5),
    kind=st.sampled_from(("text", "bytes", "rows", "one")),
    max_bytes=st.sampled_from((1, 1 << 20)),
)
def test_pairs_however_cut(session, n, places, kind, max_bytes):
    rng = np.random.default_rng(n)
    a, b = rng.choice(np.frombuffer(b"ACGT", np.uint8), (2, n, 12))
    if kind != "rows":
        a, b = ([row[: 1 + k % 12].tobytes() for k, row in enumerate(rows)] for rows in (a, b))
    if kind == "text":
        a, b = ([row.decode() for row in rows] for rows in (a, b))
    ends = np.sort(np.clip(places, 0, n))
    parts = [slice(*ends) for ends in zip([0, *ends], [*ends, n])]
    pairs = Chunks([(a[part], b"ACGA" if kind == "one" else b[part]) for part in parts], max_bytes=max_bytes)
    second = b"ACGA" if kind == "one" else b
    found = list(clgeom.align(pairs, device=session))
    assert [len(batch) for batch in found] == [part.stop - part.start for part in parts]
    if n:
        expected = clgeom.align(a, second, device=session)
        for name in ("scores", "a_starts", "b_ends", "operations"):
            joined = np.concatenate([getattr(batch, name) for batch in found])
            np.testing.assert_array_equal(joined, getattr(expected, name))
    if kind == "one":
        return
    for function in (clgeom.dp.problems.edit_distance, clgeom.dp.problems.lcs):
        values = function(iter(pairs), device=session)
        assert values.tolist() == (function(a, b, device=session).tolist() if n else []) and values.dtype == np.int32


def test_refused_pairs(session):
    edit_distance = clgeom.dp.problems.edit_distance
    good = (["AC"], ["AG"])
    for work, said in (
        (lambda: edit_distance(iter([(3, 4)]), device=session), "many sequences each. Got 3 and 4 as chunk 0"),
        (lambda: edit_distance(iter([good, (["A", None], ["A", "C"])]), device=session), "index 1 .* That is chunk 1"),
        (lambda: edit_distance(iter([good, (["A"], ["A", "C"])]), device=session), "Got 2 instead. That is chunk 1"),
        (lambda: list(clgeom.align(iter([good, (["A"], ["?", "C"])]), device=session)), "That is chunk 1"),
        (lambda: edit_distance(iter([("kitten", "sitting")]), device=session), "must be pairs of batches, many"),
        (lambda: edit_distance(iter([["a"]]), device=session), r"must be pairs \(a, b\) of batches. Got \['a'\] as"),
        (lambda: edit_distance(iter([]), ["a"], device=session), "'b' parameter of edit_distance must be left out"),
        (lambda: next(clgeom.align(iter([("A", "C")]), device=session)), "one of them many sequences"),
        (lambda: clgeom.align(iter([]), "A", device=session), "'b' parameter of align must be left out"),
        (lambda: clgeom.align(iter([]), mode="all"), "'mode' parameter of align"),
    ):
        with pytest.raises(InvalidInput, match=said):
            work()


@pytest.mark.parametrize("read", (scale.read_chunks, scale.read_sequences))
def test_names_and_sizes_of_other_types(read):
    for files in (5, b"reads.fasta", None):
        with pytest.raises(InvalidInput, match="must be names of files"):
            read(files)
    with pytest.raises(InvalidInput, match="max_bytes"):
        list(read(__file__, max_bytes="1 MB"))


def test_an_arrow_file_of_an_empty_batch_has_one_empty_part(tmp_path):
    pa = pytest.importorskip("pyarrow")
    batch = pa.RecordBatch.from_pydict({"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())})
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    (part,) = cloud_parts(tmp_path / "t.arrow", rows=5)
    assert part.points.shape == (0, 2) and part.names == ("x", "y")
