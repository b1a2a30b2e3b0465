"""The path for equations that read only the row before: several rows per launch, in local memory or caches.

The dependence offsets of each row are known before the fill, from constants or from data such as weights. A tile has
margins as wide as the sums of these offsets over the rows of a launch, so it needs no data of its neighbours.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clgeom.core import launch
from clgeom.core.plan import Plan, Scratch, Series, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.dp.analysis.dependences import Near, Row
from clgeom.dp.analysis.work import most_cells, numbered_parts
from clgeom.dp.codegen import pieces
from clgeom.dp.fills import Fill, too_large
from clgeom.dp.table.stores import CellStore, bits_of, new_packed, obstacle_by_rows, packed_pitch
from clgeom.dp.table.table import Filled
from clgeom.intake.typing import NDArray

if TYPE_CHECKING:
    from clgeom.core.policies import Policy

NAME = "rows"
FUSED, DIRECT = "dp/paths/rows_fused", "dp/paths/rows_direct"
#: Columns of tiles and of their margins are multiples of this, so that words of choices have one writer.
ALIGN = 32
#: A margin is at most 1 / MARGIN of a tile; a launch has at most MOST_ROWS rows.
MARGIN, MOST_ROWS = 2, 64
#: Speed of this path relative to cell by cell, see `work.OPERATIONS`.
RATE = 4
#: Offset for a row that may read any column.
UNBOUNDED = 1 << 30
#: Columns on each side of a tile that are read and not computed: few sizes, since each is a build.
GUARDS = (0, 64, 1024)
#: Bytes of local memory that a tile may fill.
LOCAL_BYTES = 48 << 10
#: Columns that a work-item of a CPU takes at once: two rows of them stay in its cache.
MOST_COLUMNS = 1 << 16
#: Cells that a work-item of a CPU fills in a second, in vectors and one by one; seconds of a launch of several (PoCL);
#: most cells of a launch of one.
CELLS_PER_SECOND, LAUNCH_SECONDS, CELLS_PER_LAUNCH = (8e9, 2e9), 40e-6, 1 << 23
#: Seconds of a launch, of a row of a tile, and of a cell of that row, on an H200: 5 us a launch; 134 launches of 1001
#: rows of 222 tiles of 8192 columns took 2.3 ms, 2000 rows of one tile of 2048 columns 0.7 ms.
LAUNCH_GPU, ROW_GPU, ITEM_GPU = 5e-6, 2e-7, 1e-10


def step_of(fill: Fill) -> int | None:
    """-1 when every read is in the row above, 1 when in the row below, else None."""
    reach: Any = fill.equation.reach
    if isinstance(reach, Row):
        return reach.step
    if isinstance(reach, Near) and {di for di, _ in reach.offsets} in ({-1}, {1}):
        return reach.offsets[0][0]
    return None


def is_flipped(fill: Fill) -> bool:
    """Return whether the last row is filled first."""
    return step_of(fill) == 1


def obstacle(fill: Fill) -> str | None:
    """Why this path does not apply; None if it does."""
    if step_of(fill) is None:
        return f"it reads {fill.equation.reach}, not only the row before"
    n, m = fill.shape
    flipped = is_flipped(fill) if n > 1 else fill.pattern.last(2, 2) == 0  # a single row is the first and the last
    reason = obstacle_by_rows(fill, flipped=flipped)
    if reason is not None:
        return reason
    rows = n if fill.keep == "table" else 2
    nbytes = max(rows * _pitch(m) * fill.equation.dtype.itemsize, n * packed_pitch(m, bits_of(fill) or 0, ALIGN))
    return too_large(fill, nbytes)


def _pitch(m: int) -> int:
    return ceil_div(m, ALIGN) * ALIGN


class Launches(NamedTuple):
    """Launches in their order, as arrays: the rows row .. row + count - 1 in the order of filling, and the margins.

    `direct`: the kernel is rows_direct, else rows_fused.
    """

    direct: np.ndarray
    row: np.ndarray
    count: np.ndarray  # type: ignore[assignment]  # not the method of tuples
    left: np.ndarray
    right: np.ndarray


def reaches_of(fill: Fill) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest offsets of reads of each row to the left and to the right, in the order of filling."""
    n, m = fill.shape
    reach: Any = fill.equation.reach
    if isinstance(reach, Near):
        columns = [dj for _, dj in reach.offsets]
        left, right = np.full(n, -min(columns)), np.full(n, max(columns))
    else:
        rows = np.arange(n) if reach.step < 0 else np.arange(n)[::-1]
        low, high = reach.bounds(rows[1:], fill.values, fill.shape)  # the first row reads nothing
        left = np.full(n, UNBOUNDED) if low is None else np.append(0, -low)
        right = np.full(n, UNBOUNDED) if high is None else np.append(0, high)
    return np.clip(left, 0, UNBOUNDED), np.clip(right, 0, UNBOUNDED)


