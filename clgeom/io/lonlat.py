"""Geometries in longitude and latitude (EPSG:4326), as GeoJSON and KML want them. pyproj is imported when used."""

from __future__ import annotations

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.region.geodesy import as_crs

WGS84 = "EPSG:4326"
#: Names of columns that hold longitude and latitude, in lower case.
LONLAT_NAMES = (("lon", "lat"), ("longitude", "latitude"))


def named_lonlat(x, y) -> bool:
    """Whether columns of these names hold longitude and latitude, so that they need no other reference system."""
    return (str(x).strip().lower(), str(y).strip().lower()) in LONLAT_NAMES


def to_lonlat(geometry, crs, *, of, resolution=None) -> dict:
    """A geometry in longitude and latitude, by the rules of RFC 7946.

    Parameters
    ----------
    geometry : dict
        GeoJSON-like, of any type but Feature: what ``__geo_interface__`` gives.
    crs : object or None
        Its coordinate reference system, as anything that pyproj takes. None: it is in longitude and latitude already.
    of : str
        What needs it, for messages: "Writing 'a.geojson'".
    resolution : float, optional
        Length in units of `crs` below which detail does not matter, such as the side of a cell.

    Returns
    -------
    dict
        GeoJSON; coordinates are lists.

    Raises
    ------
    InvalidInput
        There is no such system, no pyproj, or the geometry reaches beyond what the system can express.
    """
    del resolution
    if crs is None or as_crs(crs, of=of).equals(WGS84):
        return _mapped(geometry, _right_handed)
    import pyproj

    transformer = pyproj.Transformer.from_crs(as_crs(crs, of=of), WGS84, always_xy=True)

    def moved(ring, outer):
        longitude, latitude = transformer.transform(*np.asarray(ring, np.float64).T)
        if not (np.isfinite(longitude).all() and np.isfinite(latitude).all()):
            raise InvalidInput(f"{of} is not possible: coordinates reach beyond what {crs} can express.")
        return _right_handed(np.stack([longitude, latitude], axis=1), outer)

    return _mapped(geometry, moved)


def _polygons(geometry):
    if geometry["type"] == "Polygon":
        return [geometry["coordinates"]] if geometry["coordinates"] else []
    if geometry["type"] == "MultiPolygon":
        return list(geometry["coordinates"])
    return [polygon for part in geometry.get("geometries", ()) for polygon in _polygons(part)]


def _mapped(geometry, change):
    polygons = [
        [change(ring, number == 0) for number, ring in enumerate(rings)] for rings in _polygons(geometry)
    ]
    if len(polygons) == 1:
        return {"type": "Polygon", "coordinates": polygons[0]}
    return {"type": "MultiPolygon", "coordinates": polygons}


def _right_handed(ring, outer):
    points = np.asarray(ring, np.float64)
    x, y = (points - points[0]).T
    turn = (x[:-1] * y[1:] - x[1:] * y[:-1]).sum()
    return (points if (turn > 0) == outer else points[::-1]).tolist()
