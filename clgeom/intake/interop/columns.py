"""Conversion of columns of numbers to arrays of points or of values.

A column consists of pieces: pairs of an array of numbers and a mask of the missing ones, which is None if none is
missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.core.messages import listed, shown
from clgeom.intake.interop.parameter import Parameter

LONGITUDES, LATITUDES = ("lon", "lng", "long", "longitude"), ("lat", "latitude")
#: Names of x and y that are found by default, the preferred pair first; compared in lower case.
KNOWN_PAIRS = (
    *((x, y) for y in LATITUDES for x in LONGITUDES),
    ("x", "y"),
    ("easting", "northing"),
    ("east", "north"),
    ("e", "n"),
    ("point_x", "point_y"),
)
#: Largest integer up to which all are exact in float64.
LARGEST_EXACT = 1 << 53


@dataclass(frozen=True)
class Column:
    """The numbers of a column in pieces: arrays of numbers, each with the mask of the missing ones or None."""

    name: str
    pieces: Sequence[tuple[np.ndarray, np.ndarray | None]]

    def __len__(self) -> int:
        return sum(len(values) for values, _ in self.pieces)

    @property
    def has_missing(self) -> bool:
        return any(missing is not None for _, missing in self.pieces)

    def types(self) -> list[np.dtype]:
        return [values.dtype for values, _ in self.pieces] or [np.dtype(np.float64)]


def choose_pair(names: Sequence[str], parameter: Parameter, others: str = "") -> tuple[int, int]:
    """Return the positions of the columns of x and y: those with names of `KNOWN_PAIRS`, or the only two columns.

    The only two columns are also taken where the parameter is `in_order`.

    `others` names other columns that the table could have, for the message.
    """
    pair = known_pair(names)
    if len(names) == 2 and (pair is None or parameter.in_order):
        return 0, 1
    if pair is None:
        expected = f"two columns, columns named x and y (or lon and lat, or easting and northing){others}"
        raise parameter.wrong(f"have {expected}", f"columns {listed(names)}" if len(names) else "no columns")
    return pair


def known_pair(names: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of two columns with names of `KNOWN_PAIRS`, None unless there is exactly one such pair."""
    lower = [str(name).strip().lower() for name in names]
    for pair in KNOWN_PAIRS:
        if all(lower.count(name) == 1 for name in pair):
            return lower.index(pair[0]), lower.index(pair[1])
    return None


def interleaved(columns: Iterable[Column], parameter: Parameter) -> np.ndarray:
    """Return columns x and y as points, shape (n, 2), of a type that holds all numbers. A missing number is NaN."""
    x, y = columns
    if len(x) != len(y):
        raise parameter.wrong("have columns of one length", f"{len(x)} and {len(y)}")
    for column in (x, y):
        for dtype in column.types():
            if dtype.kind not in "iuf":
                raise parameter.wrong("have columns of numbers", f"{dtype} in column '{shown(column.name)}'")
        for values, _ in column.pieces:
            if values.ndim != 1:
                got = f"{values.dtype} of shape {values.shape} in column '{shown(column.name)}'"
                raise parameter.wrong("have one number in each row of a column", got)
    dtype = np.result_type(*x.types(), *y.types())
    if (x.has_missing or y.has_missing) and dtype.kind != "f":
        dtype = np.dtype(np.float64)
    points = np.empty((len(x), 2), dtype)
    for out, column in zip(points.T, (x, y)):
        start = 0
        for values, missing in column.pieces:
            if dtype.kind == "f":
                _refuse_inexact(values, missing, start, column.name, parameter)
            part = out[start : start + len(values)]
            part[...] = values
            if missing is not None:
                part[missing] = np.nan
            start += len(values)
    return points


def _refuse_inexact(
    values: np.ndarray, missing: np.ndarray | None, start: int, name: str, parameter: Parameter
) -> None:
    """Refuse integers that are not exact in float64."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return
    beyond = values > LARGEST_EXACT
    if values.dtype.kind == "i":
        beyond |= values < -LARGEST_EXACT
    if missing is not None:
        beyond &= ~missing
    if beyond.any():
        k = int(np.argmax(beyond))
        got = f"{values[k]} at [{start + k}] of column '{shown(name)}'"
        raise parameter.wrong("hold integers within 2**53 beside floats and missing numbers", got)


def joined(column: Column, parameter: Parameter) -> np.ndarray:
    """Return a column as one array; no copy of one piece. Missing floats are NaN; other types may not be missing."""
    pieces, start = [], 0
    for values, missing in column.pieces:
        if missing is not None:
            if values.dtype.kind != "f":
                first, count = (
                    start + int(np.argmax(missing)),
                    sum(int(m.sum()) for _, m in column.pieces if m is not None),
                )
                raise parameter.wrong("have no missing entries", f"{count} of them, the first at [{first}]")
            values = np.where(missing, values.dtype.type(np.nan), values)
        pieces.append(values)
        start += len(values)
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces) if pieces else np.empty(0)


# Structured arrays ----------------------------------------------------------------------------------------------


def structured_points(array: np.ndarray, parameter: Parameter) -> np.ndarray:
    """Return two fields of a structured array, shape (n,), as points; no copy if it has no other fields."""
    names = list(array.dtype.names or ())
    if array.ndim != 1:
        raise parameter.wrong("have shape (n,) if it is a structured array", f"{array.shape}")
    pair = choose_pair(names, parameter)
    x, y = (array[names[position]] for position in pair)
    if isinstance(array, np.ma.MaskedArray):
        points = interleaved((Column(names[p], [(np.ma.getdata(v), None)]) for p, v in zip(pair, (x, y))), parameter)
        return np.ma.MaskedArray(points, np.column_stack([np.ma.getmaskarray(x), np.ma.getmaskarray(y)]))
    field = x.dtype
    fields: Mapping[str, tuple[Any, ...]] = array.dtype.fields or {}
    if field == y.dtype and field.kind in "iuf" and array.dtype.itemsize == 2 * field.itemsize and pair == (0, 1):
        offsets = [fields[name][1] for name in names]
        if offsets == [0, field.itemsize] and array.flags.c_contiguous:
            return np.ndarray.view(array, np.ndarray).view(field).reshape(-1, 2)
    return interleaved((Column(names[p], [(v, None)]) for p, v in zip(pair, (x, y))), parameter)


def column_of_counts(*numbers: int | None) -> np.ma.MaskedArray:
    """Return the counts as a column, masked where a count is None."""
    missing = [number is None for number in numbers]
    return np.ma.MaskedArray([number or 0 for number in numbers], missing, np.int64)
