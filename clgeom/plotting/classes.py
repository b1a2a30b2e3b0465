"""Figures of polygons of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from clgeom.core.messages import counted
from clgeom.geo.geodesy import axes_of_crs
from clgeom.plotting.figures import dress, fit_height, legend_below, new_axes, plain, saved_figure

#: Matplotlib's palettes of distinct colours; more classes share them.
FEW, MANY = "Set3", "tab20"
#: Most classes that the legend lists.
MOST_LISTED = 24
EDGE = "#404040"
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


def plot_classes(polygons: Any, ax: Any = None, *, title: str | None = None) -> Any:
    """Draw polygons of classes with a colour for each class, and return the axes."""
    ax = new_axes(ax, 7)
    import matplotlib
    from matplotlib.patches import Patch, PathPatch
    from matplotlib.path import Path

    whole = polygons.dissolve() if hasattr(polygons, "dissolve") else [polygons]
    values, names = np.unique([one.value for one in whole]), {one.value: one.name for one in whole}
    palette = matplotlib.colormaps[FEW if len(values) <= 12 else MANY]
    colours = {value: palette(k % palette.N) for k, value in enumerate(values.tolist())}
    for one in whole:
        places = np.concatenate([np.concatenate([ring, ring[:1]]) for ring in one.rings])
        codes = np.concatenate([_codes(len(ring)) for ring in one.rings])
        path = Path(places, codes)
        ax.add_patch(PathPatch(path, facecolor=colours[one.value], edgecolor=EDGE, linewidth=0.5))
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.ticklabel_format(useOffset=False, style="plain")
    is_cells = tuple(polygons.grid.transform) == IDENTITY
    if is_cells and not ax.yaxis_inverted():
        ax.invert_yaxis()  # rows count downwards
    count = counted(len(polygons.collected().offsets) - 1, "polygon", "polygons")
    dress(ax, count if title is None else title, ("column", "row") if is_cells else axes_of_crs(polygons.crs))
    labels = {value: plain(value if names[value] is None else names[value]) for value in values[:MOST_LISTED].tolist()}
    patches = [
        Patch(facecolor=colours[value], edgecolor=EDGE, linewidth=0.5, label=name) for value, name in labels.items()
    ]
    legend_below(ax, patches)
    return ax


def save_classes_plot(polygons: Any, path: Any, **options: Any) -> None:
    """Write a figure of polygons of classes to a .png, .svg or .pdf file."""
    with saved_figure(path, (8, 7)) as figure:
        fit_height(plot_classes(polygons, figure.add_subplot(), **options))


def _codes(count: int) -> np.ndarray:
    """Return the codes of a closed ring of so many vertices for a path of Matplotlib's: move, lines, close."""
    return np.concatenate([[1], np.full(count - 1, 2), [79]]).astype(np.uint8)
