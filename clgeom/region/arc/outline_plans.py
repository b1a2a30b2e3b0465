"""Plans of adaptive regions' outlines: the launches from candidates to vertices.

Four phases: cuts, the segments' hulls and their tangents, the offsets of the vertices, the vertices. For one region of
short segments a single kernel does the first two and stages the vertices (`_fused_plan`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.core.device import Session
from clgeom.core.plan import Argument, Plan, Scratch, Step
from clgeom.core.policies import Policy, ceil_div, within_limits
from clgeom.core.profile import DeviceProfile
from clgeom.core.tuning import select, select_fitting
from clgeom.errors import DeviceLimit
from clgeom.hull.predicates import predicate_parameters
from clgeom.primitives.scan import sums_plan

#: Mean number of candidates up to which one work-item handles a segment, in local memory.
SHORT = 16
#: Bounds on the candidates of a segment for which arc_outline_local is built.
LENGTHS = (4, 8, SHORT)
#: Most tiles that one work-group checks for orientations in doubt, and the fewest work-groups for each compute unit.
#: H200, 16M and 64M points: one work-group a tile took 28 and 89 us, with almost no doubt.
SPAN, WAVES = 8, 16
#: Work-groups that keep a compute unit busy, and the most tiles of a block of one work-group.
BUSY, LONGEST = 8, 8
#: Fewest candidates of a block that one work-group solves.
LEAST = 2048
#: Bytes of local memory that double the tiles of long segments of float32, for fewer records in all.
WIDE_LOCAL = 32 << 10
#: Candidates of one strip of the serial kernel for blocks.
STRIP = 32
#: Most segments for which arc_offsets sums the numbers of vertices in one launch, in chunks.
FEW = 1 << 13


@dataclass(frozen=True)
class Emission:
    """The last launch, which writes the vertices, without the memory for them."""

    kernel: str
    args: tuple[Argument, ...]  # the first ones
    params: dict[str, Any]
    dtype: np.dtype[Any]
    segments: int  # of all regions
    items: int
    head: int  # points that take as much memory as the summary, which is before the vertices

    def into(self, room: int, device: DeviceProfile) -> Output:
        """Return the launch with memory for at most `room` vertices."""
        memory = Scratch("outline_memory", np.uint8, (self.head + room) * 2 * self.dtype.itemsize)
        args = (*self.args, memory, np.uint32(self.head), np.uint32(room), memory)
        policy, groups = _shape(device, self.kernel, self.dtype, self.items)
        moved = self.segments * 48 + room * 2 * self.dtype.itemsize
        return Output(self, memory, room, Plan(Step(self.kernel, policy, args, groups, self.params, bytes_moved=moved)))


@dataclass(frozen=True)
class Output:
    """The last launch, and its memory: a summary, then at most `room` vertices."""

    emission: Emission
    memory: Scratch
    room: int
    plan: Plan

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The names of the memory that the launch uses."""
        args = (arg for step in self.plan for arg in step.args if isinstance(arg, (str, Scratch)))
        return frozenset(arg.name if isinstance(arg, Scratch) else arg for arg in args)


@dataclass(frozen=True)
class OutlineOptions:
    """Regions of candidates, and how their outlines are computed: the input of `outline_plan`.

    Candidates are pairs of coordinates, region after region: `lower` those of the lower side, `upper` those of the
    upper side, which may be one buffer. In a region x ascends, and equal x are in lexicographic order. Both sides have
    the same x.
    """

    dtype: np.dtype
    count: int  # of candidates, or an upper bound
    lower: str | Scratch
    upper: str | Scratch
    segments: int  # of each region
    #: Index of each region's first candidate, then the number of candidates; uint32. Not needed for one region.
    starts: str | Scratch | None = None
    regions: int = 1
    #: Whether segments hold equally many candidates ("count") or are equally wide ("width").
    cuts: str = "count"
    #: The vertices where tangents cross: the crossing ("tangent"), or both contacts, as "published".
    join: str = "tangent"
    #: The kernel for the segments' hulls: "auto", "naive" or "local". All give the same hulls.
    kernel: str = "auto"
    #: Whether kernels test that candidates are finite and in lexicographic order.
    check: bool = False
    #: A buffer with a number that is not 0 if the candidates are out of order: then there are no vertices.
    disorder: str | None = None
    #: A buffer that already has the first candidate of each segment, then the number of candidates.
    cut: str | None = None

    @property
    def m(self) -> int:
        """The number of candidates for sizes, which are not 0."""
        return max(self.count, 1)

    @property
    def all_segments(self) -> int:
        return self.segments * self.regions

    @property
    def is_shared(self) -> bool:
        """Whether both sides have the same candidates."""
        return self.lower == self.upper

    @property
    def point_bytes(self) -> int:
        return 2 * self.dtype.itemsize


