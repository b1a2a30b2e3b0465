"""Write hulls as GeoJSON, KML, CSV, WKT or NumPy files.

Coordinates keep every bit, except in KML and where they are reprojected.
"""

from __future__ import annotations

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
from clgeom.io.atomic import NewFile
from clgeom.io.features import Listed, columns_of_features, wkt, write_features
from clgeom.io.files import FilePath
from clgeom.io.outputs import IN_LONLAT, MAPS
from clgeom.io.vector import feature_collection

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


def as_lonlat(feature: Any, crs: Any, given: str) -> Any:
    """Return a GeoJSON feature in longitude and latitude: reprojected from `crs`, or as it is if that is None."""
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
def write_hull(hull: Any, file: NewFile, *, crs: Any = None) -> None:
    """Write a hull to a new file. The ending chooses the format.

    GeoJSON (a Feature) and KML are reprojected from `crs` to longitude and latitude; without one the coordinates must
    be longitude and latitude. The other formats keep the coordinates: .csv (index, x, y of each vertex), .wkt, .npy
    (the vertices' coordinates), .npz (arrays "vertices" and "points").
    """
    if file.suffix in MAPS:
        hull._write(file, crs)
    elif file.suffix == ".npy":
        np.save(file.path, hull.points)
    elif file.suffix == ".npz":
        np.savez(file.path, vertices=hull.vertices, points=hull.points)
    elif file.suffix == ".csv":
        file.path.write_bytes(f"index,x,y\n{_csv_rows(hull)}".encode())
    elif file.suffix == ".wkt":
        file.path.write_bytes(_wkt_line(hull).encode())
    else:
        more = {"label": "hull"} if file.suffix == ".kml" else {}
        measures = {"points": int(hull.n), "area": finite(hull.area), "perimeter": finite(hull.perimeter)}
        feature = {"type": "Feature", "properties": more | measures, "geometry": hull.__geo_interface__}
        if file.suffix == ".kml":
            _write_kml(file, [as_lonlat(feature, crs, file.given)])
            return
        feature["properties"]["vertices"] = hull.vertices.tolist()
        text = json.dumps(as_lonlat(feature, crs, file.given), allow_nan=False)
        file.path.write_bytes(f"{text}\n".encode())


def _write_kml(file: NewFile, features: list[Any]) -> None:
    """Write features in longitude and latitude, with their property "label" as names."""
    write_features(file, columns_of_features(features), Listed([feature["geometry"] for feature in features]), None)


@keeps_subnormals
def write_row(columns: Any, geometry: dict[str, Any], file: NewFile, *, crs: Any = None) -> None:
    """Write a geometry and its values to a new .csv (with WKT), .wkt or .kml file."""
    if file.suffix == ".kml":
        values = {name: column.tolist()[0] for name, column in columns.items()}
        feature = {"properties": {"label": "region", **values}, "geometry": geometry}
        _write_kml(file, [as_lonlat(feature, crs, file.given)])
    else:
        write_features(file, columns, Listed([geometry]), None)


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
def write_hulls(batch: Any, names: Any, title: str, file: NewFile, *, crs: Any = None) -> None:
    """Write the hulls of groups to a new file. The ending chooses the format, as for `write_hull`.

    `names` are those of the groups: a property of each feature (GeoJSON, KML), or the first column (.csv), called
    `title`, or "group" if that name is taken. A .wkt file has a line for each hull.
    """
    if file.suffix in MAPS:
        batch._write(file, crs)
        return
    title = "group" if title.lower() in TAKEN else title
    if file.suffix == ".kml":
        features = list(_features(batch, names, title, file.given, crs))
        for name, feature in zip(names, features):
            feature["properties"] = {"label": str(name), **feature["properties"]}
        _write_kml(file, features)
        return
    with open(file.path, "wb") as out:
        if file.suffix == ".csv":
            out.write(f"{_quoted(title)},index,x,y\n".encode())
            out.writelines(_csv_rows(hull, f"{_quoted(str(name))},").encode() for name, hull in zip(names, batch))
        elif file.suffix == ".wkt":
            out.writelines(_wkt_line(hull).encode() for hull in batch)
        else:
            out.writelines(feature_collection(_features(batch, names, title, file.given, crs)))


def _features(batch: Any, names: Any, title: str, given: str, crs: Any) -> Iterator[dict[str, Any]]:
    """Yield the features of a batch in longitude and latitude."""
    for name, feature in zip(names, batch.features()):
        measures = {key: value for key, value in feature["properties"].items() if key != "label"}
        yield as_lonlat({**feature, "properties": {title: name, **measures}}, crs, given)


def _quoted(field: str) -> str:
    """Return a field of a .csv file, quoted if it would not be read back as it is."""
    plain = field.isprintable() and not set(field) & set(',;"') and field == field.strip() and field[:1] != "#"
    return field if plain else '"' + field.replace('"', '""') + '"'
