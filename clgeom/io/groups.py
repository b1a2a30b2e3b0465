"""Points in groups from a file, and their hulls to a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io import arrays, text
from clgeom.io.atomic import check_output, replacing
from clgeom.io.columns import position_of
from clgeom.io.points import READERS, read_points


def read_groups(path, by, *, columns=None, array=None, progress=None):
    """Read 2D points and the groups that they are in.

    Parameters
    ----------
    path, columns, array, progress
        As for `read_points`.
    by : str
        What names the groups: a column of a table or of an array, by name or by number, the first being 1; or an array
        of a .npz file. Integers or text.

    Returns
    -------
    points : ndarray, shape (n, 2)
    labels : ndarray of int64, shape (n,)
        The number of each point's group.
    names : list
        The groups' names, ascending: int where all are integers, else str.
    title : str
        What they are called: the name of the column or array, "group" where it has none.

    Raises
    ------
    InvalidInput
        The file cannot be read, or a point's group is missing.
    """
    reader = READERS.get(Path(path).suffix.lower())
    if reader is text.read_text:
        if array is not None:
            raise InvalidInput(
                f"The 'array' parameter of read_groups is for .npz files. Got the file '{path}' instead."
            )
        try:
            points, names, title = text.read_grouped_text(path, by, columns=columns, progress=progress)
        except OSError as error:
            raise InvalidInput(f"The file '{path}' cannot be read: {error.strerror or error}.") from error
        return points, *_numbered(path, _as_integers(names)), title
    points = read_points(path, columns=columns, array=array)  # says what is wrong with the file
    if columns is None and reader is arrays.read_npy:
        points = points[:, :2] if points.ndim == 2 and not points.dtype.names else points
    values, title = _values(path, by, reader)
    if values.shape != points.shape[:1]:
        raise InvalidInput(
            f"The groups '{by}' in '{path}' must be one for each of the {len(points)} points. "
            f"Got shape {values.shape} instead."
        )
    return points, *_numbered(path, values), title


def _values(path, by, reader):
    """The array that names the groups in a NumPy file, and its own name."""
    held = np.load(path, allow_pickle=False)
    if reader is arrays.read_npz:
        with held:
            if by in held.files:
                return held[by], by
            raise InvalidInput(f"The file '{path}' has no array '{by}'. It has: {', '.join(held.files)}.")
    names = list(held.dtype.names) if held.dtype.names else None
    width = len(names) if names else held.shape[1] if held.ndim == 2 else 1
    column = position_of(path, names, width, by.strip())
    return (held[names[column]], names[column]) if names else (held[:, column], "group")


def _as_integers(names):
    """Texts as an array: of int64 where all are integers."""
    try:
        if not any("_" in name or not name.isascii() for name in names):
            return np.array([int(name) for name in names], np.int64)
    except (ValueError, OverflowError):
        pass
    return np.array(names, str)


def _numbered(path, values):
    """(number of each value's group, the distinct values ascending)."""
    if values.dtype.kind == "f" and (values == np.rint(values)).all() and (abs(values) < 2.0**53).all():
        values = values.astype(np.int64)  # a column of an array of floats
    if values.dtype.kind not in "iuUb":
        raise InvalidInput(f"The groups in '{path}' must be integers or text. Got {values.dtype} instead.")
    names, labels = np.unique(values, return_inverse=True)
    return labels.reshape(-1).astype(np.int64), names.tolist()


# Results --------------------------------------------------------------------------------------------------------


def write_hulls(batch, names, title, path) -> None:
    """Write the hulls of groups to a file, whole or not at all.

    Parameters
    ----------
    batch : HullBatch
    names : list
        Of the groups.
    title : str
        What they are called: a property of each feature, or the first column.
    path : path-like
        .geojson or .json (a FeatureCollection), or .csv (group, index, x, y of each vertex).
    """
    target = check_output(path, HULLS_FORMATS)
    with replacing(target) as file:
        for part in HULLS_FORMATS[Path(path).suffix.lower()](batch, names, title):
            file.write(part)


def _as_geojson(batch, names, title):
    yield b'{"type": "FeatureCollection", "features": [\n'
    for i, feature in enumerate(batch.features(**{title: names})):
        yield (",\n" if i else "").encode() + json.dumps(feature, allow_nan=False).encode()
    yield b"\n]}\n"


def _as_csv(batch, names, title):
    import csv
    import io

    for i, hull in enumerate(batch):
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        if i == 0:
            writer.writerow([title, "index", "x", "y"])
        for index, (x, y) in zip(hull.vertices.tolist(), hull.points.tolist()):
            writer.writerow([names[i], index, repr(x), repr(y)])
        yield out.getvalue().encode()


HULLS_FORMATS = {".geojson": _as_geojson, ".json": _as_geojson, ".csv": _as_csv}
