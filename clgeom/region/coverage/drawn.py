"""Bases of one region and of all regions of coverage: their place on a map, files and figures."""

from __future__ import annotations

import functools
import operator
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from os import PathLike
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.plan import Phase
from clgeom.errors import InvalidInput
from clgeom.exchange import Exchange
from clgeom.geo.geodesy import area_km2, as_crs, axes_of_crs, shown
from clgeom.geo.geojson import polygons_in
from clgeom.geo.smooth import checked_rounds, with_smooth_outlines
from clgeom.intake.chunks import Peak
from clgeom.intake.device_arrays import on_host
from clgeom.intake.interop.rasters import Raster, chosen_unit, is_data_array, is_dataset, placed_raster
from clgeom.intake.interop.strips import Strips
from clgeom.intake.typing import FloatLike, IntLike, NDArray
from clgeom.markup import MOST_RINGS, MOST_ROWS, card, rings_svg, table
from clgeom.region.coverage.grid import IDENTITY, Grid
from clgeom.region.coverage.named import opened
from clgeom.region.coverage.rasters import known_values, level_index

#: Most rows and columns of the image of a raster that is read by strips.
MOST_PIXELS = 2048

if TYPE_CHECKING:
    from clgeom.io.features import Written

Region = TypeVar("Region")


@keeps_subnormals
class OnMap(Exchange):
    """Results in coordinates of a map, which are written with the attributes of their levels."""

    grid: Grid

    @property
    def crs(self) -> Any:
        """Coordinate reference system of the raster, or None."""
        return self.grid.crs

    @property
    def _regions(self) -> Any:
        """The region in a list, or all regions."""
        return self if isinstance(self, Sequence) else [self]

    def to_file(  # type: ignore[override]  # it also returns what was written
        self,
        path: str | PathLike[str],
        *,
        crs: Any = None,
        layer: str | None = None,
        unit: str | None = None,
        densify: FloatLike | None = None,
        smooth: IntLike = 0,
    ) -> Written:
        """Write polygons and their attributes to a file. An error leaves no partial file.

        Attributes are id, name (of maps that have names), level, dbm (if the unit is dBm), unit, label, direction, map,
        part, cells, cells_area, area, area_km2 (on the ellipsoid, missing without a `crs`), and segments for outlines
        of segments. Tables have the same columns.

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
        smooth : int
            Rounds in which corners are cut (Chaikin), for presentation: 2 look smooth. Such outlines are not exact:
            they miss parts of cells, and neighbours may overlap. Attributes are those of the exact outlines.

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

        how: dict[str, Any] = {"layer": layer, "unit": unit, "densify": densify, "smooth": smooth}
        return write_regions(self._regions, path, crs=self._system(crs, "to_file"), **how)

    def in_degrees(self, crs: Any, *, caller: str, densify: FloatLike | None = None) -> Any:
        """Return the polygons in longitude and latitude, or None if they are no arrays.

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
        clgeom.geo.degrees.InDegrees, clgeom.geo.ragged.Collected for classes, or None
            Common boundaries of classes stay common.

        Raises
        ------
        InvalidInput
            The coordinates are not longitude and latitude, and there is no reference system to reproject them from.
        """

    def _columns(self) -> dict[str, Any]:
        from clgeom.io.attributes import columns_of

        columns: dict[str, Any] = columns_of(self._regions)
        return columns

    def _columns_of_files(self, crs: Any) -> dict[str, Any]:
        from clgeom.io.attributes import attributes_of

        unit = chosen_unit(None, self._regions, caller="to_geopandas")
        found = attributes_of(self._regions, unit=unit, crs=crs)
        own = self._columns()
        return {name: values for name, values in found.items() if name not in own}

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

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the region, or all regions, with Matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot's by default.
        **options
            raster : array_like, dataset of rasterio, name of a file, or object with `values` and `transform`, to be
            drawn below; unit : str, of the values;
            title : str; sites : positions of transmitters in map coordinates; smooth : int, as for `to_file`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.

        Raises
        ------
        InvalidInput
            Matplotlib is not installed, or `raster` is not one of numbers.
        """
        return plot_regions(self._regions, ax=ax, **options)

    def to_html(
        self,
        path: str | PathLike[str],
        *,
        raster: Any = None,
        unit: str | None = None,
        title: str | None = None,
        sites: Sequence[tuple[float, float]] | None = None,
    ) -> None:
        """Write a map to an .html file that needs no network. An error leaves no partial file.

        The page pans, zooms, shows and hides levels or classes, and tells the attributes of a part that is clicked.

        Parameters
        ----------
        path : path-like
        raster : array_like, dataset of rasterio, name of a file, or object with `values` and `transform`, optional
            Drawn below the polygons; such as a RadioMap, whose transmitters are marked, or the array that they are of.
            Needs Matplotlib.
        unit : str, optional
            Unit of the levels, or of `raster`; by default that of the raster of the result, if it came with one.
        title : str, optional
        sites : sequence of (float, float), optional
            Positions of transmitters in map coordinates; by default those of `raster`.

        Raises
        ------
        InvalidInput
            There is nothing to draw, or the file cannot be written.
        """
        save_html(self._regions, path, raster=raster, unit=unit, title=title, sites=sites)


