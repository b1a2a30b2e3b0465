"""Stable radix sort on the device: `sort`, `argsort`, `sort_by_key`.

Least significant digit first, reduce-then-scan, OpenCL 1.2, no group ever waits for another::

    keys ──radix_survey──> which bits vary            one read; constant digits are skipped
         ┌ radix_count    digits per group and digit  ┐
         │ radix_spine    where each of them begins   │ once per digit of 8 bits
         └ radix_scatter  keys (payloads) move there  ┘

Keys are sorted by unsigned images of them (``cl_src/key_order.h``), in which -0.0 equals +0.0 and all NaNs are equal
and last, and the original bits move. `argsort` needs no keys at the end: the images are stored instead, and only 32
bits of them once no more are left to sort by.

Up to a few thousand keys, or segments of so many, one launch sorts all in local memory (``radix_segments``).
Larger segments are sorted all at once by key, then stably by the number of their segment.

`radix_plan` is the same for other algorithms on the device: a plan, without a round trip to the host.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.runtime.arrays import CHUNK_ALIGN, as_device_values, is_device_array, session_of
from clgeom.runtime.build import compiles
from clgeom.runtime.launch import Plan, Scratch, Step, allocate, in_place, read, run, show_host
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.render import render_text
from clgeom.runtime.tuning import select
from clgeom.sort.keys import KeyOrder, as_device_bits, as_key_array

#: Bits of a digit. 11 were faster for 1e6 keys on a CPU (4.0 against 4.9 ms), and slower for 1e7 (48 against 29 ms).
RADIX_BITS = 8
RADIX = 1 << RADIX_BITS
#: Positions are uint32; some room above them for the last tile.
MOST_KEYS = (1 << 32) - (1 << 20)
#: Keys that `radix_segments` takes: per kind of device, what one segment may have.
CAPACITIES = {"serial": (16384,), "group": (256, 2048)}


class Profiled(NamedTuple):
    """What a call with ``profile=True`` returns: its usual result, and the phases that made it."""

    result: object
    phases: tuple


# Public ---------------------------------------------------------------------------------------------------------


def sort(keys, *, descending=False, out=None, offsets=None, key_bits=None, device=None, profile=False):
    """Sorted copy of an array, as ``numpy.sort(keys, kind="stable")`` has it.

    Parameters
    ----------
    keys : array_like or pyopencl.array.Array, shape (n,)
        Integers of 8 to 64 bits, float16, float32 or float64.
    descending : bool
        Sort by negated keys (integers: in reverse order). NaN stays last, and equal keys stay in input order.
    out : ndarray or pyopencl.array.Array, shape (n,), optional
        Where the result goes: of the keys' type, on the host for host keys, on the device for device keys.
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
    ndarray, or pyopencl.array.Array for keys on the device, shape (n,), of the keys' type

    Raises
    ------
    InvalidInput
        For another type or shape, offsets out of order, bits that keys do not have, an unusable `out`.
    DeviceLimit
        When keys on the device need more memory than it has. Host keys are then sorted in chunks, merged by the host.

    Notes
    -----
    NaN is last, whatever its sign; -0.0 equals 0.0. Only the order is canonical: zeros keep their signs and NaNs
    their payloads. The result is the same bit for bit on every device and for every work-group shape.
    """
    call = _Call("sort", keys, None, descending, out, offsets, key_bits, device, profile)
    return call.result(lambda found: found.keys)


def argsort(keys, *, descending=False, out=None, offsets=None, key_bits=None, device=None, profile=False):
    """Indices that sort an array, as ``numpy.argsort(keys, kind="stable")`` has them.

    Parameters
    ----------
    keys, descending, offsets, key_bits, device, profile
        As in `sort`. Indices count from the first key, with segments too.
    out : optional
        As in `sort`, int64 on the host, uint32 on the device.

    Returns
    -------
    ndarray of int64, or pyopencl.array.Array of uint32 for keys on the device, shape (n,)
    """
    call = _Call("argsort", keys, "index", descending, out, offsets, key_bits, device, profile)
    return call.result(lambda found: found.payload)


def sort_by_key(
    keys, values, *, descending=False, out=None, offsets=None, key_bits=None, device=None, profile=False
):
    """Sort keys, and values along with them; equal keys leave their values in input order.

    Parameters
    ----------
    keys, descending, offsets, key_bits, device, profile
        As in `sort`.
    values : array_like or pyopencl.array.Array, shape (n, ...)
        Of any type on the host. On the device, where the keys must be then, shape (n,) and 1, 2, 4 or 8 bytes each.
    out : (array, array), optional
        Where the sorted keys and the sorted values go.

    Returns
    -------
    keys, values : as they came, sorted
    """
    call = _Call("sort_by_key", keys, values, descending, out, offsets, key_bits, device, profile)
    return call.result(lambda found: (found.keys, found.payload))


# A call: from what came to what is returned -----------------------------------------------------------------------


class _Found(NamedTuple):
    keys: object
    payload: object
    phases: tuple


class _Call:
    """The arguments of a public call, checked, and the ways to answer it."""

    def __init__(self, of, keys, payload, descending, out, offsets, key_bits, device, profile):
        self.of, self.profile = of, profile
        self.keys = as_key_array(keys, of=of)
        self.n = len(self.keys)
        self.on_device = is_device_array(self.keys)
        self.session = session_of(self.keys, device)
        self.order = KeyOrder(self.keys.dtype.newbyteorder("="), bool(descending))
        self.significant = _significant_bits(key_bits, self.order.bits, of=of)
        self.offsets = None if offsets is None else _checked_offsets(offsets, self.n, of=of)
        self.payload = payload
        self.wants_keys = of != "argsort"
        if of == "sort_by_key":
            self.payload = self._checked_values(payload)
        self.outs = self._checked_outs(out)

    def result(self, pick):
        if self.on_device or self.n <= self._most_keys():
            found = self._on_device()
        else:
            found = self._in_chunks()
        return Profiled(pick(found), found.phases) if self.profile else pick(found)

    # Arguments

    def _checked_values(self, values):
        if is_device_array(values) != self.on_device:
            places = ("on the host", "on the device")
            raise InvalidInput(
                f"The 'values' parameter of {self.of} must be where the keys are, {places[self.on_device]}. "
                f"Got an array {places[not self.on_device]} instead."
            )
        if not self.on_device:
            values = np.asarray(values)
        if values.ndim == 0 or len(values) != self.n:
            raise InvalidInput(
                f"The 'values' parameter of {self.of} must have one entry for each of the {self.n} keys. "
                f"Got shape {values.shape} instead."
            )
        if self.on_device and (values.ndim != 1 or values.dtype.itemsize not in (1, 2, 4, 8)):
            raise InvalidInput(
                f"The 'values' parameter of {self.of} must, on the device, have shape (n,) and 1, 2, 4 or 8 bytes "
                f"an entry. Got {values.dtype} of shape {values.shape} instead."
            )
        return values

    def _checked_outs(self, out):
        """(for the keys, for the payload), None where a new array is to be made."""
        if out is None:
            return None, None
        index_type = np.dtype(np.uint32 if self.on_device else np.int64)
        if self.of == "sort":
            self._check_out(out, self.order.dtype, (self.n,), "out")
            return out, None
        if self.of == "argsort":
            self._check_out(out, index_type, (self.n,), "out")
            return None, out
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            raise InvalidInput(
                f"The 'out' parameter of {self.of} must be a pair of arrays, for keys and values. "
                f"Got {type(out).__name__} instead."
            )
        self._check_out(out[0], self.order.dtype, (self.n,), "out[0]")
        self._check_out(out[1], self.payload.dtype, self.payload.shape, "out[1]")
        return tuple(out)

    def _check_out(self, out, dtype, shape, name):
        right_place = is_device_array(out) if self.on_device else isinstance(out, np.ndarray)
        if not right_place:
            kind = "a pyopencl.array.Array" if self.on_device else "an ndarray"
            raise InvalidInput(
                f"The '{name}' parameter of {self.of} must be {kind}. Got {type(out).__name__} instead."
            )
        if out.dtype != dtype or out.shape != shape:
            raise InvalidInput(
                f"The '{name}' parameter of {self.of} must be {dtype} of shape {shape}. "
                f"Got {out.dtype} of shape {out.shape} instead."
            )
        if self.on_device and not out.flags.c_contiguous:
            raise InvalidInput(
                f"The '{name}' parameter of {self.of} must be contiguous. Got strides {out.strides} instead."
            )
        if not self.on_device and not out.flags.writeable:
            raise InvalidInput(
                f"The '{name}' parameter of {self.of} must be writeable. Got a read-only array instead."
            )

    def _most_keys(self):
        """How many host keys the device takes at once, with all that sorting them needs."""
        profile, key = self.session.profile, self.order.dtype.itemsize
        carried = self._carried()
        payload = (
            {None: 0, "index": 8}.get(carried) if not isinstance(carried, np.ndarray) else carried.itemsize
        )
        by_allocation = profile.max_alloc_bytes // max(key, payload, 4 if self.offsets is not None else 1)
        by_memory = profile.global_mem_bytes // 10 * 9 // (3 * key + 3 * payload + 8)
        most = min(by_allocation, by_memory, MOST_KEYS)
        return max(most // CHUNK_ALIGN * CHUNK_ALIGN, min(most, CHUNK_ALIGN), 1)

    def _carried(self):
        """What moves along with the keys: None, "index", or host or device values of 1, 2, 4 or 8 bytes."""
        values = self.payload
        if values is None or isinstance(values, str) or self.on_device:
            return values
        fits = values.ndim == 1 and values.dtype.itemsize in (1, 2, 4, 8) and not values.dtype.hasobject
        return np.require(values, requirements=["C", "A"]) if fits else "index"

    # Answers

    def _on_device(self) -> _Found:
        if self.n > MOST_KEYS:
            raise DeviceLimit(
                f"{self.of} takes at most {MOST_KEYS:,} keys on the device. Got {self.n:,}; as a NumPy array they are "
                "sorted in chunks."
            )
        session, carried = self.session, self._carried()
        keys_out, payload_out = self._outputs(carried)
        if self.n:
            job = _Job(
                session, self.order, self.n, as_device_bits(session, self.keys, of=self.of), self.significant,
                _as_payload(session, carried, of=self.of), keys_out, payload_out, self.profile,
            )  # fmt: skip
            if self.offsets is None:
                phases = job.run()
            else:  # kept until the end: kernels may read this very memory
                offsets = as_device_values(
                    session, self.offsets.astype(np.uint32), of=self.of, name="offsets"
                )
                phases = job.run_segments(offsets, int(np.diff(self.offsets).max(initial=0)))
        else:
            phases = ()
        sorted_keys = keys_out.finished() if keys_out else None
        payload = payload_out.finished() if payload_out else None
        if isinstance(carried, str) and self.of == "sort_by_key":  # values that no payload can hold
            payload = _into(self.outs[1], self.payload[payload])
        return _Found(sorted_keys, payload, phases)

    def _outputs(self, carried):
        """Memory for the sorted keys and the payload, None for what there is not."""
        sources = [self.keys, *([] if carried is None or isinstance(carried, str) else [carried])]

        def output(dtype, out):
            return _Output(self.session, dtype, self.n, out, self.on_device, *sources)

        keys_out = output(self.order.dtype, self.outs[0]) if self.wants_keys else None
        if carried is None:
            return keys_out, None
        if not isinstance(carried, str):
            return keys_out, output(carried.dtype, self.outs[1])
        index_type = np.uint32 if self.on_device else np.int64
        return keys_out, output(index_type, self.outs[1] if self.of == "argsort" else None)

    def _in_chunks(self) -> _Found:
        """Host keys beyond the device's memory: sorted chunks, merged here."""
        indices, phases = np.empty(self.n, np.int64), []
        most = self._most_keys()
        for begin, end in [(0, self.n)] if self.offsets is None else _whole_segments(self.offsets, most):
            runs = [(start, min(start + most, end)) for start in range(begin, end, most)]
            for start, stop in runs:
                inside = None
                if self.offsets is not None and len(runs) == 1:
                    low, high = np.searchsorted(self.offsets, [start, stop])
                    inside = np.concatenate([[start], self.offsets[low : high + 1], [stop]]) - start
                part = argsort(
                    self.keys[start:stop], descending=self.order.descending, offsets=inside,
                    key_bits=self.significant, device=self.session, profile=self.profile,
                )  # fmt: skip
                if self.profile:
                    phases += part.phases
                    part = part.result
                indices[start:stop] = part + start
            if len(runs) > 1:  # NumPy's stable sort finds the sorted runs and merges them
                run_indices = indices[begin:end]
                images = self.order.digits(self.keys[run_indices]) & self._mask()
                indices[begin:end] = run_indices[np.argsort(images, kind="stable")]
        keys = _into(self.outs[0], self.keys[indices]) if self.wants_keys else None
        if self.of == "argsort":
            payload = _into(self.outs[1], indices)
        else:
            payload = _into(self.outs[1], self.payload[indices]) if self.payload is not None else None
        return _Found(keys, payload, tuple(phases))

    def _mask(self):
        low, high = self.significant
        return self.order.storage.type((1 << high) - (1 << low))


