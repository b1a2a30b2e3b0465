"""Adaptive regions as values: chains, polygons, measures, membership, exchange with other packages."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.device import Session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import counted
from clgeom.core.plan import Phase
from clgeom.errors import InvalidInput, is_number, short
from clgeom.exchange import Exchange
from clgeom.geo.geodesy import axes_of_crs
from clgeom.hull.measures import polygon_area
from clgeom.intake.arrays import canonical_queries, rows_at
from clgeom.intake.chunks import Peak
from clgeom.intake.interop.columns import column_of_counts
from clgeom.intake.typing import ArrayLike, NDArray
from clgeom.markup import card, rings_svg
from clgeom.optional import require_shapely
from clgeom.region.arc.chain_geometry import is_between, parts_between, simplify_chain
from clgeom.region.arc.chains import Chains

#: Most vertices of a region whose repr shows the area.
SHOWN = 100_000


@keeps_subnormals
class PointRegion(Exchange):
    """Base of regions of points: their polygons, and exchange with other packages."""

    n: int | None
    phases: tuple[Phase, ...]
    crs: Any = None
    if TYPE_CHECKING:  # attributes or properties of subclasses

        @property
        def parts(self) -> tuple[NDArray[Any], ...]: ...
        @property
        def segments(self) -> Any: ...
        @property
        def area(self) -> float: ...

    @property
    def rings(self) -> list[NDArray[Any]]:
        """The parts that are polygons."""
        return [part for part in self.parts if len(part) > 2]

    def _columns(self) -> dict[str, Any]:
        return {
            "points": column_of_counts(self.n),
            "segments": np.array([np.sum(self.segments)]),
            "area": np.array([self.area]),
        }

    @abstractmethod
    def contains(self, points: ArrayLike) -> Any:
        """Return whether points are in the region or on its boundary, exactly.

        Parameters
        ----------
        points : array_like, shape (m, 2) or (2,)

        Returns
        -------
        ndarray of bool, shape (m,), or one bool for a single point

        Raises
        ------
        InvalidInput
            For points of another shape or type, or with a NaN or infinity.
        """

    @abstractmethod
    def simplify(self, tolerance: float) -> Any:
        """Return a region of fewer vertices that covers this one.

        Parameters
        ----------
        tolerance : float
            The largest distance between the new and the old boundary along y (along x for axis="y"); for a CrossRegion
            that of each of its two regions.

        Returns
        -------
        Region or CrossRegion
            A vertex is removed only where the boundary moves outward, decided exactly. So the new region contains the
            old one.

        Raises
        ------
        InvalidInput
            For a tolerance that is negative or no number.
        """

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the region with Matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot's by default.
        **options
            points : the points of the region, to be drawn, too; title : str; colour : color of the outline; label : its
            name in a legend; axes : the names of both axes.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.

        Raises
        ------
        InvalidInput
            Matplotlib is not installed; or Shapely, for a CrossRegion.
        """
        from clgeom.plotting.hulls import plot_region

        return plot_region(self.parts, ax=ax, count=self.n, **{"axes": axes_of_crs(self.crs)} | options)


