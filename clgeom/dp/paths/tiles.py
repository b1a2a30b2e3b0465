"""The path for equations with near dependences: slanted tiles along a wavefront, cells in registers.

A tile hands to its neighbours its lower edge and the right edge of each work-item's rows. So a table that need not be
kept costs no memory but two rows and a few columns, and one that is kept is written once and never read.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.core import launch
from clgeom.core.plan import Plan, Scratch, Series, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.dp.analysis.bands import OUTSIDE
from clgeom.dp.analysis.dependences import Near
from clgeom.dp.analysis.work import most_cells
from clgeom.dp.codegen import pieces
from clgeom.dp.fills import Fill, too_large
from clgeom.dp.paths import tickets
from clgeom.dp.paths.rows import in_parts
from clgeom.dp.policies import TilePolicy
from clgeom.dp.table.stores import CellStore, bits_of, new_packed, obstacle_by_rows, packed_pitch
from clgeom.dp.table.table import Filled
from clgeom.errors import DeviceWarning, warn
from clgeom.intake.typing import NDArray

NAME = "tiles"
KERNEL = "dp/paths/tile_sweep"
#: Rows of a kept table begin at multiples of so many cells, for wide stores.
PITCH = 16
#: Most items of a group that stores cells or choices, and gathers them before: two groups then share a compute unit.
#: H200, LCS 65536 x 65536: table kept 64 15.8 ms, 128 20.0; choices 32 29 ms, 64 17.0, in blocks of 4 x 4 20.9.
WRITERS = 64
#: How much faster tiles are than cell by cell, see `work.OPERATIONS`.
RATE = 8
#: Least items of a group and least steps of a tile in a narrow band.
LEAST_GROUP, LEAST_STEPS = 32, 16
#: Cells outside a band that are copied at once.
FILLED = 1 << 20
#: Local memory that is left to the compiler.
SPARE_BYTES = 512


def flips_of(offsets: tuple[Any, ...], wanted: tuple[bool, bool] = (False, False)) -> tuple[bool, bool] | None:
    """Return (flip_rows, flip_columns) that turn all offsets to up and left, best those wanted; None if none do."""
    for rows in (wanted[0], not wanted[0]):
        for columns in (wanted[1], not wanted[1]):
            if all(
                (-di if rows else di) <= 0 and (-dj if columns else dj) <= 0 and (di, dj) != (0, 0)
                for di, dj in offsets
            ):
                return rows, columns
    return None


def flips_for(fill: Fill, moves: Iterable[tuple[int, int]] = ()) -> tuple[bool, bool] | None:
    """Return flips that turn the offsets of a fill, and `moves`, to up and left; best those that end at its corner."""
    i, j = fill.pattern.corner(2, 2)
    reach: Any = fill.equation.reach
    return flips_of((*reach.offsets, *moves), (i == 0, j == 0))


def obstacle(fill: Fill) -> str | None:
    """Why this path does not apply; None if it does."""
    reach = fill.equation.reach
    flips = flips_for(fill) if isinstance(reach, Near) and reach.offsets else None
    if flips is None:
        return f"it reads {reach}, not cells nearby in one quadrant"
    reason = obstacle_by_rows(fill, flipped=flips[0])
    if reason is not None:
        return reason
    sweep = Sweep.of(fill, flips)
    return "it reads cells too far away for a tile" if sweep is None else too_large(fill, sweep.largest_buffer)


@dataclass
class Sweep:
    """The geometry of a fill: rows and columns of tiles, and when each is launched.

    Tile (I, J) is computed by launch ``J + lag * I``; of tiles that take long by one of several launches, each for
    `together` tiles at the most.
    """

    policy: TilePolicy
    shape: tuple[int, int]
    offsets: tuple[tuple[int, int], ...]
    flips: tuple[bool, bool]
    itemsize: int
    bits: int
    table: bool
    record: bool = False
    together: int = 1 << 30
    band: tuple[int, int] | None = None

    @classmethod
    def of(cls, fill: Fill, flips: tuple[bool, bool] | None) -> Sweep | None:
        """Return the sweep of a fill, kept by the equation; None when its offsets are too large for a block."""
        policy = select(fill.session.profile, KERNEL, fill.equation.dtype, fill.shape[0] * fill.shape[1])
        key = fill.shape, flips, fill.keep, policy, fill.session.profile, fill.band
        result: Sweep | None = fill.equation.cache.get(("sweep", *key), lambda: cls._of(fill, flips, policy))
        return result

    @classmethod
    def _of(cls, fill: Fill, flips: Any, policy: Any) -> Any:
        n, m = fill.shape
        reach: Any = fill.equation.reach
        offsets = tuple((-abs(di), -abs(dj)) for di, dj in reach.offsets)
        bits: Any = bits_of(fill)
        if policy.wg_size == 1:
            policy = replace(policy, variant="serial")  # groups of one work-item have nothing to hand to each other
        if bits or fill.keep == "table":
            policy = replace(policy, wg_size=min(policy.wg_size, WRITERS))
        if bits and fill.keep != "table" and policy.wg_size > 1:
            policy = replace(policy, block_columns=max(policy.block_columns, min(8, 64 // bits)))
        up, left = _depths(offsets)
        packed = bits * policy.block_columns
        if up > policy.block_rows or left > policy.block_columns or (bits and not 8 <= packed <= 64):
            columns = max(policy.block_columns, 8 if bits == 1 else 4, 1 << (left - 1).bit_length())
            rows = max(policy.block_rows, 1 << (up - 1).bit_length())
            if max(rows, columns) > 8 or bits * columns > 64:
                return None
            policy = replace(policy, block_rows=rows, block_columns=columns)
        band = _band_in_order(fill, flips)
        if band is not None:
            policy = _narrow(policy, band[1] - band[0] + 1)
        strip = policy.wg_size * policy.block_rows * policy.steps * policy.block_columns  # cells
        most, alone = (most_cells(fill, rate=RATE, units=units) for units in (None, 1))
        policy = replace(policy, strips=min(policy.strips, max(alone // strip, 1)))
        together = max(most // (strip * policy.strips), 1)
        equation, keeps_table = fill.equation, fill.keep == "table"
        sizes = equation.dtype.itemsize, bits
        return cls(policy, fill.shape, offsets, flips, *sizes, keeps_table, bool(equation.cell.fields), together, band)

    def __post_init__(self) -> None:
        p, (n, m) = self.policy, self.shape
        self.up, self.left = _depths(self.offsets)
        # cells that are loaded and stored at once
        self.vector = 1 if self.record else min(p.block_columns, 16 // self.itemsize, 8)
        self.strip = p.wg_size * p.block_rows  # rows
        self.blocks = ceil_div(m, p.block_columns)  # side by side in a strip
        self.rows = ceil_div(n, self.strip * p.strips)  # of tiles
        # tiles slant, so the last item is wg_size - 1 steps late
        self.columns = ceil_div(self.blocks + p.wg_size - 1, p.steps)
        # launches from a tile to the one below it, whose first item needs what the last item here has passed on
        self.lag = 2 + (p.wg_size - 2) // p.steps
        self.edge_pitch = self.blocks * p.block_columns
        self.edges = 2 * self.up * self.edge_pitch  # cells of the lower edges of two rows of strips
        held = self.left * (self.up + p.block_rows) + self.up * p.block_columns
        self.state = self.rows * p.strips * p.wg_size * held  # cells that work-items hold from tile to tile
        self.pitch = ceil_div(m, PITCH) * PITCH

    @property
    def largest_buffer(self) -> int:
        """Bytes."""
        n, m = self.shape
        sizes = [self.edges * self.itemsize, self.state * self.itemsize]
        if self.table:
            sizes.append(n * self.pitch * self.itemsize)
        if self.bits:
            sizes.append(n * packed_pitch(m, self.bits, self.policy.block_columns))
        return max(sizes)

    def numbers(self, top: int = 0, bottom: int | None = None, entry: int = 0, every: int = 0) -> tuple[Any, ...]:
        """Return the first arguments of the kernel: the rows top .. bottom - 1, and which slots hold edges."""
        n, m = self.shape
        bottom = n if bottom is None else bottom
        numbers = n, m, 0, 0, self.lag, self.policy.strips, top, bottom, entry, every, self.edge_pitch
        return tuple(np.int32(number) for number in numbers)

    def flush(self, room: int) -> int:
        """Return how many steps' cells and choices a group gathers in `room` bytes to write runs; 0: no gathering."""
        p, vector = self.policy, self.vector
        if p.wg_size == 1 or self.table and self.flips[1] or not (self.table or self.bits):
            return 0
        for steps in (32, 16, 8, 4, 2)[max(self.itemsize.bit_length() - 1, 0) :] if self.itemsize < 4 else (8, 4, 2):
            run = steps * p.block_columns // vector if self.table else steps
            stage = p.wg_size * (p.block_rows * run + 1) * vector * self.itemsize if self.table else 0
            stage += p.wg_size * (p.block_rows * steps * self.bits * p.block_columns // 8 + 8) if self.bits else 0
            if p.steps % steps == 0 and p.wg_size % (run * p.block_rows) == 0 and stage <= room:
                return steps
        return 0

    def local(self, kinds: tuple[Any, ...], room: int) -> tuple[Any, ...]:
        """Return which elements local memory of `room` bytes holds for all cells of a column, and the bytes left."""
        p, held = self.policy, []
        room -= 2 * self.up * p.block_columns * self.itemsize * (p.wg_size + p.steps) + SPARE_BYTES
        for kind, type_name in kinds:
            size = ((p.steps + p.wg_size) * p.block_columns + 8 * p.wg_size) * (
                8 if type_name in ("long", "ulong", "double") else 4
            )
            if kind == "column" and size > room:
                kind = "cell"  # read by each cell
            held.append((kind, type_name))
            room -= size if kind == "column" else 0
        return tuple(held), room

    def params(self, fill: Fill, *, last: bool) -> dict[str, Any]:
        """Parameters of the kernel's template, for the equation of this sweep."""
        flip_rows, flip_columns = self.flips
        held = pieces.held(fill.equation, inner=not any(self.flips), traps=fill.traps)
        kinds, room = self.local(held.kinds if held else (), fill.session.profile.local_mem_bytes)
        return {
            **fill.params,
            "equation": fill.text(),
            "reads": reads_text(self.offsets, self.flips),
            "elements": elements_text(held, kinds) if held else "",
            "held": kinds if held else None,
            "cell": fill.equation.cell.in_c,
            "vector": self.vector,
            "offsets": self.offsets,
            "flip_rows": flip_rows,
            "flip_columns": flip_columns,
            "table": self.table,
            "last": last,
            "bits": self.bits,
            "flush": self.flush(room),
        }

    def in_order(self, row: NDArray[Any]) -> NDArray[Any]:
        """Return a row of the table from whole blocks in the order of filling."""
        row = row[: self.shape[1]]
        return row[::-1].copy() if self.flips[1] else row

    def band_from(self, top: int) -> Any:
        """Return the band of the rows from `top` on, counted from there."""
        if self.band is None:
            return None
        by = top if self.flips[0] == self.flips[1] else -top
        return self.band[0] + by, self.band[1] + by

    def in_band(self, launches: int, band: tuple[int, int]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the (first, last) row of tiles with cells of the band of each launch; last < first for none."""
        p, (low, high) = self.policy, band
        first, last = np.full(launches, self.rows), np.full(launches, -1)
        row = np.arange(self.rows, dtype=np.int64) * self.strip * p.strips
        bottom = np.minimum(row + self.strip * p.strips, self.shape[0]) - 1
        if self.flips[0] == self.flips[1]:  # low <= column - row <= high
            left, right = row + low, bottom + high
        else:  # low <= column + row <= high
            left, right = low - bottom, high - row
        left -= self.left  # a block gets the cells above it and to its left from the block before
        # columns of tile J: (J * steps - (wg_size - 1)) * block_columns .. (J + 1) * steps * block_columns - 1
        begin = np.clip(left // (p.steps * p.block_columns), 0, self.columns)
        end = np.clip((right // p.block_columns + p.wg_size - 1) // p.steps + 1, 0, self.columns)
        tiles = list(zip((begin + self.lag * np.arange(self.rows)).tolist(), (end - begin).tolist()))
        for at, (launch_, count) in reversed(list(enumerate(tiles))):
            first[launch_ : launch_ + max(count, 0)] = at
        for at, (launch_, count) in enumerate(tiles):
            last[launch_ : launch_ + max(count, 0)] = at
        return first, last

    @functools.cached_property
    def launches(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The launch and its first row of tiles, and the number of rows of tiles, of every launch."""
        launches = np.arange(self.lag * (self.rows - 1) + self.columns, dtype=np.int64)
        first = np.maximum(0, -(-(launches - self.columns + 1) // self.lag))
        last = np.minimum(self.rows - 1, launches // self.lag)
        if self.band is not None:
            ends = self.in_band(len(launches), self.band)
            first, last = np.maximum(first, ends[0]), np.minimum(last, ends[1])
        some = last >= first  # a short row of tiles leaves gaps
        launches, first, count = (number[some] for number in (launches, first, last - first + 1))
        which, more, count = in_parts(count, self.together)
        return np.stack([launches[which], first[which] + more], axis=1), count


def _band_in_order(fill: Fill, flips: tuple[bool, bool]) -> Any:
    """Return the band of a fill in the order of filling: of column - row or, where one is flipped, of their sum."""
    if fill.band is None:
        return None
    (n, m), (low, high), (rows, columns) = fill.shape, fill.band, flips
    if rows and columns:
        return m - n - high, m - n - low
    return (n - 1 + low, n - 1 + high) if rows else (m - 1 - high, m - 1 - low) if columns else (low, high)


def _narrow(policy: TilePolicy, width: int) -> TilePolicy:
    """Return a policy of tiles that are not much larger than a band is wide."""
    while policy.wg_size > LEAST_GROUP and policy.wg_size * policy.block_rows > width:
        policy = replace(policy, wg_size=policy.wg_size // 2)
    rows = policy.wg_size * policy.block_rows
    while policy.strips > 1 and policy.strips * rows > width:
        policy = replace(policy, strips=policy.strips // 2)
    while policy.steps > LEAST_STEPS and policy.steps * policy.block_columns > width:
        policy = replace(policy, steps=policy.steps // 2)
    return policy


def reads_text(offsets: tuple[Any, ...], flips: tuple[bool, bool]) -> str:
    """Return the macros of a cell's function in `tile_sweep`, whose reads are parameters `dp_near0 ..` by offset."""
    context = "".join(f", const value_t dp_near{q}" for q in range(len(offsets)))
    given = "".join(f", w[UP + r - {-di}][LEFT + c - {-dj}]" for di, dj in offsets)
    choice = f"dp_near{len(offsets) - 1}"
    for q, (di, dj) in reversed(list(enumerate(offsets[:-1]))):
        down, right = (-by if flip else by for by, flip in zip((di, dj), flips))
        choice = f"(((a) - (i) == {down} && (b) - (j) == {right}) ? dp_near{q} : {choice})"
    lines = [f"NEAR {context}", "DP_CONTEXT NEAR", f"NEAR_OF(r, c) {given}", f"M(a, b) {choice}"]
    return "\n".join(f"#define {line}" for line in lines)


def elements_text(held: Any, kinds: tuple[Any, ...]) -> str:
    """Return a cell's functions for elements of parameters that `tile_sweep` reads once for all cells that share them.

    They are also read where no cell needs them. HELD_OF(r, c) passes them to the cell.
    """
    context = "".join(f", const {type_name} dp_held{q}" for q, (_, type_name) in enumerate(kinds))
    given = {"row": "held{q}[r]", "column": "held{q}[c]", "cell": "dp_load{q}(AT(0, r, c) DP_ARGUMENTS)"}
    passed = "".join(", " + given[kind].format(q=q) for q, (kind, _) in enumerate(kinds))
    return "\n".join(
        [
            held.text,
            "#undef DP_CONTEXT",
            f"#define DP_CONTEXT NEAR{context}",
            held.cells,
            f"#define HELD_OF(r, c) {passed}",
        ]
    )


def _write_outside(fill: Fill, buffer: Any, count: Any) -> None:
    """Set cells to the value outside the band of a fill."""
    cell: Any = np.zeros((), fill.equation.dtype)
    for name in fill.equation.cell.fields:
        cell[name] = fill.values[f"{OUTSIDE}_{name}"]
    if not fill.equation.cell.fields:
        cell[...] = fill.values[OUTSIDE]
    if cell.nbytes & (cell.nbytes - 1) == 0:
        launch.fill(fill.session, buffer, cell[()], count)
        return
    some = np.full(min(count, FILLED), cell)  # OpenCL fills memory with patterns of a power of two of bytes
    source = launch.allocate(fill.session, some.nbytes)
    launch.write(fill.session, source, some)
    for at in range(0, count, FILLED):
        nbytes = min(FILLED, count - at) * cell.nbytes
        launch.copy(fill.session, source, buffer, nbytes, at=at * cell.nbytes)


def _depths(offsets: tuple[Any, ...]) -> tuple[int, int]:
    """Return the rows above and columns to the left that a cell reads, at least one of each."""
    return tuple(max([1, *(-offset[axis] for offset in offsets)]) for axis in (0, 1))


def fill_table(fill: Fill, *, waited: bool = False) -> Filled:
    """Fill a table. `waited`: groups of one launch have waited in vain, so take many."""
    n, m = fill.shape
    dtype = fill.equation.dtype
    plan, sweep, line = fill.planned(("tiles", waited), lambda: _planned(fill, waited))
    single = not waited and sweep.policy.launches == "single"
    buffers = {}
    if single:
        tickets.require(fill.session, sweep.policy)
        buffers["progress"] = tickets.new_counters(fill.session, 1 + ceil_div(n, sweep.strip) + 1)
    table: Any = None
    decisions: Any = None
    if sweep.table:
        buffers["table"] = launch.allocate(fill.session, n * sweep.pitch * dtype.itemsize)
        table = CellStore(fill.session, (buffers["table"],), dtype, fill.shape, "ROWS", pitch=sweep.pitch)
    elif sweep.band is not None:
        buffers["last"] = launch.allocate(fill.session, line.nbytes)
    if sweep.band is not None:
        _write_outside(fill, *((buffers["table"], n * sweep.pitch) if sweep.table else (buffers["last"], line.count)))
    if sweep.bits:
        flip_rows, flip_columns = sweep.flips
        columns = sweep.policy.block_columns
        decisions = new_packed(fill, sweep.bits, multiple=columns, flip_rows=flip_rows, flip_columns=flip_columns)
        buffers["decisions"] = decisions.buffer
        if sweep.band is not None:
            launch.fill(fill.session, decisions.buffer, np.uint8(0), n * decisions.pitch)
    result = fill.run(plan, **buffers)
    if single and launch.read(fill.session, buffers["progress"], np.int32, 1, 1 + ceil_div(n, sweep.strip))[0]:
        warn(
            f"The groups of one launch on {fill.session.profile.name} waited too long for each other: "
            f"{fill.equation.name} was filled by one launch for each diagonal of tiles.",
            DeviceWarning,
        )
        return fill_table(fill, waited=True)
    return Filled(NAME, table, decisions, None if sweep.table else sweep.in_order(result.read(line)))


def _planned(fill: Fill, waited: bool) -> tuple[Plan, Sweep, Scratch]:
    """Return the plan of the launches, the sweep, and the memory of the row that is completed last."""
    n, m = fill.shape
    dtype = fill.equation.dtype
    sweep: Any = Sweep.of(fill, flips_for(fill))  # None only where the path does not apply
    single = not waited and sweep.policy.launches == "single"
    line = Scratch("last", dtype, sweep.edge_pitch)
    args = [*sweep.numbers(), Scratch("edges", dtype, sweep.edges)]
    args += ["progress", tickets.patience(fill.session)] if single else [Scratch("state", dtype, sweep.state)]
    args += ["table", np.int32(sweep.pitch)] if sweep.table else [line]
    if sweep.bits:
        columns = sweep.policy.block_columns
        args += ["decisions", np.int32(packed_pitch(m, sweep.bits, columns) * 8 // (sweep.bits * columns))]
    params = {**sweep.params(fill, last=not sweep.table), "single": single}
    moved = dtype.itemsize * (
        n * m * sweep.table + sweep.edges * sweep.rows + (0 if single else 2 * sweep.state * sweep.columns)
    )
    groups = ceil_div(n, sweep.strip)  # of one launch
    step = Step(KERNEL, sweep.policy, (*args, *fill.arguments), groups, params, moved, fill.options)
    return Plan(step if single else Series(step, (2, 3), *sweep.launches)), sweep, line
