"""Polygons of the classes of a raster as values: simplification, tables, files and figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from clgeom.arguments import boolean, integer, real, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import counted
from clgeom.errors import InvalidInput, short
from clgeom.geo.ragged import Collected, Ragged
from clgeom.intake.typing import FloatLike, IntLike, NDArray
from clgeom.markup import MOST_RINGS, MOST_ROWS, card, rings_svg, table
from clgeom.region.classes.faces import Faces
from clgeom.region.classes.files import class_columns
from clgeom.region.classes.polygon import ClassPolygon
from clgeom.region.classes.simplify import Goal, simplify_arcs
from clgeom.region.coverage.grid import Grid


@keeps_subnormals
class ClassPolygons(Faces):
    """The polygons of all classes of a raster, or of a stack of rasters, with the lines that neighbours share.

    Each cell with a class is in exactly one polygon. There is a polygon for each connected piece of a class; with
    8-connection cells of one class that share a corner belong together, as parts of one geometry. An index makes a
    `ClassPolygon`.

    Attributes
    ----------
    arcs : Arcs
        The lines between classes, each once, in columns and rows.
    grid : Grid
    names : dict of int to str
        The names of classes.
    classes : ndarray, shape (n,), the type of the raster
        The class of each geometry.
    maps : ndarray of int64, shape (n,)
        For each geometry the index of its raster in the stack.
    cells : ndarray of int64, shape (n,)
        The number of cells of each geometry.
    exact_vertices : int
        The number of vertices of `arcs` before simplification; nodes count once for each arc that ends there.
    phases : tuple of Phase
        What each launch on the device was and took.
    peak : Peak or None
        For a raster that came in strips the most memory that it took at a time, of the host and of the device.

    Examples
    --------
    >>> import clgeom
    >>> land = clgeom.polygonize([[1, 1, 2, 2], [1, 1, 1, 2], [3, 1, 1, 2]])
    >>> land.classes.tolist(), land.cells.tolist(), land.simplify(tolerance=1).areas.tolist()
    ([1, 2, 3], [7, 4, 1], [7.0, 4.5, 0.5])
    """

    def _with(self, **changed: Any) -> ClassPolygons:
        """The same polygons of other arcs, or in other geometries."""
        own: dict[str, Any] = {"names": self.names, "phases": self.phases, "owners": self._owners}
        own |= {"arcs": self.arcs, "exact": self._exact, "is_part": self._is_part, **changed}
        made = ClassPolygons(grid=self.grid, **own)
        made.peak = self.peak
        return made

    # Other polygons -------------------------------------------------------------------------------------------------

    def dissolve(self) -> ClassPolygons:
        """Return one geometry for each class of a map: a MultiPolygon where it has several pieces.

        One result of `polygonize_strips` has some of the polygons of a class, and only these are joined.

        Returns
        -------
        ClassPolygons
            In the order of maps, then of classes.
        """
        faces = np.stack([self.arcs.layers.astype(np.int64), np.unique(self.arcs.values, return_inverse=True)[1]])
        owners = np.unique(faces, axis=1, return_inverse=True)[1].reshape(-1) if faces.size else faces[0]
        return self._with(owners=owners)

    def simplify(
        self,
        *,
        tolerance: FloatLike | None = None,
        iou: FloatLike | None = None,
        vertices: IntLike | None = None,
        boundary: bool = False,
    ) -> ClassPolygons:
        """Return polygons of fewer vertices. Neighbours share their lines: there are neither gaps nor overlaps.

        Lines keep their ends where three classes meet, the corners of the raster, and their topology: no polygon
        vanishes, and no line crosses or touches another one. Vertices of the least effect go first; all that remain are
        corners of cells.

        Parameters
        ----------
        tolerance : float, optional
            Largest distance of a corner of the exact lines from the edge that replaces it, in the map's unit (in the
            direction in which cells are longest, if they are not square).
        iou : float, optional
            Least intersection over union of all polygons of a class with its cells, for each class of each map.
        vertices : int, optional
            Most vertices of the lines of each map. Shared ones count once.
        boundary : bool
            Simplify lines between classes and cells without data, too. By default the area with data stays exactly as
            it is.

        Returns
        -------
        ClassPolygons
            From the exact lines, whatever these are.

        Raises
        ------
        InvalidInput
            There is no limit, a limit is out of range, or lines cannot have so few vertices.
        """
        return self._with(arcs=simplify_arcs(self._exact, self._goal(tolerance, iou, vertices, boundary)))

    def _goal(self, tolerance: Any, iou: Any, vertices: Any, boundary: Any) -> Goal:
        if self._is_part:
            raise InvalidInput("simplify needs all polygons of a raster. polygonize_strips has a 'tolerance' for some.")
        if tolerance is None and iou is None and vertices is None:
            raise InvalidInput("simplify needs a 'tolerance', an 'iou' or a number of 'vertices'.")
        if tolerance is not None:
            tolerance = cells_of_tolerance(tolerance, self.grid, "simplify")
        if iou is not None:
            given, iou = iou, real(iou)
            if not 0 < iou <= 1:
                raise wrong("iou", "simplify", "above 0 and at most 1", short(given))
        if vertices is not None:
            vertices = integer(vertices, "vertices", caller="simplify")
        return Goal(tolerance, iou, vertices, boolean(boundary, "boundary", caller="simplify"))

    # One geometry ---------------------------------------------------------------------------------------------------

    def _region(self, index: int) -> ClassPolygon:
        shape, value = self._some(index, index + 1), self.classes[index].item()
        (ragged,) = shape.shapes
        bounds = ragged.polygons.tolist()
        rings = np.split(ragged.places, ragged.rings[1:-1])
        parts = tuple(tuple(rings[first:last]) for first, last in zip(bounds, bounds[1:]))
        facts = int(self.maps[index]), int(self.cells[index]), float(self.areas[index])
        return ClassPolygon(parts, self.grid, value, self.names.get(value), *facts, shape)

    def of_class(self, value: IntLike | str) -> list[ClassPolygon]:
        """Return the polygons of one class, by its number or its name.

        Parameters
        ----------
        value : int or str

        Returns
        -------
        list of ClassPolygon

        Raises
        ------
        InvalidInput
            There is no such class.
        """
        keys: Any = [key for key, name in self.names.items() if name == value] if isinstance(value, str) else [value]
        found = np.flatnonzero(np.isin(self.classes, keys))
        if not len(found):
            raise wrong("value", "of_class", "a class of the raster, or its name", short(value))
        return [self._region(i) for i in found.tolist()]

    def __repr__(self) -> str:
        rows, columns = self.grid.shape
        count = counted(len(np.unique(self.classes)), "class", "classes")
        return (
            f"ClassPolygons({len(self):,} polygons of {count} of {rows} x {columns} cells, "
            f"{len(self.arcs):,} arcs of {len(self.arcs.corners):,} vertices)"
        )

    def _repr_html_(self) -> str:
        grid, few = self.grid, min(len(self), MOST_RINGS)
        upright = (1, -1 if grid.transform[4] > 0 else 1)  # rows of a raster count downwards
        made = self[:few]
        rings = [ring * upright for polygon in made for ring in polygon.rings]
        rows = [
            (one.map, one.value, "" if one.name is None else one.name, f"{len(one):,}", f"{one.area:.6g}")
            for one in made[:MOST_ROWS]
        ]
        facts = [
            ("polygons", f"{len(self):,}"),
            ("arcs", f"{len(self.arcs):,} of {len(self.arcs.corners):,} vertices"),
            ("raster", f"{grid.shape[0]:,} x {grid.shape[1]:,} cells"),
            ("CRS", "none" if grid.crs is None else grid.crs),
        ]
        picture = rings_svg(rings, filled=False, label=f"{few:,} polygons")
        return card(
            "ClassPolygons", facts, picture, table(("map", "class", "name", "vertices", "area"), rows, count=len(self))
        )

    # Exchange -------------------------------------------------------------------------------------------------------

    def to_shapely(self, *, cells: bool = False) -> NDArray[np.object_]:
        """Return all geometries as valid Shapely geometries: Polygons, and MultiPolygons of several pieces.

        Parameters
        ----------
        cells : bool
            Return columns and rows instead of map coordinates.

        Returns
        -------
        ndarray of shapely.Geometry, shape (n,)

        Raises
        ------
        InvalidInput
            Shapely is not installed.
        """
        cells = boolean(cells, "cells", caller="to_shapely")
        return self._some(0, len(self), cells=cells).to_shapely()

    def _pieces(self) -> Iterator[tuple[Ragged, Ragged]]:
        bounds = np.searchsorted(self.maps, np.arange(self.arcs.shape[0] + 1)).tolist()
        for first, last in zip(bounds, bounds[1:]):
            if first < last:
                (corners,), (own,) = (self._some(first, last, cells=cells).shapes for cells in (True, False))
                yield corners, own

    def collected(self) -> Collected:
        return self._some(0, len(self))

    def _columns(self) -> dict[str, Any]:
        return class_columns(self.classes, self.names, self.maps, self.cells, self.areas, self.grid)


def cells_of_tolerance(tolerance: Any, grid: Grid, caller: str) -> float:
    """Return the `tolerance` parameter of a public function in sides of cells."""
    distance = real(tolerance)
    if not 0 <= distance < np.inf:
        raise wrong("tolerance", caller, "a distance of 0 or more", short(tolerance))
    a, b, _, d, e, _ = grid.transform
    return distance / (float(np.linalg.norm(np.array([[a, b], [d, e]]), 2)) if b or d else max(abs(a), abs(e)))
