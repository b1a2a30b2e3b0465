"""Areas on the ellipsoid, and polygons in longitude and latitude: against other ways to compute them, cell by cell."""

import math

import numpy as np
import pytest

from clgeom.errors import InvalidInput
from clgeom.geo.geodesy import as_crs, earth_areas, same_crs
from clgeom.geo.lonlat import LonLat, named_lonlat, to_lonlat
from clgeom.region.coverage.grid import as_grid, cells_area
from clgeom.region.coverage.regions import coverage_regions

pyproj = pytest.importorskip("pyproj", reason="longitude and latitude need pyproj")
shapely = pytest.importorskip("shapely", reason="polygons are cut by Shapely")

WHOLE = 510_065_621.724  # km2, of WGS 84
ROTATED = "+proj=ob_tran +o_proj=longlat +o_lat_p=39.25 +lon_0=18 +a=6371000 +b=6371000 +to_meter=0.0174532925199433"
ROTATED_WGS84 = "+proj=ob_tran +o_proj=longlat +o_lat_p=39.25 +lon_0=18 +to_meter=0.0174532925199433"


def box(left, low, right, high, *holes):
    rings = [(left, low, right, high), *holes]
    return {
        "type": "Polygon",
        "coordinates": [[(a, b), (c, b), (c, d), (a, d), (a, b)] for a, b, c, d in rings],
    }


def km2(geometry, crs):
    return earth_areas([geometry], crs, caller="test")[0] / 1e6


# Areas ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "share"),
    (
        ((-180, -90, 180, 90), 1),
        ((0, -90, 360, 90), 1),
        ((0, -90, 180, 90), 1 / 2),
        ((-180, 0, 180, 90), 1 / 2),
        ((-0.125, -90.125, 359.875, 90.125), 1),
        ((-180.5, -90.5, 180.5, 90.5), 1),
        ((170, -90, 200, 90), 1 / 12),
    ),
    ids=str,
)
def test_areas_of_much_of_the_globe(bounds, share):
    assert km2(box(*bounds), 4326) == pytest.approx(WHOLE * share, rel=1e-9)


def test_areas_beyond_a_hemisphere_with_holes_and_in_grads():
    hole = (-10, 0, 10, 20)
    whole, inner = (km2(box(*bounds), 4326) for bounds in ((-180, -60, 180, 90), hole))
    assert km2(box(-180, -60, 180, 90, hole), 4326) == pytest.approx(whole - inner, rel=1e-12)
    assert whole > 0.9 * WHOLE
    geod = pyproj.Geod(ellps="WGS84")
    caps = abs(geod.polygon_area_perimeter([0, 120, 240], [-60] * 3)[0])
    assert whole == pytest.approx(WHOLE - caps / 1e6, rel=0.1)
    # NTF (Paris) is in grads: the whole globe, and a square of 1 grad as one of 0.9 degrees on its ellipsoid
    assert km2(box(-200, -100, 200, 100), "EPSG:4807") == pytest.approx(510_064_924, rel=1e-6)
    same = "+proj=longlat +a=6378249.2 +rf=293.466021293627"
    assert km2(box(0, 50, 1, 51), "EPSG:4807") == pytest.approx(km2(box(0, 45, 0.9, 45.9), same), rel=1e-9)


CLOSE = {  # name: system, bounds
    "utm": (32632, (690_000, 5_330_000, 700_000, 5_340_000)),
    "web mercator": (3857, (0, 8.3e6, 1e6, 8.5e6)),
    "south and west": (2054, (-40_000, 2_800_000, 60_000, 2_900_000)),
    "feet": (2263, (900_000, 100_000, 1_100_000, 300_000)),
    "north pole inside": (3413, (-1e6, -7e5, 1e6, 8e5)),
    "north pole on an edge": (3413, (0, -7e5, 1e6, 8e5)),
    "north pole at a corner": (3413, (0, 0, 1e6, 8e5)),
    "beside the north pole": (3413, (0.01, -7e5, 1e6, 8e5)),
    "south pole inside": (3031, (-1e6, -7e5, 1e6, 8e5)),
    "compound": (7415, (100_000, 400_000, 150_000, 450_000)),
}


