"""Read points from a table of text or a NumPy file."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io import arrays
from clgeom.io.columns import choose_columns, position_of
from clgeom.io.tables import TABLES, line_of_row, read_blocks

#: Endings of files that points are read from.
READERS = (".npy", ".npz", *TABLES)


def read_points(path, *, columns=None, array=None, progress=None) -> np.ndarray:
    """Return the 2D points of a file.

    Parameters
    ----------
    path : path-like
        A NumPy file (.npy, .npz) or a table as text (.csv, .tsv, .txt and the like).
    columns : pair of str, optional
        Which columns hold x and y, by name or by number, the first being 1. By default those with a name like
        lon and lat, x and y, easting and northing; else the only two; else, without a header, the first two.
    array : str, optional
        Which array of a .npz file; by default the only one, or the one named "points".
    progress : callable, optional
        Called as progress(bytes_read, bytes_in_all) now and then while text is read.

    Returns
    -------
    numpy.ndarray, shape (n, 2)
        float64 for text, as stored for NumPy files.

    Raises
    ------
    InvalidInput
        The file cannot be read; names the line of the first malformed row.

    Notes
    -----
    What a table of text may hold, and when its first line is a header, is in `clgeom.io.tables`. A number is what
    Python's ``float`` takes, in ASCII and without underscores; an integer that float64 cannot hold is an error.
    """
    return read_named_points(path, columns=columns, array=array, progress=progress)[0]


def read_named_points(path, *, columns=None, array=None, progress=None):
    """Return the points of a file as `read_points` does, and the names of the two columns.

    Returns
    -------
    points : ndarray, shape (n, 2)
    names : pair of str or None
        None where the columns have no names: in a table without a header, or a plain array.
    """
    path = Path(path)
    check_points_file(path, columns, array, caller="read_points")
    if is_table(path):
        values, names, _, _ = read_columns(path, columns=columns, progress=progress)
        return values, names
    if path.suffix.lower() == ".npz":
        return arrays.read_npz(path, columns=columns, array=array)
    return arrays.read_npy(path, columns=columns)


@contextlib.contextmanager
def saying_where(path):
    """Let errors about a nonfinite point name its file and line."""
    try:
        yield
    except InvalidInput as error:
        if not hasattr(error, "row"):
            raise
        place = place_of(path, error.row, error.column)
        raise InvalidInput(
            f"The points in '{path}' must be finite. Got {error.value} {place} instead "
            "(--nonfinite drop leaves such points out)."
        ) from error


def place_of(path, row, column) -> str:
    """Return where in its file a coordinate is, for messages: "in line 4" of a table, "at index [2, 0]" of an array."""
    return f"in line {line_of_row(path, row)}" if is_table(path) else f"at index [{row}, {column}]"


def read_valued_points(path, value, *, columns=None, array=None, progress=None):
    """Return the points of a file as `read_named_points` does, and the numbers of one more column.

    Parameters
    ----------
    value : str
        The column of numbers, by name or by number, the first being 1; or an array of a .npz file.

    Returns
    -------
    points : ndarray, shape (n, 2)
    names : pair of str or None
    values : ndarray of float64, shape (n,)
    """
    path = Path(path)
    check_points_file(path, columns, array, caller="read_valued_points")
    if is_table(path):
        values, names, _, _ = read_columns(path, columns=columns, value=value, progress=progress)
        return np.ascontiguousarray(values[:, :2]), names, np.ascontiguousarray(values[:, 2])
    if path.suffix.lower() == ".npz":
        points, names, values, _ = arrays.read_grouped_npz(path, value, columns=columns, array=array)
    else:
        points, names, values, _ = arrays.read_grouped_npy(path, value, columns=columns)
    if values.shape != points.shape[:1] or values.dtype.kind not in "biuf":
        raise InvalidInput(
            f"The column '{value}' of '{path}' must have a number for each of the {len(points):,} points. "
            f"Got {values.dtype} of shape {values.shape} instead."
        )
    return points, names, values.astype(np.float64)


def is_table(path) -> bool:
    """Return whether a file of this name is a table of text."""
    return Path(path).suffix.lower() in TABLES


def check_points_file(path, columns, array, *, caller):
    """Raise `InvalidInput` if the ending of a file is unknown, or does not allow these options."""
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise InvalidInput(f"The file '{path}' must end in one of {', '.join(READERS)}.")
    if columns is not None and len(columns) != 2:
        raise InvalidInput(f"The 'columns' parameter of {caller} must name two columns. Got {columns!r} instead.")
    if array is not None and suffix != ".npz":
        raise InvalidInput(f"The 'array' parameter of {caller} is for .npz files. Got the file '{path}' instead.")


def read_columns(path, *, columns=None, value=None, by=None, progress=None):
    """Return the columns of x and y of a table, and one more.

    Parameters
    ----------
    path : path-like
    columns : pair of str, optional
        As for `read_points`.
    value : str, optional
        One more column of numbers.
    by : str, optional
        One more column of text.

    Returns
    -------
    values : ndarray of float64, shape (n, 2) or (n, 3)
        x, y and the values.
    names : pair of str or None
        Of the columns of x and y, None where there is no header.
    texts : list of str
        The fields of the column `by`; empty without it.
    title : str
        Its name, "group" where it has none.
    """
    layout, text_column, values, texts = None, None, [], []

    def choose(names, width):
        nonlocal text_column
        other = (
            None if value is None and by is None else position_of(path, names, width, by if value is None else value)
        )
        text_column = None if by is None else other
        pair = choose_columns(path, names, width, columns, by=other)
        return pair if value is None else (*pair, other)

    missing = "a coordinate" if value is None else "a number"
    for block in read_blocks(path, choose, missing=missing, progress=progress):
        layout = block.layout
        values.append(block.floats())
        if by is not None:
            texts += block.texts(text_column)
    names, title = None, "group"
    if layout is not None and layout.names is not None:
        names = tuple(layout.names[column] for column in layout.columns[:2])
        title = title if text_column is None else layout.names[text_column] or title
    return np.concatenate(values) if values else np.empty((0, 2 + (value is not None))), names, texts, title
