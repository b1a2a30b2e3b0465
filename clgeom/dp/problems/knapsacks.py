"""Knapsacks: each item once (0/1), or as often as it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.batch.fills import fill_batch
from clgeom.dp.batch.result import TableBatch
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.functions import maximum, where, which_max
from clgeom.dp.problems.arguments import INT32, Arguments, is_collection
from clgeom.dp.problems.recurrence import fill, most, typed_recurrence
from clgeom.errors import InvalidInput
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


#: Values, weights and capacity of a knapsack, and the type of its cells.
_Checked = tuple[NDArray[Any], NDArray[np.int64], int, str]


def _solve(
    caller: str, values: Any, weights: Any, capacity: Any, items: bool, device: DeviceLike
) -> Knapsack | list[Knapsack]:
    """Solve one knapsack or several for the public function of this name."""
    check, repeats = Arguments(caller), caller == "integer_knapsack"
    items = check.boolean(items, "items")
    equation_of = integer_knapsack_equation if repeats else knapsack_equation
    several_capacities = is_collection(capacity) and not any(map(is_collection, capacity))
    if _is_list(values) or _is_list(weights) or several_capacities:
        checked = []
        for k, one in enumerate(_each(values, weights, capacity, caller)):
            try:
                checked.append(_checked(check, *one, repeats=repeats))
            except InvalidInput as error:
                raise InvalidInput(f"{error} This is knapsack {k:,}.") from error
        return _solve_batch(checked, equation_of, items, device) if checked else []
    v, w, room, dtype = _checked(check, values, weights, capacity, repeats=repeats)
    if not len(v):
        return Knapsack(0, np.empty(0, np.int64), 0) if items else Knapsack(0)
    equation, shape = equation_of(dtype), (len(v) + 1, room + 1)
    parameters = {"w": np.minimum(w, room + 1).astype(np.int32), "v": v.astype(dtype)}
    if not items:
        return Knapsack(fill(equation, shape, **parameters, keep="corner", device=device).corner.item())
    table = fill(equation, shape, **parameters, keep="decisions", device=device)
    source, state = (COUNTS, (0, 0)) if repeats else (TAKEN, (0, 0, 0))
    steps = table.recover(source, len(v), state=state)[::-1].astype(np.int64)
    taken = np.repeat(np.arange(len(v)), steps) if repeats else steps
    return Knapsack(table.corner.item(), taken, int(w[taken].sum()))


def _checked(check: Arguments, values: Any, weights: Any, capacity: Any, *, repeats: bool) -> _Checked:
    v = check.numbers(values, "values", least=0, empty=True)
    size = len(v), "as many numbers as 'values'"
    w = check.whole_numbers(weights, "weights", least=int(repeats), size=size, empty=True)
    room = check.whole_number(capacity, "capacity", most=INT32 - 1)
    if v.dtype.kind == "f":
        return v, w, room, "float64"
    bound = sum(map(int, v)) * (max(room, 1) if repeats else 1)
    return v, w, room, check.sum_type(bound, "values")


# Several knapsacks in one call --------------------------------------------------------------------------------------


def _is_list(value: Any) -> bool:
    """Whether a value is a list of lists or arrays."""
    return isinstance(value, (list, tuple)) and len(value) > 0 and is_collection(value[0])


def _each(values: Any, weights: Any, capacity: Any, caller: str) -> Iterable[tuple[Any, Any, Any]]:
    """Return values, weights and capacity of each knapsack."""
    arguments = {"values": values, "weights": weights, "capacity": capacity}
    lists = {
        name: value
        for name, value in arguments.items()
        if _is_list(value) or (name == "capacity" and is_collection(value))
    }
    counts = {name: len(value) for name, value in lists.items()}
    if len(set(counts.values())) > 1:
        numbers = ", ".join(f"{count:,} '{name}'" for name, count in counts.items())
        raise InvalidInput(f"The parameters of {caller} are for several numbers of knapsacks: {numbers}.")
    count = next(iter(counts.values()))
    return zip(*(list(value) if name in lists else [value] * count for name, value in arguments.items()))


def _solve_batch(
    checked: list[_Checked], equation_of: Callable[[str], Equation], items: bool, device: DeviceLike
) -> list[Knapsack]:
    types = {dtype for *_, dtype in checked}
    dtype = next(name for name in ("float64", "int64", "int32") if name in types)
    shapes = np.array([(len(v) + 1, room + 1) for v, _, room, _ in checked])
    w = [np.minimum(weight, room + 1).astype(np.int32) for _, weight, room, _ in checked]
    v = [value.astype(dtype) for value, *_ in checked]
    keep: Literal["decisions", "corner"] = "decisions" if items else "corner"
    batch = fill_batch(equation_of(dtype), shapes, w=w, v=v, keep=keep, check=False, device=device)
    best = [
        float(value) if kind == "float64" else int(value) for value, (*_, kind) in zip(batch.corners.tolist(), checked)
    ]
    if not items:
        return [Knapsack(value) for value in best]
    return [
        Knapsack(value, np.repeat(np.arange(len(count)), count), int(count @ weight))
        for value, count, (_, weight, *_) in zip(best, _counts(batch, w), checked)
    ]


def _counts(batch: TableBatch, w: list[NDArray[np.int32]]) -> list[NDArray[np.int64]]:
    """Return how many of each item each knapsack takes, by a traceback of all tables at once."""
    items = np.array([len(weights) for weights in w])
    rooms = batch.shapes[:, 1]
    begins = np.append(0, np.cumsum(items))
    flat = np.concatenate([np.zeros(0, np.int64), *w])
    counts = np.zeros(len(flat), np.int64)
    decisions = np.asarray(batch.decisions)
    room = rooms - 1
    for i in range(int(items.max(initial=0)), 0, -1):
        active = np.flatnonzero(items >= i)
        taken = decisions[batch.offsets[active] + i * rooms[active] + room[active]].astype(np.int64)
        counts[begins[active] + i - 1] = taken
        room[active] -= taken * flat[begins[active] + i - 1]
    return np.split(counts, begins[1:-1])
