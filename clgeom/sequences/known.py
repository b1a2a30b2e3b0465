"""Trials of a device with known answers (clgeom.core.trust): alignments, distances and common subsequences."""

from __future__ import annotations

import numpy as np

from clgeom.intake.letters import Sequences
from clgeom.sequences.align import align
from clgeom.sequences.distances import edit_distance, lcs
from clgeom.sequences.pairs_bits import values as pair_values

#: Two myoglobin-like pieces; scores and CIGARs from the reference of the tests.
FIRST = "MVLSEGEWQLVLHVWAKVEADVAGHGQDILIRLFKSHPETLEKFDRVKHLKTEAEMKASEDLKKH"
SECOND = "GLSDGEWQQVLNVWGKVEADIAGHGQEVLIRLFTGHPETLEKFDKFKHLKTEAEMKASED"
#: Scores and ends of local alignments of the first 5, 15, 25 ... letters of both.
PARTS = [10, 59, 104, 143, 193, 235], [5, 15, 25, 34, 45, 55], [4, 14, 24, 33, 44, 54]
LOCAL, GLOBAL = (264, "2=1X4=1X2=1X2=1X5=1X5=2X5=2X9=2X14="), (1378, "100=2D248=1D349=")


def alignments(session, dtype) -> bool:
    """Local alignments of proteins, and global ones of letters in a pattern, long enough for several tiles."""
    found = align(FIRST, SECOND, matrix="BLOSUM62", mode="local", device=session)
    n = np.arange(700)
    x = np.frombuffer(b"ACGT", np.uint8)[n * 7 % 13 % 4]
    y = np.delete(x, [100, 101, 350])
    other = align(x, y, device=session)
    a, b = ([whole[:k] for k in range(5, 65, 10)] for whole in (FIRST, SECOND))
    options = {"matrix": "BLOSUM62", "mode": "local", "path": False, "device": session}
    parts, only = align(a, b, **options), align(a, b, ends=False, **options)
    return (
        (found.score, found.cigar) == LOCAL
        and (other.score, other.cigar) == GLOBAL
        and (parts.scores.tolist(), parts.a_ends.tolist(), parts.b_ends.tolist()) == PARTS
        and only.scores.tolist() == PARTS[0]
    )


def bits(session, dtype) -> bool:
    """Longest common subsequence and edit distance of two sequences, many cells in a word."""
    x, y = _pattern(700, 7), _pattern(900, 11)
    common, apart = lcs(x, y, device=session), edit_distance(x, y, device=session)
    return (common.length, apart.distance) == _last_cells(x, y)


def pairs(session, dtype) -> bool:
    """Edit distances and longest common subsequences of pairs of several lengths, some of more than a word."""
    lengths = np.arange(40) * 5 % 97
    a, b = (
        Sequences(_pattern(int(n.sum()), step), np.append(0, np.cumsum(n)))
        for n, step in ((lengths, 7), (lengths[::-1], 11))
    )
    found = (pair_values(session, problem, a, b).tolist() for problem in ("lcs", "edit"))
    return list(zip(*found)) == [_last_cells(a[k], b[k]) for k in range(len(lengths))]


def _pattern(n, step):
    return (np.arange(n) * step % 13 % 4).astype(np.uint8)


def _last_cells(x, y):
    """The length and the distance, row after row of both tables."""
    columns = np.arange(len(y) + 1)
    lengths, distances = 0 * columns, columns
    for i, symbol in enumerate(x, 1):
        lengths[1:] = np.maximum.accumulate(np.maximum(lengths[1:], lengths[:-1] + (y == symbol)))
        near = np.minimum(distances[1:] + 1, distances[:-1] + (y != symbol))
        distances = columns + np.minimum.accumulate(np.concatenate([[i], near]) - columns)
    return int(lengths[-1]), int(distances[-1])
