"""Contours of masks, what regions measure against them, and where regions have their cells in common."""

import math

import numpy as np
import pytest
import reference.coverage as reference
import shapely
from covered import SHAPES, picture
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from clgeom import adaptive_region, convex_hull
from clgeom.errors import InvalidInput
from clgeom.radio import shadowing
from clgeom.region.coverage.bands import nested
from clgeom.region.coverage.holes import trace, twice_area
from clgeom.region.coverage.outlines import mask_polygons
from clgeom.region.coverage.regions import coverage_regions
from clgeom.region.localize import localize, localize_masks
from clgeom.region.metrics import compare, measure

#: Cells of a metre.
METRES = (1, 0, 0, 0, 1, 0)


@given(mask=hnp.arrays(bool, st.tuples(st.integers(1, 8), st.integers(1, 8))))
def test_trace_bounds_the_cells(mask):
    rings = trace(mask)
    assert sum(twice_area(ring) for ring in rings) == 2 * np.count_nonzero(mask)
    for ring in rings:
        assert shapely.LinearRing(ring).is_simple
    shape = mask_polygons(mask)
    assert shape.is_valid and shape.equals(reference.boxes(np.argwhere(mask))) or not mask.any()


@pytest.mark.parametrize("name", SHAPES)
def test_measure(session, name):
    mask = picture(name)
    found = coverage_regions(mask, 1, segments=12, parts=False, device=session)
    metrics = measure(found, mask)
    assert metrics.missed == pytest.approx(0, abs=1e-9) and metrics.mask_area == np.count_nonzero(mask)
    assert metrics.superfluous == pytest.approx(found[0].area - metrics.mask_area, abs=1e-6)
    assert metrics.iou == pytest.approx(metrics.mask_area / found[0].area)
    assert metrics.superfluous_of_map == pytest.approx(metrics.superfluous / mask.size)
    assert metrics.vertices == len(found[0].exterior) and metrics.hausdorff >= 0
    boundaries = found[0].to_shapely().boundary, mask_polygons(mask).boundary
    assert metrics.hausdorff == pytest.approx(shapely.hausdorff_distance(*boundaries))
    lost = measure(shapely.box(0, 0, 5, 5), mask)
    assert lost.missed == np.count_nonzero(mask) - np.count_nonzero(mask[:5, :5])


def test_measure_takes_what_has_a_shape(session):
    mask = np.ones((4, 4), bool)
    corners = np.float32([(0, 0), (4, 0), (4, 4), (0, 4)])
    for outline in (convex_hull(corners, device=session), adaptive_region(corners, 1, device=session)):
        assert measure(outline, mask).iou == measure([outline, outline], mask).iou == 1
    with pytest.raises(InvalidInput, match="must be regions or geometries. Got NoneType"):
        measure(None, mask)


def test_compare_leaves_out_what_is_not_there(session):
    raster = np.arange(30.0, dtype=np.float32).reshape(5, 6)
    hidden = np.ma.masked_array(raster, raster > 11)
    for known, options in ((hidden, {}), (np.where(raster > 11, 99, raster), {"nodata": 99})):
        rows = compare(known, 0, segments=(1,), parts=False, device=session, **options)
        assert [row["mask_area"] for row in rows] == [12, 12] and not any(row["missed"] for row in rows)


def test_measure_takes_nested_shapes_and_other_grids_are_refused(session):
    raster, transform = shadowing((40, 50), correlation=9, seed=3), (5.0, 2, 100, 2, -5.0, 900)
    found = coverage_regions(raster, (0, 4), segments=9, transform=transform, device=session)
    for shape in nested(list(found)):
        own = [region for region in found if region.level == shape.level]
        by_cells = measure(shape, raster >= np.float32(shape.level), hausdorff=False)
        assert by_cells.missed == pytest.approx(0, abs=1e-6)
        assert by_cells.area == pytest.approx(shape.area / found.grid.cell_area)
        assert by_cells.area <= measure(own, raster >= np.float32(shape.level), hausdorff=False).area + 1e-6
    for wrong in (found[0], list(found), nested(list(found))):
        with pytest.raises(InvalidInput, match=r"the shape of the region's raster, \(40, 50\). Got \(50, 40\)"):
            measure(wrong, (raster >= 0).T)


def test_measure_of_nothing_and_refusals(session):
    nothing = np.zeros((4, 4), bool)
    metrics = measure(shapely.Polygon(), nothing)
    assert metrics.iou == 1 and metrics.superfluous_of_mask == 0 and math.isnan(metrics.hausdorff)
    with pytest.raises(InvalidInput, match=r"'mask' parameter of measure must be bool"):
        measure(shapely.Polygon(), np.zeros((4, 4)))


