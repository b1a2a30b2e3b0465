"""Methods that measure hulls: diameter, width, least rectangle, extent; of one hull, or of many as arrays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from clgeom.arguments import one_of, real, wrong
from clgeom.core.device import as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput, short
from clgeom.exchange import Exchange
from clgeom.hull.batch.calipers import Found, best_calipers
from clgeom.hull.measures import two_difference, two_product
from clgeom.hull.shapes import HullCircle, HullDiameter, HullRectangle, HullWidth
from clgeom.intake.device_arrays import on_host
from clgeom.intake.typing import ArrayLike, NDArray
from clgeom.optional import require_shapely

if TYPE_CHECKING:
    from typing_extensions import Self

    from clgeom.core.device import Session
    from clgeom.hull.calipers import Purpose

Measure: TypeAlias = Literal["diameter", "width", "rectangle", "circle"]
#: Measures that tables may have columns of.
MEASURES: tuple[Measure, ...] = "diameter", "width", "rectangle", "circle"
#: Measures with geometries.
Geometry: TypeAlias = Literal["diameter", "rectangle", "circle"]
GEOMETRIES: tuple[Geometry, ...] = "diameter", "rectangle", "circle"
#: What a rectangle has the least of.
By: TypeAlias = Literal["area", "perimeter"]
Shape = TypeVar("Shape", HullDiameter, HullWidth, HullRectangle, HullCircle)
#: Columns of `Polygons.calipers`.
EDGE, ACROSS = 0, 2


@dataclass(frozen=True)
class Polygons:
    """Convex polygons ``corners[offsets[i] : offsets[i + 1]]``, with the numbers of their corners as points."""

    corners: NDArray[Any]
    vertices: NDArray[Any]
    offsets: NDArray[Any]
    session: Session | None

    def best(self, purpose: Purpose) -> Found:
        return best_calipers(as_session(self.session), self.corners, self.offsets, purpose)

    def calipers(self, purpose: Purpose) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the best calipers as numbers of corners, and the ends of their edges; and the calipers' numbers."""
        counts, first = np.diff(self.offsets), self.offsets[:-1, None]
        found = self.best(purpose)
        edge, *others = found.calipers.T
        end = (edge + 1) % np.maximum(counts, 1)
        places = np.stack([edge, end, *others], axis=1) + first
        return np.where(counts[:, None] > 0, places, -1), found.numbers

    def floats(self, places: np.ndarray) -> NDArray[np.float64]:
        """Return coordinates of corners; NaN for number -1."""
        if not len(self.corners):
            return np.full((*places.shape, 2), np.nan)
        found: NDArray[np.float64] = self.corners[places].astype(np.float64) + 0.0  # no -0.0
        found[places < 0] = np.nan
        return found

    def points(self, places: np.ndarray) -> NDArray[np.int64]:
        """Return the numbers of corners as points; -1 for number -1."""
        return np.where(places < 0, -1, self.vertices[places] if len(self.vertices) else -1)


def diameters_of(polygons: Polygons) -> HullDiameter:
    places, numbers = polygons.calipers("diameter")
    ends = places[:, [EDGE, ACROSS]]
    return HullDiameter(numbers[:, 0], polygons.points(ends), polygons.floats(ends))


def widths_of(polygons: Polygons) -> HullWidth:
    places, numbers = polygons.calipers("width")
    points = polygons.points(places[:, : ACROSS + 1])
    return HullWidth(numbers[:, 0], points[:, :ACROSS], points[:, ACROSS])


def rectangles_of(polygons: Polygons, by: By) -> HullRectangle:
    one_of(by, ("area", "perimeter"), "by", caller="min_rectangle")
    places, numbers = polygons.calipers(by)
    corners = numbers[:, 4:].reshape(-1, 4, 2)
    single = np.diff(polygons.offsets) < 2
    corners[single] = polygons.floats(places[single, :1])
    area, perimeter, length, height = numbers[:, :4].T
    return HullRectangle(corners, area, perimeter, length, height, polygons.points(places[:, :ACROSS]))


