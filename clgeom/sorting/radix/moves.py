"""What a pass of a radix sort moves, and how: digits, storage of keys between passes, shapes of tiles.

Keys are sorted by their ordered keys, unsigned integers (``cl_src/keys/key_order.h``) in which -0.0 equals +0.0 and all
NaNs are equal and last; the original bits move. If the caller needs no sorted keys, the passes store ordered keys
instead, and only 32 bits of them once the remaining digits fit in these.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clgeom.core.policies import ceil_div

if TYPE_CHECKING:
    from clgeom.core.plan import Scratch
    from clgeom.core.policies import Policy
    from clgeom.core.profile import DeviceProfile
    from clgeom.sorting.keys import KeyOrder

#: Bits of a digit. 11 were faster for 1e6 keys on a CPU (4.0 against 4.9 ms), and slower for 1e7 (48 against 29 ms).
RADIX_BITS = 8
RADIX = 1 << RADIX_BITS
#: Factor of the number of keys in a serial work-item's share.
SERIAL_TILE = 16384
#: Digits to sort by, from the lowest: the first bit and the number of bits of each.
Windows: TypeAlias = tuple[tuple[int, int], ...]
#: What moves with the keys: nothing, their indices ("index"), or memory of unsigned integers.
Payload: TypeAlias = "Scratch | str | None"
#: The keys and the payload that a pass reads, or writes.
Ends: TypeAlias = "tuple[str | Scratch, Payload]"


@functools.lru_cache(maxsize=256)
def digit_windows(varying: int) -> Windows:
    """(shift, bits) of the digits that cover the set bits of `varying`, from the lowest, skipping constant bits."""
    windows, shift = [], 0
    while varying >> shift:
        shift += (varying >> shift & -(varying >> shift)).bit_length() - 1
        within = varying >> shift & RADIX - 1
        windows.append((shift, within.bit_length()))
        shift += RADIX_BITS
    return tuple(windows)


# Passes ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pass:
    """A pass over keys that are in memory as integers of `bits`, with `flip` and `floating` as in KeyOrder.

    It sorts them by `width` bits from bit `shift` on. `store` is that of the template radix_scatter: keys unchanged
    ("same"), ordered keys of `stored_bits` without their `drop` lowest bits, converted back to "keys", or "none".
    """

    bits: int
    floating: int
    flip: np.generic
    shift: int
    width: int
    store: str
    stored_bits: int
    drop: int = 0


def passes_of(order: KeyOrder, windows: Windows, keep_keys: bool, special: bool) -> list[Pass]:
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
        passes.append(Pass(bits, floating, flip, shift - gone, width, store, stored_bits, drop))
        if store == "ordered":
            bits, floating, flip, gone = stored_bits, 0, order.storage.type(0), gone + drop
    return passes


class Move:
    """What a pass moves, for the arguments of its kernel: a (keys, payload) pair of buffers to another."""

    def __init__(self, order: KeyOrder, digit_pass: Pass, source: Ends, target: Ends) -> None:
        (keys, payload), (keys_to, payload_to) = source, target
        self.digit_pass, self.read = digit_pass, np.dtype(f"uint{digit_pass.bits}")
        self.payload = payload_parameters(payload, payload_to)
        stores, self.back, carries = (
            digit_pass.store != "none",
            digit_pass.store == "keys",
            self.payload["payload"] == "carry",
        )
        flip = order.flip if self.back else digit_pass.flip
        self.digit = (
            self.read.type(flip),
            np.uint32(digit_pass.shift),
            np.uint32((1 << digit_pass.width) - 1),
            np.uint32(digit_pass.drop),
        )
        self.inputs = (keys, payload) if carries else (keys,)
        self.outputs = (*([keys_to] if stores else []), *([payload_to] if payload_to else []))
        self.widest_bits = max(digit_pass.bits, self.payload["payload_bits"] if payload_to else 0)
        self.bits = digit_pass.bits + stores * digit_pass.stored_bits + carries * self.payload["payload_bits"]
        self.bits += self.payload["payload_out_bits"] if payload_to else 0

    def parameters(self, policy: Policy, features: RadixFeatures) -> dict[str, Any]:
        """Template parameters of the kernel that moves."""
        return {
            "key_bits": self.digit_pass.bits,
            "radix_bits": RADIX_BITS,
            **self.payload,
            "key_float": int(self.digit_pass.floating or self.back),
            "load": "ordered" if self.back else "keys",
            "store": self.digit_pass.store,
            "stored_bits": self.digit_pass.stored_bits,
            "digit_match": "local" if policy.wg_size < 32 else features.digit_match,
        }


# Shapes ---------------------------------------------------------------------------------------------------------------


def payload_parameters(payload: Payload, payload_to: Any) -> dict[str, Any]:
    """Template parameters of kernels that move a payload (None, "index" or Scratch) to Scratch memory."""
    if payload is None:
        return {"payload": "", "payload_bits": 32, "payload_out_bits": 32}
    kind, number = ("index", np.uint32) if isinstance(payload, str) else ("carry", payload.dtype)
    bits, out_bits = (8 * np.dtype(dtype).itemsize for dtype in (number, payload_to.dtype))
    return {"payload": kind, "payload_bits": bits, "payload_out_bits": out_bits}


def shares(policy: Policy, n: int, profile: DeviceProfile) -> tuple[int, int]:
    """(number of groups, keys of each group's share). In the group variant a share is a multiple of the tile."""
    tile = SERIAL_TILE if policy.variant == "serial" else policy.tile
    tiles = ceil_div(n, tile)
    share = ceil_div(tiles, policy.groups(tiles, profile.compute_units)) * tile
    return ceil_div(n, share), share


def tile_policy(profile: DeviceProfile, policy: Policy, widest_bits: int) -> Policy:
    """The policy of a kernel that orders tiles in local memory, for keys or payloads of so many bits.

    The table's items have 4 bytes. A work-item takes fewer wider items, and fewer where local memory is small.
    """

    def too_large(p: Policy) -> bool:
        teams = max(p.wg_size // 32, 1)
        needed = max(teams * RADIX * 8, p.tile * widest_bits // 8) + 5 * RADIX * 4 + 16
        return needed > profile.local_mem_bytes

    policy = replace(policy, items_per_thread=max(policy.items_per_thread * 32 // max(widest_bits, 32), 1))
    while too_large(policy) and policy.items_per_thread > 1:
        policy = replace(policy, items_per_thread=policy.items_per_thread // 2)
    while too_large(policy) and policy.wg_size > 1:
        policy = replace(policy, wg_size=policy.wg_size // 2)
    return policy


# Features -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RadixFeatures:
    """Features of a device that passes use; none changes a result.

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
