"""Polygons along the cells in every file: systems, rings and their order, RFC 7946; read by pyogrio and GeoPandas."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import shapely
from region_commands import done, features, here, needs

from clgeom.region.coverage.regions import coverage_regions

__all__ = ["here"]
pytestmark = needs("pyogrio", "pyproj", "pyarrow", "geopandas")

SYSTEM, PLACE = "EPSG:32632", (25.0, 0.0, 691_000.0, 0.0, -25.0, 5_335_000.0)
LEVELS = (-75.0, -65.0)
IN_DEGREES = ("geojson", "json", "kml")
#: Files whose outer rings are clockwise, as their format has it.
CLOCKWISE = ("shp",)


def raster():
    """Rings in rings with islands, a comb, a checkerboard, and blocks that meet in a corner or a bridge of one cell."""
    values = np.full((44, 50), -120.0, np.float32)
    values[2:22, 2:30], values[5:19, 5:27], values[8:16, 8:24], values[10:14, 10:22] = -60, -120, -70, -120
    values[11:13, 12:14] = -60
    values[26:36, 3:20:2], values[35, 3:20] = -70, -60
    values[26:36, 26:36] = np.where(np.indices((10, 10)).sum(axis=0) % 2, -70, -60)
    values[3:8, 34:39], values[8:13, 39:44], values[9, 34:44], values[14:20, 34:40], values[17, 40:46] = [-70] * 5
    return values


@pytest.fixture
def saved(here):
    np.savez("map.npz", values=raster(), transform=PLACE, crs=SYSTEM)
    return raster()


def written(ending, *options):
    """Shapes as a file has them and their levels, by levels and areas; and the code of its reference system."""
    import geopandas
    import pyogrio

    name = f"out.{ending}"
    if ending == "shp":
        iou = {"iou": float(options[options.index("--iou") + 1])} if "--iou" in options else {}
        coverage_regions(raster(), LEVELS, outline="cells", transform=PLACE, crs=SYSTEM, **iou).to_file(name)
    else:
        levels = [word for level in LEVELS for word in ("--level", level)]
        done("map.npz", *levels, "--outline", "cells", *options, "-o", name)
    if ending == "wkt":
        return np.array([shapely.from_wkt(line) for line in Path(name).read_text().splitlines()]), None, None
    if ending == "csv":
        with open(name, newline="") as file:
            rows = list(csv.DictReader(file))
        return shapely.from_wkt([row["WKT"] for row in rows]), np.array([float(row["level"]) for row in rows]), None
    if ending == "parquet":
        frame = geopandas.read_parquet(name)
        return frame.geometry.to_numpy(), frame["level"].to_numpy(), frame.crs.to_epsg()
    shapes, levels = [], []
    for layer, _ in pyogrio.list_layers(name):  # KML has one for each level
        about, _, own, columns = pyogrio.raw.read(name, layer=layer)
        shapes += own.tolist()
        levels += columns[list(about["fields"]).index("level")].astype(float).tolist()
    return shapely.from_wkb(shapes), np.array(levels), int(about["crs"].removeprefix("EPSG:"))


@pytest.mark.parametrize("iou", (None, 0.85))
@pytest.mark.parametrize("ending", ("geojson", "json", "kml", "gpkg", "fgb", "parquet", "shp", "csv", "wkt"))
def test_rings_and_systems_in_every_file(saved, ending, iou):
    shapes, levels, code = written(ending, *(() if iou is None else ("--iou", iou)))
    budget = {} if iou is None else {"iou": iou}
    found = coverage_regions(saved, LEVELS, outline="cells", transform=PLACE, crs=SYSTEM, **budget)
    wanted = np.array(found.to_shapely())
    assert code == (4326 if ending in IN_DEGREES else None if ending in ("csv", "wkt") else 32632)
    assert len(shapes) == len(wanted) and shapely.is_valid(shapes).all()
    parts, of = shapely.get_parts(shapes, return_index=True)
    assert np.array_equal(of, np.arange(len(shapes))), "no polygon of one part is cut"
    assert sum(map(len, (one.interiors for one in parts))) == len(found.ring_offsets) - 1 - len(found) > 0
    for one in parts:
        assert shapely.is_ccw(one.exterior) != (ending in CLOCKWISE)
        assert all(shapely.is_ccw(hole) == (ending in CLOCKWISE) for hole in one.interiors)
        for ring in (one.exterior, *one.interiors):
            assert ring.coords[0] == ring.coords[-1] and len(ring.coords) >= 4 and not ring.has_z
    if ending in IN_DEGREES:
        check_cells(saved, shapes, levels)
    else:
        same = [sorted(shapely.to_wkb(shapely.normalize(some))) for some in (parts, wanted)]
        assert same[0] == same[1], "vertex by vertex"
        assert levels is None or sorted(levels) == sorted(np.array(LEVELS)[found.levels])


def check_cells(values, shapes, levels):
    """That shapes in degrees cover the middles of cells, and almost their corners."""
    import pyproj

    there = pyproj.Transformer.from_crs(SYSTEM, "EPSG:4326", always_xy=True)
    for level in LEVELS:
        at = np.argwhere(values >= level)[:, ::-1]
        places = np.concatenate(
            [at + shift for shift in ((0.5, 0.5), (1e-6, 1e-6), (1 - 1e-6, 1e-6), (1e-6, 1 - 1e-6))]
        )
        points = there.transform(691_000 + 25 * places[:, 0], 5_335_000 - 25 * places[:, 1])
        own = shapes[levels == level]
        hits = shapely.STRtree(own).query(shapely.points(*points), predicate="intersects")[0]
        assert len(np.unique(hits)) == len(places)


@pytest.mark.parametrize("options", ((), ("--iou", 0.85), ("--bands",)))
def test_geojson_of_cells_is_rfc_7946(saved, options):
    done("map.npz", "--level", -75, "--level", -65, "--outline", "cells", *options, "-o", "out.geojson")
    text = Path("out.geojson").read_text(encoding="utf-8")
    collection = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert set(collection) <= {"type", "features", "bbox", "name"} and collection["type"] == "FeatureCollection"
    for number, feature in enumerate(collection["features"], 1):
        assert (feature["type"], feature["id"]) == ("Feature", number) and "crs" not in feature
        geometry = feature["geometry"]
        rings = geometry["coordinates"]
        assert set(geometry) == {"type", "coordinates"} and geometry["type"] in ("Polygon", "MultiPolygon")
        for polygon in [rings] if geometry["type"] == "Polygon" else rings:
            for k, ring in enumerate(polygon):
                assert ring[0] == ring[-1] and len(ring) >= 4 and all(len(position) == 2 for position in ring)
                assert shapely.is_ccw(shapely.LinearRing(ring)) == (k == 0), "the right-hand rule"
                assert all(11 < x < 12 and 48 < y < 49 for x, y in ring), "longitude first"


@pytest.mark.parametrize("budget", ((), ("--iou", 0.9)))
def test_cells_over_the_antimeridian_are_cut(here, budget):
    """RFC 7946, 3.1.9: a ring and an island in it over 180 degrees are MultiPolygons that end at the meridian."""
    values = np.zeros((20, 20), np.float32)
    values[2:18, 2:18], values[5:15, 5:15], values[8:12, 8:12] = 1, 0, 1
    np.savez("map.npz", values=values, transform=(40_000, 0, 19_637_508, 0, -40_000, 5_000_000), crs="EPSG:3857")
    done("map.npz", "--level", 1, "--outline", "cells", *budget, "-o", "out.geojson")
    shapes = [shapely.geometry.shape(one["geometry"]) for one in features("out.geojson")]
    assert [shape.geom_type for shape in shapes] == ["MultiPolygon"] * 2
    for shape in shapes:
        assert shape.is_valid and shape.bounds[0] == -180 and shape.bounds[2] == 180 and shape.area < 60
        assert all(shapely.is_ccw(part.exterior) for part in shape.geoms)
    assert shapely.intersection_all(shapes).area < 1e-9
