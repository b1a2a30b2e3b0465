"""Layout of tables as text: fields of a line, and the header; `clgeom.io.tables` has the rules."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from clgeom.arguments import wrong_file
from clgeom.core.messages import listed, shown
from clgeom.errors import InvalidInput
from clgeom.io.columns import are_known
from clgeom.io.files import FilePath, suffix_of
from clgeom.io.numbers import (
    BEGINS_LIKE_A_NUMBER,
    WHOLE,
    as_float,
    as_int,
    is_almost_number,
    is_missing,
    is_no_name,
    is_number,
)

#: Endings of tables whose delimiter is a tab if the first line has one.
TABS = (".tsv", ".tab")
#: A line that begins with an error of a spreadsheet, which is no comment.
SPREADSHEET_ERROR = re.compile(r"#(?:N/A(?: N/A)?|NA|DIV/0!|VALUE!|REF!|NUM!|NULL!|NAME\?)[ \t]*(?:[,;\t\n]|\Z)")
#: A number with a decimal comma.
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
#: Chooses from the names of columns (None without a header) and their number: the positions of the columns that must
#: hold numbers, and that of a column of texts, or None.
Choice: TypeAlias = Callable[[Sequence[str] | None, int], tuple[Sequence[int], int | None]]


@dataclass(frozen=True)
class Layout:
    """How the rows of a file are written."""

    path: FilePath
    delimiter: str | None  #: None: any run of blanks
    width: int  #: fields of each row
    names: tuple[str, ...] | None  #: the header
    columns: tuple[int, ...]  #: positions of the columns that must hold numbers
    text: int | None = None  #: position of the column of texts
    header_line: int | None = None
    named: bool = False  #: columns were chosen by names of the header, or have known names of x and y
    count: int | None = None  #: number of rows, as a line before them says

    @property
    def notes(self) -> tuple[str, ...]:
        """What to tell the user about the first line: that it was taken for a header, or for the number of rows."""
        if self.count is not None:
            return (f"the first line of '{self.path}' is taken for the number of its rows",)
        if self.names is None or self.named:
            return ()
        return (f"line {self.header_line} of '{self.path}' is taken for the header: {listed(self.names)}",)


class MissingNumber(InvalidInput):
    """A field, or a null, stands where a number must be."""


class RoundedInteger(InvalidInput):
    """A whole number in a line that its float64 is not."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def is_row(line: str) -> bool:
    """Return whether a line is data: neither blank nor a comment."""
    line = line.lstrip(" \t\n")
    return line != "" and (line[0] != "#" or SPREADSHEET_ERROR.match(line) is not None)


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
def _field_pattern(delimiter: str | None) -> re.Pattern[str]:
    """Return the pattern of a field with its end: quoted (group 1) or plain (group 2)."""
    quoted = r'"([^"]*(?:""[^"]*)*)"'
    if delimiter is None:
        return re.compile(rf'(?:{quoted}|([^" \t][^ \t]*))(?:[ \t]+|\Z)')
    blanks = " *(?! )" if delimiter == "\t" else r"[ \t]*(?![ \t])"
    return re.compile(rf'{blanks}(?:{quoted}{blanks}|([^"{delimiter}][^{delimiter}]*|))(?:{delimiter}|\Z)')


def malformed(path: FilePath, number: int, what: object, line: str) -> InvalidInput:
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


def wrong_number(path: FilePath, number: int, field: str, missing: str, line: str) -> InvalidInput:
    """Return the error for a field that `as_float` refuses."""
    error = malformed(path, number, what_is_wrong(field, missing), line)
    if WHOLE.fullmatch(field):
        return RoundedInteger(str(error), number)
    return MissingNumber(str(error)) if is_missing(field) else error


def int_or_float(path: FilePath, number: int, field: str, line: str) -> int | float:
    """Return a field of a line as an int if it is written as one, else as a float."""
    text = field.strip(" \t")
    integer = as_int(text) if WHOLE.fullmatch(text) else None
    if integer is not None and abs(integer) <= sys.float_info.max:
        return integer
    try:
        return as_float(field)
    except ValueError:
        raise malformed(path, number, what_is_wrong(field, "a number"), line) from None


def decoded(field: str) -> str:
    """Return a field decoded from UTF-8, or as it is if it is in a code page."""
    try:
        return field if field.isascii() else field.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return field


def layout_of(path: FilePath, first: str, number: int, choose: Choice, missing: str) -> Layout:
    """Return the layout of a file from the first line that is not a comment, and the number of that line."""
    delimiter = _delimiter(path, first)
    try:
        fields = split(first, delimiter)
    except ValueError as error:
        raise malformed(path, number, error, first) from None
    width = len(fields)
    if any(map(is_number, fields)):
        columns, text = choose(None, width)
        return Layout(path, delimiter, width, None, tuple(columns), text)
    names = tuple(decoded(field).strip() for field in fields)
    by_position = _choice_by_position(choose, width)
    columns, text = choose(names, width)
    named = tuple(columns) != by_position or are_known([names[column] for column in columns[:2]])
    lost = _lost_number(names, columns, named)
    if lost is not None:
        what = what_is_wrong(fields[lost], missing)
        if is_no_name(names[lost]) and names[lost]:
            what += f"; as the name of a column it is requested by that name, not by {lost + 1}"
        raise malformed(path, number, what, first)
    return Layout(path, delimiter, width, names, tuple(columns), text, number, named)


def announced_rows(path: FilePath, first: str, second: str) -> int | None:
    """Return the number of rows that the first line of a file says; None if it is a row or a header itself.

    It is a number in digits, alone in its line, before a row of several numbers with blanks between them.
    """
    if _delimiter(path, second) is not None or '"' in second:
        return None
    digits, fields = first.strip(" \t"), split(second, None)
    return as_int(digits) if digits.isdecimal() and len(fields) > 1 and all(map(is_number, fields)) else None


def _choice_by_position(choose: Choice, width: int) -> tuple[int, ...] | None:
    """Return the columns of numbers that are chosen if no name is requested or known; None without a choice."""
    try:
        return tuple(choose(tuple(f"\0{position}" for position in range(width)), width)[0])
    except InvalidInput:
        return None


def _lost_number(names: Sequence[str], columns: Sequence[int], named: bool) -> int | None:
    """Return the position of a field that is a malformed number rather than a name of a header, None without one."""
    for column in columns:
        if is_almost_number(names[column]) or (is_no_name(names[column]) and not named):
            return column
    if columns and not any(names[column] for column in columns):
        return columns[0]
    if all(map(BEGINS_LIKE_A_NUMBER.match, names)):
        return columns[0] if columns else 0
    return None


def _delimiter(path: FilePath, line: str) -> str | None:
    """Return the delimiter of the first line; the ending of the file decides which one is looked for first."""
    line = re.sub('"[^"]*"', "", line).strip(" \t")
    for delimiter in ("\t", ",", ";") if suffix_of(path) in TABS else (",", ";", "\t"):
        if delimiter in line:
            return delimiter
    return None
