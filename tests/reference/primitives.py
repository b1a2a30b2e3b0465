"""What scan, compact and extremes must return, in NumPy and plain Python.

`scan_in_order` repeats the documented order of combination, so that float results can be compared bit for bit.
"""

import functools

import numpy as np


def wrap(function):
    """The function with integer overflow and invalid floats taken without a warning."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return wrapped


COMBINE = {
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "min": lambda a, b: np.where((a < b) | (a != a), a, b),
    "max": lambda a, b: np.where((a > b) | (a != a), a, b),
}


def neutral(op, dtype):
    """The neutral element of sum, prod, min, max."""
    dtype = np.dtype(dtype)
    if op in ("sum", "prod"):
        return dtype.type(op == "prod")
    low, high = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return dtype.type(high if op == "min" else low)


@wrap
def scan_in_order(values, combine, start, *, exclusive):
    """The scan in the order of primitives/scan_tiles, from the neutral element `start`.

    Tiles of 256 runs of 8. The runs' totals are scanned within a tile by doubling reach, the tiles' totals by the same
    algorithm; an element gets (all tiles before + all runs before) + what is before it in its run.
    """
    values = np.asarray(values)
    n, tiles = len(values), max(-(-len(values) // 2048), 1)
    padded = np.full(tiles * 2048, start, values.dtype)
    padded[:n] = values
    cells = padded.reshape(tiles, 256, 8)
    inside = np.empty_like(cells)
    sums = np.full((tiles, 256), start, values.dtype)
    for k in range(8):
        before, sums = sums, combine(sums, cells[:, :, k])
        inside[:, :, k] = before if exclusive else sums
    real = (np.arange(tiles * 2048) < n).reshape(cells.shape)  # the padding takes no part, not even as a neutral
    runs = np.full((tiles, 256), start, values.dtype)
    for k in range(8):
        runs = np.where(real[:, :, k], combine(runs, cells[:, :, k]), runs)
    reach = 1
    while reach < 256:
        runs = np.concatenate([runs[:, :reach], combine(runs[:, :-reach], runs[:, reach:])], axis=1)
        reach *= 2
    if tiles == 1:
        ahead = np.full(1, start, values.dtype)
    else:
        ahead = scan_in_order(runs[:, -1], combine, start, exclusive=True)
    lanes = np.concatenate([ahead[:, None], combine(ahead[:, None], runs[:, :-1])], axis=1)
    return combine(lanes[:, :, None], inside).ravel()[:n]


def partition(labels, classes):
    """Indices of each class 1 .. classes, in order."""
    return tuple(np.flatnonzero(np.asarray(labels) == c + 1) for c in range(classes))


@wrap
def keys(points, axis):
    """Projections on an axis, rounded once in the type of the points; exact for int32."""
    points = np.asarray(points)
    if points.dtype == np.int32:
        points = points.astype(np.int64)
    x, y = points[:, 0], points[:, 1]
    return {(1, 0): x, (0, 1): y, (1, 1): y + x, (-1, 1): y - x}[tuple(axis)]


def extremes(points, axes):
    """Lowest index of the largest and of the smallest projection on each axis, one after the other."""
    return [int(f(keys(points, axis))) for axis in axes for f in (np.argmax, np.argmin)]
