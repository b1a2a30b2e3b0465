"""Knapsacks: each item once (0/1), or as often as it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, overload

import numpy as np

from clgeom.arguments import boolean, whole_number
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.functions import maximum, where, which_max
from clgeom.dp.problems import arrays, knapsack_batches
from clgeom.dp.problems.recurrence import most, typed_recurrence
from clgeom.dp.problems.tables import fill
from clgeom.intake.typing import ArrayLike, DeviceLike, IntLike, NDArray


@typed_recurrence("RUD", {"w": "int32[]", "v": "cell[]"}, dtype="int32")
def knapsack_equation(M: Any, i: Any, j: Any, w: Any, v: Any) -> Any:
    """Row i for the first i items, column j for capacity j. Choice 1: item i is taken."""
    fits = (i > 0) & (w[i - 1] <= j)
    without, taken = M[i - 1, j], M[i - 1, j - w[i - 1]] + v[i - 1]
    value = where(i == 0, 0, where(w[i - 1] <= j, maximum(without, taken), without))
    return value, where(fits, which_max(without, taken), 0)


@typed_recurrence("RUD", {"w": "int32[]", "v": "cell[]"}, dtype="int32")
def integer_knapsack_equation(M: Any, i: Any, j: Any, w: Any, v: Any) -> Any:
    """Row i for the first i items, column j for capacity j. Choice: how often item i is taken."""
    value, count = most(0, j // w[i - 1] + 1, lambda x: M[i - 1, j - x * w[i - 1]] + x * v[i - 1])
    return where(i == 0, 0, value), where(i == 0, 0, count)


#: The traceback from the last cell, on the device, 100,000 items a launch: the items taken; how many of each item; the
#: last one first.
TAKEN = """
int taken = state[0], i = n - 1 - state[1], j = m - 1 - state[2];
const int stop = max(i - 100000, 0);
for (; i > stop; --i)
    if (D(i, j)) {
        out[taken++] = i - 1;
        j -= w[i - 1];
    }
