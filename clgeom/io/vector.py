"""Write tables of geometries: GeoPackage, FlatGeobuf, Shapefile, GeoParquet and GeoJSON.

PyArrow, Shapely, pyogrio and pyproj are imported when they are needed.
"""

from __future__ import annotations

import errno
import json
import os
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import printable
from clgeom.errors import InvalidInput, short
from clgeom.geo.geodesy import as_crs
from clgeom.io.atomic import NewFile
from clgeom.io.files import FilePath
from clgeom.io.outputs import json_value
from clgeom.optional import require, require_shapely

#: Drivers of GDAL by ending.
DRIVERS = {".gpkg": "GPKG", ".fgb": "FlatGeobuf", ".shp": "ESRI Shapefile", ".kml": "KML"}
#: Names of Shapely's types of geometries, by number.
KINDS = np.array(
    [
        *("Point", "LineString", "LinearRing", "Polygon"),
        *("MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"),
    ]
)
GEOMETRY = "geometry"


def check_layer(path: FilePath, layer: str | None) -> None:
    """Raise `InvalidInput` for a layer that is not the name of one, or of a file without layers."""
    if layer is not None and (not isinstance(layer, str) or "\0" in layer):
        raise InvalidInput(f"The 'layer' parameter must be a name. Got {short(layer)} instead.")
    if layer is not None and Path(path).suffix.lower() != ".gpkg":
        raise InvalidInput(f"The 'layer' parameter is for GeoPackages. Got '{printable(os.fspath(path))}' instead.")


def require_packages(path: FilePath) -> None:
    """Raise `InvalidInput` unless the packages that write a file of geometries are installed."""
    gdal = ("pyogrio",) if Path(path).suffix.lower() in DRIVERS else ()
    for package in ("PyArrow", "Shapely", *gdal):
        require(package, f"Writing '{printable(os.fspath(path))}'")


def geo_table(columns: Any, shapes: Any, crs: Any = None) -> Any:
    """Return a pyarrow.Table of columns and geometries, with the metadata of GeoArrow and GeoParquet.

    Columns are ndarrays, masked ones too, indices and arrays of pandas, arrays of PyArrow. The last one, "geometry",
    holds well-known binary.
    """
    import pyarrow

    shapely = require_shapely()
    system = None if crs is None else as_crs(crs, caller="to_arrow").to_json_dict()
    extension = {} if system is None else {"crs": system, "crs_type": "projjson"}
    column = {
        "encoding": "WKB",
        "geometry_types": sorted(set(KINDS[_geometry_types(shapely, shapes)].tolist())),
        "crs": system,  # without it GeoParquet means longitude and latitude
    }
    if len(shapes) and np.isfinite(bounds := shapely.total_bounds(shapes)).all():
        column["bbox"] = bounds.tolist()
    geo = {"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}}
    field = pyarrow.field(
        GEOMETRY,
        pyarrow.binary(),
        metadata={"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": json.dumps(extension)},
    )
    arrays = {name: _as_arrow(pyarrow, name, values) for name, values in columns.items()}
    fields = [pyarrow.field(name, array.type) for name, array in arrays.items()]
    schema = pyarrow.schema([*fields, field], metadata={"geo": json.dumps(geo)})
    return pyarrow.table([*arrays.values(), pyarrow.array(shapely.to_wkb(shapes), pyarrow.binary())], schema=schema)


def _geometry_types(shapely: Any, shapes: Any) -> Any:
    kinds = shapely.get_type_id(shapes)
    return kinds[kinds >= 0]


def _as_arrow(pyarrow: Any, name: Any, values: np.ndarray) -> Any:
    """Return a column as an Arrow array; values without a plain Arrow type become text."""
    try:
        array = pyarrow.array(values, from_pandas=True)
        if isinstance(array, pyarrow.ChunkedArray):
            array = array.combine_chunks()
        if pyarrow.types.is_null(array.type):  # no values, or none but nulls: a type that files hold
            array = array.cast(pyarrow.string())
        if not isinstance(array, pyarrow.ExtensionArray):
            return array
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        pass
    try:
        return pyarrow.array([str(value) for value in values], pyarrow.string())
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"The column '{name}' must hold text of Unicode. Got {short(error.object)} instead."
        ) from error


@keeps_subnormals
def write_table(file: NewFile, table: Any, crs: Any = None, *, layer: str | None = None, append: bool = False) -> None:
    """Write a table such as `geo_table` makes to a new file of KML, or one of `MAPS`.

    `crs` is the reference system of the geometries. `layer` names the layer of a GeoPackage; by default it is the name
    of the file. `append` adds to the layer of a GeoPackage. The caller has checked that packages are installed.
    """
    system = None if crs is None else as_crs(crs, caller=f"Writing '{file.given}'")
    if file.suffix in DRIVERS:
        _write_by_gdal(file, table, system, layer, append)
    else:
        from pyarrow import ArrowNotImplementedError, parquet

        try:
            parquet.write_table(table, file.path, compression="zstd")
        except ArrowNotImplementedError as error:  # of labels, such as months with days
            raise wrong_file(file.given, f"cannot be written: {error}", "output") from error


