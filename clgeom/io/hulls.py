"""Write hulls as GeoJSON, KML, CSV, WKT or NumPy files.

Coordinates keep every bit, except in KML and where they are reprojected.
"""

from __future__ import annotations

import io
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import printable, shown, swapped_words
from clgeom.errors import InvalidInput
from clgeom.geo.geojson import arrays_of
from clgeom.geo.lonlat import named_lonlat, to_lonlat
from clgeom.intake.interop.columns import LATITUDES, LONGITUDES
from clgeom.io.atomic import check_output, write_whole
from clgeom.io.features import Feature, encode_kml, encode_row, wkt
from clgeom.io.files import FilePath
from clgeom.io.outputs import IN_LONLAT


def check_lonlat(path: FilePath | None, names: Any, crs: Any, *, has_columns: Any) -> None:
    """Raise `InvalidInput` if coordinates for a GeoJSON or KML file are not known to be longitude and latitude.

    Parameters
    ----------
    path : path-like or None
        The output; other formats take any coordinates.
    names : pair of str or None
        Names of the columns of x and y, None without names.
    crs : str or None
        The coordinate reference system, if it was named.
    has_columns : bool
        Whether the input has columns whose names may say that they are longitude and latitude, for the message.
    """
    if path is None or Path(path).suffix.lower() not in IN_LONLAT:
        return
    given = printable(os.fspath(path))
    if names is not None and names[0].lower() in LATITUDES and names[1].lower() in LONGITUDES:
        raise wrong_file(
            given,
            f"needs longitude as x and latitude as y. Got '{shown(names[0])}' and '{shown(names[1])}' instead",
            kind="output",
        )
    if crs is None and (names is None or not named_lonlat(*names)):
        words = ""
        if has_columns:
            got = "columns without names" if names is None else f"'{shown(names[0])}' and '{shown(names[1])}'"
            words = f" Columns of longitude and latitude must be lon and lat. Got {got} instead."
        raise InvalidInput(
            f"The output '{given}' is in longitude and latitude, and the coordinates may not be: name their reference "
            f"system (--crs EPSG:32632), or write .gpkg, .csv or .wkt.{words}"
        )


@keeps_subnormals
def as_lonlat(feature: Any, crs: Any, path: FilePath) -> Any:
    """Return a GeoJSON feature in longitude and latitude: reprojected from `crs`, or as it is if that is None.

    Raises
    ------
    InvalidInput
        Coordinates are beyond the range of longitude and latitude, or cannot be reprojected.
    """
    given = printable(os.fspath(path))
    if crs is not None:
        geometry = to_lonlat(feature["geometry"], crs, caller=f"Writing '{given}'")
        return {**feature, "properties": {**feature["properties"], "crs": str(crs)}, "geometry": geometry}
    for x, y in _positions(feature["geometry"]):
        if not (abs(x) <= 180 and abs(y) <= 90):
            raise wrong_file(
                given,
                f"is in longitude and latitude, within 180 and 90 degrees. Got ({x!r}, {y!r}) instead"
                f"{swapped_words(y)}: name the coordinates' reference system (--crs, or 'crs' in Python: "
                "EPSG:32632, or EPSG:4326 where longitudes pass 180), or write .gpkg, .csv or .wkt",
                kind="output",
            )
    return feature


def _positions(geometry: dict[str, Any]) -> list[Any]:
    """Return the positions of a geometry."""
    return [place for part in arrays_of(geometry) for place in part.tolist()]


@keeps_subnormals
def write_hull(hull: Any, path: FilePath, *, crs: Any = None) -> None:
    """Write a hull to a file, whole or not at all; see `encode_hull` for parameters and errors."""
    check_output(path, HULL_FORMATS)
    write_whole(path, encode_hull(hull, path, crs=crs))