def circles_of(polygons: Polygons) -> HullCircle:
    counts = np.diff(polygons.offsets)
    found = polygons.best("circle")
    places = np.where(found.calipers[:, :3] < 0, -1, found.calipers[:, :3] + polygons.offsets[:-1, None])
    places[counts < 2, 1:] = -1
    places[counts < 1] = -1
    center, single = found.numbers[:, :2].copy(), counts < 2
    center[single] = polygons.floats(places[single, 0])
    return HullCircle(center, found.numbers[:, 2], polygons.points(places))


def extents_of(polygons: Polygons, direction: ArrayLike) -> NDArray[np.float64]:
    """Return the length of each polygon along a direction; products and sums are pairs of floats.

    Places along the direction are relative to the first corner, so that a length is a sum of two that are not below 0.
    """
    try:
        given = np.asarray(direction)
    except ValueError:  # of lists of several lengths
        given = np.empty(0)
    along = np.array([real(one) for one in given]) if given.ndim == 1 else given
    if along.shape != (2,) or not np.isfinite(along).all() or not along.any():
        raise wrong("direction", "extent", "two finite numbers, not both 0", short(direction))
    along = np.ldexp(along, -int(np.frexp(np.abs(along).max())[1]))
    counts = np.diff(polygons.offsets)
    lengths, some = np.zeros(len(counts)), np.flatnonzero(counts)
    if not len(some):
        return lengths
    begins, owner = polygons.offsets[some], np.repeat(np.arange(len(some)), counts[some])
    corners = polygons.corners.astype(np.float64)
    scale = np.frexp(np.maximum.reduceat(np.abs(corners).max(axis=1), begins))[1]
    corners = np.ldexp(corners, -scale[owner, None])
    (x, y), (x_low, y_low) = (one.T for one in two_difference(corners, corners[begins][owner]))
    (left, left_low), (right, right_low) = two_product(x, along[0]), two_product(y, along[1])
    total, rest = two_difference(left, -right)
    total += rest + (left_low + right_low + (x_low * along[0] + y_low * along[1]))
    found = np.maximum.reduceat(total, begins) - np.minimum.reduceat(total, begins)
    with np.errstate(over="ignore", under="ignore"):
        lengths[some] = np.ldexp(found / np.sqrt(along @ along), scale)
    return lengths


def columns_of(polygons: Polygons, names: Iterable[str], taken: Container[str] = ()) -> dict[str, NDArray[np.float64]]:
    """Return columns of measures for tables; a name that is `taken` begins with "hull_"."""
    columns = dict[str, Any]()
    for name in names:
        if name == "rectangle":
            box = rectangles_of(polygons, "area")
            columns |= {f"rectangle_{field}": getattr(box, field) for field in ("area", "length", "height")}
        elif name == "circle":
            circle = circles_of(polygons)
            places = dict(zip(("circle_x", "circle_y"), circle.center.T))
            columns |= {**places, "circle_radius": circle.radius}
        else:
            columns[name] = (diameters_of if name == "diameter" else widths_of)(polygons).length
    return {f"hull_{name}" if name in taken else name: values for name, values in columns.items()}


def _first(shape: Shape) -> Shape:
    """Return the only row of a measure; Python numbers for single ones."""
    rows = [getattr(shape, field.name)[0] for field in fields(shape)]
    return type(shape)(*(row if row.ndim else row.item() for row in rows))


