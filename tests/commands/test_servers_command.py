"""clgeom servers: tables of transmitters, elevation models, maps, files, and what is refused."""

import json
from contextlib import nullcontext
from xml.etree import ElementTree

import numpy as np
import pytest
from command_line import PNG, done, here, refused  # noqa: F401

from clgeom.errors import InputWarning, InvalidInput
from clgeom.radio import Transmitter, best_server, sector_antenna, terrain_loss

pytest.importorskip("pyproj")
rasterio = pytest.importorskip("rasterio")

UTM = "EPSG:32632"
HEAD = "name,x,y,power,height,antenna,azimuth,tilt\n"
TABLE = HEAD + 'north,691000,5332000,40,30,sector,10,2\n"so, uth",693000,5331000,43,30,,,\n'
LINK = ("--crs", UTM, "--model", "free-space")
BOUNDS = ("--bounds", 690_000, 5_330_000, 694_000, 5_333_000, "--cell", 100)


@pytest.fixture
def table(here):  # noqa: F811
    (here / "sites.csv").write_text(TABLE)
    return here


def transmitters():
    sector = sector_antenna()
    return [
        Transmitter(691_000, 5_332_000, 40, 30, antenna=sector, azimuth_deg=10, downtilt_deg=2, name="north"),
        Transmitter(693_000, 5_331_000, 43, 30, name="so, uth"),
    ]


def read(path):
    with rasterio.open(path) as made:
        return made.read(), tuple(made.transform)[:6], made.crs


def hill(path="dem.tif", crs=UTM, transform=(100, 0, 690_000, 0, -100, 5_333_000), shape=(30, 40)):
    row, column = np.mgrid[: shape[0], : shape[1]]
    heights = (500 + 90 * np.exp(-(((column - shape[1] / 2) / 3) ** 2)) + row / 7).astype(np.float32)
    profile = {"driver": "GTiff", "count": 1, "dtype": "float32", "height": shape[0], "width": shape[1]}
    with rasterio.open(path, "w", crs=crs, transform=rasterio.Affine(*transform), nodata=-9999, **profile) as made:
        made.write(heights, 1)
    return heights


def test_the_map_is_that_of_best_server(table):
    said = done("servers", "sites.csv", *LINK, *BOUNDS, "-o", "out.tif", "-o", "out.wkt", "--threshold", -70)
    place = (100.0, 0.0, 690_000.0, 0.0, -100.0, 5_333_000.0)
    made = best_server(
        transmitters(), shape=(30, 40), transform=place, crs=UTM, model="free-space", sensitivity_dbm=-70
    )
    (server, power, _), transform, crs = read("out.tif")
    assert transform == place and crs.to_epsg() == 32632
    np.testing.assert_array_equal(np.where(np.isnan(server), -1, server), made.server)
    np.testing.assert_array_equal(power, made.power_dbm)
    assert "2 transmitters" in said and "30 x 40 cells of 100 m" in said and f"{(made.server == 1).sum():,}" in said
    facts = json.loads(done("servers", "sites.csv", *LINK, *BOUNDS, "--threshold", -70, "--json"))
    assert [one["cells"] for one in facts["servers"]] == [(made.server == k).sum() for k in (0, 1)]
    assert [one["name"] for one in facts["servers"]] == ["north", "so, uth"]


def test_terrain_is_that_of_the_elevation_model(table):
    heights = hill()
    done("servers", "sites.csv", *LINK, "--dem", "dem.tif", "-o", "out.tif")
    link = {"transform": (100, 0, 690_000, 0, -100, 5_333_000), "crs": UTM}
    extra = terrain_loss(transmitters(), heights, **link)
    made = best_server(
        transmitters(), shape=(30, 40), model="free-space", ground_m=heights, extra_loss_db=extra, **link
    )
    (_, power, _), transform, _ = read("out.tif")
    np.testing.assert_array_equal(power, made.power_dbm)
    assert transform == link["transform"]
    done("servers", "sites.csv", *LINK, "--dem", "dem.tif", "--diffraction", "none", "-o", "flat.tif")
    assert (read("flat.tif")[0][1] > power + 1).any()


@pytest.mark.parametrize(
    ("unit", "crs", "metres"),
    [("US survey foot", UTM, 1200 / 3937), ("Feet", UTM, 0.3048), ("metres a.s.l.", UTM, 1), ("dBm", UTM, None)]
    + [("", "EPSG:32632+8228", 0.3048), ("m", "EPSG:32632+8228", 1)],
)
def test_heights_in_feet_become_metres(here, unit, crs, metres):  # noqa: F811
    from clgeom.io import elevation

    heights, place = hill(crs=crs), (100.0, 0.0, 690_000.0, 0.0, -100.0, 5_333_000.0)
    with rasterio.open("dem.tif", "r+") as made:
        made.units = (unit,)
    with nullcontext() if metres else pytest.warns(InputWarning, match="has values in 'dBm'"):
        found = elevation.heights_on("dem.tif", place, UTM, (30, 40))
    np.testing.assert_allclose(found, heights * (metres or 1), rtol=1e-6)
    if unit == "Feet":
        with rasterio.open("dem.tif") as ground, pytest.raises(InvalidInput, match="must be in m. Got 'Feet'"):
            terrain_loss(transmitters(), ground)


