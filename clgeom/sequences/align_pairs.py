"""Scores of many short pairs on GPUs, and where they end: a work-item for one or two pairs (sequences/align_pairs).

letters, offsets ─> classes of similar sizes, each in an order of sizes ─> a launch for each class
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.build import compiles
from clgeom.core.launch import allocate, constant, read, run
from clgeom.core.plan import Plan, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.sequences.scoring import SATURATED

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.core.policies import Policy
    from clgeom.sequences.align_tiles import PairTiles
    from clgeom.sequences.policies import PairsPolicy
    from clgeom.sequences.scoring import Rules, Scoring

KERNEL = "sequences/align_pairs"
#: Most letters of a sequence: a work-item alone would take too long.
MOST_LETTERS = 4_096
#: Pairs of fewer letters are launched together.
LEAST_CLASS = 64
#: Greatest size of a score: a word has four of them.
MOST_SCORE = 127
#: Most memory for scratch.
BUDGET = 1 << 30
PTX_PROBE = """
kernel void probe(global uint *word)
{
    uint sum, most;
    asm("add.s16x2 %0, %1, %2;" : "=r"(sum) : "r"(word[0]), "r"(word[1]));
    asm("max.relu.s16x2 %0, %1, %2;" : "=r"(most) : "r"(sum), "r"(word[2]));
    word[0] = most;
}
"""


def policy_of(session: Session) -> PairsPolicy:
    """Return the policy of the kernel, with cells that the device's compiler knows."""
    policy: Any = select(session.profile, KERNEL)
    if policy.cells == "ptx" and not session.cached(("align_pairs", "ptx"), lambda: compiles(session, PTX_PROBE)):
        policy = replace(policy, cells="int")
    return policy  # type: ignore[no-any-return]


def are_short(session: Session, rules: Rules, longest: int) -> bool:
    """Return whether the kernel is the one for such pairs: on CPUs the vectors of align_tiles are quicker."""
    scoring = rules.scoring
    return (
        select(session.profile, KERNEL).variant == "group"
        and rules.band is None
        and longest <= MOST_LETTERS
        and max(scoring.greatest, -scoring.least) <= MOST_SCORE
    )


