"""Small calls of every public function that computes on a device, with results that can be compared.

`CALLS` has, by name, a function of a session that returns plain lists. Names with "there" take or return arrays that
are on the device.
"""

import numpy as np
from faults import paused

import clgeom
from clgeom import dp, radio
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp import checks, problems
from clgeom.primitives.compact import compact, partition
from clgeom.primitives.scan import exclusive_scan, inclusive_scan

RNG = np.random.default_rng(14)
POINTS = RNG.standard_normal((5000, 2)).astype(np.float32)
FEW = POINTS[:300]
ORDERED = FEW[np.lexsort((FEW[:, 1], FEW[:, 0]))]
KEYS = RNG.integers(0, 1 << 32, 5000).astype(np.uint32)
TABLE = KEYS.reshape(50, 100)
VALUES = np.arange(5000, dtype=np.uint32)
LABELS = RNG.integers(0, 40, 300).astype(np.int32)
OFFSETS = np.array([0, 10, 10, 150, 300])
RASTER = (RNG.random((20, 30)) > 0.3).astype(np.float32)
MODEL = {
    "frequency": 900,
    "base_height": 30.0,
    "roof_height": 12.0,
    "separation": 50.0,
    "street_width": 25.0,
    "orientation": 30.0,
}


def there(session, array):
    """An array on the session's device."""
    import pyopencl.array as cl_array

    with paused():
        return cl_array.to_device(session.queue, np.ascontiguousarray(array))


@keeps_subnormals
def plain(value):
    """Arrays, wherever they are, as lists; with their subnormal numbers, which a processor may flush."""
    if hasattr(value, "get"):
        with paused():
            value = value.get()
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def batch(found):
    return plain([found.vertices, found.offsets, found.areas, found.perimeters, found.points])


def hull(found):
    return plain([found.vertices, found.points])


def geometry(found):
    """The GeoJSON-like geometry of a region, or of each of several."""
    return found.__geo_interface__ if hasattr(found, "__geo_interface__") else list(map(geometry, found))


def pinned(session):
    array = clgeom.pinned_empty((100, 2), np.float32, device=session)
    array[:] = 3
    return array.sum().item()


LATTICE = dp.Equation("i == 0 || j == 0 ? 1 : M(i-1, j) + M(i, j-1)", dtype="int64")
PLANE = dp.Equation("i + 3 * j", pattern="RUD")


def table(session):
    """A table, read in all ways."""
    found = dp.fill(PLANE, (4, 9), device=session)
    recovered = found.recover("for (int k = 0; k < 4; ++k) out[k] = M(k, 2 * k); return 4;", 4)
    return plain([found.numpy(), found.row(1), found.column(2), found[3, 4], found.corner, found.last, recovered])


