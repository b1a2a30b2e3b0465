"""The dependency graph of an equation on a small table: the cells that each cell reads, and the orders of filling.

A vertex is a cell; an edge goes from a cell to one that it reads. Building the graph costs more than filling the table,
so this module is for study: it defines when a pattern is correct, and shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from clgeom.arguments import instance, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import Result, allocate, read, run, write
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.dp.analysis.work import numbered_parts
from clgeom.dp.codegen.cell import Form
from clgeom.dp.fills import bind, build_options, check_shape, check_values, merge_values, session_of
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.users_c import users_errors
from clgeom.dp.patterns import PATTERNS
from clgeom.errors import DependencyError, InvalidInput, short
from clgeom.intake.arrays import c_name
from clgeom.intake.typing import DeviceLike, NDArray, Shape

#: Most cells of a table: a graph may have an edge for every pair of cells.
MOST_CELLS = 1 << 16


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class DependencyGraph:
    """The cells that each cell of a table reads.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of the table.
    starts : ndarray of int64, shape (cells + 1,)
        Cell c (row by row) reads the cells ``targets[starts[c]:starts[c + 1]]``.
    targets : ndarray of int64, shape (edges,)
        In ascending order for each cell, each once.
    """

    shape: tuple[int, int]
    starts: NDArray[np.int64]
    targets: NDArray[np.int64]

    def __repr__(self) -> str:
        n, m = self.shape
        return f"DependencyGraph({n} x {m} cells, {self.edges:,} edges, depth {self.depth})"

    @property
    def cells(self) -> int:
        """The number of vertices."""
        return self.shape[0] * self.shape[1]

    @property
    def edges(self) -> int:
        return len(self.targets)

    def dependencies(self, cell: tuple[int, int]) -> NDArray[np.int64]:
        """Return the cells that a cell reads directly, int64 of shape (k, 2), row by row."""
        c = self._number(cell)
        return self._places(self.targets[self.starts[c] : self.starts[c + 1]])

    def all_dependencies(self, cell: tuple[int, int]) -> NDArray[np.int64]:
        """Return the cells that a cell's value depends on, directly or not, int64 of shape (k, 2), row by row."""
        return self._places(np.flatnonzero(self._reached(self._number(cell))))

    def generated_by(self, cell: tuple[int, int]) -> NDArray[np.bool_]:
        """Return a mask of the table: the cell and all its dependencies, the cells that a solution generates."""
        c = self._number(cell)
        reached = self._reached(c)
        reached[c] = True
        return reached.reshape(self.shape)

    @property
    def base_cases(self) -> NDArray[Any]:
        """The cells that read none, int64 of shape (k, 2)."""
        return self._places(np.flatnonzero(np.diff(self.starts) == 0))

    @cached_property
    def depths(self) -> NDArray[Any]:
        """The longest path from each cell to a base case, int64 of the table's shape: its minimal stage.

        Raises
        ------
        DependencyError
            If a cell depends on itself; names the cells of such a cycle.
        """
        # Algorithm 1 of the study: the base cases of the remaining graph are the next stage, and are removed. A cell
        # becomes a base case when the last cell that it reads is removed, so every edge is visited once.
        unread = np.diff(self.starts)
        readers = self._sources()[np.argsort(self.targets, kind="stable")]
        reader_starts = np.concatenate([[0], np.cumsum(np.bincount(self.targets, minlength=self.cells))])
        depths = np.full(self.cells, -1)
        stage, depth = np.flatnonzero(unread == 0), 0
        while stage.size:
            depths[stage] = depth
            freed = readers[_ranges(reader_starts[stage], reader_starts[stage + 1])]
            np.subtract.at(unread, freed, 1)
            stage = np.unique(freed[unread[freed] == 0])
            depth += 1
        if (depths < 0).any():
            raise DependencyError(
                f"The equation reads in a circle: {self._cycle(depths < 0)}. No order fills the table."
            )
        depths = depths.reshape(self.shape)
        depths.flags.writeable = False
        return depths

    @property
    def depth(self) -> int:
        """The longest path in the graph; one less than the fewest stages that fill the table."""
        return int(self.depths.max())

    @cached_property
    def stages(self) -> tuple[NDArray[Any], ...]:
        """The minimal sequence of stages (Algorithm 1): for each the cells, int64 of shape (k, 2), row by row.

        All cells of a stage can be filled at the same time when those before are.
        """
        order = np.argsort(self.depths, axis=None, kind="stable")
        sizes = np.bincount(self.depths.ravel())
        return tuple(self._places(part) for part in np.split(order, np.cumsum(sizes)[:-1]))

    @property
    def regions(self) -> frozenset[tuple[int, int]]:
        """The regions of dependencies: signs of (row - own row, column - own column), such as (-1, 0) for "up"."""
        signs = np.sign(self._places(self.targets) - self._places(self._sources()))
        return frozenset((row, column) for row, column in signs.tolist())

    def patterns(self) -> tuple[str, ...]:
        """Return the patterns whose region holds every dependency, in the study's order."""
        return tuple(name for name, p in PATTERNS.items() if all(p.allows(*signs) for signs in self.regions))

    def _number(self, cell: Any) -> int:
        try:
            i, j = (int(part) for part in cell)
        except (TypeError, ValueError):
            i = j = -1
        if not (0 <= i < self.shape[0] and 0 <= j < self.shape[1]):
            expected = f"a (row, column) of the {self.shape[0]} x {self.shape[1]} table"
            raise wrong("cell", "DependencyGraph", expected, short(cell))
        return i * self.shape[1] + j

    def _sources(self) -> NDArray[np.int64]:
        """Return the cell that reads, for each edge."""
        return np.repeat(np.arange(self.cells), np.diff(self.starts))

    def _places(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        return np.stack(np.divmod(numbers, self.shape[1]), axis=1)

    def _reached(self, c: int) -> NDArray[np.bool_]:
        reached = np.zeros(self.cells, bool)
        front = np.array([c])
        while front.size:
            targets = self.targets[_ranges(self.starts[front], self.starts[front + 1])]
            front = np.unique(targets[~reached[targets]])
            reached[front] = True
        return reached

    def _cycle(self, unready: NDArray[np.bool_]) -> str:
        """Return cells that read each other in a cycle in words; each unready cell reads an unready cell."""
        c, path = int(np.flatnonzero(unready)[0]), list[int]()
        while c not in path:
            path.append(c)
            targets = self.targets[self.starts[c] : self.starts[c + 1]]
            c = int(targets[unready[targets]][0])
        words = [str(divmod(cell, self.shape[1])) for cell in [*path[path.index(c) :], c]]
        return " -> ".join(words if len(words) <= 8 else [*words[:4], "...", *words[-3:]])


def _ranges(starts: NDArray[Any], stops: NDArray[Any]) -> NDArray[np.int64]:
    """Return the numbers of all ranges, concatenated."""
    which, part = numbered_parts(stops - starts)
    return np.asarray(starts[which] + part)


def graph_of(dependencies: Callable[[int, int], Iterable[tuple[int, int]]], shape: Any) -> DependencyGraph:
    """Return the graph of a function that returns the cells (row, column) that cell (i, j) reads, in any order."""
    n, m = _small(shape, "dependency_graph")
    starts, targets = [0], list[int]()
    for i in range(n):
        for j in range(m):
            read = set()
            for a, b in dependencies(i, j):
                if not (0 <= a < n and 0 <= b < m):
                    raise DependencyError(f"Cell ({i}, {j}) reads ({a}, {b}), outside the {n} x {m} table.")
                read.add(int(a) * m + int(b))
            targets += sorted(read)
            starts.append(len(targets))
    return DependencyGraph((n, m), np.array(starts, np.int64), np.array(targets, np.int64))


# Equations, on a device -------------------------------------------------------------------------------------------


@keeps_subnormals
def dependency_graph(
    equation: Equation | Callable[[int, int], Iterable[tuple[int, int]]],
    shape: Shape,
    *,
    values: Mapping[str, Any] | None = None,
    device: DeviceLike = None,
    caller: str = "dependency_graph",
    **parameters: Any,
) -> DependencyGraph:
    """Return the dependency graph of an equation on a small table, from the reads of every cell, watched on the device.

    Parameters
    ----------
    equation : Equation, or function
        A function ``f(i, j)`` returns the cells that cell (i, j) reads, as pairs.
    shape : tuple of int
        Rows and columns; at most 65,536 cells.
    values : dict, optional
        Parameters of the equation, for names that this function uses itself.
    device : str, pyopencl.Device or Session, optional
    **parameters
        Of the equation: which cells it reads may depend on them, and on the values of cells.

    Returns
    -------
    DependencyGraph

    Raises
    ------
    DependencyError
        If a cell reads outside the table, or depends on itself; the message names the cells.

    Examples
    --------
    >>> from clgeom import dp
    >>> equation = dp.Equation("i == 0 || j == 0 ? 1 : M(i-1, j) + M(i, j-1)")
    >>> graph = dp.dependency_graph(equation, (3, 4))
    >>> graph.depth, len(graph.base_cases), graph.patterns()
    (4, 6, ('NOSE',))
    """
    if callable(equation):
        if values or parameters:
            raise InvalidInput(
                f"{caller} takes parameters with a dp.Equation. Got a function, which has its own, and "
                f"{next(iter({**(values or {}), **parameters}))!r}."
            )
        return graph_of(equation, shape)
    return _watch(equation, shape, merge_values(values, parameters, caller=caller), device, caller)[0]


@keeps_subnormals
def fill_when_ready(
    equation: Equation,
    shape: Shape,
    *,
    values: Mapping[str, Any] | None = None,
    device: DeviceLike = None,
    **parameters: Any,
) -> NDArray[Any]:
    """Fill a small table without a pattern: in every round all cells whose dependencies are filled (Algorithm 3).

    Takes one round more than the depth of the graph.

    Parameters
    ----------
    equation, shape, values, device, **parameters
        As for `dependency_graph`.

    Returns
    -------
    ndarray of the equation's type, of the table's shape

    Raises
    ------
    InvalidInput
        As for `dependency_graph`.
    DependencyError
        A cell reads outside the table, or depends on itself; the message names the cells.
    DeviceLimit
        For float64 cells on a device without float64.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation
    ... def f(M, i, j):
    ...     return dp.where((i == 0) | (j == 0), 1, M[i - 1, j] + M[i, j - 1])
    >>> dp.fill_when_ready(f, (3, 3)).tolist()
    [[1, 1, 1], [1, 2, 3], [1, 3, 6]]
    """
    caller = "fill_when_ready"
    return _watch(equation, shape, merge_values(values, parameters, caller=caller), device, caller)[1]


@keeps_subnormals
def fill_by_stages(
    equation: Equation,
    shape: Shape,
    *,
    graph: DependencyGraph | None = None,
    values: Mapping[str, Any] | None = None,
    device: DeviceLike = None,
    **parameters: Any,
) -> NDArray[Any]:
    """Fill a small table by the minimal stages of its dependency graph (Algorithm 2).

    Parameters
    ----------
    equation : Equation
    shape : tuple of int
    graph : DependencyGraph, optional
        Of the same equation, shape and parameters; built here by default. A read that is not in it is refused.
    values, device, **parameters
        As for `dependency_graph`.

    Returns
    -------
    ndarray of the equation's type, of the table's shape

    Raises
    ------
    InvalidInput
        As for `dependency_graph`; or for a graph of another table.
    DependencyError
        A cell reads outside the table, or depends on itself, or makes a read that is not in `graph`; the message names
        the cells.
    DeviceLimit
        For float64 cells on a device without float64.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation
    ... def f(M, i, j):
    ...     return dp.where((i == 0) | (j == 0), 1, M[i - 1, j] + M[i, j - 1])
    >>> dp.fill_by_stages(f, (3, 3)).tolist()
    [[1, 1, 1], [1, 2, 3], [1, 3, 6]]
    """
    caller = "fill_by_stages"
    n, m = _small(shape, caller)
    values = merge_values(values, parameters, caller=caller)
    cells = Cells(equation, (n, m), values, device, caller)
    if graph is not None and (not isinstance(graph, DependencyGraph) or graph.shape != (n, m)):
        raise wrong("graph", caller, f"the DependencyGraph of a {n} x {m} table", short(graph))
    graph = graph or dependency_graph(equation, shape, values=values, device=device, caller=caller)
    order = np.concatenate([i * m + j for i, j in (stage.T for stage in graph.stages)]).astype(np.uint64)
    buffers, first = cells.buffers(cells=cells.upload(order)), 0
    for number, stage in enumerate(graph.stages, 1):
        cells.launch("stage", buffers, len(stage), first=first, rounds=(number,))
        first += len(stage)
    _raise_outside(cells, buffers, "which the graph has not filled then")
    return cells.table(buffers)


def probe_cells(
    equation: Equation,
    shape: tuple[int, int],
    numbers: NDArray[Any],
    *,
    seeds: int,
    values: Mapping[str, Any],
    device: DeviceLike = None,
) -> NDArray[np.uint32]:
    """Return the regions that cells read, by numbers of cells row by row, with made-up values in their neighbours.

    Bit 3 * row + column of a mask is a region, each 0 for before, 1 for the same and 2 for after.
    """
    cells = Cells(equation, shape, values, device, "infer_pattern")
    masks = Scratch("masks", np.dtype(np.uint32), len(numbers))
    buffers = {"cells": cells.upload(numbers.astype(np.uint64))}
    return np.asarray(cells.launch("probe", buffers, len(numbers), rounds=(seeds,), masks=masks).read(masks))


class Cells:
    """An equation bound to a device, to be computed cell by cell."""

    def __init__(
        self, equation: Equation, shape: tuple[int, int], parameters: Mapping[str, Any], device: DeviceLike, caller: str
    ) -> None:
        instance(equation, Equation, "a dp.Equation", "equation", caller=caller)
        if equation.cell.fields:
            raise InvalidInput(f"{caller} takes cells without fields. Those of {equation.name} have some.")
        self.equation, self.shape = equation, shape
        self.session = session_of({}, equation, device, caller=caller)
        values = check_values(equation, dict(parameters), caller=caller)
        self.arguments, self.bound = bind(self.session, equation, values, caller=caller)

    def upload(self, values: NDArray[Any]) -> Any:
        """Return a buffer with these values."""
        buffer = allocate(self.session, values.nbytes)
        write(self.session, buffer, values)
        return buffer

    def buffers(self, **more: Any) -> dict[str, Any]:
        """Return new memory for the table and the reads of its cells, with other buffers."""
        total = self.shape[0] * self.shape[1]
        arrays = {name: np.zeros(total, np.uint32) for name in ("done", "counts")}
        arrays |= {"table": np.zeros(total, self.equation.dtype), "outside": np.zeros(2 * total, np.int64)}
        return {name: self.upload(array) for name, array in arrays.items()} | more

    def table(self, buffers: dict[str, Any]) -> NDArray[Any]:
        """Return the cells that kernels have computed."""
        n, m = self.shape
        return read(self.session, buffers["table"], self.equation.dtype, n * m).reshape(n, m)

    def launch(
        self,
        mode: str,
        buffers: dict[str, Any],
        count: int,
        *,
        rounds: Iterable[int],
        first: int = 0,
        capacity: int = 0,
        masks: Any = "nothing",
    ) -> Result:
        """Run the kernel once for each of `rounds`; buffers that this mode does not use have one word."""
        policy = select(self.session.profile, "dp/study/graph_cells")
        options = build_options(self.session)
        params = {"mode": mode, "cell": c_name(self.equation.dtype), "rounded": bool(options)}
        params["equation"] = self.equation.text(Form(wraps=True))
        groups = policy.groups(ceil_div(count, policy.wg_size), self.session.profile.compute_units)
        names = ("table", "done", "cells", "reads", "counts", "outside")
        table, done, cells, *others = (name if name in buffers else "nothing" for name in names)

        def step(number: int) -> Step:
            sizes = map(np.uint32, (first, count, number, capacity))
            args = (*map(np.int32, self.shape), table, done, cells, *sizes, *others, masks, *self.arguments)
            return Step("dp/study/graph_cells", policy, args, groups, params, options=options)

        equation = self.equation
        with users_errors(equation.source if equation.traced else equation.body, name=equation.name):
            plan = Plan(*map(step, rounds))
            return run(self.session, plan, nothing=allocate(self.session, 8), **buffers, **self.bound)


#: Initial capacity for reads of a cell; rounds between two checks for cells that are not ready.
FIRST_CAPACITY, ROUNDS = 16, 32


def _watch(
    equation: Any, shape: Any, parameters: Mapping[str, Any], device: DeviceLike, caller: str
) -> tuple[DependencyGraph, NDArray[Any]]:
    """Return the graph of an equation, and its table, by rounds of Algorithm 3."""
    n, m = _small(shape, caller)
    cells, total = Cells(equation, (n, m), parameters, device, caller), n * m
    capacity = FIRST_CAPACITY
    while True:
        buffers = cells.buffers(reads=allocate(cells.session, 4 * total * capacity))
        unready = total
        for first in range(1, total + 2, ROUNDS):
            cells.launch("ready", buffers, total, rounds=range(first, first + ROUNDS), capacity=capacity)
            done = read(cells.session, buffers["done"], np.uint32, total)
            before, unready = unready, int((done == 0).sum())
            if unready in (0, before):
                break
        counts = _raise_outside(cells, buffers)
        if counts.max() <= capacity:
            break
        capacity = int(counts.max())
        if 4 * total * capacity > cells.session.profile.max_alloc_bytes:
            raise InvalidInput(f"The 'shape' parameter of {caller} is too large: a cell reads {capacity:,} others.")
    reads = read(cells.session, buffers["reads"], np.uint32, total * capacity).reshape(total, capacity)
    sources = np.repeat(np.arange(total), counts)
    pairs = np.unique(sources * total + reads[np.arange(capacity) < counts[:, None]])
    starts = np.concatenate([[0], np.cumsum(np.bincount(pairs // total, minlength=total))])
    graph = DependencyGraph((n, m), starts, pairs % total)
    if unready:
        _ = graph.depths  # raises the error that names the cycle
    return graph, cells.table(buffers)


def _raise_outside(cells: Cells, buffers: dict[str, Any], unready: str = "") -> NDArray[np.uint32]:
    """Return the number of reads of each cell; `DependencyError` for one outside the table or of an unready cell."""
    n, m = cells.shape
    counts = read(cells.session, buffers["counts"], np.uint32, n * m)
    outside = np.flatnonzero(counts == np.iinfo(np.uint32).max)
    if outside.size:
        c = int(outside[0])
        a, b = read(cells.session, buffers["outside"], np.int64, 2, 2 * c).tolist()
        reason = unready if 0 <= a < n and 0 <= b < m else f"outside the {n} x {m} table"
        raise DependencyError(f"Cell ({c // m}, {c % m}) reads ({a}, {b}), {reason}.")
    return counts


def _small(shape: Any, caller: str) -> tuple[int, int]:
    """Return the rows and columns of a table, which are not too many for a graph."""
    n, m = check_shape(shape, caller=caller)
    if n * m > MOST_CELLS:
        expected = f"{MOST_CELLS:,} cells at most: the graph is for looking at small tables"
        raise wrong("shape", caller, expected, f"{n} x {m}", verb="have")
    return n, m