# GDAL -------------------------------------------------------------------------------------------------------------


def _write_by_gdal(file: NewFile, table: Any, system: Any, layer: str | None, append: bool) -> None:
    import pyarrow
    import pyogrio.raw

    driver = DRIVERS[file.suffix]
    table, kind, missing = _with_one_type(pyarrow, table, driver, file.given)
    table = _gdal_columns(pyarrow, table, driver)
    _check_text(pyarrow, table, driver, file.given)
    options = {"driver": driver, "geometry_name": GEOMETRY, "geometry_type": kind, "append": append}
    options["crs"] = None if system is None else system.to_wkt()
    if driver != "ESRI Shapefile":  # whose layer has the name of the file
        options["layer"] = (layer if driver == "GPKG" else None) or Path(file.given).stem
    if driver == "FlatGeobuf" and missing:
        options["SPATIAL_INDEX"] = "NO"  # its index holds no missing geometries
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "'crs' was not provided")
        try:
            pyogrio.raw.write_arrow(table, os.fspath(file.path), **options)
        except (RuntimeError, ValueError, pyarrow.ArrowException) as error:
            raise wrong_file(file.given, f"cannot be written: {f'{error}'.rstrip('.')}", "output") from error
    if file.suffix in CHECKS and not CHECKS[file.suffix](file.path, table.num_rows):  # GDAL may not say of a full disk
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _is_whole_kml(path: Path, count: int) -> bool:
    """Return whether the last element is closed."""
    with open(path, "rb") as file:
        file.seek(max(path.stat().st_size - 16, 0))
        return file.read().rstrip().endswith(b"</kml>")


def _is_whole_flatgeobuf(path: Path, count: int) -> bool:
    """Return whether the last feature can be read."""
    import pyogrio

    try:
        return not count or len(pyogrio.raw.read(path, skip_features=count - 1, max_features=1)[2]) == 1
    except (RuntimeError, ValueError):
        return False


def _is_whole_shapefile(path: Path, count: int) -> bool:
    """Return whether the files of a Shapefile are as long as their headers say.

    A record of the .shx takes 8 bytes. The .dbf says how many records it has, and how long its header and each are.
    """
    for ending in (".shp", ".shx", ".dbf"):
        file = path.with_suffix(ending)
        with open(file, "rb") as opened:
            header = opened.read(28)
        size = file.stat().st_size
        if ending == ".dbf":
            records, start, each = struct.unpack_from("<IHH", header.ljust(28, b"\0"), 4)
            whole = records == count and size >= start + count * each
        else:
            whole = size == 2 * int.from_bytes(header[24:28], "big") and (ending == ".shp" or size == 100 + 8 * count)
        if not whole:
            return False
    return True


#: Whether a file of so many features is whole, by its ending.
CHECKS = {".shp": _is_whole_shapefile, ".kml": _is_whole_kml, ".fgb": _is_whole_flatgeobuf}


def _with_one_type(pyarrow: Any, table: Any, driver: Any, given: Any) -> tuple[Any, ...]:
    """Return (table, GDAL's name for the type of its geometries, whether some are empty or missing).

    Single and multiple geometries of one type become multiple ones.
    """
    shapely = require_shapely()
    shapes = shapely.from_wkb(table[GEOMETRY].to_numpy())
    full = ~(shapely.is_empty(shapes) | shapely.is_missing(shapes))
    names, counts = np.unique(KINDS[_geometry_types(shapely, shapes[full])], return_counts=True)
    kinds = names.tolist()
    plain = {name.removeprefix("Multi") for name in kinds}
    if driver == "ESRI Shapefile" and (len(plain) > 1 or plain == {"GeometryCollection"}):
        found = ", ".join(f"{count:,} {name}" for name, count in zip(kinds, counts.tolist()))
        raise wrong_file(
            given, f"holds geometries of one type. Got {found} instead: write .gpkg, .fgb or .parquet", "output"
        )
    changed = False
    if len(kinds) == 2 and len(plain) == 1:
        multi = {"Point": shapely.multipoints, "LineString": shapely.multilinestrings, "Polygon": shapely.multipolygons}
        single = np.flatnonzero(full & (shapely.get_num_geometries(shapes) == 1) & (shapely.get_type_id(shapes) < 4))
        shapes[single] = multi[next(iter(plain))](shapes[single], indices=np.arange(len(single)))
        kinds, changed = [f"Multi{next(iter(plain))}"], True
    if driver != "GPKG" and not full.all():
        shapes[~full], changed = None, True  # only GeoPackage tells empty geometries from missing ones
    if changed:
        wkb = pyarrow.array(shapely.to_wkb(shapes), pyarrow.binary())
        table = table.set_column(table.schema.get_field_index(GEOMETRY), GEOMETRY, wkb)
    one = len(kinds) == 1 and (driver != "GPKG" or full.all())
    mixed = kinds or (driver == "GPKG" and len(full))
    return table, kinds[0] if one else "Unknown" if mixed else "Polygon", not full.all()


