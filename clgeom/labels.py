"""Conversion of the labels of groups to keys that sort as the labels do.

Integers, floats and dates are their own keys. Text, categories and other values become the numbers 0, 1, 2 .. of the
distinct labels in ascending order, and -1 for null.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.errors import is_integer, short
from clgeom.optional import require
from clgeom.runtime.arguments import wrong
from clgeom.runtime.device_arrays import fetched, is_device_array
from clgeom.runtime.interop.objects import values_of

EXPECTED = "integers, floats, text, dates, categories, or other values of one kind that sort, of shape (n,)"
#: Labels of an Arrow array that one thread converts to numbers.
PIECE = 1 << 20


@dataclass(frozen=True)
class Labels:
    """Labels as keys.

    Parameters
    ----------
    keys : ndarray or pyopencl.array.Array, shape (n,)
        Integers or floats that sort as the labels do.
    column_of : callable
        Returns the labels of distinct keys, in the type of the input: an ndarray, a pandas Index or a pyarrow Array.
    absent : tuple
        Keys of points that are in no group: those of null and of noise. NaN is null as well.
    name : str or None
        Name of the column of the labels.
    """

    keys: Any
    column_of: Callable[[np.ndarray], Any]
    absent: tuple[Any, ...] = ()
    name: str | None = None

    def is_absent(self, keys: np.ndarray) -> np.ndarray:
        """For each distinct key whether its points are in no group."""
        found = np.isnan(keys) if keys.dtype.kind == "f" else np.zeros(len(keys), bool)
        for key in self.absent:
            found |= keys == key
        return found


def as_labels(labels, noise, *, caller: str, name: str = "labels") -> Labels:
    """The `labels` and `noise` parameters of a public function as keys.

    Parameters
    ----------
    labels : array_like, pandas Series, Index or array, pyarrow Array, Polars Series, pyopencl.array.Array
    noise : object
        The label of points in no group, None for no such label.
    caller, name : str
        The public function and its parameter, for messages.

    Raises
    ------
    InvalidInput
        The labels are not one-dimensional, do not sort, or `noise` cannot be one of them.
    """
    title = getattr(labels, "name", None)
    try:
        found = _as_labels(labels, noise, caller, name)
    except _BadNoise as error:
        raise wrong("noise", caller, f"a label of the kind of 'labels', {error}", short(noise)) from error
    except _BadLabels as error:
        raise wrong(name, caller, EXPECTED, str(error)) from error
    return Labels(found.keys, found.column_of, found.absent, title if isinstance(title, str) else None)


class _BadLabels(Exception):
    """The labels cannot be used; the message says what was given."""


class _BadNoise(Exception):
    """`noise` cannot be a label; the message says of which kind the labels are."""


def _as_labels(labels, noise, caller, name):
    pandas, pyarrow, polars = (sys.modules.get(name) for name in ("pandas", "pyarrow", "polars"))
    if is_device_array(labels):
        host = labels if labels.dtype.kind in "iu" else fetched(labels)
        return _of_numpy(host, noise)
    if pandas is not None and isinstance(labels, (pandas.DataFrame, pandas.MultiIndex)):
        raise _BadLabels(f"a {type(labels).__name__} of shape {labels.shape}")
    if pandas is not None and isinstance(labels, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)):
        return _of_pandas(pandas, labels, noise)
    if polars is not None and isinstance(labels, polars.Series):
        require("PyArrow", "A Polars Series as labels")
        return _of_arrow(labels.to_arrow(), noise)
    if pyarrow is not None and isinstance(labels, (pyarrow.Array, pyarrow.ChunkedArray)):
        return _of_arrow(labels, noise)
    one, many = hasattr(labels, "__arrow_c_array__"), hasattr(labels, "__arrow_c_stream__")
    if (one or many) and not hasattr(labels, "__array__"):
        require("PyArrow", "Labels of another Arrow library")
        import pyarrow

        return _of_arrow(pyarrow.array(labels) if one else pyarrow.chunked_array(labels), noise)
    if isinstance(labels, np.ma.MaskedArray):
        if labels.ndim == 1 and np.ma.is_masked(labels):
            return _of_objects(labels.tolist(), labels.dtype, noise)
        labels = labels.data
    if isinstance(labels, np.ndarray):
        return _of_numpy(labels, noise)
    try:
        array = np.asarray(values_of(labels, caller=caller, name=name))
    except (ValueError, TypeError) as error:
        raise _BadLabels(f"an object that is not an array ({error})") from error
    if array.ndim == 1 and array.dtype.kind in "USO" and isinstance(labels, (list, tuple)):
        return _of_objects(list(labels), np.dtype(object), noise)  # NumPy would convert numbers among text to text
    if array.size == 0 and array.ndim == 1 and not hasattr(labels, "dtype"):
        array = array.astype(np.int64)
    return _of_numpy(array, noise)


# NumPy ------------------------------------------------------------------------------------------------------------


def _of_numpy(array, noise):
    dtype = array.dtype
    if array.ndim != 1:
        raise _BadLabels(f"{dtype} of shape {array.shape}")
    if dtype.kind in "iu":
        keys = array if is_device_array(array) else array.astype(dtype.newbyteorder("="), copy=False)
        return Labels(keys, lambda found: found, _absent_number(noise, keys.dtype))
    if dtype.kind == "f" and dtype.itemsize <= 8:
        keys = array.astype(dtype.newbyteorder("="), copy=False)
        return Labels(keys, lambda found: found + keys.dtype.type(0), _absent_number(noise, dtype))  # 0.0 for -0.0
    if dtype.kind == "b":
        return Labels(array.view(np.uint8), lambda found: found.view(bool), _absent_number(noise, dtype))
    if dtype.kind in "mM":
        native = array.astype(dtype.newbyteorder("="), copy=False)
        absent = [np.iinfo(np.int64).min]  # NaT
        if noise is not None:
            try:
                absent.append(np.array([noise], native.dtype).view(np.int64)[0])
            except (ValueError, TypeError) as error:
                raise _BadNoise(dtype) from error
        return Labels(native.view(np.int64), lambda found: found.view(native.dtype), tuple(absent))
    return _of_objects(array.tolist(), dtype, noise)


def _absent_number(noise, dtype):
    """A tuple with the key of `noise` among numbers; empty if no label can equal it."""
    if noise is None:
        return ()
    if not (is_integer(noise) or isinstance(noise, (float, np.floating, bool, np.bool_))):
        raise _BadNoise(dtype)
    if dtype.kind in "iu" and not (noise == noise and abs(noise) < 2**64 and int(noise) == noise):
        return ()
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return (dtype.type(int(noise)),) if limits.min <= int(noise) <= limits.max else ()
    return (noise,)


def _of_objects(values, dtype, noise):
    """Labels of a list of Python values; `dtype` is that of the array that held them."""
    try:
        numbers = dict.fromkeys(values)
    except TypeError as error:
        raise _BadLabels(f"{dtype} ({error})") from error
    distinct = [value for value in numbers if not _is_null(value)]
    try:
        distinct.sort()
    except TypeError as error:
        raise _BadLabels(f"{dtype} ({error})") from error
    numbers = dict.fromkeys(numbers, -1) | {value: number for number, value in enumerate(distinct)}
    keys = np.fromiter(map(numbers.__getitem__, values), np.int32 if len(distinct) < 2**31 else np.int64, len(values))
    column = _column(distinct, dtype)
    return Labels(keys, lambda found: column[found], (-1, *_absent_value(noise, distinct)))


def _is_null(value) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def _column(distinct, dtype):
    """Distinct labels as an array of `dtype`, or of the type that Python's numbers have in NumPy."""
    kinds = {type(value) for value in distinct}
    if dtype.kind == "O" and len(kinds) == 1 and kinds <= {int, float, bool}:
        return np.array(distinct)
    if dtype.kind in "OV":
        column = np.empty(len(distinct), object)
        column[:] = distinct
        return column
    return np.array(distinct, dtype)


