"""Points from a file, whatever its format."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io import arrays, text

READERS = {
    ".npy": arrays.read_npy,
    ".npz": arrays.read_npz,
    ".csv": text.read_text,
    ".tsv": text.read_text,
    ".tab": text.read_text,
    ".txt": text.read_text,
    ".xy": text.read_text,
    ".xyz": text.read_text,
}


def read_points(path, *, columns=None, array=None, progress=None) -> np.ndarray:
    """Read 2D points from a file.

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
    The first line of a table that is not a comment (#) is a header if none of its fields is a number. A number is what
    Python's ``float`` takes, in ASCII and without underscores; an integer that float64 cannot hold is an error. A
    quoted field ends in its line.
    """
    return read_named_points(path, columns=columns, array=array, progress=progress)[0]


def read_named_points(path, *, columns=None, array=None, progress=None):
    """As `read_points`, with the names of the two columns.

    Returns
    -------
    points : ndarray, shape (n, 2)
    names : pair of str or None
        None where the columns have no names: in a table without a header, or a plain array.
    """
    path = Path(path)
    reader = reader_of(path, columns, array, caller="read_points")
    if reader is arrays.read_npz:
        return reader(path, columns=columns, array=array)
    if reader is arrays.read_npy:
        return reader(path, columns=columns)
    return reader(path, columns=columns, progress=progress)


@contextlib.contextmanager
def saying_where(path, *, columns=None, by=None):
    """What functions say of a point that is not finite is said of the file that the points were read from."""
    try:
        yield
    except InvalidInput as error:
        if not hasattr(error, "row"):
            raise
        where = f"at index [{error.row}, {error.column}]"
        if READERS[Path(path).suffix.lower()] is text.read_text:
            where = f"in line {text.line_of_row(path, error.row, columns=columns, by=by)}"
        raise InvalidInput(
            f"The points in '{path}' must be finite. Got {error.value} {where} instead "
            "(--nonfinite drop leaves such points out)."
        ) from error


def read_valued_points(path, value, *, columns=None, array=None):
    """As `read_named_points`, with the numbers of one more column.

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
    reader = reader_of(path, columns, array, caller="read_valued_points")
    if reader is text.read_text:
        points, names, texts, _ = text.read_grouped_text(path, value, columns=columns)
        return points, names, text.numbers_of(path, texts, value)
    if reader is arrays.read_npz:
        points, names, values, _ = arrays.read_grouped_npz(path, value, columns=columns, array=array)
    else:
        points, names, values, _ = arrays.read_grouped_npy(path, value, columns=columns)
    if values.shape != points.shape[:1] or values.dtype.kind not in "biuf":
        raise InvalidInput(
            f"The column '{value}' of '{path}' must have a number for each of the {len(points):,} points. "
            f"Got {values.dtype} of shape {values.shape} instead."
        )
    return points, names, values.astype(np.float64)


def reader_of(path, columns, array, *, caller):
    """The function that reads a file of this name; `InvalidInput` where there is none, or it takes no such options."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InvalidInput(f"The file '{path}' must end in one of {', '.join(READERS)}.")
    if columns is not None and len(columns) != 2:
        raise InvalidInput(f"The 'columns' parameter of {caller} must name two columns. Got {columns!r} instead.")
    if array is not None and reader is not arrays.read_npz:
        raise InvalidInput(f"The 'array' parameter of {caller} is for .npz files. Got the file '{path}' instead.")
    return reader