@keeps_subnormals
class _Tabled(Exchange):
    """Hulls whose tables and files have columns of measures, named `measures`, and may have the `geometry` of one."""

    measures: tuple[str, ...]
    geometry: Geometry | None

    def with_measures(self, *names: Measure, geometry: Geometry | None = None) -> Self:
        """Return the same with columns of measures in tables, features and files.

        Parameters
        ----------
        *names : {"diameter", "width", "rectangle", "circle"}
            "rectangle" has the columns `rectangle_area`, `rectangle_length` and `rectangle_height`, "circle" has
            `circle_x`, `circle_y` and `circle_radius`. A column begins with ``hull_`` if labels have its name.
        geometry : {"diameter", "rectangle", "circle"}, optional
            The geometries of tables, features and files, by their `to_shapely`, instead of the hulls; but files of
            vertices (.csv, .npy, .npz) have those of hulls. Hulls across the antimeridian have none.

        Returns
        -------
        Hull or HullBatch

        Raises
        ------
        InvalidInput
            For another name, or a geometry of a hull across the antimeridian.

        Examples
        --------
        >>> import clgeom
        >>> batch = clgeom.convex_hulls([(0, 0), (4, 0), (4, 3), (5, 5), (6, 5)], [0, 3, 5])
        >>> batch.with_measures("diameter").to_pandas()["diameter"].tolist()
        [5.0, 1.0]
        """
        for name in names:
            one_of(name, MEASURES, "names", caller="with_measures")
        if geometry is not None:
            one_of(geometry, GEOMETRIES, "geometry", caller="with_measures")
            if getattr(self, "across", None):
                raise InvalidInput(f"Hulls across the antimeridian have no {geometry} as a geometry, only its numbers.")
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, measures=names, geometry=geometry)
        return made

    @abstractmethod
    def _polygons(self) -> Polygons:
        """Return the hulls."""

    def _shapes(self) -> Any:
        return super()._shapes() if self.geometry is None else np.atleast_1d(self._measure().to_shapely())

    def _measure(self) -> HullDiameter | HullRectangle | HullCircle:
        """Return the measure whose geometries are those of tables."""
        polygons = self._polygons()
        if self.geometry == "rectangle":
            return rectangles_of(polygons, "area")
        return circles_of(polygons) if self.geometry == "circle" else diameters_of(polygons)

    def _mappings(self, hulls: Iterable[Any]) -> Iterator[dict[str, Any]]:
        """Yield GeoJSON-like geometries: those of the measure, or of the hulls themselves."""
        mapping = require_shapely().geometry.mapping if self.geometry else None
        return map(mapping, self._shapes()) if mapping else (hull.__geo_interface__ for hull in hulls)


@keeps_subnormals
class Measures(_Tabled):
    """Measures of a convex hull in the plane; of continuous longitudes in one across the antimeridian."""

    def _polygons(self: Any) -> Polygons:
        vertices = self.vertices
        return Polygons(self.corners, vertices, np.array([0, len(vertices)]), self.session)

    def diameter(self) -> HullDiameter:
        """Return the largest distance of two points, and both points.

        Returns
        -------
        HullDiameter
            With `length`, `ends` (indices of points) and `points`.

        Examples
        --------
        >>> import clgeom
        >>> farthest = clgeom.convex_hull([(0, 0), (4, 0), (4, 3), (0, 3)]).diameter()
        >>> farthest.length, farthest.ends.tolist()
        (5.0, [0, 2])
        """
        return _first(diameters_of(self._polygons()))

    def width(self) -> HullWidth:
        """Return the least distance of two parallel lines with all points between them.

        Returns
        -------
        HullWidth
            With `length`, and the `edge` and the `vertex` on the two lines.

        Examples
        --------
        >>> import clgeom
        >>> across = clgeom.convex_hull([(0, 0), (4, 0), (4, 3), (0, 3)]).width()
        >>> across.length, across.edge.tolist(), across.vertex
        (3.0, [0, 1], 2)
        """
        return _first(widths_of(self._polygons()))

    def min_rectangle(self, by: By = "area") -> HullRectangle:
        """Return the rectangle of the least area or perimeter around the hull, along one of its edges.

        Parameters
        ----------
        by : {"area", "perimeter"}
            What is least. Of equal rectangles, that of the first edge.

        Returns
        -------
        HullRectangle
            With `corners`, `area`, `perimeter`, `length`, `height` and `edge`.

        Raises
        ------
        InvalidInput
            For another value of `by`.

        Examples
        --------
        >>> import clgeom
        >>> box = clgeom.convex_hull([(1, 0), (3, 2), (2, 3), (0, 1)]).min_rectangle()
        >>> box.area, box.edge.tolist(), box.corners.tolist()
        (4.0, [3, 0], [[0.0, 1.0], [1.0, 0.0], [3.0, 2.0], [2.0, 3.0]])
        """
        return _first(rectangles_of(self._polygons(), by))

    def min_circle(self) -> HullCircle:
        """Return the least circle around the hull.

        Returns
        -------
        HullCircle
            With `center`, `radius` and `support` (indices of points on it).

        Examples
        --------
        >>> import clgeom
        >>> clgeom.convex_hull([(0, 0), (6, 0), (3, 9)]).min_circle().radius
        5.0
        """
        return _first(circles_of(self._polygons()))

    def extent(self, direction: ArrayLike) -> float:
        """Return the length of the hull along a direction: of its projection onto a line.

        Parameters
        ----------
        direction : array_like, shape (2,)
            Of any length but 0.

        Returns
        -------
        float
            Off by less than 2**-50 of itself and 2**-95 of the largest coordinate.

        Raises
        ------
        InvalidInput
            For a direction that is not two finite numbers, or both 0.

        Examples
        --------
        >>> import clgeom
        >>> clgeom.convex_hull([(0, 0), (6, 0), (3, 9)]).extent((0, 1))
        9.0
        """
        return float(extents_of(self._polygons(), direction)[0])


