"""Similarities of pairs by a work-item for each, or for a vector of them: integers, and their quotients on the host.

All pairs of short sequences by Jaro and Winkler are computed by `clgeom.sequences.matrix_words` on CPUs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.intake.arrays import c_name
from clgeom.sequences.pairs_bits import bounds_of_parts, launch_bounds, upload, upload_flat

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.intake.letters import Sequences

JARO, PARTIAL = "sequences/pairs_jaro", "sequences/pairs_partial"
#: Pairs of a run, bytes of a pair in it, and bytes of all scratch memory.
MOST_PAIRS, BYTES, MOST_SCRATCH = 1 << 21, 16, 1 << 26
#: Work of a letter, and of a cell, in words of `launch_bounds`.
WORK, CELL = 16, 2
#: Most letters of both sequences, and of the shorter one, for cells of 16 bits: products of letters fit, too.
MOST_SHORT, MOST_SHORTER = (1 << 15) - 2, 127


class TextPairs:
    """The letters of one or two batches on a device, for values of pairs of them: "partial_ratio", "jaro" ..."""

    def __init__(self, session: Session, problem: str, a: Sequences, b: Sequences) -> None:
        self.session, self.problem, self.letter = session, problem, c_name(a.letters.dtype)
        self.kernel = PARTIAL if problem == "partial_ratio" else JARO
        self.policy, self.cell, self.itemsize = select(session.profile, self.kernel), "int", 4
        is_short = a.longest + b.longest <= MOST_SHORT and min(a.longest, b.longest) <= MOST_SHORTER
        if a.letters.dtype == np.uint8 and is_short:
            self.cell, self.itemsize = "short", 2
        elif self.policy.items_per_thread > 8:  # vectors of 32 bytes
            self.policy = replace(self.policy, items_per_thread=8)
        parts = (a.letters,) if a is b else (a.letters, b.letters)
        self.letters, _ = upload(session, self.policy, *parts)
        starts = 0, 0 if a is b else len(a.letters)
        spans = (np.stack([one.offsets[:-1] + start, one.lengths], axis=1) for one, start in zip((a, b), starts))
        self.rows, self.columns = (one.astype(np.uint32) for one in spans)

    def values(self, rows: np.ndarray, columns: np.ndarray, *, grid: bool) -> np.ndarray:
        """Return the values of as many rows and columns; in a `grid` of all pairs of them."""
        rows, columns = self.rows[rows], self.columns[columns]
        n, m = rows[:, 1].astype(np.int64), columns[:, 1].astype(np.int64)
        width, count = (len(columns), len(rows) * len(columns)) if grid else (1, len(rows))
        is_partial, params = self.kernel == PARTIAL, {"letter": self.letter, "grid": grid}
        work = WORK * (width * n + m.sum() if grid else n + m)
        if is_partial:
            work, params["cell"] = work + CELL * n * (m.sum() if grid else m), self.cell
        bounds = [cut * width for cut in launch_bounds(np.maximum(work, width))]
        steps, out = self._steps(bounds, width, count, int(n.max(initial=0)), int(m.max(initial=0)), params)
        buffers: dict[str, Any] = {"letters": self.letters}
        buffers |= {name: upload_flat(self.session, one) for name, one in (("rows", rows), ("columns", columns))}
        found = run(self.session, Plan(*steps), paced=len(steps) > 1, **buffers).read(out)
        if is_partial:
            return percent(*found.reshape(-1, 2).T)
        n, m = (np.repeat(n, width), np.tile(m, len(rows))) if grid else (n, m)
        common, wrong, same = found.reshape(-1, 3).T
        return similarities(common, wrong, same, n, m, winkler=self.problem == "jaro_winkler")

    def _steps(
        self, bounds: list[int], width: int, count: int, room: int, more: int, params: dict[str, Any]
    ) -> tuple[list[Step], Scratch]:
        """Return launches, for pairs between each two bounds, of at most so many letters, and where results are."""
        policy, profile, lanes = self.policy, self.session.profile, self.policy.items_per_thread
        numbers, each, dtype = 3, max(room + more, 1), np.dtype(np.uint32)
        if self.kernel == PARTIAL:
            numbers, each, dtype = 2, 2 * each, np.dtype(f"i{self.itemsize}")
        most = max(min(MOST_SCRATCH, profile.max_alloc_bytes) // (dtype.itemsize * lanes * each), 1)
        parts = []
        for first, stop in itertools.pairwise(bounds):
            groups = policy.groups(ceil_div(stop - first, policy.tile), profile.compute_units)
            parts.append((first, stop, min(ceil_div(stop - first, lanes), most, groups * policy.wg_size)))
        scratch = Scratch("scratch", dtype, each * lanes * max(items for *_, items in parts))
        out = Scratch("out", np.int32, numbers * count)
        steps = [
            Step(
                self.kernel,
                policy,
                ("letters", "rows", "columns", *map(np.uint32, (width, *part, room, each)), scratch, out),
                ceil_div(part[2], policy.wg_size),
                params,
            )
            for part in parts
        ]
        return steps, out

    def blocks(self, most: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield rows, columns, and the values of all pairs of them, at most so many. Columns are sorted by length."""
        width, order = min(len(self.columns), most), np.argsort(self.columns[:, 1], kind="stable")
        down = max(most // width, 1)
        for left, top in itertools.product(range(0, len(order), width), range(0, len(self.rows), down)):
            rows, columns = np.arange(top, min(top + down, len(self.rows))), order[left : left + width]
            yield rows, columns, self.values(rows, columns, grid=True).reshape(len(rows), -1)


def similarities(
    both: np.ndarray, wrong: np.ndarray, same: np.ndarray, n: np.ndarray, m: np.ndarray, *, winkler: bool
) -> np.ndarray:
    """Return similarities of common letters, those out of order, common first letters, and lengths."""
    some = np.maximum(both, 1)
    found = both / np.maximum(n, 1) + both / np.maximum(m, 1)
    found = (found + (both - wrong // 2) / some) / 3
    found = np.where(both > 0, found, np.where(n + m == 0, 1.0, 0.0))
    if winkler:
        more = np.minimum(found + same * 0.1 * (1 - found), 1)
        found = np.where(found > 0.7, more, found)
    return found


def percent(apart: np.ndarray, both: np.ndarray) -> np.ndarray:
    """Return how much sequences of as many letters have in common, of their indel distances: from 0 to 100."""
    values: np.ndarray = np.divide(apart, both, out=np.zeros(apart.shape), where=both > 0)
    np.subtract(1, values, out=values)
    values *= 100
    return values


def values(session: Session, problem: str, a: Sequences, b: Sequences) -> np.ndarray:
    """Return the value of each pair."""
    found = np.empty(len(a))
    most = min(MOST_PAIRS, session.profile.max_alloc_bytes // BYTES)
    for first, stop in itertools.pairwise(bounds_of_parts(session, a, b)):
        for begin in range(first, stop, most):
            some = a.part(begin, min(begin + most, stop)), b.part(begin, min(begin + most, stop))
            order = np.arange(len(some[0]))
            if problem == "partial_ratio":  # those in a vector are alike
                order = np.lexsort((some[1].lengths, some[0].lengths))
            found[begin + order] = TextPairs(session, problem, *some).values(order, order, grid=False)
    return found
