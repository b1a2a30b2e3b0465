"""The convex hull as a value: vertices, measures, membership, exchange with other packages."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.device import Session, as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import copy, finish, read, run
from clgeom.core.plan import Phase, Scratch
from clgeom.errors import InvalidInput, short
from clgeom.geo.geodesy import axes_of_crs
from clgeom.geo.longitudes import Across
from clgeom.hull import two_hulls
from clgeom.hull.batch.membership import contains
from clgeom.hull.measured import Geometry, Measures, columns_of
from clgeom.hull.measures import polygon_area, polygon_perimeter
from clgeom.intake.arrays import canonical_points, canonical_queries
from clgeom.intake.chunks import Peak
from clgeom.intake.device_arrays import new_array, to_array
from clgeom.intake.typing import ArrayLike, CLArray, NDArray
from clgeom.markup import card, rings_svg
from clgeom.optional import require_shapely
from clgeom.primitives.gather import gather_plan

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.intake.arrays import DeviceArray
    from clgeom.io.atomic import NewFile

#: Hulls of more vertices do not measure their area and perimeter for a notebook.
MEASURED = 100_000


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Hull(Measures):
    """The convex hull of `n` points.

    Parameters
    ----------
    vertices : ndarray of int64, shape (h,)
        Indices into the points given, counter-clockwise, from the lexicographically smallest. For dimension 1 from
        one end of the segment to the other.
    points : ndarray, shape (h, 2)
        Coordinates of the vertices, in the type the hull was computed in.
    dimension : int
        -1 for no points, 0 when all are equal, 1 when all are on a line, else 2.
    n : int
        Number of points given.
    phases : tuple of Phase
        What each launch on the device was and took. None for few points that the host takes, but with `profile`.
    crs : object or None
        Coordinate reference system, where the points came with one.
    peak : Peak or None
        The most memory that was taken at a time, where the points came in chunks.
    across : Across or None
        How longitudes become continuous, for a hull across the antimeridian; `points` are as given. Area, perimeter,
        membership and pictures are those of continuous longitudes; the geometry is cut at 180 degrees (RFC 7946).
    session : Session or None
        Where the hull was computed; `contains` runs there.
    measures : tuple of str
        The measures that tables have columns of; see `with_measures`.
    geometry : str or None
        The measure whose geometries tables have in place of hulls.

    Examples
    --------
    >>> import clgeom
    >>> hull = clgeom.convex_hull([(0, 0), (4, 0), (2, 1), (4, 3)])
    >>> hull
    Hull(a polygon: 3 vertices of 4 float64 points, area 6)
    >>> hull.vertices.tolist(), hull.area, hull.perimeter
    ([0, 1, 3], 6.0, 12.0)
    >>> hull.contains([(3, 1), (0, 3)]).tolist()
    [True, False]
    """

    vertices: NDArray[np.int64]
    points: NDArray[Any]
    dimension: int
    n: int
    phases: tuple[Phase, ...] = ()
    session: Session | None = None
    crs: Any = None
    peak: Peak | None = None
    across: Across | None = None
    measures: tuple[str, ...] = ()
    geometry: Geometry | None = None

    def __repr__(self) -> str:
        kind = ("no points", "one point", "a segment", "a polygon")[self.dimension + 1]
        area = f", area {self.area:.6g}" if self.dimension == 2 else ""
        return f"Hull({kind}: {len(self)} vertices of {self.n} {self.points.dtype} points{area})"

    def _repr_html_(self) -> str:
        facts = [
            ("points", f"{self.n:,}"),
            ("type", self.points.dtype),
            ("dimension", self.dimension),
            ("vertices", f"{len(self):,}"),
        ]
        if len(self) <= MEASURED:
            facts += [("area", f"{self.area:.6g}"), ("perimeter", f"{self.perimeter:.6g}")]
        return card("Hull", facts, rings_svg([self.corners], filled=self.dimension == 2, label="the hull"))

    def __getstate__(self) -> dict[str, Any]:  # a session lives in its own process
        return {**self.__dict__, "session": None}

    def __len__(self) -> int:
        return len(self.vertices)

    @functools.cached_property
    def area(self) -> float:
        """The area, correctly rounded to float64: infinite beyond its range, 0.0 only below dimension 2.

        An area that would round to 0 is the smallest subnormal number.
        """
        if self.across is not None:
            return self.across.area(self.points) if self.dimension == 2 else 0.0
        return polygon_area(self.points) if self.dimension == 2 else 0.0

    @functools.cached_property
    def perimeter(self) -> float:
        """The length of the boundary, correctly rounded to float64; a segment counts twice."""
        if self.dimension < 1:
            return 0.0
        return polygon_perimeter(self.corners[[0, -1]] if self.dimension == 1 else self.corners)

    def contains(self, points: ArrayLike) -> Any:
        """Return whether points are inside the hull or on its boundary, exactly.

        Parameters
        ----------
        points : array_like, shape (m, 2) or (2,)
            For a hull across the antimeridian, longitudes and latitudes in any turn: exact but for the rounding of
            longitudes that are moved by a turn.

        Returns
        -------
        ndarray of bool, shape (m,), or one bool for a single point

        Raises
        ------
        InvalidInput
            For points of another shape or type, or with a NaN or infinity.
        """
        queries, single = canonical_queries(points, caller="Hull.contains")
        if self.across is not None:
            queries = self.across.continuous(queries)
        dtype = np.result_type(queries, self.corners)
        corners, points = self.corners.astype(dtype, copy=False), queries.astype(dtype, copy=False)
        inside = contains(self.session, corners, np.array([0, len(corners)]), points, None)
        return bool(inside[0]) if single else inside

    def distance(self, other: Hull) -> float:
        """Return the least distance between a point of this hull and one of another, correctly rounded.

        Parameters
        ----------
        other : Hull

        Returns
        -------
        float
            0.0 exactly if the hulls have a point in common; NaN if one of them has no points.

        Raises
        ------
        InvalidInput
            `other` is no hull, or one of both lies across the antimeridian.

        Examples
        --------
        >>> import clgeom
        >>> square, far = (clgeom.convex_hull([(x, 0), (x + 1, 0), (x, 1), (x + 1, 1)]) for x in (0, 4))
        >>> square.distance(far), square.distance(square)
        (3.0, 0.0)
        """
        corners = self._both(other, "distance")
        return two_hulls.distance(*corners) if all(map(len, corners)) else float("nan")

    def intersection(self, other: Hull) -> NDArray[np.float64]:
        """Return the corners of what this hull and another have in common.

        Parameters
        ----------
        other : Hull

        Returns
        -------
        ndarray of float64, shape (k, 2)
            Counter-clockwise from the least, each number correctly rounded. Two are a segment, one is a point; none if
            the hulls have no point in common. Which corners there are is decided exactly; those that round to the same
            point are one.

        Raises
        ------
        InvalidInput
            As in `distance`.

        Notes
        -----
        In rational numbers on the host, and slower than libraries that compute in floats.

        Examples
        --------
        >>> import clgeom
        >>> square = clgeom.convex_hull([(0, 0), (2, 0), (0, 2), (2, 2)])
        >>> square.intersection(clgeom.convex_hull([(1, 1), (3, 1), (1, 3)])).tolist()
        [[1.0, 1.0], [2.0, 1.0], [2.0, 2.0], [1.0, 2.0]]
        """
        corners = self._both(other, "intersection")
        return two_hulls.intersection(*corners) if all(map(len, corners)) else np.empty((0, 2))

    def _both(self, other: Hull, caller: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the corners of both hulls."""
        if not isinstance(other, Hull):
            raise wrong("other", caller, "a Hull", short(other))
        if self.across is not None or other.across is not None:
            raise InvalidInput(f"{caller} compares hulls in the plane, and one of both lies across the antimeridian.")
        return self.corners, other.corners

    def on_device(self) -> tuple[CLArray, CLArray]:
        """Return the vertices on the hull's device.

        Returns
        -------
        vertices : pyopencl.array.Array of uint32, shape (h,)
        points : pyopencl.array.Array, shape (h, 2)
        """
        session = as_session(self.session)
        return to_array(session, self.vertices.astype(np.uint32)), to_array(session, self.points)

    def plot(self, ax: Any = None, *, points: Any = None, **options: Any) -> Any:
        """Draw the hull with Matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot's by default.
        points : optional
            Points to be drawn, too, shape (n, 2).
        **options
            labels : a text for each vertex; title : str; axes : the names of both axes.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.

        Raises
        ------
        InvalidInput
            Matplotlib is not installed, or `points` is not of shape (n, 2).
        """
        from clgeom.plotting.hulls import plot_hull

        points = None if points is None else canonical_points(points, caller="plot")
        if self.across is not None and points is not None:
            points = self.across.continuous(points)
        style = {"filled": self.dimension == 2, "axes": axes_of_crs(self.crs), **options}
        return plot_hull(self.corners, ax=ax, count=self.n, points=points, **style)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """GeoJSON-like geometry: a Polygon (closed ring), LineString, Point, or empty GeometryCollection.

        A hull across the antimeridian is cut there: a MultiPolygon or a MultiLineString.
        """
        if self.across is not None:
            return self.across.cut_up(self.points, self.dimension)
        corners = [tuple(corner) for corner in self.points.tolist()]
        if self.dimension == 2:
            return {"type": "Polygon", "coordinates": ((*corners, corners[0]),)}
        if self.dimension == 1:
            return {"type": "LineString", "coordinates": tuple(corners)}
        if self.dimension == 0:
            return {"type": "Point", "coordinates": corners[0]}
        return {"type": "GeometryCollection", "geometries": []}

    def to_shapely(self) -> Any:
        """Return the hull as a Shapely geometry, of the types of ``__geo_interface__``.

        Returns
        -------
        shapely.Geometry
            A Polygon, LineString, Point, or empty GeometryCollection; of several parts where a hull is cut at 180
            degrees.

        Raises
        ------
        InvalidInput
            Shapely is not installed.
        """
        shapely, corners = require_shapely(), self.points.astype(np.float64)
        if self.across is not None:
            return shapely.geometry.shape(self.__geo_interface__)
        if self.dimension < 1:
            return shapely.Point(corners[0]) if self.dimension == 0 else shapely.GeometryCollection()
        return shapely.Polygon(corners) if self.dimension == 2 else shapely.LineString(corners)

    @property
    def corners(self) -> NDArray[Any]:
        """Coordinates of the vertices, shape (h, 2): `points`, or those with continuous longitudes (`across`)."""
        return self.points if self.across is None else self.across.continuous(self.points)

    def _columns(self) -> dict[str, np.ndarray]:
        numbers = {"points": self.n, "area": self.area, "perimeter": self.perimeter}
        return {name: np.array([number]) for name, number in numbers.items()} | self._measured()

    def _measured(self) -> dict[str, np.ndarray]:
        """Return the columns of `with_measures`."""
        return columns_of(self._polygons(), self.measures)

    @property
    def _more_formats(self) -> tuple[str, ...]:
        from clgeom.io.outputs import ARRAYS

        return ARRAYS

    def _write_text(self, file: NewFile, crs: Any) -> None:
        from clgeom.io.hulls import write_hull

        write_hull(self, file, crs=crs)


