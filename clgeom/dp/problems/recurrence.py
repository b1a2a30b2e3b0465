"""Equations of problems from their recurrences: Python functions that are traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from clgeom.dp.language.equation import Equation
from clgeom.dp.language.functions import argmax_over, argmin_over, index, max_over, min_over

#: A function of the cells, the indices and the parameters, as `Equation` takes it. Its docstring says what the rows,
#: columns and choices of the table are; the equation keeps it.
Recurrence = Callable[..., Any]
E = TypeVar("E")


def recurrence(
    function: Recurrence, pattern: str, dtype: Any, parameters: Mapping[str, str] | None = None, **options: Any
) -> Equation:
    """The `Equation` of a recurrence, with the name and the docstring of its function."""
    return equation_of(Equation, function, pattern, dtype, parameters, **options)


def equation_of(
    kind: Callable[..., E],
    function: Recurrence,
    pattern: str,
    dtype: Any,
    parameters: Mapping[str, str] | None = None,
    **options: Any,
) -> E:
    """As `recurrence`, an equation of another kind."""
    function.__annotations__ = {}  # those of Python's types: an equation would take them for types of its parameters
    name = function.__name__.strip("_")
    equation = kind(function, dtype=dtype, pattern=pattern, parameters=dict(parameters or {}), name=name, **options)
    equation.__doc__ = function.__doc__
    return equation


def least(lo: Any, hi: Any, expr: Callable[[Any], Any]) -> tuple[Any, Any]:
    """(the least of expr(x) over lo <= x < hi, the lowest x that gives it), found in one loop."""
    x = index("x")
    body = expr(x)
    return min_over(x, lo, hi, body), argmin_over(x, lo, hi, body)


def most(lo: Any, hi: Any, expr: Callable[[Any], Any]) -> tuple[Any, Any]:
    """(the largest of expr(x) over lo <= x < hi, the lowest x that gives it), found in one loop."""
    x = index("x")
    body = expr(x)
    return max_over(x, lo, hi, body), argmax_over(x, lo, hi, body)
