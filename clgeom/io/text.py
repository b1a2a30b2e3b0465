"""Points from tables written as text: comma, tab, semicolon or blank separated.

A file is read in blocks of whole lines. Where every line of a block has the same number of fields, by a count over its
bytes, NumPy's own parser reads it fast. Any other block is read line by line, which is exact about quotes and numbers
and names the malformed line. Both give the same numbers: what Python's ``float`` makes of each field.
"""

from __future__ import annotations

import functools
import io
import itertools
import os
import re
from dataclasses import dataclass, replace

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io.columns import choose_columns, position_of
from clgeom.io.files import reading
from clgeom.runtime.messages import shown

BLOCK_BYTES = 1 << 24
TABS = (".tsv", ".tab")
#: First bytes of files that are no text, and what they are.
NOT_TEXT = (
    (b"\x1f\x8b", "it is compressed (gzip): unpack it first"),
    (b"PK\x03\x04", "it is an archive (zip)"),
    (b"\xff\xfe", "it is not text in UTF-8 or a code page"),
    (b"\xfe\xff", "it is not text in UTF-8 or a code page"),
)
#: A number: an integer (group 1), or what else there is. No hexadecimal digits, no underscores, ASCII only.
NUMBER = re.compile(
    r"(?:([+-]?[0-9]+)|[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity))\Z", re.I
)
#: What was meant as a number, but is none: "1,5", "1 000", "1'000", "0x1F", "12°30'N", digits of other scripts.
ALMOST_NUMBER = re.compile(r"[+-]?(?:0x.*|[.,]?\d[\d\s.,:'’_°′″%+-]*(?:[ed][+-]?\d+)?\s*[nsewo]?)\Z", re.I)
#: Every integer up to here is a float64. A field of so many digits may be one that is none.
EXACT = 2**53
LONG_INTEGER = re.compile(r'(?:\A|[,;" \t\n])[+-]?[0-9]{16,}(?:[,;" \t\n]|\Z)')
#: Blanks, for NumPy's parser, besides the space and the tab: they become what no number holds.
NO_BLANKS = bytes.maketrans(b"\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0", b"\1" * 8)


@dataclass(frozen=True)
class Layout:
    """How the rows of a file are written. `delimiter` None means any run of blanks.

    `names` are the names of the columns of x and y, None without a header. `by` is the column of the groups' names, if
    they are wanted, and `by_name` its own name.
    """

    path: object
    delimiter: str | None
    width: int
    columns: tuple[int, int]
    names: tuple[str, str] | None = None
    by: int | None = None
    by_name: str = "group"

    def split(self, line: str) -> list[str]:
        return split(line, self.delimiter)


def read_text(path, *, columns=None, progress=None):
    """Two columns of a table.

    Returns
    -------
    points : ndarray of float64, shape (n, 2)
    names : pair of str or None
        Of the two columns, None where there is no header.
    """
    parts, names = [], None
    for points, _, layout in _read(path, columns, None, progress):
        parts.append(points)
        names = layout.names
    return _joined(parts), names


def read_grouped_text(path, by, *, columns=None, progress=None):
    """Two columns of a table, a third one as text: the names of the groups that points are in.

    Returns
    -------
    points : ndarray of float64, shape (n, 2)
    names : pair of str or None
        Of the two columns, None where there is no header.
    groups : list of n str
    title : str
        The name of their column, "group" where it has none.
    """
    parts, names, groups, title = [], None, [], "group"
    for points, of_block, layout in _read(path, columns, by, progress):
        parts.append(points)
        groups += of_block
        names, title = layout.names, layout.by_name
    return _joined(parts), names, groups, title


def _joined(parts):
    return np.concatenate(parts) if parts else np.empty((0, 2))


