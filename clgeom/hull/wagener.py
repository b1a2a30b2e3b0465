"""Hoods of sorted points by divide and conquer: blocks solved in one launch, then merged two by two.

A merge cuts the left hood after its corner on the common tangent and the right hood before its own; no corner moves. So
a hood of many blocks is a list of runs, the ranges of corners left of each block, and a merge touches two of them.

Source: Wagener, "Optimally parallel algorithms for convex hull determination" (1985), and its work-optimal form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clgeom.hull.predicates import predicate_parameters
from clgeom.runtime.launch import Plan, Scratch, Step, allocate, write
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select


@dataclass(frozen=True)
class Hoods:
    """Memory that describes the lower and the upper hood: corners of blocks, and `state`, which says what is left.

    `state` is, side by side: the lists of runs (numbers of blocks) of both sides, the lengths of these lists, and the
    range (first, last) of corners of each block.
    """

    corners: Scratch
    state: Scratch
    blocks: int
    keep: bool

    def runs(self, merged) -> list[np.ndarray]:
        """The ranges of corners that make up the lower and the upper hood, from left to right, read back."""
        state, blocks = merged.read(self.state), self.blocks
        runs, lengths = state[: 4 * blocks].reshape(2, 2, blocks)
        ranges = state[4 * blocks :].reshape(2, blocks, 2)
        return [ranges[side][runs[side, : lengths[side, 0]]] for side in (0, 1)]


def hoods_plan(session, rows, n, dtype, *, keep):
    """Lower and upper hood of `n` sorted points.

    Parameters
    ----------
    session : Session
    rows : str or Scratch
        Coordinates in lexicographic order, equal points in the order of their indices.
    n : int
    dtype : numpy.dtype
    keep : bool
        Whether points on an edge are corners, too.

    Returns
    -------
    plan : Plan
    hoods : Hoods
    """
    profile = session.profile
    params = {**predicate_parameters(session, dtype), "keep": keep}
    policy = select(profile, "wagener/hood_blocks", dtype, n)
    block = policy.tile
    if policy.variant == "serial" and policy.groups_per_unit:
        # a few blocks a compute unit, none too small to be worth a merge
        block = max(ceil_div(n, policy.groups_per_unit * profile.compute_units), policy.items_per_thread)
    blocks = ceil_div(n, block)
    hoods = Hoods(
        Scratch("hood_corners", np.uint32, 2 * n),
        Scratch("hood_state", np.uint32, 8 * blocks),
        blocks,
        keep,
    )
    point = 2 * np.dtype(dtype).itemsize
    solve = Step(
        "wagener/hood_blocks",
        policy,
        args=(rows, np.uint32(n), np.uint32(block), np.uint32(blocks), hoods.corners, hoods.state),
        groups=2 * blocks,
        params=params,
        bytes_moved=2 * n * (point + 4),
    )  # fmt: skip
    merge = select(profile, "wagener/hood_merge", dtype, n)
    steps, span = [solve], 1
    while span < blocks:
        pairs = ceil_div(blocks - span, 2 * span)  # those that have a right half
        steps.append(
            Step(
                "wagener/hood_merge",
                merge,
                args=(rows, np.uint32(n), np.uint32(blocks), np.uint32(span), hoods.corners, hoods.state),
                groups=2 * pairs,
                params=params,
                bytes_moved=16 * pairs * span,
            )
        )  # fmt: skip
        span *= 2
    return Plan(*steps), hoods


def emit_plan(session, merged, hoods, n, order):
    """The hull's vertices from both hoods, counter-clockwise from the leftmost.

    Parameters
    ----------
    merged : Result
        Of a run of `hoods_plan`.
    order : Scratch
        Ids of the sorted points.

    Returns
    -------
    plan : Plan
    vertices : Scratch of uint32
    dimension : int
        0 when all points are equal, 1 when they are on a line (the vertices then lead from end to end), else 2.
    buffers : dict
        What the plan's names are bound to, but for `order` and the hoods' memory.
    """
    kept = hoods.runs(merged)
    sizes = [(side[:, 1] - side[:, 0] + 1).astype(np.int64) for side in kept]
    lower, upper = (int(size.sum()) for size in sizes)
    total, turn_at, dimension = lower + upper - 2, lower - 1, 2
    if lower == upper and (lower <= 2 or (hoods.keep and _same(merged, hoods, kept, n))):
        kept, sizes = kept[:1], sizes[:1]  # one hood is both: the way back is the way there
        total, turn_at, dimension = lower, lower, min(lower, 2) - 1
    starts = [np.cumsum(size) - size for size in sizes]
    table = np.concatenate([*(side.ravel() for side in kept), *starts]).astype(np.uint32)
    buffers = {"run_table": allocate(session, table.nbytes)}
    write(session, buffers["run_table"], table)
    runs = sum(map(len, kept))
    vertices = Scratch("vertices", np.uint32, total)
    step = Step(
        "wagener/hood_emit",
        select(session.profile, "wagener/hood_emit", np.dtype(np.uint32), total),
        args=(hoods.corners, np.uint32(n), "run_table", np.uint32(runs), np.uint32(len(kept[0])),
              np.uint32(turn_at), np.uint32(total), order, vertices),
        groups=runs,
        bytes_moved=12 * total,
    )  # fmt: skip
    return Plan(step), vertices, dimension, buffers


def _same(merged, hoods, kept, n):
    """Whether both hoods have the same corners."""
    corners = merged.read(hoods.corners).reshape(2, n)
    lower, upper = (
        np.concatenate([corners[side, first : last + 1] for first, last in kept[side].tolist()])
        for side in (0, 1)
    )
    return np.array_equal(lower, upper)
