"""Blocks of the matrix of all pairs of two batches of sequences.

Those of short sequences are computed by `matrix_words` where it has lanes for them, others by `pairs_bits`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clgeom.core.launch import run
from clgeom.core.plan import Scratch
from clgeom.errors import DeviceLimit
from clgeom.sequences import fronts, matrix_words, pairs_bits
from clgeom.sequences.bits import BitTable
from clgeom.sequences.similarities import TextPairs

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.intake.letters import Sequences
    from clgeom.sequences.measures import Measure

#: Most rows of a block, and pairs of it: their values are 16 MiB.
SIDE = 2048
MOST_PAIRS = 1 << 22
#: Pairs of a block of related sequences that are computed together, and letters of pairs that are copied for tables.
PLACED, MOST_COPIED = 1 << 18, 1 << 26
#: Share of related pairs from which on CPUs compute others apart from them, and letters from which on: a copy of both
#: sequences of a pair takes about 2 us, its table 15.
LEAST_CLUSTER, LEAST_CLUSTERED = 0.15, 1_000
#: Rows and columns, and the values of all pairs of them.
Block: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


def blocks_of(
    session: Session, measure: Measure, a: Sequences, b: Sequences, cutoff: int | None, symmetric: bool
) -> Iterator[Block]:
    """Yield (rows, columns, values) of blocks of the matrix; those of short sequences by a kernel of their own."""
    others = _text_blocks if measure.is_of_texts else _sorted_blocks
    most = matrix_words.most_of_rows(session, measure.problem, a)
    if most < 0:
        yield from others(session, measure, a, b, cutoff, symmetric)
        return
    most = min(most, matrix_words.MOST_LETTERS) if symmetric else most
    (short_a, long_a), (short_b, long_b) = _by_length(a, most), _by_length(b, matrix_words.MOST_LETTERS)
    if len(short_a) and len(short_b):
        first = a.subset(short_a)
        second = first if symmetric else b.subset(short_b)
        for down, across, values in matrix_words.blocks(session, measure.problem, first, second):
            yield short_a[down], short_b[across], values
    if symmetric:
        rest = (long_a, long_a), (long_a, short_b)
    else:
        rest = (long_a, np.arange(len(b))), (short_a, long_b)
    for rows_of, columns_of in rest:
        if not len(rows_of) or not len(columns_of):
            continue
        again, parts = symmetric and columns_of is rows_of, (a.subset(rows_of), b.subset(columns_of))
        for rows, columns, values in others(session, measure, *parts, cutoff, again):
            yield rows_of[rows], columns_of[columns], values
            if symmetric and not again:
                yield columns_of[columns], rows_of[rows], values.T


def _text_blocks(
    session: Session, measure: Measure, a: Sequences, b: Sequences, cutoff: Any, symmetric: bool
) -> Iterator[Block]:
    """Yield (rows, columns, values) of blocks of the matrix of similarities that have kernels of pairs of texts."""
    most = min(MOST_PAIRS // 2, session.profile.max_alloc_bytes // 32)
    return TextPairs(session, measure.problem, a, b).blocks(most)


def _by_length(sequences: Sequences, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of sequences of at most so many letters, and of others."""
    is_long = sequences.lengths > most
    return np.flatnonzero(~is_long), np.flatnonzero(is_long)


