"""Rasters that are read by strips: the same polygons as of one read, bit for bit, within bounded memory."""

import contextlib
import json
import os
import subprocess
import sys
import weakref
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from covered import SHAPES, picture
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from region_commands import done, here, refused

import clgeom
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.intake.interop import strips as module
from clgeom.intake.interop.rasters import Raster
from clgeom.intake.interop.strips import Strips
from clgeom.io.rasters import open_raster, read_raster
from clgeom.region.rings import runs

__all__ = ["here"]

PLACE = (5.0, 0.0, 691_000.0, 0.0, -5.0, 5_335_500.0)
CALLS = (
    {"outline": "cells"},
    {"outline": "cells", "iou": 0.8},
    {"outline": "cells", "part_vertices": 12},
    {"segments": 4},
    {"segments": 4, "holes": 0},
    {"segments": 4, "parts": False},
    {"segments": 4, "parts": False, "holes": 2},
    {"segments": 3, "axis": "both", "holes": 0},
    {"segments": 3, "axis": "both", "parts": False},
)


@contextlib.contextmanager
def heights(rows, columns, dtype):
    """Strips of so many rows, of rasters of any size."""
    size = rows * columns * np.dtype(dtype).itemsize
    with mock.patch.multiple(module, LARGE_BYTES=0, STRIP_BYTES=size):
        yield


def in_strips(values, **options):
    def window(row, column, rows, columns):
        assert 0 <= row < row + rows <= values.shape[0] and 0 <= column < column + columns <= values.shape[1]
        return values[row : row + rows, column : column + columns]

    return Raster(Strips(window, values.shape, values.dtype, **options))


def same(found, expected):
    """That results are equal bit for bit."""
    assert len(found) == len(expected)
    if hasattr(expected, "corners"):
        for name in ("corners", "ring_offsets", "polygon_offsets", "maps", "levels", "parts", "cells"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert found.exact_vertices == expected.exact_vertices
        return
    for one, other in zip(found, expected):
        assert (one.level, one.part, one.cells) == (other.level, other.part, other.cells)
        assert one.__geo_interface__ == other.__geo_interface__


def check(values, levels, height, session, calls=CALLS, **options):
    """That calls on strips of some rows return what they return for the whole raster."""
    with heights(height, values.shape[1], values.dtype):
        for call in calls:
            with contextlib.ExitStack() as stack:
                expected = None
                try:
                    expected = clgeom.coverage_regions(values, levels, device=session, **call)
                except InvalidInput as error:  # a budget that is too small: in the same words
                    words = str(error)
                    stack.enter_context(pytest.raises(InvalidInput, match="^" + words.split(":")[0]))
                found = clgeom.coverage_regions(in_strips(values, **options), levels, device=session, **call)
            if expected is not None:
                same(found, expected)


def bridges(size=24):
    """Blocks that one cell joins, in every row of the raster; and rings in rings."""
    mask = np.zeros((size, size + 3), np.uint8)
    for row in range(0, size - 1, 2):
        mask[row, :: 1 + row % 5] = 1
        mask[row + 1, (row * 7) % (size + 3)] = 1
    return mask


def nested(size=24):
    mask = np.zeros((size, size + 3), np.uint8)
    for k in range(0, size // 2, 2):
        mask[k : size - k, k : size + 3 - k] = 1
        mask[k + 1 : size - k - 1, k + 1 : size + 2 - k] = 0
    return mask


@pytest.mark.parametrize("name", (*SHAPES, "bridges", "nested", "checkerboard"))
def test_strips_of_pictures(session, name):
    pytest.importorskip("shapely")
    made = {"bridges": bridges, "nested": nested, "checkerboard": lambda: np.indices((24, 27)).sum(axis=0) % 2}
    mask = np.asarray(made[name]() if name in made else picture(name), np.uint8)
    check(mask, 1, 1, session, CALLS[:1])
    check(mask, 1, 5, session, CALLS[4:5])
    check(1 - mask, 1, 3, session, CALLS[1:2])


@given(
    values=hnp.arrays(np.int16, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 3)),
    height=st.integers(1, 9),
)
def test_strips_of_any_small_raster(any_session, values, height):
    check(values, (1, 2, 3), height, any_session, (CALLS[0], CALLS[1], CALLS[4]))


@given(seed=st.integers(0, 99), height=st.integers(1, 40), call=st.sampled_from(CALLS))
def test_strips_of_rough_maps(session, seed, height, call):
    pytest.importorskip("shapely")
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, (rng.integers(1, 40), rng.integers(1, 40))).astype(np.float32)
    values[rng.random(values.shape) < 0.05] = np.nan
    check(values, (-0.3, 0.5), height, session, (call,))


