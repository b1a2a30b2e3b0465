"""The possible positions of a receiver that receives several transmitters: the intersection of their regions.

There are three ways, for comparison: with the regions, with their convex hulls, and with the masks, cell by cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clgeom.arguments import one_of, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.geo.geodesy import same_crs, shown
from clgeom.geo.geojson import polygons_of
from clgeom.intake.interop.objects import values_of
from clgeom.intake.typing import FloatLike
from clgeom.optional import require_shapely
from clgeom.region.coverage.grid import as_grid
from clgeom.region.coverage.outlines import mask_polygons

METHODS = ("regions", "hulls")


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Location:
    """The possible positions of a receiver.

    Parameters
    ----------
    shape : shapely geometry
        Polygon or MultiPolygon; an empty Polygon when there is no position.
    area : float
    centroid : tuple of 2 floats, or None
        The centre of gravity, which need not be inside the shape.
    point : tuple of 2 floats, or None
        A point inside the shape.

    Examples
    --------
    >>> from clgeom import convex_hull, localize
    >>> west, east = ([(x, 0), (x + 2, 0), (x + 2, 2), (x, 2)] for x in (0, 1))
    >>> place = localize([convex_hull(west), convex_hull(east)])
    >>> place
    Location(area 2 in 1 part, centroid (1.5, 1))
    >>> place.distance((1.5, 4))
    3.0
    """

    shape: Any
    area: float
    centroid: tuple[float, float] | None
    point: tuple[float, float] | None

    def __repr__(self) -> str:
        if not self:
            return "Location(nowhere)"
        count = len(self.parts)
        x, y = self.centroid or (math.nan, math.nan)
        return f"Location(area {self.area:.6g} in {count} part{'s' * (count > 1)}, centroid ({x:.6g}, {y:.6g}))"

    def __bool__(self) -> bool:
        """Return whether there is a possible position."""
        return self.centroid is not None

    @property
    def parts(self) -> list[Any]:
        """The connected parts as Shapely polygons, the largest first."""
        shapes = [part for part in getattr(self.shape, "geoms", [self.shape]) if not part.is_empty]
        return sorted(shapes, key=lambda part: -part.area)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        return dict(require_shapely().geometry.mapping(self.shape))

    def distance(self, position: Sequence[FloatLike]) -> float:
        """Return the distance of the centroid from a position.

        Parameters
        ----------
        position : (float, float)
            In the coordinates of the regions.

        Returns
        -------
        float
            NaN for an empty shape.

        Raises
        ------
        IndexError, TypeError
            The position is no pair of numbers.
        """
        if self.centroid is None:
            return math.nan
        return float(np.hypot(position[0] - self.centroid[0], position[1] - self.centroid[1]))


@keeps_subnormals
def localize(regions: Iterable[Any], *, method: Literal["regions", "hulls"] = "regions") -> Location:
    """Return the intersection of two or more regions: the possible positions of a receiver in all of them.

    Parameters
    ----------
    regions : sequence
        CoverageRegion, Region, Hull, a Shapely geometry or anything with ``__geo_interface__``, all in one coordinate
        system. A sequence of these stands for their union: the parts of one transmitter's coverage.
    method : {"regions", "hulls"}
        "hulls" intersects their convex hulls instead. The result has fewer vertices and is never smaller.

    Returns
    -------
    Location
        With area, centroid and a point inside. It is empty where regions share only lines or points.

    Raises
    ------
    InvalidInput
        Fewer than two regions, or different coordinate reference systems; None counts as a system of its own.

    See Also
    --------
    raster_regions : Regions to localize with.
    clgeom.radio.locate_by_beacon : Positions from a moving beacon.

    Notes
    -----
    The intersection contains every cell that all masks have in common, since each region contains its mask.

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> left, right = np.array([[9, 9, 0]]), np.array([[0, 9, 9]])
    >>> regions = [clgeom.raster_regions(raster, 5)[0] for raster in (left, right)]
    >>> place = clgeom.localize(regions)
    >>> place.area, place.centroid
    (1.0, (1.5, 0.5))
    """
    one_of(method, METHODS, "method", caller="localize")
    shapely = require_shapely()
    regions = list(regions) if np.iterable(regions) else [regions]
    if len(regions) < 2:
        raise wrong("regions", "localize", "two regions or more", len(regions))
    systems: list[Any] = []
    for crs in (crs for one in regions for crs in _systems(one)):
        if not any(same_crs(crs, other) for other in systems):
            systems.append(crs)
    if len(systems) > 1:
        raise wrong("regions", "localize", "in one coordinate reference system", " and ".join(map(shown, systems)))
    shapes = [_as_shape(one, shapely) for one in regions]
    if method == "hulls":
        shapes = [shape.convex_hull for shape in shapes]
    return _located(shapely.intersection_all(shapes))


@keeps_subnormals
def localize_masks(masks: Any, *, transform: Any = None) -> Location:
    """Return the cells that all masks have in common: the exact result, for comparison with `localize`.

    Parameters
    ----------
    masks : array_like of bool, shape (maps, rows, columns), two maps or more
    transform : optional
        As for `coverage_regions`.

    Returns
    -------
    Location
        In the coordinates of the transform; in columns and rows without one.

    Raises
    ------
    InvalidInput
        Masks of another type or shape, or fewer than two; a transform without an inverse; or Shapely is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from clgeom.region.localize import localize_masks
    >>> localize_masks(np.array([[[True, True, False]], [[False, True, True]]]))
    Location(area 1 in 1 part, centroid (1.5, 0.5))
    """
    masks = np.asarray(values_of(masks, caller="localize_masks", name="masks"))
    if masks.ndim != 3 or len(masks) < 2 or masks.dtype != bool:
        expected = "bool of shape (maps, rows, columns), two maps or more"
        raise wrong("masks", "localize_masks", expected, f"{masks.dtype} of shape {masks.shape}")
    grid = as_grid(transform, None, masks.shape[1:], caller="localize_masks")
    shapely = require_shapely()
    common = np.logical_and.reduce(masks)
    return _located(shapely.transform(mask_polygons(common), grid.to_map))


def _systems(region: Any) -> list[Any]:
    """Return the systems of what has one, None for regions of a raster without."""
    if hasattr(region, "grid") and not hasattr(region, "given"):
        return [region.grid.crs]
    if isinstance(region, (list, tuple)) or hasattr(region, "given"):
        return [crs for one in region for crs in _systems(one)]
    crs = getattr(region, "crs", None)
    return [] if crs is None else [crs]


def _as_shape(region: Any, shapely: Any) -> Any:
    if hasattr(region, "geom_type"):
        return region
    if hasattr(region, "to_shapely"):
        made = region.to_shapely()
        return shapely.union_all(made) if isinstance(made, np.ndarray) else made
    if hasattr(region, "__geo_interface__"):
        return shapely.geometry.shape(region.__geo_interface__)
    if not np.iterable(region) or isinstance(region, str):
        raise wrong("regions", "localize", "regions or geometries", type(region).__name__)
    return shapely.union_all([_as_shape(one, shapely) for one in region])


def _located(shape: Any) -> Location:
    shape = polygons_of(shape)
    if shape.is_empty:
        return Location(require_shapely().geometry.Polygon(), 0.0, None, None)
    inside = shape.representative_point()
    return Location(shape, shape.area, (shape.centroid.x, shape.centroid.y), (inside.x, inside.y))
