"""Rasters from files and regions to files that maps are made of. Rasterio, pyproj and pyogrio are imported when used.

GeoJSON is in longitude and latitude (RFC 7946); the other formats keep the raster's own coordinates, except KML.
"""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io.arrays import MALFORMED
from clgeom.io.atomic import check_output, replacing
from clgeom.region.geodesy import area_km2, as_crs

RASTERS = (".tif", ".tiff", ".vrt", ".img", ".asc", ".npy", ".npz")
POINTS = (".csv", ".tsv", ".txt")
#: Names of the array in a .npz file that is taken without being asked for.
KNOWN_ARRAYS = ("raster", "values", "dbm", "elevation", "data")
#: From the first level to the last; more levels share them out.
COLOURS = ("#d7301f", "#fc8d59", "#fdcc8a", "#74a9cf", "#2b8cbe", "#045a8d")
WGS84 = "EPSG:4326"


@dataclass(frozen=True, eq=False)
class Raster:
    """Values with what is known of where they are."""

    values: np.ndarray
    transform: tuple | None = None
    crs: object = None
    nodata: float | None = None


def require(package: str, what: str):
    """Raise `InvalidInput` that says what to install when a package is missing."""
    if importlib.util.find_spec(package) is None:
        raise InvalidInput(f"{what} needs {package}, which is not installed: pip install 'clgeom[geo]'.")


# Reading ----------------------------------------------------------------------------------------------------------


def read_raster(path, *, band=1, array=None) -> Raster:
    """Read a raster.

    Parameters
    ----------
    path : path-like
        GeoTIFF and what else Rasterio reads (.tif, .vrt, .img, .asc), .npy, or .npz; a .npz file may also hold
        "transform" (6 numbers), "crs" (text) and "nodata".
    band : int
        Which band, from 1; of a three-dimensional array, which map.
    array : str, optional
        Which array of a .npz file; by default the only one of two dimensions, or the one with a known name.

    Raises
    ------
    InvalidInput
        The file cannot be read.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in RASTERS:
        raise InvalidInput(f"The file '{path}' must end in one of {', '.join((*RASTERS, *POINTS))}.")
    if array is not None and suffix != ".npz":
        raise InvalidInput(f"The option --array is for .npz files. Got the file '{path}' instead.")
    if not path.exists():
        raise InvalidInput(f"The file '{path}' cannot be read: No such file or directory.")
    try:
        if suffix in (".npy", ".npz"):
            return _read_numpy(path, suffix, band, array)
        return _read_rasterio(path, band)
    except OSError as error:
        raise InvalidInput(f"The file '{path}' cannot be read: {error.strerror or error}.") from error
    except MemoryError as error:
        raise InvalidInput(f"The file '{path}' cannot be read: it does not fit into memory.") from error


def _read_rasterio(path, band):
    require("rasterio", f"Reading '{path}'")
    import rasterio

    try:
        with rasterio.open(path) as source:
            if not 1 <= band <= source.count:
                raise InvalidInput(
                    f"The file '{path}' has the bands 1 to {source.count}. Got band {band} instead."
                )
            values, there = source.read(band), source.read_masks(band)
            if source.nodata is None and not there.all():  # a mask of its own
                values = np.ma.masked_array(values, there == 0)
            transform = tuple(source.transform)[:6]
            placed = source.crs is not None or transform != (1, 0, 0, 0, 1, 0)
            crs = source.crs.to_string() if source.crs else None
            return Raster(values, transform if placed else None, crs, source.nodata)
    except rasterio.errors.RasterioError as error:
        raise InvalidInput(f"The file '{path}' is not a raster: {str(error).splitlines()[0]}") from error


def _read_numpy(path, suffix, band, array):
    try:
        loaded = np.load(path, allow_pickle=False)
        if suffix == ".npy":
            return Raster(_one_map(path, loaded, band))
        with loaded as archive:
            name = _array_name(path, archive, array)
            values = _one_map(path, archive[name], band)
            about = {key: archive[key] for key in ("transform", "crs", "nodata") if key in archive.files}
    except InvalidInput:
        raise
    except (*MALFORMED, AttributeError, TypeError, zipfile.BadZipFile) as error:
        what = "array file" if suffix == ".npy" else "archive"
        raise InvalidInput(
            f"The file '{path}' is not a NumPy {what}: {str(error).splitlines()[0]}"
        ) from error
    return Raster(
        values,
        tuple(about["transform"].ravel().tolist()) if "transform" in about else None,
        str(about["crs"]) if "crs" in about else None,
        float(about["nodata"]) if "nodata" in about else None,
    )


def _array_name(path, archive, wanted):
    names = archive.files
    if wanted is not None:
        if wanted not in names:
            raise InvalidInput(f"The file '{path}' has no array '{wanted}'. It has: {', '.join(names)}.")
        return wanted
    flat = [name for name in names if archive[name].ndim in (2, 3)]
    known = [name for name in KNOWN_ARRAYS if name in flat]
    if len(flat) == 1 or known:
        return (known or flat)[0]
    raise InvalidInput(f"The file '{path}' has the arrays {', '.join(names)}; name one (--array).")


def _one_map(path, values, band):
    if values.ndim == 3:
        if not 1 <= band <= len(values):
            raise InvalidInput(f"The array in '{path}' has the maps 1 to {len(values)}. Got {band} instead.")
        return values[band - 1]
    if values.ndim != 2:
        raise InvalidInput(
            f"The array in '{path}' must have two dimensions. Got shape {values.shape} instead."
        )
    return values


# Features ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Feature:
    """A region with what a file says of it. `geometry` is GeoJSON-like, in the raster's coordinates."""

    geometry: dict
    properties: dict


