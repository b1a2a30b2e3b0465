"""Convex hulls: the sieve; for many points left, or on request, a lexicographic sort and Wagener's merge of hoods.

points -> HullWork: at once, in pieces, or shared out (`clgeom.intake.dispatch`)
each device array -> start_hull -> Solution
hulls of pieces -> hull of their vertices -> Solution
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from clgeom.arguments import boolean, one_of
from clgeom.core.call import Call
from clgeom.core.device import Session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import run
from clgeom.core.plan import Scratch
from clgeom.errors import DeviceLimit, short
from clgeom.geo.longitudes import Longitudes
from clgeom.hull.antimeridian import checked_turn, over_antimeridian
from clgeom.hull.few import MOST as MOST_ON_HOST
from clgeom.hull.few import hull_of_few
from clgeom.hull.heaphull import filter_points
from clgeom.hull.lexsort import lexsort
from clgeom.hull.pieces import PointStream, piece_bytes
from clgeom.hull.result import Hull, HullOnDevice, VerticesOnDevice
from clgeom.hull.sieve.sieve import start_sieve
from clgeom.hull.stream import DevicePieces, pieces_of, streams
from clgeom.hull.wagener.merge import emit_plan, hoods_plan
from clgeom.intake.arrays import (
    MOST_ITEMS,
    as_device_points,
    as_point_array,
    canonical_points,
    refuse_nonfinite,
    rows_at,
    session_of,
    to_device,
)
from clgeom.intake.dispatch import Work, dispatch
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.points import take_points
from clgeom.intake.subnormals import refuse_flushed
from clgeom.intake.typing import AnyArray, ChunksLike, Collinear, DevicesLike, Nonfinite
from clgeom.primitives.extremes import is_finite, require_finite

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.call import Watch
    from clgeom.core.plan import Plan
    from clgeom.hull.pieces import Piece
    from clgeom.hull.sieve.sieve import SieveResult
    from clgeom.intake.arrays import DeviceArray
    from clgeom.intake.chunks import Chunks, Meter
    from clgeom.intake.points import PointCloud
    from clgeom.intake.typing import CLArray

#: Fewest points of a piece for one of several devices.
LEAST_OF_DEVICES = 1 << 16
#: Bytes of points from which on GPUs share them, as long as nothing was measured (H200: 160 MB take 6 ms).
LEAST_SHARED = 1 << 29
#: Numbers of the vertices of the hull of some of the points, and their coordinates.
Part: TypeAlias = tuple[np.ndarray, np.ndarray]


@keeps_subnormals
@takes_cuda
def convex_hull(
    points: AnyArray | ChunksLike,
    *,
    collinear: Collinear = "drop",
    nonfinite: Nonfinite = "raise",
    filter: Literal["auto", "octagon", "none"] = "auto",
    device: DevicesLike = None,
    profile: bool = False,
    progress: Callable[[int, int], object] | None = None,
    antimeridian: bool = False,
) -> Hull:
    """Convex hull of points in the plane, exactly.

    Parameters
    ----------
    points : array_like or pyopencl.array.Array, shape (n, 2)
        float32, float64, int32, or what fits one of them (float16, integers within 2**53). Points of a masked array
        with a masked coordinate are left out. Also frames and tables with columns x and y, Arrow's points, geometries
        of Shapely and GeoPandas, and arrays of other devices, as :doc:`/reference/inputs` lists them. An iterator or
        `clgeom.scale.Chunks` gives points in chunks, which need not fit in memory together; the vertices are indices
        into all of them, one after another. So do several arrays of pyopencl, in a list: parts of the points, which may
        be on different devices, where they stay.
    collinear : {"drop", "keep"}
        "keep" makes every distinct point on the boundary a vertex, not only the corners.
    nonfinite : {"raise", "drop"}
        What to do with points that have a NaN or infinite coordinate.
    filter : {"auto", "octagon", "none"}
        Which points to drop before sorting: those certainly inside the hull of a sample, those strictly inside the
        octagon of the extreme points, or none. Never changes the result.
    device : str, pyopencl.Device or Session, or several, optional
        Part of a device's name or kind ("gpu", "pocl", "nvidia"); ``CLGEOM_DEVICE``, else the fastest kind, by default.
        "all", or a list, shares points of the host out among devices.
    profile : bool
        Measure each phase with the device's clock.
    progress : callable, optional
        Called as progress(bytes_done, bytes_in_all) now and then for points that come in chunks, or that several
        devices share; bytes_in_all is None where it is not known.
    antimeridian : bool
        For longitudes and latitudes: where points lie closer together across 180 degrees, find the hull there. Its
        vertices are points as given, and its geometry is cut at 180 degrees; see `Hull`. Points without a reference
        system are in degrees. Chunks are read twice.

    Returns
    -------
    Hull
        With `vertices` counter-clockwise from the lexicographically smallest point; of equal points the lowest index.
        Points all equal, or all on a line, give a Hull of dimension 0 or 1 (both ends; with collinear="keep" all
        distinct points along the line). `peak` is the memory that chunks took.

    Raises
    ------
    InvalidInput
        For another shape, an unsupported type, or (nonfinite="raise") a NaN or infinity; for chunks of different
        coordinate reference systems, or an iterator that was read before.
    DeviceLimit
        For float64 points on a device without float64.

    Warns
    -----
    InputWarning
        For Z and M coordinates, which are left out, and for an array that is copied from another device. For points in
        a geographic reference system that lie closer together across the antimeridian, or all around a pole.

    See Also
    --------
    convex_hulls : Many hulls in one call.
    ConvexHull : The interface of SciPy.
    adaptive_region : A tighter outline.
    scipy.spatial.ConvexHull : Hulls in more dimensions.

    Notes
    -----
    The octagon is that of Ferrada, Navarro, Hitschfeld (J. Comput. Appl. Math. 364, 2020); the merge that of Wagener
    ("Optimally parallel algorithms for convex hull determination", 1985), in the work-optimal form. Every orientation
    is decided exactly.

    Examples
    --------
    >>> import clgeom
    >>> hull = clgeom.convex_hull([(0, 0), (2, 0), (1, 1), (2, 2), (0, 2)])
    >>> hull.vertices.tolist(), hull.area
    ([0, 1, 3, 4], 4.0)
    """
    one_of(collinear, ("drop", "keep"), "collinear", caller="convex_hull")
    one_of(filter, ("auto", "octagon", "none"), "filter", caller="convex_hull")
    options = HullOptions(collinear == "keep", filter)
    call = Call("convex_hull", profile=profile, options=options, progress=progress)
    antimeridian = antimeridian is not False and boolean(antimeridian, "antimeridian", caller=call.caller)
    cloud = take_points(call, points, device=device, nonfinite=nonfinite, is_finite=is_finite, many=True)
    if cloud.chunks is not None:
        return _hull_of_chunks(call, cloud.chunks, nonfinite, antimeridian)
    if cloud.parts and antimeridian:
        raise call.wrong("antimeridian", "False for several arrays on devices", short(antimeridian))
    turn = None  # the longitude of one turn, for points that may lie across the antimeridian
    if antimeridian or cloud.crs is not None:
        turn = checked_turn(cloud.crs, antimeridian, caller=call.caller)
    with call:
        solution = dispatch(call, HullWork(call, cloud))
    if turn is None and solution.is_on_device:
        return HullOnDevice(solution.vertices, solution.dimension, len(cloud), tuple(call.phases), solution.session)
    vertices, corners = solution.read()
    cloud.require_whole()
    hull = Hull(
        vertices=cloud.numbers(vertices),
        points=corners,
        dimension=solution.dimension,
        n=len(cloud),
        phases=tuple(call.phases),
        session=solution.session,
        crs=cloud.crs,
    )
    if turn is None:
        return hull
    return _over_antimeridian(call, hull, lambda: [cloud.source_on_host()], turn, antimeridian)


class HullOptions(NamedTuple):
    """The checked options of a call."""

    keep_collinear: bool
    filter: str


class HullWork(Work):
    """The hull of points: of all at once, or of the vertices of the hulls of their pieces or parts."""

    n: int
    cost: float

    def __init__(self, call: Call, cloud: PointCloud) -> None:
        self.call, self.cloud, self.rows, self.options = call, cloud, cloud.rows, call.options
        self.least, self.least_cost = LEAST_OF_DEVICES, LEAST_SHARED
        if cloud.parts:
            firsts = np.cumsum([0, *map(len, cloud.parts)]).tolist()
            self.parts = [(session_of(part, None), (part, first)) for part, first in zip(cloud.parts, firsts)]
            self.part_sizes = [part.nbytes for part in cloud.parts]
        else:
            self.n, self.cost = len(self.rows), self.rows.nbytes

    @property
    def kind(self) -> str:
        return f"convex_hull {self.rows.dtype}"

    @property
    def progress(self) -> Watch | None:
        """The user's function, which gets bytes."""
        tell = self.call.progress
        if tell is None or self.parts:
            return tell
        nbytes = 2 * self.rows.itemsize
        return lambda done, n: tell(done * nbytes, n * nbytes)

    def fits(self, session: Session) -> bool:
        in_place = session.profile.is_cpu and not self.cloud.in_file
        return in_place or self.cloud.on_device or not streams(session, self.rows)

    def at_once(self, session: Session) -> Solution:
        in_memory = not (self.cloud.on_device or self.cloud.in_file)
        if self.n <= MOST_ON_HOST and in_memory and self.options.filter == "auto":
            few = hull_of_few(session, self.rows, self.options.keep_collinear)
            if few is not None:
                vertices, dimension = few
                corners = rows_at(self.rows, vertices)
                if dimension is None:
                    return _hull_of_hulls(session, [vertices], [corners], self.options)
                return Solution(session, vertices, dimension, corners)
        return hull_of(self.cloud.on(session), self.options)

    def in_pieces(self, session: Session) -> Solution | None:
        """Return the hull of the hulls of pieces; None when these are not smaller than the pieces."""
        stream, count = pieces_of(session, self.rows), 0
        with contextlib.closing(_hulls_of_pieces(stream, self.options)) as parts:
            union = Union(session, self.options, stream.most)
            for piece, ids, corners in parts:
                count += len(ids)
                if 2 * count > piece.end and not self.cloud.in_file:
                    return None
                union.add(ids, corners)
                if self.progress is not None:
                    self.progress(piece.end, self.n)
        return union.hull()

    def piece(self, session: Session, start: int, stop: int) -> list[Part]:
        with contextlib.closing(_hulls_of_pieces(pieces_of(session, self.rows, start, stop), self.options)) as parts:
            return [(ids, corners) for _, ids, corners in parts]

    def begin(self, session: Session, part: tuple[CLArray, int]) -> Callable[[], list[Part]]:
        rows, first = part
        array = replace(as_device_points(session, rows, caller=self.call.caller), first=first)
        finish = start_hull(array, self.options)

        def result() -> list[Part]:
            vertices, corners = finish().read()
            return [(first + vertices, corners)]

        return result

    def join(self, session: Session, results: list[list[Part]]) -> Solution:
        ids, corners = zip(*(hull for hulls in results for hull in hulls))
        return _hull_of_hulls(session, ids, corners, self.options)


