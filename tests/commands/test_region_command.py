"""The command `clgeom region`: files in, polygons out, errors in one line; real terrain and buildings."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import shapely
import shapely.geometry
from click.testing import CliRunner

from clgeom import coverage_regions
from clgeom.commands import main as cli
from clgeom.plotting.figures import LEVEL_LINES
from clgeom.region.metrics import measure


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli.cli, ["region", *map(str, arguments)], prog_name="clgeom")


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def refused(*arguments):
    """What is said on stderr: one line, and exit code 2."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("clgeom: error: "), result.stderr
    return result.stderr


def needs(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def hill(size=40, top=100.0):
    rows, columns = np.ogrid[:size, : size + 5]
    return (top - 4 * np.hypot(rows - size / 2, columns - size / 2)).astype(np.float32)


def features(path):
    collection = json.loads(Path(path).read_text())
    assert collection["type"] == "FeatureCollection"
    return collection["features"]


# From nothing ------------------------------------------------------------------------------------------------------


@needs("pyproj")
@pytest.mark.parametrize("model", ("wim", "wim-los", "free-space", "two-ray"))
def test_a_map_from_nothing(model):
    levels = ("--level", -75, "--level", -85) if model == "wim" else ("--level", -45, "--level", -60)
    text = done(
        "--model",
        model,
        "--size",
        96,
        "--pixel",
        20,
        "--sigma",
        3,
        *levels,
        "-o",
        "made.geojson",
        "--plot",
        "made.png",
        "--segments",
        32,
    )
    assert "96 x 96 cells (float32), EPSG:32632" in text and "km2" in text
    assert Path("made.png").read_bytes().startswith(b"\x89PNG")
    found = features("made.geojson")
    assert {feature["properties"]["dbm"] for feature in found} <= {-75, -85, -45, -60}
    for feature in found:
        properties, shape = feature["properties"], shapely.geometry.shape(feature["geometry"])
        assert shape.is_valid and 11.5 < shape.centroid.x < 11.7 and 48.0 < shape.centroid.y < 48.3
        assert re.fullmatch(r">= -\d+ dBm", properties["label"]) and properties["area_km2"] > 0
        assert re.fullmatch("#[0-9a-f]{6}", properties["fill"]) and properties["stroke"] == properties["fill"]
        rings = feature["geometry"]["coordinates"]
        polygons = [rings] if feature["geometry"]["type"] == "Polygon" else rings
        for polygon in polygons:  # the right-hand rule
            assert [shapely.is_ccw(shapely.LinearRing(ring)) for ring in polygon] == [True] + [False] * (
                len(polygon) - 1
            )


def test_json_metrics_and_profile():
    facts = json.loads(done("--model", "wim", "--size", 64, "--pixel", 20, "--json", "--metrics", "--profile"))
    assert [level["level"] for level in facts["levels"]] == [-75, -85, -95]
    assert facts["rows"] == 64 and facts["phases"] and facts["crs"] == "EPSG:32632"
    for hull, regions in zip(facts["metrics"][::2], facts["metrics"][1::2]):
        assert hull["shape"] == "convex hull" and regions["missed"] == pytest.approx(0, abs=1e-6)
        assert regions["superfluous"] <= hull["superfluous"]
    text = done("--model", "wim", "--size", 64, "--pixel", 20, "--metrics", "--compare", "side.png")
    assert "convex hull" in text and Path("side.png").stat().st_size > 10_000


# Files -------------------------------------------------------------------------------------------------------------


def test_numpy_files():
    np.save("hill.npy", hill())
    assert "1" in done("hill.npy", "--level", 60, "-o", "hill.wkt")
    (line,) = Path("hill.wkt").read_text().splitlines()
    (own,) = coverage_regions(hill(), 60)
    assert shapely.from_wkt(line).equals(own.to_shapely())
    np.savez(
        "hill.npz",
        raster=np.stack([hill(), hill(top=70)]),
        transform=(2, 0, 10, 0, -2, 50),
        crs="EPSG:32632",
        nodata=66.0,
    )
    facts = json.loads(done("hill.npz", "--level", 60, "--json"))
    assert facts["crs"] == "EPSG:32632" and facts["levels"][0]["area"] == 4 * own.area
    lower = json.loads(done("hill.npz", "--level", 60, "--band", 2, "--json"))
    assert lower["levels"][0]["area"] < facts["levels"][0]["area"]
    np.savez("two.npz", a=hill(), b=hill(top=70))
    assert json.loads(done("two.npz", "--array", "b", "--level", 60, "--json"))["levels"][0]["regions"] == 1


@needs("rasterio", "pyproj")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_geotiff():
    import rasterio
    from rasterio.transform import from_origin

    values = hill()
    values[:3] = -9999
    with rasterio.open(
        "hill.tif",
        "w",
        driver="GTiff",
        height=40,
        width=45,
        count=1,
        dtype="float32",
        crs="EPSG:32632",
        transform=from_origin(691_000, 5_335_000, 25, 25),
        nodata=-9999,
    ) as file:
        file.write(values, 1)
    facts = json.loads(done("hill.tif", "--level", 40, "--direction", "<=", "--json", "-o", "low.geojson"))
    covered = ((values <= 40) & (values != -9999)).sum()
    assert facts["crs"] == "EPSG:32632" and facts["levels"][0]["area"] >= 625 * covered
    (feature,) = features("low.geojson")
    assert shapely.geometry.shape(feature["geometry"]).is_valid
    assert feature["properties"]["area_km2"] == facts["levels"][0]["area_km2"]
    assert feature["properties"]["area_km2"] == pytest.approx(facts["levels"][0]["area"] / 1e6, rel=1e-3)
    assert "bands 1 to 1. Got band 2" in refused("hill.tif", "--level", 1, "--band", 2)
    Path("no.tif").write_bytes(b"II*\0 nothing")
    assert "is not a raster" in refused("no.tif", "--level", 1)


@needs("pyogrio", "pyproj")
@pytest.mark.parametrize("ending", ("gpkg", "kml", "geojson"))
def test_files_open_in_geopandas(ending):
    import pyogrio

    np.savez("hill.npz", raster=hill(), transform=(25, 0, 691_000, 0, -25, 5_335_000), crs="EPSG:32632")
    done("hill.npz", "--level", 60, "--level", 80, "--holes", 0, "-o", f"hill.{ending}")
    meta, _, shapes, columns = pyogrio.raw.read(f"hill.{ending}")
    assert meta["crs"] == ("EPSG:32632" if ending == "gpkg" else "EPSG:4326")
    assert all(shapely.from_wkb(shape).is_valid for shape in shapes) and len(shapes) == 2
    assert sorted(columns[list(meta["fields"]).index("dbm")]) == [60, 80]
    geopandas = pytest.importorskip("geopandas", reason="geopandas is not installed")
    frame = geopandas.read_file(f"hill.{ending}")
    assert len(frame) == 2 and frame.geometry.is_valid.all()


def test_points():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(11.5, 0.1, 300), rng.normal(48.1, 0.1, 300), rng.uniform(-120, -50, 300)])
    np.savetxt("points.csv", rows, delimiter=",", header="lon,lat,dbm", comments="")
    text = done("points.csv", "--segments", 8, "-o", "points.geojson", "--plot", "points.png")
    assert "300 (float64)" in text and Path("points.png").exists()
    (feature,) = features("points.geojson")
    shape = shapely.geometry.shape(feature["geometry"])
    assert all(shape.covers(shapely.Point(x, y)) for x, y, _ in rows)
    facts = json.loads(done("points.csv", "--value", "dbm", "--level", -80, "--level", -60, "--json"))
    assert [one["points"] for one in facts["regions"]] == [int((rows[:, 2] >= level).sum()) for level in (-80, -60)]
    levels = ("--value", "dbm", "--level", -80, "--level", -60)
    text = done("points.csv", *levels, "--axis", "both", "--plot", "levels.svg", "--profile")
    assert re.search(r"-60 .* \d+ x \d+ ", text) and "arc_" in text
    drawn = Path("levels.svg").read_text()
    assert LEVEL_LINES[0] in drawn and LEVEL_LINES[1] in drawn, "an outline for each level"
    assert "lon (degrees)" in drawn or "<!-- lon (degrees) -->" in drawn
    for option in (("--metrics",), ("--holes", 0), ("--no-parts",), ("--compare", "out.png"), ("--least", 2)):
        assert f"The option {option[0]} is for rasters" in refused("points.csv", *option)
    assert "go together" in refused("points.csv", "--level", -80)
    assert "No point of 'points.csv' reaches a level" in refused("points.csv", "--value", "dbm", "--level", 0)