def features_of(regions, *, unit="dBm") -> list[Feature]:
    """Coverage regions, or nested shapes, as features with dbm (or level), label, area_km2 and colours.

    Empty ones are left out.
    """
    shown = [(region, region.__geo_interface__) for region in regions]
    shown = [(region, geometry) for region, geometry in shown if _polygons(geometry)]
    descending = bool(shown) and shown[0][0].direction == ">="
    levels = sorted({region.level for region, _ in shown}, reverse=descending)
    colours = dict(zip(levels, _colours(len(levels))))
    return [Feature(geometry, _properties(region, unit, colours[region.level])) for region, geometry in shown]


def _properties(region, unit, colour):
    upto = getattr(region, "upto", None)
    label = f"{region.direction} {region.level:g}{'' if upto is None else f' to {upto:g}'} {unit}".rstrip()
    return {
        "dbm" if unit == "dBm" else "level": region.level,
        "label": label,
        "area_km2": _area_or_none(region),
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


def _area_or_none(region):
    if region.crs is None or importlib.util.find_spec("pyproj") is None:
        return None
    return area_km2(region)


# Writing ----------------------------------------------------------------------------------------------------------


def write_features(features, path, *, crs=None) -> None:
    """Write features to a file, whole or not at all.

    Parameters
    ----------
    features : sequence of Feature
    path : path-like
        Its ending chooses the format: .geojson or .json (EPSG:4326), .gpkg, .kml (EPSG:4326), .wkt (lines).
    crs : optional
        Coordinate reference system of the features, as anything that pyproj takes.

    Raises
    ------
    InvalidInput
        The file cannot be written, or the format needs a coordinate reference system and there is none.
    """
    target = check_output(path, FORMATS)
    content = FORMATS[Path(path).suffix.lower()](features, crs, path)
    with replacing(target) as file:
        file.write(content)


def as_geojson(features, crs, path) -> bytes:
    to_degrees = _to_degrees(crs, path, [feature.geometry for feature in features])
    collection = {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "properties": feature.properties, "geometry": to_degrees(feature.geometry)}
            for feature in features
        ],
    }
    return (json.dumps(collection, allow_nan=False) + "\n").encode()


