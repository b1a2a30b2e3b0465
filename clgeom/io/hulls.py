"""Write hulls as GeoJSON, KML, CSV, WKT or NumPy files.

Coordinates keep every bit, except in KML and where they are reprojected.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import printable, shown
from clgeom.errors import InvalidInput
from clgeom.geo.lonlat import named_lonlat
from clgeom.intake.interop.columns import LATITUDES, LONGITUDES
from clgeom.io.atomic import NewFile
from clgeom.io.features import Listed, as_column, in_lonlat, write_features
from clgeom.io.files import FilePath
from clgeom.io.outputs import IN_LONLAT, MAPS

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
        write_features(file, {}, Listed([*hull._mappings([hull])]), None)
    elif file.suffix == ".kml":
        _write_kml(file, {"label": ["hull"]} | hull._columns(), [*hull._mappings([hull])], crs)
    else:
        (geometry,) = in_lonlat([*hull._mappings([hull])], crs, file.given).geometries
        properties = {"points": int(hull.n), "area": finite(hull.area), "perimeter": finite(hull.perimeter)}
        properties |= {name: finite(values[0]) for name, values in hull._measured().items()}
        properties |= {"vertices": hull.vertices.tolist()} | ({} if crs is None else {"crs": str(crs)})
        feature = {"type": "Feature", "properties": properties, "geometry": geometry}
        file.path.write_bytes(f"{json.dumps(feature, allow_nan=False)}\n".encode())


def _write_kml(file: NewFile, columns: dict[str, Any], geometries: list[Any], crs: Any) -> None:
    """Write geometries and their values, with the column "label" as names."""
    columns = {name: as_column(list(values)) for name, values in (columns | _crs_column(crs, len(geometries))).items()}
    write_features(file, columns, in_lonlat(geometries, crs, file.given), None)


def _crs_column(crs: Any, count: int) -> dict[str, np.ndarray]:
    """Return a column with the reference system that geometries were reprojected from, if there is one."""
    return {} if crs is None else {"crs": np.full(count, str(crs), object)}


@keeps_subnormals
def write_row(columns: Any, geometry: dict[str, Any], file: NewFile, *, crs: Any = None) -> None:
    """Write a geometry and its values to a new .csv (with WKT), .wkt or .kml file."""
    if file.suffix == ".kml":
        _write_kml(file, {"label": ["region"]} | columns, [geometry], crs)
    else:
        write_features(file, columns, Listed([geometry]), None)


def _csv_rows(hull: Any, start: str = "") -> str:
    rows = zip(hull.vertices.tolist(), hull.points.tolist())
    return "".join(f"{start}{index},{x!r},{y!r}\n" for index, (x, y) in rows)


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
    if file.suffix == ".csv":
        with open(file.path, "wb") as out:
            out.write(f"{_quoted(title)},index,x,y\n".encode())
            out.writelines(_csv_rows(hull, f"{_quoted(str(name))},").encode() for name, hull in zip(names, batch))
        return
    columns, geometries = {title: names} | batch._columns(), [*batch._mappings(batch)]
    if file.suffix == ".kml":
        _write_kml(file, {"label": list(map(str, names))} | columns, geometries, crs)
    elif file.suffix == ".wkt":
        write_features(file, {}, Listed(geometries), None)
    else:
        columns |= {title: np.array(names, object)} | _crs_column(crs, len(names))
        write_features(file, columns, in_lonlat(geometries, crs, file.given), None)


def _quoted(field: str) -> str:
    """Return a field of a .csv file, quoted if it would not be read back as it is."""
    plain = field.isprintable() and not set(field) & set(',;"') and field == field.strip() and field[:1] != "#"
    return field if plain else '"' + field.replace('"', '""') + '"'