def test_options_change_what_is_kept():
    mask = hill()
    mask[1, 1] = 90
    np.save("hill.npy", mask)
    assert json.loads(done("hill.npy", "--level", 60, "--json"))["levels"][0]["regions"] == 2
    assert json.loads(done("hill.npy", "--level", 60, "--json", "--least", 2))["levels"][0]["regions"] == 1
    assert json.loads(done("hill.npy", "--level", 60, "--json", "--no-parts"))["levels"][0]["regions"] == 1
    plain = json.loads(done("hill.npy", "--level", 60, "--json", "--least", 2))["levels"][0]
    simple = json.loads(done("hill.npy", "--level", 60, "--json", "--least", 2, "--simplify", 1))["levels"][0]
    assert simple["vertices"] < plain["vertices"] and simple["area"] > plain["area"]


@needs("pyproj")
def test_nested_levels_and_bands():
    np.savez("hill.npz", raster=hill(), transform=(25, 0, 691_000, 0, -25, 5_335_000), crs="EPSG:32632")
    for option, labels in (
        ("--nested", [">= 60 dBm", ">= 80 dBm"]),
        ("--bands", [">= 60 to 80 dBm", ">= 80 dBm"]),
    ):
        done("hill.npz", "--level", 80, "--level", 60, option, "-o", "hill.geojson")
        outer, inner = features("hill.geojson")
        assert [one["properties"]["label"] for one in (outer, inner)] == labels
        apart = shapely.geometry.shape(outer["geometry"]).intersection(shapely.geometry.shape(inner["geometry"])).area
        assert (apart < 1e-12) == (option == "--bands")
    assert "are for what is written (-o) or drawn" in refused("hill.npz", "--level", 60, "--bands")
    assert "do not go together" in refused("hill.npz", "--level", 60, "--bands", "--nested", "-o", "a.wkt")