def _to_degrees(crs, path, geometries):
    """A function from a geometry in `crs` to one in longitude and latitude, by the right-hand rule."""
    if crs is None:
        if not all(
            abs(x) <= 180 and abs(y) <= 90 for geometry in geometries for x, y in _positions(geometry)
        ):
            raise InvalidInput(
                f"The output '{path}' is in longitude and latitude, and the input has no coordinate reference system: "
                "name it (--crs EPSG:32632), or write .wkt or .gpkg."
            )
        return lambda geometry: _mapped(geometry, _right_handed)
    system = as_crs(crs, of=f"Writing '{path}'")
    if system.equals(WGS84):
        return lambda geometry: _mapped(geometry, _right_handed)
    import pyproj

    transformer = pyproj.Transformer.from_crs(system, WGS84, always_xy=True)

    def moved(ring, outer):
        longitude, latitude = transformer.transform(*np.asarray(ring, np.float64).T)
        if not (np.isfinite(longitude).all() and np.isfinite(latitude).all()):
            raise InvalidInput(
                f"The output '{path}' cannot be written: the map reaches beyond what {crs} can express."
            )
        return _right_handed(np.stack([longitude, latitude], axis=1), outer)

    return lambda geometry: _mapped(geometry, moved)


def _positions(geometry):
    for polygon in _polygons(geometry):
        for ring in polygon:
            yield from ring


def _polygons(geometry):
    if geometry["type"] == "Polygon":
        return [geometry["coordinates"]] if geometry["coordinates"] else []
    if geometry["type"] == "MultiPolygon":
        return list(geometry["coordinates"])
    return [polygon for part in geometry.get("geometries", ()) for polygon in _polygons(part)]


def _mapped(geometry, change):
    """A geometry of polygons with `change(ring, is it outer)` applied to every closed ring."""
    polygons = [
        [change(ring, number == 0) for number, ring in enumerate(rings)] for rings in _polygons(geometry)
    ]
    if len(polygons) == 1:
        return {"type": "Polygon", "coordinates": polygons[0]}
    return {"type": "MultiPolygon", "coordinates": polygons}


def _right_handed(ring, outer):
    """A closed ring as lists: counter-clockwise when it is an outer one, else clockwise (RFC 7946, 3.1.6)."""
    points = np.asarray(ring, np.float64)
    x, y = (points - points[0]).T
    turn = (x[:-1] * y[1:] - x[1:] * y[:-1]).sum()
    return (points if (turn > 0) == outer else points[::-1]).tolist()


def as_wkt(features, crs, path) -> bytes:
    del crs, path

    def text(rings):
        return "({})".format(", ".join(f"({', '.join(f'{x!r} {y!r}' for x, y in ring)})" for ring in rings))

    lines = []
    for feature in features:
        polygons = [text(rings) for rings in _polygons(feature.geometry)]
        if len(polygons) == 1:
            lines.append(f"POLYGON {polygons[0]}")
        else:
            lines.append(f"MULTIPOLYGON ({', '.join(polygons)})" if polygons else "POLYGON EMPTY")
    return "".join(line + "\n" for line in lines).encode()


def as_geopackage(features, crs, path) -> bytes:
    return _by_pyogrio(features, crs, path, ".gpkg", driver="GPKG", layer="coverage")


def as_kml(features, crs, path) -> bytes:
    to_degrees = _to_degrees(crs, path, [feature.geometry for feature in features])
    moved = [
        Feature(to_degrees(feature.geometry), {"Name": feature.properties["label"], **feature.properties})
        for feature in features
    ]
    return _by_pyogrio(moved, WGS84, path, ".kml", driver="KML")


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
    kind = "MultiPolygon" if len(kinds) > 1 else kinds.pop()
    system = as_crs(crs, of=f"Writing '{path}'").to_wkt() if crs is not None else None
    with tempfile.TemporaryDirectory(prefix="clgeom-") as folder:
        made = os.path.join(folder, "coverage" + suffix)
        try:
            pyogrio.raw.write(
                made, shapes, columns, names, geometry_type=kind, crs=system,
                promote_to_multi=kind == "MultiPolygon", **options,
            )  # fmt: skip
        except pyogrio.errors.DataSourceError as error:
            raise InvalidInput(f"The output '{path}' cannot be written: {error}") from error
        return Path(made).read_bytes()


def _column(values):
    """A column of a table: numbers where all are, else text."""
    if all(isinstance(value, (int, np.integer)) for value in values):
        return np.array(values, np.int64)
    if all(value is None or isinstance(value, (int, float)) for value in values):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    return np.array(["" if value is None else str(value) for value in values], object)


FORMATS = {
    ".geojson": as_geojson,
    ".json": as_geojson,
    ".gpkg": as_geopackage,
    ".kml": as_kml,
    ".wkt": as_wkt,
}
