"""Letters and offsets of lists of text, with no work in Python for each item.

list ─> lengths ─> offsets
     ─> blocks that stay in the cache ─> joined ─> codes, in the narrowest type so far
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

#: Letters and items of a list that are joined at once: they stay in the cache. 3e5 strings of 150 letters, ms: all at
#: once 165, 512 55, 2,048 50, 8,192 50. 2e5 of 20 Greek letters: 2,048 7.2, 4,096 6.9, 16,384 6.3, 65,536 7.4.
BLOCK_LETTERS, BLOCK_ITEMS = 1 << 18, 1 << 14
#: Most letters of a list of short texts, and of such a text, that are joined at once. 4e5 of 20 Greek letters take 8
#: ms, in blocks, which write to each item, 12; 1e5 of 100 take 7.1 and 5.8, 1e6 of 20 50 and 34.
AT_ONCE, SHORT_TEXT = 1 << 23, 32


def letters_of_list(values: Sequence[Any], length: Callable[[Any], int] = len) -> tuple[np.ndarray, np.ndarray] | None:
    """Return letters and offsets of a list of str, or of bytes; None for a list of other things."""
    kind = bytes if values and isinstance(values[0], bytes) else str
    try:
        offsets = np.zeros(len(values) + 1, np.int64)
        struct.pack_into(f"{len(values)}q", offsets.data, 8, *map(length, values))  # np.fromiter takes a fifth more
        offsets.cumsum(out=offsets)
        letters, count = (_join_bytes if kind is bytes else _join_text)(values, int(offsets[-1]))
        if count == offsets[-1]:  # else views of wider items
            return letters, offsets
    except (TypeError, ValueError, BufferError, MemoryError):  # MemoryError: a device array that claims to be huge
        if length is not len:
            raise
    plain = length is len and all(isinstance(one, kind) for one in values)
    return letters_of_list(values, kind.__len__) if plain else None  # subclasses may have a length of their own


def parts_of(values: Any, step: int) -> Iterator[Any]:
    """Yield parts of so many elements of a list, an array or a text."""
    return (values[first : first + step] for first in range(0, len(values), step))


def _blocks(values: Sequence[Any], length: int) -> Iterator[Sequence[Any]]:
    """Yield the items of a list, so many letters together, in parts to join at once."""
    return parts_of(values, min(max(BLOCK_LETTERS * len(values) // max(length, 1), 1), BLOCK_ITEMS))


def _join_bytes(values: Sequence[bytes], length: int) -> tuple[np.ndarray, int]:
    """Return an array of this length with the bytes of a list one after another, and their number."""
    letters = np.empty(length, np.uint8)
    room, at = letters.data, 0
    for part in _blocks(values, length):
        joined = b"".join(part)
        room[at : at + len(joined)] = joined
        at += len(joined)
    return letters, at


def _join_text(texts: Sequence[str], length: int) -> tuple[np.ndarray, int]:
    """Return an array of this length with the codes of texts one after another, and their number."""
    letters, at = np.empty(length, np.uint8), 0
    at_once = length <= min(AT_ONCE, SHORT_TEXT * len(texts))
    for text in parts_of("".join(texts), BLOCK_LETTERS) if at_once else map("".join, _blocks(texts, length)):
        codes = codes_of_text(text, letters.dtype.type)
        if codes.itemsize > letters.itemsize:
            narrow, letters = letters, np.empty(length, codes.dtype)
            letters[:at] = narrow[:at]
        letters[at : at + len(codes)] = codes
        at += len(codes)
    return letters, at


def codes_of_text(text: str, least: type[np.unsignedinteger[Any]] = np.uint8) -> np.ndarray:
    """Return the code points of text in the narrowest type, or a wider one if that is `least`."""
    try:
        if least is np.uint8:
            return np.frombuffer(text.encode("latin-1"), np.uint8)
    except UnicodeEncodeError:
        pass
    codes = np.array([text]).view(np.uint32)[: len(text)]  # an encoder would call a handler for each surrogate
    return codes if least is np.uint32 or codes.max(initial=0) >> 16 else codes.astype(np.uint16)
