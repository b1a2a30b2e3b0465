"""Hulls to files: GeoJSON, CSV, WKT, NumPy. Coordinates keep every bit."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import numpy as np

from clgeom.io.atomic import check_output, replacing


def write_hull(hull, path) -> None:
    """Write a hull to a file, whole or not at all.

    Parameters
    ----------
    hull : Hull
    path : path-like
        Its ending chooses the format: .geojson or .json (a Feature), .csv (index, x, y of each vertex), .wkt,
        .npy (the vertices' coordinates), .npz (arrays "vertices" and "points").

    Raises
    ------
    InvalidInput
        The file cannot be written.
    """
    target = check_output(path, HULL_FORMATS)
    content = HULL_FORMATS[Path(path).suffix.lower()](hull)
    with replacing(target) as file:
        file.write(content)


def finite(number: float) -> float | None:
    """A number that JSON can hold: None for one that overflowed."""
    return float(number) if math.isfinite(number) else None


def as_geojson(hull) -> bytes:
    properties = {
        "points": int(hull.n),
        "area": finite(hull.area),
        "perimeter": finite(hull.perimeter),
        "vertices": hull.vertices.tolist(),
    }
    feature = {"type": "Feature", "properties": properties, "geometry": hull.__geo_interface__}
    return (json.dumps(feature, allow_nan=False) + "\n").encode()


def as_csv(hull) -> bytes:
    rows = zip(hull.vertices.tolist(), hull.points.tolist())
    return "".join(["index,x,y\n", *(f"{index},{x!r},{y!r}\n" for index, (x, y) in rows)]).encode()


def as_wkt(hull) -> bytes:
    kind, corners = hull.__geo_interface__["type"].upper(), hull.points.tolist()
    if not corners:
        return f"{kind} EMPTY\n".encode()
    if kind == "POLYGON":
        return f"POLYGON ({_wkt([*corners, corners[0]])})\n".encode()
    return f"{kind} {_wkt(corners)}\n".encode()


def _wkt(corners):
    return "({})".format(", ".join(f"{x!r} {y!r}" for x, y in corners))


def as_npy(hull) -> bytes:
    out = io.BytesIO()
    np.save(out, hull.points)
    return out.getvalue()


def as_npz(hull) -> bytes:
    out = io.BytesIO()
    np.savez(out, vertices=hull.vertices, points=hull.points)
    return out.getvalue()


HULL_FORMATS = {
    ".geojson": as_geojson,
    ".json": as_geojson,
    ".csv": as_csv,
    ".wkt": as_wkt,
    ".npy": as_npy,
    ".npz": as_npz,
}