def _read(path, columns, by, progress):
    """(points, names of groups, layout) of each block of a file."""
    with reading(path), open(path, "rb") as file:
        total = os.fstat(file.fileno()).st_size
        layout, line = None, 1
        for block in _blocks(file, path):
            if "\0" in block:
                before = block[: block.index("\0")]
                what = "it holds a null character"
                raise _malformed(path, line + before.count("\n"), what, before[before.rfind("\n") + 1 :])
            if layout is None:
                layout, header_lines = _layout(path, block, columns, by)
                if layout is None:  # nothing but comments so far
                    line += block.count("\n")
                    continue
                block = _without_lines(block, header_lines)
                line += header_lines
            points = _parse(block, layout, line)
            yield points, [] if by is None else _groups(block, layout, line), layout
            line += block.count("\n")
            if progress is not None:
                progress(file.tell(), total)


def _blocks(file, path):
    """The text in pieces that end with a line; line ends become a plain newline, each."""
    rest = []
    for number in itertools.count():
        data = file.read(BLOCK_BYTES)
        last = not data
        if number == 0:
            for start, what in NOT_TEXT:
                if data.startswith(start):
                    raise InvalidInput(f"The file '{path}' cannot be read: {what}.")
            if b"\0" in data[:4096]:
                raise InvalidInput(f"The file '{path}' is not text in UTF-8 or a code page.")
            data = data.removeprefix(b"\xef\xbb\xbf")
        whole, newline, tail = data.rpartition(b"\n")
        if newline:
            yield _text(b"".join([*rest, whole, newline]))
            rest = []
        rest.append(tail)
        if last:
            break
    if any(rest):
        yield _text(b"".join(rest))


