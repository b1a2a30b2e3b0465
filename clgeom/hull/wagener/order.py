"""Whether points are in lexicographic order: by x, and where that is equal by y."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.intake.arrays import c_name, refuse_nonfinite

if TYPE_CHECKING:
    from clgeom.intake.arrays import DeviceArray


def first_out_of_order(points: DeviceArray) -> tuple[int, bool]:
    """(index of the first point out of lexicographic order, else n; whether a point is nonfinite) of a chunk."""
    policy = select(points.session.profile, "hull/wagener/hood_order", points.dtype, points.n)
    groups = policy.groups(ceil_div(points.n, policy.tile), points.session.profile.compute_units)
    answers = Scratch("order_found", np.uint32, 2 * groups)
    step = Step(
        "hull/wagener/hood_order",
        policy,
        args=("points[0]", np.uint32(points.n), answers),
        groups=groups,
        params={"real": c_name(points.dtype)},
        bytes_moved=points.nbytes,
    )
    least, nonfinite = run(points.session, Plan(step), points=points).read(answers).reshape(-1, 2).T
    return int(least.min()), bool(nonfinite.any())


def require_order(points: DeviceArray, *, caller: str, drop: bool = False) -> None:
    """Raise `InvalidInput` that names the first NaN or infinity, else the first point out of order.

    `drop`: as for `refuse_nonfinite`.
    """
    first: int | None = None
    last: list[float] | None = None
    for chunk, part in zip(points.chunks, points.split()):
        least, nonfinite = first_out_of_order(part)
        if nonfinite:
            refuse_nonfinite(points, caller=caller, drop=drop)
        if len(points.chunks) > 1:  # the first point of a chunk is compared with the last point before
            rows = part.to_host()
            before, last = last, rows[-1].tolist()
            if before is not None and first is None and rows[0].tolist() < before:
                first = chunk.start
        if first is None and least < part.n:
            first = chunk.start + least
    if first is not None:
        before, got = points.to_host()[first - 1 : first + 1].tolist()
        expected = "in lexicographic order, by x and where that is equal by y"
        got = f"{tuple(got)} at index {first} after {tuple(before)}"
        raise wrong("points", caller, expected, got, hint="numpy.lexsort(points.T[::-1]) has the order.")
