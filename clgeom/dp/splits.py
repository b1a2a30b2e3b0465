"""The path of equations that split (i, j) at the best k: M(i, k) + M(k + 1, j), as in chains of matrices.

Splits at a k between two tiles are a product of matrices, with min and + in place of + and *: all the work but that of
the tiles on the diagonal, which go cell after cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from clgeom.dp import trace
from clgeom.dp.equation import CELL_TYPES
from clgeom.dp.job import Job
from clgeom.dp.reach import Split
from clgeom.dp.table import CellStore, Filled
from clgeom.dp.text import literal_of
from clgeom.runtime import launch
from clgeom.runtime.arrays import c_name
from clgeom.runtime.launch import Plan, Scratch, Step
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select

NAME = "splits"
EMPTY, PRODUCT, FINISH = "dp/split_empty", "dp/split_product", "dp/split_finish"
#: Groups of a product for each compute unit: short diagonals are cut into parts.
GROUPS_PER_UNIT = 4
#: Rows of the table begin at multiples of so many cells.
PITCH = 32


@dataclass(frozen=True)
class Bounds:
    """k runs from i + first to j + last - 1."""

    first: int
    last: int

    @classmethod
    def of(cls, reach: Split) -> Bounds | None:
        """The bounds of a reduction, None when they are of another form."""
        first, last = (_offset(bound, axis) for bound, axis in ((reach.lo, "i"), (reach.hi, "j")))
        return None if first is None or last is None else cls(first, last)


def _offset(expr, axis):
    """c for an expression that is `axis` + c, else None."""
    total = trace.affine(expr)
    if total is None or {atom.op for atom in total if atom is not None} != {axis}:
        return None
    own = next(atom for atom in total if atom is not None)
    return total.get(None, 0) if total[own] == 1 else None


def applies(job: Job) -> bool:
    """Whether the equation is such a reduction, reads left and down only, and its table fits in one buffer."""
    reach = job.equation.reach
    if not isinstance(reach, Split) or reach.outer or job.pattern.name != "SONE" or not job.whole:
        return False
    if job.layout not in (None, "ROWS") or reach.node.type != CELL_TYPES[job.equation.dtype.name]:
        return False
    bounds = Bounds.of(reach)
    if bounds is None or bounds.first + reach.right < 1 or bounds.last + reach.left > 0:
        return False  # a split reads its own row or column, or beyond
    if bounds.first - bounds.last < -1:
        return False  # cells with splits would lie in tiles below the main diagonal
    n, m = job.shape
    tile, _, _ = shapes_of(job)
    most = max(n * _pitch(m), ceil_div(n, tile) * tile * tile)
    return most * max(job.equation.dtype.itemsize, 4) <= job.session.profile.max_alloc_bytes


def _pitch(m):
    return ceil_div(m, PITCH) * PITCH


def shapes_of(job: Job):
    """Side of the tiles, and the policies of the product and of the tiles' own splits."""
    n, m = job.shape
    product, finish = (
        select(job.session.profile, kernel, job.equation.dtype, n * m) for kernel in (PRODUCT, FINISH)
    )
    if product.variant == "serial":
        return product.items_per_thread, product, replace(finish, variant="serial", wg_size=1)
    side = math.isqrt(1 << (product.wg_size.bit_length() - 1) // 2 * 2)  # items along a side: a power of two
    product = replace(product, wg_size=side * side)
    tile = side * product.items_per_thread
    finish = replace(finish, variant="group", wg_size=max(finish.wg_size, tile))
    return tile, product, finish


def fill(job: Job) -> Filled:
    """Fill the table of a job."""
    n, m = job.shape
    session, equation, dtype = job.session, job.equation, job.equation.dtype
    reach, bounds, pitch = equation.reach, Bounds.of(equation.reach), _pitch(m)
    tile, product, finish = shapes_of(job)
    decided = equation.decisions is not None and job.keep in ("table", "decisions")
    track = decided or dtype.kind == "f"  # of two zeros the one of the lower k
    buffers = {"table": launch.allocate(session, n * pitch * dtype.itemsize)}
    table = CellStore(session, (buffers["table"],), dtype, job.shape, "ROWS", pitch=pitch)
    decisions, kept = None, ()
    if decided:
        kind = equation.decision_dtype(job.shape)
        buffers["decisions"] = launch.allocate(session, n * pitch * kind.itemsize)
        index = equation.decisions == "index"
        decisions = CellStore(
            session, (buffers["decisions"],), kind, job.shape, "ROWS", pitch=pitch, index=index
        )
        kept = ("decisions",)
    cells = (np.int32(n), np.int32(m))
    neutral = literal_of(trace.neutral(reach.op, reach.node.type), reach.node.type)
    text = equation.text(split=True, clamped=leaves_parameters(job, bounds))
    common = {**job.params, "equation": text, "start": neutral}
    ends = {"first": bounds.first, "last": bounds.last}
    sums = {
        **common, **ends, "better": "<" if reach.op == "min" else ">", "bare": reach.term is None, "track": track,
        "left": reach.left, "right": reach.right,
    }  # fmt: skip
    kind = {"decided": c_name(decisions.dtype) if decided else None}
    diagonals = diagonals_of(job, tile)
    most = max(tiles * max(parts, 1) for tiles, parts in diagonals)
    best = Scratch("best_of", dtype, most * tile * tile)
    ks = Scratch("k_of", np.dtype(np.int32), most * tile * tile if track else 1)
    policy, groups = select(session.profile, EMPTY, dtype, n * m), min(n, 8 * session.profile.compute_units)
    args = (*cells, "table", np.int32(pitch), *kept, *job.arguments)
    steps = [
        Step(
            EMPTY, policy, args, groups, {**common, **ends, **kind}, n * m // 2 * dtype.itemsize, job.options
        )
    ]
    for diagonal, (tiles, parts) in enumerate(diagonals):
        place = (*cells, np.int32(diagonal), np.int32(parts), "table", np.int32(pitch), best, ks)
        moved = tiles * tile * tile * dtype.itemsize
        if parts:
            args = (*place, *job.arguments)
            steps.append(Step(PRODUCT, product, args, tiles * parts, sums, 2 * diagonal * moved, job.options))
        args = (*place, *kept, *job.arguments)
        steps.append(
            Step(FINISH, finish, args, tiles, {**sums, **kind, "tile": tile}, 4 * moved, job.options)
        )
    job.run(Plan(*steps), **buffers)
    last = table.row(job.pattern.last(n, m)) if job.keep != "table" else None
    return Filled(
        NAME,
        "ROWS",
        table if job.keep == "table" else None,
        last if job.keep in ("last", "decisions") else None,
        None if last is None else last[job.pattern.corner(n, m)[1]],
        decisions,
    )


def diagonals_of(job: Job, tile: int) -> list[tuple[int, int]]:
    """(tiles, parts of their products) of each diagonal of tiles from the main one upwards."""
    rows, columns = (ceil_div(side, tile) for side in job.shape)
    wanted = GROUPS_PER_UNIT * job.session.profile.compute_units
    room = job.session.profile.max_alloc_bytes // (tile * tile * max(job.equation.dtype.itemsize, 4))
    found = []
    for diagonal in range(columns):
        tiles = min(rows, columns - diagonal)
        parts = min(diagonal, max(min(ceil_div(wanted, tiles), room // tiles), 1))
        found.append((tiles, parts))
    return found


def leaves_parameters(job: Job, bounds: Bounds) -> bool:
    """Whether the term may index a parameter outside, where no cell is asked for it: then indices are clamped."""
    term = job.equation.reach.term
    if term is None:
        return False
    n, m = job.shape
    ranges = {
        "i": (0, n - 1),
        "j": (0, m - 1),
        "index": (bounds.first, max(m + bounds.last - 2, bounds.first)),
    }
    ranges |= {"n": (n, n), "m": (m, m)}
    for part in trace.walk(term):
        if part.op != "load":
            continue
        for axis, index in enumerate(part.args):
            total = trace.affine(index)
            if total is None or any(atom is not None and atom.op not in ranges for atom in total):
                return True
            low = high = total.get(None, 0)
            for atom, factor in total.items():
                if atom is not None:
                    ends = sorted(factor * end for end in ranges[atom.op])
                    low, high = low + ends[0], high + ends[1]
            if low < 0 or high >= job.values[part.data].shape[axis]:
                return True
    return False
