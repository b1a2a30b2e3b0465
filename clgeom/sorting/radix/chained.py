"""Passes of a radix sort by a chained scan, each of one launch. Pure: making a plan needs no device.

    keys ──clear_words──radix_digits──> how often each digit of every pass occurs    one read
         ──radix_onesweep──> ..         moves keys and payloads                      once per digit of 8 bits

A group finds how often each digit occurs before its tile from the groups before it, which work at the same time. It
waits for none of them: what it lacks for long it counts itself (``cl_src/keys/radix_chain.h``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clgeom.runtime.plan import Plan, Scratch, Step
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select
from clgeom.sorting.radix.moves import RADIX, RADIX_BITS, shares, tile_policy

ONESWEEP = "sorting/radix/radix_onesweep"
#: Most keys of a chained scan: its counts have 30 bits.
MOST_CHAINED = (1 << 30) - 1
#: Local memory for counts, in bytes. More copies of a count were not faster.
LOCAL_BYTES = 32 << 10


@dataclass(frozen=True)
class Counted:
    """Counts of the digits of some windows.

    Parameters
    ----------
    chain : Scratch
        For each window a number of tiles, 0, and the counts of its digits; then twice `cells` words of tiles, of which
        the first are 0.
    windows : tuple of (int, int)
    cells : int
    """

    chain: Scratch
    windows: tuple[tuple[int, int], ...]
    cells: int


def count_plan(profile, keys, n, order, windows, widest_bits, *, found=None, prefix="radix"):
    """Plan that counts the digits of all windows; None where a chained scan cannot be.

    Parameters
    ----------
    profile : DeviceProfile
    keys : str or Scratch
    n : int
    order : KeyOrder
    windows : tuple of (int, int)
        (shift, bits) of each digit.
    widest_bits : int
        Of the keys and payloads that the passes will move.
    found : Scratch, optional
        Memory for what a survey finds, as that of `survey_plan`; 3 words for each of `survey_groups`.
    prefix : str

    Returns
    -------
    plan : Plan
    counted : Counted
    """
    copies = _copies(profile, windows)
    if n > MOST_CHAINED or not copies:
        return None
    smallest = tile_policy(profile, select(profile, ONESWEEP, order.storage, n), widest_bits)
    cells = RADIX * ceil_div(n, smallest.tile)
    words = len(windows) * (RADIX + 1) + 2 * cells
    counted = Counted(Scratch(f"{prefix}_chain_of_{words}", np.uint32, words), windows, cells)
    cleared = words - cells
    clear = Step.over(
        profile,
        "primitives/clear_words",
        (counted.chain, np.uint64(cleared)),
        cleared,
        bytes_moved=4 * cleared,
    )
    groups, share = survey_groups(profile, n, order)
    shifts, masks = (
        np.uint64(sum(one << 8 * at for at, one in enumerate(row)))
        for row in zip(*((shift, (1 << width) - 1) for shift, width in windows))
    )
    digits = Step(
        "sorting/radix/radix_digits",
        select(profile, "sorting/radix/radix_digits", order.dtype, n),
        (
            *(keys, np.uint32(n), np.uint32(share), order.flip, shifts, masks, counted.chain),
            *([found] if found else []),
        ),
        groups,
        {
            **order.options(),
            "passes": len(windows),
            "copies": copies,
            "radix_bits": RADIX_BITS,
            "survey": int(found is not None),
        },
        bytes_moved=n * order.dtype.itemsize,
    )
    return Plan(clear, digits), counted


def _copies(profile, windows) -> int:
    """Copies of each count in a group's local memory; 0 where there is room for none."""
    fitting = min(profile.local_mem_bytes, LOCAL_BYTES) // (4 * RADIX * len(windows))
    return min(8, 1 << fitting.bit_length() - 1) if fitting else 0


def survey_groups(profile, n, order) -> tuple[int, int]:
    """(number of groups, keys of each group's share) of `count_plan`."""
    return shares(select(profile, "sorting/radix/radix_digits", order.dtype, n), n, profile)


def chained_steps(profile, keys, n, order, windows, moves, means, counted, prefix) -> list[Step] | None:
    """The launches of all passes, and before them those that count digits not yet `counted`; None if impossible."""
    shapes = [tile_policy(profile, select(profile, ONESWEEP, move.read, n), move.widest_bits) for move in moves]
    steps = []
    if counted is None:
        widest_bits = max(order.bits, *(move.widest_bits for move in moves))
        made = count_plan(profile, keys, n, order, windows, widest_bits, prefix=prefix)
        if made is None:
            return None
        steps, counted = made
    numbers = {window: row for row, window in enumerate(counted.windows)}
    # a window of no bits has one digit, 0, before which no keys are: any row will do
    rows, count = [numbers[window] if window[1] else 0 for window in windows], np.uint32(len(numbers))
    return [
        *steps,
        *(
            Step(
                ONESWEEP,
                policy,
                (
                    *(*move.inputs, np.uint32(n), *move.digit, counted.chain),
                    *(np.uint32(row), count, np.uint32(at % 2), np.uint32(counted.cells)),
                    *move.outputs,
                ),
                ceil_div(n, policy.tile),
                move.parameters(policy, means) | {"looks": means.looks, "silent": means.silent},
                bytes_moved=n * move.bits // 8,
            )
            for at, (row, move, policy) in enumerate(zip(rows, moves, shapes))
        ),
    ]
