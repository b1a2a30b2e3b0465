"""Points from NumPy files, .npy and .npz."""

from __future__ import annotations

import zipfile
import zlib

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io.columns import KNOWN_PAIRS, choose_columns

#: What numpy.load raises for files that are not what their names say.
MALFORMED = (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, SyntaxError, UnicodeError)

#: Bytes of a .npy file from which on it is not read before its points are wanted.
MAP_FROM = 1 << 28


def read_npy(path, *, columns=None) -> np.ndarray:
    """The array of a .npy file as (n, 2) points; a large file is mapped, not read."""
    try:
        large = path.stat().st_size >= MAP_FROM
        values = np.load(path, allow_pickle=False, mmap_mode="r" if large else None)
    except MALFORMED as error:
        raise InvalidInput(f"The file '{path}' is not a NumPy array file: {_first_line(error)}") from error
    if not isinstance(values, np.ndarray):
        raise InvalidInput(f"The file '{path}' is not a NumPy array file: it holds several arrays (.npz).")
    return _as_points(path, values, columns)


def read_npz(path, *, columns=None, array=None) -> np.ndarray:
    """One array of a .npz file, or two of its columns, as (n, 2) points."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array (.npy)")
            names = archive.files
            if array is not None:
                return _as_points(path, archive[_named(path, names, array)], columns)
            if columns is None and len(names) == 1:
                return _as_points(path, archive[names[0]], None)
            if columns is None and "points" in names:
                return _as_points(path, archive["points"], None)
            if len(names) > 1:
                return _joined(path, archive, names, columns)
            return _as_points(path, archive[names[0]] if names else np.empty((0, 2)), columns)
    except InvalidInput:
        raise
    except (*MALFORMED, AttributeError, TypeError) as error:
        raise InvalidInput(f"The file '{path}' is not a NumPy archive: {_first_line(error)}") from error


def _named(path, names, array):
    if array not in names:
        raise InvalidInput(f"The file '{path}' has no array '{array}'. It has: {', '.join(names)}.")
    return array


def _joined(path, archive, names, columns):
    """Two one-dimensional arrays of an archive, side by side."""
    if columns is None:
        lower = [name.lower() for name in names]
        if not any(all(name in lower for name in pair) for pair in KNOWN_PAIRS):
            raise InvalidInput(
                f"The file '{path}' has several arrays; name one (--array). It has: {', '.join(names)}."
            )
    x, y = (archive[names[i]] for i in choose_columns(path, names, len(names), columns))
    if x.ndim != 1 or x.shape != y.shape:
        raise InvalidInput(
            f"The columns of '{path}' must be two arrays of the same length. Got {x.shape} and {y.shape} instead."
        )
    return np.column_stack([x, y])


def _as_points(path, values, columns):
    """Two columns of a plain or structured array; shapes that are wrong are left to the public function's check."""
    if values.dtype.names:
        x, y = choose_columns(path, list(values.dtype.names), len(values.dtype.names), columns)
        return np.column_stack([values[values.dtype.names[x]], values[values.dtype.names[y]]])
    if columns is None:
        return values
    if values.ndim != 2:
        raise InvalidInput(
            f"The array in '{path}' must have two dimensions. Got shape {values.shape} instead."
        )
    return values[:, choose_columns(path, None, values.shape[1], columns)]


def _first_line(error) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
