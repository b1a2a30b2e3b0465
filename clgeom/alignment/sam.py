"""Alignments as text in the format SAM: the first sequences are the references, the second ones the reads.

Source: The SAM/BAM Format Specification Working Group, Sequence Alignment/Map Format Specification, version 1.6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from clgeom.alignment.result import CHANGE, DELETE, OPERATIONS, cigar_of, reverse_complement
from clgeom.errors import InvalidInput, short

#: What the specification allows as names of references and of reads, and as letters of reads.
REFERENCE = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")
READ = re.compile(r"[!-?A-~]{1,254}")
LETTERS = re.compile(r"[A-Za-z=.]+")
UNMAPPED, REVERSE = 4, 16
#: The mapping quality where none is known.
NO_QUALITY = 255


def sam_header(references: Iterable[tuple[str, int]], version: str) -> Iterator[str]:
    """Yield the lines before the alignments.

    Parameters
    ----------
    references : iterable of (str, int)
        Name and number of letters of each. Equal ones are written once.
    version : str
        Of the program.

    Raises
    ------
    InvalidInput
        A name is not allowed, or two references of several lengths have it.
    """
    yield "@HD\tVN:1.6\tSO:unknown"
    lengths: dict[str, int] = {}
    for name, length in references:
        if not REFERENCE.fullmatch(name):
            raise InvalidInput(f"A .sam file cannot hold the reference name {short(name)}; write a .tsv file.")
        if lengths.setdefault(name, length) != length:
            raise InvalidInput(f"A .sam file needs a name for each reference. Several sequences have {short(name)}.")
    for name, length in lengths.items():
        yield f"@SQ\tSN:{name}\tLN:{length}"
    yield f"@PG\tID:clgeom\tPN:clgeom\tVN:{version}"


def sam_line(found, reference: str, read: str) -> str:
    """The line of an alignment with its path.

    Letters of the read beyond the aligned part are clipped (S). Gaps of the reference at both ends are left out, as the
    position tells where the read lies. AS is the score, NM the number of letters that differ, are inserted or deleted.

    Raises
    ------
    InvalidInput
        The name of the read or a letter is not allowed.
    """
    if not READ.fullmatch(read):
        raise InvalidInput(f"A .sam file cannot hold the read name {short(read)}; write a .tsv file.")
    if not LETTERS.fullmatch(found.b):
        raise InvalidInput(f"A .sam file cannot hold all letters of the read {short(read)}; write a .tsv file.")
    used = np.flatnonzero(found.operations != DELETE)
    if not np.any(found.operations <= CHANGE):  # no letter lies on the reference, so there is no position
        return "\t".join((read, str(UNMAPPED), "*", "0", "0", "*", "*", "0", "0", found.b, "*"))
    path = found.operations[used[0] : used[-1] + 1]
    clips, letters = [found.b_start, len(found.b) - found.b_end], found.b
    if found.strand == "-":
        clips, letters = clips[::-1], reverse_complement(letters)
    left, right = (f"{clip}S" if clip else "" for clip in clips)
    fields = (
        read,
        REVERSE if found.strand == "-" else 0,
        reference,
        found.a_start + used[0] + 1,
        NO_QUALITY,
        left + cigar_of(OPERATIONS[path]) + right,
        "*\t0\t0",
        letters,
        "*",
        f"AS:i:{found.score}",
        f"NM:i:{np.count_nonzero(path >= CHANGE)}",
    )
    return "\t".join(map(str, fields))
