"""Polygons of batches of maps as arrays for the caller, on the device or on the host."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.device import Session
from clgeom.core.launch import allocate, copy, read
from clgeom.core.plan import Argument, Number, Plan, Scratch, Step
from clgeom.core.profile import DeviceProfile
from clgeom.intake.device_arrays import as_array, new_array, to_array
from clgeom.primitives.scan import sums_plan
from clgeom.region.rings.trace import ULONG, DeviceRings

if TYPE_CHECKING:
    import pyopencl as cl

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
    """The polygons of a batch for the caller: their numbers, and buffers and numbers of values by name.

    The buffers of a kept plan are larger than the values, and others are in use as long as they are.
    """

    corners: int
    rings: int
    exact_corners: int
    memory: dict[str, Any]
    counts: dict[str, int]
    is_kept: bool


def emit_polygons(
    rings: DeviceRings, before: list[Emitted], removed: tuple[cl.Buffer, cl.Buffer] | None = None
) -> Emitted:
    """Return the polygons of a batch that follows others.

    `removed` names corners that are left out: a buffer of uint8 by corner, and one by ring of those that vanished.
    """
    session, levels, runs = rings.masks.session, len(rings.masks.levels.given), rings.runs
    profile, n, r, p = session.profile, rings.corners, rings.rings, rings.polygons
    numbers: dict[str, np.generic] = {"corners": np.uint32(n), "rings": np.uint32(r), "polygons": np.uint32(p)}
    numbers |= {f"first_{name}": np.uint64(sum(getattr(one, name) for one in before)) for name in ("corners", "rings")}
    numbers["first_maps"] = np.uint64(rings.masks.before + rings.masks.first_map)
    corners, corner_count, ring_count, bound = rings.memory["corners"], n, r, dict(rings.memory)
    sized = runs.sized(n), runs.sized(r), runs.sized(p)
    if removed is not None:
        make, marks = functools.partial(_kept_plan, profile, *sized[:2]), dict(zip(("taken", "vanished"), removed))
        made, (ranks, sizes) = runs.run(session, ("rings kept", *sized[:2]), make, numbers, bound | marks)
        total = int(made.read(sizes, 1, r)[0])
        ring_count, corner_count = total >> 32, total & 0xFFFFFFFF
        corners = allocate(session, 8 * corner_count)
        bound |= {"outward_ranks": made[ranks], "outward_sizes": made[sizes], "corners_out": corners}
    kept = removed is not None
    emit = functools.partial(_columns_plan, profile, *sized, levels, kept=kept)
    made, out = runs.run(session, ("rings emitted", *sized, levels, kept), emit, numbers, bound)
    memory = {"corners": corners, **{name: made[scratch] for name, scratch in out.items()}}
    counts = dict.fromkeys(COLUMNS, p)
    counts |= {"corners": 2 * corner_count, "ring_offsets": ring_count + 1, "polygon_offsets": p + 1}
    return Emitted(corner_count, ring_count, n, memory, counts, runs.is_kept)


def _kept_plan(profile: DeviceProfile, corners: int, rings: int) -> tuple[Plan, tuple[Scratch, Scratch]]:
    """(the plan that ranks the corners that a simplification keeps, memory of ranks and of the sizes of rings)."""
    ranks, sizes = Scratch("ranks", np.dtype(np.uint32), corners + 1), Scratch("kept_sizes", ULONG, rings + 1)
    n, args = Number("corners"), (ranks, "begins", Number("rings"), sizes)
    ranking = Step.over(profile, KEPT, ("taken", "vanished", "ring_of", n, ranks), corners + 1, bytes_moved=9 * corners)
    plan = Plan(ranking) + sums_plan(profile, ranks, ranks, prefix="ranks")
    plan += Plan(Step.over(profile, SIZES, args, rings + 1, bytes_moved=20 * rings))
    return plan + sums_plan(profile, sizes, sizes, prefix="kept_sizes"), (ranks, sizes)


def _columns_plan(
    profile: DeviceProfile, corners: int, rings: int, polygons: int, levels: int, *, kept: bool
) -> tuple[Plan, dict[str, Scratch]]:
    """(the plan of offsets and of the columns with a value for each polygon, its memory by name).

    With `kept`, of the corners and rings that a simplification keeps.
    """
    out = {name: Scratch(f"polygons_{name}", LONG, polygons) for name in COLUMNS}
    out["ring_offsets"] = Scratch("polygons_ring_offsets", LONG, rings + 1)
    out["polygon_offsets"] = Scratch("polygons_polygon_offsets", LONG, polygons + 1)
    params, sizes, plan = {"kept": kept}, ("outward_sizes",) if kept else (), Plan()
    if kept:
        args: tuple[Argument, ...] = ("corners", "outward_ranks", Number("corners"), "corners_out")
        plan += Plan(Step.over(profile, EMIT, args, corners, bytes_moved=20 * corners))
    offsets = (*(sizes or ("begins",)), Number("rings"), Number("first_corners"), out["ring_offsets"])
    columns = ("firsts", "begins", "owners", "areas", *sizes, Number("polygons"), np.uint32(levels))
    columns += (Number("first_maps"), Number("first_rings"))
    columns += (out["polygon_offsets"], *(out[name] for name in COLUMNS))
    return plan + Plan(
        Step.over(profile, OFFSETS, offsets, rings + 1, params=params, bytes_moved=16 * rings),
        Step.over(profile, POLYGONS, columns, polygons + 1, params=params, bytes_moved=60 * polygons),
    ), out


def arrays_of(
    session: Session, batches: list[Emitted], queue: cl.CommandQueue | None = None, *, on_device: bool
) -> dict[str, Any]:
    """Return the arrays of all batches together, as attributes of `CoveragePolygons`: on the device, or on the host."""
    return {name: _array(session, batches, name, queue, on_device) for name in ARRAYS}


def joined(pieces: Sequence[dict[str, np.ndarray]]) -> dict[str, Any]:
    """Return the arrays on the host of several batches, one after another."""
    corners, rings = (
        np.append(0, np.cumsum([len(piece[name]) - again for piece in pieces], dtype=np.int64))
        for name, again in (("corners", 0), ("ring_offsets", 1))
    )
    made = {name: np.concatenate([piece[name] for piece in pieces]) for name in ("corners", *COLUMNS)}
    for name, before in (("ring_offsets", corners), ("polygon_offsets", rings)):
        made[name] = np.concatenate([[0], *(piece[name][1:] + first for piece, first in zip(pieces, before))])
    return made


def _array(session: Session, batches: list[Emitted], name: str, queue: cl.CommandQueue | None, on_device: bool) -> Any:
    again = int(name.endswith("_offsets"))  # a batch begins with the last offset of the one before
    dtype = np.dtype(np.int32 if name == "corners" else LONG)
    counts = [one.counts[name] for one in batches]
    count = sum(counts) - again * len(counts) + again
    shape = (count // 2, 2) if name == "corners" else (count,)
    if not on_device:
        host, at = np.zeros(count, dtype), 0
        for one, own in zip(batches, counts):
            read(session, one.memory[name], dtype, own, out=host[at : at + own])
            at += own - again
        return host.reshape(shape)
    if not batches:
        zeros = np.zeros(shape, dtype)
        return to_array(session, zeros, queue=queue) if count else new_array(session, shape, dtype, queue=queue)
    whole, at = batches[0].memory[name], 0
    if len(batches) > 1 or batches[0].is_kept:
        whole = allocate(session, count * dtype.itemsize)
        for one, own in zip(batches, counts):
            copy(session, one.memory[name], whole, own * dtype.itemsize, at=at * dtype.itemsize)
            at += own - again
    return as_array(session, whole, shape, dtype, queue=queue)
