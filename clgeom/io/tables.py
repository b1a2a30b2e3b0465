"""Tables as text: the reader of all commands, for fields separated by comma, tab, semicolon or blanks.

The rules are the same for all kinds of tables:

- Lines end with a newline, a carriage return, or both. Blank lines and those that begin with ``#`` are ignored, but for
  the errors of spreadsheets (#N/A), which are fields.
- The first line determines the delimiter. Every row has as many fields as that line. Blanks are spaces and tabs; blanks
  around a field are ignored. A quoted field ends in its line.
- The first line is a header if none of its fields is a number. A malformed row of numbers must not be taken for a
  header: a requested field must not be almost a number ("1,5"), and not all fields may begin like a number. It must not
  stand for a missing number ("NA", "null", "-", nothing), unless its column is requested by that name.
- Digits alone in the first line, before rows of several numbers with blanks between them, are the number of
  rows, for readers of points.
- Bytes are ASCII, or UTF-8 or a code page in names.

A file is read in blocks of whole lines. PyArrow parses a large block if it is installed and follows the rules for that
block, and NumPy one of numbers alone. Any other is split into fields, all at once or line by line, and the numbers are
read by Python's ``float``. All return the same numbers.
"""

from __future__ import annotations

import functools
import io
import itertools
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.io.files import FilePath, Progress, opened, reading
from clgeom.io.layout import Choice, Layout, announced_rows, decoded, is_row, layout_of, malformed, split, wrong_number
from clgeom.io.numbers import OTHER_BLANKS, WHOLE, BadField, as_floats, as_integers, may_lose
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
QUOTE, NEWLINE, SPACE, TAB = map(ord, '"\n \t')
BLANK_LINE = re.compile(r"\n[ \t]*(?=\n|\Z)")
#: What a command does with the layout of a table, such as to tell the user of its header.
Told: TypeAlias = Callable[[Layout], object]


