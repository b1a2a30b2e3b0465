"""`clgeom region` of several rasters, of what was gained and lost between two, and of rasters clipped to areas."""

import json

import numpy as np
import pytest
from region_commands import done, frame_of, here, hill, needs, refused

import clgeom

assert here
PLACE, CRS = (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0), "EPSG:32632"
DAY, LATER = hill(30), np.roll(hill(30), 4, axis=1)


@pytest.fixture(autouse=True)
def files(here):
    for name, values in (("day", DAY), ("later", LATER)):
        np.savez(f"{name}.npz", values=values, transform=PLACE, crs=CRS, unit="dBm")
    np.savez("far.npz", values=DAY[:20], transform=(5.0, 0.0, 509_000.0, 0.0, -5.0, 5_000_000.0), crs=CRS)
    np.savez("zone.npz", values=DAY, transform=PLACE, crs="EPSG:32633")
    ring = [
        (500_000, 5_000_000),
        (500_200, 5_000_000),
        (500_200, 4_999_700),
        (500_000, 4_999_700),
        (500_000, 5_000_000),
    ]
    system = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32632"}}
    feature = {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}}
    with open("area.geojson", "w") as file:
        json.dump({"type": "FeatureCollection", "crs": system, "features": [feature]}, file)


@needs("pyogrio", "pyarrow", "geopandas", "shapely")
@pytest.mark.parametrize("outline", ("cells", "segments"))
def test_several_rasters_go_into_one_file_with_their_names(outline):
    levels = ("--level", 60, "--level", 80, "--outline", outline)
    text = done("day.npz", "later.npz", "far.npz", *levels, "-o", "all.gpkg")
    assert "rasters    3" in text and "\nday\n" in text and "\nfar\n" in text
    frame = frame_of("all.gpkg")
    assert frame["id"].tolist() == list(range(1, len(frame) + 1)) and set(frame["name"]) == {"day", "later", "far"}
    for name in ("day", "later", "far"):
        done(f"{name}.npz", *levels, "-o", "one.gpkg")
        own, alone = frame[frame["name"] == name], frame_of("one.gpkg")
        assert own.geometry.to_wkb().tolist() == alone.geometry.to_wkb().tolist()
        assert own["cells"].tolist() == alone["cells"].tolist() and own["dbm"].isna().all() == (name == "far")
    done("day.npz", "later.npz", *levels, "-o", "all.geojson", "--json")
    kept = json.loads(open("all.geojson").read())["features"]
    assert [one["properties"]["name"] for one in kept] == frame["name"][frame["name"] != "far"].tolist()
    facts = json.loads(done("day.npz", "later.npz", *levels, "--json"))
    assert [one["name"] for one in facts["rasters"]] == ["day", "later"]
    assert facts["rasters"][0]["levels"][1]["cells"] == np.count_nonzero(DAY >= 80)


@needs("pyogrio", "matplotlib")
def test_several_rasters_that_do_not_go_together_are_refused(here):
    assert "zone.npz' is in 'EPSG:32633', and 'day.npz' in 'EPSG:32632'" in refused(
        "day.npz", "zone.npz", "--level", 60, "-o", "a.gpkg"
    )
    for picture in ("a.html", "a.png"):
        option = "--html" if picture == "a.html" else "--plot"
        said = refused("day.npz", "zone.npz", "--level", 60, option, picture)
        assert "'day.npz' in 'EPSG:32632'. Warp one of them" in said
    assert "The option --compare is for one FILE; run the command for each. Got 2 FILEs" in refused(
        "day.npz", "later.npz", "--level", 60, "--compare", "a.png"
    )
    (here / "points.csv").write_text("x,y\n1,2\n")
    assert "Several FILEs must be rasters" in refused("day.npz", "points.csv", "--level", 60, "-o", "a.gpkg")
    assert "missing.npz' cannot be read" in refused("day.npz", "missing.npz", "--level", 60, "-o", "a.gpkg")
    assert not list(here.glob("a.*"))
    assert "No cell of 'day.npz' is >= 999" in refused("day.npz", "later.npz", "--level", 999)


