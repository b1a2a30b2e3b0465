"""`ConvexHull` with the attributes and behaviour of SciPy's, for points in the plane, exactly."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clgeom.arguments import boolean, finite, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import listed
from clgeom.errors import InvalidInput, short
from clgeom.hull.convex import convex_hull
from clgeom.hull.predicates import orient2d
from clgeom.intake.arrays import as_point_array, canonical_points
from clgeom.intake.device_arrays import is_device_array, on_host
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.typing import AnyArray, DeviceLike, NDArray

#: Options of Qhull that change nothing here: triangulated facets, no warnings, and joggled input, which Qhull needs
#: where points are nearly on one line.
WITHOUT_EFFECT = ("Qt", "Pp", "QJ")

QHULL_ERROR = """No hull with an area, or no incremental hull: an InvalidInput that scipy.spatial.QhullError catches.

Examples
--------
>>> import clgeom
>>> try:
...     clgeom.ConvexHull([(0, 0), (1, 1), (2, 2)])
... except clgeom.QhullError as error:
...     print(isinstance(error, clgeom.ClgeomError))
True
"""

if TYPE_CHECKING:

    class QhullError(InvalidInput, RuntimeError):
        """Error for points without a hull of positive area, or a hull that is not incremental. See `qhull_error`."""

    from clgeom.hull.result import Hull
    from clgeom.intake.typing import HostOrDevice

else:

    def __getattr__(name: str) -> type:
        if name == "QhullError":
            return qhull_error()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def qhull_error() -> type[Exception]:
    """Return the class QhullError: an InvalidInput that is SciPy's QhullError, too, or a RuntimeError without SciPy."""
    try:
        from scipy.spatial import QhullError as base
    except ImportError:
        base = RuntimeError
    return type("QhullError", (InvalidInput, base), {"__doc__": QHULL_ERROR, "__module__": __name__})


