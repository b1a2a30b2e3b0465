"""Stable radix sort on the device: `sort`, `argsort`, `sort_by_key`::

    few keys, or long runs on a CPU     NumPy's stable sort                                   host.py
    more keys, or short segments        one launch, in local memory                           segments.py
    many integers of 8 or 16 bits       on a CPU, counts of each value                        counting.py
    many keys                           a survey of the bits that vary, a pass per digit      passes.py
    larger segments                     all keys by key, then stably by segment               segments.py
    too many keys on the host           sorted in chunks as above, merged here

Other algorithms on the device also use the plans of these modules.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np

from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.runtime.arrays import CHUNK_ALIGN, MOST_ITEMS, as_device_values, session_of
from clgeom.runtime.call import recording
from clgeom.runtime.cl_arrays import as_array as as_buffer_array
from clgeom.runtime.device_arrays import complete, in_buffer, is_device_array, let_change
from clgeom.runtime.launch import allocate, run
from clgeom.runtime.plan import Phase, Scratch
from clgeom.runtime.tuning import overridden
from clgeom.runtime.typing import AnyArray, ArrayLike, CLArray, DeviceLike, DTypeLike, IntLike, NDArray
from clgeom.sorting.keys import INDEX_TYPES, MOST_KEYS, OTHER_KINDS, as_device_bits, key_dtype, unsigned
from clgeom.sorting.outputs import Output, into, into_any
from clgeom.sorting.radix.call import Call
from clgeom.sorting.radix.counting import counting_plan, is_counted
from clgeom.sorting.radix.host import sorted_on_host
from clgeom.sorting.radix.moves import digit_windows, means_of
from clgeom.sorting.radix.passes import radix_plan, survey_plan, surveyed
from clgeom.sorting.radix.rows import Rows, as_array, checked_axis, flat
from clgeom.sorting.radix.segments import large_segments_plan, segment_capacity, segments_plan
from clgeom.sorting.take import taken

#: From so many bytes of keys on, a survey of some keys, which the host waits for, costs less than a pass that changes
#: nothing (H200: 60 us).
SURVEYED_BYTES = 1 << 26
#: Keys of the sample, the first ones.
SAMPLE = 1 << 16
#: Bits of keys to sort by: a number of lowest bits, or (low, high), high exclusive.
KeyBits: TypeAlias = int | tuple[int, int] | None

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class Options(TypedDict, total=False):
        """Options that the public functions have in common."""

        descending: bool
        out: Any
        offsets: AnyArray | None
        key_bits: KeyBits
        device: DeviceLike


class Profiled(NamedTuple):
    """Result of a call with ``profile=True``: the usual result, and the phases of the call."""

    result: Any
    phases: tuple[Phase, ...]


@overload
def sort(
    keys: ArrayLike, *, profile: Literal[False] = ..., axis: IntLike | None = ..., **options: Unpack[Options]
) -> NDArray[Any]: ...
@overload
def sort(
    keys: CLArray, *, profile: Literal[False] = ..., axis: IntLike | None = ..., **options: Unpack[Options]
) -> CLArray: ...
@overload
def sort(
    keys: AnyArray, *, profile: Literal[True], axis: IntLike | None = ..., **options: Unpack[Options]
) -> Profiled: ...
@overload
def sort(keys: AnyArray, *, profile: bool, axis: IntLike | None = ..., **options: Unpack[Options]) -> Any: ...
def sort(
    keys: AnyArray,
    *,
    descending: bool = False,
    out: Any = None,
    axis: IntLike | None = -1,
    offsets: AnyArray | None = None,
    key_bits: KeyBits = None,
    device: DeviceLike = None,
    profile: bool = False,
) -> Any:
    """Sorted copy of an array, as ``numpy.sort(keys, kind="stable")`` has it.

    Parameters
    ----------
    keys : array_like or pyopencl.array.Array, shape (n,) or any other
        Integers of 8 to 64 bits, float16, float32 or float64, bool, datetime64 or timedelta64; of any strides and byte
        order.
    descending : bool
        Sort by negated keys (integers: in reverse order). NaN and NaT stay last, and equal keys stay in input order.
    out : ndarray or pyopencl.array.Array, optional
        Array for the result, of its shape and of the keys' type. For host keys it is on the host, in any byte order;
        for device keys on the device, in native byte order. It may be the keys themselves.
    axis : int or None
        The axis to sort along, by default the last one; None for the flat array.
    offsets : array_like of int, shape (m + 1,), optional
        Sort each segment ``keys[offsets[i]:offsets[i + 1]]`` by itself. From 0 to n, never descending.
    key_bits : int or (int, int), optional
        Sort only by these bits of the keys' order: the `key_bits` lowest ones, or those from low to high
        (exclusive). For unsigned integers these are the bits of the key, for signed ones those of key + 2**(w - 1),
        for floats those of their order-preserving integers. Keys that agree in them stay in input order.
    device : optional
        As everywhere in clgeom.
    profile : bool
        Return ``Profiled(result, phases)``.

    Returns
    -------
    ndarray, or pyopencl.array.Array for keys on the device, of the keys' shape, and of their type in native byte order

    Raises
    ------
    InvalidInput
        For another type, an axis that the keys do not have, an unusable `out`; for offsets out of order or of keys of
        several dimensions, and bits that keys do not have.
    DeviceLimit
        When keys on the device need more memory than it has. Host keys are then sorted in chunks, merged by the host.

    Notes
    -----
    NaN is last, whatever its sign, and so is NaT; -0.0 equals 0.0. Only the order is canonical: zeros keep their signs
    and NaNs their payloads. The result is the same bit for bit on every device and for every work-group shape. Few keys
    on the host, and on a CPU keys in long runs, are sorted by NumPy, unless `offsets` or `profile` is given.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.sort([3.0, float("nan"), 1.0, 2.0]).tolist()
    [1.0, 2.0, 3.0, nan]
    >>> clgeom.sort([3, 1, 2, 9, 7, 8], descending=True, offsets=[0, 3, 6]).tolist()
    [3, 2, 1, 9, 8, 7]
    >>> clgeom.sort([[3, 1], [2, 9]], axis=0).tolist()
    [[2, 1], [3, 9]]
    """
    return _along("sort", keys, axis, out, (descending, offsets, key_bits, device, profile))


@overload
def argsort(
    keys: ArrayLike,
    *,
    profile: Literal[False] = ...,
    axis: IntLike | None = ...,
    index_type: None = ...,
    **options: Unpack[Options],
) -> NDArray[np.int64]: ...
@overload
def argsort(
    keys: ArrayLike,
    *,
    profile: Literal[False] = ...,
    axis: IntLike | None = ...,
    index_type: DTypeLike,
    **options: Unpack[Options],
) -> NDArray[Any]: ...
@overload
def argsort(
    keys: CLArray,
    *,
    profile: Literal[False] = ...,
    axis: IntLike | None = ...,
    index_type: DTypeLike = ...,
    **options: Unpack[Options],
) -> CLArray: ...
@overload
def argsort(
    keys: AnyArray,
    *,
    profile: Literal[True],
    axis: IntLike | None = ...,
    index_type: DTypeLike = ...,
    **options: Unpack[Options],
) -> Profiled: ...
@overload
def argsort(
    keys: AnyArray,
    *,
    profile: bool,
    axis: IntLike | None = ...,
    index_type: DTypeLike = ...,
    **options: Unpack[Options],
) -> Any: ...
def argsort(
    keys: AnyArray,
    *,
    descending: bool = False,
    out: Any = None,
    axis: IntLike | None = -1,
    index_type: DTypeLike = None,
    offsets: AnyArray | None = None,
    key_bits: KeyBits = None,
    device: DeviceLike = None,
    profile: bool = False,
) -> Any:
    """Indices that sort an array, as ``numpy.argsort(keys, kind="stable")`` has them.

    Parameters
    ----------
    keys, descending, axis, offsets, key_bits, device, profile
        As in `sort`. Indices count from the first key, with segments too; along an axis from the first key of the row.
    out : optional
        As in `sort`, of the indices' type.
    index_type : data-type, optional
        int64 or uint32: by default int64 on the host, uint32 on the device.

    Returns
    -------
    ndarray of int64, or pyopencl.array.Array of uint32 for keys on the device, of the keys' shape

    Examples
    --------
    >>> import clgeom
    >>> clgeom.argsort([30, 10, 20, 10]).tolist()
    [1, 3, 2, 0]
    """
    return _along("argsort", keys, axis, out, (descending, offsets, key_bits, device, profile), index_type)


@overload
def sort_by_key(
    keys: ArrayLike, values: AnyArray, *, profile: Literal[False] = ..., **options: Unpack[Options]
) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def sort_by_key(
    keys: CLArray, values: AnyArray, *, profile: Literal[False] = ..., **options: Unpack[Options]
) -> tuple[CLArray, CLArray]: ...
@overload
def sort_by_key(
    keys: AnyArray, values: AnyArray, *, profile: Literal[True], **options: Unpack[Options]
) -> Profiled: ...
@overload
def sort_by_key(keys: AnyArray, values: AnyArray, *, profile: bool, **options: Unpack[Options]) -> Any: ...
def sort_by_key(
    keys: AnyArray,
    values: AnyArray,
    *,
    descending: bool = False,
    out: Any = None,
    offsets: AnyArray | None = None,
    key_bits: KeyBits = None,
    device: DeviceLike = None,
    profile: bool = False,
) -> Any:
    """Sort keys, and values along with them; equal keys leave their values in input order.

    Parameters
    ----------
    keys, descending, offsets, key_bits, device, profile
        As in `sort`.
    values : array_like or pyopencl.array.Array, shape (n, ...)
        Of any type and width, where the keys are. On the device those of shape (n,) with 1, 2, 4 or 8 bytes move with
        the keys; others are picked by index in the end.
    out : (array, array), optional
        Arrays for the sorted keys and the sorted values, which share no memory. They may be the given arrays.

    Returns
    -------
    keys, values
        Sorted, on the host or on the device as given, of the given types; keys in native byte order.

    Examples
    --------
    >>> import clgeom
    >>> keys, values = clgeom.sort_by_key([3, 1, 2], ["c", "a", "b"])
    >>> keys.tolist(), values.tolist()
    ([1, 2, 3], ['a', 'b', 'c'])
    """
    return _answer(Call("sort_by_key", keys, values, descending, out, offsets, key_bits, device, profile))


def _along(caller, keys, axis, out, options, index_type=None):
    """The return value of `sort` or `argsort` along an axis."""
    descending, offsets, key_bits, device, profile = options
    usual = out is None and offsets is None and key_bits is None and index_type is None and profile is False
    if usual and is_device_array(keys) and type(axis) is int and axis in (-1, 0):
        result = _again(caller, keys, descending, session_of(keys, device))
        if result is not None:
            return result
    keys = as_array(keys, caller=caller)
    axis = checked_axis(axis, keys, caller=caller)
    if keys.ndim == 1:
        return _answer(Call(caller, keys, None, descending, out, offsets, key_bits, device, profile, index_type))
    if offsets is not None:
        raise InvalidInput(
            f"The 'offsets' parameter of {caller} must be None for keys of several dimensions. Got offsets for keys of "
            f"shape {keys.shape} instead."
        )
    key_dtype(keys, caller=caller, others=OTHER_KINDS)
    session = session_of(keys, device)
    if axis is None:
        axis, keys = 0, flat(session, keys, caller=caller)
    rows = Rows(session, keys, axis, caller=caller)
    call = Call(caller, rows.flat, None, descending, None, rows.offsets, key_bits, session, profile, index_type)
    if out is not None:
        call.check_out(out, call.payload_type or call.order.dtype, keys.shape, "out")
    with recording(profile) as phases:
        result = _result(call)
        result = rows.restored(rows.within(result) if caller == "argsort" else result)
        result = into_any(session, out, result)
    return Profiled(result, tuple(phases)) if profile else result


def _again(caller, keys, descending, session):
    """The result for contiguous keys on the device if the session remembers their plan, else None.

    It is that of `_sorted`, with less work on the host, which takes longer than the launches of few keys.
    """
    contiguous = keys.ndim == 1 and not keys.offset and keys.strides == (keys.dtype.itemsize,) and in_buffer(keys)
    if not contiguous or type(descending) is not bool or overridden():
        return None
    name, dtype, types = "keys_out", keys.dtype, (None, unsigned(keys.dtype), None)
    if caller == "argsort":
        name, dtype, types = "payload_out", INDEX_TYPES[True], ("index", None, INDEX_TYPES[True])
    plan = session.known(_plan_key(keys.shape[0], keys.dtype, descending, None, means_of(session), types))
    if plan is None:
        return None
    complete(session, keys)
    buffer = allocate(session, keys.shape[0] * dtype.itemsize)
    run(session, plan, **{"keys[0]": keys.base_data, name: buffer})
    let_change(session, (keys,))
    return as_buffer_array(session, buffer, keys.shape, dtype, queue=keys.queue, wait=False)


def _answer(call):
    """The return value of a call."""
    if call.profile:
        with recording(profile=True) as phases:
            result = _result(call)
        return Profiled(result, tuple(phases))
    return _result(call)


def _result(call):
    keys, payload = sorted_and_payload(call)
    return keys if call.caller == "sort" else payload if call.caller == "argsort" else (keys, payload)


def sorted_and_payload(call):
    """The keys (None for argsort) and the payload (None for sort) of a call."""
    return sorted_on_host(call) or _sorted_on_device(call)


def _sorted_on_device(call):
    at_once = call.on_device or call.n <= most_at_once(call, call.payload_type)
    return _sorted(call) if at_once else _sorted_in_chunks(call)


# At once ----------------------------------------------------------------------------------------------------------


def _sorted(call):
    """The keys (None for argsort) and the payload (None for sort)."""
    if call.n > MOST_KEYS:
        raise DeviceLimit(
            f"{call.caller} takes at most {MOST_KEYS:,} keys on the device. Got {call.n:,}; as a NumPy array they are "
            "sorted in chunks."
        )
    keys_out, payload_out = _outputs(call)
    # the buffers are kept until the end: kernels may read the caller's memory
    moved, buffers = _bindings(call, keys_out, payload_out)
    if call.n:
        _run(call, moved, buffers)
    payload = payload_out.finished() if payload_out else None
    # picked before any result is written: out may be the values
    picked = _picked(call, payload) if call.picks else None
    keys = keys_out.finished() if keys_out else None
    return keys, into_any(call.session, call.outs[1], picked) if call.picks else payload


def _picked(call, indices):
    """The values at these indices."""
    if not call.on_device:
        return call.values[indices]
    return taken(call.session, call.values, indices, call.n, call.values.shape[1:])


def _outputs(call):
    """Memory for the sorted keys and for the payload; None for one that the call does not have."""
    sources, keys_out, payload_out = [call.keys], None, None
    if call.values is not None:
        sources.append(call.values)
    if call.caller != "argsort":
        keys_out = Output(call.session, call.order.dtype, call.n, sources, call.outs[0], wait=call.offsets is not None)
    if call.payload_type is not None:
        out = None if call.picks else call.outs[1]
        payload_out = Output(call.session, call.payload_type, call.n, sources, out, wait=call.offsets is not None)
    return keys_out, payload_out


def _bindings(call, keys_out, payload_out):
    """Types of the data that plans move, as unsigned integers, and the buffers that their names stand for."""
    session, n = call.session, call.n
    moved = {"payload": "index" if payload_out else None, "keys_out": None, "payload_out": None}
    buffers = {"keys": as_device_bits(session, call.keys, caller=call.caller)}
    if call.carried is not None:
        bits = call.carried.view(unsigned(call.carried.dtype))  # moved as they are, whatever their byte order
        buffers["payload"] = as_device_bits(session, bits, caller=call.caller, name="values")
        moved["payload"] = Scratch("payload[0]", buffers["payload"].dtype, n)
    for name, output in (("keys_out", keys_out), ("payload_out", payload_out)):
        if output:
            buffers[name], moved[name] = output.buffer, Scratch(name, unsigned(output.dtype), n)
    if call.offsets is not None:
        offsets = call.offsets.astype(np.uint32)
        buffers["offsets"] = as_device_values(session, offsets, caller=call.caller, name="offsets")
    return moved, buffers


def _run(call, moved, buffers):
    """Run all launches of a call."""
    session, device, n, order = call.session, call.session.profile, call.n, call.order
    means, keys = means_of(session), Scratch("keys[0]", order.storage, n)
    if call.offsets is None:
        plan = _plan_without_look(call, keys, moved, means)
        if plan is not None:
            return run(session, plan, **buffers)
        windows, segments = digit_windows(int(call.significant)), None
        make = _keys_plan if overridden() else _remembered_plan
        if means.scan == "chain" and not _is_surveyed(call, keys, windows, buffers):
            return run(session, make(device, keys, n, order, windows, True, means, tuple(moved.items())), **buffers)
    else:
        segments, longest = len(call.offsets) - 1, int(np.diff(call.offsets).max())
        if longest <= segment_capacity(device, order.dtype):
            return run(session, _short_plan(call, keys, moved, segments, longest), **buffers)
    survey = survey_plan if overridden() else _remembered_survey
    plan, found = survey(device, keys, n, order, call.significant)
    result = run(session, plan, **buffers)
    varying, special, descents = surveyed(result, found)
    windows = digit_windows(varying)
    if segments is None:
        windows = windows if descents else ()
        plan = make(device, keys, n, order, windows, special, means, tuple(moved.items()))
    else:
        plan = large_segments_plan(device, keys, n, order, windows=windows, segments=segments, means=means, **moved)
    return run(session, plan, **buffers)


def _plan_without_look(call, keys, moved, means):
    """The plan of a sort that need not know of the keys, remembered by the session; None where it should."""
    if overridden():
        return _new_plan(call, keys, moved, means)
    significant = None if call.key_bits is None else call.significant
    types = tuple(one and getattr(one, "dtype", one) for one in moved.values())
    key = _plan_key(call.n, call.order.dtype, call.order.descending, significant, means, types)
    return call.session.cached(key, lambda: _new_plan(call, keys, moved, means), most=256)


def _plan_key(n, dtype, descending, significant, means, types):
    """What `_plan_without_look` depends on."""
    return "plans of sorts", n, dtype, descending, significant, means, types, SURVEYED_BYTES


def _new_plan(call, keys, moved, means):
    device, n, order = call.session.profile, call.n, call.order
    if n <= segment_capacity(device, order.dtype):
        return _short_plan(call, keys, moved, None, n).kept()
    if moved["payload"] is None and call.key_bits is None and is_counted(device, order):
        return counting_plan(device, keys, n, order, moved["keys_out"]).kept()
    if means.scan == "chain" and n * order.dtype.itemsize < SURVEYED_BYTES:
        windows = digit_windows(int(call.significant))
        return _keys_plan(device, keys, n, order, windows, True, means, tuple(moved.items())).kept()
    return None


def _short_plan(call, keys, moved, segments, longest):
    """Plan that sorts short segments, or few keys."""
    return segments_plan(
        call.session.profile,
        keys,
        call.n,
        call.order,
        significant=call.significant,
        segments=segments,
        longest=longest,
        **moved,
    )


def _is_surveyed(call, keys, windows, buffers) -> bool:
    """Whether to survey all keys before chained passes: if these are many, and a sample does not tell all there is.

    If bits of every digit vary in the sample, and it is not in order, then no pass can be left out. Of float64 it is
    also worth knowing that no key is -0.0 or NaN: passes over ordered keys are quicker (H200, 1e8: 6.4 against 7.2 ms).
    """
    if call.n * call.order.dtype.itemsize < SURVEYED_BYTES:
        return False
    if call.order.floating and call.order.bits == 64 and call.caller != "argsort":
        return True
    plan, found = survey_plan(call.session.profile, keys, min(SAMPLE, call.n), call.order, call.significant)
    varying, _, descents = surveyed(run(call.session, plan, **buffers), found)
    return not descents or len(digit_windows(varying)) < len(windows)


def _keys_plan(device, keys, n, order, windows, special, means, moved):
    """Plan that sorts all keys by these digits."""
    moved = dict(moved)
    plan, _, _ = radix_plan(
        device,
        keys,
        n,
        order.dtype,
        descending=order.descending,
        windows=windows,
        special=special,
        means=means,
        keep_keys=moved["keys_out"] is not None,
        **moved,
    )
    return plan


@functools.lru_cache(maxsize=256)
def _remembered_plan(*arguments):
    return _keys_plan(*arguments).kept()


@functools.lru_cache(maxsize=256)
def _remembered_survey(*arguments):
    plan, found = survey_plan(*arguments)
    return plan.kept(), found


# In chunks --------------------------------------------------------------------------------------------------------


def most_at_once(call, payload_type):
    """The most host keys of one chunk, with the memory that sorting them and this payload needs.

    Kernels read each array in one chunk. There may be one more offset than keys.
    """
    device, key = call.session.profile, call.order.dtype.itemsize
    payload = 0 if payload_type is None else payload_type.itemsize
    by_allocation = device.max_alloc_bytes // max(key, payload, 4 if call.offsets is not None else 1)
    by_memory = device.global_mem_bytes // 10 * 9 // (3 * (key + payload) + 8)
    most = min(by_allocation, by_memory, MOST_ITEMS)
    most = max(most // CHUNK_ALIGN * CHUNK_ALIGN, min(most, CHUNK_ALIGN))
    return max(most - (call.offsets is not None), 1)


def _sorted_in_chunks(call):
    """The result of `_sorted` for host keys beyond the device's memory: sorted by chunks, merged on the host."""
    most, indices = most_at_once(call, np.dtype(np.int64)), np.empty(call.n, np.int64)
    offsets = np.array([0, call.n]) if call.offsets is None else call.offsets
    for begin, end in _whole_segments(offsets, most):
        first, last = np.searchsorted(offsets, [begin, end])
        inside = offsets[first : last + 1] - begin if end - begin <= most else None
        for start in range(begin, end, most):
            stop = min(start + most, end)
            options = inside, call.key_bits, call.session, False
            part = Call("argsort", call.keys[start:stop], None, call.order.descending, None, *options)
            indices[start:stop] = _sorted(part)[1] + start
        if inside is None:  # NumPy's stable sort finds the sorted chunks and merges them
            found = indices[begin:end]
            ordered_keys = call.order.digits(call.keys[found]) & call.significant
            indices[begin:end] = found[np.argsort(ordered_keys, kind="stable")]
    keys = None if call.caller == "argsort" else call.keys[indices]
    payload = call.values[indices] if call.values is not None else indices
    if call.caller == "argsort":
        payload = payload.astype(call.payload_type, copy=False)
    # both are copies: out may be the keys or the values, also exchanged
    return keys if keys is None else into(call.outs[0], keys), into(call.outs[1], payload)


def _whole_segments(offsets, most):
    """(begin, end) of ranges of whole segments with at most `most` keys; a larger segment is a range by itself."""
    begin = 0
    while begin < offsets[-1]:
        end = int(offsets[np.searchsorted(offsets, begin + most, side="right") - 1])
        if end <= begin:
            end = int(offsets[np.searchsorted(offsets, begin, side="right")])
        yield begin, end
        begin = end
