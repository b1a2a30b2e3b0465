"""Convex hulls of the points in the chunks of a collection: of all, or of those of each label."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from dask.delayed import Delayed

from clgeom.arguments import Parameter, has_shape, one_of, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dask.graphs import (
    SPLIT_EVERY,
    blocks_of,
    in_chunk,
    is_array,
    is_bag,
    is_collection,
    is_frame,
    is_series,
    name_of,
    require_alike,
    tree,
)
from clgeom.dask.workers import checked_device, session_of_worker
from clgeom.errors import short
from clgeom.geo.longitudes import Sample, turn_of_crs
from clgeom.hull import convex
from clgeom.hull.antimeridian import warn_of_sample, warn_of_samples
from clgeom.hull.batch import hulls as batches
from clgeom.hull.batch.result import HullBatch
from clgeom.hull.batch.stream import LabelledHulls, one_kind, union_by_label
from clgeom.hull.result import Hull
from clgeom.intake.arrays import as_point_array, as_point_array_with_sizes, canonical_points
from clgeom.intake.interop.columns import choose_pair
from clgeom.intake.interop.frames import crs_of, is_geopandas
from clgeom.intake.labels import as_array, as_labels
from clgeom.intake.typing import Collinear, Nonfinite
from clgeom.optional import is_instance

HULL, BY_LABEL = "dask.convex_hull", "dask.convex_hulls_by_label"
EXPECTED = "an array, a dataframe, a series of geometries or a bag of Dask"


@keeps_subnormals
def convex_hull(
    points: Any,
    *,
    collinear: Collinear = "drop",
    nonfinite: Nonfinite = "raise",
    filter: Literal["auto", "octagon", "none"] = "auto",
    device: str | None = None,
    split_every: int = SPLIT_EVERY,
    resources: dict[str, float] | None = None,
) -> Delayed:
    """Convex hull of the points in all chunks of a collection, exactly and lazily.

    Parameters
    ----------
    points : dask.array.Array of shape (n, 2), dask.dataframe.DataFrame, dask_geopandas.GeoDataFrame or GeoSeries, Bag
        Of a dataframe the columns x and y (or lon and lat, easting and northing), or its only two. Of a bag each item
        is a pair of numbers or a geometry. Chunks may be of unknown size, and empty.
    collinear, nonfinite, filter
        As for `clgeom.convex_hull`.
    device : str, optional
        Part of a device's name or kind, which each worker looks up. By default ``CLGEOM_DEVICE`` of the worker, else
        its share of the devices of its host.
    split_every : int
        Hulls of chunks that one task joins.
    resources : dict, optional
        What a worker of `distributed` must have to run these tasks, such as ``{"GPU": 1}``.

    Returns
    -------
    dask.delayed.Delayed of Hull
        `vertices` are indices into the points of all chunks, one after another.

    Raises
    ------
    InvalidInput
        For another kind of collection, another shape or type. When it is computed, for a chunk of another type than
        the collection says, or (nonfinite="raise") a NaN or infinity; the message names the chunk.
    NoDevice
        When it is computed, on a worker without a device; the message names the worker.

    Examples
    --------
    >>> import dask.array, numpy, clgeom.dask
    >>> points = dask.array.from_array(numpy.array([(0, 0), (2, 0), (1, 1), (2, 2), (0, 2)]), chunks=(3, 2))
    >>> hull = clgeom.dask.convex_hull(points)
    >>> hull.compute().area
    4.0
    """
    one_of(collinear, ("drop", "keep"), "collinear", caller=HULL)
    one_of(nonfinite, ("raise", "drop"), "nonfinite", caller=HULL)
    one_of(filter, ("auto", "octagon", "none"), "filter", caller=HULL)
    device = checked_device(device, caller=HULL)
    chosen, facts = point_blocks(points, caller=HULL)
    options = _Options(facts, collinear, nonfinite, device, filter)
    name = name_of("convex-hull", [chosen], options, split_every)
    shape: dict[str, Any] = {"split_every": split_every, "resources": resources, "caller": HULL}
    return tree(name, _hull_of_chunk, _join, _finish, options, [blocks_of(chosen)], **shape)


@keeps_subnormals
def convex_hulls_by_label(
    points: Any,
    labels: Any,
    *,
    noise: object = None,
    collinear: Collinear = "drop",
    nonfinite: Nonfinite = "raise",
    device: str | None = None,
    split_every: int = SPLIT_EVERY,
    resources: dict[str, float] | None = None,
) -> Delayed:
    """Convex hulls of the points of each label, which may be spread over the chunks, exactly and lazily.

    Parameters
    ----------
    points : dask.array.Array of shape (n, 2), dask.dataframe.DataFrame, dask_geopandas.GeoDataFrame or GeoSeries, Bag
        As for `convex_hull`.
    labels : str, dask.array.Array of shape (n,), dask.dataframe.Series or Bag
        The name of a column of `points`, or a collection with as many chunks, of equal lengths. Values are as for
        `clgeom.convex_hulls_by_label`.
    noise, collinear, nonfinite
        As for `clgeom.convex_hulls_by_label`.
    device, split_every, resources
        As for `convex_hull`.

    Returns
    -------
    dask.delayed.Delayed of HullBatch
        Vertices are indices into the points of all chunks, one after another.

    Raises
    ------
    InvalidInput
        As for `convex_hull`; for labels with other chunks than the points. When it is computed, for labels that do not
        sort.

    Examples
    --------
    >>> import dask.array, numpy, clgeom.dask
    >>> points = dask.array.from_array(numpy.array([(0, 0), (5, 5), (1, 0), (0, 1), (6, 6)]), chunks=(2, 2))
    >>> labels = dask.array.from_array(numpy.array(["south", "north", "south", "south", "north"]), chunks=2)
    >>> batch = clgeom.dask.convex_hulls_by_label(points, labels).compute()
    >>> batch.labels.tolist(), batch[0].vertices.tolist(), batch[1].vertices.tolist()
    (['north', 'south'], [1, 4], [0, 2, 3])
    """
    one_of(collinear, ("drop", "keep"), "collinear", caller=BY_LABEL)
    one_of(nonfinite, ("raise", "drop"), "nonfinite", caller=BY_LABEL)
    device = checked_device(device, caller=BY_LABEL)
    chosen, facts, apart = _collections(points, labels)
    options = _Options(facts, collinear, nonfinite, device, noise=noise)
    sources = [blocks_of(one) for one in (chosen, *apart)]
    for other in sources[1:]:
        require_alike(sources[0], other, "labels", caller=BY_LABEL)
    name = name_of("hulls-by-label", [chosen, *apart], options, split_every)
    shape: dict[str, Any] = {"split_every": split_every, "resources": resources, "caller": BY_LABEL}
    return tree(name, _hulls_of_chunk, _join_by_label, _finish_by_label, options, sources, **shape)


@dataclass(frozen=True)
class _Options:
    """The checked options of a call, which tasks get."""

    points: Points
    collinear: Collinear
    nonfinite: Nonfinite
    device: str | None
    filter: Literal["auto", "octagon", "none"] = "auto"
    noise: Any = None


# All points -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Part:
    """The hull of some neighbouring points, whose `vertices` are indices among these."""

    hull: Hull
    sample: Sample


def _hull_of_chunk(options: _Options, number: int, chunk: Any) -> Part:
    with in_chunk(number):
        points = options.points.with_sizes(chunk)[0]
        hull = _hull(options, points, nonfinite=options.nonfinite)
    return Part(hull, Sample.of(points, np.zeros(len(points), np.int64), 1, options.points.turn))


def _join(options: _Options, parts: list[Part]) -> Part:
    """Return the hull of the points of neighbours, from the vertices of their hulls."""
    if len(parts) == 1:
        return parts[0]
    hulls = [part.hull for part in parts]
    firsts = np.cumsum([0, *(hull.n for hull in hulls)])
    ids = np.concatenate([first + hull.vertices for first, hull in zip(firsts, hulls)])
    points = np.concatenate([hull.points for hull in hulls if hull.n] or [options.points.empty])
    hull = _hull(options, points)
    sample = Sample.merged([part.sample for part in parts], np.zeros(len(parts), np.int64), 1)
    return Part(replace(hull, vertices=ids[hull.vertices], n=int(firsts[-1])), sample)


def _finish(options: _Options, part: Part) -> Hull:
    hull = replace(part.hull, crs=options.points.crs)
    warn_of_sample(hull, part.sample, caller=HULL)
    return hull


def _hull(options: _Options, points: Any, **more: Any) -> Hull:
    session = session_of_worker(options.device)
    hull = convex.convex_hull(points, collinear=options.collinear, filter=options.filter, device=session, **more)
    return Hull(hull.vertices, hull.points, hull.dimension, hull.n)


# By label ---------------------------------------------------------------------------------------------------------


def _hulls_of_chunk(options: _Options, number: int, chunk: Any, labels: Any = None) -> LabelledHulls:
    """Return the hulls by label of chunk `number`; `labels` is None if a column of the chunk has them."""
    facts = options.points
    with in_chunk(number):
        if facts.label is not None:
            labels, chunk = chunk[facts.label], chunk.drop(columns=[facts.label])
        if isinstance(labels, list):  # of a bag
            labels = _objects(labels)
        points, sizes = facts.with_sizes(chunk)
        if is_geopandas(chunk):
            chunk = np.asarray(chunk.geometry)  # without a reference system, so that no chunk warns by itself
        batch = batches.convex_hulls_by_label(
            points if sizes is None else chunk,  # a label is one of a geometry
            labels,
            noise=options.noise,
            collinear=options.collinear,
            nonfinite=options.nonfinite,
            device=session_of_worker(options.device),
        )
    groups, owners = as_labels(labels, options.noise, caller=BY_LABEL).groups()
    owners = owners if sizes is None else np.repeat(owners, sizes)
    column = batch.label_column
    if isinstance(column, np.ndarray) and getattr(getattr(labels, "dtype", None), "kind", None) == "O":
        column = _objects(column.tolist())  # so that labels of other chunks, of another type, are compared as objects
    batch = replace(batch, labels=None, label_column=column, phases=(), session=None)
    return LabelledHulls(len(points), batch, Sample.of(points, owners, len(groups), facts.turn))


def _join_by_label(options: _Options, parts: list[LabelledHulls]) -> LabelledHulls:
    """Return the hulls of neighbours' labels, from the vertices of their hulls."""
    if len(parts) == 1:
        return parts[0]
    firsts = np.cumsum([0, *(part.n for part in parts)])
    parts = [
        replace(part, batch=replace(part.batch, vertices=first + part.batch.vertices))
        for first, part in zip(firsts, parts)
    ]
    session = session_of_worker(options.device)
    solve = functools.partial(batches.convex_hulls, collinear=options.collinear, device=session)
    joined = union_by_label(parts, _one_column([part.batch.label_column for part in parts]), solve, caller=BY_LABEL)
    return replace(joined, batch=replace(joined.batch, phases=(), session=None))


