"""Polygons of covered cells whose arrays are on the device."""

from __future__ import annotations

import functools
from typing import Any

from clgeom.region.rings.polygons import CoveragePolygons
from clgeom.runtime.device_arrays import fetched

ARRAYS = ("corners", "ring_offsets", "polygon_offsets", "maps", "levels", "parts", "cells")


class DevicePolygons(CoveragePolygons):
    """`CoveragePolygons` whose arrays are ``pyopencl.array.Array``.

    Everything but these arrays and the counts is computed from a copy on the host, which the first use makes.
    """

    @functools.cached_property
    def on_host(self) -> CoveragePolygons:
        """The same polygons with arrays on the host."""
        arrays = {name: fetched(getattr(self, name)) for name in ARRAYS}
        return CoveragePolygons(arrays, self.exact_vertices, self.grid, self.given, self.direction, self.phases)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self.on_host[index]

    def __reduce__(self) -> Any:  # arrays stay on their device
        host = self.on_host
        arrays = {name: getattr(host, name) for name in ARRAYS}
        return CoveragePolygons, (arrays, self.exact_vertices, self.grid, self.given, self.direction, self.phases)

    def _repr_html_(self) -> str:
        return self.on_host._repr_html_()

    @property
    def _ragged(self):
        return self.on_host._ragged

    @property
    def _cell_areas(self):
        return self.on_host._cell_areas

    @property
    def areas_km2(self) -> Any:  # type: ignore[override]
        return self.on_host.areas_km2

    @property
    def iou(self) -> float:
        return self.on_host.iou

    def at_level(self, level: Any) -> Any:
        return self.on_host.at_level(level)

    def select(self, chosen: Any) -> CoveragePolygons:
        return self.on_host.select(chosen)

    def to_shapely(self, *, cells: bool = False) -> Any:
        return self.on_host.to_shapely(cells=cells)

    def to_file(self, *args: Any, **options: Any) -> None:
        self.on_host.to_file(*args, **options)

    def encode_geojson(self, *args: Any, **options: Any) -> Any:
        return self.on_host.encode_geojson(*args, **options)

    def _columns(self):
        return self.on_host._columns()
