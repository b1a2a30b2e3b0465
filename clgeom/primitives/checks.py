"""Checks of the primitives (`clgeom.core.checks`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clgeom.core.checks import check, require, same
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.tuning import select
from clgeom.intake.arrays import as_device_points, as_device_values, to_device
from clgeom.intake.device_arrays import fetched, to_array

if TYPE_CHECKING:
    from clgeom.core.device import Session

#: Iterations of the work-items of long_loops: more than 2**16, none, and numbers that differ within a vector.
BOUNDS = (70_000, 0, 7, 1, 66_000, 2, 2, 0, *range(56))


@check("primitives: long_loops", before="primitives/long_loops")
def long_loops(session: Session) -> str:
    """Loops of more than 2**16 iterations, unequal in neighbouring work-items, run to their end."""
    kernel, n = "primitives/long_loops", len(BOUNDS)
    policy = select(session.profile, kernel)
    out = Scratch("out", np.dtype(np.uint32), 2 * n)
    step = Step(kernel, policy, ("bounds[0]", np.uint32(n), out), groups=n // policy.wg_size)
    bounds = to_device(session, np.array(BOUNDS, np.uint32), caller="a check")
    sums, rounds = run(session, Plan(step), bounds=bounds).read(out).reshape(2, n)
    same(sums, [_sum(i, bound) for i, bound in enumerate(BOUNDS)], "sums")
    same(rounds, [1000 // (1 + bound % 2) for bound in BOUNDS], "rounds")
    return "loops of up to 70,000 rounds"


def _sum(start: int, bound: int) -> int:
    total = start
    for k in range(bound):
        total = (total * 1664525 + k) & 0xFFFFFFFF
    return total


@check("primitives: scan_totals scan_tiles set_value compact_count compact_scatter", before="primitives")
def scans(session: Session) -> str:
    """Scans and partitions over several tiles."""
    from clgeom.primitives.compact import partition
    from clgeom.primitives.scan import exclusive_scan, inclusive_scan

    n = 50_021
    values = (np.arange(n, dtype=np.int64) * 2654435761 % 65_537).astype(np.int32) - 30_000
    for part in values[:1], values:
        sums = np.cumsum(part, dtype=np.int32)
        same(inclusive_scan(part, device=session), sums, "inclusive")
        same(exclusive_scan(part, device=session), sums - part, "exclusive")
    labels = (values % 6).astype(np.uint8)
    for number, indices in enumerate(partition(labels, 4, device=session), 1):
        same(indices, np.flatnonzero(labels == number), f"class {number}")
    return "sums of 50,021 values, 4 classes of 50,021 labels"


@check("primitives: extremes_partial extremes_final", by_type=True)
def extreme_points(session: Session, dtype: np.dtype) -> str:
    from clgeom.primitives.extremes import OCTAGON_AXES, extremes, key_type

    points = _cloud(50_021, dtype)
    found, finite = extremes(as_device_points(session, points, caller="selftest"))
    x, y = points.astype(key_type(dtype)).T
    for axis, (a, b) in enumerate(OCTAGON_AXES):
        key = y * b + x * a if b else x
        same(found["index"][2 * axis : 2 * axis + 2], [key.argmax(), key.argmin()], f"{dtype} {a, b}")
    require(finite, f"{dtype}: finite points were not seen as such")
    return "8 directions of 50,021 points"


@check("primitives: gather_rows", by_type=True)
def gathers(session: Session, dtype: np.dtype) -> str:
    from clgeom.primitives.gather import gather_plan

    points = _cloud(5_003, dtype)
    picked = np.random.default_rng(4).integers(0, len(points), 20_011).astype(np.uint32)
    table = as_device_points(session, points, caller="selftest")
    indices = Scratch("indices", np.uint32, len(picked))
    out = Scratch("out", dtype, 2 * len(picked))
    plan = gather_plan(session.profile, table, "table", indices, len(picked), out)
    buffer = as_device_values(session, picked, caller="selftest").chunks[0].buffer
    result = run(session, plan, table=table, indices=buffer)
    same(result.read(out).reshape(-1, 2), points[picked], str(dtype))
    return "20,011 rows of 5,003"


def _cloud(n: int, dtype: np.dtype) -> np.ndarray:
    return (np.random.default_rng(0).normal(size=(n, 2)) * 1000).astype(dtype)


@check("primitives: copy_strided")
def copies(session: Session) -> str:
    values = np.random.default_rng(4).normal(size=(301, 7)).astype(">f4")
    there = to_array(session, values)
    same(fetched(there[::-3, 1::2]), values[::-3, 1::2].astype("f4"), "strides and byte order")
    return "rows and columns of 2,107 big-endian numbers"


@check("primitives: survey_offsets")
def offsets(session: Session) -> str:
    """Offsets of several tiles that ascend, and offsets that do not."""
    from clgeom.intake.resident import survey_offsets

    lengths = np.random.default_rng(8).integers(3, 700, 9_000)
    whole = np.append(0, np.cumsum(lengths))
    for dtype in (np.int32, np.uint32, np.int64, np.uint64):
        bounds = survey_offsets(session, to_array(session, whole.astype(dtype)), int(whole[-1]))
        assert bounds is not None
        same((bounds.shortest, bounds.longest), (lengths.min(), lengths.max()), "lengths")
        same(bounds.on_host(), whole, "offsets")
        for at, value in ((0, 1), (4_000, whole[-1] + 1), (4_000, 0), (-1, whole[-2]), (700, -1)):
            wrong = whole.copy()
            wrong[at] = value
            faulty = survey_offsets(session, to_array(session, wrong.astype(dtype)), int(whole[-1]))
            same(faulty is None, True, f"faulty offsets at {at}")
    return "9,001 offsets of four types"