def outline_plan(session: Session, options: OutlineOptions) -> tuple[Plan, Output]:
    """Plan from candidates to vertices, and its Output."""
    device, dtype, starts = session.profile, options.dtype, options.starts
    all_segments, regions, m = options.all_segments, options.regions, options.m
    if 3 * all_segments >= 1 << 32 or 2 * m >= 1 << 32:
        raise DeviceLimit(
            f"A call takes fewer than 2**31 candidates and 2**30 segments. Got {options.count:,} and {all_segments:,}."
        )
    params, point = predicate_parameters(session, dtype), options.point_bytes
    over = functools.partial(Step.over, device, dtype=dtype)
    memory = {
        "cuts": Scratch("outline_cuts", np.uint32, all_segments + 1) if options.cut is None else options.cut,
        "flag": Scratch("outline_flag", np.uint32, 1),
        "pending": Scratch("outline_pending", np.uint32, 1),
        "corners": Scratch("outline_corners", np.uint32, 2 * m),
        "ranges": Scratch("outline_ranges", np.uint32, 4 * all_segments),
        "links": Scratch("outline_links", np.uint32, 8 * all_segments),
    }
    cut, flag, pending, links = (memory[name] for name in ("cuts", "flag", "pending", "links"))
    offsets = Scratch("outline_offsets", np.uint32, 3 * all_segments + 1)
    head, room = ceil_div(4 * (3 * (regions + 1) + 1), point), 2 * max(m, all_segments)
    # usually a segment has 1.5 corners; if there are more, the emission runs again with enough memory
    room = max(min(room, 6 * all_segments + 1024, device.max_alloc_bytes // point - head), 1)
    zero = {"value": "uint", "to": "0"}
    no_flag, none_pending = (
        Step("primitives/set_value", select(device, "primitives/set_value"), (word,), 1, zero)
        for word in (flag, pending)
    )
    is_alone = options.cut is None and starts is None and regions == 1 and options.cuts == "count"
    if is_alone and options.is_shared and options.kernel != "naive" and options.segments <= options.count:
        fused = _fused_plan(device, options, options.disorder or flag, params, head, room)
        if fused:
            return (Plan() if options.disorder else Plan(no_flag)) + fused[0], fused[1]
    number, each = np.uint32(all_segments), np.uint32(options.segments)
    begin = Plan(no_flag, none_pending)
    if options.cut is None:
        ragged = {"real": params["real"], "ragged": starts is not None, "by_width": options.cuts == "width"}
        args: tuple[Argument, ...] = (
            options.lower,
            np.uint32(options.count),
            options.lower if starts is None else starts,
        )
        args += (np.uint32(regions), each, cut, flag, pending)
        begin = Plan(
            over("region/arc/arc_cuts", args, all_segments + 1, params=ragged, bytes_moved=all_segments * (point + 4))
        )
    hulls = _hulls_plan(device, options, memory, params)
    reflex_vertices = np.uint32(2 if options.join == "published" else 1)
    if all_segments <= FEW:
        policy, chunks = _shape(device, "region/arc/arc_offsets", dtype, 3 * all_segments + 1)
        sums, chunk = Scratch("outline_sums", np.uint32, chunks), policy.tile
        args = (cut, number, links, reflex_vertices, offsets, sums)
        scanning = Plan(Step("region/arc/arc_offsets", policy, args, chunks, bytes_moved=all_segments * 100))
    else:
        counts = Scratch("outline_counts", np.uint32, 3 * all_segments + 1)
        sums, chunk = offsets, (1 << 32) - 1
        args = (cut, number, links, reflex_vertices, counts)
        scanning = Plan(over("region/arc/arc_counts", args, counts.count, bytes_moved=all_segments * 60))
        scanning += sums_plan(device, counts, offsets, prefix="outline")
    args = (options.lower, options.upper, np.uint32(m), cut, number, each)
    args += (memory["corners"], links, offsets, sums, np.uint32(chunk), options.disorder or flag)
    published = {**params, "published": options.join == "published"}
    emission = Emission("region/arc/arc_emit", args, published, dtype, all_segments, 2 * all_segments, head)
    out = emission.into(room, device)
    return begin + hulls + scanning + out.plan, out


def _fused_plan(
    device: DeviceProfile, options: OutlineOptions, flag: Scratch | str, params: dict[str, Any], head: int, room: int
) -> tuple[Plan, Output] | None:
    """Plan with one kernel from candidates of one region to staged vertices, and its Output; None if not possible."""
    dtype, m, segments, point = options.dtype, options.m, options.segments, options.point_bytes
    longest = ceil_div(m, segments)
    if longest > SHORT or 2 * m * point > device.max_alloc_bytes:
        return None
    # few lengths, since each is a build; shorter ones let more groups run at once
    longest = next(length for length in LENGTHS if longest <= length)
    outline = "region/arc/arc_outline_local"
    policy = select_fitting(device, outline, dtype, lambda p: p.wg_size * (4 * longest * point + 64))
    scan, gather = (select(device, f"region/arc/{name}", dtype, m) for name in ("arc_tile_offsets", "arc_place"))
    if policy.variant == "serial" or policy.wg_size < 4:
        return None
    if scan.wg_size % gather.items_per_thread or gather.wg_size < gather.items_per_thread:
        return None
    policy = replace(policy, items_per_thread=longest)
    own = policy.wg_size - 2
    tiles = ceil_div(segments, own)
    staged = Scratch("outline_staged", dtype, 4 * m)
    counts = Scratch("outline_counts", np.uint32, 4 * tiles)
    offsets = Scratch("outline_offsets", np.uint32, 3 * tiles)
    chunks = ceil_div(tiles, scan.wg_size)
    sums = Scratch("outline_sums", np.uint32, 3 * chunks)
    params = {**params, "check": options.check, "published": options.join == "published"}

    def outlines(exact: bool, alone: bool) -> Step:
        span = min(max(tiles // (WAVES * device.compute_units), 1), SPAN) if exact and not alone else 1
        args: tuple[Argument, ...] = (options.lower, np.uint32(m), np.uint32(segments), np.uint32(tiles))
        args += (staged, counts, flag, np.uint32(alone), np.uint32(span))
        moved = (m + 3 * segments) * point if alone or not exact else 4 * tiles
        return Step(outline, policy, args, ceil_div(tiles, span), {**params, "exact": exact}, moved)

    if dtype == np.float32 and params["filtered"] and device.fp64 and device.denormals:
        plan = Plan(outlines(False, False), outlines(True, False))
    else:
        plan = Plan(outlines(True, True))
    args: tuple[Argument, ...] = (counts, np.uint32(tiles), offsets, sums)
    plan += Plan(Step("region/arc/arc_tile_offsets", scan, args, chunks, bytes_moved=24 * tiles))
    args = (staged, np.uint32(m), np.uint32(segments), np.uint32(own), np.uint32(tiles), counts, offsets, sums)
    args += (np.uint32(scan.wg_size), np.uint32(chunks), flag)
    real, items = {"real": params["real"]}, tiles * gather.wg_size
    out = Emission("region/arc/arc_place", args, real, dtype, segments, items, head).into(room, device)
    return plan + out.plan, out


def _hulls_plan(
    device: DeviceProfile, options: OutlineOptions, memory: dict[str, str | Scratch], params: dict[str, Any]
) -> Plan:
    """Plan of hulls and tangents: a work-item per segment, in global or local memory, or a work-group per block.

    See cl_src/arc/arc_segments.h for the memory.
    """
    dtype, m, segments, point = options.dtype, options.m, options.all_segments, options.point_bytes
    kernel, sides = options.kernel, (options.lower, options.upper)
    moved = m * ((1 if options.is_shared else 2) * point + 8) + 16 * segments
    checked = {**params, "check": options.check}
    serial = select(device, "region/arc/arc_hulls", dtype, m).variant == "serial"
    long = m > (4 if serial and kernel == "auto" else 1) * SHORT * segments
    cut, corners, ranges, flag = (memory[name] for name in ("cuts", "corners", "ranges", "flag"))
    segment_args: tuple[Argument, ...] = (*sides, np.uint32(m), cut, np.uint32(segments), np.uint32(options.segments))
    segment_args += (corners, ranges, memory["links"])

    def tangents(own: int = 0, fit: int = 0) -> Plan:
        policy, groups = _shape(device, "region/arc/arc_tangents", dtype, 2 * segments)
        groups = min(groups, BUSY * device.compute_units) if own else groups  # few are left
        args = (*segment_args, np.uint32(own), np.uint32(fit), memory["pending"])
        moved = 0 if own else segments * 2 * (8 + 16 + 8 * (point + 4))
        return Plan(Step("region/arc/arc_tangents", policy, args, groups, params, bytes_moved=moved))

    if long and options.is_shared and kernel != "naive":
        blocks = _blocks_plan(device, options, memory, checked)
        policy = select(device, "region/arc/arc_tangents_wide", dtype, m)
        if policy.variant == "serial" or segments > FEW:
            return blocks + tangents()
        moved = segments * 2 * (8 + 16 + 16 * (point + 4))
        wide = Step("region/arc/arc_tangents_wide", policy, segment_args, 2 * segments, params, bytes_moved=moved)
        return blocks + Plan(wide)
    if kernel == "naive" or long or (kernel == "auto" and serial):
        checked["sieve"] = serial and m > 4 * SHORT * segments
        args: tuple[Argument, ...] = (*sides, np.uint32(m), cut, np.uint32(segments), corners, ranges, flag)
        hulls = Step.over(
            device, "region/arc/arc_hulls", args, 2 * segments, dtype=dtype, params=checked, bytes_moved=2 * moved
        )
        return Plan(hulls) + tangents()
    local = "region/arc/arc_hulls_local"
    policy = select_fitting(device, local, dtype, lambda p: p.tile * (point + 2) + 4 * p.wg_size + 64)
    own = max(policy.wg_size - 1, 1)
    args = (*segment_args, flag, memory["pending"])
    checked["shared"] = options.is_shared
    hulls = Step(local, policy, args, ceil_div(segments, own), checked, bytes_moved=moved + 32 * segments)
    return Plan(hulls) + tangents(own, policy.tile if policy.wg_size > 1 else 0)


def _blocks_plan(
    device: DeviceProfile, options: OutlineOptions, memory: dict[str, str | Scratch], params: dict[str, Any]
) -> Plan:
    """Plan of the hulls of long segments: the hulls of their blocks, merged if a segment has several blocks."""
    cut, corners, ranges, flag = (memory[name] for name in ("cuts", "corners", "ranges", "flag"))
    points, m, dtype, segments, point = (
        options.lower,
        options.m,
        options.dtype,
        options.all_segments,
        options.point_bytes,
    )
    policy = select_fitting(device, "region/arc/arc_hulls_blocks", dtype, lambda p: _blocks_memory(p, dtype))
    mean = ceil_div(m, segments)
    serial = policy.variant == "serial"
    if not serial and mean > policy.tile and dtype == np.float32 and device.local_mem_bytes >= WIDE_LOCAL:
        policy = within_limits(replace(policy, wg_size=2 * policy.wg_size), device)
    tile = policy.tile * (STRIP if serial else 1)
    # enough blocks for all compute units, neither too short nor too long for one work-group
    wanted = ceil_div(BUSY * device.compute_units, segments)
    fan = max(min(wanted, mean // (tile if serial else LEAST)), 1)
    if not serial:
        fan = max(fan, ceil_div(mean, LONGEST * tile))
    blocks, plan = segments * fan, Plan()
    fine, block_corners, block_ranges = cut, corners, ranges
    if fan > 1:
        fine = Scratch("block_cuts", np.uint32, blocks + 1)
        block_corners = Scratch("block_corners", np.uint32, 2 * m)
        block_ranges = Scratch("block_ranges", np.uint32, 4 * blocks)
        args: tuple[Argument, ...] = (points, np.uint32(m), cut, np.uint32(segments), np.uint32(fan))
        args += (fine, flag, memory["pending"])
        ragged = {"real": params["real"], "ragged": True, "by_width": False}
        moved = blocks * (point + 4)
        plan += Plan(
            Step.over(device, "region/arc/arc_cuts", args, blocks + 1, dtype=dtype, params=ragged, bytes_moved=moved)
        )
    unchecked = {k: v for k, v in params.items() if k != "check"}
    args = (points, np.uint32(m), fine, np.uint32(blocks), block_corners, block_ranges, flag)
    plan += Plan(Step("region/arc/arc_hulls_blocks", policy, args, blocks, params, m * point + 16 * blocks))
    if not serial:
        args = (points, np.uint32(m), np.uint32(blocks), block_corners, block_ranges)
        policy = select(device, "region/arc/arc_corners", dtype, m)
        moved = 40 * blocks * (point + 8)
        plan += Plan(Step("region/arc/arc_corners", policy, args, 2 * blocks, unchecked, moved))
    if fan > 1:
        args = (points, np.uint32(m), cut, np.uint32(segments), np.uint32(fan), block_corners, block_ranges)
        args, moved = (*args, corners, ranges), blocks * 32 * (point + 8)
        policy = select(device, "region/arc/arc_join", dtype, m)
        plan += Plan(Step("region/arc/arc_join", policy, args, 2 * segments, unchecked, moved))
    return plan


def _blocks_memory(shape: Policy, dtype: np.dtype[Any]) -> int:
    """Return the bytes of local memory of arc_hulls_blocks: heights of runs and of work-items, with gaps, and two
    numbers each.
    """
    if shape.variant == "serial":
        return 0
    runs = shape.wg_size * (shape.items_per_thread // min(shape.items_per_thread, 8))
    heights = runs + runs // 8 + 1 + 2 * (shape.wg_size + shape.wg_size // 16 + 1) + ceil_div(shape.wg_size, 16)
    return heights * (8 if dtype == np.float32 else 16) + 8 * shape.wg_size + 64


def _shape(device: DeviceProfile, kernel: str, dtype: np.dtype[Any], n: int) -> tuple[Policy, int]:
    policy = select(device, kernel, dtype, n)
    return policy, policy.groups(ceil_div(n, policy.tile), device.compute_units)
