"""Draws the picture of docs/explanation/radio.rst: best servers, carrier to interference, and power behind hills.

python docs/images/radio.py
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from clgeom import coverage_regions
from clgeom.geo.geodesy import axes_of_crs
from clgeom.markup import INK
from clgeom.plotting.coverage import plot_coverage
from clgeom.plotting.figures import colour_bar, dress, legend_below
from clgeom.radio import Transmitter, best_server, sector_antenna, terrain_loss
from clgeom.region.coverage.drawn import outlines

SIZE, PIXEL, CRS = 400, 20.0, "EPSG:32632"
PLACE = (PIXEL, 0.0, 691_000.0, 0.0, -PIXEL, 5_343_000.0)
MARK = {"marker": "^", "color": INK, "markeredgecolor": "white", "markersize": 9, "linestyle": "none"}
SITES = ((692_800, 5_341_200), (696_900, 5_341_000), (694_700, 5_337_300))


def hills():
    """Heights of the ground in m."""
    y, x = np.mgrid[:SIZE, :SIZE] * (PIXEL / 1000)
    ridge = 90 * np.exp(-(((x - y * 0.4 - 2.3) / 0.5) ** 2))
    return (520 + ridge + 25 * np.sin(x * 1.7) * np.cos(y * 1.3)).astype(np.float32)


def network():
    """Three sites of three sectors."""
    sector = sector_antenna(vertical_beamwidth_deg=10, gain_dbi=17, downtilt_deg=2)
    return [
        Transmitter(x, y, power_dbm=43, height_m=30, frequency_mhz=1800, antenna=sector, azimuth_deg=turn, loss_db=2)
        for x, y in SITES
        for turn in (30, 150, 270)
    ]


def draw():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib import colormaps
    from matplotlib.patches import Patch
    from matplotlib.ticker import MultipleLocator

    ground, sites = hills(), network()
    given = {"shape": ground.shape, "transform": PLACE, "crs": CRS, "model": "free-space"}
    shadow = terrain_loss(sites, ground, transform=PLACE, crs=CRS)
    made = best_server(sites, **given, ground_m=ground, extra_loss_db=shadow, noise_dbm=-100, sensitivity_dbm=-85)
    figure, panels = plt.subplots(1, 3, figsize=(17, 6), layout="constrained", sharey=True)
    extent = (PLACE[2], PLACE[2] + SIZE * PIXEL, PLACE[5] - SIZE * PIXEL, PLACE[5])
    names = axes_of_crs(CRS)
    image = panels[0].imshow(ground, extent=extent, cmap="Greys_r", alpha=0.9)
    served = np.ma.masked_less(made.server, 0)
    panels[0].imshow(served, extent=extent, cmap="tab10", vmin=0, vmax=9, alpha=0.65)
    colour_bar(panels[0], image, "height of the ground (m)", 1)
    dress(panels[0], "best server", names)
    hues = colormaps["tab10"](np.arange(len(sites)) / 9.99)
    patches = [
        Patch(color=hue, alpha=0.65, label=f"site {k // 3 + 1}, {one.azimuth_deg:g}\u00b0")
        for k, (hue, one) in enumerate(zip(hues, sites))
    ]
    legend_below(panels[0], [*patches, *panels[0].plot(*np.transpose(SITES), label="transmitters", **MARK)], columns=4)
    ratio = panels[1].imshow(made.carrier_to_interference_db, extent=extent, cmap="YlGnBu_r", vmin=0, vmax=30)
    colour_bar(panels[1], ratio, "carrier to interference (dB)", 1)
    dress(panels[1], "C/I of the best server, all on one channel", names)
    panels[1].plot(*np.transpose(SITES), label="transmitters", **MARK)
    legend_below(panels[1])
    for ax in panels[:2]:
        ax.ticklabel_format(useOffset=False, style="plain")
        ax.grid(False)
    regions = coverage_regions(made, [-45, -55, -70], segments=128)
    large = [region for region in regions if region.cells > 50]
    plot_coverage(
        outlines(large), panels[2], values=made.values, transform=PLACE, unit="dBm", axes=names, sites=SITES,
        title="received power, and its regions",
    )  # fmt: skip
    for ax in panels:
        ax.xaxis.set_major_locator(MultipleLocator(2000))
    figure.savefig(HERE / "best_server.png", dpi=75)


if __name__ == "__main__":
    draw()
