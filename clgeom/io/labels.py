"""Number the groups that points are in, from texts or integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.io.files import FilePath

#: Largest range of integers that are counted in a table instead of sorted.
COUNTED = 1 << 20
#: Number of the points that are in no group.
NO_GROUP = -1


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each point.

    Parameters
    ----------
    numbers : ndarray of int64, shape (n,)
        `NO_GROUP` for points in none.
    names : list
        Names of the groups, ascending: int if all are integers, else str.
    title : str
        Name of the column or array, "group" if it has none.
    """

    numbers: np.ndarray
    names: list[Any]
    title: str = "group"


class Texts:
    """Texts added block by block: `codes` holds the number of each text among the `distinct` ones.

    Distinct texts are in order of appearance.
    """

    def __init__(self) -> None:
        self.distinct: dict[str, int] = {}
        self.codes: list[np.ndarray] = []

    def add(self, codes: np.ndarray, texts: list[str]) -> None:
        """Add texts by their numbers in a list, which may hold a text twice."""
        distinct = self.distinct
        numbers = np.array([distinct.setdefault(text, len(distinct)) for text in texts], np.int64)
        self.codes.append(numbers[codes] if len(codes) else np.empty(0, np.int64))

    def row_of_missing(self) -> int | None:
        """Return the first row whose text is blank, None if there is none."""
        blank = [number for text, number in self.distinct.items() if not text.strip()]
        if not blank:
            return None
        return int(np.isin(np.concatenate(self.codes), blank).argmax())

    def groups(self, title: str, *, integers: Any) -> Groups:
        """Return the groups; with `integers` names become int if each is written as Python writes one."""
        names: list[Any] = list(self.distinct)
        as_integers = [_as_integer(name) for name in names] if integers else [None]
        if None not in as_integers:
            names = as_integers
        codes = np.concatenate(self.codes) if self.codes else np.empty(0, np.int64)
        return _ascending(codes, names, title)


@keeps_subnormals
def groups_of_values(path: FilePath, values: np.ndarray, title: str) -> Groups:
    """Return the groups of an array of integers or text."""
    if values.dtype.kind == "f" and (values == np.rint(values)).all() and (abs(values.astype(float)) < 2**53).all():
        values = values.astype(np.int64)  # whole numbers in an array of floats
    if values.dtype.kind not in "iuUb":
        raise InvalidInput(f"The groups in '{path}' must be integers or text. Got {values.dtype} instead.")
    if values.dtype.kind in "iu" and len(values):
        least, most = int(values.min()), int(values.max())
        if most - least < min(COUNTED, 8 * len(values)):
            places = (values if least == 0 else values - values.dtype.type(least)).astype(np.int64)
            found = np.flatnonzero(np.bincount(places))
            numbers = np.zeros(most - least + 1, np.int64)
            numbers[found] = np.arange(len(found))
            return Groups(numbers[places], (found + least).tolist(), title)
    try:
        names, numbers = np.unique(values, return_inverse=True)
        names = names.tolist()
        "".join(names if values.dtype.kind == "U" else ()).encode()
    except (ValueError, SystemError) as error:  # code points that do not exist
        raise InvalidInput(f"The groups in '{path}' must be integers or text: {error}.") from error
    return Groups(numbers.reshape(-1).astype(np.int64), names, title)


@keeps_subnormals
def joined_groups(parts: Any) -> Groups:
    """Return the groups of several files; groups of the same name are one."""
    if any(isinstance(name, str) for part in parts for name in part.names):
        parts = [Groups(part.numbers, list(map(str, part.names)), part.title) for part in parts]
    distinct = {
        name: number for number, name in enumerate(dict.fromkeys(name for part in parts for name in part.names))
    }
    codes = [np.array([*(distinct[name] for name in part.names), NO_GROUP])[part.numbers] for part in parts]
    return _ascending(np.concatenate(codes), list(distinct), parts[0].title)


def _ascending(codes: Any, names: Any, title: str) -> Groups:
    """Return groups with their names in order."""
    order = sorted(range(len(names)), key=names.__getitem__)
    numbers = np.full(len(names) + 1, NO_GROUP)  # the last one is that of NO_GROUP
    numbers[order] = np.arange(len(names))
    return Groups(numbers[codes], [names[i] for i in order], title)


def _as_integer(name: str) -> int | None:
    """Return the integer that Python writes as this text, None if there is none."""
    digits = name.removeprefix("-")
    if len(digits) > 18 or not (digits.isascii() and digits.isdecimal()):
        return None
    return int(name) if str(int(name)) == name else None