@keeps_subnormals
class ConvexHull:
    """Convex hull of points in the plane, exactly, with the attributes of ``scipy.spatial.ConvexHull``.

    Parameters
    ----------
    points : array_like or pyopencl.array.Array, shape (npoints, 2)
        float32, float64, int32, or what fits one of them. At least three, not all on one line. The two columns of a
        frame are taken in their order, whatever their names.
    incremental : bool
        Allow `add_points`.
    qhull_options : str, optional
        Options of Qhull, separated by blanks. "Qt", "Pp" and "QJ" are taken and change nothing: no facet needs them.
        "Qc": fill `coplanar`. "QGn": leave out point n, and say in `good` which edges it sees; "QG-n": which it does
        not.
    device : str, pyopencl.Device or Session, optional
        As everywhere in clgeom.

    Attributes
    ----------
    points : ndarray of float64, shape (npoints, 2)
    vertices : ndarray of int32, shape (nsimplex,)
        Indices of the corners, counter-clockwise from the lexicographically smallest; of equal points the lowest index.
    simplices : ndarray of int32, shape (nsimplex, 2)
        Edges, counter-clockwise: edge i is from ``vertices[i]`` to ``vertices[i + 1]``, the last one back to the first.
        With "QGn" in another order, by which SciPy's users know `good`: by the later of an edge's two points, as adding
        the points one after another would make the edges.
    neighbors : ndarray of int32, shape (nsimplex, 2)
        ``neighbors[i, k]`` is the edge that shares with edge i the end that is not ``simplices[i, k]``.
    equations : ndarray of float64, shape (nsimplex, 3)
        (nx, ny, offset) of each edge: its unit normal, outward, and ``nx * x + ny * y + offset == 0`` on its line. Not
        above 0 inside, but for rounding.
    area, volume : float
        In the plane: length of the boundary, and area. Both are correctly rounded, but a volume that would round to 0
        is the smallest subnormal number.
    min_bound, max_bound : ndarray of float64, shape (2,)
    coplanar : ndarray of int32, shape (ncoplanar, 3)
        With "Qc" the points on edges that are no vertices, of equal points the lowest index: point, edge, nearest
        vertex. Empty without, as with SciPy's default options.
    good : ndarray of bool, shape (nsimplex,), or None
        With "QGn" whether each edge is seen from point n, which is strictly outside it; with "QG-n" whether it is not.
        None without.
    ndim, npoints, nsimplex : int

    Raises
    ------
    QhullError
        For fewer than three points, or points on one line, not counting a point n of "QGn"; and where there is no such
        point. It is an `InvalidInput`, and so a ``ValueError``; and it
        is a ``scipy.spatial.QhullError`` where SciPy is installed, and so a ``RuntimeError``.
    InvalidInput
        For another shape, a table of more than two columns, an unsupported type, a masked array, NaN or infinity, other
        options of Qhull.

    See Also
    --------
    convex_hull : The function for new code.
    scipy.spatial.ConvexHull : The class that this one replaces in the plane.

    Notes
    -----
    Differences from SciPy. Vertices begin at the lexicographically smallest point, and edges follow them, each
    counter-clockwise; SciPy begins anywhere, and orders edges as Qhull made them. Orientation is exact: a point that
    Qhull's tolerance merges into an edge is a vertex here if it is outside by however little, and points that are
    nearly, but not exactly, on one line have a hull. Nothing is ever joggled. Indices are int64 from 2**31 points on.

    Examples
    --------
    >>> import clgeom
    >>> hull = clgeom.ConvexHull([(0, 0), (2, 0), (1, 1), (2, 2), (0, 2)])
    >>> hull.vertices.tolist(), hull.volume, hull.area
    ([0, 1, 3, 4], 4.0, 8.0)
    """

    ndim: int = 2

    @takes_cuda
    def __init__(
        self,
        points: AnyArray,
        incremental: bool = False,
        qhull_options: str | None = None,
        *,
        device: DeviceLike = None,
    ) -> None:
        self._options = _options(qhull_options)
        points = _checked(points, caller="ConvexHull")
        self._device, self._incremental = device, boolean(incremental, "incremental", caller="ConvexHull")
        converted = not is_device_array(points) and points.dtype != np.float64  # which SciPy copies
        self._start([_copied(points) if self._incremental or converted else points])

    def add_points(self, points: AnyArray, restart: bool = False) -> None:
        """Add points to the hull; needs ``incremental=True``.

        Parameters
        ----------
        points : array_like, shape (n, 2)
        restart : bool
            Compute the hull of all points again, not that of the old vertices and the new points. The result is the
            same.

        Raises
        ------
        QhullError
            When the hull is not incremental, or closed.
        InvalidInput
            As for the class. The hull then stays as it was.
        """
        if not self._incremental:
            raise qhull_error()("add_points needs a ConvexHull with incremental=True that is not closed.")
        points = _copied(_checked(points, caller="ConvexHull.add_points"))
        if boolean(restart, "restart", caller="add_points"):
            self._start([*self._parts, points], caller="ConvexHull.add_points")
        elif len(points):
            # Old vertices come first: of equal points the lowest index stays. A point left out is among the old ones.
            union = np.concatenate([self._corners, points])
            hull = _hull(union, self._device, caller="ConvexHull.add_points", given=points)
            fresh = np.arange(self.npoints, self.npoints + len(points))
            ids = np.concatenate([self.vertices.astype(np.int64), fresh])
            self._update([*self._parts, points], hull, ids[hull.vertices])

    def close(self) -> None:
        """End incremental mode; the hull stays as it is."""
        self._incremental = False

    def __getstate__(self) -> dict[str, Any]:  # a session cannot be pickled: it belongs to its process
        return {**self.__dict__, "_device": None, "_parts": [self._collected()]}

    def __repr__(self) -> str:
        return f"ConvexHull({self.nsimplex} vertices of {self.npoints} points, volume {self.volume:.6g})"

    # State ------------------------------------------------------------------------------------------------------

    def _start(self, parts: list[HostOrDevice], caller: str = "ConvexHull") -> None:
        whole = parts[0] if len(parts) == 1 else np.concatenate([on_host(part) for part in parts])
        used, out = whole, self._options.seen_from
        if out is not None:
            if out >= len(whole):
                raise qhull_error()(
                    f"The 'qhull_options' parameter of ConvexHull names point {out} in 'QG', and there are "
                    f"{len(whole)}."
                )
            whole = on_host(whole)
            used = np.delete(whole, out, axis=0)
            finite(on_host(parts[-1]), "points", caller=caller)
        hull = _hull(used, self._device, caller=caller, given=parts[-1])
        if hull.dimension < 2:
            what = "points" if len(used) < 3 else ("equal points", "points on one line")[hull.dimension]
            raise qhull_error()(
                f"The 'points' parameter of {caller} must be at least three points, not all on one line. "
                f"Got {len(used)} {what} instead."
            )
        vertices = hull.vertices
        if out is not None:
            vertices = vertices + (vertices >= out)
        self._update([whole], hull, vertices)

    def _update(self, parts: list[HostOrDevice], hull: Hull, vertices: np.ndarray) -> None:
        self._parts, self._hull, self._corners = parts, hull, hull.points
        self.npoints: int = sum(map(len, parts))
        self.vertices: NDArray[Any] = vertices.astype(np.int32 if self.npoints < 1 << 31 else np.int64)
        for derived in "points simplices neighbors equations coplanar good _edges min_bound max_bound".split():
            self.__dict__.pop(derived, None)

    # Attributes, computed at the first access ----------------------------------------------------------------------

    @functools.cached_property
    def points(self) -> NDArray[Any]:
        return self._collected().astype(np.float64, copy=False)

    def _collected(self) -> np.ndarray:
        """Return all points on the host, in their original type, in which the device computes."""
        if len(self._parts) > 1:
            self._parts = [np.concatenate([on_host(part) for part in self._parts])]
        return on_host(self._parts[0])

    @property
    def nsimplex(self) -> int:
        return len(self.vertices)

    @property
    def area(self) -> float:
        return self._hull.perimeter

    @property
    def volume(self) -> float:
        return self._hull.area

    @functools.cached_property
    def _edges(self) -> np.ndarray:
        """Which edge of the boundary, counter-clockwise, each simplex is."""
        if self._options.seen_from is None:
            return np.arange(self.nsimplex)
        return np.argsort(np.maximum(self.vertices, np.roll(self.vertices, -1)), kind="stable")

    @functools.cached_property
    def simplices(self) -> NDArray[Any]:
        return np.asarray(np.stack([self.vertices, np.roll(self.vertices, -1)], axis=1)[self._edges])

    @functools.cached_property
    def neighbors(self) -> NDArray[Any]:
        simplex = self._simplex_of_edges().astype(self.vertices.dtype)
        return np.asarray(np.stack([np.roll(simplex, -1), np.roll(simplex, 1)], axis=1)[self._edges])

    def _simplex_of_edges(self) -> np.ndarray:
        """Return the simplex that each edge of the boundary is, the inverse of `_edges`."""
        return np.argsort(self._edges)

    @functools.cached_property
    def equations(self) -> NDArray[Any]:
        return np.asarray(edge_equations(self._corners)[self._edges])

    @functools.cached_property
    def good(self) -> NDArray[Any] | None:
        if self._options.seen_from is None:
            return None
        point = np.broadcast_to(self._collected()[self._options.seen_from], self._corners.shape)
        ends = np.roll(self._corners, -1, axis=0)
        seen = orient2d(self._corners, ends, np.ascontiguousarray(point), device=self._device) < 0
        return np.asarray((seen == self._options.seen)[self._edges])

    @functools.cached_property
    def coplanar(self) -> NDArray[Any]:
        if not self._options.coplanar:
            return np.empty((0, 3), np.int32)
        points, out = self._collected(), self._options.seen_from
        kept = np.arange(len(points)) if out is None else np.delete(np.arange(len(points)), out)
        around = kept[convex_hull(points[kept], collinear="keep", device=self._device).vertices]
        is_vertex = np.isin(around, self.vertices)
        at = np.cumsum(is_vertex) - 1  # the edge that each is on, of those in order around the boundary
        ends = np.stack([around[is_vertex], np.roll(around[is_vertex], -1)], axis=1)[at]
        away = np.hypot(*np.moveaxis(points[ends].astype(np.float64) - points[around, None], 2, 0))
        nearest = np.take_along_axis(ends, away.argmin(axis=1)[:, None], axis=1)[:, 0]
        rows = np.stack([around, self._simplex_of_edges()[at], nearest], axis=1)[~is_vertex]
        return rows[np.argsort(rows[:, 0])].astype(self.vertices.dtype)

    @functools.cached_property
    def min_bound(self) -> NDArray[Any]:
        return np.asarray(self._bounds().min(axis=0), np.float64)

    @functools.cached_property
    def max_bound(self) -> NDArray[Any]:
        return np.asarray(self._bounds().max(axis=0), np.float64)

    def _bounds(self) -> np.ndarray:
        """Return the vertices, and the point that was left out."""
        out = self._options.seen_from
        return self._corners if out is None else np.concatenate([self._corners, self._collected()[[out]]])


