"""Figures of the gaps of a Shellsort."""

from __future__ import annotations

from clgeom.plotting.figures import LINE, QUIET, new_figure, save


def save_gaps_plot(names, passes, seconds, path, *, title="") -> None:
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
    figure = new_figure((8, 5))
    above, below = figure.subplots(2, sharex=True)
    places = range(len(names))
    above.bar(places, passes, color=QUIET)
    above.set_ylabel("passes")
    below.bar(places, [1e3 * time for time in seconds], color=LINE)
    below.set_ylabel("time (ms)")
    below.set_xlabel("gap")
    below.set_xticks(places, names, rotation=60, ha="right", fontsize=8)
    above.set_title(title, loc="left", fontsize=11)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    save(figure, path)