@keeps_subnormals
class Region(PointRegion):
    """A region between a lower and an upper chain.

    Parameters
    ----------
    lower, upper : ndarray, shape (l, 2) and (u, 2)
        The chains from left to right, of strictly ascending x, over the same range of x; nowhere is the lower above
        the upper one. With axis="y" they are the left and the right chain, from bottom to top.
    segments : int
        Number of segments that hold points.
    n : int, optional
        Number of points that the region was made from.
    axis : {"x", "y"}
        The axis along which the region is monotone.
    phases : tuple of Phase
    session : Session, optional
        The device for signs that float64 arithmetic on the host cannot decide.
    crs : optional
        Coordinate reference system, if the points came with one.

    Attributes
    ----------
    peak : Peak or None
        The most memory that was taken at a time, where the points came in chunks.

    Notes
    -----
    Where the chains meet at a vertex, the region is one point wide; where they coincide, it is a segment.

    Examples
    --------
    >>> import clgeom
    >>> region = clgeom.adaptive_region([(0, 0), (1, 2), (2, 0), (3, 2), (4, 0)], 3)
    >>> region.lower.tolist(), region.upper.tolist()
    ([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]], [[0.0, 0.0], [1.0, 2.0], [3.0, 2.0], [4.0, 0.0]])
    >>> region.area, region.bounds
    (6.0, (0.0, 0.0, 4.0, 2.0))
    """

    segments: int
    peak: Peak | None = None
    _unread: Chains

    def __init__(
        self,
        lower: Any,
        upper: Any,
        *,
        segments: int,
        n: int | None = None,
        axis: str = "x",
        phases: Iterable[Phase] = (),
        session: Session | None = None,
        crs: Any = None,
    ) -> None:
        self._chains = (lower, upper)
        self.segments, self.n, self.axis = int(segments), n, axis
        self.phases, self._session, self.crs = tuple(phases), session, crs

    @classmethod
    def of_chains(cls, chains: Chains, **facts: Any) -> Region:
        """Return the only region of `chains`, which are read at the first use; `facts` are keywords of `Region`."""
        region = cls(None, None, segments=chains.head.effective[0], **facts)
        region._unread = chains
        return region

    def _both(self) -> tuple[Any, Any]:
        """Return the chains as they were computed: monotone along their first coordinate."""
        if self._chains[0] is None:
            self._chains = self._unread[0]
        return self._chains

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the coordinates."""
        dtype: np.dtype[Any] = self._both()[0].dtype
        return dtype

    @property
    def lower(self) -> NDArray[Any]:
        """The lower chain, from left to right (axis="y": the left one, from bottom to top); shape (l, 2)."""
        chain: NDArray[Any] = self._turned(self._both()[0])
        return chain

    @property
    def upper(self) -> NDArray[Any]:
        """The upper chain, from left to right (axis="y": the right one, from bottom to top); shape (u, 2)."""
        chain: NDArray[Any] = self._turned(self._both()[1])
        return chain

    def _turned(self, points: Any) -> Any:
        return points if self.axis == "x" else points[..., ::-1]

    def __len__(self) -> int:
        """Return the number of distinct vertices: one at which the chains meet counts once."""
        lower, upper = self._both()
        if not len(lower):
            return 0
        at = np.minimum(np.searchsorted(lower[:, 0], upper[:, 0]), len(lower) - 1)
        return len(lower) + len(upper) - int(np.count_nonzero((rows_at(lower, at) == upper).all(axis=1)))

    def __bool__(self) -> bool:
        """Return whether there is a vertex."""
        return len(self._both()[0]) > 0

    def __repr__(self) -> str:
        source = f" of {self.n:,} {self.dtype} points" if self.n is not None else f" of {self.dtype}"
        words = f"{counted(len(self), 'vertex', 'vertices')} in {counted(self.segments, 'segment', 'segments')}{source}"
        if len(self) > SHOWN:
            return f"Region({words})"
        kinds = [min(len(part), 3) for part in self.parts]
        named = ((3, "polygon"), (2, "segment"), (1, "point"))
        shape = ", ".join(f"{kinds.count(k)} {w}{'s' * (kinds.count(k) > 1)}" for k, w in named if k in kinds)
        return f"Region({shape or 'empty'}: {words}, area {self.area:.6g})"

    def _repr_html_(self) -> str:
        facts = [("points", "not counted" if self.n is None else f"{self.n:,}"), ("type", self.dtype)]
        facts += [("segments", f"{self.segments:,}"), ("vertices", f"{len(self):,}")]
        if len(self) <= SHOWN:
            facts += [("parts", f"{len(self.parts):,}"), ("area", f"{self.area:.6g}")]
        # both chains as one ring: where they meet or run together, it has no inside
        return card("Region", facts, rings_svg([np.concatenate([self.lower, self.upper[::-1]])], label="the region"))

    def __getstate__(self) -> dict[str, Any]:  # a session lives in its own process
        self._both()
        return {k: v for k, v in self.__dict__.items() if k not in ("_session", "_unread")} | {"_session": None}

    # Shape ------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def parts(self) -> tuple[NDArray[Any], ...]:
        """The parts of the region along its axis: arrays of shape (m, 2).

        A polygon is a ring of at least 3 vertices, counter-clockwise, not closed. A segment has its 2 ends, a point 1
        vertex.
        """
        found = [self._turned(part) for part in parts_between(*self._both(), self._session)]
        if self.axis == "x":
            return tuple(found)
        # swapping the axes reverses the orientation: turn rings round, from the same vertex
        return tuple(np.concatenate([part[:1], part[:0:-1]]) if len(part) > 2 else part for part in found)

    @property
    def polygon(self) -> NDArray[Any]:
        """The only polygon; InvalidInput unless there is exactly one part. See `parts`."""
        if len(self.parts) != 1 or len(self.parts[0]) < 3:
            raise InvalidInput(f"This region is not one polygon but has {len(self.parts)} parts: see Region.parts.")
        return self.parts[0]

    @functools.cached_property
    def area(self) -> float:
        """The area of the region, correctly rounded to float64."""
        lower, upper = self._both()
        return polygon_area(np.concatenate([lower, upper[::-1]])) if len(lower) else 0.0

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Least x, least y, greatest x, greatest y; NaN without points."""
        both = np.concatenate([self.lower, self.upper]).astype(np.float64)
        if not len(both):
            return (math.nan,) * 4
        return (*both.min(axis=0).tolist(), *both.max(axis=0).tolist())

    def contains(self, points: ArrayLike) -> Any:
        queries, single = canonical_queries(points, caller="Region.contains")
        dtype = np.result_type(queries, self.dtype)
        lower, upper = (chain.astype(dtype, copy=False) for chain in self._both())
        inside = is_between(self._turned(queries.astype(dtype, copy=False)), lower, upper, self._session)
        return bool(inside[0]) if single else inside

    def simplify(self, tolerance: float) -> Region:
        tolerance = checked_tolerance(tolerance, caller="Region.simplify")
        lower, upper = self._both()
        return type(self)(
            simplify_chain(lower, -1, tolerance),
            simplify_chain(upper, 1, tolerance),
            segments=self.segments,
            n=self.n,
            axis=self.axis,
            phases=self.phases,
            session=self._session,
            crs=self.crs,
        )

    # Exchange ---------------------------------------------------------------------------------------------------

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """GeoJSON-like geometry: Polygon, MultiPolygon, or what parts of lower dimension need."""
        shapes = [_geometry(part) for part in self.parts]
        if len(shapes) == 1:
            return shapes[0]
        if shapes and all(shape["type"] == "Polygon" for shape in shapes):
            return {"type": "MultiPolygon", "coordinates": tuple(shape["coordinates"] for shape in shapes)}
        return {"type": "GeometryCollection", "geometries": shapes}

    def to_shapely(self) -> Any:
        return require_shapely().geometry.shape(self.__geo_interface__)


