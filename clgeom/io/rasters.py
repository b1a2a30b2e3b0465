"""Read rasters. Rasterio is imported when it is needed."""

from __future__ import annotations

import contextlib
import operator
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import listed
from clgeom.errors import InvalidInput
from clgeom.geo.geodesy import shown
from clgeom.intake.interop.rasters import (
    Raster,
    data_array,
    dataset_band,
    own_unit,
    refuse_control_points,
    scaled_band,
)
from clgeom.intake.interop.strips import Strips, is_large
from clgeom.io.arrays import Archive, load_array
from clgeom.io.files import NO_NETWORK, TABLES, FilePath, reading
from clgeom.io.numbers import EXACT, BadField, as_floats, is_number
from clgeom.io.zarr_codecs import check_codecs
from clgeom.optional import require

#: Endings of rasters, and the GDAL driver that may open each. These drivers open no files except local ones beside the
#: raster, and report a truncated file.
RASTERS = {".tif": "GTiff", ".tiff": "GTiff", ".img": "HFA", ".asc": "AAIGrid", ".npy": None, ".npz": None}
#: Endings of what xarray reads; a Zarr store is a folder.
XARRAY = (".nc", ".nc4", ".zarr")
#: Words that begin the lines of an Arc/Info ASCII file's header.
ASCII_HEADER = b"ncols nrows xllcorner xllcenter yllcorner yllcenter cellsize dx dy nodata_value nodata".split()
BLOCK_BYTES = 1 << 24
#: Default names of the array of a .npz file.
KNOWN_ARRAYS = ("raster", "values", "dbm", "elevation", "data")


@keeps_subnormals
def read_raster(
    path: FilePath,
    *,
    band: int = 1,
    array: str | None = None,
    nodata: Any = None,
    window: Any = None,
) -> Raster:
    """Return the raster of a file, scaled; cells without data are masked, by the nodata value and the file's mask.

    Parameters
    ----------
    path : path-like
        GeoTIFF (.tif, .tiff), Erdas Imagine (.img), Arc/Info ASCII (.asc), NetCDF (.nc, .nc4), Zarr (.zarr), .npy, or
        .npz; a .npz file may also hold "transform" (6 numbers), "crs" and "unit" (text) and "nodata". No file on the
        network is opened.
    band : int
        Band, from 1; the map of a three-dimensional array.
    array : str, optional
        Array of a .npz file, variable of a NetCDF file or a Zarr store; by default the only one of two dimensions or
        more, or the one with a known name.
    nodata : float, optional
        Stored value of cells without data; replaces that of the file.
    window : tuple of 4 int, optional
        First row, first column, number of rows and of columns of the part to read; of a GeoTIFF no other part is read.
    """
    with _opened(Path(path), band, array, nodata) as raster:
        return _part(path, raster, window)


def open_raster(
    path: FilePath, *, band: int = 1, array: str | None = None, nodata: Any = None, window: Any = None
) -> Raster:
    """Return the raster of a file as `read_raster` does, but the values of a large one as `Strips`.

    GeoTIFF, Erdas Imagine and NetCDF files and Zarr stores are read by strips. Every strip is read by `read_raster`, so
    a file that cannot be read is refused in the same words, when its part is read.
    """
    with _opened(Path(path), band, array, nodata) as raster:
        values = raster.values
        if not isinstance(values, Strips):
            return _part(path, raster, window)
        shape = values.shape
        row, column, rows, columns = (0, 0, *shape) if window is None else _checked_window(path, window, shape)
        if not is_large((rows, columns), values.dtype):
            return _part(path, raster, window)

        def part(first: int, left: int, height: int, width: int) -> Any:
            there = (row + first, column + left, height, width)
            return read_raster(path, band=band, nodata=nodata, window=there, array=array).values

        strips = replace(values, window=part, shape=(rows, columns))
        return replace(raster, values=strips, transform=_moved(raster.transform, row, column))


