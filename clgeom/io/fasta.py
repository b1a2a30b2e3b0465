"""Read sequences in FASTA and FASTQ files, and write FASTA."""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from clgeom.errors import InvalidInput
from clgeom.io.columns import number_from_1
from clgeom.io.files import is_stdin, reading, standard_input
from clgeom.runtime.messages import listed, shown

#: First bytes of a file compressed by gzip.
GZIP = b"\x1f\x8b"
#: Letters of sequences, and gaps.
LETTERS = bytes(c for c in range(256) if 65 <= (c & 0xDF) <= 90 or c in b"-.*")


@dataclass(frozen=True)
class Record:
    """A sequence of a file: the first word of its description, the description, and the letters."""

    name: str
    description: str
    sequence: bytes

    def __repr__(self):
        return f"Record({self.name!r}, {len(self.sequence):,} letters)"


def read_fasta(path) -> list[Record]:
    """Return all sequences of a FASTA file, in upper case. A file compressed by gzip is unpacked,
    whatever its name. "-" is standard input.

    A line that begins with ">" begins a sequence. Blanks and line ends are ignored, as is a "*" at the end of a
    sequence. Lines that begin with ";" are comments.

    Raises
    ------
    InvalidInput
        The file cannot be read or is no FASTA file; names the line.
    """
    return _fasta(path, _unpacked(path))


def read_sequences(path) -> list[Record]:
    """Return all sequences of a FASTA or FASTQ file, as `read_fasta` does. Qualities are read and left out.

    A record of FASTQ begins with a line that begins with "@". A line that begins with "+" ends its sequence; as many
    qualities as letters follow. Both may go over several lines.

    Raises
    ------
    InvalidInput
        The file cannot be read or is neither; names the line.
    """
    data = _unpacked(path)
    return _fastq(path, data) if data.lstrip()[:1] == b"@" else _fasta(path, data)


def _fastq(path, data):
    lines, at, records = data.splitlines(), 0, []

    def wrong(number, what):
        return InvalidInput(f"The file '{path}' is malformed in line {number}: {what}.")

    while at < len(lines):
        head = lines[at].strip()
        at += 1
        if not head:
            continue
        if not head.startswith(b"@"):
            raise wrong(at, "a record of FASTQ must begin with '@'")
        begin, parts = at, []
        while at < len(lines) and not lines[at].startswith(b"+"):
            parts.append(_letters(path, lines[at], at + 1))
            at += 1
        if at == len(lines):
            raise wrong(begin, "the file ends before the '+' of this record")
        record = _record(head[1:].decode("utf-8", "replace").strip(), parts)
        letters, qualities, at = sum(map(len, parts)), 0, at + 1
        while at < len(lines) and qualities < letters:
            qualities += len(lines[at].strip())
            at += 1
        if qualities != letters:
            raise wrong(
                min(at, len(lines)), f"{qualities} qualities for the {letters} letters of '{shown(record.name)}'"
            )
        if not letters and at < len(lines) and not lines[at].strip():
            at += 1  # the empty line of no qualities
        records.append(record)
    return records


def _unpacked(path) -> bytes:
    """The bytes of a file of text."""
    with reading(path):
        data = standard_input() if is_stdin(path) else Path(path).read_bytes()
        if data.startswith(GZIP) or Path(path).suffix.lower() == ".gz":
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError, ValueError, struct.error, zlib.error) as error:
                raise InvalidInput(f"The file '{path}' cannot be read: {error}.") from error
    for number, line in enumerate(data.splitlines(), 1) if b"\0" in data else ():
        if b"\0" in line:
            raise InvalidInput(f"The file '{path}' is not text: line {number} holds a null character.")
    return data.removeprefix(b"\xef\xbb\xbf")


def _fasta(path, data):
    records, description, parts = [], None, []
    for number, line in enumerate(data.splitlines(), 1):
        if line.startswith(b">"):
            if description is not None:
                records.append(_record(description, parts))
            description, parts = line[1:].decode("utf-8", "replace").strip(), []
        elif line.startswith(b";") or not line.strip():
            continue
        elif description is None:
            fastq = " It looks like FASTQ: read_sequences reads it." if line.startswith(b"@") else ""
            raise InvalidInput(f"The file '{path}' is no FASTA file: line {number} must begin with '>'.{fastq}")
        else:
            parts.append(_letters(path, line, number))
    if description is not None:
        records.append(_record(description, parts))
    if not records:
        raise InvalidInput(f"The file '{path}' has no sequence.")
    return records


def _letters(path, line, number) -> bytes:
    """The letters of a line, in upper case and without blanks."""
    letters = b"".join(line.split())
    wrong = letters.translate(None, LETTERS)
    if wrong:
        raise InvalidInput(
            f"The file '{path}' is malformed in line {number}: {chr(wrong[0])!a} is no letter of a sequence."
        )
    return letters.upper()


def _record(description, parts):
    return Record((description.split() or [""])[0], description, b"".join(parts).removesuffix(b"*"))


def choose_record(path, records, wanted=None) -> Record:
    """Return the record of this name or number, from 1; by default the first."""
    if wanted is None:
        return records[0]
    found = [record for record in records if record.name == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInput(
            f"The file '{path}' has {len(found)} sequences named '{shown(wanted)}'; give a number from 1 to "
            f"{len(records)}."
        )
    number = number_from_1(wanted, len(records))
    if number is not None:
        return records[number - 1]
    names = listed([record.name for record in records])
    raise InvalidInput(f"The file '{path}' has no sequence '{shown(wanted)}'. It has: {names}.")


def write_fasta(file, records) -> None:
    """Write (description, letters) to a binary file, 70 letters a line."""
    for description, letters in records:
        file.write(f">{description}\n".encode())
        for start in range(0, len(letters), 70):
            file.write(letters[start : start + 70] + b"\n")
