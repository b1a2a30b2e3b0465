"""Alignments as text in the format SAM: the first sequences are the references, the second ones the reads.

Source: The SAM/BAM Format Specification Working Group, Sequence Alignment/Map Format Specification, version 1.6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.errors import InvalidInput, short
from clgeom.sequences.result import CHANGE, DELETE, OPERATIONS, cigar_of, reverse_complement

if TYPE_CHECKING:
    from clgeom.io.fasta import Record
    from clgeom.sequences.result import Alignment

#: Names of references and of reads, and letters of reads, that the specification allows.
REFERENCE = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")
READ = re.compile(r"[!-?A-~]{1,254}")
LETTERS = re.compile(r"[A-Za-z=.]+")
QUALITIES = re.compile(rb"[!-~]*")
UNMAPPED, REVERSE = 4, 16
#: The mapping quality where none is known.
NO_QUALITY = 255


def sam_header(references: Sequence[Record], path: Any, version: str) -> Iterator[str]:
    """Yield the lines before the alignments.

    References with the same name and the same letters are written once. `path` is their file, for messages, and
    `version` that of the program. Refuse names that are not allowed, and one name for different letters.
    """
    yield "@HD\tVN:1.6\tSO:unknown"
    first: dict[str, int] = {}
    for number, record in enumerate(references):
        name = record.name
        if not REFERENCE.fullmatch(name):
            raise InvalidInput(f"A .sam file cannot hold the reference name {short(name)}; write a .tsv file.")
        earlier = first.setdefault(name, number)
        if references[earlier].sequence != record.sequence:
            raise InvalidInput(
                f"A .sam file needs a different name for each reference. Records {earlier + 1:,} and "
                f"{number + 1:,} of '{path}' are both named {short(name)}, and their letters differ: rename one, or "
                "write a .tsv file."
            )
    for name, number in first.items():
        yield f"@SQ\tSN:{name}\tLN:{len(references[number].sequence)}"
    yield f"@PG\tID:clgeom\tPN:clgeom\tVN:{version}"


def sam_line(found: Alignment, reference: str, read: str, qualities: bytes | None = None) -> str:
    """Return the line of an alignment with its path.

    Letters of the read beyond the aligned part are clipped (S). Gaps of the reference at both ends are left out, as the
    position tells where the read lies. AS is the score, NM the number of letters that differ, are inserted or deleted.
    The qualities are those of the read as sequenced; the line has them in the order of its letters.

    Raises
    ------
    InvalidInput
        The name of the read, a letter or a quality is not allowed.
    """
    for what, is_allowed in (
        ("the read name", READ.fullmatch(read)),
        ("all letters of the read", LETTERS.fullmatch(found.b)),
        ("all qualities of the read", QUALITIES.fullmatch(qualities or b"")),
    ):
        if not is_allowed:
            raise InvalidInput(f"A .sam file cannot hold {what} {short(read)}; write a .tsv file.")
    quality = (qualities or b"*").decode("ascii")
    if found.operations is None:
        raise InvalidInput("A .sam file needs alignments with their paths: path=True of align.")
    used = np.flatnonzero(found.operations != DELETE)
    if not np.any(found.operations <= CHANGE):  # no letter lies on the reference, so there is no position
        return "\t".join((read, str(UNMAPPED), "*", "0", "0", "*", "*", "0", "0", found.b, quality))
    path = found.operations[used[0] : used[-1] + 1]
    clips, letters = [found.b_start, len(found.b) - found.b_end], found.b
    if found.strand == "-":
        clips, letters, quality = clips[::-1], reverse_complement(letters), quality[::-1]
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
        quality,
        f"AS:i:{found.score}",
        f"NM:i:{np.count_nonzero(path >= CHANGE)}",
    )
    return "\t".join(map(str, fields))
