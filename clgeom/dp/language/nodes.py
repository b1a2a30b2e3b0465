"""Graphs of nodes: what is below one, the same with others in it, its value on the host."""

from __future__ import annotations

import numpy as np

from clgeom.dp.language.trace import FOLD, LIMITS, Expr

NUMPY = {"bool": np.bool_, "int": np.int32, "long": np.int64, "float": np.float32, "double": np.float64}


def walk(*roots):
    """Every node below these, once, operands before what uses them. A root may be None."""
    seen, stack = set(), [(root, False) for root in reversed(roots) if root is not None]
    while stack:
        expr, ready = stack.pop()
        if ready:
            yield expr
        elif id(expr) not in seen:
            seen.add(id(expr))
            stack.append((expr, True))
            stack.extend((arg, False) for arg in reversed(expr.args))


def depth(*roots) -> int:
    """How many operators are inside each other."""
    deep = {}
    for part in walk(*roots):
        deep[part] = 1 + max((deep[arg] for arg in part.args), default=-1)
    return max(deep.values(), default=0)


def depends_on(expr: Expr, ops) -> bool:
    """Whether a node of one of these operators is below."""
    return any(part.op in ops for part in walk(expr))


def replace(expr: Expr, by: dict) -> Expr:
    """The expression with nodes replaced: `by` maps nodes to nodes."""
    made = dict(by)
    for part in walk(expr):
        if part not in made:
            made[part] = with_args(part, tuple(made[a] for a in part.args))
    return made[expr]


def with_args(part: Expr, args) -> Expr:
    """The node with other operands; itself where they are its own."""
    same = all(x is y for x, y in zip(args, part.args))
    return part if same else Expr(part.op, args, part.type, part.data)


def as_rows(*roots) -> tuple[list, list]:
    """The graph below these as plain values, for pickles, which take no deep ones: a row for each node, operands by
    number before what uses them; and the numbers of the roots, None for None."""
    parts = list(walk(*roots))
    places = {part: k for k, part in enumerate(parts)}
    rows = [(p.op, tuple(places[arg] for arg in p.args), p.type, p.data) for p in parts]
    return rows, [None if root is None else places[root] for root in roots]


def from_rows(rows, places) -> list:
    """The roots of the graph that `as_rows` wrote down."""
    parts = []
    for op, args, type, data in rows:
        parts.append(Expr(op, tuple(parts[k] for k in args), type, data))
    return [None if k is None else parts[k] for k in places]


# Values on the host -----------------------------------------------------------------------------------------------


def evaluate(expr: Expr, env: dict, made: dict) -> np.ndarray:
    """The expression on the host, for arrays of indices at once; no cells and no reductions in it.

    Parameters
    ----------
    env : dict
        "i", "j", "n", "m" as needed, and parameters by name.
    made : dict
        Keeps the values of nodes, for other expressions in the same `env`.

    Notes
    -----
    Nothing is lazy here: indices of parameters that are out of range are moved to the nearest element, for the branch
    that reads it may not be taken.
    """
    for part in walk(expr):
        if part not in made:
            made[part] = _evaluated(part, [made[a] for a in part.args], env)
    return made[expr]


def _evaluated(part, args, env):
    op = part.op
    if op == "const":
        return part.data
    if op in ("i", "j", "n", "m"):
        return np.asarray(env[op], np.int64)
    if op == "parameter":
        return env[part.data]
    if op == "load":
        return _element(np.asarray(env[part.data]), args)
    if op == "cast":
        return cast(np.asarray(args[0]), part.type)
    if op in ("floordiv", "mod"):
        return FOLD[op](args[0], np.where(np.asarray(args[1]) == 0, 1, args[1]))
    if op not in ON_ARRAYS:
        raise ValueError(f"{op} cannot be evaluated on the host")
    with np.errstate(all="ignore"):
        found = ON_ARRAYS[op](*args)
    if part.type == "int" and op in ("add", "sub", "mul", "neg", "abs", "shl"):
        return np.asarray(found).astype(np.int32).astype(np.int64)  # it wraps around
    return found


def cast(values, type) -> np.ndarray:
    """Values in another type: integers wrap around; floats are cut towards zero, to the nearest integer there is, and
    NaN is 0."""
    if type not in LIMITS or values.dtype.kind != "f":
        return values.astype(NUMPY[type])
    low, high = LIMITS[type]
    with np.errstate(invalid="ignore"):
        inside = (values > -float(high + 1)) & (values < float(high + 1))
        whole = np.where(inside, values, 0).astype(np.int64)
        beyond = np.where(values > 0, high, np.where(values < 0, low, 0))
    return np.where(inside, whole, beyond).astype(NUMPY[type])


def _shifted(left):
    """``<<`` or ``>>`` of arrays: all bits at once for counts that no type has, nothing for negative ones."""

    def apply(a, count):
        a, count = np.broadcast_arrays(np.asarray(a, np.int64), np.asarray(count, np.int64))
        found = (np.left_shift if left else np.right_shift)(a, np.clip(count, 0, 63))
        far = 0 if left else np.where(a < 0, -1, 0)
        return np.where(count < 0, 0, np.where(count > 63, far, found))

    return apply


ON_ARRAYS = {
    **FOLD, "shl": _shifted(True), "shr": _shifted(False), "bitnot": np.invert, "div": np.divide,
    "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "and": np.logical_and,
    "or": np.logical_or, "not": np.logical_not, "where": np.where,
    "which_min": lambda *values: np.argmin(np.broadcast_arrays(*values), axis=0),
    "which_max": lambda *values: np.argmax(np.broadcast_arrays(*values), axis=0),
    "min": lambda a, b: np.where(b < a, b, a), "max": lambda a, b: np.where(b > a, b, a),
}  # fmt: skip


def _element(array, indices):
    """Elements of a parameter; integers as int64, which does not wrap around."""
    if array.size == 0:
        return np.zeros(np.broadcast_shapes(*map(np.shape, indices)), array.dtype)
    inside = tuple(np.minimum(np.maximum(at, 0), size - 1) for at, size in zip(indices, array.shape))
    return array[inside].astype(np.int64) if array.dtype.kind in "iu" else array[inside]
