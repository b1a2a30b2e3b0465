"""One region per map and level: the highest and lowest corner on each grid line, directly from the raster.

    raster  -> first and last covered row of each column, in bands of rows
    bands   -> for each grid line, the lowest and the highest corner of the columns beside it
    lines   -> candidates, without lines that have no corner -> chains

All data stay on the device.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import run
from clgeom.core.plan import Argument, Plan, Scratch, Step
from clgeom.core.policies import Policy, ceil_div
from clgeom.core.tuning import select
from clgeom.primitives.scan import sums_plan
from clgeom.region.arc.chains import Chains, chains_of
from clgeom.region.arc.outline_plans import OutlineOptions, Output, outline_plan
from clgeom.region.coverage.groups import Group
from clgeom.region.coverage.masks import REAL, Masks, Segmentation
from clgeom.region.coverage.rasters import Piece
from clgeom.region.coverage.runs import FEW_PIECES, cached_plan

if TYPE_CHECKING:
    import pyopencl as cl


def whole_regions(masks: Masks, segmentation: Segmentation) -> list[list[Group]]:
    """For each number of segments a region for every mask, from one read of the raster; regions may be empty.

    Groups of maps that are on a device with memory of its own do not wait for it.
    """
    maps, levels = masks.map_and_level(np.arange(len(masks)))
    parts = np.zeros(len(masks), np.int64)
    lines, turned, turned_lines = _lines(masks), None, {}
    if segmentation.is_crossed:
        turned = masks.turned()
        turned_lines = _lines(turned)
    groups = []
    for segments in segmentation.resolutions:
        chains, across = _chains(masks, lines, segments, segmentation.cuts), None
        if turned is not None:
            other = _chains(turned, turned_lines, segments, segmentation.cuts)
            across = [(other, region) for region in range(len(masks))]
        groups.append([Group(chains, maps, levels, parts, across=across)])
    return groups


def _lines(masks: Masks) -> dict[Scratch, cl.Buffer]:
    """Return the spans, ranks and starts of the grid lines of all masks, on the device: buffers by Scratch."""
    session, stack = masks.session, masks.stack
    pieces, nodata = list(masks.pieces(halo=0)), masks.compared.nodata_or_zero
    levels = list(masks.level_launches())
    launches = tuple((first, *params.items()) for first, _, params in levels)
    placed = tuple((one.start, one.first_map - masks.first_map, one.maps, one.first_row, one.rows) for one in pieces)
    key = "coverage lines", stack.dtype, stack.rows, stack.columns, len(masks), placed, launches, nodata
    make = functools.partial(_lines_plan, masks, pieces, levels)
    plan, made = cached_plan(session, key, make, is_kept=len(pieces) <= FEW_PIECES)
    buffers: dict[str, Any] = {f"raster_{i}": piece.buffer for i, piece in enumerate(pieces)}
    buffers |= {f"thresholds_{first}": thresholds for first, thresholds, _ in levels}
    found = run(session, plan, **buffers)
    return {memory: found[memory] for memory in made}


def _lines_plan(masks: Masks, pieces: list[Piece], levels: list[Any]) -> tuple[Plan, tuple[Scratch, ...]]:
    """Return the plan of `_lines`, and the Scratch memory with its results."""
    profile, regions, lines = masks.session.profile, len(masks), masks.stack.columns + 1
    read, extents, bands = _extents_plan(masks, pieces, levels)
    spans = Scratch("coverage_spans", np.int32, 2 * regions * lines)
    ranks = Scratch("coverage_ranks", np.uint32, regions * lines)
    counts = Scratch("coverage_counts", np.uint32, regions + 1)
    starts = Scratch("coverage_starts", np.uint32, regions + 1)
    columns = Step(
        "region/coverage/coverage_columns",
        select(profile, "region/coverage/coverage_columns", REAL, lines),
        args=(extents, np.uint32(masks.stack.columns), np.uint32(bands), np.uint32(regions), spans, ranks, counts),
        groups=regions,
        bytes_moved=4 * extents.count + 12 * regions * lines,
    )
    plan = read + Plan(columns) + sums_plan(profile, counts, starts, prefix="coverage")
    return plan, (spans, ranks, starts)


def _chains(masks: Masks, lines: dict[Scratch, cl.Buffer], segments: int, cuts: str) -> Chains:
    """Return the chains of all masks with `segments` segments each."""
    session, regions, width = masks.session, len(masks), masks.stack.columns + 1
    lower = Scratch("coverage_lower", REAL, 2 * regions * width)
    upper = Scratch("coverage_upper", REAL, 2 * regions * width)
    starts = tuple(lines)[-1]
    options = OutlineOptions(REAL, regions * width, lower, upper, segments, starts, regions, cuts)

    def make() -> tuple[Plan, Output]:
        candidates = Step.over(
            session.profile,
            "region/coverage/coverage_candidates",
            (*lines, np.uint32(width), np.uint64(regions * width), lower, upper),
            regions * width,
            dtype=REAL,
            params={"real": "float"},
            bytes_moved=28 * regions * width,
        )
        outlines, out = outline_plan(session, options)
        return Plan(candidates) + outlines, out

    later = masks.stack.buffer is not None and not session.profile.is_cpu
    plan = cached_plan(session, ("coverage chains", options), make)
    buffers: dict[str, Any] = {memory.name: buffer for memory, buffer in lines.items()}
    chains = chains_of(session, options, planned=plan, later=later, **buffers)
    if not later:
        chains.vertices()
    return chains


def _extents_plan(masks: Masks, pieces: list[Piece], launches: list[Any]) -> tuple[Plan, Scratch, int]:
    """Return a launch for every piece of the raster and few levels; what they write, and in how many bands of rows."""
    stack, levels, profile = masks.stack, masks.compared, masks.session.profile
    kernel = "region/coverage/coverage_extents"
    policy = select(profile, kernel, stack.dtype, stack.rows * stack.columns)
    strips = 1 if policy.variant == "serial" else ceil_div(stack.columns, policy.wg_size)
    placed, bands = _assign_bands(pieces, stack.rows, policy, strips, profile.compute_units)
    extents = Scratch("coverage_extents", np.int32, 2 * stack.columns * len(masks) * bands)
    steps = []
    for first_level, _, params in launches:
        for i, (piece, own_bands, first_band) in enumerate(placed):
            first = ((piece.first_map - masks.first_map) * len(levels.given) + first_level) * bands + first_band
            args: tuple[Argument, ...] = (
                f"raster_{i}",
                np.uint64(piece.start),
                *map(np.uint32, (piece.first_row, piece.rows, stack.columns, own_bands)),
                *map(np.uint32, (first, len(levels.given) * bands, bands)),
                f"thresholds_{first_level}",
                levels.nodata_or_zero,
                extents,
            )
            moved = piece.rows * stack.dtype.itemsize + 8 * own_bands * params["levels"]
            groups = piece.maps * own_bands * strips
            steps.append(Step(kernel, policy, args, groups, params, piece.maps * stack.columns * moved))
    return Plan(*steps), extents, bands


def _assign_bands(
    pieces: list[Piece], rows: int, policy: Policy, strips: int, units: int
) -> tuple[list[tuple[Piece, int, int]], int]:
    """(piece, number of its bands, its first band) of every piece, and the number of bands of a map.

    A piece is either several whole maps, with the same number of bands each, or rows of one map. The bands of pieces of
    one map follow each other.
    """
    wanted = max(policy.groups_per_unit, 1) * units
    placed: list[tuple[Piece, int, int]] = []
    bands = end = 0
    for piece in pieces:
        if piece.rows < rows or not placed:
            enough = ceil_div(wanted, piece.maps * strips)
            bands = max(min(enough, piece.rows // (4 * policy.items_per_thread)), 1)
        first = 0 if piece.first_row == 0 else end
        end = first + bands
        placed.append((piece, bands, first))
    return placed, end
