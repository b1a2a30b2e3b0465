"""Points from tables written as text: comma, tab, semicolon or blank separated.

A file is read in blocks. NumPy's own parser reads a block fast; when it refuses, or when the number of fields does
not add up, the block is read once more line by line, which is exact about quotes and names the malformed line.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
from dataclasses import dataclass, replace

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io.columns import choose_columns, position_of

BLOCK_BYTES = 1 << 24
TABS = (".tsv", ".tab")


@dataclass(frozen=True)
class Layout:
    """How the rows of a file are written. `delimiter` None means any run of blanks.

    `by` is the column of the groups' names, if they are wanted, and `by_name` its own name.
    """

    path: object
    delimiter: str | None
    width: int
    columns: tuple[int, int]
    by: int | None = None
    by_name: str = "group"

    def split(self, line: str) -> list[str]:
        return split(line, self.delimiter)


def split(line: str, delimiter: str | None) -> list[str]:
    """The fields of a line, quotes removed."""
    if delimiter is None:
        return line.split()
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])


def read_text(path, *, columns=None, progress=None) -> np.ndarray:
    """Two columns of a table as float64 points, shape (n, 2)."""
    parts = [points for points, _, _ in _read(path, columns, None, progress)]
    return np.concatenate(parts) if parts else np.empty((0, 2))


def read_grouped_text(path, by, *, columns=None, progress=None):
    """Two columns of a table as float64 points, a third one as text: the names of the groups that points are in.

    Returns
    -------
    points : ndarray, shape (n, 2)
    names : list of n str
    title : str
        The name of that column, "group" where it has none.
    """
    parts, names, title = [], [], "group"
    for points, of_block, layout in _read(path, columns, by, progress):
        parts.append(points)
        names += of_block
        title = layout.by_name
    return np.concatenate(parts) if parts else np.empty((0, 2)), names, title


def _read(path, columns, by, progress):
    """(points, names of groups, layout) of each block of a file."""
    with open(path, "rb") as file:
        total = os.fstat(file.fileno()).st_size
        layout, line = None, 1
        for block in _blocks(file):
            if layout is None:
                layout, header_lines = _layout(path, block, columns, by)
                if layout is None:  # nothing but comments so far
                    line += block.count("\n")
                    continue
                block = _without_lines(block, header_lines)
                line += header_lines
            points = _parse(block, layout, line)
            yield points, [] if by is None else _names(block, layout, line), layout
            line += block.count("\n")
            if progress is not None:
                progress(file.tell(), total)


def _blocks(file):
    """The text in pieces that end with a line; line ends become a plain newline, each."""
    rest = b""
    for number in itertools.count():
        data = file.read(BLOCK_BYTES)
        if number == 0:
            if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4096]:
                raise InvalidInput(f"The file '{file.name}' is not text in UTF-8 or a code page.")
            data = data.removeprefix(b"\xef\xbb\xbf")
        whole, newline, tail = data.rpartition(b"\n")
        if newline:
            yield _text(rest + whole + newline)
            rest = tail
        else:
            rest += tail
        if len(data) < BLOCK_BYTES - 3:
            break
    if rest:
        yield _text(rest)


def _text(data: bytes) -> str:
    """Bytes as text, one character each: numbers are ASCII, and names are only needed from the header."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.decode("latin-1")


def _is_row(line: str) -> bool:
    """Whether a line is data: not blank, not a comment."""
    start = line.lstrip()[:1]
    return start != "" and start != "#"


def _without_lines(block: str, count: int) -> str:
    return block.split("\n", count)[count] if block.count("\n") >= count else ""


# The header -----------------------------------------------------------------------------------------------------


def _layout(path, block, wanted, by):
    """The layout of a file from its first block, and how many lines come before its first row.

    (None, 0) when the block has no row and no header.
    """
    lines = ((number, line) for number, line in enumerate(io.StringIO(block)) if _is_row(line))
    number, first = next(lines, (0, None))
    if first is None:
        return None, 0
    delimiter = _delimiter(path, first)
    fields = split(first.rstrip("\n"), delimiter)
    names = None if any(_is_number(field) for field in fields) else [_name(field) for field in fields]
    layout = Layout(path, delimiter, len(fields), choose_columns(path, names, len(fields), wanted))
    if by is not None:
        column = position_of(path, names, len(fields), by.strip())
        layout = replace(layout, by=column, by_name=names[column] if names else "group")
    return layout, number if names is None else number + 1


