"""The conditions under which an equation computes its nodes, as inequalities between integers.

    where(i < 2, a, M[i - 2, j]) ─> a path to the cell, with the fact i - 2 >= 0

A path has an interval of each variable, and facts: sums of variables that are not negative. Variables are the indices
and lengths of the table, indices of reductions, and other nodes of integers, of which only their intervals and a few
inequalities are known. Sums that may wrap around are such nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clgeom.dp.analysis.bounds import box_of, loops_of
from clgeom.dp.analysis.inequalities import is_impossible
from clgeom.dp.analysis.sums import Sum, affine, combine, range_of
from clgeom.dp.language.graphs import BRANCHES, walk, with_users
from clgeom.dp.language.intervals import SIDE, Interval, Intervals, within
from clgeom.dp.language.trace import Expr, widest

#: Most visits of nodes in search of solutions, and of proofs. Each condition may double their number.
MOST_CERTAIN, MOST_VISITS = 400, 2_000
#: Most minima, maxima and branches of an index that are replaced by their operands, one inside the other.
MOST_CASES = 4
#: Operators about whose results facts are known.
DESCRIBED = frozenset(("min", "max", "abs", "mod", "floordiv", "shr"))
OPPOSITE = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}
ONE: Sum = {None: 1}


@dataclass(frozen=True)
class Path:
    """The facts that hold where a node is computed, and the intervals of their variables.

    `sufficient`: Whether the node is computed wherever they hold.
    """

    box: Mapping[Any, Interval]
    facts: tuple[Sum, ...] = ()
    sufficient: bool = True

    @property
    def key(self) -> tuple[Any, ...]:
        return frozenset(self.box.items()), frozenset(frozenset(fact.items()) for fact in self.facts), self.sufficient


class Paths:
    """The paths to the nodes of an equation.

    `shape`: Of the table; by default all tables with two indices.
    `values`: The least and the largest element of parameters.
    `exact`: Sums that are known not to wrap around. Of others, only those count as sums whose intervals show it.
    `certain`: Follow all cases of a condition, so that a solution of a sufficient path is a cell. Else a condition that
    has several cases adds no facts.
    """

    def __init__(
        self,
        roots: Iterable[Expr],
        parameters: Mapping[str, Any],
        *,
        shape: tuple[int, ...] | None = None,
        values: Mapping[str, Interval] | None = None,
        exact: Collection[Expr] = (),
        certain: bool = False,
    ) -> None:
        self.roots, self.exact, self.certain = tuple(roots), exact, certain
        largest = SIDE[1]
        symbolic = {"i": (0, largest - 1), "j": (0, largest - 1), "n": (1, largest), "m": (1, largest)}
        self.box = symbolic if shape is None else box_of(shape)
        self.intervals = Intervals(parameters, values=values, box=self.box, loops=loops_of(*self.roots))
        self.forms: dict[Expr, Sum | None] = {}
        self.possible: dict[Any, bool] = {}
        inside = ({"n": 1, "i": -1, None: -1}, {"m": 1, "j": -1, None: -1}) if shape is None else ()
        self.start = Path(self.box, inside)

    # --- sums

    def form(self, expr: Expr) -> Sum | None:
        """Return a node of integers as a sum of variables; None for others."""
        if expr not in self.forms:
            self.forms[expr] = self._form(expr)
        return self.forms[expr]

    def _form(self, expr: Expr) -> Sum | None:
        total = affine(expr)
        if total is None:
            return None
        between = walk(expr, beyond={atom for atom in total if atom is not None})
        if not all(part in self.exact or self.intervals.fits(part) for part in between):
            total = {expr: 1}  # a sum between the node and its atoms may wrap around
        form: Sum = {}
        for atom, by in total.items():
            low, high = (1, 1) if atom is None else self.intervals.of_integer(atom)
            variable = {None: low} if low == high else {atom.op if atom.op in self.box else atom: 1}
            form = combine(form, variable, by)
        return form

    def cases(self, path: Path, form: Sum, depth: int = MOST_CASES) -> list[tuple[Path, Sum]]:
        """Return the paths on which minima, maxima, branches and absolute values in a sum are sums themselves."""
        for atom, by in form.items():
            if atom is None or isinstance(atom, str) or not depth:
                continue
            alternatives = self._alternatives(path, atom, depth - 1)
            if alternatives is None:
                continue
            cases, rest = [], combine(form, {atom: 1}, -by)
            for branch, value in alternatives:
                more = combine({atom: 1}, value, -1)
                equal = [more, combine({}, more, -1)] if atom in branch.box else []
                for case in self.with_facts(branch, *equal):
                    cases += self.cases(case, combine(rest, value, by), depth - 1)
            return cases
        return [(path, form)]

    def _operands_of(self, atom: Expr, args: Sequence[Expr]) -> list[Sum] | None:
        """Return the operands of a node as sums; None if one is no sum, or changes as it is converted to the node's
        type.
        """
        forms = [form for form in map(self.form, args) if form is not None]
        fit = len(forms) == len(args) and all(within(self.intervals.of(arg), atom.type) for arg in args)
        return forms if fit else None

    def _alternatives(self, path: Path, atom: Expr, depth: int) -> list[tuple[Path, Sum]] | None:
        """Return the sums that a node may equal, each with the path on which it does; None for other nodes."""
        if atom.op == "where":
            forms = self._operands_of(atom, atom.args[1:])
            paths = [self.assume(atom.args[0], holds, path) for holds in (True, False)] if forms else []
        elif atom.op in ("min", "max") and len(atom.args) == 2:
            forms = self._operands_of(atom, atom.args)
            first, second = forms or ({}, {})
            apart = combine(first, second, -1) if atom.op == "max" else combine(second, first, -1)
            cases = self.cases(path, apart, depth) if forms else []
            paths = [[p for case, total in cases for p in self.compared(op, total, case)] for op in ("ge", "lt")]
        elif atom.op == "abs" and self.intervals.fits(atom):
            forms = self._operands_of(atom, atom.args)
            forms = forms and [forms[0], combine({}, forms[0], -1)]
            paths = [self.compared(op, forms[0], path) for op in ("ge", "lt")] if forms else []
        else:
            return None
        return None if forms is None else [(branch, form) for form, several in zip(forms, paths) for branch in several]

    def _facts_about(self, atom: Expr) -> list[Sum]:
        """Facts about a node that follow from its operator."""
        forms = self._operands_of(atom, atom.args) if atom.op in DESCRIBED else None
        if forms is None:
            return []
        if atom.op == "min":
            return [combine(form, {atom: 1}, -1) for form in forms]
        if atom.op == "max":
            return [combine({atom: 1}, form, -1) for form in forms]
        if atom.op == "abs":
            return [combine({atom: 1}, forms[0], by) for by in (-1, 1)] if self.intervals.fits(atom) else []
        if atom.op == "mod":
            positive = all(self.intervals.of_integer(arg)[0] >= 0 for arg in atom.args)
            return [combine(forms[0], {atom: 1}, -1)] if positive else []
        by = forms[1].get(None, 0) if set(forms[1]) <= {None} else 0
        by = by if atom.op == "floordiv" else 1 << by if 0 <= by < 63 else 0
        rest = combine(forms[0], {atom: 1}, -by)  # 0 <= rest < by
        return [rest, combine(combine({}, rest, -1), ONE, by - 1)] if by > 0 else []

    # --- facts

    def with_fact(self, path: Path, fact: Sum) -> Path | None:
        """Return the path on which a sum is not negative, too; None if the intervals exclude that."""
        variables = [v for v in fact if v is not None]
        for variable in variables:
            if variable not in path.box:
                sufficient = path.sufficient and variable.op == "index"
                box = {**path.box, variable: self.intervals.of_integer(variable)}
                path = replace(path, box=box, sufficient=sufficient)
                for described in () if variable.op == "index" else self._facts_about(variable):
                    more = self.with_fact(path, described)
                    if more is None:
                        return None
                    path = more
        low, high = range_of(fact, path.box)
        if high < 0:
            return None
        if low >= 0:
            return path
        if len(variables) > 1:
            return replace(path, facts=(*path.facts, fact))
        (variable,), rest = variables, fact.get(None, 0)
        (least, most), by = path.box[variable], fact[variable]
        ends = (max(least, -(rest // by)), most) if by > 0 else (least, min(most, rest // -by))
        return replace(path, box={**path.box, variable: ends}) if ends[0] <= ends[1] else None

    def with_facts(self, path: Path, *facts: Sum) -> list[Path]:
        """Return the path on which these sums are not negative as well; none if that is impossible."""
        narrowed: Path | None = path
        for fact in facts:
            narrowed = None if narrowed is None else self.with_fact(narrowed, fact)
        return [] if narrowed is None else [narrowed]

    def compared(self, op: str, total: Sum, path: Path) -> list[Path]:
        """Return the paths on which a sum compares like this with 0."""
        negative = combine({}, total, -1)
        above, below = combine(total, ONE, -1), combine(negative, ONE, -1)
        if op == "ne":
            sides = [fact for fact in (below, above) if self.certain or self.is_possible(path, fact)]
            return self._either([self.with_facts(path, fact) for fact in sides], path)
        facts = {"lt": [below], "le": [negative], "gt": [above], "ge": [total], "eq": [total, negative]}[op]
        return self.with_facts(path, *facts)

    def _either(self, cases: Sequence[Sequence[Path]], path: Path) -> list[Path]:
        """Return the paths of all cases; only the path before if these are several and may not be followed."""
        possible = [paths for paths in cases if paths]
        if len(possible) > 1 and not self.certain:
            return [replace(path, sufficient=False)]
        return [branch for paths in possible for branch in paths]

    def assume(self, condition: Expr, holds: bool, path: Path) -> list[Path]:
        """Return the paths on which a condition holds, or does not."""
        op = condition.op
        if op == "const":
            return [path] if bool(condition.data) == holds else []
        if op == "not":
            return self.assume(condition.args[0], not holds, path)
        if op in ("and", "or"):
            first, second = condition.args
            alone = self.assume(first, holds, path)
            if (op == "and") == holds:
                return [both for branch in alone for both in self.assume(second, holds, branch)]
            later = [p for branch in self.assume(first, not holds, path) for p in self.assume(second, holds, branch)]
            return self._either([alone, later], path)
        total = self._difference(condition)
        if total is None:
            return [replace(path, sufficient=False)]
        op = op if holds else OPPOSITE[op]
        cases = self.cases(path, total) if self.certain else [(path, total)]
        return [branch for case, form in cases for branch in self.compared(op, form, case)]

    def _difference(self, condition: Expr) -> Sum | None:
        """Return the left side of a comparison of integers less the right one; None for other conditions."""
        if condition.op not in OPPOSITE:
            return None
        left, right = map(self.form, condition.args)
        if left is None or right is None:
            return None
        if widest(condition.args) == "ulong" and any(self.intervals.of_integer(arg)[0] < 0 for arg in condition.args):
            return None  # a negative number is compared as a large one
        return combine(left, right, -1)

    def is_possible(self, path: Path, *facts: Sum) -> bool:
        """Return whether it is not proven that these sums are never all non-negative on a path."""
        return any(self._is_possible(narrowed) for narrowed in self.with_facts(path, *facts))

    def _is_possible(self, path: Path) -> bool:
        """Return whether the facts of a path are not proven to contradict each other."""
        key = (
            frozenset((v, path.box[v]) for fact in path.facts for v in fact if v is not None),
            frozenset(frozenset(fact.items()) for fact in path.facts),
        )
        if key not in self.possible:
            self.possible[key] = not is_impossible(path.box, path.facts)
        return self.possible[key]

    def signs(self, path: Path, index: Expr, axis: str) -> set[int]:
        """Return the signs that an index less the index `axis` of the cell may have on a path."""
        form = self.form(index)
        if form is None:
            return {-1, 0, 1}
        signs: set[int] = set()
        for case, total in self.cases(path, form):
            apart = combine(total, {axis: 1}, -1)
            for sign in {-1, 0, 1} - signs:
                facts = [combine(combine({}, apart, sign), ONE, -1)] if sign else [apart, combine({}, apart, -1)]
                if self.is_possible(case, *facts):
                    signs.add(sign)
        return signs

    # --- paths

    def to(self, *ops: str, start: Iterable[Path] = ()) -> Iterator[tuple[Expr, Path]]:
        """(node, path) for each path to each node of these operators.

        Beyond `MOST_VISITS`, paths have only the facts that hold everywhere; searches for solutions end.
        """
        parts = list(walk(*self.roots))
        leads = with_users(parts, [part for part in parts if part.op in ops])
        stack = [(root, path) for root in self.roots for path in (start or (self.start,))]
        seen: set[Any] = set()
        while stack:
            part, path = stack.pop()
            if part not in leads:
                continue
            if len(seen) > (MOST_CERTAIN if self.certain else MOST_VISITS):
                if self.certain:
                    return
                path = replace(self.start, sufficient=False)
            key = part, *path.key
            if key in seen:
                continue
            seen.add(key)
            if part.op in ops:
                yield part, path
            stack += self._operands(part, path, leads)

    def _operands(self, part: Expr, path: Path, leads: Collection[Expr]) -> list[tuple[Expr, Path]]:
        """(operand, path) for each path on which an operand of a node that leads to such nodes is computed."""
        args = part.args
        if part.op in BRANCHES:
            condition, *sides = args
            taken = [(side, holds) for side, holds in zip(sides, BRANCHES[part.op]) if side in leads]
            return [(condition, path), *((side, p) for side, on in taken for p in self.assume(condition, on, path))]
        if part.op in ("reduce", "argreduce"):
            k, lo, hi, body, *empty = args
            low, high = self.form(lo), self.form(hi)
            if low is None or high is None:
                unsure = replace(path, sufficient=False)
                return [(lo, path), (hi, path), *((other, unsure) for other in (body, *empty))]
            from_low, to_high = combine({k: 1}, low, -1), combine(combine(high, {k: 1}, -1), ONE, -1)
            inside, without = self.with_facts(path, from_low, to_high), self.with_facts(path, combine(low, high, -1))
            bodies = [(body, branch) for branch in inside]
            return [(lo, path), (hi, path), *bodies, *((other, branch) for other in empty for branch in without)]
        return [(arg, path) for arg in args]
