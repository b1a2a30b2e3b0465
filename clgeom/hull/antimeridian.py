"""Hulls of longitudes and latitudes: a warning where points lie closer together across 180 degrees, and the hull there.

    points -> sides of the widest gap in longitude -> hull of each side, on the device -> hull of both, on the host

Each side has its longitudes as given, so nothing is rounded. The few vertices of both hulls are compared as integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from clgeom.core.messages import counted
from clgeom.errors import InputWarning, InvalidInput, short, warn
from clgeom.geo.exact import ordered_hull
from clgeom.geo.longitudes import (
    DEGREES,
    ROUNDED,
    Across,
    Longitudes,
    Sample,
    antimeridian_warning,
    latitude_fault,
    numbered_parts,
    turn_of_crs,
    wrapped,
)
from clgeom.hull.batch.result import HullBatch
from clgeom.hull.result import Hull

#: How to ask for the hull across the antimeridian in Python.
REMEDY = "antimeridian=True gives the hull there"
#: What to do where there is no such parameter.
OTHERWISE = "add a turn to the longitudes on one side, or reproject them"


def checked_turn(crs: Any, antimeridian: Any, *, caller: str) -> float | None:
    """Return the longitude of one turn in a system, by default in degrees; None for points not on a circle."""
    if antimeridian and crs is None:
        return DEGREES
    turn = turn_of_crs(crs)
    if antimeridian and turn is None:
        raise InvalidInput(
            f"The 'antimeridian' parameter of {caller} is for longitudes and latitudes. "
            f"Got points in {short(str(crs))} instead."
        )
    return turn


def over_antimeridian(
    found: Hull,
    parts: Callable[[], Iterable[Any]],
    turn: float | None,
    solve: Callable[[Any], Hull] | None,
    *,
    wanted: bool,
    caller: str,
    keep_collinear: bool = False,
    remedy: str = REMEDY,
    longitudes: Longitudes | None = None,
) -> Hull:
    """Warn of points that lie closer together across the antimeridian; return their hull, if `wanted` the one there.

    `found` is the hull of the longitudes as they are, ``parts()`` are the points, in arrays one after another. `turn`
    is the longitude of one turn, None for points that are not longitudes and latitudes. ``solve(points)`` is the hull
    of an array, needed for the hull across. `longitudes` are those of all points, where they are known already. The
    warning names `caller`, and `remedy`: how to ask for the hull across.
    """
    x, y = found.points.T
    if turn is None or _are_no_latitudes(y, turn, wanted, caller):
        return found
    if not len(x) or float(x.max()) - float(x.min()) < turn / 2:  # less wide ones lie nowhere closer together
        return found
    longitudes = _longitudes_of(parts(), turn) if longitudes is None else longitudes
    _say(longitudes, (y.min(), y.max()), wanted=wanted, remedy=remedy, of=caller)
    across = longitudes.across
    if across is None or not wanted or solve is None:
        return found
    return _hull_across(found, numbered_parts(parts()), across, solve, keep_collinear)


def warn_across(region: Any, points: Any, turn: float | None, *, caller: str) -> None:
    """Warn as `over_antimeridian`, for a function without a result there; `region` has the `bounds` of the points."""
    if turn is None:
        return
    left, low, right, high = region.bounds
    if latitude_fault([low, high], turn) is not None:
        ((rows, _),) = numbered_parts([points])
        if _are_no_latitudes(rows[:, 1], turn, False, caller):
            return
    if right - left >= turn / 2:
        longitudes = _longitudes_of([points], turn)
        _say(longitudes, (low, high), wanted=False, remedy=OTHERWISE, of=caller)


def warn_of_sample(hull: Hull, sample: Sample, *, caller: str) -> None:
    """Warn, like `warn_across`, of the points of a hull that came in parts; `sample` has their longitudes."""
    if sample.turn is not None:
        longitudes = Longitudes(sample.turn)
        longitudes.add(np.concatenate([sample.longitudes, hull.points[:, 0]]))
        how: dict[str, Any] = {"wanted": False, "caller": caller, "remedy": OTHERWISE, "longitudes": longitudes}
        over_antimeridian(hull, list, sample.turn, None, **how)


def warn_of_samples(batch: HullBatch[Any], sample: Sample, *, caller: str) -> None:
    """Warn, like `warn_of_sample`, of the groups of a batch."""
    x = np.concatenate([sample.longitudes, batch.points[:, 0]])
    ends = np.append(0, np.cumsum(sample.counts)), len(sample.longitudes) + batch.offsets

    def members(number: int) -> np.ndarray:
        return np.concatenate([np.arange(*one[number : number + 2]) for one in ends])

    rows = np.stack([x, np.zeros_like(x)], axis=1)
    batch_over_antimeridian(batch, rows, members, sample.turn, None, wanted=False, caller=caller, remedy=OTHERWISE)


def _longitudes_of(parts: Iterable[Any], turn: float) -> Longitudes:
    longitudes = Longitudes(turn)
    for rows, _ in numbered_parts(parts):
        longitudes.add(rows[:, 0])
    return longitudes


def _say(longitudes: Longitudes, latitudes: tuple[float, float], *, of: str, **how: Any) -> None:
    """Warn of points with these longitudes, least and greatest latitude."""
    words = antimeridian_warning(longitudes, latitudes, **how)
    if words is not None:
        warn(f"The points{f' of {of}' if of else ''} {words}.", InputWarning)


def _are_no_latitudes(y: np.ndarray, turn: float, wanted: bool, caller: str) -> bool:
    """Warn of y that are no latitudes, or refuse them if the hull across the antimeridian is wanted."""
    words = latitude_fault(y, turn)
    if words is not None:
        _complain(f"{f' of {caller}' if caller else ''} {words}", wanted)
    return words is not None


def _complain(words: str, wanted: bool) -> None:
    if wanted:
        raise InvalidInput(f"The points{words}. The hull across the antimeridian is for longitudes and latitudes.")
    warn(f"The points{words}. Name the reference system that they are in.", InputWarning)


def _hull_across(
    found: Hull,
    parts: Iterable[tuple[np.ndarray, np.ndarray]],
    across: Across,
    solve: Callable[[Any], Hull],
    keep_collinear: bool,
) -> Hull:
    """Return the hull of points whose longitudes are continuous across the antimeridian."""
    ids, corners = [np.empty(0, np.int64)], [found.points[:0]]
    for rows, numbers in parts:
        x, east = wrapped(rows[:, 0], across.turn), across.is_east(rows[:, 0])
        for side in filter(len, map(np.flatnonzero, (~east, east))):
            part = solve(np.stack([x[side], rows[side, 1]], axis=1))
            ids.append(numbers[side[part.vertices]])
            corners.append(rows[side[part.vertices]])
    vertices, points = np.concatenate(ids), np.concatenate(corners)
    by_number = np.argsort(vertices, kind="stable")  # of equal points the lowest number stays
    vertices, points = vertices[by_number], points[by_number]
    order, dimension = ordered_hull(*across.exact(points)[:2], keep_collinear=keep_collinear)
    points = points[order].astype(found.points.dtype, copy=False)
    return replace(found, vertices=vertices[order], points=points, dimension=dimension, across=across)


def batch_over_antimeridian(
    batch: HullBatch[Any],
    points: Any,
    members: Callable[[int], Any],
    turn: float | None,
    solve: Callable[[Any], Hull] | None,
    *,
    wanted: bool,
    caller: str,
    remedy: str = REMEDY,
    names: Any = None,
) -> HullBatch[Any]:
    """`over_antimeridian` for the hulls of groups, each for itself.

    `batch` is on the host, `points` are all points. ``members(number)`` are the indices of the points of a group;
    `names` those of the groups, by default their labels. No `solve` is needed for a warning only.
    """
    if turn is None or not len(batch.vertices):
        return batch
    counts, x = np.diff(batch.offsets), np.asarray(batch.points[:, 0], np.float64)
    some = np.flatnonzero(counts)
    first = batch.offsets[some]
    names = batch.labels if names is None else names
    heights = np.maximum.reduceat(np.abs(np.asarray(batch.points[:, 1], np.float64)), first)
    beyond = heights > turn / 4 * (1 + ROUNDED)
    if beyond.any():
        number = some[beyond.argmax()].item()
        words = latitude_fault(batch[number].points[:, 1], turn)
        _complain(f" of {_group_words(number, names, int(beyond.sum()), caller)} {words}", wanted)
    wide = some[~beyond & (np.maximum.reduceat(x, first) - np.minimum.reduceat(x, first) >= turn / 2)]
    said, across = {}, {}
    for number in wide.tolist():
        rows = np.sort(members(number))
        longitudes, hull = _longitudes_of([points[rows]], turn), batch[number]
        y = hull.points[:, 1]
        words = antimeridian_warning(longitudes, (y.min(), y.max()), wanted=wanted, remedy=remedy)
        if words is not None:
            said[number] = words
        if wanted and solve is not None and longitudes.across is not None:
            hull = _hull_across(hull, numbered_parts([points[rows]]), longitudes.across, solve, batch.keep_collinear)
            across[number] = replace(hull, vertices=rows[hull.vertices])
    if said:
        number, words = next(iter(said.items()))
        more = f" (and those of {counted(len(said) - 1, 'group', 'groups')} more)" if len(said) > 1 else ""
        warn(f"The points of {_group_words(number, names, 1, caller)} {words}{more}.", InputWarning)
    return _with_hulls(batch, across) if across else batch


def _group_words(number: int, names: Any, count: int, caller: str) -> str:
    """Return a group by its name, and how many others there are."""
    name = number if names is None else names[number]
    name = short(name.item() if isinstance(name, np.generic) else name)
    more = f" (and of {counted(count - 1, 'group', 'groups')} more)" if count > 1 else ""
    return f"group {name}{more}{f' of {caller}' if caller else ''}"


def members_of(numbers: Any, labels: Any) -> Callable[[int], Any]:
    """Return the indices of the points of each of several groups: where `numbers` has the group's label."""
    order = None

    def members(number: int) -> np.ndarray:
        nonlocal order
        if order is None:
            order = np.argsort(numbers, kind="stable")
        begin, end = (np.searchsorted(numbers, labels[number], side, sorter=order) for side in ("left", "right"))
        return order[begin:end]

    return members


def _with_hulls(batch: HullBatch[Any], across: dict[int, Hull]) -> HullBatch[Any]:
    """Return a batch with other hulls for some numbers."""
    vertices, points, last = [], [], 0
    counts, areas, perimeters = np.diff(batch.offsets), batch.areas.copy(), batch.perimeters.copy()
    for number, hull in across.items():
        begin = batch.offsets[number]
        vertices += [batch.vertices[last:begin], hull.vertices]
        points += [batch.points[last:begin], hull.points.astype(batch.points.dtype, copy=False)]
        counts[number], areas[number], perimeters[number] = len(hull), hull.area, hull.perimeter
        last = batch.offsets[number + 1]
    return replace(
        batch,
        vertices=np.concatenate([*vertices, batch.vertices[last:]]),
        points=np.concatenate([*points, batch.points[last:]]),
        offsets=np.append(0, np.cumsum(counts)),
        areas=areas,
        perimeters=perimeters,
        across=across,
    )
