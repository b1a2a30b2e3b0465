"""Interval bounds of values, found before a fill: whether integers can go beyond their type."""

from __future__ import annotations

import numpy as np

from clgeom.dp.analysis.sums import indices_of
from clgeom.dp.language.nodes import walk
from clgeom.dp.language.plain_c import nodes_of
from clgeom.dp.language.types import LIMITS, neutral

#: The range of an unknown value.
NO = (None, None)


def overflow(job) -> str:
    """ "impossible" if the ranges show that no integer of this fill goes beyond its type; else "possible"."""
    if job.equation.cell.limits is None:
        return "impossible"
    found, fits = _ranges(job)
    low, high = job.equation.cell.limits
    fits = fits and (job.equation.overflow == "saturate" or low <= found[0] and found[1] <= high)
    return "impossible" if fits else "possible"


def of_cells(job) -> tuple[int, int] | None:
    """The range of all cells if no integer on the way to them goes beyond its type; None if it is not known."""
    found, fits = _ranges(job)
    return found if fits else None


def _ranges(job):
    """(the range of all cells, whether no integer of the cells' expressions goes beyond its type).

    Ranges of cells grow from stage to stage. Where a value adds up at most one cell (sums of a cell and terms without
    cells, minima, maxima, branches), each stage adds no more than the first one. So the last range is known.
    """
    nodes = nodes_of(job.equation)
    if nodes is None or job.initial is not None:
        return NO, False
    stages = job.stop - job.start
    known = _known(job.shape, job.values)
    degree = _degree(nodes.value)
    if degree is None or degree > 1:
        return NO, False
    cells = (0, 0)
    for _ in range(2):
        before = cells
        cells = _join(cells, _range(nodes.value, known, cells)[0])
        if cells == NO:
            return NO, False
    growth = (min(cells[0] - before[0], 0), max(cells[1] - before[1], 0))
    last = (cells[0] + stages * growth[0], cells[1] + stages * growth[1])
    value, fits = _range(nodes.value, known, last)
    return value, fits and value != NO


def indices_fit(equation, shape, values, least=None) -> bool:
    """Whether the ranges show that no integer in the indices and conditions of a traced equation goes beyond its type.

    Fast paths and proofs treat these integers as mathematical sums, which do not wrap around. `least`: the least rows
    and columns, of tables of several shapes.
    """
    roots, (n, m) = equation.roots, shape
    indices = equation.cache.get(("indices",), lambda: indices_of(*roots))
    known, loops, made = _known(shape, values), _loops(roots), {}
    if least is not None:
        known |= {"n": (least[0], n), "m": (least[1], m)}
    for part in walk(*roots) if indices else ():
        bounds = _of_node(part, made, known, NO, loops)
        if part.op == "add" and {arg.op for arg in part.args} == {"i", "j"}:
            bounds = 0, n + m - 2
        fits = bounds != NO and part.type in LIMITS and _within(bounds, part.type)
        if part in indices and not fits:
            return False
        made[part] = LIMITS[part.type] if part.type in LIMITS and not fits else bounds
    return True


def _known(shape, values):
    n, m = shape
    known = {"i": (0, n - 1), "j": (0, m - 1), "n": (n, n), "m": (m, m)}
    for name, value in values.items():
        value = np.asarray(value)
        if value.dtype.kind in "iu" and value.size:
            known[name] = (int(value.min()), int(value.max()))
    return known


def _degree(expr):
    """The most cells that a value adds up; None if it combines them otherwise."""
    made = {}
    for part in walk(expr):
        below = [made[a] for a in part.args]
        if part.op == "cell":
            made[part] = 1 if below == [0, 0] else None
        elif part.op == "where":
            made[part] = None if None in below[1:] else max(below[1:])
        elif part.op in ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "which_min", "which_max"):
            made[part] = 0  # the results of these are small for any operands
        elif None in below:
            made[part] = None
        elif part.op in ("min", "max", "record"):
            made[part] = max(below)
        elif part.op == "add":
            made[part] = sum(below)
        elif part.op == "cast" and part.args[0].type in LIMITS:
            made[part] = below[0]
        elif part.op == "sub":
            made[part] = None if below[1] else below[0]
        elif part.op == "reduce" and part.data in ("min", "max"):
            made[part] = max(below[3:])
        elif part.op == "argreduce":
            made[part] = 0
        else:
            made[part] = 0 if not any(below) else None
    return made[expr]


