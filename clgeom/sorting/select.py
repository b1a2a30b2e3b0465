"""The first keys of an order: `topk`, by a stable sort of candidates.

The candidates of `topk` are the keys that may be among the first k::

    keys ──select_digits──> how often each digit occurs ──host──> the range of the k-th key     until few keys are in it
         ──select_count──> keys of each tile below and within the range ──scan──> offsets
         ──select_emit──> those keys, and their indices
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clgeom.arguments import boolean, integer
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, copy, fill, run
from clgeom.core.plan import Number, Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.intake.arrays import session_of
from clgeom.intake.device_arrays import as_array, buffer_of, converted, is_device_array, let_change, native_array
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.typing import AnyArray, DeviceLike, DTypeLike, IntLike
from clgeom.primitives.scan import sums_plan
from clgeom.sorting.arrays import as_key_array
from clgeom.sorting.distinct import first_on_host
from clgeom.sorting.keys import KeyOrder, as_device_bits, as_keys, checked_axis, flat, index_dtype, key_order
from clgeom.sorting.radix.passes import SortMemory
from clgeom.sorting.radix.segments import segment_capacity, segments_plan
from clgeom.sorting.radix.sort import argsort, sort, sort_by_key
from clgeom.sorting.radix.work import features_of, fixed_plan
from clgeom.sorting.take import take

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.core.launch import Result
    from clgeom.core.profile import DeviceProfile

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


@keeps_subnormals
class TopK(NamedTuple):
    """Keys in order, and their indices in the input.

    Attributes
    ----------
    values : ndarray or pyopencl.array.Array, shape (k,)
        The keys, largest or smallest first.
    indices : ndarray or pyopencl.array.Array of int, shape (k,)
        Their places in the input.

    Examples
    --------
    >>> import clgeom
    >>> values, indices = clgeom.topk([5, 9, 1], 1)
    >>> values.tolist(), indices.tolist()
    ([9], [1])
    """

    values: Any
    indices: Any


@keeps_subnormals
@takes_cuda
def topk(
    keys: AnyArray,
    k: IntLike,
    *,
    axis: IntLike | None = -1,
    largest: bool = True,
    index_type: DTypeLike | None = None,
    device: DeviceLike = None,
) -> TopK:
    """Return the k largest, or smallest, keys in order, with their indices: the first k of a stable sort.

    Parameters
    ----------
    keys : array_like or pyopencl.array.Array
        As in `sort`.
    k : int, 0 to n, the length of the axis
    axis : int or None
        As in `sort`.
    largest : bool
        Whether to begin with the largest key. NaN and NaT come last in both orders, so they are among the k only if
        fewer other keys are there.
    index_type : data-type, optional
        int64 or uint32: by default int64 on the host, uint32 on the device.
    device : optional
        As in `sort`.

    Returns
    -------
    TopK
        `values` and `indices`, of the keys' shape with k in the place of n, on the host or on the device as the keys.
        Equal keys are in input order.

    Raises
    ------
    InvalidInput
        For k beyond n, and as `sort`.

    See Also
    --------
    partition : All keys, the smallest first.
    sort : All keys in order.

    Examples
    --------
    >>> import clgeom
    >>> top = clgeom.topk([5, 9, 1, 9], 3)
    >>> top.values.tolist(), top.indices.tolist()
    ([9, 9, 5], [1, 3, 0])
    """
    caller = "topk"
    array: Any = keys
    if type(array) is not np.ndarray or array.ndim != 1 or axis != -1:
        array = as_keys(keys, caller=caller)
        along = checked_axis(axis, array, caller=caller) if array.ndim else None
        if array.ndim > 1:
            options = {"largest": largest, "index_type": index_type, "device": device}
            return _topk_of_rows(array, k, along, options, caller=caller)
    array = as_key_array(array, caller=caller)
    k = integer(k, "k", caller=caller, least=0, most=len(array))
    session, largest = session_of(array, device), boolean(largest, "largest", caller=caller)
    there = is_device_array(array)
    number = index_dtype(index_type, there, caller=caller)
    if not there and (first := first_on_host(session, array, k, largest)) is not None:
        return TopK(array[first], first.astype(number, copy=False))
    order = key_order(array.dtype, largest)
    few = _first_few(session, array, k, order, caller=caller)
    if few is not None:
        return TopK(few[0], converted(session, few[1], number))
    few = candidates(session, array, k, order, caller=caller)
    if few is not None:
        pairs = sort_by_key(*few, descending=largest, device=session)
        values, indices = (_copy_first(session, entries, k) for entries in pairs)
        return TopK(values, converted(session, indices, number))
    own_type = None if number == index_dtype(None, there, caller=caller) else number
    indices = _copy_first(session, argsort(array, descending=largest, index_type=own_type, device=session), k)
    return TopK(take(array, indices, mode="clip", device=session) if there else array[indices], indices)


def _topk_of_rows(keys: Any, k: Any, axis: int | None, options: dict[str, Any], *, caller: str) -> TopK:
    """Return the result for keys of several dimensions: the first of a sort of rows; those of long rows one by one."""
    if axis is None:
        return topk(flat(session_of(keys, options["device"]), keys, caller=caller), k, **options)
    k = integer(k, "k", caller=caller, least=0, most=keys.shape[axis])
    if not is_device_array(keys) and keys.shape[axis] > LEAST and keys.size:
        rows = np.moveaxis(keys, axis, -1)
        found = [topk(row, k, **options) for row in rows.reshape(-1, rows.shape[-1])]
        shape = (*rows.shape[:-1], k)
        pair = (np.moveaxis(np.stack(parts).reshape(shape), -1, axis) for parts in zip(*found))
        return TopK(*map(np.ascontiguousarray, pair))
    descending = boolean(options.pop("largest"), "largest", caller=caller)
    first = (slice(None),) * axis + (slice(k),)
    indices = argsort(keys, axis, descending=descending, **options)[first]
    if not is_device_array(keys):
        return TopK(np.take_along_axis(keys, indices, axis), np.ascontiguousarray(indices))
    session = session_of(keys, options["device"])
    values = sort(keys, axis, descending=descending, device=options["device"])[first]
    values, indices = (native_array(session, part, caller=caller, name="keys") for part in (values, indices))
    return TopK(values, indices)


def _first_few(session: Session, keys: Any, k: int, order: KeyOrder, *, caller: str) -> tuple[Any, Any] | None:
    """(keys, uint32 indices) of the first k in order, where the keys are; None unless few launches sort twice as many.

    All keys are sorted, without a wait, if one launch does that, or one for each digit; else the candidates among them.
    """
    n, profile, features = len(keys), session.profile, features_of(session)
    capacity = segment_capacity(profile, order.dtype)
    sorts_all = n <= capacity or (n < LEAST and features.scan == "chain")
    if not 0 < 2 * k <= (2 * n if sorts_all else capacity):
        return None
    bits = as_device_bits(session, keys, caller=caller)  # kept until the end: kernels may read the caller's memory
    if len(bits.chunks) != 1:
        return None
    buffer, numbers = bits.chunks[0].buffer, dict[str, Any]()
    most = n if sorts_all else min(max(FEW, n // ONE_IN, 2 * k), capacity)
    if not sorts_all:
        low, high, room = _narrow_range(session, buffer, n, order, k, most)
        numbers = emit_numbers(order, low, high, room)

    def make() -> tuple[Plan, Scratch, Scratch] | None:
        first, places = Scratch("first", order.storage, most), Scratch("places", np.uint32, most)
        if sorts_all:
            memory = SortMemory(Scratch("keys", order.storage, n), order, "index", first, places)
            fixed = fixed_plan(profile, memory, features)
            return None if fixed is None else (fixed.kept(), first, places)
        plan, found, indices = emit_plan(profile, n, order, most)
        memory = SortMemory(found, order, indices, first, places)
        return (plan + segments_plan(profile, memory, count=Number("room"))).kept(), first, places

    plan, first, places = session.cached(("plans of first keys", n, order, most), make, policies=True)
    result = run(session, plan, numbers=numbers, keys=buffer)
    return first_pairs(session, keys, order, result, (first, places), k)


def first_pairs(
    session: Session, keys: Any, order: KeyOrder, result: Result, pair: tuple[Scratch, Scratch], count: int
) -> tuple[Any, Any]:
    """(keys, uint32 indices): the first `count` entries of two memories of a result, where the keys are."""
    found, indices = pair
    if not is_device_array(keys):
        return result.read(found, count).view(order.dtype), result.read(indices, count)
    let_change(session, [keys])
    last = result.event
    keys_of, indices_of = (
        as_array(session, result[scratch], (count,), dtype, queue=keys.queue, wait=False, after=last)
        for scratch, dtype in ((found, order.dtype), (indices, indices.dtype))
    )
    return keys_of, indices_of


def emit_numbers(order: KeyOrder, low: int, high: int, room: int) -> dict[str, Any]:
    return {"low": order.storage.type(low), "high": order.storage.type(high), "room": np.uint32(room)}


def _copy_first(session: Session, array: Any, k: int) -> Any:
    """Return a copy of the first k entries."""
    if not is_device_array(array):
        return array[:k].copy()
    nbytes = k * array.dtype.itemsize
    buffer = allocate(session, max(nbytes, 1))
    if k:
        copy(session, buffer_of(array), buffer, nbytes)
    return as_array(session, buffer, (k,), array.dtype, queue=array.queue, wait=False)


def place_of(session: Session, buffer: cl.Buffer, n: int, order: KeyOrder, k: int) -> int:
    """Return the ordered key with k keys before it, of n keys in a buffer."""
    return _narrow_range(session, buffer, n, order, k + 1, 0)[0]


def candidates(session: Session, keys: Any, k: int, order: KeyOrder, *, caller: str) -> tuple[Any, Any] | None:
    """(keys, uint32 indices) with the first k of the stable order among them, equal keys in input order.

    They are where the keys are. None where a sort of all keys is no more work, or the device holds the keys in several
    chunks.
    """
    n = len(keys)
    if n < LEAST or not 0 < k <= n // LEAST_SHARE:
        return None
    bits = as_device_bits(session, keys, caller=caller)  # kept until the end: kernels may read the caller's memory
    if len(bits.chunks) != 1:
        return None
    buffer = bits.chunks[0].buffer
    most = max(FEW, n // ONE_IN, 2 * k)
    low, high, room = _narrow_range(session, buffer, n, order, k, most)
    plan, found, indices = session.cached(
        ("plans of candidates", n, order, most), lambda: emit_plan(session.profile, n, order, most), policies=True
    )
    result = run(session, plan, numbers=emit_numbers(order, low, high, room), keys=buffer)
    return first_pairs(session, keys, order, result, (found, indices), room)


def _narrow_range(
    session: Session, buffer: cl.Buffer, n: int, order: KeyOrder, k: int, most: int
) -> tuple[int, int, int]:
    """(lowest, highest) ordered key of a range with the k-th key, and how many keys up to its end are candidates."""
    low, width, below, within = 0, order.bits, 0, n
    while width and below + within > most:
        shift = max(width - DIGIT_BITS, 0)
        counts = _count_digits(session, buffer, n, order, low, shift)[: 1 << (width - shift)]
        sums = below + np.cumsum(counts)
        digit = int(np.searchsorted(sums, k))
        low, width = low + (digit << shift), shift
        below, within = int(sums[digit] - counts[digit]), int(counts[digit])
    room = below + within if below + within <= most else k  # else all in the range are equal: the first ones
    return low, low + (1 << width) - 1, room


def _count_digits(session: Session, buffer: cl.Buffer, n: int, order: KeyOrder, low: int, shift: int) -> np.ndarray:
    """Return how often each digit occurs."""
    plan, counts, rows = session.cached(
        ("plans of digits", n, order), lambda: _digits_plan(session.profile, n, order), policies=True
    )
    memory = allocate(session, counts.nbytes)
    if rows == 1:
        fill(session, memory, np.uint32(0), DIGITS)
    numbers: dict[str, Any] = {"low": order.storage.type(low), "shift": np.uint32(shift)}
    result = run(session, plan, numbers=numbers, keys=buffer, digits=memory)
    sums: np.ndarray = result.read(counts).reshape(rows, DIGITS).sum(0, dtype=np.int64)
    return sums


def _digits_plan(profile: DeviceProfile, n: int, order: KeyOrder) -> tuple[Plan, Scratch, int]:
    """Return the launch that counts digits, the memory of the counts, and how many rows of counts there are.

    A single row is added to, so it must be zero before.
    """
    kernel = "sorting/select_digits"
    policy = select(profile, kernel, order.dtype, n)
    groups = policy.groups(ceil_div(n, policy.tile), profile.compute_units)
    rows = groups if policy.variant == "serial" else 1
    counts = Scratch("digits", np.uint32, rows * DIGITS)
    args = "keys", np.uint32(n), order.flip, Number("low"), Number("shift"), counts
    params, moved = {**order.options(), "digit_bits": DIGIT_BITS}, n * order.storage.itemsize
    return Plan(Step(kernel, policy, args, groups, params, bytes_moved=moved)).kept(), counts, rows


def emit_plan(profile: DeviceProfile, n: int, order: KeyOrder, most: int) -> tuple[Plan, Scratch, Scratch]:
    """Return the launches that emit candidates, at most so many, and the memory of their keys and indices."""
    tiles = ceil_div(n, TILE)
    counts, offsets = (Scratch(name, np.uint32, 2 * tiles) for name in ("counts", "offsets"))
    found, indices = Scratch("found", order.storage, most), Scratch("indices", np.uint32, most)
    params, moved = {**order.options(), "tile": TILE}, n * order.storage.itemsize

    def step(kernel: str, *more: Any) -> Plan:
        args = ("keys", np.uint32(n), order.flip, Number("low"), Number("high"), *more)
        kernel = f"sorting/{kernel}"
        return Plan(Step.over(profile, kernel, args, n, dtype=order.dtype, tile=TILE, params=params, bytes_moved=moved))

    plan = step("select_count", counts)
    plan += sums_plan(profile, counts, offsets)
    plan += step("select_emit", counts, offsets, Number("room"), found, indices)
    return plan, found, indices
