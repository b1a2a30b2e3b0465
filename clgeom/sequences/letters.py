"""Sequences to align: letters of one byte, which an alphabet has or refuses."""

from __future__ import annotations

from typing import Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.errors import InvalidInput, short
from clgeom.intake.device_arrays import is_device_array, within_memory
from clgeom.intake.letters import ResidentSequences, Sequences, codes_of, many_sequences, offsets_of
from clgeom.intake.resident import resident_bounds
from clgeom.sequences.scoring import UNKNOWN, Scoring

CALLER = "align"
FORMS = "str, bytes, an array of bytes or letters, or a list or an array of str or bytes, or rows of bytes"


def as_sequences(value: Any, offsets: Any, name: str, device: Any = None) -> Sequences:
    """Return the sequences of an argument. Offsets may stay on the `device` of a call."""
    if type(value) is not list and is_device_array(value):
        value = within_memory(value, caller=CALLER, name=name)
    if offsets is not None:
        if not _is_one(value, name):
            raise wrong(name, CALLER, "one str, bytes or array of letters, as offsets are given", short(value))
        letters = _letters_of(value, name)
        bounds = resident_bounds(letters, offsets, device)
        if bounds is not None:
            return ResidentSequences(letters, bounds)
        return Sequences(letters, offsets_of(offsets, len(letters), f"'{name}_offsets' parameter of {CALLER}"))
    if _is_one(value, name):
        letters = _letters_of(value, name)
        return Sequences(letters, np.array([0, len(letters)]), single=True)
    return _many(value, name)


def _is_one(value: Any, name: str) -> bool:
    """Return whether a value is one sequence and no collection."""
    if type(value) in (str, bytes, list):
        return type(value) is not list
    if isinstance(value, memoryview) and (value.ndim != 1 or value.format not in ("B", "b", "c")):
        raise wrong(name, CALLER, FORMS, f"a memoryview of format {value.format!r}, shape {value.shape}")
    if is_device_array(value):
        if value.dtype != np.uint8:
            raise wrong(name, CALLER, FORMS, f"an array of pyopencl of {value.dtype}, shape {value.shape}")
        return value.ndim == 1
    if isinstance(value, np.ndarray):
        is_letter = value.dtype == np.uint8 or (value.dtype.kind in "US" and value.dtype.str[2:] == "1")
        return value.ndim == 1 and is_letter
    return isinstance(value, (str, bytes, bytearray, memoryview))


def _letters_of(value: Any, name: str) -> Any:
    """Return the letters of one sequence."""
    if is_device_array(value):
        return value
    codes = codes_of(value, name, caller=CALLER)
    return _narrow(codes, np.array([0, len(codes)]), name, "")


def _many(value: Any, name: str) -> Sequences:
    """Return the sequences of a collection."""
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype != np.uint8:
        raise wrong(name, CALLER, FORMS, f"an array of {value.dtype}, shape {value.shape}")
    found = many_sequences(value, name, caller=CALLER, expected=FORMS)
    if found is not None:
        if found.letters.dtype == np.uint8:
            return found
        return found.with_letters(_narrow(found.letters, found.offsets, name, " of sequence {}"))
    parts = []
    for index, one in enumerate(value):  # a list of more than text, or of more than bytes
        if is_device_array(one) or not _is_one(one, name):
            raise wrong(name, CALLER, FORMS, f"{short(one)} at index {index}")
        parts.append(_letters_of(one, name))
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    return Sequences(np.concatenate([np.empty(0, np.uint8), *parts]), np.append(0, np.cumsum(lengths)))


def _narrow(letters: np.ndarray, offsets: np.ndarray, name: str, place: str) -> np.ndarray:
    """Letters as bytes; those beyond ASCII are refused. Bytes are not looked at: kernels do that."""
    if letters.dtype == np.uint8:
        return letters
    beyond = letters > 127
    if not beyond.any():
        return letters.astype(np.uint8)
    at = int(np.argmax(beyond))
    sequence = int(np.searchsorted(offsets, at, side="right")) - 1
    what = f"{chr(letters[at])!a} at index {at - int(offsets[sequence])}{place.format(sequence)}"
    raise wrong(name, CALLER, "letters of the alphabet", what)


def refuse_letters(a: Sequences, b: Sequences, scoring: Scoring, *, complement: bool) -> None:
    """Raise the error that names the first letter outside the alphabet, or one of `b` that has no `complement`."""
    tables = [(a, scoring.codes[0], "a", ""), (b, scoring.codes[1], "b", "")]
    if complement:
        tables.append((b, scoring.codes[2], "b", " that have a complement"))
    for sequences, codes, name, suffix in tables:
        unknown = codes[sequences.host_letters] == UNKNOWN
        if not unknown.any():
            continue
        at = int(np.argmax(unknown))
        sequence = int(np.searchsorted(sequences.offsets, at, side="right")) - 1
        place = f"index {at - int(sequences.offsets[sequence])}"
        if not sequences.single:
            place += f" of sequence {sequence}"
        letter = chr(sequences.host_letters[at])
        raise InvalidInput(
            f"The '{name}' parameter of {CALLER} must be letters of the alphabet {scoring.alphabet}{suffix}. Got "
            f"{letter!a} at {place} instead.{letter_hint(letter, scoring.alphabet)}"
        )


def letter_hint(letter: str, alphabet: str) -> str:
    """Advice about a letter outside the alphabet, after a blank; empty if there is none."""
    if letter in "-.":
        return " Leave out the gaps of earlier alignments."
    residue = letter.upper()
    if "X" in alphabet and residue.isalpha() and residue not in alphabet:
        return " Replace it with X" + (", or with C, its most similar residue." if residue == "U" else ".")
    return ""
