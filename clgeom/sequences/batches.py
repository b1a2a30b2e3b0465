"""Sequences of letters in all forms that callers have them, as one array of bytes with offsets."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.arguments import unmasked, wrong
from clgeom.errors import InvalidInput, short
from clgeom.intake.device_arrays import fetched, flattened, is_device_array, within_memory
from clgeom.intake.interop import arrow, strings
from clgeom.intake.interop.objects import values_of

FORMS = "str, bytes, an array of bytes or letters, or a list or an array of str or bytes, or rows of bytes"


@dataclass(frozen=True)
class Sequences:
    """Sequences one after another.

    Attributes
    ----------
    given : ndarray or pyopencl.array.Array of uint8, shape (n,)
        ASCII codes.
    offsets : ndarray of int64, shape (count + 1,)
    single : bool
        Whether they came as one sequence and not as a collection.
    """

    given: Any
    offsets: np.ndarray
    single: bool

    def __len__(self):
        return len(self.offsets) - 1

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    @functools.cached_property
    def letters(self) -> np.ndarray:
        """The letters on the host."""
        return fetched(self.given) if is_device_array(self.given) else self.given

    def text(self, i: int) -> str:
        """Sequence i as text."""
        return self.letters[self.offsets[i] : self.offsets[i + 1]].tobytes().decode("latin-1")

    def taken(self, indices) -> Sequences:
        """The sequences at these indices; a single one stays as it is."""
        if self.single or len(indices) == len(self):
            return self
        lengths = self.lengths[indices]
        offsets = np.append(0, np.cumsum(lengths))
        at = np.repeat(self.offsets[:-1][indices] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Sequences(self.letters[at], offsets, False)

    def __getstate__(self):
        return {"given": self.letters, "offsets": self.offsets, "single": self.single}


def as_sequences(value, offsets, name, *, caller="align") -> Sequences:
    """The sequences of an argument, each of one letter at least."""
    if is_device_array(value):
        value = within_memory(value, caller=caller, name=name)
    if offsets is not None:
        letters = _one(value, name, caller)
        if letters is None:
            raise wrong(name, caller, "one str, bytes or array of letters, as offsets are given", short(value))
        found = Sequences(letters, _offsets(offsets, len(letters), name, caller), False)
    else:
        letters = _one(value, name, caller)
        if letters is not None:
            found = Sequences(letters, np.array([0, len(letters)]), True)
        else:
            found = _many(value, name, caller)
    if len(found) and not found.lengths.all():
        index = int(np.argmin(found.lengths))
        where = "an empty one" if found.single else f"an empty one at index {index}"
        raise wrong(name, caller, "free of empty sequences, which align with nothing", where)
    return found


def _one(value, name, caller):
    """The letters of one sequence; None for what is a collection."""
    if isinstance(value, str):
        return _encoded(value, name, caller)
    if isinstance(value, memoryview):
        if value.ndim != 1 or value.format not in ("B", "b", "c"):
            raise wrong(name, caller, FORMS, f"a memoryview of format {value.format!r}, shape {value.shape}")
        return np.frombuffer(value.tobytes(), np.uint8)
    if isinstance(value, (bytes, bytearray)):
        return np.frombuffer(value, np.uint8)
    if is_device_array(value) and value.ndim == 1:
        return _on_device(value, name, caller)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        unmasked(value, name, caller=caller)
        if value.dtype == np.uint8:
            return np.ascontiguousarray(value)
        if value.dtype.kind in "US" and value.dtype.itemsize == (4 if value.dtype.kind == "U" else 1):
            return _encoded("".join(value.tolist()), name, caller) if value.dtype.kind == "U" else value.view(np.uint8)
    return None


def _encoded(text, name, caller):
    """The codes of a text of ASCII."""
    try:
        return np.frombuffer(text.encode("ascii"), np.uint8)
    except UnicodeEncodeError as error:
        what = f"{text[error.start]!a} at index {error.start}"
        raise wrong(name, caller, "letters of the alphabet", what) from None


def _narrow(letters, offsets, name, caller):
    """Letters of several sequences as bytes; those beyond are refused. Bytes are not looked at: kernels do that."""
    if letters.dtype == np.uint8:
        return letters
    at = int(np.argmax(letters > 127))
    sequence = int(np.searchsorted(offsets, at, side="right")) - 1
    what = f"{chr(letters[at])!a} at index {at - int(offsets[sequence])} of sequence {sequence}"
    raise wrong(name, caller, "letters of the alphabet", what)


def _on_device(array, name, caller):
    """An array of pyopencl whose items are letters."""
    if array.dtype != np.uint8:
        raise wrong(name, caller, FORMS, f"an array of pyopencl of {array.dtype}, shape {array.shape}")
    return array


def _many(value, name, caller):
    if is_device_array(value) and value.ndim == 2:
        rows, width = _on_device(value, name, caller).shape
        return Sequences(flattened(value, caller=caller, name=name), np.arange(rows + 1) * width, False)
    value = strings.unwrapped(value)
    if arrow.is_text(value):
        value = arrow.text_of(value)
        found = None if value.null_count else strings.of_arrow(value)
        if found is not None:
            return Sequences(*found, False)
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype == np.uint8:
        unmasked(value, name, caller=caller)
        return Sequences(*strings.of_rows(value), False)
    values = values_of(value, caller=caller, name=name)
    unmasked(values, name, caller=caller)
    if not isinstance(values, (list, tuple, np.ndarray)):
        try:
            values = np.asarray(values)
        except (ValueError, TypeError) as error:
            raise wrong(name, caller, FORMS, type(value).__name__) from error
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "OUST":
            raise wrong(name, caller, FORMS, f"an array of {values.dtype}, shape {values.shape}")
        if values.dtype.kind in "US":
            letters, offsets = strings.of_fixed(values)
            return Sequences(_narrow(letters, offsets, name, caller), offsets, False)
        values = values.tolist()
    if values and isinstance(values[0], (str, bytes)):
        with contextlib.suppress(TypeError, ValueError, BufferError):  # others among them
            letters, offsets = strings.of_texts(values)
            if letters is None:
                letters = np.frombuffer("".join(values).encode("utf-32-le", "surrogatepass"), np.uint32)
            return Sequences(_narrow(letters, offsets, name, caller), offsets, False)
    parts = []
    for index, one in enumerate(values):
        letters = _one(one, name, caller)
        if letters is None:
            raise wrong(name, caller, FORMS, f"{short(one)} at index {index}")
        parts.append(letters)
    return Sequences(np.concatenate([np.empty(0, np.uint8), *parts]), _sums(parts), False)


def _sums(parts):
    return np.concatenate([[0], np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))])


def _offsets(offsets, n, name, caller):
    """Checked offsets: integers from 0 to n that never descend."""
    which = f"{name}_offsets"
    if is_device_array(offsets):
        offsets = fetched(offsets, caller=caller, name=which)
    try:
        array = np.asarray(offsets)
    except ValueError:
        array = np.empty((0, 0))
    unmasked(offsets, which, caller=caller)
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iu":
        raise wrong(which, caller, "integers of shape (count + 1,)", f"{array.dtype} of shape {array.shape}")
    array = array.astype(np.int64, copy=False)
    if array[0] != 0 or array[-1] != n:
        raise wrong(which, caller, f"from 0 to the number of letters, {n:,}", f"{array[0]:,} to {array[-1]:,}")
    falls = np.flatnonzero(array[1:] < array[:-1])
    if len(falls):
        k = int(falls[0]) + 1
        raise InvalidInput(
            f"The '{which}' parameter of {caller} must never descend. Got {array[k]} at [{k}] after {array[k - 1]}."
        )
    return array


def refuse_letters(sequences, codes, unknown, alphabet, name, *, caller="align", reverse=False) -> None:
    """Raise the error that names the first letter that is outside the alphabet, if there is one."""
    bad = codes[sequences.letters] == unknown
    if not bad.any():
        return
    at = int(np.argmax(bad))
    sequence = int(np.searchsorted(sequences.offsets, at, side="right")) - 1
    place = f"index {at - int(sequences.offsets[sequence])}"
    if not sequences.single:
        place += f" of sequence {sequence}"
    letter = chr(sequences.letters[at])
    expected = f"letters of the alphabet {alphabet}" + (" that have a complement" if reverse else "")
    raise InvalidInput(
        f"The '{name}' parameter of {caller} must be {expected}. Got {letter!a} at {place} instead."
        f"{letter_hint(letter, alphabet)}"
    )


def letter_hint(letter, alphabet) -> str:
    """The sentence that says what to do about a letter outside the alphabet, after a blank; empty if there is none."""
    if letter in "-.":
        return " Leave out the gaps of earlier alignments."
    residue = letter.upper()
    if "X" in alphabet and residue.isalpha() and residue not in alphabet:
        return " Replace it with X" + (", or with C, its most similar residue." if residue == "U" else ".")
    return ""