@pytest.mark.parametrize("name", CLOSE)
def test_areas_are_those_of_geodesics(name):
    """Edges in many pieces, each a geodesic, by pyproj."""
    crs, bounds = CLOSE[name]
    system = pyproj.CRS(crs)
    to_base = pyproj.Transformer.from_crs(system, system.geodetic_crs, always_xy=True)
    dense = shapely.segmentize(shapely.box(*bounds), (bounds[2] - bounds[0]) / 500)
    dense = shapely.transform(dense, lambda xy: np.stack(to_base.transform(*xy.T), axis=1))
    expected = abs(system.get_geod().geometry_area_perimeter(dense)[0]) / 1e6
    assert km2(box(*bounds), crs) == pytest.approx(expected, rel=1e-5)


def test_areas_of_equal_area_projections():
    for center in ("", " +lat_0=90", " +lat_0=-40 +lon_0=100"):
        for half in (3e6, 8.9e6):  # the larger one has both poles in it, or all but a bit of the globe
            crs = f"+proj=laea{center}"
            assert km2(box(-half, -half, half, half), crs) == pytest.approx(4 * half**2 / 1e6, rel=1e-8)


def test_areas_of_a_turned_globe_and_in_a_plane():
    sphere = 4 * math.pi * 6371**2
    assert km2(box(-180, -90, 180, 90), ROTATED) == pytest.approx(sphere, rel=1e-9)
    plain = km2(box(10, 20, 12, 22), "+proj=longlat +a=6371000 +b=6371000")
    assert km2(box(10, 20, 12, 22), ROTATED) == pytest.approx(plain, rel=1e-9)
    local = 'LOCAL_CS["yard",UNIT["foot",0.3048]]'
    assert km2(box(0, 0, 100, 50), local) == pytest.approx(5000 * 0.3048**2 / 1e6)


def test_areas_do_not_depend_on_where_small_squares_are():
    for x, y in ((691_000, 5_335_000), (500_000, 9_900_000)):
        system = pyproj.CRS(32632)
        scale = pyproj.Proj(system).get_factors(*pyproj.Proj(system)(x, y, inverse=True)).areal_scale
        assert km2(box(x, y, x + 1, y + 1), system) * 1e6 == pytest.approx(1 / scale, rel=1e-6)


