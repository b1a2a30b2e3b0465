"""Polygons of covered cells as values: arrays of vertices and offsets, areas, exchange with other packages."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.arguments import boolean, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import counted
from clgeom.core.plan import Phase
from clgeom.errors import short
from clgeom.geo.ragged import ranges_of
from clgeom.intake.device_arrays import fetched, on_host
from clgeom.intake.typing import FloatLike, NDArray
from clgeom.optional import require_shapely
from clgeom.region.coverage.drawn import MapRegion, MapRegions
from clgeom.region.coverage.grid import Grid
from clgeom.region.rings.emission import ARRAYS, COLUMNS
from clgeom.region.rings.trace import twice_areas


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class CoveragePolygon(MapRegion):
    """The polygon around a part of the cells of a raster that reach a level: cells that share sides.

    Parameters
    ----------
    rings : tuple of ndarray of float64, shape (m, 2)
        The outer ring, counter-clockwise, and the holes, clockwise, in map coordinates; not closed.
    corners : tuple of ndarray of int32, shape (m, 2)
        The same in columns and rows; where the transform mirrors, the other way round.
    grid : Grid
    level : float
    direction : {">=", "<="}
    map, part : int
        Index of the map in its stack, and of the part in its map and level.
    cells : int
        Number of its cells.
    area : float
        In the square of the map's unit, without the holes.

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> polygon = clgeom.raster_outlines(np.array([[5, 5], [5, 0]]), 5)[0]
    >>> polygon.cells, polygon.area, polygon.exterior.tolist()
    (3, 3.0, [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 2.0]])
    """

    rings: tuple[NDArray[Any], ...]
    corners: tuple[NDArray[Any], ...]
    grid: Grid
    level: float
    direction: str
    map: int
    part: int
    cells: int
    area: float

    def __repr__(self) -> str:
        where = f"map {self.map}, part {self.part}: " if self.map or self.part else ""
        holes = f", {counted(len(self.rings) - 1, 'hole', 'holes')}" if len(self.rings) > 1 else ""
        return (
            f"CoveragePolygon({where}{self.direction} {self.level:g}, {counted(len(self), 'vertex', 'vertices')}"
            f"{holes}, area {self.area:.6g})"
        )

    def __len__(self) -> int:
        """Return the number of vertices of all rings; one at which two rings touch is in both."""
        return sum(map(len, self.rings))

    def __bool__(self) -> bool:
        return True

    @property
    def exterior(self) -> NDArray[Any]:
        """The outer ring."""
        return self.rings[0]

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Least x, least y, greatest x, greatest y."""
        return (*self.rings[0].min(axis=0).tolist(), *self.rings[0].max(axis=0).tolist())

    def to_shapely(self, *, cells: bool = False) -> Any:
        outer, *holes = self.corners if boolean(cells, "cells", caller="to_shapely") else self.rings
        return require_shapely().geometry.Polygon(outer, holes)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """GeoJSON-like geometry in map coordinates."""
        closed = (tuple(map(tuple, (*ring.tolist(), ring[0].tolist()))) for ring in self.rings)
        return {"type": "Polygon", "coordinates": tuple(closed)}


