"""Equations of problems from their recurrences, which are traced Python functions; fills without checks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from clgeom.dp import filling
from clgeom.dp.analysis import readiness
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.functions import argmax_over, argmin_over, index, max_over, min_over, where
from clgeom.dp.table import traceback as tracing
from clgeom.dp.table.table import Table

#: A function of the cells, the indices and the parameters, as `Equation` takes it. Its docstring says what the rows,
#: columns and choices of the table are; the equation keeps it.
Recurrence = Callable[..., Any]
E = TypeVar("E")


def recurrence(
    pattern: str, dtype: Any, parameters: Mapping[str, str] | None = None, **options: Any
) -> Callable[[Recurrence], Equation]:
    """A decorator that makes the `Equation` of a recurrence, with the name and the docstring of its function."""
    return equation_of(Equation, pattern, dtype, parameters, **options)


def equation_of(
    kind: Callable[..., E], pattern: str, dtype: Any, parameters: Mapping[str, str] | None = None, **options: Any
) -> Callable[[Recurrence], E]:
    """As `recurrence`, for equations of another kind."""

    def decorate(function: Recurrence) -> E:
        function.__annotations__ = {}  # Python's types, which an equation would take for types of its parameters
        name = function.__name__.strip("_").removesuffix("_equation").lower()
        made = {"dtype": dtype, "pattern": pattern, "parameters": dict(parameters or {}), "name": name, **options}
        equation = kind(function, **made)
        equation.__doc__ = function.__doc__
        return equation

    return decorate


def typed_recurrence(
    pattern: str, parameters: Mapping[str, str] | None = None, *, dtype: str = "int64"
) -> Callable[[Recurrence], Callable[..., Equation]]:
    """As `recurrence`, a function of the type of the cells, by default `dtype`: "cell" in the types of parameters."""

    def decorate(function: Recurrence) -> Callable[..., Equation]:
        @functools.lru_cache
        def of_type(dtype: str = dtype) -> Equation:
            types = {name: kind.replace("cell", dtype) for name, kind in (parameters or {}).items()}
            return recurrence(pattern, dtype, types)(function)

        return of_type

    return decorate


def least(lo: Any, hi: Any, expr: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return the least of expr(x) over lo <= x < hi, and the lowest such x, by one loop."""
    x = index("x")
    body = expr(x)
    return min_over(x, lo, hi, body), argmin_over(x, lo, hi, body)


def most(lo: Any, hi: Any, expr: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return the largest of expr(x) over lo <= x < hi, and the lowest such x, by one loop."""
    x = index("x")
    body = expr(x)
    return max_over(x, lo, hi, body), argmax_over(x, lo, hi, body)


def with_base(condition: Any, value: Any, best: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return value and choice of a cell: in the base case this value and no choice (-1), else those of `best`."""
    return where(condition, value, best[0]), where(condition, -1, best[1])


# The check before a fill is not needed: tests verify the equations, and the problems check their arguments.

traceback = functools.partial(tracing.traceback, check=False)


def fill(equation: Equation, shape: tuple[int, int], **options: Any) -> Table:
    """Fill a table without checks."""
    with readiness.settled():
        return filling.fill(equation, shape, check=False, **options)