@needs("pyogrio", "shapely", "matplotlib", "pyproj")
def test_several_rasters_are_drawn_and_measured_together(here, monkeypatch):
    drawn = []
    monkeypatch.setattr("clgeom.plotting.coverage.save_coverage_plot", lambda shapes, path, **how: drawn.append(shapes))
    levels = ("--level", 60, "--level", 80, "--crs", "EPSG:32633", "--least", 500)
    pictures = ("--html", "map.html", "--plot", "map.png", "--smooth", 1)
    facts = json.loads(done("day.npz", "far.npz", *levels, *pictures, "--metrics", "--profile", "--json"))
    for name, own in zip(("day", "far"), facts["rasters"]):
        alone = json.loads(done(f"{name}.npz", *levels, "--metrics", "--profile", "--json"))
        assert own["crs"] == "EPSG:32633" and own["metrics"] == alone["metrics"] and own["levels"] == alone["levels"]
        assert [one["name"] for one in own["phases"]] == [one["name"] for one in alone["phases"]]
    labels = [f"{name}, >= {level}" for level in (80, 60) for name in ("day", "far")]
    (shapes,) = drawn
    counts = {level: sum(one["levels"][k]["regions"] for one in facts["rasters"]) for k, level in enumerate((60, 80))}
    assert [label.removesuffix(" dBm") for label in shapes] == [
        f"{name}, >= {level}" for name in ("day", "far") for level in (80, 60)
    ]
    page = (here / "map.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert "of 2 rasters" in page and [one["label"] for one in data["levels"]] == labels
    assert len(data["features"]) == sum(map(len, shapes.values())) == sum(counts.values())


@needs("pyogrio", "pyarrow", "geopandas", "shapely", "matplotlib")
def test_what_was_gained_and_lost_since_another_day():
    outputs = ("-o", "change.gpkg", "--html", "change.html", "--plot", "change.png")
    text = done("later.npz", "--before", "day.npz", "--level", 60, *outputs)
    frame = frame_of("change.gpkg")
    was, now = DAY >= 60, LATER >= 60
    counts = frame.groupby("name")["cells"].sum().to_dict()
    assert counts == {"gained": (now & ~was).sum(), "lost": (was & ~now).sum()}
    assert frame.area.sum() == 100 * (was ^ now).sum() and (frame["label"] == ">= 60 dBm").all()
    assert ">= 60 dBm  gained" in text and "gained, >= 60 dBm" in open("change.html", encoding="utf-8").read()
    facts = json.loads(done("later.npz", "--before", "day.npz", "--level", 60, "--least", 1500, "--json"))
    assert sum(one["regions"] for one in facts["changes"]) == (frame["cells"] >= 15).sum()
    assert "was gained or lost" in refused("day.npz", "--before", "day.npz", "--level", 60)
    assert "--iou does not go together with --before" in refused(
        "day.npz", "--before", "day.npz", "--level", 60, "--iou", 0.9
    )
    assert "--before and FILE must have the same cells" in refused("day.npz", "--before", "far.npz", "--level", 60)


@needs("pyogrio", "pyarrow", "shapely")
def test_a_raster_is_clipped_to_an_area():
    facts = json.loads(done("day.npz", "--level", 60, "--clip", "area.geojson", "--json"))
    assert facts["levels"][0]["cells"] == np.count_nonzero(DAY[:, :20] >= 60)
    both = json.loads(done("day.npz", "later.npz", "--level", 60, "--clip", "area.geojson", "--json"))
    assert both["rasters"][0]["levels"][0]["cells"] == facts["levels"][0]["cells"]
    change = json.loads(done("later.npz", "--before", "day.npz", "--level", 60, "--clip", "area.geojson", "--json"))
    assert change["changes"][1]["cells"] == np.count_nonzero((DAY >= 60)[:, :20] & ~(LATER >= 60)[:, :20])
    assert "outside of 'area.geojson'" in refused("far.npz", "--level", 60, "--clip", "area.geojson")
    assert "nothing.gpkg" in refused("day.npz", "--level", 60, "--clip", "nothing.gpkg")


def test_the_functions_say_the_same():
    day, later = (clgeom.Raster(values, PLACE, CRS) for values in (DAY, LATER))
    change = clgeom.coverage_change(day, later, 60)
    assert change.cells.sum() == ((DAY >= 60) ^ (LATER >= 60)).sum()
