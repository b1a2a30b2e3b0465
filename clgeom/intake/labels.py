"""Conversion of the labels of groups to keys that sort as the labels do.

Integers, floats and dates are their own keys. Text, categories and other values become the numbers 0, 1, 2 .. of the
distinct labels in ascending order, and -1 for null.
"""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import Parameter, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput, is_integer, short
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.intake.interop.arrow import chunked, imported, is_arrow, is_text
from clgeom.intake.interop.objects import values_of
from clgeom.optional import is_instance

if TYPE_CHECKING:
    import pyarrow as pa

EXPECTED = "integers, floats, text, dates, categories, or other values of one kind that sort, of shape (n,)"
#: Labels of an Arrow array that one thread converts to numbers.
PIECE = 1 << 20
#: Types of Polars that Arrow does not have, by name.
POLARS_ALONE = ("Object", "Int128", "UInt128")
#: Types whose values may be equal.
ALIKE = (
    (int, float, np.number),
    (datetime.datetime, np.datetime64),
    (datetime.timedelta, np.timedelta64),
)


@dataclass(frozen=True)
class Labels:
    """Labels as keys: integers or floats that sort as the labels do.

    ``column_of(keys)`` are the labels of distinct keys, in the type of the input: an ndarray, a pandas Index or a
    pyarrow Array. `absent` are the keys of points that are in no group: those of null and of noise; NaN is null as
    well. `name` is that of the column of the labels.
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

    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct keys of groups, ascending, and the number of the group of each label, -1 for none."""
        distinct, numbers = np.unique(
            fetched(self.keys) if is_device_array(self.keys) else self.keys, return_inverse=True
        )
        there = ~self.is_absent(distinct)
        return distinct[there], np.where(there, np.cumsum(there) - 1, -1)[numbers.reshape(-1)]


@keeps_subnormals
def as_labels(labels: Any, noise: Any, *, caller: str, name: str = "labels") -> Labels:
    """Return the `labels` and `noise` parameters of a public function as keys.

    Labels are an array_like, an array of pandas, PyArrow, Polars or pyopencl. `noise` is the label of points in no
    group, None for no such label. Raises `InvalidInput` if labels are not one-dimensional or do not sort, or `noise`
    cannot be one.
    """
    title = getattr(labels, "name", None)
    try:
        found = _as_labels(labels, None if _is_null(noise) else noise, caller, name)
    except _BadNoise as error:
        raise wrong("noise", caller, f"a label of the kind of '{name}', {error}", short(noise)) from error
    except _BadLabels as error:
        raise wrong(name, caller, EXPECTED, str(error)) from error
    return Labels(found.keys, found.column_of, found.absent, title if isinstance(title, str) else None)


class _BadLabels(Exception):
    """The labels cannot be used; the message says what was given."""


class _BadNoise(Exception):
    """`noise` cannot be a label; the message says of which kind the labels are."""


def _as_labels(labels: Any, noise: Any, caller: str, name: str) -> Labels:
    if is_device_array(labels):
        host = labels if labels.dtype.kind in "iu" else fetched(labels)
        return _numpy_labels(host, noise)
    if is_instance(labels, "pandas", "DataFrame", "MultiIndex"):
        raise _BadLabels(f"a {type(labels).__name__} of shape {labels.shape}")
    extension = is_instance(labels, "pandas.api.extensions", "ExtensionArray")
    if extension or is_instance(labels, "pandas", "Series", "Index"):
        return _pandas_labels(sys.modules["pandas"], labels, noise)
    if str(getattr(labels, "dtype", None)) in POLARS_ALONE:
        return _object_labels(labels.to_list(), np.dtype(object), noise)
    if is_arrow(labels):
        return _arrow_labels(imported(labels, Parameter(name, caller)), noise)
    if isinstance(labels, np.ma.MaskedArray):
        if labels.ndim == 1 and np.ma.is_masked(labels):
            return _masked_labels(labels, noise)
        labels = labels.data
    if isinstance(labels, np.ndarray):
        return _numpy_labels(values_of(labels, caller=caller, name=name), noise)
    try:
        array = np.asarray(values_of(labels, caller=caller, name=name))
    except InvalidInput:
        raise
    except (ValueError, TypeError, RuntimeError) as error:
        raise _BadLabels(f"an object that is not an array ({error})") from error
    given = array.ndim == 1 and isinstance(labels, (list, tuple))
    if given and (array.dtype.kind in "USO" or _is_rounded(array, labels)):
        return _object_labels(list(labels), np.dtype(object), noise)  # NumPy would make text or floats of numbers
    if array.size == 0 and array.ndim == 1 and not hasattr(labels, "dtype"):
        array = array.astype(np.int64)
    return _numpy_labels(array, noise)


# NumPy ------------------------------------------------------------------------------------------------------------


