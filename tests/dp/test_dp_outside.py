"""Reads outside the table: proven before the fill on every path, or seen where conditions change."""

import itertools
import random

import numpy as np
import pytest

from clgeom import dp
from clgeom.dp.analysis import outside
from clgeom.dp.fills import Fill
from clgeom.dp.patterns import PATTERNS
from clgeom.errors import DependencyError

where = dp.where


def far_left(M, i, j):
    return where(i == 0, j + 1, where(j < 49, M[i - 1, j], M[i - 1, j] + M[i - 1, j - 50]))


def inner_corner(M, i, j):
    later = where((i < 40) | (j < 40), M[i - 1, j] % 7, M[i - 1, j - 1] + M[i - 41, j])
    return where((i == 0) | (j == 0), 1, later)


def right_edge(M, i, j, m):
    return where(i == 0, j, where(j < m - 30, M[i - 1, j + 30], where(j < m - 28, M[i - 1, j + 29], M[i - 1, j])))


def one_row(M, i, j):
    return where(i == 0, 0, M[i - 1, j] + where(i == 1777, M[i - 1, j + 1], 0))


def in_a_loop(M, i, j):
    return where(i == 0, 1, dp.min_over("k", 0, j - 10, lambda k: M[i - 1, k - 1]))


#: Equation, shape, the first cell that reads outside, and what it reads.
PROVEN = {
    "far left": (far_left, (3, 5000), (1, 49), (0, -1)),
    "far left in C": (
        "i==0 ? j+1 : j<49 ? M(i-1,j) : M(i-1,j)+M(i-1,j-50)",
        (3, 5000),
        (1, 49),
        (0, -1),
    ),
    "inner corner": (inner_corner, (3000, 3000), (40, 40), (-1, 40)),
    "right edge": (right_edge, (4, 4000), (1, 3971), (0, 4000)),
    "one row": (one_row, (4000, 300), (1777, 299), (1776, 300)),
    "in a loop": (in_a_loop, (50, 3000), (1, 11), (0, -1)),
}


@pytest.mark.parametrize("path", ("stages", "rows", None))
@pytest.mark.parametrize("case", PROVEN)
def test_a_proven_read_outside_the_table(session, case, path):
    what, shape, cell, read = PROVEN[case]
    equation = dp.Equation(what, pattern="NOSE" if case == "inner corner" else "RUD")
    if case == "inner corner" and path == "rows":
        path = None  # it takes no fast path
    for check in ("auto", False):
        with pytest.raises(DependencyError, match="outside the table") as found:
            dp.fill(equation, shape, path=path, check=check, device=session)
        assert (found.value.cell, found.value.read) == (cell, read)


def test_stages_that_are_not_filled_read_nothing(session):
    equation = dp.Equation(one_row, pattern="RUD")
    assert dp.fill(equation, (1800, 4), stop=1777, device=session).numpy().shape == (1800, 4)
    with pytest.raises(DependencyError):
        dp.fill(equation, (1800, 4), stop=1778, device=session)


def test_borders_that_data_make_are_looked_at(session):
    """A sack whose condition is one column off, for one of 200 weights."""

    def sack(M, i, j, w, least):
        weight = w[i - 1]
        return where(i == 0, 0, where(j < least[i - 1], M[i - 1, j], M[i - 1, j - weight]))

    equation = dp.Equation(sack, pattern="RUD", parameters={"w": "int32[]", "least": "int32[]"})
    w = np.arange(200, dtype=np.int32) * 17 % 911 + 3
    least = w.copy()
    least[133] -= 1
    with pytest.raises(DependencyError, match=rf"Cell \(134, {least[133]}\).*reads cell \(133, -1\)"):
        dp.fill(equation, (201, 5000), w=w, least=least, device=session)


def test_a_condition_that_is_no_sum_is_looked_at(session):
    def even_rows(M, i, j):
        return where(i == 0, j, where((i % 2 == 0) & (j > 1000), M[i - 1, j + 1], M[i - 1, j]))

    with pytest.raises(DependencyError, match=r"Cell \(2, 2999\)"):
        dp.fill(dp.Equation(even_rows, pattern="RUD"), (50, 3000), device=session)


def test_a_read_that_a_small_table_never_does(session):
    """Under RUD the own row must not be read; here row 5 would be the first one that does."""
    equation = dp.Equation(lambda M, i, j: where(i == 0, j, where(i < 5, M[i - 1, j], M[i, j - 1])), pattern="RUD")
    assert (dp.fill(equation, (5, 7), device=session).numpy() == np.arange(7)).all()
    with pytest.raises(DependencyError, match="RUD"):
        dp.fill(equation, (6, 7), device=session)


