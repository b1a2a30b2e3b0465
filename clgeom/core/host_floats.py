"""Subnormal numbers on the host, also where another library lets the processor flush them to zero.

The modes FTZ and DAZ of x86 and FZ of ARM belong to a thread. A library that was built with ``-ffast-math`` may set
them when it is loaded. Different subnormal numbers are then equal, and 5e-324 is 0: comparisons, sorts, conversions and
the parsing of text give other results, without a sign. So `keeps_subnormals` clears the modes for the time of a call::

    caller's thread, flushes ──> public function: saves the modes, clears them ──> ... ──> restores the modes

Threads that a call starts inherit the cleared modes. Drivers of CPUs set the modes of their own threads.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import struct
import sys
from collections.abc import Callable, Generator, Iterator
from types import GeneratorType
from typing import Any, TypeVar

from clgeom.errors import DeviceError, warn

#: Two numbers whose difference is subnormal: it equals 0 where the processor flushes results or operands.
MORE, LESS = 1.5 * sys.float_info.min, sys.float_info.min
#: The least number above 0: it equals 0 where the processor flushes operands. Made of its bits: arithmetic may flush.
LEAST = struct.unpack("<d", struct.pack("<Q", 1))[0]
#: Said when a library that was loaded during a call has set the modes: what follows in this call may be wrong.
CHANGED = (
    "A library that was loaded during this call lets the processor flush subnormal numbers to zero. The result may be "
    "wrong where numbers are below 2**-126 in size. Call again: results of later calls are right."
)
#: Special methods that compute nothing.
UNGUARDED = frozenset("__new__ __getattribute__ __getattr__ __setattr__ __delattr__".split())
#: Bytes for a ``fenv_t``, which has 32 at most.
FENV_BYTES = 64
#: ``_MCW_DN`` of Windows, the bits of its control word for subnormal numbers, and ``_DN_SAVE``, their default.
MCW_DN, DN_SAVE = 0x03000000, 0

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def flushes() -> bool:
    """Return whether the processor flushes subnormal numbers in this thread."""
    return MORE - LESS == 0.0


def keeps_subnormals(decorated: Decorated) -> Decorated:
    """Decorate a function, or the methods and properties of a class but private ones, so that they keep subnormals.

    A call takes some 0.3 us longer, and some 5 us where modes are cleared. Generators keep subnormals in each step.
    """
    if not isinstance(decorated, type):
        guarded_function: Decorated = _guarded(decorated)
        return guarded_function
    for name, member in list(vars(decorated).items()):
        if name not in UNGUARDED and (not name.startswith("_") or name.endswith("__")):
            guarded = _guarded_member(member)
            if guarded is not member:
                setattr(decorated, name, guarded)
    return decorated


def _guarded_member(member: Any) -> Any:
    """Return a method or property that keeps subnormal numbers; any other member of a class as it is."""
    if inspect.isfunction(member):
        return _guarded(member)
    if isinstance(member, (classmethod, staticmethod)):
        return type(member)(_guarded(member.__func__))
    if isinstance(member, property):
        return property(_guarded(member.fget), member.fset, member.fdel, member.__doc__)
    if isinstance(member, functools.cached_property):
        member.func = _guarded(member.func)
    return member


def _guarded(function: Any) -> Any:
    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if MORE - LESS == 0.0:
            with subnormals_kept():
                result = function(*args, **kwargs)
        else:
            result = function(*args, **kwargs)
            if LEAST == 0.0:
                warn(CHANGED, RuntimeWarning)
        return _guarded_steps(result) if type(result) is GeneratorType else result

    return guarded


def _guarded_steps(steps: Generator[Any, None, None]) -> Iterator[Any]:
    """Yield the items of a generator, each made with subnormal numbers. The caller's modes hold between them."""
    end = object()
    try:
        while True:
            with subnormals_kept():
                item = next(steps, end)
            if item is end:
                return
            yield item
    finally:
        with subnormals_kept():
            steps.close()


class subnormals_kept:
    """Context in which this thread keeps subnormal numbers. Its end restores the modes of the processor."""

    def __enter__(self) -> None:
        self.restore = _cleared_modes() if flushes() else None

    def __exit__(self, *_: object) -> None:
        if self.restore is not None:
            self.restore()


def _cleared_modes() -> Callable[[], object]:
    """Clear the modes that flush in this thread. Return a function that restores them."""
    restore = _windows_modes() if sys.platform == "win32" else _fenv_modes()
    if flushes():
        raise DeviceError(
            "The processor flushes subnormal numbers to zero, as another library has set it, and clgeom cannot clear "
            "this mode on this platform: results could be wrong. Use clgeom in a process without that library."
        )
    return restore


def _fenv_modes() -> Callable[[], object]:
    """Return the modes by the functions of C99, whose default environment flushes nothing."""
    functions = _fenv()
    if functions is None:
        return lambda: None
    fegetenv, fesetenv, default = functions
    saved = ctypes.create_string_buffer(FENV_BYTES)
    fegetenv(saved)
    fesetenv(default)
    return functools.partial(fesetenv, saved)


@functools.cache
def _fenv() -> tuple[Callable[[Any], int], Callable[[Any], int], ctypes.c_void_p] | None:
    """(fegetenv, fesetenv, FE_DFL_ENV), None where this platform's are not known."""
    process = ctypes.CDLL(None)
    if sys.platform == "darwin":
        default = ctypes.addressof(ctypes.c_char.in_dll(process, "_FE_DFL_ENV"))
    elif sys.platform == "linux":
        default = -1
    else:
        return None
    library = process if hasattr(process, "fesetenv") else ctypes.CDLL("libm.so.6")
    for function in (library.fegetenv, library.fesetenv):
        function.argtypes = [ctypes.c_void_p]
    return library.fegetenv, library.fesetenv, ctypes.c_void_p(default)


def _windows_modes() -> Callable[[], object]:
    control = ctypes.CDLL("ucrtbase")._controlfp_s
    saved, now = ctypes.c_uint(), ctypes.c_uint()
    control(ctypes.byref(saved), 0, 0)
    control(ctypes.byref(now), DN_SAVE, MCW_DN)
    return lambda: control(ctypes.byref(now), saved.value & MCW_DN, MCW_DN)
