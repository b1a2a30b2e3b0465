"""Coverage regions against their definition: every cell covered, valid, parts, holes, levels, stacks, bad input."""

import math

import numpy as np
import pytest
import reference.coverage as reference
import shapely
from covered import SHAPES, picture
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.radio import shadowing
from clgeom.region.coverage.measures import hull_of, measure
from clgeom.region.coverage.outlines import mask_polygons
from clgeom.region.coverage.regions import coverage_regions


def check(found, cells, k, cuts="count"):
    """That a region is what its definition says, and covers its cells exactly."""
    shape, effective = reference.region(cells, k, cuts)
    made = found.to_shapely(cells=True) if not found.holes else shapely.Polygon(found.outline.polygon)
    assert made.is_valid and made.geom_type == "Polygon"
    assert found.segments == effective
    assert made.symmetric_difference(shape).area < 1e-3 * (1 + found.grid.shape[0] / 100)
    rows, columns = np.array(sorted(cells)).T
    for i in (0, 1):
        for j in (0, 1):
            assert found.outline.contains(np.stack([columns + i, rows + j], axis=1).astype(np.float64)).all()
    assert found.cells is None or found.cells == len(cells)


# One region a level ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_outline_is_its_definition(subtests, session, name):
    mask = picture(name)
    cells = [tuple(cell) for cell in np.argwhere(mask).tolist()]
    for k, cuts in ((1, "count"), (3, "count"), (7, "width"), (100, "count")):
        with subtests.test(k=k, cuts=cuts):
            (found,) = coverage_regions(mask, 1, segments=k, cuts=cuts, parts=False, device=session)
            check(found, cells, k, cuts)
    (one,) = coverage_regions(mask, 1, segments=1, parts=False, device=session)
    assert one.area == hull_of(mask).area


@pytest.mark.parametrize("name", SHAPES)
def test_parts_are_their_definition(session, name):
    mask = picture(name, seed=3)
    parts = reference.parts_of(mask)
    found = coverage_regions(mask, 1, segments=5, device=session)
    assert len(found) == len(parts) and found.parts.tolist() == list(range(len(parts)))
    for region, cells in zip(found, parts):
        check(region, cells, 5)


@given(mask=hnp.arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9))), k=st.integers(1, 12))
def test_any_small_mask(session, mask, k):
    whole = coverage_regions(mask, 1, segments=k, parts=False, device=session)
    cells = [tuple(cell) for cell in np.argwhere(mask).tolist()]
    assert len(whole) == 1 and bool(whole[0]) == bool(cells)
    if cells:
        check(whole[0], cells, k)
    cut = coverage_regions(mask, 1, segments=k, holes=0, device=session)
    parts = reference.parts_of(mask)
    assert [region.cells for region in cut] == [len(part) for part in parts]
    holes = reference.holes_of(mask)
    assert sum(len(region.holes) for region in cut) == len(holes)
    for region, part in zip(cut, parts):
        check(region, part, k)
        shape = region.to_shapely()
        assert shape.is_valid and shape.area == pytest.approx(region.area)
        middles = np.array(sorted(part))[:, ::-1] + 0.5
        assert region.contains(middles).all()
        assert shape.buffer(1e-9).covers(reference.boxes(part))
    together = shapely.union_all([region.to_shapely() for region in cut])
    assert not cells or together.buffer(1e-9).covers(reference.boxes(cells))
    if holes:
        middles = np.array([(c + 0.5, r + 0.5) for hole in holes for r, c in hole])
        owners = [region for region in cut if region.holes]
        own = np.array(
            [min(r.area for r in owners if shapely.Polygon(r.exterior).covers(shapely.Point(m))) for m in middles]
        )
        inside = np.array([r.contains(middles) for r in owners])
        areas = np.array([r.area for r in owners])
        assert not inside[(areas[:, None] == own)].any()


