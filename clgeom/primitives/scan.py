"""Prefix scans by reduce-then-scan: no work-group ever waits for another."""

from __future__ import annotations

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.primitives.operators import as_operator
from clgeom.runtime.arrays import Chunk, as_device_values, c_name, chunk_bounds, session_of
from clgeom.runtime.launch import Plan, Scratch, Step, allocate, read, run
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select

TYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
#: Values per tile: 256 runs of 8. Part of the order of combination, so it is no policy.
TILE = 2048


def inclusive_scan(values, op="sum", *, dtype=None, device=None) -> np.ndarray:
    """Combination of each value with all before it: ``out[i] = values[0] op ... op values[i]``.

    Parameters
    ----------
    values : array_like or pyopencl.array.Array, shape (n,), n >= 0
        Integers of 8 to 64 bits, float32 or float64.
    op : str or Operator
        "sum", "prod", "min", "max" or an associative Operator, commutative or not.
    dtype : numpy.dtype, optional
        Type of the result and of every step; that of the values by default.

    Returns
    -------
    ndarray, shape (n,), of `dtype`

    Notes
    -----
    The order of combination is fixed, so float scans are the same bit for bit on every device.
    """
    return _scan(values, op, dtype, device, exclusive=False, of="inclusive_scan")


def exclusive_scan(values, op="sum", *, dtype=None, device=None) -> np.ndarray:
    """Combination of all values before each: ``out[0]`` is the neutral element. See `inclusive_scan`."""
    return _scan(values, op, dtype, device, exclusive=True, of="exclusive_scan")


def _scan(values, op, dtype, device, *, exclusive, of):
    op = as_operator(op, of=of)
    if op.arg or op.map != "value":
        raise InvalidInput(f"The 'op' parameter of {of} must combine values as they are. Got {op.name!r} instead.")
    session = session_of(values, device)
    array = as_device_values(session, values, of=of, types=TYPES)
    dtype = np.dtype(dtype or array.dtype)
    if array.n == 0:
        return np.empty(0, dtype)
    bounds = chunk_bounds(session.profile, array.n, max(dtype.itemsize, array.item_bytes))
    sources = [Chunk(c.buffer, 0, c.count) for c in array.chunks]
    if len(bounds) != len(sources):  # the result needs smaller chunks than the values
        array = _split(array, bounds)
        sources = [Chunk(c.buffer, 0, c.count) for c in array.chunks]
    outputs = {f"out[{i}]": allocate(session, count * dtype.itemsize) for i, (_, count) in enumerate(bounds)}
    counts = [chunk.count for chunk in sources]
    plan = scan_plan(session.profile, "values", counts, array.dtype, "out", dtype, op, exclusive=exclusive)
    run(session, plan, values=array, **outputs)
    return np.concatenate([read(session, outputs[f"out[{i}]"], dtype, count) for i, count in enumerate(counts)])


def _split(array, bounds):
    """The same array in smaller chunks: views of its buffers."""
    from dataclasses import replace

    chunks = []
    for start, count in bounds:
        home = next(c for c in array.chunks if c.start <= start < c.start + c.count)
        offset = (start - home.start) * array.item_bytes
        chunks.append(Chunk(home.buffer.get_sub_region(offset, count * array.item_bytes), start, count))
    return replace(array, chunks=tuple(chunks))


def scan_plan(profile, source, counts, source_type, out, dtype, op, *, exclusive, prefix="scan"):
    """Totals of all tiles, their exclusive scan (by the same plan), then every tile. Pure: needs no device.

    `source` and `out` are names of buffers, bound as "name[0]", "name[1]" ... for the chunks of `counts` values, or
    Scratch memory for one chunk.
    """
    totals_policy = select(profile, "primitives/scan_totals", source_type, sum(counts))
    tiles_policy = select(profile, "primitives/scan_tiles", source_type, sum(counts))
    params = {
        "value": c_name(source_type), "state": c_name(dtype), "combine": op.combine, "neutral": op.neutral_of(dtype),
    }  # fmt: skip
    tiles = [ceil_div(count, TILE) for count in counts]
    totals = Scratch(f"{prefix}_totals", dtype, sum(tiles))
    before = Scratch(f"{prefix}_before", dtype, sum(tiles))

    def step(kernel, policy, i, args, params, item_bytes):
        groups = policy.groups(tiles[i], profile.compute_units)
        return Step(kernel, policy, args, groups, params, bytes_moved=counts[i] * item_bytes)

    def place(name, i):
        return name if isinstance(name, Scratch) else f"{name}[{i}]"

    sizes = np.dtype(source_type).itemsize, np.dtype(dtype).itemsize
    first = [np.uint64(sum(tiles[:i])) for i in range(len(tiles))]
    up = [
        step("primitives/scan_totals", totals_policy, i,
             (place(source, i), np.uint64(counts[i]), first[i], totals), params, sizes[0])
        for i in range(len(tiles))
    ]  # fmt: skip
    down = [
        step("primitives/scan_tiles", tiles_policy, i,
             (place(source, i), np.uint64(counts[i]), first[i], before, place(out, i)),
             {**params, "exclusive": exclusive}, sum(sizes))
        for i in range(len(tiles))
    ]  # fmt: skip
    if sum(tiles) == 1:
        spine = Plan(Step("primitives/set_value", select(profile, "primitives/set_value"), (before,), 1,
                          {"value": params["state"], "to": params["neutral"]}))  # fmt: skip
        return spine + Plan(*down)
    spine = scan_plan(profile, totals, [sum(tiles)], dtype, before, dtype, op, exclusive=True, prefix=prefix + "_")
    return Plan(*up) + spine + Plan(*down)
