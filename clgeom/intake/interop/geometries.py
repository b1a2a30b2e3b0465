"""Conversion of Shapely geometries to points: their vertices.

The row of a geometry is its index in the array. A missing geometry or an empty point becomes a point of NaN, so that
point i stays that of row i. Other empty geometries have no vertices.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from clgeom.arguments import Parameter
from clgeom.errors import short
from clgeom.optional import any_m, is_instance

#: Points, and the number of points of each row, or None if each row has one.
PointsAndSizes: TypeAlias = tuple[np.ndarray, np.ndarray | None]
#: Shapely's type numbers.
MISSING, POINT = -1, 0


def is_geometry(value: object) -> bool:
    return is_instance(value, "shapely", "Geometry")


def is_point(value: Any) -> bool:
    """Return whether a value is a single point that is not empty."""
    return is_instance(value, "shapely", "Point") and not value.is_empty


def holds_geometries(array: np.ndarray) -> bool:
    """Return whether the first entry that is not missing, in an array of objects, is a geometry."""
    if "shapely" not in sys.modules:
        return False
    return is_geometry(next((one for one in array.flat if one is not None), None))


def vertices_of(geometries: Any, parameter: Parameter) -> PointsAndSizes:
    """Return all vertices of one or more geometries, in order, as float64, and their number in each geometry.

    The numbers are None if each geometry has one vertex.
    """
    import shapely

    array = np.asarray(geometries, dtype=object)
    if array.ndim > 1:
        raise parameter.wrong("have shape (n,) if it holds geometries", f"{array.shape}")
    array = np.atleast_1d(array)
    if not shapely.is_valid_input(array).all():
        k = int(np.argmin(shapely.is_valid_input(array)))
        raise parameter.wrong("hold nothing but geometries beside geometries", f"{short(array[k])} at [{k}]")
    dimensions = ("Z", shapely.has_z(array).any()), ("M", any_m(shapely, array))
    left_out = [letter for letter, there in dimensions if there]
    if left_out:
        dimensions_left_out(left_out, parameter)
    points, rows = shapely.get_coordinates(array, return_index=True)
    sizes = sizes_of(rows, len(array))
    if sizes is not None:
        nowhere = np.flatnonzero(sizes == 0)
        nowhere = nowhere[np.isin(shapely.get_type_id(array[nowhere]), (MISSING, POINT))]
        points, rows = with_missing(points, rows, nowhere)
        sizes = sizes_of(rows, len(array))
    return points, sizes


def dimensions_left_out(letters: Sequence[str], parameter: Parameter) -> None:
    """Warn that coordinates of further dimensions are not used."""
    parameter.note(f"has {' and '.join(letters)} coordinates, which clgeom leaves out.")


def with_missing(points: np.ndarray, rows: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return points and their rows, with a point of NaN added for each missing row."""
    if len(missing) == 0:
        return points, rows
    points = np.concatenate([points, np.full((len(missing), 2), np.nan, points.dtype)])
    rows = np.concatenate([rows, missing])
    order = np.argsort(rows, kind="stable")
    return points[order], rows[order]


def sizes_of(rows: np.ndarray, n: int) -> np.ndarray | None:
    """Return the number of points of each of `n` rows, None if each has one."""
    sizes = np.bincount(rows, minlength=n)
    return None if (sizes == 1).all() else sizes