def _is_rounded(array: np.ndarray, labels: Sequence[Any]) -> bool:
    """Return whether NumPy made floats of integers that no float is."""
    if array.dtype.kind != "f" or not (np.abs(array) > 2.0**53 - 1).any():
        return False
    return any(is_integer(label) and int(float(label)) != label for label in labels)


def _masked_labels(labels: np.ma.MaskedArray, noise: Any) -> Labels:
    """Return labels of a masked array: keys are the numbers of the distinct labels, -1 for masked ones."""
    if labels.dtype.kind in "OV":
        return _object_labels(labels.tolist(), labels.dtype, noise)
    distinct, numbers = np.unique(labels.compressed(), return_inverse=True)
    found = _numpy_labels(distinct, noise)
    keys = np.full(len(labels), -1)
    keys[~np.ma.getmaskarray(labels)] = numbers
    absent = np.flatnonzero(found.is_absent(found.keys)).tolist()
    return Labels(keys, lambda wanted: found.column_of(found.keys[wanted]), (-1, *absent))


def _numpy_labels(array: Any, noise: Any) -> Labels:
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
        absent = (np.iinfo(np.int64).min, *_absent_date(noise, native.dtype))  # the first is NaT
        return Labels(native.view(np.int64), lambda found: found.view(native.dtype), absent)
    return _object_labels(array.tolist(), dtype, noise)


def _absent_number(noise: Any, dtype: np.dtype) -> tuple[Any, ...]:
    """Return a tuple with the key of `noise` among numbers; empty if no label can equal it."""
    if noise is None:
        return ()
    if not (is_integer(noise) or isinstance(noise, (float, np.floating, bool, np.bool_))):
        raise _BadNoise(dtype)
    if is_integer(noise):
        noise = int(noise)
    if dtype.kind == "f":
        try:
            within = float(noise) == noise and (np.isinf(noise) or abs(noise) <= float(np.finfo(dtype).max))
        except OverflowError:
            return ()
        return (float(noise) if isinstance(noise, int) else noise,) if within else ()
    limits = np.iinfo(np.uint8 if dtype.kind == "b" else dtype)
    if not limits.min <= noise <= limits.max or int(noise) != noise:
        return ()
    return (limits.dtype.type(int(noise)),)


def _absent_date(noise: Any, dtype: np.dtype) -> tuple[Any, ...]:
    """Return the key of noise among dates or durations, as `_absent_number` has it."""
    if noise is None:
        return ()
    kinds = (str, datetime.date, np.datetime64) if dtype.kind == "M" else (datetime.timedelta, np.timedelta64)
    if not isinstance(noise, kinds) or _has_zone(noise):
        raise _BadNoise(dtype)
    exact = getattr(noise, "to_datetime64" if dtype.kind == "M" else "to_timedelta64", lambda: noise)()  # of pandas
    try:
        own = np.array(exact, dtype.kind + "8")
    except ValueError as error:
        raise _BadNoise(dtype) from error
    key = own.astype(dtype)
    return (key.view(np.int64)[()],) if key == own else ()  # a label of days is no time within a day


def _object_labels(values: list[Any], dtype: np.dtype, noise: Any) -> Labels:
    """Return labels of a list of Python values; `dtype` is that of the array that held them."""
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
    column = _label_column(distinct, dtype)
    return Labels(keys, lambda found: column[found], (-1, *_noise_index(noise, distinct)))


