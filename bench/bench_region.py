"""Coverage regions of rasters and adaptive regions of points against other outlines, with superfluous and missed area.

    python bench/bench_region.py --json bench/results/region-pocl.json
    python bench/bench_region.py --what stack --device nvidia --maps 1000 --json bench/results/region-stack-h200.json
    python bench/bench_region.py --what points --sizes 16e6 --json bench/results/region-points-pocl.json
    python bench/bench_region.py --what published --json bench/results/region-published-pocl.json
    python bench/bench_region.py --what counts --json bench/results/region-counts-pocl.json

raster: one map of path loss with shadowing, one level; median milliseconds of whole calls from the NumPy array, the
number of vertices, and area relative to the covered cells: superfluous (outlined, not covered) and missed (covered, not
outlined). Outlines through the cells' centres (cv2) miss half a cell all round. Packages that would take minutes get
smaller maps only (--slow-limit).
stack: many maps on the device, four levels, outlines only. points: sorted float32 points, 4096 segments, against one
monotone chain over all points: in Python (timed on a sample, times n / sample) and compiled by Numba.
published: the setting of the ARC study's figures 27 to 30, sorted float32 points with 4 points for each segment: the
compiled chain; the naive and the local kernel, on the device only ("kernels") and as whole calls from NumPy ("call");
for comparison 4096 segments.
bench/report.py draws the figures of its record.
counts: operations for each access of global memory, and divergence, of kernels in that setting; see `arc_counts`.
Every outline is verified before anything is timed: ours cover every cell, or point, and lie in the convex hull of them
all; how much more than the cells they cover is in the record, not verified. Those of others are compared with the exact
outline of the cells, or with our convex hull.
"""

from __future__ import annotations

import argparse
import functools
import time

import common
import numpy as np
from agreement import check_hull
from arc_counts import count_rows

import clgeom
from clgeom import adaptive_region, coverage_regions
from clgeom.core.device import as_session
from clgeom.radio import coverage_map, shadowing
from clgeom.region.arc.study import region_by_kernel
from clgeom.region.coverage.measures import as_cells, hull_of, measure
from clgeom.region.coverage.outlines import mask_polygons

PACKAGES = ("shapely", "opencv-python-headless", "rasterio", "concave_hull", "numba")
LEVEL, TOLERANCE = -85.0, 2.0


# One raster -------------------------------------------------------------------------------------------------------


def ours(values, session, segments):
    """Calls of clgeom: name -> a callable that returns regions."""

    def call(**how):
        return lambda: coverage_regions(values, LEVEL, device=session, **how)

    def simplified():
        return [region.simplify(TOLERANCE) for region in call(segments=segments)()]

    large = values.size / 4000
    return {
        f"clgeom, one outline, {segments} segments": call(segments=segments, parts=False),
        f"clgeom, parts, {segments} segments": call(segments=segments),
        f"clgeom, parts, {4 * segments} segments": call(segments=4 * segments),
        f"clgeom, parts, {segments} segments of both axes": call(segments=segments, axis="both"),
        f"clgeom, parts, {segments} segments, simplify(2)": simplified,
        f"clgeom, parts and holes, {segments} segments": call(segments=segments, holes=large),
    }


