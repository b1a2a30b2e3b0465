"""Tables of long pairs on GPUs in one launch: groups take strips of rows, and each hands on its last row as it goes.

The edges between strips, and between tiles as wide as a strip, stay in memory where a traceback needs them.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import allocate, read, run, write
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.tuning import select
from clgeom.dp.paths import tickets
from clgeom.errors import DeviceWarning, warn
from clgeom.sequences.align_jobs import NO_END, SLOT, job_table
from clgeom.sequences.scoring import A_BEGIN, B_BEGIN

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.core.policies import Policy
    from clgeom.sequences.align_jobs import PairSpans, Tiled
    from clgeom.sequences.align_tiles import PairTiles
    from clgeom.sequences.scoring import Rules

KERNEL = "sequences/align_sweep"
#: Steps between looks at the strip above, and how often a group looks, in those of `tickets`: groups wait until a whole
#: strip above theirs has begun.
CHUNK, PATIENCE = 16, 16
#: Cells of a launch for each compute unit: about a tenth of a second.
LAUNCH_CELLS = 1 << 28


def sweep_policy(session: Session) -> Policy | None:
    """Return the shape of strips, None on CPUs and where groups of a launch cannot wait for each other."""
    if session.profile.is_cpu or not tickets.are_safe(session):
        return None
    policy: Policy = session.cached((KERNEL,), lambda: select(session.profile, KERNEL), policies=True)
    return policy


def inputs_of(rules: Rules, free: int, first: int, slots: tuple[int, int]) -> tuple[Any, ...]:
    """Return the arguments of the kernel that sweeps and walks share; `first` is the first job."""
    scoring = rules.scoring
    costs = scoring.match, scoring.mismatch, scoring.gap_open, scoring.gap_extend, free
    jobs = ("jobs", np.uint32(first), "status", "edges", *map(np.uint32, slots))
    return ("a", "b", "codes", "scores", *map(np.int32, costs), *jobs)


def sweep(
    tiles: PairTiles, policy: Policy, pairs: PairSpans, slots: tuple[int, int], sizes: np.ndarray, *, keep: bool
) -> tuple[np.ndarray, Tiled] | None:
    """Return the ends of pairs, and the edges of tiles of `policy.tile` rows and columns; None if groups gave up.

    Edges have so many slots of rows and of columns, and so many words for each pair.
    """
    session, rules, side = tiles.session, tiles.rules, policy.tile
    strips = -(-pairs.n // side)
    at = np.cumsum(sizes) - sizes
    pair = np.repeat(np.arange(len(pairs)), strips)
    strip = np.arange(len(pair)) - np.repeat(np.cumsum(strips) - strips, strips)
    jobs = job_table(pairs[pair], strip, 0, at[pair])
    edges = allocate(session, int(sizes.sum()) * 4)
    buffers = dict(tiles.buffers, jobs=tiles.on_device(jobs.ravel(), "The list of strips of align"), edges=edges)
    results = buffers["results"] = allocate(session, 12 * len(jobs))
    params = {"local": rules.local, "matrix": rules.scoring.matrix is not None, "keep": keep, "chunk": CHUNK}
    limit = LAUNCH_CELLS * session.profile.compute_units
    cells = np.cumsum(np.full(len(pair), side) * pairs.m[pair])
    cuts = np.searchsorted(cells, np.arange(limit, cells[-1], limit)).tolist()
    for first, stop in itertools.pairwise(sorted({0, *cuts, len(jobs)})):
        buffers["progress"] = tickets.new_counters(session, 2 + stop - first)
        args = inputs_of(rules, rules.free, first, slots)
        args += ("results", "progress", np.int32(PATIENCE * tickets.patience(session)))
        moved = 4 * int(pairs.m[pair[first:stop]].sum()) * 4
        run(session, Plan(Step(KERNEL, policy, args, stop - first, params, bytes_moved=moved)), **buffers)
        if read(session, buffers["progress"], np.int32, 1, 1 + stop - first)[0]:
            warn(
                f"The groups of one launch on {session.profile.name} waited too long for each other: alignments of "
                f"long sequences were computed by one launch for each diagonal of tiles.",
                DeviceWarning,
            )
            return None
    score, i, j = read(session, results, np.int32, 3 * len(jobs)).reshape(-1, 3).astype(np.int64).T
    score = np.where(i > strip * side, score, NO_END)
    first_of = np.lexsort((j, i, -score, pair))[np.cumsum(strips) - strips]
    found = np.stack([score, i, j], axis=1)[first_of]
    found[found[:, 0] == NO_END, 1:] = 0
    return tiles.with_borders(pairs, found), (edges, *slots)


def walk(
    tiles: PairTiles, policy: Policy, jobs: np.ndarray, tiled: Tiled, walks: np.ndarray, operations: Any
) -> np.ndarray:
    """Return the walks of pairs through the tile of each, of edges from `sweep`, and write their operations."""
    session, rules, side, walked = tiles.session, tiles.rules, policy.tile, []
    free = rules.free & (A_BEGIN | B_BEGIN)
    params = {"local": rules.local, "matrix": rules.scoring.matrix is not None, "path": True, "chunk": CHUNK}
    most = max(tiles.budget // (side * side // 2), 1)
    for part in (slice(at, at + most) for at in range(0, len(jobs), most)):
        own, count = jobs[part].copy(), len(jobs[part])
        own[:, SLOT] = np.arange(count)
        held = allocate(session, 16 * count)
        write(session, held, walks[part].ravel())
        args = inputs_of(rules, free, 0, tiled[1:])
        args += (Scratch("choices", np.uint16, count * (side * side // 4)), "walks", "operations")
        buffers = dict(tiles.buffers, jobs=tiles.on_device(own.ravel(), "The list of tiles of align"))
        buffers |= {"edges": tiled[0], "walks": held, "operations": operations}
        run(session, Plan(Step(KERNEL, policy, args, count, params)), **buffers)
        walked.append(read(session, held, np.int32, 4 * count).reshape(-1, 4))
    return np.concatenate(walked)
