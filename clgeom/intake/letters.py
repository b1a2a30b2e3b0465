"""Sequences in all forms that callers have them, as letters and offsets, with no work in Python for each one.

=========================================  =============================================
form                                       sequences
=========================================  =============================================
str, bytes, array of codes or of letters   one (`codes_of`)
list of str or of bytes                    many
array of strings of NumPy, Arrow, pandas   many; ASCII of Arrow is taken where it lies
array of integers of two dimensions        one in each row, on the host or on the device
(letters, offsets)                         many (`as_batch`)
=========================================  =============================================
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.arguments import Parameter, held, instance, is_masked_array, unmasked, wrong
from clgeom.core.call import Call
from clgeom.errors import InvalidInput
from clgeom.intake.device_arrays import fetched, flattened, is_device_array, on_host
from clgeom.intake.dispatch import choose_sessions
from clgeom.intake.interop import arrow, frames
from clgeom.intake.interop.objects import values_of
from clgeom.intake.resident import Bounds, resident_bounds
from clgeom.intake.text_lists import codes_of_text, letters_of_list, parts_of
from clgeom.intake.typing import AnyArray, NDArray

#: One sequence of codes, and many sequences: types of parameters.
Codes = NDArray[np.integer[Any]] | Sequence[int]
Batch = AnyArray | list[str] | list[bytes] | tuple[AnyArray, AnyArray]
BATCH = "a list of text or of bytes, an array of strings, rows of letters, or (letters, offsets)"
#: Code points of Unicode: 0 .. CODE_POINTS - 1.
CODE_POINTS = 0x110000
#: A subset with at least one in so many of the letters is taken by a mask of all. 1.5e7 letters, ms, by indices and by
#: a mask: a tenth of them 5 and 8, half of them 26 and 8, nearly all 60 and 11.
MASKED = 8
#: Code points that are numbered at once.
NUMBERED = 1 << 16


@dataclass(frozen=True)
class Sequences:
    """Sequences one after another: sequence i is ``letters[offsets[i]:offsets[i + 1]]``.

    Letters are codes: integers of any type, of uint8 on the device; of uint8, uint16 or uint32 after
    `with_common_codes`. `single`: the caller gave one sequence and no collection.
    """

    letters: Any
    offsets: np.ndarray
    single: bool = False

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Pickles of results from before 0.9 have the letters by another name."""
        if "given" in state:
            state = {**state, "letters": state["given"]}
            del state["given"]
        self.__dict__.update(state)

    def __getitem__(self, i: int) -> np.ndarray:
        return on_host(self.letters[int(self.offsets[i]) : int(self.offsets[i + 1])])

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    @property
    def longest(self) -> int:
        """Length of the longest one."""
        return int(self.lengths.max(initial=0))

    @property
    def shortest(self) -> int:
        """Length of the shortest one, 0 if there is none."""
        return int(self.lengths.min()) if len(self) else 0

    @functools.cached_property
    def common_length(self) -> int | None:
        """Length of all sequences if they have one length, else None."""
        lengths = self.lengths
        return int(lengths[0]) if len(lengths) and (lengths == lengths[0]).all() else None

    @functools.cached_property
    def host_letters(self) -> np.ndarray:
        """The letters on the host."""
        return on_host(self.letters)

    def with_letters(self, letters: Any) -> Sequences:
        """Return as many sequences of the same lengths, of other letters."""
        return Sequences(letters, self.offsets, self.single)

    def on_host(self) -> Sequences:
        """Return the same sequences with the letters on the host."""
        return self.with_letters(self.host_letters)

    def text(self, i: int) -> str:
        """Sequence i, of letters of one byte, as text."""
        return self.host_letters[self.offsets[i] : self.offsets[i + 1]].tobytes().decode("latin-1")

    def part(self, first: int, stop: int) -> Sequences:
        """Return the sequences first .. stop - 1."""
        begin, end = int(self.offsets[first]), int(self.offsets[stop])
        return Sequences(self.letters[begin:end], self.offsets[first : stop + 1] - begin)

    def subset(self, indices: np.ndarray) -> Sequences:
        """Return the sequences at these ascending indices; a single one stays as it is."""
        if self.single or len(indices) == len(self):
            return self
        lengths = self.lengths[indices]
        offsets = np.append(0, np.cumsum(lengths))
        if offsets[-1] * MASKED < self.offsets[-1]:
            at = np.repeat(self.offsets[:-1][indices] - offsets[:-1], lengths) + np.arange(offsets[-1])
            return Sequences(self.host_letters[at], offsets)
        kept = np.zeros(len(self), bool)
        kept[indices] = True
        return Sequences(self.host_letters[np.repeat(kept, self.lengths)], offsets)

    def picked(self, indices: np.ndarray) -> Sequences:
        """Return long sequences at any indices, in their order, with their letters on the host."""
        lengths, begins = self.lengths[indices], self.offsets[indices].tolist()
        parts = [self.host_letters[at : at + length] for at, length in zip(begins, lengths.tolist())]
        return Sequences(np.concatenate([self.host_letters[:0], *parts]), np.append(0, np.cumsum(lengths)))

    def __getstate__(self) -> dict[str, Any]:
        return {"letters": self.host_letters, "offsets": self.offsets, "single": self.single}


