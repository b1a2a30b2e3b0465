"""Faces and arcs of strips of a raster, one below the other: what ends at a seam is open until its end is seen.

      | strip   |    lines that end at the seam stay open, with the faces that have cells above it
seam  +---------+    sides between the cells above and below become lines; where two lines meet they are one
      | strip   |    faces of one class above and below are one; a region without cells at the next seam is complete
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.geo.ragged import ranges_of
from clgeom.intake.typing import NDArray
from clgeom.region.classes.arcs import Arcs
from clgeom.region.classes.lines import Lines, as_arcs, chained, faces_of, numbered, united
from clgeom.region.classes.simpler_lines import SimplerLines


@dataclass(frozen=True, eq=False)
class _Faces:
    """Classes, cells and regions of faces; regions have any numbers below that of faces."""

    values: NDArray[Any]
    cells: NDArray[np.int64]
    regions: NDArray[np.int64]


class Seams:
    """Faces and lines that are not complete at the last row so far."""

    def __init__(
        self, rows: int, columns: int, dtype: np.dtype, connectivity: int, simpler: SimplerLines | None = None
    ) -> None:
        self.rows, self.columns, self.connectivity, self.simpler = rows, columns, connectivity, simpler
        none = np.empty(0, np.int64)
        self.faces = _Faces(none.astype(dtype), none, none)
        self.open, self.done = Lines.none(), Lines.none()  # lines that end at the seam, and complete ones at open faces
        self.above = np.full(columns, -1)  # the faces of the cells above the seam
        self.row = 0
        self.counts = np.zeros(3, np.int64)  # of complete lines, of their corners, and of those before simplification

    @property
    def nbytes(self) -> int:
        """The bytes of what is open."""
        lines = self.open.corners.nbytes + self.done.corners.nbytes + 24 * (len(self.open) + len(self.done))
        return lines if self.simpler is None else lines + self.simpler.nbytes

    def add(self, arcs: Arcs, rows: int) -> Iterator[Arcs]:
        """Add the arcs of the next rows; yield the faces of the regions that are complete now."""
        arcs = replace(arcs, values=arcs.values.astype(self.faces.values.dtype, copy=False))
        top, bottom = self.row, self.row + rows
        is_last, self.row = bottom == self.rows, bottom
        seams = [line for line, is_seam in ((top, top > 0), (bottom, not is_last)) if is_seam]
        corners = arcs.corners + np.array([0, top], np.int32)
        lines = Lines(corners, arcs.starts, arcs.left.astype(np.int64), arcs.right.astype(np.int64))
        of = np.repeat(np.arange(len(lines)), np.diff(lines.starts))
        near = np.flatnonzero(np.isin(corners[:, 1], seams))
        along = near[:-1][(np.diff(near) == 1) & (np.diff(of[near]) == 0)]  # edges by their first corners
        along = along[corners[along, 1] == corners[along + 1, 1]]
        cells = {row: self._cells(lines, of, along[corners[along, 1] == row]) for row in seams}
        touching, stays = np.zeros(len(lines), bool), np.zeros(len(arcs.regions), bool)
        touching[of[near]] = True
        for own in cells.values():
            stays[arcs.regions[own[own >= 0]]] = True
        stays = stays[arcs.regions]  # by face
        cut, joints = _cut(lines.some(touching), _free(lines, touching)[touching], seams)
        whole = lines.some(~touching)
        numbers = np.append(np.where(stays, np.cumsum(stays) + len(self.faces.values) - 1, -1), -1)
        faces = _Faces(
            np.append(self.faces.values, arcs.values[stays]),
            np.append(self.faces.cells, arcs.cells[stays]),
            np.append(self.faces.regions, arcs.regions[stays].astype(np.int64) + len(self.faces.values)),
        )
        parts, below = [self.open, cut.beside(numbers)], np.full(self.columns, -1)
        if top:
            parts.append(self._sections(numbers[cells[top]], faces.values, top))
        pool = Lines.joined(*parts)
        behind = np.full(len(pool), -1)
        behind[joints[:, 0] + len(self.open)] = joints[:, 1] + len(self.open)
        if top:
            _join(pool, behind, top)
        pool = chained(pool, behind)
        ends = np.stack([pool.first, pool.last])[:, :, 1]
        is_open = (ends == bottom).any(axis=0) & (not is_last)
        new, still = pool.some(~is_open), pool.some(is_open)
        exact = len(new.corners) + len(whole.corners)
        if self.simpler is not None:
            self.simpler.see(corners[~np.isin(corners[:, 1], seams)], pool.corners[pool.corners[:, 1] == top])
            new, whole = self.simpler.simplified(new, whole)
            self.simpler.forget(still, bottom)
        self.counts += len(new) + len(whole), len(new.corners) + len(whole.corners), exact
        if not stays.all():
            yield _settled(arcs, whole, np.flatnonzero(~touching), ~stays, (1, self.rows, self.columns))
        whole = whole.beside(numbers)
        new = Lines.joined(new, whole.some((whole.left >= 0) | (whole.right >= 0)))
        done = self.done
        if bottom in cells:
            below = numbers[cells[bottom]]
        if top:
            faces, roots = self._unite(faces, numbers[cells[top]])
            new, still, done, below = new.beside(roots), still.beside(roots), done.beside(roots), roots[below]
        yield self._divide(faces, Lines.joined(done, new), still, below)

    def _cells(self, lines: Lines, of: NDArray[Any], edges: NDArray[Any]) -> NDArray[np.int64]:
        """Return the face of each cell along a seam, by the edges of arcs there; -1 without data."""
        a, b = lines.corners[edges, 0], lines.corners[edges + 1, 0]
        found = np.full(self.columns, -1)
        low, high = np.minimum(a, b), np.maximum(a, b)
        cells, _ = ranges_of(np.append(0, np.cumsum(high - low)), np.arange(len(edges)))
        sizes = high - low
        found[np.repeat(low - np.cumsum(sizes) + sizes, sizes) + cells] = np.repeat(lines.left[of[edges]], sizes)
        return found

    def _sections(self, below: NDArray[np.int64], values: NDArray[Any], row: int) -> Lines:
        """Return the sides between classes along the seam, from each corner where a line may end to the next."""
        above = self.above
        if not len(values):
            return Lines.none()
        high, low = values[above], values[below]
        is_side = ((above < 0) != (below < 0)) | ((above >= 0) & (below >= 0) & (high != low))
        changes = (np.diff(above, prepend=-2) != 0) | (np.diff(below, prepend=-2) != 0)
        begins = np.flatnonzero(changes)
        ends = np.append(begins[1:], self.columns)
        begins, ends = begins[is_side[begins]], ends[is_side[begins]]
        over, under = above[begins], below[begins]
        forward = (under >= 0) & ((over < 0) | (low[begins] < high[begins]))  # along +x the cell below is at the left
        corners = np.empty((len(begins), 2, 2), np.int32)
        corners[:, :, 1] = row
        corners[:, 0, 0], corners[:, 1, 0] = np.where(forward, begins, ends), np.where(forward, ends, begins)
        left, right = np.where(forward, under, over), np.where(forward, over, under)
        return Lines(corners.reshape(-1, 2), 2 * np.arange(len(begins) + 1), left, right)

    def _unite(self, faces: _Faces, below: NDArray[np.int64]) -> tuple[_Faces, NDArray[np.int64]]:
        """Unite faces of one class at both sides of the seam; return them and their new numbers, -1 for the last."""
        above, values, count = self.above, faces.values, len(faces.values)

        def pairs(one: NDArray[Any], other: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
            known = (one >= 0) & (other >= 0)
            one, other = one[known], other[known]
            same = values[one] == values[other]
            return one[same], other[same]

        one, other = pairs(above, below)
        roots = united(count, one, other)
        if self.connectivity == 8:
            for a, b in (pairs(above[:-1], below[1:]), pairs(above[1:], below[:-1])):
                one, other = np.append(one, a), np.append(other, b)
        region_roots = united(int(faces.regions.max(initial=-1)) + 1, faces.regions[one], faces.regions[other])
        is_root = roots == np.arange(count)
        numbers = np.cumsum(is_root)[roots] - 1
        cells = np.bincount(numbers, faces.cells, minlength=0).astype(np.int64)
        made = _Faces(values[is_root], cells, region_roots[faces.regions][is_root])
        return made, np.append(numbers, -1)

    def _divide(self, faces: _Faces, done: Lines, still: Lines, below: NDArray[np.int64]) -> Arcs:
        """Keep the regions that have cells above the next seam; return the others."""
        region = numbered(faces.regions)
        is_open = np.zeros(len(region), bool)
        is_open[region[below[below >= 0]]] = True  # by region
        stays = is_open[region]
        numbers = np.append(np.where(stays, np.cumsum(stays) - 1, -1), -1)
        gone = np.append(np.where(stays, -1, np.cumsum(~stays) - 1), -1)
        left, right = np.append(stays, False)[done.left], np.append(stays, False)[done.right]
        is_ready = ((done.left >= 0) & ~left) | ((done.right >= 0) & ~right)
        ready = done.some(is_ready).beside(gone)
        self.faces = _Faces(faces.values[stays], faces.cells[stays], numbered(region[stays]))
        self.done, self.open, self.above = (
            done.some(left | right).beside(numbers),
            still.beside(numbers),
            numbers[below],
        )
        shape = (1, self.rows, self.columns)
        return faces_of(ready, faces.values[~stays], faces.cells[~stays], region[~stays], shape)


def _settled(arcs: Arcs, lines: Lines, own: NDArray[np.int64], chosen: NDArray[np.bool_], shape: Any) -> Arcs:
    """Return some faces of a strip, of whole regions, with the lines around them: arcs of the numbers `own`."""
    lines = lines.beside(np.append(np.where(chosen, np.cumsum(chosen) - 1, -1), -1))
    kept = (lines.left >= 0) | (lines.right >= 0)
    numbers = np.full(len(arcs), -1, np.int32)
    numbers[own[kept]] = np.arange(kept.sum())
    lines = lines.some(kept)
    rings, face_rings = ranges_of(arcs.face_rings, np.flatnonzero(chosen))
    some, ring_starts = ranges_of(arcs.ring_starts, rings)
    halves = arcs.ring_arcs[some]
    ring_arcs = np.where(halves < 0, ~numbers[~halves], numbers[halves])
    faces = arcs.values[chosen], arcs.cells[chosen], arcs.regions[chosen]
    return as_arcs(shape, lines, *faces, face_rings, ring_starts, ring_arcs)


def _free(lines: Lines, touching: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of the touching lines are closed and meet no other line where they begin."""
    first, last = (one[:, 1].astype(np.int64) << 32 | one[:, 0] for one in (lines.first, lines.last))
    closed = np.flatnonzero(touching & (first == last))
    places, number = np.unique(first[closed], return_inverse=True)
    counts = np.zeros(len(places) + 1, np.int64)
    for keys in (first, last):
        at = np.searchsorted(places, keys)
        counts += np.bincount(at[np.append(places, -1)[at] == keys], minlength=len(counts))
    found = np.zeros(len(lines), bool)
    found[closed] = counts[number.reshape(-1)] == 2
    return found


