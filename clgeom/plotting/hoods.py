"""Figures of the stages in which hoods of blocks of points merge into a hull."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from clgeom.io.atomic import check_output, replacing
from clgeom.optional import require_matplotlib
from clgeom.plotting.figures import draw_points, drawable, dress, figure_size, frame, new_axes, new_figure, require_few

TRACE_FORMATS = (".gif", ".png")
#: Most points of a trace; more would show only lines.
TRACEABLE = 200_000
#: Colours of neighbouring hoods, in turn.
UPPER_HOODS, LOWER_HOODS = ("#d1495b", "#8c2f39"), ("#2e86ab", "#1b4965")


def plot_hoods(points, upper, lower=(), ax=None, *, title=None):
    """Draw one stage of a trace: points, and the hood of every block of them.

    Parameters
    ----------
    points : array_like, shape (n, 2)
        In lexicographic order, the argument of `upper_hood`.
    upper, lower : sequence of array of int
        One of the `stages` of a Hood: the vertices of each block's hood.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes of pyplot's by default.
    title : str, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = new_axes(ax)
    from matplotlib.collections import LineCollection

    points = drawable(points)
    low, high = frame(ax, points, side=0.06)
    draw_points(ax, points, low, high)
    corners = 0
    for hoods, colours in ((lower, LOWER_HOODS), (upper, UPPER_HOODS)):
        lines = [points[hood] for hood in hoods]
        corners += sum(map(len, lines))
        width = 0.9 if len(lines) > 64 else 1.3
        ax.add_collection(
            LineCollection(lines, colors=colours, linewidths=width, zorder=3, capstyle="round", joinstyle="round")
        )
        if 0 < sum(map(len, lines)) <= 400:
            dots = np.concatenate(lines)
            ax.scatter(*dots.T, s=9, color=colours[1], linewidths=0, zorder=4)
    blocks = max(len(upper), len(lower))
    hoods = "hood" if len(upper) + len(lower) == 1 else "hoods"
    dress(ax, f"{len(upper) + len(lower):,} {hoods}, {corners:,} corners" if title is None else title)
    if 1 < blocks <= 128 and len(points):
        size = 1 << (-(-len(points) // blocks) - 1).bit_length()
        for first in points[size::size, 0]:
            ax.axvline(first, color="#c9d3db", linewidth=0.5, zorder=0.5)
    return ax


def save_trace(points, path, upper, lower=()) -> None:
    """Draw the stages of a merge into a .gif file as an animation, or into a .png file as panels.

    Parameters
    ----------
    points : array_like, shape (n, 2)
        In lexicographic order.
    path : path-like
    upper, lower : sequence of list of array of int
        The `stages` of the upper and, if it is to be drawn too, of the lower Hood.
    """
    require_matplotlib()
    check_output(path, TRACE_FORMATS)
    check_traceable(points)
    points = drawable(points)
    stages = list(zip(upper, lower)) if lower else [(hoods, ()) for hoods in upper]
    stages = stages or [((), ())]
    draw = _save_animation if Path(path).suffix.lower() == ".gif" else _save_panels
    with tempfile.TemporaryDirectory() as folder:  # Matplotlib writes animations to a named file
        drawn = Path(folder) / f"trace{Path(path).suffix.lower()}"
        draw(points, stages, drawn)
        with replacing(path) as file:
            file.write(drawn.read_bytes())


def check_traceable(points) -> None:
    """Raise `InvalidInput` for more points than `save_trace` draws."""
    require_few(points, TRACEABLE, "a trace", "points")


def _stage_title(stage, hoods):
    corners = sum(len(hood) for side in hoods for hood in side)
    count = sum(len(side) for side in hoods)
    block = "single points" if stage == 0 else f"blocks of {1 << stage:,}"
    if stage and max(len(side) for side in hoods) == 1:
        block = "one block"
    return f"Stage {stage}: {block}, {count:,} {'hood' if count == 1 else 'hoods'}, {corners:,} corners"


def _save_animation(points, stages, path):
    """Write a frame for each stage; the last one is shown for longer."""
    from matplotlib.animation import PillowWriter

    figure = new_figure(figure_size(points))
    writer = PillowWriter(fps=1)
    with writer.saving(figure, path, dpi=80):
        for stage, hoods in enumerate(stages):
            figure.clear()
            plot_hoods(points, *hoods, figure.add_subplot(), title=_stage_title(stage, hoods))
            for _ in range(4 if stage == len(stages) - 1 else 1):
                writer.grab_frame()


def _save_panels(points, stages, path):
    """Write the last six stages; earlier ones show little but vertical lines."""
    chosen = range(max(len(stages) - 6, 0), len(stages))
    columns = min(len(chosen), 3)
    rows = -(-len(chosen) // columns)
    width, height = figure_size(points)
    scale = 5.2 / width
    figure = new_figure((5.2 * columns, height * scale * rows))
    for k, stage in enumerate(chosen):
        ax = figure.add_subplot(rows, columns, k + 1)
        plot_hoods(points, *stages[stage], ax, title=_stage_title(stage, stages[stage]))
    figure.savefig(path, dpi=110)
