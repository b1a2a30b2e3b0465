"""Read points with their groups, and write the hulls of groups."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io import arrays
from clgeom.io.atomic import check_output, replacing
from clgeom.io.hulls import as_lonlat
from clgeom.io.points import check_points_file, is_table, read_columns
from clgeom.io.tables import line_of_row
from clgeom.runtime.messages import shown

#: Other properties of each hull in the output: the column of groups takes none of these names.
TAKEN = ("points", "area", "perimeter", "vertices", "crs", "index", "x", "y")


def read_groups(path, by, *, columns=None, array=None, progress=None):
    """Return 2D points and their groups.

    Parameters
    ----------
    path, columns, array, progress
        As in `read_points`. By default the column of the groups is not used for x or y.
    by : str
        Column whose values name the groups, by name or by number from 1; or an array of a .npz file. Its values are
        integers or text.

    Returns
    -------
    points : ndarray, shape (n, 2)
    columns : pair of str or None
        The names of the columns of x and y.
    labels : ndarray of int64, shape (n,)
        The index of each point's group in `names`.
    names : list
        The groups' names, ascending: int where all are integers, else str.
    title : str
        Name of the column or array, "group" if it has none.

    Raises
    ------
    InvalidInput
        The file cannot be read, or a point's group is missing.

    Notes
    -----
    In a table of text a name is kept as it is written, without the blanks around it unless they are quoted. The names
    become integers if each is written as Python writes an int: "01", "+1" and "1.0" are text.
    """
    path = Path(path)
    check_points_file(path, columns, array, caller="read_groups")
    if is_table(path):
        points, pair, groups, title = read_columns(path, columns=columns, by=by, progress=progress)
        if not all(map(str.strip, groups)):
            row = next(row for row, group in enumerate(groups) if not group.strip())
            raise InvalidInput(
                f"The file '{path}' is malformed in line {line_of_row(path, row)}: the group in '{shown(title)}' is "
                "missing."
            )
        labels, names = _numbered_texts(groups)
        return points, pair, labels, names, title
    if path.suffix.lower() == ".npz":
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
    """Return (number of the group of each text, the distinct names ascending); names are int if all are integers."""
    names = set(groups)
    integers = {name: _as_integer(name) for name in names}
    if None not in integers.values():
        groups, names = [integers[name] for name in groups], integers.values()
    names = sorted(names)
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([numbers[name] for name in groups], np.int64), names


def _as_integer(name: str) -> int | None:
    """Return the integer that Python writes as this text, None if there is none."""
    digits = name.removeprefix("-")
    if len(digits) > 18 or not (digits.isascii() and digits.isdecimal()):
        return None
    return int(name) if str(int(name)) == name else None


def _numbered(path, values):
    """Return (number of the group of each value, the distinct values ascending)."""
    if values.dtype.kind == "f" and (values == np.rint(values)).all() and (abs(values) < 2.0**53).all():
        values = values.astype(np.int64)  # whole numbers in an array of floats
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
        Name of the groups: a property of each feature, or the first column; "group" if the name is taken.
    path : path-like
        .geojson or .json (a FeatureCollection), or .csv (group, index, x, y of each vertex).
    crs : optional
        As in `encode_hull`.
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
    """Return a field of a .csv file, quoted if it would not be read back as it is."""
    plain = field.isprintable() and not set(field) & set(',;"') and field == field.strip() and field[:1] != "#"
    return field if plain else '"' + field.replace('"', '""') + '"'


HULLS_FORMATS = {".geojson": _as_geojson, ".json": _as_geojson, ".csv": _as_csv}