def _into(out, values):
    """The values, in the caller's array if there is one."""
    if out is None:
        return values
    out[...] = values
    return out


def _significant_bits(key_bits, bits, *, of):
    """(low, high) of the bits to sort by."""
    if key_bits is None:
        return 0, bits
    pair = (0, key_bits) if np.ndim(key_bits) == 0 else tuple(key_bits)
    whole = len(pair) == 2 and all(isinstance(b, (int, np.integer)) for b in pair)
    if not whole or not 0 <= pair[0] < pair[1] <= bits:
        raise InvalidInput(
            f"The 'key_bits' parameter of {of} must be a number of bits from 1 to {bits}, or (low, high) with "
            f"0 <= low < high <= {bits}. Got {key_bits!r} instead."
        )
    return int(pair[0]), int(pair[1])


def _checked_offsets(offsets, n, *, of):
    """Offsets as int64, from 0 to n, never descending."""
    array = offsets.get() if is_device_array(offsets) else np.asarray(offsets)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
        raise InvalidInput(
            f"The 'offsets' parameter of {of} must be integers of shape (m + 1,). "
            f"Got {array.dtype} of shape {array.shape} instead."
        )
    array = array.astype(np.int64)
    for place, expected in ((0, 0), (-1, n)):
        if array[place] != expected:
            raise InvalidInput(
                f"The 'offsets' parameter of {of} must begin with 0 and end with the number of keys, {n}. "
                f"Got {array[place]} at [{place}] instead."
            )
    descents = np.flatnonzero(array[1:] < array[:-1])
    if len(descents):
        i = int(descents[0])
        raise InvalidInput(
            f"The 'offsets' parameter of {of} must never descend. Got {array[i + 1]} at [{i + 1}] after {array[i]}."
        )
    return array


