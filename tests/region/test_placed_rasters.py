"""Rasters of rasterio and xarray, files and windows of them, and what covered cells amount to."""

import json
import math
import os
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import clgeom
from clgeom.errors import InputWarning, InvalidInput
from clgeom.intake.interop import rasters
from clgeom.intake.interop.rasters import placed_raster, unit_of_band
from clgeom.io.rasters import read_raster
from clgeom.io.zarr_codecs import check_codecs
from clgeom.radio import coverage_map

PLACE = (20.0, 0.0, 691_000.0, 0.0, -20.0, 5_335_500.0)


def values(seed=0, shape=(24, 31)):
    return coverage_map(shape, pixel=20, seed=seed).values


def same_regions(found, expected):
    assert len(found) == len(expected) > 0 and found.grid.transform == pytest.approx(expected.grid.transform)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one.exterior, other.exterior, rtol=1e-12)


# Rasterio ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def tiff(tmp_path):
    """write(array, ..) makes a GeoTIFF of one or more bands."""
    rasterio = pytest.importorskip("rasterio")

    def write(array, *, crs="EPSG:32632", transform=PLACE, scale=None, offset=None, name="map.tif", **options):
        array = np.atleast_3d(array.T).T
        shape = {"count": len(array), "height": array.shape[1], "width": array.shape[2], "dtype": array.dtype}
        place = {} if transform is None else {"crs": crs, "transform": rasterio.Affine(*transform)}
        with rasterio.open(tmp_path / name, "w", driver="GTiff", **shape, **place, **options) as file:
            file.write(array)
            if scale is not None:
                file.scales, file.offsets = [scale] * len(array), [offset] * len(array)
        return tmp_path / name

    return write


def test_dataset_of_rasterio_is_a_raster_with_its_place(tiff, session):
    rasterio = pytest.importorskip("rasterio")
    power = values()
    with rasterio.open(tiff(power, nodata=-75.0)) as dataset:
        found = clgeom.coverage_regions(dataset, [-70, -85], device=session, outline="segments")
        other = clgeom.coverage_regions(
            dataset, -70, crs="EPSG:25832", transform=(1, 0, 0, 0, 1, 0), device=session, outline="segments"
        )
    same_regions(
        found,
        clgeom.coverage_regions(
            power, [-70, -85], transform=PLACE, crs="EPSG:32632", device=session, outline="segments"
        ),
    )
    assert found.crs == "EPSG:32632" and other.crs == "EPSG:25832" and other.grid.transform == (1, 0, 0, 0, 1, 0)


def test_dataset_with_scale_bands_and_nodata(tiff, session):
    rasterio = pytest.importorskip("rasterio")
    stored = np.stack([np.round(values(seed) * -100).astype(np.uint16) for seed in range(3)])
    stored[1, :5] = 65535
    with rasterio.open(tiff(stored, scale=-0.01, offset=0.0, nodata=65535)) as dataset:
        raster = placed_raster(dataset, caller="test")
        found = clgeom.coverage_regions(dataset, -80, device=session, outline="segments")
    assert raster.values.shape == (3, 24, 31) and raster.values.mask[1, :5].all() and raster.values.mask.sum() == 155
    np.testing.assert_allclose(raster.values[0].data, stored[0] * -0.01, rtol=1e-6)
    plain = np.where(stored == 65535, np.nan, stored * -0.01).astype(np.float32)
    same_regions(found, clgeom.coverage_regions(plain, -80, transform=PLACE, device=session, outline="segments"))