def test_longitudes_and_latitudes_get_a_utm_zone(table):
    import pyproj

    there = pyproj.Transformer.from_crs(UTM, "EPSG:4326", always_xy=True)
    places = there.transform([691e3, 693e3], [5332e3] * 2)
    rows = [f"{lon:.9f},{lat:.9f},{power}" for lon, lat, power in zip(*places, (40, 43))]
    (table / "degrees.csv").write_text("lon,lat,power_dbm\n" + "\n".join(rows) + "\n")
    done("servers", "degrees.csv", "--model", "free-space", *BOUNDS, "-o", "out.tif")
    (table / "metres.csv").write_text("x,y,power_dbm\n691000,5332000,40\n693000,5332000,43\n")
    done("servers", "metres.csv", *LINK, *BOUNDS, "-o", "same.tif")
    (one, place, crs), (other, where, _) = read("out.tif"), read("same.tif")
    assert crs.to_epsg() == 32632 and place == where
    np.testing.assert_allclose(one[1], other[1], atol=1e-3)
    # an elevation model in degrees is reprojected; beyond it there are no heights, and no power
    hill("degrees.tif", "EPSG:4326", (0.001, 0, 11.56, 0, -0.001, 48.13), (40, 60))
    said = done("servers", "degrees.csv", "--model", "free-space", "--dem", "degrees.tif", "-o", "dem.tif")
    assert "EPSG:32632" in said and "cells of 91 m" in said
    power = read("dem.tif")[0][1]
    assert np.isnan(power).any() and np.isfinite(power).mean() > 0.8


def test_sites_on_both_sides_of_the_meridian_of_180_degrees_get_a_zone_there(here):  # noqa: F811
    (here / "fiji.csv").write_text("lon,lat\n179.98,-17\n-179.99,-17\n")
    said = done("servers", "fiji.csv", "--model", "free-space", "--cell", 500)
    assert "EPSG:32760" in said and "22 x 28 cells of 500 m" in said


def test_a_picture_has_names_letter_by_letter(here):  # noqa: F811
    pytest.importorskip("matplotlib")
    (here / "odd.csv").write_text("name,lon,lat\n$\\frac{$,11.5,48\n_a,11.51,48\nb\x01c,11.52,48\n")
    done("servers", "odd.csv", "--model", "free-space", "--cell", 500, "--plot", "odd.svg")
    drawn = (here / "odd.svg").read_text()
    ElementTree.fromstring(drawn)
    assert all(name in drawn for name in (r"$\frac{$", "_a", "b\ufffdc"))


def test_of_a_large_elevation_model_a_part_is_read(table, monkeypatch):
    """The heights are averages of cells, and more cells than allowed are refused."""
    heights = hill("large.tif", transform=(10, 0, 689_500, 0, -10, 5_333_500), shape=(400, 500))
    call = ("servers", "sites.csv", *LINK, *BOUNDS, "--dem", "large.tif")
    done(*call, "-o", "out.tif")
    cells = heights[50:350, 50:450].reshape(30, 10, 40, 10).mean(axis=(1, 3))
    from clgeom.io import elevation

    found = elevation.heights_on("large.tif", (100.0, 0.0, 690_000.0, 0.0, -100.0, 5_333_000.0), UTM, (30, 40))
    assert np.abs(found - cells).max() < 3  # on a slope of 4 m a cell
    far = elevation.heights_on("large.tif", (100.0, 0.0, 790_000.0, 0.0, -100.0, 5_333_000.0), UTM, (30, 40))
    assert np.isnan(far).all()
    monkeypatch.setattr(elevation, "MOST_HEIGHTS", 9_000)
    assert "has 308 x 408 cells on the map, and at most 9,000" in refused(*call, "-o", "other.tif")


def test_a_picture_and_polygons(table):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pyogrio")
    import geopandas

    done("servers", "sites.csv", *LINK, *BOUNDS, "-o", "out.gpkg", "--plot", "out.png")
    assert (table / "out.png").read_bytes().startswith(PNG)
    frame = geopandas.read_file("out.gpkg")
    assert set(frame["name"]) == {"north", "so, uth"} and frame.geometry.area.sum() == 4000 * 3000


def test_transmitters_are_heard_as_far_as_the_model_goes(table):
    facts = json.loads(done("servers", "sites.csv", "--crs", UTM, "--model", "rma", "--json", "--cell", 200, "--bounds",
                            680_000, 5_320_000, 700_000, 5_340_000))  # fmt: skip
    assert 0 < sum(one["share"] for one in facts["servers"]) < 0.5


