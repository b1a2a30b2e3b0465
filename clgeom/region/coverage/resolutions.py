"""Coverage regions of several resolutions of the same raster, and a table that compares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.optional import require
from clgeom.region.coverage.measures import measure
from clgeom.region.coverage.outlines import mask_polygons
from clgeom.region.coverage.rasters import Levels, Stack
from clgeom.region.coverage.result import CoverageRegions


@keeps_subnormals
class CoverageResolutions(Sequence[CoverageRegions]):
    """The regions of a raster for several numbers of segments, in the order of `segments`.

    Attributes
    ----------
    segments : tuple of int

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> raster = np.array([[9, 0, 0, 9], [9, 9, 0, 9]])
    >>> found = clgeom.raster_regions(raster, 5, segments=[1, 8], parts=False)
    >>> [(row["segments"], row["area"], row["missed"], row["iou"]) for row in found.table()]
    [(1, 8.0, 0.0, 0.625), (8, 7.0, 0.0, 0.7142857142857143)]
    """

    segments: tuple[int, ...]

    def __init__(self, found: list[CoverageRegions], segments: tuple[int, ...], stack: Stack, levels: Levels) -> None:
        self._found, self.segments, self._stack, self._levels = found, segments, stack, levels

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> CoverageRegions: ...
    @overload
    def __getitem__(self, index: slice) -> list[CoverageRegions]: ...
    def __getitem__(self, index: int | slice) -> CoverageRegions | list[CoverageRegions]:
        return self._found[index]

    def __repr__(self) -> str:
        return f"CoverageResolutions({', '.join(map(str, self.segments))} segments: {self._found[0]!r})"

    def table(self) -> list[dict[str, Any]]:
        """Metrics for each number of segments and level, measured on the cells of all maps with Shapely.

        Returns
        -------
        list of dict
            `segments`, `level`, `regions`, `vertices`; `area`, `cells_area`, and the `superfluous` and `missed` area,
            in the square of the map's unit; `iou`, the area of the intersection over that of the union. Regions of one
            map and level that overlap count once.
        """
        grid = self._found[0].grid
        rows: dict[tuple[int, int], dict[str, Any]] = {}
        for number in range(self._stack.maps):
            for k, level in enumerate(self._levels.given):
                mask = self._levels.mask(self._stack.map(number), k)
                exact = mask_polygons(mask)
                for segments, found in zip(self.segments, self._found):
                    own = [found[i] for i in np.flatnonzero((found.maps == number) & (found.levels == k)).tolist()]
                    one = measure(own, mask, hausdorff=False, polygons=exact)
                    row = rows.setdefault((segments, k), dict.fromkeys(SUMMED, 0) | {"level": level})
                    row["regions"] += sum(map(bool, own))
                    row["vertices"] += sum(map(len, own))
                    for name, value in zip(SUMMED[2:], (one.area, one.mask_area, one.superfluous, one.missed)):
                        row[name] += value * grid.cell_area
        made = []
        for segments in self.segments:
            for k in range(len(self._levels.given)):
                row = rows[segments, k]
                union = row["area"] + row["missed"]
                iou = (row["cells_area"] - row["missed"]) / union if union else 1.0
                made.append({"segments": segments, "level": row.pop("level"), **row, "iou": iou})
        return made

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            A row for each of `table`.

        Raises
        ------
        InvalidInput
            pandas or Shapely is not installed.
        """
        require("pandas", "to_pandas")
        import pandas

        return pandas.DataFrame(self.table())


#: Columns that are summed over maps.
SUMMED = ("regions", "vertices", "area", "cells_area", "superfluous", "missed")
