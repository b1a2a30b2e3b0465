"""Figures of hulls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clgeom.core.messages import counted
from clgeom.markup import INK, QUIET
from clgeom.plotting.figures import (
    CORNER,
    FILL,
    LINE,
    Points,
    draw_points,
    drawable,
    dress,
    figure_size,
    finite,
    frame,
    new_axes,
    saved_figure,
)


def plot_hull(
    corners: Any,
    ax: Any = None,
    *,
    count: int | None = None,
    filled: bool = True,
    points: Any = None,
    labels: Sequence[Any] | None = None,
    title: str | None = None,
    axes: tuple[str, str] = ("x", "y"),
) -> Any:
    """Draw a hull, and its points if they are given, into Matplotlib axes.

    Parameters
    ----------
    corners : array_like, shape (h, 2)
        The vertices of the hull, in order.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes of pyplot's by default.
    count : int, optional
        Number of points of the hull, for the title.
    filled : bool
        Tint the inside. A hull on a line has none.
    points : array_like, shape (n, 2), optional
        The points of the hull. Many points are drawn as a density image.
    labels : sequence of str, optional
        A text for each vertex of the hull.
    title : str, optional
    axes : tuple of 2 str
        Names of the axes, with their units.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = new_axes(ax)
    corners = drawable(corners)
    low, high = frame(ax, corners, side=0.06 if labels is None else 0.15)
    if points is not None:
        draw_points(ax, drawable(finite(points)), low, high)
    if filled:
        ax.fill(*corners.T, facecolor=FILL, alpha=0.07, zorder=2)
    if len(corners):
        dots = 5 if len(corners) <= 60 else 2.5 if len(corners) <= 1000 else 0
        ring = np.vstack([corners, corners[:1]])
        edge = {"markerfacecolor": CORNER, "markeredgecolor": "white", "markeredgewidth": 0.6}
        ax.plot(*ring.T, color=LINE, linewidth=1.4, marker="o", markersize=dots, **edge, zorder=4)
    if labels is not None and len(corners):
        _label(ax, corners, labels, low, high)
    of = "" if count is None else f" of {counted(count, 'point', 'points')}"
    dress(ax, f"Convex hull: {counted(len(corners), 'vertex', 'vertices')}{of}" if title is None else title, axes)
    return ax


def save_hull_plot(corners: Any, path: Any, **options: Any) -> None:
    """Draw a hull into a new figure and write it to a .png, .svg or .pdf file, whole or not at all.

    The parameters of `plot_hull`.
    """
    with saved_figure(path, figure_size(drawable(corners))) as figure:
        plot_hull(corners, figure.add_subplot(), **options)


def _label(ax: Any, corners: Points, labels: Sequence[Any], low: Points, high: Points) -> None:
    """Draw a text at each vertex, outside the hull; texts at the sides are spread so that they do not overlap."""
    extent = (high - low).max()
    x, y = ((corners - (low + high) / 2) / np.maximum((high - low) / 2, np.finfo(float).tiny)).T
    style: dict[str, Any] = {"fontsize": 7.5, "color": INK, "zorder": 5}
    for sign, turned, edge in ((-1, "right", low[0]), (1, "left", high[0])):
        side = np.flatnonzero(sign * x > 0.8)
        side = side[np.argsort(corners[side, 1], kind="stable")]
        line = {"arrowstyle": "-", "color": QUIET, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
        line["relpos"] = (1 if sign < 0 else 0, 0.5)
        for i, height in zip(side, _spread(corners[side, 1], 0.036 * extent)):
            place = (edge + sign * 0.02 * extent, height)
            ax.annotate(labels[int(i)], corners[i], xytext=place, ha=turned, va="center", arrowprops=line, **style)
    for above in (False, True):
        edge = np.flatnonzero((np.abs(x) <= 0.8) & ((y > 0) == above))
        edge = edge[np.argsort(corners[edge, 0], kind="stable")]
        gaps = np.concatenate([[np.inf], np.diff(corners[edge, 0]), [np.inf]])
        for i, before, after in zip(edge, gaps, gaps[1:]):
            turned = "center" if min(before, after) > 0.14 * extent else "right" if after < before else "left"
            place, va = ((0, 6), "bottom") if above else ((0, -6), "top")
            ax.annotate(labels[int(i)], corners[i], xytext=place, textcoords="offset points", ha=turned, va=va, **style)


def _spread(places: Points, gap: float) -> list[float]:
    """Return ascending positions, moved a little so that neighbours are at least `gap` apart."""
    groups: list[tuple[float, int]] = []  # runs of labels that touch: (centre, count)
    for place in places.tolist():
        groups.append((place, 1))
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < gap * (groups[-1][1] + groups[-2][1]) / 2:
            (b, m), (a, n) = groups.pop(), groups.pop()
            groups.append(((a * n + b * m) / (n + m), n + m))
    return [centre + gap * (k - (count - 1) / 2) for centre, count in groups for k in range(count)]
