"""Trials of a device with known answers (clgeom.core.trust): loops, and the primitives."""

from __future__ import annotations

import numpy as np

from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.tuning import select
from clgeom.intake.arrays import to_device
from clgeom.primitives.compact import partition
from clgeom.primitives.scan import exclusive_scan, inclusive_scan

#: Iterations of the work-items of long_loops: more than 2**16, none, and numbers that differ within a vector.
BOUNDS = (70_000, 0, 7, 1, 66_000, 2, 2, 0, *range(56))


def long_loops(session, dtype=None) -> bool:
    """Whether loops of more than 2**16 iterations, unequal in neighbouring work-items, run to their end."""
    kernel, n = "primitives/long_loops", len(BOUNDS)
    policy = select(session.profile, kernel)
    out = Scratch("out", np.dtype(np.uint32), 2 * n)
    step = Step(kernel, policy, ("bounds[0]", np.uint32(n), out), groups=n // policy.wg_size)
    bounds = to_device(session, np.array(BOUNDS, np.uint32), caller="a trial")
    sums, rounds = run(session, Plan(step), bounds=bounds).read(out).reshape(2, n).tolist()
    return sums == [_sum(i, bound) for i, bound in enumerate(BOUNDS)] and rounds == [
        1000 // (1 + bound % 2) for bound in BOUNDS
    ]


def _sum(start, bound):
    total = start
    for k in range(bound):
        total = (total * 1664525 + k) & 0xFFFFFFFF
    return total


def scans(session, dtype) -> bool:
    """Whether scans and partitions over several tiles are correct."""
    n = 9_000
    values = (np.arange(n, dtype=np.int64) * 2654435761 % 65_537).astype(np.int32) - 30_000
    labels = (values % 5).astype(np.uint8)
    sums = np.cumsum(values, dtype=np.int32)
    found = partition(labels, 3, device=session)
    return (
        np.array_equal(inclusive_scan(values, device=session), sums)
        and np.array_equal(exclusive_scan(values, device=session), sums - values)
        and all(np.array_equal(found[c - 1], np.flatnonzero(labels == c)) for c in (1, 2, 3))
    )
