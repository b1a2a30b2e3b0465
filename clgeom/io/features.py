"""Write regions as features of maps. pyproj and pyogrio are imported when they are needed.

GeoJSON and KML are in longitude and latitude (RFC 7946); the other formats keep the coordinates of the regions.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.geodesy import as_crs, earth_areas
from clgeom.io.atomic import check_output, replacing
from clgeom.io.geojson import as_geojson, polygons_of
from clgeom.io.lonlat import WGS84, LonLat
from clgeom.optional import is_installed, require, require_shapely

#: Colours from the first level to the last; more levels share them.
COLOURS = ("#d7301f", "#fc8d59", "#fdcc8a", "#74a9cf", "#2b8cbe", "#045a8d")
#: What is said of an output in longitude and latitude if the input has no system.
NO_SYSTEM = (
    "The output '{}' is in longitude and latitude, and the input has no coordinate reference system: "
    "name it (--crs EPSG:32632), or write .wkt or .gpkg."
)


@dataclass(frozen=True, eq=False)
class Feature:
    """A region with its properties in a file.

    Parameters
    ----------
    geometry : dict
        GeoJSON-like, in the raster's coordinates.
    properties : dict
    nested : object, optional
        The nested shape of the geometry, with its `layer` and the layer `cut` out of it. With them shapes also nest
        after reprojection.
    """

    geometry: dict
    properties: dict
    nested: object = None


def features_of(regions, *, unit="dBm") -> list[Feature]:
    """Return coverage regions or nested shapes as features with an id, their level and unit, counts, areas and colours.

    Empty regions are left out. Ids are 1, 2, 3, .. in the given order (in KML "feature_id"). The level is also
    named dbm if that is the unit.
    `cells_area` is the area of the covered cells and `area` that of the polygon, both in the square of the map's unit;
    `area_km2` is the polygon's on the ellipsoid.
    """
    shown = [(region, region.__geo_interface__) for region in regions]
    shown = [(region, geometry) for region, geometry in shown if len(geometry["coordinates"])]
    descending = bool(shown) and shown[0][0].direction == ">="
    levels = sorted({region.level for region, _ in shown}, reverse=descending)
    colours = dict(zip(levels, _colours(len(levels))))
    areas = areas_or_none([geometry for _, geometry in shown], shown[0][0].crs if shown else None)
    features = []
    for number, ((region, geometry), area) in enumerate(zip(shown, areas), 1):
        own = {
            "map": region.map,
            "part": getattr(region, "part", None),
            "cells": region.cells,
            "cells_area": None if region.cells is None else region.cells * region.grid.cell_area,
            "area": float(region.area),
            "area_km2": area,
            "segments": getattr(region, "segments", None),
        }
        upto = getattr(region, "upto", None)
        properties = _properties({"id": number}, region.level, region.direction, unit, own, colours, upto)
        features.append(Feature(geometry, properties, region if hasattr(region, "layer") else None))
    return features


def _properties(first, level, direction, unit, own, colours, upto=None):
    """The properties of a region: `first`, its level in words and numbers, its `own` ones, its style."""
    return {
        **first,
        "level": level,
        **({"dbm": level} if unit == "dBm" else {}),
        **({} if upto is None else {"upto": upto}),
        "unit": unit,
        "label": f"{direction} {level:g}{'' if upto is None else f' to {upto:g}'} {unit}".rstrip(),
        **own,
        **_style(colours[level]),
    }


def _colours(count):
    """Return `count` colours, evenly from the first to the last."""
    if count == 1:
        return [COLOURS[0]]
    return [COLOURS[round(i * (len(COLOURS) - 1) / (count - 1))] for i in range(count)]


def _style(colour):
    """Return the style of a polygon by the simplestyle specification."""
    return {
        "fill": colour,
        "fill-opacity": 0.35,
        "stroke": colour,
        "stroke-width": 1.5,
        "stroke-opacity": 0.9,
    }


def areas_or_none(geometries, crs):
    """Return the areas of geometries on the ellipsoid in km2; None for an area that cannot be computed."""
    if crs is None or not is_installed("pyproj"):
        return [None] * len(geometries)
    try:
        return (earth_areas(geometries, crs, caller="area_km2") / 1e6).tolist()
    except InvalidInput:  # the system cannot express one of them
        if len(geometries) == 1:
            return [None]
    return [area for geometry in geometries for area in areas_or_none([geometry], crs)]


# Writing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """Number of vertices that were written, and how many of them were added along edges that became curves."""

    vertices: int
    added: int


def write_features(features, path, *, crs=None, lonlat=False, resolution=None) -> Written:
    """Write features to a file, whole or not at all.

    Parameters
    ----------
    features : sequence of Feature
    path : path-like
        Its ending chooses the format: .geojson or .json (EPSG:4326), .fgb, .gpkg, .kml (EPSG:4326), .parquet,
        .csv (with WKT), .wkt (lines).
    crs : optional
        Coordinate reference system of the features, as anything that pyproj takes.
    lonlat : bool
        Whether the coordinates are longitude and latitude; then there is no `crs`.
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
    """Return the bytes of a file of features, and the result of `write_features`; see there."""
    encode, in_degrees = FORMATS[Path(path).suffix.lower()]
    added = 0
    if in_degrees:
        if crs is None and not lonlat:
            raise InvalidInput(NO_SYSTEM.format(path))
        way = LonLat(crs, caller=f"Writing '{path}'", resolution=resolution)
        features, crs = _in_degrees(features, way), WGS84
        added = way.added
    vertices = sum(count_vertices(feature.geometry) for feature in features)
    return encode(features, crs, path), Written(vertices, added)


