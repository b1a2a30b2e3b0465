"""Paths through stages and graphs, and two textbook recurrences: Fibonacci numbers and the game of Nim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.arguments import whole_number
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.functions import max_over, maximum, min_over, minimum, where
from clgeom.dp.problems.allocation import Allocation, follow_choices
from clgeom.dp.problems.arguments import INF, Arguments
from clgeom.dp.problems.recurrence import fill, least, recurrence, with_base
from clgeom.errors import InvalidInput, short
from clgeom.intake.typing import ArrayLike, DeviceLike, FloatLike, IntLike, NDArray

#: Most years of a machine: its costs are a table.
MOST_YEARS = 1 << 12

# Layers of towns ------------------------------------------------------------------------------------------------


@recurrence("RDU", "float64", {"c": "float64[,]"})
def STAGECOACH(M: Any, i: Any, j: Any, c: Any, n: Any, m: Any) -> Any:
    """Row i: layer i; column j: a town of it. Choice: the next town. c[i * m + j, x]: the leg from town j of layer i to
    town x of the next.
    """
    return with_base(i == n - 1, 0.0, least(0, m, lambda x: M[i + 1, x] + c[i * m + j, x]))


@recurrence("RDU", "float64", {"c": "float64[,]"})
def BOTTLENECK(M: Any, i: Any, j: Any, c: Any, n: Any, m: Any) -> Any:
    """Row i: layer i; column j: a town of it. Choice: the next town. c[i * m + j, x]: the leg from town j of layer i to
    town x of the next.
    """
    return with_base(i == n - 1, -INF, least(0, m, lambda x: maximum(M[i + 1, x], c[i * m + j, x])))


@keeps_subnormals
def stagecoach(legs: Sequence[ArrayLike], *, device: DeviceLike = None) -> Allocation:
    """The shortest way through layers of towns, from any of the first layer to any of the last.

    Parameters
    ----------
    legs : sequence of array_like of float, each of shape (towns, towns of the next layer)
        Lengths; inf for no road.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: a town of each layer; ties go to the lowest first town, then to the lowest next one.

    Raises
    ------
    InvalidInput
        `legs` are not at least one table of numbers or inf, or a table has another number of rows than the table before
        has columns.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import stagecoach
    >>> stagecoach([[[2, 4, 3]], [[7, 4, 6], [3, 2, 4], [4, 1, 5]], [[1, 4], [6, 3], [3, 3]], [[3], [4]]])
    Allocation(value=11.0)
    """
    return _through_layers(STAGECOACH, legs, Arguments("stagecoach"), device)


@keeps_subnormals
def bottleneck(legs: Sequence[ArrayLike], *, device: DeviceLike = None) -> Allocation:
    """The way through layers of towns whose longest leg is shortest; see `stagecoach`.

    Parameters
    ----------
    legs, device
        As for `stagecoach`.

    Returns
    -------
    Allocation
        `value`: the length of the longest leg; `choice` and ties as for `stagecoach`.

    Raises
    ------
    InvalidInput
        As for `stagecoach`.
    DeviceLimit
        As for `stagecoach`.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> found = problems.bottleneck([[[5, 9]], [[7], [1]]])
    >>> found.value, found.choice.tolist()
    (7.0, [0, 0, 0])
    """
    return _through_layers(BOTTLENECK, legs, Arguments("bottleneck"), device)


def _through_layers(equation: Equation, legs: Any, check: Arguments, device: DeviceLike) -> Allocation:
    if isinstance(legs, (str, bytes)) or not np.iterable(legs):
        raise check.wrong("legs", "a sequence of tables", short(legs))
    legs = [check.numbers(leg, f"legs[{k}]", ndim=2, infinite=True) for k, leg in enumerate(legs)]
    if not legs:
        raise check.wrong("legs", "at least one table", "none")
    for k, (one, other) in enumerate(zip(legs, legs[1:])):
        if one.shape[1] != other.shape[0]:
            expected = f"tables that fit: legs[{k}] leads to {one.shape[1]} towns"
            raise check.wrong("legs", expected, f"{other.shape[0]} rows in legs[{k + 1}]")
    towns = max(max(leg.shape) for leg in legs)
    costs = np.full((len(legs), towns, towns), INF)
    for k, leg in enumerate(legs):
        costs[k, : leg.shape[0], : leg.shape[1]] = leg
    shape, costs = (len(legs) + 1, towns), costs.reshape(-1, towns)
    table = fill(equation, shape, c=costs, keep="decisions", device=device)
    start = int(table.last[: len(legs[0])].argmin())
    best = follow_choices(table, start, lambda i, j, x: x)
    return Allocation(best.value, None if best.choice is None else np.append(start, best.choice))


@keeps_subnormals
def assembly_line(
    stations: ArrayLike,
    transfers: ArrayLike,
    entry: ArrayLike | None = None,
    leave: ArrayLike | None = None,
    *,
    device: DeviceLike = None,
) -> Allocation:
    """The quickest way through parallel assembly lines, changing lines after any station.

    Parameters
    ----------
    stations : array_like of float, shape (lines, n)
        The time at each station.
    transfers : array_like of float, shape (lines, n - 1)
        The time to leave a line after a station for any other line.
    entry, leave : array_like of float, shape (lines,), optional
        The time to enter and to leave each line; 0 by default.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: the line at each station.

    Raises
    ------
    InvalidInput
        A time is not finite, or `transfers`, `entry` or `leave` does not fit the shape of `stations`.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import assembly_line
    >>> a = [[7, 9, 3, 4, 8, 4], [8, 5, 6, 4, 5, 7]]
    >>> assembly_line(a, [[2, 3, 1, 3, 4], [2, 1, 2, 2, 1]], [2, 4], [3, 2])
    Allocation(value=38.0)
    """
    check = Arguments("assembly_line")
    stations = check.floats(stations, "stations", ndim=2)
    lines, n = stations.shape
    ends = []
    for name, value in (("entry", entry), ("leave", leave)):
        value = np.zeros(lines) if value is None else value
        ends.append(check.floats(value, name, size=(lines, f"{lines} numbers, one for each line")))
    transfers = np.empty((lines, 0)) if n == 1 and np.size(np.asarray(transfers)) == 0 else transfers
    size = (lines, n - 1), f"a table of {lines} x {n - 1} numbers"
    transfers = check.floats(transfers, "transfers", ndim=2, size=size, empty=True)
    legs = []
    for k in range(n - 1):
        change = np.repeat(transfers[:, k : k + 1], lines, axis=1)
        np.fill_diagonal(change, 0)
        legs.append(stations[:, k, None] + change)
    legs.append((stations[:, -1] + ends[1])[:, None])
    legs[0] = legs[0] + ends[0][:, None]
    best = _through_layers(STAGECOACH, legs, check, device)
    return Allocation(best.value, None if best.choice is None else best.choice[:-1])


# Graphs and recurrences ------------------------------------------------------------------------------------------


@recurrence("CRL", "float64", {"c": "float64[,]"})
def REPLACEMENT(M: Any, i: Any, j: Any, c: Any, m: Any) -> Any:
    """One row; column j: from time j to the end. Choice: when to replace next."""
    return with_base(j == m - 1, 0.0, least(j + 1, m, lambda x: M[i, x] + c[j, x]))


@keeps_subnormals
def replacement(costs: ArrayLike, *, device: DeviceLike = None) -> Allocation:
    """Choose the times to replace a machine: the cheapest path from time 0 to the end.

    Parameters
    ----------
    costs : array_like of float, shape (n + 1, n + 1), n >= 1
        ``costs[j, x]`` for j < x is the cost of a machine that is bought at time j and sold at time x; inf for what is
        not allowed. Others are not looked at.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: the times at which a machine is sold; the last is n.

    Raises
    ------
    InvalidInput
        `costs` is not square with at least two rows, or has NaN or -inf.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> found = problems.replacement([[0, 3, 9], [0, 0, 4], [0, 0, 0]])
    >>> found.value, found.choice.tolist()
    (7.0, [1, 2])
    """
    costs = Arguments("replacement").square_table(costs, "costs", least=2)
    n = len(costs) - 1
    table = fill(REPLACEMENT, (1, n + 1), c=costs, keep="decisions", device=device)
    value = float(table.corner)
    if value == INF:
        return Allocation(value)
    times = [0]
    while times[-1] < n:
        times.append(int(table.decisions.cell(0, times[-1])))
    return Allocation(value, np.array(times[1:], np.int64))


# Winston, "Operations Research: Applications and Algorithms", 18.5.
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


@recurrence("CLR", "float64", {"c": "float64[,]", "source": "int32"})
def SHORTEST_PATHS(M: Any, i: Any, j: Any, c: Any, source: Any, n: Any) -> Any:
    """Row i: a node; column j: by j edges at most."""
    start = where(i == source, 0.0, INF)
    return where(j == 0, start, minimum(M[i, j - 1], min_over("x", 0, n, lambda x: M[x, j - 1] + c[x, i])))


@keeps_subnormals
@dataclass(frozen=True)
class Paths:
    """The result of `shortest_paths`.

    Attributes
    ----------
    distances : ndarray of float64, shape (n,)
        From the source; inf for what cannot be reached.
    before : ndarray of int64, shape (n,)
        The node before each on its shortest path; -1 for the source and for what cannot be reached.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> inf = float("inf")
    >>> paths = problems.shortest_paths([[0, 1, 9], [inf, 0, 2], [inf, inf, 0]])
    >>> paths.distances.tolist(), paths.before.tolist()
    ([0.0, 1.0, 3.0], [-1, 0, 1])
    """

    distances: NDArray[np.float64]
    before: NDArray[np.int64] = field(repr=False)


@keeps_subnormals
def shortest_paths(lengths: ArrayLike, source: IntLike = 0, *, device: DeviceLike = None) -> Paths:
    """The shortest paths from a node to all others, by any number of edges (Bellman and Ford).

    Parameters
    ----------
    lengths : array_like of float, shape (n, n), n >= 1
        ``lengths[a, b]`` of the edge from a to b; inf for none. Negative ones are allowed, but no circle of negative
        length.
    source : int
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Paths

    Raises
    ------
    InvalidInput
        `lengths` is not square, has NaN or -inf, or has a circle of negative length; or `source` is no node.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> inf = float("inf")
    >>> found = problems.shortest_paths([[0, 1, 9], [inf, 0, -2], [inf, inf, 0]])
    >>> found.distances.tolist()
    [0.0, 1.0, -1.0]
    """
    check = Arguments("shortest_paths")
    lengths = check.square_table(lengths, "lengths")
    n = len(lengths)
    source = check.whole_number(source, "source", most=n - 1)
    # one column more than a path has edges: a shorter path there contains a cycle
    last = fill(SHORTEST_PATHS, (n, n + 1), c=lengths, source=source, keep="table", device=device).numpy()
    if not np.array_equal(last[:, n - 1], last[:, n]):
        raise InvalidInput("The 'lengths' parameter of shortest_paths must be free of circles of negative length.")
    hops = (last == last[:, -1:]).argmax(axis=1)  # the fewest edges of a shortest path
    before = np.full(n, -1)
    for node in np.flatnonzero((hops > 0) & np.isfinite(last[:, -1])):
        before[node] = int((last[:, hops[node] - 1] + lengths[:, node]).argmin())
    return Paths(last[:, -1].copy(), before)


@recurrence("CLR", "int64")
def FIBONACCI(M: Any, i: Any, j: Any) -> Any:
    """One row; column j: the number j of Fibonacci."""
    return where(j < 2, j, M[i, j - 1] + M[i, j - 2])


@recurrence("CLR", "int32", {"upto": "int32"})
def NIM(M: Any, i: Any, j: Any, upto: Any) -> Any:
    """One row; column j: whether the player who moves first with j things can take the last one."""
    return where(j == 0, 0, max_over("x", 1, minimum(j, upto) + 1, lambda x: 1 - M[i, j - x]))


@keeps_subnormals
def fibonacci(n: IntLike, *, device: DeviceLike = None) -> int:
    """The n-th Fibonacci number: 0, 1, 1, 2, 3, 5 ... up to n = 92, the last number that fits 64 bits.

    Parameters
    ----------
    n : int
        From 0 to 92.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    int

    Raises
    ------
    InvalidInput
        `n` is no whole number from 0 to 92.
    DeviceLimit
        The device has too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> problems.fibonacci(10)
    55
    """
    n = whole_number(n, "n", caller="fibonacci", most=92)
    return int(fill(FIBONACCI, (1, n + 1), keep="corner", device=device).corner)


@keeps_subnormals
def nim(n: IntLike, most: IntLike = 3, *, device: DeviceLike = None) -> int:
    """The number of things to take first, of n with 1 to `most` a turn, to take the last one; 0 if no move forces it.

    Parameters
    ----------
    n : int
        Up to 2**24.
    most : int
        How many may be taken at a time, at least 1.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    int
        From 0 to `most`.

    Raises
    ------
    InvalidInput
        `n` is no whole number from 0 to 2**24, or `most` is no whole number of at least 1.
    DeviceLimit
        The device has too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import nim
    >>> nim(10, 3)
    2
    """
    n = whole_number(n, "n", caller="nim", most=1 << 24)
    most = whole_number(most, "most", caller="nim", least=1)
    wins = fill(NIM, (1, n + 1), upto=most, device=device).numpy()[0]
    return next((x for x in range(1, min(n, most) + 1) if not wins[n - x]), 0)