def _whole_segments(offsets, most):
    """(begin, end) of runs of whole segments with at most `most` keys, and of larger segments, each alone."""
    begin = 0
    while begin < offsets[-1]:
        end = int(offsets[np.searchsorted(offsets, begin + most, side="right") - 1])
        if end <= begin:
            end = int(offsets[np.searchsorted(offsets, begin, side="right")])
        yield begin, end
        begin = end


def _as_payload(session, carried, *, of):
    """What `_Call._carried` returned, as `_Job` takes it: values become unsigned integers that kernels read."""
    if carried is None or isinstance(carried, str):
        return carried
    storage = np.dtype(f"uint{8 * carried.dtype.itemsize}")
    return as_device_values(session, carried.view(storage), of=of, name="values", types=(storage,))


class _Output:
    """Memory for `n` results of a type: the caller's where kernels can write it, else new.

    On CPU devices kernels write NumPy memory in place.
    """

    def __init__(self, session, dtype, n, out, on_device, *sources):
        self.session, self.dtype, self.n = session, np.dtype(dtype), n
        self.out, self.on_device = out, on_device
        self.host = self.buffer = None
        nbytes = max(n * self.dtype.itemsize, 1)
        if on_device:
            if out is not None and not out.offset and not any(_share_device(out, s) for s in sources):
                self.buffer = out.base_data
            else:
                self.buffer = allocate(session, nbytes)
            self.queue = next((s.queue for s in sources if s.queue is not None), session.queue)
        elif session.profile.is_cpu and n:
            usable = (
                out is not None and out.flags.c_contiguous and out.flags.aligned and out.dtype.isnative
                and not any(np.may_share_memory(out, s) for s in sources)
            )  # fmt: skip
            self.host = out if usable else np.empty(n, self.dtype)
            self.buffer = in_place(session, self.host)
        elif n:
            self.buffer = allocate(session, nbytes)

    @property
    def bits(self) -> int:
        return 8 * self.dtype.itemsize

    def finished(self):
        """The results, once all that was enqueued has run."""
        import pyopencl.array as cl_array

        if self.on_device:
            self.session.queue.finish()  # the array's own queue may be another
            made = cl_array.Array(self.queue, (self.n,), self.dtype, data=self.buffer)
            if self.out is None:
                return made
            if self.buffer is not self.out.base_data:
                self.out[...] = made
                self.queue.finish()
            return self.out
        if self.n == 0:
            return _into(self.out, np.empty(0, self.dtype))
        if self.host is None:
            return _into(self.out, read(self.session, self.buffer, self.dtype, self.n))
        show_host(self.session, self.buffer, self.host)
        return self.host if self.host is self.out else _into(self.out, self.host)


