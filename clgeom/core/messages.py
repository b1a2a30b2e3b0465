"""Text from files and command lines, in a form for one line of a message."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Where a compiler found an error: "error: FILE:3:7: ", "<kernel>:3:7: error: ", "error: FILE:3:7 <..>: ".
PLACE = re.compile(r"^(?:error:\s*)?\S*?:\d+:\d+(?:\s*<Spelling=[^>]*>)?:\s*(?:error:\s*)?")
#: Most names that a message lists.
LISTED = 12


def printable(text: str) -> str:
    """Return the text on one line: line ends, control characters and what cannot be encoded become escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(text: str, most: int = 60) -> str:
    """Return the text on one line, cut after `most` characters."""
    text = printable(text[: most + 1])
    return text if len(text) <= most else text[: most - 3] + "..."


def first_error(log: str) -> str:
    """Return the first error in a compiler's log, without its line and column, on one line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()] or ["nothing"]
    said = next((line for line in lines if "error" in line.lower() and "error generated" not in line), lines[0])
    return shown(PLACE.sub("", said), 300)


def counted(number: int, one: str, more: str) -> str:
    """Return a number and what it counts: "1 vertex", "1,000 vertices"."""
    return f"{number:,} {one if number == 1 else more}"


def listed(names: Sequence[str]) -> str:
    """Return the names after commas, the first few of many."""
    if not names:
        return "none"
    more = f", ... ({len(names):,} in all)" if len(names) > LISTED else ""
    return ", ".join(map(shown, names[:LISTED])) + more


def swapped_words(y: float, turn: float = 360.0) -> str:
    """Ask whether coordinates are swapped, for a y that is no latitude and may be a longitude; else return ""."""
    return " (are longitude and latitude swapped?)" if turn / 4 < abs(y) <= turn / 2 else ""
