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
from clgeom.conformance.families import FAMILIES
from clgeom.errors import short
from clgeom.geo.exact import ordered_hull
from clgeom.hull.predicates import orientation
from clgeom.intake.typing import ArrayLike, DTypeLike, NDArray

#: Types of coordinates that families come in.
TYPES = ("float32", "float64", "int32")
#: Number of points of a case.
POINTS = 500


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
    families = _checked_names("families", FAMILIES if families is None else families, FAMILIES)
    types = _checked_names("types", types, TYPES)
    n = integer(n, "n", caller="conformance.cases")
    seed = integer(seed, "seed", caller="conformance.cases", least=0)
    return (_case(family, n, dtype, seed) for family in families for dtype in types)


def _case(family: str, n: int, dtype: str, seed: int) -> Case:
    points = family_points(family, n, dtype, seed)
    order, _ = ordered_hull(*points.T.tolist(), keep_collinear=False)
    return Case(family, points, [tuple(corner) for corner in points[order].tolist()])


def _checked_names(name: str, wanted: object, known: Iterable[str]) -> list[str]:
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
    return np.asarray(np.where(np.isfinite(points), points, 0), dtype)


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
            unfit = indices.dtype if indices.dtype.kind not in "iu" else indices.min()
            raise TypeError(f"indices must be integers from 0, not {unfit}")
        returned = set(map(tuple, case.points[indices].tolist()))
    except Exception as error:  # the implementation may raise anything
        lines = str(error).strip().splitlines()
        return Outcome(case, error=f"{type(error).__name__}: {lines[0] if lines else ''}")
    others = returned - set(case.corners)
    on_edge = sum(_is_on_boundary(case.corners, point) for point in others)
    return Outcome(case, len(set(case.corners) - returned), len(others) - on_edge, on_edge)


def _is_on_boundary(corners: list[tuple[float, float]], point: tuple[float, float]) -> bool:
    pairs = zip(corners, corners[1:] + corners[:1])
    return any(orientation(a, b, point) == 0 and min(a, b) <= point <= max(a, b) for a, b in pairs)