BAD = {
    "name,x,y,name\na,1,2,b\n": "has 2 columns for the name: name, name",
    "x,y\n": "has no transmitters",
    "": "has no transmitters",
    "1,2\n3,4\n": "has no header",
    "x,power\n1,2\n": "has no columns of positions",
    "x,y,lon,lat\n1,2,3,4\n": "has two pairs of columns of positions",
    "x,y,power,power_dbm\n1,2,3,4\n": "has 2 columns for the power_dbm",
    HEAD + "a,691000,,40,30,,,\n": r"line 2, column 'y': a number is missing",
    HEAD + "a,691000,5332000,forty,30,,,\n": r"line 2, column 'power': 'forty' is not a number",
    HEAD + "\n# note\na,691000,5332000,40,-1,,,\n": r"line 4, column 'height': .* within 0.1 to 10000 m, and is -1",
    HEAD + "a,691000,inf,40,30,,,\n": r"line 2, column 'y': it must be a finite number, and is inf",
    HEAD + "a,691000,5332000,40\n": "malformed in line 2: 8 fields are expected, it has 4",
    HEAD + "a,691000,5332000,40,30,secctor,,\n": r"line 2, column 'antenna': there is no antenna 'secctor'",
    HEAD + f"a,691000,5332000,40,30,{'s' * 5000},,\n": r"line 2, column 'antenna': there is no antenna 's",
    "lon,lat\n11,95\n": r"line 2, column 'lat': it must be within -90 to 90 degrees, and is 95",
}


@pytest.mark.parametrize("text", BAD)
def test_a_wrong_table_is_refused(here, text):  # noqa: F811
    (here / "bad.csv").write_text(text)
    how = ("--model", "free-space") if text.startswith("lon") else LINK
    assert_match(BAD[text], refused("servers", "bad.csv", *how, "-o", "out.tif"))


def assert_match(words, said):
    import re

    assert re.search(words, said), said


def test_a_map_without_transmitters_has_a_warning(table):
    with pytest.warns(InputWarning, match="No transmitter stands in the map: x 695000 to 696000, y 5331000 to"):
        done("servers", "sites.csv", *LINK, "--bounds", 695_000, 5_331_000, 696_000, 5_332_000)


def test_a_transmitter_that_is_there_twice_has_a_warning(here):  # noqa: F811
    (here / "twice.csv").write_text("name,x,y\na,1,2\nb,1,3\nc,1,2\n")
    with pytest.warns(InputWarning, match="Lines 2 and 4 of 'twice.csv' have the same transmitter"):
        done("servers", "twice.csv", *LINK, "--cell", 1000)


def test_wrong_calls_are_refused(table):
    hill()
    for words, call in (
        ("column 'x': it must be within -180 to 180 degrees", ["sites.csv", *LINK[2:], "--crs", "EPSG:4326"]),
        ("Missing option '--model'.*rma-los. See 'clgeom servers --help'", ["sites.csv"]),
        ("unknown coordinate reference system: name it", ["sites.csv", "--model", "free-space"]),
        ("at most 134,217,728 cells. Got .*: choose larger cells", ["sites.csv", *LINK, "--cell", 0.5]),
        ("option --map-crs must be a known projected system", ["sites.csv", *LINK, "--map-crs", "EPSG:4326"]),
        ("option --map-crs must be a known projected system", ["sites.csv", *LINK, "--map-crs", "EPSG:99999"]),
        ("option --cell must be a distance above 0", ["sites.csv", *LINK, "--cell", -5]),
        ("option --bounds must be the least x and y", ["sites.csv", *LINK, "--bounds", 5, 5, 1, 9]),
        ("option --city is for other models. Got --model free-space", ["sites.csv", *LINK, "--city", "medium"]),
        ("option --diffraction is for terrain", ["sites.csv", *LINK, "--diffraction", "single"]),
        (
            "line 2, column 'height': .* 'uma' needs 25 m, and it is 30",
            ["sites.csv", "--crs", UTM, "--model", "uma"],
        ),
        (
            "No cell .* is served with 90 dBm or more: the greatest",
            ["sites.csv", *LINK, *BOUNDS, "--threshold", 90],
        ),
        ("must end in one of", ["sites.csv", *LINK, "-o", "out.xyz"]),
        ("is the output 'out.tif', too", ["sites.csv", *LINK, "-o", "out.tif", "-o", "out.tif"]),
        ("is the input file", ["sites.csv", *LINK, "-o", "sites.csv"]),
        (
            "line 2, column 'x': the site .* is outside of the map",
            ["sites.csv", *LINK, "--dem", "dem.tif", "--bounds", 691_500, 5_330_000, 693_500, 5_332_500],
        ),
    ):
        assert_match(words, refused("servers", *call))


def test_columns_without_a_meaning_are_named(here):  # noqa: F811
    (here / "sites.csv").write_text("x,y,azimut\n691000,5332000,9\n")
    with pytest.warns(match="are not used: azimut. Did you mean 'azimuth'"):
        done("servers", "sites.csv", *LINK, *BOUNDS)
