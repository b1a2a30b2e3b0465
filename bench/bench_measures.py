"""Measures of hulls against Shapely, OpenCV and SciPy, in one run, results verified first.

    python bench/bench_measures.py --json bench/results/measures-pocl.json

"hulls" are many hulls of 64 normal points each, or the corners of one hull: of an ellipse ("ellipse"), or of a circle,
whose measures differ by rounding only ("circle"). "clgeom" is the median of whole calls in milliseconds, "of hulls" its
ratio to `convex_hulls` of the same points. "us/.." are microseconds a hull; rivals get only the first hulls of many,
--rival-hulls of them, with their own objects made before the timing. SciPy, which has no measures, computes distances
of all pairs of corners. "cv2 off" and "shapely off" are the largest relative differences from clgeom's area, length or
radius; OpenCV computes in float32. OpenCV and Shapely make the hull of the corners again where they take no hulls.
"contains" asks of --queries points whether they are in one hull, which Shapely has prepared, or of a point of each of
many hulls, mostly inside.
"""

from __future__ import annotations

import argparse

import common
import cv2
import numpy as np
import shapely
from scipy.spatial.distance import pdist

import clgeom
from clgeom.core.device import as_session
from clgeom.hull.calipers import Corners, best_caliper, numbers_of
from clgeom.hull.circles import circle_numbers, least_circle

#: The methods of hulls and of batches, the field compared, and the rivals' functions of rings and of polygons.
MEASURES = {
    "rectangle": ("min_rectangle", "min_rectangles", "area", "minAreaRect", "minimum_rotated_rectangle"),
    "circle": ("min_circle", "min_circles", "radius", "minEnclosingCircle", "minimum_bounding_circle"),
    "diameter": ("diameter", "diameters", "length", None, None),
    "width": ("width", "widths", "length", None, None),
    "contains": (None, None, None, None, None),
}


def number_of(measure, package, found):
    """The area or radius of a rival's result."""
    if package == "cv2":
        return found[1][0] * found[1][1] if measure == "rectangle" else found[1]
    if package == "shapely":
        return found.area if measure == "rectangle" else shapely.minimum_bounding_radius(found)
    return found


def rivals(measure, rings):
    *_, of_rings, of_polygons = MEASURES[measure]
    if of_rings is None:
        usable = measure == "diameter" and max(map(len, rings)) <= 2000
        return {"scipy": lambda: [pdist(ring).max() for ring in rings]} if usable else {}
    polygons, narrow = [shapely.Polygon(ring) for ring in rings], [ring.astype(np.float32) for ring in rings]
    return {
        "cv2": lambda: [getattr(cv2, of_rings)(ring) for ring in narrow],
        "shapely": lambda: getattr(shapely, of_polygons)(polygons),
    }


def verify(measure, shape, rings, sample):
    """Compare numbers with those of all edges, pairs or corners in integers."""
    field = MEASURES[measure][2]
    for i in sample:
        corners, found = Corners(rings[i]), np.ravel(getattr(shape, field))[i]
        if measure == "circle":
            assert found == circle_numbers(corners, least_circle(corners))[2]
            continue
        purpose = "area" if measure == "rectangle" else measure
        best = best_caliper(corners, range(len(corners)), purpose)
        assert found == numbers_of(corners, best, purpose)[0], (measure, i)


def row_of(session, measure, name, hulls, options):
    alone, many, field, *_ = MEASURES[measure]
    if name == "normal":
        points = common.drawn(lambda rng, n: rng.normal(size=(n, 2)), 64 * hulls, np.dtype(np.float64))
        offsets = np.arange(hulls + 1) * 64
        batch = clgeom.convex_hulls(points, offsets, device=session)
        few = min(options.rival_hulls, hulls)
        rings = [batch.points[a:b] for a, b in zip(batch.offsets[:few], batch.offsets[1 : few + 1])]
        candidates = {"clgeom": many and getattr(batch, many)}
        candidates["hulls"] = lambda: clgeom.convex_hulls(points, offsets, device=session)
        first = batch
    else:
        angles = np.arange(hulls) * 2 * np.pi / hulls
        points = np.stack([np.cos(angles), (0.7 if name == "ellipse" else 1) * np.sin(angles)], axis=1)
        hull, few = clgeom.convex_hull(points, device=session), 1
        rings, candidates, first = [hull.points], {"clgeom": alone and getattr(hull, alone)}, hull
        candidates["hulls"] = lambda: clgeom.convex_hull(points, device=session)
    if measure == "contains":
        queries = common.drawn(lambda rng, n: rng.uniform(-1, 1, (n, 2)), options.queries, np.dtype(np.float64))
        own = np.arange(hulls)
        queries = queries[own % len(queries)] if name == "normal" else queries
        candidates["clgeom"] = lambda: first.contains(queries, own) if name == "normal" else first.contains(queries)
        polygons = np.array([shapely.Polygon(ring) for ring in rings])
        shapely.prepare(polygons)
        asked = queries[:few] if name == "normal" else queries
        found = {"shapely": lambda: shapely.intersects_xy(polygons, *asked.T)}
        np.testing.assert_array_equal(found["shapely"](), candidates["clgeom"]()[: len(asked)])
        return timed(measure, name, first, candidates, found, {}, few, options)
    shape = candidates["clgeom"]()
    if name == "normal" or hulls <= 10_000:
        verify(measure, shape, rings, range(min(few, 50)))
    found = rivals(measure, rings)
    if name != "normal" and hulls > 100_000 and not options.slow:
        found.pop("shapely", None)
    known = np.ravel(getattr(shape, field))[:few]
    off = {}
    for package, make in found.items():
        numbers = np.array([number_of(measure, package, one) for one in make()])
        off[package] = float(np.max(np.abs(numbers - known) / known))
        assert off[package] < 0.05, (measure, package, off[package])
    return timed(measure, name, first, candidates, found, off, few, options)


def timed(measure, name, first, candidates, found, off, few, options):
    """Return a row of the times of clgeom's candidates and of rivals; `few` hulls are the rivals'."""
    taken = common.interleaved({**candidates, **found}, options.repeat)
    count = len(first) if name == "normal" else 1
    row = {"measure": measure, "corners of": name, "hulls": count, "corners": len(first.vertices)}
    row["clgeom"], row["of hulls"] = taken["clgeom"] * 1e3, taken["clgeom"] / taken["hulls"]
    row["us/clgeom"] = taken["clgeom"] * 1e6 / count
    for rival in ("shapely", "cv2", "scipy"):
        row[f"us/{rival}"] = taken[rival] * 1e6 / few if rival in taken else None
    for rival in ("shapely", "cv2"):
        row[f"{rival} off"] = off.get(rival)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measures", default=",".join(MEASURES))
    parser.add_argument("--cases", default="normal:1000000,ellipse:20,ellipse:1000,ellipse:1000000,circle:1000000")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--rival-hulls", type=int, default=2000, help="number of hulls for the rivals")
    parser.add_argument("--queries", type=int, default=1_000_000, help="number of points that one hull is asked for")
    parser.add_argument("--slow", action="store_true", help="also time rivals that take minutes")
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}")
    rows = []
    for case in options.cases.split(","):
        name, hulls = case.split(":")
        for measure in options.measures.split(","):
            rows.append(row_of(session, measure, name, int(hulls), options))
            if options.json:
                common.write_json(options.json, session, rows, ("scipy", "shapely", "opencv-python-headless"))
    common.print_table(rows)


if __name__ == "__main__":
    main()
