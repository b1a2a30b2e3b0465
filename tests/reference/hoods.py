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
