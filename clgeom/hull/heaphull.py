"""The heaphull filter: drop the points strictly inside the octagon of the extreme points, queue the rest.

Two launches find the extreme points in eight directions, and the host computes their octagon. One launch labels every
point and counts the labels. A scan of the counts gives the offsets of the queues. One launch fills the queues in input
order.

Source: Ferrada, Navarro, Hitschfeld, "A filtering technique for fast convex hull construction in R2", J. Comput.
Appl. Math. 364 (2020); its parallel form for GPUs by Keith, Ferrada, Navarro ("GPU heaphull").
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.call import Call
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, run, write
from clgeom.core.plan import Phase, Plan, Scratch, Step
from clgeom.geo.exact import ordered_hull
from clgeom.hull.predicates import predicate_parameters
from clgeom.intake.arrays import refuse_nonfinite
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.points import take_points
from clgeom.intake.typing import AnyArray, DeviceLike, NDArray, Nonfinite
from clgeom.primitives import compact
from clgeom.primitives.extremes import extremes, is_finite

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.core.launch import Result
    from clgeom.intake.arrays import Chunk, DeviceArray
    from clgeom.intake.points import PointCloud

KERNEL = "hull/heaphull_label"
QUEUES = 4


@keeps_subnormals
@dataclass(frozen=True)
class HeaphullFilter:
    """Result of the heaphull filter: labels, octagon and queues.

    Parameters
    ----------
    labels : ndarray of uint8, shape (n,)
        0: strictly inside the octagon (or left out, as masked or not finite); 1 to 4: in the queue of the north-east,
        north-west, south-west, south-east chain of octagon edges.
    octagon : ndarray of int64, shape (h,), 0 <= h <= 8
        Indices of the octagon's vertices, counter-clockwise from the lexicographically smallest. None without points.
    queues : tuple of 4 ndarrays of int64
        Indices of the points of each label, in input order.
    phases : tuple of Phase

    Examples
    --------
    >>> import clgeom
    >>> found = clgeom.heaphull_filter([(0, 0), (4, 0), (2, 1), (4, 4), (0, 4)])
    >>> found.labels.tolist(), found.kept
    ([3, 1, 0, 1, 2], 4)
    >>> found
    HeaphullFilter(octagon=array([0, 1, 3, 4]))
    """

    labels: NDArray[np.uint8] = field(repr=False)
    octagon: NDArray[np.int64]
    queues: tuple[NDArray[np.int64], ...] = field(repr=False)
    phases: tuple[Phase, ...] = field(default=(), repr=False)

    @property
    def kept(self) -> int:
        """Number of points in the queues."""
        return sum(map(len, self.queues))


@keeps_subnormals
@takes_cuda
def heaphull_filter(
    points: AnyArray, *, nonfinite: Nonfinite = "raise", device: DeviceLike = None, profile: bool = False
) -> HeaphullFilter:
    """Label every point with the octagon edge chain that it lies outside of, or 0 when it is strictly inside.

    Parameters
    ----------
    points : array_like or pyopencl.array.Array, shape (n, 2)
        float32, float64, int32, or what fits one of them.
    nonfinite : {"raise", "drop"}
        "drop" gives points with a NaN or infinite coordinate the label 0.
    device : str, pyopencl.Device or Session, optional
    profile : bool
        Measure each phase with the device's clock.

    Returns
    -------
    HeaphullFilter

    Raises
    ------
    InvalidInput
        For another shape, an unsupported type, or (nonfinite="raise") a NaN or infinity.

    See Also
    --------
    convex_hull : The hull itself; its filter is chosen by ``filter=``.

    Notes
    -----
    The octagon is the convex hull of the extreme points in the directions E, NE, N, NW, W, SW, S, SE. Diagonal keys
    are x + y and y - x rounded once in the points' type (exact for int32); ties go to the lowest index. The label is
    that of the first edge, counter-clockwise from E, that the point is not strictly left of; edges belong to a
    quadrant by their direction. Labels are exact. Every point with label 0 is strictly inside the convex hull.

    Examples
    --------
    >>> import clgeom
    >>> found = clgeom.heaphull_filter([(0, 0), (4, 0), (2, 1), (4, 4), (0, 4)])
    >>> found.labels.tolist(), found.octagon.tolist()
    ([3, 1, 0, 1, 2], [0, 1, 3, 4])
    """
    call = Call("heaphull_filter", profile=profile)
    cloud = take_points(call, points, device=device, nonfinite=nonfinite, is_finite=is_finite, shared=False)
    with call:
        return filter_cloud(call, cloud)[0]


def filter_cloud(call: Call, cloud: PointCloud) -> tuple[HeaphullFilter, Survivors | None]:
    """Return the filter of points, and its queues on the device, None without points."""
    array, kept = cloud.on(call.session), cloud.kept
    if array.n == 0:
        none = np.empty(0, np.int64)
        return HeaphullFilter(np.zeros(len(cloud), np.uint8), none, (none,) * QUEUES), None
    survivors = filter_points(array, caller=call.caller)
    labels = survivors.read_labels()
    queues = np.split(survivors.read_indices(), np.cumsum(survivors.queue_sizes())[:-1])
    octagon = survivors.octagon
    if kept is not None:
        everywhere = np.zeros(len(cloud), np.uint8)
        everywhere[kept] = labels
        labels, octagon, queues = everywhere, kept[octagon], [kept[queue] for queue in queues]
    return HeaphullFilter(labels, octagon, tuple(queues), tuple(call.phases)), survivors


@dataclass(frozen=True)
class Survivors:
    """The filter's result on the device: labels by chunk, and the indices of all queues, queue after queue.

    `scattered` is None when the indices do not fit in one allocation. Then the host finds them from the labels.
    """

    points: DeviceArray
    octagon: np.ndarray
    n: int
    counts: Scratch
    offsets: Scratch
    labelled: Result
    indices: Scratch | None = None
    scattered: Result | None = None

    def queue_sizes(self) -> np.ndarray:
        return compact.class_totals(self.labelled, self.counts, self.offsets, QUEUES)

    def read_labels(self) -> np.ndarray:
        chunks = self.points.chunks
        parts = [self.labelled.read(_labels(i, chunk)) for i, chunk in enumerate(chunks)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def read_indices(self) -> np.ndarray:
        if self.scattered is None or self.indices is None:
            labels = self.read_labels()
            return np.concatenate([np.flatnonzero(labels == queue + 1) for queue in range(QUEUES)])
        return np.asarray(self.scattered.read(self.indices, self.n), np.int64)


def filter_points(points: DeviceArray, *, caller: str) -> Survivors:
    """Run the filter over a DeviceArray of at least one point."""
    session = points.session
    extreme, finite = extremes(points)
    if not finite:
        refuse_nonfinite(points, caller=caller)
    octagon, edges = octagon_of(extreme)
    edge_buffer = allocate(session, edges.nbytes)
    write(session, edge_buffer, edges)
    counts, plan = label_plan(session, points)
    offsets, scan = compact.offsets_plan(session.profile, counts, points.n)
    labelled = run(session, plan + scan, points=points, edges=edge_buffer)
    n = compact.grand_total(labelled, counts, offsets)
    survivors = Survivors(points, octagon, n, counts, offsets, labelled)
    if n * np.dtype(offsets.dtype).itemsize > session.profile.max_alloc_bytes:
        return survivors
    scatter = compact.scatter_plan(session.profile, points, counts, offsets, QUEUES, n)
    labels: dict[str, Any] = {f"labels[{i}]": labelled[f"labels[{i}]"] for i in range(len(points.chunks))}
    scattered = run(session, scatter, counts=labelled[counts], offsets=labelled[offsets], **labels)
    return replace(survivors, indices=scatter.scratch["indices"], scattered=scattered)


def label_plan(session: Session, points: DeviceArray) -> tuple[Scratch, Plan]:
    """Return a launch per chunk: labels as Scratch "labels[0]" ..., counts per class and tile."""
    tiles = compact.tiles_of(points)
    counts = Scratch("counts", np.uint32, QUEUES * tiles)
    params = {**predicate_parameters(session, points.dtype), "tile": compact.TILE}
    params["approx"] = "double" if points.dtype == np.float64 else "float"
    options: dict[str, Any] = {"dtype": points.dtype, "tile": compact.TILE, "most": points.n, "params": params}

    def step(i: int, chunk: Chunk) -> Step:
        numbers = np.uint64(chunk.count), np.uint64(chunk.start // compact.TILE), np.uint64(tiles)
        args = f"points[{i}]", *numbers, "edges", _labels(i, chunk), counts
        moved = chunk.count * (points.item_bytes + 1)
        return Step.over(session.profile, KERNEL, args, chunk.count, bytes_moved=moved, **options)

    return counts, Plan(*(step(i, chunk) for i, chunk in enumerate(points.chunks)))


def _labels(i: int, chunk: Chunk) -> Scratch:
    return Scratch(f"labels[{i}]", np.uint8, chunk.count)


# The octagon -----------------------------------------------------------------------------------------------------


def octagon_of(extreme: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the hull of the extreme points, records of shape (8,), as indices, and 9 records of edges for the kernel.

    These are the edges by quadrant, the last one repeated up to 8, then the box between the diagonal points.
    """
    records = extreme[np.argsort(extreme["index"], kind="stable")]  # of equal points the lowest index stays
    x, y = records["x"].tolist(), records["y"].tolist()
    order, _ = ordered_hull(x, y, keep_collinear=False)
    octagon, corners = records["index"][order].astype(np.int64), [(x[k], y[k]) for k in order]
    pairs = list(zip(corners, corners[1:] + corners[:1]))
    reach = max(abs(float(v)) for v in (extreme["x"][:2].tolist() + extreme["y"][2:4].tolist()))
    edges = sorted((edge_record(a, b, reach, extreme["x"].dtype) for a, b in pairs), key=lambda edge: edge[-1])
    edges += edges[-1:] * (8 - len(edges)) + [box_record(extreme)]
    return octagon, np.array(edges, edge_type(extreme["x"].dtype))


