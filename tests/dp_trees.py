"""Expressions of traced equations, and what they are in plain Python integers."""

import operator

from clgeom import dp

ARRAY = {"w": "int32[]"}

WHOLE = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
    "min": min,
    "max": max,
}

UNARY = {"neg": operator.neg, "abs": abs, "bitnot": operator.invert}

#: How the language spells the operators that are none of Python's.
SPELLED = {**WHOLE, **UNARY, "floordiv": operator.floordiv, "mod": operator.mod}
SPELLED |= {"min": dp.minimum, "max": dp.maximum}
