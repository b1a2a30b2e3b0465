"""Files of coverage polygons: attributes, reference systems, added vertices, best servers that stay apart."""

import csv
import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clgeom
from clgeom.errors import InvalidInput
from clgeom.geo.lonlat import DEGREE
from clgeom.geo.ragged import Ragged, noded
from clgeom.radio import shadowing

shapely = pytest.importorskip("shapely")
pyproj = pytest.importorskip("pyproj")

PLACE = (25.0, 0.0, 691_000.0, 0.0, -25.0, 5_335_000.0)
FORMATS = ("geojson", "json", "gpkg", "fgb", "shp", "parquet", "kml", "csv", "wkt")
ATTRIBUTES = "id level direction map part cells cells_area area unit label area_km2".split()
#: Cells that are wide, small, turned, in feet, in degrees of another datum.
PLACES = {
    "wide": ((20_000, 0, 300_000, 0, -20_000, 6_500_000), "EPSG:32632"),
    "small": ((0.25, 0, 4_300_000, 0, -0.25, 3_200_000), "EPSG:3035"),  # PROJ is 1 mm off, there and back
    "turned": ((300, 250, 2_500_000, 250, -300, 1_200_000), "EPSG:2056"),
    "feet": ((1000, 0, 600_000, 0, -1000, 600_000), "EPSG:2263"),
    "degrees": ((0.01, 0, 10, 0, -0.01, 50), "EPSG:4258"),
    "wgs84": ((0.01, 0, 10, 0, -0.01, 50), "EPSG:4326"),
}


def servers(seed=3, shape=(40, 50), count=3, **options):
    """Polygons of the areas of best servers, of two levels."""
    power = np.stack([shadowing(shape, correlation=6, seed=seed + k) for k in range(count)])
    own = np.where(power.argmax(axis=0) == np.arange(count)[:, None, None], power, -999.0)
    return clgeom.coverage_regions(own, (-4.0, 2.0), outline="cells", apart=True, **options)


def shapes_of(path):
    return np.array([shapely.geometry.shape(one["geometry"]) for one in json.loads(Path(path).read_text())["features"]])


# Best servers -----------------------------------------------------------------------------------------------------


def crosses(one, other):
    """Whether two segments of exact numbers cross in a point that is inside of both."""
    (a, b), (c, d) = one, other

    def side(p, q, r):
        value = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
        return (value > 0) - (value < 0)

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def exact_edges(shape):
    for ring in shapely.get_rings(shape):
        at = [tuple(map(Fraction, place)) for place in shapely.get_coordinates(ring).tolist()]
        yield from zip(at, at[1:])


def check_apart(polygons, shapes):
    """That polygons of a level do not overlap and those of a higher level are within the lower one's."""
    assert shapely.is_valid(shapes).all()
    for level in range(2):
        own = shapes[polygons.levels == level]
        one, other = shapely.STRtree(own).query(own, predicate="intersects")
        assert not shapely.relate_pattern(own[one[one < other]], own[other[one < other]], "T********").any()
        assert shapely.area(shapely.intersection(own[one[one < other]], own[other[one < other]])).max(initial=0) == 0
    check_nested(polygons, shapes)


def check_nested(polygons, shapes):
    """That polygons of a higher level are within the lower one's."""
    for number in np.unique(polygons.maps):
        low, high = (np.flatnonzero((polygons.maps == number) & (polygons.levels == level)) for level in (0, 1))
        inside = shapely.point_on_surface(polygons.to_shapely()[high])
        inner, outer = shapely.STRtree(polygons.to_shapely()[low]).query(inside, predicate="within")
        assert len(inner) == len(high) and shapely.covers(shapes[low[outer]], shapes[high[inner]]).all()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("budget", ({}, {"iou": 0.8}), ids=str)
def test_best_servers_stay_apart_in_files(place, budget, tmp_path):
    transform, crs = PLACES[place]
    polygons = servers(transform=transform, crs=crs, **budget)
    written = polygons.to_file(tmp_path / "out.geojson")
    shapes = shapes_of(tmp_path / "out.geojson")
    assert len(shapes) == len(polygons) and written.added >= 0
    check_apart(polygons, shapes)
    # cells are covered, but for slivers between an edge and its curve
    to_degrees = pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True)
    side = np.hypot(*transform[0:4:3])
    for own, shape in zip(polygons.to_shapely(), shapes):
        there = np.stack(to_degrees.transform(*shapely.get_coordinates(shapely.segmentize(own, side / 3)).T), axis=1)
        metres = side * (DEGREE if "deg" in place or "wgs" in place else 1)
        assert shapely.distance(shape, shapely.points(there)).max() <= (metres / 128) / DEGREE / 0.3 + 1e-9