class Rows(Sequences):
    """Sequences of one length, of which no offsets are kept: many take no longer than few."""

    count: int
    width: int

    def __init__(self, letters: Any, count: int, width: int) -> None:
        self.__dict__.update(letters=letters, single=False, count=count, width=width)

    def __len__(self) -> int:
        return self.count

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, (self.host_letters, len(self), self.width)

    @functools.cached_property
    def offsets(self) -> np.ndarray:
        offsets: np.ndarray = np.arange(len(self) + 1, dtype=np.int64)
        offsets *= self.width
        return offsets

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        return np.full(len(self), self.width, np.int64)

    @property
    def longest(self) -> int:
        return self.width if len(self) else 0

    @property
    def shortest(self) -> int:
        return self.longest

    @functools.cached_property
    def common_length(self) -> int | None:
        return self.width if len(self) else None

    def with_letters(self, letters: Any) -> Sequences:
        return Rows(letters, len(self), self.width)

    def part(self, first: int, stop: int) -> Sequences:
        return Rows(self.letters[first * self.width : stop * self.width], stop - first, self.width)


class ResidentSequences(Sequences):
    """Sequences whose letters and offsets are on a device; the host has offsets only once it asks for them."""

    bounds: Bounds

    def __init__(self, letters: Any, bounds: Bounds) -> None:
        self.__dict__.update(letters=letters, single=False, bounds=bounds)

    def __len__(self) -> int:
        return self.bounds.count

    def __reduce__(self) -> tuple[Any, ...]:
        return Sequences, (self.host_letters, self.offsets)

    @functools.cached_property
    def offsets(self) -> np.ndarray:
        return self.bounds.on_host()

    @property
    def longest(self) -> int:
        return self.bounds.longest

    @property
    def shortest(self) -> int:
        return self.bounds.shortest

    @functools.cached_property
    def common_length(self) -> int | None:
        return self.longest if self.shortest == self.longest else None


# One sequence -----------------------------------------------------------------------------------------------------


def codes_of(value: Any, name: str, *, caller: str) -> np.ndarray:
    """Return codes of text, of bytes, or of a one-dimensional array of integers or letters."""
    if isinstance(value, str):
        return codes_of_text(value)
    if isinstance(value, memoryview) and not value.c_contiguous:
        value = value.tobytes()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return np.frombuffer(value, np.uint8)
    unmasked(value, name, caller=caller)
    value = values_of(value, caller=caller, name=name)
    try:
        array = np.asarray(value)
    except (ValueError, RecursionError, MemoryError, OverflowError):
        array = np.empty((0, 0))
    if array.ndim == 1 and array.size == 0:
        return np.empty(0, np.uint8)
    if array.ndim == 1 and array.dtype.kind in "US" and np.char.str_len(array).max() == 1:
        letters = array.astype(f"{array.dtype.kind}1")  # native, and no longer than they are
        return letters.view(np.uint32 if array.dtype.kind == "U" else np.uint8).astype(np.uint32)
    if array.ndim != 1 or array.dtype.kind not in "iub":
        got = f"an array of {array.dtype}, shape {array.shape}"
        raise wrong(name, caller, "text, bytes, or a one-dimensional array of integers or letters", got)
    if array.dtype in (np.uint8, np.bool_):
        return np.ascontiguousarray(array).view(np.uint8)
    array = array.astype(np.int64 if array.dtype != np.uint64 else np.uint64)
    return array.astype(np.uint8) if array.min() >= 0 and array.max() < 256 else array


