"""Upper and lower chains of adaptive regions, many at once: running the plans of outline_plans, reading the results.

The input of a region is its candidates: for each x, the lowest and the highest point there. Cuts divide them into
segments. The region is the union of the convex hulls of all pairs of neighbouring segments. Where the tangents on both
sides of a segment cross above its hull, the upper chain has a reflex vertex; the lower chain likewise.

Source: the adaptive region construction (ARC) for radio propagation maps, with its join made exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clgeom.region.arc.outline_plans import emit_plan, outline_plan
from clgeom.runtime.launch import read, run
from clgeom.runtime.tuning import overridden

KERNELS = ("auto", "naive", "local")
CUTS = ("count", "width")
JOINS = ("tangent", "published")
#: Most segments whose vertices are read with the head. On a GPU a second read takes as long as reading 64 KiB.
AT_ONCE, AT_ONCE_OF_CPU = 1 << 11, 1 << 16
#: Most plans that a session keeps.
PLANS = 32


@dataclass(frozen=True, eq=False)
class Chains:
    """Lower and upper chains of some regions, from left to right, of strictly ascending x.

    Parameters
    ----------
    lower, upper : ndarray, shape (total, 2)
        The vertices of all regions, region after region.
    lower_offsets, upper_offsets : ndarray of int64, shape (regions + 1,)
        Region r has the vertices from offset r to offset r + 1.
    effective : ndarray of int64, shape (regions,)
        Number of segments that hold candidates.
    """

    lower: np.ndarray
    upper: np.ndarray
    lower_offsets: np.ndarray
    upper_offsets: np.ndarray
    effective: np.ndarray

    def __len__(self) -> int:
        return len(self.effective)

    def __getitem__(self, region) -> tuple[np.ndarray, np.ndarray]:
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


def chains_of(session, options, **buffers) -> Chains:
    """Chains of the regions that an OutlineOptions describes; `buffers` are those that its names stand for."""
    outline = outline_of(session, options, **buffers)
    rows = outline.vertices()
    lower_at, upper_at = outline.lower_offsets, outline.upper_offsets
    split = lower_at[-1]
    return Chains(rows[:split], rows[split:], lower_at, upper_at, outline.effective)


@dataclass(eq=False)
class Outline:
    """Chains that may still be on the device. `vertices()` reads them: all lower chains, then all upper chains."""

    lower_offsets: np.ndarray
    upper_offsets: np.ndarray
    effective: np.ndarray
    disordered: bool
    fetch: object = None
    rows: np.ndarray | None = None

    def vertices(self) -> np.ndarray:
        if self.rows is None:
            self.rows, self.fetch = self.fetch(), None
        return self.rows


def outline_of(session, options, **buffers) -> Outline:
    """Run the plan of `outline_plan`, and read the head of its output with the likely number of vertices in one copy.

    With `options.check`, `Outline.disordered` says whether a candidate is not finite or out of order.
    """
    plan, out = _cached_plan(session, options)
    found, point = run(session, plan, **buffers), 2 * out.dtype.itemsize
    most = AT_ONCE_OF_CPU if session.profile.is_cpu else AT_ONCE
    likely = min(out.room, 3 * out.segments + 64) if out.segments <= most else 0
    raw = found.read(out.memory, (out.head + likely) * point)
    summary = raw[: 4 * (3 * (options.regions + 1) + 1)].view(np.uint32)
    lower_at, upper_at, segments_at = summary[:-1].reshape(3, options.regions + 1).astype(np.int64)
    facts = (lower_at, upper_at - upper_at[0], np.diff(segments_at), bool(summary[-1]))
    if summary[-1]:
        return Outline(*facts, rows=np.empty((0, 2), out.dtype))
    total = int(upper_at[-1])
    if total <= likely:
        rows = raw[out.head * point :].view(out.dtype)[: 2 * total].reshape(-1, 2)
        return Outline(*facts, rows=rows)
    if total > out.room:
        out = emit_plan(session.profile, out, total)
        kept = {s.name: found[s] for s in out.kept}
        found = run(session, out.emission, **buffers, **kept)
    memory, source = out.memory, found[out.memory]

    def fetch():
        rows = read(session, source, memory.dtype, total * point, out.head * point)
        return rows.view(out.dtype).reshape(-1, 2)

    return Outline(*facts, fetch=fetch)


def _cached_plan(session, options):
    """The plan for these options, cached: building one takes as long as a device needs for a million points."""
    if overridden():
        return outline_plan(session, options)
    return session.cached(("outline plan", options), lambda: outline_plan(session, options), most=PLANS)