@keeps_subnormals
class MapRegion(OnMap):
    """Base of a region of a map."""

    @property
    def area_km2(self) -> float:
        """The area in km2 on the ellipsoid of the `crs`, without the distortion of its projection; needs pyproj.

        In a local system, which has no position on the earth, the area in its plane.
        """
        return area_km2(self)

    @property
    def transform(self) -> tuple[float, ...]:
        """(a, b, c, d, e, f) from columns and rows to map coordinates."""
        return self.grid.transform

    @abstractmethod
    def to_shapely(self, *, cells: bool = False) -> Any:
        """Return the region as a valid Shapely geometry: a Polygon, or what remains after its holes are cut out.

        Parameters
        ----------
        cells : bool
            Return columns and rows instead of map coordinates.

        Returns
        -------
        shapely.Geometry
            An empty Polygon where nothing is covered.

        Raises
        ------
        InvalidInput
            Shapely is not installed.
        """


@keeps_subnormals
class MapShapes(OnMap, Sequence[Region]):
    """Base of all regions, or polygons, of a raster; an index makes one of them."""

    phases: tuple[Phase, ...]
    peak: Peak | None = None
    _noun = "polygon"  # for messages

    @abstractmethod
    def _region(self, index: int) -> Region:
        """Return a region by its index, which is in range."""

    @overload
    def __getitem__(self, index: int) -> Region: ...
    @overload
    def __getitem__(self, index: slice) -> list[Region]: ...
    def __getitem__(self, index: int | slice) -> Region | list[Region]:
        if isinstance(index, slice):
            return [self._region(i) for i in range(*index.indices(len(self)))]
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"There are {len(self)} {self._noun}s, and no {self._noun} {index}.")
        return self._region(index % len(self))

    @functools.cached_property
    def areas_km2(self) -> NDArray[np.float64]:
        """The areas on the ellipsoid of the `crs` in km2, without holes, shape (n,); needs pyproj."""
        return self.in_km2(self.crs)

    @abstractmethod
    def in_km2(self, crs: Any) -> NDArray[np.float64]:
        """Return the areas on the ellipsoid of a coordinate reference system, in which the vertices are.

        Parameters
        ----------
        crs : object
            As anything that pyproj takes.

        Returns
        -------
        ndarray of float64, shape (n,)
            In km2, without holes.

        Raises
        ------
        InvalidInput
            There is no reference system, or pyproj does not know it or is not installed.
        """


@keeps_subnormals
class MapRegions(MapShapes[Region]):
    """Base of all regions of the levels of a raster."""

    given: tuple[float, ...]
    direction: str
    if TYPE_CHECKING:  # an attribute or a property of subclasses

        @property
        def levels(self) -> NDArray[np.int64]: ...

    def __repr__(self) -> str:
        levels = ", ".join(f"{level:g}" for level in self.given)
        rows, columns = self.grid.shape
        what = f"{len(self):,} {self._noun}s {self.direction} {levels} of {rows} x {columns} cells"
        return f"{type(self).__name__}({what})"

    def _repr_html_(self) -> str:
        return regions_html(self)

    def at_level(self, level: FloatLike) -> list[Region]:
        """Return the regions of one level.

        Parameters
        ----------
        level : float
            One of `given`.

        Returns
        -------
        list of CoverageRegion or CoveragePolygon

        Raises
        ------
        InvalidInput
            For a level that is not one of `given`.
        """
        number = level_index(level, self.given, caller="at_level")
        return [self[i] for i in np.flatnonzero(on_host(self.levels) == number).tolist()]


def plot_regions(
    regions: Any,
    ax: Any = None,
    *,
    raster: Any = None,
    unit: str | None = None,
    title: str | None = None,
    sites: Any = None,
    smooth: IntLike = 0,
) -> Any:
    """Draw regions, and their raster if it is given, with Matplotlib; the parameters are those of `OnMap.plot`."""
    from clgeom.plotting.coverage import plot_coverage

    unit = chosen_unit(unit, regions, caller="plot", raster=raster)
    grid = next((region.grid for region in regions if hasattr(region, "grid")), None)
    axes = None if grid is None else axes_of(grid)
    raster = _with_place(raster, grid)
    sites = getattr(raster, "sites", ()) if sites is None else sites
    rounds = checked_rounds(smooth, caller="plot")
    return plot_coverage(
        outlines(regions, unit, smooth=rounds), ax, **image(raster), unit=unit, title=title, axes=axes, sites=sites
    )


def save_html(
    regions: Any,
    path: str | PathLike[str],
    *,
    raster: Any = None,
    unit: str | None = None,
    sites: Any = None,
    **options: Any,
) -> None:
    """Write regions to an .html file as a map, with the raster below them if it is given.

    The parameters of `CoverageRegions.to_html`.
    """
    from clgeom.plotting.map_page import save_page, thinned

    raster = _with_place(raster, next((region.grid for region in regions if hasattr(region, "grid")), None))
    if raster is not None:
        k, transform = thinned(raster.values.shape, tuple(raster.transform or IDENTITY)[:6])
        some = raster.values.thinned(k) if isinstance(raster.values, Strips) else raster.values[::k, ::k]
        options["values"] = known_values(some, getattr(raster, "nodata", None))
        options |= {"transform": transform, "label": "Raster" if k == 1 else f"Raster (1 cell of {k} x {k})"}
    options["unit"] = chosen_unit(unit, regions, caller="a map page", raster=raster)
    save_page(regions, path, sites=getattr(raster, "sites", ()) if sites is None else sites, **options)