@contextlib.contextmanager
def _opened(path: Path, band: int, array: str | None, nodata: Any) -> Iterator[Raster]:
    """Yield the whole raster of a file; its values are `Strips` where the file is read in parts."""
    suffix = path.suffix.lower()
    if suffix == ".vrt":
        raise wrong_file(
            path,
            "is a virtual raster, which names other files, maybe on the network. Make it one file: "
            "gdal_translate in.vrt out.tif",
        )
    if suffix not in (*RASTERS, *XARRAY):
        tables = () if suffix in TABLES else TABLES  # where the caller takes tables, they are not read here
        raise wrong_file(path, f"must end in one of {', '.join((*RASTERS, *XARRAY, *tables))}")
    if array is not None and suffix not in (".npz", *XARRAY):
        raise InvalidInput(f"The option --array is for .npz, .nc and .zarr files. Got the file '{path}' instead.")
    if not path.exists():
        raise wrong_file(path, "cannot be read: No such file or directory")
    if not path.is_file() and suffix != ".zarr":
        raise wrong_file(path, "cannot be read: it is not a file")
    with reading(path):
        if suffix in (".npy", ".npz"):
            found = _read_numpy(path, suffix, band, array)
            yield found if nodata is None else replace(found, nodata=nodata)
        elif suffix in XARRAY:
            with _opened_by_xarray(path, suffix, band, array, nodata) as raster:
                yield raster
        else:
            with _opened_by_rasterio(path, band, nodata) as raster:
                yield raster


def _checked_window(path: FilePath, window: Any, shape: Any) -> tuple[Any, ...]:
    """Return the window as integers, within the raster."""
    try:
        row, column, rows, columns = (operator.index(number) for number in window)
    except (TypeError, ValueError):
        row = column = rows = columns = -1
    inside = 0 <= row < row + rows <= shape[0] and 0 <= column < column + columns <= shape[1]
    if not inside:
        raise InvalidInput(
            f"The window of '{path}' must be its first row and column and its rows and columns, within "
            f"{shape[0]:,} x {shape[1]:,} cells. Got {shown(window)} instead."
        )
    return row, column, rows, columns


def _moved(transform: Any, row: int, column: int) -> tuple[Any, ...] | None:
    """Return the transform of a window that begins at a row and a column; None without a transform."""
    if transform is None:
        return None
    a, b, c, d, e, f = transform[:6]
    return (a, b, a * column + b * row + c, d, e, d * column + e * row + f)


def _part(path: FilePath, raster: Raster, window: Any) -> Raster:
    """Return a window of a raster in memory, or all of it."""
    values = raster.values
    if window is None:
        return replace(raster, values=values.whole()) if isinstance(values, Strips) else raster
    row, column, rows, columns = _checked_window(path, window, values.shape)
    if isinstance(values, Strips):
        values = values.window(row, column, rows, columns)
    else:
        values = values[row : row + rows, column : column + columns]
    return replace(raster, values=values, transform=_moved(raster.transform, row, column))


@contextlib.contextmanager
def _opened_by_xarray(path: Path, suffix: str, band: int, array: str | None, nodata: Any) -> Iterator[Raster]:
    """Yield a variable of a NetCDF file or of a Zarr store, scaled and masked as its attributes say."""
    require("xarray", f"Reading '{path}'", extra="grids")
    import xarray

    options: dict[str, Any] = {"engine": "zarr", "consolidated": None} if suffix == ".zarr" else {}
    if suffix == ".zarr":
        check_codecs(path)
    try:
        with xarray.open_dataset(path.absolute(), decode_times=False, decode_coords="all", **options) as source:
            one = source[_variable_name(path, source, array)]
            systems = [var for var in source.data_vars.values() if {"crs_wkt", "spatial_ref"} & set(var.attrs)]
            if len(systems) == 1 and "spatial_ref" not in one.coords:  # no variable refers to it
                one = one.assign_coords(spatial_ref=systems[0].variable)
            yield data_array(one, f"The variable '{one.name}' in '{path}'", nodata, band=band)
    except (InvalidInput, OSError, MemoryError):
        raise
    except Exception as error:  # of the libraries for these formats each has its own
        reason = str(error).splitlines() or [type(error).__name__]
        raise InvalidInput(f"The file '{path}' is not a raster, or it is damaged: {reason[0]}") from error


