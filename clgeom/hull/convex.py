"""Convex hulls: the sieve; for many points left, or on request, a lexicographic sort and Wagener's merge of hoods."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from clgeom.arguments import one_of, wrong
from clgeom.core.call import recording
from clgeom.core.device import as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import run
from clgeom.core.plan import Scratch
from clgeom.errors import DeviceLimit, short
from clgeom.exchange import crs_of
from clgeom.geo.longitudes import Longitudes
from clgeom.hull.antimeridian import checked_turn, over_antimeridian
from clgeom.hull.heaphull import filter_points
from clgeom.hull.lexsort import lexsort
from clgeom.hull.pieces import PointStream, piece_bytes
from clgeom.hull.result import Hull, HullOnDevice, VerticesOnDevice
from clgeom.hull.sieve.sieve import begun_hull
from clgeom.hull.stream import OnDevice, is_mapped, loaded, pieces_of, streams
from clgeom.hull.wagener.merge import emit_plan, hoods_plan
from clgeom.intake.arrays import (
    MOST_ITEMS,
    as_device_points,
    as_given,
    canonical_points,
    is_device_array,
    refuse_nonfinite,
    rows_at,
    session_of,
    to_device,
)
from clgeom.intake.chunks import as_chunks
from clgeom.intake.device_arrays import fetched
from clgeom.intake.gains import quicker
from clgeom.intake.mapped import require_whole
from clgeom.intake.several import are_parts, as_sessions, by_first_able, in_turn, spread
from clgeom.intake.subnormals import refuse_flushed
from clgeom.intake.typing import AnyArray, ChunksLike, Collinear, DevicesLike, Nonfinite
from clgeom.primitives.extremes import points_left, require_finite

#: Fewest points of a piece for one of several devices.
LEAST_OF_DEVICES = 1 << 16
#: Bytes of points from which on GPUs share them, as long as nothing was measured (H200: 160 MB take 6 ms).
LEAST_SHARED = 1 << 29


@keeps_subnormals
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
    caller = "convex_hull"
    one_of(collinear, ("drop", "keep"), "collinear", caller=caller)
    one_of(filter, ("auto", "octagon", "none"), "filter", caller=caller)
    options = {"keep_collinear": collinear == "keep", "filter": filter}
    chunks = as_chunks(points)
    if chunks is not None:
        return _hull_of_given_chunks(chunks, as_session(device), nonfinite, options, profile, progress, antimeridian)
    if are_parts(points):
        if antimeridian:
            raise wrong("antimeridian", caller, "False for several arrays on devices", short(antimeridian))
        return _hull_of_parts(points, device, nonfinite, options, profile, progress)
    sessions = as_sessions(points, device, caller=caller)
    crs, session, points = crs_of(points), sessions[0], as_given(points, caller=caller)
    turn = checked_turn(crs, antimeridian, caller=caller) if antimeridian or crs is not None else None
    require_whole(points)
    left, kept = points_left(points, nonfinite=nonfinite, caller=caller)
    if not is_device_array(left) and not is_mapped(left):
        left = canonical_points(left, caller=caller)
    some = sessions if len(sessions) > 1 and len(left) >= 2 * LEAST_OF_DEVICES else sessions[:1]

    def alone():
        found = None
        if not is_device_array(left) and streams(session, left):
            found = _hull_of_stream(session, left, options, progress)
        if found is None:
            return by_first_able(sessions, functools.partial(_hull_at_once, left, options))
        return session, None, found

    def together():
        return session, None, _hull_of_devices(sessions, left, options, progress)

    with recording(profile) as phases:
        made = quicker(some, "convex_hull", left.nbytes, LEAST_SHARED, alone=alone, together=together)
    session, array, found = made
    if array is not None and array.host is None and isinstance(found.vertices, VerticesOnDevice) and turn is None:
        return HullOnDevice(found.vertices, found.dimension, len(points), tuple(phases), session)
    vertices, corners = found.read()
    require_whole(points)
    hull = Hull(
        vertices=vertices if kept is None else kept[vertices],
        points=corners,
        dimension=found.dimension,
        n=len(points),
        phases=tuple(phases),
        session=session,
        crs=crs,
    )
    if turn is None:
        return hull

    def alike(rows):
        return convex_hull(rows, collinear=collinear, filter=filter, device=session)

    how = {"wanted": antimeridian, "caller": caller, "keep_collinear": options["keep_collinear"]}
    return over_antimeridian(hull, lambda: [fetched(points) if is_device_array(points) else points], turn, alike, **how)


@dataclass(frozen=True)
class Found:
    """A hull: its vertices, on the host or still on the device, its dimension, and coordinates if on the host."""

    vertices: np.ndarray | VerticesOnDevice
    dimension: int
    corners: np.ndarray | None = None

    def read(self):
        """Indices and coordinates of the vertices."""
        if not isinstance(self.vertices, VerticesOnDevice):
            return self.vertices, self.corners
        vertices, host = self.vertices.read(), self.vertices.points.host
        return vertices, self.vertices.read_corners() if host is None else rows_at(host, vertices)


def hull_of(points, *, keep_collinear, filter) -> Found:
    """The hull of a DeviceArray. Points in several chunks: the hull of all is the hull of the chunks' hulls."""
    return hull_begun(points, keep_collinear=keep_collinear, filter=filter)()


