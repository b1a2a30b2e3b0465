"""Points in groups from a file, and their hulls to a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io import arrays, text
from clgeom.io.atomic import check_output, replacing
from clgeom.io.hulls import as_lonlat
from clgeom.io.points import reader_of

#: What else a row or a feature of the output says of each hull: a column of groups is not called so.
TAKEN = ("points", "area", "perimeter", "vertices", "crs", "index", "x", "y")


def read_groups(path, by, *, columns=None, array=None, progress=None):
    """Read 2D points and the groups that they are in.

    Parameters
    ----------
    path, columns, array, progress
        As for `read_points`. The column of the groups is not taken for x or y by default.
    by : str
        Which column of a table or of an array holds the groups' names, by name or by number, the first being 1; or
        which array of a .npz file. Integers or text.

    Returns
    -------
    points : ndarray, shape (n, 2)
    columns : pair of str or None
        The names of the columns of x and y.
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

    Notes
    -----
    In a table of text a name is kept as it is written, without the blanks around it; quotes keep those. The names are
    integers where every one is written as Python writes an int: "01", "+1" and "1.0" are text.
    """
    path = Path(path)
    reader = reader_of(path, columns, array, caller="read_groups")
    if reader is text.read_text:
        points, pair, groups, title = text.read_grouped_text(path, by, columns=columns, progress=progress)
        labels, names = _numbered_texts(groups)
        return points, pair, labels, names, title
    if reader is arrays.read_npz:
        points, pair, groups, title = arrays.read_grouped_npz(path, by, columns=columns, array=array)
    else:
        points, pair, groups, title = arrays.read_grouped_npy(path, by, columns=columns)
    if groups.shape != points.shape[:1]:
        raise InvalidInput(
            f"The groups '{by}' in '{path}' must be one for each of the {len(points)} points. "
            f"Got shape {groups.shape} instead."
        )
    return points, pair, *_numbered(path, groups), title


def _numbered_texts(groups):
    """(number of each text's group, the distinct ones ascending), as integers where all are."""
    names = set(groups)
    integers = {name: _as_integer(name) for name in names}
    if None not in integers.values():
        groups, names = [integers[name] for name in groups], integers.values()
    names = sorted(names)
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([numbers[name] for name in groups], np.int64), names


def _as_integer(name: str) -> int | None:
    """The integer that a text is written as, None if it is not one, or is written in another way."""
    digits = name.removeprefix("-")
    if len(digits) > 18 or not (digits.isascii() and digits.isdecimal()):
        return None
    return int(name) if str(int(name)) == name else None


def _numbered(path, values):
    """(number of each value's group, the distinct values ascending)."""
    if values.dtype.kind == "f" and (values == np.rint(values)).all() and (abs(values) < 2.0**53).all():
        values = values.astype(np.int64)  # a column of an array of floats
    if values.dtype.kind not in "iuUb":
        raise InvalidInput(f"The groups in '{path}' must be integers or text. Got {values.dtype} instead.")
    try:
        names, labels = np.unique(values, return_inverse=True)
        names = names.tolist()
        "".join(names if values.dtype.kind == "U" else ()).encode()
    except (ValueError, SystemError) as error:  # code points that do not exist
        raise InvalidInput(f"The groups in '{path}' must be integers or text: {error}.") from error
    return labels.reshape(-1).astype(np.int64), names


# Results --------------------------------------------------------------------------------------------------------


def write_hulls(batch, names, title, path, *, crs=None) -> None:
    """Write the hulls of groups to a file, whole or not at all.

    Parameters
    ----------
    batch : HullBatch
    names : list
        Of the groups.
    title : str
        What they are called: a property of each feature, or the first column; "group" where that is taken.
    path : path-like
        .geojson or .json (a FeatureCollection), or .csv (group, index, x, y of each vertex).
    crs : optional
        As for `encode_hull`.
    """
    check_output(path, HULLS_FORMATS)
    title = "group" if title.lower() in TAKEN else title
    with replacing(path) as file:
        for part in HULLS_FORMATS[Path(path).suffix.lower()](batch, names, title, path, crs):
            file.write(part)


def _as_geojson(batch, names, title, path, crs):
    yield b'{"type": "FeatureCollection", "features": [\n'
    for i, (name, feature) in enumerate(zip(names, batch.features())):
        measures = {key: value for key, value in feature["properties"].items() if key != "label"}
        feature = as_lonlat({**feature, "properties": {title: name, **measures}}, crs, path)
        yield (",\n" if i else "").encode() + json.dumps(feature, allow_nan=False).encode()
    yield b"\n]}\n"


def _as_csv(batch, names, title, path, crs):
    del path, crs
    yield f"{_quoted(title)},index,x,y\n".encode()
    for name, hull in zip(names, batch):
        start = _quoted(str(name))
        rows = zip(hull.vertices.tolist(), hull.points.tolist())
        yield "".join(f"{start},{index},{x!r},{y!r}\n" for index, (x, y) in rows).encode()


def _quoted(field: str) -> str:
    """A field of a .csv file that reads back as it is, here and elsewhere."""
    plain = field.isprintable() and not set(field) & set(',;"') and field == field.strip() and field[:1] != "#"
    return field if plain else '"' + field.replace('"', '""') + '"'


HULLS_FORMATS = {".geojson": _as_geojson, ".json": _as_geojson, ".csv": _as_csv}
