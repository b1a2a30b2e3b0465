"""Problems of plans, customers and sets: against trying everything, and every solution worked out again."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from reference import dp_plans as reference

from clgeom import dp
from clgeom.dp import problems
from clgeom.dp.problems.allocation import COVERS
from clgeom.dp.problems.catalogue import EXAMPLES
from clgeom.errors import InvalidInput

ROUNDS = range(6)
pytestmark = pytest.mark.fp64


@pytest.fixture(params=ROUNDS)
def rng(request):
    return np.random.default_rng(request.param)


def test_discounted_profits(session, rng):
    m, years = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    profits, growth = rng.integers(-3, 20, (m, m)).tolist(), rng.integers(0, m, m).tolist()
    stock, discount = int(rng.integers(0, m)), Fraction(3, 4)
    found = problems.discounted_profits(profits, growth, stock, years, discount=0.75, device=session)
    given = profits, growth, stock
    assert Fraction(found.value) == reference.discounted_profits(*given, years, discount)
    assert Fraction(found.value) == reference.evaluate_profits(*given, found.choice.tolist(), discount)


def test_investment(session, rng):
    returns = rng.integers(0, 9, (int(rng.integers(1, 4)), int(rng.integers(1, 5)))).tolist()
    money = int(rng.integers(0, 6))
    found = problems.investment(returns, money, device=session)
    assert found.value == reference.investment(returns, money)
    for offer, x in zip(returns, found.choice.tolist()):
        assert 0 <= x <= money
        money += offer[x] - x
    assert money == found.value


def test_production(session, rng):
    months = int(rng.integers(1, 5))
    demands, holding = rng.integers(0, 4, months).tolist(), rng.integers(0, 3, months).tolist()
    costs = rng.integers(0, 9, (months, 4)).astype(float)
    costs[rng.random(costs.shape) < 0.2] = inf
    warehouse = int(rng.integers(0, 5))
    stock = int(rng.integers(0, warehouse + 1))
    found = problems.production(demands, costs, holding, warehouse=warehouse, stock=stock, device=session)
    given = demands, costs.tolist(), holding, warehouse, stock
    assert found.value == reference.production(*given)
    if found.value != inf:
        assert reference.production_cost(*given, found.choice.tolist()) == found.value


def test_distribution(session, rng):
    n = int(rng.integers(1, 5))
    demands, stocks = rng.integers(0, 4, n).tolist(), rng.integers(0, 3 * n, 2).tolist()
    first, other = rng.integers(0, 9, (2, n, 4)).astype(float)
    first[rng.random(first.shape) < 0.2] = inf
    found = problems.distribution(demands, [first, other], stocks, device=session)
    assert found.value == reference.distribution(demands, first.tolist(), other.tolist(), stocks)
    if found.value != inf:
        sent = found.choice.tolist()
        assert sum(sent) <= stocks[0] and sum(demands) - sum(sent) <= stocks[1]
        assert sum(a[x] + b[d - x] for a, b, d, x in zip(first, other, demands, sent)) == found.value


def test_transportation(session, rng):
    rows, columns = rng.integers(1, 4, 2).tolist()
    costs = rng.integers(0, 9, (rows, columns))
    supplies, demands = rng.integers(0, 5, rows).tolist(), rng.integers(0, 4, columns).tolist()
    found = problems.transportation(costs, supplies, demands, device=session)
    assert found.value == reference.transportation(costs.tolist(), supplies, demands)
    if found.value != inf:
        assert (found.choice >= 0).all() and (found.choice.sum(axis=1) <= supplies).all()
        assert (found.choice.sum(axis=0) == demands).all() and (found.choice * costs).sum() == found.value


def test_process_scheduling(session, rng):
    n = int(rng.integers(1, 7))
    times, weights, due = (rng.integers(0, 9, n).tolist() for _ in "twd")
    found = problems.process_scheduling(times, weights, due, device=session)
    assert found.value == reference.process_scheduling(times, weights, due)
    assert sorted(found.choice) == list(range(n))
    assert reference.lateness(times, weights, due, found.choice) == found.value
    # without weights and due times the shortest go first
    assert problems.process_scheduling(times, device=session).value == np.cumsum(sorted(times)).sum()


def test_spanning_tree(session, rng):
    n = int(rng.integers(1, 6))
    lengths = rng.integers(0, 9, (n, n)).astype(float)
    lengths[rng.random(lengths.shape) < 0.2] = inf
    lengths = np.minimum(lengths, lengths.T)
    found = problems.spanning_tree(lengths, device=session)
    assert found.value == reference.spanning_tree(lengths.tolist())
    if found.choice is not None:
        assert reference.is_tree(n, found.choice.tolist())
        assert sum(lengths[a, b] for a, b in found.choice) == found.value


def test_covering_as_knapsack(session, rng):
    sizes = rng.integers(0, 30, int(rng.integers(1, 12)))
    kinds = int(rng.integers(1, len(sizes) + 1))
    found = problems.covering_as_knapsack(sizes, kinds, device=session)
    assert found.value == problems.covering(sizes, kinds, device=session).value
    assert len(found.choice) == kinds and found.choice.sum() == len(sizes)
    left, total = np.sort(sizes), 0
    for count in found.choice:
        total += count * left[-1] if count else 0
        left = left[: len(left) - count]
    assert total == found.value


def test_example_of_covering_as_knapsack(session):
    """Its answer is that in the documentation of the function."""
    example = EXAMPLES["covering_as_knapsack"]
    assert str(example["sizes"]) in problems.covering_as_knapsack.__doc__
    assert problems.covering_as_knapsack(**example, device=session).value == 129


def test_covers_read_no_size_before_the_first(session):
    table = dp.fill(COVERS, (4, 6), size=[1.0, 2, 3, 4, 5], check=True, device=session)
    assert table.corner == 17


def test_nothing_is_left_of_nothing():
    assert problems.investment([[0]], 0).value == 0
    assert problems.distribution([3], [[[0] * 4], [[0] * 4]], [1, 1]).value == inf
    assert problems.transportation([[1]], [1], [2]).value == inf
    assert problems.transportation([[1, 2]], [5], [2**62, 2**62]).value == inf  # sums of int64 wrap around
    assert problems.transportation([[1], [1], [2], [3]], [2**62] * 4, [3]).value == 3
    assert problems.reliability([2**62, 2**62], [0.9, 0.8], 105).value == 0
    with pytest.raises(InvalidInput, match="'demands' .* together below 2\\*\\*31. Got 18446744073709551616"):
        problems.distribution([2**62] * 4, [[[0, 1]] * 4] * 2, [2, 2])
    assert problems.transportation([[1], [2]], [0, 0], [0]).choice.tolist() == [[0], [0]]
    assert problems.spanning_tree([[0]]).choice.shape == (0, 2)
    assert problems.spanning_tree([[0, inf], [inf, 0]]).choice is None


WRONG = {
    "profits": lambda: problems.discounted_profits([[1, 2]], [0], 0, 1),
    "growth": lambda: problems.discounted_profits([[1]], [1], 0, 1),
    "stock": lambda: problems.discounted_profits([[1]], [0], 1, 1),
    "returns": lambda: problems.investment([[0, 2**31]] * 9, 5),
    "demands": lambda: problems.production([-1], [[1]], [0], warehouse=1),
    "costs": lambda: problems.production([1], [[1]] * 2, [0], warehouse=1),
    r"costs\[1\]": lambda: problems.distribution([2], [[[0] * 3], [[0] * 2]], [1, 1]),
    r"stocks\[0\]": lambda: problems.distribution([1], [[[0] * 2]] * 2, [-1, 1]),
    "supplies": lambda: problems.transportation([[1]], [1, 1], [1]),
    "'demands' parameter of transportation": lambda: problems.transportation([[1] * 9], [900], [100] * 9),
    "times": lambda: problems.process_scheduling([1] * 21),
    "due": lambda: problems.process_scheduling([1], due=[1, 2]),
    "lengths": lambda: problems.spanning_tree([[0, 1], [2, 0]]),
    "kinds": lambda: problems.covering_as_knapsack([1, 2], 3),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters(name):
    with pytest.raises(InvalidInput, match=name):
        WRONG[name]()
