"""Shellsort's variants 0 and A to F, as the study published them.

They differ in the work-items that sort an h-subsequence, the elements h apart. Where an item sorts only a part of it,
several runs remain. B and C stop there. In D, E and F neighbours exchange the elements at their ends and sort again,
until nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.plan import Step
from clgeom.core.policies import Policy, ceil_div
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit
from clgeom.sorting.shellsort.codes import ROUND, Pass

if TYPE_CHECKING:
    from clgeom.core.plan import Argument
    from clgeom.core.profile import DeviceProfile

#: Variants that leave several runs when a last phase has several chunks.
PARTIAL = ("B", "C")
#: Variants with one work-item a group by definition; no policy may change that.
ONE_ITEM = Policy("serial", wg_size=1)
#: Launches of a phase of variant "0": one for each h-subsequence as published, up to so many; then several.
MOST_LAUNCHES = 1024
#: Work-items of a group in variants B, C, D and F: as many as have a chunk, in few sizes, for each is a build.
GROUP_SIZES = (1, 8, 64, 512)
#: Local memory that variants E and F take: every device has as much.
LOCAL_BYTES = 32 << 10


def study_passes(
    profile: DeviceProfile,
    n: int,
    code_bits: int,
    gaps: tuple[int, ...],
    *,
    variant: str,
    most_items: int,
    least_elements: int,
    counting: bool,
    form: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Pass, ...]:
    """Return the passes of a variant for n codes of so many bits, one for each gap. Pure: needs no device.

    An h-subsequence of variants B to F has up to `most_items` chunks of `least_elements` or more. A group of E takes a
    chunk, one of F a part of the h-subsequence that fits in local memory. `form` has parameters of the kernel of D.
    """
    dtype, code_bytes = np.dtype(f"uint{code_bits}"), code_bits // 8
    kernel, exchange_kernel = (f"sorting/shellsort/shell_{name}" for name in (variant.lower(), "exchange"))
    chosen = ONE_ITEM if variant in "0E" else select(profile, kernel, dtype, n)
    exchange = select(profile, exchange_kernel, dtype, n)
    capacity = (min(profile.local_mem_bytes, LOCAL_BYTES) - 256) // code_bytes
    params: dict[str, Any] = {"code_bits": code_bits, "counting": counting}
    more = {"capacity": capacity} if variant in "EF" else dict(form)

    def study_pass(gap: int) -> Pass:
        longest = ceil_div(n, gap)
        chunks = 1 if variant in "0A" else max(1, min(most_items, longest // least_elements))
        largest = ceil_div(longest, chunks)
        if variant == "E" and largest > capacity:
            raise DeviceLimit(
                f"Variant E needs {largest * code_bytes:,} bytes of local memory for chunks of {largest:,} keys at gap "
                f"{gap}, and takes at most {capacity * code_bytes:,}. Raise max_items_per_subsequence, or take another "
                "variant."
            )
        parts = {"E": chunks, "F": ceil_div(longest, capacity)}.get(variant, 1)
        items, groups, policy = ceil_div(chunks, parts), 1 if variant == "0" else gap * parts, chosen
        if variant in "BCDF":
            fitting = next((size for size in GROUP_SIZES if size >= items), policy.wg_size)
            policy = replace(policy, wg_size=min(fitting, policy.wg_size))
        launched = ceil_div(gap, policy.wg_size) if variant == "A" else groups

        def step(*own: Any) -> Step:
            args: tuple[Argument, ...] = ("codes", np.uint32(n), np.uint32(gap), *own, "counts")
            return Step(kernel, policy, args, launched, params | more, 2 * n * code_bytes)

        def sorts(again: int) -> tuple[Step, ...]:
            """Launches that sort every h-subsequence or, once more (`again`), every part of one."""
            if variant == "0":
                share = ceil_div(gap, MOST_LAUNCHES)
                return tuple(step(np.uint32(i), np.uint32(min(i + share, gap))) for i in range(0, gap, share))
            own = {"A": "", "E": "parts again ends", "F": "items parts again ends"}.get(variant, "items").split()
            numbers = {"items": np.uint32(items), "parts": np.uint32(parts), "again": np.uint32(again), "ends": "ends"}
            return (step(*(numbers[name] for name in own)),)

        def exchanges(parity: int) -> Step:
            numbers = map(np.uint32, (n, gap, parts, parity))
            args: tuple[Argument, ...] = ("ends", *numbers, ROUND, "changed", "counts")
            return Step(exchange_kernel, exchange, args, ceil_div(gap * (parts // 2), exchange.wg_size), params)

        rounds = (exchanges(0), exchanges(1)) if parts > 1 else ()
        # Passes of 0 and E are counted once an h-subsequence or phase, those of A to D and F once a group.
        passes = {"0": 1, "A": launched, "F": groups}.get(variant, gap)
        return Pass(
            (gap,),
            (*sorts(0), *rounds),
            (*sorts(1), *rounds) if rounds else (),
            groups,
            items,
            n / (groups * items),
            passes=passes,
            ends=2 * groups if rounds else 1,
        )

    return tuple(map(study_pass, gaps))