def in_parts(groups: NDArray[Any], most: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return launches cut into parts of at most `most` groups: (index of launch, first group, groups) of each."""
    which, part = numbered_parts(-(-groups // most))
    first = part * most
    return which, first, np.minimum(groups[which] - first, most)


def launches(
    left: NDArray[Any], right: NDArray[Any], margin: int, guards: tuple[int, int], most: int = MOST_ROWS
) -> Launches:
    """Return launches of as many rows as the margins allow; rows that read beyond the guards go one by one."""
    n = len(left)
    rows = np.arange(n)
    is_far = (left > guards[0]) | (right > guards[1])
    far = np.append(np.flatnonzero(is_far), n)
    ends = np.minimum(rows + min(most, MOST_ROWS), far[np.searchsorted(far, rows)])
    sums = [np.append(0, np.cumsum(side)) for side in (left, right)]
    for total in sums:
        ends = np.minimum(ends, np.searchsorted(total, total[:-1] + margin, "right") - 1)
    ends = np.maximum(ends, rows + 1).tolist()
    starts = [0]
    while starts[-1] < n:
        starts.append(ends[starts[-1]])
    row, end = np.array(starts[:-1]), np.array(starts[1:])
    direct = is_far[row]
    sides = [np.where(direct, 0, -((total[row] - total[end]) // ALIGN) * ALIGN) for total in sums]
    return Launches(direct, row, end - row, *sides)


def fill_table(fill: Fill) -> Filled:
    """Fill a table."""
    n, m = fill.shape
    session, dtype = fill.session, fill.equation.dtype
    direct = select(session.profile, DIRECT, dtype, n * m)
    if direct.variant == "group" and direct.tile % 8:
        direct = replace(direct, items_per_thread=8)  # a byte of choices has one writer
    serial = direct.variant == "serial"

    def planned() -> tuple[Plan, int]:
        rows = Rows(fill)
        parts = rows.on_cpu(direct) if serial else rows.on_gpu(direct, select(session.profile, FUSED, dtype, n * m))
        return Plan(*parts), rows.last_slot

    # other dependences differ from call to call with the elements of parameters, but not the launch of one tile
    fixed = isinstance(fill.equation.reach, Near) or not (serial or one_tile(fill) is None)
    plan, last_slot = fill.planned(("rows",), planned) if fixed else planned()
    pitch, keep, bits = _pitch(m), fill.keep == "table", bits_of(fill)
    held = n if keep else 2  # rows in memory
    buffers: dict[str, Any] = {"cells": launch.allocate(session, held * pitch * dtype.itemsize)}
    table = CellStore(session, (buffers["cells"],), dtype, (held, m), "ROWS", pitch=pitch)
    decisions = new_packed(fill, bits, multiple=ALIGN, flip_rows=is_flipped(fill)) if bits else None
    if decisions is not None:
        buffers["decisions"] = decisions.buffer
    fill.run(plan, **buffers)
    if keep:
        return Filled(NAME, table, decisions)
    last: Any = LastRow(table, last_slot)
    return Filled(NAME, None, decisions, last.copy() if fill.keep == "last" else last)


@dataclass(frozen=True)
class LastRow:
    """The row completed last, in device memory: copied when it is asked for."""

    store: CellStore
    row: int

    def __getitem__(self, j: int) -> Any:
        return self.store.cell(self.row, j)

    def copy(self) -> Any:
        return self.store.row(self.row)


class Rows:
    """The launches of a fill."""

    def __init__(self, fill: Fill) -> None:
        self.fill, self.flip = fill, is_flipped(fill)
        self.pitch, self.keep, self.bits = _pitch(fill.shape[1]), fill.keep == "table", bits_of(fill) or 0
        self.last_slot = 0
        self.params = {**fill.params, "equation": fill.text(), "flip_rows": self.flip, "bits": self.bits}

    @functools.cached_property
    def reaches(self) -> tuple[np.ndarray, np.ndarray]:
        """The offsets of `reaches_of`; whole rows of a narrow table do not need them."""
        return reaches_of(self.fill)

    def slots(self, parts: Launches) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the slots of the row that each launch reads, and of the last row that it fills."""
        if not self.keep:
            at = np.arange(len(parts.row))
            self.last_slot = len(at) % 2
            return at % 2, (at + 1) % 2
        places = np.maximum(parts.row - 1, 0), parts.row + parts.count - 1
        return tuple(self.fill.shape[0] - 1 - at for at in places) if self.flip else places

    def step(self, kernel: str, policy: Policy, args: Any, params: dict[Any, Any], rows: int) -> Step:
        """Return a step with the fill's choices and parameters."""
        n, m = self.fill.shape
        if self.bits:
            args += ("decisions", np.int32(packed_pitch(m, self.bits, ALIGN)))
        itemsize = self.fill.equation.dtype.itemsize
        moved = rows * m * (itemsize * (1 if self.keep else 0) + self.bits // 8) + 2 * m * itemsize
        params = {**self.params, **params}
        return Step(kernel, policy, (*args, *self.fill.arguments), 1, params, moved, self.fill.options)

    def on_gpu(self, direct: Policy, fused: Policy) -> list[Series]:
        """Return the launches for GPUs: fused rows in local memory where their margins allow it, else direct rows."""
        n, m = self.fill.shape
        whole, guards, far = one_tile(self.fill, fused), (GUARDS[1], GUARDS[1]), True
        if whole is None or isinstance(self.fill.equation.reach, Near):  # else one tile, for all elements of parameters
            fused, guards, margin = shape_of(self.fill, fused, *self.reaches)
            reach = [int(side.max()) for side in self.reaches]
            seconds = _seconds(self.fill, fused, *self.reaches)
            if whole and (max(reach) > margin or _seconds(self.fill, whole) <= seconds):
                guards = GUARDS[0 < reach[0] <= GUARDS[1]], GUARDS[0 < reach[1] <= GUARDS[1]]
            else:
                whole = None
            far = whole is not None and (reach[0] > guards[0] or reach[1] > guards[1])
        most = most_cells(self.fill, rate=RATE, units=1 if whole else None)
        if whole:
            fused, row = whole, np.arange(0, n, max(most // m, 1))
            none = np.zeros_like(row)
            parts = Launches(none > 0, row, np.diff(row, append=n), none, none)
        else:
            parts = launches(*self.reaches, margin, guards, max(most // m, 1))
        held, slots = pieces.held_row(self.fill.equation, flip=self.flip, traps=self.fill.traps), self.slots(parts)
        zero, series = np.int32(0), []
        changes = np.flatnonzero(np.diff(parts.direct)) + 1
        for begin, end in zip([0, *changes.tolist()], [*changes.tolist(), len(parts.row)]):
            direct_, row, count, left, right = (values[begin:end] for values in parts)
            places = [slot[begin:end] for slot in slots]
            if direct_[0]:
                args: Any = (np.int32(n), np.int32(m), *(zero,) * 4, "cells", "cells", np.int32(self.pitch))
                step = self.step(DIRECT, direct, args, {}, len(row))
                groups = np.full(len(row), ceil_div(m, direct.tile))
                which, first, groups = in_parts(groups, max(most // direct.tile, 1))
                values = np.stack([first, *(number[which] for number in (row, *places))], axis=1)
            else:
                args = (np.int32(n), np.int32(m), *(zero,) * 6, "cells", np.int32(self.pitch))
                params = {"table": self.keep, "guard_left": guards[0], "guard_right": guards[1], "far": far}
                params |= dict(zip(("held", "held_types"), held)) if held else {}
                step = self.step(FUSED, fused, args, params, int(count.sum()))
                values = np.stack([row, count, left, right, *places], axis=1)
                groups = -(-m // (fused.tile - left - right))
            series.append(Series(step, tuple(range(2, 2 + values.shape[1])), values, groups))
        return series

    def on_cpu(self, policy: Policy) -> list[Series]:
        """Return the launches for CPUs: several rows each, by work-items that share the columns, or one if faster."""
        fill, (n, m) = self.fill, self.fill.shape
        items = max(policy.groups_per_unit, 1) * fill.session.profile.compute_units
        most, alone = (most_cells(fill, rate=RATE, units=units) for units in (None, 1))
        core = min(max(ceil_div(ceil_div(m, items), ALIGN) * ALIGN, 1024), MOST_COLUMNS)
        core = min(core, max(alone // ALIGN * ALIGN, ALIGN))
        margin = core // MARGIN
        loops = pieces.loops(fill.equation, flip=self.flip, traps=fill.traps)
        if core >= m or self._parts_cost(core, margin, items, loops) and m <= alone:
            core, margin = _pitch(m), 0  # whole rows have no margins
            each = max(min(max(MOST_ROWS, CELLS_PER_LAUNCH // m), alone // m), 1)
            row = np.arange(0, n, each)
            none = np.zeros_like(row)
            parts = Launches(none == 0, row, np.minimum(each, n - row), none, none)
        else:
            parts = launches(*self.reaches, margin, (margin, margin), max(most // m, 1))
        together = min(ceil_div(m, core), max(most // core, 1))
        width = core + 2 * (margin + ALIGN) + 2 * margin
        scratch = Scratch("scratch", fill.equation.dtype, together * 3 * width)
        numbers = map(np.int32, (n, m, *(0,) * 7, core, margin, width, self.keep))
        args = (*numbers, "cells", "cells", np.int32(self.pitch), scratch)
        values = np.stack([parts.row, parts.count, parts.left, parts.right, *self.slots(parts)], axis=1)
        which, first, groups = in_parts(np.full(len(values), ceil_div(m, core)), together)
        step = self.step(DIRECT, policy, args, {"loops": loops}, n)
        values = np.concatenate([first[:, None], values[which]], axis=1)
        return [Series(step, tuple(range(2, 9)), values, groups)]

    def _parts_cost(self, core: int, margin: int, items: int, loops: str) -> bool:
        """Return whether columns in parts, with margins, cost more time in launches than they save."""
        n, m = self.fill.shape
        left, right = self.reaches
        far = int(((left > margin) | (right > margin)).sum())
        sums = [int(np.minimum(side, m).sum()) for side in (left, right)]
        count = max(n / MOST_ROWS, max(sums) / margin) + far
        saved = n * m * (1 - (1 + 0.5 / MARGIN) / min(items, ceil_div(m, core)))  # half of a margin, on average
        return saved / CELLS_PER_SECOND[0 if loops else 1] < count * LAUNCH_SECONDS


def shape_of(
    fill: Fill, policy: Policy, left: NDArray[Any], right: NDArray[Any]
) -> tuple[Policy, tuple[int, int], int]:
    """Return a policy whose tiles fit in local memory, the columns to read on each side of a tile, and the largest
    margin.

    Of the tiles that fit, those with the least estimated time: small ones for narrow tables, so that the whole device
    works; large ones where they save launches or columns computed twice.
    """
    room = local_room(fill)
    each = fill.equation.dtype.itemsize + (1 if bits_of(fill) else 0)
    halvings = range(0, policy.items_per_thread.bit_length(), 2)  # few, since each size is a build
    sizes = [replace(policy, items_per_thread=policy.items_per_thread >> by) for by in halvings]
    fitting = [size for size in sizes if size.tile * each <= room * 5 // 6 and size.tile >= 4 * ALIGN]
    fitting = fitting or [replace(policy, wg_size=max(policy.wg_size, ALIGN), items_per_thread=4)]
    policy = min(fitting, key=lambda size: _seconds(fill, size, left, right))
    sides = 2 if left.any() and right.any() else 1
    margin = policy.tile // (MARGIN * sides) // ALIGN * ALIGN
    guards = []
    for side in (left, right):
        near = int(side[side <= margin].max(initial=0))
        guards.append(min(next((size for size in GUARDS if near <= size), margin), margin))
    while sum(guards) > (room - policy.tile * each) // fill.equation.dtype.itemsize:
        guards[guards.index(max(guards))] //= 2
    return policy, (guards[0], guards[1]), margin


def one_tile(fill: Fill, policy: Policy | None = None) -> Policy | None:
    """Return a policy of one tile as wide as the table, which needs no margins; None if local memory does not hold it.

    One group then fills all rows in one launch, whatever columns they read. Cells with loops need more groups.
    """
    n, m = fill.shape
    policy = policy or select(fill.session.profile, FUSED, fill.equation.dtype, n * m)
    each = fill.equation.dtype.itemsize + (1 if bits_of(fill) else 0)
    wg_size = min(policy.wg_size, max(_power_of_two(m), 4 * ALIGN))
    items = _power_of_two(ceil_div(m, wg_size))
    guards = 2 * GUARDS[1] * fill.equation.dtype.itemsize
    if fill.equation.loops or items > policy.items_per_thread or wg_size * items * each + guards > local_room(fill):
        return None
    return replace(policy, wg_size=wg_size, items_per_thread=items)


def local_room(fill: Fill) -> int:
    """Return the bytes of local memory for a tile and its guards."""
    return min(fill.session.profile.local_mem_bytes, LOCAL_BYTES)


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()


def _seconds(fill: Fill, policy: Policy, left: Any = None, right: Any = None) -> float:
    """Return the estimated time of a fill by tiles with margins for reads so far away; by one tile without them."""
    n, m = fill.shape
    if left is None:
        return LAUNCH_GPU + n * (ROW_GPU + ITEM_GPU * policy.tile)
    margin = max(policy.tile // MARGIN, 1)
    sums = [int(np.minimum(side, m).sum()) for side in (left, right)]
    count = max(n / MOST_ROWS, *(total / margin for total in sums))
    core = policy.tile - min(sum(sums) / count, 2 * margin)
    waves = ceil_div(ceil_div(m, max(int(core), 1)), fill.session.profile.compute_units)
    return count * LAUNCH_GPU + n * waves * (ROW_GPU + ITEM_GPU * policy.tile)
