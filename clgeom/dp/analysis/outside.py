"""Reads outside the table, proven for its shape before the fill.

A cell reads another where the conditions on the way to the read hold. Conditions and indices that are sums of integer
multiples of i, j and the indices of reductions are inequalities between integers, with n, m and integer parameters as
constants. Fourier-Motzkin elimination looks for an integer solution: without a real solution the read never happens,
and an integer solution is a cell that reads outside. Where coefficients are 1 or -1, as people write them, one of the
two is nearly always found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clgeom.dp.analysis.sums import combine
from clgeom.dp.language.mistakes import deep_enough
from clgeom.dp.language.nodes import evaluate, walk
from clgeom.dp.language.types import LIMITS
from clgeom.dp.paths import stages

#: Most ways through an equation, and most inequalities of an elimination.
MOST_WAYS, MOST_FACTS = 400, 120
#: Values of a variable that are tried, from the lowest on; one suffices if coefficients are 1 or -1.
TRIES = 16
OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True)
class Way:
    """The facts on a way to a node: bounds of variables, and non-negative sums. `sure`: whether there is no other
    condition on the way."""

    box: dict
    facts: tuple = ()
    sure: bool = True


@dataclass(frozen=True)
class Outside:
    """A cell that reads outside the table, and the cell that it reads."""

    cell: tuple[int, int]
    read: tuple[int, int]


def first_read(job, nodes) -> Outside | None:
    """A cell of the earliest stage with a read that is proven to leave the table; None if none is proven."""
    return Reads(job, nodes).first()


def check(job, nodes) -> None:
    """Raise `DependencyError` for a read that is proven to leave the table. Cached for each shape and scalars."""
    numbers = tuple((k, int(v)) for k, v in job.values.items() if not v.ndim and v.dtype.kind in "iu")

    def make():
        with deep_enough(job.equation.name):
            return first_read(job, nodes)

    found = job.equation.cache.get(("read outside", job.pattern.name, job.shape, job.start, job.stop, numbers), make)
    if found is not None:
        raise stages.fault(job, found.cell, stages.RANGE, *found.read)


class Reads:
    """The reads of an equation in a table of some shape."""

    def __init__(self, job, nodes):
        self.job, self.nodes = job, nodes
        n, m = job.shape
        self.constants = {"n": n, "m": m}
        for name, value in job.values.items():
            if not value.ndim and value.dtype.kind in "iu":
                self.constants[name] = int(value)
        self.forms, self.ranges = {}, {}
        self.loops = {}
        for part in walk(*nodes.computed):
            if part.op in ("reduce", "argreduce"):
                self.loops[part.args[0]] = part.args[1:3]
        self.table = {"i": (0, n - 1), "j": (0, m - 1)}

    # --- sums

    def form(self, expr):
        """A node as a sum of multiples of variables; None for others, and for sums that may go beyond their type."""
        if expr not in self.forms:
            self.forms[expr] = None  # an index cannot bound itself
            found = self._form(expr)
            if found is not None:
                low, high = span(found, self.box_of(found))
                least, most = LIMITS[expr.type]
                found = found if least <= low and high <= most else None
            self.forms[expr] = found
        return self.forms[expr]

    def _form(self, expr):
        op, args = expr.op, expr.args
        if expr.type not in LIMITS:
            return None
        if op == "const":
            return {None: expr.data} if expr.data else {}
        if op in ("n", "m") or op == "parameter" and expr.data in self.constants:
            value = self.constants[op if op in ("n", "m") else expr.data]
            return {None: value} if value else {}
        if op in ("i", "j"):
            return {op: 1}
        if op == "index":
            return None if self.range_of(expr) is None else {expr: 1}
        if op == "cast" and args[0].type in LIMITS:
            return self.form(args[0])
        if op not in ("add", "sub", "neg", "mul"):
            return None
        forms = [self.form(arg) for arg in args]
        if None in forms:
            return None
        if op == "neg":
            return combine({}, forms[0], -1)
        if op != "mul":
            return combine(*forms, 1 if op == "add" else -1)
        for by, other in (forms, forms[::-1]):
            if not set(by) - {None}:
                return combine({}, other, by.get(None, 0))
        return None

    def range_of(self, index):
        """The lowest and highest value of an index of a reduction over all cells; None if that is not known."""
        if index not in self.ranges:
            self.ranges[index] = None
            lo, hi = map(self.form, self.loops[index])
            if lo is not None and hi is not None:
                low, high = span(lo, self.box_of(lo))[0], span(hi, self.box_of(hi))[1]
                self.ranges[index] = low, max(high - 1, low)
        return self.ranges[index]

    def box_of(self, form):
        """Bounds of the variables of a sum."""
        return {v: self.table[v] if v in self.table else self.range_of(v) for v in form if v is not None}

    # --- ways to reads

    def with_fact(self, way, fact):
        """The way on which a sum is non-negative as well; None if that is impossible."""
        variables = [v for v in fact if v is not None]
        new = [v for v in variables if v not in way.box]
        if new:
            way = replace(way, box={**way.box, **{v: self.range_of(v) for v in new}})
        low, high = span(fact, way.box)
        if high < 0:
            return None
        if low >= 0:
            return way
        if len(variables) > 1:
            return replace(way, facts=(*way.facts, fact))
        (v,), rest = variables, fact.get(None, 0)
        (least, most), by = way.box[v], fact[variables[0]]
        bounds = (max(least, -(rest // by)), most) if by > 0 else (least, min(most, rest // -by))
        return replace(way, box={**way.box, v: bounds}) if bounds[0] <= bounds[1] else None

    def with_facts(self, way, *facts):
        for fact in facts:
            way = None if way is None else self.with_fact(way, fact)
        return () if way is None else (way,)

    def where(self, condition, holds, way):
        """The ways on which a condition holds, or does not."""
        op = condition.op
        if op == "const":
            return (way,) if bool(condition.data) == holds else ()
        if op == "not":
            return self.where(condition.args[0], not holds, way)
        if op in ("and", "or"):
            first, second = condition.args
            if (op == "and") == holds:
                return [w for one in self.where(first, holds, way) for w in self.where(second, holds, one)]
            later = [w for one in self.where(first, not holds, way) for w in self.where(second, holds, one)]
            return [*self.where(first, holds, way), *later]
        if op in OPPOSITE:
            a, b = map(self.form, condition.args)
            if a is not None and b is not None:
                return self.compared(op if holds else OPPOSITE[op], combine(a, b, -1), way)
        return (replace(way, sure=False),)

    def compared(self, op, more, way):
        """The ways on which a sum compares like this with 0."""
        less = combine({}, more, -1)
        above, below = combine(more, {None: 1}, -1), combine(less, {None: 1}, -1)
        if op == "eq":
            return self.with_facts(way, more, less)
        if op == "ne":
            return [*self.with_facts(way, below), *self.with_facts(way, above)]
        return self.with_facts(way, {"lt": below, "le": less, "gt": above, "ge": more}[op])

    def all(self):
        """(cell node, way) for each way to each read, up to `MOST_WAYS`."""
        leads = set()
        for part in walk(*self.nodes.computed):
            if part.op == "cell" or not leads.isdisjoint(part.args):
                leads.add(part)
        whole = Way(dict(self.table))
        stage = stage_form(self.job)
        start = combine(stage, {None: 1}, -self.job.start)
        stop = combine(combine({}, stage, -1), {None: 1}, self.job.stop - 1)
        stack = [(root, way) for root in self.nodes.computed for way in self.with_facts(whole, start, stop)]
        seen = set()
        while stack and len(seen) < MOST_WAYS:
            part, way = stack.pop()
            key = (part, frozenset(way.box.items()), tuple(map(_key, way.facts)), way.sure)
            if part not in leads or key in seen:
                continue
            seen.add(key)
            if part.op == "cell":
                yield part, way
            if part.op == "where":
                condition, yes, no = part.args
                stack.append((condition, way))
                stack += [(yes, one) for one in self.where(condition, True, way)] if yes in leads else []
                stack += [(no, one) for one in self.where(condition, False, way)] if no in leads else []
            elif part.op in ("and", "or"):
                first, second = part.args
                stack.append((first, way))
                if second in leads:
                    stack += [(second, one) for one in self.where(first, part.op == "and", way)]
            elif part.op in ("reduce", "argreduce"):
                k, lo, hi, body, *empty = part.args
                stack += [(lo, way), (hi, way)]
                low, high = self.form(lo), self.form(hi)
                if low is None or high is None:
                    stack += [(other, replace(way, sure=False)) for other in (body, *empty)]
                    continue
                one, own = {None: 1}, {k: 1}
                if self.range_of(k) is not None:
                    bounds = combine(own, low, -1), combine(combine(high, own, -1), one, -1)
                    stack += [(body, w) for w in self.with_facts(way, *bounds)]
                stack += [(other, w) for other in empty for w in self.with_facts(way, combine(low, high, -1))]
            else:
                stack += [(arg, way) for arg in part.args]

    def suspects(self):
        """(cell node, way on which it lies outside the table), where bounds alone do not exclude that."""
        for part, way in self.all():
            for arg, size in zip(part.args, self.job.shape):
                form = self.form(arg)
                if form is None:
                    continue
                before = combine(combine({}, form, -1), {None: 1}, -1)
                for fact in (before, combine(form, {None: 1}, -size)):
                    for one in self.with_facts(way, fact):
                        yield part, one

    def first(self) -> Outside | None:
        found = []
        for part, way in self.suspects():
            if way.sure and (values := solved(way)) is not None:
                found.append((part, self._earliest(way, values)))
        if not found:
            return None
        stage = self.job.pattern.stage_of

        def order(one):
            i, j = one[1]["i"], one[1]["j"]
            return stage(i, j, *self.job.shape), i, j

        part, values = min(found, key=order)
        read = tuple(self._index_of(arg, values, values[own]) for arg, own in zip(part.args, "ij"))
        return Outside((values["i"], values["j"]), read)

    def _index_of(self, arg, values, unknown):
        """The value of an index in a cell; `unknown` if it depends on other cells."""
        form = self.form(arg)
        if form is not None:
            return value_of(form, values)
        if any(
            part.op in ("cell", "reduce", "argreduce") or part.op == "index" and part not in values
            for part in walk(arg)
        ):
            return unknown
        n, m = self.job.shape
        made = {part: np.int64(value) for part, value in values.items() if not isinstance(part, str)}
        return int(evaluate(arg, {"i": values["i"], "j": values["j"], "n": n, "m": m, **self.job.values}, made))

    def _earliest(self, way, values):
        """A solution in the earliest stage."""
        form = stage_form(self.job)
        low, high = self.job.start, value_of(form, values)
        while low < high:
            middle = (low + high) // 2
            fact = combine({None: middle} if middle else {}, form, -1)
            better = next((v for w in self.with_facts(way, fact) if (v := solved(w)) is not None), None)
            if better is None:
                low = middle + 1
            else:
                values, high = better, value_of(form, better)
        return values


def _key(form):
    return frozenset(form.items())


def stage_form(job):
    """The stage of a cell as a sum."""
    n, m = job.shape
    form = {"rows": {"i": 1}, "columns": {"j": 1}, "nose": {"i": 1, "j": 1}}.get(
        job.pattern.kind, combine({"i": -1, "j": 1}, {None: 1}, n - 1)
    )
    return combine(combine({}, form, -1), {None: 1}, job.stages - 1) if job.pattern.reverse else form


# Inequalities -----------------------------------------------------------------------------------------------------


def span(form, box) -> tuple[int, int]:
    """(lowest, highest) value of a sum over a box of its variables."""
    low = high = form.get(None, 0)
    for v, by in form.items():
        if v is not None:
            ends = by * box[v][0], by * box[v][1]
            low, high = low + min(ends), high + max(ends)
    return low, high


def value_of(form, values) -> int:
    return form.get(None, 0) + sum(by * values[v] for v, by in form.items() if v is not None)


def solved(way) -> dict | None:
    """An integer solution of a way, the lowest i first; None if none was found."""
    names = ["i", "j", *(v for v in way.box if not isinstance(v, str))]  # nodes must not be compared by ==
    facts = list(way.facts)
    for v, (low, high) in way.box.items():
        facts += [_shifted({v: 1}, -low), _shifted({v: -1}, high)]
    systems = []
    for v in reversed(names):
        here, facts = [f for f in facts if v in f], [f for f in facts if v not in f]
        systems.append((v, here))
        lower, upper = [f for f in here if f[v] > 0], [f for f in here if f[v] < 0]
        made = [combine(combine({}, a, -b[v]), b, a[v]) for a in lower for b in upper]
        if any(set(f) <= {None} and f.get(None, 0) < 0 for f in made):
            return None
        facts += [f for f in made if set(f) - {None}]
        if len(facts) > MOST_FACTS:
            return None
    return _assigned(systems[::-1], {})


def _shifted(form, by):
    return combine(form, {None: 1}, by) if by else form


def _assigned(systems, values):
    if not systems:
        return values
    (v, facts), *later = systems
    low, high = None, None
    for fact in facts:
        rest = fact.get(None, 0) + sum(by * values[u] for u, by in fact.items() if u in values)
        if fact[v] > 0:
            bound = -(rest // fact[v])
            low = bound if low is None else max(low, bound)
        else:
            bound = rest // -fact[v]
            high = bound if high is None else min(high, bound)
    for value in range(low, min(high + 1, low + TRIES)):
        found = _assigned(later, {**values, v: value})
        if found is not None:
            return found
    return None
