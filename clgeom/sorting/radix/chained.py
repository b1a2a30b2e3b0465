"""Passes of a radix sort by a chained scan, each of one launch. Pure: making a plan needs no device.

    keys ──clear_words──radix_digits──> how often each digit of every pass occurs    one read
         ──radix_onesweep──> ..         moves keys and payloads                      once per digit of 8 bits

A group finds how often each digit occurs before its tile from the groups before it, which work at the same time. It
waits for none of them: what it lacks for long it counts itself (``cl_src/keys/radix_chain.h``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clgeom.core.plan import Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.sorting.radix.moves import RADIX, RADIX_BITS, shares, tile_policy

if TYPE_CHECKING:
    from clgeom.core.profile import DeviceProfile
    from clgeom.sorting.keys import KeyOrder
    from clgeom.sorting.radix.moves import Move, RadixFeatures, Windows

ONESWEEP = "sorting/radix/radix_onesweep"
#: Most keys of a chained scan: its counts have 30 bits.
MOST_CHAINED = (1 << 30) - 1
#: Local memory for counts, in bytes. More copies of a count were not faster.
LOCAL_BYTES = 32 << 10


def chained_steps(
    profile: DeviceProfile,
    keys: str | Scratch,
    n: int,
    order: KeyOrder,
    windows: Windows,
    moves: list[Move],
    features: RadixFeatures,
    prefix: str,
) -> list[Step] | None:
    """The launches that count all digits, and of all passes; None where there is no room, or too many keys.

    `chain` has for each window a number of tiles and the counts of its digits, and then twice `cells` words of tiles.
    """
    shapes = [tile_policy(profile, select(profile, ONESWEEP, move.read, n), move.widest_bits) for move in moves]
    passes, copies = len(moves), _copies(profile, windows)
    if n > MOST_CHAINED or not copies:
        return None
    cells = RADIX * max(ceil_div(n, policy.tile) for policy in shapes)
    cleared = passes * (RADIX + 1) + cells
    chain = Scratch(f"{prefix}_chain_of_{cleared + cells}", np.uint32, cleared + cells)
    clear = Step.over(profile, "primitives/clear_words", (chain, np.uint64(cleared)), cleared, bytes_moved=4 * cleared)
    counting = select(profile, "sorting/radix/radix_digits", order.dtype, n)
    groups, share = shares(counting, n, profile)
    shifts, masks = (
        np.uint64(sum(one << 8 * at for at, one in enumerate(row)))
        for row in zip(*((shift, (1 << width) - 1) for shift, width in windows))
    )
    count = Step(
        "sorting/radix/radix_digits",
        counting,
        (keys, np.uint32(n), np.uint32(share), order.flip, shifts, masks, chain),
        groups,
        {**order.options(), "passes": passes, "copies": copies, "radix_bits": RADIX_BITS},
        bytes_moved=n * order.dtype.itemsize,
    )
    sweeps = (
        Step(
            ONESWEEP,
            policy,
            (
                *(*move.inputs, np.uint32(n), *move.digit),
                *(chain, np.uint32(at), np.uint32(passes), np.uint32(cells)),
                *move.outputs,
            ),
            ceil_div(n, policy.tile),
            move.parameters(policy, features) | {"looks": features.looks, "silent": features.silent},
            bytes_moved=n * move.bits // 8,
            itemsize=move.read.itemsize,
        )
        for at, (move, policy) in enumerate(zip(moves, shapes))
    )
    return [clear, count, *sweeps]


def _copies(profile: DeviceProfile, windows: Windows) -> int:
    """Copies of each count in a group's local memory; 0 where there is room for none."""
    fitting = min(profile.local_mem_bytes, LOCAL_BYTES) // (4 * RADIX * len(windows))
    return min(8, 1 << fitting.bit_length() - 1) if fitting else 0
