"""Expression graphs: the nodes that the operators of a traced Python function build.

An `Expr` is one node. Equal nodes of one trace are one object, so that common subexpressions are computed once.
`types` has the types of nodes, `indexed` the cells and arrays of a traced function, `functions` what users write
besides operators, `nodes` and `analysis.sums` the analysis of nodes; `codegen.text` writes nodes as OpenCL C,
`analysis.dependences` finds which cells they read.
"""

from __future__ import annotations

import abc
import numbers
import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeAlias

import numpy as np

from clgeom.dp.language.graphs import fold, walk
from clgeom.dp.language.intervals import Intervals, integer_result, within
from clgeom.dp.language.mistakes import mistake, refusal
from clgeom.dp.language.types import C_NAME, LIMITS, TYPES, WIDE, cell_type, float_type, is_exact, traced
from clgeom.errors import short

#: Most nodes of an equation. Only a Python loop that unrolls a table makes more.
MOST_NODES = 20_000
#: A method of two operands.
Operator: TypeAlias = Callable[["Expr", "Operand"], "Expr"]


def widened(op: str, *args: Any) -> tuple[Expr, ...]:
    """Return the operands of an operator of integers, as int64 where the equation asks for it; see `Trace`."""
    trace = traced.get()
    if trace is None or not trace.exact or widest(args) != "int":
        return args
    intervals = Intervals(trace.parameters, known=trace.intervals)
    if within(integer_result(op, "int", [intervals.of_integer(arg) for arg in args]), "int"):
        return args
    return tuple(convert(arg, "long") for arg in args)


def _both_sides(make: Callable[[Any, Any], Expr]) -> tuple[Operator, Operator]:
    """Return the methods of an operator of two operands, with the node on the left and on the right."""
    return lambda self, other: make(self, other), lambda self, other: make(other, self)


def _comparison(op: str) -> Operator:
    """Return the method of a comparison."""
    return lambda self, other: compare(op, self, other)


class Expr:
    """A node: an operator, its operands and its type. Nodes are compared by identity; ``==`` makes a comparison node.

    Attributes
    ----------
    op : str
        const i j k n m p index parameter load cell · add sub mul div floordiv mod neg abs sqrt · lt le gt ge eq ne ·
        and or not · bitand bitor bitxor bitnot shl shr · where min max which_min which_max cast · reduce argreduce ·
        record
    args : tuple of Expr
    type : str
        One of TYPES, or "record".
    data : object
        The value of a constant, the name of a parameter or index, the kind of a reduction ("min", "max", "sum"); "" of
        a cell whose own type is narrower, or its field; the fields of a record, and whether they are narrower; the name
        of a third index or length in C.
    """

    __slots__ = ("op", "args", "type", "data")
    op: str
    args: tuple[Expr, ...]
    type: str
    data: Any
    __hash__ = object.__hash__
    __array_ufunc__ = None  # NumPy scalars on the left then use the operator of Expr

    def __init__(self, op: str, args: tuple[Expr, ...], type: str, data: Any) -> None:
        self.op, self.args, self.type, self.data = op, args, type, data

    def __repr__(self) -> str:
        inside = ", ".join([*([repr(self.data)] if self.data is not None else []), *map(repr, self.args)])
        return f"{self.op}({inside})" if inside else self.op

    def __bool__(self) -> bool:
        raise mistake(
            "An equation cannot branch on a cell or an index with 'if', 'and', 'or', 'not', a chained comparison or "
            "Python's min and max: write dp.where(condition, a, b), conditions with &, | and ~, and dp.minimum and "
            "dp.maximum."
        )

    def __iter__(self) -> Iterator[Any]:
        raise mistake("A part of an equation cannot be iterated over: write dp.min_over, max_over or sum_over.")

    def __index__(self) -> int:
        raise mistake("A part of an equation has no value while it is traced: use dp.min_over for range(...).")

    __int__ = __float__ = __index__

    __add__, __radd__ = _both_sides(lambda a, b: arithmetic("add", a, b))
    __sub__, __rsub__ = _both_sides(lambda a, b: arithmetic("sub", a, b))
    __mul__, __rmul__ = _both_sides(lambda a, b: arithmetic("mul", a, b))
    __truediv__, __rtruediv__ = _both_sides(lambda a, b: divide(a, b))
    __floordiv__, __rfloordiv__ = _both_sides(lambda a, b: whole("floordiv", a, b))
    __mod__, __rmod__ = _both_sides(lambda a, b: whole("mod", a, b))
    __and__, __rand__ = _both_sides(lambda a, b: bitwise("&", a, b))
    __or__, __ror__ = _both_sides(lambda a, b: bitwise("|", a, b))
    __xor__, __rxor__ = _both_sides(lambda a, b: bitwise("^", a, b))
    __lshift__, __rlshift__ = _both_sides(lambda a, b: shift("<<", a, b))
    __rshift__, __rrshift__ = _both_sides(lambda a, b: shift(">>", a, b))

    def __neg__(self) -> Expr:
        return node("neg", *widened("neg", number(self)))

    def __pos__(self) -> Expr:
        return number(self)

    def __abs__(self) -> Expr:
        return node("abs", *widened("abs", number(self)))

    def __invert__(self) -> Expr:
        """Return the negation of a condition, or of the bits of an integer."""
        if _is_condition(self, "~"):
            return node("not", self, type="bool")
        return node("bitnot", self)

    __lt__, __le__ = _comparison("lt"), _comparison("le")
    __gt__, __ge__ = _comparison("gt"), _comparison("ge")
    # comparisons of expressions are expressions: checkers expect bool
    __eq__ = _comparison("eq")  # type: ignore[assignment]
    __ne__ = _comparison("ne")  # type: ignore[assignment]


