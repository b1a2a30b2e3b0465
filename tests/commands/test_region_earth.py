"""What `clgeom region` writes in longitude and latitude: no cell lost, poles, the antimeridian, areas."""

import json
from pathlib import Path

import numpy as np
import pytest
import shapely
import shapely.geometry
from region_commands import done, features, here, hill, needs, refused

import clgeom
from clgeom import coverage_regions

__all__ = ["here"]


def saved(name, values, transform, crs, **more):
    np.savez(name, raster=values, transform=transform, crs=crs, **more)
    return name


def covered_cells(path, mask, transform, crs):
    """Of the centres and corners of a mask's cells, how many a GeoJSON file covers, and how many there are."""
    pyproj = pytest.importorskip("pyproj")
    shapes = [shapely.geometry.shape(feature["geometry"]) for feature in features(path)]
    assert shapes and all(shape.is_valid for shape in shapes)
    whole, (rows, columns) = shapely.union_all(shapes), np.nonzero(mask)
    shapely.prepare(whole)
    a, b, c, d, e, f = transform
    inside = count = 0
    for i, j in ((0.5, 0.5), (0, 0), (0, 1), (1, 0), (1, 1)):
        x, y = columns + i, rows + j
        lon, lat = pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True).transform(
            a * x + b * y + c, d * x + e * y + f
        )
        lon = (lon + 180) % 360 - 180
        found = shapely.covers(whole, shapely.points(lon, lat))
        found |= (np.abs(lon) > 180 - 1e-9) & shapely.covers(whole, shapely.points(np.copysign(180, -lon), lat))
        inside, count = inside + int(found.sum()), count + len(found)
    return inside, count


@needs("pyproj")
def test_long_edges_lose_no_cell():
    """In UTM at 1 km, the straight lines between a map's corners in degrees leave some hundred cells outside."""
    transform, mask = (1000, 0, 400_000, 0, -1000, 5_500_000), np.ones((300, 200), np.float32)
    facts = json.loads(
        done(saved("map.npz", mask, transform, "EPSG:32632"), "--level", 1, "-o", "map.geojson", "--json")
    )
    inside, count = covered_cells("map.geojson", mask, transform, "EPSG:32632")
    assert inside == count == 5 * 60_000
    assert facts["written"]["added"] == facts["written"]["vertices"] - 4 < 100
    text = done("map.npz", "--level", 1, "-o", "map.geojson")
    assert f"map.geojson ({facts['written']['vertices']} vertices, {facts['written']['added']} of them along" in text


@needs("pyproj")
@pytest.mark.parametrize(
    ("crs", "transform", "kind"),
    (
        ("EPSG:3857", (40_000, 0, 19_600_000, 0, -40_000, 5_000_000), "MultiPolygon"),  # over the antimeridian
        ("EPSG:4326", (1, 0, 165, 0, -1, 20), "MultiPolygon"),
        ("EPSG:3413", (50_000, 0, -500_000, 0, -50_000, 800_000), "Polygon"),  # over the north pole
        ("EPSG:3031", (50_000, 0, 0, 0, -50_000, 0), "Polygon"),  # the south pole is a corner
        ("EPSG:4326", (18, 0, 0, 0, -9, 90), "Polygon"),  # the world, from 0 to 360 degrees
    ),
)
def test_the_antimeridian_and_poles_are_no_trouble(crs, transform, kind):
    mask = np.ones((20, 20), np.float32)
    done(saved("map.npz", mask, transform, crs), "--level", 1, "-o", "map.geojson")
    (feature,) = features("map.geojson")
    assert feature["geometry"]["type"] == kind
    inside, count = covered_cells("map.geojson", mask, transform, crs)
    assert inside == count
    shape, area = shapely.geometry.shape(feature["geometry"]), feature["properties"]["area_km2"]
    if kind == "MultiPolygon":
        assert shape.area < 2000, "nothing goes round the earth"
    left, low, right, high = shape.bounds
    if crs in ("EPSG:3413", "EPSG:3031"):
        assert (left, right) == (-180, 180) and 90 in (high, -low) and 0.9e6 < area < 1.2e6


