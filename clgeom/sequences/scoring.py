"""Scores of letters and gaps: the checked arguments of `align`, and the tables that kernels read."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.arguments import absent, boolean, integer, one_of, unmasked, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InputWarning, InvalidInput, is_integer, short, warn
from clgeom.intake.typing import NDArray
from clgeom.sequences.matrices import MATRICES

#: As in sequences/align_jobs.h.
CODES, PAD, UNKNOWN = 32, 31, 255
#: Bits of ends that are free, as in sequences/align_jobs.h.
A_BEGIN, B_BEGIN, A_END, B_END = 1, 2, 4, 8
MODES = ("global", "local", "semiglobal")
#: Steps through the second sequence of each strand.
STEPS = {"forward": (1,), "reverse": (-1,), "both": (1, -1)}
FREE_ENDS = {"a_begin": A_BEGIN, "b_begin": B_BEGIN, "a_end": A_END, "b_end": B_END}
#: Score of a local alignment in 16 bits that may be greater in truth, and minus infinity: half of the least number.
SATURATED, NEVER = 32_767, 16_384
#: IUPAC's codes of nucleotides and their complements. U and T are one letter, unless an alphabet has both.
NUCLEOTIDES, COMPLEMENTS = "ACGTRYKMBDHVSWN", "TGCAYRMKVHDBSWN"
#: Without a matrix: all letters.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*"
#: Match, mismatch, gap_open and gap_extend where there is no matrix: those of blastn.
DEFAULTS = 2, -3, 5, 2
#: Greatest size of a score or a penalty: what fits 16 bits with room for sums of three.
MOST = 8_000


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class SubstitutionMatrix:
    """Scores of pairs of letters.

    Parameters
    ----------
    alphabet : str
        The letters of rows and columns, at most 31 ASCII characters other than "-", of one case. Case is ignored where
        they are used. In an alphabet of nucleotides that has one of T and U, the other is read as this letter.
    values : ndarray of int16, shape (k, k)
        ``values[r, c]`` is the score of letter r in the first sequence against letter c in the second. The matrix need
        not be symmetric.
    name : str or None

    Raises
    ------
    InvalidInput
        The matrix is not square, does not fit its alphabet, or has a score that is not a whole number within 8,000.

    Examples
    --------
    >>> import clgeom
    >>> blosum = clgeom.SubstitutionMatrix.named("BLOSUM62")
    >>> blosum.score("W", "W"), blosum.score("L", "I")
    (11, 2)
    >>> own = clgeom.SubstitutionMatrix("ACGT", [[2, -3, -1, -3], [-3, 2, -3, -1], [-1, -3, 2, -3], [-3, -1, -3, 2]])
    >>> clgeom.align("AACG", "AATG", matrix=own, gap_open=5, gap_extend=2).score
    5
    """

    alphabet: str
    values: NDArray[np.int16] = field(repr=False)
    name: str | None = None

    def __post_init__(self) -> None:
        letters = self.alphabet
        fine = isinstance(letters, str) and 1 <= len(letters) < CODES and letters.isascii() and letters.isprintable()
        if not fine or len(set(letters.upper())) < len(letters) or set(letters) & set("- "):
            raise _wrong("alphabet", "1 to 31 different ASCII letters without '-'", short(letters))
        unmasked(self.values, "values", caller="SubstitutionMatrix")
        try:
            values = np.asarray(self.values)
        except ValueError:
            raise _wrong("values", "a square matrix", "rows of several lengths") from None
        k = len(letters)
        if values.shape != (k, k):
            raise _wrong("values", f"a square matrix of shape {k, k}, as its alphabet has {k} letters", values.shape)
        fine = values.dtype.kind in "iuf" and ((values >= -MOST) & (values <= MOST) & (values == np.rint(values))).all()
        if not fine:
            raise _wrong("values", f"whole numbers from -{MOST:,} to {MOST:,}", f"{values.dtype}, others among them")
        values = values.astype(np.int16)
        values.setflags(write=False)
        object.__setattr__(self, "alphabet", letters.upper())
        object.__setattr__(self, "values", values)

    @classmethod
    def named(cls, name: str) -> SubstitutionMatrix:
        """Return a matrix by its name: BLOSUM45, 50, 62, 80, 90, PAM30, PAM70, PAM250 or NUC.4.4.

        Parameters
        ----------
        name : str
            Case is ignored.

        Returns
        -------
        SubstitutionMatrix

        Raises
        ------
        InvalidInput
            There is no such matrix.
        """
        known = name.upper() if isinstance(name, str) else None
        if known not in MATRICES:
            raise wrong("matrix", "align", f"one of {', '.join(MATRICES)}, or a matrix with its alphabet", short(name))
        alphabet, _, numbers = MATRICES[known]
        k = len(alphabet)
        values = np.zeros((k, k), np.int16)
        values[np.tril_indices(k)] = np.array(numbers.split(), np.int16)
        return cls(alphabet, values + np.tril(values, -1).T, known)

    def score(self, first: str, second: str) -> int:
        """Return the score of two letters.

        Parameters
        ----------
        first, second : str
            Letters of the alphabet; case is ignored.

        Returns
        -------
        int

        Raises
        ------
        InvalidInput
            One is no letter of the alphabet.
        """
        letters = tuple(self.alphabet)
        for letter, name in ((first, "first"), (second, "second")):
            if not isinstance(letter, str) or letter.upper() not in letters:
                raise wrong(name, "score", f"a letter of the alphabet {self.alphabet}", short(letter))
        return int(self.values[letters.index(first.upper()), letters.index(second.upper())])


def _wrong(name: str, expected: str, got: Any) -> InvalidInput:
    return wrong(name, "SubstitutionMatrix", expected, got)


@dataclass(frozen=True, eq=False)
class Scoring:
    """The scores and penalties that an alignment adds up.

    Attributes
    ----------
    alphabet : str
    matrix : SubstitutionMatrix or None
    match, mismatch : int
        Without a matrix.
    gap_open, gap_extend : int
        A gap of k letters costs gap_open + k * gap_extend.
    """

    alphabet: str
    matrix: SubstitutionMatrix | None
    match: int
    mismatch: int
    gap_open: int
    gap_extend: int

    @functools.cached_property
    def greatest(self) -> int:
        return max(self.match, self.mismatch) if self.matrix is None else int(self.matrix.values.max())

    @functools.cached_property
    def least(self) -> int:
        return min(self.match, self.mismatch) if self.matrix is None else int(self.matrix.values.min())

    @property
    def has_complements(self) -> bool:
        """Whether the letters may be nucleotides, of which there are reverse complements."""
        return self.matrix is None or self.of_nucleotides

    @property
    def of_nucleotides(self) -> bool:
        """Whether the alphabet is one of nucleotides."""
        return set("ACGT") <= set(self.alphabet.replace("U", "T")) <= set(NUCLEOTIDES)

    @functools.cached_property
    def codes(self) -> np.ndarray:
        """Codes of all bytes, uint8 of shape (3, 256): of the first sequence, of the second, of its complement."""
        own = np.full(256, UNKNOWN, np.uint8)
        for code, letter in enumerate(self.alphabet):
            own[ord(letter)] = own[ord(letter.lower())] = code
        if self.of_nucleotides or self.matrix is None:
            for letter, other in ("UT", "TU"):
                if letter not in self.alphabet:
                    own[[ord(letter), ord(letter.lower())]] = own[ord(other)]
        complement = np.full(256, UNKNOWN, np.uint8)
        for letter, other in zip(NUCLEOTIDES + "U", COMPLEMENTS + "A"):
            complement[[ord(letter), ord(letter.lower())]] = own[ord(other)]
        complement[own == UNKNOWN] = UNKNOWN
        return np.stack([own, own, complement])

    @functools.cached_property
    def table(self) -> np.ndarray:
        """Scores of pairs of codes, int16 of shape (32, 32)."""
        table = np.full((CODES, CODES), -1, np.int16)
        if self.matrix is not None:
            k = len(self.alphabet)
            table[:k, :k] = self.matrix.values
        return table


#: Without a matrix: all letters, of which U is T.
USUAL = Scoring(LETTERS.replace("U", ""), None, *DEFAULTS)


def as_scoring(match: Any, mismatch: Any, matrix: Any, gap_open: Any, gap_extend: Any) -> Scoring:
    """Return the checked scoring of a call of `align`; None stands for defaults."""
    given = (match, mismatch, gap_open, gap_extend)
    if matrix is None and all(value is None for value in given):
        return USUAL
    if matrix is not None:
        if match is not None or mismatch is not None:
            raise InvalidInput(
                "The 'matrix' parameter of align replaces 'match' and 'mismatch': give one or the other."
            )
        matrix = _as_matrix(matrix)
        usual = (0, 0, *(MATRICES[matrix.name][1] if matrix.name in MATRICES else (None, None)))
        if usual[2] is None and (gap_open is None or gap_extend is None):
            raise InvalidInput(
                "The 'gap_open' and 'gap_extend' parameters of align are needed with a matrix of your own."
            )
    else:
        usual = DEFAULTS
    match, mismatch, gap_open, gap_extend = (u if g is None else g for g, u in zip(given, usual))
    for value, name in ((match, "match"), (mismatch, "mismatch")):
        integer(value, name, caller="align", least=-MOST, most=MOST)
    for value, name in ((gap_open, "gap_open"), (gap_extend, "gap_extend")):
        if is_integer(value) and value < 0:
            raise InvalidInput(
                f"The '{name}' parameter of align is a penalty, which is subtracted: it must be 0 or more. "
                f"Got {short(value)} instead."
            )
        integer(value, name, caller="align", least=0, most=MOST)
    alphabet = USUAL.alphabet if matrix is None else matrix.alphabet
    return Scoring(alphabet, matrix, int(match), int(mismatch), int(gap_open), int(gap_extend))


def _as_matrix(matrix: Any) -> SubstitutionMatrix:
    """Return a matrix from its name, from a pair of alphabet and values, or from an array with an alphabet, as
    Biopython's.
    """
    if isinstance(matrix, SubstitutionMatrix):
        return matrix
    if isinstance(matrix, str):
        return SubstitutionMatrix.named(matrix)
    if isinstance(matrix, tuple) and len(matrix) == 2:
        return SubstitutionMatrix(*matrix)
    alphabet = getattr(matrix, "alphabet", None)
    if isinstance(alphabet, str):
        return SubstitutionMatrix(alphabet, np.asarray(matrix))
    raise wrong("matrix", "align", f"one of {', '.join(MATRICES)}, or a matrix with its alphabet", short(matrix))


@dataclass(frozen=True)
class Rules:
    """Options of an alignment: scores, mode, free ends, band and strand, and whether to find path and ends.

    Without `tables` pairs that are not much alike are left out.
    """

    scoring: Scoring
    local: bool
    free: int
    band: int | None
    mode: str = "global"
    strand: str = "forward"
    path: bool = True
    ends: bool = True
    tables: bool = True

    def gap(self, length: np.ndarray) -> np.ndarray:
        """Cost of a gap, for an array of lengths."""
        return np.where(length == 0, 0, self.scoring.gap_open + length * self.scoring.gap_extend)

    def reaches(self, n: np.ndarray, m: np.ndarray, band: Any) -> np.ndarray:
        """Return whether the band has a cell in which an alignment may end, for arrays of lengths."""
        reached: np.ndarray = np.abs(n - m) <= band
        if self.free & A_END:
            reached |= m - n <= band
        if self.free & B_END:
            reached |= n - m <= band
        return reached

    def fits_short(self, n: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return whether 16 bits are enough for tables of these sizes, or a local score that they cannot hold is
        noticed.
        """
        scoring = self.scoring
        opened, greatest = scoring.gap_open + scoring.gap_extend, max(scoring.greatest, 0)
        largest = max(scoring.greatest, -scoring.least)
        if 2 * opened + largest > NEVER // 2:
            return np.zeros(n.shape, bool)
        if self.local:
            return np.ones(n.shape, bool)
        lowest = (n + m) * scoring.gap_extend + 2 * scoring.gap_open + 2 * (opened + largest)
        if self.band is not None:
            lowest = lowest - np.minimum(n, m) * min(scoring.least, 0)
        return np.asarray(((np.minimum(n, m) + 1) * greatest < SATURATED) & (lowest < NEVER))

    def border(self, length: np.ndarray, is_free: int) -> np.ndarray:
        """Score of a gap from the corner along an edge of the table, for an array of lengths."""
        return np.zeros_like(length) if is_free or self.local else -self.gap(length)


