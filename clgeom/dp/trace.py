"""Expressions of equations: what operators of a traced Python function build, and what can be said of them.

An `Expr` is one node of a graph. Equal nodes of one trace are one object, so what is written twice is computed once.
Everything here is plain Python: text comes from `clgeom.dp.text`, the reach of an equation from `clgeom.dp.reach`.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
import numbers
import operator
import sys
from pathlib import Path

import numpy as np

from clgeom.errors import InvalidInput

#: Types of expressions, from narrow to wide: the result of an operator has the wider type of its operands.
TYPES = ("bool", "int", "long", "float", "double")
LIMITS = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
#: More nodes than anybody writes; a loop in Python that unrolls a table would make them.
MOST_NODES = 20_000
HERE = str(Path(__file__).parent)

_trace: contextvars.ContextVar = contextvars.ContextVar("clgeom_dp_trace", default=None)


class Trace:
    """What is being traced: the type of its cells, and the nodes made so far."""

    def __init__(self, cell: str):
        self.cell, self.nodes = cell, {}

    @contextlib.contextmanager
    def active(self):
        token = _trace.set(self)
        try:
            yield self
        finally:
            _trace.reset(token)


class Expr:
    """A node: an operator, its operands, its type. Compared by identity; ``==`` writes a comparison.

    Attributes
    ----------
    op : str
        const i j n m index parameter load cell · add sub mul div floordiv mod neg abs sqrt · lt le gt ge eq ne ·
        and or not · where min max which_min which_max cast · reduce argreduce
    args : tuple of Expr
    type : str
        One of TYPES.
    data : object
        A constant's value, a parameter's or index's name, what a reduction takes ("min", "max", "sum").
    """

    __slots__ = ("op", "args", "type", "data")
    __hash__ = object.__hash__
    __array_ufunc__ = None  # NumPy scalars on the left leave the operator to us

    def __init__(self, op, args, type, data):
        self.op, self.args, self.type, self.data = op, args, type, data

    def __repr__(self):
        inside = ", ".join([*([repr(self.data)] if self.data is not None else []), *map(repr, self.args)])
        return f"{self.op}({inside})" if inside else self.op

    def __bool__(self):
        raise mistake(
            "An equation cannot branch on a cell or an index with 'if', 'and', 'or', 'not' or a chained comparison: "
            "write dp.where(condition, a, b), and conditions with &, | and ~."
        )

    def __iter__(self):
        raise mistake(
            "A part of an equation cannot be iterated over: write dp.min_over, max_over or sum_over."
        )

    def __index__(self):
        raise mistake(
            "A part of an equation has no value while it is traced: use dp.min_over for range(...)."
        )

    __int__ = __float__ = __index__

    def __add__(self, other):
        return arithmetic("add", self, other)

    def __radd__(self, other):
        return arithmetic("add", other, self)

    def __sub__(self, other):
        return arithmetic("sub", self, other)

    def __rsub__(self, other):
        return arithmetic("sub", other, self)

    def __mul__(self, other):
        return arithmetic("mul", self, other)

    def __rmul__(self, other):
        return arithmetic("mul", other, self)

    def __truediv__(self, other):
        return divide(self, other)

    def __rtruediv__(self, other):
        return divide(other, self)

    def __floordiv__(self, other):
        return whole("floordiv", self, other)

    def __rfloordiv__(self, other):
        return whole("floordiv", other, self)

    def __mod__(self, other):
        return whole("mod", self, other)

    def __rmod__(self, other):
        return whole("mod", other, self)

    def __neg__(self):
        return node("neg", number(self))

    def __pos__(self):
        return number(self)

    def __abs__(self):
        return node("abs", number(self))

    def __lt__(self, other):
        return compare("lt", self, other)

    def __le__(self, other):
        return compare("le", self, other)

    def __gt__(self, other):
        return compare("gt", self, other)

    def __ge__(self, other):
        return compare("ge", self, other)

    def __eq__(self, other):
        return compare("eq", self, other)

    def __ne__(self, other):
        return compare("ne", self, other)

    def __and__(self, other):
        return logical("and", self, other)

    def __rand__(self, other):
        return logical("and", other, self)

    def __or__(self, other):
        return logical("or", self, other)

    def __ror__(self, other):
        return logical("or", other, self)

    def __invert__(self):
        return node("not", condition(self), type="bool")


class Cells:
    """`M` in a traced function: ``M[a, b]`` reads a cell."""

    def __getitem__(self, where):
        if not isinstance(where, tuple) or len(where) != 2:
            raise mistake("M takes a row and a column: M[i - 1, j].")
        return node("cell", *(place(w, "M") for w in where), type=_trace.get().cell)


class Values:
    """An array parameter in a traced function: ``w[i - 1]``, ``c[i, j]``."""

    def __init__(self, parameter):
        self.parameter = parameter

    def __getitem__(self, where):
        name, ndim = self.parameter.name, self.parameter.ndim
        where = where if isinstance(where, tuple) else (where,)
        if len(where) != ndim:
            raise mistake(f"The parameter {name!r} takes {ndim} indices. Got {len(where)} instead.")
        return node("load", *(place(w, name) for w in where), type=self.parameter.type, data=name)

    def __iter__(self):
        raise mistake(f"The parameter {self.parameter.name!r} has no length while it is traced: index it.")

    def __len__(self):
        raise mistake(
            f"The parameter {self.parameter.name!r} has no length while it is traced: pass it as a scalar."
        )


def _not_a_number(self, *_):
    raise mistake(f"The parameter {self.parameter.name!r} is an array: give it an index.")


for _name in "add sub mul truediv floordiv mod and or".split():
    setattr(Values, f"__{_name}__", _not_a_number)
    setattr(Values, f"__r{_name}__", _not_a_number)
for _name in "neg pos abs invert lt le gt ge eq ne bool index".split():
    setattr(Values, f"__{_name}__", _not_a_number)


# Making nodes ---------------------------------------------------------------------------------------------------


def mistake(message: str) -> InvalidInput:
    """The error for what a traced function does wrong, naming the line that does it."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    if frame is None:
        return InvalidInput(message)
    return InvalidInput(f"{frame.f_code.co_filename}, line {frame.f_lineno}: {message}")


