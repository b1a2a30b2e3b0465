"""Rasters from files and regions to files that maps are made of. Rasterio, pyproj and pyogrio are imported when used.

GeoJSON is in longitude and latitude (RFC 7946); the other formats keep the raster's own coordinates, except KML.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io.arrays import Archive, load_array
from clgeom.io.atomic import check_output, replacing
from clgeom.io.lonlat import WGS84, LonLat, as_geojson, polygons_of
from clgeom.region.arc.result import require_shapely
from clgeom.region.coverage.bands import Nested
from clgeom.region.geodesy import as_crs, earth_areas, shown
from clgeom.runtime.messages import listed

#: Files of rasters, and the driver of GDAL that may open each: one that reads no other file than it and its like, and
#: tells when the file is cut short.
RASTERS = {".tif": "GTiff", ".tiff": "GTiff", ".img": "HFA", ".asc": "AAIGrid", ".npy": None, ".npz": None}
POINTS = (".csv", ".tsv", ".txt")
#: Words that begin the lines of an Arc/Info ASCII file's header.
ASCII_HEADER = (
    b"ncols", b"nrows", b"xllcorner", b"xllcenter", b"yllcorner", b"yllcenter", b"cellsize", b"dx", b"dy",
    b"nodata_value", b"nodata",
)  # fmt: skip
BLOCK_BYTES = 1 << 24
#: Names of the array in a .npz file that is taken without being asked for.
KNOWN_ARRAYS = ("raster", "values", "dbm", "elevation", "data")
#: From the first level to the last; more levels share them out.
COLOURS = ("#d7301f", "#fc8d59", "#fdcc8a", "#74a9cf", "#2b8cbe", "#045a8d")


@dataclass(frozen=True, eq=False)
class Raster:
    """Values with what is known of where they are, and how many bands or maps their file has."""

    values: np.ndarray
    transform: tuple | None = None
    crs: object = None
    nodata: float | None = None
    bands: int = 1


def require(package: str, what: str):
    """Raise `InvalidInput` that says what to install when a package is missing."""
    if importlib.util.find_spec(package) is None:
        raise InvalidInput(f"{what} needs {package}, which is not installed: pip install 'clgeom[geo]'.")


# Reading ----------------------------------------------------------------------------------------------------------


def read_raster(path, *, band=1, array=None, nodata=None) -> Raster:
    """Read a raster.

    Parameters
    ----------
    path : path-like
        GeoTIFF (.tif, .tiff), Erdas Imagine (.img), Arc/Info ASCII (.asc), .npy, or .npz; a .npz file may also
        hold "transform" (6 numbers), "crs" (text) and "nodata". A file cannot make this read others on the network.
    band : int
        Which band, from 1; of a three-dimensional array, which map.
    array : str, optional
        Which array of a .npz file; by default the only one of two dimensions, or the one with a known name.
    nodata : float, optional
        Value of cells that hold nothing, as it is stored, instead of the file's.

    Returns
    -------
    Raster
        A band's scale and offset are applied; then, and where the file has a mask, cells that hold nothing are masked.

    Raises
    ------
    InvalidInput
        The file cannot be read, or has no such band or array.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".vrt":
        raise InvalidInput(
            f"The file '{path}' is a virtual raster, which names other files, maybe on the network. "
            "Make it one file: gdal_translate in.vrt out.tif."
        )
    if suffix not in RASTERS:
        raise InvalidInput(f"The file '{path}' must end in one of {', '.join((*RASTERS, *POINTS))}.")
    if array is not None and suffix != ".npz":
        raise InvalidInput(f"The option --array is for .npz files. Got the file '{path}' instead.")
    if not path.exists():
        raise InvalidInput(f"The file '{path}' cannot be read: No such file or directory.")
    if not path.is_file():
        raise InvalidInput(f"The file '{path}' cannot be read: it is not a file.")
    try:
        if suffix in (".npy", ".npz"):
            found = _read_numpy(path, suffix, band, array)
            return found if nodata is None else replace(found, nodata=nodata)
        return _read_rasterio(path, band, nodata)
    except OSError as error:
        raise InvalidInput(f"The file '{path}' cannot be read: {error.strerror or error}.") from error
    except MemoryError as error:
        raise InvalidInput(f"The file '{path}' cannot be read: it does not fit into memory.") from error