def test_control_points_are_no_transform(tiff, session):
    rasterio = pytest.importorskip("rasterio")
    path = tiff(values(), transform=None)
    corners = [rasterio.control.GroundControlPoint(*one) for one in ((0, 0, 10, 50), (0, 31, 11, 50), (24, 0, 10, 49))]
    with rasterio.open(path, "r+") as file:
        file.gcps = corners, "EPSG:4326"
    with pytest.raises(InvalidInput, match="placed by ground control points, not by a transform: warp it first"):
        read_raster(path)
    with rasterio.open(path) as dataset:
        with pytest.raises(InvalidInput, match="'raster' parameter of coverage_regions is placed by ground control"):
            clgeom.coverage_regions(dataset, -75, device=session, outline="segments")
        assert (
            clgeom.coverage_regions(dataset, -75, transform=PLACE, device=session, outline="segments").grid.transform
            == PLACE
        )


def test_dataset_without_a_place(tiff, session):
    rasterio = pytest.importorskip("rasterio")
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        with rasterio.open(tiff(values(), transform=None)) as dataset:
            found = clgeom.coverage_regions(dataset, -80, device=session, outline="segments")
            assert found.crs is None and found.grid.transform == (1, 0, 0, 0, 1, 0)
            with pytest.raises(InvalidInput, match="must place the raster in 'EPSG:32632'. Got None"):
                clgeom.covered_area(dataset, -80, crs="EPSG:32632")
            with pytest.raises(InvalidInput, match="must place the raster in 'EPSG:32632'. Got None"):
                clgeom.coverage_regions(dataset, -80, crs="EPSG:32632", device=session, outline="segments")
    with pytest.raises(InvalidInput, match="'raster' parameter of coverage_regions cannot be read"):
        clgeom.coverage_regions(dataset, -80, device=session, outline="segments")  # it is closed


@pytest.mark.parametrize("window", ((0, 0, 24, 31), (3, 5, 10, 8), (23, 30, 1, 1)))
def test_windows_of_a_tiff(tiff, tmp_path, window):
    power = values()
    row, column, rows, columns = window
    path = tiff(power, tiled=True, blockxsize=16, blockysize=16)
    raster = read_raster(path, window=window)
    np.testing.assert_array_equal(raster.values, power[row : row + rows, column : column + columns])
    assert raster.transform == (20, 0, 691_000 + 20 * column, 0, -20, 5_335_500 - 20 * row)
    np.savez(tmp_path / "map.npz", raster=power, transform=PLACE)
    alike = read_raster(tmp_path / "map.npz", window=window)
    np.testing.assert_array_equal(alike.values, raster.values)
    assert alike.transform == raster.transform


@pytest.mark.parametrize("window", ((0, 0, 25, 31), (-1, 0, 2, 2), (0, 0, 0, 3), (1, 2, 3), "all"))
def test_windows_beyond_a_tiff_are_refused(tiff, window):
    with pytest.raises(InvalidInput, match="must be its first row and column and its rows and columns, within 24 x 31"):
        read_raster(tiff(values()), window=window)


def test_radio_maps_bring_their_place(session):
    made = coverage_map((24, 31), pixel=20, origin=PLACE[2::3], crs="EPSG:32632")
    found = clgeom.coverage_regions(made, -80, device=session, outline="segments")
    same_regions(
        found, clgeom.coverage_regions(made.values, -80, transform=made.transform, device=session, outline="segments")
    )
    assert found.crs == "EPSG:32632"


@pytest.mark.parametrize("crs", ("EPSG:7405", "EPSG:27700"), ids=("heights", "plane"))
@pytest.mark.parametrize("unit", (None, "dB", "m"))
def test_unit_of_a_band_is_not_that_of_heights(tmp_path, crs, unit):
    """GDAL gives a band without a unit that of the heights of a compound reference system."""
    rasterio = pytest.importorskip("rasterio")
    place = {
        "transform": rasterio.Affine(10, 0, 400_000, 0, -10, 300_000),
        "crs": crs,
        "width": 4,
        "height": 3,
        "count": 1,
    }
    with rasterio.open(tmp_path / "map.tif", "w", driver="GTiff", dtype="float32", **place) as target:
        target.write(np.ones((1, 3, 4), np.float32))
        if unit is not None:
            target.units = (unit,)
    with rasterio.open(tmp_path / "map.tif") as source:
        assert unit_of_band(source, 1) == unit


