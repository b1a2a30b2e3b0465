"""Shellsort "auto": one launch for each large gap, one launch for all small gaps, and no iteration.

Earlier gaps bound how far elements can still move (`clgeom.sorting.shellsort.gaps`). So a window with a halo of that
width holds all elements that can move into its core:

- large gaps: whole h-subsequences, in registers (GPU), or in place by vectors across neighbouring ones (CPU);
- middle gaps, on GPUs: windows of a few h-subsequences and many rows in local memory;
- the last gaps: all in one launch, on windows in local memory (GPU) or cache (CPU).
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.plan import Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.sorting.shellsort.codes import ROUND, Pass
from clgeom.sorting.shellsort.gaps import SEQUENCES, displacement, reach

if TYPE_CHECKING:
    from clgeom.core.plan import Argument
    from clgeom.core.policies import Policy
    from clgeom.core.profile import DeviceProfile

SUBSEQUENCES, WINDOWS = "sorting/shellsort/shell_auto_subsequences", "sorting/shellsort/shell_auto_windows"
#: Most bytes of local memory for windows; most devices have as much.
LOCAL_BYTES = 48 << 10
#: Heights of the sorting networks that hold an h-subsequence in registers. 64 keys leave one wave on a SIMD of an AMD
#: GPU, and spill on Intel's, so that these sort 33 rows or more in windows.
BLOCKS = (8, 32, 64)
#: Most keys that one launch sorts on a CPU: 4097 keys took 0.38 ms so, 1.0 ms with a launch for each gap.
SMALL = 8192
#: Least share of a window that is core, after the halo that a gap needs, for the gap to belong to the last launch.
LEAST_CORE = 0.5


def ladder_of(gaps: str | Sequence[int], sequence: tuple[int, ...]) -> tuple[int, ...]:
    """Small gaps for kernels that have them built in: the same for every n, unless the sequence depends on n."""
    if isinstance(gaps, str) and gaps != "shell":
        return tuple(reversed(SEQUENCES[gaps](LOCAL_BYTES)))
    return sequence


def auto_passes(
    profile: DeviceProfile, n: int, code_bits: int, gaps: tuple[int, ...], ladder: tuple[int, ...]
) -> tuple[Pass, ...]:
    """Return the passes of "auto" for n codes of so many bits. Pure: needs no device.

    `ladder` has all gaps that may be in the last launch. After an out-of-place pass, "codes" and "spare" are exchanged.
    """
    policies = [select(profile, kernel, np.dtype(f"uint{code_bits}"), n) for kernel in (SUBSEQUENCES, WINDOWS)]
    return _auto_passes(profile, n, code_bits, gaps, ladder, *policies)


@functools.lru_cache(maxsize=64)
def _auto_passes(*shape: Any) -> tuple[Pass, ...]:
    return tuple(_Shape(*shape).passes())


class _Shape:
    """The common parameters of the passes of one sort, and the shape of each pass."""

    def __init__(
        self,
        profile: DeviceProfile,
        n: int,
        code_bits: int,
        gaps: tuple[int, ...],
        ladder: tuple[int, ...],
        subsequences: Policy,
        windows: Policy,
    ) -> None:
        self.n, self.code_bits, self.gaps, self.units = n, code_bits, gaps, profile.compute_units
        self.most_bytes = profile.max_alloc_bytes
        self.subsequences, self.windows = subsequences, windows
        self.code_bytes = code_bits // 8
        self.lanes = 32 // self.code_bytes
        local = min(profile.local_mem_bytes, LOCAL_BYTES) - 256
        self.tile = max(local // self.code_bytes * 32 // 33 // 128 * 128, 128)  # padded by one element in 32
        self.serial_windows = windows.variant == "serial"
        spills = profile.kind == "gpu" and profile.runtime in ("amd", "intel")
        self.blocks = BLOCKS[:-1] if spills else BLOCKS
        #: An array that one launch sorts.
        self.small = SMALL if self.serial_windows else self.tile
        self.built_in = tuple(gap for gap in ladder if gap < self.small)

    def passes(self) -> list[Pass]:
        """Return the passes: one for each large gap, then one for all small gaps."""
        if self.n <= self.small:
            return [self._last_pass(0, 0, self.n)]
        last, halo = self._last_gaps()
        passes = [self._subsequences_pass(i) for i in range(last)]
        if halo is not None:
            passes.append(self._last_pass(last, halo, self._rows(halo) - 2 * halo))
        return passes

    def _pass(
        self,
        kernel: str,
        args: tuple[Argument, ...],
        groups: int,
        params: dict[str, Any],
        gaps: tuple[int, ...],
        each: float,
        keys_in: int,
        halo: int | None = None,
    ) -> Pass:
        policy = self.subsequences if kernel == SUBSEQUENCES else self.windows
        args, params = ("codes", np.uint32(self.n), *args), {"code_bits": self.code_bits, **params}
        step = Step(kernel, policy, args, groups, params, (keys_in + self.n) * self.code_bytes)
        return Pass(gaps, (step,), (), groups, policy.wg_size, each, keys_in, halo or None)

    # The last gaps, all in one launch

    def _last_gaps(self) -> tuple[int, int | None]:
        """Return the index of the first gap of the last launch, and its halo, the largest that leaves enough core."""
        most = self.windows.items_per_thread if self.serial_windows else self.tile
        for i, gap in enumerate(self.gaps):
            # A halo is at least the smallest earlier gap less one. This alone excludes most gaps without a search.
            if i == 0 or gap not in self.built_in or self.gaps[i - 1] > most:
                continue
            halo = reach(self.gaps[:i])
            if halo is not None and self._rows(halo) - 2 * halo >= LEAST_CORE * self._rows(halo):
                return i, halo
        return len(self.gaps), None

    def _rows(self, halo: int) -> int:
        """Return the rows of a window: as many as fit in local memory; on a CPU so that every lane of every unit has a
        window.
        """
        if not self.serial_windows:
            return self.tile
        return min(self.windows.items_per_thread, ceil_div(self.n, self.lanes * self.units) + 2 * halo)

    def _last_pass(self, at: int, halo: int, core: int) -> Pass:
        """Return the pass of all gaps from index `at` on, in windows of neighbouring elements."""
        gaps, windows, rows = self.gaps[at:], ceil_div(self.n, core), core + 2 * halo
        if not self.serial_windows:
            return self._windows_pass(gaps, 1, 0, halo, core, windows)
        groups = self.windows.groups(ceil_div(windows, self.lanes), self.units)
        groups = max(min(groups, self.most_bytes // (rows * self.lanes * self.code_bytes)), 1)
        memory = Scratch("windows", np.dtype(f"uint{self.code_bits}"), groups * rows * self.lanes)
        first = np.uint32(self.built_in.index(gaps[0]))
        args = (np.uint32(rows), np.uint32(halo), first, memory, "spare")
        return self._pass(WINDOWS, args, groups, {"gaps": self.built_in}, gaps, self.n / groups, windows * rows, halo)

    def _windows_pass(
        self, gaps: tuple[int, ...], gap: int, width_bits: int, halo: int, core: int, groups: int
    ) -> Pass:
        """Return the pass of these gaps, in windows of 2 ** width_bits h-subsequences of gap `gap`, in local memory."""
        first = self.built_in.index(gaps[0] // gap)  # in rows of a window
        args: tuple[Argument, ...] = (*map(np.uint32, (gap, width_bits, halo, core, first)), "spare")
        params, each = {"gaps": self.built_in, "tile": self.tile}, self.tile / self.windows.wg_size
        return self._pass(WINDOWS, args, groups, params, gaps, each, groups * (core + 2 * halo) << width_bits, halo)

    # One gap

    def _subsequences_pass(self, i: int) -> Pass:
        """Return the pass of one gap: by h-subsequences in place, by windows, or by blocks until nothing changes."""
        gap = self.gaps[i]
        gaps, rows = (gap,), ceil_div(self.n, gap)
        if self.subsequences.variant == "serial":
            # The same number of groups for every unit, each with one vector to items_per_thread h-subsequences.
            groups = ceil_div(ceil_div(gap, self.subsequences.items_per_thread), self.units) * self.units
            groups = max(min(groups, gap // self.lanes), 1)
            return self._pass(SUBSEQUENCES, (np.uint32(gap),), groups, {}, gaps, self.n / groups, self.n)
        block = next((block for block in self.blocks if rows <= block), None)
        window = None if block or self.serial_windows else self._window(i, rows)
        if window:
            width_bits, halo, core = window
            groups = ceil_div(gap, 1 << width_bits) * ceil_div(rows, core)
            return self._windows_pass(gaps, gap, width_bits, halo, core, groups)
        settles, block = block is None, block or BLOCKS[1]
        groups = ceil_div(gap * ceil_div(rows, block), self.subsequences.wg_size)

        def blocks(stage: str, offset: int, number: Argument) -> Pass:
            args: tuple[Argument, ...] = (np.uint32(gap), np.uint32(offset), number, "changed")
            params = {"stage": stage, "block": block}
            return self._pass(SUBSEQUENCES, args, groups, params, gaps, min(rows, block), self.n)

        whole = blocks("sort", 0, np.uint32(0))
        if not settles:
            return whole
        merges = blocks("merge", block // 2, ROUND).first + blocks("merge", 0, ROUND).first
        return replace(whole, first=whole.first + merges, further=merges)

    def _window(self, i: int, rows: int) -> tuple[int, int, int] | None:
        """(log2 of the width, halo, core rows) of a gap's cheapest windows; None when no halo is proven to fit."""
        gap, widths = self.gaps[i], [bits for bits in range(9) if 1 << bits < 2 * self.gaps[i]]

        def cost(shape: tuple[int, int, int]) -> float:
            """Elements read, including the rest of the 32-byte memory sectors that contain them."""
            bits, _, core = shape
            return ceil_div(gap, 1 << bits) * ceil_div(rows, core) * (1 + 32 / (self.code_bytes << bits))

        def windows(halo: int) -> list[tuple[int, int, int]]:
            shapes = ((bits, halo, (self.tile >> bits) - 2 * halo) for bits in widths)
            return [shape for shape in shapes if shape[2] > 0]

        shapes = [(bits, 0, rows) for bits in widths if rows <= self.tile >> bits]
        # Whole h-subsequences are preferred if they fit and reads are of at least 32 consecutive bytes.
        if not shapes or (shapes[-1][0] < widths[-1] and self.code_bytes << shapes[-1][0] < 32):
            # No multiple of `gap` below the smallest earlier gap is a sum of earlier gaps: a lower limit of the bound.
            useful = i > 0 and self.gaps[i - 1] // gap <= self.tile
            # Costs grow with the halo: from some halo on, no windows cost less than whole h-subsequences.
            whole = min(map(cost, shapes), default=math.inf)
            most = bisect_left(
                range(self.tile // 2), True, key=lambda halo: whole <= min(map(cost, windows(halo)), default=math.inf)
            )
            halo = displacement(gap, self.gaps[:i], most - 1) if useful and most else None
            shapes += [] if halo is None else windows(halo)
        return min(shapes, key=cost, default=None)
