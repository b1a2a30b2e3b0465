"""Expression graphs: their limits, pickling, and values on the host."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clgeom.dp.language.graphs import fold, walk
from clgeom.dp.language.mistakes import mistake
from clgeom.dp.language.trace import FOLD, Expr, widest
from clgeom.dp.language.types import LIMITS
from clgeom.errors import InvalidInput
from clgeom.intake.typing import NDArray

#: Most operators inside each other. Compilers accept 256 nested brackets; the writer of nodes makes three nested calls
#: for each operator, and Python's stack has 1,000.
MOST_DEEP = 240
NUMPY = {
    "bool": np.bool_,
    "int": np.int32,
    "long": np.int64,
    "ulong": np.uint64,
    "float": np.float32,
    "double": np.float64,
}


def require_shallow(name: str, *roots: Expr | None) -> None:
    """Refuse expressions that are too deep for compilers."""
    depths = fold(lambda part, below: 1 + max(below, default=-1), {}, *roots)
    deepest = max(depths.values(), default=0)
    if deepest > MOST_DEEP:
        raise InvalidInput(
            f"{name} has {deepest:,} operators inside each other, and {MOST_DEEP} is the most that compilers take: use "
            "dp.sum_over or dp.min_over, not a loop in Python."
        )


def loop_of(part: Expr) -> tuple[Any, ...]:
    """Return a key that reductions share if one loop computes both: kind, index, range and expression."""
    return (part.data, *map(id, part.args[:4]))


def require_bound(*roots: Expr | None) -> None:
    """Refuse an index that is read outside of the reductions over it."""
    bound = {part.args[0] for part in walk(*roots) if part.op in ("reduce", "argreduce")}
    for part in walk(*roots):
        if part.op == "index" and part not in bound:
            raise mistake(f"The index {part.data!r} is read outside of the reductions over it.")


def as_rows(*roots: Expr | None) -> tuple[list[Any], list[Any]]:
    """Return the graph as (a row for each node, the number of each root), for pickling without recursion.

    A row has its operands by number; operands come first. The number of None is None.
    """
    parts = list(walk(*roots))
    numbers = {part: k for k, part in enumerate(parts)}
    rows = [(p.op, tuple(numbers[arg] for arg in p.args), p.type, p.data) for p in parts]
    return rows, [None if root is None else numbers[root] for root in roots]


def from_rows(rows: list[Any], numbers: list[int | None]) -> list[Any]:
    """Return the roots of a graph from the rows of `as_rows`."""
    parts: list[Expr] = []
    for op, args, type, data in rows:
        parts.append(Expr(op, tuple(parts[k] for k in args), type, data))
    return [None if k is None else parts[k] for k in numbers]


# Values on the host -----------------------------------------------------------------------------------------------


def evaluate(expr: Expr, env: Mapping[str, Any], known: dict[Expr, Any]) -> Any:
    """Evaluate an expression without cells and reductions on the host, for arrays of indices, in the device's types.

    `env`: "i", "j", "n", "m" as needed, and parameters by name.
    `known`: Values of nodes in the same `env`, which grow; it has those of indices of reductions.

    Both sides of every branch are evaluated, so an index of a parameter that is out of range is moved to the nearest
    element: its branch may not be taken.
    """
    return fold(lambda part, args: _evaluated(part, args, env), known, expr)[expr]


def _evaluated(part: Expr, args: list[Any], env: Mapping[str, Any]) -> Any:
    op = part.op
    if op == "const":
        return np.asarray(part.data, host_type(part))
    if op in ("i", "j", "n", "m"):
        return np.asarray(env[op], np.int64)
    if op == "parameter":
        return np.asarray(env[part.data]).astype(host_type(part))
    if op == "load":
        array = np.asarray(env[part.data])
        if array.size == 0:
            return np.zeros(np.broadcast_shapes(*map(np.shape, args)), host_type(part))
        nearest = (np.minimum(np.maximum(at, 0), size - 1) for at, size in zip(args, array.shape))
        return array[tuple(nearest)].astype(host_type(part))
    if op in ("and", "or", "where"):
        return ON_ARRAYS[op](*args)
    result = applied(part, args)
    return result.astype(np.int32).astype(np.int64) if part.type == "int" and op in WRAPPED else result


def host_type(part: Expr) -> Any:
    """Return the NumPy type of a node's values on the host; integers are int64, so that overflow of int32 shows."""
    return np.int64 if part.type == "int" else NUMPY[part.type]