@needs("pyproj")
def test_areas_are_of_the_cells_and_of_the_outlines_union():
    """Outlines of parts overlap, here those of rings: their areas do not add up."""
    mask = np.hypot(*np.ogrid[-30:30, -30:30]) % 6 < 3
    transform = (1000, 0, 690_000, 0, -1000, 5_400_000)
    name = saved("map.npz", mask.astype(np.float32), transform, "EPSG:32632")
    (level,) = json.loads(done(name, "--level", 1, "--segments", 64, "--json"))["levels"]
    own = coverage_regions(mask, 1, transform=transform, crs="EPSG:32632", outline="segments")
    union = shapely.union_all([region.to_shapely() for region in own])
    assert level["area"] == pytest.approx(union.area) and level["area"] < 0.6 * own.areas.sum()
    assert level["cells"] == mask.sum() and level["cells_area"] == mask.sum() * 1e6
    assert level["cells_km2"] == pytest.approx(mask.sum(), rel=2e-3) and level["cells_km2"] < level["area_km2"]
    text = done(name, "--level", 1, "--segments", 64)
    assert "area of cells  area of outlines" in text and f"{level['area_km2']:,.6g} km2" in text
    (mercator,) = json.loads(
        done(saved("map.npz", mask.astype(np.float32), (1000, 0, 0, 0, -1000, 8_430_000), 3857), "--level", 1, "--json")
    )["levels"]
    assert mercator["area"] / 1e6 > 3.9 * mercator["area_km2"], "at 60 degrees north"


@needs("matplotlib", "pyproj")
@pytest.mark.parametrize("option", ("--nested", "--bands", None))
def test_what_is_drawn_is_what_is_written(monkeypatch, option):
    from clgeom.plotting import coverage as plot

    drawn = []
    monkeypatch.setattr(plot, "save_coverage_plot", lambda outlines, *_, **__: drawn.extend(outlines.values()))
    np.save("hill.npy", hill())
    how = () if option is None else (option,)
    done("hill.npy", "--level", 80, "--level", 60, *how, "--holes", 0, "-o", "hill.wkt", "--plot", "hill.png")
    written = [shapely.from_wkt(line) for line in Path("hill.wkt").read_text().splitlines()]
    assert len(drawn) == len(written) == 2
    for shapes, other in zip(drawn, written[::-1] if option else written):  # drawn: the same levels in the same colours
        (polygons,) = shapes
        assert shapely.MultiPolygon([(rings[0], rings[1:]) for rings in polygons]).equals(other)
    if option:
        done("hill.npy", "--level", 60, option, "--plot", "hill.png")


@needs("matplotlib")
def test_bands_are_drawn_with_what_is_cut_out():
    import matplotlib

    from clgeom.region.coverage.bands import nested
    from clgeom.region.coverage.drawn import plot_regions

    matplotlib.use("Agg")
    bands = nested(list(coverage_regions(hill(), (60, 80), outline="segments")), bands=True)
    ax = plot_regions(bands)
    rings = [np.array(ring.coords) for one in bands for ring in (one.shape.exterior, *one.shape.interiors)]
    lines = [line.get_xydata() for line in ax.lines if len(line.get_xydata())]
    assert len(lines) == len(rings) == 3 and all(np.array_equal(*pair) for pair in zip(lines, rings))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [">= 80", ">= 60 to 80"]


@needs("pyproj")
def test_shapes_nest_in_degrees_too():
    values = 100 - 0.4 * np.hypot(*np.ogrid[-100:101, -100:101]).astype(np.float32)
    saved("hill.npz", values, (1000, 0, 400_000, 0, -1000, 5_500_000), "EPSG:32632")
    levels = ("--level", 65, "--level", 80, "--level", 90)
    done("hill.npz", *levels, "--nested", "-o", "hill.geojson")
    shapes = [shapely.geometry.shape(feature["geometry"]) for feature in features("hill.geojson")]
    for outer, inner in zip(shapes, shapes[1:]):
        assert inner.difference(outer).area < 1e-12
    done("hill.npz", *levels, "--bands", "-o", "hill.geojson")
    bands = [shapely.geometry.shape(feature["geometry"]) for feature in features("hill.geojson")]
    assert shapely.union_all(bands).symmetric_difference(shapes[0]).area < 1e-9
    assert all(a.intersection(b).area < 1e-12 for a, b in zip(bands, bands[1:]))
    cells = [feature["properties"]["cells"] for feature in features("hill.geojson")]
    assert sum(cells) == (values >= 65).sum() and cells[-1] == (values >= 90).sum()


def test_metrics_compare_as_the_kernels_do():
    """The level, as float32, is a value of the map, and less than the level."""
    assert float(np.float32(-85.3)) < -85.3
    values = np.full((12, 9), -85.3, np.float32)
    values[:4] = -90
    np.save("map.npy", values)
    facts = json.loads(done("map.npy", "--level", -85.3, "--metrics", "--json"))
    assert [row["mask_area"] for row in facts["metrics"]] == [72, 72] and facts["levels"][0]["cells"] == 72
    assert all(row["missed"] == row["superfluous"] == 0 for row in facts["metrics"])


