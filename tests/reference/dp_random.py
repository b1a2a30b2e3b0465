"""Random recurrences, right and wrong, and what they come to in plain Python."""

import hypothesis.strategies as st
import numpy as np

from clgeom import dp
from reference.dp import order
from reference.dp_nodes import interpret

#: Where the cells of a pattern may read, near enough for tiles.
NEAR = {
    "RUD": [(-1, -1), (-1, 0), (-1, 1), (-1, -2), (-1, 2)],
    "RDU": [(1, -1), (1, 0), (1, 1), (1, 2)],
    "CLR": [(-1, -1), (0, -1), (1, -1), (0, -2)],
    "CRL": [(-1, 1), (0, 1), (1, 1), (2, 1)],
    "NOSE": [(-1, -1), (-1, 0), (0, -1), (-2, 0), (-1, -2)],
    "SENO": [(1, 1), (1, 0), (0, 1), (2, 1)],
    "SONE": [(0, -1), (1, -1), (1, 0), (0, -2)],
    "NESO": [(-1, 0), (-1, 1), (0, 1), (-2, 1)],
}
#: Around the edges of small tiles, and lines.
SHAPES = [(1, 1), (1, 9), (11, 1), (2, 17), (7, 8), (9, 5), (16, 3), (13, 13)]


class Wrong(Exception):
    """A read that is not allowed: of a cell outside, or not yet filled; or an index out of range."""


def plainly(equation, shape, values):
    """The table of an equation with nodes, cell after cell; `Wrong` at the first read that is not allowed."""
    n, m = shape
    pattern, table = dp.PATTERNS[equation.pattern], np.zeros(shape, equation.dtype)
    done = np.zeros(shape, bool)
    limits = np.iinfo(equation.dtype) if equation.dtype.kind == "i" else None
    for i, j in order(equation.pattern, n, m):

        def read(a, b, i=i, j=j):
            if not (0 <= a < n and 0 <= b < m and pattern.allows(a - i, b - j)):
                raise Wrong((i, j), (a, b))
            assert done[a, b]
            return table[a, b] if limits is None else int(table[a, b])

        try:
            value = interpret(equation.value, {"i": i, "j": j, "n": n, "m": m, **values}, read)
        except IndexError as error:
            raise Wrong((i, j), str(error)) from error
        assert limits is None or limits.min <= value <= limits.max, "random recurrences do not overflow"
        table[i, j], done[i, j] = value, True
    return table


