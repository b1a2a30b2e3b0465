"""Radio maps in files: GeoTIFF read by rasterio, and polygons of servers read by GeoPandas and Shapely."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from clgeom.errors import InputWarning, InvalidInput
from clgeom.io.geotiff import Band, write_geotiff
from clgeom.radio import Transmitter, best_server, coverage_map

rasterio = pytest.importorskip("rasterio")

PLACE, CRS = (50.0, 0.0, 691_000.0, 0.0, -50.0, 5_336_000.0), "EPSG:32632"
NAMES = ['Süd, "A" & <b>', "", "north"]


@pytest.fixture(scope="module")
def served():
    """Three transmitters, the last of which is heard nowhere; the cells far from the first have no server."""
    sites = [
        Transmitter(691_400, 5_335_600, name=NAMES[0], power_dbm=30),
        Transmitter(691_900, 5_335_600, name=NAMES[1], power_dbm=30),
        Transmitter(699_900, 5_335_600, name=NAMES[2], range_m=50),
    ]
    return best_server(sites, shape=(23, 41), transform=PLACE, crs=CRS, model="free-space", sensitivity_dbm=-70)


def same(one, other):
    np.testing.assert_array_equal(np.asarray(one, np.float32), np.asarray(other, np.float32))


def test_a_geotiff_of_servers(served, tmp_path):
    served.to_file(tmp_path / "out.tif")
    with rasterio.open(tmp_path / "out.tif") as made:
        assert made.crs.to_epsg() == 32632 and tuple(made.transform)[:6] == PLACE and np.isnan(made.nodata)
        assert made.descriptions == ("server", "received power", "carrier to interference")
        assert made.units == (None, "dBm", "dB") and made.dtypes == ("float32",) * 3
        assert {made.tags(1)[f"SERVER_{k}"]: k for k in range(3)} == {NAMES[0]: 0, "transmitter 1": 1, "north": 2}
        server, power, ratio = made.read()
    assert (served.server == -1).any() and {0, 1} <= set(np.unique(served.server))
    same(np.where(np.isnan(server), -1, server), served.server)
    same(power, served.power_dbm)
    same(ratio, served.carrier_to_interference_db)
    assert os.listdir(tmp_path) == ["out.tif"]


def test_a_geotiff_of_power(tmp_path):
    map = coverage_map((9, 300), pixel=50, origin=(691_000, 5_336_000), model="free-space", seed=3)
    map.to_file(tmp_path / "out.TIFF")
    with rasterio.open(tmp_path / "out.TIFF") as made:
        assert made.crs is None and tuple(made.transform)[:6] == map.transform and made.units == ("dBm",)
        same(made.read(1), map.values)


@pytest.mark.settings("as_gpu")
def test_maps_on_a_device_are_written(any_session, tmp_path):
    link = {"shape": (5, 6), "transform": PLACE, "model": "free-space", "on_device": True, "device": any_session}
    made = best_server([Transmitter(691_100, 5_335_900)], **link)
    made.to_file(tmp_path / "out.tif")
    with rasterio.open(tmp_path / "out.tif") as found:
        same(found.read(2), made.power_dbm.get())
    assert made.polygons().cells.sum() == 30


@pytest.mark.parametrize("ending", (".gpkg", ".geojson", ".parquet"))
def test_polygons_of_servers_have_their_names(served, tmp_path, ending):
    geopandas = pytest.importorskip("geopandas")
    served.to_file(tmp_path / f"out{ending}")
    read = geopandas.read_parquet if ending == ".parquet" else geopandas.read_file
    frame = read(tmp_path / f"out{ending}")
    assert frame.geometry.is_valid.all()
    for k, name in enumerate(('Süd, "A" & <b>', "transmitter 1", "north")):
        own = frame[frame["name"] == name]
        assert own["cells"].sum() == (served.server == k).sum()
        if ending != ".geojson":
            assert own.geometry.area.sum() == 2500 * (served.server == k).sum()


def test_each_cell_is_in_the_polygon_of_its_server(served):
    shapely = pytest.importorskip("shapely")
    frame = served.polygons()
    shapes, servers = np.atleast_1d(frame.to_shapely()), frame.classes
    x = PLACE[2] + 50 * (np.arange(41) + 0.5)
    y = PLACE[5] - 50 * (np.arange(23) + 0.5)
    inside = np.array([shapely.contains_xy(one, *np.meshgrid(x, y)) for one in shapes])
    assert (inside.sum(axis=0) == (served.server >= 0)).all()
    found = np.where(inside.any(axis=0), np.asarray(servers)[inside.argmax(axis=0)], -1)
    np.testing.assert_array_equal(found, served.server)


def test_a_map_without_servers(tmp_path):
    with pytest.warns(InputWarning, match="No cell"):
        made = best_server(
            [Transmitter(691_400, 5_335_600)], shape=(3, 4), transform=PLACE, model="free-space", sensitivity_dbm=100
        )
    made.to_file(tmp_path / "out.tif")
    with rasterio.open(tmp_path / "out.tif") as found:
        assert np.isnan(found.read(1)).all() and np.isfinite(found.read(2)).all()
    made.to_file(tmp_path / "out.wkt")
    assert (tmp_path / "out.wkt").read_text() == ""


def test_what_cannot_be_written_leaves_no_file(served, tmp_path, monkeypatch):
    tmp_path = tmp_path / "empty"
    tmp_path.mkdir()
    with pytest.raises(InvalidInput, match="must end in one of"):
        served.to_file(tmp_path / "out.jpg")
    with pytest.raises(InvalidInput, match="'layer' parameter is for .gpkg"):
        served.to_file(tmp_path / "out.tif", layer="servers")
    with pytest.raises(InvalidInput, match="there is no folder"):
        served.to_file(tmp_path / "none" / "out.tif")
    for name in ("a\0b", "\ud800"):
        band = Band("server", served.power_dbm, "", {"SERVER_0": name})
        with pytest.raises(InvalidInput, match="must hold text of Unicode|holds text of Unicode"):
            write_geotiff(tmp_path / "out.tif", [band], PLACE, CRS)
    monkeypatch.setattr("clgeom.io.geotiff._same", lambda written, values: False)  # as of a full disk
    with pytest.raises(InvalidInput, match="cannot be written: the disk has not kept it"):
        served.to_file(tmp_path / "out.tif")
    monkeypatch.undo()
    broken = SimpleNamespace(open=lambda *given, **more: (_ for _ in ()).throw(rasterio.errors.RasterioIOError("no")))
    monkeypatch.setattr(rasterio, "open", broken.open)
    with pytest.raises(InvalidInput, match="cannot be written: no"):
        served.to_file(tmp_path / "out.tif")
    assert os.listdir(tmp_path) == []