def _share_device(a, b):
    return is_device_array(b) and a.base_data == b.base_data


# A job: the runs on the device -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job:
    """Keys on the device, what goes with them, and where the results go."""

    session: object
    order: KeyOrder
    n: int
    keys: object  # DeviceArray of the keys' bits
    significant: tuple
    payload: object  # None, "index" or DeviceArray
    keys_out: _Output | None
    payload_out: _Output | None
    profiled: bool

    def run(self) -> tuple:
        """Sort all keys; returns the phases."""
        if self.n <= self.capacity:
            plan = segments_plan(self.session.profile, self.n, self.order, **self._places())
            return self._launch(plan)
        varying, special, sorted_already, phases = self._survey()
        windows = () if sorted_already else digit_windows(varying)
        plan, _, _ = radix_plan(
            self.session.profile, "keys[0]", self.n, self.order.dtype, windows=windows, special=special,
            descending=self.order.descending, peers=peers_of(self.session), **self._outputs(),
        )  # fmt: skip
        return phases + self._launch(plan)

    def run_segments(self, offsets, longest: int) -> tuple:
        """Sort each segment by itself, the largest of `longest` keys; returns the phases."""
        if longest <= self.capacity:
            plan = segments_plan(
                self.session.profile,
                self.n,
                self.order,
                segments=offsets.n - 1,
                longest=longest,
                **self._places(),
            )
            return self._launch(plan, offsets=offsets)
        varying, _, _, phases = self._survey()
        outputs = self._outputs()
        plan = large_segments_plan(
            self.session.profile, self.n, self.order, offsets.n - 1, digit_windows(varying),
            peers=peers_of(self.session), **outputs,
        )  # fmt: skip
        return phases + self._launch(plan, offsets=offsets)

    @property
    def capacity(self) -> int:
        """The longest segment that radix_segments sorts here."""
        return segment_capacity(self.session.profile, self.order.dtype)

    def _survey(self):
        plan, found = survey_plan(self.session.profile, "keys[0]", self.n, self.order, self.significant)
        result = run(self.session, plan, keys=self.keys, profile=self.profiled)
        words = np.bitwise_or.reduce(result.read(found).reshape(-1, 3), axis=0)
        return int(words[0]), bool(words[1]), not words[2], self._phases(result)

    def _outputs(self) -> dict:
        """The arguments of `radix_plan` that say what moves, and where to."""
        payload = "payload[0]" if self.payload is not None and self.payload != "index" else self.payload
        return {
            "keep_keys": self.keys_out is not None,
            "keys_out": "keys_out" if self.keys_out else None,
            "payload": payload,
            "payload_bits": 32 if payload == "index" else self.payload_out.bits if payload else 32,
            "payload_out": "payload_out" if payload else None,
            "payload_out_bits": self.payload_out.bits if payload else 32,
        }

    def _places(self) -> dict:
        return {"significant": self.significant, **self._outputs()}

    def _launch(self, plan, **more) -> tuple:
        buffers = {"keys": self.keys, **more}
        if self.keys_out:
            buffers["keys_out"] = self.keys_out.buffer
        if self.payload_out:
            buffers["payload_out"] = self.payload_out.buffer
        if self.payload is not None and self.payload != "index":
            buffers["payload"] = self.payload
        return self._phases(run(self.session, plan, profile=self.profiled, **buffers))

    def _phases(self, result) -> tuple:
        return result.phases if self.profiled else ()


