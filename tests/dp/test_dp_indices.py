"""Indices of traced reductions against plain Python: their scopes, bounds, ends beyond 32 bits."""

import functools
import operator

import numpy as np
import pytest
from dp_trees import ARRAY, SPELLED, WHOLE
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import dp_nodes as reference

from clgeom import dp
from clgeom.dp.codegen.cell import Form
from clgeom.dp.language import trace
from clgeom.dp.language.graphs import walk
from clgeom.errors import DependencyError, IntegerOverflow, InvalidInput

# Indices of reductions ----------------------------------------------------------------------------------------------


KINDS = {"min_over": min, "max_over": max, "sum_over": sum, "argmin_over": min, "argmax_over": max}


def scopes():
    """Random expressions in which every reduction has the same index, often inside each other and side by side."""
    leaf = st.one_of(st.just(("k",)), st.just(("k",)), st.tuples(st.just("const"), st.integers(-9, 9)))

    def grow(below):
        reduction = st.tuples(st.sampled_from(sorted(KINDS)), ends(below), st.integers(1, 3), below)
        return st.one_of(
            reduction,
            reduction,
            st.tuples(st.sampled_from(("add", "sub", "mul")), below, below),
            st.tuples(st.just("where"), below, below, below),
        )

    def ends(below):
        return st.one_of(st.integers(-4, 4).map(lambda c: ("const", c)), below)

    closed = st.tuples(
        st.sampled_from(sorted(KINDS)), st.just(("const", 0)), st.integers(1, 3), st.recursive(leaf, grow)
    )
    return st.tuples(st.just("add"), closed, closed)


def in_the_language(tree, k):
    """The expression of a tree; equal parts are one node, as they are of what somebody writes once and uses twice."""
    kind, *below = tree
    if kind == "k":
        return k
    if kind == "const":
        return trace.constant(below[0])
    if kind in KINDS:
        lo, length, body = below
        first = in_the_language(lo, k)
        return getattr(dp, kind)(k, first, first + length, in_the_language(body, k))
    parts = [in_the_language(part, k) for part in below]
    if kind == "where":
        return dp.where(parts[0] > 0, parts[1], parts[2])
    return SPELLED[kind](*parts)


def in_python(tree, k):
    kind, *below = tree
    if kind == "k":
        return k
    if kind == "const":
        return below[0]
    if kind in KINDS:
        lo, length, body = below
        first = in_python(lo, k)
        values = [in_python(body, place) for place in range(first, first + length)]
        best = KINDS[kind](values)
        return first + values.index(best) if kind.startswith("arg") else best
    parts = [in_python(part, k) for part in below[: 1 if kind == "where" else None]]
    if kind == "where":
        return in_python(below[1 if parts[0] > 0 else 2], k)
    return WHOLE[kind](*parts)


def fits_everywhere(tree):
    """Whether no value in between can pass 32 bits, roughly."""
    kind, *below = tree
    if kind == "k":
        return 50
    if kind == "const":
        return abs(below[0])
    parts = [fits_everywhere(part) for part in below if isinstance(part, tuple)]
    if kind in KINDS:
        return 4 * max(parts) + 8
    return functools.reduce(operator.mul if kind == "mul" else operator.add, parts)


SCOPES = scopes().filter(lambda tree: fits_everywhere(tree) < 2**20)


@given(SCOPES)
def test_one_index_in_many_reductions(tree):
    k = dp.index("k")
    equation = dp.Equation(lambda M, i, j: in_the_language(tree, k))
    loops = [part for part in walk(equation.value) if part.op in ("reduce", "argreduce")]
    own = {}
    for part in loops:
        own.setdefault(part.args[0], set()).add((part.data, *map(id, part.args[1:4])))
    assert all(len(ranges) == 1 for ranges in own.values())
    found = reference.interpret(equation.value, {"i": 0, "j": 0, "n": 1, "m": 1}, None)
    assert found == in_python(tree, None)


