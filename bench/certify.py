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


def certify_all(groups, vertices, offsets, block=2000) -> None:
    """Assert that indices are the vertices of the hulls of groups of equal size without twins, by exact signs.

    `groups` has shape (hulls, points, 2), and indices are those of the points of all groups. No point is right of an
    edge, every turn is to the left and no vertex is there twice, so each ring goes once around all points of its group.
    """
    count, size, _ = groups.shape
    points = groups.reshape(-1, 2)
    lengths = np.diff(offsets)
    assert len(offsets) == count + 1 and (lengths > 2).all() and offsets[-1] == len(vertices), "not a hull for each"
    owner = np.repeat(np.arange(count), lengths)
    assert (vertices // size == owner).all() and len(np.unique(vertices)) == len(vertices), "vertices of other groups"
    following = np.arange(1, len(vertices) + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    begin, end = vertices, vertices[following]
    assert (clgeom.orient2d(points[begin], points[end], points[end[following]]) > 0).all(), "not convex"
    for first in range(0, len(vertices), block):
        part = slice(first, first + block)
        ends = (np.repeat(points[one[part]], size, axis=0) for one in (begin, end))
        inside = clgeom.orient2d(*ends, groups[owner[part]].reshape(-1, 2)) >= 0
        assert inside.all(), "a point is outside"
    firsts = vertices[offsets[:-1]] - size * np.arange(count)
    least = [np.lexsort((group[:, 1], group[:, 0]))[0] for group in groups]
    assert (firsts == least).all(), "a ring begins elsewhere"
