"""The command `clgeom region`: files in, polygons out, errors in one line; real terrain and buildings."""

import importlib.util
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import shapely
import shapely.geometry
from effort import LONG
from region_commands import done, features, frame_of, here, hill, needs, refused

from clgeom import coverage_regions
from clgeom.errors import InputWarning
from clgeom.plotting.figures import LEVEL_LINES
from clgeom.region.metrics import measure

ndimage = pytest.importorskip("scipy.ndimage")

__all__ = ["here"]


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
    assert "parts smaller than 2,500 m2 are left out; --least 0 keeps them" in text and "parts left out" in text
    assert facts["least"] == 2500 and facts["levels"][0]["parts_left_out"]
    whole = json.loads(done("--model", "wim", "--size", 64, "--pixel", 20, "--json", "--least", 0))
    for one, other in zip(facts["levels"], whole["levels"]):
        assert one["regions"] + one["parts_left_out"] == other["regions"]
        assert one["cells"] + one["cells_left_out"] == other["cells"]
        assert (other["parts_left_out"], other["cells_left_out"]) == (0, 0)


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
@pytest.mark.parametrize("ending", ("gpkg", "kml", "geojson", "fgb"))
def test_files_open_in_geopandas(ending):
    import pyogrio

    np.savez("hill.npz", raster=hill(), transform=(25, 0, 691_000, 0, -25, 5_335_000), crs="EPSG:32632")
    done("hill.npz", "--level", 60, "--level", 80, "--holes", 0, "-o", f"hill.{ending}")
    found = []
    for layer, _ in pyogrio.list_layers(f"hill.{ending}"):
        meta, _, shapes, columns = pyogrio.raw.read(f"hill.{ending}", layer=layer)
        assert meta["crs"] == ("EPSG:32632" if ending in ("gpkg", "fgb") else "EPSG:4326")
        assert all(shapely.from_wkb(shape).is_valid for shape in shapes)
        found += columns[list(meta["fields"]).index("level")].tolist()
    assert sorted(found) == [60, 80]
    geopandas = pytest.importorskip("geopandas", reason="geopandas is not installed")
    frame = frame_of(f"hill.{ending}")
    assert len(frame) == 2 and frame.geometry.is_valid.all()
    pytest.importorskip("pyarrow")
    done("hill.npz", "--level", 60, "--level", 80, "--holes", 0, "-o", "hill.parquet")
    same = geopandas.read_parquet("hill.parquet")
    assert same.crs.to_epsg() == 32632 and sorted(same.level) == [60, 80]
    assert sorted(same.area_km2) == pytest.approx(sorted(frame.area_km2), rel=1e-12)


def test_points():
    pyproj = pytest.importorskip("pyproj")
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(11.5, 0.1, 300), rng.normal(48.1, 0.1, 300), rng.uniform(-120, -50, 300)])
    np.savetxt("points.csv", rows, delimiter=",", header="lon,lat,dbm", comments="")
    text = done("points.csv", "--segments", 8, "-o", "points.geojson", "--plot", "points.png")
    assert "300 (float64)" in text and Path("points.png").exists()
    (feature,) = features("points.geojson")
    shape = shapely.geometry.shape(feature["geometry"])
    assert all(shape.covers(shapely.Point(x, y)) for x, y, _ in rows)
    (drawn,) = json.loads(done("points.csv", "--segments", 8, "--json"))["regions"]
    km2 = abs(pyproj.Geod(ellps="WGS84").geometry_area_perimeter(shape)[0]) / 1e6
    assert drawn["area_km2"] == feature["properties"]["area_km2"] == pytest.approx(km2, rel=1e-3)
    assert f" {drawn['area_km2']:,.6g} km2" in text
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


def parts_of(mask, kind):
    """The number of each cell's part, 0 for none."""
    shape = {"cells": None, "segments": np.ones((3, 3))}
    return mask.astype(int) if kind == "no parts" else ndimage.label(mask, shape[kind])[0]


