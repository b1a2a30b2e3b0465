"""Whether every read of a table leads to a cell that is filled by then: proven, or evaluated for all cells.

A proof holds for every table. Where there is none, rows and columns of reads that depend on i, j, indices of
reductions and parameters only are evaluated on the host, for all cells together:

    reads M[a, b] ─> signs of a - i, and of b - j ─> pairs that the pattern forbids ─> cells with such a pair
    ─> conditions on the way to the read, for these cells ─> a fault, or the pattern holds for this table

An index takes as many elements as it has different values: one that depends on j alone has a row of them. What depends
on values of cells is not known before the fill, and neither is what a text in C does between its reads.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np

from clgeom.dp.analysis.bounds import loops_of
from clgeom.dp.analysis.dependences import Near
from clgeom.dp.analysis.infer import unproven_reads
from clgeom.dp.fills import Fill
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.graphs import BRANCHES, walk, with_users
from clgeom.dp.language.mistakes import deep_enough
from clgeom.dp.language.nodes import evaluate
from clgeom.dp.language.plain_c import expression_in_c, nodes_of
from clgeom.dp.language.trace import Expr
from clgeom.dp.language.traced import EquationBase
from clgeom.dp.language.users_c import reads_in_c
from clgeom.dp.paths import stages
from clgeom.dp.patterns import Pattern
from clgeom.errors import DependencyError, EquationWarning, InvalidInput, warn
from clgeom.intake.typing import NDArray

#: Seconds that an evaluation may always take, for so many tables of a batch, and its part of the time of a long fill.
FREE, TABLES, SHARE = 3e-3, 8, 0.1
#: The least time of a fill, for each stage and on CPUs for each cell. PoCL, 2 cores: 3,000^2 cells by rows 5.8 ms, by
#: diagonals 49. H200: 1,000^2 cells by rows 0.6 ms.
STAGE_SECONDS, CELL_SECONDS = 0.5e-6, 0.5e-9
#: The time of an operation of NumPy with what finds it, and of an element of it: 0.35 ms for 50 of 40 elements.
OPERATION_SECONDS, ELEMENT_SECONDS = 7e-6, 3e-9
#: Most elements of an array, and an index beyond every table.
MOST_ELEMENTS, FARTHEST = 1 << 24, 1 << 62
#: Codes of an index of a read besides the signs 0, 1, 2 of its distance: outside the table, from an element beyond its
#: array, and unknown.
OUTSIDE, BEYOND, UNKNOWN = 3, 4, 5
#: Rows, columns and values of indices of reductions that are evaluated where all would take long, and where these do.
SIDE, LEAST_SIDE = 64, 8
#: Nodes whose values are not known before a fill.
LATE = ("cell", "reduce", "argreduce")
#: Why a pattern is not known to hold.
NOT_LOOKED_AT = "with check=False no read is looked at"
OPAQUE = "a text in C that is not a simple one does not tell before the fill which cells it reads"


#: Whether cells make a read: at least one does, none does, values of cells decide, or not all cells were evaluated.
Verdict: TypeAlias = Literal["read", "not read", "depends on cells", "unknown"]
#: Values of variables by variable: "i", "j", or the node of the index of a reduction.
Values: TypeAlias = dict[Any, NDArray[np.int64]]
#: Cells, one by one: whether they make a read for all that is known, and whether they certainly do.
Reach: TypeAlias = tuple[Any, Any]


class Undecided(Exception):
    """Why the reads cannot be evaluated before the fill; the text is a part of a sentence."""


class TooLong(Undecided):
    """The evaluation would take longer than it may."""


class Read(NamedTuple):
    """A read of a table: its node, None for one of a text in C, and its row and column, None where they are unknown."""

    node: Expr | None
    indices: tuple[Expr | None, ...]


#: Whether the fills of this context need no check: they are parts of one that is checked, or of equations under test.
_settled: contextvars.ContextVar[bool] = contextvars.ContextVar("clgeom_dp_settled", default=False)


@contextlib.contextmanager
def settled() -> Iterator[None]:
    """Fill in here without a check of readiness."""
    token = _settled.set(True)
    try:
        yield
    finally:
        _settled.reset(token)


def check(
    fill: Fill,
    evaluate: Callable[[float], object],
    *,
    cells: int,
    tables: int = 1,
    evaluated: bool,
    warned: bool = False,
) -> None:
    """Raise `DependencyError` for a read that is not ready; warn if that is not known of every read.

    `evaluate` takes the seconds that it may last, and evaluates the reads of all tables, see `Evaluation.run`.
    `evaluated`: evaluate what is not proven, if that takes little time. `warned`: of a pattern that is not proven.
    """
    if _settled.get() or not reads_of(fill):
        return
    reason = NOT_LOOKED_AT
    if evaluated:
        stages_ = (fill.stop - fill.start) * STAGE_SECONDS
        cells_ = cells * CELL_SECONDS if fill.session.profile.is_cpu else 0
        try:
            with deep_enough(fill.equation.name):
                evaluate(max(FREE * min(tables, TABLES), SHARE * (stages_ + cells_)))
            return
        except Undecided as error:
            reason = str(error)
    if not warned:
        warn_of(fill.equation, fill.pattern.name, reason)


def verdict_on(fill: Fill, nodes: Iterable[Expr]) -> Verdict:
    """Return whether a cell makes one of these reads, which lie where the pattern allows none.

    Where all cells would take long, a few rows and columns are evaluated.
    """
    reads = tuple(Read(node, node.args) for node in nodes)
    for most, seconds in (None, FREE), (SIDE, FREE), (LEAST_SIDE, math.inf):
        try:
            Evaluation(fill, reads, most_values=most).run(seconds)
        except TooLong:
            continue
        except Undecided:
            return "depends on cells"
        except (DependencyError, InvalidInput):
            return "read"
        return "not read" if most is None else "unknown"
    return "unknown"


def warn_of(equation: EquationBase, pattern: str, reason: str) -> None:
    """Warn of a pattern that is not proven."""
    warn(
        f"The pattern {pattern} of {equation.name} is not proven: {reason}. A read of a cell that is not filled yet "
        "gives wrong cells; check=True traps such reads.",
        EquationWarning,
    )


def reads_of(fill: Fill) -> tuple[Read, ...]:
    """Return the reads that are not proven to lie where the pattern allows them."""
    nodes = nodes_of(fill.equation)
    if nodes is None:
        return _in_text(fill.equation, fill.pattern)
    # what is proven of sums says nothing of integers that wrap around
    unproven = unproven_reads(nodes, fill.pattern, sums=not fill.wraps)
    if unproven and not fill.wraps:
        unproven = unproven_reads(nodes, fill.pattern, fill.values)
    return tuple(Read(read, read.args) for read in unproven)


def _in_text(equation: Equation, pattern: Pattern) -> tuple[Read, ...]:
    """Return the reads of a text in C; none if all of them are at constant offsets that the pattern allows. Cached."""
    if isinstance(equation.reach, Near) and all(pattern.allows(*offset) for offset in equation.reach.offsets):
        return ()

    def node(text: str | None) -> Expr | None:
        return expression_in_c(text, equation.parameters) if text else None

    def reads() -> tuple[Read, ...]:
        return tuple(Read(None, tuple(map(node, pair))) for pair in reads_in_c(equation.body, equation.parameters))

    in_text: tuple[Read, ...] = equation.cache.get(("reads in C",), reads)
    return in_text


class Evaluation:
    """The reads of a table that are not proven, or those of `reads`, evaluated on the host.

    With `most_values` at most so many values of each variable, spread over its range: only a fault is then certain.
    """

    def __init__(self, fill: Fill, reads: tuple[Read, ...] | None = None, *, most_values: int | None = None) -> None:
        self.fill, self.seconds, self.most_values = fill, 0.0, most_values
        self.reads = reads_of(fill) if reads is None else reads
        nodes = nodes_of(fill.equation)
        self.roots: tuple[Expr, ...] = () if nodes is None else nodes.computed
        self.loops, self.parts, self.unknown, self.conditions = fill.equation.cache.get(
            ("facts", fill.pattern.name, fill.wraps, self.reads), self._facts
        )

    def _facts(self) -> tuple[Any, ...]:
        """(ends of loops by index, all nodes, those not known before the fill, the number of nodes of conditions)."""
        nodes = [*self.roots, *(index for read in self.reads for index in read.indices if index is not None)]
        loops, parts = loops_of(*nodes), list(walk(*nodes))
        unknown = with_users(parts, (part for part in parts if part.op in LATE))
        tests = [part.args[0] for part in parts if part.op in BRANCHES]
        bounds = [bound for pair in loops.values() for bound in pair]
        return loops, parts, unknown, sum(part not in unknown for part in walk(*tests, *bounds))

    def run(self, most: float) -> float:
        """Raise `DependencyError` for a read that is not ready, `Undecided` if that is unknown; return seconds left."""
        self.seconds = most
        reason: Undecided | None = None
        for read in self.reads:
            try:
                self._check(read)
            except Undecided as error:  # another read may be wrong for certain
                reason = reason or error
        if reason is not None:
            raise reason
        return self.seconds

    def _check(self, read: Read) -> None:
        known = [index for index in read.indices if index is not None and index not in self.unknown]
        mesh = self._mesh(*known, axes="ij")
        codes = [self._codes(read, index, mesh, axis) for index, axis in zip(read.indices, "ij")]
        for pair in itertools.product(*(np.unique(code).tolist() for code in codes)):
            if not self._is_ready(*pair):
                cells = self._cells(mesh, *(code == value for code, value in zip(codes, pair)))
                self._examine(read, cells, UNKNOWN not in pair)

    def _spend(self, operations: int, elements: float) -> None:
        """Take the time of operations from the seconds that remain."""
        self.seconds -= operations * (OPERATION_SECONDS + elements * ELEMENT_SECONDS)
        if self.seconds < 0 or elements > MOST_ELEMENTS:
            raise TooLong("to evaluate its reads for all cells would take more than a tenth of the fill")

    # --- where a read leads

    def _codes(self, read: Read, index: Expr | None, mesh: Values, axis: str) -> NDArray[Any]:
        """Return the sign of an index less that of the cell, plus 1; else `OUTSIDE`, `BEYOND` or `UNKNOWN`.

        A text in C is not known to get to a read that is outside the table.
        """
        if index is None or index in self.unknown:
            return np.full(mesh[axis].shape, UNKNOWN)
        at, known = self._evaluated(index, mesh, axis)
        codes = np.sign(at - mesh[axis]) + 1
        if read.node is not None:
            codes = np.where((at < 0) | (at >= self._length(axis)), OUTSIDE, codes)
            for place, length in self._places(index):
                codes = np.where((known[place] < 0) | (known[place] >= length), BEYOND, codes)
        return codes

    def _places(self, index: Expr) -> Iterator[tuple[Expr, int]]:
        """(index, size of its dimension) of the elements of parameters that an index of a cell depends on."""
        for part in walk(index):
            if part.op == "load":
                yield from zip(part.args, self.fill.values[part.data].shape)

    def _mesh(self, *exprs: Expr, axes: str = "") -> Values:
        """Return the values of the axes and of all variables of expressions, each along an axis of its own."""
        ranges = {variable: self._range(variable) for variable in dict.fromkeys([*axes, *_variables(walk(*exprs))])}
        return dict(zip(ranges, np.ix_(*ranges.values())))

    def _evaluated(self, index: Expr, mesh: Values, *axes: str) -> tuple[NDArray[Any], dict[Expr, Any]]:
        """Return the values of an index on a mesh, and those of all its nodes. `axes` are paid for besides."""
        parts = list(walk(index))
        self._spend(len(parts) + 4, math.prod(mesh[variable].size for variable in {*axes, *_variables(parts)}))
        env, known = self._named(mesh)
        at = evaluate(index, env, known)
        return np.minimum(at, FARTHEST).astype(np.int64) if at.dtype == np.uint64 else at, known

    def _length(self, axis: str) -> int:
        return self.fill.shape["ij".index(axis)]

    def _range(self, variable: Any) -> NDArray[np.int64]:
        """Return the values of a variable, "i", "j", or the index of a reduction: all, or `most_values` of them."""
        if isinstance(variable, str):
            first, end = 0, self._length(variable)
        elif variable not in self.loops or not self.unknown.isdisjoint(self.loops[variable]):
            raise Undecided("the range of a reduction depends on values of cells")
        else:
            low, high = (self._evaluated(bound, self._mesh(bound))[0] for bound in self.loops[variable])
            first = int(low.min())
            end = max(int(high.max()), first + 1)
        if self.most_values is not None and end - first > self.most_values:
            return np.linspace(first, end - 1, self.most_values).astype(np.int64)
        self._spend(1, end - first)
        return np.arange(first, end, dtype=np.int64)

    def _named(self, values: Mapping[Any, Any]) -> tuple[dict[str, Any], dict[Expr, Any]]:
        """Return the arguments `env` and `known` of `evaluate`, for values of variables."""
        n, m = self.fill.shape
        axes = {variable: numbers for variable, numbers in values.items() if isinstance(variable, str)}
        known = {variable: numbers for variable, numbers in values.items() if not isinstance(variable, str)}
        return {"n": n, "m": m, **self.fill.values, **axes}, known

    def _is_ready(self, row: int, column: int) -> bool:
        """Return whether the pattern allows a read with these codes."""
        if not {OUTSIDE, BEYOND}.isdisjoint((row, column)):
            return False
        rows, columns = ((0, 1, 2) if code == UNKNOWN else (code,) for code in (row, column))
        return all(self.fill.pattern.allows(r - 1, c - 1) for r in rows for c in columns)

    def _cells(self, mesh: Values, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> Values:
        """Return the values of all variables, by variable, at the places of a mesh where both masks hold."""
        if any(min(sides) > 1 for sides in zip(rows.shape, columns.shape)):
            self._spend(3, math.prod(map(max, zip(rows.shape, columns.shape))))
            at = np.nonzero(rows & columns)
        else:  # no variable in common: all pairs
            by_row, by_column = np.nonzero(rows), np.nonzero(columns)
            count_a, count_b = len(by_row[0]), len(by_column[0])
            self._spend(len(mesh), count_a * count_b)
            at = tuple(np.repeat(a, count_b) + np.tile(b, count_a) for a, b in zip(by_row, by_column))
        return {variable: values.ravel()[places] for (variable, values), places in zip(mesh.items(), at)}

    # --- whether a cell gets there

    def _examine(self, read: Read, cells: Values, sure: bool) -> None:
        """Find out whether these cells make a read that is not ready. `sure`: both of its indices are known."""
        n, m = self.fill.shape
        count = len(cells["i"])
        self._spend(self.conditions, count)
        stage: Any = self.fill.pattern.stage_of(cells["i"], cells["j"], n, m)
        filled = (self.fill.start <= stage) & (stage < self.fill.stop)
        may, certain = self._reach(read.node, cells)
        may, certain = filled & may, filled & certain & sure
        if certain.any():
            at = np.flatnonzero(certain)
            first = at[np.lexsort((cells["j"][at], cells["i"][at], stage[at]))[0]]
            self._raise(read, {variable: values[first] for variable, values in cells.items()})
        if may.any():
            i, j = (int(cells[axis][np.flatnonzero(may)[0]]) for axis in "ij")
            raise Undecided(OPAQUE if read.node is None else f"what cell {(i, j)} reads depends on values of cells")

    def _reach(self, node: Expr | None, cells: Values) -> Reach:
        """(whether each of these cells may make a read, whether it certainly does)."""
        n = len(cells["i"])
        if node is None:
            return np.ones(n, bool), np.zeros(n, bool)
        env, known = self._named(cells)
        ancestors = with_users(self.parts, (node,))
        reach: dict[Expr, Reach] = dict.fromkeys(self.roots, (np.ones(n, bool), np.ones(n, bool)))

        def value(expr: Expr) -> Any:
            """Return the values of an expression in these cells; None if they are unknown."""
            if expr in known:
                return known[expr]
            free = self.loops and any(part.op == "index" and part not in known for part in walk(expr))
            return None if expr in self.unknown or free else evaluate(expr, env, known)

        def truth(test: Expr) -> tuple[Any, Any]:
            """(whether a condition may hold, whether it may fail)."""
            if test.op == "not":
                return truth(test.args[0])[::-1]
            if test.op in ("and", "or"):
                (a, not_a), (b, not_b) = map(truth, test.args)
                return (a & b, not_a | not_b) if test.op == "and" else (a | b, not_a & not_b)
            truths = value(test)
            return (True, True) if truths is None else (truths.astype(bool), ~truths.astype(bool))

        def note(part: Expr, user: Reach, holds: Any = True, fails: Any = False) -> None:
            """Note that a part is reached from its user where a condition `holds`, surely where it does not fail."""
            if part in ancestors:
                may, certain = reach.get(part, (False, False))
                reach[part] = may | (user[0] & holds), certain | (user[1] & holds & np.logical_not(fails))

        for part in reversed(self.parts):  # users before their operands
            if part not in reach or part not in ancestors:
                continue
            user, args = reach[part], part.args
            if part.op in BRANCHES:
                test, *sides = args
                holds, fails = truth(test)
                note(test, user)
                for side, on in zip(sides, BRANCHES[part.op]):
                    note(side, user, *((holds, fails) if on else (fails, holds)))
            elif part.op in ("reduce", "argreduce"):
                k, low, high, body, *empty = args
                note(low, user)
                note(high, user)
                begin, end = value(low), value(high)
                bounded = begin is not None and end is not None
                some, none = (begin < end, begin >= end) if bounded else (True, True)
                for other in empty:
                    note(other, user, none, some)
                if bounded and k in known:
                    some = (begin <= known[k]) & (known[k] < end)
                    none = ~some
                note(body, user, some, none)
            else:
                for arg in args:
                    note(arg, user)
        return reach.get(node, (np.zeros(n, bool), np.zeros(n, bool)))

    def _raise(self, read: Read, cell: Mapping[Any, Any]) -> NoReturn:
        """Raise the error for a cell that makes a read that is not ready."""
        fill, own = self.fill, (int(cell["i"]), int(cell["j"]))
        env, known = self._named(cell)
        indices = [index for index in read.indices if index is not None]
        a, b = (int(evaluate(index, env, known)) for index in indices)
        for index in indices:
            for place, size in self._places(index):
                if not 0 <= known[place] < size:
                    raise stages.fault(fill, own, stages.INDEX, int(known[place]), size)
        inside = 0 <= a < fill.shape[0] and 0 <= b < fill.shape[1]
        raise stages.fault(fill, own, stages.PATTERN if inside else stages.RANGE, a, b)


def _variables(parts: Iterable[Expr]) -> list[Any]:
    """Return the variables among nodes: "i", "j", and nodes of indices of reductions."""
    return [part if part.op == "index" else part.op for part in parts if part.op in ("i", "j", "index")]
