"""Plans of a radix sort of keys on the device. Pure: making a plan needs no device.

Least significant digit first, OpenCL 1.2::

    keys ──radix_survey──> bits that vary             one read; constant digits are skipped
         ┌ radix_count    digits per group and digit  ┐
         │ radix_spine    first index of each         │ once per digit of 8 bits: reduce-then-scan
         └ radix_scatter  moves keys and payloads     ┘

No work-group waits for another. Where a chained scan was measured to be faster, the passes are those of
`clgeom.sorting.radix.chained`, of one launch each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.tuning import select
from clgeom.sorting.keys import KeyOrder
from clgeom.sorting.radix.chained import chained_steps
from clgeom.sorting.radix.moves import (
    RADIX,
    RADIX_BITS,
    Move,
    RadixFeatures,
    digit_windows,
    passes_of,
    shares,
    tile_policy,
)

if TYPE_CHECKING:
    from clgeom.core.profile import DeviceProfile

# Survey -------------------------------------------------------------------------------------------------------------


def survey_plan(
    profile: DeviceProfile, keys: str | Scratch, n: int, order: KeyOrder, significant: np.generic | None = None
) -> tuple[Plan, Scratch]:
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
        For `clgeom.sorting.radix.work.surveyed`.
    """
    kernel = "sorting/radix/radix_survey"
    policy = select(profile, kernel, order.dtype, n)
    groups, share = shares(policy, n, profile)
    found = Scratch("radix_survey", np.uint64, 3 * groups)
    mask = order.everything if significant is None else significant
    args = (keys, np.uint32(n), np.uint32(share), order.flip, mask, found)
    step = Step(kernel, policy, args, groups, order.options(), bytes_moved=n * order.dtype.itemsize)
    return Plan(step), found


# Sort -----------------------------------------------------------------------------------------------------------------


def radix_plan(
    profile: DeviceProfile,
    keys: str | Scratch,
    n: int,
    dtype: DTypeLike,
    *,
    payload: Scratch | str | None = None,
    keep_keys: bool = True,
    keys_out: Scratch | None = None,
    payload_out: Scratch | None = None,
    descending: bool = False,
    windows: tuple[tuple[int, int], ...] | None = None,
    special: bool = True,
    features: RadixFeatures | None = None,
    prefix: str = "radix",
) -> tuple[Plan, Any, Any]:
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
    features : RadixFeatures, optional
        See `clgeom.sorting.radix.work.features_of`; by default those that every device has. Never changes the result.
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
    order, number = KeyOrder(np.dtype(dtype), descending), np.dtype(getattr(payload, "dtype", np.uint32))
    windows = digit_windows((1 << order.bits) - 1) if windows is None else tuple(windows)
    keys_out = keys_out or Scratch(f"{prefix}_keys_out", order.storage, n)
    keys_spare, payload_spare, payload_narrow = Scratch(f"{prefix}_keys", order.storage, n), None, None
    if payload is not None:
        payload_out = payload_out or Scratch(f"{prefix}_payload_out", number, n)
        payload_spare = Scratch(f"{prefix}_payload", number, n)
        # the same memory with the narrow type, for passes before the last: only the last one widens
        room = payload_out.nbytes // number.itemsize
        payload_narrow = replace(payload_out, dtype=number, count=room)
    windows, features = windows or ((0, 0),), features or RadixFeatures()
    moves, source, passes = [], (keys, payload), passes_of(order, windows, keep_keys, special)
    for after, digit_pass in zip(reversed(range(len(passes))), passes):
        if after % 2:
            target = keys_spare, payload_spare
        else:
            target = keys_out, payload_narrow if after else payload_out
        moves.append(Move(order, digit_pass, source, target))
        source = target
    steps = None
    if features.scan == "chain":
        steps = chained_steps(profile, keys, n, order, windows, moves, features, prefix)
    if steps is None:
        steps = [step for move in moves for step in _launches(profile, n, move, features, prefix)]
    return Plan(*steps), keys_out if keep_keys else None, payload_out


def _launches(profile: DeviceProfile, n: int, move: Move, features: RadixFeatures, prefix: str) -> list[Step]:
    """The three launches of a pass."""
    keys, digit_pass = move.inputs[0], move.digit_pass
    count = select(profile, "sorting/radix/radix_count", move.read, n)
    spine = select(profile, "sorting/radix/radix_spine", move.read, n)
    scatter = select(profile, "sorting/radix/radix_scatter", move.read, n)
    if scatter.variant != "serial":
        scatter = tile_policy(profile, scatter, move.widest_bits)
    groups, share = shares(scatter, n, profile)
    counts = Scratch(f"{prefix}_counts_of_{groups}", np.uint32, RADIX * groups)
    totals = Scratch(f"{prefix}_totals", np.uint32, RADIX)
    size, digit = (
        (np.uint32(n), np.uint32(share)),
        (np.uint32(digit_pass.shift), np.uint32((1 << digit_pass.width) - 1)),
    )
    return [
        Step(
            "sorting/radix/radix_count",
            count,
            (keys, *size, move.read.type(digit_pass.flip), *digit, counts),
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
            move.parameters(scatter, features),
            bytes_moved=n * move.bits // 8,
            itemsize=move.read.itemsize,
        ),
    ]
