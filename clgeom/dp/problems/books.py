"""Problems in the terms of textbooks, beside those of the catalogue that take costs or yields as they are.

Production with reject allowances: Hillier and Lieberman, "Introduction to Operations Research", 10.3. Investment in
projects: Lew and Mauch, "Dynamic Programming: A Computational Tool". Replacement of equipment: Winston, "Operations
Research: Applications and Algorithms", 18.5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.functions import minimum, where
from clgeom.dp.problems.allocation import Allocation, best_choices
from clgeom.dp.problems.arguments import INT32, Arguments
from clgeom.dp.problems.recurrence import least, most, recurrence, with_base
from clgeom.dp.problems.ways import replacement
from clgeom.intake.typing import ArrayLike, DeviceLike, FloatLike, IntLike

#: Most years of a machine: its costs are a table.
MOST_YEARS = 1 << 12


@recurrence(
    "RDU",
    "float64",
    {"setup": "float64", "unit": "float64", "miss": "float64[]", "largest": "int32", "penalty": "float64"},
    name="reject_allowances",
)
def REJECTS(M: Any, i: Any, j: Any, setup: Any, unit: Any, miss: Any, largest: Any, penalty: Any, n: Any) -> Any:
    """Row i: runs from i on, none in the last; one column. Choice: pieces to make in run i. miss[x]: the chance that
    none of x pieces is good.
    """
    best = least(0, largest + 1, lambda x: miss[x] * M[i + 1, j] + (where(x > 0, setup, 0.0) + unit * x))
    return with_base(i == n - 1, penalty, best)


@keeps_subnormals
def reject_allowances(
    setup: FloatLike,
    unit: FloatLike,
    success: FloatLike,
    penalty: FloatLike,
    runs: IntLike,
    *,
    largest: IntLike = 100,
    device: DeviceLike = None,
) -> Allocation:
    """Choose the lot of each production run for the least expected cost, until one piece passes inspection.

    Parameters
    ----------
    setup, unit : float
        The cost of a run, and of each piece made in it.
    success : float
        The probability that a piece is good, from 0 to 1.
    penalty : float
        The cost if no piece is good after the last run.
    runs : int
        The most runs.
    largest : int
        The most pieces of a run.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `value`: the expected cost. `choice`: the pieces of each run, if none was good before; ties go to fewer.

    Raises
    ------
    InvalidInput
        A cost is negative or not finite, `success` is not from 0 to 1, or `runs` or `largest` is no whole number up to
        2**20.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import reject_allowances
    >>> found = reject_allowances(300, 100, 0.5, 1600, 3)
    >>> found.value, found.choice.tolist()
    (675.0, [2, 2, 3])
    """
    check = Arguments("reject_allowances")
    costs = {"setup": setup, "unit": unit, "penalty": penalty}
    given: dict[str, Any] = {name: check.number(cost, name, least=0) for name, cost in costs.items()}
    success = check.number(success, "success", least=0, most=1)
    runs = check.whole_number(runs, "runs", least=1, most=1 << 20)
    largest = check.whole_number(largest, "largest", most=1 << 20)
    given |= {"miss": (1 - success) ** np.arange(largest + 1, dtype=float), "largest": largest}
    return best_choices(REJECTS, (runs + 1, 1), given, 0, lambda i, j, x: j, device)


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
    given = {"r": returns, "upto": returns.shape[1] - 1}
    return best_choices(PROJECTS, (len(returns) + 1, money + 1), given, money, lambda i, j, x: j - x, device)


@keeps_subnormals
def equipment_replacement(
    price: FloatLike, maintenance: ArrayLike, trade_in: ArrayLike, years: IntLike, *, device: DeviceLike = None
) -> Allocation:
    """Choose the years in which a machine is replaced by a new one, at the least cost over all years.

    Parameters
    ----------
    price : float
        Of a new machine.
    maintenance : array_like of float, shape (ages,)
        ``maintenance[k]`` is the cost of the year after k years of use. A machine is used for so many years at most.
    trade_in : array_like of float, shape (ages,)
        ``trade_in[k]`` is paid for a machine after k + 1 years of use; the last one is sold, too.
    years : int
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: the years after which a machine is sold; the last is `years`. Ties go to the earlier year.

    Raises
    ------
    InvalidInput
        A cost is not finite, `trade_in` is not as long as `maintenance`, or `years` is no whole number of at least 1.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import equipment_replacement
    >>> found = equipment_replacement(1000, [60, 80, 120], [800, 600, 500], 5)
    >>> found.value, found.choice.tolist()
    (1280.0, [1, 2, 5])
    """
    check = Arguments("equipment_replacement")
    price = check.number(price, "price")
    maintenance = check.floats(maintenance, "maintenance")
    ages = len(maintenance)
    trade_in = check.numbers(trade_in, "trade_in", size=(ages, "as many as 'maintenance'"))
    years = check.whole_number(years, "years", least=1, most=MOST_YEARS)
    of_age = np.append(np.inf, price + np.cumsum(maintenance) - trade_in)
    age = np.arange(years + 1) - np.arange(years + 1)[:, None]
    costs = np.where((age > 0) & (age <= ages), of_age[np.clip(age, 0, ages)], np.inf)
    return replacement(costs, device=device)
