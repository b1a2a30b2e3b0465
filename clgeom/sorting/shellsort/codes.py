"""Keys of a Shellsort as codes on the device: unsigned integers of at least 32 bits in the order of the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import allocate, fill, read, run
from clgeom.core.plan import Plan, Step
from clgeom.sorting.arrays import Output
from clgeom.sorting.keys import KeyOrder, as_device_bits

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.call import Call


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

    def run(self, *steps: Step) -> float | None:
        """Enqueue steps; returns their seconds when profiled."""
        begun = len(self.call.phases)
        run(self.session, Plan(*steps), **self.buffers)
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

    def decoded(self) -> Any:
        """Return the keys of the current codes, in the type and the place of the input."""
        out = Output(self.session, self.order.dtype, self.n, (self.keys,))
        if self.n:
            step = self._step("decode", "codes", "keys", self.n)
            run(self.session, Plan(step), keys=out.buffer, **self.buffers)
        return out.finished()