# Xarray -----------------------------------------------------------------------------------------------------------


def data_array(power, **options):
    xarray = pytest.importorskip("xarray")
    rows, columns = power.shape[-2:]
    coords = {"x": 691_010.0 + 20 * np.arange(columns), "y": 5_335_490.0 - 20 * np.arange(rows)}
    dims = ("time", "y", "x")[-power.ndim :]
    return xarray.DataArray(power, coords=coords, dims=dims, name="power", **options)


def test_data_array_is_a_raster_with_its_place(session):
    power = values()
    array = data_array(power)
    expected = clgeom.coverage_regions(power, -80, transform=PLACE, device=session, outline="segments")
    same_regions(clgeom.coverage_regions(array, -80, device=session, outline="segments"), expected)
    same_regions(clgeom.coverage_regions(array.T, -80, device=session, outline="segments"), expected)
    south = clgeom.coverage_regions(array[::-1], -80, device=session, outline="segments")
    assert south.grid.transform[4] == 20 and sum(south.areas) == pytest.approx(sum(expected.areas))
    for names in ({"x": "easting", "y": "northing"}, {"x": "sample"}, {"y": "line"}, {"x": "sample", "y": "line"}):
        renamed = array.rename(names)
        same_regions(clgeom.coverage_regions(renamed, -80, device=session, outline="segments"), expected)
    stack = clgeom.coverage_regions(data_array(np.stack([power, power - 5])), -80, device=session, outline="segments")
    assert set(stack.maps.tolist()) == {0, 1}
    bare = clgeom.coverage_regions(array.drop_vars(["x", "y"]), -80, device=session, outline="segments")
    assert bare.grid.transform == (1, 0, 0, 0, 1, 0) and bare.crs is None


def test_data_array_with_stored_integers():
    power = values()
    stored = np.round(power * -10).astype(np.int16)
    stored[:3] = -32768
    array = data_array(stored, attrs={"scale_factor": -0.1, "add_offset": 1.0, "_FillValue": -32768})
    raster = placed_raster(array, caller="test")
    assert raster.values.mask[:3].all() and raster.values.dtype == np.float32
    np.testing.assert_allclose(raster.values[3:].data, stored[3:] * -0.1 + 1, rtol=1e-6)
    whole = placed_raster(data_array(stored, attrs={"_FillValue": -32768}), caller="test")
    assert whole.nodata == -32768 and whole.values.dtype == np.int16


def test_a_grid_mapping_by_its_parameters_is_a_reference_system():
    """Files of CF need not hold the text of the system."""
    pyproj = pytest.importorskip("pyproj")
    array = data_array(values())
    parameters = pyproj.CRS("EPSG:32632").to_cf()
    del parameters["crs_wkt"]
    array = array.assign_coords(utm=0).assign_attrs(grid_mapping="utm")
    array.coords["utm"].attrs.update(parameters)
    system = placed_raster(array, caller="test").crs
    turned = pyproj.Transformer.from_crs(system, "EPSG:32632", always_xy=True)
    np.testing.assert_allclose(turned.transform(691_000, 5_335_500), (691_000, 5_335_500), atol=1e-3)
    array.coords["utm"].attrs = {"grid_mapping_name": "nothing known"}
    assert placed_raster(array, caller="test").crs is None