@keeps_subnormals
class BatchMeasures(_Tabled):
    """Measures of many convex hulls as arrays on the host, each row as that of the hull alone."""

    def _polygons(self: Any) -> Polygons:
        return Polygons(self.corners, on_host(self.vertices), on_host(self.offsets), self.session)

    def diameters(self) -> HullDiameter:
        """Return the `Hull.diameter` of each hull, as arrays.

        Returns
        -------
        HullDiameter
            With arrays `length`, `ends` and `points`.

        Examples
        --------
        >>> import clgeom
        >>> batch = clgeom.convex_hulls([(0, 0), (4, 0), (4, 3), (5, 5), (6, 5)], [0, 3, 5])
        >>> batch.diameters().length.tolist(), batch.diameters().ends.tolist()
        ([5.0, 1.0], [[0, 2], [3, 4]])
        """
        return diameters_of(self._polygons())

    def widths(self) -> HullWidth:
        """Return the `Hull.width` of each hull, as arrays.

        Returns
        -------
        HullWidth
            With arrays `length`, `edge` and `vertex`.

        Examples
        --------
        >>> import clgeom
        >>> batch = clgeom.convex_hulls([(0, 0), (4, 0), (4, 3), (5, 5), (6, 5)], [0, 3, 5])
        >>> batch.widths().length.tolist()
        [2.4, 0.0]
        """
        return widths_of(self._polygons())

    def min_rectangles(self, by: By = "area") -> HullRectangle:
        """Return the `Hull.min_rectangle` of each hull, as arrays.

        Parameters
        ----------
        by : {"area", "perimeter"}
            What is least. Of equal rectangles, that of the first edge.

        Returns
        -------
        HullRectangle
            With arrays `corners`, `area`, `perimeter`, `length`, `height` and `edge`.

        Raises
        ------
        InvalidInput
            For another value of `by`.

        Examples
        --------
        >>> import clgeom
        >>> batch = clgeom.convex_hulls([(0, 0), (4, 0), (4, 3), (5, 5), (6, 5)], [0, 3, 5])
        >>> batch.min_rectangles().area.tolist()
        [12.0, 0.0]
        """
        return rectangles_of(self._polygons(), by)

    def min_circles(self) -> HullCircle:
        """Return the `Hull.min_circle` of each hull, as arrays.

        Returns
        -------
        HullCircle
            With arrays `center`, `radius` and `support`.

        Examples
        --------
        >>> import clgeom
        >>> batch = clgeom.convex_hulls([(0, 0), (4, 0), (4, 3), (5, 5), (6, 5)], [0, 3, 5])
        >>> batch.min_circles().radius.tolist()
        [2.5, 0.5]
        """
        return circles_of(self._polygons())

    def extents(self, direction: ArrayLike) -> NDArray[np.float64]:
        """Return the `Hull.extent` of each hull, as an array.

        Parameters
        ----------
        direction : array_like, shape (2,)
            Of any length but 0.

        Returns
        -------
        ndarray of float64, shape (m,)

        Raises
        ------
        InvalidInput
            For a direction that is not two finite numbers, or both 0.

        Examples
        --------
        >>> import clgeom
        >>> batch = clgeom.convex_hulls([(0, 0), (4, 0), (4, 3), (5, 5), (6, 5)], [0, 3, 5])
        >>> batch.extents((0, 1)).tolist()
        [3.0, 0.0]
        """
        return extents_of(self._polygons(), direction)
