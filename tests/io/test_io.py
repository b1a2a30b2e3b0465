"""Reading points and writing hulls: formats, columns, malformed files, files whole or not at all."""

import gzip
import json
import os
import re
import tempfile
import zipfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from clgeom import convex_hull, convex_hulls_by_label
from clgeom.data import cities
from clgeom.errors import InvalidInput
from clgeom.io import tables
from clgeom.io.atomic import check_output, check_outputs, replacing
from clgeom.io.fasta import choose_record, read_fasta
from clgeom.io.groups import read_groups, write_hulls
from clgeom.io.hulls import GEOJSON, HULL_FORMATS, write_hull
from clgeom.io.items import read_items
from clgeom.io.keys import read_numbers
from clgeom.io.points import read_points, read_valued_points
from clgeom.io.specs import read_matrix


def with_shape(shape, descr="'<f8'"):
    """A .npy file of two rows whose header says this of it."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + np.arange(4.0).tobytes()


SQUARE = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]


@pytest.fixture
def make(tmp_path):
    """Write a file of this name and content; returns its path."""

    def make(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


# Text -----------------------------------------------------------------------------------------------------------


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
        ("latin.csv", "x,y,städte\n0,0,Zürich\n2,0,ü\n2,1,ü\n0,1,ü\n".encode("latin-1")),
    ],
)
def test_read_points_text(make, name, content):
    points = read_points(make(name, content))
    assert points.dtype == np.float64
    np.testing.assert_array_equal(points, SQUARE)


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
    rows = "9007199254740992,-9007199254740994\n1000000000000000000000,9007199254740993.0\n"
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


# NumPy files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", ">f8", "int16"])
def test_read_points_npy(tmp_path, dtype):
    np.save(tmp_path / "p.npy", np.array(SQUARE, dtype))
    points = read_points(tmp_path / "p.npy")
    assert points.dtype == dtype
    np.testing.assert_array_equal(points, SQUARE)


def test_read_points_npy_columns(tmp_path):
    square = np.array(SQUARE)
    np.save(tmp_path / "wide.npy", np.column_stack([square[:, 1], [7] * 4, square[:, 0]]))
    np.testing.assert_array_equal(read_points(tmp_path / "wide.npy", columns=("3", "1")), SQUARE)
    records = np.rec.fromarrays([square[:, 1], square[:, 0]], names="lat,lon")
    np.save(tmp_path / "records.npy", np.asarray(records))
    np.testing.assert_array_equal(read_points(tmp_path / "records.npy"), SQUARE)
    np.save(tmp_path / "flat.npy", square.ravel())
    with pytest.raises(InvalidInput, match="two dimensions"):
        read_points(tmp_path / "flat.npy", columns=("1", "2"))


def test_read_points_npz(tmp_path):
    path, square = tmp_path / "p.npz", np.array(SQUARE)
    np.savez(path, anything=square)
    np.testing.assert_array_equal(read_points(path), SQUARE)
    np.savez(path, other=square + 1, points=square)
    np.testing.assert_array_equal(read_points(path), SQUARE)
    np.testing.assert_array_equal(read_points(path, array="other"), square + 1)
    np.savez(path, y=square[:, 1], x=square[:, 0], name=np.array(["a"]))
    np.testing.assert_array_equal(read_points(path), SQUARE)
    np.testing.assert_array_equal(read_points(path, columns=("x", "1")), SQUARE)
    np.savez(path, a=square, b=square)
    for arguments, message in [
        ({}, r"name one \(--array\). It has: a, b."),
        ({"array": "c"}, "no array 'c'. It has: a, b."),
        ({"columns": ("a", "b")}, "same length"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            read_points(path, **arguments)


def test_read_points_malformed_numpy_files(tmp_path, make):
    np.save(tmp_path / "whole.npy", np.zeros((100, 2)))
    np.save(tmp_path / "objects.npy", np.array([[{}, 1]]))
    np.savez(tmp_path / "whole.npz", np.zeros((1000, 2)))
    whole, archive = (tmp_path / "whole.npy").read_bytes(), (tmp_path / "whole.npz").read_bytes()
    bad = {
        "cut.npy": whole[:-5],
        "head.npy": whole[:20],
        "empty.npy": b"",
        "junk.npy": b"hello, world",
        "zip.npy": archive,
        "cut.npz": archive[:-5],
        "empty.npz": b"",
        "junk.npz": b"hello, world",
        "array.npz": whole,
        "hole.npz": archive[:300] + b"\1" * 50 + archive[350:],
    }
    for name, content in bad.items():
        with pytest.raises(InvalidInput, match=f"{name}' is not a NumPy") as caught:
            read_points(make(name, content))
        assert "\n" not in str(caught.value), name
    with pytest.raises(InvalidInput, match="Python objects"):
        read_points(tmp_path / "objects.npy")


@pytest.mark.parametrize(
    "content, message",
    [
        (with_shape("(1000000000000000, 2)"), "greater than file size|too big|not fit"),
        (with_shape("(1, 2)"), "16 bytes longer than its header says"),
        (with_shape("(2, 2)", "'<f8' 1"), "Cannot parse header|invalid"),
        (with_shape("(2, 2)", "'|O'"), "Python objects"),
        (with_shape("(2, -2)"), "negative|is not a NumPy"),
        (with_shape("((((2, 2"), "is not a NumPy"),
    ],
)
def test_read_points_of_npy_files_with_a_wrong_header(make, content, message):
    with pytest.raises(InvalidInput, match=message):
        read_points(make("t.npy", content))


def test_read_points_of_archives_with_odd_members(tmp_path):
    good = with_shape("(2, 2)")
    for members, message in [
        ({"points": b"text"}, "not a NumPy archive"),
        ({"points.npy": good, "points": good}, "two of its arrays have one name"),
        ({"points.npy": good + b"more"}, "longer than its header says"),
        ({}, "has no arrays"),
    ]:
        with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        with pytest.raises(InvalidInput, match=message):
            read_points(tmp_path / "t.npz")
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("points.npy", good)
    data = bytearray((tmp_path / "t.npz").read_bytes())
    data[6] |= 1  # encrypted, both in the member's header and in the directory
    data[data.index(b"PK\1\2") + 8] |= 1
    (tmp_path / "t.npz").write_bytes(data)
    with pytest.raises(InvalidInput, match="is encrypted"):
        read_points(tmp_path / "t.npz")


def test_columns_of_two_types_keep_every_integer(tmp_path):
    x, y = np.array([2**53 + 1, 0]), np.array([0.5, 1])
    np.savez(tmp_path / "t.npz", x=x, y=y)
    np.save(tmp_path / "t.npy", np.array(list(zip(x, y)), [("x", "i8"), ("y", "f8")]))
    for name in ("t.npz", "t.npy"):
        with pytest.raises(InvalidInput, match=r"'x' of .* within 2\*\*53. Got 9007199254740993 instead"):
            read_points(tmp_path / name)
    np.savez(tmp_path / "t.npz", x=x - 1, y=y)
    np.testing.assert_array_equal(read_points(tmp_path / "t.npz"), [[2.0**53, 0.5], [-1, 1]])
    np.savez(tmp_path / "t.npz", x=np.array(["a", "b"]), y=y)
    with pytest.raises(InvalidInput, match="'x' of .* must be numbers. Got <U1"):
        read_points(tmp_path / "t.npz")


def test_read_points_unreadable(tmp_path, make):
    with pytest.raises(InvalidInput, match="No such file"):
        read_points(tmp_path / "none.csv")
    with pytest.raises(InvalidInput, match="must end in one of .npy, "):
        read_points(make("points.xlsx", ""))
    with pytest.raises(InvalidInput, match="for .npz files"):
        read_points(make("points.csv", ""), array="a")
    for suffix in (".csv", ".npy", ".npz"):
        (tmp_path / f"folder{suffix}").mkdir()
        with pytest.raises(InvalidInput, match="cannot be read: Is a directory"):
            read_points(tmp_path / f"folder{suffix}")
        with pytest.raises(InvalidInput, match="cannot be read: File name too long"):
            read_points(tmp_path / ("n" * 300 + suffix))
        with pytest.raises(InvalidInput, match="null character"):
            read_points(f"a\0{suffix}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("suffix", [".csv", ".npy", ".npz"])
def test_read_points_waits_for_no_pipe(tmp_path, suffix):
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"null{suffix}").symlink_to("/dev/null")
    for name in ("pipe", "null"):
        with pytest.raises(InvalidInput, match="not a regular file"):
            read_points(tmp_path / f"{name}{suffix}")


@pytest.fixture
def unprivileged(tmp_path_factory):
    """A folder, while the process has no more rights than any user's."""
    if not hasattr(os, "setresuid"):
        pytest.skip("this system has no setresuid to become another user by")
    with tempfile.TemporaryDirectory() as folder:
        root = os.geteuid() == 0
        if root:
            os.chown(folder, 65534, 65534)
            os.setresuid(65534, 65534, 0)
        try:
            yield Path(folder)
        finally:
            if root:
                os.setresuid(0, 0, 0)


