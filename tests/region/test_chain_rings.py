"""Rings of many outlines by columns as arrays: the same as those of each region by itself, bit for bit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clgeom
from clgeom.hull.measures import polygon_area
from clgeom.hull.predicates import host_signs, orientation
from clgeom.region.arc.chain_geometry import parts_between
from clgeom.region.arc.result import Region
from clgeom.region.coverage.chain_rings import ring_areas, rings_of

TRANSFORMS = (None, (2.5, 0, 7, 0, -2.5, 90), (2, 1, 5, 0.5, 3, 7))


def straight(chain):
    """A chain without the vertices on the line between their neighbours, by fractions."""
    points = [tuple(map(Fraction, point)) for point in chain.tolist()]
    kept = [
        k in (0, len(points) - 1) or orientation(points[k - 1], points[k], points[k + 1]) != 0
        for k in range(len(points))
    ]
    return chain[kept]


def check(regions):
    """Compare arrays and regions with the chains that the device computed."""
    index = {key: i for i, key in enumerate(zip(regions._table[3].tolist(), regions._table[4].tolist()))}
    found = []
    for k, group in enumerate(regions._groups):
        made = rings_of(group.chains)
        areas = ring_areas(made.corners, made.offsets)
        for i in range(len(group.maps)):
            lower, upper = map(straight, group.chains[i])
            outline = Region(lower, upper, segments=1)
            region = regions[index[k, i]]
            assert region.outline.lower.tobytes() == lower.tobytes()
            assert region.outline.upper.tobytes() == upper.tobytes()
            parts = parts_between(lower, upper, None)
            assert [part.tobytes() for part in region.outline.parts] == [part.tobytes() for part in parts]
            assert areas[i] == outline.area == region.outline.area
            found.append((index[k, i], region, parts))
    rings = [ring for _, region, _ in sorted(found, key=lambda entry: entry[0]) for ring in region.rings]
    assert np.array_equal(regions.vertices, np.concatenate([np.empty((0, 2)), *rings]))
    assert regions.ring_offsets.tolist() == np.cumsum([0, *map(len, rings)]).tolist()
    assert regions.segments.tolist() == [region.segments for region in regions]
    return rings


@pytest.mark.settings("as_is", "as_gpu")
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.tuples(st.integers(1, 3), st.integers(1, 40), st.integers(1, 60)),
    share=st.floats(0, 1),
    segments=st.integers(1, 20),
    parts=st.booleans(),
    transform=st.sampled_from(TRANSFORMS),
)
def test_arrays_are_the_rings_of_regions(any_session, seed, size, share, segments, parts, transform):
    raster = np.random.default_rng(seed).random(size).astype(np.float32)
    options = {"segments": segments, "parts": parts, "device": any_session}
    regions = clgeom.raster_regions(clgeom.Raster(raster, transform), [share, 0.9], **options)
    check(regions)
    assert {len(values) for values in regions._columns().values()} == {len(regions)}


@pytest.mark.parametrize("holes", [None, 0])
def test_results_are_those_of_each_region(session, holes):
    shapely = pytest.importorskip("shapely")
    raster = np.random.default_rng(5).random((30, 60)) < 0.7
    placed = clgeom.Raster(raster, (3, 0, 500_000, 0, -3, 5_000_000), "EPSG:32632")
    regions = clgeom.raster_regions(placed, 1, segments=9, holes=holes, device=session)
    assert len(check(regions)) == len(regions)
    shapes = regions.to_shapely()
    assert all(shapely.equals_exact(shapes, [region.to_shapely() for region in regions]))
    columns, each = regions._columns(), [region.area for region in regions]
    assert columns["area"].tolist() == each and columns["cells"].tolist() == [region.cells for region in regions]
    assert regions.areas.tolist() == pytest.approx([region.outline.area * 9 for region in regions])
    if holes is None:
        pytest.importorskip("pyproj")
        assert regions.areas_km2.tolist() == pytest.approx([region.area_km2 for region in regions], rel=1e-12)
        lonlat = shapely.area(regions.in_degrees(regions.crs, caller="test").to_shapely())
        assert (lonlat > 0).all()


def test_files_of_regions_are_those_of_lists(session, tmp_path):
    pytest.importorskip("shapely")
    regions = clgeom.raster_regions(np.random.default_rng(6).random((20, 30)), [0.5, 0.9], device=session)
    from clgeom.io.features import write_regions

    for name in ("a.wkt", "a.csv"):
        regions.to_file(tmp_path / name)
        write_regions(list(regions), tmp_path / f"each-{name}")
        assert (tmp_path / name).read_bytes() == (tmp_path / f"each-{name}").read_bytes()


def test_outlines_along_both_axes_have_no_arrays(session):
    pytest.importorskip("shapely")
    regions = clgeom.raster_regions(np.eye(4) + np.eye(4)[::-1], 1, axis="both", device=session)
    assert regions.segments.tolist() == [region.segments for region in regions]
    with pytest.raises(clgeom.errors.InvalidInput, match="no arrays of vertices"):
        _ = regions.vertices


@given(st.lists(st.tuples(*[st.floats(0, 2**20, width=32)] * 2), min_size=3, max_size=12), st.integers(0, 40))
def test_areas_are_correctly_rounded(points, shift):
    """Also where fractions are finer than the sums hold, which integers decide."""
    corners = np.array(points, np.float32)
    corners[0] *= np.float32(2.0**-shift)
    x, y = ([Fraction(float(value)) for value in column] for column in corners.T)
    twice = sum(x[k - 1] * y[k] - x[k] * y[k - 1] for k in range(len(x)))
    if twice < 0:
        corners, twice = corners[::-1], -twice
    offsets = np.array([0, 0, len(points), 2 * len(points)])
    wanted = polygon_area(corners)
    if twice > 0:
        assert wanted == float(twice / 2)
        assert ring_areas(np.concatenate([corners, corners]), offsets).tolist() == [0.0, wanted, wanted]


@given(
    st.lists(st.tuples(*[st.integers(-(2**25), 2**25)] * 4), min_size=6, max_size=20),
    st.sampled_from((0, -30, 500, -520)),
    st.integers(0, 3),
)
def test_signs_that_floats_do_not_decide(lines, exponent, nudge):
    """Points on lines, and just off them: many at once, of any magnitude."""
    a = np.ldexp(np.array([(x, y) for x, y, _, _ in lines], np.float64), exponent)
    along = np.ldexp(np.array([(x, y) for _, _, x, y in lines], np.float64), exponent)
    b, c = a + along, a + 2 * along
    c[:, 1] += nudge * np.spacing(c[:, 1])
    wanted = [orientation(*triple) for triple in zip(a.tolist(), b.tolist(), c.tolist())]
    assert host_signs(a, b, c).tolist() == wanted
