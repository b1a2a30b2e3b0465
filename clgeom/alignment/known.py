"""Trial of a device with known answers (clgeom.runtime.trust): alignments."""

from __future__ import annotations

import numpy as np

from clgeom.alignment.align import align

#: Two myoglobin-like pieces; scores and CIGARs from the reference of the tests.
FIRST = "MVLSEGEWQLVLHVWAKVEADVAGHGQDILIRLFKSHPETLEKFDRVKHLKTEAEMKASEDLKKH"
SECOND = "GLSDGEWQQVLNVWGKVEADIAGHGQEVLIRLFTGHPETLEKFDKFKHLKTEAEMKASED"
LOCAL, GLOBAL = (264, "2=1X4=1X2=1X2=1X5=1X5=2X5=2X9=2X14="), (1378, "100=2D248=1D349=")


def pairs(session, dtype) -> bool:
    """A local alignment of proteins, and global ones of letters in a pattern, long enough for several tiles."""
    found = align(FIRST, SECOND, matrix="BLOSUM62", mode="local", device=session)
    n = np.arange(700)
    x = np.frombuffer(b"ACGT", np.uint8)[n * 7 % 13 % 4]
    y = np.delete(x, [100, 101, 350])
    other = align(x, y, device=session)
    return (found.score, found.cigar) == LOCAL and (other.score, other.cigar) == GLOBAL
