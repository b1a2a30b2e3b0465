"""A certificate for hulls of many points, which looks at every point once and decides by exact signs."""

from __future__ import annotations

import numpy as np

import clgeom


def certify(points, vertices) -> None:
    """Assert that these indices are the hull's vertices, in order, by conditions that only one sequence meets.

    They increase lexicographically from the smallest point to the largest and decrease back, turn left everywhere, and
    no point is below the lower chain or above the upper one. Signs are those of `clgeom.orient2d`, which are exact.
    """
    points, vertices = np.asarray(points), np.asarray(vertices)
    order = np.lexsort((points[:, 1], points[:, 0]))
    ordered = points[order]
    is_new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    rank = np.empty(len(points), np.int64)  # of a point's position among the distinct ones
    rank[order] = np.cumsum(is_new) - 1
    ranks, last = rank[vertices], int(is_new.sum()) - 1
    assert (order[is_new][ranks] == vertices).all(), "a vertex has a twin of lower index"
    turn = int(np.argmax(ranks))
    assert ranks[0] == 0 and ranks[turn] == last, "an extreme point is no vertex"
    if len(vertices) <= 2:
        assert len(vertices) == min(last + 1, 2)
        assert not clgeom.orient2d(points[vertices[0]], points[vertices[-1]], points).any(), "points beside the line"
        return
    turns = clgeom.orient2d(points[np.roll(vertices, 1)], points[vertices], points[np.roll(vertices, -1)])
    assert (turns > 0).all(), "not convex"
    back = np.append(vertices[:1], vertices[: turn - 1 : -1])
    for chain, inner in ((vertices[: turn + 1], 1), (back, -1)):
        at = rank[chain]
        assert (np.diff(at) > 0).all(), "a chain is not monotone"
        edge = np.clip(np.searchsorted(at, rank, side="right") - 1, 0, len(chain) - 2)
        sides = clgeom.orient2d(points[chain[edge]], points[chain[edge + 1]], points)
        assert (inner * sides >= 0).all(), "a point is outside"