def _text(data: bytes) -> str:
    """Bytes as text, one character each: numbers are ASCII, and names are decoded where they are wanted."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.decode("latin-1")


def line_of_row(path, row, *, columns=None, by=None) -> int:
    """The number in the file, from 1, of the line that holds row `row`, from 0, of what is read."""
    with reading(path), open(path, "rb") as file:
        layout, line = None, 1
        for block in _blocks(file, path):
            if layout is None:
                layout, _ = _layout(path, block, columns, by)
                row += layout is not None and layout.names is not None  # the header
            for text in io.StringIO(block):
                if _is_row(text):
                    if row == 0:
                        return line
                    row -= 1
                line += 1
    raise InvalidInput(f"The file '{path}' was changed while it was read.")


def _is_row(line: str) -> bool:
    """Whether a line is data: not blank, not a comment."""
    start = line.lstrip(" \t\n")[:1]
    return start != "" and start != "#"


def _without_lines(block: str, count: int) -> str:
    return block.split("\n", count)[count] if block.count("\n") >= count else ""


# Lines ----------------------------------------------------------------------------------------------------------


def split(line: str, delimiter: str | None) -> list[str]:
    """The fields of a line: blanks around them left out, quotes removed and what is in them kept.

    A quote counts at the beginning of a field; within quotes "" stands for one. ValueError says what is wrong.
    """
    if '"' not in line:
        if delimiter is None:
            return re.findall(r"[^ \t]+", line)
        return [field.strip(" \t") for field in line.split(delimiter)]
    pattern, fields, place = _field_pattern(delimiter), [], 0
    if delimiter is None:
        line = line.strip(" \t")
    while True:
        found = pattern.match(line, place)
        if found is None:
            raise ValueError("a quote is not closed in its line, or text follows it")
        quoted, plain = found.groups()
        fields.append(plain.strip(" \t") if quoted is None else quoted.replace('""', '"'))
        place = found.end()
        if place == len(line) and (delimiter is None or not found[0].endswith(delimiter)):
            return fields


@functools.lru_cache
def _field_pattern(delimiter):
    """One field with what ends it: a quoted one, else a plain one."""
    quoted = r'"([^"]*(?:""[^"]*)*)"'
    if delimiter is None:
        return re.compile(rf'(?:{quoted}|([^" \t][^ \t]*))(?:[ \t]+|\Z)')
    blanks = " *(?! )" if delimiter == "\t" else r"[ \t]*(?![ \t])"
    return re.compile(rf'{blanks}(?:{quoted}{blanks}|([^"{delimiter}][^{delimiter}]*|))(?:{delimiter}|\Z)')


def _name(field: str) -> str:
    """A field as its author wrote it: UTF-8 where it is."""
    try:
        return field.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return field


def _number(field: str) -> float:
    """A field as a float; ValueError where it is none, or an integer that float64 does not hold."""
    field = field.strip(" \t")
    found = NUMBER.match(field)
    if found is None:
        raise ValueError("is not a number")
    value = float(field)
    if found[1] is not None and abs(value) >= EXACT:
        digits = found[1].lstrip("+-0")
        if len(digits) > 309 or int(digits) != abs(value):
            raise ValueError("is beyond the integers that float64 holds (2**53)")
    return value


def numbers_of(path, fields, column) -> np.ndarray:
    """The fields of a column as float64; `InvalidInput` that names the first that is no number."""
    try:
        return np.array([_number(field) for field in fields], np.float64)
    except ValueError:
        row, what = next((row, what) for row, field in enumerate(fields) if (what := _what_is_wrong(field)))
        what = what.replace("a coordinate is", "a number is")
        raise InvalidInput(f"The column '{column}' of '{path}' must hold numbers: {what} in row {row + 1}.") from None


def _is_number(field: str) -> bool:
    return NUMBER.match(field.strip(" \t")) is not None


# The header -----------------------------------------------------------------------------------------------------


def _layout(path, block, wanted, by):
    """The layout of a file from its first block, and how many lines come before its first row.

    (None, 0) when the block has no row and no header.
    """
    lines = ((number, line) for number, line in enumerate(io.StringIO(block)) if _is_row(line))
    number, first = next(lines, (0, None))
    if first is None:
        return None, 0
    first = first.rstrip("\n")
    delimiter = _delimiter(path, first)
    try:
        fields = split(first, delimiter)
    except ValueError as error:
        raise _malformed(path, number + 1, error, first) from None
    width = len(fields)
    names = None if any(map(_is_number, fields)) else [_name(field).strip() for field in fields]
    column = None if by is None else position_of(path, names, width, by)
    x, y = choose_columns(path, names, width, wanted, by=column)
    layout = Layout(path, delimiter, width, (x, y), by=column)
    if names is None:
        return layout, number
    for position in (x, y):  # a row whose numbers cannot be read is no header
        if ALMOST_NUMBER.match(names[position]) or names[x] == names[y] == "":
            raise _malformed(path, number + 1, _what_is_wrong(fields[position]), first)
    layout = replace(layout, names=(names[x], names[y]))
    return layout if by is None else replace(layout, by_name=names[column] or "group"), number + 1


def _delimiter(path, line):
    """What separates the fields: as the file's ending says, unless its first line says otherwise."""
    line = re.sub('"[^"]*"', "", line).strip(" \t")
    suffix = os.path.splitext(path)[1].lower()
    for delimiter in ("\t", ",", ";") if suffix in TABS else (",", ";", "\t"):
        if delimiter in line:
            return delimiter
    return None


# The rows -------------------------------------------------------------------------------------------------------


def _parse(block: str, layout: Layout, first_line: int) -> np.ndarray:
    """The points of a block whose first line has this number in the file."""
    text = block
    if "#" in text:
        text = "".join(line for line in io.StringIO(text) if _is_row(line))
    data = text.encode("latin-1").translate(NO_BLANKS)
    rows = _even_rows(data, layout)
    if rows == 0:
        return np.empty((0, 2))
    if rows is None:
        return _parse_lines(block, layout, first_line)
    try:
        points = np.loadtxt(
            io.StringIO(data.decode("latin-1")),
            delimiter=layout.delimiter,
            usecols=layout.columns,
            comments=None,
            quotechar='"' if '"' in text else None,
            ndmin=2,
        )
    except ValueError:
        return _parse_lines(block, layout, first_line)
    large = (np.abs(points) >= EXACT).any() and LONG_INTEGER.search(text)  # which may be rounded
    return _parse_lines(block, layout, first_line) if large or points.shape != (rows, 2) else points


