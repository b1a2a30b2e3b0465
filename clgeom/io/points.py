"""Read points from files of every kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.arguments import wrong, wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import shown
from clgeom.errors import InvalidInput, short
from clgeom.io import arrays
from clgeom.io.cloud import Cloud
from clgeom.io.columns import choose_columns, position_of
from clgeom.io.files import FilePath, Progress, check_selection, kind_of
from clgeom.io.labels import Texts, groups_of_values
from clgeom.io.layout import MissingNumber
from clgeom.io.tables import Block, line_of_row, read_blocks


@keeps_subnormals
def read_points(
    path: FilePath,
    *,
    columns: Sequence[str] | None = None,
    array: str | None = None,
    layer: str | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Return the 2D points of a file.

    Parameters
    ----------
    path : path-like
        A table as text (.csv, .tsv, .txt and the like, also with .gz), a NumPy file (.npy, .npz), Parquet or Arrow
        (.parquet, .feather, .arrow), LAS or LAZ, a vector file (.gpkg, .geojson, .shp, .fgb), or "-" (standard input).
    columns : pair of str, optional
        Which columns hold x and y, by name or by number, the first being 1. By default those with a name like
        lon and lat, x and y, easting and northing; else the only two; else, without a header, the first two.
    array : str, optional
        Which array of a .npz file; by default the only one, or the one named "points".
    layer : str, optional
        Which layer of a vector file; by default the only one.
    progress : callable, optional
        Called as progress(done, total) now and then while text, LAS or LAZ is read.

    Returns
    -------
    numpy.ndarray, shape (n, 2)
        float64 for text, maps, LAS and LAZ; as stored for the others.

    Raises
    ------
    InvalidInput
        The file cannot be read; names the line of the first malformed row.

    Notes
    -----
    `clgeom.io.tables` has the rules for tables of text and their header, and `clgeom.io.numbers` those for numbers.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from clgeom.io.points import read_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "sites.csv")
    ...     _ = path.write_text("name,lon,lat\\nA,11.6,48.1\\nB,13.4,52.5\\n")
    ...     read_points(path).tolist()
    [[11.6, 48.1], [13.4, 52.5]]
    """
    return read_cloud(path, columns=columns, array=array, layer=layer, progress=progress).coordinates


@keeps_subnormals
def read_cloud(
    path: FilePath,
    *,
    columns: Sequence[str] | None = None,
    by: str | None = None,
    value: Any = None,
    array: str | None = None,
    layer: str | None = None,
    nan_if_empty: bool = False,
    progress: Progress | None = None,
) -> Cloud:
    """Return the points of a file with their groups or values, reference system and scale.

    Parameters
    ----------
    path, columns, array, layer, progress
        As in `read_points`.
    by : str, optional
        Column whose values name the groups, by name or by number from 1; or an array of a .npz file. It is used for x
        or y only if `columns` names it. Its values are integers or text.
    value : str, optional
        Column of numbers, or an array of a .npz file. Not together with `by`.
    nan_if_empty : bool
        Read empty coordinates of tables of text, and nulls of Parquet and Arrow, as NaN. Without it they are errors.

    Raises
    ------
    InvalidInput
        The file cannot be read, has no such column, or a group or a number is missing.

    Notes
    -----
    In a table of text the name of a group is kept as it is written, without the blanks around it unless they are
    quoted. The names become integers if each is written as Python writes an int: "01", "+1" and "1.0" are text.
    """
    kind = kind_of(path)
    if columns is not None and len(columns) != 2:
        raise wrong("columns", "read_points", "two columns", short(columns), verb="name")
    check_selection(path, kind, array, layer, "The '{}' parameter of read_points")
    what = {"columns": columns, "by": by, "value": value}
    if kind == "table":
        return read_table(path, **what, nan_if_empty=nan_if_empty, progress=progress)
    if kind == "numpy":
        return _read_numpy(Path(path), **what, array=array)
    if kind == "arrow":
        from clgeom.io.columnar import read_columnar

        return read_columnar(path, **what, nan_if_empty=nan_if_empty)
    if kind == "lidar":
        from clgeom.io.lidar import read_lidar

        return read_lidar(path, **what, progress=progress)
    from clgeom.io.layers import read_layer

    return read_layer(path, **what, layer=layer)


@keeps_subnormals
def read_valued_points(
    path: FilePath, value: Any, *, columns: Sequence[str] | None = None, array: str | None = None
) -> tuple[Any, ...]:
    """Return (points, names of x and y, values) of a file; parameters as in `read_cloud`."""
    cloud = read_cloud(path, value=value, columns=columns, array=array)
    return cloud.coordinates, cloud.names, cloud.values


def _read_numpy(path: Path, columns: Sequence[str] | None, by: str | None, value: Any, array: str | None) -> Cloud:
    """Return the points of a NumPy file, with its groups or values."""
    other = by if value is None else value
    is_npz = path.suffix.lower() == ".npz"
    if other is None:
        found = (
            arrays.read_npz(path, columns=columns, array=array) if is_npz else arrays.read_npy(path, columns=columns)
        )
        return Cloud(*found)
    if is_npz:
        points, names, found, title = arrays.read_grouped_npz(path, other, columns=columns, array=array)
    else:
        points, names, found, title = arrays.read_grouped_npy(path, other, columns=columns)
    if by is not None:
        if found.shape != points.shape[:1]:
            raise InvalidInput(
                f"The groups '{by}' in '{path}' must be one for each of the {len(points)} points. "
                f"Got shape {found.shape} instead."
            )
        return Cloud(points, names, groups_of_values(path, found, title))
    if found.shape != points.shape[:1] or found.dtype.kind not in "biuf":
        raise InvalidInput(
            f"The column '{value}' of '{path}' must have a number for each of the {len(points):,} points. "
            f"Got {found.dtype} of shape {found.shape} instead."
        )
    return Cloud(points, names, values=found.astype(np.float64))


