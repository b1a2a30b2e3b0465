"""Files of every format, and damaged ones."""

import gzip
import io
import zipfile

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings

from clgeom.errors import InvalidInput

#: Readers take microseconds: try many times as many files as other tests do examples.
many = settings(max_examples=5 * settings.default.max_examples)


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


def check_groups(cloud):
    points, columns, groups = cloud.coordinates, cloud.names, cloud.groups
    labels, names, title = groups.numbers, groups.names, groups.title
    assert points.shape == (len(labels), 2) and labels.dtype == np.int64
    assert sorted(set(labels.tolist())) == list(range(len(names))) and sorted(names) == names
    assert isinstance(title, str) and (columns is None or len(columns) == 2)
    assert all(type(name) is type(names[0]) for name in names)


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


ITEMS = [
    b"name,weight,value\n# comment\npan,18,25\ntent,15,24\n",
    b"1;2\n3;4\n",
    b'a,value,weight\n"x, y",3,4.5\n',
]

MAPS = [
    npz(values=SQUARE, transform=np.arange(6.0), crs=np.array("EPSG:32632"), nodata=np.array(0.0)),
    npz(values=SQUARE, transform=np.arange(6.0), crs=np.array(3), nodata=np.array("x")),
    npz(values=SQUARE, transform=np.array(["a"]), nodata=np.array([1, 2])),
    npz(values=SQUARE.reshape(2, 2, 2), transform=np.arange(4.0)),
]
