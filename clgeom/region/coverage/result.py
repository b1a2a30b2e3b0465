"""Coverage regions as values: polygons in map coordinates, areas, membership, exchange with other packages."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.arguments import boolean
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import counted
from clgeom.core.plan import Phase
from clgeom.errors import InvalidInput
from clgeom.geo.degrees import InDegrees, in_degrees
from clgeom.geo.geodesy import earth_areas, ragged_areas
from clgeom.geo.ragged import Ragged
from clgeom.intake.arrays import canonical_queries
from clgeom.intake.typing import ArrayLike, FloatLike, NDArray
from clgeom.optional import require_shapely
from clgeom.region.arc.result import CrossRegion, Region, checked_tolerance
from clgeom.region.coverage.chain_rings import ring_areas
from clgeom.region.coverage.drawn import MapRegion, MapRegions
from clgeom.region.coverage.grid import Grid
from clgeom.region.coverage.groups import Group, areas_between, exteriors, read_side_by_side
from clgeom.region.coverage.holes import Hole, is_strictly_inside, twice_area


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class CoverageRegion(MapRegion):
    """The region around the cells of a raster, or of one part of them, that reach a level.

    Parameters
    ----------
    outline : Region or CrossRegion
        The outline in columns and rows of the raster, exactly; rows count downwards.
    grid : Grid
    level : float
    direction : {">=", "<="}
    map, part : int
        Index of the map in its stack, and of the part in its map and level, from left to right.
    cells : int or None
        Number of its cells, or None if they were not counted.
    holes : tuple of Hole
        The holes that are cut out.

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> raster = np.array([[0, 5, 5], [0, 5, 0], [0, 0, 0]])
    >>> region = clgeom.raster_regions(raster, 5)[0]
    >>> region.cells, region.area, region.exterior.tolist()
    (3, 3.5, [[1.0, 0.0], [3.0, 0.0], [3.0, 1.0], [2.0, 2.0], [1.0, 2.0]])
    >>> region.contains([(1.5, 0.5), (0.5, 2.5)]).tolist()
    [True, False]
    """

    outline: Region | CrossRegion
    grid: Grid
    level: float
    direction: str
    map: int = 0
    part: int = 0
    cells: int | None = None
    holes: tuple[Hole, ...] = ()

    def __repr__(self) -> str:
        where = f"map {self.map}, part {self.part}: " if self.map or self.part else ""
        holes = f", {len(self.holes)} hole{'s' * (len(self.holes) > 1)}" if self.holes else ""
        if not self:
            return f"CoverageRegion({where}empty, {self.direction} {self.level:g})"
        segments = counted(self.segments, "segment", "segments") if self.axis == "x" else ""
        if self.axis == "both":
            segments = "{} x {} segments".format(*np.atleast_1d(self.outline.segments))
        return (
            f"CoverageRegion({where}{self.direction} {self.level:g}, {counted(len(self), 'vertex', 'vertices')} in "
            f"{segments}{holes}, area {self.area:.6g})"
        )

    def __len__(self) -> int:
        """Return the number of vertices of the outline: of all `rings`, without holes."""
        return sum(map(len, self.rings))

    def __bool__(self) -> bool:
        """Return whether anything is covered."""
        return bool(self.outline)

    @property
    def axis(self) -> str:
        """The axis along which segments are cut: "x" (columns) or "both"."""
        return self.outline.axis

    @property
    def segments(self) -> int:
        """Number of segments that hold cells; the sum over both axes with axis="both"."""
        return int(np.sum(self.outline.segments))

    @functools.cached_property
    def hole_rings(self) -> tuple[tuple[NDArray[Any], ...], ...]:
        """The boundary of each hole in columns and rows: its outer ring, then rings of islands that stay covered."""
        return tuple(hole.rings() for hole in self.holes)

    @functools.cached_property
    def rings(self) -> tuple[NDArray[Any], ...]:
        """The outline in map coordinates: rings of shape (m, 2), float64, counter-clockwise, not closed.

        There is one ring, except for an empty region, and for a region in several pieces with axis="both".
        """
        made = [self.grid.to_map(ring) for ring in self.outline.rings] if self else []
        turned = self.grid.determinant < 0
        return tuple(np.concatenate([ring[:1], ring[:0:-1]]) if turned else ring for ring in made)

    @property
    def exterior(self) -> NDArray[Any]:
        """The only ring of `rings`; no vertices for an empty region, InvalidInput for one in several pieces."""
        if len(self.rings) > 1:
            raise InvalidInput(f"This region is in {len(self.rings)} pieces: see CoverageRegion.rings.")
        return self.rings[0] if self.rings else np.empty((0, 2))

    @functools.cached_property
    def area(self) -> float:
        """The area in the square of the map's unit, holes left out."""
        open_cells = sum(twice_area(ring) for rings in self.hole_rings for ring in rings) / 2
        return (self.outline.area - open_cells) * self.grid.cell_area

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Least x, least y, greatest x, greatest y; NaN where nothing is covered."""
        if not self:
            return (math.nan,) * 4
        corners = np.concatenate(self.rings)
        return (*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist())

    def contains(self, points: ArrayLike) -> Any:
        """Return whether points, in map coordinates, are in the region or on its boundary.

        Exact without a transform; with one, up to the rounding of the transformed coordinates.

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
        queries, single = canonical_queries(points, caller="CoverageRegion.contains")
        at = self.grid.to_cells(queries)
        inside = np.array(self.outline.contains(at), bool)
        for rings in self.hole_rings:
            inside &= ~is_strictly_inside(rings, at)
        return bool(inside[0]) if single else inside

    def simplify(self, tolerance: float) -> CoverageRegion:
        """Return a region of fewer vertices that covers this one.

        Parameters
        ----------
        tolerance : float
            The largest distance of a removed vertex from the new outline, in the map's unit (in the direction in which
            cells are longest, if they are not square). Holes do not change.

        Returns
        -------
        CoverageRegion
            It contains the old one.

        Raises
        ------
        InvalidInput
            For a tolerance that is negative or no number.
        """
        tolerance = checked_tolerance(tolerance, caller="CoverageRegion.simplify")
        a, b, _, d, e, _ = self.grid.transform
        longest = float(np.linalg.norm(np.array([[a, b], [d, e]]), 2))
        return replace(self, outline=self.outline.simplify(tolerance / longest))

    def to_shapely(self, *, cells: bool = False) -> Any:
        boolean(cells, "cells", caller="to_shapely")
        shapely = require_shapely()
        if not self:
            return shapely.geometry.Polygon()

        pieces = [shapely.geometry.Polygon(piece) for piece in (self.outline.rings if cells else self.rings)]
        shape = pieces[0] if len(pieces) == 1 else shapely.geometry.MultiPolygon(pieces)
        if not self.holes:
            return shape
        rings = [ring for hole in self.hole_rings for ring in hole]
        offsets, holes = (np.cumsum([0, *map(len, some)]) for some in (rings, self.hole_rings))
        corners = np.concatenate(rings)
        cut = Ragged(np.asarray(corners, np.float64) if cells else self.grid.to_map(corners), offsets, holes)
        left = shape.difference(shapely.union_all(cut.to_shapely()))
        return shapely.geometry.polygon.orient(left) if left.geom_type == "Polygon" else left

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """GeoJSON-like geometry in map coordinates: a Polygon, or a MultiPolygon where holes part it."""
        return self._geometry

    @functools.cached_property
    def _geometry(self) -> dict[str, Any]:
        if self.holes:
            return dict(require_shapely().geometry.mapping(self.to_shapely()))
        closed = [tuple(map(tuple, (*ring.tolist(), ring[0].tolist()))) for ring in self.rings]
        if len(closed) > 1:
            return {"type": "MultiPolygon", "coordinates": tuple((ring,) for ring in closed)}
        return {"type": "Polygon", "coordinates": tuple(closed)}