@pytest.mark.parametrize(
    ("crs", "words"),
    (
        ("nonsense", "must be a coordinate reference system, as 'EPSG:32632'. Got 'nonsense'"),
        ("EPSG:4978", "must be a horizontal coordinate reference system.*Got 'EPSG:4978' .Geocentric CRS."),
        ("EPSG:5703", "must be a horizontal coordinate reference system.*Got 'EPSG:5703' .Vertical CRS."),
        (object(), "must be a coordinate reference system"),
        ("x" * 1000, "Got 'xxx.{20,60}\\.\\.\\. instead"),
        (None, "needs a coordinate reference system, and there is none"),
    ),
)
def test_systems_that_are_none(crs, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        km2(box(0, 0, 1, 1), crs)
    assert "\n" not in str(caught.value)


def test_areas_beyond_a_system_are_refused():
    with pytest.raises(InvalidInput, match="beyond what 'unknown' can express"):
        km2(box(-7e6, -7e6, 7e6, 7e6), "+proj=ortho")
    with pytest.raises(InvalidInput, match="is cut"):  # a cone's surface is cut open
        km2(box(-7e6, -1e6, 7e6, 20e6), 2154)


@pytest.mark.parametrize(
    ("crs", "transform"),
    (
        (4326, (0.25, 0, -20, 0, -0.25, 89)),
        (3857, (9e4, 0, -2e6, 0, -9e4, 9e6)),
        (3413, (2e4, 0, -6e5, 0, -2e4, 4e5)),
        (32632, (800, 300, 5e5, 200, -900, 6e6)),
        (4326, (0.2, 0.1, 5, 0.1, -0.2, 60)),
        (2263, (5e3, 0, 0, 0, -5e3, 1e5)),
        ('LOCAL_CS["yard",UNIT["foot",0.3048]]', (3, 0, 0, 0, -3, 0)),
    ),
    ids=str,
)
def test_area_of_cells_is_the_sum_of_theirs(crs, transform):
    mask = np.random.default_rng(3).random((50, 60)) < 0.2
    grid = as_grid(transform, crs, mask.shape, caller="test")
    rows, columns = np.nonzero(mask)
    corners = [
        grid.to_map([(c, r), (c + 1, r), (c + 1, r + 1), (c, r + 1), (c, r)])
        for r, c in zip(rows.tolist(), columns.tolist())
    ]
    each = earth_areas([{"type": "Polygon", "coordinates": [one]} for one in corners], crs, caller="test")
    assert cells_area(mask, grid) == pytest.approx(each.sum(), rel=1e-9)
    assert cells_area(np.zeros((3, 3), bool), grid) == 0


def test_areas_of_regions_are_on_the_ellipsoid():
    """A square of 1,000 km in Web Mercator at 60 degrees north has a fourth of its area."""
    (square,) = coverage_regions(
        np.ones((10, 10)), 1, transform=(1e5, 0, 0, 0, -1e5, 8_900_000), crs=3857, outline="segments"
    )
    assert square.area == 1e12 and 0.2e6 < square.area_km2 < 0.3e6


def test_same_systems():
    assert same_crs("EPSG:32632", 32632) and same_crs(pyproj.CRS(32632), "epsg:32632") and same_crs(None, None)
    assert not same_crs("EPSG:32632", 32633) and not same_crs(None, 32632)
    assert same_crs("EPSG:4326", "OGC:CRS84")


# Longitude and latitude -------------------------------------------------------------------------------------------


def covers(shapes, grid, mask, crs):
    """That shapes in longitude and latitude cover the centres and the corners of all cells of a mask."""
    to_lonlat = pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True)
    whole, cells = shapely.union_all(shapes), np.argwhere(mask)[:, ::-1]
    shapely.prepare(whole)
    turn = (
        360 if not pyproj.CRS(crs).is_geographic else 2 * math.pi / pyproj.CRS(crs).axis_info[0].unit_conversion_factor
    )
    for offset in ((0.5, 0.5), (0, 0), (0, 1), (1, 0), (1, 1)):
        places = grid.to_map(cells + np.array(offset))
        lon, lat = to_lonlat.transform(*places.T)
        there = np.abs(lat) <= 90  # cells at a pole may reach beyond it
        if pyproj.CRS(crs).is_geographic:
            there &= np.abs(places[:, 1]) <= turn / 4
        lon, lat = (lon[there] + 180) % 360 - 180, lat[there]
        found = shapely.covers(whole, shapely.points(lon, lat))
        found |= (np.abs(lon) > 180 - 1e-9) & shapely.covers(whole, shapely.points(np.copysign(180, -lon), lat))
        assert found.all(), f"{(~found).sum()} of {len(found)}, {lon[~found][:3]}, {lat[~found][:3]}"
    return whole


