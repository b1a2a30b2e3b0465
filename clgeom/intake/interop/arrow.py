"""Arrow arrays and tables, of PyArrow or of any library with Arrow's PyCapsule interface."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.intake.interop.columns import Column, choose_pair, interleaved, joined, known_pair
from clgeom.intake.interop.geometries import PointsAndSizes, dimensions_left_out, sizes_of, vertices_of, with_missing
from clgeom.intake.interop.parameter import Parameter, is_instance
from clgeom.optional import is_installed, require

if TYPE_CHECKING:
    import pyarrow as pa

#: GeoArrow's names for the dimensions of points.
DIMENSIONS = ("xy", "xyz", "xym", "xyzm")
EXTENSION = b"ARROW:extension:name"
#: Types of text and of bytes.
TEXT = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


def is_arrow(value: object) -> bool:
    """Return whether a value is an array or a table of PyArrow."""
    return is_instance(value, "pyarrow", "Array", "ChunkedArray", "Table", "RecordBatch")


def is_column(value: object) -> bool:
    """Return whether a value is an array of PyArrow, not a table."""
    return is_instance(value, "pyarrow", "Array", "ChunkedArray")


def is_capsule(value: object) -> bool:
    """Return whether a value has Arrow's PyCapsule interface, and PyArrow is installed or the only way to read it."""
    if not (hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__")):
        return False
    return is_installed("pyarrow") or not hasattr(value, "__array__")


def imported(value: Any, parameter: Parameter) -> pa.Array | pa.ChunkedArray:
    """Return an object with Arrow's PyCapsule interface as an array of PyArrow; tables become arrays of structs."""
    require("PyArrow", f"An object of type {type(value).__name__}")
    import pyarrow as pa

    try:
        return pa.array(value) if hasattr(value, "__arrow_c_array__") else pa.chunked_array(value)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise parameter.wrong("be an array or a table of Arrow", f"{type(value).__name__} ({error})") from error


def is_text(value: object) -> bool:
    """Return whether a value is an array of PyArrow of text or bytes, which a dictionary may hold."""
    return is_column(value) and str(_kind_of_text(value)[0]) in TEXT


def _kind_of_text(value: pa.Array | pa.ChunkedArray) -> tuple[pa.DataType, bool]:
    """Return (the type of the elements of an array, whether a dictionary holds them)."""
    import pyarrow as pa

    has_codes = pa.types.is_dictionary(value.type)
    return value.type.value_type if has_codes else value.type, has_codes


def text_of(value: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return an array of text or bytes as one of large_string or large_binary."""
    import pyarrow as pa

    kind, has_codes = _kind_of_text(value)
    kind = pa.large_string() if "string" in str(kind) else pa.large_binary()
    parts = value.chunks if isinstance(value, pa.ChunkedArray) else [value]
    # views of strings, which Polars has in its categories, can be cast but not taken
    parts = [part.dictionary.cast(kind).take(part.indices) if has_codes else part.cast(kind) for part in parts]
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


def arrow_points(value: Any, parameter: Parameter) -> PointsAndSizes:
    """Return (points, sizes) of an array or a table, as `vertices_of` does."""
    if is_instance(value, "pyarrow", "Table", "RecordBatch"):
        return _table_points(value, parameter)
    if not is_instance(value, "pyarrow", "ChunkedArray"):
        return _array_points(value, parameter)
    found = [_array_points(chunk, parameter) for chunk in value.chunks or [_empty(value.type)]]
    if len(found) == 1:
        return found[0]
    points = np.concatenate([points for points, _ in found])
    if all(sizes is None for _, sizes in found):
        return points, None
    ones = (np.ones(len(points), np.int64) for points, _ in found)
    return points, np.concatenate([one if sizes is None else sizes for one, (_, sizes) in zip(ones, found)])


def arrow_column(value: pa.Array | pa.ChunkedArray, name: str, parameter: Parameter) -> Column:
    """Return the numbers of an array of numbers or bools."""
    chunks = (value.chunks or [_empty(value.type)]) if is_instance(value, "pyarrow", "ChunkedArray") else [value]
    return Column(name, [_piece(chunk, name, parameter) for chunk in chunks])


def arrow_values(value: pa.Array | pa.ChunkedArray, parameter: Parameter) -> np.ndarray | None:
    """Return an array of numbers or bools as `joined` returns it; None for a value that ``numpy.asarray`` can read."""
    import pyarrow as pa

    kind = value.type
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if not _is_of_numbers(kind.value_type if pa.types.is_dictionary(kind) else kind):
        return None
    return joined(arrow_column(value, parameter.name, parameter), parameter)


def _is_of_numbers(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return any(holds(kind) for holds in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean))


def _empty(dtype: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.array([], dtype)


def _piece(array: pa.Array, name: str, parameter: Parameter) -> tuple[np.ndarray, np.ndarray | None]:
    """Return (numbers, mask of the missing ones) of one array."""
    import pyarrow as pa

    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array)), np.ones(len(array), bool)
    if not _is_of_numbers(kind):
        where = "" if name == parameter.name else f" in column '{name}'"
        raise parameter.wrong("hold numbers", f"{kind}{where}")
    if not array.null_count:
        return array.to_numpy(zero_copy_only=False), None
    filled = array.fill_null(False if pa.types.is_boolean(kind) else pa.scalar(0, pa.int8()).cast(kind))
    return filled.to_numpy(zero_copy_only=False), array.is_null().to_numpy(zero_copy_only=False)


# Points ---------------------------------------------------------------------------------------------------------


def _table_points(table: pa.Table | pa.RecordBatch, parameter: Parameter) -> PointsAndSizes:
    """Return points of the column of geometries, of two columns of numbers, or of the only column of points."""
    names, columns = table.schema.names, table.columns
    place = _geometry_column(table.schema)
    if place is None and known_pair(names) is None:
        of_points = [i for i, field in enumerate(table.schema) if _is_of_points(field.type)]
        place = of_points[0] if len(of_points) == 1 else None
    if place is not None:
        return arrow_points(columns[place], parameter)
    pair = choose_pair(names, parameter, ", or one column of points")
    return interleaved((arrow_column(columns[i], names[i], parameter) for i in pair), parameter), None


def _geometry_column(schema: pa.Schema) -> int | None:
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
    if pa.types.is_fixed_size_list(kind):
        return _dimensions(kind) is not None
    return pa.types.is_struct(kind) and known_pair([field.name for field in kind]) is not None


def _dimensions(kind: pa.FixedSizeListType) -> str | None:
    """Return the dimensions of the points of a FixedSizeList, None if the type does not determine them."""
    if kind.list_size == 2:
        return "xy"
    name = kind.value_field.name
    return name if name in DIMENSIONS and len(name) == kind.list_size else None


def _array_points(array: pa.Array, parameter: Parameter) -> PointsAndSizes:
    """Return `arrow_points` of one array."""
    import pyarrow as pa

    types = pa.types
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    dimensions = _dimensions(kind) if types.is_fixed_size_list(kind) else None
    if dimensions is not None:
        return _interleaved_points(array, dimensions, parameter), None
    if types.is_struct(kind):
        return _separated_points(array, parameter), None
    if (types.is_list(kind) or types.is_large_list(kind)) and not _is_of_numbers(kind.value_type):
        return _parts_points(array, parameter)
    if str(kind) in ("binary", "large_binary", "binary_view"):
        require("Shapely", "Well-known binary")
        import shapely

        try:
            return vertices_of(shapely.from_wkb(array.to_numpy(zero_copy_only=False)), parameter)
        except shapely.errors.ShapelyError as error:
            raise parameter.wrong("hold well-known binary if it holds bytes", str(error)) from error
    expected = "hold points: lists of two numbers of fixed size, structs of x and y, or geometries in well-known binary"
    raise parameter.wrong(expected, f"{kind}")


def _interleaved_points(array: pa.FixedSizeListArray, dimensions: str, parameter: Parameter) -> np.ndarray:
    """Return points of a FixedSizeList; no copy if they have two dimensions and none is missing."""
    _note_dimensions(dimensions, parameter)
    width = len(dimensions)
    numbers = array.values.slice(array.offset * width, len(array) * width)
    if array.null_count or numbers.null_count:
        missing = array.is_null().to_numpy(zero_copy_only=False)
        x, y = (numbers.take(_every(width, k, len(array))) for k in (0, 1))
        return _with_nulls(x, y, missing, dimensions, parameter)
    values, _ = _piece(numbers, parameter.name, parameter)
    return values.reshape(-1, width)[:, :2]


def _every(width: int, first: int, n: int) -> pa.Array:
    import pyarrow as pa

    return pa.array(np.arange(first, n * width, width))


def _separated_points(array: pa.StructArray, parameter: Parameter) -> np.ndarray:
    """Return points of structs."""
    names = [field.name for field in array.type]
    pair = choose_pair(names, parameter)
    if {"x", "y"} < set(names) <= {"x", "y", "z", "m"}:
        _note_dimensions("".join(names), parameter)
    x, y = (array.field(i) for i in pair)
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return _with_nulls(x, y, missing, [names[i] for i in pair], parameter)


def _with_nulls(
    x: pa.Array, y: pa.Array, missing: np.ndarray | None, names: Sequence[str], parameter: Parameter
) -> np.ndarray:
    """Return two arrays as points; those of missing rows are NaN."""
    columns = []
    for name, array in zip(names, (x, y)):
        values, nulls = _piece(array, name, parameter)
        nulls = nulls if missing is None else missing if nulls is None else missing | nulls
        columns.append(Column(name, [(values, nulls)]))
    return interleaved(columns, parameter)


def _note_dimensions(dimensions: str, parameter: Parameter) -> None:
    left_out = [letter.upper() for letter in sorted(dimensions, reverse=True) if letter in "zm"]
    if left_out:
        dimensions_left_out(left_out, parameter)


def _parts_points(array: pa.Array, parameter: Parameter) -> PointsAndSizes:
    """Return points of lists of points, or of lists of such lists: GeoArrow's lines and polygons."""
    import pyarrow.compute as pc

    inner = array.flatten()
    points, sizes = _array_points(inner, parameter)
    rows = pc.list_parent_indices(array).to_numpy()
    rows = rows if sizes is None else np.repeat(rows, sizes)
    missing = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
    if len(missing):
        points, rows = with_missing(points.astype(np.result_type(points, np.float64), copy=False), rows, missing)
    return points, sizes_of(rows, len(array))
