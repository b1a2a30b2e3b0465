"""Problems: known answers, all small ones against exhaustive search, and every solution worked out again."""

from fractions import Fraction
from math import comb, inf

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from reference import dp_problems as reference

from clgeom.dp import problems
from clgeom.errors import DeviceLimit, InvalidInput

pytestmark = pytest.mark.optimised

FEW = settings(max_examples=12)

small = st.integers(0, 9)


# Known answers --------------------------------------------------------------------------------------------------


A = [[inf, 1, 0.8, 0.4, 0], [inf, 1, 0.5, 0, 0], [inf, 1, 0.6, 0.3, 0]]

LEGS = [[[2, 4, 3]], [[7, 4, 6], [3, 2, 4], [4, 1, 5]], [[1, 4], [6, 3], [3, 3]], [[3], [4]]]

KNOWN = {
    "binomial": (lambda p: p.binomial(33, 16, dtype="int32").value, 1166803110),
    "knapsack": (lambda p: p.knapsack([25, 24, 15], [18, 15, 10], 22).value, 25),
    "integer_knapsack": (lambda p: p.integer_knapsack([25, 24, 15], [18, 15, 10], 22).value, 30),
    "lcs": (lambda p: p.lcs("abcbdab", "bdcaba").length, 4),
    "lcs by equation": (lambda p: p.lcs("abcbdab", "bdcaba", method="equation").subsequence, "bcba"),
    "edit distance": (lambda p: p.edit_distance("kitten", "sitting").distance, 3),
    "matrix chain": (lambda p: p.matrix_chain([30, 35, 15, 5, 10, 20, 25]).multiplications, 15125),
    "its brackets": (
        lambda p: p.matrix_chain([30, 35, 15, 5, 10, 20, 25]).parenthesisation,
        "((A0 (A1 A2)) ((A3 A4) A5))",
    ),
    "another chain": (lambda p: p.matrix_chain([3, 4, 5, 2, 2]).multiplications, 76),
    "alphabetic tree": (lambda p: p.alphabetic_tree([2, 3, 1, 4]).cost, 20),
    "nim": (lambda p: [p.nim(n) for n in range(9)], [0, 1, 2, 3, 0, 1, 2, 3, 0]),
    "fibonacci": (lambda p: [p.fibonacci(n) for n in (0, 1, 2, 10, 92)], [0, 1, 1, 55, 7540113804746346429]),
    "integer programme": (lambda p: p.integer_program([3, 5], [[1, 0], [0, 2], [3, 2]], [4, 12, 18]).value, 36),
}

KNOWN_FLOATS = {
    "search tree": (
        lambda p, **k: p.search_tree([0.15, 0.1, 0.05, 0.1, 0.2], [0.05, 0.1, 0.05, 0.05, 0.05, 0.1], **k).cost,
        2.75,
    ),
    "allotment": (lambda p, **k: p.allotment(A, 4, **k).value, 2.5),
    "winning in Las Vegas": (lambda p, **k: p.las_vegas(2 / 3, 3, chips=3, goal=5, **k).probability, 20 / 27),
    "covering": (lambda p, **k: p.covering([1, 4, 5, 7, 8, 12, 13, 18, 19, 21], 3, **k).value, 129),
    "deadlines": (lambda p, **k: p.deadline_scheduling([10, 15, 20, 1, 5], [1, 2, 2, 3, 3], **k).value, 40),
    "reliability": (lambda p, **k: p.reliability([30, 15, 20], [0.9, 0.8, 0.5], 105, **k).value, 0.648),
    "inventory": (
        lambda p, **k: p.inventory([1, 3, 2, 4], setup=3, unit=1, holding=0.5, capacity=5, warehouse=4, **k).value,
        20,
    ),
    "assembly line": (
        lambda p, **k: (
            p.assembly_line(
                [[7, 9, 3, 4, 8, 4], [8, 5, 6, 4, 5, 7]], [[2, 3, 1, 3, 4], [2, 1, 2, 2, 1]], [2, 4], [3, 2], **k
            ).value
        ),
        38,
    ),
    "stagecoach": (lambda p, **k: p.stagecoach(LEGS, **k).value, 11),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_answer(name):
    solve, answer = KNOWN[name]
    assert solve(problems) == answer


@pytest.mark.parametrize("name", KNOWN_FLOATS)
def test_known_answer_in_float64(session, name):
    solve, answer = KNOWN_FLOATS[name]
    assert solve(problems, device=session) == pytest.approx(answer, rel=1e-12)


@pytest.mark.settings("no_fp64")
def test_float64_is_refused_without(any_session):
    with pytest.raises(DeviceLimit, match="float64"):
        problems.stagecoach(LEGS, device=any_session)


# Binomials --------------------------------------------------------------------------------------------------------


def test_binomials(subtests):
    for n, k in ((0, 0), (1, 0), (5, 9), (12, 5), (66, 33), (67, 29), (1000, 2), (20000, 19999)):
        with subtests.test(n=n, k=k):
            assert problems.binomial(n, k).value == comb(n, k)
    rows = [[comb(i, j) for j in range(34)] for i in range(34)]
    assert problems.pascal_triangle(34, dtype="int32").tolist() == rows


@pytest.mark.parametrize(
    "n, k, dtype", [(34, 17, "int32"), (34, 16, "int32"), (67, 30, "int64"), (10**9, 10**8, "int64")]
)
def test_binomials_that_overflow(n, k, dtype):
    with pytest.raises(InvalidInput, match=rf"C\({n}, {k}\) does not fit {dtype}"):
        problems.binomial(n, k, dtype=dtype)


def test_rows_of_pascal_that_overflow():
    with pytest.raises(InvalidInput, match="row 34 of Pascal's triangle does not fit int32"):
        problems.pascal_triangle(35, dtype="int32")
    assert problems.pascal_triangle(67)[66, 33] == comb(66, 33)


# Knapsacks --------------------------------------------------------------------------------------------------------


items = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), min_size=0, max_size=7)


