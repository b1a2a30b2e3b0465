"""Edit distances with free ends of the second sequence: of all of the first one and the part of the other one that is
most like it.

    letters ─> windows of second sequences ─> pairs_bits, those as rows ─> the least distance of each pair, and its end

An alignment of all of a sequence of n letters costs n at most, so its part of the other one has 2 n letters at most:
windows that have so many in common miss none, and many items share a long sequence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch
from clgeom.errors import DeviceLimit, short
from clgeom.intake.letters import Sequences, with_common_codes
from clgeom.sequences.pairs_bits import PairLetters, bounds_of_parts, order_jobs

if TYPE_CHECKING:
    from clgeom.core.device import Session

CALLER = "edit_distance"
#: Names of kernels by the ends that are free.
FREE = {(): "", ("b_begin",): "begin", ("b_end",): "end", ("b_begin", "b_end"): "both"}
#: Letters of a window besides those in common with the next one: at least, and for each letter of the first sequence.
LEAST_WINDOW, WINDOW = 4096, 8
#: Words beyond which strips spill fewer registers (Intel's GPUs: 9 bytes instead of 110).
MOST_WORDS = 8
#: Most words times columns of a window: about 20 seconds of an item that cannot be stopped (PoCL).
MOST_WORK = 1 << 35


def free_of(value: str | Iterable[str] | None) -> str:
    """Return the name of the free ends for kernels, empty for none."""
    if value is None:
        return ""
    chosen = tuple(value) if np.iterable(value) and not isinstance(value, str) else (value,)
    if all(isinstance(name, str) for name in chosen):
        ends = tuple(sorted(set(chosen)))
        if ends in FREE:
            return FREE[ends]
    raise wrong(
        "free_ends", CALLER, "'b_begin', 'b_end', or both: exchange the sequences for those of 'a'", short(value)
    )


def find(session: Session, a: Sequences, b: Sequences, free: str, *, is_last: bool = False) -> np.ndarray:
    """Return the distance of each pair and the end of its part of the second sequence, int64 of shape (pairs, 2).

    Of several ends the first one, or the last one if `is_last`, which is for free ends alone.
    """
    parts = ((a.part(*ends), b.part(*ends)) for ends in itertools.pairwise(bounds_of_parts(session, a, b)))
    found = [_find_part(session, *part, free, is_last) for part in parts]
    return np.concatenate([np.empty((0, 2), np.int64), *found])


def find_two(session: Session, a: np.ndarray, b: np.ndarray, free: str, *, with_start: bool) -> tuple[int, int, int]:
    """Return the distance of two sequences, and the start and the end of the part of the second one.

    The start is that of the longest part with this end, as edlib has it; -1 without `with_start`.
    """
    distance, end = _of_two(session, a, b, free)
    start = -1
    if with_start:
        backwards = b[max(end - 2 * len(a), 0) : end][::-1]
        start = end - _of_two(session, a[::-1], backwards, "end", is_last=True)[1] if free != "end" else 0
    return distance, start, end


def _of_two(session: Session, a: np.ndarray, b: np.ndarray, free: str, *, is_last: bool = False) -> tuple[int, int]:
    pair = with_common_codes(*(Sequences(np.ascontiguousarray(one), np.array([0, len(one)])) for one in (a, b)))
    distance, end = find(session, pair[0], pair[1], free, is_last=is_last)[0].tolist()
    return distance, end


def _find_part(session: Session, a: Sequences, b: Sequences, free: str, is_last: bool) -> np.ndarray:
    pairs, n, m = PairLetters(session, "edit", a.letters, b.letters), a.lengths, b.lengths
    if free != "both":
        of, sizes = np.arange(len(a)), np.minimum(m, 2 * n)
        begins = m - sizes if free == "begin" else np.zeros_like(m)
    else:
        steps = np.maximum(WINDOW * n, LEAST_WINDOW)
        counts = np.maximum(-(-(m - 2 * n) // steps), 1)
        of, last = np.repeat(np.arange(len(a)), counts), np.cumsum(counts)
        begins = (np.arange(len(of)) - (last - counts)[of]) * steps[of]
        sizes = np.minimum(m[of] - begins, steps[of] + 2 * n[of])
    if len(of) and float((sizes / pairs.word_bits * n[of]).max()) > MOST_WORK:
        raise DeviceLimit(
            f"With free ends {CALLER} is for first sequences of less than about half a million letters. Got "
            f"{int(n.max()):,}: clgeom.align has free ends for longer ones."
        )
    jobs = np.stack([len(a.letters) + b.offsets[:-1][of] + begins, sizes, a.offsets[:-1][of], n[of]], axis=1)
    buffer, order, classes = order_jobs(session, pairs, jobs.astype(np.uint32))
    plan, out = Plan(), Scratch("out", np.int32, 2 * len(jobs))
    for (words, strips), bounds, text in classes:
        strips, where = strips or words > MOST_WORDS, ("jobs", "order")
        plan += pairs.plan(words, strips, bounds=bounds, longest=text, out=out, where=where, free=free, is_last=is_last)
    result = run(session, plan, paced=len(plan) > len(classes), **pairs.buffers, jobs=buffer, order=order)
    found = result.read(out).reshape(-1, 2).astype(np.int64)
    found[:, 1] += begins
    first = np.flatnonzero(np.diff(of, prepend=-1))
    values, ends = np.divmod(np.minimum.reduceat(found[:, 0] << 32 | found[:, 1], first), 1 << 32)
    return np.stack([values, ends], axis=1)
