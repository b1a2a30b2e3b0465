"""Tables of narrow cells, filled cell after cell in plain Python."""

import numpy as np

from clgeom import dp


class Beyond(Exception):
    """The first cell, by stages, whose value goes beyond the type of the cells."""


def fitted(value, dtype, overflow):
    """A number in the type of a cell; None if that traps."""
    info = np.iinfo(dtype)
    if info.min <= value <= info.max:
        return value
    if overflow == "saturate":
        return min(max(value, info.min), info.max)
    return None if overflow == "trap" else (value - info.min) % (info.max - info.min + 1) + info.min


def by_stages(cell, shape, pattern, dtype, overflow):
    """The table of ``cell(table, i, j)``; raises `Beyond`, which names a cell, at an overflow that traps."""
    pattern, table = dp.PATTERNS[pattern], np.zeros(shape, object)
    for stage in range(pattern.stages(*shape)):
        for i, j in pattern.cells(stage, *shape):
            table[i, j] = fitted(cell(table, i, j), dtype, overflow)
            if table[i, j] is None:
                raise Beyond((i, j))
    return table.astype(dtype)
