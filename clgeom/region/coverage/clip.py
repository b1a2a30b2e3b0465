"""Rasters clipped to polygons: cells with their centre outside of all polygons become unknown.

    edges of a polygon, rows of centres -> the first centre of each row that is not left of the edge
    first centres                       -> parity along the rows: inside or outside

Vertices are taken to columns and rows, as float64; from there on signs of exact arithmetic decide.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import counted
from clgeom.errors import InputWarning, InvalidInput, short, warn
from clgeom.geo.geodesy import as_crs, same_crs
from clgeom.geo.geojson import polygons_in
from clgeom.intake.chunks import as_chunks
from clgeom.intake.device_arrays import on_host
from clgeom.intake.interop.rasters import Raster, placed_raster
from clgeom.intake.interop.strips import Strips
from clgeom.intake.typing import AnyArray, NDArray
from clgeom.optional import is_installed
from clgeom.region.arc.chain_geometry import signs
from clgeom.region.coverage.grid import Grid, as_grid
from clgeom.region.coverage.named import opened

CALLER = "clip_raster"
#: Cells of a block whose parities are counted at a time.
BLOCK_CELLS = 1 << 22
#: What Shapely says of rings that touch themselves or each other, whose area is clear.
TOUCHES = ("Ring Self-intersection", "Interior is disconnected", "Too few points")


@keeps_subnormals
def clip_raster(raster: AnyArray | Raster, polygons: Any, *, crs: Any = None, layer: str | None = None) -> Raster:
    """Return a raster whose cells with a centre outside of polygons are masked.

    Parameters
    ----------
    raster : array_like or Raster, shape (rows, columns) or (maps, rows, columns)
        As for `raster_regions`; no iterator.
    polygons : path-like, shapely.Geometry, GeoSeries, GeoDataFrame, or object with `__geo_interface__`, or a dict of it
        Of each geometry the polygons count; a cell is kept if one of the polygons has its centre. A file is .gpkg,
        .geojson, .json, .shp or .fgb.
    crs : optional
        Coordinate reference system of the polygons; by default their own, else that of the raster. From another one
        vertices are reprojected, and edges are straight lines between them.
    layer : str, optional
        Layer of a file with several.

    Returns
    -------
    Raster
        With the raster's position and unit, and masked values. Large files stay strips.

    Raises
    ------
    InvalidInput
        There are no polygons, a vertex is not finite, or the file cannot be read; as for `raster_regions`.

    Notes
    -----
    Vertices are taken to columns and rows and rounded to float64; then the decision is exact. A centre on a boundary is
    in the polygon beyond it in the direction of greater columns, on a level edge of greater rows. So of polygons that
    share their boundaries, such as districts, exactly one has a cell. In a polygon that crosses itself are the places
    that its rings enclose an odd number of times; with Shapely there is an `InputWarning`.

    Examples
    --------
    >>> import clgeom
    >>> district = {"type": "Polygon", "coordinates": [[(0, 0), (3, 0), (0, 3), (0, 0)]]}
    >>> clgeom.clip_raster([[9, 9, 9], [9, 9, 9], [9, 9, 9]], district).values.mask.tolist()
    [[False, False, True], [False, True, True], [True, True, True]]
    """
    if as_chunks(raster.values if isinstance(raster, Raster) else raster) is not None:
        raise wrong("raster", CALLER, "a whole raster, no strips of one", short(raster))
    placed = placed_raster(opened(raster, caller=CALLER), caller=CALLER, strips=True)
    is_read_later = isinstance(placed.values, Strips)
    try:
        values = placed.values if is_read_later else np.asanyarray(on_host(placed.values))
    except ValueError as error:  # lists of several lengths
        raise wrong("raster", CALLER, "an array of numbers", short(placed.values)) from error
    if np.ndim(values) not in (2, 3):
        raise wrong("raster", CALLER, "shape (rows, columns) or (maps, rows, columns)", np.shape(values), verb="have")
    grid = as_grid(placed.transform, placed.crs, values.shape[-2:], caller=CALLER)
    found, own = _geometries(polygons, layer)
    clip = Clip(tuple(_rings_in_cells(found, own if crs is None else crs, grid)), grid.shape)
    if not clip.polygons:
        raise wrong("polygons", CALLER, "geometries with polygons", short(polygons))
    if not is_read_later:
        return replace(placed, values=_masked(values, clip.inside(0, 0, *grid.shape)))

    def part(row: int, column: int, rows: int, columns: int) -> Any:
        return _masked(placed.values.window(row, column, rows, columns), clip.inside(row, column, rows, columns))

    return replace(placed, values=replace(placed.values, window=part, plain=False))


def _masked(values: Any, inside: np.ndarray) -> Any:
    return np.ma.masked_array(values, np.ma.getmaskarray(values) | ~inside)


def _geometries(polygons: Any, layer: str | None) -> tuple[list[dict[str, Any]], Any]:
    """Return GeoJSON-like geometries, and their reference system if they have one."""
    if isinstance(polygons, (str, os.PathLike)):
        from clgeom.io.layers import read_geometries

        return read_geometries(os.fspath(polygons), layer)
    if layer is not None:
        raise wrong("layer", CALLER, "None for polygons that are not in a file", short(layer))
    found = polygons if isinstance(polygons, dict) else getattr(polygons, "__geo_interface__", None)
    if not isinstance(found, dict) or "type" not in found:
        raise wrong("polygons", CALLER, "a file, geometries of Shapely or GeoPandas, or GeoJSON", short(polygons))
    members: list[Any] = [found]
    if found["type"] == "FeatureCollection":
        members = [one.get("geometry") for one in found.get("features", ())]
    elif found["type"] == "Feature":
        members = [found.get("geometry")]
    return [one for one in members if one], getattr(polygons, "crs", None)


def _rings_in_cells(geometries: list[dict[str, Any]], crs: Any, grid: Grid) -> Iterable[list[np.ndarray]]:
    """Yield the rings of each polygon in columns and rows."""
    move = None
    if crs is not None and grid.crs is not None and not same_crs(crs, grid.crs):
        from pyproj import Transformer

        there, here = (as_crs(one, caller=CALLER) for one in (crs, grid.crs))
        move = Transformer.from_crs(there, here, always_xy=True).transform
    try:
        polygons = [polygon for geometry in geometries for polygon in polygons_in(geometry)]
        made = [[np.asarray([place[:2] for place in ring], np.float64) for ring in rings] for rings in polygons]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise wrong("polygons", CALLER, "valid GeoJSON", short(geometries)) from error
    _warn_crossing(made)
    for rings in made:
        if move is not None:
            rings = [np.stack(move(*ring.T), axis=1) for ring in rings if len(ring)]
        with np.errstate(over="ignore", invalid="ignore"):
            cells = [grid.to_cells(ring) for ring in rings if len(ring)]
        if not all(np.isfinite(ring).all() for ring in cells):
            raise InvalidInput(f"The 'polygons' parameter of {CALLER} must have finite vertices on the raster's map.")
        if cells:
            yield cells


def _warn_crossing(polygons: list[list[np.ndarray]]) -> None:
    """Warn of the first polygon whose rings cross, if Shapely is there to find it."""
    if not is_installed("shapely"):
        return
    import shapely

    for number, (outer, *holes) in enumerate([rings for rings in polygons if rings], 1):
        if any(len(ring) < 4 or not np.isfinite(ring).all() for ring in (outer, *holes)):
            continue  # of no area, or refused
        shape = shapely.Polygon(outer, holes)
        reason = "" if shape.is_valid else str(shapely.is_valid_reason(shape))
        if reason and not reason.startswith(TOUCHES):
            count = counted(len(polygons), "polygon", "polygons")
            warn(
                f"Of {count} to clip to, number {number} crosses itself ({reason}). Inside are places that it encloses "
                "an odd number of times; repair it (shapely.make_valid) if it should be another area.",
                InputWarning,
            )
            return


@dataclass(frozen=True, eq=False)
class Clip:
    """Polygons in columns and rows, and the shape of the raster."""

    polygons: tuple[list[np.ndarray], ...]
    shape: tuple[int, int]

    def inside(self, row: int, column: int, rows: int, columns: int) -> NDArray[np.bool_]:
        """Return which cells of a window have their centre in a polygon."""
        found = np.zeros((rows, columns), bool)
        for rings in self.polygons:
            (left, top), (right, bottom) = (
                getattr(np.concatenate(rings), name)(axis=0) - (column, row) for name in ("min", "max")
            )
            first, last = max(math.floor(top) - 1, 0), min(math.ceil(bottom) + 1, rows)
            begin, end = max(math.floor(left) - 1, 0), min(math.ceil(right) + 1, columns)
            if begin >= end:
                continue
            step = max(BLOCK_CELLS // (end - begin), 1)
            for top in range(first, last, step):
                height = min(step, last - top)
                part = found[top : top + height, begin:end]
                part |= _inside(rings, row + top, column + begin, *part.shape)
        return found


def _inside(rings: list[np.ndarray], row: int, column: int, rows: int, columns: int) -> NDArray[np.bool_]:
    """Return which centres of a window are in a polygon, by the parity of the edges that are not right of them."""
    low = np.concatenate(rings)
    high = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
    upwards = low[:, 1] <= high[:, 1]
    low, high = np.where(upwards[:, None], low, high), np.where(upwards[:, None], high, low)
    # an edge meets the rows of centres from its low end on, without its high end
    begin, end = (np.clip(np.ceil(at[:, 1] - 0.5), row, row + rows).astype(np.int64) - row for at in (low, high))
    sizes = end - begin
    edge = np.repeat(np.arange(len(low)), sizes)
    at = begin[edge] + np.arange(len(edge)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first = _first_right(low[edge], high[edge], row + at + 0.5, column, columns)
    width = columns + 1
    counts = np.bincount(at * width + first, minlength=rows * width).reshape(rows, width)[:, :columns]
    return (np.cumsum(counts, axis=1) & 1).astype(bool)


def _first_right(low: np.ndarray, high: np.ndarray, y: np.ndarray, column: int, columns: int) -> np.ndarray:
    """Return the number of the first centre of a row that is right of an edge or on it, for each edge and row."""

    def is_left(number: np.ndarray, chosen: Any = slice(None)) -> np.ndarray:
        """Return whether centres are strictly left of their edges; those before the first are, those behind are not."""
        centres = np.stack([column + number + 0.5, y[chosen]], axis=1)
        left = signs(low[chosen], high[chosen], centres, None) > 0
        return np.asarray((number < 0) | (left & (number < columns)))

    if not len(low):
        return np.empty(0, np.int64)
    with np.errstate(all="ignore"):
        share = (y - low[:, 1]) / (high[:, 1] - low[:, 1])
        guess = np.ceil(low[:, 0] + share * (high[:, 0] - low[:, 0]) - column - 0.5)
    first: np.ndarray = np.clip(np.nan_to_num(guess), 0, columns).astype(np.int64)
    wrong_ones = np.flatnonzero(is_left(first) | ~is_left(first - 1))
    below, above = np.full(len(wrong_ones), -1), np.full(len(wrong_ones), columns)  # left of the edge, and not left
    while (above - below > 1).any():
        middle = (below + above) // 2
        left = is_left(middle, wrong_ones)
        below, above = np.where(left, middle, below), np.where(left, above, middle)
    first[wrong_ones] = above
    return np.asarray(first)
