"""Runs of covered cells in columns, found on the device, and their connected parts."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.intake.cl_arrays import as_array
from clgeom.primitives.compact import partition
from clgeom.region.coverage.masks import Masks, written


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

    def holding(self, mask: Any, column: Any, row: Any) -> Any:
        """The numbers of the runs that hold these cells, which are in some; columns are those of a mask."""
        return np.asarray(np.searchsorted(self.keys, (mask * self.width + column) * self.rows + row, side="right") - 1)

    def between(self) -> Runs:
        """The runs of uncovered cells between these, up to the edges of the map."""
        span = self.rows + 1  # a run may begin after the last row
        edges = np.arange(self.columns) * span
        begin = np.sort(np.concatenate([edges, self.column * span + self.bottom + 1]), kind="stable")
        end = np.sort(np.concatenate([edges + self.rows, self.column * span + self.top]), kind="stable")
        there = begin < end
        column, top = np.divmod(begin[there], span)
        bottom = end[there] - column * span - 1
        return Runs(column, top, bottom, self.width, self.columns, self.rows)


def covered_runs(masks: Masks) -> Runs:
    """The runs of all masks. Kernels label their first and last cells and compact these."""
    session, stack = masks.session, masks.stack
    profile, rows, columns = session.profile, stack.rows, stack.columns
    kernel = "region/coverage/coverage_edges"
    policy = select(profile, kernel, stack.dtype, rows * columns)
    begins: list[np.ndarray] = []
    ends: list[np.ndarray] = []
    for piece in masks.pieces(halo=1):
        cells = piece.maps * piece.rows * columns
        for first_level, thresholds, params in masks.level_launches(most=profile.max_alloc_bytes // cells):
            labels = Scratch("coverage_labels", np.uint8, cells * params["levels"])
            step = Step(
                kernel,
                policy,
                args=(
                    "raster",
                    np.uint64(piece.start),
                    np.uint32(piece.maps),
                    np.uint32(piece.first_row),
                    np.uint32(piece.rows),
                    np.uint32(rows),
                    np.uint32(columns),
                    "thresholds",
                    masks.compared.nodata_or_zero,
                    labels,
                ),
                groups=policy.groups(piece.maps * piece.rows, profile.compute_units),
                params=params,
                bytes_moved=cells * (stack.dtype.itemsize + params["levels"]),
            )
            made = run(session, Plan(step), raster=piece.buffer, thresholds=thresholds)
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


def connected(masks: Masks, runs: Runs, *, corners: bool) -> np.ndarray:
    """For every run of masks, or of their gaps, the first run of its connected part.

    With `corners` runs that share only a corner are connected.
    """
    session, stack = masks.session, masks.stack
    n = len(runs)
    if n == 0:
        return np.empty(0, np.int64)
    starts = np.searchsorted(runs.column, np.arange(runs.columns + 1))
    buffers: dict[str, Any] = {
        "tops": stack.sent(runs.top.astype(np.int32)),
        "bottoms": stack.sent(runs.bottom.astype(np.int32)),
        "columns": stack.sent(runs.column.astype(np.uint32)),
        "starts": stack.sent(starts.astype(np.uint32)),
        "parents": written(session, np.arange(n, dtype=np.uint32)),
    }
    profile, number, roots = session.profile, np.uint32(n), Scratch("coverage_roots", np.uint32, n)
    policy = select(profile, "region/coverage/coverage_unite", np.dtype(np.uint32), n)
    groups = policy.groups(ceil_div(n, policy.tile), profile.compute_units)
    # few work-items: each joins the runs of its share alone; only joins between shares are atomic
    serial = policy.variant == "serial"
    share = ceil_div(n, groups) if serial else 1
    args = (
        "tops",
        "bottoms",
        "columns",
        "starts",
        number,
        np.uint32(runs.width),
        np.int32(corners),
        np.uint32(share),
        "parents",
    )
    uniting = [
        Step(f"region/coverage/{name}", policy, args, groups, bytes_moved=16 * n)
        for name in (("coverage_unite_shares", "coverage_unite") if serial else ("coverage_unite",))
    ]
    rooting = Step.over(
        profile,
        "region/coverage/coverage_roots",
        ("parents", number, roots),
        n,
        dtype=np.dtype(np.uint32),
        bytes_moved=16 * n,
    )
    made = run(session, Plan(*uniting, rooting), **buffers)
    return made.read(roots).astype(np.int64)
