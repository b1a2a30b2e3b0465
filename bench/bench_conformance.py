"""Convex hulls of clgeom, SciPy, Shapely and OpenCV on the adversarial families, and their measures: which are exact.

python bench/bench_conformance.py                  # the tables on the terminal
python bench/bench_conformance.py --write          # and docs/reference/conformance.rst anew
"""

import argparse
import warnings

import common
import conformance_measures as measures
import numpy as np

import clgeom
from clgeom import conformance

PAGE = common.ROOT / "docs" / "reference" / "conformance.rst"
HEAD = """\
Conformance
===========

Points whose hull is hard to get right: nearly collinear ones, products that overflow or vanish, subnormals, lattices
with many points on every edge, outermost points where a sample does not look. ``clgeom.conformance`` makes them, in
float32, float64 and int32, has the exact answer of each from rational arithmetic, and judges any function from points
to indices:

.. code-block:: python

   import clgeom
   from clgeom import conformance

   report = conformance.run(lambda points: clgeom.convex_hull(points).vertices)
   print(report)                     # ... 66 of 66 right ...
   report.wrong                      # the cases that it got wrong, with their points and their exact corners

An answer is right when it has every corner of the hull and nothing strictly inside. Points on edges, the order, and
which of several equal points is named do not count.

This page is written by ``python bench/bench_conformance.py --write``, which runs the packages named below with their
defaults on {n} points of each family and type. "missing" counts corners that were not returned, "inside" points that
are no part of the boundary and were. OpenCV takes float32 and int32 only; the others compute in float64. Their answers
are what rounding leaves, and usually close; the table says whether they are exact.

"""
MEASURES = """
Measures of hulls
-----------------

The same families, {n} points of each type, and brute force in rational arithmetic: all pairs of corners, all edges with
all corners, all pairs and triples for the circle, all half-planes for what two hulls have in common. ``distance`` is
that of both halves of the points by x, ``intersection`` that of the even and the odd ones; ``extent`` is along (3, -1).
Compared are a length, a radius, or the area of a rectangle or an intersection. clgeom's are "exact" if they are
correctly rounded, its extents if they are within their bound, and its intersections if all of their corners are
correctly rounded. Of the others, "exact" is the same float, "rounded" off by at most 1e-12 of the number, "right" by at
most a thousandth, and "wrong" by more, or there is none: what is 0 or infinite must be. Lengths of other packages come
from their own hulls where they have any; those of OpenCV are float32, those under SciPy ``pdist`` and NumPy's products.

"""
WRONG = """
Wrong numbers by family: the error as a share of the number, or what came instead.

"""


def scipy_hull(points):
    from scipy.spatial import ConvexHull

    return ConvexHull(points).vertices


def shapely_hull(points):
    import shapely

    corners = shapely.get_coordinates(shapely.convex_hull(shapely.multipoints(points))).astype(points.dtype)
    rows = {tuple(point): row for row, point in enumerate(points.tolist())}
    return [rows[tuple(corner)] for corner in corners.tolist()]


def opencv_hull(points):
    import cv2

    return cv2.convexHull(points, returnPoints=False)


#: Function, package, and the types that it takes.
IMPLEMENTATIONS = {
    "clgeom": (lambda points: clgeom.convex_hull(points).vertices, "clgeom", conformance.TYPES),
    "SciPy": (scipy_hull, "scipy", conformance.TYPES),
    "Shapely": (shapely_hull, "shapely", conformance.TYPES),
    "OpenCV": (opencv_hull, "opencv-python-headless", ("float32", "int32")),
}


def fault(outcome):
    dtype = outcome.case.points.dtype
    if outcome.error:
        return f"{dtype}: {outcome.error.split(':')[0]}"
    parts = [f"{count} {what}" for what, count in (("missing", outcome.missing), ("inside", outcome.inside)) if count]
    return f"{dtype}: {', '.join(parts)}"


def rows(n):
    """The header, a row for each family, and the totals."""
    reports = {}
    for name, (hull, _, types) in IMPLEMENTATIONS.items():
        reports[name] = conformance.run(hull, types=types, n=n)
    yield ["family", *(f"{name} {measures.version(package)}" for name, (_, package, _) in IMPLEMENTATIONS.items())]
    for family, make in conformance.FAMILIES.items():
        text = make.__doc__.strip().splitlines()[0].removeprefix("Return ")
        cells = []
        for report in reports.values():
            faults = [fault(outcome) for outcome in report.wrong if outcome.case.family == family]
            cells.append("; ".join(faults) or "exact")
        yield [f"``{family}``: {text[0].lower() + text[1:].rstrip('.')}", *cells]
    yield ["right", *(f"{len(r.outcomes) - len(r.wrong)} of {len(r.outcomes)}" for r in reports.values())]


def list_table(rows):
    head = f".. list-table::\n   :header-rows: 1\n   :widths: 28{' 18' * (len(rows[0]) - 1)}\n\n"
    return (
        head + "\n".join(f"{'     -' if k else '   * -'} {cell}" for row in rows for k, cell in enumerate(row)) + "\n"
    )


def page(n=conformance.POINTS):
    """The text of the page."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        hulls, (counts, wrong) = list(rows(n)), measures.tables()
    heads = HEAD.format(n=n), MEASURES.format(n=measures.POINTS), WRONG
    return "".join(head + list_table(table) for head, table in zip(heads, (hulls, counts, wrong)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=conformance.POINTS, help="points of each case of hulls")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    text = page(options.n)
    print(text)
    if options.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
