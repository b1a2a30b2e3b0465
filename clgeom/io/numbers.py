"""Numbers in text: recognise numbers and text meant as numbers, and convert columns to arrays.

A number is text that Python's ``float`` takes, in ASCII and without underscores. A decimal is read as the nearest
float64. These are errors, because the nearest float64 is another number for the user:

- a whole number that the type of the array does not hold (9007199254740993 among floats);
- a decimal for a whole number beyond 2**53 whose nearest float64 differs in the digits that are written
  (9007199254740993.0; not 1e23, for which one digit is right);
- a number beyond the largest float64 (1e400), which is not infinity; ``inf`` is;
- a number that is not 0, and nearer to 0 than any float64 (1e-400).
"""

from __future__ import annotations

import contextlib
import math
import re
from decimal import Decimal

import numpy as np

#: A number in digits (group 1), or a word. No hexadecimal digits, no underscores, ASCII only.
NUMBER = re.compile(r"(?:([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)|[+-]?(?:nan|inf|infinity))\Z", re.I)
WHOLE = re.compile(r"[+-]?[0-9]+")
#: Text that is meant as a number but is not one: "1,5", "1 000", "1'000", "0x1F", "12°30'N", "$5", "(5)", digits of
#: other scripts, a minus that is not ASCII.
ALMOST_NUMBER = re.compile(
    r"[^\w.,]*(?:0x.*|[.,]?\d[\d\s.,:'’_°′″%+‐-―−-]*(?:[ed][+−-]?\d+)?\s*[nsewo]?)[)\]$£¥€]?\Z", re.I
)
#: Text that stands for a missing or an undefined number, among it all words that pandas reads so.
MISSING = re.compile(
    r"""[<('"‘“]?(?:
        [-–—−.,:;?*~_/\\]* | \#?n/?a(?:\ n/a)? | \#\S*[!?] | n\.?a\.? | n[./]?d\.? | nil | nul+ | none | nat | missing
        | undef(?:ined)? | [+-]?[qs]?nan[0-9]*(?:\(\w*\))? | [+-]?1\.\#\w+ | [+-]?inf(?:inity)? | \\n
    )[>)'"’”]?\Z""",
    re.I | re.X,
)
LOGICAL = re.compile(r"[<('\"‘“]?(?:true|false)[>)'\"’”]?\Z", re.I)
#: Text that begins like a number, in any script: a line of such fields is not a header.
BEGINS_LIKE_A_NUMBER = re.compile(r"\W*[\d²³¹¼-¾⁰-₉⅐-↉∞]")
#: Blanks of ASCII, besides space and tab, that Python's ``float`` and ``str.split`` skip.
OTHER_BLANKS = "\x0b\x0c\x1c\x1d\x1e\x1f"
#: First characters of a field that decide whether it was meant as a number.
LOOKED_AT = 100
#: Every integer up to here is a float64.
EXACT = 2**53
#: Largest number of digits of a float64 before the point.
MOST_DIGITS = 309
#: Numbers of 16 digits or more that may be beyond 2**53.
LONG = re.compile(rb"(?<![0-9.])(?=[0-9.]{16})(?:[0-9]{16}|[0-9.]+[eE]\+?[0-9])[0-9.]*(?:[eE][+-]?)?[0-9]*")
#: Parts of each number that is beyond the largest float64, and of each that is nearer to 0 than any float64.
BEYOND = (re.compile(rb"[eE]\+?0*[1-9][0-9]{2}"), re.compile(rb"(?<![0-9])[0-9]{200}"))
TINY = (re.compile(rb"e-0*[1-9][0-9]{2}"), re.compile(rb"E-0*[1-9][0-9]{2}"))
MANY_ZEROS = b"0" * 200


def is_number(field: str) -> bool:
    return NUMBER.match(field.strip(" \t")) is not None


def is_almost_number(field: str) -> bool:
    """Return whether a field that is not a number was meant as one."""
    return ALMOST_NUMBER.match(field[:LOOKED_AT]) is not None


def is_missing(field: str) -> bool:
    """Return whether a field that is not a number says that there is none."""
    return MISSING.match(field.strip()[:LOOKED_AT]) is not None


def is_no_name(field: str) -> bool:
    """Return whether a field that is not a number is a value, and not the name of a column of numbers."""
    return is_missing(field) or LOGICAL.match(field.strip()[:LOOKED_AT]) is not None


