"""Expressions of equations for one cell in plain Python, lazily as on the device."""

import math
import operator

import numpy as np

LIMITS = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
FLOATS = {"float": np.float32, "double": np.float64}
OPERATORS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "abs": abs,
    "sqrt": np.sqrt,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
    "bitnot": operator.invert,
    "shl": operator.lshift,
    "shr": operator.rshift,
}


def interpret(expr, env, read):
    """The value of a node.

    Parameters
    ----------
    env : dict
        "i", "j", "n", "m" and the parameters by name; nodes of indices with what they are.
    read : function of (a, b)
        The value of a cell; it may note what is read.
    """
    op, args = expr.op, expr.args

    def value(part):
        return interpret(part, env, read)

    if op == "const":
        return FLOATS[expr.type](expr.data) if expr.type in FLOATS else expr.data
    if op in ("i", "j", "n", "m"):
        return int(env[op])
    if op == "index":
        return env[expr]
    if op == "parameter":
        return _plain(env[expr.data])
    if op == "cell":
        return read(int(value(args[0])), int(value(args[1])))
    if op == "load":
        array, at = np.asarray(env[expr.data]), tuple(int(value(a)) for a in args)
        if any(not 0 <= a < size for a, size in zip(at, array.shape)):
            raise IndexError(f"{expr.data}{list(at)} is outside its shape {array.shape}")
        return _plain(array[at])
    if op == "where":
        return value(args[1] if value(args[0]) else args[2])
    if op == "and":
        return bool(value(args[0])) and bool(value(args[1]))
    if op == "or":
        return bool(value(args[0])) or bool(value(args[1]))
    if op == "not":
        return not value(args[0])
    if op in ("min", "max"):
        a, b = map(value, args)
        return b if (b < a if op == "min" else b > a) else a
    if op in ("which_min", "which_max"):
        values = list(map(value, args))
        return values.index(min(values) if op == "which_min" else max(values))
    if op in ("reduce", "argreduce"):
        return _over(expr, env, read)
    if op == "cast":
        return int(value(args[0])) if expr.type in LIMITS else FLOATS[expr.type](value(args[0]))
    if op in ("floordiv", "mod") and value(args[1]) == 0:
        return 0
    operands = [FLOATS[expr.type](value(a)) if expr.type in FLOATS else value(a) for a in args]
    with np.errstate(all="ignore"):
        return OPERATORS[op](*operands)


def _over(expr, env, read):
    """A reduction, or where its best is found: the first of equals, never NaN."""
    k, lo, hi, body, *empty = expr.args
    places = range(interpret(lo, env, read), interpret(hi, env, read))
    values = [interpret(body, {**env, k: place}, read) for place in places]
    if expr.data == "sum":
        total = FLOATS[body.type](0) if body.type in FLOATS else 0
        for value in values:
            total = total + value
        return total
    if expr.op == "reduce" and not values and empty:
        return interpret(empty[0], env, read)
    best, at = None, -1
    for place, value in zip(places, values):
        if value == value and (best is None or (value < best if expr.data == "min" else value > best)):
            best, at = value, place
    if expr.op == "argreduce":
        return at
    if best is not None:
        return best
    if expr.type in LIMITS:
        return LIMITS[expr.type][expr.data == "min"]
    return math.inf if expr.data == "min" else -math.inf


def _plain(x):
    """A NumPy integer as Python's, which does not wrap around."""
    return int(x) if isinstance(x, (int, np.integer)) else x
