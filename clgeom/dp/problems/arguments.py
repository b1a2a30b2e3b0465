"""Checks of the arguments of problems."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom import arguments
from clgeom.arguments import every
from clgeom.errors import InvalidInput
from clgeom.intake.interop.objects import values_of
from clgeom.intake.typing import NDArray

INF = float("inf")
INT32, INT64 = np.iinfo(np.int32).max, np.iinfo(np.int64).max


def is_collection(value: Any) -> bool:
    """Whether a value is no number, no 0-d array and no text."""
    return np.iterable(value) and hasattr(value, "__len__") and not isinstance(value, (str, bytes))


@dataclass(frozen=True)
class Arguments:
    """Checks of the arguments of a public function, `caller`, as those of `clgeom.arguments`."""

    caller: str

    def wrong(self, name: str, expected: str, got: object) -> InvalidInput:
        return arguments.wrong(name, self.caller, expected, got)

    def whole_number(self, value: Any, name: str, *, least: int = 0, most: int = INT32) -> int:
        return arguments.whole_number(value, name, caller=self.caller, least=least, most=most)

    def number(self, value: Any, name: str, *, least: float = -math.inf, most: float = math.inf) -> float:
        return arguments.number(value, name, caller=self.caller, least=least, most=most)

    def boolean(self, value: Any, name: str) -> bool:
        return arguments.boolean(value, name, caller=self.caller)

    def numbers(
        self,
        values: Any,
        name: str,
        *,
        ndim: int = 1,
        size: tuple[Any, str] | None = None,
        least: int | None = None,
        infinite: bool = False,
        empty: bool = False,
    ) -> NDArray[Any]:
        """Return numbers as int64 or float64.

        `size`: The number of elements, or the shape, and the same in words: (3, "as many as 'weights'").
        `infinite`: Whether inf is allowed; NaN and -inf never are.
        `empty`: Whether there may be no number.
        """
        what = f"{'an array' if ndim == 1 else 'a table'} of numbers"
        if np.ma.is_masked(values):
            raise self.wrong(name, what, "masked elements")
        values = values_of(values, caller=self.caller, name=name)
        try:
            array = np.asarray(values)
        except (RecursionError, MemoryError, OverflowError) as error:
            raise self.wrong(name, what, "what NumPy cannot hold") from error
        except ValueError:
            raise self.wrong(name, what + " with rows of the same length", "rows of several lengths") from None
        if array.size == 0 and array.ndim == 1:
            array = array.reshape((0,) * ndim).astype(np.int64)
        if array.dtype == object or array.dtype.kind not in "iuf":
            raise self.wrong(name, what, f"an array of {array.dtype}" if array.dtype != object else "other things")
        if array.ndim != ndim:
            raise self.wrong(name, f"{what} with {ndim} dimension{'s' * (ndim > 1)}", f"shape {array.shape}")
        if size is not None and (array.shape if ndim > 1 else len(array)) != size[0]:
            raise self.wrong(name, size[1], f"shape {array.shape}" if ndim > 1 else f"{len(array)}")
        if not empty and array.size == 0:
            raise self.wrong(name, f"{what}, at least one", "none")
        if array.dtype.kind == "f":
            array = array.astype(np.float64)
            good = np.isfinite(array) | (array == np.inf) if infinite else np.isfinite(array)
            every(good, array, "finite or inf" if infinite else "finite", name, caller=self.caller)
        else:
            if array.dtype == np.uint64 and array.size and array.max() > INT64:
                raise self.wrong(name, f"at most {INT64}", array.max())
            array = array.astype(np.int64)
        if least is not None:
            every(array >= least, array, f"at least {least}", name, caller=self.caller)
        return array

    def floats(self, values: Any, name: str, **options: Any) -> NDArray[np.float64]:
        """Return `numbers` as float64."""
        return self.numbers(values, name, **options).astype(np.float64)

    def whole_numbers(self, values: Any, name: str, *, most: int = INT64, **options: Any) -> NDArray[np.int64]:
        """Return `numbers` as int64; floats must be whole."""
        array = self.numbers(values, name, **options)
        if array.dtype.kind == "f":
            every(array == np.rint(array), array, "whole numbers", name, caller=self.caller)
            every(np.abs(array) <= 2**53, array, "within 2**53", name, caller=self.caller)
            array = array.astype(np.int64)
        if array.size and array.max() > most:
            raise self.wrong(name, f"at most {most:,}", array.max())
        return array

    def square_table(
        self, values: Any, name: str, *, infinite: bool = True, least: int = 1, most: int | None = None
    ) -> NDArray[np.float64]:
        """Return a square table of so many rows as float64."""
        table = self.floats(values, name, ndim=2, infinite=infinite)
        n = len(table)
        if table.shape != (n, n) or n < least or (most is not None and n > most):
            rows = f", with at least {least} rows" * (least > 1) + f", with {most} rows at most" * (most is not None)
            raise self.wrong(name, f"square{rows}", f"shape {table.shape}")
        return table

    def sum_type(self, bound: int, name: str) -> str:
        """Return the narrowest of int32 and int64 for sums up to this bound; raise `InvalidInput` beyond 64 bits."""
        if bound > INT64:
            raise InvalidInput(f"The '{name}' parameter of {self.caller} is too large: the sums may not fit 64 bits.")
        return "int32" if bound <= INT32 else "int64"
