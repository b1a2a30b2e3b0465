"""Convex hulls of the points of each label, in chunks of a collection. A label may be in any number of chunks."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask.delayed import Delayed

from clgeom.arguments import one_of, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dask.graphs import (
    SPLIT_EVERY,
    blocks_of,
    in_chunk,
    is_array,
    is_collection,
    is_frame,
    name_of,
    require_alike,
    tree,
)
from clgeom.dask.points import Points, point_blocks
from clgeom.dask.workers import checked_device, session_of_worker
from clgeom.errors import short
from clgeom.geo.longitudes import Sample
from clgeom.hull.antimeridian import warn_of_samples
from clgeom.hull.batch import hulls as batches
from clgeom.hull.batch.result import HullBatch
from clgeom.intake.interop.frames import is_geopandas
from clgeom.intake.labels import as_array, as_labels
from clgeom.intake.typing import Collinear, NDArray, Nonfinite
from clgeom.optional import is_instance

CALLER = "dask.convex_hulls_by_label"


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
    one_of(collinear, ("drop", "keep"), "collinear", caller=CALLER)
    one_of(nonfinite, ("raise", "drop"), "nonfinite", caller=CALLER)
    device = checked_device(device, caller=CALLER)
    chosen, facts, apart = _collections(points, labels)
    options = _Options(facts, noise, collinear, nonfinite, device)
    sources = [blocks_of(one) for one in (chosen, *apart)]
    for other in sources[1:]:
        require_alike(sources[0], other, "labels", caller=CALLER)
    name = name_of("hulls-by-label", [chosen, *apart], options, split_every)
    shape: dict[str, Any] = {"split_every": split_every, "resources": resources, "caller": CALLER}
    return tree(name, _hulls_of_chunk, _join, _finish, options, sources, **shape)


def _collections(points: Any, labels: Any) -> tuple[Any, Points, tuple[Any, ...]]:
    """(collection of the points, what tasks know of it, the collection of the labels unless they are in the first)."""
    if not is_collection(labels):
        if not is_frame(points):
            raise wrong(
                "labels", CALLER, "a collection of Dask, or a column where the points are a frame", short(labels)
            )
        if labels not in list(points._meta.columns):
            names = ", ".join(map(str, points._meta.columns))
            raise wrong("labels", CALLER, f"one of the columns {names}", short(labels))
        return *point_blocks(points, caller=CALLER, label=labels), ()
    chosen, facts = point_blocks(points, caller=CALLER)
    if is_frame(labels) or (is_array(labels) and labels.ndim != 1):
        raise wrong("labels", CALLER, "one-dimensional", f"a {type(labels).__name__} of more dimensions")
    if is_array(labels) and is_array(chosen) and labels.chunks[0] != chosen.chunks[0]:
        if labels.shape[0] == chosen.shape[0]:  # never for unknown sizes, which are NaN
            labels = labels.rechunk((chosen.chunks[0],))
    return chosen, facts, (labels,)


@dataclass(frozen=True)
class _Options:
    points: Points
    noise: Any
    collinear: Collinear
    nonfinite: Nonfinite
    device: str | None


@dataclass(frozen=True, eq=False)
class Part:
    """The hulls of the labels of `n` neighbouring points; the `vertices` are indices among these.

    The batch has its labels in `label_column` only, in the type of the input.
    """

    n: int
    batch: HullBatch[Any]
    sample: Sample | None

    @property
    def points(self) -> NDArray[Any]:
        points: NDArray[Any] = self.batch.points
        return points


def _hulls_of_chunk(options: _Options, number: int, chunk: Any, labels: Any = None) -> Part:
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
    groups, owners = as_labels(labels, options.noise, caller=CALLER).groups()
    owners = owners if sizes is None else np.repeat(owners, sizes)
    column = batch.label_column
    if isinstance(column, np.ndarray) and getattr(getattr(labels, "dtype", None), "kind", None) == "O":
        column = _objects(column.tolist())  # so that labels of other chunks, of another type, are compared as objects
    batch = replace(batch, labels=None, label_column=column, phases=(), session=None)
    return Part(len(points), batch, facts.sampled(points, owners, len(groups)))


def _join(options: _Options, parts: list[Part]) -> Part:
    """Return the hulls of neighbours' labels, from the vertices of their hulls."""
    if len(parts) == 1:
        return parts[0]
    firsts, each = np.cumsum([0, *(part.n for part in parts)]), [part.batch for part in parts]
    keys = as_labels(_one_column([batch.label_column for batch in each]), None, caller=CALLER)
    distinct, numbers = np.unique(keys.keys, return_inverse=True)
    of_vertices = np.repeat(numbers, np.concatenate([np.diff(batch.offsets) for batch in each]))
    order = np.argsort(of_vertices, kind="stable")  # so that the first of equal points stays the first
    ids = np.concatenate([first + batch.vertices for first, batch in zip(firsts, each)])[order]
    offsets = np.searchsorted(of_vertices[order], np.arange(len(distinct) + 1))
    sizes = np.bincount(numbers, np.concatenate([batch.sizes for batch in each]), len(distinct)).astype(np.int64)
    points, session = options.points.joined(parts)[order], session_of_worker(options.device)
    hulls = batches.convex_hulls(points, offsets, collinear=options.collinear, device=session)
    batch = replace(
        hulls,
        vertices=ids[hulls.vertices],
        label_column=keys.column_of(distinct),
        label_name=next((batch.label_name for batch in each if batch.label_name), None),
        left_out=sum(batch.left_out for batch in each),
        group_offsets=np.append(0, np.cumsum(sizes)),
        phases=(),
        session=None,
    )
    return Part(int(firsts[-1]), batch, options.points.joined_samples(parts, numbers, len(distinct)))


def _finish(options: _Options, part: Part) -> HullBatch[Any]:
    column = part.batch.label_column
    if isinstance(column, np.ndarray) and column.dtype == object:
        column = as_labels(column, None, caller=CALLER).column_of(np.arange(len(column)))
    batch = replace(part.batch, labels=as_array(column), label_column=column, crs=options.points.crs)
    warn_of_samples(batch, part.sample, options.points.turn, caller=CALLER)
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
    if not filled:
        return columns[0]
    kinds = {"number" if column.dtype.kind in "iuf" else column.dtype.kind for column in filled}
    if "O" in kinds or len(kinds) > 1:
        return _objects([label for column in filled for label in column.tolist()])
    return np.concatenate(filled)
