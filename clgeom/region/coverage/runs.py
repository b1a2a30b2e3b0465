"""Runs of covered cells in columns, found on the device, and their connected parts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clgeom.core.device import Session
from clgeom.core.launch import run
from clgeom.core.plan import Argument, Number, Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.profile import DeviceProfile
from clgeom.core.tuning import select
from clgeom.primitives.scan import sums_plan
from clgeom.region.coverage.masks import Masks, new_buffer
from clgeom.region.coverage.rasters import Piece, Stack

if TYPE_CHECKING:
    from clgeom.core.launch import Result

#: Lists on a device, and their memory by name.
Listed: TypeAlias = "tuple[Result, dict[str, Scratch]]"
#: Rows of a word of coverage_bits, and columns of a block of it on CPUs.
WORD, BLOCK_OF_CELLS = 32, 2048
#: Words of a strip of coverage_edges, on CPUs, and columns of a block of it there.
STRIP, STRIP_OF_CPU, BLOCK = 4, 64, 64
#: Most runs, and most pieces of a raster, of which plans are kept.
MOST_KEPT, FEW_PIECES = 1 << 16, 4


def cached_plan(
    session: Session, key: tuple[Any, ...], make: Callable[[], Any], *, is_kept: bool = True, memory: bool = True
) -> Any:
    """Return the plan that ``make()`` returns, and what follows it; if it is kept from the session's cache."""
    if not is_kept:
        return make()

    def kept() -> tuple[Any, ...]:
        plan, *others = make()
        return plan.kept(memory=memory), *others

    return session.cached(key, kept, policies=True)