def peers_of(session) -> str:
    """How work-items of a team find equal digits: "ballot" where PTX votes compile, else "local"."""
    if select(session.profile, "radix/radix_scatter").variant == "serial" or session.shuffle != "ptx":
        return "local"
    return _ballot_or_local(session)


@functools.lru_cache(maxsize=64)
def _ballot_or_local(session) -> str:
    return "ballot" if compiles(session, render_text(BALLOT_PROBE)) else "local"


BALLOT_PROBE = """
#define WG_SIZE 32
#define LANES 32
#define RADIX_BITS 8
#define RADIX 256
#define CLGEOM_PEERS_ballot 1
#include "radix_peers.h"
kernel void probe(global uint *digits)
{
    volatile local uint counts[RADIX];
    for (uint k = get_local_id(0); k < RADIX; k += WG_SIZE)
        counts[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    digits[get_local_id(0)] = team_rank(digits[get_local_id(0)], counts, counts, get_local_id(0));
}
"""


# Plans: pure, no device needed -------------------------------------------------------------------------------------


def digit_windows(varying: int, radix_bits: int = RADIX_BITS) -> tuple[tuple[int, int], ...]:
    """(shift, bits) of the digits that cover the set bits of `varying`, from the lowest, skipping constant bits."""
    windows, shift = [], 0
    while varying >> shift:
        shift += (varying >> shift & -(varying >> shift)).bit_length() - 1
        within = varying >> shift & (1 << radix_bits) - 1
        windows.append((shift, within.bit_length()))
        shift += radix_bits
    return tuple(windows)


def all_windows(bits: int) -> tuple[tuple[int, int], ...]:
    """The digits of keys of which nothing is known."""
    return digit_windows((1 << bits) - 1)


def survey_plan(profile, keys, n, order, significant=None):
    """One launch that finds which bits vary, whether digits tell all of a key, and whether the keys are in order.

    Returns
    -------
    plan : Plan
    found : Scratch
        Rows of three uint64, to be combined by or: varying bits, some -0.0 or NaN, some descent.
    """
    kernel = "radix/radix_survey"
    policy = select(profile, kernel, order.dtype, n)
    low, high = significant or (0, order.bits)
    groups, share = _shares(policy, n, profile)
    found = Scratch("radix_survey", np.uint64, 3 * groups)
    mask = order.storage.type((1 << high) - (1 << low))
    args = (keys, np.uint32(n), np.uint32(share), order.flip, mask, found)
    step = Step(kernel, policy, args, groups, order.options(), bytes_moved=n * order.dtype.itemsize)
    return Plan(step), found