def _read_rasterio(path, band, nodata):
    require("rasterio", f"Reading '{path}'")
    import rasterio

    _check_sides(path)
    # Only drivers that read this one file, and local files beside it; what these name is not looked for elsewhere.
    alone = rasterio.Env(CPL_VSIL_CURL_ALLOWED_FILENAME="-")
    with warnings.catch_warnings(record=True) as caught, _quiet_log(), alone:
        warnings.simplefilter("always")
        try:
            with rasterio.open(path.absolute(), driver=RASTERS[path.suffix.lower()]) as source:
                if not 1 <= band <= source.count:
                    raise InvalidInput(f"The file '{path}' has the bands 1 to {source.count}. Got band {band} instead.")
                values = source.read(band)
                if source.driver == "AAIGrid":
                    values = _ascii_values(path, source.shape)
                raster = _band(source, band, values, source.nodatavals[band - 1] if nodata is None else nodata)
                unplaced = any(issubclass(one.category, rasterio.errors.NotGeoreferencedWarning) for one in caught)
                transform, crs = tuple(source.transform)[:6], source.crs
                placed_by_points = bool(source.gcps[0]) and unplaced
        except (rasterio.errors.RasterioError, rasterio.errors.CRSError, UnicodeError) as error:
            reason = str(error.__cause__ or error).splitlines() or [type(error).__name__]
            raise InvalidInput(f"The file '{path}' is not a raster: {reason[0]}") from error
    if placed_by_points:
        raise InvalidInput(
            f"The file '{path}' is placed by ground control points, not by a transform: warp it first "
            "(gdalwarp in.tif out.tif)."
        )
    if unplaced:
        return raster
    return replace(raster, transform=transform, crs=None if crs is None else crs.to_string())


@contextlib.contextmanager
def _quiet_log():
    """Keep Python from printing a traceback where GDAL logs words of a file that are no UTF-8.

    rasterio's function that logs them cannot raise: the error goes to both hooks of `sys`, and rasterio goes on.
    """
    hooks = sys.excepthook, sys.unraisablehook

    def excepthook(kind, error, traceback):
        if not issubclass(kind, UnicodeDecodeError):
            hooks[0](kind, error, traceback)

    def unraisablehook(what):
        if not issubclass(what.exc_type, UnicodeDecodeError):
            hooks[1](what)

    sys.excepthook, sys.unraisablehook = excepthook, unraisablehook
    try:
        yield
    finally:
        sys.excepthook, sys.unraisablehook = hooks


def _check_sides(path):
    """Refuse a mask or an overview beside a raster that is no TIFF: GDAL would open whatever it is."""
    for ending in (".msk", ".ovr", ".msk.ovr", ".ovr.msk", ".MSK", ".OVR"):
        side = Path(f"{path}{ending}")
        if side.is_file():
            with open(side, "rb") as file:
                if file.read(4) not in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
                    raise InvalidInput(f"The file '{side}' beside the raster is no TIFF.")


def _band(source, band, values, nodata):
    """The values of a band, as they are stored, as a Raster without a place."""
    import rasterio

    flags = source.mask_flag_enums[band - 1]
    if values.dtype.kind not in "biuf":
        raise InvalidInput(f"Band {band} of '{source.name}' must hold numbers. Got {values.dtype} instead.")
    masks = rasterio.enums.MaskFlags
    if masks.all_valid not in flags and masks.nodata not in flags:  # a mask of its own
        values = np.ma.masked_array(values, source.read_masks(band) == 0)
    scale, offset = source.scales[band - 1], source.offsets[band - 1]
    if (scale, offset) == (1.0, 0.0):
        return Raster(values, nodata=nodata, bands=source.count)
    if not (np.isfinite(scale) and np.isfinite(offset) and scale):
        raise InvalidInput(f"Band {band} of '{source.name}' has the scale {scale} and the offset {offset}.")
    hidden = np.ma.getmaskarray(values) | (False if nodata is None else np.ma.getdata(values) == nodata)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.ma.getdata(values) * scale + offset
        if values.dtype.itemsize <= 2 or values.dtype == np.float32:
            narrow = scaled.astype(np.float32)
            if np.array_equal(np.isinf(narrow), np.isinf(scaled)):  # else they need float64
                scaled = narrow
    return Raster(np.ma.masked_array(scaled, hidden), bands=source.count)


