"""Write maps as GeoTIFF. Rasterio is imported when it is needed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import short
from clgeom.geo.geodesy import as_crs
from clgeom.intake.typing import NDArray
from clgeom.io.atomic import check_output, new_file
from clgeom.io.files import NO_NETWORK, FilePath
from clgeom.optional import require

GEOTIFF = (".tif", ".tiff")


@dataclass(frozen=True, eq=False)
class Band:
    """A band of a GeoTIFF: its description, values that float32 holds (NaN for cells without data), unit, and tags."""

    name: str
    values: NDArray[Any]
    unit: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


@keeps_subnormals
def write_geotiff(path: FilePath, bands: Sequence[Band], transform: Sequence[float], crs: Any = None) -> None:
    """Write bands of float32, whole or not at all. What is written is read again and compared."""
    check_output(path, GEOTIFF)
    require("rasterio", f"Writing '{os.fspath(path)}'")
    import rasterio

    system = None if crs is None else as_crs(crs, caller=f"Writing '{os.fspath(path)}'").to_wkt()
    for text in (text for band in bands for pair in band.tags.items() for text in pair):
        if "\0" in text or not _is_unicode(text):
            raise wrong_file(os.fspath(path), f"holds text of Unicode without NUL. Got {short(text)} instead", "output")
    (rows, columns), damaged = bands[0].values.shape, None
    profile: dict[str, Any] = {
        **{"driver": "GTiff", "height": rows, "width": columns, "count": len(bands), "dtype": "float32"},
        **{"nodata": float("nan"), "crs": system, "transform": rasterio.Affine(*transform)},
        **{"compress": "deflate", "predictor": 3, "tiled": True, "BIGTIFF": "IF_SAFER"},
    }
    with new_file(path) as file, warnings.catch_warnings(), rasterio.Env(**NO_NETWORK):
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        try:
            with rasterio.open(file.path, "w", **profile) as made:
                for number, band in enumerate(bands, 1):
                    made.write(band.values.astype(np.float32, copy=False), number)
                    made.set_band_description(number, band.name)
                    made.set_band_unit(number, band.unit)
                    made.update_tags(number, **band.tags)
            with rasterio.open(file.path) as made:  # GDAL may not say of a full disk
                if not all(_same(made.read(number), band.values) for number, band in enumerate(bands, 1)):
                    damaged = "the disk has not kept it"
        except (rasterio.errors.RasterioError, rasterio.errors.CRSError) as error:
            reason = str(error.__cause__ or error).splitlines() or [type(error).__name__]
            damaged = reason[0].rstrip(".")
        if damaged:
            raise wrong_file(file.given, f"cannot be written: {damaged}", "output")


def _same(written: NDArray[Any], values: NDArray[Any]) -> bool:
    return np.array_equal(written, values.astype(np.float32, copy=False), equal_nan=True)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
