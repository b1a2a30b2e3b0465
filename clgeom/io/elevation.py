"""Heights of the ground on the cells of a map: the place of an elevation model, and its values there, resampled."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.geo.geodesy import as_crs, same_crs
from clgeom.geo.heights import metres_in
from clgeom.intake.typing import NDArray
from clgeom.io.files import NO_NETWORK, FilePath
from clgeom.io.rasters import open_raster, read_raster
from clgeom.optional import require

#: Points on each edge of a map by which its window is found, and cells read beyond it.
EDGE_POINTS, MARGIN = 33, 4
#: Most cells that are read at a time: 1 GiB of float32.
MOST_HEIGHTS = 1 << 28


@dataclass(frozen=True)
class Place:
    """Where a raster is: its transform, reference system and shape."""

    transform: tuple[float, ...]
    crs: Any
    shape: tuple[int, int]


@keeps_subnormals
def place_of(path: FilePath) -> Place:
    """Return the place of an elevation model, without reading its heights."""
    raster = open_raster(path)
    if raster.transform is None or raster.crs is None:
        lacks = "transform" if raster.transform is None else "coordinate reference system"
        raise wrong_file(path, f"has no {lacks}: where its heights are is unknown. Give it one: gdal_translate -a_srs")
    as_crs(raster.crs, caller=f"Reading '{os.fspath(path)}'")
    rows, columns = raster.values.shape[-2:]
    a, b, c, d, e, f = map(float, tuple(raster.transform)[:6])
    return Place((a, b, c, d, e, f), raster.crs, (int(rows), int(columns)))


@keeps_subnormals
def heights_on(path: FilePath, transform: Sequence[float], crs: Any, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return the heights at the centres of a map's cells in m, float32, NaN where the model has none.

    Those of the same cells are taken as they are; others are interpolated between four cells, or averaged where cells
    of the map are larger.
    """
    place = place_of(path)
    if (place.transform, place.shape) == (tuple(transform), shape) and same_crs(place.crs, crs):
        return _heights(path, None)[0]
    window = _window_of(path, place, transform, crs, shape)
    made = np.full(shape, np.nan, np.float32)
    if window is None:
        return made
    values, own = _heights(path, window)
    require("rasterio", f"Reprojecting '{os.fspath(path)}'")
    import rasterio
    from rasterio.warp import Resampling, reproject

    systems = [as_crs(one, caller=f"Reading '{os.fspath(path)}'").to_wkt() for one in (place.crs, crs)]
    try:
        with rasterio.Env(**NO_NETWORK):
            reproject(
                values, made, src_transform=rasterio.Affine(*own), src_crs=systems[0], src_nodata=np.nan,
                dst_transform=rasterio.Affine(*transform), dst_crs=systems[1], dst_nodata=np.nan,
                resampling=Resampling.bilinear,
            )  # fmt: skip
    except (rasterio.errors.RasterioError, rasterio.errors.CRSError) as error:
        raise wrong_file(path, f"cannot be reprojected to the map: {error}") from error
    return made


def _heights(path: FilePath, window: Any) -> tuple[NDArray[np.float32], tuple[float, ...]]:
    """Return the heights of a window, NaN where there are none, and the window's transform."""
    raster = read_raster(path, window=window)
    values = np.ma.filled(np.ma.asarray(raster.values).astype(np.float32), np.nan)
    if raster.nodata is not None:
        values[values == np.float32(raster.nodata)] = np.nan
    metres = _metres(path, raster)
    values = values if metres == 1 else (values * metres).astype(np.float32)
    return values, tuple(map(float, tuple(raster.transform or ())[:6]))


def _metres(path: FilePath, raster: Any) -> float:
    """Return how many metres the unit of heights has: that of the band, else that of a vertical reference system."""
    what = f"The file '{os.fspath(path)}'"
    if raster.unit is not None:
        return metres_in(raster.unit, what)
    axes = as_crs(raster.crs, caller=f"Reading '{os.fspath(path)}'").axis_info[2:]
    return float(axes[0].unit_conversion_factor) if axes else 1.0


def _window_of(path: FilePath, place: Place, transform: Sequence[float], crs: Any, shape: tuple[int, int]) -> Any:
    """Return the first row and column, and the rows and columns, of a model that a map needs; None for none of them."""
    import pyproj

    caller = f"Reading '{os.fspath(path)}'"
    rows, columns = np.array([0, 1, 1, 0]) * shape[0], np.array([0, 0, 1, 1]) * shape[1]
    edges = [np.linspace(one, np.roll(one, -1), EDGE_POINTS).ravel() for one in (columns, rows)]
    x, y = _applied(transform, *edges)
    there = pyproj.Transformer.from_crs(as_crs(crs, caller=caller), as_crs(place.crs, caller=caller), always_xy=True)
    x, y = there.transform(x, y)
    known = np.isfinite(x) & np.isfinite(y)
    if not known.any():
        return None
    a, b, c, d, e, f = place.transform
    x, y, scale = x[known] - c, y[known] - f, a * e - b * d
    across, down = (e * x - b * y) / scale, (a * y - d * x) / scale
    low = np.maximum(np.floor([down.min(), across.min()]) - MARGIN, 0)
    high = np.minimum(np.ceil([down.max(), across.max()]) + MARGIN, place.shape)
    if (low >= high).any():
        return None
    (row, column), (count, width) = low.astype(int).tolist(), (high - low).astype(int).tolist()
    if count * width > MOST_HEIGHTS:
        raise wrong_file(
            path,
            f"has {count:,} x {width:,} cells on the map, and at most {MOST_HEIGHTS:,} are read: make a coarser one "
            "(gdalwarp -tr) or a smaller map (--bounds)",
        )
    return row, column, count, width


def _applied(transform: Sequence[float], x: Any, y: Any) -> tuple[Any, Any]:
    a, b, c, d, e, f = transform
    return a * x + b * y + c, d * x + e * y + f
