"""Reductions over the cells of a table, and the search for cells, on the device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import one_of, wrong
from clgeom.core import launch
from clgeom.core.plan import Scratch
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.dp.table.regions import Region
from clgeom.errors import IntegerOverflow, InvalidInput, short
from clgeom.intake.arrays import c_name
from clgeom.intake.typing import NDArray

if TYPE_CHECKING:
    from clgeom.dp.table.stores import CellStore

REDUCE, ACROSS, SELECT = "dp/table/reduce_cells", "dp/table/reduce_across", "dp/table/select_cells"
#: Comparisons in the order of dp/dp_over.h, which are those of Python.
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
EQ, NE, LT, LE, GT, GE = range(6)
HOLDS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
#: Most cells of a launch, which then takes some tenths of a second on two cores.
LAUNCH_CELLS = 1 << 27
#: Most partial results of a launch that the host reads and joins, besides one for each line.
PARTIAL = 1 << 12
#: Most cells of floats whose sum the host finds sooner than a launch, and most lines of a launch for sums: a state of a
#: sum of float64 takes 552 bytes.
FEW, LINES = 1 << 12, 1 << 14
#: Least cells of a part of a line.
PART = 1 << 12
NOWHERE = np.uint64(2**64 - 1)


def reduce_region(
    store: CellStore, region: Region, axis: int | None, op: str, comparison: int = EQ, bound: Any = 0
) -> Any:
    """Return the result of a reduction of a region of a `CellStore`, over all cells or over an axis, with NumPy's type.

    `op` is "min", "max", "argmin", "argmax", "sum" or "count" (of the cells for which a comparison with a bound holds).
    """
    shape = () if axis is None else (region.sides[1 - axis],)
    empty = region.cells == 0
    none = empty if axis is None else region.sides[axis] == 0
    if none and op in ("min", "max", "argmin", "argmax"):
        raise InvalidInput(
            f"{op} needs at least one cell. Got a region of {region.sides[0]} x {region.sides[1]} cells."
        )
    if empty:
        return np.zeros(shape, result_type(store.dtype, op))
    with store.in_place() as values:
        if values is not None and (not is_exact(store.dtype, op) or region.cells <= FEW):
            return reduce_array(values[region.slices], axis, op, comparison, store.dtype.type(bound))
    if axis is None:
        parts = []
        for first, part in region.parts(0, LAUNCH_CELLS):
            states = _partial_states(store, part, None, op, comparison, bound)
            if op in ("argmin", "argmax"):  # numbers of cells in the whole region
                states["at"][states["at"] != NOWHERE] += np.uint64(first * region.sides[1])
            parts.append(states)
        return _join(np.concatenate(parts)[None], store.dtype, op)[0]
    most = min(LAUNCH_CELLS, LINES * region.sides[axis]) if is_exact(store.dtype, op) else LAUNCH_CELLS
    parts = [_partial_states(store, part, axis, op, comparison, bound) for _, part in region.parts(1 - axis, most)]
    return np.concatenate([_join(part, store.dtype, op) for part in parts])


def is_exact(dtype: np.dtype[Any], op: str) -> bool:
    """Return whether a result is a sum of floats, which are added exactly, since their order is that of the device."""
    return op == "sum" and dtype.kind == "f"


def may_wrap(store: CellStore, region: Region, axis: int | None) -> bool:
    """Return whether a sum of integers may have left its type: the least and the largest cell do not exclude it."""
    if store.dtype.itemsize < 8 or not region.cells:
        return False
    cells = region.cells if axis is None else region.sides[axis]
    ends = [np.abs(reduce_region(store, region, axis, op).astype(np.float64)) for op in ("min", "max")]
    return bool((np.maximum(*ends) * cells > 2.0**62).any())


def check_sums(part: NDArray[Any], axis: int | None) -> None:
    """Raise `IntegerOverflow` for a sum of cells of 64 bits that its type does not hold."""
    limits, half = np.iinfo(part.dtype), part.dtype.type(32)
    high = np.asarray((part >> half).sum(axis)).ravel().tolist()
    low = np.asarray((part & part.dtype.type(0xFFFFFFFF)).sum(axis)).ravel().tolist()
    for k, (more, less) in enumerate(zip(high, low)):
        total = (more << 32) + less
        if not limits.min <= total <= limits.max:
            line = "" if axis is None else f" of {('column', 'row')[axis]} {k} of the region"
            raise IntegerOverflow(f"The sum{line} is {total}, which {part.dtype} does not hold. Sum a smaller region.")


def reduce_array(part: NDArray[Any], axis: int | None, op: str, comparison: int = EQ, bound: Any = 0) -> Any:
    """Return the same of cells in the memory of the host, whose cores read no faster by a kernel."""
    if op == "count":
        return np.asarray(np.count_nonzero(HOLDS[comparison](part, bound), axis), np.int64)
    with np.errstate(all="ignore"):
        if is_exact(part.dtype, op):
            lines = part.reshape(1, -1) if axis is None else np.moveaxis(part, axis, 1)
            sums = np.array([_sum_of(line) for line in lines.tolist()], np.float64).astype(part.dtype)
            return sums[0] if axis is None else sums
        if op in ("min", "max"):
            return _extreme(part, axis, op)
        return np.asarray(getattr(part, op)(axis)).astype(result_type(part.dtype, op), copy=False)


def _extreme(values: NDArray[Any], axis: int | None, op: str) -> Any:
    """NumPy's least or largest values; of zeros -0.0 is the least, and 0.0 the largest, which NumPy leaves open."""
    extremes = np.asarray(getattr(values, op)(axis))
    if values.dtype.kind != "f":
        return extremes
    extremes = np.where(np.isnan(extremes), values.dtype.type(np.nan), extremes)  # NaNs of one kind
    zeros = extremes == 0
    if not zeros.any():
        return extremes
    lines = values if axis is None else values.compress(zeros, axis=1 - axis)
    negative = ((lines == 0) & np.signbit(lines)) if op == "min" else ((lines == 0) & ~np.signbit(lines))
    sign = negative.any(axis) == (op == "min")
    extremes = extremes.copy()
    extremes[zeros] = np.where(sign, values.dtype.type(-0.0), values.dtype.type(0.0))
    return extremes


