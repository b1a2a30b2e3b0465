"""Points, groups and numbers from LAS and LAZ files, and one clear error for each fault of a file."""

import functools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from point_files import stdin

from clgeom.errors import InvalidInput
from clgeom.io.cloud import DIFFER, joined
from clgeom.io.keys import read_numbers
from clgeom.io.points import read_cloud


def write_las(path, n=1000, *, scale=(0.01, 0.01, 0.01), offset=(5e5, 5.3e6, 0.0), crs=None, seed=0, format=6):
    laspy = pytest.importorskip("laspy")
    if path.suffix == ".laz":
        pytest.importorskip("lazrs")
    header = laspy.LasHeader(point_format=format, version="1.4")
    header.scales, header.offsets = scale, offset
    if crs:
        header.add_crs(pytest.importorskip("pyproj").CRS(crs))
    las, rng = laspy.LasData(header), np.random.default_rng(seed)
    las.X, las.Y, las.Z = rng.integers(-(2**31), 2**31, (3, n))
    las.classification = rng.integers(0, 5, n)
    las.gps_time = rng.random(n)
    las.write(path)
    return las


@pytest.mark.parametrize("name", ["t.las", "t.laz"])
@pytest.mark.parametrize("format", [1, 6])
def test_las_is_read_as_its_integers(tmp_path, name, format, monkeypatch):
    monkeypatch.setattr("clgeom.io.lidar.AT_ONCE", 300)
    path = tmp_path / name
    las = write_las(path, format=format, crs="EPSG:25832" if format == 6 else None)
    cloud = read_cloud(path, by="classification")
    assert cloud.points.dtype == np.int32
    np.testing.assert_array_equal(cloud.points, np.column_stack([las.X, las.Y]))
    np.testing.assert_array_equal(cloud.coordinates, np.column_stack([las.x, las.y]))
    np.testing.assert_array_equal(np.array(cloud.groups.names)[cloud.groups.numbers], las.classification)
    assert (cloud.scale, cloud.offset) == ((0.01, 0.01), (5e5, 5.3e6))
    assert cloud.crs == ("EPSG:25832" if format == 6 else None)
    np.testing.assert_array_equal(read_numbers(path, column="z"), las.z)
    np.testing.assert_array_equal(read_numbers(path, column="gps_time"), las.gps_time)
    np.testing.assert_array_equal(read_cloud(path, value="Z").values, las.z)
    side = read_cloud(path, columns=("Y", "Z"))
    np.testing.assert_array_equal(side.coordinates, np.column_stack([las.y, las.z]))
    mixed = read_cloud(path, columns=("X", "gps_time"))
    np.testing.assert_array_equal(mixed.coordinates, np.column_stack([las.x, las.gps_time]))
    np.testing.assert_array_equal(read_cloud(stdin(monkeypatch, path.read_bytes())).points, cloud.points)


def test_tiles_of_one_scale_stay_integers(tmp_path):
    one, two, other = (tmp_path / f"{name}.las" for name in ("one", "two", "other"))
    write_las(one, seed=1, crs="EPSG:25832")
    write_las(two, seed=2, crs="EPSG:25832")
    write_las(other, seed=3, crs="EPSG:25832", offset=(6e5, 5.3e6, 0.0))
    clouds = [read_cloud(path, by="classification") for path in (one, two, other)]
    same = joined(clouds[:2], (one, two))
    assert same.points.dtype == np.int32 and same.notes == () and same.scale == (0.01, 0.01)
    np.testing.assert_array_equal(same.points, np.concatenate([cloud.points for cloud in clouds[:2]]))
    mixed = joined(clouds, (one, two, other))
    assert mixed.points.dtype == np.float64 and mixed.notes == (DIFFER,) and mixed.scale is None
    np.testing.assert_array_equal(mixed.coordinates, np.concatenate([cloud.coordinates for cloud in clouds]))
    labels = np.concatenate([np.array(c.groups.names)[c.groups.numbers] for c in clouds])
    np.testing.assert_array_equal(np.array(mixed.groups.names)[mixed.groups.numbers], labels)
    write_las(other, crs="EPSG:25833")
    with pytest.raises(InvalidInput, match="one coordinate reference system. Got EPSG:25832 and EPSG:25833"):
        joined([clouds[0], read_cloud(other, by="classification")], (one, other))


def test_las_with_a_negative_scale_becomes_float64(tmp_path):
    las = write_las(tmp_path / "t.las", scale=(-0.01, 0.01, 0.01))
    cloud = read_cloud(tmp_path / "t.las")
    assert cloud.scale is None and "scale" in cloud.notes[0]
    np.testing.assert_array_equal(cloud.points, np.column_stack([las.x, las.y]))


