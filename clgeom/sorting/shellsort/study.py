"""Shellsort's variants 0 and A to F, as the study published them.

They differ in the work-items that sort an h-subsequence, the elements h apart. Where an item sorts only a part of it,
several runs remain. B and C stop there. In D, E and F neighbours exchange the elements at their ends and sort again,
until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.call import each
from clgeom.core.plan import Step
from clgeom.core.policies import Policy, ceil_div
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit
from clgeom.sorting.shellsort.result import ShellPhase

if TYPE_CHECKING:
    from clgeom.sorting.shellsort.codes import Codes

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


@dataclass(frozen=True)
class StudyPhase:
    """The h-subsequences of gap `gap`, each shared by `parts` of all `groups`.

    `items` of a group's items have elements to sort.
    """

    gap: int
    groups: int
    parts: int
    items: int


def study_phases(
    variant: str, n: int, gaps: tuple[int, ...], most_items: int, least_elements: int, code_bytes: int, capacity: int
) -> tuple[StudyPhase, ...]:
    """Return a StudyPhase for each gap. Pure: needs no device.

    An h-subsequence of variants B to F has up to `most_items` chunks of `least_elements` or more. A chunk (E) or a
    group's part of the h-subsequence (F) has up to `capacity` codes.
    """
    phases = []
    for gap in gaps:
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
        groups = 1 if variant == "0" else gap * parts
        phases.append(StudyPhase(gap, groups, parts, ceil_div(chunks, parts)))
    return tuple(phases)


class Study:
    """A sort of Codes by one variant."""

    def __init__(
        self, codes: Codes, variant: str, gaps: tuple[int, ...], most_items: int, least_elements: int, stats: bool
    ) -> None:
        self.codes, self.variant, self.stats = codes, variant, stats
        profile, code_bytes = codes.session.profile, codes.dtype.itemsize
        self.kernel = f"sorting/shellsort/shell_{variant.lower()}"
        self.policy = ONE_ITEM if variant in "0E" else select(profile, self.kernel, codes.dtype, codes.n)
        self.exchange = select(profile, "sorting/shellsort/shell_exchange", codes.dtype, codes.n)
        self.params = {"code_bits": codes.bits, "counting": stats}
        self.capacity = (min(profile.local_mem_bytes, LOCAL_BYTES) - 256) // code_bytes
        self.phases = study_phases(variant, codes.n, gaps, most_items, least_elements, code_bytes, self.capacity)
        self.rounds = 0

    def run(self, after: Callable[[], None]) -> tuple[ShellPhase, ...]:
        """Sort the codes, gap by gap. `after` is called after each phase."""
        codes, phases = self.codes, self.phases
        shared = max((phase.groups for phase in phases if phase.parts > 1), default=0)
        codes.buffers["ends"] = codes.room(max(2 * shared, 1))
        codes.clear("counts", 1, np.uint64)
        codes.clear("changed", 1)
        made, name = [], self.kernel.rsplit("/", 1)[-1]
        for phase in each(codes.session, phases):
            if self.stats:
                codes.clear("counts", 3 * phase.groups, np.uint64)
            seconds, counted = self._sort(phase), self._counted(phase) if self.stats else {}
            share = codes.n / (phase.groups * phase.items)
            made.append(
                ShellPhase((phase.gap,), phase.groups, phase.items, share, kernel=name, seconds=seconds, **counted)
            )
            after()
        return tuple(made)

    def _sort(self, phase: StudyPhase) -> float | None:
        """Sort all h-subsequences; where several groups share one, until no neighbours have to exchange anything."""
        codes, parts = self.codes, phase.parts
        if parts == 1:
            return codes.run(*self._launches(phase))
        total, again = 0.0, 0
        while True:
            self.rounds += 1
            groups, exchanges = ceil_div(phase.gap * (parts // 2), self.exchange.wg_size), []
            for parity in (0, 1):
                numbers = map(np.uint32, (codes.n, phase.gap, parts, parity, self.rounds))
                args: tuple[Any, ...] = ("ends", *numbers, "changed", "counts")
                exchanges.append(Step("sorting/shellsort/shell_exchange", self.exchange, args, groups, self.params))
            seconds = codes.run(*self._launches(phase, again), *exchanges)
            total += seconds or 0.0
            if codes.read("changed")[0] < self.rounds:
                return None if seconds is None else total
            again = 1

    def _launches(self, phase: StudyPhase, again: int = 0) -> list[Step]:
        """Return the launches that sort every h-subsequence or, once more (`again`), every part of one."""
        gap, items, parts = phase.gap, np.uint32(phase.items), np.uint32(phase.parts)
        if self.variant == "0":
            each = ceil_div(gap, MOST_LAUNCHES)
            ranges = [(i, min(i + each, gap)) for i in range(0, gap, each)]
            return [self._step(phase, map(np.uint32, ends), phase.groups, self.policy) for ends in ranges]
        if self.variant == "A":
            return [self._step(phase, (), ceil_div(gap, self.policy.wg_size), self.policy)]
        own: tuple[Any, ...]
        if self.variant == "E":
            own, policy = (parts, np.uint32(again), "ends"), self.policy
        else:
            own = (items, parts, np.uint32(again), "ends") if self.variant == "F" else (items,)
            fitting = next((size for size in GROUP_SIZES if size >= phase.items), self.policy.wg_size)
            policy = replace(self.policy, wg_size=min(fitting, self.policy.wg_size))
        return [self._step(phase, own, phase.groups, policy)]

    def _step(self, phase: StudyPhase, own: Iterable[Any], groups: int, policy: Policy) -> Step:
        args = ("codes", np.uint32(self.codes.n), np.uint32(phase.gap), *own, "counts")
        params = {**self.params, "capacity": self.capacity} if self.variant in "EF" else self.params
        moved = 2 * self.codes.n * self.codes.dtype.itemsize
        return Step(self.kernel, policy, args, groups, params, moved)

    def _counted(self, phase: StudyPhase) -> dict[str, Any]:
        """Reads, writes and passes that the groups of a phase counted."""
        counts = self.codes.read("counts", 3 * phase.groups, np.uint64).reshape(-1, 3)
        reads, writes, passes = counts.sum(axis=0, dtype=np.uint64).tolist()
        # Passes of 0 and E are counted once an h-subsequence or phase, those of A to D and F once a group.
        once = {"0": 1, "A": ceil_div(phase.gap, self.policy.wg_size), "F": phase.groups}
        return {"reads": reads, "writes": writes, "passes": passes / once.get(self.variant, phase.gap)}
