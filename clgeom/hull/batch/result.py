"""Many hulls as one value: vertices one after another, measures, each hull by its number, exchange with others."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, overload

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.device import Session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import run
from clgeom.core.plan import Phase, Scratch
from clgeom.exchange import json_values, label_columns
from clgeom.geo.geodesy import axes_of_crs
from clgeom.hull.batch.membership import contains
from clgeom.hull.measured import BatchMeasures, Geometry, columns_of
from clgeom.hull.predicates import orient2d
from clgeom.hull.result import Hull
from clgeom.intake.arrays import (
    as_device_points,
    as_device_values,
    canonical_points,
    canonical_queries,
    host_values,
)
from clgeom.intake.chunks import Peak
from clgeom.intake.device_arrays import as_array, new_array, on_host
from clgeom.intake.typing import ArrayLike, ArrayT, NDArray
from clgeom.markup import MOST_RINGS, MOST_ROWS, card, rings_svg, table
from clgeom.optional import require_shapely
from clgeom.primitives.gather import gather_plan

if TYPE_CHECKING:
    from clgeom.intake.typing import CLArray, HostOrDevice
    from clgeom.io.atomic import NewFile


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class HullBatch(BatchMeasures, Generic[ArrayT]):
    """The convex hulls of many groups of points.

    Parameters
    ----------
    vertices : ndarray or pyopencl.array.Array of int64, shape (h,)
        Indices into all the points given: hull after hull, each in the order of `Hull.vertices`.
    offsets : ndarray or pyopencl.array.Array of int64, shape (m + 1,)
        Hull i has ``vertices[offsets[i]:offsets[i + 1]]``.
    areas : ndarray or pyopencl.array.Array of float64, shape (m,)
        Each is its hull's `Hull.area`: correctly rounded, and 0.0 only below dimension 2.
    perimeters : ndarray or pyopencl.array.Array of float64, shape (m,)
        Each is its hull's `Hull.perimeter`: correctly rounded, a segment counts twice.
    points : ndarray or pyopencl.array.Array, shape (h, 2)
        Coordinates of the vertices, in the type the hulls were computed in.
    labels : ndarray, shape (m,), or None
        The groups' labels, ascending.
    left_out : int
        Number of points in no group, whose label is null or `noise`.
    phases : tuple of Phase
        What each launch on the device was and took.
    crs : object or None
        Coordinate reference system, where the points came with one.
    peak : Peak or None
        The most memory that was taken at a time, where the points came in chunks.
    across : dict of int to Hull
        The hulls across the antimeridian, by their number; see `Hull.across`.
    session : Session or None
        Where the hulls were computed.
    keep_collinear : bool
        Whether every distinct point on a boundary is a vertex: collinear="keep".
    group_offsets : ndarray or pyopencl.array.Array of int, shape (m + 1,)
        Group i had the points from ``group_offsets[i]`` to ``group_offsets[i + 1]``; `sizes` come from them.
    label_column : object or None
        The labels as a column of the library that they came from, for tables.
    label_name : str or None
        The name of that column.
    measures : tuple of str
        The measures that tables have columns of; see `with_measures`.
    geometry : str or None
        The measure whose geometries tables have in place of hulls.

    Notes
    -----
    A batch does not change when the caller's arrays change. There is one exception: `sizes` are read from offsets on a
    device at the first access, so these must not change before.

    Examples
    --------
    >>> import clgeom
    >>> batch = clgeom.convex_hulls([(0, 0), (2, 0), (0, 2), (5, 5), (6, 6)], [0, 3, 5])
    >>> batch
    HullBatch(2 hulls, 5 vertices)
    >>> batch.sizes.tolist(), batch.dimensions.tolist(), batch[0].vertices.tolist()
    ([3, 2], [2, 1], [0, 1, 2])
    """

    vertices: ArrayT
    offsets: ArrayT
    areas: ArrayT
    perimeters: ArrayT
    points: ArrayT
    labels: NDArray[Any] | None = None
    left_out: int = 0
    phases: tuple[Phase, ...] = ()
    session: Session | None = None
    keep_collinear: bool = False
    group_offsets: Any = None
    label_column: Any = None
    label_name: str | None = None
    crs: Any = None
    peak: Peak | None = None
    across: dict[int, Hull] = field(default_factory=dict)
    measures: tuple[str, ...] = ()
    geometry: Geometry | None = None

    def __repr__(self) -> str:
        labels = "" if self.labels is None else ", labelled"
        left = f", {self.left_out:,} point{'s' * (self.left_out != 1)} left out" if self.left_out else ""
        return f"HullBatch({len(self):,} hulls, {len(self.vertices):,} vertices{labels}{left})"

    def _repr_html_(self) -> str:
        few = min(len(self), MOST_RINGS)
        ends = on_host(self.offsets[: few + 1])
        corners = self.corners[: int(ends[-1])] if self.across else on_host(self.points[: int(ends[-1])])
        rings = [corners[begin:end] for begin, end in zip(ends, ends[1:])]
        areas, perimeters = (on_host(values[:MOST_ROWS]).tolist() for values in (self.areas, self.perimeters))
        names = range(len(self)) if self.labels is None else self.labels
        rows = [
            (name, f"{len(ring):,}", f"{area:.6g}", f"{perimeter:.6g}")
            for name, ring, area, perimeter in zip(names[:MOST_ROWS], rings, areas, perimeters)
        ]
        headings = ("hull" if self.labels is None else "label", "vertices", "area", "perimeter")
        facts = [("hulls", f"{len(self):,}"), ("vertices", f"{len(self.vertices):,}"), ("type", self.points.dtype)]
        if few < len(self):
            facts.append(("drawn", f"the first {few:,} hulls"))
        picture = rings_svg(rings, label=f"{few:,} hulls")
        return card("HullBatch", facts, picture, table(headings, rows, count=len(self)))

    def __getstate__(self) -> dict[str, Any]:  # a session lives in its own process, device arrays on their device
        state = {name: getattr(self, name) for name in self.__dataclass_fields__}
        state = {name: on_host(value) for name, value in state.items()}
        return {**state, "session": None}

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @functools.cached_property
    def dimensions(self) -> NDArray[np.int8]:
        """The dimension of each hull, int8: -1 for no points, 0, 1 or 2."""
        host = self._host
        flat = flat_hulls(host.points, host.offsets, self.keep_collinear, self.session)
        counts = np.diff(host.offsets)
        dimensions = np.where(flat, np.minimum(counts, 2) - 1, 2).astype(np.int8)
        for number, hull in self.across.items():
            dimensions[number] = hull.dimension
        return dimensions

    @functools.cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of points of each group, int64."""
        return np.asarray(np.diff(on_host(self.group_offsets).astype(np.int64)))

    @functools.cached_property
    def _host(self) -> _OnHost:
        """Vertices, offsets and coordinates as host arrays."""
        return _OnHost(on_host(self.vertices), on_host(self.offsets), on_host(self.points))

    @overload
    def __getitem__(self, i: int) -> Hull: ...
    @overload
    def __getitem__(self, i: slice) -> list[Hull]: ...
    def __getitem__(self, i: int | slice) -> Hull | list[Hull]:
        """Hull i, a negative i counted from the end; a list for a slice. Vertices index all the points given."""
        if isinstance(i, slice):
            return [self[number] for number in range(*i.indices(len(self)))]
        number = operator.index(i)
        if not -len(self) <= number < len(self):
            raise IndexError(f"there are {len(self)} hulls, and no number {number}")
        number %= len(self)
        if number in self.across:
            return self.across[number]
        host = self._host
        hull = slice(int(host.offsets[number]), int(host.offsets[number + 1]))
        return Hull(
            vertices=host.vertices[hull],
            points=host.points[hull],
            dimension=int(self.dimensions[number]),
            n=int(self.sizes[number]),
            session=self.session,
        )

    def __iter__(self) -> Iterator[Hull]:
        return (self[i] for i in range(len(self)))

    def contains(self, points: ArrayLike, groups: ArrayLike) -> Any:
        """Return whether each point is inside the hull of its group or on its boundary, exactly.

        Parameters
        ----------
        points : array_like, shape (k, 2) or (2,)
            As for `Hull.contains`.
        groups : array_like of int, shape (k,), or int
            The number of each point's hull, as in ``batch[i]``; for labels ``np.searchsorted(batch.labels, labels)``.

        Returns
        -------
        ndarray of bool, shape (k,), or one bool for a single point

        Raises
        ------
        InvalidInput
            For points as in `Hull.contains`, and for groups of another shape or type, or without a hull.

        Examples
        --------
        >>> import clgeom
        >>> batch = clgeom.convex_hulls([(0, 0), (4, 0), (4, 3), (5, 5), (6, 5)], [0, 3, 5])
        >>> batch.contains([(3, 1), (3, 1), (5.5, 5)], [0, 1, 1]).tolist()
        [True, False, True]
        """
        queries, single = canonical_queries(points, caller="HullBatch.contains")
        owners = self._owners(groups, len(queries))
        host = self._host
        dtype = np.result_type(queries, host.points)
        corners, places = host.points.astype(dtype, copy=False), queries.astype(dtype, copy=False)
        inside = contains(self.session, corners, host.offsets, places, owners)
        for number, hull in self.across.items():
            own = owners == number
            inside[own] = hull.contains(queries[own])
        return bool(inside[0]) if single else inside

    def _owners(self, groups: ArrayLike, count: int) -> np.ndarray:
        """Return checked numbers of hulls."""
        owners = host_values(groups, caller="HullBatch.contains", name="groups")
        is_list = owners.size == 0 and count == 0
        if owners.shape not in ((), (count,)) or not (owners.dtype.kind in "iu" or is_list):
            expected = f"an integer or integers of shape ({count},)"
            raise wrong("groups", "HullBatch.contains", expected, f"{owners.dtype} of shape {owners.shape}")
        beyond = np.flatnonzero((owners < 0) | (owners >= len(self)))
        if len(beyond):
            raise wrong("groups", "HullBatch.contains", f"numbers of {len(self)} hulls", owners.ravel()[beyond[0]])
        return np.broadcast_to(owners.astype(np.int64), count)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """GeoJSON-like FeatureCollection: a Feature for each hull, with its label, points, area and perimeter."""
        return {"type": "FeatureCollection", "features": list(self.features())}

    def features(self, **columns: Any) -> Iterator[dict[str, Any]]:
        """Yield the features of the FeatureCollection one by one, with columns of values instead of the label.

        Parameters
        ----------
        **columns : sequence, shape (m,)
            A value for each hull, by the name of its property. By default the labels, as `label`.

        Yields
        ------
        dict
            A GeoJSON-like Feature with the properties `points`, `area` and `perimeter`.

        Raises
        ------
        IndexError
            A column has fewer values than there are hulls.
        """
        areas, perimeters, sizes = (on_host(one).tolist() for one in (self.areas, self.perimeters, self.sizes))
        labels = {} if self.labels is None else {"label": json_values(self.labels)}
        measured = {name: values.tolist() for name, values in self._measured(columns).items()}
        for i, geometry in enumerate(self._mappings(self)):
            more = {name: values[i] for name, values in (columns or labels).items()}
            measures = {"points": sizes[i], "area": _finite(areas[i]), "perimeter": _finite(perimeters[i])}
            measures |= {name: _finite(values[i]) for name, values in measured.items()}
            yield {"type": "Feature", "properties": more | measures | more, "geometry": geometry}

    def plot(self, ax: Any = None, *, points: Any = None, **options: Any) -> Any:
        """Draw the hulls with Matplotlib.

        Up to ten labelled hulls have a colour each, and a legend of their labels.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot's by default.
        points : optional
            Points to be drawn, too, shape (n, 2).
        **options
            labels : a text for each hull; title : str; axes : the names of both axes.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.

        Raises
        ------
        InvalidInput
            Matplotlib is not installed, or `points` is not of shape (n, 2).
        """
        from clgeom.plotting.hulls import plot_hulls

        host = self._host
        points = None if points is None else canonical_points(points, caller="plot")
        style = {"labels": self.labels, "axes": axes_of_crs(self.crs), **options}
        return plot_hulls(self.corners, host.offsets, ax, points=points, **style)

    @property
    def corners(self) -> NDArray[Any]:
        """Coordinates of the vertices on the host; continuous ones in hulls across the antimeridian."""
        host = self._host
        if not self.across:
            return host.points
        corners = host.points.astype(np.float64)
        for number, hull in self.across.items():
            corners[host.offsets[number] : host.offsets[number + 1]] = hull.corners
        return corners

    def to_shapely(self) -> NDArray[np.object_]:
        """Return all hulls as Shapely geometries, as `Hull.to_shapely` returns them.

        Returns
        -------
        ndarray of shapely.Geometry, shape (m,)

        Raises
        ------
        InvalidInput
            Shapely is not installed.
        """
        shapely = require_shapely()
        host, dimensions = self._host, self.dimensions
        shapes = np.full(len(self), shapely.GeometryCollection(), object)
        group = np.repeat(np.arange(len(self)), np.diff(host.offsets))
        for dimension in (0, 1, 2):
            which = np.flatnonzero(dimensions == dimension)
            if len(which) == 0:
                continue
            mine = dimensions[group] == dimension
            indices = np.searchsorted(which, group[mine])
            corners = host.points[mine].astype(np.float64)
            if dimension == 2:
                shapes[which] = shapely.polygons(shapely.linearrings(corners, indices=indices))
            else:
                shapes[which] = shapely.linestrings(corners, indices=indices) if dimension else shapely.points(corners)
        for number, hull in self.across.items():
            shapes[number] = hull.to_shapely()
        return shapes

    def _columns(self) -> dict[str, np.ndarray]:
        columns = {"points": self.sizes, "area": on_host(self.areas), "perimeter": on_host(self.perimeters)}
        return columns | self._measured()

    def _measured(self, taken: Container[str] = ()) -> dict[str, np.ndarray]:
        """Return the columns of `with_measures`."""
        return columns_of(self._polygons(), self.measures, taken or self._labels()) if self.measures else {}

    def _labels(self) -> dict[str, Any]:
        if self.labels is None:
            return {}
        return label_columns(self.labels if self.label_column is None else self.label_column, self.label_name)

    def _write_text(self, file: NewFile, crs: Any) -> None:
        from clgeom.io.hulls import write_hulls

        names = list(range(len(self))) if self.labels is None else json_values(self.labels)
        title = "hull" if self.labels is None else self.label_name or "label"
        write_hulls(self, names, str(title), file, crs=crs)


