"""Exact arithmetic of a few points on the host, in integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from clgeom.core.host_floats import LEAST


def integers(values: Sequence[float]) -> tuple[list[int], int]:
    """Return integers that times a common power of two are the values, and its exponent."""
    ratios = [value.as_integer_ratio() for value in values]
    scale = max((below for _, below in ratios), default=1)
    return [above * (scale // below) for above, below in ratios], 1 - scale.bit_length()


def rounded(number: int, exponent: int) -> float:
    """``number * 2**exponent`` as the nearest float: quotients of integers are correctly rounded."""
    try:
        return number / (1 << -exponent) if exponent < 0 else float(number << exponent)
    except OverflowError:
        return math.inf


def exact_area(x: Sequence[int], y: Sequence[int], exponent: int) -> float:
    """Area of a counter-clockwise polygon of integers times ``2**exponent``, rounded; LEAST if that would be 0."""
    twice = sum(a * d - b * c for a, b, c, d in zip(x, y, [*x[1:], *x[:1]], [*y[1:], *y[:1]]))
    return rounded(twice, exponent - 1) or LEAST if twice > 0 else 0.0


def ordered_hull(x: Sequence[Any], y: Sequence[Any], *, keep_collinear: bool) -> tuple[list[int], int]:
    """Return the vertices (indices) and the dimension of the hull of a few finite points, as `convex_hull`, exactly."""
    if x and not isinstance(x[0], int):
        x, y = integers(x)[0], integers(y)[0]
    order = sorted(range(len(x)), key=lambda k: (x[k], y[k], k))
    places = [k for k, before in zip(order, [None, *order]) if before is None or (x[k], y[k]) != (x[before], y[before])]
    if len(places) < 3:
        return places, len(places) - 1

    def side(a: Any, b: Any, c: Any) -> Any:
        return (x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a])

    if not any(side(places[0], places[-1], k) for k in places):
        return (places if keep_collinear else [places[0], places[-1]]), 1

    def chain(along: Any) -> Any:
        stack: list[int] = []
        for k in along:
            while len(stack) > 1 and (turn := side(stack[-2], stack[-1], k)) <= 0 and (turn or not keep_collinear):
                stack.pop()
            stack.append(k)
        return stack[:-1]

    return chain(places) + chain(places[::-1]), 2
