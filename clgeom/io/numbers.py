"""Numbers in text: recognise numbers and text meant as numbers, and convert columns to arrays.

A number is text that Python's ``float`` takes, in ASCII and without underscores. A whole number is never rounded
silently: if the type of an array does not hold it, that is an error.
"""

from __future__ import annotations

import re
import warnings

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.runtime.messages import shown

#: A number: an integer (group 1), or another. No hexadecimal digits, no underscores, ASCII only.
NUMBER = re.compile(
    r"(?:([+-]?[0-9]+)|[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity))\Z", re.I
)
WHOLE = re.compile(r"[+-]?[0-9]+")
#: Text that is meant as a number but is not one: "1,5", "1 000", "1'000", "0x1F", "12°30'N", "$5", "(5)", digits of
#: other scripts, a minus that is not ASCII.
ALMOST_NUMBER = re.compile(
    r"[^\w.,]*(?:0x.*|[.,]?\d[\d\s.,:'’_°′″%+‐-―−-]*(?:[ed][+−-]?\d+)?\s*[nsewo]?)[)\]$£¥€]?\Z", re.I
)
#: Text that begins like a number, in any script: a line of such fields is not a header.
BEGINS_LIKE_A_NUMBER = re.compile(r"\W*[\d²³¹¼-¾⁰-₉⅐-↉∞]")
#: Blanks of ASCII, besides space and tab, that NumPy's parser would skip.
OTHER_BLANKS = "\x0b\x0c\x1c\x1d\x1e\x1f"
#: First characters of a field that decide whether it was meant as a number.
LOOKED_AT = 100
#: Every integer up to here is a float64.
EXACT = 2**53
#: Largest number of digits of a float64 before the point.
MOST_DIGITS = 309


def is_number(field: str) -> bool:
    return NUMBER.match(field.strip(" \t")) is not None


def is_almost_number(field: str) -> bool:
    """Return whether a field that is not a number was meant as one."""
    return ALMOST_NUMBER.match(field[:LOOKED_AT]) is not None


def as_float(field: str) -> float:
    """Return a field as a float; ValueError if it is not a number, or an integer that float64 does not hold."""
    field = field.strip(" \t")
    found = NUMBER.match(field)
    if found is None:
        raise ValueError("is not a number")
    value = float(field)
    if found[1] is not None and abs(value) >= EXACT and _is_rounded(field):
        raise ValueError("is beyond the integers that float64 holds (2**53)")
    return value


def as_int_or_float(field: str) -> int | float:
    """Return a field as an int if it is written as one, else as a float; ValueError if it is not a number."""
    field = field.strip(" \t")
    if WHOLE.fullmatch(field):
        if len(field.lstrip("+-0")) > MOST_DIGITS:
            raise ValueError("has more digits than any float64")
        return as_int(field)
    return as_float(field)


def as_int(text: str) -> int:
    """Return a whole number as an int; one longer than all floats becomes a power of two beyond them."""
    digits = text.lstrip("+-0")
    return (-1 if text[0] == "-" else 1) * (int(digits or 0) if len(digits) <= MOST_DIGITS else 1 << 1024)


def _is_rounded(text: str) -> bool:
    """Return whether float64 would round this whole number."""
    value = as_int(text)
    try:
        return int(float(value)) != value
    except OverflowError:
        return True


# A column -------------------------------------------------------------------------------------------------------------


def narrowest(path, texts, line_of) -> np.ndarray:
    """Return the fields of a column as an array: int64 or uint64 if all are whole numbers, else float64.

    Parameters
    ----------
    path : path-like
        For error messages.
    texts : list of str
        Without blanks around them.
    line_of : callable
        The line of the file that holds a row, given its number from 0; called for error messages.

    Raises
    ------
    InvalidInput
        A field is no number, or a whole number that no type holds together with the others.
    """
    if not texts:
        return np.empty(0)
    whole = "\n".join(texts)
    plain = whole.isascii() and not any(blank in whole for blank in OTHER_BLANKS)
    for dtype in (np.int64, np.uint64, np.float64) if plain else ():
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy only warns of fractions among whole numbers
            try:
                # with a delimiter that is in no field, blanks do not split one
                values = np.loadtxt(texts, dtype, delimiter="\0", comments=None, ndmin=1)
            except (ValueError, OverflowError, DeprecationWarning, UserWarning):
                continue
        if values.shape == (len(texts),):  # NumPy leaves out empty fields
            return _kept_whole(path, texts, line_of, values) if dtype == np.float64 else values
    row = next((row for row, text in enumerate(texts) if not is_number(text)), 0)
    what = f"'{shown(texts[row])}' is not a number" if texts[row] else "a number is missing"
    raise InvalidInput(f"The file '{path}' is malformed in line {line_of(row)}: {what}.")


def _kept_whole(path, texts, line_of, floats) -> np.ndarray:
    """Return numbers read as float64, or as integers if float64 would round one; refuse a mix with such a number."""
    if not (np.abs(floats) >= EXACT).any():
        return floats
    other = next((row for row, text in enumerate(texts) if not WHOLE.fullmatch(text)), None)
    if other is None:
        return _integers(path, texts, line_of)
    for row in np.flatnonzero(np.abs(floats) >= EXACT).tolist():
        if WHOLE.fullmatch(texts[row]) and _is_rounded(texts[row]):
            raise InvalidInput(
                f"The file '{path}' has a whole number in line {line_of(row)} that float64 would round, and "
                f"'{shown(texts[other])}' in line {line_of(other)}, which no type of whole numbers holds."
            )
    return floats


def _integers(path, texts, line_of) -> np.ndarray:
    """Return whole numbers as int64 or uint64 that NumPy's parser refused, as it does uint64 with a -0."""
    found = [(as_int(text), row) for row, text in enumerate(texts)]
    (low, low_row), (high, high_row) = min(found), max(found)
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return np.array([value for value, _ in found], dtype)
    beyond = low_row if low < -(1 << 63) else high_row if high >= 1 << 64 else None
    if beyond is not None:
        raise InvalidInput(f"The file '{path}' has a whole number beyond 64 bits in line {line_of(beyond)}.")
    raise InvalidInput(
        f"The file '{path}' has whole numbers of which no type holds all: {low} in line {line_of(low_row)} needs "
        f"int64, {high} in line {line_of(high_row)} needs uint64."
    )
