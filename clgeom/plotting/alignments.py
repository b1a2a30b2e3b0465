"""The picture of an alignment: its path through the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from clgeom.intake.typing import NDArray
from clgeom.markup import BLUE, QUIET, RED
from clgeom.plotting.figures import new_axes


def plot_path(
    x: NDArray[Any],
    y: NDArray[Any],
    changed: NDArray[np.bool_],
    *,
    lengths: tuple[int, int],
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw a path, with a dot at each column of different letters. Returns the axes.

    Parameters
    ----------
    x, y : ndarray of int, shape (columns + 1,)
        Positions in both sequences before and after each column.
    changed : ndarray of bool, shape (columns,)
    lengths : (int, int)
        Of both sequences.
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
