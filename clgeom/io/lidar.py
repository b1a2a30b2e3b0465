"""Read points from LAS and LAZ files, with laspy."""

from __future__ import annotations

import contextlib
import math
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.messages import shown
from clgeom.errors import ClgeomError, InvalidInput
from clgeom.intake.interop.frames import DAMAGED, crs_of_header
from clgeom.io.cloud import Cloud, groups_of_values
from clgeom.io.columns import Selection, only_column, position_of
from clgeom.io.files import FilePath, Progress, opened, reading, suffix_of
from clgeom.optional import require

#: Points that are read at once.
AT_ONCE = 1 << 20
#: Most points in a chunk of a LAZ file that has fewer, and what stands for chunks of different sizes.
MOST_IN_CHUNK, VARIABLE = 1 << 22, (1 << 32) - 1
AXES = ("X", "Y", "Z")
NEGATIVE = "a scale of the file is not positive: the coordinates became float64"
#: The part of a compressed record that holds a dimension of LAS 1.4.
UNPACKED = {
    **{"x": "XY_RETURNS_CHANNEL", "y": "XY_RETURNS_CHANNEL", "z": "Z", "classification": "CLASSIFICATION"},
    **{"return_number": "XY_RETURNS_CHANNEL", "number_of_returns": "XY_RETURNS_CHANNEL", "intensity": "INTENSITY"},
    **{"user_data": "USER_DATA", "point_source_id": "POINT_SOURCE_ID", "gps_time": "GPS_TIME"},
}


def lidar_clouds(path: FilePath, rows: int | None, selection: Selection, progress: Progress | None) -> Iterator[Cloud]:
    """Yield the points of a LAS or LAZ file in parts of at most `rows` points, all at once if it is None.

    Columns are dimensions, by default X and Y. Points are the file's int32 numbers, with scale and offset; float64 if a
    scale is not positive. Values of X, Y and Z are in units of the reference system.
    """
    columns, by, value = selection.columns or AXES[:2], selection.by, selection.value
    with _opened(path, columns, by, value) as file:
        header, names = file.header, list(file.header.point_format.dimension_names)
        pair = [names[position_of(path, names, len(names), column)] for column in columns]
        if pair[0] == pair[1]:
            raise InvalidInput(f"The columns of x and y in '{path}' must be two. Got '{pair[0]}' for both instead.")
        position = selection.other(path, names, len(names))
        other = [] if position is None else [names[position]]
        crs = crs_of_header(header)
        (x_scale, x_offset), (y_scale, y_offset) = (_scale_of(path, header, name) for name in pair)
        scale, offset = (x_scale, y_scale), (x_offset, y_offset)
        for points, *found in _read(path, file, (*pair, *other), rows, progress):
            groups = None if by is None else groups_of_values(path, found[0], other[0])
            values = None if value is None else _scaled(path, header, other[0], found[0])
            if scale == (1, 1) and offset == (0, 0):
                yield Cloud(points, tuple(pair), groups, values, crs)
            elif not min(scale) > 0:
                yield Cloud(points * scale + offset, tuple(pair), groups, values, crs, notes=(NEGATIVE,))
            else:
                yield Cloud(points, tuple(pair), groups, values, crs, scale, offset)


def read_dimension(path: FilePath, name: str | None = None) -> np.ndarray:
    """Return one dimension of a LAS or LAZ file, shape (n,). X, Y and Z are scaled."""
    with _opened(path, (name,)) as file:
        header, names = file.header, list(file.header.point_format.dimension_names)
        name = names[only_column(path, names, len(names), name)]
        return _scaled(path, header, name, next(_read(path, file, (name, name), None, None))[0][:, 0])


@contextlib.contextmanager
def _opened(path: FilePath, *names: Any) -> Iterator[Any]:
    """Yield a laspy reader that unpacks the dimensions of these names; its errors become `InvalidInput`."""
    with reading(path):
        require("laspy", f"Reading '{path}'")
        import laspy

        if suffix_of(path) == ".laz" and not laspy.LazBackend.detect_available():
            require("lazrs", f"Reading '{path}'")
        with opened(path) as (file, _, _):
            _check_records(path, file)
            try:
                with laspy.open(file, decompression_selection=_selection(names), closefd=False) as reader:
                    _check_size(path, reader.header, file)
                    yield reader
            except ClgeomError:
                raise
            except BaseException as error:
                is_panic = type(error).__name__ == "PanicException"  # of lazrs, which is in Rust; no Exception
                if not (is_panic or isinstance(error, (laspy.errors.LaspyException, *DAMAGED))):
                    raise
                said = shown(" ".join(str(error).split()), 200)
                raise wrong_file(path, f"is no LAS file, or it is damaged or cut short: {said}") from error


def _selection(names: Any) -> Any:
    """Return which dimensions to unpack: those asked for, if each is named as LAS 1.4 does, else all."""
    from laspy import DecompressionSelection as Selection

    found = Selection.XY_RETURNS_CHANNEL
    for name in (name for some in names if some for name in ((some,) if isinstance(some, str) else some)):
        wanted = str(name).strip().lower()
        if wanted not in UNPACKED:
            return Selection.all()
        found |= getattr(Selection, UNPACKED[wanted])
    return found


