"""Named point distributions. Each is a function (rng, n, dtype) -> (n, 2) array; `cloud(name, n, dtype)` is seeded."""

import zlib

import numpy as np

from clgeom.conformance.families import (
    extremes_of_type,
    far_from_origin,
    huge,
    lattice_edges,
    mixed_magnitudes,
    near_line,
    parabola,
    signed_zeros,
    small,
    tiny,
)

DTYPES = (np.float32, np.float64, np.int32)
INT32 = np.iinfo(np.int32)


def cloud(name, n, dtype, seed=0) -> np.ndarray:
    """The named cloud of n points: always the same for the same arguments."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng([zlib.crc32(f"{name} {dtype.name}".encode()), n, seed])
    points = CLOUDS[name](rng, n, dtype)
    assert points.shape == (n, 2) and points.dtype == dtype
    return np.ascontiguousarray(points)


def _as(points, dtype, scale=2.0**30):
    """Points of the unit square or circle in this type; int32 ones are scaled up, rounded and clipped."""
    if np.dtype(dtype).kind == "i":
        points = np.clip(np.rint(np.asarray(points) * scale), INT32.min, INT32.max)
    return np.asarray(points).astype(dtype)


def _polar(radius, angle):
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def _angles(rng, n):
    return rng.uniform(0, 2 * np.pi, n)


def square(rng, n, dtype):
    return _as(rng.random((n, 2)), dtype, 2.0**31)


def disc(rng, n, dtype):
    return _as(_polar(np.sqrt(rng.random(n)), _angles(rng, n)), dtype)


def circle(rng, n, dtype):
    return _as(_polar(1.0, _angles(rng, n)), dtype, 2.0**31)


def circle_noise(rng, n, dtype):
    """Radius 1 with 2 % noise."""
    return _as(_polar(rng.uniform(0.98, 1.02, n), _angles(rng, n)), dtype)


def normal(rng, n, dtype):
    return _as(rng.normal(size=(n, 2)), dtype, 1e6)


def kuzmin(rng, n, dtype):
    """Heavy tails: few points lie very far out."""
    return _as(_polar(np.sqrt((1 - rng.random(n)) ** -2.0 - 1), _angles(rng, n)), dtype, 1e4)


def grid(rng, n, dtype):
    """Integer lattice, shuffled: four corners, many collinear points, ties in every direction."""
    side = max(int(np.ceil(np.sqrt(n))), 1)
    return rng.permutation(np.stack(np.divmod(np.arange(n), side), axis=1)).astype(dtype)


def line(rng, n, dtype):
    """All exactly on y = 3 x + 1, duplicates among them."""
    x = rng.integers(-(1 << 20), 1 << 20, n)
    return np.stack([x, 3 * x + 1], axis=1).astype(dtype)


def vertical(rng, n, dtype):
    points = _as(rng.random((n, 2)), dtype)
    points[:, 0] = points[:1, 0]
    return points


def horizontal(rng, n, dtype):
    return vertical(rng, n, dtype)[:, ::-1]


def duplicates(rng, n, dtype):
    """A tenth of the points, ten times over."""
    return square(rng, max(n // 10, 1), dtype)[rng.integers(0, max(n // 10, 1), n)]


def one_point(rng, n, dtype):
    return np.repeat(_as(rng.random((1, 2)), dtype), n, axis=0)


def clusters(rng, n, dtype):
    centres = rng.random((5, 2))
    return _as(centres[rng.integers(0, 5, n)] + rng.normal(scale=1e-3, size=(n, 2)), dtype)


def spiral(rng, n, dtype):
    t = np.arange(n) / max(n, 1)
    return _as(_polar(t, 2.399963 * np.arange(n)), dtype)


def octagon_edges(rng, n, dtype):
    """On the edges of the octagon of the extreme points, rounded, and one step of the format off them."""
    corners = np.array(
        [(1, 0.1), (0.8, 0.75), (0.1, 1), (-0.7, 0.8), (-1, -0.1), (-0.75, -0.8), (0.05, -1), (0.7, -0.8)]
    )
    edge, t = rng.integers(0, 8, n), rng.integers(0, 65, (n, 1)) / 64  # the corners themselves among them
    points = _as(corners[edge] * (1 - t) + np.roll(corners, -1, axis=0)[edge] * t, dtype)
    step = rng.integers(-1, 2, (n, 2)) * ((t > 0) & (t < 1))
    if np.dtype(dtype).kind == "i":
        return points + step.astype(dtype)
    return np.where(step == 0, points, np.nextafter(points, (np.sign(step) * 2).astype(dtype)))


def three_positions(rng, n, dtype):
    return _as(np.array([(0.25, 0.5), (0.5, 0.25), (0.75, 1)])[rng.integers(0, 3, n)], dtype)


def lattice_star(rng, n, dtype):
    """On lines of small slopes through one point."""
    directions = np.array([(1, 0), (0, 1), (1, 1), (-1, 1), (1, 2), (2, 1), (-1, 3), (5, 3)])
    return (directions[rng.integers(0, 8, n)] * rng.integers(-50, 51, (n, 1))).astype(dtype)


def lexsorted(rng, n, dtype):
    points = normal(rng, n, dtype)
    return points[np.lexsort((points[:, 1], points[:, 0]))]


def reverse_sorted(rng, n, dtype):
    return lexsorted(rng, n, dtype)[::-1]


CLOUDS = {
    f.__name__: f
    for f in (
        square,
        disc,
        circle,
        circle_noise,
        normal,
        kuzmin,
        grid,
        line,
        near_line,
        vertical,
        horizontal,
        duplicates,
        one_point,
        clusters,
        huge,
        tiny,
        small,
        mixed_magnitudes,
        extremes_of_type,
        parabola,
        spiral,
        lattice_edges,
        octagon_edges,
        three_positions,
        lattice_star,
        signed_zeros,
        far_from_origin,
        lexsorted,
        reverse_sorted,
    )
}
