"""The convex hull of points in the chunks of a collection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from dask.delayed import Delayed

from clgeom.arguments import one_of
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dask.graphs import SPLIT_EVERY, blocks_of, in_chunk, name_of, tree
from clgeom.dask.points import Points, point_blocks
from clgeom.dask.workers import checked_device, session_of_worker
from clgeom.geo.longitudes import Sample
from clgeom.hull import convex
from clgeom.hull.antimeridian import warn_of_sample
from clgeom.hull.result import Hull
from clgeom.intake.typing import Collinear, NDArray, Nonfinite

CALLER = "dask.convex_hull"


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
    one_of(collinear, ("drop", "keep"), "collinear", caller=CALLER)
    one_of(nonfinite, ("raise", "drop"), "nonfinite", caller=CALLER)
    one_of(filter, ("auto", "octagon", "none"), "filter", caller=CALLER)
    device = checked_device(device, caller=CALLER)
    chosen, facts = point_blocks(points, caller=CALLER)
    options = _Options(facts, collinear, nonfinite, filter, device)
    name = name_of("convex-hull", [chosen], options, split_every)
    shape: dict[str, Any] = {"split_every": split_every, "resources": resources, "caller": CALLER}
    return tree(name, _hull_of_chunk, _join, _finish, options, [blocks_of(chosen)], **shape)


@dataclass(frozen=True)
class _Options:
    points: Points
    collinear: Collinear
    nonfinite: Nonfinite
    filter: Any
    device: str | None


@dataclass(frozen=True, eq=False)
class Part:
    """The hull of some neighbouring points, whose `vertices` are indices among these."""

    hull: Hull
    sample: Sample | None

    @property
    def n(self) -> int:
        return self.hull.n

    @property
    def points(self) -> NDArray[Any]:
        return self.hull.points


def _hull_of_chunk(options: _Options, number: int, chunk: Any) -> Part:
    with in_chunk(number):
        points = options.points.with_sizes(chunk)[0]
        hull = _hull(options, points, nonfinite=options.nonfinite)
    return Part(hull, options.points.sampled(points, np.zeros(len(points), np.int64), 1))


def _join(options: _Options, parts: list[Part]) -> Part:
    """Return the hull of the points of neighbours, from the vertices of their hulls."""
    if len(parts) == 1:
        return parts[0]
    firsts = np.cumsum([0, *(part.n for part in parts)])
    ids = np.concatenate([first + part.hull.vertices for first, part in zip(firsts, parts)])
    hull = _hull(options, options.points.joined(parts))
    sample = options.points.joined_samples(parts, np.zeros(len(parts), np.int64), 1)
    return Part(replace(hull, vertices=ids[hull.vertices], n=int(firsts[-1])), sample)


def _finish(options: _Options, part: Part) -> Hull:
    hull = replace(part.hull, crs=options.points.crs)
    warn_of_sample(hull, part.sample, options.points.turn, caller=CALLER)
    return hull


def _hull(options: _Options, points: Any, **more: Any) -> Hull:
    session = session_of_worker(options.device)
    hull = convex.convex_hull(points, collinear=options.collinear, filter=options.filter, device=session, **more)
    return Hull(hull.vertices, hull.points, hull.dimension, hull.n)
