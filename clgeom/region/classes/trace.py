"""Arcs, faces and rings of rasters of integers, on the device.

classes -> sides between classes, as bits (classes_marks), and where they turn or meet (classes_counts)
rows    -> runs of equal cells (classes_runs), united to faces (classes_unite)
sides   -> arcs, and rings round faces: by chains of steps (chains), on CPUs by walks along them (walks)

The host reads the numbers of corners, runs, chains, arcs, rings and faces. Each cell is read once, and the first one of
each face a second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.core.device import Session
from clgeom.core.host_memory import show_all
from clgeom.core.launch import read
from clgeom.core.plan import Plan, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit
from clgeom.intake.arrays import c_name
from clgeom.region.classes.arcs import Arcs, no_arcs
from clgeom.region.classes.chains import chained_rings
from clgeom.region.classes.walks import walked_rings
from clgeom.region.classes.work import MOST, UINT, ULONG, Arguments, Counts, Work
from clgeom.region.coverage.rasters import Stack
from clgeom.region.rings.trace import JUMP

#: Corners of a word of bits.
WORD = 32


@dataclass(frozen=True, eq=False)
class DeviceArcs:
    """The arrays of `Arcs` in the memory of a device, by name; `regions` is of uint32, and longer than needed."""

    session: Session
    shape: tuple[int, int, int]
    memory: dict[str, tuple[Any, np.dtype, int]]  # buffer, type and number of values of each array
    arrays: dict[str, np.ndarray]  # those whose memory the buffers are

    def read(self) -> Arcs:
        """Return the arcs on the host."""
        if self.arrays:
            show_all(self.session, [(self.memory[name][0], array) for name, array in self.arrays.items()])
        made = self.arrays | {
            name: read(self.session, buffer, dtype, count)
            for name, (buffer, dtype, count) in self.memory.items()
            if name not in self.arrays
        }
        made["corners"] = made["corners"].reshape(-1, 2)
        made["regions"] = made["regions"].view(np.int32)
        return Arcs(self.shape, **made)


class TooDense(Exception):
    """Arcs have more corners than the caller takes."""


def trace_arcs(stack: Stack, *, connectivity: int = 4, nodata: Any = None, most: int | None = None) -> Arcs:
    """Return the arcs of a stack of rasters of integers; cells of `nodata`, of the stack's type, are in no face.

    Raise `TooDense` where they have more than about `most` corners, before these take memory.
    """
    made = arcs_on_device(stack, connectivity=connectivity, nodata=nodata, most=most, on_host=True)
    return no_arcs((stack.maps, stack.rows, stack.columns), stack.dtype) if made is None else made.read()


def arcs_on_device(
    stack: Stack, *, connectivity: int = 4, nodata: Any = None, most: int | None = None, on_host: bool = False
) -> DeviceArcs | None:
    """`trace_arcs` in the memory of the device, of which the host reads numbers only; None where no cell has data.

    With `on_host` CPU devices write them to arrays.
    """
    words = ceil_div(stack.columns + 1, WORD)
    n = stack.maps * (stack.rows + 1) * words
    if n > MOST:
        raise DeviceLimit(f"Rasters of {stack.caller} may have at most {MOST * WORD:,} corners together.")
    is_walked = select(stack.session.profile, JUMP, UINT, n).variant == "serial"
    work = Work(
        stack.session, words, stack.rows + 1, stack.columns, n, is_walked, on_host and stack.session.profile.is_cpu
    )
    _mark(work, stack, nodata)
    counts = _count(work)
    if most is not None and counts.corners - counts.nodes + 2 * counts.opened > most:
        raise TooDense
    faces = _label(work, counts.runs)
    if faces == 0:
        return None
    _look_up(work, stack, faces)
    diagonals = (walked_rings if is_walked else chained_rings)(work, counts, faces, stack.dtype)
    names = {name: name for name in "starts left right values layers face_rings ring_starts ring_arcs".split()}
    names |= {"corners": "arc_corners", "cells": "cells_of_faces"}
    names["regions"] = "parents_of_faces" if connectivity == 4 else _unite_regions(work, faces, diagonals)
    memory: dict[str, tuple[Any, np.dtype, int]] = {}
    for name, own in names.items():
        made = work.sizes[own]
        memory[name] = work.memory[own], np.dtype(made.dtype), faces if name == "regions" else made.count
    arrays = {name: work.arrays[own] for name, own in names.items() if own in work.arrays}
    return DeviceArcs(stack.session, (stack.maps, stack.rows, stack.columns), memory, arrays)


def _mark(work: Work, stack: Stack, nodata: Any) -> None:
    """Find the sides between classes."""
    planes, valid = work.new("planes", UINT, 4 * work.n), work.new("valid", UINT, work.n)
    absent = stack.dtype.type(0 if nodata is None else nodata)
    params = {"value": c_name(stack.dtype), "nodata": nodata is not None}
    for piece in stack.pieces(0, stack.maps, halo=1):
        rows = piece.rows + (piece.first_row + piece.rows == stack.rows)
        place = piece.maps, piece.first_map, piece.first_row, piece.rows, stack.rows, stack.columns, work.words
        args = ("cells", np.uint64(piece.start), *place, absent, planes, valid)
        size = 20 + 2 * WORD * stack.dtype.itemsize
        work.run(work.over("marks", args, piece.maps * rows * work.words, size, **params), cells=piece.buffer)


def _count(work: Work) -> Counts:
    """Count corners, nodes among them, the steps that leave these, and runs."""
    n = work.n
    args: Arguments = ("planes", n, work.words, work.lines, work.columns)
    args += tuple(work.new(name, ULONG, n + 1) for name in ("counts", "run_counts"))
    args += tuple(work.new(name, UINT, n) for name in ("active", "nodes")[: 1 + work.is_walked])
    work.run(work.over("counts", args, n, 68, nodes=work.is_walked) + work.sums("counts") + work.sums("run_counts"))
    bends, nodes = work.last("counts")
    opened, runs = work.last("run_counts")
    if max(bends + nodes, bends + opened, runs, 4 * nodes) > MOST:
        raise DeviceLimit(f"The classes of these rasters have {bends + nodes:,} corners, which is too many at once.")
    return Counts(bends + nodes, nodes, opened, runs)


def _label(work: Work, runs: int) -> int:
    """Unite runs to faces; returns the number of faces."""
    begins, parents = work.new("run_begins", UINT, 2 * runs), work.new("parents", UINT, runs)
    sizes = work.words, work.lines, work.columns
    plan = work.over("runs", ("planes", "run_counts", work.n, *sizes, begins, parents), work.n, 28)
    plan += _uniting(work, parents.name)
    roots, leads = work.new("roots", UINT, runs), work.new("leads", UINT, runs + 1)
    plan += work.over("roots", (parents, runs, roots), runs, 16)
    plan += work.over("leaders", (roots, begins, "valid", runs, work.words, leads), runs + 1, 20)
    work.run(plan + work.sums("leads"))
    faces = int(work.read("leads", 1, runs)[0])
    if faces:
        args = roots, begins, leads, runs, work.new("faces", UINT, runs), work.new("firsts", UINT, 2 * faces)
        work.run(work.over("faces", args, runs, 20))
    work.drop("parents", "roots", "leads", "run_begins", "valid")
    return faces


def _uniting(work: Work, parents: str) -> Plan:
    """Return the launches that unite runs to faces."""
    profile, kernel, lines = work.session.profile, "region/classes/classes_unite", work.n // work.words
    policy = select(profile, kernel, UINT, work.n)
    is_serial = policy.variant == "serial"
    groups = policy.groups(lines if is_serial else ceil_div(work.n, policy.tile), profile.compute_units)
    sizes = map(np.uint32, (lines, work.words, work.lines, work.columns))
    args: Arguments = ("planes", "run_counts", "valid", *sizes, parents)
    shares = (False, True) if is_serial else (False,)
    return Plan(*(Step(kernel, policy, args, groups, {"seams": seams}, 32 * work.n) for seams in shares))


def _look_up(work: Work, stack: Stack, faces: int) -> None:
    """Find the classes of faces in the raster."""
    values = work.result("values", stack.dtype, faces)
    for piece in stack.pieces(0, stack.maps, halo=0):
        place = piece.maps, piece.first_map, piece.first_row, piece.rows, work.lines, stack.columns
        args = ("cells", np.uint64(piece.start), *place, "firsts", faces, values)
        work.run(work.over("values", args, faces, 16, value=c_name(stack.dtype)), cells=piece.buffer)


def _unite_regions(work: Work, faces: int, diagonals: Plan) -> str:
    """Number the regions of faces, which `diagonals` unites; returns the name of their memory."""
    roots = work.new("region_roots", UINT, faces)
    before, regions = work.new("regions_before", UINT, faces + 1), work.new("regions", UINT, faces + 1)
    plan = diagonals + work.over("roots", ("parents_of_faces", faces, roots), faces, 16)
    plan += work.over("regions", (roots, roots, faces, 0, before), faces + 1, 8) + work.sums("regions_before")
    work.run(plan + work.over("regions", (roots, before, faces, 1, regions), faces + 1, 12))
    return regions.name