def radix_plan(
    profile, keys, n, dtype, *, payload=None, payload_bits=32, keep_keys=True, keys_out=None, payload_out=None,
    payload_out_bits=None, descending=False, windows=None, special=True, peers="local", prefix="radix",
):  # fmt: skip
    """Stable sort of `n` keys that are on the device, and of a payload; no round trip to the host.

    Parameters
    ----------
    profile : DeviceProfile
    keys : str or Scratch
        The keys, a buffer that the caller binds, or memory of an earlier step; never written.
    n : int, 1 to MOST_KEYS
    dtype : numpy.dtype
        Of the keys; one of ``KEY_TYPES``.
    payload : None, "index", or the name or Scratch of values of `payload_bits` (8, 16, 32 or 64)
        "index" makes the payload the keys' numbers, that is, argsort.
    keep_keys : bool
        False when the sorted keys are not needed: less is moved.
    keys_out, payload_out : str or Scratch, optional
        Where the results go; by default new Scratch memory. Must not be `keys` or `payload`.
    payload_out_bits : int, optional
        64 to widen the indices in the last pass; `payload_bits` by default.
    descending : bool
    windows : tuple of (int, int), optional
        (shift, bits) of the digits to sort by, lowest first, from `digit_windows`; all by default.
    special : bool
        False when it is known that no float key is -0.0 or NaN, so that digits can be turned back into keys.
    peers : {"local", "ballot", "match"}
        As `peers_of` tells for a session. Never changes the result.
    prefix : str
        Begins the names of scratch memory; plans that run together may share it when they need not live together.

    Returns
    -------
    plan : Plan
    keys_out, payload_out : str, Scratch or None
        Where the sorted keys (None without `keep_keys`) and the payload (None without one) are.

    Examples
    --------
    Indices of points sorted by x, then y: sort by y first, then stably by x::

        by_y, _, order = radix_plan(profile, "y", n, np.float32, payload="index", keep_keys=False)
        x_by_y = Scratch("x_by_y", np.uint32, n)
        gather = gather_plan(profile, "x", order, n, 32, x_by_y)
        by_x, _, order = radix_plan(profile, x_by_y, n, np.float32, payload=order, keep_keys=False, prefix="by_x")
        result = run(session, by_y + gather + by_x, x=x, y=y)
        result[order]       # uint32 indices
    """
    order = KeyOrder(dtype, descending)
    windows = (all_windows(order.bits) if windows is None else tuple(windows)) or ((0, 0),)
    payload_out_bits = payload_out_bits or payload_bits
    if keep_keys and keys_out is None:
        keys_out = Scratch(f"{prefix}_keys_out", order.storage, n)
    if payload is not None and payload_out is None:
        payload_out = Scratch(f"{prefix}_payload_out", np.dtype(f"uint{payload_out_bits}"), n)
    folds = keep_keys and order.floating and not special and len(windows) > 1

    steps, held = [], (keys, payload)
    stored = _Stored(order.bits, order.floating, order.flip)
    gone = 0  # low bits that the stored keys have lost
    for number, (shift, width) in enumerate(windows):
        is_last = number == len(windows) - 1
        how, bits, drop = "same", stored.bits, 0
        if is_last:
            how = "none" if not keep_keys else "keys" if folds else "same"
        elif not keep_keys:
            following = windows[number + 1][0]
            needed = windows[-1][0] + windows[-1][1] - following
            bits = min(stored.bits, 32 if needed <= 32 else 64)
            if stored.floating or bits < stored.bits:
                how, drop = "image", following - gone
        elif folds and number == 0:
            how = "image"
        if how == "keys":
            stored = replace(stored, floating=True, plain=True, flip=order.flip)
        places = _places_of_pass(
            len(windows),
            number,
            n,
            order.bits,
            keep_keys,
            keys_out,
            payload,
            payload_out,
            payload_bits,
            prefix,
        )
        steps += _pass_steps(
            profile, n, stored, (how, bits), held, places, (shift - gone, width, drop),
            payload_bits, payload_out_bits if is_last else payload_bits, peers, prefix,
        )  # fmt: skip
        held, gone = places, gone + drop
        if how == "image":
            stored = _Stored(bits)
    return Plan(*steps), keys_out if keep_keys else None, payload_out if payload is not None else None


