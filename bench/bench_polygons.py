"""Polygons along the cells of a raster against cv2, Rasterio and the polygon hulls of GEOS: time, vertices, IoU.

    python bench/bench_polygons.py --json bench/results/polygons-pocl.json
    python bench/bench_polygons.py --what tight --json bench/results/polygons-tight-pocl.json
    python bench/bench_polygons.py --what user --json bench/results/polygons-user-pocl.json
    python bench/bench_polygons.py --what rings --repeat 25 --json bench/results/polygons-rings-pocl.json
    python bench/bench_polygons.py --what stack --device nvidia

rings: the outlines by columns of all parts of six maps of 2048^2, as arrays of vertices and of where rings
begin, beside the lists of arrays of cv2.findContours (CCOMP, simple), from the same values.
user: polygons as arrays, Shapely, GeoJSON and GeoPackage, of clgeom and of others: see `polygons_user`.
speed: a map of 2048^2 with about 8,500 parts, one level; median milliseconds of whole calls from the NumPy array:
exact rings, simplified to an IoU, and with GeoJSON on disk, reprojected from EPSG:32632. One outline of 64 segments is
that of `coverage_regions(parts=False)`. cv2.findContours follows the cells' centres and misses half a cell all round.
tight: at equal numbers of vertices, GEOS' PolygonHullSimplify (in the library that Shapely bundles; one geometry of all
parts, from the exact polygons) with several fractions of vertices, ours with `vertices=`, and cv2's findContours and
approxPolyDP with the least tolerance that leaves as few. DP is approxPolyDP of the exact rings: it loses nothing to
contours through centres. Maps: Walfisch-Ikegami of (500, 500), pixel=5, with correlations of 50 m and 200 m; a DEM,
Matplotlib's sample of Jacksboro; and received power on this DEM, with diffraction. We know of no wheel that has a
measured coverage raster.
stack: --maps 1000 maps of 512^2 with four levels; large: one of 16,384^2. Rasters are on the device, and the polygons
stay there; with the time of each kernel, and the numbers of launches and of reads by the host. --size for others.
Every result of ours is verified before it is timed: valid, no cell missed, the IoU as asked for.
"""

from __future__ import annotations

import argparse
import ctypes
import glob
import json
import sys
import tempfile
from pathlib import Path

import common
import numpy as np
import shapely
from polygons_resident import large_rows, stack_rows
from polygons_user import PACKAGES as USER_PACKAGES
from polygons_user import user_rows

import clgeom
from clgeom import coverage_regions
from clgeom.core.device import as_session
from clgeom.radio import Transmitter, best_server, coverage_map, terrain_loss

PACKAGES = ("shapely", "opencv-python-headless", "rasterio", "pyproj", "matplotlib")
CRS, ORIGIN, LEVEL, IOU = "EPSG:32632", (691_000.0, 5_335_500.0), -85.0, 0.95
#: Of GEOS: the share of vertices that a ring may keep.
FRACTIONS = (0.2, 0.4, 0.6, 0.8)
LABELS = {
    "clgeom": 'clgeom, outline="cells"',
    "GEOS": "GEOS PolygonHullSimplify",
    "cv2": "cv2.findContours + approxPolyDP (misses cells)",
    "DP": "approxPolyDP of the exact rings (misses cells)",
}


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


# Rings ------------------------------------------------------------------------------------------------------------


def rings_rows(session, options):
    size, rows = options.size or 2048, []
    for correlation in (100, 200):
        made = coverage_map((size, size), pixel=4096 / size, sigma=5, correlation=correlation, power=47.0, seed=0)
        values, raster = made.values, clgeom.Raster(made.values, made.transform)
        for level in (-75.0, -85.0, -95.0):
            outlines, cells = (
                shapely.union_all(coverage_regions(values, level, outline=one, device=session).to_shapely())
                for one in ("segments", "cells")
            )
            assert cells.area == np.count_nonzero(values >= level)
            assert cells.difference(outlines).area == 0, "a cell is missed"

            def rings(raster=raster, level=level):
                found = clgeom.raster_regions(raster, level, device=session)
                return found.vertices, found.ring_offsets

            calls = {"clgeom": rings, "cv2": lambda level=level: contours(values >= level)}
            times = common.interleaved(calls, options.repeat, options.budget)
            parts = len(rings()[1]) - 1
            row = {"map": f"{size}^2, {correlation} m", "level": level, "parts": parts, "vertices": len(rings()[0])}
            row |= {f"{name} ms": 1e3 * time for name, time in times.items()}
            rows.append(row | {"ratio": times["clgeom"] / times["cv2"]})
    return rows


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


