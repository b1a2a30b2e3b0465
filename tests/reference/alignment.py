"""Alignments by Gotoh's three tables, cell by cell, with the tie rules of clgeom.align; scores of many at once."""

from __future__ import annotations

import numpy as np

NEVER = float("-inf")


def align(a, b, score, *, gap_open, gap_extend, local=False, free=(), band=None):
    """(score, (a_start, a_end), (b_start, b_end), operations) of two sequences; `score` is a function of two letters.

    `free` has the names of the ends that are free. Operations are of "=XDI".
    """
    n, m = len(a), len(b)
    H, E, F = ([[NEVER] * (m + 1) for _ in range(n + 1)] for _ in range(3))

    def inside(i, j):
        return band is None or abs(i - j) <= band

    def gap(k):
        return -(gap_open + k * gap_extend) if k else 0

    for i in range(n + 1):
        for j in range(m + 1):
            if not inside(i, j):
                continue
            if i == 0 or j == 0:
                is_free = local or ("b_begin" in free if i == 0 else "a_begin" in free)
                H[i][j] = 0 if is_free else gap(i + j)
                continue
            E[i][j] = max(H[i - 1][j] - gap_open, E[i - 1][j]) - gap_extend
            F[i][j] = max(H[i][j - 1] - gap_open, F[i][j - 1]) - gap_extend
            H[i][j] = max(H[i - 1][j - 1] + score(a[i - 1], b[j - 1]), E[i][j], F[i][j])
            if local:
                H[i][j] = max(H[i][j], 0)
    if local:
        ends = [(i, j) for i in range(n + 1) for j in range(m + 1)]
    else:
        ends = [(n, m)]
        ends += [(i, m) for i in range(n)] if "a_end" in free else []
        ends += [(n, j) for j in range(m)] if "b_end" in free else []
    best = max(H[i][j] for i, j in ends)
    i, j = end = min((i, j) for i, j in ends if H[i][j] == best)
    if local and best == 0:
        return 0, (0, 0), (0, 0), ""
    operations, state = [], "H"
    while i and j:
        if state == "H":
            if local and H[i][j] == 0:
                break
            if H[i][j] == H[i - 1][j - 1] + score(a[i - 1], b[j - 1]):
                operations.append("=" if a[i - 1] == b[j - 1] else "X")
                i, j = i - 1, j - 1
            else:
                state = "E" if H[i][j] == E[i][j] else "F"
        elif state == "E":
            operations.append("D")
            state = "H" if E[i][j] == H[i - 1][j] - gap_open - gap_extend else "E"
            i -= 1
        else:
            operations.append("I")
            state = "H" if F[i][j] == H[i][j - 1] - gap_open - gap_extend else "F"
            j -= 1
    if not local:
        if i and "a_begin" not in free:
            operations += "D" * i
            i = 0
        if j and "b_begin" not in free:
            operations += "I" * j
            j = 0
    return best, (i, end[0]), (j, end[1]), "".join(reversed(operations))


def best_ends(a, b, *, match, mismatch, gap_open, gap_extend, local=False, free=()):
    """The best score of each pair of two lists of bytes, and where it ends: rows of (score, a_end, b_end).

    The same tables for all pairs at once, row by row. A gap in `a` never follows another one, so those of a row are a
    running maximum.
    """
    n, m = (np.array([*map(len, one)])[:, None] for one in (a, b))
    x, y = (
        np.array([[*one.ljust(most.max(), pad)] for one in some]) for some, most, pad in ((a, n, b"\0"), (b, m, b"\1"))
    )
    never, columns = -(1 << 30), np.arange(m.max() + 1)
    found = np.full((len(a), 3), never)
    floor = 0 if local else never
    down = np.full((len(a), len(columns)), never)
    for i in range(n.max() + 1):
        if i == 0:
            row = np.tile(np.where(columns > 0, -gap_open - gap_extend * columns, 0), (len(a), 1))
            row[:] = 0 if local or "b_begin" in free else row
        else:
            down = np.maximum(down, row - gap_open) - gap_extend
            pairs = row[:, :-1] + np.where(x[:, i - 1, None] == y, match, mismatch)
            row = np.maximum(down, floor)
            row[:, 0] = 0 if local or "a_begin" in free else -gap_open - gap_extend * i
            row[:, 1:] = np.maximum(row[:, 1:], pairs)
            across = np.maximum.accumulate(row + gap_extend * columns, axis=1)[:, :-1]
            row[:, 1:] = np.maximum(row[:, 1:], across - gap_open - gap_extend * columns[1:])
        is_end = (
            (i <= n) & (columns <= m) & (local | ((i == n) | ("a_end" in free)) & ((columns == m) | ("b_end" in free)))
        )
        if not local:
            is_end &= (i == n) | (columns == m)
        values = np.where(is_end, row, never)
        at = values.argmax(axis=1)
        best = values[np.arange(len(a)), at]
        better = best > found[:, 0]
        found[better] = np.stack([best, np.full(len(a), i), at], axis=1)[better]
    return found
