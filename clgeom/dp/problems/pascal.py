"""Binomial coefficients by Pascal's triangle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.arguments import number_type, whole_number
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.functions import where
from clgeom.dp.problems.arguments import INT32
from clgeom.dp.problems.recurrence import fill, typed_recurrence
from clgeom.errors import InvalidInput
from clgeom.intake.typing import DeviceLike, DTypeLike, IntLike, NDArray


@typed_recurrence("RUD")
def binomial_equation(M: Any, i: Any, j: Any) -> Any:
    """Cell (i, j) is C(i, j)."""
    return where((j == 0) | (i == j), 1, where(j < i, M[i - 1, j - 1] + M[i - 1, j], 0))


@keeps_subnormals
@dataclass(frozen=True)
class Binomial:
    """The result of `binomial`.

    Attributes
    ----------
    n, k : int
        As given.
    value : int
        C(n, k).

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> problems.binomial(5, 2)
    Binomial(n=5, k=2, value=10)
    """

    n: int
    k: int
    value: int


@keeps_subnormals
def binomial(n: IntLike, k: IntLike, *, dtype: DTypeLike = "int64", device: DeviceLike = None) -> Binomial:
    """The binomial coefficient C(n, k): the number of ways to choose k of n things.

    Parameters
    ----------
    n, k : int
        Not negative.
    dtype : {"int32", "int64"}
        Of the table's cells.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Binomial

    Raises
    ------
    InvalidInput
        If the coefficient does not fit the type: C(34, 16) is the first that does not fit int32, C(67, 30) the first
        that does not fit int64.

    Examples
    --------
    >>> from clgeom.dp.problems import binomial
    >>> binomial(33, 16)
    Binomial(n=33, k=16, value=1166803110)
    """
    n = whole_number(n, "n", caller="binomial", most=INT32 - 1)
    k = whole_number(k, "k", caller="binomial", most=INT32 - 1)
    dtype = _type(dtype, caller="binomial")
    if k > n:
        return Binomial(n, k, 0)
    fewer = min(k, n - k)  # the same value, and the largest of the columns that are left: no cell overflows first
    if fewer > 66 or math.comb(n, fewer) > np.iinfo(dtype).max:
        raise InvalidInput(f"The binomial coefficient C({n}, {k}) does not fit {dtype}.")
    if fewer == 0:
        return Binomial(n, k, 1)
    table = fill(binomial_equation(dtype), (n + 1, fewer + 1), keep="corner", device=device)
    return Binomial(n, k, int(table.corner))


@keeps_subnormals
def pascal_triangle(rows: IntLike, *, dtype: DTypeLike = "int64", device: DeviceLike = None) -> NDArray[Any]:
    """The first rows of Pascal's triangle, zeros to the right of it.

    Parameters
    ----------
    rows : int
    dtype : {"int32", "int64"}
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    ndarray of `dtype`, shape (rows, rows)
        Element (i, j) is C(i, j).

    Raises
    ------
    InvalidInput
        `dtype` is another type, `rows` is no whole number of at least 1, or the last row does not fit the type: int32
        has 34 rows, int64 has 67.
    DeviceLimit
        The device has too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> problems.pascal_triangle(4).tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [1, 2, 1, 0], [1, 3, 3, 1]]
    """
    dtype = _type(dtype, caller="pascal_triangle")
    rows = whole_number(rows, "rows", caller="pascal_triangle", least=1)
    if rows > {"int32": 34, "int64": 67}[dtype]:
        raise InvalidInput(f"The row {rows - 1} of Pascal's triangle does not fit {dtype}.")
    return fill(binomial_equation(dtype), (rows, rows), device=device).numpy()


def _type(dtype: DTypeLike, *, caller: str) -> str:
    """Return the name of a type of coefficients."""
    return number_type(dtype, (np.dtype(np.int32), np.dtype(np.int64)), "dtype", caller=caller).name
