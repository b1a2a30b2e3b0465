"""Convex hulls by a sieve made from a sample, then by the hulls of the points that the sieve keeps.

    sample  -> bounds of what is certainly inside the hull
    points  -> sieve: one read; the ids of the points that are not certainly inside
    list    -> shorter and shorter lists -> lower hood, upper hood

The first and the last part are those of `Polygons` on GPUs and of `Tiles` on CPUs. All launches are enqueued at once:
the lengths of lists stay on the device, and the host reads once, at the end. `clgeom.hull.convex` sorts and merges a
list that exceeds its capacity, or that is too long for one launch of hoods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import allocate, fill, joined, read, run
from clgeom.core.plan import Plan, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select_fitting
from clgeom.hull.sieve.launches import BINS, HEADER, KEPT, NONFINITE, SIZES, List, Polygons, Tiles, sieve_memory
from clgeom.intake.arrays import c_name

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.launch import Result
    from clgeom.core.plan import Scratch
    from clgeom.core.policies import Policy
    from clgeom.intake.arrays import DeviceArray

#: Records of the hoods in the first read; most hulls need no second one.
GLANCE = 2048


@dataclass(frozen=True)
class SieveResult:
    """The hull; or, without `vertices`, a list of `n` `ids` that contains all its vertices, None for all points."""

    vertices: np.ndarray | None = None
    corners: np.ndarray | None = None
    dimension: int = 2
    ids: cl.Buffer | None = None
    n: int = 0
    nonfinite: bool = False


def start_sieve(
    points: DeviceArray, *, keep_collinear: bool, sieve: bool = True, short: bool = True
) -> Callable[[], SieveResult]:
    """Enqueue the launches for the hull of a DeviceArray of one chunk and a point; return a function that waits for it.

    Its result is the hull, or a list of points with all its vertices: all points without `sieve`, if they are more than
    one tile. With `short`, few points take fewer launches.
    """
    session, n = points.session, points.n
    if not sieve and n > _launches(points, keep_collinear)[1].size:
        return lambda: SieveResult(n=n)

    def make() -> tuple[Polygons | Tiles, Plan, tuple[tuple[List, ...], ...]]:
        shape, launches = _launches(points, keep_collinear)
        return launches, *hull_plan(launches, shape, n, short)

    key = "hull of points", points.dtype, keep_collinear, n, short
    launches, plan, lists = session.cached(key, make, policies=True)
    sizes = allocate(session, 4 * SIZES)
    if lists and not launches.zeroes:  # without lists no launch reads them
        fill(session, sizes, np.uint32(0), SIZES)
    result = run(session, plan, points=points, sizes=sizes)

    def finish() -> SieveResult:
        found, kept = _read_hoods(result, plan, HEADER + 2 * n)
        return found or _finish_list(points, launches, plan, lists, result, kept)

    return finish


def _launches(points: DeviceArray, keep_collinear: bool) -> tuple[Policy, Polygons | Tiles]:
    """Return the policy of the sieve and its launches, cached for all calls."""

    def make() -> tuple[Policy, Polygons | Tiles]:
        shape = select_fitting(
            points.session.profile, "hull/sieve/sieve", points.dtype, lambda p: 8 * BINS + 5 * p.tile + 64
        )
        return shape, (Tiles if shape.variant == "serial" else Polygons).of(points, keep_collinear)

    key = "sieve", points.dtype, keep_collinear
    launches: tuple[Policy, Polygons | Tiles] = points.session.cached(key, make, policies=True)
    return launches


def hull_plan(
    launches: Polygons | Tiles, shape: Policy, n: int, short: bool = True
) -> tuple[Plan, tuple[tuple[List, ...], ...]]:
    """Plan of all launches for `n` points, and the lists they write. Pure: needs no device."""
    if n <= launches.size:
        return Plan(launches.hull(n)).kept(memory=True), ()
    kept = List("kept", max(n // 8, 4 * launches.size), KEPT)
    parts = launches.parts(n)
    sample, inside = launches.sample(n, kept if parts > 1 else None)
    sieves: tuple[Step, ...] = (_sieve(launches, shape, n, inside, kept, parts),)
    if isinstance(launches, Tiles) and parts > 1:
        rest = _sieve(launches, shape, n, inside, kept, parts, is_rest=True)
        sieves = *sieves, launches.bounds(n, kept, inside), rest
    if short and isinstance(launches, Polygons) and n <= launches.few:  # `Tiles` would take as long with fewer steps
        finish, lists = launches.finish_few(kept)
    else:
        finish, lists = launches.finish(kept)
    return Plan(*sample, *sieves, *finish).kept(memory=True), ((kept,), *lists)


def _sieve(
    launches: Polygons | Tiles,
    shape: Policy,
    n: int,
    inside: tuple[Scratch, Scratch],
    kept: List,
    every: int = 1,
    is_rest: bool = False,
) -> Step:
    """Return the step that sieves all points, or on CPUs one stretch in `every` or the rest."""
    dtype = launches.dtype
    part = (np.uint32(every), np.uint32(is_rest)) if isinstance(launches, Tiles) else ()
    return Step(
        "hull/sieve/sieve",
        shape,
        args=("points[0]", np.uint64(n), *inside, "sizes", np.uint32(kept.room), kept.ids, *part),
        groups=shape.groups(ceil_div(n, shape.tile), launches.device.compute_units),
        params={"real": c_name(dtype), "bins": BINS, "nonfinite": NONFINITE},
        bytes_moved=(n - n // every if is_rest else n // every) * 2 * dtype.itemsize,
    )


# At the end -------------------------------------------------------------------------------------------------------


def _read_hoods(result: Result, plan: Plan, most: int = GLANCE) -> tuple[SieveResult | None, int]:
    """Return the hull, None when the launches computed no hoods; and the number of points that the sieve kept.

    There are at most `most` records.
    """
    records = plan.scratch["hull"]
    record: Any = records.dtype  # of `vertex_type`
    id_at = record.fields["id"][1] // 4
    words = _words(result.read(records, min(GLANCE, most, records.count)))
    lower, upper, nonfinite, kept = words[:HEADER, id_at].tolist()
    if nonfinite:
        return SieveResult(nonfinite=True), kept
    if lower == 0 or upper == 0:
        return None, kept
    needed = HEADER + 2 * max(lower, upper)
    if needed > len(words):
        words = _words(result.read(records, needed))
    # both hoods have the same ends; for points on a line they are equal
    below, above = (words[HEADER + side : HEADER + side + 2 * count : 2] for side, count in enumerate((lower, upper)))
    line = lower == upper and np.array_equal(below[:, id_at], above[:, id_at])
    hull = below if line else np.concatenate([below, above[-2:0:-1]])
    corners = np.ascontiguousarray(hull[:, :id_at]).view(record["x"])
    return SieveResult(hull[:, id_at].astype(np.int64), corners, min(lower, 2) - 1 if line else 2), kept


def _words(records: np.ndarray) -> np.ndarray:
    return records.view(np.uint32).reshape(len(records), -1)


def _finish_list(
    points: DeviceArray,
    launches: Polygons | Tiles,
    plan: Plan,
    lists: tuple[tuple[List, ...], ...],
    result: Result,
    kept: int,
) -> SieveResult:
    """Retry with a larger list, or with the launches for many points; otherwise return the shortest complete list."""
    session, n = points.session, points.n
    if kept > n // 2:
        return SieveResult(n=n)
    whole = kept <= lists[0][0].room
    if not whole or len(lists) == 1:
        source = lists[0][0] if whole else List("kept", kept, KEPT)
        finish, lists = launches.finish(source)
        lists = ((source,), *lists)
        if not whole:
            shape = next(step.policy for step in plan if isinstance(step, Step) and step.kernel == "hull/sieve/sieve")
            finish = _sieve(launches, shape, n, sieve_memory(), source), *finish
            fill(session, result["sizes"], np.uint32(0), SIZES)
        again = Plan(*finish)
        same = set(plan.scratch.values()) & set(again.scratch.values())
        buffers: dict[str, Any] = {name: result[name] for name in ("sizes", *(scratch.name for scratch in same))}
        result = run(session, again, points=points, **buffers)
        found, _ = _read_hoods(result, again)
        if found is not None:
            return found
    sizes = read(session, result["sizes"], np.uint32, SIZES)
    counts = [[int(sizes[part.slot]) for part in parts] for parts in lists]
    # a list made from one that exceeds its capacity is empty
    complete = [at for at, parts in enumerate(lists) if all(0 < c <= part.room for c, part in zip(counts[at], parts))]
    shortest = min(complete, key=lambda at: sum(counts[at]))
    pieces = [(result[part.ids], 4 * count) for part, count in zip(lists[shortest], counts[shortest])]
    return SieveResult(ids=joined(session, pieces), n=sum(counts[shortest]))
