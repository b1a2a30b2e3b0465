"""Figures of the gaps of a Shellsort."""

from __future__ import annotations

from clgeom.plotting.figures import LINE, QUIET, dress, new_figure, save


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
    below.bar(places, [1e3 * time for time in seconds], color=LINE)
    below.set_xticks(places, names, rotation=60, ha="right", fontsize=8)
    dress(above, title, ("", "passes"))
    dress(below, "", ("gap", "time (ms)"))
    for axes in (above, below):
        axes.grid(False, axis="x")
    save(figure, path)
