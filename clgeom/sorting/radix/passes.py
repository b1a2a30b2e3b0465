"""Plans of a radix sort of keys on the device, least significant digit first. Pure: making a plan needs no device.

A survey finds the bits that vary, so that constant digits are skipped. Passes of two kinds move keys and payloads, once
for each digit of 8 bits::

    "reduce"  keys ──radix_count──> digits per group ──radix_spine──> first index of each ──radix_scatter──> ..
              three launches a pass, OpenCL 1.2; no work-group waits for another
    "chain"   keys ──clear_words──radix_digits──> how often each digit of every pass occurs ──radix_onesweep──> ..
              one launch a pass, where that was measured to be faster
    counting  keys ──radix_values──> how often each value occurs ──radix_runs──> sorted keys
              of narrow integers on CPUs; no key is moved

In a chained scan a group finds how often each digit occurs before its tile from the groups before it, which work at the
same time. It waits for none of them: what it lacks for long it counts itself (``cl_src/keys/radix_chain.h``).

Keys are sorted by their ordered keys, unsigned integers (``cl_src/keys/key_order.h``) in which -0.0 equals +0.0 and all
NaNs are equal and last; the original bits move. If the caller needs no sorted keys, the passes store ordered keys
instead, and only 32 bits of them once the remaining digits fit in these.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.sorting.keys import KeyOrder

if TYPE_CHECKING:
    from clgeom.core.policies import Policy
    from clgeom.core.profile import DeviceProfile

#: Bits of a digit. 11 were faster for 1e6 keys on a CPU (4.0 against 4.9 ms), and slower for 1e7 (48 against 29 ms).
RADIX_BITS = 8
RADIX = 1 << RADIX_BITS
#: Factor of the number of keys in a serial work-item's share.
SERIAL_TILE = 16384
#: Most keys of a chained scan: its counts have 30 bits.
MOST_CHAINED = (1 << 30) - 1
#: Local memory for the counts of a chained scan, in bytes for a work-item. More copies of a count were not faster on an
#: NVIDIA H200, in groups of 512; AMD's GPUs, whose groups have 256, then hold 4 waves on a SIMD.
COUNT_BYTES = 64
#: Most bits of keys that are counted, and by the bits of a key the tables of a group: two of 256 KB fit in the cache of
#: a core.
NARROW = 16
TABLES = {8: 4, 16: 2}
#: Least keys of a group's share for each value that it counts.
LEAST_COUNTED = 2
#: Digits to sort by, from the lowest: the first bit and the number of bits of each.
Windows: TypeAlias = tuple[tuple[int, int], ...]
#: The data that move with the keys: none, their indices ("index"), or unsigned integers in memory.
Payload: TypeAlias = Scratch | str | None
#: The keys and the payload that a pass reads, or writes.
Ends: TypeAlias = tuple[str | Scratch, Payload]


@dataclass(frozen=True)
class SortMemory:
    """Memory of a sort, as unsigned integers: keys, their payload, and where both are written; None is not written."""

    keys: Scratch
    order: KeyOrder
    payload: Payload = None
    keys_out: Scratch | None = None
    payload_out: Scratch | None = None

    @property
    def n(self) -> int:
        return self.keys.count


@dataclass(frozen=True)
class RadixFeatures:
    """Features of a device that passes use; none changes a result.

    Parameters
    ----------
    digit_match : {"local", "ballot", "match"}
        How work-items of a team find equal digits (``cl_src/keys/digit_match.h``).
    scan : {"reduce", "chain"}
        The kind of passes.
    looks : int, at least 1
        How often a group looks at the word of a tile that has told nothing, before it counts the tile's digits itself.
    silent : int
        In tests every how many tiles one tells nothing, as if its group had stalled; 0 for none.
    """

    digit_match: str = "local"
    scan: str = "reduce"
    looks: int = 256
    silent: int = 0


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


def survey_plan(
    profile: DeviceProfile, keys: str | Scratch, n: int, order: KeyOrder, significant: np.generic | None = None
) -> tuple[Plan, Scratch]:
    """Plan of one launch that surveys keys, and the memory that `clgeom.sorting.radix.work.read_survey` reads.

    It finds the bits that vary, whether a key is -0.0 or NaN, and whether keys are in order. `significant` is a mask
    of the bits that matter; all by default.
    """
    kernel = "sorting/radix/radix_survey"
    policy = select(profile, kernel, order.dtype, n)
    groups, share = shares(policy, n, profile)
    found = Scratch("radix_survey", np.uint64, 3 * groups)
    mask = order.everything if significant is None else significant
    args = (keys, np.uint32(n), np.uint32(share), order.flip, mask, found)
    step = Step(kernel, policy, args, groups, order.options(), bytes_moved=n * order.dtype.itemsize)
    return Plan(step), found


def radix_plan(
    profile: DeviceProfile,
    memory: SortMemory,
    *,
    windows: Windows | None = None,
    special: bool = True,
    features: RadixFeatures | None = None,
    prefix: str = "radix",
) -> Plan:
    """Plan of a stable sort of keys on the device, and of a payload, without a read by the host.

    - Keys are never written. Less data move if there is no `keys_out`.
    - A `payload_out` of wider integers than the payload widens them.
    - `windows` are the digits to sort by, lowest first, from `digit_windows`; all by default.
    - `special` is False if no float key is -0.0 or NaN, so that digits can be turned back into keys.
    - `features` are those of `clgeom.sorting.radix.work.features_of`, by default those that every device has.
    - `prefix` begins the names of scratch memory; plans that run together need different ones.
    """
    keys, order, n, payload = memory.keys, memory.order, memory.n, memory.payload
    payload_out: Any = memory.payload_out
    windows = digit_windows((1 << order.bits) - 1) if windows is None else tuple(windows)
    keys_out = memory.keys_out or Scratch(f"{prefix}_keys_out", order.storage, n)
    keys_spare, payload_spare, payload_narrow = Scratch(f"{prefix}_keys", order.storage, n), None, None
    if payload is not None:
        number = np.dtype(getattr(payload, "dtype", np.uint32))
        payload_spare = Scratch(f"{prefix}_payload", number, n)
        # the same memory with the narrow type, for passes before the last: only the last one widens
        payload_narrow = replace(payload_out, dtype=number, count=payload_out.nbytes // number.itemsize)
    windows, features = windows or ((0, 0),), features or RadixFeatures()
    moves, source, passes = [], (keys, payload), passes_of(order, windows, memory.keys_out is not None, special)
    for after, digit_pass in zip(reversed(range(len(passes))), passes):
        if after % 2:
            target = keys_spare, payload_spare
        else:
            target = keys_out, payload_narrow if after else payload_out
        moves.append(Move(order, digit_pass, source, target, features))
        source = target
    copies = count_copies(profile, order, n, windows)
    if features.scan == "chain" and n <= MOST_CHAINED and copies:
        steps = _chained_steps(profile, n, order, windows, moves, copies, prefix)
    else:
        steps = [step for move in moves for step in _reduced_steps(profile, n, move, prefix)]
    return Plan(*steps)


def order_plan(
    profile: DeviceProfile,
    keys: Scratch,
    payload: Payload,
    features: RadixFeatures | None = None,
    *,
    windows: Windows | None = None,
    order: KeyOrder | None = None,
    prefix: str = "order",
) -> tuple[Plan, Scratch]:
    """Plan that sorts a payload by keys, unsigned ones by default, without storing these; and its sorted memory.

    Indices of points sorted by x, then y: sort by y first, then stably by x::

        x, y, x_by_y = (Scratch(name, np.uint32, n) for name in ("x", "y", "x_by_y"))     # x and y are bound below
        floats = KeyOrder(np.float32)
        by_y, indices = order_plan(profile, y, "index", order=floats, prefix="by_y")
        pick = pick_plan(profile, x, indices, x_by_y)
        by_x, indices = order_plan(profile, x_by_y, indices, order=floats, prefix="by_x")
        result = run(session, by_y + pick + by_x, x=x_buffer, y=y_buffer)
        result[indices]       # uint32 indices
    """
    out = Scratch(f"{prefix}_payload_out", getattr(payload, "dtype", np.uint32), keys.count)
    memory = SortMemory(keys, order or KeyOrder(np.dtype(keys.dtype)), payload, payload_out=out)
    return radix_plan(profile, memory, windows=windows, features=features, prefix=prefix), out


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
    """Return the pass of each window.

    Sorting by ordered keys is cheaper than by floats. So the first pass stores them if the last one can convert them
    back to keys, or if the caller needs no keys. In the second case a pass also stores fewer bits once these are enough
    for the passes that follow.
    """
    last, passes = len(windows) - 1, []
    converts = keep_keys and order.floating and not special and last > 0
    bits, floating, flip, dropped = order.bits, order.floating, order.flip, 0
    for at, (shift, width) in enumerate(windows):
        store, stored_bits, drop = "same", bits, 0
        if at == last:
            store = "none" if not keep_keys else "keys" if converts else "same"
        elif converts and at == 0:
            store = "ordered"
        elif not keep_keys:
            following, top = windows[at + 1][0], sum(windows[-1])
            stored_bits = min(bits, 32 if top - following <= 32 else 64)
            if floating or stored_bits < bits:
                store, drop = "ordered", following - dropped
        passes.append(Pass(bits, floating, flip, shift - dropped, width, store, stored_bits, drop))
        if store == "ordered":
            bits, floating, flip, dropped = stored_bits, 0, order.storage.type(0), dropped + drop
    return passes


class Move:
    """Arguments of the kernel of a pass, which moves a (keys, payload) pair of buffers to another."""

    def __init__(self, order: KeyOrder, digit_pass: Pass, source: Ends, target: Ends, features: RadixFeatures) -> None:
        (keys, payload), (keys_to, payload_to), self.features = source, target, features
        self.digit_pass, self.read = digit_pass, np.dtype(f"uint{digit_pass.bits}")
        self.payload = payload_parameters(payload, payload_to)
        stores, carries = digit_pass.store != "none", self.payload["payload"] == "carry"
        self.restores_keys = digit_pass.store == "keys"
        flip = order.flip if self.restores_keys else digit_pass.flip
        mask = np.uint32((1 << digit_pass.width) - 1)
        self.digit = self.read.type(flip), np.uint32(digit_pass.shift), mask, np.uint32(digit_pass.drop)
        self.inputs = (keys, payload) if carries else (keys,)
        self.outputs = (*([keys_to] if stores else []), *([payload_to] if payload_to else []))
        payload_bits = self.payload["payload_bits"]
        self.widest_bits = max(digit_pass.bits, payload_bits if payload_to else 0)
        self.bits = digit_pass.bits + stores * digit_pass.stored_bits + carries * payload_bits
        self.bits += self.payload["payload_out_bits"] if payload_to else 0

    def parameters(self, policy: Policy) -> dict[str, Any]:
        """Template parameters of the kernel that moves."""
        return {
            "key_bits": self.digit_pass.bits,
            "radix_bits": RADIX_BITS,
            **self.payload,
            "key_float": int(self.digit_pass.floating or self.restores_keys),
            "load": "ordered" if self.restores_keys else "keys",
            "store": self.digit_pass.store,
            "stored_bits": self.digit_pass.stored_bits,
            "digit_match": "local" if policy.wg_size < 32 else self.features.digit_match,
        }


def payload_parameters(payload: Payload, payload_to: Any) -> dict[str, Any]:
    """Template parameters of kernels that move a payload to Scratch memory."""
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
    """Return the policy of a kernel that orders tiles in local memory, for keys or payloads of so many bits.

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
        policy = replace(policy, wg_size=1 << (policy.wg_size - 1).bit_length() - 1)
    return policy