def test_coordinates_in_kilometres_are_those_of_the_system():
    """CF allows any unit of length; a system in km keeps them. Angles of scanning are refused."""
    pytest.importorskip("pyproj")
    power, crs = values(), "EPSG:32632"
    array = data_array(power, attrs={"crs": crs})
    array = array.assign_coords({dim: (dim, array[dim].values / 1000, {"units": "km"}) for dim in "xy"})
    raster = placed_raster(array, caller="test")
    np.testing.assert_allclose(raster.transform, (20, 0, 691_000, 0, -20, 5_335_500), rtol=1e-9)
    in_km = array.assign_attrs(crs="+proj=utm +zone=32 +units=km +type=crs")
    np.testing.assert_allclose(placed_raster(in_km, caller="test").transform[:3], (0.02, 0, 691), rtol=1e-9)
    bare = data_array(power)
    bare = bare.assign_coords({dim: (dim, bare[dim].values / 1000, {"units": "km"}) for dim in "xy"})
    np.testing.assert_allclose(placed_raster(bare, caller="test").transform[0], 20, rtol=1e-9)
    scanned = bare.assign_coords({dim: (dim, bare[dim].values, {"units": "rad"}) for dim in "xy"})
    with pytest.raises(InvalidInput, match="coordinates of length or in degrees. Got 'rad'"):
        placed_raster(scanned, caller="test")


def test_reference_systems_of_data_arrays():
    pytest.importorskip("rioxarray")
    array = data_array(values())
    placed = placed_raster(array.rio.write_crs("EPSG:32632"), caller="test")
    assert placed.crs == "EPSG:32632" and placed.transform == PLACE
    globe = array.rename(x="lon", y="lat").assign_coords(lon=np.arange(31) * 0.1, lat=48 - np.arange(24) * 0.1)
    assert placed_raster(globe, caller="test").crs == "EPSG:4326"
    one = array.rio.write_crs("EPSG:32632").rio.write_transform()[:, 4:5]
    assert placed_raster(one, caller="test").transform[0] == 20


def test_the_step_of_coordinates_is_that_of_all_of_them():
    """Rounded coordinates are far from the step between any two, and near that between the first and the last."""
    centres = {"x": np.round(np.arange(31) / 3, 4), "y": 48 - 0.5 * np.arange(5)}
    coords = {name: SimpleNamespace(values=values, attrs={}) for name, values in centres.items()}
    place = rasters._transform(SimpleNamespace(coords=coords), "x", "y", "A raster", None)
    assert place == (10 / 30, 0, -10 / 60, 0, -0.5, 48.25)


@pytest.mark.parametrize(
    ("change", "words"),
    (
        (lambda a: a[0], "must have two dimensions of positions. Got x instead"),
        (lambda a: a.assign_coords(x=np.arange(31.0) ** 2), "evenly spaced coordinates. Those of 'x' are not"),
        (lambda a: a.assign_coords(y=np.zeros(24)), "evenly spaced coordinates. Those of 'y' are not"),
        (lambda a: a.assign_coords(x=list(map(str, range(31)))), "numbers for the coordinate 'x'"),
        (lambda a: a.astype(str), "must hold numbers. Got <U"),
        (lambda a: a.expand_dims(band=2, level=3), "at most one of maps. Got band, level, y, x"),
        (lambda a: a.assign_attrs(scale_factor=math.nan), "has the scale nan"),
    ),
)
def test_data_arrays_that_are_no_rasters(change, words):
    array = change(data_array(values()))
    with pytest.raises(InvalidInput, match=f"The 'raster' parameter of coverage_regions .*{words}"):
        clgeom.coverage_regions(array, -80, outline="segments")


