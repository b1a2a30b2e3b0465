"""Coverage regions by their definition, with plain Python and Shapely: slow, for small rasters."""

from fractions import Fraction

import numpy as np
import shapely

from clgeom.region.coverage.holes import trace, twice_area


def parts_of(mask):
    """Cells of each 8-connected part as (row, column) sets, in order of their first cell by column, then row."""
    left = {(int(c), int(r)) for r, c in np.argwhere(mask)}
    found = []
    while left:
        part, edge = set(), [min(left)]
        left.discard(edge[0])
        while edge:
            c, r = edge.pop()
            part.add((r, c))
            for near in ((c + i, r + j) for i in (-1, 0, 1) for j in (-1, 0, 1)):
                if near in left:
                    left.discard(near)
                    edge.append(near)
        found.append(part)
    return sorted(found, key=lambda part: min((c, r) for r, c in part))


def holes_of(mask):
    """Cells of each 4-connected area that is not set and does not reach the edge, as (row, column) sets."""
    rows, columns = mask.shape
    left = {(int(r), int(c)) for r, c in np.argwhere(~mask)}
    found = []
    while left:
        hole, edge = set(), [left.pop()]
        while edge:
            r, c = edge.pop()
            hole.add((r, c))
            for near in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
                if near in left:
                    left.discard(near)
                    edge.append(near)
        if all(0 < r < rows - 1 and 0 < c < columns - 1 for r, c in hole):
            found.append(hole)
    return found


def boxes(cells):
    """The union of cells as a Shapely geometry in columns and rows."""
    return shapely.union_all([shapely.box(c, r, c + 1, r + 1) for r, c in cells])


def lines_of(cells):
    """{grid line: (lowest, highest corner on it)} of a set of (row, column)."""
    lines = {}
    for r, c in cells:
        for x in (c, c + 1):
            low, high = lines.get(x, (r, r + 1))
            lines[x] = (min(low, r), max(high, r + 1))
    return lines


def segments_of(lines, k, cuts):
    """The lines of each segment that has some."""
    x = sorted(lines)
    if cuts == "count":
        bounds = [i * len(x) // k for i in range(k + 1)]
        groups = [x[a:b] for a, b in zip(bounds, bounds[1:])]
    else:
        first, width = x[0], x[-1] - x[0]
        groups = [[] for _ in range(k)]
        for line in x:
            groups[min(int(Fraction(k * (line - first), width)) if width else 0, k - 1)].append(line)
    return [group for group in groups if group]


def region(cells, k, cuts="count"):
    """The union of the convex hulls of neighbouring segments, and how many segments there are."""
    lines = lines_of(cells)
    groups = segments_of(lines, k, cuts)

    def hull(some):
        return shapely.MultiPoint([(x, y) for x in some for y in lines[x]]).convex_hull

    pairs = list(zip(groups, groups[1:])) or [(groups[0], [])]
    return shapely.union_all([hull([*a, *b]) for a, b in pairs]), len(groups)


def mask_polygons(mask: np.ndarray):
    """The cells of a mask that are set as a valid Shapely MultiPolygon, in columns and rows."""
    rings = trace(mask)
    areas = np.array([twice_area(ring) for ring in rings], np.int64)
    outer = [shapely.geometry.Polygon(rings[i]) for i in np.flatnonzero(areas > 0)]
    if not outer:
        return shapely.geometry.MultiPolygon()
    inner = [rings[i] for i in np.flatnonzero(areas < 0)]
    # a hole is inside the smallest outer ring that contains the middle of one of its cells
    if inner:
        tree = shapely.STRtree(outer)
        middles = shapely.points([_beside(ring) for ring in inner])
        hole, shell = tree.query(middles, predicate="within")
        size = shapely.area(outer)[shell]
        order = np.lexsort((size, hole))
        hole, shell = hole[order], shell[order]
        smallest = np.r_[True, hole[1:] != hole[:-1]]
        own: dict = {}
        for h, s in zip(hole[smallest].tolist(), shell[smallest].tolist()):
            own.setdefault(s, []).append(inner[h])
        outer = [
            shapely.geometry.Polygon(shape.exterior, own[i]) if i in own else shape for i, shape in enumerate(outer)
        ]
    return shapely.geometry.MultiPolygon(outer)


def _beside(ring):
    """The middle of the set cell to the left of the first edge of a ring."""
    along = np.sign(ring[1] - ring[0])
    return ring[0] + 0.5 * along + 0.5 * np.array([-along[1], along[0]])
