"""Upper and lower hoods of points in lexicographic order: Wagener's match-and-merge, as published and by runs.

A hood is the upper or lower part of the boundary of the convex hull, from the lexicographically smallest point to the
largest. "published" merges blocks of 1, 2, 4 .. points with a d1 x d2 grid of samples for every pair, in six phases;
"runs" is the work-optimal path that `convex_hull` takes (see `clgeom.hull.wagener.merge`).

Source: O Dunlaing, "CUDA implementation of Wagener's 2D convex hull PRAM algorithm" (2012).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from clgeom.arguments import boolean, one_of, wrong
from clgeom.core.call import Call
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, fill, run, write
from clgeom.core.plan import Phase, Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit
from clgeom.hull.lexsort import require_order
from clgeom.hull.predicates import predicate_parameters
from clgeom.hull.wagener.merge import hoods_plan
from clgeom.hull.wagener.trace import NOT_WRITTEN, HoodMerge, merges_of, results_size
from clgeom.intake.arrays import as_device_points, session_of, to_device
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.typing import AnyArray, Collinear, DeviceLike, NDArray
from clgeom.primitives.gather import gather_plan

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.core.launch import Result
    from clgeom.core.policies import Policy
    from clgeom.core.profile import DeviceProfile
    from clgeom.intake.arrays import DeviceArray

LOWER, UPPER = 0, 1
PHASES = 6
#: Most points of a work-group's block: indices in it have 16 bits.
LARGEST_BLOCK = 1 << 15
#: Most points for which method="auto" takes the published method, in one launch. PoCL: 0.47 ms for 10 points and 0.52
#: for 300, by runs 0.68 and 0.65; from 1000 points on it is slower.
PUBLISHED_UP_TO = 256
#: The hoods of each stage, and what the phases of each stage left in the device's memory; empty without a trace.
Traced: TypeAlias = tuple[()] | tuple[tuple[list[np.ndarray], ...], tuple[np.ndarray, ...]]


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Hood:
    """The upper or lower hood of `n` points.

    Parameters
    ----------
    vertices : ndarray of int64, shape (h,)
        Indices into the points given, left to right; of equal points the lowest.
    points : ndarray, shape (h, 2)
        Coordinates of the vertices, in the type the hood was computed in.
    n : int
        Number of points given.
    side : {"upper", "lower"}
    phases : tuple of Phase
        What each launch on the device was and took.
    stages : tuple of list of ndarray of int64, or None
        With trace=True, ``stages[r][k]`` holds the vertices of the hood of points ``k * 2**r`` to
        ``(k + 1) * 2**r - 1``. The first stage is the points themselves, the last the whole hood.
    results : tuple of ndarray of uint32, or None
        With trace=True, what the phases of each stage left in the device's memory, by pair. `merges` reads it.

    Examples
    --------
    >>> import clgeom
    >>> hood = clgeom.upper_hood([(0, 0), (1, 2), (2, 1), (3, 0)], trace=True)
    >>> hood.vertices.tolist(), hood.side, len(hood)
    ([0, 1, 3], 'upper', 3)
    >>> [[block.tolist() for block in stage] for stage in hood.stages]
    [[[0], [1], [2], [3]], [[0, 1], [2, 3]], [[0, 1, 3]]]
    >>> hood.merges[1][0]
    HoodMerge(2 and 2 corners: the tangent from corner 1 to corner 1 leaves 3)
    """

    vertices: NDArray[np.int64]
    points: NDArray[Any]
    n: int
    side: str
    phases: tuple[Phase, ...] = ()
    stages: tuple[list[NDArray[np.int64]], ...] | None = None
    results: tuple[NDArray[np.uint32], ...] | None = None

    @functools.cached_property
    def merges(self) -> tuple[list[HoodMerge], ...] | None:
        """With trace=True: how hoods 2 k and 2 k + 1 of ``stages[r]`` became ``stages[r + 1][k]``, ``merges[r][k]``."""
        if self.stages is None or self.results is None:
            return None
        steps = zip(self.stages, self.stages[1:], self.results)
        return tuple(merges_of(hoods, merged, results, r) for r, (hoods, merged, results) in enumerate(steps))

    def __repr__(self) -> str:
        traced = f", {len(self.stages)} stages" if self.stages is not None else ""
        return f"Hood({self.side}: {len(self)} vertices of {self.n} {self.points.dtype} points{traced})"

    def __len__(self) -> int:
        return len(self.vertices)


@keeps_subnormals
@takes_cuda
def upper_hood(
    points: AnyArray,
    *,
    collinear: Collinear = "drop",
    method: Literal["auto", "published", "runs"] = "auto",
    trace: bool = False,
    device: DeviceLike = None,
    profile: bool = False,
) -> Hood:
    """Upper hood of points in lexicographic order, exactly.

    Parameters
    ----------
    points : array_like or pyopencl.array.Array, shape (n, 2)
        float32, float64, int32 or what fits one of them; finite; ordered by x, and by y where x is equal. Equal points
        may occur. ``numpy.lexsort((y, x))`` gives such an order.
    collinear : {"drop", "keep"}
        "keep" makes every distinct point on the hood a vertex, not only its corners.
    method : {"auto", "published", "runs"}
        "published": match-and-merge in six phases with d1 x d2 samples a pair. "runs": the work-optimal form, which
        merges lists of runs and moves no corner. Both give the same hood; "auto" takes the faster one.
    trace : bool
        Also return the hoods of every stage, and what each phase of every merge found. Requires the published method.
    device : str, pyopencl.Device or Session, optional
        As everywhere in clgeom.
    profile : bool
        Measure each phase with the device's clock.

    Returns
    -------
    Hood
        From the lexicographically smallest to the largest point: where several points share the least x, the upper
        hood begins with the side up from the lowest of them.

    Raises
    ------
    InvalidInput
        For another shape, an unsupported type, a NaN or infinity, or points out of order; it names the first.
    DeviceLimit
        For float64 points on a device without float64, or a trace of points that do not fit one allocation.

    See Also
    --------
    lower_hood : The other half of the hull.
    convex_hull : Both halves, of points in any order.

    Notes
    -----
    The published program needs a power of two of points in general position with x in [0, 1], hoods of at most as many
    points as a work-group has items, and exact arithmetic. Here none of this is required: padding is virtual, exact
    signs decide ties, and work-items stride over the samples.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.upper_hood([(0, 0), (1, 2), (2, 1), (3, 1)]).vertices.tolist()
    [0, 1, 3]
    """
    return _hood("upper_hood", UPPER, points, collinear, method, trace, device, profile)


@keeps_subnormals
@takes_cuda
def lower_hood(
    points: AnyArray,
    *,
    collinear: Collinear = "drop",
    method: Literal["auto", "published", "runs"] = "auto",
    trace: bool = False,
    device: DeviceLike = None,
    profile: bool = False,
) -> Hood:
    """Lower hood of points in lexicographic order, exactly. See `upper_hood`.

    Where several points share the largest x, the lower hood ends with the side up to the highest of them.

    Parameters
    ----------
    points, collinear, method, trace, device, profile
        As for `upper_hood`.

    Returns
    -------
    Hood
        From the lexicographically smallest to the largest point.

    Raises
    ------
    InvalidInput, DeviceLimit
        As for `upper_hood`.

    See Also
    --------
    upper_hood : The other half of the hull.
    convex_hull : Both halves, of points in any order.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.lower_hood([(0, 0), (1, 2), (2, 1), (3, 1)]).vertices.tolist()
    [0, 3]
    """
    return _hood("lower_hood", LOWER, points, collinear, method, trace, device, profile)


def _hood(
    caller: str,
    side: int,
    points: AnyArray,
    collinear: str,
    method: str,
    trace: bool,
    device: DeviceLike,
    profile: bool,
) -> Hood:
    one_of(collinear, ("drop", "keep"), "collinear", caller=caller)
    one_of(method, ("auto", "published", "runs"), "method", caller=caller)
    if boolean(trace, "trace", caller=caller) and method == "runs":
        raise wrong("method", caller, "'published' or 'auto' with trace", "'runs'")
    session = session_of(points, device)
    array = as_device_points(session, points, caller=caller)
    if array.n and max(chunk.count for chunk in array.chunks) >= 1 << 31:
        raise DeviceLimit(f"{caller} takes fewer than 2**31 points in one allocation. Got {array.n:,}.")
    call = Call(caller, profile=profile)
    with call:
        require_order(array, caller=caller)
        if trace and len(array.chunks) > 1:
            raise DeviceLimit(
                f"A trace of {array.n:,} points, {array.nbytes:,} bytes, needs them in one allocation, and "
                f"{session.profile.name} allows {session.profile.max_alloc_bytes:,}."
            )
        vertices, corners, traced = hood_of(array, side, keep_collinear=collinear == "keep", method=method, trace=trace)
    return Hood(vertices, corners, array.n, ("lower", "upper")[side], tuple(call.phases), *traced)


def hood_of(
    points: DeviceArray, side: int, *, keep_collinear: bool, method: str = "auto", trace: bool = False
) -> tuple[np.ndarray, np.ndarray, Traced]:
    """Return the vertices, their coordinates, and (stages, results) of one hood of a DeviceArray in order."""
    options = {"keep_collinear": keep_collinear, "method": method}
    if points.n == 0:
        return np.empty(0, np.int64), np.empty((0, 2), points.dtype), ((), ()) if trace else ()
    if len(points.chunks) > 1:
        return _hood_of_chunks(points, side, options)
    session = points.session
    if method == "auto":
        method = "published" if points.n <= PUBLISHED_UP_TO else "runs"
    if method == "published" or trace:
        result, vertices, traced = _published(points, side, keep_collinear=keep_collinear, trace=trace)
    else:
        result, vertices = _by_runs(points, side, keep_collinear=keep_collinear)
        traced = ()
    rows = Scratch("hood_points", points.dtype, 2 * vertices.count)
    plan = gather_plan(session.profile, points, "points", vertices, vertices.count, rows)
    buffers: dict[str, Any] = {vertices.name: result[vertices]}
    corners = run(session, plan, points=points, **buffers).read(rows).reshape(-1, 2)
    return result.read(vertices).astype(np.int64), corners, traced


def _hood_of_chunks(points: DeviceArray, side: int, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, Traced]:
    parts = [hood_of(part, side, **options) for part in points.split()]
    ids = np.concatenate([chunk.start + part[0] for chunk, part in zip(points.chunks, parts)])
    corners = np.concatenate([part[1] for part in parts])
    if len(ids) == points.n:
        profile = points.session.profile
        raise DeviceLimit(
            f"A hood has {len(ids):,} vertices so far, {points.nbytes:,} bytes, and one allocation of {profile.name} "
            f"holds {profile.max_alloc_bytes:,}."
        )
    union = to_device(points.session, corners, caller="hood")
    vertices, corners, _ = hood_of(union, side, **options)
    return ids[vertices], corners, ()


# By runs: the work-optimal form -----------------------------------------------------------------------------------


def _by_runs(points: DeviceArray, side: int, *, keep_collinear: bool) -> tuple[Result, Scratch]:
    session, n = points.session, points.n
    plan, hoods = hoods_plan(session, "points[0]", n, points.dtype, keep_collinear=keep_collinear)
    merged = run(session, plan, points=points)
    table = hoods.runs(merged)[side]
    sizes = table[:, 1] - table[:, 0] + 1
    table = table + np.uint32(side * n)
    buffers: dict[str, Any] = {hoods.corners.name: merged[hoods.corners]}
    for name, array in (("run_table", table), ("run_offsets", np.cumsum(sizes, dtype=np.uint32) - sizes)):
        buffers[name] = allocate(session, array.nbytes)
        write(session, buffers[name], array.astype(np.uint32))
    vertices = Scratch("hood_vertices", np.uint32, int(sizes.sum()))
    step = Step(
        "hull/wagener/hood_list",
        select(session.profile, "hull/wagener/hood_list", np.dtype(np.uint32), vertices.count),
        args=(hoods.corners, "run_table", "run_offsets", vertices),
        groups=len(table),
        bytes_moved=8 * vertices.count,
    )
    listed = run(session, Plan(step), **buffers)
    return listed, vertices


# As published -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Matching:
    """The plans of the published method: `begin` computes hoods of blocks, `stages[i]` merges them two by two.

    Stage i reads ``hoods[i % 2]`` and ``sizes[i % 2]`` and writes the other two.
    """

    begin: Plan
    stages: tuple[Plan, ...]
    hoods: tuple[Scratch, Scratch]
    sizes: tuple[Scratch, Scratch]
    results: Scratch
    log_block: int

    @property
    def plan(self) -> Plan:
        return sum(self.stages, self.begin)


def matching_plan(
    session: Session,
    rows: str | Scratch,
    n: int,
    dtype: np.dtype,
    side: int,
    *,
    keep_collinear: bool,
    local: bool = True,
) -> Matching:
    """Plan of the published method for one hood of `n` sorted points; with `local`, blocks that fit take one launch."""
    profile = session.profile
    params = {**predicate_parameters(session, dtype), "keep_collinear": keep_collinear}
    point = 2 * np.dtype(dtype).itemsize
    policy = block_policy(profile, dtype, n)
    if not local:
        policy = replace(policy, wg_size=1, items_per_thread=1)
    log_block = policy.tile.bit_length() - 1
    blocks = ceil_div(n, policy.tile)
    hoods = Scratch("match_hood0", np.uint32, n), Scratch("match_hood1", np.uint32, n)
    sizes = Scratch("match_sizes0", np.uint32, blocks), Scratch("match_sizes1", np.uint32, blocks)
    begin = Step(
        "hull/wagener/hood_match_blocks",
        policy,
        args=(rows, np.uint32(n), np.uint32(side), hoods[0], sizes[0]),
        groups=blocks,
        params=params,
        bytes_moved=n * (point + 4),
    )
    shape = select(profile, "hull/wagener/hood_match", dtype, n)
    logs = range(log_block, max((n - 1).bit_length(), log_block))
    room = [ceil_div(n, 2 << r) * results_size(r) for r in logs]
    results = Scratch("match_results", np.uint32, max(room, default=1))
    stages = []
    for i, r in enumerate(logs):
        pairs = ceil_div(n, 2 << r)
        wanted = shape.groups_per_unit * profile.compute_units // pairs
        parts = max(min(wanted, ceil_div(1 << r, shape.wg_size)), 1)
        launches = ((1, PHASES),) if parts == 1 else tuple((phase, phase) for phase in range(1, PHASES + 1))
        steps = []
        memory = hoods[i % 2], sizes[i % 2], hoods[1 - i % 2], sizes[1 - i % 2]
        for first, last in launches:
            # an upper bound: a sample reads about four corners, the last phase reads and writes a hood
            tested = (min(last, PHASES - 1) - first + 1) * pairs * (1 << r) * 4 * (point + 4)
            moved = tested + (8 * n if last == PHASES else 0)
            args = rows, *map(np.uint32, (n, side, r, parts, first, last)), *memory, results
            steps.append(Step("hull/wagener/hood_match", shape, args, pairs * parts, params, moved))
        stages.append(Plan(*steps))
    return Matching(Plan(begin), tuple(stages), hoods, sizes, results, log_block)


def block_policy(profile: DeviceProfile, dtype: np.dtype, n: int) -> Policy:
    """Return the policy of blocks in local memory: a power of two of points that fits there."""
    policy = select(profile, "hull/wagener/hood_match_blocks", dtype, n)
    items = 1 << (policy.items_per_thread.bit_length() - 1)
    point = 2 * (2 * np.dtype(dtype).itemsize) // 2 + 4 + 2 + 6  # coordinates, two hoods, sizes, results of samples
    most, wg_size = min(LARGEST_BLOCK, (profile.local_mem_bytes - 64) // point), policy.wg_size
    while wg_size * items > max(most, 1):
        items, wg_size = (items // 2, wg_size) if items > 1 else (items, wg_size // 2)
    return replace(policy, wg_size=wg_size, items_per_thread=items)


def _published(points: DeviceArray, side: int, *, keep_collinear: bool, trace: bool) -> tuple[Result, Scratch, Traced]:
    session, n = points.session, points.n
    matching = matching_plan(
        session, "points[0]", n, points.dtype, side, keep_collinear=keep_collinear, local=not trace
    )
    traced: Traced = ()
    if not trace:
        result = run(session, matching.plan, points=points)
    else:
        result = run(session, matching.begin, points=points)
        stages, results = [_blocks_of(result, matching, 0, n)], []
        buffers: dict[str, Any] = {matching.results.name: allocate(session, matching.results.nbytes)}
        for i, stage in enumerate(matching.stages):
            fill(session, buffers[matching.results.name], NOT_WRITTEN, matching.results.count)
            passed = [scratch for scratch in (*matching.hoods, *matching.sizes) if scratch.name in result.buffers]
            buffers |= {scratch.name: result[scratch] for scratch in passed}
            result = run(session, stage, points=points, **buffers)
            stages.append(_blocks_of(result, matching, i + 1, n))
            results.append(result.read(matching.results, len(stages[-1]) * results_size(matching.log_block + i)))
        traced = tuple(stages), tuple(results)
    last = len(matching.stages) % 2
    count = int(result.read(matching.sizes[last], 1)[0])
    vertices = Scratch(matching.hoods[last].name, np.uint32, count)
    return result, vertices, traced


def _blocks_of(result: Result, matching: Matching, stage: int, n: int) -> list[np.ndarray]:
    """Return the hood of every block after a number of stages."""
    size = 1 << (matching.log_block + stage)
    blocks = ceil_div(n, size)
    hood = result.read(matching.hoods[stage % 2]).astype(np.int64)
    counts = result.read(matching.sizes[stage % 2], blocks)
    return [hood[k * size : k * size + count].copy() for k, count in enumerate(counts.tolist())]