@pytest.mark.parametrize("suffix", (".nc", ".zarr"))
def test_netcdf_and_zarr_are_read(tmp_path, suffix):
    pytest.importorskip("rioxarray")
    pytest.importorskip("netCDF4" if suffix == ".nc" else "zarr")
    power, path = values(), tmp_path / f"map{suffix}"
    array = data_array(power).rio.write_crs("EPSG:32632")
    packed = {"power": {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -32768}}
    both = array.where(array < -70).to_dataset().assign(count=("time", np.arange(4)))
    getattr(both, "to_netcdf" if suffix == ".nc" else "to_zarr")(path, encoding=packed)
    raster = read_raster(path)
    np.testing.assert_allclose(np.ma.filled(raster.values, np.nan), np.where(power < -70, power, np.nan), atol=0.0051)
    assert raster.transform == PLACE and raster.crs == "EPSG:32632"
    with pytest.raises(InvalidInput, match="The window of .* must be its first row and column"):
        read_raster(path, array="power", window=(1.5, 3, 4, 5))
    part = read_raster(path, array="power", window=(2, 3, 4, 5))
    np.testing.assert_array_equal(part.values, raster.values[2:6, 3:8])
    with pytest.raises(InvalidInput, match="has the arrays power; none is 'dbm': name one"):
        read_raster(path, array="dbm")
    with pytest.raises(InvalidInput, match="has the maps 1 to 1. Got 2"):
        read_raster(path, band=2)
    if suffix == ".nc":  # a system that no variable refers to
        array.to_dataset().to_netcdf(path, mode="w", encoding={"power": {"dtype": "float32"}})
        assert read_raster(path).crs == "EPSG:32632"