# Launches -------------------------------------------------------------------------------------------------------------


def _reduced_steps(profile: DeviceProfile, n: int, move: Move, prefix: str) -> list[Step]:
    """Return the three launches of a pass by reduce-then-scan."""
    keys, digit_pass = move.inputs[0], move.digit_pass
    count, spine, scatter = (
        select(profile, f"sorting/radix/radix_{name}", move.read, n) for name in ("count", "spine", "scatter")
    )
    if scatter.variant != "serial":
        scatter = tile_policy(profile, scatter, move.widest_bits)
    groups, share = shares(scatter, n, profile)
    counts = Scratch(f"{prefix}_counts_of_{groups}", np.uint32, RADIX * groups)
    totals = Scratch(f"{prefix}_totals", np.uint32, RADIX)
    size, (_, shift, mask, _) = (np.uint32(n), np.uint32(share)), move.digit
    return [
        Step(
            "sorting/radix/radix_count",
            count,
            (keys, *size, move.read.type(digit_pass.flip), shift, mask, counts),
            groups,
            {"key_bits": digit_pass.bits, "radix_bits": RADIX_BITS, "key_float": int(digit_pass.floating)},
            bytes_moved=n * digit_pass.bits // 8,
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
            move.parameters(scatter),
            bytes_moved=n * move.bits // 8,
            itemsize=move.read.itemsize,
        ),
    ]