def _join(pool: Lines, behind: NDArray[np.int64], row: int) -> None:
    """Join lines of which only two end at a corner of the seam."""
    first, last = pool.first, pool.last
    out, into = np.flatnonzero(first[:, 1] == row), np.flatnonzero(last[:, 1] == row)
    counts = np.bincount(np.append(first[out, 0], last[into, 0]))
    out, into = out[counts[first[out, 0]] == 2], into[counts[last[into, 0]] == 2]
    behind[into[np.argsort(last[into, 0])]] = out[np.argsort(first[out, 0])]


def _cut(lines: Lines, is_free: NDArray[np.bool_], seams: list[int]) -> tuple[Lines, NDArray[np.int64]]:
    """Return the parts of lines without their edges along seams, and pairs of parts that follow each other.

    A closed line that meets no other one has its last part before its first.
    """
    count = len(lines.corners)
    of = np.repeat(np.arange(len(lines)), np.diff(lines.starts))
    y = lines.corners[:, 1]
    is_kept = (of[:-1] == of[1:]) & ~((y[:-1] == y[1:]) & np.isin(y[:-1], seams)) if count else np.zeros(0, bool)
    edge = np.flatnonzero(is_kept)
    # a part ends where the next edge does not follow, at a seam or at the end of a line
    begins = np.flatnonzero(np.append(True, (np.diff(edge) != 1))) if len(edge) else edge
    first, last = edge[begins], np.append(edge[begins[1:] - 1], edge[-1:]) + 1 if len(edge) else edge
    sizes = last - first + 1
    starts = np.append(0, np.cumsum(sizes))
    own = np.arange(starts[-1]) + np.repeat(first - starts[:-1], sizes)
    part_of = of[first]
    parts = Lines(lines.corners[own], starts, lines.left[part_of], lines.right[part_of])
    free = np.flatnonzero(is_free)
    head = np.searchsorted(first, lines.starts[:-1][free])
    tail = np.searchsorted(last, lines.starts[1:][free] - 1)
    inside = (head < len(first)) & (tail < len(last))
    free, head, tail = free[inside], head[inside], tail[inside]
    joined = (first[head] == lines.starts[:-1][free]) & (last[tail] == lines.starts[1:][free] - 1)
    return parts, np.stack([tail[joined], head[joined]], axis=1)
