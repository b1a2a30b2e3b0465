"""Polygons of batches of maps as arrays for the caller, on the device or on the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clgeom.core.launch import allocate, copy, read, run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.intake.cl_arrays import as_array, new_array, to_array
from clgeom.region.rings.runs import exclusive_sums
from clgeom.region.rings.trace import ULONG, DeviceRings

OFFSETS, POLYGONS, KEPT, SIZES, EMIT = (
    f"region/rings/{name}"
    for name in ("rings_offsets", "rings_polygons", "outward_kept", "outward_sizes", "outward_emit")
)
LONG = np.dtype(np.int64)
#: Arrays with a value for each polygon, and all arrays.
COLUMNS = ("maps", "levels", "parts", "cells")
ARRAYS = ("corners", "ring_offsets", "polygon_offsets", *COLUMNS)


@dataclass(frozen=True, eq=False)
class Emitted:
    """The polygons of a batch for the caller: their numbers, and buffers by name."""

    corners: int
    rings: int
    polygons: int
    exact_corners: int
    memory: dict

    def count(self, name) -> int:
        """Number of values of an array."""
        return {
            "corners": 2 * self.corners,
            "ring_offsets": self.rings + 1,
            "polygon_offsets": self.polygons + 1,
        }.get(name, self.polygons)


def emitted(rings: DeviceRings, before: list[Emitted], taken=None) -> Emitted:
    """The polygons of a batch that follows others.

    `taken` names corners that are left out: a buffer of uint8 by corner, and one by ring of those that vanished.
    """
    session, levels = rings.masks.job.session, len(rings.masks.job.levels.given)
    profile, n, r, p = session.profile, rings.corners, rings.rings, rings.polygons
    first_corner, first_ring = (np.uint64(sum(getattr(one, name) for one in before)) for name in ("corners", "rings"))
    first_map = rings.masks.job.before + rings.masks.first_map
    memory, params = rings.memory, {"kept": taken is not None}
    corners, corner_count, ring_count, bound, plan = memory["corners"], n, r, dict(memory), Plan()
    if taken is not None:
        ranks, sizes = Scratch("outward_ranks", np.dtype(np.uint32), n + 1), Scratch("outward_sizes", ULONG, r + 1)
        args = ("taken", "vanished", "ring_of", np.uint32(n), ranks)
        plan = Plan(Step.over(profile, KEPT, args, n + 1, bytes_moved=9 * n)) + exclusive_sums(profile, ranks, "ranks")
        plan += Plan(Step.over(profile, SIZES, (ranks, "begins", np.uint32(r), sizes), r + 1, bytes_moved=20 * r))
        plan += exclusive_sums(profile, sizes, "kept_sizes")
        made = run(session, plan, **bound, taken=taken[0], vanished=taken[1])
        total = int(made.read(sizes, 1, r)[0])
        ring_count, corner_count = total >> 32, total & 0xFFFFFFFF
        corners = allocate(session, 8 * corner_count)
        args = ("corners", ranks, np.uint32(n), "corners_out")
        plan = Plan(Step.over(profile, EMIT, args, n, bytes_moved=20 * n))
        bound |= {ranks.name: made[ranks], sizes.name: made[sizes], "corners_out": corners}
    out = {name: Scratch(f"polygons_{name}", LONG, p) for name in COLUMNS}
    out["ring_offsets"] = Scratch("polygons_ring_offsets", LONG, ring_count + 1)
    out["polygon_offsets"] = Scratch("polygons_polygon_offsets", LONG, p + 1)
    offsets = ("outward_sizes" if taken is not None else "begins", np.uint32(r), first_corner, out["ring_offsets"])
    columns = ("firsts", "begins", "owners", "areas", *(("outward_sizes",) if taken is not None else ()))
    columns += (np.uint32(p), np.uint32(levels), np.uint64(first_map), first_ring)
    columns += (out["polygon_offsets"], *(out[name] for name in COLUMNS))
    plan += Plan(
        Step.over(profile, OFFSETS, offsets, r + 1, params=params, bytes_moved=16 * r),
        Step.over(profile, POLYGONS, columns, p + 1, params=params, bytes_moved=60 * p),
    )
    made = run(session, plan, **bound)
    found = {name: made[scratch] for name, scratch in out.items()}
    return Emitted(corner_count, ring_count, p, n, {"corners": corners, **found})


def arrays_of(session, batches: list[Emitted], queue=None, *, on_device: bool) -> dict:
    """The arrays of all batches together, as attributes of `CoveragePolygons`: on the device, or on the host."""
    return {name: _array(session, batches, name, queue, on_device) for name in ARRAYS}


def joined(pieces: list[dict]) -> dict:
    """The arrays on the host of several batches, one after another."""
    corners, rings = (
        np.append(0, np.cumsum([len(piece[name]) - again for piece in pieces], dtype=np.int64))
        for name, again in (("corners", 0), ("ring_offsets", 1))
    )
    made = {name: np.concatenate([piece[name] for piece in pieces]) for name in ("corners", *COLUMNS)}
    for name, before in (("ring_offsets", corners), ("polygon_offsets", rings)):
        made[name] = np.concatenate([[0], *(piece[name][1:] + first for piece, first in zip(pieces, before))])
    return made


def _array(session, batches, name, queue, on_device):
    again = int(name.endswith("_offsets"))  # a batch begins with the last offset of the one before
    dtype = np.dtype(np.int32 if name == "corners" else LONG)
    count = sum(one.count(name) - again for one in batches) + again
    shape = (count // 2, 2) if name == "corners" else (count,)
    if not on_device:
        host, at = np.zeros(count, dtype), 0
        for one in batches:
            read(session, one.memory[name], dtype, one.count(name), out=host[at : at + one.count(name)])
            at += one.count(name) - again
        return host.reshape(shape)
    if not batches:
        zeros = np.zeros(shape, dtype)
        return to_array(session, zeros, queue=queue) if count else new_array(session, shape, dtype, queue=queue)
    whole, at = batches[0].memory[name], 0
    if len(batches) > 1:
        whole = allocate(session, count * dtype.itemsize)
        for one in batches:
            nbytes = one.count(name) * dtype.itemsize
            copy(session, one.memory[name], whole, nbytes, at=at * dtype.itemsize)
            at += one.count(name) - again
    return as_array(session, whole, shape, dtype, queue=queue)
