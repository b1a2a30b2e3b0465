"""Arrow tables and columns of any library, imported by Arrow's PyCapsule interface with PyArrow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import Parameter
from clgeom.errors import InvalidInput
from clgeom.intake.interop.columns import choose_pair, interleaved, known_pair, without_missing
from clgeom.intake.interop.geometries import PointsAndSizes, dimensions_left_out, sizes_of, vertices_of, with_missing
from clgeom.optional import is_instance, require

if TYPE_CHECKING:
    import pyarrow as pa

#: GeoArrow's names for the dimensions of points.
DIMENSIONS = ("xy", "xyz", "xym", "xyzm")
EXTENSION = b"ARROW:extension:name"
#: Record of a point in well-known binary: byte order, type, x, y. With z or m it is longer.
POINT_RECORD = {"names": ("order", "type", "x", "y"), "formats": ("u1", "<u4", "<f8", "<f8"), "offsets": (0, 1, 5, 13)}
#: Types of points and their further dimension, by the length of their record.
POINTS = {21: {1: ""}, 29: {1001: "z", 2001: "m", 0x80000001: "z", 0x40000001: "m"}}
#: Types of text and of bytes.
TEXT = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


def is_arrow(value: object) -> bool:
    """Return whether a value has Arrow's PyCapsule interface, as objects of PyArrow and Polars do, or hides it."""
    return (
        hasattr(value, "__arrow_c_stream__")
        or hasattr(value, "__arrow_c_array__")
        or is_instance(value, "polars", "LazyFrame")
    )


def imported(value: Any, parameter: Parameter) -> pa.ChunkedArray | pa.Table:
    """Return an object with Arrow's PyCapsule interface as a column; tables of PyArrow stay tables."""
    require("PyArrow", f"An object of type {type(value).__name__}")
    import pyarrow as pa

    if isinstance(value, (pa.Table, pa.ChunkedArray)):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    if is_instance(value, "polars", "LazyFrame"):
        raise parameter.wrong("hold its rows", "a LazyFrame: call its method collect")
    try:
        column = chunked(pa.array(value)) if hasattr(value, "__arrow_c_array__") else pa.chunked_array(value)
        if is_instance(value, "polars", "DataFrame"):  # whose columns come as the fields of a struct
            return pa.Table.from_arrays(column.flatten(), schema=pa.schema(list(column.type)))
        return column
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise parameter.wrong("be an array or a table of Arrow", f"{type(value).__name__} ({error})") from error