#: Operands of an operator of expressions.
Operand: TypeAlias = Expr | float | np.number[Any] | np.bool_


class Indexed(abc.ABC):
    """What a traced function reads by indices; as a whole it is no number."""

    @abc.abstractmethod
    def refuse(self, *_: object) -> NoReturn:
        """Say that it needs indices."""


#: Operators of Python that equations do not have, and their replacements.
REFUSED = {
    "pow rpow": "'**' is no operator of equations: write x * x.",
    "matmul rmatmul": "'@' is no operator of equations.",
    "divmod rdivmod": "divmod is no part of equations: write // and %.",
    "round trunc floor ceil": "An equation rounds by dp.cast(x, 'int32'), towards zero.",
    "complex": "An equation has no complex numbers.",
}
for _names, _message in REFUSED.items():
    for _name in _names.split():
        setattr(Expr, f"__{_name}__", refusal(_message))


# Making nodes ---------------------------------------------------------------------------------------------------


def node(op: str, *args: Any, type: str | None = None, data: float | str | None = None) -> Expr:
    """Return the node for this operator and these operands; an existing node of the trace if there is one."""
    type = type or widest(args)
    trace = traced.get()
    if trace is None:
        return Expr(op, args, type, data)
    key: tuple[Any, ...] = (op, tuple(map(id, args)), type, data, data.__class__)
    if op == "const":
        key = (op, type, repr(data))
    existing: Expr | None = trace.nodes.get(key)
    if existing is None:
        if len(trace.nodes) >= MOST_NODES:
            raise mistake(
                f"The equation has more than {MOST_NODES:,} operations: use dp.min_over, not a loop in Python."
            )
        existing = trace.nodes[key] = Expr(op, args, type, data)
    return existing


def widest(args: Any) -> str:
    """Return the widest type of these nodes."""
    return TYPES[max(TYPES.index(arg.type) for arg in args)]


# Values as nodes ------------------------------------------------------------------------------------------------


def constant(value: float | None, type: str | None = None) -> Expr:
    """Return a number as a node of the given type, by default the narrowest that holds it."""
    if isinstance(value, (bool, np.bool_)):
        return node("const", type="bool", data=bool(value))
    if isinstance(value, numbers.Integral):
        value = int(value)
        if type in (None, "bool", "int"):
            type = next((name for name, (low, high) in LIMITS.items() if low <= value <= high), "long")
        if type in ("long", "ulong") and not LIMITS[type][0] <= value <= LIMITS[type][1]:
            raise mistake(f"The number {value} does not fit 64 bits{' without a sign' * (type == 'ulong')}.")
        return node("const", type=type, data=float(value) if type in ("float", "double") else value)
    if isinstance(value, numbers.Real):
        if type not in ("float", "double"):
            type = float_type()
        if type == "float":
            with np.errstate(over="ignore"):
                value = np.float32(value)
        return node("const", type=type, data=float(value))
    expected = "a number, a cell, an index or a parameter"
    raise mistake(f"A part of an equation must be {expected}. Got {short(value)} instead.")


