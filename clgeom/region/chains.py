"""Upper and lower chains of adaptive regions, many at once: segments, their hulls, tangents between neighbours.

A region is given by candidates: for each of its x, the lowest and the highest point there. Cuts make segments of them;
the outline over a pair of neighbours is their convex hull, and over all of them the union of these. Where the hull of a
segment lies below both its tangents, they cross above it, and the outline has a vertex there.

Source: the adaptive region construction (ARC) for radio propagation maps, with its join made exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from clgeom.errors import DeviceLimit
from clgeom.hull.predicates import predicate_parameters
from clgeom.primitives.operators import OPERATORS
from clgeom.primitives.scan import Piece, scan_plan
from clgeom.runtime.launch import Plan, Scratch, Step, run
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select

KERNELS = ("auto", "naive", "local")
CUTS = ("count", "width")
JOINS = ("tangent", "paper")
#: Segments of at most so many candidates on average are a work-item's, in local memory.
SHORT = 16
#: Work-groups a compute unit that keep it busy, and tiles that one work-group takes at most.
BUSY, LONGEST = 8, 8


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
    phases : tuple of Phase
    """

    lower: np.ndarray
    upper: np.ndarray
    lower_offsets: np.ndarray
    upper_offsets: np.ndarray
    effective: np.ndarray
    phases: tuple = field(default=(), repr=False)

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
    kernel="auto", profile=False, **buffers,
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
    profile : bool
    **buffers
        What the names are bound to.

    Returns
    -------
    Chains
    """
    plan, outline = outline_plan(
        session, dtype, count, lower=lower, upper=upper, segments=segments, starts=starts, regions=regions,
        cuts=cuts, join=join, kernel=kernel,
    )  # fmt: skip
    found = run(session, plan, profile=profile, **buffers)
    summary = found.read(outline.summary).reshape(3, regions + 1).astype(np.int64)
    phases, (lower_at, upper_at, segments_at) = found.phases, summary
    total = int(upper_at[-1])
    if total > outline.room:
        again = emit_plan(session, outline, total)
        kept = {s.name: found[s] for s in outline.kept}
        found = run(session, again, profile=profile, **buffers, **kept)
        phases += found.phases
        vertices = again.scratch()["outline_vertices"]
    else:
        vertices = outline.vertices
    rows = found.read(vertices, 2 * total).reshape(-1, 2)
    return Chains(
        rows[: lower_at[-1]], rows[lower_at[-1] :], lower_at, upper_at - upper_at[0], np.diff(segments_at), phases
    )


@dataclass(frozen=True)
class Outline:
    """What `outline_plan` leaves on the device: `room` vertices at most, and the summary that says which are whose.

    `kept` is the memory that `emit_plan` reads, `args` and `params` what it is called with.
    """

    vertices: Scratch
    summary: Scratch
    room: int
    kept: tuple
    args: tuple
    params: dict
    segments: int
    dtype: np.dtype


def outline_plan(
    session, dtype, count, *, lower, upper, segments, starts=None, regions=1, cuts="count", join="tangent",
    kernel="auto",
):  # fmt: skip
    """Plan from candidates to vertices, and the Outline that it leaves. See `chains_of`."""
    device, dtype = session.profile, np.dtype(dtype)
    all_segments, m = segments * regions, max(count, 1)
    if 3 * all_segments >= 1 << 32 or 2 * m >= 1 << 32:
        raise DeviceLimit(
            f"A call takes fewer than 2**31 candidates and 2**30 segments. Got {count:,} and {all_segments:,}."
        )
    params = predicate_parameters(session, dtype)
    point = 2 * dtype.itemsize
    cut = Scratch("outline_cuts", np.uint32, all_segments + 1)
    corners = Scratch("outline_corners", np.uint32, 2 * m)
    ranges = Scratch("outline_ranges", np.uint32, 4 * all_segments)
    links = Scratch("outline_links", np.uint32, 8 * all_segments)
    counts = Scratch("outline_counts", np.uint32, 3 * all_segments)
    offsets = Scratch("outline_offsets", np.uint32, 3 * all_segments)

    def step(name, items, args, params, moved):
        policy, groups = _shape(device, f"region/{name}", dtype, items)
        return Step(f"region/{name}", policy, args, groups, params, bytes_moved=moved)

    number, each = np.uint32(all_segments), np.uint32(segments)
    cutting = step(
        "arc_cuts", all_segments + 1,
        (lower, np.uint32(count), starts if starts is not None else lower, np.uint32(regions), each, cut),
        {"real": params["real"], "ragged": starts is not None, "by_width": cuts == "width"},
        all_segments * (point + 4),
    )  # fmt: skip
    hulls = _hulls_plan(session, dtype, m, lower, upper, number, cut, corners, ranges, params, kernel)
    tangents = step(
        "arc_tangents", 2 * all_segments, (lower, upper, np.uint32(m), cut, number, each, corners, ranges, links),
        params, all_segments * 2 * (8 + 16 + 8 * (point + 4)),
    )  # fmt: skip
    in_valley = np.uint32(2 if join == "paper" else 1)
    counting = step("arc_counts", 3 * all_segments, (cut, number, links, in_valley, counts), {}, all_segments * 60)
    scanning = scan_plan(
        device, [Piece(counts, 0, counts.count)], np.dtype(np.uint32), [offsets], OPERATORS["sum"], exclusive=True,
        prefix="outline",
    )  # fmt: skip
    outline = Outline(
        Scratch("outline_vertices", dtype, 0), Scratch("outline_summary", np.uint32, 3 * (regions + 1)), 0,
        (cut, corners, links, counts, offsets),
        (lower, upper, np.uint32(m), cut, number, each, corners, links, counts, offsets),
        {**params, "paper": join == "paper"}, all_segments, dtype,
    )  # fmt: skip
    room = min(2 * max(m, all_segments), 8 * all_segments + 1024)
    emission = emit_plan(session, outline, room)
    outline = Outline(**{**vars(outline), "room": room, "vertices": emission.scratch()["outline_vertices"]})
    return Plan(cutting) + hulls + Plan(tangents, counting) + scanning + emission, outline


def emit_plan(session, outline, room):
    """The last launch, with room for so many vertices."""
    vertices = Scratch("outline_vertices", outline.dtype, 2 * room)
    args = (*outline.args, vertices, np.uint32(room), outline.summary)
    policy, groups = _shape(session.profile, "region/arc_emit", outline.dtype, 2 * outline.segments)
    moved = outline.segments * 48 + room * 2 * outline.dtype.itemsize
    return Plan(Step("region/arc_emit", policy, args, groups, outline.params, bytes_moved=moved))


def _hulls_plan(session, dtype, m, lower, upper, segments, cut, corners, ranges, params, kernel):
    """The hulls of all segments: a work-item to each, in global or local memory, or a work-group to each block."""
    device, segments = session.profile, int(segments)
    args = (lower, upper, np.uint32(m), cut, np.uint32(segments), corners, ranges)
    sides = 1 if lower is upper or lower == upper else 2
    moved = m * (sides * 2 * dtype.itemsize + 8) + 16 * segments
    naive = select(device, "region/arc_hulls", dtype, m)
    long = m > SHORT * segments
    if kernel == "naive" or (kernel == "auto" and naive.variant == "serial") or (long and sides == 2):
        policy, groups = _shape(device, "region/arc_hulls", dtype, 2 * segments)
        sieve = naive.variant == "serial" and m > 4 * SHORT * segments
        return Plan(Step("region/arc_hulls", policy, args, groups, {**params, "sieve": sieve}, bytes_moved=2 * moved))
    if long:
        return _blocks_plan(device, dtype, m, lower, segments, cut, corners, ranges, params)
    policy = select(device, "region/arc_hulls_local", dtype, m)
    groups = ceil_div(segments, policy.wg_size)
    params = {**params, "shared": sides == 1}
    return Plan(Step("region/arc_hulls_local", policy, args, groups, params, bytes_moved=moved))


def _blocks_plan(device, dtype, m, points, segments, cut, corners, ranges, params):
    """Blocks of long segments, as many as keep the device busy; then the segments', if they have several."""
    policy = select(device, "region/arc_hulls_blocks", dtype, m)
    mean = ceil_div(m, segments)
    # enough blocks for all compute units, but whole tiles; and none too long for one work-group
    wanted = ceil_div(BUSY * device.compute_units, segments)
    fan = max(min(wanted, mean // policy.tile), ceil_div(mean, LONGEST * policy.tile), 1)
    point, blocks = 2 * dtype.itemsize, segments * fan
    moved = m * point + 16 * blocks
    if fan == 1:
        args = (points, np.uint32(m), cut, np.uint32(blocks), corners, ranges)
        return Plan(Step("region/arc_hulls_blocks", policy, args, blocks, params, bytes_moved=moved))
    fine = Scratch("block_cuts", np.uint32, blocks + 1)
    block_corners = Scratch("block_corners", np.uint32, 2 * m)
    block_ranges = Scratch("block_ranges", np.uint32, 4 * blocks)
    shape, groups = _shape(device, "region/arc_cuts", dtype, blocks + 1)
    cutting = Step(
        "region/arc_cuts", shape, (points, np.uint32(m), cut, np.uint32(segments), np.uint32(fan), fine), groups,
        {"real": params["real"], "ragged": True, "by_width": False}, bytes_moved=blocks * (point + 4),
    )  # fmt: skip
    hulls = Step(
        "region/arc_hulls_blocks", policy,
        (points, np.uint32(m), fine, np.uint32(blocks), block_corners, block_ranges), blocks, params, bytes_moved=moved,
    )  # fmt: skip
    join = Step(
        "region/arc_join", select(device, "region/arc_join", dtype, m),
        (points, np.uint32(m), cut, np.uint32(segments), np.uint32(fan), block_corners, block_ranges, corners, ranges),
        2 * segments, params, bytes_moved=blocks * 2 * 16 * (point + 8),
    )  # fmt: skip
    return Plan(cutting, hulls, join)


def _shape(device, kernel, dtype, n):
    policy = select(device, kernel, dtype, n)
    return policy, policy.groups(ceil_div(n, policy.tile), device.compute_units)