def chunked(array: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    """Return an array as a column of one chunk; a column as it is."""
    import pyarrow as pa

    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without its extension type."""
    import pyarrow as pa

    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)


# Text -----------------------------------------------------------------------------------------------------------


def is_text(value: Any) -> bool:
    """Return whether a value is a column of text or bytes, which a dictionary may hold."""
    if not is_instance(value, "pyarrow", "ChunkedArray"):
        return False
    import pyarrow as pa

    return str(value.type.value_type if pa.types.is_dictionary(value.type) else value.type) in TEXT


def text_of(column: pa.ChunkedArray) -> pa.Array:
    """Return a column of text or bytes as one array of large_string or large_binary."""
    import pyarrow as pa

    kind = pa.large_string() if "string" in str(column.type) else pa.large_binary()
    # views of strings, which Polars has in its categories, can be cast but not taken
    parts = [
        part.dictionary.cast(kind).take(part.indices) if hasattr(part, "dictionary") else part.cast(kind)
        for part in column.chunks
    ]
    if len(parts) == 1:
        return parts[0]
    return pa.concat_arrays(parts) if parts else pa.array([], kind)


def letters_of(column: pa.Array) -> tuple[np.ndarray, np.ndarray] | None:
    """Return letters and offsets of a complete result of `text_of`, where they lie; None for text beyond ASCII."""
    if not len(column):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    held = 0 if data is None else data.size
    if bounds[0] < 0 or bounds[-1] > held or (bounds[1:] < bounds[:-1]).any():
        raise InvalidInput(
            f"The offsets of an Arrow array of text must never descend, from 0 to its {held:,} bytes. Got others."
        )
    letters = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]] if data is not None else np.empty(0, np.uint8)
    if "string" in str(column.type) and letters.size and letters.max() > 127:
        return None
    return letters, bounds - bounds[0]


# Numbers --------------------------------------------------------------------------------------------------------


def arrow_values(column: pa.ChunkedArray | pa.Table, parameter: Parameter) -> np.ndarray | None:
    """Return a column of numbers or bools as `without_missing` does; None for other types, and for tables."""
    import pyarrow as pa

    if isinstance(column, pa.Table):
        return None
    kind = _storage(column).type
    if not _is_of_numbers(kind.value_type if pa.types.is_dictionary(kind) else kind):
        return None
    return without_missing(numbers_of(column, parameter.name, parameter), parameter)


def _is_of_numbers(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return any(holds(kind) for holds in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean))


def numbers_of(column: pa.ChunkedArray, name: str, parameter: Parameter) -> np.ndarray:
    """Return a column of numbers or bools as an array, masked where a number is missing; no copy of one chunk."""
    import pyarrow as pa

    types, column = pa.types, _storage(column)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_null(kind):
        return np.ma.MaskedArray(np.zeros(len(column)), True)
    if not _is_of_numbers(kind):
        where = "" if name == parameter.name else f" in column '{name}'"
        raise parameter.wrong("hold numbers", f"{kind}{where}")
    if not column.null_count:
        values: np.ndarray = column.to_numpy()
        return values
    filled = column.fill_null(False if types.is_boolean(kind) else pa.scalar(0, pa.int8()).cast(kind))
    return np.ma.MaskedArray(filled.to_numpy(), column.is_null().to_numpy())


def _pieces(column: pa.ChunkedArray, name: str, parameter: Parameter) -> list[np.ndarray]:
    """Return `numbers_of` for each chunk of a column: their copies into points are the only ones."""
    return [numbers_of(chunked(chunk), name, parameter) for chunk in column.chunks or [column]]


# Points ---------------------------------------------------------------------------------------------------------


def arrow_points(value: pa.ChunkedArray | pa.Table, parameter: Parameter) -> PointsAndSizes:
    """Return (points, sizes) of a column or a table, as `vertices_of` does."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(value, pa.Table):
        return _table_points(value.schema, value.columns, parameter)
    types, column = pa.types, _storage(value)
    kind = column.type
    if types.is_struct(kind):
        names = [field.name for field in kind]
        if {"x", "y"} < set(names) <= {"x", "y", "z", "m"}:
            _note_dimensions("".join(names), parameter)
        return _table_points(pa.schema(list(kind)), column.flatten(), parameter)
    dimensions = _dimensions(kind)
    if dimensions is not None:
        return _interleaved_points(column, dimensions, parameter), None
    if (types.is_list(kind) or types.is_large_list(kind)) and not _is_of_numbers(kind.value_type):
        # GeoArrow's lines and polygons: lists of points, or of such lists
        points, sizes = arrow_points(pc.list_flatten(column), parameter)
        rows = np.repeat(np.arange(len(column)), pc.list_value_length(column).fill_null(0).to_numpy())
        rows = rows if sizes is None else np.repeat(rows, sizes)
        missing = np.flatnonzero(column.is_null().to_numpy())
        if len(missing):
            points, rows = with_missing(points.astype(np.result_type(points, np.float64), copy=False), rows, missing)
        return points, sizes_of(rows, len(column))
    if str(kind) in ("binary", "large_binary", "binary_view"):
        plain = _plain_points(column, parameter)
        if plain is not None:
            return plain, None
        require("Shapely", "Well-known binary")
        import shapely

        try:
            return vertices_of(shapely.from_wkb(column.to_numpy()), parameter)
        except shapely.errors.ShapelyError as error:
            raise parameter.wrong("hold well-known binary if it holds bytes", str(error)) from error
    expected = "hold points: lists of two numbers of fixed size, structs of x and y, or geometries in well-known binary"
    raise parameter.wrong(expected, f"{kind}")


def _plain_points(column: pa.ChunkedArray, parameter: Parameter) -> np.ndarray | None:
    """Return points whose well-known binary is little-endian and of one length; None for other geometries."""
    import pyarrow as pa

    length = len(column[0].as_py() or b"") if len(column) else 0
    if length not in POINTS or column.null_count or str(column.type) == "binary_view":
        return None
    record = np.dtype({**POINT_RECORD, "itemsize": length})  # type: ignore[call-overload]
    index = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    kinds, parts = POINTS[length], []
    for chunk in column.chunks:
        _, offsets, data = chunk.buffers()
        offsets = np.frombuffer(offsets, index)[chunk.offset : chunk.offset + len(chunk) + 1]
        if (np.diff(offsets) != length).any():
            return None
        found = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]].view(record)
        if (found["order"] != 1).any() or not np.isin(found["type"], list(kinds)).all():
            return None
        parts.append(np.column_stack([found["x"], found["y"]]))
    points = np.concatenate(parts)
    if np.isnan(points).any():  # NaN stands for an empty point
        return None
    _note_dimensions(kinds[found["type"][-1]], parameter)
    return points