def elevations():
    """Heights in m of the terrain that Matplotlib ships: SRTM, 344 x 403 cells of 3 seconds of arc, near Jacksboro."""
    from matplotlib.cbook import get_sample_data

    return get_sample_data("jacksboro_fault_dem.npz")["elevation"].astype(np.float32)


def served(ground, session):
    """Power in dBm of three sites on the highest ground, by free space and diffraction over that terrain.

    Cells are 74.4 m by 92.6 m, as three seconds of arc are there.
    """
    place, rows, columns = (74.4, 0.0, 0.0, 0.0, -92.6, 0.0), *ground.shape
    sites = []
    for third in range(3):
        part = ground[:, third * columns // 3 : (third + 1) * columns // 3]
        row, column = np.unravel_index(np.argmax(part), part.shape)
        x, y = 74.4 * (column + third * columns // 3 + 0.5), -92.6 * (row + 0.5)
        sites.append(Transmitter(x, y, power_dbm=46, height_m=30, frequency_mhz=800))
    lost = terrain_loss(sites, ground, transform=place, device=session)
    link = {"shape": (rows, columns), "transform": place, "model": "free-space", "device": session}
    return best_server(sites, **link, ground_m=ground, extra_loss_db=lost).power_dbm


def tight_maps(session):
    """(name, raster, level) of what is outlined."""
    for correlation in (50, 200):
        for seed, level in ((0, -85.0), (1, -75.0), (2, -95.0)):
            made = coverage_map((500, 500), pixel=5, correlation=correlation, seed=seed, device=session)
            yield f"WIM, {correlation} m, seed {seed}", made.values, level
    ground = elevations()
    for level in (400.0, 516.0, 700.0):  # the second one is the median
        yield "DEM", ground, level
    power = served(ground, session)
    for level in (-75.0, -85.0, -95.0):
        yield "coverage on the DEM", power, level


def approximated_to(polygons, wanted):
    """cv2's approximation of lists of rings with as few vertices as wanted, and its tolerance, by bisection."""
    import cv2

    low, high, best = 0.0, 64.0, None
    for _ in range(14):
        middle = (low + high) / 2
        made = [[cv2.approxPolyDP(ring, middle, True) for ring in rings] for rings in polygons]
        if sum(len(ring) for rings in made for ring in rings) <= wanted:
            high, best = middle, made
        else:
            low = middle
    return best, high


def contour_polygons(mask):
    """cv2's contours as lists of an outer ring and its holes."""
    import cv2

    rings, owners = cv2.findContours(mask.view(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    found = {k: [ring] for k, (ring, owner) in enumerate(zip(rings, owners[0, :, 3])) if owner < 0}
    for ring, owner in zip(rings, owners[0, :, 3]):
        if owner >= 0:
            found[owner].append(ring)
    return list(found.values())


def exact_polygons(found):
    """Exact polygons of ours as lists of rings in the form of cv2."""
    rings = [ring.reshape(-1, 1, 2) for ring in np.split(found.corners, found.ring_offsets[1:-1])]
    return [rings[begin:end] for begin, end in zip(found.polygon_offsets, found.polygon_offsets[1:])]


def shape_of(polygons, shift):
    """Polygons of cv2 as one geometry; rings may cross, and those without area are lost."""
    parts = []
    for rings in polygons:
        made = [shapely.make_valid(shapely.Polygon(ring[:, 0] + shift)) for ring in rings if len(ring) > 2]
        if len(rings[0]) > 2:
            parts.append(made[0].difference(shapely.union_all(made[1:])))
    return shapely.union_all(parts)


def compared(name, shape, exact):
    both = shape.intersection(exact).area
    iou = both / (shape.area + exact.area - both)
    return {f"{name} IoU": iou, f"{name} missed": max(1 - both / exact.area, 0.0)}


def tight_rows(session, options):
    """At the numbers of vertices that GEOS has for a fraction of vertices in each ring."""
    geos, rows = Geos(), []
    for name, values, level in tight_maps(session):
        mask = values >= level
        found = coverage_regions(values, level, outline="cells", device=session)
        exact = verified(found, mask)
        taken, least = geos.taken(exact), coverage_regions(values, level, outline="cells", tolerance=1e9)
        lines, followed = exact_polygons(found), contour_polygons(mask)
        for fraction in FRACTIONS:
            theirs = geos.shape(geos.simplify(taken, fraction))
            assert exact.difference(theirs).area == 0
            count = vertices_of(theirs)
            row = {"map": name, "level": level, "exact": vertices_of(exact), "vertices": count}
            row |= {"GEOS IoU": exact.area / theirs.area}
            calls = {"GEOS": lambda at=fraction, given=taken: geos.simplify(given, at)}
            if count >= len(least.corners):
                given = {"outline": "cells", "vertices": count, "device": session}
                calls["clgeom"] = lambda v=values, at=level, given=given: coverage_regions(v, at, **given)
                ours = verified(calls["clgeom"](), mask)
                assert vertices_of(ours) <= count
                row["clgeom IoU"] = exact.area / ours.area
            same = verified(coverage_regions(values, level, outline="cells", iou=row["GEOS IoU"], device=session), mask)
            assert exact.area >= row["GEOS IoU"] * same.area * (1 - 1e-12)
            row["as close"] = vertices_of(same)
            made, tolerance = approximated_to(followed, count)
            calls["cv2"] = lambda mask=mask, tolerance=tolerance: approximated(mask, tolerance)
            row |= compared("cv2", shape_of(made, 0.5), exact)
            made, tolerance = approximated_to(lines, count)
            row |= compared("DP", shape_of(made, 0), exact)
            timed = common.interleaved(calls, options.repeat)
            rows.append(row | {f"{one} ms": timed[one] * 1e3 for one in ("clgeom", "GEOS", "cv2") if one in timed})
            print(f"{name}, {level:g}: {count:,} vertices", file=sys.stderr)
    return rows


#: Maps of the picture.
DRAWN = (("WIM, 50 m, seed 0", -85.0), ("WIM, 200 m, seed 2", -95.0), ("DEM", 516.0), ("coverage on the DEM", -85.0))


def draw(path, folder):
    """Draw IoU and missed cells over the number of vertices. Return the picture's path."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    common.use_palette()
    rows = json.loads(Path(path).read_text(encoding="utf-8"))["rows"]
    figure, panels = plt.subplots(1, 4, figsize=(13, 3.9), layout="constrained")
    for ax, (name, level) in zip(panels, DRAWN):
        own = [row for row in rows if (row["map"], row["level"]) == (name, level)]
        for k, tool in enumerate(("clgeom", "GEOS", "cv2", "DP")):
            points = [(row["vertices"] / row["exact"], row[f"{tool} IoU"]) for row in own if f"{tool} IoU" in row]
            style = {"marker": "osD^"[k], "markersize": 5, "linewidth": 2.4 if k == 0 else 1.2, "color": f"C{k}"}
            ax.plot(*zip(*points), label=LABELS[tool], linestyle="-" if k == 0 else "--", **style)
        ax.set_title(f"{name}, {own[0]['exact']:,} exact", fontsize=10)
        ax.set(xlabel="vertices, as a share of the exact ones", ylabel="IoU" if ax is panels[0] else None)
        ax.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    path = folder / "bench_polygons-tight.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", choices=("speed", "user", "rings", "tight", "stack", "large"), default="speed")
    parser.add_argument("--maps", type=int, default=1000, help="maps of a stack")
    parser.add_argument("--size", type=int, help="rows and columns of a map")
    parser.add_argument("--device")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds that one candidate may take in all")
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()
    session = as_session(options.device)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; milliseconds")
    makers = {"speed": speed_rows, "user": user_rows, "rings": rings_rows, "tight": tight_rows}
    makers |= {"stack": stack_rows, "large": large_rows}
    rows = makers[options.what](session, options)
    common.print_table(rows)
    if options.json:
        packages = USER_PACKAGES if options.what == "user" else PACKAGES
        common.write_json(options.json, session, rows, packages)


if __name__ == "__main__":
    main()