def expression(value: Any, type: str | None = None) -> Expr:
    """Return a value as a node; a plain number takes the given type if it fits."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, Indexed):
        value.refuse()
    return constant(value, type)


def number(value: Any, type: str | None = None) -> Expr:
    """Return a value as a numeric node; conditions become 0 and 1."""
    value = expression(value, type)
    return convert(value, "int") if value.type == "bool" else value


def operands(a: Any, b: Any) -> tuple[Expr, Expr]:
    """Return two values as numeric nodes; a plain number takes the type of the other."""
    type = a.type if isinstance(a, Expr) else b.type if isinstance(b, Expr) else None
    a, b = number(a, type), number(b, type)
    if widest((a, b)) == "ulong":  # C does so by itself, and the graph shows it
        a, b = convert(a, "ulong"), convert(b, "ulong")
    return a, b


def condition(value: Any) -> Expr:
    """Return a value as a condition; a number holds where it is not 0."""
    value = expression(value)
    return value if value.type == "bool" else compare("ne", value, 0)


def convert(value: Expr, type: str | None) -> Expr:
    """Return the node converted to this type."""
    if value.type == type:
        return value
    if value.op == "const":
        if type in LIMITS and value.type in ("bool", *LIMITS):
            low, high = LIMITS[type]
            if not low <= value.data <= high:
                raise mistake(f"The number {value.data} does not fit the cells' type.")
            return node("const", type=type, data=int(value.data))
        if type in ("float", "double"):
            return constant(float(value.data), type)
    return node("cast", value, type=type)


def as_index(value: Any, what: Any) -> Expr:
    """Return a value as an integer node, for use as an index."""
    value = expression(value)
    if value.type not in LIMITS:
        raise mistake(f"An index of {what} must be an integer. Got one of type {value.type} instead.")
    return convert(value, "long") if value.type == "ulong" else value


# Operators, with constants folded --------------------------------------------------------------------------------


#: Python's function for an operator of two constants.
FOLD = {name: getattr(operator, name) for name in "add sub mul lt le gt ge eq ne floordiv mod".split()}
FOLD |= {"bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor}
FOLD |= {"shl": operator.lshift, "shr": operator.rshift}


def folded(op: str, a: Any, b: Any, type: str) -> Expr:
    """Return the constant result of two integer constants, wrapped around in its type as on the device."""
    low, high = LIMITS[type]
    return node("const", type=type, data=low + (FOLD[op](a.data, b.data) - low) % (high - low + 1))


def arithmetic(op: str, a: Any, b: Any) -> Expr:
    """Return a sum, difference or product; steps added to an index are merged into one where they fit its type."""
    a, b = operands(a, b)
    if op == "mul" and widest((a, b)) == "int" and cell_type() in WIDE:
        a, b = convert(a, "long"), convert(b, "long")  # i * j may pass 32 bits where the cells need not
    elif op != "mul":
        a, b = widened(op, a, b)
    type = widest((a, b))
    if type not in LIMITS:
        return node(op, a, b)
    if a.op == b.op == "const":
        return folded(op, a, b, type)
    if op in ("add", "sub") and b.op == "const" and a.type == type:
        step = b.data if op == "add" else -b.data
        if step == 0:
            return number(a)
        if a.op in ("add", "sub") and a.args[1].op == "const" and a.args[0].op in ("i", "j", "k", "index"):
            both = step + (a.args[1].data if a.op == "add" else -a.args[1].data)  # i - 1 + 1 is i
            if LIMITS[type][0] < both <= LIMITS[type][1]:
                return arithmetic("add", convert(a.args[0], type), constant(both, type))
        if step < 0 and op == "add" and step > LIMITS["int"][0]:
            return node("sub", a, constant(-step, b.type))
    return node(op, a, b)


def divide(a: Any, b: Any) -> Expr:
    """Return a quotient of floats."""
    a, b = operands(a, b)
    if widest((a, b)) not in ("float", "double"):
        if cell_type() not in ("float", "double"):
            raise mistake("'/' divides floats: write // for integers, or dp.cast(x, 'float32') first.")
        a, b = convert(a, cell_type()), convert(b, cell_type())
    return node("div", a, b)


def whole(op: str, a: Any, b: Any) -> Expr:
    """Return a quotient rounded down, or its remainder."""
    a, b = operands(a, b)
    if widest((a, b)) not in LIMITS:
        raise mistake(f"'{'//' if op == 'floordiv' else '%'}' takes integers in an equation.")
    if b.op == "const" and b.data == 0:
        raise mistake("Division by zero.")
    if op == "floordiv":
        a, b = widened(op, a, b)
    if a.op == b.op == "const":
        return folded(op, a, b, widest((a, b)))
    return node(op, a, b)


def compare(op: str, a: Any, b: Any) -> Expr:
    """Return a comparison."""
    a, b = operands(a, b)
    if a.op == b.op == "const":
        a, b = (convert(value, widest((a, b))) for value in (a, b))
        return constant(FOLD[op](a.data, b.data))
    return node(op, a, b, type="bool")


def logical(op: str, a: Any, b: Any) -> Expr:
    """Return two conditions joined by "and" or "or"."""
    a, b = condition(a), condition(b)
    known = settled(op, a, b)
    return node(op, a, b, type="bool") if known is None else known


BITS = {"&": "bitand", "|": "bitor", "^": "bitxor"}


def bitwise(symbol: str, a: Any, b: Any) -> Expr:
    """``& | ^`` of two conditions, which join them, or of two integers, bit by bit."""
    conditions = [_is_condition(value, symbol) for value in (a, b)]
    if all(conditions):
        return compare("ne", a, b) if symbol == "^" else logical({"&": "and", "|": "or"}[symbol], a, b)
    if any(conditions):
        raise mistake(
            f"'{symbol}' joins two conditions, or the bits of two integers. Got a condition and an integer: compare "
            f"the integer, and set brackets, as in (x {symbol} 1) != 0."
        )
    a, b = operands(a, b)
    if a.op == b.op == "const":
        return folded(BITS[symbol], a, b, widest((a, b)))
    return node(BITS[symbol], a, b)


def _is_condition(value: Any, symbol: str) -> bool:
    """Return whether a value is a condition; else it is an integer."""
    value = expression(value)
    if value.type not in ("bool", *LIMITS):
        raise mistake(f"'{symbol}' takes conditions or integers. Got a value of type {value.type} instead.")
    return bool(value.type == "bool")


def shift(symbol: str, a: Any, b: Any) -> Expr:
    """``<<`` and ``>>`` of integers, as in Python; a shift by the width of the type or more leaves the sign only."""
    a, b = operands(a, b)
    if widest((a, b)) not in LIMITS:
        raise mistake(f"'{symbol}' takes integers in an equation.")
    if b.op == "const" and b.data < 0:
        raise mistake(f"'{symbol}' takes a count that is not negative. Got {b.data} instead.")
    op = {"<<": "shl", ">>": "shr"}[symbol]
    type = widest((a, b))
    type = "long" if op == "shl" and type == "int" and cell_type() in WIDE else type  # as products
    if a.op == b.op == "const" and b.data < 64:
        return folded(op, a, b, type)
    return node(op, convert(a, type), convert(b, type))


def settled(op: str, a: Expr, b: Expr) -> Expr | None:
    """Return the value of "and" or "or" where a constant side decides it; else None."""
    for known, other in ((a, b), (b, a)):
        if known.op == "const":
            return other if known.data == (op == "and") else known
    return None


# Substitution -----------------------------------------------------------------------------------------------------


def rebuild(expr: Expr, change: Callable[[Expr], Expr], known: dict[Expr, Expr]) -> Expr:
    """Return the expression whose nodes are changed one by one, operands first. `known`: new nodes by node, grows."""
    changed: Expr = fold(lambda part, args: change(with_args(part, tuple(args))), known, expr)[expr]
    return changed


def with_args(part: Expr, args: tuple[Expr, ...]) -> Expr:
    """Return the node with other operands; the node itself if they are the same."""
    same = all(x is y for x, y in zip(args, part.args))
    return part if same else Expr(part.op, args, part.type, part.data)


# Several operands ------------------------------------------------------------------------------------------------


def alike(values: Any) -> list[Expr]:
    """Return the values as nodes of their widest type."""
    like = [v for v in values if isinstance(v, Expr) and v.op != "const"]
    nodes = [expression(v, widest(like) if like else None) for v in values]
    return [convert(part, widest(nodes)) for part in nodes]


def extreme(op: str, *values: Any) -> Expr:
    """Return the least ("min") or largest ("max") of values."""
    result, *rest = map(number, alike(values))
    for value in rest:
        if result.op == value.op == "const":
            first = not (value.data < result.data if op == "min" else value.data > result.data)
            result = result if first else value
        elif result is not value:
            result = node(op, result, value)
    return result


def new_index(name: Any) -> Expr:
    """Return a new index of reductions, with a name in C."""
    if not isinstance(name, str) or not C_NAME.match(name):
        raise mistake(f"An index must have a name in C. Got {short(name)} instead.")
    return Expr("index", (), "int", name)


def reduction(op: str, kind: str, k: Any, lo: Any, hi: Any, expr: Any, empty: Any = None) -> Expr:
    """Return a reduction of an expression, or of a function of the index, over lo <= k < hi."""
    lo, hi = as_index(lo, "a reduction"), as_index(hi, "a reduction")
    if isinstance(k, str):
        if not callable(expr):
            raise mistake("With a name for the index, the expression must be a function of it: lambda k: ...")
        k, trace = new_index(k), traced.get()
        if trace is None:
            expr = expr(k)
        else:  # equally deep reductions share an index, so that a minimum and the index where it is are one loop
            trace.depth += 1
            k = trace.indices.setdefault((k.data, lo, hi, trace.depth), k)
            try:
                expr = expr(k)
            finally:
                trace.depth -= 1
    elif callable(expr):
        expr = expr(k)
    if not isinstance(k, Expr) or k.op != "index":
        raise mistake("The first argument must be an index, from dp.index('k'), or a name.")
    body = number(expr)
    if body.op == "const" and cell_type() is not None:
        body = convert(body, cell_type())
    if kind == "sum" and body.type == "int" and is_exact():
        body = convert(body, "long")
    k, body = _own_index(kind, k, lo, hi, body)
    if empty is None:
        return node(op, k, lo, hi, body, type="int" if op == "argreduce" else body.type, data=kind)
    empty, body = alike((empty, body))
    return node(op, k, lo, hi, body, empty, type=body.type, data=kind)


def _own_index(kind: str, k: Expr, lo: Expr, hi: Expr, body: Expr) -> tuple[Expr, Expr]:
    """Return a new index for a loop, and its body with this index: users may write one index in several reductions.

    Equal loops of a trace share their index.
    """
    trace, key = traced.get(), (kind, k, lo, hi, body)
    loops, indices = ({}, {}) if trace is None else (trace.loops, trace.indices_of)
    if key not in loops:
        index = Expr("index", (), k.type, k.data)
        loops[key] = index, _with_index(body, k, index, indices)
    index, body = loops[key]
    return index, body


def _with_index(body: Expr, k: Expr, own: Expr, indices: dict[Expr, frozenset[Expr]]) -> Expr:
    """Return the body of a loop with another index.

    Loops inside that change get indices of their own, too: an index has the range of one loop. `indices` are those that
    occur in each node; it grows.
    """

    def occurring(part: Expr, args: list[frozenset[Expr]]) -> frozenset[Expr]:
        return frozenset().union(*args, (part,) if part.op == "index" else ())

    def changed(part: Expr, args: list[Expr]) -> Expr:
        if part.op in ("reduce", "argreduce") and any(new is not old for new, old in zip(args, part.args)):
            key = (part.data, *part.args[:4])  # a minimum and the index where it is remain one loop
            if key not in loops:
                index = Expr("index", (), args[0].type, args[0].data)
                loops[key] = index, _with_index(args[3], args[0], index, indices)
            index, inner = loops[key]
            args = [index, *args[1:3], inner, *args[4:]]
        return with_args(part, tuple(args))

    loops: dict[Any, tuple[Expr, Expr]] = {}
    fold(occurring, indices, body)
    if k not in indices[body]:
        return body
    dependent = walk(body, operands=lambda part: [arg for arg in part.args if k in indices[arg]])
    known = {arg: arg for part in dependent for arg in part.args if k not in indices[arg]}
    new: Expr = fold(changed, {**known, k: own}, body)[body]
    return new
