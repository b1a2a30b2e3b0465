"""Sets as columns: bit x of a column is set when element x is in the set."""

from __future__ import annotations

from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.functions import maximum, where
from clgeom.dp.problems.allocation import Allocation, best_choices
from clgeom.dp.problems.arguments import INF, Arguments
from clgeom.dp.problems.recurrence import fill, least, recurrence, with_base
from clgeom.intake.typing import ArrayLike, DeviceLike

MOST_THINGS = 20
MOST_NODES = 16


@recurrence(
    "RDU",
    "float64",
    {
        "time": "float64[]",
        "weight": "float64[]",
        "due": "float64[]",
        "bit": "int32[]",
        "total": "float64",
        "free": "float64[]",
    },
    name="process_scheduling",
)
def PROCESSES(M: Any, i: Any, j: Any, time: Any, weight: Any, due: Any, bit: Any, total: Any, free: Any, n: Any) -> Any:
    """Row i: places in the order from i on; column j: the set of processes that have not run. Choice: the next one.
    free[j] is the time that these take together, bit[x] is 2 to the x.
    """

    def run(x: Any) -> Any:  # process x ends when all that are not free, and it, have run
        late = maximum(total - free[j] + time[x] - due[x], 0.0)
        return where(j // bit[x] % 2 == 1, M[i + 1, j - bit[x]] + weight[x] * late, INF)

    return with_base(i == n - 1, 0.0, least(0, n - 1, run))


@keeps_subnormals
def process_scheduling(
    times: ArrayLike, weights: ArrayLike | None = None, due: ArrayLike | None = None, *, device: DeviceLike = None
) -> Allocation:
    """Order processes on one machine so that they wait least, or are least late.

    Parameters
    ----------
    times : array_like of float, shape (n,), n <= 20
        How long each runs; not negative.
    weights : array_like of float, shape (n,), optional
        What a unit of time of each costs; 1 by default, not negative.
    due : array_like of float, shape (n,), optional
        When each should have ended: only the time after that costs. 0 by default.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `value`: the sum over the processes of weight times the time at which it ends, less `due`. `choice`: the order;
        ties go to the lowest first, then to the lowest next.

    Raises
    ------
    InvalidInput
        `times` are not 1 to 20 finite numbers of at least 0, or `weights` or `due` are not as many numbers.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import process_scheduling
    >>> process_scheduling([3, 5, 2]).value  # 2, 5 and 10
    17.0
    """
    check = Arguments("process_scheduling")
    times = check.floats(times, "times", least=0)
    n = len(times)
    if n > MOST_THINGS:
        raise check.wrong("times", f"at most {MOST_THINGS} numbers", f"{n}")
    same = n, "as many numbers as 'times'"
    weights = np.ones(n) if weights is None else weights
    weights = check.floats(weights, "weights", least=0, size=same)
    due = check.floats(np.zeros(n) if due is None else due, "due", size=same)
    free = np.zeros(1)
    for time in times:  # sets without and with the next process
        free = np.concatenate([free, free + time])
    values = {
        "time": times,
        "weight": weights,
        "due": due,
        "bit": 1 << np.arange(n, dtype=np.int32),
        "total": free[-1],
        "free": free,
    }
    return best_choices(PROCESSES, (n + 1, 1 << n), values, (1 << n) - 1, lambda i, j, x: j - (1 << x), device)


@recurrence("CRL", "float64", {"near": "float64[,]", "bit": "int32[]", "nodes": "int32"})
def SPANNING_TREE(M: Any, i: Any, j: Any, near: Any, bit: Any, nodes: Any, m: Any) -> Any:
    """One row; column j: the nodes in the tree. Choice: the next one, x; near[j, x]: the shortest edge to it."""

    def join(x: Any) -> Any:
        b = bit[x]
        outside = (j // maximum(b, 1) % 2 == 0) & (b > 0)
        return where(outside, M[i, j + b] + near[j, x], INF)

    return with_base(j == m - 1, 0.0, least(0, nodes, join))


@keeps_subnormals
def spanning_tree(lengths: ArrayLike, *, device: DeviceLike = None) -> Allocation:
    """The edges of least length that connect all nodes.

    By sets of nodes, so for few of them: an example of a pattern, and no rival of Kruskal's algorithm.

    Parameters
    ----------
    lengths : array_like of float, shape (n, n), 1 <= n <= 16
        ``lengths[a, b]`` of the edge between a and b, as ``lengths[b, a]``; inf for none.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `choice`: the edges, shape (n - 1, 2), as a tree that grows from node 0: (node in it, new node).

    Raises
    ------
    InvalidInput
        `lengths` is not square and symmetric, has more than 16 rows, or has NaN or -inf.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import spanning_tree
    >>> spanning_tree([[0, 1, 4], [1, 0, 2], [4, 2, 0]])
    Allocation(value=3.0)
    """
    check = Arguments("spanning_tree")
    lengths = check.floats(lengths, "lengths", ndim=2, infinite=True)
    n = len(lengths)
    if lengths.shape != (n, n) or n > MOST_NODES or not np.array_equal(lengths, lengths.T):
        expected = f"square with at most {MOST_NODES} rows, and symmetric"
        raise check.wrong("lengths", expected, f"shape {lengths.shape}")
    near = np.full((1, n), INF)
    for node in range(n):  # sets without and with the next node
        near = np.concatenate([near, np.minimum(near, lengths[node])])
    values = {"near": near, "bit": 1 << np.arange(n, dtype=np.int32), "nodes": n}
    table = fill(SPANNING_TREE, (1, 1 << n), **values, device=device)
    value = float(table[0, 1])
    if value == INF:
        return Allocation(value)
    edges: list[tuple[int, int]] = []
    tree = 1
    while len(edges) < n - 1:
        new = int(table.decisions.cell(0, tree))
        inside = [a for a in range(n) if tree >> a & 1]
        edges.append((min(inside, key=lambda a: lengths[a, new]), new))
        tree |= 1 << new
    return Allocation(value, np.array(edges, np.int64).reshape(-1, 2))