@FEW
@given(items, st.integers(0, 25))
def test_knapsack(things, capacity):
    values, weights = [v for v, _ in things], [w for _, w in things]
    best = reference.knapsack(values, weights, capacity)
    found = problems.knapsack(values, weights, capacity)
    assert found.value == best == sum(values[k] for k in found.items)
    assert found.weight == sum(weights[k] for k in found.items) <= capacity
    assert sorted(set(found.items.tolist())) == found.items.tolist()
    assert problems.knapsack(values, weights, capacity, items=False).value == best


@FEW
@given(items, st.integers(0, 20))
def test_integer_knapsack(things, capacity):
    values, weights = [v for v, _ in things][:4], [w + 1 for _, w in things][:4]
    found = problems.integer_knapsack(values, weights, capacity)
    assert found.value == reference.integer_knapsack(values, weights, capacity) == sum(values[k] for k in found.items)
    assert found.weight == sum(weights[k] for k in found.items) <= capacity


@pytest.mark.settings("as_is", "as_gpu")
def test_knapsack_of_types(any_session):
    """int64 values, weights beyond every capacity and beyond 32 bits; zero capacity."""
    values, weights = [2**40, 2**41, 2**40 + 1, 7], [3, 2**50, 4, 0]
    found = problems.knapsack(values, weights, 6, device=any_session)
    assert found.value == 2**40 + 8 and found.items.tolist() == [2, 3] and found.weight == 4
    assert problems.knapsack(values, weights, 0, device=any_session).items.tolist() == [3]


def test_knapsack_of_floats(session):
    values, weights = [0.5, 0.25, 0.375], [3, 2, 2]
    if session.profile.fp64:
        found = problems.knapsack(values, weights, 4, device=session)
        assert found.value == 0.625 and found.items.tolist() == [1, 2]


def test_larger_knapsack(session):
    rng = np.random.default_rng(2)
    values, weights = rng.integers(1, 1000, 60), rng.integers(1, 300, 60)
    row = np.zeros(4001, np.int64)
    for v, w in zip(values, weights):
        row[w:] = np.maximum(row[w:], row[:-w] + v)
    found = problems.knapsack(values, weights, 4000, device=session)
    assert found.value == row[-1] == values[found.items].sum()
    assert weights[found.items].sum() == found.weight <= 4000


# Chains and trees -------------------------------------------------------------------------------------------------


@FEW
@given(st.lists(st.integers(1, 12), min_size=2, max_size=8))
def test_matrix_chain(dims):
    found = problems.matrix_chain(dims)
    assert found.multiplications == reference.matrix_chain(dims) == reference.evaluate_chain(dims, found.tree)[2]
    written = eval(found.parenthesisation.replace(" ", ",").replace("A", ""))  # noqa: S307
    assert written == found.tree
    assert problems.matrix_chain(dims, order=False).multiplications == found.multiplications


def test_long_matrix_chain(session):
    rng = np.random.default_rng(1)
    dims = rng.integers(1, 100, 151)
    n, best = 150, {}
    for size in range(1, n + 1):
        for i in range(n - size + 1):
            j = i + size - 1
            costs = [best[i, k] + best[k + 1, j] + int(dims[i] * dims[k + 1] * dims[j + 1]) for k in range(i, j)]
            best[i, j] = min(costs, default=0)
    found = problems.matrix_chain(dims, device=session)
    assert found.multiplications == best[0, n - 1] and len(found.splits) == n - 1
    assert reference.evaluate_chain(dims.tolist(), found.tree)[2] == found.multiplications


