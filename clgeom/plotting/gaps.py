"""Figures of the gaps of a Shellsort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clgeom.markup import QUIET
from clgeom.plotting.figures import LINE, dress, saved_figure


def save_gaps_plot(
    names: Sequence[str], passes: Sequence[float], seconds: Sequence[float], path: Any, *, title: str = ""
) -> None:
    """Draw passes and time of each gap into a .png, .svg or .pdf file, whole or not at all.

    Parameters
    ----------
    names : sequence of str
        Names of the gaps.
    passes, seconds : sequence of float
        Passes and time of each gap.
    path : path-like
    title : str
    """
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
