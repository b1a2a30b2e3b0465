"""Methods that measure hulls: diameter, width, least rectangle, extent; of one hull, or of many as arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from clgeom.arguments import one_of
from clgeom.core.device import as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.hull.batch.calipers import best_calipers
from clgeom.hull.shapes import HullDiameter, HullRectangle, HullWidth
from clgeom.intake.device_arrays import on_host
from clgeom.intake.typing import NDArray

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.hull.calipers import Purpose

#: What a rectangle has the least of.
By: TypeAlias = Literal["area", "perimeter"]
Shape = TypeVar("Shape", HullDiameter, HullWidth, HullRectangle)
#: Columns of `Polygons.calipers`.
EDGE, ACROSS = 0, 2


@dataclass(frozen=True)
class Polygons:
    """Convex polygons ``corners[offsets[i] : offsets[i + 1]]``, with the numbers of their corners as points."""

    corners: NDArray[Any]
    vertices: NDArray[Any]
    offsets: NDArray[Any]
    session: Session | None

    def calipers(self, purpose: Purpose) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the best calipers as numbers of corners, and the ends of their edges; and the calipers' numbers."""
        counts, first = np.diff(self.offsets), self.offsets[:-1, None]
        found = best_calipers(as_session(self.session), self.corners, self.offsets, purpose)
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


def _first(shape: Shape) -> Shape:
    """Return the only row of a measure; Python numbers for single ones."""
    rows = [getattr(shape, field.name)[0] for field in fields(shape)]
    return type(shape)(*(row if row.ndim else row.item() for row in rows))


@keeps_subnormals
class Measures:
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


@keeps_subnormals
class BatchMeasures:
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
