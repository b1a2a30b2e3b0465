"""Points as stored in a file, with their groups, values, reference system and scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.geo.geodesy import same_crs
from clgeom.io.arrays import check_exact
from clgeom.io.files import FilePath
from clgeom.io.labels import Groups, joined_groups

#: Note for tiles that differ in scale or offset.
DIFFER = "the tiles differ in scale or offset: their coordinates became float64"


@dataclass(frozen=True, eq=False)
class Cloud:
    """The points of a file.

    Parameters
    ----------
    points : ndarray, shape (n, 2)
        As stored. For LAS and LAZ the int32 X and Y.
    names : pair of str, optional
        Names of the columns of x and y, None without names.
    groups : Groups, optional
        The group of each point.
    values : ndarray of float64, shape (n,), optional
    crs : object, optional
        Coordinate reference system that the file names, as anything that pyproj takes.
    scale, offset : pair of float, optional
        Coordinates are ``points * scale + offset``. None: the points are the coordinates.
    notes : tuple of str
        What was left out or converted, for the user.
    """

    points: np.ndarray
    names: tuple[str, str] | None = None
    groups: Groups | None = None
    values: np.ndarray | None = None
    crs: object = None
    scale: tuple[float, float] | None = None
    offset: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()

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
