"""Small calls of every public function that takes points or values, of arrays that a maker makes.

`CALLS` has, by name, a function of a session and of `a`, which makes an object of an array.
"""

import numpy as np
from calls import (
    FEW,
    KEYS,
    LABELS,
    MODEL,
    OFFSETS,
    ORDERED,
    POINTS,
    RASTER,
    VALUES,
    batch,
    geometry,
    hull,
    plain,
)

import clgeom
from clgeom import radio
from clgeom.dp import problems
from clgeom.primitives.compact import compact, partition
from clgeom.primitives.scan import exclusive_scan, inclusive_scan
from clgeom.region.localize import localize_masks


def added(session, points):
    found = clgeom.ConvexHull(FEW, incremental=True, device=session)
    found.add_points(points)
    return plain(found.vertices)


HOLED = FEW.copy()
HOLED[7] = np.nan
KM = np.linspace(0.02, 5, 50, dtype=np.float32)
CALLS = {
    "convex_hull": lambda s, a: hull(clgeom.convex_hull(a(FEW), device=s)),
    "convex_hull of none": lambda s, a: clgeom.convex_hull(a(FEW[:0]), device=s).n,
    "convex_hull, n": lambda s, a: clgeom.convex_hull(a(HOLED), nonfinite="drop", device=s).n,
    "Hull.contains": lambda s, a: plain(clgeom.convex_hull(FEW, device=s).contains(a(FEW))),
    "Hull.contains one": lambda s, a: clgeom.convex_hull(FEW, device=s).contains(a(FEW[0])),
    "ConvexHull": lambda s, a: plain(clgeom.ConvexHull(a(FEW), device=s).vertices),
    "ConvexHull.add_points": lambda s, a: added(s, a(POINTS[:400])),
    "convex_hulls": lambda s, a: batch(clgeom.convex_hulls(a(FEW), a(OFFSETS), device=s)),
    "convex_hulls, drop": lambda s, a: plain(
        clgeom.convex_hulls(a(HOLED), a(OFFSETS), nonfinite="drop", device=s).vertices
    ),
    "convex_hulls_by_label": lambda s, a: batch(clgeom.convex_hulls_by_label(a(FEW), a(LABELS), device=s)),
    "heaphull_filter": lambda s, a: plain(clgeom.heaphull_filter(a(POINTS), device=s).labels),
    "heaphull_filter, drop": lambda s, a: plain(clgeom.heaphull_filter(a(HOLED), nonfinite="drop", device=s).labels),
    "heaphull_filter of none": lambda s, a: plain(clgeom.heaphull_filter(a(FEW[:0]), device=s).labels),
    "orient2d": lambda s, a: plain(clgeom.orient2d(a(FEW[:9]), a(FEW[9:18]), a(FEW[18:27]), device=s)),
    "orient2d of one": lambda s, a: plain(clgeom.orient2d(a(FEW[0]), a(FEW[1]), a(FEW[2]), device=s)),
    "upper_hood": lambda s, a: plain(clgeom.upper_hood(a(ORDERED), device=s).points),
    "lower_hood": lambda s, a: plain(clgeom.lower_hood(a(ORDERED), trace=True, device=s).points),
    "sort": lambda s, a: plain(clgeom.sort(a(KEYS), device=s)),
    "sort, segments": lambda s, a: plain(clgeom.sort(a(KEYS[:300]), offsets=a(OFFSETS), device=s)),
    "argsort": lambda s, a: plain(clgeom.argsort(a(KEYS), device=s)),
    "sort_by_key": lambda s, a: plain(clgeom.sort_by_key(a(KEYS), a(VALUES), device=s)),
    "lexsort": lambda s, a: plain(clgeom.lexsort([a(KEYS), a(KEYS % 3)], device=s)),
    "topk": lambda s, a: plain(clgeom.topk(a(KEYS), 9, device=s)),
    "argpartition": lambda s, a: plain(clgeom.argpartition(a(KEYS), 9, device=s)),
    "unique": lambda s, a: plain(clgeom.unique(a(KEYS), return_inverse=True, device=s)),
    "searchsorted": lambda s, a: plain(clgeom.searchsorted(a(np.sort(KEYS)), a(KEYS[:9]), device=s)),
    "bincount": lambda s, a: plain(clgeom.bincount(a(KEYS % 50), device=s)),
    "histogram": lambda s, a: plain(clgeom.histogram(a(KEYS), [0, 9, 1 << 30], device=s)),
    "take": lambda s, a: plain(clgeom.take(a(KEYS), a(LABELS), device=s)),
    "shellsort": lambda s, a: plain(clgeom.shellsort(a(KEYS), device=s).keys),
    "inclusive_scan": lambda s, a: plain(inclusive_scan(a(KEYS), device=s)),
    "exclusive_scan": lambda s, a: plain(exclusive_scan(a(KEYS), device=s)),
    "compact": lambda s, a: plain(compact(a(KEYS % 3 == 0), device=s)),
    "partition": lambda s, a: plain(partition(a((KEYS % 5).astype(np.uint8)), 3, device=s)),
    "adaptive_region": lambda s, a: geometry(clgeom.adaptive_region(a(FEW), 4, device=s)),
    "adaptive_region, n": lambda s, a: clgeom.adaptive_region(a(HOLED), 4, nonfinite="drop", device=s).n,
    "Region.contains": lambda s, a: plain(clgeom.adaptive_region(FEW, 4, device=s).contains(a(FEW))),
    "coverage_regions": lambda s, a: geometry(clgeom.coverage_regions(a(RASTER), a([0.5]), segments=8, device=s)),
    "localize_masks": lambda s, a: str(localize_masks(a(np.stack([RASTER > 0, RASTER > 0])))),
    "walfisch_ikegami": lambda s, a: plain(
        radio.walfisch_ikegami(a(KM), **{**MODEL, "orientation": a(np.full(50, 30, "f4"))}, device=s)
    ),
    "free_space": lambda s, a: plain(radio.free_space(a(KM), frequency=900, device=s)),
    "coverage_map": lambda s, a: plain(
        radio.coverage_map((16, 16), street=a(np.full((16, 16), 30.0)), device=s).values
    ),
    "fill": lambda s, a: plain(problems.knapsack(a([25, 24, 15]), a([18, 15, 10]), 22, device=s).value),
    "matrix_chain": lambda s, a: problems.matrix_chain(a([30, 35, 15, 5, 10]), device=s).multiplications,
    "lcs": lambda s, a: problems.lcs(a([1, 2, 3, 2, 4]), a([2, 4, 3, 1, 2]), device=s).length,
}
