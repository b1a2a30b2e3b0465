"""The check before a fill: a few cells of the table itself, computed with all traps on.

Traced equations, and simple ones in C, are computed on the host: the first stages of the table, and cells all over the
table and next to the borders of conditions. The value of a cell is known if the trial has computed it. What depends on
other cells is unknown, and unknown values raise no fault. So every fault is certain.

Other equations in C are computed on the device, by the kernels of ``check=True``: the first stages, and a few cells of
later ones up to their first read of another cell.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from clgeom.caches import digest_of
from clgeom.core import launch
from clgeom.core.plan import Plan, Series
from clgeom.core.tuning import select
from clgeom.dp.analysis.borders import borders
from clgeom.dp.analysis.bounds import overflow_of
from clgeom.dp.analysis.sums import narrows
from clgeom.dp.analysis.work import numbered_parts, work_of
from clgeom.dp.fills import Fill
from clgeom.dp.language.cells import CellType
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.graphs import BRANCHES
from clgeom.dp.language.mistakes import deep_enough
from clgeom.dp.language.nodes import ON_ARRAYS, applied, evaluate, host_type
from clgeom.dp.language.plain_c import nodes_of
from clgeom.dp.language.trace import Expr
from clgeom.dp.language.types import LIMITS, neutral
from clgeom.dp.language.users_c import has_loop
from clgeom.dp.paths import stages
from clgeom.dp.table.stores import CellStore
from clgeom.errors import EquationWarning, IntegerOverflow, KernelBuildError, warn
from clgeom.intake.typing import NDArray

#: Budget of a trial on the host: each node counts 1, and 1 more for every CELLS_OF_STEP cells. A step takes 15 us
#: (measured). The first stages take at most half of the budget.
MOST_STEPS, CELLS_OF_STEP = 800, 2048
#: Most cells of a stage that are all computed. Of longer stages: EDGE_CELLS first ones, last ones, and between.
STAGE_CELLS, EDGE_CELLS = 256, 16
#: Elements of a reduction that are looked at: at each end for one cell, and in all cells together.
LOOP_EDGE, LOOP_CELLS = 8, 1 << 12
#: Rows and columns at each end of the table, and between: cells where they cross are looked at.
ENDS, SPREAD = 2, 4
#: On the device: most cells and most stages of the first ones, memory for them in cells (two long stages are computed
#: if they fit), and most operations of all cells.
TRIAL_CELLS, TRIAL_STAGES, HELD_CELLS, TRIAL_OPERATIONS = 1 << 14, 64, 1 << 22, 1 << 26
#: A kind of fault that only the host finds: the range of a reduction exceeds the 32 bits of its index.
END = -1
#: A value beyond the type of the cells, where that traps.
BEYOND = -2
#: What becomes of a value that wraps around or has no quotient, of which a trial only warns.
DOUBTS = {
    stages.OVERFLOW: "and wraps around, as integers do",
    stages.DIVISION: "and takes the quotient and the remainder to be 0",
    stages.SHIFT: "and takes the result to be 0",
}
#: Most trials that a session caches.
MOST_REMEMBERED = 4_096
#: Rows, columns or numbers of lanes.
Numbers: TypeAlias = NDArray[np.int64]
#: Values in lanes, and whether they are known.
Known: TypeAlias = tuple[NDArray[Any], NDArray[np.bool_]]
#: A kind of fault, the cell, and two numbers about it.
Fault: TypeAlias = tuple[int, tuple[int, int], int, int]


def check(fill: Fill) -> None:
    """Raise the error for a fault that the trial finds. Once for each equation, shape, and shapes of its parameters."""

    def attempt() -> None:
        nodes = nodes_of(equation)
        with deep_enough(equation.name):
            if nodes is not None:
                on_host(fill, nodes)
            elif fill.initial is None:  # the program takes the cells before the first stage to be 0
                on_device(fill)

    equation = fill.equation
    digest = equation.cache.get(("digest",), lambda: digest_of(equation.text()))  # a text has some 10 KB
    table = fill.pattern.name, fill.shape, fill.start, fill.stop, fill.initial is None
    parameters = tuple(
        (name, value.item() if value.dtype.kind in "iu" and not value.ndim else value.shape)
        for name, value in fill.values.items()
    )
    key = "dp trial", digest, equation.overflow, equation.decisions, *table, parameters
    fill.session.cached(key, attempt, most=MOST_REMEMBERED)


# On the host ------------------------------------------------------------------------------------------------------


def on_host(fill: Fill, nodes: Equation) -> Trial:
    """Compute cells of a traced equation, or of the twin of a simple one in C; raise the error for a fault."""
    trial = Trial(fill, nodes)
    for stage in range(fill.start, fill.stop):
        count = fill.pattern.count(stage, *fill.shape)
        before = trial.steps
        trial.compute(*fill.pattern.cells_at(stage, _positions(count), *fill.shape), keep=True)
        if 2 * trial.steps - before > MOST_STEPS // (1 if trial.complete else 2):
            break  # another stage like this one would exceed the budget
    else:
        trial.report()
        if trial.complete:
            return trial
    trial.report()
    trial.compute(*_spread(fill, nodes))
    trial.report()
    return trial


def _positions(count: int) -> Numbers:
    """Return the positions in a stage: all, or its ends and some between."""
    if count <= STAGE_CELLS:
        return np.arange(count)
    between = np.linspace(0, count - 1, EDGE_CELLS).astype(np.int64)
    return np.unique(np.concatenate([np.arange(EDGE_CELLS), between, count - 1 - np.arange(EDGE_CELLS)]))


def _spread(fill: Fill, nodes: Equation) -> tuple[Numbers, Numbers]:
    """(i, j) of cells all over the table and next to borders of conditions, in stages that are filled."""
    lines = []
    rows, columns, (own_i, own_j) = borders(fill, nodes)
    for size, more in zip(fill.shape, (rows, columns)):
        ends = np.arange(min(ENDS + 1, size))
        between = np.linspace(0, size - 1, SPREAD + 2).astype(np.int64)
        lines.append(np.unique(np.concatenate([ends, between, size - 1 - ends, more])))
    grid = np.meshgrid(*lines, indexing="ij")
    i, j = (np.concatenate([part.ravel(), own]) for part, own in zip(grid, (own_i, own_j)))
    stage: Any = fill.pattern.stage_of(i, j, *fill.shape)
    filled = (fill.start <= stage) & (stage < fill.stop)
    return i[filled], j[filled]


class Trial:
    """The cells computed so far, and their faults."""

    def __init__(self, fill: Fill, nodes: Equation) -> None:
        self.fill, self.nodes = fill, nodes
        self.complete = fill.shape[0] * fill.shape[1] <= STAGE_CELLS
        # indices of cells, ascending, their values, and whether these are known
        self.numbers = np.empty(0, np.int64)
        self.values = np.empty(0, nodes.dtype)
        self.known = np.empty(0, bool)
        self.faults: list[Fault] = []
        self.steps = 0

    def compute(self, i: Any, j: Any, *, keep: bool = False) -> None:
        """Compute cells, none of which may read another; `keep`: later cells may read them."""
        i, j = np.asarray(i, np.int64), np.asarray(j, np.int64)
        if not len(i):
            return
        lanes = Lanes(self, i, j)
        every = np.arange(len(i))
        values, known = np.zeros(len(i), self.nodes.dtype), np.ones(len(i), bool)
        cell, root = self.nodes.cell, self.nodes.value
        with np.errstate(all="ignore"):
            for part in self.nodes.eager:
                lanes.value(part, every)
            for field, own, part in zip(cell.fields or ("",), cell.scalars, root.args if cell.fields else (root,)):
                numbers, sure = lanes.value(part, every)
                (values[field] if field else values)[:] = _fitted(own, lanes, numbers, sure) if own.fitted else numbers
                known &= sure
            if self.nodes.decision is not None:
                choices, sure = lanes.value(self.nodes.decision, every)
                count: Any = self.nodes.decisions
                least, most = (-1, max(self.fill.shape)) if count == "index" else (0, count - 1)
                wrong = np.flatnonzero(sure & ((choices < least) | (choices > most)))
                lanes.note(stages.DECISION, wrong, choices[wrong])
        if keep:
            numbers = np.concatenate([self.numbers, i * self.fill.shape[1] + j])
            order = np.argsort(numbers, kind="stable")
            self.numbers = numbers[order]
            self.values = np.concatenate([self.values, values])[order]
            self.known = np.concatenate([self.known, known])[order]

    def cell(self, a: Numbers, b: Numbers) -> Known:
        """(values, whether they are known) of cells inside the table."""
        values, known = np.zeros(len(a), self.values.dtype), np.zeros(len(a), bool)
        numbers = a * self.fill.shape[1] + b
        if len(self.numbers):
            at = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
            here = self.numbers[at] == numbers
            values[here], known = self.values[at][here], here & self.known[at]
        fill = self.fill
        before: Any = fill.pattern.stage_of(a, b, *fill.shape) < fill.start  # these are 0, or given
        if fill.initial is None:
            return values, known | before
        given, sure = fill.initial.known(fill.pattern, fill.shape, a, b, self.values.dtype)
        values[before] = given[before]
        return values, np.where(before, sure, known)

    def report(self) -> None:
        """Raise the error for the fault of the earliest stage; warn of documented but unlikely behaviour."""
        fill = self.fill

        def order(fault: Fault) -> Any:
            return fill.pattern.stage_of(*fault[1], *fill.shape), fault[1]

        certain = [fault for fault in self.faults if fault[0] not in DOUBTS]
        if certain:
            kind, cell, a, b = min(certain, key=order)
            if kind == END:
                raise IntegerOverflow(
                    f"Cell {cell} of {fill.equation.name} reduces over {a} <= k < {b}, beyond the 32 bits of an index."
                )
            if kind == BEYOND:
                raise overflow_of(fill, cell, a)
            raise stages.fault(fill, cell, kind, a, b)
        if self.faults:
            kind, cell, a, b = min(self.faults, key=order)
            said = str(stages.fault(fill, cell, kind, a, b)).rstrip(".")
            warn(f"{said}, {DOUBTS[kind]}. If that is meant, fill it with check=False.", EquationWarning)
            self.faults.clear()


def _fitted(cell: CellType, lanes: Lanes, values: NDArray[Any], known: NDArray[np.bool_]) -> NDArray[Any]:
    """Integers in the type of the cells, or of a field of them."""
    low, high = cell.limits or LIMITS["int"]
    if cell.overflow == "saturate":
        return values.clip(low, high)
    beyond = np.flatnonzero(known & ((values < low) | (values > high)))
    lanes.note(*((BEYOND, beyond, values[beyond]) if cell.overflow == "trap" else (stages.OVERFLOW, beyond)))
    return values


class Lanes:
    """Values of nodes in many cells together; a node is computed only in the cells that certainly need it.

    `indices`: of loops around these lanes, of which each is then a cell at one index.
    """

    def __init__(self, trial: Trial, i: Numbers, j: Numbers, indices: dict[Expr, Numbers] | None = None) -> None:
        self.trial, self.i, self.j = trial, i, j
        self.indices = indices or {}
        self.computed: dict[Expr, tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]]] = {}

    def value(self, node: Expr, lanes: Numbers) -> Known:
        """(values, whether they are known) of a node in these lanes."""
        if node.op == "index":
            return self.indices[node][lanes], np.ones(len(lanes), bool)
        if not node.args:
            n, m = self.trial.fill.shape
            env = {"i": self.i[lanes], "j": self.j[lanes], "n": n, "m": m, **self.trial.fill.values}
            return np.broadcast_to(evaluate(node, env, {}), len(lanes)), np.ones(len(lanes), bool)
        if node not in self.computed:
            size = len(self.i)
            self.computed[node] = np.zeros(size, host_type(node)), np.zeros(size, bool), np.zeros(size, bool)
        values, known, done = self.computed[node]
        missing = lanes[~done[lanes]]
        if len(missing):
            values[missing], known[missing] = self._compute(node, missing)
            done[missing] = True
        return values[lanes], known[lanes]

    def _compute(self, node: Expr, lanes: Numbers) -> Known:
        op, args = node.op, node.args
        self.trial.steps += 1 + len(lanes) // CELLS_OF_STEP
        if op in BRANCHES:
            return self._branch(node, lanes)
        if op in ("reduce", "argreduce"):
            return self._reduction(node, lanes)
        pairs = [self.value(arg, lanes) for arg in args]
        values, known = [v for v, _ in pairs], np.logical_and.reduce([k for _, k in pairs])
        if op == "cell":
            return self._cell(values[0], values[1], known, lanes, node.data)
        if op == "load":
            return self._load(node, values, known, lanes)
        if op in ("floordiv", "mod"):
            self.note(stages.DIVISION, lanes[known & (values[1] == 0)])
        if op in ("shl", "shr"):
            self.note(stages.SHIFT, lanes[known & (values[1] < 0)], values[1][known & (values[1] < 0)])
        result = applied(node, values)
        if narrows(node):
            self.note(stages.OVERFLOW, lanes[known & (result != values[0])])
        if node.type in ("long", "ulong") and op in ("add", "sub", "mul", "neg"):
            rough = ON_ARRAYS[op](*(v.astype(np.float64) for v in values))
            low, high = map(float, LIMITS[node.type])
            self.note(stages.OVERFLOW, lanes[known & ((rough < low) | (rough > high))])
        if node.type in ("long", "ulong") and op == "shl":
            back = ON_ARRAYS["shr"](result, values[1])
            self.note(stages.OVERFLOW, lanes[known & (back != values[0])])
        return self._wrapped(result, known, lanes) if node.type == "int" else result, known

    def _wrapped(self, values: NDArray[Any], known: NDArray[np.bool_], lanes: Numbers) -> NDArray[Any]:
        """Integers of an int32, which wrap around."""
        wrapped = values.astype(np.int32).astype(np.int64)
        self.note(stages.OVERFLOW, lanes[known & (wrapped != values)])
        return wrapped

    def _branch(self, node: Expr, lanes: Numbers) -> Known:
        """Return the values of a choice, or of "and" or "or", whose sides are computed where their condition tells."""
        condition, *sides = node.args
        test, sure = self.value(condition, lanes)
        values, known = test.astype(host_type(node)), sure.copy()
        for side, holds in zip(sides, BRANCHES[node.op]):
            at = np.flatnonzero(sure & (test == holds))
            if len(at):
                values[at], known[at] = self.value(side, lanes[at])
        return values, known

    def _reduction(self, node: Expr, lanes: Numbers) -> Known:
        k, lo, hi, body, *empty = node.args
        (first, known), (end, end_known) = self.value(lo, lanes), self.value(hi, lanes)
        values, bounded = np.zeros(len(lanes), host_type(node)), known & end_known
        known = bounded
        low, high = LIMITS["int"]
        beyond = known & (first < end) & ((first < low) | (end > high))
        self.note(END, lanes[beyond], first[beyond], end[beyond])
        first, end = np.clip(first, low, high), np.clip(end, low, high)
        counts = np.where(known, np.maximum(end - first, 0), 0)
        each = int(max(min(LOOP_CELLS // max(len(lanes), 1), counts.max(initial=0)), 2))
        short = counts <= each
        of, ks = _positions_of_loops(counts, short, each)
        if not len(of):
            values[:] = neutral(node.data, body.type) if node.op == "reduce" else -1
        else:
            ks += first[of]
            parents = lanes[of]
            indices = {index: at[parents] for index, at in self.indices.items()}
            inner = Lanes(self.trial, self.i[parents], self.j[parents], {**indices, k: ks})
            elements, sure = inner.value(body, np.arange(len(ks)))
            unknown = np.zeros(len(lanes), bool)
            np.logical_or.at(unknown, of, ~sure)
            known = known & short & ~unknown
            values = self._reduced(node, body, elements, of, ks, lanes)
        none = np.flatnonzero((counts == 0) & bounded)
        if empty and node.op == "reduce" and len(none):
            values[none], known[none] = self.value(empty[0], lanes[none])
        return values, known

    def _reduced(
        self, node: Expr, body: Expr, elements: NDArray[Any], of: Numbers, ks: Numbers, lanes: Numbers
    ) -> NDArray[Any]:
        """Return the least, largest or sum of the values of each lane's loop, in the order of k; or the index of the
        best.
        """
        size = len(lanes)
        if node.data == "sum":
            total = np.zeros(size, elements.dtype)
            np.add.at(total, of, elements)  # one after the other, in this order
            return self._wrapped(total, np.ones(size, bool), lanes) if body.type == "int" else total
        start = neutral(node.data, body.type)
        best, at = np.full(size, start, elements.dtype), np.full(size, -1, np.int64)
        (np.fmin if node.data == "min" else np.fmax).at(best, of, elements)
        if node.op == "reduce":
            return best
        equal = np.flatnonzero(elements == best[of])[::-1]
        at[of[equal]] = ks[equal]  # the first of them is written last
        return at

    def _cell(self, a: Numbers, b: Numbers, known: NDArray[np.bool_], lanes: Numbers, field: str) -> Known:
        fill, (n, m) = self.trial.fill, self.trial.fill.shape
        i, j = self.i[lanes], self.j[lanes]
        outside = known & ((a < 0) | (a >= n) | (b < 0) | (b >= m))
        allowed = np.array([[fill.pattern.allows(r, c) for c in (-1, 0, 1)] for r in (-1, 0, 1)])
        forbidden = known & ~outside & ~allowed[np.sign(a - i) + 1, np.sign(b - j) + 1]
        self.note(stages.RANGE, lanes[outside], a[outside], b[outside])
        self.note(stages.PATTERN, lanes[forbidden], a[forbidden], b[forbidden])
        inside = np.flatnonzero(known & ~outside & ~forbidden)
        values: Any = np.zeros(len(lanes), self.trial.values.dtype)
        sure = np.zeros(len(lanes), bool)
        if len(inside):
            values[inside], sure[inside] = self.trial.cell(a[inside], b[inside])
        return values[field] if field else values, sure

    def _load(self, node: Expr, indices: Sequence[Numbers], known: NDArray[np.bool_], lanes: Numbers) -> Known:
        array = self.trial.fill.values[node.data]
        inside = known.copy()
        for at, size in zip(indices, array.shape):
            wrong = np.flatnonzero(inside & ((at < 0) | (at >= size)))
            self.note(stages.INDEX, lanes[wrong], at[wrong], np.full(len(wrong), size))
            inside[wrong] = False
        values, at = np.zeros(len(lanes), host_type(node)), np.flatnonzero(inside)
        values[at] = array[tuple(index[at] for index in indices)]
        return values, inside

    def note(self, kind: int, lanes: Numbers, a: Any = None, b: Any = None) -> None:
        """Note a fault, or a doubt, of these lanes: that of the earliest stage."""
        if len(lanes):
            i, j = self.i[lanes], self.j[lanes]
            stage: Any = self.trial.fill.pattern.stage_of(i, j, *self.trial.fill.shape)
            first = int(np.lexsort((j, i, stage))[0])
            first_a, first_b = (0 if x is None else int(x[first]) for x in (a, b))
            self.trial.faults.append((kind, (int(i[first]), int(j[first])), first_a, first_b))


def _positions_of_loops(counts: Numbers, short: NDArray[np.bool_], each: int) -> tuple[Numbers, Numbers]:
    """(loop, position in it): all positions of short loops, in order; of long ones both ends and some between."""
    which, position = numbered_parts(counts[short])
    long = np.flatnonzero(~short)
    edge = np.arange(min(LOOP_EDGE, max(each // 3, 1)))
    last = counts[long][:, None] - 1
    some = np.concatenate([0 * last + edge, last * edge // len(edge), last - edge], axis=1)
    of = np.concatenate([np.flatnonzero(short)[which], np.repeat(long, some.shape[1])])
    return of, np.concatenate([position, some.ravel()])


# On the device ----------------------------------------------------------------------------------------------------


def on_device(fill: Fill) -> None:
    """Compute cells of an equation in C, with one small program. If none builds, the fill itself raises the error."""
    for trapped in (True, False):
        with contextlib.suppress(KernelBuildError):
            _first_stages(fill, trapped=trapped)
            return


def _first_stages(fill: Fill, *, trapped: bool) -> None:
    """Compute whole stages from the first one on while they have few cells, then some cells of later stages."""
    _, counts = stages.counts_of(fill, fill.start, min(fill.stop, fill.start + TRIAL_STAGES))
    cells = np.cumsum(counts)
    each = work_of(fill.equation).most(max(fill.shape))
    width = int({"rows": fill.shape[1], "columns": fill.shape[0]}.get(fill.pattern.kind, min(fill.shape)))
    session, dtype = fill.session, fill.equation.dtype
    held = min(HELD_CELLS, session.profile.max_alloc_bytes // dtype.itemsize)
    fits = (cells <= TRIAL_CELLS) & (TRIAL_STAGES * width <= held)
    fits |= (np.arange(len(cells)) < 2) & (2 * width <= held)
    fits &= cells * each <= TRIAL_OPERATIONS
    whole = int(fits.sum())
    ring = 2 if whole <= 2 else TRIAL_STAGES  # few, since each is a build
    buffer = launch.allocate(session, (ring * width if whole else 1) * dtype.itemsize)
    store = CellStore(session, (buffer,), dtype, fill.shape, fill.pattern.layout)
    policy = select(session.profile, stages.KERNEL, dtype, ring * width)
    quiet = replace(fill, watch=None)
    memory = stages.Memory(store, ring)
    step = stages.stage_step(quiet, policy, memory, trial=True, trapped=trapped)
    buffers = stages.buffers_of(quiet, memory, step)
    if whole:
        launches = stages.launches(replace(quiet, check=True), policy, fill.start, fill.start + whole)
        result = quiet.run(Plan(Series(step.step, step.indices, *launches)), **buffers)
        stages.raise_first(quiet, step, result, buffers)
    if fill.start + whole == fill.stop or has_loop(fill.equation.body + fill.equation.helpers):
        return  # values read there are unknown, and a loop may wait for one
    some = np.unique(np.linspace(fill.start + whole, fill.stop - 1, 3).astype(np.int64))
    _, counts = stages.counts_of(fill, fill.start, fill.stop)
    args = list(step.step.args)
    args[step.indices[0] + 5] = np.int32(0)  # what was computed before is not known
    unknown = step._replace(step=replace(step.step, args=tuple(args)))
    rows = []
    for stage in some:
        count = int(counts[stage - fill.start])
        edge = min(count, EDGE_CELLS)
        rows += [(stage, stage + 1, low, low + edge) for low in sorted({0, (count - edge) // 2, count - edge})]
    numbers = np.array(rows, np.int64)
    result = quiet.run(Plan(Series(unknown.step, step.indices, numbers, np.ones(len(rows), np.int64))), **buffers)
    stages.raise_first(quiet, unknown, result, buffers, known=0)
