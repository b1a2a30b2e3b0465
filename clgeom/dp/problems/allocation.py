"""Allocation problems: allotment, reliability, assignment, covers, piecewise curve fitting, integer programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.functions import maximum, minimum, where
from clgeom.dp.problems.arguments import INF, INT32, Arguments
from clgeom.dp.problems.recurrence import fill, least, most, recurrence, with_base
from clgeom.dp.table.table import Table
from clgeom.errors import InvalidInput
from clgeom.intake.typing import ArrayLike, DeviceLike, IntLike, NDArray


@keeps_subnormals
@dataclass(frozen=True)
class Allocation:
    """The best value, and the choices that lead to it.

    Attributes
    ----------
    value : int or float
        inf (or -inf where the most is sought) if nothing is allowed.
    choice : ndarray of int64, or None
        One number for each stage: an amount, a column, a cut; the problem says which. None if nothing is allowed.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> found = problems.assignment([[4, 1], [2, 3]])
    >>> found.value, found.choice.tolist()
    (3.0, [1, 0])
    """

    value: int | float
    choice: NDArray[np.int64] | None = field(default=None, repr=False)


# Allotment: an amount for each user -----------------------------------------------------------------------------


@recurrence("RDU", "float64", {"c": "float64[,]", "upto": "int32"})
def ALLOTMENT(M: Any, i: Any, j: Any, c: Any, upto: Any, n: Any) -> Any:
    """Row i: users from i on, none in the last; column j: units left. Choice: units for user i, at most `upto`."""
    best = least(0, minimum(j, upto) + 1, lambda x: M[i + 1, j - x] + c[i, x])
    return with_base(i == n - 1, where(j == 0, 0.0, INF), best)


@keeps_subnormals
def allotment(costs: ArrayLike, total: IntLike, *, device: DeviceLike = None) -> Allocation:
    """Divide a number of units among users at the least cost.

    Parameters
    ----------
    costs : array_like of float, shape (users, amounts)
        ``costs[k, x]`` is the cost of giving x units to user k; inf for what is not allowed.
    total : int
        All units are given.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: units for each user. Ties go to fewer units for the first user, then for the next.

    Raises
    ------
    InvalidInput
        `costs` is no table of numbers or inf, or `total` is no whole number from 0 to 2**31 - 2.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import allotment
    >>> inf = float("inf")
    >>> allotment([[inf, 1, 0.8, 0.4, 0], [inf, 1, 0.5, 0, 0], [inf, 1, 0.6, 0.3, 0]], 4).value
    2.5
    """
    check = Arguments("allotment")
    costs = check.floats(costs, "costs", ndim=2, infinite=True)
    total = check.whole_number(total, "total", most=INT32 - 1)
    values = {"c": costs, "upto": costs.shape[1] - 1}
    return best_choices(ALLOTMENT, (len(costs) + 1, total + 1), values, total, lambda i, j, x: j - x, device)


def best_choices(
    equation: Equation,
    shape: tuple[int, int],
    values: dict[str, Any],
    start: int,
    next_column: Callable[[int, int, int], int],
    device: DeviceLike,
) -> Allocation:
    """Fill a table by rows, and follow its choices: see `follow_choices`."""
    return follow_choices(fill(equation, shape, values=values, keep="decisions", device=device), start, next_column)


def follow_choices(table: Table, j: int, next_column: Callable[[int, int, int], int]) -> Allocation:
    """Follow the choices of a table from column j of the row completed last to that completed first.

    `next_column`: A function of row, column and choice.
    """
    rows = range(table.shape[0])
    rows = rows[:-1] if table.pattern == "RDU" else rows[:0:-1]
    value, choice = table.last[j].item(), []
    if table.pattern == "RDU" and value in (INF, -INF):  # from the other side, a sum may be beyond float64
        return Allocation(value)
    for i in rows:
        choice.append(int(table.decisions.cell(i, j)))
        j = next_column(i, j, choice[-1])
    return Allocation(value, np.array(choice[:: rows.step], np.int64))


# Reliability: how many of each part -----------------------------------------------------------------------------


@recurrence("RUD", "float64", {"c": "int32[]", "r": "float64[,]"})
def RELIABILITY(M: Any, i: Any, j: Any, c: Any, r: Any) -> Any:
    """Row i: the first i kinds of parts; column j: the budget. Choice: parts of kind i. r: chance that 1 of x works."""
    # the value is -inf where not even one fits
    return with_base(i == 0, 1.0, most(1, j // c[i - 1] + 1, lambda x: M[i - 1, j - x * c[i - 1]] * r[i - 1, x]))


@keeps_subnormals
def reliability(costs: ArrayLike, rates: ArrayLike, budget: IntLike, *, device: DeviceLike = None) -> Allocation:
    """Choose the number of parallel parts of each kind that make a chain of all kinds most reliable within a budget.

    Parameters
    ----------
    costs : array_like of whole numbers, shape (kinds,)
        Of a part, at least 1.
    rates : array_like of float, shape (kinds,)
        The chance that a part works.
    budget : int
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `value`: the chance that the whole works; 0 and no choice if one of each costs too much. `choice`: parts of
        each kind; ties go to fewer of the last kind.

    Raises
    ------
    InvalidInput
        `costs` are not whole numbers of at least 1, `rates` are not as many numbers from 0 to 1, or `budget` is no
        whole number from 0 to 2**31 - 2.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import reliability
    >>> round(reliability([30, 15, 20], [0.9, 0.8, 0.5], 105).value, 12)
    0.648
    """
    check = Arguments("reliability")
    costs = check.whole_numbers(costs, "costs", least=1)
    rates = check.floats(rates, "rates", least=0, size=(len(costs), "as many numbers as 'costs'"))
    if rates.max() > 1:
        raise check.wrong("rates", "at most 1", rates.max())
    budget = check.whole_number(budget, "budget", most=INT32 - 1)
    if sum(costs.tolist()) > budget:  # a sum of int64 may wrap around
        return Allocation(0.0)
    works = 1 - (1 - rates[:, None]) ** np.arange(budget // costs.min() + 1)
    shape = len(costs) + 1, budget + 1
    values = {"c": costs.astype(np.int32), "r": works}
    return best_choices(RELIABILITY, shape, values, budget, lambda i, j, x: j - x * int(costs[i - 1]), device)


# Assignment: a column for each row ------------------------------------------------------------------------------


@recurrence("RDU", "float64", {"c": "float64[,]", "bit": "int32[]"})
def ASSIGNMENT(M: Any, i: Any, j: Any, c: Any, bit: Any, n: Any) -> Any:
    """Row i: tasks from i on; column j: the set of machines that are free. Choice: the machine of task i."""

    def give(x: Any) -> Any:  # bit[x] is 2 to the x: column x is free if that is in j
        return where(j // bit[x] % 2 == 1, M[i + 1, j - bit[x]] + c[i, x], INF)

    return with_base(i == n - 1, 0.0, least(0, n - 1, give))


MOST_TASKS = 20


@keeps_subnormals
def assignment(costs: ArrayLike, *, device: DeviceLike = None) -> Allocation:
    """Assign a different column to each row at the least cost.

    Parameters
    ----------
    costs : array_like of float, shape (n, n), n <= 20
        inf for what is not allowed. The table has a column for every set of columns: for more than a few, other
        methods are better.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: the column of each row; ties go to the lowest column of the first row, then of the next.

    Raises
    ------
    InvalidInput
        `costs` is not square, has more than 20 rows, or has NaN or -inf.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> found = problems.assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    >>> found.value, found.choice.tolist()
    (5.0, [1, 0, 2])
    """
    check = Arguments("assignment")
    costs = check.square_table(costs, "costs", most=MOST_TASKS)
    n = len(costs)
    values = {"c": costs, "bit": 1 << np.arange(n, dtype=np.int32)}
    return best_choices(ASSIGNMENT, (n + 1, 1 << n), values, (1 << n) - 1, lambda i, j, x: j - (1 << x), device)


# Cuts: covers and curves ----------------------------------------------------------------------------------------


@recurrence("RUD", "float64", {"c": "float64[,]"})
def CUTS(M: Any, i: Any, j: Any, c: Any) -> Any:
    """Row i: i parts; column j: the first j things. Choice: where the last part begins. c[x, j]: the cost of the part
    from x to j - 1.
    """
    return with_base(i == 0, where(j == 0, 0.0, INF), least(0, j, lambda x: M[i - 1, x] + c[x, j]))


@keeps_subnormals
def covering(sizes: ArrayLike, kinds: IntLike, *, device: DeviceLike = None) -> Allocation:
    """Choose a number of cover sizes with the least total size, such that each thing has a cover at least as large.

    Parameters
    ----------
    sizes : array_like, shape (n,), n >= 1
        Of the things, in any order.
    kinds : int
        From 1 to n.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `value`: the sum of the covers' sizes, one for each thing. `choice`: the places of the covers' sizes among the
        ascending sizes.

    Raises
    ------
    InvalidInput
        `sizes` are no finite numbers of at least 0, or `kinds` is no whole number from 1 to n.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import covering
    >>> covering([1, 4, 5, 7, 8, 12, 13, 18, 19, 21], 3).value
    129.0
    """
    check = Arguments("covering")
    sizes = np.sort(check.floats(sizes, "sizes", least=0))
    n = len(sizes)
    kinds = check.whole_number(kinds, "kinds", least=1, most=n)
    costs = np.zeros((n + 1, n + 1))
    costs[:, 1:] = np.maximum(np.arange(1, n + 1) - np.arange(n + 1)[:, None], 0) * sizes
    best = _cut(costs, kinds, device)
    return Allocation(best.value, np.append(best.choice[1:], n) - 1)  # type: ignore[index]  # no -inf


@recurrence("RDU", "float64", {"size": "float64[]"}, name="covering_as_knapsack")
def COVERS(M: Any, i: Any, j: Any, size: Any, n: Any) -> Any:
    """Row i: kinds of covers from i on; column j: the things without one, the j smallest. Choice: how many of the
    largest of these take the next kind, which is as large as they need.
    """
    best = least(0, j + 1, lambda x: M[i + 1, j - x] + x * size[maximum(j - 1, 0)])
    return with_base(i == n - 1, where(j == 0, 0.0, INF), best)


@keeps_subnormals
def covering_as_knapsack(sizes: ArrayLike, kinds: IntLike, *, device: DeviceLike = None) -> Allocation:
    """Solve `covering` as an integer knapsack: the things are its capacity, and each kind of covers takes some of them.

    Parameters
    ----------
    sizes : array_like of float, shape (n,), n >= 1
        Not negative.
    kinds : int
        The most kinds of covers to have.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: how many things take each kind, from the largest kind to the smallest.

    Raises
    ------
    InvalidInput
        `sizes` are no finite numbers of at least 0, or `kinds` is no whole number from 1 to n.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import covering_as_knapsack
    >>> covering_as_knapsack([1, 4, 5, 7, 8, 12, 13, 18, 19, 21], 3).value
    129.0
    """
    check = Arguments("covering_as_knapsack")
    sizes = np.sort(check.floats(sizes, "sizes", least=0))
    n = len(sizes)
    kinds = check.whole_number(kinds, "kinds", least=1, most=n)
    return best_choices(COVERS, (kinds + 1, n + 1), {"size": sizes}, n, lambda i, j, x: j - x, device)


@keeps_subnormals
def curve_fitting(x: ArrayLike, y: ArrayLike, segments: IntLike, *, device: DeviceLike = None) -> Allocation:
    """Fit a number of straight pieces to ordered points, each to a range of the points, with the least squared error.

    Parameters
    ----------
    x, y : array_like of float, shape (n,), n >= 1
        `x` does not fall.
    segments : int
        From 1 to n.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: the first point of each piece.

    Raises
    ------
    InvalidInput
        `x` or `y` has other than finite numbers, `x` falls, they differ in length, or `segments` is no whole number
        from 1 to n.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> found = problems.curve_fitting([0, 1, 2, 3, 4], [0, 1, 2, 1, 0], 2)
    >>> round(found.value, 9), found.choice.tolist()
    (0.0, [0, 2])
    """
    check = Arguments("curve_fitting")
    x = check.floats(x, "x")
    y = check.numbers(y, "y", size=(len(x), "as many numbers as 'x'")).astype(float)
    n = len(x)
    if (np.diff(x) < 0).any():
        raise check.wrong("x", "in ascending order", "others")
    segments = check.whole_number(segments, "segments", least=1, most=n)
    return _cut(_fit_errors(x, y), segments, device)


def _fit_errors(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared error of the best line through points a .. b - 1, for all a and b; centred, so that little cancels."""
    n = len(x)
    errors = np.zeros((n + 1, n + 1))
    for a in range(n):
        count = np.arange(1, n - a + 1)
        u, v = x[a:] - x[a], y[a:] - y[a]
        su, sv, suu, suv, svv = (np.cumsum(s) for s in (u, v, u * u, u * v, v * v))
        suu, suv, svv = suu - su * su / count, suv - su * sv / count, svv - sv * sv / count
        slope = np.divide(suv, suu, out=np.zeros_like(suv), where=suu > 0)
        errors[a, a + 1 :] = np.maximum(svv - slope * suv, 0)
    return errors


