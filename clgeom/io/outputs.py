"""Endings and values of output files. Geometries have one list: each command and ``to_file`` writes all of it."""

from __future__ import annotations

import math
from typing import Any

#: Endings of files of geometries.
GEOMETRIES = (".geojson", ".json", ".gpkg", ".fgb", ".shp", ".parquet", ".kml", ".csv", ".wkt")
#: Those in longitude and latitude.
IN_LONLAT = (".geojson", ".json", ".kml")
#: Those in longitude and latitude, or in a reference system that they name.
IN_SYSTEM = (*IN_LONLAT, ".gpkg", ".fgb", ".shp", ".parquet")
#: Those that other packages write.
BY_PACKAGES = (".gpkg", ".fgb", ".shp", ".parquet", ".kml")
#: Those of the vertices of one hull as arrays.
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
