"""Figures of adaptive regions of points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clgeom.core.messages import counted
from clgeom.plotting.figures import (
    LEVEL_LINES,
    LINE,
    draw_points,
    drawable,
    dress,
    figure_size,
    finite,
    frame,
    legend_below,
    new_axes,
    saved_figure,
)


def plot_region(
    parts: Sequence[Any],
    ax: Any = None,
    *,
    count: int | None = None,
    vertices: int | None = None,
    points: Any = None,
    title: str | None = None,
    colour: str = LINE,
    label: str | None = None,
    axes: tuple[str, str] = ("x", "y"),
) -> Any:
    """Draw an adaptive region, and its points if they are given, into Matplotlib axes.

    Parameters
    ----------
    parts : sequence of array_like, shape (h, 2)
        The vertices of each part, in order.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes of pyplot's by default.
    count : int, optional
        Number of points of the region, for the title.
    vertices : int, optional
        Number of vertices, for the title; by default that of `parts`.
    points : array_like, shape (n, 2), optional
        The points of the region. Many points are drawn as a density image.
    title : str, optional
    colour : color
        Colour of the outline.
    label : str, optional
        Name of the outline in a legend.
    axes : tuple of 2 str
        Names of the axes, with their units.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = new_axes(ax)
    parts = [drawable(part) for part in parts]
    corners = np.concatenate(parts) if parts else np.empty((0, 2))
    low, high = frame(ax, corners, side=0.06)
    if points is not None:
        draw_points(ax, drawable(finite(points)), low, high)
    for part in parts:
        if len(part) > 2:
            ax.fill(*part.T, facecolor=colour, alpha=0.07, zorder=2)
        style = {"marker": "o", "markersize": 5} if len(part) == 1 else {}
        ax.plot(*np.vstack([part, part[:1]]).T, color=colour, linewidth=1.2, zorder=4, label=label, **style)
        label = None
    of = "" if count is None else f" of {counted(count, 'point', 'points')}"
    vertices = len(corners) if vertices is None else vertices
    dress(ax, f"Adaptive region{of}: {counted(vertices, 'vertex', 'vertices')}" if title is None else title, axes)
    return ax


def save_regions_plot(
    regions: Sequence[Sequence[Any]],
    path: Any,
    *,
    counts: Sequence[int] | None = None,
    vertices: Sequence[int] | None = None,
    points: Any = None,
    labels: Sequence[str] | None = None,
    axes: tuple[str, str] = ("x", "y"),
) -> None:
    """Draw adaptive regions into a new figure and write it to a .png, .svg or .pdf file, whole or not at all.

    Each of several regions has its own colour, and a legend shows their labels.

    Parameters
    ----------
    regions : sequence of sequence of array_like, shape (h, 2)
        The parts of each region.
    path : path-like
    counts : sequence of int, optional
        Number of points of each region.
    vertices : sequence of int, optional
        Number of vertices of each region.
    points : array_like, shape (n, 2), optional
    labels : sequence of str, optional
    axes : tuple of 2 str
    """
    parts = [drawable(part) for region in regions for part in region]
    corners = np.concatenate(parts) if parts else np.empty((0, 2))
    with saved_figure(path, figure_size(corners) if parts else (8, 6)) as figure:
        ax = figure.add_subplot()
        if len(regions) == 1:
            count, corner_count = (None if numbers is None else numbers[0] for numbers in (counts, vertices))
            plot_region(regions[0], ax, count=count, vertices=corner_count, points=points, axes=axes)
            return
        for k, (region, label) in enumerate(zip(regions, labels or ())):
            plot_region(region, ax, colour=LEVEL_LINES[k % len(LEVEL_LINES)], label=label, axes=axes)
        low, high = frame(ax, corners, side=0.06)
        if points is not None:
            draw_points(ax, drawable(finite(points)), low, high)
        dress(ax, f"{len(regions)} adaptive regions", axes)
        legend_below(ax)
