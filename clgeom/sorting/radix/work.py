"""How keys are sorted: by the host, by which plan on the device, in chunks, or by several devices."""

from __future__ import annotations

import functools

import numpy as np

from clgeom.core.launch import allocate, run
from clgeom.core.plan import Scratch
from clgeom.errors import DeviceLimit
from clgeom.intake.array_memory import require_memory
from clgeom.intake.arrays import CHUNK_ALIGN, MOST_ITEMS, to_device
from clgeom.intake.cl_arrays import as_array
from clgeom.intake.device_arrays import complete, in_buffer, let_change
from clgeom.intake.dispatch import Work, dispatch
from clgeom.sorting.keys import INDEX_TYPES, MOST_KEYS, as_device_bits, unsigned
from clgeom.sorting.outputs import Output, into, into_any
from clgeom.sorting.radix.counting import counting_plan, is_counted
from clgeom.sorting.radix.host import sorted_on_host
from clgeom.sorting.radix.input import RadixInput
from clgeom.sorting.radix.merge import merged
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
#: Fewest keys of a piece for one of several devices.
LEAST = 1 << 20
#: Bytes of keys from which on GPUs share them, as long as nothing was measured (160 MB: two H200s 74 ms, one 15 ms).
LEAST_SHARED = 1 << 30


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


def sorted_and_payload(given: RadixInput):
    """The sorted keys (None for argsort) and the payload (None for sort)."""
    return sorted_on_host(given) or sorted_by_kernels(given)


def sorted_by_kernels(given: RadixInput):
    """The result of `sorted_and_payload`, by the sessions of the call."""
    return dispatch(given.call, SortWork(given))


class SortWork(Work):
    """A sort of all keys, or of pieces of keys on the host, which the host merges. Results are (keys, payload)."""

    def __init__(self, given: RadixInput):
        self.given, self.n = given, given.n
        self.least, self.least_cost = LEAST, LEAST_SHARED

    @property
    def kind(self):
        return f"{self.given.caller} {self.given.order.dtype}"

    @property
    def cost(self):
        return self.given.keys.nbytes

    def fits(self, session):
        return self.given.on_device or self.n <= most_at_once(self.given, session)

    def at_once(self, session):
        return _sorted(self.given.of_session(session))

    def in_pieces(self, session):
        return _sorted_in_chunks(self.given.of_session(session))

    def piece(self, session, start, stop):
        is_sort = self.given.caller == "sort"
        part = self.given.part("sort" if is_sort else "argsort", session, start, stop)
        work = SortWork(part)
        keys, indices = work.at_once(session) if work.fits(session) else work.in_pieces(session)
        return (keys, None) if is_sort else (part.keys[indices], indices + start)

    def join(self, session, results):
        return merged(self.given, results)


# At once ----------------------------------------------------------------------------------------------------------


def _sorted(given):
    """The keys (None for argsort) and the payload (None for sort)."""
    if given.n > MOST_KEYS:
        raise DeviceLimit(
            f"{given.caller} takes at most {MOST_KEYS:,} keys on the device. Got {given.n:,}; as a NumPy array they "
            "are sorted in chunks."
        )
    keys_out, payload_out = _outputs(given)
    # the buffers are kept until the end: kernels may read the caller's memory
    moved, buffers = _bindings(given, keys_out, payload_out)
    if given.n:
        _run(given, moved, buffers)
    payload = payload_out.finished() if payload_out else None
    # picked before any result is written: out may be the values
    picked = _picked(given, payload) if given.picks else None
    keys = keys_out.finished() if keys_out else None
    return keys, into_any(given.session, given.outs[1], picked) if given.picks else payload


def _picked(given, indices):
    """The values at these indices."""
    if not given.on_device:
        return given.values[indices]
    return taken(given.session, given.values, indices, given.n, given.values.shape[1:])


