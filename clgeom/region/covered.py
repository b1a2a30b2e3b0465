"""Number and area of the covered cells of a raster, and sums of other rasters over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InputWarning, InvalidInput, short, warn
from clgeom.geo.geodesy import same_crs, shown
from clgeom.intake.chunks import as_chunks
from clgeom.intake.device_arrays import on_host
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.interop.rasters import Raster, placed_raster
from clgeom.intake.typing import AnyArray, FloatLike
from clgeom.region.coverage.grid import IDENTITY, Grid, as_grid, cells_area
from clgeom.region.coverage.named import opened
from clgeom.region.coverage.rasters import as_levels, canonical_cells, known_values

CALLER = "covered_area"


@keeps_subnormals
@dataclass(frozen=True)
class CoveredArea:
    """The covered cells of one level of one map: an entry of the result of `covered_area`.

    Parameters
    ----------
    level : float
    map : int
        Index of the map in its stack.
    cells : int
    area : float
        Their area in the square of the map's unit.
    area_km2 : float or None
        Their area on the ellipsoid of the coordinate reference system; None without one.
    sums : dict of str to float
        For each raster of weights the sum over the covered cells.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.covered_area([[1, 5, 7]], 5, weights=[[10, 20, 30]])
    [CoveredArea(level=5.0, map=0, cells=2, area=2.0, area_km2=None, sums={'weight': 50.0})]
    """

    level: float
    map: int
    cells: int
    area: float
    area_km2: float | None
    sums: dict[str, float]


@keeps_subnormals
@takes_cuda
def covered_area(
    raster: AnyArray,
    levels: FloatLike | Sequence[FloatLike],
    *,
    direction: Literal[">=", "<="] = ">=",
    transform: Any = None,
    crs: Any = None,
    nodata: FloatLike | None = None,
    weights: AnyArray | Mapping[str, Any] | None = None,
) -> list[CoveredArea]:
    """Return the number and area of the cells of a raster that reach each level, and sums of weights over them.

    Parameters
    ----------
    raster, levels, direction, transform, crs, nodata
        As for `coverage_regions`; no iterator, since the raster is read once for each level.
    weights : array_like of shape (rows, columns), or dict of str to such, optional
        Rasters of the same cells, such as population; masked cells and NaN count 0, an infinity is an
        error. A raster with a position of its own (of a file, of rasterio or xarray) must have that of `raster`. An
        array alone is named "weight".

    Returns
    -------
    list of CoveredArea
        For each map, in the order of the levels given.

    Raises
    ------
    InvalidInput
        As for `coverage_regions`. For weights of another shape, position or coordinate reference system.

    Warns
    -----
    InputWarning
        Weights below 0: missing values that the raster does not name, perhaps. They are summed as they are.

    See Also
    --------
    coverage_regions : The outlines of these cells.

    Notes
    -----
    `area_km2` is that of the cells on the ellipsoid: in longitude and latitude exact for each row (Snyder 1987, 3-12),
    in projections interpolated between 33 by 33 cells. It needs pyproj.

    Examples
    --------
    >>> import numpy as np
    >>> import clgeom
    >>> power, people = np.array([[-80, -90, -100]]), np.array([[12, 30, 5]])
    >>> place = {"transform": (0.5, 0, 10, 0, -0.5, 60), "crs": "EPSG:4326"}
    >>> found = clgeom.covered_area(power, [-85, -95], weights={"people": people}, **place)
    >>> [(one.cells, round(one.area_km2), one.sums["people"]) for one in found]
    [(1, 1566, 12.0), (2, 3132, 42.0)]
    """
    if as_chunks(raster) is not None:
        raise wrong("raster", CALLER, "a whole raster, no strips of one", short(raster))
    raster = opened(raster, caller=CALLER, whole=True)
    placed = placed_raster(raster, caller=CALLER, transform=transform, crs=crs, nodata=nodata)
    cells, integers = canonical_cells(on_host(placed.values), caller=CALLER)
    grid = as_grid(placed.transform, placed.crs, cells.shape[-2:], caller=CALLER)
    summed = _weights(weights, placed, grid)
    chosen = as_levels(levels, direction, placed.nodata, cells.dtype, caller=CALLER, integers=integers)
    found = []
    for k, level in enumerate(chosen.given):
        for number, covered in enumerate(chosen.mask(cells, k)):
            count = int(np.count_nonzero(covered))
            km2 = None if placed.crs is None else cells_area(covered, grid, caller=CALLER) / 1e6
            sums = {name: float(np.where(covered, weight, 0).sum()) for name, weight in summed.items()}
            found.append(CoveredArea(level, number, count, count * grid.cell_area, km2, sums))
    return sorted(found, key=lambda one: one.map)


def _weights(weights: Any, placed: Raster, grid: Grid) -> dict[str, np.ndarray]:
    """Return the weights by name as float64, 0 where they are unknown."""
    if weights is None:
        return {}
    if not isinstance(weights, Mapping):
        weights = {getattr(weights, "name", None) or "weight": weights}
    found = {}
    for name, given in weights.items():
        one = placed_raster(opened(given, caller=CALLER, whole=True), caller=CALLER, name="weights")
        values = known_values(on_host(one.values), one.nodata, caller=CALLER, name="weights")
        values[np.isnan(values)] = 0
        if not np.isfinite(values).all():
            raise wrong("weights", CALLER, "finite", f"an infinity in {shown(name)}")
        where = f"The 'weights' parameter of {CALLER} must have the cells of the raster"
        if values.shape != grid.shape:
            raise InvalidInput(
                f"{where}, {grid.shape}. Got {shown(name)} of shape {values.shape} instead.{_remedy(grid)}"
            )
        if one.crs is not None and placed.crs is not None and not same_crs(one.crs, placed.crs):
            code = str(placed.crs)
            remedy = _remedy(grid, f"-t_srs {code} " if code.startswith("EPSG:") else "")
            raise InvalidInput(
                f"{where} in {shown(placed.crs)}. Got {shown(name)} in {shown(one.crs)} instead.{remedy}"
            )
        if placed.transform is not None and not grid.has_place(one.transform, caller=CALLER):
            raise InvalidInput(
                f"{where}, with its transform. Got {shown(name)} with {one.transform} instead.{_remedy(grid)}"
            )
        _warn_negative(values, name)
        found[str(name)] = values
    return found


def _warn_negative(values: np.ndarray, name: str) -> None:
    """Warn of weights below 0, such as missing values of a raster that does not name them."""
    count = int(np.count_nonzero(values < 0))
    if count:
        cells, least = "1 cell" if count == 1 else f"{count:,} cells", f"{values.min():.10g}"
        warn(
            f"The weights {shown(name)} are negative in {cells}, least {least}: missing values? Mask them, or name "
            f"their value in the file (gdal_edit.py -a_nodata {least}).",
            InputWarning,
        )


def _remedy(grid: Grid, system: str = "") -> str:
    """Return how GDAL puts weights on the cells of a raster, in words with its figures; nothing for a rotated one."""
    a, b, _, d, e, _ = grid.transform
    if b or d or grid.transform == IDENTITY:
        return ""
    numbers = (*grid.bounds, abs(a), abs(e))
    *sides, dx, dy = (np.format_float_positional(number, trim="-") for number in numbers)
    return f" Put them on its cells: gdalwarp {system}-te {' '.join(sides)} -tr {dx} {dy} -r sum FROM.tif TO.tif"
