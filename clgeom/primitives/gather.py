"""Gathering rows of a table by index."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from clgeom.core.plan import Plan, Step
from clgeom.intake.arrays import c_name

if TYPE_CHECKING:
    from clgeom.core.plan import Scratch
    from clgeom.core.profile import DeviceProfile
    from clgeom.intake.arrays import DeviceArray

KERNEL = "primitives/gather_rows"
#: Memory, the first row that it has, and how many it has.
Part: TypeAlias = "tuple[str | Scratch, int, int]"


def gather_plan(profile: DeviceProfile, table: DeviceArray, name: str, indices: Scratch, n: int, out: Scratch) -> Plan:
    """Return a launch for each chunk of a DeviceArray bound to `name`: ``out[i] = table[indices[i]]`` for i < n."""
    parts = [(f"{name}[{i}]", chunk.start, chunk.count) for i, chunk in enumerate(table.chunks)]
    return Plan(*(_step(profile, part, table.dtype, table.width, indices, n, out) for part in parts))


def pick_plan(profile: DeviceProfile, values: Scratch, indices: Scratch, out: Scratch) -> Plan:
    """One launch: ``out[i] = values[indices[i]]`` for all indices; all three are Scratch."""
    part = values, 0, values.count
    return Plan(_step(profile, part, np.dtype(values.dtype), 1, indices, indices.count, out))


def _step(
    profile: DeviceProfile, part: Part, dtype: np.dtype, width: int, indices: Scratch, n: int, out: Scratch
) -> Step:
    """Return the launch for a part of a table, whose rows have so many elements."""
    rows, start, count = part
    return Step.over(
        profile,
        KERNEL,
        (rows, np.uint64(start), np.uint64(count), indices, np.uint64(n), out),
        n,
        dtype=dtype,
        params={"value": c_name(dtype), "index": c_name(np.dtype(indices.dtype)), "width": width},
        bytes_moved=n * (2 * width * np.dtype(dtype).itemsize + np.dtype(indices.dtype).itemsize),
    )
