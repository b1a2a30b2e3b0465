"""Arrays, and columns of points, from NumPy files (.npy and .npz)."""

from __future__ import annotations

import contextlib
import lzma
import os
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.messages import listed, printable, shown
from clgeom.errors import InvalidInput
from clgeom.intake.interop.columns import KNOWN_PAIRS
from clgeom.intake.mapped import forget
from clgeom.io.cloud import Cloud, groups_of_values
from clgeom.io.columns import Selection, choose_columns, position_of, side_by_side
from clgeom.io.files import FilePath, Progress, reading, suffix_of

#: Exceptions of NumPy, zipfile and the decompressors for malformed files: a NumPy header is Python text, parsed to a
#: type and a shape; a member of a zip file may be encrypted, or compressed by any method.
MALFORMED = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, EOFError, RuntimeError, SyntaxError),
    *(tokenize.TokenError, struct.error, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)

#: First bytes of a .npy file, and words of NumPy's errors for files that end too early.
MAGIC = b"\x93NUMPY"
CUT_SHORT = ("EOF: reading", "greater than file size")
#: Least size in bytes of a .npy file that is mapped into memory instead of read.
MAP_FROM = 1 << 28


# Files ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def parsing(path: FilePath, what: Any) -> Iterator[Any]:
    """Turn exceptions for a malformed NumPy file within the block into `InvalidInput`, without warnings."""
    try:
        with reading(path), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of odd text in a header
            yield
    except InvalidInput:
        raise
    except MALFORMED as error:
        said = _first_line(error)
        if "Python objects" in said or "Object arrays" in said:  # NumPy's words for a mapped file, and for an archive
            facts = f"The file '{path}' holds Python objects, which clgeom does not load."
            raise InvalidInput(f"{facts} Save an array of numbers or text.") from error
        raise InvalidInput(f"The file '{path}' is not {what}: {said}") from error


def load_array(path: FilePath) -> np.ndarray:
    """Return the array of a .npy file, as `map_array`, but in memory if the file has less than `MAP_FROM` bytes."""
    values = map_array(path)
    return values if values.offset + values.nbytes >= MAP_FROM else np.array(values)


def map_array(path: FilePath) -> np.memmap:
    """Return the array of a .npy file, mapped to memory, never by unpickling.

    Raises
    ------
    InvalidInput
        The file cannot be read, is no array file, or is longer or shorter than its header says.
    """
    with parsing(path, "a NumPy array file"):
        with open(path, "rb") as file:
            start = file.read(8)
        if start[:2] == b"PK":
            raise ValueError("it holds several arrays (.npz).")
        if not start.startswith(MAGIC):
            raise ValueError("it is cut short." if MAGIC.startswith(start) else "it does not begin as one.")
        try:
            values = np.load(path, allow_pickle=False, mmap_mode="r")  # maps no more than the file has
        except ValueError as error:
            if any(words in str(error) for words in CUT_SHORT):
                raise ValueError(f"it is cut short ({_first_line(error)}).") from error
            raise
        size = os.path.getsize(path)
        if values.offset + values.nbytes != size:
            extra = size - values.offset - values.nbytes
            raise ValueError(f"it is {extra:,} bytes longer than its header says.")
        return values


class Archive:
    """The arrays of a .npz file by name; each is read at its access, never by unpickling."""

    def __init__(self, path: FilePath) -> None:
        self.path = path
        with parsing(path, "a NumPy archive"):
            with open(path, "rb") as file:
                start = file.read(6)
            if start == MAGIC:
                raise ValueError("it holds a single array (.npy).")
            if start.startswith(b"PK") and not zipfile.is_zipfile(path):  # whose list of members is at its end
                raise ValueError("it is cut short.")
            with zipfile.ZipFile(path) as archive:
                members = archive.namelist()
        self.names = [member.removesuffix(".npy") for member in members]
        self._members = dict(zip(self.names, members))
        if len(self._members) < len(members):
            raise wrong_file(path, "is not a NumPy archive: two of its arrays have one name")

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._members:
            raise wrong_file(self.path, f"has no array '{shown(name)}'. It has: {listed(self.names)}")
        with parsing(self.path, "a NumPy archive"), zipfile.ZipFile(self.path) as archive:
            with archive.open(self._members[name]) as member:
                values = np.lib.format.read_array(member, allow_pickle=False)
                if member.read(1):  # reading to the end checks the checksum
                    raise ValueError(f"the array '{shown(name)}' is longer than its header says.")
        return values


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return printable(text[0]) if text else type(error).__name__


# Points ---------------------------------------------------------------------------------------------------------


