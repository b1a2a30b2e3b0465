"""Rows of a table, picked by index."""

from __future__ import annotations

import numpy as np

from clgeom.runtime.arrays import c_name
from clgeom.runtime.launch import Plan, Step
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select

KERNEL = "primitives/gather_rows"


def gather_plan(profile, table, name, indices, n, out):
    """A launch per chunk of a DeviceArray bound as `name`: ``out[i] = table[indices[i]]`` for i < n.

    Parameters
    ----------
    profile : DeviceProfile
    table : DeviceArray
    name : str
        What the table is bound as.
    indices, out : Scratch
        uint32 or uint64 indices; rows of the table's type.
    n : int
    """
    policy = select(profile, KERNEL, table.dtype, n)
    groups = policy.groups(ceil_div(n, policy.tile), profile.compute_units)
    params = {"value": c_name(table.dtype), "index": c_name(indices.dtype), "width": table.width}
    moved = n * (2 * table.item_bytes + np.dtype(indices.dtype).itemsize)
    return Plan(
        *(
            Step(
                KERNEL,
                policy,
                args=(
                    f"{name}[{i}]",
                    np.uint64(chunk.start),
                    np.uint64(chunk.count),
                    indices,
                    np.uint64(n),
                    out,
                ),
                groups=groups,
                params=params,
                bytes_moved=moved,
            )
            for i, chunk in enumerate(table.chunks)
        )
    )
