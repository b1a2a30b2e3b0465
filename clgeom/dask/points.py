"""Chunks of points: rows of arrays, columns x and y of dataframes, geometries, bags of pairs of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.arguments import Parameter, has_shape, wrong
from clgeom.dask.graphs import is_array, is_bag, is_frame, is_series
from clgeom.geo.longitudes import Sample, numbered_parts, turn_of_crs
from clgeom.intake.arrays import as_point_array, as_point_array_with_sizes, canonical_points
from clgeom.intake.interop.columns import choose_pair
from clgeom.intake.interop.frames import crs_of, is_geopandas

EXPECTED = "an array, a dataframe, a series of geometries or a bag of Dask"


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

    def sampled(self, points: Any, owners: np.ndarray, groups: int) -> Sample | None:
        """Return a sample of the longitudes of a chunk's groups; `owners` has the group of each point, -1 for none."""
        turn = self.turn
        if turn is None:
            return None
        ((rows, numbers),) = numbered_parts([points])
        owners = owners[numbers]
        grouped = owners >= 0
        return Sample.of(owners[grouped], rows[grouped, 0], groups, turn)

    def joined_samples(self, parts: Sequence[Any], numbers: np.ndarray, groups: int) -> Sample | None:
        """Return those of parts; `numbers` has the new group of each of their groups."""
        turn = self.turn
        return None if turn is None else Sample.joined([part.sample for part in parts], numbers, groups, turn)

    def joined(self, parts: Sequence[Any]) -> np.ndarray:
        """Return the `points` of parts, one after another, in the type of the `n` points of each."""
        types = {part.points.dtype for part in parts if part.n} or {self.empty.dtype}
        points = [part.points for part in parts if len(part.points)] or [self.empty]
        return np.concatenate(points).astype(np.result_type(*types), copy=False)


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
