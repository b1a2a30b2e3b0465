"""Upper and lower chains of adaptive regions, many at once: segments, their hulls, tangents between neighbours.

A region is given by candidates: for each of its x, the lowest and the highest point there. Cuts make segments of them;
the outline over a pair of neighbours is their convex hull, and over all of them the union of these. Where the hull of a
segment lies below both its tangents, they cross above it, and the outline has a vertex there.

Source: the adaptive region construction (ARC) for radio propagation maps, with its join made exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clgeom.errors import DeviceLimit
from clgeom.hull.predicates import predicate_parameters
from clgeom.primitives.operators import OPERATORS
from clgeom.primitives.scan import Piece, scan_plan
from clgeom.runtime.launch import Plan, Scratch, Step, read, run
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import fitting, overridden, select, within_limits

KERNELS = ("auto", "naive", "local")
CUTS = ("count", "width")
JOINS = ("tangent", "paper")
#: Segments of at most so many candidates on average are a work-item's, in local memory.
SHORT = 16
#: Candidates of a segment for which arc_outline_local is built.
LENGTHS = (4, 8, SHORT)
#: Tiles that a group looks at for doubt at most, where that leaves so many groups a compute unit. H200, 16M and 64M
#: points: a group to each tile took 28 and 89 us, with next to no doubt.
SPAN, WAVES = 8, 16
#: Work-groups a compute unit that keep it busy, and tiles that one work-group takes at most.
BUSY, LONGEST = 8, 8
#: Candidates that a block for a work-group has at least.
LEAST = 2048
#: Local memory of devices on which tiles of long segments of float32 are twice as long: fewer records in all.
WIDE_LOCAL = 32 << 10
#: Candidates that one strip of the serial kernel for blocks has.
STRIP = 32
#: Up to so many segments one launch sums the numbers of their vertices, in chunks.
FEW = 1 << 13
#: Up to so many segments the vertices are read with the head. A second trip takes a GPU as long as 64 KiB more.
AT_ONCE, AT_ONCE_OF_CPU = 1 << 11, 1 << 16
#: Plans that a session remembers.
PLANS = 32


@dataclass(frozen=True, eq=False)
class Chains:
    """Lower and upper chains of some regions, from left to right, of strictly ascending x.

    Parameters
    ----------
    lower, upper : ndarray, shape (total, 2)
        The vertices of all regions, region after region.
    lower_offsets, upper_offsets : ndarray of int64, shape (regions + 1,)
        Region r has the vertices from offset r to offset r + 1.
    effective : ndarray of int64, shape (regions,)
        How many segments hold candidates.
    """

    lower: np.ndarray
    upper: np.ndarray
    lower_offsets: np.ndarray
    upper_offsets: np.ndarray
    effective: np.ndarray

    def __len__(self) -> int:
        return len(self.effective)

    def __getitem__(self, region) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper chain of one region."""
        if not -len(self) <= region < len(self):
            raise IndexError(region)
        region %= len(self)
        return (
            self.lower[self.lower_offsets[region] : self.lower_offsets[region + 1]],
            self.upper[self.upper_offsets[region] : self.upper_offsets[region + 1]],
        )

    def __repr__(self) -> str:
        return f"Chains({len(self)} regions: {len(self.lower)} lower and {len(self.upper)} upper vertices)"


def chains_of(
    session, dtype, count, *, lower, upper, segments, starts=None, regions=1, cuts="count", join="tangent",
    kernel="auto", **buffers,
) -> Chains:  # fmt: skip
    """Chains of `regions` regions.

    Parameters
    ----------
    session : Session
    dtype : numpy.dtype
        Of the coordinates: float32, float64 or int32.
    count : int
        Number of candidates, or an upper bound of it.
    lower, upper : str or Scratch
        Candidates of the lower and of the upper side: pairs of coordinates, region after region; in a region of
        ascending x, in lexicographic order where x are equal. Both sides have the same x. They may be one buffer.
    segments : int
        Segments of each region.
    starts : str or Scratch of uint32, shape (regions + 1,)
        Candidate number of each region's first, and how many candidates there are. Not needed for one region.
    regions : int
    cuts : {"count", "width"}
        Whether segments hold equally many candidates or are equally wide.
    join : {"tangent", "paper"}
        "paper": both contacts where tangents cross, not the crossing.
    kernel : {"auto", "naive", "local"}
        Which kernel finds the segments' hulls. All find the same.
    **buffers
        What the names are bound to.

    Returns
    -------
    Chains
    """
    outline = outline_of(
        session, dtype, count, lower=lower, upper=upper, segments=segments, starts=starts, regions=regions, cuts=cuts,
        join=join, kernel=kernel, **buffers,
    )  # fmt: skip
    rows = outline.vertices()
    lower_at, upper_at = outline.lower_offsets, outline.upper_offsets
    split = lower_at[-1]
    return Chains(rows[:split], rows[split:], lower_at, upper_at, outline.effective)


