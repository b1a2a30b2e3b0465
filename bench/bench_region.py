"""Coverage regions of rasters and adaptive regions of points against other outlines, with superfluous and missed area.

    python bench/bench_region.py --json bench/results/region-pocl.json
    python bench/bench_region.py --what stack --device nvidia --maps 1000 --json bench/results/region-stack-h200.json
    python bench/bench_region.py --what points --sizes 16e6 --json bench/results/region-points-pocl.json
    python bench/bench_region.py --what published --json bench/results/region-published-pocl.json

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
Every outline of ours is verified to cover every cell, or point, before it is timed.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time

import common
import numpy as np

from clgeom import adaptive_region, coverage_regions
from clgeom.radio import coverage_map, shadowing
from clgeom.region.arc.study import region_by_kernel
from clgeom.region.coverage.contours import mask_polygons
from clgeom.region.metrics import as_cells, hull_of, measure
from clgeom.runtime.device import as_session

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
        rows, columns = np.nonzero(values >= LEVEL)
        return np.unique(np.concatenate([np.stack([columns + i, rows + j], 1) for i in (0, 1) for j in (0, 1)]), axis=0)

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


def chain(points):
    """Andrew's monotone chain over points in lexicographic order."""

    def half(points):
        out = []
        for x, y in points:
            while len(out) > 1:
                (ax, ay), (bx, by) = out[-2], out[-1]
                if (bx - ax) * (y - ay) > (by - ay) * (x - ax):
                    break
                out.pop()
            out.append((x, y))
        return out

    return half(points)[:-1] + half(points[::-1])[:-1]


def raster_rows(session, size, options):
    values = coverage_map(
        (size, size), pixel=4096 / size, sigma=5, correlation=120, power=47.0, seed=3, device=session
    ).values
    mask = values >= LEVEL
    exact, rows = mask_polygons(mask), []
    calls = {name: (call, as_cells) for name, call in ours(values, session, options.segments).items()}
    calls.update(rivals(values, size <= options.slow_limit))
    if options.plain:
        further = f"{4 * options.segments} segments", "both axes", f"({TOLERANCE:g})"
        calls = {name: call for name, call in calls.items() if not name.endswith(further)}
    timed = common.interleaved({name: call for name, (call, _) in calls.items()}, options.repeat, options.budget)
    shapes = {name: shape(call()) for name, (call, shape) in calls.items()}
    assert shapes["convex hull, chain in Python"].equals(hull_of(mask))
    for name, shape in shapes.items():
        found = measure(shape, mask, hausdorff=False, polygons=exact)
        if name.startswith("clgeom"):
            assert found.missed < 1e-6 * found.mask_area, (name, found)
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

        made = call()
        for i in range(0, len(made), max(len(made) // 7, 1)):
            cells = np.argwhere(maps[made[i].map] >= made[i].level)[:, ::-1].astype(np.float64)
            assert made[i].outline.contains(cells).all() and made[i].outline.contains(cells + 1).all()
        seconds = common.interleaved({"clgeom": call}, options.repeat)["clgeom"]
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


def points_rows(session, n, options):
    points = common.in_order(common.drawn(lambda rng, count: rng.normal(size=(count, 2)), n, np.float32, seed=5))
    made = adaptive_region(points, 4096, assume_sorted=True, device=session)
    assert made.contains(points[:: max(n // 100_000, 1)]).all()
    calls = {"clgeom, 4096 segments": lambda: adaptive_region(points, 4096, assume_sorted=True, device=session)}
    if not session.profile.is_cpu:
        import pyopencl.array as cl_array

        there = cl_array.to_device(session.queue, points)

        def resident():
            found = adaptive_region(there, 4096, assume_sorted=True)
            session.queue.finish()
            return found

        calls["clgeom, 4096 segments, resident"] = resident
    compiled = numba_chain()
    if compiled:
        out = np.empty(n, np.uint32)
        calls["one chain, Numba"] = lambda: [compiled(points, sign, out) for sign in (1.0, -1.0)]
    timed = common.interleaved(calls, options.repeat, options.budget)
    sample = points[: min(n, 50_000)].tolist()
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

    made, naive = call(points, ""), call(points, "naive ")
    assert made.contains(points[:: max(n // 100_000, 1)]).all()
    assert np.array_equal(made.lower, naive.lower) and np.array_equal(made.upper, naive.upper)
    calls = {f"{way}call": lambda way=way: call(points, way) for way in ways}
    compiled = numba_chain()
    if compiled:
        out = np.empty(n, np.uint32)
        calls["chain"] = lambda: [compiled(points, sign, out) for sign in (1.0, -1.0)]
    timed = common.interleaved(calls, options.repeat, options.budget)
    row = {"n": n, "chain": timed["chain"] * 1e3 if compiled else None}
    for way in ways:
        taken = [sum(p.seconds for p in call(there, way, True).phases) for _ in range(options.repeat)]
        row[f"{way}kernels"] = float(np.median(taken)) * 1e3
    return [row | {f"{way}call": timed[f"{way}call"] * 1e3 for way in ways}]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", choices=("raster", "stack", "points", "published"), default="raster")
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
    default = {"points": "1e6", "published": "1e6,2e6,4e6,8e6,16e6"}
    default = {**default, "raster": "128,512,2048", "stack": "512"}[options.what]
    sizes = [int(float(size)) for size in (options.sizes or default).split(",")]
    rows_of = {"raster": raster_rows, "stack": stack_rows, "points": points_rows, "published": published_rows}
    rows = []
    for size in sizes:
        rows += rows_of[options.what](session, size, options)
        if options.json:  # after each size, because runs may be stopped
            common.write_json(options.json, " ".join(["python", *sys.argv]), session, rows, PACKAGES)
    common.print_table(rows)


if __name__ == "__main__":
    main()
