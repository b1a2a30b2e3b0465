"""Write hulls as GeoJSON, KML, CSV, WKT or NumPy files.

Coordinates keep every bit, except in KML and where they are reprojected.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterator
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
from clgeom.io.atomic import check_output, replacing, write_whole
from clgeom.io.features import encode_kml, encode_row, wkt
from clgeom.io.files import FilePath
from clgeom.io.outputs import ARRAYS, IN_LONLAT
from clgeom.io.vector import feature_collection

#: Endings of files of several hulls, and of one.
HULLS_FORMATS = (*IN_LONLAT, ".csv", ".wkt")
HULL_FORMATS = (*HULLS_FORMATS, *ARRAYS)
#: Properties of each hull, and columns, in the output. The column of groups gets none of these names.
TAKEN = ("points", "area", "perimeter", "vertices", "crs", "index", "x", "y")


def check_lonlat(path: FilePath | None, names: Any, crs: Any, *, has_columns: Any) -> None:
    """Raise `InvalidInput` if coordinates for a GeoJSON or KML file are not known to be longitude and latitude.

    `names` are those of the columns of x and y, if they have any. `has_columns`, for the message: whether the names of
    columns may say that they are longitude and latitude.
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


def as_lonlat(feature: Any, crs: Any, path: FilePath) -> Any:
    """Return a GeoJSON feature in longitude and latitude: reprojected from `crs`, or as it is if that is None."""
    given = printable(os.fspath(path))
    if crs is not None:
        geometry = to_lonlat(feature["geometry"], crs, caller=f"Writing '{given}'")
        return {**feature, "properties": {**feature["properties"], "crs": str(crs)}, "geometry": geometry}
    for x, y in (place for part in arrays_of(feature["geometry"]) for place in part.tolist()):
        if not (abs(x) <= 180 and abs(y) <= 90):
            raise wrong_file(
                given,
                f"is in longitude and latitude, within 180 and 90 degrees. Got ({x!r}, {y!r}) instead"
                f"{swapped_words(y)}: name the coordinates' reference system (--crs, or 'crs' in Python: "
                "EPSG:32632, or EPSG:4326 where longitudes pass 180), or write .gpkg, .csv or .wkt",
                kind="output",
            )
    return feature


def finite(number: float) -> float | None:
    """Return a number, or None for one that JSON cannot hold: NaN or infinity."""
    return float(number) if math.isfinite(number) else None


# One geometry -----------------------------------------------------------------------------------------------------


@keeps_subnormals
def write_hull(hull: Any, path: FilePath, *, crs: Any = None) -> None:
    """Write a hull to a file, whole or not at all; see `encode_hull`."""
    check_output(path, HULL_FORMATS)
    write_whole(path, encode_hull(hull, path, crs=crs))


@keeps_subnormals
def encode_hull(hull: Any, path: FilePath, *, crs: Any = None) -> bytes:
    """Return the content of a file that holds a hull. The ending chooses the format.

    GeoJSON (a Feature) and KML are reprojected from `crs` to longitude and latitude; without one the coordinates must
    be longitude and latitude. The other formats keep the coordinates: .csv (index, x, y of each vertex), .wkt, .npy
    (the vertices' coordinates), .npz (arrays "vertices" and "points").
    """
    suffix = Path(path).suffix.lower()
    if suffix in ARRAYS:
        out = io.BytesIO()
        if suffix == ".npy":
            np.save(out, hull.points)
        else:
            np.savez(out, vertices=hull.vertices, points=hull.points)
        return out.getvalue()
    if suffix == ".csv":
        return f"index,x,y\n{_csv_rows(hull)}".encode()
    if suffix == ".wkt":
        return _wkt_line(hull).encode()
    properties: dict[str, Any] = {"points": int(hull.n), "area": finite(hull.area), "perimeter": finite(hull.perimeter)}
    if suffix == ".kml":
        feature = {"properties": {"label": "hull", **properties}, "geometry": hull.__geo_interface__}
        return encode_kml([as_lonlat(feature, crs, path)], path)
    properties["vertices"] = hull.vertices.tolist()
    feature = {"type": "Feature", "properties": properties, "geometry": hull.__geo_interface__}
    return (json.dumps(as_lonlat(feature, crs, path), allow_nan=False) + "\n").encode()


