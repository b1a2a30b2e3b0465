"""`clgeom region` along the cells: budgets, files, facts and errors."""

import json
from pathlib import Path

import numpy as np
import pytest
import shapely
from region_commands import done, features, here, hill, needs, refused

from clgeom.region.coverage.regions import coverage_regions

__all__ = ["here"]
pytestmark = needs("shapely", "pyproj")


@pytest.fixture
def rough(here):
    values = hill(60) + np.random.default_rng(1).normal(0, 12, (60, 65)).astype(np.float32)
    np.savez("map.npz", values=values, transform=(5.0, 0, 691_000, 0, -5, 5_335_500), crs="EPSG:32632")
    return values


def test_budgets_imply_polygons_along_the_cells(rough):
    for arguments, options in (
        (["--outline", "cells"], {}),
        (["--iou", 0.9], {"iou": 0.9}),
        (["--tolerance", 7.5], {"tolerance": 1.5}),
        (["--vertices", 700], {"vertices": 700}),
        (["--part-vertices", 200], {"part_vertices": 200}),
    ):
        facts = json.loads(done("map.npz", "--level", 40, "--level", 70, "--json", "-o", "out.geojson", *arguments))
        wanted = coverage_regions(rough, (40, 70), outline="cells", **options)
        for k, row in enumerate(facts["levels"]):
            own = wanted.levels == k
            assert row["regions"] == own.sum() and row["cells"] == wanted.cells[own].sum()
            assert row["vertices"] == len(wanted.select(own).corners)
            assert row["area"] == pytest.approx(25 * wanted.areas[own].sum())
            assert row["area_km2"] == pytest.approx(row["area"] / 1e6, rel=2e-3)
            assert row["cells_km2"] <= row["area_km2"] * (1 + 1e-9)
        found = features("out.geojson")
        assert len(found) == len(wanted) and facts["written"]["added"] == 0
        assert facts["written"]["vertices"] == len(wanted.corners)
        assert [one["properties"]["cells"] for one in found] == wanted.cells.tolist()
        assert sorted(found[0]["properties"]) == sorted(
            "id level unit label direction map part cells cells_area area area_km2 fill fill-opacity stroke "
            "stroke-width stroke-opacity".split()
        )


def test_geojson_covers_the_cells_and_nests_on_the_earth(rough):
    import pyproj

    done("map.npz", "--level", 40, "--level", 70, "--iou", 0.85, "-o", "out.geojson")
    shapes = np.array([shapely.geometry.shape(one["geometry"]) for one in features("out.geojson")])
    levels = np.array([one["properties"]["level"] for one in features("out.geojson")])
    assert shapely.is_valid(shapes).all()
    assert shapely.is_ccw(shapely.get_exterior_ring(shapes)).all()
    to_degrees = pyproj.Transformer.from_crs("EPSG:32632", "EPSG:4326", always_xy=True)
    for level in (40, 70):
        at = np.argwhere(rough >= level)[:, ::-1]
        inner = np.concatenate([at + 0.5, at + (1e-6, 1e-6), at + (1 - 1e-6, 1e-6), at + 1 - 1e-6])
        places = np.stack(to_degrees.transform(691_000 + 5 * inner[:, 0], 5_335_500 - 5 * inner[:, 1]), axis=1)
        tree = shapely.STRtree(shapes[levels == level])
        assert len(np.unique(tree.query(shapely.points(places), predicate="intersects")[0])) == len(places)
    low, high = (shapely.union_all(shapes[levels == level]) for level in (40, 70))
    assert low.covers(high)


def test_other_files_and_pictures(rough):
    pytest.importorskip("pyogrio")
    for name in ("out.parquet", "out.gpkg", "out.wkt", "out.kml"):
        done("map.npz", "--level", 40, "--iou", 0.9, "-o", name, "--plot", "out.png")
        assert (np.fromfile(name, np.uint8).size > 1000) and np.fromfile("out.png", np.uint8).size > 1000
    done("map.npz", "--level", 40, "--level", 70, "--iou", 0.9, "--bands", "-o", "bands.geojson")
    assert len(features("bands.geojson")) == 2
    text = done("map.npz", "--level", 40, "--iou", 0.9, "--least", 250, "--metrics")
    assert "regions" in text and "IoU" in text


