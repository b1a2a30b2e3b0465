"""Polygons of classes as values: arrays, areas, geometries of several pieces, names, tables and files."""

import json

import numpy as np
import pytest

from clgeom.errors import InvalidInput
from clgeom.region.classes.result import ClassPolygons
from clgeom.region.coverage.grid import as_grid
from tests.reference.class_arcs import class_arcs

shapely = pytest.importorskip("shapely")

TRANSFORMS = {"cells": None, "map": (20, 0, 500_000, 0, -20, 5_000_000), "turned": (15, 5, 500_000, 4, -20, 5_000_000)}
NAMES = {1: "water", 9: 'a "park"'}


def some_stack():
    stack = np.kron(np.random.default_rng(1).integers(0, 4, (2, 6, 7)), np.ones((1, 2, 2), int))
    stack[:, 0:2, 0:3] = 9
    stack[1, 4:8, 4:8] = 1
    stack[1, 5, 6] = 2  # an island
    return stack


def polygons_of(classes, *, connectivity=4, nodata=0, transform=None, names=NAMES):
    grid = as_grid(transform, None if transform is None else "EPSG:32632", classes.shape[-2:], caller="polygonize")
    return ClassPolygons(class_arcs(classes, connectivity=connectivity, nodata=nodata), grid, names=names)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("kind", ["exact", "simplified", "dissolved", "both"])
def test_polygons_cover_the_cells_once(transform, connectivity, kind):
    classes = some_stack()
    polygons = polygons_of(classes, connectivity=connectivity, transform=transform)
    if kind in ("simplified", "both"):
        polygons = polygons.simplify(tolerance=2 if transform is None else 40)
    if kind in ("dissolved", "both"):
        polygons = polygons.dissolve()
        assert len(polygons) == sum(len(np.unique(one[one != 0])) for one in classes)
    shapes = polygons.to_shapely()
    assert shapely.is_valid(shapes).all()
    assert polygons.cells.sum() == np.count_nonzero(classes)
    np.testing.assert_allclose(shapely.area(shapes), polygons.areas, rtol=1e-9)
    in_cells = polygons.to_shapely(cells=True)
    np.testing.assert_array_equal(shapely.area(in_cells) * polygons.grid.cell_area, polygons.areas)
    outer = shapely.get_exterior_ring(shapely.get_parts(shapes))
    assert shapely.is_ccw(outer).all()
    for number, one in enumerate(classes):
        own = polygons.maps == number
        assert shapely.area(in_cells[own]).sum() == np.count_nonzero(one)
        assert shapely.union_all(in_cells[own]).area == np.count_nonzero(one)
        assert shapely.coverage_is_valid(in_cells[own])
        if kind not in ("simplified", "both"):
            check_cells(in_cells[own], polygons.classes[own], polygons.cells[own], one)


def check_cells(shapes, values, cells, classes):
    """Assert that the centres of the cells of each class are in its polygons."""
    rows, columns = np.indices(classes.shape)
    for value in np.unique(values):
        whole = shapely.union_all(shapes[values == value])
        inside = shapely.contains_xy(whole, columns + 0.5, rows + 0.5)
        np.testing.assert_array_equal(inside, classes == value)
        assert whole.area == cells[values == value].sum()


def test_one_polygon_is_as_among_all():
    polygons = polygons_of(some_stack(), connectivity=8, transform=TRANSFORMS["map"])
    shapes = polygons.to_shapely()
    for number, one in enumerate(polygons):
        assert one.to_shapely().equals(shapes[number])
        assert shapely.geometry.shape(one.__geo_interface__).equals(shapes[number])
        assert (one.value, one.map, one.cells) == tuple(
            values[number] for values in (polygons.classes, polygons.maps, polygons.cells)
        )
        assert one.area == polygons.areas[number]
        assert one.name == NAMES.get(one.value)
    assert {type(shape).__name__ for shape in shapes} == {"Polygon", "MultiPolygon"}
    assert [one.value for one in polygons.of_class("water")] == [1] * int((polygons.classes == 1).sum())
    with pytest.raises(InvalidInput, match="'value' parameter of of_class must be a class"):
        polygons.of_class(77)
    with pytest.raises(IndexError):
        polygons[len(polygons)]
    assert "polygons of 4 classes" in repr(polygons)
    assert repr(polygons.of_class(9)[0]).startswith('ClassPolygon(class 9 (a "park"), ')
    assert "ClassPolygons" in polygons._repr_html_()


