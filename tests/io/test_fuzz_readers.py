"""Readers of every format with damaged files: a result or `InvalidInput`, and the numbers that are in the file."""

import gzip
import io
import json
import os
import zipfile

import hypothesis.strategies as st
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from reference import table

from clgeom.commands import main as cli
from clgeom.errors import InvalidInput
from clgeom.io import arrays, tables
from clgeom.io.fasta import choose_record, read_fasta
from clgeom.io.groups import read_groups
from clgeom.io.points import read_points

#: Readers take microseconds: try many times as many files as other tests do examples.
many = settings(max_examples=5 * settings.default.max_examples)

pytestmark = [
    pytest.mark.filterwarnings("error"),  # a warning would be a second line on stderr
    pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning"),
]


# Damaged files --------------------------------------------------------------------------------------------------


@st.composite
def damaged(draw, whole, pieces):
    """A valid file with bytes flipped, cut out, put in, doubled or swapped; now and then bytes of no file at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([b"", *(file[:6] for file in whole)])) + draw(st.binary(max_size=200))
    data = bytearray(draw(st.sampled_from(whole)))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(start + draw(st.sampled_from([1, 8, 64])), len(data))))
        kind = draw(st.sampled_from(["flip", "cut", "truncate", "insert", "replace", "double", "swap"]))
        if kind == "flip" and start < len(data):
            data[start] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del data[start:end]
        elif kind == "truncate":
            del data[start:]
        elif kind == "insert":
            data[start:start] = draw(st.sampled_from(pieces) | st.binary(max_size=8))
        elif kind == "replace":
            data[start:end] = draw(st.sampled_from(pieces) | st.binary(max_size=8))
        elif kind == "double":
            data[start:start] = data[start:end]
        elif kind == "swap":
            third = draw(st.integers(end, len(data)))
            data[start:third] = data[end:third] + data[start:end]
    return bytes(data)


TABLES = [
    b"x,y\n0,0\n2,0\n2,1\n0,1\n",
    b"name,lat,lon\nA,0,0\nB,0,2\nC,1,2\n",
    b"1,2\n3,4\n-0.0,+5\n",
    b"x;y\r\n1;2\r\n3;4\r\n",
    b"1 2 3\n 4 5  6\n7\t8 9\n",
    b"\xef\xbb\xbfx\ty\n1\t2\n3\t4\n",
    b'name,x,y\n"A, B",0,0\n"",2,0\n"""C""",2,"1"\n',
    b"# note\n\nlongitude,latitude,z\n1e3,-.5,nan\n\n#\n2.,inf,1\n",
    "x,y,städte\n0,0,Zürich\n9007199254740992,2,\n".encode(),
]
TABLE_PIECES = [
    b",",
    b";",
    b"\t",
    b" ",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b'"',
    b'""',
    b"#",
    b"\0",
    b"x,y\n",
    b"nan",
    b"-inf",
    b"infinity",
    b"1e400",
    b"-1e-400",
    b"5e-324",
    b"9007199254740993",
    b"-9007199254740994",
    b"1_000",
    b"1.000.000",
    b"1'000",
    b"0x1p3",
    b"1,5",
    b"1d5",
    b"+",
    b"-",
    b".",
    b"1.",
    b".5",
    b"00012",
    "١٢".encode(),
    "１".encode(),
    b"\xb2",
    b"\x0b",
    b"\x0c",
    b"\x1c",
    b"\x85",
    b"\xa0",
    "\xa0".encode(),
    b"\x1a",
    b"\x1b[31m",
    b"(1)",
    b"True",
    b"1j",
    b"z" * 200_000,
    b"9" * 400,
    b"0" * 5000 + b"7",
    b"\xff\xfe",
    b"\x1f\x8b",
]
GROUPS = [
    b"name,lat,lon\n001,0,0\n1,0,2\n001,1,2\n",
    b"lon,lat,k\n1,2,7\n3,4,-8\n5,6,7\n",
    b'1.5 2.5 a\n2 3 "a b"\n3 4 a\n',
    b'a;x;y\n"a";1;2\n"a ";1;2\na ;3;4\n""a"";1;2\n',
]


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz(**members):
    out = io.BytesIO()
    np.savez(out, **members)
    return out.getvalue()


def packed(compression=zipfile.ZIP_DEFLATED, **members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def with_header(header, body=b"\0" * 64, version=1):
    """A .npy file with any text for its header."""
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + body


SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
NPY = [
    npy(SQUARE),
    npy(SQUARE.astype(np.float32).T),
    npy(SQUARE.astype(">i4")),
    npy(np.array(7.0)),
    npy(np.zeros((0, 2))),
    npy(np.array([(1, 2.5, "a"), (3, 4.5, "b")], [("lon", "i8"), ("lat", "f8"), ("name", "U3")])),
    npy(np.column_stack([SQUARE, [1, 1, 2, 2]])),
    npy(np.array([["a", "b"]])),
    npy(np.zeros((3, 2), "M8[s]")),
    npy(np.array([[2**53 + 1, 0], [1, 1]])),
]
NPY_PIECES = [
    b"'<f8'",
    b"'|O'",
    b"'>f2'",
    b"'<U4'",
    b"'|V8'",
    b"'<m8'",
    b"'g'",
    b"''",
    b"None",
    b"[('x', '<f8'), ('y', '<i8')]",
    b"(4, 2)",
    b"(-1, 2)",
    b"(1000000000000000, 2)",
    b"(99999999999999999999, 2)",
    b"(2, 2.0)",
    b"(4, 2",
    b"(0, 2)",
    b"True",
    b"1",
    b"{",
    b"}",
    b"'",
    b"\\x",
    b"\\",
    b"(" * 300,
    b"[" * 60_000,
    b"'descr': ",
    b"'shape': ",
    b", 'a': 1",
    b"1if 1else 1",
    b"lambda: 1",
    b"0777",
    b"1L",
    b"\n",
    b"\xff",
    b"\x93NUMPY\1\0",
    b"\x93NUMPY\3\0",
    b"\x93NUMPY\4\0",
]
HEADERS = [
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (4, 2), }\n",
    b"{'descr': [('x', '<f8'), ('y', '<f4')], 'fortran_order': False, 'shape': (3,), }\n",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000, 2), }\n",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (4, 2), }\n",
]
NPZ = [
    npz(points=SQUARE, k=np.array([1, 1, 2, 2])),
    npz(x=SQUARE[:, 0], y=SQUARE[:, 1].astype(np.int64), k=np.array(["a", "b", "a ", "a"])),
    npz(p=SQUARE.astype(np.int32)),
    packed(points=b"no array", k=b""),
    packed(**{"points.npy": npy(SQUARE), "k.npy": npy(np.array(["a", "b", "c", "d"]))}),
    packed(zipfile.ZIP_BZIP2, **{"points.npy": npy(SQUARE)}),
    packed(zipfile.ZIP_LZMA, **{"points.npy": npy(SQUARE)}),
    packed(**{"points.npy": npy(SQUARE), "points": b"x", "k/": b"", " ": b""}),
    packed(),
]
NPZ_PIECES = [
    b"PK\1\2",
    b"PK\3\4",
    b"PK\5\6",
    b"\1\0",
    b"\x08\0",
    b"\x63\0",
    b".npy",
    b"../",
    b"\xff" * 4,
    b"\0" * 4,
]
FASTA = [
    b">one first of two\nACGT\nACGG\n\n>two\nTTTT*\n",
    b"; note\n>a\r\nac gt\r\n>a\nA-C.\n",
    gzip.compress(b">one\nACGT\n" * 30, mtime=0),
]
FASTA_PIECES = [
    b">",
    b";",
    b"*",
    b"\n",
    b">\n",
    b"\r",
    b"\0",
    b"1",
    b"\xff",
    b"\x1f\x8b",
    b"\xef\xbb\xbf",
    b" ",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def written(folder, name, data):
    """A file with these bytes; each example replaces the one before."""
    path = folder / name
    path.write_bytes(data)
    return path


def tried(read, *arguments, **options):
    """What a reader returns, None for a file that it refuses in one line."""
    try:
        return read(*arguments, **options)
    except InvalidInput as error:
        assert len(str(error).splitlines()) == 1, str(error)
        return None


# Tables ---------------------------------------------------------------------------------------------------------


@many
@given(
    data=damaged(TABLES, TABLE_PIECES),
    suffix=st.sampled_from([".csv", ".tsv", ".txt"]),
    block_bytes=st.sampled_from([5, 64, 1 << 24]),
)
def test_damaged_tables_give_their_numbers_or_an_error(folder, data, suffix, block_bytes):
    path = written(folder, "t" + suffix, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BLOCK_BYTES", block_bytes)
        points = tried(read_points, path)
    expected = table.points(data, tabs=suffix == ".tsv")
    assert (points is None) == (expected is None), (data[:300], points, expected)
    if points is not None:
        assert points.dtype == np.float64
        expected = np.array(expected, np.float64).reshape(-1, 2)
        np.testing.assert_array_equal(points.view(np.int64), expected.view(np.int64))


FIELDS = [
    "0",
    "-0.0",
    "-0",
    "+7",
    "1e5",
    "1E+5",
    "1.",
    ".5",
    "1e400",
    "-1e400",
    "1e-400",
    "5e-324",
    "nan",
    "-inf",
    "Infinity",
    "9007199254740992",
    "9007199254740993",
    "9007199254740993.0",
    "-9007199254740994",
    "1" + 22 * "0",
    "1" + 23 * "0",
    "0" * 400 + "1",
    "9" * 400,
    "0.1",
    "123456789.123456789",
    "2.2250738585072011e-308",
    "1.7976931348623159e308",
    "",
    "1_000",
    "1,000",
    "1 000",
    "1'000",
    "1.000.000",
    "0x1F",
    "0x1p3",
    "1d5",
    "1e",
    "e5",
    "--1",
    "+-1",
    "infinit",
    "nan(1)",
    "１２",
    "١٢",
    "²",
    "½",
    "\xa01",
    "1\x0b",
    "\x1c1",
    "1\x85",
    "1\u2003",
    "1j",
    "True",
    "None",
    "1L",
    "1f",
]


def as_python_reads(field):
    """What float() makes of a field; None for one that must be refused, or whose integer float64 does not hold."""
    kept = field.strip(" \t")
    if not kept.isascii() or "_" in kept or kept != kept.strip():
        return None
    try:
        value = float(kept)
    except ValueError:
        return None
    if kept.lstrip("+-").isdecimal() and (abs(value) == np.inf or int(kept) != value):
        return None
    return value


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("form", ["{},1\n", '"{}",1\n', " {}\t, 1\n", "{};1\n", "{}\t1\n", "{} 1\n"])
def test_every_number_is_pythons(tmp_path, field, form):
    """Bit for bit, whether NumPy's parser reads it or ours; what float() would read in other ways is refused."""
    for before in ("7,7\n", '# note\n"7" , 7\n'):  # the second is for ours: blanks after a quote
        other = next((mark for mark in ",;\t" if mark in form.replace("{}\t,", ",")), " ")
        rows = before.replace(" ", "" if other == " " else " ").replace(",", other)
        data = (rows + form.format(field)).encode()
        points = tried(read_points, written(tmp_path, "t.csv", data))
        value = as_python_reads(field)
        if value is None or (other == " " and not field):
            assert points is None, points
        else:
            assert points[:, 0].tobytes() == np.array([7.0, value]).tobytes()


