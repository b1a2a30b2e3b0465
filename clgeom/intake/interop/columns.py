"""Conversion of columns to points: arrays of numbers, masked arrays where some are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clgeom.arguments import Parameter
from clgeom.core.messages import listed, shown

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


def interleaved(names: Sequence[str], columns: Sequence[Sequence[np.ndarray]], parameter: Parameter) -> np.ndarray:
    """Return columns x and y as points, shape (n, 2), of a type that holds all numbers. A masked number is NaN.

    A column consists of arrays, one after another.
    """
    lengths = [sum(map(len, pieces)) for pieces in columns]
    if lengths[0] != lengths[1]:
        raise parameter.wrong("have columns of one length", f"{lengths[0]} and {lengths[1]}")
    for name, pieces in zip(names, columns):
        for piece in pieces:
            if piece.dtype.kind not in "iuf":
                raise parameter.wrong("have columns of numbers", f"{piece.dtype} in column '{shown(name)}'")
            if piece.ndim != 1:
                got = f"{piece.dtype} of shape {piece.shape} in column '{shown(name)}'"
                raise parameter.wrong("have one number in each row of a column", got)
    every = [piece for pieces in columns for piece in pieces]
    dtype = np.result_type(*(piece.dtype for piece in every))
    if any(isinstance(piece, np.ma.MaskedArray) for piece in every):
        dtype = dtype if dtype.kind == "f" else np.dtype(np.float64)
    points = np.empty((lengths[0], 2), dtype)
    for out, name, pieces in zip(points.T, names, columns):
        start = 0
        for piece in pieces:
            if dtype.kind == "f":
                _refuse_inexact(piece, start, name, parameter)
            part = out[start : start + len(piece)]
            part[...] = np.ma.getdata(piece)
            if isinstance(piece, np.ma.MaskedArray):
                part[piece.mask] = np.nan
            start += len(piece)
    return points


def _refuse_inexact(numbers: np.ndarray, start: int, name: str, parameter: Parameter) -> None:
    """Refuse integers that are not exact in float64."""
    if numbers.dtype.kind not in "iu" or numbers.dtype.itemsize < 8:
        return
    beyond = np.ma.filled(numbers > LARGEST_EXACT, False)
    if numbers.dtype.kind == "i":
        beyond |= np.ma.filled(numbers < -LARGEST_EXACT, False)
    if beyond.any():
        k = int(np.argmax(beyond))
        got = f"{numbers[k]} at [{start + k}] of column '{shown(name)}'"
        raise parameter.wrong("hold integers within 2**53 beside floats and missing numbers", got)


def without_missing(values: np.ndarray, parameter: Parameter) -> np.ndarray:
    """Return numbers with NaN for masked floats; refuse other masked numbers."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind != "f":
        missing = np.flatnonzero(values.mask)
        raise parameter.wrong("have no missing entries", f"{len(missing)} of them, the first at [{missing[0]}]")
    return np.where(values.mask, values.dtype.type(np.nan), values.data)


# Structured arrays ----------------------------------------------------------------------------------------------


def structured_points(array: np.ndarray, parameter: Parameter) -> np.ndarray:
    """Return two fields of a structured array, shape (n,), as points; no copy if it has no other fields."""
    names = list(array.dtype.names or ())
    if array.ndim != 1:
        raise parameter.wrong("have shape (n,) if it is a structured array", f"{array.shape}")
    pair = choose_pair(names, parameter)
    pair_names = [names[position] for position in pair]
    x, y = (array[name] for name in pair_names)
    if isinstance(array, np.ma.MaskedArray):
        points = interleaved(pair_names, [[np.ma.getdata(x)], [np.ma.getdata(y)]], parameter)
        return np.ma.MaskedArray(points, np.column_stack([np.ma.getmaskarray(x), np.ma.getmaskarray(y)]))
    field = x.dtype
    fields: Mapping[str, tuple[Any, ...]] = array.dtype.fields or {}
    if field == y.dtype and field.kind in "iuf" and array.dtype.itemsize == 2 * field.itemsize and pair == (0, 1):
        offsets = [fields[name][1] for name in names]
        if offsets == [0, field.itemsize] and array.flags.c_contiguous:
            return np.ndarray.view(array, np.ndarray).view(field).reshape(-1, 2)
    return interleaved(pair_names, [[x], [y]], parameter)


def column_of_counts(*numbers: int | None) -> np.ma.MaskedArray:
    """Return the counts as a column, masked where a count is None."""
    missing = [number is None for number in numbers]
    return np.ma.MaskedArray([number or 0 for number in numbers], missing, np.int64)
