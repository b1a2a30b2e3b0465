"""Dependences of an equation: the cells that it reads, relative to its own. They decide which fast path applies.

They follow from the equation where every read is affine in the indices; others are `Far`. Nobody declares them: a wrong
declaration would fill wrong cells on the paths that rely on it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.analysis.sums import Sum, affine, combine
from clgeom.dp.language import trace
from clgeom.dp.language.graphs import depends_on, fold, walk
from clgeom.dp.language.nodes import evaluate, loop_of
from clgeom.dp.language.trace import Expr, convert
from clgeom.dp.language.types import LIMITS, Trace
from clgeom.errors import is_integer, short

#: The ends of the indices of reductions.
Loops: TypeAlias = Mapping[Expr, tuple[Expr, ...]]
#: A bound beyond the columns of every table. Bounds are clamped to it, so that their negatives fit in the type.
FAR = 1 << 40


@keeps_subnormals
@dataclass(frozen=True)
class Near:
    """Near dependences: every read is ``M(i + di, j + dj)`` with constant dependence offsets (di, dj).

    Parameters
    ----------
    offsets : sequence of (int, int)
        The dependence offsets; sorted and distinct in the attribute.

    Raises
    ------
    InvalidInput
        `offsets` are no pairs of integers.

    Examples
    --------
    >>> from clgeom import dp
    >>> @dp.equation
    ... def f(M, i, j):
    ...     return dp.where((i == 0) | (j == 0), 0, M[i - 1, j - 1] + M[i - 1, j])
    >>> f.reach
    Near(offsets=((-1, -1), (-1, 0)))
    """

    offsets: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        try:
            offsets = sorted({(operator.index(di), operator.index(dj)) for di, dj in self.offsets})
        except (TypeError, ValueError):
            raise wrong("offsets", "Near", "pairs of integers (di, dj)", short(self.offsets)) from None
        object.__setattr__(self, "offsets", tuple(offsets))


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Row:
    """Every read is in row ``i + step`` (step is -1 or 1), in columns ``j + low`` to ``j + high``.

    Parameters
    ----------
    step : int
    low, high : int, Expr or None
        A number; an expression of i and parameters; None: any column on that side.

    Raises
    ------
    InvalidInput
        `step` is not -1 or 1, or a bound is no integer, expression or None.

    Examples
    --------
    >>> import numpy as np
    >>> from clgeom import dp
    >>> @dp.equation(parameters={"w": "int32[]"})
    ... def f(M, i, j, w):
    ...     return dp.where(i == 0, j, dp.where(j < w[i], M[i - 1, j], M[i - 1, j - w[i]]))
    >>> low, high = f.reach.bounds([1, 2], {"w": np.array([0, 3, 5])})
    >>> f.reach.step, low.tolist(), high.tolist()
    (-1, [-3, -5], [0, 0])
    """

    step: int
    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        if self.step not in (-1, 1):
            raise wrong("step", "Row", "-1 or 1", short(self.step))
        for name, bound in (("low", self.low), ("high", self.high)):
            if not (bound is None or is_integer(bound) or isinstance(bound, Expr)):
                raise wrong(name, "Row", "an integer, an expression of i and parameters, or None", short(bound))

    def bounds(self, rows: Any, values: dict[str, Any], shape: tuple[int, int] = (0, 0)) -> tuple[Any, Any]:
        """Return the bounds of the columns that cells read in the row before or behind.

        Parameters
        ----------
        rows : array_like of int
            The numbers of the rows.
        values : dict
            Parameters of the equation, by name.
        shape : (int, int)
            Of the table, for bounds that depend on it.

        Returns
        -------
        low, high : ndarray of int64, or None
            Relative to the cell's column; None without a bound.

        Raises
        ------
        KeyError
            A bound depends on a parameter that `values` lacks.
        """
        rows = np.asarray(rows, np.int64)
        env = {"i": rows, "n": shape[0], "m": shape[1], **values}
        known: dict[Expr, Any] = {}

        def of(bound: Any) -> Any:
            if bound is None:
                return None
            if isinstance(bound, Expr):
                bound = evaluate(bound, env, known)
            return np.clip(np.broadcast_to(np.asarray(bound), rows.shape).astype(np.int64), -FAR, FAR)

        return of(self.low), of(self.high)


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Split:
    """The value is made of one reduction over k of ``M(i, k + left) + M(k + right, j) + term(i, j, k)``.

    Terms that are subtracted are part of `term`, with their sign.

    Attributes
    ----------
    op : {"min", "max"}
    node : Expr
        The reduction in the equation.
    left, right : int
    term : Expr or None
        None for no term.
    lo, hi : Expr
        The bounds of k.
    outer : tuple of (int, int)
        The constant offsets that are read outside the reduction.

    Examples
    --------
    >>> from clgeom.dp.problems.chains import matrix_chain_equation
    >>> reach = matrix_chain_equation().reach
    >>> type(reach).__name__, reach.op, reach.left, reach.right
    ('Split', 'min', 0, 1)
    """

    op: str
    node: Expr
    left: int
    right: int
    term: Expr | None
    lo: Expr
    hi: Expr
    outer: tuple[tuple[int, int], ...] = ()


@keeps_subnormals
@dataclass(frozen=True)
class Far:
    """Far dependences: all others than near ones, rows and splits. Tables are filled with one launch per stage.

    Examples
    --------
    >>> from clgeom import dp
    >>> f = dp.Equation("i == 0 ? j : M(i / 2, j)", pattern="RUD")
    >>> f.reach, f.reach_proven
    (Far(), False)
    """


def dependences_of(*roots: Expr) -> Near | Row | Split | Far:
    """Return the dependences that the nodes of a traced equation prove."""
    cells = [part for part in walk(*roots) if part.op == "cell"]
    offsets = _near_offsets(cells)
    if offsets is not None:
        return Near(offsets)
    return _row(roots, cells) or _split(roots, cells) or Far()


def _near_offsets(cells: Iterable[Expr]) -> tuple[tuple[int, int], ...] | None:
    """Return the dependence offsets of reads, ascending; None if one is not constant."""
    offsets = set()
    for cell in cells:
        di, dj = (constant_offset(index, axis) for index, axis in zip(cell.args, "ij"))
        if di is None or dj is None:
            return None
        offsets.add((di, dj))
    return tuple(sorted(offsets))


def offset(expr: Expr, axis: str) -> int | Sum | None:
    """Return an index less i or j: a number, a sum as `sums.affine` returns it, or None."""
    total = affine(expr)
    if total is None:
        return None
    index = next((atom for atom in total if atom is not None and atom.op == axis), None)
    if index is None or total[index] != 1:
        return total
    rest = combine(total, {index: 1}, -1)
    return rest.get(None, 0) if set(rest) <= {None} else rest


def constant_offset(expr: Expr, axis: str) -> int | None:
    """c for an index that is i + c, or j + c by `axis`; None for others."""
    at = offset(expr, axis)
    return at if isinstance(at, int) else None


def _row(roots: tuple[Expr, ...], cells: list[Expr]) -> Row | None:
    """`Row` if every read is one row up, or every read one row down."""
    step, *others = (constant_offset(cell.args[0], "i") for cell in cells)
    if step not in (-1, 1) or any(other != step for other in others):
        return None
    ranges = {part.args[0]: part.args[1:3] for part in walk(*roots) if part.op in ("reduce", "argreduce")}
    lows, highs = zip(*(_columns(c.args[1], ranges) for c in cells))
    return Row(step, _outermost("min", lows), _outermost("max", highs))


def _columns(expr: Expr, ranges: Loops) -> tuple[Expr | int | None, Expr | int | None]:
    """(low, high) of an index of columns relative to j, as expressions of i and parameters or numbers."""
    total = affine(expr)
    if total is None:
        return None, None
    j = next((atom for atom in total if atom is not None and atom.op == "j"), "j")
    total = combine(total, {j: 1}, -1)  # "j": never bounded relative to j
    return _extreme(total, ranges, -1), _extreme(total, ranges, 1)


def _extreme(total: Sum, ranges: Loops, side: int) -> Expr | int | None:
    """Return the largest (side 1) or smallest (side -1) value of a sum over its indices of reductions, or None."""
    for _ in range(8):
        k = next((atom for atom in total if isinstance(atom, Expr) and atom.op == "index"), None)
        if k is None:
            break
        if k not in ranges:
            return None
        factor = total[k]
        lo, hi = ranges[k]
        bound = affine(hi) if factor * side > 0 else affine(lo)
        if bound is None:
            return None
        if factor * side > 0:
            bound = combine(bound, {None: 1}, -1)
        total = combine(combine(total, {k: 1}, -factor), bound, factor)
    atoms = [atom for atom in total if atom is not None]
    if any(isinstance(a, str) or depends_on(a, ("j", "cell", "index", "reduce", "argreduce")) for a in atoms):
        return None
    if not atoms:
        return total.get(None, 0)
    terms = []
    for atom, coefficient in total.items():
        number = Expr("const", (), "long", coefficient)
        product = number if atom is None else Expr("mul", (atom, number), "long", None)
        terms.append(atom if atom is not None and coefficient == 1 else product)
    return functools.reduce(lambda a, b: Expr("add", (a, b), "long", None), terms)


def _outermost(op: str, bounds: Sequence[Expr | int | None]) -> Expr | int | None:
    """Return the least or largest of bounds; None if a bound is None."""
    if any(bound is None for bound in bounds):
        return None
    numbers = [bound for bound in bounds if isinstance(bound, int)]
    exprs = [bound for bound in bounds if isinstance(bound, Expr)]
    best = [(min if op == "min" else max)(numbers)] if numbers else []
    if not exprs:
        return best[0]
    parts = [*(Expr("const", (), "long", number) for number in best), *exprs]
    return functools.reduce(lambda a, b: Expr(op, (a, b), "long", None), parts)


def _split(roots: tuple[Expr, ...], cells: list[Expr]) -> Split | None:
    """`Split` if there is one reduction of M(i, k + a) + M(k + b, j) + a term without cells; other reads are near."""
    reductions = [part for part in walk(*roots) if part.op in ("reduce", "argreduce")]
    nodes = [part for part in reductions if part.op == "reduce"]
    if len(nodes) != 1 or nodes[0].data not in ("min", "max") or len(nodes[0].args) > 4:
        return None
    node = nodes[0]
    k, lo, hi, body = node.args
    if any(loop_of(part) != loop_of(node) for part in reductions):
        return None
    if any(depends_on(end, ("cell", "index")) for end in (lo, hi)):
        return None
    if body.type in ("float", "double") and not _in_order(body):
        return None  # floats are added as written: (M + M) + term
    terms = _summands(body, 1, body.type)
    reads = [term for term, sign in terms if term.op == "cell" and sign == 1]
    others = [(term, sign) for term, sign in terms if term.op != "cell" or sign == -1]
    if len(reads) != 2 or any(depends_on(term, ("cell", "reduce")) for term, _ in others):
        return None
    left = right = None
    for read in reads:
        row, column = constant_offset(read.args[0], "i"), constant_offset(read.args[1], "j")
        if row == 0 and left is None and (at := _index_offset(read.args[1], k)) is not None:
            left = at
        elif column == 0 and right is None and (at := _index_offset(read.args[0], k)) is not None:
            right = at
    offsets = _near_offsets(part for part in walk(*roots, beyond={body}) if part.op == "cell")
    if left is None or right is None or offsets is None:
        return None
    return Split(node.data, node, left, right, _sum(others, body.type), lo, hi, offsets)


def _in_order(body: Expr) -> bool:
    """Return whether a sum of floats is M + M, or that plus or less one term without cells."""
    if body.op not in ("add", "sub"):
        return False
    inner: Sequence[Expr] = [arg for arg in body.args if depends_on(arg, ("cell",))]
    if len(inner) == 1 and (body.op == "add" or inner[0] is body.args[0]):  # and a term
        inner = inner[0].args if inner[0].op == "add" else ()
    elif body.op == "sub":
        return False
    return len(inner) == 2 and all(arg.op == "cell" for arg in inner)


def _summands(expr: Expr, sign: int, type: str) -> list[tuple[Expr, int]]:
    """Return (summand, sign) of a sum that is computed in this type; narrower sums are single summands.

    So are sums without cells: of floats, they are rounded as they are written.
    """
    if expr.type == type and expr.op in ("add", "sub", "neg") and depends_on(expr, ("cell",)):
        signs = (sign, -sign if expr.op == "sub" else sign) if expr.op != "neg" else (-sign,)
        return [summand for arg, own in zip(expr.args, signs) for summand in _summands(arg, own, type)]
    return [(expr, sign)]


def _sum(summands: Sequence[tuple[Expr, int]], type: str) -> Expr | None:
    """Return the sum of summands and their signs in this type; None if there are none."""
    total = None
    for summand, sign in summands:
        converted = convert(summand, type)
        if total is None:
            total = converted if sign == 1 else Expr("neg", (converted,), type, None)
        else:
            total = Expr("add" if sign == 1 else "sub", (total, converted), type, None)
    return total


def _index_offset(expr: Expr, k: Expr) -> int | None:
    """c for an index that is k + c, else None."""
    total = affine(expr)
    return total.get(None, 0) if total is not None and total.get(k) == 1 and set(total) <= {k, None} else None


# Reductions for work-groups -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Wide:
    """The one reduction of a cell that is worth a work-group.

    `node`: The reduction, of kind "min" or "max", or a "sum" of integers, whose order does not matter.
    `twins`: The reduction and the reduction of its index; the kernel passes both to the cell's function.
    `need`: The condition under which a cell needs one of them.
    """

    node: Expr
    twins: tuple[Expr, ...]
    need: Expr


def wide_of(*roots: Expr) -> Wide | None:
    """Return the one reduction of a value and its choice; None if there are none or several."""
    reductions = [part for part in walk(*roots) if part.op in ("reduce", "argreduce")]
    inner = {below for part in reductions for below in walk(part) if below is not part}
    twins = tuple(part for part in reductions if part not in inner)
    nodes = [part for part in twins if part.op == "reduce" and (part.data != "sum" or part.type in LIMITS)]
    if len(nodes) != 1 or len(nodes[0].args) > 4 or any(loop_of(part) != loop_of(nodes[0]) for part in twins):
        return None
    with Trace("int").active():  # equal conditions are one node
        needs = dict.fromkeys(_needed(root, twins) for root in roots)
        conditions = [need for need in needs if need is not None]
        return Wide(nodes[0], twins, functools.reduce(_either, conditions)) if len(conditions) == len(needs) else None


def _needed(expr: Expr, targets: Collection[Expr]) -> Expr | None:
    """Return the condition under which one of the targets is evaluated, a constant if it always or never is.

    None if a condition, a loop or another reduction needs a target.
    """
    always, never = trace.constant(True), trace.constant(False)
    targets = set(targets)

    def need(part: Expr, below: list[Any]) -> Any:
        if part in targets:
            return always
        if all(need is never for need in below):
            return never
        if any(need is None for need in below):
            return None
        if part.op == "where" and below[0] is never:
            test, (yes, no) = part.args[0], below[1:]
            if yes is always and no is always:
                return always
            fails = trace.node("not", test, type="bool")
            return _either(trace.logical("and", test, yes), trace.logical("and", fails, no))
        if part.op in ("where", "and", "or", "reduce", "argreduce"):
            return None
        return functools.reduce(_either, below)

    condition: Expr | None = fold(need, {}, expr)[expr]
    return condition


def _either(a: Any, b: Any) -> Expr:
    return trace.logical("or", a, b)