def test_files_without_permission(unprivileged):
    secret, folder = unprivileged / "secret.csv", unprivileged / "closed"
    secret.write_text("x,y\n")
    secret.chmod(0)
    folder.mkdir(mode=0o555)
    with pytest.raises(InvalidInput, match="cannot be read: Permission denied"):
        read_points(secret)
    with pytest.raises(InvalidInput, match="cannot be written: it is read-only"):
        check_output(secret, HULL_FORMATS)
    with pytest.raises(InvalidInput, match="is read-only"):
        check_output(folder / "a.csv", HULL_FORMATS)
    with (
        pytest.raises(InvalidInput, match="cannot be written: Permission denied"),
        replacing(folder / "a.csv"),
    ):
        pytest.fail("no file can be there")


def read_every_way(path):
    """What the readers of all commands make of the first two columns of a table: an array or a message each."""
    readers = {
        "points": lambda: read_points(path, columns=("1", "2")),
        "groups": lambda: read_groups(path, "1", columns=("1", "2"))[0],
        "values": lambda: read_valued_points(path, "1", columns=("1", "2"))[0],
        "numbers": lambda: np.column_stack([read_numbers(path, column="1"), read_numbers(path, column="2")]),
        "items": lambda: np.column_stack([(items := read_items(path, ("1", "2"))).values, items.weights]),
        "matrix": lambda: read_matrix(path).reshape(-1, 2),
    }
    found = {}
    for name, reader in readers.items():
        try:
            found[name] = np.asarray(reader(), np.float64)
        except InvalidInput as error:
            found[name] = str(error)
    return found


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.tab", "t.txt", "t.xy", "t.xyz"])
@pytest.mark.parametrize(
    "content",
    [
        "0,1\n2,3\n",
        "x,y\r\n0,1\r\n2,3\r\n",
        "# of\n\n0\t1\n \t\n#\n2\t3",
        "x;y\r0;1\r2;3\r",
        " 0  1 \n2\t3\n",
        '"a, b",y\n"0", 1 \n2,"3"\n',
        "\ufeffgröße,y\n0,1\n2,3\n",
        b"gr\xf6\xdfe,y\n0,1\n2,3\n",
        "0,1\n2,3e0\n",
        "-0,+1\n2.,3\n",
    ],
)
def test_every_command_reads_tables_alike(make, name, content):
    for reader, found in read_every_way(make(name, content)).items():
        assert isinstance(found, np.ndarray), (reader, found)
        np.testing.assert_array_equal(found, [[0, 1], [2, 3]], reader)