def _with_place(raster: Any, grid: Grid | None) -> Any:
    """Return a raster with its values and place; an array has the cells of the regions."""
    raster = opened(raster, caller="a picture")
    if is_dataset(raster) or is_data_array(raster):
        raster = placed_raster(raster, caller="a picture", strips=True)
    if isinstance(raster, Raster) and np.ndim(raster.values) == 3:
        raise wrong("raster", "a picture", "one map", f"{len(raster.values)} bands")
    if raster is None or (hasattr(raster, "values") and hasattr(raster, "transform")):
        return raster
    try:
        values = np.asanyarray(raster)
    except ValueError:  # lists of several lengths
        values = np.empty(0)
    if grid is None or values.shape != tuple(grid.shape):
        cells = "the regions' cells" if grid is None else f"shape {tuple(grid.shape)}, as the regions are"
        raise InvalidInput(
            f"The 'raster' parameter must have 'values' and a 'transform', or be an array of {cells}. "
            f"Got {type(raster).__name__} of shape {values.shape} instead."
        )
    return SimpleNamespace(values=values, transform=grid.transform)


def outlines(regions: Any, unit: str | None = None, *, smooth: int = 0) -> dict[str, list[Any]]:
    """Return a dictionary from the label of each level to the polygons of its regions, without empty regions.

    The levels come from the most demanding one on, so that a level has the same colour in all figures of a map.
    """
    unit = chosen_unit(unit, regions, caller="plot")
    regions = with_smooth_outlines([one for one in regions if one], smooth) if smooth else regions
    found: dict[str, list[Any]] = {}
    for region in sorted(regions, key=lambda region: -region.level if region.direction == ">=" else region.level):
        if region:
            upto = getattr(region, "upto", None)
            label = f"{region.direction} {region.level:g}{'' if upto is None else f' to {upto:g}'} {unit}".rstrip()
            names = getattr(getattr(region, "grid", None), "names", ())
            label = f"{names[region.map]}, {label}" if len(names) > 1 else label
            found.setdefault(label, []).append(polygons_in(region.__geo_interface__))
    return found


def axes_of(grid: Grid) -> tuple[str, str]:
    """Return the names of the axes of a map, with their unit if its reference system is known."""
    if tuple(grid.transform) == IDENTITY:
        return "column", "row"
    return axes_of_crs(grid.crs)


def image(raster: Any) -> dict[str, Any]:
    """Return the values of a raster (NaN where unknown) and its transform, as keywords; an empty dict for None."""
    if raster is None:
        return {}
    values, transform = raster.values, raster.transform
    if isinstance(values, Strips):
        k, transform = -(-max(values.shape) // MOST_PIXELS), transform or IDENTITY
        values = values.thinned(k)
        transform = [number * (1 if i % 3 == 2 else k) for i, number in enumerate(transform[:6])]
    return {"values": known_values(values, getattr(raster, "nodata", None)), "transform": transform}


def regions_html(regions: Any) -> str:
    """Return the ``_repr_html_`` of CoverageRegions or CoveragePolygons: of many regions the first."""
    grid, few = regions.grid, min(len(regions), MOST_RINGS)
    rows, columns = grid.shape
    upright = (1, -1 if grid.transform[4] > 0 else 1)  # rows of a raster count downwards
    made = regions[:few]
    rings = [ring * upright for region in made for ring in (*region.rings, *_holes_of(region))]
    listed = [
        (region.map, f"{region.level:g}", region.part, f"{len(region):,}", _hole_count(region), f"{region.area:.6g}")
        for region in made[:MOST_ROWS]
    ]
    facts = [
        ("regions", f"{len(regions):,}"),
        ("levels", f"{regions.direction} {', '.join(f'{level:g}' for level in regions.given)}"),
        ("raster", f"{rows:,} x {columns:,} cells"),
        ("CRS", "none" if grid.crs is None else grid.crs),
    ]
    if few < len(regions):
        facts.append(("drawn", f"the first {few:,} regions"))
    headings = ("map", "level", "part", "vertices", "holes", "area")
    picture = rings_svg(rings, filled=False, label=f"{few:,} regions")
    return card(type(regions).__name__, facts, picture, table(headings, listed, count=len(regions)))


def _hole_count(region: Any) -> int:
    """Return the number of holes; those of a polygon along the cells are among its rings."""
    return len(region.holes) if hasattr(region, "holes") else len(region.rings) - 1


def _holes_of(region: Any) -> Iterable[Any]:
    if not hasattr(region, "hole_rings"):
        return ()
    return (region.grid.to_map(ring) for rings in region.hole_rings for ring in rings)
