"""Read numbers to sort from one column of a file, and write the sorted numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io.arrays import Archive, load_array
from clgeom.io.atomic import replacing
from clgeom.io.columns import position_of
from clgeom.io.files import reading
from clgeom.io.numbers import narrowest
from clgeom.io.tables import TABLES, line_of_row, read_blocks
from clgeom.runtime.messages import listed

INPUTS = (".npy", ".npz", *TABLES)
OUTPUTS = (".npy", ".csv", ".txt")
#: Numbers that are written at once.
AT_ONCE = 1 << 16


def read_numbers(path, *, column=None, array=None, progress=None) -> np.ndarray:
    """Return the numbers of one column of a file.

    Parameters
    ----------
    path : path-like
        A .npy or .npz file, or text with a number a line or a table (.csv, .tsv, .txt and the like); its rules are in
        `clgeom.io.tables`.
    column : str, optional
        Which column of a table, or of an array with two dimensions or fields: by name, or by number from 1.
    array : str, optional
        Which array of a .npz file; by default the only one.
    progress : callable, optional
        Called as progress(bytes_read, bytes_in_all) now and then while text is read.

    Returns
    -------
    ndarray, shape (n,)
        As stored for NumPy files. For text of whole numbers int64, or uint64 if they need it; float64 for other text.

    Raises
    ------
    InvalidInput
        For text that is no table of numbers, or has a whole number that the type of its column does not hold.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in INPUTS:
        raise InvalidInput(f"The file '{path}' must end in one of {', '.join(INPUTS)}.")
    if array is not None and suffix != ".npz":
        raise InvalidInput(f"The option --array is for .npz files. Got the file '{path}' instead.")
    if suffix in TABLES:
        return _of_table(path, column, progress)
    with reading(path):
        return _of_array(path, _load(path, suffix, array), column)


def _of_table(path, column, progress) -> np.ndarray:
    """Return one column of a table, in the narrowest type that holds it."""

    def choose(names, width):
        if column is None and width > 1:
            what = f"{width} columns" if names is None else f"the columns {listed(names)}"
            raise InvalidInput(f"The file '{path}' has {what}; name one (--column).")
        return (position_of(path, names, width, "1" if column is None else column),)

    texts = []
    for block in read_blocks(path, choose, progress=progress):
        texts += [field.strip(" \t") for field in block.texts(block.layout.columns[0])]
    return narrowest(path, texts, lambda row: line_of_row(path, row))


def _load(path, suffix, array) -> np.ndarray:
    """Return the array of a .npy file, or one of a .npz file."""
    if suffix == ".npy":
        return load_array(path)
    archive = Archive(path)
    if array is None and len(archive.names) != 1:
        raise InvalidInput(f"The file '{path}' has the arrays {listed(archive.names)}; name one (--array).")
    return archive[archive.names[0] if array is None else array]


def _of_array(path, values, column) -> np.ndarray:
    """Return one column of an array that has columns or fields, else the array."""
    names = values.dtype.names
    width = len(names) if names else values.shape[1] if values.ndim == 2 else None
    if names and values.ndim == 1:
        if column is None and width > 1:
            raise InvalidInput(f"The file '{path}' has the columns {listed(names)}; name one (--column).")
        return values[names[position_of(path, list(names), width, "1" if column is None else column)]]
    if values.ndim == 2 and (column is not None or width == 1):
        return values[:, position_of(path, None, width, "1" if column is None else column)]
    if values.ndim != 1 or column not in (None, "1"):
        shape = "shape (n,)" if column is None else "two dimensions for --column"
        raise InvalidInput(f"The array in '{path}' must have {shape}. Got {values.shape} instead.")
    return values


def write_numbers(path, keys, *, progress=None) -> None:
    """Write numbers to a .npy file, or one a line to a .csv or .txt file; whole or not at all.

    With every bit: text has as many digits as tell each number of its type from the others. NaN is "nan" there.
    ``progress(written, in_all)`` is called now and then, if given.
    """
    with replacing(path) as file:
        if Path(path).suffix.lower() == ".npy":
            np.save(file, keys)
            return
        for start in range(0, len(keys), AT_ONCE):
            file.writelines(f"{key}\n".encode() for key in keys[start : start + AT_ONCE])
            if progress is not None:
                progress(min(start + AT_ONCE, len(keys)), len(keys))