def test_small_parts_are_left_out(rough):
    facts = json.loads(done("map.npz", "--level", 40, "--outline", "cells", "--least", 100, "--json"))
    cells = coverage_regions(rough, 40, outline="cells").cells
    assert facts["levels"][0]["regions"] == np.count_nonzero(cells >= 4)
    assert facts["levels"][0]["cells"] == cells[cells >= 4].sum()


def test_budgets_are_met_without_small_parts(here):
    values = np.zeros((40, 80), np.float32)
    values[::2, :40:2] = 1  # cells that share no sides
    values[:, 50:52] = values[::4, 50:75] = 1
    np.save("ones.npy", np.ones_like(values))
    arguments = ("--level", 1, "--iou", 0.6, "--least", 50, "-o", "comb.geojson", "--crs", "EPSG:32632")
    np.savez("comb.npz", values=values, transform=(5.0, 0, 691_000, 0, -5, 5_335_500))
    row = json.loads(done("comb.npz", *arguments, "--weights", "ones.npy", "--metrics", "--json"))
    (level,), metrics = row["levels"], row["metrics"][1]
    comb = np.count_nonzero(values[:, 50:])
    assert level["regions"] == 1 and level["cells"] == level["weights"] == metrics["mask_area"] == comb
    assert level["cells_km2"] == pytest.approx(25e-6 * comb, rel=2e-3)
    assert 0.6 <= level["cells_area"] / level["area"] == pytest.approx(metrics["iou"]) and metrics["missed"] == 0
    (written,) = features("comb.geojson")
    assert written["properties"]["cells"] == comb and 25 * comb / written["properties"]["area"] >= 0.6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--iou", 2], "option --iou must be above 0"),
        (["--vertices", 3], "option --vertices must be at least"),
        (["--part-vertices", 3], "option --part-vertices must be at least"),
        (["--tolerance", -1], "option --tolerance must be"),
        (["--outline", "segments", "--iou", 0.9], "option --iou is for polygons along the cells (--outline cells)"),
        (["--iou", 0.9, "--axis", "both"], "option --axis is for outlines of segments (--outline segments)"),
        (["--iou", 0.9, "--segments", 8], "option --segments is for outlines of segments"),
        (["--outline", "cells", "--cuts", "width"], "option --cuts is for outlines of segments"),
        (["--outline", "cells", "--no-parts"], "option --no-parts is for outlines of segments"),
        (["--outline", "cells", "--holes", 9], "--holes must be 0 along the cells, where all holes are cut out. Got 9"),
        (["--iou", 0.9, "--densify", 0], "option --densify must be a distance above 0. Got 0"),
        (["--iou", 0.9, "--densify", "nan"], "'--densify': 'nan' is not a finite number"),
        (["--iou", 0.9, "--simplify", 2], "--simplify is for outlines of segments"),
    ],
    ids=str,
)
def test_bad_options(rough, arguments, message):
    assert message in refused("map.npz", "--level", 40, "-o", "out.geojson", *arguments)
    assert not list(Path().glob("out.*"))


def test_budgets_are_for_rasters():
    np.savetxt("points.csv", np.random.default_rng(0).random((50, 2)), delimiter=",")
    assert "--iou is for rasters" in refused("points.csv", "--iou", 0.9)


def test_longitude_and_latitude_need_a_system():
    np.save("plain.npy", hill())
    message = refused("plain.npy", "--level", 40, "--iou", 0.9, "-o", "out.geojson")
    assert "the input has no transform: the coordinates are columns and rows" in message
    assert "no transform: the coordinates are columns and rows" in done("plain.npy", "--level", 40)
    np.savez("placed.npz", raster=hill(), transform=(25, 0, 691_000, 0, -25, 5_335_000))
    assert "no coordinate reference system: name it (--crs" in refused("placed.npz", "--level", 40, "-o", "out.geojson")


def test_several_numbers_of_segments_are_compared(rough):
    rows = json.loads(done("map.npz", "--level", 40, "--segments", "4,16", "--json"))["resolutions"]
    assert [row["segments"] for row in rows] == [4, 16] and all(row["missed"] == 0 for row in rows)
    assert "IoU" in done("map.npz", "--level", 40, "--segments", "4,16")
    assert "whole numbers" in refused("map.npz", "--level", 40, "--segments", "4,few")
    assert "do not go together with -o" in refused("map.npz", "--level", 40, "--segments", "4,16", "-o", "out.wkt")
