"""Rasters of other packages with their position: datasets of rasterio, arrays of xarray, radio maps.

An object is recognised by its class. Its package is imported already, and no other package is imported for the check.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput, short
from clgeom.intake.interop.strips import Strips, is_large
from clgeom.intake.typing import FloatLike

if TYPE_CHECKING:
    import xarray as xr
    from rasterio.io import DatasetReader
    from rasterio.windows import Window

#: Names of dimensions along x and along y, in lower case, where the coordinates do not say which they are.
ACROSS = ("x", "lon", "longitude", "easting", "projection_x_coordinate", "column", "columns")
DOWN = ("y", "lat", "latitude", "northing", "projection_y_coordinate", "row", "rows")
#: Units of coordinates, in lower case, that differ from those of their system: CF allows any unit of length, and angles
#: of scanning from a satellite.
KILOMETRES = ("km", "kilometer", "kilometers", "kilometre", "kilometres")
ANGLES = ("rad", "radian", "radians", "microradian", "microradians")
#: The transform of a dataset of rasterio without one.
UNPLACED = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
#: Types of bands whose values may be no floats.
WIDE = ("int64", "uint64")
#: Attributes of a `Raster` by which the parameters of a function replace those of an object.
POSITION = ("transform", "crs", "nodata")
#: Largest deviation of a coordinate from even spacing, in cells; files have coordinates of float32.
UNEVEN = 0.02


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Raster:
    """A raster with its position, for `raster_regions` and `raster_outlines`.

    Parameters
    ----------
    values : object
        An array, an iterator or `clgeom.scale.Chunks` of strips, or a raster that has a position, which the other
        parameters replace: a dataset of rasterio, a DataArray of xarray, a radio map, a `Raster`.
    transform : sequence of 6 floats or affine.Affine, optional
        (a, b, c, d, e, f): pixel corner (column, row) is at ``x = a column + b row + c, y = d column + e row + f``, as
        Rasterio has it; it may turn and shear. Without it x is the column and y the row.
    crs : optional
        Coordinate reference system of the transformed coordinates, as anything that pyproj takes; for areas in km2 and
        for export. It needs a transform.
    nodata : float, optional
        Value of cells without data.
    bands : int
        Number of bands of the raster's file.
    unit : str, optional
        Unit of the values.
    sites : sequence of (float, float)
        Positions of transmitters in map coordinates, for pictures.
    names : sequence of str
        A name for each map, which tables and files of results have as the column "name".

    Examples
    --------
    >>> import clgeom
    >>> raster = clgeom.Raster([[9, 0], [9, 9]], transform=(20, 0, 500_000, 0, -20, 5_000_000), crs="EPSG:32632")
    >>> clgeom.raster_outlines(raster, 5).areas.tolist()
    [1200.0]
    """

    values: Any
    transform: Sequence[float] | None = None
    crs: Any = None
    nodata: FloatLike | None = None
    bands: int = 1
    unit: str | None = None
    sites: Sequence[Any] = ()
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        inner = self.values
        if not isinstance(inner, Raster):
            return
        for name in (*POSITION, "unit"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, getattr(inner, name))
        object.__setattr__(self, "bands", max(self.bands, inner.bands))
        object.__setattr__(self, "sites", self.sites or inner.sites)
        object.__setattr__(self, "names", self.names or inner.names)
        object.__setattr__(self, "values", inner.values)


def placed_raster(
    raster: Any,
    *,
    caller: str,
    name: str = "raster",
    transform: Sequence[float] | None = None,
    crs: object = None,
    nodata: FloatLike | None = None,
    strips: bool = False,
) -> Raster:
    """Return a raster of any kind with its position, which the caller's `transform`, `crs` and `nodata` replace.

    `raster` is a dataset of rasterio (all of its bands are maps), a DataArray of xarray, an object with `values`,
    `transform` and `crs` such as a RadioMap, a Raster of any of these, or anything else, which is the values. `strips`
    gives large values of two dimensions that are not in memory as `Strips`.
    """
    if isinstance(raster, (str, bytes, os.PathLike)):
        path = short(os.fspath(raster))
        raise InvalidInput(
            f"The '{name}' parameter of {caller} must be an array, an open dataset of rasterio or a DataArray. "
            f"Got the name of a file, {path}, instead: open it with rasterio.open({path})."
        )
    if isinstance(raster, Raster):
        own = {key: value for key in POSITION if (value := getattr(raster, key)) is not None}
        own |= {key: value for key, value in zip(POSITION, (transform, crs, nodata)) if value is not None}
        found = placed_raster(raster.values, caller=caller, name=name, strips=strips, **own)
        unit, sites, bands = raster.unit or found.unit, raster.sites or found.sites, max(raster.bands, found.bands)
        return replace(found, unit=unit, sites=sites, bands=bands, names=raster.names or found.names)
    found = Raster(raster)
    if is_dataset(raster):
        what = f"The '{name}' parameter of {caller}"
        if transform is None:
            refuse_control_points(raster, what, "rasterio.vrt.WarpedVRT, or gdalwarp in.tif out.tif")
        found = dataset_raster(raster, caller=caller, name=name, nodata=nodata, strips=strips)
    elif is_data_array(raster):
        found = _loaded(data_array(raster, f"The '{name}' parameter of {caller}", nodata), strips)
    elif _is_placed(raster):
        unit = own_unit(getattr(raster, "unit", None))
        found = Raster(raster.values, raster.transform, raster.crs, getattr(raster, "nodata", None), unit=unit)
    return replace(
        found,
        transform=found.transform if transform is None else transform,
        crs=found.crs if crs is None else crs,
        nodata=found.nodata if nodata is None else nodata,
    )


def is_dataset(value: object) -> bool:
    """Return whether an object is an open dataset of rasterio."""
    return _is_of("rasterio", value, "read", "transform", "nodatavals")


def is_data_array(value: object) -> bool:
    """Return whether an object is a DataArray of xarray."""
    return _is_of("xarray", value, "dims", "coords", "values")


def _is_of(package: str, value: object, *names: str) -> bool:
    """Return whether an object is of a class of a package, or of one derived from it, and has these attributes."""
    if package not in sys.modules:
        return False
    modules = (base.__module__.split(".")[0] for base in type(value).__mro__)
    return package in modules and all(hasattr(type(value), name) or hasattr(value, name) for name in names)


def _is_placed(value: object) -> bool:
    """Return whether an object is a raster with a position: no array, and no table (its `transform` is a method)."""
    if isinstance(value, (np.ndarray, list, tuple)) or not hasattr(value, "values"):
        return False
    transform = getattr(value, "transform", None)
    return isinstance(transform, Sequence) and hasattr(value, "crs")


# Rasterio -----------------------------------------------------------------------------------------------------------


def refuse_control_points(dataset: DatasetReader, what: str, remedy: str) -> None:
    """Raise `InvalidInput` for a dataset of rasterio without a transform that ground control points place."""
    if dataset.gcps[0] and tuple(dataset.transform)[:6] == UNPLACED:
        raise InvalidInput(f"{what} is placed by ground control points, not by a transform: warp it first ({remedy}).")


def dataset_raster(
    dataset: DatasetReader, *, caller: str, name: str, nodata: FloatLike | None = None, strips: bool = False
) -> Raster:
    """Return all bands of an open dataset of rasterio: a raster, or a stack of maps for several bands."""
    import rasterio

    what, strips = f"The '{name}' parameter of {caller}", strips and dataset.count == 1
    numbers = range(1, dataset.count + 1)
    try:
        bands = [_loaded(dataset_band(dataset, band, f"{what} cannot be read", nodata), strips) for band in numbers]
    except rasterio.errors.RasterioError as error:  # the dataset is closed
        raise InvalidInput(f"{what} cannot be read: {error}") from error
    if not bands:
        raise InvalidInput(f"{what} must have a band. Got '{dataset.name}' without one.")
    values = bands[0].values if len(bands) == 1 else stacked(bands)
    transform, crs = tuple(dataset.transform)[:6], dataset.crs
    unplaced = transform == UNPLACED and crs is None
    return Raster(
        values,
        None if unplaced else transform,
        None if crs is None else crs.to_string(),
        bands[0].nodata if len(bands) == 1 else None,
        dataset.count,
        bands[0].unit if len({one.unit for one in bands}) == 1 else None,
    )


def _loaded(raster: Raster, strips: bool) -> Raster:
    """Return a raster with its values in memory; with `strips` large ones stay `Strips`."""
    values = raster.values
    if not isinstance(values, Strips) or (strips and is_large(values.shape, values.dtype)):
        return raster
    return replace(raster, values=values.whole())


def dataset_band(dataset: DatasetReader, band: int, fault: str, nodata: FloatLike | None = None) -> Raster:
    """Return a band of an open dataset of rasterio as `Strips`, without transform and reference system.

    `fault` begins the message of an error of reading.
    """
    import rasterio
    from rasterio.windows import Window

    kind = dataset.dtypes[band - 1]
    if kind.startswith("complex"):
        raise InvalidInput(f"Band {band} of '{dataset.name}' must hold numbers. Got {kind} instead.")
    absent = dataset.nodatavals[band - 1] if nodata is None else nodata
    if nodata is None and kind in WIDE and abs(absent or 0) >= 1 << 53:
        absent = None  # it may be rounded; the mask is exact

    def window(row: int, column: int, rows: int, columns: int) -> np.ndarray:
        where = Window(column, row, columns, rows)
        try:
            return scaled_band(dataset, band, dataset.read(band, window=where), absent, where)
        except (rasterio.errors.RasterioError, OSError) as error:
            raise InvalidInput(f"{fault}: {error.__cause__ or error}") from error

    is_scaled = (dataset.scales[band - 1], dataset.offsets[band - 1]) != (1.0, 0.0)
    block = dataset.block_shapes[band - 1][0]
    values = Strips(
        window, dataset.shape, np.dtype(kind), not is_scaled and not _has_mask(dataset, band, absent), block
    )
    unit = unit_of_band(dataset, band)
    return Raster(values, nodata=None if is_scaled else absent, bands=dataset.count, unit=unit)


def stacked(bands: Sequence[Raster]) -> np.ndarray:
    """Return rasters of one map each as one array.

    Cells without data are masked, since bands may have different values for them.
    """
    values = [
        one.values if one.nodata is None else np.ma.masked_array(one.values, np.ma.getdata(one.values) == one.nodata)
        for one in bands
    ]
    return np.ma.stack(values) if any(map(np.ma.isMaskedArray, values)) else np.stack(values)


def _has_mask(dataset: DatasetReader, band: int, nodata: FloatLike | None) -> bool:
    """Return whether a band has a mask beside the value of cells without data, or for a value that no float is."""
    from rasterio.enums import MaskFlags

    flags = set(dataset.mask_flag_enums[band - 1])
    if MaskFlags.nodata in flags:
        return nodata is None and dataset.dtypes[band - 1] in WIDE
    return MaskFlags.all_valid not in flags


def scaled_band(
    source: DatasetReader, band: int, values: np.ndarray, nodata: FloatLike | None, window: Window | None = None
) -> np.ndarray:
    """Return the stored values of a band, or of a window of it, scaled and masked."""
    if _has_mask(source, band, nodata):
        values = np.ma.masked_array(values, source.read_masks(band, window=window) == 0)
    scale, offset = source.scales[band - 1], source.offsets[band - 1]
    if (scale, offset) == (1.0, 0.0):
        return values
    if not (np.isfinite(scale) and np.isfinite(offset) and scale):
        raise InvalidInput(f"Band {band} of '{source.name}' has the scale {scale} and the offset {offset}.")
    return scaled(values, scale, offset, nodata)


def unit_of_band(source: DatasetReader, band: int) -> str | None:
    """Return the unit that a dataset gives for the values of a band.

    In a compound reference system GDAL gives a band of a GeoTIFF without a unit that of the heights. It does not if it
    does not read the system.
    """
    import rasterio

    unit = own_unit(source.units[band - 1])
    if unit is None or source.driver != "GTiff" or not (source.crs and source.crs.to_wkt().startswith("COMP")):
        return unit
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
            with rasterio.open(source.name, driver="GTiff", GEOREF_SOURCES="NONE") as alone:
                return own_unit(alone.units[band - 1])
    except (rasterio.errors.RasterioError, OSError):  # it is being written, or is gone
        return None


def own_unit(unit: object) -> str | None:
    """Return the unit of values; None for none, and for the 1 of CF, which says that values have no dimension."""
    unit = unit.strip() if isinstance(unit, str) else ""
    return None if unit in ("", "1") else unit


def chosen_unit(unit: str | None, regions: Any, *, caller: str, raster: object = None) -> str:
    """Return the `unit` parameter of a method of regions; by default the unit of their raster, or of `raster`. "" for
    none.
    """
    if unit is None:
        grid = getattr(regions, "grid", None) or next((one.grid for one in regions if hasattr(one, "grid")), None)
        return getattr(grid, "unit", None) or own_unit(getattr(raster, "unit", None)) or ""
    if not isinstance(unit, str):
        raise InvalidInput(f"The 'unit' parameter of {caller} must be text. Got {short(unit)} instead.")
    return unit


def scaled(values: np.ndarray, scale: float, offset: float, nodata: FloatLike | None) -> np.ma.MaskedArray:
    """Stored values times a scale plus an offset, as float32 if that holds them; those of `nodata` are masked."""
    hidden = np.ma.getmaskarray(values) | (False if nodata is None else np.ma.getdata(values) == nodata)
    with np.errstate(over="ignore", invalid="ignore"):
        made: np.ndarray = np.ma.getdata(values) * scale + offset
        if values.dtype.itemsize <= 2 or values.dtype == np.float32:
            narrow = made.astype(np.float32)
            if np.array_equal(np.isinf(narrow), np.isinf(made)):  # otherwise values overflow float32
                made = narrow
    return np.ma.masked_array(made, hidden)


# Xarray -------------------------------------------------------------------------------------------------------------


def data_array(
    array: xr.DataArray,
    what: str,
    nodata: FloatLike | None = None,
    *,
    band: int | None = None,
) -> Raster:
    """Return a DataArray of xarray with two dimensions of positions, and maybe one of maps before them.

    The transform comes from coordinates of evenly spaced centres, the reference system from rioxarray, from a grid
    mapping, or from longitude and latitude. `what` begins messages. `band` reads one of several maps, from 1. Values of
    two dimensions that are not in memory are `Strips`.
    """
    across, down = _axes(array, what)
    array = array.isel({dim: 0 for dim in array.dims if dim not in (across, down) and array.sizes[dim] == 1})
    others = [dim for dim in array.dims if dim not in (across, down)]
    if len(others) > 1:
        raise InvalidInput(
            f"{what} must have two dimensions of positions and at most one of maps. "
            f"Got {', '.join(map(str, array.dims))} instead."
        )
    values = array.transpose(*others, down, across)
    maps = values.shape[0] if others else 1
    if band is not None and not 1 <= band <= maps:
        raise InvalidInput(f"{what} has the maps 1 to {maps}. Got {band} instead.")
    if band is not None and others:
        values = values.isel({others[0]: band - 1})
    known = dict(array.attrs)
    fill = next((known[key] for key in ("_FillValue", "missing_value") if key in known), None)
    absent = fill if nodata is None else nodata
    if values.dtype.kind not in "biuf":
        raise InvalidInput(f"{what} must hold numbers. Got {values.dtype} instead.")
    scale, offset = (float(known.get(key, default)) for key, default in (("scale_factor", 1), ("add_offset", 0)))
    if (scale, offset) != (1.0, 0.0):  # xarray has not applied them
        if not (math.isfinite(scale) and math.isfinite(offset) and scale):
            raise InvalidInput(f"{what} has the scale {scale} and the offset {offset}.")
    missing = _fill(absent, values.dtype.kind, what)

    def part(row: int, column: int, rows: int, columns: int) -> np.ndarray:
        try:
            some = values.isel({down: slice(row, row + rows), across: slice(column, column + columns)}).values
        except MemoryError:
            raise
        except Exception as error:  # of dask and of the libraries for files each has its own
            reason = str(error).splitlines() or [type(error).__name__]
            raise InvalidInput(f"{what} cannot be read: {reason[0]}") from error
        return some if is_plain else scaled(some, scale, offset, missing)

    is_plain, (height, width) = (scale, offset) == (1.0, 0.0), values.shape[-2:]
    shape = height, width
    stored: Any
    if values.ndim == 2 and not values.variable._in_memory:
        rows = max(values.chunks[0]) if values.chunks else (values.encoding.get("preferred_chunks") or {}).get(down, 1)
        stored = Strips(part, shape, values.dtype, is_plain, int(rows))
    else:
        stored = part(0, 0, *shape)
    system = _system(array, across)
    transform = _transform(array, across, down, what, system)
    return Raster(stored, transform, system, missing if is_plain else None, maps, own_unit(known.get("units")))


def _fill(absent: Any, kind: str, what: str) -> FloatLike | None:
    """Return the value of cells without data; that of integers is exact."""
    if absent is None or (kind in "iu" and isinstance(absent, (int, np.integer))):
        return absent
    try:
        return float(absent)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{what} must have a number for cells without data. Got {short(absent)} instead.") from None


def _axes(array: xr.DataArray, what: str) -> tuple[Hashable, Hashable]:
    """Return the names of the dimensions along x and along y."""
    if array.ndim < 2:
        raise InvalidInput(
            f"{what} must have two dimensions of positions. Got {', '.join(map(str, array.dims)) or 'none'} instead."
        )
    found: list[Any] = []
    for names, axis in ((ACROSS, "X"), (DOWN, "Y")):
        own = [
            dim
            for dim in array.dims
            if dim in array.coords
            and str(array.coords[dim].attrs.get("axis", "")).upper() == axis
            or str(dim).lower() in names
        ]
        found.append(own[0] if own else None)
    rest = [dim for dim in array.dims if dim not in found]
    if found == [None, None]:
        return array.dims[-1], array.dims[-2]
    if None in found:
        found = [one or rest[-1] for one in found]  # the last of the others
    across, down = found
    return across, down


def _transform(
    array: xr.DataArray, across: Hashable, down: Hashable, what: str, system: str | None
) -> tuple[float, ...] | None:
    """Return the transform of coordinates of centres, in the unit of the system; None where a dimension has none."""
    if across not in array.coords or down not in array.coords:
        return None
    ends = []
    for dim in (across, down):
        at = np.asarray(array.coords[dim].values)
        if at.ndim != 1 or at.dtype.kind not in "iuf":
            raise InvalidInput(f"{what} must have numbers for the coordinate '{dim}'. Got {at.dtype} instead.")
        at = at.astype(np.float64)
        if len(at) < 2:
            step = _step_of_one(array, dim == across)
            if step is None:
                return None
        else:
            step = (at[-1] - at[0]) / (len(at) - 1)
            if not (np.abs(at - (at[0] + step * np.arange(len(at)))) <= UNEVEN * abs(step)).all() or step == 0:
                raise InvalidInput(
                    f"{what} must have evenly spaced coordinates. Those of '{dim}' are not: resample it first "
                    f"(array.interp({dim}=...))."
                )
        unit = _unit(array.coords[dim], what, system)
        ends.append((float(step) * unit, float(at[0] - step / 2) * unit))
    (a, c), (e, f) = ends
    return (a, 0.0, c, 0.0, e, f)


def _unit(coordinate: xr.DataArray, what: str, system: str | None) -> float:
    """Return the unit of a coordinate in that of the system, or in m without one; 1 where nothing says that they
    differ.
    """
    named = str(coordinate.attrs.get("units", "")).strip().lower()
    if named in ANGLES:
        raise InvalidInput(f"{what} must have coordinates of length or in degrees. Got {named!r}: warp it first.")
    if named not in KILOMETRES:
        return 1.0
    if system is None:
        return 1000.0
    try:
        from pyproj import CRS

        return 1000.0 / CRS.from_user_input(system).axis_info[0].unit_conversion_factor
    except Exception:  # pyproj is missing, or whatever it makes of a text from a file: it is refused where it is used
        return 1000.0


def _step_of_one(array: xr.DataArray, is_across: bool) -> float | None:
    """Return the size of a cell where there is one, which only rioxarray's transform says."""
    mapping = _mapping(array)
    numbers = str(mapping.get("GeoTransform", "")).split()
    return float(numbers[1 if is_across else 5]) if len(numbers) == 6 else None


