"""Keys of a Shellsort as codes on the device: unsigned integers of at least 32 bits in the order of the keys.

Each variant describes its phases as `Pass`, and `run_passes` runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.call import each
from clgeom.core.launch import allocate, fill, read, run
from clgeom.core.plan import Number, Plan, Step
from clgeom.sorting.arrays import Output
from clgeom.sorting.keys import KeyOrder, as_device_bits
from clgeom.sorting.shellsort.result import ShellPhase

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.call import Call

#: The number of a round, to which kernels set "changed" where they change something.
ROUND = Number("round")


@dataclass(frozen=True)
class Pass:
    """A phase of a Shellsort: launches, or rounds of launches until one changes nothing.

    Parameters
    ----------
    gaps : tuple of int
    first, further : tuple of Step
        The launches of the first round, and of each further round; without the latter there is one round.
    groups, items : int
        Work-groups that sort, and the work-items of each that have elements.
    elements_per_item : float
    keys_in : int
        Keys that each launch of "auto" loads.
    halo : int or None
        Rows around each window of "auto".
    passes : float
        Passes that the groups of a variant of the study count while every element is sorted once.
    ends : int
        Elements at the ends of the parts of h-subsequences, which rounds exchange.
    """

    gaps: tuple[int, ...]
    first: tuple[Step, ...]
    further: tuple[Step, ...]
    groups: int
    items: int
    elements_per_item: float
    keys_in: int = 0
    halo: int | None = None
    passes: float = 1
    ends: int = 1

    def counts(self, codes: Codes, launches: int, counting: bool) -> tuple[float | None, int | None, int | None]:
        """Passes, reads and writes: those of "auto" follow from its launches, others are counted by kernels or None."""
        if self.keys_in:
            return float(launches), self.keys_in * launches, codes.n * launches
        if not counting:
            return None, None, None
        counts = codes.read("counts", 3 * self.groups, np.uint64).reshape(-1, 3)
        reads, writes, passes = counts.sum(axis=0, dtype=np.uint64).tolist()
        return passes / self.passes, reads, writes


def run_passes(
    codes: Codes, passes: Sequence[Pass], after: Callable[[], None], *, counting: bool = False
) -> tuple[ShellPhase, ...]:
    """Sort codes by these passes, and call `after` after each. `counting`: kernels of the study count their work."""
    buffers, phases, number = codes.buffers, [], 0
    names = {arg for p in passes for step in p.first for arg in step.args if isinstance(arg, str)}
    if "spare" in names:
        buffers["spare"] = codes.room(codes.n)
    if "ends" in names:
        buffers["ends"] = codes.room(max(p.ends for p in passes))
    if "changed" in names:
        codes.clear("changed", 1)
    if "counts" in names:
        codes.clear("counts", 1, np.uint64)
    for p in each(codes.session, passes):
        if counting:
            codes.clear("counts", 3 * p.groups, np.uint64)
        steps, seconds, launches = p.first, 0.0, 0
        while True:
            number, launches = number + 1, launches + len(steps)
            seconds += codes.run(*steps, round=np.uint32(number)) or 0.0
            if not p.further or codes.read("changed")[0] < number:
                break
            steps = p.further
        if "spare" in p.first[0].args:  # where the kernel wrote the codes
            buffers["codes"], buffers["spare"] = buffers["spare"], buffers["codes"]
        kernel, counts = p.first[0].kernel.rsplit("/", 1)[-1], p.counts(codes, launches, counting)
        shape, time = (p.groups, p.items, p.elements_per_item), seconds if codes.call.profile else None
        phases.append(ShellPhase(p.gaps, *shape, *counts, p.halo, kernel, time))
        after()
    return tuple(phases)


class Codes:
    """The codes of one sort, in ``buffers["codes"]``; `keys` are from `as_key_array`."""

    def __init__(self, call: Call, keys: Any, descending: bool) -> None:
        self.call, self.session, self.keys, self.n = call, call.session, keys, len(keys)
        self.order = KeyOrder(keys.dtype.newbyteorder("="), descending)
        self.bits = max(self.order.bits, 32)
        self.dtype = np.dtype(f"uint{self.bits}")
        self.buffers: dict[str, Any] = {"codes": self.room(self.n)}
        bits = as_device_bits(self.session, keys, caller=call.caller)
        steps = [
            self._step("encode", f"keys[{i}]", "codes", chunk.count, chunk.start) for i, chunk in enumerate(bits.chunks)
        ]
        run(self.session, Plan(*steps), keys=bits, **self.buffers)

    def _step(self, direction: str, source: str, target: str, count: int, at: int = 0) -> Step:
        params = {**self.order.options(), "code_bits": self.bits, "direction": direction}
        args = (source, np.uint64(count), np.uint64(at), self.order.flip, target)
        moved = count * (self.dtype.itemsize + self.order.storage.itemsize)
        return Step.over(
            self.session.profile,
            "sorting/shellsort/shell_codes",
            args,
            count,
            dtype=self.order.dtype,
            most=self.n,
            params=params,
            bytes_moved=moved,
        )

    def room(self, count: int) -> cl.Buffer:
        """Allocate memory for so many codes."""
        return allocate(self.session, count * self.dtype.itemsize)

    def clear(self, name: str, count: int, number: type[np.unsignedinteger[Any]] = np.uint32) -> None:
        """Bind a name to a buffer of so many unsigned integers, all 0."""
        zero = number(0)
        self.buffers[name] = allocate(self.session, zero.nbytes * count)
        fill(self.session, self.buffers[name], zero, count)

    def run(self, *steps: Step, **numbers: np.generic) -> float | None:
        """Enqueue steps; return their seconds when profiled."""
        begun = len(self.call.phases)
        run(self.session, Plan(*steps), numbers=numbers, **self.buffers)
        return sum(phase.seconds or 0.0 for phase in self.call.phases[begun:]) if self.call.profile else None

    def read(self, name: str, count: int = 1, number: type[np.unsignedinteger[Any]] = np.uint32) -> np.ndarray:
        """Return the unsigned integers that a name is bound to."""
        return read(self.session, self.buffers[name], number, count)

    def in_order(self) -> bool:
        """Return whether the codes are sorted."""
        self.clear("descent", 1)
        args = ("codes", np.uint32(self.n), "descent")
        step = Step.over(
            self.session.profile,
            "sorting/shellsort/shell_check",
            args,
            self.n,
            dtype=self.dtype,
            params={"code_bits": self.bits},
        )
        run(self.session, Plan(step), **self.buffers)
        return not self.read("descent")[0]

    def decode(self) -> Any:
        """Return the keys of the current codes, in the type and the place of the input."""
        out = Output(self.session, self.order.dtype, self.n, (self.keys,))
        if self.n:
            step = self._step("decode", "codes", "keys", self.n)
            run(self.session, Plan(step), keys=out.buffer, **self.buffers)
        return out.result()
