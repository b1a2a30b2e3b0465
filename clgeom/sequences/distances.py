"""Edit distances and longest common subsequences of two sequences, or of many pairs of them.

two sequences ─> codes ─> related ones by fronts (`fronts`), others by a table of bits (`bits`), or the equation where
                 there are too many symbols
many pairs    ─> letters, offsets ─> devices ─> long related ones by fronts, others by a work-item each (`pairs_bits`)
free ends     ─> windows of the second sequences by a work-item each (`free_ends`); a path within the part as above
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Sized
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, overload

import numpy as np

from clgeom.arguments import absent, boolean, one_of, wrong
from clgeom.core.call import Call
from clgeom.core.device import as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.problems.edits import EDIT_DISTANCE, LCS, MOVES, Edits
from clgeom.dp.problems.recurrence import fill, traceback
from clgeom.errors import DeviceLimit, InvalidInput, short
from clgeom.intake.chunks import as_chunks, in_chunk, pairs_ahead
from clgeom.intake.dispatch import Work, dispatch
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.letters import (
    Batch,
    Codes,
    Sequences,
    are_batches,
    choose_sessions_of,
    codes_of,
    in_one_type,
    in_pairs,
    is_batch,
    symbols_at,
)
from clgeom.intake.typing import AnyArray, ChunksLike, DeviceLike, DevicesLike, NDArray
from clgeom.sequences import fronts
from clgeom.sequences.bits import BitTable
from clgeom.sequences.free_ends import find, find_two, free_of
from clgeom.sequences.measures import values_of_pairs
from clgeom.sequences.pairs_bits import INT32, apply_cutoff, cutoff_of
from clgeom.sequences.result import DELETE, INSERT, MATCH

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    from clgeom.core.device import Session

    One: TypeAlias = str | bytes | Codes
    Many: TypeAlias = list[str] | list[bytes] | tuple[AnyArray, AnyArray]

    class OneOptions(TypedDict, total=False):
        """Options for two sequences."""

        method: Method
        device: DeviceLike

    class ManyOptions(TypedDict, total=False):
        """Options for many pairs."""

        method: Method
        score_cutoff: int | None
        device: DevicesLike

    class OneEdits(OneOptions, total=False):
        """Options of edit distances of two sequences."""

        free_ends: str | Iterable[str] | None

    class ManyEdits(ManyOptions, total=False):
        """Options of edit distances of many pairs."""

        free_ends: str | Iterable[str] | None


#: Cost of a pair besides its cells, in cells.
PAIR_COST = 256
#: Cells from which on GPUs share pairs, as long as nothing was measured (H200: 2e8 cells take 3 ms).
LEAST_SHARED = 1 << 32
Method: TypeAlias = Literal["auto", "bits", "equation"]
METHODS = get_args(Method)
#: The parameters that ask for a path.
PATH_OPTIONS = {"lcs": "subsequence", "edit_distance": "operations"}
#: Scores of `clgeom.align` whose paths are the operations of edit distances.
UNIT_COSTS = "match=0, mismatch=-1, gap_open=0, gap_extend=1"
#: Names of the operations of `clgeom.sequences.result`.
OPERATIONS = np.array(["match", "change", "delete", "insert"], object)


@keeps_subnormals
@dataclass(frozen=True)
class CommonSubsequence:
    """The result of `lcs`.

    Attributes
    ----------
    length : int
    a_indices, b_indices : ndarray of int64, shape (length,), or None
        The indices of its symbols in each sequence, ascending. None if `subsequence` is False.
    subsequence : str, bytes or ndarray, or None
        The symbols themselves, of the type of the first sequence.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> found = problems.lcs("abcbdab", "bdcaba")
    >>> found.length, found.subsequence, found.a_indices.tolist()
    (4, 'bcba', [1, 2, 3, 5])
    """

    length: int
    a_indices: NDArray[Any] | None = field(default=None, repr=False)
    b_indices: NDArray[Any] | None = field(default=None, repr=False)
    subsequence: Any = None


@overload
def lcs(a: One, b: One, *, subsequence: bool | None = ..., **options: Unpack[OneOptions]) -> CommonSubsequence: ...
@overload
def lcs(
    a: Many, b: Many, *, subsequence: Literal[False] | None = ..., **options: Unpack[ManyOptions]
) -> NDArray[np.int32]: ...
@overload
def lcs(
    a: ChunksLike, b: None = ..., *, subsequence: Literal[False] | None = ..., **options: Unpack[ManyOptions]
) -> NDArray[np.int32]: ...
@overload
def lcs(a: Batch, b: Batch, *, subsequence: bool | None = ..., **options: Unpack[ManyOptions]) -> Any: ...
@keeps_subnormals
@takes_cuda
def lcs(
    a: Batch | ChunksLike,
    b: Batch | None = None,
    *,
    subsequence: bool | None = None,
    method: Method = "auto",
    score_cutoff: int | None = None,
    device: DevicesLike = None,
) -> Any:
    """Longest common subsequence of two sequences, or the lengths of those of many pairs.

    Parameters
    ----------
    a, b : str, bytes, or array of integers or letters, one-dimensional; or many of them
        One sequence each, or as many each: a list of str or of bytes, an array of strings or of categories of NumPy,
        Arrow, pandas or Polars, none of them missing, an array of integers with a sequence in each row, or a tuple
        (letters, offsets), where sequence i is ``letters[offsets[i]:offsets[i + 1]]``; these may be arrays of pyopencl.
        An array of strings of one letter each is one sequence. Where one of `a` and `b` is text or bytes, both are one
        sequence, and a list is one of letters: "abc" against ["a", "b"] is "abc" against "ab". One sequence against
        many is ``[a] * len(b)`` against b, or `dp.cdist`. An iterator or `clgeom.scale.Chunks` as `a`, without `b`,
        gives chunks: pairs (a, b) of batches, which need not fit in memory together.
    subsequence : bool, optional
        Also find the subsequence, not only its length. True by default for two sequences; many pairs have lengths only.
    method : {"auto", "bits", "equation"}
        "auto": by the furthest points of diagonals where long sequences are related, else "bits": 32 or 64 cells in a
        word, unless there are too many symbols. "equation": by the table of the equation `LCS`, for two sequences.
    score_cutoff : int, optional
        For many pairs: lengths below it become 0, as rapidfuzz has it.
    device : str, pyopencl.Device or Session, or several, optional
        "all", or a list of devices, shares many pairs on the host out among them.

    Returns
    -------
    CommonSubsequence, or ndarray of int32, shape (pairs,)
        Of several longest ones, the one that the textbook's traceback finds from the last cell: a match where the
        symbols are equal, else up in the table, else left. Of many pairs the lengths; of chunks those of all pairs, one
        chunk after another.

    Raises
    ------
    InvalidInput
        Something is no sequence; there are not as many of `a` as of `b`, or one of several and one alone.

    Examples
    --------
    >>> from clgeom.dp.problems import lcs
    >>> lcs("abcbdab", "bdcaba")
    CommonSubsequence(length=4, subsequence='bcba')
    >>> lcs(["abcbdab", "cat"], ["bdcaba", "act"]).tolist()
    [4, 2]
    """
    comparison = Comparison("lcs", subsequence, method, score_cutoff, device)
    lengths = comparison.of_many(a, b)
    if lengths is not None:
        return lengths
    length, path, *_ = comparison.of_two(a, b)
    if path is None:
        return CommonSubsequence(length)
    matched = path == MATCH
    rows = np.cumsum(path != INSERT)[matched] - 1
    columns = np.cumsum(path != DELETE)[matched] - 1
    return CommonSubsequence(length, rows, columns, symbols_at(a, rows, caller="lcs"))


@overload
def edit_distance(a: One, b: One, *, operations: bool | None = ..., **options: Unpack[OneEdits]) -> Edits: ...
@overload
def edit_distance(
    a: Many, b: Many, *, operations: Literal[False] | None = ..., **options: Unpack[ManyEdits]
) -> NDArray[np.int32]: ...
@overload
def edit_distance(
    a: ChunksLike, b: None = ..., *, operations: Literal[False] | None = ..., **options: Unpack[ManyEdits]
) -> NDArray[np.int32]: ...
@overload
def edit_distance(a: Batch, b: Batch, *, operations: bool | None = ..., **options: Unpack[ManyEdits]) -> Any: ...
@keeps_subnormals
@takes_cuda
def edit_distance(
    a: Batch | ChunksLike,
    b: Batch | None = None,
    *,
    operations: bool | None = None,
    free_ends: str | Iterable[str] | None = None,
    method: Method = "auto",
    score_cutoff: int | None = None,
    device: DevicesLike = None,
) -> Any:
    """Fewest symbols to insert, delete or change to make one sequence into another (Levenshtein's distance).

    Parameters
    ----------
    a, b : str, bytes, or array of integers or letters, one-dimensional; or many of them
        See `lcs`; `a` may be chunks there, too.
    operations : bool, optional
        Also find the operations, not only their number. True by default for two sequences; many pairs have distances
        only.
    free_ends : {"b_begin", "b_end"}, or both, optional
        The ends of `b` at which symbols may be left over: both find all of `a` within `b`, "b_end" at its begin.
    method : {"auto", "bits", "equation"}
        See `lcs`; free ends go with the first two.
    score_cutoff : int, optional
        For many pairs: distances beyond it become ``score_cutoff + 1``, as rapidfuzz has it.
    device : str, pyopencl.Device or Session, or several, optional
        See `lcs`.

    Returns
    -------
    Edits, or ndarray of int32, shape (pairs,)
        Of several shortest ones, the one whose traceback from the end takes a match or change if it can, else a
        deletion, else an insertion. Of many pairs the distances; of chunks those of all pairs, one chunk after another.
        With free ends of the parts of `b` with the least distance, one that ends first, and the longest one of those.

    Raises
    ------
    InvalidInput
        As in `lcs`; an end in `free_ends` is none of `b`.
    DeviceLimit
        With free ends the first sequence has more than about half a million symbols.

    Examples
    --------
    >>> from clgeom.dp.problems import edit_distance
    >>> edit_distance("kitten", "sitting").distance
    3
    >>> found = edit_distance("ACGT", "TTACTGGACT", free_ends=("b_begin", "b_end"))
    >>> found.distance, found.b_start, found.b_end
    (1, 2, 5)
    >>> edit_distance(["kitten", "cat"], ["sitting", "cart"]).tolist()
    [3, 1]
    """
    comparison = Comparison("edit_distance", operations, method, score_cutoff, device, free_of(free_ends))
    distances = comparison.of_many(a, b)
    if distances is not None:
        return distances
    distance, path, *part = comparison.of_two(a, b)
    return Edits(distance, None if path is None else tuple(OPERATIONS[path].tolist()), *part)


@dataclass(frozen=True)
class Comparison:
    """A call of `lcs` or `edit_distance` and its options; `path` is the one for which PATH_OPTIONS has the name."""

    caller: str
    path: Any
    method: Any
    score_cutoff: Any
    device: Any
    free: str = ""

    @property
    def problem(self) -> str:
        """The name of the problem in kernels."""
        return "lcs" if self.caller == "lcs" else "edit"

    def of_many(self, a: Any, b: Any) -> NDArray[np.int32] | None:
        """Return the values of many pairs, or of chunks of them one after another; None for two sequences."""
        chunks = as_chunks(a)
        if chunks is None:
            return self._of_pairs(a, b) if are_batches(a, b) else None
        caller = self.caller
        absent(b, "b", "for chunks, which are pairs of batches", caller=caller)
        found = [np.empty(0, np.int32)]
        with contextlib.closing(pairs_ahead(chunks, caller=caller)) as pairs:
            for number, (first, second) in enumerate(pairs):
                empty = all(isinstance(one, Sized) and len(one) == 0 for one in (first, second))
                if empty:  # an empty list would be one sequence
                    continue
                if not are_batches(first, second):
                    raise InvalidInput(
                        f"The chunks of {caller} must be pairs of batches, many sequences each. Got {short(first)} and "
                        f"{short(second)} as chunk {number}."
                    )
                try:
                    found.append(self._of_pairs(first, second))
                except InvalidInput as error:
                    raise in_chunk(error, number) from error
        return np.concatenate(found)

    def _of_pairs(self, a: Any, b: Any) -> NDArray[np.int32]:
        caller, path = self.caller, PATH_OPTIONS[self.caller]
        if one_of(self.method, METHODS, "method", caller=caller) == "equation":
            raise wrong("method", caller, "'auto' or 'bits' for many pairs", repr(self.method))
        if self.path is not None and boolean(self.path, path, caller=caller):
            hint = "" if caller == "lcs" else f" clgeom.align with {UNIT_COSTS} finds the operations of many."
            raise InvalidInput(f"The '{path}' parameter of {caller} is for two sequences, not for many pairs.{hint}")
        cutoff = cutoff_of(self.score_cutoff, caller=caller)
        first, second = in_pairs(a, b, caller=caller, device=self.device)
        call = Call(caller=caller)
        choose_sessions_of(call, (first, second), self.device)
        found: NDArray[np.int32] = dispatch(call, PairsWork(caller, self.problem, first, second, cutoff, self.free))
        return found

    def of_two(self, a: Any, b: Any) -> tuple[int, np.ndarray | None, int | None, int | None]:
        """Return the value of two sequences, and the operations of the path through their table, or None.

        With free ends also where the part of the second sequence starts and ends, None where that is not known.
        """
        caller = self.caller
        one_of(self.method, METHODS, "method", caller=caller)
        if self.free and self.method == "equation":
            raise wrong("method", caller, "'auto' or 'bits' with free ends", repr(self.method))
        if self.score_cutoff is not None:
            raise InvalidInput(f"The 'score_cutoff' parameter of {caller} is for many pairs, not for two sequences.")
        try:
            codes = in_one_type(codes_of(a, "a", caller=caller), codes_of(b, "b", caller=caller))
        except InvalidInput as error:
            _advise_cdist(a, b, caller, error)
            raise
        if sum(map(len, codes)) > INT32 - 2:
            raise InvalidInput(f"The sequences of {caller} must have fewer than 2^31 symbols together.")
        session = as_session(self.device)
        with_path = self.path is None or boolean(self.path, PATH_OPTIONS[caller], caller=caller)
        start = end = None
        if self.free:
            value, start, end = find_two(session, *codes, self.free, with_start=with_path)
            if not with_path:
                return value, None, None, end
            codes = codes[0], codes[1][start:end]
        value, path = _solve_two(session, self.problem, *codes, with_path=with_path, method=self.method)
        return value, path if with_path else None, start, end


class PairsWork(Work):
    """The values of many pairs."""

    kind: str
    n: int
    least_cost = LEAST_SHARED

    def __init__(self, caller: str, problem: str, a: Sequences, b: Sequences, cutoff: Any, free: str = "") -> None:
        self.kind, self.problem, self.a, self.b, self.cutoff, self.n = caller, problem, a, b, cutoff, len(a)
        self.free = free

    @functools.cached_property
    def costs(self) -> np.ndarray:
        return np.append(0, np.cumsum(PAIR_COST + self.a.lengths * self.b.lengths))

    @property
    def cost(self) -> float:
        return float(self.costs[-1])

    def at_once(self, session: Session) -> np.ndarray:
        return self._values(session, self.a, self.b)

    def piece(self, session: Session, start: int, stop: int) -> np.ndarray:
        return self._values(session, self.a.part(start, stop), self.b.part(start, stop))

    def _values(self, session: Session, a: Sequences, b: Sequences) -> np.ndarray:
        if not self.free:
            return values_of_pairs(session, self.problem, a, b, self.cutoff)
        return apply_cutoff(find(session, a, b, self.free)[:, 0].astype(np.int32), self.problem, self.cutoff)

    def join(self, session: Session, results: Any) -> np.ndarray:
        return np.concatenate(results)


def _advise_cdist(a: Any, b: Any, caller: str, error: InvalidInput) -> None:
    """Raise an error that names `cdist` where one of `a` and `b` is many sequences, and the other one is text."""
    for name, many, other in (("a", a, b), ("b", b, a)):
        if is_batch(many) and isinstance(other, (str, bytes)):
            pair = "a, [b]" if name == "a" else "[a], b"
            problem = "" if caller == "edit_distance" else f", problem='{caller}'"
            raise InvalidInput(
                f"The 'a' and 'b' parameters of {caller} must be two sequences, or many each. Got many as '{name}' and "
                f"one as '{'b' if name == 'a' else 'a'}': dp.cdist({pair}{problem}) compares one with each of many."
            ) from error


def _solve_two(
    session: Session, problem: str, a: np.ndarray, b: np.ndarray, *, with_path: bool, method: str
) -> tuple[int, np.ndarray | None]:
    """Return the value of the last cell, and the operations that lead to it."""
    if not len(a) or not len(b):
        value = 0 if problem == "lcs" else len(a) + len(b)
        return value, np.repeat(np.array([DELETE, INSERT], np.uint8), [len(a), len(b)])
    if method == "auto":
        with contextlib.suppress(DeviceLimit):
            found = fronts.solve_two(session, problem, a, b, with_path=with_path)
            if found is not None:
                return found
    if method != "equation":
        try:
            table = BitTable(session, problem, a, b)
        except DeviceLimit:  # too many symbols
            if method == "bits":
                raise
        else:
            return table.steps() if with_path else (table.solve(), None)
    equation = LCS if problem == "lcs" else EDIT_DISTANCE
    symbols, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    a, b = np.split(codes.astype(np.int32), [len(a)])
    shape = len(a) + 1, len(b) + 1
    if not with_path:
        return int(fill(equation, shape, a=a, b=b, keep="corner", device=session).corner), None
    band = min(1 << 28, session.profile.max_alloc_bytes // 2)
    path = traceback(equation, shape, MOVES, band_bytes=band, a=a, b=b, device=session)
    i, j = path.cells[-1]  # at the edge of the table, where one operation is left
    inside = path.decisions[: len(path) - 1] if i == 0 or j == 0 else path.decisions
    return int(path.value), np.concatenate([np.repeat([DELETE, INSERT], [i, j]), inside[::-1]]).astype(np.uint8)