@settings(max_examples=3)
@given(st.lists(SCOPES, min_size=6, max_size=6))
def test_one_index_in_many_reductions_on_the_device(session, forest):
    k = dp.index("k")

    @dp.equation(pattern="RUD")
    def columns(M, i, j):
        value = 0
        for column, tree in enumerate(forest):
            value = dp.where(j == column, in_the_language(tree, k), value)
        return value

    for check in (False, True):
        found = dp.fill(columns, (1, len(forest)), check=check, device=session).numpy()[0]
        assert found.tolist() == [in_python(tree, None) for tree in forest]


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("nested", (False, True))
def test_one_index_bounds_every_read(any_session, nested):
    """A row's margins come from all ranges of an index, not from the last one alone."""
    n, m, wide = 8, 9_000, 300
    k = dp.index("k")

    @dp.equation(pattern="RUD")
    def windows(M, i, j):
        near = dp.max_over(k, 0, 3, dp.where(j - k >= 0, M[i - 1, j - k], 0))
        here = near if nested else k
        far = dp.max_over(k, 0, wide, dp.where(j - k >= 0, M[i - 1, j - k] + here, 0))
        return dp.where(i == 0, j * 7919 % 1009, (far if nested else dp.maximum(far, near)) % 100_003)

    assert windows.reach.low == 1 - wide and windows.reach.high == 0
    expected = np.zeros((n, m), np.int64)
    expected[0] = np.arange(m) * 7919 % 1009
    for i in range(1, n):
        shifts = np.stack([np.append(np.full(s, -(10**9)), expected[i - 1, : m - s]) for s in range(wide)])
        near = np.maximum(shifts[:3].max(axis=0), np.where(np.arange(m) < 2, 0, -(10**9)))
        added = near if nested else np.arange(wide)[:, None]
        far = np.where(shifts < 0, 0, shifts + added).max(axis=0)
        expected[i] = (far if nested else np.maximum(far, near)) % 100_003
    table = dp.fill(windows, (n, m), device=any_session)
    assert table.path == "rows" and np.array_equal(table.numpy(), expected)


def test_a_value_and_where_it_is_share_a_loop():
    """Twins keep one index when another loop takes its own away."""
    k = dp.index("k")

    @dp.equation(pattern="RUD", dtype="int32")
    def both(M, i, j):
        body = M[i - 1, k]
        other = dp.sum_over(k, 0, 3, k)
        return dp.where(i == 0, other, dp.min_over(k, 0, j + 1, body)), dp.where(
            i == 0, -1, dp.argmin_over(k, 0, j + 1, body)
        )

    assert both.source.count("for (") == 2 and both.wide is None
    one, two = (next(part for part in walk(root) if part.data == "min") for root in (both.value, both.decision))
    assert one.args[0] is two.args[0]


def test_ranges_that_are_empty_differently(session):
    """One loop's value, with two values for when it is empty."""
    k = dp.index("k")

    @dp.equation(pattern="RUD")
    def two(M, i, j):
        a = dp.min_over(k, 0, j, k + 5, empty=1)
        return a * 100 + dp.min_over(k, 0, j, k + 5, empty=2)

    assert dp.fill(two, (1, 3), device=session).numpy().tolist() == [[102, 505, 505]]


def test_an_index_outside_of_its_reduction():
    k = dp.index("place")
    with pytest.raises(InvalidInput, match="test_dp_indices.py, line .*: The index 'place' is read outside"):
        dp.Equation(lambda M, i, j: dp.sum_over(k, 0, j, k) + k)
    with pytest.raises(InvalidInput, match="The index 'place' is read outside"):
        dp.Equation(lambda M, i, j: dp.sum_over(k, k, j, 1))


@pytest.mark.parametrize("name", ("a b", "k;", "", "1k", 3))
def test_names_of_indices(name):
    with pytest.raises(InvalidInput, match="An index must have a name in C. Got"):
        dp.index(name)


# Ends of ranges -------------------------------------------------------------------------------------------------------


