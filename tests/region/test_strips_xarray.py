"""DataArrays of dask and of open files, NetCDF files and Zarr stores that are read by strips: as if read whole."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from region_commands import done, here, refused
from test_strips import CALLS, PLACE, heights, same

import clgeom
from clgeom.errors import InvalidInput
from clgeom.intake.interop.rasters import placed_raster
from clgeom.intake.interop.strips import Strips
from clgeom.io.rasters import open_raster, read_raster

xarray = pytest.importorskip("xarray")
__all__ = ["here"]


def rough(shape=(90, 70), seed=4):
    values = np.random.default_rng(seed).normal(-80, 12, shape).astype(np.float32)
    values[np.random.default_rng(seed + 1).random(shape) < 0.04] = np.nan
    return values


def data_array(values, **options):
    rows, columns = values.shape
    a, _, c, _, e, f = PLACE
    coords = {"y": f + e * (0.5 + np.arange(rows)), "x": c + a * (0.5 + np.arange(columns))}
    return xarray.DataArray(values, coords=coords, dims=("y", "x"), name="dbm", **options)


def stored(kind, values, tmp_path, **encoding):
    """The values as an array that is not in memory, by `kind`."""
    array = data_array(values)
    if kind == "dask":
        pytest.importorskip("dask")
        return array.chunk({"y": 13, "x": 20})
    pytest.importorskip({"netcdf": "netCDF4", "scipy": "scipy", "zarr": "zarr"}[kind])
    path = tmp_path / ("map.zarr" if kind == "zarr" else "map.nc")
    if kind == "zarr":
        array.to_dataset().to_zarr(path, encoding={"dbm": {"chunks": (16, 32), **encoding}}, zarr_format=2)
        return xarray.open_zarr(path, chunks=None)["dbm"]
    engine = {"netcdf": "netcdf4", "scipy": "scipy"}[kind]
    array.to_netcdf(path, engine=engine, encoding={"dbm": encoding})
    return xarray.open_dataset(path, engine=engine)["dbm"]


@pytest.mark.parametrize("kind", ("dask", "netcdf", "scipy", "zarr"))
def test_arrays_out_of_memory_are_read_by_strips(kind, tmp_path, session):
    pytest.importorskip("shapely")
    values = rough()
    array = stored(kind, values, tmp_path)
    with heights(7, 70, np.float32):
        placed = placed_raster(array, caller="test", strips=True)
        assert isinstance(placed.values, Strips) and placed.transform == pytest.approx(PLACE)
        parts = [part for _, part in placed.values]
        np.testing.assert_array_equal(np.concatenate(parts), values)
        assert max(map(len, parts)) <= 7
        for turned, call in ((array, CALLS[1]), (array, CALLS[7]), (array.T, CALLS[0]), (array[::-1], CALLS[3])):
            found = clgeom.coverage_regions(turned, (-90, -75), device=session, **call)
            assert not turned.variable._in_memory
            same(found, clgeom.coverage_regions(turned.copy().load(), (-90, -75), device=session, **call))
    assert isinstance(placed_raster(array, caller="test", strips=True).values, np.ndarray), "small ones are not"


def test_parts_that_cannot_be_read(session):
    dask = pytest.importorskip("dask.array")

    def fail(block_info=None):
        raise ValueError("the disk is gone")

    lazy = dask.map_blocks(fail, chunks=((45, 45), (70,)), dtype=np.float32, meta=np.empty((0, 0), np.float32))
    for size in (70, 10**6):
        with (
            heights(9, size, np.float32),
            pytest.raises(InvalidInput, match="'raster' parameter of .* the disk is gone"),
        ):
            clgeom.coverage_regions(data_array(lazy), -80, device=session, outline="segments")


def test_nothing_more_than_strips_is_read(session):
    dask = pytest.importorskip("dask.array")
    read = []

    def block(info):
        (rows, columns) = info[None]["array-location"]
        read.append((rows[1] - rows[0]) * (columns[1] - columns[0]))
        return values[slice(*rows), slice(*columns)]

    values = rough()
    lazy = dask.map_blocks(lambda block_info=None: block(block_info), chunks=((9,) * 10, (70,)), dtype=np.float32)
    with heights(9, 70, np.float32):
        found = clgeom.coverage_regions(data_array(lazy), -80, outline="cells", device=session)
    same(found, clgeom.coverage_regions(values, -80, outline="cells", device=session))
    assert set(read) == {9 * 70} and sum(read) == 90 * 70, "every block once"


@pytest.mark.parametrize("kind", ("netcdf", "zarr"))
def test_files_with_scale_and_missing_values(kind, tmp_path, session):
    values = np.round(rough(), 1)
    encoding = {"dtype": "i2", "scale_factor": 0.1, "add_offset": -50.0, "_FillValue": -32768}
    array = stored(kind, values, tmp_path, **encoding)
    path = tmp_path / ("map.zarr" if kind == "zarr" else "map.nc")
    whole = read_raster(path)
    expected = clgeom.coverage_regions(whole, (-90, -75), outline="cells", device=session)
    with heights(7, 70, np.float32):
        raster = open_raster(path)
        assert isinstance(raster.values, Strips) and raster.transform == pytest.approx(PLACE)
        for given in (array, raster):
            same(clgeom.coverage_regions(given, (-90, -75), outline="cells", device=session), expected)
        part = open_raster(path, window=(11, 5, 60, 40))
        assert isinstance(part.values, Strips) and part.transform == read_raster(path, window=(11, 5, 60, 40)).transform
        np.testing.assert_array_equal(part.values.whole(), whole.values[11:71, 5:45])
    undecoded = xarray.open_dataset(path, mask_and_scale=False, engine="zarr" if kind == "zarr" else "netcdf4")["dbm"]
    with heights(7, 70, np.int16):
        found = clgeom.coverage_regions(undecoded, (-90, -75), outline="cells", device=session)
    same(found, clgeom.coverage_regions(undecoded.load(), (-90, -75), outline="cells", device=session))


def test_the_command_reads_netcdf_by_strips(here, session):
    pytest.importorskip("netCDF4")
    pytest.importorskip("shapely")
    stored("netcdf", rough(), here).close()
    made = []
    for height in (90, 7):
        with heights(height, 70, np.float32):
            facts = json.loads(done("map.nc", "--level", -85, "--iou", 0.9, "-o", "out.wkt", "--json"))
        made.append((facts["levels"], (here / "out.wkt").read_bytes()))
    assert made[0] == made[1]
    with heights(7, 70, np.float32):
        assert "within 90 x 70 cells" in refused("map.nc", "--level", -80, "--window", 80, 0, 20, 20)
        assert "has the maps 1 to 1. Got 2" in refused("map.nc", "--level", -80, "--band", 2)
        assert "none is 'power'" in refused("map.nc", "--level", -80, "--array", "power")
        content = (here / "map.nc").read_bytes()
        (here / "map.nc").write_bytes(content[: len(content) // 3])
        assert re.search(
            "'map.nc' (cannot be read|is not a raster, or it is damaged): ", refused("map.nc", "--level", -80)
        )
        (here / "map.nc").unlink()
        assert "No such file" in refused("map.nc", "--level", -80)


def test_maps_of_a_stack_are_read_one_at_a_time(here):
    pytest.importorskip("netCDF4")
    stack = xarray.concat([data_array(rough(seed=seed)) for seed in range(3)], "time")
    stack.to_netcdf("stack.nc")
    with heights(7, 70, np.float32):
        raster = open_raster("stack.nc", band=2)
        assert isinstance(raster.values, Strips) and raster.bands == 3
        np.testing.assert_array_equal(raster.values.whole(), rough(seed=1))
    with xarray.open_dataset("stack.nc") as source:
        whole = placed_raster(source["dbm"], caller="test", strips=True).values
        assert whole.shape == (3, 90, 70) and isinstance(whole, np.ndarray)
    with pytest.raises(InvalidInput, match="has the maps 1 to 3. Got 4"):
        read_raster("stack.nc", band=4)


MEASURE = """
import resource, sys, xarray, clgeom
from clgeom.intake.interop import strips