def hull_begun(points, *, keep_collinear, filter):
    """Enqueue the first launches of `hull_of`; return a function without parameters that returns its result."""
    if points.n == 0:
        nothing = Found(np.empty(0, np.int64), -1, corners=np.empty((0, 2), points.dtype))
        return lambda: nothing
    if points.chunks[0].count > MOST_ITEMS:
        raise DeviceLimit(f"convex_hull takes up to 2**31 points of a pyopencl.array.Array. Got {points.n:,} instead.")
    if len(points.chunks) > 1:
        return functools.partial(_hull_of_chunks, points, keep_collinear=keep_collinear, filter=filter)
    begun = None
    if filter != "octagon":
        begun = begun_hull(points, keep_collinear=keep_collinear, sieve=filter == "auto")
    return lambda: _finished_hull(points, begun, keep_collinear=keep_collinear, filter=filter)


def _finished_hull(points, begun, *, keep_collinear, filter):
    if begun is None:
        survivors = filter_points(points, caller="convex_hull")
        ids, n = None, points.n
        if survivors.scattered is not None:
            ids, n = survivors.scattered[survivors.indices], survivors.n
    else:
        found = begun()
        if found.nonfinite:
            refuse_nonfinite(points, caller="convex_hull")
        if found.vertices is not None:
            return Found(found.vertices, found.dimension, found.corners)
        ids, n = found.ids, found.n
        if filter == "none":
            require_finite(points, caller="convex_hull")
    return _merged_hull(points, ids, n, keep_collinear=keep_collinear)


def _merged_hull(points, ids, n, *, keep_collinear):
    """The hull of `n` points of a DeviceArray (those of `ids`, or all), by sorting and merging hoods of blocks."""
    session, picked, bound = points.session, None, {}
    if ids is not None:
        picked = Scratch("survivors", np.uint32, n)
        bound = {picked.name: ids}
    ordered, order, rows = lexsort(points, picked, n, outer=not keep_collinear, **bound)

    def make():
        plan, hoods = hoods_plan(session, rows, n, points.dtype, keep_collinear=keep_collinear)
        emission, *found = emit_plan(session.profile, hoods, n, order)
        return (plan + emission).kept(), *found

    key = "merged hull", points.dtype, n, order, rows, keep_collinear
    plan, vertices, shape = session.cached(key, make, policies=True)
    merged = run(session, plan, **{s.name: ordered[s] for s in (order, rows)})
    count, dimension, _, _ = merged.read(shape).tolist()
    return Found(VerticesOnDevice(points, merged[vertices], count), dimension)


