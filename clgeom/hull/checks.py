"""Checks of the kernels of hulls (`clgeom.core.checks`).

The points of trials are on two parabolas, one upside down above the other, which are all vertices, and within them. All
coordinates are whole numbers below 2**24: exact in every type.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.checks import check, require, same

if TYPE_CHECKING:
    from clgeom.core.device import Session


def two_parabolas(m: int, inside: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """4 m + 2 vertices and points inside them, twice and in disorder; the indices of the vertices in order."""
    x = np.arange(-m, m + 1)
    height = 2 * m * m + 100
    lower, upper = np.stack([x, x * x], axis=1), np.stack([x, height - x * x], axis=1)[::-1]
    k = np.arange(inside)
    within = np.stack([k * 7 % m - m // 2, m * m + 1 + k * 31 % 98], axis=1)
    points = np.concatenate([lower, upper, within, lower[::3], within[::2]])
    order = np.arange(len(points)) * 7919 % len(points)
    if len(set(order.tolist())) < len(points):  # no permutation: a multiple of 7919
        order = np.arange(len(points))[::-1]
    shuffled = points[order]
    place = np.full(len(points), len(points))
    place[order] = np.arange(len(points))
    first = place[: 4 * m + 2].copy()
    again = place[4 * m + 2 + inside :][: len(lower[::3])]
    first[: 2 * m + 1 : 3] = np.minimum(first[: 2 * m + 1 : 3], again)  # of equal points the lowest index
    return shuffled.astype(dtype), first


def _require_hull(session: Session, points: np.ndarray, vertices: np.ndarray, **options: Any) -> None:
    from clgeom.hull.convex import convex_hull

    hull = convex_hull(points, device=session, **options)
    same(hull.vertices, vertices, "vertices")
    same(hull.points, points[vertices], "corners")
    same(hull.dimension, 2, "dimension")


@check(before="hull/sieve/tile_hull", by_type=True)
def few_points(session: Session, dtype: np.dtype) -> None:
    """Hulls of so few points that one launch makes them."""
    for m in (2, 100):
        _require_hull(session, *two_parabolas(m, 100, dtype))


@check(before=("hull/sieve", "hull/lexsort"), by_type=True)
def sieve(session: Session, dtype: np.dtype) -> None:
    """A hull of many points, most of them inside."""
    _require_hull(session, *two_parabolas(10, 8_000, dtype))


@check(
    "hull/lexsort: point_keys points_of_keys order_mend",
    "hull/wagener: hood_blocks hood_merge hood_layout hood_emit",
    before="hull/wagener",
    by_type=True,
)
def hoods(session: Session, dtype: np.dtype) -> str:
    """A hull of many points, most of them vertices, by sorting and merging."""
    _require_hull(session, *two_parabolas(700, 200, dtype), filter="none")
    return "hull of 3,569 points"


@check("hull: heaphull_label", before="hull/heaphull_label", by_type=True)
def octagon(session: Session, dtype: np.dtype) -> str:
    """The labels of the filter: the quadrants of vertices, and points inside."""
    from clgeom.hull.heaphull import heaphull_filter

    points, vertices = two_parabolas(300, 5_000, dtype)
    labels = heaphull_filter(points, device=session).labels
    corners = points[vertices].astype(np.float64)
    x, y = corners[:, 0], corners[:, 1] - 90_050
    quadrant = np.select([(x > 0) & (y > 0), (x < 0) & (y > 0), (x < 0) & (y < 0), (x > 0) & (y < 0)], [1, 2, 3, 4], 0)
    within = np.abs(points[:, 1].astype(np.float64) - 90_050) < 50
    asked = (np.abs(x) > 1) & (np.abs(x) < 300)  # not the corners of the octagon
    same(labels[vertices][asked], quadrant[asked], "quadrants")
    require(not labels[within].any(), "a point inside is left")
    return "labels of 8,903 points"


@check(before="hull/batch", by_type=True)
def batches(session: Session, dtype: np.dtype) -> None:
    """Hulls of groups of all sizes, in one call."""
    from clgeom.hull.batch.hulls import convex_hulls

    groups = [two_parabolas(m, inside, dtype) for m, inside in ((2, 5), (40, 0), (9, 2_000), (300, 3), (3, 3))]
    offsets = np.append(0, np.cumsum([len(points) for points, _ in groups]))
    found = convex_hulls(np.concatenate([points for points, _ in groups]), offsets, device=session)
    expected = [offset + vertices for offset, (_, vertices) in zip(offsets, groups)]
    same(found.vertices, np.concatenate(expected), "vertices")
    same(np.diff(found.offsets), [len(vertices) for vertices in expected], "numbers of vertices")


def _cloud(n: int, dtype: np.dtype) -> np.ndarray:
    return (np.random.default_rng(0).normal(size=(n, 2)) * 1000).astype(dtype)


def _corners(points: np.ndarray) -> np.ndarray:
    """Return the corners of the convex hull of some points, by exact arithmetic on the host."""
    from clgeom.geo.exact import ordered_hull

    return points[ordered_hull(*points.T.tolist(), keep_collinear=False)[0]]


@check("hull: orient2d_signs", by_type=True)
def signs(session: Session, dtype: np.dtype) -> str:
    from clgeom.hull.predicates import orient2d, orientation, predicate_parameters, witnesses

    if dtype == np.int32:
        a, b, c = np.random.default_rng(5).integers(-(2**31), 2**31, (3, 200, 2)).astype(dtype)
    else:
        a, b, c = witnesses(dtype)
    expected = [orientation(*triple) for triple in zip(a.tolist(), b.tolist(), c.tolist())]
    same(orient2d(a, b, c, device=session), expected, str(dtype))
    path = "filter" if predicate_parameters(session, dtype)["filtered"] else "integers only"
    return f"witnesses of {dtype} right by {path}"


@check("hull/sieve: sieve tile_hull sample_extremes extreme_polygon cap_extremes polygon_cut tile_hoods", by_type=True)
def shapes_of_the_sieve(session: Session, dtype: np.dtype) -> str:
    from clgeom.core.policies import Policy
    from clgeom.core.tuning import override
    from clgeom.hull.sieve.sieve import start_sieve
    from clgeom.intake.arrays import to_device

    points = _cloud(20_011, dtype)
    for shape in Policy("group", 128, 8, groups_per_unit=4), Policy("serial", 1, 512, groups_per_unit=4):
        with override({"hull/sieve/sieve": shape}):
            array = to_device(session, points, caller="selftest")
            for short in (True, False):
                found = start_sieve(array, keep_collinear=False, short=short)()
                same(found.corners, _corners(points), f"{dtype}, {shape.variant}")
    return "hull of 20,011 points, by polygons and by tiles"


@check("hull/batch: batch_heads")
def hulls_by_label(session: Session) -> str:
    import pyopencl.array as cl_array

    from clgeom.hull.batch.hulls import convex_hulls_by_label

    points, labels = _cloud(5_003, np.dtype(np.float32)), np.random.default_rng(9).integers(0, 300, 5_003) * 7
    host = convex_hulls_by_label(points, labels, device=session)
    given = [cl_array.to_device(session.queue, array) for array in (points, labels)]
    batch = convex_hulls_by_label(*given, device=session)
    same(batch.labels, np.unique(labels), "labels")
    same(batch.vertices.get(), host.vertices, "vertices")
    return f"{len(batch)} labels of 5,003 points"


@check("hull/batch: batch_within", by_type=True)
def points_within(session: Session, dtype: np.dtype) -> str:
    from clgeom.core.tuning import override
    from clgeom.hull.batch.within import Within
    from clgeom.hull.policies import POLICIES

    kernel, n = "hull/batch/batch_within", 20_011
    for policies in ({}, {kernel: POLICIES[kernel]["any"]})[: 1 + (dtype == np.float32)]:
        points, labels = _cloud(n, dtype), np.random.default_rng(9).integers(-3, 3, n)
        inner, owners = Within(session), np.array([-3, 0, 1])  # the others have no vertices yet
        inner.learn(owners, np.full(3, 200), points[:600], n)
        with override(policies):
            result: Any = inner.outside(points, labels)
        outside, found, counts = result
        low, high = np.split(inner.rectangles[np.clip(labels, -4, 2) - inner.first], 2, axis=1)
        within = ((low < points) & (points < high)).all(axis=1)
        same(outside, np.flatnonzero(~within), f"{dtype}, points outside")
        same(np.repeat(found, counts), np.sort(labels[within]), f"{dtype}, labels within")
    return f"{n:,} points of 6 labels"


@check("hull/batch: batch_hulls batch_emit batch_sizes batch_cut batch_pieces batch_crowded batch_tiles", by_type=True)
def hulls_of_all_sizes(session: Session, dtype: np.dtype) -> str:
    from clgeom.core.tuning import override
    from clgeom.hull.batch.hulls import convex_hulls
    from clgeom.hull.policies import POLICIES

    sizes = np.array([0, 1, 2, 3, 17, 64, 100, 1000, 5_003])
    offsets = np.append(0, np.cumsum(np.tile(sizes, 3)))
    points = _cloud(int(offsets[-1]), dtype)
    points[offsets[-2] :, 0] = np.arange(offsets[-2] - offsets[-1], 0)  # crowded: a parabola
    points[offsets[-2] :, 1] = points[offsets[-2] :, 0] ** 2
    shapes = {kernel: rows["any"] for kernel, rows in POLICIES.items() if kernel.startswith("hull/batch/")}
    shapes["hull/batch/batch_crowded"] = replace(shapes["hull/batch/batch_crowded"], items_per_thread=1 << 20)
    for policies in ({}, shapes)[: 1 + (dtype == np.float32)]:
        with override(policies):  # CPUs have no use for all the kernels by themselves
            batch = convex_hulls(points, offsets, device=session)
        for begin, end, hull in zip(offsets, offsets[1:], batch):
            same(hull.points, _corners(points[begin:end]), f"{dtype}, {hull.n}")
    return f"{len(offsets) - 1} hulls of up to 5,003 points"


@check("hull/batch: batch_calipers", by_type=True)
def calipers_of_batches(session: Session, dtype: np.dtype) -> str:
    """All measures of hulls of all sizes are as integers give them on the host."""
    from clgeom.hull.batch.calipers import NUMBERS, best_calipers
    from clgeom.hull.calipers import Corners, best_caliper, numbers_of
    from clgeom.hull.circles import circle_numbers, least_circle

    hulls = [two_parabolas(m, 0, dtype) for m in (1, 2, 3, 40, 300)]
    parts = [points[vertices] for points, vertices in hulls]
    parts += [_corners(_cloud(n, dtype)) for n in (2, 3, 10, 1_000)]
    offsets = np.append(0, np.cumsum([len(part) for part in parts]))
    for purpose in NUMBERS:
        found = best_calipers(session, np.concatenate(parts), offsets, purpose)
        for part, caliper, numbers in zip(parts, found.calipers, found.numbers):
            polygon = Corners(part)
            if purpose == "circle":
                support = least_circle(polygon)
                same(caliper[:3], [*support, -1][:3], f"{dtype}, corners of the circle, {len(part)} corners")
                same(numbers, circle_numbers(polygon, support), f"{dtype}, numbers of the circle")
                continue
            best = best_caliper(polygon, range(len(polygon)), purpose)
            same(caliper[0], best.edge, f"{dtype}, {purpose}, {len(part)} corners")
            same(numbers, numbers_of(polygon, best, purpose), f"{dtype}, numbers of the {purpose}")
    return f"{len(parts)} hulls of up to 1,202 corners"


@check("hull/batch: batch_contains", by_type=True)
def points_of_batches(session: Session, dtype: np.dtype) -> str:
    """Every corner is in its hull, and of the corners of all hulls those that no edge has on its right."""
    from clgeom.hull.batch.membership import contains
    from clgeom.hull.predicates import orientation

    parts = [_corners(_cloud(n, dtype)[:n]) for n in (6, 20, 2_000)]
    corners, sizes = np.concatenate(parts), [len(part) for part in parts]
    offsets, owners = np.append(0, np.cumsum(sizes)), np.repeat(np.arange(len(parts)), len(corners))
    expected = [
        all(orientation(a, b, point) >= 0 for a, b in zip(ring, ring[1:] + ring[:1]))
        for ring in (part.tolist() for part in parts)
        for point in corners.tolist()
    ]
    same(contains(session, corners, offsets, np.tile(corners, (len(parts), 1)), owners), expected, f"{dtype}")
    places, ends = np.tile(corners, (8, 1)), np.array([0, sizes[1]])  # so many that there are bins of corners
    same(contains(session, parts[1], ends, places, None), expected[len(corners) :][: len(corners)] * 8, f"{dtype}, one")
    return f"{len(corners)} points in {len(parts)} hulls"


@check("hull/wagener: hood_match_blocks hood_match hood_list hood_order", by_type=True)
def both_hoods(session: Session, dtype: np.dtype) -> str:
    from clgeom.hull.wagener.hoods import lower_hood, upper_hood

    points = _cloud(5_011, dtype)
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    corners = _corners(points)
    turn = int(np.flatnonzero((corners == points[-1]).all(axis=1))[0])
    lower, upper = corners[: turn + 1], np.concatenate([corners[turn:], corners[:1]])[::-1]
    for method in ("published", "runs"):
        for hood, expected in ((lower_hood, lower), (upper_hood, upper)):
            found = hood(points, method=method, device=session).points
            same(found, expected, f"{dtype}, {hood.__name__}, {method}")
    return "both hoods of 5,011 points"
