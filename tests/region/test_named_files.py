"""Rasters by the names of their files, lists of files and of datasets, and the names of maps in results."""

import numpy as np
import pytest

import clgeom
from clgeom.errors import InvalidInput

rasterio = pytest.importorskip("rasterio")
PLACE, CRS = (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0), "EPSG:32632"


def write(path, values, *, transform=PLACE, crs=CRS, nodata=None):
    values = np.atleast_3d(values.T).T  # bands first
    profile = {"driver": "GTiff", "count": len(values), "dtype": values.dtype, "nodata": nodata}
    profile |= {"height": values.shape[1], "width": values.shape[2], "crs": crs}
    with rasterio.open(path, "w", transform=rasterio.Affine(*transform), **profile) as file:
        file.write(values)
    return path


@pytest.fixture
def maps(tmp_path):
    made = np.random.default_rng(3).normal(-85, 6, (3, 20, 30)).astype(np.float32)
    made[:, 0, :4] = -9999
    return made, [write(tmp_path / f"day{k}.tif", one, nodata=-9999) for k, one in enumerate(made)]


@pytest.mark.parametrize("call", (clgeom.raster_outlines, clgeom.raster_regions, clgeom.coverage_regions))
def test_a_file_gives_what_its_array_gives(maps, call):
    made, paths = maps
    expected = call(clgeom.Raster(made[0], PLACE, CRS, -9999), [-85, -90], direction="<=")
    for given in (str(paths[0]), paths[0], clgeom.Raster(paths[0])):
        found = call(given, [-85, -90], direction="<=")
        assert found.to_wkb().tolist() == expected.to_wkb().tolist() and found.grid.names == ()
        assert rasterio.CRS.from_user_input(found.crs) == rasterio.CRS.from_user_input(CRS)
    moved = call(clgeom.Raster(paths[0], (1, 0, 0, 0, -1, 0), nodata=-1), -85, direction="<=")
    assert moved.grid.transform[0] == 1 and moved.areas.sum() > 0


def test_files_and_datasets_of_the_same_cells_are_maps_with_names(maps, tmp_path):
    made, paths = maps
    expected = clgeom.raster_outlines(clgeom.Raster(np.ma.masked_equal(made, -9999), PLACE, CRS), -85)
    with rasterio.open(paths[1]) as one, rasterio.open(paths[2]) as other:
        found = [
            clgeom.raster_outlines(given, -85) for given in (paths, [paths[0], one, other], tuple(map(str, paths)))
        ]
    for polygons in found:
        assert polygons.to_wkb().tolist() == expected.to_wkb().tolist()
        assert polygons.grid.names == ("day0", "day1", "day2")
    frame = found[0].to_pandas()
    assert frame["name"].tolist() == [f"day{number}" for number in frame["map"]]
    areas = clgeom.covered_area(paths, -85, weights={"people": np.ones((20, 30))})
    assert [one.cells for one in areas] == np.bincount(found[0].maps, found[0].cells).tolist()
    stack = write(tmp_path / "all.tif", made, nodata=-9999)
    whole = clgeom.raster_outlines(stack, -85)
    assert whole.to_wkb().tolist() == expected.to_wkb().tolist()
    assert clgeom.raster_outlines([stack], -85).grid.names == ("all 1", "all 2", "all 3")


def test_files_of_other_cells_are_refused(maps, tmp_path):
    made, paths = maps
    others = [
        write(tmp_path / "moved.tif", made[0], transform=(10.0, 0.0, 500_010.0, 0.0, -10.0, 5_000_000.0)),
        write(tmp_path / "system.tif", made[0], crs="EPSG:32633"),
        write(tmp_path / "smaller.tif", made[0, :-1]),
    ]
    for other in others:
        with pytest.raises(InvalidInput, match=f"must have rasters of the same cells. Got .*{other.name}"):
            clgeom.raster_regions([paths[0], other], -85)
    with pytest.raises(InvalidInput, match="nothing.tif' cannot be read: No such file"):
        clgeom.raster_outlines(tmp_path / "nothing.tif", -85)


def test_names_are_one_for_each_map(tmp_path):
    values = np.eye(3)[None].repeat(2, 0)
    for names in (("north",), "ab", ("a", "b", "c")):
        with pytest.raises(InvalidInput, match="must have a name for each of its 2 maps"):
            clgeom.raster_outlines(clgeom.Raster(values, names=names), 1)
    found = clgeom.raster_outlines(clgeom.Raster(values, names=("north", "south")), 1)
    assert list(found.to_arrow()["name"].to_pylist()) == ["north"] * 3 + ["south"] * 3
    listed = clgeom.raster_regions(clgeom.Raster(values, names=("north", "south")), 1)
    assert listed.to_pandas()["name"].tolist() == ["north", "south"]
    found.to_file(tmp_path / "sites.kml", crs=4326)
    text = (tmp_path / "sites.kml").read_text()
    assert "<name>north, &gt;= 1</name>" in text and "<name>&gt;= 1</name>" in text  # a placemark, and the folder


def test_tables_have_the_columns_of_files(tmp_path):
    geopandas = pytest.importorskip("geopandas")
    made = clgeom.radio.coverage_map((60, 60), pixel=20, seed=2, origin=PLACE[2::3], crs=CRS)
    for found in (clgeom.raster_outlines(made, [-75, -85]), clgeom.raster_regions(made, -75)):
        found.to_file(tmp_path / "a.parquet")
        there, frame = geopandas.read_parquet(tmp_path / "a.parquet"), found.to_geopandas()
        assert sorted(frame.columns) == sorted(there.columns) and "dbm" in frame and (frame["unit"] == "dBm").all()
        assert frame["label"].tolist() == there["label"].tolist()
        assert found.to_arrow().column_names == list(frame.columns)


def test_pictures_take_files_and_datasets(maps, tmp_path):
    pytest.importorskip("matplotlib")
    found = clgeom.raster_outlines(maps[1][0], -85)
    found.to_html(tmp_path / "file.html", raster=maps[1][0], title="a")
    with rasterio.open(maps[1][0]) as dataset:
        found.to_html(tmp_path / "dataset.html", raster=dataset, title="a")
        found.plot(raster=dataset)
    values = clgeom.Raster(maps[0][0], PLACE, CRS, -9999)
    found.to_html(tmp_path / "array.html", raster=values, title="a")
    texts = {(tmp_path / f"{name}.html").read_text() for name in ("file", "dataset", "array")}
    assert len(texts) == 1
    with pytest.raises(InvalidInput, match="must be one map. Got 3 bands"):
        found.plot(raster=maps[1])


def test_files_given_twice_or_with_arrays_are_refused(maps):
    made, paths = maps
    with pytest.raises(InvalidInput, match="day0.tif' is given twice"):
        clgeom.raster_regions([paths[0], paths[1], paths[0]], -85)
    with pytest.raises(InvalidInput, match="must not mix files with arrays"):
        clgeom.raster_regions([paths[0], made[0]], -85)
