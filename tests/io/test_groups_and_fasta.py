"""Reading groups and sequences: names as they are written, columns, packed files."""

import gzip
import json
import re

import numpy as np
import pytest
from point_files import SQUARE, make

from clgeom import convex_hulls_by_label
from clgeom.errors import InvalidInput
from clgeom.io.atomic import new_file
from clgeom.io.fasta import choose_record, read_sequences
from clgeom.io.hulls import write_hulls
from clgeom.io.points import read_cloud

__all__ = ["make"]


# Groups ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels, names",
    [
        (["1", "001", "1"], ["001", "1"]),  # two codes, not one number
        (["1", "+1", "1"], ["+1", "1"]),
        (["-0", "0", "0"], ["-0", "0"]),
        (["2", "10", "-3"], [-3, 2, 10]),
        (["1", "1.0", "1"], ["1", "1.0"]),
        ([str(2**63), "1", "1"], ["1", str(2**63)]),
        (["a", "a ", " a"], ["a"]),
        (['"a"', '"a "', "a"], ["a", "a "]),
        (["é".encode().decode("latin-1"), "e", "é".encode().decode("latin-1")], ["e", "é"]),
        (["1_0", "10", "10"], ["10", "1_0"]),
        (["z" * 140_000, "b", "b"], ["b", "z" * 140_000]),
    ],
)
def test_groups_are_told_apart_as_they_are_written(make, labels, names):
    rows = "".join(f"{i},{i},{label}\n" for i, label in enumerate(labels))
    groups = read_cloud(make("g.csv", ("x,y,k\n" + rows).encode("latin-1")), by="k").groups
    numbers, found = groups.numbers, groups.names
    assert found == names and groups.title == "k" and [type(n) for n in found] == [type(n) for n in names]
    written = [label.strip().strip('"').encode("latin-1").decode() for label in labels]
    if not labels[0].startswith('"'):
        assert [str(found[number]) for number in numbers] == written


def test_the_column_of_groups_is_no_coordinate(make, tmp_path):
    for content, by in [("5,1,2\n6,3,4\n", "1"), ("k,u,v\n5,1,2\n6,3,4\n", "k"), ("1 5 2\n3 6 4\n", "2")]:
        cloud = read_cloud(make("g.csv", content), by=by)
        np.testing.assert_array_equal(cloud.points, [[1, 2], [3, 4]])
        assert cloud.groups.names == [5, 6] and cloud.groups.numbers.tolist() == [0, 1]
    np.save(tmp_path / "g.npy", [[5, 1, 2], [6, 3, 4]])
    np.testing.assert_array_equal(read_cloud(tmp_path / "g.npy", by="1").points, [[1, 2], [3, 4]])
    with pytest.raises(InvalidInput, match="two columns at least besides column 1. Got 1"):
        read_cloud(make("g.csv", "1,2\n"), by="1")


@pytest.mark.parametrize(
    "arrays, by, message",
    [
        ({"points": SQUARE, "k": np.array(3)}, "k", "one for each of the 4 points. Got shape ()"),
        ({"points": np.array(1.0), "k": np.ones(4, int)}, "k", "must have shape (n, 2). Got () instead"),
        ({"points": SQUARE, "k": np.array([1, 2, 3, np.nan])}, "k", "integers or text. Got float64"),
        ({"points": SQUARE, "k": np.array([b"a"] * 4)}, "k", "integers or text. Got |S1"),
        ({"points": SQUARE, "k": np.array(["\ud800"] * 4)}, "k", "integers or text"),
        ({"points": SQUARE, "k": np.array([0x110000] * 4, "<u4").view("<U1")}, "k", "integers or text"),
        ({"points": SQUARE}, "7", "no column '7'"),
    ],
)
def test_groups_of_archives_that_are_none(tmp_path, arrays, by, message):
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(InvalidInput, match=re.escape(message)):
        read_cloud(tmp_path / "g.npz", by=by)


def test_groups_with_object_labels(tmp_path):
    np.savez(tmp_path / "g.npz", points=SQUARE, k=np.array(["a", 1, None, 2], object))
    with pytest.raises(InvalidInput, match="holds Python objects, which clgeom does not load"):
        read_cloud(tmp_path / "g.npz", by="k")


def write(batch, names, title, path):
    with new_file(path) as file:
        write_hulls(batch, names, title, file)


def test_written_groups_read_back(tmp_path):
    """Names with what a .csv file uses itself; one called as another column is."""
    names = ["# one", "a, b", 'say "hi"', " padded ", "é", "007"]
    batch = convex_hulls_by_label(np.repeat(SQUARE, 6, axis=0), np.tile(np.arange(6), 4))
    for title, column in (("kind", "kind"), ("x", "group"), ("Area", "group")):
        write(batch, names, title, tmp_path / "out.csv")
        cloud = read_cloud(tmp_path / "out.csv", by="1")
        groups = cloud.groups
        assert cloud.names == ("x", "y") and groups.title == column and groups.names == sorted(names)
        assert [groups.names[number] for number in groups.numbers[::4]] == names
        np.testing.assert_array_equal(cloud.points, batch.points)
        write(batch, names, title, tmp_path / "out.geojson")
        features = json.loads((tmp_path / "out.geojson").read_text())["features"]
        assert [f["properties"][column] for f in features] == names
        assert all(f["properties"]["area"] == 2.0 for f in features)
    write(convex_hulls_by_label(np.empty((0, 2)), []), [], "k", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "k,index,x,y\n"


# FASTA ----------------------------------------------------------------------------------------------------------


def test_records_with_one_name_are_told_by_number(make):
    path = make("s.fasta", ">a\nAC\n>b\nGG\n>a\nTT\n")
    records = read_sequences(path)
    with pytest.raises(InvalidInput, match="has 2 sequences named 'a'; give a number from 1 to 3"):
        choose_record(path, records, "a")
    assert choose_record(path, records, "3").sequence == b"TT"
    for wanted in ("0", "4", "9" * 5000, "٣", "c"):
        with pytest.raises(InvalidInput, match="has no sequence '.*'. It has: a, b, a."):
            choose_record(path, records, wanted)


def test_fasta_is_unpacked_by_its_content(make):
    packed = gzip.compress(b">a\nAC\n")
    assert read_sequences(make("s.fasta", packed))[0].sequence == b"AC"
    for damaged in (packed[:-4], packed[:12] + b"\xff" + packed[13:], b">a\nAC\n"):
        with pytest.raises(InvalidInput, match="cannot be read"):
            read_sequences(make("s.fa.gz", damaged))
    with pytest.raises(InvalidInput, match="line 4 holds a null character"):
        read_sequences(make("s.fa", b">a\n" + b"A" * 5000 + b"\nC\n\0\n"))
