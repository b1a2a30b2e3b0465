"""Polygons along the cells of a raster against cv2, Rasterio and the polygon hulls of GEOS: time, vertices, IoU.

    python bench/bench_polygons.py --json bench/results/polygons-pocl.json
    python bench/bench_polygons.py --what tight --json bench/results/polygons-tight-pocl.json
    python bench/bench_polygons.py --what stack --device nvidia

speed: a map of 2048^2 with about 8,500 parts, one level; median milliseconds of whole calls from the NumPy array:
exact rings, simplified to an IoU, and with GeoJSON on disk, reprojected from EPSG:32632. One outline of 64 segments is
that of `coverage_regions(parts=False)`. cv2.findContours follows the cells' centres and misses half a cell all round.
tight: maps of (500, 500), pixel=5, with correlations of 50 m and 200 m: vertices that GEOS' PolygonHullSimplify (called
in the library that Shapely bundles, one geometry of all parts) needs for an IoU of at least 0.95, and those that we
need for its IoU; and cv2.approxPolyDP at as many vertices as ours.
stack: --maps 1000 maps of 512^2 with four levels; large: one of 16,384^2. Rasters are on the device, and the polygons
stay there; with the time of each kernel, and the numbers of launches and of reads by the host. --size for others.
Every result of ours is verified before it is timed: valid, no cell missed, the IoU as asked for.
"""

from __future__ import annotations

import argparse
import ctypes
import glob
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import shapely

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import common
from polygons_resident import large_rows, stack_rows

from clgeom import coverage_regions
from clgeom.radio import coverage_map
from clgeom.runtime.device import as_session

PACKAGES = ("shapely", "opencv-python-headless", "rasterio", "pyproj")
CRS, ORIGIN, LEVEL, IOU = "EPSG:32632", (691_000.0, 5_335_500.0), -85.0, 0.95


class Geos:
    """GEOS' PolygonHullSimplify in Shapely's own library, by ctypes: Shapely has no function for it."""

    def __init__(self):
        beside = Path(shapely.__file__).parent.parent / "shapely.libs"
        self.lib = ctypes.CDLL(glob.glob(str(beside / "libgeos_c*"))[0])
        pointer = ctypes.c_void_p
        for name, arguments in {
            "GEOS_init_r": [],
            "GEOSWKBReader_create_r": [pointer],
            "GEOSWKBReader_read_r": [pointer, pointer, ctypes.c_char_p, ctypes.c_size_t],
            "GEOSWKBWriter_create_r": [pointer],
            "GEOSWKBWriter_write_r": [pointer, pointer, pointer, ctypes.POINTER(ctypes.c_size_t)],
            "GEOSPolygonHullSimplify_r": [pointer, pointer, ctypes.c_uint, ctypes.c_double],
        }.items():
            function = getattr(self.lib, name)
            function.restype, function.argtypes = pointer, arguments
        self.context = self.lib.GEOS_init_r()
        self.reader = self.lib.GEOSWKBReader_create_r(self.context)
        self.writer = self.lib.GEOSWKBWriter_create_r(self.context)

    def taken(self, shape):
        """The geometry in GEOS' memory."""
        data = shapely.to_wkb(shape)
        return self.lib.GEOSWKBReader_read_r(self.context, self.reader, data, len(data))

    def simplify(self, taken, fraction):
        return self.lib.GEOSPolygonHullSimplify_r(self.context, taken, 1, fraction)

    def shape(self, made):
        size = ctypes.c_size_t()
        data = self.lib.GEOSWKBWriter_write_r(self.context, self.writer, made, ctypes.byref(size))
        return shapely.from_wkb(ctypes.string_at(data, size.value))


def vertices_of(shape):
    """The number of vertices of polygons; the first one of a ring counts once."""
    return int(shapely.get_num_coordinates(shape)) - len(shapely.get_rings(shapely.get_parts(shape)))


def verified(found, mask, iou=None):
    """The polygons as one geometry in columns and rows, after a check of what they promise."""
    shape = shapely.multipolygons(found.to_shapely(cells=True))
    exact = shapely.multipolygons(coverage_regions(mask, 1, outline="cells").to_shapely(cells=True))
    assert exact.area == np.count_nonzero(mask) and shape.is_valid
    assert exact.difference(shape).area == 0, "a cell is missed"
    assert iou is None or exact.area >= iou * shape.area
    return shape


