"""Checks of the arguments of public functions, and the one form of their error messages.

A check takes the value, the name of the parameter and the public function, `caller`, and returns the value in its
canonical form. `wrong` is the error of checks that only one place makes. `clgeom.intake.arrays` takes points.
"""

from __future__ import annotations

import math
import numbers
import operator
import os
import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from clgeom.errors import InputWarning, InvalidInput, InvalidType, is_integer, short, warn

T = TypeVar("T")
#: Types of the words of `one_of`.
WORDS = (str, bool, np.bool_, type(None))


def wrong(
    name: str,
    caller: str,
    expected: str,
    got: object,
    *,
    verb: str = "be",
    hint: str = "",
    kind: type[InvalidInput] = InvalidInput,
) -> InvalidInput:
    """Return the error for a wrong value of a parameter of the public function `caller`.

    The message is "The '`name`' parameter of `caller` must `verb` `expected`. Got `got` instead.", then the hint.
    """
    after = f" {hint}" if hint else ""
    return kind(f"The '{name}' parameter of {caller} must {verb} {expected}. Got {got} instead.{after}")


def wrong_type(name: str, caller: str, expected: str, got: object) -> InvalidInput:
    """Return the error for a value of a wrong type, which is a `TypeError`, too."""
    return wrong(name, caller, expected, got, kind=InvalidType)


@dataclass(frozen=True)
class Parameter:
    """The parameter `name` of the public function `caller`; with `in_order` two columns are taken in their order."""

    name: str
    caller: str
    in_order: bool = False

    def wrong(self, expected: str, got: str) -> InvalidInput:
        """Return the error for a wrong value; `expected` begins with a verb."""
        return InvalidInput(f"The '{self.name}' parameter of {self.caller} must {expected}. Got {got} instead.")

    def note(self, fact: str) -> None:
        """Warn of a fact about the value that the result does not show."""
        warn(f"The '{self.name}' parameter of {self.caller} {fact}", InputWarning)


def wrong_file(path: object, fault: str, kind: str = "file") -> InvalidInput:
    """Return the error for a file, or another kind of path, with a fault: "The file 'a.csv' has no points."."""
    return InvalidInput(f"The {kind} '{path}' {fault}.")


# Single values --------------------------------------------------------------------------------------------------


def integer(value: Any, name: str, *, caller: str, least: int = 1, most: int | None = None) -> int:
    """Return the value as an int, if it is an integer within these bounds. A bool is refused."""
    if type(value) is not int and not is_integer(value) or value < least or (most is not None and value > most):
        upto = "" if most is None else f" to {most:,}"
        error = wrong if is_integer(value) else wrong_type
        raise error(name, caller, f"an integer from {least:,}{upto}", short(value))
    return int(value)


def whole_number(value: Any, name: str, *, caller: str, least: int = 0, most: int = 2**31 - 1) -> int:
    """Return the value as `integer` does; it may also be a whole float or a zero-dimensional array."""
    try:
        number = value.__index__()
    except (AttributeError, TypeError):
        number = int(value) if isinstance(value, float) and value.is_integer() else None
    if number is None or isinstance(value, (bool, np.bool_)) or not least <= number <= most:
        raise wrong(name, caller, f"a whole number from {least:,} to {most:,}", short(value))
    return int(number)


