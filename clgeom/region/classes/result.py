"""Polygons of the classes of a raster as values: simplification, tables, files and figures."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from clgeom.arguments import boolean, integer, real, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import counted
from clgeom.errors import InvalidInput, short
from clgeom.geo.ragged import Collected
from clgeom.intake.typing import FloatLike, IntLike, NDArray
from clgeom.markup import MOST_RINGS, MOST_ROWS, card, rings_svg, table
from clgeom.region.classes.faces import Faces
from clgeom.region.classes.polygon import ClassPolygon
from clgeom.region.classes.simplify import Goal, simplify_arcs

if TYPE_CHECKING:
    from clgeom.io.features import Written


@keeps_subnormals
class ClassPolygons(Faces, Sequence[ClassPolygon]):
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
    """

    def _with(self, **changed: Any) -> ClassPolygons:
        """The same polygons of other arcs, or in other geometries."""
        own: dict[str, Any] = {"names": self.names, "phases": self.phases, "owners": self._owners}
        own |= {"arcs": self.arcs, "exact": self._exact, **changed}
        made = ClassPolygons(grid=self.grid, **own)
        made.peak = self.peak
        return made

    # Other polygons -------------------------------------------------------------------------------------------------

    def dissolve(self) -> ClassPolygons:
        """Return one geometry for each class of a map: a MultiPolygon where it has several pieces.

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
        if tolerance is None and iou is None and vertices is None:
            raise InvalidInput("simplify needs a 'tolerance', an 'iou' or a number of 'vertices'.")
        if tolerance is not None:
            given, tolerance = tolerance, real(tolerance)
            if not 0 <= tolerance < np.inf:
                raise wrong("tolerance", "simplify", "a distance of 0 or more", short(given))
            a, b, _, d, e, _ = self.grid.transform
            tolerance /= float(np.linalg.norm(np.array([[a, b], [d, e]]), 2))
        if iou is not None:
            given, iou = iou, real(iou)
            if not 0 < iou <= 1:
                raise wrong("iou", "simplify", "above 0 and at most 1", short(given))
        if vertices is not None:
            vertices = integer(vertices, "vertices", caller="simplify")
        return Goal(tolerance, iou, vertices, boolean(boundary, "boundary", caller="simplify"))

    # One geometry ---------------------------------------------------------------------------------------------------

    @overload
    def __getitem__(self, index: int) -> ClassPolygon: ...
    @overload
    def __getitem__(self, index: slice) -> list[ClassPolygon]: ...
    def __getitem__(self, index: int | slice) -> ClassPolygon | list[ClassPolygon]:
        if isinstance(index, slice):
            return [self._polygon(i) for i in range(*index.indices(len(self)))]
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"There are {len(self)} polygons, and no polygon {index}.")
        return self._polygon(index % len(self))

    def _polygon(self, index: int) -> ClassPolygon:
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
        return [self._polygon(i) for i in found.tolist()]

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

    def to_geojson(self, *, crs: Any = None, densify: FloatLike | None = None) -> str:
        """Return the text of a GeoJSON FeatureCollection in longitude and latitude.

        Parameters
        ----------
        crs, densify : optional
            As for `to_file`.

        Returns
        -------
        str
        """
        from clgeom.io.classes import classes_geojson

        return classes_geojson(self, self._system(crs, "to_geojson"), densify)

    def to_file(  # type: ignore[override]  # it has no levels
        self,
        path: str | PathLike[str],
        *,
        crs: Any = None,
        layer: str | None = None,
        densify: FloatLike | None = None,
    ) -> Written:
        """Write polygons and their attributes to a file. An error leaves no partial file.

        Attributes are id, class, name (if there are names), map, cells, cells_area, area, and area_km2 (on the
        ellipsoid, missing without a `crs`).

        Parameters
        ----------
        path : path-like
            Its ending chooses the format: .gpkg (GeoPackage), .fgb (FlatGeobuf), .shp (Shapefile), .parquet
            (GeoParquet), .csv (with WKT), .wkt (lines), .geojson, .json or .kml. The last three are in longitude and
            latitude: polygons are reprojected from `crs`, and neighbours keep their common boundaries to the bit.
        crs : optional
            Coordinate reference system of the coordinates, as anything that pyproj takes; the result's own by default.
        layer : str, optional
            Name of the layer of a GeoPackage; the name of the file by default.
        densify : float, optional
            Largest distance in metres of an edge from its curve in longitude and latitude; by default a 128th of the
            side of a cell.

        Returns
        -------
        Written
            The number of `vertices` that were written, and of those `added`.

        Raises
        ------
        InvalidInput
            The file cannot be written, the format cannot hold the geometries, a package is missing, or the coordinates
            are not longitude and latitude and there is no reference system.
        """
        from clgeom.io.classes import write_classes

        return write_classes(self, path, crs=self._system(crs, "to_file"), layer=layer, densify=densify)

    def collected(self) -> Collected:
        """Return the geometries in map coordinates as files have them.

        Returns
        -------
        clgeom.geo.ragged.Collected
        """
        return self._some(0, len(self))

    def in_degrees(self, crs: Any, *, caller: str, densify: FloatLike | None = None) -> Collected:
        """Return the geometries in longitude and latitude; common boundaries stay common.

        Parameters
        ----------
        crs : object or None
            Of the coordinates; None if they are longitude and latitude.
        caller : str
            The action, for messages.
        densify : float, optional
            Largest distance of an edge from its curve, in metres.

        Returns
        -------
        clgeom.geo.ragged.Collected

        Raises
        ------
        InvalidInput
            The coordinates are not longitude and latitude, and there is no reference system to reproject them from.
        """
        from clgeom.geo.degrees import Sheets, in_degrees

        made, resolution = [], math.sqrt(self.grid.cell_area)
        bounds = np.searchsorted(self.maps, np.arange(self.arcs.shape[0] + 1)).tolist()
        for first, last in zip(bounds, bounds[1:]):
            if first == last:
                continue
            (corners,), (own,) = (self._some(first, last, cells=cells).shapes for cells in (True, False))
            oriented = corners.reversed() if self.grid.determinant < 0 else corners
            none = np.zeros(len(own), np.int64)
            sheets = Sheets(oriented, none, none, apart=True)
            made.append(in_degrees(own, crs, caller=caller, resolution=resolution, densify=densify, sheets=sheets))
        return Collected(made, self.geometry_offsets)

    def _columns(self) -> dict[str, Any]:
        named = {}
        if self.names:
            named["name"] = np.array([self.names.get(value) for value in self.classes.tolist()], object)
        return {
            "id": np.arange(1, len(self) + 1),
            "class": self.classes,
            **named,
            "map": self.maps,
            "cells": self.cells,
            "cells_area": self.cells * self.grid.cell_area,
            "area": self.areas,
        }

    def _columns_of_files(self, crs: Any) -> dict[str, Any]:
        from clgeom.optional import is_installed

        known = crs is not None and is_installed("pyproj")
        try:
            return {"area_km2": self._in_km2(crs) if known else np.full(len(self), np.nan)}
        except InvalidInput:  # the system cannot express one of them
            return {"area_km2": np.full(len(self), np.nan)}

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:  # type: ignore[override]
        """Draw all polygons with Matplotlib, with a colour for each class.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot's by default.
        title : str, optional

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.

        Raises
        ------
        InvalidInput
            Matplotlib is not installed.
        """
        from clgeom.plotting.classes import plot_classes

        return plot_classes(self, ax, title=title)
