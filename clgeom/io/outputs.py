"""Endings and values of output files: each command and ``to_file`` writes all endings of geometries."""

from __future__ import annotations

import math
from typing import Any

#: Files in longitude and latitude.
GEOJSON = (".geojson", ".json")
IN_LONLAT = (*GEOJSON, ".kml")
#: Files that keep the coordinates in the reference system that they name.
MAPS = (".gpkg", ".fgb", ".shp", ".parquet")
IN_SYSTEM = (*IN_LONLAT, *MAPS)
#: Files that other packages write.
BY_PACKAGES = (*MAPS, ".kml")
GEOMETRIES = (*GEOJSON, *BY_PACKAGES, ".csv", ".wkt")
#: Files to which features can be added.
APPENDED = (".gpkg", *GEOJSON, ".csv", ".wkt")
#: Files of the vertices of one hull as arrays.
ARRAYS = (".npy", ".npz")


def either(endings: Any) -> str:
    """Endings in words: ".csv, .npy or .npz"."""
    *others, last = endings
    return f"{', '.join(others)} or {last}" if others else last


def json_value(value: Any) -> Any:
    """Return a value that JSON holds: null for NaN and infinity, text for dates and others."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
