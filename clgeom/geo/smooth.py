"""Smooth outlines for presentation: Chaikin's corner cutting. They are not exact, and cells may be missed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.errors import is_number, short
from clgeom.geo.geojson import as_geojson, polygons_of
from clgeom.geo.ragged import Ragged
from clgeom.optional import require_shapely

#: Most rounds: each doubles the vertices, and no eye sees more.
MOST_ROUNDS = 6


def checked_rounds(rounds: Any, *, caller: str) -> int:
    """Return the `smooth` parameter of a method: a number of rounds."""
    if not (is_number(rounds) and rounds in range(MOST_ROUNDS + 1)):
        raise wrong("smooth", caller, f"a number of rounds from 0 to {MOST_ROUNDS}", short(rounds))
    return int(rounds)


def smoothed(shapes: Any, rounds: int) -> list[Any]:
    """Return polygons of Shapely with their corners cut, each valid; a round puts two vertices on each edge.

    Source: Chaikin, "An algorithm for high-speed curve generation" (1974).
    """
    shapely = require_shapely()
    parts, owner = shapely.get_parts(np.atleast_1d(np.asarray(shapes, object)), return_index=True)
    if not len(parts):
        return list(np.atleast_1d(shapes))
    rings, of_part = shapely.get_rings(parts, return_index=True)
    places, of_ring = shapely.get_coordinates(rings, return_index=True)
    is_last = np.append(of_ring[1:] != of_ring[:-1], True)  # the first vertex again
    sizes = np.bincount(of_ring[~is_last], minlength=len(rings))
    offsets = [np.append(0, np.cumsum(one)) for one in (sizes, np.bincount(of_part, minlength=len(parts)))]
    made = Ragged(places[~is_last], *offsets)
    for _ in range(rounds):
        here, after = made.places, made.places[made.following]
        cut = np.stack([0.75 * here + 0.25 * after, 0.25 * here + 0.75 * after], axis=1)
        made = replace(made, places=cut.reshape(-1, 2), rings=2 * made.rings)
    polygons = made.to_shapely()
    ends = np.searchsorted(owner, np.arange(len(np.atleast_1d(shapes)) + 1))
    return [
        polygons_of(polygons[a] if b - a == 1 else shapely.multipolygons(polygons[a:b])) for a, b in zip(ends, ends[1:])
    ]


def with_smooth_outlines(regions: Any, rounds: int) -> list[Any]:
    """Return what stands for regions in pictures and files: their level, map and grid, and a smooth geometry."""
    shapes = smoothed([region.to_shapely() for region in regions], rounds)
    names = ("grid", "level", "upto", "direction", "map")
    return [
        SimpleNamespace(
            **{name: getattr(region, name) for name in names if hasattr(region, name)},
            __geo_interface__=as_geojson(shape),
        )
        for region, shape in zip(regions, shapes)
    ]
