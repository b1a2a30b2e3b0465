"""Tables as text: the reader of all commands, for fields separated by comma, tab, semicolon or blanks.

The rules are the same for all kinds of tables:

- Lines end with a newline, a carriage return, or both. Blank lines and those that begin with ``#`` are ignored, but for
  the errors of spreadsheets (#N/A), which are fields.
- The first line determines the delimiter. Every row has as many fields as that line. Blanks are spaces and tabs; blanks
  around a field are ignored. A quoted field ends in its line.
- The first line is a header if none of its fields is a number. A malformed row of numbers must not be taken for a
  header: a requested field must not be almost a number ("1,5"), and not all fields may begin like a number. It must not
  stand for a missing number ("NA", "null", "-", nothing), unless its column is requested by that name.
- Bytes are ASCII, or UTF-8 or a code page in names.

A file is read in blocks of whole lines. PyArrow reads a large block if it is installed (`clgeom.io.quick`). Otherwise
NumPy's parser reads it, if every line of the block has the same number of fields. A block that these refuse is read
line by line, which handles quotes and numbers exactly and names a malformed line. All three return the same numbers:
the results of Python's ``float``.
"""

from __future__ import annotations

import functools
import gzip
import io
import itertools
import math
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import listed, shown
from clgeom.errors import InvalidInput
from clgeom.io import quick
from clgeom.io.columns import are_known
from clgeom.io.files import opened, reading, suffix_of
from clgeom.io.numbers import (
    BEGINS_LIKE_A_NUMBER,
    as_float,
    is_almost_number,
    is_missing,
    is_no_name,
    is_number,
    may_lose,
)
from clgeom.optional import is_installed

#: Endings of tables whose delimiter is a tab if the first line has one.
TABS = (".tsv", ".tab")
BLOCK_BYTES = 1 << 24
#: First bytes of files that are not text, and the reason to give.
NOT_TEXT = (
    (b"\x1f\x8b", "it is compressed (gzip): let its name end in .gz"),
    (b"PK\x03\x04", "it is an archive (zip)"),
    (b"\xff\xfe", "it is not text in UTF-8 or a code page"),
    (b"\xfe\xff", "it is not text in UTF-8 or a code page"),
)
#: The mark of UTF-8 at the beginning of a file.
MARK = b"\xef\xbb\xbf"
LINE_END, LINE = re.compile(rb"\r\n|\r|\n"), re.compile(rb"[^\n]*\n|[^\n]+\Z")
#: A line that begins with an error of a spreadsheet, which is no comment.
SPREADSHEET_ERROR = re.compile(r"#(?:N/A(?: N/A)?|NA|DIV/0!|VALUE!|REF!|NUM!|NULL!|NAME\?)[ \t]*(?:[,;\t\n]|\Z)")
#: A number with a decimal comma.
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
#: Replaces the blanks of NumPy's parser, except space and tab, by a character that is in no number.
NO_BLANKS = bytes.maketrans(b"\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0", b"\1" * 8)