class ShortPairs:
    """Pairs of a part whose letters `tiles` has on the device; `offsets` of one sequence for all pairs are two."""

    def __init__(self, tiles: PairTiles, offsets: Sequence[np.ndarray], count: int) -> None:
        self.tiles, self.session, self.rules, self.count = tiles, tiles.session, tiles.rules, count
        self.policy = policy_of(self.session)
        self.many = [np.uint32(len(one) > 2 or count == 1) for one in offsets]
        self.lengths = [np.diff(one) for one in offsets]  # one, or one of each pair
        self.codes, table = packed_table(self.rules.scoring)
        a_offsets, b_offsets = (tiles.on_device(one.astype(np.uint32), "The offsets of sequences") for one in offsets)
        scores = constant(self.session, table)
        self.buffers = tiles.buffers | {"a_offsets": a_offsets, "b_offsets": b_offsets, "scores": scores}

    def found(self, *, reverse: bool = False, ends: bool = True) -> np.ndarray:
        """Score, row and column of the end of each pair, int64 of shape (count, 3); scores only without `ends`.

        Of local alignments of no letters the row is 0 or less.
        """
        width, local = 3 if ends else 1, self.rules.local
        results = allocate(self.session, 4 * width * self.count)
        again = []
        for order, n, m in self._classes():
            narrow = bool(self.rules.fits_short(np.array(n), np.array(m)))
            self._launch(order, n, m, narrow, reverse, ends, results)
            if narrow and local and min(n, m) * self.rules.scoring.greatest > self._greatest_sure:
                again.append((order, n, m))
        values = read(self.session, results, np.int32, width * self.count).reshape(self.count, width)
        for order, n, m in again:
            chosen = np.arange(self.count, dtype=np.uint32) if order is None else order
            chosen = chosen[values[chosen, 0] > self._greatest_sure]
            if len(chosen):
                self._launch(chosen, n, m, False, reverse, ends, results)
                values = read(self.session, results, np.int32, width * self.count).reshape(self.count, width)
        return values.astype(np.int64)

    @property
    def _greatest_sure(self) -> int:
        """The greatest local score in 16 bits that no sum of the pair has gone beyond."""
        return SATURATED - max(self.rules.scoring.greatest, 0)

    def _classes(self) -> list[tuple[np.ndarray | None, int, int]]:
        """(order, most letters of a, of b) of pairs that are launched together; order None is that of the pairs."""
        n, m = self.lengths
        n_most, m_most = int(n.max()), int(m.max())
        if int(n.min()) == n_most and int(m.min()) == m_most:
            return [(None, n_most, m_most)]
        n, m = (np.broadcast_to(one, self.count) for one in (n, m))
        sizes = np.frexp(np.maximum(np.maximum(n, m), LEAST_CLASS).astype(np.float32))[1].astype(np.uint8)
        classes = np.flatnonzero(np.bincount(sizes))
        found: list[tuple[np.ndarray | None, int, int]] = []
        for one in classes.tolist():
            chosen = None if len(classes) == 1 else np.flatnonzero(sizes == one)
            rows, columns = (n, m) if chosen is None else (n[chosen], m[chosen])
            strips, quads = -(-rows // self.policy.items_per_thread), -(-columns // 4)
            n_most, m_most, most = int(rows.max()), int(columns.max()), int(quads.max()) + 1
            shift = max((most * (int(strips.max()) + 1)).bit_length() - 16, 0)
            key = strips * ((most >> shift) + 1) + (quads >> shift)
            order = np.argsort(key.astype(np.uint16), kind="stable")[::-1]  # NumPy sorts these by digits
            order = order if chosen is None else chosen[order]
            found.append((np.ascontiguousarray(order, np.uint32), n_most, m_most))
        return found

    def _shape(self, cells: str) -> tuple[PairsPolicy, int]:
        """Return the policy, smaller where the device has less local memory."""
        policy = replace(self.policy, cells=cells)
        lanes = 1 if cells == "int" else 2
        limit = self.session.profile.local_mem_bytes

        def needed(policy: Policy) -> int:
            return self.codes * (policy.items_per_thread // 4 * lanes * policy.wg_size + 9) * 4

        while needed(policy) > limit and policy.wg_size > 32:
            policy = replace(policy, wg_size=policy.wg_size // 2)
        while needed(policy) > limit and policy.items_per_thread > 4:
            policy = replace(policy, items_per_thread=policy.items_per_thread // 8 * 4)
        while needed(policy) > limit and policy.wg_size > 1:
            policy = replace(policy, wg_size=policy.wg_size // 2)
        return policy, lanes

    def _launch(
        self, order: np.ndarray | None, n: int, m: int, narrow: bool, reverse: bool, ends: bool, results: cl.Buffer
    ) -> None:
        rules, scoring = self.rules, self.rules.scoring
        count = self.count if order is None else len(order)
        policy, lanes = self._shape(self.policy.cells if narrow else "int")
        width = ceil_div(m, 4)
        group_bytes = width * (4 * lanes + 32) * policy.wg_size
        most = min(self.session.profile.max_alloc_bytes, BUDGET) // (32 * width * policy.wg_size)
        tiles = ceil_div(count, lanes * policy.wg_size)
        groups = max(min(policy.groups(tiles, self.session.profile.compute_units), most), 1)
        groups = ceil_div(tiles, ceil_div(tiles, groups))  # each with as many tiles
        buffers: dict[str, Any] = dict(self.buffers, results=results)
        buffers["order"] = (
            self.buffers["status"] if order is None else self.tiles.on_device(order, "The order of pairs")
        )
        buffers["columns"] = allocate(self.session, groups * width * 4 * lanes * policy.wg_size)
        buffers["top"] = allocate(self.session, groups * width * 32 * policy.wg_size)
        numbers = (scoring.gap_open, scoring.gap_extend, rules.free)
        args: list[Any] = ["a", "b", "a_offsets", "b_offsets", *self.many, "codes", "scores", *map(np.int32, numbers)]
        args += [np.uint32(reverse), "order", np.uint32(order is not None), np.uint32(count), np.uint32(width)]
        args += ["columns", "top", "results", "status"]
        params = {"local": rules.local, "ends": ends, "codes": self.codes, "cells": policy.cells}
        moved = count * (n + m) + group_bytes // 4
        run(self.session, Plan(Step(KERNEL, policy, tuple(args), groups, params, bytes_moved=moved)), **buffers)


def packed_table(scoring: Scoring) -> tuple[int, np.ndarray]:
    """Return the number of codes, the last one for what is beyond a pair, and their scores: rows of an odd number of
    words.
    """
    k = len(scoring.alphabet)
    stride = ceil_div(k + 1, 4) | 1
    table = np.full((k + 1, 4 * stride), -1, np.int8)
    if scoring.matrix is None:
        table[:k, :k] = scoring.mismatch
        np.fill_diagonal(table[:k, :k], scoring.match)
    else:
        table[:k, :k] = scoring.matrix.values
    return k + 1, table.view(np.uint32).ravel()
