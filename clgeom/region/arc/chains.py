"""Upper and lower chains of many adaptive regions: run the plans of outline_plans and read the results.

The input of a region is its candidates: for each x, the lowest and the highest point there. Cuts divide them into
segments. The region is the union of the convex hulls of all pairs of neighbouring segments. Where the tangents on both
sides of a segment cross above its hull, the upper chain has a reflex vertex; the lower chain likewise.

Source: the adaptive region construction (ARC) for radio propagation maps, with its join made exact.
"""

from __future__ import annotations

import collections
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np

from clgeom.core.device import Session
from clgeom.core.launch import Result, flush, run
from clgeom.core.plan import Plan
from clgeom.region.arc.outline_plans import OutlineOptions, Output, outline_plan

KERNELS = ("auto", "naive", "local")
CUTS = ("count", "width")
#: Most segments whose vertices are read with the head. On a GPU a second read takes as long as reading 64 KiB.
AT_ONCE, AT_ONCE_OF_CPU = 1 << 11, 1 << 16
#: Part of a device's memory that unread results may have.
UNREAD_PART = 32
#: Most plans that a session keeps.
PLANS = 32


class Head(NamedTuple):
    """The numbers at the head of an output: region r has the vertices from offset r to offset r + 1."""

    lower_offsets: np.ndarray
    upper_offsets: np.ndarray
    effective: np.ndarray  # number of segments of each region that hold candidates
    disordered: bool  # whether a candidate is not finite or out of order, for options that `check`

    @property
    def vertices(self) -> int:
        return int(self.lower_offsets[-1] + self.upper_offsets[-1])


