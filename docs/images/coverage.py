"""Draws the pictures of docs/explanation/coverage.rst, in the manner of the ARC study's figures 6, 14 and 31, and of
docs/howto/coverage_map.rst.

python docs/images/coverage.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from clgeom import coverage_regions, localize
from clgeom.markup import AMBER, BLUE, PURPLE, RED
from clgeom.plotting.figures import dress
from clgeom.radio import coverage_map
from clgeom.region.localize import localize_masks
from clgeom.region.metrics import measure


def made_map():
    """One transmitter: the command draws the map with its regions, and regions of rising resolution side by side."""
    options = "--model wim --size 256 --pixel 10 --sigma 5 --level -75 --level -85 --least 2500 --holes 2500".split()
    pictures = ["--plot", HERE / "coverage_map.png", "--compare", HERE / "coverage_comparison.png"]
    command = [sys.executable, "-m", "clgeom", "region", *options, *pictures]
    subprocess.run(command, check=True, cwd=HERE.parents[1])


def page_map():
    """The map and the command of docs/howto/coverage_map.rst."""
    made = coverage_map(
        (256, 256), pixel=10, sigma=6, correlation=150, seed=4, transmitters=[(80, 70), (150, 190)],
        origin=(691_000, 5_335_500), crs="EPSG:32632",
    )  # fmt: skip
    options = "--level -75 --level -85 --least 2000 --holes 2000 --plot".split()
    with tempfile.TemporaryDirectory() as folder:
        made.to_file(f"{folder}/map.tif")
        command = [sys.executable, "-m", "clgeom", "region", f"{folder}/map.tif", *options, HERE / "coverage_page.png"]
        subprocess.run(command, check=True, cwd=HERE.parents[1])


def outlines():
    """The covered cells of a rough map with both kinds of outlines."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    made = coverage_map((90, 130), pixel=5, correlation=60, sigma=7, seed=4)
    level = float(np.median(made.values))
    cells = made.values >= level
    regions = coverage_regions(cells, 1, segments=32)
    polygons = coverage_regions(cells, 1, outline="cells", iou=0.95)
    exact = coverage_regions(cells, 1, outline="cells")
    found = measure(regions, cells, hausdorff=False)
    titles = {
        f'outline="cells", exact: {len(exact.corners):,} vertices, IoU 1': exact,
        f'outline="cells", iou=0.95: {len(polygons.corners):,} vertices, IoU {polygons.iou:.2f}': polygons,
        f"segments=32, a region a part: {sum(map(len, regions)):,} vertices, IoU {found.iou:.2f}": regions,
    }
    figure, panels = plt.subplots(1, 3, figsize=(15, 4.1), layout="constrained", sharey=True)
    for ax, (title, shapes) in zip(panels, titles.items()):
        ax.imshow(np.where(cells, 1.0, np.nan), extent=(0, 130, 90, 0), cmap="Greys", vmin=0, vmax=3)
        for shape in shapes:
            for ring in shape.rings:
                ax.plot(*np.vstack([ring, ring[:1]]).T, color=BLUE if shapes is not regions else RED, linewidth=1)
        dress(ax, title, ("column", "row"))
    figure.savefig(HERE / "coverage_outlines.png", dpi=90)


def localisation():
    """Three transmitters: where a receiver can be that hears them all, by masks, by regions and by convex hulls."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    places, level = ((130, 120), (150, 400), (400, 250)), -91.0
    maps = [
        coverage_map((512, 512), transmitters=[place], sigma=2.5, correlation=200, seed=k)
        for k, place in enumerate(places)
    ]
    stack = np.stack([one.values for one in maps])
    transform = maps[0].transform
    found = coverage_regions(stack, level, segments=64, axis="both", transform=transform)
    by_map = [[region for region in found if region.map == k] for k in range(3)]
    answers = {
        "the masks themselves": localize_masks(stack >= level, transform=transform),
        "regions": localize(by_map),
        "convex hulls": localize(by_map, method="hulls"),
    }
    figure, panels = plt.subplots(1, 3, figsize=(13, 5), layout="constrained", sharey=True)
    for ax, (name, answer) in zip(panels, answers.items()):
        for k, colour in enumerate((BLUE, PURPLE, AMBER)):
            for region in by_map[k]:
                for ring in region.rings:
                    (line,) = ax.plot(*np.vstack([ring, ring[:1]]).T, color=colour, linewidth=0.9)
            line.set_label("where it is heard")
            row, column = places[k]
            x, y = transform[0] * column + transform[2], transform[4] * row + transform[5]
            ax.plot(
                x, y, "^", color=colour, markeredgecolor="white", markersize=9, zorder=6, label=f"transmitter {k + 1}"
            )
        for part in answer.parts:
            (common,) = ax.fill(*np.asarray(part.exterior.coords).T, color=RED, alpha=0.75, zorder=5)
        common.set_label("where all are heard")
        ax.plot(*answer.centroid, "k+", markersize=11, zorder=6, label="its centroid")
        dress(ax, f"{name}: {answer.area / 1e6:.3f} km\u00b2", ("x (m)", "y (m)"))
        ax.set_aspect("equal")
        print(
            name,
            answer,
            "centroid off by",
            round(answer.distance(answers["the masks themselves"].centroid), 1),
            "m",
        )
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    figure.savefig(HERE / "coverage_localize.png", dpi=90)


if __name__ == "__main__":
    made_map()
    page_map()
    outlines()
    localisation()
