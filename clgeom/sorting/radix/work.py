"""How keys are sorted: by NumPy on the host, by which plan on the device, in chunks, or by several devices."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clgeom.core.build import compiles
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch
from clgeom.core.render import render_text
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit
from clgeom.intake.arrays import CHUNK_ALIGN, MOST_ITEMS, to_device
from clgeom.intake.dispatch import Work, dispatch
from clgeom.sorting.arrays import Output, SortInput, store_anywhere
from clgeom.sorting.keys import MOST_KEYS, KeyOrder, as_device_bits, unsigned
from clgeom.sorting.radix.host import Sorted, sorted_on_host
from clgeom.sorting.radix.merge import merge_pieces, whole_segments
from clgeom.sorting.radix.passes import (
    Payload,
    RadixFeatures,
    SortMemory,
    Windows,
    counting_plan,
    digit_windows,
    is_counted,
    radix_plan,
    survey_plan,
)
from clgeom.sorting.radix.segments import large_segments_plan, segment_capacity, segments_plan
from clgeom.sorting.take import take_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from clgeom.core.device import Session
    from clgeom.core.launch import Result
    from clgeom.core.profile import DeviceProfile

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
#: Runtimes for whose devices a chained scan was measured to be faster.
CHAINED = ("nvidia",)

T = TypeVar("T")

#: Words of ``cl_src/keys/radix_chain.h`` are read so; it needs compute capability 7.0.
CHAIN_PROBE = """
kernel void probe(global uint *word)
{
    uint seen;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
    word[1] = seen;
}
"""
BALLOT_PROBE = """
#define WG_SIZE 32
#define LANES 32
#define RADIX_BITS 8
#define RADIX 256
#define CLGEOM_MATCH_ballot 1
#include "keys/digit_match.h"
kernel void probe(global uint *digits)
{
    volatile local uint counts[RADIX];
    for (uint k = get_local_id(0); k < RADIX; k += WG_SIZE)
        counts[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    digits[get_local_id(0)] = team_rank(digits[get_local_id(0)], counts, counts, get_local_id(0));
}
"""


def sort_arrays(inputs: SortInput) -> Sorted:
    """Return the sorted keys and the payload."""
    result: Sorted = sorted_on_host(inputs, sort_arrays) or dispatch(inputs.call, SortWork(inputs))
    return result


class SortWork(Work):
    """A sort of all keys, or of pieces of keys on the host, which the host merges."""

    n: int
    cost: float

    def __init__(self, inputs: SortInput) -> None:
        self.inputs, self.n, self.cost = inputs, inputs.n, float(inputs.keys.nbytes)
        self.least, self.least_cost = LEAST, LEAST_SHARED

    @property
    def kind(self) -> str:
        return f"{self.inputs.caller} {self.inputs.order.dtype}"

    def fits(self, session: Session) -> bool:
        return self.inputs.on_device or self.n <= most_at_once(self.inputs, session)

    def at_once(self, session: Session) -> Sorted:
        return _sort_at_once(self.inputs.of_session(session))

    def in_pieces(self, session: Session) -> Sorted:
        inputs = self.inputs.of_session(session)
        most = most_at_once(inputs, session, np.dtype(np.int64))
        if inputs.offsets is None:
            starts = range(0, inputs.n, most)
            return merge_pieces(inputs, [self.piece(session, start, min(start + most, inputs.n)) for start in starts])
        indices = np.empty(inputs.n, np.int64)
        for begin, end, offsets in whole_segments(inputs.offsets, most):
            _, (_, order) = self._sort_part("argsort", session, begin, end, offsets)
            indices[begin:end] = order + begin
        return inputs.in_order(indices)

    def piece(self, session: Session, start: int, stop: int) -> Sorted:
        alone = self.inputs.alone
        part, (keys, indices) = self._sort_part("sort" if alone else "argsort", session, start, stop)
        return (keys, None) if alone else (part.keys[indices], indices + start)

    def _sort_part(
        self, caller: str, session: Session, start: int, stop: int, offsets: np.ndarray | None = None
    ) -> tuple[SortInput, Sorted]:
        work = SortWork(self.inputs.part(caller, session, start, stop, offsets))
        return work.inputs, work.at_once(session) if work.fits(session) else work.in_pieces(session)

    def join(self, session: Session, results: list[Sorted]) -> Sorted:
        return merge_pieces(self.inputs, results)


def most_at_once(inputs: SortInput, session: Session, payload_type: np.dtype | None = None) -> int:
    """Return the most host keys of one chunk, with the memory that sorting them and this payload, by default theirs,
    needs.

    Kernels read each array in one chunk. There may be one more offset than keys.
    """
    payload_type, segments = payload_type or inputs.payload_type, inputs.offsets is not None
    payload = 0 if payload_type is None else payload_type.itemsize
    most = most_keys(session.profile, inputs.order.dtype.itemsize, payload, 4 if segments else 1)
    return max(most - segments, 1)


def most_keys(device: DeviceProfile, key: int, payload: int, least: int = 1) -> int:
    """Return the most keys of so many bytes that one sort takes, each with so many bytes of payload."""
    by_allocation = device.max_alloc_bytes // max(key, payload, least)
    by_memory = device.global_mem_bytes // 10 * 9 // (3 * (key + payload) + 8)
    most = min(by_allocation, by_memory, MOST_ITEMS)
    return max(most // CHUNK_ALIGN * CHUNK_ALIGN, min(most, CHUNK_ALIGN))


# By kernels -----------------------------------------------------------------------------------------------------------


def _sort_at_once(inputs: SortInput) -> Sorted:
    """Return the sorted keys and the payload, by one device at once."""
    if inputs.n > MOST_KEYS:
        raise DeviceLimit(
            f"{inputs.caller} takes at most {MOST_KEYS:,} keys on the device. Got {inputs.n:,}; as a NumPy array they "
            "are sorted in chunks."
        )
    sort = DeviceSort(inputs)
    if inputs.n:
        run(inputs.session, sort.plan(), **sort.buffers)
    payload = sort.payload_out.result() if sort.payload_out else None
    if inputs.picks:  # before any result is written: out may be the values
        values = inputs.values
        if inputs.on_device:
            payload = take_rows(inputs.session, values, payload, inputs.n, values.shape[1:])
        else:
            payload = values[payload]
    keys = sort.keys_out.result() if sort.keys_out else None
    return keys, store_anywhere(inputs.session, inputs.outs[1], payload) if inputs.picks else payload


class DeviceSort:
    """The memory of a sort by one device, and the plan for its keys.

    Attributes
    ----------
    keys_out, payload_out : Output or None
        Memory for the sorted keys and for the payload; None for what the call does not have.
    buffers : dict
        Buffers by the names in the plan. They are kept until the end: kernels may read the caller's memory.
    """

    def __init__(self, inputs: SortInput) -> None:
        self.inputs, self.session, n = inputs, inputs.session, inputs.n
        self.features = features_of(self.session)
        sources = [inputs.keys] if inputs.values is None else [inputs.keys, inputs.values]
        output = functools.partial(Output, self.session, n=n, sources=sources, wait=inputs.offsets is not None)
        self.keys_out = self.payload_out = None
        if inputs.caller != "argsort":
            self.keys_out = output(dtype=inputs.order.dtype, out=inputs.outs[0])
        if inputs.payload_type is not None:
            self.payload_out = output(dtype=inputs.payload_type, out=None if inputs.picks else inputs.outs[1])
        self.buffers: dict[str, Any] = {"keys": self._as_bits(inputs.keys, "keys")}
        payload: Payload = "index" if self.payload_out else None
        if inputs.carried is not None:
            bits = inputs.carried.view(unsigned(inputs.carried.dtype))  # moved as they are, whatever their byte order
            self.buffers["payload"] = self._as_bits(bits, "values")
            payload = Scratch("payload[0]", self.buffers["payload"].dtype, n)
        outs = []
        for name, out in (("keys_out", self.keys_out), ("payload_out", self.payload_out)):
            outs.append(None if out is None else Scratch(name, unsigned(out.dtype), n))
            if out:
                self.buffers[name] = out.buffer
        if inputs.offsets is not None:
            self.buffers["offsets"] = to_device(self.session, inputs.offsets.astype(np.uint32), caller=inputs.caller)
        self.memory = SortMemory(Scratch("keys[0]", inputs.order.storage, n), inputs.order, payload, *outs)

    def _as_bits(self, array: Any, name: str) -> Any:
        """Keys or values as unsigned integers in memory that kernels read."""
        if self.inputs.on_device:
            return as_device_bits(self.session, array, caller=self.inputs.caller, name=name)
        return to_device(self.session, array.view(unsigned(array.dtype)), caller=self.inputs.caller)

    def plan(self) -> Plan:
        """Return the plan for these keys, after a survey of them where it depends on their values."""
        inputs, profile, memory = self.inputs, self.session.profile, self.memory
        if inputs.offsets is None:
            significant = None if inputs.key_bits is None else inputs.significant
            moved = memory.payload, memory.keys_out, memory.payload_out
            types = tuple(one and getattr(one, "dtype", one) for one in moved)
            key = plan_key(self.features, inputs.n, inputs.order.dtype, inputs.order.descending, significant, types)

            def make() -> Plan | None:
                plan = fixed_plan(profile, memory, self.features, significant)
                return None if plan is None else plan.kept()

            return self._cached(key, make) or self._surveyed_plan()
        segments, longest = len(inputs.offsets) - 1, int(np.diff(inputs.offsets).max())
        if longest <= segment_capacity(profile, inputs.order.dtype):
            return segments_plan(profile, memory, significant=inputs.significant, segments=segments, longest=longest)
        varying, _, _ = self._survey(inputs.n)
        args = memory, digit_windows(varying), segments, self.features
        return self._cached(("plans of large segments", *args), lambda: large_segments_plan(profile, *args).kept())

    def _cached(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        result: T = self.session.cached(key, make, most=MOST_PLANS, policies=True)
        return result

    def _surveyed_plan(self) -> Plan:
        """Return the cached plan of the passes over the digits that vary."""
        windows, special = digit_windows(int(self.inputs.significant)), True
        if self.features.scan != "chain" or self._needs_survey(windows):
            varying, special, descents = self._survey(self.inputs.n)
            windows = digit_windows(varying) if descents else ()
        key = "plans of surveyed sorts", self.memory, windows, special, self.features
        options: dict[str, Any] = {"windows": windows, "special": special, "features": self.features}
        return self._cached(key, lambda: radix_plan(self.session.profile, self.memory, **options).kept())

    def _needs_survey(self, windows: Windows) -> bool:
        """Return whether to survey all keys before chained passes: if these are many, and a sample does not tell all
        there is.

        If bits of every digit vary in the sample, and it is not in order, then no pass can be left out. Of float64 it
        is also worth knowing that no key is -0.0 or NaN: passes over ordered keys are quicker (H200, 1e8: 6.4 against
        7.2 ms).
        """
        inputs, order = self.inputs, self.inputs.order
        if inputs.n * order.dtype.itemsize < SURVEYED_BYTES:
            return False
        if order.floating and order.bits == 64 and inputs.caller != "argsort":
            return True
        varying, _, descents = self._survey(min(SAMPLE, inputs.n))
        return not descents or len(digit_windows(varying)) < len(windows)

    def _survey(self, n: int) -> tuple[int, bool, bool]:
        """Return what `survey` returns, of the first n keys."""
        return survey(self.session, self.memory.keys, n, self.inputs.order, self.buffers, self.inputs.significant)


def fixed_plan(
    profile: DeviceProfile, memory: SortMemory, features: RadixFeatures, significant: np.generic | None = None
) -> Plan | None:
    """Plan of a sort independent of key values; None where a survey of the keys comes first.

    `significant` is a mask of the bits that are compared, all by default.
    """
    n, order = memory.n, memory.order
    if n <= segment_capacity(profile, order.dtype):
        return segments_plan(profile, memory, significant=significant)
    if memory.payload is None and significant is None and is_counted(profile, order):
        return counting_plan(profile, memory)
    if features.scan == "chain" and n * order.dtype.itemsize < SURVEYED_BYTES:
        windows = digit_windows(int(order.everything if significant is None else significant))
        return radix_plan(profile, memory, windows=windows, features=features)
    return None


def plan_key(features: RadixFeatures, *what: Any) -> tuple[Any, ...]:
    """Return the key of a plan independent of key values: by number and type of keys, direction, bits, types moved."""
    return "plans of sorts", SURVEYED_BYTES, features, *what


def survey(
    session: Session,
    keys: str | Scratch,
    n: int,
    order: KeyOrder,
    buffers: dict[str, Any],
    significant: np.generic | None = None,
) -> tuple[int, bool, bool]:
    """Survey keys in these buffers, and wait; return what `read_survey` returns."""

    def make() -> tuple[Plan, Scratch]:
        plan, found = survey_plan(session.profile, keys, n, order, significant)
        return plan.kept(), found

    plan, found = session.cached(("surveys of keys", keys, n, order, significant), make, most=MOST_PLANS, policies=True)
    return read_survey(run(session, plan, **buffers), found)


def read_survey(result: Result, found: Scratch) -> tuple[int, bool, bool]:
    """(bits that vary, whether a float is -0.0 or NaN, whether a key is below the one before it), from a survey."""
    varying, special, descents = np.bitwise_or.reduce(result.read(found).reshape(-1, 3), axis=0).tolist()
    return varying, bool(special), bool(descents)


def features_of(session: Session) -> RadixFeatures:
    """Return the features of a device: "ballot" where PTX votes compile, "chain" where it was measured to be faster."""

    def probe() -> RadixFeatures:
        if session.shuffle != "ptx" or not compiles(session, render_text(BALLOT_PROBE)):
            return RadixFeatures()
        chained = session.profile.runtime in CHAINED and compiles(session, CHAIN_PROBE)
        return RadixFeatures("ballot", "chain" if chained else "reduce")

    def make() -> RadixFeatures:
        if select(session.profile, "sorting/radix/radix_scatter").variant == "serial":
            return RadixFeatures()
        probed: RadixFeatures = session.cached(("probes for sorts",), probe)
        return probed

    features: RadixFeatures = session.cached(("features of sorts",), make, policies=True)
    return features