class _OnHost(NamedTuple):
    vertices: NDArray[Any]
    offsets: NDArray[Any]
    points: NDArray[Any]


def _finite(number: float) -> float | None:
    """Return a number for JSON; None for a nonfinite one, which JSON cannot hold."""
    return number if math.isfinite(number) else None


def picked_on_device(session: Session, table: CLArray, picked: HostOrDevice, *, caller: str) -> CLArray:
    """table[picked] for a device array of points or numbers, as a device array."""
    width = table.ndim
    rows = (as_device_points if width == 2 else as_device_values)(session, table, caller=caller)
    wanted = as_device_values(session, picked, caller=caller)
    indices, out = Scratch("picked", wanted.dtype, wanted.n), Scratch("out", rows.dtype, width * wanted.n)
    shape = (wanted.n, 2)[:width]
    if wanted.n == 0:
        return new_array(session, shape, rows.dtype, queue=table.queue)
    plan = gather_plan(session.profile, rows, "table", indices, wanted.n, out)
    result = run(session, plan, table=rows, picked=wanted.one_buffer(f"The list of indices of {caller}"))
    return as_array(session, result[out], shape, rows.dtype, queue=table.queue)


def flat_hulls(corners: np.ndarray, offsets: np.ndarray, keep_collinear: bool, session: Session | None) -> np.ndarray:
    """Return a mask of the hulls with a dimension below 2, from the coordinates of their vertices."""
    counts = np.diff(offsets)
    flat = counts < 3
    if keep_collinear:  # the first vertex is a true corner, or all are on one line
        which = np.flatnonzero(~flat)
        first, last = offsets[which], offsets[which + 1] - 1
        flat[which] = orient2d(corners[first], corners[first + 1], corners[last], device=session) == 0
    return flat