def test_netcdf_that_is_no_raster(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("netCDF4")
    xarray.Dataset({"series": ("time", np.arange(9.0))}).to_netcdf(tmp_path / "series.nc")
    with pytest.raises(InvalidInput, match="has no variable of two dimensions"):
        read_raster(tmp_path / "series.nc")
    whole = data_array(values())
    both = xarray.Dataset({"one": whole, "two": whole + 1})
    both.to_netcdf(tmp_path / "both.nc")
    with pytest.raises(InvalidInput, match="has the arrays one, two; name one"):
        read_raster(tmp_path / "both.nc")
    assert read_raster(tmp_path / "both.nc", array="two").values.shape == (24, 31)
    data = (tmp_path / "both.nc").read_bytes()
    (tmp_path / "cut.nc").write_bytes(data[: len(data) // 2])
    (tmp_path / "text.nc").write_text("no netcdf")
    for name in ("cut.nc", "text.nc"):
        with pytest.raises(InvalidInput, match=name):
            read_raster(tmp_path / name)


# Covered cells ----------------------------------------------------------------------------------------------------


def test_covered_area_is_counted_cell_by_cell():
    stack = np.stack([values(seed) for seed in range(2)])
    people = np.random.default_rng(0).integers(0, 50, (24, 31)).astype(float)
    people[3, 4] = np.nan
    found = clgeom.covered_area(stack, [-75, -85], transform=PLACE, weights={"people": people, "homes": people // 3})
    assert [(one.map, one.level) for one in found] == [(0, -75), (0, -85), (1, -75), (1, -85)]
    for one in found:
        mask = stack[one.map] >= one.level
        assert (one.cells, one.area, one.area_km2) == (mask.sum(), mask.sum() * 400, None)
        assert one.sums == {"people": np.nansum(people[mask]), "homes": np.nansum(people[mask] // 3)}


def test_covered_area_on_the_ellipsoid():
    """A quarter of the globe, and small cells against pyproj's geodesic areas."""
    pyproj = pytest.importorskip("pyproj")
    globe = np.zeros((18, 36))
    globe[:9, :18] = 5
    (one,) = clgeom.covered_area(globe, 5, transform=(10, 0, -180, 0, -10, 90), crs="EPSG:4326")
    assert one.area_km2 == pytest.approx(510_065_621.7 / 4, rel=1e-9)
    geod = pyproj.Geod(ellps="WGS84")
    power = values()
    (found,) = clgeom.covered_area(power, -80, transform=(0.01, 0, 11, 0, -0.01, 48), crs="EPSG:4326")
    exact = 0.0
    for row, column in np.argwhere(power >= -80):
        lon, lat = 11 + 0.01 * column, 48 - 0.01 * row
        edge = np.linspace(0, 0.01, 30)  # parallels are not geodesics
        lons = np.r_[lon + edge, lon + edge[::-1]]
        area, _ = geod.polygon_area_perimeter(lons, np.r_[np.full(30, lat - 0.01), np.full(30, lat)])
        exact += area / 1e6
    assert found.area_km2 == pytest.approx(exact, rel=1e-6)
    (plane,) = clgeom.covered_area(power, -80, transform=PLACE, crs="EPSG:32632")
    assert plane.area_km2 == pytest.approx(plane.area / 1e6, rel=2e-3) and plane.area_km2 != plane.area / 1e6


def test_covered_area_of_placed_rasters(tiff, session):
    import pyopencl.array as cl_array

    rasterio = pytest.importorskip("rasterio")
    power = values()
    people = np.ones((24, 31), np.int32)
    people[0, 0] = -9
    path = tiff(people, nodata=-9, name="people.tif")
    there = cl_array.to_device(session.queue, power)
    with rasterio.open(path) as weights:
        (found,) = clgeom.covered_area(there, -300, transform=PLACE, crs="EPSG:32632", weights={"people": weights})
        assert found.sums == {"people": 24 * 31 - 1}
        with pytest.raises(InvalidInput, match="in 'EPSG:25833'. Got 'people' in 'EPSG:32632'"):
            clgeom.covered_area(power, -80, transform=PLACE, crs="EPSG:25833", weights={"people": weights})
        with pytest.raises(InvalidInput, match="with its transform. Got 'people' with"):
            clgeom.covered_area(power, -80, transform=(20, 0, 0, 0, -20, 0), weights={"people": weights})
    with pytest.raises(
        InvalidInput, match=r"must have the cells of the raster, \(24, 31\). Got 'weight' of shape \(2, 2\)"
    ):
        clgeom.covered_area(power, -80, weights=np.zeros((2, 2)))
    with pytest.raises(InvalidInput, match="'transform' parameter of covered_area must be 6 finite numbers"):
        clgeom.covered_area(power, -80, transform=(math.nan, 0, 0, 0, 1, 0))


def test_weights_must_lie_on_the_cells():
    """Less than a tenth of a cell apart, however large the coordinates are; and they must be finite numbers."""

    class Placed:
        def __init__(self, transform):
            self.values, self.transform, self.crs = np.ones((24, 31)), transform, None

    a, _, c, _, e, f = PLACE
    (found,) = clgeom.covered_area(values(), -300, transform=PLACE, weights=Placed((a, 0, c + a / 50, 0, e, f)))
    assert found.sums == {"weight": 24 * 31}
    for wrong in ((a * 1.2, 0, c, 0, e * 1.2, f), (a, 0, c + 0.4 * a, 0, e, f), (a, 0, c, 0, -e, f + 24 * e)):
        with pytest.raises(InvalidInput, match="with its transform. Got 'weight' with"):
            clgeom.covered_area(values(), -300, transform=PLACE, weights=Placed(wrong))
    with pytest.raises(
        InvalidInput, match="'weights' parameter of covered_area must be finite. Got an infinity in 'w'"
    ):
        clgeom.covered_area(values(), -300, weights={"w": np.full((24, 31), np.inf)})
    with pytest.raises(InvalidInput, match="'weights' parameter of covered_area must hold numbers"):
        clgeom.covered_area(values(), -300, weights=np.full((24, 31), "a"))
    people = np.ones((24, 31))
    people[3, 4:6] = -99999, -1
    said = "weights 'people' are negative in 2 cells, least -99999: missing values.*-a_nodata -99999"
    with pytest.warns(InputWarning, match=said):
        clgeom.covered_area(values(), -300, weights={"people": people})
    for weights, said in (
        (np.full((24, 31), 2**60), "hold integers within 2..53"),
        ([[1, 2], [3]], "be an array of numbers"),
        (np.ones(31), "have shape .rows, columns."),
        (None, "have shape .rows, columns."),
    ):
        with pytest.raises(InvalidInput, match=f"'weights' parameter of covered_area must {said}"):
            clgeom.covered_area(values(), -300, weights={"people": weights})


def test_covered_area_refuses_what_coverage_regions_does():
    for levels, said in (
        ([], "be one or more numbers"),
        ([5, 5], "name each level once. Got 5.0 more than once"),
        (math.nan, "be finite"),
    ):
        with pytest.raises(InvalidInput, match=f"'levels' parameter of covered_area must {said}"):
            clgeom.covered_area(values(), levels)
    with pytest.raises(InvalidInput, match="'raster' parameter of covered_area must be a whole raster, no strips of"):
        clgeom.covered_area(iter([values()]), 5)


class Payload:
    """What a pickle runs when it is read."""

    def __reduce__(self):
        return open, ("ran", "w")


@pytest.mark.parametrize("where", (".zarray", ".zmetadata"))
@pytest.mark.parametrize("filters", (["pickle"], ["vlen-bytes", "pickle"], ["vlen-utf8", "pickle"]))
def test_zarr_runs_no_pickles(tmp_path, monkeypatch, where, filters):
    pytest.importorskip("zarr")
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "map.zarr"
    (store / "v").mkdir(parents=True)
    array = {"zarr_format": 2, "shape": [9, 9], "chunks": [9, 9], "dtype": "|O", "compressor": None, "fill_value": None}
    array |= {"order": "C", "filters": [{"id": name} for name in filters]}
    plain, group, attributes = {**array, "filters": None}, {"zarr_format": 2}, {"_ARRAY_DIMENSIONS": ["y", "x"]}
    files = {".zgroup": group, "v/.zarray": array if where == ".zarray" else plain, "v/.zattrs": attributes}
    if where == ".zmetadata":
        metadata = {".zgroup": group, "v/.zarray": array, "v/.zattrs": attributes}
        files[".zmetadata"] = {"zarr_consolidated_format": 1, "metadata": metadata}
    for name, content in files.items():
        (store / name).write_text(json.dumps(content))
    (store / "v" / "0.0").write_bytes(pickle.dumps(Payload()))
    with pytest.raises(InvalidInput, match="has the codec 'pickle', which is not run"):
        read_raster(store)
    assert not os.path.exists("ran")


@pytest.mark.parametrize("hidden", ("below an array", "behind a link"))
def test_codecs_are_looked_for_in_all_folders(tmp_path, hidden):
    store, elsewhere = tmp_path / "map.zarr", tmp_path / "elsewhere"
    store.mkdir()
    (store / ".zgroup").write_text('{"zarr_format": 2}')
    (store / ".zarray").write_text('{"filters": null, "compressor": {"id": "zlib"}}')
    check_codecs(store)
    folder = store / "0" / "v" if hidden == "below an array" else elsewhere
    folder.mkdir(parents=True)
    (folder / ".zarray").write_text('{"filters": [{"id": "pickle"}], "compressor": null}')
    if hidden == "behind a link":
        (store / "v").symlink_to(elsewhere)
        (elsewhere / "loop").symlink_to(store)
    with pytest.raises(InvalidInput, match="has the codec 'pickle', which is not run"):
        check_codecs(store)
    (folder / ".zarray").write_text('{"filters": [], "compressor": null}')
    check_codecs(store)


@pytest.mark.parametrize("codecs", ([{"name": "numcodecs.pickle"}], [{"name": "bytes"}, {"name": "run"}]))
def test_zarr_of_version_3_runs_known_codecs_only(tmp_path, codecs):
    store = tmp_path / "map.zarr"
    (store / "v").mkdir(parents=True)
    nested = [{"name": "sharding_indexed", "configuration": {"codecs": codecs}}]
    for some in (codecs, nested):
        (store / "v" / "zarr.json").write_text(json.dumps({"node_type": "array", "codecs": some}))
        with pytest.raises(InvalidInput, match="has the codec '(pickle|run)', which is not run"):
            check_codecs(store)
    (store / "v" / "zarr.json").write_text("[" * 100_000)
    with pytest.raises(InvalidInput, match="its 'zarr.json' is no object of JSON"):
        check_codecs(store)