def _check_records(path: FilePath, file: Any) -> None:
    """Raise `InvalidInput` if a file is too small for the variable length records that its header counts.

    laspy would read each of them, also beyond the end of the file.
    """
    header = file.read(375)
    size = file.seek(0, 2)
    file.seek(0)
    if header[:4] != b"LASF" or len(header) < 227:
        return
    (records,) = struct.unpack_from("<I", header, 100)
    (extended,) = struct.unpack_from("<I", header, 243) if header[25] >= 4 and len(header) == 375 else (0,)
    if records * 54 + extended * 60 > size:
        raise wrong_file(
            path,
            f"is damaged or cut short: it has {size:,} bytes, for {records + extended:,} records besides its points",
        )


def _check_size(path: FilePath, header: Any, file: Any) -> None:
    """Raise `InvalidInput` if a file has fewer points than its header says, or fewer bytes than chunks of points."""
    here = file.tell()
    size = file.seek(0, 2)
    chunks = _chunk_count(file, header.offset_to_point_data) if header.are_points_compressed else 0
    file.seek(here)
    # lazrs would ask for memory for all chunks, and for one, and end the process where there is none
    if chunks > size:
        raise wrong_file(path, f"is damaged: it has {size:,} bytes, for {chunks:,} chunks of points")
    most = max(header.point_count, MOST_IN_CHUNK)
    if header.are_points_compressed and most < (points := _points_in_chunk(header)) < VARIABLE:
        raise wrong_file(path, f"is damaged: it has {header.point_count:,} points, in chunks of {points:,}")
    has = (size - header.offset_to_point_data) // header.point_format.size
    if has < header.point_count and not header.are_points_compressed:
        raise _cut_short(path, max(has, 0), header.point_count)


def _points_in_chunk(header: Any) -> int:
    """Return the number of points in a chunk of a LAZ file, by its record; 0 where it does not say."""
    for record in header.vlrs:
        if record.record_id == 22204 and record.user_id == "laszip encoded":
            data = record.record_data_bytes()
            return int(struct.unpack_from("<I", data, 12)[0]) if len(data) >= 16 else 0
    return 0


def _chunk_count(file: Any, start: Any) -> int:
    """Return the number of chunks that a LAZ file says it has; 0 where it does not say."""
    file.seek(start)
    (place,) = struct.unpack("<q", file.read(8))
    if place == -1:  # written in one pass: the place of the table is at the end
        file.seek(-8, 2)
        (place,) = struct.unpack("<q", file.read(8))
    if place < 0:
        return 0
    file.seek(place)
    table = file.read(8)
    return struct.unpack("<II", table)[1] if len(table) == 8 else 0


def _cut_short(path: FilePath, has: Any, count: int) -> InvalidInput:
    return wrong_file(path, f"is cut short: it has {has:,} points, and its header says {count:,}")


def _read(path: FilePath, file: Any, names: Any, rows: int | None, progress: Progress | None) -> Iterator[Any]:
    """Yield the first two dimensions as an array of shape (n, 2), and each other one; all points if `rows` is None."""
    parts = _dimensions(path, file, names, min(rows or AT_ONCE, AT_ONCE), progress)
    if rows is not None:
        for x, y, *others in parts:
            yield np.column_stack([x, y]), *others
        return
    count, start, arrays = file.header.point_count, 0, list[np.ndarray]()
    for x, y, *others in parts:
        if not arrays:
            arrays = [np.empty((count, 2), np.result_type(x, y)), *(np.empty(count, other.dtype) for other in others)]
        stop = start + len(x)
        arrays[0][start:stop, 0] = x
        arrays[0][start:stop, 1] = y
        for array, other in zip(arrays[1:], others):
            array[start:stop] = other
        start = stop
    yield arrays


def _dimensions(path: FilePath, file: Any, names: Any, rows: int, progress: Progress | None) -> Iterator[Any]:
    """Yield the dimensions of these names, of at most `rows` points at a time; empty ones of a file without points."""
    done, count = 0, file.header.point_count
    for chunk in file.chunk_iterator(rows) if count else ():
        found = [np.asarray(chunk[name]) for name in names]
        for name, values in zip(names, found):
            if values.ndim > 1:
                raise InvalidInput(f"The dimension '{shown(name)}' of '{path}' has several numbers for each point.")
        done += len(chunk)
        yield found
        if progress is not None:
            progress(done, count)
    if done < count:
        raise _cut_short(path, done, count)
    if not count:
        yield [np.empty(0, np.int32 if position < 2 else int) for position in range(len(names))]


def _scale_of(path: FilePath, header: Any, name: str) -> tuple[Any, ...]:
    """Return (scale, offset) of a dimension: those of the header for X, Y and Z."""
    if name not in AXES:
        return 1.0, 0.0
    axis = AXES.index(name)
    scale, offset = float(header.scales[axis]), float(header.offsets[axis])
    if not math.isfinite(2.0**31 * abs(scale) + abs(offset)):
        raise InvalidInput(
            f"The scale and the offset of {name} in '{path}' must give finite coordinates. Got {scale!r} and "
            f"{offset!r} instead."
        )
    return scale, offset


def _scaled(path: FilePath, header: Any, name: str, values: np.ndarray) -> Any:
    """Return a dimension in its unit: X, Y and Z as float64, any other as it is."""
    scale, offset = _scale_of(path, header, name)
    return values * scale + offset if name in AXES else values
