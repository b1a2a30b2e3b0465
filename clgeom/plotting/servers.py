"""Figures of the best servers of a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clgeom.geo.geodesy import axes_of_crs
from clgeom.intake.typing import NDArray
from clgeom.markup import INK
from clgeom.plotting.figures import dress, fit_height, legend_below, plain, saved_figure

#: Most servers that the legend names.
MOST_NAMES = 24
#: Opacity of the areas, below the marks of transmitters.
OPACITY = 0.75


def save_servers_plot(
    server: NDArray[Any],
    names: Sequence[str],
    path: Any,
    transform: Sequence[float],
    *,
    crs: Any = None,
    sites: Sequence[tuple[float, float]] = (),
) -> None:
    """Write a picture of the cells of each server, in a colour each, to a .png, .svg or .pdf file."""
    with saved_figure(path, (8, 7)) as figure:
        from matplotlib import colormaps
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch
        from matplotlib.transforms import Affine2D

        ax = figure.add_subplot()
        hues = colormaps["tab20"](np.arange(len(names)) * (2 if len(names) <= 10 else 1) % 20)
        rows, columns = server.shape
        a, b, c, d, e, f = transform
        placed = Affine2D(np.array([[a, b, c], [d, e, f], [0, 0, 1]])) + ax.transData
        shown = np.ma.masked_less(server, 0)
        most = {"vmin": -0.5, "vmax": len(names) - 0.5, "interpolation": "nearest", "alpha": OPACITY}
        ax.imshow(shown, cmap=ListedColormap(hues), extent=(0, columns, rows, 0), transform=placed, **most)
        corners = np.array([(a * x + b * y + c, d * x + e * y + f) for x in (0, columns) for y in (0, rows)])
        ax.set(xlim=(corners[:, 0].min(), corners[:, 0].max()), ylim=(corners[:, 1].min(), corners[:, 1].max()))
        ax.set_aspect("equal")
        served = np.unique(server[server >= 0]).tolist()
        labels = {k: plain(names[k]) for k in served[:MOST_NAMES]}
        labels |= {k: f" {label}" for k, label in labels.items() if label.startswith("_")}  # else it is left out
        patches: list[Any] = [Patch(color=hues[k], alpha=OPACITY, label=label) for k, label in labels.items()]
        if len(sites):
            mark = {"color": INK, "markeredgecolor": "white", "markersize": 8, "zorder": 6, "linestyle": "none"}
            patches += ax.plot(*np.transpose(sites), marker="^", label="transmitters", **mark)
        ax.ticklabel_format(useOffset=False, style="plain")
        more = f", {MOST_NAMES} of them named" if len(served) > MOST_NAMES else ""
        dress(ax, f"Best server: {len(served):,} of {len(names):,} transmitters serve{more}", axes_of_crs(crs))
        ax.grid(False)
        legend_below(ax, patches, columns=4)
        fit_height(ax)
