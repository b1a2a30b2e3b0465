"""Heights of the ground on the cells of a map: the place of an elevation model, and its values there, resampled."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.geo.geodesy import as_crs, same_crs
from clgeom.intake.typing import NDArray
from clgeom.io.files import NO_NETWORK, FilePath
from clgeom.io.rasters import open_raster, read_raster
from clgeom.optional import require


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
    """Return the heights at the centres of a map's cells, float32, NaN where the model has none.

    Those of the same cells are taken as they are; others are interpolated between four cells, or averaged where cells
    of the map are larger.
    """
    raster = read_raster(path)
    values = np.ma.filled(np.ma.asarray(raster.values).astype(np.float32), np.nan)
    if raster.nodata is not None:
        values[values == np.float32(raster.nodata)] = np.nan
    if tuple(map(float, tuple(raster.transform or ())[:6])) == tuple(transform) and values.shape == shape:
        if same_crs(raster.crs, crs):
            return values
    require("rasterio", f"Reprojecting '{os.fspath(path)}'")
    import rasterio
    from rasterio.warp import Resampling, reproject

    made = np.full(shape, np.nan, np.float32)
    systems = [as_crs(one, caller=f"Reading '{Path(path)}'").to_wkt() for one in (raster.crs, crs)]
    own = rasterio.Affine(*tuple(raster.transform or ())[:6])
    try:
        with rasterio.Env(**NO_NETWORK):
            reproject(
                values, made, src_transform=own, src_crs=systems[0], dst_transform=rasterio.Affine(*transform),
                dst_crs=systems[1], src_nodata=np.nan, dst_nodata=np.nan, resampling=Resampling.bilinear,
            )  # fmt: skip
    except (rasterio.errors.RasterioError, rasterio.errors.CRSError) as error:
        raise wrong_file(path, f"cannot be reprojected to the map: {error}") from error
    return made