def _finish_by_label(options: _Options, part: LabelledHulls) -> HullBatch[Any]:
    column = part.batch.label_column
    if isinstance(column, np.ndarray) and column.dtype == object:
        column = as_labels(column, None, caller=BY_LABEL).column_of(np.arange(len(column)))
    batch = replace(part.batch, labels=as_array(column), label_column=column, crs=options.points.crs)
    warn_of_samples(batch, part.sample, caller=BY_LABEL)
    return batch


# Columns of labels ------------------------------------------------------------------------------------------------


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _one_column(columns: list[Any]) -> Any:
    """Return the labels of neighbours, one after another, as Dask would join the columns of their chunks."""
    filled = [column for column in columns if len(column)]
    if any(is_instance(column, "pandas", "Index") for column in columns):
        pandas = sys.modules["pandas"]
        series = [pandas.Series(column) for column in columns]
        if all(isinstance(one.dtype, pandas.CategoricalDtype) for one in series):
            from dask.dataframe.dispatch import concat

            return concat(series, ignore_index=True)
        return pandas.concat([one for one in series if len(one)] or series[:1], ignore_index=True)
    return one_kind(filled) if filled else columns[0]


# Points -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Points:
    """Facts about a collection of points for its tasks.

    `dtype` is the type of every chunk, None for bags, whose chunks are lists; `label` the column of the labels in
    frames. With `nullable`, chunks may be float64 where the collection says integers: columns with missing values.
    """

    caller: str
    dtype: str | None = None
    crs: Any = None
    label: Any = None
    nullable: bool = False

    @property
    def empty(self) -> np.ndarray:
        """No points, in the type of all of them."""
        return canonical_points(np.empty((0, 2), self.dtype or np.float64), caller=self.caller)

    def with_sizes(self, chunk: Any) -> tuple[Any, Any]:
        """Return the points of a chunk, checked, and how many each of its rows has; None where each has one."""
        found = crs_of(chunk)
        if is_geopandas(chunk) and found != self.crs:
            raise wrong("points", self.caller, f"one coordinate reference system, {self.crs}", found, verb="have")
        points, sizes = as_point_array_with_sizes(chunk, caller=self.caller)
        types = [self.dtype, np.float64] if self.nullable else [self.dtype]
        if self.dtype is not None and len(points) and points.dtype.newbyteorder("=") not in types:
            expected = f"chunks of one type, {self.dtype} as the collection says"
            raise wrong("points", self.caller, expected, points.dtype, verb="have")
        return (points, sizes) if len(points) else (self.empty, None)

    @property
    def turn(self) -> float | None:
        """The longitude of one turn; None where points are not longitudes and latitudes."""
        return turn_of_crs(self.crs)


