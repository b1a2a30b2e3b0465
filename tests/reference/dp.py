"""Tables filled cell by cell in plain Python, in an order of their own, and the equations that tests share."""

import functools

import numpy as np

#: Offsets in the region of each pattern, from the definitions of the classes.
REGIONS = {
    "RUD": [(-1, -1), (-1, 0), (-1, 1)],
    "RDU": [(1, -1), (1, 0), (1, 1)],
    "CLR": [(-1, -1), (0, -1), (1, -1)],
    "CRL": [(-1, 1), (0, 1), (1, 1)],
    "NOSE": [(-1, -1), (-1, 0), (0, -1)],
    "SENO": [(1, 1), (1, 0), (0, 1)],
    "SONE": [(0, -1), (1, -1), (1, 0)],
    "NESO": [(-1, 0), (-1, 1), (0, 1)],
}


def order(pattern, n, m):
    """All cells, each after those that the pattern lets it read."""
    rows, columns = range(n), range(m)
    down = pattern in ("RUD", "CLR", "CRL", "NOSE", "NESO")
    right = pattern in ("RUD", "RDU", "CLR", "NOSE", "SONE")
    rows, columns = rows if down else rows[::-1], columns if right else columns[::-1]
    if pattern in ("CLR", "CRL"):
        return [(i, j) for j in columns for i in rows]
    return [(i, j) for i in rows for j in columns]


def fill_plainly(cell, shape, pattern, dtype):
    """The table of ``cell(M, i, j)``, where M is the table so far; cells are visited in `order`."""
    table = np.zeros(shape, dtype)
    for i, j in order(pattern, *shape):
        table[i, j] = cell(table, i, j)
    return table


@functools.cache
def mixed(pattern, shape, dtype):
    """The table of the equation that `mixed_python` and `mixed_c` in dp_tables write."""
    n, m = shape
    number = np.dtype(dtype).type

    def cell(table, i, j):
        reads = [(i + a, j + b) for a, b in REGIONS[pattern]]
        found = [table[at] if 0 <= at[0] < n and 0 <= at[1] < m else number(0) for at in reads]
        if np.dtype(dtype).kind == "f":
            value = number(i) * number(0.75) + number(j)
            for weight, read in zip((0.25, 0.5, 0.1), found):
                value = value + read * number(weight)
            return value / number(3)
        value = 31 * i + 17 * j + sum((k + 1) * int(read) for k, read in enumerate(found))
        return value % (1009 if number is np.int32 else 10**10 + 19)

    return fill_plainly(cell, shape, pattern, dtype)


def lcs_table(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            table[i, j] = table[i - 1, j - 1] + 1 if x == y else max(table[i - 1, j], table[i, j - 1])
    return table


def knapsack_table(weights, profits, capacity):
    table = np.zeros((len(weights) + 1, capacity + 1), np.int64)
    for i, (w, v) in enumerate(zip(weights, profits), 1):
        table[i] = table[i - 1]
        if w <= capacity:
            table[i, w:] = np.maximum(table[i - 1, w:], table[i - 1, : capacity + 1 - w] + v)
    return table


def chain_table(d):
    """(costs, lowest best split) of matrix-chain multiplication."""
    n = len(d) - 1
    cost, split = np.zeros((n, n), np.int64), np.full((n, n), -1)
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            options = [cost[i, k] + cost[k + 1, j] + d[i] * d[k + 1] * d[j + 1] for k in range(i, j)]
            cost[i, j] = min(options)
            split[i, j] = i + options.index(min(options))
    return cost, split