def read_numpy(path: FilePath, selection: Selection, array: str | None) -> Cloud:
    """Return the points of a NumPy file, with its groups or values; `array` as in `clgeom.io.points.read_cloud`."""
    by, value = selection.by, selection.value
    points, names, others, title = _read(path, selection.columns, by if value is None else value, array)
    if others is None:
        return Cloud(points, names)
    if by is not None:
        if others.shape != points.shape[:1]:
            raise InvalidInput(
                f"The groups '{by}' in '{path}' must be one for each of the {len(points)} points. "
                f"Got shape {others.shape} instead."
            )
        return Cloud(points, names, groups_of_values(path, others, title))
    if others.shape != points.shape[:1] or others.dtype.kind not in "biuf":
        raise InvalidInput(
            f"The column '{value}' of '{path}' must have a number for each of the {len(points):,} points. "
            f"Got {others.dtype} of shape {others.shape} instead."
        )
    return Cloud(points, names, values=others.astype(np.float64))


def npy_clouds(path: FilePath, rows: int, selection: Selection, progress: Progress | None) -> Iterator[Cloud]:
    """Yield the points of a .npy file, with their groups, in parts of at most `rows` points."""
    values = load_array(path)
    n = len(values) if values.ndim else 0
    for first in range(0, max(n, 1), rows):
        part = values[first : first + rows] if values.ndim else values
        points, names, groups, title = _points(path, part, selection.columns, selection.by)
        if isinstance(values, np.memmap):
            points = np.array(points)
        yield Cloud(points, names, None if groups is None else groups_of_values(path, groups, title))
        if isinstance(values, np.memmap) and values.flags.c_contiguous:
            row = values.strides[0]
            forget(values, first * row, (first + len(part)) * row)
        if progress is not None:
            progress(min(first + rows, n), n)


def _read(path: FilePath, columns: Sequence[str] | None, other: str | None, array: str | None) -> tuple[Any, ...]:
    """Return (points, names of x and y, the array or column `other`, its title) of a NumPy file.

    The points of an archive are one array, or two one-dimensional arrays.
    """
    if suffix_of(path) != ".npz":
        return _points(path, load_array(path), columns, other)
    archive = Archive(path)
    if other is None:
        return *_archived(archive, columns, array), None, ""
    if other not in archive.names and (array is not None or len(archive.names) == 1):
        return _points(path, archive[_array_of_points(archive, array)], columns, other)
    values = archive[other]
    rest = [name for name in archive.names if name != other]
    if array is None and columns is None and len(rest) == 1:
        array = rest[0]
    return *_archived(archive, columns, array), values, other


def _archived(archive: Archive, columns: Sequence[str] | None, array: str | None) -> tuple[Any, ...]:
    """Return the points of an archive, and the names of x and y."""
    if array is None and len(archive.names) > 1 and (columns is not None or "points" not in archive.names):
        return _two_arrays(archive, columns)
    return _points(archive.path, archive[_array_of_points(archive, array)], columns, None)[:2]


def _array_of_points(archive: Archive, array: str | None) -> str:
    """Return the name of the array of points: the requested one, the only one, or "points"."""
    if not archive.names:
        raise wrong_file(archive.path, "has no arrays")
    return array if array is not None else archive.names[0] if len(archive.names) == 1 else "points"


def _two_arrays(archive: Archive, columns: Sequence[str] | None) -> tuple[Any, ...]:
    """Return two one-dimensional arrays of an archive, side by side."""
    path, names = archive.path, archive.names
    if columns is None:
        lower = [name.lower() for name in names]
        if not any(all(name in lower for name in pair) for pair in KNOWN_PAIRS):
            raise wrong_file(path, f"has several arrays; name one (--array). It has: {listed(names)}")
    x, y = (names[position] for position in choose_columns(path, names, len(names), columns))
    return side_by_side(path, (x, y), (archive[x], archive[y])), (x, y)


def _shape_advice(shape: Any) -> str:
    """Return advice, for messages, about an array of points of this shape."""
    if len(shape) == 2 and shape[0] == 2:
        return " Transpose it: points.T has that shape."
    return " Choose two columns (--columns)." if len(shape) == 2 and shape[1] > 2 else ""


def _points(path: FilePath, values: Any, columns: Sequence[str] | None, by: str | None) -> tuple[Any, ...]:
    """Return (points, names of x and y, groups or None, their title) of a plain or structured array."""
    fields: Any = list(values.dtype.names) if values.dtype.names else None
    if fields is None and by is None and columns is None:
        if values.ndim != 2 or values.shape[1] != 2:
            advice = _shape_advice(values.shape)
            raise InvalidInput(f"The array in '{path}' must have shape (n, 2). Got {values.shape} instead.{advice}")
        return values, None, None, ""
    if values.ndim != (2 if fields is None else 1):
        dimensions = "two dimensions" if fields is None else "one dimension"
        raise InvalidInput(f"The array in '{path}' must have {dimensions}. Got shape {values.shape} instead.")
    width = values.shape[1] if fields is None else len(fields)
    column: Any = None if by is None else position_of(path, fields, width, by)
    pair = choose_columns(path, fields, width, columns, by=column)
    if fields is None:
        names, points = None, values[:, pair]
        groups, title = None if by is None else values[:, column], "group"
    else:
        names = fields[pair[0]], fields[pair[1]]
        points = side_by_side(path, names, [values[name] for name in names])
        groups, title = (None, "") if by is None else (values[fields[column]], fields[column])
    return points, names, groups, title
