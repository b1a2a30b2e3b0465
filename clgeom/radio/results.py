"""Maps of received power as values: places of transmitters, pictures and files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.plan import Phase
from clgeom.errors import InvalidInput, short
from clgeom.intake.device_arrays import on_host
from clgeom.intake.typing import NDArray
from clgeom.radio.transmitters import Transmitter

if TYPE_CHECKING:
    from clgeom.region.classes.result import ClassPolygons


@keeps_subnormals
class PowerMap:
    """Base of maps of received power."""

    #: Unit of `values`.
    unit: ClassVar[str] = "dBm"
    _title = "Received power"
    if TYPE_CHECKING:  # an attribute or a property of subclasses

        @property
        def values(self) -> Any: ...

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw the map and its transmitters with Matplotlib; `CoverageRegions.plot` with ``raster=`` adds regions.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot's by default.
        title : str, optional
            By default what the map shows.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.

        Raises
        ------
        InvalidInput
            Matplotlib is not installed.
        """
        from clgeom.plotting.coverage import plot_power

        return plot_power(self, on_host(self.values), ax, self._title if title is None else title)

    def _bands(self) -> list[Any]:
        """Return the bands of a GeoTIFF of the map."""
        from clgeom.io.geotiff import Band

        return [Band("received power", on_host(self.values), self.unit)]


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class RadioMap(PowerMap):
    """Received power over an area.

    Parameters
    ----------
    values : ndarray of float32, shape (rows, columns)
        In dBm.
    transform : tuple of 6 floats
        (a, b, c, d, e, f): pixel corner (column, row) is at ``x = a column + b row + c, y = d column + e row + f``.
    crs : str or None
    transmitters : tuple of (row, column)
        In cells from the north-west corner of the map.

    Examples
    --------
    >>> from clgeom import radio
    >>> made = radio.coverage_map((16, 32), pixel=100, crs="EPSG:32632")
    >>> made.values.shape, made.transform, made.crs
    ((16, 32), (100.0, 0.0, 0.0, 0.0, -100.0, 0.0), 'EPSG:32632')
    """

    values: NDArray[np.float32]
    transform: tuple[float, ...]
    crs: str | None
    transmitters: tuple[tuple[float, float], ...]

    def to_file(self, path: str | PathLike[str]) -> None:
        """Write the map to a GeoTIFF (.tif, .tiff), whole or not at all, with its place and reference system.

        Its band "received power" has float32, the unit dBm, and NaN as the value of cells without data.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        InvalidInput
            The file cannot be written, or rasterio is not installed.

        Examples
        --------
        >>> import tempfile
        >>> from clgeom import radio
        >>> from clgeom.io.rasters import read_raster
        >>> made = radio.coverage_map((16, 32), pixel=100, crs="EPSG:32632")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made.to_file(f"{folder}/power.tif")
        ...     read_raster(f"{folder}/power.tif").unit
        'dBm'
        """
        from clgeom.io.geotiff import write_geotiff

        write_geotiff(path, self._bands(), self.transform, self.crs)

    def __repr__(self) -> str:
        known, (rows, columns) = self.values[~np.isnan(self.values)], self.values.shape
        powers = f"{known.min():.1f} to {known.max():.1f} dBm" if known.size else "nothing received"
        return f"RadioMap({rows} x {columns} cells of {self.transform[0]:g}, {powers})"

    @property
    def sites(self) -> list[tuple[float, float]]:
        """Positions of the transmitters in the coordinates of the map."""
        a, b, c, d, e, f = self.transform
        return [(a * x + b * y + c, d * x + e * y + f) for y, x in self.transmitters]


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class ServerMap(PowerMap):
    """The best server of every cell: the result of `best_server`.

    Parameters
    ----------
    power_dbm : ndarray of float32 or pyopencl.array.Array, shape (rows, columns)
        The greatest received power; NaN where no transmitter is received, as beyond the `range_m` of all.
    server : ndarray of int16 or pyopencl.array.Array, shape (rows, columns)
        The index of its transmitter; -1 where the power is below the sensitivity.
    carrier_to_interference_db : ndarray of float32 or pyopencl.array.Array, shape (rows, columns)
        The ratio of that power to the sum of all others, and of the noise if it is given, in dB; infinite without
        either, NaN where `server` is -1.
    transform : tuple of 6 floats
    crs : object
    transmitters : tuple of Transmitter
    phases : tuple of Phase

    Examples
    --------
    >>> from clgeom import radio
    >>> pair = [radio.Transmitter(200, 500), radio.Transmitter(800, 500)]
    >>> made = radio.best_server(pair, shape=(100, 100), transform=(10, 0, 0, 0, -10, 1000), model="free-space")
    >>> made.server[50, [0, 99]].tolist(), made.values is made.power_dbm
    ([0, 1], True)
    """

    power_dbm: Any
    server: Any
    carrier_to_interference_db: Any
    transform: tuple[float, ...]
    crs: Any
    transmitters: tuple[Transmitter, ...]
    phases: tuple[Phase, ...] = ()
    _title = "Received power of the best server"

    @property
    def values(self) -> Any:
        """`power_dbm`, by the name that rasters have elsewhere."""
        return self.power_dbm

    @property
    def sites(self) -> list[tuple[float, float]]:
        """Positions of the transmitters in the coordinates of the map."""
        return [(one.x, one.y) for one in self.transmitters]

    def polygons(self) -> ClassPolygons:
        """Return the polygons of the cells that each transmitter serves, along the cells, without gaps and overlaps.

        Returns
        -------
        clgeom.ClassPolygons
            A polygon for each connected part of the cells of a transmitter, whose index is the class; tables and files
            have its name. The method `dissolve` gives one geometry a transmitter, `simplify` fewer vertices.

        Examples
        --------
        >>> from clgeom import radio
        >>> pair = [radio.Transmitter(200, 500, name="west"), radio.Transmitter(800, 500, name="east")]
        >>> made = radio.best_server(pair, shape=(100, 100), transform=(10, 0, 0, 0, -10, 1000), model="free-space")
        >>> made.polygons().to_pandas()[["name", "cells"]].values.tolist()
        [['west', 5000], ['east', 5000]]
        """
        from clgeom.region.classes.polygonize import polygonize

        names = dict(enumerate(self.names))
        return polygonize(on_host(self.server), names=names, transform=self.transform, crs=self.crs, nodata=-1)

    def to_file(self, path: str | PathLike[str], *, layer: str | None = None) -> None:
        """Write the maps to a GeoTIFF, or the polygons of the servers to a vector file, whole or not at all.

        A GeoTIFF has three bands of float32: "server", the index of the transmitter, whose name is the band's tag
        ``SERVER_<index>``; "received power" in dBm; "carrier to interference" in dB. NaN marks cells without a value,
        so that cells without a server have NaN in the first band and the third.

        Parameters
        ----------
        path : path-like
            A GeoTIFF ends in .tif or .tiff. Other endings are those of `polygons`, such as .gpkg and .geojson.
        layer : str, optional
            Name of the layer of a GeoPackage; the name of the file by default.

        Raises
        ------
        InvalidInput
            The file cannot be written, a package is missing, or .geojson and .kml without a `crs`.

        Examples
        --------
        >>> import tempfile
        >>> from clgeom import radio
        >>> from clgeom.io.rasters import read_raster
        >>> pair = [radio.Transmitter(200, 500), radio.Transmitter(800, 500)]
        >>> made = radio.best_server(pair, shape=(100, 100), transform=(10, 0, 0, 0, -10, 1000), model="free-space")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made.to_file(f"{folder}/servers.tif")
        ...     read_raster(f"{folder}/servers.tif", band=1).values[50, [0, 99]].tolist()
        [0.0, 1.0]
        """
        from clgeom.io.atomic import check_output
        from clgeom.io.geotiff import GEOTIFF, write_geotiff
        from clgeom.io.outputs import GEOMETRIES

        if check_output(path, (*GEOTIFF, *GEOMETRIES)).suffix.lower() not in GEOTIFF:
            self.polygons().to_file(path, layer=layer)
            return
        if layer is not None:
            raise InvalidInput(f"The 'layer' parameter is for .gpkg. Got the file {short(os.fspath(path))} instead.")
        write_geotiff(path, self._bands(), self.transform, self.crs)

    def _bands(self) -> list[Any]:
        from clgeom.io.geotiff import Band

        server = on_host(self.server)
        tags = {f"SERVER_{index}": name for index, name in enumerate(self.names)}
        ratio = on_host(self.carrier_to_interference_db)
        return [
            Band("server", np.where(server < 0, np.float32(np.nan), server.astype(np.float32)), "", tags),
            *super()._bands(),
            Band("carrier to interference", ratio, "dB"),
        ]

    @property
    def names(self) -> list[str]:
        """Names of the transmitters; "transmitter 3" for one without a name at index 3."""
        return [one.name or f"transmitter {index}" for index, one in enumerate(self.transmitters)]

    def __repr__(self) -> str:
        rows, columns = self.power_dbm.shape
        return f"ServerMap({rows} x {columns} cells, {len(self.transmitters)} transmitters)"
