"""Jaro's and Winkler's similarities of pairs: integers by a work-item for each pair, and their quotients on the host.

All pairs of short sequences are computed by `clgeom.sequences.matrix_words` on CPUs.
"""

from __future__ import annotations

import itertools
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

KERNEL = "sequences/pairs_jaro"
#: Pairs of a run, bytes of a pair in it, and of all links.
MOST_PAIRS, BYTES, MOST_LINKS = 1 << 21, 16, 1 << 26
#: Work of a letter, in words of `launch_bounds`.
WORK = 16


class JaroLetters:
    """The letters of one or two batches on a device, for values of pairs of them."""

    def __init__(self, session: Session, a: Sequences, b: Sequences) -> None:
        self.session, self.policy, self.letter = session, select(session.profile, KERNEL), c_name(a.letters.dtype)
        parts = (a.letters,) if a is b else (a.letters, b.letters)
        self.letters, _ = upload(session, self.policy, *parts)
        starts = 0, 0 if a is b else len(a.letters)
        spans = (np.stack([one.offsets[:-1] + start, one.lengths], axis=1) for one, start in zip((a, b), starts))
        self.rows, self.columns = (one.astype(np.uint32) for one in spans)

    def values(self, rows: np.ndarray, columns: np.ndarray, *, winkler: bool, grid: bool) -> np.ndarray:
        """Return the values of as many rows and columns; in a `grid` of all pairs of them."""
        rows, columns = self.rows[rows], self.columns[columns]
        n, m = rows[:, 1].astype(np.int64), columns[:, 1].astype(np.int64)
        width, room, profile = len(columns) if grid else 1, int(n.max(initial=0)), self.session.profile
        work = WORK * (len(columns) * n + m.sum() if grid else n + m)
        bounds, each = [cut * width for cut in launch_bounds(np.maximum(work, width))], room + int(m.max(initial=0))
        most = max(min(MOST_LINKS, profile.max_alloc_bytes) // max(4 * each, 1), 1)
        count, steps = len(rows) * width, []
        items = [
            min(
                stop - first,
                most,
                self.policy.tile * self.policy.groups(ceil_div(stop - first, self.policy.tile), profile.compute_units),
            )
            for first, stop in itertools.pairwise(bounds)
        ]
        links, out = Scratch("links", np.uint32, max(each * max(items), 1)), Scratch("out", np.int32, 3 * count)
        for (first, stop), some in zip(itertools.pairwise(bounds), items):
            args: tuple[Any, ...] = (
                "letters",
                "rows",
                "columns",
                *map(np.uint32, (width, first, stop, some, room)),
                links,
                out,
            )
            params = {"letter": self.letter, "grid": grid}
            steps.append(Step(KERNEL, self.policy, args, ceil_div(some, self.policy.wg_size), params))
        buffers: dict[str, Any] = {
            "rows": upload_flat(self.session, rows),
            "columns": upload_flat(self.session, columns),
        }
        found = run(self.session, Plan(*steps), paced=len(steps) > 1, letters=self.letters, **buffers).read(out)
        both, wrong, same = found.reshape(-1, 3).T
        n, m = (np.repeat(n, width), np.tile(m, len(rows))) if grid else (n, m)
        return similarities(both, wrong, same, n, m, winkler=winkler)


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


def pair_values(session: Session, a: Sequences, b: Sequences, *, winkler: bool) -> np.ndarray:
    """Return the value of each pair."""
    found = [np.empty(0)]
    most = min(MOST_PAIRS, session.profile.max_alloc_bytes // BYTES)
    for first, stop in itertools.pairwise(bounds_of_parts(session, a, b)):
        for begin in range(first, stop, most):
            end = min(begin + most, stop)
            pairs = JaroLetters(session, a.part(begin, end), b.part(begin, end))
            some = np.arange(end - begin)
            found.append(pairs.values(some, some, winkler=winkler, grid=False))
    return np.concatenate(found)
