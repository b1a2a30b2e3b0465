"""Checks of the kernels for batches of dynamic programming."""

from __future__ import annotations

import numpy as np

from clgeom.selftest.checks import checks, same


@checks("dp/pairs: pairs_bits pairs_letters")
def _pairs(session):
    from clgeom.dp.pairs.inputs import Sequences
    from clgeom.dp.pairs.matrix import cdist
    from clgeom.dp.pairs.words import LETTERS, values
    from clgeom.runtime.launch import allocate, read, run, write
    from clgeom.runtime.plan import Plan, Step

    rng = np.random.default_rng(5)
    lengths = rng.integers(0, 180, (2, 60))
    lengths[:, -1] = 900, 1_100  # in strips
    a, b = (Sequences(rng.integers(0, 5, n.sum()).astype(np.uint8), np.append(0, np.cumsum(n))) for n in lengths)
    expected = np.array([_values(a[k], b[k]) for k in range(len(a))])
    for column, problem in enumerate(("lcs", "edit")):
        same(values(session, problem, a, b), expected[:, column], problem)
    words = rng.integers(0, 1 << 32, (2, 9_001), np.uint32)
    words = words[0] & 0xFF7FFFFE | words[1] & 1 << 4 | 1 << 9
    held, found = allocate(session, words.nbytes), allocate(session, 8)
    write(session, held, words)
    write(session, found, np.array([0, 2**32 - 1], np.uint32))
    step = Step.over(session.profile, LETTERS, ("words", np.uint32(len(words)), "found"), len(words))
    run(session, Plan(step), words=held, found=found)
    same(read(session, found, np.uint32, 2), [0xFF7FFFFE, 1 << 9], "bits of letters")
    first, second = ((one.letters[: one.offsets[9]], one.offsets[:10]) for one in (a, b))
    table = [[_values(a[i], b[j])[1] for j in range(9)] for i in range(9)]
    same(cdist(first, second, device=session), table, "all pairs")
    return "60 pairs of up to 180 letters and one of 1,000"


def _values(a, b):
    """The length and the distance, row after row of both tables."""
    columns = np.arange(len(b) + 1)
    lengths, distances = 0 * columns, columns
    for i, symbol in enumerate(a, 1):
        best = np.maximum(lengths[1:], lengths[:-1] + (b == symbol))
        lengths = np.concatenate([[0], np.maximum.accumulate(best)])
        near = np.minimum(distances[1:] + 1, distances[:-1] + (b != symbol))
        distances = columns + np.minimum.accumulate(np.concatenate([[i], near]) - columns)
    return lengths[-1], distances[-1]


@checks("dp/batch: batch_fill")
def _batches(session):
    from clgeom.dp.batch.fills import fill_batch
    from clgeom.dp.problems.sequences import EDIT_DISTANCE

    rng = np.random.default_rng(6)
    a, b = ([rng.integers(0, 4, n) for n in rng.integers(0, 90, 50)] for _ in range(2))
    shapes = [(len(x) + 1, len(y) + 1) for x, y in zip(a, b)]
    batch = fill_batch(EDIT_DISTANCE, shapes, a=a, b=b, device=session)
    same(batch.corners, [_values(x, y)[1] for x, y in zip(a, b)], "distances")
    same([batch.decisions_of(k)[1:, 1:].max(initial=0) <= 3 for k in range(50)], [True] * 50, "choices")
    return "50 tables of up to 90 x 90 cells"


@checks("dp/paths: tile_sweep fill_stage", "dp/batch: batch_fill", "dp/table: reduce_cells")
def _cells(session):
    """Cells with two fields, also in a band; narrow ones beyond their type."""
    from clgeom.dp import equation, fill, fill_batch, maximum, where
    from clgeom.errors import IntegerOverflow

    @equation(pattern="NOSE", dtype={"M": "int16", "X": "int32"})
    def both(M, i, j):
        first = (i == 0) | (j == 0)
        one = where(first, i - j, (M.M[i - 1, j - 1] + M.X[i, j - 1]) % 1009)
        return {"M": one, "X": where(first, j, M.X[i - 1, j] + M.M[i, j - 1] % 3)}

    @equation(pattern="NOSE", dtype="int8")
    def steps(M, i, j):
        return where((i == 0) | (j == 0), i + j, maximum(M[i - 1, j], M[i, j - 1]) + 1)

    n, m = 90, 70
    for band in ((1 - n, m - 1), (-25, 9)):  # the first holds all cells
        expected = np.full((n, m), 5, both.dtype)
        one, other = expected["M"], expected["X"]
        for i in range(n):
            for j in range(max(i + band[0], 0), min(i + band[1] + 1, m)):
                first = i == 0 or j == 0
                one[i, j] = i - j if first else (one[i - 1, j - 1] + other[i, j - 1]) % 1009
                other[i, j] = j if first else other[i - 1, j] + one[i, j - 1] % 3
        held = {"band": band, "outside": 5, "device": session}
        for path in ("stages", "tiles"):
            table = fill(both, (n, m), path=path, **held)
            same(table["M"], one, f"fields by {path}, band {band}")
            same(table.argmax(field="X"), other.argmax(), f"largest field by {path}, band {band}")
        same(fill_batch(both, [(n, m)], **held)[0], expected, f"fields of a batch, band {band}")
    for call, shape in ((fill, (99, 60)), (fill_batch, [(5, 5), (99, 60)])):
        try:
            call(steps, shape, check=False, device=session)
        except IntegerOverflow as error:
            same(error.cell, (69, 59), "the first cell beyond its type")
        else:
            raise AssertionError("a cell beyond its type was not seen")
    return "6 tables of 90 x 70 records, 2 of bytes"
