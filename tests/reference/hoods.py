"""Hoods by a monotone chain over exact integers; the stages of a merge, each block on its own."""

import numpy as np

from reference.orient import scaled_integers


def hood(points, side, *, collinear="drop") -> list[int]:
    """Indices of the lower or upper hood's vertices, left to right, of points in lexicographic order."""
    return _chain(scaled_integers(points) if len(points) else [], side, collinear, 0)


def stages(points, side, *, collinear="drop") -> list[list[list[int]]]:
    """For r = 0, 1 .. the hoods of blocks of 2^r points, until there is one block."""
    exact = scaled_integers(points) if len(points) else []
    found, size = [], 1
    while len(exact):
        found.append([_chain(exact[at : at + size], side, collinear, at) for at in range(0, len(exact), size)])
        if size >= len(exact):
            break
        size *= 2
    return found


def _chain(exact, side, collinear, start):
    sign = -1 if side == "upper" else 1
    chain = []
    for i, c in enumerate(exact):
        if chain and exact[chain[-1]] == c:
            continue
        while len(chain) >= 2:
            a, b = exact[chain[-2]], exact[chain[-1]]
            turn = sign * ((a[0] - c[0]) * (b[1] - c[1]) - (a[1] - c[1]) * (b[0] - c[0]))
            if turn > 0 or (collinear == "keep" and turn == 0):
                break
            chain.pop()
        chain.append(i)
    return [start + i for i in chain]


def in_order(points) -> np.ndarray:
    """The points in lexicographic order."""
    return points[np.lexsort((points[:, 1], points[:, 0]))]


# Match and merge -------------------------------------------------------------------------------------------------


def merge(points, left, right, side, log_d, *, collinear="drop"):
    """What the six phases find for hoods P and Q (lists of vertices), by trying every corner; None for an empty Q.

    The corner that a tangent touches has all corners of its hood on it or on its inner side; of several on one line it
    is the outermost for "drop", the innermost for "keep".
    """
    exact, sign = scaled_integers(points), -1 if side == "upper" else 1
    d1, d2 = 1 << (log_d + 1) // 2, 1 << log_d // 2
    if right and exact[left[-1]] == exact[right[0]]:
        right = right[1:]
    if not right:
        return None

    def turn(a, b, c):
        (ax, ay), (bx, by), (cx, cy) = exact[a], exact[b], exact[c]
        return sign * ((ax - cx) * (by - cy) - (ay - cy) * (bx - cx))

    inner = collinear == "keep"
    touched_on_q, touched_on_p = [], []
    for a in left:
        on_line = [j for j, q in enumerate(right) if all(turn(a, q, other) >= 0 for other in right)]
        touched_on_q.append(min(on_line) if inner else max(on_line))
    for b in right:
        on_line = [i for i, p in enumerate(left) if all(turn(p, b, other) >= 0 for other in left)]
        touched_on_p.append(max(on_line) if inner else min(on_line))
    ((p, q),) = [(i, j) for i, j in enumerate(touched_on_q) if touched_on_p[j] == i]
    first = p // d2 * d2
    return {
        "left_step": d2,
        "right_step": d1,
        "brackets": [j // d1 * d1 for j in touched_on_q[::d2]],
        "touches": touched_on_q[::d2],
        "first": first,
        "candidates": [j // d2 * d2 for j in touched_on_q[first : first + d2]],
        "p": p,
        "q": q,
        "merged": left[: p + 1] + right[q:],
    }