def result_type(dtype: np.dtype[Any], op: str) -> np.dtype[Any]:
    """Return the type of a result, as NumPy has it."""
    if op in ("argmin", "argmax", "count"):
        return np.dtype(np.int64)
    if op == "sum" and dtype.kind in "iu":
        return np.dtype(np.int64 if dtype.kind == "i" else np.uint64)
    return dtype


def _state_type(dtype: np.dtype[Any], op: str) -> np.dtype[Any]:
    """Return the states of dp/dp_over.h."""
    if op in ("argmin", "argmax"):
        return np.dtype([("value", dtype), ("at", np.uint64)], align=True)
    if is_exact(dtype, op):
        return np.dtype([("limbs", np.int64, 11 if dtype == np.float32 else 69)])
    return np.dtype([("value", np.uint64 if op in ("sum", "count") else dtype)])


def _join(states: NDArray[Any], dtype: np.dtype[Any], op: str) -> Any:
    """Return the result of each row of partial states, in the order of the cells."""
    if is_exact(dtype, op):
        return _sums_of_limbs(states["limbs"].sum(axis=1), dtype)
    value = states["value"]
    if op in ("min", "max"):
        return _extreme(value, 1, op)
    if op == "count":
        return value.sum(axis=1, dtype=np.uint64).astype(np.int64)
    if op == "sum":
        return value.sum(axis=1, dtype=np.uint64).view(result_type(dtype, op))
    some = states["at"] != NOWHERE
    extreme = np.fmax if op == "argmax" else np.fmin
    best = extreme.reduce(np.where(some, value, value[np.arange(len(value)), some.argmax(axis=1)][:, None]), axis=1)
    chosen = some & (value == best[:, None])
    if dtype.kind == "f":
        nan = some & np.isnan(value)
        chosen = np.where(nan.any(axis=1)[:, None], nan, chosen)
    return np.where(chosen, states["at"], NOWHERE).min(axis=1).astype(np.int64)


def _sum_of(numbers: Sequence[float]) -> float:
    """Return the sum of floats, rounded once."""
    try:
        total = math.fsum(numbers)
    except (OverflowError, ValueError):  # beyond float64 on the way, or infinities of both signs
        nonfinite = [x for x in numbers if not math.isfinite(x)]
        total = sum(nonfinite) if nonfinite else _rounded(sum(map(Fraction, numbers)))
    return math.nan if math.isnan(total) else total  # of one kind


