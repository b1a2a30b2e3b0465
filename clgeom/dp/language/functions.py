"""Functions of traced equations: where, minimum, min_over and their like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, overload

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.mistakes import mistake
from clgeom.dp.language.trace import (
    Expr,
    Operand,
    alike,
    condition,
    convert,
    expression,
    extreme,
    new_index,
    node,
    number,
    reduction,
)
from clgeom.dp.language.types import CELL_TYPES, float_type
from clgeom.intake.typing import DTypeLike


@overload
def where(condition_: Operand, a: Operand, b: Operand) -> Expr: ...
@overload
def where(condition_: Operand, a: tuple[Operand, ...], b: tuple[Operand, ...]) -> tuple[Expr, ...]: ...
@overload
def where(condition_: Operand, a: Mapping[str, Operand], b: Mapping[str, Operand]) -> dict[str, Expr]: ...
@keeps_subnormals
def where(condition_: Operand, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`. The other side is not evaluated, so it may read outside the table.

    `a` and `b` may be tuples, such as pairs of a value and its choice, or dictionaries of values by field.

    Parameters
    ----------
    condition_ : Expr or bool
    a, b : Expr or number, or tuples or dictionaries of them

    Returns
    -------
    Expr, or tuple or dictionary of Expr
        As `a` and `b` are.

    Raises
    ------
    InvalidInput
        The condition or an operand is no number and no expression of an equation, or tuples or dictionaries do not
        match.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation
    ... def f(M, i, j):
    ...     return dp.where(i < j, 1, 0)
    >>> dp.fill(f, (3, 3)).numpy().tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(where(condition_, x, y) for x, y in zip(a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping) and set(a) == set(b):
        return {name: where(condition_, a[name], b[name]) for name in a}
    c = condition(condition_)
    a, b = alike((a, b))
    if c.op == "const":
        return a if c.data else b
    return a if a is b else node("where", c, a, b)


@keeps_subnormals
def minimum(a: Operand, b: Operand, *more: Operand) -> Expr:
    """Return the least of several values: the first of equal values, and of two values with a NaN.

    Parameters
    ----------
    a, b, *more : Expr or number

    Returns
    -------
    Expr
        In the widest type of the operands.

    Raises
    ------
    InvalidInput
        An operand is no number and no expression of an equation.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation
    ... def f(M, i, j):
    ...     return dp.minimum(i, j, 1)
    >>> dp.fill(f, (3, 3)).numpy().tolist()
    [[0, 0, 0], [0, 1, 1], [0, 1, 1]]
    """
    return extreme("min", a, b, *more)


@keeps_subnormals
def maximum(a: Operand, b: Operand, *more: Operand) -> Expr:
    """Return the largest of several values: the first of equal values, and of two values with a NaN.

    Parameters
    ----------
    a, b, *more : Expr or number

    Returns
    -------
    Expr
        In the widest type of the operands.

    Raises
    ------
    InvalidInput
        An operand is no number and no expression of an equation.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation
    ... def f(M, i, j):
    ...     return dp.maximum(i, j)
    >>> dp.fill(f, (3, 3)).numpy().tolist()
    [[0, 1, 2], [1, 1, 2], [2, 2, 2]]
    """
    return extreme("max", a, b, *more)


@keeps_subnormals
def which_min(a: Operand, b: Operand, *more: Operand) -> Expr:
    """Return the number of the least value, from 0: the choice that belongs to `minimum`.

    Parameters
    ----------
    a, b, *more : Expr or number

    Returns
    -------
    Expr
        An int32.

    Raises
    ------
    InvalidInput
        An operand is no number and no expression of an equation.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation
    ... def f(M, i, j):
    ...     return dp.which_min(j, i, 1)
    >>> dp.fill(f, (3, 3)).numpy().tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 2]]
    """
    return node("which_min", *map(number, alike((a, b, *more))), type="int")


@keeps_subnormals
def which_max(a: Operand, b: Operand, *more: Operand) -> Expr:
    """Return the number of the largest value, from 0: the choice that belongs to `maximum`.

    Parameters
    ----------
    a, b, *more : Expr or number

    Returns
    -------
    Expr
        An int32.

    Raises
    ------
    InvalidInput
        An operand is no number and no expression of an equation.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation
    ... def f(M, i, j):
    ...     return dp.which_max(j, i)
    >>> dp.fill(f, (3, 3)).numpy().tolist()
    [[0, 0, 0], [1, 0, 0], [1, 1, 0]]
    """
    return node("which_max", *map(number, alike((a, b, *more))), type="int")


@keeps_subnormals
def absolute(value: Operand) -> Expr:
    """Return the absolute value.

    Parameters
    ----------
    value : Expr or number

    Returns
    -------
    Expr
        In the operand's type.

    Raises
    ------
    InvalidInput
        An operand is no number and no expression of an equation.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation
    ... def f(M, i, j):
    ...     return dp.absolute(i - j)
    >>> dp.fill(f, (3, 3)).numpy().tolist()
    [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    """
    return abs(expression(value))


@keeps_subnormals
def sqrt(value: Operand) -> Expr:
    """Return the square root of a float; see `Equation` for its rounding.

    Parameters
    ----------
    value : Expr or number

    Returns
    -------
    Expr
        float32 or float64.

    Raises
    ------
    InvalidInput
        An operand is no number and no expression of an equation.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation(dtype="float32")
    ... def f(M, i, j):
    ...     return dp.sqrt(dp.cast(i * i + j * j, "float32"))
    >>> dp.fill(f, (4, 5))[3].tolist()[::4]
    [3.0, 5.0]
    """
    value = number(value)
    if value.type not in ("float", "double"):
        value = convert(value, float_type())
    return node("sqrt", value)


@keeps_subnormals
def cast(value: Operand, dtype: DTypeLike) -> Expr:
    """Return the value in another type: int32, int64, uint64, float32 or float64.

    Floats are cut towards zero; a float beyond the range of the integer type becomes the nearest integer, NaN becomes
    0. Integers wrap around.

    Parameters
    ----------
    value : Expr or number
    dtype : {"int32", "int64", "uint64", "float32", "float64"}

    Returns
    -------
    Expr
        In the type `dtype`.

    Raises
    ------
    InvalidInput
        `dtype` is another type, or the value is no number and no expression of an equation.
    TypeError
        `dtype` is no type of NumPy.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation
    ... def f(M, i, j):
    ...     return dp.cast(dp.cast(j, "float32") / 2, "int32")
    >>> dp.fill(f, (1, 6)).numpy().tolist()
    [[0, 0, 1, 1, 2, 2]]
    """
    name = np.dtype(dtype).name
    if name not in CELL_TYPES:
        raise mistake(f"dp.cast takes one of {', '.join(CELL_TYPES)}. Got {name} instead.")
    return convert(number(value), CELL_TYPES[name])


@keeps_subnormals
def index(name: str = "k") -> Expr:
    """Return a new index for `min_over` and the other reductions; `name` is its name in the OpenCL C.

    Parameters
    ----------
    name : str
        What the index is called in the OpenCL C.

    Returns
    -------
    Expr
        An int32.

    Raises
    ------
    InvalidInput
        `name` is no name in C.

    Examples
    --------
    >>> from clgeom import dp
    >>> k = dp.index()
    >>> @dp.equation
    ... def f(M, i, j):
    ...     return dp.sum_over(k, 0, j, k * k)
    >>> dp.fill(f, (1, 5)).numpy().tolist()
    [[0, 0, 1, 5, 14]]
    """
    return new_index(name)


@keeps_subnormals
def min_over(
    k: Expr | str, lo: Operand, hi: Operand, expr: Operand | Callable[[Expr], Operand], empty: Operand | None = None
) -> Expr:
    """Return the least value of an expression over lo <= k < hi.

    Parameters
    ----------
    k : Expr or str
        An index from `index`, or a name for one: an int32. Each reduction has its own, even where one is written in
        several, inside each other or one after the other.
    lo, hi : Expr or int
        Ends of int64 beyond the range of int32 are cut to it; checks of a fill find that (`IntegerOverflow`).
    expr : Expr, or function of k
    empty : number or Expr, optional
        The value of an empty range; the largest of the type by default. NaN never wins.

    Returns
    -------
    Expr
        In the type of `expr`.

    Raises
    ------
    InvalidInput
        An end is no integer, an operand is no number and no expression of an equation, or `k` is a name and `expr` is
        no function.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation(parameters={"c": "int32[]"})
    ... def f(M, i, j, c):
    ...     return dp.min_over("k", 0, j + 1, lambda k: c[k])
    >>> dp.fill(f, (1, 4), c=[3, 5, 1, 2]).numpy().tolist()
    [[3, 3, 1, 1]]
    """
    return reduction("reduce", "min", k, lo, hi, expr, empty)


@keeps_subnormals
def max_over(
    k: Expr | str, lo: Operand, hi: Operand, expr: Operand | Callable[[Expr], Operand], empty: Operand | None = None
) -> Expr:
    """Return the largest value of an expression over lo <= k < hi; see `min_over`.

    Parameters
    ----------
    k, lo, hi, expr
        As for `min_over`.
    empty : number or Expr, optional
        The value of an empty range; the smallest of the type by default.

    Returns
    -------
    Expr
        In the type of `expr`.

    Raises
    ------
    InvalidInput
        As for `min_over`.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation(parameters={"c": "int32[]"})
    ... def f(M, i, j, c):
    ...     return dp.max_over("k", 0, j + 1, lambda k: c[k])
    >>> dp.fill(f, (1, 4), c=[3, 5, 1, 2]).numpy().tolist()
    [[3, 5, 5, 5]]
    """
    return reduction("reduce", "max", k, lo, hi, expr, empty)


@keeps_subnormals
def sum_over(k: Expr | str, lo: Operand, hi: Operand, expr: Operand | Callable[[Expr], Operand]) -> Expr:
    """Return the sum of an expression over lo <= k < hi, in ascending order of k.

    Parameters
    ----------
    k, lo, hi, expr
        As for `min_over`.

    Returns
    -------
    Expr
        In the type of `expr`.

    Raises
    ------
    InvalidInput
        As for `min_over`.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation(parameters={"c": "int32[]"})
    ... def f(M, i, j, c):
    ...     return dp.sum_over("k", 0, j + 1, lambda k: c[k])
    >>> dp.fill(f, (1, 4), c=[3, 5, 1, 2]).numpy().tolist()
    [[3, 8, 9, 11]]
    """
    return reduction("reduce", "sum", k, lo, hi, expr)


@keeps_subnormals
def argmin_over(k: Expr | str, lo: Operand, hi: Operand, expr: Operand | Callable[[Expr], Operand]) -> Expr:
    """Return the lowest k at which an expression is least; -1 for an empty range. The choice that belongs to
    `min_over`.

    Parameters
    ----------
    k, lo, hi, expr
        As for `min_over`.

    Returns
    -------
    Expr
        An int32.

    Raises
    ------
    InvalidInput
        As for `min_over`.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation(parameters={"c": "int32[]"})
    ... def f(M, i, j, c):
    ...     return dp.argmin_over("k", 0, j + 1, lambda k: c[k])
    >>> dp.fill(f, (1, 4), c=[3, 5, 1, 1]).numpy().tolist()
    [[0, 0, 2, 2]]
    """
    return reduction("argreduce", "min", k, lo, hi, expr)


@keeps_subnormals
def argmax_over(k: Expr | str, lo: Operand, hi: Operand, expr: Operand | Callable[[Expr], Operand]) -> Expr:
    """Return the lowest k at which an expression is largest; -1 for an empty range.

    Parameters
    ----------
    k, lo, hi, expr
        As for `min_over`.

    Returns
    -------
    Expr
        An int32.

    Raises
    ------
    InvalidInput
        As for `min_over`.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation(parameters={"c": "int32[]"})
    ... def f(M, i, j, c):
    ...     return dp.argmax_over("k", 0, j, lambda k: c[k])
    >>> dp.fill(f, (1, 4), c=[3, 5, 1, 2]).numpy().tolist()
    [[-1, 0, 1, 1]]
    """
    return reduction("argreduce", "max", k, lo, hi, expr)