def _chained_steps(
    profile: DeviceProfile, n: int, order: KeyOrder, windows: Windows, moves: list[Move], copies: int, prefix: str
) -> list[Step]:
    """Return the launches that count all digits, with so many copies of each count, and of all passes by a chained
    scan.

    `chain` has for each window a number of tiles and the counts of its digits, and then twice `cells` words of tiles.
    """
    sweep = "sorting/radix/radix_onesweep"
    policies = [tile_policy(profile, select(profile, sweep, move.read, n), move.widest_bits) for move in moves]
    passes, cells = len(moves), RADIX * max(ceil_div(n, policy.tile) for policy in policies)
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
        (moves[0].inputs[0], np.uint32(n), np.uint32(share), order.flip, shifts, masks, chain),
        groups,
        {**order.options(), "passes": passes, "copies": copies, "radix_bits": RADIX_BITS},
        bytes_moved=n * order.dtype.itemsize,
    )
    sweeps = (
        Step(
            sweep,
            policy,
            (*move.inputs, np.uint32(n), *move.digit, chain, *map(np.uint32, (at, passes, cells)), *move.outputs),
            ceil_div(n, policy.tile),
            move.parameters(policy) | {"looks": move.features.looks, "silent": move.features.silent},
            bytes_moved=n * move.bits // 8,
            itemsize=move.read.itemsize,
        )
        for at, (move, policy) in enumerate(zip(moves, policies))
    )
    return [clear, count, *sweeps]


