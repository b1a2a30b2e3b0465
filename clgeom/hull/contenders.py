"""Which edges of a large convex polygon may have the best caliper: in pairs of floats, many edges at a time.

Corners farthest from an edge are looked up by the angles of steps and confirmed by signs that are sure. An edge is left
out only if the error bound of its measure excludes it; integers compare those that are left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from clgeom.hull.calipers import Purpose
from clgeom.hull.measures import two_difference, two_product

#: Of so few edges, none is left out.
FEW = 64
#: Edges at a time: their numbers stay in the processor's cache.
AT_A_TIME = 8192
#: Bounds of errors, relative to the sizes of what is added: of signs, of pairs, and of a quotient of pairs.
SIGN, PAIR, QUOTIENT = 2.0**-50, 2.0**-96, 2.0**-90

#: Numbers as sums of two floats.
Pair: TypeAlias = tuple[np.ndarray, np.ndarray]
#: Both coordinates of vectors.
Vector: TypeAlias = tuple[Pair, Pair]


def contenders(corners: np.ndarray, edges: np.ndarray, purpose: Purpose) -> np.ndarray:
    """Return those of some edges that may have the best caliper; coordinates are in the range of `Corners.in_range`."""
    if len(edges) <= FEW:
        return edges
    x, y = (np.ascontiguousarray(one) for one in corners.astype(np.float64).T)
    with np.errstate(all="ignore"):
        turns = _turns(x, y)
        some = [_left(x, y, turns, edges[i : i + AT_A_TIME], purpose) for i in range(0, len(edges), AT_A_TIME)]
        return some[0] if len(some) == 1 else _left(x, y, turns, np.concatenate(some), purpose)


def _left(x: np.ndarray, y: np.ndarray, turns: np.ndarray, edges: np.ndarray, purpose: Purpose) -> np.ndarray:
    """Return the edges that others of them do not exclude."""

    def between(a: np.ndarray, b: np.ndarray) -> Vector:
        (ax, ay), (bx, by) = ((x.take(k, mode="wrap"), y.take(k, mode="wrap")) for k in (a, b))
        return two_difference(bx, ax), two_difference(by, ay)

    edge = between(edges, edges + 1)
    across, sure = _farthest(turns, edges, edge, 1, between)
    if purpose == "diameter":
        far = between(edges, across)
        (high, low), _ = _sum(far, far, 1)
        high, low, margin = -high, -low, QUOTIENT * high
    else:
        height, off = _sum(edge, between(edges, across)[::-1], -1)
        above, rest = height, off
        if purpose != "width":
            along, known = _farthest(turns, edges, edge, 0, between)
            back, known_back = _farthest(turns, edges, edge, 2, between)
            sure &= known & known_back
            above, rest = _sum(edge, between(back, along), 1)
        if purpose == "area":
            relative = off / height[0] + rest / above[0]
            above = _product(above, height)
        else:
            if purpose == "perimeter":
                above, rest = _add(above, height), rest + off
            relative = 2 * rest / above[0]
            above = _product(above, above)
        high, low = _quotient(above, _sum(edge, edge, 1)[0])
        margin = high * (2 * relative + QUOTIENT)
    sure &= (margin >= 0) & (margin < np.abs(high) / 4)
    known = np.flatnonzero(sure)
    if not len(known):
        return edges
    least = known[high[known] == high[known].min()]
    best = least[np.argmin(low[least])]
    worse = (high - high[best]) + (low - low[best]) > 2 * (margin + margin[best])
    found: np.ndarray = edges[~(sure & worse)]
    return found


def _turns(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return about how far steps of two rounds have turned since the first one."""
    angles = np.arctan2(np.append(y[1:], y[0]) - y, np.append(x[1:], x[0]) - x)
    turned = (angles - angles[0]) % (2 * np.pi)
    turned[0] = 0
    np.maximum.accumulate(turned, out=turned)
    return np.concatenate([turned, turned + 2 * np.pi])