strips.LARGE_BYTES, strips.STRIP_BYTES = 1 << 22, 1 << 21
with xarray.open_dataset(sys.argv[1]) as source:
    found = clgeom.coverage_regions(source["dbm"], [-85, -70], outline="cells", tolerance=10, device=sys.argv[2])
print(len(found), found.cells.sum(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_is_that_of_strips(here, session):
    """A raster of 64 MiB takes less than half of that beyond what a small one takes."""
    netCDF4 = pytest.importorskip("netCDF4")
    if sys.platform != "linux":
        pytest.skip("ru_maxrss is in KiB on Linux")
    peaks = {}
    for side in (256, 2048):
        with netCDF4.Dataset("map.nc", "w") as file:
            file.createDimension("y", side)
            file.createDimension("x", 8192)
            variable = file.createVariable("dbm", "f4", ("y", "x"))
            for first in range(0, side, 256):
                row, column = np.ogrid[first : first + 256, :8192]
                variable[first : first + 256] = -60 - 40 * ((row // 64 + column // 96) % 2) - (row % 37 == 5)
        run = subprocess.run(
            [sys.executable, "-c", MEASURE, "map.nc", session.profile.name],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(Path(clgeom.__file__).parents[1])},
        )
        parts, cells, peaks[side] = map(int, run.stdout.split())
        assert parts > 2 and cells > side * 4096
    assert peaks[2048] - peaks[256] < 32 * 1024, peaks
