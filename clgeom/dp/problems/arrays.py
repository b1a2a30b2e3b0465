"""Arrays of numbers that the problems take."""

from __future__ import annotations

from typing import Any

import numpy as np

from clgeom.arguments import every, wrong
from clgeom.errors import InvalidInput
from clgeom.intake.interop.objects import values_of
from clgeom.intake.typing import NDArray

INT32, INT64 = np.iinfo(np.int32).max, np.iinfo(np.int64).max


def several(value: Any) -> bool:
    """Whether this is a collection: not a number, not a 0-d array, not text."""
    return np.iterable(value) and hasattr(value, "__len__") and not isinstance(value, (str, bytes))


def numbers(
    values: Any,
    name: str,
    *,
    caller: str,
    ndim: int = 1,
    size: tuple[Any, str] | None = None,
    least: int | None = None,
    infinite: bool = False,
    empty: bool = True,
) -> NDArray[Any]:
    """Numbers as int64 or float64, of so many dimensions.

    `size` is the number of elements, or the shape, and what it has to equal in words: (3, "as many as 'weights'").
    With `infinite` inf is taken, which stands for what is not allowed; NaN and -inf never are.
    """
    what = f"{'an array' if ndim == 1 else 'a table'} of numbers"
    if np.ma.is_masked(values):
        raise wrong(name, caller, what, "masked elements")
    values = values_of(values, caller=caller, name=name)
    try:
        array = np.asarray(values)
    except (RecursionError, MemoryError, OverflowError) as error:
        raise wrong(name, caller, what, "what NumPy cannot hold") from error
    except ValueError:
        raise wrong(name, caller, what + " with rows of the same length", "rows of several lengths") from None
    if array.size == 0 and array.ndim == 1:
        array = array.reshape((0,) * ndim).astype(np.int64)
    if array.dtype == object or array.dtype.kind not in "iuf":
        raise wrong(name, caller, what, f"an array of {array.dtype}" if array.dtype != object else "other things")
    if array.ndim != ndim:
        raise wrong(name, caller, f"{what} with {ndim} dimension{'s' * (ndim > 1)}", f"shape {array.shape}")
    if size is not None and (array.shape if ndim > 1 else len(array)) != size[0]:
        raise wrong(name, caller, size[1], f"shape {array.shape}" if ndim > 1 else f"{len(array)}")
    if not empty and array.size == 0:
        raise wrong(name, caller, f"{what}, at least one", "none")
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        good = np.isfinite(array) | (array == np.inf) if infinite else np.isfinite(array)
        every(good, array, "finite or inf" if infinite else "finite", name, caller=caller)
    else:
        if array.dtype == np.uint64 and array.size and array.max() > INT64:
            raise wrong(name, caller, f"at most {INT64}", array.max())
        array = array.astype(np.int64)
    if least is not None:
        every(array >= least, array, f"at least {least}", name, caller=caller)
    return array


def whole_numbers(values: Any, name: str, *, caller: str, **options: Any) -> NDArray[np.int64]:
    """Whole numbers as int64; floats are taken if they are whole."""
    array = numbers(values, name, caller=caller, **options)
    if array.dtype.kind == "f":
        every(array == np.rint(array), array, "whole numbers", name, caller=caller)
        every(np.abs(array) <= 2**53, array, "within 2**53", name, caller=caller)
        array = array.astype(np.int64)
    return array


def square_table(
    values: Any, name: str, *, caller: str, infinite: bool = True, least: int = 1, most: int | None = None
) -> NDArray[np.float64]:
    """A square table of numbers as float64, of so many rows."""
    table = numbers(values, name, caller=caller, ndim=2, infinite=infinite, empty=False).astype(float)
    n = len(table)
    if table.shape != (n, n) or n < least or (most is not None and n > most):
        rows = f", with at least {least} rows" * (least > 1) + f", with {most} rows at most" * (most is not None)
        raise wrong(name, caller, f"square{rows}", f"shape {table.shape}")
    return table


def sum_type(bound: int, name: str, *, caller: str) -> str:
    """The narrowest of int32 and int64 for sums up to this bound; `InvalidInput` beyond 64 bits."""
    if bound > INT64:
        raise InvalidInput(f"The '{name}' parameter of {caller} is too large: the sums may not fit 64 bits.")
    return "int32" if bound <= INT32 else "int64"
