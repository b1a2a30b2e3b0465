"""Write regions as features of maps. pyproj, PyArrow and pyogrio are imported when they are needed.

GeoJSON and KML are in longitude and latitude (RFC 7946); the other formats keep the coordinates of the regions.
Attributes are columns, and geometries have one of three forms, none of which needs a loop over the parts of arrays:
`Ragged` and `InDegrees` (polygons as arrays) and `Listed`.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np

from clgeom.arguments import wrong, wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import swapped_words
from clgeom.errors import InvalidInput, short
from clgeom.geo.geojson import arrays_of, as_geojson, polygons_of
from clgeom.geo.lonlat import WGS84, LonLat
from clgeom.geo.smooth import checked_rounds, with_smooth_outlines
from clgeom.intake.interop.rasters import chosen_unit
from clgeom.io import vector
from clgeom.io.atomic import NewFile, check_output, new_file
from clgeom.io.attributes import attributes_of, style_of
from clgeom.io.files import FilePath
from clgeom.io.outputs import GEOJSON, GEOMETRIES, IN_LONLAT
from clgeom.optional import require_shapely

#: Namespace of the elements of KML.
KML = "http://www.opengis.net/kml/2.2"
#: The transform of a raster without a position.
IDENTITY = (1, 0, 0, 0, 1, 0)
#: What is said of an output in longitude and latitude if the input has no system.
NO_SYSTEM = (
    "The output '{}' is in longitude and latitude, and the input has no coordinate reference system: "
    "name it ({}), or write .gpkg or .wkt."
)
#: The same on the command line if the input has no transform; in Python the caller may say that these are degrees.
NO_TRANSFORM = (
    "The output '{}' is in longitude and latitude, and the input has no transform: the coordinates are columns and "
    "rows. Give the raster a transform and a reference system, or write .gpkg or .wkt."
)
#: How the system is named on the command line, and in Python.
OPTION, PARAMETER = "--crs EPSG:32632", "crs='EPSG:32632', or 'EPSG:4326' for longitude and latitude"


@dataclass(frozen=True)
class Written:
    """Number of vertices that were written, and how many of them were added along edges.

    Vertices are added where edges are curves in longitude and latitude, and where the edges of polygons that stay apart
    pass vertices of their neighbours.

    Parameters
    ----------
    vertices, added : int
    """

    vertices: int
    added: int


@dataclass(frozen=True, eq=False)
class Listed:
    """GeoJSON-like geometries of any type."""

    geometries: list[Any]

    @property
    def vertices(self) -> int:
        return sum(map(count_vertices, self.geometries))

    def geojson(self) -> list[str]:
        return [json.dumps(geometry, allow_nan=False) for geometry in self.geometries]

    def wkt(self) -> list[str]:
        return [wkt(geometry) for geometry in self.geometries]

    def to_shapely(self) -> np.ndarray:
        shapely, made = require_shapely(), np.empty(len(self.geometries), object)
        made[:] = [shapely.geometry.shape(geometry) for geometry in self.geometries]
        return made


def features_of(regions: Any, *, unit: str | None) -> list[dict[str, Any]]:
    """Return coverage regions or nested shapes as GeoJSON-like features with the attributes of `attributes_of`.

    Empty regions are left out. Ids are 1, 2, 3, .. in the given order.
    """
    shown = not_empty(regions)
    columns = attributes_of(shown, unit=unit, crs=shown[0].crs if shown else None, style=True)
    rows = zip(*map(_python_values, columns.values()))
    return [
        {"geometry": region.__geo_interface__, "properties": dict(zip(columns, row))}
        for region, row in zip(shown, rows)
    ]


def not_empty(regions: Any) -> list[Any]:
    """Return the regions that have a geometry."""
    return [region for region in regions if len(region.__geo_interface__["coordinates"])]


@keeps_subnormals
def write_regions(
    regions: Any,
    path: FilePath,
    *,
    crs: Any = None,
    layer: Any = None,
    unit: str | None = None,
    densify: Any = None,
    smooth: Any = 0,
) -> Written:
    """Write coverage regions to a file, whole or not at all; the method `to_file` of coverage regions says how."""
    check_output(path, GEOMETRIES)
    unit = chosen_unit(unit, regions, caller="to_file")
    vector.check_layer(path, layer)
    smooth = checked_rounds(smooth, caller="to_file")
    with new_file(path) as file:
        if densify_or_none(densify) is not None and file.suffix not in IN_LONLAT:
            raise InvalidInput(f"The 'densify' parameter is for .geojson, .json and .kml. Got '{file.given}' instead.")
        how = {"layer": layer, "densify": densify, "named": PARAMETER, "style": False, "smooth": smooth}
        return write_new_regions(regions, file, crs=crs, unit=unit, **how)


@keeps_subnormals
def write_new_regions(
    regions: Any,
    file: NewFile,
    *,
    crs: Any,
    unit: str | None,
    layer: str | None = None,
    densify: float | None = None,
    named: Any = OPTION,
    style: bool = True,
    smooth: int = 0,
) -> Written:
    """Write coverage regions to a new file of one of `GEOMETRIES`.

    `regions` are those of a call, or a sequence of CoverageRegion, CoveragePolygon or Nested. `named` says how the
    reference system is named, for messages. `style` adds the colours of levels. `smooth` cuts
    corners so many times.
    """
    densify, added = densify_or_none(densify), None
    drawn = with_smooth_outlines(regions, smooth) if smooth else regions
    if file.suffix in IN_LONLAT:
        if crs is None:
            check_lonlat(regions, file.given, named)
        shapes, added = in_degrees(drawn, crs, caller=f"Writing '{file.given}'", densify=densify)
    else:
        shapes = geometries_of(drawn)
    write_features(file, attributes_of(regions, unit=unit, crs=crs, style=style), shapes, crs, layer=layer)
    own = getattr(drawn, "corners", None)
    more = 0 if own is None else shapes.vertices - len(own)  # of polygons that stay apart
    return Written(shapes.vertices, more if added is None else added)


def densify_or_none(densify: float | None) -> float | None:
    """Return the `densify` parameter: a distance in metres."""
    if densify is None:
        return None
    try:
        metres = float(densify)
    except (TypeError, ValueError, OverflowError):
        metres = math.nan
    if not 0 < metres < math.inf:
        raise wrong("densify", "to_file", "a distance above 0", short(densify))
    return metres


def check_lonlat(regions: Any, path: FilePath, named: Any) -> None:
    """Refuse regions without a system whose coordinates are columns and rows, or beyond longitude and latitude."""
    grid = getattr(regions, "grid", None) or next((region.grid for region in regions), None)
    if grid is None:
        return
    rows, columns = grid.shape
    corners = np.abs(grid.to_map([(0, 0), (0, rows), (columns, 0), (columns, rows)]))
    beyond = (corners > (360, 90 + math.sqrt(grid.cell_area))).any()  # the centre of a cell may be a pole
    unplaced = tuple(grid.transform) == IDENTITY
    if named is OPTION and unplaced:
        raise InvalidInput(NO_TRANSFORM.format(path))
    if named is OPTION or unplaced or beyond:
        raise InvalidInput(NO_SYSTEM.format(path, named))


# Geometries -------------------------------------------------------------------------------------------------------


def geometries_of(regions: Any) -> Any:
    """Return the geometries of regions in their own coordinates."""
    made = regions.ragged_for_files() if hasattr(regions, "ragged_for_files") else None
    return Listed([region.__geo_interface__ for region in regions]) if made is None else made


def in_degrees(regions: Any, crs: Any, *, caller: str, densify: float | None) -> tuple[Any, ...]:
    """Return the geometries of regions in longitude and latitude, and the number of vertices that were added."""
    made = regions.in_degrees(crs, caller=caller, densify=densify) if hasattr(regions, "in_degrees") else None
    if made is not None:
        return made, made.added
    regions = list(regions)
    resolution = math.sqrt(regions[0].grid.cell_area) if regions else None
    way = LonLat(crs, caller=caller, resolution=resolution, densify=densify)
    if way.mapping is None or not any(hasattr(region, "layer") for region in regions):
        return Listed(way.all([region.__geo_interface__ for region in regions])), way.added
    return Listed(_nested_in_degrees(regions, way)), way.added


def _nested_in_degrees(regions: Any, way: Any) -> list[Any]:
    """Nested shapes in longitude and latitude, where they still nest and bands share boundaries."""
    wholes = {}

    def whole(layer: Any) -> Any:
        """Return the shape of a level in longitude and latitude, inside the shape of the level before."""
        if id(layer) not in wholes:
            shape = way.shapes([layer.shape])[0]
            if layer.before is not None:
                shape = polygons_of(shape.intersection(whole(layer.before)))
            wholes[id(layer)] = shape
        return wholes[id(layer)]

    return [
        as_geojson(whole(one.layer) if one.cut is None else polygons_of(whole(one.layer).difference(whole(one.cut))))
        for one in regions
    ]


def count_vertices(geometry: dict[str, Any]) -> int:
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


def wkt(geometry: dict[str, Any]) -> str:
    """Return a GeoJSON-like geometry as WKT, with every bit of its coordinates; integers stay integers."""
    kind = geometry["type"]
    name = kind.upper()
    if kind == "GeometryCollection":
        parts = [wkt(part) for part in geometry["geometries"]]
        return f"{name} ({', '.join(parts)})" if parts else f"{name} EMPTY"
    parts = geometry["coordinates"]

    def text(some: Any) -> str:
        if len(some) and isinstance(some[0], (int, float, np.number)):
            return " ".join(repr(one if isinstance(one, int) else float(one)) for one in some[:2])
        return f"({', '.join(map(text, some))})"

    return f"{name} ({text(parts)})" if kind == "Point" else f"{name} {text(parts)}" if len(parts) else f"{name} EMPTY"


# Formats ----------------------------------------------------------------------------------------------------------


def write_features(file: NewFile, columns: Any, shapes: Any, crs: Any, *, layer: str | None = None) -> None:
    """Write columns and geometries to a new file of one of `GEOMETRIES`.

    The geometries are in longitude and latitude if the format is, else in `crs`.
    """
    if file.suffix in ENCODERS:
        file.path.write_bytes(ENCODERS[file.suffix](columns, shapes))
        return
    vector.require_packages(file.given)
    if file.suffix == ".kml":
        _write_kml(file, columns, shapes)
    else:
        vector.write_table(file, vector.geo_table(columns, shapes.to_shapely(), crs), crs, layer=layer)


def append_features(file: NewFile, columns: Any, shapes: Any, crs: Any, *, layer: str | None, multi: bool) -> None:
    """Write features as `write_features` does after those in a file, or begin it; `end_features` completes it.

    With `multi` all geometries of a table are MultiPolygons.
    """
    is_new = not file.path.exists()
    if file.suffix not in ENCODERS:
        vector.require_packages(file.given)
        made = shapes.to_shapely()
        if multi:
            parts, owner = require_shapely().get_parts(made, return_index=True)
            made = require_shapely().multipolygons(parts, indices=owner)
        vector.write_table(file, vector.geo_table(columns, made, crs), crs, layer=layer, append=not is_new)
        return
    text = ENCODERS[file.suffix](columns, shapes)
    if file.suffix in GEOJSON:
        text = (JSON_BEGIN if is_new else b",\n") + text[len(JSON_BEGIN) : -len(JSON_END)]
    elif file.suffix == ".csv" and not is_new:
        text = text[text.index(b"\n") + 1 :]  # without the header
    with open(file.path, "ab") as opened:
        opened.write(text)


def end_features(file: NewFile) -> None:
    """Complete a file of `append_features`."""
    if file.suffix in GEOJSON:
        with open(file.path, "ab") as opened:
            opened.write(JSON_END)


@keeps_subnormals
def write_result(file: NewFile, columns: Any, shapes: np.ndarray, crs: Any, *, layer: str | None = None) -> None:
    """Write columns of any kind and Shapely geometries to a new file of GeoJSON, or one of `MAPS`."""
    table = vector.geo_table(columns, shapes, crs)
    if file.suffix in GEOJSON:
        geometries = [require_shapely().geometry.mapping(shape) for shape in shapes]
        file.path.write_bytes(_as_json(vector.json_columns(table), in_lonlat(geometries, crs, file.given)))
    else:
        vector.write_table(file, table, crs, layer=layer)


def in_lonlat(geometries: list[Any], crs: Any, given: str) -> Listed:
    """Return GeoJSON-like geometries in longitude and latitude; without `crs` they must be so already."""
    for x, y in () if crs is not None else (place for one in geometries for part in arrays_of(one) for place in part):
        if not (abs(x) <= 180 and abs(y) <= 90):
            raise wrong_file(
                given,
                f"is in longitude and latitude, within 180 and 90 degrees. Got ({float(x)!r}, {float(y)!r}) instead"
                f"{swapped_words(y)}: name the coordinates' reference system (--crs, or 'crs' in Python: "
                "EPSG:32632, or EPSG:4326 where longitudes pass 180), or write .gpkg, .csv or .wkt",
                kind="output",
            )
    return Listed(LonLat(crs, caller=f"Writing '{given}'").all(geometries))


def write_points_regions(
    features: Any, file: NewFile, *, crs: Any = None, lonlat: bool = False, densify: float | None = None
) -> Written:
    """Write GeoJSON-like features of regions of points to a new file.

    All features have the same properties. `lonlat`: the coordinates are longitude and latitude, and there is no `crs`.
    """
    shapes, added = Listed([feature["geometry"] for feature in features]), 0
    if file.suffix in IN_LONLAT:
        if crs is None and not lonlat:
            raise InvalidInput(NO_SYSTEM.format(file.given, OPTION))
        way = LonLat(crs, caller=f"Writing '{file.given}'", densify=densify)
        shapes, added = Listed(way.all(shapes.geometries)), way.added
    write_features(file, columns_of_features(features), shapes, crs)
    return Written(shapes.vertices, added)


def columns_of_features(features: Any) -> dict[str, Any]:
    """Return the properties of features as columns by name."""
    names = dict.fromkeys(name for feature in features for name in feature["properties"])
    return {name: as_column([feature["properties"].get(name) for feature in features]) for name in names}


def as_column(values: Sequence[Any]) -> np.ndarray:
    """Return values as a column: numbers if all are, NaN for None and infinity, else text."""
    if all(isinstance(value, (int, np.integer)) for value in values):
        return np.array(values, np.int64)
    if all(value is None or isinstance(value, (int, float)) for value in values):
        numbers = np.array(values, np.float64)  # None becomes NaN
        return np.where(np.isinf(numbers), np.nan, numbers)
    return np.array(values, object)


def _python_values(values: np.ndarray) -> list[Any]:
    """Return a column as values of Python: None for what is missing, and for NaN and infinity."""
    if values.dtype.kind == "f":
        values = np.ma.masked_invalid(values)
    return values.tolist()


def _as_json(columns: Any, shapes: Any) -> bytes:
    forms, values = zip(*map(_json_format, columns.values())) if columns else ((), ())
    form = ", ".join(f"{json.dumps(name).replace('%', '%%')}: {form}" for name, form in zip(columns, forms))
    ids = columns.get("id")  # of regions: integers. Groups of hulls may have a column of text with this name
    has_ids = ids is not None and ids.dtype.kind in "iu"
    own = [f'"id": {number}, ' for number in ids.tolist()] if has_ids else itertools.repeat("")
    lines = ",\n".join(
        f'{{"type": "Feature", {first}"properties": {{{form % row}}}, "geometry": {geometry}}}'
        for first, row, geometry in zip(own, zip(*values), shapes.geojson())
    )
    return JSON_BEGIN + lines.encode() + JSON_END


def _json_format(values: np.ndarray) -> tuple[str, list[Any]]:
    """Return how the values of a column are formatted as JSON, and these. Each distinct text is encoded once."""
    if values.dtype == np.uint64 and values.max(initial=0) > np.iinfo(np.int64).max:
        values = values.astype(str).astype(object)  # GDAL reads no file with such a number
    plain = _python_values(values)
    if values.dtype.kind == "O" or None in plain:
        made = {key: json.dumps(key[1], allow_nan=False) for key in {(type(value), value) for value in plain}}
        return "%s", [made[type(value), value] for value in plain]
    return "%r", plain


def _as_wkt(_: Any, shapes: Any) -> bytes:
    return "".join(text + "\n" for text in shapes.wkt()).encode()


def _as_csv(columns: Any, shapes: Any) -> bytes:
    """Properties and WKT, which GDAL reads as a geometry by the name of its column."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["WKT", *columns])
    rows.writerows(zip(shapes.wkt(), *map(_python_values, columns.values())))
    try:
        return file.getvalue().encode()
    except UnicodeEncodeError as error:
        text = short(error.object[error.start : error.end])
        raise InvalidInput(f"A table must hold text of Unicode. Got {text} instead.") from error


