"""The values of coverage regions as columns of a table."""

from __future__ import annotations

import numpy as np

from clgeom.exchange import column_of_counts


def columns_of(regions):
    """Return level, direction, map, part, cells and area of each region; cells are masked where not counted."""
    regions = list(regions)
    return {
        "level": np.array([region.level for region in regions], np.float64),
        "direction": np.array([region.direction for region in regions], object),
        "map": np.array([region.map for region in regions], np.int64),
        "part": np.array([region.part for region in regions], np.int64),
        "cells": column_of_counts(*(region.cells for region in regions)),
        "area": np.array([region.area for region in regions], np.float64),
    }
