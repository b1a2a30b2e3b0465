"""The errors that clgeom raises on purpose; every one is a :class:`ClgeomError`."""

from __future__ import annotations

import numbers
import sys
import warnings


class ClgeomError(Exception):
    """Base of all errors that clgeom raises on purpose.

    Examples
    --------
    >>> import clgeom
    >>> try:
    ...     clgeom.convex_hull([1, 2, 3])
    ... except clgeom.ClgeomError as error:
    ...     print(type(error).__name__)
    InvalidInput
    """


class InvalidInput(ClgeomError, ValueError):
    """An argument, or the data in it, cannot be used. Says what was expected and what came."""


class DeviceLimit(ClgeomError):
    """The device cannot hold or compute this: too little memory, or no float64 unit. Names both sizes.

    Attributes
    ----------
    facts, remedy : str
        The two parts of the message: what is too large, and what to do. `remedy` is empty where nothing helps.
    """

    def __init__(self, facts: str = "", remedy: str = ""):
        super().__init__(f"{facts.removesuffix('.')}: {remedy}." if remedy else facts)
        self.facts, self.remedy = facts, remedy


class DeviceError(ClgeomError):
    """The device or its driver failed, or computes wrongly. Names the device and what it was doing."""


class KernelBuildError(ClgeomError):
    """A kernel did not compile. Carries the numbered source, the options and the compiler's log.

    Attributes
    ----------
    source, log : str
        What was compiled, and what the compiler said.
    in_users_text : bool
        Whether the error is in an equation or a function that was given.
    """

    source = log = ""
    in_users_text = False


class NoDevice(ClgeomError):
    """No usable OpenCL device. Says what to install or to change."""


class DependencyError(ClgeomError):
    """A dynamic-programming equation read a cell that its pattern has not filled yet."""


class IntegerOverflow(ClgeomError, OverflowError):
    """An integer of a dynamic-programming table went beyond its type. Names the cell."""


class EquationWarning(UserWarning):
    """A dynamic-programming equation may not be what was meant: no proof of its pattern, or an integer wraps around."""


class DeviceWarning(UserWarning):
    """A device does not support a faster method. The answer is right; it came by another method."""


class InputWarning(UserWarning):
    """Something about an input that the result does not show: a dimension that is left out, a copy from a device."""


class ClgeomDeprecationWarning(FutureWarning):
    """A deprecated name or parameter: it works, and a later release removes it. Names the release and what to use.

    Python shows it by default. It hides a ``DeprecationWarning`` in every module but the script itself, so users would
    not see it in their own modules before the next major release breaks them.

    Examples
    --------
    >>> import warnings
    >>> from clgeom import dp, errors
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", errors.ClgeomDeprecationWarning)
    ...     try:
    ...         dp.walk_back
    ...     except errors.ClgeomDeprecationWarning as warning:
    ...         print(warning)
    clgeom.dp.walk_back is deprecated since clgeom 0.9 and will be removed in 1.0. Use clgeom.dp.traceback instead.
    """


def short(value) -> str:
    """A value as messages show it."""
    try:
        said = repr(value)
    except RecursionError:
        said = type(value).__name__
    return said if len(said) <= 60 else f"{said[:57]}..."


def is_integer(value) -> bool:
    """Whether a value is a single integer, and no bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value) -> bool:
    """Whether a value is a single real number, and no bool; NaN is one."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def warn(message: str, category: type[Warning]) -> None:
    """Warn, at the line outside of clgeom that made the call."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "clgeom":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_deprecated(old: str, new: str, *, since: str, removal: str) -> None:
    """Warn that `old` is deprecated, at the line outside of clgeom that uses it.

    Parameters
    ----------
    old, new : str
        What is deprecated and what to use instead, as the user writes them.
    since, removal : str
        The releases that deprecate and remove `old`: "0.9", "1.0".
    """
    facts = f"{old} is deprecated since clgeom {since} and will be removed in {removal}."
    warn(f"{facts} Use {new} instead.", ClgeomDeprecationWarning)
