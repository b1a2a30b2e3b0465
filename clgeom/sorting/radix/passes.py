"""Plans of a radix sort of keys on the device, pass by pass. Pure: making a plan needs no device.

Least significant digit first, OpenCL 1.2::

    keys ──radix_survey──> which bits vary            one read; constant digits are skipped
         ┌ radix_count    digits per group and digit  ┐
         │ radix_spine    where each of them begins   │ once per digit of 8 bits: reduce-then-scan
         └ radix_scatter  moves keys and payloads     ┘

No work-group waits for another. Where a chained scan was measured to be faster, the passes are those of
`clgeom.sorting.radix.onesweep`, a launch each.

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
    means=None,
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
    means : Means, optional
        See `means_of`; by default those that every device has. Never changes the result.
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
    windows, means = windows or ((0, 0),), means or Means()
    passes, moves, source = _passes(order, windows, keep_keys, special), [], (keys, payload)
    for left, one in zip(reversed(range(len(passes))), passes):
        if left % 2:
            target = keys_spare, payload_spare
        else:
            target = keys_out, payload_narrow if left else payload_out
        moves.append((one, source, target))
        source = target
    steps = _chained(profile, keys, n, order, windows, moves, means, prefix) if means.scan == "chain" else None
    if steps is None:
        steps = [step for move in moves for step in _launches(profile, n, order, *move, means, prefix)]
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


def _launches(profile, n, order, one, source, target, means, prefix) -> list[Step]:
    """The three launches of a pass, from one (keys, payload) pair of buffers to another."""
    keys, move = source[0], _Move(order, one, source, target)
    count = select(profile, "sorting/radix/radix_count", move.read, n)
    spine = select(profile, "sorting/radix/radix_spine", move.read, n)
    scatter = select(profile, "sorting/radix/radix_scatter", move.read, n)
    if scatter.variant != "serial":
        scatter = tile_policy(profile, scatter, move.widest_bits)
    groups, share = shares(scatter, n, profile)
    counts = Scratch(f"{prefix}_counts_of_{groups}", np.uint32, RADIX * groups)
    totals = Scratch(f"{prefix}_totals", np.uint32, RADIX)
    size, digit = (np.uint32(n), np.uint32(share)), (np.uint32(one.shift), np.uint32((1 << one.width) - 1))
    return [
        Step(
            "sorting/radix/radix_count",
            count,
            (keys, *size, move.read.type(one.flip), *digit, counts),
            groups,
            {"key_bits": one.bits, "radix_bits": RADIX_BITS, "key_float": int(one.floating)},
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
            (*move.inputs, *size, *move.digit, counts, totals, *move.outputs),
            groups,
            move.parameters(scatter, means),
            bytes_moved=n * move.bits // 8,
        ),
    ]


def _chained(profile, keys, n, order, windows, moves, means, prefix) -> list[Step] | None:
    """The launches of all passes where each is one; None where these cannot be."""
    kernel, count = "sorting/radix/radix_onesweep", len(moves)
    copies = min(8, 1 << (min(profile.local_mem_bytes, 32 << 10) // (4 * RADIX * count)).bit_length() - 1)
    if n > MOST_CHAINED or not copies:
        return None
    shapes = []
    for one, source, target in moves:
        move = _Move(order, one, source, target)
        shapes.append((move, tile_policy(profile, select(profile, kernel, move.read, n), move.widest_bits)))
    cells = RADIX * max(ceil_div(n, policy.tile) for _, policy in shapes)
    chain = Scratch(f"{prefix}_chain_of_{cells}_{count}", np.uint32, count * (RADIX + 1) + 2 * cells)
    clear = Step.over(
        profile,
        "primitives/clear_words",
        (chain, np.uint64(chain.count - cells)),
        chain.count - cells,
        bytes_moved=4 * (chain.count - cells),
    )
    digits = select(profile, "sorting/radix/radix_digits", order.dtype, n)
    groups, share = shares(digits, n, profile)
    shifts, masks = (
        np.uint64(sum(one << 8 * at for at, one in enumerate(row)))
        for row in zip(*((shift, (1 << width) - 1) for shift, width in windows))
    )
    counted = Step(
        "sorting/radix/radix_digits",
        digits,
        (keys, np.uint32(n), np.uint32(share), order.flip, shifts, masks, chain),
        groups,
        {**order.options(), "passes": count, "copies": copies, "radix_bits": RADIX_BITS},
        bytes_moved=n * order.dtype.itemsize,
    )
    return [
        clear,
        counted,
        *(
            Step(
                kernel,
                policy,
                (
                    *move.inputs,
                    np.uint32(n),
                    *move.digit,
                    *(chain, np.uint32(at), np.uint32(count), np.uint32(cells)),
                    *move.outputs,
                ),
                ceil_div(n, policy.tile),
                move.parameters(policy, means) | {"looks": means.looks, "silent": means.silent},
                bytes_moved=n * move.bits // 8,
            )
            for at, (move, policy) in enumerate(shapes)
        ),
    ]


class _Move:
    """What a pass moves: from one (keys, payload) pair of buffers to another, for the arguments of its kernel."""

    def __init__(self, order, one, source, target):
        (keys, payload), (keys_to, payload_to) = source, target
        self.one, self.read = one, np.dtype(f"uint{one.bits}")
        self.payload = payload_parameters(payload, payload_to)
        stores, self.back, carries = one.store != "none", one.store == "keys", self.payload["payload"] == "carry"
        flip = order.flip if self.back else one.flip
        self.digit = (
            self.read.type(flip),
            np.uint32(one.shift),
            np.uint32((1 << one.width) - 1),
            np.uint32(one.drop),
        )
        self.inputs = (keys, payload) if carries else (keys,)
        self.outputs = (*([keys_to] if stores else []), *([payload_to] if payload_to else []))
        self.widest_bits = max(one.bits, self.payload["payload_bits"] if payload_to else 0)
        self.bits = one.bits + stores * one.stored_bits + carries * self.payload["payload_bits"]
        self.bits += self.payload["payload_out_bits"] if payload_to else 0

    def parameters(self, policy, means) -> dict:
        """Template parameters of the kernel that moves."""
        return {
            "key_bits": self.one.bits,
            "radix_bits": RADIX_BITS,
            **self.payload,
            "key_float": int(self.one.floating or self.back),
            "load": "ordered" if self.back else "keys",
            "store": self.one.store,
            "stored_bits": self.one.stored_bits,
            "digit_match": "local" if policy.wg_size < 32 else means.digit_match,
        }


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


def tile_policy(profile, policy, widest_bits):
    """The policy of a kernel that orders tiles in local memory, for keys or payloads of so many bits.

    The table's items have 4 bytes. A work-item takes fewer wider items, and fewer where local memory is small.
    """

    def too_large(p):
        teams = max(p.wg_size // 32, 1)
        needed = max(teams * RADIX * 8, p.tile * widest_bits // 8) + 5 * RADIX * 4 + 16
        return needed > profile.local_mem_bytes

    policy = replace(policy, items_per_thread=max(policy.items_per_thread * 32 // max(widest_bits, 32), 1))
    while too_large(policy) and policy.items_per_thread > 1:
        policy = replace(policy, items_per_thread=policy.items_per_thread // 2)
    while too_large(policy) and policy.wg_size > 1:
        policy = replace(policy, wg_size=policy.wg_size // 2)
    return policy


# What passes are made of -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Means:
    """What the passes of a device are made of; no choice changes a result.

    Parameters
    ----------
    digit_match : {"local", "ballot", "match"}
        How work-items of a team find equal digits (``cl_src/keys/digit_match.h``).
    scan : {"reduce", "chain"}
        "reduce": three launches a pass, reduce-then-scan. "chain": one, a chained scan (``cl_src/keys/radix_chain.h``).
    looks : int, at least 1
        How often a group looks at the word of a tile that has told nothing, before it counts the tile's digits itself.
    silent : int
        In tests every how many tiles one tells nothing, as if its group had stalled; 0 for none.
    """

    digit_match: str = "local"
    scan: str = "reduce"
    looks: int = 256
    silent: int = 0


#: Runtimes for whose devices a chained scan was measured to be faster.
CHAINED = ("nvidia",)
#: Most keys of a chained scan: its counts have 30 bits.
MOST_CHAINED = (1 << 30) - 1


def means_of(session) -> Means:
    """The means of a device: "ballot" where PTX votes compile, "chain" where it was measured to be faster."""
    if select(session.profile, "sorting/radix/radix_scatter").variant == "serial" or session.shuffle != "ptx":
        return Means()
    match = _ballot_or_local(session)
    chained = match == "ballot" and session.profile.runtime in CHAINED
    return Means(match, "chain" if chained else "reduce")


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