def _join(a, b):
    if a == NO or b == NO:
        return NO
    return min(a[0], b[0]), max(a[1], b[1])


def _within(bounds, type):
    return LIMITS[type][0] <= bounds[0] and bounds[1] <= LIMITS[type][1]


def _range(expr, known, cells):
    """((lowest, highest), whether no operation below goes beyond its type), for cells within `cells`."""
    made, fits = {}, True
    loops = _loops((expr,))
    for part in walk(expr):
        made[part] = _of_node(part, made, known, cells, loops)
        if part.op == "index":
            continue
        if part.type in LIMITS and part.op in ("add", "sub", "mul", "neg", "abs", "shl", "reduce", "cast"):
            fits = fits and made[part] != NO and _within(made[part], part.type)
    return made[expr], fits


def _loops(roots):
    return {part.args[0]: part.args[1:3] for part in walk(*roots) if part.op in ("reduce", "argreduce")}


def _of_node(part, made, known, cells, loops):
    """The range of a node from the ranges of its operands; an index has that of its loop."""
    if part.op == "index":
        ends = [_range(end, known, cells)[0] for end in loops[part]] if part in loops else [NO]
        return NO if NO in ends else (ends[0][0], max(ends[1][1] - 1, ends[0][0]))
    return _part(part, [made[a] for a in part.args], known, cells)


def _part(part, args, known, cells):
    op = part.op
    if part.type == "bool":
        return 0, 1
    if op == "record":
        found = args[0]
        for more in args[1:]:
            found = _join(found, more)
        return found
    if part.type not in LIMITS:
        return NO
    if op == "const":
        return part.data, part.data
    if op in ("i", "j", "n", "m"):
        return known[op]
    if op in ("parameter", "load"):
        return known.get(part.data, NO)
    if op == "cell":
        return cells
    if op == "where":
        return _join(args[1], args[2])
    if op in ("which_min", "which_max"):
        return 0, len(args) - 1
    if op == "cast" and part.args[0].type not in LIMITS:
        if part.args[0].type == "bool":
            return 0, 1
        return LIMITS[part.type]  # floats go to the nearest integer
    if NO in args:
        return NO
    if op == "add":
        return args[0][0] + args[1][0], args[0][1] + args[1][1]
    if op == "sub":
        return args[0][0] - args[1][1], args[0][1] - args[1][0]
    if op == "mul":
        corners = [x * y for x in args[0] for y in args[1]]
        return min(corners), max(corners)
    if op == "neg":
        return -args[0][1], -args[0][0]
    if op == "abs":
        return 0 if args[0][0] <= 0 <= args[0][1] else min(map(abs, args[0])), max(map(abs, args[0]))
    if op == "min":
        return min(args[0][0], args[1][0]), min(args[0][1], args[1][1])
    if op == "max":
        return max(args[0][0], args[1][0]), max(args[0][1], args[1][1])
    if op == "cast":
        return args[0]
    if op == "bitnot":
        return -args[0][1] - 1, -args[0][0] - 1
    if op == "bitand" and max(args[0][0], args[1][0]) >= 0:
        return 0, min(high for low, high in args if low >= 0)
    if op in ("bitor", "bitxor") and min(args[0][0], args[1][0]) >= 0:
        return 0, (1 << max(high.bit_length() for _, high in args)) - 1
    if op in ("shl", "shr") and 0 <= args[1][0] and args[1][1] < 64:
        corners = [x << y if op == "shl" else x >> y for x in args[0] for y in args[1]]
        return min(corners), max(corners)
    if op == "mod" and args[1][0] > 0:
        return 0, args[1][1] - 1
    if op == "reduce" and part.data in ("min", "max"):
        bounds = args[3]
        for more in args[4:]:
            bounds = _join(bounds, more)
        if len(args) == 4 and args[2][0] <= args[1][1]:  # it may be empty
            empty = neutral(part.data, part.type)
            bounds = _join(bounds, (empty, empty))
        return bounds
    if op == "argreduce":
        return min(args[1][0], -1), max(args[2][1] - 1, -1)
    return NO
