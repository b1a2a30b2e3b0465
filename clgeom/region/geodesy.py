"""Areas on the earth. pyproj is imported when one is asked for."""

from __future__ import annotations

import importlib.util

import numpy as np

from clgeom.errors import InvalidInput

#: Edges longer than this, in degrees, are measured in pieces: they are straight on the map, not on the ellipsoid.
PIECE = 0.02


def as_crs(crs, *, of: str):
    """A ``pyproj.CRS``; `InvalidInput` when there is none, or no pyproj."""
    if crs is None:
        raise InvalidInput(
            f"{of} needs a coordinate reference system, and there is none: name it (crs='EPSG:32632')."
        )
    if importlib.util.find_spec("pyproj") is None:
        raise InvalidInput(f"{of} needs pyproj, which is not installed: pip install 'clgeom[geo]'.")
    import pyproj

    try:
        return pyproj.CRS.from_user_input(crs)
    except pyproj.exceptions.CRSError as error:
        raise InvalidInput(
            f"The 'crs' parameter of {of} must be a coordinate reference system, as 'EPSG:32632'. Got {crs!r} instead."
        ) from error


def area_km2(region) -> float:
    """The area of a coverage region in km2: in the plane of a projected system, else on the ellipsoid."""
    crs = as_crs(region.crs, of="area_km2")
    if not crs.is_geographic:
        return region.area * crs.axis_info[0].unit_conversion_factor ** 2 / 1e6
    earth, geometry = crs.get_geod(), region.__geo_interface__
    polygons = geometry["coordinates"] if geometry["type"] == "MultiPolygon" else [geometry["coordinates"]]

    def ring_area(ring):
        return abs(earth.polygon_area_perimeter(*_in_pieces(np.array(ring[:-1])).T)[0])

    return sum(ring_area(outer) - sum(map(ring_area, inner)) for outer, *inner in filter(len, polygons)) / 1e6


def _in_pieces(ring):
    """A ring with vertices added along its long edges."""
    ends = np.roll(ring, -1, axis=0)
    counts = np.maximum(np.ceil(np.abs(ends - ring).max(axis=1) / PIECE).astype(int), 1)
    edge = np.repeat(np.arange(len(ring)), counts)
    share = (np.arange(len(edge)) - np.repeat(np.cumsum(counts) - counts, counts)) / np.repeat(counts, counts)
    return ring[edge] + share[:, None] * (ends - ring)[edge]
