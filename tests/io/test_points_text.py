"""Reading points from text: columns, headers, malformed lines, blocks."""

import gzip
import os

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from point_files import SQUARE, make

from clgeom.errors import InvalidInput
from clgeom.io import tables
from clgeom.io.points import read_points

__all__ = ["make"]


@pytest.mark.parametrize(
    "name, content",
    [
        ("plain.csv", "0,0\n2,0\n2,1\n0,1\n"),
        ("no_last_newline.csv", "0,0\n2,0\n2,1\n0,1"),
        ("windows.csv", "x,y\r\n0,0\r\n2,0\r\n2,1\r\n0,1\r\n"),
        ("old_mac.csv", "x,y\r0,0\r2,0\r2,1\r0,1\r"),
        ("marked.csv", b"\xef\xbb\xbfx,y\n0,0\n2,0\n2,1\n0,1\n"),
        ("swapped.csv", "Latitude,Longitude\n0,0\n0,2\n1,2\n1,0\n"),
        ("named.csv", "name,lon,lat\nA,0,0\nB,2,0\nC,2,1\nD,0,1\n"),
        ("spaced.csv", "name, x, y\nA, 0, 0\nB, 2, 0\nC, 2, 1\nD, 0, 1\n"),
        ("quoted.csv", 'name,x,y\n"A, B",0,0\n"",2,0\n"""C""",2,1\nD,"0","1"\n'),
        ("comments.csv", "# made by hand\n\nx,y\n0,0\n  \n# half\n2,0\n2,1\n\n0,1\n\n"),
        ("hash.csv", "x,y,street\n0,0,#1\n2,0,#2\n2,1,a\n0,1,b\n"),
        ("semicolons.csv", "easting;northing;z\n0;0;5\n2;0;5\n2;1;5\n0;1;5\n"),
        ("tabs.csv", "x\ty\n0\t0\n2\t0\n2\t1\n0\t1\n"),
        ("tabs.tsv", "name\tx\ty\na,b\t0\t0\nc\t2\t0\nd\t2\t1\ne\t0\t1\n"),
        ("blanks.txt", "  0 0 7\n2   0 7\n2\t1 7\n0 1 7 \n"),
        ("commas.txt", "0,0\n2,0\n2,1\n0,1\n"),
        ("exponents.xyz", "0e0 -0.0 1\n2E0 0 1\n+2 1e+0 1\n.0 1. 1\n"),
        ("two_columns.csv", "first,second\n0,0\n2,0\n2,1\n0,1\n"),
        ("counted.txt", "4\n0 0\n2 0\n2 1\n0 1\n"),
        ("counted.xy", "# points\n\n 4 \n0.0 0.0\n\n2.0 0.0\n# half\n2.0 1.0\n0.0 1.0\n"),
        ("latin.csv", "x,y,städte\n0,0,Zürich\n2,0,ü\n2,1,ü\n0,1,ü\n".encode("latin-1")),
    ],
)
def test_read_points_text(make, name, content):
    points = read_points(make(name, content))
    assert points.dtype == np.float64
    np.testing.assert_array_equal(points, SQUARE)


@pytest.mark.parametrize(("rows", "block_bytes"), [(3, 8), (5, 8), (5, 1 << 24), (10**400, 1 << 24)])
def test_read_points_of_another_count(make, monkeypatch, rows, block_bytes):
    monkeypatch.setattr(tables, "BLOCK_BYTES", block_bytes)
    path = make("counted.txt", f"{rows}\n0.5 0\n2.5 0\n2.5 1\n0.5 1\n")
    with pytest.raises(InvalidInput, match=r"rows, as its first line says\. Got 4 instead\.$"):
        read_points(path)


@pytest.mark.parametrize("first", ["4.0", "-4", "4 4", "x"])
def test_read_points_of_no_count(make, first):
    with pytest.raises(
        InvalidInput, match="two columns|malformed in line 1" if first != "4 4" else "malformed in line 2"
    ):
        read_points(make("counted.txt", f"{first}\n0 0 0\n2 0 0\n"))


@pytest.mark.parametrize("columns", [("b", "d"), ("B", "D"), ("2", "4"), (" b", "4 ")])
def test_read_points_columns(make, columns):
    path = make("wide.csv", "a,b,c,d\n9,0,9,0\n9,2,9,0\n9,2,9,1\n9,0,9,1\n")
    np.testing.assert_array_equal(read_points(path, columns=columns), SQUARE)


