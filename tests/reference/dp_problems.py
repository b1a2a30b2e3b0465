"""Small problems solved by trying everything, or by the plainest recursion. Exact: whole numbers and Fractions."""

from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations, product
from math import comb, inf


def binomial(n, k):
    return comb(n, k)


def knapsack(values, weights, capacity):
    """Best value of any set of items that fits."""
    best = 0
    for size in range(len(values) + 1):
        for items in combinations(range(len(values)), size):
            if sum(weights[k] for k in items) <= capacity:
                best = max(best, sum(values[k] for k in items))
    return best


def integer_knapsack(values, weights, capacity):
    """Best value when every item may be taken any number of times."""
    counts = [range(capacity // w + 1) for w in weights]
    return max(
        sum(x * v for x, v in zip(taken, values))
        for taken in product(*counts)
        if sum(x * w for x, w in zip(taken, weights)) <= capacity
    )


def is_subsequence(part, whole):
    rest = iter(whole)
    return all(any(symbol == other for other in rest) for symbol in part)


def lcs(a, b):
    """Length of the longest subsequence of `a` that `b` has too."""
    for size in range(len(a), -1, -1):
        if any(is_subsequence(part, b) for part in combinations(a, size)):
            return size


def lcs_table(a, b):
    """The textbook's table, for sequences of any length."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i][j] = table[i - 1][j - 1] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table


def edit_distance(a, b):
    @lru_cache(None)
    def distance(i, j):
        if i == 0 or j == 0:
            return i + j
        change = distance(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        return min(change, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(a), len(b))


def apply_edits(a, b, operations):
    """What the operations make of `a`, and how many of them change something; checks that "match" matches."""
    i, j, made, cost = 0, 0, [], 0
    for operation in operations:
        if operation in ("match", "change"):
            assert (a[i] == b[j]) == (operation == "match")
            made.append(b[j])
            i, j = i + 1, j + 1
        elif operation == "delete":
            i += 1
        else:
            assert operation == "insert"
            made.append(b[j])
            j += 1
        cost += operation != "match"
    assert i == len(a)
    return made, cost


def _orders(lo, hi, join):
    """The results of every way to join lo .. hi - 1 in pairs; join(lo, k, hi, left, right)."""
    if hi - lo == 1:
        yield 0
        return
    for k in range(lo + 1, hi):
        for left in _orders(lo, k, join):
            for right in _orders(k, hi, join):
                yield join(lo, k, hi, left, right)


def matrix_chain(dims):
    d = dims
    return min(_orders(0, len(d) - 1, lambda lo, k, hi, a, b: a + b + d[lo] * d[k] * d[hi]))


def evaluate_chain(dims, tree):
    """(rows, columns, multiplications) of a tree of matrix numbers and pairs."""
    if isinstance(tree, int):
        return dims[tree], dims[tree + 1], 0
    (p, q, left), (r, s, right) = (evaluate_chain(dims, part) for part in tree)
    assert q == r
    return p, s, left + right + p * q * s


def alphabetic_tree(weights):
    return min(_orders(0, len(weights), lambda lo, k, hi, a, b: a + b + sum(weights[lo:hi])))


def search_tree(p, q):
    """Least expected comparisons of a search tree: p of finding each key, q of falling into each gap."""

    def costs(lo, hi):  # keys lo .. hi - 1; CLRS counts a gap's depth plus one
        if lo == hi:
            yield q[lo]
            return
        weight = sum(p[lo:hi]) + sum(q[lo : hi + 1])
        for root in range(lo, hi):
            for left in costs(lo, root):
                for right in costs(root + 1, hi):
                    yield left + right + weight

    return min(costs(0, len(p)))


def allotment(costs, total):
    """Least sum of costs[k][x_k] with the x summing to `total`."""
    return min(
        (
            sum(row[x] for row, x in zip(costs, amounts))
            for amounts in product(*(range(min(len(row), total + 1)) for row in costs))
            if sum(amounts) == total
        ),
        default=inf,
    )


def las_vegas(p, plays, chips, goal):
    """Best probability of having at least `goal` chips after so many plays, as a Fraction for a Fraction."""

    @lru_cache(None)
    def best(left, have):
        if left == 0:
            return Fraction(int(have >= goal))
        return max(p * best(left - 1, have + bet) + (1 - p) * best(left - 1, have - bet) for bet in range(have + 1))

    return best(plays, chips)


def stagecoach(legs):
    """Shortest way through layers: legs[k][a][b] from town a of layer k to town b of layer k + 1."""
    sizes = [len(legs[0]), *(len(leg[0]) for leg in legs)]
    return min(sum(leg[a][b] for leg, a, b in zip(legs, way, way[1:])) for way in product(*map(range, sizes)))


def bottleneck(legs):
    """The way whose longest leg is shortest."""
    sizes = [len(legs[0]), *(len(leg[0]) for leg in legs)]
    return min(max(leg[a][b] for leg, a, b in zip(legs, way, way[1:])) for way in product(*map(range, sizes)))


def assembly_line(stations, transfers, entry, leave):
    """Quickest way through two lines."""
    n = len(stations[0])
    best = inf
    for way in product((0, 1), repeat=n):
        time = entry[way[0]] + leave[way[-1]] + sum(stations[line][k] for k, line in enumerate(way))
        time += sum(transfers[way[k]][k] for k in range(n - 1) if way[k] != way[k + 1])
        best = min(best, time)
    return best


def assignment(costs):
    return min(sum(row[column] for row, column in zip(costs, order)) for order in permutations(range(len(costs))))


def covering(sizes, kinds):
    """Least total when each thing gets a cover of at least its size, of so many kinds; sizes ascending."""
    return min(
        sum(min(cover for cover in covers if cover >= size) for size in sizes)
        for covers in combinations(sizes, kinds)
        if covers[-1] == sizes[-1]
    )


def deadline_scheduling(profits, deadlines):
    """Most profit of jobs that take a unit of time each and end by their deadlines."""
    best = 0
    for size in range(len(profits) + 1):
        for jobs in combinations(range(len(profits)), size):
            if all(slot <= deadlines[k] for slot, k in enumerate(sorted(jobs, key=lambda k: deadlines[k]), 1)):
                best = max(best, sum(profits[k] for k in jobs))
    return best


def inventory(demands, setup, unit, holding, capacity, warehouse):
    """Least cost of making and keeping what is asked for, starting and ending with an empty warehouse."""
    best = inf
    for made in product(range(capacity + 1), repeat=len(demands)):
        stock, cost = 0, 0
        for x, demand in zip(made, demands):
            stock += x - demand
            if not 0 <= stock <= warehouse:
                break
            cost += (setup + unit * x if x else 0) + holding * stock
        else:
            if stock == 0:
                best = min(best, cost)
    return best


def reliability(costs, rates, budget):
    """Most reliable design: at least one of each part, parts in parallel, the product over the kinds of parts."""
    best = 0
    for counts in product(*(range(1, budget // cost + 1) for cost in costs)):
        if sum(count * cost for count, cost in zip(counts, costs)) <= budget:
            chance = 1
            for count, rate in zip(counts, rates):
                chance *= 1 - (1 - rate) ** count
            best = max(best, chance)
    return best


def replacement(costs):
    """Cheapest way from 0 to n in steps k -> l of cost costs[k][l]."""
    n = len(costs) - 1
    return min(
        sum(costs[a][b] for a, b in zip((0, *stops), (*stops, n)))
        for size in range(n)
        for stops in combinations(range(1, n), size)
    )


def shortest_paths(lengths, source):
    """Distances by trying all simple paths; inf for no edge."""
    n = len(lengths)
    best = [inf] * n
    best[source] = 0
    others = [k for k in range(n) if k != source]
    for size in range(1, n):
        for way in permutations(others, size):
            best[way[-1]] = min(best[way[-1]], sum(lengths[a][b] for a, b in zip((source, *way), way)))
    return best


def curve_fitting(x, y, segments):
    """Least sum of squared errors of so many straight pieces, each over consecutive points; with Fractions, exact."""

    def error(lo, hi):
        n = hi - lo
        sx, sy = sum(x[lo:hi]), sum(y[lo:hi])
        sxx = sum(v * v for v in x[lo:hi]) - Fraction(sx * sx, n)
        sxy = sum(u * v for u, v in zip(x[lo:hi], y[lo:hi])) - Fraction(sx * sy, n)
        syy = sum(v * v for v in y[lo:hi]) - Fraction(sy * sy, n)
        return syy if n == 1 or sxx == 0 else syy - sxy * sxy / sxx

    n = len(x)
    return min(
        sum(error(lo, hi) for lo, hi in zip((0, *cuts), (*cuts, n))) for cuts in combinations(range(1, n), segments - 1)
    )


def nim(n, most):
    """Whether who takes first, 1 to `most` at a time, can take the last of n."""
    wins = [False]
    for left in range(1, n + 1):
        wins.append(any(not wins[left - taken] for taken in range(1, min(most, left) + 1)))
    return wins[n]


def integer_program(profits, rows, limits):
    """Most of profits . x with rows @ x <= limits, x whole and not negative."""
    bounds = [min(limit // row[k] for row, limit in zip(rows, limits) if row[k]) for k in range(len(profits))]
    return max(
        sum(p * x for p, x in zip(profits, xs))
        for xs in product(*(range(b + 1) for b in bounds))
        if all(sum(a * x for a, x in zip(row, xs)) <= limit for row, limit in zip(rows, limits))
    )