@keeps_subnormals
class CoverageRegions(MapRegions[CoverageRegion]):
    """Coverage regions in the order of map, level and part; each is computed at the first access.

    Attributes
    ----------
    maps, levels, parts : ndarray of int64
        For each region the index of its map, of its level in `given`, and of its part from left to right.
    grid : Grid
    given : tuple of float
        The levels.
    direction : {">=", "<="}
    phases : tuple of Phase
        What each launch on the device was and took.
    peak : Peak or None
        For a raster that came in strips the most memory that it took at a time, of the host and of the device.

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> regions = clgeom.raster_regions(np.array([[5, 0, 7], [5, 0, 0]]), [5, 7])
    >>> len(regions), regions.levels.tolist(), regions.areas.tolist()
    (3, [0, 0, 1], [2.0, 1.0, 1.0])
    >>> [region.area for region in regions.at_level(7)]
    [1.0]
    """

    _noun = "region"

    def __init__(
        self, groups: Iterable[Group], grid: Grid, given: tuple[float, ...], direction: str, phases: tuple[Phase, ...]
    ) -> None:
        self.grid, self.given, self.direction, self.phases = grid, given, direction, phases
        self._groups = tuple(groups)

    @functools.cached_property
    def _table(self) -> np.ndarray:
        """Rows of maps, levels, parts, groups and numbers in these, of all regions in order."""
        columns = [
            np.stack([group.maps, group.levels, group.parts, np.full(len(group.maps), k), np.arange(len(group.maps))])
            for k, group in enumerate(self._groups)
        ]
        table = np.concatenate([np.empty((5, 0), np.int64), *columns], axis=1)
        maps, levels, parts = table[:3]
        places = (maps * len(self.given) + levels) * (parts.max(initial=0) + 1) + parts
        return table if (places[1:] > places[:-1]).all() else table[:, np.argsort(places)]

    @property
    def maps(self) -> NDArray[np.int64]:
        return np.asarray(self._table[0])

    @property
    def levels(self) -> NDArray[np.int64]:
        return np.asarray(self._table[1])

    @property
    def parts(self) -> NDArray[np.int64]:
        return np.asarray(self._table[2])

    def __len__(self) -> int:
        return sum(len(group.maps) for group in self._groups)

    def _region(self, index: int) -> CoverageRegion:
        read_side_by_side(self._groups)
        group_number, i = self._table[3:, index].tolist()
        group = self._groups[group_number]
        return CoverageRegion(
            group.outline(i),
            self.grid,
            self.given[int(group.levels[i])],
            self.direction,
            int(group.maps[i]),
            int(group.parts[i]),
            None if group.cells is None else int(group.cells[i]),
            (group.holes or {}).get(i, ()),
        )

    @property
    def areas(self) -> NDArray[np.float64]:
        """The areas of all outlines in the square of the map's unit, holes included; shape (n,), float64."""
        if self._is_crossed:
            shapes = self._crossed
            if shapes is None:
                return np.array([region.outline.area * self.grid.cell_area for region in self])
            return np.asarray(require_shapely().area(shapes) * self.grid.cell_area)
        return self._in_order([areas_between(group.chains) for group in self._groups]) * self.grid.cell_area

    def in_km2(self, crs: Any) -> NDArray[np.float64]:
        if self._is_plain:
            places = self.vertices[self._outlines.following]  # from the second vertex on, as `earth_areas` sums them
            return ragged_areas(places, self.ring_offsets, crs, caller="areas_km2") / 1e6
        return earth_areas([region.__geo_interface__ for region in self], crs, caller="areas_km2") / 1e6

    # Arrays -----------------------------------------------------------------------------------------------------

    @property
    def segments(self) -> NDArray[np.int64]:
        """For each region its number of segments that hold cells: the sum over both axes with axis="both"."""
        if self._is_crossed:
            return np.array([region.segments for region in self], np.int64)
        return self._in_order([np.asarray(group.chains.head.effective, np.int64) for group in self._groups])

    @property
    def vertices(self) -> NDArray[np.float64]:
        """Vertices of all outlines in map coordinates, ring after ring, without holes; shape (n, 2)."""
        return np.asarray(self._outlines.places)

    @property
    def ring_offsets(self) -> NDArray[np.int64]:
        """Ring r has the vertices from ``ring_offsets[r]`` to ``ring_offsets[r + 1]``; empty regions have no ring."""
        return np.asarray(self._outlines.rings)

    @property
    def _is_crossed(self) -> bool:
        return any(group.across is not None for group in self._groups)

    @functools.cached_property
    def _is_plain(self) -> bool:
        """Whether every region is one ring."""
        has_holes = any(group.holes for group in self._groups)
        return not self._is_crossed and not has_holes and len(self.ring_offsets) == len(self) + 1

    @functools.cached_property
    def _places(self) -> NDArray[np.int64]:
        """The place of each region among the regions of all groups, one group after the other."""
        firsts = np.cumsum([0, *(len(group.maps) for group in self._groups)])
        return np.asarray(firsts[self._table[3]] + self._table[4])

    def _in_order(self, values: list[NDArray[Any]]) -> NDArray[Any]:
        """Return values of the regions of each group in the order of all regions."""
        return np.concatenate(values)[self._places] if values else np.empty(0)

    @functools.cached_property
    def _outlines(self) -> Ragged:
        """The outlines in map coordinates, counter-clockwise; those of axis="both" are no arrays."""
        if self._is_crossed:
            raise InvalidInput('Regions with axis="both" have no arrays of vertices: see CoverageRegions.to_shapely.')
        read_side_by_side(self._groups)
        rings = [group.rings for group in self._groups]
        sizes = np.concatenate([np.empty(0, np.int64), *(np.diff(one.offsets) for one in rings)])
        own = sizes[self._places]
        offsets = np.append(0, np.cumsum(own))
        begins, there = (np.cumsum(sizes) - sizes)[self._places], own > 0
        if self.grid.determinant < 0:  # the other way round, from the same vertices on
            picked = np.repeat(begins + own + offsets[:-1], own) - np.arange(offsets[-1])
            picked[offsets[:-1][there]] = begins[there]
        else:
            picked = np.repeat(begins - offsets[:-1], own) + np.arange(offsets[-1])
        corners = np.concatenate([np.empty((0, 2), np.float32), *(one.corners for one in rings)])
        places = self.grid.to_map(corners[picked])
        return Ragged(places, np.append(0, offsets[1:][there]), np.append(0, np.cumsum(there)))

    def to_shapely(self) -> NDArray[np.object_]:
        with_holes = [np.isin(np.arange(len(group.maps)), list(group.holes or ())) for group in self._groups]
        one_by_one = self._in_order(with_holes).astype(bool)
        if not self._is_crossed:
            shapes = self._outlines.to_shapely()
        else:
            crossed, shapely = self._crossed, require_shapely()
            shapes = np.empty(len(self), object)
            if crossed is None:
                one_by_one[:] = True
            else:
                one_by_one |= shapely.get_type_id(crossed) != shapely.GeometryType.POLYGON
                one_by_one |= shapely.is_empty(crossed)
                shapes[~one_by_one] = exteriors(crossed[~one_by_one], self.grid).to_shapely()
        for i in np.flatnonzero(one_by_one).tolist():
            shapes[i] = self[i].to_shapely()
        return shapes

    @property
    def _crossed(self) -> NDArray[np.object_] | None:
        """The shapes with axis="both" in columns and rows; None where there is none of all."""
        shapes = [group.crossed for group in self._groups]
        return (
            None
            if any(some is None for some in shapes)
            else self._in_order([some for some in shapes if some is not None])
        )

    def ragged_for_files(self) -> Ragged | None:
        """Return the polygons in map coordinates, or None unless every region is one ring.

        Returns
        -------
        clgeom.geo.ragged.Ragged or None
        """
        return self._outlines if self._is_plain else None

    def in_degrees(self, crs: Any, *, caller: str, densify: FloatLike | None = None) -> InDegrees | None:
        if not self._is_plain:
            return None
        how: dict[str, Any] = {"resolution": math.sqrt(self.grid.cell_area), "densify": densify}
        return in_degrees(self._outlines, crs, caller=caller, **how)

    def _columns(self) -> dict[str, Any]:
        if not self._is_plain or any(group.cells is None for group in self._groups):
            return super()._columns()
        cells = self._in_order([np.asarray(group.cells) for group in self._groups]).astype(np.int64)
        areas = self._in_order([ring_areas(group.rings.corners, group.rings.offsets) for group in self._groups])
        return {
            "id": np.arange(1, len(self) + 1),
            **({"name": np.array(self.grid.names, object)[self.maps]} if self.grid.names else {}),
            "level": np.array(self.given, np.float64)[self.levels],
            "direction": np.full(len(self), self.direction, object),
            "map": self.maps,
            "part": self.parts,
            "cells": np.ma.MaskedArray(cells, np.zeros(len(cells), bool)),
            "cells_area": cells * self.grid.cell_area,
            "area": areas * self.grid.cell_area,
        }