def test_a_polygon_equals_itself_in_its_results():
    polygons, others = polygons_of(some_stack(), connectivity=8), polygons_of(some_stack() + 1, connectivity=8)
    assert [polygons.index(one) for one in polygons] == list(range(len(polygons)))
    assert len(set(polygons) | set(polygons)) == len(polygons)
    assert polygons[0] not in others
    assert polygons[0] != polygons_of(some_stack(), connectivity=8, transform=TRANSFORMS["map"])[0]
    assert polygons[0] != "water"


def test_simplify_begins_at_the_exact_lines():
    polygons = polygons_of(some_stack())
    once = polygons.simplify(tolerance=1)
    np.testing.assert_array_equal(polygons.simplify(tolerance=3).simplify(tolerance=1).corners, once.corners)
    assert once.exact_vertices == len(polygons.arcs.corners)
    metres = polygons_of(some_stack(), transform=TRANSFORMS["map"]).simplify(tolerance=20)
    np.testing.assert_array_equal(metres.corners, once.corners)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs a 'tolerance'"),
        ({"tolerance": -1}, "'tolerance' parameter of simplify must be a distance"),
        ({"tolerance": "near"}, "'tolerance' parameter of simplify must be"),
        ({"iou": 0}, "'iou' parameter of simplify must be above 0"),
        ({"iou": 1.5}, "'iou' parameter of simplify must be above 0"),
        ({"vertices": 0}, "'vertices' parameter of simplify must be"),
        ({"vertices": 3}, "'vertices' parameter of simplify must be at least"),
        ({"tolerance": 1, "boundary": "all"}, "'boundary' parameter of simplify must be"),
    ],
)
def test_simplify_refuses_wrong_limits(options, words):
    with pytest.raises(InvalidInput, match=words):
        polygons_of(some_stack()).simplify(**options)


def test_limits_beyond_all_sizes_are_none():
    polygons = polygons_of(some_stack())
    np.testing.assert_array_equal(polygons.simplify(tolerance=1e200).corners, polygons.simplify(tolerance=1e6).corners)
    assert len(polygons.simplify(vertices=10**30).corners) == len(polygons.corners)


