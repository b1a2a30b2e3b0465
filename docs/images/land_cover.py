"""Draws the picture of docs/howto/land_cover.rst: classes along the cells, and simplified with shared lines.

python docs/images/land_cover.py
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

import clgeom

NAMES = {1: "lake", 2: "meadow", 3: "wood", 4: "rock"}


def land():
    """The map of the page, with islands of wood and rock, from farther off: cells of 100 m."""
    rows, columns = np.mgrid[:40, :60] * 5
    height = np.hypot(rows - 90, columns - 110) + 22 * np.sin(columns / 17) * np.cos(rows / 23)
    cover = np.digitize(height, [35, 70, 130]).astype(np.uint8) + 1
    cover[np.hypot(rows - 150, columns - 215) < 22] = 4
    cover[np.hypot(rows - 150, columns - 222) < 9] = 1
    cover[:6, 50:] = 0
    return clgeom.Raster(cover, transform=(100, 0, 691_000, 0, -100, 5_340_000), crs="EPSG:32632", nodata=0)


def main():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    exact = clgeom.polygonize(land(), names=NAMES)
    figure, panels = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained", sharey=True)
    shown = {"along the cells": exact}
    shown |= {f"tolerance={metres}": exact.simplify(tolerance=metres) for metres in (80, 250)}
    for ax, (title, polygons) in zip(panels, shown.items()):
        vertices = len(np.unique(polygons.arcs.corners, axis=0))
        polygons.plot(ax, title=f"{title}: {vertices:,} vertices")
        if ax is not panels[0]:
            ax.set_ylabel("")
    figure.savefig(HERE / "land_cover.png", dpi=90)


if __name__ == "__main__":
    main()