@keeps_subnormals
class CrossRegion(PointRegion):
    """The intersection of a region along x and a region along y: axis="both".

    Parameters
    ----------
    x, y : Region

    Notes
    -----
    Membership is exact. Parts and area are those of Shapely's intersection of the two, whose new vertices are rounded
    to the nearest float64.

    Examples
    --------
    >>> import clgeom
    >>> region = clgeom.adaptive_region([(0, 0), (1, 0), (2, 1), (2, 2)], 2, axis="both")
    >>> region.area, region.segments
    (1.5, (2, 2))
    """

    axis = "both"

    def __init__(self, x: Region, y: Region) -> None:
        self.x, self.y, self.n, self.phases, self.crs = x, y, x.n, x.phases + y.phases, x.crs
        self.peak = x.peak

    @property
    def segments(self) -> tuple[int, int]:
        """Number of segments that hold points, along x and along y."""
        return self.x.segments, self.y.segments

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the coordinates."""
        return self.x.dtype

    def __len__(self) -> int:
        """Return the number of distinct vertices of its parts."""
        return len(np.unique(np.concatenate([np.empty((0, 2)), *self.parts]), axis=0))

    def __bool__(self) -> bool:
        """Return whether there are points."""
        return bool(self.x)

    def __repr__(self) -> str:
        return f"CrossRegion(x: {self.x!r}, y: {self.y!r})"

    @functools.cached_property
    def _shape(self) -> Any:
        shapes = self.x.to_shapely(), self.y.to_shapely()
        try:
            return shapes[0].intersection(shapes[1])
        except require_shapely().errors.GEOSException as error:
            raise InvalidInput(f"GEOS cannot intersect regions of coordinates as large as these: {error}") from error

    def to_shapely(self) -> Any:
        return self._shape

    @property
    def parts(self) -> tuple[NDArray[Any], ...]:
        """Polygons as rings of vertices, counter-clockwise, not closed; segments; points. float64."""
        shapely = require_shapely()
        found = []
        for shape in getattr(self._shape, "geoms", [self._shape]):
            if shape.geom_type == "Polygon" and not shape.is_empty:
                found.append(np.array(shapely.geometry.polygon.orient(shape).exterior.coords)[:-1])
            elif not shape.is_empty:
                found.append(np.array(shape.coords))
        return tuple(found)

    @property
    def area(self) -> float:
        """The area of the region."""
        return float(self._shape.area)

    def contains(self, points: ArrayLike) -> Any:
        return self.x.contains(points) & self.y.contains(points)

    def simplify(self, tolerance: float) -> CrossRegion:
        return CrossRegion(self.x.simplify(tolerance), self.y.simplify(tolerance))

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        return dict(require_shapely().geometry.mapping(self._shape))


def _geometry(part: np.ndarray) -> dict[str, Any]:
    points = tuple(map(tuple, part.tolist()))
    if len(points) == 1:
        return {"type": "Point", "coordinates": points[0]}
    if len(points) == 2:
        return {"type": "LineString", "coordinates": points}
    return {"type": "Polygon", "coordinates": ((*points, points[0]),)}


def checked_tolerance(tolerance: Any, *, caller: str) -> Any:
    if not (is_number(tolerance) and tolerance >= 0):
        raise wrong("tolerance", caller, "a number of at least 0", short(tolerance))
    return tolerance
