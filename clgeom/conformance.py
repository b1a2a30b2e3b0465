"""Adversarial inputs for planar convex hulls with their exact answers, and a runner for any implementation.

Each family of points aims at one weakness: nearly collinear triples, products that overflow or vanish, subnormals,
duplicates, lattices with many points on every edge, outermost points where a sample does not look, and so on. The exact
answer comes from a monotone chain in rational arithmetic on the host.

>>> import clgeom
>>> from clgeom import conformance
>>> report = conformance.run(lambda points: clgeom.convex_hull(points).vertices, families=["classroom"], n=100)
>>> report.wrong
()
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.arguments import integer, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import short
from clgeom.hull.heaphull import hull_of_few
from clgeom.hull.predicates import orientation
from clgeom.intake.typing import ArrayLike, DTypeLike, NDArray

#: Types of coordinates that families come in.
TYPES = ("float32", "float64", "int32")
#: Number of points of a case.
POINTS = 500
INT32 = np.iinfo(np.int32)


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class Case:
    """Points of one family and their exact hull.

    Parameters
    ----------
    family : str
        A name in ``FAMILIES``.
    points : ndarray, shape (n, 2)
        float32, float64 or int32.
    corners : list of (x, y)
        Positions of the hull's corners as Python numbers, counter-clockwise from the lexicographically smallest. Points
        on an edge are not corners.

    Examples
    --------
    >>> from clgeom import conformance
    >>> case = next(conformance.cases(families=["lattice_edges"], types=["int32"], n=50))
    >>> case.name, case.points.shape
    ('lattice_edges int32', (50, 2))
    """

    family: str
    points: NDArray[Any]
    corners: list[tuple[float, float]]

    @property
    def name(self) -> str:
        """Family and type."""
        return f"{self.family} {self.points.dtype}"


@keeps_subnormals
@dataclass(frozen=True)
class Outcome:
    """The answer of an implementation to a case, compared with the exact one.

    Parameters
    ----------
    case : Case
    missing : int
        Corners that it did not return.
    inside : int
        Positions that it returned although they are strictly inside the hull.
    on_edge : int
        Positions that it returned although they are on an edge: a matter of convention.
    error : str or None
        The exception that it raised, in one line.

    Examples
    --------
    >>> from clgeom import conformance
    >>> case = next(conformance.cases(families=["parabola"], types=["float64"], n=50))
    >>> conformance.judge(lambda points: [0], case).right
    False
    """

    case: Case
    missing: int = 0
    inside: int = 0
    on_edge: int = 0
    error: str | None = None

    @property
    def right(self) -> bool:
        """Return whether all corners were returned and nothing inside. Points on edges are allowed."""
        return self.error is None and self.missing == self.inside == 0


@keeps_subnormals
@dataclass(frozen=True)
class Report:
    """Outcomes of all cases.

    Parameters
    ----------
    outcomes : tuple of Outcome
        One for each case.

    Examples
    --------
    >>> import clgeom
    >>> from clgeom import conformance
    >>> report = conformance.run(lambda points: clgeom.convex_hull(points).vertices, families=["needle"], n=50)
    >>> print(report)
    3 of 3 right
    >>> report.wrong
    ()
    """

    outcomes: tuple[Outcome, ...]

    @property
    def wrong(self) -> tuple[Outcome, ...]:
        """Outcomes that are not right."""
        return tuple(outcome for outcome in self.outcomes if not outcome.right)

    def __str__(self) -> str:
        lines = [f"{len(self.outcomes) - len(self.wrong)} of {len(self.outcomes)} right"]
        for outcome in self.wrong:
            fault = outcome.error or f"{outcome.missing} corners missing, {outcome.inside} points inside returned"
            lines.append(f"{outcome.case.name}: {fault}")
        return "\n".join(lines)


@keeps_subnormals
def run(
    hull: Callable[[NDArray[Any]], ArrayLike],
    *,
    families: Iterable[str] | None = None,
    types: Iterable[str] = TYPES,
    n: int = POINTS,
    seed: int = 0,
) -> Report:
    """Return the outcomes of an implementation on all cases.

    Parameters
    ----------
    hull : callable
        ``hull(points)`` gets an ndarray of shape (n, 2) and returns indices of the hull's vertices, integers from 0 in
        any order; of equal points it may name any.
    families : sequence of str, optional
        Names of families, at least one; all by default.
    types : sequence of str
        Types of coordinates: "float32", "float64", "int32".
    n : int
        Number of points of each case.
    seed : int
        Another seed gives other points.

    Returns
    -------
    Report

    Raises
    ------
    InvalidInput
        For an unknown family or type, an n that is not an integer from 1, or a seed that is not one from 0.

    Examples
    --------
    >>> import clgeom
    >>> from clgeom import conformance
    >>> report = conformance.run(lambda points: clgeom.ConvexHull(points).vertices, families=["chord_huggers"])
    >>> len(report.outcomes), len(report.wrong)
    (3, 0)
    """
    return Report(tuple(judge(hull, case) for case in cases(families=families, types=types, n=n, seed=seed)))


@keeps_subnormals
def cases(
    *, families: Iterable[str] | None = None, types: Iterable[str] = TYPES, n: int = POINTS, seed: int = 0
) -> Iterator[Case]:
    """Yield the cases of some families and types.

    Parameters
    ----------
    families, types, n, seed
        As for `run`.

    Yields
    ------
    Case
        Always the same for the same arguments.

    Raises
    ------
    InvalidInput
        As for `run`; before the first case.

    Examples
    --------
    >>> from clgeom import conformance
    >>> [case.name for case in conformance.cases(families=["huge", "tiny"], types=["float32"], n=20)]
    ['huge float32', 'tiny float32']
    """
    families = _chosen("families", FAMILIES if families is None else families, FAMILIES)
    types = _chosen("types", types, TYPES)
    n = integer(n, "n", caller="conformance.cases")
    seed = integer(seed, "seed", caller="conformance.cases", least=0)
    return _cases(families, types, n, seed)


def _cases(families, types, n, seed):
    for family in families:
        for dtype in types:
            points = family_points(family, n, dtype, seed)
            yield Case(family, points, hull_of_few(sorted(set(map(tuple, points.tolist())))))


def _chosen(name, wanted, known):
    """Return names in a list; refuse unknown ones."""
    names = None if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)
    bad = [wanted] if names is None else [one for one in names if not isinstance(one, str) or one not in known]
    if bad or not names:
        expected = f"a sequence of some of {', '.join(known)}"
        raise wrong(name, "conformance.cases", expected, short(bad[0]) if bad else "none")
    return names


@keeps_subnormals
def family_points(family: str, n: int, dtype: DTypeLike, seed: int = 0) -> NDArray[Any]:
    """Return the points of a family.

    Parameters
    ----------
    family : str
        A name in ``FAMILIES``.
    n : int
        Number of points.
    dtype : data-type
        float32, float64 or int32.
    seed : int
        Another seed gives other points.

    Returns
    -------
    ndarray of `dtype`, shape (n, 2)
        Always the same for the same arguments.

    Raises
    ------
    KeyError
        There is no such family.
    ValueError
        `n` or `seed` is negative.

    Examples
    --------
    >>> from clgeom import conformance
    >>> conformance.family_points("parabola", 5, "float64").shape
    (5, 2)
    """
    dtype = np.dtype(dtype)
    rng = np.random.default_rng([zlib.crc32(f"{family} {dtype.name}".encode()), n, seed])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        points = np.ascontiguousarray(FAMILIES[family](rng, n, dtype), dtype)
    return np.where(np.isfinite(points), points, 0).astype(dtype)


@keeps_subnormals
def judge(hull: Callable[[NDArray[Any]], ArrayLike], case: Case) -> Outcome:
    """Return the outcome of one case.

    Parameters
    ----------
    hull : callable
        As for `run`.
    case : Case

    Returns
    -------
    Outcome
        With the `error` of an implementation that raises one.

    Raises
    ------
    AttributeError
        `case` is no Case.

    Examples
    --------
    >>> import clgeom
    >>> from clgeom import conformance
    >>> case = next(conformance.cases(families=["needle"], n=50))
    >>> conformance.judge(lambda points: clgeom.convex_hull(points).vertices, case).right
    True
    """
    try:
        indices = np.asarray(hull(case.points.copy())).ravel()
        if len(indices) and (indices.dtype.kind not in "iu" or indices.min() < 0):
            raise TypeError(f"indices must be integers from 0, not {_unfit(indices)}")
        returned = set(map(tuple, case.points[indices].tolist()))
    except Exception as error:  # the implementation may raise anything
        lines = str(error).strip().splitlines()
        return Outcome(case, error=f"{type(error).__name__}: {lines[0] if lines else ''}")
    others = returned - set(case.corners)
    on_edge = sum(_is_on_boundary(case.corners, point) for point in others)
    return Outcome(case, len(set(case.corners) - returned), len(others) - on_edge, on_edge)


def _unfit(indices) -> str:
    """Return the type or the value of indices that are not integers from 0."""
    return str(indices.dtype) if indices.dtype.kind not in "iu" else str(indices.min())


def _is_on_boundary(corners, point) -> bool:
    pairs = zip(corners, corners[1:] + corners[:1])
    return any(orientation(a, b, point) == 0 and min(a, b) <= point <= max(a, b) for a, b in pairs)


# Families -------------------------------------------------------------------------------------------------------


def _is_int(dtype):
    return np.dtype(dtype).kind == "i"


def _of_unit(points, dtype, scale=2.0**30):
    """Return points of about the unit square in this type; int32 ones are scaled up, rounded and clipped."""
    if _is_int(dtype):
        points = np.clip(np.rint(np.asarray(points) * scale), INT32.min, INT32.max)
    return np.asarray(points).astype(dtype)


def _polar(radius, angle):
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def _nudged(points, steps):
    """Return points moved by these numbers of steps of their number format."""
    steps = np.broadcast_to(steps, points.shape)
    if _is_int(points.dtype):
        return np.clip(points.astype(np.int64) + steps, INT32.min, INT32.max).astype(points.dtype)
    for _ in range(int(np.abs(steps).max(initial=0))):
        towards = np.where(steps > 0, np.inf, -np.inf).astype(points.dtype)
        points = np.where(steps == 0, points, np.nextafter(points, towards))
        steps = steps - np.sign(steps)
    return points


def classroom(rng, n, dtype):
    """A few steps about a point of the line through (12, 12) and (24, 24), and those two.

    Kettner, Mehlhorn, Pion, Schirra, Yap, "Classroom examples of robustness problems in geometric computations",
    Comput. Geom. 40 (2008).
    """
    base = np.array([24, 24] if _is_int(dtype) else [0.5, 0.5], dtype)
    points = _nudged(np.repeat(base[None], n, axis=0), rng.integers(0, 8, (n, 2)))
    ends = np.array([(12, 12), (24, 24), (25, 25)], dtype)
    points[: min(n, 3)] = ends[: min(n, 3)]
    return points


def near_line(rng, n, dtype):
    """On y = x, or one step of the number format beside it."""
    x = _of_unit(rng.uniform(0.5, 24, n), dtype, 1e6)
    return np.stack([x, _nudged(x[:, None], rng.integers(-1, 2, (n, 1)))[:, 0]], axis=1)


def nearly_round(rng, n, dtype):
    """On a circle, but for a step of the number format: nearly all are vertices or nearly so."""
    return _nudged(_of_unit(_polar(1.0, rng.uniform(0, 2 * np.pi, n)), dtype), rng.integers(-1, 2, (n, 2)))


def chord_huggers(rng, n, dtype):
    """Sampled points on a circle, the others next to the chords between them, some steps inside or outside."""
    stride = max(n // 1024, 1)
    ring = max(min(-(-n // stride), 97), 3)
    angle = 2 * np.pi * np.arange(ring + 1) / ring
    corners = _of_unit(_polar(1.0, angle), dtype).astype(float)
    edge, share = rng.integers(0, ring, n), rng.random((n, 1)) * rng.choice([1, 1e-3], (n, 1))
    middle = corners[edge] * (1 - share) + corners[edge + 1] * share
    off = 1 + rng.choice([-1, 1], (n, 1)) * 2.0 ** -rng.integers(16, 54, (n, 1))
    points = (middle * off).astype(dtype)
    sampled = np.arange(0, n, stride)
    points[sampled] = corners[np.arange(len(sampled)) % ring]
    return points


def lattice_edges(rng, n, dtype):
    """On the boundary of a lattice polygon, with edges in sixteen directions and many points on each."""
    ring, at = [], np.array([-3, -8])
    half = np.array([(1, 0), (2, 1), (1, 1), (1, 2), (0, 1), (-1, 2), (-1, 1), (-2, 1)])
    for step in (*half, *-half):
        for _ in range(5):
            ring.append(at)
            at = at + step
    return np.array(ring)[rng.integers(0, len(ring), n)].astype(dtype)


def parabola(rng, n, dtype):
    """Integers on y = x^2, shuffled: every distinct point is a vertex."""
    x = (np.arange(n) - n // 2) % 92681 - 46340 if n > 92681 else np.arange(n) - n // 2
    x = np.clip(x, -46340, 46340)
    return rng.permutation(np.stack([x, x * x], axis=1)).astype(dtype)


def repeated_extremes(rng, n, dtype):
    """A few corners many times over, among points inside: of equal points any may come first."""
    corners = _of_unit(_polar(1.0, np.arange(9)), dtype)
    inside = _of_unit(_polar(0.9 * np.sqrt(rng.random(n)), rng.uniform(0, 2 * np.pi, n)), dtype)
    return np.where(rng.random((n, 1)) < 0.5, corners[rng.integers(0, 9, n)], inside)


def equal_x(rng, n, dtype):
    """Only a handful of different x: hoods begin and end with vertical edges."""
    points = _of_unit(rng.random((n, 2)), dtype)
    points[:, 0] = _of_unit(np.arange(5) / 8, dtype)[rng.integers(0, 5, n)]
    return points


def signed_zeros(rng, n, dtype):
    """Signed zeros beside ones: -0.0 and 0.0 are one position."""
    return rng.choice(np.array([-0.0, 0.0, 1, -1], dtype), (n, 2), p=[0.4, 0.4, 0.1, 0.1])


def far_from_origin(rng, n, dtype):
    """Small integers beside a large offset, where the format has no finer steps left."""
    offset = {"float32": 2**23, "float64": 2**52, "int32": 2**30}[np.dtype(dtype).name]
    return (offset + rng.integers(-30, 31, (n, 2))).astype(dtype)


def huge(rng, n, dtype):
    """Near the largest numbers: every difference and sum may overflow."""
    if _is_int(dtype):
        return rng.integers(INT32.min, INT32.max, (n, 2), dtype=np.int32, endpoint=True)
    return (rng.uniform(-1, 1, (n, 2)) * float(np.finfo(dtype).max)).astype(dtype)


def tiny(rng, n, dtype):
    """A few steps of the smallest subnormal around 0."""
    steps = rng.integers(-40, 41, (n, 2))
    if _is_int(dtype):
        return (steps // 10).astype(dtype)
    return (steps * float(np.nextafter(dtype.type(0), dtype.type(1)))).astype(dtype)


def small(rng, n, dtype):
    """Normal numbers whose products underflow."""
    if _is_int(dtype):
        return rng.integers(-2, 3, (n, 2), dtype=np.int32)
    return (rng.normal(size=(n, 2)) * (1e-300 if np.dtype(dtype).itemsize == 8 else 1e-36)).astype(dtype)


def mixed_magnitudes(rng, n, dtype):
    """Each coordinate of either sign and of any magnitude that the type has."""
    sign = rng.choice([-1.0, 1.0], (n, 2))
    if _is_int(dtype):
        return (sign * 2.0 ** rng.uniform(0, 31, (n, 2))).clip(INT32.min, INT32.max).astype(dtype)
    low, high = (-320, 308) if np.dtype(dtype).itemsize == 8 else (-44, 38)
    return (sign * 10.0 ** rng.uniform(low, high, (n, 2))).astype(dtype)


def extremes_of_type(rng, n, dtype):
    """Only the largest, the smallest and the numbers next to them and to 0."""
    if _is_int(dtype):
        values = [INT32.min, INT32.min + 1, -1, 0, 1, INT32.max - 1, INT32.max]
    else:
        info = np.finfo(dtype)
        values = [
            info.min,
            -info.tiny,
            -info.smallest_subnormal,
            0.0,
            info.smallest_subnormal,
            info.tiny,
            1,
            info.max,
        ]
    return rng.choice(np.array(values, dtype), (n, 2))


def crowded_edge(rng, n, dtype):
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


def far_beyond(rng, n, dtype):
    """A small cloud, two points far above and below it, and one farther out at the side that is easily missed."""
    big = {"float32": 1e20, "float64": 1e39, "int32": 2.0**31 - 1}[np.dtype(dtype).name]
    points = (
        rng.random((n, 2)) * (1 if not _is_int(dtype) else 9) * ([1, 1e-20] if np.dtype(dtype) == np.float32 else 1)
    )
    n, stride = max(n, 1), max(n // 1024, 1)
    outer = np.array([(-5, big), (-5, -big), (-100, 0)])
    for at, far in zip((3 * stride, 7 * stride, 11 * stride + (stride > 1)), outer):
        points[at % n : at % n + 1] = far
    return points.astype(dtype)


def unsampled_hull(rng, n, dtype):
    """Outermost points only where a sample of equally spaced ones does not look."""
    stride = max(n // 1024, 2)
    radius = np.where(np.arange(n) % stride == 0, 0.1, 1) * np.sqrt(rng.random(n))
    return _of_unit(_polar(radius, rng.uniform(0, 2 * np.pi, n)), dtype)


def needle(rng, n, dtype):
    """Far longer than wide, at a slant."""
    if _is_int(dtype):
        x = rng.integers(-(2**30), 2**30, n)
        return np.stack([x, x // 2 + rng.integers(-1, 2, n)], axis=1).astype(dtype)
    length = 1e15 if np.dtype(dtype).itemsize == 8 else 1e7
    x = rng.uniform(-length, length, n)
    return np.stack([x, x / 3 + rng.normal(size=n)], axis=1).astype(dtype)


def two_scales(rng, n, dtype):
    """Clusters whose own extent is lost beside the distance between them."""
    centres = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    if _is_int(dtype):
        return (centres[rng.integers(0, 4, n)] * (2**31 - 100) + rng.integers(-99, 99, (n, 2))).astype(dtype)
    return _nudged(centres[rng.integers(0, 4, n)].astype(dtype), rng.integers(-9, 10, (n, 2)))


def bin_edges(rng, n, dtype):
    """x at the edges of 2048 bins or a step beside them, y on a shallow arch."""
    bins = rng.integers(0, 2049, n)
    x = _nudged(_of_unit(bins[:, None] / 2048, dtype), rng.integers(-1, 2, (n, 1)))[:, 0]
    arch = (bins / 2048) * (1 - bins / 2048) * rng.choice([1, -1, 1 - 1e-5], n)
    return np.stack([x, _of_unit(arch, dtype)], axis=1)


def heavy_tails(rng, n, dtype):
    """Each point may be farther out than all others together."""
    return _of_unit(rng.standard_cauchy((n, 2)) ** 3, dtype, 1e3)


#: Families of points by name: functions of a generator, the number of points and their type.
FAMILIES = {
    family.__name__: family
    for family in (
        *(classroom, near_line, nearly_round, chord_huggers, lattice_edges, parabola, repeated_extremes, equal_x),
        *(signed_zeros, far_from_origin, huge, tiny, small, mixed_magnitudes, extremes_of_type, crowded_edge),
        *(far_beyond, unsampled_hull, needle, two_scales, bin_edges, heavy_tails),
    )
}
