"""Coverage regions of several levels as nested shapes, and as the bands between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from clgeom.arguments import wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.geo.geojson import polygons_of
from clgeom.optional import require_shapely
from clgeom.region.coverage.grid import Grid


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Layer:
    """A Shapely shape of the coverage at one level, inside the layer of the level before."""

    shape: Any
    before: Layer | None = None


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Nested:
    """The coverage at one level of one map, inside the coverage at the level before.

    Parameters
    ----------
    shape : shapely geometry
        In map coordinates.
    level, upto : float, float or None
        The level; of a band, the level of the next shape, which is cut out.
    direction : {">=", "<="}
    map : int
    grid : Grid
    cells : int or None
        Number of cells that reach the level (for a band: and not the next one), or None if they were not counted.
    layer, cut : Layer, Layer or None
        The layer of the shape, and the layer that a band leaves out of it.
    """

    shape: Any
    level: float
    upto: float | None
    direction: str
    map: int
    grid: Grid
    cells: int | None
    layer: Layer | None = None
    cut: Layer | None = None

    def __repr__(self) -> str:
        upto = "" if self.upto is None else f" up to {self.upto:g}"
        return f"Nested(map {self.map}: {self.direction} {self.level:g}{upto}, area {self.area:.6g})"

    @property
    def area(self) -> float:
        """The area in the square of the map's unit."""
        return float(self.shape.area)

    @property
    def crs(self) -> Any:
        return self.grid.crs

    def to_shapely(self) -> Any:
        """Return the shape as a Shapely geometry, as `CoverageRegion.to_shapely` returns it."""
        return self.shape

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        return dict(require_shapely().geometry.mapping(self.shape))


@keeps_subnormals
def nested(regions: Iterable[Any], *, bands: bool = False) -> list[Nested]:
    """Return the shapes of all levels of each map, each inside the one before.

    The cells of a higher level are cells of the lower one, but its regions may reach beyond the lower regions, since
    their segments differ. Here the shape of the outermost level is the union of its regions. The shape of every further
    level is the intersection of the union of its regions with the shape before. So each shape is inside the one before
    and covers every cell of its level.

    Parameters
    ----------
    regions : sequence of CoverageRegion
        Regions of one raster or stack, with one direction.
    bands : bool
        Cut the next shape out of each, so that a shape covers what this level covers and the next does not.

    Returns
    -------
    list of Nested
        In the order of maps, the outermost level first. Levels without a region are left out.

    Raises
    ------
    InvalidInput
        The regions have different directions, or Shapely is not installed.

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> from clgeom.region.coverage.bands import nested
    >>> regions = clgeom.raster_regions(np.array([[5, 7, 7, 5]]), [5, 7])
    >>> [shape.area for shape in nested(regions)], [band.area for band in nested(regions, bands=True)]
    ([4.0, 2.0], [2.0, 2.0])
    """
    shapely = require_shapely()
    regions = [region for region in regions if region]
    directions = {region.direction for region in regions}
    if len(directions) > 1:
        raise wrong("regions", "nested", "of one direction", "'>=' and '<='")
    found = []
    for number in sorted({region.map for region in regions}):
        own = [region for region in regions if region.map == number]
        levels = sorted({region.level for region in own}, reverse=directions == {"<="})
        layers: list[Layer] = []
        cells: list[int | None] = []
        for level in levels:
            some = [region for region in own if region.level == level]
            shape = shapely.union_all([region.to_shapely() for region in some])
            before = layers[-1] if layers else None
            layers.append(Layer(polygons_of(shape.intersection(before.shape) if before else shape), before))
            counted = [region.cells for region in some]
            cells.append(None if None in counted else sum(counted))
        for i, (level, layer) in enumerate(zip(levels, layers)):
            shape, count, upto, cut = layer.shape, cells[i], None, None
            if bands and i + 1 < len(levels):
                upto, cut = levels[i + 1], layers[i + 1]
                shape = polygons_of(shape.difference(cut.shape))
                after = cells[i + 1]
                count = None if count is None or after is None else count - after
            found.append(Nested(shape, level, upto, own[0].direction, number, own[0].grid, count, layer, cut))
    return found