@keeps_subnormals
def encode_hull(hull: Any, path: FilePath, *, crs: Any = None) -> bytes:
    """Return the content of a file that holds a hull.

    Parameters
    ----------
    hull : Hull
    path : path-like
        Its ending chooses the format: .geojson or .json (a Feature), .kml, .csv (index, x, y of each vertex), .wkt,
        .npy (the vertices' coordinates), .npz (arrays "vertices" and "points").
    crs : optional
        Coordinate reference system of the hull, as anything that pyproj takes; GeoJSON and KML are then reprojected to
        longitude and latitude. None: the coordinates are longitude and latitude already. The other formats keep the
        coordinates.

    Raises
    ------
    InvalidInput
        The coordinates are not, or cannot become, longitude and latitude.
    """
    return HULL_FORMATS[Path(path).suffix.lower()](hull, crs, path)


@keeps_subnormals
def write_row(columns: Any, geometry: dict[str, Any], path: FilePath, *, crs: Any = None) -> None:
    """Write a geometry and its values to a .csv (with WKT), .wkt or .kml file, whole or not at all."""
    if Path(path).suffix.lower() != ".kml":
        content = encode_row(columns, geometry, path)
    else:
        values = {name: column.tolist()[0] for name, column in columns.items()}
        feature = as_lonlat({"properties": {"label": "region", **values}, "geometry": geometry}, crs, path)
        content = encode_kml([Feature(feature["geometry"], feature["properties"])], path)
    write_whole(path, content)


def finite(number: float) -> float | None:
    """Return a number, or None for one that JSON cannot hold: NaN or infinity."""
    return float(number) if math.isfinite(number) else None


def as_geojson(hull: Any, crs: Any, path: FilePath) -> bytes:
    properties = {
        "points": int(hull.n),
        "area": finite(hull.area),
        "perimeter": finite(hull.perimeter),
        "vertices": hull.vertices.tolist(),
    }
    feature = {"type": "Feature", "properties": properties, "geometry": hull.__geo_interface__}
    return (json.dumps(as_lonlat(feature, crs, path), allow_nan=False) + "\n").encode()


def as_kml(hull: Any, crs: Any, path: FilePath) -> bytes:
    measures = {"points": int(hull.n), "area": finite(hull.area), "perimeter": finite(hull.perimeter)}
    feature = as_lonlat({"properties": {"label": "hull", **measures}, "geometry": hull.__geo_interface__}, crs, path)
    return encode_kml([Feature(feature["geometry"], feature["properties"])], path)


def as_csv(hull: Any, crs: Any, path: FilePath) -> bytes:
    del crs, path
    rows = zip(hull.vertices.tolist(), hull.points.tolist())
    return "".join(["index,x,y\n", *(f"{index},{x!r},{y!r}\n" for index, (x, y) in rows)]).encode()


def as_wkt(hull: Any, crs: Any, path: FilePath) -> bytes:
    del crs, path
    if hull.across is not None:
        return f"{wkt(hull.__geo_interface__)}\n".encode()
    kind, corners = hull.__geo_interface__["type"].upper(), hull.points.tolist()
    if not corners:
        return f"{kind} EMPTY\n".encode()
    if kind == "POLYGON":
        return f"POLYGON ({_wkt([*corners, corners[0]])})\n".encode()
    return f"{kind} {_wkt(corners)}\n".encode()


def _wkt(corners: Any) -> Any:
    return "({})".format(", ".join(f"{x!r} {y!r}" for x, y in corners))


def as_npy(hull: Any, crs: Any, path: FilePath) -> bytes:
    del crs, path
    out = io.BytesIO()
    np.save(out, hull.points)
    return out.getvalue()


def as_npz(hull: Any, crs: Any, path: FilePath) -> bytes:
    del crs, path
    out = io.BytesIO()
    np.savez(out, vertices=hull.vertices, points=hull.points)
    return out.getvalue()


HULL_FORMATS = {
    ".geojson": as_geojson,
    ".json": as_geojson,
    ".kml": as_kml,
    ".csv": as_csv,
    ".wkt": as_wkt,
    ".npy": as_npy,
    ".npz": as_npz,
}