@dataclass(frozen=True)
class Block:
    """Whole lines of a table.

    `line` is the number of the first one, from 1. `missing` says what an empty field should have been, for messages.
    With `nan_if_empty`, empty fields and words for a missing number are NaN.
    """

    raw: bytes  #: each line ends with a newline, except the last one of the file
    layout: Layout
    line: int
    missing: str = "a number"
    nan_if_empty: bool = False

    def floats(self) -> np.ndarray:
        """Return the columns of numbers as float64, shape (n, len(layout.columns)).

        `InvalidInput` names the first malformed line.
        """
        for parsed in (self._arrow_floats, self._loaded_floats):
            values = parsed()
            if values is not None:
                return values
        columns, width = self.layout.columns, self.layout.width
        cells, are_all = self._cells
        if columns != tuple(range(width)):
            cells = list(itertools.chain.from_iterable(zip(*(cells[column::width] for column in columns))))
        try:
            values = as_floats(cells, nan_if_missing=self.nan_if_empty)
        except BadField as bad:
            number, line = next(itertools.islice(self.lines(), bad.position // len(columns), None))
            raise wrong_number(self.layout.path, number, cells[bad.position], self.missing, line) from None
        if not are_all:
            self._raise_malformed()
        return values.reshape(-1, len(columns))

    def integers(self) -> np.ndarray | None:
        """Return the first column of numbers as int64, uint64, or objects beyond both; None if one is not whole."""
        column = self.layout.columns[0]
        for _, _, fields in itertools.islice(self.rows(), 1):
            if not WHOLE.fullmatch(fields[column]):
                return None
        if b"0x" not in self.raw and b"0X" not in self.raw:  # PyArrow takes hexadecimal integers
            for kind in ("int64", "uint64"):
                table = self._arrow_table({str(column): kind})
                if table is not None:
                    integers: np.ndarray = table[str(column)].to_numpy()
                    return integers
        return as_integers(self.texts(column))

    def numbered_texts(self) -> tuple[np.ndarray, list[str]]:
        """Return for each row the number of its text in the column of texts, and the texts, which may repeat."""
        column = self.layout.text
        assert column is not None
        if self._arrow is None:
            texts = self.texts(column)
            return np.arange(len(texts)), texts
        found = self._arrow[str(column)].unify_dictionaries()
        if not found.num_chunks:
            return np.empty(0, np.int64), []
        texts = [decoded(text.decode("latin-1").strip(" \t")) for text in found.chunk(0).dictionary.to_pylist()]
        return np.concatenate([chunk.indices.to_numpy() for chunk in found.chunks]), texts

    def texts(self, column: int) -> list[str]:
        """Return the fields of one column."""
        cells, are_all = self._cells
        if not are_all:
            self._raise_malformed()
        fields = cells[column :: self.layout.width]
        return fields if self.raw.isascii() else list(map(decoded, fields))

    def rows(self) -> Iterator[tuple[int, str, list[str]]]:
        """Yield (line number, line, fields) of each row; `InvalidInput` names the first malformed line."""
        layout = self.layout
        for number, line in self.lines():
            try:
                fields = split(line, layout.delimiter)
            except ValueError as error:
                raise malformed(layout.path, number, error, line) from None
            if len(fields) != layout.width:
                expected = "1 field is" if layout.width == 1 else f"{layout.width} fields are"
                raise malformed(layout.path, number, f"{expected} expected, it has {len(fields)}", line)
            yield number, line, fields

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number, line) of each row, one character for each byte."""
        for number, data in enumerate(io.BytesIO(self.raw), self.line):
            line = data.decode("latin-1").rstrip("\n")
            if is_row(line):
                yield number, line

    @functools.cached_property
    def _cells(self) -> tuple[list[str], bool]:
        """The fields of the rows before the first malformed line, and whether those are all."""
        cells = _split_at_once(self._rows_only(), self.layout)
        if cells is not None:
            return cells, True
        cells = []
        try:
            for _, _, fields in self.rows():
                cells += fields
        except InvalidInput:  # kept here, it would keep the open file
            return cells, False
        return cells, True

    def _raise_malformed(self) -> None:
        """Raise the error for the first malformed line."""
        for _ in self.rows():
            pass

    def _rows_only(self) -> str:
        """Return the lines that are rows."""
        text = self.raw.decode("latin-1").removesuffix("\n")
        if "#" in text or BLANK_LINE.search("\n" + text):
            return "\n".join(line for _, line in self.lines())
        return text

    # By other parsers, which are faster ---------------------------------------------------------------------------

    def _loaded_floats(self) -> np.ndarray | None:
        """Return the numbers of a table without other columns, by NumPy's parser; None where the rules may differ."""
        text, layout = self._rows_only(), self.layout
        if (
            not text
            or layout.width != len(layout.columns)
            or not text.isascii()
            or any(c in text for c in ('"', *OTHER_BLANKS))
        ):
            return None
        try:
            values = np.loadtxt(io.StringIO(text), delimiter=layout.delimiter, comments=None, ndmin=2)
        except ValueError:
            return None
        return None if values.shape[1] != layout.width or may_lose(self.raw, values) else values[:, layout.columns]

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

        layout = self.layout
        data = self._rows_only().encode("latin-1") if b"#" in self.raw else self.raw
        delimiter = _single_blank(data, layout.width) if layout.delimiter is None else layout.delimiter
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


@keeps_subnormals
def read_blocks(
    path: FilePath,
    choose: Choice,
    *,
    missing: str = "a number",
    nan_if_empty: bool = False,
    counted: bool = False,
    progress: Progress | None = None,
    told: Told | None = None,
) -> Iterator[Block]:
    """Yield the blocks of a table; none for a file without header and rows. Parameters are those of `Block`.

    With `counted` the first line may be the number of rows. `progress` is called as progress(bytes_read, bytes_in_all)
    after each block, `told` once with the layout.
    """
    with reading(path), opened(path) as (file, total, position):
        layout, following, rows = None, 1, 0
        for data in _pieces(file, path):
            if b"\r" in data:
                data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            if following == 1:
                data = data.removeprefix(MARK)
            line, following = following, following + _line_count(data)
            if b"\0" in data:
                before, _, _ = data.partition(b"\0")
                here = line + _line_count(before)
                raise malformed(path, here, "it holds a null character", before.rpartition(b"\n")[2].decode("latin-1"))
            if layout is None:
                rest = io.BytesIO(data)
                first, count = _next_row(rest), None
                if not first:  # only comments so far
                    continue
                after = rest.tell()
                second = _next_row(rest) if counted else b""
                if second:
                    count = announced_rows(path, _decoded(first), _decoded(second))
                if count is None:
                    rest.seek(after)
                else:
                    first = second
                line += _line_count(data[: rest.tell() - len(first)])
                layout = replace(layout_of(path, _decoded(first), line, choose, missing), count=count)
                if told is not None:
                    told(layout)
                if layout.names is None:
                    rest.seek(-len(first), io.SEEK_CUR)
                else:
                    line += 1
                data = rest.read()
            block = Block(data, layout, line, missing, nan_if_empty)
            yield block
            if layout.count is not None:
                rows += sum(1 for _ in block.lines())
            if progress is not None:
                progress(position(), total)
        if layout is not None and layout.count not in (None, rows):
            raise wrong_file(path, f"must have {layout.count:,} rows, as its first line says. Got {rows:,} instead")


def line_of_row(path: FilePath, row: int) -> int:
    """Return the number, from 1, of the line that holds a row, whose number is counted from 0."""
    for block in read_blocks(path, lambda names, width: ((), None), counted=True):
        for number, _ in block.lines():
            row -= 1
            if row < 0:
                return number
    raise wrong_file(path, "was changed while it was read")


# Lines ----------------------------------------------------------------------------------------------------------------


def _pieces(file: BinaryIO, path: FilePath) -> Iterator[bytes]:
    """Yield the file in pieces of whole lines."""
    data = _whole_lines(file)
    for start, what in NOT_TEXT:
        if data.startswith(start):
            raise wrong_file(path, f"cannot be read: {what}")
    if b"\0" in data[:4096]:
        raise wrong_file(path, "is not text in UTF-8 or a code page")
    if len(data) < BLOCK_BYTES:
        if data:
            yield data
        return
    reader = ThreadPoolExecutor(1)
    try:
        while data:
            following = reader.submit(_whole_lines, file)  # the next piece is read while one is parsed
            yield data
            data = following.result()
    finally:  # the garbage collector may close a generator in any thread, which must not wait for others
        reader.shutdown(wait=False)


def _whole_lines(file: BinaryIO) -> bytes:
    """Return the next block of a file, to the end of its last line."""
    return file.read(BLOCK_BYTES) + file.readline()


def _next_row(lines: BinaryIO) -> bytes:
    """Return the next line that is data; nothing after the last one."""
    return next((line for line in iter(lines.readline, b"") if is_row(line.decode("latin-1"))), b"")


def _decoded(line: bytes) -> str:
    return line.decode("latin-1").rstrip("\n")


def _line_count(data: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == NEWLINE))


