"""Conversion of frames and series of pandas and GeoPandas, and of points of laspy; their reference systems."""

from __future__ import annotations

import struct
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import Parameter
from clgeom.intake.interop.arrow import arrow_points, chunked, numbers_of
from clgeom.intake.interop.columns import choose_pair, interleaved, without_missing
from clgeom.intake.interop.geometries import PointsAndSizes, holds_geometries, vertices_of
from clgeom.optional import is_installed, is_instance

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: Exceptions that laspy and lazrs raise for damaged files, besides errors of their own.
DAMAGED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError, EOFError, struct.error)

OR_GEOMETRIES = ", or a column of geometries"


# pandas ---------------------------------------------------------------------------------------------------------


def is_pandas(value: object) -> bool:
    """Return whether a value is a frame, a series, an index or an extension array of pandas or GeoPandas."""
    if is_instance(value, "pandas", "DataFrame", "Series", "Index"):
        return True
    return is_instance(value, "pandas.api.extensions", "ExtensionArray")


def pandas_points(value: Any, parameter: Parameter) -> PointsAndSizes | None:
    """Return (points, sizes) as `vertices_of` does; None for a value that ``numpy.asarray`` can read."""
    if is_instance(value, "pandas", "DataFrame"):
        return _pandas_frame_points(value, parameter)
    array = _pandas_array(value)
    if _is_arrow(array):
        return arrow_points(_as_arrow(array), parameter)
    if str(array.dtype) in ("geometry", "object"):
        objects = np.asarray(array, dtype=object)
        if str(array.dtype) == "geometry" or holds_geometries(objects):
            return vertices_of(objects, parameter)
    return None


def pandas_values(value: Any, parameter: Parameter) -> np.ndarray | None:
    """Return the numbers of a series; None for a value that ``numpy.asarray`` can read."""
    if is_instance(value, "pandas", "DataFrame"):
        return None
    array = _pandas_array(value)
    if not _is_arrow(array) and not hasattr(array.dtype, "numpy_dtype"):
        return None
    return without_missing(_pandas_numbers(array, parameter.name, parameter), parameter)


def _pandas_array(value: Any) -> Any:
    """Return the array of a series or an index; an extension array unchanged."""
    return value.to_numpy() if is_instance(value, "pandas", "MultiIndex") else getattr(value, "array", value)


def _is_arrow(array: Any) -> bool:
    return is_instance(array.dtype, "pandas", "ArrowDtype")


def _as_arrow(array: Any) -> pa.ChunkedArray:
    import pyarrow as pa  # imported already: such an array needs it

    return chunked(pa.array(array))


def _pandas_numbers(array: Any, name: str, parameter: Parameter) -> np.ndarray:
    """Return a column as an array, masked where a number is missing."""
    if _is_arrow(array):
        return numbers_of(_as_arrow(array), name, parameter)
    numbers = getattr(array.dtype, "numpy_dtype", None)  # for pandas' nullable types
    if numbers is None or isinstance(array.dtype, np.dtype):
        return np.asarray(array)
    missing = np.asarray(array.isna())
    if missing.any():
        return np.ma.MaskedArray(array.to_numpy(dtype=numbers, na_value=0), missing)
    values: np.ndarray = array.to_numpy(dtype=numbers)
    return values


def _pandas_frame_points(frame: pd.DataFrame, parameter: Parameter) -> PointsAndSizes | None:
    names = list(map(str, frame.columns))
    place = _pandas_geometry_column(frame)
    if place is not None:
        return pandas_points(frame.iloc[:, place], parameter)
    pair = choose_pair(names, parameter, OR_GEOMETRIES)
    if pair == (0, 1) and len(names) == 2:
        types = set(frame.dtypes)
        if len(types) == 1 and isinstance(types.pop(), np.dtype):
            return frame.to_numpy(), None  # no copy if the frame holds one array of rows
    columns = [[_pandas_numbers(frame.iloc[:, i].array, names[i], parameter)] for i in pair]
    return interleaved([names[i] for i in pair], columns, parameter), None


def _pandas_geometry_column(frame: pd.DataFrame) -> int | None:
    """Return the position of the active geometry, or of the only column of geometries; None if there is none."""
    active = getattr(frame, "active_geometry_name", None)  # of a GeoDataFrame
    if active is not None:
        place: int = frame.columns.get_loc(active)
        return place
    found = [i for i, dtype in enumerate(frame.dtypes) if str(dtype) == "geometry"]
    return found[0] if len(found) == 1 else None


# laspy ----------------------------------------------------------------------------------------------------------


def is_laspy(value: object) -> bool:
    """Return whether this is a LAS file in memory, or its points."""
    return is_instance(value, "laspy", "LasData", "ScaleAwarePointRecord")


def laspy_points(value: Any) -> PointsAndSizes:
    """Return the scaled coordinates, float64. ``numpy.asarray`` would make an object of each point."""
    return np.column_stack([value.x, value.y]), None


# Reference systems ----------------------------------------------------------------------------------------------


def is_geopandas(rows: object) -> bool:
    """Return whether `rows` is a GeoDataFrame or a GeoSeries."""
    return is_instance(rows, "geopandas", "GeoSeries", "GeoDataFrame")


def crs_of(points: Any) -> Any:
    """Return the coordinate reference system of points in an object of GeoPandas or laspy, None for other points."""
    if is_laspy(points):
        return crs_of_header(points.header) if hasattr(points, "header") else None
    try:
        return points.crs if is_geopandas(points) else None
    except AttributeError:  # a frame without an active geometry
        return None


def crs_of_header(header: Any) -> str | None:
    """Return the horizontal reference system in the header of a LAS file, None if there is none or pyproj does not know
    it.
    """
    if not is_installed("pyproj"):
        return None
    import pyproj

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            crs = header.parse_crs()
    except (pyproj.exceptions.ProjError, *DAMAGED):
        return None
    parts = [] if crs is None else crs.sub_crs_list if crs.is_compound else [crs]
    return next((part.to_string() for part in parts if part.is_projected or part.is_geographic), None)
