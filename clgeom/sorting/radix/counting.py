"""Plan of a sort of narrow integers by counting, for CPUs. Pure: making a plan needs no device.

keys ──radix_values──> how often each value occurs ──radix_runs──> sorted keys      no key is moved
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.sorting.radix.moves import shares

if TYPE_CHECKING:
    from clgeom.core.profile import DeviceProfile
    from clgeom.sorting.keys import KeyOrder

VALUES, RUNS = "sorting/radix/radix_values", "sorting/radix/radix_runs"
#: Most bits of keys that are counted.
NARROW = 16
#: Tables of a group, by the bits of a key: two of 256 KB fit in the cache of a core.
TABLES = {8: 4, 16: 2}
#: Least keys of a group's share for each value that it counts.
LEAST = 2


def is_counted(profile: DeviceProfile, order: KeyOrder) -> bool:
    """Whether keys of this order are sorted by counting, if all their bits matter and nothing moves with them."""
    return not order.floating and order.bits <= NARROW and profile.is_cpu


def counting_plan(profile: DeviceProfile, keys: str | Scratch, n: int, order: KeyOrder, keys_out: Scratch) -> Plan:
    """Plan of two launches that sort `n` keys.

    Parameters
    ----------
    profile : DeviceProfile
    keys : str or Scratch
    n : int, at least 1
    order : KeyOrder
        One that `is_counted`.
    keys_out : Scratch
    """
    counting, runs = select(profile, VALUES, order.dtype, n), select(profile, RUNS, order.dtype, n)
    values, tables = 1 << order.bits, TABLES[order.bits]
    share = max(ceil_div(n, profile.compute_units), int(LEAST * values))
    groups = ceil_div(n, share)
    counts = Scratch(f"radix_values_of_{groups}", np.uint32, groups * tables * values)
    count = Step(
        VALUES,
        counting,
        (keys, np.uint32(n), np.uint32(share), counts),
        groups,
        {"key_bits": order.bits, "tables": tables},
        bytes_moved=n * order.dtype.itemsize,
    )
    groups_out, share_out = shares(runs, n, profile)
    write = Step(
        RUNS,
        runs,
        (counts, np.uint32(groups * tables), np.uint32(n), np.uint32(share_out), order.flip, keys_out),
        groups_out,
        {"key_bits": order.bits},
        bytes_moved=n * order.dtype.itemsize,
    )
    return Plan(count, write)