@pytest.mark.parametrize(
    "content, words",
    [
        ("0,1\n2\n", "malformed in line 2: 2 fields are expected, it has 1"),
        ("0,1\n\n2,3,4\n", "malformed in line 3: 2 fields are expected, it has 3"),
        ('0,1\n2,"3\n', "malformed in line 2: a quote is not closed"),
        ('0,1\n2,"3"x\n', "malformed in line 2: a quote is not closed in its line, or text follows it"),
        ("0,1\n2,x\n", "malformed in line 2: 'x' is not a number"),
        ("0,1\n2,3_0\n", "malformed in line 2: '3_0' is not a number"),
        ("0,1\n2,\u0663\n", "malformed in line 2: '\u0663' is not a number"),
        ("0,1\n2,\u22123\n", "malformed in line 2: '\u22123' is not a number"),
        ("\u22120,\u22121\n2,3\n", "malformed in line 1: '\u22120' is not a number"),
        ("1st,2nd\n2,3\n", "malformed in line 1: '1st' is not a number"),
        ("0,1\n2,\n", "malformed in line 2: a .* is missing"),
        (b"0,1\n" * 3000 + b"2,3\0\n", "malformed in line 3001: it holds a null character"),
        (b"0,1\0\n", "is not text in UTF-8 or a code page"),
        ("0,1\n".encode("utf-16"), "it is not text in UTF-8 or a code page"),
        (gzip.compress(b"0,1\n", mtime=0), "it is compressed"),
    ],
)
def test_every_command_refuses_tables_alike(make, content, words):
    for reader, found in read_every_way(make("t.csv", content)).items():
        assert isinstance(found, str) and re.search(words, found) and "\n" not in found, (reader, found)


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
    _, _, numbers, found, title = read_groups(make("g.csv", ("x,y,k\n" + rows).encode("latin-1")), "k")
    assert found == names and title == "k" and [type(n) for n in found] == [type(n) for n in names]
    written = [label.strip().strip('"').encode("latin-1").decode() for label in labels]
    if not labels[0].startswith('"'):
        assert [str(found[number]) for number in numbers] == written