@pytest.mark.parametrize(
    "content, columns, message",
    [
        ("a,b,c\n1,2,3\n", None, "cannot be told from its header"),
        ("a,b,c\n1,2,3\n", ("a", "z"), "no column 'z'. It has: a, b, c."),
        ("1,2,3\n", ("1", "4"), "no column '4'. It has no header; its columns are 1 to 3."),
        ("1,2,3\n", ("0", "1"), "no column '0'"),
        ("x,x,y\n1,2,3\n", ("x", "y"), "2 columns named 'x'"),
        ("1\n2\n", None, "two columns at least. Got 1"),
    ],
)
def test_read_points_columns_not_there(make, content, columns, message):
    with pytest.raises(InvalidInput, match=message.replace(".", r"\.")):
        read_points(make("t.csv", content), columns=columns)


@pytest.mark.parametrize(
    "content, line, message",
    [
        ("x,y\n1,2\n3,four\n", 3, "'four' is not a number"),
        ("x,y\n1,2\n\n# note\n3\n", 5, "2 fields are expected, it has 1"),
        ("1,2\n3,4,5\n", 2, "2 fields are expected, it has 3"),
        ("1,2\n3,\n", 2, "a coordinate is missing"),
        ("1,2\n1_0,3\n", 2, "'1_0' is not a number"),
        ("a,x,y\nb,1,2\nc,1,2,3\nd,1\n", 3, "3 fields are expected, it has 4"),
        ("1,5;2,5\n1,5;x\n", 1, "is not a number"),
        ("x;y\n1;2\n1,5;2\n", 3, "'1,5' is not a number"),
        ("\r\nx,y\r\n1,2\r\nq,2\r\n", 4, "'q' is not a number"),
        ('x,y\n"1",2\n"1,2\n', 3, "a quote is not closed in its line"),
        ("x,y\n1,2\n" + "z" * 500 + ",1\n", 3, r"zzz\.\.\.' is not a number"),
        ("x,y\n1,2\n\x1b[31m,1\n", 3, r"'\\x1b\[31m' is not a number"),
    ],
)
@pytest.mark.parametrize("block_bytes", [8, 1 << 24])
def test_read_points_malformed_names_line(make, monkeypatch, content, line, message, block_bytes):
    monkeypatch.setattr(tables, "BLOCK_BYTES", block_bytes)
    with pytest.raises(InvalidInput, match=f"malformed in line {line}: .*{message}") as caught:
        read_points(make("bad.csv", content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content, line",
    [
        ("a,b,c\n1,2,3,4\n5,6\n", 2),  # as many fields in all as there should be
        ("1,2,3\n4,5\n6,7,8,9\n", 2),
        ('x,y,n\n1,2,"a,b"\n3,"4,"\n', 3),
        ("1 2 3\n4 5 6 7\n8 9\n", 2),
        ("x,y\n1,2\n3,4,\n", 3),
    ],
)
@pytest.mark.parametrize("block_bytes", [6, 1 << 24])
def test_read_points_of_uneven_rows(make, monkeypatch, content, line, block_bytes):
    monkeypatch.setattr(tables, "BLOCK_BYTES", block_bytes)
    with pytest.raises(InvalidInput, match=f"malformed in line {line}: . fields are expected"):
        read_points(make("t.csv", content), columns=("1", "2"))


@pytest.mark.parametrize(
    "content, message",
    [
        ("9007199254740993,1\n", "'9007199254740993' is beyond the integers that float64 holds"),
        ("1,2\n-9007199254740993,1\n", "beyond the integers"),
        ("1,2\n" + "9" * 400 + ",1\n", "beyond the integers"),
        ("1,5\t2,5\n", "'1,5' is not a number"),  # one row that would pass for a header
        ("1 000;2 000\n", "'1 000' is not a number"),
        ("0x10,0x20\n", "'0x10' is not a number"),
        ("١٢,٣\n", "'١٢' is not a number"),
        ("12°30'N,5°E\n", "is not a number"),
        (",\n", "a coordinate is missing"),
    ],
)
def test_read_points_never_loses_a_row_or_a_digit(make, content, message):
    with pytest.raises(InvalidInput, match=message):
        read_points(make("t.tsv", content))


def test_read_points_takes_integers_that_float64_holds(make):
    rows = "9007199254740992,-9007199254740994\n1000000000000000000000,9007199254740992.0\n"
    np.testing.assert_array_equal(read_points(make("t.csv", rows)), [[2.0**53, -(2.0**53) - 2], [1e21, 2.0**53]])


@pytest.mark.parametrize(
    "header", ["latitude,lng", "Lat,Longitude", "lat,long", "n,N,e", "y,other,x", '"lat, deg",lat,lon']
)
def test_read_points_finds_x_and_y_by_name(make, header):
    columns = [name.strip('"').lower() for name in header.replace('"lat, deg"', "first").split(",")]
    x = next(i for i, name in enumerate(columns) if name in ("lng", "longitude", "long", "lon", "e", "x"))
    y = len(columns) - 1 - columns[::-1].index(next(n for n in columns[::-1] if n in ("latitude", "lat", "n", "y")))
    row = [str(10 + i) for i in range(len(columns))]
    path = make("t.csv", f"{header}\n{','.join(row)}\n")
    if columns.count(columns[y]) > 1:
        with pytest.raises(InvalidInput, match="cannot be told from its header"):
            read_points(path)
    else:
        np.testing.assert_array_equal(read_points(path), [[10 + x, 10 + y]])


def test_read_points_of_long_fields(make):
    """No limit on a field's length, in either way of reading."""
    for quoted in ("{}", '"{}, {}"'):
        field = quoted.replace("{}", "z" * 200_000)
        np.testing.assert_array_equal(read_points(make("t.csv", f"n,x,y\n{field},1,2\n")), [[1, 2]])
        np.testing.assert_array_equal(read_points(make("t.csv", f'n,x,y\n{field},"1" ,2\n')), [[1, 2]])


@pytest.mark.parametrize("columns", [("1", "1"), ("x", "X"), ("y", "2")])
def test_read_points_takes_two_columns(make, columns):
    with pytest.raises(InvalidInput, match="must be two. Got column . for both"):
        read_points(make("t.csv", "x,y\n1,2\n"), columns=columns)


@pytest.mark.parametrize("content", ["", "\n\n", "# nothing\n", "x,y\n", "x,y\n\n# nothing\n", "x,y"])
def test_read_points_without_rows(make, content):
    assert read_points(make("empty.csv", content)).shape == (0, 2)


def test_read_points_keeps_nonfinite(make):
    np.testing.assert_array_equal(
        read_points(make("n.csv", "x,y\nnan,1\n-inf,Infinity\n")), [[np.nan, 1], [-np.inf, np.inf]]
    )


@pytest.mark.parametrize(
    "content, message",
    [
        ("x,y\n1,2\n".encode("utf-16"), "is not text"),
        ("x,y\n1,2\n".encode("utf-16-be"), "is not text"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not text"),
        (gzip.compress(b"x,y\n1,2\n", mtime=0), "compressed"),
        (b"PK\3\4 and so on", "is an archive"),
        (b"x,y\n" + b"1,2\n" * 2000 + b"3,\0\n", "malformed in line 2002: it holds a null character"),
    ],
)
def test_read_points_of_no_text(make, content, message):
    with pytest.raises(InvalidInput, match=message):
        read_points(make("image.csv", content))


@given(
    rows=st.lists(st.tuples(*[st.floats(allow_nan=False, width=64)] * 2), max_size=12),
    header=st.booleans(),
    note=st.sampled_from(["", "# a, b\n", "\n"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    block_bytes=st.sampled_from([4, 17, 1 << 20]),
)
def test_read_points_any_block(tmp_path_factory, rows, header, note, newline, block_bytes):
    """Where blocks end changes nothing, and every float64 comes back bit for bit."""
    path = tmp_path_factory.getbasetemp() / f"blocks{os.getpid()}.csv"
    lines = ["x,y\n"] * header + [f"{note}{x!r},{y!r}\n" for x, y in rows]
    path.write_bytes("".join(lines).replace("\n", newline).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BLOCK_BYTES", block_bytes)
        points = read_points(path)
    assert points.tobytes() == np.array(rows, np.float64).reshape(-1, 2).tobytes()


def test_read_points_reports_progress(make, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK_BYTES", 64)
    path, seen = make("long.csv", "x,y\n" + "1,2\n" * 100), []
    read_points(path, progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > 3 and seen == sorted(seen) and seen[-1] == (404, 404)