def real(value: Any) -> float:
    """Return a single real number as a float; NaN for a bool, text, complex number or any other object."""
    if type(value) is float:
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    decimal: Any = getattr(sys.modules.get("decimal"), "Decimal", numbers.Real)
    is_single = isinstance(value, numbers.Real) or isinstance(value, decimal)
    if not is_single or isinstance(value, (bool, np.timedelta64)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def number(
    value: Any, name: str, *, caller: str, least: float = -math.inf, most: float = math.inf, unit: str = ""
) -> float:
    """Return the value as a float, if it is a finite number within these bounds; `unit` is for the message."""
    found = real(value)
    if not (math.isfinite(found) and least <= found <= most):
        expected = "a finite number" if least == -math.inf else f"a finite number of {least:g} or more"
        expected = expected if most == math.inf else f"a number from {least:g} to {most:g}"
        raise wrong(name, caller, f"{expected}{', in ' * bool(unit)}{unit}", short(value))
    return found


def positive(value: Any, name: str, *, caller: str, unit: str = "") -> float:
    """Return the value as a float, if it is a finite number above 0."""
    found = real(value)
    if not (math.isfinite(found) and found > 0):
        raise wrong(name, caller, f"positive{', in ' * bool(unit)}{unit}", short(value))
    return found


def boolean(value: Any, name: str, *, caller: str) -> bool:
    """Return the value as a bool, if it is True, False, 1 or 0."""
    if type(value) is bool:
        return value
    if not isinstance(value, (bool, np.bool_, int, np.integer)) or value not in (0, 1):
        raise wrong(name, caller, "True or False", short(value))
    return bool(value)


def one_of(value: T, allowed: Collection[object], name: str, *, caller: str) -> T:
    """Return the value, if it is one of the allowed words; these may be None, True and False, too."""
    if type(value) is not str and not isinstance(value, WORDS) or value not in allowed:
        raise wrong(name, caller, f"one of {', '.join(map(repr, allowed))}", short(value))
    return value


def instance(value: T, kinds: type | tuple[type, ...], expected: str, name: str, *, caller: str) -> T:
    """Return the value, if it is of these types; the message names its type."""
    if not isinstance(value, kinds):
        raise wrong_type(name, caller, expected, type(value).__name__)
    return value


def function(value: T, name: str, *, caller: str) -> T:
    """Return the value, if it can be called."""
    if not callable(value):
        raise wrong_type(name, caller, "a function", short(value))
    return value


def absent(value: Any, name: str, when: str, *, caller: str, default: Any = None) -> None:
    """Refuse a parameter that makes no sense beside the others; `when` says where it has to be left out."""
    if value is not default:
        raise wrong(name, caller, f"left out {when}", short(value))


#: Bytes of each unit of a size.
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


def size_in_bytes(value: Any, name: str, *, caller: str, least: int = 1) -> int:
    """Return a number of bytes from an integer, or from text such as "500 MB" or "1.5GiB"."""
    size = value
    if isinstance(value, str):
        from fractions import Fraction

        found = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{,18})?)\s*([a-z]*)\s*", value.lower())
        size = int(Fraction(found[1]) * UNITS[found[2]]) if found and found[2] in UNITS else None
    if not is_integer(size) or size < least:
        raise wrong(name, caller, f"a size of at least {least:,} bytes, such as '500 MB'", short(value))
    return int(size)


# Small tuples ---------------------------------------------------------------------------------------------------


def pair(value: Any, name: str, *, caller: str) -> tuple[float, float]:
    """Return two finite numbers, such as a position."""
    try:
        first, second = map(float, value)
    except (TypeError, ValueError):
        first = second = math.nan
    if not (math.isfinite(first) and math.isfinite(second)):
        raise wrong(name, caller, "two finite numbers", short(value), verb="have")
    return first, second


def integers(
    value: Any, count: int, expected: str, name: str, *, caller: str, least: float = -math.inf
) -> tuple[int, ...]:
    """Return so many integers as a tuple, each of a least value. A bool is refused."""
    try:
        given = tuple(value)
        found = tuple(map(operator.index, given))
    except TypeError:
        given = found = ()
    if len(found) != count or min(found) < least or any(isinstance(one, bool) for one in given):
        raise wrong(name, caller, expected, short(value))
    return found


def rows_and_columns(value: Any, name: str = "shape", *, caller: str) -> tuple[int, int]:
    """Return the shape of a table or a map of one cell or more."""
    rows, columns = integers(value, 2, "integers (rows, columns), both at least 1", name, caller=caller, least=1)
    return rows, columns


# Arrays ---------------------------------------------------------------------------------------------------------


def has_shape(array: Any, shape: tuple[int | str, ...], name: str, *, caller: str) -> None:
    """Refuse an array of another shape; a word such as "n" in `shape` stands for any length."""
    if not _fits(array.shape, shape):
        raise wrong(name, caller, f"shape {_said(shape)}", array.shape, verb="have")