def as_float(field: str) -> float:
    """Return a field as a float; ValueError if it is not a number, or one that float64 does not hold."""
    field = field.strip(" \t")
    found = NUMBER.match(field)
    if found is None:
        raise ValueError("is not a number")
    value = float(field)
    lost = "" if found[1] is None else what_is_lost(field, value)
    if lost:
        raise ValueError(lost)
    return value


class BadField(ValueError):
    """A field that `as_float` refuses, by its position in a list, and why."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position, self.reason = position, reason


def as_floats(fields: list[str], *, nan_if_missing: bool = False) -> np.ndarray:
    """Return fields as float64; `BadField` has the position of the first one that `as_float` refuses."""
    text = "\n".join(fields)
    if _is_plain(text):
        with contextlib.suppress(ValueError):
            values = np.fromiter(map(float, fields), np.float64, len(fields))
            if not may_lose(text.encode(), values):
                return values
    values = np.empty(len(fields))
    for position, field in enumerate(fields):
        try:
            values[position] = as_float(field)
        except ValueError as error:
            if not (nan_if_missing and is_missing(field)):
                raise BadField(position, str(error)) from None
            values[position] = math.nan
    return values


def _is_plain(text: str) -> bool:
    """Return whether Python's ``float`` and ``int`` take nothing in a text that is no number here."""
    return text.isascii() and "_" not in text and not any(blank in text for blank in OTHER_BLANKS)


def what_is_lost(text: str, value: float) -> str:
    """Return why a number in digits must not become its nearest float64; "" for one that may."""
    if abs(value) >= EXACT:
        if math.isinf(value) and not WHOLE.fullmatch(text):
            return "is beyond the largest float64 (1.8e308); infinity is written inf"
        return "is beyond the integers that float64 holds (2**53)" if _is_rounded(text, value) else ""
    if repr(value) in ("0.0", "-0.0") and any(digit in "123456789" for digit in text.lower().partition("e")[0]):
        return "is nearer to 0 than any float64 (5e-324)"
    return ""


def _is_rounded(text: str, value: float) -> bool:
    """Return whether a number is a whole one, and its nearest float64 differs from it in the digits that are written.

    1e23 is as near to its float64 as its single digit says, as is whatever a program wrote of a float64.
    """
    if WHOLE.fullmatch(text):
        return value != as_int(text)
    if repr(value) == text:  # most files are written so
        return False
    exact = Decimal(text)
    _, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)  # as of all finite numbers
    if exponent <= 0:
        has_fraction = exponent < 0 and any(digits[exponent:])
        return not has_fraction and Decimal(value) != exact
    return 2 * abs(int(exact) - int(value)) > 10**exponent and Decimal(repr(value)) != exact


def may_lose(data: bytes, values: np.ndarray) -> bool:
    """Return whether a text has numbers that `as_float` refuses; `values` are what a parser read of it."""
    if not (-EXACT < values.min(initial=0) and values.max(initial=0) < EXACT):
        if np.isinf(values).any() and any(pattern.search(data) for pattern in BEYOND):
            return True
        if (np.abs(values) >= EXACT).any() and any(map(_is_lost, LONG.finditer(data))):
            return True
    return bool((values == 0).any()) and (MANY_ZEROS in data or any(pattern.search(data) for pattern in TINY))


def _is_lost(found: re.Match[bytes]) -> bool:
    try:
        as_float(found[0].decode("latin-1"))
    except ValueError:  # or text that is not a number, such as a date
        return True
    return False


def as_int(text: str) -> int:
    """Return a whole number as an int; one longer than all floats becomes a power of two beyond them."""
    if len(text) <= MOST_DIGITS:
        return int(text)
    digits = text.lstrip("+-0")
    return (-1 if text[0] == "-" else 1) * (int(digits or 0) if len(digits) <= MOST_DIGITS else 1 << 1024)


def as_integers(fields: list[str]) -> np.ndarray | None:
    """Return fields as int64, uint64, or objects beyond both; None if one is not a whole number."""
    if _is_plain("\n".join(fields)):
        with contextlib.suppress(ValueError, OverflowError):
            return np.fromiter(map(int, fields), np.int64, len(fields))
    if not all(map(WHOLE.fullmatch, fields)):
        return None
    integers = list(map(as_int, fields))
    fits = 0 <= min(integers) and max(integers) < 1 << 64
    return np.array(integers, np.uint64 if fits else object)
