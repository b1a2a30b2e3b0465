"""Read numbers to sort from one column of a file, and write the sorted numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import listed
from clgeom.errors import InvalidInput
from clgeom.io.arrays import Archive, load_array
from clgeom.io.atomic import replacing
from clgeom.io.columns import position_of
from clgeom.io.files import FilePath, Progress, check_selection, kind_of, reading
from clgeom.io.numbers import EXACT, narrowest
from clgeom.io.tables import line_of_row, read_blocks

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
    told: Any = None,
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


def _of_table(path: FilePath, column: str | None, progress: Progress | None, told: Any) -> np.ndarray:
    """Return one column of a table, in the narrowest type that holds it."""

    def choose(names: Any, width: int) -> tuple[Any, ...]:
        if column is None and width > 1:
            what = f"{width} columns" if names is None else f"the columns {listed(names)}"
            raise wrong_file(path, f"has {what}; name one (--column)")
        return (position_of(path, names, width, "1" if column is None else column),), None

    parts = []
    for number, block in enumerate(read_blocks(path, choose, progress=progress)):
        if number == 0 and told is not None:
            told(block.layout)
        part = block.integers_or_floats()
        if part is None:
            return _of_texts(path, choose, progress)
        parts.append(part)
    found = _together(parts)
    return _of_texts(path, choose, progress) if found is None else found


def _together(parts: Any) -> np.ndarray | None:
    """Return numbers of blocks as one array, of the narrowest type; None if a type does not hold all.

    A zero among integers may be written -0, which is another float64.
    """
    parts = [part for part in parts if len(part)]
    kinds = {part.dtype.kind for part in parts}
    if not parts or len(kinds) == 1:
        return np.concatenate(parts) if parts else None
    if kinds == {"i", "u"} and all(part.min() >= 0 for part in parts):
        return np.concatenate([part.astype(np.uint64) for part in parts])
    if kinds == {"i", "f"} and all(_is_exact(part) for part in parts if part.dtype.kind == "i"):
        return np.concatenate([part.astype(np.float64) for part in parts])
    return None


def _is_exact(integers: Any) -> bool:
    return bool(((integers != 0) & (-EXACT < integers) & (integers < EXACT)).all())


def _of_texts(path: FilePath, choose: Any, progress: Progress | None) -> np.ndarray:
    texts = []
    for block in read_blocks(path, choose, progress=progress):
        texts += block.texts(block.layout.columns[0])
    return narrowest(path, texts, lambda row: line_of_row(path, row))


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
        if column is None and width > 1:
            raise wrong_file(path, f"has the columns {listed(names)}; name one (--column)")
        return values[names[position_of(path, list(names), width, "1" if column is None else column)]]
    if values.ndim == 2 and (column is not None or width == 1):
        return values[:, position_of(path, None, width, "1" if column is None else column)]
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