def edge_equations(corners: np.ndarray) -> np.ndarray:
    """Outward unit normals and offsets of a counter-clockwise polygon's edges, to a few ulps, shape (h, 3)."""
    a = corners.astype(np.float64)
    b = np.roll(a, -1, axis=0)
    with np.errstate(over="ignore"):
        along = b - a
        wide = np.isinf(along)  # the difference of two of the largest numbers
        along = np.where(wide, b / 2 - a / 2, along)
    significand, exponent = np.frexp(along)
    exponent += wide
    exponent = np.where(significand == 0, np.iinfo(np.int32).min // 2, exponent)
    along = np.ldexp(significand, np.maximum(exponent - exponent.max(axis=1, keepdims=True), -2000))
    normal = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.hypot(along[:, :1], along[:, 1:])
    with np.errstate(over="ignore"):
        offset = -(normal * a).sum(axis=1, keepdims=True)
    return np.concatenate([normal, offset], axis=1) + 0.0  # no negative zeros


# Options of Qhull ------------------------------------------------------------------------------------------------


class Options(NamedTuple):
    """The requests of Qhull options: `coplanar`; what point `seen_from` sees, or does not see if `seen` is false."""

    coplanar: bool = False
    seen_from: int | None = None
    seen: bool = True


def _options(text: object) -> Options:
    """Return the options of SciPy's `qhull_options`; `InvalidInput` for one that would change the result."""
    if isinstance(text, bytes):
        text = text.decode("latin1")
    words = [short(text)] if text is not None and not isinstance(text, str) else (text or "").split()
    found = Options()
    for word in words:
        asked = re.fullmatch(r"QG(-?)(\d+)", word)
        if asked:
            found = found._replace(seen_from=int(asked[2]), seen=not asked[1])
        elif word == "Qc":
            found = found._replace(coplanar=True)
        elif word not in WITHOUT_EFFECT:
            raise wrong("qhull_options", "ConvexHull", "None or some of Qt, Pp, QJ, Qc and QGn", short(text))
    return found


# Points in, errors out -------------------------------------------------------------------------------------------


def _checked(points: Any, *, caller: str) -> HostOrDevice:
    """Return the points of the right shape and type; a device array as it is."""
    if np.ma.isMaskedArray(points):  # as SciPy has it: indices would not be those of the points
        raise InvalidInput(
            f"The 'points' parameter of {caller} must not be a masked array. Take masked points out first."
        )
    names = _column_names(points)
    if len(names) > 2:
        raise wrong(
            "points",
            caller,
            "two columns, since each column is a dimension, as in SciPy",
            f"columns {listed(names)}",
            verb="have",
            hint="Select two, or use clgeom.convex_hull, which picks x and y by name.",
        )
    if is_device_array(points) and points.ndim:  # any other shape is refused when they are read
        return points
    return canonical_points(as_point_array(points, caller=caller, in_order=True), caller=caller)


def _column_names(points: Any) -> Sequence[str]:
    """Return the names of a table's columns or a structured array's fields; none for other inputs."""
    if isinstance(points, np.ndarray):
        return points.dtype.names or ()
    if getattr(points, "active_geometry_name", None) is not None:  # a GeoDataFrame: its geometries are the points
        return ()
    names = getattr(points, "column_names", None)  # of PyArrow, whose `columns` are arrays
    return [*map(str, getattr(points, "columns", ()) if names is None else names)]


def _copied(points: HostOrDevice) -> np.ndarray:
    """Return the points copied to the host, so that the caller may change the original before the next `add_points`."""
    return np.array(on_host(points))


def _hull(points: HostOrDevice, device: DeviceLike, *, caller: str, given: HostOrDevice) -> Hull:
    """Return the hull of the points, of which the caller gave the last ones: errors speak of these."""
    try:
        return convex_hull(points, device=device)
    except InvalidInput:
        finite(canonical_points(on_host(given), caller=caller), "points", caller=caller)
        raise
