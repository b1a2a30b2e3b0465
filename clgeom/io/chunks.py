"""Read points and sequences from files in parts, so that files larger than memory can be read."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io import quick
from clgeom.io.arrays import check_exact
from clgeom.io.cloud import Cloud
from clgeom.io.files import is_stdin, kind_of, reading
from clgeom.io.points import read_cloud, table_clouds

#: Bytes that a part of a file takes for each point at most, besides its coordinates, as it is read.
LEAST_ROWS = 1 << 10


def cloud_parts(path, *, rows, columns=None, by=None, array=None, layer=None, progress=None) -> Iterator[Cloud]:
    """Yield the points of a file in parts of at most `rows` points, as `clgeom.io.points.read_cloud` returns them whole.

    LAS, LAZ, .npy, Parquet, Arrow and tables of text are read in parts. An archive (.npz) and a map are read whole.
    Groups of text files are texts, since not all of them are known. A file without points gives one empty part.

    Parameters
    ----------
    path, columns, by, array, layer
        As in `read_cloud`.
    rows : int
    progress : callable, optional
        Called as progress(done, total), in points or in bytes.
    """
    kind = kind_of(path)
    what = {"columns": columns, "by": by}
    if array is None and layer is None:
        if kind == "lidar":
            from clgeom.io.lidar import lidar_clouds

            return lidar_clouds(path, rows=rows, **what, progress=progress)
        if kind == "table":
            return _cut(table_clouds(path, **what, progress=progress), rows)
        if kind == "arrow":
            from clgeom.io.columnar import columnar_clouds

            return columnar_clouds(path, rows=rows, **what, progress=progress)
    return _cut(_whole(path, rows, progress, **what, array=array, layer=layer), rows)


def _whole(path, rows, progress, **what):
    """Yield the only cloud of a file that is read whole, or mapped."""
    cloud = read_cloud(path, **what)
    yield cloud
    if progress is not None:
        progress(len(cloud.points), len(cloud.points))


def _cut(clouds, rows):
    for cloud in clouds:
        for begin in range(0, max(len(cloud.points), 1), rows):
            yield part_of_cloud(cloud, slice(begin, begin + rows))


def part_of_cloud(cloud, part) -> Cloud:
    """Some of the points of a cloud, in memory of their own where the cloud is a mapped file."""
    points = cloud.points[part]
    if isinstance(points, np.memmap):
        points = np.array(points)
    groups = cloud.groups
    if groups is not None:
        groups = replace(groups, numbers=groups.numbers[part])
    return replace(cloud, points=points, groups=groups)
