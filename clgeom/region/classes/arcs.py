"""Arcs: the lines between the classes of a raster, each once, and the faces and rings that they bound.

  0   1   2   3        corners of cells have the coordinates (column, row)
0 +---+---+---+
  | 7   7 | 2 |        a node is a corner where three or four sides of cells between classes meet: (2, 0), (2, 1) ..
1 +   +---+---+        an arc goes along such sides from node to node, or is closed if it meets none
  | 7 | 2   2 |        a face is a connected piece of one class: cells that share sides
2 +---+---+---+        a ring goes along arcs, forwards or backwards, with a face at its left
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Arcs:
    """The arcs between the classes of rasters along their cells, with faces and rings; independent of the device.

    A ring has its face at the left where +x turns to +y by a left turn: with rows downward that is the right hand. So
    an exterior ring has a positive area by the shoelace formula in columns and rows, a hole a negative one. An arc is
    directed so that the smaller class is at its left; cells without data, and all outside the raster, come after all
    classes. So `left` is always a face, and rings go forwards along the arcs with their face at `left`, backwards
    along those with their face at `right`.

    Arcs between nodes come first, by layer, row and column of their first node, and then by direction: +x, +y, -x,
    -y. Closed arcs follow, by layer and their first corner: the leftmost of the topmost ones. Faces are in the order
    of their first cells, by layer, row and column. The exterior is the first ring of a face; its holes are in the
    order of their least arcs. A ring begins with its least arc. No ring passes a corner twice: where one face has
    both cells of a diagonal, rings cross over; so every face is a valid polygon.

    Attributes
    ----------
    shape : tuple of int
        Layers, rows and columns of the raster.
    corners : ndarray, shape (m, 2), int32
        Column and row of the corners of all arcs, one after another. An arc has its first and its last corner, which
        are equal in a closed one, and those between where it turns.
    starts : ndarray, shape (number of arcs + 1,), int64
        The first corner of each arc.
    left, right : ndarray, shape (number of arcs,), int32
        The faces at both sides; `right` is -1 outside the raster and at cells without data.
    values : ndarray, shape (number of faces,), the type of the raster
        The class of each face.
    layers : ndarray, shape (number of faces,), int32
    cells : ndarray, shape (number of faces,), int64
        The number of cells of each face.
    regions : ndarray, shape (number of faces,), int32
        The region of each face, in the order of their first faces. With 4-connection each face is one; with
        8-connection faces of one class that share a corner belong together, as a valid multipolygon.
    face_rings : ndarray, shape (number of faces + 1,), int64
        The first ring of each face.
    ring_starts : ndarray, shape (number of rings + 1,), int64
        The first of `ring_arcs` of each ring.
    ring_arcs : ndarray, int32
        The arcs of all rings in order: the number of an arc that is passed forwards, and ``~number`` of one backwards.
    """

    shape: tuple[int, int, int]
    corners: np.ndarray
    starts: np.ndarray
    left: np.ndarray
    right: np.ndarray
    values: np.ndarray
    layers: np.ndarray
    cells: np.ndarray
    regions: np.ndarray
    face_rings: np.ndarray
    ring_starts: np.ndarray
    ring_arcs: np.ndarray

    def __len__(self) -> int:
        """Return the number of arcs."""
        return len(self.left)

    def ring_corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the corners of all rings, shape (n, 2), and the first of each ring, with an end.

        The first corner of a ring is not repeated at its end. Rings have all corners of their arcs, so also nodes where
        they go straight on.
        """
        arcs = np.where(self.ring_arcs < 0, ~self.ring_arcs, self.ring_arcs)
        sizes = np.diff(self.starts)[arcs] - 1  # the last corner of an arc is the first one of the next
        begins = np.append(0, np.cumsum(sizes))
        steps = np.repeat(np.where(self.ring_arcs < 0, -1, 1), sizes)
        first = np.where(self.ring_arcs < 0, self.starts[arcs + 1] - 1, self.starts[arcs])
        within = np.arange(begins[-1]) - np.repeat(begins[:-1], sizes)
        return self.corners[np.repeat(first, sizes) + steps * within], begins[self.ring_starts]


def no_arcs(shape: tuple[int, int, int], dtype: np.dtype) -> Arcs:
    """Return the arcs of a raster without a face."""
    none, start = np.empty(0, np.int32), np.zeros(1, np.int64)
    corners, values, cells = none.reshape(0, 2), none.astype(dtype), none.astype(np.int64)
    return Arcs(shape, corners, start, none, none, values, none, cells, none, start, start, none)