def _ascii_values(path, shape):
    """The numbers of an Arc/Info ASCII file: int32 where all are whole and fit, else float32.

    GDAL takes what is missing or no number as 0, and cuts off the places of all if the first ones have none.
    """
    parts, rest = [], b""
    with open(path, "rb") as file:
        while True:
            start = file.tell()
            line = file.readline(1 << 12)
            if not line or line.split()[:1] and line.split()[0].lower() not in ASCII_HEADER:
                break
        file.seek(start)
        while block := file.read(BLOCK_BYTES):
            words = (rest + block).split()
            rest = words.pop() if words and not block[-1:].isspace() else b""
            parts.append(_ascii_numbers(path, words))
    parts.append(_ascii_numbers(path, rest.split()))
    values = np.concatenate(parts)
    if len(values) != shape[0] * shape[1]:
        raise InvalidInput(
            f"The file '{path}' must hold {shape[0]:,} x {shape[1]:,} numbers, as its header says. "
            f"Got {len(values):,} of them instead."
        )
    whole = np.isfinite(values).all() and (values == np.rint(values)).all() and np.abs(values).max() < 1 << 31
    with np.errstate(over="ignore"):
        return values.astype(np.int32 if whole else np.float32).reshape(shape)


def _ascii_numbers(path, words):
    """Words as float64."""
    try:
        if b"_" in b"".join(words):
            raise ValueError
        return np.array(words, dtype="S").astype(np.float64) if words else np.empty(0)
    except ValueError:
        wrong = next((word for word in words if not _is_number(word)), b"")
        raise InvalidInput(
            f"The file '{path}' must hold numbers. Got {shown(wrong.decode('latin-1'))} instead."
        ) from None


def _is_number(word) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return b"_" not in word


def _read_numpy(path, suffix, band, array):
    if suffix == ".npy":
        loaded = load_array(path)
        return Raster(_one_map(path, loaded, band), bands=_maps(loaded))
    archive = Archive(path)
    whole = archive[_array_name(path, archive, array)]
    about = {key: archive[key] for key in ("transform", "crs", "nodata") if key in archive.names}
    return Raster(
        _one_map(path, whole, band),
        _numbers(path, about, "transform", (6, 9)),
        _text(path, about, "crs"),
        None if "nodata" not in about else _numbers(path, about, "nodata", (1,))[0],
        _maps(whole),
    )


def _maps(array) -> int:
    return len(array) if array.ndim == 3 else 1


def _numbers(path, about, name, counts):
    """An entry of a .npz file as floats, None where it is not there."""
    if name not in about:
        return None
    values = about[name].ravel()
    if values.dtype.kind not in "biuf" or len(values) not in counts:
        wanted = "a number" if counts == (1,) else f"{counts[0]} numbers"
        raise InvalidInput(
            f"The array '{name}' in '{path}' must hold {wanted}. "
            f"Got {values.dtype} of shape {about[name].shape} instead."
        )
    return tuple(values.astype(np.float64).tolist())


def _text(path, about, name):
    """An entry of a .npz file as text, None where it is not there or empty."""
    if name not in about:
        return None
    value = about[name]
    if value.dtype.kind == "i" and value.size == 1:  # EPSG's number
        return f"EPSG:{value.item()}"
    if value.dtype.kind not in "US" or value.size != 1:
        raise InvalidInput(
            f"The array '{name}' in '{path}' must hold a text. Got {value.dtype} of shape {value.shape} instead."
        )
    text = value.item()
    return (text.decode("utf-8", "replace") if isinstance(text, bytes) else text) or None


def _array_name(path, archive, wanted):
    if wanted is not None:
        return wanted
    flat = [name for name in archive.names if archive[name].ndim in (2, 3)]
    known = [name for name in KNOWN_ARRAYS if name in flat]
    if len(flat) == 1 or known:
        return (known or flat)[0]
    raise InvalidInput(f"The file '{path}' has the arrays {listed(archive.names)}; name one (--array).")


def _one_map(path, values, band):
    if values.ndim == 3:
        if not 1 <= band <= len(values):
            raise InvalidInput(f"The array in '{path}' has the maps 1 to {len(values)}. Got {band} instead.")
        return values[band - 1]
    if values.ndim != 2:
        raise InvalidInput(f"The array in '{path}' must have two dimensions. Got shape {values.shape} instead.")
    return values


# Features ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Feature:
    """A region with what a file says of it.

    Parameters
    ----------
    geometry : dict
        GeoJSON-like, in the raster's coordinates.
    properties : dict
    nested : Nested, optional
        What the geometry is of, where shapes nest: they still do in other coordinates, then.
    """

    geometry: dict
    properties: dict
    nested: object = None


