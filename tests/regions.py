"""Adaptive regions of points, as tests compare them with their definition."""

import numpy as np

from clgeom.core.policies import Policy

BLOCKS, JOIN, LOCAL = "region/arc/arc_hulls_blocks", "region/arc/arc_join", "region/arc/arc_hulls_local"

WIDE, FUSED, PLACE = "region/arc/arc_tangents_wide", "region/arc/arc_outline_local", "region/arc/arc_place"
OFFSETS = "region/arc/arc_tile_offsets"

#: Tiles of 16 candidates and groups of 4 and 8 items, so that few points go through every path.
FEW = Policy("group", 4)

SMALL = {BLOCKS: Policy("group", 8, 2), JOIN: FEW, LOCAL: Policy("group", 4, 6), WIDE: FEW}

#: The same, and short segments from candidates to vertices in one kernel; in tiles of 2 segments, or of 30, whose
#: vertices are counted by groups of 8.
SHAPES = (
    {},
    SMALL,
    *(
        {**SMALL, FUSED: Policy("group", wg_size), OFFSETS: Policy("group", 8), PLACE: Policy("group", 4, 2)}
        for wg_size in (4, 32)
    ),
)


def in_order(points):
    return points[np.lexsort((points[:, 1], points[:, 0]))]


def same(a, b):
    """Bit for bit the same chains."""
    return (a.lower.tobytes(), a.upper.tobytes(), a.segments) == (
        b.lower.tobytes(),
        b.upper.tobytes(),
        b.segments,
    )


def comb(n):
    x = np.arange(n)
    return np.stack([x, np.where(x % 2, 100 + x % 7, 3)], axis=1)