# On the earth ------------------------------------------------------------------------------------------------------


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
    (level,) = json.loads(done(name, "--level", 1, "--json"))["levels"]
    own = coverage_regions(mask, 1, transform=transform, crs="EPSG:32632")
    union = shapely.union_all([region.to_shapely() for region in own])
    assert level["area"] == pytest.approx(union.area) and level["area"] < 0.6 * own.areas.sum()
    assert level["cells"] == mask.sum() and level["cells_area"] == mask.sum() * 1e6
    assert level["cells_km2"] == pytest.approx(mask.sum(), rel=2e-3) and level["cells_km2"] < level["area_km2"]
    text = done(name, "--level", 1)
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
    for shapes, other in zip(drawn, written):
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
    bands = nested(list(coverage_regions(hill(), (60, 80))), bands=True)
    ax = plot_regions(bands)
    rings = [np.array(ring.coords) for one in bands for ring in (one.shape.exterior, *one.shape.interiors)]
    lines = [line.get_xydata() for line in ax.lines if len(line.get_xydata())]
    assert len(lines) == len(rings) == 3 and all(np.array_equal(*pair) for pair in zip(lines, rings))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [">= 60 to 80 dBm", ">= 80 dBm"]


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


@needs("pyproj")
def test_longitude_and_latitude_are_named():
    np.save("hill.npy", hill())  # its columns and rows are within 180 and 90
    assert "name it (--crs EPSG:32632)" in refused("hill.npy", "--level", 60, "-o", "hill.geojson")
    assert "has no transform: where its cells are" in refused("hill.npy", "--level", 60, "--crs", "EPSG:32632")
    rows = "\n1,2\n3,4\n5,0\n"
    Path("points.csv").write_text("x,y" + rows)
    assert "name it (--crs EPSG:32632)" in refused("points.csv", "-o", "points.geojson")
    for header in ("Longitude,Latitude", "lon,lat"):
        Path("points.csv").write_text("# a comment\n" + header + rows)
        done("points.csv", "-o", "points.geojson")
        assert "no latitude 91" in refused_rows("points.csv", header, "1,2\n3,91\n5,0\n")
    Path("points.csv").write_text("lon,lat,x,y\n0,0,1,2\n0,0,3,4\n0,0,5,0\n")
    assert "name it" in refused("points.csv", "--columns", "x,y", "-o", "points.geojson")
    assert "name it" in refused("points.csv", "--columns", "lat,lon", "-o", "points.geojson")
    done("points.csv", "--columns", "1,2", "-o", "points.geojson")


