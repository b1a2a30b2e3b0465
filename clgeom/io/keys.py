"""Read numbers to sort from one column of a file, and write the sorted numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import listed, shown
from clgeom.errors import InvalidInput
from clgeom.io.arrays import Archive, load_array
from clgeom.io.atomic import replacing
from clgeom.io.columns import only_column
from clgeom.io.files import FilePath, Progress, check_selection, kind_of, reading
from clgeom.io.layout import Choice, RoundedInteger, wrong_number
from clgeom.io.numbers import WHOLE, is_number
from clgeom.io.tables import Told, line_of_row, read_blocks

OUTPUTS = (".npy", ".csv", ".txt")
#: Numbers that are written at a time.
AT_ONCE = 1 << 16


@keeps_subnormals
def read_numbers(
    path: FilePath,
    *,
    column: str | None = None,
    array: str | None = None,
    layer: str | None = None,
    progress: Progress | None = None,
    told: Told | None = None,
) -> np.ndarray:
    """Return the numbers of one column of a file, of any kind that `clgeom.io.points.read_points` takes.

    Text has a number a line, or is a table; it is read as int64 if all numbers are whole, uint64 if they need it, else
    float64. Other files have the numbers as stored. `column` is that of a table, of an array with two dimensions or
    fields, or of the attributes of a vector file. ``told(layout)`` is called with the `Layout` of a table of text.
    """
    kind = kind_of(path)
    check_selection(path, kind, array, layer, "The option --{}")
    if kind == "table":
        return _of_table(path, column, progress, told)
    if kind == "arrow":
        from clgeom.io.columnar import read_arrow_column

        return read_arrow_column(path, column)
    if kind == "lidar":
        from clgeom.io.lidar import read_dimension

        return read_dimension(path, column)
    if kind == "layer":
        from clgeom.io.layers import read_attribute

        return read_attribute(path, column, layer=layer)
    with reading(path):
        return _of_array(path, _load(path, Path(path).suffix.lower(), array), column)


def _of_table(path: FilePath, column: str | None, progress: Progress | None, told: Told | None) -> np.ndarray:
    """Return one column of a table, in the narrowest type that holds it."""

    def choose(names: Any, width: int) -> tuple[Any, ...]:
        return (only_column(path, names, width, column),), None

    parts = []
    for block in read_blocks(path, choose, progress=progress, told=told):
        part = block.integers()
        if part is None:
            return _floats(path, choose, progress)
        parts.append(part)
    return _joined(path, [part for part in parts if len(part)])


def _joined(path: FilePath, parts: list[np.ndarray]) -> np.ndarray:
    """Return whole numbers of blocks as int64, or as uint64 if they need it."""
    if not parts:
        return np.empty(0)
    low, high = min(int(part.min()) for part in parts), max(int(part.max()) for part in parts)
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return np.concatenate([part.astype(dtype, copy=False) for part in parts])

    def line(number: int) -> int:
        return line_of_row(path, [integer for part in parts for integer in part.tolist()].index(number))

    if low < -(1 << 63) or high >= 1 << 64:
        beyond = low if low < -(1 << 63) else high
        raise wrong_file(path, f"has a whole number beyond 64 bits in line {line(beyond)}")
    raise wrong_file(
        path,
        f"has whole numbers of which no type holds all: {low} in line {line(low)} needs int64, {high} in line "
        f"{line(high)} needs uint64",
    )


def _floats(path: FilePath, choose: Choice, progress: Progress | None) -> np.ndarray:
    """Return one column of a table that has a number which is not whole."""
    try:
        return np.concatenate([block.floats()[:, 0] for block in read_blocks(path, choose, progress=progress)])
    except RoundedInteger as error:
        for block in read_blocks(path, choose):
            for line, text, fields in block.rows():
                field = fields[block.layout.columns[0]]
                if not is_number(field):
                    raise wrong_number(path, line, field, "a number", text) from None
                if not WHOLE.fullmatch(field):
                    raise wrong_file(
                        path,
                        f"has a whole number in line {error.line} that float64 would round, and '{shown(field)}' in "
                        f"line {line}, which no type of whole numbers holds",
                    ) from None
        raise


def _load(path: FilePath, suffix: str, array: str | None) -> np.ndarray:
    """Return the array of a .npy file, or one of a .npz file."""
    if suffix == ".npy":
        return load_array(path)
    archive = Archive(path)
    if array is None and len(archive.names) != 1:
        raise wrong_file(path, f"has the arrays {listed(archive.names)}; name one (--array)")
    return archive[archive.names[0] if array is None else array]


def _of_array(path: FilePath, values: np.ndarray, column: str | None) -> np.ndarray:
    """Return one column of an array that has columns or fields, else the array."""
    names: Any = values.dtype.names
    width: Any = len(names) if names else values.shape[1] if values.ndim == 2 else None
    if names and values.ndim == 1:
        return values[names[only_column(path, list(names), width, column)]]
    if values.ndim == 2 and (column is not None or width == 1):
        return values[:, only_column(path, None, width, column)]
    if values.ndim != 1 or column is not None:
        shape = "shape (n,)" if column is None else "two dimensions for --column"
        raise InvalidInput(f"The array in '{path}' must have {shape}. Got {values.shape} instead.")
    return values


@keeps_subnormals
def write_numbers(path: FilePath, keys: Any, *, progress: Progress | None = None) -> None:
    """Write numbers to a .npy file, or one a line to a .csv or .txt file; whole or not at all.

    No bit is lost: text has as many digits as distinguish all numbers of the type. NaN is "nan". ``progress(written,
    in_all)`` is called now and then, if given.
    """
    with replacing(path) as file:
        if Path(path).suffix.lower() == ".npy":
            np.save(file, keys)
            return
        for start in range(0, len(keys), AT_ONCE):
            file.writelines(f"{key}\n".encode() for key in keys[start : start + AT_ONCE])
            if progress is not None:
                progress(min(start + AT_ONCE, len(keys)), len(keys))