@given(mask=hnp.arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9))), k=st.integers(1, 12))
def test_both_axes_of_any_small_mask(session, mask, k):
    """The intersection of the regions of columns and of rows; parts are the same, however they are numbered there."""
    cells = [tuple(cell) for cell in np.argwhere(mask).tolist()]
    for how in ({"parts": False}, {"parts": False, "holes": 0}, {"holes": 0, "outline": "segments"}):
        found = coverage_regions(mask, 1, segments=k, axis="both", device=session, **how)
        sets = reference.parts_of(mask) if "parts" not in how else [cells]
        assert len(found) == len(sets)
        for region, part in zip(found, sets):
            assert bool(region) == bool(part)
            if not part:
                continue
            across = shapely.transform(reference.region([(c, r) for r, c in part], k)[0], lambda xy: xy[:, ::-1])
            expected = reference.region(part, k)[0].intersection(across)
            outline = shapely.union_all([shapely.Polygon(ring) for ring in region.rings])
            assert outline.symmetric_difference(expected).area < 2e-3
            rows, columns = np.array(sorted(part)).T
            for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
                assert region.outline.contains(np.stack([columns + i, rows + j], axis=1).astype(np.float64)).all()
            shape = region.to_shapely()
            assert shape.is_valid and shape.area == pytest.approx(region.area, abs=1e-6)
            assert reference.boxes(part).difference(shape).area < 1e-9
            assert region.axis == "both" and len(region) == sum(map(len, region.rings)) and repr(region)


@pytest.mark.settings("as_is", "as_gpu")
def test_both_axes_of_stacks(any_session):
    stack = np.stack([shadowing((61, 83), correlation=8, seed=s) for s in range(3)])
    options = {"segments": 9, "axis": "both", "device": any_session}
    for how in ({"parts": False}, {}):
        found = coverage_regions(stack, (2, 7), **options, **how)
        plain = coverage_regions(stack, (2, 7), segments=9, device=any_session, **how)
        assert (found.maps == plain.maps).all() and (found.parts == plain.parts).all()
        for a, b in zip(found, plain):
            np.testing.assert_array_equal(a.outline.x.lower, b.outline.lower)
            assert a.area <= b.area * (1 + 1e-9) and a.cells == b.cells
        np.testing.assert_allclose(found.areas, [region.area for region in found])
        masks = stack[found.maps[-1]] >= found[-1].level
        last = [r for r in found if r.map == found.maps[-1] and r.level == found[-1].level]
        assert measure(last, masks, hausdorff=False).missed == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("levels", ((5, 9), (9, 5)))
def test_both_axes_of_wide_maps_beside_empty_ones(session, levels):
    """Wide regions are apart from empty ones in columns, but together with them in rows."""
    stack = np.zeros((3, 5, 80), np.uint8)
    stack[:, 1:4] = 5
    options = {"segments": 64, "axis": "both", "parts": False, "holes": 0, "device": session}
    areas = coverage_regions(stack, levels, **options).areas
    assert areas.tolist() == [region.area for region in coverage_regions(stack, levels, **options)]
    assert areas.tolist() == [240.0 * (level == 5) for level in levels] * 3


def test_regions_in_several_pieces(session):
    mask = np.zeros((40, 40), bool)
    mask[[2, 37, 20], [2, 37, 20]] = True
    mask[5:9, 30:36] = True
    (found,) = coverage_regions(mask, 1, segments=40, axis="both", parts=False, device=session)
    assert len(found.rings) > 1 and found.__geo_interface__["type"] == "MultiPolygon"
    with pytest.raises(InvalidInput, match="pieces: see CoverageRegion.rings"):
        found.exterior
    assert found.bounds == (2, 2, 38, 38) and found.simplify(1).area >= found.area


def test_levels_and_stacks_are_single_calls_in_order(any_session):
    stack = np.stack([shadowing((61, 83), correlation=8, seed=s) for s in range(2)])
    levels = (-4, 8, 0, 2.5, -9, 30, 3)
    together = coverage_regions(stack, levels, segments=6, parts=False, device=any_session)
    assert len(together) == 2 * 7
    assert together.maps.tolist() == np.repeat(range(2), 7).tolist()
    assert together.levels.tolist() == list(range(7)) * 2
    areas = together.areas
    for i, region in enumerate(together):
        (alone,) = coverage_regions(stack[region.map], region.level, segments=6, parts=False, device=any_session)
        np.testing.assert_array_equal(region.exterior, alone.exterior)
        assert areas[i] == pytest.approx(alone.area, rel=1e-12) and region.segments == alone.segments
    parts = coverage_regions(stack, levels, segments=6, device=any_session)
    order = list(zip(parts.maps.tolist(), parts.levels.tolist(), parts.parts.tolist()))
    assert order == sorted(order) and len(set(order)) == len(order)
    for map_, level in ((0, 2), (1, 6)):
        mine = [r for r in parts if r.map == map_ and r.level == levels[level]]
        alone = coverage_regions(stack[map_], levels[level], segments=6, device=any_session)
        assert len(mine) == len(alone)
        for a, b in zip(mine, alone):
            np.testing.assert_array_equal(a.exterior, b.exterior)


