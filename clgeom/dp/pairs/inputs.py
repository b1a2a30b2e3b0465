"""Batches of sequences from the caller: lists of text or bytes, NumPy's and Arrow's arrays of strings, letters and
offsets."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.arguments import held, instance, wrong
from clgeom.dp.problems import arrays
from clgeom.intake.device_arrays import fetched, flattened, is_device_array
from clgeom.intake.interop import arrow, strings

EXPECTED = "a list of text or of bytes, an array of strings, rows of letters, or (letters, offsets)"
#: Code points of Unicode: 0 .. CODE_POINTS - 1.
CODE_POINTS = 0x110000


@dataclass(frozen=True)
class Sequences:
    """Sequences one after another: sequence i is ``letters[offsets[i]:offsets[i + 1]]``.

    `letters` are codes: uint8, uint16 or uint32, or any integers until `alike` has numbered them. Those of uint8 may be
    an array of pyopencl.
    """

    letters: Any
    offsets: np.ndarray

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, i) -> np.ndarray:
        return on_host(self.letters[int(self.offsets[i]) : int(self.offsets[i + 1])])

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    @property
    def longest(self) -> int:
        """The most letters of one."""
        return int(self.lengths.max(initial=0))

    def here(self) -> Sequences:
        """The same with the letters on the host."""
        return Sequences(on_host(self.letters), self.offsets)

    def part(self, first, stop) -> Sequences:
        """The sequences first .. stop - 1."""
        begin, end = int(self.offsets[first]), int(self.offsets[stop])
        return Sequences(self.letters[begin:end], self.offsets[first : stop + 1] - begin)

    def taken(self, indices) -> Sequences:
        """The sequences at these indices."""
        lengths = self.lengths[indices]
        offsets = np.append(0, np.cumsum(lengths))
        at = np.repeat(self.offsets[:-1][indices] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Sequences(on_host(self.letters)[at], offsets)


def on_host(letters) -> np.ndarray:
    """Letters that may be an array of pyopencl as one of NumPy."""
    return fetched(letters) if is_device_array(letters) else letters


def are_batches(a, b) -> bool:
    """Whether two values are many sequences each, and not one: text and bytes are one."""
    return not any(isinstance(one, (str, bytes, bytearray, memoryview)) for one in (a, b)) and (
        is_batch(a) or is_batch(b)
    )


def is_batch(value) -> bool:
    """Whether a value is many sequences: see `sequences`. An array of strings of one letter each is one sequence."""
    value = strings.unwrapped(value)
    if isinstance(value, tuple) and len(value) == 2 and not isinstance(value[1], (str, bytes)):
        return np.iterable(value[1])
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and isinstance(value[0], (str, bytes))
    if is_device_array(value):
        return value.ndim == 2
    if isinstance(value, np.ndarray):
        if value.ndim == 2 and value.dtype.kind in "iu":
            return True
        if value.dtype.kind in "US":
            return value.dtype.newbyteorder("=") != np.dtype(f"{value.dtype.kind}1")
        return value.dtype.kind in "TO" and value.ndim == 1 and value.size > 0 and isinstance(value[0], (str, bytes))
    return arrow.is_text(value)


def sequences(value, name, *, caller) -> Sequences:
    """A batch of sequences as codes and offsets."""
    value = strings.unwrapped(value)
    held(value, name, caller=caller)
    if arrow.is_text(value):
        return _from_arrow(value, name, caller=caller)
    if isinstance(value, tuple) and len(value) == 2 and not isinstance(value[1], (str, bytes)):
        return _from_offsets(*value, name, caller=caller)
    if is_device_array(value) and value.ndim == 2 and value.dtype.kind in "iu":
        rows, width = value.shape
        return Sequences(_as_bytes(flattened(value, caller=caller, name=name)), np.arange(rows + 1) * width)
    if isinstance(value, np.ndarray):
        if value.ndim == 2 and value.dtype.kind in "iu" and not np.ma.is_masked(value):
            return Sequences(*strings.of_rows(value))
        if value.ndim != 1 or value.dtype.kind not in "USTO":
            raise wrong(name, caller, EXPECTED, f"an array of {value.dtype}, shape {value.shape}")
        if np.ma.is_masked(value):
            raise wrong(name, caller, "free of masked elements", "some")
        if value.dtype.kind in "US":
            return Sequences(*strings.of_fixed(value))
        value = value.tolist()
    instance(value, (list, tuple), EXPECTED, name, caller=caller)
    return _from_list(value, name, caller=caller)


def alike(*batches) -> tuple[Sequences, ...]:
    """The batches with letters of one type, uint8, uint16 or uint32: equal letters are equal numbers."""
    types = {one.letters.dtype for one in batches}
    if types == {np.dtype(np.uint8)}:
        return batches
    batches = tuple(one.here() for one in batches)
    if types <= {np.dtype(np.uint8), np.dtype(np.uint16)}:
        return tuple(Sequences(one.letters.astype(max(types), copy=False), one.offsets) for one in batches)
    every = np.concatenate([one.letters.astype(object) if _mixed(batches) else one.letters for one in batches])
    most = int(every.max()) if every.dtype.kind == "u" and every.size else CODE_POINTS
    if most < CODE_POINTS:  # a table of the code points: to sort them would take ten times as long
        present = np.zeros(most + 1, bool)
        present[every] = True
        count = int(np.count_nonzero(present))
        numbers = np.cumsum(present, dtype=np.uint32) - np.uint32(1)
        codes = numbers.astype(_code_type(count)).take(every)
    else:
        symbols, codes = np.unique(every, return_inverse=True)
        codes = codes.astype(_code_type(len(symbols)))
    parts = np.split(codes, np.cumsum([len(one.letters) for one in batches])[:-1])
    return tuple(Sequences(part, one.offsets) for part, one in zip(parts, batches))


def _code_type(count):
    """The narrowest type of letters for this many."""
    return np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.uint32


def _mixed(batches) -> bool:
    """Whether NumPy would compare the letters as floats."""
    return np.result_type(*(one.letters for one in batches)).kind == "f"


def _from_list(values, name, *, caller):
    """Of a list of str, or of bytes."""
    try:
        letters, offsets = strings.of_texts(values)
    except (TypeError, ValueError, BufferError, MemoryError):  # MemoryError: a device array that claims to be huge
        kind = bytes if isinstance(values[0], bytes) else str
        at = next((i for i, one in enumerate(values) if not isinstance(one, kind)), None)
        if at is None:
            raise
        expected = f"a list of {kind.__name__} only, or another kind of batch"
        raise wrong(name, caller, expected, f"{type(values[at]).__name__} at index {at}") from None
    return Sequences(_codes("".join(values)) if letters is None else letters, offsets)


def _codes(text) -> np.ndarray:
    """The code points of text beyond Latin-1, in the narrower type."""
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) == 2 * len(text):
        return np.frombuffer(units, "<u2").astype(np.uint16, copy=False)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32, copy=False)


def _from_offsets(letters, offsets, name, *, caller):
    """Of all letters, and where each sequence begins."""
    if is_device_array(letters) and letters.ndim == 1:
        codes = _as_bytes(letters)
    else:
        codes = arrays.sequence(letters, name, caller=caller)
    offsets = fetched(offsets) if is_device_array(offsets) else offsets
    bounds = arrays.whole_numbers(offsets, name, caller=caller)
    if not len(bounds) or bounds[0] != 0 or bounds[-1] != len(codes) or (np.diff(bounds) < 0).any():
        raise wrong(name, caller, f"offsets that ascend from 0 to the number of letters, {len(codes):,}", "others")
    return Sequences(codes, bounds)


def _as_bytes(array):
    """Letters of an array of pyopencl: there if they are of uint8, else on the host."""
    return array if array.dtype == np.uint8 else fetched(array)


def _from_arrow(column, name, *, caller):
    """Of an array of Arrow. Letters of ASCII are taken as they lie in memory."""
    column = arrow.text_of(column)
    if column.null_count:
        raise wrong(name, caller, "free of missing sequences", f"{column.null_count:,}")
    found = strings.of_arrow(column)
    return _from_list(column.to_pylist(), name, caller=caller) if found is None else Sequences(*found)


def pairs(a, b, *, caller) -> tuple[Sequences, Sequences]:
    """Two batches of as many sequences, alike."""
    found = both(a, b, caller=caller)
    if len(found[0]) != len(found[1]):
        raise wrong("b", caller, f"as many sequences as 'a', {len(found[0]):,}", f"{len(found[1]):,}")
    return found


def both(a, b, *, caller) -> tuple[Sequences, Sequences]:
    """Two batches, alike."""
    return alike(batch(a, "a", caller=caller), batch(b, "b", caller=caller))


def batch(value, name, *, caller) -> Sequences:
    """A batch; one sequence is refused."""
    if isinstance(value, (str, bytes, bytearray)):
        raise wrong(name, caller, EXPECTED, f"one sequence, {type(value).__name__}")
    return sequences(value, name, caller=caller)
