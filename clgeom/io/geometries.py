"""Points of geometries in Arrow columns: WKB, and GeoArrow's points. Shapely is imported when it is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from clgeom.core.messages import counted
from clgeom.errors import InvalidInput
from clgeom.io.files import FilePath
from clgeom.optional import any_m, require

#: Record of a point in well-known binary: byte order, type, x, y. With z or m it is longer.
POINT_LAYOUT = {"names": ("order", "type", "x", "y"), "formats": ("u1", "<u4", "<f8", "<f8"), "offsets": (0, 1, 5, 13)}
#: Types of points by the length of their record; the last ones have z or m.
POINTS = {21: (1,), 29: (1001, 2001, 0x80000001, 0x40000001)}
Z_LEFT_OUT = "z and m of the geometries were left out"


def points_of(path: FilePath, column: Any) -> tuple[Any, ...]:
    """Return (points, the row of each vertex or None if each row has one, notes) of a column of geometries.

    The column is a ChunkedArray of well-known binary, or of GeoArrow's points: structs of x and y, or lists of fixed
    size. Notes say whether z or m were left out, and how many rows have no vertices.
    """
    import pyarrow as pa

    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    types, type = pa.types, column.type
    if types.is_struct(type) and {"x", "y"} <= {field.name for field in type}:
        parts = [np.column_stack([chunk.field(axis).to_numpy() for axis in "xy"]) for chunk in _filled(column).chunks]
        return _kept(_stacked(parts), column, type.num_fields > 2)
    if types.is_fixed_size_list(type) and type.list_size in (2, 3, 4):
        size = type.list_size
        parts = [chunk.flatten().to_numpy().reshape(-1, size)[:, :2] for chunk in _filled(column).chunks]
        return _kept(_stacked(parts), column, size > 2)
    if not (types.is_binary(type) or types.is_large_binary(type)):
        raise InvalidInput(f"The geometries in '{path}' must be well-known binary or points. Got {type} instead.")
    plain = _plain_points(column)
    return _by_shapely(path, column) if plain is None else plain


def _filled(column: Any) -> Any:
    """Return the rows that are not null."""
    return column.drop_null() if column.null_count else column


def _stacked(parts: Any) -> np.ndarray:
    return np.concatenate([np.asarray(part, np.float64) for part in parts]) if parts else np.empty((0, 2))


def _kept(points: np.ndarray, column: Any, more: Any) -> tuple[Any, ...]:
    """Return points with their rows, and notes."""
    notes = (Z_LEFT_OUT,) if more else ()
    if not column.null_count:
        return points, None, notes
    rows = np.flatnonzero(~column.is_null().to_numpy())
    return points, rows, (*notes, _empty_words(column.null_count))


def _empty_words(count: int) -> str:
    return f"{counted(count, 'row', 'rows')} without a readable geometry {'was' if count == 1 else 'were'} left out"


def _plain_points(column: Any) -> tuple[Any, ...] | None:
    """Return what `points_of` does if all rows are points as little-endian binary of one length; None if not."""
    if column.null_count or not len(column):
        return None
    length = len(column[0].as_py())
    if length not in POINTS:
        return None
    record = np.dtype({**POINT_LAYOUT, "itemsize": length})  # type: ignore[call-overload]
    parts = []
    for chunk in column.chunks:
        _, offsets, data = chunk.buffers()
        offsets = np.frombuffer(offsets, _offset_type(chunk.type))[chunk.offset : chunk.offset + len(chunk) + 1]
        if (np.diff(offsets) != length).any():
            return None
        found = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]].view(record)
        if (found["order"] != 1).any() or not np.isin(found["type"], POINTS[length]).all():
            return None
        parts.append(np.column_stack([found["x"], found["y"]]))
    points = _stacked(parts)
    if np.isnan(points).any():  # NaN stands for an empty point
        return None
    return points, None, (Z_LEFT_OUT,) if length > min(POINTS) else ()


def _offset_type(type: Any) -> Any:
    import pyarrow as pa

    return np.int64 if pa.types.is_large_binary(type) else np.int32


def _by_shapely(path: FilePath, column: Any) -> tuple[Any, ...]:
    require("Shapely", f"Reading '{path}'")
    import shapely

    try:
        shapes = shapely.from_wkb(column.to_numpy())
    except shapely.errors.ShapelyError as error:
        raise InvalidInput(f"The file '{path}' has a damaged geometry: {' '.join(str(error).split())}") from error
    points, rows = shapely.get_coordinates(shapes, return_index=True)
    empty = int((shapely.is_empty(shapes) | shapely.is_missing(shapes)).sum())
    notes = (Z_LEFT_OUT,) if shapely.has_z(shapes).any() or any_m(shapely, shapes) else ()
    return points, rows, (*notes, _empty_words(empty)) if empty else notes
