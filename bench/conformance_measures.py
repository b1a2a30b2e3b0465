"""Measures of hulls of clgeom, Shapely, OpenCV and SciPy on the adversarial families, in rational arithmetic."""

from __future__ import annotations

import importlib.metadata
import sys

import common
import numpy as np

if not (common.ROOT / "tests").is_dir():
    sys.exit("Measures are compared with the references of the tests: run it in a checkout.")
sys.path.append(str(common.ROOT / "tests"))

from reference import measures as reference

import clgeom
from clgeom import conformance

#: Points of a case; all triples of corners are tried.
POINTS = 40
DIRECTION = (3.0, -1.0)
#: Relative errors up to which a number counts as rounded, and as right.
ROUNDED, RIGHT = 1e-12, 1e-3
MEASURES = ("diameter", "width", "rectangle", "circle", "extent", "distance", "intersection")


def parts_of(points):
    """Both halves by x and then y, and every other point: hulls that are apart or touch, and hulls that overlap."""
    order = np.lexsort((points[:, 1], points[:, 0]))
    half = len(points) // 2
    return (points[order[:half]], points[order[half:]]), (points[::2], points[1::2])


def corners_of(points):
    return clgeom.convex_hull(points).points


def exact(case):
    """The numbers of each measure, correctly rounded, but for extents."""
    corners = corners_of(case.points)
    apart, over = (tuple(map(corners_of, pair)) for pair in parts_of(case.points))
    several = len(corners) > 1
    return {
        "diameter": reference.diameter(corners)[0] if several else 0.0,
        "width": reference.width(corners)[0] if several else 0.0,
        "rectangle": reference.rectangle(corners, "area")[0] if several else 0.0,
        "circle": reference.circle(corners)[1] if several else 0.0,
        "extent": reference.extent(corners, DIRECTION),
        "distance": reference.distance(*apart),
        "intersection": reference.float_of(reference.area(reference.intersection(*over))),
    }


# Implementations: the numbers of each measure ---------------------------------------------------------------------


def of_clgeom(points):
    hull, (apart, over) = clgeom.convex_hull(points), parts_of(points)
    yield "diameter", lambda: hull.diameter().length
    yield "width", lambda: hull.width().length
    yield "rectangle", lambda: hull.min_rectangle().area
    yield "circle", lambda: hull.min_circle().radius
    yield "extent", lambda: hull.extent(DIRECTION)
    yield "distance", lambda: clgeom.convex_hull(apart[0]).distance(clgeom.convex_hull(apart[1]))
    yield "intersection", lambda: clgeom.convex_hull(over[0]).intersection(clgeom.convex_hull(over[1]))


def of_shapely(points):
    import shapely

    cloud = shapely.multipoints(points.astype(float))
    apart, over = ([shapely.convex_hull(shapely.multipoints(one)) for one in pair] for pair in parts_of(points))
    yield "width", lambda: shapely.minimum_width(cloud).length
    yield "rectangle", lambda: shapely.minimum_rotated_rectangle(cloud).area
    yield "circle", lambda: shapely.minimum_bounding_radius(cloud)
    yield "distance", lambda: shapely.distance(*apart)
    yield "intersection", lambda: shapely.intersection(*over).area


def of_opencv(points):
    import cv2

    _, over = parts_of(points)
    yield "rectangle", lambda: np.prod(cv2.minAreaRect(points)[1])
    yield "circle", lambda: cv2.minEnclosingCircle(points)[1]
    if points.dtype == np.float32:
        yield "intersection", lambda: cv2.intersectConvexConvex(*map(corners_of, over))[0]


def of_scipy(points):
    from scipy.spatial.distance import pdist

    points = points.astype(float)
    yield "diameter", lambda: pdist(points).max()
    yield "extent", lambda: np.ptp(points @ DIRECTION) / np.hypot(*DIRECTION)


#: Name, packages, and types of coordinates.
IMPLEMENTATIONS = {
    "clgeom": (of_clgeom, ("clgeom",), conformance.TYPES),
    "Shapely": (of_shapely, ("shapely",), conformance.TYPES),
    "OpenCV": (of_opencv, ("opencv-python-headless",), ("float32", "int32")),
    "SciPy": (of_scipy, ("scipy",), conformance.TYPES),
}