@pytest.mark.parametrize("name", ["t.las", "t.laz"])
def test_damaged_las_files(tmp_path, name):
    whole, cut = tmp_path / name, tmp_path / f"cut-{name}"
    write_las(whole)
    data = whole.read_bytes()
    for size in (0, 4, 100, 375, 376, len(data) // 2, len(data) - 1000, len(data) - 7):
        cut.write_bytes(data[:size])
        with pytest.raises(InvalidInput, match=r"cut short"):
            read_cloud(cut)
    with pytest.raises(InvalidInput, match=r"no column 'clasification'. Did you mean 'classification'\?"):
        read_cloud(whole, by="clasification")
    write_las(whole, n=0)
    assert read_cloud(whole, by="classification").points.shape == (0, 2)


@pytest.mark.parametrize("name", ["t.las", "t.laz"])
def test_las_that_counts_more_records_than_it_has(tmp_path, name):
    path = tmp_path / name
    write_las(path, n=20)
    for place in (100, 243):  # the numbers of variable length records, and of extended ones
        data = bytearray(path.read_bytes())
        data[place : place + 4] = b"\xff\xff\xff\x7f"
        (tmp_path / f"more-{name}").write_bytes(data)
        with pytest.raises(InvalidInput, match=r"it has [\d,]+ bytes, for [\d,]+ records"):
            read_cloud(tmp_path / f"more-{name}")


def test_laz_that_counts_more_chunks_than_it_has(tmp_path):
    path = tmp_path / "t.laz"
    las = write_las(path, n=20)
    data = bytearray(path.read_bytes())
    start = int.from_bytes(data[96:100], "little")
    table = int.from_bytes(data[start : start + 8], "little")
    assert int.from_bytes(data[table + 4 : table + 8], "little") == 1 and len(las.X) == 20
    data[table + 4 : table + 8] = b"\xff\xff\xff\xff"
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match=r"for 4,294,967,295 chunks of points"):
        read_cloud(path)


def test_laz_with_chunks_far_larger_than_it_is(tmp_path):
    path = tmp_path / "t.laz"
    write_las(path, n=20)
    data = bytearray(path.read_bytes())
    at = data.index(b"laszip encoded") + 52 + 12  # of the record's data
    assert int.from_bytes(data[at : at + 4], "little") == 50_000
    data[at : at + 4] = (1 << 31).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match=r"it has 20 points, in chunks of 2,147,483,648"):
        read_cloud(path)


def test_a_panic_of_lazrs_is_an_error(tmp_path, monkeypatch):
    laspy = pytest.importorskip("laspy")

    class PanicException(BaseException):
        pass

    def chunk_iterator(self, size):
        raise PanicException("attempt to calculate the remainder with a divisor of zero")

    write_las(tmp_path / "t.laz")
    monkeypatch.setattr(laspy.LasReader, "chunk_iterator", chunk_iterator)
    with pytest.raises(InvalidInput, match="it is damaged or cut short: attempt to calculate"):
        read_cloud(tmp_path / "t.laz")


@pytest.mark.parametrize("scale, offset", [(np.inf, 0.0), (np.nan, 0.0), (1e300, 0.0), (0.1, np.nan), (0.1, np.inf)])
def test_las_whose_coordinates_are_not_finite(tmp_path, scale, offset):
    import struct

    path = tmp_path / "t.las"
    write_las(path, n=5)
    data = bytearray(path.read_bytes())
    struct.pack_into("<d", data, 131, scale)
    struct.pack_into("<d", data, 155, offset)
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match="scale and the offset of X in .* must give finite coordinates"):
        read_cloud(path)


def test_las_dimensions_with_several_numbers(tmp_path):
    laspy = pytest.importorskip("laspy")
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.add_extra_dim(laspy.ExtraBytesParams("normal", "3u2"))
    las = laspy.LasData(header)
    las.X = las.Y = np.arange(4)
    las.write(tmp_path / "t.las")
    for read in (lambda path: read_numbers(path, column="normal"), lambda path: read_cloud(path, by="normal")):
        with pytest.raises(InvalidInput, match="'normal' of .* has several numbers for each point"):
            read(tmp_path / "t.las")


@given(flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4))
def test_fuzzed_las_files(tmp_path_factory, flips):
    folder = tmp_path_factory.mktemp("las")
    for name in ("t.las", "t.laz"):
        data = bytearray(las_bytes(name))
        for place, byte in flips:
            data[int(place * min(len(data), 700))] = byte  # of the header and the first points
        (folder / name).write_bytes(data)
        try:
            assert read_cloud(folder / name).points.shape[1:] == (2,)
        except InvalidInput:
            pass


@functools.cache
def las_bytes(name):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        write_las(Path(folder) / name, n=50)
        return (Path(folder) / name).read_bytes()
