"""Plans over years, customers and routes: the amount to use at each step.

The study's table has only the names and patterns of these problems; the equations are the usual ones for the names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.functions import maximum, minimum, where
from clgeom.dp.problems.allocation import Allocation, best_choices
from clgeom.dp.problems.arguments import INF, INT32, INT64, Arguments, is_collection
from clgeom.dp.problems.recurrence import least, most, recurrence, with_base
from clgeom.errors import InvalidInput, short
from clgeom.intake.typing import ArrayLike, DeviceLike, FloatLike, IntLike

#: Most cells of a table; the amounts left of several goods together soon need many.
MOST_CELLS = 1 << 26


# Years: a stock that grows, money that is invested, what is made -------------------------------------------------


@recurrence("RDU", "float64", {"p": "float64[,]", "grown": "int32[]", "discount": "float64"}, name="discounted_profits")
def DISCOUNTED(M: Any, i: Any, j: Any, p: Any, grown: Any, discount: Any, n: Any) -> Any:
    """Row i: years from i on, none in the last; column j: the stock. Choice: how much of it to take in year i."""
    return with_base(i == n - 1, 0.0, most(0, j + 1, lambda x: p[j, x] + discount * M[i + 1, grown[j - x]]))


@keeps_subnormals
def discounted_profits(
    profits: ArrayLike,
    growth: ArrayLike,
    stock: IntLike,
    years: IntLike,
    *,
    discount: FloatLike = 1.0,
    device: DeviceLike = None,
) -> Allocation:
    """Choose the harvest of each year from a growing stock, such as fish in a lake, for the most discounted profit.

    Parameters
    ----------
    profits : array_like of float, shape (most + 1, most + 1)
        ``profits[j, x]`` of taking x when there are j; x <= j, others are not looked at.
    growth : array_like of whole numbers, shape (most + 1,)
        The stock of the next year when so many are left.
    stock, years : int
    discount : float
        What a profit is worth a year earlier.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: what to take each year; ties go to less in the first year, then in the next.

    Raises
    ------
    InvalidInput
        `profits` is not square, `growth` has other than a row's number for each row, `stock` has no row, `years` is no
        whole number from 1 to 2**20, or a number is not finite.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import discounted_profits
    >>> worth = [[2 * x for x in range(5)]] * 5
    >>> discounted_profits(worth, [0, 2, 4, 4, 4], 2, 3, discount=0.75)
    Allocation(value=7.5)
    """
    check = Arguments("discounted_profits")
    profits = check.square_table(profits, "profits", infinite=False)
    m = len(profits)
    growth = check.whole_numbers(growth, "growth", least=0, size=(m, "as many numbers as 'profits' has rows"))
    if growth.max() >= m:
        raise check.wrong("growth", f"at most {m - 1}, the last row of 'profits'", growth.max())
    stock = check.whole_number(stock, "stock", most=m - 1)
    years = check.whole_number(years, "years", least=1, most=1 << 20)
    discount = check.number(discount, "discount")
    values = {"p": profits, "grown": growth.astype(np.int32), "discount": discount}
    return best_choices(DISCOUNTED, (years + 1, m), values, stock, lambda i, j, x: int(growth[j - x]), device)


@recurrence("RDU", "int32", {"back": "int32[,]", "offered": "int32"})
def INVESTMENT(M: Any, i: Any, j: Any, back: Any, offered: Any, n: Any, m: Any) -> Any:
    """Row i: years from i on; column j: the money. Choice: how much of it to put in the offer of year i."""
    best = most(0, minimum(j, offered) + 1, lambda x: M[i + 1, minimum(j - x + back[i, x], m - 1)])
    return with_base(i == n - 1, j, best)


@keeps_subnormals
def investment(returns: ArrayLike, money: IntLike, *, device: DeviceLike = None) -> Allocation:
    """Choose the investment in each year's offer for the most money at the end; the rest is kept.

    Parameters
    ----------
    returns : array_like of whole numbers, shape (years, most + 1)
        ``returns[k, x]`` is what x gives back at the end of year k; not negative.
    money : int
        At the beginning.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: the amounts; ties go to less in the first year, then in the next.

    Raises
    ------
    InvalidInput
        `returns` is no table of whole numbers of at least 0, `money` is no whole number of at least 0, or the table of
        all amounts would be too large.
    DeviceLimit
        The device has too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import investment
    >>> investment([[0, 1, 4, 4], [0, 0, 2, 5]], 3)
    Allocation(value=7)
    """
    check = Arguments("investment")
    returns = check.whole_numbers(returns, "returns", ndim=2, least=0)
    money = check.whole_number(money, "money", most=MOST_CELLS)
    years, offered = len(returns), returns.shape[1] - 1
    gains = np.maximum(returns - np.arange(offered + 1), 0).max(axis=1)
    most_money = money + sum(map(int, gains))
    if (years + 1) * (most_money + 1) > MOST_CELLS:
        raise InvalidInput(
            f"The 'returns' parameter of {check.caller} is too large: there may be {most_money:,} in the end."
        )
    # a return beyond all that there can be is as good as that
    values = {"back": np.minimum(returns, most_money).astype(np.int32), "offered": offered}
    shape = years + 1, most_money + 1
    return best_choices(INVESTMENT, shape, values, money, lambda i, j, x: j - x + int(returns[i, x]), device)


@recurrence("RDU", "float64", {"r": "float64[,]", "upto": "int32"}, decisions="index", name="project_investment")
def PROJECTS(M: Any, i: Any, j: Any, r: Any, upto: Any, n: Any) -> Any:
    """Row i: projects from i on, none in the last; column j: the money left. Choice: how much goes to project i."""
    return with_base(i == n - 1, 0.0, most(0, minimum(j, upto) + 1, lambda x: M[i + 1, j - x] + r[i, x]))


@keeps_subnormals
def project_investment(returns: ArrayLike, money: IntLike, *, device: DeviceLike = None) -> Allocation:
    """Divide an amount of money among projects for the largest sum of their returns.

    Parameters
    ----------
    returns : array_like of float, shape (projects, amounts)
        ``returns[k, x]`` of putting x units of money in project k.
    money : int
        The units there are; some may be left over.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: units for each project. Ties go to fewer units for the first project, then for the next.

    Raises
    ------
    InvalidInput
        `returns` is no table of finite numbers, or `money` is no whole number from 0 to 2**31 - 2.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import project_investment
    >>> found = project_investment([[0, 5, 6], [0, 4, 9], [0, 3, 7]], 4)
    >>> found.value, found.choice.tolist()
    (17.0, [1, 2, 1])
    """
    check = Arguments("project_investment")
    returns = check.floats(returns, "returns", ndim=2)
    money = check.whole_number(money, "money", most=INT32 - 1)
    values = {"r": returns, "upto": returns.shape[1] - 1}
    return best_choices(PROJECTS, (len(returns) + 1, money + 1), values, money, lambda i, j, x: j - x, device)


@recurrence("RDU", "float64", {"c": "float64[,]", "demand": "int32[]", "holding": "float64[]", "capacity": "int32"})
def PRODUCTION(M: Any, i: Any, j: Any, c: Any, demand: Any, holding: Any, capacity: Any, n: Any, m: Any) -> Any:
    """Row i: months from i on, none in the last; column j: the stock. Choice: how much to make in month i."""

    def make(x: Any) -> Any:
        left = j + x - demand[i]
        return M[i + 1, left] + (c[i, x] + holding[i] * left)

    lo, hi = maximum(demand[i] - j, 0), minimum(capacity, m - 1 + demand[i] - j) + 1
    return with_base(i == n - 1, 0.0, least(lo, hi, make))


@keeps_subnormals
def production(
    demands: ArrayLike,
    costs: ArrayLike,
    holding: ArrayLike,
    *,
    warehouse: IntLike,
    stock: IntLike = 0,
    device: DeviceLike = None,
) -> Allocation:
    """Choose the production of each month at the least cost, with costs that differ by month; see `inventory`.

    Parameters
    ----------
    demands : array_like of whole numbers, shape (months,)
    costs : array_like of float, shape (months, most + 1)
        ``costs[k, x]`` of making x pieces in month k; inf for what cannot be made.
    holding : array_like of float, shape (months,)
        The cost of keeping a piece at the end of each month.
    warehouse, stock : int
        The most pieces to keep, and those that are there at the beginning. What is left at the end is worth nothing.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: what to make in each month; ties go to less in the first, then in the next.

    Raises
    ------
    InvalidInput
        `demands` are no whole numbers from 0 to 2**20, `costs` or `holding` has another number of months, or
        `warehouse` or `stock` is no whole number in its range.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import production
    >>> production([1, 2], [[0, 3, 4, 5], [0, 4, 8, 12]], [0.5, 0], warehouse=2)
    Allocation(value=6.0)
    """
    check = Arguments("production")
    demands = check.whole_numbers(demands, "demands", least=0, most=1 << 20)
    months = len(demands)
    costs = check.floats(costs, "costs", ndim=2, infinite=True)
    if len(costs) != months:
        raise check.wrong("costs", "a row for each of 'demands'", f"{len(costs)} rows")
    holding = check.floats(holding, "holding", size=(months, "as many numbers as 'demands'"))
    warehouse = check.whole_number(warehouse, "warehouse", most=1 << 20)
    stock = check.whole_number(stock, "stock", most=warehouse)
    values = {"c": costs, "demand": demands.astype(np.int32), "holding": holding, "capacity": costs.shape[1] - 1}
    shape = months + 1, warehouse + 1
    return best_choices(PRODUCTION, shape, values, stock, lambda i, j, x: j + x - int(demands[i]), device)


# Customers ------------------------------------------------------------------------------------------------------


@recurrence(
    "RDU", "float64", {"a": "float64[,]", "b": "float64[,]", "demand": "int32[]", "served": "int32", "other": "int32"}
)
def DISTRIBUTION(M: Any, i: Any, j: Any, a: Any, b: Any, demand: Any, served: Any, other: Any, n: Any, m: Any) -> Any:
    """Row i: customers from i on; column j: pieces left in the first warehouse. Choice: pieces for customer i."""
    best = least(0, minimum(j, demand[i]) + 1, lambda x: M[i + 1, j - x] + (a[i, x] + b[i, demand[i] - x]))
    # all that the first warehouse has not sent came from the other one
    fits = served - (m - 1 - j) <= other
    return with_base(i == n - 1, where(fits, 0.0, INF), best)


@keeps_subnormals
def distribution(
    demands: ArrayLike, costs: Sequence[ArrayLike], stocks: Sequence[IntLike], *, device: DeviceLike = None
) -> Allocation:
    """Choose what each of two warehouses sends to each customer, at the least cost.

    Parameters
    ----------
    demands : array_like of whole numbers, shape (customers,)
    costs : pair of array_like of float, each of shape (customers, most + 1)
        ``costs[w][k, x]`` of sending x pieces from warehouse w to customer k, for x up to the demand; inf for what is
        not allowed.
    stocks : pair of int
        What the warehouses have.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: what the first warehouse sends to each customer; the other sends the rest. Ties go to less for the
        first customer, then for the next.

    Raises
    ------
    InvalidInput
        `demands` are no whole numbers of at least 0 with a sum below 2**31, `costs` are not two tables that fit them,
        or `stocks` are not two whole numbers of at least 0.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import distribution
    >>> distribution([2, 1], [[[0, 1, 5], [0, 2, 9]], [[0, 3, 4], [0, 1, 2]]], [2, 2])
    Allocation(value=5.0)
    """
    check = Arguments("distribution")
    demands = check.whole_numbers(demands, "demands", least=0)
    n = len(demands)
    served = sum(demands.tolist())  # a sum of int64 may wrap around
    if served > INT32:
        raise check.wrong("demands", "together below 2**31", served)
    if not is_collection(costs) or len(costs) != 2:
        raise check.wrong("costs", "two tables", short(costs))
    first, other = (check.floats(part, f"costs[{w}]", ndim=2, infinite=True) for w, part in enumerate(costs))
    for w, part in enumerate((first, other)):
        if len(part) != n or part.shape[1] <= demands.max():
            expected = f"a row for each of {n} customers, up to {demands.max()} pieces"
            raise check.wrong(f"costs[{w}]", expected, f"shape {part.shape}")
    if not is_collection(stocks) or len(stocks) != 2:
        raise check.wrong("stocks", "two numbers", short(stocks))
    stocks = [check.whole_number(s, f"stocks[{w}]") for w, s in enumerate(stocks)]
    if sum(stocks) < served:
        return Allocation(INF)
    here = min(stocks[0], served)  # the first warehouse cannot send more
    values = {"a": first, "b": other, "demand": demands.astype(np.int32), "served": served, "other": stocks[1]}
    return best_choices(DISTRIBUTION, (n + 1, here + 1), values, here, lambda i, j, x: j - x, device)


@recurrence(
    "RDU", "float64", {"c": "float64[]", "place": "int32[]", "refill": "int32[]", "upto": "int32[]", "width": "int32"}
)
def TRANSPORTATION(M: Any, i: Any, j: Any, c: Any, place: Any, refill: Any, upto: Any, width: Any, n: Any) -> Any:
    """Row i: pairs of a factory and a customer from i on; column j: what each customer still wants and what the factory
    still has, as one number in mixed radix. Choice: how much goes from the factory to the customer.
    """
    supply, wanted = j % width, j // place[i] % (upto[i] + 1)

    def ship(x: Any) -> Any:
        left = j - x * (place[i] + 1)
        # after the last customer of a factory the next one has all that it makes
        return M[i + 1, where(refill[i] < 0, left, left - left % width + refill[i])] + c[i] * x

    return with_base(i == n - 1, where(j < width, 0.0, INF), least(0, minimum(supply, wanted) + 1, ship))


@keeps_subnormals
def transportation(
    costs: ArrayLike, supplies: ArrayLike, demands: ArrayLike, *, device: DeviceLike = None
) -> Allocation:
    """Choose the amounts from each factory to each customer at the least cost.

    Parameters
    ----------
    costs : array_like of float, shape (factories, customers)
        Of a piece.
    supplies, demands : array_like of whole numbers, shapes (factories,) and (customers,)
        The table has a column for every combination of what customers may still want: for few and small ones.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: the amounts, shape (factories, customers); ties go to less of the first, row after row.

    Raises
    ------
    InvalidInput
        `costs` is no table of finite numbers, `supplies` or `demands` are no whole numbers of at least 0 that fit its
        shape, or the table of all combinations would be too large.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import transportation
    >>> transportation([[2, 3], [1, 4]], [3, 2], [2, 3])
    Allocation(value=11.0)
    """
    check = Arguments("transportation")
    costs = check.floats(costs, "costs", ndim=2)
    rows, columns = costs.shape
    size = rows, f"{rows} numbers, one for each row of 'costs'"
    supplies = check.whole_numbers(supplies, "supplies", least=0, size=size)
    size = columns, f"{columns} numbers, one for each column of 'costs'"
    demands = check.whole_numbers(demands, "demands", least=0, size=size)
    wanted = sum(demands.tolist())  # a sum of int64 may wrap around
    if sum(supplies.tolist()) < wanted:
        return Allocation(INF)
    supplies = np.minimum(supplies, min(wanted, INT64))  # no customer takes more
    width = int(supplies.max()) + 1
    cells = width * int(np.prod([int(d) + 1 for d in demands], dtype=object))
    if cells * (rows * columns + 1) > MOST_CELLS:
        raise InvalidInput(f"The 'demands' parameter of {check.caller} is too large: a row would have {cells:,} cells.")
    place = width * np.concatenate([np.cumprod((demands + 1)[:0:-1])[::-1], [1]])
    refill = np.full((rows, columns), -1)
    refill[:-1, -1] = supplies[1:]
    values = {
        "c": costs.ravel(),
        "place": np.tile(place, rows).astype(np.int32),
        "width": width,
        "refill": refill.ravel().astype(np.int32),
        "upto": np.tile(demands, rows).astype(np.int32),
    }

    def next_column(i: int, j: int, x: int) -> int:
        left = j - x * (int(place[i % columns]) + 1)
        new = int(refill.flat[i])
        return left if new < 0 else left - left % width + new

    start = cells - width + int(supplies[0])
    best = best_choices(TRANSPORTATION, (rows * columns + 1, cells), values, start, next_column, device)
    return Allocation(best.value, None if best.choice is None else best.choice.reshape(rows, columns))