def test_the_column_of_groups_is_no_coordinate(make, tmp_path):
    for content, by in [("5,1,2\n6,3,4\n", "1"), ("k,u,v\n5,1,2\n6,3,4\n", "k"), ("1 5 2\n3 6 4\n", "2")]:
        points, _, labels, names, _ = read_groups(make("g.csv", content), by)
        np.testing.assert_array_equal(points, [[1, 2], [3, 4]])
        assert names == [5, 6] and labels.tolist() == [0, 1]
    np.save(tmp_path / "g.npy", [[5, 1, 2], [6, 3, 4]])
    np.testing.assert_array_equal(read_groups(tmp_path / "g.npy", "1")[0], [[1, 2], [3, 4]])
    with pytest.raises(InvalidInput, match="two columns at least besides that of the groups. Got 1"):
        read_groups(make("g.csv", "1,2\n"), "1")


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
        read_groups(tmp_path / "g.npz", by)


def test_groups_with_object_labels(tmp_path):
    np.savez(tmp_path / "g.npz", points=SQUARE, k=np.array(["a", 1, None, 2], object))
    with pytest.raises(InvalidInput, match="not a NumPy archive: Object arrays cannot be loaded"):
        read_groups(tmp_path / "g.npz", "k")


def test_written_groups_read_back(tmp_path):
    """Names with what a .csv file uses itself; one called as another column is."""
    names = ["# one", "a, b", 'say "hi"', " padded ", "é", "007"]
    batch = convex_hulls_by_label(np.repeat(SQUARE, 6, axis=0), np.tile(np.arange(6), 4))
    for title, column in (("kind", "kind"), ("x", "group"), ("Area", "group")):
        write_hulls(batch, names, title, tmp_path / "out.csv")
        points, columns, labels, found, shown = read_groups(tmp_path / "out.csv", "1")
        assert columns == ("x", "y") and shown == column and found == sorted(names)
        assert [found[label] for label in labels[::4]] == names
        np.testing.assert_array_equal(points, batch.points)
        write_hulls(batch, names, title, tmp_path / "out.geojson")
        features = json.loads((tmp_path / "out.geojson").read_text())["features"]
        assert [f["properties"][column] for f in features] == names
        assert all(f["properties"]["area"] == 2.0 for f in features)
    write_hulls(convex_hulls_by_label(np.empty((0, 2)), []), [], "k", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "k,index,x,y\n"


# FASTA ----------------------------------------------------------------------------------------------------------


def test_records_with_one_name_are_told_by_number(make):
    path = make("s.fasta", ">a\nAC\n>b\nGG\n>a\nTT\n")
    records = read_fasta(path)
    with pytest.raises(InvalidInput, match="has 2 sequences named 'a'; give a number from 1 to 3"):
        choose_record(path, records, "a")
    assert choose_record(path, records, "3").sequence == b"TT"
    for wanted in ("0", "4", "9" * 5000, "٣", "c"):
        with pytest.raises(InvalidInput, match="has no sequence '.*'. It has: a, b, a."):
            choose_record(path, records, wanted)


def test_fasta_is_unpacked_by_its_content(make):
    packed = gzip.compress(b">a\nAC\n")
    assert read_fasta(make("s.fasta", packed))[0].sequence == b"AC"
    for damaged in (packed[:-4], packed[:12] + b"\xff" + packed[13:], b">a\nAC\n"):
        with pytest.raises(InvalidInput, match="cannot be read"):
            read_fasta(make("s.fa.gz", damaged))
    with pytest.raises(InvalidInput, match="line 4 holds a null character"):
        read_fasta(make("s.fa", b">a\n" + b"A" * 5000 + b"\nC\n\0\n"))


# Hulls ----------------------------------------------------------------------------------------------------------

CLOUDS = {
    "square": np.array([[1, 0.25], *SQUARE]),
    "float32": np.array([[0.1, 0], [2, 1e-7], [1e30, 3]], np.float32),
    "int32": np.array([[0, 0], [2**31 - 1, 5], [-(2**31), 7]], np.int32),
    "segment": np.array([[1.0, 1], [0, 0], [3, 3]]),
    "point": np.array([[0.1, -0.0]] * 2),
    "none": np.zeros((0, 2)),
    "huge": np.array([[0, 0], [1e308, 0], [0, 1e308]]),
}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_write_hull_every_format(tmp_path, cloud):
    shapely = pytest.importorskip("shapely")
    hull = convex_hull(CLOUDS[cloud])
    corners = hull.points.tolist()
    geographic = cloud in ("square", "segment", "point", "none")
    for suffix in HULL_FORMATS:
        if geographic or suffix not in GEOJSON:
            write_hull(hull, tmp_path / f"hull{suffix}")
        else:
            with pytest.raises(InvalidInput, match="within 180 and 90 degrees"):
                write_hull(hull, tmp_path / f"hull{suffix}")
    written = [suffix for suffix in HULL_FORMATS if geographic or suffix not in GEOJSON]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == sorted(written)  # and nothing temporary
    if geographic:
        check_geojson(hull, json.loads((tmp_path / "hull.geojson").read_text(), parse_constant=pytest.fail))

    rows = (tmp_path / "hull.csv").read_text().splitlines()
    assert rows[0] == "index,x,y"
    assert [[float(v) for v in row.split(",")] for row in rows[1:]] == [
        [float(index), *corner] for index, corner in zip(hull.vertices, corners)
    ]

    wkt = (tmp_path / "hull.wkt").read_text()
    assert shapely.equals_exact(shapely.from_wkt(wkt), hull.to_shapely(), 0)

    np.testing.assert_array_equal(np.load(tmp_path / "hull.npy"), hull.points)
    assert np.load(tmp_path / "hull.npy").dtype == hull.points.dtype
    with np.load(tmp_path / "hull.npz") as archive:
        np.testing.assert_array_equal(archive["vertices"], hull.vertices)
        np.testing.assert_array_equal(archive["points"], hull.points)


def check_geojson(hull, feature):
    """A feature has every bit of a hull's coordinates, and its measures."""
    assert feature["type"] == "Feature"
    assert feature["properties"]["points"] == hull.n
    assert feature["properties"]["vertices"] == hull.vertices.tolist()
    assert feature["properties"]["area"] == hull.area
    shape = feature["geometry"]
    kind = ("GeometryCollection", "Point", "LineString", "Polygon")[hull.dimension + 1]
    assert shape["type"] == kind
    ring = {
        "Polygon": lambda: shape["coordinates"][0][:-1],
        "LineString": lambda: shape["coordinates"],
        "Point": lambda: [shape["coordinates"]],
        "GeometryCollection": lambda: [],
    }[kind]()
    assert ring == hull.points.tolist()
    if kind == "Polygon":
        assert shape["coordinates"][0][0] == shape["coordinates"][0][-1]


def test_write_hull_then_read_points(tmp_path):
    hull = convex_hull(cities().points)
    for name in ("hull.csv", "hull.npy", "hull.npz"):
        write_hull(hull, tmp_path / name)
        np.testing.assert_array_equal(read_points(tmp_path / name), hull.points)


@pytest.mark.parametrize(
    "name, message",
    [
        ("hull.txt", "must end in one of .csv, .geojson"),
        ("hull", "must end in one of"),
        ("none/hull.csv", "there is no folder"),
        ("file/hull.csv", "there is no folder"),
        ("folder.csv", "it is not a file"),
    ],
)
def test_check_output_refuses(tmp_path, name, message):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match=message):
        check_output(tmp_path / name, HULL_FORMATS)


