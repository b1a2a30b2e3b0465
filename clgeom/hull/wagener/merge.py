"""Hoods of sorted points by divide and conquer: blocks solved in one launch, then merged two by two.

A merge cuts the left hood after its corner on the common tangent, and the right hood before its corner there; no corner
moves. So a hood of many blocks is a list of runs: for each block, the range of its corners that remain. A merge changes
only two of these ranges.

Source: Wagener, "Optimally parallel algorithms for convex hull determination" (1985), and its work-optimal form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select, select_fitting
from clgeom.hull.predicates import predicate_parameters

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.core.launch import Result
    from clgeom.core.policies import Policy
    from clgeom.core.profile import DeviceProfile


@dataclass(frozen=True)
class Hoods:
    """Device memory of the lower and the upper hood: the `corners` of blocks, and the `state` of which remain.

    `state` has the lists of runs (numbers of blocks) of both sides, then the lengths of these lists, then the range
    (first, last) of corners of each block.
    """

    corners: Scratch
    state: Scratch
    blocks: int
    keep_collinear: bool

    def runs(self, merged: Result) -> list[np.ndarray]:
        """Return the ranges of corners of the lower and of the upper hood, from left to right, read from the device."""
        state, blocks = merged.read(self.state), self.blocks
        runs, lengths = state[: 4 * blocks].reshape(2, 2, blocks)
        ranges = state[4 * blocks :].reshape(2, blocks, 2)
        return [ranges[side][runs[side, : lengths[side, 0]]] for side in (0, 1)]


def block_memory(dtype: np.dtype) -> Callable[[Policy], int]:
    """Return the bytes of local memory of hood_blocks in a shape: coordinates, a hood, five numbers to a work-item."""
    each = 2 * dtype.itemsize + 2
    return lambda shape: 0 if shape.variant == "serial" else shape.tile * each + 10 * shape.wg_size + 64


def hoods_plan(
    session: Session, rows: str | Scratch, n: int, dtype: np.dtype, *, keep_collinear: bool
) -> tuple[Plan, Hoods]:
    """Plan of both hoods of `n` points, whose coordinates `rows` are in order, equal points by their indices."""
    profile = session.profile
    params = {**predicate_parameters(session, dtype), "keep_collinear": keep_collinear}
    policy = select_fitting(profile, "hull/wagener/hood_blocks", dtype, block_memory(np.dtype(dtype)))
    block = policy.tile
    if policy.variant == "serial" and policy.groups_per_unit:
        # a few blocks a compute unit, each large enough for a merge to pay
        block = max(ceil_div(n, policy.groups_per_unit * profile.compute_units), policy.items_per_thread)
    blocks = ceil_div(n, block)
    hoods = Hoods(
        Scratch("hood_corners", np.uint32, 2 * n), Scratch("hood_state", np.uint32, 8 * blocks), blocks, keep_collinear
    )
    point = 2 * np.dtype(dtype).itemsize
    solve = Step(
        "hull/wagener/hood_blocks",
        policy,
        args=(rows, np.uint32(n), np.uint32(block), np.uint32(blocks), hoods.corners, hoods.state),
        groups=2 * blocks,
        params=params,
        bytes_moved=2 * n * (point + 4),
    )
    merge = select(profile, "hull/wagener/hood_merge", dtype, n)
    steps, span = [solve], 1
    while span < blocks:
        pairs = ceil_div(blocks - span, 2 * span)  # pairs with a right half
        steps.append(
            Step(
                "hull/wagener/hood_merge",
                merge,
                args=(rows, np.uint32(n), np.uint32(blocks), np.uint32(span), hoods.corners, hoods.state),
                groups=2 * pairs,
                params=params,
                bytes_moved=16 * pairs * span,
            )
        )
        span *= 2
    return Plan(*steps), hoods


def emit_plan(profile: DeviceProfile, hoods: Hoods, n: int, order: Scratch) -> tuple[Plan, Scratch, Scratch]:
    """Plan that lists the hull's vertices from both hoods, counter-clockwise from the leftmost; its vertices and shape.

    `order` has the ids of the sorted points. The shape is the number of vertices; the dimension (0 when all points are
    equal, 1 when they are on a line, else 2); the numbers of corners of the lower and of the upper hood.
    """
    offsets = Scratch("run_offsets", np.uint32, 2 * hoods.blocks)
    shape, vertices = Scratch("hull_shape", np.uint32, 4), Scratch("vertices", np.uint32, n)
    runs = (np.uint32(n), hoods.state, np.uint32(hoods.blocks), offsets, shape)
    layout = Step(
        "hull/wagener/hood_layout",
        select(profile, "hull/wagener/hood_layout"),
        args=(hoods.corners, *runs),
        groups=1,
        bytes_moved=40 * hoods.blocks,
    )
    policy = select(profile, "hull/wagener/hood_emit", np.dtype(np.uint32), n)
    emit = Step(
        "hull/wagener/hood_emit",
        policy,
        args=(hoods.corners, *runs, order, vertices),
        groups=policy.groups(2 * hoods.blocks, profile.compute_units),
        bytes_moved=12 * n,
    )
    return Plan(layout, emit), vertices, shape
