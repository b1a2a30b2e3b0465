"""Extreme points in several directions, found in one read of the points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.intake.arrays import c_name, refuse_nonfinite

if TYPE_CHECKING:
    from clgeom.core.plan import DType
    from clgeom.core.profile import DeviceProfile
    from clgeom.intake.arrays import DeviceArray

#: The axes x, y, x + y and y - x. Their two directions each are the eight directions of the octagon.
OCTAGON_AXES = ((1, 0), (0, 1), (1, 1), (-1, 1))

#: Points per tile: a candidate names the tile that its point is in.
TILE = 2048

#: Number of points on the host below which the host searches them.
FEW = 1 << 15


def extreme_type(dtype: DType) -> np.dtype:
    """Return the record that kernels write for an extreme point: its index and coordinates."""
    return np.dtype([("index", np.uint64), ("x", dtype), ("y", dtype)], align=True)


def key_type(dtype: DType) -> np.dtype:
    """Return the type of projections: that of floats, which are rounded to it; int64 for int32, which is exact."""
    return np.dtype(np.int64) if np.dtype(dtype) == np.int32 else np.dtype(dtype)


def extremes(points: DeviceArray, axes: tuple[tuple[int, int], ...] = OCTAGON_AXES) -> tuple[np.ndarray, bool]:
    """Return the points of a DeviceArray, one or more, with the largest and smallest projection on each axis.

    An axis has weights of x and y, each -1, 0 or 1. Projections are sums rounded once in the points' type (int32:
    exact). Returns (found, finite). Entry 2k of the records `index`, `x`, `y` has the largest, 2k + 1 the smallest
    projection on axis k; ties go to the lowest index. If a coordinate is NaN or infinite, `finite` is False and `found`
    not valid.
    """
    best: Any = None
    finite, session = True, points.session
    for chunk, part in zip(points.chunks, points.split() if len(points.chunks) > 1 else [points]):

        def make(part: DeviceArray = part) -> tuple[Plan, Scratch]:
            plan, out = extremes_plan(session.profile, part, axes)
            return plan.kept(memory=True), out

        plan, out = session.cached(("plans of extremes", part.dtype, part.n, axes), make, policies=True)
        found = run(session, plan, points=part).read(out)
        finite &= found["index"][-1] == 0
        found["index"] += chunk.start
        best = found[:-1] if best is None else _merge_extremes(axes, best, found[:-1])
    return best, bool(finite)


def _merge_extremes(axes: tuple[tuple[int, int], ...], first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the extremes of two chunks in each direction; of equal ones that of the first chunk."""
    merged = first.copy()
    for d in range(2 * len(axes)):
        a, b = axes[d // 2]
        keys = []
        for found in (first, second):
            x, y = (found[name][d].astype(key_type(found[name].dtype)) for name in "xy")
            with np.errstate(over="ignore"):
                keys.append(x if not b else y if not a else y + x if a > 0 else y - x)
        if keys[1] > keys[0] if d % 2 == 0 else keys[1] < keys[0]:
            merged[d] = second[d]
    return merged


def is_finite(points: DeviceArray) -> bool:
    """Return whether all coordinates of a DeviceArray are finite."""
    if points.dtype.kind != "f" or points.n == 0:
        return True
    if points.host is not None and points.n < FEW:
        return bool(np.isfinite(points.host).all())
    return extremes(points, ((1, 0),))[1]


def require_finite(points: DeviceArray, *, caller: str, name: str = "points", drop: bool = True) -> None:
    """Raise `InvalidInput` that names the first NaN or infinity of a DeviceArray, if there is one.

    `drop`: the caller takes nonfinite='drop', which the message then advises.
    """
    if not is_finite(points):
        refuse_nonfinite(points, caller=caller, name=name, drop=drop)


def extremes_plan(
    profile: DeviceProfile, points: DeviceArray, axes: tuple[tuple[int, int], ...]
) -> tuple[Plan, Scratch]:
    """Return two launches for a DeviceArray of one chunk: the extreme keys of each work-group, then the extreme points.

    Pure: needs no device.
    """
    dtype, n = points.dtype, points.n
    partial = select(profile, "primitives/extremes_partial", dtype, n)
    final = select(profile, "primitives/extremes_final", dtype, n)
    params = {"real": c_name(dtype), "key": c_name(key_type(dtype)), "axes": axes, "tile": TILE}
    groups = partial.groups(ceil_div(n, TILE), profile.compute_units)
    candidate = np.dtype([("key", key_type(dtype)), ("tile", np.uint32)], align=True)
    candidates = Scratch("candidates", candidate, groups * 2 * len(axes))
    poison = Scratch("poison", np.uint32, groups)
    out = Scratch("extremes", extreme_type(dtype), 2 * len(axes) + 1)
    search = Step(
        "primitives/extremes_partial",
        partial,
        args=("points[0]", np.uint64(n), candidates, poison),
        groups=groups,
        params=params,
        bytes_moved=n * points.item_bytes,
    )
    choice = Step(
        "primitives/extremes_final",
        final,
        args=("points[0]", np.uint64(n), candidates, poison, np.uint32(groups), out),
        groups=2 * len(axes),
        params=params,
        bytes_moved=candidates.nbytes + 2 * len(axes) * min(n, TILE) * points.item_bytes,
    )
    return Plan(search, choice), out