def _variable_name(path: FilePath, source: Any, wanted: Any) -> Any:
    """Return the name of the variable to read."""
    flat = [name for name, one in source.data_vars.items() if sum(size > 1 for size in one.shape) >= 2]
    if wanted is not None and wanted in source.data_vars:
        return wanted
    known = [name for name in KNOWN_ARRAYS if name in flat]
    if wanted is None and (len(flat) == 1 or known):
        return (known or flat)[0]
    if not flat:
        raise wrong_file(path, "has no variable of two dimensions")
    none = "" if wanted is None else f" none is {wanted!r}:"
    raise wrong_file(path, f"has the arrays {listed(flat)};{none} name one (--array)")


@contextlib.contextmanager
def _opened_by_rasterio(path: Path, band: int, nodata: Any) -> Iterator[Raster]:
    require("rasterio", f"Reading '{path}'")
    import rasterio

    _check_sides(path)
    # Only drivers that read this file and local files beside it; no file that these name is opened elsewhere.
    alone, damaged = rasterio.Env(**NO_NETWORK), f"The file '{path}' is not a raster, or it is damaged"
    with warnings.catch_warnings(record=True) as caught, _quiet_log(), alone:
        warnings.simplefilter("always")
        try:
            with rasterio.open(path.absolute(), driver=RASTERS[path.suffix.lower()]) as source:
                if not 1 <= band <= source.count:
                    raise wrong_file(path, f"has the bands 1 to {source.count}. Got band {band} instead")
                raster = dataset_band(source, band, damaged, nodata)
                if source.driver == "AAIGrid":
                    values = _ascii_values(path, source.shape)
                    raster = replace(raster, values=scaled_band(source, band, values, raster.nodata))
                refuse_control_points(source, f"The file '{path}'", "gdalwarp in.tif out.tif")
                if not any(issubclass(one.category, rasterio.errors.NotGeoreferencedWarning) for one in caught):
                    crs = None if source.crs is None else source.crs.to_string()
                    raster = replace(raster, transform=tuple(source.transform)[:6], crs=crs)
                yield raster
        except (rasterio.errors.RasterioError, rasterio.errors.CRSError, OSError, UnicodeError) as error:
            reason = str(error.__cause__ or error).splitlines() or [type(error).__name__]
            raise InvalidInput(f"{damaged}: {reason[0]}") from error


@contextlib.contextmanager
def _quiet_log() -> Iterator[Any]:
    """Suppress the traceback that Python prints if GDAL logs text that is not UTF-8.

    The logging function of rasterio cannot raise: the error goes to both hooks of `sys`, and rasterio continues.
    """
    hooks = sys.excepthook, sys.unraisablehook

    def excepthook(kind: Any, error: BaseException, traceback: Any) -> None:
        if not issubclass(kind, UnicodeDecodeError):
            hooks[0](kind, error, traceback)

    def unraisablehook(what: Any) -> None:
        if not issubclass(what.exc_type, UnicodeDecodeError):
            hooks[1](what)

    sys.excepthook, sys.unraisablehook = excepthook, unraisablehook
    try:
        yield
    finally:
        sys.excepthook, sys.unraisablehook = hooks


def _check_sides(path: Path) -> None:
    """Refuse a mask or an overview beside a raster that is not a TIFF: GDAL would open any file."""
    for ending in (".msk", ".ovr", ".msk.ovr", ".ovr.msk", ".MSK", ".OVR"):
        side = Path(f"{path}{ending}")
        if side.is_file():
            with open(side, "rb") as file:
                if file.read(4) not in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
                    raise wrong_file(side, "beside the raster is no TIFF")


def _ascii_values(path: FilePath, shape: Any) -> Any:
    """Return the numbers of an Arc/Info ASCII file: int32 if all are whole and fit, else float32.

    It is float64 for whole numbers that float32 rounds, and numbers that it takes for infinity or 0. GDAL reads missing
    and malformed numbers as 0, and truncates all decimals if the first numbers have none.
    """
    parts, rest = [], b""
    with open(path, "rb") as file:
        while True:
            start = file.tell()
            line = file.readline(1 << 12)
            if not line or line.split()[:1] and line.split()[0].lower() not in ASCII_HEADER:
                break
        file.seek(start)
        while block := file.read(BLOCK_BYTES):
            words = (rest + block).split()
            rest = words.pop() if words and not block[-1:].isspace() else b""
            parts.append(_ascii_numbers(path, words))
    parts.append(_ascii_numbers(path, rest.split()))
    values = np.concatenate(parts)
    if len(values) != shape[0] * shape[1]:
        raise wrong_file(
            path,
            f"must hold {shape[0]:,} x {shape[1]:,} numbers, as its header says. Got {len(values):,} of them instead",
        )
    whole = np.isfinite(values).all() and (values == np.rint(values)).all() and np.abs(values).max() < 1 << 31
    if whole:
        return values.astype(np.int32).reshape(shape)
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    is_other = (np.isinf(single) & np.isfinite(values)) | ((single == 0) & (values != 0))
    is_other |= (single != values) & (values == np.rint(values)) & (np.abs(values) <= EXACT)
    return (values if is_other.any() else single).reshape(shape)


