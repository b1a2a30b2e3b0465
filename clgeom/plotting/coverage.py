"""Figures of rasters and of outlines of covered cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clgeom.core.messages import counted
from clgeom.geo.geodesy import axes_of_crs
from clgeom.intake.typing import NDArray
from clgeom.markup import INK
from clgeom.plotting.figures import (
    LINE,
    colour_bar,
    dress,
    fill_rings,
    fit_height,
    legend_below,
    line_colours,
    new_axes,
    saved_figure,
)

VALUES, CELLS, SUPERFLUOUS = "YlGnBu_r", "#bcd3e3", "#f3c7c2"


def plot_coverage(
    outlines: Mapping[str, Sequence[Any]],
    ax: Any = None,
    *,
    values: Any = None,
    transform: Sequence[float] | None = None,
    unit: str = "",
    title: str | None = None,
    axes: tuple[str, str] | None = None,
    sites: Sequence[tuple[float, float]] = (),
) -> Any:
    """Draw outlines of covered cells over the `values` of their raster, and return the axes.

    `outlines` has the shapes of each level, by its label in the legend: a shape is a list of polygons, a polygon a list
    of closed rings, its outer one first. `sites` are positions of transmitters.
    """
    ax = new_axes(ax, 7)
    from matplotlib.patheffects import withStroke

    if values is not None:
        _draw_raster(ax, values, transform, unit)
    colours = dict(zip(outlines, line_colours(len(outlines))))
    for label, shapes in reversed(list(outlines.items())):  # the first level on top
        for rings in (polygon for shape in shapes for polygon in shape):
            rings = [np.asarray(ring, np.float64) for ring in rings]
            if values is None:
                fill_rings(ax, rings, colours[label], alpha=0.12)
            for number, ring in enumerate(rings):  # holes have thinner lines
                width = 0.5 if number else 1.2
                # white edges make a line visible on every colour of a raster
                casing = (
                    [withStroke(linewidth=width + 0.8, foreground="white", alpha=0.6)] if values is not None else None
                )
                ax.plot(*ring.T, color=colours[label], linewidth=width, zorder=4, path_effects=casing)
    for label, colour in colours.items():
        ax.plot([], [], color=colour, linewidth=1.6, label=label)
    if len(sites):
        name = "transmitter" if len(sites) == 1 else "transmitters"
        ax.plot(*np.transpose(sites), "^", color=INK, markeredgecolor="white", markersize=8, zorder=6, label=name)
    ax.set_aspect("equal")
    ax.ticklabel_format(useOffset=False, style="plain")
    if axes is None:
        axes = ("column", "row") if values is not None and transform is None else ("x", "y")
    count = counted(sum(map(len, outlines.values())), "coverage region", "coverage regions")
    dress(ax, count if title is None else title, axes)
    if outlines or len(sites):
        legend_below(ax)
    return ax


def plot_power(raster: Any, values: Any, ax: Any, title: str) -> Any:
    """Draw the values and the transmitters of a RadioMap or ServerMap, and return the axes."""
    options = {"transform": raster.transform, "unit": raster.unit, "sites": raster.sites}
    return plot_coverage({}, ax, values=values, title=title, axes=axes_of_crs(raster.crs), **options)


def save_coverage_plot(outlines: Mapping[str, Sequence[Any]], path: Any, **options: Any) -> None:
    """Write a figure of outlines to a .png, .svg or .pdf file. The parameters of `plot_coverage`."""
    with saved_figure(path, (8, 7)) as figure:
        fit_height(plot_coverage(outlines, figure.add_subplot(), **options))


def save_comparison_plot(
    values: Any,
    mask: NDArray[np.bool_],
    panels: Sequence[tuple[str, Sequence[Any]]],
    path: Any,
    *,
    unit: str = "",
    title: str = "",
) -> None:
    """Write a map and its covered cells, beside five panels of polygons over these cells, to a picture file.

    `panels` has the title and the polygons of each panel, lists of closed rings in columns and rows. The area of a
    polygon beyond the covered cells is tinted.
    """
    with saved_figure(path, (13, 8.8)) as figure:
        from matplotlib.colors import ListedColormap
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        axes = figure.subplots(2, 3).ravel()
        image = axes[0].imshow(np.ma.masked_invalid(values), cmap=VALUES)
        colour_bar(axes[0], image, _quantity(unit), 1)
        axes[0].contour(mask, levels=[0.5], colors=LINE, linewidths=0.6)
        dress(axes[0], title, ("column", "row"))
        axes[0].grid(False)
        extent = (0, mask.shape[1], mask.shape[0], 0)
        for ax, (name, polygons) in zip(axes[1:], panels):
            for rings in polygons:
                rings = [np.asarray(ring, np.float64) for ring in rings]
                fill_rings(ax, rings, SUPERFLUOUS)
                for ring in rings:
                    ax.plot(*ring.T, color=LINE, linewidth=0.8, zorder=4)
            ax.imshow(np.where(mask, 1.0, np.nan), cmap=ListedColormap([CELLS]), extent=extent, zorder=3)
            ax.set(xlim=extent[:2], ylim=extent[2:], aspect="equal")
            dress(ax, name, ("column", "row"))
        covered, added = (Patch(facecolor=colour) for colour in (CELLS, SUPERFLUOUS))
        edge = Line2D([], [], color=LINE, linewidth=1)
        words = ("covered cells", "what the shape adds", "boundary")
        figure.legend([covered, added, edge], words, loc="outside lower center", ncols=3, frameon=False, fontsize=9)


def plot_fixes(
    nodes: NDArray[np.float64],
    estimates: NDArray[np.float64],
    ax: Any = None,
    *,
    values: Any = None,
    transform: Sequence[float] | None = None,
    title: str = "",
    axes: tuple[str, str] = ("x", "y"),
) -> Any:
    """Draw true positions, with a line from each to its estimate unless that is NaN, and return the axes."""
    ax = new_axes(ax, 7)
    if values is not None:
        _draw_raster(ax, values, transform, "dBm")
    known = np.isfinite(estimates).all(axis=1)
    ends = np.stack([nodes, estimates, np.full(nodes.shape, np.nan)], axis=1)[known].reshape(-1, 2)
    ax.plot(*ends.T, color=LINE, linewidth=0.7, zorder=4)
    ax.plot(*nodes.T, "o", color=INK, markeredgecolor="white", markersize=5, zorder=5, label="nodes")
    ax.plot(*estimates[known].T, "x", color=LINE, markersize=5, zorder=5, label="estimates")
    ax.set_aspect("equal")
    dress(ax, title, axes)
    legend_below(ax)
    return ax


def _draw_raster(ax: Any, values: Any, transform: Sequence[float] | None, unit: str) -> None:
    """Draw a raster as an image at the position that its transform gives."""
    from matplotlib.transforms import Affine2D

    rows, columns = np.shape(values)
    a, b, c, d, e, f = transform or (1, 0, 0, 0, 1, 0)
    image = ax.imshow(np.ma.masked_invalid(values), cmap=VALUES, extent=(0, columns, rows, 0), zorder=1)
    image.set_transform(Affine2D.from_values(a, d, b, e, c, f) + ax.transData)
    corners = np.array([(0, 0), (columns, 0), (0, rows), (columns, rows)])
    x, y = (corners @ np.array([[a, d], [b, e]]) + (c, f)).T
    ax.set(xlim=(x.min(), x.max()), ylim=(y.min(), y.max()))
    if e > 0 and transform is None:
        ax.invert_yaxis()  # axes are columns and rows: row 0 is on top
    colour_bar(ax, image, _quantity(unit), 1)


def _quantity(unit: str) -> str:
    """Return the name of the values of a raster."""
    if not unit:
        return "value"
    return f"received power ({unit})" if unit == "dBm" else f"value ({unit})"