@many
@given(
    field=st.floats(width=64).map(repr)
    | st.integers(-(2**80), 2**80).map(str)
    | st.from_regex(r"[+-]?[0-9]{0,25}\.?[0-9]{0,25}(e[+-]?[0-9]{1,3})?", fullmatch=True)
    | st.text("0123456789.eE+-_xinfa '", max_size=12),
)
def test_any_number_is_pythons(folder, field):
    points = tried(read_points, written(folder, "n.tsv", f"7\t7\n1\t{field}\n".encode()))
    value = as_python_reads(field)
    assert (points is None) == (value is None)
    if value is not None:
        assert points[:, 1].tobytes() == np.array([7.0, value]).tobytes()


@many
@given(data=damaged([*TABLES, *GROUPS], TABLE_PIECES), by=st.sampled_from(["name", "1", "3", "k", "a"]))
def test_damaged_groups(folder, data, by):
    found = tried(read_groups, written(folder, "g.csv", data), by)
    if found is None:
        return
    check_groups(*found)
    points, _, labels, names, title = found
    rows = table.rows(data)
    if by.isdecimal() and rows and by not in map(table.name, rows[0]):
        column = int(by) - 1
        groups = [table.name(row[column]) for row in rows[len(rows) - len(points) :]]
        assert [str(names[label]) for label in labels] == groups
        if len(rows) > len(points):
            assert title == (table.name(rows[0][column]).strip() or "group")


