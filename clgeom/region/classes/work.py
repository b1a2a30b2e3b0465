"""Launches of one tracing of arcs one after the other, with their memory by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from clgeom.core.device import Session
from clgeom.core.host_memory import in_place
from clgeom.core.launch import Result, read, run
from clgeom.core.plan import Argument, Plan, Scratch, Step
from clgeom.core.tuning import select
from clgeom.intake.arrays import c_name
from clgeom.primitives.scan import sums_plan

UINT, ULONG, LONG, INT, BYTE = map(np.dtype, ("uint32", "uint64", "int64", "int32", "uint8"))
#: Arguments of a kernel; Python's integers are of uint32.
Arguments: TypeAlias = tuple[Any, ...]
#: Most values that one work-item sums: 2^20 take 0.6 ms, four launches 0.4 to 0.8.
SUMS, MOST_SERIAL = "region/classes/classes_sums", 1 << 20
#: Most words, runs, corners and halves of arcs, for kernels that count them with 31 bits.
MOST = (1 << 31) - (1 << 20)


class Counts(NamedTuple):
    """Numbers of corners, of nodes among them, of the steps that leave these, and of runs."""

    corners: int
    nodes: int
    opened: int
    runs: int


@dataclass(eq=False)
class Work:
    """Launches one after the other, and their memory by name."""

    session: Session
    words: int  # of a line of corners
    lines: int  # of a layer
    columns: int
    n: int  # words in all
    is_walked: bool  # for devices with few work-items
    on_host: bool  # results go to arrays of the host
    memory: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, Scratch] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)

    def new(self, name: str, dtype: Any, count: int) -> Scratch:
        """Return new memory, which later launches find by its name."""
        made = Scratch(name, np.dtype(dtype), count)
        self.sizes[name] = made
        return made

    def result(self, name: str, dtype: Any, count: int) -> Scratch:
        """Return `new` memory for a result."""
        made = self.new(name, dtype, count)
        if self.on_host:
            self.arrays[name] = np.empty(count, dtype)
            self.memory[name] = in_place(self.session, self.arrays[name])
        return made

    def over(self, kernel: str, args: Arguments, n: int, bytes_each: int, **params: Any) -> Plan:
        """Return a launch over `n` elements."""
        given: list[Argument] = [np.uint32(arg) if isinstance(arg, int) else arg for arg in args]
        name = kernel if "/" in kernel else f"region/classes/classes_{kernel}"
        moved = bytes_each * n
        return Plan(Step.over(self.session.profile, name, tuple(given), n, params=params, bytes_moved=moved))

    def clear(self, lengths: Scratch) -> Plan:
        """Return the launch that sets lengths to 0."""
        return self.over("primitives/clear_words", (lengths, np.uint64(lengths.count)), lengths.count, 4)

    def sums(self, name: str) -> Plan:
        """Return the launches that replace values in memory by the sums of those before."""
        own = self.sizes[name]
        if self.is_walked and own.count <= MOST_SERIAL:
            params = {"value": c_name(np.dtype(own.dtype))}
            policy = select(self.session.profile, SUMS, UINT, own.count)
            return Plan(Step(SUMS, policy, (own, np.uint32(own.count)), 1, params, 2 * own.nbytes))
        return sums_plan(self.session.profile, own, own, prefix=f"{name}_sums")

    def run(self, plan: Plan, **buffers: Any) -> None:
        """Run launches, and keep their memory."""
        named = {arg for step in plan for arg in step.args if isinstance(arg, str)}
        named |= plan.scratch.keys()
        known = {name: memory for name, memory in self.memory.items() if name in named}
        made = run(self.session, plan, **known, **buffers)
        self.results.append(made)
        self.memory |= {name: made[name] for name in plan.scratch if name in self.sizes}

    def read(self, name: str, count: int | None = None, start: int = 0) -> np.ndarray:
        """Return values of memory, after waiting."""
        own = self.sizes[name]
        return read(self.session, self.memory[name], own.dtype, own.count if count is None else count, start)

    def last(self, name: str) -> tuple[int, int]:
        """Return the lower and the upper half of the last value of 64 bits."""
        value = int(self.read(name, 1, self.sizes[name].count - 1)[0])
        return value & 0xFFFFFFFF, value >> 32

    def drop(self, *names: str) -> None:
        """Let go of memory."""
        for name in names:
            self.memory.pop(name, None)
            for made in self.results:
                made.buffers.pop(name, None)
