"""Base of the results of coverage: their place on a map, and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.exchange import Exchange
from clgeom.geo.geodesy import as_crs, shown
from clgeom.intake.typing import FloatLike
from clgeom.region.coverage.grid import IDENTITY, Grid

if TYPE_CHECKING:
    from os import PathLike

    from clgeom.io.features import Written


@keeps_subnormals
class OnMap(Exchange):
    """Results in coordinates of a map, which are written with the attributes of their levels."""

    grid: Grid

    @property
    def crs(self) -> Any:
        """Coordinate reference system of the raster, or None."""
        return self.grid.crs

    def to_file(  # type: ignore[override]  # it also returns what was written
        self,
        path: str | PathLike[str],
        *,
        crs: Any = None,
        layer: str | None = None,
        unit: str | None = None,
        densify: FloatLike | None = None,
    ) -> Written:
        """Write polygons and their attributes to a file. An error leaves no partial file.

        Attributes are id, level, dbm (if the unit is dBm), unit, label, direction, map, part, cells, cells_area, area,
        area_km2 (on the ellipsoid, missing without a `crs`), and segments for outlines of segments.

        Parameters
        ----------
        path : path-like
            Its ending chooses the format: .gpkg (GeoPackage), .fgb (FlatGeobuf), .shp (Shapefile), .parquet
            (GeoParquet), .csv (with WKT), .wkt (lines), .geojson, .json or .kml. The last three are in longitude and
            latitude: polygons are reprojected from `crs`. Without one their coordinates must be longitude and latitude,
            not columns and rows. A .kml file has a folder and a colour for each level; programs read it as a layer.
        crs : optional
            Coordinate reference system of the coordinates, as anything that pyproj takes; the result's own by default.
        layer : str, optional
            Name of the layer of a GeoPackage; the name of the file by default.
        unit : str, optional
            Unit of the levels; by default that of the raster, if it came with one. "" for none.
        densify : float, optional
            Largest distance in metres of an edge from its curve in longitude and latitude; by default a 128th of the
            side of a cell. Vertices are added to edges until they are that close. More metres add fewer vertices.
            Polygons are moved outwards by twice the largest distance that remains, so that they cover every cell;
            those of ``apart=True`` are not moved, and may lack that much of a cell at an edge.

        Returns
        -------
        Written
            The number of `vertices` that were written, and of those `added`.

        Raises
        ------
        InvalidInput
            The file cannot be written, the format cannot hold the geometries, a package is missing, or the coordinates
            are not longitude and latitude and there is no reference system. For columns and rows with a system in
            metres.

        Examples
        --------
        >>> import clgeom, numpy as np, tempfile
        >>> polygons = clgeom.raster_outlines(np.eye(3), 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     polygons.to_file(f"{folder}/diagonal.csv")
        Written(vertices=12, added=0)
        """
        from clgeom.io.features import write_regions

        regions: Any = self if hasattr(self, "__getitem__") else [self]
        return write_regions(regions, path, crs=self._system(crs, "to_file"), layer=layer, unit=unit, densify=densify)

    def _columns(self) -> dict[str, Any]:
        from clgeom.io.attributes import columns_of

        columns: dict[str, Any] = columns_of(self if hasattr(self, "__getitem__") else [self])
        return columns

    def _columns_on_earth(self, crs: Any) -> dict[str, Any]:
        from clgeom.io.attributes import areas_in_km2

        return {"area_km2": areas_in_km2(self if hasattr(self, "__getitem__") else [self], crs)}

    def _system(self, crs: Any, caller: str) -> Any:
        """`Exchange._system`; refuses columns and rows as metres of a projection."""
        found = super()._system(crs, caller)
        if self.crs is None and found is not None and self.grid.transform == IDENTITY:
            if not as_crs(found, caller=caller).is_geographic:
                raise InvalidInput(
                    f"{caller} cannot place columns and rows in {shown(found)}. Pass 'transform' and 'crs' to the "
                    "function that made the result."
                )
        return found