#: What to do about points that are not finite.
DROP = " (--nonfinite drop leaves such points out)"


@contextlib.contextmanager
def saying_where(paths: Sequence[FilePath], counts: Any, *, drop: bool = True) -> Iterator[Any]:
    """Let errors about a nonfinite point name its file and line, and those about an empty coordinate the remedy.

    Parameters
    ----------
    paths : sequence of path-like
        The files, whose points are one after the other.
    counts : sequence of int
        Number of points of each file.
    drop : bool
        Whether the command can leave such points out.
    """
    try:
        yield
    except InvalidInput as error:
        if drop and isinstance(error, MissingNumber):
            raise InvalidInput(f"{str(error).removesuffix('.')}{DROP}.") from error
        if not hasattr(error, "row"):
            raise
        at: Any = error  # its attributes say which number it is
        ends = np.cumsum(counts)
        file = int(np.searchsorted(ends, at.row, side="right"))
        path, row = paths[file], at.row - int(ends[file]) + counts[file]
        place = place_of(path, row, at.column)
        raise InvalidInput(
            f"The points in '{path}' must be finite. Got {at.value} {place} instead{DROP if drop else ''}."
        ) from error


def place_of(path: FilePath, row: Any, column: str | None) -> str:
    """Return where in its file a coordinate is, for messages: "in line 4" of a table, "at index [2, 0]" of an array."""
    kind = kind_of(path)
    if kind == "table":
        return f"in line {line_of_row(path, row)}"
    return f"at index [{row}, {column}]" if kind == "numpy" else f"in point {row + 1:,}"


def read_table(
    path: FilePath,
    *,
    columns: Sequence[str] | None = None,
    by: str | None = None,
    value: Any = None,
    nan_if_empty: bool = False,
    progress: Progress | None = None,
) -> Cloud:
    """Return the points of a table of text; parameters as in `read_cloud`."""
    layout, texts, parts = None, Texts(), []
    for block in _blocks(path, columns, by, value, nan_if_empty, progress):
        layout = block.layout
        parts.append(block.floats())
        if by is not None:
            texts.add(*block.numbered_texts())
    values = np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else np.empty((0, 3 - (value is None)))
    if value is None:
        return _cloud_of_lines(path, layout, values, None if by is None else texts)
    cloud = _cloud_of_lines(path, layout, np.ascontiguousarray(values[:, :2]))
    return replace(cloud, values=np.ascontiguousarray(values[:, 2]))


@keeps_subnormals
def table_clouds(
    path: FilePath,
    *,
    columns: Sequence[str] | None = None,
    by: str | None = None,
    nan_if_empty: bool = False,
    progress: Progress | None = None,
) -> Iterator[Cloud]:
    """Yield the points of a table of text, block by block; parameters as in `read_cloud`. Groups are texts."""
    row = 0
    for block in _blocks(path, columns, by, None, nan_if_empty, progress):
        values, texts = block.floats(), None if by is None else Texts()
        if texts is not None:
            texts.add(*block.numbered_texts())
        yield _cloud_of_lines(path, block.layout, values, texts, first=row, integers=False)
        row += len(values)
    if row == 0:
        yield read_table(path, columns=columns, by=by)


def _blocks(
    path: FilePath,
    columns: Sequence[str] | None,
    by: str | None,
    value: Any,
    nan_if_empty: bool,
    progress: Progress | None,
) -> Iterator[Block]:
    """Yield the blocks of a table with the columns of x and y, and that of groups or of values."""
    other = by if value is None else value

    def choose(names: Any, width: int) -> tuple[Any, ...]:
        position = None if other is None else position_of(path, names, width, other)
        pair = choose_columns(path, names, width, columns, by=position)
        return (pair, position) if value is None else ((*pair, position), None)

    missing = "a coordinate" if value is None else "a number"
    return read_blocks(path, choose, missing=missing, nan_if_empty=nan_if_empty, progress=progress)


def _cloud_of_lines(
    path: FilePath, layout: Any, points: np.ndarray, texts: Any = None, *, first: int = 0, integers: bool = True
) -> Cloud:
    """Return points of a table with their groups; `InvalidInput` names the first line without a group.

    `first` is the number of the first row. With `integers` names of groups become int if all are.
    """
    names, title = None, "group"
    if layout is not None and layout.names is not None:
        names = tuple(layout.names[column] for column in layout.columns[:2])
        title = title if layout.text is None else layout.names[layout.text] or title
    row = None if texts is None else texts.row_of_missing()
    if row is not None:
        line = line_of_row(path, first + row)
        raise wrong_file(path, f"is malformed in line {line}: the group in '{shown(title)}' is missing")
    groups = None if texts is None else texts.groups(title, integers=integers)
    return Cloud(points, names, groups, notes=() if layout is None else layout.notes)
