"""Edit distances and common subsequences of related sequences, by the furthest points of diagonals (edit_fronts).

    letters, pairs ─> a few edits at most ─> more for pairs that let expect success ─> distances, of one pair a path

The work grows with the square of the distance, that of a table with the product of the lengths. Pairs for which a table
takes less time are left to it: most show it within a few edits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clgeom.core.launch import allocate, copy, read_all, run, write
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import within_limits
from clgeom.core.tuning import select
from clgeom.intake.arrays import as_device_values
from clgeom.intake.device_arrays import on_host
from clgeom.sequences.bits import FIRST_BAND, LEAST_BANDED

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.core.policies import Policy
    from clgeom.core.profile import DeviceProfile
    from clgeom.intake.letters import Sequences

CALLER = "a batch of pairs"
INT32 = np.iinfo(np.int32).max
KERNEL = "sequences/edit_fronts"
#: Bytes before the letters and behind them that kernels read.
MARGIN = 16
#: Edits that are tried first, of those that pay: this share, and no fewer than these; of a pair alone no fewer than a
#: launch takes time for.
FIRST_SHARE, LEAST_EDITS, LEAST_ALONE = 8, 8, 256
#: Work-items of a group, times those of the policy, where each compute unit has one pair at most. H100, a pair with
#: 4,500 edits: groups of 64, 256, 512, 1,024 take 109, 27, 20, 17 ms.
WIDER = 4
#: How many edits more than expected are tried.
ALLOWANCE = 1.25
#: Most edits: a launch takes a second for each core (PoCL, 32,768 edits of one pair).
MOST_EDITS = 1 << 15
#: Letters of both sequences of a pair below which kernels count them, and runs of equal ones in 30 bits.
MOST_LETTERS = 1 << 30
#: Squares of edits of a launch.
MOST_WORK = 1 << 30
#: Most memory for fronts, as a share of the device's.
MEMORY_SHARE = 8
#: Cells of tables of edit distances that take as long as a point of a front, and as an edit besides its points, for a
#: pair alone and for one of many: of one compute unit of a CPU, and of a GPU. PoCL, one core: a point 1.9 ns, an edit
#: 52 ns, 26 cells of one pair 1 ns, 65 cells of pairs_bits. H100: of a pair alone, 920 and 4,500 edits, a point 1.7 ns,
#: an edit 1.5 us, 930 cells 1 ns; of 10,000 pairs 30 ps, 3 ns, and 4,100 cells of pairs_bits 1 ns. Tables of lcs are
#: twice as fast.
COSTS = {
    ("cpu", True): (50, 1_400),
    ("cpu", False): (124, 3_400),
    ("gpu", True): (1.6e3, 1.4e6),
    ("gpu", False): (120, 12e3),
}
#: Columns of the tiles at both sides of two bands of a table (`bits.BitTable`).
BAND_TILES = 4_000
#: Words of a sequence that are looked for in another one, and letters of each.
WORDS, WORD_LETTERS = 32, 12
#: Letters of shorter sequences from which on fronts are tried in batches, and cells of a batch for each compute unit.
#: H100, 10,000 pairs with 1 to 5 % differences, ms: of 2,000 letters 21 to 23, tables 28 to 30; 20,000 of 1,000 17.5
#: and 16; 1,000 of 10,000 15 and 1,500.
#: PoCL, 400 of 1,000, ms of processors: at 0.1 % 1.9, tables 8.7; at 5 % 6.2 and 10.9; at random 8.8 and 8.7; 200 of
#: them at random 5.4 and 4.8.
LEAST_LETTERS, LEAST_CELLS = {"cpu": 256, "gpu": 1024}, {"cpu": 1 << 27, "gpu": 1 << 22}
#: One pair of SAMPLED, at least LEAST_SAMPLE and about MOST_SAMPLE, show whether so large a share of all is related.
SAMPLED, LEAST_SAMPLE, MOST_SAMPLE, LEAST_RELATED = 24, 4, 32, 0.6
#: Pairs from which on the sample tells more than the first edits of each pair.
MANY = 256


def most_edits(
    session: Session, problem: str, cells: np.ndarray, *, alone: bool, with_path: bool = False
) -> np.ndarray:
    """Return the edits up to which fronts take three quarters of the time of tables of so many cells."""
    kind = _kind(session)
    faster = 4 / 3 * (2 if problem == "lcs" else 1) * (session.profile.compute_units if alone and kind == "cpu" else 1)
    point, edit = (cost * faster for cost in COSTS[kind, alone])
    if alone and kind == "cpu" and cells[0] >= LEAST_BANDED:  # not the whole table, but two bands of it, one narrow
        side, passes = np.sqrt(cells[0]), 1 + with_path
        edit, cells = edit - passes * side, passes * (cells * 2 * FIRST_BAND + BAND_TILES * side)
    return np.minimum((np.sqrt(edit * edit + 2.0 * point * cells) - edit) / point, MOST_EDITS).astype(np.int64)


def for_pairs(policy: Policy, profile: DeviceProfile, count: int) -> Policy:
    """Return the shape of a launch that takes a group for each pair: few pairs have wider groups."""
    if policy.variant != "group" or count > profile.compute_units:
        return policy
    return within_limits(replace(policy, wg_size=WIDER * policy.wg_size), profile)


class FrontPairs:
    """Pairs of sequences on a device: the first letter and the length of both, in the letters of all parts."""

    def __init__(self, session: Session, problem: str, parts: tuple[Any, ...], pairs: np.ndarray) -> None:
        self.session, self.problem, self.parts = session, problem, parts
        self.size = parts[0].dtype.itemsize
        self.lengths = pairs[:, 1::2].astype(np.int64)
        begin = -(-20 * len(pairs) // 8) * 8 + MARGIN
        #: As kernels take them, with the limit of each pair.
        self.jobs = np.empty((len(pairs), 5), np.uint32)
        self.jobs[:, :4] = pairs + np.array([begin // self.size, 0] * 2)
        self.policy = select(session.profile, KERNEL)
        self.memory_bytes = min(session.profile.max_alloc_bytes, session.profile.global_mem_bytes // MEMORY_SHARE)
        self.letters: cl.Buffer | None = None

    def run(self, jobs: np.ndarray, *, keep: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances of pairs within their limits, else expected ones, negated; and their edits."""
        session, count, most = self.session, len(jobs), int(jobs[:, 4].max())
        side = most // 2 + 1
        pitch = (side + 1) * (side + 5) if keep else 4 * (side + 3)
        policy = for_pairs(self.policy, session.profile, count)
        groups = policy.groups(count, session.profile.compute_units)
        groups = max(min(groups, count, self.memory_bytes // (8 * pitch)), 1)
        if self.letters is None:
            held = self.letters = upload(session, self.jobs, self.parts)
        else:
            held = allocate(session, jobs.nbytes)
            write(session, held, jobs)
        out, edits = Scratch("out", np.int32, count), Scratch("edits", np.uint32, count * (most + 1) if keep else 1)
        memory = Scratch("memory", np.int32, 2 * pitch * groups)
        args = ("letters", "jobs", np.uint32(count), memory, np.uint64(pitch), out, edits, np.uint32(most))
        params = {"problem": self.problem, "letter_bytes": self.size, "keep": keep}
        result = run(session, Plan(Step(KERNEL, policy, args, groups, params)), letters=self.letters, jobs=held)
        values, kept = np.empty(count, np.int32), np.empty((count if keep else 0, most + 1), np.uint32)
        read_all(session, (result[out], result[edits]), (values, kept))
        return values, kept

    def solve(
        self, most: np.ndarray, cutoff: int | np.ndarray | None = None, *, keep: bool = False, least: int = LEAST_EDITS
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of each pair, -1 where it is more than `most`, and the edits with `keep`, for one pair.

        A share of `most` is tried first, and no fewer than `least`. Distances beyond a cutoff may become any beyond it.
        Pairs that let expect more than `most` edits become -1 soon.
        """
        if keep:
            most = np.minimum(most, math.isqrt(self.memory_bytes // 8) * 2 - 8)
        if cutoff is not None:
            most = np.minimum(most, cutoff + 1)
        limits = self.jobs[:, 4]
        limits[:] = np.maximum(most // FIRST_SHARE, np.minimum(most, least))
        left, found = np.arange(len(most)), np.full(len(most), -1, np.int64)
        while True:
            work = np.cumsum(limits[left].astype(np.float64) ** 2)
            chosen = [left]
            if work[-1] > MOST_WORK:
                cuts = np.searchsorted(work, np.arange(MOST_WORK, work[-1], MOST_WORK), side="right")
                chosen = [part for part in np.split(left, cuts) if len(part)]
            parts = [self.run(self.jobs[part], keep=keep) for part in chosen]
            values, edits = np.concatenate([part[0] for part in parts]), parts[0][1]
            solved, expected = values >= 0, -values.astype(np.int64)
            found[left] = np.where(solved, values, -1)
            if cutoff is not None:
                beyond = limits[left] > np.broadcast_to(cutoff, len(most))[left]
                found[left] = np.where(~solved & beyond, limits[left], found[left])
            left, expected = (one[(found[left] < 0) & (expected <= most[left])] for one in (left, expected))
            more = np.minimum(np.maximum(expected * ALLOWANCE, 2.0 * limits[left]), most[left])
            left = left[more > limits[left]]
            if not len(left):
                return found, edits
            limits[left] = more[more > limits[left]]


def solve_two(
    session: Session, problem: str, a: np.ndarray, b: np.ndarray, *, with_path: bool
) -> tuple[int, np.ndarray | None] | None:
    """Return the value of two sequences and the steps of its path, as `bits.BitTable.steps`; None to use a table."""
    most = most_edits(session, problem, np.array([len(a) * len(b)]), alone=True, with_path=with_path)
    if most[0] < LEAST_EDITS or len(a) + len(b) >= MOST_LETTERS:
        return None
    unsure = (4 / 3 if problem == "lcs" else 1) * (ALLOWANCE if most[0] <= LEAST_ALONE else 1)
    if expected_edits(a, b, int(most[0])) * unsure > most[0]:
        return None
    pairs = FrontPairs(session, problem, (a, b), np.array([[0, len(a), len(a), len(b)]]))
    found, edits = pairs.solve(most, keep=with_path, least=LEAST_ALONE)
    distance = int(found[0])
    if distance < 0:
        return None
    value = (len(a) + len(b) - distance) // 2 if problem == "lcs" else distance
    return value, steps_of(edits[0, : distance + 1]) if with_path else None


def expected_edits(a: np.ndarray, b: np.ndarray, most: int) -> float:
    """Return about how many letters of a sequence differ: by how many words are in the other one, near their places.

    Unrelated DNA has one of 16 million words by chance.
    """
    size, words, text, longer = a.itemsize, a.tobytes(), b.tobytes(), (len(b) - len(a)) * b.itemsize
    begins, width = range(0, len(words), max(len(a) // WORDS, WORD_LETTERS) * size), WORD_LETTERS * size
    near = (64 + most // 16) * size
    before, behind = near - min(longer, 0), near + max(longer, 0) + width
    intact = 0
    for at in begins:
        intact += text.find(words[at : at + width], max(at - before, 0), at + behind) >= 0
    return float(len(a) * (1 - (intact / len(begins)) ** (1 / WORD_LETTERS)))


def may_pay(session: Session, letters: int, cells: Callable[[], float]) -> bool:
    """Return whether sequences of so many letters have so many cells of tables that a try of fronts costs little."""
    kind = _kind(session)
    return letters >= LEAST_LETTERS[kind] and cells() >= LEAST_CELLS[kind] * session.profile.compute_units


def _kind(session: Session) -> str:
    """Return the kind of device in tables of costs."""
    return "cpu" if session.profile.is_cpu else "gpu"


#: The letters of chosen pairs and their places: a function of their indices.
Pick: TypeAlias = Callable[[np.ndarray], tuple[tuple[Any, ...], np.ndarray]]


def solve_many(session: Session, problem: str, a: Sequences, b: Sequences, cutoff: int | None) -> np.ndarray:
    """Return the values of pairs, or others beyond the cutoff; -1 where a table takes less time."""

    def pick(chosen: np.ndarray) -> tuple[tuple[Any, ...], np.ndarray]:
        first, second = a.subset(chosen), b.subset(chosen)
        begins = first.offsets[:-1], len(first.letters) + second.offsets[:-1]
        pairs = np.stack([begins[0], first.lengths, begins[1], second.lengths], axis=1)
        return (first.letters, second.letters), pairs

    return _solve_picked(session, problem, a.lengths, b.lengths, pick, cutoff)


def solve_places(
    session: Session,
    problem: str,
    parts: tuple[Any, ...],
    pairs: np.ndarray,
    cutoff: int | None,
    least_related: float = LEAST_RELATED,
) -> np.ndarray:
    """Return the same for pairs in no order: the first letter and the length of both, in the letters of all parts."""
    n, m = pairs[:, 1], pairs[:, 3]
    return _solve_picked(session, problem, n, m, lambda chosen: (parts, pairs[chosen]), cutoff, least_related)


def _solve_picked(
    session: Session,
    problem: str,
    n: np.ndarray,
    m: np.ndarray,
    pick: Pick,
    cutoff: int | None,
    least_related: float = LEAST_RELATED,
) -> np.ndarray:
    most, found = most_edits(session, problem, n * m, alone=False), np.full(len(n), -1, np.int64)
    most[np.minimum(n, m) < LEAST_LETTERS[_kind(session)]] = 0
    tried = np.flatnonzero(most >= LEAST_EDITS)

    def edits_of(chosen: np.ndarray, *, first: bool) -> np.ndarray:
        """Numbers of edits, as `FrontPairs.solve`; without `first` by one round alone."""
        limit = None if cutoff is None else min(max(cutoff, 0), INT32)
        if limit is not None:
            limit = n[chosen] + m[chosen] - 2 * limit if problem == "lcs" else limit
        least = LEAST_EDITS if first else MOST_EDITS
        return FrontPairs(session, problem, *pick(chosen)).solve(most[chosen], limit, least=least)[0]

    are_related = len(tried) >= MANY
    if len(tried) >= 4 * LEAST_SAMPLE:
        sample = tried[:: max(len(tried) // MOST_SAMPLE, min(len(tried) // LEAST_SAMPLE, SAMPLED))]
        share = (edits_of(sample, first=True) >= 0).mean()
        if share < least_related:
            return found
        are_related &= bool(share >= LEAST_RELATED)
    if len(tried):
        edits = edits_of(tried, first=not are_related)
        values = (n[tried] + m[tried] - edits) // 2 if problem == "lcs" else edits
        found[tried] = np.where(edits < 0, -1, values)
    return found


def steps_of(edits: np.ndarray) -> np.ndarray:
    """Return the steps of a path from its edits: operation of 1 to 3, and 4 times the matches behind it."""
    steps = np.zeros(2 * len(edits), np.uint8)
    counts = np.ones(2 * len(edits), np.int64)
    steps[::2], counts[1::2] = edits & 3, edits >> 2
    return np.repeat(steps[1:], counts[1:])


def upload(session: Session, jobs: np.ndarray, parts: tuple[Any, ...]) -> cl.Buffer:
    """One buffer of jobs and letters, one part after another, with margins."""
    begin = MARGIN - jobs.nbytes % -8
    pieces = (jobs.reshape(-1).view(np.uint8), np.zeros(begin, np.uint8), *parts, np.zeros(MARGIN, np.uint8))
    buffer, at = allocate(session, sum(piece.nbytes for piece in pieces)), 0
    if session.profile.is_cpu:
        write(session, buffer, np.concatenate([on_host(piece).view(np.uint8) for piece in pieces]))
        return buffer
    for piece in pieces:
        if piece.nbytes:
            held = as_device_values(session, piece, caller=CALLER)
            copy(session, held.one_buffer("A batch of sequences"), buffer, piece.nbytes, at=at)
            at += piece.nbytes
    return buffer
