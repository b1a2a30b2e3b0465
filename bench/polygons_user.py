"""Polygons as users get them: arrays, Shapely, GeoJSON and GeoPackage, of clgeom and of other packages.

One map, in longitude and latitude so that no format reprojects; all polygons of one level, with holes. Times are from
the NumPy array to the result, or to the closed file. Others write their polygons and nothing else, by pyogrio; ours
write with attributes: cells, areas (on the ellipsoid, too), labels. GDAL runs in a process of its own: the system's
Python (``apt-get install python3-gdal``), which takes its own time.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import common
import numpy as np
import shapely

import clgeom
from clgeom.radio import coverage_map

PACKAGES = ("shapely", "pyogrio", "rasterio", "opencv-python-headless", "contourpy")
LEVEL, STEP = -85.0, 1 / 4096
#: What users get.
RESULTS = ("arrays", "Shapely", "GeoJSON", "GeoPackage")
#: The Python of the system, for GDAL's own module.
SYSTEM = "/usr/bin/python3"
GDAL = r"""
import json, sys, time
from osgeo import gdal, ogr, osr
import numpy as np
gdal.UseExceptions()
place, folder, repeat = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
mask = np.load(folder + "/mask.npy")
system = osr.SpatialReference(); system.ImportFromEPSG(4326)
def run(driver, path):
    start = time.perf_counter()
    raster = gdal.GetDriverByName("MEM").Create("", mask.shape[1], mask.shape[0], 1)
    raster.SetGeoTransform(place); raster.SetProjection(system.ExportToWkt())
    band = raster.GetRasterBand(1); band.WriteArray(mask)
    file = ogr.GetDriverByName(driver).CreateDataSource(path)
    layer = file.CreateLayer("cells", system, ogr.wkbPolygon)
    gdal.Polygonize(band, band, layer, -1)
    count = layer.GetFeatureCount()
    shapes = [bytes(one.GetGeometryRef().ExportToWkb()).hex() for one in layer] if driver == "Memory" else None
    file = layer = None
    return time.perf_counter() - start, count, shapes