@dataclass(eq=False)
class Outline:
    """Chains that may still be on the device: `vertices()` brings them, first all lower ones, then all upper ones."""

    lower_offsets: np.ndarray
    upper_offsets: np.ndarray
    effective: np.ndarray
    disordered: bool
    fetch: object = None
    rows: np.ndarray | None = None

    def vertices(self) -> np.ndarray:
        if self.rows is None:
            self.rows, self.fetch = self.fetch(), None
        return self.rows


def outline_of(
    session, dtype, count, *, lower, upper, segments, starts=None, regions=1, cuts="count", join="tangent",
    kernel="auto", check=False, cut=None, **buffers,
) -> Outline:  # fmt: skip
    """Run the plan of `outline_plan`, and read its head with as many vertices as are likely, in one go.

    `check` looks whether candidates are finite and in lexicographic order: `Outline.disordered`.
    """
    options = {
        "dtype": np.dtype(dtype), "count": count, "lower": lower, "upper": upper, "segments": segments,
        "starts": starts, "regions": regions, "cuts": cuts, "join": join, "kernel": kernel, "check": check, "cut": cut,
    }  # fmt: skip
    plan, out = _made_before(session, **options)
    found, point = run(session, plan, **buffers), 2 * out.dtype.itemsize
    most = AT_ONCE_OF_CPU if session.profile.is_cpu else AT_ONCE
    likely = min(out.room, 3 * out.segments + 64) if out.segments <= most else 0
    raw = found.read(out.memory, (out.head + likely) * point)
    summary = raw[: 4 * (3 * (regions + 1) + 1)].view(np.uint32)
    lower_at, upper_at, segments_at = summary[:-1].reshape(3, regions + 1).astype(np.int64)
    facts = (lower_at, upper_at - upper_at[0], np.diff(segments_at), bool(summary[-1]))
    if summary[-1]:
        return Outline(*facts, rows=np.empty((0, 2), out.dtype))
    total = int(upper_at[-1])
    if total <= likely:
        rows = raw[out.head * point :].view(out.dtype)[: 2 * total].reshape(-1, 2)
        return Outline(*facts, rows=rows)
    if total > out.room:
        out = emit_plan(session.profile, out, total)
        kept = {s.name: found[s] for s in out.kept}
        found = run(session, out.emission, **buffers, **kept)
    memory, source = out.memory, found[out.memory]

    def fetch():
        rows = read(session, source, memory.dtype, total * point, out.head * point)
        return rows.view(out.dtype).reshape(-1, 2)

    return Outline(*facts, fetch=fetch)


def _made_before(session, **options):
    """The plan, from the last ones made: to make one takes as long as a device takes for a million points."""
    if overridden():
        return outline_plan(session, **options)
    key = ("outline plan", *options.values())
    return session.cached(key, lambda: outline_plan(session, **options), most=PLANS)


@dataclass(frozen=True)
class Output:
    """What the last launch writes, and what it needs for that.

    `memory` holds `head` points' worth of summary, then `room` vertices at most.
    """

    memory: Scratch
    head: int
    room: int
    emission: Plan
    kept: tuple
    args: tuple
    params: dict
    segments: int
    dtype: np.dtype
    kernel: str = "region/arc/arc_emit"
    items: int = 0


