"""`polygonize`: rasters of every type, positions and missing cells; the polygons of rasterio on random maps."""

from collections import Counter

import numpy as np
import pytest
from effort import LONG

import clgeom
from clgeom.errors import InvalidInput
from tests.reference.class_arcs import class_arcs

shapely = pytest.importorskip("shapely")


def random_map(seed):
    """A small map: of noise, of blocks, or of one class with specks."""
    random = np.random.default_rng(seed)
    rows, columns, count = random.integers(1, 13, 3)
    classes = random.integers(0, count % 5 + 1, (rows, columns))
    if seed % 3 == 0:
        classes = np.kron(classes, np.ones((3, 2), int))
    if seed % 3 == 1:
        classes = np.where(random.random(classes.shape) < 0.8, 1, classes)
    return classes


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("connectivity", [4, 8])
def test_random_maps_have_the_polygons_of_rasterio(any_session, connectivity):
    """Those of GDAL, whose function `rasterio.features.shapes` calls."""
    features = pytest.importorskip("rasterio.features")
    for seed in range(1000 if LONG else 12):
        classes = random_map(seed)
        found = clgeom.polygonize(classes, nodata=0, connectivity=connectivity, device=any_session)
        shapes, values = found.to_shapely(), found.classes
        assert shapely.is_valid(shapes).all()
        assert shapely.coverage_is_valid(shapes)
        theirs = list(features.shapes(classes.astype(np.int32), mask=classes != 0, connectivity=connectivity))
        expected = [(int(value), shapely.geometry.shape(one)) for one, value in theirs]
        assert len(found) == len(expected)
        # theirs may touch themselves with 8-connection, and then are not valid
        areas = sorted((value, shapely.make_valid(shape).area) for value, shape in expected)
        if connectivity == 4:
            assert areas == sorted(zip(values.tolist(), found.areas.tolist()))
            trees = Counter((value, shapely.normalize(shape.simplify(0)).wkb) for value, shape in expected)
            assert trees == Counter(
                (value, shapely.normalize(shape.simplify(0)).wkb) for value, shape in zip(values.tolist(), shapes)
            )
        for value in np.unique(values):
            own = shapely.union_all(shapes[values == value])
            assert own.area == found.cells[values == value].sum() == (classes == value).sum()
        simple = found.simplify(tolerance=1.5)
        assert shapely.is_valid(simple.to_shapely()).all()
        assert shapely.coverage_is_valid(simple.to_shapely())
        assert simple.areas.sum() == found.areas.sum()
        assert (simple.areas > 0).all()


TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_gives_the_same_arcs(dtype):
    classes = (np.arange(7 * 9).reshape(7, 9) // 5 % 2 * 3).astype(dtype)
    found = clgeom.polygonize(classes, nodata=0)
    expected = class_arcs(classes.astype(int), nodata=0)
    np.testing.assert_array_equal(found.arcs.corners, expected.corners)
    assert set(found.classes.tolist()) == {1 if dtype == "bool" else 3}
    assert found.classes.dtype == {"bool": "uint8", "float32": "int16", "float64": "int16"}.get(dtype, dtype)


def test_masked_and_missing_cells_are_in_no_polygon():
    masked = np.ma.masked_array(np.arange(256, dtype=np.uint8).reshape(16, 16))
    masked[3, 4] = np.ma.masked
    found = clgeom.polygonize(masked)
    assert found.cells.sum() == len(found) == 255
    line = np.ma.masked_array(np.append(np.arange(256), 3).astype(np.uint8)[None])
    line[0, -1] = np.ma.masked
    assert clgeom.polygonize(line).classes.tolist() == list(range(256))
    assert clgeom.polygonize([[1, np.nan], [2, 2]]).cells.tolist() == [1, 2]
    assert clgeom.polygonize([[1.0, 7.0], [2.0, 2.0]], nodata=7).cells.tolist() == [1, 2]
    for nodata in (0.5, np.nan, 300, -1):  # no cell of uint8 has it
        assert len(clgeom.polygonize(np.eye(2, dtype=np.uint8), nodata=nodata)) == 4
    assert clgeom.polygonize(np.ma.masked_all((2, 2), np.int32)).to_shapely().tolist() == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint64])
def test_nodata_beyond_the_type_is_in_no_cell(dtype):
    for nodata in (1e300, -(10**400), 2**64, 2**53 + 1):
        assert clgeom.polygonize(np.array([[1, 3], [2, 2]], dtype), nodata=nodata).cells.tolist() == [1, 1, 2]


def test_nodata_of_64_bits_is_one_value():
    big = np.array([[2**53, 2**53 + 1, 2**63 - 1]])
    for k, nodata in enumerate(big[0]):
        expected = np.delete(big[0], k).tolist()
        assert clgeom.polygonize(big, nodata=nodata).classes.tolist() == expected
        xarray = pytest.importorskip("xarray")
        stored = xarray.DataArray(big, dims=("y", "x"), attrs={"_FillValue": nodata})
        assert clgeom.polygonize(stored).classes.tolist() == expected


