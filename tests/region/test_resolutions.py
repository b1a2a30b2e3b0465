"""Regions of several resolutions in one call: the same as one by one, with one read of the raster, and their table."""

import numpy as np
import pytest
from covered import picture
from reference.coverage import mask_polygons as reference_polygons

from clgeom.errors import InvalidInput
from clgeom.radio import shadowing
from clgeom.region.coverage.outlines import mask_polygons
from clgeom.region.coverage.regions import coverage_regions
from clgeom.region.metrics import measure

HOW = ({}, {"parts": False}, {"axis": "both"}, {"holes": 0}, {"parts": False, "axis": "both"})


@pytest.mark.parametrize("how", HOW, ids=str)
def test_each_resolution_is_as_alone(subtests, session, how):
    maps = np.stack([shadowing((40, 55), correlation=6, seed=seed) for seed in (1, 2)])
    found = coverage_regions(maps, (-3.0, 2.0), segments=[1, 7, 90], device=session, **how)
    assert found.segments == (1, 7, 90) and len(found) == 3 and "1, 7, 90 segments" in repr(found)
    for segments, made in zip(found.segments, found):
        with subtests.test(segments=segments):
            alone = coverage_regions(maps, (-3.0, 2.0), segments=segments, device=session, **how)
            assert np.array_equal(made.maps, alone.maps) and np.array_equal(made.levels, alone.levels)
            assert np.array_equal(made.parts, alone.parts) and np.array_equal(made.areas, alone.areas)
            for one, other in zip(made, alone):
                assert one.area == other.area and all(map(np.array_equal, one.rings, other.rings))


def test_the_raster_is_read_once(session):
    values = shadowing((50, 60), correlation=6, seed=1)
    for parts, kernel, times in ((False, "coverage_extents", 1), (True, "coverage_bits", 1)):
        found = coverage_regions(values, 0.0, segments=(4, 16), parts=parts, device=session)
        assert [phase.name for phase in found[0].phases].count(kernel) == times


def test_table_is_measured(session):
    values = shadowing((50, 60), correlation=6, seed=3)
    where = {"transform": (2, 0, 0, 0, -3, 0)}
    found = coverage_regions(values, (-3.0, 2.0), segments=[2, 30], device=session, **where)
    rows = found.table()
    assert [(row["segments"], row["level"]) for row in rows] == [(2, -3.0), (2, 2.0), (30, -3.0), (30, 2.0)]
    for row, made in zip(rows, (found[0], found[0], found[1], found[1])):
        own, mask = made.at_level(row["level"]), values >= row["level"]
        one = measure(own, mask, hausdorff=False, polygons=reference_polygons(mask))
        assert row["regions"] == len(own) and row["vertices"] == sum(map(len, own)) and row["missed"] == 0
        assert row["cells_area"] == 6 * mask.sum() and row["area"] == pytest.approx(6 * one.area)
        assert row["superfluous"] == pytest.approx(6 * one.superfluous) and row["iou"] == pytest.approx(one.iou)
    assert rows[2]["iou"] > rows[0]["iou"]
    assert found.to_pandas()["vertices"].tolist() == [row["vertices"] for row in rows]


def test_table_of_maps_on_the_device_and_of_nothing(session):
    import pyopencl.array as cl_array

    maps = np.stack([shadowing((30, 30), correlation=6, seed=seed) for seed in (1, 2)])
    there = cl_array.to_device(session.queue, maps)
    tables = [coverage_regions(raster, 0.0, segments=[3, 9], device=session).table() for raster in (maps, there)]
    assert tables[0] == tables[1] and tables[0][0]["cells_area"] == np.count_nonzero(maps >= 0)
    (row,) = coverage_regions(np.zeros((3, 4)), 1, segments=[5], device=session).table()
    assert row["regions"] == row["area"] == 0 and row["iou"] == 1


def test_exact_polygons_of_a_mask(session):
    for name in ("random", "ring", "diagonal", "pixels"):
        mask = picture(name)
        assert mask_polygons(mask, device=session).equals(reference_polygons(mask))
    assert mask_polygons(np.zeros((3, 3), bool)).is_empty


@pytest.mark.parametrize("segments", [[], [4, 4], [0, 3], [2.5], "many"], ids=str)
def test_bad_segments(session, segments):
    with pytest.raises(InvalidInput, match="'segments' parameter"):
        coverage_regions(np.ones((3, 3)), 1, segments=segments, device=session)
