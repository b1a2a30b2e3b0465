"""Traced expressions mean on the device what they mean in Python; what is said of them holds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import dp_nodes as reference

from clgeom import dp
from clgeom.dp.analysis.sums import affine, simplify
from clgeom.dp.language import trace, types
from clgeom.dp.language.graphs import walk
from clgeom.dp.language.nodes import evaluate
from clgeom.dp.language.trace import Expr, rebuild

ROW, COLUMN = (Expr(op, (), "int", None) for op in "ij")


def integers(depth=3):
    """Random integer expressions of i, j and constants, as (Expr, Python function of i and j)."""
    leaf = st.one_of(
        st.just((ROW, lambda i, j: i)),
        st.just((COLUMN, lambda i, j: j)),
        st.integers(-9, 9).map(lambda c: (trace.constant(c), lambda i, j: c)),
    )

    def grow(children):
        def binary(operation):
            return st.tuples(children, children).map(
                lambda ab: (
                    operation(ab[0][0], ab[1][0]),
                    lambda i, j: operation(ab[0][1](i, j), ab[1][1](i, j)),
                )
            )

        def choice(abcd):
            (a, fa), (b, fb), (c, fc), (d, fd) = abcd
            return dp.where(a < b, c, d), lambda i, j: fc(i, j) if fa(i, j) < fb(i, j) else fd(i, j)

        def least(ab):
            (a, fa), (b, fb) = ab
            return dp.minimum(a, b), lambda i, j: min(fa(i, j), fb(i, j))

        return st.one_of(
            binary(lambda a, b: a + b),
            binary(lambda a, b: a - b),
            binary(lambda a, b: a * b),
            st.tuples(children, children, children, children).map(choice),
            st.tuples(children, children).map(least),
            children.map(lambda a: (abs(a[0]), lambda i, j: abs(a[1](i, j)))),
            children.map(lambda a: (a[0] // 3, lambda i, j: a[1](i, j) // 3)),
            children.map(lambda a: (a[0] % -4, lambda i, j: a[1](i, j) % -4)),
            binary(lambda a, b: a & b),
            binary(lambda a, b: a | b),
            binary(lambda a, b: a ^ b),
            children.map(lambda a: (~a[0], lambda i, j: ~a[1](i, j))),
            children.map(lambda a: (a[0] >> 2, lambda i, j: a[1](i, j) >> 2)),
            children.map(lambda a: (a[0] << 3, lambda i, j: a[1](i, j) << 3)),
        )

    return st.recursive(leaf, grow, max_leaves=8)


def interpret(expr, **env):
    return reference.interpret(expr, env, lambda a, b: pytest.fail("no cells"))


@given(integers(), st.integers(-20, 20), st.integers(-20, 20))
def test_interpret_and_evaluate_are_python(pair, i, j):
    expr, function = pair
    expected = function(i, j)
    assert interpret(expr, i=i, j=j) == expected
    if abs(expected) < 2**31:
        assert np.all(evaluate(expr, {"i": np.array([i]), "j": np.array([j])}, {}) == expected)


@given(integers(), st.integers(-20, 20), st.integers(-20, 20))
def test_affine_sums_are_equal(pair, i, j):
    expr, function = pair
    total = affine(expr)
    value = sum(c * (1 if atom is None else interpret(atom, i=i, j=j)) for atom, c in total.items())
    assert value == function(i, j)


@given(integers(), st.integers(0, 9), st.integers(0, 9), st.integers(0, 5), st.integers(0, 5))
def test_simplified_is_equal_where_it_is_assumed(pair, i, j, low, up):
    expr, function = pair
    known = {"i": (i - low, 2**31 - 1), "j": (j - low, j + up)}
    assert interpret(simplify(expr, known), i=i, j=j) == function(i, j)


def test_conditions_are_folded():
    inner = {"i": (1, 2**31 - 1), "j": (1, 5)}

    def folded(expr, known=inner):
        return simplify(expr, known)

    assert folded(dp.where((ROW == 0) | (COLUMN == 0), 0, ROW)) is ROW
    assert folded(dp.where(ROW >= 1, ROW, COLUMN)) is ROW
    assert folded(dp.where((COLUMN > 5) & (ROW < 9), ROW, COLUMN)) is COLUMN
    assert folded(dp.where(~(COLUMN != 7), ROW, COLUMN)) is COLUMN
    assert folded(dp.where(ROW > 1, ROW, COLUMN)).op == "where"
    assert folded(dp.where(ROW + 2 * COLUMN > 2, ROW, COLUMN)) is ROW


def test_nodes_are_shared():
    cells = []

    def cell(M, i, j):
        cells.extend((M[i - 1, j + 1], M[i - 1, j + 1], M[i - 2 + 1, 1 + j]))
        return cells[0] + cells[1]

    dp.Equation(cell)
    assert cells[0] is cells[1] is not None and cells[0].args[0] is cells[2].args[0]


OPERATIONS = {
    "floordiv": (lambda x, y: x // y, lambda x, y: x // y),
    "mod": (lambda x, y: x % y, lambda x, y: x % y),
    "reflected": (lambda x, y: 7 - x + 3 * y, lambda x, y: 7 - x + 3 * y),
    "negative": (lambda x, y: -x - -y, lambda x, y: -x - -y),
    "absolute": (lambda x, y: dp.absolute(x) - abs(y), lambda x, y: abs(x) - abs(y)),
    "minimum": (lambda x, y: dp.minimum(x, y, 2), lambda x, y: min(x, y, 2)),
    "maximum": (lambda x, y: dp.maximum(x, y, -2), lambda x, y: max(x, y, -2)),
    "which_min": (lambda x, y: dp.which_min(x, y, 1), lambda x, y: [x, y, 1].index(min(x, y, 1))),
    "which_max": (lambda x, y: dp.which_max(x, y), lambda x, y: [x, y].index(max(x, y))),
    "which_max4": (lambda x, y: dp.which_max(x, y, 3, x), lambda x, y: [x, y, 3].index(max(x, y, 3))),
    "compare": (
        lambda x, y: (x < y) + 2 * (x <= y) + 4 * (x > y) + 8 * (x >= y) + 16 * (x == y) + 32 * (x != y),
        lambda x, y: (x < y) + 2 * (x <= y) + 4 * (x > y) + 8 * (x >= y) + 16 * (x == y) + 32 * (x != y),
    ),
    "logic": (
        lambda x, y: dp.where((x < y) & ~(y == 2) | (x > 3) & (y > 0) | (x == -5), 1, 0),
        lambda x, y: int((x < y and y != 2) or (x > 3 and y > 0) or x == -5),
    ),
    "known": (
        lambda x, y: (
            dp.where((x < y) & True, 1, 0)
            + dp.where(False | (x < y), 2, 0)
            + dp.where((x < y) | True, 4, 0)
            + dp.where((x < y) & False, 8, 0)
            + dp.where(~(x < y), 16, 0)
        ),
        lambda x, y: 7 if x < y else 20,
    ),
    "where numbers": (lambda x, y: dp.where(x, 5, dp.where(y > 0, y, -9)), lambda x, y: 5 if x else y if y > 0 else -9),
    "min_over": (
        lambda x, y: dp.min_over("k", x, y, lambda k: (k - 2) * (k - 2)),
        lambda x, y: min(((k - 2) ** 2 for k in range(x, y)), default=2**31 - 1),
    ),
    "max_over": (
        lambda x, y: dp.max_over("k", x, y, lambda k: k * (3 - k), empty=x),
        lambda x, y: max((k * (3 - k) for k in range(x, y)), default=x),
    ),
    "sum_over": (
        lambda x, y: dp.sum_over("k", x, y, lambda k: k * k + x),
        lambda x, y: sum(k * k + x for k in range(x, y)),
    ),
    "argmin_over": (
        lambda x, y: dp.argmin_over("k", x, y, lambda k: k % 3),
        lambda x, y: min(range(x, y), key=lambda k: (k % 3, k), default=-1),
    ),
    "argmax_over": (
        lambda x, y: dp.argmax_over("k", x, y, lambda k: k % 3),
        lambda x, y: min(range(x, y), key=lambda k: (-(k % 3), k), default=-1),
    ),
    "nested": (
        lambda x, y: dp.sum_over("k", 0, x, lambda k: dp.max_over("k", k, k + 3, lambda q: q * y) + k),
        lambda x, y: sum(max(q * y for q in range(k, k + 3)) + k for k in range(x)),
    ),
    "lazy": (
        lambda x, y: dp.where((y != 0) & (x // dp.where(y == 0, 1, y) > 1), x // y, -1),
        lambda x, y: x // y if y != 0 and x // y > 1 else -1,
    ),
    "bits": (
        lambda x, y: (x & y) + 32 * (x | y) + 1024 * (x ^ y) - ~x,
        lambda x, y: (x & y) + 32 * (x | y) + 1024 * (x ^ y) - ~x,
    ),
    "bits of numbers": (
        lambda x, y: (x & 6) * 100 + (9 | y) * 10 + (x ^ -3),
        lambda x, y: (x & 6) * 100 + (9 | y) * 10 + (x ^ -3),
    ),
    "conditions": (
        lambda x, y: ((x > 1) ^ (y > 2)) + 2 * (True ^ (x > 1)) + dp.where(x & 1, 4, 0),
        lambda x, y: ((x > 1) ^ (y > 2)) + 2 * (not x > 1) + 4 * (x & 1),
    ),
    "shifts": (
        lambda x, y: (x << (y & 7)) + (x >> (y & 3)) + (1 << (x & 15)) + (x >> 40) + (y << 0),
        lambda x, y: (x << (y & 7)) + (x >> (y & 3)) + (1 << (x & 15)) + (x >> 40) + y,
    ),
    "shared": (lambda x, y: shared(x * y + 1, x > y), lambda x, y: shared_python(x * y + 1, x > y)),
}


def shared(t, c):
    u = dp.where(c, t * t, t + 1)
    return dp.where(u > 3, u * u - t, dp.where(c, u + t, u * t))


def shared_python(t, c):
    u = t * t if c else t + 1
    return u * u - t if u > 3 else (u + t if c else u * t)


PAIRS = [(x, y) for x in range(-5, 6) for y in range(-5, 6) if y != 0]


@pytest.mark.parametrize("dtype", ("int32", "int64"))
@pytest.mark.parametrize("check", (False, True))
def test_operators_on_the_device(session, dtype, check):
    """A column for each operator, a row for each pair of numbers."""

    def cell(M, i, j, x, y):
        value = 0 * x[i]
        for column, (operation, _) in enumerate(OPERATIONS.values()):
            value = dp.where(j == column, operation(x[i], y[i]), value)
        return value

    equation = dp.Equation(cell, pattern="RUD", dtype=dtype, parameters={"x": f"{dtype}[]", "y": f"{dtype}[]"})
    x, y = zip(*PAIRS)
    shape = (len(PAIRS), len(OPERATIONS))
    found = dp.fill(equation, shape, x=x, y=y, check=check, path="stages", device=session).numpy()
    big = 2**31 - 1 if dtype == "int32" else 2**63 - 1
    for column, (name, (_, function)) in enumerate(OPERATIONS.items()):
        expected = [function(*pair) for pair in PAIRS]
        if name == "min_over" and dtype == "int64":
            expected = [big if e == 2**31 - 1 else e for e in expected]
        assert found[:, column].tolist() == expected, name


def test_operators_on_the_host(session):
    for name, (operation, function) in OPERATIONS.items():
        for x, y in PAIRS[::7]:
            with types.Trace("int").active():
                a, b = (trace.node("i", type="int"), trace.node("j", type="int"))
                expr = trace.expression(operation(a, b))
            assert interpret(expr, i=x, j=y) == function(x, y), name


def largest(a, b):
    """The first place of the larger of two that is a number, or -1."""
    numbers = [k for k, x in enumerate((a, b)) if x == x]
    return max(numbers, key=lambda k: ((a, b)[k], -k), default=-1)


FLOATS = [0.0, -0.0, 1.5, -3.25, 1e-40, 3e38, math.inf, -math.inf, math.nan, 1 / 3, 7.0]


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_floats_are_numpys(session, dtype):
    """Bit for bit: division and root correctly rounded, the first of equals, NaN as comparisons have it."""
    if dtype == "float64" and not session.profile.fp64:
        pytest.skip("no float64")
    if dtype == "float32" and not session.profile.denormals:
        pytest.skip("subnormals are flushed")
    real = np.dtype(dtype).type

    operations = [
        (lambda a, b: a / b, lambda a, b: a / b),
        (lambda a, b: dp.sqrt(a), lambda a, b: np.sqrt(a)),
        (lambda a, b: dp.minimum(a, b), lambda a, b: b if b < a else a),
        (lambda a, b: dp.maximum(a, b), lambda a, b: b if b > a else a),
        (lambda a, b: abs(a) - b * a + 0.1, lambda a, b: abs(a) - b * a + real(0.1)),
        (
            lambda a, b: dp.min_over("k", 0, 2, lambda k: dp.where(k == 0, a, b)),
            lambda a, b: min((x for x in (a, b) if x == x), default=real(math.inf)),
        ),
        (lambda a, b: dp.argmax_over("k", 0, 2, lambda k: dp.where(k == 0, a, b)), lambda a, b: real(largest(a, b))),
    ]

    def cell(M, i, j, a, b):
        value = a[i]
        for column, (operation, _) in enumerate(operations):
            value = dp.where(j == column, operation(a[i], b[i]), value)
        return value

    parameters = {"a": f"{dtype}[]", "b": f"{dtype}[]"}
    equation = dp.Equation(cell, pattern="RUD", dtype=dtype, parameters=parameters)
    rng = np.random.default_rng(3)
    values = np.concatenate([FLOATS, rng.normal(size=30) * 10.0 ** rng.integers(-30, 30, 30)]).astype(dtype)
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    found = dp.fill(equation, (len(a), len(operations)), a=a, b=b, path="stages", device=session).numpy()
    with np.errstate(all="ignore"):
        for column, (_, function) in enumerate(operations):
            expected = np.array([function(x, y) for x, y in zip(a, b)], dtype)
            bits = "u4" if dtype == "float32" else "u8"
            equal = (found[:, column].view(bits) == expected.view(bits)) | (
                np.isnan(found[:, column]) & np.isnan(expected)
            )
            assert equal.all(), (
                column,
                a[~equal][:3],
                b[~equal][:3],
                found[~equal, column][:3],
                expected[~equal][:3],
            )


@settings(max_examples=4)
@given(st.lists(integers(), min_size=12, max_size=12))
def test_random_expressions_on_the_device(session, pairs):
    def cell(M, i, j):
        by = {ROW: i - 4, COLUMN: j - 30}
        value = 0 * i
        for k, (expr, _) in enumerate(pairs):
            value = dp.where(
                i == k,
                rebuild(expr, lambda part: part, {ROW: j - 7, COLUMN: 3 - j}) if expr not in by else by[expr],
                value,
            )
        return dp.cast(value, "int64")

    equation = dp.Equation(cell, pattern="RUD", dtype="int64")
    found = dp.fill(equation, (len(pairs), 16), path="stages", device=session).numpy()
    for k, (expr, function) in enumerate(pairs):
        for j in range(16):
            if expr is ROW:
                expected = k - 4
            elif expr is COLUMN:
                expected = j - 30
            else:
                expected = function(j - 7, 3 - j)
            if abs(expected) < 2**31:  # i and j are 32 bits wide, and so may be what is in between
                assert found[k, j] == expected or overflows(expr, j - 7, 3 - j)


def overflows(expr, i, j):
    """Whether a value in between passes 32 bits."""
    return any(abs(interpret(part, i=i, j=j)) >= 2**31 for part in walk(expr) if part.type == "int")