def _in_degrees(features, way):
    """Return features in longitude and latitude, where nested shapes still nest and bands share boundaries."""
    wholes = {}

    def whole(layer):
        """Return the shape of a level in longitude and latitude, inside the shape of the level before."""
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
    """Return the number of vertices of a GeoJSON-like geometry; the first one of a ring counts once."""
    kind = geometry["type"]
    if kind == "GeometryCollection":
        return sum(map(count_vertices, geometry["geometries"]))
    parts = geometry["coordinates"]
    if kind == "Polygon":
        return sum(len(ring) - 1 for ring in parts)
    if kind == "MultiPolygon":
        return sum(len(ring) - 1 for rings in parts for ring in rings)
    return 1 if kind == "Point" else len(parts) if kind in ("LineString", "MultiPoint") else sum(map(len, parts))


def encode_polygons(polygons, path, *, unit="dBm"):
    """Return the bytes of a GeoJSON file of polygons as arrays, and the result of `write_features`.

    Parameters
    ----------
    polygons : CoveragePolygons
    path : path-like
    unit : str
        Of the levels.
    """
    if polygons.crs is None:
        raise InvalidInput(NO_SYSTEM.format(path))
    levels = sorted(
        {polygons.given[k] for k in np.unique(polygons.levels).tolist()}, reverse=polygons.direction == ">="
    )
    colours = dict(zip(polygons.given, [COLOURS[0]] * len(polygons.given))) | dict(zip(levels, _colours(len(levels))))
    try:
        km2 = polygons.areas_km2.tolist() if is_installed("pyproj") else None
    except InvalidInput:  # the system cannot express one of them
        km2 = None
    own = {
        "id": range(1, len(polygons) + 1),
        "map": polygons.maps.tolist(),
        "part": polygons.parts.tolist(),
        "cells": polygons.cells.tolist(),
        "cells_area": (polygons.cells * polygons.grid.cell_area).tolist(),
        "area": polygons.areas.tolist(),
        "area_km2": ["null"] * len(polygons) if km2 is None else km2,
    }
    marks = {name: f"\0{name}" for name in own if name != "id"}  # a NUL is in no unit
    texts = []
    for level in polygons.given:  # what all polygons of a level have in common
        some = _properties({"id": "\0id"}, level, polygons.direction, unit, marks, colours)
        text = json.dumps(some | {"segments": None}).replace("{", "{{").replace("}", "}}")
        for name in own:
            text = text.replace(json.dumps(f"\0{name}"), f"{{{name}}}")
        texts.append(text)
    properties = [
        texts[level].format(**dict(zip(own, row))) for level, row in zip(polygons.levels.tolist(), zip(*own.values()))
    ]
    content, counts = polygons.encode_geojson(properties, polygons.crs, caller=f"Writing '{path}'")
    return content, Written(*counts)


def _as_json(features, crs, path) -> bytes:
    del crs, path
    collection = {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                **({"id": feature.properties["id"]} if "id" in feature.properties else {}),
                "properties": feature.properties,
                "geometry": feature.geometry,
            }
            for feature in features
        ],
    }
    return (json.dumps(collection, allow_nan=False) + "\n").encode()


def _as_wkt(features, crs, path) -> bytes:
    del crs, path
    return "".join(wkt(feature.geometry) + "\n" for feature in features).encode()


