"""Find the columns of a table by name or by number, by default those of x and y, and join two."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.messages import listed, shown
from clgeom.errors import InvalidInput
from clgeom.intake.interop.columns import KNOWN_PAIRS
from clgeom.io.files import FilePath


@dataclass(frozen=True)
class Selection:
    """Requested columns, by name or by number from 1: those of x and y, and that of groups or that of numbers."""

    columns: Sequence[str] | None = None
    by: str | None = None
    value: str | None = None

    def other(self, path: FilePath, names: Any, width: int) -> int | None:
        """Return the position of the column of groups or numbers; None without a request."""
        other = self.by if self.value is None else self.value
        return None if other is None else position_of(path, names, width, other)


def choose_columns(path: FilePath, names: Any, width: int, wanted: Any, *, by: Any = None) -> tuple[Any, ...]:
    """Return the positions, from 0, of the columns of x and y among `width` columns, whose header is `names` or None.

    `wanted` are the requested ones: names, or numbers from 1. The column at `by` is used only if requested.
    """
    if wanted is not None:
        x, y = (position_of(path, names, width, column) for column in wanted)
        if x == y:
            raise InvalidInput(f"The columns of x and y in '{path}' must be two. Got column {x + 1} for both instead.")
        return x, y
    others = [position for position in range(width) if position != by]
    if names is not None:
        lower = {position: names[position].strip().lower() for position in others}
        for pair in KNOWN_PAIRS:
            found = [[position for position in others if lower[position] == name] for name in pair]
            if all(len(positions) == 1 for positions in found):
                return found[0][0], found[1][0]
    if len(others) == 2 or (names is None and len(others) > 2):
        return others[0], others[1]
    if len(others) < 2:
        other = None if by is None else repr(names[by]) if names is not None else by + 1
        besides = "" if other is None else f" besides column {other}"
        raise wrong_file(path, f"must have two columns at least{besides}. Got {len(others)} instead")
    raise InvalidInput(
        f"The columns of x and y in '{path}' cannot be told from its header; name them (--columns X,Y). "
        f"It has: {listed(names)}."
    )


def are_known(names: Any) -> bool:
    """Return whether two columns have names of x and y that are found by default."""
    return tuple(name.strip().lower() for name in names) in KNOWN_PAIRS


def only_column(path: FilePath, names: Any, width: int, column: str | None) -> Any:
    """Return the position of a column given by name or by number; by default that of the only one."""
    if column is None and width != 1:
        what = f"{width} columns" if names is None else f"the columns {listed(names)}"
        raise wrong_file(path, f"has {what}; name one (--column)")
    return position_of(path, names, width, "1" if column is None else column)


def position_of(path: FilePath, names: Any, width: int, column: Any, what: str = "column") -> Any:
    """Return the position of a column, or a layer, given by name (as written, else in any case) or by number."""
    column = str(column).strip()
    for same in (str, str.lower):
        found = [i for i, name in enumerate(names or ()) if same(name.strip()) == same(column)]
        if len(found) == 1:
            return found[0]
        if found:
            raise wrong_file(path, f"has {len(found)} {what}s named '{shown(column)}'; give a number from 1")
    number = number_from_1(column, width)
    if number is not None:
        return number - 1
    has = f"It has: {listed(names)}." if names else f"It has no header; its columns are 1 to {width}."
    raise InvalidInput(f"The file '{path}' has no {what} '{shown(column)}'. {_nearest(column, names or ())}{has}")


def _nearest(wanted: Any, names: Any) -> str:
    """Return a question with the name that is most like the one wanted; "" if none is."""
    lower = {name.strip().lower(): name for name in names}
    found = difflib.get_close_matches(wanted.lower(), lower, n=1)
    return f"Did you mean '{shown(lower[found[0]].strip())}'? " if found else ""


def number_from_1(text: str, most: int) -> int | None:
    """Return a number from 1 to `most` that is written in digits, None for any other text."""
    if text.isascii() and text.isdecimal() and len(text) <= 20 and 1 <= int(text) <= most:
        return int(text)
    return None


def side_by_side(path: FilePath, names: Sequence[str], columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return two columns as an array of points, of a type that holds every number of both."""
    x, y = columns
    if x.ndim != 1 or x.shape != y.shape:
        raise InvalidInput(
            f"The columns of '{path}' must be two arrays of the same length. Got {x.shape} and {y.shape} instead."
        )
    for name, column in zip(names, columns):
        if column.dtype.kind not in "iuf":
            raise InvalidInput(f"The column '{shown(name)}' of '{path}' must be numbers. Got {column.dtype} instead.")
    for name, column in zip(names, columns):
        check_exact(path, column, np.result_type(x, y), f"The column '{shown(name)}' of")
    return np.column_stack([x, y])


def check_exact(path: FilePath, values: Any, dtype: Any, what: str = "The points in") -> None:
    """Raise `InvalidInput` if values of a file are integers that float64 may round, and become `dtype`, a float."""
    if np.dtype(dtype).kind == "f" and values.dtype.kind in "iu":
        outside = (values > 2**53) | (values < -(2**53))
        if outside.any():
            raise InvalidInput(f"{what} '{path}' must be integers within 2**53. Got {values[outside][0]} instead.")
