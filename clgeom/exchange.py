"""Conversion of results to tables of other packages and to files.

Shapely, pandas, GeoPandas and PyArrow are imported when they are needed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import short
from clgeom.geo.geodesy import as_crs, same_crs
from clgeom.optional import require, require_shapely

if TYPE_CHECKING:
    from os import PathLike

    from clgeom.io.atomic import NewFile

#: Names of columns of results, and of columns that formats add. A column of labels gets none of these names.
TAKEN = frozenset(
    "points area perimeter segments map part level direction cells cells_area geometry geom fid ogc_fid id index "
    "label".split()
)


@keeps_subnormals
class Exchange(ABC):
    """Methods that convert results, which have one geometry or a geometry for each row.

    A subclass has `to_shapely` (a geometry or an array of them), `__geo_interface__`, `_columns` (arrays of values by
    name), `crs`, and `_labels` if rows have labels.
    """

    @property
    def _more_formats(self) -> tuple[str, ...]:
        """Endings of files beside those of all geometries."""
        return ()

    if TYPE_CHECKING:  # an attribute or a property of subclasses

        @property
        def crs(self: Any) -> Any: ...

        @property
        def __geo_interface__(self: Any) -> dict[str, Any]: ...

    @abstractmethod
    def to_shapely(self) -> Any:
        """Return the result as a valid Shapely geometry, or as an array of them if it has several.

        Returns
        -------
        shapely.Geometry, or ndarray of shapely.Geometry

        Raises
        ------
        InvalidInput
            Shapely is not installed.
        """

    @abstractmethod
    def _columns(self) -> dict[str, Any]:
        """Return arrays of values by name."""

    def _columns_of_files(self, crs: Any) -> dict[str, Any]:
        """Further values of tables with geometries; `crs` is None if there is no coordinate reference system."""
        return {}

    def _labels(self) -> dict[str, Any]:
        """Return columns of the labels of rows: ndarrays, pandas indices or PyArrow arrays."""
        return {}

    def _all_columns(self, crs: Any) -> dict[str, Any]:
        return self._labels() | self._columns() | self._columns_of_files(crs)

    def to_wkb(self) -> Any:
        """Well-known binary of the geometries.

        Returns
        -------
        bytes, or ndarray of bytes objects
            Bytes for a result with one geometry; for several an array of them.

        Raises
        ------
        InvalidInput
            Shapely is not installed.
        """
        return require_shapely().to_wkb(self.to_shapely())

    def to_pandas(self) -> Any:
        """Return the values of each row, without geometries, as a pandas DataFrame. Labels become its index.

        The columns are those of `to_geopandas`.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        InvalidInput
            pandas is not installed.
        """
        require("pandas", "to_pandas")
        return self._frame(self.crs)

    def _frame(self, crs: Any) -> Any:
        import pandas

        labels = [_as_index(pandas, column).rename(name) for name, column in self._labels().items()]
        index = labels[0] if len(labels) == 1 else pandas.MultiIndex.from_arrays(labels) if labels else None
        values = self._columns() | self._columns_of_files(crs)
        columns = {name: _as_series(pandas, column) for name, column in values.items()}
        return pandas.DataFrame(columns, index=index, copy=False)

    def to_geopandas(self, *, crs: Any = None) -> Any:
        """Return the values of each row and the geometries, as a GeoDataFrame. Labels become its index.

        Regions of a map have the attributes that their files have. One is "area_km2": the area on the ellipsoid,
        missing without a `crs`.

        Parameters
        ----------
        crs : optional
            Coordinate reference system of the coordinates, as anything that pyproj takes; the result's own by default.

        Returns
        -------
        geopandas.GeoDataFrame

        Raises
        ------
        InvalidInput
            pyproj does not know the `crs` or is not installed; or GeoPandas is not installed.
        """
        crs = self._system(crs, "to_geopandas")
        require("GeoPandas", "to_geopandas")
        import geopandas

        frame = self._frame(crs)
        shapes = geopandas.array.from_shapely(self._shapes(), crs=crs)
        return geopandas.GeoDataFrame(frame, geometry=geopandas.GeoSeries(shapes, index=frame.index))

    def to_arrow(self, *, crs: Any = None) -> Any:
        """Labels, values and geometries as an Arrow table.

        Parameters
        ----------
        crs : optional
            As in `to_geopandas`.

        Returns
        -------
        pyarrow.Table
            Its column "geometry" holds well-known binary of GeoArrow's extension type "geoarrow.wkb". Its schema has
            the metadata of GeoParquet.

        Raises
        ------
        InvalidInput
            pyproj does not know the `crs` or is not installed; or PyArrow or Shapely is not installed.
        """
        crs = self._system(crs, "to_arrow")
        require("PyArrow", "to_arrow")
        from clgeom.io.vector import geo_table

        return geo_table(self._all_columns(crs), self._shapes(), crs)

    def to_file(self, path: str | PathLike[str], *, crs: Any = None, layer: str | None = None) -> None:
        """Write labels, values and geometries to a file. An error leaves no partial file.

        Parameters
        ----------
        path : path-like
            Its ending chooses the format: .gpkg (GeoPackage), .fgb (FlatGeobuf), .shp (Shapefile), .parquet
            (GeoParquet), .csv, .wkt, .geojson, .json or .kml. The last three are in longitude and latitude: geometries
            are reprojected from `crs`; without one their coordinates must be longitude and latitude. A .wkt file has a
            line for each geometry, a .csv file of hulls a line for each vertex (index, x, y), and a .csv file of a
            region its WKT. A `Hull` is also written to .npy (coordinates of the vertices) and .npz (arrays "vertices"
            and "points").
        crs : optional
            As in `to_geopandas`.
        layer : str, optional
            Name of the layer of a GeoPackage; the name of the file by default.

        Raises
        ------
        InvalidInput
            The file cannot be written, the format cannot hold the geometries, or a package is missing.
        """
        from clgeom.io.atomic import check_output, new_file
        from clgeom.io.outputs import GEOMETRIES
        from clgeom.io.vector import check_layer

        crs = self._system(crs, "to_file")
        check_output(path, (*GEOMETRIES, *self._more_formats))
        check_layer(path, layer)
        with new_file(path) as file:
            self._write(file, crs, layer)

    def _write(self, file: NewFile, crs: Any, layer: str | None = None) -> None:
        """Write a new file, in a format that `to_file` takes."""
        from clgeom.geo.longitudes import require_latitudes, turn_of_crs
        from clgeom.io.features import write_result
        from clgeom.io.outputs import GEOJSON, MAPS
        from clgeom.io.vector import require_packages

        if file.suffix not in (*GEOJSON, *MAPS):
            self._write_text(file, crs)
            return
        require_packages(file.given)
        turn = turn_of_crs(crs)
        if turn is not None:
            require_latitudes(require_shapely().get_coordinates(self._shapes())[:, 1], turn, file.given)
        write_result(file, self._all_columns(crs), self._shapes(), crs, layer=layer)

    def _write_text(self, file: NewFile, crs: Any) -> None:
        """Write a .csv, .wkt or .kml file, or one of `_more_formats`."""
        from clgeom.io.hulls import write_row

        write_row(self._columns(), self.__geo_interface__, file, crs=crs)

    def _shapes(self) -> Any:
        """Return geometries of the rows, as an array."""
        return np.atleast_1d(np.asarray(self.to_shapely(), object))

    def _system(self, crs: Any, caller: str) -> Any:
        """Return `crs`, or the coordinate reference system of the result if that is None."""
        if crs is not None:
            as_crs(crs, caller=caller)
        if crs is not None and self.crs is not None and not same_crs(crs, self.crs):
            expected = f"that of the result, {short(str(self.crs))}"
            raise wrong("crs", caller, expected, short(crs), hint="Reproject with to_geopandas().to_crs(...).")
        return self.crs if crs is None else crs


def label_columns(column: Any, name: str | None) -> dict[str, Any]:
    """Return columns of labels by name; a pandas MultiIndex becomes one for each level."""
    if getattr(column, "nlevels", 1) > 1:
        names = [_free(own, f"label_{i}") for i, own in enumerate(column.names)]
        return {own: column.get_level_values(i) for i, own in enumerate(names)}
    return {_free(name, "label"): column}


def _free(name: Any, default: Any) -> Any:
    """Return the name if files and tables can have such a column, else the default."""
    usable = isinstance(name, str) and name and not re.search("[\0\ud800-\udfff]", name)
    return name if usable and name.strip().lower() not in TAKEN else default


def json_values(labels: Any) -> list[Any]:
    """Return labels as values that JSON holds: dates and other objects as text, null for infinity."""
    from clgeom.io.outputs import json_value

    if labels.dtype.kind in "mM":
        return np.datetime_as_string(labels).tolist() if labels.dtype.kind == "M" else labels.astype(str).tolist()
    return [json_value(value) for value in labels.tolist()]


def _as_index(pandas: Any, column: Any) -> Any:
    if getattr(column, "dtype", None) == np.float16:  # pandas has no index of float16
        column = column.astype(np.float32)
    try:
        return pandas.Index(column.to_pandas() if hasattr(column, "to_pylist") else column)
    except UnicodeEncodeError:  # half a pair of surrogates, which pandas' type of text cannot hold
        return pandas.Index(column, dtype=object)


def _as_series(pandas: Any, values: np.ndarray) -> Any:
    """Return values for a column of a frame; masked integers get pandas' nullable type."""
    if isinstance(values, np.ma.MaskedArray):
        return pandas.arrays.IntegerArray(values.data, np.ma.getmaskarray(values))
    return values
