"""Recurrences with several values a cell, in plain Python."""

import numpy as np

from reference.dp import order

NONE = -10_000


def gotoh(a, b, match=2, mismatch=-3, opened=5, extended=1):
    """(M, X, Y) tables of a global alignment with affine gaps, whose first letter costs opened + extended; row by row.

    M ends in a pair, X in a gap of b (a letter of a alone), Y in a gap of a.
    """
    n, m = len(a) + 1, len(b) + 1
    M, X, Y = ([[NONE] * m for _ in range(n)] for _ in "MXY")
    for i in range(n):
        for j in range(m):
            if i == 0 and j == 0:
                M[0][0] = 0
                continue
            if i:
                X[i][j] = max(M[i - 1][j] - opened - extended, X[i - 1][j] - extended, NONE)
            if j:
                Y[i][j] = max(M[i][j - 1] - opened - extended, Y[i][j - 1] - extended, NONE)
            if i and j:
                best = max(M[i - 1][j - 1], X[i - 1][j - 1], Y[i - 1][j - 1])
                M[i][j] = max(best + (match if a[i - 1] == b[j - 1] else mismatch), NONE)
    return M, X, Y


def alignment_score(a, b, way, match=2, mismatch=-3, opened=5, extended=1):
    """The score of an alignment, a list of (letter of a or None, letter of b or None) by index."""
    total, gap = 0, None
    for x, y in way:
        kind = None if x is not None and y is not None else "a" if y is None else "b"
        if kind is None:
            total += match if a[x] == b[y] else mismatch
        else:
            total -= extended + (opened if kind != gap else 0)
        gap = kind
    return total


def by_fields(cell, shape, pattern, fields):
    """The table of ``cell(tables, i, j)``, which returns a value for each field, as arrays by field."""
    tables = {name: np.zeros(shape, dtype) for name, dtype in fields.items()}
    for i, j in order(pattern, *shape):
        for name, value in cell(tables, i, j).items():
            tables[name][i, j] = value
    return tables