def edge_type(dtype: np.dtype) -> np.dtype:
    """Return the kernel's edge_t."""
    approx = np.float64 if dtype == np.float64 else np.float32
    names = [(name, dtype) for name in ("ax", "ay", "bx", "by")] + [
        (name, approx) for name in ("nx", "ny", "offset", "slack")
    ]
    return np.dtype([*names, ("quadrant", np.uint32)], align=True)


def edge_record(a: tuple[float, float], b: tuple[float, float], reach: float, dtype: np.dtype) -> tuple[Any, ...]:
    """Return an edge with a line `nx * x + ny * y + offset` that is positive, as computed, only strictly left of the
    edge.

    The normal is scaled by a power of two below 1/8, so that nothing overflows. With coordinates of at most `reach`
    and u the unit roundoff of the kernel's arithmetic, rounding the coefficients here and the line there loses less
    than 16 u (|nx| + |ny|) reach. The offset is lowered by twice that, and by more than products that underflow can
    lose, flushed or not. Below minus `slack` the line is negative only to the right of the edge.
    """
    info = np.finfo(np.float64 if dtype == np.float64 else np.float32)
    ax, ay, bx, by = (0.25 * v for v in (*a, *b))
    size = max(abs(ay - by), abs(bx - ax))
    quadrant = _quadrant(b[0] - a[0], b[1] - a[1])
    if size < 1e-290:  # a single point, or an edge too short for a normal: the line decides nothing
        return *a, *b, 0.0, 0.0, -1.0, math.inf, quadrant
    scale = math.ldexp(1.0, -math.frexp(size)[1] - 3)
    nx, ny = (ay - by) * scale, (bx - ax) * scale
    loss = float(info.eps) * 16 * (abs(nx) + abs(ny)) * reach + 64 * float(info.tiny)
    return *a, *b, nx, ny, -(nx * a[0] + ny * a[1]) - loss, 2 * loss, quadrant


def box_record(extreme: np.ndarray) -> tuple[Any, ...]:
    """Return the box between the diagonal extreme points, as an edge from its lower to its upper corner.

    Each of its corners is dominated by the extreme point of its diagonal, so no direction separates it from the four:
    it lies in their hull, and what is strictly inside the box is strictly inside the octagon.
    """
    ne, sw, nw, se = extreme[["x", "y"]][4:].tolist()
    low, high = (max(nw[0], sw[0]), max(sw[1], se[1])), (min(ne[0], se[0]), min(ne[1], nw[1]))
    return *low, *high, 0.0, 0.0, 0.0, 0.0, 0


def _quadrant(dx: float, dy: float) -> int:
    """Quadrant of an edge's outward normal: 1 NE, 2 NW, 3 SW, 4 SE; directions along an axis belong to the next."""
    if dy > 0 and dx <= 0:
        return 1
    if dx < 0:
        return 2
    if dy < 0:
        return 3
    return 4 if dx > 0 else 1