@pytest.mark.parametrize("kind", ("segments", "cells", "no parts"))
def test_cells_are_counted_as_they_are_written(kind):
    """34_012: parts are of cells that touch, along the cells of cells that share sides; without parts, of a level."""
    pytest.importorskip("shapely")
    rng = np.random.default_rng(34_012)
    options = {"segments": ("--outline", "segments"), "cells": (), "no parts": ("--no-parts",)}[kind]
    for k in range(400 if LONG else 4):
        values, least = rng.integers(0, 6, (9, 11)), float(rng.choice([0, 2, 3.5, 6, 20]))
        weights = rng.integers(0, 9, values.shape)
        np.savez("map.npz", raster=values, transform=(2, 0, 0, 0, -2, 0))
        np.savez("weights.npz", raster=weights, transform=(2, 0, 0, 0, -2, 0))
        expected, left_out = [], []
        for level in (4, 5):
            parts = parts_of(values >= level, kind)
            sizes = np.bincount(parts.ravel())
            kept = (parts > 0) & (4 * sizes[parts] >= least)
            small = (parts > 0) & ~kept
            left_out.append((len(np.unique(parts[small])), int(small.sum())))
            expected.append((int(kept.sum()), float(weights[kept].sum()), kept))
        given = (
            "map.npz",
            "--level",
            4,
            "--level",
            5,
            "--least",
            least,
            "--weights",
            "weights.npz",
            *options,
            "--json",
        )
        if not expected[0][0]:
            assert "in a part that is large enough" in refused(*given)
            continue
        bands = ("--bands", "-o", "bands.wkt") if k % 2 else ()
        levels = json.loads(done(*given, *bands))["levels"]
        if bands and expected[1][0]:
            band = expected[0][2] & ~expected[1][2]
            expected[0] = int(band.sum()), float(weights[band].sum()), band
        found = [(one["cells"], one["weights"]) for one in levels]
        assert found == [one[:2] for one in expected][: len(found)]
        assert [one["cells_area"] for one in levels] == [4 * cells for cells, _ in found]
        said = [(one["parts_left_out"], one["cells_left_out"]) for one in levels]
        assert said == left_out[: len(said)]


@needs("pyproj")
def test_nested_levels_and_bands():
    np.savez("hill.npz", raster=hill(), transform=(25, 0, 691_000, 0, -25, 5_335_000), crs="EPSG:32632")
    for option, labels in (
        ("--nested", [">= 60", ">= 80"]),
        ("--bands", [">= 60 to 80", ">= 80"]),
    ):
        done("hill.npz", "--level", 80, "--level", 60, option, "-o", "hill.geojson")
        outer, inner = features("hill.geojson")
        assert [one["properties"]["label"] for one in (outer, inner)] == labels
        apart = shapely.geometry.shape(outer["geometry"]).intersection(shapely.geometry.shape(inner["geometry"])).area
        assert (apart < 1e-12) == (option == "--bands")
    assert "need an output (-o) or a picture (--plot, --html)" in refused("hill.npz", "--level", 60, "--bands")
    assert "do not go together" in refused("hill.npz", "--level", 60, "--bands", "--nested", "-o", "a.wkt")


def test_transmitters_outside_of_the_map():
    np.savez("hill.npz", raster=hill(), transform=(25, 0, 691_000, 0, -25, 5_335_000))
    given = ("hill.npz", "--level", 80, "--transmitter", 691_100, 5_334_900, "--plot", "out.png")
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        done(*given)
    said = "--transmitter 11.5 48.1 and 1 more, outside of the map: x 691000 to 692125, y 5334000 to 5335000."
    with pytest.warns(InputWarning, match=said):
        done(*given, "--transmitter", 11.5, 48.1, "--transmitter", 0, 0)


def test_weights_and_windows():
    pytest.importorskip("pyproj")
    place = {"transform": (25, 0, 691_000, 0, -25, 5_335_000), "crs": "EPSG:32632"}
    np.savez("hill.npz", raster=hill(), **place)
    people = np.arange(40 * 45.0).reshape(40, 45)
    np.savez("people.npz", raster=people, **place)
    given = ("hill.npz", "--level", 80, "--level", 60, "--weights", "people.npz")
    levels = json.loads(done(*given, "--json"))["levels"]
    assert [one["weights"] for one in levels] == [people[hill() >= level].sum() for level in (80, 60)]
    levels = json.loads(done(*given, "--window", 10, 5, 20, 30, "--json"))["levels"]
    mask, part = hill()[10:30, 5:35], people[10:30, 5:35]
    assert [one["weights"] for one in levels] == [part[mask >= level].sum() for level in (80, 60)]
    bands = json.loads(done(*given, "--bands", "-o", "out.wkt", "--json"))["levels"]
    assert sum(one["weights"] for one in bands) == people[hill() >= 60].sum()
    assert "weights" in done(*given)
    np.savez("far.npz", raster=people, transform=(25, 0, 0, 0, -25, 0))
    np.savez("small.npz", raster=people[1:])
    for name, words in (("far.npz", "with its transform"), ("small.npz", "Got 'weight' of shape (39, 45)")):
        said = refused(*given[:-1], name, "-o", "not.wkt")
        assert words in said and "gdalwarp -te 691000 5334000 692125 5335000 -tr 25 25 -r sum" in said
    assert not Path("not.wkt").exists(), "nothing is written"
    assert "within 40 x 45 cells" in refused("hill.npz", "--level", 60, "--window", 0, 0, 41, 1)
    assert "The option --weights is for rasters" in refused("a.csv", "--level", 1, "--weights", "people.npz")


