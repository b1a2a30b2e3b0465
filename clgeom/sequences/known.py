"""Trial of a device with known answers (clgeom.core.trust): alignments."""

from __future__ import annotations

import numpy as np

from clgeom.sequences.align import align

#: Two myoglobin-like pieces; scores and CIGARs from the reference of the tests.
FIRST = "MVLSEGEWQLVLHVWAKVEADVAGHGQDILIRLFKSHPETLEKFDRVKHLKTEAEMKASEDLKKH"
SECOND = "GLSDGEWQQVLNVWGKVEADIAGHGQEVLIRLFTGHPETLEKFDKFKHLKTEAEMKASED"
#: Scores and ends of local alignments of the first 5, 15, 25 ... letters of both.
PARTS = [10, 59, 104, 143, 193, 235], [5, 15, 25, 34, 45, 55], [4, 14, 24, 33, 44, 54]
LOCAL, GLOBAL = (264, "2=1X4=1X2=1X2=1X5=1X5=2X5=2X9=2X14="), (1378, "100=2D248=1D349=")


def pairs(session, dtype) -> bool:
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