@keeps_subnormals
class CoveragePolygons(MapRegions[CoveragePolygon]):
    """The polygons of all parts, levels and maps as arrays; an index makes a `CoveragePolygon`.

    For a raster on a device the arrays from `corners` to `cells` are ``pyopencl.array.Array`` there, of the same types
    and shapes. All else comes from a copy of them on the host, which the first use makes.

    Attributes
    ----------
    corners : ndarray of int32, shape (n, 2)
        Vertices in columns and rows, ring after ring, not closed. They are corners of cells.
    ring_offsets : ndarray of int64, shape (number of rings + 1,)
        Ring r has the vertices from ``ring_offsets[r]`` to ``ring_offsets[r + 1]``.
    polygon_offsets : ndarray of int64, shape (n + 1,)
        Polygon p has the rings from ``polygon_offsets[p]`` to ``polygon_offsets[p + 1]``: its outer ring, then its
        holes.
    maps, levels, parts : ndarray of int64, shape (n,)
        For each polygon the index of its map, of its level in `given`, and of its part in these, from top to bottom.
    cells : ndarray of int64, shape (n,)
        The number of cells of each part.
    exact_vertices : int
        The number of vertices before simplification.
    grid : Grid
    given : tuple of float
        The levels.
    direction : {">=", "<="}
    phases : tuple of Phase
        What each launch on the device was and took.
    apart : bool
        Whether polygons of different maps stay apart, in files too.
    peak : Peak or None
        For a raster that came in strips the most memory that it took at a time, of the host and of the device.

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> raster = np.array([[5, 5, 5], [5, 0, 5], [5, 5, 5], [0, 0, 0], [7, 0, 0]])
    >>> polygons = clgeom.raster_outlines(raster, 5)
    >>> polygons, polygons.cells.tolist(), polygons.areas.tolist()
    (CoveragePolygons(2 polygons >= 5 of 5 x 3 cells, 12 vertices), [8, 1], [8.0, 1.0])
    >>> polygons.ring_offsets.tolist(), polygons.polygon_offsets.tolist()
    ([0, 4, 8, 12], [0, 2, 3])
    """

    corners: NDArray[np.int32]
    ring_offsets: NDArray[np.int64]
    polygon_offsets: NDArray[np.int64]
    maps: NDArray[np.int64]
    levels: NDArray[np.int64]
    parts: NDArray[np.int64]
    cells: NDArray[np.int64]
    exact_vertices: int
    apart: bool = False

    def __init__(
        self,
        arrays: Mapping[str, Any],
        exact_vertices: int,
        grid: Grid,
        given: tuple[float, ...],
        direction: str,
        phases: tuple[Phase, ...],
    ) -> None:
        self.corners, self.ring_offsets, self.polygon_offsets = (arrays[name] for name in ARRAYS[:3])
        self.maps, self.levels, self.parts, self.cells = (arrays[name] for name in COLUMNS)
        self.exact_vertices = exact_vertices
        self.grid, self.given, self.direction, self.phases = grid, given, direction, phases
        self._copy: CoveragePolygons | None = None

    @property
    def on_host(self) -> CoveragePolygons:
        """These polygons, or a copy of them with arrays on the host, which the first use makes."""
        if isinstance(self.corners, np.ndarray):
            return self
        if self._copy is None:
            self._copy = self._with({name: fetched(getattr(self, name)) for name in ARRAYS})
        return self._copy

    def _with(self, arrays: Mapping[str, Any]) -> CoveragePolygons:
        """Polygons of other arrays, with the other attributes of these."""
        made = CoveragePolygons(arrays, self.exact_vertices, self.grid, self.given, self.direction, self.phases)
        made.apart = self.apart
        return made

    def __getstate__(self) -> dict[str, Any]:  # arrays on a device stay there
        return self.on_host.__dict__

    def __len__(self) -> int:
        return len(self.maps)

    def _region(self, index: int) -> CoveragePolygon:
        host = self.on_host
        first, last = host.polygon_offsets[index : index + 2].tolist()
        bounds = host.ring_offsets[first : last + 1].tolist()
        rings, corners = (
            tuple(places[begin:end] for begin, end in zip(bounds, bounds[1:]))
            for places in (self.vertices, host.corners)
        )
        return CoveragePolygon(
            rings,
            corners,
            self.grid,
            self.given[int(host.levels[index])],
            self.direction,
            int(host.maps[index]),
            int(host.parts[index]),
            int(host.cells[index]),
            float(self.areas[index]),
        )

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {len(self.corners):,} vertices)"

    @functools.cached_property
    def _ragged(self) -> Any:
        """The polygons in map coordinates, outer rings counter-clockwise."""
        return self._as_map(self._in_cells())

    @property
    def vertices(self) -> NDArray[np.float64]:
        """Vertices in map coordinates by `ring_offsets`, shape (n, 2); only outer rings are counter-clockwise."""
        places: NDArray[np.float64] = self._ragged.places
        return places

    @functools.cached_property
    def _cell_areas(self) -> np.ndarray:
        host = self.on_host
        rings = twice_areas(host.corners, host.ring_offsets)
        return np.add.reduceat(rings, host.polygon_offsets[:-1]) / 2 if len(self) else np.zeros(0)

    @property
    def areas(self) -> NDArray[np.float64]:
        """The areas of the polygons, without their holes, in the square of the map's unit; shape (n,), float64."""
        return self._cell_areas * self.grid.cell_area

    def in_km2(self, crs: Any) -> NDArray[np.float64]:
        from clgeom.geo.geodesy import ragged_areas

        crs, host = self._system(crs, "areas_km2"), self.on_host
        rings = ragged_areas(self.vertices, host.ring_offsets, crs, caller="areas_km2")
        rings[np.setdiff1d(np.arange(len(rings)), host.polygon_offsets[:-1])] *= -1
        return np.add.reduceat(rings, host.polygon_offsets[:-1]) / 1e6 if len(self) else np.zeros(0)

    @property
    def iou(self) -> float:
        """Cells over the area of the polygons, over all maps and levels; no cell is missed. 1 for none."""
        return float(self.on_host.cells.sum() / self._cell_areas.sum()) if len(self) else 1.0

    def select(self, chosen: Any) -> CoveragePolygons:
        """Return some of the polygons, by their indices in ascending order, or by a mask of bools.

        Parameters
        ----------
        chosen : array_like of int, shape (m,), or of bool, shape (n,)
            Negative indices count from the end. An array of n numbers of int8, all 0 or 1, is a mask, as comparisons of
            ``pyopencl.array.Array`` give it.

        Returns
        -------
        CoveragePolygons

        Raises
        ------
        InvalidInput
            For another shape or type, an index that is not there, or indices that do not ascend.

        Examples
        --------
        >>> import clgeom, numpy as np
        >>> polygons = clgeom.raster_outlines(np.eye(3), 1)
        >>> polygons.select([0, -1]).parts.tolist(), len(polygons.select(polygons.cells > 1))
        ([0, 2], 0)
        """
        host, own = self.on_host, self._chosen(chosen)
        rings, polygon_offsets = ranges_of(host.polygon_offsets, own)
        corners, ring_offsets = ranges_of(host.ring_offsets, rings)
        arrays = {name: getattr(host, name)[own] for name in COLUMNS}
        arrays |= {"corners": host.corners[corners], "ring_offsets": ring_offsets, "polygon_offsets": polygon_offsets}
        return self._with(arrays)

    def _chosen(self, chosen: Any) -> np.ndarray:
        """Return the indices that the parameter of `select` means."""
        count = len(self)
        try:
            array = np.asarray(on_host(chosen))
        except (TypeError, ValueError):  # lists of several lengths
            array = np.asarray(None)
        array = array.astype(np.int64) if array.shape == (0,) and array.dtype.kind == "f" else array  # []
        if array.dtype == np.int8 and array.shape == (count,) and np.isin(array, (0, 1)).all():
            array = array.astype(bool)  # what comparisons of arrays on a device give
        if array.ndim == 1 and array.dtype == bool:
            if len(array) == count:
                return np.flatnonzero(array)
            bad = f"{len(array):,} bools"
        elif array.ndim == 1 and array.dtype.kind in "iu":
            beyond = (array < -count) | (array >= count)
            if not beyond.any():
                own = np.where(array < 0, array + count, array).astype(np.int64)
                if (np.diff(own) > 0).all():
                    return own
                bad = f"{short(chosen)}, which does not ascend,"
            else:
                bad = f"the index {array[beyond][0]}"
        else:
            bad = short(chosen)
        expected = f"indices of the {count:,} polygons in ascending order, each once, or a bool for each polygon"
        raise wrong("chosen", "select", expected, bad)

    def to_shapely(self, *, cells: bool = False) -> NDArray[np.object_]:
        """Return all polygons as valid Shapely geometries.

        Parameters
        ----------
        cells : bool
            Return columns and rows instead of map coordinates.

        Returns
        -------
        ndarray of shapely.Polygon, shape (n,)

        Raises
        ------
        InvalidInput
            Shapely is not installed.
        """
        made = self._ragged
        if boolean(cells, "cells", caller="to_shapely"):
            made = replace(self._in_cells(), places=self.on_host.corners.astype(np.float64))
        shapes: NDArray[np.object_] = made.to_shapely()
        return shapes

    def ragged_for_files(self) -> Any:
        """Return the polygons in map coordinates as files have them.

        Those that stay apart have common vertices on common boundaries; so have those of several levels in a turned
        grid, whose coordinates are rounded.

        Returns
        -------
        clgeom.geo.ragged.Ragged
        """
        return self._as_map(self._in_cells(noded=True)) if self.apart or self._is_turned else self._ragged

    @property
    def _is_turned(self) -> bool:
        _, b, _, d, _, _ = self.grid.transform
        return len(self.given) > 1 and (b, d) != (0, 0)

    def in_degrees(self, crs: Any, *, caller: str, densify: FloatLike | None = None) -> Any:
        from clgeom.geo.degrees import Sheets, in_degrees, is_wgs84

        corners = self._in_cells(noded=self.apart or (self._is_turned and is_wgs84(crs, caller)))
        levels = np.array(self.given) * (1 if self.direction == "<=" else -1)  # the most demanding one is the least
        ranks = np.unique(np.argsort(np.argsort(levels))[self.on_host.levels], return_inverse=True)[1]
        oriented = corners.reversed() if self.grid.determinant < 0 else corners
        sheets = Sheets(oriented, ranks, self.on_host.maps, self.apart)
        resolution = math.sqrt(self.grid.cell_area)
        found = in_degrees(
            self._as_map(corners), crs, caller=caller, resolution=resolution, densify=densify, sheets=sheets
        )
        return replace(found, added=found.added + len(corners.places) - len(self.corners))

    def _in_cells(self, *, noded: bool = False) -> Any:
        """Return the polygons in columns and rows, with the vertices of their neighbours if they are `noded`."""
        from clgeom.geo import ragged

        host = self.on_host
        made = ragged.Ragged(host.corners, host.ring_offsets, host.polygon_offsets)
        return ragged.noded(made) if noded else made

    def _as_map(self, corners: Any) -> Any:
        """Polygons of columns and rows in map coordinates, outer rings counter-clockwise."""
        made = replace(corners, places=self.grid.to_map(corners.places))
        return made.reversed() if self.grid.determinant < 0 else made

    def _columns(self) -> dict[str, Any]:
        host = self.on_host
        return {
            "id": np.arange(1, len(self) + 1),
            **({"name": np.array(self.grid.names, object)[host.maps]} if self.grid.names else {}),
            "level": np.array(self.given)[host.levels],
            "direction": np.full(len(self), self.direction, object),
            "map": host.maps,
            "part": host.parts,
            "cells": host.cells,
            "cells_area": host.cells * self.grid.cell_area,
            "area": self.areas,
        }
