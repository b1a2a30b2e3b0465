"""Proofs about integers before a fill, against every cell of small tables: intervals, systems, regions of reads."""

import collections
import itertools
import random
from types import SimpleNamespace

import numpy as np
import pytest
from dp_trees import SPELLED, UNARY, WHOLE
from effort import LONG
from hypothesis import assume, given
from hypothesis import strategies as st
from reference.dp_nodes import interpret

from clgeom import dp
from clgeom.dp.analysis import outside
from clgeom.dp.analysis.bounds import loops_of
from clgeom.dp.analysis.dependences import Near
from clgeom.dp.analysis.inequalities import is_impossible, solution, value_of
from clgeom.dp.analysis.infer import forbidden_reads, infer_pattern, proven_regions, unproven_reads
from clgeom.dp.analysis.sums import affine, range_of
from clgeom.dp.fills import Fill
from clgeom.dp.language import trace, types
from clgeom.dp.language.graphs import walk
from clgeom.dp.language.intervals import Intervals
from clgeom.dp.language.nodes import evaluate
from clgeom.dp.patterns import PATTERNS
from clgeom.errors import DependencyError, IntegerOverflow, InvalidInput

# Intervals --------------------------------------------------------------------------------------------------------

EDGES = (0, 1, 2, 7, 31, 33, 63, 64, 2**31 - 2, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
EDGES += tuple(-edge for edge in EDGES[:-1])
SHIFTS = {"shl": lambda a, b: a << b, "shr": lambda a, b: a >> b}
OPERATORS = {**SPELLED, **SHIFTS}
TYPES = {"int": "int32", "long": "int64", "ulong": "uint64"}


def constants():
    small = st.integers(-9, 9)
    return st.one_of(
        st.sampled_from(sorted(TYPES)).flatmap(
            lambda type: st.one_of(small, st.sampled_from(EDGES)).map(lambda value: ("const", type, value))
        )
    ).filter(lambda leaf: types.LIMITS[leaf[1]][0] <= leaf[2] <= types.LIMITS[leaf[1]][1])


def trees():
    leaves = st.one_of(st.sampled_from((("i",), ("j",), ("u",), ("w",))), constants())
    binary = st.sampled_from((*WHOLE, *SHIFTS))
    return st.recursive(
        leaves,
        lambda below: st.one_of(
            st.tuples(binary, below, below),
            st.tuples(st.sampled_from(sorted(UNARY)), below),
            st.tuples(st.just("where"), below, below, below, below),
            st.tuples(st.just("cast"), st.sampled_from(sorted(TYPES)), below),
        ),
        max_leaves=8,
    )


def traced(tree):
    op, *below = tree
    if op == "const":
        return trace.node("const", type=below[0], data=below[1])
    if op in ("i", "j"):
        return trace.node(op, type="int")
    if op in ("u", "w"):
        return trace.node("parameter", type={"u": "ulong", "w": "int"}[op], data=op)
    if op == "cast":
        return dp.cast(traced(below[1]), TYPES[below[0]])
    parts = [traced(part) for part in below]
    if op == "where":
        return dp.where(parts[0] < parts[1], parts[2], parts[3])
    return OPERATORS[op](*parts)


def ends(low, high, width=4):
    """Intervals of a few numbers between these."""
    first = st.one_of(st.integers(low, high), st.sampled_from((low, high)))
    return first.flatmap(lambda a: st.integers(a, min(a + width, high)).map(lambda b: (a, b)))


@given(trees(), ends(0, 2**31 - 3), ends(0, 2**31 - 3), ends(0, 2**64 - 1), ends(-(2**31), 2**31 - 1))
def test_intervals_hold_all_values(tree, i, j, u, w):
    """Of each node, as kernels compute it: at the ends of int32, int64 and uint64 as well."""
    assume(i[1] + j[1] <= 2**31 - 2)
    try:
        with types.Trace("int").active():
            expr = traced(tree)
    except InvalidInput:
        assume(False)
    intervals = Intervals(box={"i": i, "j": j}, values={"u": u, "w": w})
    every = [range(low, high + 1) for low, high in (i, j, u, w)]
    points = list(zip(*itertools.product(*every)))
    made = {}
    env = dict(zip("ij", (np.array(side, np.int64) for side in points[:2])))
    env |= {"u": np.array(points[2], np.uint64), "w": np.array(points[3], np.int32)}
    evaluate(expr, env, made)
    for part in walk(expr):
        values = np.unique(made[part]).tolist()
        if part.type == "bool":
            continue
        low, high = intervals.of(part)
        assert low <= min(values) and max(values) <= high, (part, (low, high), values)
        if part.op in ("add", "sub", "mul", "neg") and "ulong" not in {arg.type for arg in part.args}:
            if intervals.fits(part):
                exact = plain(part, [made[arg] for arg in part.args])
                assert np.array_equal(np.broadcast_to(made[part], exact.shape).astype(object), exact)


def plain(part, operands):
    """A sum, difference, product or negation of arrays, which does not wrap around."""
    return {**WHOLE, **UNARY}[part.op](*(np.atleast_1d(own).astype(object) for own in operands))


@given(ends(-5, 5), ends(-5, 5), st.sampled_from(("min_over", "max_over", "sum_over", "argmin_over", "argmax_over")))
def test_intervals_of_reductions(lo, hi, kind):
    """Loops that may be empty, with indices of their own."""
    with types.Trace("long").active():
        a, b = (trace.node("parameter", type="int", data=name) for name in "ab")
        expr = getattr(dp, kind)("k", a, b, lambda k: dp.cast(k * k - k, "int64"))
    intervals = Intervals(values={"a": lo, "b": hi}, loops=loops_of(expr))
    low, high = intervals.of(expr)
    for first, end in itertools.product(range(lo[0], lo[1] + 1), range(hi[0], hi[1] + 1)):
        values = [k * k - k for k in range(first, end)]
        best = {"min_over": min, "argmin_over": min}.get(kind, max)
        if kind == "sum_over":
            found = sum(values)
        elif kind.startswith("arg"):
            found = first + values.index(best(values)) if values else -1
        else:
            found = best(values) if values else types.neutral(kind[:3], "long")
        assert low <= found <= high


@given(trees(), ends(0, 40), ends(0, 40))
def test_ranges_of_sums(tree, i, j):
    try:
        with types.Trace("int").active():
            expr = traced(tree)
    except InvalidInput:
        assume(False)
    total, box = affine(expr), {"i": i, "j": j}
    low, high = range_of(total, box)
    intervals = Intervals(box=box)
    atoms = {atom: intervals.of(atom) for atom in total if atom is not None}
    assert low <= range_of(total, atoms)[0] and range_of(total, atoms)[1] <= high


# Systems of inequalities ------------------------------------------------------------------------------------------

VARIABLES = "xyz"


def facts(most):
    by = st.integers(-most, most)
    one = st.tuples(by, by, by, st.integers(-7, 7))
    return st.lists(one.map(lambda c: {v: b for v, b in zip((*VARIABLES, None), c) if b}), max_size=6)


def solutions(box, system):
    for values in itertools.product(*(range(low, high + 1) for low, high in box.values())):
        values = dict(zip(box, values))
        if all(value_of(fact, values) >= 0 for fact in system):
            yield values


@given(st.tuples(*(ends(-4, 4) for _ in VARIABLES)), facts(3), st.sampled_from(((), ("y",), ("x", "z"))))
def test_systems_against_every_point(box, system, first):
    box = dict(zip(VARIABLES, box))
    every = list(solutions(box, system))
    assert not (every and is_impossible(box, system))
    found = solution(box, system, first)
    if found is not None:
        box = {v: ends for v, ends in box.items() if v in found}
        assert all(low <= found[v] <= high for v, (low, high) in box.items())
        assert all(value_of(fact, found) >= 0 for fact in system)
        assert first[:1] == () or found[first[0]] == min(values[first[0]] for values in every)


@given(
    st.tuples(*(ends(-4, 4) for _ in VARIABLES)),
    st.lists(st.tuples(*(st.sampled_from((*VARIABLES, None)),) * 2, st.integers(-5, 5))),
)
def test_systems_of_differences_are_decided(box, differences):
    box = dict(zip(VARIABLES, box))
    system = []
    for a, b, by in differences:
        fact = {a: 1, b: -1} if a != b else {}
        fact[None] = fact.get(None, 0) + by
        system.append({v: c for v, c in fact.items() if c})
    exists = any(True for _ in solutions(box, system))
    assert exists == (not is_impossible(box, system)) == (solution(box, system, tuple(VARIABLES)) is not None)


# Reads ------------------------------------------------------------------------------------------------------------

#: Stencils cut to the table, a pattern that allows them, and one that does not.
CLAMPED = {
    "rows": (lambda M, i, j, n, m: M[dp.maximum(i - 2, 0), j - 1], "NOSE", "CRL"),
    "columns": (lambda M, i, j, n, m: M[i - 1, dp.minimum(j + 2, m - 1)], "RUD", "NOSE"),
    "both": (lambda M, i, j, n, m: M[dp.maximum(i - 2, 0), dp.maximum(j - 3, 0)], "NOSE", "NESO"),
    "branch": (lambda M, i, j, n, m: M[i - 1, dp.where(j < 4, 0, j - 4)], "NOSE", "CRL"),
    "half": (lambda M, i, j, n, m: M[i - 1, j // 2], "NOSE", "CRL"),
    "quarter": (lambda M, i, j, n, m: M[i - 1, j >> 2], "NOSE", "CRL"),
    "inside each other": (lambda M, i, j, n, m: M[i - 1, dp.minimum(dp.maximum(j - 3, 0), m - 1)], "NOSE", "NESO"),
    "distance": (lambda M, i, j, n, m: M[i - 1, j - dp.minimum(abs(j - i), j)], "NOSE", "NESO"),
}


@pytest.mark.parametrize("name", CLAMPED)
def test_clamped_stencils_are_proven(session, name):
    read, right, wrong = CLAMPED[name]

    def near(M, i, j, n, m):
        return dp.where((i == 0) | (j == 0), i + j, read(M, i, j, n, m) + 1)

    equation = dp.Equation(near, name=name)
    assert not unproven_reads(equation, PATTERNS[right]) and unproven_reads(equation, PATTERNS[wrong])
    found = infer_pattern(equation, (9, 9))
    assert found.proven and right in [fit.pattern for fit in found.patterns]
    table = dp.fill(equation, (9, 9), device=session).numpy()
    env = {"n": 9, "m": 9}
    expected = np.zeros((9, 9), np.int32)
    for i, j in itertools.product(range(9), repeat=2):
        expected[i, j] = interpret(equation.value, {"i": i, "j": j, **env}, lambda a, b: int(expected[a, b]))
    assert np.array_equal(table, expected)


@pytest.mark.parametrize("back, ahead, low, last", ((1, 1, 0, 0), (2, 1, 0, 0), (0, 2, 2, 1), (2, 0, 1, 0)))
def test_clamped_reads_are_near(session, back, ahead, low, last):
    """By kernels for near reads: values of tables of widths down to that of the stencil."""

    def clamped(M, i, j, m):
        left, right = M[i - 1, dp.maximum(j - back, low)], M[i - 1, dp.minimum(m - 1 - last, j + ahead)]
        return dp.where(i == 0, 3 * j + 1, 2 * left - right)

    equation = dp.Equation(clamped, pattern="RUD")
    assert isinstance(equation.reach, Near)
    for m in (max(low, last) + 1, 7, 40):
        columns, row = np.arange(m), 3 * np.arange(m, dtype=np.int32) + 1
        table = dp.fill(equation, (4, m), device=session).numpy()
        for found in table[1:]:
            left, right = np.maximum(columns - back, low), np.minimum(m - 1 - last, columns + ahead)
            row = 2 * row[np.minimum(left, m - 1)] - row[np.maximum(right, 0)]
            assert np.array_equal(found, row)


#: (cell, pattern): none reads itself, for conditions keep it from the ends of its clamps.
NOT_ITSELF = (
    (lambda of, M, i, j, n, m: of.where(j == 0, i, M[i, of.maximum(j - 1, 0)] + 1), "CLR"),
    (lambda of, M, i, j, n, m: of.where(i > 0, M[of.maximum(i - 2, 0), j] + j, 1), "RUD"),
    (lambda of, M, i, j, n, m: of.where(i == n - 1, j, M[of.minimum(i + 1, n - 1), of.maximum(j - 1, 0)] + 1), "RDU"),
    (lambda of, M, i, j, n, m: of.where(i + j == 0, 1, M[of.maximum(i - 1, 0), of.maximum(j - 1, 0)] + i), "NOSE"),
    (lambda of, M, i, j, n, m: of.where(i < 2, j, M[of.maximum(i - 1, 1), j] + M[i - 1, of.maximum(j - 1, 0)]), "NOSE"),
)
PLAIN = SimpleNamespace(maximum=max, minimum=min, where=lambda condition, a, b: a if condition else b)


@pytest.mark.parametrize("cell, pattern", NOT_ITSELF)
def test_clamped_reads_that_never_are_of_the_cell_itself_are_near(session, cell, pattern):
    equation = dp.Equation(lambda M, i, j, n, m: cell(dp, M, i, j, n, m), pattern=pattern)
    assert isinstance(equation.reach, Near) and (0, 0) not in equation.reach.offsets
    expected = collections.defaultdict(int)
    for stage in range(PATTERNS[pattern].stages(6, 7)):
        for i, j in PATTERNS[pattern].cells(stage, 6, 7):
            expected[i, j] = cell(PLAIN, expected, i, j, 6, 7)
    table = dp.fill(equation, (6, 7), device=session).numpy()
    assert all(table[at] == expected[at] for at in np.ndindex(6, 7))


def test_clamped_reads_of_the_cell_itself_stay():
    itself = dp.Equation(lambda M, i, j: M[dp.maximum(i - 1, 0), j] + 1, pattern="RUD")
    unknown = dp.Equation(
        lambda M, i, j, w: dp.where(w[i] == 0, 1, M[i, dp.maximum(j - 1, 0)]),
        parameters={"w": "int32[]"},
        pattern="NOSE",
    )
    wide = dp.Equation(lambda M, i, j: dp.where(i == 0, 1, M[i - 1, dp.maximum(j - 9, 0)]), pattern="RUD")
    assert not any(isinstance(one.reach, Near) for one in (itself, unknown, wide))
    with pytest.raises(DependencyError, match=r"Cell \(0, 0\) of .* reads cell \(0, 0\)"):
        dp.fill(itself, (3, 3))


def test_clamped_reads_are_inside_and_outside():
    def inside(read, shape=(5, 6, 7)):
        cell = lambda M, i, j, k, n, m: dp.where(i == 0, 1, read(M, i, j, k, n, m))  # noqa: E731
        equation = dp.CubeEquation(cell, pattern="I")
        return outside.are_inside(equation.value, {}, shape, {})

    assert inside(lambda M, i, j, k, n, m: M[i - 1, dp.maximum(j - 2, 0), k // 2])
    assert inside(lambda M, i, j, k, n, m: M[i - 1, dp.minimum(j + 2, m - 1), k])
    assert not inside(lambda M, i, j, k, n, m: M[i - 1, dp.minimum(j + 2, m), k])
    assert not inside(lambda M, i, j, k, n, m: M[i - 1, dp.maximum(j - 2, -1), k])
    assert inside(lambda M, i, j, k, n, m: M[i - 1, j, k % 7]) and not inside(
        lambda M, i, j, k, n, m: M[i - 1, j, (k + 1) % 8]
    )
    assert not inside(lambda M, i, j, k, n, m: M[i - 1, dp.maximum(j * 2**30 * 4, 0), k])  # it wraps around


def test_what_wraps_around_is_no_sum():
    """j * 2**30 * 4 is 0 for kernels: no order of integers holds for it."""
    equation = dp.Equation(
        lambda M, i, j: dp.where(i == 0, 0, M[i - 1, dp.maximum(j + j * 2**30 * 4, 0)]), pattern="RUD"
    )
    assert not unproven_reads(equation, PATTERNS["RUD"], sums=False)
    assert unproven_reads(equation, PATTERNS["NOSE"], sums=False)
    assert not forbidden_reads(equation, PATTERNS["NOSE"])


OPS = ("<", "<=", ">", ">=", "==", "!=")
INDICES = (
    "i + {}", "j + {}", "j - w[i - 1]", "j - w[i]", "w[j]", "2 * j + i", "j - i", "n - 1", "m - j", "j // 3", "i % 3",
    "j >> 1", "lo(i, j)", "hi(j - 2, 0)", "lo(j + 3, m - 1)", "abs(i - j)", "where(i < j, i, j)", "hi(i - 2, 0)",
    "hi(j - w[i], 0)", "u[i] + j", "j - u[j]", "lo(hi(j - 3, 0), m - 2)", "where((i > 1) & (j > i), j - i, {})",
)  # fmt: skip


class Mixed:
    """A random equation of branches, clamps and parameters, and every read that its cells make."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        start = self.r.choice(("i == 0", "(i == 0) | (j == 0)", "j < i"))
        self.text = f"where({start}, 1, {self.value(3)})"
        space = {"lo": dp.minimum, "hi": dp.maximum, "where": dp.where, "abs": abs}
        exec(f"def cell(M, i, j, n, m, w, u): return {self.text}", space)
        kinds = {"w": "int32[]", "u": "uint8[]"}
        self.equation = dp.Equation(space["cell"], parameters=kinds, pattern="RUD")

    def index(self):
        return self.r.choice(INDICES).format(self.r.randint(-3, 3))

    def condition(self, depth):
        kind = self.r.choice(("and", "or", "not", "", "")) if depth else ""
        if kind in ("and", "or"):
            return f"({self.condition(depth - 1)}) {'&' if kind == 'and' else '|'} ({self.condition(depth - 1)})"
        if kind == "not":
            return f"~({self.condition(depth - 1)})"
        return f"({self.index()}) {self.r.choice(OPS)} ({self.index()})"

    def value(self, depth):
        if not depth or self.r.random() < 0.2:
            return f"M[{self.r.choice((self.index(), 'i - 1', 'i'))}, {self.r.choice((self.index(), 'j', 'j - 1'))}]"
        return f"where({self.condition(2)}, {self.value(depth - 1)}, {self.value(depth - 1)})"

    def reads(self, shape, values):
        """All (cell, read) of a table; elements of parameters beyond their ends make none."""
        n, m = shape
        for cell in np.ndindex(shape):
            made = []
            try:
                interpret(
                    self.equation.value,
                    {"i": cell[0], "j": cell[1], "n": n, "m": m, **values},
                    lambda a, b, made=made: made.append((a, b)) or 0,
                )
            except IndexError:
                continue
            yield from ((cell, read) for read in made)


@pytest.mark.slow
def test_regions_hold_all_reads():
    """Whatever the parameters are; and those that the elements of parameters prove, for these."""
    proven = 0
    for seed in range(600 if LONG else 90):
        case, r = Mixed(seed), np.random.default_rng(seed)
        for shape in ((1, 1), (2, 5), (5, 2), (6, 7)):
            size = max(shape)
            values = {"w": r.integers(-2, 6, size).astype(np.int32), "u": r.integers(0, 3, size).astype(np.uint8)}
            made = list(case.reads(shape, values))
            signs = {tuple(np.sign(np.subtract(read, cell)).tolist()) for cell, read in made}
            for known in (None, values):
                assert signs <= proven_regions(case.equation, known)[0], (seed, case.text, shape)
            for name in ("RUD", "NOSE"):
                pattern = PATTERNS[name]
                allowed = all(pattern.allows(*pair) for pair in signs)
                for sums in (True, False):
                    right = not unproven_reads(case.equation, pattern, values, sums=sums)
                    assert allowed or not right, (seed, case.text, shape)
                    proven += right
    assert proven > 20


def test_reads_outside_against_every_cell():
    """A read that is proven to leave the table does, and nothing that does is proven to stay inside."""
    count = {True: 0, False: 0}
    for seed in range(600 if LONG else 90):
        case, r = Mixed(seed), np.random.default_rng(seed)
        shape = (4, 5)
        values = {"w": r.integers(0, 3, 8).astype(np.int32), "u": r.integers(0, 3, 8).astype(np.uint8)}
        job = Fill(case.equation, shape, PATTERNS["RUD"], None, values, keep="table")
        wrong = [
            (cell, read)
            for cell, read in case.reads(shape, values)
            if not all(0 <= at < s for at, s in zip(read, shape))
        ]
        found = outside.first_read(job, case.equation)
        assert found is None or (found.cell, found.read) in wrong, (seed, case.text)
        inside = outside.are_inside(case.equation.value, case.equation.parameters, shape, {"w": (8,), "u": (8,)})
        assert not (inside and wrong), (seed, case.text)
        count[found is not None] += 1
    assert min(count.values()) > 5, count


@pytest.mark.parametrize("kind", ("value", "index"))
def test_loops_to_the_value_of_a_cell_may_overflow(session, kind):
    """A cell that is the end of a loop adds more to its value than a step."""

    def growing(M, i, j):
        before = M[i - 1, j]
        if kind == "value":
            return dp.where(i == 0, 1, dp.max_over("k", 0, before + 1, lambda k: k + before))
        return dp.where(i == 0, 1, before + 1 + dp.argmax_over("k", 0, before + 1, lambda k: k))

    equation = dp.Equation(growing, dtype="int16", pattern="RUD")
    assert dp.fill(equation, (15, 2), device=session).corner in (2**14, 2**15 - 1)
    with pytest.raises(IntegerOverflow, match=r"Cell \(15, 0\)"):
        dp.fill(equation, (30, 2), check=False, device=session)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("side", (1, -1))
def test_loops_over_columns_of_the_row_before(any_session, side):
    """Both ends of a loop bound the columns that a cell reads."""
    n, m, first, end = 30, 60_000, 500, 503

    def cell(M, i, j, m):
        inside = (j < m - end) if side > 0 else (j >= end)
        best = dp.max_over("k", first, end, lambda k: M[i - 1, j + side * k] - 1)
        return dp.where(i == 0, j * 7919 % 10_007, dp.where(inside, best, 0))

    equation = dp.Equation(cell, pattern="RUD")
    low, high = sorted((side * first, side * (end - 1)))
    assert [bound.tolist() for bound in equation.reach.bounds([1], {}, (n, m))] == [[low], [high]]
    expected = np.zeros((n, m), np.int64)
    expected[0] = np.arange(m) * 7919 % 10_007
    columns = np.arange(m - end) if side > 0 else np.arange(end, m)
    for i in range(1, n):
        expected[i, columns] = np.max([expected[i - 1, columns + side * k] for k in range(first, end)], axis=0) - 1
    table = dp.fill(equation, (n, m), device=any_session)
    assert table.path == "rows" and np.array_equal(table.numpy(), expected)
