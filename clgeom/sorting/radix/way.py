"""How the keys of a call are sorted: by the host, by which plan on the device, or in chunks."""

from __future__ import annotations

import numpy as np

from clgeom.core.launch import allocate, run
from clgeom.core.plan import Scratch
from clgeom.errors import DeviceLimit
from clgeom.intake.array_memory import require_memory
from clgeom.intake.arrays import CHUNK_ALIGN, MOST_ITEMS, as_device_values
from clgeom.intake.cl_arrays import as_array
from clgeom.intake.device_arrays import complete, in_buffer, let_change
from clgeom.intake.dispatch import choose_faster
from clgeom.sorting.keys import INDEX_TYPES, MOST_KEYS, as_device_bits, unsigned
from clgeom.sorting.outputs import Output, into, into_any
from clgeom.sorting.radix import several
from clgeom.sorting.radix.call import Call
from clgeom.sorting.radix.counting import counting_plan, is_counted
from clgeom.sorting.radix.host import sorted_on_host
from clgeom.sorting.radix.moves import digit_windows, means_of
from clgeom.sorting.radix.passes import radix_plan, survey_plan, surveyed
from clgeom.sorting.radix.segments import large_segments_plan, segment_capacity, segments_plan
from clgeom.sorting.take import taken

#: From so many bytes of keys on, a survey of some keys, which the host waits for, costs less than a pass that changes
#: nothing (H200: 60 us).
SURVEYED_BYTES = 1 << 26
#: Plans of each kind that a session keeps.
MOST_PLANS = 256
#: Keys of the sample, the first ones.
SAMPLE = 1 << 16


def sorted_again(caller, keys, descending, session):
    """The result for contiguous keys on the device if the session remembers their plan, else None.

    It is that of `_sorted`, with less work on the host, which takes longer than the launches of few keys.
    """
    contiguous = keys.ndim == 1 and not keys.offset and keys.strides == (keys.dtype.itemsize,) and in_buffer(keys)
    if not contiguous or type(descending) is not bool:
        return None
    name, dtype, types = "keys_out", keys.dtype, (None, unsigned(keys.dtype), None)
    if caller == "argsort":
        name, dtype, types = "payload_out", INDEX_TYPES[True], ("index", None, INDEX_TYPES[True])
    plan = session.known(
        _plan_key(keys.shape[0], keys.dtype, descending, None, means_of(session), types), policies=True
    )
    if plan is None:
        return None
    require_memory(session, keys, caller=caller, name="keys")
    complete(session, keys)
    buffer = allocate(session, keys.shape[0] * dtype.itemsize)
    run(session, plan, **{"keys[0]": keys.base_data, name: buffer})
    let_change(session, (keys,))
    return as_array(session, buffer, keys.shape, dtype, queue=keys.queue, wait=False)


def sorted_and_payload(call):
    """The keys (None for argsort) and the payload (None for sort) of a call."""
    return sorted_on_host(call) or _sorted_on_device(call)


def _sorted_on_device(call):
    some = call.sessions if call.n >= 2 * several.LEAST else call.sessions[:1]
    return choose_faster(
        some,
        f"{call.caller} {call.order.dtype}",
        call.keys.nbytes,
        several.LEAST_SHARED,
        alone=lambda: _sorted_by_one(call),
        together=lambda: several.sorted_by_devices(call, _sorted_by_one),
    )


def _sorted_by_one(call):
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
        if means.scan == "chain" and not _is_surveyed(call, keys, windows, buffers):
            return run(session, _remembered_plan(session, keys, n, order, windows, True, means, moved), **buffers)
    else:
        segments, longest = len(call.offsets) - 1, int(np.diff(call.offsets).max())
        if longest <= segment_capacity(device, order.dtype):
            return run(session, _short_plan(call, keys, moved, segments, longest), **buffers)
    plan, found = _remembered_survey(session, keys, n, order, call.significant)
    result = run(session, plan, **buffers)
    varying, special, descents = surveyed(result, found)
    windows = digit_windows(varying)
    if segments is None:
        windows = windows if descents else ()
        plan = _remembered_plan(session, keys, n, order, windows, special, means, moved)
    else:
        plan = large_segments_plan(device, keys, n, order, windows=windows, segments=segments, means=means, **moved)
    return run(session, plan, **buffers)


def _plan_without_look(call, keys, moved, means):
    """The plan of a sort that need not know of the keys, remembered by the session; None where it should."""
    significant = None if call.key_bits is None else call.significant
    types = tuple(one and getattr(one, "dtype", one) for one in moved.values())
    key = _plan_key(call.n, call.order.dtype, call.order.descending, significant, means, types)
    return call.session.cached(key, lambda: _new_plan(call, keys, moved, means), most=MOST_PLANS, policies=True)


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


def _remembered_plan(session, keys, n, order, windows, special, means, moved):
    moved = tuple(moved.items())

    def make():
        return _keys_plan(session.profile, keys, n, order, windows, special, means, moved).kept()

    key = "plans of surveyed sorts", keys, n, order, windows, special, means, moved
    return session.cached(key, make, most=MOST_PLANS, policies=True)


def _remembered_survey(session, keys, n, order, significant):
    def make():
        plan, found = survey_plan(session.profile, keys, n, order, significant)
        return plan.kept(), found

    return session.cached(("surveys of keys", keys, n, order, significant), make, most=MOST_PLANS, policies=True)


# In chunks --------------------------------------------------------------------------------------------------------


def most_at_once(call, payload_type):
    """The most host keys of one chunk, with the memory that sorting them and this payload needs.

    Kernels read each array in one chunk. There may be one more offset than keys.
    """
    payload = 0 if payload_type is None else payload_type.itemsize
    most = most_keys(call.session.profile, call.order.dtype.itemsize, payload, 4 if call.offsets is not None else 1)
    return max(most - (call.offsets is not None), 1)


def most_keys(device, key: int, payload: int, least: int = 1) -> int:
    """The most keys of so many bytes that one sort takes, each with so many bytes of payload."""
    by_allocation = device.max_alloc_bytes // max(key, payload, least)
    by_memory = device.global_mem_bytes // 10 * 9 // (3 * (key + payload) + 8)
    most = min(by_allocation, by_memory, MOST_ITEMS)
    return max(most // CHUNK_ALIGN * CHUNK_ALIGN, min(most, CHUNK_ALIGN))


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