@dataclass(frozen=True)
class _Stored:
    """How keys lie in memory between passes: unsigned integers of `bits`, or floats, whose images take `flip`.

    `plain`: the images themselves, to be turned back into keys with `flip`.
    """

    bits: int
    floating: bool = False
    flip: int = 0
    plain: bool = False


def _places_of_pass(
    passes, number, n, key_bits, keep_keys, keys_out, payload, payload_out, payload_bits, prefix
):  # fmt: skip
    """Where a pass writes: the last one to the outputs, those before by turns to scratch memory and the outputs."""
    to_output = (passes - 1 - number) % 2 == 0
    memory = np.dtype(f"uint{key_bits}")  # images may be narrower
    if keep_keys:
        key_place = keys_out if to_output else Scratch(f"{prefix}_keys", memory, n)
    else:
        key_place = Scratch(f"{prefix}_keys{number % 2}", memory, n)
    if payload is None:
        return key_place, None
    return key_place, payload_out if to_output else Scratch(
        f"{prefix}_payload", np.dtype(f"uint{payload_bits}"), n
    )


def _pass_steps(
    profile, n, stored, writes, held, places, digit, payload_bits, payload_out_bits, peers, prefix
):
    """The three launches of a pass."""
    (keys, payload), (how, bits), (shift, width, drop) = held, writes, digit
    dtype = np.dtype(f"uint{stored.bits}")
    carried = "" if payload is None else "index" if payload == "index" else "carry"
    count = select(profile, "radix/radix_count", dtype, n)
    spine = select(profile, "radix/radix_spine", dtype, n)
    scatter = select(profile, "radix/radix_scatter", dtype, n)
    scatter = _fitting(scatter, profile, max(stored.bits, payload_bits if carried else 0))
    groups, share = _shares(scatter, n, profile)
    counts = Scratch(f"{prefix}_counts_of_{groups}", np.uint32, RADIX * groups)
    totals = Scratch(f"{prefix}_totals", np.uint32, RADIX)
    flip = dtype.type(stored.flip)
    count_flip = dtype.type(0 if stored.plain else stored.flip)
    size, digit = (np.uint32(n), np.uint32(share)), (np.uint32(shift), np.uint32((1 << width) - 1))
    reading = {"key_bits": stored.bits, "radix_bits": RADIX_BITS}
    counted_as_float = int(stored.floating and not stored.plain)
    moved = stored.bits + (bits if how != "none" else 0) + (payload_out_bits if carried else 0)
    moved += payload_bits if carried == "carry" else 0
    return [
        Step(
            "radix/radix_count", count, (keys, *size, count_flip, *digit, counts), groups,
            {**reading, "key_float": counted_as_float}, bytes_moved=n * stored.bits // 8,
        ),
        Step(
            "radix/radix_spine", spine, (counts, np.uint32(RADIX), np.uint32(groups), totals),
            spine.groups(RADIX, profile.compute_units), {}, bytes_moved=2 * counts.nbytes,
        ),
        Step(
            "radix/radix_scatter", scatter,
            (
                keys, *([payload] if carried == "carry" else []), *size, flip, *digit, np.uint32(drop), counts, totals,
                *([places[0]] if how != "none" else []), *([places[1]] if carried else []),
            ),
            groups,
            {
                **reading, "key_float": int(stored.floating), "load": "plain" if stored.plain else "digits",
                "store": how, "stored_bits": bits, "payload": carried, "payload_bits": payload_bits,
                "payload_out_bits": payload_out_bits, "peers": "local" if scatter.wg_size < 32 else peers,
            },
            bytes_moved=n * moved // 8,
        ),
    ]  # fmt: skip


def _shares(policy, n, profile):
    """(groups, keys of each group's share); shares of the group variant are whole tiles."""
    tile = 16384 if policy.variant == "serial" else policy.tile
    tiles = ceil_div(n, tile)
    share = ceil_div(tiles, policy.groups(tiles, profile.compute_units)) * tile
    return ceil_div(n, share), share


