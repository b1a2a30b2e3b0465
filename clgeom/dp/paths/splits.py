"""The path for equations that split (i, j) at the best k: M(i, k) + M(k + 1, j), as in chains of matrices.

Splits at a k between two tiles are a product of matrices, with min and + instead of + and *. This is all of the work
except the tiles on the diagonal, which are filled cell by cell.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core import launch
from clgeom.core.plan import Plan, Scratch, Series, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.dp.analysis.dependences import Split, constant_offset
from clgeom.dp.analysis.sums import affine, range_of
from clgeom.dp.analysis.work import most_cells
from clgeom.dp.codegen.text import literal_of
from clgeom.dp.fills import Fill, too_large
from clgeom.dp.language.graphs import walk
from clgeom.dp.language.nodes import NUMPY
from clgeom.dp.language.types import neutral
from clgeom.dp.paths.rows import in_parts
from clgeom.dp.table.stores import CellStore
from clgeom.dp.table.table import Filled
from clgeom.intake.arrays import c_name

if TYPE_CHECKING:
    from clgeom.core.policies import Policy
    from clgeom.dp.language.trace import Expr

NAME = "splits"
EMPTY, PRODUCT, FINISH = "dp/paths/split_empty", "dp/paths/split_product", "dp/paths/split_finish"
#: Groups of a product for each compute unit; short diagonals are divided into parts to get them.
GROUPS_PER_UNIT = 4
#: Most bytes of local memory for a tile, and of private memory for a work-item of a CPU.
LOCAL_BYTES, PRIVATE_BYTES = 48 << 10, 32 << 10
#: The pitch of a table is a multiple of so many cells.
PITCH = 32
#: Rows so far apart, or a multiple, fall on the same lines of a CPU's cache.
ALIASED = 1024
#: Most splits of a launch for each compute unit that it keeps busy, as `work.OPERATIONS` (PoCL, a core of an EPYC: 5e9
#: a second), and how many times faster cells without splits are than others.
SPLITS, RATE = 1 << 28, 8
#: As SPLIT_MOST in dp/dp_split_runs.h.
MOST_COLUMNS = 1 << 30


@dataclass(frozen=True)
class Frame:
    """The fill as kernels see it: NESO is SONE with rows for columns.

    `left`, `right`: A split has the operands (i, k + left) and (k + right, j).
    `first`, `last`: k runs from i + first to j + last - 1.
    `pitch`: Cells from one row in memory to the next.
    """

    turned: bool
    shape: tuple[int, int]
    left: int
    right: int
    first: int
    last: int
    pitch: int

    @classmethod
    def of(cls, fill: Fill) -> Frame | None:
        """Return the frame of a fill, None when its reduction is of another form."""
        reach, turned = fill.equation.reach, fill.pattern.name == "NESO"
        if not isinstance(reach, Split) or fill.pattern.name not in ("SONE", "NESO"):
            return None
        first, last = (
            constant_offset(bound, axis) for bound, axis in zip((reach.lo, reach.hi), "ji" if turned else "ij")
        )
        if first is None or last is None:
            return None
        n, m = fill.shape
        if turned:
            return cls(True, (m, n), reach.right, reach.left, first, last, n)
        pitch = ceil_div(m, PITCH) * PITCH
        if fill.session.profile.is_cpu and pitch % ALIASED == 0:
            pitch += PITCH
        return cls(False, (n, m), reach.left, reach.right, first, last, pitch)

    @property
    def tight(self) -> bool:
        """Whether splits outside of products read the tile itself and a tile on the main diagonal (or no split)."""
        return (
            self.first + self.right == 1
            and self.last + self.left == 0
            and self.first + self.left <= 1
            and self.last + self.right >= 0
            and self.first <= self.last
        )

    @property
    def layout(self) -> str:
        return "COLUMNS" if self.turned else "ROWS"

    def store(self, fill: Fill, buffer: Any, dtype: np.dtype[Any], *, index: bool = False) -> CellStore:
        """Cells in this frame's order as the caller's table."""
        pitch = None if self.turned else self.pitch
        return CellStore(fill.session, (buffer,), dtype, fill.shape, self.layout, pitch=pitch, index=index)


def obstacle(fill: Fill) -> str | None:
    """Why this path does not apply; None if it does."""
    frame, reach = Frame.of(fill), fill.equation.reach
    if frame is None or not isinstance(reach, Split) or reach.outer:
        return f"it reads {reach} with the pattern {fill.pattern.name}, not splits with SONE or NESO"
    if fill.layout not in (None, frame.layout):
        return f"the layout is {fill.layout}, not {frame.layout}"
    if fill.equation.cell.fields or reach.node.type != fill.equation.cell.type:
        return f"its splits are of another type than its cells, {fill.equation.cell.name}"
    if frame.first + frame.right < 1 or frame.last + frame.left > 0:
        return "a split reads its own row or column, or beyond"
    if frame.first - frame.last < -1:
        return "cells below the main diagonal have splits"
    n, m = frame.shape
    if m >= MOST_COLUMNS:
        return f"a row has {m:,} cells, and {MOST_COLUMNS - 1:,} is the most"
    tile, _, _ = shapes_of(fill)
    return too_large(fill, max(n * frame.pitch, ceil_div(n, tile) * tile * tile) * max(fill.equation.dtype.itemsize, 4))


def shapes_of(fill: Fill) -> tuple[int, Policy, Policy]:
    """Return the side of the tiles, and the policies of products and of splits within tiles."""
    n, m = fill.shape
    product, finish = (select(fill.session.profile, kernel, fill.equation.dtype, n * m) for kernel in (PRODUCT, FINISH))
    if product.variant == "serial":
        tile = product.items_per_thread
        while tile > 1 and tile * tile * (fill.equation.dtype.itemsize + 4) > PRIVATE_BYTES:
            tile //= 2
        product = replace(product, items_per_thread=tile)
        return tile, product, replace(finish, variant="serial", wg_size=1)
    side = math.isqrt(1 << (product.wg_size.bit_length() - 1) // 2 * 2)  # items along a side: a power of two
    items = product.items_per_thread
    while items > 1 and finish_bytes(fill, side * items, finish) > LOCAL_BYTES:
        items //= 2
    tile = side * items
    finish = replace(finish, variant="group", wg_size=max(finish.wg_size // tile, 1) * tile)
    return tile, replace(product, wg_size=side * side, items_per_thread=items), finish


def finish_bytes(fill: Fill, tile: int, finish: Policy) -> int:
    """Return the bytes of local memory that `split_finish` needs with both triangles beside a tile."""
    reach: Any = fill.equation.reach
    itemsize = np.dtype(NUMPY[reach.node.type]).itemsize
    return 2 * tile * (tile + 1) * itemsize + max(finish.wg_size, tile) * (itemsize + 4)


def fill_table(fill: Fill) -> Filled:
    """Fill a table."""
    session, equation, dtype = fill.session, fill.equation, fill.equation.dtype
    plan, frame = fill.planned(("splits",), lambda: _planned(fill))
    cells = frame.shape[0] * frame.pitch
    buffers: dict[str, Any] = {"table": launch.allocate(session, cells * dtype.itemsize)}
    table, decisions = frame.store(fill, buffers["table"], dtype), None
    if fill.keeps_choices:
        kind: Any = equation.decision_dtype(fill.shape)
        buffers["decisions"] = launch.allocate(session, cells * kind.itemsize)
        decisions = frame.store(fill, buffers["decisions"], kind, index=equation.decisions == "index")
    fill.run(plan, **buffers)
    return Filled(NAME, table, decisions)


def _planned(fill: Fill) -> tuple[Plan, Frame]:
    """Return the plan of the launches, and the frame."""
    session, equation, dtype = fill.session, fill.equation, fill.equation.dtype
    frame: Any = Frame.of(fill)  # None only where the path does not apply
    reach: Any = equation.reach
    n, m = frame.shape
    tile, product, finish = shapes_of(fill)
    decided = fill.keeps_choices
    track = decided or dtype.kind == "f"  # of 0.0 and -0.0, the one with the lower k
    kept = ("decisions",) if decided else ()
    cells, memory = (np.int32(n), np.int32(m)), ("table", np.int32(frame.pitch))
    common = {
        **fill.params,
        "equation": fill.text(reduction="clamped split" if leaves_parameters(fill, frame) else "split"),
        "turned": frame.turned,
        "start": literal_of(neutral(reach.op, reach.node.type), reach.node.type),
        "first": frame.first,
        "last": frame.last,
    }
    sums = {
        **common,
        "better": "<" if reach.op == "min" else ">",
        "bare": reach.term is None,
        "track": track,
        "nan": dtype.kind == "f",
        "left": frame.left,
        "right": frame.right,
    }
    kind = {"decided": c_name(equation.decision_dtype(fill.shape)) if decided else None}
    room = min(session.profile.local_mem_bytes, LOCAL_BYTES)
    near = frame.tight and (finish.variant == "serial" or finish_bytes(fill, tile, finish) <= room)
    diagonals = diagonals_of(fill, frame.shape, tile, finish.variant == "serial")
    most = max(tiles * max(parts, 1) for tiles, parts in diagonals)
    best = Scratch("best_of", np.dtype(NUMPY[reach.node.type]), most * tile * tile)
    ks = Scratch("k_of", np.dtype(np.int32), most * tile * tile if track else 1)
    policy, groups = select(session.profile, EMPTY, dtype, n * m), min(n, 8 * session.profile.compute_units)
    rows = np.arange(0, n, max(most_cells(fill, rate=RATE) // m, 1))
    args = (*cells, np.int32(0), np.int32(0), *memory, *kept, *fill.arguments)
    moved = n * m // 2 * dtype.itemsize
    empty = Step(EMPTY, policy, args, groups, {**common, **kind}, moved, fill.options)
    ends = np.stack([rows, np.append(rows[1:], n)], axis=1)
    steps = [Series(empty, (2, 3), ends, np.full(len(rows), groups))]
    ending = {**sums, **kind, "tile": tile, "near": near}
    units, nodes = session.profile.compute_units, 0 if reach.term is None else len(list(walk(reach.term)))
    for diagonal, (tiles, parts) in enumerate(diagonals):
        where = (*cells, np.int32(diagonal), np.int32(parts), np.int32(0), *memory, best, ks)
        moved = tiles * tile * tile * dtype.itemsize
        each = (diagonal + 1) * tile**3 * (1 + nodes / 8)
        _, first, count = in_parts(np.array([tiles]), max(int(SPLITS * units / each), 1))
        for kernel, shape, more, params, bytes_moved, groups in (
            (PRODUCT, product, (), sums, 2 * diagonal * moved, parts),
            (FINISH, finish, kept, ending, 4 * moved, 1),
        ):
            if groups:
                args = (*where, *more, *fill.arguments)
                step = Step(kernel, shape, args, 1, params, bytes_moved, fill.options)
                steps.append(Series(step, (4,), first[:, None], count * groups))
    return Plan(*steps), frame


def diagonals_of(fill: Fill, shape: tuple[int, int], tile: int, serial: bool) -> list[tuple[int, int]]:
    """Return (tiles, parts of their products) of each diagonal of tiles from the main diagonal upwards."""
    rows, columns = (ceil_div(side, tile) for side in shape)
    wanted = GROUPS_PER_UNIT * fill.session.profile.compute_units
    room = fill.session.profile.max_alloc_bytes // (tile * tile * max(fill.equation.dtype.itemsize, 4))
    diagonals = []
    for diagonal in range(columns):
        tiles = min(rows, columns - diagonal)
        parts = min(diagonal, max(min(ceil_div(wanted, tiles), room // tiles), 1))
        if serial and tiles >= fill.session.profile.compute_units:
            parts = 0  # each item does its tile's product, too
        diagonals.append((tiles, parts))
    return diagonals


def leaves_parameters(fill: Fill, frame: Frame) -> bool:
    """Return whether the term may index a parameter out of range where no cell needs it: then indices are clamped."""
    reach: Any = fill.equation.reach
    term = reach.term
    if term is None:
        return False
    n, m = fill.shape
    ranges = {
        "i": (0, n - 1),
        "j": (0, m - 1),
        "index": (frame.first, max(frame.shape[1] + frame.last - 2, frame.first)),
    }
    ranges |= {"n": (n, n), "m": (m, m)}
    for name, axis, total in _indices(term):
        if total is None:
            return True
        low, high = range_of(total, ranges)
        if low < 0 or high >= fill.values[name].shape[axis]:
            return True
    return False


@functools.lru_cache(maxsize=64)
def _indices(term: Expr) -> tuple[Any, ...]:
    """(parameter, axis, index as an affine sum or None) of each index of a parameter in a term."""
    loads = [part for part in walk(term) if part.op == "load"]
    return tuple((part.data, axis, affine(index)) for part in loads for axis, index in enumerate(part.args))