def _write_kml(file: NewFile, columns: Any, shapes: Any) -> None:
    # GDAL gives each placemark an id of its own, and reads it as "id"; it writes integers of 64 bits as text
    others = {name: values for name, values in columns.items() if name.lower() != "name"}
    labels = columns["label"]
    if "name" in columns:  # of maps; programs show no other text beside a placemark
        labels = np.array([f"{own}, {label}" if own else label for own, label in zip(columns["name"], labels)], object)
    named = {"Name": labels} | {"feature_id" if name == "id" else name: others[name] for name in others}
    table = vector.geo_table({name: _narrow(values) for name, values in named.items()}, shapes.to_shapely(), WGS84)
    vector.write_table(file, table, WGS84)
    if "level" in columns and len(columns["level"]):
        labels = columns["label"].tolist()
        style = style_of(columns["level"], [label[:2] for label in labels])
        file.path.write_bytes(_grouped_by_level(file.path.read_bytes(), labels, style))


def _grouped_by_level(made: bytes, labels: Any, style: Any) -> bytes:
    """Return a .kml file of GDAL's, which has one folder and one style, with a folder and a style for each label."""
    root = ElementTree.fromstring(made)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{KML}}}")
    root.set("xmlns", KML)
    (document,) = root.findall("Document")
    (all_levels,) = document.findall("Folder")
    document.remove(all_levels)
    folders: dict[Any, Any] = {}
    for i, (label, placemark) in enumerate(zip(labels, all_levels.findall("Placemark"), strict=True)):
        if label not in folders:
            name = f"level-{len(folders) + 1}"
            document.insert(len(folders), _kml_style(name, {key: values[i] for key, values in style.items()}))
            folder = ElementTree.SubElement(document, "Folder")
            _add(folder, "name", label)
            folders[label] = name, folder
        name, folder = folders[label]
        for own in placemark.findall("Style"):
            placemark.remove(own)
        link = ElementTree.Element("styleUrl")
        link.text = f"#{name}"
        placemark.insert(1, link)
        folder.append(placemark)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _kml_style(name: Any, style: Any) -> Any:
    """Return a KML style from a simplestyle one. KML writes colours as aabbggrr."""
    made = ElementTree.Element("Style", id=name)
    for kind, colour in (("LineStyle", "stroke"), ("PolyStyle", "fill")):
        part = ElementTree.SubElement(made, kind)
        red, green, blue = (style[colour][k : k + 2] for k in (1, 3, 5))
        _add(part, "color", f"{round(255 * style[f'{colour}-opacity']):02x}{blue}{green}{red}")
        if kind == "LineStyle":
            _add(part, "width", f"{style['stroke-width']:g}")
    return made


def _add(parent: Any, tag: Any, text: Any) -> None:
    ElementTree.SubElement(parent, tag).text = text


def _narrow(values: np.ndarray) -> Any:
    """Return integers as int32 if that holds them."""
    fits = values.dtype.kind == "i" and (not values.size or np.abs(values).max() < 1 << 31)
    return values.astype(np.int32) if fits else values


#: What stands around the features of GeoJSON.
JSON_BEGIN, JSON_END = b'{"type": "FeatureCollection", "features": [\n', b"\n]}\n"
#: Functions that encode the files that no other package writes.
ENCODERS = {".csv": _as_csv, ".geojson": _as_json, ".json": _as_json, ".wkt": _as_wkt}