def point_blocks(points: Any, *, caller: str, label: Any = None) -> tuple[Any, Points]:
    """Return the collection of nothing but the points and the column `label`, in whole rows, and facts about it."""
    if is_array(points):
        has_shape(points, ("n", 2), "points", caller=caller)
        rows = points if points.numblocks[1] == 1 else points.rechunk({1: 2})
        return rows, Points(caller, _type_of(points.dtype, caller))
    if is_frame(points) or is_series(points):
        meta, chosen = points._meta, points
        if is_frame(points):
            chosen = points[_columns_of(meta, label, caller)]
        meta = meta if label is None or is_geopandas(meta) else meta.drop(columns=[label])
        sample = as_point_array(meta, caller=caller)
        dtype = None if sample.dtype == object else _type_of(sample.dtype, caller)
        types = meta.dtypes if is_frame(points) else [meta.dtype]
        nullable = sample.dtype.kind in "iu" and any(hasattr(one, "na_value") for one in types)
        return chosen, Points(caller, dtype, crs_of(meta), label, nullable)
    if is_bag(points):
        return points, Points(caller)
    name = f"{type(points).__module__.split('.')[0]}.{type(points).__name__}"
    raise wrong("points", caller, f"{EXPECTED}; clgeom.{caller.rsplit('.', 1)[-1]} takes other points", name)