def test_replacing_is_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("before")
    with pytest.raises(KeyError), replacing(path) as file:
        file.write(b"half")
        raise KeyError
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["out.csv"]
    with replacing(path) as file:
        file.write(b"after")
    assert path.read_text() == "after" and os.listdir(tmp_path) == ["out.csv"]


def test_replacing_follows_links_and_respects_umask(tmp_path):
    target, link = tmp_path / "real.csv", tmp_path / "link.csv"
    link.symlink_to(target)
    before = os.umask(0o027)
    try:
        with replacing(link) as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert link.is_symlink() and target.read_bytes() == b"x"
    assert target.stat().st_mode & 0o777 == 0o640


def test_replacing_keeps_mode_and_owner(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("before")
    path.chmod(0o604)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        os.chown(path, 65534, 65533)
    before = path.stat()
    with replacing(path) as file:
        file.write(b"after")
    after = path.stat()
    assert path.read_bytes() == b"after"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


@pytest.mark.parametrize("length", [250, 255])
def test_replacing_takes_long_names(tmp_path, length):
    path = tmp_path / ("n" * (length - 4) + ".csv")
    check_output(path, HULL_FORMATS)
    with replacing(path) as file:
        file.write(b"x")
    assert os.listdir(tmp_path) == [path.name]
    with pytest.raises(InvalidInput, match="cannot be written: File name too long"):
        check_output(tmp_path / ("n" * 252 + ".csv"), HULL_FORMATS)
    with pytest.raises(InvalidInput, match="null character|null byte"):
        check_output("a\0.csv", HULL_FORMATS)


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    """The system's limit on the size of files stands in for a full disk."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "out.csv"
    path.write_text("before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(InvalidInput, match="cannot be written: File too large"), replacing(path) as file:
            for _ in range(100):
                file.write(b"x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["out.csv"]


def test_check_outputs_finds_two_of_one_name(tmp_path):
    (tmp_path / "b.png").symlink_to("a.png")
    picture = tmp_path / "a.png"
    with pytest.raises(InvalidInput, match="is the output .*a.png', too"):
        check_outputs(None, (picture, (".png",)), (None, ()), (tmp_path / "b.png", (".png",)))
    with pytest.raises(InvalidInput, match="is the input file"):
        check_outputs(picture, (tmp_path / "b.png", (".png",)))
    check_outputs(picture, (tmp_path / "c.png", (".png",)), (tmp_path / "d.png", (".png",)))


# Data -----------------------------------------------------------------------------------------------------------


def test_cities_are_what_their_readme_says():
    world = cities()
    readme = Path(__file__).parents[2].joinpath("clgeom", "data", "README.rst").read_text()
    assert f"{len(world):,} cities" in readme and "CC BY 4.0" in readme
    assert world.points.shape == (len(world), 2) and world.points.dtype == np.float64
    assert len(world.names) == len(world.countries) == len(world.populations) == len(world)
    assert (np.abs(world.points) <= (180, 90)).all()
    paris = next(i for i in range(len(world)) if world.label(i) == "Paris (FR)")
    assert world.points[paris].tolist() == [2.3488, 48.85341]
    assert not world.points.flags.writeable
