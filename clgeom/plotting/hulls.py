"""Figures of hulls, of the hulls of groups, and of adaptive regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clgeom.core.messages import counted
from clgeom.markup import INK, QUIET
from clgeom.plotting.figures import (
    CORNER,
    FILL,
    LEVEL_LINES,
    LINE,
    SERIES,
    Points,
    drawable,
    dress,
    figure_size,
    frame_with_points,
    legend_below,
    new_axes,
    plain,
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
    """Draw the hull of `count` points, tinted if `filled`, with `labels` at its vertices, and return the axes."""
    ax = new_axes(ax)
    corners = drawable(corners)
    low, high = frame_with_points(ax, corners, points, side=0.06 if labels is None else 0.15)
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
    """Write a figure of a hull to a .png, .svg or .pdf file. The parameters of `plot_hull`."""
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
    """Draw hulls of ``corners[offsets[i]:offsets[i + 1]]``, up to ten with `labels` and colours; return the axes."""
    ax = new_axes(ax)
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    corners, offsets = drawable(corners), np.asarray(offsets)
    frame_with_points(ax, corners, points)
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
    """Write a figure of hulls to a .png, .svg or .pdf file. The parameters of `plot_hulls`."""
    with saved_figure(path, figure_size(drawable(corners))) as figure:
        plot_hulls(corners, offsets, figure.add_subplot(), **options)


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
    """Draw the region of `count` points from the vertices of each part, as the title tells; return the axes."""
    ax = new_axes(ax)
    parts = [drawable(part) for part in parts]
    corners = np.concatenate(parts) if parts else np.empty((0, 2))
    frame_with_points(ax, corners, points)
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
    counts: Sequence[int] = (),
    vertices: Sequence[int] = (),
    points: Any = None,
    labels: Sequence[str] = (),
    axes: tuple[str, str] = ("x", "y"),
) -> None:
    """Write regions, with colours, labels, and numbers of points and vertices, to a .png, .svg or .pdf file."""
    parts = [drawable(part) for region in regions for part in region]
    corners = np.concatenate(parts) if parts else np.empty((0, 2))
    with saved_figure(path, figure_size(corners) if parts else (8, 6)) as figure:
        ax = figure.add_subplot()
        if len(regions) == 1:
            plot_region(regions[0], ax, count=counts[0], vertices=vertices[0], points=points, axes=axes)
            return
        for k, (region, label) in enumerate(zip(regions, labels)):
            plot_region(region, ax, colour=LEVEL_LINES[k % len(LEVEL_LINES)], label=label, axes=axes)
        frame_with_points(ax, corners, points)
        dress(ax, f"{len(regions)} adaptive regions", axes)
        legend_below(ax)
