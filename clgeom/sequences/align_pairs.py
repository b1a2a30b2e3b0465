"""Scores of many short pairs on GPUs, and where they end: a team of work-items for one or two pairs
(sequences/align_pairs).

letters, offsets ─> classes of similar sizes, each in an order of sizes ─> a launch for each class

The host orders a few pairs, the device many, and those whose offsets it has (`clgeom.sequences.pairs_order`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.build import compiles
from clgeom.core.launch import allocate, constant, copy, read, run
from clgeom.core.plan import Plan, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.sequences.pairs_order import bounds_on_device, is_ordered_there, order_pairs
from clgeom.sequences.scoring import SATURATED

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.intake.letters import Sequences
    from clgeom.sequences.align_tiles import PairTiles
    from clgeom.sequences.pairs_order import PairClass, PairOrder
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
#: Local memory for the codes of letters of both sides.
LETTERS_BYTES = 2 * 260
#: Cells from which on a class has strips of as many rows as its pairs need: a program of its own takes long to build.
LEAST_FITTED = 1 << 30
PTX_PROBE = """
kernel void probe(global uint *word)
{
    uint sum, most;
    asm("add.s16x2 %0, %1, %2;" : "=r"(sum) : "r"(word[0]), "r"(word[1]));
    asm("max.relu.s16x2 %0, %1, %2;" : "=r"(most) : "r"(sum), "r"(word[2]));
    asm volatile("shfl.sync.idx.b32 %0, %1, 0, 31, -1;" : "=r"(most) : "r"(most));
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


@dataclass(frozen=True)
class SizeClass:
    """Pairs that are launched together, and their greatest lengths; `order` None is that of all pairs."""

    order: cl.Buffer | None
    count: int
    n: int
    m: int


class ShortPairs:
    """Pairs of a part whose letters `tiles` has on the device; a batch of one sequence is that of all pairs."""

    def __init__(self, tiles: PairTiles, a: Sequences, b: Sequences, count: int) -> None:
        self.tiles, self.session, self.rules, self.count = tiles, tiles.session, tiles.rules, count
        self.policy, self.batches = policy_of(self.session), (a, b)
        self.many = [np.uint32(len(one) > 1 or count == 1) for one in self.batches]
        self.codes, table = packed_table(self.rules.scoring)
        self.bounds = bounds_on_device(self.session, a), bounds_on_device(self.session, b)
        scores = constant(self.session, table)
        self.buffers = tiles.buffers | {"a_offsets": self.bounds[0], "b_offsets": self.bounds[1], "scores": scores}

    def found(self, *, reverse: bool = False, ends: bool = True) -> np.ndarray:
        """Score, row and column of the end of each pair, int64 of shape (count, 3); scores only without `ends`.

        Of local alignments of no letters the row is 0 or less.
        """
        width, local = 3 if ends else 1, self.rules.local
        results = allocate(self.session, 4 * width * self.count)
        again = []
        for one in self._classes:
            narrow = bool(self.rules.fits_short(np.array(one.n), np.array(one.m)))
            self._launch(one, narrow, reverse, ends, results)
            if narrow and local and min(one.n, one.m) * self.rules.scoring.greatest > self._greatest_sure:
                again.append(one)
        values = read(self.session, results, np.int32, width * self.count).reshape(self.count, width)
        for one in again:
            chosen = np.arange(self.count, dtype=np.uint32)
            if one.order is not None:
                chosen = read(self.session, one.order, np.uint32, one.count)
            chosen = chosen[values[chosen, 0] > self._greatest_sure]
            if len(chosen):
                self._launch(self._class_of(chosen, one.n, one.m), False, reverse, ends, results)
                values = read(self.session, results, np.int32, width * self.count).reshape(self.count, width)
        return values.astype(np.int64)

    @property
    def _greatest_sure(self) -> int:
        """The greatest local score in 16 bits that no sum of the pair has gone beyond."""
        return SATURATED - max(self.rules.scoring.greatest, 0)

    @functools.cached_property
    def _classes(self) -> list[SizeClass]:
        """The classes of pairs."""
        a, b = self.batches
        if a.common_length is not None and b.common_length is not None:
            return [SizeClass(None, self.count, a.common_length, b.common_length)]
        if is_ordered_there(self.session, a, b):
            limits, unit = (LEAST_CLASS << np.arange(1, 7)) - 1, self.policy.items_per_thread * self.policy.team
            ordered = order_pairs(self.session, "sizes", a, b, self.bounds, limits=limits, unit=unit)
            if ordered is not None:
                return [self._part_of(ordered, one) for one in ordered.classes]
        return self._classes_by_host()

    def _part_of(self, ordered: PairOrder, one: PairClass) -> SizeClass:
        """Return a class of an order by the device."""
        order, count = ordered.indices, one.stop - one.first
        if count < self.count:
            order = allocate(self.session, 4 * count)
            copy(self.session, ordered.indices, order, 4 * count, start=4 * one.first)
        return SizeClass(order, count, *one.most)

    def _class_of(self, indices: np.ndarray, n: int, m: int) -> SizeClass:
        """Return the class of pairs at these indices."""
        return SizeClass(self.tiles.on_device(indices, "The order of pairs"), len(indices), n, m)

    def _classes_by_host(self) -> list[SizeClass]:
        """Return the classes of pairs, ordered by the host."""
        n, m = (np.broadcast_to(one.lengths, self.count) for one in self.batches)
        sizes = np.frexp(np.maximum(np.maximum(n, m), LEAST_CLASS).astype(np.float32))[1].astype(np.uint8)
        classes = np.flatnonzero(np.bincount(sizes))
        found = []
        for one in classes.tolist():
            chosen = None if len(classes) == 1 else np.flatnonzero(sizes == one)
            rows, columns = (n, m) if chosen is None else (n[chosen], m[chosen])
            strips, quads = -(-rows // (self.policy.items_per_thread * self.policy.team)), -(-columns // 4)
            n_most, m_most, most = int(rows.max()), int(columns.max()), int(quads.max()) + 1
            shift = max((most * (int(strips.max()) + 1)).bit_length() - 16, 0)
            key = strips * ((most >> shift) + 1) + (quads >> shift)
            order = np.argsort(key.astype(np.uint16), kind="stable")[::-1]  # NumPy sorts these by digits
            order = order if chosen is None else chosen[order]
            found.append(self._class_of(np.ascontiguousarray(order, np.uint32), n_most, m_most))
        return found

    def _shape(self, cells: str) -> tuple[PairsPolicy, int]:
        """Return the policy, smaller where the device has less local memory."""
        team = self.policy.team if cells == self.policy.cells else 1
        policy = replace(self.policy, cells=cells, team=team)
        lanes = 1 if cells == "int" else 2
        limit = self.session.profile.local_mem_bytes
        table = self.codes * 4 * (ceil_div(self.codes, 16) | 1)

        def needed(policy: PairsPolicy) -> int:
            words = self.codes * policy.items_per_thread // 4 * lanes * policy.wg_size + table + policy.wg_size
            return 4 * words + LETTERS_BYTES

        def halved(policy: PairsPolicy) -> PairsPolicy:
            half = policy.wg_size // 2
            return replace(policy, wg_size=half, team=min(policy.team, half))

        while needed(policy) > limit and policy.wg_size > 32:
            policy = halved(policy)
        while needed(policy) > limit and policy.items_per_thread > 4:
            policy = replace(policy, items_per_thread=policy.items_per_thread // 8 * 4)
        while needed(policy) > limit and policy.wg_size > 1:
            policy = halved(policy)
        return policy, lanes

    def _launch(self, pairs: SizeClass, narrow: bool, reverse: bool, ends: bool, results: cl.Buffer) -> None:
        rules, scoring, count, n, m = self.rules, self.rules.scoring, pairs.count, pairs.n, pairs.m
        policy, lanes = self._shape(self.policy.cells if narrow else "int")
        width = ceil_div(m, 4)
        teams = policy.wg_size // policy.team
        group_bytes = width * (4 * lanes + 32) * teams
        most = min(self.session.profile.max_alloc_bytes, BUDGET) // (32 * width * teams)
        tiles = ceil_div(count, lanes * teams)
        groups = max(min(policy.groups(tiles, self.session.profile.compute_units), most), 1)
        groups = ceil_div(tiles, ceil_div(tiles, groups))  # each with as many tiles
        buffers: dict[str, Any] = dict(self.buffers, results=results)
        buffers["order"] = self.buffers["status"] if pairs.order is None else pairs.order
        buffers["columns"] = allocate(self.session, groups * width * 4 * lanes * teams)
        buffers["top"] = allocate(self.session, groups * width * 32 * teams)
        numbers = (scoring.gap_open, scoring.gap_extend, rules.free)
        args: list[Any] = ["a", "b", "a_offsets", "b_offsets", *self.many, "codes", "scores", *map(np.int32, numbers)]
        args += [np.uint32(reverse), "order", np.uint32(pairs.order is not None), np.uint32(count), np.uint32(width)]
        args += ["columns", "top", "results", "status"]
        params = {"local": rules.local, "ends": ends, "codes": self.codes, "cells": policy.cells}
        params |= {"team": policy.team, "rows": _rows(policy, n, count * n * m)}
        moved = count * (n + m) + group_bytes // 4
        run(self.session, Plan(Step(KERNEL, policy, tuple(args), groups, params, bytes_moved=moved)), **buffers)


def _rows(policy: PairsPolicy, n: int, cells: int) -> int:
    """Return the rows of a strip: for much work up to three fewer than the policy's, if as many strips take all."""
    strips = max(ceil_div(n, policy.items_per_thread * policy.team), 1)
    rows = ceil_div(n, strips * policy.team)
    return rows if cells >= LEAST_FITTED and rows > policy.items_per_thread - 4 else policy.items_per_thread


def packed_table(scoring: Scoring) -> tuple[int, np.ndarray]:
    """Return the number of codes, the last one for what is beyond a pair, and their scores: rows of an odd number of
    vectors of four words.
    """
    k = len(scoring.alphabet)
    stride = ceil_div(k + 1, 16) | 1
    table = np.full((k + 1, 16 * stride), -1, np.int8)
    if scoring.matrix is None:
        table[:k, :k] = scoring.mismatch
        np.fill_diagonal(table[:k, :k], scoring.match)
    else:
        table[:k, :k] = scoring.matrix.values
    return k + 1, table.view(np.uint32).ravel()