def rivals(values, slow):
    """Calls of other packages by name, each with a function that makes a Shapely geometry of the result, not timed."""
    import shapely

    found = {}

    def polygons(rings, shift=0.0):
        shapes = [shapely.Polygon(np.asarray(r, np.float64) + shift).buffer(0) for r in rings if len(r) > 3]
        return shapely.union_all(shapes)

    try:
        import cv2

        def contours():
            mask = (values >= LEVEL).view(np.uint8)
            return cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]

        def simplified():
            return [cv2.approxPolyDP(ring, TOLERANCE, True) for ring in contours()]

        found["cv2.findContours"] = contours, lambda rings: polygons([r[:, 0] for r in rings], 0.5)
        found["cv2.findContours + approxPolyDP(2)"] = (
            simplified,
            lambda rings: polygons([r[:, 0] for r in rings], 0.5),
        )
    except ImportError:
        pass
    try:
        import rasterio.features

        def shapes():
            mask = values >= LEVEL
            return [shape for shape, _ in rasterio.features.shapes(mask.view(np.uint8), mask, connectivity=8)]

        def shapes_simplified():
            return [shapely.geometry.shape(shape).simplify(TOLERANCE) for shape in shapes()]

        found["rasterio.shapes"] = (
            shapes,
            lambda made: shapely.union_all([shapely.geometry.shape(shape).buffer(0) for shape in made]),
        )
        found["rasterio.shapes + simplify(2)"] = (
            shapes_simplified,
            lambda made: shapely.union_all([shape.buffer(0) for shape in made]),
        )
    except ImportError:
        pass

    def corners():
        return corners_of(values >= LEVEL)

    found["convex hull, chain in Python"] = lambda: chain(corners().tolist()), shapely.Polygon
    if slow:
        found["shapely.concave_hull(0.1)"] = (
            lambda: shapely.concave_hull(shapely.multipoints(corners()), ratio=0.1),
            lambda shape: shape,
        )
        try:
            from concave_hull import concave_hull

            found["concave_hull (PyPI)"] = lambda: concave_hull(corners().astype(float)), shapely.Polygon
        except ImportError:
            pass
    return found


def half(points):
    """The lower hull, from left to right, of points in lexicographic order, or the upper one of the reverse order."""
    out = []
    for x, y in points:
        while len(out) > 1:
            (ax, ay), (bx, by) = out[-2], out[-1]
            if (bx - ax) * (y - ay) > (by - ay) * (x - ax):
                break
            out.pop()
        out.append((x, y))
    return out


def chain(points):
    """Andrew's monotone chain over points in lexicographic order."""
    return half(points)[:-1] + half(points[::-1])[:-1]


class Outlines:
    """The check of outlines of a mask, by the name of the candidate; `of` keeps the measures of each."""

    def __init__(self, mask, shapes):
        self.mask, self.shapes, self.exact, self.of = mask, shapes, mask_polygons(mask), {}

    def __call__(self, name, found):
        import shapely

        shape = self.shapes[name](found)
        self.of[name] = measure(shape, self.mask, hausdorff=False, polygons=self.exact)
        cells = shapely.union_all(self.exact)
        if name.startswith("clgeom"):
            assert self.of[name].missed < 1e-6 * self.of[name].mask_area, (name, self.of[name])
            assert hull_of(self.mask).buffer(0.1 + 2 * TOLERANCE * ("simplify" in name)).covers(shape), name
        elif name.startswith("convex hull"):
            assert shape.equals(hull_of(self.mask)), name
        elif "+" in name:  # of its own exact outlines
            raw = self.raw[name.partition(" +")[0]]
            assert len(found) == len(raw), f"{name}: {len(found)} outlines of {len(raw)}"
            lines = [[_lines(one) for one in some] for some in (found, raw)]
            assert (shapely.hausdorff_distance(*lines) <= 2 * TOLERANCE).all(), f"{name} is too far from the outline"
        elif name.startswith("rasterio"):
            assert shape.symmetric_difference(cells).area < 1e-9 * cells.area, f"{name} is not the outline of the cells"
        elif name.startswith("cv2"):  # from centre to centre, also of cells that share a corner, without holes
            joined = shapely.get_parts(cells.buffer(1e-6, join_style="mitre"))
            filled = shapely.union_all([shapely.Polygon(one.exterior) for one in joined])
            assert filled.covers(shape), f"{name} outlines more than the cells"
            lost = filled.buffer(-1).difference(shape.buffer(1e-6)).area  # more than slivers of rounding
            assert lost < 1e-6, f"{name} outlines less than the cells"
        else:  # concave hulls of the corners
            shapely.prepare(shape)
            corners = shapely.points(corners_of(self.mask))
            assert shapely.dwithin(shape, corners, 1e-6).all(), f"{name} misses a corner"
            assert hull_of(self.mask).buffer(1e-6).covers(shape), f"{name} outlines more than the hull"
        if name in ("cv2.findContours", "rasterio.shapes"):
            self.raw = {**getattr(self, "raw", {}), name: found}


