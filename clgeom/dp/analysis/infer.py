"""Pattern inference: the patterns that an equation keeps to, proven from its nodes or probed by watching its reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clgeom.arguments import instance, one_of
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.policies import ceil_div
from clgeom.dp.analysis.bounds import indices_fit
from clgeom.dp.analysis.dependences import Near
from clgeom.dp.analysis.sums import affine, combine
from clgeom.dp.codegen.text import Block, Writer
from clgeom.dp.fills import check_shape, given_values, some_values
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.nodes import walk
from clgeom.dp.language.plain_c import nodes_of
from clgeom.dp.language.trace import Expr
from clgeom.dp.patterns import PATTERNS
from clgeom.errors import InvalidInput
from clgeom.intake.typing import DeviceLike, Shape

#: Names of the regions around a cell, by the signs of (row - own row, column - own column).
REGIONS = {
    (-1, -1): "up-left",
    (-1, 0): "up",
    (-1, 1): "up-right",
    (0, -1): "left",
    (0, 0): "itself",
    (0, 1): "right",
    (1, -1): "down-left",
    (1, 0): "down",
    (1, 1): "down-right",
}
SIGNS = frozenset((-1, 0, 1))


@dataclass(frozen=True)
class PatternFit:
    """A pattern that an equation keeps to, and its stages in a table of some shape.

    Attributes
    ----------
    pattern : str
    stages : int
        The number of stages.
    widest : int
        Cells of the largest stage.
    mean : float
        Mean number of cells of a stage.
    """

    pattern: str
    stages: int
    widest: int
    mean: float


@dataclass(frozen=True)
class Inference:
    """The result of `infer_pattern`.

    Attributes
    ----------
    patterns : tuple of PatternFit
        All patterns that allow the reads, fewest stages first.
    best : str or None
        The first of them; None if there is none.
    regions : tuple of str
        The regions that the equation may read: "up", "up-left" ...
    proven : bool
        True if the patterns hold for every table; False if they follow only from the observed reads.
    evidence : str
        The proof or the observations, in words.
    """

    patterns: tuple[PatternFit, ...]
    best: str | None
    regions: tuple[str, ...]
    proven: bool
    evidence: str

    def __str__(self) -> str:
        legal = ", ".join(f"{fit.pattern} ({fit.stages:,} stages of {fit.mean:,.4g} cells)" for fit in self.patterns)
        return f"{'proven' if self.proven else 'probed'}: {legal or 'no pattern'}; {self.evidence}"


@keeps_subnormals
def infer_pattern(
    equation: Equation,
    shape: Shape,
    *,
    method: Literal["auto", "prove", "probe"] = "auto",
    values: Mapping[str, Any] | None = None,
    device: DeviceLike = None,
    **parameters: Any,
) -> Inference:
    """Find which of the eight patterns an equation keeps to.

    Parameters
    ----------
    equation : Equation
    shape : tuple of int
        Rows and columns of the table to fill, which decide how many cells each pattern fills at a time.
    method : {"auto", "prove", "probe"}
        "prove": from the expressions of a traced equation, and from the range of the parameters given. "probe": watch
        its reads, on a small table and in cells of the whole one with made-up neighbours. "auto": prove if possible.
    values : dict, optional
        Parameters of the equation, for names that this function uses itself.
    device : str, pyopencl.Device or Session, optional
        To probe on.
    **parameters
        Parameters of the equation. A proof needs none, but may find more with them.

    Returns
    -------
    Inference

    Raises
    ------
    InvalidInput
        If `method` is "prove" and the equation is in OpenCL C, unless that is a simple one (see
        :doc:`/reference/dp`), or reads at i and j plus constants only. Or if the indices may wrap around with these
        parameters.
    DependencyError
        If a probe reads a cell outside the table, or one that depends on itself.

    See Also
    --------
    fill : Fills the table.
    dependency_graph : Every cell's dependences.

    Examples
    --------
    >>> from clgeom import dp
    >>> equation = dp.Equation(lambda M, i, j: dp.where((i == 0) | (j == 0), 1, M[i - 1, j] + M[i, j - 1]))
    >>> dp.infer_pattern(equation, (5, 9)).best
    'NOSE'
    """
    instance(equation, Equation, "a dp.Equation", "equation", caller="infer_pattern")
    n, m = check_shape(shape, caller="infer_pattern")
    one_of(method, ("auto", "prove", "probe"), "method", caller="infer_pattern")
    given = given_values(values, parameters, caller="infer_pattern")
    parameters = some_values(equation, given, caller="infer_pattern")
    nodes = nodes_of(equation)
    provable = nodes is not None or (equation.reach_proven and isinstance(equation.reach, Near))
    given = len(parameters) == len(equation.parameters)
    if provable and equation.traced and given and not indices_fit(equation, (n, m), parameters):
        if method == "prove":
            raise InvalidInput(
                f"The pattern of {equation.name} cannot be proven: with these parameters, integers in its indices or "
                "conditions may go beyond their type."
            )
        provable = False
    if method == "prove" and not provable:
        raise InvalidInput(
            "The 'method' parameter of infer_pattern is 'prove', which needs an equation in Python, or a simple one in "
            "OpenCL C, or one that reads at i and j plus constants only."
        )
    if method != "probe" and provable:
        pairs, sharp = (_near(equation.reach), True) if nodes is None else proven_regions(nodes, parameters)
        if sharp or method == "prove" or any(pairs <= region(name) for name in PATTERNS):
            evidence = "from the expressions of all reads" + ("" if sharp else ", some of which may go several ways")
            return _inference(pairs, n, m, True, evidence)
    pairs, evidence = probed_regions(equation, (n, m), parameters, device)
    return _inference(pairs, n, m, False, evidence)


def region(name) -> frozenset[tuple[int, int]]:
    """The signs of (row - own row, column - own column) that a pattern allows."""
    return frozenset(pair for pair in REGIONS if PATTERNS[name].allows(*pair))


def fits(pairs, n, m) -> tuple[PatternFit, ...]:
    """The patterns that allow all these regions, fewest stages first."""
    found = []
    for name, pattern in PATTERNS.items():
        if pairs <= region(name):
            stages = pattern.stages(n, m)
            widest = {"R": m, "C": n}.get(name[0], min(n, m))
            found.append(PatternFit(name, stages, widest, n * m / stages))
    return tuple(sorted(found, key=lambda fit: fit.stages))


def _inference(pairs, n, m, proven, evidence):
    found = fits(pairs, n, m)
    names = tuple(name for pair, name in REGIONS.items() if pair in pairs)
    return Inference(found, found[0].pattern if found else None, names, proven, evidence)


def _near(reach):
    return frozenset((int(np.sign(di)), int(np.sign(dj))) for di, dj in reach.offsets)


# Proofs -----------------------------------------------------------------------------------------------------------


def proven_regions(equation, parameters=None) -> tuple[frozenset, bool]:
    """The regions that a traced equation may read, and whether each read lies in one that is known for certain.

    The facts that hold at a read come from the conditions around it, the bounds of its indices, and the smallest and
    largest elements of the parameters given.
    """
    ranges = ranges_of(parameters or {})
    pairs, sharp = set(), True
    for cell, facts in _reads(equation.computed, ranges):
        rows = _signs(_difference(cell.args[0], "i"), facts)
        columns = _signs(_difference(cell.args[1], "j"), facts)
        sharp = sharp and len(rows) == len(columns) == 1
        pairs |= {(r, c) for r in rows for c in columns}
    return frozenset(pairs), sharp


def unproven_reads(nodes, pattern, parameters=None, *, sums=True) -> list[Expr]:
    """The reads of a traced equation that are not proven to lie where a pattern allows them.

    `sums`: whether integers do not wrap around; else only indices at constant offsets are known.
    """
    found = set()
    for cell, facts in _reads(nodes.computed, ranges_of(parameters or {})):
        forms = (_difference(arg, axis) for arg, axis in zip(cell.args, "ij"))
        rows, columns = (_signs(form if sums or form is None or set(form) <= {None} else None, facts) for form in forms)
        if not all(pattern.allows(r, c) for r in rows for c in columns):
            found.add(cell)
    return [part for part in walk(*nodes.computed) if part in found]


def forbidden_read(nodes, pattern, parameters=None, shape=None) -> str | None:
    """A read that is proven to lie where a pattern allows none, as text in C; None if none is proven.

    Reads that are proven unreachable, in a table of this shape if one is given, do not count.
    """
    wrong, of_shape = set(), ()
    for axis, size in zip("nm", shape or ()):
        of_shape += {axis: 1, None: -size}, {axis: -1, None: size}
    for cell, facts in _reads(nodes.computed, ranges_of(parameters or {})):
        facts += of_shape
        rows, columns = (_signs(_difference(arg, axis), facts) for arg, axis in zip(cell.args, "ij"))
        allowed = any(pattern.allows(r, c) for r in rows for c in columns)
        if not allowed and not _contradict(facts):
            wrong.add(cell)
    first = next((part for part in walk(*nodes.computed) if part in wrong), None)
    return None if first is None else Writer((first,), wraps=None).write(first, Block())[0]


def _contradict(facts) -> bool:
    """Whether it is proven that these sums cannot all be non-negative."""
    return any(_holds(combine({None: -1}, fact, -1), facts) for fact in facts)


def ranges_of(parameters) -> dict:
    """(least, largest) element of each parameter of integers, by name."""
    ranges = {}
    for name, value in parameters.items():
        array = np.asarray(value)
        if array.dtype.kind in "iub" and array.size:
            ranges[name] = int(array.min()), int(array.max())
    return ranges


#: Most ways through an equation, each with its own facts, in a proof. Each condition may double their number.
MOST_WAYS = 2_000


def _reads(roots, ranges):
    """(cell node, facts that hold where it is read) for each way to each read.

    Beyond `MOST_WAYS`, ways have only the facts that hold everywhere.
    """
    standing = _standing_facts()
    leads = set()  # nodes with a read below, or one themselves
    for part in walk(*roots):
        if part.op == "cell" or not leads.isdisjoint(part.args):
            leads.add(part)
    stack = [(root, standing) for root in roots if root is not None]
    seen = set()
    while stack:
        part, facts = stack.pop()
        if part not in leads:
            continue
        if len(seen) > MOST_WAYS:
            facts = standing
        key = (id(part), frozenset(frozenset(form.items()) for form in facts))
        if key in seen:
            continue
        seen.add(key)
        facts = _with_atoms(part, facts, ranges)
        if part.op == "cell":
            yield part, facts
        if part.op == "where":
            condition, yes, no = part.args
            stack.append((condition, facts))
            known = _with_atoms(condition, facts, ranges, deep=True)
            stack.append((yes, known + _facts(condition, True, known)))
            stack.append((no, known + _facts(condition, False, known)))
        elif part.op in ("and", "or"):
            first, second = part.args
            known = _with_atoms(first, facts, ranges, deep=True)
            stack.append((first, facts))
            stack.append((second, known + _facts(first, part.op == "and", known)))
        elif part.op in ("reduce", "argreduce"):
            k, lo, hi, body, *empty = part.args
            stack += [(other, facts) for other in (lo, hi, *empty)]
            known = _with_atoms(hi, _with_atoms(lo, facts, ranges, deep=True), ranges, deep=True)
            low, high, own = _form(lo), _form(hi), {_atom(k): 1}
            bounds = [] if low is None else [combine(own, low, -1)]
            if high is not None:
                bounds.append(combine(combine(high, own, -1), {None: 1}, -1))
            stack.append((body, known + tuple(bounds)))
        else:
            stack += [(arg, facts) for arg in part.args]


def _atom(expr):
    """The key of an atom of a sum: the name of an index of the table, else the node."""
    return expr.op if isinstance(expr, Expr) and expr.op in ("i", "j", "n", "m") else expr


def _form(expr):
    total = affine(expr)
    if total is None:
        return None
    form = {}
    for atom, coefficient in total.items():
        form = combine(form, {_atom(atom): coefficient}, 1)
    return form


def _difference(expr, axis):
    form = _form(expr)
    return None if form is None else combine(form, {axis: 1}, -1)


def _standing_facts():
    """0 <= i < n and 0 <= j < m, as non-negative sums."""
    return ({"i": 1}, {"n": 1, "i": -1, None: -1}, {"j": 1}, {"m": 1, "j": -1, None: -1})


def _with_atoms(part, facts, ranges, deep=False):
    """The facts, and the bounds of parameters and remainders in an expression."""
    parts = walk(part) if deep or part.op == "cell" else (part,)
    more = []
    for atom in parts:
        if atom.op in ("load", "parameter") and atom.data in ranges:
            low, high = ranges[atom.data]
            more += [{atom: 1, None: -low}, {atom: -1, None: high}]
        elif atom.op == "mod" and atom.args[1].op == "const" and atom.args[1].data > 0:
            more += [{atom: 1}, {atom: -1, None: atom.args[1].data - 1}]
        elif atom.op == "bitand":
            masks = [arg.data for arg in atom.args if arg.op == "const" and arg.data >= 0]
            more += [{atom: 1}, {atom: -1, None: masks[0]}] if masks else []
    return facts + tuple({a: c for a, c in fact.items() if c} for fact in more)


def _facts(condition, holds, facts):
    """Non-negative sums that follow if a condition holds, or if it does not."""
    op = condition.op
    if op == "not":
        return _facts(condition.args[0], not holds, facts)
    if (op, holds) in (("and", True), ("or", False)):
        first = _facts(condition.args[0], holds, facts)
        return first + _facts(condition.args[1], holds, facts + first)
    if op not in OPPOSITE:
        return ()
    op = op if holds else OPPOSITE[op]
    a, b = map(_form, condition.args)
    if a is None or b is None:
        return ()
    more, one = combine(a, b, -1), {None: 1}  # a - b
    less = combine({}, more, -1)
    if op == "ne":  # all on one side of it, so at least 1 away
        if _holds(more, facts):
            return (combine(more, one, -1),)
        return (combine(less, one, -1),) if _holds(less, facts) else ()
    return {
        "lt": (combine(less, one, -1),),
        "le": (less,),
        "gt": (combine(more, one, -1),),
        "ge": (more,),
        "eq": (more, less),
    }[op]


OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


def _signs(form, facts) -> frozenset[int]:
    """The signs that a sum may have."""
    if form is None:
        return SIGNS
    if not form:
        return frozenset((0,))
    below, above = combine({}, form, -1), form
    one = {None: 1}
    if _holds(combine(above, one, -1), facts):
        return frozenset((1,))
    if _holds(combine(below, one, -1), facts):
        return frozenset((-1,))
    up, down = _holds(above, facts), _holds(below, facts)
    return SIGNS - ({-1} if up else set()) - ({1} if down else set())


def _holds(form, facts, depth=4) -> bool:
    """Whether a sum is proven non-negative: less multiples of non-negative sums, it is a non-negative number.

    Each step subtracts a fact that cancels the first atom; a few steps suffice for usual equations.
    """
    atom = next((a for a in form if a is not None), None)
    if atom is None:
        return form.get(None, 0) >= 0
    if depth == 0:
        return False
    c = form[atom]
    for fact in facts:
        f = fact.get(atom, 0)
        if f * c > 0:
            scaled = {a: abs(f) * x for a, x in form.items()}
            if _holds(combine(scaled, fact, -abs(c)), facts, depth - 1):
                return True
    return False


# Probes -----------------------------------------------------------------------------------------------------------

#: Most rows and columns of the small table, most cells looked at in the whole table, seeds of made-up values.
PROBED_SIDE, PROBED_CELLS, SEEDS = 24, 4096, 3


def probed_regions(equation, shape, parameters, device=None) -> tuple[frozenset, str]:
    """The regions that an equation was seen to read, and a description of the cells looked at.

    The first rows and columns are filled as a table of their own, cells as they become ready. Other cells lie all over
    the table, with made-up values as neighbours, so that reads far away are seen and branches on values are taken.
    """
    from clgeom.dp.study.graph import dependency_graph, probe_cells

    n, m = shape
    small = min(n, PROBED_SIDE), min(m, PROBED_SIDE)
    graph = dependency_graph(equation, small, values=parameters, device=device, caller="infer_pattern")
    cells = _spread(n, m)
    masks = probe_cells(equation, shape, cells, seeds=SEEDS, values=parameters, device=device)
    seen = int(np.bitwise_or.reduce(masks))
    pairs = graph.regions | {pair for bit, pair in enumerate(REGIONS) if seen >> bit & 1}
    words = f"seen on a table of {small[0]} x {small[1]} and in {len(cells):,} cells of {n} x {m}; no proof"
    return frozenset(pairs), words


def _spread(n, m):
    """Indices of cells spread over a table: corners, edges, and evenly spaced cells between."""
    side = int(PROBED_CELLS**0.5)
    rows = np.unique(np.linspace(0, n - 1, min(n, max(side, ceil_div(PROBED_CELLS, m)))).astype(np.int64))
    columns = np.unique(np.linspace(0, m - 1, min(m, max(side, ceil_div(PROBED_CELLS, n)))).astype(np.int64))
    return (rows[:, None] * m + columns[None, :]).ravel()
