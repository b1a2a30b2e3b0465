"""Text of files and command lines, made fit for one line of a message."""

from __future__ import annotations

#: Names that a message lists at most.
LISTED = 12


def printable(text: str) -> str:
    """Text on one line: line ends, control characters and what cannot be encoded become escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(text: str, most: int = 60) -> str:
    """Text on one line, cut after `most` characters."""
    text = printable(text[: most + 1])
    return text if len(text) <= most else text[: most - 3] + "..."


def listed(names) -> str:
    """Names after commas, the first few of many."""
    more = f", ... ({len(names):,} in all)" if len(names) > LISTED else ""
    return ", ".join(map(shown, names[:LISTED])) + more
