"""Arcs, faces and rings of rasters of integers, on the device.

classes -> sides between classes, as bits (classes_marks), and where they turn or meet (classes_corners)
rows    -> runs of equal cells, united to faces (classes_unite)
corners -> steps from each to the next (classes_link), in chains (rings_walk), in arcs (rings_jump, classes_emit)
arcs    -> halves, forwards and backwards, in rings round faces (classes_halves, rings_jump)
rings   -> sorted by face, the exterior first (classes_keys, a radix sort, classes_rings)

The host reads the numbers of corners, runs, chains, arcs, rings and faces. Each cell is read once, and the first one of
each face a second time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from clgeom.core.device import Session
from clgeom.core.launch import Result, read, run
from clgeom.core.plan import Argument, Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit
from clgeom.intake.arrays import c_name
from clgeom.primitives.scan import sums_plan
from clgeom.region.classes.arcs import Arcs, no_arcs
from clgeom.region.coverage.rasters import Stack
from clgeom.region.rings.trace import CHAINS, FIRSTS, HOPS, JUMP, WALK
from clgeom.sorting.radix.passes import digit_windows, order_plan
from clgeom.sorting.radix.work import features_of

UINT, ULONG, LONG, INT, BYTE = map(np.dtype, ("uint32", "uint64", "int64", "int32", "uint8"))
#: Arguments of a kernel; Python's integers are of uint32.
Arguments: TypeAlias = tuple[Any, ...]
#: Corners of a word of bits.
WORD = 32
#: Most words, runs, corners and halves of arcs, for kernels that count them with 31 bits.
MOST = (1 << 31) - (1 << 20)


class Jumps(NamedTuple):
    """Launches of rings_jump: memory that they begin with (states of both rounds, the list and its length), the final
    states, and the launches.
    """

    memory: tuple[Scratch, Scratch, Scratch, Scratch]
    final: Scratch
    plan: Plan


@dataclass(eq=False)
class _Work:
    """Launches one after the other, and their memory by name."""

    session: Session
    words: int  # of a line of corners
    lines: int  # of a layer
    columns: int
    memory: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, Scratch] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)

    def new(self, name: str, dtype: Any, count: int) -> Scratch:
        """Return new memory, which later launches find by its name."""
        made = Scratch(name, np.dtype(dtype), count)
        self.sizes[name] = made
        return made

    def over(self, kernel: str, args: Arguments, n: int, bytes_each: int, **params: Any) -> Plan:
        """Return a launch over `n` elements."""
        given: list[Argument] = [np.uint32(arg) if isinstance(arg, int) else arg for arg in args]
        name = kernel if "/" in kernel else f"region/classes/classes_{kernel}"
        moved = bytes_each * n
        return Plan(Step.over(self.session.profile, name, tuple(given), n, params=params, bytes_moved=moved))

    def unite(self, lines: int, parents: Scratch) -> Plan:
        """Return the launches that unite runs to faces."""
        profile, kernel = self.session.profile, "region/classes/classes_unite"
        policy = select(profile, kernel, UINT, lines * self.words)
        is_serial = policy.variant == "serial"
        groups = policy.groups(lines if is_serial else ceil_div(lines * self.words, policy.tile), profile.compute_units)
        sizes = map(np.uint32, (lines, self.words, self.lines, self.columns))
        args: Arguments = ("planes", "run_counts", "valid", *sizes, parents)
        moved = 32 * lines * self.words
        shares = (False, True) if is_serial else (False,)
        return Plan(*(Step(kernel, policy, args, groups, {"seams": seams}, moved) for seams in shares))

    def jumps(self, name: str, n: int) -> Jumps:
        """Return the launches of rings_jump for `n` chains, and their memory."""
        rounds, plan = 0, Plan()
        while (HOPS + 1) ** rounds < 2 * n:  # a window is then longer than a ring, and so is the next one
            rounds += 1
        states = [self.new(f"{name}_states_{i}", UINT, 4 * n) for i in (0, 1)]
        lists = [self.new(f"{name}_list_{i}", UINT, n) for i in (0, 1)]
        lengths = self.new(f"{name}_lengths", UINT, rounds + 2)
        for i in range(rounds):
            one, other = i % 2, (i + 1) % 2
            args = i, lists[one], states[one], states[other], lists[other], lengths
            plan += self.over(JUMP, args, n, 48 >> i)
        return Jumps((states[0], states[1], lists[0], lengths), states[rounds % 2], plan)

    def clear(self, lengths: Scratch) -> Plan:
        """Return the launch that sets lengths to 0."""
        return self.over("primitives/clear_words", (lengths, np.uint64(lengths.count)), lengths.count, 4)

    def sums(self, name: str) -> Plan:
        """Return the launches that replace values in memory by the sums of those before."""
        own = self.sizes[name]
        return sums_plan(self.session.profile, own, own, prefix=f"{name}_sums")

    def run(self, plan: Plan, **buffers: Any) -> None:
        """Run launches, and keep their memory."""
        named = {arg for step in plan for arg in step.args if isinstance(arg, str)}
        named |= plan.scratch.keys()
        known = {name: memory for name, memory in self.memory.items() if name in named}
        made = run(self.session, plan, **known, **buffers)
        self.results.append(made)
        self.memory |= {name: made[name] for name in plan.scratch if name in self.sizes}

    def read(self, name: str, count: int | None = None, start: int = 0) -> np.ndarray:
        """Return values of memory, after waiting."""
        own = self.sizes[name]
        return read(self.session, self.memory[name], own.dtype, own.count if count is None else count, start)

    def last(self, name: str) -> tuple[int, int]:
        """Return the lower and the upper half of the last value of 64 bits."""
        value = int(self.read(name, 1, self.sizes[name].count - 1)[0])
        return value & 0xFFFFFFFF, value >> 32

    def drop(self, *names: str) -> None:
        """Let go of memory."""
        for name in names:
            self.memory.pop(name, None)
            for made in self.results:
                made.buffers.pop(name, None)


@dataclass(frozen=True, eq=False)
class DeviceArcs:
    """The arrays of `Arcs` in the memory of a device, by name; `regions` is of uint32, and longer than needed."""

    session: Session
    shape: tuple[int, int, int]
    memory: dict[str, tuple[Any, np.dtype, int]]  # buffer, type and number of values of each array

    def read(self) -> Arcs:
        """Return the arcs on the host."""
        made: dict[str, Any] = {
            name: read(self.session, buffer, dtype, count) for name, (buffer, dtype, count) in self.memory.items()
        }
        made["corners"] = made["corners"].reshape(-1, 2)
        made["regions"] = made["regions"].astype(np.int32)
        return Arcs(self.shape, **made)


class TooDense(Exception):
    """Arcs have more corners than the caller takes."""


def trace_arcs(stack: Stack, *, connectivity: int = 4, nodata: Any = None, most: int | None = None) -> Arcs:
    """Return the arcs of a stack of rasters of integers; cells of `nodata`, of the stack's type, are in no face.

    Raise `TooDense` where they have more than about `most` corners, before these take memory.
    """
    made = arcs_on_device(stack, connectivity=connectivity, nodata=nodata, most=most)
    return no_arcs((stack.maps, stack.rows, stack.columns), stack.dtype) if made is None else made.read()


def arcs_on_device(
    stack: Stack, *, connectivity: int = 4, nodata: Any = None, most: int | None = None
) -> DeviceArcs | None:
    """`trace_arcs` in the memory of the device, of which the host reads numbers only; None where no cell has data."""
    words = ceil_div(stack.columns + 1, WORD)
    work = _Work(stack.session, words, stack.rows + 1, stack.columns)
    n = stack.maps * work.lines * words
    if n > MOST:
        raise DeviceLimit(f"Rasters of {stack.caller} may have at most {MOST * WORD:,} corners together.")
    _mark(work, stack, nodata, n)
    corners, nodes, opened, runs = _count(work, n)
    if most is not None and corners - nodes + 2 * opened > most:
        raise TooDense
    faces = _label(work, n, corners, opened, runs)
    if faces == 0:
        return None
    _look_up(work, stack, faces)
    arcs = _chain(work, corners, nodes, opened)
    _find_rings(work, arcs, opened, corners, faces)
    _unite_regions(work, faces, corners, stack.dtype, connectivity)
    names = {name: name for name in "starts left right values layers regions face_rings ring_starts ring_arcs".split()}
    names |= {"corners": "arc_corners", "cells": "cells_of_faces"}
    memory: dict[str, tuple[Any, np.dtype, int]] = {}
    for name, own in names.items():
        made = work.sizes[own]
        memory[name] = work.memory[own], np.dtype(made.dtype), faces if name == "regions" else made.count
    return DeviceArcs(stack.session, (stack.maps, stack.rows, stack.columns), memory)


def _mark(work: _Work, stack: Stack, nodata: Any, n: int) -> None:
    """Find the sides between classes."""
    planes, valid = work.new("planes", UINT, 4 * n), work.new("valid", UINT, n)
    absent = stack.dtype.type(0 if nodata is None else nodata)
    params = {"value": c_name(stack.dtype), "nodata": nodata is not None}
    for piece in stack.pieces(0, stack.maps, halo=1):
        rows = piece.rows + (piece.first_row + piece.rows == stack.rows)
        place = piece.maps, piece.first_map, piece.first_row, piece.rows, stack.rows, stack.columns, work.words
        args = ("cells", np.uint64(piece.start), *place, absent, planes, valid)
        size = 20 + 2 * WORD * stack.dtype.itemsize
        work.run(work.over("marks", args, piece.maps * rows * work.words, size, **params), cells=piece.buffer)


def _count(work: _Work, n: int) -> tuple[int, int, int, int]:
    """Return the numbers of corners, of nodes among them, of the steps that leave these, and of runs."""
    counts, runs = work.new("counts", ULONG, n + 1), work.new("run_counts", ULONG, n + 1)
    args = "planes", n, work.words, work.lines, work.columns, counts, runs, work.new("active", UINT, n)
    work.run(work.over("counts", args, n, 68) + work.sums("counts") + work.sums("run_counts"))
    bends, nodes = work.last("counts")
    opened, found = work.last("run_counts")
    if max(bends + nodes, bends + opened, found, 4 * nodes) > MOST:
        raise DeviceLimit(f"The classes of these rasters have {bends + nodes:,} corners, which is too many at once.")
    return bends + nodes, nodes, opened, found


def _label(work: _Work, n: int, corners: int, opened: int, runs: int) -> int:
    """List corners and runs, and unite these to faces; returns the number of faces."""
    made = (
        work.new("places", UINT, 2 * corners),
        work.new("kinds", BYTE, corners),
        work.new("slots", UINT, corners),
        work.new("nodes", UINT, corners),
        work.new("run_begins", UINT, 2 * runs),
        work.new("parents", UINT, runs),
    )
    sizes = n, work.words, work.lines, work.columns
    plan = work.over("corners", ("planes", "counts", "run_counts", *sizes, opened, *made), n, 32)
    plan += work.unite(n // work.words, made[-1])
    roots, leads = work.new("roots", UINT, runs), work.new("leads", UINT, runs + 1)
    plan += work.over("roots", (made[-1], runs, roots), runs, 16)
    plan += work.over("leaders", (roots, made[-2], "valid", runs, work.words, leads), runs + 1, 20)
    work.run(plan + work.sums("leads"))
    faces = int(work.read("leads", 1, runs)[0])
    if faces:
        args = roots, made[-2], leads, runs, work.new("faces", UINT, runs), work.new("firsts", UINT, 2 * faces)
        work.run(work.over("faces", args, runs, 20))
    work.drop("parents", "roots", "leads", "run_begins", "valid")
    return faces


def _look_up(work: _Work, stack: Stack, faces: int) -> None:
    """Find the classes of faces in the raster."""
    values = work.new("values", stack.dtype, faces)
    for piece in stack.pieces(0, stack.maps, halo=0):
        place = piece.maps, piece.first_map, piece.first_row, piece.rows, work.lines, stack.columns
        args = ("cells", np.uint64(piece.start), *place, "firsts", faces, values)
        work.run(work.over("values", args, faces, 16, value=c_name(stack.dtype)), cells=piece.buffer)


def _chain(work: _Work, corners: int, nodes: int, opened: int) -> int:
    """Join steps from corner to corner to arcs; returns the number of arcs."""
    steps = corners - nodes + opened
    before, begins, ends = (work.new(name, UINT, steps) for name in ("before", "step_begins", "step_ends"))
    turns, chains = work.new("turns", BYTE, steps), work.new("chains", UINT, steps + 1)
    args: Arguments = ("places", "kinds", "slots", "active", "counts", corners, work.words, before, begins, ends, turns)
    plan = work.over("link", args, corners, 60)
    plan += work.over(CHAINS, (turns, steps, chains), steps + 1, 5)
    work.run(plan + work.sums("chains"))
    count = int(work.read("chains", 1, steps)[0])
    firsts = work.new("chain_firsts", UINT, count)
    jumps, sizes = work.jumps("chain", count), work.new("sizes", ULONG, count + 1)
    plan = work.over(FIRSTS, (chains, steps, firsts), steps, 4) + work.clear(jumps.memory[-1])
    plan += work.over(WALK, (before, turns, chains, firsts, count, *jumps.memory), count, 40) + jumps.plan
    plan += work.over("sizes", (jumps.final, firsts, turns, count, opened, sizes), count, 28)
    work.run(plan + work.sums("sizes"))
    points, arcs = work.last("sizes")
    if 2 * arcs > MOST:
        raise DeviceLimit(f"The classes of these rasters have {arcs:,} arcs, and at most {MOST // 2:,} are possible.")
    made = (
        work.new("arc_corners", INT, 2 * points),
        work.new("areas", LONG, points),
        work.new("starts", LONG, arcs + 1),
        work.new("heads", UINT, arcs),
        work.new("arrivals", UINT, 4 * nodes),
    )
    args = jumps.final.name, firsts, before, turns, sizes, begins, ends, "places", "nodes", count, work.lines
    work.run(work.over("emit", (*args, *made), count, 128) + work.sums("areas"))
    work.drop(
        "before", "turns", "chains", "chain_firsts", "sizes", "counts", "active", *(one.name for one in jumps.memory)
    )
    return arcs


def _find_rings(work: _Work, arcs: int, opened: int, corners: int, faces: int) -> None:
    """Find the faces beside arcs, and join these to rings."""
    left, right, before = (
        work.new(*one) for one in (("left", INT, arcs), ("right", INT, arcs), ("prior", UINT, 2 * arcs))
    )
    halves, sides = 2 * arcs, (left, right)
    args: Arguments = ("heads", "step_begins", "step_ends", "places", "planes", "run_counts", "faces", arcs, opened)
    plan = work.over("sides", (*args, work.words, work.lines, work.columns, *sides, before), arcs, 100)
    args = "kinds", "slots", "nodes", "arrivals", *sides, corners, before
    plan += work.over("halves", args, corners, 30)
    jumps, sizes = work.jumps("half", halves), work.new("half_sizes", ULONG, halves + 1)
    plan += work.clear(jumps.memory[-1]) + work.over("begin", (before, halves, *jumps.memory), halves, 40) + jumps.plan
    plan += work.over("ring_sizes", (jumps.final, *sides, halves, sizes), halves + 1, 28)
    work.run(plan + work.sums("half_sizes"))
    work.drop("planes", "run_counts", "faces", "step_begins", "step_ends", "places", "prior")
    placed, rings = work.last("half_sizes")
    areas, owners, begins = (
        work.new(*one)
        for one in (("ring_areas", LONG, placed + 1), ("owners", UINT, rings), ("ring_begins", UINT, rings))
    )
    args = jumps.final.name, sizes, *sides, "areas", "starts", halves, placed, areas, owners, begins
    plan = work.over("place", args, halves, 60) + work.sums("ring_areas")
    keys = work.new("keys", UINT, rings)
    plan += work.over("keys", (areas, owners, begins, rings, placed, keys), rings, 32)
    windows = digit_windows((1 << (2 * faces - 1).bit_length()) - 1)
    features = features_of(work.session)
    ordered, order = order_plan(work.session.profile, keys, "index", features, windows=windows, prefix="rings_by_face")
    places, starts, cells, face_rings = (
        work.new(*one)
        for one in (
            ("ring_places", UINT, rings),
            ("ring_starts", LONG, rings + 1),
            ("ring_cells", LONG, rings + 1),
            ("face_rings", LONG, faces + 1),
        )
    )
    args = order, keys, areas, begins, rings, placed, faces, places, starts, cells, face_rings
    plan += ordered + work.over("order", args, rings, 60) + work.sums("ring_starts") + work.sums("ring_cells")
    args = jumps.final.name, sizes, places, starts, *sides, halves, work.new("ring_arcs", INT, placed)
    plan += work.over("rings", args, halves, 40)
    made = work.new("cells_of_faces", LONG, faces), work.new("layers", INT, faces), work.new("owners_of", UINT, faces)
    plan += work.over("cells", (cells, face_rings, "firsts", faces, work.lines, *made), faces, 40)
    work.run(plan)


def _unite_regions(work: _Work, faces: int, corners: int, dtype: np.dtype, connectivity: int) -> None:
    """Number the regions of faces."""
    plan, parents, roots = Plan(), work.sizes["owners_of"], work.new("region_roots", UINT, faces)
    if connectivity == 8:
        args: Arguments = ("kinds", "slots", "nodes", "arrivals", "left", "right", "values", corners, "owners_of")
        plan += work.over("diagonals", args, corners, 30, value=c_name(dtype))
    plan += work.over("roots", (parents.name, faces, roots), faces, 16)
    before, regions = work.new("regions_before", UINT, faces + 1), work.new("regions", UINT, faces + 1)
    plan += work.over("regions", (roots, roots, faces, 0, before), faces + 1, 8) + work.sums("regions_before")
    work.run(plan + work.over("regions", (roots, before, faces, 1, regions), faces + 1, 12))