def test_matrix_chain_ties_go_to_the_lowest():
    assert problems.matrix_chain([1] * 6).parenthesisation == "(A0 (A1 (A2 (A3 A4))))"


@FEW
@given(st.lists(small, min_size=1, max_size=7))
def test_alphabetic_tree(weights):
    found = problems.alphabetic_tree(weights)
    codes = found.codes
    assert found.cost == reference.alphabetic_tree(weights) == sum(w * len(c) for w, c in zip(weights, codes))
    assert list(codes) == sorted(codes)
    assert sum(Fraction(1, 2 ** len(code)) for code in codes) == 1  # no code begins another


@FEW
@given(st.lists(small, max_size=5), st.randoms(use_true_random=False))
def test_search_tree(keys, random):
    gaps = [random.randrange(9) for _ in range(len(keys) + 1)]
    found = problems.search_tree(keys, gaps)
    assert found.cost == reference.search_tree(keys, gaps)
    depth = [0] * len(keys)
    for k in range(len(keys)):
        at = k
        while at >= 0:
            depth[k], at = depth[k] + 1, int(found.parents[at])
    between = [max([*depth[max(g - 1, 0) : g + 1], 0]) + 1 for g in range(len(gaps))]
    assert found.cost == sum(map(int.__mul__, keys, depth)) + sum(map(int.__mul__, gaps, between))


# Allocations ------------------------------------------------------------------------------------------------------


@FEW
@given(st.lists(st.tuples(*[st.one_of(small, st.just(inf))] * 4), min_size=1, max_size=4), st.integers(0, 9))
def test_allotment(costs, total):
    found = problems.allotment(costs, total)
    assert found.value == reference.allotment(costs, total)
    if found.choice is not None:
        assert found.choice.sum() == total
        assert sum(row[x] for row, x in zip(costs, found.choice)) == found.value


@FEW
@given(
    st.lists(st.tuples(st.integers(1, 5), st.sampled_from([0.25, 0.5, 0.75])), min_size=1, max_size=3),
    st.integers(0, 14),
)
def test_reliability(parts, budget):
    costs, rates = [c for c, _ in parts], [r for _, r in parts]
    found = problems.reliability(costs, rates, budget)
    assert found.value == pytest.approx(reference.reliability(costs, rates, budget), rel=1e-12)
    if found.choice is not None:
        assert sum(x * c for x, c in zip(found.choice, costs)) <= budget
        assert found.value == pytest.approx(np.prod([1 - (1 - r) ** x for x, r in zip(found.choice, rates)]), rel=1e-12)


@FEW
@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_assignment(n, seed):
    costs = np.random.default_rng(seed).integers(0, 9, (n, n))
    found = problems.assignment(costs)
    assert found.value == reference.assignment(costs) == costs[np.arange(n), found.choice].sum()
    assert sorted(found.choice) == list(range(n))


@FEW
@given(st.lists(st.integers(0, 30), min_size=1, max_size=7), st.integers(1, 7))
def test_covering(sizes, kinds):
    kinds = min(kinds, len(sizes))
    found, sizes = problems.covering(sizes, kinds), sorted(sizes)
    assert found.value == reference.covering(sizes, kinds)
    covers = [sizes[k] for k in found.choice]
    assert len(covers) == kinds and sum(min(c for c in covers if c >= s) for s in sizes) == found.value


