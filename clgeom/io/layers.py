"""Read points from layers of maps: GeoPackage, GeoJSON, Shapefile and FlatGeobuf, with pyogrio."""

from __future__ import annotations

import contextlib
import re
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.messages import listed, shown
from clgeom.errors import InvalidInput
from clgeom.io.cloud import Cloud
from clgeom.io.columnar import check_names, cloud_of_geometries, numbers_of
from clgeom.io.columns import Selection, only_column, position_of
from clgeom.io.files import NO_NETWORK, FilePath, is_stdin, opened, reading, standard_input, suffix_of
from clgeom.optional import require, require_shapely

#: First bytes of a file by its ending.
STARTS = {".gpkg": b"SQLite format 3\0", ".fgb": b"fgb\x03fgb", ".shp": b"\0\0\x27\x0a"}
JSON = (".geojson", ".json")
#: First bytes of a file that GDAL looks at, and more, and what makes it open other files and addresses from there.
HEAD = 1 << 16
VIRTUAL = re.compile(rb"<\s*(ogr|gdal|vrt|ogc)", re.IGNORECASE)
#: What GDAL makes of whole numbers beyond 64 bits in JSON.
LIMITS = (-(2**63), 2**63 - 1)


def read_layer(path: FilePath, layer: str | None, selection: Selection) -> Cloud:
    """Return all vertices of a layer's geometries, each with the group or value of its feature; x and y are refused."""
    if selection.columns is not None:
        raise InvalidInput(f"The option --columns is for tables. The file '{path}' has geometries.")
    with _opened(path) as source:
        layer = _layer(path, source, layer)
        names = _attributes(source, layer)
        position = selection.other(path, names, len(names))
        other = None if position is None else names[position]
        meta, table = _read(path, source, layer, [] if other is None else [other], geometry=True)
        geometry = meta["geometry_name"] or "wkb_geometry"
        return cloud_of_geometries(path, table, geometry, selection, other, meta["crs"])


def read_attribute(path: FilePath, name: str | None = None, *, layer: str | None = None) -> np.ndarray:
    """Return an attribute of numbers of a layer, shape (n,)."""
    with _opened(path) as source:
        layer = _layer(path, source, layer)
        names = _attributes(source, layer)
        name = names[only_column(path, names, len(names), name)]
        return numbers_of(path, _read(path, source, layer, [name], geometry=False)[1][name], name)


def read_geometries(path: FilePath, layer: str | None = None) -> tuple[list[Any], Any]:
    """Return the geometries of a layer, as GeoJSON-like dictionaries, and its reference system or None."""
    shapely = require_shapely()
    if suffix_of(path) not in (*STARTS, *JSON):
        raise wrong_file(path, f"must end in one of {', '.join((*STARTS, *JSON))}")
    with _opened(path) as source:
        layer = _layer(path, source, layer)
        meta, table = _read(path, source, layer, [], geometry=True)
        shapes = shapely.from_wkb(table[meta["geometry_name"] or "wkb_geometry"].to_numpy())
    return [shapely.geometry.mapping(shape) for shape in shapes if shape is not None], meta["crs"]


@contextlib.contextmanager
def _opened(path: FilePath) -> Iterator[Any]:
    """Yield the input of pyogrio; its exceptions within the block become `InvalidInput`."""
    with reading(path):
        for package in ("pyogrio", "PyArrow"):
            require(package, f"Reading '{path}'")
        import pyarrow
        import pyogrio

        _check_start(path)
        damaged = pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError, pyarrow.ArrowException
        try:
            with warnings.catch_warnings(), _careful(pyogrio):
                warnings.simplefilter("ignore")
                yield standard_input() if is_stdin(path) else str(path)
        except InvalidInput:
            raise
        except (*damaged, RuntimeError, ValueError) as error:
            said = shown(" ".join(str(error).split()), 200)
            raise InvalidInput(
                f"The file '{path}' is no vector file that GDAL reads, or it is damaged: {said}"
            ) from error


def _check_start(path: FilePath) -> None:
    """Raise `InvalidInput` unless a file begins as its ending says, and a Shapefile is as long as its header says.

    GDAL reads what it finds, such as a virtual layer that names other files, and says little of files cut short.
    """
    with opened(path) as (file, total, _):
        start = file.read(HEAD)
    suffix = suffix_of(path)
    if suffix in JSON:
        is_one = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"")
        is_one = is_one and b"gdal_streamed_alg" not in start  # a pipeline of GDAL, which reads what it names
    else:
        is_one = start.startswith(STARTS.get(suffix, b""))
    if not is_one or VIRTUAL.search(start):
        raise wrong_file(path, "is no vector file that GDAL reads, or it is damaged: it does not begin as one")
    if suffix == ".shp" and 2 * int.from_bytes(start[24:28], "big") > total:
        raise wrong_file(path, f"is cut short: it has {total:,} bytes, and its header says more")


#: For GDAL while it reads a layer. Its own code for FlatGeobuf fails at a feature without a geometry.
SETTINGS = {"OGR_FLATGEOBUF_STREAM_BASE_IMPL": True, **NO_NETWORK}
_lock = threading.Lock()
_readers: list[dict[str, Any]] = []  # for each thread that reads, the settings before the first one


@contextlib.contextmanager
def _careful(pyogrio: Any) -> Iterator[None]:
    """Let GDAL read with `SETTINGS`, which are those of the process: the last thread to end puts the old ones back."""
    with _lock:
        if not _readers:
            before = {name: pyogrio.get_gdal_config_option(name) for name in SETTINGS}
            pyogrio.set_gdal_config_options(SETTINGS)
        else:
            before = _readers[0]
        _readers.append(before)
    try:
        yield
    finally:
        with _lock:
            _readers.pop()
            if not _readers:
                pyogrio.set_gdal_config_options(before)


def _layer(path: FilePath, source: Any, wanted: Any) -> str:
    """Return the name of the layer to read: the one asked for, or the only one with geometries."""
    import pyogrio

    layers = pyogrio.list_layers(source)
    names = [name for name, _ in layers]
    if wanted is not None:
        return names[position_of(path, names, len(names), wanted, what="layer")]
    with_geometry = [name for name, kind in layers if kind is not None]
    if not with_geometry:
        raise wrong_file(path, "has no layer with geometries")
    if len(with_geometry) > 1:
        raise wrong_file(path, f"has the layers {listed(with_geometry)}; name one (--layer)")
    return with_geometry[0]


def _attributes(source: Any, layer: str | None) -> list[str]:
    import pyogrio

    return pyogrio.read_info(source, layer=layer)["fields"].tolist()


def _read(path: FilePath, source: Any, layer: str | None, names: Any, *, geometry: bool) -> tuple[Any, ...]:
    """Return (facts, table) of a layer; `InvalidInput` if a file has fewer features than its header says."""
    import pyogrio

    meta, table = pyogrio.raw.read_arrow(source, layer=layer, columns=names, read_geometry=geometry)
    check_names(path, table.schema, table.column_names)
    has_header = source.startswith(STARTS[".fgb"]) if is_stdin(path) else suffix_of(path) in (".fgb", ".shp")
    count = pyogrio.read_info(source, layer=layer)["features"] if has_header else 0
    if count > table.num_rows:
        raise wrong_file(path, f"is cut short: it has {table.num_rows:,} features, and its header says {count:,}")
    for name in names if suffix_of(path) in JSON else ():
        column = table[name]
        if column.type == "int64" and np.isin(column.drop_null().to_numpy(), LIMITS).any():
            raise wrong_file(path, f"has a whole number beyond 64 bits in '{shown(name)}'")
    return meta, table
