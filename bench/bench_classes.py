"""Polygons of all classes of a raster against rasterio and GDAL, exact and simplified with shared edges.

    python bench/bench_classes.py

A map of land cover, 12 classes: which of 12 smooth random fields is the greatest. Median milliseconds of whole calls
from the NumPy array: arcs, Shapely geometries, and lines simplified by 1.5 cells against shapely.coverage_simplify of
the exact polygons. GDAL's Polygonize, where its Python module is installed, writes features in memory. The classes and
areas of all polygons are compared, and simplified ones are verified to be a coverage of the same area, before anything
is timed.
"""

from __future__ import annotations

import argparse

import common
import numpy as np
import rasterio.features
import shapely

import clgeom
from clgeom.core.device import as_session

CLASSES, TOLERANCE = 12, 1.5


def land_cover(size: int, smooth: int) -> np.ndarray:
    """Classes of a map: fields of noise are summed over squares, twice."""
    random, best, found = np.random.default_rng(1), np.full((size, size), -np.inf), np.zeros((size, size), np.uint8)
    for number in range(CLASSES):
        field = random.normal(size=(size + 2 * smooth, size + 2 * smooth))
        for _ in range(2):
            sums = np.pad(field, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
            field = (
                sums[smooth:, smooth:] - sums[:-smooth, smooth:] - sums[smooth:, :-smooth] + sums[:-smooth, :-smooth]
            )
        field = field[:size, :size]
        found[field > best] = number + 1
        best = np.maximum(best, field)
    return found


def by_gdal(classes: np.ndarray):
    """A call of GDAL's Polygonize, None without its Python module."""
    try:
        from osgeo import gdal, gdal_array, ogr
    except ImportError:
        return None
    gdal.UseExceptions()
    source = gdal_array.OpenArray(classes)

    def call():
        data = ogr.GetDriverByName("Memory").CreateDataSource("")
        layer = data.CreateLayer("classes")
        layer.CreateField(ogr.FieldDefn("class", ogr.OFTInteger))
        gdal.Polygonize(source.GetRasterBand(1), None, layer, 0)
        return data

    return call


def by_rasterio(classes: np.ndarray):
    return [(int(value), shapely.geometry.shape(one)) for one, value in rasterio.features.shapes(classes)]


def check(classes: np.ndarray, exact, simplified):
    """Compare classes and areas with rasterio; a simplified coverage has neither gaps nor overlaps."""
    theirs = sorted((value, shape.area) for value, shape in by_rasterio(classes))
    assert sorted(zip(exact.classes.tolist(), exact.areas.tolist())) == theirs
    shapes = simplified.to_shapely()
    assert shapely.coverage_is_valid(shapes)
    assert simplified.areas.sum() == classes.size
    assert (simplified.areas > 0).all()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--smooth", type=int, nargs="+", default=[4, 12], help="sides of squares that are summed over")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; milliseconds")
    rows = []
    for smooth in options.smooth:
        classes = land_cover(options.size, smooth)
        exact = clgeom.polygonize(classes, device=session)
        check(classes, exact, exact.simplify(tolerance=TOLERANCE))
        shapes = exact.to_shapely()
        calls = {
            "arcs": lambda classes=classes: clgeom.polygonize(classes, device=session),
            "Shapely": lambda classes=classes: clgeom.polygonize(classes, device=session).to_shapely(),
            "rasterio, Shapely": lambda classes=classes: by_rasterio(classes),
            "simplified": lambda exact=exact: exact.simplify(tolerance=TOLERANCE).arcs,
            "coverage_simplify": lambda shapes=shapes: shapely.coverage_simplify(shapes, TOLERANCE),
        }
        gdal = by_gdal(classes)
        calls |= {} if gdal is None else {"GDAL": gdal}
        timed = common.interleaved(calls, options.repeat)
        rows.append({"polygons": len(exact), "arcs of": len(exact.arcs), **{name: 1e3 * timed[name] for name in calls}})
    common.print_table(rows)


if __name__ == "__main__":
    main()
