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

A file is read in blocks of whole lines. PyArrow parses a large block if it is installed; any other is split into fields
all at once. A block where these may differ from the rules is read line by line, which names a malformed line. All
three return the same numbers: the results of Python's ``float``.
"""

from __future__ import annotations

import csv
import functools
import gzip
import io
import itertools
import math
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.io.files import FilePath, Progress, opened, reading
from clgeom.io.layout import (
    Choice,
    Layout,
    MissingNumber,
    decoded,
    is_row,
    layout_of,
    malformed,
    split,
    what_is_wrong,
)
from clgeom.io.numbers import OTHER_BLANKS, as_float, as_floats, is_missing, may_lose
from clgeom.optional import is_installed

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 1 << 24
#: Least size in bytes of a block that PyArrow parses. Importing PyArrow takes as long as reading a few MB.
ARROW_LEAST = 1 << 20
#: First bytes of files that are not text, and the reason to give.
NOT_TEXT = (
    (b"\x1f\x8b", "it is compressed (gzip): let its name end in .gz"),
    (b"PK\x03\x04", "it is an archive (zip)"),
    (b"\xff\xfe", "it is not text in UTF-8 or a code page"),
    (b"\xfe\xff", "it is not text in UTF-8 or a code page"),
)
#: The mark of UTF-8 at the beginning of a file.
MARK = b"\xef\xbb\xbf"
QUOTE, NEWLINE = ord('"'), ord("\n")
LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True)
class Block:
    """Whole lines of a table.

    `line` is the number of the first one, from 1. `missing` says what an empty field should have been, for messages.
    With `nan_if_empty`, empty fields and words for a missing number are NaN.
    """

    raw: bytes
    layout: Layout
    line: int
    missing: str = "a number"
    nan_if_empty: bool = False

    def floats(self) -> np.ndarray:
        """Return the columns of numbers as float64, shape (n, len(layout.columns))."""
        found = self._arrow_floats()
        if found is None:
            found = self._loaded_floats()
        if found is None:
            found = self._split_floats()
        return self._floats_by_line() if found is None else found

    def integers_or_floats(self) -> np.ndarray | None:
        """Return the first column of numbers as int64, uint64 or float64; None if PyArrow cannot read it by the rules.

        It is an integer array if all numbers are written as whole ones.
        """
        if b"0x" in self.raw or b"0X" in self.raw:  # PyArrow takes hexadecimal integers
            return None
        column = str(self.layout.columns[0])
        for kind in ("int64", "uint64"):
            table = self._arrow_table({column: kind})
            if table is not None:
                integers: np.ndarray = table[column].to_numpy()
                return integers
        found = self._arrow_floats()
        if found is None or (found == np.rint(found)).all():  # "+5" is whole, and "5.0" is not
            return None
        return found[:, 0]

    def numbered_texts(self) -> tuple[np.ndarray, list[str]]:
        """Return for each row the number of its text in the column of texts, and the texts, which may repeat."""
        column = self.layout.text
        assert column is not None
        if self._arrow is None:
            numbers: dict[str, int] = {}
            return np.array([numbers.setdefault(t, len(numbers)) for t in self.texts(column)], np.int64), list(numbers)
        found = self._arrow[str(column)].unify_dictionaries()
        if not found.num_chunks:
            return np.empty(0, np.int64), []
        texts = [decoded(text.decode("latin-1").strip(" \t")) for text in found.chunk(0).dictionary.to_pylist()]
        return np.concatenate([chunk.indices.to_numpy() for chunk in found.chunks]), texts

    def texts(self, column: int) -> list[str]:
        """Return the fields of one column."""
        if self._fields is None:
            found = [fields[column] for _, _, fields in self.rows()]
        else:
            found = [field.strip(" \t") for field in self._fields[column :: self.layout.width]]
        return found if self.text.isascii() else list(map(decoded, found))

    def rows(self) -> Iterator[tuple[int, str, list[str]]]:
        """Yield (line number, line, fields) of each row; `InvalidInput` names the first malformed line."""
        layout = self.layout
        for number, line in enumerate(io.StringIO(self.text), self.line):
            if not is_row(line):
                continue
            line = line.rstrip("\n")
            try:
                fields = split(line, layout.delimiter)
            except ValueError as error:
                raise malformed(layout.path, number, error, line) from None
            if len(fields) != layout.width:
                expected = "1 field is" if layout.width == 1 else f"{layout.width} fields are"
                what = f"{expected} expected, it has {len(fields)}"
                raise malformed(layout.path, number, what, line)
            yield number, line, fields

    @functools.cached_property
    def text(self) -> str:
        """The lines, one character for each byte; each ends with a newline, except the last one of the file."""
        return _with_newlines(self.raw).decode("latin-1")

    @functools.cached_property
    def _without_comments(self) -> bytes:
        if b"#" not in self.raw:
            return _with_newlines(self.raw)
        return "".join(line for line in io.StringIO(self.text) if is_row(line)).encode("latin-1")

    # By PyArrow ---------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _arrow(self) -> pa.Table | None:
        """Columns of float64 and of texts by position, the latter as a dictionary; None where the rules may differ."""
        types = {str(position): "float64" for position in self.layout.columns}
        if self.layout.text is None:
            return self._arrow_table(types)
        if str(self.layout.text) in types:
            return None
        return self._arrow_table({**types, str(self.layout.text): "dictionary"})

    def _arrow_floats(self) -> np.ndarray | None:
        if self._arrow is None:
            return None
        values = np.empty((self._arrow.num_rows, len(self.layout.columns)))
        for place, position in enumerate(self.layout.columns):
            values[:, place] = self._arrow[str(position)].to_numpy()
        is_nan = np.isnan(values)
        if is_nan.any() and (b"(" in self.raw or np.signbit(values[is_nan]).any()):
            return None  # a NaN is written in a way that Python may refuse
        return None if may_lose(self.raw, values) else values

    def _arrow_table(self, types: dict[str, str]) -> pa.Table | None:
        """Return a table of PyArrow with columns of these types, None where the rules may differ."""
        if len(self.raw) < ARROW_LEAST or not is_installed("pyarrow"):
            return None
        import pyarrow as pa
        from pyarrow import csv

        layout, data = self.layout, self.raw
        delimiter = layout.delimiter
        if delimiter is None or b"#" in data or b'"' in data:
            data = self._without_comments
        if delimiter is None:
            delimiter = _single_blank(data, layout.width)
        if delimiter is None or not has_plain_quotes(data, layout.delimiter):
            return None
        known = {"dictionary": pa.dictionary(pa.int32(), pa.binary())}
        try:
            return csv.read_csv(
                pa.BufferReader(data),
                read_options=csv.ReadOptions(column_names=[str(position) for position in range(layout.width)]),
                parse_options=csv.ParseOptions(delimiter=delimiter, quote_char='"' if b'"' in data else False),
                convert_options=csv.ConvertOptions(
                    check_utf8=False,
                    column_types={name: known.get(kind, kind) for name, kind in types.items()},
                    include_columns=list(types),
                    null_values=[],
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowException:
            return None

    # Without PyArrow --------------------------------------------------------------------------

    @functools.cached_property
    def _fields(self) -> list[str] | None:
        """The fields of all rows, one row after the other, with the blanks around them; None as for `_arrow`."""
        data, delimiter, width = self._without_comments, self.layout.delimiter, self.layout.width
        text = data.decode("latin-1").removesuffix("\n")
        if delimiter is None and not (text.isascii() and not any(blank in text for blank in OTHER_BLANKS)):
            return None
        fields = None if b'"' in data else _split_rows(text, delimiter, width)
        if fields is not None:
            return fields
        lines = [line for line in text.split("\n") if line.strip(" \t")]
        if b'"' not in data:
            return _split_rows("\n".join(lines), delimiter, width) if lines else []
        if delimiter is None or not has_plain_quotes(data, delimiter):
            return None
        try:
            rows = list(csv.reader(lines, delimiter=delimiter, strict=True))
        except csv.Error:  # a field is longer than the module takes
            return None
        return list(itertools.chain.from_iterable(rows)) if set(map(len, rows)) <= {width} else None

    def _loaded_floats(self) -> np.ndarray | None:
        """Return the numbers of a table that has no other columns, by NumPy's parser; None as for `_arrow`."""
        data, layout = self._without_comments, self.layout
        is_all = layout.width == len(layout.columns) and b'"' not in data and data.strip(b" \t\n") != b""
        if not is_all or not data.isascii() or any(blank in self.text for blank in OTHER_BLANKS):
            return None
        try:
            values = np.loadtxt(io.StringIO(data.decode()), delimiter=layout.delimiter, comments=None, ndmin=2)
        except ValueError:
            return None
        return None if values.shape[1] != layout.width or may_lose(data, values) else values[:, layout.columns]

    def _split_floats(self) -> np.ndarray | None:
        if self._fields is None:
            return None
        columns = [as_floats(self._fields[position :: self.layout.width]) for position in self.layout.columns]
        complete = [column for column in columns if column is not None]
        if len(complete) < len(columns):
            return None
        return np.column_stack(complete) if complete else np.empty((len(self._fields) // self.layout.width, 0))

    def _floats_by_line(self) -> np.ndarray:
        """Return the columns of numbers, read line by line; `InvalidInput` names the first malformed line."""
        rows = []
        for number, line, fields in self.rows():
            row = []
            for column in self.layout.columns:
                try:
                    row.append(as_float(fields[column]))
                except ValueError:
                    is_empty = is_missing(fields[column])
                    if not (self.nan_if_empty and is_empty):
                        error = malformed(self.layout.path, number, what_is_wrong(fields[column], self.missing), line)
                        raise (MissingNumber(str(error)) if is_empty else error) from None
                    row.append(math.nan)
            rows.append(row)
        return np.array(rows, np.float64).reshape(-1, len(self.layout.columns))


@keeps_subnormals
def read_blocks(
    path: FilePath,
    choose: Choice,
    *,
    missing: str = "a number",
    nan_if_empty: bool = False,
    progress: Progress | None = None,
) -> Iterator[Block]:
    """Yield the blocks of a table; none for a file without header and rows. Parameters are those of `Block`.

    `progress` is called as progress(bytes_read, bytes_in_all) after each block.
    """
    with reading(path), opened(path) as (file, total, position):
        layout, line = None, 1
        for data in _pieces(file, path):
            first, line = line, line + _line_ends(data)
            if first == 1:
                data = data.removeprefix(MARK)
            if b"\0" in data:
                before = _with_newlines(data[: data.index(b"\0")]).decode("latin-1")
                here = first + before.count("\n")
                raise malformed(path, here, "it holds a null character", before[before.rfind("\n") + 1 :])
            if layout is None:
                layout, lines = layout_of(path, _with_newlines(data), first, choose, missing)
                if layout is None:  # only comments so far
                    continue
                data, first = _without_lines(data, lines), first + lines
            yield Block(data, layout, first, missing, nan_if_empty)
            if progress is not None:
                progress(position(), total)


def line_of_row(path: FilePath, row: int) -> int:
    """Return the number, from 1, of the line that holds a row, whose number is counted from 0."""
    for block in read_blocks(path, lambda names, width: ((), None)):
        for number, line in enumerate(io.StringIO(block.text), block.line):
            row -= is_row(line)
            if row < 0:
                return number
    raise wrong_file(path, "was changed while it was read")


# Lines ----------------------------------------------------------------------------------------------------------------


def _pieces(file: BinaryIO | gzip.GzipFile, path: FilePath) -> Iterator[bytes]:
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


def _whole_lines(file: BinaryIO | gzip.GzipFile) -> bytes:
    """Return the next block of a file, to the end of its last line."""
    if isinstance(file, gzip.GzipFile):
        return file.read(BLOCK_BYTES) + file.readline()
    start = file.tell()  # the end is found first, so that one read without a copy suffices
    file.seek(start + BLOCK_BYTES)
    size = BLOCK_BYTES + len(file.readline())
    file.seek(start)
    return file.read(size)


def _check_text(data: bytes, path: FilePath) -> None:
    """Raise `InvalidInput` if a file does not begin as text."""
    for start, what in NOT_TEXT:
        if data.startswith(start):
            raise wrong_file(path, f"cannot be read: {what}")
    if b"\0" in data[:4096]:
        raise wrong_file(path, "is not text in UTF-8 or a code page")


def _line_ends(data: bytes) -> int:
    ends = int(np.count_nonzero(np.frombuffer(data, np.uint8) == NEWLINE))
    return ends + data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else ends


def _with_newlines(data: bytes) -> bytes:
    """Return bytes in which each line end is a newline."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _without_lines(data: bytes, count: int) -> bytes:
    """Return the lines after the first `count`."""
    end = 0
    for _ in range(count):
        found = LINE_END.search(data, end)
        end = len(data) if found is None else found.end()
    return data[end:]


def _split_rows(text: str, delimiter: str | None, width: int) -> list[str] | None:
    """Return the fields of all lines, one after the other; None if a line has another number of them."""
    around = delimiter or " "
    fields = text.replace("\n", f"{around}\0{around}").split(delimiter)
    rows, places = (len(fields) + 1) // (width + 1), slice(width, None, width + 1)
    ends = ["\0"] * (rows - 1)
    if fields[places] != ends or fields.count("\0") != len(ends) or len(fields) != rows * (width + 1) - 1:
        return None
    del fields[places]
    return fields


def has_plain_quotes(data: bytes, delimiter: str | None) -> bool:
    """Return whether all quotes in whole lines hold whole fields, with no blanks at their ends and no line ends within.

    PyArrow, the csv module and the rules then agree on the fields. "" within quotes counts as the end of one field and
    the begin of the next.
    """
    if b'"' not in data:
        return True
    if delimiter is None:
        return False
    codes = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    marks = np.flatnonzero((codes == QUOTE) | (codes == NEWLINE))
    is_quote = codes[marks] == QUOTE
    # whether a quote is open after a byte; np.logical_xor.accumulate is wrong in NumPy 1.24
    inside = np.cumsum(is_quote) % 2 == 1
    if inside[~is_quote].any():
        return False
    quotes = marks[is_quote]
    opening, closing = quotes[0::2], quotes[1::2]
    is_edge, is_blank = np.zeros((2, 256), bool)
    is_edge[[QUOTE, NEWLINE, ord(delimiter)]] = True
    is_blank[[ord(" "), ord("\t")]] = True
    if not (is_edge[codes[opening - 1]].all() and is_edge[codes[closing + 1]].all()):
        return False
    return not (is_blank[codes[opening + 1]].any() or is_blank[codes[closing - 1]].any())


def _single_blank(data: bytes, width: int) -> str | None:
    """Return the delimiter of rows whose fields are separated by one blank each; None if there are other blanks."""
    if width == 1:
        return "\t" if b"\t" not in data and b" " not in data else None
    blank, other = (b" ", b"\t") if b" " in data else (b"\t", b" ")
    odd = (other, blank + blank, blank + b"\n", b"\n" + blank)
    if data.startswith(blank) or data.endswith(blank) or any(piece in data for piece in odd):
        return None
    return blank.decode()
