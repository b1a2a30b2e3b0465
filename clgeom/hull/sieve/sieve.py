"""The hull at the speed of one read: a sieve made of a sample, then hulls of what it leaves.

    sample  -> what is certainly inside the hull
    points  -> sieve: one read, the ids of those that are not certainly inside
    list    -> fewer and fewer -> lower hood, upper hood

The first and the last part are those of `Polygons` on GPUs and of `Tiles` on CPUs. All launches
go out at once: the lengths of lists stay on the device, and the host reads once, at the end. A list that overran its
room, or that is too long to make hoods of at once, is left to `clgeom.hull.convex`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from clgeom.hull.sieve import BINS, HEADER, KEPT, NONFINITE, SIZES, List
from clgeom.hull.sieve.polygons import Polygons
from clgeom.hull.sieve.tiles import Tiles
from clgeom.runtime.arrays import c_name
from clgeom.runtime.launch import allocate, fill, joined, read, run
from clgeom.runtime.plan import Plan, Step
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import fitting, overridden

#: Records of the hoods that are read at once in the hope that they are all.
GLANCE = 2048


@dataclass(frozen=True)
class Sieved:
    """Result of the launches: the hull, or a list of ids that has all its vertices.

    `vertices` is None when there is no hull yet. `ids` is None when the list is all points; `n` is its length.
    """

    vertices: np.ndarray | None = None
    corners: np.ndarray | None = None
    dimension: int = 2
    ids: object = None
    n: int = 0
    nonfinite: bool = False


def sieved_hull(points, *, keep, sieve=True) -> Sieved:
    """The hull of a DeviceArray of one chunk, or a list of points that has all its vertices.

    Parameters
    ----------
    points : DeviceArray of one chunk, n >= 1 points
    keep : bool
        Whether points on an edge are vertices, too.
    sieve : bool
        False: nothing is done for more points than one tile.
    """
    session, n = points.session, points.n
    shape, launches = _launches(points, keep)
    if n > launches.size and not sieve:
        return Sieved(n=n)
    plan, lists = hull_plan(launches, shape, n)
    sizes = allocate(session, 4 * SIZES)
    if not launches.zeroes:
        fill(session, sizes, np.uint32(0), SIZES)
    result = run(session, plan, points=points, sizes=sizes)
    found = _read_hoods(result, plan)
    if found is not None or n <= launches.size:
        return found
    return _what_is_left(points, launches, plan, lists, result)


def _launches(points, keep):
    """The shape of the sieve, and what makes it: found once for all calls."""

    def make():
        shape = fitting(points.session.profile, "hull/sieve/sieve", points.dtype, lambda p: 8 * BINS + 5 * p.tile + 64)
        return shape, (Tiles if shape.variant == "serial" else Polygons).of(points, keep)

    return make() if overridden() else points.session.cached(("sieve", points.dtype, keep), make)


@functools.lru_cache(maxsize=64)
def hull_plan(launches, shape, n):
    """Plan of all launches for `n` points, and the lists they make. Pure: needs no device."""
    if n <= launches.size:
        return Plan(launches.hull(n)), ()
    sample, inside = launches.sample(n)
    kept = List("kept", max(n // 8, 4 * launches.size), KEPT)
    finish, lists = launches.finish(kept)
    return Plan(*sample, _sieve(launches, shape, n, inside, kept), *finish), ((kept,), *lists)


def _sieve(launches, shape, n, inside, kept):
    dtype = launches.dtype
    return Step(
        "hull/sieve/sieve",
        shape,
        args=("points[0]", np.uint64(n), *inside, "sizes", np.uint32(kept.room), kept.ids),
        groups=shape.groups(ceil_div(n, shape.tile), launches.device.compute_units),
        params={"real": c_name(dtype), "bins": BINS, "nonfinite": NONFINITE},
        bytes_moved=n * 2 * dtype.itemsize,
    )


# At the end -------------------------------------------------------------------------------------------------------


def _read_hoods(result, plan):
    """Read the hull; None when the launches made no hoods."""
    records = plan[-1].args[-1]
    hoods = result.read(records, min(GLANCE, records.count))
    lower, upper, nonfinite = hoods["id"][:3].tolist()
    if nonfinite:
        return Sieved(nonfinite=True)
    if lower == 0 or upper == 0:
        return None
    if HEADER + 2 * max(lower, upper) > len(hoods):
        hoods = result.read(records, HEADER + 2 * max(lower, upper))
    # the hoods share their ends; of points on a line one is the other
    below, above = HEADER + 2 * np.arange(lower), HEADER + 1 + 2 * np.arange(upper)
    words = hoods.view(np.uint32).reshape(len(hoods), -1)
    at = hoods.dtype.fields["id"][1] // 4
    line = lower == upper and np.array_equal(words[below, at], words[above, at])
    hull = words[below if line else np.concatenate([below, above[-2:0:-1]])]
    corners = np.ascontiguousarray(hull[:, :at]).view(hoods.dtype["x"])
    return Sieved(hull[:, at].astype(np.int64), corners, min(lower, 2) - 1 if line else 2)


def _what_is_left(points, launches, plan, lists, result):
    """When the launches made no hoods: once more with room for all that is kept, if that was it; the shortest list."""
    session, n = points.session, points.n
    sizes = read(session, result["sizes"], np.uint32, SIZES)
    kept = int(sizes[KEPT])
    if sizes[NONFINITE]:
        return Sieved(nonfinite=True)
    if kept > n // 2:
        return Sieved(n=n)
    if kept > lists[0][0].room:
        sieve = next(step for step in plan if step.kernel == "hull/sieve/sieve")
        room = List("kept", kept, KEPT)
        finish, lists = launches.finish(room)
        lists = ((room,), *lists)
        again = Plan(_sieve(launches, sieve.policy, n, sieve.args[2:4], room), *finish)
        same = set(plan.scratch.values()) & set(again.scratch.values())
        fill(session, result["sizes"], np.uint32(0), SIZES)
        buffers = {name: result[name] for name in ("sizes", *(scratch.name for scratch in same))}
        result = run(session, again, points=points, **buffers)
        found = _read_hoods(result, again)
        if found is not None:
            return found
        sizes = read(session, result["sizes"], np.uint32, SIZES)
    counts = [[int(sizes[part.slot]) for part in parts] for parts in lists]
    # a list made of one that overran its room is empty
    whole = [at for at, parts in enumerate(lists) if all(0 < c <= part.room for c, part in zip(counts[at], parts))]
    shortest = min(whole, key=lambda at: sum(counts[at]))
    pieces = [(result[part.ids], 4 * count) for part, count in zip(lists[shortest], counts[shortest])]
    return Sieved(ids=joined(session, pieces), n=sum(counts[shortest]))
