"""Nodes that a moving beacon locates: success rates from masks, from regions and from convex hulls.

    pip install clgeom[plot,geo]
    python examples/moving_beacon.py moving_beacon.png

A beacon flies over a town and broadcasts its position. Where it can be received is known from Walfisch-Ikegami with
shadowing. A node that hears it at some places is in the intersection of these areas.
"""

from __future__ import annotations

import sys

import numpy as np

PIXEL, LEVEL = 5.0, -85.0
#: The path of the beacon, by the rows and columns of its broadcasts.
PATH = [(row, column) for k, row in enumerate((40, 100, 160, 220)) for column in range(30, 256, 65)[:: 1 - 2 * (k % 2)]]


def broadcasts(size=256):
    """Received power of each broadcast, and the transform of the maps."""
    from clgeom.radio import coverage_map

    made = [
        coverage_map((size, size), transmitters=[place], pixel=PIXEL, sigma=4, correlation=60, power=30, seed=k)
        for k, place in enumerate(PATH)
    ]
    return np.stack([one.values for one in made]), made[0].transform


def fixes(count=500, most=4):
    """The nodes that each method locates, and what of it."""
    from clgeom.radio import locate_by_beacon

    maps, transform = broadcasts()
    nodes = np.random.default_rng(1).uniform((150, -1130), (1130, -150), (count, 2))
    options = {"transform": transform, "most": most, "segments": 64}
    return maps, {
        how: locate_by_beacon(maps, nodes, LEVEL, method=how, **options) for how in ("masks", "regions", "hulls")
    }


def draw(maps, found, picture):
    """One node and its three estimates, and the success rates."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from clgeom.markup import AMBER, BLUE, INK, RED
    from clgeom.plotting.figures import colour_bar, dress

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.6), layout="constrained")
    extent = (0, maps.shape[2] * PIXEL, -maps.shape[1] * PIXEL, 0)
    image = left.imshow(maps.max(axis=0), extent=extent, cmap="YlGnBu_r")
    colour_bar(left, image, "power of the nearest broadcast (dBm)", 0.9)
    path = np.array(PATH)[:, ::-1] * (PIXEL, -PIXEL)
    left.plot(*path.T, "^-", color=INK, markersize=6, linewidth=0.8, label="broadcasts of the beacon")
    node = int(np.argsort(found["hulls"].errors)[len(found["hulls"].errors) * 3 // 4])
    left.plot(*found["masks"].nodes[node], "*", color="white", markeredgecolor=INK, markersize=15, label="a node")
    colours = {"masks": BLUE, "regions": AMBER, "hulls": RED}
    metres = np.geomspace(5, 500, 60)
    for how, fix in found.items():
        left.plot(
            *fix.estimates[node], "o", color=colours[how], markeredgecolor="white", markersize=9, label=f"by {how}"
        )
        rates = [100 * fix.success_rate(one) for one in metres]
        right.plot(metres, rates, color=colours[how], label=how)
    left.legend(loc="lower center", bbox_to_anchor=(0.5, -0.28), ncols=5, fontsize=8, frameon=False)
    dress(left, f"A beacon with {len(PATH)} broadcasts, heard from {LEVEL:g} dBm", ("x (m)", "y (m)"))
    right.set_xscale("log")
    right.legend(frameon=False)
    count = len(found["masks"].nodes)
    dress(right, f"Share of {count:,} nodes located within a distance", ("accuracy (m)", "success rate (%)"))
    figure.savefig(picture, dpi=90)


def main(picture="moving_beacon.png", count=500):
    maps, found = fixes(int(count))
    print(f"{'method':8} {'within 20 m':>12} {'50 m':>7} {'100 m':>7} {'median area':>13}")
    for how, fix in found.items():
        rates = [fix.success_rate(metres) for metres in (20, 50, 100)]
        print(f"{how:8} {rates[0]:12.0%} {rates[1]:7.0%} {rates[2]:7.0%} {np.nanmedian(fix.areas):10,.0f} m2")
    draw(maps, found, picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