def _lines(outline):
    """The closed lines of an outline of cv2 or rasterio, or of a geometry."""
    import shapely

    if isinstance(outline, np.ndarray):
        return shapely.LineString(np.concatenate([outline, outline[:1]])[:, 0])
    return (shapely.geometry.shape(outline) if isinstance(outline, dict) else outline).boundary


def corners_of(mask):
    """The corners of the cells of a mask, in lexicographic order."""
    rows, columns = np.nonzero(mask)
    return np.unique(np.concatenate([np.stack([columns + i, rows + j], 1) for i in (0, 1) for j in (0, 1)]), axis=0)


def raster_rows(session, size, options):
    values = coverage_map(
        (size, size), pixel=4096 / size, sigma=5, correlation=120, power=47.0, seed=3, device=session
    ).values
    rows = []
    calls = {name: (call, as_cells) for name, call in ours(values, session, options.segments).items()}
    calls.update(rivals(values, size <= options.slow_limit))
    if options.plain:
        further = f"{4 * options.segments} segments", "both axes", f"({TOLERANCE:g})"
        calls = {name: call for name, call in calls.items() if not name.endswith(further)}
    check = Outlines(values >= LEVEL, {name: shape for name, (_, shape) in calls.items()})
    calls = {name: call for name, (call, _) in calls.items()}
    timed = common.interleaved(calls, options.repeat, options.budget, check)
    for name, found in check.of.items():
        rows.append(
            {
                "map": f"{size}^2",
                "outline": name,
                "ms": timed[name] * 1e3,
                "vertices": found.vertices,
                "superfluous": found.superfluous_of_mask,
                "missed": found.missed_of_mask,
                "IoU": found.iou,
            }
        )
    return rows


# Many rasters -----------------------------------------------------------------------------------------------------