def _split_at_once(text: str, layout: Layout) -> list[str] | None:
    """Return the fields of all lines, one after the other; None for lines that must be split one by one."""
    delimiter, width = layout.delimiter, layout.width
    if '"' in text or (delimiter is None and not (text.isascii() and not any(blank in text for blank in OTHER_BLANKS))):
        return None
    if not text:
        return []
    codes = np.frombuffer(f"{text}\n".encode("latin-1"), np.uint8)
    is_newline = codes == NEWLINE
    if delimiter is None:
        is_blank = is_newline | (codes == SPACE) | (codes == TAB)
        is_mark = ~is_blank
        is_mark[:-1] &= is_blank[1:]  # the last byte of each field
        row = [False] * width + [True]
    else:
        is_mark = codes == ord(delimiter)
        row = [False] * (width - 1) + [True]
    marks = is_newline[is_newline | is_mark]
    if len(marks) % len(row) or (marks.reshape(-1, len(row)) != row).any():
        return None
    fields = text.replace("\n", delimiter or " ").split(delimiter)
    if delimiter is not None and (" " in text or "\t" in text):
        return [field.strip(" \t") for field in fields]
    return fields


def has_plain_quotes(data: bytes, delimiter: str | None) -> bool:
    """Return whether all quotes in whole lines hold whole fields, with no blanks at their ends and no line ends within.

    PyArrow and the rules then agree on the fields. "" within quotes counts as the end of one field and the begin of the
    next.
    """
    if b'"' not in data:
        return True
    if delimiter is None:
        return False
    codes = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    quotes, newlines = np.flatnonzero(codes == QUOTE), np.flatnonzero(codes == NEWLINE)
    opening, closing = quotes[0::2], quotes[1::2]
    if len(opening) > len(closing) or (newlines.searchsorted(opening) != newlines.searchsorted(closing)).any():
        return False
    edges, blanks = np.array([[QUOTE, NEWLINE, ord(delimiter)], [SPACE, TAB, TAB]], np.uint8)
    outside, inside = np.append(opening - 1, closing + 1), np.append(opening + 1, closing - 1)
    return bool(np.isin(codes[outside], edges).all() and not np.isin(codes[inside], blanks).any())


def _single_blank(data: bytes, width: int) -> str | None:
    """Return the delimiter of rows whose fields are separated by one blank each; None if there are other blanks."""
    if width == 1:
        return "\t" if b"\t" not in data and b" " not in data else None
    blank, other = (b" ", b"\t") if b" " in data else (b"\t", b" ")
    odd = (other, blank + blank, blank + b"\n", b"\n" + blank)
    if data.startswith(blank) or data.endswith(blank) or any(piece in data for piece in odd):
        return None
    return blank.decode()
