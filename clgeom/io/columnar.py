"""Read points from Parquet and Arrow (Feather) files, and from the Arrow tables of other readers."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from clgeom.arguments import Parameter, wrong_file
from clgeom.core.messages import counted, shown
from clgeom.errors import InvalidInput
from clgeom.intake.interop.arrow import arrow_points, geometry_column
from clgeom.io.cloud import NO_GROUP, Cloud, Groups, Texts, groups_of_values
from clgeom.io.columns import Selection, check_exact, choose_columns, only_column, side_by_side
from clgeom.io.files import FilePath, Progress, is_stdin, opened, reading, suffix_of
from clgeom.io.layout import MissingNumber
from clgeom.io.numbers import EXACT, what_is_lost
from clgeom.optional import require

Z_LEFT_OUT = "z and m of the geometries were left out"
#: The reference system of a GeoParquet file that names none: longitude and latitude.
DEFAULT_CRS = "OGC:CRS84"


def columnar_clouds(
    path: FilePath, rows: int | None, selection: Selection, nan_if_empty: bool, progress: Progress | None
) -> Iterator[Cloud]:
    """Yield the points of a Parquet or Arrow file in parts of at most `rows` rows, all at once if it is None.

    Unless columns of x and y are requested, the points are those of the geometry column if there is one (GeoParquet,
    GeoArrow); otherwise the columns are found as in tables of text.
    """
    with _opened(path) as (schema, read):
        names = schema.names
        position = selection.other(path, names, len(names))
        geometry, crs = (None, None) if selection.columns is not None else _geometry_of(schema)
        if geometry is None:
            wanted = choose_columns(path, names, len(names), selection.columns, by=position)
        else:
            wanted = (geometry,)
        pair, other = tuple(names[i] for i in wanted), None if position is None else names[position]
        used = list(dict.fromkeys(name for name in (*pair, other) if name is not None))
        texts = [other] if selection.by is not None and _is_text(schema[position].type) else []
        for table in read(used, texts, rows, progress):
            if geometry is not None:
                yield cloud_of_geometries(path, table, names[geometry], selection, other, crs)
                continue
            numbers = [numbers_of(path, table[name], name, nan_if_empty=nan_if_empty) for name in pair]
            points = side_by_side(path, pair, numbers)
            yield Cloud(points, pair, *_groups_and_values(path, table, selection, other))


def read_arrow_column(path: FilePath, column: Any = None) -> np.ndarray:
    """Return one column of numbers, bools, dates or durations of a Parquet or Arrow file; times with a zone in UTC."""
    with _opened(path) as (schema, read):
        import pyarrow as pa

        names = schema.names
        name = names[only_column(path, names, len(names), column)]
        numbers = next(read([name]))[name]
        types, type = pa.types, numbers.type
        is_key = types.is_boolean(type) or types.is_date(type) or types.is_timestamp(type) or types.is_duration(type)
        return (_without_nulls if is_key else numbers_of)(path, numbers, name)


def read_rows(path: FilePath, choose: Any) -> tuple[Any, ...]:
    """Return (names, rows of texts, columns of numbers that the `Choice` chooses) of a Parquet or Arrow file.

    The text of a null is empty.
    """
    with _opened(path) as (schema, read):
        names = tuple(schema.names)
        (positions, _), table = choose(names, len(names)), next(read(list(names)))
        numbers = [numbers_of(path, table[names[position]], names[position]).tolist() for position in positions]
        texts = [["" if value is None else str(value) for value in column.to_pylist()] for column in table.columns]
        return names, [list(row) for row in zip(*texts)], numbers


@contextlib.contextmanager
def _opened(path: FilePath) -> Iterator[tuple[Any, Callable[..., Iterator[Any]]]]:
    """Yield the schema of a file and `_tables` of it; exceptions of PyArrow within the block become `InvalidInput`."""
    with reading(path):
        require("PyArrow", f"Reading '{path}'")
        import pyarrow as pa

        try:
            with opened(path) as (stream, _, _):
                file = pa.BufferReader(stream.getbuffer()) if is_stdin(path) else pa.OSFile(str(path))
                start = file.read(6)
                file.seek(0)
                if start.startswith(b"FEA1"):
                    raise wrong_file(path, "is of the first version of Feather: write it again by a newer PyArrow")
                if start.startswith(b"PAR1") or suffix_of(path) in (".parquet", ".geoparquet"):
                    from pyarrow import parquet

                    schema, batches = parquet.read_schema(file), _parquet_batches
                else:
                    open_ipc = pa.ipc.open_file if start == b"ARROW1" else pa.ipc.open_stream
                    schema, batches = open_ipc(file).schema, functools.partial(_ipc_batches, open_ipc)
                yield schema, functools.partial(_tables, path, file, schema, batches)
        except InvalidInput:
            raise
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            is_known = isinstance(error, pa.ArrowNotImplementedError)
            what = "cannot be read" if is_known else "is no Parquet or Arrow file, or it is damaged"
            raise InvalidInput(f"The file '{path}' {what}: {shown(' '.join(str(error).split()), 200)}") from error


def _tables(
    path: FilePath,
    file: Any,
    schema: Any,
    batches: Any,
    names: list[str],
    texts: Sequence[str] = (),
    rows: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Any]:
    """Yield tables of columns, those of `texts` as dictionaries: of at most `rows` rows, one of all if it is None."""
    import pyarrow as pa

    check_names(path, schema, names)
    file.seek(0)
    has_rows = False
    for batch, done, total in batches(file, schema, names, texts, rows):
        batch.validate(full=True)  # else a damaged file has indices and texts beyond its buffers
        table = batch if rows is None else pa.Table.from_batches([batch])
        for first in range(0, len(table), rows or max(len(table), 1)):
            has_rows = True
            yield table.slice(first, rows)
        if progress is not None:
            progress(done, total)
    if not has_rows:
        yield pa.schema([schema.field(name) for name in names]).empty_table()


def _parquet_batches(file: Any, _: Any, names: Any, texts: Any, rows: int | None) -> Iterator[tuple[Any, int, int]]:
    """Yield (batch, rows that are read so far, rows in all); one table if `rows` is None."""
    from pyarrow import parquet

    whole = parquet.ParquetFile(file, read_dictionary=texts, pre_buffer=rows is None)
    count, done = whole.metadata.num_rows, 0
    batches = [whole.read(columns=names)] if rows is None else whole.iter_batches(batch_size=rows, columns=names)
    for batch in batches:
        done += len(batch)
        yield batch, done, count


def _ipc_batches(
    open_ipc: Any, file: Any, schema: Any, names: Any, _: Any, rows: int | None
) -> Iterator[tuple[Any, int, int]]:
    """Yield (batch, part that is read so far, parts in all); one table if `rows` is None."""
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(included_fields=[schema.names.index(name) for name in names])
    with open_ipc(file, options=options) as reader:
        if rows is None:
            yield reader.read_all(), 1, 1
        elif isinstance(reader, pa.ipc.RecordBatchFileReader):
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number), number + 1, reader.num_record_batches
        else:
            for batch in reader:
                yield batch, file.tell(), file.size()


def check_names(path: FilePath, schema: Any, names: Any) -> None:
    """Raise `InvalidInput` if two columns have one of the names of those to be read."""
    for name in names:
        count = schema.names.count(name)
        if count > 1:
            raise wrong_file(path, f"has {count} columns named '{shown(name)}': rename all but one")


def _geometry_of(schema: Any) -> tuple[int | None, Any]:
    """Return (position of the column of geometries or None, reference system)."""
    position = geometry_column(schema)
    if position is None:
        return None, None
    column, metadata = schema.field(position), schema.metadata or {}
    try:
        if b"geo" in metadata:
            return position, _crs_text(json.loads(metadata[b"geo"])["columns"][column.name].get("crs", DEFAULT_CRS))
        return position, _crs_text(json.loads((column.metadata or {})[b"ARROW:extension:metadata"]).get("crs"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return position, None


def _crs_text(crs: Any) -> Any:
    """Return a reference system that is PROJJSON by its code, such as EPSG:25832, if it has one; else its text."""
    if not isinstance(crs, dict):
        return crs
    code = crs.get("id", {})
    return f"{code['authority']}:{code['code']}" if {"authority", "code"} <= set(code) else json.dumps(crs)


# Columns ----------------------------------------------------------------------------------------------------------


def cloud_of_geometries(path: FilePath, table: Any, geometry: str, selection: Selection, other: Any, crs: Any) -> Cloud:
    """Return all vertices of a column of geometries, each with the group or value of its row from another column."""
    points, rows, notes = _vertices(path, table[geometry])
    groups, values = _groups_and_values(path, table, selection, other)
    if rows is not None:
        groups = None if groups is None else replace(groups, numbers=groups.numbers[rows])
        values = None if values is None else values[rows]
    return Cloud(points, None, groups, values, crs, notes=notes)


def _groups_and_values(
    path: FilePath, table: Any, selection: Selection, other: Any
) -> tuple[Groups | None, np.ndarray | None]:
    groups = None if selection.by is None else groups_of(path, table[other], other)
    return groups, None if selection.value is None else numbers_of(path, table[other], other)


@dataclass(frozen=True)
class _Geometries(Parameter):
    """A column of geometries in a file, for messages and notes."""

    noted: list[str] = field(default_factory=list)

    def wrong(self, expected: str, got: str) -> InvalidInput:
        return InvalidInput(f"The geometries in '{self.name}' must {expected}. Got {got} instead.")

    def note(self, fact: str) -> None:
        self.noted.append(fact)


def _vertices(path: FilePath, column: Any) -> tuple[np.ndarray, np.ndarray | None, tuple[str, ...]]:
    """Return (points, the row of each or None if each row has one, notes) of a column of geometries.

    Notes say whether z or m were left out, and how many rows have no vertices.
    """
    source = _Geometries(os.fspath(path), "")
    found, sizes = arrow_points(column, source)
    points: np.ndarray = np.asarray(found, np.float64)
    notes: tuple[str, ...] = (Z_LEFT_OUT,) if source.noted else ()
    there = ~(np.isnan(points[:, 0]) & np.isnan(points[:, 1]))  # others are missing geometries, and empty points
    if sizes is None and there.all():
        return points, None, notes
    rows = np.arange(len(points)) if sizes is None else np.repeat(np.arange(len(sizes)), sizes)
    rows = rows[there]
    count = int(np.count_nonzero(np.bincount(rows, minlength=len(column)) == 0))
    if count:
        were = "was" if count == 1 else "were"
        notes += (f"{counted(count, 'row', 'rows')} without a readable geometry {were} left out",)
    return points[there], rows, notes


def _is_plain(type: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_integer(type) or pa.types.is_floating(type)


def numbers_of(path: FilePath, column: Any, name: str, *, nan_if_empty: bool = False) -> np.ndarray:
    """Return a column of numbers; decimals become integers if their type is of whole numbers, else float64."""
    import pyarrow as pa

    if pa.types.is_decimal(column.type):
        column = _from_decimals(path, column, name)
    if not _is_plain(column.type):
        raise InvalidInput(f"The column '{shown(name)}' of '{path}' must be numbers. Got {column.type} instead.")
    if nan_if_empty and column.null_count:
        if pa.types.is_integer(column.type):
            check_exact(path, column.drop_null().to_numpy(), np.float64, f"The column '{shown(name)}' of")
            column = column.cast(pa.float64())
        return column.to_numpy()  # a null is NaN
    return _without_nulls(path, column, name)


def _without_nulls(path: FilePath, column: Any, name: str) -> np.ndarray:
    if column.null_count:
        row = column.is_null().to_numpy().argmax() + 1
        fault = f"has a null in row {row:,} of '{shown(name)}': a number is missing"
        raise MissingNumber(str(wrong_file(path, fault)))
    return column.to_numpy()


def _from_decimals(path: FilePath, column: Any, name: str) -> Any:
    """Return a column of decimals as int64 or uint64 if they have no fractions, else as float64."""
    import pyarrow as pa

    if column.type.scale > 0:
        texts = column.cast(pa.string())  # Arrow's own cast to float64 rounds twice
        found = texts.cast(pa.float64())
        values = found.to_numpy()
        for row in np.flatnonzero(np.abs(values) >= EXACT).tolist():
            lost = what_is_lost(texts[row].as_py(), values[row].item())
            if lost:
                raise wrong_file(path, f"has {texts[row]} in row {row + 1:,} of '{shown(name)}', which {lost}")
        return found
    for type in (pa.int64(), pa.uint64()):
        with contextlib.suppress(pa.ArrowInvalid):
            return column.cast(type)
    raise InvalidInput(f"The column '{shown(name)}' of '{path}' must be whole numbers that a type of 64 bits holds.")


def groups_of(path: FilePath, column: Any, name: str) -> Groups:
    """Return the groups that a column of texts, integers, booleans or dates names; a null names none."""
    import pyarrow as pa

    types, type = pa.types, column.type
    has_null = types.is_dictionary(type) and any(chunk.dictionary.null_count for chunk in column.chunks)
    if types.is_dictionary(type) and (has_null or not _is_text(type.value_type)):
        column, type = column.cast(type.value_type), type.value_type
    if column.null_count:
        valid = column.is_valid()
        groups = groups_of(path, column.filter(valid), name)
        numbers = np.full(len(column), NO_GROUP)
        numbers[valid.to_numpy()] = groups.numbers
        return Groups(numbers, groups.names, name)
    if types.is_temporal(type) or types.is_decimal(type):
        column, type = column.cast(pa.string()), pa.string()
    if types.is_dictionary(type) or _is_text(type):
        texts = Texts()
        for chunk in column.chunks:
            coded = chunk if types.is_dictionary(chunk.type) else chunk.dictionary_encode()
            texts.add(coded.indices.to_numpy(zero_copy_only=False), coded.dictionary.to_pylist())
        return texts.groups(name, integers=False)
    if not (_is_plain(type) or types.is_boolean(type)):
        raise InvalidInput(f"The groups in '{path}' must be integers or text. Got {type} instead.")
    return groups_of_values(path, column.to_numpy(), name)


def _is_text(type: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return types.is_string(type) or types.is_large_string(type) or str(type) == "string_view"
