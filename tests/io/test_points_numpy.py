"""Reading points from NumPy files: columns, archives, wrong headers, odd members."""

import zipfile

import numpy as np
import pytest
from point_files import SQUARE, make

from clgeom.errors import InvalidInput
from clgeom.io.points import read_points

__all__ = ["make"]


def with_shape(shape, descr="'<f8'"):
    """A .npy file of two rows whose header says this of it."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + np.arange(4.0).tobytes()


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


CUT = ("cut.npy", "head.npy", "magic.npy", "empty.npy", "cut.npz")


def test_read_points_malformed_numpy_files(tmp_path, make):
    np.save(tmp_path / "whole.npy", np.zeros((100, 2)))
    np.save(tmp_path / "objects.npy", np.array([[{}, 1]]))
    np.savez(tmp_path / "whole.npz", np.zeros((1000, 2)))
    whole, archive = (tmp_path / "whole.npy").read_bytes(), (tmp_path / "whole.npz").read_bytes()
    bad = {
        "cut.npy": whole[:-5],
        "head.npy": whole[:20],
        "magic.npy": whole[:4],
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
        assert ("it is cut short" in str(caught.value)) == (name in CUT), name
    np.savez(tmp_path / "objects.npz", np.array([[{}, 1]]))
    for name in ("objects.npy", "objects.npz"):
        with pytest.raises(InvalidInput, match=f"{name}' holds Python objects"):
            read_points(tmp_path / name)


@pytest.mark.parametrize(
    "content, message",
    [
        (with_shape("(1000000000000000, 2)"), "cut short|too big|not fit"),
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
