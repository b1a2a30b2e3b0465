"""Problems in the terms of textbooks: known answers, and all small ones against exhaustive search."""

from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from clgeom.dp import problems
from clgeom.errors import InvalidInput

pytestmark = pytest.mark.optimised

FEW = settings(max_examples=12)
cost = st.integers(0, 40)


def test_known_answers(session):
    """Hillier and Lieberman, 10.3; Winston, 18.5."""
    found = problems.reject_allowances(300, 100, 0.5, 1600, 3, device=session)
    assert found.value == 675 and found.choice.tolist() == [2, 2, 3]
    found = problems.equipment_replacement(1000, [60, 80, 120], [800, 600, 500], 5, device=session)
    assert found.value == 1280 and np.diff(found.choice, prepend=0).tolist() in ([1, 1, 3], [1, 3, 1], [3, 1, 1])


def expected_cost(lots, setup, unit, success, penalty):
    total = penalty
    for x in reversed(lots):
        total = (1 - success) ** x * total + (setup if x else 0) + unit * x
    return total


@FEW
@given(cost, cost, st.sampled_from((0, 0.25, 0.5, 1)), st.integers(0, 300), st.integers(1, 3), st.integers(0, 4))
def test_reject_allowances(setup, unit, success, penalty, runs, largest):
    found = problems.reject_allowances(setup, unit, success, penalty, runs, largest=largest)
    lots = product(range(largest + 1), repeat=runs)
    best = min(expected_cost(one, setup, unit, success, penalty) for one in lots)
    assert found.value == pytest.approx(best, rel=1e-12)
    assert expected_cost(found.choice.tolist(), setup, unit, success, penalty) == pytest.approx(best, rel=1e-12)


@FEW
@given(st.lists(st.lists(st.integers(-5, 9), min_size=4, max_size=4), min_size=1, max_size=3), st.integers(0, 9))
def test_project_investment(returns, money):
    found = problems.project_investment(returns, money)
    ways = [way for way in product(range(4), repeat=len(returns)) if sum(way) <= money]
    worth = [sum(row[x] for row, x in zip(returns, way)) for way in ways]
    assert found.value == max(worth)
    assert tuple(found.choice.tolist()) == ways[int(np.argmax(worth))]  # ways are in order, fewer units first


@FEW
@given(cost, st.lists(st.tuples(cost, cost), min_size=1, max_size=4), st.integers(1, 6))
def test_equipment_replacement(price, ages, years):
    maintenance, trade_in = zip(*ages)
    found = problems.equipment_replacement(price, maintenance, trade_in, years)

    def spent(uses):
        return sum(price + sum(maintenance[:use]) - trade_in[use - 1] for use in uses)

    def plans(left):
        yield from ([] if left else [()])
        for use in range(1, min(left, len(ages)) + 1):
            yield from ((use, *rest) for rest in plans(left - use))

    assert found.value == min(map(spent, plans(years)))
    assert spent(np.diff(found.choice, prepend=0).tolist()) == found.value and found.choice[-1] == years


def test_wrong_arguments():
    for wrong, said in (
        (
            lambda: problems.reject_allowances(-1, 1, 0.5, 1, 1),
            "'setup' parameter of reject_allowances must be a finite number of 0 or more",
        ),
        (lambda: problems.reject_allowances(1, 1, 1.5, 1, 1), "'success' parameter of reject_allowances"),
        (lambda: problems.reject_allowances(1, 1, 0.5, 1, 0), "'runs'"),
        (lambda: problems.project_investment([1, 2], 3), "'returns' parameter of project_investment"),
        (lambda: problems.project_investment([[1, np.nan]], 3), "finite"),
        (lambda: problems.equipment_replacement(1, [], [], 3), "'maintenance'"),
        (lambda: problems.equipment_replacement(1, [1, 2], [1], 3), "'trade_in' .* as many as 'maintenance'"),
        (lambda: problems.equipment_replacement(1, [1], [1], 10**6), "'years'"),
    ):
        with pytest.raises(InvalidInput, match=said):
            wrong()
