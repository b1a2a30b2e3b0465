"""Files, tables and figures of polygons of classes: of one of them, and of all."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.geo.ragged import Collected, Ragged
from clgeom.intake.typing import FloatLike, NDArray
from clgeom.region.coverage.drawn import OnMap
from clgeom.region.coverage.grid import Grid

if TYPE_CHECKING:
    from clgeom.io.features import Written


@keeps_subnormals
class ClassesOnMap(OnMap):
    """Base of polygons of classes with their place on a map."""

    @abstractmethod
    def _pieces(self) -> Iterator[tuple[Ragged, Ragged]]:
        """Yield the polygons of each map, in columns and rows and in map coordinates."""

    def to_geojson(self, *, crs: Any = None, densify: FloatLike | None = None) -> str:
        """Return the text of a GeoJSON FeatureCollection in longitude and latitude.

        Parameters
        ----------
        crs, densify : optional
            As for `to_file`.

        Returns
        -------
        str

        Raises
        ------
        InvalidInput
            A package is missing, or the coordinates are not longitude and latitude and there is no reference system.
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

        Attributes are id, class, name (if there are names), map, map_name (if maps have names), cells, cells_area,
        area, and area_km2 (on the ellipsoid, missing without a `crs`).

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

    @abstractmethod
    def collected(self) -> Collected:
        """Return the geometries in map coordinates as files have them.

        Returns
        -------
        clgeom.geo.ragged.Collected
        """

    def in_degrees(
        self, crs: Any, *, caller: str, densify: FloatLike | None = None, finer: int | None = None
    ) -> Collected:
        """Return the geometries in longitude and latitude.

        Parameters
        ----------
        crs : object
            The reference system of the map.
        caller : str
            Whom an error names.
        densify : float, optional
            Metres that an edge may be off its place.
        finer : int, optional
            How much finer than usual edges are cut, for all polygons of a map alike.

        Returns
        -------
        clgeom.geo.ragged.Collected

        Raises
        ------
        InvalidInput
            The map covers a pole, or has places that the reference system does not know.
        """
        from clgeom.geo.degrees import FINER, Frame, NotApart, Sheets, in_degrees

        made, resolution = [], math.sqrt(self.grid.cell_area)
        places = self._places_of_all()
        for corners, own in self._pieces():
            oriented = corners.reversed() if self.grid.determinant < 0 else corners
            none = np.zeros(len(own), np.int64)
            how: dict[str, Any] = {"sheets": Sheets(oriented, none, none, apart=True), "densify": densify}
            how |= {"caller": caller, "resolution": resolution}
            if places is None:
                made.append(in_degrees(own, crs, **how))
                continue
            for number in range(len(FINER)) if finer is None else (finer,):
                try:
                    made.append(in_degrees(own, crs, **how, frame=Frame(places, number)))
                    break
                except NotApart:
                    if finer is not None:
                        raise
        return Collected(made, self.collected().offsets)

    def _places_of_all(self) -> NDArray[np.float64] | None:
        """Return places all over the map if other polygons of it are elsewhere; None if all are here."""
        return None

    def _columns_of_files(self, crs: Any) -> dict[str, Any]:
        from clgeom.io.attributes import areas_in_km2

        return {"area_km2": areas_in_km2(self._regions, crs)}

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


def class_columns(
    classes: NDArray[Any], names: Mapping[Any, Any], maps: Any, cells: Any, areas: Any, grid: Grid
) -> dict[str, Any]:
    """Return the values of polygons of classes as columns of tables."""
    named = {"name": np.array([names.get(value) for value in classes.tolist()], object)} if names else {}
    return {
        "id": np.arange(1, len(classes) + 1),
        "class": classes,
        **named,
        "map": maps,
        **({"map_name": np.array(grid.names, object)[maps]} if grid.names else {}),
        "cells": cells,
        "cells_area": cells * grid.cell_area,
        "area": areas,
    }