@pytest.mark.parametrize(("kind", "nodata"), [("Int64", 2**53 + 1), ("Int64", 2**63 - 1), ("UInt64", 2**64 - 1)])
def test_nodata_of_files_of_64_bits_is_one_value(tmp_path, kind, nodata):
    rasterio, shutil = map(pytest.importorskip, ("rasterio", "rasterio.shutil"))
    big = np.array([[nodata - 1, nodata, 5]], kind.lower())
    place = {"transform": (10, 0, 0, 0, -10, 0), "width": 3, "height": 1, "count": 1}
    with rasterio.open(tmp_path / "big.tif", "w", driver="GTiff", dtype=big.dtype, **place) as file:
        file.write(big, 1)
    source = "<SimpleSource><SourceFilename relativeToVRT='1'>big.tif</SourceFilename></SimpleSource>"
    band = f"<VRTRasterBand dataType='{kind}' band='1'><NoDataValue>{nodata}</NoDataValue>{source}</VRTRasterBand>"
    (tmp_path / "big.vrt").write_text(f"<VRTDataset rasterXSize='3' rasterYSize='1'>{band}</VRTDataset>")
    shutil.copy(tmp_path / "big.vrt", tmp_path / "known.tif", driver="GTiff")  # rasterio would round it
    assert clgeom.polygonize(tmp_path / "known.tif").classes.tolist() == [nodata - 1, 5]
    assert clgeom.polygonize(tmp_path / "known.tif", nodata=5).classes.tolist() == [nodata - 1, nodata]


def test_nodata_replaces_that_of_all_files_and_bands(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    place = {"transform": (10, 0, 0, 0, -10, 0), "width": 3, "height": 1, "nodata": 3, "dtype": "uint8"}
    paths = [tmp_path / "one.tif", tmp_path / "two.tif", tmp_path / "both.tif"]
    for path, count in zip(paths, (1, 1, 2)):
        with rasterio.open(path, "w", driver="GTiff", count=count, **place) as file:
            file.write(np.array([[[0, 1, 3]]] * count, np.uint8))
    for maps in (paths[:2], paths[2]):
        assert clgeom.polygonize(maps).classes.tolist() == [0, 1, 0, 1]
        assert clgeom.polygonize(maps, nodata=0).classes.tolist() == [1, 3, 1, 3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_at_the_limits_of_integers_are_these(dtype):
    values = [-(2.0**31), 2.0**31, 2.0**15, -(2.0**15)]
    for value in values:
        assert clgeom.polygonize(np.array([[value, 1]], dtype)).classes.tolist() == [value, 1]


def test_position_comes_from_the_raster_or_the_parameters():
    raster = clgeom.Raster([[1, 2]], transform=(10, 0, 100, 0, -10, 50), crs="EPSG:32632", nodata=2)
    found = clgeom.polygonize(raster)
    assert found.crs == "EPSG:32632"
    assert found[0].parts[0][0].min(axis=0).tolist() == [100, 40]
    moved = clgeom.polygonize(raster, transform=(10, 0, 0, 0, 10, 0), nodata=1)
    assert moved.classes.tolist() == [2]
    assert moved.areas.tolist() == [100]
    assert moved[0].parts[0][0].min(axis=0).tolist() == [10, 0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1.5]], {}), "'classes' parameter of polygonize must hold integers. Got 1.5"),
        (([[np.inf]], {}), "must hold integers. Got inf"),
        (([1, 2], {}), "must have shape"),
        (([[1], [2, 3]], {}), "'classes' parameter of polygonize"),
        ((np.zeros((0, 3), int), {}), "none of them 0"),
        (([["a"]], {}), "'classes' parameter of polygonize must"),
        (([[1 + 2j]], {}), "must hold integers"),
        (([[1]], {"connectivity": 6}), "'connectivity' parameter of polygonize must be 4 or 8"),
        (([[1]], {"names": ["a"]}), "'names' parameter of polygonize must be a mapping"),
        (([[1]], {"names": {1: 2}}), "'names' parameter of polygonize must be a mapping"),
        (([[1]], {"names": {"a": "b"}}), "'names' parameter of polygonize must be a mapping"),
        (([[1]], {"nodata": "none"}), "'nodata' parameter of polygonize must be a number"),
        (([[1.0]], {"nodata": "none"}), "'nodata' parameter of polygonize must be a number"),
        (([[1.0]], {"nodata": 1j}), "'nodata' parameter of polygonize must be a number"),
        (([[1]], {"nodata": [1, 2]}), "'nodata' parameter of polygonize must be a number"),
        (([[1]], {"crs": "EPSG:4326"}), "'transform' parameter of polygonize must place"),
        (([[1]], {"profile": 2}), "'profile' parameter of polygonize"),
    ],
)
def test_wrong_input_is_refused(arguments, words):
    values, options = arguments
    with pytest.raises(InvalidInput, match=words):
        clgeom.polygonize(values, **options)


def test_tables_name_the_maps_of_a_stack():
    maps = np.array([[[1, 2]], [[2, 2]]], np.uint8)
    land = clgeom.polygonize(clgeom.Raster(maps, names=["old", "new"]))
    assert land.to_pandas()[["class", "map", "map_name"]].values.tolist() == [
        [1, 0, "old"],
        [2, 0, "old"],
        [2, 1, "new"],
    ]
    assert land[2].to_pandas()["map_name"].tolist() == ["new"]
    with pytest.raises(InvalidInput, match="'classes' parameter of polygonize must have a name for each of its 2 maps"):
        clgeom.polygonize(clgeom.Raster(maps, names=["old"]))
