"""The keys that may be among the first k, found without a sort: what `topk` then sorts::

keys ──select_digits──> how often each digit occurs ──host──> the range of the k-th key     until few keys are in it
     ──select_count──> keys of each tile below and within the range ──scan──> offsets
     ──select_emit──> those keys, and their indices
"""

from __future__ import annotations

import numpy as np

from clgeom.core.launch import allocate, fill, run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.intake.cl_arrays import as_array
from clgeom.intake.device_arrays import is_device_array, let_change
from clgeom.primitives.operators import OPERATORS
from clgeom.primitives.scan import Piece, scan_plan
from clgeom.sorting.keys import KeyOrder, as_device_bits

#: Bits of a digit: a group's counts take 4 KB of local memory.
DIGIT_BITS = 10
DIGITS = 1 << DIGIT_BITS
#: Keys of a tile.
TILE = 2048
#: A range is narrow enough with so many keys up to its end, or with one in so many of all keys, or with twice k.
FEW = 4096
ONE_IN = 64
#: Fewer keys are sorted, and so are keys of which more than one in so many is wanted.
LEAST = 1 << 14
LEAST_SHARE = 8


def candidates(session, keys, k, *, descending, caller):
    """(keys, indices) with the first k of the stable order among them, equal keys in input order.

    Parameters
    ----------
    session : Session
    keys : ndarray or pyopencl.array.Array, shape (n,)
    k : int
    descending : bool
    caller : str

    Returns
    -------
    keys, indices : ndarray or pyopencl.array.Array as the keys; indices of uint32
        None where a sort of all keys is no more work, or the device holds the keys in several chunks.
    """
    n = len(keys)
    if n < LEAST or not 0 < k <= n // LEAST_SHARE:
        return None
    order = KeyOrder(keys.dtype.newbyteorder("="), descending)
    bits = as_device_bits(session, keys, caller=caller)  # kept until the end: kernels may read the caller's memory
    if len(bits.chunks) != 1:
        return None
    low, high, room = _range_of(session, bits.chunks[0].buffer, n, order, k)
    ends = order.storage.type(low), order.storage.type(high)
    result, found, indices = _emitted(session, bits.chunks[0].buffer, n, order, ends, room)
    if not is_device_array(keys):
        return result.read(found).view(order.dtype), result.read(indices)
    let_change(session, [keys])
    return tuple(
        as_array(session, result[one], (room,), dtype, queue=keys.queue, wait=False)
        for one, dtype in ((found, order.dtype), (indices, indices.dtype))
    )


def _range_of(session, buffer, n, order, k):
    """(lowest, highest) ordered key of a range with the k-th key, and how many keys up to its end are candidates."""
    most = max(FEW, n // ONE_IN, 2 * k)
    low, width, below, within = 0, order.bits, 0, n
    while width and below + within > most:
        shift = max(width - DIGIT_BITS, 0)
        counts = _digits(session, buffer, n, order, low, shift)[: 1 << (width - shift)]
        sums = below + np.cumsum(counts)
        digit = int(np.searchsorted(sums, k))
        low, width = low + (digit << shift), shift
        below, within = int(sums[digit] - counts[digit]), int(counts[digit])
    room = below + within if below + within <= most else k  # else all in the range are equal: the first ones
    return low, low + (1 << width) - 1, room


def _digits(session, buffer, n, order, low, shift):
    """How often each digit occurs."""
    profile, kernel = session.profile, "sorting/select_digits"
    policy = select(profile, kernel, order.dtype, n)
    groups = policy.groups(ceil_div(n, policy.tile), profile.compute_units)
    rows = groups if policy.variant == "serial" else 1
    counts = Scratch("digits", np.uint32, rows * DIGITS)
    memory = allocate(session, counts.nbytes)
    if policy.variant != "serial":
        fill(session, memory, np.uint32(0), DIGITS)
    args = "keys", np.uint32(n), order.flip, order.storage.type(low), np.uint32(shift), counts
    params, moved = {**order.options(), "digit_bits": DIGIT_BITS}, n * order.storage.itemsize
    step = Step(kernel, policy, args, groups, params, bytes_moved=moved)
    result = run(session, Plan(step), keys=buffer, digits=memory)
    return result.read(counts).reshape(rows, DIGITS).sum(0, dtype=np.int64)


def _emitted(session, buffer, n, order, ends, room):
    """(result of the run, memory of the keys, memory of the indices)."""
    profile, tiles = session.profile, ceil_div(n, TILE)
    counts, offsets = (Scratch(name, np.uint32, 2 * tiles) for name in ("counts", "offsets"))
    found, indices = Scratch("found", order.storage, room), Scratch("indices", np.uint32, room)
    args = ("keys", np.uint32(n), order.flip, *ends)

    def step(kernel, *more, bytes_moved):
        params = {**order.options(), "tile": TILE}
        options = {"dtype": order.dtype, "tile": TILE, "params": params, "bytes_moved": bytes_moved}
        return Plan(Step.over(profile, f"sorting/{kernel}", (*args, *more), n, **options))

    moved = n * order.storage.itemsize
    plan = step("select_count", counts, bytes_moved=moved)
    pieces = [Piece(counts, 0, counts.count)]
    plan += scan_plan(profile, pieces, counts.dtype, [offsets], OPERATORS["sum"], exclusive=True)
    plan += step("select_emit", counts, offsets, np.uint32(room), found, indices, bytes_moved=moved)
    return run(session, plan, keys=buffer), found, indices
