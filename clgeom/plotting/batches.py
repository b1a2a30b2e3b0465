"""Figures of the hulls of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clgeom.core.messages import counted
from clgeom.plotting.figures import (
    LINE,
    SERIES,
    draw_points,
    drawable,
    dress,
    figure_size,
    finite,
    frame,
    legend_below,
    new_axes,
    plain,
    saved_figure,
)


def plot_hulls(
    corners: Any,
    offsets: Any,
    ax: Any = None,
    *,
    points: Any = None,
    labels: Sequence[Any] | None = None,
    title: str | None = None,
    axes: tuple[str, str] = ("x", "y"),
) -> Any:
    """Draw the hulls of groups, and the points if they are given, into Matplotlib axes.

    Parameters
    ----------
    corners : array_like, shape (h, 2)
        The vertices: hull after hull, each in order.
    offsets : array_like of int, shape (m + 1,)
        Hull i has ``corners[offsets[i]:offsets[i + 1]]``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes of pyplot's by default.
    points : array_like, shape (n, 2), optional
        The points of the hulls. Many points are drawn as a density image.
    labels : sequence, shape (m,), optional
        Names of the groups. Up to ten hulls have a colour each, and a legend of their labels.
    title : str, optional
    axes : tuple of 2 str
        Names of the axes, with their units.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = new_axes(ax)
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    corners, offsets = drawable(corners), np.asarray(offsets)
    low, high = frame(ax, corners, side=0.06)
    if points is not None:
        draw_points(ax, drawable(finite(points)), low, high)
    rings = [corners[begin:end] for begin, end in zip(offsets, offsets[1:])]
    named = labels is not None and len(rings) <= len(SERIES)
    colours = [SERIES[i] if named else LINE for i in range(len(rings))]
    width = 1.4 if len(rings) <= 100 else 0.8 if len(rings) <= 10_000 else 0.2
    faces = [to_rgba(colour, 0.07) for colour in colours]
    hulls = PolyCollection(rings, facecolors=faces, edgecolors=colours, linewidths=width, zorder=4)
    ax.add_collection(hulls, autolim=False)
    spots = [i for i, ring in enumerate(rings) if len(ring) == 1]  # hulls of one place
    ax.scatter(*corners[offsets[spots]].T, s=14, c=[colours[i] for i in spots], linewidths=0, zorder=4)
    dress(ax, counted(len(rings), "convex hull", "convex hulls") if title is None else title, axes)
    if labels is not None and named and rings:
        for label, colour in zip(labels, colours):
            ax.plot([], [], color=colour, linewidth=1.6, label=plain(label))
        legend_below(ax)
    return ax


def save_hulls_plot(corners: Any, offsets: Any, path: Any, **options: Any) -> None:
    """Draw the hulls of groups into a new figure and write it to a .png, .svg or .pdf file, whole or not at all.

    The parameters of `plot_hulls`.
    """
    with saved_figure(path, figure_size(drawable(corners))) as figure:
        plot_hulls(corners, offsets, figure.add_subplot(), **options)