def _rounded(total: Fraction | int) -> float:
    """Return the float next to a fraction."""
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _sums_of_limbs(limbs: NDArray[np.int64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the sums of floats from the limbs of dp/dp_over.h, a row of int64 each."""
    least = -149 if dtype == np.float32 else -1074
    limbs, (positive, negative) = limbs[:, :-2], limbs[:, -2:].T
    used = np.flatnonzero(limbs.any(axis=0))
    scales = 32 * used + least
    halves = [part[:, used].astype(np.float64) for part in (limbs >> 32, limbs & 0xFFFFFFFF)]
    with np.errstate(all="ignore"):
        terms = np.concatenate([np.ldexp(half, scales + by) for half, by in zip(halves, (32, 0))], axis=1)
        if np.isfinite(terms).all():
            sums = [_sum_of(row) for row in terms.tolist()]
        else:
            unit = Fraction(2) ** least
            sums = [_rounded(sum(limb << 32 * k for k, limb in enumerate(row)) * unit) for row in limbs.tolist()]
        totals = np.where(positive > 0, np.inf, sums)
        return np.where(negative > 0, np.where(positive > 0, np.nan, -np.inf), totals).astype(dtype)


def _neutral_element(dtype: np.dtype[Any], op: str) -> Any:
    if op in ("sum", "count"):
        return (dtype if dtype.kind == "f" and op == "sum" else np.dtype(np.uint64)).type(0)
    lowest = op in ("max", "argmax")
    if dtype.kind == "f":
        return dtype.type(-np.inf if lowest else np.inf)
    info = np.iinfo(dtype)
    return dtype.type(info.min if lowest else info.max)


def _partial_states(
    store: CellStore, region: Region, axis: int | None, op: str, comparison: int, bound: Any
) -> NDArray[Any]:
    """Partial states of a region: of all cells, shape (k,), or shape (lines, k) of each line along an axis."""
    profile, dtype = store.session.profile, store.dtype
    neutral = _neutral_element(dtype, op)
    params: dict[str, Any] = {"cell": c_name(dtype), "op": op, "value": c_name(neutral.dtype)}
    params["unit"] = region.rows.step == region.columns.step == 1
    last = neutral, np.int32(comparison), dtype.type(bound)
    policy = select(profile, REDUCE, dtype, region.cells)
    along = {"ROWS": 1, "COLUMNS": 0}.get(store.layout)
    across = axis is not None and (along != axis or region.sides[axis] < policy.wg_size)
    kernel = ACROSS if across else REDUCE
    kind = store.layout if axis is None else ("COLUMNS", "ROWS")[axis]
    lines, longest = _lines(kind, region)
    if across:
        policy = select(profile, ACROSS, dtype, region.cells)
        items = policy.wg_size * profile.compute_units * max(policy.groups_per_unit, 1)
        tiles = ceil_div(lines, policy.items_per_thread)
        parts = max(min(items // max(tiles, 1), ceil_div(longest, PART), PARTIAL // lines), 1)
        groups = policy.groups(ceil_div(tiles * parts, policy.wg_size), profile.compute_units)
        params["axis"] = axis
    else:
        wanted = max(policy.groups(ceil_div(region.cells, PART), profile.compute_units), 1)
        parts = max(min(ceil_div(longest, PART), ceil_div(min(wanted, PARTIAL), lines)), 1)
        groups = min(wanted, lines * parts, PARTIAL if axis is None else wanted)
        params |= {"kind": kind, "each": axis is not None}
    out = Scratch("out", _state_type(dtype, op), groups if axis is None else lines * parts)
    sizes = (lines, longest) if across else region.sides
    numbers = *map(np.int32, sizes), np.uint32(parts), np.int32(ceil_div(longest, parts))
    args = (*numbers, *(() if across else (np.uint64(lines * parts),)), *last, out)
    shape, each = (policy, groups), dtype.itemsize
    states = store.run(kernel, args, region.cells, params, region=region, shape=shape, bytes_each=each).read(out)
    return states if axis is None else states.reshape(parts, lines).T if across else states.reshape(lines, parts)


def _lines(kind: str, region: Region) -> tuple[int, int]:
    """Return the number of lines of a region, and the cells of the longest."""
    rows, columns = region.sides
    if kind in ("ROWS", "COLUMNS"):
        return (rows, columns) if kind == "ROWS" else (columns, rows)
    return rows + columns - 1, min(rows, columns)


# Comparisons ------------------------------------------------------------------------------------------------------


def comparison_of(comparison: Any, bound: Any, dtype: np.dtype[Any], *, caller: str) -> tuple[int, Any]:
    """(number of the comparison, bound of the cells' type) for which cells hold as in NumPy's comparison.

    Integers and floats are compared exactly.
    """
    one_of(comparison, COMPARISONS, "comparison", caller=caller)
    if not isinstance(bound, (int, float, np.integer, np.floating, np.bool_)):
        raise wrong("value", caller, "a number", short(bound))
    which = COMPARISONS.index(comparison)
    if dtype.kind == "f":
        return _of_floats(which, bound, dtype)
    info = np.iinfo(dtype)
    never, always = (LT, info.min), (GE, info.min)
    if which in (EQ, NE):
        is_held = info.min <= bound <= info.max and bound == math.floor(bound)
        return (which, int(bound)) if is_held else (never if which == EQ else always)
    is_upper = which in (LT, LE)  # of the cells for which the comparison holds
    if math.isnan(bound):
        return never
    if bound > info.max:
        return always if is_upper else never
    if bound < info.min:
        return never if is_upper else always
    return which, math.ceil(bound) if which in (LT, GE) else math.floor(bound)


def _of_floats(which: int, bound: Any, dtype: np.dtype[Any]) -> tuple[int, Any]:
    """Return a comparison of floats with a bound of their type. Numbers of Python are rounded to it, as NumPy does."""
    with np.errstate(over="ignore"):
        rounded = dtype.type(bound)
    if not isinstance(bound, np.generic) or math.isnan(rounded) or float(rounded) == float(bound):
        return which, rounded
    if which in (EQ, NE):
        return which, dtype.type(np.nan)
    if float(rounded) > float(bound):
        rounded = np.nextafter(rounded, dtype.type(-np.inf))
    return (LE if which in (LT, LE) else GT), rounded


def select_cells(store: CellStore, region: Region, comparison: int, bound: Any) -> NDArray[np.int64]:
    """Numbers of the cells of a region for which a comparison holds, ascending, as int64."""
    numbers = [np.empty(0, np.int64)]
    with store.in_place() as values:
        if values is not None:
            return np.flatnonzero(HOLDS[comparison](values[region.slices], store.dtype.type(bound)))
    if region.cells:
        for first, part in region.parts(0, LAUNCH_CELLS):
            numbers.append(_select_part(store, part, comparison, bound) + first * region.sides[1])
    return np.concatenate(numbers)


def _select_part(store: CellStore, region: Region, comparison: int, bound: Any) -> NDArray[np.int64]:
    session, dtype = store.session, store.dtype
    profile = session.profile
    policy = select(profile, SELECT, dtype, region.cells)
    groups = min(policy.groups(ceil_div(region.cells, policy.tile), profile.compute_units), PARTIAL)
    share = ceil_div(ceil_div(region.cells, groups), policy.wg_size) * policy.wg_size
    groups = ceil_div(region.cells, share)
    counts = launch.allocate(session, 8 * groups)
    numbers = np.int32(region.sides[1]), np.uint64(region.cells), np.uint64(share), np.int32(comparison)

    def run(write: int, out: Any) -> launch.Result:
        """Count the cells of each share, or write their numbers to `out`."""
        args = (*numbers, dtype.type(bound), np.int32(write), "counts", out)
        each, params, shape = dtype.itemsize + 8 * write, {"cell": c_name(dtype)}, (policy, groups)
        return store.run(SELECT, args, region.cells, params, region=region, shape=shape, bytes_each=each, counts=counts)

    run(0, "counts")
    ends = np.cumsum(launch.read(session, counts, np.uint64, groups))
    if not ends[-1]:
        return np.empty(0, np.int64)
    launch.write(session, counts, np.append(np.uint64(0), ends[:-1]))
    out = Scratch("out", np.dtype(np.uint64), int(ends[-1]))
    return run(1, out).read(out).view(np.int64)