HULLS = {
    "convex_hull of few": lambda s: hull(clgeom.convex_hull(FEW, device=s)),
    "convex_hull": lambda s: hull(clgeom.convex_hull(POINTS, device=s)),
    "convex_hull, octagon": lambda s: hull(clgeom.convex_hull(POINTS, filter="octagon", device=s)),
    "convex_hull, none": lambda s: hull(clgeom.convex_hull(POINTS, filter="none", device=s)),
    "convex_hull, profiled": lambda s: hull(clgeom.convex_hull(POINTS, filter="octagon", profile=True, device=s)),
    "convex_hull, there": lambda s: hull(clgeom.convex_hull(there(s, POINTS), device=s)),
    "convex_hull, there, left out": lambda s: hull(clgeom.convex_hull(there(s, POINTS), nonfinite="drop", device=s)),
    "Hull.on_device": lambda s: plain(clgeom.convex_hull(there(s, FEW), device=s).on_device()),
    "Hull.on_device, copied": lambda s: plain(clgeom.convex_hull(FEW, device=s).on_device()),
    "Hull.contains": lambda s: plain(clgeom.convex_hull(FEW, device=s).contains(POINTS[:50])),
    "Hull.contains, there": lambda s: plain(clgeom.convex_hull(FEW, device=s).contains(there(s, POINTS[:50]))),
    "ConvexHull": lambda s: plain(clgeom.ConvexHull(FEW, device=s).vertices),
    "convex_hulls": lambda s: batch(clgeom.convex_hulls(FEW, OFFSETS, device=s)),
    "convex_hulls, there": lambda s: batch(clgeom.convex_hulls(there(s, FEW), OFFSETS, device=s)),
    "convex_hulls_by_label": lambda s: batch(clgeom.convex_hulls_by_label(FEW, LABELS, device=s)),
    "convex_hulls_by_label, there": lambda s: batch(
        clgeom.convex_hulls_by_label(there(s, FEW), there(s, LABELS), device=s)
    ),
    "heaphull_filter": lambda s: plain(clgeom.heaphull_filter(POINTS, device=s).labels),
    "orient2d": lambda s: plain(clgeom.orient2d(FEW[:100], FEW[100:200], FEW[200:], device=s)),
    "upper_hood": lambda s: plain(clgeom.upper_hood(ORDERED, device=s).points),
    "lower_hood, published": lambda s: plain(clgeom.lower_hood(ORDERED, method="published", device=s).points),
    "lower_hood, runs": lambda s: plain(clgeom.lower_hood(ORDERED, method="runs", device=s).points),
    "pinned_empty": pinned,
}
SORTS = {
    "sort": lambda s: plain(clgeom.sort(KEYS, device=s)),
    "sort of few": lambda s: plain(clgeom.sort(KEYS[:100], device=s)),
    "sort, there": lambda s: plain(clgeom.sort(there(s, KEYS), device=s)),
    "sort, there, out": lambda s: plain(clgeom.sort(there(s, KEYS), out=there(s, KEYS), device=s)),
    "argsort": lambda s: plain(clgeom.argsort(KEYS, device=s)),
    "sort, segments": lambda s: plain(clgeom.sort(KEYS[:300], offsets=OFFSETS, device=s)),
    "sort_by_key": lambda s: plain(clgeom.sort_by_key(KEYS, VALUES, device=s)),
    "argsort, rows, there": lambda s: plain(clgeom.argsort(there(s, TABLE), index_type="int64", device=s)),
    "lexsort, there": lambda s: plain(clgeom.lexsort([there(s, KEYS), there(s, KEYS % 3)], device=s)),
    "topk of many, there": lambda s: plain(clgeom.topk(there(s, np.tile(KEYS, 5)), 9, device=s)),
    "argpartition of columns": lambda s: plain(clgeom.argpartition(TABLE, 7, axis=0, device=s)),
    "unique": lambda s: plain(clgeom.unique(KEYS, return_index=True, return_inverse=True, device=s)),
    "unique, there": lambda s: plain(clgeom.unique(there(s, KEYS), return_counts=True, device=s)),
    "searchsorted": lambda s: plain(clgeom.searchsorted(np.sort(KEYS), KEYS[:500], device=s)),
    "bincount": lambda s: plain(clgeom.bincount(KEYS % 50, device=s)),
    "histogram, there": lambda s: plain(clgeom.histogram(there(s, KEYS), 20, device=s)),
    "take, there": lambda s: plain(clgeom.take(there(s, KEYS), there(s, VALUES[::7]), device=s)),
    "shellsort": lambda s: plain(clgeom.shellsort(KEYS, device=s).keys),
    "shellsort, A": lambda s: plain(clgeom.shellsort(KEYS[:300], variant="A", device=s).keys),
    "shellsort, F": lambda s: plain(clgeom.shellsort(KEYS[:300], variant="F", device=s).keys),
    "inclusive_scan": lambda s: plain(inclusive_scan(KEYS, device=s)),
    "exclusive_scan": lambda s: plain(exclusive_scan(KEYS[:50], device=s)),
    "compact": lambda s: plain(compact(KEYS % 3 == 0, device=s)),
    "partition": lambda s: plain(partition((KEYS % 5).astype(np.uint8), 3, device=s)),
}
REGIONS = {
    "adaptive_region": lambda s: geometry(clgeom.adaptive_region(FEW, 4, device=s)),
    "adaptive_region, widths": lambda s: geometry(clgeom.adaptive_region(POINTS, 8, cuts="width", device=s)),
    "adaptive_region, there": lambda s: geometry(clgeom.adaptive_region(there(s, FEW), 4, device=s)),
    "Region.contains": lambda s: plain(clgeom.adaptive_region(FEW, 4, device=s).contains(POINTS[:50])),
    "coverage_regions": lambda s: geometry(clgeom.coverage_regions(RASTER, [0.5], segments=8, device=s)),
    "coverage_regions, there": lambda s: geometry(
        clgeom.coverage_regions(there(s, RASTER), [0.5], segments=8, device=s)
    ),
    "coverage_regions, whole": lambda s: geometry(
        clgeom.coverage_regions(RASTER, [0.5, 1], segments=4, parts=False, device=s)
    ),
    "coverage_regions, cells": lambda s: geometry(
        clgeom.coverage_regions(RASTER, [0.5, 1], outline="cells", iou=0.7, device=s)
    ),
    "walfisch_ikegami": lambda s: plain(
        radio.walfisch_ikegami(np.linspace(0.02, 5, 50, dtype="f4"), **MODEL, device=s)
    ),
    "walfisch_ikegami, there": lambda s: plain(
        radio.walfisch_ikegami(there(s, np.linspace(0.02, 5, 50, dtype="f4")), **MODEL, device=s)
    ),
    "free_space": lambda s: plain(radio.free_space(np.linspace(1, 5, 50, dtype="f4"), frequency=900, device=s)),
    "coverage_map": lambda s: plain(radio.coverage_map((16, 16), device=s).values),
}


def passed(check):
    """The call of a check, which raises where a cell is wrong."""
    return lambda session: check.run(session) or True


TABLES = {
    "fill, stages": passed(checks.stages),
    "fill, tiles": passed(checks.tiles),
    "fill, rows": passed(checks.rows),
    "fill, splits": passed(checks.splits),
    "lcs": lambda s: problems.lcs("abcbdab", "bdcaba", device=s).subsequence,
    "edit_distance": lambda s: plain(problems.edit_distance("kitten", "sitting", device=s).distance),
    "edit_distance, pairs": lambda s: plain(problems.edit_distance(["kitten", "cat"], ["sitting", "cart"], device=s)),
    "cdist": lambda s: plain(dp.cdist(["kitten", "cat"], ["sitting", "cart", "kit"], device=s)),
    "fill_batch": passed(checks.tables),
    "knapsack": lambda s: plain(problems.knapsack([25, 24, 15], [18, 15, 10], 22, device=s).value),
    "matrix_chain": lambda s: problems.matrix_chain([30, 35, 15, 5, 10, 20, 25], device=s).parenthesisation,
    "dependency_graph": lambda s: plain(dp.dependency_graph(LATTICE, (9, 11), device=s).depths),
    "fill_when_ready": lambda s: plain(dp.fill_when_ready(LATTICE, (9, 11), device=s)),
    "infer_pattern": lambda s: dp.infer_pattern(LATTICE, (100, 200), method="probe", device=s).best,
    "Table": table,
}
CALLS = HULLS | SORTS | REGIONS | TABLES
