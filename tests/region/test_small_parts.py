"""Rasters without small parts of covered cells."""

from itertools import cycle

import numpy as np
import pytest

from clgeom import coverage_regions
from clgeom.intake.interop.rasters import Raster
from clgeom.intake.interop.strips import Strips
from clgeom.region.coverage.rasters import covered_mask
from clgeom.region.rings.small_parts import without_small_parts

ndimage = pytest.importorskip("scipy.ndimage")


def expected(values, level, direction, nodata, least):
    """The cells of each map that reach a level, in parts of enough cells."""
    mask = covered_mask(values, level, direction=direction, nodata=nodata)
    for one in mask.reshape(-1, *mask.shape[-2:]):
        labels, _ = ndimage.label(one)
        one &= np.bincount(labels.ravel())[labels] >= least
    return mask


@pytest.mark.parametrize("kind", ("float32", "uint16", "masked", "all", "strips"))
def test_parts_that_are_kept(kind, session):
    rng = np.random.default_rng(len(kind))
    for direction, least, nodata in zip((">=", "<=") * 4, cycle((2, 4, 9)), cycle((None, 2, 5, 1))):
        values = ndimage.uniform_filter(rng.random((2, 17, 23)), (0, 2, 2)) * 12
        values = values.astype("int16" if kind in ("masked", "strips") else "uint8" if kind == "all" else kind)
        levels = (5, 3, 7.5)
        if kind == "masked":
            values = np.ma.masked_array(values, rng.random(values.shape) < 0.1)
        elif kind == "all":  # no value of the type misses the first level
            levels = (0, 5, 255) if direction == ">=" else (255, 5)
        elif kind == "strips":
            values = values[0]
        given = values
        if kind == "strips":  # of which only some are masked
            hidden = (rng.random(values.shape) < 0.1) & (np.arange(17)[:, None] > 8)
            values = np.ma.masked_array(values, hidden)

            def window(row, column, rows, columns, values=values):
                part = values[row : row + rows, column : column + columns]
                return part if np.ma.is_masked(part) else part.data

            given = Strips(window, values.shape, values.dtype, plain=False)
        raster = Raster(given, (2, 0, 0, 0, 2, 0), nodata=nodata)
        found = without_small_parts(raster, levels, 4 * least, direction=direction, device=session)
        made = found.values
        if kind == "strips":
            made = np.ma.concatenate([made.rows(0, 7), made.rows(7, 17)])
        for level in levels:
            mask = covered_mask(made, level, direction=direction, nodata=found.nodata)
            np.testing.assert_array_equal(mask, expected(values, level, direction, nodata, least))
        kept = coverage_regions(made, levels, direction=direction, nodata=found.nodata, outline="cells", device=session)
        whole = coverage_regions(values, levels, direction=direction, nodata=nodata, outline="cells", device=session)
        assert kept.cells.tolist() == whole.cells[whole.cells >= least].tolist()
        again = without_small_parts(found, levels, 4 * least, direction=direction, device=session)
        assert again is found