def test_levels_nest_in_turned_grids():
    for crs in ("EPSG:2056", "EPSG:4326"):
        transform = PLACES["turned"][0] if crs == "EPSG:2056" else (0.003, 0.0025, 10, 0.0025, -0.003, 50)
        options = {"outline": "cells", "iou": 0.8, "transform": transform, "crs": crs}
        polygons = clgeom.coverage_regions(shadowing((40, 50), correlation=6, seed=1), (-4.0, 2.0), **options)
        check_nested(polygons, polygons.ragged_for_files().to_shapely())
        check_nested(polygons, polygons.in_degrees(crs, caller="test").to_shapely())


def test_best_servers_of_half_the_globe(tmp_path):
    own = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 1]]) == np.arange(2)[:, None, None]
    options = {"outline": "cells", "apart": True}
    for crs, transform in (("EPSG:3857", (3.4e6, 0, -5.1e6, 0, -1e6, 4e6)), ("EPSG:4258", (40, 0, -50, 0, -1, 20))):
        clgeom.coverage_regions(own, 1, transform=transform, crs=crs, **options).to_file(tmp_path / "out.geojson")
        one, other = shapes_of(tmp_path / "out.geojson")
        assert one.area > 10 and not shapely.relate_pattern(one, other, "T********")
    pole = clgeom.coverage_regions(own, 1, transform=(1e5, 0, -1.5e5, 0, -1e5, 1.5e5), crs="EPSG:3413", **options)
    (tmp_path / "out.geojson").unlink()
    with pytest.raises(InvalidInput, match="would overlap, since a pole or 180 degrees"):
        pole.to_file(tmp_path / "out.geojson")
    assert not list(tmp_path.iterdir())


def test_best_servers_by_rational_arithmetic(tmp_path):
    polygons = servers(shape=(14, 16), transform=PLACES["wide"][0], crs="EPSG:32632", iou=0.85)
    written = polygons.to_file(tmp_path / "out.geojson")
    assert written.added > 0
    shapes = shapes_of(tmp_path / "out.geojson")
    edges = [list(exact_edges(shape)) for shape in shapes]
    pairs = [p for p in combinations(range(len(shapes)), 2) if shapely.intersects(shapes[p[0]], shapes[p[1]])]
    assert len(pairs) > 20
    for one, other in pairs:
        assert not any(crosses(e, f) for e in edges[one] for f in edges[other])


@settings(max_examples=10)
@given(seed=st.integers(0, 999), side=st.floats(0.1, 30_000), angle=st.floats(0, 6))
def test_best_servers_anywhere(seed, side, angle):
    a, b = side * np.cos(angle), side * np.sin(angle)
    polygons = servers(
        seed, (17, 19), 2 + seed % 4, transform=(a, b, 500_000, b, -a, 5_300_000), crs="EPSG:32632", iou=0.9
    )
    check_apart(polygons, polygons.in_degrees("EPSG:32632", caller="test").to_shapely())
    check_apart(polygons, polygons.ragged_for_files().to_shapely())


@pytest.mark.parametrize("ending", ("gpkg", "parquet", "kml"))
def test_best_servers_in_other_formats(tmp_path, ending):
    geopandas = pytest.importorskip("geopandas")
    from region_commands import frame_of

    transform, crs = PLACES["turned"]
    polygons = servers(transform=transform, crs=crs, iou=0.8)
    written = polygons.to_file(tmp_path / f"out.{ending}")
    read = geopandas.read_parquet if ending == "parquet" else frame_of
    frame = read(tmp_path / f"out.{ending}").sort_values("feature_id" if ending == "kml" else "id")
    assert written.vertices - written.added == len(polygons.corners) < written.vertices
    check_apart(polygons, frame.geometry.to_numpy())


