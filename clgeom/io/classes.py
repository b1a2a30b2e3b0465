"""Write polygons of classes as features of maps."""

from __future__ import annotations

from typing import Any

from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.io import features, vector
from clgeom.io.atomic import NewFile, check_output, new_file
from clgeom.io.features import Written
from clgeom.io.files import FilePath
from clgeom.io.outputs import GEOMETRIES, IN_LONLAT


@keeps_subnormals
def write_classes(polygons: Any, path: FilePath, *, crs: Any = None, layer: Any = None, densify: Any = None) -> Written:
    """Write polygons of classes to a file, whole or not at all; `ClassPolygons.to_file` says how."""
    check_output(path, GEOMETRIES)
    vector.check_layer(path, layer)
    with new_file(path) as file:
        if features.densify_or_none(densify) is not None and file.suffix not in IN_LONLAT:
            raise InvalidInput(f"The 'densify' parameter is for .geojson, .json and .kml. Got '{file.given}' instead.")
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
    columns = polygons._columns() | polygons._columns_of_files(crs)
    shapes, added = polygons.collected(), 0
    if file.suffix in IN_LONLAT:
        shapes, added = _in_degrees(polygons, crs, file.given, densify, named)
    if file.suffix == ".kml":  # whose features have a name
        columns |= {"label": _labels(columns)}
        columns.pop("name", None)
    features.write_features(file, columns, shapes, crs, layer=layer)
    return Written(shapes.vertices, added)


def classes_geojson(polygons: Any, crs: Any, densify: Any) -> str:
    """Return the text of a GeoJSON file of polygons of classes."""
    shapes, _ = _in_degrees(polygons, crs, "GeoJSON", densify, features.PARAMETER)
    columns = polygons._columns() | polygons._columns_of_files(crs)
    return features.ENCODERS[".geojson"](columns, shapes).decode()


def _in_degrees(polygons: Any, crs: Any, given: str, densify: Any, named: Any) -> tuple[Any, int]:
    """Return geometries in longitude and latitude, and the number of vertices that were added."""
    if crs is None:
        features.check_lonlat(polygons, given, named)
    shapes = polygons.in_degrees(crs, caller=f"Writing '{given}'", densify=features.densify_or_none(densify))
    return shapes, sum(one.added for one in shapes.shapes)


def _labels(columns: dict[str, Any]) -> Any:
    """Return the name of the class of each feature, or its number."""
    names = columns.get("name", [None] * len(columns["class"]))
    values = columns["class"].tolist()
    return features.as_column([str(value) if name is None else name for name, value in zip(names, values)])