def contours(mask):
    """cv2's rings along the centres of cells, with holes."""
    import cv2

    return cv2.findContours(mask.view(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)[0]


def approximated(mask, epsilon):
    import cv2

    return [cv2.approxPolyDP(ring, epsilon, True) for ring in contours(mask)]


# Speed ------------------------------------------------------------------------------------------------------------


def speed_rows(session, options):
    size = options.size or 2048
    made = coverage_map(
        (size, size), pixel=4096 / size, sigma=5, correlation=100, power=47.0, seed=0, origin=ORIGIN, crs=CRS
    )
    values, where = made.values, {"transform": made.transform, "crs": CRS, "device": session}
    mask = values >= LEVEL
    file = Path(tempfile.mkdtemp()) / "coverage.geojson"

    def exact():
        return coverage_regions(values, LEVEL, outline="cells", **where)

    def simplified():
        return coverage_regions(values, LEVEL, outline="cells", iou=IOU, **where)

    def written():
        found = simplified()
        found.to_file(file)
        return found

    calls = {
        "clgeom, exact": exact,
        f"clgeom, IoU {IOU}": simplified,
        f"clgeom, IoU {IOU}, GeoJSON in degrees": written,
        "clgeom, one outline of 64 segments": lambda: coverage_regions(values, LEVEL, parts=False, **where),
    }
    shapes = {"clgeom, exact": verified(exact(), mask), f"clgeom, IoU {IOU}": verified(simplified(), mask, IOU)}
    try:
        calls["cv2.findContours"] = lambda: contours(values >= LEVEL)
        calls["cv2.findContours + approxPolyDP(2)"] = lambda: approximated(values >= LEVEL, 2.0)
        calls["cv2.findContours"]()
    except ImportError:
        calls = {name: call for name, call in calls.items() if not name.startswith("cv2")}
    try:
        import rasterio.features

        calls["rasterio.features.shapes"] = lambda: list(
            rasterio.features.shapes((values >= LEVEL).view(np.uint8), values >= LEVEL, connectivity=4)
        )
    except ImportError:
        pass
    geos = Geos()
    taken = geos.taken(shapes["clgeom, exact"])
    calls["GEOS PolygonHullSimplify(0.65), from polygons"] = lambda: geos.simplify(taken, 0.65)
    timed = common.interleaved(calls, options.repeat, options.budget)
    shapes["GEOS PolygonHullSimplify(0.65), from polygons"] = geos.shape(geos.simplify(taken, 0.65))
    return [
        {
            "map": f"{size}^2",
            "parts": len(exact()),
            "outline": name,
            "ms": seconds * 1e3,
            "vertices": vertices_of(shapes[name]) if name in shapes else None,
            "IoU": np.count_nonzero(mask) / shapes[name].area if name in shapes else None,
        }
        for name, seconds in timed.items()
    ]


# Tightness --------------------------------------------------------------------------------------------------------


def least_of_geos(geos, exact):
    """GEOS' result of fewest vertices whose IoU is at least IOU, by bisection over its fraction of vertices."""
    taken, low, high = geos.taken(exact), 0.0, 1.0
    best = exact
    for _ in range(12):
        middle = (low + high) / 2
        shape = geos.shape(geos.simplify(taken, middle))
        if exact.area / shape.area >= IOU:
            high, best = middle, shape
        else:
            low = middle
    begin = time.perf_counter()
    geos.simplify(taken, high)
    return best, time.perf_counter() - begin


def of_cv2(mask, wanted):
    """cv2's polygons with as few vertices as `wanted`, by bisection over its tolerance: (shape, seconds)."""
    low, high, best = 0.0, 8.0, None
    for _ in range(10):
        middle = (low + high) / 2
        begin = time.perf_counter()
        rings = approximated(mask, middle)
        seconds = time.perf_counter() - begin
        if sum(map(len, rings)) <= wanted:
            high, best = middle, (rings, seconds)
        else:
            low = middle
    rings, seconds = best
    shapes = [shapely.Polygon(ring[:, 0] + 0.5).buffer(0) for ring in rings if len(ring) > 2]
    shape = shapely.Polygon()
    for one in sorted(shapes, key=lambda shape: -shape.area):  # holes, and islands in them, come after what is around
        shape = shape.symmetric_difference(one)
    return shape, sum(map(len, rings)), seconds


def tight_rows(session, options):
    geos, rows = Geos(), []
    for correlation in (50, 200):
        for seed, level in ((0, -85.0), (1, -75.0), (2, -95.0)):
            values = coverage_map((500, 500), pixel=5, correlation=correlation, seed=seed, device=session).values
            mask = values >= level
            exact = verified(coverage_regions(values, level, outline="cells", device=session), mask)
            theirs, geos_seconds = least_of_geos(geos, exact)
            iou = exact.area / theirs.area
            call = {"clgeom": lambda v=values, at=level, k=iou: coverage_regions(v, at, outline="cells", iou=k)}
            found = call["clgeom"]()
            ours = verified(found, mask, iou)
            seconds = common.interleaved(call, options.repeat)["clgeom"]
            row = {
                "correlation": correlation,
                "seed": seed,
                "level": level,
                "exact": vertices_of(exact),
                "IoU": iou,
                "GEOS": vertices_of(theirs),
                "clgeom": vertices_of(ours),
                "of GEOS": vertices_of(ours) / vertices_of(theirs),
                "GEOS ms": geos_seconds * 1e3,
                "clgeom ms": seconds * 1e3,
                "missed": exact.difference(ours).area,
            }
            try:
                shape, count, cv2_seconds = of_cv2(mask, vertices_of(ours))
                both = shape.intersection(exact).area
                row |= {
                    "cv2": count,
                    "cv2 IoU": both / (shape.area + exact.area - both),
                    "cv2 missed": 1 - both / exact.area,
                    "cv2 ms": cv2_seconds * 1e3,
                }
            except ImportError:
                pass
            rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", choices=("speed", "tight", "stack", "large"), default="speed")
    parser.add_argument("--maps", type=int, default=1000, help="maps of a stack")
    parser.add_argument("--size", type=int, help="rows and columns of a map")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds that one candidate may take in all")
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; milliseconds")
    makers = {"speed": speed_rows, "tight": tight_rows, "stack": stack_rows, "large": large_rows}
    rows = makers[options.what](session, options)
    common.print_table(rows)
    if options.json:
        common.write_json(options.json, " ".join(["python", *sys.argv]), session, rows, PACKAGES)


if __name__ == "__main__":
    main()