def features_of(regions, *, unit="dBm") -> list[Feature]:
    """Coverage regions, or nested shapes, as features with dbm (or level), label, area_km2 and colours.

    Empty ones are left out.
    """
    shown = [(region, region.__geo_interface__) for region in regions]
    shown = [(region, geometry) for region, geometry in shown if len(geometry["coordinates"])]
    descending = bool(shown) and shown[0][0].direction == ">="
    levels = sorted({region.level for region, _ in shown}, reverse=descending)
    colours = dict(zip(levels, _colours(len(levels))))
    areas = _areas_or_none([geometry for _, geometry in shown], shown[0][0].crs if shown else None)
    return [
        Feature(geometry, _properties(region, unit, colours[region.level], area),
                region if isinstance(region, Nested) else None)
        for (region, geometry), area in zip(shown, areas)
    ]  # fmt: skip


def _properties(region, unit, colour, area):
    upto = getattr(region, "upto", None)
    label = f"{region.direction} {region.level:g}{'' if upto is None else f' to {upto:g}'} {unit}".rstrip()
    return {
        "dbm" if unit == "dBm" else "level": region.level,
        "label": label,
        "area_km2": area,
        "part": getattr(region, "part", None),
        "cells": region.cells,
        "segments": getattr(region, "segments", None),
        **_style(colour),
    }


def _colours(count):
    """`count` colours, evenly from the first to the last."""
    if count == 1:
        return [COLOURS[0]]
    return [COLOURS[round(i * (len(COLOURS) - 1) / (count - 1))] for i in range(count)]


def _style(colour):
    """What simplestyle calls the look of a polygon."""
    return {
        "fill": colour,
        "fill-opacity": 0.35,
        "stroke": colour,
        "stroke-width": 1.5,
        "stroke-opacity": 0.9,
    }


def _areas_or_none(geometries, crs):
    """The areas of geometries on the ellipsoid in km2, None for all where nothing tells them."""
    if crs is None or importlib.util.find_spec("pyproj") is None:
        return [None] * len(geometries)
    try:
        return (earth_areas(geometries, crs, caller="area_km2") / 1e6).tolist()
    except InvalidInput:  # of what the system cannot express
        if len(geometries) == 1:
            return [None]
    return [area for geometry in geometries for area in _areas_or_none([geometry], crs)]


# Writing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """What was written: how many vertices, and how many of them were added along edges that are curves there."""

    vertices: int
    added: int


def write_features(features, path, *, crs=None, lonlat=False, resolution=None) -> Written:
    """Write features to a file, whole or not at all.

    Parameters
    ----------
    features : sequence of Feature
    path : path-like
        Its ending chooses the format: .geojson or .json (EPSG:4326), .gpkg, .kml (EPSG:4326), .wkt (lines).
    crs : optional
        Coordinate reference system of the features, as anything that pyproj takes.
    lonlat : bool
        There is no `crs`, and the coordinates are longitude and latitude.
    resolution : float, optional
        Length in units of `crs` below which detail does not matter: the side of a cell; see `clgeom.io.lonlat`.

    Returns
    -------
    Written

    Raises
    ------
    InvalidInput
        The file cannot be written, or the format needs a coordinate reference system and there is none.
    """
    target = check_output(path, FORMATS)
    content, written = encode_features(features, path, crs=crs, lonlat=lonlat, resolution=resolution)
    with replacing(target) as file:
        file.write(content)
    return written


def encode_features(features, path, *, crs=None, lonlat=False, resolution=None):
    """The bytes of a file of features, and what `write_features` says of it. The parameters and errors of that."""
    encode, in_degrees = FORMATS[Path(path).suffix.lower()]
    added = 0
    if in_degrees:
        if crs is None and not lonlat:
            raise InvalidInput(
                f"The output '{path}' is in longitude and latitude, and the input has no coordinate reference system: "
                "name it (--crs EPSG:32632), or write .wkt or .gpkg."
            )
        way = LonLat(crs, caller=f"Writing '{path}'", resolution=resolution)
        features, crs = _in_degrees(features, way), WGS84
        added = way.added
    vertices = sum(count_vertices(feature.geometry) for feature in features)
    return encode(features, crs, path), Written(vertices, added)


def _in_degrees(features, way):
    """Features in longitude and latitude; nested shapes nest there, too, and bands share their boundaries."""
    wholes = {}

    def whole(layer):
        """The shape of a level in longitude and latitude, within that of the level before."""
        if id(layer) not in wholes:
            shape = way.shape(require_shapely().geometry.mapping(layer.shape))
            if layer.before is not None:
                shape = polygons_of(shape.intersection(whole(layer.before)))
            wholes[id(layer)] = shape
        return wholes[id(layer)]

    if way.mapping is None or not any(feature.nested for feature in features):
        geometries = way.all([feature.geometry for feature in features])
    else:
        geometries = []
        for nested in (feature.nested for feature in features):
            shape = whole(nested.layer)
            if nested.cut is not None:
                shape = polygons_of(shape.difference(whole(nested.cut)))
            geometries.append(as_geojson(shape))
    return [replace(feature, geometry=geometry) for feature, geometry in zip(features, geometries)]


