"""All pairs of two batches of sequences, block by block: the matrix of values, the nearest ones, or those within a
cutoff."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from clgeom.arguments import absent, boolean, integer, one_of, wrong
from clgeom.core.device import as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import run
from clgeom.core.plan import Scratch
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.letters import Sequences, as_batch, with_common_codes
from clgeom.intake.typing import DeviceLike, NDArray
from clgeom.sequences import fronts, pairs_bits, warping
from clgeom.sequences.bits import BitTable
from clgeom.sequences.pairs_bits import INT32, cutoff_of

if TYPE_CHECKING:
    from clgeom.core.device import Session

#: Most rows of a block, and pairs of it: their values are 16 MiB.
SIDE = 2048
MOST_PAIRS = 1 << 22
#: Most bytes of a matrix, by default.
MOST_BYTES = 1 << 30
#: Pairs of a block of related sequences that are computed together, and letters of pairs that are copied for tables.
PLACED, MOST_COPIED = 1 << 18, 1 << 26
NONE = np.iinfo(np.int64).max
#: Rows and columns, and the values of all pairs of them.
Block: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


@keeps_subnormals
@dataclass(frozen=True)
class FoundPairs:
    """The pairs within a cutoff, by row and then by column; a result of `cdist`.

    Attributes
    ----------
    rows, columns : ndarray of int64, shape (pairs,)
    values : ndarray of int32, shape (pairs,)
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
        Of series float32 or float64.

    Examples
    --------
    >>> from clgeom import dp
    >>> near = dp.cdist(["ACGT", "TTTT"], ["ACGA", "TTT", "GGGG"], nearest=2)
    >>> near.columns.tolist(), near.values.tolist()
    ([[0, 1], [1, 0]], [[1, 3], [1, 4]])
    """

    columns: NDArray[Any] = field(repr=False)
    values: NDArray[Any] = field(repr=False)


@keeps_subnormals
@takes_cuda
def cdist(
    a: Any,
    b: Any = None,
    *,
    problem: Literal["edit", "lcs", "dtw"] = "edit",
    score_cutoff: int | None = None,
    window: int | None = None,
    cost: warping.Cost = "squared",
    nearest: int | None = None,
    sparse: bool = False,
    most_bytes: int = MOST_BYTES,
    device: DeviceLike = None,
) -> NDArray[Any] | FoundPairs | Neighbours:
    """Edit distance, or length of the longest common subsequence, of each sequence of one batch with each of another;
    or the distance of each time series with each by dynamic time warping.

    Parameters
    ----------
    a, b : list of str or of bytes, array of strings, or (letters, offsets)
        As in `edit_distance`. Without `b` the pairs are those of `a` with itself, but each sequence with itself is
        found neither by `nearest` nor by `sparse`, and `sparse` finds each pair once, with row < column. For "dtw" many
        series as in `dtw`; rows of an array of two dimensions are series.
    problem : {"edit", "lcs", "dtw"}
    score_cutoff : int, optional
        The largest distance, or the least length, that matters: as in `edit_distance` and `lcs`. For distances it also
        saves pairs whose lengths differ by more. Not for "dtw".
    window, cost
        As in `dtw`; for "dtw" only.
    nearest : int, optional
        Find this many sequences of `b` with the least distances, or the greatest lengths, for each sequence of `a`.
    sparse : bool
        Find the pairs within the cutoff only.
    most_bytes : int
        Most bytes of the matrix; refused with `nearest` and `sparse`, which make none.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    ndarray of int32 (of series: float32 or float64), shape (len(a), len(b)), or FoundPairs, or Neighbours
        With `nearest` and `sparse` a block of the matrix is in memory at a time.

    Raises
    ------
    InvalidInput
        Something is no batch; the matrix is larger than `most_bytes`; `sparse` is without a cutoff, or with `nearest`.

    See Also
    --------
    clgeom.dp.problems.edit_distance, clgeom.dp.problems.dtw : Pairs one by one.
    clgeom.align : Gaps, matrices and paths.

    Examples
    --------
    >>> from clgeom import dp
    >>> dp.cdist(["ACGT", "TTTT"], ["ACGA", "TTT", "GGGG"]).tolist()
    [[1, 3, 3], [4, 1, 4]]
    >>> dp.cdist([[0, 1, 2], [0, 2, 2, 3]], [[1.0, 2, 2]], problem="dtw", cost="absolute").tolist()
    [[1.0], [2.0]]
    """
    one_of(problem, ("edit", "lcs", "dtw"), "problem", caller="cdist")
    if problem == "dtw":
        absent(score_cutoff, "score_cutoff", "with problem='dtw'", caller="cdist")
        absent(sparse, "sparse", "with problem='dtw'", caller="cdist", default=False)
        return _of_series(a, b, warping.Rules.of(cost, window, caller="cdist"), nearest, most_bytes, as_session(device))
    absent(window, "window", f"with problem={problem!r}", caller="cdist")
    absent(cost, "cost", f"with problem={problem!r}", caller="cdist", default="squared")
    cutoff = cutoff_of(score_cutoff, caller="cdist")
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
        _require_room(
            shape, 4, most_bytes, "Ask for the 'nearest' ones, or for 'sparse' pairs within a 'score_cutoff'."
        )
    blocks = _blocks(as_session(device), problem, first, second, cutoff, symmetric) if all(shape) else iter(())
    if sparse:
        return _sparse(blocks, shape, problem, cutoff, symmetric)
    if k is not None:
        return _nearest(blocks, shape, problem, cutoff, symmetric, k)
    matrix = np.full(shape, _beyond(problem, cutoff), np.int32)
    for rows, columns, values in blocks:
        matrix[np.ix_(rows, columns)] = pairs_bits.apply_cutoff(values, problem, cutoff)
    return matrix


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
    blocks: Iterator[Block], shape: tuple[int, int], problem: str, cutoff: int | None, symmetric: bool
) -> FoundPairs:
    """Return the pairs within the cutoff."""
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32))]
    for rows, columns, values in blocks:
        within = _is_within(values, problem, cutoff)
        if symmetric:
            within &= rows[:, None] < columns
        i, j = np.nonzero(within)
        found.append((rows[i], columns[j], values[i, j]))
    rows, columns, values = map(np.concatenate, zip(*found))
    order = np.lexsort((columns, rows))
    return FoundPairs(rows[order], columns[order], values[order], shape)


def _nearest(
    blocks: Iterator[Block], shape: tuple[int, int], problem: str, cutoff: int | None, symmetric: bool, k: int
) -> Neighbours:
    """Return the k best of each row. They are kept as keys: the value, or for lengths what it lacks, and the column."""
    k = min(k, max(shape[1] - symmetric, 0))
    nearest = np.full((shape[0], k), NONE)
    for rows, columns, values in blocks if k else ():
        lacks = INT32 - values.astype(np.int64) if problem == "lcs" else values.astype(np.int64)
        keys = lacks * shape[1] + columns
        if cutoff is not None:
            keys[~_is_within(values, problem, cutoff)] = NONE
        if symmetric:
            keys[rows[:, None] == columns] = NONE
        both = np.concatenate([nearest[rows], keys], axis=1)
        nearest[rows] = np.partition(both, k, axis=1)[:, :k]
    nearest.sort(axis=1)
    absent = nearest == NONE
    found, columns = np.divmod(nearest, max(shape[1], 1))
    found = INT32 - found if problem == "lcs" else found
    found[absent] = _beyond(problem, cutoff)
    return Neighbours(np.where(absent, -1, columns), found.astype(np.int32))


def _is_within(values: np.ndarray, problem: str, cutoff: Any) -> np.ndarray:
    """Return whether values are within the cutoff."""
    return np.asarray(values >= cutoff if problem == "lcs" else values <= cutoff)


def _beyond(problem: str, cutoff: int | None) -> int:
    """Return the value of pairs beyond the cutoff."""
    return 0 if problem == "lcs" or cutoff is None else min(cutoff, INT32 - 1) + 1


# Blocks -----------------------------------------------------------------------------------------------------------


def _blocks(
    session: Session, problem: str, a: Sequences, b: Sequences, cutoff: int | None, symmetric: bool
) -> Iterator[Block]:
    """Yield (rows, columns, values) of blocks of the matrix, both sorted by length.

    Of a symmetric matrix each block off the diagonal is computed once; its transpose follows it.
    """
    pairs = pairs_bits.PairLetters(session, problem, a.letters, *(() if symmetric else (b.letters,)))
    most = min(MOST_PAIRS, session.profile.max_alloc_bytes // 8)
    n, m = a.lengths, b.lengths
    classes, order = pairs_bits.classes_by_work(pairs.policy, pairs.planes, n, n, pairs.word_bits)
    by_row = np.arange(len(a)) if order is None else order
    by_column = by_row if symmetric else np.argsort(m, kind="stable")
    side = min(SIDE, int(np.sqrt(most)))
    cuts = sorted({0, len(a), *(stop for _, stop, *_ in classes), *_long(n[by_row]), *range(0, len(a), side)})
    width = side if symmetric else max(most // min(side, len(a)), 1)
    across = cuts if symmetric else sorted({0, len(b), *_long(m[by_column]), *range(0, len(b), width)})
    starts = a.offsets[:-1], b.offsets[:-1] + (0 if symmetric else len(a.letters))
    columns_of = [by_column[k:stop] for k, stop in zip(across, across[1:])]
    for r, (begin, end) in enumerate(zip(cuts, cuts[1:])):
        rows = columns_of[r] if symmetric else by_row[begin:end]
        kind = next(c for c in classes if c[0] <= begin < c[1])
        for columns in columns_of[r:] if symmetric else columns_of:
            if _is_beyond(n[rows], m[columns], problem, cutoff):
                continue
            values = _by_fronts(session, problem, a, b, rows, columns, cutoff, symmetric)
            if values is not None:
                pass
            elif min(n[rows].min(), m[columns].min()) > pairs_bits.MOST_LETTERS:
                one_by_one = [[BitTable(session, problem, a[i], b[j]).solve() for j in columns] for i in rows]
                values = np.array(one_by_one, np.int32)
            else:
                out = Scratch("out", np.int32, len(rows) * len(columns))
                per_row = m[columns].sum(dtype=np.float64) * np.maximum(n[rows] / pairs.word_bits, kind[2])
                bounds = [cut * len(columns) for cut in pairs_bits.launch_bounds(per_row)]
                where = "rows", "columns", np.uint32(len(columns))
                plan = pairs.plan(*kind[2:], bounds=bounds, longest=int(m[columns].max()), out=out, where=where)
                buffers: dict[str, Any] = dict(pairs.buffers)
                for name, start, length, at in (("rows", starts[0], n, rows), ("columns", starts[1], m, columns)):
                    spans = np.stack([start[at], length[at]], axis=1)
                    buffers[name] = pairs_bits.upload_flat(session, spans.astype(np.uint32))
                values = run(session, plan, paced=len(plan) > 1, **buffers).read(out).reshape(len(rows), len(columns))
            yield rows, columns, values
            if symmetric and rows is not columns:
                yield columns, rows, values.T


def _by_fronts(
    session: Session,
    problem: str,
    a: Sequences,
    b: Sequences,
    rows: np.ndarray,
    columns: np.ndarray,
    cutoff: int | None,
    symmetric: bool,
) -> np.ndarray | None:
    """Return the values of a block of long sequences most of which are related, or None."""
    n, m, own, width = a.lengths[rows], b.lengths[columns], rows is columns, len(columns)
    first = 0 if symmetric else len(a.letters)
    median = int(min(n[len(n) // 2], m[width // 2]))  # both ascend
    size = (first + len(b.letters)) * a.letters.dtype.itemsize + PLACED * pairs_bits.JOB_BYTES
    has_room = size <= min(session.profile.max_alloc_bytes, 1 << 32) - 64
    if not has_room or not fronts.may_pay(session, median, lambda: float(n.sum()) * float(m.sum())):
        return None
    parts, values = ((b.letters,) if symmetric else (a.letters, b.letters)), np.empty((len(rows), width), np.int32)
    order = np.random.default_rng(0).permutation(len(rows) * width)  # any pairs are a sample
    if own:
        np.fill_diagonal(values, n if problem == "lcs" else 0)
        order = order[order // width < order % width]
    for begin in range(0, len(order), PLACED):
        i, j = np.divmod(order[begin : begin + PLACED], width)
        places = np.stack([a.offsets[rows[i]], n[i], first + b.offsets[columns[j]], m[j]], axis=1)
        try:
            found = fronts.solve_places(session, problem, parts, places, cutoff)
        except DeviceLimit:  # too little memory
            return None
        left = np.flatnonzero(found < 0)
        if 2 * len(left) > len(found):
            return None
        step = max(MOST_COPIED // int(n.max() + m.max()), 1)
        for some in (left[k : k + step] for k in range(0, len(left), step)):
            pairs = a.picked(rows[i[some]]), b.picked(columns[j[some]])
            found[some] = pairs_bits.solve_by_tables(session, problem, *pairs)
        values[i, j] = found
        if own:
            values[j, i] = found
    return values


def _long(lengths: np.ndarray) -> tuple[int]:
    """Return where sequences too long for a work-item begin, of ascending lengths."""
    return (int(np.searchsorted(lengths, pairs_bits.MOST_LETTERS, side="right")),)


def _is_beyond(n: np.ndarray, m: np.ndarray, problem: str, cutoff: int | None) -> bool:
    """Return whether the lengths alone show that no pair of a block is within the cutoff."""
    if cutoff is None:
        return False
    if problem == "lcs":
        return bool(min(n.max(), m.max()) < cutoff)
    return max(int(n.min()) - int(m.max()), int(m.min()) - int(n.max())) > cutoff