def _sorted_blocks(
    session: Session, measure: Measure, a: Sequences, b: Sequences, cutoff: int | None, symmetric: bool
) -> Iterator[Block]:
    """Yield (rows, columns, values) of blocks of the matrix, both sorted by length.

    Of a symmetric matrix each block off the diagonal is computed once; its transpose follows it.
    """
    problem, own_cutoff = measure.kernels, cutoff if measure.problem == measure.kernels else None
    pairs = pairs_bits.PairLetters(session, problem, a.letters, *(() if symmetric else (b.letters,)))
    most = min(MOST_PAIRS, session.profile.max_alloc_bytes // 8)
    n, m = a.lengths, b.lengths
    classes, order = pairs_bits.classes_by_work(pairs.policy, pairs.planes, n, n, pairs.word_bits)
    by_row = np.arange(len(a)) if order is None else order
    by_column = by_row if symmetric else np.argsort(m, kind="stable")
    side = min(SIDE, int(np.sqrt(most)))
    cuts = sorted({0, len(a), *(stop for _, stop, *_ in classes), *_long(n[by_row]), *range(0, len(a), side)})
    width = side if symmetric else max(most // min(side, len(a)), 1)
    across = cuts if symmetric else sorted({0, len(b), *_long(m[by_column]), *range(0, len(b), width)})
    starts = a.offsets[:-1], b.offsets[:-1] + (0 if symmetric else len(a.letters))
    columns_of = [by_column[k:stop] for k, stop in zip(across, across[1:])]
    for r, (begin, end) in enumerate(zip(cuts, cuts[1:])):
        rows = columns_of[r] if symmetric else by_row[begin:end]
        kind = next(c for c in classes if c[0] <= begin < c[1])
        for columns in columns_of[r:] if symmetric else columns_of:
            if measure.are_beyond(n[rows], m[columns], cutoff):
                continue
            values = _by_fronts(session, problem, a, b, rows, columns, own_cutoff, symmetric)
            if values is not None:
                pass
            elif min(n[rows].min(), m[columns].min()) > pairs_bits.MOST_LETTERS:
                one_by_one = [[BitTable(session, problem, a[i], b[j]).solve() for j in columns] for i in rows]
                values = np.array(one_by_one, np.int32)
            else:
                out = Scratch("out", np.int32, len(rows) * len(columns))
                per_row = m[columns].sum(dtype=np.float64) * np.maximum(n[rows] / pairs.word_bits, kind[2])
                bounds = [cut * len(columns) for cut in pairs_bits.launch_bounds(per_row)]
                where = "rows", "columns", np.uint32(len(columns))
                plan = pairs.plan(*kind[2:], bounds=bounds, longest=int(m[columns].max()), out=out, where=where)
                buffers: dict[str, Any] = dict(pairs.buffers)
                for name, start, length, at in (("rows", starts[0], n, rows), ("columns", starts[1], m, columns)):
                    spans = np.stack([start[at], length[at]], axis=1)
                    buffers[name] = pairs_bits.upload_flat(session, spans.astype(np.uint32))
                values = run(session, plan, paced=len(plan) > 1, **buffers).read(out).reshape(len(rows), len(columns))
            values = measure.of(values, n[rows][:, None], m[columns])
            yield rows, columns, values
            if symmetric and rows is not columns:
                yield columns, rows, values.T


def _by_fronts(
    session: Session,
    problem: str,
    a: Sequences,
    b: Sequences,
    rows: np.ndarray,
    columns: np.ndarray,
    cutoff: int | None,
    symmetric: bool,
) -> np.ndarray | None:
    """Return the values of a block of long sequences many of which are related, or that is symmetric, or None."""
    n, m, own, width = a.lengths[rows], b.lengths[columns], rows is columns, len(columns)
    first = 0 if symmetric else len(a.letters)
    median = int(min(n[len(n) // 2], m[width // 2]))  # both ascend
    size = (first + len(b.letters)) * a.letters.dtype.itemsize + PLACED * pairs_bits.JOB_BYTES
    has_room = size <= min(session.profile.max_alloc_bytes, 1 << 32) - 64
    if not has_room or not fronts.may_pay(session, median, lambda: float(n.sum()) * float(m.sum())):
        return None
    is_copied_soon = session.profile.is_cpu and median >= LEAST_CLUSTERED
    is_half = own and is_copied_soon  # half of a symmetric block, whatever is related
    least = LEAST_CLUSTER if is_copied_soon else fronts.LEAST_RELATED
    parts, values = ((b.letters,) if symmetric else (a.letters, b.letters)), np.empty((len(rows), width), np.int32)
    order = np.random.default_rng(0).permutation(len(rows) * width)  # any pairs are a sample
    if own:
        np.fill_diagonal(values, n if problem == "lcs" else 0)
        order = order[order // width < order % width]
    for begin in range(0, len(order), PLACED):
        i, j = np.divmod(order[begin : begin + PLACED], width)
        places = np.stack([a.offsets[rows[i]], n[i], first + b.offsets[columns[j]], m[j]], axis=1)
        try:
            found = fronts.solve_places(session, problem, parts, places, cutoff, least)
        except DeviceLimit:  # too little memory
            return None
        left = np.flatnonzero(found < 0)
        if len(left) > (1 - least / 2) * len(found) and not is_half:
            return None
        step = max(MOST_COPIED // int(n.max() + m.max()), 1)
        for some in (left[k : k + step] for k in range(0, len(left), step)):
            pairs = a.picked(rows[i[some]]), b.picked(columns[j[some]])
            found[some] = pairs_bits.solve_by_tables(session, problem, *pairs)
        values[i, j] = found
        if own:
            values[j, i] = found
    return values


def _long(lengths: np.ndarray) -> tuple[int]:
    """Return where sequences too long for a work-item begin, of ascending lengths."""
    return (int(np.searchsorted(lengths, pairs_bits.MOST_LETTERS, side="right")),)
