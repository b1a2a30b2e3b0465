"""The values of coverage regions as columns of a table."""

from __future__ import annotations

import numpy as np

from clgeom.exchange import column_of_counts


def columns_of(regions):
    """Return the attributes of regions: id (1, 2, ..), level, direction, map, part, cells, cells_area and area.

    Areas are in the square of the map's unit. Cells and their area are missing where they were not counted.
    """
    regions = list(regions)
    return {
        "id": np.arange(1, len(regions) + 1),
        "level": np.array([region.level for region in regions], np.float64),
        "direction": np.array([region.direction for region in regions], object),
        "map": np.array([region.map for region in regions], np.int64),
        "part": np.array([region.part for region in regions], np.int64),
        "cells": column_of_counts(*(region.cells for region in regions)),
        "cells_area": np.array(
            [np.nan if region.cells is None else region.cells * region.grid.cell_area for region in regions], np.float64
        ),
        "area": np.array([region.area for region in regions], np.float64),
    }
