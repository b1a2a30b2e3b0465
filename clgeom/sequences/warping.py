"""Dynamic time warping of time series: of two of them by an equation, of many pairs by a lane of a kernel for each.

series ─> one array of values, offsets ─> blocks of series of similar lengths, step by step ─> a job for each block
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from clgeom.arguments import boolean, finite, one_of, whole_number, wrong
from clgeom.core.device import as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.functions import absolute, minimum, sum_over, where, which_min
from clgeom.dp.problems.recurrence import fill, traceback
from clgeom.errors import InvalidInput
from clgeom.intake.arrays import c_name, host_values
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.intake.letters import offsets_of
from clgeom.intake.typing import DeviceLike, NDArray
from clgeom.sequences.pairs_bits import upload_flat

if TYPE_CHECKING:
    from clgeom.core.device import Session

KERNEL = "sequences/warping"
COSTS = ("squared", "absolute")
Cost: TypeAlias = Literal["squared", "absolute"]
SERIES = "an array of numbers, of shape (steps,) or (steps, dimensions)"
#: Most values of a launch's results, and cells of a launch for each compute unit that it keeps busy.
MOST_VALUES, MOST_CELLS = 1 << 22, 1 << 31
#: Two series of so many cells are filled by tiles, in which all of a device works on one table.
LEAST_TILED = 1 << 16


@keeps_subnormals
@dataclass(frozen=True)
class Warping:
    """The result of `dtw`.

    Attributes
    ----------
    distance : float
    path : ndarray of int64, shape (length, 2), or None
        The steps of `a` and of `b` that are matched, in order. None without ``path=True``.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> found = problems.dtw([0, 1, 2, 3], [0, 0, 1, 3], path=True)
    >>> found.distance, found.path.tolist()
    (1.0, [[0, 0], [0, 1], [1, 2], [2, 2], [3, 3]])
    """

    distance: float
    path: NDArray[Any] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Series:
    """Many series: their values, of shape (steps of all, dimensions), and where each begins."""

    values: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def of_type(self, dtype: np.dtype[Any]) -> Series:
        """Return the series with values of this type."""
        return Series(self.values.astype(dtype, copy=False), self.offsets)


@dataclass(frozen=True)
class Rules:
    """What cells cost, and which of them a path may take."""

    cost: Cost = "squared"
    window: int | None = None
    open_begin: bool = False
    open_end: bool = False

    @classmethod
    def of(cls, cost: Any, window: Any, open_begin: Any = False, open_end: Any = False, *, caller: str) -> Rules:
        """Return the rules of parameters that a user gave."""
        one_of(cost, COSTS, "cost", caller=caller)
        if window is not None:
            window = whole_number(window, "window", caller=caller, most=1 << 30)
        ends = (boolean(end, f"open_{name}", caller=caller) for name, end in (("begin", open_begin), ("end", open_end)))
        return cls(cost, window, *ends)

    def distances(self, sums: np.ndarray) -> np.ndarray:
        """Return the distances of sums of costs."""
        return np.sqrt(sums) if self.cost == "squared" else sums

    def band(self, n: int, m: int) -> tuple[int, int] | None:
        """Return the lowest and the highest column less row that a path may take; None for all."""
        if self.window is None:
            return None
        return -self.window - max(n - m, 0), self.window + max(m - n, 0)


@keeps_subnormals
def dtw(
    a: Any,
    b: Any,
    *,
    window: int | None = None,
    cost: Cost = "squared",
    open_begin: bool = False,
    open_end: bool = False,
    path: bool = False,
    device: DeviceLike = None,
) -> Warping | NDArray[Any]:
    """Distance of two time series by dynamic time warping, or of each of many pairs of them.

    A path matches the first steps of both series, goes on by a step in one or in both, and ends with the last steps.
    The distance is that of the cheapest path. Of equally cheap paths the result is the one that, from its end, takes a
    step in both first, then one in `a`.

    Parameters
    ----------
    a, b : array_like, or list of array_like, or (values, offsets)
        Two series: numbers of shape (steps,), or (steps, dimensions). Many pairs: two lists of as many series, two
        arrays of shape (pairs, steps, dimensions), or values with the offsets at which series begin. float32 is
        computed in float32, all else in float64.
    window : int, optional
        A path stays within so many steps of the diagonal (Sakoe and Chiba); of series of different lengths within so
        many of both diagonals, from the first steps and to the last ones. `window` of dtaidistance is one more.
    cost : {"squared", "absolute"}
        The cost of matched steps is the sum over dimensions of the squares, or sizes, of their differences. With
        "squared" the distance is the root of the cheapest sum.
    open_begin, open_end : bool
        `a` may match any part of `b`: steps of `b` before its first or after its last match are left out.
    path : bool
        Return the path, of two series.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Warping, or ndarray of float32 or float64, shape (pairs,)

    Raises
    ------
    InvalidInput
        A series is empty, has an infinity or NaN, or other dimensions than the others; the numbers of series differ;
        `path` is given with many pairs.
    DeviceLimit
        Series of float64 on a device that has none: give float32.

    See Also
    --------
    clgeom.dp.cdist : All pairs of two lists of series, with ``problem="dtw"``.

    Notes
    -----
    Sums are those of IEEE arithmetic in the order of the path, so every device returns the same bits.

    Examples
    --------
    >>> import numpy as np
    >>> from clgeom.dp import problems
    >>> problems.dtw([0.0, 1, 2, 3], [0.0, 0, 1, 3]).distance
    1.0
    >>> walks = np.arange(12.0).reshape(2, 6)
    >>> problems.dtw(list(walks), list(walks[::-1] + 1), window=1).tolist()
    [16.673332000533065, 11.40175425099138]
    >>> problems.dtw([5, 6], [1, 5, 6, 2], open_begin=True, open_end=True).distance
    0.0
    """
    rules = Rules.of(cost, window, open_begin, open_end, caller="dtw")
    path = boolean(path, "path", caller="dtw")
    many = [_is_many(value) for value in (a, b)]
    if many[0] != many[1]:
        raise InvalidInput("The parameters 'a' and 'b' of dtw must both be one series, or both be many.")
    first, second = in_one_type(*(_taken(value, name, many[0], "dtw") for name, value in (("a", a), ("b", b))))
    session = as_session(device)
    if not many[0]:
        return _warp(session, first.values, second.values, rules, path)
    if path:
        raise wrong("path", "dtw", "left out with many pairs", path)
    if len(first) != len(second):
        raise wrong("b", "dtw", f"as many series as 'a', {len(first):,}", f"{len(second):,}")
    return rules.distances(_sums_of_pairs(session, first, second, rules))


# Two series -------------------------------------------------------------------------------------------------------

#: The steps back from a cell by its choice: in both, in `a`, in `b`, none.
MOVES = ((-1, -1), (-1, 0), (0, -1), None)


@functools.lru_cache
def equation_of(dtype: str, cost: Cost, open_begin: bool, dims: int | None) -> Equation:
    """Return the equation of sums of costs; rows are steps of the first series. `dims` None: a parameter."""

    def warping(M: Any, i: Any, j: Any, a: Any, b: Any, dims_of: Any) -> Any:
        def apart(d: Any) -> Any:
            by = a[i, d] - b[j, d]
            return absolute(by) if cost == "absolute" else by * by

        own = apart(0) if dims == 1 else sum_over("d", 0, dims_of, apart)
        before = M[i - 1, j - 1], M[i - 1, j], M[i, j - 1]
        starts = (i == 0) if open_begin else (i == 0) & (j == 0)
        value = where(i == 0, before[2], where(j == 0, before[1], minimum(*before)))
        choice = where(i == 0, 2, where(j == 0, 1, which_min(*before)))
        return where(starts, own, own + value), where(starts, 3, choice)

    types = {"a": f"{dtype}[,]", "b": f"{dtype}[,]", "dims_of": "int32"}
    return Equation(warping, dtype=dtype, pattern="NOSE", parameters=types, decisions=4, name="warping")


def _warp(session: Session, a: np.ndarray, b: np.ndarray, rules: Rules, path: bool) -> Warping:
    """Return the distance of two series, and the path if it is asked for."""
    if not path and len(a) * len(b) < LEAST_TILED:
        first, second = (Series(one, np.array([0, len(one)])) for one in (a, b))
        return Warping(float(rules.distances(_sums_of_pairs(session, first, second, rules))[0]))
    if a.dtype == np.float64:
        session.profile.require_fp64("dtw")
    dims = a.shape[1]
    equation = equation_of(a.dtype.name, rules.cost, rules.open_begin, 1 if dims == 1 else None)
    band, end = rules.band(len(a), len(b)), len(b)
    given: dict[str, Any] = {"values": {"dims_of": dims, "a": a}, "device": session}
    if band is not None:
        given |= {"band": band, "outside": np.inf}
    if rules.open_end or not path:
        row = fill(equation, (len(a), len(b)), keep="last", b=b, **given).last
        lowest = max(len(a) - 1 + band[0], 0) if band else 0  # all columns of the band may have infinite sums
        end = lowest + int(np.argmin(row[lowest:])) + 1 if rules.open_end else end
        best = row[end - 1]
    cells = None
    if path:
        found = traceback(equation, (len(a), end), MOVES, b=b[:end], **given)
        cells, best = found.cells[::-1], found.value
    return Warping(float(rules.distances(np.asarray(best, a.dtype))), cells)


# Many pairs -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Blocks:
    """Series by blocks of `width` lanes, those of a block step by step: (first step + step, dimension, lane).

    `order`: The number of the series of each lane of all blocks; the lanes after the last series repeat it.
    `begins`, `most`, `least`: The first step of each block, and its greatest and least length.
    """

    values: np.ndarray
    order: np.ndarray
    lengths: np.ndarray
    begins: np.ndarray
    most: np.ndarray
    least: np.ndarray

    @classmethod
    def of(cls, series: Series, order: np.ndarray, width: int) -> Blocks:
        """Return the series in this order, by blocks."""
        count = ceil_div(len(order), width)
        order = order[np.minimum(np.arange(count * width), len(order) - 1)]
        lengths = series.lengths[order]
        most, least = (reduce(lengths.reshape(count, width), axis=1) for reduce in (np.max, np.min))
        begins = np.append(0, np.cumsum(most))
        step = ragged_range(lengths)
        lane = np.repeat(np.arange(len(order)), lengths)
        values = np.zeros((begins[-1], series.values.shape[1], width), series.values.dtype)
        values[begins[lane // width] + step, :, lane % width] = series.values[series.offsets[order[lane]] + step]
        return cls(values, order, lengths.astype(np.int32), begins[:-1], most, least)


def ragged_range(lengths: np.ndarray) -> np.ndarray:
    """0 .. length - 1 of each length, one after another."""
    ends = np.cumsum(lengths)
    within: np.ndarray = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    return within


@dataclass(frozen=True)
class Kernel:
    """The kernel for blocks of pairs with these rules on a device, its blocks of `b` and what stands for `a`."""

    session: Session
    rules: Rules
    a: Any
    blocks: Blocks
    grid: bool
    buffers: dict[str, Any]

    @classmethod
    def of(cls, session: Session, rules: Rules, a: Any, blocks: Blocks, grid: bool) -> Kernel:
        """Return it with its values on the device; `a` are series for a grid, else blocks of them."""
        if blocks.values.dtype == np.float64:
            session.profile.require_fp64("dtw")
        buffers = {"a": a.values, "b": blocks.values, "columns": blocks.lengths}
        buffers["rows"] = np.zeros(1, np.int32) if grid else a.lengths
        return cls(session, rules, a, blocks, grid, {name: upload_flat(session, x) for name, x in buffers.items()})

    def sums(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the sums of costs of jobs, of shape (jobs, width): series (or block) of `a`, block of `b`."""
        width, a, b, rules = width_of(self.session, self.blocks.values.dtype), self.a, self.blocks, self.rules
        if self.grid:
            begins, most, least = a.offsets[:-1][rows], a.lengths[rows], a.lengths[rows]
        else:
            begins, most, least = a.begins[rows], a.most[rows], a.least[rows]
        jobs = np.stack(
            [begins, most, rows, least, b.begins[columns], b.most[columns], columns, b.least[columns]], axis=1
        )
        policy = select(self.session.profile, KERNEL, b.values.dtype)
        cells = most * np.minimum(b.most[columns], 2 * rules.window + 8 if rules.window is not None else 1 << 30)
        limit = MOST_CELLS * self.session.profile.compute_units // width
        cuts = np.searchsorted(np.cumsum(cells), np.arange(limit, cells.sum(), limit))
        groups, longest = policy.groups(len(jobs), self.session.profile.compute_units), int(b.most[columns].max())
        dtype = b.values.dtype
        room = self.session.profile.max_alloc_bytes // (longest * width * dtype.itemsize)
        groups = max(min(groups, room), 1)
        carries, out = Scratch("carries", dtype, groups * longest * width), Scratch("out", dtype, len(jobs) * width)
        params = {
            "type": c_name(dtype),
            "absolute": rules.cost == "absolute",
            "dims": b.values.shape[1],
            "grid": self.grid,
            "windowed": rules.window is not None,
            "open_begin": rules.open_begin,
            "open_end": rules.open_end,
        }
        steps = [
            Step(
                KERNEL,
                policy,
                (
                    *("a", "b", "jobs", "rows", "columns", np.int32(begin), np.int32(stop)),
                    *(np.int32(rules.window or 0), carries, np.int32(longest), out),
                ),
                groups,
                params,
            )
            for begin, stop in itertools.pairwise(sorted({0, *cuts.tolist(), len(jobs)}))
        ]
        held = upload_flat(self.session, jobs.astype(np.int32))
        found = run(self.session, Plan(*steps), paced=len(steps) > 1, jobs=held, **self.buffers)
        return found.read(out).reshape(len(jobs), width)