def _cut(costs: NDArray[np.float64], parts: int, device: DeviceLike) -> Allocation:
    return best_choices(CUTS, (parts + 1, len(costs)), {"c": costs}, len(costs) - 1, lambda i, j, x: x, device)


# Integer programming: an amount of each product -----------------------------------------------------------------


@recurrence("RDU", "int64", {"p": "int64[]", "upto": "int32[,]", "step": "int32[]"})
def INTEGER_PROGRAM(M: Any, i: Any, j: Any, p: Any, upto: Any, step: Any, n: Any) -> Any:
    """Row i: products from i on; column j: what is left of all resources, as one number in mixed radix. upto[i, j]: how
    much of product i that allows; step[i]: what one takes of j. Choice: how much of product i.
    """
    return with_base(i == n - 1, 0, most(0, upto[i, j] + 1, lambda x: M[i + 1, j - x * step[i]] + p[i] * x))


@keeps_subnormals
def integer_program(profits: ArrayLike, rows: ArrayLike, limits: ArrayLike, *, device: DeviceLike = None) -> Allocation:
    """Find the whole amounts x >= 0 with the largest ``profits @ x`` where ``rows @ x <= limits``.

    Parameters
    ----------
    profits : array_like of whole numbers, shape (n,)
    rows : array_like of whole numbers, shape (k, n)
        Not negative. The table has a column for every combination of what may be left of the k limits: for few and
        small ones.
    limits : array_like of whole numbers, shape (k,)
        Not negative.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: the amounts; ties go to less of the first, then of the next.

    Raises
    ------
    InvalidInput
        An argument has other than whole numbers, shapes do not fit, a row or limit is negative, an amount with a profit
        has no limit, more than 2**26 combinations may be left of the limits, or sums may not fit int64.
    DeviceLimit
        The device has too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import integer_program
    >>> integer_program([3, 5], [[1, 0], [0, 2], [3, 2]], [4, 12, 18]).value
    36
    """
    check = Arguments("integer_program")
    profits = check.whole_numbers(profits, "profits")
    n = len(profits)
    limits = check.whole_numbers(limits, "limits", least=0)
    size = (len(limits), n), f"a table of {len(limits)} x {n} numbers"
    rows = check.whole_numbers(rows, "rows", ndim=2, least=0, size=size)
    free = ~(rows > 0).any(axis=0) & (profits > 0)
    if free.any():
        raise check.wrong("rows", "above 0 in every column with a profit", f"zeros in column {free.argmax()}")
    columns = int(np.prod([int(limit) + 1 for limit in limits], dtype=object))
    if columns > 1 << 26:
        raise InvalidInput(
            f"The 'limits' parameter of {check.caller} is too large: {columns:,} combinations may be left."
        )
    strides = np.concatenate([np.cumprod((limits + 1)[:0:-1])[::-1], [1]]).astype(np.int64)
    left = np.arange(columns)[:, None] // strides % (limits + 1)
    upto = np.zeros((n + 1, columns), np.int32)
    for k in range(n):
        uses = rows[:, k] > 0
        if uses.any():
            upto[k] = (left[:, uses] // rows[uses, k]).min(axis=1)
    check.sum_type(int(upto.max()) * sum(abs(int(p)) for p in profits), "profits")
    step = np.minimum((rows * strides[:, None]).sum(axis=0), columns)  # what never fits is never taken
    values = {"p": profits, "upto": upto, "step": step.astype(np.int32)}
    shape = n + 1, columns
    return best_choices(INTEGER_PROGRAM, shape, values, columns - 1, lambda i, j, x: j - x * int(step[i]), device)
