"""Read sequences in FASTA and FASTQ files, and write FASTA."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import listed, shown
from clgeom.errors import InvalidInput
from clgeom.io.columns import number_from_1
from clgeom.io.files import FilePath, is_stdin, reading, standard_input

#: First bytes of a file compressed by gzip.
GZIP = b"\x1f\x8b"
#: First lines of files of alignments: the header of SAM, and the first bytes of BAM and CRAM.
ALIGNMENTS = re.compile(rb"@(?:HD|SQ|RG|PG)(?:\t[A-Za-z][A-Za-z0-9]:[ -~]+)+$|BAM\x01|CRAM[\x02-\x04]")
#: Letters of sequences, and gaps.
LETTERS = bytes(c for c in range(256) if 65 <= (c & 0xDF) <= 90 or c in b"-.*")


@dataclass(frozen=True)
class Record:
    """A sequence of a file: the first word of its description, the description, and the letters.

    `qualities` are the characters of a FASTQ file, one for each letter; None if they were not read.
    """

    name: str
    description: str
    sequence: bytes
    qualities: bytes | None = None

    def __repr__(self) -> str:
        return f"Record({self.name!r}, {len(self.sequence):,} letters)"


@keeps_subnormals
def read_sequences(path: FilePath, *, qualities: bool = False) -> list[Record]:
    """Return all sequences of a FASTA or FASTQ file, in upper case. "-" is standard input.

    A file compressed by gzip is unpacked, whatever its name. In FASTA a line that begins with ">" begins a sequence.
    Blanks and line ends are ignored, as is a "*" at the end of a sequence. Lines that begin with ";" are comments.

    A record of FASTQ begins with a line that begins with "@". A line that begins with "+" ends its sequence; as many
    qualities as letters follow. Both may go over several lines. Qualities are kept on request only.

    Raises
    ------
    InvalidInput
        The file cannot be read or is neither; names the line.
    """
    return list(iterate_sequences(path, qualities=qualities))


@keeps_subnormals
def iterate_sequences(path: FilePath, *, qualities: bool = False) -> Iterator[Record]:
    """Yield the sequences of a FASTA or FASTQ file one by one, as `read_sequences` reads them."""
    lines = _lines(path)
    blank: list[bytes] = []
    for first in lines:
        if first.strip():
            rest = itertools.chain(blank, [first], lines)
            yield from _fastq(path, rest, qualities) if first.lstrip()[:1] == b"@" else _fasta(path, rest)
            return
        blank.append(first)
    yield from _fasta(path, ())


def _fastq(path: FilePath, lines: Any, keeps_qualities: Any) -> Iterator[Any]:
    lines = enumerate(lines, 1)

    def wrong(number: int, what: Any) -> Any:
        return wrong_file(path, f"is malformed in line {number}: {what}")

    for begin, line in lines:
        head = line.strip()
        if not head:
            continue
        if not head.startswith(b"@"):
            raise wrong(begin, "a record of FASTQ must begin with '@'")
        parts, number = [], begin
        for number, line in lines:
            if line.startswith(b"+"):
                break
            parts.append(_letters(path, line, number))
        else:
            raise wrong(begin, "the file ends before the '+' of this record")
        record = _record(head[1:].decode("utf-8", "replace").strip(), parts)
        letters, quality_parts, qualities = sum(map(len, parts)), [], 0
        while qualities < letters:
            number, line = next(lines, (number, None))
            if line is None:
                break
            quality_parts.append(line.strip())
            qualities += len(quality_parts[-1])
        if qualities != letters:
            raise wrong(number, f"{qualities} qualities for the {letters} letters of '{shown(record.name)}'")
        if keeps_qualities:
            record = replace(record, qualities=b"".join(quality_parts)[: len(record.sequence)])
        yield record


def _lines(path: FilePath) -> Iterator[bytes]:
    """Yield the lines of a file of text, which may be compressed by gzip."""
    with reading(path), contextlib.ExitStack() as stack:
        file: Any = io.BytesIO(standard_input()) if is_stdin(path) else stack.enter_context(open(path, "rb"))
        start = file.read(len(GZIP))
        file.seek(0)
        if start == GZIP or (not is_stdin(path) and Path(path).suffix.lower() == ".gz"):
            file = stack.enter_context(gzip.GzipFile(fileobj=file))
        number, part, is_first = 0, file.readline(), True
        part = part.removeprefix(b"\xef\xbb\xbf")
        while part:
            for line in part.splitlines():
                number += 1
                if is_first and line.strip():
                    _refuse_alignments(path, line)
                    is_first = False
                if b"\0" in line:
                    raise wrong_file(path, f"is not text: line {number} holds a null character")
                yield line
            try:
                part = file.readline()
            except (OSError, EOFError, ValueError, struct.error, zlib.error) as error:
                raise wrong_file(path, f"cannot be read: {error}") from error


def _refuse_alignments(path: FilePath, line: bytes) -> None:
    """Refuse a file of alignments by its first line."""
    fields = line.split(b"\t")
    kind = None
    if ALIGNMENTS.match(line):
        kind = {b"B": "BAM", b"C": "CRAM"}.get(line[:1], "SAM")
    elif len(fields) > 10 and fields[1].isdigit() and fields[3].isdigit():
        kind = "SAM"
    if kind is not None:
        raise InvalidInput(
            f"The file '{path}' is {kind}, not FASTA or FASTQ. Write its sequences: samtools fastq {path} > reads.fastq"
        )


def _fasta(path: FilePath, lines: Any) -> Iterator[Any]:
    description: str | None = None
    parts: list[bytes] = []
    for number, line in enumerate(lines, 1):
        if line.startswith(b">"):
            if description is not None:
                yield _record(description, parts)
            description, parts = line[1:].decode("utf-8", "replace").strip(), []
        elif line.startswith(b";") or not line.strip():
            continue
        elif description is None:
            raise InvalidInput(f"The file '{path}' is no FASTA file: line {number} must begin with '>'.")
        else:
            parts.append(_letters(path, line, number))
    if description is None:
        raise wrong_file(path, "has no sequence")
    yield _record(description, parts)


def _letters(path: FilePath, line: bytes, number: int) -> bytes:
    """Return the letters of a line, in upper case and without blanks."""
    letters = b"".join(line.split())
    wrong = letters.translate(None, LETTERS)
    if wrong:
        raise wrong_file(path, f"is malformed in line {number}: {chr(wrong[0])!a} is no letter of a sequence")
    return letters.upper()


def _record(description: Any, parts: Any) -> Record:
    return Record((description.split() or [""])[0], description, b"".join(parts).removesuffix(b"*"))


def choose_record(path: FilePath, records: Any, wanted: Any = None) -> Record:
    """Return the record of this name or number, from 1; by default the first."""
    if wanted is None:
        return records[0]
    found = [record for record in records if record.name == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise wrong_file(
            path, f"has {len(found)} sequences named '{shown(wanted)}'; give a number from 1 to {len(records)}"
        )
    number = number_from_1(wanted, len(records))
    if number is not None:
        return records[number - 1]
    names = listed([record.name for record in records])
    raise wrong_file(path, f"has no sequence '{shown(wanted)}'. It has: {names}")


@keeps_subnormals
def write_fasta(file: Any, records: Any) -> None:
    """Write (description, letters) to a binary file, 70 letters a line."""
    for description, letters in records:
        file.write(f">{description}\n".encode())
        for start in range(0, len(letters), 70):
            file.write(letters[start : start + 70] + b"\n")
