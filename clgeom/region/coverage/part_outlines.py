"""Parts of masks and their outlines in one launch, on devices with few work-items.

runs -> a forest of the runs that touch -> parts, their grid lines, and the rings of those of few lines
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clgeom.core.device import Session
from clgeom.core.launch import read, run
from clgeom.core.plan import Number, Plan, Scratch, Step
from clgeom.core.tuning import select
from clgeom.region.arc.chains import Chains
from clgeom.region.coverage.chain_rings import ChainRings, RingChains
from clgeom.region.coverage.lines import LinesThere, lines_of_some, outline_chains, shares_of
from clgeom.region.coverage.masks import REAL, Masks
from clgeom.region.coverage.rasters import LARGEST_SIDE
from clgeom.region.coverage.runs import MOST_KEPT, Runs, cached_plan, uniting_plan

#: Most runs: memory for their parts takes 80 bytes each.
MOST_RUNS = 1 << 22
#: Facts of a part, and most parts whose facts are read with their number.
FACTS, LIKELY_PARTS = 8, 1 << 12
OUTLINES = "region/coverage/coverage_outlines"


@dataclass(frozen=True, eq=False)
class PartOutlines:
    """The parts of masks: of each its mask, number of cells and of lines, and the ring of each of at most `most` lines.

    `wide` are the parts with more than a lesser number of lines. `lines` are theirs, on the device. ``owner()`` returns
    the part of each run.
    """

    session: Session
    mask: np.ndarray
    cells: np.ndarray
    spans: np.ndarray
    rings: ChainRings
    wide: np.ndarray
    lines: LinesThere
    owner: Callable[[], np.ndarray]

    def outlines(self, segments: int, *, cuts: str) -> list[tuple[Chains, np.ndarray]]:
        """Return (chains, numbers of their parts) of all parts, as `outline_chains`."""
        short, found = np.flatnonzero(self.spans <= segments), list[tuple[Chains, np.ndarray]]()
        if len(short):
            found.append((RingChains(self.rings.some(short), self.spans[short]), short))
        is_wide = self.spans[self.wide] > segments
        if is_wide.all() and len(shares_of(self.session, self.wide, self.spans, segments)) == 1:
            found.append((self.lines.chains(self.session, segments, cuts), self.wide))
        elif is_wide.any():
            lines, wide = lines_of_some(self.lines.read(self.session), np.flatnonzero(is_wide)), self.wide[is_wide]
            found += [(chains, wide[some]) for chains, some in outline_chains(self.session, lines, segments, cuts=cuts)]
        return found


def part_outlines(masks: Masks, runs: Runs, least: int, most: int) -> PartOutlines | None:
    """Return the parts of masks, with rings of up to `most` lines and lines of parts with more than `least`.

    None for devices with many work-items, and for too many runs.
    """
    session, n = masks.session, len(runs)
    profile, is_kept = session.profile, n <= MOST_KEPT
    size = 1 << max(n - 1, 1).bit_length() if is_kept else n
    serial = select(profile, "region/coverage/coverage_unite", np.dtype(np.uint32), n).variant == "serial"
    if not serial or not 0 < n <= MOST_RUNS or 4 * (FACTS + 1) * size > profile.max_alloc_bytes:
        return None

    def make() -> tuple[Plan, dict[str, Scratch]]:
        lists, numbers = ("tops", "bottoms", "columns"), [Number(name) for name in ("runs", "width", "least", "most")]
        plan = uniting_plan(profile, size, (*lists, "starts", *numbers[:2]), "parents", corners=True)
        memory = {
            name: Scratch(f"part_{name}", REAL, k * size) for name, k in (("lower", 4), ("upper", 4), ("rings", 8))
        }
        memory = {"facts": Scratch("part_facts", np.uint32, FACTS * (size + 1)), **memory}
        step = Step(OUTLINES, select(profile, OUTLINES), (*lists, *numbers, "parents", *memory.values()), 1)
        return plan + Plan(step), memory

    plan, memory = cached_plan(session, ("parts outlined", size), make, is_kept=is_kept)
    numbers = {"runs": n, "width": runs.width, "least": min(least, LARGEST_SIDE), "most": min(most, LARGEST_SIDE)}
    arguments = runs.arguments(masks.stack)
    values: dict[str, np.generic] = {name: np.uint32(value) for name, value in numbers.items()}
    made = run(session, plan, numbers=values, **arguments)
    facts = made.read(memory["facts"], FACTS * (min(size, LIKELY_PARTS) + 1))
    parts, _, vertices = facts[:3].tolist()
    if parts > LIKELY_PARTS:
        facts = made.read(memory["facts"], FACTS * (parts + 1))
    table = facts.reshape(-1, FACTS)[1 : parts + 1]
    first, spans, lowers, _, offsets = table.T[:5].astype(np.int64)
    corners = made.read(memory["rings"], 2 * vertices).reshape(-1, 2)
    wide = np.flatnonzero(spans > least)
    starts = np.append(0, np.cumsum(spans[wide]))
    lines = LinesThere(made[memory["lower"]], made[memory["upper"]], starts)
    rings = ChainRings(corners, np.append(offsets, vertices), lowers)

    def owner() -> np.ndarray:
        return read(session, arguments["parents"], np.uint32, n).astype(np.int64)

    cells = table.view(np.uint64)[:, 3].astype(np.int64)
    return PartOutlines(session, first // runs.width, cells, spans, rings, wide, lines, owner)