class Random:
    """A random equation over conditions of i and j, to be traced or to be followed cell by cell."""

    def __init__(self, seed):
        r = random.Random(seed)
        ops = ("<", "<=", ">", ">=", "==", "!=")

        def sum_():
            a, b, c = r.choice((1, 1, -1, 2, 0)), r.choice((1, 1, 0, -1, 3)), r.choice((0, 0, 1))
            return f"({a} * i + {b} * j + {c} * m + {r.randint(-9, 9)})"

        def condition(depth):
            kind = r.choice(("not", "and", "or")) if depth and r.random() < 0.5 else None
            if kind is None:
                return f"({sum_()} {r.choice(ops)} {sum_()})"
            if kind == "not":
                return f"not_({condition(depth - 1)})"
            return f"{kind}_({condition(depth - 1)}, lambda: {condition(depth - 1)})"

        def value(depth):
            if not depth or r.random() < 0.2:
                column = r.choice((f"j + {r.randint(-3, 3)}", f"2 * j - {r.randint(-3, 30)}"))
                return r.choice(("1", f"read(i - 1, {column})"))
            sides = f"lambda: {value(depth - 1)}, lambda: {value(depth - 1)}"
            return f"where_({condition(1)}, {sides})"

        self.shape = r.randint(2, 9), r.randint(2, 12)
        self.code = compile(f"where_(i == 0, lambda: 1, lambda: {value(3)})", "equation", "eval")

    def traced(self, M, i, j, m):
        return eval(
            self.code,
            {
                "i": i,
                "j": j,
                "m": m,
                "read": lambda a, b: M[a, b],
                "not_": lambda a: ~a,
                "and_": lambda a, b: a & b(),
                "or_": lambda a, b: a | b(),
                "where_": lambda c, a, b: where(c, a(), b()),
            },
        )

    def outside(self):
        """All (cell, read) that are outside the table."""
        n, m = self.shape
        for i, j in itertools.product(range(n), range(m)):
            reads = []
            eval(
                self.code,
                {
                    "i": i,
                    "j": j,
                    "m": m,
                    "read": lambda *read, to=reads: to.append(read),
                    "not_": lambda a: not a,
                    "and_": lambda a, b: a and b(),
                    "or_": lambda a, b: a or b(),
                    "where_": lambda c, a, b: a() if c else b(),
                },
            )
            yield from (((i, j), (a, b)) for a, b in reads if not (0 <= a < n and 0 <= b < m))


def test_proofs_against_every_cell():
    """What is proven is so, in the first stage in which it is; what is so is proven."""
    for seed in range(60):
        case = Random(seed)
        equation = dp.Equation(case.traced, pattern="RUD")
        job = Fill(equation, case.shape, PATTERNS["RUD"], None, {}, keep="table")
        found, wrong = outside.first_read(job, equation), list(case.outside())
        assert (found is None) == (not wrong), seed
        if found is not None:
            assert (found.cell, found.read) in wrong
            assert found.cell[0] == min(cell[0] for cell, _ in wrong)


class Loops:
    """A random equation of reductions, all over one index: inside each other, side by side, under conditions of it."""

    def __init__(self, seed):
        r = random.Random(seed)

        def sum_(inside):
            k = r.choice(("", "+ k", "- k")) if inside else ""
            return f"{r.choice(('', '-'))}{r.choice('ij')} {k} + {r.randint(-3, 3)}"

        def value(depth, inside):
            kind = r.choice(("read", "where", "over", "over") if depth else ("read", "read", "1"))
            if kind == "where":
                test = f"({sum_(inside)}) {r.choice(('<', '<=', '>', '>=', '==', '!='))} ({sum_(inside)})"
                return f"where_({test}, lambda: {value(depth - 1, inside)}, lambda: {value(depth - 1, inside)})"
            if kind == "over":
                ends = [r.choice((str(r.randint(0, 3)), sum_(inside))) for _ in range(2)]
                outer = f" + ({value(depth - 1, inside)})" if r.random() < 0.5 else ""
                return f"over_({', '.join(ends)}, lambda k: {value(depth - 1, True)}){outer}"
            column = r.choice(("j", "j + k", "j - k", "k") if inside else ("j", "j - 1", "j + 1"))
            return f"read(i - 1, {column} + {r.randint(-1, 1)})" if kind == "read" else "1"

        self.shape = r.randint(2, 6), r.randint(2, 7)
        self.text = f"where_(i == 0, lambda: 1, lambda: {value(3, False)})"
        self.code = compile(self.text, "equation", "eval")

    def traced(self, M, i, j):
        k = dp.index("k")
        return eval(
            self.code,
            {
                "i": i,
                "j": j,
                "read": lambda a, b: M[a, b],
                "where_": lambda c, a, b: where(c, a(), b()),
                "over_": lambda lo, hi, body: dp.sum_over(k, dp.cast(lo, "int32"), dp.cast(hi, "int32"), body(k)),
            },
        )

    def outside(self):
        """All (cell, read) that are outside the table."""
        n, m = self.shape
        for i, j in itertools.product(range(n), range(m)):
            reads = []
            eval(
                self.code,
                {
                    "i": i,
                    "j": j,
                    "read": lambda *read, to=reads: to.append(read) or 0,
                    "where_": lambda c, a, b: a() if c else b(),
                    "over_": lambda lo, hi, body: sum(body(k) for k in range(lo, hi)),
                },
            )
            yield from (((i, j), (a, b)) for a, b in reads if not (0 <= a < n and 0 <= b < m))


def test_proofs_of_loops_against_every_cell():
    """One index in many reductions hides nothing."""
    proven = 0
    for seed in range(120):
        case = Loops(seed)
        equation = dp.Equation(case.traced, pattern="RUD")
        job = Fill(equation, case.shape, PATTERNS["RUD"], None, {}, keep="table")
        found, wrong = outside.first_read(job, equation), list(case.outside())
        assert (found is None) == (not wrong), (seed, case.text)
        if found is not None:
            proven += 1
            assert (found.cell, found.read) in wrong
            assert found.cell[0] == min(cell[0] for cell, _ in wrong)
    assert 20 < proven < 100