def test_some_best_servers_in_geojson(tmp_path):
    transform, crs = PLACES["turned"]
    polygons = servers(transform=transform, crs=crs, iou=0.8)
    some = polygons.select(polygons.levels == 1)
    some.to_file(tmp_path / "some.geojson")
    one, other = shapely.STRtree(found := shapes_of(tmp_path / "some.geojson")).query(found, predicate="intersects")
    assert some.apart and not shapely.relate_pattern(found[one], found[other], "T********")[one != other].any()


@given(values=st.lists(st.integers(0, 3), min_size=30, max_size=30))
def test_noded_edges_have_the_vertices_of_all(values):
    polygons = clgeom.coverage_regions(np.reshape(values, (5, 6)), (1, 2, 3), outline="cells", iou=0.7)
    before = Ragged(polygons.corners, polygons.ring_offsets, polygons.polygon_offsets)
    after = noded(before)
    assert shapely.equals(before.to_shapely(), after.to_shapely()).all()
    assert set(map(tuple, after.places.tolist())) == set(map(tuple, before.places.tolist()))
    every = set(map(tuple, before.places.tolist()))
    found = noded(after)  # nothing is left to add
    np.testing.assert_array_equal(found.places, after.places)
    for shape, count in zip(before.to_shapely(), after.counts):
        on = sum(shape.boundary.distance(shapely.Point(place)) == 0 for place in every)
        assert on <= count  # a ring may pass a corner twice


# Attributes -------------------------------------------------------------------------------------------------------


def raster():
    values = np.full((20, 24), -120.0)
    values[2:12, 2:14], values[5:8, 5:9], values[15:18, 3:20:2] = -70, -60, -70
    return values


@pytest.mark.parametrize("outline", ("segments", "cells"))
@pytest.mark.parametrize("ending", FORMATS)
def test_python_writes_what_the_command_writes(ending, outline, tmp_path, monkeypatch):
    geopandas = pytest.importorskip("geopandas")
    from region_commands import done, frame_of

    monkeypatch.chdir(tmp_path)
    found = clgeom.coverage_regions(raster(), (-75, -65), outline=outline, transform=PLACE, crs="EPSG:32632")
    unit = "dBm" if outline == "cells" else ""
    written = found.to_file(f"out.{ending}", unit=unit or None)
    assert written.vertices > 0 and written.added == 0
    if ending == "wkt":
        shapes = shapely.from_wkt(Path("out.wkt").read_text().splitlines())
        assert all(shapely.equals_exact(shapely.normalize(shapes), shapely.normalize(found.to_shapely()), 0))
        return
    read = geopandas.read_parquet if ending == "parquet" else frame_of
    key = "feature_id" if ending == "kml" else "id"

    def rows(name):
        made = read(name)
        return made.assign(**{key: made[key].astype(int)}).sort_values(key).reset_index(drop=True)

    frame = rows(f"out.{ending}")
    names = ["feature_id" if name == "id" and ending == "kml" else name for name in ATTRIBUTES]
    assert set(names) <= set(frame.columns) and ("segments" in frame.columns) == (outline == "segments")
    assert frame["label"].tolist() == [f">= {one.level:g} {unit}".rstrip() for one in found]
    assert frame["unit"].fillna("").tolist() == [unit] * len(found) and ("dbm" in frame) == (unit == "dBm")
    if unit:
        assert frame["dbm"].astype(float).tolist() == frame["level"].astype(float).tolist()
    np.testing.assert_allclose(frame["area_km2"].astype(float), frame["area"].astype(float) / 1e6, rtol=2e-3)
    if ending == "shp":
        return
    np.savez("map.npz", values=raster(), transform=PLACE, crs="EPSG:32632")
    done("map.npz", "--level", -75, "--level", -65, "--outline", outline, "--unit", unit, "-o", f"both.{ending}")
    other = rows(f"both.{ending}")
    for name in (*names, *(["segments"] if outline == "segments" else [])):
        assert other[name].fillna("").tolist() == frame[name].fillna("").tolist(), name
    if ending != "csv":
        assert shapely.equals_exact(other.geometry.to_numpy(), frame.geometry.to_numpy(), 0).all()
    assert "fill" in other.columns and "fill" not in frame.columns


