"""Alignments of pairs that are alike, in work that grows with their cost: fronts of furthest cells, not whole tables.

    rules ─> costs ─> most cost of each pair that is less work than its table ─> fronts ─> (known, ends, walks)

With one score for matches, and one for mismatches, an alignment of n and m letters that has the score s has the cost
``match * (n + m) - 2 * s``: its mismatches and gaps cost more than 0 each, and its matches nothing. The best score has
the least cost. Pairs that would cost too much are left to tables (`clgeom.sequences.align_tiles`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.sequences.align_jobs import PairSpans, job_table
from clgeom.sequences.align_tiles import PairTiles
from clgeom.sequences.fronts import for_pairs
from clgeom.sequences.scoring import A_BEGIN, A_END, B_BEGIN, B_END

if TYPE_CHECKING:
    from clgeom.sequences.scoring import Rules

KERNEL = "sequences/align_fronts"
#: Most of a cost, and letters that rows of 16 bits have room for.
MOST_COST, MOST_SHORT = 256, 16_000
LANES = {"short": 16, "int": 8}
TYPES: dict[str, Any] = {"short": np.int16, "int": np.int32}
#: As in sequences/align_fronts.h: letters beyond the ends of a sequence. They are read by words of 8.
STOPS = 16
RESULTS = 6


@dataclass(frozen=True)
class Times:
    """Nanoseconds of a front and of its cells; of cells of tables and of letters of both, without and with paths."""

    front: float
    cell: float
    table: tuple[float, float]
    letter: tuple[float, float] = (0.0, 0.0)


#: On CPUs, on GPUs, and on GPUs with a pair for each compute unit at most. PoCL, one core of an EPYC, 3 to 3,000 pairs
#: of 150 to 12,000 letters at 2 to 12 %: 0.9 to 1.4 of the time that the first two give. H100, 1,000 pairs of 4,000
#: letters at 5 %: fronts 13 us a pair, tables 12, with paths 27; a pair of 100,000 letters at 1 %: 35 ms, 31, and 210.
TIMES = {
    "cpu": Times(50.0, 1.6, (0.17, 0.35)),
    "gpu": Times(1.1, 0.036, (0.00075, 0.0017)),
    "gpu, few": Times(1_100.0, 2.9, (0.001, 0.001), (170.0, 850.0)),
}
#: Share of the time of a table that fronts may take, and most nanoseconds of a pair on CPUs and GPUs: its launch cannot
#: be stopped. PoCL, 1e6 letters at 1 %: 4 s, and its table ten minutes.
SHARE, MOST_TIME = 0.6, (16e9, 2e9)
#: Share of the greatest cost at which the progress is looked at first, and the least cost for that.
PROBE, LEAST_PROBE = 0.15, 16
#: Cells of tables from which on fronts are tried: PoCL, a pair of 600 letters, ms of processors, tables and fronts:
#: scores at 5 % 2.0 and 0.8, at random 2.1 and 3.2; paths 7.3 and 0.7, 5.9 and 7.2; of 300 no gain at 5 %. Of many
#: pairs a sample is tried first: a part of it must be alike.
LEAST_CELLS, MANY, SAMPLE, ALIKE = 1 << 18, 4_096, 64, 0.5


@dataclass(frozen=True)
class Costs:
    """The costs of a scoring in units: a mismatch, opening a gap, a letter of a gap, one left over at a free end."""

    mismatch: int
    open: int
    extend: int
    border: int
    unit: int

    def reach(self, cost: np.ndarray, letters: np.ndarray, is_free: int) -> np.ndarray:
        """Return the diagonals on one side that a cost reaches, as `reach` of align_fronts.h."""
        far: np.ndarray = np.maximum((cost - self.open) // self.extend, 0)
        if is_free:
            far = np.maximum(far, cost // self.border) if self.border else letters
        return np.asarray(np.minimum(far, letters))


def costs_of(rules: Rules) -> Costs | None:
    """Return the costs of the rules, or None for those that need tables."""
    scoring = rules.scoring
    if rules.local or scoring.matrix is not None or rules.band is not None or rules.strand == "both":
        return None
    mismatch, extend = 2 * (scoring.match - scoring.mismatch), 2 * scoring.gap_extend + scoring.match
    border = scoring.match if rules.free else 0
    if mismatch <= 0 or extend <= 0 or border < 0:
        return None
    unit = math.gcd(mismatch, extend, 2 * scoring.gap_open, border)
    found = Costs(mismatch // unit, 2 * scoring.gap_open // unit, extend // unit, border // unit, unit)
    return found if max(found.mismatch, found.open + found.extend) <= MOST_COST else None


class PairFronts:
    """The launches for pairs whose letters `tiles` has on the device."""

    def __init__(self, tiles: PairTiles, costs: Costs) -> None:
        self.tiles, self.session, self.rules, self.costs = tiles, tiles.session, tiles.rules, costs
        self.policy = self.session.cached((KERNEL,), lambda: select(self.session.profile, KERNEL), policies=True)

    def found(
        self, pairs: PairSpans, regions: np.ndarray, operations: Any = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return which pairs are known, their scores and ends, and walks as `PairTiles.paths` does.

        With `operations` they are written there, those of each pair before its place of `regions`.
        """
        count = len(pairs)
        if count >= MANY:
            some = np.arange(0, count, count // SAMPLE)
            known, *_ = self._found(pairs[some], regions[some], operations)
            if known.mean() < ALIKE:
                none = np.zeros((count, 4), np.int64)
                return none[:, 0] > 0, none[:, :3], none if operations is not None else None
        return self._found(pairs, regions, operations)

    def _found(
        self, pairs: PairSpans, regions: np.ndarray, operations: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        path, scoring, costs = operations is not None, self.rules.scoring, self.costs
        most = self.most_costs(pairs.n, pairs.m)
        order = np.argsort(-most, kind="stable")
        results = np.empty((len(pairs), RESULTS), np.int32)
        results[order] = self._launch(pairs[order], most[order], regions[order], operations)
        ends = results[:, :3].astype(np.int64)
        # letters left over at free ends cost `border` each
        ends[:, 0] = (scoring.match * (pairs.n + pairs.m) - costs.unit * ends[:, 0]) // 2
        return results[:, 0] >= 0, ends, results[:, [3, 4, 2, 5]].astype(np.int64) if path else None

    def most_costs(self, n: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return the cost of each pair up to which fronts take less time than its table."""
        costs, free, profile, path = self.costs, self.rules.free, self.session.profile, self.rules.path
        times = TIMES["cpu" if profile.is_cpu else "gpu, few" if len(n) <= profile.compute_units else "gpu"]
        time = np.minimum(
            SHARE * (times.table[path] * n * m + times.letter[path] * (n + m)), MOST_TIME[not profile.is_cpu]
        )
        # a front of cost c has so many cells on each side: c / extend, c / border, or all; without free ends those are
        # half as many, as diagonals too far from the end are left out
        linear, square, cell = (
            np.full(n.shape, times.front),
            0.0,
            times.cell if free & (A_END | B_END) else times.cell / 2,
        )
        for begin, letters in ((A_BEGIN, n), (B_BEGIN, m)):
            if free & begin and not costs.border:
                linear += cell * letters
            else:
                square += cell / 2 / (costs.border if free & begin else costs.extend)
        # time = linear * c + square * c ** 2
        return np.asarray(2 * time / (linear + np.sqrt(linear * linear + 4 * square * time)), np.int64)

    def _launch(self, pairs: PairSpans, most: np.ndarray, regions: Any, operations: Any) -> np.ndarray:
        costs, profile, policy, path = self.costs, self.session.profile, self.policy, operations is not None
        budget = self.tiles.budget
        if path:
            most = np.minimum(most, budget // 8 - 1)
        longest = int(max(pairs.n.max(), pairs.m.max()))
        value = "short" if max(longest, int(most.max())) <= MOST_SHORT else "int"
        lanes = LANES[value] if policy.variant == "serial" else 1
        free, opened = self.rules.free, costs.open + costs.extend
        slope = costs.border if free & (A_BEGIN | B_BEGIN) and costs.border else costs.extend
        window = max(costs.mismatch, opened)
        room = ceil_div(ceil_div(window, slope) + 2 + lanes, lanes) * lanes
        below = int(costs.reach(most, pairs.n, free & A_BEGIN).max())
        above = int(costs.reach(most, pairs.m, free & B_BEGIN).max())
        zero, stride = below + room, below + above + 1 + 2 * room
        letters, gaps = ceil_div(longest + STOPS, 8) * 8, (2 * costs.extend + 3) * stride
        cells, fronts, itemsize = (window + 1) * stride, 1, np.dtype(TYPES[value]).itemsize
        if path:  # without free ends a diamond of diagonals and costs
            widths = below + above if free else most // (2 * costs.extend)
            cells, fronts = int(((most + 1) * (widths + 1 + 2 * room)).max()), int(most.max()) + 1
            cells = min(cells, budget // itemsize)  # a pair that needs more is left to tables
        largest = max(2 * letters, cells * itemsize, gaps * itemsize, 8 * fronts)
        if largest > budget:
            return np.full((len(pairs), RESULTS), -1, np.int32)
        policy = for_pairs(policy, profile, len(pairs))
        groups = min(policy.groups(len(pairs), profile.compute_units), budget // largest)
        check = np.maximum(PROBE * most, LEAST_PROBE).astype(np.int64)
        jobs = job_table(pairs, most, check, ends=regions)
        results = Scratch("results", np.int32, RESULTS * len(pairs))
        numbers = costs.mismatch, costs.open, costs.extend, costs.border, free
        args: list[Any] = ["a", "b", "codes", *map(np.int32, numbers), "jobs", np.uint32(len(pairs))]
        args += [np.int32(room), np.int32(stride), np.int32(zero), np.uint32(letters)]
        args += [Scratch("letters", np.uint8, groups * 2 * letters), Scratch("cells", TYPES[value], groups * cells)]
        args += [np.uint64(cells), Scratch("gaps", TYPES[value], groups * gaps)]
        args += [Scratch("bases", np.int64, groups * fronts), np.uint32(fronts), results]
        args += ["operations" if path else "status", "status"]
        params = {"value": value, "lanes": lanes, "free": bool(free), "path": path}
        moved = jobs.nbytes + results.nbytes + 3 * int((pairs.n + pairs.m).sum())
        step = Step(KERNEL, policy, tuple(args), groups, params, bytes_moved=moved)
        buffers = dict(self.tiles.buffers, jobs=self.tiles.on_device(jobs.ravel(), "The list of pairs of align"))
        if path:
            buffers["operations"] = operations
        return run(self.session, Plan(step), **buffers).read(results).reshape(-1, RESULTS)