def count_copies(profile: DeviceProfile, order: KeyOrder, n: int, windows: Windows) -> int:
    """Return the copies of each count of a chained scan in a group's local memory; 0 where there is room for none."""
    work_items = select(profile, "sorting/radix/radix_digits", order.dtype, n).wg_size
    once = 4 * RADIX * len(windows)
    fitting = min(profile.local_mem_bytes, max(COUNT_BYTES * work_items, once)) // once
    return min(8, 1 << fitting.bit_length() - 1) if fitting else 0


def is_counted(profile: DeviceProfile, order: KeyOrder) -> bool:
    """Return whether keys of this order are sorted by counting if all bits matter and nothing moves with them."""
    return not order.floating and order.bits <= NARROW and profile.is_cpu


def counting_plan(profile: DeviceProfile, memory: SortMemory) -> Plan:
    """Plan of two launches that sort keys, at least one, by counting each value; without a payload."""
    order, n = memory.order, memory.n
    keys_out: Any = memory.keys_out
    counting, runs = (select(profile, f"sorting/radix/radix_{name}", order.dtype, n) for name in ("values", "runs"))
    values, tables, bytes_moved = 1 << order.bits, TABLES[order.bits], n * order.dtype.itemsize
    share = max(ceil_div(n, profile.compute_units), LEAST_COUNTED * values)
    groups = ceil_div(n, share)
    counts = Scratch(f"radix_values_of_{groups}", np.uint32, groups * tables * values)
    args: tuple[Any, ...] = (memory.keys, np.uint32(n), np.uint32(share), counts)
    params = {"key_bits": order.bits, "tables": tables}
    count = Step("sorting/radix/radix_values", counting, args, groups, params, bytes_moved)
    groups_out, share_out = shares(runs, n, profile)
    args = (counts, np.uint32(groups * tables), np.uint32(n), np.uint32(share_out), order.flip, keys_out)
    write = Step("sorting/radix/radix_runs", runs, args, groups_out, {"key_bits": order.bits}, bytes_moved)
    return Plan(count, write)
