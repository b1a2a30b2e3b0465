"""Recurrences with a long reach along one line: coins, unbounded knapsacks and eggs, beside plain Python."""

import numpy as np
import pytest

from clgeom import dp
from clgeom.core.policies import Policy
from clgeom.core.tuning import override

NEVER = 1 << 30


@dp.equation(pattern="CLR", parameters={"coins": "int32[]", "count": "int32"})
def fewest(M, i, j, coins, count):
    """The fewest coins for amount j, and the last of them."""

    def coin(k):
        return dp.where(coins[k] <= j, M[i, j - coins[k]] + 1, NEVER)

    return dp.where(j == 0, (0, -1), (dp.min_over("k", 0, count, coin), dp.argmin_over("k", 0, count, coin)))


@dp.equation(pattern="CLR", parameters={"steps": "int32[]", "count": "int32"}, dtype="int64")
def ways(M, i, j, steps, count):
    """In how many ways steps lead to j, by their order, modulo 2^64."""
    reached = dp.sum_over("k", 0, count, lambda k: dp.where(steps[k] <= j, M[i, j - steps[k]], 0))
    return dp.where(j == 0, 1, reached)


@dp.equation(pattern="CLR", parameters={"weights": "int32[]", "profits": "int32[]", "count": "int32"})
def filled(M, i, j, weights, profits, count):
    """The best unbounded knapsack of capacity j."""
    best = dp.max_over("k", 0, count, lambda k: dp.where(weights[k] <= j, M[i, j - weights[k]] + profits[k], 0))
    return dp.where(j == 0, 0, best)


@dp.equation(pattern="CLR", dtype="uint16")
def eggs(M, i, j):
    """The fewest drops that find the floor, of j floors, from which eggs break, with i + 1 eggs."""
    worst = dp.min_over("k", 1, j + 1, lambda k: dp.maximum(M[i - 1, k - 1], M[i, j - k]) + 1)
    return dp.where(j == 0, 0, dp.where(i == 0, j, worst))


def plain_coins(coins, amount):
    fewest, ways, last = [0], [1], [-1]
    for j in range(1, amount + 1):
        costs = [fewest[j - c] + 1 if c <= j else NEVER for c in coins]
        fewest.append(min(costs))
        last.append(costs.index(min(costs)))
        ways.append(sum(ways[j - c] for c in coins if c <= j))
    return fewest, last, [(w + 2**63) % 2**64 - 2**63 for w in ways]


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("size", [0, 8])
def test_long_reach(subtests, any_session, size):
    """With groups that reduce a cell together, of the usual size and of 8."""
    options = {"device": any_session, "check": False}
    with override({"dp/paths/wide_stage": Policy("group", wg_size=size, groups_per_unit=64)} if size else {}):
        for coins, amount in (([1, 5, 10, 25], 99), ([7, 3, 40, 111, 12, 3, 90, 5, 17, 64], 700)):
            with subtests.test(amount=amount):
                count, last, orders = plain_coins(coins, amount)
                given = {"coins": coins, "count": len(coins)}
                table = dp.fill(fewest, (1, amount + 1), **given, **options)
                count = np.array(count)
                reachable = count < NEVER
                np.testing.assert_array_equal(table[0][reachable], count[reachable])
                np.testing.assert_array_equal(table.decisions.row(0)[reachable], np.array(last)[reachable])
                table = dp.fill(ways, (1, amount + 1), steps=coins, count=len(coins), **options)
                np.testing.assert_array_equal(table[0], np.array(orders))
        weights, profits = [4, 7, 9, 23, 5], [3, 9, 11, 35, 6]
        best = [0]
        for j in range(1, 400):
            best.append(max(best[j - w] + v if w <= j else 0 for w, v in zip(weights, profits)))
        table = dp.fill(filled, (1, 400), weights=weights, profits=profits, count=5, **options)
        assert table[0].tolist() == best


@pytest.mark.settings("as_is", "as_gpu")
def test_eggs(any_session):
    drops = [list(range(61))]
    for _ in range(3):
        above, row = drops[-1], [0]
        for j in range(1, 61):
            row.append(min(max(above[k - 1], row[j - k]) + 1 for k in range(1, j + 1)))
        drops.append(row)
    assert dp.fill(eggs, (4, 61), device=any_session).numpy().tolist() == drops
    assert drops[1][36] == 8  # the textbook's answer