def _hull_of_stream(session, points, options, progress):
    """The hull of points on the host, piece by piece; None when the hulls of pieces are not smaller than the pieces."""
    stream, nbytes = pieces_of(session, points), 2 * points.itemsize
    with contextlib.closing(_hulls_of_pieces(stream, options)) as parts:
        union, found = Union(session, options, stream.most), 0
        for piece, vertices, corners in parts:
            found += len(vertices)
            if 2 * found > piece.end and not is_mapped(points):
                return None
            union.add(piece.numbers(vertices), corners)
            if progress is not None:
                progress(piece.end * nbytes, points.nbytes)
    return union.hull()


def _hulls_of_pieces(stream, options):
    """Yield each piece with the vertices of its hull and their coordinates."""
    for piece, array in stream:
        try:
            vertices, corners = hull_of(array, **options).read()
        except DeviceLimit:
            del array
            if not stream.smaller(piece):
                raise
            continue
        yield piece, vertices, corners


class Union:
    """The vertices of hulls of parts of all points. Where these need more memory, their own hull replaces them.

    Parts must come in the order of the points, so that of equal points the lowest number stays.
    """

    def __init__(self, session, options, most_bytes, meter=None):
        self.session, self.options, self.meter = session, options, meter
        self.ids, self.corners, self.nbytes, self.most = [], [], 0, most_bytes

    def add(self, ids, corners):
        if len(ids) == 0:
            return
        self.ids.append(ids)
        self.corners.append(corners)
        self._count(ids.nbytes + corners.nbytes)
        if self.nbytes > self.most:
            found = self.hull()
            ids, corners = found.vertices, found.corners
            self._count(ids.nbytes + corners.nbytes - self.nbytes)
            self.ids, self.corners = [ids], [corners]
            self.most = max(self.most, 2 * self.nbytes)

    def _count(self, nbytes):
        self.nbytes += nbytes
        if self.meter is not None:
            self.meter.add(nbytes)

    def hull(self) -> Found:
        if not self.ids:
            return Found(np.empty(0, np.int64), -1, corners=np.empty((0, 2)))
        try:
            return self._hull_of(slice(None))
        except DeviceLimit:  # once more, with less memory: in two halves
            self.session.pool.free_held()
            half = (len(self.ids) + 1) // 2
            parts = [self._hull_of(part).read() for part in (slice(half), slice(half, None)) if self.ids[part]]
            return _hull_of_hulls(self.session, *zip(*parts), self.options)

    def _hull_of(self, part):
        return _hull_of_hulls(self.session, self.ids[part], self.corners[part], self.options)


def _hull_at_once(points, options, session):
    """The session, the points on its device, and their hull."""
    array = as_device_points(session, loaded(session, points), caller="convex_hull")
    return session, array, hull_of(array, **options)


def _hull_of_devices(sessions, points, options, progress):
    """The hull of points on the host: that of the hulls of pieces, for which several devices work."""

    def work(session, start, stop):
        with contextlib.closing(_hulls_of_pieces(pieces_of(session, points, start, stop), options)) as parts:
            return [(piece.numbers(vertices), corners) for piece, vertices, corners in parts]

    tell = None if progress is None else lambda done, n: progress(done * 2 * points.itemsize, n * 2 * points.itemsize)
    kind = f"convex_hull {points.dtype}"
    parts = itertools.chain.from_iterable(
        spread(sessions, len(points), work, kind=kind, least=LEAST_OF_DEVICES, tell=tell)
    )
    ids, corners = zip(*parts)
    return by_first_able(sessions, lambda session: _hull_of_hulls(session, ids, corners, options))