@dataclass(frozen=True)
class Layout:
    """How the rows of a file are written.

    Parameters
    ----------
    path : path-like
    delimiter : str or None
        None means any run of blanks.
    width : int
        How many fields each row has.
    names : tuple of str or None
        The header, None where there is none.
    columns : tuple of int
        Positions of the columns that must hold numbers.
    header_line : int or None
        The number of the line of the header.
    named : bool
        Whether the columns were chosen by names of the header, or have known names of x and y.
    """

    path: object
    delimiter: str | None
    width: int
    names: tuple[str, ...] | None
    columns: tuple[int, ...]
    header_line: int | None = None
    named: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What to tell the user about the header: that a line was taken for it, though nothing in it was asked for."""
        if self.names is None or self.named:
            return ()
        return (f"line {self.header_line} of '{self.path}' is taken for the header: {listed(self.names)}",)


@dataclass(frozen=True)
class Block:
    """Whole lines of a table.

    Parameters
    ----------
    raw : bytes
        The lines as they are in the file.
    layout : Layout
    start : pair of int
        Where the block begins: a number of bytes of the file, and a number of lines after these.
    missing : str
        What an empty field should have been, for messages.
    nan_if_empty : bool
        Read empty fields, and words for a missing number, as NaN.
    """

    raw: bytes
    layout: Layout
    start: tuple[int, int]
    missing: str = "a number"
    nan_if_empty: bool = False

    @functools.cached_property
    def line(self) -> int:
        """The number of the first line, from 1, found by reading the file again."""
        return 1 + _lines_within(self.layout.path, self.start[0]) + self.start[1]

    @functools.cached_property
    def data(self) -> bytes:
        """The lines; each ends with a newline, except the last one of the file."""
        return _with_newlines(self.raw)

    @functools.cached_property
    def text(self) -> str:
        """The lines, one character for each byte."""
        return self.data.decode("latin-1")

    def rows(self):
        """Yield (line number, line, fields) of each row; `InvalidInput` names the first malformed line."""
        layout = self.layout
        for number, line in enumerate(io.StringIO(self.text), self.line):
            if not _is_row(line):
                continue
            line = line.rstrip("\n")
            try:
                fields = split(line, layout.delimiter)
            except ValueError as error:
                raise malformed(layout.path, number, error, line) from None
            if len(fields) != layout.width:
                what = f"{layout.width} fields are expected, it has {len(fields)}"
                raise malformed(layout.path, number, what, line)
            yield number, line, fields

    def texts(self, column: int) -> list[str]:
        """Return the fields of one column."""
        found = self._plain_texts(column)
        if found is None:
            found = [fields[column] for _, _, fields in self.rows()]
        return found if self.text.isascii() else list(map(decoded, found))

    def _plain_texts(self, column):
        """Return what `texts` does, quickly; None for a block with quotes, comments or uneven rows."""
        text, layout = self.text, self.layout
        if '"' in text or "#" in text:
            return None
        lines, delimiter = text.split("\n"), layout.delimiter
        if delimiter is not None:
            lines = [line for line in lines if line.strip(" \t")]
            even = set(map(str.count, lines, itertools.repeat(delimiter))) <= {layout.width - 1}
            return [line.split(delimiter, column + 1)[column].strip(" \t") for line in lines] if even else None
        if layout.width == 1 and " " not in text and "\t" not in text:
            return list(filter(None, lines))
        rows = [fields for line in lines if (fields := split(line, None))]
        return [row[column] for row in rows] if set(map(len, rows)) <= {layout.width} else None

    def floats(self) -> np.ndarray:
        """Return the columns of numbers as float64, shape (n, len(layout.columns))."""
        found = self.quickly()
        return self.floats_by_rules() if found is None else quick.stacked([found[0]], len(self.layout.columns))

    def quickly(self, by: int | None = None):
        """Return what `quick.floats_and_groups` does; None if PyArrow cannot read the block by the rules."""
        return self._by_arrow(quick.floats_and_groups, self.layout.columns, by)

    def numbers_quickly(self):
        """Return the only column of numbers as int64, uint64 or float64; None as `quickly`."""
        return self._by_arrow(quick.numbers, self.layout.columns[0])

    def _by_arrow(self, function, *arguments):
        if len(self.raw) < quick.LEAST or not is_installed("pyarrow"):
            return None
        layout, rows = self.layout, self.raw
        if layout.delimiter is None or b"#" in rows or b'"' in rows:
            rows = self.rows_alone
        if b'"' in rows and not quick.has_plain_quotes(rows, layout.delimiter):
            return None
        return function(rows, layout.delimiter, layout.width, *arguments)

    @functools.cached_property
    def rows_alone(self) -> bytes:
        """The lines without comments."""
        if b"#" not in self.data:
            return self.data
        return "".join(line for line in io.StringIO(self.text) if _is_row(line)).encode("latin-1")

    def floats_by_rules(self) -> np.ndarray:
        """Return the columns of numbers as `floats` does, without PyArrow."""
        layout, text = self.layout, self.text
        data = self.rows_alone.translate(NO_BLANKS)
        rows = _even_rows(data, layout)
        if rows == 0:
            return np.empty((0, len(layout.columns)))
        if rows is None:
            return self._floats_by_line()
        try:
            values = np.loadtxt(
                io.StringIO(data.decode("latin-1")),
                delimiter=layout.delimiter,
                usecols=layout.columns,
                comments=None,
                quotechar='"' if '"' in text else None,
                ndmin=2,
            )
        except ValueError:
            return self._floats_by_line()
        if may_lose(data, values) or values.shape != (rows, len(layout.columns)):
            return self._floats_by_line()
        return values

    def _floats_by_line(self):
        """Return the columns of numbers, read line by line; `InvalidInput` names the first malformed line."""
        rows = []
        for number, line, fields in self.rows():
            row = []
            for column in self.layout.columns:
                try:
                    row.append(as_float(fields[column]))
                except ValueError:
                    if self.nan_if_empty and is_missing(fields[column]):
                        row.append(math.nan)
                        continue
                    what = what_is_wrong(fields[column], self.missing)
                    error = malformed(self.layout.path, number, what, line)
                    error.empty = is_missing(fields[column])
                    raise error from None
            rows.append(row)
        return np.array(rows, np.float64).reshape(-1, len(self.layout.columns))


@keeps_subnormals
def read_blocks(path, choose, *, missing="a number", nan_if_empty=False, progress=None):
    """Yield the blocks of a table; none for a file without header and rows.

    Parameters
    ----------
    path : path-like
    choose : callable
        Given the names (None without a header) and the number of columns, returns the positions of those that must
        hold numbers.
    missing : str
        What an empty field should have been, for messages.
    nan_if_empty : bool
        Read empty fields, and words for a missing number, as NaN.
    progress : callable, optional
        Called as progress(bytes_read, bytes_in_all) after each block.
    """
    with reading(path), opened(path) as (file, total, position):
        layout, read = None, 0
        for data in _pieces(file, path):
            start, read, lines = read, read + len(data), 0
            if start == 0:
                data = data.removeprefix(MARK)
            if b"\0" in data:
                lines = 1 + _lines_within(path, start)
                before = _with_newlines(data[: data.index(b"\0")]).decode("latin-1")
                what = "it holds a null character"
                raise malformed(path, lines + before.count("\n"), what, before[before.rfind("\n") + 1 :])
            if layout is None:
                layout, lines = _layout(path, _with_newlines(data), choose, missing)
                if layout is None:  # only comments so far
                    continue
                data = _without_lines(data, lines)
            yield Block(data, layout, (start, lines), missing, nan_if_empty)
            if progress is not None:
                progress(position(), total)


def line_of_row(path, row) -> int:
    """Return the number, from 1, of the line that holds a row, whose number is counted from 0."""
    with reading(path), opened(path) as (file, _, _):
        layout, line = None, 1
        for block in map(_with_newlines, _pieces(file, path)):
            block = block.removeprefix(MARK)
            if layout is None:
                layout, _ = _layout(path, block, lambda names, width: (), "")
                row += layout is not None and layout.names is not None  # the header
            for text in io.StringIO(block.decode("latin-1")):
                if _is_row(text):
                    if row == 0:
                        return line
                    row -= 1
                line += 1
    raise wrong_file(path, "was changed while it was read")


def malformed(path, number, what, line) -> InvalidInput:
    """Return the error for a malformed line."""
    return wrong_file(path, f"is malformed in line {number}: {what} ('{shown(decoded(line[:300]))}')")


def what_is_wrong(field: str, missing: str) -> str:
    """Return what is wrong with a field that is not a number; "" for a number."""
    if not field.strip():
        return f"{missing} is missing"
    try:
        as_float(field)
    except ValueError as error:
        hint = ": write decimals with a point" if DECIMAL_COMMA.fullmatch(field.strip()) else ""
        return f"'{shown(decoded(field))}' {error}{hint}"
    return ""


def decoded(field: str) -> str:
    """Return a field decoded from UTF-8, or as it is if it is in a code page."""
    try:
        return field if field.isascii() else field.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return field


# Lines ----------------------------------------------------------------------------------------------------------------


def _pieces(file, path):
    """Yield the file in pieces of whole lines."""
    data = _whole_lines(file)
    _check_text(data, path)
    if len(data) < BLOCK_BYTES:
        if data:
            yield data
        return
    with ThreadPoolExecutor(1) as reader:  # the next piece is read while one is parsed
        while data:
            following = reader.submit(_whole_lines, file)
            yield data
            data = following.result()


def _whole_lines(file) -> bytes:
    """Return the next block of a file, to the end of its last line."""
    if isinstance(file, gzip.GzipFile):
        return file.read(BLOCK_BYTES) + file.readline()
    start = file.tell()  # the end is found first, so that one read without a copy suffices
    file.seek(start + BLOCK_BYTES)
    size = BLOCK_BYTES + len(file.readline())
    file.seek(start)
    return file.read(size)


def _check_text(data, path):
    """Raise `InvalidInput` if a file does not begin as text."""
    for start, what in NOT_TEXT:
        if data.startswith(start):
            raise wrong_file(path, f"cannot be read: {what}")
    if b"\0" in data[:4096]:
        raise wrong_file(path, "is not text in UTF-8 or a code page")


def _lines_within(path, size) -> int:
    """Return the number of lines that end within the first bytes of a file."""
    if size == 0:
        return 0
    with opened(path) as (file, _, _):
        lines = 0
        for data in _pieces(file, path):
            lines += _with_newlines(data[:size]).count(b"\n")
            size -= len(data)
            if size <= 0:
                break
        return lines


def _with_newlines(data):
    """Return bytes in which each line end is a newline."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _is_row(line: str) -> bool:
    """Return whether a line is data: neither blank nor a comment."""
    line = line.lstrip(" \t\n")
    return line != "" and (line[0] != "#" or SPREADSHEET_ERROR.match(line) is not None)