class Runs:
    """Runs of cells in columns, sorted by column and row: rows `top` to `bottom` of a column.

    The columns of all masks have consecutive numbers: column c is column ``c % width`` of mask ``c // width``. There
    are `columns` columns of `rows` cells. Runs that a device listed are read when they are needed.
    """

    def __init__(
        self, column: np.ndarray, top: np.ndarray, bottom: np.ndarray, width: int, columns: int, rows: int
    ) -> None:
        self.width, self.columns, self.rows, self._count = width, columns, rows, len(column)
        self._lists: tuple[np.ndarray, ...] | None = (column, top, bottom)
        self._listed: Listed | None = None
        self._is_used = False

    @classmethod
    def on_device(cls, listed: Listed, count: int, width: int, columns: int, rows: int) -> Runs:
        """Return runs that are on a device."""
        nothing = np.empty(0, np.int64)
        runs = cls(nothing, nothing, nothing, width, columns, rows)
        runs._count, runs._lists, runs._listed = count, None, listed
        return runs

    def __getstate__(self) -> dict[str, Any]:  # memory of a device stays in its process
        return {**vars(self), "_lists": self.lists, "_listed": None}

    @property
    def lists(self) -> tuple[np.ndarray, ...]:
        """Columns, tops and bottoms on the host."""
        if self._lists is None:
            assert self._listed is not None
            result, memory = self._listed
            names = ("columns", "tops", "bottoms")
            self._lists = tuple(result.read(memory[name], self._count).astype(np.int64) for name in names)
        return self._lists

    @property
    def column(self) -> np.ndarray:
        return self.lists[0]

    @property
    def top(self) -> np.ndarray:
        return self.lists[1]

    @property
    def bottom(self) -> np.ndarray:
        return self.lists[2]

    def arguments(self, stack: Stack) -> dict[str, Any]:
        """Return arguments of kernels by name: the lists, the first run of each column, and the numbers as parents.

        Kernels may change the parents.
        """
        session, used, self._is_used = stack.session, self._is_used, True
        if self._listed is not None:
            result, memory = self._listed
            made: dict[str, Any] = {name: result[scratch] for name, scratch in memory.items()}
            if not used:
                return made
        else:
            starts = np.searchsorted(self.column, np.arange(self.columns + 1))
            lists = {"tops": self.top, "bottoms": self.bottom, "columns": self.column, "starts": starts}
            made = {name: stack.upload(values.astype(np.uint32)) for name, values in lists.items()}
        return {**made, "parents": new_buffer(session, np.arange(len(self), dtype=np.uint32))}

    def leave_device(self) -> None:
        """Keep the lists on the host only."""
        self._lists, self._listed = self.lists, None

    def __len__(self) -> int:
        return self._count

    @property
    def mask(self) -> np.ndarray:
        """The mask of each run."""
        return np.asarray(self.column // self.width)

    @property
    def lengths(self) -> np.ndarray:
        """The number of cells of each run."""
        return np.asarray(self.bottom - self.top + 1)

    @functools.cached_property
    def keys(self) -> np.ndarray:
        """Column and top of each run as one ascending number."""
        return np.asarray(self.column * self.rows + self.top)

    def find(self, mask: Any, column: Any, row: Any) -> Any:
        """Return the numbers of the runs that hold these cells, which are in some; columns are those of a mask."""
        return np.asarray(np.searchsorted(self.keys, (mask * self.width + column) * self.rows + row, side="right") - 1)

    def gaps(self) -> Runs:
        """Return the runs of uncovered cells between these, up to the edges of the map."""
        span = self.rows + 1  # a run may begin after the last row
        edges = np.arange(self.columns) * span
        begin = np.sort(np.concatenate([edges, self.column * span + self.bottom + 1]), kind="stable")
        end = np.sort(np.concatenate([edges + self.rows, self.column * span + self.top]), kind="stable")
        there = begin < end
        column, top = np.divmod(begin[there], span)
        bottom = end[there] - column * span - 1
        return Runs(column, top, bottom, self.width, self.columns, self.rows)


def covered_runs(masks: Masks) -> Runs:
    """Return the runs of all masks. Kernels make words of cells, count the ends of runs in them, and list the runs."""
    session, stack = masks.session, masks.stack
    rows, columns, nodata = stack.rows, stack.columns, masks.compared.nodata_or_zero
    found: list[tuple[np.ndarray, np.ndarray]] = []  # column and row of the begins, and of the ends, of each launch
    for piece in masks.pieces(halo=1):
        cells, place = piece.maps * piece.rows * columns, (piece.start, piece.maps, piece.first_row, piece.rows)
        for first_level, thresholds, params in masks.level_launches(most=session.profile.max_alloc_bytes // cells):
            key = "runs counted", stack.dtype, rows, columns, place, nodata, *params.items()
            counting, args, places = cached_plan(session, key, functools.partial(_count_plan, masks, piece, params))
            made = run(session, counting, raster=piece.buffer, thresholds=thresholds)
            is_whole, lists = piece.rows == rows, places.count // 2
            half = int(made.read(places, 1, lists)[0])
            ends = half if is_whole else int(made.read(places, 1, 2 * lists)[0]) - half
            size = 1 << max(half - 1, ends - 1, 1).bit_length()
            listing, memory = cached_plan(
                session,
                ("runs listed", *key[1:], size),
                functools.partial(_list_plan, masks, args, params, size),
                memory=size <= MOST_KEPT,
            )
            listed = run(session, listing, coverage_bits=made["coverage_bits"], coverage_places=made[places])
            if is_whole and piece.maps * params["levels"] == len(masks):
                return Runs.on_device((listed, memory), half, columns, len(masks) * columns, rows)
            top, bottom, column = (
                listed.read(memory[name], count).astype(np.int64)
                for name, count in (("tops", half), ("bottoms", ends), ("columns", half))
            )
            column_of_end = column
            if not is_whole:
                strips = lists // (piece.maps * params["levels"] * columns)
                before = made.read(places)[lists:].astype(np.int64)
                column_of_end = np.repeat(np.arange(lists) // strips, before[1:] - before[:-1])
            for some, row in ((column, top), (column_of_end, bottom)):
                number, some = np.divmod(some, columns)
                number, level = np.divmod(number, params["levels"])
                number += piece.first_map - masks.first_map
                found.append((some + (number * len(masks.levels.given) + first_level + level) * columns, row))
    (column, top), (column_of_end, bottom) = (_in_order(found[k::2], rows) for k in (0, 1))
    assert len(column) == len(column_of_end)
    return Runs(column, top, bottom, columns, len(masks) * columns, rows)


def _in_order(found: list[tuple[np.ndarray, np.ndarray]], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and rows of all launches, sorted; those of one launch are."""
    if len(found) == 1:
        return found[0]
    keys = np.sort(np.concatenate([np.empty(0, np.int64), *(column * rows + row for column, row in found)]))
    column, row = np.divmod(keys, rows)
    return column, row


def _count_plan(masks: Masks, piece: Piece, params: dict[str, Any]) -> tuple[Plan, tuple[Argument, ...], Scratch]:
    """(plan that counts ends of runs in a piece of a raster, arguments of both launches, sums of the counts)."""
    stack, profile, kernel = masks.stack, masks.session.profile, "region/coverage/coverage_bits"
    some, words = piece.maps * params["levels"], ceil_div(piece.rows, WORD)
    bits = Scratch("coverage_bits", np.uint32, some * (words + 1) * stack.columns)
    policy = select(profile, kernel, stack.dtype, stack.rows * stack.columns)
    serial = policy.variant == "serial"
    items = piece.maps * words * ceil_div(stack.columns, BLOCK_OF_CELLS if serial else policy.wg_size)
    args: tuple[Argument, ...] = ("raster", np.uint64(piece.start))
    args += tuple(map(np.uint32, (piece.maps, piece.first_row, piece.rows, stack.columns)))
    args += ("thresholds", masks.compared.nodata_or_zero, bits)
    moved = piece.maps * piece.rows * stack.columns * stack.dtype.itemsize + 4 * bits.count
    plan = Plan(Step(kernel, policy, args, policy.groups(items, profile.compute_units), params, moved))
    strips = ceil_div(words, STRIP_OF_CPU if serial else STRIP)
    lists = 2 * some * stack.columns * strips
    counts, places = Scratch("coverage_counts", np.uint32, lists + 1), Scratch("coverage_places", np.uint32, lists + 1)
    args = (bits, *map(np.uint32, (some, piece.first_row, piece.rows, stack.rows, stack.columns, strips)))
    plan += Plan(_edges(masks, args, (counts,), emit=False, moved=4 * (bits.count + lists)))
    return plan + sums_plan(profile, counts, places, prefix="edges"), args, places


def _list_plan(
    masks: Masks, args: tuple[Argument, ...], params: dict[str, Any], size: int
) -> tuple[Plan, dict[str, Scratch]]:
    """(the plan that lists at most `size` runs, its memory by name)."""
    sizes = {"tops": size, "bottoms": size, "columns": size, "starts": len(masks) * masks.stack.columns + 1}
    memory = {name: Scratch(f"coverage_{name}", np.uint32, n) for name, n in (*sizes.items(), ("parents", size))}
    args = ("coverage_bits", *args[1:])
    return Plan(_edges(masks, args, ("coverage_places", *memory.values()), emit=True, moved=16 * size)), memory


def _edges(masks: Masks, args: tuple[Any, ...], out: tuple[Argument, ...], *, emit: bool, moved: int) -> Step:
    profile, kernel = masks.session.profile, "region/coverage/coverage_edges"
    _, some, _, _, _, columns, strips = args
    policy = select(profile, kernel, np.dtype(np.uint32), int(columns))
    width = BLOCK if policy.variant == "serial" else policy.wg_size
    items = int(some) * int(strips) * ceil_div(int(columns), width)
    return Step(kernel, policy, (*args, *out), policy.groups(items, profile.compute_units), {"emit": emit}, moved)


def label_parts(masks: Masks, runs: Runs, *, corners: bool) -> np.ndarray:
    """For every run of masks, or of their gaps, the first run of its connected part.

    With `corners` runs that share only a corner are connected.
    """
    session, n = masks.session, len(runs)
    if n == 0:
        return np.empty(0, np.int64)
    is_kept = n <= MOST_KEPT
    size = 1 << (n - 1).bit_length() if is_kept else n

    def make() -> tuple[Plan, Scratch]:
        roots, number = Scratch("coverage_roots", np.uint32, size), Number("runs")
        args = ("tops", "bottoms", "columns", "starts", number, Number("width"))
        return connection_plan(session.profile, size, args, "parents", number, roots, corners=corners), roots

    plan, roots = cached_plan(session, ("runs connected", size, corners), make, is_kept=is_kept)
    numbers: dict[str, np.generic] = {"runs": np.uint32(n), "width": np.uint32(runs.width)}
    return run(session, plan, numbers=numbers, **runs.arguments(masks.stack)).read(roots, n).astype(np.int64)


def connection_plan(
    profile: DeviceProfile,
    n: int,
    runs: tuple[Argument, ...],
    parents: Argument,
    number: Argument,
    roots: Scratch,
    *,
    corners: bool = False,
) -> Plan:
    """Return the plan that finds the first run of the connected part of each of `n` runs: see `uniting_plan`."""
    rooting = Step.over(
        profile,
        "region/coverage/coverage_roots",
        (parents, number, roots),
        n,
        dtype=np.dtype(np.uint32),
        bytes_moved=16 * n,
    )
    return uniting_plan(profile, n, runs, parents, corners=corners) + Plan(rooting)


def uniting_plan(
    profile: DeviceProfile, n: int, runs: tuple[Argument, ...], parents: Argument, *, corners: bool
) -> Plan:
    """Return the plan that makes a forest of `n` runs, with a tree for each connected part and its first run as root.

    `runs` are the first arguments of the kernels, `parents` the numbers of the runs.
    """
    unite, uint = "region/coverage/coverage_unite", np.dtype(np.uint32)
    policy = select(profile, unite, uint, n)
    groups = policy.groups(ceil_div(n, policy.tile), profile.compute_units)
    # few work-items: each joins the runs of its share alone; only joins between shares are atomic
    serial = policy.variant == "serial"
    args = (*runs, np.int32(corners), np.uint32(ceil_div(n, groups) if serial else 1), parents)
    kernels = (f"{unite}_shares", unite) if serial else (unite,)
    return Plan(*(Step(kernel, policy, args, groups, bytes_moved=16 * n) for kernel in kernels))