def refused_rows(name, header, rows):
    Path("other.csv").write_text(f"{header}\n{rows}")
    return refused("other.csv", "-o", name.replace("csv", "geojson"))


# Raster files ------------------------------------------------------------------------------------------------------


def tiff(name, values, *, crs="EPSG:32632", transform=(25, 0, 691_000, 0, -25, 5_335_000), **more):
    import rasterio

    values = values.reshape((-1, *values.shape[-2:]))
    placed = {} if transform is None else {"transform": rasterio.Affine(*transform)}
    with rasterio.open(
        name,
        "w",
        driver="GTiff",
        height=values.shape[1],
        width=values.shape[2],
        count=len(values),
        dtype=values.dtype,
        crs=crs,
        **placed,
        **more,
    ) as file:
        file.write(values)
    return name


@pytest.fixture
def server():
    """A server on this machine that keeps what it is asked for."""
    import http.server
    import threading

    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_address[1]}", asked
    running.shutdown()
    thread.join()
    running.server_close()


VIRTUAL = """<VRTDataset rasterXSize="45" rasterYSize="40"><Metadata><MDI key="INTERNAL_MASK_FLAGS_1">2</MDI></Metadata>
<VRTRasterBand dataType="Byte" band="1"><SimpleSource>
<SourceFilename relativeToVRT="0">/vsicurl/{0}/{1}.tif</SourceFilename><SourceBand>1</SourceBand>
</SimpleSource></VRTRasterBand></VRTDataset>"""
TILES = """<GDAL_WMS><Service name="TMS"><ServerUrl>{0}/{1}/${{z}}/${{x}}/${{y}}.png</ServerUrl></Service><DataWindow>
<UpperLeftX>0</UpperLeftX><UpperLeftY>40</UpperLeftY><LowerRightX>45</LowerRightX><LowerRightY>0</LowerRightY>
<SizeX>45</SizeX><SizeY>40</SizeY></DataWindow><BlockSizeX>45</BlockSizeX><BlockSizeY>40</BlockSizeY>
<BandsCount>1</BandsCount></GDAL_WMS>"""


@needs("rasterio")
@pytest.mark.filterwarnings("ignore")
def test_rasters_ask_nothing_of_the_network(server):
    address, asked = server
    for number, text in enumerate((VIRTUAL, TILES)):
        for name in (f"map{number}.tif", f"map{number}.img", f"map{number}.asc", f"map{number}.vrt"):
            Path(name).write_text(text.format(address, name.replace(".", "-")))
            assert "is not a raster" in refused(name, "--level", 1) or name.endswith("vrt")
        for side in ("msk", "ovr", "MSK", "OVR"):
            tiff("hill.tif", hill())
            Path(f"hill.tif.{side}").write_text(text.format(address, f"{side}{number}"))
            assert f"'hill.tif.{side}' beside the raster is no TIFF" in refused("hill.tif", "--level", 60)
            Path(f"hill.tif.{side}").unlink()
    assert "is a virtual raster" in refused("map0.vrt", "--level", 1)
    tiff("hill.tif", hill())
    Path("hill.tif.aux.xml").write_text(
        f'<PAMDataset><SRS>{address}/srs</SRS><Metadata domain="OVERVIEWS">'
        f'<MDI key="OVERVIEW_FILE">/vsicurl/{address}/overview.tif</MDI></Metadata></PAMDataset>'
    )
    done("hill.tif", "--level", 60)
    assert asked == []