@pytest.mark.parametrize("dtype", (np.uint8, np.int32, np.uint32, np.int64, np.float16, np.float64))
def test_strips_of_every_type(session, dtype):
    if dtype == np.float64 and not session.profile.fp64:
        pytest.skip("the device has no float64")
    values = np.random.default_rng(0).integers(0, 9, (20, 17)).astype(dtype)
    check(values, (3, 5.5), 3, session, CALLS[:1] + CALLS[3:4])
    hidden = np.ma.masked_array(values, np.arange(20)[:, None] // 5 % 2 == np.zeros(17))
    check(hidden, (3, 5.5), 4, session, CALLS[:1] + CALLS[3:4], plain=False)


def test_strips_that_differ_in_type_are_read_as_a_whole(session):
    values = np.ma.masked_array([[1.0, 2.0], [3.0, 1e300]])
    if not session.profile.fp64:
        pytest.skip("the device has no float64")

    def window(row, column, rows, columns):
        part = values[row : row + rows, column : column + columns]
        return part if part.max() > 1e30 else part.astype(np.float32)

    with heights(1, 2, np.float64):
        raster = Raster(Strips(window, values.shape, np.dtype(np.float64), plain=False))
        found = clgeom.coverage_regions(raster, 2, outline="cells", device=session)
    same(found, clgeom.coverage_regions(values, 2, outline="cells", device=session))


def test_strips_begin_at_blocks_and_thin_as_slices():
    values = np.arange(35 * 7, dtype=np.int16).reshape(35, 7)
    with heights(13, 7, np.int16):
        strips = in_strips(values, block=4).values
        assert strips.height == 12 and [first for first, _ in strips] == [0, 12, 24]
        assert in_strips(values, block=16).values.height == 13 and strips.turned().shape == (7, 35)
        np.testing.assert_array_equal(strips.turned().rows(2, 5), values[:, 2:5].T)
        for step in (1, 2, 3, 5, 40):
            np.testing.assert_array_equal(strips.thinned(step), values[::step, ::step])
    kept = []

    def window(row, column, rows, columns):
        kept.append(weakref.ref(part := np.zeros((rows, columns), np.int16)))
        assert sum(one() is not None for one in kept) <= 3, "strips are let go"
        return part

    with heights(1, 7, np.int16):
        assert Strips(window, (35, 7), np.dtype(np.int16)).thinned(2).shape == (18, 4)


# Files --------------------------------------------------------------------------------------------------------------


def write(name, values, **options):
    rasterio = pytest.importorskip("rasterio")
    shape = {"count": 1, "height": values.shape[0], "width": values.shape[1], "dtype": values.dtype}
    place = {"transform": rasterio.Affine(*PLACE), "crs": "EPSG:32632"}
    with rasterio.open(name, "w", driver="GTiff", **shape, **place, **options) as file:
        file.write(values, 1)
    return name


def rough(seed=0, shape=(90, 70)):
    return np.random.default_rng(seed).normal(-80, 9, shape).astype(np.float32)


@pytest.mark.parametrize("kind", ("plain", "tiled", "nodata", "masked", "scaled"))
def test_files_by_strips(here, session, kind):
    rasterio = pytest.importorskip("rasterio")
    values, options = rough(), {"tiled": True, "blockxsize": 16, "blockysize": 16} if kind == "tiled" else {}
    if kind == "nodata":
        values[20:50, 10:40], options = -70, {"nodata": -70}
    if kind in ("masked", "scaled"):
        values = (10 * values).astype(np.int16)
    write("map.tif", values, **options)
    with rasterio.open("map.tif", "r+") as file:
        if kind == "masked":
            file.write_mask(values % 7 != 0)
        if kind == "scaled":
            file.scales, file.offsets = (0.1,), (0.0,)
    levels = (-800, -750.5) if kind == "masked" else (-80, -75)
    raster = read_raster("map.tif")
    where = {"transform": raster.transform, "crs": raster.crs, "nodata": raster.nodata, "device": session}
    with heights(20, 70, values.dtype):
        for call in ({"outline": "cells", "iou": 0.9}, {"parts": False}):
            expected = clgeom.coverage_regions(raster.values, levels, **where, **call)
            opened = open_raster("map.tif")
            assert isinstance(opened.values, Strips) and opened.crs == raster.crs
            assert opened.transform == raster.transform and opened.values.plain == (kind not in ("masked", "scaled"))
            same(clgeom.coverage_regions(opened, levels, device=session, **call), expected)
            with rasterio.open("map.tif") as dataset:
                same(clgeom.coverage_regions(dataset, levels, device=session, **call), expected)
        part = open_raster("map.tif", window=(7, 3, 60, 50))
        same(
            clgeom.coverage_regions(part, levels, outline="cells", device=session),
            clgeom.coverage_regions(read_raster("map.tif", window=(7, 3, 60, 50)), levels, outline="cells"),
        )


@pytest.mark.parametrize("options", (("--iou", 0.9), ("--bands", "--direction", "<=")))
@pytest.mark.slow
def test_command_writes_the_same_files(here, options):
    for package in ("rasterio", "pyproj", "shapely", "matplotlib"):
        pytest.importorskip(package)
    write("map.tif", rough(shape=(40, 70)))
    levels = ("--level", -80, "--level", -75, "--json", *options)
    outputs = ("-o", "out.geojson", "--html", "out.html", "--plot", "out.png")
    made = []
    for height in (40, 7):
        with heights(height, 70, np.float32) if height < 40 else contextlib.nullcontext():
            facts = json.loads(done("map.tif", *levels, *outputs))
        del facts["seconds"], facts["loading_seconds"]
        areas = [row.pop("cells_km2") for row in facts["levels"]]
        made.append((facts, (here / "out.geojson").read_bytes(), (here / "out.html").read_bytes(), areas))
    assert made[0][:3] == made[1][:3] and made[0][3] == pytest.approx(made[1][3], rel=1e-9)
    with heights(7, 70, np.float32):
        assert "values are -" in refused("map.tif", "--level", 99)


def test_files_cut_short_leave_nothing(here):
    for package in ("rasterio", "matplotlib"):
        pytest.importorskip(package)
    write("map.tif", rough())
    content = (here / "map.tif").read_bytes()
    (here / "map.tif").write_bytes(content[: len(content) * 2 // 3])
    with heights(7, 70, np.float32):
        error = refused("map.tif", "--level", -80, "-o", "out.geojson", "--html", "out.html", "--plot", "out.png")
        assert "'map.tif' is not a raster, or it is damaged" in error
        (here / "out.geojson").mkdir()
        assert "it is not a file" in refused("map.tif", "--level", -80, "-o", "out.geojson")
        assert "within 90 x 70 cells" in refused("map.tif", "--level", -80, "--window", 80, 0, 20, 20)
        assert "bands 1 to 1. Got band 2" in refused("map.tif", "--level", -80, "--band", 2)
    assert sorted(path.name for path in here.iterdir()) == ["map.tif", "out.geojson"]
    rasterio = pytest.importorskip("rasterio")
    with heights(7, 70, np.float32), rasterio.open("map.tif") as dataset:
        with pytest.raises(InvalidInput, match="'raster' parameter of coverage_regions cannot be read"):
            clgeom.coverage_regions(dataset, -80, outline="segments")
    with heights(7, 70, np.float32), pytest.raises(InvalidInput, match="cannot be read"):
        clgeom.coverage_regions(dataset, -80, outline="segments")  # it is closed


MEASURE = """
import resource, sys, rasterio, clgeom
with rasterio.open(sys.argv[1]) as dataset:
    found = clgeom.coverage_regions(dataset, [-85, -70], outline="cells", tolerance=10, device=sys.argv[2])
print(len(found), found.cells.sum(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_is_that_of_strips(here, session):
    """A raster of 160 MiB takes less than half of that beyond what a small one takes."""
    rasterio = pytest.importorskip("rasterio")
    if sys.platform != "linux":
        pytest.skip("ru_maxrss is in KiB on Linux")
    covered, peaks = {}, {}
    for side in (256, 5120):
        shape = {"count": 1, "height": side, "width": 8192, "dtype": "float32", "driver": "GTiff", "crs": "EPSG:32632"}
        with rasterio.open("map.tif", "w", transform=rasterio.Affine(*PLACE), **shape) as file:
            cells = 0
            for first in range(0, side, 256):
                row, column = np.ogrid[first : first + 256, :8192]
                strip = (-60 - 40 * ((row // 64 + column // 96) % 2) - (row % 37 == 5)).astype(np.float32)
                cells += (strip >= -85).sum() + (strip >= -70).sum()
                file.write(strip, 1, window=((first, first + 256), (0, 8192)))
        run = subprocess.run(
            [sys.executable, "-c", MEASURE, "map.tif", session.profile.name],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(Path(clgeom.__file__).parents[1])},
        )
        parts, counted, peaks[side] = map(int, run.stdout.split())
        covered[side] = (counted, cells)
        assert parts > 2
    assert all(one == other for one, other in covered.values())
    assert peaks[5120] - peaks[256] < 80 * 1024, peaks


def test_too_many_runs_are_refused_before_all_strips_are_read(session, monkeypatch):
    """Once the strips so far have more runs than a plan may number, no further strip is read."""
    values, last = np.arange(200 * 8).reshape(200, 8) % 2, []  # 4 runs in each row

    def window(row, column, rows, columns):
        last.append(row + rows)
        return values[row : row + rows, column : column + columns]

    with heights(10, 8, values.dtype):
        raster = Raster(Strips(window, values.shape, values.dtype, plain=True))
        whole = clgeom.coverage_regions(raster, 1, outline="cells", device=session)
        assert len(whole) == 800 // 200 and max(last) == 200
        last.clear()
        monkeypatch.setattr(runs, "MOST_RUNS", 100)
        with pytest.raises(DeviceLimit, match="more than 100 runs of cells"):
            clgeom.coverage_regions(raster, 1, outline="cells", device=session)
    assert 25 < max(last) < 60


@pytest.mark.slow
def test_corners_whose_removal_would_add_more_than_31_bits_stay(session):
    """A column and a row of cells: the triangle between them is too large for the keys of corners, and for a budget."""
    rows, columns = 65_538, 32_769  # twice the triangle's area is 2^31 + 2^15

    def window(row, column, height, width):
        cells = np.zeros((height, width), np.uint8)
        cells[:, :1] = column == 0
        cells[height - (row + height == rows) :] = 1
        return cells

    raster = Raster(Strips(window, (rows, columns), np.dtype(np.uint8), plain=True))
    found = clgeom.coverage_regions(raster, 1, outline="cells", iou=0.8, device=session)
    assert found.corners.tolist() == [[0, 0], [1, 0], [1, 65537], [32769, 65537], [32769, 65538], [0, 65538]]
    assert found.areas.tolist() == found.cells.tolist() == [rows + columns - 1]
