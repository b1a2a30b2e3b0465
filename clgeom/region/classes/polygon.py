"""One polygon of a class, or several of them, as a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.arguments import boolean
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import counted
from clgeom.geo.ragged import Collected, Ragged
from clgeom.intake.typing import NDArray
from clgeom.region.classes.files import ClassesOnMap, class_columns
from clgeom.region.coverage.drawn import MapRegion
from clgeom.region.coverage.grid import Grid


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class ClassPolygon(ClassesOnMap, MapRegion):
    """The polygon around a connected piece of one class, or several of them.

    Parameters
    ----------
    parts : tuple of tuple of ndarray of float64, shape (m, 2)
        For each polygon its outer ring, counter-clockwise, and its holes, clockwise, in map coordinates; not closed.
    grid : Grid
    value : int
        The class.
    name : str or None
        The name of the class.
    map : int
        Index of the raster in its stack.
    cells : int
        Number of its cells.
    area : float
        In the square of the map's unit, without the holes.
    shape : Collected
        The geometry, for `to_shapely`.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.polygonize([[1, 1], [1, 2]], names={2: "wood"})[1]
    ClassPolygon(class 2 (wood), 4 vertices, area 1)
    """

    parts: tuple[tuple[NDArray[Any], ...], ...]
    grid: Grid
    value: int
    name: str | None
    map: int
    cells: int
    area: float
    shape: Collected

    def __repr__(self) -> str:
        where = f"map {self.map}, " if self.map else ""
        name = "" if self.name is None else f" ({self.name})"
        parts = f"{len(self.parts)} polygons, " if len(self.parts) > 1 else ""
        return (
            f"ClassPolygon({where}class {self.value}{name}, {parts}{counted(len(self), 'vertex', 'vertices')}, "
            f"area {self.area:.6g})"
        )

    def __len__(self) -> int:
        """Return the number of vertices of all rings."""
        return sum(map(len, self.rings))

    def __bool__(self) -> bool:
        return True

    def _facts(self) -> tuple[Any, ...]:
        return self.value, self.map, self.cells, self.area, tuple(map(len, self.parts))

    def __eq__(self, other: object) -> bool:
        """Return whether another polygon has the same class, cells and vertices in the same place."""
        if not isinstance(other, ClassPolygon) or self._facts() != other._facts():
            return False
        return self.grid == other.grid and all(map(np.array_equal, self.rings, other.rings))

    def __hash__(self) -> int:
        return hash(self._facts())

    @property
    def rings(self) -> tuple[NDArray[Any], ...]:
        """The rings of all parts."""
        return tuple(ring for part in self.parts for ring in part)

    def to_shapely(self, *, cells: bool = False) -> Any:
        """Return the geometry as a valid Shapely geometry: a Polygon, or a MultiPolygon of several parts.

        Parameters
        ----------
        cells : bool
            Return columns and rows instead of map coordinates.

        Returns
        -------
        shapely.Geometry

        Raises
        ------
        InvalidInput
            Shapely is not installed.
        """
        boolean(cells, "cells", caller="to_shapely")
        return (_in_cells(self.shape, self.grid) if cells else self.shape).to_shapely()[0]

    def _pieces(self) -> Iterator[tuple[Ragged, Ragged]]:
        yield _in_cells(self.shape, self.grid).shapes[0], self.shape.shapes[0]

    def collected(self) -> Collected:
        return self.shape

    def _columns(self) -> dict[str, Any]:
        names = {} if self.name is None else {self.value: self.name}
        own = np.array([self.map]), np.array([self.cells]), np.array([self.area])
        return class_columns(np.array([self.value]), names, *own, self.grid)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """GeoJSON-like geometry in map coordinates: a Polygon, or a MultiPolygon of several parts."""
        closed = tuple(
            tuple(tuple(map(tuple, (*ring.tolist(), ring[0].tolist()))) for ring in part) for part in self.parts
        )
        if len(closed) == 1:
            return {"type": "Polygon", "coordinates": closed[0]}
        return {"type": "MultiPolygon", "coordinates": closed}


def _in_cells(shape: Collected, grid: Grid) -> Collected:
    """Return geometries of map coordinates in columns and rows, which are whole numbers."""
    made = [replace(one, places=np.rint(grid.to_cells(one.places))) for one in shape.shapes]
    return Collected(made, shape.offsets)