@needs("rasterio", "pyproj")
@pytest.mark.filterwarnings("ignore")
def test_masks_scales_and_bands_of_rasters():
    import rasterio

    values = (10 * hill()).astype(np.int16)
    values[5, 5] = -9999
    tiff("hill.tif", values, nodata=-9999)
    with rasterio.open("hill.tif", "r+") as file:
        file.scales, file.offsets = (0.1,), (5.0,)
    facts = json.loads(done("hill.tif", "--level", 65, "--json"))
    known = values != -9999
    assert facts["levels"][0]["cells"] == ((values * 0.1 + 5 >= 65) & known).sum()
    low = json.loads(done("hill.tif", "--level", -500, "--direction", ">=", "--json"))
    assert low["levels"][0]["cells"] == known.sum(), "nodata is compared as it is stored"
    assert json.loads(done("hill.tif", "--level", -2000, "--nodata", -1, "--json"))["levels"][0]["cells"] == known.size
    # a mask and nodata, both
    tiff("hill.tif", values, nodata=-9999)
    there = np.ones(values.shape, bool)
    there[20:25, 20:25] = False
    with rasterio.open("hill.tif", "r+") as file:
        file.write_mask(there)
    facts = json.loads(done("hill.tif", "--level", -9999, "--json", "--no-parts"))
    assert facts["levels"][0]["cells"] == (there & known).sum()
    tiff("two.tif", np.stack([values, values // 2]))
    assert "(int16), band 1 of 2, EPSG:32632" in done("two.tif", "--level", 600)
    assert "(int16), band 2 of 2, " in done("two.tif", "--level", 300, "--band", 2)
    assert "has the bands 1 to 2. Got band 3" in refused("two.tif", "--level", 600, "--band", 3)
    np.save("two.npy", np.stack([values, values]))
    assert "(int16), band 1 of 2, no coordinate" in done("two.npy", "--level", 600)


@needs("rasterio")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("body", "expected"),
    (
        ("1 2 3\n4 5 6\n", [[1, 2, 3], [4, 5, 6]]),
        ("1 2 3 4 5 -9999", [[1, 2, 3], [4, 5, -9999]]),
        ("1 2 3\n4 5 1e3\n", [[1, 2, 3], [4, 5, 1000]]),
        ("1 " * 9000 + "2.75", None),
        ("1 2 3\n4 5\n", "must hold 2 x 3 numbers, as its header says. Got 5 of them"),
        ("1 2 3\n4 5 6\n7\n", "must hold 2 x 3 numbers, as its header says. Got 7 of them"),
        ("1 2 3\n4 x 6\n", "must hold numbers. Got 'x'"),
        ("1 2 3\n4 1_0 6\n", "must hold numbers. Got '1_0'"),
        ("", "is not a raster"),
    ),
)
def test_ascii_grids_are_read_whole(monkeypatch, body, expected):
    """GDAL reads missing numbers and words as 0, and cuts off decimal places that come late."""
    from clgeom.io import rasters

    columns, rows = (9001, 1) if expected is None else (3, 2)
    header = f"NCOLS {columns}\nnrows {rows}\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value -9999\n"
    Path("map.asc").write_text(header + body)
    if isinstance(expected, str):
        assert expected in refused("map.asc", "--level", 1)
        return
    for block_bytes in (1, 7, 1 << 24) if expected else (1 << 24,):
        monkeypatch.setattr(rasters, "BLOCK_BYTES", block_bytes)
        raster = rasters.read_raster("map.asc")
        assert raster.nodata == -9999 and raster.transform == (1, 0, 0, 0, -1, rows)
        if expected:
            assert raster.values.dtype == np.int32 and raster.values.tolist() == expected
        else:
            assert raster.values.dtype == np.float32 and raster.values[0, -1] == 2.75


@needs("rasterio", "pyproj")
@pytest.mark.filterwarnings("ignore")
def test_rasters_that_are_odd_or_broken():
    local = 'LOCAL_CS["yard",UNIT["metre",1]]'
    whole = Path(tiff("hill.tif", hill(), crs=local)).read_bytes()
    facts = json.loads(done("hill.tif", "--level", 60, "--json", "-o", "hill.wkt"))
    assert facts["levels"][0]["area_km2"] == pytest.approx(facts["levels"][0]["area"] / 1e6)
    assert "a way from 'yard' to longitude and latitude" in refused("hill.tif", "--level", 60, "-o", "hill.geojson")
    for count in (0, 3, 8, 50, 400, len(whole) // 2, len(whole) - 9):
        Path("cut.tif").write_bytes(whole[:count])
        assert "'cut.tif' is not a raster: " in refused("cut.tif", "--level", 60)
    for transform in ((0, 0, 1, 0, 0, 1), (float("nan"), 0, 1, 0, -1, 1), (1, 0, 1e300, 0, -1, 1e300)):
        assert "The transform must" in refused(tiff("odd.tif", hill(), transform=transform), "--level", 60)
    assert "must hold numbers. Got complex64" in refused(tiff("c.tif", hill().astype(np.complex64)), "--level", 60)
    tiff("map.tif", hill(), crs=None, transform=None)
    assert "has no transform" in refused("map.tif", "--level", 60, "--crs", "EPSG:32632")
    Path("folder.tif").mkdir()
    assert "it is not a file" in refused("folder.tif", "--level", 60)
    assert "No such file" in refused("none.tif", "--level", 60)


def test_files_whose_bytes_are_no_text_or_no_numbers(monkeypatch):
    """Nothing but the one line: no traceback of rasterio's log, and no warning of NumPy's."""
    rasterio = pytest.importorskip("rasterio")
    printed = []
    about = {"count": 1, "dtype": "float32", "transform": rasterio.Affine(1, 0, 0, 0, -1, 0)}
    with rasterio.open("hill.img", "w", driver="HFA", height=40, width=45, **about) as file:
        file.write(hill().astype(np.float32), 1)
    whole = Path("hill.img").read_bytes()
    Path("hill.img").write_bytes(whole.replace(b"LrootEntryPtr", b"\xb2rootEntryPtr", 1))
    with monkeypatch.context() as patch:
        patch.setattr("sys.excepthook", lambda *what: printed.append(what))
        patch.setattr("sys.unraisablehook", printed.append)
        hooks = sys.excepthook, sys.unraisablehook
        Path("read.img").write_bytes(whole.replace(b"LlayerStackCount", b"\xb2layerStackCount", 1))
        assert done("read.img", "--level", 60)
        assert "'hill.img' is not a raster: " in refused("hill.img", "--level", 60)
        assert not printed and (sys.excepthook, sys.unraisablehook) == hooks
    values = hill().astype(np.float32)
    values.view(np.uint32)[0, :3] = 0x7F800001  # signalling NaN
    np.save("odd.npy", values)
    assert "No cell of 'odd.npy' is >= 500.0" in refused("odd.npy", "--level", 500)
    assert done("odd.npy", "--level", 60)


# Bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    (
        ((), "Name a FILE, or a --model"),
        (("hill.npy", "--model", "wim"), "Name a FILE, or a --model to make a map with; not both"),
        (("hill.npy",), "Name one --level or more"),
        (("missing.npy", "--level", 1), "'missing.npy' cannot be read: No such file or directory"),
        (("hill.npy", "--level", "nan"), "--level must be a finite number"),
        (("hill.npy", "--level", "high"), "'high' is not a valid float"),
        (("hill.npy", "--level", 500), "No cell of 'hill.npy' is >= 500.0: values are"),
        (
            ("hill.npy", "--level", 1, "--segments", 0),
            "The option --segments must be an integer from 1",
        ),
        (
            ("hill.npy", "--level", 1, "--holes", -1),
            "The option --holes must be the least area",
        ),
        (("hill.npy", "--level", 1, "--least", -1), "must be 0 or more"),
        (("hill.npy", "--level", 1, "--least", 1e9), "in a part that is large enough"),
        (("hill.npy", "--level", 1, "-o", "out.shp"), "'out.shp' must end in one of .geojson"),
        (("hill.npy", "--level", 1, "-o", "nowhere/out.wkt"), "there is no folder"),
        (("hill.npy", "--level", 1, "--plot", "out.bmp"), "must end in one of .pdf, .png, .svg"),
        (("hill.npy", "--level", 1, "--band", 3, "--array", "a"), "--array is for .npz files"),
        (("hill.npy", "--level", 1, "--crs", "EPSG:1"), "must be a coordinate reference system"),
        (("far.npz", "--level", 1, "-o", "out.geojson"), "name it (--crs EPSG:32632)"),
        (("flat.npy", "--level", 1), "must have two dimensions. Got shape (5,)"),
        (("nan.npy", "--level", 1), "There is nothing in 'nan.npy': every cell is NaN or nodata"),
        (("two.npz", "--level", 1), "has the arrays a, b; name one (--array)"),
        (("two.npz", "--array", "c", "--level", 1), "has no array 'c'. It has: a, b"),
        (("text.npy", "--level", 1), "is not a NumPy array file"),
        (("hill.jpg", "--level", 1), "'hill.jpg' must end in one of .tif"),
        (
            ("--model", "wim", "--frequency", 28_000),
            "The option --frequency must be within 800",
        ),
        (("--model", "wim", "--size", 0), "--size must be within 1 to 32,768. Got 0"),
        (("--model", "okumura"), "'okumura' is not one of"),
        (("--model", "wim", "--pixel", 0), "The option --pixel must be"),
        (("--model", "wim", "--seed", -1), "--seed must be 0 or more"),
        (("--model", "wim", "--crs", "EPSG:4326"), "The option --crs must be in metres"),
        (
            ("hill.npy", "--level", 60, "--level", 60),
            "--level must name each level once. Got 60 more than once",
        ),
        (
            ("hill.npy", "--level", 1, "--plot", "out.png", "--compare", "out.png"),
            "is the output 'out.png', too",
        ),
        (("nodata.npz", "--level", 1), "The array 'nodata' in 'nodata.npz' must hold a number. Got <U4"),
        (("nodatas.npz", "--level", 1), "must hold a number. Got int64 of shape (2,)"),
        (
            ("transform.npz", "--level", 1),
            "The array 'transform' in 'transform.npz' must hold 6 numbers. Got <U5",
        ),
        (("turned.npz", "--level", 1), "The transform must be 6 finite numbers"),
        (("tiny.npz", "--level", 1), "must put cells at coordinates that float64 holds and tells apart"),
        (("crs.npz", "--level", 1), "names a coordinate reference system that is none: 'nowhere'"),
        (("up.npz", "--level", 1), "names a coordinate reference system that is none: 'EPSG:5703'"),
        (
            ("unplaced.npz", "--level", 1),
            "has no transform: where its cells are in 'EPSG:32632' is not known",
        ),
        (("points.csv", "--level", 1, "--level", 1, "--value", "y"), "--level must name each level once"),
        (("points.csv", "--segments", 0), "The option --segments must be an integer"),
        (("empty.csv",), "No point of 'empty.csv' is there"),
        (("nan.csv",), "The points in 'nan.csv' must be finite. Got nan in line 4 instead"),
        (("word.csv", "--value", "v", "--level", 1), "malformed in line 3: 'high' is not a number"),
        (("word.csv", "--value", "w", "--level", 1), "malformed in line 2: a number is missing"),
    ),
)
def test_bad_input_is_one_line(arguments, words):
    np.save("hill.npy", hill())
    np.savez("far.npz", raster=hill(), transform=(25, 0, 691_000, 0, -25, 5_335_000))
    np.save("flat.npy", np.ones(5))
    np.save("nan.npy", np.full((4, 5), np.nan))
    np.savez("two.npz", a=hill(), b=hill())
    placed = {"raster": hill(), "transform": (25, 0, 691_000, 0, -25, 5_335_000)}
    np.savez("nodata.npz", **placed, nodata="none")
    np.savez("nodatas.npz", **placed, nodata=[1, 2])
    np.savez("transform.npz", raster=hill(), transform="north")
    np.savez("turned.npz", raster=hill(), transform=np.full(6, np.nan))
    np.savez("tiny.npz", raster=hill(), transform=(1e-12, 0, 691_000, 0, -1e-12, 5_335_000))
    np.savez("crs.npz", **placed, crs="nowhere")
    np.savez("up.npz", **placed, crs="EPSG:5703")
    np.savez("unplaced.npz", raster=hill(), crs="EPSG:32632")
    Path("text.npy").write_text("not an array")
    Path("points.csv").write_text("x,y\n1,2\n3,4\n5,0\n")
    Path("empty.csv").write_text("x,y\n")
    Path("nan.csv").write_text("# of\nx,y\n1,2\n3,nan\n")
    Path("word.csv").write_text("x,y,v,w\n1,2,3,\n3,4,high,1\n")
    if "EPSG:1" in arguments or "coordinate reference system that is none" in words or "metres" in words:
        pytest.importorskip("pyproj", reason="pyproj knows what systems there are")
    assert words in refused(*arguments)
    assert not list(Path().glob("*.part")) and not list(Path().glob("out.*"))


def test_missing_packages_are_named(monkeypatch):
    np.savez("hill.npz", raster=hill(), transform=(25, 0, 691_000, 0, -25, 5_335_000), crs="EPSG:32632")
    Path("a.tif").write_bytes(b"II*\0")
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name in ("rasterio", "pyogrio", "pyproj") else found(name, *rest),
    )
    assert "Reading 'a.tif' needs rasterio, which is not installed: pip install 'clgeom[geo]'" in refused(
        "a.tif", "--level", 1
    )
    assert "needs pyogrio" in refused("hill.npz", "--level", 60, "-o", "a.gpkg")
    assert "needs pyproj" in refused("hill.npz", "--level", 60, "-o", "a.geojson")
    done("hill.npz", "--level", 60, "-o", "a.wkt")


