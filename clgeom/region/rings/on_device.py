"""Polygons of covered cells whose arrays are on the device."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.region.rings.emission import ARRAYS
from clgeom.region.rings.polygons import CoveragePolygons


@keeps_subnormals
class DevicePolygons(CoveragePolygons):
    """`CoveragePolygons` whose arrays are ``pyopencl.array.Array``.

    Everything but these arrays and the counts is computed from a copy on the host, which the first use makes.
    """

    @functools.cached_property
    def on_host(self) -> CoveragePolygons:
        """The same polygons with arrays on the host."""
        arrays = {name: fetched(getattr(self, name)) for name in ARRAYS}
        made = CoveragePolygons(arrays, self.exact_vertices, self.grid, self.given, self.direction, self.phases)
        made.apart = self.apart
        return made

    def __getitem__(self, index: Any) -> Any:
        return self.on_host[index]

    def __reduce__(self) -> Any:  # arrays stay on their device
        return copy.copy, (self.on_host,)

    def _repr_html_(self) -> str:
        return self.on_host._repr_html_()

    @property
    def _ragged(self) -> Any:
        return self.on_host._ragged

    @property
    def _cell_areas(self) -> np.ndarray:
        return self.on_host._cell_areas

    @property
    def areas_km2(self) -> Any:
        return self.on_host.areas_km2

    @property
    def iou(self) -> float:
        return self.on_host.iou

    def in_km2(self, crs: Any) -> Any:
        return self.on_host.in_km2(crs)

    def at_level(self, level: Any) -> Any:
        return self.on_host.at_level(level)

    def select(self, chosen: Any) -> CoveragePolygons:
        return self.on_host.select(fetched(chosen) if is_device_array(chosen) else chosen)

    def to_shapely(self, *, cells: bool = False) -> Any:
        return self.on_host.to_shapely(cells=cells)

    def to_file(self, *args: Any, **options: Any) -> Any:
        return self.on_host.to_file(*args, **options)

    def ragged_for_files(self) -> Any:
        return self.on_host.ragged_for_files()

    def in_degrees(self, *args: Any, **options: Any) -> Any:
        return self.on_host.in_degrees(*args, **options)

    def _columns(self) -> dict[str, Any]:
        return self.on_host._columns()
