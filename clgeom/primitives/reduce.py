"""Reduction of an array to one value, in one order on every device."""

from __future__ import annotations

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.primitives.operators import as_operator
from clgeom.runtime.arrays import as_device_values, c_name, session_of
from clgeom.runtime.launch import Plan, Scratch, Step, run
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.subnormals import refuse_flushed
from clgeom.runtime.tuning import select

KERNEL = "primitives/reduce_tiles"
TYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
#: Values per tile: 64 rows of 64 lanes. Part of the order of combination, so it is no policy.
TILE = 4096


def reduce(values, op="sum", *, dtype=None, device=None):
    """Combine all values with an associative operator.

    Parameters
    ----------
    values : array_like or pyopencl.array.Array, shape (n,), n >= 1
        Integers of 8 to 64 bits, float32 or float64.
    op : str or Operator
        "sum", "prod", "min", "max" (NaN if there is one), "argmin", "argmax" (first index, NaN before all, as NumPy).
    dtype : numpy.dtype, optional
        Type to combine in; that of the values by default, so that small integers may wrap around.
    device : optional
        As everywhere in clgeom.

    Returns
    -------
    numpy scalar
        int64 for argmin and argmax.

    Notes
    -----
    The order of combination is fixed (templates/primitives/reduce_tiles), so a float sum is the same bit for bit on
    every device and for every work-group shape.
    """
    op = as_operator(op, of="reduce")
    session = session_of(values, device)
    array = as_device_values(session, values, of="reduce", types=TYPES)
    refuse_flushed(array, of="reduce", name="values")
    if array.n == 0:
        raise InvalidInput("The 'values' parameter of reduce must have at least one value. Got none instead.")
    plan, out = reduce_plan(session.profile, array, op, np.dtype(dtype or array.dtype))
    found = run(session, plan, values=array).read(out)[0]
    return np.int64(found["index"]) if op.arg else found


def reduce_plan(profile, array, op, dtype):
    """A launch per chunk, then launches over ever fewer partials until one is left. Pure: needs no device."""
    policy = select(profile, KERNEL, array.dtype, array.n)
    state = np.dtype([("key", array.dtype), ("index", np.uint64)], align=True) if op.arg else dtype
    params = {
        "value": c_name(array.dtype), "state": c_name(array.dtype if op.arg else dtype),
        "combine": op.combine_of(dtype), "map": op.map, "arg": op.arg, "commutative": op.commutative,
    }  # fmt: skip
    again = {**params, "value": "state_t" if op.arg else params["state"], "map": "value"}

    def launch(source, count, start, first_tile, into, params, item_bytes):
        return Step(
            KERNEL,
            policy,
            args=(source, np.uint64(count), np.uint64(start), np.uint64(first_tile), into),
            groups=policy.groups(ceil_div(ceil_div(count, TILE), max(policy.wg_size // 64, 1)), profile.compute_units),
            params=params,
            bytes_moved=count * item_bytes,
        )

    count = sum(ceil_div(chunk.count, TILE) for chunk in array.chunks)
    partials = Scratch("partials0", state, count)
    steps = []
    for i, chunk in enumerate(array.chunks):
        steps.append(
            launch(
                f"values[{i}]",
                chunk.count,
                chunk.start,
                chunk.start // TILE,
                partials,
                params,
                array.item_bytes,
            )
        )
    while count > 1:
        source, count = partials, ceil_div(count, TILE)
        partials = Scratch(f"partials{len(steps)}", state, count)
        steps.append(launch(source, source.count, 0, 0, partials, again, state.itemsize))
    return Plan(*steps), partials
