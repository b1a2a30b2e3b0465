"""Measures of hulls as values: the diameter, the width, rectangles, circles; of one hull, or of many as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.arguments import integer
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.intake.typing import NDArray
from clgeom.optional import require_shapely


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class HullDiameter:
    """The largest distance of two points of a hull; arrays with a row for each hull in a batch.

    Parameters
    ----------
    length : float or ndarray of float64, shape (m,)
        The distance, correctly rounded.
    ends : ndarray of int64, shape (2,) or (m, 2)
        Indices of the two points among those given; -1 without points. Of equal pairs the one that is first among the
        hull's vertices.
    points : ndarray of float64, shape (2, 2) or (m, 2, 2)
        Their coordinates; NaN without points.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.convex_hull([(0, 0), (3, 4), (2, 3)]).diameter().points.tolist()
    [[0.0, 0.0], [3.0, 4.0]]
    """

    length: Any
    ends: NDArray[np.int64]
    points: NDArray[np.float64]

    def to_shapely(self) -> Any:
        """Return the line between both ends, or an array of lines.

        Returns
        -------
        shapely.Geometry or ndarray of shapely.Geometry
            A LineString, a Point where both ends are the same, or an empty GeometryCollection.

        Raises
        ------
        InvalidInput
            Shapely is not installed.
        """
        return _lines(self.points)


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class HullWidth:
    """The least distance of two parallel lines that enclose a hull; arrays with a row for each hull in a batch.

    Parameters
    ----------
    length : float or ndarray of float64, shape (m,)
        The distance, correctly rounded.
    edge : ndarray of int64, shape (2,) or (m, 2)
        Indices of the ends of the edge on one line; the first of equal ones. -1 without points.
    vertex : int or ndarray of int64, shape (m,)
        Index of the vertex on the other line; the first of several.

    Examples
    --------
    >>> import clgeom
    >>> across = clgeom.convex_hull([(0, 0), (4, 0), (2, 3)]).width()
    >>> across.length, across.edge.tolist(), across.vertex
    (3.0, [0, 1], 2)
    """

    length: Any
    edge: NDArray[np.int64]
    vertex: Any


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class HullRectangle:
    """The least rectangle around a hull; arrays with a row for each hull in a batch.

    Parameters
    ----------
    corners : ndarray of float64, shape (4, 2) or (m, 4, 2)
        Counter-clockwise, the first two on the line of `edge`; each coordinate correctly rounded. NaN without points.
    area, perimeter : float or ndarray of float64, shape (m,)
        Of the exact rectangle, correctly rounded.
    length, height : float or ndarray of float64, shape (m,)
        Its sides along the edge and across, correctly rounded.
    edge : ndarray of int64, shape (2,) or (m, 2)
        Indices of the ends of the hull's edge on its first side; of equal rectangles the first one. -1 without points.

    Examples
    --------
    >>> import clgeom
    >>> box = clgeom.convex_hull([(0, 0), (4, 0), (4, 3)]).min_rectangle("perimeter")
    >>> box.perimeter, box.corners.tolist()
    (14.0, [[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0]])
    """

    corners: NDArray[np.float64]
    area: Any
    perimeter: Any
    length: Any
    height: Any
    edge: NDArray[np.int64]

    def to_shapely(self) -> Any:
        """Return the rectangle, or an array of rectangles.

        Returns
        -------
        shapely.Geometry or ndarray of shapely.Geometry
            A Polygon; a LineString, a Point or an empty GeometryCollection for a hull of a lower dimension.

        Raises
        ------
        InvalidInput
            Shapely is not installed, or a corner lies beyond the range of float64.
        """
        corners, flat = self.corners.reshape(-1, 4, 2), np.ravel(self.height) == 0
        shapes = np.atleast_1d(_lines(corners[:, [0, 2]]))
        shapes[~flat] = _polygons(corners[~flat])
        return shapes if self.corners.ndim == 3 else shapes[0]


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class HullCircle:
    """The least circle around a hull; arrays with a row for each hull in a batch.

    Parameters
    ----------
    center : ndarray of float64, shape (2,) or (m, 2)
        Each coordinate is correctly rounded; NaN without points.
    radius : float or ndarray of float64, shape (m,)
        Of the exact circle, correctly rounded.
    support : ndarray of int64, shape (3,) or (m, 3)
        Indices of the two ends of a diameter and -1, or of three points on the circle, whose triangle is acute: the
        first pair, otherwise the first triple. One index and -1 for a single point, -1 without points.

    Examples
    --------
    >>> import clgeom
    >>> circle = clgeom.convex_hull([(0, 0), (4, 0), (4, 3)]).min_circle()
    >>> circle.center.tolist(), circle.radius, circle.support.tolist()
    ([2.0, 1.5], 2.5, [0, 2, -1])
    """

    center: NDArray[np.float64]
    radius: Any
    support: NDArray[np.int64]

    def to_shapely(self, quad_segs: int = 16) -> Any:
        """Return a polygon with its vertices on the circle, or an array of polygons.

        Parameters
        ----------
        quad_segs : int
            Segments of a quarter of the circle.

        Returns
        -------
        shapely.Geometry or ndarray of shapely.Geometry
            A Polygon; a Point for radius 0 or one that rounding loses, an empty GeometryCollection without points.

        Raises
        ------
        InvalidInput
            `quad_segs` is not 1 or more, Shapely is not installed, or a circle reaches beyond the range of float64.
        """
        shapely, segments = require_shapely(), integer(quad_segs, "quad_segs", caller="to_shapely")
        centers, radii = self.center.reshape(-1, 2), np.ravel(self.radius)
        shapes = np.atleast_1d(_lines(np.stack([centers, centers], axis=1)))
        unit = shapely.get_coordinates(shapely.Point(0, 0).buffer(1, quad_segs=segments))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            rings = centers[:, None] + radii[:, None, None] * unit
        wide = (radii > 0) & (rings != centers[:, None]).any(axis=(1, 2))
        shapes[wide] = _polygons(rings[wide])
        return shapes if self.center.ndim == 2 else shapes[0]


def _polygons(rings: np.ndarray) -> Any:
    if not np.isfinite(rings).all():
        raise InvalidInput("A circle or rectangle that reaches beyond the range of float64 has no geometry.")
    return require_shapely().polygons(rings)


def _lines(ends: np.ndarray) -> Any:
    """Return segments as Shapely geometries."""
    shapely = require_shapely()
    pairs = ends.reshape(-1, 2, 2)
    shapes = np.full(len(pairs), shapely.GeometryCollection(), object)
    present = ~np.isnan(pairs).any(axis=(1, 2))
    same = present & (pairs[:, 0] == pairs[:, 1]).all(axis=1)
    shapes[present] = shapely.linestrings(pairs[present])
    shapes[same] = shapely.points(pairs[same, 0])
    return shapes if ends.ndim == 3 else shapes[0]