def _absent_value(noise, distinct):
    """A tuple with the number of `noise` among distinct labels; empty if it is none of them."""
    if noise is None:
        return ()
    for number, value in enumerate(distinct):
        if value is noise or (type(value) is not np.ndarray and value == noise):
            return (number,)
    numeric = (int, float, np.number)
    if distinct and not isinstance(noise, type(distinct[0])):
        if not (isinstance(noise, numeric) and isinstance(distinct[0], numeric)):
            raise _BadNoise(type(distinct[0]).__name__)
    return ()


# pandas -----------------------------------------------------------------------------------------------------------


def _of_pandas(pandas, labels, noise):
    dtype = labels.dtype
    if isinstance(dtype, np.dtype):
        return _of_numpy(labels.to_numpy(), noise)
    plain = getattr(dtype, "numpy_dtype", None)
    values = getattr(labels, "array", labels)
    if plain is not None and plain.kind in "iu" and not values.isna().any():
        found = _of_numpy(values.to_numpy(plain), noise)
        return Labels(found.keys, lambda keys: pandas.Index(pandas.array(keys, dtype)), found.absent)
    if isinstance(dtype, pandas.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow":
        import pyarrow

        found = _of_arrow(pyarrow.array(values), noise)
        return Labels(found.keys, lambda keys: pandas.Index(found.column_of(keys), dtype=dtype), found.absent)
    try:
        codes, uniques = pandas.factorize(values, sort=True)
    except (TypeError, NotImplementedError) as error:
        raise _BadLabels(f"{dtype} ({error})") from error
    uniques = pandas.Index(uniques)
    absent = _absent_value(noise, list(uniques)) if noise is not None else ()
    return Labels(codes, lambda found: uniques.take(found), (-1, *absent))


# Arrow ------------------------------------------------------------------------------------------------------------


def _of_arrow(array, noise):
    import pyarrow

    of, kind = pyarrow.types, array.type
    if of.is_dictionary(kind) and not _is_text(of, kind.value_type):
        array = array.cast(kind.value_type)
        kind = array.type
    if of.is_floating(kind) or (of.is_integer(kind) and not array.null_count):
        plain = array.to_numpy() if isinstance(array, pyarrow.ChunkedArray) else array.to_numpy(zero_copy_only=False)
        found = _of_numpy(plain, noise)
        return Labels(found.keys, lambda keys: pyarrow.array(keys, kind), found.absent)
    try:
        keys, values = _encoded(pyarrow, array)
    except pyarrow.ArrowException as error:
        raise _BadLabels(f"{kind} ({str(error).splitlines()[0]})") from error
    absent = _absent_value(noise, values.to_pylist()) if noise is not None else ()
    return Labels(keys, lambda found: values.take(pyarrow.array(found)), (-1, *absent))


def _is_text(of, kind):
    return of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind)