def _mapping(array: xr.DataArray) -> dict[Any, Any]:
    """Return the attributes of the grid mapping."""
    name = array.encoding.get("grid_mapping") or array.attrs.get("grid_mapping") or "spatial_ref"
    return dict(array.coords[name].attrs) if name in array.coords else {}


def _system(array: xr.DataArray, across: Hashable) -> str | None:
    """Return the reference system as text; None where nothing says it."""
    mapping = _mapping(array)
    text = next((mapping[key] for key in ("crs_wkt", "spatial_ref", "epsg_code") if mapping.get(key)), None)
    if text is None and "grid_mapping_name" in mapping:
        text = _of_parameters(mapping)
    if text is None and hasattr(array, "rio") and array.rio.crs is not None:
        text = array.rio.crs.to_string()
    if text is None and isinstance(array.attrs.get("crs"), str):
        text = array.attrs["crs"].replace("+init=", "")
    if text is None and across in array.coords:
        unit = str(array.coords[across].attrs.get("units", ""))
        if unit.startswith("degree") and "east" in unit.lower() or str(across).lower() in ("lon", "longitude"):
            text = "EPSG:4326"
    return _short(text)


def _of_parameters(mapping: dict[Any, Any]) -> str | None:
    """Return the reference system that a grid mapping of CF describes by its parameters alone; None if pyproj cannot
    tell.
    """
    try:
        from pyproj import CRS

        return CRS.from_cf(mapping).to_wkt()
    except Exception:  # pyproj is missing, or whatever it makes of attributes from a file
        return None


def _short(text: str | None) -> str | None:
    """Return a reference system by its code, if its text is long and has one."""
    if text is None or len(text) <= 16:
        return text
    try:
        from pyproj import CRS

        code = CRS.from_user_input(text).to_epsg(min_confidence=100)
    except Exception:  # pyproj is missing, or whatever it makes of a text from a file: it is refused where it is used
        return text
    return text if code is None else f"EPSG:{code}"