def _fitting(policy, profile, widest_bits):
    """The scatter's policy for keys or payloads of so many bits.

    Its items are of 4 bytes; a work-item takes fewer wider ones, and fewer again where local memory is small.
    """

    def local_bytes(p):
        teams = max(p.wg_size // 32, 1)
        return max(teams * RADIX * 8, p.tile * widest_bits // 8) + 4 * RADIX * 4

    if policy.variant == "serial":
        return policy
    policy = replace(policy, items_per_thread=max(policy.items_per_thread * 32 // max(widest_bits, 32), 1))
    while local_bytes(policy) > profile.local_mem_bytes and policy.items_per_thread > 1:
        policy = replace(policy, items_per_thread=policy.items_per_thread // 2)
    while local_bytes(policy) > profile.local_mem_bytes and policy.wg_size > 1:
        policy = replace(policy, wg_size=policy.wg_size // 2)
    return policy


def gather_plan(profile, values, indices, n, value_bits, out):
    """``out[i] = values[indices[i]]`` for `n` uint32 indices; names or Scratch."""
    kernel = "radix/radix_gather"
    policy = select(profile, kernel, np.dtype(f"uint{value_bits}"), n)
    groups, share = _shares(policy, n, profile)
    moved = n * (4 + value_bits // 4)
    args = (values, indices, np.uint32(n), np.uint32(share), out)
    return Plan(Step(kernel, policy, args, groups, {"value_bits": value_bits}, bytes_moved=moved))


# Segments ---------------------------------------------------------------------------------------------------------


def segment_capacity(profile, dtype, longest=None) -> int:
    """The capacity of radix_segments for segments up to `longest`, by default the largest there is."""
    policy = select(profile, "radix/radix_segments", dtype, longest or max(CAPACITIES["group"]))
    sizes = CAPACITIES[policy.variant]
    if policy.variant == "group":
        fitting = profile.local_mem_bytes // (np.dtype(dtype).itemsize + 2)
        sizes = [1 << min(size.bit_length() - 1, fitting.bit_length() - 1) for size in sizes]
    return max(sizes) if longest is None else min((s for s in sizes if s >= longest), default=max(sizes))


def segments_plan(
    profile, n, order, *, significant, keep_keys, keys_out, payload, payload_bits, payload_out, payload_out_bits,
    segments=None, longest=None, keys="keys[0]",
):  # fmt: skip
    """One launch that sorts segments no longer than the capacity; without `segments`, all keys as one."""
    kernel = "radix/radix_segments"
    longest = n if segments is None else longest
    policy = select(profile, kernel, order.dtype, longest)
    capacity = segment_capacity(profile, order.dtype, longest)
    if policy.variant == "group":  # short segments: small groups
        policy = replace(policy, wg_size=min(policy.wg_size, max(capacity // 4, 1)))
    low, high = significant
    carried = "" if payload is None else "index" if payload == "index" else "carry"
    args = (
        keys,
        *([payload] if carried == "carry" else []),
        *([np.uint32(n)] if segments is None else ["offsets[0]", np.uint32(segments)]),
        order.flip,
        order.storage.type((1 << high) - (1 << low)),
        *([keys_out] if keep_keys else []),
        *([payload_out] if carried else []),
    )
    params = {
        **order.options(), "keep_keys": keep_keys, "payload": carried, "payload_bits": payload_bits,
        "payload_out_bits": payload_out_bits, "whole": segments is None,
        "capacity": capacity,
    }  # fmt: skip
    groups = 1 if segments is None else policy.groups(segments, profile.compute_units)
    return Plan(Step(kernel, policy, args, groups, params, bytes_moved=2 * n * order.dtype.itemsize))


def large_segments_plan(
    profile, n, order, segments, windows, *, keep_keys, keys_out, payload, payload_bits, payload_out, payload_out_bits,
    peers="local",
):  # fmt: skip
    """All keys at once, then stably by segment: the number of the segment is the key's most significant digit."""
    by_key, _, sorted_by_key = radix_plan(
        profile, "keys[0]", n, order.dtype, payload="index", keep_keys=False, descending=order.descending,
        windows=windows, peers=peers, prefix="by_key",
    )  # fmt: skip
    kernel = "radix/radix_mark"
    policy = select(profile, kernel, np.dtype(np.uint32), n)
    groups, share = _shares(policy, n, profile)
    marks, marks_by_key = Scratch("segment", np.uint32, n), Scratch("segment_by_key", np.uint32, n)
    mark = Plan(
        Step(kernel, policy, ("offsets[0]", np.uint32(segments), np.uint32(n), np.uint32(share), marks), groups, {},
             bytes_moved=4 * n)
    )  # fmt: skip
    wants_index = payload == "index"
    by_segment, _, indices = radix_plan(
        profile, marks_by_key, n, np.uint32, payload=sorted_by_key, keep_keys=False,
        windows=digit_windows((1 << (segments - 1).bit_length()) - 1), peers=peers, prefix="by_segment",
        payload_out=payload_out if wants_index and not keep_keys else None,
        payload_out_bits=payload_out_bits if wants_index and not keep_keys else 32,
    )  # fmt: skip
    plan = by_key + mark + gather_plan(profile, marks, sorted_by_key, n, 32, marks_by_key) + by_segment
    if keep_keys:
        plan += gather_plan(profile, "keys[0]", indices, n, order.bits, keys_out)
    if payload is not None and not wants_index:
        plan += gather_plan(profile, payload, indices, n, payload_bits, payload_out)
    return plan