PLACES = {  # name: system, transform, rows and columns
    "utm, 1 km": (32632, (1000, 0, 400_000, 0, -1000, 5_500_000), (300, 200)),
    "utm, 30 m, turned": (32632, (24, 18, 690_000, 18, -24, 5_330_000), (40, 50)),
    "utm, 1 m, south-up": (32632, (1, 0, 690_000, 0, 1, 5_330_000), (40, 50)),
    "utm at the antimeridian": (32660, (5000, 0, 300_000, 0, -5000, 6_000_000), (60, 180)),
    "web mercator at the antimeridian": (3857, (20_000, 0, 19_600_000, 0, -20_000, 5_000_000), (50, 40)),
    "web mercator up to the antimeridian": (3857, (20037508.342789244 / 50, 0, 0, 0, -2e5, 5e6), (30, 50)),
    "web mercator, a foot beyond the antimeridian": (3857, (5000, 0, 20037508, 0, -5000, 9e6), (12, 12)),
    "web mercator, a foot beyond the other side": (3857, (20_000, 0, -20037508 - 6e4, 0, -2e4, 9e6), (3, 3)),
    "web mercator, the world": (
        3857,
        (20037508.342789244 / 20, 0, -20037508.342789244, 0, -20037508.342789244 / 20, 20037508.342789244),
        (40, 40),
    ),
    "new zealand": (2193, (20_000, 0, 1_000_000, 0, -20_000, 6_300_000), (80, 85)),
    "the north pole": (3413, (50_000, 0, -1_900_000, 0, -50_000, 1_950_000), (70, 60)),
    "the north pole at a corner": (3413, (50_000, 0, 0, 0, -50_000, 0), (20, 30)),
    "the north pole on an edge": (3413, (50_000, 0, 0, 0, -50_000, 500_000), (20, 30)),
    "beside the north pole": (3413, (50_000, 0, 1.0, 0, -50_000, 500_000), (20, 30)),
    "near the north pole": ("+proj=laea +lat_0=90 +lon_0=10", (1, 0, -4, 0, 1, 7), (14, 23)),
    "the south pole": (3031, (50_000, 0, -1_900_000, 0, -50_000, 1_950_000), (70, 60)),
    "both poles": ("+proj=laea", (250_000, 0, -8_500_000, 0, -250_000, 8_500_000), (68, 68)),
    "south and west": (2054, (500, 0, -40_000, 0, 500, 2_800_000), (40, 50)),
    "degrees, the world": (4326, (5, 0, -180, 0, -5, 90), (36, 72)),
    "degrees from 0 to 360": (4326, (5, 0, 0, 0, -5, 90), (36, 72)),
    "degrees, centres at the poles": (4326, (5, 0, -2.5, 0, -5, 92.5), (37, 72)),
    "degrees beyond the antimeridian": (4326, (1, 0, 165, 0, -1, 20), (30, 30)),
    "another datum, the world": (4258, (5, 0, -180, 0, -5, 90), (36, 72)),
    "grads, the world": (4807, (5, 0, -200, 0, -5, 100), (40, 80)),
    "grads": (4807, (0.01, 0, 0, 0, -0.01, 55), (30, 40)),
    "a turned globe": (ROTATED_WGS84, (0.5, 0, -20, 0, -0.5, 25), (60, 70)),
    "a turned globe, the world": (ROTATED_WGS84, (5, 0, -180, 0, -5, 90), (36, 72)),
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("density", (1.0, 0.45))
def test_every_cell_is_covered_in_longitude_and_latitude(name, density):
    """All cells in one region; and parts with holes, of a random mask."""
    crs, transform, shape = PLACES[name]
    if density < 1:
        shape = tuple(min(size, 25) for size in shape)
    mask = np.random.default_rng(1).random(shape) < density
    found = coverage_regions(mask, 1, transform=transform, crs=crs, segments=12, holes=None if density == 1 else 0)
    resolution = math.sqrt(found.grid.cell_area)
    shapes = []
    for region in found:
        geometry = to_lonlat(region.__geo_interface__, crs, caller="test", resolution=resolution)
        shapes.append(shapely.geometry.shape(geometry))
        assert shapes[-1].is_valid and geometry["type"] in ("Polygon", "MultiPolygon")
        left, low, right, high = shapes[-1].bounds
        assert -180 <= left and right <= 180 and -90 <= low and high <= 90
        parts = [geometry["coordinates"]] if geometry["type"] == "Polygon" else geometry["coordinates"]
        for rings in parts:  # the right-hand rule
            assert [shapely.is_ccw(shapely.LinearRing(ring)) for ring in rings] == [True] + [False] * (len(rings) - 1)
    covers(shapes, found.grid, mask, crs)
    # no cell's worth is added anywhere: the outline moves by at most 1/40 of a cell
    if not pyproj.CRS(crs).is_geographic:
        for region, shape in zip(found, shapes):
            own = earth_areas([region.__geo_interface__], crs, caller="test")[0]
            grown = earth_areas([shapely.geometry.mapping(shape)], 4326, caller="test")[0]
            around = region.to_shapely().length * resolution / 40 * 3
            assert own * (1 - 1e-8) <= grown <= own * (1 + 1e-8) + around


def test_every_point_is_covered_in_longitude_and_latitude(subtests):
    """Regions of points, without cells that would tell the resolution."""
    from clgeom import adaptive_region

    to_degrees = pyproj.Transformer.from_crs(32632, 4326, always_xy=True)
    points = np.random.default_rng(7).normal((500_000, 5_500_000), (90_000, 200_000), (1500, 2))
    for segments in (1, 9, 400):
        with subtests.test(segments=segments):
            region = adaptive_region(points, segments)
            geometry = to_lonlat(region.__geo_interface__, 32632, caller="test")
            shape = shapely.geometry.shape(geometry)
            assert shape.is_valid and shapely.covers(shape, shapely.points(*to_degrees.transform(*points.T))).all()
    bow = {"type": "Polygon", "coordinates": [[(0, 5e6), (1e5, 5.1e6), (1e5, 5e6), (0, 5.1e6), (0, 5e6)]]}
    assert shapely.geometry.shape(to_lonlat(bow, 32632, caller="test")).is_valid


def test_poles_are_reached_along_180_degrees():
    for crs, pole in ((3413, 90), (3031, -90)):
        shape = shapely.geometry.shape(to_lonlat(box(-1e6, -1e6, 1e6, 1e6), crs, caller="test", resolution=1e4))
        assert shape.geom_type == "Polygon" and shape.is_valid
        corners = shapely.get_coordinates(shape)
        for longitude in (-180, 180):
            assert (corners == (longitude, pole)).all(axis=1).any()
        ring = to_lonlat(box(-1e6, -1e6, 1e6, 1e6, (-2e5, -2e5, 2e5, 2e5)), crs, caller="test", resolution=1e4)
        ring = shapely.geometry.shape(ring)  # a hole at the pole
        assert ring.is_valid and not shapely.covers(ring, shapely.Point(10, pole * 0.995))
        assert shapely.covers(ring, shapely.Point(10, pole * 0.95))


def test_long_edges_have_as_many_vertices_as_they_need():
    way = LonLat(32632, caller="test", resolution=1000)
    edge = box(200_000, 5_000_000, 800_000, 5_600_000)
    found = way(edge)
    assert 20 < way.added < 200
    coarse, fine = LonLat(32632, caller="test", resolution=20_000), LonLat(32632, caller="test", resolution=10)
    coarse(edge), fine(edge)
    assert coarse.added < way.added < fine.added < 3000
    short = LonLat(32632, caller="test", resolution=1000)
    short(box(690_000, 5_330_000, 692_000, 5_332_000))
    assert short.added == 0 and len(found["coordinates"][0]) == 5 + way.added
    plain = LonLat(4326, caller="test", resolution=1)
    plain(box(0, 0, 90, 80))
    assert plain.added == 0


def test_longitude_and_latitude_keep_every_bit():
    ring = [(0.1, 0.2), (179.99999999999997, 1 / 3), (7 / 9, 89.99999999999999), (0.1, 0.2)]
    for crs in (None, 4326, "OGC:CRS84", "EPSG:4326"):
        found = to_lonlat({"type": "Polygon", "coordinates": [ring]}, crs, caller="test")
        assert found == {"type": "Polygon", "coordinates": [[list(place) for place in ring]]}
        found = to_lonlat({"type": "Polygon", "coordinates": [ring[::-1]]}, crs, caller="test")
        assert found["coordinates"][0][1] == list(ring[1])
        for geometry in (
            {"type": "Point", "coordinates": (1.5, 2.5)},
            {"type": "LineString", "coordinates": ((1.5, 2.5), (3.5, 4.5))},
            {"type": "GeometryCollection", "geometries": ()},
            {"type": "Polygon", "coordinates": ()},
        ):
            found = to_lonlat(geometry, crs, caller="test")
            assert found["type"] == geometry["type"] and np.array_equal(
                found.get("coordinates", found.get("geometries")),
                geometry.get("coordinates", geometry.get("geometries")),
            )


def test_points_and_lines_are_moved_and_cut():
    collection = {
        "type": "GeometryCollection",
        "geometries": [
            {"type": "Point", "coordinates": (20_100_000, 0)},
            {"type": "LineString", "coordinates": ((19_000_000, 0), (21_000_000, 5e6))},
            box(19_000_000, 0, 21_000_000, 5e6),
        ],
    }
    point, line, polygon = to_lonlat(collection, 3857, caller="test")["geometries"]
    assert point["type"] == "Point" and -180 < point["coordinates"][0] < -179
    assert line["type"] == "MultiLineString" and len(line["coordinates"]) == 2
    ends = sorted(place[0] for part in line["coordinates"] for place in part)
    assert ends[0] == -180 and ends[-1] == 180 and polygon["type"] == "MultiPolygon"
    meridian = to_lonlat({"type": "LineString", "coordinates": ((5e5, 0), (5e5, 5e6))}, 32632, caller="test")
    assert meridian["type"] == "LineString" and all(abs(lon - 9) < 1e-9 for lon, _ in meridian["coordinates"])
    curve = to_lonlat({"type": "LineString", "coordinates": ((2e5, 6e6), (8e5, 6e6))}, 32632, caller="test")
    assert len(curve["coordinates"]) > 5


@pytest.mark.parametrize(
    ("geometry", "crs", "words"),
    (
        (box(0, 0, 1, 91), 4326, "there is no latitude 91"),
        (box(0, 0, 1, 91), None, "there is no latitude 91"),
        (box(0, 0, 1000, 1), 4326, "there is no longitude 1000"),
        (box(0, 0, 1, 130), 4807, "there is no latitude 130"),
        (box(-7e6, -7e6, 7e6, 7e6), "+proj=ortho", "beyond what 'unknown' can express"),
        (box(-7e6, -1e6, 7e6, 20e6), 2154, "no curve on the earth, .* is cut"),
        (box(0, 0, 1, 1), 'LOCAL_CS["yard",UNIT["metre",1]]', "a way from 'yard' to longitude and latitude"),
        (box(0, 0, 1, 1), "IAU_2015:30100", "a way from 'Moon .* to longitude and latitude"),
        (box(0, 0, 1, 1), "EPSG:4978", "must be a horizontal coordinate reference system"),
        # beyond a pole line, where PROJ goes back to the nearest latitude that there is
        (box(-10_156_499, 8_354_392, -9_956_499, 8_654_392), 8857, "beyond what 'WGS 84 / Equal Earth .*' can express"),
        (box(0, 8_300_000, 1e5, 8_400_000), 8857, "beyond what"),
        (box(0, 11_400_000, 1e5, 11_500_000), "+proj=patterson", "beyond what"),
        ({"type": "Point", "coordinates": (1e6, 8_547_202)}, 8857, "beyond what"),
        ({"type": "LineString", "coordinates": ((1e6, 8e6), (1e6, -8_547_202))}, 8857, "beyond what"),
    ),
)
def test_what_has_no_longitude_and_latitude_is_refused(geometry, crs, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        to_lonlat(geometry, crs, caller="Writing 'a.geojson'")
    assert "\n" not in str(caught.value)


def test_polygons_up_to_a_pole_line_and_beyond_180_degrees():
    """They are not refused: the pole line is on the earth, and longitudes run on."""
    there = pyproj.Transformer.from_crs(4326, 8857, always_xy=True)
    _, high = there.transform(0, 90)
    cap = shapely.geometry.shape(to_lonlat(box(-1e6, high - 1e5, 1e6, high), 8857, caller="test", resolution=1e4))
    assert shapely.covers(cap, shapely.points([0, -15, 15], [89.99, 89.5, 89.5])).all()
    right, _ = there.transform(180, 20)
    beyond = shapely.geometry.shape(
        to_lonlat(box(right - 1e5, 2e6, right + 3e5, 3e6), 8857, caller="test", resolution=1e4)
    )
    assert shapely.covers(beyond, shapely.points([179.99, -179.99], [20, 20])).all()


def test_polygons_without_area_are_empty():
    flat = [[(1e3, 1e3), (2e3, 2e3), (3e3, 3e3), (1e3, 1e3)]]
    empty = {"type": "Polygon", "coordinates": []}
    assert to_lonlat({"type": "Polygon", "coordinates": flat}, "EPSG:3413", caller="test") == empty
    assert to_lonlat({"type": "Polygon", "coordinates": ()}, "EPSG:3413", caller="test") == empty
    assert to_lonlat({"type": "MultiPolygon", "coordinates": [flat, flat]}, "EPSG:3413", caller="test") == empty
    both = {"type": "MultiPolygon", "coordinates": [flat, box(0, 0, 1e3, 1e3)["coordinates"]]}
    shape = shapely.geometry.shape(to_lonlat(both, "EPSG:3413", caller="test"))
    assert shape.area > 0 and shape.is_valid


def test_columns_of_longitude_and_latitude():
    assert named_lonlat("lon", "lat") and named_lonlat(" Longitude", "LATITUDE")
    assert not named_lonlat("lat", "lon") and not named_lonlat("x", "y") and not named_lonlat("lon", "latitude")


def test_systems_without_a_way_still_have_areas():
    assert as_crs('LOCAL_CS["yard"]', caller="test").is_engineering
