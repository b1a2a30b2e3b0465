"""All pairs of two batches of sequences, block by block: the matrix of values, the nearest ones, or those within a
cutoff."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clgeom.arguments import absent, boolean, integer, one_of, wrong
from clgeom.core.device import as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.letters import as_batch, with_common_codes
from clgeom.intake.typing import DeviceLike, NDArray
from clgeom.sequences import warping
from clgeom.sequences.matrix_blocks import Block, blocks_of
from clgeom.sequences.measures import MEASURES, Measured

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.sequences.measures import Measure

#: Most bytes of a matrix, by default.
MOST_BYTES = 1 << 30
#: The column of no neighbour, until the result.
NONE = np.iinfo(np.int64).max


@keeps_subnormals
@dataclass(frozen=True)
class FoundPairs:
    """The pairs within a cutoff, by row and then by column; a result of `cdist`.

    Attributes
    ----------
    rows, columns : ndarray of int64, shape (pairs,)
    values : ndarray of int32, shape (pairs,)
        Of similarities float64.
    shape : tuple of int
        Of the whole matrix.

    Examples
    --------
    >>> from clgeom import dp
    >>> found = dp.cdist(["ACGT", "TTTT"], ["ACGA", "TTT"], score_cutoff=1, sparse=True)
    >>> found.rows.tolist(), found.columns.tolist(), found.values.tolist()
    ([0, 1], [0, 1], [1, 1])
    """

    rows: NDArray[Any] = field(repr=False)
    columns: NDArray[Any] = field(repr=False)
    values: NDArray[Any] = field(repr=False)
    shape: tuple[int, int]

    def __len__(self) -> int:
        return len(self.values)


@keeps_subnormals
@dataclass(frozen=True)
class Neighbours:
    """The nearest sequences of each row, nearest first, ties by index; a result of `cdist`.

    Attributes
    ----------
    columns : ndarray of int64, shape (rows, k)
        Indices of the sequences; -1 where fewer are within the cutoff.
    values : ndarray of int32, shape (rows, k)
        Of similarities float64, of series float32 or float64.

    Examples
    --------
    >>> from clgeom import dp
    >>> near = dp.cdist(["ACGT", "TTTT"], ["ACGA", "TTT", "GGGG"], nearest=2)
    >>> near
    Neighbours(2 rows, 2 nearest)
    >>> near.columns.tolist(), near.values.tolist()
    ([[0, 1], [1, 0]], [[1, 3], [1, 4]])
    """

    columns: NDArray[Any] = field(repr=False)
    values: NDArray[Any] = field(repr=False)

    def __repr__(self) -> str:
        rows, count = self.columns.shape
        return f"Neighbours({rows:,} rows, {count:,} nearest)"


@keeps_subnormals
@takes_cuda
def cdist(
    a: Any,
    b: Any = None,
    *,
    problem: Measured | Literal["dtw"] = "edit",
    score_cutoff: float | None = None,
    window: int | None = None,
    cost: warping.Cost = "squared",
    nearest: int | None = None,
    sparse: bool = False,
    most_bytes: int = MOST_BYTES,
    device: DeviceLike = None,
) -> NDArray[Any] | FoundPairs | Neighbours:
    """Distance or similarity of each sequence of one batch with each of another, or of each time series with each.

    Parameters
    ----------
    a, b : list of str or of bytes, array of strings, or (letters, offsets)
        As in `edit_distance`. Without `b` the pairs are those of `a` with itself, but each sequence with itself is
        found neither by `nearest` nor by `sparse`, and `sparse` finds each pair once, with row < column. For "dtw" many
        series as in `dtw`; rows of an array of two dimensions are series.
    problem : {"edit", "lcs", "indel", "ratio", "partial_ratio", "jaro", "jaro_winkler", "dtw"}
        "edit": the edit distance. "lcs": the length of the longest common subsequence. "indel": letters to insert or
        delete, without changes. "ratio": 100 less the indel distance in percent of the letters of both, rapidfuzz's
        ``fuzz.ratio``. "partial_ratio": the greatest one of the shorter sequence and parts of the longer one. "jaro",
        "jaro_winkler": the similarities of Jaro and of Winkler, from 0 to 1. "dtw": the distance of time series by
        dynamic time warping.
    score_cutoff : int or float, optional
        The largest distance, or the least length or similarity, that matters: distances beyond it become
        ``score_cutoff + 1``, lengths and similarities below it 0. Not for "dtw".
    window, cost
        As in `dtw`; for "dtw" only.
    nearest : int, optional
        Find this many sequences of `b` with the least distances, or the greatest lengths or similarities, for each
        sequence of `a`.
    sparse : bool
        Find the pairs within the cutoff only.
    most_bytes : int
        Most bytes of the matrix; refused with `nearest` and `sparse`, which make none.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    ndarray of int32 (similarities float64, series float32 or float64), shape (len(a), len(b)); FoundPairs; Neighbours
        With `nearest` and `sparse` a block of the matrix is in memory at a time.

    Raises
    ------
    InvalidInput
        Something is no batch; the matrix is larger than `most_bytes`; `sparse` is without a cutoff, or with `nearest`.

    See Also
    --------
    clgeom.dp.cpdist, clgeom.dp.problems.edit_distance, clgeom.dp.problems.dtw : Pairs one by one.
    clgeom.align : Gaps, matrices and paths.

    Examples
    --------
    >>> from clgeom import dp
    >>> dp.cdist(["ACGT", "TTTT"], ["ACGA", "TTT", "GGGG"]).tolist()
    [[1, 3, 3], [4, 1, 4]]
    >>> dp.cdist([[0, 1, 2], [0, 2, 2, 3]], [[1.0, 2, 2]], problem="dtw", cost="absolute").tolist()
    [[1.0], [2.0]]
    """
    one_of(problem, (*MEASURES, "dtw"), "problem", caller="cdist")
    if problem == "dtw":
        absent(score_cutoff, "score_cutoff", "with problem='dtw'", caller="cdist")
        absent(sparse, "sparse", "with problem='dtw'", caller="cdist", default=False)
        return _of_series(a, b, warping.Rules.of(cost, window, caller="cdist"), nearest, most_bytes, as_session(device))
    absent(window, "window", f"with problem={problem!r}", caller="cdist")
    absent(cost, "cost", f"with problem={problem!r}", caller="cdist", default="squared")
    measure = MEASURES[problem]
    cutoff = measure.cutoff_of(score_cutoff, caller="cdist")
    most_bytes = integer(most_bytes, "most_bytes", caller="cdist", least=0)
    symmetric = b is None
    if symmetric:
        (first,) = with_common_codes(as_batch(a, "a", caller="cdist").on_host())
        second = first
    else:
        batches = with_common_codes(as_batch(a, "a", caller="cdist"), as_batch(b, "b", caller="cdist"))
        first, second = (one.on_host() for one in batches)
    shape, sparse = (len(first), len(second)), boolean(sparse, "sparse", caller="cdist")
    if sparse or nearest is not None:
        _refuse_most_bytes(most_bytes)
    if sparse and (nearest is not None or cutoff is None):
        raise InvalidInput("The 'sparse' parameter of cdist needs 'score_cutoff', and goes without 'nearest'.")
    k = None if nearest is None else integer(nearest, "nearest", caller="cdist", most=1 << 20)
    if not sparse and k is None:
        hint = "Ask for the 'nearest' ones, or for 'sparse' pairs within a 'score_cutoff'."
        _require_room(shape, measure.dtype.itemsize, most_bytes, hint)
    blocks = blocks_of(as_session(device), measure, first, second, cutoff, symmetric) if all(shape) else iter(())
    if sparse:
        return _sparse(blocks, shape, measure, cutoff, symmetric)
    if k is not None:
        return _nearest(blocks, shape, measure, cutoff, symmetric, k)
    matrix = None
    for rows, columns, values in blocks:
        part, found = _part(rows, columns), measure.cut(values, cutoff)
        if found.shape == shape and all(isinstance(one, slice) for one in part):  # all of it at once
            return found.astype(measure.dtype, copy=False)
        if matrix is None:
            matrix = np.full(shape, measure.beyond(cutoff), measure.dtype)
        matrix[part] = found
    return np.full(shape, measure.beyond(cutoff), measure.dtype) if matrix is None else matrix


def _part(rows: np.ndarray, columns: np.ndarray) -> tuple[Any, Any]:
    """Return the index of these rows and columns, as slices if they follow one another: that is much faster."""
    down, across = (one if (np.diff(one) != 1).any() else slice(one[0], one[-1] + 1) for one in (rows, columns))
    return (rows[:, None], columns) if down is rows and across is columns else (down, across)


def _refuse_most_bytes(most_bytes: int) -> None:
    if most_bytes != MOST_BYTES:
        raise wrong("most_bytes", "cdist", "left out with 'sparse' or 'nearest', which make no matrix", most_bytes)


def _require_room(shape: tuple[int, int], itemsize: int, most_bytes: int, hint: str) -> None:
    """Refuse a matrix of more bytes."""
    nbytes = itemsize * shape[0] * shape[1]
    if nbytes > most_bytes:
        raise InvalidInput(f"The matrix of cdist has {nbytes:,} bytes, more than 'most_bytes', {most_bytes:,}. {hint}")


# Series -----------------------------------------------------------------------------------------------------------


def _of_series(
    a: Any, b: Any, rules: warping.Rules, nearest: int | None, most_bytes: int, session: Session
) -> NDArray[Any] | Neighbours:
    """Return the distances of all pairs of series, or the nearest series of each."""
    most_bytes = integer(most_bytes, "most_bytes", caller="cdist", least=0)
    first = warping.many_series(a, "a", caller="cdist")
    second = first if b is None else warping.many_series(b, "b", caller="cdist")
    first, second = warping.in_one_type(first, second)
    shape, dtype = (len(first), len(second)), first.values.dtype
    if nearest is None:
        _require_room(shape, dtype.itemsize, most_bytes, "Ask for the 'nearest' ones.")
        matrix = np.empty(shape, dtype)
        for rows, columns, values in warping.all_distances(session, first, None if b is None else second, rules):
            matrix[rows, columns] = values
            if b is None:
                matrix[columns, rows] = values
        return matrix
    _refuse_most_bytes(most_bytes)
    k = integer(nearest, "nearest", caller="cdist", most=1 << 20)
    k = min(k, max(shape[1] - (b is None), 0))
    found = Neighbours(np.empty((shape[0], k), np.int64), np.empty((shape[0], k), dtype))
    for flat in warping.all_distances(session, first, second, rules):  # all pairs of some rows
        rows, columns, values = (part.reshape(-1, shape[1]) for part in flat)
        itself = (rows == columns) & (b is None)
        order = np.lexsort((columns, values, itself), axis=1)[:, :k]
        for kept, part in ((found.columns, columns), (found.values, values)):
            kept[rows[:, 0]] = np.take_along_axis(part, order, axis=1)
    return found


# Results of blocks ------------------------------------------------------------------------------------------------


def _sparse(
    blocks: Iterator[Block], shape: tuple[int, int], measure: Measure, cutoff: Any, symmetric: bool
) -> FoundPairs:
    """Return the pairs within the cutoff."""
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, measure.dtype))]
    for rows, columns, values in blocks:
        i, j = np.divmod(np.flatnonzero(measure.is_within(values, cutoff)), len(columns))
        if symmetric:
            once = rows[i] < columns[j]
            i, j = i[once], j[once]
        found.append((rows[i], columns[j], values[i, j]))
    rows, columns, values = map(np.concatenate, zip(*found))
    order = np.lexsort((columns, rows))
    return FoundPairs(rows[order], columns[order], values[order], shape)


def _nearest(
    blocks: Iterator[Block], shape: tuple[int, int], measure: Measure, cutoff: Any, symmetric: bool, k: int
) -> Neighbours:
    """Return the k nearest of each row."""
    k = min(k, max(shape[1] - symmetric, 0))
    best = _Best(measure, cutoff, symmetric, np.full((shape[0], k), np.inf), np.full((shape[0], k), NONE))
    for rows, columns, values in blocks if k else ():
        left, width = 0, max(4 * k, 64)
        while left < len(columns):  # twice as many each time, as ever fewer of them are near
            best.take(rows, columns[left : left + width], values[:, left : left + width])
            left, width = left + width, 2 * width
    absent = np.isinf(best.ranks)
    found = np.where(absent, 0, -best.ranks if measure.is_similarity else best.ranks).astype(measure.dtype)
    found[absent] = measure.beyond(cutoff)
    return Neighbours(np.where(absent, -1, best.columns), found)


@dataclass(frozen=True)
class _Best:
    """The nearest columns of each row so far: `ranks`, which are values or for similarities less than 0, ascend."""

    measure: Measure
    cutoff: Any
    symmetric: bool
    ranks: np.ndarray
    columns: np.ndarray

    def take(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        """Take the nearest of these values in."""
        k, sign = self.ranks.shape[1], -1 if self.measure.is_similarity else 1
        r, c = self._candidates(rows, columns, values)
        found = values[r, c]
        kept = np.ones(len(r), bool) if self.cutoff is None else self.measure.is_within(found, self.cutoff)
        if self.symmetric:
            kept &= rows[r] != columns[c]
        r, c, found = r[kept], c[kept], found[kept]
        some, place = np.unique(r, return_inverse=True)
        at = rows[some]
        row = np.concatenate([np.repeat(np.arange(len(some)), k), place])
        rank = np.concatenate([self.ranks[at].ravel(), sign * found.astype(np.float64)])
        column = np.concatenate([self.columns[at].ravel(), columns[c]])
        order = np.lexsort((column, rank, row))
        counts = k + np.bincount(place, minlength=len(some))
        first = order[(np.cumsum(counts) - counts)[:, None] + np.arange(k)]
        self.ranks[at], self.columns[at] = rank[first], column[first]

    def _candidates(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and columns of the values that may be among the nearest: all that are, and some more."""
        k, is_similarity, is_float = self.ranks.shape[1], self.measure.is_similarity, values.dtype.kind == "f"
        bound = self.ranks[rows, -1]
        if np.isinf(bound).all() and self.cutoff is None:
            few = min(k + self.symmetric, len(columns))
            at = len(columns) - few if is_similarity else few - 1
            limit = np.partition(values, at, axis=1)[:, at]
        else:
            seen = self.columns[rows]
            if columns.min() > seen.max(initial=-1, where=seen < NONE):  # of equal ones those before are nearer
                bound = np.nextafter(bound, -np.inf) if is_float else bound - 1
            if self.cutoff is not None:
                bound = np.minimum(bound, 1e-6 - self.cutoff if is_similarity else self.cutoff)
            limit = -bound if is_similarity else bound
            if not is_float:
                limits = np.iinfo(values.dtype)
                limit = np.clip(limit, limits.min, limits.max).astype(values.dtype)
        flat = np.flatnonzero(values >= limit[:, None] if is_similarity else values <= limit[:, None])
        return np.divmod(flat, len(columns))