def _delimiter(path, line):
    """What separates the fields: as the file's ending says, unless its first line says otherwise."""
    suffix = os.path.splitext(path)[1].lower()
    for delimiter in ("\t", ",", ";") if suffix in TABS else (",", ";", "\t"):
        if delimiter in line.strip(" \n"):
            return delimiter
    return None


def _name(field: str) -> str:
    """A header's field as its author wrote it: UTF-8 where it is."""
    try:
        return field.encode("latin-1").decode("utf-8").strip()
    except UnicodeError:
        return field.strip()


def _number(field: str) -> float:
    """A field as a float; as NumPy's parser has it, which knows no underscores and no other scripts' digits."""
    if "_" in field or not field.isascii():
        raise ValueError(field)
    return float(field)


def _is_number(field: str) -> bool:
    try:
        _number(field)
    except ValueError:
        return False
    return True


# The rows -------------------------------------------------------------------------------------------------------


def _parse(block: str, layout: Layout, first_line: int) -> np.ndarray:
    """The points of a block whose first line has this number in the file."""
    text = block
    if "#" in text:
        text = "".join(line for line in io.StringIO(text) if _is_row(line))
    if not text or text.isspace():
        return np.empty((0, 2))
    try:
        points = np.loadtxt(
            io.StringIO(text),
            delimiter=layout.delimiter,
            usecols=layout.columns,
            comments=None,
            quotechar='"' if '"' in text else None,
            ndmin=2,
        )
    except ValueError:
        return _parse_lines(block, layout, first_line)
    if _fields_between(text, layout.delimiter) != len(points) * (layout.width - 1):
        return _parse_lines(block, layout, first_line)
    return points


def _fields_between(text: str, delimiter: str | None) -> int:
    """How many delimiters the text has (of blanks: as many as part the fields of its lines)."""
    if delimiter is not None:
        return text.count(delimiter)
    return sum(max(len(line.split()) - 1, 0) for line in io.StringIO(text))


def _names(block: str, layout: Layout, first_line: int) -> list[str]:
    """The groups' names in the rows of a block that `_parse` has found well-formed."""
    names = []
    for number, line in enumerate(io.StringIO(block), first_line):
        if _is_row(line):
            line = line.rstrip("\n")
            names.append(_name(layout.split(line)[layout.by]))
            if not names[-1]:
                raise _malformed(layout.path, number, f"the group in '{layout.by_name}' is missing", line)
    return names


def _parse_lines(block: str, layout: Layout, first_line: int) -> np.ndarray:
    """As `_parse`, slow and exact; raises `InvalidInput` that names the first malformed line."""
    rows = []
    for number, line in enumerate(io.StringIO(block), first_line):
        if not _is_row(line):
            continue
        line = line.rstrip("\n")
        fields = layout.split(line)
        if len(fields) != layout.width:
            raise _malformed(
                layout.path, number, f"{layout.width} fields are expected, it has {len(fields)}", line
            )
        try:
            rows.append([_number(fields[column]) for column in layout.columns])
        except ValueError:
            wrong = next(fields[column] for column in layout.columns if not _is_number(fields[column]))
            what = f"'{_shown(wrong)}' is not a number" if wrong.strip() else "a coordinate is missing"
            raise _malformed(layout.path, number, what, line) from None
    return np.array(rows, np.float64).reshape(-1, 2)


def _malformed(path, number, what, line):
    return InvalidInput(f"The file '{path}' is malformed in line {number}: {what} ('{_shown(line)}').")


def _shown(text: str, most: int = 60) -> str:
    """Text fit for one line of a message."""
    text = _name(text).encode("unicode_escape").decode() if not text.isprintable() else _name(text)
    return text if len(text) <= most else text[: most - 3] + "..."