made = {"version": gdal.__version__}
kinds = ("arrays", "Memory", ""), ("GeoJSON", "GeoJSON", ".geojson"), ("GeoPackage", "GPKG", ".gpkg")
for name, driver, ending in kinds:
    times = []
    for k in range(repeat):
        if ending:
            ogr.GetDriverByName(driver).DeleteDataSource(folder + "/gdal" + ending) if k else None
        seconds, count, shapes = run(driver, folder + "/gdal" + ending)
        times.append(seconds)
        if shapes is not None and k == 0:
            made["shapes"] = shapes
    made[name] = sorted(times)[len(times) // 2]
print(json.dumps(made))
"""


def written(shapes, path):
    """Write geometries as GeoJSON or GeoPackage, as GeoPandas does."""
    import pyogrio

    kind = shapely.get_type_id(shapes)
    driver = {".geojson": "GeoJSON", ".gpkg": "GPKG"}[path.suffix]
    name = "Polygon" if (kind == 3).all() else "MultiPolygon"
    pyogrio.raw.write(path, shapely.to_wkb(shapes), [], [], driver=driver, geometry_type=name, crs="EPSG:4326")


def own(made, folder):
    """(outline, result) -> a call, for clgeom."""
    raster = clgeom.Raster(made.values, made.transform, "EPSG:4326")

    def cells():
        return clgeom.raster_outlines(raster, LEVEL)

    def columns():
        return clgeom.raster_regions(raster, LEVEL)

    def all_arrays(found):
        return found.vertices, found.ring_offsets, getattr(found, "polygon_offsets", None)

    calls = {("clgeom, along the cells", "arrays"): lambda: all_arrays(cells())}
    calls[("clgeom, by columns", "arrays")] = lambda: all_arrays(columns())
    for name, make in (("clgeom, along the cells", cells), ("clgeom, by columns", columns)):
        calls[name, "Shapely"] = lambda make=make: make().to_shapely()
        for result, ending in (("GeoJSON", ".geojson"), ("GeoPackage", ".gpkg")):
            calls[name, result] = lambda make=make, ending=ending: make().to_file(folder / f"own{ending}")
    return calls


def others(made, folder):
    """The same for other packages, with their polygons in map coordinates."""
    a, _, c, _, e, f = made.transform
    calls = {}

    def add(name, arrays, shapes):
        calls[name, "arrays"], calls[name, "Shapely"] = arrays, shapes
        calls[name, "GeoJSON"] = lambda: written(shapes(), folder / "other.geojson")
        calls[name, "GeoPackage"] = lambda: written(shapes(), folder / "other.gpkg")

    try:
        import rasterio.features
        from affine import Affine

        def traced():
            mask = made.values >= LEVEL
            place = Affine(*made.transform)
            return rasterio.features.shapes(mask.view(np.uint8), mask, connectivity=4, transform=place)

        add(
            "rasterio.features.shapes",
            lambda: [[np.array(ring) for ring in one["coordinates"]] for one, _ in traced()],
            lambda: np.array([shapely.geometry.shape(one) for one, _ in traced()], object),
        )
    except ImportError:
        pass
    try:
        import cv2

        def contours():
            mask = (made.values >= LEVEL).view(np.uint8)
            rings, tree = cv2.findContours(mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
            return [ring[:, 0] * (a, e) + (c + a / 2, f + e / 2) for ring in rings], tree[0, :, 3]

        def contour_shapes():
            rings, parents = contours()
            holes = {}
            for ring, parent in zip(rings, parents):
                if parent >= 0 and len(ring) > 2:
                    holes.setdefault(parent, []).append(ring)
            return np.array(
                [
                    shapely.Polygon(ring, holes.get(number))
                    for number, (ring, parent) in enumerate(zip(rings, parents))
                    if parent < 0 and len(ring) > 2
                ],
                object,
            )

        add("cv2.findContours (through centres)", contours, contour_shapes)
    except ImportError:
        pass
    try:
        import contourpy

        def lines():
            z = np.pad(np.where(made.values >= LEVEL, made.values, -999.0), 1, constant_values=-999.0)
            z = np.where(z < LEVEL, 2 * LEVEL - 1 - np.maximum(z, LEVEL), z)
            x = c + a * (np.arange(z.shape[1]) - 0.5)
            y = f + e * (np.arange(z.shape[0]) - 0.5)
            made_lines = contourpy.contour_generator(x, y, z, fill_type="OuterOffset")
            return made_lines.filled(LEVEL, np.inf)

        def line_shapes():
            return np.array(
                [
                    shapely.Polygon(points[at[0] : at[1]], [points[i:j] for i, j in zip(at[1:], at[2:])])
                    for points, at in zip(*lines())
                ],
                object,
            )

        add("contourpy (between centres)", lines, line_shapes)
    except ImportError:
        pass
    return calls


def by_gdal(made, folder, repeat):
    """Seconds of GDAL's own module for each result, its version, and its polygons; None where there is none."""
    a, _, c, _, e, f = made.transform
    np.save(folder / "mask.npy", (made.values >= LEVEL).astype(np.uint8))
    place = json.dumps([c, a, 0, f, 0, e])
    try:
        said = subprocess.run(
            [SYSTEM, "-c", GDAL, place, str(folder), str(repeat)],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
    except (OSError, subprocess.SubprocessError) as error:
        print(f"GDAL is left out: {error}", file=sys.stderr)
        return None
    return json.loads(said.stdout)


def facts(shapes, exact, count):
    """Number of polygons and of vertices, IoU with the cells, and the share of them that is missed."""
    valid = shapely.make_valid(shapes)
    whole = shapely.union_all(valid)
    both = shapely.area(shapely.intersection(whole, exact))
    area = shapely.area(exact)
    vertices = int(shapely.get_num_coordinates(shapes).sum()) - len(shapely.get_rings(shapes))
    return {
        "polygons": len(shapes),
        "vertices": vertices,
        "IoU": both / (whole.area + area - both),
        "missed": max(1 - both / area, 0.0),
    }


def user_rows(session, options):
    """A row for each outline: what it is, and the milliseconds of each result."""
    size = options.size or 2048
    made = coverage_map((size, size), pixel=4096 / size, sigma=5, correlation=100, power=47.0, seed=0, device=session)
    made = clgeom.Raster(np.asarray(made.values), (STEP, 0.0, 8.0, 0.0, -STEP, 48.5))
    mask = made.values >= LEVEL
    count = np.count_nonzero(mask)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        calls = own(made, folder) | others(made, folder)
        shapes = {name: calls[name, "Shapely"]() for name, result in calls if result == "Shapely"}
        gdal = by_gdal(made, folder, options.repeat)
        exact = shapes["clgeom, along the cells"]
        if gdal is not None:
            shapes["GDAL Polygonize"] = shapely.from_wkb([bytes.fromhex(one) for one in gdal.pop("shapes")])
        for name in ("rasterio.features.shapes", "GDAL Polygonize"):
            same = name not in shapes or set(shapely.to_wkb(shapely.normalize(shapes[name]))) == set(
                shapely.to_wkb(shapely.normalize(exact))
            )
            assert same, f"{name} has other polygons"
        whole = shapely.union_all(exact)
        assert abs(whole.area - count * STEP**2) < 1e-9 * whole.area and shapely.is_valid(exact).all()
        about = {name: facts(own_shapes, whole, count) for name, own_shapes in shapes.items()}
        assert about["clgeom, by columns"]["missed"] < 1e-9
        timed = common.interleaved(calls, options.repeat, options.budget)
    rows = []
    for name in shapes:
        row = {"outline": f"{name} {_version(name, gdal)}".strip(), **about[name]}
        for result in RESULTS:
            seconds = gdal.get(result) if name.startswith("GDAL") else timed.get((name, result))
            row[f"{result} ms"] = None if seconds is None else seconds * 1e3
        rows.append(row)
    return rows


def _version(name, gdal):
    """The version of another package; ours is in the record."""
    if name.startswith("GDAL"):
        return gdal["version"]
    packages = {"rasterio": "rasterio", "cv2": "opencv-python-headless", "contourpy": "contourpy"}
    package = packages.get(name.split(".")[0].split()[0])
    return importlib.metadata.version(package) if package else ""