def test_ends_beyond_32_bits(session):
    """An index has 32 bits: a range that goes beyond is cut there, and told of by both checks."""

    @dp.equation(pattern="RUD", dtype="int64", parameters={"w": "int64[]"})
    def places(M, i, j, w):
        # (the sum of the places less its first, how many there are)
        total = dp.sum_over("k", w[j], w[j + 1], lambda k: dp.cast(k, "int64") - w[j])
        return dp.where(i == 0, total, dp.sum_over("k", w[j], w[j + 1], lambda k: dp.cast(1, "int64")))

    most, least = 2**31 - 1, -(2**31)
    right = [5, 9]
    cut = [[most - 3, 2**40], [2**33, 2**33 + 4], [least - 2, least + 2]]
    inside = [[2**40, 3], [3, -(2**40)]]  # empty, whatever the ends are
    sums = {(5, 9): (6, 4), (most - 3, 2**40): (3, 3), (2**33, 2**33 + 4): (0, 0), (least - 2, least + 2): (5, 2)}
    for w in (right, *cut, *inside):
        table = dp.fill(places, (2, 1), w=w, check=False, device=session)
        assert tuple(table.numpy()[:, 0]) == sums.get(tuple(w), (0, 0))
    for w in cut:
        words = rf"Cell \(0, 0\) of places reduces over {w[0]} <= k < {w[1]}, beyond the 32 bits"
        with pytest.raises(IntegerOverflow, match=words):
            dp.fill(places, (2, 1), w=w, device=session)
        with pytest.raises(IntegerOverflow, match=r"Cell \(0, 0\) of places"):
            dp.fill(places, (2, 1), w=w, check=True, device=session)
    dp.fill(places, (2, 1), w=right, check=True, device=session)
    # last, for what was found right is not checked again with other data
    for w in (right, *inside):
        dp.fill(places, (2, 1), w=w, device=session)


@pytest.mark.settings("as_is", "as_gpu")
def test_ends_beyond_32_bits_of_a_group(subtests, any_session):
    """The same where a group does a reduction."""

    @dp.equation(pattern="RUD", dtype="int64", parameters={"w": "int64"})
    def widely(M, i, j, w):
        return dp.where(i == 0, dp.cast(j, "int64"), dp.min_over("k", 0 * w, w, lambda k: M[i - 1, k % 700] + k))

    assert widely.wide is not None
    expected = np.arange(700)
    for end in (5, 700):
        with subtests.test(end=end):
            found = dp.fill(widely, (2, 700), w=end, device=any_session).numpy()
            assert np.array_equal(found[0], expected) and (found[1] == 0).all()
    assert "convert_int_sat" in widely.text(Form(reduction="group"))
    with pytest.raises(IntegerOverflow, match="beyond the 32 bits"):
        dp.fill(widely, (2, 700), w=2**31, device=any_session)


@pytest.mark.parametrize(
    "read",
    (
        lambda M, i, j, w: M[i - 1, w[0] * w[0] + j],
        lambda M, i, j, w: w[w[0] * w[0]],
        lambda M, i, j, w: dp.sum_over("k", 0, w[0] * w[0] + 2, lambda k: k),
        lambda M, i, j, w: dp.min_over("k", w[0] * w[0], 2, lambda k: M[i - 1, k]),
    ),
)
def test_overflow_of_an_index_is_trapped(session, read):
    """It would wrap around to an index that is there."""
    equation = dp.Equation(lambda M, i, j, w: dp.where(i == 0, j, read(M, i, j, w)), pattern="RUD", parameters=ARRAY)
    dp.fill(equation, (2, 3), w=[0], check=True, device=session)
    with pytest.raises(IntegerOverflow, match=r"Cell \(1, 0\)"):
        dp.fill(equation, (2, 3), w=[65536], check=True, device=session)


# One loop under two others ------------------------------------------------------------------------------------------


def nested(first, second, **options):
    """An equation that reduces one inner reduction, up to the index of the outer one, over two ranges."""

    def cell(M, i, j, m, w):
        k, q = dp.index("k"), dp.index("q")
        inner = dp.max_over(q, 0, k, q, 0)
        return dp.where(
            (w[i] == 5) & (w[j] == 5), dp.max_over(k, 0, first, inner, 0), dp.max_over(k, 0, second, inner, 0)
        )

    return dp.Equation(cell, parameters={"w": "int32[]"}, **options)


MARKED = np.where(np.arange(300) == 211, 5, 0).astype(np.int32)