def test_levels_of_kml_have_folders_and_colours(tmp_path):
    pyogrio = pytest.importorskip("pyogrio")
    from xml.etree import ElementTree

    for outline in ("segments", "cells"):
        found = clgeom.coverage_regions(raster(), (-75, -65), outline=outline, transform=PLACE, crs="EPSG:32632")
        found.to_file(tmp_path / "out.kml", unit="dBm")
        assert [name for name, _ in pyogrio.list_layers(tmp_path / "out.kml")] == [">= -75 dBm", ">= -65 dBm"]
        names = {"": "http://www.opengis.net/kml/2.2"}
        document = ElementTree.parse(tmp_path / "out.kml").find("Document", names)
        colours = {
            f"#{style.get('id')}": [
                style.findtext(f"{kind}/color", namespaces=names) for kind in ("LineStyle", "PolyStyle")
            ]
            for style in document.findall("Style", names)
        }
        folders = document.findall("Folder", names)
        assert sum(len(folder.findall("Placemark", names)) for folder in folders) == len(found)
        for folder, wanted in zip(folders, (["e68d5a04", "598d5a04"], ["e61f30d7", "591f30d7"]), strict=True):
            links = {one.findtext("styleUrl", namespaces=names) for one in folder.findall("Placemark", names)}
            assert [colours[link] for link in links] == [wanted] and not folder.findall("Placemark/Style", names)


def test_units_and_missing_values(tmp_path):
    found = clgeom.coverage_regions(raster(), -75, parts=False, transform=PLACE)
    found.to_file(tmp_path / "out.csv", unit="m")
    (row,) = csv.DictReader((tmp_path / "out.csv").open())
    assert (row["unit"], row["label"], row["cells"], row["area_km2"]) == ("m", ">= -75 m", "", "") and "dbm" not in row
    with pytest.raises(InvalidInput, match="'unit' parameter of to_file must be text. Got 3"):
        found.to_file(tmp_path / "no.csv", unit=3)
    one = clgeom.coverage_regions(raster(), -75, outline="cells", transform=PLACE, crs="EPSG:32632")[0]
    assert one.to_file(tmp_path / "one.geojson").vertices == len(one)
    assert json.loads((tmp_path / "one.geojson").read_text())["features"][0]["properties"]["part"] == 0


# Reference systems ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outline", ("segments", "cells"))
@pytest.mark.parametrize("ending", ("geojson", "json", "kml"))
def test_columns_and_rows_are_no_longitude_and_latitude(ending, outline, tmp_path):
    if ending == "kml":
        pytest.importorskip("pyogrio")
    path = tmp_path / f"out.{ending}"
    found = clgeom.coverage_regions(raster(), -75, outline=outline)
    for regions in (found, found[0], found.select([0]) if outline == "cells" else found):
        with pytest.raises(InvalidInput, match="has no coordinate reference system: name it .crs='EPSG:32632', or"):
            regions.to_file(path)
    assert not path.exists()
    for call in (found.to_file, found[0].to_file):
        with pytest.raises(
            InvalidInput, match="to_file cannot place columns and rows in 'EPSG:32632'. Pass 'transform'"
        ):
            call(path, crs="EPSG:32632")
    assert not path.exists()
    found.to_file(path, crs="EPSG:4326")  # the caller says so
    content = path.read_text()
    placed = clgeom.coverage_regions(raster(), -75, outline=outline, transform=(0.1, 0, 10, 0, -0.1, 50))
    placed.to_file(path)  # they may be degrees
    assert path.read_text() != content
    for transform in (PLACE, (1, 0, 80, 0, 10, 0)):
        far = clgeom.coverage_regions(raster(), -75, outline=outline, transform=transform)
        with pytest.raises(InvalidInput, match="has no coordinate reference system"):
            far.to_file(path)
    found.to_file(tmp_path / "out.wkt")


def test_beyond_the_earth(tmp_path):
    far = clgeom.coverage_regions(np.ones((200, 3)), 1, outline="cells")
    with pytest.raises(InvalidInput, match="there is no latitude 200"):
        far.to_file(tmp_path / "out.geojson", crs="EPSG:4326")
    assert not list(tmp_path.iterdir())


