"""Results of alignments as arrays, by the names of the fields of `AlignmentBatch`: of pairs that a device aligned, of
pairs with an empty sequence, and of both in the order of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.sequences.letters import refuse_letters
from clgeom.sequences.result import DELETE, INSERT
from clgeom.sequences.scoring import A_BEGIN, A_END, B_BEGIN, B_END, STEPS

if TYPE_CHECKING:
    from clgeom.sequences.pairs import SequencePairs
    from clgeom.sequences.scoring import Rules

Fields = dict[str, Any]


def fields_of(rules: Rules, ends: Any, walks: np.ndarray | None, strands: np.ndarray, pairs: SequencePairs) -> Fields:
    """Return the results as arrays; starts and ends that are not known are -1, in views of one number."""
    count, missing = len(strands), np.broadcast_to(np.int64(-1), len(strands))
    scores, a_ends, columns = ends if rules.ends else (ends[0], missing, missing)
    unknown = np.broadcast_to(np.int64(0), count) if rules.mode == "global" else missing
    a_starts, begins = (unknown, unknown) if walks is None else (walks[:, 0], walks[:, 1])
    b_starts, b_ends = begins, columns
    if rules.strand != "forward":
        reverse = strands < 0
        b_starts, b_ends = (
            np.where(reverse, np.where(turned < 0, turned, pairs.m - turned), one)
            for one, turned in ((begins, columns), (columns, begins))
        )
    return {
        "scores": scores,
        "a_starts": a_starts,
        "a_ends": a_ends,
        "b_starts": b_starts,
        "b_ends": b_ends,
        "strands": strands,
        "counts": np.zeros(count, np.int64) if walks is None else walks[:, 3],
        "operations": np.empty(0, np.uint8),
    }


def joined(parts: Iterable[tuple[np.ndarray, Fields]], count: int) -> Fields:
    """Return the fields of all pairs from those of parts, each with the ascending indices of its pairs."""
    found: Fields = {}
    for indices, fields in parts:
        for name in fields.keys() - {"operations"}:
            found.setdefault(name, np.empty(count, fields[name].dtype))[indices] = fields[name]
    return found | {"operations": joined_operations(((at, one["operations"]) for at, one in parts), found["counts"])}


def joined_operations(parts: Iterable[tuple[np.ndarray, np.ndarray]], counts: np.ndarray) -> np.ndarray:
    """Return the operations of all pairs, so many of each, from those of parts with ascending indices of pairs."""
    operations = np.empty(int(counts.sum()), np.uint8)
    for indices, some in parts:
        chosen = np.zeros(len(counts), bool)
        chosen[indices] = True
        operations[np.repeat(chosen, counts)] = some
    return operations


def compact_operations(operations: np.ndarray, room: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the operations of all pairs, which are at the end of each pair's room."""
    is_operation = np.repeat(np.tile([False, True], len(room)), np.stack([room - counts, counts], axis=1).ravel())
    return np.asarray(operations[is_operation])


def align_empty_apart(solve: Callable[[SequencePairs], Fields], rules: Rules, pairs: SequencePairs) -> Fields:
    """Return the fields of pairs of which `solve` aligns those of letters, and of which others are gaps."""
    has_letters = (pairs.n > 0) & (pairs.m > 0)
    left, others = np.flatnonzero(has_letters), np.flatnonzero(~has_letters)
    parts = [(others, _gaps(rules, pairs, others))]
    if len(left):
        parts.append((left, solve(pairs.subset(left))))
    return joined(parts, len(pairs))


def _gaps(rules: Rules, pairs: SequencePairs, chosen: np.ndarray) -> Fields:
    """Return the fields of the pairs at these indices, all with an empty sequence."""
    some, has_complement = pairs.subset(chosen), rules.strand != "forward"
    try:
        refuse_letters(some.a, some.b, rules.scoring, complement=has_complement)
    except InvalidInput:
        refuse_letters(pairs.a, pairs.b, rules.scoring, complement=has_complement)  # with the index in all pairs
    scores, sides = np.zeros(len(chosen), np.int64), []
    for lengths, begin, end in ((pairs.n, A_BEGIN, A_END), (pairs.m, B_BEGIN, B_END)):
        ends = np.zeros_like(scores) if rules.local or rules.free & end else lengths[chosen]
        starts = ends if rules.free & begin else np.zeros_like(ends)
        scores = scores - rules.gap(ends - starts)
        sides.append((starts, ends))
    (a_starts, a_ends), (b_starts, b_ends) = sides
    deleted, inserted = a_ends - a_starts, b_ends - b_starts  # one of both is 0
    walks = np.stack([a_starts, b_starts, b_ends, deleted + inserted], axis=1) if rules.path else None
    strands = np.full(len(chosen), STEPS[rules.strand][0], np.int8)
    fields = fields_of(rules, (scores, a_ends, b_ends), walks, strands, some)
    if rules.path:
        kinds = np.where(deleted > 0, DELETE, INSERT).astype(np.uint8)
        fields["operations"] = np.repeat(kinds, deleted + inserted)
    return fields
