"""Whether a rival found the same hull as ours."""

from __future__ import annotations

import numpy as np

#: A rival may leave out, or keep, a vertex that is so many units of its rounding, of the extent, from an edge.
UNITS = 64


def ring_of(package: str, found, points) -> np.ndarray:
    """The vertices, as coordinates in order, of a hull that a package found."""
    if package == "scipy":
        return points[found.vertices]
    if package == "shapely":
        return np.asarray(found.exterior.coords)[:-1] if found.geom_type == "Polygon" else np.empty((0, 2))
    return np.asarray(found).reshape(-1, 2)  # cv2


def check_hull(ring, hull, points, what: str, *, eps: float) -> None:
    """Check that `ring` is the hull of `points` whose certified vertices are `hull`, up to rotation and direction.

    A package that computes in floats of relative precision `eps` may miss vertices, or keep points, next to an edge:
    then its ring must go once around, through points only, and no vertex of one may be farther than `UNITS` roundings
    from the edges of the other.
    """
    ring, hull = (_forward(np.asarray(one, np.float64)) for one in (ring, hull))
    if np.array_equal(ring, hull):
        return
    assert len(ring) > 2 and len(hull) > 2, f"{what} has a hull of {len(ring)} vertices, not {len(hull)}"
    known = {tuple(point) for point in ring}
    given = np.ascontiguousarray(points, np.float64).view(np.complex128).ravel()
    assert len(known) == len(ring), f"{what} has a vertex twice"
    assert np.isin(ring.view(np.complex128).ravel(), given).all(), f"{what} has a vertex that is no point"
    extent = float(np.ptp(hull, axis=0).max())
    for one, other in ((ring, hull), (hull, ring)):
        far = _beyond(one, other, what)
        assert far <= UNITS * eps * extent, f"{what} has another hull: a vertex is {far:.3g} from it"


def _forward(ring):
    """A ring counter-clockwise from its smallest vertex."""
    if not len(ring):
        return ring
    x, y = (ring - ring[0]).T
    if np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) < 0:
        ring = ring[::-1]
    return np.ascontiguousarray(np.roll(ring, -np.lexsort((ring[:, 1], ring[:, 0]))[0], axis=0))


def _beyond(vertices, ring, what) -> float:
    """The largest distance of vertices from the edges of a ring, seen from a place within both."""
    inside = ring.mean(axis=0)
    angles = np.unwrap(np.arctan2(*(ring - inside).T[::-1]))
    once = (np.diff(angles) > -1e-12).all() and angles[-1] - angles[0] < 2 * np.pi
    assert once, f"{what} has a hull that does not go once around"
    angles = np.maximum.accumulate(angles)
    seen = np.arctan2(*(vertices - inside).T[::-1])
    seen += 2 * np.pi * np.ceil((angles[0] - seen) / (2 * np.pi))  # from the first of the ring's angles on
    at = np.searchsorted(angles, seen, side="right") - 1
    begin, end = ring[at], ring[(at + 1) % len(ring)]
    along, aside = end - begin, vertices - begin
    lengths = np.hypot(*along.T)
    return float(np.abs((along[:, 0] * aside[:, 1] - along[:, 1] * aside[:, 0]) / lengths).max())
