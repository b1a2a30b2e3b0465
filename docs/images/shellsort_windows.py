"""Draws shellsort_windows.png: why a window with a proven halo is enough.

python docs/images/shellsort_windows.py
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from clgeom.sorting.shellsort.gaps import displacement, gaps_for

INK, QUIET, HALO, CORE, OUT = "#22303c", "#c9d3db", "#f0d6a8", "#8fb996", "#d1495b"
GAP = 5


def semigroup(axes):
    """Which multiples of the gap are sums of larger gaps, and the last one that is not."""
    larger = [gap for gap in gaps_for("sedgewick86", 10_000) if gap > GAP]
    bound = displacement(GAP, larger)
    top = 5 * 96
    known = np.zeros(top, bool)
    known[0] = True
    for gap in larger:
        for start in range(min(gap, top)):
            known[start::gap] = np.logical_or.accumulate(known[start::gap])
    rows = np.arange(1, 96)
    for m in rows:
        axes.add_patch(axes_square(m % 12, -(m // 12), QUIET if known[m * GAP] else OUT))
        ink = INK if known[m * GAP] else "white"
        axes.text(m % 12, -(m // 12), str(m), ha="center", va="center", fontsize=7, color=ink)
    words = f"The last red one is D = {bound}: no element moves further in this pass."
    axes.text(-0.45, -8.1, words, fontsize=9, color=INK)
    axes.set_xlim(-0.7, 11.7)
    axes.set_ylim(-8.6, 0.7)
    sums = ", ".join(str(gap) for gap in larger[:-4:-1])
    title = (
        f"Gap {GAP}, elements m rows apart. Grey: {GAP}m is a sum of {sums} ..,\n"
        "so they are in order already. Red: they can be out of order."
    )
    axes.set_title(title, fontsize=9, loc="left", color=INK)


def axes_square(x, y, colour):
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.45, y - 0.45), 0.9, 0.9, color=colour)


def windows(axes):
    """The h-subsequences of a gap as columns, one window of four of them, its core and its halos."""
    from matplotlib.patches import FancyArrowPatch, Rectangle

    columns, rows = 14, 26
    axes.add_patch(Rectangle((0, 0), columns, rows, facecolor="#f4f6f8", edgecolor="none"))
    parts = ((6, 10, HALO, "halo: D rows"), (10, 17, CORE, "core: written"), (17, 21, HALO, "halo: D rows"))
    for low, high, colour, name in parts:
        axes.add_patch(Rectangle((5, low), 4, high - low, color=colour))
        axes.text(9.3, (low + high) / 2, name, va="center", fontsize=9, color=INK)
    for x in range(columns + 1):
        axes.plot([x, x], [0, rows], color="white", linewidth=1)
    for y in range(rows + 1):
        axes.plot([0, columns], [y, y], color="white", linewidth=1)
    inside, outside = (
        ((6.5, 6.5, 10.6, INK), (6.5, 20.5, 16.4, INK)),
        ((7.5, 5.5, 9.5, OUT), (7.5, 21.5, 17.5, OUT)),
    )
    for x, start, end, colour in (*inside, *outside):
        arrow = {"arrowstyle": "-|>", "mutation_scale": 12, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
        axes.add_patch(FancyArrowPatch((x, start), (x, end), color=colour, **arrow))
    axes.text(9.3, 5, "from outside: into the halo at most", fontsize=8, color=OUT, va="center")
    axes.set_xlim(-0.5, 17.5)
    axes.set_ylim(rows + 0.5, -0.5)
    title = (
        "A window of neighbouring h-subsequences. What belongs into the core comes\n"
        "from at most D rows away: it is in the window."
    )
    axes.set_title(title, fontsize=9, loc="left", color=INK)


def main():
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    semigroup(left)
    windows(right)
    for axes in (left, right):
        axes.set_axis_off()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130)


if __name__ == "__main__":
    main()
