"""Known-answer tests of a device (clgeom.core.trust): a small table by each path."""

from __future__ import annotations

import numpy as np

from clgeom.dp.batch.fills import fill_batch
from clgeom.dp.filling import fill
from clgeom.dp.language.equation import equation
from clgeom.dp.language.functions import index, maximum, min_over, minimum, where


def stages(session, dtype) -> bool:
    """A triangle of sums and of nested maxima, some of negations, stage by stage."""

    @equation(pattern="RUD")
    def triangle(M, i, j):
        left, above = M[i - 1, j - 1], M[i - 1, j]
        greatest = maximum(maximum(-(left | 1), above - 70 * i), -above)
        return where((j == 0) | (j == i), 1, where(j > i, 0, (left + above - greatest) % 10_007))

    expected, j = np.zeros((60, 60), np.int64), np.arange(60)
    expected[0, 0] = 1
    for i in range(1, 60):
        left, above = np.roll(expected[i - 1], 1), expected[i - 1]
        greatest = np.maximum.reduce([-(left | 1), above - 70 * i, -above])
        expected[i] = np.where((j == 0) | (j == i), 1, np.where(j > i, 0, (left + above - greatest) % 10_007))
    return np.array_equal(fill(triangle, (60, 60), path="stages", device=session).numpy(), expected)


def tiles(session, dtype) -> bool:
    """Edit distances of two byte sequences, over several tiles."""

    @equation(parameters={"x": "uint8[]", "y": "uint8[]"}, pattern="NOSE")
    def distance(M, i, j, x, y):
        near = minimum(M[i - 1, j], M[i, j - 1]) + 1
        return where(i == 0, j, where(j == 0, i, minimum(near, M[i - 1, j - 1] + (x[i - 1] != y[j - 1]))))

    n, m = 300, 333
    x, y = _sequence(n, 7), _sequence(m, 11)
    row = np.arange(m + 1)
    for i in range(1, n + 1):
        near = np.minimum(row[1:] + 1, row[:-1] + (y != x[i - 1]))
        row = np.arange(m + 1) + np.minimum.accumulate(np.concatenate([[i], near]) - np.arange(m + 1))
    table = fill(distance, (n + 1, m + 1), x=x, y=y, path="tiles", keep="last", device=session)
    return np.array_equal(table.last, row)


def _sequence(n, step):
    return (np.arange(n) * step % 13 % 4).astype(np.uint8)


def rows(session, dtype) -> bool:
    """Best values of a 0/1 knapsack for all capacities."""

    @equation(parameters={"w": "int32[]", "v": "int32[]"}, pattern="RUD")
    def sack(M, i, j, w, v):
        without, weight = M[i - 1, j], w[i - 1]
        taken = maximum(without, M[i - 1, j - weight] + v[i - 1])
        return where(i == 0, 0, where(j < weight, without, taken))

    k = np.arange(40)
    w, v = (1 + k * 37 % 59).astype(np.int32), (1 + k * 23 % 41).astype(np.int32)
    best = np.zeros(2_001, np.int64)
    for weight, value in zip(w, v):
        best[weight:] = np.maximum(best[weight:], best[:-weight] + value)
    table = fill(sack, (41, 2_001), w=w, v=v, path="rows", keep="last", device=session)
    return np.array_equal(table.last, best)


def splits(session, dtype) -> bool:
    """Costs of all parts of a matrix chain."""

    @equation(parameters={"p": "int32[]"}, pattern="SONE")
    def chain(M, i, j, p):
        k = index("k")
        return where(i >= j, 0, min_over(k, i, j, M[i, k] + M[k + 1, j] + p[i] * p[k + 1] * p[j + 1]))

    n = 70
    p = (1 + np.arange(n + 1) * 29 % 17).astype(np.int32)
    cost = np.zeros((n, n), np.int64)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j] = (
                cost[i, i:j] + cost[i + 1 : j + 1, j] + p[i] * p[i + 1 : j + 1].astype(np.int64) * p[j + 1]
            ).min()
    return np.array_equal(np.triu(fill(chain, (n, n), p=p, path="splits", device=session).numpy()), cost)


def cells(session, dtype) -> bool:
    """The least, the first largest and the sum of the cells of a table by diagonals, and the cells above a bound."""
    n, m = 90, 130
    expected = (np.arange(n)[:, None] * 31 + np.arange(m) * 17) % 101 - 50

    @equation(pattern="NOSE")
    def mixed(M, i, j):
        return (i * 31 + j * 17) % 101 - 50

    table = fill(mixed, (n, m), path="stages", layout="DIAGS_NOSE", device=session)
    numbers = [table.argmax(), table.sum(), *table.min(axis=0), *table.argmax(axis=1)]
    right = [expected.argmax(), expected.sum(), *expected.min(axis=0), *expected.argmax(axis=1)]
    found = np.array_equal(np.stack(table.where(">", 40)), np.stack(np.nonzero(expected > 40)))
    return numbers == right and found and np.array_equal(table[[3, 80], [129, 0]], expected[[3, 80], [129, 0]])


def tables(session, dtype) -> bool:
    """Tables of binomial coefficients of several sizes, and a table of powers with a number for each."""

    @equation(parameters={"base": "int32"}, pattern="NOSE")
    def paths(M, i, j, base):
        return where((i == 0) | (j == 0), base, (M[i - 1, j] + M[i, j - 1]) % 10_007)

    shapes = [(1 + 7 * k % 40, 1 + 11 * k % 50) for k in range(30)]
    batch = fill_batch(paths, shapes, base=np.arange(30), device=session)
    for k, (n, m) in enumerate(shapes):
        expected = np.full((n, m), k)
        for i in range(1, n):
            for j in range(1, m):
                expected[i, j] = (expected[i - 1, j] + expected[i, j - 1]) % 10_007
        if not np.array_equal(batch[k], expected):
            return False
    return True