class Chains:
    """Lower and upper chains of some regions, from left to right, of strictly ascending x.

    They may be on the device, or not computed yet: the first access to an attribute waits for them and reads it.

    Attributes
    ----------
    lower, upper : ndarray, shape (total, 2)
        The vertices of all regions, region after region.
    head : Head
    """

    def __init__(self, session: Session, regions: int, out: Output, result: Result) -> None:
        result.drop_others(out.names)
        self.session, self._regions, self._out = session, regions, out
        self._result: Result | None = result
        self._numbers: Head | None = None
        self._rows: np.ndarray | None = None
        self._lock = threading.Lock()

    @classmethod
    def empty(cls, dtype: Any) -> Chains:
        """Return the chains of one region without candidates."""
        return cls.known(np.empty((0, 2), dtype), np.zeros(2, np.int64))

    @classmethod
    def known(cls, vertices: np.ndarray, offsets: np.ndarray) -> Chains:
        """Return chains with these vertices, lower ones first, of regions with one candidate in each segment."""
        chains, regions = cls.__new__(cls), len(offsets) - 1
        chains.__setstate__((regions, Head(offsets, offsets, np.diff(offsets), False), vertices))
        return chains

    def __getstate__(self) -> tuple[Any, ...]:  # memory of a device stays in its process
        self.vertices()
        return self._regions, self._numbers, self._rows

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._result, self._lock = None, threading.Lock()
        self._regions, self._numbers, self._rows = state

    def __len__(self) -> int:
        return self._regions

    def __repr__(self) -> str:
        return f"Chains({len(self)} regions: {len(self.lower)} lower and {len(self.upper)} upper vertices)"

    def __getitem__(self, region: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper chain of one region."""
        if not -len(self) <= region < len(self):
            raise IndexError(region)
        region, lower, upper = region % len(self), self.head.lower_offsets, self.head.upper_offsets
        return self.lower[lower[region] : lower[region + 1]], self.upper[upper[region] : upper[region + 1]]

    @property
    def lower(self) -> np.ndarray:
        return self.vertices()[: self.head.lower_offsets[-1]]

    @property
    def upper(self) -> np.ndarray:
        return self.vertices()[self.head.lower_offsets[-1] :]

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return 0 if self._result is None else self._result.nbytes

    @property
    def on_host(self) -> bool:
        """Whether the vertices are on the host."""
        return self._rows is not None

    @property
    def head(self) -> Head:
        """The numbers of the regions; the first use waits for them."""
        with self._lock:
            if self._numbers is None:
                assert self._result is not None
                self._numbers = self._read_head(self._result)
            return self._numbers

    def vertices(self) -> np.ndarray:
        """Return all lower chains, then all upper chains."""
        head = self.head
        with self._lock:
            if self._rows is None:
                assert self._result is not None
                emission, point = self._out.emission, 2 * self._out.emission.dtype.itemsize
                raw = self._result.read(self._out.memory, head.vertices * point, emission.head * point)
                self._rows = raw.view(emission.dtype).reshape(-1, 2)
            self._result = None
            return self._rows

    def _read_head(self, result: Result) -> Head:
        """Read the head, and the vertices if they fit in the same copy.

        If the output had too little room for the vertices, the last launch runs again.
        """
        out, emission = self._out, self._out.emission
        dtype, point = emission.dtype, 2 * emission.dtype.itemsize
        most = AT_ONCE_OF_CPU if self.session.profile.is_cpu else AT_ONCE
        likely = min(out.room, 3 * emission.segments + 64) if emission.segments <= most else 0
        raw = result.read(out.memory, (emission.head + likely) * point)
        summary = raw[: 4 * (3 * (self._regions + 1) + 1)].view(np.uint32)
        lower_at, upper_at, segments_at = summary[:-1].reshape(3, self._regions + 1).astype(np.int64)
        head = Head(lower_at, upper_at - upper_at[0], np.diff(segments_at), bool(summary[-1]))
        if head.disordered:
            self._rows = np.empty((0, 2), dtype)
        elif head.vertices <= likely:
            self._rows = raw[emission.head * point :].view(dtype)[: 2 * head.vertices].reshape(-1, 2)
            self._result = None
        else:
            if head.vertices > out.room:
                self._out = emission.into(head.vertices, self.session.profile)
                kept: dict[str, Any] = {name: result[name] for name in out.names if name != out.memory.name}
                result = self._result = run(self.session, self._out.plan, **kept)
            result.drop_others([self._out.memory.name])
        return head


def start_chains(
    session: Session, options: OutlineOptions, planned: tuple[Plan, Output] | None = None, **buffers: Any
) -> Chains:
    """Enqueue the outlines of regions.

    `planned` is a plan that ends with that of `outline_plan` for these options, and its Output.
    """

    # building a plan takes as long as a device needs for a million points
    def make() -> tuple[Plan, Output]:
        plan, out = outline_plan(session, options)
        return plan.kept(memory=True), out

    plan, out = planned or session.cached(("outline plan", options), make, most=PLANS, policies=True)
    return Chains(session, options.regions, out, run(session, plan, **buffers))


def chains_of(
    session: Session,
    options: OutlineOptions,
    *,
    planned: tuple[Plan, Output] | None = None,
    later: bool = False,
    **buffers: Any,
) -> Chains:
    """Enqueue the outlines of regions and, unless `later`, wait for the numbers of their vertices."""
    chains = start_chains(session, options, planned, **buffers)
    if later:
        flush(session)
        most = session.profile.global_mem_bytes // UNREAD_PART
        session.cached(("unread",), lambda: Unread(most)).add(chains, chains.nbytes)
    else:
        _ = chains.head  # waits
    return chains


class Unread:
    """Chains that no caller has read yet. If they have more than `most` bytes, the oldest are read."""

    def __init__(self, most: int) -> None:
        self.most, self.nbytes, self.lock = most, 0, threading.Lock()
        self.waiting: collections.deque[tuple[weakref.ref[Chains], int]] = collections.deque()

    def add(self, chains: Chains, nbytes: int) -> None:
        old = []
        with self.lock:
            self.waiting.append((weakref.ref(chains), nbytes))
            self.nbytes += nbytes
            while self.waiting[0][0]() is None:
                self.nbytes -= self.waiting.popleft()[1]
            if self.nbytes > self.most:
                self.waiting = collections.deque(entry for entry in self.waiting if entry[0]() is not None)
                self.nbytes = sum(size for _, size in self.waiting)
            while self.nbytes > self.most and len(self.waiting) > 1:
                oldest, size = self.waiting.popleft()
                self.nbytes -= size
                old.append(oldest())
        for unread in old:
            if unread is not None:
                unread.vertices()