def width_of(session: Session, dtype: np.dtype[Any]) -> int:
    """Return the pairs of a block: the lanes of vectors of up to 32 bytes, or the work-items of a group."""
    policy = select(session.profile, KERNEL, dtype)
    return policy.wg_size if policy.variant == "group" else min(policy.items_per_thread, 32 // dtype.itemsize)


def _sums_of_pairs(session: Session, a: Series, b: Series, rules: Rules) -> np.ndarray:
    """Return the sum of costs of each pair."""
    sums = np.empty(len(a), a.values.dtype)
    if len(a) == 0:
        return sums
    # lanes of a block take as long, and as much memory, as its longest series
    order = np.lexsort((a.lengths, b.lengths, np.frexp(a.lengths)[1]))
    width = width_of(session, a.values.dtype)
    for part in _parts(order, (a.lengths + b.lengths) * a.values[:1].nbytes, session, width):
        rows, columns = (Blocks.of(one, part, width) for one in (a, b))
        kernel = Kernel.of(session, rules, rows, columns, grid=False)
        jobs = np.arange(len(columns.begins))
        sums[columns.order] = kernel.sums(jobs, jobs).ravel()
    return sums


def _parts(order: np.ndarray, nbytes: np.ndarray, session: Session, width: int) -> Iterator[np.ndarray]:
    """Yield parts of pairs whose values fit in a buffer, and whose results are not too many."""
    limit = session.profile.max_alloc_bytes // (2 * width)
    done = np.cumsum(nbytes[order])
    first = 0
    while first < len(order):
        room = limit * width + (done[first - 1] if first else 0)
        stop = max(int(np.searchsorted(done, room, side="right")), first + 1)
        yield order[first : min(stop, first + MOST_VALUES)]
        first = min(stop, first + MOST_VALUES)


def all_distances(session: Session, a: Series, b: Series | None, rules: Rules) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield (rows, columns, distances) of all pairs of series; without `b` of pairs in `a`, each at least once."""
    width, symmetric = width_of(session, a.values.dtype), b is None
    second = a if b is None else b
    if not len(a) or not len(second):
        return
    by_column = np.argsort(second.lengths, kind="stable")
    by_row = by_column if symmetric else np.argsort(a.lengths, kind="stable")
    blocks = Blocks.of(second, by_column, width)
    kernel = Kernel.of(session, rules, a, blocks, grid=True)
    ends = np.minimum(np.arange(1, len(blocks.begins) + 1) * width, len(by_column))
    at_once = max(MOST_VALUES // (len(ends) * width), 1)
    for begin in range(0, len(by_row), at_once):
        places = np.arange(begin, min(begin + at_once, len(by_row)))
        wanted = np.ones((len(places), len(ends)), bool)
        if symmetric:
            wanted = ends > places[:, None]
        i, block = np.nonzero(wanted)
        sums = kernel.sums(by_row[places[i]], block)
        columns = block[:, None] * width + np.arange(width)
        inside = columns < len(by_column)
        rows = np.broadcast_to(by_row[places[i]][:, None], columns.shape)[inside]
        yield rows, by_column[columns[inside]], rules.distances(sums[inside])


# Series that users give -------------------------------------------------------------------------------------------


def _is_many(value: Any) -> bool:
    """Return whether a value is many series: a list of arrays or lists, three dimensions, or values with offsets."""
    if isinstance(value, (list, tuple)):
        return len(value) == 0 or _has_steps(value[0])
    return len(getattr(value, "shape", ())) == 3


def _has_steps(value: Any) -> bool:
    """Return whether a value is no single number."""
    return isinstance(value, (list, tuple)) or np.ndim(value) > 0


def many_series(value: Any, name: str, *, caller: str) -> Series:
    """Return many series; the rows of an array of two dimensions are series of one."""
    if len(getattr(value, "shape", ())) == 2:
        values = _numbers(value, name, caller)
        return _whole(values.reshape(-1, 1), np.arange(len(values) + 1) * values.shape[1], name, caller)
    return _taken(value, name, True, caller)


def _taken(value: Any, name: str, many: bool, caller: str) -> Series:
    """Return the series of a value, one or many."""
    if not many:
        values = _of_steps(value, name, caller)
        return _whole(values, np.array([0, len(values)]), name, caller)
    if isinstance(value, tuple) and len(value) == 2 and _has_steps(value[0]) and not isinstance(value[1], list):
        values = _of_steps(value[0], name, caller)
        offsets = offsets_of(value[1], len(values), f"offsets in the '{name}' parameter of {caller}")
        return _whole(values, np.asarray(offsets, np.int64), name, caller)
    if hasattr(value, "shape"):
        values = _numbers(value, name, caller)
        if values.ndim != 3:
            raise wrong(name, caller, "an array of shape (series, steps, dimensions), or a list", values.shape)
        count, steps, dims = values.shape
        return _whole(values.reshape(-1, dims), np.arange(count + 1) * steps, name, caller)
    if not isinstance(value, (list, tuple)):
        raise wrong(name, caller, "a list of series", type(value).__name__)
    each = [_of_steps(one, name, caller) for one in value]
    dims = {one.shape[1] for one in each}
    if len(dims) > 1:
        raise wrong(name, caller, "series of as many dimensions", f"series of {min(dims)} and {max(dims)}")
    offsets = np.append(0, np.cumsum([len(one) for one in each])).astype(np.int64)
    return _whole(np.concatenate(each) if each else np.empty((0, 1)), offsets, name, caller)


def _whole(values: np.ndarray, offsets: np.ndarray, name: str, caller: str) -> Series:
    """Return series whose values are finite floats; refuse empty ones."""
    series = Series(np.ascontiguousarray(values), offsets)
    if len(series) and series.lengths.min() == 0:
        raise wrong(name, caller, "of at least one step", f"no step of series {int(np.argmin(series.lengths)):,}")
    if len(values) * values.shape[1] >= 1 << 31:
        raise InvalidInput(f"The '{name}' parameter of {caller} has {values.size:,} values, and 2**31 - 1 is the most.")
    finite(series.values, name, caller=caller)
    return series


def _of_steps(value: Any, name: str, caller: str) -> np.ndarray:
    """Return a series as an array of shape (steps, dimensions)."""
    values = _numbers(value, name, caller)
    if values.ndim not in (1, 2) or (values.ndim == 2 and not values.shape[1]):
        raise wrong(name, caller, SERIES, f"shape {values.shape}")
    return values.reshape(len(values), -1) if len(values) else np.empty((0, 1), values.dtype)


def _numbers(value: Any, name: str, caller: str) -> np.ndarray:
    """Return numbers as an array of float32 or float64."""
    if is_device_array(value):
        value = fetched(value, caller=caller, name=name)
    values = host_values(value, caller=caller, name=name, expected=SERIES)
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise wrong(name, caller, SERIES, f"type {values.dtype}")
    return values.astype(np.float32 if values.dtype == np.float32 else np.float64, copy=False)


def in_one_type(a: Series, b: Series) -> tuple[Series, Series]:
    """Return both with values of the wider type; refuse other dimensions."""
    dtype = np.result_type(a.values.dtype, b.values.dtype)
    if len(a) and len(b) and a.values.shape[1] != b.values.shape[1]:
        raise InvalidInput(
            f"The series of 'a' have {a.values.shape[1]} dimensions, and those of 'b' {b.values.shape[1]}."
        )
    return a.of_type(dtype), b.of_type(dtype)
