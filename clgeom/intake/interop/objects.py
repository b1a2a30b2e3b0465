"""Conversion of objects that hold points or numbers to NumPy arrays.

=======================================  ==================
object                                   module
=======================================  ==================
structured arrays                        ``columns``
Shapely's geometries, arrays of them     ``geometries``
PyArrow, Polars, Arrow's PyCapsules      ``arrow``
pandas, GeoPandas, laspy                 ``frames``
DLPack, CUDA's array interface           ``memory``
=======================================  ==================

An object is recognised by its class. Its package is imported already, and no other package is imported for the check.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clgeom.arguments import Parameter, held, is_masked_array
from clgeom.intake.interop import arrow, frames, geometries, memory
from clgeom.intake.interop.columns import structured_points


def points_and_sizes(value: Any, *, caller: str, name: str, in_order: bool = False) -> tuple[Any, np.ndarray | None]:
    """Return the points of an object as input of ``numpy.asarray``, and the number of points of each row, or None.

    The value itself is returned if NumPy reads it correctly. The numbers are None if point i is row i. With `in_order`,
    two columns are taken in their order, whatever their names.
    """
    parameter = Parameter(name, caller, in_order)
    if isinstance(value, np.ndarray):
        if value.dtype.names:
            return structured_points(value, parameter), None
        holds = value.dtype == object and geometries.holds_geometries(value)
        return geometries.vertices_of(value, parameter) if holds else (value, None)
    if isinstance(value, (list, tuple)):
        first = next((one for one in value if one is not None), None)
        if is_masked_array(first):
            return _masked_rows(value, parameter), None
        return geometries.vertices_of(_objects(value), parameter) if geometries.is_geometry(first) else (value, None)
    if geometries.is_geometry(value):
        return geometries.vertices_of(value, parameter)
    found = None
    if frames.is_pandas(value):
        found = frames.pandas_points(value, parameter)
    elif frames.is_laspy(value):
        found = frames.laspy_points(value)
    elif arrow.is_arrow(value):
        found = arrow.arrow_points(arrow.imported(value, parameter), parameter)
    return (memory.host_copy(value, parameter), None) if found is None else found


def values_of(value: Any, *, caller: str, name: str) -> Any:
    """Return the numbers of an object as input of ``numpy.asarray``: the value itself if NumPy reads it correctly."""
    held(value, name, caller=caller)
    if isinstance(value, (np.ndarray, list, tuple)):
        return value
    parameter, found = Parameter(name, caller), None
    if frames.is_pandas(value):
        found = frames.pandas_values(value, parameter)
    elif arrow.is_arrow(value):
        found = arrow.arrow_values(arrow.imported(value, parameter), parameter)
    return memory.host_copy(value, parameter) if found is None else found


def _masked_rows(rows: Sequence[Any], parameter: Parameter) -> np.ma.MaskedArray:
    """Return rows as one masked array: ``numpy.asarray`` would take them without their masks."""
    try:
        return np.ma.array(rows)
    except ValueError as error:
        raise parameter.wrong("have rows of one length", f"what is no array ({error})") from error


def _objects(values: Sequence[object]) -> np.ndarray:
    """Return a one-dimensional array of these objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array