def _is_null(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT, pandas.NA or masked."""
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def _label_column(distinct: list[Any], dtype: np.dtype) -> np.ndarray:
    """Distinct labels as an array of `dtype`, or of the type that Python's numbers have in NumPy."""
    kinds = {type(value) for value in distinct}
    if dtype.kind == "O" and len(kinds) == 1 and kinds <= {int, float, bool}:
        column = np.array(distinct)
        if column.dtype.kind != "f" or kinds == {float}:
            return column
    if dtype.kind in "OV":
        column = np.empty(len(distinct), object)
        column[:] = distinct
        return column
    return np.array(distinct, dtype)


def _noise_index(noise: Any, distinct: list[Any]) -> tuple[int, ...]:
    """Return the index of `noise` among the distinct labels as a tuple of one; empty if it is none of them."""
    if noise is None:
        return ()
    for number, value in enumerate(distinct):
        same = value is noise or value == noise
        if isinstance(same, (bool, np.bool_)) and same:  # an array is no label
            return (number,)
    if distinct and _has_zone(noise) != _has_zone(distinct[0]):
        raise _BadNoise(f"dates {'with' if _has_zone(distinct[0]) else 'without'} a time zone")
    if distinct and not isinstance(noise, type(distinct[0])):
        if not any(isinstance(noise, kind) and isinstance(distinct[0], kind) for kind in ALIKE):
            raise _BadNoise(type(distinct[0]).__name__)
    return ()


def _has_zone(value: object) -> bool:
    return getattr(value, "tzinfo", None) is not None


# pandas -----------------------------------------------------------------------------------------------------------


def _pandas_labels(pandas: ModuleType, labels: Any, noise: Any) -> Labels:
    dtype = labels.dtype
    if isinstance(dtype, np.dtype):
        return _numpy_labels(labels.to_numpy(), noise)
    if isinstance(dtype, pandas.SparseDtype):
        return _numpy_labels(np.asarray(labels), noise)
    plain = getattr(dtype, "numpy_dtype", None)
    values = getattr(labels, "array", labels)
    if plain is not None and plain.kind in "iu" and not values.isna().any():
        found = _numpy_labels(values.to_numpy(plain), noise)
        return Labels(found.keys, lambda keys: pandas.Index(pandas.array(keys, dtype)), found.absent)
    if isinstance(dtype, pandas.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow":
        import pyarrow

        found = _arrow_labels(chunked(pyarrow.array(values)), noise)
        return Labels(found.keys, lambda keys: pandas.Index(found.column_of(keys), dtype=dtype), found.absent)
    try:
        codes, uniques = pandas.factorize(values, sort=True)
    except (TypeError, NotImplementedError) as error:
        raise _BadLabels(f"{dtype} ({error})") from error
    uniques = pandas.Index(uniques)
    absent = _noise_index(noise, list(uniques)) if noise is not None else ()
    return Labels(codes, lambda found: uniques.take(found), (-1, *absent))


# Arrow ----------------------------------------------------------------------------------------------------------


def _arrow_labels(column: pa.ChunkedArray | pa.Table, noise: Any) -> Labels:
    import pyarrow

    if isinstance(column, pyarrow.Table):
        raise _BadLabels(f"a table of shape {column.shape}")
    types, kind = pyarrow.types, column.type
    # a dictionary that has an order of its own; one of floats may hold NaN, which is in no group
    is_ordered = types.is_dictionary(kind) and kind.ordered and not types.is_floating(kind.value_type)
    if types.is_dictionary(kind) and not is_ordered and not is_text(column):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_floating(kind) or (types.is_integer(kind) and not column.null_count):
        found = _numpy_labels(column.to_numpy(), noise)
        return Labels(found.keys, lambda keys: pyarrow.array(keys, kind), found.absent)
    try:
        keys, values = _dictionary_codes(column)
    except pyarrow.ArrowException as error:
        raise _BadLabels(f"{kind} ({str(error).splitlines()[0]})") from error
    absent = _noise_index(noise, values.to_pylist()) if noise is not None else ()
    return Labels(keys, lambda found: values.take(pyarrow.array(found)), (-1, *absent))


def _dictionary_codes(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """Return (numbers of the distinct values, -1 for null; the distinct values, ascending) of a column.

    Values of an ordered dictionary keep its order.
    """
    import pyarrow
    from pyarrow import compute

    size = max(PIECE, -(-len(column) // (os.cpu_count() or 1)))
    parts = [chunk.slice(start, size) for chunk in column.chunks for start in range(0, len(chunk), size)]
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1) or 1) as pool:
        parts = list(pool.map(_with_dictionary, parts))
        kind = parts[0].type if parts else column.type
        values = pyarrow.chunked_array([part.dictionary for part in parts], getattr(kind, "value_type", kind))
        values = compute.unique(values).drop_null()
        if not getattr(column.type, "ordered", False):
            values = values.take(compute.array_sort_indices(values))
        keys = np.empty(len(column), np.int32)
        ends = np.cumsum([0, *map(len, parts)])
        places = [keys[begin:end] for begin, end in zip(ends, ends[1:])]

        def fill(part: pa.DictionaryArray, place: np.ndarray) -> None:
            number = compute.index_in(part.dictionary, values).fill_null(-1).to_numpy(zero_copy_only=False)
            codes = part.indices.cast(pyarrow.int64()) if part.null_count else part.indices
            codes = codes.fill_null(len(number)).to_numpy(zero_copy_only=False)
            np.take(np.append(number, -1).astype(np.int32), codes, out=place, mode="clip")

        list(pool.map(fill, parts, places))
    return keys, values


def _with_dictionary(part: pa.Array) -> pa.DictionaryArray:
    """Return an array as codes of a dictionary, in a type whose values Arrow can compare."""
    import pyarrow

    coded = part.type if hasattr(part, "dictionary") else None
    kind = str(part.type if coded is None else coded.value_type)
    if kind in ("string_view", "binary_view"):
        plain = pyarrow.large_string() if kind == "string_view" else pyarrow.large_binary()
        if coded is None:
            return part.cast(plain).dictionary_encode()
        return pyarrow.DictionaryArray.from_arrays(part.indices, part.dictionary.cast(plain), ordered=coded.ordered)
    return part.dictionary_encode() if coded is None else part


# Results ----------------------------------------------------------------------------------------------------------


def as_array(column: Any) -> np.ndarray:
    """Return labels as an ndarray: those of categories are the categories' values."""
    if isinstance(column, np.ndarray):
        return column
    return np.asarray(column.to_numpy(zero_copy_only=False) if hasattr(column, "to_pylist") else column.to_numpy())
