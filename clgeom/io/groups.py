"""Read points with their groups, and write the hulls of groups."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from clgeom.core.host_floats import keeps_subnormals
from clgeom.io.atomic import check_output, replacing
from clgeom.io.features import Feature, encode_kml
from clgeom.io.files import FilePath, Progress
from clgeom.io.hulls import as_lonlat, as_wkt
from clgeom.io.points import read_cloud

#: Other properties of each hull in the output. The column of groups gets none of these names.
TAKEN = ("points", "area", "perimeter", "vertices", "crs", "index", "x", "y")


@keeps_subnormals
def read_groups(
    path: FilePath,
    by: str | None,
    *,
    columns: Sequence[str] | None = None,
    array: str | None = None,
    progress: Progress | None = None,
) -> tuple[Any, ...]:
    """Return (points, names of x and y, numbers of the groups, their names, title) of a file, as `read_cloud` does."""
    cloud = read_cloud(path, by=by, columns=columns, array=array, progress=progress)
    groups = cloud.groups
    assert groups is not None
    return cloud.coordinates, cloud.names, groups.numbers, groups.names, groups.title


# Results --------------------------------------------------------------------------------------------------------


@keeps_subnormals
def write_hulls(batch: Any, names: Any, title: str, path: FilePath, *, crs: Any = None) -> None:
    """Write the hulls of groups to a file, whole or not at all.

    Parameters
    ----------
    batch : HullBatch
    names : list
        Of the groups.
    title : str
        Name of the groups: a property of each feature, or the first column; "group" if the name is taken.
    path : path-like
        .geojson or .json (a FeatureCollection), .kml, .csv (group, index, x, y of each vertex), or .wkt (a line for
        each hull).
    crs : optional
        As in `encode_hull`.
    """
    check_output(path, HULLS_FORMATS)
    title = "group" if title.lower() in TAKEN else title
    with replacing(path) as file:
        for part in HULLS_FORMATS[Path(path).suffix.lower()](batch, names, title, path, crs):
            file.write(part)


def _in_lonlat(batch: Any, names: Any, title: str, path: FilePath, crs: Any) -> Iterator[Any]:
    """Yield the features of a batch in longitude and latitude."""
    for name, feature in zip(names, batch.features()):
        measures = {key: value for key, value in feature["properties"].items() if key != "label"}
        yield as_lonlat({**feature, "properties": {title: name, **measures}}, crs, path)


def _as_geojson(batch: Any, names: Any, title: str, path: FilePath, crs: Any) -> Iterator[Any]:
    yield b'{"type": "FeatureCollection", "features": [\n'
    for i, feature in enumerate(_in_lonlat(batch, names, title, path, crs)):
        yield (",\n" if i else "").encode() + json.dumps(feature, allow_nan=False).encode()
    yield b"\n]}\n"


def _as_kml(batch: Any, names: Any, title: str, path: FilePath, crs: Any) -> Iterator[Any]:
    features = [
        Feature(feature["geometry"], {"label": str(name), **feature["properties"]})
        for name, feature in zip(names, _in_lonlat(batch, names, title, path, crs))
    ]
    yield encode_kml(features, path)


def _as_wkt(batch: Any, names: Any, title: str, path: FilePath, crs: Any) -> Iterator[Any]:
    del names, title
    for hull in batch:
        yield as_wkt(hull, crs, path)


def _as_csv(batch: Any, names: Any, title: str, path: FilePath, crs: Any) -> Iterator[Any]:
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


HULLS_FORMATS = {
    ".geojson": _as_geojson,
    ".json": _as_geojson,
    ".kml": _as_kml,
    ".csv": _as_csv,
    ".wkt": _as_wkt,
}
