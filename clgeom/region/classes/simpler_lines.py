"""Simplification of the lines of strips as they become complete: the same as that of all arcs of a raster at once.

A line is complete after all lines that end no deeper, and all exact corners in its rows are known then.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clgeom.intake.typing import NDArray
from clgeom.region.classes.lines import Lines
from clgeom.region.classes.simplify import Obstacles, Vertices, distinct, least_lines


class SimplerLines:
    """The corners and nodes that lines to come may have to do with."""

    def __init__(self, rows: int, columns: int, tolerance: float, boundary: bool) -> None:
        self.rows, self.columns, self.tolerance, self.boundary = rows, columns, tolerance, boundary
        self.places = np.empty(0, np.int64)  # of exact corners, in order
        self.begin = self.end = self.places  # nodes of complete lines that may have an open one beside them

    @property
    def nbytes(self) -> int:
        return self.places.nbytes + 2 * self.begin.nbytes

    def _places(self, corners: NDArray[np.int32]) -> NDArray[np.int64]:
        return corners[:, 1].astype(np.int64) * (self.columns + 1) + corners[:, 0]

    def see(self, *corners: NDArray[np.int32]) -> None:
        """Add exact corners, all below those before."""
        self.places = np.append(self.places, distinct(self._places(np.concatenate(corners))))

    def simplified(self, *parts: Lines) -> list[Lines]:
        """Return lines that are complete now with fewer corners."""
        lines = Lines.joined(*parts)
        if not len(lines):
            return list(parts)
        kept = (lines.right < 0) & (not self.boundary)
        work = Vertices(lines.corners, lines.starts, kept, self.rows, self.columns, self.tolerance)
        begin, end, depth = work.ends
        old = len(self.begin)
        depth = np.append(np.full(old, -2), depth)  # less than that of all new ones
        self.begin, self.end = np.append(self.begin, begin), np.append(self.end, end)
        straight = least_lines(self.begin, self.end, depth)
        work.least[straight[straight >= old] - old] = 1
        work.simplify(Obstacles(self.places))
        corners, starts = work.made()
        made = replace(lines, corners=corners, starts=starts)
        number = np.repeat(np.arange(len(parts)), [len(one) for one in parts])
        return [made.some(number == k) for k in range(len(parts))]

    def forget(self, still: Lines, row: int) -> None:
        """Keep what the open lines may have to do with, whose other ends are at a seam."""
        least = min(row, int(still.corners[:, 1].min(initial=row)))
        self.places = self.places[np.searchsorted(self.places, least * (self.columns + 1)) :]
        ends = np.concatenate([still.first, still.last])
        nodes = np.unique(self._places(ends[ends[:, 1] < row]))
        kept = np.isin(self.begin, nodes) & np.isin(self.end, nodes)
        self.begin, self.end = self.begin[kept], self.end[kept]