class Drawn:
    """A function of cells that draws its parts as it is traced."""

    def __init__(self, draw, pattern, dtype, guarded, reads):
        self.draw, self.pattern, self.guarded, self.reads = draw, pattern, guarded, reads
        self.floats = dtype.startswith("float")

    def one_of(self, *choices):
        return self.draw(st.sampled_from(choices))

    def __call__(self, M, i, j, n, m, w, p):
        self.M, self.i, self.j, self.n, self.m, self.w, self.p = M, i, j, n, m, w, p
        value = self.number(3)
        for _ in range(self.reads):
            value = self.joined(value, self.read())
        return value / 3 if self.floats else value % 1009

    def read(self):
        """A cell, or another number where it is outside the table; `guarded` says whether that is asked for."""
        di, dj = self.one_of(*NEAR[self.pattern])
        a, b = self.i + di, self.j + dj
        inside = (a >= 0) & (a < self.n) & (b >= 0) & (b < self.m)
        kind = self.one_of("plain", "not", "nested")
        if not self.guarded():
            return self.M[a, b]
        if kind == "not":
            return dp.where(~inside, self.leaf(), self.M[a, b])
        if kind == "nested":
            return dp.where((a >= 0) & (a < self.n), dp.where((b < 0) | (b >= self.m), 1, self.M[a, b]), self.leaf())
        return dp.where(inside, self.M[a, b], self.leaf())

    def joined(self, a, b):
        kind = self.one_of("add", "min", "max", "where", "sub")
        if kind == "where":
            return dp.where(self.condition(), a, b)
        return {
            "add": lambda: a + b,
            "sub": lambda: a - b,
            "min": lambda: dp.minimum(a, b),
            "max": lambda: dp.maximum(a, b),
        }[kind]()

    def leaf(self):
        kind = self.one_of("i", "j", "constant", "w", "p")
        if kind == "constant":
            return self.draw(st.integers(-20, 20)) * (0.25 if self.floats else 1)
        return {"i": self.i, "j": self.j, "p": self.p}[kind] if kind != "w" else self.w[(self.i * 3 + self.j) % 8]

    def number(self, depth):
        """An expression that reads no cell."""
        if depth == 0:
            return self.leaf()
        a, b = self.number(depth - 1), self.leaf()
        kind = self.one_of("joined", "mul", "whole", "bits", "shift", "minus", "sum")
        if kind == "joined":
            return self.joined(a, b)
        if kind == "mul":
            return a * self.one_of(-2, 1, 3)
        if kind == "sum":
            k = dp.index("k")
            return a + dp.sum_over(k, 0, self.i % 3, k * 2 - self.j)
        if kind == "minus":
            return -(0 * self.i + a)
        if self.floats:
            return abs(0 * self.i + a) / self.one_of(2, 3.0, 7)
        a = 0 * self.i + a
        by = self.one_of(-7, 3, 10)
        return {
            "whole": lambda: self.one_of(a // by, a % by),
            "bits": lambda: self.one_of(a & 13, a | self.j, a ^ self.i, ~a),
            "shift": lambda: self.one_of(a >> 2, a << 1, a >> self.j % 5),
        }[kind]()

    def condition(self):
        a, b = self.number(1), self.leaf()
        test = self.one_of(a < b, self.i >= self.j, (self.i + self.j) % 3 == 0, self.i != 0)
        other = self.one_of(self.j > 2, self.p > 0)
        return self.one_of(test, ~test, test & other, test | other, test ^ other)


@st.composite
def recurrences(draw, patterns=tuple(NEAR), dtypes=("int32", "int64", "float32", "float64"), wrong=False):
    """An equation, and its parameters. `wrong`: one of its reads may not ask whether it stays inside the table, or a
    parameter may be too short."""
    pattern, dtype = draw(st.sampled_from(patterns)), draw(st.sampled_from(dtypes))
    reads = draw(st.integers(1, 3))
    careless = draw(st.integers(0, reads - 1)) if wrong else -1
    counter = iter(range(reads))

    function = Drawn(draw, pattern, dtype, lambda: next(counter) != careless, reads)
    number = "float64" if dtype == "float64" else "float32" if function.floats else "int32"

    def cell(M, i, j, n, m, w, p):
        return function(M, i, j, n, m, w, p)

    equation = dp.Equation(cell, dtype=dtype, pattern=pattern, parameters={"w": f"{number}[]", "p": number})
    size = draw(st.integers(6, 8)) if wrong else 8
    numbers = st.integers(-9, 9)
    if function.floats:
        numbers = st.one_of(numbers, st.sampled_from((np.nan, np.inf, -np.inf, -0.0, 1e30, 1e-30)))
    values = draw(st.lists(numbers, min_size=size, max_size=size))
    return equation, {"w": np.array(values, number), "p": np.dtype(number).type(draw(st.integers(-3, 3)))}


@st.composite
def splits(draw):
    """An equation that splits each cell at the best k, and its parameters."""
    pattern, dtype = (
        draw(st.sampled_from(("SONE", "NESO"))),
        draw(st.sampled_from(("int32", "int64", "float32"))),
    )
    op, number = (
        draw(st.sampled_from((dp.min_over, dp.max_over))),
        "float32" if dtype == "float32" else "int32",
    )
    # k runs from lo + a to hi + b - 1, and the operands are M[i, k + left] and M[k + right, j]
    ends = [(a, b, left, right) for a in (0, 1) for b in (0, 1) for left in (-1, 0, 1) for right in (-1, 0, 1)]

    def is_right(a, b, left, right):
        if pattern == "NESO":
            left, right = right, left
        return b + left <= 0 < a + right and a + left >= 0 and b + right <= 1

    a, b, left, right = draw(st.sampled_from([way for way in ends if is_right(*way)]))
    kind = draw(st.sampled_from(("bare", "k", "both", "far")))
    decided, sign = draw(st.booleans()), draw(st.sampled_from((1, -1)))

    def cell(M, i, j, w):
        lo, hi = (i, j) if pattern == "SONE" else (j, i)
        k = dp.index("k")
        body = M[i, k + left] + M[k + right, j]
        if kind != "bare":
            term = {"k": w[k % 7], "both": w[i % 7] * w[j % 7] - k, "far": w[(i + k) % 7]}[kind]
            body = body + term if sign == 1 else body - term
        empty, best = lo + a >= hi + b, op(k, lo + a, hi + b, body)
        if not decided:
            return dp.where(empty, w[hi % 7], best)
        at = (dp.argmin_over if op is dp.min_over else dp.argmax_over)(k, lo + a, hi + b, body)
        return dp.where(empty, w[hi % 7], best), dp.where(empty, -1, at)

    values = draw(st.lists(st.integers(-9, 9), min_size=7, max_size=7))
    return dp.Equation(cell, dtype=dtype, pattern=pattern, parameters={"w": f"{number}[]"}), {
        "w": np.array(values, number)
    }


def in_c(equation):
    """The same in OpenCL C."""
    from clgeom.dp.codegen.cell import body_of

    body = body_of(equation, equation.value, None)
    return dp.Equation(
        body,
        dtype=equation.dtype,
        pattern=equation.pattern,
        parameters=dict(equation.parameters),
        name="in_c",
    )
