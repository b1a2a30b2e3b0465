"""Attributes, systems and rings of regions in every format that `clgeom region` writes, read by GDAL and GeoPandas."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from region_commands import done, frame_of, here, needs

import clgeom

__all__ = ["here"]

PLACE = (25.0, 0.0, 691_000.0, 0.0, -25.0, 5_335_000.0)
SYSTEM = "EPSG:25832"
IN_DEGREES = ("geojson", "kml")
STYLE = ("fill", "stroke")


def raster():
    """Rings in rings, a comb, and single cells."""
    values = np.full((40, 45), -120.0, np.float32)
    values[2:22, 2:30], values[5:19, 5:27], values[9:15, 9:22], values[11:13, 12:18] = -70, -110, -60, -100
    values[26:36, 3:40:2], values[35, 3:40], values[38, 42] = -70, -70, -60
    return values


def write(values, name, unit="dBm"):
    rasterio = pytest.importorskip("rasterio")
    rows, columns = values.shape
    how = {"driver": "GTiff", "height": rows, "width": columns, "count": 1, "dtype": values.dtype, "crs": SYSTEM}
    with rasterio.open(name, "w", transform=rasterio.Affine(*PLACE), **how) as file:
        file.write(values, 1)
        file.units = (unit,)
    return name


@needs("rasterio", "pyogrio", "pyproj", "pyarrow", "geopandas")
@pytest.mark.parametrize("options", ((), ("--bands",), ("--no-parts",), ("--outline", "cells")))
@pytest.mark.parametrize("ending", ("geojson", "json", "gpkg", "fgb", "parquet", "kml", "csv"))
def test_every_format_has_the_attributes(ending, options):
    import geopandas
    import shapely

    values, holes = raster(), () if "cells" in options else ("--holes", 0)
    write(values, "map.tif")
    done("map.tif", "--level", -75, "--level", -65, *holes, *options, "-o", f"out.{ending}")
    if ending == "csv":
        with open("out.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        shapes = geopandas.GeoSeries.from_wkt([row["WKT"] for row in rows], crs=SYSTEM)
        frame = geopandas.read_file("out.csv")  # by GDAL
        assert shapely.equals(frame.geometry.to_numpy(), shapes.to_numpy()).all()
        frame = geopandas.GeoDataFrame({name: [row[name] for row in rows] for name in rows[0]}, geometry=shapes)
        numbers = ("id", "level", "dbm", "cells", "cells_area", "area", "area_km2")
        for name in numbers:
            frame[name] = [float(value) if value else np.nan for value in frame[name]]
    else:
        frame = geopandas.read_parquet("out.parquet") if ending == "parquet" else frame_of(f"out.{ending}")
    assert frame.crs.to_epsg() == (4326 if ending in (*IN_DEGREES, "json") else 25832)
    assert frame.geometry.is_valid.all() and set(frame.geometry.geom_type) <= {"Polygon", "MultiPolygon"}
    if ending == "kml":
        frame["id"] = frame["feature_id"]
    frame = frame.sort_values("id").reset_index(drop=True)  # a spatial index orders features
    assert frame["id"].tolist() == list(range(1, len(frame) + 1))
    assert set(frame["level"]) == {-75, -65} and (frame["dbm"] == frame["level"]).all()
    assert set(frame["unit"]) == {"dBm"}
    plain = frame.geometry if frame.crs.to_epsg() == 25832 else frame.geometry.to_crs(SYSTEM)
    np.testing.assert_allclose(
        frame["area"], plain.area, rtol=1e-6 if plain is frame.geometry else 3e-2
    )  # degrees: outwards
    np.testing.assert_allclose(frame["area_km2"], frame["area"] / 1e6, rtol=2e-3)
    assert (frame["area_km2"] > 0).all() and set(STYLE) <= set(frame.columns)
    if "--no-parts" in options:
        return
    np.testing.assert_allclose(frame["cells_area"], frame["cells"] * 625)
    assert (frame["cells_area"] <= frame["area"] * (1 + 1e-9)).all(), "all cells are within"
    counts = frame.groupby("level")["cells"].sum()
    high, low = (values >= -65).sum(), (values >= -75).sum()
    assert (counts[-65.0], counts[-75.0]) == (high, low - high if "--bands" in options else low)


@needs("rasterio", "pyproj", "shapely")
def test_geojson_is_rfc_7946():
    import shapely

    write(raster(), "map.tif")
    done("map.tif", "--level", -75, "--level", -65, "--holes", 0, "-o", "out.geojson")
    with open("out.geojson") as file:
        collection = json.load(file)
    assert "crs" not in collection and collection["type"] == "FeatureCollection"
    assert [feature["id"] for feature in collection["features"]] == list(range(1, len(collection["features"]) + 1))
    holes = 0
    for feature in collection["features"]:
        assert feature["type"] == "Feature" and feature["properties"]["id"] == feature["id"]
        rings = feature["geometry"]["coordinates"]
        for polygon in [rings] if feature["geometry"]["type"] == "Polygon" else rings:
            for number, ring in enumerate(polygon):
                assert ring[0] == ring[-1] and len(ring) >= 4
                assert shapely.is_ccw(shapely.LinearRing(ring)) == (number == 0), "the right-hand rule"
                assert (np.abs(ring) <= (180, 90)).all() and 11 < ring[0][0] < 12 and 48 < ring[0][1] < 49
                holes += number > 0
    assert holes > 0


@needs("rasterio", "pyproj")
def test_unit_of_a_raster():
    write(raster(), "map.tif", unit="dB")
    for options, unit in (((), "dB"), (("--unit", "dBm"), "dBm"), (("--unit", "m"), "m")):
        done("map.tif", "--level", -75, *options, "-o", "out.geojson")
        with open("out.geojson") as file:
            properties = json.load(file)["features"][0]["properties"]
        assert (properties["unit"], properties["label"], "dbm" in properties) == (unit, f">= -75 {unit}", unit == "dBm")


#: Rasters: how one is written, and the unit that its values have.
def tif(system=SYSTEM, units=None, bands=1):
    rasterio = pytest.importorskip("rasterio")
    how = {"driver": "GTiff", "height": 40, "width": 45, "count": bands, "dtype": "float32", "crs": system}
    with rasterio.open("map.tif", "w", transform=rasterio.Affine(*PLACE), **how) as file:
        for band in range(1, bands + 1):
            file.write(raster(), band)
        if units is not None:
            file.units = units
    return "map.tif"


def npz(**more):
    np.savez("map.npz", raster=raster(), transform=PLACE, crs=SYSTEM, **more)
    return "map.npz"


def netcdf(**attributes):
    xarray = pytest.importorskip("xarray")
    values = raster()
    places = {"y": 5.8e6 - 10.0 * np.arange(values.shape[0]), "x": 5e5 + 10.0 * np.arange(values.shape[1])}
    values = xarray.DataArray(values, places, dims=("y", "x"), name="height", attrs=attributes)
    values.to_dataset().to_netcdf("map.nc")
    return "map.nc"


UNITS = {
    "none": (tif, None),
    "dBm": (lambda: tif(units=("dBm",)), "dBm"),
    "compound": (lambda: tif("EPSG:5555"), None),
    "compound of feet": (lambda: tif("EPSG:2263+6360"), None),
    "compound, dB": (lambda: tif("EPSG:5555", ("dB",)), "dB"),
    "second band": (lambda: tif(units=("dBm", "m"), bands=2), "m"),
    "second band, compound": (lambda: tif("EPSG:5555", ("dBm", ""), bands=2), None),
    "npz": (npz, None),
    "npz, text": (lambda: npz(unit="persons"), "persons"),
    "npz, numbers": (lambda: npz(unit=np.arange(3)), None),
    "netCDF": (netcdf, None),
    "netCDF, m": (lambda: netcdf(units="m"), "m"),
    "netCDF, no dimension": (lambda: netcdf(units="1"), None),
}


@needs("pyproj")
@pytest.mark.parametrize("name", UNITS)
def test_units_are_of_the_band(name):
    """The unit of heights in a compound system is none of values; nothing is called dBm that is not said to be."""
    make, unit = UNITS[name]
    file, more = make(), ("--band", 2) if "second" in name else ()
    if "netCDF" in name:
        more = ("--crs", "EPSG:32632")
    text = done(file, "--level", -75, *more, "-o", "out.geojson", "--html", "map.html")
    with open("out.geojson") as made:
        properties = json.load(made)["features"][0]["properties"]
    label = ">= -75" if unit is None else f">= -75 {unit}"
    assert (properties["unit"], properties["label"], "dbm" in properties) == (unit, label, unit == "dBm")
    assert re.search(rf"^{re.escape(label)}  +\d", text, re.M)
    assert f'"{label}"' in Path("map.html").read_text(encoding="utf-8")
    given = done(file, "--level", -75, *more, "--unit", "mine", "-o", "out.geojson")
    assert ">= -75 mine" in given


@needs("rasterio", "xarray")
def test_regions_know_the_unit_of_their_raster(tmp_path):
    import rasterio
    import xarray

    def label(regions, **options):
        regions.to_file(tmp_path / "out.csv", **options)
        with open(tmp_path / "out.csv", newline="") as file:
            row = next(csv.DictReader(file))
        return row["label"], row["unit"], row.get("dbm")

    with rasterio.open(tif("EPSG:5555")) as dataset:
        assert label(clgeom.coverage_regions(dataset, -75, outline="segments")) == (">= -75", "", None)
    with rasterio.open(tif(units=("dBm",))) as dataset:
        found = clgeom.coverage_regions(dataset, -75, outline="segments")
        assert label(found) == label(found[0]) == (">= -75 dBm", "dBm", "-75.0")
        assert label(found, unit="") == (">= -75", "", None)
    array = xarray.DataArray(raster(), dims=("y", "x"), attrs={"units": "m"})
    assert label(clgeom.coverage_regions(array, -75, outline="cells")) == (">= -75 m", "m", None)
    assert label(clgeom.coverage_regions(raster(), -75, outline="segments")) == (">= -75", "", None)
    made = clgeom.radio.coverage_map((20, 20), crs="EPSG:32632")
    assert label(clgeom.coverage_regions(made, -200, outline="segments")) == (">= -200 dBm", "dBm", "-200.0")


@needs("pyogrio", "pyproj", "pyarrow", "geopandas")
@pytest.mark.parametrize("outline", ("segments", "cells"))
@pytest.mark.parametrize("ending", ("geojson", "gpkg", "fgb", "parquet", "shp"))
def test_results_write_ids_and_areas(tmp_path, session, ending, outline):
    import geopandas

    place = {"transform": PLACE, "crs": SYSTEM, "device": session}
    found = clgeom.coverage_regions(raster(), [-75, -65], outline=outline, **place)
    found.to_file(tmp_path / f"out.{ending}")
    read = geopandas.read_parquet if ending == "parquet" else geopandas.read_file
    frame = read(tmp_path / f"out.{ending}")
    assert frame.crs.to_epsg() == (4326 if ending == "geojson" else 25832) and frame.geometry.is_valid.all()
    frame = frame.sort_values("id").reset_index(drop=True)
    assert frame["id"].tolist() == list(range(1, len(found) + 1))
    for row, region in zip(frame.itertuples(), found):
        assert (row.level, row.part, row.cells) == (region.level, region.part, region.cells)
        assert row.cells_area == pytest.approx(region.cells * 625) and row.area == pytest.approx(region.area)


@needs("pyogrio", "pyproj", "pyarrow", "geopandas")
def test_results_without_counts_are_written(tmp_path):
    import geopandas

    found = clgeom.coverage_regions(raster(), -75, parts=False, transform=PLACE, crs=SYSTEM)
    for ending in ("geojson", "gpkg"):
        found.to_file(tmp_path / f"out.{ending}")
        assert geopandas.read_file(tmp_path / f"out.{ending}")["cells_area"].isna().all()
