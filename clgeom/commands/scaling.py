"""Hulls in the terms of the file: coordinates of LAS and LAZ in units of the reference system, names of groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.hull.measures import polygon_perimeter
from clgeom.hull.result import Hull

if TYPE_CHECKING:
    from clgeom.io.cloud import Cloud


def scaled_hull(found: Any, cloud: Cloud) -> Any:
    """Return a hull of `cloud.points` in coordinates of the reference system.

    Area and perimeter are those of the integers times the scale, so that the offset costs no digits.
    """
    if cloud.scale is None:
        return found
    hull = Hull(
        found.vertices, _coordinates(found.points, cloud), found.dimension, found.n, found.phases, found.session
    )
    hull.__dict__["area"] = found.area * cloud.scale[0] * cloud.scale[1]
    hull.__dict__["perimeter"] = _perimeter(found, cloud.scale)
    return hull


def scaled_batch(batch: Any, cloud: Cloud) -> Any:
    """Return the hulls of groups of `cloud.points` in coordinates of the reference system."""
    if cloud.scale is None:
        return batch
    x, y = cloud.scale
    perimeters = batch.perimeters * x if x == y else np.array([_perimeter(hull, cloud.scale) for hull in batch])
    scaled = replace(batch, points=_coordinates(batch.points, cloud), areas=batch.areas * x * y, perimeters=perimeters)
    scaled.__dict__["dimensions"] = batch.dimensions  # of the integers: rounding may bend a segment
    return scaled


def named_batch(batch: Any, groups: Any) -> Any:
    """Return the hulls with the names of their groups as labels. A group without points has no hull."""
    names = np.array(groups.names, object)[batch.labels]
    named = replace(batch, labels=names, label_column=names, label_name=groups.title)
    named.__dict__["dimensions"] = batch.dimensions
    return named


def _coordinates(points: Any, cloud: Cloud) -> Any:
    return points * cloud.scale + cloud.offset


def _perimeter(hull: Any, scale: Any) -> float:
    if scale[0] == scale[1] or hull.dimension < 1:
        return hull.perimeter * scale[0]
    corners = hull.points * scale
    return polygon_perimeter(corners[[0, -1]] if hull.dimension == 1 else corners)