def count_vertices(geometry) -> int:
    """How many vertices a GeoJSON-like geometry has; a ring's first one counts once."""
    kind = geometry["type"]
    if kind == "GeometryCollection":
        return sum(map(count_vertices, geometry["geometries"]))
    parts = geometry["coordinates"]
    if kind == "Polygon":
        return sum(len(ring) - 1 for ring in parts)
    if kind == "MultiPolygon":
        return sum(len(ring) - 1 for rings in parts for ring in rings)
    return 1 if kind == "Point" else len(parts) if kind in ("LineString", "MultiPoint") else sum(map(len, parts))


def _as_json(features, crs, path) -> bytes:
    del crs, path
    collection = {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "properties": feature.properties, "geometry": feature.geometry} for feature in features
        ],
    }
    return (json.dumps(collection, allow_nan=False) + "\n").encode()


def _as_wkt(features, crs, path) -> bytes:
    del crs, path
    return "".join(wkt(feature.geometry) + "\n" for feature in features).encode()


def wkt(geometry) -> str:
    """A GeoJSON-like geometry as WKT, with every bit of its coordinates."""
    kind = geometry["type"]
    name = kind.upper()
    if kind == "GeometryCollection":
        parts = [wkt(part) for part in geometry["geometries"]]
        return f"{name} ({', '.join(parts)})" if parts else f"{name} EMPTY"
    parts = geometry["coordinates"]

    def text(some):
        if len(some) and isinstance(some[0], (int, float, np.number)):
            return " ".join(repr(float(number)) for number in some[:2])
        return f"({', '.join(map(text, some))})"

    return f"{name} ({text(parts)})" if kind == "Point" else f"{name} {text(parts)}" if len(parts) else f"{name} EMPTY"


def _as_geopackage(features, crs, path) -> bytes:
    return _by_pyogrio(features, crs, path, ".gpkg", driver="GPKG", layer="coverage")


def _as_kml(features, crs, path) -> bytes:
    named = [
        replace(feature, properties={"Name": feature.properties["label"], **feature.properties}) for feature in features
    ]
    return _by_pyogrio(named, crs, path, ".kml", driver="KML")


def _by_pyogrio(features, crs, path, suffix, **options) -> bytes:
    """The bytes of a file that pyogrio writes by the drivers of GDAL, which want a file of their own."""
    for package in ("shapely", "pyogrio"):
        require(package, f"Writing '{path}'")
    import pyogrio
    import shapely.geometry

    shapes = np.array([shapely.geometry.shape(feature.geometry).wkb for feature in features], object)
    names = list(dict.fromkeys(name for feature in features for name in feature.properties))
    columns = [_column([feature.properties.get(name) for feature in features]) for name in names]
    kinds = {shapely.from_wkb(shape).geom_type for shape in shapes} or {"Polygon"}
    many = kinds == {"Polygon", "MultiPolygon"}
    kind = "MultiPolygon" if many else kinds.pop() if len(kinds) == 1 else "Unknown"
    system = as_crs(crs, caller=f"Writing '{path}'").to_wkt() if crs is not None else None
    with tempfile.TemporaryDirectory(prefix="clgeom-") as folder, warnings.catch_warnings():
        made = os.path.join(folder, "coverage" + suffix)
        warnings.filterwarnings("ignore", "'crs' was not provided")
        try:
            pyogrio.raw.write(
                made, shapes, columns, names, geometry_type=kind, crs=system, promote_to_multi=many, **options,
            )  # fmt: skip
        except (pyogrio.errors.DataSourceError, pyogrio.errors.CRSError) as error:
            raise InvalidInput(f"The output '{path}' cannot be written: {error}") from error
        return Path(made).read_bytes()


def _column(values):
    """A column of a table: numbers where all are, else text."""
    if all(isinstance(value, (int, np.integer)) for value in values):
        return np.array(values, np.int64)
    if all(value is None or isinstance(value, (int, float)) for value in values):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    return np.array(["" if value is None else str(value) for value in values], object)


#: How a file is encoded, and whether it is in longitude and latitude.
FORMATS = {
    ".geojson": (_as_json, True),
    ".json": (_as_json, True),
    ".gpkg": (_as_geopackage, False),
    ".kml": (_as_kml, True),
    ".wkt": (_as_wkt, False),
}
