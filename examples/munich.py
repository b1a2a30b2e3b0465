"""Radio coverage of Munich: buildings of a real scene, Walfisch-Ikegami over them, and coverage polygons.

    pip install clgeom[plot,geo] sionna-rt
    python examples/munich.py munich.png munich.geojson

The buildings are the meshes of the scene "munich" in the installed package sionna-rt (from OpenStreetMap). Nothing else
of that package is used.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np

#: Approximate position of the scene's origin in EPSG:32632.
ORIGIN = (691_600.0, 5_334_700.0)


def scene_folder() -> Path:
    """The folder of the scene's meshes, without importing the package."""
    found = importlib.util.find_spec("sionna")
    if found is None:
        raise SystemExit("This example needs the buildings of sionna-rt: pip install sionna-rt")
    for place in found.submodule_search_locations:
        folder = Path(place) / "rt" / "scenes" / "munich" / "meshes"
        if folder.is_dir():
            return folder
    raise SystemExit("The installed sionna-rt has no scene 'munich'.")


def read_ply(path):
    """Vertices (n, 3) and triangles (m, 3) of a binary .ply file that holds only x, y, z and triangles."""
    data = path.read_bytes()
    head, _, body = data.partition(b"end_header\n")
    count = {line.split()[1]: int(line.split()[2]) for line in head.decode().splitlines() if line.startswith("element")}
    wide = sum(line.startswith("property float") for line in head.decode().splitlines())
    vertices = np.frombuffer(body, "<f4", count["vertex"] * wide).reshape(-1, wide)[:, :3]
    face = np.dtype([("n", "u1"), ("corners", "<i4", 3)])
    faces = np.frombuffer(body, face, count["face"], vertices.size // 3 * wide * 4)
    return vertices, faces["corners"]


def building_heights(*, pixel=2.0):
    """Heights of the buildings above the ground in the cells of a north-up map, 0 in the streets, and its transform."""
    triangles = []
    for path in sorted(scene_folder().glob("*.ply")):
        if path.stem.lower().startswith(("ground", "floor", "plane")):
            continue
        vertices, corners = read_ply(path)
        triangles.append(vertices[corners])
    triangles = np.concatenate(triangles).astype(np.float64)
    ground = triangles[:, :, 2].min()
    low, high = triangles[:, :, :2].min(axis=(0, 1)), triangles[:, :, :2].max(axis=(0, 1))
    columns, rows = np.ceil((high - low) / pixel).astype(int)
    heights = np.zeros((rows, columns), np.float32)
    for triangle in triangles:
        x, y = (triangle[:, 0] - low[0]) / pixel, (high[1] - triangle[:, 1]) / pixel
        left, right, top, bottom = int(x.min()), int(np.ceil(x.max())), int(y.min()), int(np.ceil(y.max()))
        if right == left or bottom == top:
            continue
        u, v = np.meshgrid(np.arange(left, right) + 0.5, np.arange(top, bottom) + 0.5)
        area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0])
        if abs(area) < 1e-9:
            continue  # a wall
        b = ((u - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (v - y[0])) / area
        c = ((x[1] - x[0]) * (v - y[0]) - (u - x[0]) * (y[1] - y[0])) / area
        inside = (b >= 0) & (c >= 0) & (b + c <= 1)
        height = triangle[0, 2] + b * (triangle[1, 2] - triangle[0, 2]) + c * (triangle[2, 2] - triangle[0, 2]) - ground
        part = heights[top:bottom, left:right]
        np.maximum(part, np.where(inside, height, 0)[: part.shape[0], : part.shape[1]], out=part)
    return heights, (pixel, 0.0, ORIGIN[0] + low[0], 0.0, -pixel, ORIGIN[1] + high[1])


def mean_within(values, weights, reach):
    """Weighted mean of values in a square of 2 reach + 1 cells around each cell; 0 where all weights are 0."""

    def sums(a):
        total = np.cumsum(np.cumsum(np.pad(a, ((reach + 1, reach), (reach + 1, reach))), axis=0), axis=1)
        side = 2 * reach + 1
        return total[side:, side:] - total[:-side, side:] - total[side:, :-side] + total[:-side, :-side]

    weight = sums(weights.astype(np.float64))
    return np.divide(sums(values * weights), weight, out=np.zeros(values.shape), where=weight > 0.5)


def main(picture="munich.png", output=None):
    import shapely

    import clgeom
    from clgeom.io.features import write_regions
    from clgeom.plotting.coverage import save_coverage_plot
    from clgeom.radio import distance_map, shadowing, walfisch_ikegami
    from clgeom.region.coverage.drawn import outlines

    pixel, mast = 4.0, 35.0
    heights, transform = building_heights(pixel=pixel)
    built = heights > 3
    around = round(60 / pixel)
    roofs = np.clip(mean_within(heights, built, around), 4, 40).astype(np.float32)
    open_share = 1 - mean_within(built.astype(float), np.ones_like(heights), around)
    width = np.clip(60 * open_share, 8, 60).astype(np.float32)
    position = np.array(heights.shape) / 2
    loss = walfisch_ikegami(
        distance_map(heights.shape, position, pixel=pixel),
        frequency=1800,
        base_height=mast,
        roof_height=roofs,
        street_width=width,
        separation=(2 * width),
        city="metropolitan",
    )
    received = 46 - loss + shadowing(heights.shape, sigma=4, correlation=40, pixel=pixel, seed=1)
    received[built] -= 15  # through the walls
    received[open_share > 0.99] = np.nan  # beyond the scene nothing is known
    levels = (-55, -65, -75)
    regions = clgeom.coverage_regions(
        received, levels, transform=transform, crs="EPSG:32632", segments=96, holes=5_000.0
    )
    large = [region for region in regions if region.cells * pixel**2 > 5_000]
    for level in levels:
        own = [region for region in large if region.level == level]
        print(
            f">= {level} dBm: {len(own)} regions, {sum(map(len, own)):,} vertices, "
            f"{shapely.union_all([region.to_shapely() for region in own]).area / 1e6:.3f} km2"
        )
    title = "Munich, one base station, Walfisch-Ikegami"
    save_coverage_plot(outlines(large), picture, values=received, transform=transform, title=title)
    if output:
        write_regions(large, output, crs="EPSG:32632")


if __name__ == "__main__":
    main(*sys.argv[1:])
