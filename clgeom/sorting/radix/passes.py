"""Plans of a radix sort of keys on the device, pass by pass. Pure: making a plan needs no device.

Least significant digit first, reduce-then-scan, OpenCL 1.2; no work-group waits for another::

    keys ──radix_survey──> which bits vary            one read; constant digits are skipped
         ┌ radix_count    digits per group and digit  ┐
         │ radix_spine    where each of them begins   │ once per digit of 8 bits
         └ radix_scatter  moves keys and payloads     ┘

Keys are sorted by their ordered keys, unsigned integers (``cl_src/keys/key_order.h``) in which -0.0 equals +0.0 and all
NaNs are equal and last; the original bits move. If the caller needs no sorted keys, the passes store ordered keys
instead, and only 32 bits of them once the remaining digits fit in these.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np

from clgeom.runtime.build import compiles
from clgeom.runtime.plan import Plan, Scratch, Step
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.render import render_text
from clgeom.runtime.tuning import select
from clgeom.sorting.keys import KeyOrder

#: Bits of a digit. 11 were faster for 1e6 keys on a CPU (4.0 against 4.9 ms), and slower for 1e7 (48 against 29 ms).
RADIX_BITS = 8
RADIX = 1 << RADIX_BITS
#: Factor of the number of keys in a serial work-item's share.
SERIAL_TILE = 16384


# Which digits to sort by ------------------------------------------------------------------------------------------


def digit_windows(varying: int) -> tuple[tuple[int, int], ...]:
    """(shift, bits) of the digits that cover the set bits of `varying`, from the lowest, skipping constant bits."""
    windows, shift = [], 0
    while varying >> shift:
        shift += (varying >> shift & -(varying >> shift)).bit_length() - 1
        within = varying >> shift & RADIX - 1
        windows.append((shift, within.bit_length()))
        shift += RADIX_BITS
    return tuple(windows)


def survey_plan(profile, keys, n, order, significant=None):
    """Plan of one launch that finds the bits that vary, whether a key is -0.0 or NaN, and whether keys are in order.

    Parameters
    ----------
    profile : DeviceProfile
    keys : str or Scratch
    n : int
    order : KeyOrder
    significant : numpy scalar of ``order.storage``, optional
        A mask of the bits that matter; all by default.

    Returns
    -------
    plan : Plan
    found : Scratch
        For `surveyed`.
    """
    kernel = "sorting/radix/radix_survey"
    policy = select(profile, kernel, order.dtype, n)
    groups, share = shares(policy, n, profile)
    found = Scratch("radix_survey", np.uint64, 3 * groups)
    mask = order.everything if significant is None else significant
    args = (keys, np.uint32(n), np.uint32(share), order.flip, mask, found)
    step = Step(kernel, policy, args, groups, order.options(), bytes_moved=n * order.dtype.itemsize)
    return Plan(step), found


def surveyed(result, found) -> tuple[int, bool, bool]:
    """(bits that vary, whether a float is -0.0 or NaN, whether a key is below the one before it), from a survey."""
    varying, special, descents = np.bitwise_or.reduce(result.read(found).reshape(-1, 3), axis=0).tolist()
    return varying, bool(special), bool(descents)


# The sort ---------------------------------------------------------------------------------------------------------


def radix_plan(
    profile,
    keys,
    n,
    dtype,
    *,
    payload=None,
    keep_keys=True,
    keys_out=None,
    payload_out=None,
    descending=False,
    windows=None,
    special=True,
    digit_match="local",
    prefix="radix",
):
    """Plan of a stable sort of `n` keys on the device, and of a payload, without a read by the host.

    Parameters
    ----------
    profile : DeviceProfile
    keys : str or Scratch
        The keys, a buffer that the caller binds, or memory of an earlier step; never written.
    n : int, 1 to MOST_KEYS
    dtype : numpy.dtype
        Of the keys; one of ``KEY_TYPES``.
    payload : None, "index", or Scratch of uint8, uint16, uint32 or uint64
        "index": the indices of the keys, uint32, as for argsort.
    keep_keys : bool
        False when the sorted keys are not needed; this moves less data.
    keys_out, payload_out : Scratch, optional
        Memory for the results, by default new. Must not be `keys` or `payload`. A `payload_out` of wider integers than
        the payload widens them.
    descending : bool
    windows : tuple of (int, int), optional
        (shift, bits) of the digits to sort by, lowest first, from `digit_windows`; all by default.
    special : bool
        False when it is known that no float key is -0.0 or NaN, so that digits can be turned back into keys.
    digit_match : {"local", "ballot", "match"}
        See `digit_match_of`. Never changes the result.
    prefix : str
        Prefix of the names of scratch memory; plans that run together need different ones.

    Returns
    -------
    plan : Plan
    keys_out, payload_out : Scratch or None
        Memory of the sorted keys (None without `keep_keys`) and of the payload (None without one).

    Examples
    --------
    Indices of points sorted by x, then y: sort by y first, then stably by x::

        x = Scratch("x", np.uint32, n)      # bound below: no new memory
        by_y, _, order = radix_plan(profile, "y", n, np.float32, payload="index", keep_keys=False)
        x_by_y = Scratch("x_by_y", np.uint32, n)
        pick = pick_plan(profile, x, order, x_by_y)
        by_x, _, order = radix_plan(profile, x_by_y, n, np.float32, payload=order, keep_keys=False, prefix="by_x")
        result = run(session, by_y + pick + by_x, x=x_buffer, y=y_buffer)
        result[order]       # uint32 indices
    """
    order, number = KeyOrder(dtype, descending), np.dtype(getattr(payload, "dtype", np.uint32))
    windows = digit_windows((1 << order.bits) - 1) if windows is None else tuple(windows)
    keys_out = keys_out or Scratch(f"{prefix}_keys_out", order.storage, n)
    keys_spare, payload_spare, payload_narrow = Scratch(f"{prefix}_keys", order.storage, n), None, None
    if payload is not None:
        payload_out = payload_out or Scratch(f"{prefix}_payload_out", number, n)
        payload_spare = Scratch(f"{prefix}_payload", number, n)
        # the same memory with the narrow type, for passes before the last: only the last one widens
        room = payload_out.nbytes // payload_spare.dtype.itemsize
        payload_narrow = replace(payload_out, dtype=number, count=room)
    passes = _passes(order, windows or ((0, 0),), keep_keys, special)
    steps, source = [], (keys, payload)
    for left, one in zip(reversed(range(len(passes))), passes):
        if left % 2:
            target = keys_spare, payload_spare
        else:
            target = keys_out, payload_narrow if left else payload_out
        steps += _launches(profile, n, order, one, source, target, digit_match, prefix)
        source = target
    return Plan(*steps), keys_out if keep_keys else None, payload_out


@dataclass(frozen=True)
class _Pass:
    """A pass over keys that are in memory as integers of `bits`, with `flip` and `floating` as in KeyOrder.

    It sorts them by `width` bits from bit `shift` on. `store` is that of the template radix_scatter: keys unchanged
    ("same"), ordered keys of `stored_bits` without their `drop` lowest bits, converted back to "keys", or "none".
    """

    bits: int
    floating: bool
    flip: np.generic
    shift: int
    width: int
    store: str
    stored_bits: int
    drop: int = 0


def _passes(order, windows, keep_keys, special) -> list[_Pass]:
    """The pass of each window.

    Sorting by ordered keys is cheaper than by floats. So the first pass stores them if the last one can convert them
    back to keys, or if the caller needs no keys. In the second case a pass also stores fewer bits once these are enough
    for the passes that follow.
    """
    last, passes = len(windows) - 1, []
    folds = keep_keys and order.floating and not special and last > 0
    bits, floating, flip, gone = order.bits, order.floating, order.flip, 0
    for at, (shift, width) in enumerate(windows):
        store, stored_bits, drop = "same", bits, 0
        if at == last:
            store = "none" if not keep_keys else "keys" if folds else "same"
        elif folds and at == 0:
            store = "ordered"
        elif not keep_keys:
            following, top = windows[at + 1][0], sum(windows[-1])
            stored_bits = min(bits, 32 if top - following <= 32 else 64)
            if floating or stored_bits < bits:
                store, drop = "ordered", following - gone
        passes.append(_Pass(bits, floating, flip, shift - gone, width, store, stored_bits, drop))
        if store == "ordered":
            bits, floating, flip, gone = stored_bits, False, 0, gone + drop
    return passes


def _launches(profile, n, order, one, source, target, digit_match, prefix) -> list[Step]:
    """The three launches of a pass, from one (keys, payload) pair of buffers to another."""
    (keys, payload), (keys_to, payload_to) = source, target
    stored = np.dtype(f"uint{one.bits}")
    moved = payload_parameters(payload, payload_to)
    count = select(profile, "sorting/radix/radix_count", stored, n)
    spine = select(profile, "sorting/radix/radix_spine", stored, n)
    scatter = _scatter_policy(profile, stored, n, max(one.bits, moved["payload_bits"] if payload_to else 0))
    groups, share = shares(scatter, n, profile)
    counts = Scratch(f"{prefix}_counts_of_{groups}", np.uint32, RADIX * groups)
    totals = Scratch(f"{prefix}_totals", np.uint32, RADIX)
    size, digit = (np.uint32(n), np.uint32(share)), (np.uint32(one.shift), np.uint32((1 << one.width) - 1))
    reading = {"key_bits": one.bits, "radix_bits": RADIX_BITS}
    stores, back, carries = one.store != "none", one.store == "keys", moved["payload"] == "carry"
    bits = one.bits + stores * one.stored_bits + carries * moved["payload_bits"]
    bits += moved["payload_out_bits"] if payload_to else 0
    return [
        Step(
            "sorting/radix/radix_count",
            count,
            (keys, *size, stored.type(one.flip), *digit, counts),
            groups,
            {**reading, "key_float": int(one.floating)},
            bytes_moved=n * one.bits // 8,
        ),
        Step(
            "sorting/radix/radix_spine",
            spine,
            (counts, np.uint32(RADIX), np.uint32(groups), totals),
            spine.groups(RADIX, profile.compute_units),
            bytes_moved=2 * counts.nbytes,
        ),
        Step(
            "sorting/radix/radix_scatter",
            scatter,
            (
                keys,
                *([payload] if carries else []),
                *size,
                stored.type(order.flip if back else one.flip),
                *digit,
                np.uint32(one.drop),
                counts,
                totals,
                *([keys_to] if stores else []),
                *([payload_to] if payload_to else []),
            ),
            groups,
            {
                **reading,
                **moved,
                "key_float": int(one.floating or back),
                "load": "ordered" if back else "keys",
                "store": one.store,
                "stored_bits": one.stored_bits,
                "digit_match": "local" if scatter.wg_size < 32 else digit_match,
            },
            bytes_moved=n * bits // 8,
        ),
    ]


def payload_parameters(payload, payload_to) -> dict:
    """Template parameters of kernels that move a payload (None, "index" or Scratch) to Scratch memory."""
    if payload is None:
        return {"payload": "", "payload_bits": 32, "payload_out_bits": 32}
    kind, number = ("index", np.uint32) if isinstance(payload, str) else ("carry", payload.dtype)
    bits, out_bits = (8 * np.dtype(dtype).itemsize for dtype in (number, payload_to.dtype))
    return {"payload": kind, "payload_bits": bits, "payload_out_bits": out_bits}


def shares(policy, n, profile):
    """(number of groups, keys of each group's share). In the group variant a share is a multiple of the tile."""
    tile = SERIAL_TILE if policy.variant == "serial" else policy.tile
    tiles = ceil_div(n, tile)
    share = ceil_div(tiles, policy.groups(tiles, profile.compute_units)) * tile
    return ceil_div(n, share), share


def _scatter_policy(profile, dtype, n, widest_bits):
    """The scatter's policy for keys or payloads of so many bits.

    The table's items have 4 bytes. A work-item takes fewer wider items, and fewer where local memory is small.
    """

    def too_large(p):
        teams = max(p.wg_size // 32, 1)
        needed = max(teams * RADIX * 8, p.tile * widest_bits // 8) + 4 * RADIX * 4
        return needed > profile.local_mem_bytes

    policy = select(profile, "sorting/radix/radix_scatter", dtype, n)
    if policy.variant == "serial":
        return policy
    policy = replace(policy, items_per_thread=max(policy.items_per_thread * 32 // max(widest_bits, 32), 1))
    while too_large(policy) and policy.items_per_thread > 1:
        policy = replace(policy, items_per_thread=policy.items_per_thread // 2)
    while too_large(policy) and policy.wg_size > 1:
        policy = replace(policy, wg_size=policy.wg_size // 2)
    return policy


# How work-items find equal digits ---------------------------------------------------------------------------------


def digit_match_of(session) -> str:
    """How work-items of a team find equal digits: "ballot" where PTX votes compile, else "local"."""
    if select(session.profile, "sorting/radix/radix_scatter").variant == "serial" or session.shuffle != "ptx":
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
