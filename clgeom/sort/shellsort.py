"""Shellsort on the device: the variants 0 and A to F of a published study, and "auto", our own.

A pass with gap h sorts the array's h columns, elements h apart; the gaps shrink to 1. Keys are sorted as codes:
unsigned integers that compare as the keys do (``cl_src/key_order.h``), so that an unstable sort has one answer::

    keys ──encode──> codes ──a phase for each gap──> codes ──decode──> sorted keys

The variants of the study differ in who sorts a column:

===== ============================================================================================== =========
"0"   one work-item sorts every column of every phase                                                full sort
"A"   a work-item for each column                                                                    full sort
"B"   several items for a column, each its own chunk of it                                           no
"C"   B with the insertion from the largest element down                                             no
"D"   B, and neighbouring chunks exchange end elements until nothing changes                         full sort
"E"   D with private chunks: each item has a work-group and local memory of its own                  full sort
"F"   D with resident segments: a work-group keeps its part of a column in local memory until settled full sort
===== ============================================================================================== =========

"auto" has a kernel for each kind of gap and does not iterate. Earlier gaps prove how far elements can still have to go
(`clgeom.sort.gaps`), so a window with a halo that wide holds all that its core can need:

- large gaps: whole columns, in registers (GPU), or by vectors of neighbouring columns in place (CPU);
- middle gaps, on GPUs: windows of a few columns and many rows in local memory;
- the last gaps: all in one launch, on windows in local memory (GPU) or cache (CPU).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace

import numpy as np

from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.runtime.arrays import is_device_array, session_of
from clgeom.runtime.launch import Plan, Scratch, Step, allocate, fill, in_place, read, run, show_host
from clgeom.runtime.policies import Policy, ceil_div
from clgeom.runtime.tuning import select
from clgeom.sort.gaps import SEQUENCES, displacement, gaps_for, reach
from clgeom.sort.keys import KeyOrder, as_device_bits, as_key_array

VARIANTS = ("auto", "0", "A", "B", "C", "D", "E", "F")
#: Variants that leave several runs when a last phase has several chunks.
PARTIAL = ("B", "C")
#: Positions are uint32, with room above them for the last row of a block.
MOST_KEYS = (1 << 32) - (1 << 20)
#: Where a variant is one work-item to a group by definition, no policy may change it.
ONE_ITEM = Policy("serial", wg_size=1)
#: Launches of a phase of variant "0": one for each column as published, up to so many; then several columns each.
MOST_LAUNCHES = 1024
#: Work-items of a group in variants B, C, D and F: as many as have a chunk, in few sizes, for each is a build.
GROUP_SIZES = (1, 8, 64, 512)
#: Local memory that variants E and F take, and the most that "auto" takes: safe on every device, and on most.
STUDY_LOCAL_BYTES, AUTO_LOCAL_BYTES = 32 << 10, 48 << 10
#: Heights of the sorting networks that hold a column in registers.
BLOCKS = (8, 32, 64)
#: Arrays of so many keys are one launch on a CPU: 4097 keys took 0.38 ms so, 1.0 ms with a launch for each gap.
SMALL = 8192
#: A gap belongs to the last launch if the halo that it needs leaves at least this share of a window as core.
LEAST_CORE = 0.5


@dataclass(frozen=True)
class ShellPhase:
    """What one phase was and took.

    Parameters
    ----------
    gaps : tuple of int
        The gap of the phase; several where "auto" runs the last ones in one launch.
    groups, items_per_group : int
        Work-groups, and the items of each that have elements to sort.
    elements_per_item : float
        Mean number of elements that an item sorts.
    passes : float or None
        How often a group sorted its elements, on average. With ``stats=True``, and always 1 for "auto".
    reads, writes : int or None
        Keys read from and written to global memory, in all. With ``stats=True``; "auto" counts keys that its launches
        bring in and put out, not how often a cached one is used.
    halo : int or None
        Rows around each window that "auto" proved to be enough; None where columns are sorted whole.
    kernel : str
    seconds : float or None
        Time on the device, with ``profile=True``.
    """

    gaps: tuple[int, ...]
    groups: int
    items_per_group: int
    elements_per_item: float
    passes: float | None = None
    reads: int | None = None
    writes: int | None = None
    halo: int | None = None
    kernel: str = ""
    seconds: float | None = None

    @property
    def gap(self) -> int:
        """The (first) gap."""
        return self.gaps[0]

    @property
    def items(self) -> int:
        """Work-items in all."""
        return self.groups * self.items_per_group

    def asdict(self) -> dict:
        """The phase as plain values, ready for JSON."""
        return {**vars(self), "gaps": list(self.gaps)}


@dataclass(frozen=True, repr=False)
class ShellsortResult:
    """A sorted array, and how it was sorted.

    Parameters
    ----------
    keys : ndarray or pyopencl.array.Array, shape (n,)
        The result, of the type and in the place of what was given.
    variant : str
    gaps : tuple of int
        All gaps used, largest first.
    is_sorted : bool
        Whether `keys` is in order: always, but for variants B and C.
    phases : tuple of ShellPhase
    """

    keys: object
    variant: str
    gaps: tuple[int, ...]
    is_sorted: bool
    phases: tuple[ShellPhase, ...] = field(default=())

    @property
    def seconds(self) -> float | None:
        """Device time of all phases, None when not profiled. Encoding and decoding are left out."""
        times = [phase.seconds for phase in self.phases]
        return None if not times or None in times else sum(times)

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.gaps[:3])) + (", .. 1" if len(self.gaps) > 3 else "")
        took = "" if self.seconds is None else f", {self.seconds * 1e3:.3g} ms"
        return (
            f"ShellsortResult({len(self.keys):,} keys of {self.keys.dtype}, variant {self.variant!r}, "
            f"{len(self.gaps)} gaps ({shown}), {len(self.phases)} phases, "
            f"{'sorted' if self.is_sorted else 'not sorted'}{took})"
        )


def shellsort(
    keys, *, variant="auto", gaps="sedgewick86", max_items_per_subsequence=512, min_elements_per_item=1, order=None,
    device=None, stats=False, profile=False,
) -> ShellsortResult:  # fmt: skip
    """Sorted copy of an array, by Shellsort.

    Parameters
    ----------
    keys : array_like or pyopencl.array.Array, shape (n,)
        Integers of 8 to 64 bits, float16, float32 or float64.
    variant : {"auto", "0", "A", "B", "C", "D", "E", "F"}
        See the module's description. "B" and "C" need not sort fully; the result's `is_sorted` says whether they did.
    gaps : str or sequence of int
        "sedgewick86", "sedgewick82", "ciura", "tokuda", "pratt", "lee", "skean", "hibbard", "shell", or decreasing
        integers that end in 1.
    max_items_per_subsequence : int
        Most work-items for a column, in variants B to F.
    min_elements_per_item : int
        Fewest elements for each of them; a column always has one item.
    order : {None, "ascending", "descending"}
        None is ascending. NaN is last either way.
    device : optional
        As everywhere in clgeom.
    stats : bool
        Count passes, reads and writes of each phase (an instrumented build of the kernels).
    profile : bool
        Take the time of each phase.

    Returns
    -------
    ShellsortResult

    Raises
    ------
    InvalidInput
        For another type, shape, variant or order, or gaps that do not decrease to 1.
    DeviceLimit
        When the device has too little memory, or a chunk of variant E does not fit into local memory.

    Notes
    -----
    The order is total, down to the bits: -0.0 before 0.0, NaNs by sign and payload. So the result is the same for
    every full sort, device and work-group shape.

    Examples
    --------
    >>> shellsort([3.0, 1.0, 2.0]).keys
    array([1., 2., 3.])
    """
    keys = as_key_array(keys, of="shellsort")
    variant = _checked_variant(variant)
    items = _checked_count(max_items_per_subsequence, "max_items_per_subsequence")
    elements = _checked_count(min_elements_per_item, "min_elements_per_item")
    if order not in (None, "ascending", "descending"):
        raise InvalidInput(
            f"The 'order' parameter of shellsort must be None, 'ascending' or 'descending'. Got {order!r} instead."
        )
    session = session_of(keys, device)
    n = len(keys)
    key_order = KeyOrder(keys.dtype.newbyteorder("="), order == "descending")
    sequence = gaps_for(gaps, n)
    if n > MOST_KEYS:
        raise DeviceLimit(f"shellsort takes at most {MOST_KEYS:,} keys. Got {n:,} instead.")
    if n < 2:
        return ShellsortResult(keys.copy(), variant, sequence, True)

    job = _Job(session, n, key_order, as_device_bits(session, keys, of="shellsort"), profile)
    if variant == "auto":
        phases = job.run_auto(
            auto_passes(session.profile, n, job.code_bits, sequence, ladder_of(gaps, sequence))
        )
    else:
        phases = job.run_study(study_phases(variant, n, sequence, items, elements), variant, stats)
    is_sorted = variant not in PARTIAL or job.in_order()
    return ShellsortResult(job.decoded(keys), variant, sequence, is_sorted, phases)


def _checked_variant(variant):
    name = variant.upper() if isinstance(variant, str) and variant != "auto" else variant
    if name not in VARIANTS:
        known = ", ".join(repr(v) for v in VARIANTS)
        raise InvalidInput(
            f"The 'variant' parameter of shellsort must be one of {known}. Got {variant!r} instead."
        )
    return name


def _checked_count(value, name):
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidInput(
            f"The '{name}' parameter of shellsort must be a positive integer. Got {value!r} instead."
        )
    return int(value)


# The variants of the study ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StudyPhase:
    """A phase of the study's variants: `gap` columns of up to `longest` elements, each shared by `chunks` items."""

    gap: int
    longest: int
    chunks: int


