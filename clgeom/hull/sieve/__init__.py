"""Convex hulls by a sieve: a sample of the points, a sieve made from it, hulls of the points that the sieve keeps.

This module has what the others share: lists of ids on the device, whose lengths the host does not know, and the memory
of a sieve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clgeom.core.plan import Scratch

#: Bins of x of a sieve.
BINS = 2048
#: Slots of sizes: the lengths of the lists, and whether a point is nonfinite.
KEPT, SAMPLED, HULLS, HULLS_OF_HULLS, LOWER, UPPER, NONFINITE = range(7)
SIZES = 8
#: Header records before those of vertices: number of lower vertices, of upper vertices, whether a point is nonfinite,
#: number of points that the sieve kept.
HEADER = 4


@dataclass(frozen=True)
class List:
    """A list of ids of points and its capacity. Its length is on the device, in a slot of sizes."""

    name: str
    room: int
    slot: int

    @property
    def ids(self) -> Scratch:
        return Scratch(self.name, np.uint32, self.room)

    @property
    def arguments(self) -> tuple[Scratch, np.uint32, np.uint32]:
        """Arguments of kernels that read the list."""
        return self.ids, np.uint32(self.slot), np.uint32(self.room)


def sieve_memory() -> tuple[Scratch, Scratch]:
    """Memory for the frame of a sieve and for the bounds of its bins."""
    return Scratch("frame", np.uint64, 16), Scratch("bounds", np.float32, 2 * BINS)


def vertex_type(dtype: np.dtype) -> np.dtype:
    """Type of the record that kernels write for a vertex."""
    return np.dtype([("x", dtype), ("y", dtype), ("id", np.uint32)], align=True)