def node(op, *args, type=None, data=None) -> Expr:
    """The node for this operator and these operands: that of the trace if it has one already."""
    type = type or widest(args)
    trace = _trace.get()
    if trace is None:
        return Expr(op, args, type, data)
    key = (op, tuple(map(id, args)), type, data, data.__class__)
    if op == "const":
        key = (op, type, repr(data))
    found = trace.nodes.get(key)
    if found is None:
        if len(trace.nodes) >= MOST_NODES:
            raise mistake(
                f"The equation has more than {MOST_NODES:,} operations: use dp.min_over, not a loop in Python."
            )
        found = trace.nodes[key] = Expr(op, args, type, data)
    return found


def widest(args) -> str:
    return TYPES[max(TYPES.index(arg.type) for arg in args)]


def constant(value, type=None) -> Expr:
    """A number as a node, of the type given or the narrowest that holds it."""
    if isinstance(value, (bool, np.bool_)):
        return node("const", type="bool", data=bool(value))
    if isinstance(value, numbers.Integral):
        value = int(value)
        if type in (None, "bool", "int"):
            type = "int" if LIMITS["int"][0] <= value <= LIMITS["int"][1] else "long"
        if type == "long" and not LIMITS["long"][0] <= value <= LIMITS["long"][1]:
            raise mistake(f"The number {value} does not fit 64 bits.")
        return node("const", type=type, data=float(value) if type in ("float", "double") else value)
    if isinstance(value, numbers.Real):
        trace = _trace.get()
        if type not in ("float", "double"):
            type = "double" if trace is not None and trace.cell == "double" else "float"
        if type == "float":
            with np.errstate(over="ignore"):
                value = np.float32(value)
        return node("const", type=type, data=float(value))
    raise mistake(
        f"A part of an equation must be a number, a cell, an index or a parameter. Got {value!r} instead."
    )


