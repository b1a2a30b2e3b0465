"""Cutting of polygons with continuous longitudes at 180 degrees, and closing along the poles.

Shapely is imported when it is needed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.geo.geojson import twice_area
from clgeom.optional import require_shapely

#: Least distance by which polygons are moved outwards, in degrees: 1 mm, more than the rounding of PROJ.
MARGIN = 1e-8
#: Latitude beyond a pole at which polygons round the pole are closed. Edges moved there are cut off.
BEYOND = 100.0


@keeps_subnormals
def placed(polygons: Any, grow: Any) -> list[Any]:
    """Return polygons between -180 and 180 degrees, each moved outwards by its `grow`.

    A polygon is the inside of its first curve without the insides of the others. The inside is on the left of a curve,
    which may go round the earth.
    """
    shapely, grow = require_shapely(), np.broadcast_to(np.asarray(grow, np.float64), len(polygons))
    plain = [
        all((curve[0] == curve[-1]).all() and twice_area(curve) > 0 for curve in curves)
        and all((np.abs(curve) <= (180, 90)).all() for curve in curves)
        for curves in polygons
    ]
    some = [shapely.Polygon(curves[0], curves[1:]) for curves, here in zip(polygons, plain) if here]
    moved = np.array(some, object)
    if grow.any():
        moved = shapely.buffer(moved, grow[plain], join_style="mitre")
        beyond = (np.abs(shapely.bounds(moved).reshape(-1, 4)) > (180, 90, 180, 90)).any(axis=1)
        moved[beyond] = shapely.intersection(moved[beyond], window(0))
    moved = iter(moved.tolist())
    return [
        next(moved)
        if here
        else _cut_out([_on_the_left(curve, (1 - 2 * (i > 0)) * by) for i, curve in enumerate(curves)])
        for curves, here, by in zip(polygons, plain, grow.tolist())
    ]


def _cut_out(shapes: Any) -> Any:
    """Return the first of some shapes without the others."""
    return shapes[0].difference(require_shapely().union_all(shapes[1:])) if len(shapes) > 1 else shapes[0]


def _on_the_left(curve: Any, grow: Any) -> Any:
    """Return the left side of a curve, moved outwards by `grow`, between -180 and 180 degrees."""
    shapely = require_shapely()
    turns = round((curve[-1, 0] - curve[0, 0]) / 360)
    if turns:  # round a pole: five turns, closed beyond the pole, so that their ends are outside the result
        copies = [curve[:-1] + (360 * k * turns, 0) for k in range(-2, 3)]
        pole = math.copysign(BEYOND, turns)
        ends = [(copies[-1][-1, 0], pole), (copies[0][0, 0], pole)]
        return _grown(shapely.Polygon(np.concatenate([*copies, ends])), grow).intersection(window(0))
    if twice_area(curve) < 0:  # round both poles
        return window(0).difference(_on_the_left(curve[::-1], -grow))
    shape = shapely.Polygon(curve)
    # turns that only the margin reaches are left out
    grown, windows = _grown(shape, grow), windows_of(shape, min(abs(grow), MARGIN))
    return shapely.union_all([shifted(grown.intersection(window(k)), k) for k in windows])


def _grown(shape: Any, grow: Any) -> Any:
    return shape.buffer(grow, join_style="mitre") if grow else shape


def window(k: Any) -> Any:
    """Return the box of the k-th turn round the earth."""
    return require_shapely().box(360 * k - 180, -90, 360 * k + 180, 90)


def windows_of(shape: Any, least: Any) -> Any:
    """Return the turns in which a shape is wider than `least`; the widest one if there is none."""
    left, _, right, _ = shape.bounds
    found = {
        k: min(right, 360 * k + 180) - max(left, 360 * k - 180)
        for k in range(math.floor((left + 180) / 360), math.floor((right + 180) / 360) + 1)
    }
    return [k for k, width in found.items() if width > least] or [max(found, key=found.__getitem__)]


@keeps_subnormals
def shifted(shape: Any, k: Any) -> Any:
    return require_shapely().affinity.translate(shape, -360.0 * k) if k else shape


@keeps_subnormals
def rings_of(polygon: Any) -> list[Any]:
    """Return the rings of a Shapely polygon, each counter-clockwise."""
    ccw = require_shapely().is_ccw
    return [ring if ccw(ring) else ring.reverse() for ring in (polygon.exterior, *polygon.interiors)]