# Judgement --------------------------------------------------------------------------------------------------------


def is_exact(measure, found, known, points):
    """Whether a result of clgeom is what it promises: correctly rounded; of an extent, within its bound."""
    if measure == "intersection":
        corners = reference.intersection(*map(corners_of, parts_of(points)[1]))
        return {*map(tuple, found.tolist())} == {tuple(map(reference.float_of, corner)) for corner in corners}
    if measure == "extent":
        size = float(np.abs(points.astype(float)).max())
        return found == known or abs(found - known) <= max(2.0**-50 * known + 2.0**-95 * size, 5e-324)
    return found == known


def error_of(compute, known, scale):
    """The relative error of a number; of one that should be 0, as a share of the scale."""
    try:
        found = float(compute())
    except Exception as error:  # the implementation may raise anything
        return type(error).__name__
    if found == known:
        return 0.0
    if np.isinf(known) or np.isnan(found):  # NaN and 0 take turns in some packages
        return f"not {known:.1e}"
    if np.isinf(found):
        return "infinite"
    return abs(found - known) / (known or scale or 1.0)


def outcomes(families=None, names=tuple(IMPLEMENTATIONS), n=POINTS):
    """Yield (implementation, family, type, measure, error): 0.0 if exact, another float, or a word for no number."""
    for case in conformance.cases(families=families, n=n):
        known, dtype = exact(case), case.points.dtype.name
        for name in names:
            of, _, types = IMPLEMENTATIONS[name]
            for measure, compute in of(case.points.copy()) if dtype in types else ():
                if name == "clgeom":
                    right = is_exact(measure, compute(), known[measure], case.points)
                    yield name, case.family, dtype, measure, 0.0 if right else "not exact"
                    continue
                wide = measure in ("rectangle", "intersection")
                error = error_of(compute, known[measure], known["diameter"] * (known["diameter"] if wide else 1.0))
                yield name, case.family, dtype, measure, error


def version(package):
    return clgeom.__version__ if package == "clgeom" else importlib.metadata.version(package)


def is_right(error):
    return isinstance(error, float) and error <= RIGHT


def count(errors):
    """How many numbers are exact, rounded, right, or wrong."""
    if not errors:
        return "none"
    exact, near = errors.count(0.0), sum(isinstance(one, float) and one <= ROUNDED for one in errors)
    right = sum(map(is_right, errors))
    parts = (exact, "exact"), (near - exact, "rounded"), (right - near, "right"), (len(errors) - right, "wrong")
    return ", ".join(f"{number} {kind}" for number, kind in parts if number)


def shown(error):
    if isinstance(error, str):
        return error
    return f"{100 * error:{'.1g' if error < 0.095 else '.0f'}} %" if error < 9.5 else f"{error:.0e} times"


def faults(found):
    """The wrong numbers of a family as text: for each type, measures and their errors."""
    wrong = [(dtype, f"{measure} {shown(error)}") for dtype, measure, error in found if not is_right(error)]
    kinds = dict.fromkeys(dtype for dtype, _ in wrong)
    return "; ".join(f"{kind}: {', '.join(text for dtype, text in wrong if dtype == kind)}" for kind in kinds)


def tables():
    """Two tables as lists of rows: counts for each measure, and wrong numbers of each family."""
    found = list(outcomes())
    heads = [f"{name} {', '.join(map(version, packages))}" for name, (_, packages, _) in IMPLEMENTATIONS.items()]
    counts, families = [["measure", *heads]], [["family", *heads]]
    for measure in MEASURES:
        counts.append(
            [measure, *(count([e for i, _, _, m, e in found if (i, m) == (name, measure)]) for name in IMPLEMENTATIONS)]
        )
    for family in conformance.FAMILIES:
        cells = [faults([(t, m, e) for i, f, t, m, e in found if (i, f) == (name, family)]) for name in IMPLEMENTATIONS]
        families.append([f"``{family}``", *(cell or "right" for cell in cells)])
    return counts, families