def _outputs(given):
    """Memory for the sorted keys and for the payload; None for one that the call does not have."""
    sources, keys_out, payload_out = [given.keys], None, None
    if given.values is not None:
        sources.append(given.values)
    output = functools.partial(Output, given.session, n=given.n, sources=sources, wait=given.offsets is not None)
    if given.caller != "argsort":
        keys_out = output(dtype=given.order.dtype, out=given.outs[0])
    if given.payload_type is not None:
        payload_out = output(dtype=given.payload_type, out=None if given.picks else given.outs[1])
    return keys_out, payload_out


def _bindings(given, keys_out, payload_out):
    """Types of the data that plans move, as unsigned integers, and the buffers that their names stand for."""
    n = given.n
    moved = {"payload": "index" if payload_out else None, "keys_out": None, "payload_out": None}
    buffers = {"keys": _as_bits(given, given.keys, "keys")}
    if given.carried is not None:
        bits = given.carried.view(unsigned(given.carried.dtype))  # moved as they are, whatever their byte order
        buffers["payload"] = _as_bits(given, bits, "values")
        moved["payload"] = Scratch("payload[0]", buffers["payload"].dtype, n)
    for name, output in (("keys_out", keys_out), ("payload_out", payload_out)):
        if output:
            buffers[name], moved[name] = output.buffer, Scratch(name, unsigned(output.dtype), n)
    if given.offsets is not None:
        buffers["offsets"] = to_device(given.session, given.offsets.astype(np.uint32), caller=given.caller)
    return moved, buffers


def _as_bits(given, array, name):
    """Keys or values as unsigned integers in memory that kernels read."""
    if given.on_device:
        return as_device_bits(given.session, array, caller=given.caller, name=name)
    return to_device(given.session, array.view(unsigned(array.dtype)), caller=given.caller)


def _run(given, moved, buffers):
    """Run all launches of a sort."""
    session, device, n, order = given.session, given.session.profile, given.n, given.order
    means, keys = means_of(session), Scratch("keys[0]", order.storage, n)
    if given.offsets is None:
        plan = _plan_without_look(given, keys, moved, means)
        if plan is not None:
            return run(session, plan, **buffers)
        windows, segments = digit_windows(int(given.significant)), None
        if means.scan == "chain" and not _is_surveyed(given, keys, windows, buffers):
            return run(session, _remembered_plan(session, keys, n, order, windows, True, means, moved), **buffers)
    else:
        segments, longest = len(given.offsets) - 1, int(np.diff(given.offsets).max())
        if longest <= segment_capacity(device, order.dtype):
            return run(session, _short_plan(given, keys, moved, segments, longest), **buffers)
    plan, found = _remembered_survey(session, keys, n, order, given.significant)
    result = run(session, plan, **buffers)
    varying, special, descents = surveyed(result, found)
    windows = digit_windows(varying)
    if segments is None:
        windows = windows if descents else ()
        plan = _remembered_plan(session, keys, n, order, windows, special, means, moved)
    else:
        plan = large_segments_plan(device, keys, n, order, windows=windows, segments=segments, means=means, **moved)
    return run(session, plan, **buffers)


def _plan_without_look(given, keys, moved, means):
    """The plan of a sort that need not know of the keys, remembered by the session; None where it should."""
    significant = None if given.key_bits is None else given.significant
    types = tuple(one and getattr(one, "dtype", one) for one in moved.values())
    key = _plan_key(given.n, given.order.dtype, given.order.descending, significant, means, types)
    return given.session.cached(key, lambda: _new_plan(given, keys, moved, means), most=MOST_PLANS, policies=True)


def _plan_key(n, dtype, descending, significant, means, types):
    """What `_plan_without_look` depends on."""
    return "plans of sorts", n, dtype, descending, significant, means, types, SURVEYED_BYTES


def _new_plan(given, keys, moved, means):
    device, n, order = given.session.profile, given.n, given.order
    if n <= segment_capacity(device, order.dtype):
        return _short_plan(given, keys, moved, None, n).kept()
    if moved["payload"] is None and given.key_bits is None and is_counted(device, order):
        return counting_plan(device, keys, n, order, moved["keys_out"]).kept()
    if means.scan == "chain" and n * order.dtype.itemsize < SURVEYED_BYTES:
        windows = digit_windows(int(given.significant))
        return _keys_plan(device, keys, n, order, windows, True, means, tuple(moved.items())).kept()
    return None


