"""Families of points that aim at one weakness of implementations of convex hulls each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from clgeom.intake.typing import NDArray

Points: TypeAlias = NDArray[Any]
Type: TypeAlias = np.dtype[Any]
INT32 = np.iinfo(np.int32)


def _is_int(dtype: Type) -> bool:
    return dtype.kind == "i"


def _of_unit(points: Any, dtype: Type, scale: float = 2.0**30) -> Points:
    """Return points of about the unit square in this type; int32 ones are scaled up, rounded and clipped."""
    if _is_int(dtype):
        points = np.clip(np.rint(np.asarray(points) * scale), INT32.min, INT32.max)
    return np.asarray(points, dtype)


def _polar(radius: Any, angle: Any) -> Points:
    points: Points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points


def _nudged(points: Points, steps: Any) -> Points:
    """Return points moved by these numbers of steps of their number format."""
    steps = np.broadcast_to(steps, points.shape)
    if _is_int(points.dtype):
        moved: NDArray[np.int64] = np.clip(points.astype(np.int64) + steps, INT32.min, INT32.max)
        return moved.astype(points.dtype)
    for _ in range(int(np.abs(steps).max(initial=0))):
        towards = np.where(steps > 0, np.inf, -np.inf).astype(points.dtype)
        points = np.where(steps == 0, points, np.nextafter(points, towards))
        steps = steps - np.sign(steps)
    return points


def classroom(rng: Generator, n: int, dtype: Type) -> Points:
    """Return a few steps about a point of the line through (12, 12) and (24, 24), and those two.

    Kettner, Mehlhorn, Pion, Schirra, Yap, "Classroom examples of robustness problems in geometric computations",
    Comput. Geom. 40 (2008).
    """
    base = np.array([24, 24] if _is_int(dtype) else [0.5, 0.5], dtype)
    points = _nudged(np.repeat(base[None], n, axis=0), rng.integers(0, 8, (n, 2)))
    ends = np.array([(12, 12), (24, 24), (25, 25)], dtype)
    points[: min(n, 3)] = ends[: min(n, 3)]
    return points


def near_line(rng: Generator, n: int, dtype: Type) -> Points:
    """On y = x, or one step of the number format beside it."""
    x = _of_unit(rng.uniform(0.5, 24, n), dtype, 1e6)
    return np.stack([x, _nudged(x[:, None], rng.integers(-1, 2, (n, 1)))[:, 0]], axis=1)


def nearly_round(rng: Generator, n: int, dtype: Type) -> Points:
    """On a circle, but for a step of the number format: nearly all are vertices or nearly so."""
    return _nudged(_of_unit(_polar(1.0, rng.uniform(0, 2 * np.pi, n)), dtype), rng.integers(-1, 2, (n, 2)))


def chord_huggers(rng: Generator, n: int, dtype: Type) -> Points:
    """Sampled points on a circle, the others next to the chords between them, some steps inside or outside."""
    stride = max(n // 1024, 1)
    ring = max(min(-(-n // stride), 97), 3)
    angle = 2 * np.pi * np.arange(ring + 1) / ring
    corners = _of_unit(_polar(1.0, angle), dtype).astype(float)
    edge, share = rng.integers(0, ring, n), rng.random((n, 1)) * rng.choice([1, 1e-3], (n, 1))
    middle = corners[edge] * (1 - share) + corners[edge + 1] * share
    off = 1 + rng.choice([-1, 1], (n, 1)) * 2.0 ** -rng.integers(16, 54, (n, 1))
    points: Points = (middle * off).astype(dtype)
    sampled = np.arange(0, n, stride)
    points[sampled] = corners[np.arange(len(sampled)) % ring]
    return points


def lattice_edges(rng: Generator, n: int, dtype: Type) -> Points:
    """On the boundary of a lattice polygon, with edges in sixteen directions and many points on each."""
    ring, at = [], np.array([-3, -8])
    half = np.array([(1, 0), (2, 1), (1, 1), (1, 2), (0, 1), (-1, 2), (-1, 1), (-2, 1)])
    for step in (*half, *-half):
        for _ in range(5):
            ring.append(at)
            at = at + step
    return np.array(ring)[rng.integers(0, len(ring), n)].astype(dtype)


def parabola(rng: Generator, n: int, dtype: Type) -> Points:
    """Integers on y = x^2, shuffled: every distinct point is a vertex."""
    x = (np.arange(n) - n // 2) % 92681 - 46340 if n > 92681 else np.arange(n) - n // 2
    x = np.clip(x, -46340, 46340)
    return rng.permutation(np.stack([x, x * x], axis=1)).astype(dtype)


def repeated_extremes(rng: Generator, n: int, dtype: Type) -> Points:
    """Return a few corners many times over, among points inside: of equal points any may come first."""
    corners = _of_unit(_polar(1.0, np.arange(9)), dtype)
    inside = _of_unit(_polar(0.9 * np.sqrt(rng.random(n)), rng.uniform(0, 2 * np.pi, n)), dtype)
    return np.where(rng.random((n, 1)) < 0.5, corners[rng.integers(0, 9, n)], inside)


def equal_x(rng: Generator, n: int, dtype: Type) -> Points:
    """Only a handful of different x: hoods begin and end with vertical edges."""
    points = _of_unit(rng.random((n, 2)), dtype)
    points[:, 0] = _of_unit(np.arange(5) / 8, dtype)[rng.integers(0, 5, n)]
    return points


def signed_zeros(rng: Generator, n: int, dtype: Type) -> Points:
    """Signed zeros beside ones: -0.0 and 0.0 are one position."""
    return rng.choice(np.array([-0.0, 0.0, 1, -1], dtype), (n, 2), p=[0.4, 0.4, 0.1, 0.1])


def far_from_origin(rng: Generator, n: int, dtype: Type) -> Points:
    """Small integers beside a large offset, where the format has no finer steps left."""
    offset = {"float32": 2**23, "float64": 2**52, "int32": 2**30}[dtype.name]
    return (offset + rng.integers(-30, 31, (n, 2))).astype(dtype)


def huge(rng: Generator, n: int, dtype: Type) -> Points:
    """Near the largest numbers: every difference and sum may overflow."""
    if _is_int(dtype):
        return rng.integers(INT32.min, INT32.max, (n, 2), dtype=np.int32, endpoint=True)
    return (rng.uniform(-1, 1, (n, 2)) * float(np.finfo(dtype).max)).astype(dtype)


def tiny(rng: Generator, n: int, dtype: Type) -> Points:
    """Return a few steps of the smallest subnormal around 0."""
    steps = rng.integers(-40, 41, (n, 2))
    if _is_int(dtype):
        return (steps // 10).astype(dtype)
    return (steps * float(np.nextafter(dtype.type(0), dtype.type(1)))).astype(dtype)


def small(rng: Generator, n: int, dtype: Type) -> Points:
    """Normal numbers whose products underflow."""
    if _is_int(dtype):
        return rng.integers(-2, 3, (n, 2), dtype=np.int32)
    return (rng.normal(size=(n, 2)) * (1e-300 if dtype.itemsize == 8 else 1e-36)).astype(dtype)


def mixed_magnitudes(rng: Generator, n: int, dtype: Type) -> Points:
    """Return each coordinate of either sign and of any magnitude that the type has."""
    sign = rng.choice([-1.0, 1.0], (n, 2))
    if _is_int(dtype):
        return (sign * 2.0 ** rng.uniform(0, 31, (n, 2))).clip(INT32.min, INT32.max).astype(dtype)
    low, high = (-320, 308) if dtype.itemsize == 8 else (-44, 38)
    return (sign * 10.0 ** rng.uniform(low, high, (n, 2))).astype(dtype)


def extremes_of_type(rng: Generator, n: int, dtype: Type) -> Points:
    """Only the largest, the smallest and the numbers next to them and to 0."""
    if _is_int(dtype):
        values: list[Any] = [INT32.min, INT32.min + 1, -1, 0, 1, INT32.max - 1, INT32.max]
    else:
        info = np.finfo(dtype)
        values = [info.min, -info.tiny, -info.smallest_subnormal, 0.0, info.smallest_subnormal, info.tiny, 1, info.max]
    return rng.choice(np.array(values, dtype), (n, 2))


def crowded_edge(rng: Generator, n: int, dtype: Type) -> Points:
    """Half of the points within a few steps of the least x: only comparisons can tell which is leftmost."""
    if _is_int(dtype):
        points = rng.integers(INT32.min, INT32.max, (n, 2), endpoint=True)
        points[rng.random(n) < 0.5, 0] = INT32.min
        steps = int(rng.choice([10, 100, 250]))
        return np.where(points == INT32.min, INT32.min + rng.integers(0, steps + 1, (n, 2)), points).astype(dtype)
    points = rng.uniform(-1, 1, (n, 2)).astype(dtype)
    crowded = rng.random(n) < 0.5
    points[crowded, 0] = _nudged(np.full((crowded.sum(), 1), -1, dtype), rng.integers(0, 4, (crowded.sum(), 1)))[:, 0]
    return points


def far_beyond(rng: Generator, n: int, dtype: Type) -> Points:
    """Return a small cloud, two points far above and below it, and one farther out at the side, easily missed."""
    big = {"float32": 1e20, "float64": 1e39, "int32": 2.0**31 - 1}[dtype.name]
    points = rng.random((n, 2)) * (9 if _is_int(dtype) else 1) * ([1, 1e-20] if dtype == np.float32 else 1)
    n, stride = max(n, 1), max(n // 1024, 1)
    outer = np.array([(-5, big), (-5, -big), (-100, 0)])
    for at, far in zip((3 * stride, 7 * stride, 11 * stride + (stride > 1)), outer):
        points[at % n : at % n + 1] = far
    return points.astype(dtype)


def unsampled_hull(rng: Generator, n: int, dtype: Type) -> Points:
    """Outermost points only where a sample of equally spaced ones does not look."""
    stride = max(n // 1024, 2)
    radius = np.where(np.arange(n) % stride == 0, 0.1, 1) * np.sqrt(rng.random(n))
    return _of_unit(_polar(radius, rng.uniform(0, 2 * np.pi, n)), dtype)


def needle(rng: Generator, n: int, dtype: Type) -> Points:
    """Far longer than wide, at a slant."""
    if _is_int(dtype):
        along = rng.integers(-(2**30), 2**30, n)
        return np.stack([along, along // 2 + rng.integers(-1, 2, n)], axis=1).astype(dtype)
    length = 1e15 if dtype.itemsize == 8 else 1e7
    x = rng.uniform(-length, length, n)
    return np.stack([x, x / 3 + rng.normal(size=n)], axis=1).astype(dtype)


def two_scales(rng: Generator, n: int, dtype: Type) -> Points:
    """Clusters whose own extent is lost beside the distance between them."""
    centres = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    if _is_int(dtype):
        return (centres[rng.integers(0, 4, n)] * (2**31 - 100) + rng.integers(-99, 99, (n, 2))).astype(dtype)
    return _nudged(centres[rng.integers(0, 4, n)].astype(dtype), rng.integers(-9, 10, (n, 2)))


def bin_edges(rng: Generator, n: int, dtype: Type) -> Points:
    """x at the edges of 2048 bins or a step beside them, y on a shallow arch."""
    bins = rng.integers(0, 2049, n)
    x = _nudged(_of_unit(bins[:, None] / 2048, dtype), rng.integers(-1, 2, (n, 1)))[:, 0]
    arch = (bins / 2048) * (1 - bins / 2048) * rng.choice([1, -1, 1 - 1e-5], n)
    return np.stack([x, _of_unit(arch, dtype)], axis=1)


def heavy_tails(rng: Generator, n: int, dtype: Type) -> Points:
    """Return each point may be farther out than all others together."""
    return _of_unit(rng.standard_cauchy((n, 2)) ** 3, dtype, 1e3)


#: Families of points by name: functions of a generator, the number of points and their type.
FAMILIES: dict[str, Callable[[Generator, int, Type], Points]] = {
    family.__name__: family
    for family in (
        *(classroom, near_line, nearly_round, chord_huggers, lattice_edges, parabola, repeated_extremes, equal_x),
        *(signed_zeros, far_from_origin, huge, tiny, small, mixed_magnitudes, extremes_of_type, crowded_edge),
        *(far_beyond, unsampled_hull, needle, two_scales, bin_edges, heavy_tails),
    )
}