# Real scenes -------------------------------------------------------------------------------------------------------


def test_terrain():
    """Elevations in Tennessee from Matplotlib's sample data: valleys as regions, in longitude and latitude."""
    pytest.importorskip("matplotlib", reason="its sample data are the terrain")
    from matplotlib.cbook import get_sample_data

    try:
        terrain = get_sample_data("jacksboro_fault_dem.npz")
    except (OSError, KeyError):
        pytest.skip("this Matplotlib comes without the sample data")
    with terrain:
        elevation = terrain["elevation"]
        west, north = float(terrain["xmin"]), float(max(terrain["ymin"], terrain["ymax"]))
        transform = (float(terrain["dx"]), 0, west, 0, -float(terrain["dy"]), north)
    assert elevation.dtype == np.int16
    found = coverage_regions(
        elevation, (300, 350), direction="<=", transform=transform, crs="EPSG:4326", segments=48, holes=1e-5
    )
    for level in (300, 350):
        own = [region for region in found if region.level == level]
        mask = elevation <= level
        assert sum(region.cells for region in own) == mask.sum()
        metrics = measure(own, mask, hausdorff=False)
        assert metrics.missed == pytest.approx(0, abs=1e-6) and metrics.iou > 0.5
        assert all(region.to_shapely().is_valid for region in own)
    np.savez("valley.npz", elevation=elevation, transform=transform, crs="EPSG:4326")
    files = (
        "--plot",
        "valley.png",
        *(("-o", "valley.geojson") if importlib.util.find_spec("pyproj") else ()),
    )
    text = done("valley.npz", "--level", 300, "--direction", "<=", "--unit", "m", "--least", 1e-5, *files)
    assert "<= 300 m" in text


def test_munich(monkeypatch):
    """Streets between the buildings of Munich, from the scene of the package sionna-rt."""
    if importlib.util.find_spec("sionna") is None:
        pytest.skip("sionna-rt is not installed; it has the buildings")
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2] / "examples")
    from munich import building_heights

    heights, transform = building_heights(pixel=4.0)
    assert min(heights.shape) > 200 and 20 < heights.max() < 150 and 0.1 < (heights > 3).mean() < 0.6
    found = coverage_regions(heights, 3.0, transform=transform, segments=32, holes=400)
    assert len(found) > 100 and all(region.to_shapely().is_valid for region in found[:50])
