"""The best value over an index and the index of it, in one loop."""

from clgeom.dp.language.functions import argmax_over, argmin_over, index, max_over, min_over


def least(lo, hi, expr):
    """(the least of expr(x) over lo <= x < hi, the lowest x that gives it)."""
    x = index("x")
    body = expr(x)
    return min_over(x, lo, hi, body), argmin_over(x, lo, hi, body)


def most(lo, hi, expr):
    """(the largest of expr(x) over lo <= x < hi, the lowest x that gives it)."""
    x = index("x")
    body = expr(x)
    return max_over(x, lo, hi, body), argmax_over(x, lo, hi, body)