@pytest.mark.parametrize("ends", [(200, 3), (3, 200)])
def test_each_loop_has_its_range(session, ends):
    """Its cells, the type that they need, and the text for the device."""
    equation = nested(*ends, pattern="RUD")
    table = dp.fill(equation, (300, 300), w=MARKED, device=session).numpy()
    expected = np.full((300, 300), ends[1] - 2)
    expected[211, 211] = ends[0] - 2
    np.testing.assert_array_equal(table, expected)
    with pytest.raises(IntegerOverflow, match="int16 is enough"):
        dp.fill(nested(*ends, pattern="RUD", dtype="int8"), (300, 300), w=MARKED, device=session)


def test_an_index_has_one_range():
    """Also of loops that are shared, three deep, with the index where a minimum is."""

    def cell(M, i, j, m):
        k, q, p = (dp.index(name) for name in "kqp")
        least = dp.min_over(p, 0, q + k, M[i - 1, p], 0) + dp.argmin_over(p, 0, q + k, M[i - 1, p])
        middle = dp.sum_over(q, 0, k, least)
        return dp.max_over(k, 0, 3, middle, 0) + dp.max_over(k, 1, m, dp.min_over(q, 0, 2, least, 0), 0)

    equation = dp.Equation(cell, pattern="RUD")
    ranges = {}
    for part in walk(*equation.roots):
        if part.op in ("reduce", "argreduce"):
            ranges.setdefault(part.args[0], set()).add(part.args[1:3])
    assert len(ranges) >= 6 and {len(found) for found in ranges.values()} == {1}
    loops = [(part.op, *map(id, part.args[:4])) for part in walk(*equation.roots) if part.op in ("reduce", "argreduce")]
    found = [loop[1:] for loop in loops if loop[0] == "argreduce"]
    assert found and all(("reduce", *loop) in loops for loop in found)  # one loop finds a minimum and its index


def test_reads_of_shared_loops_are_proven_by_their_own_ends(any_session):
    """The rows of reads as far as the longer loop goes, in every shape."""

    @dp.equation(pattern="RUD")
    def equation(M, i, j):
        k, q = dp.index("k"), dp.index("q")
        inner = dp.max_over(q, 0, k, dp.where(q <= j, M[i - 1, j - q], 0), 0)
        return dp.where(
            i == 0, j * 7919 % 10007, (dp.max_over(k, 0, 6, inner, 0) + dp.max_over(k, 0, 2, inner, 0)) % 10007 + j % 3
        )

    n, m = 40, 3000
    assert equation.reach.low == -4
    columns, expected = np.arange(m), np.zeros((n, m), np.int64)
    expected[0] = columns * 7919 % 10007
    for i in range(1, n):
        shifted = np.zeros((5, m), np.int64)
        for q in range(5):
            shifted[q, q:] = expected[i - 1, : m - q]
        expected[i] = (shifted.max(0) + shifted[0]) % 10007 + columns % 3
    np.testing.assert_array_equal(dp.fill(equation, (n, m), device=any_session).numpy(), expected)


def test_shared_loops_are_read_before_they_are_filled():
    """A read of the whole row is no pattern, although the shorter loop would have one."""

    def cell(M, i, j, m):
        k, q = dp.index("k"), dp.index("q")
        inner = dp.sum_over(q, 0, k, dp.where(j > 1, M[i, q], 1))
        return (dp.max_over(k, 0, m + 1, inner, 0) + dp.max_over(k, 0, 3, inner, 0)) % 7

    with pytest.raises(DependencyError, match=r"\(0, 2\) -> \(0, 2\)"):
        dp.fill(dp.Equation(cell), (4, 6))


def test_tracing_many_loops_over_a_shared_sum_takes_linear_work(monkeypatch):
    """Each node is seen once, however many loops it does not depend on."""

    def count(loops):
        calls, whole = [0], trace.fold

        def counted(algebra, known, *roots):
            def call(part, args):
                calls[0] += 1
                return algebra(part, args)

            return whole(call, known, *roots)

        def cell(M, i, j, w):
            shared = functools.reduce(operator.add, (w[at] for at in range(100)))
            parts = [dp.min_over("k", 0, r + 1, lambda k: M[i - 1, k] + shared) for r in range(loops)]
            return functools.reduce(dp.maximum, parts)

        with monkeypatch.context() as context:
            context.setattr(trace, "fold", counted)
            dp.Equation(cell, pattern="RUD", parameters={"w": "int32[]"})
        return calls[0]

    assert count(40) - count(20) < 20 * 60