def in_one_type(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return codes of two sequences in one type: equal symbols are equal numbers."""
    if a.dtype == b.dtype:
        return a, b
    if np.uint64 in (a.dtype, b.dtype) and np.int64 in (a.dtype, b.dtype):
        symbols, codes = np.unique(np.concatenate([a.astype(object), b.astype(object)]), return_inverse=True)
        return codes[: len(a)], codes[len(a) :]
    dtype = np.promote_types(a.dtype, b.dtype)
    return a.astype(dtype), b.astype(dtype)


def symbols_at(a: Any, indices: np.ndarray, *, caller: str) -> Any:
    """Return the symbols of a sequence at these indices, in its own type."""
    if isinstance(a, str):
        return "".join(a[k] for k in indices)
    if isinstance(a, (bytes, bytearray, memoryview)):
        return bytes(np.frombuffer(a, np.uint8)[indices])
    return np.asarray(values_of(a, caller=caller, name="a"))[indices]


# Many sequences ---------------------------------------------------------------------------------------------------


def are_batches(a: Any, b: Any) -> bool:
    """Return whether two values are many sequences each, and not one: text and bytes are one."""
    return not any(isinstance(one, (str, bytes, bytearray, memoryview)) for one in (a, b)) and (
        is_batch(a) or is_batch(b)
    )


def is_batch(value: Any) -> bool:
    """Return whether a value is many sequences for `as_batch`.

    An array of strings of one letter each is one sequence.
    """
    if isinstance(value, tuple) and len(value) == 2 and not isinstance(value[1], (str, bytes)):
        return bool(np.iterable(value[1]))
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and isinstance(value[0], (str, bytes))
    if is_device_array(value):
        return bool(value.ndim == 2)
    value = _text_column(value)
    if isinstance(value, np.ndarray):
        if value.ndim == 2 and value.dtype.kind in "iu":
            return True
        if value.dtype.kind in "US":
            return bool(value.dtype.newbyteorder("=") != np.dtype(f"{value.dtype.kind}1"))
        return value.dtype.kind in "TO" and value.ndim == 1 and value.size > 0 and isinstance(value[0], (str, bytes))
    return arrow.is_text(value)


def as_batch(value: Any, name: str, *, caller: str, device: Any = None, resident: bool = False) -> Sequences:
    """Return many sequences; one is refused. If `resident`, offsets may stay on the `device` of a call."""
    if isinstance(value, (str, bytes, bytearray)):
        raise wrong(name, caller, BATCH, f"one sequence, {type(value).__name__}")
    if isinstance(value, tuple) and len(value) == 2 and not isinstance(value[1], (str, bytes)):
        letters, offsets = value
        bounds = resident_bounds(letters, offsets, device) if resident else None
        if bounds is not None:
            return ResidentSequences(letters, bounds)
        on_device = is_device_array(letters) and letters.ndim == 1
        letters = _bytes_on_device(letters) if on_device else codes_of(letters, name, caller=caller)
        parameter = f"offsets in the '{name}' parameter of {caller}"
        return Sequences(letters, offsets_of(offsets, len(letters), parameter, take_floats=True))
    found = many_sequences(value, name, caller=caller, expected=BATCH)
    if found is None:
        kind = bytes if isinstance(value[0], bytes) else str
        at = next(i for i, one in enumerate(value) if not isinstance(one, kind))
        expected = f"a list of {kind.__name__} only, or another kind of batch"
        raise wrong(name, caller, expected, f"{type(value[at]).__name__} at index {at}")
    return found


def many_sequences(value: Any, name: str, *, caller: str, expected: str) -> Sequences | None:
    """Return the sequences of an array, a column or a list of texts; None for a list of other things."""
    if type(value) is list:
        held(value, name, caller=caller)
        return _list_sequences(value)
    if is_device_array(value):
        if value.ndim != 2 or value.dtype.kind not in "iu":
            raise wrong(name, caller, expected, f"an array of pyopencl of {value.dtype}, shape {value.shape}")
        rows, width = value.shape
        return Rows(_bytes_on_device(flattened(value, caller=caller, name=name)), rows, width)
    held(value, name, caller=caller)
    value = _text_column(value)
    if arrow.is_text(value):
        return _arrow_sequences(value, name, caller=caller)
    if isinstance(value, np.ndarray):
        unmasked(value, name, caller=caller)
        if value.ndim == 2 and value.dtype.kind in "iu":
            return Rows(np.ascontiguousarray(value).reshape(-1), *value.shape)
        if value.ndim != 1 or value.dtype.kind not in "USTO":
            raise wrong(name, caller, expected, f"an array of {value.dtype}, shape {value.shape}")
        if value.dtype.kind in "US":
            return Sequences(*_fixed_width_letters(value))
        value = value.tolist()
    return _list_sequences(instance(value, (list, tuple), expected, name, caller=caller))


def in_pairs(a: Any, b: Any, *, caller: str, device: Any = None) -> tuple[Sequences, Sequences]:
    """Return two batches of as many sequences, with common codes. Offsets may stay on the device of the call."""
    first, second = with_common_codes(
        *(as_batch(one, name, caller=caller, device=device, resident=True) for one, name in ((a, "a"), (b, "b")))
    )
    if len(first) != len(second):
        raise wrong("b", caller, f"as many sequences as 'a', {len(first):,}", f"{len(second):,}")
    return first, second


def choose_sessions_of(call: Call, batches: Sequence[Sequences], device: Any) -> None:
    """Set the sessions of a call on several batches: that of letters on a device, else those of `device`."""
    resident = [one.letters for one in batches if type(one.letters) is not np.ndarray]
    choose_sessions(call, resident[0] if resident else batches[0].letters, device)
    for letters in resident[1:]:  # refused on another device
        choose_sessions(call, letters, call.session)


def with_common_codes(*batches: Sequences) -> tuple[Sequences, ...]:
    """Return the batches with letters of one type, uint8, uint16 or uint32: equal letters are equal numbers."""
    types = {one.letters.dtype for one in batches}
    if types == {np.dtype(np.uint8)}:
        return batches
    batches = tuple(one.on_host() for one in batches)
    if types <= {np.dtype(np.uint8), np.dtype(np.uint16)}:
        return tuple(one.with_letters(one.letters.astype(max(types), copy=False)) for one in batches)
    if np.result_type(*(one.letters for one in batches)).kind == "u":
        most = max(int(one.letters.max(initial=0)) for one in batches)
        if most < CODE_POINTS:
            return _numbered_code_points(batches, most)
    every = np.concatenate(
        [one.letters.astype(object) if _compares_floats(batches) else one.letters for one in batches]
    )
    symbols, codes = np.unique(every, return_inverse=True)
    codes = codes.astype(_code_type(len(symbols)))
    parts = np.split(codes, np.cumsum([len(one.letters) for one in batches])[:-1])
    return tuple(one.with_letters(part) for part, one in zip(parts, batches))


def _numbered_code_points(batches: Sequence[Sequences], most: int) -> tuple[Sequences, ...]:
    """Return the batches with their code points, at most `most`, numbered: to sort them would take ten times as long.

    Letters are looked up in blocks, whose indices stay in the cache: 4e7 of four letters take 90 ms, at once 230.
    """
    present = np.zeros(most + 1, bool)
    for letters in itertools.chain.from_iterable(parts_of(one.letters, NUMBERED) for one in batches):
        if not present.take(letters, mode="clip").all():  # sooner than to mark all again
            present[letters] = True
    numbers = np.cumsum(present, dtype=np.uint32) - np.uint32(1)
    numbers = numbers.astype(_code_type(int(np.count_nonzero(present))))
    found = [np.empty(len(one.letters), numbers.dtype) for one in batches]
    for one, codes in zip(batches, found):
        for letters, out in zip(parts_of(one.letters, NUMBERED), parts_of(codes, NUMBERED)):
            numbers.take(letters, out=out, mode="clip")
    return tuple(one.with_letters(codes) for one, codes in zip(batches, found))


def offsets_of(offsets: Any, count: int, parameter: str, *, take_floats: bool = False) -> np.ndarray:
    """Return offsets as int64: integers, or whole floats, from 0 to the number of letters that never descend."""
    offsets = on_host(offsets)
    try:
        array = np.asarray(offsets)
    except ValueError:
        array = np.empty((0, 0))
    if is_masked_array(offsets) and np.ma.is_masked(offsets):
        raise InvalidInput(f"The {parameter} must have no masked entries. Got masked ones instead.")
    if take_floats and array.dtype.kind == "f" and (np.abs(array) < 2**53).all() and (array == np.rint(array)).all():
        array = array.astype(np.int64)
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iu":
        got = f"{array.dtype} of shape {array.shape}"
        raise InvalidInput(f"The {parameter} must be integers of shape (count + 1,). Got {got} instead.")
    array = array.astype(np.int64, copy=False)
    if array[0] != 0 or array[-1] != count:
        got = f"{array[0]:,} to {array[-1]:,}"
        raise InvalidInput(f"The {parameter} must be from 0 to the number of letters, {count:,}. Got {got} instead.")
    falls = np.flatnonzero(array[1:] < array[:-1])
    if len(falls):
        k = int(falls[0]) + 1
        raise InvalidInput(f"The {parameter} must never descend. Got {array[k]} at [{k}] after {array[k - 1]}.")
    return array


# Forms ------------------------------------------------------------------------------------------------------------


def _text_column(value: Any) -> Any:
    """Return a column of pandas as an array, Arrow text of any library as a column of PyArrow; others as they are."""
    if isinstance(value, (list, tuple, str, bytes, bytearray, memoryview, np.ndarray)) or np.isscalar(value):
        return value
    if frames.is_pandas(value):
        return np.asarray(value)
    column = arrow.imported(value, Parameter("a", "a batch")) if arrow.is_arrow(value) else None
    return column if arrow.is_text(column) else value


def _list_sequences(values: Sequence[Any]) -> Sequences | None:
    """Return sequences of a list of str, or of bytes; None for a list of other things."""
    found = letters_of_list(values)
    return None if found is None else Sequences(*found)


def _fixed_width_letters(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return letters and offsets of a fixed-width NumPy string array: strings end before the NULs at their end."""
    width = array.dtype.itemsize // (4 if array.dtype.kind == "U" else 1)
    code = np.uint32 if array.dtype.kind == "U" else np.uint8
    if not width or not len(array):
        return np.empty(0, code), np.zeros(len(array) + 1, np.int64)
    codes = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False)).view(code)
    codes = codes.reshape(len(array), width)
    if codes[:, -1].all():
        letters, offsets = codes.reshape(-1), np.arange(len(codes) + 1, dtype=np.int64) * width
    else:
        last = width - np.argmax(codes[:, ::-1] != 0, axis=1)
        lengths = np.where(codes.any(axis=1), last, 0)
        letters = codes[np.arange(width) < lengths[:, None]]
        offsets = np.append(0, np.cumsum(lengths))
    if code == np.uint32 and (not letters.size or letters.max() < 256):
        letters = letters.astype(np.uint8)
    return letters, offsets


def _arrow_sequences(column: Any, name: str, *, caller: str) -> Sequences | None:
    """Return sequences of an Arrow array of text or bytes; letters of ASCII as they lie in memory."""
    column = arrow.text_of(column)
    if column.null_count:
        raise wrong(name, caller, "free of missing sequences", f"{column.null_count:,}")
    found = arrow.letters_of(column)
    return _list_sequences(column.to_pylist()) if found is None else Sequences(*found)


def _bytes_on_device(array: Any) -> Any:
    """Return letters of a device array: there if they are of uint8, else on the host."""
    return array if array.dtype == np.uint8 else fetched(array)


def _code_type(count: int) -> type[np.unsignedinteger[Any]]:
    """Return the narrowest type for so many different letters."""
    return np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.uint32


def _compares_floats(batches: Sequence[Sequences]) -> bool:
    """Return whether NumPy would compare the letters as floats."""
    return np.result_type(*(one.letters for one in batches)).kind == "f"
