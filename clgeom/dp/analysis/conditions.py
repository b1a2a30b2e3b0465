"""The conditions under which an equation computes its nodes, as inequalities between integers.

    where(i < 2, a, M[i - 2, j]) ─> a way to the cell, with the fact i - 2 >= 0

A way has an interval of each variable, and facts: sums of variables that are not negative. Variables are the indices
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
from clgeom.dp.language.intervals import SIDE, Interval, Intervals, within
from clgeom.dp.language.nodes import walk
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
class Way:
    """The facts that hold where a node is computed, and the intervals of their variables.

    `sure`: whether the node is computed wherever they hold.
    """

    box: Mapping[Any, Interval]
    facts: tuple[Sum, ...] = ()
    sure: bool = True

    @property
    def key(self) -> tuple[Any, ...]:
        return frozenset(self.box.items()), frozenset(frozenset(fact.items()) for fact in self.facts), self.sure


class Ways:
    """The ways to the nodes of an equation.

    `shape`: Of the table; by default all tables with two indices.
    `values`: The least and the largest element of parameters.
    `exact`: Sums that are known not to wrap around. Of others, only those count as sums whose intervals show it.
    `certain`: Follow conditions on indices only, all their cases, so that a solution of a way is a cell. Else a
    condition that has several cases adds no facts, and there may be any other variables.
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
        self.start = Way(self.box, inside)

    # --- sums

    def form(self, expr: Expr) -> Sum | None:
        """A node of integers as a sum of variables; None for others."""
        if expr not in self.forms:
            self.forms[expr] = self._form(expr)
        return self.forms[expr]

    def _form(self, expr: Expr) -> Sum | None:
        total = affine(expr)
        if total is None:
            return None
        if not self._is_exact(expr, total):
            total = {expr: 1}
        form: Sum = {}
        for atom, by in total.items():
            low, high = (1, 1) if atom is None else self.intervals.of_integer(atom)
            variable = {None: low} if low == high else {atom.op if atom.op in self.box else atom: 1}
            form = combine(form, variable, by)
        return form

    def _is_exact(self, expr: Expr, total: Sum) -> bool:
        """Whether no sum between a node and the atoms of its sum wraps around."""
        stack, seen = [expr], set()
        while stack:
            part = stack.pop()
            if part not in total and part not in seen:
                seen.add(part)
                if part not in self.exact and not self.intervals.fits(part):
                    return False
                stack += part.args
        return True

    def is_certain(self, form: Sum) -> bool:
        """Whether a sum has indices only."""
        return all(v is None or isinstance(v, str) or v.op == "index" for v in form)

    def cases(self, way: Way, form: Sum, depth: int = MOST_CASES) -> list[tuple[Way, Sum]]:
        """The ways on which minima, maxima, branches and absolute values in a sum are sums themselves."""
        for atom, by in form.items():
            if atom is None or isinstance(atom, str) or not depth:
                continue
            alternatives = self._alternatives(way, atom, depth - 1)
            if alternatives is None:
                continue
            found, rest = [], combine(form, {atom: 1}, -by)
            for own, value in alternatives:
                more = combine({atom: 1}, value, -1)
                equal = [more, combine({}, more, -1)] if atom in own.box else []
                for case in self.with_facts(own, *equal):
                    found += self.cases(case, combine(rest, value, by), depth - 1)
            return found
        return [(way, form)]

    def _operands_of(self, atom: Expr, args: Sequence[Expr]) -> list[Sum] | None:
        """The operands of a node as sums; None if one is no sum, or changes as it is converted to the node's type."""
        forms = [self.form(arg) for arg in args]
        known = [form for form in forms if form is not None]
        fit = len(known) == len(forms) and all(within(self.intervals.of(arg), atom.type) for arg in args)
        return known if fit else None

    def _alternatives(self, way: Way, atom: Expr, depth: int) -> list[tuple[Way, Sum]] | None:
        """The sums that a node may equal, each with the way on which it does; None for other nodes."""
        if atom.op == "where":
            forms = self._operands_of(atom, atom.args[1:])
            ways = [self.where(atom.args[0], holds, way) for holds in (True, False)] if forms else []
        elif atom.op in ("min", "max") and len(atom.args) == 2:
            forms = self._operands_of(atom, atom.args)
            first, second = forms or ({}, {})
            apart = combine(first, second, -1) if atom.op == "max" else combine(second, first, -1)
            cases = self.cases(way, apart, depth) if forms else []
            ways = [[own for case, total in cases for own in self.compared(op, total, case)] for op in ("ge", "lt")]
        elif atom.op == "abs" and self.intervals.fits(atom):
            forms = self._operands_of(atom, atom.args)
            forms = forms and [forms[0], combine({}, forms[0], -1)]
            ways = [self.compared(op, forms[0], way) for op in ("ge", "lt")] if forms else []
        else:
            return None
        return None if forms is None else [(own, form) for form, several in zip(forms, ways) for own in several]

    def _facts_about(self, atom: Expr) -> list[Sum]:
        """Facts about a node that follow from its operator."""
        forms = self._operands_of(atom, atom.args) if atom.op in DESCRIBED else None
        if forms is None:
            return []
        own = {atom: 1}
        if atom.op == "min":
            return [combine(form, own, -1) for form in forms]
        if atom.op == "max":
            return [combine(own, form, -1) for form in forms]
        if atom.op == "abs":
            return [combine(own, forms[0], by) for by in (-1, 1)] if self.intervals.fits(atom) else []
        if atom.op == "mod":
            positive = all(self.intervals.of_integer(arg)[0] >= 0 for arg in atom.args)
            return [combine(forms[0], own, -1)] if positive else []
        by = forms[1].get(None, 0) if set(forms[1]) <= {None} else 0
        by = by if atom.op == "floordiv" else 1 << by if 0 <= by < 63 else 0
        rest = combine(forms[0], own, -by)  # 0 <= rest < by
        return [rest, combine(combine({}, rest, -1), ONE, by - 1)] if by > 0 else []

    # --- facts

    def with_fact(self, way: Way, fact: Sum) -> Way | None:
        """The way on which a sum is not negative as well; None if the intervals show that this is impossible."""
        variables = [v for v in fact if v is not None]
        for variable in variables:
            if variable not in way.box:
                sure = way.sure and variable.op == "index"
                way = replace(way, box={**way.box, variable: self.intervals.of_integer(variable)}, sure=sure)
                for own in () if variable.op == "index" else self._facts_about(variable):
                    more = self.with_fact(way, own)
                    if more is None:
                        return None
                    way = more
        low, high = range_of(fact, way.box)
        if high < 0:
            return None
        if low >= 0:
            return way
        if len(variables) > 1:
            return replace(way, facts=(*way.facts, fact))
        (variable,), rest = variables, fact.get(None, 0)
        (least, most), by = way.box[variable], fact[variable]
        ends = (max(least, -(rest // by)), most) if by > 0 else (least, min(most, rest // -by))
        return replace(way, box={**way.box, variable: ends}) if ends[0] <= ends[1] else None

    def with_facts(self, way: Way, *facts: Sum) -> list[Way]:
        """The way on which these sums are not negative as well; none if that is impossible."""
        found: Way | None = way
        for fact in facts:
            found = None if found is None else self.with_fact(found, fact)
        return [] if found is None else [found]

    def compared(self, op: str, total: Sum, way: Way) -> list[Way]:
        """The ways on which a sum compares like this with 0."""
        negative = combine({}, total, -1)
        above, below = combine(total, ONE, -1), combine(negative, ONE, -1)
        if op == "ne":
            sides = [
                self.with_facts(way, fact) for fact in (below, above) if self.certain or self.is_possible(way, fact)
            ]
            return self._either(sides, way)
        facts = {"lt": [below], "le": [negative], "gt": [above], "ge": [total], "eq": [total, negative]}[op]
        return self.with_facts(way, *facts)

    def _either(self, cases: Sequence[Sequence[Way]], way: Way) -> list[Way]:
        """The ways of all cases; only the way before if these are several and may not be followed."""
        possible = [ways for ways in cases if ways]
        if len(possible) > 1 and not self.certain:
            return [replace(way, sure=False)]
        return [own for ways in possible for own in ways]

    def where(self, condition: Expr, holds: bool, way: Way) -> list[Way]:
        """The ways on which a condition holds, or does not."""
        op = condition.op
        if op == "const":
            return [way] if bool(condition.data) == holds else []
        if op == "not":
            return self.where(condition.args[0], not holds, way)
        if op in ("and", "or"):
            first, second = condition.args
            if (op == "and") == holds:
                return [own for one in self.where(first, holds, way) for own in self.where(second, holds, one)]
            later = [own for one in self.where(first, not holds, way) for own in self.where(second, holds, one)]
            return self._either([self.where(first, holds, way), later], way)
        total = self._difference(condition)
        if total is None:
            return [replace(way, sure=False)]
        op = op if holds else OPPOSITE[op]
        if not self.certain:
            return self.compared(op, total, way)
        cases = self.cases(way, total)
        if not all(self.is_certain(form) for _, form in cases):
            return [replace(way, sure=False)]
        return [own for case, form in cases for own in self.compared(op, form, case)]

    def _difference(self, condition: Expr) -> Sum | None:
        """The left side of a comparison of integers less the right one; None for other conditions."""
        if condition.op not in OPPOSITE:
            return None
        left, right = map(self.form, condition.args)
        if left is None or right is None:
            return None
        if widest(condition.args) == "ulong" and any(self.intervals.of_integer(arg)[0] < 0 for arg in condition.args):
            return None  # a negative number is compared as a large one
        return combine(left, right, -1)

    def is_possible(self, way: Way, *facts: Sum) -> bool:
        """Whether it is not proven that these sums are never all non-negative on a way."""
        return any(self._is_possible(own) for own in self.with_facts(way, *facts))

    def _is_possible(self, way: Way) -> bool:
        """Whether the facts of a way are not proven to contradict each other."""
        if not way.facts:
            return True
        key = (
            frozenset((v, way.box[v]) for fact in way.facts for v in fact if v is not None),
            frozenset(frozenset(fact.items()) for fact in way.facts),
        )
        if key not in self.possible:
            self.possible[key] = not is_impossible(way.box, way.facts)
        return self.possible[key]

    def signs(self, way: Way, index: Expr, own: str) -> set[int]:
        """The signs that the distance of an index from the index `own` may have on a way."""
        form = self.form(index)
        signs = {-1, 0, 1}
        if form is None:
            return signs
        found: set[int] = set()
        for case, total in self.cases(way, form):
            apart = combine(total, {own: 1}, -1)
            for sign in signs - found:
                facts = [combine(combine({}, apart, sign), ONE, -1)] if sign else [apart, combine({}, apart, -1)]
                if self.is_possible(case, *facts):
                    found.add(sign)
        return found

    # --- ways

    def to(self, *ops: str, start: Iterable[Way] = ()) -> Iterator[tuple[Expr, Way]]:
        """(node, way) for each way to each node of these operators.

        Beyond `MOST_VISITS`, ways have only the facts that hold everywhere; searches for solutions end.
        """
        leads: set[Expr] = set()
        for part in walk(*self.roots):
            if part.op in ops or not leads.isdisjoint(part.args):
                leads.add(part)
        stack = [(root, way) for root in self.roots for way in (start or (self.start,))]
        seen: set[Any] = set()
        while stack:
            part, way = stack.pop()
            if part not in leads:
                continue
            if len(seen) > (MOST_CERTAIN if self.certain else MOST_VISITS):
                if self.certain:
                    return
                way = replace(self.start, sure=False)
            key = part, *way.key
            if key in seen:
                continue
            seen.add(key)
            if part.op in ops:
                yield part, way
            stack += self._operands(part, way, leads)

    def _operands(self, part: Expr, way: Way, leads: Collection[Expr]) -> list[tuple[Expr, Way]]:
        """(operand, way) for each way on which an operand of a node that leads to such nodes is computed."""
        args = part.args
        if part.op == "where":
            condition, yes, no = args
            sides = [(side, holds) for side, holds in ((yes, True), (no, False)) if side in leads]
            return [(condition, way), *((side, own) for side, on in sides for own in self.where(condition, on, way))]
        if part.op in ("and", "or"):
            first, second = args
            later = self.where(first, part.op == "and", way) if second in leads else []
            return [(first, way), *((second, own) for own in later)]
        if part.op in ("reduce", "argreduce"):
            k, lo, hi, body, *empty = args
            low, high = self.form(lo), self.form(hi)
            if low is None or high is None or self.certain and not (self.is_certain(low) and self.is_certain(high)):
                unsure = replace(way, sure=False)
                return [(lo, way), (hi, way), *((other, unsure) for other in (body, *empty))]
            from_low, to_high = combine({k: 1}, low, -1), combine(combine(high, {k: 1}, -1), ONE, -1)
            return [
                (lo, way),
                (hi, way),
                *((body, own) for own in self.with_facts(way, from_low, to_high)),
                *((other, own) for other in empty for own in self.with_facts(way, combine(low, high, -1))),
            ]
        return [(arg, way) for arg in args]