def _hull_of_parts(parts, device, nonfinite, options, profile, progress) -> Hull:
    """The hull of arrays on devices, one after another: that of their hulls, each found where the array is."""
    if device is not None:
        raise wrong("device", "convex_hull", "left out for arrays that are on devices", short(device))
    if nonfinite != "raise":
        raise wrong("nonfinite", "convex_hull", "'raise' for several arrays on devices", short(nonfinite))
    firsts = np.append(0, np.cumsum([len(part) for part in parts])).tolist()
    tasks = [(session_of(part, None), (part, first)) for part, first in zip(parts, firsts)]
    wide = {np.dtype(part.dtype) for part in parts}
    if len(wide) > 1:
        raise wrong("points", "convex_hull", "arrays of one type", ", ".join(sorted(map(str, wide))))

    def begin(session, part_and_first):
        part, first = part_and_first
        array = replace(as_device_points(session, part, caller="convex_hull"), first=first)
        begun = hull_begun(array, **options)

        def finish():
            vertices, corners = begun().read()
            return first + vertices, corners

        return finish

    with recording(profile) as phases:
        ids, corners = zip(*in_turn(tasks, begin, sizes=[part.nbytes for part in parts], tell=progress))
        sessions = list(dict.fromkeys(session for session, _ in tasks))
        found = by_first_able(sessions, lambda session: _hull_of_hulls(session, ids, corners, options))
    vertices, corners = found.read()
    return Hull(vertices, corners, found.dimension, firsts[-1], tuple(phases), tasks[0][0])


def _hull_of_given_chunks(chunks, session, nonfinite, options, profile, progress, antimeridian) -> Hull:
    """The result of `convex_hull` for chunks."""
    if antimeridian:
        chunks.require_reiterable("with antimeridian=True", caller="convex_hull")
    stream, longitudes = PointStream(chunks, "convex_hull", nonfinite), None
    meter, most = stream.meter, piece_bytes(chunks)
    session.pool.free_held()
    union = Union(session, options, most, meter)
    with recording(profile) as phases:
        pieces = OnDevice(session, stream.pieces(), most)
        with contextlib.closing(_hulls_of_pieces(pieces, options)) as parts:
            for piece, vertices, corners in parts:
                union.add(piece.numbers(vertices), corners)
                if longitudes is None and (antimeridian or stream.crs_found is not None):
                    turn = checked_turn(stream.crs_found, antimeridian, caller="convex_hull")
                    longitudes = Longitudes(turn) if turn is not None else False
                if longitudes:
                    longitudes.add(piece.rows[:, 0])
                meter.see(session)
                if progress is not None:
                    progress(piece.end * 2 * piece.rows.itemsize, chunks.nbytes)
        found = union.hull()
    meter.see(session)
    vertices, corners = found.read()
    corners = corners.astype(stream.dtype, copy=False)
    hull = Hull(
        vertices, corners, found.dimension, stream.n, tuple(phases), session, crs=stream.crs_found, peak=meter.peak()
    )
    if not longitudes:
        return hull

    def again():
        return (canonical_points(as_given(chunk, caller="convex_hull"), caller="convex_hull") for chunk in chunks)

    alike = functools.partial(convex_hull, collinear="keep" if options["keep_collinear"] else "drop", device=session)
    how = {"wanted": antimeridian, "caller": "convex_hull", "keep_collinear": options["keep_collinear"]}
    return over_antimeridian(hull, again, longitudes.turn, alike, **how, longitudes=longitudes)


def _hull_of_chunks(points, **options):
    parts = [hull_of(part, **options) for part in points.split()]
    read = [part.read() for part in parts]
    ids = [chunk.start + vertices for chunk, (vertices, _) in zip(points.chunks, read)]
    count = sum(map(len, ids))
    if count == points.n:
        raise DeviceLimit(
            f"convex_hull found {count:,} vertices so far, {points.nbytes:,} bytes, and one allocation of "
            f"{points.session.profile.name} holds {points.session.profile.max_alloc_bytes:,}."
        )
    return _hull_of_hulls(points.session, ids, [corners for _, corners in read], options)


def _hull_of_hulls(session, ids, corners, options):
    """The hull of all points from the vertices of their parts' hulls: indices and coordinates, part by part."""
    ids, union = np.concatenate(ids), to_device(session, np.concatenate(corners), caller="convex_hull")
    refuse_flushed(union, caller="convex_hull", name="points")
    whole = hull_of(union, **options)
    vertices, corners = whole.read()
    return Found(ids[vertices], whole.dimension, corners)