# Added vertices ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outline", ("segments", "cells"))
def test_densify_limits_what_is_added(outline, tmp_path):
    transform, crs = PLACES["wide"]
    how = {"outline": outline, "transform": transform, "crs": crs} | ({"iou": 0.9} if outline == "cells" else {})
    found = clgeom.coverage_regions(raster(), (-75, -65), **how)
    usual = found.to_file(tmp_path / "a.geojson")
    counts = []
    way = pyproj.Transformer.from_crs("EPSG:4326", crs, always_xy=True)
    for metres in (20, 200, 2000):
        written = found.to_file(tmp_path / "b.geojson", densify=metres)
        counts.append(written.added)
        shapes = shapes_of(tmp_path / "b.geojson")
        assert written.vertices == shapely.get_num_coordinates(shapes).sum() - sum(
            len(shapely.get_rings(shape)) for shape in shapes
        )
        # edges are straight in degrees: many places on them, back in the plane
        there = shapely.transform(
            shapely.segmentize(shapes, 0.01), lambda places: np.stack(way.transform(*places.T), axis=1)
        )
        assert shapely.covers(there, found.to_shapely()).all()
        assert shapely.hausdorff_distance(there, shapely.segmentize(found.to_shapely(), 1000)).max() < 12 * metres + 500
    assert counts[0] > usual.added > counts[-1] and counts == sorted(counts, reverse=True)
    for wrong in (0, -1, np.nan, np.inf, "far"):
        for ending in ("geojson", "gpkg", "wkt"):
            with pytest.raises(InvalidInput, match="'densify' parameter of to_file must be a distance above 0. Got"):
                found.to_file(tmp_path / f"c.{ending}", densify=wrong)
    for ending, words in (("gpkg", "is for .geojson, .json and .kml. Got"), ("csv", "is for .geojson, .json and .kml")):
        with pytest.raises(InvalidInput, match=f"'densify' parameter {words}"):
            found.to_file(tmp_path / f"c.{ending}", densify=5)
    for ending in ("kml", "geojson", "shp", "csv"):
        with pytest.raises(InvalidInput, match="'layer' parameter is for GeoPackages. Got"):
            found.to_file(tmp_path / f"c.{ending}", layer="a")
    assert not list(tmp_path.glob("c.*"))


def test_densify_on_the_command_line(tmp_path, monkeypatch):
    from region_commands import done, refused

    pytest.importorskip("pyogrio")
    monkeypatch.chdir(tmp_path)
    np.savez("map.npz", values=raster(), transform=PLACES["wide"][0], crs="EPSG:32632")
    added = []
    for metres in (20, 2000):
        for options in (("--iou", 0.9), ("--segments", 8), ("--nested",)):
            facts = done("map.npz", "--level", -75, *options, "-o", "out.kml", "--densify", metres, "--json")
            added.append(json.loads(facts)["written"]["added"])
    assert all(few < many for many, few in zip(added[:3], added[3:]))
    assert "--densify is for an output" in refused("map.npz", "--level", -75, "--densify", 3, "-o", "out.gpkg")
    assert "--densify is for an output" in refused("map.npz", "--level", -75, "--densify", 3)


# Selecting --------------------------------------------------------------------------------------------------------


def test_selecting():
    found = clgeom.coverage_regions(np.indices((5, 7)).sum(axis=0) % 2, 1, outline="cells")
    assert len(found) == 17
    for chosen, wanted in (
        ([], []),
        ([0, 3], [0, 3]),
        ((-2, -1), [15, 16]),
        (np.arange(17) < 2, [0, 1]),
        (np.uint8([4, 9]), [4, 9]),
        (range(17), list(range(17))),
        (np.zeros(17, bool), []),
    ):
        some = found.select(chosen)
        assert some.parts.tolist() == wanted and some.vertices.tolist() == [
            place for i in wanted for place in found[i].exterior.tolist()
        ]
    for wrong, words in (
        ("a", "Got 'a' instead"),
        ([[1]], r"Got \[\[1\]\] instead"),
        (3, "Got 3 instead"),
        ([1.5], r"Got \[1.5\] instead"),
        ([1, [2]], "Got .* instead"),
        ([17], "Got the index 17 instead"),
        ([0, -18], "Got the index -18 instead"),
        ([3, 1], r"Got \[3, 1\], which does not ascend, instead"),
        ([3, 3], r"Got \[3, 3\], which does not ascend, instead"),
        ([-1, 16], "which does not ascend"),
        ([True], "Got 1 bools instead"),
        (None, "Got None instead"),
    ):
        with pytest.raises(InvalidInput, match=f"'chosen' parameter of select must be indices of the 17 .* {words}"):
            found.select(wrong)