def _without_lines(data: bytes, count: int) -> bytes:
    """Return the lines after the first `count`."""
    end = 0
    for _ in range(count):
        found = LINE_END.search(data, end)
        end = len(data) if found is None else found.end()
    return data[end:]


def split(line: str, delimiter: str | None) -> list[str]:
    """Return the fields of a line, without blanks around them and without quotes.

    A quote counts only at the beginning of a field; within quotes "" stands for one. ValueError says what is wrong.
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
    """Return the pattern of a field with its end: quoted (group 1) or plain (group 2)."""
    quoted = r'"([^"]*(?:""[^"]*)*)"'
    if delimiter is None:
        return re.compile(rf'(?:{quoted}|([^" \t][^ \t]*))(?:[ \t]+|\Z)')
    blanks = " *(?! )" if delimiter == "\t" else r"[ \t]*(?![ \t])"
    return re.compile(rf'{blanks}(?:{quoted}{blanks}|([^"{delimiter}][^{delimiter}]*|))(?:{delimiter}|\Z)')


# The header -----------------------------------------------------------------------------------------------------------


def _layout(path, block, choose, missing):
    """Return the layout of a file from its first block, and the number of lines before its first row.

    (None, 0) if the block has neither header nor rows.
    """
    lines = enumerate((found[0].decode("latin-1") for found in LINE.finditer(block)), 1)
    number, first = next(((number, line) for number, line in lines if _is_row(line)), (1, None))
    if first is None:
        return None, 0
    first = first.rstrip("\n")
    delimiter = _delimiter(path, first)
    try:
        fields = split(first, delimiter)
    except ValueError as error:
        raise malformed(path, number, error, first) from None
    width = len(fields)
    if any(map(is_number, fields)):
        return Layout(path, delimiter, width, None, tuple(choose(None, width))), number - 1
    names = tuple(decoded(field).strip() for field in fields)
    named = _choice_of_others(choose, width)
    columns = tuple(choose(names, width))
    named = columns != named or are_known([names[column] for column in columns[:2]])
    lost = _lost_number(names, columns, named)
    if lost is not None:
        what = what_is_wrong(fields[lost], missing)
        if is_no_name(names[lost]) and names[lost]:
            what += f"; as the name of a column it is requested by that name, not by {lost + 1}"
        raise malformed(path, number, what, first)
    return Layout(path, delimiter, width, names, columns, number, named), number


def _choice_of_others(choose, width):
    """Return the positions of the columns that would be chosen if no column had a name that was requested or is known.

    None if there are none.
    """
    try:
        return tuple(choose(tuple(f"\0{position}" for position in range(width)), width))
    except InvalidInput:
        return None


def _lost_number(names, columns, named):
    """Return the position of a field that is a malformed number rather than a name of a header, None without one."""
    for column in columns:
        if is_almost_number(names[column]) or (is_no_name(names[column]) and not named):
            return column
    if columns and not any(names[column] for column in columns):
        return columns[0]
    if all(map(BEGINS_LIKE_A_NUMBER.match, names)):
        return columns[0] if columns else 0
    return None


def _delimiter(path, line):
    """Return the delimiter of the first line; the ending of the file decides which one is looked for first."""
    line = re.sub('"[^"]*"', "", line).strip(" \t")
    for delimiter in ("\t", ",", ";") if suffix_of(path) in TABS else (",", ";", "\t"):
        if delimiter in line:
            return delimiter
    return None


# Rows that NumPy reads ------------------------------------------------------------------------------------------------


def _even_rows(data: bytes, layout: Layout) -> int | None:
    """Return the number of rows of a text without comments; None if a row has another width or unusual quotes."""
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
    """Return whether each pair of quotes holds a whole field, or ends where the next one begins ("")."""
    around = [ord(c) for c in '"\n' + (delimiter or " \t")]
    before = codes[np.maximum(quotes[0::2] - 1, 0)]
    after = codes[quotes[1::2] + 1]  # the text ends with a newline
    return bool((np.isin(before, around) | (quotes[0::2] == 0)).all() and np.isin(after, around).all())
