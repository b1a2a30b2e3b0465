"""Rasters by the names of their files, and lists of files and of open datasets: each one is a map of a stack."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.errors import InvalidInput, short
from clgeom.geo.geodesy import same_crs
from clgeom.intake.interop.rasters import Raster, is_dataset, placed_raster, stacked
from clgeom.region.coverage.grid import as_grid


def opened(raster: Any, *, caller: str, whole: bool = False, name: str = "raster", nodata: Any = None) -> Any:
    """Return a raster as it was given, but a file, a list of files or a list of datasets of rasterio as a `Raster`.

    Bands of a file with several are maps, as those of a dataset are. Large files are read by strips unless `whole`.
    A `nodata` replaces that of the raster and those of files.
    """
    values = raster.values if isinstance(raster, Raster) else raster
    if nodata is None and isinstance(raster, Raster):
        nodata = raster.nodata
    if isinstance(values, (str, os.PathLike)):
        found = _bands(values, nodata, whole)
    elif isinstance(values, (list, tuple)) and values and all(map(_is_source, values)):
        found = _stack(values, nodata, caller, name)
    elif isinstance(values, (list, tuple)) and any(map(_is_source, values)):
        raise InvalidInput(f"The '{name}' parameter of {caller} must not mix files with arrays. Got {short(values)}.")
    else:
        return raster
    if not isinstance(raster, Raster):
        return found
    masked = None if np.ma.isMaskedArray(found.values) else found.nodata  # already without these cells
    return replace(raster, values=replace(found, nodata=masked), nodata=None)


def names_of_files(paths: Sequence[Any]) -> list[str]:
    """Return the names of files without their endings; their whole paths where two have the same name.

    A file that is given twice is refused: its cells would count twice under one name.
    """
    names, whole = [Path(path).stem for path in paths], [os.fspath(path) for path in paths]
    for k, path in enumerate(whole):
        if path in whole[:k]:
            raise InvalidInput(f"The file '{path}' is given twice.")
    return names if len(set(names)) == len(names) else whole


def _is_source(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) or is_dataset(value)


def _bands(path: Any, nodata: Any, whole: bool) -> Raster:
    """Return all bands of a file."""
    from clgeom.io.rasters import open_raster, read_raster

    first = (read_raster if whole else open_raster)(path, nodata=nodata)
    if first.bands == 1:
        return first
    bands = [read_raster(path, band=band, nodata=nodata) for band in range(1, first.bands + 1)]
    return replace(bands[0], values=stacked(bands), nodata=None)


def _stack(sources: Sequence[Any], nodata: Any, caller: str, parameter: str) -> Raster:
    """Return all maps of several files or datasets, which have the same cells, with their names."""
    rasters = [
        placed_raster(one, caller=caller, nodata=nodata) if is_dataset(one) else _bands(one, nodata, True)
        for one in sources
    ]
    paths, first = [one.name if is_dataset(one) else one for one in sources], rasters[0]
    shape = np.shape(first.values)[-2:]
    grid = as_grid(first.transform, first.crs, shape, caller=caller)
    maps, names = [], []
    for one, path, name in zip(rasters, paths, names_of_files(paths)):
        is_here = np.shape(one.values)[-2:] == shape and grid.has_place(one.transform, caller=caller)
        is_here &= (one.transform is None) == (first.transform is None)
        if not is_here or not (None in (one.crs, first.crs) or same_crs(one.crs, first.crs)):
            raise InvalidInput(
                f"The '{parameter}' parameter of {caller} must have rasters of the same cells. Got {Path(path).name} "
                f"with others than {Path(paths[0]).name}: call it for each of the {len(paths)} files."
            )
        values = one.values if np.ndim(one.values) == 3 else one.values[None]
        maps += [replace(one, values=own) for own in values]
        names += [name] if len(values) == 1 else [f"{name} {band}" for band in range(1, len(values) + 1)]
    unit = first.unit if len({one.unit for one in rasters}) == 1 else None
    return replace(first, values=stacked(maps), nodata=None, names=names, unit=unit, bands=1)
