"""The hull at the speed of one read: a sieve made of a sample's hull, then hulls of hulls until one tile is left.

    sample  -> hulls of tiles -> hull of these -> bounds: what is certainly inside
    points  -> sieve: one read, the ids of those that are not certainly inside
    ids     -> hulls of tiles -> hulls of tiles -> hull of the last tile

All launches go out at once: the lengths of lists stay on the device, and the host reads once, at the end. A list that
overran its room, or that hulls of tiles do not shrink to one tile, is left to `clgeom.hull.convex`.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from clgeom.hull.predicates import predicate_parameters
from clgeom.runtime.arrays import c_name
from clgeom.runtime.launch import Plan, Scratch, Step, allocate, fill, read, run, write
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import fitting

BINS = 2048
#: Records of tile_hull before those of vertices, and how many are read at once in the hope that they are all.
HEADER, GLANCE = 3, 256
#: Slots of sizes: the lists' lengths, and whether some point was not finite.
KEPT, SAMPLED, HULLS, HULLS_OF_HULLS, SIZES, WILD = 0, 1, 2, 3, 8, 7


@dataclass(frozen=True)
class Sieved:
    """What is known after the launches: the hull itself, or a list of ids that has all its vertices.

    `vertices` is None when there is no hull yet. `ids` is None when the list is all points; `n` is its length.
    """

    phases: tuple = ()
    vertices: np.ndarray | None = None
    corners: np.ndarray | None = None
    dimension: int = 2
    ids: object = None
    n: int = 0
    wild: bool = False


def vertex_type(dtype) -> np.dtype:
    """The record that kernels write for a vertex."""
    return np.dtype([("x", dtype), ("y", dtype), ("id", np.uint32)], align=True)


@dataclass(frozen=True)
class Tiles:
    """How tile_hull is launched: makes its steps. Lists are Scratch memory of ids, `slot` is where their length is."""

    device: object
    dtype: np.dtype
    shape: object
    params: tuple

    @classmethod
    def of(cls, points, keep):
        session, dtype = points.session, points.dtype
        params = (*predicate_parameters(session, dtype).items(), ("keep", keep))
        point = 2 * dtype.itemsize
        shape = fitting(
            session.profile, "hull/tile_hull", dtype, lambda p: p.tile * (point + 6) + 6 * p.wg_size + 1536
        )
        return cls(session.profile, dtype, shape, params)

    @property
    def size(self) -> int:
        return self.shape.tile

    def step(self, result, source, outputs, *, groups=1, **params):
        """`source` is (stride, samples) of the points, or (list, slot)."""
        picked = isinstance(source[0], Scratch)
        if picked:
            ids, slot = source
            inputs = (ids, np.uint32(slot), np.uint32(ids.count))
        else:
            inputs = (np.uint64(source[0]), np.uint32(source[1]))
        return Step(
            "hull/tile_hull",
            self.shape,
            args=("points[0]", *inputs, "sizes", *outputs),
            groups=groups,
            params={**dict(self.params), "picked": picked, "result": result, **params},
            bytes_moved=0 if picked else source[1] * 2 * self.dtype.itemsize,
        )

    def list(self, source, out, out_slot):
        """The vertices of every tile."""
        count = source[0].count if isinstance(source[0], Scratch) else source[1]
        groups = min(ceil_div(count, self.size), 8 * self.device.compute_units)
        return self.step("list", source, (np.uint32(out_slot), np.uint32(out.count), out), groups=groups)

    def bounds(self, source, frame, bounds):
        """What is certainly inside the hull of (some of) the points of the source."""
        return self.step("bounds", source, (frame, bounds), bins=BINS)

    def hull(self, source):
        """The hull of a source that is one tile, as records."""
        return self.step("hull", source, (Scratch("hull", vertex_type(self.dtype), HEADER + self.size),))


def sieved_hull(points, *, keep, sieve=True, profile=False) -> Sieved:
    """The hull of a DeviceArray of one chunk, or a list of points that has all its vertices.

    Parameters
    ----------
    points : DeviceArray of one chunk, n >= 1 points
    keep : bool
        Whether points on an edge are vertices, too.
    sieve : bool
        False: nothing is done for more points than one tile.
    profile : bool
    """
    session, n = points.session, points.n
    tiles = Tiles.of(points, keep)
    if n > tiles.size and not sieve:
        return Sieved(n=n)
    shape = fitting(session.profile, "hull/sieve", points.dtype, lambda p: 8 * BINS + 5 * p.tile + 64)
    plan = hull_plan(tiles, shape, n)
    sizes = allocate(session, 4 * SIZES)
    fill(session, sizes, np.uint32(0), SIZES)
    result = run(session, plan, points=points, sizes=sizes, profile=profile)
    found = _read_hull(result, plan)
    if found is not None or n <= tiles.size:
        return found
    return _what_is_left(points, tiles, shape, plan, result, profile)


@functools.lru_cache(maxsize=64)
def hull_plan(tiles, shape, n) -> Plan:
    """All launches for `n` points. Pure: needs no device."""
    if n <= tiles.size:
        return Plan(tiles.hull((1, n)))
    stride, samples = sample_of(tiles, n)
    room = max(n // 8, 4 * tiles.size)
    sample, kept = _list("sample_hulls", samples), _list("kept", room)
    hulls = _list("hulls", max(room // 4, 2 * tiles.size))
    last = _list("hulls_of_hulls", max(room // 16, 2 * tiles.size))
    frame, bounds = Scratch("frame", np.uint64, 16), Scratch("bounds", np.float32, 2 * BINS)
    return Plan(
        tiles.list((stride, samples), sample, SAMPLED),
        tiles.bounds((sample, SAMPLED), frame, bounds),
        sieve_step(tiles, shape, n, frame, bounds, kept),
        tiles.list((kept, KEPT), hulls, HULLS),
        tiles.list((hulls, HULLS), last, HULLS_OF_HULLS),
        tiles.hull((last, HULLS_OF_HULLS)),
    )


def sample_of(tiles, n):
    """(stride, number) of the points that are looked at before all are, in whole tiles.

    Hulls of `m` of `n` points leave about `n * h / m` points outside, h being vertices. A GPU has the groups to sort
    many tiles at once; elsewhere sorting the sample should take as long as sorting what it leaves.
    """
    if tiles.shape.variant == "serial":
        count = ceil_div(math.isqrt(20 * n), tiles.size)
    else:
        count = max(min(n // (64 * tiles.size), 64), 1)
    stride = max(n // (count * tiles.size), 1)
    return stride, min(count * tiles.size, ceil_div(n, stride))


def sieve_step(tiles, shape, n, frame, bounds, kept):
    dtype = tiles.dtype
    return Step(
        "hull/sieve",
        shape,
        args=("points[0]", np.uint64(n), frame, bounds, "sizes", np.uint32(kept.count), kept),
        groups=shape.groups(ceil_div(n, shape.tile), tiles.device.compute_units),
        params={"real": c_name(dtype), "bins": BINS},
        bytes_moved=n * 2 * dtype.itemsize,
    )


def _list(name, room):
    return Scratch(name, np.uint32, room)


# At the end -------------------------------------------------------------------------------------------------------


def _read_hull(result, plan):
    """The hull, when its list was no more than one tile and no list overran its room; else None."""
    records = plan[-1].args[-1]
    hull = result.read(records, min(GLANCE, records.count))
    found, dimension, wild = hull["id"][:HEADER].view(np.int32).tolist()
    if wild:
        return Sieved(wild=True)
    if found == 0:
        return None
    if found > len(hull) - HEADER:
        hull = result.read(records, HEADER + found)
    hull = hull[HEADER : HEADER + found]
    corners = np.stack([hull["x"], hull["y"]], axis=1)
    return Sieved(result.phases, hull["id"].astype(np.int64), corners, dimension)


def _what_is_left(points, tiles, shape, plan, result, profile):
    """When the launches gave no hull: hulls of hulls as long as lists shrink by half, then the shortest list."""
    session, n, phases = points.session, points.n, result.phases
    sizes = read(session, result["sizes"], np.uint32, SIZES)
    if sizes[WILD]:
        return Sieved(wild=True)
    if sizes[KEPT] > n // 2:
        return Sieved(phases, n=n)
    _, bounds, sieve, hulls, last, _ = plan
    lists = ((sieve.args[-1], KEPT), (hulls.args[-1], HULLS), (last.args[-1], HULLS_OF_HULLS))
    fitting_lists = [(ids, int(sizes[slot])) for ids, slot in lists if 0 < sizes[slot] <= ids.count]
    if fitting_lists:
        ids, count = fitting_lists[-1]
        memory = result[ids]
    else:  # all that is kept, now that it is known how much
        count = int(sizes[KEPT])
        again = sieve_step(tiles, shape, n, *bounds.args[-2:], _list("kept", count))
        result = _run(points, Plan(again), {s.name: result[s] for s in bounds.args[-2:]}, 0, profile)
        memory, phases = result["kept"], phases + result.phases
    while count > tiles.size:
        shorter = _list("shorter", count)
        step = tiles.list((_list("ids", count), KEPT), shorter, HULLS)
        result = _run(points, Plan(step), {"ids": memory}, count, profile)
        phases += result.phases
        before, count = count, int(read(session, result["sizes"], np.uint32, SIZES)[HULLS])
        memory = result[shorter]
        if count > before // 2:
            break
    if count > tiles.size:
        return Sieved(phases, ids=memory, n=count)
    plan = Plan(tiles.hull((_list("ids", count), KEPT)))
    result = _run(points, plan, {"ids": memory}, count, profile)
    found = _read_hull(result, plan)
    return replace(found, phases=phases + found.phases)


def _run(points, plan, buffers, count, profile):
    """A plan for a list of `count` ids."""
    sizes = allocate(points.session, 4 * SIZES)
    write(points.session, sizes, np.array([count] + [0] * (SIZES - 1), np.uint32))
    return run(points.session, plan, points=points, sizes=sizes, profile=profile, **buffers)
