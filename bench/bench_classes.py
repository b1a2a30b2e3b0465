"""Polygons of all classes of a raster against rasterio and GDAL, exact and simplified with shared edges.

    python bench/bench_classes.py
    python bench/bench_classes.py --resident 16384 --device nvidia

A map of land cover, 12 classes: which of 12 smooth random fields is the greatest. Median milliseconds of whole calls
from the NumPy array: arcs, Shapely geometries, and lines simplified by 1.5 cells against shapely.coverage_simplify of
the exact polygons. GDAL's Polygonize, where its Python module is installed, writes features in memory. The classes and
areas of all polygons are compared, and simplified ones are verified to be a coverage of the same area, before anything
is timed. With --resident a map of that many rows and columns, made of one of 4096 and its mirror images, lies on the
device, and its arcs stay there; the cells of all faces of each class are compared.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import common
import numpy as np
import shapely

import clgeom
from clgeom.core.device import as_session
from clgeom.intake.device_arrays import to_array
from clgeom.region.classes.trace import arcs_on_device
from clgeom.region.coverage.rasters import as_stack

CLASSES, TOLERANCE, PIECE = 12, 1.5, 4096


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
    import rasterio.features

    return [(int(value), shapely.geometry.shape(one)) for one, value in rasterio.features.shapes(classes)]


def check(classes: np.ndarray, exact, simplified):
    """Compare classes and areas with rasterio; a simplified coverage has neither gaps nor overlaps."""
    theirs = sorted((value, shape.area) for value, shape in by_rasterio(classes))
    assert sorted(zip(exact.classes.tolist(), exact.areas.tolist())) == theirs
    shapes = simplified.to_shapely()
    assert shapely.coverage_is_valid(shapes)
    assert simplified.areas.sum() == classes.size
    assert (simplified.areas > 0).all()


def resident(size: int, smooth: int, session, repeat: int) -> dict[str, object]:
    """A row: a large map on the device, whose arcs stay there."""
    at = np.arange(size) % (2 * PIECE)
    at = np.where(at < PIECE, at, 2 * PIECE - 1 - at)
    classes = land_cover(min(size, PIECE), smooth)[np.ix_(at, at)]
    stack = as_stack(to_array(session, classes), session, caller="bench_classes")

    def call():
        arcs = arcs_on_device(stack)
        session.queue.finish()
        return arcs

    arcs = call().read()
    counted = np.bincount(arcs.values, arcs.cells, CLASSES + 1)
    assert np.array_equal(counted, np.bincount(classes.ravel(), minlength=CLASSES + 1)), "cells are lost"
    taken = common.interleaved({"arcs on the device": call}, repeat)
    amounts = {"side": size, "faces": len(arcs.values), "arcs": len(arcs), "corners": len(arcs.corners)}
    return {**amounts, "ms": 1e3 * taken["arcs on the device"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--smooth", type=int, nargs="+", default=[4, 12], help="sides of squares that are summed over")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--resident", type=int, help="rows and columns of a map on the device")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; milliseconds")
    rows = []
    for smooth in options.smooth:
        if options.resident:
            rows.append({"smooth": smooth, **resident(options.resident, smooth, session, options.repeat)})
            continue
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
        about = {"smooth": smooth, "polygons": len(exact), "lines": len(exact.arcs)}
        rows.append({**about, **{name: 1e3 * timed[name] for name in calls}})
    common.print_table(rows)
    if options.json:
        common.write_json(options.json, session, rows)


if __name__ == "__main__":
    main()