def _type_of(dtype: Any, caller: str) -> str:
    """Return the name of a type that points may have."""
    canonical_points(np.empty((0, 2), dtype), caller=caller)
    name: str = np.dtype(dtype).newbyteorder("=").name
    return name


def _columns_of(meta: Any, label: Any, caller: str) -> list[Any]:
    """Return the columns of the points of a frame, and that of the labels."""
    if is_geopandas(meta):
        if meta.active_geometry_name is None:
            raise wrong("points", caller, "a GeoDataFrame with an active geometry", "one without")
        return [meta.active_geometry_name, *([] if label is None else [label])]
    names = [name for name in meta.columns if label is None or name != label]
    pair = choose_pair(list(map(str, names)), Parameter("points", caller), ", or geometries")
    return [*(names[i] for i in pair), *([] if label is None else [label])]


def _collections(points: Any, labels: Any) -> tuple[Any, Points, tuple[Any, ...]]:
    """(collection of the points, what tasks know of it, the collection of the labels unless they are in the first)."""
    if not is_collection(labels):
        if not is_frame(points):
            raise wrong(
                "labels", BY_LABEL, "a collection of Dask, or a column where the points are a frame", short(labels)
            )
        if labels not in list(points._meta.columns):
            names = ", ".join(map(str, points._meta.columns))
            raise wrong("labels", BY_LABEL, f"one of the columns {names}", short(labels))
        return *point_blocks(points, caller=BY_LABEL, label=labels), ()
    chosen, facts = point_blocks(points, caller=BY_LABEL)
    if is_frame(labels) or (is_array(labels) and labels.ndim != 1):
        raise wrong("labels", BY_LABEL, "one-dimensional", f"a {type(labels).__name__} of more dimensions")
    if is_array(labels) and is_array(chosen) and labels.chunks[0] != chosen.chunks[0]:
        if labels.shape[0] == chosen.shape[0]:  # never for unknown sizes, which are NaN
            labels = labels.rechunk((chosen.chunks[0],))
    return chosen, facts, (labels,)
