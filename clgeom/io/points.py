"""Read points from files of every kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clgeom.arguments import wrong, wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import shown
from clgeom.errors import InvalidInput, short
from clgeom.io.arrays import npy_clouds, read_numpy
from clgeom.io.cloud import Cloud, Texts, parts_of
from clgeom.io.columns import Selection, choose_columns
from clgeom.io.files import FilePath, Progress, check_selection, kind_of, suffix_of
from clgeom.io.layout import MissingNumber
from clgeom.io.tables import line_of_row, read_blocks


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

    Notes
    -----
    In a table of text the name of a group is kept as it is written, without the blanks around it unless they are
    quoted. The names become integers if each is written as Python writes an int: "01", "+1" and "1.0" are text.
    """
    (cloud,) = _clouds(path, None, Selection(columns, by, value), array, layer, nan_if_empty, progress)
    return cloud


@keeps_subnormals
def cloud_parts(
    path: FilePath,
    *,
    rows: int,
    columns: Sequence[str] | None = None,
    by: str | None = None,
    array: str | None = None,
    layer: str | None = None,
    nan_if_empty: bool = False,
    progress: Progress | None = None,
) -> Iterator[Cloud]:
    """Yield the points of a file in parts of at most `rows` points; parameters as in `read_cloud`.

    Archives (.npz) and vector files are read whole and then cut. Groups of tables are texts: whether all of them are
    integers is known at the end only. A file without points gives an empty part.
    """
    return _clouds(path, rows, Selection(columns, by), array, layer, nan_if_empty, progress)


def _clouds(
    path: FilePath,
    rows: int | None,
    selection: Selection,
    array: str | None,
    layer: str | None,
    nan_if_empty: bool,
    progress: Progress | None,
) -> Iterator[Cloud]:
    """Yield the clouds of parts of a file; one of all points if `rows` is None."""
    kind = kind_of(path)
    if selection.columns is not None and len(selection.columns) != 2:
        raise wrong("columns", "read_points", "two columns", short(selection.columns), verb="name")
    check_selection(path, kind, array, layer, "The '{}' parameter of read_points")
    if kind == "table":
        return table_clouds(path, rows, selection, nan_if_empty, progress)
    if kind == "arrow":
        from clgeom.io.columnar import columnar_clouds

        return columnar_clouds(path, rows, selection, nan_if_empty, progress)
    if kind == "lidar":
        from clgeom.io.lidar import lidar_clouds

        return lidar_clouds(path, rows, selection, progress)
    if kind == "layer":
        from clgeom.io.layers import read_layer

        return parts_of(read_layer(path, layer, selection), rows, progress)
    if rows is not None and suffix_of(path) == ".npy":
        return npy_clouds(path, rows, selection, progress)
    return parts_of(read_numpy(path, selection, array), rows, progress)


#: What to do about points that are not finite.
DROP = " (--nonfinite drop leaves such points out)"


@contextlib.contextmanager
def saying_where(paths: Sequence[FilePath], counts: Any, *, drop: bool = True) -> Iterator[Any]:
    """Let errors about a nonfinite point name its file and line, and those about an empty coordinate the remedy.

    `counts` are the numbers of points of the files, which are one after the other. `drop`: the command can leave such
    points out.
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


def table_clouds(
    path: FilePath, rows: int | None, selection: Selection, nan_if_empty: bool, progress: Progress | None
) -> Iterator[Cloud]:
    """Yield the points of a table of text; groups are texts unless all points are in one cloud."""
    has_groups, has_values = selection.by is not None, selection.value is not None

    def choose(names: Any, width: int) -> tuple[Any, ...]:
        other = selection.other(path, names, width)
        pair = choose_columns(path, names, width, selection.columns, by=other)
        return ((*pair, other), None) if has_values else (pair, other)

    missing = "a number" if has_values else "a coordinate"
    layout, first, parts, texts = None, 0, list[np.ndarray](), Texts()
    for block in read_blocks(path, choose, missing=missing, nan_if_empty=nan_if_empty, counted=True, progress=progress):
        layout = block.layout
        parts.append(block.floats())
        if has_groups:
            texts.add(*block.numbered_texts())
        if rows is not None and len(parts[-1]):
            cloud = _cloud_of_lines(path, layout, parts[-1], texts if has_groups else None, first, integers=False)
            first, parts, texts = first + len(parts[-1]), [], Texts()
            yield from parts_of(cloud, rows)
    if rows is None or not first:
        numbers = np.concatenate(parts) if parts else np.empty((0, 2 + has_values))
        yield _cloud_of_lines(path, layout, numbers, texts if has_groups else None, 0, integers=True)


def _cloud_of_lines(
    path: FilePath, layout: Any, numbers: np.ndarray, texts: Texts | None, first: int, *, integers: bool
) -> Cloud:
    """Return columns x, y and values with groups; `InvalidInput` names the first line without a group.

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
    notes = () if layout is None else layout.notes
    if numbers.shape[1] == 2:
        return Cloud(numbers, names, groups, notes=notes)
    return Cloud(np.ascontiguousarray(numbers[:, :2]), names, values=np.ascontiguousarray(numbers[:, 2]), notes=notes)
