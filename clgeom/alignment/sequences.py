"""Sequences of letters in all forms that callers have them, as one array of bytes with offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clgeom.errors import InvalidInput, short
from clgeom.runtime.arguments import unmasked, wrong
from clgeom.runtime.interop import arrow, frames
from clgeom.runtime.interop.objects import values_of

FORMS = "str, bytes, an array of bytes or letters, or a list or an array of str or bytes"


@dataclass(frozen=True)
class Sequences:
    """Sequences one after another.

    Attributes
    ----------
    letters : ndarray of uint8, shape (n,)
        ASCII codes.
    offsets : ndarray of int64, shape (count + 1,)
    single : bool
        Whether they came as one sequence and not as a collection.
    """

    letters: np.ndarray
    offsets: np.ndarray
    single: bool

    def __len__(self):
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def text(self, i: int) -> str:
        """Sequence i as text."""
        return self.letters[self.offsets[i] : self.offsets[i + 1]].tobytes().decode("latin-1")


def as_sequences(value, offsets, name, *, caller="align") -> Sequences:
    """The sequences of an argument, each of one letter at least."""
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
        where = "none" if found.single else f"an empty one at index {index}"
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
    if isinstance(value, np.ndarray) and value.ndim == 1:
        unmasked(value, name, caller=caller)
        if value.dtype == np.uint8:
            return np.ascontiguousarray(value)
        if value.dtype.kind in "US" and value.dtype.itemsize == (4 if value.dtype.kind == "U" else 1):
            return _encoded("".join(value.tolist()), name, caller) if value.dtype.kind == "U" else value.view(np.uint8)
    return None


def _encoded(text, name, caller, bounds=None):
    try:
        return np.frombuffer(text.encode("ascii"), np.uint8)
    except UnicodeEncodeError as error:
        place = f"index {error.start}"
        if bounds is not None:
            sequence = int(np.searchsorted(bounds, error.start, side="right")) - 1
            place = f"index {error.start - int(bounds[sequence])} of sequence {sequence}"
        raise wrong(name, caller, "letters of the alphabet", f"{text[error.start]!a} at {place}") from None


def _many(value, name, caller):
    if arrow.is_text(value):
        value = arrow.text_of(value)
    values = np.asarray(value) if frames.is_pandas(value) else values_of(value, caller=caller, name=name)
    unmasked(values, name, caller=caller)
    if not isinstance(values, (list, tuple, np.ndarray)):
        try:
            values = np.asarray(values)
        except (ValueError, TypeError) as error:
            raise wrong(name, caller, FORMS, type(value).__name__) from error
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "OUST":
            raise wrong(name, caller, FORMS, f"an array of {values.dtype}, shape {values.shape}")
        values = values.tolist()
    if all(type(one) is str for one in values):
        offsets = _sums(values)
        return Sequences(_encoded("".join(values), name, caller, offsets), offsets, False)
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
    try:
        array = np.asarray(offsets)
    except ValueError:
        array = np.empty((0, 0))
    which = f"{name}_offsets"
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "iu":
        raise wrong(which, caller, "integers of shape (count + 1,)", f"{array.dtype} of shape {array.shape}")
    array = array.astype(np.int64)
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
    hint = " Leave out the gaps of earlier alignments." if letter in "-." else ""
    raise InvalidInput(
        f"The '{name}' parameter of {caller} must be {expected}. Got {letter!a} at {place} instead.{hint}"
    )