def study_phases(variant, n, gaps, most_items, least_elements) -> tuple[StudyPhase, ...]:
    """A phase for each gap. Variants 0 and A have one item to a column. Pure: needs no device."""
    phases = []
    for gap in gaps:
        longest = ceil_div(n, gap)
        chunks = 1 if variant in "0A" else max(1, min(most_items, longest // least_elements))
        phases.append(StudyPhase(gap, longest, chunks))
    return tuple(phases)


# Auto -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pass:
    """A phase of "auto": a launch, or rounds of launches until nothing changes where no bound is known (`settle`)."""

    gaps: tuple[int, ...]
    step: Step
    elements_per_item: float
    halo: int | None = None
    out_of_place: bool = False
    settle: bool = False
    keys_in: int = 0


def ladder_of(gaps, sequence) -> tuple[int, ...]:
    """Small gaps, whatever n is, for kernels that have them built in; those of the sequence where it depends on n."""
    if isinstance(gaps, str) and gaps != "shell":
        return tuple(reversed(SEQUENCES[gaps](AUTO_LOCAL_BYTES)))
    return sequence


def auto_passes(profile, n, code_bits, gaps, ladder) -> tuple[Pass, ...]:
    """The passes of "auto" for n codes of so many bits. Pure: needs no device.

    `ladder` has all gaps that may end in the last launch. Passes read "codes" and write there, or to "spare" when they
    are out of place; then the two change roles.
    """
    columns = select(profile, "shellsort/shell_auto_columns", np.dtype(f"uint{code_bits}"), n)
    windows = select(profile, "shellsort/shell_auto_windows", np.dtype(f"uint{code_bits}"), n)
    return _auto_passes(profile, n, code_bits, gaps, ladder, columns, windows)


@functools.lru_cache(maxsize=64)
def _auto_passes(profile, n, code_bits, gaps, ladder, columns, windows):
    shape = _Shape(profile, n, code_bits, gaps, ladder, columns, windows)
    whole = shape.whole_array()
    if whole:
        return (whole,)
    tail = shape.tail_start()
    passes = [shape.column_pass(i) for i in range(len(gaps) if tail is None else tail)]
    if tail is not None:
        passes.append(shape.tail_pass(tail))
    return tuple(passes)


class _Shape:
    """What the passes of one sort have in common, and how each of them is shaped."""

    def __init__(self, profile, n, code_bits, gaps, ladder, columns, windows):
        self.n, self.code_bits, self.gaps, self.units = n, code_bits, gaps, profile.compute_units
        self.most_bytes = profile.max_alloc_bytes
        self.columns, self.windows = columns, windows
        self.code_bytes = code_bits // 8
        self.lanes = 32 // self.code_bytes
        local = min(profile.local_mem_bytes, AUTO_LOCAL_BYTES) - 256
        self.tile = max(local // self.code_bytes * 32 // 33 // 128 * 128, 128)  # padded by one element in 32
        self.serial_windows = windows.variant == "serial"
        limit = SMALL if self.serial_windows else self.tile
        self.built_in = tuple(gap for gap in ladder if gap < limit)

    # The last gaps, all in one launch

    def whole_array(self) -> Pass | None:
        """All gaps in one launch, when the array is small or fits into local memory."""
        if self.n > (SMALL if self.serial_windows else self.tile):
            return None
        return self._tail(self.gaps, 0, self.n)

    def tail_start(self) -> int | None:
        """Index of the first gap that the last launch runs: that with the largest halo that leaves enough core."""
        most = self.windows.items_per_thread if self.serial_windows else self.tile
        for i, gap in enumerate(self.gaps):
            # A halo is no narrower than the smallest earlier gap, less one: most need no search to be too wide.
            if i == 0 or gap not in self.built_in or self.gaps[i - 1] > most:
                continue
            halo = reach(self.gaps[:i])
            if halo is not None and self._core(halo) >= LEAST_CORE * self._rows(halo):
                return i
        return None

    def tail_pass(self, start) -> Pass:
        halo = reach(self.gaps[:start])
        return self._tail(self.gaps[start:], halo, self._core(halo))

    def _rows(self, halo):
        """Rows of a window: those of local memory, or (CPU) so many that every lane of every unit has one."""
        if not self.serial_windows:
            return self.tile
        return min(self.windows.items_per_thread, ceil_div(self.n, self.lanes * self.units) + 2 * halo)

    def _core(self, halo):
        return self._rows(halo) - 2 * halo

    def _tail(self, gaps, halo, core):
        kernel = "shellsort/shell_auto_windows"
        first = np.uint32(self.built_in.index(gaps[0]))
        windows = ceil_div(self.n, core)
        rows = core + 2 * halo
        params = {"code_bits": self.code_bits, "gaps": self.built_in}
        moved = (windows * rows + self.n) * self.code_bytes
        if self.serial_windows:
            batches = ceil_div(windows, self.lanes)
            groups = self.windows.groups(batches, self.units)
            groups = max(min(groups, self.most_bytes // (rows * self.lanes * self.code_bytes)), 1)
            memory = Scratch("windows", np.dtype(f"uint{self.code_bits}"), groups * rows * self.lanes)
            args = ("codes", np.uint32(self.n), np.uint32(rows), np.uint32(halo), first, memory, "spare")
            step = Step(kernel, self.windows, args, groups, params, moved)
            return Pass(gaps, step, self.n / groups, halo, True, keys_in=windows * rows)
        step = self._windows_step(1, 0, halo, core, first, windows, moved)
        return Pass(gaps, step, self.tile / self.windows.wg_size, halo, True, keys_in=windows * rows)

    def _windows_step(self, gap, width_bits, halo, core, first, groups, moved):
        args = ("codes", np.uint32(self.n), np.uint32(gap), np.uint32(width_bits), np.uint32(halo), np.uint32(core),
                np.uint32(first), "spare")  # fmt: skip
        params = {"code_bits": self.code_bits, "gaps": self.built_in, "tile": self.tile}
        return Step("shellsort/shell_auto_windows", self.windows, args, groups, params, moved)

    # One gap

    def column_pass(self, i) -> Pass:
        """The pass of one gap: whole columns in place, or windows of them."""
        gap = self.gaps[i]
        rows = ceil_div(self.n, gap)
        moved = 2 * self.n * self.code_bytes
        if self.columns.variant == "serial":
            # As many groups for every unit, of items_per_thread columns at most and a whole vector at least.
            groups = ceil_div(ceil_div(gap, self.columns.items_per_thread), self.units) * self.units
            groups = max(min(groups, gap // self.lanes), 1)
            args = ("codes", np.uint32(self.n), np.uint32(gap))
            params = {"code_bits": self.code_bits}
            step = Step("shellsort/shell_auto_columns", self.columns, args, groups, params, moved)
            return Pass((gap,), step, self.n / groups, keys_in=self.n)
        block = next((block for block in BLOCKS if rows <= block), None)
        if block:
            return Pass((gap,), self._blocks_step(gap, "sort", block, rows), rows, keys_in=self.n)
        window = None if self.serial_windows else self._window(i, rows)
        if window is None:
            block = BLOCKS[1]
            return Pass(
                (gap,), self._blocks_step(gap, "sort", block, rows), block, settle=True, keys_in=self.n
            )
        width_bits, halo, core = window
        groups = ceil_div(gap, 1 << width_bits) * ceil_div(rows, core)
        brought = groups * (core + 2 * halo) << width_bits
        moved = (brought + self.n) * self.code_bytes
        step = self._windows_step(gap, width_bits, halo, core, len(self.built_in) - 1, groups, moved)
        return Pass((gap,), step, self.tile / self.windows.wg_size, halo or None, True, keys_in=brought)

    def _blocks_step(self, gap, stage, block, rows, offset=0, round=0):
        args = ("codes", np.uint32(self.n), np.uint32(gap), np.uint32(offset), np.uint32(round), "changed")
        groups = ceil_div(gap * ceil_div(rows, block), self.columns.wg_size)
        params = {"code_bits": self.code_bits, "stage": stage, "block": block}
        return Step(
            "shellsort/shell_auto_columns", self.columns, args, groups, params, 2 * self.n * self.code_bytes
        )

    def _window(self, i, rows):
        """(log2 of the columns, halo, core rows) of a gap's cheapest windows; None when no halo is known to fit."""
        gap, widths = self.gaps[i], [bits for bits in range(9) if 1 << bits < 2 * self.gaps[i]]
        shapes = [(bits, 0, rows) for bits in widths if rows <= self.tile >> bits]
        # Columns that fit whole are preferred, if memory is read in stretches of 32 bytes at least.
        if not shapes or (shapes[-1][0] < widths[-1] and self.code_bytes << shapes[-1][0] < 32):
            # Before `gap` comes no multiple of it as small as the smallest earlier gap: a lower limit of the bound.
            useful = i > 0 and self.gaps[i - 1] // gap <= self.tile
            halo = displacement(gap, self.gaps[:i]) if useful else None
            if halo is not None:
                shapes += [(bits, halo, (self.tile >> bits) - 2 * halo) for bits in widths]

        def cost(shape):
            """Elements brought in, and what else comes with them in memory's sectors of 32 bytes."""
            bits, _, core = shape
            return ceil_div(gap, 1 << bits) * ceil_div(rows, core) * (1 + 32 / (self.code_bytes << bits))

        return min((shape for shape in shapes if shape[2] > 0), key=cost, default=None)


# Running ----------------------------------------------------------------------------------------------------------


class _Job:
    """The codes of one sort on a device, and the ways to sort them."""

    def __init__(self, session, n, order, bits, profiled):
        self.session, self.n, self.order, self.profiled = session, n, order, profiled
        self.code_bits = max(order.bits, 32)
        self.code_type = np.dtype(f"uint{self.code_bits}")
        self.policy = select(session.profile, "shellsort/shell_codes", order.dtype, n)
        self.buffers = {"codes": allocate(session, n * self.code_type.itemsize)}
        steps = [
            self._codes_step("encode", f"keys[{i}]", "codes", chunk.count, chunk.start)
            for i, chunk in enumerate(bits.chunks)
        ]
        run(session, Plan(*steps), keys=bits, **self.buffers)

    def _codes_step(self, direction, source, target, count, at=0):
        params = {**self.order.options(), "code_bits": self.code_bits, "direction": direction}
        args = (source, np.uint64(count), np.uint64(at), self.order.flip, target)
        groups = self.policy.groups(ceil_div(count, self.policy.tile), self.session.profile.compute_units)
        moved = count * (self.code_type.itemsize + self.order.storage.itemsize)
        return Step("shellsort/shell_codes", self.policy, args, groups, params, moved)

    def decoded(self, keys):
        """The keys of the codes as they are now, where `keys` are and like them."""
        session, n, storage = self.session, self.n, self.order.storage
        on_device = is_device_array(keys)
        host = np.empty(n, storage) if session.profile.is_cpu and not on_device else None
        buffer = allocate(session, n * storage.itemsize) if host is None else in_place(session, host)
        run(session, Plan(self._codes_step("decode", "codes", "keys", n)), keys=buffer, **self.buffers)
        if on_device:
            import pyopencl.array as cl_array

            session.queue.finish()  # the array's own queue may be another
            return cl_array.Array(keys.queue or session.queue, (n,), self.order.dtype, data=buffer)
        if host is None:
            host = read(session, buffer, storage, n)
        else:
            show_host(session, buffer, host)
        return host.view(self.order.dtype)

    def in_order(self) -> bool:
        """Whether the codes are sorted."""
        policy = select(self.session.profile, "shellsort/shell_check", self.code_type, self.n)
        groups = policy.groups(ceil_div(self.n, policy.tile), self.session.profile.compute_units)
        step = Step("shellsort/shell_check", policy, ("codes", np.uint32(self.n), "descent"), groups,
                    {"code_bits": self.code_bits})  # fmt: skip
        descent = self._cleared("descent", 1)
        run(self.session, Plan(step), **self.buffers)
        return not read(self.session, descent, np.uint32, 1)[0]

    def _cleared(self, name, count):
        """A buffer of so many uint32, all 0."""
        buffer = self.buffers[name] = allocate(self.session, 4 * count)
        fill(self.session, buffer, np.uint32(0), count)
        return buffer

    def _run(self, *steps):
        """Enqueue steps; their seconds when profiled."""
        result = run(self.session, Plan(*steps), profile=self.profiled, **self.buffers)
        return sum(phase.seconds for phase in result.phases) if self.profiled else None

    # Auto

    def run_auto(self, passes) -> tuple[ShellPhase, ...]:
        if any(p.out_of_place for p in passes):
            self.buffers["spare"] = allocate(self.session, self.n * self.code_type.itemsize)
        if any(p.step.kernel.endswith("columns") for p in passes):
            self._cleared("changed", 1)
        phases = []
        for p in passes:
            seconds, rounds = self._settle(p) if p.settle else (self._run(p.step), 1)
            if p.out_of_place:
                self.buffers["codes"], self.buffers["spare"] = self.buffers["spare"], self.buffers["codes"]
            phases.append(
                ShellPhase(
                    p.gaps, p.step.groups, p.step.policy.wg_size, p.elements_per_item, float(rounds),
                    p.keys_in * rounds, self.n * rounds, p.halo, p.step.kernel.rsplit("/", 1)[-1], seconds,
                )
            )  # fmt: skip
        return tuple(phases)

    def _settle(self, p):
        """Blocks sorted, then merged at both offsets in turn until neither changes anything. Seconds and rounds."""
        block, (codes, n, gap, *_, changed) = p.step.params["block"], p.step.args
        seconds, rounds = self._run(p.step), 1

        def merge(offset, number):
            args = (codes, n, gap, np.uint32(offset), np.uint32(number), changed)
            return replace(p.step, args=args, params={**p.step.params, "stage": "merge"})

        while True:
            took = self._run(merge(block // 2, rounds), merge(0, rounds + 1))
            seconds = seconds + took if self.profiled else None
            rounds += 2
            if read(self.session, self.buffers["changed"], np.uint32, 1)[0] < rounds - 2:
                fill(self.session, self.buffers["changed"], np.uint32(0), 1)
                return seconds, rounds

    # The study

    def run_study(self, phases, variant, stats) -> tuple[ShellPhase, ...]:
        runner = _StudyRunner(self, variant, stats, phases)
        return runner.run(phases)


class _StudyRunner:
    """Runs phases of one variant of the study."""

    def __init__(self, job, variant, stats, phases):
        self.job, self.n, self.variant, self.stats = job, job.n, variant, stats
        self.kernel = f"shellsort/shell_{variant.lower()}"
        self.policy = (
            ONE_ITEM if variant in "0E" else select(job.session.profile, self.kernel, job.code_type, job.n)
        )
        local = min(job.session.profile.local_mem_bytes, STUDY_LOCAL_BYTES) - 256
        self.capacity = local // job.code_type.itemsize
        self.params = {"code_bits": job.code_bits, "counting": stats}
        parts = [self.parts(phase) for phase in phases]
        self.slots = [1 if variant == "0" else phase.gap * part for phase, part in zip(phases, parts)]
        job._cleared("counts", 3 * sum(self.slots) if stats else 1)
        shared = max((phase.gap * part for phase, part in zip(phases, parts) if part > 1), default=0)
        job.buffers["ends"] = allocate(job.session, max(2 * shared, 1) * job.code_type.itemsize)
        job._cleared("changed", 1)
        self.rounds = 0

    def parts(self, phase) -> int:
        """Work-groups that share a column: chunks in E, segments in F, one in the others."""
        if self.variant == "E":
            largest = ceil_div(phase.longest, phase.chunks)
            if largest > self.capacity:
                size = self.job.code_type.itemsize
                raise DeviceLimit(
                    f"Variant E needs {largest * size:,} bytes of local memory for chunks of {largest:,} keys at gap "
                    f"{phase.gap}, and takes at most {self.capacity * size:,}. Raise max_items_per_subsequence, or "
                    "take another variant."
                )
            return phase.chunks
        return ceil_div(phase.longest, self.capacity) if self.variant == "F" else 1

    def run(self, phases) -> tuple[ShellPhase, ...]:
        made, slot = [], 0
        for phase, slots in zip(phases, self.slots):
            groups, items, launch = getattr(self, f"_shape_{self.variant}")(
                phase, np.uint64(slot if self.stats else 0)
            )
            seconds = launch()
            per_item = self.n / (groups * items)
            name = self.kernel.rsplit("/", 1)[-1]
            made.append(ShellPhase((phase.gap,), groups, items, per_item, kernel=name, seconds=seconds))
            slot += slots
        return self._counted(made) if self.stats else tuple(made)

    def _counted(self, phases):
        counts = read(self.job.session, self.job.buffers["counts"], np.uint32, 3 * sum(self.slots)).reshape(
            -1, 3
        )
        counted, slot = [], 0
        for phase, slots in zip(phases, self.slots):
            reads, writes, passes = counts[slot : slot + slots].sum(axis=0, dtype=np.int64).tolist()
            # Passes of 0 and E are counted once a column or phase, those of A to D and F once a group.
            once = {"0": 1, "A": ceil_div(phase.gap, self.policy.wg_size), "F": phase.groups}
            per = once.get(self.variant, phase.gap)
            counted.append(replace(phase, reads=reads, writes=writes, passes=passes / per))
            slot += slots
        return tuple(counted)

    def _step(self, args, groups, items=1, **params):
        """A launch of groups for so many items each: of the next size of GROUP_SIZES, so that few lie idle."""
        fitting = next((size for size in GROUP_SIZES if size >= items), self.policy.wg_size)
        policy = self.policy
        if self.variant in "BCDF":
            policy = replace(policy, wg_size=min(fitting, policy.wg_size))
        moved = 2 * self.n * self.job.code_type.itemsize
        return Step(self.kernel, policy, args, groups, {**self.params, **params}, moved)

    def _head(self, phase):
        return "codes", np.uint32(self.n), np.uint32(phase.gap)

    def _shape_0(self, phase, slot):
        each = ceil_div(phase.gap, MOST_LAUNCHES)
        steps = [
            self._step(
                (*self._head(phase), np.uint32(i), np.uint32(min(i + each, phase.gap)), "counts", slot), 1
            )
            for i in range(0, phase.gap, each)
        ]
        return 1, 1, lambda: self.job._run(*steps)

    def _shape_A(self, phase, slot):
        step = self._step((*self._head(phase), "counts", slot), ceil_div(phase.gap, self.policy.wg_size))
        return phase.gap, 1, lambda: self.job._run(step)

    def _shape_B(self, phase, slot):
        step = self._step(
            (*self._head(phase), np.uint32(phase.chunks), "counts", slot), phase.gap, phase.chunks
        )
        return phase.gap, phase.chunks, lambda: self.job._run(step)

    _shape_C = _shape_D = _shape_B

    def _shape_E(self, phase, slot):
        def sort(again):
            args = (*self._head(phase), np.uint32(phase.chunks), np.uint32(again), "ends", "counts", slot)
            return self._step(args, phase.gap * phase.chunks, capacity=self.capacity)

        return phase.gap * phase.chunks, 1, lambda: self._exchanging(phase, phase.chunks, sort, slot)

    def _shape_F(self, phase, slot):
        segments = self.parts(phase)
        items = ceil_div(phase.chunks, segments)

        def sort(again):
            args = (
                *self._head(phase),
                np.uint32(items),
                np.uint32(segments),
                np.uint32(again),
                "ends",
                "counts",
                slot,
            )
            return self._step(args, phase.gap * segments, items, capacity=self.capacity)

        return phase.gap * segments, items, lambda: self._exchanging(phase, segments, sort, slot)

    def _exchanging(self, phase, parts, sort, slot):
        """Sort the parts of every column and let neighbours exchange ends, until none has to."""
        if parts == 1:
            return self.job._run(sort(0))
        policy = select(self.job.session.profile, "shellsort/shell_exchange", self.job.code_type, self.n)
        seconds, again = 0.0 if self.job.profiled else None, 0
        while True:
            self.rounds += 1
            exchanges = [
                Step(
                    "shellsort/shell_exchange", policy,
                    ("ends", *self._head(phase)[1:], np.uint32(parts), np.uint32(parity), np.uint32(self.rounds),
                     "changed", "counts", slot),
                    ceil_div(phase.gap * (parts // 2), policy.wg_size), self.params,
                )
                for parity in (0, 1)
            ]  # fmt: skip
            took = self.job._run(sort(again), *exchanges)
            seconds = seconds + took if self.job.profiled else None
            if read(self.job.session, self.job.buffers["changed"], np.uint32, 1)[0] < self.rounds:
                return seconds
            again = 1
