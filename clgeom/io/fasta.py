"""Sequences from FASTA files."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from clgeom.errors import InvalidInput


@dataclass(frozen=True)
class Record:
    """A sequence of a FASTA file: the first word of its line of description, that line, and the letters."""

    name: str
    description: str
    sequence: bytes

    def __repr__(self):
        return f"Record({self.name!r}, {len(self.sequence):,} letters)"


def read_fasta(path) -> list[Record]:
    """All sequences of a FASTA file, in upper case; .gz files are unpacked.

    A line that begins with ">" begins a sequence; blanks and line ends within it do not count, nor does a "*" at its
    end. Lines that begin with ";" are comments.

    Raises
    ------
    InvalidInput
        The file cannot be read or is no FASTA file; names the line.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
        if path.suffix.lower() == ".gz":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(
            f"The file '{path}' cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error
    if b"\0" in data[:4096]:
        raise InvalidInput(f"The file '{path}' is not text.")
    records, description, parts = [], None, []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if line.startswith(b">"):
            if description is not None:
                records.append(_record(description, parts))
            description, parts = line[1:].decode("utf-8", "replace").strip(), []
        elif line.startswith(b";") or not line.strip():
            continue
        elif description is None:
            raise InvalidInput(f"The file '{path}' is no FASTA file: line {number} must begin with '>'.")
        else:
            letters = b"".join(line.split())
            wrong = next((chr(c) for c in letters if not (65 <= (c & 0xDF) <= 90 or c in b"-.*")), None)
            if wrong is not None:
                raise InvalidInput(
                    f"The file '{path}' is malformed in line {number}: {wrong!a} is no letter of a sequence."
                )
            parts.append(letters.upper())
    if description is not None:
        records.append(_record(description, parts))
    if not records:
        raise InvalidInput(f"The file '{path}' has no sequence.")
    return records


def _record(description, parts):
    return Record((description.split() or [""])[0], description, b"".join(parts).removesuffix(b"*"))


def choose_record(path, records, wanted=None) -> Record:
    """The record of this name (or number, from 1); the only one, or the first, by default."""
    if wanted is None:
        return records[0]
    for record in records:
        if record.name == wanted:
            return record
    if wanted.isdecimal() and 1 <= int(wanted) <= len(records):
        return records[int(wanted) - 1]
    names = ", ".join(record.name for record in records[:8]) + (", ..." if len(records) > 8 else "")
    raise InvalidInput(f"The file '{path}' has no sequence '{wanted}'. It has: {names}.")


def write_fasta(file, records) -> None:
    """Write (description, letters) to a binary file, 70 letters a line."""
    for description, letters in records:
        file.write(f">{description}\n".encode())
        for start in range(0, len(letters), 70):
            file.write(letters[start : start + 70] + b"\n")
