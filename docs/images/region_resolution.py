"""Draws docs/images/region_resolution.png: what regions of rising resolution cost, over the number of segments.

python docs/images/region_resolution.py

Maps are of path loss with correlated shadowing, made here. What is drawn is printed, too. In the manner of the ARC
study's comparison with the convex hull; its figures of time are drawn by bench/report.py.
"""

import functools
import statistics
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from clgeom import coverage_regions
from clgeom.radio import coverage_map
from clgeom.region.coverage.measures import hull_of, measure
from clgeom.region.coverage.outlines import mask_polygons

LEVEL, SIDE, MAPS = -85.0, 512, 5
PIXEL = 2500 / SIDE  # 2.5 km by 2.5 km, as in the study
SEGMENTS = (1, 4, 8, 16, 32, 64, 128, 256, 512)
WAYS = {
    "one outline": {"parts": False},
    "one outline, both axes": {"parts": False, "axis": "both"},
    "parts": {},
    "parts, both axes": {"axis": "both"},
}


def seconds(call, repeat=5):
    """Median of a few calls."""
    taken = []
    for _ in range(repeat):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def measured():
    """{way: array (maps, segments, 4)} of superfluous and missed share, vertices, milliseconds; the hulls' shares."""
    found = {way: np.empty((MAPS, len(SEGMENTS), 4)) for way in WAYS}
    hulls = []
    for seed in range(MAPS):
        power = coverage_map((SIDE, SIDE), pixel=PIXEL, sigma=4, correlation=600, power=40.0, seed=seed).values
        mask = power >= LEVEL
        exact = mask_polygons(mask)
        hulls.append(measure(hull_of(mask), mask, hausdorff=False, polygons=exact).superfluous_of_mask)
        for way, options in WAYS.items():
            for k, segments in enumerate(SEGMENTS):
                call = functools.partial(coverage_regions, power, LEVEL, segments=segments, **options)
                one = measure(call(), mask, hausdorff=False, polygons=exact)
                shares = one.superfluous_of_mask, one.missed_of_mask
                found[way][seed, k] = *shares, one.vertices, seconds(call) * 1e3
    return found, hulls


def main():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from cycler import cycler
    from matplotlib import ticker

    from clgeom.plotting.figures import SERIES

    matplotlib.rcParams["axes.prop_cycle"] = cycler(color=SERIES)
    found, hulls = measured()
    figure, panels = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
    titles = ("superfluous area (% of the covered)", "vertices", "time of a call (ms)")
    for ax, title, column, scale in zip(panels, titles, (0, 2, 3), (100, 1, 1)):
        for k, (way, values) in enumerate(found.items()):
            middle = np.median(values[:, :, column], axis=0) * scale
            ax.plot(SEGMENTS, middle, "o-", color=f"C{k}", markersize=4, label=way)
            low, high = values[:, :, column].min(axis=0) * scale, values[:, :, column].max(axis=0) * scale
            ax.fill_between(SEGMENTS, low, high, color=f"C{k}", alpha=0.12, linewidth=0)
            print(f"{title:36} {way:24}", " ".join(f"{value:8.3g}" for value in middle))
        ax.set(xscale="log", yscale="log" if column else "linear", xlabel="segments")
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xticks(SEGMENTS, [str(k) for k in SEGMENTS])
        ax.xaxis.set_minor_locator(ticker.NullLocator())
        ax.grid(alpha=0.3)
        if column:
            ax.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_minor_formatter(ticker.NullFormatter())
    panels[0].axhline(100 * statistics.median(hulls), color="0.35", linestyle="--", label="convex hull")
    panels[0].set_ylim(bottom=0)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=9)
    worst = max(values[:, :, 1].max() for values in found.values())
    print(f"convex hull {100 * statistics.median(hulls):.3g} %; missed, at most: {worst:.2g}")
    figure.suptitle(
        f"{MAPS} maps of {SIDE} x {SIDE} cells at {LEVEL:g} dBm: median and range; missed area: 0",
        fontsize=11,
    )
    assert worst < 1e-9
    figure.savefig(HERE / "region_resolution.png", dpi=95)


if __name__ == "__main__":
    main()
