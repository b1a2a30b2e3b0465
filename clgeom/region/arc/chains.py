"""Upper and lower chains of adaptive regions, many at once: running the plans of outline_plans, reading the results.

The input of a region is its candidates: for each x, the lowest and the highest point there. Cuts divide them into
segments. The region is the union of the convex hulls of all pairs of neighbouring segments. Where the tangents on both
sides of a segment cross above its hull, the upper chain has a reflex vertex; the lower chain likewise.

Source: the adaptive region construction (ARC) for radio propagation maps, with its join made exact.
"""

from __future__ import annotations

import collections
import threading
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.core.device import Session
from clgeom.core.launch import Result, flush, run
from clgeom.core.plan import Plan
from clgeom.region.arc.outline_plans import OutlineOptions, Output, outline_plan

KERNELS = ("auto", "naive", "local")
CUTS = ("count", "width")
JOINS = ("tangent", "published")
#: Most segments whose vertices are read with the head. On a GPU a second read takes as long as reading 64 KiB.
AT_ONCE, AT_ONCE_OF_CPU = 1 << 11, 1 << 16
#: Part of a device's memory that results may have which nobody has asked for.
UNREAD_PART = 32
#: Most plans that a session keeps.
PLANS = 32


class Chains:
    """Lower and upper chains of some regions, from left to right, of strictly ascending x.

    Those of an Outline that is still on the device are read at the first access.

    Attributes
    ----------
    lower, upper : ndarray, shape (total, 2)
        The vertices of all regions, region after region.
    lower_offsets, upper_offsets : ndarray of int64, shape (regions + 1,)
        Region r has the vertices from offset r to offset r + 1.
    effective : ndarray of int64, shape (regions,)
        Number of segments that hold candidates.
    """

    def __init__(self, outline: Outline, regions: int) -> None:
        self._outline, self._regions = outline, regions

    def __len__(self) -> int:
        return self._regions

    @property
    def lower(self) -> np.ndarray:
        return self._outline.vertices()[: self.lower_offsets[-1]]

    @property
    def upper(self) -> np.ndarray:
        return self._outline.vertices()[self.lower_offsets[-1] :]

    @property
    def lower_offsets(self) -> np.ndarray:
        return self._outline.lower_offsets

    @property
    def upper_offsets(self) -> np.ndarray:
        return self._outline.upper_offsets

    @property
    def effective(self) -> np.ndarray:
        return self._outline.effective

    def __getitem__(self, region: int) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper chain of one region."""
        if not -len(self) <= region < len(self):
            raise IndexError(region)
        region %= len(self)
        return (
            self.lower[self.lower_offsets[region] : self.lower_offsets[region + 1]],
            self.upper[self.upper_offsets[region] : self.upper_offsets[region + 1]],
        )

    def __repr__(self) -> str:
        return f"Chains({len(self)} regions: {len(self.lower)} lower and {len(self.upper)} upper vertices)"


def chains_of(
    session: Session,
    options: OutlineOptions,
    *,
    planned: tuple[Plan, Output] | None = None,
    later: bool = False,
    **buffers: Any,
) -> Chains:
    """Chains of the regions that an OutlineOptions describes; the parameters are those of `outline_of`."""
    outline = outline_of(session, options, planned=planned, later=later, **buffers)
    if not later:
        outline.vertices()
    return Chains(outline, options.regions)


class Outline:
    """Chains that may still be on the device, or not computed yet. What is asked for first waits for them."""

    def __init__(self, made: _Made) -> None:
        self._made: _Made | None = made
        self._facts: _Facts | None = None
        self._rows: np.ndarray | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> tuple[Any, ...]:  # memory of a device stays in its process
        self.vertices()
        return self._facts, self._rows

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._made, self._lock = None, threading.Lock()
        self._facts, self._rows = state

    def read_head(self) -> _Facts:
        """The numbers at the head of the output."""
        with self._lock:
            if self._facts is None:
                assert self._made is not None
                self._facts, self._rows = self._made.head()
            return self._facts

    @property
    def lower_offsets(self) -> np.ndarray:
        return self.read_head().lower_offsets

    @property
    def upper_offsets(self) -> np.ndarray:
        return self.read_head().upper_offsets

    @property
    def effective(self) -> np.ndarray:
        """Number of segments of each region that hold candidates."""
        return self.read_head().effective

    @property
    def disordered(self) -> bool:
        return self.read_head().disordered

    @property
    def on_host(self) -> bool:
        """Whether the vertices are on the host."""
        return self._rows is not None

    def vertices(self) -> np.ndarray:
        """All lower chains, then all upper chains."""
        facts = self.read_head()
        with self._lock:
            if self._rows is None:
                assert self._made is not None
                self._rows = self._made.rows(facts.total)
            self._made = None
            return self._rows


@dataclass(frozen=True, eq=False)
class _Facts:
    """The head of an output."""

    lower_offsets: np.ndarray
    upper_offsets: np.ndarray
    effective: np.ndarray
    disordered: bool

    @property
    def total(self) -> int:
        return int(self.lower_offsets[-1] + self.upper_offsets[-1])


@dataclass(eq=False)
class _Made:
    """The Output of a run, and the buffers that the last launch used, which runs again if it had too little room."""

    session: Session
    regions: int
    out: Output
    found: Result

    def __post_init__(self) -> None:
        self.found.drop_others(self.out.names)

    @property
    def nbytes(self) -> int:
        return self.found.nbytes

    def head(self) -> tuple[_Facts, np.ndarray | None]:
        """The facts; and the vertices if they could be read in the same copy, else None."""
        out, emission = self.out, self.out.emission
        dtype, point = emission.dtype, 2 * emission.dtype.itemsize
        most = AT_ONCE_OF_CPU if self.session.profile.is_cpu else AT_ONCE
        likely = min(out.room, 3 * emission.segments + 64) if emission.segments <= most else 0
        raw = self.found.read(out.memory, (emission.head + likely) * point)
        summary = raw[: 4 * (3 * (self.regions + 1) + 1)].view(np.uint32)
        lower_at, upper_at, segments_at = summary[:-1].reshape(3, self.regions + 1).astype(np.int64)
        facts = _Facts(lower_at, upper_at - upper_at[0], np.diff(segments_at), bool(summary[-1]))
        if facts.disordered:
            return facts, np.empty((0, 2), dtype)
        if facts.total <= likely:
            return facts, raw[emission.head * point :].view(dtype)[: 2 * facts.total].reshape(-1, 2)
        if facts.total > out.room:
            self.out = emission.into(facts.total, self.session.profile)
            kept: dict[str, Any] = {name: self.found[name] for name in out.names if name != out.memory.name}
            self.found = run(self.session, self.out.plan, **kept)
        self.found.drop_others([self.out.memory.name])
        return facts, None

    def rows(self, total: int) -> np.ndarray:
        """The vertices."""
        emission, point = self.out.emission, 2 * self.out.emission.dtype.itemsize
        raw = self.found.read(self.out.memory, total * point, emission.head * point)
        return raw.view(emission.dtype).reshape(-1, 2)


def outline_of(
    session: Session,
    options: OutlineOptions,
    *,
    planned: tuple[Plan, Output] | None = None,
    later: bool = False,
    **buffers: Any,
) -> Outline:
    """Run the plan of `outline_plan`.

    With `options.check`, `Outline.disordered` says whether a candidate is not finite or out of order.

    Parameters
    ----------
    session : Session
    options : OutlineOptions
    planned : (Plan, Output), optional
        A plan that ends with that of `outline_plan` for these options, and its Output.
    later : bool
        Return without waiting for the device.
    **buffers
        Those that the names in the plan stand for.
    """
    plan, out = planned or _cached_plan(session, options)
    made = _Made(session, options.regions, out, run(session, plan, **buffers))
    outline = Outline(made)
    if later:
        flush(session)
        session.cached(("unread",), lambda: Unread(session.profile.global_mem_bytes // UNREAD_PART)).add(
            outline, made.nbytes
        )
    else:
        outline.read_head()
    return outline


class Unread:
    """Outlines that nobody has asked for yet. If they have more than `most` bytes, the oldest is read."""

    def __init__(self, most: int) -> None:
        self.most, self.nbytes, self.lock = most, 0, threading.Lock()
        self.waiting: collections.deque[tuple[weakref.ref[Outline], int]] = collections.deque()

    def add(self, outline: Outline, nbytes: int) -> None:
        old = []
        with self.lock:
            self.waiting.append((weakref.ref(outline), nbytes))
            self.nbytes += nbytes
            while self.waiting[0][0]() is None:
                self.nbytes -= self.waiting.popleft()[1]
            if self.nbytes > self.most:
                self.waiting = collections.deque(one for one in self.waiting if one[0]() is not None)
                self.nbytes = sum(size for _, size in self.waiting)
            while self.nbytes > self.most and len(self.waiting) > 1:
                one, size = self.waiting.popleft()
                self.nbytes -= size
                old.append(one())
        for unread in old:
            if unread is not None:
                unread.vertices()


def _cached_plan(session: Session, options: OutlineOptions) -> tuple[Plan, Output]:
    """The plan for these options, cached: building one takes as long as a device needs for a million points."""
    plan: tuple[Plan, Output] = session.cached(
        ("outline plan", options), lambda: outline_plan(session, options), most=PLANS, policies=True
    )
    return plan
