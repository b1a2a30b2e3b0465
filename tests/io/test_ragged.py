"""Many polygons as arrays in longitude and latitude: they cover what they covered, stay valid, and are GeoJSON."""

import json

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from clgeom.geo.degrees import in_degrees
from clgeom.geo.geodesy import earth_areas, ragged_areas
from clgeom.geo.ragged import Ragged
from clgeom.radio import shadowing
from clgeom.region.coverage.regions import coverage_regions

pyproj = pytest.importorskip("pyproj")

#: Transforms and systems: edges that are curves, feet, degrees, a turned grid, the meridian of 180 degrees, a pole.
PLACES = {
    "wide": ((20_000, 0, 300_000, 0, -20_000, 6_500_000), "EPSG:32632"),
    "mercator": ((1000, 0, 0, 0, -1000, 8_000_000), "EPSG:3857"),
    "feet": ((100, 0, 600_000, 0, -100, 200_000), "EPSG:2263"),
    "turned": ((20, 15, 2_600_000, 15, -20, 1_200_000), "EPSG:2056"),
    "degrees": ((0.01, 0, 10, 0, -0.01, 50), "EPSG:4326"),
    "meridian": ((0.1, 0, 177, 0, -0.1, 3), "EPSG:4326"),
    "pole": ((50_000, 0, -1_750_000, 0, -50_000, 1_500_000), "EPSG:3413"),
}


def made(place, levels=(-3.0, 2.0)):
    transform, crs = PLACES[place]
    values = shadowing((50, 60), correlation=8, seed=2)
    return coverage_regions(values, levels, outline="cells", iou=0.8, transform=transform, crs=crs)


def written(polygons, **options):
    made = polygons.in_degrees(polygons.crs, caller="Writing 'a.geojson'", **options)
    shapes = np.array([shapely.geometry.shape(json.loads(text)) for text in made.geojson()])
    assert all(shapely.equals(shapes, made.to_shapely())) or made.decimals is not None
    rings = sum(len(shapely.get_rings(shapely.get_parts(shape))) for shape in shapes)
    assert made.vertices == shapely.get_num_coordinates(shapes).sum() - rings
    return shapes, made.added


@pytest.mark.parametrize("place", PLACES)
def test_polygons_cover_on_the_earth_what_they_cover_in_the_plane(place):
    polygons = made(place)
    shapes, added = written(polygons)
    assert shapely.is_valid(shapes).all()
    assert place in ("mercator", "meridian") or (added > 0) == (place in ("wide", "pole"))
    outer = shapely.get_exterior_ring(shapes[shapely.get_type_id(shapes) == 3])
    assert shapely.is_ccw(outer).all()
    to_degrees = pyproj.Transformer.from_crs(polygons.crs, "EPSG:4326", always_xy=True)
    step = np.hypot(*polygons.grid.transform[0:4:3]) / 3
    for own, shape in zip(polygons.to_shapely(), shapes):
        there = np.stack(to_degrees.transform(*shapely.get_coordinates(shapely.segmentize(own, step)).T), axis=1)
        there = there[np.abs(np.abs(there[:, 0]) - 180) > 1e-6]
        there[:, 0] = (there[:, 0] + 180) % 360 - 180
        slack = 1e-9 if place in ("degrees", "meridian") else 0.0
        assert shapely.distance(shape, shapely.points(there)).max() <= slack
    if place not in ("meridian", "pole"):
        low, high = (shapely.union_all(shapes[polygons.levels == level]) for level in (0, 1))
        assert high.difference(low).area == 0


