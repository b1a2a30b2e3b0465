"""The faces between arcs as arrays: their corners, classes and areas, by geometries of one face or several each."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.plan import Phase
from clgeom.geo.ragged import Collected, Ragged, ranges_of
from clgeom.intake.typing import NDArray
from clgeom.region.classes.arcs import Arcs
from clgeom.region.classes.files import ClassesOnMap
from clgeom.region.classes.polygon import ClassPolygon
from clgeom.region.coverage.drawn import MapShapes
from clgeom.region.coverage.grid import Grid
from clgeom.region.rings.trace import twice_areas


@keeps_subnormals
class Faces(ClassesOnMap, MapShapes[ClassPolygon]):
    """The arrays of `ClassPolygons`; `owners` has the number of the geometry of each face."""

    def __init__(
        self,
        arcs: Arcs,
        grid: Grid,
        *,
        names: Mapping[Any, str] | None = None,
        phases: tuple[Phase, ...] = (),
        owners: NDArray[Any] | None = None,
        exact: Arcs | None = None,
        is_part: bool = False,
    ) -> None:
        self.arcs, self.grid, self.phases = arcs, grid, phases
        self.names = dict(names or {})
        self._owners = arcs.regions if owners is None else owners  # the geometry of each face
        self._exact = arcs if exact is None else exact
        self._is_part = is_part  # polygons beside them, with which they share lines, are in other results

    def __len__(self) -> int:
        return len(self.geometry_offsets) - 1

    @functools.cached_property
    def _faces(self) -> NDArray[Any]:
        """The faces of all geometries, one geometry after the other."""
        return np.argsort(self._owners, kind="stable")

    @functools.cached_property
    def geometry_offsets(self) -> NDArray[np.int64]:
        """Geometry g has the polygons from ``geometry_offsets[g]`` to ``geometry_offsets[g + 1]``, shape (n + 1,)."""
        return np.append(0, np.cumsum(np.bincount(self._owners, minlength=0))).astype(np.int64)

    @functools.cached_property
    def _ragged_cells(self) -> Ragged:
        """The polygons in columns and rows."""
        corners, rings = self.arcs.ring_corners()
        faces, polygons = self._faces, self.arcs.face_rings
        if (np.diff(faces) == 1).all():
            return Ragged(corners, rings, polygons)
        own, polygons = ranges_of(polygons, faces)
        some, rings = ranges_of(rings, own)
        return Ragged(corners[some], rings, polygons)

    @functools.cached_property
    def _ragged(self) -> Ragged:
        """The polygons in map coordinates, outer rings counter-clockwise."""
        made = replace(self._ragged_cells, places=self.grid.to_map(self._ragged_cells.places))
        return made.reversed() if self.grid.determinant < 0 else made

    @property
    def corners(self) -> NDArray[np.int32]:
        """Vertices in columns and rows, ring after ring, not closed, shape (m, 2)."""
        return self._ragged_cells.places

    @property
    def vertices(self) -> NDArray[np.float64]:
        """Vertices in map coordinates by `ring_offsets`, shape (m, 2); only outer rings are counter-clockwise."""
        return self._ragged.places

    @property
    def ring_offsets(self) -> NDArray[np.int64]:
        """Ring r has the vertices from ``ring_offsets[r]`` to ``ring_offsets[r + 1]``."""
        return self._ragged_cells.rings

    @property
    def polygon_offsets(self) -> NDArray[np.int64]:
        """Polygon p has the rings from ``polygon_offsets[p]`` to ``polygon_offsets[p + 1]``: the outer one first."""
        return self._ragged_cells.polygons

    def _of_first_faces(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(values[self._faces[self.geometry_offsets[:-1]]])

    @functools.cached_property
    def classes(self) -> NDArray[Any]:
        return self._of_first_faces(self.arcs.values)

    @functools.cached_property
    def maps(self) -> NDArray[np.int64]:
        return self._of_first_faces(self.arcs.layers).astype(np.int64)

    @functools.cached_property
    def cells(self) -> NDArray[np.int64]:
        return self._sums(self.arcs.cells[self._faces])

    def _sums(self, of_polygons: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(of_polygons, self.geometry_offsets[:-1]) if len(self) else of_polygons[:0]

    @functools.cached_property
    def _cell_areas(self) -> NDArray[np.float64]:
        """The areas in cells: halves of whole numbers, which are exact."""
        rings = twice_areas(self.corners, self.ring_offsets)
        faces = np.add.reduceat(rings, self.polygon_offsets[:-1]) if len(self) else rings[:0]
        return self._sums(faces) / 2

    @property
    def areas(self) -> NDArray[np.float64]:
        """The areas of the geometries, without holes, in the square of the map's unit; shape (n,), float64."""
        return self._cell_areas * self.grid.cell_area

    def in_km2(self, crs: Any) -> NDArray[np.float64]:
        from clgeom.geo.geodesy import ragged_areas

        crs = self._system(crs, "areas_km2")
        rings = ragged_areas(self.vertices, self.ring_offsets, crs, caller="areas_km2")
        rings[np.setdiff1d(np.arange(len(rings)), self.polygon_offsets[:-1])] *= -1
        faces = np.add.reduceat(rings, self.polygon_offsets[:-1]) if len(self) else rings[:0]
        return self._sums(faces) / 1e6

    @property
    def exact_vertices(self) -> int:
        return len(self._exact.corners)

    def _places_of_all(self) -> NDArray[np.float64] | None:
        return self.grid.spread() if self._is_part else None

    def _some(self, first: int, last: int, *, cells: bool = False) -> Collected:
        """Return geometries that follow each other."""
        begin, end = self.geometry_offsets[[first, last]].tolist()
        ragged = self._ragged_cells if cells else self._ragged
        rings = ragged.rings[ragged.polygons[begin] : ragged.polygons[end] + 1]
        some = Ragged(
            ragged.places[rings[0] : rings[-1]],
            rings - rings[0],
            ragged.polygons[begin : end + 1] - ragged.polygons[begin],
        )
        return Collected([some], self.geometry_offsets[first : last + 1] - begin)
