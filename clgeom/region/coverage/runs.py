"""Runs of covered cells in columns, found on the device, and their connected parts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.core.device import Session
from clgeom.core.launch import run
from clgeom.core.plan import Argument, Number, Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.profile import DeviceProfile
from clgeom.core.tuning import select
from clgeom.intake.device_arrays import as_array
from clgeom.primitives.compact import partition
from clgeom.region.coverage.masks import Masks, new_buffer
from clgeom.region.coverage.rasters import Piece

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


@dataclass(frozen=True)
class Runs:
    """Runs of cells in columns, sorted by column and row: rows `top` to `bottom` of a column.

    The columns of all masks have consecutive numbers: column c is column ``c % width`` of mask ``c // width``. There
    are `columns` columns of `rows` cells.
    """

    column: np.ndarray
    top: np.ndarray
    bottom: np.ndarray
    width: int
    columns: int
    rows: int

    def __len__(self) -> int:
        return len(self.column)

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
    """Return the runs of all masks. Kernels label their first and last cells and compact these."""
    session, stack = masks.session, masks.stack
    rows, columns, nodata = stack.rows, stack.columns, masks.compared.nodata_or_zero
    begins: list[np.ndarray] = []
    ends: list[np.ndarray] = []
    for piece in masks.pieces(halo=1):
        cells, place = piece.maps * piece.rows * columns, (piece.start, piece.maps, piece.first_row, piece.rows)
        for first_level, thresholds, params in masks.level_launches(most=session.profile.max_alloc_bytes // cells):
            key = "runs labelled", stack.dtype, rows, columns, place, nodata, *params.items()
            plan, labels = cached_plan(session, key, functools.partial(_label_plan, masks, piece, params))
            made = run(session, plan, raster=piece.buffer, thresholds=thresholds)
            flat = as_array(session, made[labels], (labels.count,), np.uint8)
            only_begin, only_end, both = partition(flat, 3, device=session)
            for found, only in ((begins, only_begin), (ends, only_end)):
                part = np.concatenate([only, both])  # indices in the piece: map, level, row, column
                part, column = np.divmod(part, columns)
                part, row = np.divmod(part, piece.rows)
                number, level = np.divmod(part, params["levels"])
                mask = (piece.first_map - masks.first_map + number) * len(masks.levels.given) + first_level + level
                found.append((mask * columns + column) * rows + piece.first_row + row)
    begin, end = (np.sort(np.concatenate(found)) for found in (begins, ends))
    column, top = np.divmod(begin, rows)
    return Runs(column, top, end - column * rows, columns, len(masks) * columns, rows)


def _label_plan(masks: Masks, piece: Piece, params: dict[str, Any]) -> tuple[Plan, Scratch]:
    """(the plan that labels the ends of runs in a piece of a raster at a few levels, memory of the labels)."""
    stack, profile, kernel = masks.stack, masks.session.profile, "region/coverage/coverage_edges"
    cells = piece.maps * piece.rows * stack.columns
    labels = Scratch("coverage_labels", np.uint8, cells * params["levels"])
    args: tuple[Argument, ...] = ("raster", np.uint64(piece.start))
    args += tuple(map(np.uint32, (piece.maps, piece.first_row, piece.rows, stack.rows, stack.columns)))
    args += ("thresholds", masks.compared.nodata_or_zero, labels)
    policy = select(profile, kernel, stack.dtype, stack.rows * stack.columns)
    groups = policy.groups(piece.maps * piece.rows, profile.compute_units)
    moved = cells * (stack.dtype.itemsize + params["levels"])
    return Plan(Step(kernel, policy, args, groups, params, moved)), labels


def label_parts(masks: Masks, runs: Runs, *, corners: bool) -> np.ndarray:
    """For every run of masks, or of their gaps, the first run of its connected part.

    With `corners` runs that share only a corner are connected.
    """
    session, stack = masks.session, masks.stack
    n = len(runs)
    if n == 0:
        return np.empty(0, np.int64)
    starts = np.searchsorted(runs.column, np.arange(runs.columns + 1))
    buffers: dict[str, Any] = {
        "tops": stack.upload(runs.top.astype(np.int32)),
        "bottoms": stack.upload(runs.bottom.astype(np.int32)),
        "columns": stack.upload(runs.column.astype(np.uint32)),
        "starts": stack.upload(starts.astype(np.uint32)),
        "parents": new_buffer(session, np.arange(n, dtype=np.uint32)),
    }
    is_kept = n <= MOST_KEPT
    size = 1 << (n - 1).bit_length() if is_kept else n

    def make() -> tuple[Plan, Scratch]:
        roots, number = Scratch("coverage_roots", np.uint32, size), Number("runs")
        args = ("tops", "bottoms", "columns", "starts", number, Number("width"))
        return connection_plan(session.profile, size, args, "parents", number, roots, corners=corners), roots

    plan, roots = cached_plan(session, ("runs connected", size, corners), make, is_kept=is_kept)
    numbers: dict[str, np.generic] = {"runs": np.uint32(n), "width": np.uint32(runs.width)}
    return run(session, plan, numbers=numbers, **buffers).read(roots, n).astype(np.int64)


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
    """Return the plan that finds the first run of the connected part of each of `n` runs.

    `runs` are the first arguments of the kernels, `parents` the numbers of the runs.
    """
    unite, uint = "region/coverage/coverage_unite", np.dtype(np.uint32)
    policy = select(profile, unite, uint, n)
    groups = policy.groups(ceil_div(n, policy.tile), profile.compute_units)
    # few work-items: each joins the runs of its share alone; only joins between shares are atomic
    serial = policy.variant == "serial"
    args = (*runs, np.int32(corners), np.uint32(ceil_div(n, groups) if serial else 1), parents)
    kernels = (f"{unite}_shares", unite) if serial else (unite,)
    uniting = Plan(*(Step(kernel, policy, args, groups, bytes_moved=16 * n) for kernel in kernels))
    rooting = Step.over(
        profile,
        "region/coverage/coverage_roots",
        (parents, number, roots),
        n,
        dtype=uint,
        bytes_moved=16 * n,
    )
    return uniting + Plan(rooting)