def check_groups(points, columns, labels, names, title):
    assert points.shape == (len(labels), 2) and labels.dtype == np.int64
    assert sorted(set(labels.tolist())) == list(range(len(names))) and sorted(names) == names
    assert isinstance(title, str) and (columns is None or len(columns) == 2)
    assert all(type(name) is type(names[0]) for name in names)


# NumPy files ----------------------------------------------------------------------------------------------------


@st.composite
def damaged_npy(draw):
    if draw(st.booleans()):
        return draw(damaged(NPY, NPY_PIECES))
    header = draw(damaged(HEADERS, NPY_PIECES))
    return with_header(header[:60_000], version=draw(st.sampled_from([1, 1, 2, 3])))


@st.composite
def damaged_npz(draw):
    kind = draw(st.sampled_from(["bytes", "members", "header"]))
    if kind == "bytes":
        return draw(damaged(NPZ, NPZ_PIECES))
    data = bytearray(packed(**{"points.npy": draw(damaged_npy()), "k.npy": draw(damaged_npy())}))
    if kind == "header":  # of the first member, and in the directory: version, flags (encrypted), method
        value = draw(st.integers(0, 255))
        for place, offset in ((data.find(b"PK\3\4"), 4), (data.find(b"PK\1\2"), 6)):
            data[place + offset + draw(st.integers(0, 5))] = value
    return bytes(data)


