"""Convert geometries to GeoJSON (RFC 7946)."""

from __future__ import annotations

from typing import Any

import numpy as np

from clgeom.optional import require_shapely


def polygons_of(shape: Any) -> Any:
    """Return the valid polygons of a Shapely geometry, without lines and points where shapes only touch."""
    shapely = require_shapely()
    if not shape.is_valid:
        shape = shapely.make_valid(shape)
    parts = [part for part in shapely.get_parts(shape).tolist() if part.geom_type == "Polygon" and part.area > 0]
    return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)


def polygons_in(geometry: dict[str, Any]) -> list[Any]:
    """Return the polygons of a GeoJSON-like geometry, as lists of rings."""
    if geometry["type"] == "Polygon":
        return [geometry["coordinates"]] if len(geometry["coordinates"]) else []
    if geometry["type"] == "MultiPolygon":
        return list(geometry["coordinates"])
    return [polygon for part in geometry.get("geometries", ()) for polygon in polygons_in(part)]


def as_geojson(shape: Any) -> dict[str, Any]:
    """Return a Shapely geometry as GeoJSON; polygons follow the right-hand rule."""
    return as_lists(require_shapely().geometry.mapping(shape))


def arrays_of(geometry: dict[str, Any]) -> list[Any]:
    """Return the rings, lines and points of a GeoJSON-like geometry as arrays, shape (n, 2)."""
    kind, parts = geometry["type"], geometry.get("coordinates", ())
    if kind == "GeometryCollection":
        parts = [array for part in geometry["geometries"] for array in arrays_of(part)]
    elif kind == "MultiPolygon":
        parts = [ring for rings in parts for ring in rings]
    elif kind not in ("Polygon", "MultiLineString"):
        parts = [parts]
    return [np.asarray(part, np.float64).reshape(-1, np.shape(part)[-1])[:, :2] for part in parts if len(part)]


def as_lists(geometry: dict[str, Any]) -> dict[str, Any]:
    """Return a GeoJSON-like geometry with coordinates as lists, rings by the right-hand rule (RFC 7946, 3.1.6)."""
    kind = geometry["type"]
    if kind == "GeometryCollection":
        return {"type": kind, "geometries": [as_lists(part) for part in geometry["geometries"]]}
    coordinates = geometry["coordinates"]
    if kind == "Polygon":
        return {"type": kind, "coordinates": _right_handed(coordinates)}
    if kind == "MultiPolygon":
        return {"type": kind, "coordinates": [_right_handed(rings) for rings in coordinates]}
    if kind == "MultiLineString":
        return {"type": kind, "coordinates": [np.asarray(line, np.float64).tolist() for line in coordinates]}
    return {"type": kind, "coordinates": np.asarray(coordinates, np.float64).tolist()}


def _right_handed(rings: Any) -> list[Any]:
    """Return rings as lists: the first counter-clockwise, the others clockwise."""
    arrays = [np.asarray(ring, np.float64) for ring in rings]
    return [
        (ring if (twice_area(ring) > 0) == (number == 0) else ring[::-1]).tolist() for number, ring in enumerate(arrays)
    ]


def twice_area(curve: Any) -> float:
    (x, y), (dx, dy) = (curve[:-1] - curve[0]).T, (curve[1:] - curve[:-1]).T
    return float((x * dy - y * dx).sum())