def _table_points(schema: pa.Schema, columns: Sequence[pa.ChunkedArray], parameter: Parameter) -> PointsAndSizes:
    """Return points of the column of geometries, of two columns of numbers, or of the only column of points."""
    names, place = schema.names, geometry_column(schema)
    if place is None and known_pair(names) is None:
        of_points = [i for i, field in enumerate(schema) if _is_of_points(field.type)]
        place = of_points[0] if len(of_points) == 1 else None
    if place is not None:
        return arrow_points(columns[place], parameter)
    pair = choose_pair(names, parameter, ", or one column of points")
    numbers = [_pieces(columns[i], names[i], parameter) for i in pair]
    return interleaved([names[i] for i in pair], numbers, parameter), None


def geometry_column(schema: pa.Schema) -> int | None:
    """Return the geometry column by the metadata of GeoParquet, or the only one by those of GeoArrow."""
    try:
        primary = json.loads((schema.metadata or {}).get(b"geo", b"{}"))["primary_column"]
    except (ValueError, TypeError, KeyError):  # no metadata of GeoParquet
        primary = None
    if schema.names.count(primary) == 1:
        place: int = schema.names.index(primary)
        return place
    marked = [i for i, field in enumerate(schema) if _extension(field).startswith(("geoarrow.", "ogc."))]
    return marked[0] if len(marked) == 1 else None


def _extension(field: pa.Field) -> str:
    """Return the name of a field's extension type, which need not be registered."""
    name = getattr(field.type, "extension_name", None) or (field.metadata or {}).get(EXTENSION, b"").decode()
    return name or ""


def _is_of_points(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_struct(kind):
        return known_pair([field.name for field in kind]) is not None
    return _dimensions(kind) is not None


def _dimensions(kind: pa.DataType) -> str | None:
    """Return the dimensions of the points in lists of fixed size, None for other types."""
    import pyarrow as pa

    if not pa.types.is_fixed_size_list(kind):
        return None
    if kind.list_size == 2:
        return "xy"
    name: str = kind.value_field.name
    return name if name in DIMENSIONS and len(name) == kind.list_size else None


def _interleaved_points(column: pa.ChunkedArray, dimensions: str, parameter: Parameter) -> np.ndarray:
    """Return points in lists of fixed size; no copy of one chunk where none is missing."""
    import pyarrow.compute as pc

    _note_dimensions(dimensions, parameter)
    numbers = pc.list_flatten(column)
    if column.null_count or numbers.null_count:
        axes = [_pieces(pc.list_element(column, k), name, parameter) for k, name in enumerate(dimensions[:2])]
        return interleaved(dimensions[:2], axes, parameter)
    return numbers_of(numbers, parameter.name, parameter).reshape(-1, len(dimensions))[:, :2]


def _note_dimensions(dimensions: str, parameter: Parameter) -> None:
    left_out = [letter.upper() for letter in sorted(dimensions, reverse=True) if letter in "zm"]
    if left_out:
        dimensions_left_out(left_out, parameter)