def test_levels_far_north_stay_close_to_their_cells():
    """There a degree of longitude is short: corners that are sharp in degrees would take each level much farther."""
    rows, columns = np.mgrid[:80, :80]
    levels = np.clip(8 - np.maximum(abs(rows - 40), abs(columns - 40)) // 5, 0, 6)
    way = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32633", always_xy=True)
    for transform in ((700, 700, 450_000, 700, -700, 8_700_000), (1000, 0, 450_000, 0, -1000, 8_800_000)):
        found = coverage_regions(
            levels, range(1, 7), outline="cells", tolerance=1500, transform=transform, crs="EPSG:32633"
        )
        shapes, _ = written(found)
        for own, shape in zip(found.to_shapely(), shapes):
            back = shapely.transform(shape, lambda places: np.stack(way.transform(*places.T), axis=1))
            assert own.within(back) and own.hausdorff_distance(back) < 0.25 * found.grid.cell_area**0.5
        for outer, inner in zip(shapes, shapes[1:]):
            assert outer.contains(inner)


def test_many_levels_stay_close_to_their_cells(subtests):
    maps = np.stack([shadowing((40, 40), correlation=12, seed=seed) for seed in (1, 2)])
    way = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32632", always_xy=True)
    levels = np.linspace(-10, 10, 15).tolist()
    for side in (5, 1000):
        with subtests.test(side=side):
            transform = (side, 0, 691_000, 0, -side, 5_335_500)
            found = coverage_regions(maps, levels, outline="cells", iou=0.9, transform=transform, crs="EPSG:32632")
            shapes, _ = written(found)
            assert shapely.is_valid(shapes).all()
            back = shapely.transform(shapes, lambda places: np.stack(way.transform(*places.T), axis=1))
            assert shapely.covers(back, found.to_shapely()).all()
            assert shapely.hausdorff_distance(back, found.to_shapely()).max() < side / 4
            tree = shapely.STRtree(found.to_shapely())
            inner, outer = tree.query(shapely.point_on_surface(found.to_shapely()), predicate="within")
            pairs = (found.maps[inner] == found.maps[outer]) & (found.levels[inner] == found.levels[outer] + 1)
            assert pairs.sum() > 100 and shapely.covers(shapes[outer[pairs]], shapes[inner[pairs]]).all()


def test_coordinates_in_degrees_keep_every_bit():
    polygons = made("degrees")
    shapes, added = written(polygons)
    assert added == 0
    assert all(np.array_equal(*map(shapely.get_coordinates, pair)) for pair in zip(polygons.to_shapely(), shapes))


def test_narrow_bays_are_closed():
    """A bay of a millimetre: moved outwards its sides meet, and the polygon is still valid and covers itself."""
    mask = np.ones((9, 30), bool)
    mask[3, 5:] = False
    polygons = coverage_regions(
        mask, 1, outline="cells", transform=(1e-3, 0, 691_000, 0, -1e-3, 5_335_500), crs="EPSG:32632"
    )
    shapes, _ = written(polygons)
    assert shapely.is_valid(shapes).all() and len(shapes) == 1
    to_degrees = pyproj.Transformer.from_crs("EPSG:32632", "EPSG:4326", always_xy=True)
    there = np.stack(to_degrees.transform(*polygons.vertices.T), axis=1)
    assert shapely.intersects(shapes[0], shapely.points(there)).all()


def test_files_of_polygons(tmp_path):
    polygons = made("turned")
    for ending in (".geojson", ".gpkg", ".parquet", ".fgb"):
        path = tmp_path / f"out{ending}"
        polygons.to_file(path)
        geopandas = pytest.importorskip("geopandas", reason="GeoPandas reads what was written")
        read = geopandas.read_parquet(path) if ending == ".parquet" else geopandas.read_file(path)
        assert len(read) == len(polygons) and read.crs == ("EPSG:4326" if ending == ".geojson" else "EPSG:2056")
        assert sorted(read["cells"]) == sorted(polygons.cells) and set(read["direction"]) == {">="}


def test_areas_of_rings_on_the_earth():
    for place in ("wide", "feet", "degrees", "turned"):
        polygons = made(place)
        wanted = earth_areas([one.__geo_interface__ for one in polygons], polygons.crs, caller="test") / 1e6
        assert np.allclose(polygons.areas_km2, wanted, rtol=1e-7, atol=1e-7)
    assert len(ragged_areas(np.empty((0, 2)), np.zeros(1, np.int64), "EPSG:32632", caller="test")) == 0


def test_nothing():
    nothing = Ragged(np.empty((0, 2)), np.zeros(1, np.int64), np.zeros(1, np.int64))
    assert len(nothing.to_shapely()) == 0 and nothing.wkt() == []
    for crs in (None, "EPSG:32632"):
        made = in_degrees(nothing, crs, caller="test", resolution=1.0)
        assert made.geojson() == [] and made.vertices == made.added == 0


@settings(max_examples=12)
@given(
    seed=st.integers(0, 99),
    side=st.floats(0.5, 40_000),
    angle=st.floats(0, 6),
    densify=st.none() | st.floats(0.001, 300),
    count=st.integers(2, 9),
)
def test_levels_anywhere_cover_and_nest(seed, side, angle, densify, count):
    a, b = side * np.cos(angle), side * np.sin(angle)
    maps = np.stack([shadowing((16, 19), correlation=3, seed=seed + k) for k in range(2)])
    levels = np.linspace(-8, 8, count).tolist()
    how = {"transform": (a, b, 500_000, b, -a, 5_300_000), "crs": "EPSG:32632"}
    found = coverage_regions(maps, levels, outline="cells", tolerance=1.5 * side, **how)
    shapes, _ = written(found, densify=densify)
    assert shapely.is_valid(shapes).all()
    to_degrees = pyproj.Transformer.from_crs("EPSG:32632", "EPSG:4326", always_xy=True)
    plane = shapely.segmentize(found.to_shapely(), side / 2)
    for own, shape in zip(plane, shapes):
        there = np.stack(to_degrees.transform(*shapely.get_coordinates(own).T), axis=1)
        assert shapely.intersects_xy(shape, there).all()
    inner, outer = shapely.STRtree(found.to_shapely()).query(
        shapely.point_on_surface(found.to_shapely()), predicate="within"
    )
    pairs = (found.maps[inner] == found.maps[outer]) & (found.levels[inner] == found.levels[outer] + 1)
    assert shapely.covers(shapes[outer[pairs]], shapes[inner[pairs]]).all()
