"""Extreme points in several directions, found in one read of the points."""

from __future__ import annotations

import numpy as np

from clgeom.runtime.arrays import c_name, refuse_nonfinite
from clgeom.runtime.launch import Plan, Scratch, Step, run
from clgeom.runtime.tuning import select

#: Axes whose two directions each are searched: x, y, x + y, y - x. Together the eight directions of the octagon.
OCTAGON_AXES = ((1, 0), (0, 1), (1, 1), (-1, 1))


def extreme_type(dtype) -> np.dtype:
    """The record that kernels write for an extreme point: its index and coordinates."""
    return np.dtype([("index", np.uint64), ("x", dtype), ("y", dtype)], align=True)


def key_type(dtype) -> np.dtype:
    """The type in which projections are rounded (floats) or exact (int32)."""
    return np.dtype(np.int64) if np.dtype(dtype) == np.int32 else np.dtype(dtype)


def extremes(points, axes=OCTAGON_AXES, *, profile: bool = False):
    """The points of a DeviceArray with the largest and smallest projection on each axis.

    Parameters
    ----------
    points : DeviceArray, n >= 1 points
    axes : tuple of (int, int)
        Weights of x and y, each -1, 0 or 1. Projections are sums rounded once in the points' type (int32: exact).

    Returns
    -------
    found : numpy record array, shape (2 * len(axes),)
        Fields `index`, `x`, `y`; entry 2k has the largest, 2k + 1 the smallest projection on axis k. Ties go to
        the lowest index.
    finite : bool
        False when some coordinate is NaN or infinite; `found` means nothing then.
    phases : tuple of Phase
    """
    plan, out = extremes_plan(points.session.profile, points, axes)
    result = run(points.session, plan, points=points, profile=profile)
    found = result.read(out)
    return found[:-1], found["index"][-1] == 0, result.phases


def require_finite(points, *, of: str, name: str = "points") -> None:
    """Raise `InvalidInput` that names the first NaN or infinity of a DeviceArray, if there is one."""
    if points.dtype.kind == "f" and points.n and not extremes(points, ((1, 0),))[1]:
        refuse_nonfinite(points, of=of, name=name)


def extremes_plan(profile, points, axes):
    """A launch per chunk for each group's candidates, one more for the best of them. Pure: needs no device."""
    dtype = points.dtype
    record = extreme_type(dtype)
    partial = select(profile, "primitives/extremes_partial", dtype, points.n)
    final = select(profile, "primitives/extremes_final", dtype, points.n)
    params = {"real": c_name(dtype), "key": c_name(key_type(dtype)), "axes": axes}
    groups = [partial.groups(-(-chunk.count // partial.tile), profile.compute_units) for chunk in points.chunks]
    candidates = Scratch("candidates", record, sum(groups) * 2 * len(axes))
    poison = Scratch("poison", np.uint32, sum(groups))
    out = Scratch("extremes", record, 2 * len(axes) + 1)
    steps = [
        Step(
            "primitives/extremes_partial",
            partial,
            args=(f"points[{i}]", np.uint64(chunk.count), np.uint64(chunk.start), np.uint64(sum(groups[:i])),
                  candidates, poison),
            groups=groups[i],
            params=params,
            bytes_moved=chunk.count * points.item_bytes,
        )
        for i, chunk in enumerate(points.chunks)
    ]  # fmt: skip
    last = Step(
        "primitives/extremes_final",
        final,
        args=(candidates, poison, np.uint32(sum(groups)), out),
        groups=2 * len(axes),
        params=params,
        bytes_moved=candidates.nbytes,
    )
    return Plan(*steps, last), out