def _short_plan(given, keys, moved, segments, longest):
    """Plan that sorts short segments, or few keys."""
    return segments_plan(
        given.session.profile,
        keys,
        given.n,
        given.order,
        significant=given.significant,
        segments=segments,
        longest=longest,
        **moved,
    )


def _is_surveyed(given, keys, windows, buffers) -> bool:
    """Whether to survey all keys before chained passes: if these are many, and a sample does not tell all there is.

    If bits of every digit vary in the sample, and it is not in order, then no pass can be left out. Of float64 it is
    also worth knowing that no key is -0.0 or NaN: passes over ordered keys are quicker (H200, 1e8: 6.4 against 7.2 ms).
    """
    if given.n * given.order.dtype.itemsize < SURVEYED_BYTES:
        return False
    if given.order.floating and given.order.bits == 64 and given.caller != "argsort":
        return True
    plan, found = survey_plan(given.session.profile, keys, min(SAMPLE, given.n), given.order, given.significant)
    varying, _, descents = surveyed(run(given.session, plan, **buffers), found)
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


def most_at_once(given, session, payload_type=None):
    """The most host keys of one chunk, with the memory that sorting them and this payload, by default theirs, needs.

    Kernels read each array in one chunk. There may be one more offset than keys.
    """
    payload_type = payload_type or given.payload_type
    payload = 0 if payload_type is None else payload_type.itemsize
    most = most_keys(session.profile, given.order.dtype.itemsize, payload, 4 if given.offsets is not None else 1)
    return max(most - (given.offsets is not None), 1)


def most_keys(device, key: int, payload: int, least: int = 1) -> int:
    """The most keys of so many bytes that one sort takes, each with so many bytes of payload."""
    by_allocation = device.max_alloc_bytes // max(key, payload, least)
    by_memory = device.global_mem_bytes // 10 * 9 // (3 * (key + payload) + 8)
    most = min(by_allocation, by_memory, MOST_ITEMS)
    return max(most // CHUNK_ALIGN * CHUNK_ALIGN, min(most, CHUNK_ALIGN))


def _sorted_in_chunks(given):
    """The result of `_sorted` for host keys beyond the device's memory: sorted by chunks, merged on the host."""
    most, indices = most_at_once(given, given.session, np.dtype(np.int64)), np.empty(given.n, np.int64)
    offsets = np.array([0, given.n]) if given.offsets is None else given.offsets
    for begin, end in _whole_segments(offsets, most):
        first, last = np.searchsorted(offsets, [begin, end])
        inside = offsets[first : last + 1] - begin if end - begin <= most else None
        for start in range(begin, end, most):
            stop = min(start + most, end)
            part = given.part("argsort", given.session, start, stop, inside)
            indices[start:stop] = _sorted(part)[1] + start
        if inside is None:  # NumPy's stable sort finds the sorted chunks and merges them
            found = indices[begin:end]
            ordered_keys = given.order.digits(given.keys[found]) & given.significant
            indices[begin:end] = found[np.argsort(ordered_keys, kind="stable")]
    keys = None if given.caller == "argsort" else given.keys[indices]
    payload = None
    if given.payload_type is not None or given.values is not None:
        payload = given.values[indices] if given.values is not None else indices
    if given.caller == "argsort":
        payload = payload.astype(given.payload_type, copy=False)
    # both are copies: out may be the keys or the values, also exchanged
    keys = None if keys is None else into(given.outs[0], keys)
    return keys, None if payload is None else into(given.outs[1], payload)


def _whole_segments(offsets, most):
    """(begin, end) of ranges of whole segments with at most `most` keys; a larger segment is a range by itself."""
    begin = 0
    while begin < offsets[-1]:
        end = int(offsets[np.searchsorted(offsets, begin + most, side="right") - 1])
        if end <= begin:
            end = int(offsets[np.searchsorted(offsets, begin, side="right")])
        yield begin, end
        begin = end