@keeps_subnormals
def write_row(columns: Any, geometry: dict[str, Any], path: FilePath, *, crs: Any = None) -> None:
    """Write a geometry and its values to a .csv (with WKT), .wkt or .kml file, whole or not at all."""
    if Path(path).suffix.lower() != ".kml":
        content = encode_row(columns, geometry, path)
    else:
        values = {name: column.tolist()[0] for name, column in columns.items()}
        feature = as_lonlat({"properties": {"label": "region", **values}, "geometry": geometry}, crs, path)
        content = encode_kml([feature], path)
    write_whole(path, content)


def _csv_rows(hull: Any, start: str = "") -> str:
    rows = zip(hull.vertices.tolist(), hull.points.tolist())
    return "".join(f"{start}{index},{x!r},{y!r}\n" for index, (x, y) in rows)


def _wkt_line(hull: Any) -> str:
    if hull.across is not None:
        return f"{wkt(hull.__geo_interface__)}\n"
    kind, corners = hull.__geo_interface__["type"].upper(), hull.points.tolist()
    if not corners:
        return f"{kind} EMPTY\n"
    if kind != "POLYGON":
        return f"{kind} {_wkt_corners(corners)}\n"
    return f"POLYGON ({_wkt_corners([*corners, corners[0]])})\n"


def _wkt_corners(corners: list[Any]) -> str:
    """Return corners as WKT; integers stay integers."""
    return f"({', '.join(f'{x!r} {y!r}' for x, y in corners)})"


# Hulls of groups --------------------------------------------------------------------------------------------------


@keeps_subnormals
def write_hulls(batch: Any, names: Any, title: str, path: FilePath, *, crs: Any = None) -> None:
    """Write the hulls of groups to a file, whole or not at all. The ending chooses the format, as for `encode_hull`.

    `names` are those of the groups: a property of each feature (GeoJSON, KML), or the first column (.csv), called
    `title`, or "group" if that name is taken. A .wkt file has a line for each hull.
    """
    check_output(path, HULLS_FORMATS)
    title, suffix = "group" if title.lower() in TAKEN else title, Path(path).suffix.lower()
    with replacing(path) as file:
        if suffix == ".csv":
            file.write(f"{_quoted(title)},index,x,y\n".encode())
            file.writelines(_csv_rows(hull, f"{_quoted(str(name))},").encode() for name, hull in zip(names, batch))
        elif suffix == ".wkt":
            file.writelines(_wkt_line(hull).encode() for hull in batch)
        elif suffix == ".kml":
            features = list(_features(batch, names, title, path, crs))
            for name, feature in zip(names, features):
                feature["properties"] = {"label": str(name), **feature["properties"]}
            file.write(encode_kml(features, path))
        else:
            file.writelines(feature_collection(_features(batch, names, title, path, crs)))


def _features(batch: Any, names: Any, title: str, path: FilePath, crs: Any) -> Iterator[dict[str, Any]]:
    """Yield the features of a batch in longitude and latitude."""
    for name, feature in zip(names, batch.features()):
        measures = {key: value for key, value in feature["properties"].items() if key != "label"}
        yield as_lonlat({**feature, "properties": {title: name, **measures}}, crs, path)


def _quoted(field: str) -> str:
    """Return a field of a .csv file, quoted if it would not be read back as it is."""
    plain = field.isprintable() and not set(field) & set(',;"') and field == field.strip() and field[:1] != "#"
    return field if plain else '"' + field.replace('"', '""') + '"'
