"""What a traced equation means, against plain Python integers: wrapping, margins of rows, values on the host."""

import numpy as np
import pytest
from dp_trees import ARRAY, SPELLED, UNARY, WHOLE
from hypothesis import event, given, settings
from hypothesis import strategies as st
from reference.dp_random import in_c
from reference.dp_random import plainly as table_of

from clgeom import dp
from clgeom.core.device import as_session
from clgeom.dp.analysis.bounds import indices_fit, loops_of
from clgeom.dp.codegen.rewriting import _is_constant, with_macros
from clgeom.dp.language import trace, types
from clgeom.dp.language.graphs import walk
from clgeom.dp.language.intervals import Intervals
from clgeom.dp.language.nodes import evaluate
from clgeom.dp.language.trace import Expr
from clgeom.errors import InvalidInput

BITS = {"int": 32, "long": 64}

NARROW = ("int8", "uint8", "int16", "uint16", "int32", "int64")


def wrapped(value: int, type: str) -> int:
    """A Python integer as one of 32 or 64 bits."""
    half = 1 << BITS[type] - 1
    return (value + half) % (2 * half) - half


# Integers ---------------------------------------------------------------------------------------------------------


EDGES = (0, 1, 2, 3, 7, 2**30, 2**31 - 2, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1)
EDGES += tuple(-edge for edge in EDGES) + (-(2**63),)


def trees(leaves):
    """Trees of operators: (name, operands ...); leaves are (kind, what)."""
    return st.recursive(
        leaves,
        lambda below: st.one_of(
            st.tuples(st.sampled_from(sorted(WHOLE)), below, below), st.tuples(st.sampled_from(sorted(UNARY)), below)
        ),
        max_leaves=8,
    )


def constants(type):
    low, high = types.LIMITS[type]
    numbers = st.one_of(st.sampled_from([edge for edge in EDGES if low <= edge <= high]), st.integers(-9, 9))
    return st.tuples(st.just("const"), numbers, st.just(type))


LEAVES = st.one_of(
    st.sampled_from((("i",), ("j",))),
    constants("int"),
    constants("int"),
    constants("long"),
    st.tuples(st.just("parameter"), st.sampled_from(NARROW)),
)


def traced(tree):
    """The tree as the operators of the language make it; None where these refuse a division by zero."""
    kind, *below = tree
    if kind == "const":
        return trace.node("const", type=below[1], data=below[0])
    if kind in ("i", "j"):
        return trace.node(kind, type="int")
    if kind == "parameter":
        return trace.node("parameter", type="long" if below[0] == "int64" else "int", data=below[0])
    operands = [traced(part) for part in below]
    if kind in ("floordiv", "mod") and operands[1].op == "const" and operands[1].data == 0:
        return trace.node("const", type=trace.widest(operands), data=0)
    return SPELLED[kind](*operands)


def plainly(tree, env):
    """(value, type) of the tree in Python integers, each result wrapped around in the wider type of its operands."""
    kind, *below = tree
    if kind == "const":
        return below[0], below[1]
    if kind in ("i", "j"):
        return env[kind], "int"
    if kind == "parameter":
        return int(env[below[0]]), "long" if below[0] == "int64" else "int"
    operands = [plainly(part, env) for part in below]
    type = "long" if any(own == "long" for _, own in operands) else "int"
    return wrapped({**WHOLE, **UNARY}[kind](*(value for value, _ in operands)), type), type


