"""Diagrams: the path of an alignment, the passes of a Shellsort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clgeom.intake.typing import NDArray
from clgeom.markup import BLUE, QUIET, RED
from clgeom.plotting.figures import LINE, dress, new_axes, saved_figure


def plot_path(
    x: NDArray[Any], y: NDArray[Any], changed: NDArray[np.bool_], *, lengths: tuple[int, int], title: str, ax: Any
) -> Any:
    """Draw the path of an alignment through its table, and return the axes.

    `x` and `y` are positions in both sequences before and after each column; a dot marks each column with different
    letters, those of `changed`.
    """
    ax = new_axes(ax)
    ax.plot(x, y, color=BLUE, linewidth=1.5)
    at = np.flatnonzero(changed)
    ax.plot((x[at] + x[at + 1]) / 2, (y[at] + y[at + 1]) / 2, ".", color=RED, markersize=3, label="different letters")
    ax.set(xlim=(0, lengths[0]), ylim=(lengths[1], 0), xlabel="position in a", ylabel="position in b", title=title)
    ax.set_aspect("equal" if 0.2 < lengths[0] / max(lengths[1], 1) < 5 else "auto")
    ax.grid(color=QUIET, linewidth=0.3)
    if len(at):
        ax.legend(loc="upper right")
    return ax


def save_gaps_plot(
    names: Sequence[str], passes: Sequence[float], seconds: Sequence[float], path: Any, *, title: str = ""
) -> None:
    """Write a figure of the passes and the time of each gap of a Shellsort to a .png, .svg or .pdf file."""
    with saved_figure(path, (8, 5)) as figure:
        above, below = figure.subplots(2, sharex=True)
        places = range(len(names))
        above.bar(places, passes, color=QUIET)
        below.bar(places, [1e3 * time for time in seconds], color=LINE)
        below.set_xticks(places, names, rotation=60, ha="right", fontsize=8)
        dress(above, title, ("", "passes"))
        dress(below, "", ("gap", "time (ms)"))
        for axes in (above, below):
            axes.grid(False, axis="x")