def test_whole_masks_with_holes_are_those_without(session):
    stack = np.stack([shadowing((61, 83), correlation=8, seed=s) for s in range(3)])
    plain = coverage_regions(stack, (0, 5), parts=False, device=session)
    cut = coverage_regions(stack, (0, 5), parts=False, holes=3, device=session)
    for a, b in zip(plain, cut):
        np.testing.assert_array_equal(a.exterior, b.exterior)
        mask = stack[b.map] >= b.level
        holes = [hole for hole in reference.holes_of(mask) if len(hole) >= 3]
        assert sorted(hole.cells for hole in b.holes) == sorted(map(len, holes))
        shape = b.to_shapely()
        assert shape.is_valid
        exact = mask_polygons(mask)
        assert exact.difference(shape).area == pytest.approx(0, abs=1e-6)


def test_devices_agree_bit_for_bit(any_session, session):
    raster = shadowing((150, 170), correlation=12, seed=9)
    one = coverage_regions(raster, (0, 6), segments=16, device=any_session)
    other = coverage_regions(raster, (0, 6), segments=16, device=session)
    assert len(one) == len(other)
    for a, b in zip(one, other):
        assert a.exterior.tobytes() == b.exterior.tobytes()


@pytest.mark.settings("small_allocations")
def test_labels_larger_than_an_allocation(any_session, session):
    raster = np.random.default_rng(3).integers(0, 200, (640, 700)).astype(np.uint8)
    raster[200:400, 200:400] = 200
    small = coverage_regions(raster, (198, 199, 200), device=any_session, outline="segments")
    whole = coverage_regions(raster, (198, 199, 200), device=session, outline="segments")
    assert [r.cells for r in small] == [r.cells for r in whole] and (small.areas == whole.areas).all()


@pytest.mark.settings("small_allocations")
def test_rasters_larger_than_an_allocation(any_session, session):
    raster = shadowing((340, 801), correlation=60, seed=2, dtype=np.float32)
    for how in ({"parts": False}, {"holes": 4}):
        small = coverage_regions(raster, (2, 9), device=any_session, **how)
        whole = coverage_regions(raster, (2, 9), device=session, **how)
        assert len(small) == len(whole)
        for a, b in zip(small, whole):
            np.testing.assert_array_equal(a.exterior, b.exterior)
            assert a.area == b.area


def test_more_segments_are_tighter_when_cuts_nest(session):
    raster = shadowing((200, 256), correlation=25, seed=4)
    areas = [coverage_regions(raster, 0, segments=1 << k, parts=False, device=session)[0].area for k in range(1, 8)]
    assert areas[-1] < areas[0]
    lines = coverage_regions(np.ones((5, 255), bool), 1, segments=512, parts=False, device=session)[0]
    assert lines.segments == 256  # the effective number: one a grid line


# Degenerate and bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raster", (np.zeros((4, 5)), np.full((4, 5), np.nan), np.full((4, 5), -200.0)))
def test_nothing_covered(session, raster):
    """An empty mask, all NaN, or a level outside the data: an empty region, or no part."""
    raster = raster.astype(np.float32)
    whole = coverage_regions(np.stack([raster, raster + 300]), (50, 40), parts=False, device=session)
    assert len(whole) == 4 and not whole[0] and len(whole[0]) == 0 and whole[0].segments == 0
    assert whole[0].area == 0 and math.isnan(whole[0].bounds[0]) and "empty" in repr(whole[0])
    assert whole[0].to_shapely().is_empty and not whole[0].contains([(1, 1)]).any()
    assert whole[0].__geo_interface__ == {"type": "Polygon", "coordinates": ()}
    assert len(coverage_regions(raster, 50, device=session, outline="segments")) == 0
    assert len(coverage_regions(raster, 50, holes=0, device=session, outline="segments")) == 0


def test_one_pixel_one_column_one_row(session):
    pixel = np.zeros((5, 7), bool)
    pixel[2, 3] = True
    for how in ({"outline": "segments"}, {"parts": False}, {"holes": 0, "outline": "segments"}):
        (found,) = coverage_regions(pixel, 1, device=session, **how)
        assert sorted(found.exterior.tolist()) == [[3, 2], [3, 3], [4, 2], [4, 3]]
        assert found.segments == 2 and found.area == 1
    (column,) = coverage_regions(np.ones((9, 1), bool), 1, segments=64, device=session)
    assert column.area == 9 and len(column) == 4
    (row,) = coverage_regions(np.ones((1, 300), bool), 1, segments=64, device=session)
    assert row.area == 300 and row.segments == 64 and len(row) == 4
    (cell,) = coverage_regions([[5]], 5, device=session, outline="segments")
    assert cell.area == 1