def json_columns(table: Any) -> dict[str, np.ndarray]:
    """Return the columns of a table beside its geometries, as arrays of values that JSON holds."""
    import pyarrow

    table = _gdal_columns(pyarrow, table.drop_columns([GEOMETRY]), "GeoJSON")
    values = [[json_value(value) for value in column.to_pylist()] for column in table.columns]
    return {name: np.array(own, object) for name, own in zip(table.column_names, values)}


def _gdal_columns(pyarrow: Any, table: Any, driver: Any) -> Any:
    """Return a table without metadata, of types that GDAL writes; values that it would change as text."""
    of = pyarrow.types
    arrays = []
    for column in table.columns:
        kind = column.type
        if of.is_dictionary(kind):
            column = column.cast(kind.value_type)
        elif of.is_int64(kind) or of.is_uint64(kind):
            column = _gdal_integers(pyarrow, column, driver)
        elif of.is_float16(kind):
            wider = pyarrow.array(column.to_numpy().astype(np.float32), from_pandas=True)
            column = pyarrow.chunked_array([wider])  # PyArrow 14 has no cast
        elif str(kind) == "string_view" or of.is_decimal(kind):
            column = column.cast(pyarrow.string())
        elif of.is_duration(kind):
            column = pyarrow.chunked_array(
                [[None if v is None else str(v) for v in column.to_pylist()]], pyarrow.string()
            )
        elif of.is_temporal(kind):
            column = _gdal_times(pyarrow, column)
        arrays.append(column)
    return pyarrow.table(arrays, names=table.column_names)


def _gdal_integers(pyarrow: Any, column: Any, driver: Any) -> Any:
    """Return integers of 64 bits, as text where GDAL has no field for all: one of a Shapefile has 18 characters."""
    least, most = (-(10**17) + 1, 10**18 - 1) if driver == "ESRI Shapefile" else (-(2**63), 2**63 - 1)
    values = column.drop_null().to_numpy()
    within = len(values) == 0 or (least <= int(values.min()) and int(values.max()) <= most)
    return column.cast(pyarrow.int64() if within else pyarrow.string())


def _gdal_times(pyarrow: Any, column: Any) -> Any:
    """Return times, in UTC if they have a zone; as text if finer than milliseconds or not of the years 1 to 9999."""
    from pyarrow import compute

    kind, zone = column.type, getattr(column.type, "tz", None)
    plain = column.cast(pyarrow.timestamp(kind.unit)) if zone else column  # the time in UTC
    try:
        if pyarrow.types.is_time(kind):
            plain.cast(pyarrow.time32("ms"))
            return column
        plain.cast(pyarrow.timestamp("ms"))
        years = compute.min_max(compute.year(plain)).as_py()
        if years["min"] is None or (years["min"] >= 1 and years["max"] <= 9999):
            return column.cast(pyarrow.timestamp(kind.unit, "UTC")) if zone else column
    except pyarrow.ArrowInvalid:  # a time that is not a whole number of milliseconds
        if pyarrow.types.is_time(kind):
            return column.cast(pyarrow.string())
    moments = plain.to_numpy()
    return pyarrow.chunked_array(
        [pyarrow.array(np.datetime_as_string(moments, timezone="UTC" if zone else "naive"), mask=np.isnat(moments))]
    )


def _check_text(pyarrow: Any, table: Any, driver: Any, given: Any) -> None:
    """Raise `InvalidInput` for text that GDAL would cut."""
    from pyarrow import compute

    for name, column in zip(table.column_names, table.columns):
        if not (pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)):
            continue
        cut, what = compute.match_substring(column, "\0"), "text without NUL characters"
        if driver == "ESRI Shapefile" and not compute.any(cut).as_py():
            cut, what = compute.greater(compute.binary_length(column), 254), "text of at most 254 bytes"
        if compute.any(cut).as_py():
            text = column.filter(cut)[0].as_py()
            raise wrong_file(
                given, f"holds {what}. Got {short(text)} in column '{name}' instead: write .parquet", "output"
            )
