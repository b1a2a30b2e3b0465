"""Tables of text by PyArrow and by the rules, which must agree; compressed tables; standard input."""

import gzip
import io
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from reference import table as reference

from clgeom.errors import InvalidInput
from clgeom.io import files, tables
from clgeom.io.items import read_items
from clgeom.io.keys import read_numbers
from clgeom.io.points import read_cloud, read_points


def stdin(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    return "-"


# By PyArrow -------------------------------------------------------------------------------------------------------


def quickly(path, **what):
    """Read a table with PyArrow, whatever its size."""
    least, tables.ARROW_LEAST = tables.ARROW_LEAST, 0
    try:
        return outcome(path, **what)
    finally:
        tables.ARROW_LEAST = least


def outcome(path, **what):
    """What reading gives: the bytes of the points and the groups, or the message of the error."""
    try:
        cloud = read_cloud(path, **what)
    except InvalidInput as error:
        return str(error)
    values = b"" if cloud.values is None else cloud.values.tobytes()
    groups = () if cloud.groups is None else (cloud.groups.numbers.tolist(), cloud.groups.names, cloud.groups.title)
    return cloud.points.tobytes(), values, cloud.names, groups


NUMBERS = st.sampled_from(
    [
        "1",
        "-0",
        "+5",
        "1.",
        ".5",
        "5e-324",
        "1e400",
        "nan",
        "-nan",
        "nan(1)",
        "inf",
        "-Infinity",
        "0x10",
        "1_0",
        "",
        "#",
    ]
    + [
        "9007199254740993",
        "9007199254740992",
        "00012",
        " 7",
        "7 ",
        '"7"',
        '"7" ',
        '7"',
        '"7',
        "1e",
        "1,2",
        "1\x0b",
        "٣",
    ]
    + [
        "9007199254740993.0",
        "9007199254740994.0",
        "9.007199254740993e15",
        "9007199254740993.5",
        "90071992547409930E-1",
        "1e23",
        "1e-400",
        "1E-0400",
        "0e-400",
        "0." + 350 * "0" + "1",
        "1" + 330 * "0" + ".",
        "NA",
        "#N/A",
    ]
) | st.floats().map(repr)
#: Numbers at the ends of float64, and of its integers, with any digits.
FAR = st.builds("{}{}e{}".format, st.sampled_from(["", "-"]), st.integers(0, 10**20), st.integers(-350, 320))
FAR |= st.builds("{:.{}{}}".format, st.floats(2.0**52, 1e30), st.integers(0, 20), st.sampled_from("efg"))
FAR |= st.builds("{}{}".format, st.integers(2**53 - 9, 2**55), st.sampled_from(["", ".", ".0", ".5", "e0", "0e-1"]))
NUMBERS |= FAR
TEXTS = st.sampled_from(
    ["a", " a", "a ", '"a"', '" a"', '"a,b"', '"a""b"', '"', 'a"b', '""', "", "#", "#a", "1", "01", "é", '"a\n', "\r"]
)


@given(
    rows=st.lists(st.tuples(TEXTS, NUMBERS, NUMBERS), min_size=1, max_size=6),
    delimiter=st.sampled_from([",", ",", ";", "\t", " "]),
    newline=st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n", " \n"]),
    block_bytes=st.sampled_from([1, 30, 1 << 24]),
    header=st.booleans(),
)
def test_pyarrow_and_the_rules_agree(tmp_path_factory, rows, delimiter, newline, block_bytes, header):
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.getbasetemp()
    lines = [delimiter.join(row) for row in rows]
    if header:
        lines.insert(0, delimiter.join(["k", "x", "y"]))
    path = folder / "agree.csv"
    path.write_bytes((newline.join(lines) + newline).encode())
    before, tables.BLOCK_BYTES = tables.BLOCK_BYTES, block_bytes
    try:
        for what in (
            {"by": "1", "columns": ("2", "3")},
            {"columns": ("2", "3")},
            {"value": "1", "columns": ("2", "3")},
        ):
            assert quickly(path, **what) == outcome(path, **what)
        least, tables.ARROW_LEAST = tables.ARROW_LEAST, 0
        try:
            found = numbers_of(path)
        finally:
            tables.ARROW_LEAST = least
        assert found == numbers_of(path)
    finally:
        tables.BLOCK_BYTES = before


def numbers_of(path, column="2"):
    try:
        found = read_numbers(path, column=column)
    except InvalidInput as error:
        return str(error)
    return found.dtype, found.tobytes()


@given(numbers=st.lists(FAR | st.sampled_from(["0", "1", "inf", "nan", "2.5"]), min_size=1, max_size=12))
def test_numbers_at_the_ends_of_float64(tmp_path_factory, numbers):
    """PyArrow, NumPy's parser and ours read or refuse as rational arithmetic does, and say the same."""
    pytest.importorskip("pyarrow")
    path = tmp_path_factory.getbasetemp() / "far.csv"
    path.write_text("".join(f"{number},1\n" for number in numbers))
    expected = [reference.number(number) for number in numbers]
    for read in (quickly, outcome):
        found = read(path, columns=("1", "2"))
        if None in expected:
            assert f"malformed in line {1 + expected.index(None)}: '{numbers[expected.index(None)]}' is " in found
        else:
            points = np.frombuffer(found[0]).reshape(-1, 2)
            np.testing.assert_array_equal(points[:, 0].view(np.int64), np.array(expected).view(np.int64))
    least, tables.ARROW_LEAST = tables.ARROW_LEAST, 0
    try:
        found = numbers_of(path, "1")
    finally:
        tables.ARROW_LEAST = least
    assert found == numbers_of(path, "1")
    whole = [number.lstrip("+-").isdecimal() for number in numbers]
    if None in expected and not (all(whole) or any(whole)):
        assert isinstance(found, str)
    elif None not in expected and not all(whole):
        assert found == (np.float64, np.array(expected).tobytes())


def test_large_tables_are_read_by_pyarrow(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    n = 40_000
    xy, k = rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-300, 300, (n, 2)), rng.integers(-5, 5, n)
    lines = [f'{x!r},{y!r},"tile {i}",{i}' for (x, y), i in zip(xy.tolist(), k.tolist())]
    path = tmp_path / "t.csv"
    path.write_text("x,y,tile,id\n" + "\n".join(lines) + "\n")
    assert path.stat().st_size > tables.ARROW_LEAST
    monkeypatch.setattr(tables.Block, "_cells", property(lambda self: pytest.fail("not read by PyArrow")))
    np.testing.assert_array_equal(read_points(path), xy)
    groups = read_cloud(path, by="id").groups
    np.testing.assert_array_equal(np.array(groups.names)[groups.numbers], k)
    groups = read_cloud(path, by="tile").groups
    assert groups.names == sorted({f"tile {i}" for i in k}) and groups.names[groups.numbers[7]] == f"tile {k[7]}"
    found = read_numbers(path, column="id")
    assert found.dtype == np.int64 and (found == k).all()
    np.testing.assert_array_equal(read_numbers(path, column="x"), xy[:, 0])


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("row", ["0.5,9007199254740993", "9007199254740993,0.5"])
def test_long_integers_are_not_rounded_by_pyarrow(tmp_path, monkeypatch, newline, row):
    monkeypatch.setattr(tables, "ARROW_LEAST", 1)
    path = tmp_path / "t.csv"
    path.write_bytes(newline.join(["x,y", "1.5,2.5", row, ""]).encode())
    with pytest.raises(InvalidInput, match=r"line 3: '9007199254740993' is beyond the integers that float64 holds"):
        read_points(path)


def test_blocks_of_other_numbers_keep_the_sign_of_zero(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ARROW_LEAST", 1)
    monkeypatch.setattr(tables, "BLOCK_BYTES", 4)
    path = tmp_path / "t.csv"
    path.write_text("1.5\n2.5\n-0\n3\n#####\n#####\n")
    found = read_numbers(path)
    assert found.tolist() == [1.5, 2.5, 0, 3] and np.signbit(found[2])
    path.write_text("1\n2\n#####\n#####\n18446744073709551615\n")
    assert read_numbers(path).tolist() == [1, 2, 2**64 - 1]


def test_errors_in_large_tables_name_the_line(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(tables, "ARROW_LEAST", 1 << 12)
    for newline in ("\n", "\r\n", "\r"):
        lines = ["# note", "x,y", *(f"{i}.5,{i}" for i in range(30_000))]
        lines[20_000] = "7,b"
        for name, opening in (("t.csv", open), ("t.csv.gz", gzip.open)):
            with opening(tmp_path / name, "wb") as file:
                file.write(newline.join(lines).encode())
            with pytest.raises(InvalidInput, match=r"malformed in line 20001: 'b' is not a number \('7,b'\)"):
                read_points(tmp_path / name)


# Compressed, and from standard input --------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt"])
def test_compressed_tables(tmp_path, suffix):
    data = b"x,y,k\n0,1,a\n2,3,b\n" if suffix == ".csv" else b"x\ty\tk\n0\t1\ta\n2\t3\tb\n"
    path = tmp_path / f"t{suffix}.gz"
    path.write_bytes(gzip.compress(data))
    cloud = read_cloud(path, by="k")
    np.testing.assert_array_equal(cloud.points, [[0, 1], [2, 3]])
    assert cloud.groups.names == ["a", "b"]
    np.testing.assert_array_equal(read_numbers(path, column="y"), [1, 3])
    for damaged, what in ((path.read_bytes()[:-12], "cut short"), (data, "not compressed by gzip"), (b"", "")):
        path.write_bytes(damaged)
        if damaged:
            with pytest.raises(InvalidInput, match=what):
                read_points(path)


def test_standard_input(monkeypatch):
    for data in (b"x,y\n0,1\n2,3\n", gzip.compress(b"x,y\n0,1\n2,3\n")):
        np.testing.assert_array_equal(read_points(stdin(monkeypatch, data)), [[0, 1], [2, 3]])
    with pytest.raises(InvalidInput, match=r"The file '-' is malformed in line 3: 'b' is not a number"):
        read_points(stdin(monkeypatch, b"x,y\n0,1\n2,b\n"))
    with pytest.raises(InvalidInput, match="Standard input must be a table of text here"):
        read_points(stdin(monkeypatch, b"\x93NUMPY\1\0"))
    assert read_items(stdin(monkeypatch, b"value,weight\n3,1\n")).values == [3]
    np.testing.assert_array_equal(read_numbers(stdin(monkeypatch, b"3\n-1\n")), [3, -1])


def test_folders_and_unknown_endings(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read: it is a folder"):
        read_points(tmp_path)
    with pytest.raises(InvalidInput, match=r"must end in one of .npy, .npz, .csv, .* or a table with .gz after it"):
        read_points(tmp_path / "t.xlsx")
    assert files.kind_of("A.CSV.GZ") == "table" and files.kind_of("a.LAZ") == "lidar"
