"""Conversion of frames and series of pandas, GeoPandas and Polars, and of points of laspy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.intake.interop.arrow import arrow_column, arrow_points
from clgeom.intake.interop.columns import Column, choose_pair, interleaved, joined, known_pair
from clgeom.intake.interop.geometries import PointsAndSizes, holds_geometries, vertices_of
from clgeom.intake.interop.parameter import Parameter, is_instance

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

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
    return joined(_pandas_column(parameter.name, array, parameter), parameter)


def _pandas_array(value: Any) -> Any:
    """Return the array of a series or an index; an extension array unchanged."""
    return value.to_numpy() if is_instance(value, "pandas", "MultiIndex") else getattr(value, "array", value)


def _is_arrow(array: Any) -> bool:
    return is_instance(array.dtype, "pandas", "ArrowDtype")


def _as_arrow(array: Any) -> pa.Array:
    import pyarrow as pa  # imported already: such an array needs it

    return pa.array(array)


def _pandas_column(name: str, array: Any, parameter: Parameter) -> Column:
    if _is_arrow(array):
        return arrow_column(_as_arrow(array), name, parameter)
    numbers = getattr(array.dtype, "numpy_dtype", None)  # for pandas' nullable types
    if numbers is None or isinstance(array.dtype, np.dtype):
        return Column(name, [(np.asarray(array), None)])
    missing = np.asarray(array.isna())
    if missing.any():
        return Column(name, [(array.to_numpy(dtype=numbers, na_value=0), missing)])
    return Column(name, [(array.to_numpy(dtype=numbers), None)])


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
    columns = (_pandas_column(names[i], frame.iloc[:, i].array, parameter) for i in pair)
    return interleaved(columns, parameter), None


def _pandas_geometry_column(frame: pd.DataFrame) -> int | None:
    """Return the position of the active geometry, or of the only column of geometries; None if there is none."""
    active = getattr(frame, "active_geometry_name", None)  # of a GeoDataFrame
    if active is not None:
        place: int = frame.columns.get_loc(active)
        return place
    found = [i for i, dtype in enumerate(frame.dtypes) if str(dtype) == "geometry"]
    return found[0] if len(found) == 1 else None


# Polars ---------------------------------------------------------------------------------------------------------


def is_polars(value: object) -> bool:
    return is_instance(value, "polars", "DataFrame", "Series", "LazyFrame")


def polars_points(value: Any, parameter: Parameter) -> PointsAndSizes:
    """Return (points, sizes) of a frame, or of a series of arrays of two numbers, structs or well-known binary."""
    import polars as pl

    _refuse_lazy(value, parameter)
    if isinstance(value, pl.Series):
        return _polars_series_points(value, parameter)
    names = value.columns
    of_points = [i for i, kind in enumerate(value.dtypes) if _is_of_points(kind)]
    if known_pair(names) is None and len(of_points) == 1:
        return _polars_series_points(value.to_series(of_points[0]), parameter)
    pair = choose_pair(names, parameter, ", or one column of points")
    columns = (_polars_column(value.to_series(i), parameter) for i in pair)
    return interleaved(columns, parameter), None


def polars_values(value: Any, parameter: Parameter) -> np.ndarray | None:
    """Return the numbers of a series; None for a value that ``numpy.asarray`` can read."""
    import polars as pl

    _refuse_lazy(value, parameter)
    if not isinstance(value, pl.Series) or not (value.dtype.is_numeric() or value.dtype == pl.Boolean):
        return None
    return joined(_polars_column(value, parameter), parameter)


def _refuse_lazy(value: object, parameter: Parameter) -> None:
    if is_instance(value, "polars", "LazyFrame"):
        raise parameter.wrong("hold its rows", "a LazyFrame: call its method collect")


def _is_of_points(kind: pl.DataType) -> bool:
    import polars as pl

    if isinstance(kind, pl.Array):
        return kind.shape == (2,)
    return isinstance(kind, pl.Struct) and known_pair([field.name for field in kind.fields]) is not None


def _polars_column(series: pl.Series, parameter: Parameter) -> Column:
    import polars as pl

    wide = str(series.dtype) in ("Int128", "UInt128")  # NumPy has no such integers
    if wide or not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        raise parameter.wrong("hold numbers", f"{series.dtype} in column '{series.name}'")
    missing = series.is_null().to_numpy() if series.null_count() else None
    filled = series if missing is None else series.fill_null(False if series.dtype == pl.Boolean else 0)
    return Column(series.name, [(filled.to_numpy(), missing)])


def _polars_series_points(series: pl.Series, parameter: Parameter) -> PointsAndSizes:
    import polars as pl

    kind = series.dtype
    if isinstance(kind, pl.Struct):
        return polars_points(series.struct.unnest(), parameter)
    if isinstance(kind, pl.Array) and kind.shape == (2,):
        if not series.null_count() and not series.explode().null_count():
            return series.to_numpy(), None
        columns = (_polars_column(series.arr.get(k).alias("xy"[k]), parameter) for k in (0, 1))
        return interleaved(columns, parameter), None
    if kind == pl.Binary or isinstance(kind, (pl.List, pl.Array)):
        return arrow_points(series.to_arrow(), parameter)
    raise parameter.wrong("hold points: arrays of two numbers, structs of x and y, or well-known binary", f"{kind}")


# laspy ----------------------------------------------------------------------------------------------------------


def is_laspy(value: object) -> bool:
    """Return whether this is a LAS file in memory, or its points."""
    return is_instance(value, "laspy", "LasData", "ScaleAwarePointRecord")


def laspy_points(value: Any) -> PointsAndSizes:
    """Return the scaled coordinates, float64. ``numpy.asarray`` would make an object of each point."""
    return np.column_stack([value.x, value.y]), None
