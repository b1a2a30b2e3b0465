"""Plans that sort each segment of keys by itself.

    short segments ──radix_segments──> sorted, each in local memory       one launch; also for few keys in all
    others         ──passes by key──> ──passes by index of the segment──> sorted

Pure: making a plan needs no device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clgeom.core.plan import Number, Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.intake.arrays import c_name
from clgeom.primitives.gather import pick_plan
from clgeom.sorting.keys import KeyOrder
from clgeom.sorting.radix.passes import SortMemory, digit_windows, order_plan, payload_parameters, radix_plan, shares

if TYPE_CHECKING:
    from clgeom.core.profile import DeviceProfile
    from clgeom.sorting.radix.passes import RadixFeatures, Windows

#: Capacity for short segments, of which a group sorts several.
SHORT = 32
SHORT_GROUP = 64
#: Capacities of `radix_segments` by variant: most keys of a segment. "serial" needs 20 bytes of private memory for each
#: key. A GPU reserves these for all work-items that can be resident: 90 GB on an H200 for 16384 keys.
CAPACITIES = {"serial": (16384,), "group": (SHORT, 256, 2048)}
SERIAL_ON_GPU = (256,)


def segment_capacity(profile: DeviceProfile, dtype: np.dtype, longest: int | None = None) -> int:
    """Return the capacity of radix_segments for segments of up to `longest` keys, by default the largest one."""
    policy = select(profile, "sorting/radix/radix_segments", dtype, longest or max(CAPACITIES["group"]))
    sizes: Sequence[int] = CAPACITIES[policy.variant]
    if policy.variant == "serial" and not profile.is_cpu:
        sizes = SERIAL_ON_GPU
    if policy.variant == "group":
        fitting = profile.local_mem_bytes // (np.dtype(dtype).itemsize + 2)
        sizes = [1 << min(size.bit_length() - 1, fitting.bit_length() - 1) for size in sizes]
    return max(sizes) if longest is None else min((s for s in sizes if s >= longest), default=max(sizes))


def segments_plan(
    profile: DeviceProfile,
    memory: SortMemory,
    *,
    significant: np.generic | None = None,
    segments: int | None = None,
    longest: int | None = None,
    count: Number | None = None,
) -> Plan:
    """Plan of one launch that sorts segments no longer than the capacity.

    `significant` is a mask of the bits that are compared, all by default. `segments` is the number of segments, whose
    offsets are bound as "offsets[0]", and `longest` the number of keys of the longest; by default all keys are one
    segment, or the first `count` of them.
    """
    order, n, keys_out, payload_out = memory.order, memory.n, memory.keys_out, memory.payload_out
    kernel = "sorting/radix/radix_segments"
    longest = n if segments is None else longest
    policy = select(profile, kernel, order.dtype, longest)
    capacity = segment_capacity(profile, order.dtype, longest)
    team = 1
    if policy.variant == "group":  # short segments: small groups, or teams of a group
        team = min(policy.wg_size, max(capacity // 4, 1))
        several = capacity == SHORT and segments is not None and not policy.wg_size % team
        policy = replace(policy, wg_size=min(policy.wg_size, SHORT_GROUP) if several else team)
    moved = payload_parameters(memory.payload, payload_out)
    args = (
        memory.keys,
        *([memory.payload] if isinstance(memory.payload, Scratch) else []),
        *([count or np.uint32(n)] if segments is None else ["offsets[0]", np.uint32(segments)]),
        order.flip,
        order.everything if significant is None else significant,
        *([keys_out] if keys_out else []),
        *([payload_out] if payload_out else []),
    )
    params = {
        **order.options(),
        **moved,
        "keep_keys": keys_out is not None,
        "whole": segments is None,
        "capacity": capacity,
        "team": team,
    }
    groups = 1 if segments is None else policy.groups(ceil_div(segments, policy.wg_size // team), profile.compute_units)
    return Plan(Step(kernel, policy, args, groups, params, bytes_moved=2 * n * order.dtype.itemsize))


def large_segments_plan(
    profile: DeviceProfile, memory: SortMemory, windows: Windows, segments: int, features: RadixFeatures
) -> Plan:
    """Plan that sorts all keys, then stably by segment: the segment's index is the most significant digit of a key."""
    n = memory.n
    by_key, sorted_by_key = order_plan(
        profile, memory.keys, "index", features, windows=windows, order=memory.order, prefix="by_key"
    )
    number, number_by_key = Scratch("segment", np.uint32, n), Scratch("segment_by_key", np.uint32, n)
    policy = select(profile, "sorting/radix/radix_mark", np.dtype(np.uint32), n)
    groups, share = shares(policy, n, profile)
    args = ("offsets[0]", np.uint32(segments), np.uint32(n), np.uint32(share), number)
    mark = Plan(Step("sorting/radix/radix_mark", policy, args, groups, bytes_moved=4 * n))
    mark += pick_plan(profile, number, sorted_by_key, number_by_key)
    segment_bits = digit_windows((1 << (segments - 1).bit_length()) - 1)
    indices = Scratch("by_segment_payload_out", np.uint32, n)
    if memory.payload == "index" and memory.payload_out:
        indices = memory.payload_out
    by_number = SortMemory(number_by_key, KeyOrder(np.dtype(np.uint32)), sorted_by_key, payload_out=indices)
    by_segment = radix_plan(profile, by_number, windows=segment_bits, features=features, prefix="by_segment")
    plan = by_key + mark + by_segment
    if memory.keys_out:
        plan += pick_plan(profile, memory.keys, indices, memory.keys_out)
    if isinstance(memory.payload, Scratch) and memory.payload_out:
        plan += pick_plan(profile, memory.payload, indices, memory.payload_out)
    return plan


def within_rows_plan(profile: DeviceProfile, indices: str, n: int, length: int, dtype: np.dtype) -> Plan:
    """Return the launch that turns indices into flat keys into indices into their rows, in place."""
    args = indices, np.uint32(n), np.uint32(length)
    moved, params = 2 * n * dtype.itemsize, {"index": c_name(dtype)}
    return Plan(Step.over(profile, "sorting/row_indices", args, n, dtype=dtype, params=params, bytes_moved=moved))