def _over_antimeridian(
    call: Call,
    hull: Hull,
    parts: Callable[[], Iterable[Any]],
    turn: float | None,
    antimeridian: bool,
    longitudes: Longitudes | None = None,
) -> Hull:
    keep_collinear = call.options.keep_collinear
    solve = functools.partial(convex_hull, collinear="keep" if keep_collinear else "drop", device=hull.session)
    options = {"wanted": antimeridian, "caller": call.caller, "keep_collinear": keep_collinear}
    return over_antimeridian(hull, parts, turn, solve, **options, longitudes=longitudes)


# One device array -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solution:
    """Vertices of a hull, on the host or still on the device, its dimension, and coordinates of host vertices."""

    session: Session
    vertices: np.ndarray | VerticesOnDevice
    dimension: int
    corners: np.ndarray | None = None

    @property
    def is_on_device(self) -> bool:
        """Whether the vertices are on the device, and the points came there."""
        return isinstance(self.vertices, VerticesOnDevice) and self.vertices.points.host is None

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices and coordinates of the vertices."""
        if not isinstance(self.vertices, VerticesOnDevice):
            corners: Any = self.corners  # known where vertices are on the host
            return self.vertices, corners
        vertices, host = self.vertices.read(), self.vertices.points.host
        corners = self.vertices.corners_of(self.vertices.gather()) if host is None else rows_at(host, vertices)
        return vertices, corners


def hull_of(points: DeviceArray, options: HullOptions) -> Solution:
    return start_hull(points, options)()


def start_hull(points: DeviceArray, options: HullOptions) -> Callable[[], Solution]:
    """Enqueue the first launches for the hull of a DeviceArray; return a function that finishes it."""
    if points.n == 0:
        nothing = Solution(points.session, np.empty(0, np.int64), -1, corners=np.empty((0, 2), points.dtype))
        return lambda: nothing
    if points.chunks[0].count > MOST_ITEMS:
        raise DeviceLimit(f"convex_hull takes up to 2**31 points of a pyopencl.array.Array. Got {points.n:,} instead.")
    if len(points.chunks) > 1:
        return functools.partial(_hull_of_buffers, points, options)
    finish_sieve = None
    if options.filter != "octagon":
        finish_sieve = start_sieve(points, keep_collinear=options.keep_collinear, sieve=options.filter == "auto")
    return functools.partial(_finish_hull, points, finish_sieve, options)


def _finish_hull(points: DeviceArray, finish_sieve: Callable[[], SieveResult] | None, options: HullOptions) -> Solution:
    if finish_sieve is None:
        survivors = filter_points(points, caller="convex_hull")
        ids, n = None, points.n
        if survivors.scattered is not None and survivors.indices is not None:
            ids, n = survivors.scattered[survivors.indices], survivors.n
    else:
        sieved = finish_sieve()
        if sieved.nonfinite:
            refuse_nonfinite(points, caller="convex_hull")
        if sieved.vertices is not None:
            return Solution(points.session, sieved.vertices, sieved.dimension, sieved.corners)
        ids, n = sieved.ids, sieved.n
        if options.filter == "none":
            require_finite(points, caller="convex_hull")
    return _merged_hull(points, ids, n, keep_collinear=options.keep_collinear)


def _merged_hull(points: DeviceArray, ids: cl.Buffer | None, n: int, *, keep_collinear: bool) -> Solution:
    """Return the hull of `n` points of a DeviceArray (those of `ids`, or all): sort, and merge hoods of blocks."""
    session, picked, bound = points.session, None, {}
    if ids is not None:
        picked = Scratch("survivors", np.uint32, n)
        bound = {picked.name: ids}
    ordered, order, rows = lexsort(points, picked, n, outer=not keep_collinear, **bound)

    def make() -> tuple[Plan, Scratch, Scratch]:
        plan, hoods = hoods_plan(session, rows, n, points.dtype, keep_collinear=keep_collinear)
        emission, vertices, shape = emit_plan(session.profile, hoods, n, order)
        return (plan + emission).kept(), vertices, shape

    key = "merged hull", points.dtype, n, order, rows, keep_collinear
    plan, vertices, shape = session.cached(key, make, policies=True)
    buffers: dict[str, Any] = {s.name: ordered[s] for s in (order, rows)}
    merged = run(session, plan, **buffers)
    count, dimension, _, _ = merged.read(shape).tolist()
    return Solution(session, VerticesOnDevice(points, merged[vertices], count), dimension)


def _hull_of_buffers(points: DeviceArray, options: HullOptions) -> Solution:
    """Return the hull of points in several buffers: that of the hulls in each."""
    hulls = [hull_of(part, options).read() for part in points.split()]
    ids = [chunk.start + vertices for chunk, (vertices, _) in zip(points.chunks, hulls)]
    count = sum(map(len, ids))
    if count == points.n:
        raise DeviceLimit(
            f"convex_hull found {count:,} vertices so far, {points.nbytes:,} bytes, and one allocation of "
            f"{points.session.profile.name} holds {points.session.profile.max_alloc_bytes:,}."
        )
    return _hull_of_hulls(points.session, ids, [corners for _, corners in hulls], options)


def _hull_of_hulls(
    session: Session, ids: Sequence[np.ndarray], corners: Sequence[np.ndarray], options: HullOptions
) -> Solution:
    """Return the hull of all points from the vertices of their parts' hulls: indices and coordinates, part by part."""
    union = to_device(session, np.concatenate(corners), caller="convex_hull")
    refuse_flushed(union, caller="convex_hull", name="points")
    whole = hull_of(union, options)
    vertices, places = whole.read()
    return Solution(session, np.concatenate(ids)[vertices], whole.dimension, places)


