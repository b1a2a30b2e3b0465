"""Alignments as values: positions, CIGAR, identities, text, pictures; one, or many as arrays."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.plan import Phase
from clgeom.errors import InvalidInput
from clgeom.intake.typing import NDArray
from clgeom.markup import MOST_ROWS, card, table
from clgeom.sequences.scoring import Scoring

#: Operations as in sequences/align_walk.h: equal letters, different letters, a letter of a alone, of b alone.
MATCH, CHANGE, DELETE, INSERT = range(4)
OPERATIONS = np.frombuffer(b"=XDI", np.uint8)
#: Letters in a line of text.
LINE = 80
_COMPLEMENT = str.maketrans("ACGTURYKMBDHVSWNacgturykmbdhvswn", "TGCAAYRMKVHDBSWNtgcaayrmkvhdbswn")


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Alignment:
    """An alignment of two sequences.

    Attributes
    ----------
    score : int
    a_start, a_end, b_start, b_end : int
        The aligned parts, ``a[a_start:a_end]`` and ``b[b_start:b_end]``. For strand "-" the reverse complement of the
        latter is aligned. Without a path, the side that is not known is -1.
    strand : {"+", "-"}
    a, b : str
        The sequences as given.
    operations : ndarray of uint8, or None
        A column of the alignment each: 0 equal letters, 1 different ones, 2 a letter of a against a gap, 3 a letter
        of b against a gap. Letters are equal apart from case, and from U for T among nucleotides. None without a path.
    phases : tuple of Phase
        What each launch on the device was and took.

    Examples
    --------
    >>> import clgeom
    >>> found = clgeom.align("TTACGTACC", "ACGGTA", mode="semiglobal")
    >>> found
    Alignment(score=3, cigar='2=1I3=', a 2:7, b 0:6, strand +)
    >>> found.identities, found.gaps, found.aligned
    (5, 1, ('AC-GTA', 'ACGGTA'))
    """

    score: int
    a_start: int
    a_end: int
    b_start: int
    b_end: int
    strand: str
    a: str
    b: str
    operations: NDArray[np.uint8] | None = None
    phases: tuple[Phase, ...] = ()

    def _path(self, name: str) -> NDArray[np.uint8]:
        if self.operations is None:
            raise InvalidInput(f"The property '{name}' of Alignment needs path=True of align.")
        return self.operations

    @property
    def cigar(self) -> str:
        """The operations as SAM writes them, with "=" and "X": "D" for letters of a alone, "I" for those of b.

        So `a` is the reference and `b` the read.
        """
        return cigar_of(OPERATIONS[self._path("cigar")])

    @property
    def cigar_m(self) -> str:
        """The `cigar` with "M" for equal and for different letters."""
        return cigar_of(np.frombuffer(b"MMDI", np.uint8)[self._path("cigar_m")])

    @property
    def columns(self) -> int:
        """Number of columns of the alignment."""
        return len(self._path("columns"))

    @property
    def identities(self) -> int:
        """Number of columns with equal letters."""
        return int(np.count_nonzero(self._path("identities") == MATCH))

    @property
    def mismatches(self) -> int:
        """Number of columns with different letters."""
        return int(np.count_nonzero(self._path("mismatches") == CHANGE))

    @property
    def gaps(self) -> int:
        """Number of columns with a gap."""
        return int(np.count_nonzero(self._path("gaps") >= DELETE))

    @property
    def identity(self) -> float:
        """The share of columns with equal letters, NaN without columns."""
        return self.identities / self.columns if self.columns else float("nan")

    @functools.cached_property
    def aligned(self) -> tuple[str, str]:
        """Both aligned parts with "-" for gaps. For strand "-" the second is of the reverse complement."""
        path, b = self._path("aligned"), self.b[self.b_start : self.b_end]
        if self.strand == "-":
            b = reverse_complement(b)
        return _with_gaps(self.a[self.a_start : self.a_end], path != INSERT), _with_gaps(b, path != DELETE)

    @property
    def middle(self) -> str:
        """The line between the aligned parts: "|" for equal letters, "." for different ones, " " for gaps."""
        return np.frombuffer(b"|.  ", np.uint8)[self._path("middle")].tobytes().decode()

    def __repr__(self) -> str:
        cigar = "" if self.operations is None else f"cigar={_cut(self.cigar)!r}, "
        ends = (f"{name} {_range(*ends)}" for name, ends in (("a", self._ends[:2]), ("b", self._ends[2:])))
        return f"Alignment(score={self.score:,}, {cigar}{', '.join(ends)}, strand {self.strand})"

    @property
    def _ends(self) -> tuple[int, int, int, int]:
        return self.a_start, self.a_end, self.b_start, self.b_end

    def __str__(self) -> str:
        if self.operations is None:
            return repr(self)
        rows = self.aligned[0], self.middle, self.aligned[1]
        blocks = range(0, max(self.columns, 1), LINE)
        return "\n\n".join("\n".join(row[k : k + LINE].rstrip(" ") for row in rows) for k in blocks)

    def _repr_html_(self) -> str:
        facts = [("score", f"{self.score:,}"), ("a", _range(*self._ends[:2])), ("b", _range(*self._ends[2:]))]
        facts.append(("strand", self.strand))
        if self.operations is None:
            return card("Alignment", facts)
        facts += [("identities", f"{self.identities:,} of {self.columns:,}"), ("gaps", f"{self.gaps:,}")]
        from html import escape

        some = "\n".join(escape(row[:LINE]) for row in (self.aligned[0], self.middle, self.aligned[1]))
        more = "" if self.columns <= LINE else f"<div>the first {LINE} of {self.columns:,} columns</div>"
        return card("Alignment", facts, f"<pre>{some}</pre>{more}")

    def plot(self, ax: Any = None) -> Any:
        """Draw the path with Matplotlib: positions in b over positions in a.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot's by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.

        Raises
        ------
        InvalidInput
            There is no path, or Matplotlib is not installed.
        """
        from clgeom.plotting.diagrams import plot_path

        path = self._path("plot")
        x = self.a_start + np.concatenate([[0], np.cumsum(path != INSERT)])
        steps = np.concatenate([[0], np.cumsum(path != DELETE)])
        y = self.b_start + steps if self.strand == "+" else self.b_end - steps
        return plot_path(x, y, path == CHANGE, lengths=(len(self.a), len(self.b)), title=f"score {self.score:,}", ax=ax)


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class AlignmentBatch:
    """Alignments of many pairs of sequences.

    Attributes
    ----------
    scores : ndarray of int64, shape (count,)
    a_starts, a_ends, b_starts, b_ends : ndarray of int64, shape (count,)
        As in `Alignment`; -1 where not known without a path, in arrays that are not writeable.
    strands : ndarray of int8, shape (count,)
        1, or -1 for the reverse complement of the second sequence.
    operations : ndarray of uint8, shape (columns,), or None
        Operations of all alignments one after another, as in `Alignment`.
    offsets : ndarray of int64, shape (count + 1,), or None
        Alignment i has ``operations[offsets[i]:offsets[i + 1]]``.
    mode : str
    phases : tuple of Phase
        What each launch on the device was and took.
    a, b : sequences
        The sequences as given.
    scoring : Scoring
        The letters, scores and penalties of the alignments.

    Examples
    --------
    >>> import clgeom
    >>> batch = clgeom.align("ACGTACGT", ["ACGT", "GTTC", "TTTT"], mode="local")
    >>> batch
    AlignmentBatch(3 alignments, local, 7 columns)
    >>> batch.scores.tolist(), batch.cigars, batch[1].aligned
    ([8, 4, 2], ['4=', '2=', '1='], ('GT', 'GT'))
    """

    scores: NDArray[np.int64]
    a_starts: NDArray[np.int64]
    a_ends: NDArray[np.int64]
    b_starts: NDArray[np.int64]
    b_ends: NDArray[np.int64]
    strands: NDArray[np.int8]
    operations: NDArray[np.uint8] | None
    offsets: NDArray[np.int64] | None
    a: Any
    b: Any
    scoring: Scoring
    mode: str
    phases: tuple[Phase, ...] = ()

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        columns = "" if self.operations is None else f", {len(self.operations):,} columns"
        return f"AlignmentBatch({len(self):,} alignments, {self.mode}{columns})"

    def _repr_html_(self) -> str:
        few = range(min(len(self), MOST_ROWS))
        shown = [self[i] for i in few]
        rows = [
            (i, f"{one.score:,}", _range(one.a_start, one.a_end), _range(one.b_start, one.b_end), one.strand)
            + (() if one.operations is None else (_cut(one.cigar),))
            for i, one in zip(few, shown)
        ]
        headings = ("pair", "score", "a", "b", "strand") + (() if self.operations is None else ("CIGAR",))
        facts = [("alignments", f"{len(self):,}"), ("mode", self.mode)]
        return card("AlignmentBatch", facts, table(headings, rows, count=len(self)))

    @overload
    def __getitem__(self, i: int) -> Alignment: ...
    @overload
    def __getitem__(self, i: slice) -> list[Alignment]: ...
    def __getitem__(self, i: int | slice) -> Alignment | list[Alignment]:
        """Alignment i, a negative i counted from the end; a list for a slice."""
        if isinstance(i, slice):
            return [self[number] for number in range(*i.indices(len(self)))]
        number = operator.index(i)
        if not -len(self) <= number < len(self):
            raise IndexError(f"there are {len(self)} alignments, and no number {number}")
        number %= len(self)
        path = None
        if self.operations is not None and self.offsets is not None:
            path = self.operations[self.offsets[number] : self.offsets[number + 1]]
        a, b = (one.text(0 if one.single else number) for one in (self.a, self.b))
        return Alignment(
            int(self.scores[number]),
            a_start=int(self.a_starts[number]),
            a_end=int(self.a_ends[number]),
            b_start=int(self.b_starts[number]),
            b_end=int(self.b_ends[number]),
            strand="+" if self.strands[number] > 0 else "-",
            a=a,
            b=b,
            operations=path,
            phases=self.phases if len(self) == 1 else (),
        )

    def __iter__(self) -> Iterator[Alignment]:
        return (self[i] for i in range(len(self)))

    def _path(self, name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the operations and the offsets."""
        if self.operations is None or self.offsets is None:
            raise InvalidInput(f"The property '{name}' of AlignmentBatch needs path=True of align.")
        return self.operations, self.offsets

    def _counts(self, name: str, is_counted: Callable[[NDArray[np.uint8]], NDArray[np.bool_]]) -> NDArray[np.int64]:
        """Return the number of columns of each alignment, among those that a function tells by their operations."""
        operations, offsets = self._path(name)
        return np.diff(np.append(0, np.cumsum(is_counted(operations)))[offsets])

    @property
    def columns(self) -> NDArray[np.int64]:
        """Number of columns of each alignment."""
        return np.diff(self._path("columns")[1])

    @property
    def identities(self) -> NDArray[np.int64]:
        """Number of columns with equal letters, of each alignment."""
        return self._counts("identities", lambda operations: operations == MATCH)

    @property
    def gaps(self) -> NDArray[np.int64]:
        """Number of columns with a gap, of each alignment."""
        return self._counts("gaps", lambda operations: operations >= DELETE)

    @property
    def cigars(self) -> list[str]:
        """The CIGAR of each alignment, with "=" and "X"."""
        operations, offsets = self._path("cigars")
        letters, ends = OPERATIONS[operations], offsets.tolist()
        return [cigar_of(letters[begin:end]) for begin, end in zip(ends, ends[1:])]


def reverse_complement(text: str) -> str:
    """Return the letters of the other strand, with IUPAC's codes of nucleotides."""
    return text[::-1].translate(_COMPLEMENT)


def cigar_of(letters: np.ndarray) -> str:
    """Runs of letters as numbers and letters."""
    if not len(letters):
        return ""
    begins = np.flatnonzero(np.concatenate([[True], letters[1:] != letters[:-1]]))
    counts = np.diff(np.append(begins, len(letters)))
    return "".join(f"{count}{chr(letter)}" for count, letter in zip(counts.tolist(), letters[begins].tolist()))


def _with_gaps(text: str, is_letter: NDArray[np.bool_]) -> str:
    row = np.full(len(is_letter), ord("-"), np.uint8)
    row[is_letter] = np.frombuffer(text.encode("latin-1"), np.uint8)
    return row.tobytes().decode("latin-1")


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _range(start: int, end: int) -> str:
    return f"{'?' if start < 0 else start}:{'?' if end < 0 else end}"