def expression(value, like: Expr | None = None) -> Expr:
    """A value as a node; a number takes the type of the node that it is combined with."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, Values):
        raise mistake(f"The parameter {value.parameter.name!r} is an array: give it an index.")
    return constant(value, like.type if like is not None else None)


def pair(a, b) -> tuple[Expr, Expr]:
    """Two operands as nodes."""
    like = a if isinstance(a, Expr) else b if isinstance(b, Expr) else None
    return expression(a, like), expression(b, like)


def number(value, like=None) -> Expr:
    """A value as a node that is a number: conditions count as 0 and 1."""
    value = expression(value, like)
    return convert(value, "int") if value.type == "bool" else value


def condition(value) -> Expr:
    value = expression(value)
    return value if value.type == "bool" else compare("ne", value, 0)


def convert(value: Expr, type: str) -> Expr:
    """The node as one of this type."""
    if value.type == type:
        return value
    if value.op == "const":
        if type in LIMITS and value.type in ("bool", "int", "long"):
            low, high = LIMITS[type]
            if not low <= value.data <= high:
                raise mistake(f"The number {value.data} does not fit the cells' type.")
            return node("const", type=type, data=int(value.data))
        if type in ("float", "double"):
            return constant(float(value.data), type)
    return node("cast", value, type=type)


def place(value, what) -> Expr:
    """A value as a node that can be an index."""
    value = expression(value)
    if value.type not in ("int", "long"):
        raise mistake(f"An index of {what} must be an integer. Got one of type {value.type} instead.")
    return value


FOLD = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
    "floordiv": operator.floordiv, "mod": operator.mod,
}  # fmt: skip


def arithmetic(op, a, b) -> Expr:
    a, b = (number(x) for x in pair(a, b))
    if a.op == b.op == "const" and a.type in LIMITS and b.type in LIMITS:
        return constant(FOLD[op](a.data, b.data))
    trace = _trace.get()
    if op == "mul" and widest((a, b)) == "int" and trace is not None and trace.cell in ("long", "double"):
        a, b = convert(a, "long"), convert(b, "long")  # i * j may pass 32 bits where the cells need not
    if op in ("add", "sub") and b.op == "const" and b.type in LIMITS:
        step = b.data if op == "add" else -b.data
        if step == 0 and TYPES.index(b.type) <= TYPES.index(a.type):
            return a
        if a.op in ("add", "sub") and a.args[1].op == "const" and a.args[0].op in ("i", "j", "index"):
            step += a.args[1].data if a.op == "add" else -a.args[1].data  # i - 1 + 1 is i
            return arithmetic("add", a.args[0], step) if step else a.args[0]
        if step < 0 and op == "add" and step > LIMITS["int"][0]:
            return node("sub", a, constant(-step, b.type))
    return node(op, a, b)


def divide(a, b) -> Expr:
    a, b = (number(x) for x in pair(a, b))
    trace = _trace.get()
    if widest((a, b)) not in ("float", "double"):
        if trace is None or trace.cell not in ("float", "double"):
            raise mistake("'/' divides floats: write // for integers, or dp.cast(x, 'float32') first.")
        a, b = convert(a, trace.cell), convert(b, trace.cell)
    return node("div", a, b)


def whole(op, a, b) -> Expr:
    a, b = (number(x) for x in pair(a, b))
    if widest((a, b)) not in LIMITS:
        raise mistake(f"'{'//' if op == 'floordiv' else '%'}' takes integers in an equation.")
    if b.op == "const" and b.data == 0:
        raise mistake("Division by zero.")
    if a.op == b.op == "const":
        return constant(FOLD[op](a.data, b.data))
    return node(op, a, b)


def compare(op, a, b) -> Expr:
    a, b = (number(x) for x in pair(a, b))
    if a.op == b.op == "const":
        return constant(FOLD[op](a.data, b.data))
    return node(op, a, b, type="bool")


def logical(op, a, b) -> Expr:
    a, b = condition(a), condition(b)
    for known, other in ((a, b), (b, a)):
        if known.op == "const":
            return other if known.data == (op == "and") else known
    return node(op, a, b, type="bool")


# What users write -----------------------------------------------------------------------------------------------


def where(condition_, a, b) -> Expr:
    """`a` where the condition holds, else `b`; the one not taken is not evaluated, so it may read outside the table.

    `a` and `b` may be pairs of a value and its decision.
    """
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(where(condition_, x, y) for x, y in zip(a, b))
    c = condition(condition_)
    a, b = alike((a, b))
    if c.op == "const":
        return a if c.data else b
    return a if a is b else node("where", c, a, b)


def alike(values) -> list[Expr]:
    """Values as nodes of their widest type."""
    like = [v for v in values if isinstance(v, Expr) and v.op != "const"]
    if not like:
        exprs = [expression(v) for v in values]
    else:
        type = widest(like)
        exprs = [v if isinstance(v, Expr) else constant(v, type) for v in values]
    type = widest(exprs)
    return [convert(e, type) for e in exprs]


def minimum(a, b, *more) -> Expr:
    """The least; the first written of equals, and what comes first where NaN is compared."""
    return fold("min", a, b, *more)


def maximum(a, b, *more) -> Expr:
    """The largest; the first written of equals, and what comes first where NaN is compared."""
    return fold("max", a, b, *more)


def fold(op, *values):
    values = [number(v) for v in alike(values)]
    result = values[0]
    for value in values[1:]:
        if result.op == value.op == "const":
            first = not (value.data < result.data if op == "min" else value.data > result.data)
            result = result if first else value
        elif result is not value:
            result = node(op, result, value)
    return result


def which_min(a, b, *more) -> Expr:
    """Which value is the least: 0 for the first written. The decision that goes with `minimum`."""
    return node("which_min", *map(number, alike((a, b, *more))), type="int")


def which_max(a, b, *more) -> Expr:
    """Which value is the largest: 0 for the first written. The decision that goes with `maximum`."""
    return node("which_max", *map(number, alike((a, b, *more))), type="int")


def absolute(value) -> Expr:
    """The absolute value."""
    return abs(expression(value))


def sqrt(value) -> Expr:
    """The square root of a float, correctly rounded where the device can (see `Equation`)."""
    value = number(value)
    if value.type not in ("float", "double"):
        trace = _trace.get()
        value = convert(value, "double" if trace is not None and trace.cell == "double" else "float")
    return node("sqrt", value)


CAST = {"int32": "int", "int64": "long", "float32": "float", "float64": "double"}


def cast(value, dtype) -> Expr:
    """The value in another type: int32, int64, float32 or float64. Floats are cut towards zero."""
    name = np.dtype(dtype).name
    if name not in CAST:
        raise mistake(f"dp.cast takes one of {', '.join(CAST)}. Got {name} instead.")
    return convert(number(value), CAST[name])


def index(name: str = "k") -> Expr:
    """A new index, for `min_over` and its like."""
    return Expr("index", (), "int", name)


def _over(op, kind, k, lo, hi, expr, empty=None):
    if isinstance(k, str):
        if not callable(expr):
            raise mistake("With a name for the index, the expression must be a function of it: lambda k: ...")
        k = index(k)
    if callable(expr):
        expr = expr(k)
    if not isinstance(k, Expr) or k.op != "index":
        raise mistake("The first argument must be an index, from dp.index('k'), or a name.")
    lo, hi, body = place(lo, "a reduction"), place(hi, "a reduction"), number(expr)
    trace = _trace.get()
    if body.op == "const" and trace is not None:
        body = convert(body, trace.cell)
    if op == "argreduce":
        return node(op, k, lo, hi, body, type="int", data=kind)
    if empty is None:
        return node(op, k, lo, hi, body, type=body.type, data=kind)
    empty, body = alike((empty, body))
    return node(op, k, lo, hi, body, empty, type=body.type, data=kind)


def min_over(k, lo, hi, expr, empty=None) -> Expr:
    """The least of an expression over lo <= k < hi.

    Parameters
    ----------
    k : Expr or str
        An index from `index`, or a name for one.
    lo, hi : Expr or int
    expr : Expr, or function of k
    empty : number or Expr, optional
        The value of an empty range; the largest of the type by default. NaN never wins.
    """
    return _over("reduce", "min", k, lo, hi, expr, empty)


def max_over(k, lo, hi, expr, empty=None) -> Expr:
    """The largest of an expression over lo <= k < hi; see `min_over`."""
    return _over("reduce", "max", k, lo, hi, expr, empty)


def sum_over(k, lo, hi, expr) -> Expr:
    """The sum of an expression over lo <= k < hi, added in this order."""
    return _over("reduce", "sum", k, lo, hi, expr)


def argmin_over(k, lo, hi, expr) -> Expr:
    """The lowest k at which an expression is least; -1 for an empty range. The decision that goes with `min_over`."""
    return _over("argreduce", "min", k, lo, hi, expr)


def argmax_over(k, lo, hi, expr) -> Expr:
    """The lowest k at which an expression is largest; -1 for an empty range."""
    return _over("argreduce", "max", k, lo, hi, expr)


# What can be said of nodes --------------------------------------------------------------------------------------


def walk(*roots):
    """Every node below these, once, operands before what uses them."""
    seen, stack = set(), [(root, False) for root in reversed(roots) if root is not None]
    while stack:
        expr, ready = stack.pop()
        if ready:
            yield expr
        elif id(expr) not in seen:
            seen.add(id(expr))
            stack.append((expr, True))
            stack.extend((arg, False) for arg in reversed(expr.args))


def replace(expr: Expr, by: dict) -> Expr:
    """The expression with nodes replaced: `by` maps nodes to nodes."""
    made = dict(by)
    for part in walk(expr):
        if part not in made:
            args = tuple(made[a] for a in part.args)
            same = all(x is y for x, y in zip(args, part.args))
            made[part] = part if same else Expr(part.op, args, part.type, part.data)
    return made[expr]


def needed(expr: Expr, targets) -> Expr | None:
    """The condition under which one of the targets is evaluated; None when a condition or a loop is what needs it.

    A constant where it is decided.
    """
    made, yes, no = {}, Expr("const", (), "bool", True), Expr("const", (), "bool", False)

    def either(a, b):
        if a is no or b is no:
            return b if a is no else a
        return yes if a is yes or b is yes else Expr("or", (a, b), "bool", None)

    for part in walk(expr):
        below = [made[a] for a in part.args]
        if part in targets:
            made[part] = yes
        elif all(x is no for x in below):
            made[part] = no
        elif part.op == "where" and below[0] is no:
            c, a, b = part.args[0], below[1], below[2]
            when = no if a is no else c if a is yes else Expr("and", (c, a), "bool", None)
            otherwise = Expr("not", (c,), "bool", None)
            unless = no if b is no else otherwise if b is yes else Expr("and", (otherwise, b), "bool", None)
            made[part] = yes if a is yes and b is yes else either(when, unless)
        elif any(x is None for x in below) or part.op in ("where", "and", "or", "reduce", "argreduce"):
            made[part] = None
        else:
            total = no
            for x in below:
                total = either(total, x)
            made[part] = total
    return made[expr]


def same(a: Expr, b: Expr) -> bool:
    """Whether two nodes are written alike."""
    return a is b or (
        (a.op, a.type, len(a.args)) == (b.op, b.type, len(b.args))
        and repr(a.data) == repr(b.data)
        and a.op != "index"
        and all(map(same, a.args, b.args))
    )


def depends_on(expr: Expr, ops) -> bool:
    """Whether a node of one of these operators is below."""
    return any(part.op in ops for part in walk(expr))


def affine(expr: Expr) -> dict | None:
    """The expression as a sum of integer multiples: {atom: coefficient}, the constant under None.

    Whatever is no sum, difference or integer multiple is an atom. None for expressions that are no integers.
    """
    if expr.type not in LIMITS:
        return None
    if expr.op == "const":
        return {None: expr.data} if expr.data else {}
    if expr.op in ("add", "sub"):
        a, b = map(affine, expr.args)
        return None if a is None or b is None else combine(a, b, 1 if expr.op == "add" else -1)
    if expr.op == "neg":
        a = affine(expr.args[0])
        return None if a is None else combine({}, a, -1)
    if expr.op == "cast":
        return affine(expr.args[0]) if expr.args[0].type in LIMITS else {expr: 1}
    if expr.op == "mul":
        for by, other in (expr.args, expr.args[::-1]):
            if by.op == "const":
                a = affine(other)
                return None if a is None else combine({}, a, by.data)
    return {expr: 1}


def combine(a: dict, b: dict, factor: int) -> dict:
    """a + factor * b, of sums as `affine` has them."""
    total = dict(a)
    for atom, coefficient in b.items():
        total[atom] = total.get(atom, 0) + factor * coefficient
        if total[atom] == 0:
            del total[atom]
    return total


def simplify(expr: Expr, known: dict | None = None, facts=()) -> Expr:
    """The expression without the conditions that are decided by what is known.

    Parameters
    ----------
    known : dict, optional
        (lowest, highest) of "i" and "j", None where there is no bound.
    facts : sequence of dict
        Sums, as `affine` has them, that are not negative.
    """
    made = {}
    for part in walk(expr):
        args = tuple(made[a] for a in part.args)
        changed = not all(a is b for a, b in zip(args, part.args))
        made[part] = _decided(
            Expr(part.op, args, part.type, part.data) if changed else part, known or {}, facts
        )
    return made[expr]


def _decided(part, known, facts):
    op, args = part.op, part.args
    if op in ("lt", "le", "gt", "ge", "eq", "ne"):
        answer = _compare(op, *args, known, facts)
        return part if answer is None else Expr("const", (), "bool", answer)
    if op == "where" and args[0].op == "const":
        return args[1] if args[0].data else args[2]
    if op == "not" and args[0].op == "const":
        return Expr("const", (), "bool", not args[0].data)
    if op in ("and", "or"):
        for this, other in (args, args[::-1]):
            if this.op == "const":
                return other if this.data == (op == "and") else this
    return part


def _compare(op, a, b, known, facts):
    """Whether a comparison of sums is decided by what is known: True, False or None."""
    a, b = affine(a), affine(b)
    if a is None or b is None:
        return None

    def holds(x, y, more=0):
        """Whether x >= y + more."""
        form = combine(combine(x, y, -1), {None: 1}, -more)
        return any(_lowest(combine(form, fact, -1), known) for fact in ({}, *facts))

    if op in ("gt", "lt"):
        low, high = (a, b) if op == "lt" else (b, a)
        return True if holds(high, low, 1) else False if holds(low, high) else None
    if op in ("ge", "le"):
        low, high = (a, b) if op == "le" else (b, a)
        return True if holds(high, low) else False if holds(low, high, 1) else None
    if holds(a, b, 1) or holds(b, a, 1):
        return op == "ne"
    return op == "eq" if holds(a, b) and holds(b, a) else None


def _lowest(form, known) -> bool:
    """Whether the ranges of i and j keep a sum from being negative."""
    low = 0
    for atom, factor in form.items():
        least, most = (1, 1) if atom is None else known.get(atom.op, (None, None))
        bound = least if factor > 0 else most
        if bound is None:
            return False
        low += factor * bound
    return low >= 0


def evaluate(expr: Expr, env: dict, made: dict | None = None) -> np.ndarray:
    """The expression on the host, for arrays of indices at once; no cells and no reductions in it.

    `made` keeps the values of its nodes for other expressions in the same `env`.

    `env` holds "i", "j", "n", "m" as needed, and parameters by name. Nothing is lazy here: indices of parameters that
    are out of range are moved to the nearest element, for the branch that reads it may not be taken.
    """
    made = {} if made is None else made
    for part in walk(expr):
        if part not in made:
            made[part] = _evaluate(part, [made[a] for a in part.args], env)
    return made[expr]


def _evaluate(part, args, env):
    op = part.op
    if op == "const":
        return part.data
    if op in ("i", "j", "n", "m"):
        return np.asarray(env[op], np.int64)
    if op == "parameter":
        return env[part.data]
    if op == "load":
        array = np.asarray(env[part.data])
        if array.size == 0:
            return np.zeros(np.broadcast_shapes(*(np.shape(a) for a in args)), array.dtype)
        where_ = tuple(np.minimum(np.maximum(a, 0), size - 1) for a, size in zip(args, array.shape))
        return array[where_].astype(np.int64) if array.dtype.kind in "iu" else array[where_]
    if op in FOLD and op not in ("floordiv", "mod"):
        return FOLD[op](*args)
    if op in ("floordiv", "mod"):
        return FOLD[op](args[0], np.where(np.asarray(args[1]) == 0, 1, args[1]))
    simple = {
        "div": np.divide, "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "and": np.logical_and,
        "or": np.logical_or, "not": np.logical_not, "where": np.where,
        "cast": lambda a: np.asarray(a).astype(NUMPY[part.type]),
        "min": lambda a, b: np.where(b < a, b, a), "max": lambda a, b: np.where(b > a, b, a),
    }  # fmt: skip
    if op not in simple:
        raise ValueError(f"{op} cannot be evaluated on the host")
    with np.errstate(all="ignore"):
        return simple[op](*args)


NUMPY = {"bool": np.bool_, "int": np.int32, "long": np.int64, "float": np.float32, "double": np.float64}


def interpret(expr: Expr, env: dict, read):
    """The expression for one cell on the host, lazily as on the device.

    Parameters
    ----------
    env : dict
        "i", "j", "n", "m" and the parameters by name.
    read : function of (a, b)
        The value of a cell; it may note what is read.
    """
    made = {}

    def value(part):
        key = id(part)
        if key not in made:
            made[key] = step(part)
        return made[key]

    def forget_below(part, k):
        for below in walk(part):
            if depends_on_node(below, k):
                made.pop(id(below), None)

    def over(part):
        k, lo, hi, body = part.args[:4]
        best, at = None, -1
        total = NUMPY[body.type](0) if body.type in ("float", "double") else 0
        lo, hi = value(lo), value(hi)
        for here in range(lo, hi):
            forget_below(body, k)
            made[id(k)] = here
            x = value(body)
            if part.data == "sum":
                total = total + x
            elif x == x and (best is None or (x < best if part.data == "min" else x > best)):
                best, at = x, here
        forget_below(body, k)
        if part.op == "argreduce":
            return at
        if part.data == "sum":
            return total
        if lo >= hi and len(part.args) > 4:
            return value(part.args[4])
        return neutral(part.data, part.type) if best is None else best

    def step(part):
        op, args = part.op, part.args
        if op == "cell":
            return read(int(value(args[0])), int(value(args[1])))
        if op == "where":
            return value(args[1] if value(args[0]) else args[2])
        if op == "and":
            return bool(value(args[0])) and bool(value(args[1]))
        if op == "or":
            return bool(value(args[0])) or bool(value(args[1]))
        if op == "not":
            return not value(args[0])
        if op in ("reduce", "argreduce"):
            return over(part)
        if op == "const":
            return NUMPY[part.type](part.data) if part.type in ("float", "double") else part.data
        if op in ("i", "j", "n", "m"):
            return int(env[op])
        if op == "parameter":
            return _plain(env[part.data])
        if op == "load":
            array, at = np.asarray(env[part.data]), tuple(int(value(a)) for a in args)
            if any(not 0 <= a < size for a, size in zip(at, array.shape)):
                raise IndexError(f"{part.data}{list(at)} is outside its shape {array.shape}")
            return _plain(array[at])
        if op in ("min", "max"):
            a, b = map(value, args)
            return b if (b < a if op == "min" else b > a) else a
        if op in ("which_min", "which_max"):
            best, at = value(args[0]), 0
            for place_, arg in enumerate(args[1:], 1):
                x = value(arg)
                if x < best if op == "which_min" else x > best:
                    best, at = x, place_
            return at
        if op == "cast":
            x = value(args[0])
            return int(x) if part.type in LIMITS else NUMPY[part.type](x)
        if op in ("floordiv", "mod") and value(args[1]) == 0:
            return 0
        operands = [value(a) for a in args]
        if part.type in ("float", "double"):
            operands = [NUMPY[part.type](x) for x in operands]
        with np.errstate(all="ignore"):
            return SCALAR[op](*operands)

    return value(expr)


SCALAR = {**FOLD, "div": operator.truediv, "neg": operator.neg, "abs": abs, "sqrt": np.sqrt}


def _plain(x):
    """A NumPy integer as Python's, which does not wrap around."""
    return int(x) if isinstance(x, (int, np.integer)) else x


def depends_on_node(expr, target) -> bool:
    return any(part is target for part in walk(expr))


def neutral(kind: str, type: str):
    """What a reduction over nothing is: the largest value for "min", the smallest for "max", 0 for "sum"."""
    if kind == "sum":
        return 0
    if type in LIMITS:
        return LIMITS[type][1 if kind == "min" else 0]
    return math.inf if kind == "min" else -math.inf