def parameters():
    """A value for a parameter of each type."""
    kinds = {}
    for name in NARROW:
        info = np.iinfo(name)
        edges = st.sampled_from((info.min, info.max, info.max // 2 + 1))
        kinds[name] = st.one_of(edges, st.integers(info.min, info.max))
    return st.fixed_dictionaries(kinds).map(lambda values: {name: np.dtype(name).type(v) for name, v in values.items()})


@given(trees(LEAVES), st.integers(0, 2**31 - 1), st.integers(0, 9), parameters())
def test_integers_on_the_host_are_those_of_the_device(tree, i, j, values):
    """Narrow parameters count as int, constants are merged as they would be added, and everything wraps around."""
    expected, type = plainly(tree, {"i": i, "j": j, **values})
    with types.Trace("int").active():
        expr = traced(tree)
    found = evaluate(expr, {"i": np.array([i]), "j": np.array([j]), "n": 1, "m": 1, **values}, {})
    assert expr.type == type and np.all(found == expected)


@settings(max_examples=3)
@given(st.lists(trees(LEAVES), min_size=8, max_size=8), parameters())
def test_integers_on_the_device(session, all_trees, values):
    """Each tree is a column, and its value goes into two int32 cells: the low bits and the high ones."""

    def cell(M, i, j, int8, uint8, int16, uint16, int32, int64):
        value = 0
        for column, tree in enumerate(all_trees):
            value = dp.where(j == column, dp.cast(traced(tree), "int64"), value)
        return dp.cast(dp.where(i % 2 == 0, value, value >> 32), "int32")

    made = dp.Equation(cell, pattern="RUD", parameters={name: name for name in NARROW})
    found = dp.fill(made, (4, len(all_trees)), path="stages", check=False, values=values, device=session).numpy()
    for j, tree in enumerate(all_trees):
        for i in range(4):
            value, _ = plainly(tree, {"i": i, "j": j, **values})
            assert found[i, j] == wrapped(value if i % 2 == 0 else value >> 32, "int"), tree


def test_constants_wrap_around(session):
    """What is added to an index in two steps is one number only where the steps together fit the type."""
    cases = (
        (lambda i: dp.where(i + 2147483647 + 2147483647 > 0, 1, 0), 0),
        (lambda i: (i + 1 + 2147483647) // 2, -(2**30)),
        (lambda i: (i + dp.cast(5, "int64") + 3) * 2**31 // 2**31, 8),
        (lambda i: dp.cast(i * 0 + dp.cast(2**31 - 1, "int32") + 1 == -(2**31), "int32"), 1),
        (lambda i: dp.where(dp.cast(2**31 - 1, "int32") * 2 + i == -2, 1, 0), 1),
        (lambda i: i - 1 + 1, 0),
    )

    @dp.equation(pattern="RUD")
    def all_cases(M, i, j):
        value = dp.cast(0, "int64")
        for column, (function, _) in enumerate(cases):
            value = dp.where(j == column, dp.cast(function(i), "int64"), value)
        return dp.cast(value, "int32")

    found = dp.fill(all_cases, (1, len(cases)), check=False, device=session).numpy()[0]
    assert found.tolist() == [expected for _, expected in cases]


def test_merged_steps_are_one_node():
    with types.Trace("int").active():
        i = trace.node("i", type="int")
        assert i - 1 + 1 is i and (i + 2) + 3 is i + 5
        apart = i + (2**31 - 1) + (2**31 - 1)
        assert [part.op for part in walk(apart)].count("add") == 2
        longer = (i + dp.cast(5, "int64")) + 3
        assert longer.type == "long" and longer.args[1].data == 8


# Margins of rows ---------------------------------------------------------------------------------------------------


#: A step to the left made of parameters, the types of these, their values, and how far it is.
MARGINS = (
    (lambda d, e: d * d, ("uint8", "uint8"), (16, 0), 256),
    (lambda d, e: 2 * d, ("uint8", "int8"), (200, 0), 400),
    (lambda d, e: d + d, ("uint8", "int8"), (200, 0), 400),
    (lambda d, e: d - e, ("uint8", "int8"), (200, -100), 300),
    (lambda d, e: abs(d) - e, ("int8", "int8"), (-128, -128), 256),
    (lambda d, e: dp.minimum(-d + 1 - e, 600), ("int16", "uint8"), (-800, 250), 551),
    (lambda d, e: dp.minimum(dp.maximum(dp.cast(d * e, "int32"), 0), 2000), ("float32", "int32"), (0.7, 1000), 700),
)


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("step, types, values, far", MARGINS)
def test_margins_of_narrow_parameters(any_session, step, types, values, far):
    """So wide that each row of a launch of several would read wrongly with margins that had wrapped around."""
    n, m = 30, 60_000

    @dp.equation(pattern="RUD", parameters=dict(zip("de", types)))
    def shifted(M, i, j, d, e):
        at = j - step(d, e)
        return dp.where((i == 0) | (at < 0), j, M[i - 1, at] + 1)

    left, _ = shifted.reach.bounds(np.arange(1, n), {"d": np.dtype(types[0]).type(values[0]), "e": values[1]})
    assert left.tolist() == [-far] * (n - 1)
    table = dp.fill(shifted, (n, m), d=values[0], e=values[1], device=any_session)
    expected = np.tile(np.arange(m), (n, 1))
    for i in range(1, n):
        expected[i, far:] = expected[i - 1, :-far] + 1
    assert table.path == "rows" and np.array_equal(table.numpy(), expected)


@pytest.mark.settings("as_is", "as_gpu")
@settings(max_examples=3)
@given(trees(LEAVES), trees(LEAVES), parameters())
def test_random_margins(any_session, left, right, values):
    """Steps to either side that are any integers of the row and the parameters, cut to what a launch of rows takes."""
    n, m, most = 12, 9_000, 700

    def step(tree):
        return dp.minimum(dp.maximum(traced(tree), 0), most)

    def cell(M, i, j, m, int8, uint8, int16, uint16, int32, int64):
        down, up = j - step(left), j + step(right)
        inside = dp.where(up < m, M[i - 1, up], -1)
        return dp.where(i == 0, j * 7919 % 10_007, dp.maximum(dp.where(down >= 0, M[i - 1, down], 0) - 1, inside))

    def without_columns(tree):
        return ("i",) if tree == ("j",) else tuple(without_columns(t) if isinstance(t, tuple) else t for t in tree)

    left, right = without_columns(left), without_columns(right)
    equation = dp.Equation(cell, pattern="RUD", parameters={name: name for name in NARROW})
    expected = np.zeros((n, m), np.int64)
    expected[0] = np.arange(m) * 7919 % 10_007
    for i in range(1, n):
        by = [min(max(plainly(tree, {"i": i, "j": 0, **values})[0], 0), most) for tree in (left, right)]
        down = np.append(np.zeros(by[0], np.int64), expected[i - 1, : m - by[0]])
        inside = np.append(expected[i - 1, by[1] :], np.full(by[1], -1))
        expected[i] = np.maximum(down - 1, inside)
    table = dp.fill(equation, (n, m), check=False, values=values, device=any_session)
    event(table.path)
    assert np.array_equal(table.numpy(), expected)


def test_bounds_beyond_every_table_are_cut():
    w = Expr("parameter", (), "long", "w")
    reach = dp.Row(-1, low=Expr("add", (w, w), "long", None), high=0)
    low, _ = reach.bounds(np.arange(2), {"w": np.int64(-(2**62))})
    assert (-low > 2**31).all()  # the negative of -2**63 would not be positive


@pytest.mark.settings("as_is", "as_gpu")
def test_margins_of_floats(any_session):
    """A product of a float32 and an index is a float32 on the host, too: at many rows float64 is cut elsewhere."""
    n, m = 60, 60_000

    @dp.equation(pattern="RUD", parameters={"x": "float32"})
    def shifted(M, i, j, x):
        at = j - 64 * dp.minimum(dp.maximum(dp.cast(x * i, "int32"), 0), 2000)
        return dp.where((i == 0) | (at < 0), j, M[i - 1, at] + 1)

    steps = [64 * int(np.float32(0.7) * np.float32(i)) for i in range(n)]
    left, _ = shifted.reach.bounds(np.arange(1, n), {"x": np.float32(0.7)})
    assert (-left).tolist() == steps[1:]
    table = dp.fill(shifted, (n, m), x=0.7, device=any_session)
    expected = np.tile(np.arange(m), (n, 1))
    for i in range(1, n):
        expected[i, steps[i] :] = expected[i - 1, : m - steps[i]] + 1
    assert table.path == "rows" and np.array_equal(table.numpy(), expected)


@given(st.floats(width=32), st.floats(width=32), st.integers(-(2**63), 2**63 - 1))
def test_floats_on_the_host_are_those_of_the_device(x, y, k):
    """In the wider type of the operands, rounded after each operation; NaN beats nothing."""
    a, b, whole = (trace.node("parameter", type=t, data=name) for t, name in zip(("float", "float", "long"), "xyk"))
    x, y = np.float32(x), np.float32(y)
    with np.errstate(all="ignore"):
        cases = (
            (a * whole + b, np.float32(np.float32(x * np.float32(k)) + y)),
            (a - b / a, np.float32(x - np.float32(y / x))),
            (dp.where(a < whole, a, b), x if x < np.float32(k) else y),
            (dp.which_min(a, b), int(y < x)),
            (dp.which_max(a, b, a), 1 if y > x else 0),
            (dp.minimum(a, b), y if y < x else x),
        )
    for expr, expected in cases:
        found = evaluate(expr, {"x": x, "y": y, "k": np.int64(k)}, {})
        np.testing.assert_array_equal(np.asarray(found), expected)
        assert expr.type != "float" or np.asarray(found).dtype == np.float32


# Numbers of C, and bounds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zero", ("0", "0u", "0UL", "00", "0b0", "0B000", "0x0", "0X00u", "0.0", "0.f", "0e5", "0x0p3"))
def test_zeros_of_c(zero):
    assert not _is_constant(zero)


@pytest.mark.parametrize("number", ("1", "10u", "0b01", "0x10", "0xA", "0XfUL", "017", "1.5", "0.5f", "1e5", "0x1p3"))
def test_numbers_of_c(number):
    assert _is_constant(number)


def test_division_by_a_binary_zero(session):
    with pytest.raises(InvalidInput, match="divides by zero"):
        dp.fill(dp.Equation("5 / 0b0 + i", pattern="RUD"), (3, 2), check=True, device=session)


def test_the_place_of_a_best_may_be_below_none():
    """A loop may begin below -1, which stands for none."""
    index = Expr("index", (), "int", "k")
    ends = [trace.constant(c) for c in (-5, 3)]
    node = Expr("argreduce", (index, *ends, index), "int", "min")
    assert Intervals(loops=loops_of(node)).of(node) == (-5, 2)

    @dp.equation(pattern="RUD", parameters={"w": "int32[]"})
    def reads(M, i, j, w):
        return dp.where(i == 0, w[0], M[i - 1, j + (2**31 - 6 + dp.argmin_over("k", w[0], 3, lambda k: k))])

    assert not indices_fit(reads, (2, 9), {"w": np.array([-(2**31)], np.int32)})


def negations(x, i, j):
    """Integers that a compiler may make a negation of, each in its own way."""
    yield from (-x, 0 - x, x * -1, x * -2, ~x + 1, (x ^ -1) + 1, 1 - x - 1, x - 2 * x, 0 * i - x, 3 * i - x - 3 * i)
    yield from (-(x | 1), -(x & 13), -(x + i), -(x - j), -(x ^ i), -(x >> 2), -(x << 1), -abs(x), -(x * j), -(x % 7))
    yield from (x // -1, x // -7, -i, -j, 0 - j, j * -1, i - j, ~x, x)


#: Negated operands of nested minima and maxima: compilers for compute capability 9.0 lose the sign ("lost_minus").
def signs(M, i, j, w):
    a, b = w[(7 * i + j) % 61], w[(i + 3 * j) % 61]
    x = dp.where((i > 0) & (j > 0), M[i - 1, j - 1], w[(i + j) % 61])
    found = w[(-i - j) % 61] + w[-j + 16]
    for number in negations(x, i, j):
        greatest, least = dp.maximum(dp.maximum(number, a), b), dp.minimum(b, dp.minimum(a, number))
        found = (found * 5 + greatest - 3 * least) % 997
    k = dp.index("k")
    over = dp.sum_over(k, 0, i % 3, 2 * k - j)
    return (found + dp.minimum(dp.minimum(-over, x), a) + dp.maximum(b, dp.maximum(x, over))) % 997 - 400


@pytest.mark.settings("as_is", "as_gpu")
def test_signs_in_nested_minima_and_maxima(any_session):
    equation = dp.Equation(signs, pattern="RUD", parameters=ARRAY)
    w = np.random.default_rng(1).integers(-60, 60, 61).astype(np.int32)
    expected = table_of(equation, (9, 17), {"w": w})
    ways = [(equation, path, False) for path in ("tiles", "rows")]
    if any_session is as_session(any_session.device):
        ways += [(equation, "stages", False), (equation, "stages", True), (in_c(equation), "stages", False)]
    for way in ways:
        found = dp.fill(way[0], (9, 17), path=way[1], check=way[2], w=w, device=any_session)
        np.testing.assert_array_equal(found.numpy(), expected, err_msg=str(way))


@pytest.mark.parametrize("first", ("w[j % 61]", "w[k++ - 1]"))
def test_signs_in_nested_minima_and_maxima_in_c(session, first):
    """Of calls that clgeom writes as macros, and of calls with a side effect."""
    body = f"""
        int k = j % 61 + 1;
        const int x = w[(i + j) % 61], a = w[i % 61];
        const int high = max(max(-x, a), {first}), low = min(w[j % 61], min(a, -(x | 1)));
        return i > 0 ? 7 * high - low + M(i - 1, j) : max(max(-x, a), (int)(uint)j);
    """
    w = np.random.default_rng(2).integers(-60, 60, 61).astype(np.int32)
    found = dp.fill(dp.Equation(body, pattern="RUD", parameters=ARRAY), (9, 17), w=w, device=session).numpy()
    i, j = np.indices((9, 17))
    x, a, b = w[(i + j) % 61], w[i % 61], w[j % 61]
    cells = 7 * np.maximum.reduce([-x, a, b]) - np.minimum.reduce([b, a, -(x | 1)])
    cells[0] = np.maximum.reduce([-x, a, j])[0]
    np.testing.assert_array_equal(found, cells.cumsum(axis=0))


# Calls of min and max in C -----------------------------------------------------------------------------------------

HELPERS = """
int next(int *k) { return *k += 1; }
int low(int a, int b) { return max(min(a, b), -b); }
int native_twice(int *k) { return *k *= 2; }
"""


#: Statements and the value that they return.
CALLS = (
    ("int k = 0; int r = min(next(&k), 5); return 100 * k + r;", 101),
    ("int x = 64; int r = max(x >>= 1, 0); return 100 * x + r;", 3232),
    ("int k = 3; int r = max(native_twice(&k), 0); return 100 * k + r;", 606),
    ("int x = 3; int r = min(5, x <<= 1); return 100 * x + r;", 605),
    ("int x = 3; int r = max(min(x += 2, 9), x ^ x); return 100 * x + r;", 505),
    ("return max /* of (both */ (min(4, 6), -(7)) + min // a line\n (1, 2);", 5),
    ("int r = min((int[]){7, 2}[1], 5); return r;", 2),
    ("const int w[2] = {5, 1}; return min(w[1], 2) + max(w[0], (int)sizeof(int));", 6),
    ("int a = 1, b = 2; return min(a, b) + max(max(max(max(max(max(max(max(a, b), 3), 4), 5), 6), 7), 8), 9);", 10),
)


@pytest.mark.parametrize("check", (False, "auto", True))
def test_calls_of_min_and_max_in_c(session, check):
    """Arguments are evaluated once, whatever stands in them, and comments are left alone."""
    each = "\n".join(f"if (j == {j}) {{ {body} }}" for j, (body, _) in enumerate(CALLS))
    own = "int min = 4; return min + (max)(1, 2) + low(3, 8);"  # its name is no function then
    for body, values in ((f"{each}\nreturn 0;", [value for _, value in CALLS]), (own, [9, 9, 9])):
        equation = dp.Equation(body, pattern="RUD", helpers=HELPERS)
        assert dp.fill(equation, (2, len(values)), check=check, device=session).numpy().tolist() == [values] * 2


def test_what_becomes_a_macro():
    assert with_macros("min(a, max(b[i], c(i, j)))", ("c",)) == "DP_MIN(a, DP_MAX(b[i], c(i, j)))"
    assert with_macros("min(f(a), b) + c(min, max(1, 2))") == "DP_CALLED_MIN(f(a), b) + c(min, DP_MAX(1, 2))"
    assert with_macros('printf("min (%d)", k.max(1, 2)); /* min(a, b) */') == (
        'printf("min (%d)", k.max(1, 2)); /* min(a, b) */'
    )
    assert with_macros("return min(a, b);", ("min",)) == "return min(a, b);"
    assert (
        with_macros("int max(int a, int b) { return min(a, b); }") == "int max(int a, int b) { return DP_MIN(a, b); }"
    )
    assert with_macros("max(1, 2)", (), "int max(int a, int b) { return a; }") == "max(1, 2)"
    assert (
        with_macros("min((int[]){7, 2}[j], 5) + min(w[0, 1], (1, 2))")
        == "min((int[]){7, 2}[j], 5) + min(w[0, 1], (1, 2))"
    )
    deep = "1"
    for _ in range(40):
        deep = f"min({deep}, 2)"
    made = with_macros(deep)
    assert made.count("DP_CALLED_MIN") == 34 and made.count("DP_MIN") == 6


def test_recover_has_the_macros(session):
    """Of traced equations, too."""
    equation = dp.Equation(lambda M, i, j: i * 10 + j, pattern="RUD")
    table = dp.fill(equation, (3, 4), device=session)
    body = "int k = 0; out[0] = min(++k, 5); out[1] = max(min(M(1, 1), 90), -M(2, 3)); return k + 1;"
    assert table.recover(body, 2).tolist() == [1, 11]
