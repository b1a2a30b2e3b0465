"""Figures of the stages in which hoods of blocks of points merge into a hull."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.core.messages import counted
from clgeom.io.atomic import check_output
from clgeom.optional import require_matplotlib
from clgeom.plotting.figures import (
    FORMATS,
    drawable,
    dress,
    figure_size,
    frame_with_points,
    new_axes,
    require_few,
    save_animation,
    save_panels,
)

TRACE_FORMATS = (".gif", *FORMATS)
#: Most points of a trace; more would show only lines.
TRACEABLE = 200_000
#: Colours of neighbouring hoods, in turn.
UPPER_HOODS, LOWER_HOODS = ("#d1495b", "#8c2f39"), ("#2e86ab", "#1b4965")
#: The upper and the lower hoods of a stage: indices of points.
Stage = tuple[Sequence[Any], Sequence[Any]]


def plot_hoods(
    points: Any, upper: Sequence[Any], lower: Sequence[Any] = (), ax: Any = None, *, title: str | None = None
) -> Any:
    """Draw points in lexicographic order and the vertices of the hood of every block of them, and return the axes."""
    ax = new_axes(ax)
    from matplotlib.collections import LineCollection

    points = drawable(points)
    frame_with_points(ax, points, points)
    for hoods, colours in ((lower, LOWER_HOODS), (upper, UPPER_HOODS)):
        lines = [points[hood] for hood in hoods]
        width = 0.9 if len(lines) > 64 else 1.3
        style: dict[str, Any] = {"linewidths": width, "zorder": 3, "capstyle": "round", "joinstyle": "round"}
        ax.add_collection(LineCollection(lines, colors=colours, **style))
        if 0 < sum(map(len, lines)) <= 400:
            ax.scatter(*np.concatenate(lines).T, s=9, color=colours[1], linewidths=0, zorder=4)
    dress(ax, _counts((upper, lower)) if title is None else title)
    blocks = max(len(upper), len(lower))
    if 1 < blocks <= 128 and len(points):
        size = 1 << (-(-len(points) // blocks) - 1).bit_length()
        for first in points[size::size, 0]:
            ax.axvline(first, color="#c9d3db", linewidth=0.5, zorder=0.5)
    return ax


def save_trace(points: Any, path: Any, upper: Sequence[Any], lower: Sequence[Any] = ()) -> None:
    """Write the `stages` of one or two Hoods to a .gif file as an animation, or to a picture as panels."""
    require_matplotlib()
    check_output(path, TRACE_FORMATS)
    require_few(points, TRACEABLE, "a trace", "points")
    points = drawable(points)
    stages: list[Stage] = list(zip(upper, lower)) if lower else [(hoods, ()) for hoods in upper]
    stages = stages or [((), ())]

    def draw(number: int, ax: Any) -> None:
        plot_hoods(points, *stages[number], ax, title=_stage_title(number, stages[number]))

    drawings, (width, height) = [partial(draw, number) for number in range(len(stages))], figure_size(points)
    if Path(path).suffix.lower() == ".gif":
        save_animation(drawings, path, size=(width, height), seconds=1, last_seconds=4, dpi=80)
    else:  # earlier stages show little but vertical lines
        save_panels(drawings[-6:], path, size=(5.2, height * 5.2 / width), columns=3)


def _counts(hoods: Stage) -> str:
    corners = sum(len(hood) for side in hoods for hood in side)
    return f"{counted(sum(map(len, hoods)), 'hood', 'hoods')}, {corners:,} corners"


def _stage_title(stage: int, hoods: Stage) -> str:
    block = "single points" if stage == 0 else f"blocks of {1 << stage:,}"
    if stage and max(map(len, hoods)) == 1:
        block = "one block"
    return f"Stage {stage}: {block}, {_counts(hoods)}"
