"""A table of text read one character at a time: the points of its first two columns, or of those known by name."""

from fractions import Fraction

from clgeom.io.numbers import BEGINS_LIKE_A_NUMBER, is_almost_number, is_missing

DIGITS = set("0123456789")
NAMES = [(x, y) for y in ("lat", "latitude") for x in ("lon", "lng", "long", "longitude")]
NAMES += [("x", "y"), ("easting", "northing"), ("east", "north"), ("e", "n")]


def points(data: bytes, *, tabs=False) -> list[tuple[float, float]] | None:
    """The points of a file with these bytes; None for a file that must be refused."""
    table = rows(data, tabs=tabs)
    if not table:
        return table
    head, width = table[0], len(table[0])
    columns = (0, 1)
    if not any(is_number(field) for field in head):
        lower = [name(field).strip().lower() for field in head]
        for pair in NAMES:
            if all(lower.count(one) == 1 for one in pair):
                columns = lower.index(pair[0]), lower.index(pair[1])
                break
        else:
            if width != 2 or any(is_missing(name(field)) for field in head):
                return None
        chosen = [name(head[column]).strip() for column in columns]
        if chosen == ["", ""] or any(map(is_almost_number, chosen)):
            return None
        if all(BEGINS_LIKE_A_NUMBER.match(name(field).strip()) for field in head):
            return None
        table = table[1:]
    if width < 2 or any(len(row) != width for row in table):
        return None
    found = [tuple(number(row[column]) for column in columns) for row in table]
    return None if any(None in point for point in found) else found


def rows(data: bytes, *, tabs=False) -> list[list[str]] | None:
    """The fields of each line that is not blank nor a comment; None for a file that must be refused."""
    if data[:2] in (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff") or data[:4] == b"PK\3\4" or b"\0" in data:
        return None
    data = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = [line for line in data.decode("latin-1").split("\n") if is_row(line.strip(" \t"))]
    delimiter = separator(lines[0], tabs) if lines else None
    table = [fields(line, delimiter) for line in lines]
    return None if None in table else table


def is_row(line):
    """Whether a line is neither blank nor a comment; an error of a spreadsheet is none."""
    first = line.replace(",", "\t").replace(";", "\t").split("\t")[0].strip(" ")
    errors = ("#N/A", "#NA", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NULL!", "#NAME?")
    return line[:1] not in ("", "#") or first in errors


def separator(line, tabs):
    """The first of the delimiters that is in a line outside of quotes; None for blanks."""
    outside, quoted, last = [], False, line.rfind('"')
    for place, c in enumerate(line):
        if c == '"' and (quoted or place < last):  # one without a partner quotes nothing
            quoted = not quoted
        elif not quoted:
            outside.append(c)
    outside = "".join(outside).strip(" \t")
    return next((mark for mark in ("\t,;" if tabs else ",;\t") if mark in outside), None)


def fields(line, delimiter):
    """The fields of a line; None when a quote is not closed, or something follows it."""
    blanks = " " if delimiter == "\t" else " \t"
    ends = " \t" if delimiter is None else delimiter
    found, place, more = [], 0, True
    if delimiter is None:
        line = line.strip(" \t")
    while more:
        while place < len(line) and line[place] in blanks:
            place += 1
        text = ""
        if line[place : place + 1] == '"':
            place += 1
            while line[place : place + 1] != '"' or line[place : place + 2] == '""':
                if place >= len(line):
                    return None
                text += line[place]
                place += 2 if line[place] == '"' else 1
            place += 1
            while delimiter is not None and place < len(line) and line[place] in blanks:
                place += 1
            if place < len(line) and line[place] not in ends:
                return None
        else:
            while place < len(line) and line[place] not in ends:
                text += line[place]
                place += 1
            text = text.strip(" \t")
        found.append(text)
        more = place < len(line)
        place += 1
    return found


def name(field):
    try:
        return field.encode("latin-1").decode()
    except UnicodeDecodeError:
        return field


def is_number(field):
    try:
        float(field.strip(" \t"))
    except ValueError:
        return False
    return set(field.strip(" \t").lower()) <= DIGITS | set("+-.enaifty")


def number(field):
    """What float() makes of a field; None for what is no number, or one that `lost` names."""
    field = field.strip(" \t")
    if not is_number(field):
        return None
    value = float(field)
    return None if lost(field, value) else value


def lost(field, value):
    """Whether float64 does not hold a number in digits, in rational arithmetic.

    It is beyond all floats, or not 0 and becomes 0; or a whole number beyond 2**53 that differs by more than half a
    unit of its last digit, if it has an exponent, or at all.
    """
    significand, _, exponent = field.lower().lstrip("+-").partition("e")
    if not set(significand) <= DIGITS | {"."}:
        return False  # nan, inf
    whole, _, part = significand.partition(".")
    digits, last = whole + part, int(exponent or 0) - len(part)
    if not digits.strip("0"):
        return False
    if abs(value) in (0, float("inf")):
        return True
    exact, unit = Fraction(digits) * Fraction(10) ** last, Fraction(10) ** max(last, 0)
    if exact < 2**53 or exact.denominator > 1 or exact == abs(Fraction(value)):
        return False
    if last > 0 and abs(exact - abs(Fraction(value))) <= unit / 2:
        return False
    mantissa, _, power = repr(abs(value)).partition("e")  # the shortest decimal is sometimes not the nearest
    shortest = Fraction(mantissa) * Fraction(10) ** int(power or 0)
    return last <= 0 or exact != shortest
