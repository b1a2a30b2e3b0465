"""Decisions over time: production for a stock, jobs with deadlines, bets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.functions import maximum, minimum, where, which_max
from clgeom.dp.problems.allocation import Allocation, best_choices
from clgeom.dp.problems.arguments import INF, Arguments
from clgeom.dp.problems.recurrence import fill, least, most, recurrence, with_base
from clgeom.intake.typing import ArrayLike, DeviceLike, FloatLike, IntLike, NDArray


@recurrence(
    "RDU",
    "float64",
    {"demand": "int32[]", "setup": "float64", "unit": "float64", "holding": "float64", "capacity": "int32"},
)
def INVENTORY(
    M: Any, i: Any, j: Any, demand: Any, setup: Any, unit: Any, holding: Any, capacity: Any, n: Any, m: Any
) -> Any:
    """Row i: months from i on, none in the last; column j: the stock. Choice: how much to make in month i."""

    def make(x: Any) -> Any:
        left = j + x - demand[i]
        return M[i + 1, left] + (where(x > 0, setup, 0.0) + unit * x + holding * left)

    lo, hi = maximum(demand[i] - j, 0), minimum(capacity, m - 1 + demand[i] - j) + 1  # the rest fits the warehouse
    return with_base(i == n - 1, where(j == 0, 0.0, INF), least(lo, hi, make))


@keeps_subnormals
def inventory(
    demands: ArrayLike,
    *,
    setup: FloatLike,
    unit: FloatLike,
    holding: FloatLike,
    capacity: IntLike,
    warehouse: IntLike,
    device: DeviceLike = None,
) -> Allocation:
    """Choose the production of each month at the least cost; the warehouse is empty at the beginning and at the end.

    Parameters
    ----------
    demands : array_like of whole numbers, shape (months,)
    setup, unit, holding : float
        The cost of making anything in a month, of each piece made, and of each piece kept for a month.
    capacity, warehouse : int
        The most pieces to make in a month, and to keep.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: what to make in each month.

    Raises
    ------
    InvalidInput
        `demands`, `capacity` or `warehouse` has other than whole numbers from 0 to 2**20, or a cost is not finite.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import inventory
    >>> inventory([1, 3, 2, 4], setup=3, unit=1, holding=0.5, capacity=5, warehouse=4)
    Allocation(value=20.0)
    """
    check = Arguments("inventory")
    demands = check.whole_numbers(demands, "demands", least=0, most=1 << 20)
    costs = {"setup": setup, "unit": unit, "holding": holding}
    values: dict[str, Any] = {name: check.number(cost, name) for name, cost in costs.items()}
    capacity = check.whole_number(capacity, "capacity", most=1 << 20)
    warehouse = check.whole_number(warehouse, "warehouse", most=1 << 20)
    values |= {"demand": demands.astype(np.int32), "capacity": capacity}
    shape = len(demands) + 1, warehouse + 1
    return best_choices(INVENTORY, shape, values, 0, lambda i, j, x: j + x - int(demands[i]), device)


@recurrence("RDU", "float64", {"p": "float64[]", "d": "int32[]"}, name="deadline_scheduling")
def DEADLINES(M: Any, i: Any, j: Any, p: Any, d: Any, n: Any) -> Any:
    """Row i: jobs from i on, by deadline; column j: jobs taken before. Choice 1: job i is taken."""
    last = i == n - 1
    leave, take = M[i + 1, j], M[i + 1, j + 1] + p[i]
    value = where(last, 0.0, where(j < d[i], maximum(leave, take), leave))
    return value, where(last, 0, where(j < d[i], which_max(leave, take), 0))


@keeps_subnormals
def deadline_scheduling(profits: ArrayLike, deadlines: ArrayLike, *, device: DeviceLike = None) -> Allocation:
    """Choose and order jobs of one unit of time each, by their deadlines, for the most profit.

    Parameters
    ----------
    profits : array_like of float, shape (n,)
        Not negative.
    deadlines : array_like of whole numbers, shape (n,)
        A job ends at this time at the latest; the first ends at 1.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: the jobs in the order to do them.

    Raises
    ------
    InvalidInput
        `profits` are no finite numbers of at least 0, or `deadlines` are not as many whole numbers of at least 0.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import deadline_scheduling
    >>> deadline_scheduling([10, 15, 20, 1, 5], [1, 2, 2, 3, 3])
    Allocation(value=40.0)
    """
    check = Arguments("deadline_scheduling")
    profits = check.floats(profits, "profits", least=0)
    n = len(profits)
    deadlines = check.whole_numbers(deadlines, "deadlines", least=0, size=(n, "as many numbers as 'profits'"))
    order = np.argsort(deadlines, kind="stable")
    values = {"p": profits[order], "d": np.minimum(deadlines[order], n).astype(np.int32)}
    best_jobs = best_choices(DEADLINES, (n + 1, n + 2), values, 0, lambda i, j, x: j + x, device)
    return Allocation(best_jobs.value, None if best_jobs.choice is None else order[best_jobs.choice.astype(bool)])


@recurrence("RDU", "float64", {"p": "float64"})
def LAS_VEGAS(M: Any, i: Any, j: Any, p: Any, n: Any, m: Any) -> Any:
    """Row i: after i plays; column j: chips, the last column for the goal and more. Choice: the bet."""
    best = most(0, j + 1, lambda x: p * M[i + 1, minimum(j + x, m - 1)] + (1.0 - p) * M[i + 1, j - x])
    return with_base(i == n - 1, where(j == m - 1, 1.0, 0.0), best)


@keeps_subnormals
@dataclass(frozen=True)
class Bets:
    """The result of `las_vegas`.

    Attributes
    ----------
    probability : float
        Of reaching the goal with the best bets.
    bets : ndarray of int64, shape (plays, goal + 1)
        The best bet in each play for each number of chips; 0 from the goal on. Ties go to the lowest bet.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> bets = problems.las_vegas(0.5, 2, chips=1, goal=3)
    >>> bets.probability, bets.bets.shape
    (0.25, (2, 4))
    """

    probability: float
    bets: NDArray[np.int64] = field(repr=False)


@keeps_subnormals
def las_vegas(p: FloatLike, plays: IntLike, *, chips: IntLike, goal: IntLike, device: DeviceLike = None) -> Bets:
    """Find the bets with the best chance of having at least `goal` chips after the plays.

    Parameters
    ----------
    p : float
        The chance to win a play, which doubles the bet; else it is lost.
    plays, chips, goal : int
        `goal` is at least 1.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Bets

    Raises
    ------
    InvalidInput
        `p` is not from 0 to 1, or `plays`, `chips` or `goal` is no whole number in its range.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import las_vegas
    >>> round(las_vegas(2 / 3, 3, chips=3, goal=5).probability, 12)  # 20/27
    0.740740740741
    """
    check = Arguments("las_vegas")
    p = check.number(p, "p", least=0, most=1)
    plays = check.whole_number(plays, "plays", most=1 << 20)
    goal = check.whole_number(goal, "goal", least=1, most=1 << 20)
    chips = min(check.whole_number(chips, "chips"), goal)
    table = fill(LAS_VEGAS, (plays + 1, goal + 1), p=p, keep="decisions", device=device)
    return Bets(float(table.last[chips]), table.decisions.numpy()[:plays].astype(np.int64))


# Production until a piece passes inspection: Hillier and Lieberman, "Introduction to Operations Research", 10.3 ------


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
    values: dict[str, Any] = {name: check.number(cost, name, least=0) for name, cost in costs.items()}
    success = check.number(success, "success", least=0, most=1)
    runs = check.whole_number(runs, "runs", least=1, most=1 << 20)
    largest = check.whole_number(largest, "largest", most=1 << 20)
    values |= {"miss": (1 - success) ** np.arange(largest + 1, dtype=float), "largest": largest}
    return best_choices(REJECTS, (runs + 1, 1), values, 0, lambda i, j, x: j, device)