@keeps_subnormals
@dataclass(frozen=True)
class VerticesOnDevice:
    """Vertices of a hull in device memory: `count` ids of rows of `points`, a DeviceArray of one chunk."""

    points: DeviceArray
    ids: cl.Buffer
    count: int

    def __len__(self) -> int:
        return self.count

    def read(self) -> NDArray[Any]:
        return read(self.points.session, self.ids, np.uint32, self.count).astype(np.int64)

    def corners_of(self, buffer: cl.Buffer) -> NDArray[Any]:
        return read(self.points.session, buffer, self.points.dtype, 2 * self.count).reshape(-1, 2)

    def gather(self) -> cl.Buffer:
        """Return a buffer with the coordinates of the vertices."""
        ids, corners = (Scratch("ids", np.uint32, self.count), Scratch("corners", self.points.dtype, 2 * self.count))
        session = self.points.session
        plan = gather_plan(session.profile, self.points, "points", ids, self.count, corners)
        return run(session, plan, points=self.points, ids=self.ids)[corners]


@keeps_subnormals
class HullOnDevice(Hull):
    """A Hull of points on a device, whose vertices stay there until `vertices` or `points` is read.

    Their coordinates are gathered when the hull is made, since the caller may change the points later.
    """

    session: Session
    _found: VerticesOnDevice
    _corners: cl.Buffer

    def __init__(
        self, found: VerticesOnDevice, dimension: int, n: int, phases: tuple[Phase, ...], session: Session
    ) -> None:
        corners = found.gather()
        finish(session)
        self.__dict__.update(_found=found, _corners=corners, dimension=dimension, n=n, phases=phases, session=session)

    def __len__(self) -> int:
        return len(self._found)

    @functools.cached_property
    def vertices(self) -> NDArray[Any]:
        return self._found.read()

    @functools.cached_property
    def points(self) -> NDArray[Any]:
        return self._found.corners_of(self._corners)

    def on_device(self) -> tuple[CLArray, CLArray]:
        session, count, dtype = self.session, len(self), self._found.points.dtype
        vertices = new_array(session, (count,), np.uint32)
        points = new_array(session, (count, 2), dtype)
        for buffer, array in ((self._found.ids, vertices), (self._corners, points)):
            memory: Any = array.base_data
            copy(session, buffer, memory, array.nbytes)
        finish(session)
        return vertices, points

    def __reduce__(self) -> tuple[Any, ...]:
        return Hull, (self.vertices, self.points, self.dimension, self.n, self.phases, None, self.crs)