def applied(part: Expr, values: Any) -> Any:
    """Return the result of one operator without branches, as the device computes it: floats in the widest type of the
    operands, 0 for a division of integers by zero. An int32 result has not wrapped around yet."""
    op = part.op
    if op not in ON_ARRAYS and op != "cast":
        raise ValueError(f"{op} cannot be evaluated on the host")
    if op == "cast":
        return cast(values[0], part.type).astype(host_type(part))
    type = widest(part.args)
    if type in ("float", "double", "ulong"):
        values = [v.astype(NUMPY[type]) for v in values]
    with np.errstate(all="ignore"):
        if op in ("floordiv", "mod"):
            zero = values[1] == 0
            return np.where(zero, 0, ON_ARRAYS[op](values[0], np.where(zero, 1, values[1])))
        return np.asarray(ON_ARRAYS[op](*values))


def cast(values: Any, type: str) -> Any:
    """Return the values converted to another type: integers wrap around; floats are cut towards zero and to the range
    of the type, and NaN becomes 0.
    """
    if type not in LIMITS or values.dtype.kind != "f":
        return values.astype(NUMPY[type])
    low, high = LIMITS[type]
    with np.errstate(invalid="ignore"):
        inside = (values > -float(high + 1)) & (values < float(high + 1))
        inside &= values >= low if low == 0 else True
        whole = np.where(inside, values, 0).astype(np.uint64 if low == 0 else np.int64)
        beyond = np.where(values > 0, high, np.where(values < 0, low, 0)).astype(whole.dtype)
    return np.where(inside, whole, beyond).astype(NUMPY[type])


def _shifted(left: bool) -> Callable[..., Any]:
    """``<<`` or ``>>`` of arrays: counts above 63 leave the sign only, negative counts give 0."""
    shift = np.left_shift if left else np.right_shift

    def apply(a: NDArray[Any], count: NDArray[Any]) -> NDArray[Any]:
        if np.asarray(a).dtype == np.uint64:
            return np.where(count > 63, np.uint64(0), shift(a, np.minimum(count, np.uint64(63))))
        a, count = np.broadcast_arrays(np.asarray(a, np.int64), np.asarray(count, np.int64))
        far = 0 if left else np.where(a < 0, -1, 0)
        return np.where(count < 0, 0, np.where(count > 63, far, shift(a, np.clip(count, 0, 63))))

    return apply


def _first_best(better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return the number of the best value: a later one wins if it is better, and NaN is better than nothing."""

    def apply(*values: Any) -> NDArray[Any]:
        best, at = np.asarray(values[0]), np.zeros(np.broadcast_shapes(*map(np.shape, values)), np.int64)
        for number, value in enumerate(values[1:], 1):
            wins = better(value, best)
            best, at = np.where(wins, value, best), np.where(wins, number, at)
        return at

    return apply


ON_ARRAYS: dict[str, Callable[..., Any]] = {
    **FOLD,
    "shl": _shifted(True),
    "shr": _shifted(False),
    "bitnot": np.invert,
    "div": np.divide,
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "where": np.where,
    "which_min": _first_best(operator.lt),
    "which_max": _first_best(operator.gt),
    "min": lambda a, b: np.where(b < a, b, a),
    "max": lambda a, b: np.where(b > a, b, a),
}
#: Operators whose result may go beyond the type of integers, where it wraps around.
WRAPPED = frozenset(("add", "sub", "mul", "neg", "abs", "shl", "floordiv"))
