"""Write polygons of classes as features of maps."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.io import features, vector
from clgeom.io.atomic import NewFile, check_output, new_file
from clgeom.io.features import Written
from clgeom.io.files import FilePath
from clgeom.io.outputs import APPENDED, GEOMETRIES, IN_LONLAT

NO_DENSIFY = "The 'densify' parameter is for .geojson, .json and .kml. Got '{}' instead."
MIXED = (
    "A GeoPackage has classes of 2**63 and more as text, and cannot have smaller ones as numbers beside them, as strips"
    " of rows would write. Pass signed classes, or write .csv, .wkt or .geojson. Got '{}' instead."
)


@keeps_subnormals
def write_classes(polygons: Any, path: FilePath, *, crs: Any = None, layer: Any = None, densify: Any = None) -> Written:
    """Write polygons of classes to a file, whole or not at all; `ClassPolygons.to_file` says how."""
    check_output(path, GEOMETRIES)
    vector.check_layer(path, layer)
    with new_file(path) as file:
        if features.densify_or_none(densify) is not None and file.suffix not in IN_LONLAT:
            raise InvalidInput(NO_DENSIFY.format(file.given))
        return write_new_classes(polygons, file, crs=crs, layer=layer, densify=densify, named=features.PARAMETER)


def write_new_classes(
    polygons: Any,
    file: NewFile,
    *,
    crs: Any,
    layer: str | None = None,
    densify: float | None = None,
    named: Any = features.OPTION,
) -> Written:
    """Write polygons of classes to a new file of one of `GEOMETRIES`; see `write_new_regions`."""
    columns, shapes, added = _content(polygons, file, crs, densify, named)
    if file.suffix == ".kml":  # whose features have a name
        columns |= {"label": _labels(columns)}
        columns.pop("name", None)
    features.write_features(file, columns, shapes, crs, layer=layer)
    return Written(shapes.vertices, added)


def _content(
    polygons: Any, file: NewFile, crs: Any, densify: float | None, named: Any, finer: int | None = None
) -> tuple[dict[str, Any], Any, int]:
    """Return columns and geometries for a file, and the number of vertices that were added."""
    columns = polygons._columns() | polygons._columns_of_files(crs)
    if file.suffix in IN_LONLAT:
        return columns, *_in_degrees(polygons, crs, file.given, densify, named, finer)
    return columns, polygons.collected(), 0


@contextlib.contextmanager
def classes_file(
    path: FilePath, *, crs: Any, layer: Any, densify: Any, multi: bool, finer: int
) -> Iterator[ClassesFile]:
    """Yield a new file of one of `APPENDED`, for polygons of classes that come some at a time; see `write_classes`.

    With `multi` all geometries are MultiPolygons where a format needs one type. `finer` is that of a `Frame`.
    """
    check_output(path, APPENDED)
    vector.check_layer(path, layer)
    with new_file(path) as file:
        densify = features.densify_or_none(densify)
        if densify is not None and file.suffix not in IN_LONLAT:
            raise InvalidInput(NO_DENSIFY.format(file.given))
        made = ClassesFile(file, crs, layer, densify, multi, finer)
        yield made
        features.end_features(file)


@dataclass(eq=False)
class ClassesFile:
    """A file of polygons of classes that is not complete yet."""

    file: NewFile
    crs: Any
    layer: str | None
    densify: float | None
    multi: bool
    finer: int
    count: int = 0
    as_text: set[bool] = field(default_factory=set)
    written: Written = field(default=Written(0, 0))

    def add(self, polygons: Any) -> None:
        """Write polygons after those before."""
        columns, shapes, added = _content(polygons, self.file, self.crs, self.densify, features.PARAMETER, self.finer)
        columns["id"] = columns["id"] + self.count
        self.as_text.add(int(columns["class"].max(initial=0)) > np.iinfo(np.int64).max)
        if len(self.as_text) == 2 and self.file.suffix == ".gpkg":
            raise InvalidInput(MIXED.format(self.file.given))
        features.append_features(self.file, columns, shapes, self.crs, layer=self.layer, multi=self.multi)
        self.count += len(columns["id"])
        self.written = Written(self.written.vertices + shapes.vertices, self.written.added + added)


def classes_geojson(polygons: Any, crs: Any, densify: Any) -> str:
    """Return the text of a GeoJSON file of polygons of classes."""
    shapes, _ = _in_degrees(polygons, crs, "GeoJSON", densify, features.PARAMETER)
    columns = polygons._columns() | polygons._columns_of_files(crs)
    return features.ENCODERS[".geojson"](columns, shapes).decode()


def _in_degrees(
    polygons: Any, crs: Any, given: str, densify: Any, named: Any, finer: int | None = None
) -> tuple[Any, int]:
    """Return geometries in longitude and latitude, and the number of vertices that were added."""
    if crs is None:
        features.check_lonlat(polygons, given, named)
    metres = features.densify_or_none(densify)
    shapes = polygons.in_degrees(crs, caller=f"Writing '{given}'", densify=metres, finer=finer)
    return shapes, sum(one.added for one in shapes.shapes)


def _labels(columns: dict[str, Any]) -> Any:
    """Return the name of the class of each feature, or its number."""
    names = columns.get("name", [None] * len(columns["class"]))
    values = columns["class"].tolist()
    return features.as_column([str(value) if name is None else name for name, value in zip(names, values)])


def class_features(polygons: Any, areas: Any) -> list[dict[str, Any]]:
    """Return polygons of classes, and their areas in km2, as GeoJSON-like features in the order of classes."""
    found = []
    rows = sorted(zip(polygons, areas.tolist()), key=lambda row: row[0].value)
    for number, (one, area) in enumerate(rows, 1):
        own: dict[str, Any] = {"id": number, "name": one.name, "class": one.value, "cells": one.cells}
        own |= {"map": one.grid.names[one.map] if one.grid.names else one.map}
        own |= {"cells_area": one.cells * one.grid.cell_area, "area": one.area}
        own |= {"area_km2": area if math.isfinite(area) else None}
        own |= {"label": f"class {one.value}"} if one.name is None else {}
        found.append({"geometry": one.__geo_interface__, "properties": own})
    return found