def _farthest(
    turns: np.ndarray, edges: np.ndarray, edge: Vector, quarter: int, between: Callable[..., Vector]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first corners whose steps are in a later quarter turn than this one, and whether that is sure."""
    count = len(turns) // 2
    found = np.searchsorted(turns, turns[edges] + (quarter + 1) * (np.pi / 2))
    found = np.clip(found, edges + 1, edges + count)
    sure = np.zeros(len(edges), bool)
    some, vectors = np.arange(len(edges)), edge
    for away in (0, -1, 2):
        found[some] += away
        k = found[some]
        before = _later(vectors, between(k - 1, k), quarter) < 0
        after = (_later(vectors, between(k, k + 1), quarter) > 0) | (k == edges[some] + count)
        right = before & after & (k > edges[some]) & (k <= edges[some] + count)
        sure[some[right]] = True
        some = some[~right]
        if not len(some):
            break
        x, y = ((high[~right], low[~right]) for high, low in vectors)
        vectors = x, y
    return found, sure


def _later(edge: Vector, step: Vector, quarter: int) -> np.ndarray:
    """Return 1 for steps in a later quarter turn than this one relative to edges, -1 for others, 0 if not sure."""
    side, along = _sign(edge, step[::-1], -1), _sign(edge, step, 1)
    if quarter == 1:
        doubt = (side == 2) | ((side == 0) & (along == 2))
        later = (side < 0) | ((side == 0) & (along <= 0))
    else:
        doubt = (side == 2) | (along == 2)
        later = (side < 0) & (along >= 0) if quarter == 2 else (side < 0) | (along <= 0)
    return np.where(doubt, 0, np.where(later, 1, -1))


def _sign(a: Vector, b: Vector, sign: int) -> np.ndarray:
    """Return the sign of a[0] * b[0] + sign * a[1] * b[1]; 2 if it is not sure."""
    left, right = a[0][0] * b[0][0], sign * a[1][0] * b[1][0]
    found: np.ndarray = np.sign(left + right)
    doubt = ~(np.abs(left + right) > SIGN * (np.abs(left) + np.abs(right)))
    if doubt.any():
        (ax, ay), (bx, by) = (((x[doubt], x_low[doubt]), (y[doubt], y_low[doubt])) for (x, x_low), (y, y_low) in (a, b))
        (left, left_low), (right, right_low) = two_product(ax[0], bx[0]), two_product(sign * ay[0], by[0])
        value = (left + right) + (left_low + right_low)
        zero = (left == -right) & (left_low == -right_low)
        clear = (np.abs(value) > PAIR * (np.abs(left) + np.abs(right))) | zero
        clear &= (ax[1] == 0) & (ay[1] == 0) & (bx[1] == 0) & (by[1] == 0)
        found[doubt] = np.where(clear, np.sign(value), 2)
    return found


def _sum(a: Vector, b: Vector, sign: int) -> tuple[Pair, np.ndarray]:
    """Return a[0] * b[0] + sign * a[1] * b[1], and a bound of its error."""
    left, (right, right_low) = (_product(a[i], b[i]) for i in (0, 1))
    return _add(left, (sign * right, sign * right_low)), PAIR * (np.abs(left[0]) + np.abs(right))


def _add(a: Pair, b: Pair) -> Pair:
    total, error = two_difference(a[0], -b[0])
    return _normal(total, error + (a[1] + b[1]))


def _product(a: Pair, b: Pair) -> Pair:
    product, error = two_product(a[0], b[0])
    return _normal(product, error + (a[0] * b[1] + a[1] * b[0]))


def _quotient(a: Pair, b: Pair) -> Pair:
    found = a[0] / b[0]
    product, error = two_product(found, b[0])
    return _normal(found, (((a[0] - product) - error) + (a[1] - found * b[1])) / b[0])


def _normal(high: np.ndarray, low: np.ndarray) -> Pair:
    total = high + low
    return total, low - (total - high)
