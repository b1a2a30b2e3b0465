"""Draws batch_countries.png: the hull of the cities of each country, all in one call.

python docs/images/batch_countries.py
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection, PolyCollection

import clgeom
from clgeom.data import cities

world = cities()
countries, labels = np.unique(world.countries, return_inverse=True)
batch = clgeom.convex_hulls_by_label(world.points, labels)
figure, axes = plt.subplots(figsize=(9, 4.4), layout="constrained")
axes.plot(*world.points.T, ".", markersize=0.6, color="0.55")
colors = plt.colormaps["tab20"](np.arange(len(batch)) % 20)
polygons = [i for i, hull in enumerate(batch) if hull.dimension == 2]
axes.add_collection(
    PolyCollection(
        [batch[i].points for i in polygons],
        facecolors=[(*colors[i][:3], 0.25) for i in polygons],
        edgecolors=colors[polygons],
        linewidths=0.8,
    )
)
axes.add_collection(
    LineCollection([hull.points for hull in batch if hull.dimension == 1], colors="0.3", linewidths=0.8)
)
axes.set(xlim=(-180, 180), ylim=(-60, 85), xlabel="longitude (degrees)", ylabel="latitude (degrees)", aspect="equal")
axes.set_title(f"{len(batch)} hulls of {len(world):,} cities, {len(batch.vertices):,} vertices")
figure.savefig(Path(__file__).with_name("batch_countries.png"), dpi=110)