def test_parts_of_lower_dimension_are_written():
    """Regions that are pinched to segments and points."""
    Path("points.csv").write_text("lon,lat\n0,0\n1,1\n2,0\n3,0\n4,0\n4,3\n")
    done("points.csv", "--segments", 5, "-o", "points.geojson")
    (feature,) = features("points.geojson")
    shape = shapely.geometry.shape(feature["geometry"])
    assert shape.geom_type == "GeometryCollection"
    assert all(shape.covers(shapely.Point(*place)) for place in ((0, 0), (1, 1), (2, 0), (3, 0), (4, 0), (4, 3)))
    done("points.csv", "--segments", 5, "-o", "points.wkt")
    assert shapely.from_wkt(Path("points.wkt").read_text()).equals(shape)
    Path("point.csv").write_text("lon,lat\n1.5,2.5\n")
    done("point.csv", "-o", "point.geojson")
    assert features("point.geojson")[0]["geometry"] == {"type": "Point", "coordinates": [1.5, 2.5]}


@pytest.mark.parametrize("count, segments", [(20, 1), (50, 3), (100, 6), (1000, 62), (2000, 64)])
def test_segments_of_points_have_points_enough(count, segments):
    """Fewer segments by default, so that the region is a polygon; as many as are typed, with a note."""
    pytest.importorskip("pyogrio")
    points = np.random.default_rng(count).uniform(0, 5000, (count, 2))
    np.savetxt("points.csv", points, delimiter=",", header="x,y", comments="")
    facts = json.loads(done("points.csv", "--json", "-o", "points.shp"))
    default = clgeom.adaptive_region(points, segments)
    assert facts["regions"][0]["area"] == pytest.approx(default.area) and facts["notes"] == []
    assert default.area > 0.85 * clgeom.convex_hull(points).area
    typed = clgeom.adaptive_region(points, 64)
    lines = "LineString" in str(typed.__geo_interface__)
    facts = json.loads(done("points.csv", "--segments", 64, "--json", "-o", "points.wkt"))
    assert facts["regions"][0]["area"] == pytest.approx(typed.area) and lines == (count < 100)
    if lines:
        assert "fewer --segments" in facts["notes"][0] and "fewer --segments" in done("points.csv", "--segments", 64)
        words = refused("points.csv", "--segments", 64, "-o", "lines.shp")
        assert "Got a region with lines instead: use fewer --segments, or write .gpkg" in words
    else:
        assert facts["notes"] == []


def test_options_for_several_segments_need_them():
    Path("few.csv").write_text("x,y\n0,0\n4,0\n4,4\n0,4\n2,1\n")
    for option in (("--cuts", "width"), ("--cuts", "count"), ("--axis", "both"), ("--simplify", 1)):
        words = refused("few.csv", *option)
        assert f"option {option[0]} is for several segments, and 5 points get the convex hull by default" in words
        done("few.csv", *option, "--segments", 3)


def test_points_on_a_line_have_no_note():
    Path("line.csv").write_text("x,y\n" + "".join(f"{i},{2 * i}\n" for i in range(100)))
    facts = json.loads(done("line.csv", "--segments", 20, "--json", "-o", "line.wkt"))
    assert facts["notes"] == [] and facts["regions"][0]["area"] == 0


@needs("pyproj")
def test_longitude_and_latitude_are_named():
    np.save("hill.npy", hill())  # its columns and rows are within 180 and 90
    assert "no transform: the coordinates are columns" in refused("hill.npy", "--level", 60, "-o", "hill.geojson")
    assert "has no transform: the position of its cells" in refused("hill.npy", "--level", 60, "--crs", "EPSG:32632")
    rows = "\n1,2\n3,4\n5,0\n"
    Path("points.csv").write_text("x,y" + rows)
    assert "name it (--crs EPSG:32632)" in refused("points.csv", "-o", "points.geojson")
    for header in ("Longitude,Latitude", "lon,lat"):
        Path("points.csv").write_text("# a comment\n" + header + rows)
        done("points.csv", "-o", "points.geojson")
        assert "they reach 91" in refused_rows("points.csv", header, "1,2\n3,91\n5,0\n")
    Path("points.csv").write_text("lon,lat,x,y\n0,0,1,2\n0,0,3,4\n0,0,5,0\n")
    assert "name it" in refused("points.csv", "--columns", "x,y", "-o", "points.geojson")
    assert "name it" in refused("points.csv", "--columns", "lat,lon", "-o", "points.geojson")
    done("points.csv", "--columns", "1,2", "-o", "points.geojson")


def refused_rows(name, header, rows):
    Path("other.csv").write_text(f"{header}\n{rows}")
    return refused("other.csv", "-o", name.replace("csv", "geojson"))