def checked_rules(scoring: Scoring, mode: Any, free_ends: Any, strand: Any, band: Any, path: Any, ends: Any) -> Rules:
    """Return the rules, or the error that names a wrong option."""
    one_of(mode, MODES, "mode", caller="align")
    one_of(strand, tuple(STEPS), "strand", caller="align")
    path, ends = boolean(path, "path", caller="align"), boolean(ends, "ends", caller="align")
    if not ends and path:
        raise wrong("ends", "align", "left out unless path=False, since a path tells its ends", "ends=False")
    if not ends and mode != "local":
        warn(f"The 'ends' parameter of align has no effect with mode={mode!r}: its ends are known.", InputWarning)
    if strand != "forward" and not scoring.has_complements:
        raise wrong("strand", "align", "'forward' with a matrix of other letters than nucleotides", short(strand))
    if band is not None:
        band = integer(band, "band", caller="align", least=0, most=1 << 29)
    is_local = mode == "local"
    return Rules(scoring, is_local, _free(free_ends, mode), band, mode, strand, path, ends or not is_local)


def _free(free_ends: Any, mode: Any) -> int:
    """Return the bits of ends that are free."""
    if mode != "semiglobal":
        absent(free_ends, "free_ends", "unless mode is 'semiglobal'", caller="align")
        return 0
    if free_ends is None:
        return sum(FREE_ENDS.values())
    if not isinstance(free_ends, str) and not np.iterable(free_ends):
        raise wrong("free_ends", "align", f"several of {', '.join(map(repr, FREE_ENDS))}", short(free_ends))
    names = (free_ends,) if isinstance(free_ends, str) else tuple(free_ends)
    if not names and isinstance(free_ends, Iterator):
        raise wrong("free_ends", "align", "several ends, or an empty list for none", "an iterator that has none")
    return sum({FREE_ENDS[one_of(name, tuple(FREE_ENDS), "free_ends", caller="align")] for name in names})