def _even_rows(data: bytes, layout: Layout) -> int | None:
    """How many rows a text without comments has; None unless all have the layout's fields and plain quotes."""
    if not data.endswith(b"\n"):
        data += b"\n"
    codes = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(codes == ord("\n"))
    if layout.delimiter is not None:
        marks = codes == ord(layout.delimiter)
    else:  # the first blank after each field
        blank = (codes == ord(" ")) | (codes == ord("\t")) | (codes == ord("\n"))
        marks = blank & ~np.concatenate([[True], blank[:-1]])
    marks = np.flatnonzero(marks)
    if b'"' in data:
        quotes = np.flatnonzero(codes == ord('"'))
        if len(quotes) % 2 or not _quotes_fields(codes, quotes, layout.delimiter):
            return None
        if (np.searchsorted(quotes, ends) % 2).any():
            return None
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    counts = np.diff(np.searchsorted(marks, ends, side="right"), prepend=0)
    if layout.delimiter is None:
        counts = counts[counts > 0]  # lines of blanks only are no rows
        return len(counts) if (counts == layout.width).all() else None
    counts = counts[np.diff(ends, prepend=-1) > 1]
    return len(counts) if (counts == layout.width - 1).all() else None


def _quotes_fields(codes, quotes, delimiter) -> bool:
    """Whether each pair of quotes holds a whole field, or ends where the next one begins ("")."""
    around = [ord(c) for c in '"\n' + (delimiter or " \t")]
    before = codes[np.maximum(quotes[0::2] - 1, 0)]
    after = codes[quotes[1::2] + 1]  # the text ends with a newline
    return bool((np.isin(before, around) | (quotes[0::2] == 0)).all() and np.isin(after, around).all())


def _groups(block: str, layout: Layout, first_line: int) -> list[str]:
    """The groups' names in the rows of a block that `_parse` has found well-formed."""
    names = []
    for number, line in enumerate(io.StringIO(block), first_line):
        if _is_row(line):
            line = line.rstrip("\n")
            names.append(_name(layout.split(line)[layout.by]))
            if not names[-1].strip():
                what = f"the group in '{shown(layout.by_name)}' is missing"
                raise _malformed(layout.path, number, what, line)
    return names


def _parse_lines(block: str, layout: Layout, first_line: int) -> np.ndarray:
    """As `_parse`, slow and exact; raises `InvalidInput` that names the first malformed line."""
    rows = []
    for number, line in enumerate(io.StringIO(block), first_line):
        if not _is_row(line):
            continue
        line = line.rstrip("\n")
        try:
            fields = layout.split(line)
        except ValueError as error:
            raise _malformed(layout.path, number, error, line) from None
        if len(fields) != layout.width:
            what = f"{layout.width} fields are expected, it has {len(fields)}"
            raise _malformed(layout.path, number, what, line)
        row = []
        for column in layout.columns:
            try:
                row.append(_number(fields[column]))
            except ValueError:
                raise _malformed(layout.path, number, _what_is_wrong(fields[column]), line) from None
        rows.append(row)
    return np.array(rows, np.float64).reshape(-1, 2)


def _what_is_wrong(field: str) -> str:
    """What is wrong with a field that is no coordinate."""
    if not field.strip():
        return "a coordinate is missing"
    try:
        _number(field)
    except ValueError as error:
        return f"'{shown(_name(field))}' {error}"
    return ""


def _malformed(path, number, what, line):
    return InvalidInput(f"The file '{path}' is malformed in line {number}: {what} ('{shown(_name(line[:300]))}').")