def _as_csv(features, crs, path) -> bytes:
    """Properties and WKT, which GDAL reads as a geometry by the name of its column."""
    del crs, path
    names = list(dict.fromkeys(name for feature in features for name in feature.properties))
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["WKT", *names])
    for feature in features:
        rows.writerow([wkt(feature.geometry), *(feature.properties.get(name) for name in names)])
    return file.getvalue().encode()


def wkt(geometry) -> str:
    """Return a GeoJSON-like geometry as WKT, with every bit of its coordinates."""
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


def _as_flatgeobuf(features, crs, path) -> bytes:
    return _by_pyogrio(features, crs, path, ".fgb", driver="FlatGeobuf", layer="coverage")


def _as_parquet(features, crs, path) -> bytes:
    for package in ("shapely", "PyArrow"):
        require(package, f"Writing '{path}'")
    import pyarrow
    import shapely.geometry
    from pyarrow import parquet

    from clgeom.io.vector import geo_table

    shapes = np.array([shapely.geometry.shape(feature.geometry) for feature in features], object)
    file = pyarrow.BufferOutputStream()
    parquet.write_table(geo_table(_columns(features), shapes, crs), file, compression="zstd")
    return file.getvalue().to_pybytes()


def _as_kml(features, crs, path) -> bytes:
    # GDAL gives each placemark an id of its own, and reads it as "id"
    named = [
        replace(
            feature,
            properties={
                "Name": feature.properties["label"],
                **{"feature_id" if name == "id" else name: value for name, value in feature.properties.items()},
            },
        )
        for feature in features
    ]
    return _by_pyogrio(named, crs, path, ".kml", driver="KML")


def _by_pyogrio(features, crs, path, suffix, **options) -> bytes:
    """Return the bytes of a file that pyogrio writes; the drivers of GDAL need a file of their own."""
    for package in ("shapely", "pyogrio"):
        require(package, f"Writing '{path}'")
    import pyogrio
    import shapely.geometry

    shapes = np.array([shapely.geometry.shape(feature.geometry).wkb for feature in features], object)
    columns = _columns(features)
    if suffix == ".kml":  # GDAL writes integers of 64 bits there as text
        columns = {name: _narrow(values) for name, values in columns.items()}
    kinds = {shapely.from_wkb(shape).geom_type for shape in shapes} or {"Polygon"}
    many = kinds == {"Polygon", "MultiPolygon"}
    kind = "MultiPolygon" if many else kinds.pop() if len(kinds) == 1 else "Unknown"
    system = as_crs(crs, caller=f"Writing '{path}'").to_wkt() if crs is not None else None
    with tempfile.TemporaryDirectory(prefix="clgeom-") as folder, warnings.catch_warnings():
        made = os.path.join(folder, "coverage" + suffix)
        warnings.filterwarnings("ignore", "'crs' was not provided")
        try:
            options |= {"geometry_type": kind, "crs": system, "promote_to_multi": many}
            pyogrio.raw.write(made, shapes, list(columns.values()), list(columns), **options)
        except (pyogrio.errors.DataSourceError, pyogrio.errors.CRSError) as error:
            raise InvalidInput(f"The output '{path}' cannot be written: {error}") from error
        return Path(made).read_bytes()


def _columns(features) -> dict[str, np.ndarray]:
    """Return the properties of features as columns of a table."""
    names = dict.fromkeys(name for feature in features for name in feature.properties)
    return {name: _column([feature.properties.get(name) for feature in features]) for name in names}


def _narrow(values):
    """Integers as int32 if that holds them."""
    fits = values.dtype.kind == "i" and (not values.size or np.abs(values).max() < 1 << 31)
    return values.astype(np.int32) if fits else values


def _column(values):
    """Return a column of a table: numbers if all values are, else text."""
    if all(isinstance(value, (int, np.integer)) for value in values):
        return np.array(values, np.int64)
    if all(value is None or isinstance(value, (int, float)) for value in values):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    return np.array(["" if value is None else str(value) for value in values], object)


#: For each ending the function that encodes a file, and whether the file is in longitude and latitude.
FORMATS = {
    ".csv": (_as_csv, False),
    ".geojson": (_as_json, True),
    ".json": (_as_json, True),
    ".fgb": (_as_flatgeobuf, False),
    ".gpkg": (_as_geopackage, False),
    ".kml": (_as_kml, True),
    ".parquet": (_as_parquet, False),
    ".wkt": (_as_wkt, False),
}