@FEW
@given(st.lists(small, min_size=1, max_size=7), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_curve_fitting(y, segments, seed):
    x = np.sort(np.random.default_rng(seed).integers(0, 12, len(y))).tolist()
    segments = min(segments, len(y))
    found = problems.curve_fitting(x, y, segments)
    best = float(reference.curve_fitting([Fraction(v) for v in x], [Fraction(v) for v in y], segments))
    assert found.value == pytest.approx(best, abs=1e-9)
    assert found.choice[0] == 0 and (np.diff(found.choice) > 0).all() and len(found.choice) == segments


@FEW
@given(st.integers(1, 3), st.integers(1, 2), st.integers(0, 2**32 - 1))
def test_integer_program(n, k, seed):
    rng = np.random.default_rng(seed)
    profits, rows, limits = rng.integers(0, 9, n), rng.integers(0, 4, (k, n)), rng.integers(0, 9, k)
    rows[0, ~rows.any(axis=0)] = 1
    found = problems.integer_program(profits, rows, limits)
    assert found.value == reference.integer_program(profits.tolist(), rows.tolist(), limits.tolist())
    assert profits @ found.choice == found.value and (rows @ found.choice <= limits).all()


# Ways -------------------------------------------------------------------------------------------------------------


def layers(rng):
    sizes = rng.integers(1, 4, rng.integers(2, 5))
    return [rng.integers(0, 9, shape) for shape in zip(sizes, sizes[1:])]


@FEW
@given(st.integers(0, 2**32 - 1))
def test_ways_through_layers(seed):
    legs = layers(np.random.default_rng(seed))
    for solve, expected, total in (
        (problems.stagecoach, reference.stagecoach(legs), sum),
        (problems.bottleneck, reference.bottleneck(legs), max),
    ):
        found = solve(legs)
        assert found.value == expected == total(leg[a, b] for leg, a, b in zip(legs, found.choice, found.choice[1:]))


def test_no_way():
    assert problems.stagecoach([[[inf, inf]], [[1], [2]]]).choice is None
    assert problems.allotment([[1, 2]], 5) == problems.Allocation(inf)


@FEW
@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_assembly_line(n, seed):
    rng = np.random.default_rng(seed)
    stations, transfers, ends = (
        rng.integers(0, 9, (2, n)),
        rng.integers(0, 9, (2, n - 1)),
        rng.integers(0, 9, (2, 2)),
    )
    found = problems.assembly_line(stations, transfers, *ends)
    assert found.value == reference.assembly_line(stations.tolist(), transfers.tolist(), *ends.tolist())
    assert len(found.choice) == n


@FEW
@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(0, 5), st.integers(0, 4))
def test_inventory(demands, capacity, warehouse):
    costs = {"setup": 3, "unit": 1, "holding": 0.5}
    found = problems.inventory(demands, capacity=capacity, warehouse=warehouse, **costs)
    assert found.value == reference.inventory(demands, *costs.values(), capacity, warehouse)
    if found.choice is not None:
        stock = np.cumsum(found.choice - demands)
        assert stock.min() >= 0 and stock.max() <= warehouse and stock[-1] == 0


@FEW
@given(st.lists(st.tuples(small, st.integers(0, 6)), min_size=1, max_size=6))
def test_deadline_scheduling(jobs):
    profits, deadlines = [p for p, _ in jobs], [d for _, d in jobs]
    found = problems.deadline_scheduling(profits, deadlines)
    assert found.value == reference.deadline_scheduling(profits, deadlines) == sum(profits[k] for k in found.choice)
    assert all(deadlines[k] >= slot for slot, k in enumerate(found.choice, 1))


@FEW
@given(st.fractions(0, 1, max_denominator=9), st.integers(0, 3), st.integers(0, 6), st.integers(1, 6))
def test_las_vegas(p, plays, chips, goal):
    found = problems.las_vegas(float(p), plays, chips=chips, goal=goal)
    assert found.probability == pytest.approx(float(reference.las_vegas(p, plays, chips, goal)), rel=1e-12, abs=1e-15)
    assert found.bets.shape == (plays, goal + 1) and (found.bets[:, goal] == 0).all()


@FEW
@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_replacement(n, seed):
    costs = np.random.default_rng(seed).integers(0, 20, (n + 1, n + 1))
    found = problems.replacement(costs)
    assert found.value == reference.replacement(costs.tolist())
    assert sum(costs[a, b] for a, b in zip([0, *found.choice], found.choice)) == found.value and found.choice[-1] == n


@FEW
@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_shortest_paths(n, seed):
    rng = np.random.default_rng(seed)
    lengths = np.where(rng.random((n, n)) < 0.4, inf, rng.integers(0, 9, (n, n)))
    source = int(rng.integers(n))
    found = problems.shortest_paths(lengths, source)
    assert found.distances.tolist() == reference.shortest_paths(lengths.tolist(), source)
    for node, before in enumerate(found.before):
        if before >= 0:
            assert found.distances[before] + lengths[before, node] == found.distances[node]
        else:
            assert node == source or found.distances[node] == inf


def test_negative_circle():
    with pytest.raises(InvalidInput, match="free of circles of negative length"):
        problems.shortest_paths([[inf, 1], [-2, inf]])
    assert problems.shortest_paths([[inf, 3], [-2, inf]]).distances.tolist() == [0, 3]


def test_nim(subtests):
    for most in (1, 2, 5):
        for n in range(12):
            with subtests.test(most=most, n=n):
                taken = problems.nim(n, most)
                assert (taken > 0) == reference.nim(n, most)
                assert taken == 0 or not reference.nim(n - taken, most)
