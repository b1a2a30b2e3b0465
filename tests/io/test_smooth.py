"""Smooth outlines for presentation."""

import json

import numpy as np
import pytest

import clgeom
from clgeom.errors import InvalidInput
from clgeom.geo.smooth import smoothed

shapely = pytest.importorskip("shapely")


def test_corners_are_cut():
    box = shapely.box(0, 0, 4, 4)
    once, kept = smoothed([box], 1)[0], smoothed([box], 0)[0]
    assert kept.equals(box) and once.area == 14 and len(once.exterior.coords) == 9
    ring = box.difference(shapely.box(1, 1, 2, 2))
    both = smoothed([shapely.MultiPolygon([ring, shapely.box(9, 9, 13, 13)]), box], 1)
    assert both[0].area == 14 - 0.875 + 14 and both[1].equals(once)


@pytest.mark.parametrize("seed", range(3))
def test_smooth_polygons_are_valid_and_near(seed):
    values = np.random.default_rng(seed).random((30, 40))
    found = clgeom.raster_outlines(values, 0.5)
    for exact, shape in zip(found.to_shapely(), smoothed(found.to_shapely(), 2)):
        assert shape.is_valid and shapely.hausdorff_distance(exact, shape) < 8
        assert abs(shape.area - exact.area) <= 0.25 * exact.length


def test_files_and_pictures_are_smooth(tmp_path):
    raster = clgeom.Raster(np.eye(9)[:, ::-1] + np.eye(9), (0.5, 0, 7, 0, -0.5, 50), "EPSG:4326")
    for found in (clgeom.raster_outlines(raster, 1), clgeom.raster_regions(raster, 1)):
        exact, smooth = (found.to_file(tmp_path / f"{rounds}.geojson", smooth=rounds) for rounds in (0, 2))
        assert smooth.vertices == 4 * exact.vertices
        one, other = (json.loads((tmp_path / f"{rounds}.geojson").read_text())["features"] for rounds in (0, 2))
        assert [part["properties"] for part in one] == [part["properties"] for part in other]
        assert all(shapely.geometry.shape(part["geometry"]).is_valid for part in other)
        found.to_file(tmp_path / "a.wkt", smooth=1)
        if pytest.importorskip("matplotlib"):
            found.plot(smooth=2)
        for wrong in (-1, 7, 1.5, "2"):
            with pytest.raises(InvalidInput, match="must be a number of rounds from 0 to 6"):
                found.to_file(tmp_path / "b.wkt", smooth=wrong)
    assert not (tmp_path / "b.wkt").exists()
