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
    """The last launch, which writes the vertices: all but the memory for them.

    Parameters
    ----------
    kernel : str
    args : tuple of Argument
        Its first arguments.
    params : dict
    dtype : numpy.dtype
    segments : int
        Of all regions.
    items : int
        Work-items.
    head : int
        Points that take as much memory as the summary, which is before the vertices.
    """

    kernel: str
    args: tuple[Argument, ...]
    params: dict[str, Any]
    dtype: np.dtype[Any]
    segments: int
    items: int
    head: int

    def into(self, room: int, device: DeviceProfile) -> Output:
        """The launch with memory for at most `room` vertices."""
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

    Parameters
    ----------
    dtype : numpy.dtype
        Of the coordinates: float32, float64 or int32.
    count : int
        Number of candidates, or an upper bound of it.
    lower, upper : str or Scratch
        Candidates of the lower and of the upper side: pairs of coordinates, region after region. In a region x ascends,
        and equal x are in lexicographic order. Both sides have the same x. They may be one buffer.
    segments : int
        Segments of each region.
    starts : str or Scratch of uint32, shape (regions + 1,)
        Index of each region's first candidate, then the number of candidates. Not needed for one region.
    regions : int
    cuts : {"count", "width"}
        Whether segments hold equally many candidates or are equally wide.
    join : {"tangent", "published"}
        The vertices where tangents cross. "tangent": the crossing. "published": both contacts, as published.
    kernel : {"auto", "naive", "local"}
        The kernel that computes the segments' hulls. All give the same hulls.
    check : bool
        Whether the kernels test that candidates are finite and in lexicographic order.
    cut : str or None
        A buffer that already has the first candidate of each segment, then the number of candidates.
    """

    dtype: np.dtype
    count: int
    lower: str | Scratch
    upper: str | Scratch
    segments: int
    starts: str | Scratch | None = None
    regions: int = 1
    cuts: str = "count"
    join: str = "tangent"
    kernel: str = "auto"
    check: bool = False
    cut: str | None = None


def outline_plan(session: Session, options: OutlineOptions) -> tuple[Plan, Output]:
    """Plan from candidates to vertices, and its Output."""
    device, dtype, count, starts = session.profile, options.dtype, options.count, options.starts
    lower, upper, segments, regions = options.lower, options.upper, options.segments, options.regions
    all_segments, m = segments * regions, max(count, 1)
    if 3 * all_segments >= 1 << 32 or 2 * m >= 1 << 32:
        raise DeviceLimit(
            f"A call takes fewer than 2**31 candidates and 2**30 segments. Got {count:,} and {all_segments:,}."
        )
    params = predicate_parameters(session, dtype)
    point = 2 * dtype.itemsize
    given = options.cut is not None
    cut = options.cut if options.cut is not None else Scratch("outline_cuts", np.uint32, all_segments + 1)
    flag, pending = Scratch("outline_flag", np.uint32, 1), Scratch("outline_pending", np.uint32, 1)
    corners = Scratch("outline_corners", np.uint32, 2 * m)
    ranges = Scratch("outline_ranges", np.uint32, 4 * all_segments)
    links = Scratch("outline_links", np.uint32, 8 * all_segments)
    counts = Scratch("outline_counts", np.uint32, 3 * all_segments + 1)
    offsets = Scratch("outline_offsets", np.uint32, 3 * all_segments + 1)

    def step(name: str, items: int, args: tuple[Argument, ...], params: dict[str, Any], moved: int) -> Step:
        policy, groups = _shape(device, f"region/arc/{name}", dtype, items)
        return Step(f"region/arc/{name}", policy, args, groups, params, bytes_moved=moved)

    number, each = np.uint32(all_segments), np.uint32(segments)
    cutting = step(
        "arc_cuts",
        all_segments + 1,
        (lower, np.uint32(count), lower if starts is None else starts, np.uint32(regions), each, cut, flag, pending),
        {"real": params["real"], "ragged": starts is not None, "by_width": options.cuts == "width"},
        all_segments * (point + 4),
    )
    zero, policy = {"value": "uint", "to": "0"}, select(device, "primitives/set_value")
    no_flag, none_pending = (Step("primitives/set_value", policy, (word,), 1, zero) for word in (flag, pending))
    begin = Plan(no_flag, none_pending) if given else Plan(cutting)
    candidates = Candidates(lower, upper, dtype, m)
    head, room = ceil_div(4 * (3 * (regions + 1) + 1), point), 2 * max(m, all_segments)
    # usually a segment has 1.5 corners; if there are more, the emission runs again with enough memory
    room = max(min(room, 6 * all_segments + 1024, device.max_alloc_bytes // point - head), 1)
    alone = not given and starts is None and regions == 1 and options.cuts == "count"
    if alone and candidates.shared and options.kernel != "naive" and segments <= count:
        checked = {**params, "check": options.check}
        made = _fused_plan(device, candidates, segments, flag, checked, options.join, head, room)
        if made:
            return Plan(no_flag) + made[0], made[1]
    memory = Memory(cut, corners, ranges, links, flag, pending)
    hulls = _hulls_plan(device, candidates, all_segments, segments, memory, params, options.check, options.kernel)
    reflex_vertices = np.uint32(2 if options.join == "published" else 1)
    if all_segments <= FEW:
        policy, chunks = _shape(device, "region/arc/arc_offsets", dtype, 3 * all_segments + 1)
        sums, chunk = Scratch("outline_sums", np.uint32, chunks), policy.tile
        args: tuple[Argument, ...] = (cut, number, links, reflex_vertices, offsets, sums)
        scanning = Plan(Step("region/arc/arc_offsets", policy, args, chunks, bytes_moved=all_segments * 100))
    else:
        sums, chunk = offsets, (1 << 32) - 1
        scanning = Plan(
            step(
                "arc_counts", 3 * all_segments + 1, (cut, number, links, reflex_vertices, counts), {}, all_segments * 60
            )
        ) + sums_plan(device, counts, offsets, prefix="outline")
    args = (lower, upper, np.uint32(m), cut, number, each, corners, links, offsets, sums, np.uint32(chunk), flag)
    published = {**params, "published": options.join == "published"}
    emission = Emission("region/arc/arc_emit", args, published, dtype, all_segments, 2 * all_segments, head)
    out = emission.into(room, device)
    return begin + hulls + scanning + out.plan, out


@dataclass(frozen=True)
class Candidates:
    """Candidates of both sides: names or memory, their type, and the most that there are."""

    lower: str | Scratch
    upper: str | Scratch
    dtype: np.dtype
    m: int

    @property
    def shared(self) -> bool:
        return self.lower == self.upper

    @property
    def point_bytes(self) -> int:
        return 2 * self.dtype.itemsize


@dataclass(frozen=True)
class Memory:
    """Memory for hulls and tangents; see cl_src/arc/arc_segments.h."""

    cut: str | Scratch
    corners: Scratch
    ranges: Scratch
    links: Scratch
    flag: Scratch
    pending: Scratch


def _fused_plan(
    device: DeviceProfile,
    candidates: Candidates,
    segments: int,
    flag: Scratch,
    params: dict[str, Any],
    join: str,
    head: int,
    room: int,
) -> tuple[Plan, Output] | None:
    """Plan with one kernel from candidates of one region to staged vertices, and its Output; None if not possible."""
    longest = ceil_div(candidates.m, segments)
    if longest > SHORT or 2 * candidates.m * candidates.point_bytes > device.max_alloc_bytes:
        return None
    # few lengths, since each is a build; shorter ones let more groups run at once
    longest = next(length for length in LENGTHS if longest <= length)
    policy = select_fitting(
        device,
        "region/arc/arc_outline_local",
        candidates.dtype,
        lambda p: p.wg_size * (4 * longest * candidates.point_bytes + 64),
    )
    scan, gather = (
        select(device, f"region/arc/{name}", candidates.dtype, candidates.m)
        for name in ("arc_tile_offsets", "arc_place")
    )
    if policy.variant == "serial" or policy.wg_size < 4:
        return None
    if scan.wg_size % gather.items_per_thread or gather.wg_size < gather.items_per_thread:
        return None
    policy = replace(policy, items_per_thread=longest)
    own = policy.wg_size - 2
    tiles, m = ceil_div(segments, own), np.uint32(candidates.m)
    staged = Scratch("outline_staged", candidates.dtype, 4 * candidates.m)
    counts = Scratch("outline_counts", np.uint32, 4 * tiles)
    offsets = Scratch("outline_offsets", np.uint32, 3 * tiles)
    chunks = ceil_div(tiles, scan.wg_size)
    sums = Scratch("outline_sums", np.uint32, 3 * chunks)

    def outlines(exact: bool, alone: bool) -> Step:
        span = min(max(tiles // (WAVES * device.compute_units), 1), SPAN) if exact and not alone else 1
        args = (
            candidates.lower,
            m,
            np.uint32(segments),
            np.uint32(tiles),
            staged,
            counts,
            flag,
            np.uint32(alone),
            np.uint32(span),
        )
        made = {**params, "published": join == "published", "exact": exact}
        every = alone or not exact
        moved = (candidates.m + 3 * segments) * candidates.point_bytes if every else 4 * tiles
        return Step("region/arc/arc_outline_local", policy, args, ceil_div(tiles, span), made, moved)

    if candidates.dtype == np.float32 and params["filtered"] and device.fp64 and device.denormals:
        plan = Plan(outlines(False, False), outlines(True, False))
    else:
        plan = Plan(outlines(True, True))
    args: tuple[Argument, ...] = (counts, np.uint32(tiles), offsets, sums)
    plan += Plan(Step("region/arc/arc_tile_offsets", scan, args, chunks, bytes_moved=24 * tiles))
    args = (staged, m, np.uint32(segments), np.uint32(own), np.uint32(tiles), counts, offsets, sums)
    args += (np.uint32(scan.wg_size), np.uint32(chunks), flag)
    real, items = {"real": params["real"]}, tiles * gather.wg_size
    out = Emission("region/arc/arc_place", args, real, candidates.dtype, segments, items, head).into(room, device)
    return plan + out.plan, out


def _hulls_plan(
    device: DeviceProfile,
    candidates: Candidates,
    segments: int,
    of_region: int,
    memory: Memory,
    params: dict[str, Any],
    check: bool,
    kernel: str,
) -> Plan:
    """Plan of hulls and tangents: a work-item per segment, in global or local memory, or a work-group per block."""
    number, each, m = np.uint32(segments), np.uint32(of_region), np.uint32(candidates.m)
    moved = candidates.m * ((1 if candidates.shared else 2) * candidates.point_bytes + 8) + 16 * segments
    naive = select(device, "region/arc/arc_hulls", candidates.dtype, candidates.m)
    checked = {**params, "check": check}
    serial = naive.variant == "serial"
    long = candidates.m > (4 if serial and kernel == "auto" else 1) * SHORT * segments

    sides, hulls_of = (candidates.lower, candidates.upper), (memory.corners, memory.ranges, memory.links)
    segment_args = (*sides, m, memory.cut, number, each, *hulls_of)

    def tangents(own: int = 0, fit: int = 0) -> Plan:
        policy, groups = _shape(device, "region/arc/arc_tangents", candidates.dtype, 2 * segments)
        groups = min(groups, BUSY * device.compute_units) if own else groups  # few are left
        args = (*segment_args, np.uint32(own), np.uint32(fit), memory.pending)
        moved = 0 if own else segments * 2 * (8 + 16 + 8 * (candidates.point_bytes + 4))
        return Plan(Step("region/arc/arc_tangents", policy, args, groups, params, bytes_moved=moved))

    if long and candidates.shared and kernel != "naive":
        blocks = _blocks_plan(device, candidates, segments, memory, checked)
        policy = select(device, "region/arc/arc_tangents_wide", candidates.dtype, candidates.m)
        if policy.variant == "serial" or segments > FEW:
            return blocks + tangents()
        moved = segments * 2 * (8 + 16 + 16 * (candidates.point_bytes + 4))
        wide = Step("region/arc/arc_tangents_wide", policy, segment_args, 2 * segments, params, bytes_moved=moved)
        return blocks + Plan(wide)
    if kernel == "naive" or long or (kernel == "auto" and serial):
        policy, groups = _shape(device, "region/arc/arc_hulls", candidates.dtype, 2 * segments)
        checked["sieve"] = serial and candidates.m > 4 * SHORT * segments
        args: tuple[Argument, ...] = (*sides, m, memory.cut, number, memory.corners, memory.ranges, memory.flag)
        hulls = Step("region/arc/arc_hulls", policy, args, groups, checked, bytes_moved=2 * moved)
        return Plan(hulls) + tangents()
    policy = select_fitting(
        device,
        "region/arc/arc_hulls_local",
        candidates.dtype,
        lambda p: p.tile * (candidates.point_bytes + 2) + 4 * p.wg_size + 64,
    )
    own = max(policy.wg_size - 1, 1)
    args = (*segment_args, memory.flag, memory.pending)
    checked["shared"] = candidates.shared
    groups, moved = ceil_div(segments, own), moved + 32 * segments
    hulls = Step("region/arc/arc_hulls_local", policy, args, groups, checked, bytes_moved=moved)
    return Plan(hulls) + tangents(own, policy.tile if policy.wg_size > 1 else 0)


def _blocks_plan(
    device: DeviceProfile, candidates: Candidates, segments: int, memory: Memory, params: dict[str, Any]
) -> Plan:
    """Plan of the hulls of long segments: the hulls of their blocks, merged if a segment has several blocks."""
    cut, corners, ranges, flag = memory.cut, memory.corners, memory.ranges, memory.flag
    points, m = candidates.lower, np.uint32(candidates.m)
    policy = select_fitting(
        device, "region/arc/arc_hulls_blocks", candidates.dtype, lambda p: _blocks_memory(p, candidates.dtype)
    )
    mean = ceil_div(candidates.m, segments)
    serial = policy.variant == "serial"
    if not serial and mean > policy.tile and candidates.dtype == np.float32 and device.local_mem_bytes >= WIDE_LOCAL:
        policy = within_limits(replace(policy, wg_size=2 * policy.wg_size), device)
    tile = policy.tile * (STRIP if serial else 1)
    # enough blocks for all compute units, neither too short nor too long for one work-group
    wanted = ceil_div(BUSY * device.compute_units, segments)
    fan = max(min(wanted, mean // (tile if serial else LEAST)), 1)
    if not serial:
        fan = max(fan, ceil_div(mean, LONGEST * tile))
    blocks = segments * fan
    moved = candidates.m * candidates.point_bytes + 16 * blocks
    steps = []
    if fan == 1:
        fine, block_corners, block_ranges = cut, corners, ranges
    else:
        fine = Scratch("block_cuts", np.uint32, blocks + 1)
        block_corners = Scratch("block_corners", np.uint32, 2 * candidates.m)
        block_ranges = Scratch("block_ranges", np.uint32, 4 * blocks)
        shape, groups = _shape(device, "region/arc/arc_cuts", candidates.dtype, blocks + 1)
        args: tuple[Argument, ...] = (points, m, cut, np.uint32(segments), np.uint32(fan), fine, flag, memory.pending)
        ragged = {"real": params["real"], "ragged": True, "by_width": False}
        steps += [
            Step("region/arc/arc_cuts", shape, args, groups, ragged, bytes_moved=blocks * (candidates.point_bytes + 4))
        ]
    unchecked = {k: v for k, v in params.items() if k != "check"}
    args = (points, m, fine, np.uint32(blocks), block_corners, block_ranges, flag)
    steps += [Step("region/arc/arc_hulls_blocks", policy, args, blocks, params, bytes_moved=moved)]
    if not serial:
        args = (points, m, np.uint32(blocks), block_corners, block_ranges)
        shape = select(device, "region/arc/arc_corners", candidates.dtype, candidates.m)
        moved = 40 * blocks * (candidates.point_bytes + 8)
        steps += [Step("region/arc/arc_corners", shape, args, 2 * blocks, unchecked, moved)]
    if fan == 1:
        return Plan(*steps)
    join = Step(
        "region/arc/arc_join",
        select(device, "region/arc/arc_join", candidates.dtype, candidates.m),
        (points, m, cut, np.uint32(segments), np.uint32(fan), block_corners, block_ranges, corners, ranges),
        2 * segments,
        unchecked,
        bytes_moved=blocks * 32 * (candidates.point_bytes + 8),
    )
    return Plan(*steps, join)


def _blocks_memory(shape: Policy, dtype: np.dtype[Any]) -> int:
    """Bytes of local memory of arc_hulls_blocks: heights of runs and of work-items, with gaps, and two numbers each."""
    if shape.variant == "serial":
        return 0
    runs = shape.wg_size * (shape.items_per_thread // min(shape.items_per_thread, 8))
    heights = runs + runs // 8 + 1 + 2 * (shape.wg_size + shape.wg_size // 16 + 1) + ceil_div(shape.wg_size, 16)
    return heights * (8 if dtype == np.float32 else 16) + 8 * shape.wg_size + 64


def _shape(device: DeviceProfile, kernel: str, dtype: np.dtype[Any], n: int) -> tuple[Policy, int]:
    policy = select(device, kernel, dtype, n)
    return policy, policy.groups(ceil_div(n, policy.tile), device.compute_units)
