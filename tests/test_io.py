"""Reading points and writing hulls: formats, columns, malformed files, files whole or not at all."""

import json
import os
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from clgeom import convex_hull
from clgeom.data import cities
from clgeom.errors import InvalidInput
from clgeom.io import text
from clgeom.io.atomic import check_output, replacing
from clgeom.io.hulls import GEOJSON, HULL_FORMATS, write_hull
from clgeom.io.points import read_points

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
    monkeypatch.setattr(text, "BLOCK_BYTES", block_bytes)
    with pytest.raises(InvalidInput, match=f"malformed in line {line}: .*{message}") as caught:
        read_points(make("bad.csv", content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "\n\n", "# nothing\n", "x,y\n", "x,y\n\n# nothing\n", "x,y"])
def test_read_points_without_rows(make, content):
    assert read_points(make("empty.csv", content)).shape == (0, 2)


def test_read_points_keeps_nonfinite(make):
    np.testing.assert_array_equal(
        read_points(make("n.csv", "x,y\nnan,1\n-inf,Infinity\n")), [[np.nan, 1], [-np.inf, np.inf]]
    )


@pytest.mark.parametrize("content", ["x,y\n1,2\n".encode("utf-16"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"])
def test_read_points_of_no_text(make, content):
    with pytest.raises(InvalidInput, match="is not text"):
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
        patch.setattr(text, "BLOCK_BYTES", block_bytes)
        points = read_points(path)
    assert points.tobytes() == np.array(rows, np.float64).reshape(-1, 2).tobytes()


def test_read_points_reports_progress(make, monkeypatch):
    monkeypatch.setattr(text, "BLOCK_BYTES", 64)
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
        "cut.npy": whole[:-5], "head.npy": whole[:20], "empty.npy": b"", "junk.npy": b"hello, world",
        "zip.npy": archive, "cut.npz": archive[:-5], "empty.npz": b"", "junk.npz": b"hello, world", "array.npz": whole,
        "hole.npz": archive[:300] + b"\1" * 50 + archive[350:],
    }  # fmt: skip
    for name, content in bad.items():
        with pytest.raises(InvalidInput, match=f"{name}' is not a NumPy") as caught:
            read_points(make(name, content))
        assert "\n" not in str(caught.value), name
    with pytest.raises(InvalidInput, match="Python objects"):
        read_points(tmp_path / "objects.npy")


def test_read_points_unreadable(tmp_path, make):
    with pytest.raises(InvalidInput, match="No such file"):
        read_points(tmp_path / "none.csv")
    with pytest.raises(InvalidInput, match="must end in one of .npy, "):
        read_points(make("points.xlsx", ""))
    with pytest.raises(InvalidInput, match="for .npz files"):
        read_points(make("points.csv", ""), array="a")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidInput, match="cannot be read: Is a directory"):
        read_points(tmp_path / "folder.csv")


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


# Data -----------------------------------------------------------------------------------------------------------


def test_cities_are_what_their_readme_says():
    world = cities()
    readme = Path(__file__).parent.parent.joinpath("clgeom", "data", "README.rst").read_text()
    assert f"{len(world):,} cities" in readme and "CC BY 4.0" in readme
    assert world.points.shape == (len(world), 2) and world.points.dtype == np.float64
    assert len(world.names) == len(world.countries) == len(world.populations) == len(world)
    assert (np.abs(world.points) <= (180, 90)).all()
    paris = next(i for i in range(len(world)) if world.label(i) == "Paris (FR)")
    assert world.points[paris].tolist() == [2.3488, 48.85341]
    assert not world.points.flags.writeable