@pytest.mark.parametrize(
    ("kwargs", "words"),
    (
        ({"raster": np.ones(5)}, r"'raster' .* must have shape \(rows, columns\) or .* Got \(5,\) instead"),
        ({"raster": np.ones((0, 5))}, r"none of them 0\. Got \(0, 5\) instead"),
        ({"raster": [[1, 2], [3]]}, "'raster' parameter of coverage_regions must be an array of numbers"),
        ({"raster": np.array([["a"]])}, "'raster' .* must hold numbers. Got <U1"),
        ({"raster": np.array([[1j]])}, "'raster' .* must hold numbers. Got complex128"),
        ({"raster": np.array([[2**60]])}, r"must hold integers within 2\*\*53"),
        ({"levels": None}, "'levels' .* must be one or more numbers. Got None instead"),
        ({"parts": "no"}, "'parts' parameter of coverage_regions must be True or False. Got 'no' instead"),
        ({"profile": "x"}, "'profile' parameter of coverage_regions must be True or False. Got 'x' instead"),
        ({"levels": []}, r"'levels' .* must be one or more numbers. Got \[\] instead"),
        ({"levels": "high"}, "'levels' .* must be one or more numbers"),
        ({"levels": [1, math.nan]}, "'levels' .* must be finite. Got nan instead"),
        ({"levels": math.inf}, "'levels' .* must be finite. Got inf instead"),
        (
            {"levels": np.ma.MaskedArray([1.0, 2.0], [0, 1])},
            "'levels' .* must have no masked entries. Got 1 of them instead",
        ),
        ({"direction": ">"}, "'direction' .* must be one of '>=', '<='. Got '>' instead"),
        ({"segments": 0}, "'segments' .* must be an integer from 1. Got 0 instead"),
        ({"segments": 2.5}, "'segments' .* Got 2.5 instead"),
        ({"segments": True}, "'segments' .* Got True instead"),
        ({"axis": "y"}, "'axis' .* must be one of 'x', 'both'. Got 'y' instead"),
        ({"cuts": "area"}, "'cuts' .* must be one of 'count', 'width'. Got 'area' instead"),
        ({"holes": -1}, "'holes' .* must be the least area of a hole, 0 or more. Got -1 instead"),
        ({"holes": "big"}, "'holes' .* Got 'big' instead"),
        ({"nodata": "none"}, "'nodata' .* must be a number. Got 'none' instead"),
        ({"transform": (1, 0, 0, 0, 0, 0)}, "'transform' .* must be 6 finite numbers"),
        ({"transform": (1, 0, 0)}, "'transform' .* must be 6 finite numbers"),
        ({"transform": (1, 0, math.nan, 0, 1, 0)}, "'transform' .* must be 6 finite numbers"),
        ({"transform": "north-up"}, "'transform' .* must be 6 finite numbers"),
        ({"transform": (1e-200, 0, 0, 0, 1e-200, 0)}, "'transform' .* a e - b d other than 0"),
        (
            {"transform": (1e200, 0, 0, 0, 1e200, 0)},
            "coordinates that float64 holds and tells apart.*3 x 3 cells",
        ),
        ({"transform": (1, 0, 1e17, 0, -1, 0)}, "coordinates that float64 holds and tells apart"),
        (
            {"transform": (1, 1, 0, 1, 1.0000000000000002, 0)},
            "coordinates that float64 holds and tells apart",
        ),
        ({"transform": np.arange(100_000)}, r"Got array\(.{0,200}\.\.\. instead|Got array\(.* instead"),
    ),
)
def test_coverage_regions_refuses(session, kwargs, words):
    with pytest.raises(InvalidInput, match=words):
        coverage_regions(**{"raster": np.ones((3, 3)), "levels": 1, "device": session, **kwargs})


def test_float64_rasters_need_a_device_with_float64(session):
    from clgeom.core.device import Session

    with pytest.raises(DeviceLimit, match="coverage_regions needs float64"):
        coverage_regions(np.ones((3, 3)), 1, device=Session(session.device, fp64=False), outline="segments")