state[0] = taken;
state[1] = n - 1 - i;
state[2] = m - 1 - j;
return i > 0 ? -1 : taken;
"""
COUNTS = """
int i = n - 1 - state[0], j = m - 1 - state[1];
const int stop = max(i - 100000, 0);
for (; i > stop; --i) {
    out[n - 1 - i] = D(i, j);
    j -= out[n - 1 - i] * w[i - 1];
}
state[0] = n - 1 - i;
state[1] = m - 1 - j;
return i > 0 ? -1 : n - 1;
"""


@keeps_subnormals
@dataclass(frozen=True)
class Knapsack:
    """The result of `knapsack` and `integer_knapsack`.

    Attributes
    ----------
    value : int or float
        The best value that fits.
    items : ndarray of int64, or None
        The items chosen, ascending; those that are taken several times are there several times.
    weight : int or None
        Their weight.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> found = problems.knapsack([25, 24, 15], [18, 15, 10], 25)
    >>> found.value, found.items.tolist(), found.weight
    (39, [1, 2], 25)
    """

    value: int | float
    items: NDArray[np.int64] | None = field(default=None, repr=False)
    weight: int | None = None


Numbers = NDArray[Any] | Sequence[float]


@overload
def knapsack(
    values: Numbers, weights: Numbers, capacity: IntLike, *, items: bool = True, device: DeviceLike = None
) -> Knapsack: ...
@overload
def knapsack(
    values: Numbers | Sequence[Numbers],
    weights: Numbers | Sequence[Numbers],
    capacity: Sequence[int] | NDArray[np.integer[Any]],
    *,
    items: bool = True,
    device: DeviceLike = None,
) -> list[Knapsack]: ...
@overload
def knapsack(
    values: ArrayLike, weights: ArrayLike, capacity: ArrayLike, *, items: bool = True, device: DeviceLike = None
) -> Any: ...
@keeps_subnormals
def knapsack(values: Any, weights: Any, capacity: Any, *, items: bool = True, device: DeviceLike = None) -> Any:
    """Choose the items of largest total value whose weights do not exceed the capacity, each at most once.

    Parameters
    ----------
    values : array_like, shape (n,), or list of them
        Not negative. Whole numbers are added exactly, others in float64.
    weights : array_like of whole numbers, shape (n,), or list of them
        Not negative.
    capacity : int, or array_like of int
    items : bool
        Also find which items, not only their value.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Knapsack, or list of Knapsack
        Of several best choices that which leaves out the last item if it can, then the one before, and so on. A list
        for several capacities, or lists of arrays, one for each knapsack; what is not a list is for all of them.

    Raises
    ------
    InvalidInput
        `values` or `weights` has negative numbers, weights are not whole or not as many as the values, a capacity is no
        whole number from 0 to 2**31 - 2, or a sum of whole values may not fit int64. For several: lists of different
        lengths.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import knapsack
    >>> knapsack([25, 24, 15], [18, 15, 10], 22)
    Knapsack(value=25, weight=18)
    >>> [found.value for found in knapsack([25, 24, 15], [18, 15, 10], [22, 25])]
    [25, 39]
    """
    return _solve("knapsack", values, weights, capacity, items, device)


@overload
def integer_knapsack(
    values: Numbers, weights: Numbers, capacity: IntLike, *, items: bool = True, device: DeviceLike = None
) -> Knapsack: ...
@overload
def integer_knapsack(
    values: Numbers | Sequence[Numbers],
    weights: Numbers | Sequence[Numbers],
    capacity: Sequence[int] | NDArray[np.integer[Any]],
    *,
    items: bool = True,
    device: DeviceLike = None,
) -> list[Knapsack]: ...
@overload
def integer_knapsack(
    values: ArrayLike, weights: ArrayLike, capacity: ArrayLike, *, items: bool = True, device: DeviceLike = None
) -> Any: ...
@keeps_subnormals
def integer_knapsack(values: Any, weights: Any, capacity: Any, *, items: bool = True, device: DeviceLike = None) -> Any:
    """Choose the items of largest total value whose weights do not exceed the capacity, each any number of times.

    See `knapsack`; weights are at least 1. Of several best choices it finds that with the fewest of the last item, then
    of the one before, and so on.

    Parameters
    ----------
    values, weights, capacity, items, device
        As for `knapsack`.

    Returns
    -------
    Knapsack, or list of Knapsack
        As for `knapsack`; an item that is taken k times is in `items` k times.

    Raises
    ------
    InvalidInput
        As for `knapsack`; or a weight is 0.
    DeviceLimit
        As for `knapsack`.

    Examples
    --------
    >>> from clgeom.dp.problems import integer_knapsack
    >>> integer_knapsack([25, 24, 15], [18, 15, 10], 22)
    Knapsack(value=30, weight=20)
    """
    return _solve("integer_knapsack", values, weights, capacity, items, device)


def _solve(
    caller: str, values: Any, weights: Any, capacity: Any, items: bool, device: DeviceLike
) -> Knapsack | list[Knapsack]:
    """The solution of one knapsack or of several, for the public function of this name."""
    items, repeats = boolean(items, "items", caller=caller), caller == "integer_knapsack"
    equation_of = integer_knapsack_equation if repeats else knapsack_equation
    check = partial(_checked, caller=caller, repeats=repeats)
    if knapsack_batches.is_batch(values, weights, capacity):
        solved = knapsack_batches.solve(
            values, weights, capacity, equation_of, check, items=items, caller=caller, device=device
        )
        return [Knapsack(*one) for one in solved]
    v, w, room, dtype = check(values, weights, capacity)
    if not len(v):
        return Knapsack(0, np.empty(0, np.int64), 0) if items else Knapsack(0)
    equation, shape = equation_of(dtype), (len(v) + 1, room + 1)
    given = {"w": np.minimum(w, room + 1).astype(np.int32), "v": v.astype(dtype)}
    if not items:
        return Knapsack(fill(equation, shape, **given, keep="corner", device=device).corner.item())
    table = fill(equation, shape, **given, keep="decisions", device=device)
    source, state = (COUNTS, (0, 0)) if repeats else (TAKEN, (0, 0, 0))
    found = table.recover(source, len(v), state=state)[::-1].astype(np.int64)
    taken = np.repeat(np.arange(len(v)), found) if repeats else found
    return Knapsack(table.corner.item(), taken, int(w[taken].sum()))


def _checked(
    values: ArrayLike, weights: ArrayLike, capacity: IntLike, *, caller: str, repeats: bool
) -> tuple[NDArray[Any], NDArray[np.int64], int, str]:
    """Values, weights and capacity of a knapsack, and the type of its cells."""
    v = arrays.numbers(values, "values", caller=caller, least=0)
    w = arrays.whole_numbers(
        weights, "weights", caller=caller, least=int(repeats), size=(len(v), "as many numbers as 'values'")
    )
    room = whole_number(capacity, "capacity", caller=caller, most=arrays.INT32 - 1)
    if v.dtype.kind == "f":
        return v, w, room, "float64"
    bound = sum(map(int, v)) * (max(room, 1) if repeats else 1)
    return v, w, room, arrays.sum_type(bound, "values", caller=caller)
