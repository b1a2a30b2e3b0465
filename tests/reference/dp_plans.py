"""Plans, customers and sets by trying everything; with whole numbers or Fractions, exact."""

from functools import lru_cache
from itertools import combinations, permutations, product
from math import inf


def discounted_profits(profits, growth, stock, years, discount):
    @lru_cache(None)
    def best(left, have):
        if left == 0:
            return 0
        return max(profits[have][x] + discount * best(left - 1, growth[have - x]) for x in range(have + 1))

    return best(years, stock)


def evaluate_profits(profits, growth, stock, taken, discount):
    total, worth = 0, 1
    for x in taken:
        total, stock, worth = total + worth * profits[stock][x], growth[stock - x], worth * discount
    return total


def investment(returns, money):
    if not returns:
        return money
    offer = returns[0]
    return max(investment(returns[1:], money - x + offer[x]) for x in range(min(money + 1, len(offer))))


def production_cost(demands, costs, holding, warehouse, stock, made):
    """What a plan costs; inf for one that does not work."""
    total = 0
    for demand, cost, keep, x in zip(demands, costs, holding, made):
        stock += x - demand
        if not 0 <= stock <= warehouse:
            return inf
        total += cost[x] + keep * stock
    return total


def production(demands, costs, holding, warehouse, stock):
    plans = product(range(len(costs[0])), repeat=len(demands))
    return min(production_cost(demands, costs, holding, warehouse, stock, made) for made in plans)


def distribution(demands, first, other, stocks):
    best = inf
    for amounts in product(*(range(d + 1) for d in demands)):
        if sum(amounts) <= stocks[0] and sum(demands) - sum(amounts) <= stocks[1]:
            cost = sum(a[x] + b[d - x] for a, b, d, x in zip(first, other, demands, amounts))
            best = min(best, cost)
    return best


def transportation(costs, supplies, demands):
    """Factory after factory, with all that customers still want."""
    if not costs:
        return inf if any(demands) else 0
    return min(
        sum(c * x for c, x in zip(costs[0], sent))
        + transportation(costs[1:], supplies[1:], [d - x for d, x in zip(demands, sent)])
        for sent in product(*(range(d + 1) for d in demands))
        if sum(sent) <= supplies[0]
    )


def lateness(times, weights, due, order):
    now, total = 0, 0
    for k in order:
        now += times[k]
        total += weights[k] * max(now - due[k], 0)
    return total


def process_scheduling(times, weights, due):
    return min(lateness(times, weights, due, order) for order in permutations(range(len(times))))


def is_tree(n, edges):
    """Whether so many nodes are connected by one edge fewer."""
    group = list(range(n))
    for a, b in edges:
        group = [group[a] if g == group[b] else g for g in group]
    return len(edges) == n - 1 and len(set(group)) == 1


def spanning_tree(lengths):
    n = len(lengths)
    trees = (t for t in combinations(list(combinations(range(n), 2)), n - 1) if is_tree(n, t))
    return min(sum(lengths[a][b] for a, b in t) for t in trees)