@many
@given(data=damaged_npy(), columns=st.sampled_from([None, None, ("1", "2"), ("lon", "lat"), ("2", "1")]))
@pytest.mark.parametrize("map_from", [1, 1 << 28])
def test_damaged_npy(folder, data, columns, map_from):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "MAP_FROM", map_from)
        points = tried(read_points, written(folder, "a.npy", data), columns=columns)
    if points is not None:
        assert points.ndim == 2 and points.shape[1] == 2
        np.array(points)  # every byte of it is there


@many
@given(data=damaged_npy(), by=st.sampled_from(["3", "name", "1"]))
def test_damaged_groups_npy(folder, data, by):
    found = tried(read_groups, written(folder, "g.npy", data), by)
    if found is not None:
        check_groups(*found)


@many
@given(
    data=damaged_npz(),
    array=st.sampled_from([None, None, "points", "k"]),
    by=st.sampled_from([None, "k", "1"]),
)
def test_damaged_npz(folder, data, array, by):
    path = written(folder, "a.npz", data)
    if by is None:
        points = tried(read_points, path, array=array)
        assert points is None or (points.ndim == 2 and points.shape[1] == 2)
        return
    found = tried(read_groups, path, by, array=array)
    if found is not None:
        check_groups(*found)


# FASTA ----------------------------------------------------------------------------------------------------------