def has_type(
    array: Any, kinds: str, expected: str, name: str, *, caller: str, shape: tuple[int | str, ...] | None = None
) -> None:
    """Refuse an array whose type is not of these kinds of NumPy, or whose shape is not as `has_shape` has it."""
    if shape is None:
        if array.dtype.kind not in kinds:
            raise wrong_type(name, caller, expected, array.dtype)
    elif array.dtype.kind not in kinds or not _fits(array.shape, shape):
        error = wrong if array.dtype.kind in kinds else wrong_type
        raise error(name, caller, f"{expected} of shape {_said(shape)}", f"{array.dtype} of shape {array.shape}")


def _fits(shape: tuple[int, ...], wanted: tuple[int | str, ...]) -> bool:
    return len(shape) == len(wanted) and all(n == m for n, m in zip(wanted, shape) if not isinstance(n, str))


def _said(shape: tuple[int | str, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def number_type(value: Any, allowed: Collection[np.dtype[Any]], name: str, *, caller: str) -> np.dtype[Any]:
    """Return the value as a native type of NumPy, if it is one of these."""
    try:
        found = np.dtype("V" if value is None else value)
    except (TypeError, ValueError, SyntaxError):  # as of "(2,"
        found = np.dtype("V")
    if found not in allowed:
        found = found.newbyteorder("=")
        if found not in allowed:
            raise wrong(name, caller, f"one of {', '.join(repr(one.name) for one in allowed)}", short(value))
    return found


def every(good: np.ndarray, array: np.ndarray, expected: str, name: str, *, caller: str) -> None:
    """Refuse an array of which an element is not good; the message has the first such element and its index."""
    if not good.all():
        at = tuple(map(int, np.argwhere(~good)[0]))
        raise wrong(name, caller, expected, f"{array[at]} at index {at[0] if len(at) == 1 else list(at)}")


def finite(array: np.ndarray, name: str, *, caller: str) -> None:
    """Refuse an array that has an infinity or NaN."""
    every(np.isfinite(array), array, "finite", name, caller=caller)


def is_masked_array(values: Any) -> bool:
    """Return whether an array has a mask. None has while ``numpy.ma`` is not imported, which would take 10 ms."""
    return isinstance(values, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ()))


def held(values: Any, name: str, *, caller: str) -> None:
    """Refuse an iterator, which NumPy takes for a single object, and an array of which no copy fits in memory.

    Elements of such an array share memory, as `numpy.broadcast_to` returns it. All arrays on the host that a caller
    gives pass through here, before they are copied.
    """
    if isinstance(values, (list, tuple)):
        if len(values) and isinstance(values[0], np.ndarray):
            nbytes = sum(one.nbytes for one in values if isinstance(one, np.ndarray))
            if nbytes > MUCH_MEMORY and nbytes > memory_bytes():
                raise too_large(name, caller, f"arrays of {nbytes:,} bytes in a list")
    elif not isinstance(values, np.ndarray):
        if hasattr(type(values), "__next__"):
            raise wrong(name, caller, "an array, or a list", f"an iterator, {short(values)}")
    elif values.nbytes > MUCH_MEMORY and values.nbytes > memory_bytes():
        own = values.itemsize + sum((n - 1) * abs(stride) for n, stride in zip(values.shape, values.strides))
        if own < values.nbytes:
            raise too_large(
                name, caller, f"an array of {values.dtype} of shape {values.shape}: {values.nbytes:,} bytes"
            )


def too_large(name: str, caller: str, got: str) -> InvalidInput:
    """Return the error for an input of which no copy fits in the host's memory."""
    return wrong(name, caller, f"an array that fits in memory ({memory_bytes():,} bytes)", got)


#: No array of fewer bytes is compared with the host's memory, which takes longer.
MUCH_MEMORY = 1 << 30


def memory_bytes() -> int:
    """Return the bytes of memory that this process can have at most; 2**40 where the system does not tell."""
    try:
        import resource

        own = resource.getrlimit(resource.RLIMIT_AS)[0]
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, AttributeError, OSError, ValueError):
        return 1 << 40
    return memory if own == resource.RLIM_INFINITY else min(own, memory)


def unmasked(values: Any, name: str, *, caller: str) -> None:
    """Refuse an array that has masked elements, or that is not `held`."""
    held(values, name, caller=caller)
    if is_masked_array(values) and np.ma.is_masked(values):
        count = int(np.ma.getmaskarray(values).sum())
        raise wrong(name, caller, "no masked entries", f"{count} of them", verb="have")
