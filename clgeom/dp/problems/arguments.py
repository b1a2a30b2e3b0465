"""Arguments of the problems: numbers and sequences, checked once, with messages of one form."""

from __future__ import annotations

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.intake.interop.objects import values_of

INT32, INT64 = np.iinfo(np.int32).max, np.iinfo(np.int64).max


def wrong(caller, name, expected, got):
    """The error for a parameter that is not as expected."""
    return InvalidInput(f"The '{name}' parameter of {caller} must be {expected}. Got {got} instead.")


def whole(value, name, *, caller, least=0, most=INT32) -> int:
    """A whole number between two bounds."""
    try:
        number = value.__index__()
    except (AttributeError, TypeError):
        number = int(value) if isinstance(value, float) and value.is_integer() else None
    if number is None or isinstance(value, (bool, np.bool_)) or not least <= number <= most:
        raise wrong(caller, name, f"a whole number from {least:,} to {most:,}", repr(value))
    return number


def several(value) -> bool:
    """Whether this is a collection: not a number, not a 0-d array, not text."""
    return np.iterable(value) and hasattr(value, "__len__") and not isinstance(value, (str, bytes))


def fraction(value, name, *, caller) -> float:
    """A probability."""
    try:
        number = -1 if isinstance(value, (str, bytes, bool, np.bool_)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if not 0 <= number <= 1:
        raise wrong(caller, name, "a number from 0 to 1", repr(value))
    return number


def numbers(values, name, *, caller, ndim=1, size=None, least=None, infinite=False, empty=True) -> np.ndarray:
    """Numbers as int64 or float64, of so many dimensions.

    `size` is the number of elements, or the shape, and what it has to equal in words: (3, "as many as 'weights'").
    With `infinite` inf is taken, which stands for what is not allowed; NaN and -inf never are.
    """
    what = f"{'an array' if ndim == 1 else 'a table'} of numbers"
    if np.ma.is_masked(values):
        raise wrong(caller, name, what, "masked elements")
    values = values_of(values, caller=caller, name=name)
    try:
        array = np.asarray(values)
    except (RecursionError, MemoryError, OverflowError) as error:
        raise wrong(caller, name, what, "what NumPy cannot hold") from error
    except ValueError:
        raise wrong(caller, name, what + " with rows of the same length", "rows of several lengths") from None
    if array.size == 0 and array.ndim == 1:
        array = array.reshape((0,) * ndim).astype(np.int64)
    if array.dtype == object or array.dtype.kind not in "iuf":
        raise wrong(caller, name, what, f"an array of {array.dtype}" if array.dtype != object else "other things")
    if array.ndim != ndim:
        raise wrong(caller, name, f"{what} with {ndim} dimension{'s' * (ndim > 1)}", f"shape {array.shape}")
    if size is not None and (array.shape if ndim > 1 else len(array)) != size[0]:
        raise wrong(caller, name, size[1], f"shape {array.shape}" if ndim > 1 else f"{len(array)}")
    if not empty and array.size == 0:
        raise wrong(caller, name, f"{what}, at least one", "none")
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        bad = ~np.isfinite(array)
        if infinite:
            bad &= array != np.inf
        if bad.any():
            at = tuple(int(k) for k in np.argwhere(bad)[0])
            raise wrong(caller, name, "finite or inf" if infinite else "finite", f"{array[at]} at {_place(at)}")
    else:
        if array.dtype == np.uint64 and array.size and array.max() > INT64:
            raise wrong(caller, name, f"at most {INT64}", array.max())
        array = array.astype(np.int64)
    if least is not None and array.size and array.min() < least:
        at = tuple(int(k) for k in np.argwhere(array < least)[0])
        raise wrong(caller, name, f"at least {least}", f"{array[at]} at {_place(at)}")
    return array


def _place(at):
    return f"index {at[0]}" if len(at) == 1 else f"{at}"


def whole_numbers(values, name, *, caller, **options) -> np.ndarray:
    """Whole numbers as int64; floats are taken if they are whole."""
    array = numbers(values, name, caller=caller, **options)
    if array.dtype.kind == "f":
        for bad, expected in (
            (array != np.rint(array), "whole numbers"),
            (np.abs(array) > 2**53, "within 2**53"),
        ):
            if bad.any():
                at = tuple(int(k) for k in np.argwhere(bad)[0])
                raise wrong(caller, name, expected, f"{array[at]} at {_place(at)}")
        array = array.astype(np.int64)
    return array


def sequence(value, name, *, caller) -> np.ndarray:
    """Text, bytes, or a one-dimensional array of integers or letters as an array of codes."""
    if isinstance(value, str):
        array = np.frombuffer(value.encode("utf-32-le", "surrogatepass"), np.uint32)
        return array.astype(np.uint8) if array.size == 0 or array.max() < 256 else array
    if isinstance(value, (bytes, bytearray, memoryview)):
        return np.frombuffer(value, np.uint8)
    if np.ma.is_masked(value):
        raise wrong(caller, name, "a sequence without masked elements", "some")
    value = values_of(value, caller=caller, name=name)
    try:
        array = np.asarray(value)
    except (ValueError, RecursionError, MemoryError, OverflowError):
        array = np.empty((0, 0))
    if array.ndim == 1 and array.size == 0:
        return np.empty(0, np.uint8)
    if array.ndim == 1 and array.dtype.kind in "US" and np.char.str_len(array).max() == 1:
        letters = array.astype(f"{array.dtype.kind}1")  # native, and no longer than they are
        return letters.view(np.uint32 if array.dtype.kind == "U" else np.uint8).astype(np.uint32)
    if array.ndim != 1 or array.dtype.kind not in "iub":
        what = f"an array of {array.dtype}, shape {array.shape}" if isinstance(array, np.ndarray) else repr(value)
        raise wrong(caller, name, "text, bytes, or a one-dimensional array of integers or letters", what)
    if array.dtype in (np.uint8, np.bool_):
        return np.ascontiguousarray(array).view(np.uint8)
    array = array.astype(np.int64 if array.dtype != np.uint64 else np.uint64)
    return array.astype(np.uint8) if array.min() >= 0 and array.max() < 256 else array


def alike(a, b) -> tuple[np.ndarray, np.ndarray]:
    """Two sequences of codes in one type: equal symbols are equal numbers."""
    if a.dtype == b.dtype:
        return a, b
    if np.uint64 in (a.dtype, b.dtype) and np.int64 in (a.dtype, b.dtype):
        symbols = {}
        return tuple(np.array([symbols.setdefault(int(x), len(symbols)) for x in s], np.int64) for s in (a, b))
    dtype = np.promote_types(a.dtype, b.dtype)
    return a.astype(dtype), b.astype(dtype)
