"""Coverage regions on maps: transforms, simplified outlines, square kilometres, nested shapes and bands."""

import itertools

import numpy as np
import pytest
import shapely
from covered import picture
from device_settings import imposed_session

from clgeom.core.launch import read
from clgeom.errors import InvalidInput
from clgeom.radio import shadowing
from clgeom.region.coverage.bands import nested
from clgeom.region.coverage.outlines import mask_polygons
from clgeom.region.coverage.rasters import Stack
from clgeom.region.coverage.regions import coverage_regions


def test_pieces_of_maps_are_all_of_them(session):
    """Whole maps, or rows of one map: each once, in pieces that an allocation holds."""
    rng = np.random.default_rng(36)
    for limit, rows, columns in ((1 << 16, 20, 30), (1 << 16, 100, 200), (1 << 16, 170, 700), (300_000, 60, 150)):
        small = imposed_session(session.device, max_alloc_bytes=limit)
        maps = rng.integers(0, 1 << 30, (17, rows, columns)).astype(np.int32)
        stack = Stack(small, "test", maps.dtype, *maps.shape, maps)
        for first, count, halo in ((0, 17, 0), (5, 12, 0), (3, 1, 1)):
            found = []
            for piece in stack.pieces(first, count, halo=halo):
                n = piece.maps * piece.rows * columns
                assert 4 * n <= limit
                cells = read(small, piece.buffer, maps.dtype, n, piece.start).reshape(piece.maps, piece.rows, columns)
                own_maps = range(piece.first_map, piece.first_map + piece.maps)
                own_rows = range(piece.first_row, piece.first_row + piece.rows)
                np.testing.assert_array_equal(cells, maps[np.ix_(own_maps, own_rows)])
                found += itertools.product(own_maps, own_rows)
            assert found == list(itertools.product(range(first, first + count), range(rows)))


@pytest.mark.parametrize(
    "transform",
    (
        (25.0, 0, 690_000, 0, -25.0, 5_340_000),
        (25.0, 0, 0, 0, 25.0, 0),
        (3.0, 4.0, 10, 4.0, -3.0, 20),
        (0, 2.0, 5, 1.0, 0, 7),
    ),
    ids=("north-up", "south-up", "turned", "swapped"),
)
def test_transforms_also_those_that_turn(session, transform):
    mask = picture("ring")
    (cells,) = coverage_regions(mask, 1, segments=9, parts=False, holes=0, device=session)
    (found,) = coverage_regions(mask, 1, segments=9, parts=False, holes=0, transform=transform, device=session)
    a, b, c, d, e, f = transform
    x, y = cells.exterior.T
    expected = shapely.Polygon(np.stack([a * x + b * y + c, d * x + e * y + f], axis=1))
    assert shapely.Polygon(found.exterior).equals(expected)
    assert shapely.is_ccw(shapely.LinearRing(found.exterior))
    assert found.area == cells.area * abs(a * e - b * d) and found.to_shapely().is_valid
    rows, columns = np.nonzero(mask)
    middles = np.stack([columns + 0.5, rows + 0.5], axis=1) @ np.array([[a, d], [b, e]]) + (c, f)
    assert found.contains(middles).all()
    rows, columns = np.nonzero(~mask)
    outside = ~cells.contains(np.stack([columns + 0.5, rows + 0.5], axis=1))
    middles = np.stack([columns + 0.5, rows + 0.5], axis=1) @ np.array([[a, d], [b, e]]) + (c, f)
    np.testing.assert_array_equal(found.contains(middles), ~outside)
    least, *_ = found.bounds
    assert least == found.exterior[:, 0].min()


def test_affine_objects_are_transforms(session):
    class Affine(tuple):
        pass

    (found,) = coverage_regions(
        np.ones((2, 3)), 1, transform=Affine((2, 0, 100, 0, -2, 50, 0, 0, 1)), device=session, outline="segments"
    )
    assert found.bounds == (100, 46, 106, 50) and found.transform == (2, 0, 100, 0, -2, 50)


def test_simplify_covers_and_has_fewer_vertices(session):
    raster = shadowing((300, 300), correlation=40, seed=1)
    (found,) = coverage_regions(raster, 0, segments=128, parts=False, transform=(5, 0, 0, 0, -5, 0), device=session)
    simple = found.simplify(20)
    assert len(simple) < len(found) and simple.area >= found.area
    assert shapely.Polygon(simple.exterior).buffer(1e-6).covers(shapely.Polygon(found.exterior))