def test_classes_and_names_that_files_cannot_hold(tmp_path):
    polygons = polygons_of(np.array([[2**64 - 1, 5]], np.uint64), transform=TRANSFORMS["map"], names={5: "\ud800"})
    features = json.loads(polygons.to_geojson())["features"]
    assert [one["properties"]["class"] for one in features] == [str(2**64 - 1), "5"]
    with pytest.raises(InvalidInput, match="must hold text of Unicode"):
        polygons.to_file(tmp_path / "land.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("nodata", [0, 5])
def test_raster_without_classes_and_of_one_class(nodata):
    polygons = polygons_of(np.zeros((3, 4), int), nodata=nodata)
    assert len(polygons) == (nodata != 0)
    assert polygons.cells.tolist() == polygons.areas.tolist() == ([12] if nodata else [])
    for made in (polygons, polygons.dissolve(), polygons.simplify(tolerance=1)):
        assert len(made.to_shapely()) == len(made.to_pandas()) == len(made)
        made._repr_html_()


def test_tables_have_classes_names_and_areas():
    pytest.importorskip("geopandas")
    polygons = polygons_of(some_stack(), transform=TRANSFORMS["map"])
    frame = polygons.to_geopandas()
    assert list(frame.columns) == [
        *("id", "class", "name", "map", "cells", "cells_area", "area", "area_km2", "geometry")
    ]
    np.testing.assert_allclose(frame["area_km2"], polygons.areas / 1e6, rtol=1e-2)
    np.testing.assert_array_equal(frame["cells_area"], frame["area"])
    assert set(frame["name"][frame["class"] == 1]) == {"water"}
    assert frame["name"][frame["class"] == 2].isna().all()
    assert "name" not in polygons_of(some_stack(), names=None).to_pandas()


@pytest.mark.parametrize("ending", ["gpkg", "fgb", "shp", "parquet", "csv", "wkt", "geojson", "json", "kml"])
def test_files_hold_what_tables_do(ending, tmp_path):
    pytest.importorskip("pyogrio")
    import pyogrio

    polygons = polygons_of(some_stack(), connectivity=8, transform=TRANSFORMS["map"]).simplify(tolerance=40)
    path = tmp_path / f"land.{ending}"
    written = polygons.to_file(path)
    assert written.vertices == len(polygons.corners) + written.added
    if ending in ("wkt", "parquet"):
        lines = path.read_text().splitlines() if ending == "wkt" else polygons.to_arrow()["geometry"]
        assert len(lines) == len(polygons)
        return
    frame = pyogrio.read_dataframe(path)
    assert len(frame) == len(polygons)
    if ending == "fgb":  # in the order of its index
        frame = frame.sort_values("id")
    if ending in ("gpkg", "fgb", "csv"):
        assert shapely.equals(frame.geometry.values, polygons.to_shapely()).all()
    if ending != "csv":
        np.testing.assert_array_equal(frame["class"], polygons.classes)
    if ending in ("geojson", "json", "kml"):
        for number in (0, 1):  # rounded, neighbours still have their lines in common
            shapes = frame.geometry.values[polygons.maps == number]
            assert shapely.is_valid(shapes).all()
            joined = shapely.union_all(shapes)
            assert joined.area == pytest.approx(shapely.area(shapes).sum(), rel=1e-12)
    if ending == "geojson":
        assert json.loads(polygons.to_geojson()) == json.loads(path.read_text())


def test_one_polygon_is_written_as_among_all(tmp_path):
    polygons = polygons_of(some_stack(), connectivity=8, transform=TRANSFORMS["map"])
    one = polygons.of_class(9)[0]
    one.to_file(tmp_path / "one.csv")
    assert "MULTI" not in (tmp_path / "one.csv").read_text()
    (feature,) = json.loads(one.to_geojson())["features"]
    assert feature["properties"]["class"] == 9
    assert feature["properties"]["name"] == 'a "park"'
    assert one.area_km2 == pytest.approx(feature["properties"]["area_km2"])
    assert len(one.to_pandas()) == len(one.to_arrow()) == 1
    assert len(one.plot().patches) == 1
    polygons_of(some_stack())[0].to_file(tmp_path / "cells.csv")


def test_files_in_degrees_need_a_system(tmp_path):
    polygons = polygons_of(some_stack())
    with pytest.raises(InvalidInput, match="is in longitude and latitude"):
        polygons.to_file(tmp_path / "land.geojson")
    with pytest.raises(InvalidInput, match="'densify' parameter is for"):
        polygons.to_file(tmp_path / "land.gpkg", densify=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("crs", "transform"),
    [
        ("EPSG:3413", (100, 0, 200_000, 0, -100, -30_000)),
        ("EPSG:3031", (100, 0, 300_000, 0, -100, -300_000)),
        ("EPSG:32633", (20, 0, 500_000, 0, -20, 9_200_000)),
        ("EPSG:4269", (0.01, 0, 10, 0, -0.01, 89.9)),
    ],
)
def test_neighbours_keep_their_lines_near_poles(crs, transform):
    pyproj = pytest.importorskip("pyproj")
    polygons = ClassPolygons(class_arcs(some_stack()[0]), as_grid(transform, crs, (12, 14), caller="polygonize"))
    found = json.loads(polygons.to_geojson())["features"]
    shapes = np.array([shapely.geometry.shape(one["geometry"]) for one in found])
    assert shapely.is_valid(shapes).all()
    assert shapely.coverage_is_valid(shapes)
    to_degrees = pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True)
    edges = shapely.segmentize(polygons.to_shapely(), polygons.grid.cell_area**0.5 / 4)
    seen = shapely.transform(edges, lambda places: np.stack(to_degrees.transform(*places.T), axis=1))
    longitude, latitude = np.cos(np.radians(shapely.get_coordinates(seen)[:, 1])).max(), 1.0
    apart = shapely.transform([shapes, seen], lambda places: places * (longitude, latitude))
    side = polygons.grid.cell_area**0.5 / (1 if crs == "EPSG:4269" else 111_000)
    assert shapely.hausdorff_distance(*apart).max() < side / 64


def test_plot_has_a_colour_for_each_class():
    pytest.importorskip("matplotlib")
    polygons = polygons_of(some_stack()[0])
    axes = polygons.plot(title="Land")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["water", "2", "3", 'a "park"']
    assert len(axes.patches) == 4
