"""Options of ``clgeom region`` that rasters and points share, or that several of its modules know."""

from __future__ import annotations

from typing import Any

from clgeom.errors import InvalidInput

#: Options that simplify polygons along the cells; with one of them the outline is that.
BUDGETS = ("vertices", "part_vertices", "tolerance", "iou")
#: Default number of segments, and points for each segment: a segment of one point has no area. The region of uniform
#: random points with 64 segments has, of the area of their hull, 0% for 50 points, 56% for 200 and 89% for 1,000. With
#: 16 points for each segment it has 100%, 87% and 90%.
SEGMENTS, POINTS_EACH = 64, 16


def check_densify(densify: float | None, crs: Any) -> None:
    """Refuse --densify for a map in longitude and latitude, whose edges stay straight in the output."""
    from clgeom.geo.lonlat import LonLat

    if densify is not None and LonLat(crs, caller="region").mapping is None:
        raise InvalidInput(
            "The option --densify is for edges that become curves, and the input is in longitude and latitude already."
        )
