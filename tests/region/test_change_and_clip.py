"""What coverage gained and lost, and rasters clipped to polygons, against plain references."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import clgeom
from clgeom.errors import InputWarning, InvalidInput

shapely = pytest.importorskip("shapely")
SMALL = st.tuples(st.integers(1, 7), st.integers(1, 9))


def cells_of(polygons, shape):
    """A mask of the cells of exact polygons."""
    mask = np.zeros(shape, bool)
    for shape in polygons.to_shapely(cells=True):
        rows, columns = np.indices(mask.shape) + 0.5
        mask |= shapely.contains_xy(shape, columns, rows)
    return mask


@settings(deadline=None, max_examples=12)
@given(st.data(), st.sampled_from((">=", "<=")))
def test_change_is_what_one_day_covers_alone(data, direction):
    shape = data.draw(SMALL)
    before, after = (data.draw(arrays(np.int8, shape, elements=st.integers(0, 3))) for _ in range(2))
    found = clgeom.coverage_change(before, after, [1, 3], direction=direction)
    assert found.grid.names == ("gained", "lost") and found.given == (1.0, 3.0)
    masks = set(zip(found.maps.tolist(), found.levels.tolist()))
    assert list(zip(found.maps.tolist(), found.levels.tolist())) == sorted(
        zip(found.maps.tolist(), found.levels.tolist())
    )
    for number, level in enumerate((1, 3)):
        was, now = (one >= level if direction == ">=" else one <= level for one in (before, after))
        for kind, expected in enumerate((now & ~was, was & ~now)):
            own = found.select((found.maps == kind) & (found.levels == number))
            assert (cells_of(own, shape) == expected).all() and own.cells.sum() == expected.sum()
            assert ((kind, number) in masks) == expected.any()


@pytest.mark.settings("as_is", "as_gpu")
def test_change_is_the_same_on_every_device(session):
    days = np.random.default_rng(2).normal(size=(2, 40, 50)).astype(np.float32)
    expected = clgeom.coverage_change(*days, [0, 1])
    found = clgeom.coverage_change(*days, [0, 1], device=session)
    assert found.to_wkb().tolist() == expected.to_wkb().tolist()
    assert (found.maps == expected.maps).all() and (found.levels == expected.levels).all()


def test_cells_without_data_are_gained_and_lost():
    old, new = np.array([[5.0, np.nan, 5.0]]), np.ma.masked_equal([[-9.0, 5.0, 5.0]], -9)
    frame = clgeom.coverage_change(old, clgeom.Raster(new, (2, 0, 0, 0, -2, 2), unit="dBm"), 5).to_pandas()
    assert frame[["name", "cells_area"]].to_numpy().tolist() == [["gained", 4.0], ["lost", 4.0]]


def test_rasters_of_other_cells_have_no_change():
    flat, place = np.ones((2, 3)), (1, 0, 0, 0, -1, 2)
    for other, words in (
        (np.ones((2, 4)), "Got 2 x 4 and 2 x 3 of them"),
        (clgeom.Raster(flat, (1, 0, 9, 0, -1, 2)), "Got the transforms"),
        (clgeom.Raster(flat, place, "EPSG:32633"), "Got 'EPSG:32633' and 'EPSG:32632'"),
        (np.ones((2, 2, 3)), "parameter of coverage_change must have one map. Got 2 of them"),
        (iter([flat]), "must be a whole raster"),
    ):
        with pytest.raises(InvalidInput, match=words):
            clgeom.coverage_change(other, clgeom.Raster(flat, place, "EPSG:32632"), 1)


def crossed(ring, x, y):
    """Parity of the edges that have a point on their right side or on them, in fractions."""
    odd = False
    for (ax, ay), (bx, by) in zip(ring, [*ring[1:], ring[0]]):
        if (ay <= y) != (by <= y):
            at = Fraction(ax) + (Fraction(y) - Fraction(ay)) * (Fraction(bx) - Fraction(ax)) / (
                Fraction(by) - Fraction(ay)
            )
            odd ^= at <= x
    return odd


PLACES = st.one_of(
    st.integers(-2, 20).map(lambda number: number / 2),
    st.floats(-5, 15),
    st.sampled_from((1e300, -1e300, 1e-300, 0.5 + 2**-52, 2.5 - 2**-51)),
)


@pytest.mark.filterwarnings("ignore:Of .* crosses itself")
@settings(deadline=None, max_examples=60)
@given(SMALL, st.lists(st.lists(st.tuples(PLACES, PLACES), min_size=3, max_size=6), min_size=1, max_size=3))
def test_a_cell_is_clipped_by_its_centre(shape, rings):
    polygon = {"type": "Polygon", "coordinates": [[*ring, ring[0]] for ring in rings]}
    kept = ~clgeom.clip_raster(np.ones(shape), polygon).values.mask
    for row, column in np.ndindex(shape):
        expected = sum(crossed(ring, column + 0.5, row + 0.5) for ring in rings) % 2
        assert kept[row, column] == expected, (row, column)


def test_districts_share_out_the_cells():
    """Triangles of points at centres and corners: each cell is in exactly one of them."""
    rng = np.random.default_rng(8)
    points = np.concatenate([rng.integers(0, 24, (60, 2)) / 2, [(0, 0), (12, 0), (0, 12), (12, 12)]])
    parts = shapely.get_parts(shapely.delaunay_triangles(shapely.MultiPoint(points)))
    place = (10.0, 0.0, 500.0, 0.0, -10.0, 900.0)
    moved = shapely.transform(parts, lambda at: at * (10, -10) + (500, 900))
    for raster, districts in ((np.ones((12, 12)), parts), (clgeom.Raster(np.ones((12, 12)), place), moved)):
        kept = [~clgeom.clip_raster(raster, one).values.mask for one in districts]
        assert (np.sum(kept, axis=0) == 1).all()
    assert not clgeom.clip_raster(
        np.ones((12, 12)), shapely.MultiPolygon(list(parts[:0]) + [shapely.box(0, 0, 12, 12)])
    ).values.mask.any()


def test_clips_by_files_and_other_systems(tmp_path):
    geopandas = pytest.importorskip("geopandas")
    raster = clgeom.radio.coverage_map((80, 90), pixel=50, seed=1, origin=(691_000, 5_335_500), crs="EPSG:32632")
    circle = shapely.Point(692_800, 5_333_900).buffer(1400).difference(shapely.Point(692_900, 5_333_900).buffer(300))
    frame = geopandas.GeoDataFrame(geometry=[circle, circle.buffer(-900)], crs="EPSG:32632")
    frame.to_file(tmp_path / "area.gpkg", layer="area")
    expected = clgeom.clip_raster(raster, frame)
    x, y = np.meshgrid(691_025 + 50 * np.arange(90), 5_335_475 - 50 * np.arange(80))
    assert (~expected.values.mask == shapely.contains_xy(frame.union_all(), x, y)).all()
    for other in (tmp_path / "area.gpkg", frame.to_crs(4326)):
        assert (clgeom.clip_raster(raster, other).values.mask == expected.values.mask).mean() > 0.999
    assert expected.crs == raster.crs and expected.unit == "dBm"
    whole, clipped = (clgeom.covered_area(one, -90)[0].cells for one in (raster, expected))
    assert clipped == np.count_nonzero(np.asarray(raster.values)[~expected.values.mask] >= -90) < whole


def test_large_files_are_clipped_as_they_are_read(tmp_path, monkeypatch):
    rasterio = pytest.importorskip("rasterio")
    values = np.random.default_rng(4).normal(size=(70, 60)).astype(np.float32)
    with rasterio.open(
        tmp_path / "a.tif",
        "w",
        driver="GTiff",
        count=1,
        dtype="float32",
        height=70,
        width=60,
        nodata=0,
        transform=rasterio.Affine(1, 0, 0, 0, -1, 70),
    ) as file:
        file.write(values, 1)
    circle = shapely.Point(30, 35).buffer(25)
    expected = clgeom.clip_raster(tmp_path / "a.tif", circle)
    monkeypatch.setattr("clgeom.intake.interop.strips.LARGE_BYTES", 1000)
    monkeypatch.setattr("clgeom.intake.interop.strips.STRIP_BYTES", 3000)
    found = clgeom.clip_raster(tmp_path / "a.tif", circle)
    assert not hasattr(expected.values, "thinned") and hasattr(found.values, "thinned")
    one, other = (clgeom.raster_outlines(clip, 0.2) for clip in (expected, found))
    assert one.to_wkb().tolist() == other.to_wkb().tolist() and len(one)


@pytest.mark.parametrize(
    "polygons, words",
    (
        ("area.csv", "must end in one of .gpkg"),
        ("area.gpkg", "cannot be read"),
        (7, "must be a file, geometries of Shapely or GeoPandas, or GeoJSON. Got 7"),
        ({"type": "Point", "coordinates": (0, 0)}, "must be geometries with polygons"),
        ({"type": "Polygon", "coordinates": [[1, 2, 3]]}, "must be valid GeoJSON"),
        ({"type": "Polygon", "coordinates": [[(0, 0), (1, np.inf), (2, 2)]]}, "must have finite vertices"),
    ),
)
def test_what_is_no_polygon_is_refused(polygons, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=words):
        clgeom.clip_raster(np.ones((3, 3)), polygons)


@pytest.mark.parametrize(
    "ring, crosses",
    (
        ([(0, 0), (6, 6), (6, 0), (0, 6)], "Self-intersection"),  # a bow tie
        ([(0, 0), (8, 0), (8, 8), (2, 8), (2, 2), (6, 2), (6, 6), (0, 6)], "Self-intersection"),  # a loop that overlaps
        ([(0, 0), (4, 4), (0, 8), (8, 8), (4, 4), (8, 0)], None),  # touches itself
        ([(0, 0), (8, 0), (8, 8), (0, 8)], None),
    ),
)
def test_a_polygon_that_crosses_itself_has_a_warning(ring, crosses):
    polygon = shapely.Polygon(ring)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        kept = ~clgeom.clip_raster(
            np.ones((9, 9)), shapely.MultiPolygon([shapely.box(0, 8, 1, 9), polygon])
        ).values.mask
    assert [one.category for one in found] == [InputWarning] * (crosses is not None)
    assert all("Of 2 polygons to clip to, number 2 crosses itself (Self-inter" in str(one.message) for one in found)
    for row, column in np.ndindex(kept.shape):
        expected = crossed(ring, column + 0.5, row + 0.5) or (row, column) == (8, 0)
        assert kept[row, column] == expected, (row, column)