# Pieces ---------------------------------------------------------------------------------------------------------------


def _hulls_of_pieces(
    stream: DevicePieces, options: HullOptions
) -> Generator[tuple[Piece, np.ndarray, np.ndarray], None, None]:
    """Yield each piece with the vertices of its hull, numbered among all points, and their coordinates."""
    for piece, array in stream:
        try:
            vertices, corners = hull_of(array, options).read()
        except DeviceLimit:
            del array
            if not stream.smaller(piece):
                raise
            continue
        yield piece, piece.numbers(vertices), corners


class Union:
    """The vertices of hulls of parts of all points. Where these need more memory, their own hull replaces them.

    Parts must come in the order of the points, so that of equal points the lowest number stays.
    """

    def __init__(self, session: Session, options: HullOptions, most_bytes: int, meter: Meter | None = None) -> None:
        self.session, self.options, self.meter = session, options, meter
        self.ids: list[np.ndarray] = []
        self.corners: list[np.ndarray] = []
        self.nbytes, self.most = 0, most_bytes

    def add(self, ids: np.ndarray, corners: np.ndarray) -> None:
        if len(ids):
            self.ids.append(ids)
            self.corners.append(corners)
            self._count(ids.nbytes + corners.nbytes)
        if self.nbytes > self.most:
            ids, corners = self.hull().read()
            self._count(ids.nbytes + corners.nbytes - self.nbytes)
            self.ids, self.corners = [ids], [corners]
            self.most = max(self.most, 2 * self.nbytes)

    def _count(self, nbytes: int) -> None:
        self.nbytes += nbytes
        if self.meter is not None:
            self.meter.add(nbytes)

    def hull(self) -> Solution:
        if not self.ids:
            return Solution(self.session, np.empty(0, np.int64), -1, corners=np.empty((0, 2)))
        solve = functools.partial(_hull_of_hulls, self.session, options=self.options)
        try:
            return solve(self.ids, self.corners)
        except DeviceLimit:  # once more, with less memory: in two halves
            self.session.pool.free_held()
            half = (len(self.ids) + 1) // 2
            halves = [part for part in (slice(half), slice(half, None)) if self.ids[part]]
            ids, corners = zip(*(solve(self.ids[part], self.corners[part]).read() for part in halves))
            return solve(ids, corners)