def stack_rows(session, size, options):
    import pyopencl.array as cl_array

    base = np.stack([shadowing((size, size), correlation=40, seed=k) for k in range(4)])
    maps = np.stack([base[k % 4] + np.float32(0.01 * k) for k in range(options.maps)])
    levels, there, rows = (-3.0, 0.0, 3.0, 6.0), cl_array.to_device(session.queue, maps), []
    for segments in (16, options.segments, 4 * options.segments):

        def call(segments=segments):
            found = coverage_regions(there, levels, segments=segments, parts=False)
            session.queue.finish()
            return found

        def check(_, made):
            for i in range(0, len(made), max(len(made) // 7, 1)):
                corners = corners_of(maps[made[i].map] >= made[i].level).astype(np.float64)
                assert made[i].outline.contains(corners).all()

        made = call()
        seconds = common.interleaved({"clgeom": call}, options.repeat, check=check)["clgeom"]
        rows.append(
            {
                "maps": options.maps,
                "cells": f"{size}^2",
                "levels": 4,
                "segments": segments,
                "ms": seconds * 1e3,
                "us a region": seconds * 1e6 / len(made),
                "GB/s of the maps": maps.nbytes / seconds / 1e9,
                "vertices a region": sum(len(g.chains.lower) + len(g.chains.upper) for g in made._groups) / len(made),
            }
        )
    return rows


# Points -----------------------------------------------------------------------------------------------------------


@functools.cache  # it is compiled once
def numba_chain():
    """A compiled function (points, sign, out) -> number of corners, or None if Numba is not installed."""
    try:
        import numba
    except ImportError:
        return None

    @numba.njit
    def compiled(points, sign, out):
        size = 0
        for i in range(len(points)):
            x, y = points[i, 0], points[i, 1]
            while size > 1:
                ax, ay = points[out[size - 2], 0], points[out[size - 2], 1]
                bx, by = points[out[size - 1], 0], points[out[size - 1], 1]
                if sign * ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) > 0:
                    break
                size -= 1
            out[size] = i
            size += 1
        return size

    return compiled


def check_region(region, points, segments, sample=16):
    """Check that a region holds all its points and, in a sample of segments, ends where the hulls of neighbours do.

    The region is the union of the hulls of neighbouring segments: over the columns of a segment these are its hull with
    the one before and with the one after. The points are sorted; a cut within a column moves to its beginning.
    """
    assert region.contains(points).all(), "the region misses a point"
    x = points[:, 0]
    cuts = np.unique(np.searchsorted(x, x[np.arange(segments) * len(points) // segments]))
    cuts = np.append(cuts, len(points))
    eps, probes = np.finfo(points.dtype).eps, 0
    extent = np.abs(points).max(axis=0).astype(np.float64)
    for k in np.linspace(0, len(cuts) - 2, sample).astype(int):
        own = x[cuts[k] : cuts[k + 1]]
        at = own[(own > own[0]) & (own < own[-1])]
        pairs = [points[cuts[i] : cuts[min(i + 2, len(cuts) - 1)]].tolist() for i in (k - 1, k) if i >= 0]
        for side, sign in ((region.lower, -1), (region.upper, 1)):
            hulls = [half(pair[::-1])[::-1] if sign > 0 else half(pair) for pair in pairs]
            ends = np.max([sign * np.interp(at, *np.transpose(hull)) for hull in hulls], axis=0)
            beyond = np.abs(sign * np.interp(at, *side.T.astype(np.float64)) - ends)
            tolerance = 4 * eps * (extent[1] + extent[0] * _steepest(side, at))  # crossings are rounded outward
            assert (beyond <= tolerance).all(), f"the region of {segments} segments ends elsewhere"
        probes += len(at)
    assert probes or len(cuts) - 1 > len(points) // 3, "no column to look at"


def _steepest(chain, at):
    """The steepest slope of the edges of a chain at, before and after some x."""
    slopes = np.abs(np.diff(chain[:, 1]) / np.diff(chain[:, 0].astype(np.float64)))
    edge = np.searchsorted(chain[:, 0], at) - 1
    return np.max([slopes[np.clip(edge + k, 0, len(slopes) - 1)] for k in (-1, 0, 1)], axis=0)


def check_points_of(points, regions):
    """A function of a candidate's name and result: one of `regions` by the words of its name, or the chains of points.

    Chains are pairs of index arrays, or a ring of points, in float32; hulls are compared with ours.
    """
    hull = clgeom.convex_hull(points, device=next(iter(regions.values()))._session)

    def check(name, found):
        words = set(name.split())
        for word, region in regions.items():
            if word in words:
                for side in ("lower", "upper"):
                    same = np.array_equal(getattr(found, side), getattr(region, side))
                    assert same, f"{name} is another region"
                return
        (lower, upper), (low, high) = found
        ring = points[np.concatenate([lower[:low], upper[1 : high - 1][::-1]])]
        check_hull(ring, hull.points, points, name, eps=np.finfo(points.dtype).eps)

    return check


def numba_calls(points):
    """The compiled chain of both sides: a call that returns its index arrays and their sizes; none without Numba."""
    compiled = numba_chain()
    if not compiled:
        return None
    outs = [np.empty(len(points), np.uint32) for _ in "lu"]
    return lambda: (outs, [compiled(points, sign, out) for sign, out in zip((1.0, -1.0), outs)])


def points_rows(session, n, options):
    points = common.in_order(common.drawn(lambda rng, count: rng.normal(size=(count, 2)), n, np.float32, seed=5))
    made = adaptive_region(points, 4096, assume_sorted=True, device=session)
    check_region(made, points, 4096)
    calls = {"clgeom, 4096 segments": lambda: adaptive_region(points, 4096, assume_sorted=True, device=session)}
    regions = {"clgeom,": made}
    if not session.profile.is_cpu:
        import pyopencl.array as cl_array

        there = cl_array.to_device(session.queue, points)

        def resident(segments):
            found = adaptive_region(there, segments, assume_sorted=True)
            session.queue.finish()
            return found

        calls["clgeom, 4096 segments, resident"] = lambda: resident(4096)
        fine = resident(n // 4)
        check_region(fine, points, n // 4, sample=2)
        regions = {"points": fine, **regions}
        calls["clgeom, 4 points a segment, resident"] = lambda: resident(n // 4)
    if numba := numba_calls(points):
        calls["one chain, Numba"] = numba
    timed = common.interleaved(calls, options.repeat, options.budget, check_points_of(points, regions))
    few = points[: min(n, 50_000)]
    sample, hull = few.tolist(), clgeom.convex_hull(few, device=session)
    check_hull(chain(sample), hull.points, few, "one chain, Python", eps=np.finfo(np.float64).eps)
    begin = time.perf_counter()
    chain(sample)
    timed["one chain, Python (sampled)"] = (time.perf_counter() - begin) * n / len(sample)
    ours_s = timed["clgeom, 4096 segments"]
    return [{"n": n, "outline": name, "ms": s * 1e3, "times ours": s / ours_s} for name, s in timed.items()]


# The published setting --------------------------------------------------------------------------------------------


def published_rows(session, n, options):
    points = common.in_order(common.drawn(lambda rng, count: rng.normal(size=(count, 2)), n, np.float32, seed=5))
    there = points
    if not session.profile.is_cpu:
        import pyopencl.array as cl_array

        there = cl_array.to_device(session.queue, points)

    ways = {"": (n // 4, "local"), "naive ": (n // 4, "naive"), "4096 ": (4096, "auto")}

    def call(points, way, profile=False):
        segments, kernel = ways[way]
        return region_by_kernel(points, segments, assume_sorted=True, kernel=kernel, device=session, profile=profile)

    def kernels(way):
        """What the device's clock says of the kernels of a call, which takes its turn like all others."""
        region = call(there, way, profile=True)
        return common.Seconds.of(sum(phase.seconds for phase in region.phases), region)

    made, few = call(points, ""), call(points, "4096 ")
    check_region(made, points, n // 4)
    check_region(few, points, 4096)
    calls = {f"{way}call": lambda way=way: call(points, way) for way in ways}
    calls |= {f"{way}kernels": lambda way=way: kernels(way) for way in ways}
    if numba := numba_calls(points):
        calls["chain"] = numba
    check = check_points_of(points, {"4096": few, "call": made, "kernels": made})
    timed = common.interleaved(calls, options.repeat, options.budget, check)
    row = {"n": n, "chain": timed["chain"] * 1e3 if numba else None}
    return [row | {f"{way}{what}": timed[f"{way}{what}"] * 1e3 for what in ("kernels", "call") for way in ways}]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", choices=("raster", "stack", "points", "published", "counts"), default="raster")
    parser.add_argument("--sizes", help="sides of the maps, or numbers of points")
    parser.add_argument("--segments", type=int, default=64)
    parser.add_argument("--maps", type=int, default=50)
    parser.add_argument("--slow-limit", type=int, default=512, help="largest map given to the slow packages")
    parser.add_argument("--plain", action="store_true", help="raster: no simplified outlines and no other resolutions")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds that one candidate may take in all")
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()

    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; milliseconds")
    default = {"counts": "262144", "points": "1e6", "published": "1e6,2e6,4e6,8e6,16e6"}
    default = {**default, "raster": "128,512,2048", "stack": "512"}[options.what]
    sizes = [int(float(size)) for size in (options.sizes or default).split(",")]
    rows_of = {"raster": raster_rows, "stack": stack_rows, "points": points_rows}
    rows_of |= {"published": published_rows, "counts": count_rows}
    rows = []
    for size in sizes:
        rows += rows_of[options.what](session, size, options)
        if options.json:  # after each size, because runs may be stopped
            common.write_json(options.json, session, rows, PACKAGES)
    common.print_table(rows)


if __name__ == "__main__":
    main()
