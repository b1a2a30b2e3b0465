"""Reads beyond a declared reach: noted on the device by the fast paths, raised here."""

from __future__ import annotations

import numpy as np

from clgeom.errors import DependencyError
from clgeom.runtime import launch

#: Whether there was one, then the row and column of the cell and of what it read.
COUNT = 5


def trapped(job) -> bool:
    """Whether the reach of a job's equation is only declared."""
    return not job.equation.reach_proven


def new_buffer(job):
    """Memory for the first stray read."""
    buffer = launch.allocate(job.session, 4 * COUNT)
    launch.write(job.session, buffer, np.zeros(COUNT, np.int32))
    return buffer


def raise_first(job, buffer) -> None:
    """Raise `DependencyError` if a cell has read beyond what was declared."""
    found, *places = launch.read(job.session, buffer, np.int32, COUNT).tolist()
    if found:
        cell, read = tuple(places[:2]), tuple(places[2:])
        error = DependencyError(
            f"Cell {cell} of {job.equation.name} reads cell {read}, which is beyond the reach declared for it, "
            f"{job.equation.reach}: {cell} -> {read}."
        )
        error.cell, error.read = cell, read
        raise error