def _encoded(pyarrow, array):
    """(numbers of the distinct values, -1 for null; the distinct values, ascending) of an Arrow array.

    Values of an ordered dictionary keep its order.
    """
    from pyarrow import compute

    kind = array.type.value_type if pyarrow.types.is_dictionary(array.type) else array.type
    if pyarrow.types.is_string_view(kind):
        array = array.cast(pyarrow.large_string())  # Arrow cannot encode string views as dictionaries
    parts = [part for chunk in _chunks(pyarrow, array) for part in _pieces(chunk)]
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1) or 1) as pool:
        parts = list(pool.map(_with_dictionary, parts))
        kind = parts[0].type if parts else array.type
        values = pyarrow.chunked_array([part.dictionary for part in parts], getattr(kind, "value_type", kind))
        values = compute.unique(values).drop_null()
        if not getattr(array.type, "ordered", False):
            values = values.take(compute.array_sort_indices(values))
        keys = np.empty(len(array), np.int32)
        ends = np.cumsum([0, *map(len, parts)])
        places = [keys[begin:end] for begin, end in zip(ends, ends[1:])]

        def fill(part, place):
            number = compute.index_in(part.dictionary, values).fill_null(-1).to_numpy(zero_copy_only=False)
            codes = part.indices.cast(pyarrow.int64()) if part.null_count else part.indices
            codes = codes.fill_null(len(number)).to_numpy(zero_copy_only=False)
            np.take(np.append(number, -1).astype(np.int32), codes, out=place, mode="clip")

        list(pool.map(fill, parts, places))
    return keys, values


def _chunks(pyarrow, array):
    return array.chunks if isinstance(array, pyarrow.ChunkedArray) else [array]


def _pieces(array):
    """Slices of a long array, one for each task of a thread."""
    size = max(PIECE, -(-len(array) // (os.cpu_count() or 1)))
    return [array.slice(start, size) for start in range(0, len(array), size)]


def _with_dictionary(part):
    return part if hasattr(part, "dictionary") else part.dictionary_encode()


# Results ----------------------------------------------------------------------------------------------------------


def as_array(column) -> np.ndarray:
    """Labels as an ndarray: those of categories are the categories' values."""
    if isinstance(column, np.ndarray):
        return column
    return column.to_numpy(zero_copy_only=False) if hasattr(column, "to_pylist") else column.to_numpy()
