"""Regions of points in chunks: equal to those of all points at once, however they are cut."""

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from effort import thinned
from hypothesis import given
from hypothesis import strategies as st
from point_chunks import allowed, cut, same_region

import clgeom
from clgeom import adaptive_region
from clgeom.errors import InvalidInput
from clgeom.intake.chunks import Chunks
from clgeom.region.arc import chunked


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOUDS)
def test_regions_of_all_clouds(subtests, session, name, dtype):
    if not allowed(session, dtype):
        return
    points = cloud(name, 600, dtype)
    chunks = Chunks(cut(points, 1, 100, 350), max_bytes=1 << 14)
    ways = (("count", "x", 9), ("width", "x", 30), ("count", "y", 40), ("width", "y", 1))
    for cuts, axis, segments in thinned(ways, 1 if dtype == np.float32 else 3):
        with subtests.test(cuts=cuts, axis=axis, segments=segments):
            expected = adaptive_region(points, segments, cuts=cuts, axis=axis, device=session)
            same_region(adaptive_region(chunks, segments, cuts=cuts, axis=axis, device=session), expected)
            if cuts == "width":
                bounds = (*points.min(axis=0), *points.max(axis=0))
                options = {"cuts": cuts, "axis": axis, "bounds": bounds, "device": session}
                same_region(adaptive_region(iter(chunks), segments, **options), expected)
                same_region(adaptive_region(points, segments, **options), expected)


@given(
    name=st.sampled_from(sorted(CLOUDS)),
    n=st.integers(0, 300),
    places=st.lists(st.integers(0, 300), max_size=6),
    way=st.sampled_from(("list", "function", "mapped", "bounds", "bounds of an iterator")),
    cuts=st.sampled_from(("count", "width")),
    segments=st.integers(1, 50),
    max_bytes=st.sampled_from((1, 1 << 14, 1 << 28)),
)
def test_regions_however_cut(session, tmp_path_factory, name, n, places, way, cuts, segments, max_bytes):
    points, options = cloud(name, n, np.float32), {"cuts": cuts, "device": session}
    if way == "mapped":
        path = tmp_path_factory.mktemp("points") / "points.npy"
        np.save(path, points)
        points = np.load(path, mmap_mode="r")
    parts = cut(points, *places)
    if way.startswith("bounds"):
        low, high = (points.min(axis=0), points.max(axis=0)) if n else ((0, 0), (1, 1))
        options |= {"cuts": "width", "bounds": (*low, *high)}
    source = {"function": lambda: iter(parts), "bounds of an iterator": iter(parts)}.get(way, parts)
    found = adaptive_region(Chunks(source, max_bytes=max_bytes), segments, **options)
    same_region(found, adaptive_region(np.asarray(points), segments, **options))


@pytest.mark.parametrize("bits", (1, 3))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("disc", "duplicates", "signed_zeros", "one_point", "mixed_magnitudes"))
def test_order_statistics_by_many_passes(monkeypatch, name, dtype, bits):
    monkeypatch.setattr(chunked, "PART_BITS", bits)
    monkeypatch.setattr(chunked, "LEAST_KEYS", 4)
    points = cloud(name, 300, dtype)
    chunks = Chunks(cut(points, 70, 200), max_bytes=1)
    passes = chunked.Passes(chunks, "raise", "test")
    kept, low, high = passes.facts()
    ranks = [k * kept // 25 for k in range(1, 25)]
    for column in (0, 1):
        found = chunked.order_statistics(passes, column, low[column], high[column], ranks)
        np.testing.assert_array_equal(found, np.sort(points[:, column])[ranks])


def test_regions_along_both_axes(session):
    points = cloud("clusters", 800, np.float32)
    bounds = (*points.min(axis=0), *points.max(axis=0))
    for cuts, chunks, more in (
        ("count", Chunks(cut(points, 300)), {}),
        ("width", Chunks(cut(points, 300)), {}),
        ("width", iter(cut(points, 300)), {"bounds": bounds}),
    ):
        expected = adaptive_region(points, 12, cuts=cuts, axis="both", device=session)
        found = adaptive_region(chunks, 12, cuts=cuts, axis="both", device=session, **more)
        same_region(found.x, expected.x)
        same_region(found.y, expected.y)
        assert found.peak.host_bytes > 0


def test_bounds_beyond_the_points(session):
    points = cloud("disc", 500, np.float32)
    wide = adaptive_region(iter(cut(points, 100)), 8, cuts="width", bounds=(-9, -9, 9, 9), device=session)
    assert wide.segments == 2  # all are within one unit of the origin
    corners = np.array([(-9, -9), (9, 9)], np.float32)
    cuts = np.digitize(points[:, 0], np.linspace(-9, 9, 9)[1:-1])
    assert len(np.unique(cuts)) == 2 and corners.dtype == points.dtype
    assert all(wide.contains(points))


def test_refused_regions(session):
    points = cloud("disc", 100, np.float32)
    for chunks, options, said in (
        (iter([points]), {}, "adaptive_region reads the chunks several times for the cuts, and an iterator"),
        (iter([points]), {"cuts": "width"}, "several times unless cuts='width' and bounds are given"),
        (points, {"bounds": (0, 0, 1, 1)}, "'bounds' parameter .* must be left out unless cuts is 'width'"),
        (points, {"cuts": "width", "bounds": (0, 0, 1)}, "'bounds' parameter of adaptive_region must be"),
        (points, {"cuts": "width", "bounds": (1, 0, 0, 1)}, "'bounds' parameter of adaptive_region must be"),
        (points, {"cuts": "width", "bounds": (0, 0, np.nan, 1)}, "'bounds' parameter"),
        (points, {"cuts": "width", "bounds": (-2, -2, 0, 2)}, r"must hold all points. Got .* at index \[\d+, 0\]"),
        (Chunks([points]), {"assume_sorted": True}, "'assume_sorted' parameter .* must be False for chunks"),
    ):
        with pytest.raises(InvalidInput, match=said):
            adaptive_region(chunks, 4, device=session, **options)
    if session.profile.fp64:
        mixed = iter([points, points.astype(np.float64)])
        with pytest.raises(InvalidInput, match="must have one type where bounds are given. Got float32 and float64"):
            adaptive_region(mixed, 4, cuts="width", bounds=(-2, -2, 2, 2), device=session)
        both = [points[:50], points[50:].astype(np.float64)]
        expected = adaptive_region(np.concatenate(both), 7, device=session)
        same_region(adaptive_region(Chunks(both), 7, device=session), expected)


@pytest.mark.parametrize("change", ("fewer", "other"))
def test_chunks_that_change_between_readings(session, change):
    points, readings = cloud("disc", 200, np.float32), []

    def source():
        readings.append(1)
        if len(readings) == 1:
            return iter([points])
        return iter([points[:-1]] if change == "fewer" else [points * 2])

    said = "200 points first, then 199" if change == "fewer" else "200 points first, then 200 with other coordinates"
    with pytest.raises(InvalidInput, match=f"changed between two readings: {said}"):
        adaptive_region(Chunks(source), 5, device=session)


def test_empty_regions(session):
    for chunks in ([], [np.empty((0, 2), np.float32)] * 2):
        found = adaptive_region(Chunks(chunks), 3, device=session)
        assert len(found) == 0 and found.n == 0 and found.segments == 0
    assert len(clgeom.adaptive_region(iter([]), 3, cuts="width", bounds=(0, 0, 1, 1), device=session)) == 0