def _ascii_numbers(path: FilePath, words: list[bytes]) -> np.ndarray:
    """Return words as float64."""
    fields = [word.decode("latin-1") for word in words]
    try:
        return as_floats(fields)
    except BadField as bad:
        field = fields[bad.position]
        if is_number(field):
            raise wrong_file(path, f"must hold numbers of float64: '{field}' {bad.reason}") from None
        raise wrong_file(path, f"must hold numbers. Got {shown(field)} instead") from None


def _read_numpy(path: FilePath, suffix: str, band: int, array: str | None) -> Raster:
    if suffix == ".npy":
        loaded = load_array(path)
        return Raster(_one_map(path, loaded, band), bands=_maps(loaded))
    archive = Archive(path)
    whole = archive[_array_name(path, archive, array)]
    about: dict[str, np.ndarray] = {key: archive[key] for key in ("transform", "crs", "nodata") if key in archive.names}
    if "unit" in archive.names and archive["unit"].dtype.kind in "US":  # others are values
        about["unit"] = archive["unit"]
    return Raster(
        _one_map(path, whole, band),
        _numbers(path, about, "transform", (6, 9)),
        _text(path, about, "crs"),
        None if _numbers(path, about, "nodata", (1,)) is None else about["nodata"].item(),
        _maps(whole),
        own_unit(_text(path, about, "unit")),
    )


def _maps(array: np.ndarray) -> int:
    return len(array) if array.ndim == 3 else 1


def _numbers(path: FilePath, about: Any, name: str, counts: Any) -> Any:
    """Return an entry of a .npz file as floats, None if it is missing."""
    if name not in about:
        return None
    values = about[name].ravel()
    if values.dtype.kind not in "biuf" or len(values) not in counts:
        wanted = "a number" if counts == (1,) else f"{counts[0]} numbers"
        raise InvalidInput(
            f"The array '{name}' in '{path}' must hold {wanted}. "
            f"Got {values.dtype} of shape {about[name].shape} instead."
        )
    return tuple(values.astype(np.float64).tolist())


def _text(path: FilePath, about: Any, name: str) -> Any:
    """Return an entry of a .npz file as text, None if it is missing or empty."""
    if name not in about:
        return None
    value = about[name]
    if value.dtype.kind == "i" and value.size == 1:  # an EPSG code
        return f"EPSG:{value.item()}"
    if value.dtype.kind not in "US" or value.size != 1:
        raise InvalidInput(
            f"The array '{name}' in '{path}' must hold a text. Got {value.dtype} of shape {value.shape} instead."
        )
    text = value.item()
    return (text.decode("utf-8", "replace") if isinstance(text, bytes) else text) or None


def _array_name(path: FilePath, archive: Any, wanted: Any) -> Any:
    if wanted is not None:
        return wanted
    flat = [name for name in archive.names if archive[name].ndim in (2, 3)]
    known = [name for name in KNOWN_ARRAYS if name in flat]
    if len(flat) == 1 or known:
        return (known or flat)[0]
    raise wrong_file(path, f"has the arrays {listed(archive.names)}; name one (--array)")


def _one_map(path: FilePath, values: np.ndarray, band: int) -> Any:
    if values.ndim not in (2, 3):
        raise InvalidInput(f"The array in '{path}' must have two dimensions. Got shape {values.shape} instead.")
    if not 1 <= band <= _maps(values):
        raise InvalidInput(f"The array in '{path}' has the maps 1 to {_maps(values)}. Got {band} instead.")
    return values[band - 1] if values.ndim == 3 else values