def test_areas_in_square_kilometres(session):
    pytest.importorskip("pyproj", reason="areas on the earth need pyproj")
    mask = np.ones((100, 200), bool)
    mask[40:60, 50:60] = False
    utm = coverage_regions(
        mask,
        1,
        transform=(10, 0, 690_000, 0, -10, 5_340_000),
        crs="EPSG:32632",
        holes=0,
        device=session,
        outline="segments",
    )[0]
    assert utm.area_km2 == pytest.approx(2 - 0.02, rel=1e-3)  # and no nearer: the scale there is not 1
    feet = coverage_regions(
        mask, 1, transform=(10, 0, 0, 0, -10, 0), crs="EPSG:2263", device=session, outline="segments"
    )[0]
    assert feet.area_km2 == pytest.approx(2 * 0.3048006096**2, rel=1e-2)
    half = coverage_regions(
        np.ones((180, 180), bool), 1, transform=(1, 0, 0, 0, -1, 90), crs=4326, device=session, outline="segments"
    )[0]
    assert half.area_km2 == pytest.approx(510_065_622 / 2, rel=1e-6)
    degree = coverage_regions(
        np.ones((1, 1), bool), 1, transform=(1, 0, 11, 0, -1, 49), crs="EPSG:4326", device=session, outline="segments"
    )[0]
    assert degree.area_km2 == pytest.approx(8218, rel=1e-3)
    with pytest.raises(InvalidInput, match="area_km2 needs a coordinate reference system, and there is none"):
        coverage_regions(mask, 1, device=session, outline="segments")[0].area_km2
    with pytest.raises(InvalidInput, match="must be a coordinate reference system.* Got 'EPSG:1'"):
        coverage_regions(mask, 1, transform=(1, 0, 0, 0, 1, 0), crs="EPSG:1", device=session, outline="segments")[
            0
        ].area_km2


@pytest.mark.parametrize("options", ({"segments": 16}, {"segments": 16, "axis": "both"}, {"outline": "cells"}), ids=str)
def test_areas_in_square_kilometres_by_all_names(session, options):
    """A region, all regions and the table have the same areas, which are missing where no system places them."""
    pytest.importorskip("geopandas", reason="tables of geometries")
    mask = np.zeros((40, 40), bool)
    mask[2:20, 3:30] = mask[25:38, 5:17] = True
    mask[8:14, 10:20] = False
    place = {"transform": (10, 0, 690_000, 0, -10, 5_340_000)}
    for holes in ({}, {"holes": 0}):
        found = coverage_regions(mask, 1, crs="EPSG:32632", **place, **options, **holes, device=session)
        assert len(found) == 2 and found.areas_km2.dtype == np.float64
        singles = [region.area_km2 for region in found]
        np.testing.assert_allclose(found.areas_km2, singles, rtol=1e-12)
        np.testing.assert_allclose(found.areas_km2, [region.area / 1e6 for region in found], rtol=1e-3)
        frame = found.to_geopandas()
        np.testing.assert_array_equal(frame["area_km2"], found.areas_km2)
        assert found[1].to_geopandas()["area_km2"].tolist() == pytest.approx([singles[1]], rel=1e-12)
    local = coverage_regions(mask, 1, **place, **options, device=session)
    assert local.to_geopandas()["area_km2"].isna().all()
    assert (local.to_geopandas(crs=32632)["area_km2"] > 0).all()
    with pytest.raises(InvalidInput, match="areas_km2 needs a coordinate reference system, and there is none"):
        local.areas_km2


def test_nested_shapes_and_bands(session):
    stack = np.stack([shadowing((60, 70), correlation=9, seed=s) for s in (0, 1)])
    for direction, levels in ((">=", (0, 4, 8)), ("<=", (0, -4, -8))):
        found = coverage_regions(stack, levels, direction=direction, segments=5, holes=2, device=session)
        shapes, bands = nested(found), nested(found, bands=True)
        assert [(one.map, one.level) for one in shapes] == [(m, level) for m in (0, 1) for level in levels]
        for outer, inner, band in zip(shapes, shapes[1:], bands):
            mask = stack[inner.map] >= inner.level if direction == ">=" else stack[inner.map] <= inner.level
            assert mask_polygons(mask).difference(inner.shape).area < 1e-6 and inner.cells == mask.sum()
            if outer.map == inner.map:
                assert inner.shape.difference(outer.shape).area < 1e-6
                assert (
                    band.to_shapely() is band.shape
                    and band.upto == inner.level
                    and band.area == pytest.approx(outer.area - inner.area, abs=1e-6)
                )
            assert band.shape.is_valid and repr(band)
    with pytest.raises(InvalidInput, match="of one direction"):
        nested([found[0], coverage_regions(stack, 0, device=session, outline="segments")[0]])