@pytest.mark.parametrize(
    ("model", "options"),
    (
        ("uma", ("--frequency", 3500)),
        ("umi", ()),
        ("okumura-hata", ()),
        ("cost231-hata", ()),
        ("wim", ("--pixel", 200)),
    ),
)
def test_models_of_maps(model, options):
    """Also with the frequency and the height that a model has by default, and on maps larger than its range."""
    facts = json.loads(done("--model", model, *options, "--size", 60, "--level", -90, "--json"))
    assert 10 < facts["levels"][0]["cells"] <= 60 * 60


@pytest.mark.parametrize("options", [(), ("--segments", 4, "--simplify", 0.1), ("--axis", "both")])
def test_points_have_one_number_of_vertices(options, monkeypatch):
    """The table, JSON, what was written and the picture's title count the rings' vertices, each once."""
    pytest.importorskip("matplotlib")
    from clgeom.plotting import hulls

    titles = []
    dress = hulls.dress
    monkeypatch.setattr(hulls, "dress", lambda ax, title, axes: [titles.append(title), dress(ax, title, axes)])
    np.savetxt("points.csv", np.random.default_rng(1).random((300, 2)), delimiter=",", header="x,y", comments="")
    text = done("points.csv", *options, "-o", "out.wkt", "--plot", "out.png")
    shape = shapely.from_wkt(Path("out.wkt").read_text().strip())
    polygons = [part for part in getattr(shape, "geoms", [shape]) if part.geom_type == "Polygon"]
    closing = sum(1 + len(part.interiors) for part in polygons)
    count = len(shapely.get_coordinates(shape)) - closing
    assert f"({count} vertices)" in text and text.splitlines()[-1].split()[2] == str(count)
    assert titles == [f"Adaptive region of 300 points: {count} vertices"]
    assert json.loads(done("points.csv", *options, "--json"))["regions"][0]["vertices"] == count


# Bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    (
        ((), "Name a FILE, or a --model"),
        (("hill.npy", "--model", "wim"), "Name a FILE, or a --model that computes a map, but not both"),
        (("hill.npy",), "needs one --level or more"),
        (("missing.npy", "--level", 1), "'missing.npy' cannot be read: No such file or directory"),
        (("hill.npy", "--level", "nan"), "'--level': 'nan' is not a finite number"),
        (("hill.npy", "--level", "high"), "'high' is not a valid float"),
        (("hill.npy", "--level", 500), "No cell of 'hill.npy' is >= 500: values are"),
        (
            ("hill.npy", "--level", 1, "--segments", 0),
            "The option --segments must be an integer from 1",
        ),
        (
            ("hill.npy", "--level", 1, "--holes", -1),
            "The option --holes must be the least area",
        ),
        (("hill.npy", "--level", 1, "--least", -1), "must be 0 or more"),
        (("hill.npy", "--level", 1, "--simplify", -1), "--simplify must be 0 or more"),
        (("hill.npy", "--level", 1, "--least", 1e9), "in a part that is large enough"),
        (("hill.npy", "--level", 1, "-o", "out.kmz"), "'out.kmz' must end in one of .csv, .fgb"),
        (("hill.npy", "--level", 1, "-o", "nowhere/out.wkt"), "there is no folder"),
        (("hill.npy", "--level", 1, "--plot", "out.bmp"), "must end in one of .pdf, .png, .svg"),
        (("hill.npy", "--level", 1, "--band", 3, "--array", "a"), "--array is for .npz, .nc and .zarr files"),
        (("hill.npy", "--level", 1, "--band", 2), "The array in 'hill.npy' has the maps 1 to 1. Got 2 instead."),
        (("unplaced.npz", "--level", 1, "--band", 0), "has the maps 1 to 1. Got 0 instead."),
        (("points.csv", "--band", 2), "The option --band is for rasters. Got the points of 'points.csv' instead."),
        (("hill.npy", "--level", 1, "-o", ""), "The output '' must end in one of .csv, .fgb"),
        (("points.csv", "-o", ""), "The output '' must end in one of .csv, .fgb"),
        (("hill.npy", "--level", 1, "--plot", ""), "The output '' must end in one of"),
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
            ("hill.npy", "--level", 30, "--level", 60, "--level", 60),
            "--level must name each level once. Got 60 twice",
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
        (("crs.npz", "--level", 1), "names an unknown coordinate reference system: 'nowhere'"),
        (("up.npz", "--level", 1), "names an unknown coordinate reference system: 'EPSG:5703'"),
        (
            ("unplaced.npz", "--level", 1),
            "has no transform: the position of its cells in 'EPSG:32632' is unknown",
        ),
        (("points.csv", "--level", 1, "--level", 1, "--value", "y"), "--level must name each level once"),
        (("points.csv", "--segments", 0), "The option --segments must be an integer"),
        (("empty.csv",), "The file 'empty.csv' has no points"),
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
    if "EPSG:1" in arguments or "unknown coordinate reference system" in words or "metres" in words:
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
    text = done("valley.npz", "--level", 300, "--direction", "<=", "--unit", "$m_$", "--least", 1e-5, *files)
    assert "<= 300 $m_$" in text


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