def test_regions_beat_the_hull_on_a_map(session):
    rows = compare(shadowing((120, 120), correlation=20, seed=8), 2, segments=(1, 16, 64), parts=False, device=session)
    assert rows[0]["area"] == rows[1]["area"] and rows[3]["superfluous"] < 0.9 * rows[0]["superfluous"]
    assert all(row["missed"] == pytest.approx(0, abs=1e-6) for row in rows)


def scene(seed=0):
    """Three transmitters' received power on one map."""
    rows, columns = np.ogrid[:90, :110]
    places = ((20, 30), (60, 80), (70, 25))
    noise = [shadowing((90, 110), sigma=4, correlation=9, seed=seed + i) for i in range(3)]
    return np.stack([-np.hypot(rows - r, columns - c) + n for (r, c), n in zip(places, noise)])


def test_localize_contains_what_masks_have_in_common(session):
    stack, transform = scene(), (10.0, 0, 500, 0, -10.0, 900)
    found = coverage_regions(stack, -45, parts=False, segments=32, transform=transform, device=session)
    place, exact = localize(found), localize_masks(stack >= -45, transform=transform)
    hulls = localize(found, method="hulls")
    assert exact.area == np.count_nonzero((stack >= -45).all(axis=0)) * 100
    assert exact.area <= place.area <= hulls.area
    assert exact.shape.difference(place.shape).area < 1e-6
    assert place.shape.covers(shapely.Point(place.point)) and place.shape.is_valid
    assert place.distance(exact.centroid) < 60 and bool(place)
    by_parts = localize([coverage_regions(one, -45, segments=32, transform=transform, device=session) for one in stack])
    assert exact.area - 1e-6 <= by_parts.area <= place.area + 1e-6 and len(by_parts.parts) >= 1
    assert by_parts.__geo_interface__["type"] in ("Polygon", "MultiPolygon")


def test_localize_nowhere_and_in_several_parts():
    box = shapely.box
    assert not localize([box(0, 0, 1, 1), box(5, 5, 6, 6)])
    touching = localize([box(0, 0, 1, 1), box(1, 0, 2, 1)])
    assert not touching and touching.area == 0 and touching.centroid is None and touching.parts == []
    assert math.isnan(touching.distance((0, 0))) and repr(touching) == "Location(nowhere)"
    comb = shapely.union_all([box(0, 0, 10, 1), box(0, 0, 1, 5), box(4, 0, 7, 5)])
    parts = localize([comb, box(0, 3, 10, 4)])
    assert [part.area for part in parts.parts] == [3, 1] and "2 parts" in repr(parts)
    assert localize([comb, box(0, 3, 10, 4)], method="hulls").area > parts.area


def test_localize_takes_one_system_by_any_name(session):
    pyproj = pytest.importorskip("pyproj", reason="it knows which systems are the same")
    names = ("EPSG:32632", 32632, pyproj.CRS(32632), "epsg:32632")
    found = [
        coverage_regions(np.ones((3, 3)), 1, transform=METRES, crs=crs, device=session, outline="segments")[0]
        for crs in names
    ]
    assert localize(found).area == 9


def test_localize_refuses(session):
    one = coverage_regions(np.ones((3, 3)), 1, transform=METRES, crs="EPSG:32632", device=session, outline="segments")[
        0
    ]
    other = coverage_regions(
        np.ones((3, 3)), 1, transform=METRES, crs="EPSG:32633", device=session, outline="segments"
    )[0]
    with pytest.raises(InvalidInput, match="must be two regions or more. Got 1 instead"):
        localize([one])
    plain = coverage_regions(np.ones((3, 3)), 1, device=session, outline="segments")[0]
    for pair in ([one, other], [one, plain], [[one], [plain, plain]], nested([one]) + nested([plain])):
        with pytest.raises(InvalidInput, match="in one coordinate reference system. Got .* and .* instead"):
            localize(pair)
    assert localize([plain, plain]).area == 9 and localize([one, one.to_shapely()]).area == 9
    with pytest.raises(InvalidInput, match="must be regions or geometries. Got int instead"):
        localize([one, 5])
    with pytest.raises(InvalidInput, match="must be one of 'regions', 'hulls'. Got 'boxes' instead"):
        localize([one, one], method="boxes")
    with pytest.raises(InvalidInput, match=r"'masks' parameter of localize_masks must be bool"):
        localize_masks(np.ones((2, 3, 3)))
