"""Points as stored in a file, with their values, reference system and scale, and the groups that they are in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.geo.geodesy import same_crs
from clgeom.io.columns import check_exact
from clgeom.io.files import FilePath, Progress

#: Largest range of integers that are counted in a table instead of sorted.
COUNTED = 1 << 20
#: Number of the points that are in no group.
NO_GROUP = -1
#: Note for tiles that differ in scale or offset.
DIFFER = "the tiles differ in scale or offset: their coordinates became float64"


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each point; `title` is the name of the column or array."""

    numbers: np.ndarray  #: int64, shape (n,); `NO_GROUP` for points in none
    names: list[Any]  #: ascending: int if all are integers, else str
    title: str = "group"


@dataclass(frozen=True, eq=False)
class Cloud:
    """The points of a file. Coordinates are ``points * scale + offset`` where it has a scale and an offset."""

    points: np.ndarray  #: as stored, shape (n, 2); for LAS and LAZ the int32 X and Y
    names: tuple[str, str] | None = None  #: of the columns of x and y
    groups: Groups | None = None
    values: np.ndarray | None = None  #: float64, shape (n,)
    crs: object = None  #: that the file names, as anything that pyproj takes
    scale: tuple[float, float] | None = None
    offset: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()  #: what was left out or converted, for the user

    @property
    def coordinates(self) -> np.ndarray:
        """The points in units of the reference system, shape (n, 2)."""
        return self.points if self.scale is None or self.offset is None else self.points * self.scale + self.offset


def joined(clouds: Any, paths: Sequence[FilePath], crs: Any = None) -> Cloud:
    """Return the points of several files, one after the other, as one cloud.

    Points stay integers where all files have one scale and one offset. Groups of the same name become one. A `crs`
    replaces that of every file.

    Raises
    ------
    InvalidInput
        The files name different reference systems, and there is no `crs`, or integers of one would be rounded to
        float64.
    """
    if crs is not None:
        clouds = [replace(cloud, crs=crs) for cloud in clouds]
    first = clouds[0]
    if len(clouds) == 1:
        return first
    for cloud, path in zip(clouds, paths):
        require_one_crs(paths[0], first.crs, path, cloud.crs, " (--crs replaces that of every file)")
    notes = tuple(dict.fromkeys(note for cloud in clouds for note in cloud.notes))
    if any((cloud.scale, cloud.offset) != (first.scale, first.offset) for cloud in clouds):
        clouds = [replace(cloud, points=cloud.coordinates, scale=None, offset=None) for cloud in clouds]
        notes += (DIFFER,)
    dtype = np.result_type(*(cloud.points.dtype for cloud in clouds))
    for cloud, path in zip(clouds, paths):
        check_exact(path, cloud.points, dtype)
    return replace(
        clouds[0],
        points=np.concatenate([cloud.points for cloud in clouds]),
        groups=None if first.groups is None else joined_groups([cloud.groups for cloud in clouds]),
        values=None if first.values is None else np.concatenate([cloud.values for cloud in clouds]),
        notes=notes,
    )


def with_note_if_empty(cloud: Cloud, path: FilePath) -> Cloud:
    """Return a cloud, with a note if its file has no points."""
    return cloud if len(cloud.points) else replace(cloud, notes=(*cloud.notes, f"no points in '{path}'"))


def require_one_crs(path: FilePath, crs: Any, other_path: Any, other: Any, remedy: str = "") -> None:
    """Refuse files in different coordinate reference systems."""
    if not same_crs(crs, other):
        raise InvalidInput(
            f"The files '{path}' and '{other_path}' must be in one coordinate reference system. Got {crs_words(crs)} "
            f"and {crs_words(other)} instead{remedy}."
        )


def crs_words(crs: Any) -> str:
    """Return the name of a reference system for messages."""
    if crs is None:
        return "none"
    name = getattr(crs, "name", None) or str(crs)
    return name if len(name) <= 60 else f"{name[:57]}..."


def parts_of(cloud: Cloud, rows: int | None, progress: Progress | None = None) -> Iterator[Cloud]:
    """Yield a cloud in parts of at most `rows` points; as it is if `rows` is None."""
    if rows is None:
        yield cloud
    else:
        for begin in range(0, max(len(cloud.points), 1), rows):
            part, groups = slice(begin, begin + rows), cloud.groups
            if groups is not None:
                groups = replace(groups, numbers=groups.numbers[part])
            yield replace(cloud, points=cloud.points[part], groups=groups)
    if progress is not None:
        progress(1, 1)


# Groups ---------------------------------------------------------------------------------------------------------


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


def labels_of(groups: Any) -> np.ndarray:
    """Return the groups of points as labels: integers or texts, None for points in none."""
    names = groups.names
    if all(type(name) is int for name in names) and (groups.numbers >= 0).all():
        return np.array(names, np.int64)[groups.numbers]
    table = np.empty(len(names) + 1, object)  # the last one is that of NO_GROUP
    table[:-1] = names
    return table[groups.numbers]
