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
    """An argument or its data cannot be used. The message says what was expected and what came.

    Examples
    --------
    >>> import clgeom
    >>> try:
    ...     clgeom.topk([5, 9, 1], 4)
    ... except clgeom.errors.InvalidInput as error:
    ...     print(error)
    The 'k' parameter of topk must be an integer from 0 to 3. Got 4 instead.
    """


class InvalidType(InvalidInput, TypeError):
    """An argument is of a type that cannot be used, whatever its value. ``except TypeError`` catches it, too.

    Examples
    --------
    >>> import clgeom
    >>> try:
    ...     clgeom.sort([3, None])
    ... except TypeError as error:
    ...     print(type(error).__name__)
    InvalidType
    """


class DeviceLimit(ClgeomError):
    """The device has too little memory, or no float64. The message names both sizes, or what needs float64.

    Attributes
    ----------
    facts, remedy : str
        The two parts of the message: what is too large, and what to do. `remedy` is empty where nothing helps.

    Examples
    --------
    >>> import clgeom
    >>> session = clgeom.Session(fp64=False)
    >>> try:
    ...     clgeom.convex_hull([(0.1, 0.2), (0.3, 0.4)], device=session)
    ... except clgeom.errors.DeviceLimit as error:
    ...     print(str(error).split(",")[0])
    convex_hull needs float64
    """

    def __init__(self, facts: str = "", remedy: str = ""):
        super().__init__(f"{facts.removesuffix('.')}: {remedy}." if remedy else facts)
        self.facts, self.remedy = facts, remedy


class DeviceError(ClgeomError):
    """The device or its driver failed, or computes wrongly. The message names the device and the operation.

    Examples
    --------
    >>> import clgeom
    >>> try:
    ...     hull = clgeom.convex_hull([(0, 0), (4, 0), (4, 3)])
    ... except clgeom.errors.DeviceError:  # the driver failed: take another device
    ...     hull = clgeom.convex_hull([(0, 0), (4, 0), (4, 3)], device="cpu")
    """


class KernelBuildError(ClgeomError):
    """A kernel did not compile. Its attributes have the source and the compiler's log.

    Attributes
    ----------
    source, log : str
        What was compiled, and what the compiler said.
    in_users_text : bool
        Whether the error is in an equation or a function that was given.

    Examples
    --------
    >>> from clgeom import dp, errors
    >>> try:
    ...     dp.fill(dp.Equation("i + weight", pattern="RUD"), (2, 2), check=False)
    ... except errors.KernelBuildError as error:
    ...     print(error.in_users_text, "weight" in str(error))
    True True
    """

    source = log = ""
    in_users_text = False


class NoDevice(ClgeomError):
    """There is no usable OpenCL device. The message says what to install or to change.

    Examples
    --------
    >>> import clgeom
    >>> try:
    ...     clgeom.sort([3, 1, 2], device="abacus")
    ... except clgeom.errors.NoDevice as error:
    ...     print(str(error).split(";")[0])
    The 'device' parameter must name a device that is present. Got 'abacus'
    """


class DependencyError(ClgeomError):
    """A dynamic-programming equation read a cell that its pattern has not filled yet.

    Examples
    --------
    >>> from clgeom import dp, errors
    >>> try:
    ...     dp.fill(dp.Equation("M(i, j - 1)", pattern="RUD"), (2, 2))
    ... except errors.DependencyError as error:
    ...     print(error)
    equation reads M(i, j - 1), and the pattern RUD allows rows above only.
    """


class IntegerOverflow(ClgeomError, OverflowError):
    """An integer of a dynamic-programming table went beyond its type. The message names the cell.

    Examples
    --------
    >>> from clgeom import dp, errors
    >>> try:
    ...     dp.fill(dp.Equation(lambda M, i, j: i * 100 + j, name="far", dtype="int8", pattern="RUD"), (3, 3))
    ... except errors.IntegerOverflow as error:
    ...     print(error)
    Cell (2, 0) of far goes beyond int8 with the value 200: int16 is enough.
    """


class EquationWarning(UserWarning):
    """A dynamic-programming equation may be wrong: its pattern is not proven, or an integer wraps around.

    Examples
    --------
    >>> import warnings
    >>> from clgeom import dp
    >>> powers = dp.Equation("j == 0 ? 1 : M(i, j - 1) * 2", pattern="CLR")
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     table = dp.fill(powers, (1, 90))
    >>> found[0].category.__name__, "beyond int32" in str(found[0].message)
    ('EquationWarning', True)
    """


class DeviceWarning(UserWarning):
    """A device does not support the fastest method, so a slower one computes the same result; or it cannot be used.

    Examples
    --------
    >>> import warnings
    >>> import clgeom
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", clgeom.errors.DeviceWarning)  # fail rather than take the slower method
    ...     clgeom.sort([3, 1, 2]).tolist()
    [1, 2, 3]
    """


class InputWarning(UserWarning):
    """Part of an input is ignored or copied: a dimension, a parameter without effect, an array of another device.

    Examples
    --------
    >>> import warnings
    >>> import clgeom
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     score = clgeom.align("ACGT", "ACG", path=False, ends=False).score
    >>> print(found[0].message)
    The 'ends' parameter of align has no effect with mode='global': its ends are known.
    """


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


def short(value: object) -> str:
    """Return a value as messages show it, in one line."""
    try:
        said = " ".join(line.strip() for line in repr(value).splitlines())  # an array has several lines
    except Exception:  # of an object's own method: an array that claims more memory than there is, say
        said = type(value).__name__
    return said if len(said) <= 60 else f"{said[:57]}..."


def is_integer(value: object) -> bool:
    """Return whether a value is a single integer, and no bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Return whether a value is a single real number, and no bool; NaN is one."""
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
