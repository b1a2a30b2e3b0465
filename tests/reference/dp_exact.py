"""Random expressions over integer parameters, as equations and as Python's integers."""

import numpy as np

from clgeom import dp

LONG = -(2**63), 2**63 - 1


class TooLarge(Exception):
    """An integer on the way goes beyond 64 bits, in which equations compute."""


class Exact:
    """Python's integers with the operators of equations."""

    def __init__(self, value):
        if not LONG[0] <= value <= LONG[1]:
            raise TooLarge
        self.value = int(value)

    def __add__(self, other):
        return type(self)(self.value + other.value)

    def __sub__(self, other):
        return type(self)(self.value - other.value)

    def __mul__(self, other):
        return type(self)(self.value * other.value)

    def __floordiv__(self, other):
        return type(self)(self.value // other.value if other.value else 0)

    def __mod__(self, other):
        return type(self)(self.value % other.value if other.value else 0)

    def __neg__(self):
        return type(self)(-self.value)

    def __abs__(self):
        return type(self)(abs(self.value))

    def __lt__(self, other):
        return self.value < other.value


class Modular(Exact):
    """Integers without a sign, which wrap around beyond 64 bits."""

    def __init__(self, value):
        self.value = int(value) % 2**64


def tree(rng, depth):
    """A random expression as nested tuples: (operator, operands)."""
    if depth == 0 or rng.random() < 0.1:
        return (str(rng.choice(["i", "j", "p", "q", "b", "w", "read", "one"])),)
    op = str(rng.choice("add sub mul neg abs floordiv mod min max where sum least".split()))
    count = {"neg": 1, "abs": 1, "where": 4, "sum": 1, "least": 1}.get(op, 2)
    return op, *(tree(rng, depth - 1) for _ in range(count))


def traced(node, names):
    """The expression of an equation; `names` has its leaves, and "k" for the index of a sum."""
    op, *args = node
    if op == "w":
        return names["w"][names["k"] if "k" in names else 0]
    if not args:
        return names[op]
    if op in ("sum", "least"):
        over = dp.sum_over if op == "sum" else dp.min_over
        return over("k", 0, 3, lambda k: traced(args[0], {**names, "k": k}))
    made = [traced(arg, names) for arg in args]
    return apply(op, made, dp.minimum, dp.maximum, dp.where)


def exact(node, names) -> Exact:
    """The value of the expression; raises `TooLarge`."""
    op, *args = node
    if op == "w":
        return names["w"][names.get("k", 0)]
    if not args:
        return names[op]
    if op in ("sum", "least"):
        found = [exact(args[0], {**names, "k": k}) for k in range(3)]
        return found[0] + found[1] + found[2] if op == "sum" else min(found, key=lambda one: one.value)
    made = [exact(arg, names) for arg in args]
    return apply(
        op,
        made,
        lambda a, b: b if b < a else a,
        lambda a, b: b if a < b else a,
        lambda test, a, b: a if test else b,
    )


def apply(op, args, least, most, where):
    a, b = args[0], args[-1]
    if op == "where":
        return where(args[0] < args[1], args[2], args[3])
    return {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "floordiv": lambda: a // b,
        "mod": lambda: a % b,
        "neg": lambda: -a,
        "abs": lambda: abs(a),
        "min": lambda: least(a, b),
        "max": lambda: most(a, b),
    }[op]()


def extreme(rng, dtype):
    """A value of a type: often one of its ends, or near to them."""
    info = np.iinfo(dtype)
    near = [info.min, info.max, info.min + 1, info.max - 1, info.max // 2 + 1, -1, 0, 1, 2]
    return max(int(rng.choice(near)), int(info.min))
