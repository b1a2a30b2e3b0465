"""Many strings as letters and offsets: of lists, of NumPy's arrays, of Arrow's, without work in Python for each string.

String i is ``letters[offsets[i]:offsets[i + 1]]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.intake.interop import arrow, frames
from clgeom.intake.interop.parameter import Parameter

if TYPE_CHECKING:
    import pyarrow as pa

#: Strings that are joined at once: their letters stay in the cache. 3e5 strings of 150 letters, ms: all at once 165,
#: 512 55, 2,048 50, 8,192 50.
BLOCK = 2_048


def unwrapped(value: Any) -> Any:
    """A column of pandas or of any library with Arrow's interface as an array of Arrow or NumPy."""
    if isinstance(value, (list, tuple, str, bytes, bytearray, memoryview, np.ndarray)) or np.isscalar(value):
        return value
    if frames.is_pandas(value):
        return np.asarray(value)
    if not arrow.is_column(value) and arrow.is_capsule(value):
        return arrow.imported(value, Parameter("a", "a batch"))
    return value


def of_texts(values: Sequence[Any]) -> tuple[np.ndarray | None, np.ndarray]:
    """Of a list of str or of bytes. Letters beyond Latin-1 are None.

    Raises
    ------
    TypeError, ValueError, BufferError
        Something in the list is neither, or str and bytes are mixed.
    """
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, values), np.int64, len(values)), out=offsets[1:])
    if values and isinstance(values[0], bytes):
        letters = np.frombuffer(b"".join(values), np.uint8)
        if len(letters) != offsets[-1]:
            raise TypeError("views of wider items")
        return letters, offsets
    letters = np.empty(int(offsets[-1]), np.uint8)
    room, at = letters.data, 0
    for first in range(0, len(values), BLOCK):
        try:
            part = "".join(values[first : first + BLOCK]).encode("latin-1")
        except UnicodeEncodeError:
            return None, offsets
        room[at : at + len(part)] = part
        at += len(part)
    return letters, offsets


def of_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of a 2-D array: each row is a string."""
    return np.ascontiguousarray(rows).reshape(-1), np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]


def of_fixed(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of an array of NumPy's strings of a fixed size, which end before the NULs at their end."""
    width = array.dtype.itemsize // (4 if array.dtype.kind == "U" else 1)
    code = np.uint32 if array.dtype.kind == "U" else np.uint8
    if not width or not len(array):
        return np.empty(0, code), np.zeros(len(array) + 1, np.int64)
    codes = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False)).view(code)
    codes = codes.reshape(len(array), width)
    if codes[:, -1].all():
        letters, offsets = of_rows(codes)
    else:
        last = width - np.argmax(codes[:, ::-1] != 0, axis=1)
        lengths = np.where(codes.any(axis=1), last, 0)
        letters = codes[np.arange(width) < lengths[:, None]]
        offsets = np.append(0, np.cumsum(lengths))
    if code == np.uint32 and (not letters.size or letters.max() < 256):
        letters = letters.astype(np.uint8)
    return letters, offsets


def of_arrow(column: pa.Array) -> tuple[np.ndarray, np.ndarray] | None:
    """Of what `arrow.text_of` returns, without missing strings, as they lie in memory; None of text beyond ASCII."""
    if not len(column):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    held = 0 if data is None else data.size
    if bounds[0] < 0 or bounds[-1] > held or (bounds[1:] < bounds[:-1]).any():
        raise InvalidInput(
            f"The offsets of an Arrow array of text must never descend, from 0 to its {held:,} bytes. Got others."
        )
    letters = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]] if data is not None else np.empty(0, np.uint8)
    if "string" in str(column.type) and letters.size and letters.max() > 127:
        return None
    return letters, bounds - bounds[0]
