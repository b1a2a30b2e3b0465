"""Checks of simple arguments of public functions: choices, integers, booleans, masks, with one form of message.

`clgeom.intake.arrays` checks points and arrays.
"""

from __future__ import annotations

import os
import re
import sys

import numpy as np

from clgeom.errors import InvalidInput, is_integer, short


def wrong(name: str, caller: str, expected: str, got: str) -> InvalidInput:
    """The error for a wrong value of a parameter of the public function `caller`."""
    return InvalidInput(f"The '{name}' parameter of {caller} must be {expected}. Got {got} instead.")


def one_of(value, allowed, name: str, *, caller: str) -> str:
    """The value, if it is one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise wrong(name, caller, f"one of {', '.join(map(repr, allowed))}", short(value))
    return value


def integer(value, name: str, *, caller: str, least: int = 1, most: int | None = None) -> int:
    """The value as an int, if it is an integer within these bounds. A bool is refused."""
    if not is_integer(value) or value < least or (most is not None and value > most):
        upto = "" if most is None else f" to {most:,}"
        raise wrong(name, caller, f"an integer from {least:,}{upto}", short(value))
    return int(value)


#: Bytes of each unit of a size.
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


def size_in_bytes(value, name: str, *, caller: str, least: int = 1) -> int:
    """A number of bytes, given as an integer or as text such as "500 MB" or "1.5GiB"."""
    size = value
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([a-z]*)\s*", value.lower())
        size = int(float(found[1]) * UNITS[found[2]]) if found and found[2] in UNITS else None
    if not is_integer(size) or size < least:
        raise wrong(name, caller, f"a size of at least {least:,} bytes, such as '500 MB'", short(value))
    return int(size)


def boolean(value, name: str, *, caller: str) -> bool:
    """The value as a bool, if it is True, False, 1 or 0."""
    if not isinstance(value, (bool, np.bool_, int, np.integer)) or value not in (0, 1):
        raise wrong(name, caller, "True or False", short(value))
    return bool(value)


def function(value, name: str, *, caller: str):
    """The value, if it can be called."""
    if not callable(value):
        raise wrong(name, caller, "a function", short(value))
    return value


def is_masked_array(values) -> bool:
    """Whether an array has a mask. None has while ``numpy.ma`` is not imported, which this saves: it takes 10 ms."""
    return isinstance(values, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ()))


def held(values, name: str, *, caller: str) -> None:
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
    """The error for an input of which no copy fits in the host's memory."""
    return wrong(name, caller, f"an array that fits in memory ({memory_bytes():,} bytes)", got)


#: No array of fewer bytes is compared with the host's memory, which takes longer.
MUCH_MEMORY = 1 << 30


def memory_bytes() -> int:
    """Bytes of memory that this process can have at most; 2**40 where the system does not tell."""
    try:
        import resource

        own = resource.getrlimit(resource.RLIMIT_AS)[0]
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, AttributeError, OSError, ValueError):
        return 1 << 40
    return memory if own == resource.RLIM_INFINITY else min(own, memory)


def unmasked(values, name: str, *, caller: str) -> None:
    """Refuse an array that has masked elements, or that is not `held`."""
    held(values, name, caller=caller)
    if is_masked_array(values) and np.ma.is_masked(values):
        count = np.ma.count_masked(values)
        raise InvalidInput(
            f"The '{name}' parameter of {caller} must have no masked entries. Got {count} of them instead."
        )
