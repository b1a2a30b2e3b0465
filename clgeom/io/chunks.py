"""Read points and sequences of files in parts, so that files may be larger than memory."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput, short
from clgeom.io.arrays import npy_parts
from clgeom.io.cloud import Cloud
from clgeom.io.files import FilePath, Progress, is_stdin, kind_of, reading, suffix_of
from clgeom.io.labels import groups_of_values
from clgeom.io.points import read_cloud, table_clouds

WILD = "*?["


def files_of(files: FilePath | Iterable[FilePath], *, caller: str) -> list[str]:
    """The names of files that names and patterns stand for; those of a pattern in the order of their names.

    Raises
    ------
    InvalidInput
        A pattern matches no file, or there is none at all.
    """
    if isinstance(files, bytes) or not isinstance(files, (str, os.PathLike, Iterable)):
        raise wrong("files", caller, "names of files", short(files))
    given = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    found = []
    for one in given:
        if not isinstance(one, (str, os.PathLike)):
            raise wrong("files", caller, "names of files", short(one))
        name = os.fspath(one)
        if is_stdin(name) or os.path.exists(name) or not any(sign in name for sign in WILD):
            found.append(name)
            continue
        matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            raise InvalidInput(f"There is no file '{name}'.")
        found += matches
    if not found:
        raise wrong("files", caller, "a file or more", "none", verb="name")
    return found


@keeps_subnormals
def cloud_parts(
    path: FilePath,
    *,
    rows: Any,
    columns: Sequence[str] | None = None,
    by: str | None = None,
    array: str | None = None,
    layer: str | None = None,
    nan_if_empty: bool = False,
    progress: Progress | None = None,
) -> Iterator[Cloud]:
    """Yield the points of a file in parts of at most `rows` points, as `read_cloud` returns them whole.

    LAS, LAZ, .npy, Parquet, Arrow and tables of text are read in parts, archives (.npz) and vector files whole.
    Groups of tables are texts: whether all of them are integers is known at the end only. A file without points gives
    an empty part.

    Parameters
    ----------
    path, columns, by, array, layer, nan_if_empty
        As in `read_cloud`.
    rows : int
    progress : callable, optional
        Called as progress(done, total) after each part, in points or in bytes.
    """
    kind = kind_of(path)
    what: dict[str, Any] = {"columns": columns, "by": by}
    if array is None and layer is None:
        if kind == "lidar":
            from clgeom.io.lidar import lidar_clouds

            return lidar_clouds(path, rows=rows, **what, progress=progress)
        if kind == "table":
            return _cut(table_clouds(path, **what, nan_if_empty=nan_if_empty, progress=progress), rows)
        if kind == "arrow":
            from clgeom.io.columnar import columnar_clouds

            return columnar_clouds(path, rows=rows, **what, nan_if_empty=nan_if_empty, progress=progress)
        if suffix_of(path) == ".npy":
            return _npy_clouds(path, rows, progress, **what)
    return _cut(_whole(path, progress, **what, array=array, layer=layer), rows)


def _npy_clouds(
    path: FilePath, rows: Any, progress: Progress | None, *, columns: Sequence[str] | None, by: str | None
) -> Iterator[Any]:
    for points, names, groups, title in npy_parts(path, rows=rows, columns=columns, by=by, progress=progress):
        yield Cloud(points, names, None if by is None else groups_of_values(path, groups, title))


def _whole(path: FilePath, progress: Progress | None, **what: Any) -> Iterator[Any]:
    """Yield the cloud of a file that is read whole."""
    cloud = read_cloud(path, **what)
    yield cloud
    if progress is not None:
        progress(1, 1)


def _cut(clouds: Any, rows: Any) -> Iterator[Any]:
    for cloud in clouds:
        for begin in range(0, max(len(cloud.points), 1), rows):
            part, groups = slice(begin, begin + rows), cloud.groups
            if groups is not None:
                groups = replace(groups, numbers=groups.numbers[part])
            yield replace(cloud, points=cloud.points[part], groups=groups)


@keeps_subnormals
def state_of(path: FilePath) -> tuple[Any, ...] | None:
    """What tells whether a file has changed, or was replaced: also by one of its size and time."""
    if is_stdin(path):
        return None
    with reading(path):
        found = os.stat(path)
    return found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns


def labels_of(groups: Any) -> np.ndarray:
    """The groups of points as labels: integers or texts, None for points in none."""
    names = groups.names
    if all(type(name) is int for name in names) and (groups.numbers >= 0).all():
        return np.array(names, np.int64)[groups.numbers]
    table = np.empty(len(names) + 1, object)  # the last one is that of NO_GROUP
    table[:-1] = names
    return table[groups.numbers]