def _hull_of_chunks(call: Call, chunks: Chunks[Any], nonfinite: str, antimeridian: bool) -> Hull:
    """Return the result of `convex_hull` for points in chunks."""
    if antimeridian:
        chunks.require_reiterable("with antimeridian=True", caller=call.caller)
    session, stream = call.session, PointStream(chunks, call.caller, nonfinite)
    longitudes: Longitudes | None = None
    is_checked = False
    nbytes: Any = chunks.nbytes  # None where it is not known
    meter, most = stream.meter, piece_bytes(chunks)
    session.pool.free_held()
    union = Union(session, call.options, most, meter)
    with (
        call,
        contextlib.closing(_hulls_of_pieces(DevicePieces(session, stream.pieces(), most), call.options)) as parts,
    ):
        for piece, ids, corners in parts:
            union.add(ids, corners)
            if not is_checked and (antimeridian or stream.known_crs is not None):
                turn, is_checked = checked_turn(stream.known_crs, antimeridian, caller=call.caller), True
                longitudes = None if turn is None else Longitudes(turn)
            if longitudes is not None:
                longitudes.add(piece.rows[:, 0])
            meter.see(session)
            if call.progress is not None:
                call.progress(piece.end * 2 * piece.rows.itemsize, nbytes)
        solution = union.hull()
    meter.see(session)
    vertices, corners = solution.read()
    hull = Hull(
        vertices=vertices,
        points=corners.astype(stream.dtype, copy=False),
        dimension=solution.dimension,
        n=stream.n,
        phases=tuple(call.phases),
        session=session,
        crs=stream.known_crs,
        peak=meter.peak(),
    )
    if longitudes is None:
        return hull

    def again() -> Iterator[np.ndarray]:
        return (canonical_points(as_point_array(chunk, caller=call.caller), caller=call.caller) for chunk in chunks)

    return _over_antimeridian(call, hull, again, longitudes.turn, antimeridian, longitudes)