@many
@given(data=damaged(FASTA, FASTA_PIECES), wanted=st.sampled_from([None, "one", "a", "2", "9" * 5000]))
def test_damaged_fasta(folder, data, wanted):
    path = written(folder, "s.fasta", data)
    records = tried(read_fasta, path)
    if records is not None:
        assert records and all(set(r.sequence) <= set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ-.*") for r in records)
        record = tried(choose_record, path, records, wanted)
        assert record is None or record in records


# Readers of the other commands ----------------------------------------------------------------------------------

#: To be taken off once the reader lets no error through.

NUMBERS = [
    b"3\n1\n2\n",
    b"n\n5\n-7\n",
    b"18446744073709551615\n0\n",
    b"a;b\n1;2\n3;4\n",
    b"# note\n1.5\nnan\n-inf\n",
]
ITEMS = [
    b"name,weight,value\n# comment\npan,18,25\ntent,15,24\n",
    b"1;2\n3;4\n",
    b'a,value,weight\n"x, y",3,4.5\n',
]
SPECS = [
    b'equation = "i == 0 ? 0 : M(i-1, j) + w[j]"\npattern = "NOSE"\nshape = [8, 7]\ndtype = "int64"\n'
    b'[parameters.w]\ntype = "int32[]"\nvalue = [1, 2, 3, 4, 5, 6, 7]\n',
    b'equation = "i"\nshape = [2, 2]\nkeep = "last"\ncheck = true\n'
    b'parameters = {a = {type = "uint8[]", text = "abc"}, b = {type = "float32[]", file = "w.npy"}, '
    b'c = {type = "int32[]", file = "w.csv"}}\n',
]
SPEC_PIECES = [
    b"[",
    b"]",
    b"{",
    b"}",
    b"'",
    b'"',
    b'"""',
    b"\n",
    b"=",
    b"1e400",
    b"-1",
    b"nan",
    b"true",
    b"[" * 5000,
    b"1979-05-27",
    b"[parameters]\n",
    b"shape = 3\n",
    b"\\u0000",
    b"\\ud800",
    b"\0",
    b"9" * 400,
    b"99999999999",
    b"type = 3\n",
    b'value = ["a", 1, [2]]\n',
    b"value = {a = 1}\n",
    b'file = "a\\u0000"\n',
    b"helpers = 3\n",
    b"dtype = [1]\n",
    b"pattern = {}\n",
    b"\xff",
    b"(" * 300,
]
MAPS = [
    npz(values=SQUARE, transform=np.arange(6.0), crs=np.array("EPSG:32632"), nodata=np.array(0.0)),
    npz(values=SQUARE, transform=np.arange(6.0), crs=np.array(3), nodata=np.array("x")),
    npz(values=SQUARE, transform=np.array(["a"]), nodata=np.array([1, 2])),
    npz(values=SQUARE.reshape(2, 2, 2), transform=np.arange(4.0)),
]


@pytest.fixture(scope="module")
def geotiffs(folder):
    """GeoTIFF files of one small map, written in several ways."""
    rasterio = pytest.importorskip("rasterio")
    about = {
        "driver": "GTiff",
        "height": 6,
        "width": 8,
        "count": 1,
        "dtype": "float32",
        "crs": "EPSG:32632",
        "transform": rasterio.Affine(5, 0, 691000, 0, -5, 5335500),
    }
    files = []
    for how in (
        {},
        {"nodata": -1, "compress": "deflate"},
        {"tiled": True, "blockxsize": 16, "blockysize": 16},
    ):
        with rasterio.open(folder / "made.tif", "w", **about, **how) as file:
            file.write(np.arange(48, dtype=np.float32).reshape(1, 6, 8))
        files.append((folder / "made.tif").read_bytes())
    return files


@many
@given(data=damaged([*NUMBERS, *TABLES], TABLE_PIECES), column=st.sampled_from([None, "1", "x", "9" * 5000]))
def test_damaged_numbers(folder, data, column):
    from clgeom.io.keys import read_numbers

    tried(read_numbers, written(folder, "n.csv", data), column=column)


@many
@given(data=damaged_npy(), packed=damaged_npz(), column=st.sampled_from([None, "1"]))
def test_damaged_numbers_of_numpy(folder, data, packed, column):
    from clgeom.io.keys import read_numbers

    tried(read_numbers, written(folder, "n.npy", data), column=column)
    tried(read_numbers, written(folder, "n.npz", packed), column=column)


@many
@given(data=damaged_npy(), packed=damaged(MAPS, NPZ_PIECES) | damaged_npz())
def test_damaged_maps(folder, data, packed):
    from clgeom.io.rasters import read_raster

    tried(read_raster, written(folder, "m.npy", data))
    tried(read_raster, written(folder, "m.npz", packed))


@many
@given(data=st.data())
def test_damaged_geotiffs(folder, geotiffs, data):
    from clgeom.io.rasters import read_raster

    content = data.draw(damaged(geotiffs, [b"II*\0", b"MM\0*", b"\xff\xff", b"\0" * 4, b"\x7f\xff"]))
    tried(read_raster, written(folder, "m.tif", content))


@many
@given(data=damaged(SPECS, SPEC_PIECES))
def test_damaged_specifications(folder, data):
    from clgeom.commands.dp_fill import read_equation

    written(folder, "w.npy", npy(np.arange(4.0)))
    written(folder, "w.csv", b"1,2\n")
    tried(read_equation, written(folder, "s.toml", data))


@many
@given(data=damaged_npy(), table=damaged([b"1,2\n", *TABLES], TABLE_PIECES))
def test_damaged_files_of_specifications(folder, data, table):
    from clgeom.commands.dp_fill import read_equation

    written(folder, "w.npy", data)
    written(folder, "w.csv", b"1,2\n")
    tried(read_equation, written(folder, "s.toml", SPECS[1]))
    written(folder, "w.npy", npy(np.arange(4.0)))
    written(folder, "w.csv", table)
    tried(read_equation, written(folder, "s.toml", SPECS[1]))


@many
@given(data=damaged(ITEMS, TABLE_PIECES))
def test_damaged_items(folder, data):
    from clgeom.io.items import read_items

    tried(read_items, written(folder, "i.csv", data))


# The commands ---------------------------------------------------------------------------------------------------

POINTS = st.one_of(
    st.tuples(st.sampled_from([".csv", ".tsv"]), damaged([*TABLES, *GROUPS], TABLE_PIECES)),
    st.tuples(st.just(".npy"), damaged_npy()),
    st.tuples(st.just(".npz"), damaged_npz()),
)
#: Each command with files that it reads and options of which some are given.
COMMANDS = {
    "hull": (
        ["hull"],
        POINTS,
        [
            ["--by", "k"],
            ["--by", "3"],
            ["--columns", "2,1"],
            ["--columns", "lon,lat"],
            ["--array", "points"],
            ["--nonfinite", "drop"],
            ["--collinear", "keep"],
            ["-o", "out.geojson"],
            ["-o", "out.csv"],
            ["-o", "out.npz"],
        ],
    ),
    "sort": (["sort"], POINTS, [["--column", "1"], ["--array", "points"], ["--descending"], ["-o", "out.csv"]]),
    "region": (
        ["region", "--level", "1", "--segments", "4"],
        st.one_of(
            st.tuples(st.just(".npy"), damaged([npy(np.eye(6)), *NPY], NPY_PIECES)),
            st.tuples(st.just(".npz"), damaged([*MAPS, *NPZ], NPZ_PIECES)),
        ),
        [["--array", "values"], ["--nodata", "0"], ["--band", "2"], ["-o", "out.wkt"], ["--direction", "<="]],
    ),
    "lcs": (
        ["dp", "lcs", "--value", "whole.fa"],
        st.tuples(st.just(".fa"), damaged(FASTA, FASTA_PIECES)),
        [["--record", "1", "2"], ["--edit"]],
    ),
    "knapsack": (
        ["dp", "knapsack", "--capacity", "30"],
        st.tuples(st.just(".csv"), damaged(ITEMS, TABLE_PIECES)),
        [["--columns", "2,3"], ["-o", "out.csv"]],
    ),
}


@pytest.mark.parametrize("command", ["hull", "lcs", "sort", *("region", "knapsack")])
@given(data=st.data())
def test_commands_on_damaged_files(folder, command, data):
    """Exit code 0 and JSON, or exit code 2, one line and no file."""
    words, files, options = COMMANDS[command]
    suffix, content = data.draw(files)
    chosen = data.draw(st.lists(st.sampled_from(options), max_size=3))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        written(folder, "whole.fa", FASTA[0])
        path = written(folder, "c" + suffix, content)
        arguments = [*words, path.name, "--json", *(word for option in chosen for word in option)]
        result = CliRunner().invoke(cli.cli, arguments, prog_name="clgeom")
        left = {name for name in os.listdir(folder) if name.startswith(("out.", "."))}
        for name in left:
            os.unlink(name)
    assert not any(name.startswith(".") for name in left), "a part of a file is left"
    assert result.exit_code in (0, 2), (result.exit_code, result.stderr)
    if result.exit_code == 0:
        assert result.stderr == ""
        json.loads(result.stdout, parse_constant=pytest.fail)
    else:
        assert result.stdout == "" and not left
        assert result.stderr.startswith("clgeom: error: ") and result.stderr.count("\n") == 1
