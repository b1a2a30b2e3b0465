"""Right uses of the public names: type checkers find no fault with them, and they run."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import clgeom
from clgeom import dp, radio
from clgeom.dp import problems
from clgeom.errors import ClgeomError, InvalidInput

points = np.array([(0, 0), (4, 0), (4, 3), (1, 1), (0, 3)], np.float32)


def hulls() -> float:
    session = clgeom.default_session()
    hull = clgeom.convex_hull(points, collinear="keep", nonfinite="drop", device=session)
    assert_type(hull.vertices, NDArray[np.int64])
    assert_type(hull.area, float)
    assert hull.contains((1, 1)) and hull.contains(points).all()
    batch = clgeom.convex_hulls(points, [0, 3, 5], profile=True)
    assert_type(batch[0], clgeom.Hull)
    assert_type(batch[:1], list[clgeom.Hull])
    assert_type(batch.areas, NDArray[Any])
    labelled = clgeom.convex_hulls_by_label(points, ["a", "b", None, "a", "noise"], noise="noise")
    assert_type(labelled.left_out, int)
    assert_type(labelled.areas, NDArray[Any])
    seconds = sum(phase.seconds or 0.0 for phase in batch.phases)
    signs = clgeom.orient2d(points[0], points[1], points[2:])
    upper = clgeom.upper_hood(points[np.lexsort(points.T[::-1])], trace=True)
    stages = 0 if upper.stages is None else len(upper.stages)
    kept = clgeom.heaphull_filter(points).kept
    scipy_like = clgeom.ConvexHull(points)
    return hull.perimeter + seconds + float(signs.sum()) + stages + kept + scipy_like.volume


class Shared:
    """An array of another library."""

    def __dlpack__(self, *, stream: int | None = None) -> Any:
        return points.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return points.__dlpack_device__()


def objects() -> None:
    assert_type(clgeom.convex_hulls(Shared(), [0, 3, 5]).areas, NDArray[Any])
    assert clgeom.convex_hull(Shared()).contains(Shared()).all()
    assert clgeom.orient2d(Shared(), (0, 0), (1, 1)).shape == (5,)


def sorts(profile: bool) -> None:
    keys = np.array([3, 1, 2])
    assert_type(clgeom.sort(keys, descending=True), NDArray[Any])
    assert_type(clgeom.argsort([3.0, 1.0, 2.0]), NDArray[np.int64])
    assert_type(clgeom.sort_by_key(keys, keys), tuple[NDArray[Any], NDArray[Any]])
    profiled = clgeom.sort(keys, profile=True)
    assert_type(profiled.phases, tuple[clgeom.Phase, ...])
    clgeom.argsort(keys, profile=profile)
    result = clgeom.shellsort(keys, variant="A", gaps=[1])
    assert_type(result.keys, NDArray[Any])
    table = keys.reshape(1, 3)
    assert_type(clgeom.sort(table, axis=0), NDArray[Any])
    assert_type(clgeom.sort(table, 0, "stable"), NDArray[Any])
    assert_type(clgeom.argsort(table, 1, stable=True), NDArray[np.int64])
    assert_type(clgeom.argsort(table, axis=None, index_type="uint32"), NDArray[Any])
    assert_type(clgeom.lexsort((keys, [1, 1, 0]), index_type=np.uint32), Any)


def family() -> None:
    """What is built on sorts."""
    keys, there = np.array([3, 1, 3]), clgeom.default_session()
    first = clgeom.topk(keys, 2, largest=False, index_type="int64", device=there)
    assert_type(first, clgeom.TopK)
    values, indices = first
    assert values.tolist() == [1, 3] and indices.tolist() == [1, 0]
    assert clgeom.partition(keys, 1, axis=None)[1] == clgeom.partition(keys, [0, -1])[1] == 3
    assert clgeom.argpartition(keys, (0, 2), index_type="uint32").dtype == np.uint32
    assert clgeom.unique(keys, equal_nan=False).tolist() == [1, 3]
    assert clgeom.unique(keys.reshape(3, 1), axis=0).shape == (2, 1)
    found, at, counts = clgeom.unique(keys, return_inverse=True, return_counts=True, index_type="uint32")
    assert clgeom.take(found, at, mode="clip").tolist() == keys.tolist() and counts.dtype == np.uint32
    assert clgeom.take(keys.reshape(1, 3), [0, -1], axis=0).shape == (2, 3)
    assert clgeom.searchsorted(found, keys, side="right", sorter=[0, 1]).tolist() == [2, 1, 2]
    assert clgeom.bincount(keys, minlength=6, index_type=np.int64).tolist() == [0, 1, 0, 2, 0, 0]
    assert clgeom.bincount(keys, weights=[0.5, 1.0, 2.0]).tolist() == [0.0, 1.0, 0.0, 2.5]
    heights, edges = clgeom.histogram(keys, 2, range=(0.0, 4.0))
    assert heights.tolist() == [1, 2] and edges.tolist() == [0.0, 2.0, 4.0]
    assert clgeom.histogram(keys, [0, 2, 4], density=True)[0].sum() == 0.5


def regions() -> None:
    region = clgeom.adaptive_region(points, 2)
    assert_type(region, clgeom.Region)
    assert_type(clgeom.adaptive_region(points, 2, axis="both"), clgeom.CrossRegion)
    west, south, east, north = region.simplify(0.5).bounds
    raster = radio.coverage_map((32, 32), seed=1).values
    found = clgeom.coverage_regions(raster, [-80.0, -90.0], segments=8)
    assert_type(found[0], clgeom.CoverageRegion)
    polygons = clgeom.coverage_regions(raster, -80.0, outline="cells", iou=0.95)
    assert_type(polygons, clgeom.CoveragePolygons)
    assert_type(polygons[0], clgeom.CoveragePolygon)
    compared = clgeom.coverage_regions(raster, -80.0, segments=[8, 32], parts=False)
    assert_type(compared[1], clgeom.CoverageRegions)
    placed = clgeom.Raster(raster, transform=(20, 0, 0, 0, -20, 0), nodata=0.0)
    assert_type(clgeom.raster_regions(placed, -80.0), clgeom.CoverageRegions)
    assert_type(clgeom.raster_regions(placed, -80.0, segments=[8, 32]), clgeom.CoverageResolutions)
    assert_type(clgeom.raster_outlines(placed, [-80.0], iou=0.95), clgeom.CoveragePolygons)
    assert_type([part.area for part in found], list[float])
    place = clgeom.localize([found.at_level(-90.0), found.at_level(-80.0)])
    assert_type(place.centroid, tuple[float, float] | None)


def tables() -> None:
    @dp.equation(pattern="RUD")
    # as users write equations: without annotations
    def binomial(M, i, j):  # type: ignore[no-untyped-def]
        return dp.where((j == 0) | (j == i), 1, dp.where(j > i, 0, M[i - 1, j - 1] + M[i - 1, j]))

    assert_type(binomial, dp.Equation)
    table = dp.fill(binomial, (5, 5), keep="last")
    assert_type(table.last, NDArray[Any])
    assert_type(dp.infer_pattern(binomial, (5, 5)).best, str | None)
    found = problems.lcs("ABCBDAB", b"BDCABA", subsequence=False)
    assert_type(found.length, int)
    assert problems.knapsack([6, 10, 12], [1, 2, 3], 5).value == 22


def errors() -> None:
    try:
        clgeom.convex_hull([])
    except InvalidInput as error:
        base: ClgeomError = error
        assert "points" in str(base)
    loss = radio.free_space(1.0, frequency=900)
    assert loss > 0
    report = clgeom.conformance.run(lambda cloud: clgeom.convex_hull(cloud).vertices, families=["parabola"], n=50)
    assert not report.wrong


if __name__ == "__main__":
    hulls()
    objects()
    sorts(profile=False)
    family()
    regions()
    tables()
    errors()