def outline_plan(
    session, dtype, count, *, lower, upper, segments, starts=None, regions=1, cuts="count", join="tangent",
    kernel="auto", check=False, cut=None,
):  # fmt: skip
    """Plan from candidates to vertices, and the Output that it leaves. See `chains_of`.

    `cut` names a buffer that has the first candidate of each segment already, and how many there are.
    """
    device, dtype = session.profile, np.dtype(dtype)
    all_segments, m = segments * regions, max(count, 1)
    if 3 * all_segments >= 1 << 32 or 2 * m >= 1 << 32:
        raise DeviceLimit(
            f"A call takes fewer than 2**31 candidates and 2**30 segments. Got {count:,} and {all_segments:,}."
        )
    params = predicate_parameters(session, dtype)
    point = 2 * dtype.itemsize
    given, cut = cut, cut or Scratch("outline_cuts", np.uint32, all_segments + 1)
    flag, pending = Scratch("outline_flag", np.uint32, 1), Scratch("outline_pending", np.uint32, 1)
    corners = Scratch("outline_corners", np.uint32, 2 * m)
    ranges = Scratch("outline_ranges", np.uint32, 4 * all_segments)
    links = Scratch("outline_links", np.uint32, 8 * all_segments)
    counts = Scratch("outline_counts", np.uint32, 3 * all_segments + 1)
    offsets = Scratch("outline_offsets", np.uint32, 3 * all_segments + 1)

    def step(name, items, args, params, moved):
        policy, groups = _shape(device, f"region/arc/{name}", dtype, items)
        return Step(f"region/arc/{name}", policy, args, groups, params, bytes_moved=moved)

    number, each = np.uint32(all_segments), np.uint32(segments)
    cutting = step(
        "arc_cuts", all_segments + 1,
        (lower, np.uint32(count), lower if starts is None else starts, np.uint32(regions), each, cut, flag, pending),
        {"real": params["real"], "ragged": starts is not None, "by_width": cuts == "width"},
        all_segments * (point + 4),
    )  # fmt: skip
    zero, policy = {"value": "uint", "to": "0"}, select(device, "primitives/set_value")
    no_flag, none_pending = (Step("primitives/set_value", policy, (word,), 1, zero) for word in (flag, pending))
    begin = Plan(no_flag, none_pending) if given else Plan(cutting)
    candidates = Candidates(lower, upper, dtype, m)
    head, room = ceil_div(4 * (3 * (regions + 1) + 1), point), 2 * max(m, all_segments)
    # a corner and a half to a segment is usual; where they are many, they are found once more, in the memory they need
    room = max(min(room, 6 * all_segments + 1024, device.max_alloc_bytes // point - head), 1)
    alone = not given and starts is None and regions == 1 and cuts == "count"
    if alone and candidates.shared and kernel != "naive" and segments <= count:
        made = _fused_plan(device, candidates, segments, flag, {**params, "check": check}, join, head, room)
        if made:
            return Plan(no_flag) + made[0], made[1]
    memory = Memory(cut, corners, ranges, links, flag, pending)
    hulls = _hulls_plan(device, candidates, all_segments, segments, memory, params, check, kernel)
    in_valley = np.uint32(2 if join == "paper" else 1)
    if all_segments <= FEW:
        policy, chunks = _shape(device, "region/arc/arc_offsets", dtype, 3 * all_segments + 1)
        sums, chunk = Scratch("outline_sums", np.uint32, chunks), policy.tile
        args = (cut, number, links, in_valley, offsets, sums)
        scanning = Plan(Step("region/arc/arc_offsets", policy, args, chunks, bytes_moved=all_segments * 100))
    else:
        sums, chunk = offsets, (1 << 32) - 1
        scanning = Plan(
            step("arc_counts", 3 * all_segments + 1, (cut, number, links, in_valley, counts), {}, all_segments * 60)
        ) + scan_plan(
            device, [Piece(counts, 0, counts.count)], np.dtype(np.uint32), [offsets], OPERATORS["sum"],
            exclusive=True, prefix="outline",
        )  # fmt: skip
    out = Output(
        None, head, 0, None, (*(() if given else (cut,)), corners, links, offsets, sums, flag),
        (lower, upper, np.uint32(m), cut, number, each, corners, links, offsets, sums, np.uint32(chunk), flag),
        {**params, "paper": join == "paper"}, all_segments, dtype, items=2 * all_segments,
    )  # fmt: skip
    out = emit_plan(device, out, room)
    return begin + hulls + scanning + out.emission, out


def emit_plan(device, out, room) -> Output:
    """The Output with the last launch, which has room for so many vertices."""
    memory = Scratch("outline_memory", np.uint8, (out.head + room) * 2 * out.dtype.itemsize)
    args = (*out.args, memory, np.uint32(out.head), np.uint32(room), memory)
    policy, groups = _shape(device, out.kernel, out.dtype, out.items)
    moved = out.segments * 48 + room * 2 * out.dtype.itemsize
    emission = Plan(Step(out.kernel, policy, args, groups, out.params, bytes_moved=moved))
    return replace(out, memory=memory, room=room, emission=emission)


@dataclass(frozen=True)
class Candidates:
    """Candidates of both sides: names or memory, their type, and how many there are at most."""

    lower: object
    upper: object
    dtype: np.dtype
    m: int

    @property
    def shared(self) -> bool:
        return self.lower is self.upper or self.lower == self.upper

    @property
    def point_bytes(self) -> int:
        return 2 * self.dtype.itemsize


@dataclass(frozen=True)
class Memory:
    """What hulls and tangents are written to; see cl_src/arc_segments.h."""

    cut: object
    corners: Scratch
    ranges: Scratch
    links: Scratch
    flag: Scratch
    pending: Scratch


def _fused_plan(device, of, segments, flag, params, join, head, room):
    """From candidates of one region to staged vertices in one kernel, and the Output that places them; or None."""
    longest = ceil_div(of.m, segments)
    if longest > SHORT or 2 * of.m * of.point_bytes > device.max_alloc_bytes:
        return None
    # few lengths, for each is built; the shorter, the more groups at once
    longest = next(length for length in LENGTHS if longest <= length)
    policy = fitting(
        device,
        "region/arc/arc_outline_local",
        of.dtype,
        lambda p: p.wg_size * (4 * longest * of.point_bytes + 64),
    )
    scan, place = (select(device, f"region/arc/{name}", of.dtype, of.m) for name in ("arc_tile_offsets", "arc_place"))
    if policy.variant == "serial" or policy.wg_size < 4:
        return None
    if scan.wg_size % place.items_per_thread or place.wg_size < place.items_per_thread:
        return None
    policy = replace(policy, items_per_thread=longest)
    own = policy.wg_size - 2
    tiles, m = ceil_div(segments, own), np.uint32(of.m)
    staged = Scratch("outline_staged", of.dtype, 4 * of.m)
    counts = Scratch("outline_counts", np.uint32, 4 * tiles)
    offsets = Scratch("outline_offsets", np.uint32, 3 * tiles)
    chunks = ceil_div(tiles, scan.wg_size)
    sums = Scratch("outline_sums", np.uint32, 3 * chunks)

    def outlines(exact, alone):
        span = min(max(tiles // (WAVES * device.compute_units), 1), SPAN) if exact and not alone else 1
        args = (of.lower, m, np.uint32(segments), np.uint32(tiles), staged, counts, flag, np.uint32(alone),
                np.uint32(span))  # fmt: skip
        made = {**params, "paper": join == "paper", "exact": exact}
        moved = of.m * of.point_bytes + 3 * of.point_bytes * segments if alone or not exact else 4 * tiles
        return Step("region/arc/arc_outline_local", policy, args, ceil_div(tiles, span), made, moved)

    if of.dtype == np.float32 and params["filtered"] and device.fp64 and device.denormals:
        plan = Plan(outlines(False, False), outlines(True, False))
    else:
        plan = Plan(outlines(True, True))
    args = (counts, np.uint32(tiles), offsets, sums)
    plan += Plan(Step("region/arc/arc_tile_offsets", scan, args, chunks, bytes_moved=24 * tiles))
    out = Output(
        None, head, 0, None, (staged, counts, offsets, sums, flag),
        (staged, m, np.uint32(segments), np.uint32(own), np.uint32(tiles), counts, offsets, sums,
         np.uint32(scan.wg_size), np.uint32(chunks), flag),
        {"real": params["real"]}, segments, of.dtype, "region/arc/arc_place", tiles * place.wg_size,
    )  # fmt: skip
    out = emit_plan(device, out, room)
    return plan + out.emission, out


def _hulls_plan(device, of, segments, of_region, memory, params, check, kernel):
    """Hulls and tangents: a work-item to a segment, in global or local memory, or a work-group to each block of one."""
    number, each, m = np.uint32(segments), np.uint32(of_region), np.uint32(of.m)
    moved = of.m * ((1 if of.shared else 2) * of.point_bytes + 8) + 16 * segments
    naive = select(device, "region/arc/arc_hulls", of.dtype, of.m)
    checked = {**params, "check": check}
    serial = naive.variant == "serial"
    long = of.m > (4 if serial and kernel == "auto" else 1) * SHORT * segments

    def tangents(own=0, fit=0):
        policy, groups = _shape(device, "region/arc/arc_tangents", of.dtype, 2 * segments)
        groups = min(groups, BUSY * device.compute_units) if own else groups  # there is seldom any left
        args = (of.lower, of.upper, m, memory.cut, number, each, memory.corners, memory.ranges, memory.links,
                np.uint32(own), np.uint32(fit), memory.pending)  # fmt: skip
        moved = 0 if own else segments * 2 * (8 + 16 + 8 * (of.point_bytes + 4))
        return Plan(Step("region/arc/arc_tangents", policy, args, groups, params, bytes_moved=moved))

    if long and of.shared and kernel != "naive":
        hulls = _blocks_plan(device, of, segments, memory, checked)
        policy = select(device, "region/arc/arc_tangents_wide", of.dtype, of.m)
        if policy.variant == "serial" or segments > FEW:
            return hulls + tangents()
        args = (of.lower, of.upper, m, memory.cut, number, each, memory.corners, memory.ranges, memory.links)
        moved = segments * 2 * (8 + 16 + 16 * (of.point_bytes + 4))
        wide = Step("region/arc/arc_tangents_wide", policy, args, 2 * segments, params, bytes_moved=moved)
        return hulls + Plan(wide)
    if kernel == "naive" or long or (kernel == "auto" and serial):
        policy, groups = _shape(device, "region/arc/arc_hulls", of.dtype, 2 * segments)
        checked["sieve"] = serial and of.m > 4 * SHORT * segments
        args = (of.lower, of.upper, m, memory.cut, number, memory.corners, memory.ranges, memory.flag)
        hulls = Step("region/arc/arc_hulls", policy, args, groups, checked, bytes_moved=2 * moved)
        return Plan(hulls) + tangents()
    policy = select(device, "region/arc/arc_hulls_local", of.dtype, of.m)
    own = max(policy.wg_size - 1, 1)
    args = (of.lower, of.upper, m, memory.cut, number, each, memory.corners, memory.ranges, memory.links, memory.flag,
            memory.pending)  # fmt: skip
    checked["shared"] = of.shared
    hulls = Step(
        "region/arc/arc_hulls_local",
        policy,
        args,
        ceil_div(segments, own),
        checked,
        bytes_moved=moved + 32 * segments,
    )
    return Plan(hulls) + tangents(own, policy.tile if policy.wg_size > 1 else 0)


def _blocks_plan(device, of, segments, memory, params):
    """Blocks of long segments, as many as keep the device busy; then the segments', if they have several."""
    cut, corners, ranges, flag = memory.cut, memory.corners, memory.ranges, memory.flag
    points, m = of.lower, np.uint32(of.m)
    policy = select(device, "region/arc/arc_hulls_blocks", of.dtype, of.m)
    mean = ceil_div(of.m, segments)
    serial = policy.variant == "serial"
    if not serial and mean > policy.tile and of.dtype == np.float32 and device.local_mem_bytes >= WIDE_LOCAL:
        policy = within_limits(replace(policy, wg_size=2 * policy.wg_size), device)
    tile = policy.tile * (STRIP if serial else 1)
    # enough blocks for all compute units, but none too short, nor too long for one work-group
    wanted = ceil_div(BUSY * device.compute_units, segments)
    fan = max(min(wanted, mean // (tile if serial else LEAST)), 1)
    if not serial:
        fan = max(fan, ceil_div(mean, LONGEST * tile))
    blocks = segments * fan
    moved = of.m * of.point_bytes + 16 * blocks
    steps = []
    if fan == 1:
        fine, block_corners, block_ranges = cut, corners, ranges
    else:
        fine = Scratch("block_cuts", np.uint32, blocks + 1)
        block_corners = Scratch("block_corners", np.uint32, 2 * of.m)
        block_ranges = Scratch("block_ranges", np.uint32, 4 * blocks)
        shape, groups = _shape(device, "region/arc/arc_cuts", of.dtype, blocks + 1)
        args = (points, m, cut, np.uint32(segments), np.uint32(fan), fine, flag, memory.pending)
        ragged = {"real": params["real"], "ragged": True, "by_width": False}
        steps += [Step("region/arc/arc_cuts", shape, args, groups, ragged, bytes_moved=blocks * (of.point_bytes + 4))]
    unchecked = {k: v for k, v in params.items() if k != "check"}
    args = (points, m, fine, np.uint32(blocks), block_corners, block_ranges, flag)
    steps += [Step("region/arc/arc_hulls_blocks", policy, args, blocks, params, bytes_moved=moved)]
    if not serial:
        args = (points, m, np.uint32(blocks), block_corners, block_ranges)
        shape = select(device, "region/arc/arc_corners", of.dtype, of.m)
        moved = 40 * blocks * (of.point_bytes + 8)
        steps += [Step("region/arc/arc_corners", shape, args, 2 * blocks, unchecked, moved)]
    if fan == 1:
        return Plan(*steps)
    join = Step(
        "region/arc/arc_join", select(device, "region/arc/arc_join", of.dtype, of.m),
        (points, m, cut, np.uint32(segments), np.uint32(fan), block_corners, block_ranges, corners, ranges),
        2 * segments, unchecked, bytes_moved=blocks * 32 * (of.point_bytes + 8),
    )  # fmt: skip
    return Plan(*steps, join)


def _shape(device, kernel, dtype, n):
    policy = select(device, kernel, dtype, n)
    return policy, policy.groups(ceil_div(n, policy.tile), device.compute_units)
