"""The accessor ``.clgeom`` of pandas and GeoPandas objects: ``import clgeom.pandas`` registers it.

Examples
--------
>>> import pandas, clgeom.pandas
>>> trees = pandas.DataFrame({"plot": ["a", "b", "a", "a"], "x": [0, 5, 4, 0], "y": [0, 5, 0, 3]})
>>> trees.clgeom.total_hull().area
17.5
>>> trees["x"].clgeom.sort().tolist()
[0, 0, 4, 5]
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from clgeom import adaptive_region, argsort, convex_hull, convex_hulls_by_label
from clgeom.arguments import Parameter, absent, boolean, wrong
from clgeom.core.messages import listed
from clgeom.errors import InputWarning, InvalidInput, is_integer, short, warn
from clgeom.geo.geodesy import as_crs
from clgeom.geo.longitudes import turn_of_crs
from clgeom.hull.antimeridian import batch_over_antimeridian, checked_turn, members_of, over_antimeridian, warn_across
from clgeom.hull.measured import Measure
from clgeom.hull.result import Hull
from clgeom.intake.arrays import as_point_array
from clgeom.intake.interop.columns import choose_pair
from clgeom.intake.interop.frames import crs_of, is_geopandas
from clgeom.intake.labels import as_labels
from clgeom.optional import any_m, require, require_shapely
from clgeom.region.arc.result import CrossRegion, Region

require("pandas", "clgeom.pandas")

import pandas  # noqa: E402

from clgeom.core.host_floats import keeps_subnormals  # noqa: E402


@keeps_subnormals
class Geometries:
    """Hulls of the rows of a frame or series.

    The points are the vertices of the geometries. Those of a DataFrame without geometries are in its columns `x` and
    `y`, by default those that `clgeom.convex_hull` takes. Missing and empty geometries have no points. Z and M are left
    out.
    """

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def convex_hull(
        self,
        by: Any = None,
        *,
        level: Any = None,
        noise: object = None,
        x: str | None = None,
        y: str | None = None,
        crs: Any = None,
        antimeridian: bool = False,
        measures: Iterable[Measure] = (),
        **options: Any,
    ) -> Any:
        """Return the convex hull of each group of rows, or of each row without `by` and `level`.

        Parameters
        ----------
        by, level
            As in ``DataFrame.groupby``: `by` is a column, several columns, or values for the rows; `level` is a level
            of the index. Only one of them may be given. Rows with a missing value are in no group. Groups are in
            ascending order.
        noise : optional
            A value of `by` whose rows are in no group, such as the -1 of scikit-learn's DBSCAN.
        x, y : str, optional
            Columns of the coordinates, in a DataFrame without geometries. By default those that `clgeom.convex_hull`
            takes: named lon and lat, x and y, or easting and northing, else the only two besides `by`.
        crs : optional
            Coordinate reference system of `x` and `y`, as anything that pyproj takes.
        antimeridian : bool
            For longitudes and latitudes: where the points of a group lie closer together across 180 degrees, find the
            hull there, cut at 180 degrees. Without it such groups are warned of.
        measures : sequence of {"diameter", "width", "rectangle", "circle"}
            Further columns, as those of `clgeom.HullBatch.with_measures`.
        **options
            `collinear`, `nonfinite` and `device` of `clgeom.convex_hulls_by_label`.

        Returns
        -------
        geopandas.GeoDataFrame
            Columns `points` (their number), `area`, `perimeter` and the hull. The index holds the groups, or the rows,
            with their names. ``attrs["left_out"]`` is the number of rows in no group.

        Raises
        ------
        InvalidInput
            As for `clgeom.convex_hulls_by_label`; `by`, `level`, `x` or `y` names no column or level, or does not go
            with the others; or GeoPandas is not installed.
        """
        require("GeoPandas", "convex_hull")
        if "profile" in options:
            raise wrong("profile", "convex_hull", "left out: a frame has no phases", short(options["profile"]))
        if by is not None:
            absent(level, "level", "beside 'by'", caller="convex_hull")
        boolean(antimeridian, "antimeridian", caller="convex_hull")
        points, rows, crs = self._points("convex_hull", x, y, crs, by)
        if by is None and level is None:
            absent(noise, "noise", "without 'by' or 'level'", caller="convex_hull")
            groups, index, left_out = np.arange(len(self._rows)), self._rows.index, 0
        else:
            groups, index, left_out = self._groups(by, level, noise)
        numbers = groups[rows]
        batch = convex_hulls_by_label(points, numbers, noise=-1, **options)
        alike = functools.partial(convex_hull, **options)
        how: dict[str, Any] = {"wanted": antimeridian, "caller": "convex_hull", "names": index[batch.labels]}
        turn, members = checked_turn(crs, antimeridian, caller="convex_hull"), members_of(numbers, batch.labels)
        batch = batch_over_antimeridian(batch, points, members, turn, alike, **how)
        batch = batch.with_measures(*measures)
        frame = _completed(batch.to_geopandas(crs=crs), len(index)).set_index(index)
        frame.attrs["left_out"] = left_out
        name = getattr(getattr(self._rows, "geometry", None), "name", None)
        return frame if name in (None, *frame.columns) else frame.rename_geometry(name)

    def total_hull(
        self,
        *,
        x: str | None = None,
        y: str | None = None,
        crs: Any = None,
        antimeridian: bool = False,
        **options: Any,
    ) -> Hull:
        """Return the convex hull of all rows.

        Parameters
        ----------
        x, y, crs, antimeridian
            As in `convex_hull`.
        **options
            Those of `clgeom.convex_hull`.

        Returns
        -------
        Hull
            Its `vertices` are indices into the vertices of all rows, row after row. For points these are row numbers.

        Raises
        ------
        InvalidInput
            As for `clgeom.convex_hull`; `x` or `y` names no column, or is for geometries; or the series has no
            geometries.
        """
        boolean(antimeridian, "antimeridian", caller="total_hull")
        points, _, crs = self._points("total_hull", x, y, crs)
        turn = checked_turn(crs, antimeridian, caller="total_hull")
        alike: Callable[..., Any] = functools.partial(convex_hull, **options)
        keep = options.get("collinear") == "keep"
        how: dict[str, Any] = {"wanted": antimeridian, "caller": "total_hull", "keep_collinear": keep}
        return replace(over_antimeridian(alike(points), lambda: [points], turn, alike, **how), crs=crs)

    def adaptive_region(
        self, segments: Any, *, x: str | None = None, y: str | None = None, crs: Any = None, **options: Any
    ) -> Region | CrossRegion:
        """Return the adaptive region of all rows: `clgeom.adaptive_region` with its `segments` and options.

        Parameters
        ----------
        segments : int
        x, y, crs
            As in `convex_hull`.
        **options
            Those of `clgeom.adaptive_region`.

        Returns
        -------
        Region or CrossRegion
            With the `crs` of the rows.

        Raises
        ------
        InvalidInput
            As for `clgeom.adaptive_region`; `x` or `y` names no column, or is for geometries; or the series has no
            geometries.
        """
        points, _, crs = self._points("adaptive_region", x, y, crs)
        found = adaptive_region(points, segments, **options)
        found.crs = crs
        warn_across(getattr(found, "x", found), points, turn_of_crs(crs), caller="adaptive_region")
        return found

    def _points(self, caller: str, x: Any, y: Any, crs: Any, by: str | None = None) -> tuple[Any, ...]:
        """Return (points, the row of each, their coordinate reference system); columns of `by` have no coordinates."""
        rows = self._rows
        if not is_geopandas(rows):
            if isinstance(rows, pandas.Series):
                raise InvalidInput(
                    f"The series of {caller} must hold geometries. Got {rows.dtype} instead: use the frame's accessor."
                )
            if crs is not None:
                as_crs(crs, caller=caller)
            coordinates = rows.iloc[:, _places(rows, x, y, by, caller)]
            return as_point_array(coordinates, caller=caller, name="frame"), np.arange(len(rows)), crs
        own = crs_of(rows)
        for name, column in (("x", x), ("y", y)):
            absent(column, name, "for geometries", caller=caller)
        absent(crs, "crs", "for geometries, whose system set_crs() names", caller=caller)
        try:
            shapes = np.asarray(rows.geometry.array)
        except AttributeError as error:
            raise InvalidInput(f"The frame of {caller} must have an active geometry column: set_geometry().") from error
        shapely = require_shapely()
        for letter, there in (("Z", shapely.has_z(shapes).any()), ("M", any_m(shapely, shapes))):
            if there:
                warn(f"{caller} leaves out the {letter} of the geometries", InputWarning)
        points, rows = shapely.get_coordinates(shapes, return_index=True)
        return points, rows, own

    def _groups(self, by: str | None, level: float, noise: Any) -> tuple[Any, ...]:
        """Return (number of each row's group, -1 for none; the groups as an index; number of rows in no group)."""
        rows = self._rows
        try:
            grouped = rows.groupby(by, level=level, observed=True)
            index = grouped.size().index
            groups = grouped.ngroup()
        except KeyError as error:
            if not isinstance(rows, pandas.DataFrame):
                raise wrong("by", "convex_hull", "a level", error, verb="name") from error
            raise _unknown(rows, error.args[0], "by", "convex_hull") from error
        except (TypeError, ValueError, IndexError, NotImplementedError) as error:  # types that pandas cannot group
            raise InvalidInput(
                f"The 'by' and 'level' parameters of convex_hull must be those of pandas' groupby. {error}"
            ) from error
        kept = ~_is_noise(index, noise)
        number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)  # the last entry is for -1
        groups, index = number[groups.fillna(-1).to_numpy(np.int64)], index[kept]
        return groups, index, int((groups < 0).sum())


@keeps_subnormals
class FrameAccessor(Geometries):
    """Methods of a DataFrame or GeoDataFrame, as its attribute ``clgeom``.

    Examples
    --------
    >>> import pandas, clgeom.pandas
    >>> trees = pandas.DataFrame({"plot": ["a", "b", "a", "a"], "x": [0, 5, 4, 0], "y": [0, 5, 0, 3]})
    >>> trees.clgeom.total_hull().vertices.tolist()
    [0, 2, 1, 3]
    >>> trees.clgeom.adaptive_region(2).area <= trees.clgeom.total_hull().area
    True
    """


@keeps_subnormals
class SeriesAccessor(Geometries):
    """Methods of a Series or GeoSeries, as its attribute ``clgeom``.

    Examples
    --------
    >>> import pandas, clgeom.pandas
    >>> heights = pandas.Series([5.5, None, 2.0], index=["oak", "elm", "ash"])
    >>> heights.clgeom.sort().index.tolist(), heights.clgeom.argsort().tolist()
    (['ash', 'oak', 'elm'], [2, 0, 1])
    """

    def sort(self, *, descending: bool = False, ignore_index: bool = False, device: Any = None) -> Any:
        """Return the sorted series, as ``Series.sort_values(kind="stable")`` returns it: missing values last.

        Parameters
        ----------
        descending : bool
            Largest first; equal values keep their order.
        ignore_index : bool
            Number the result from 0 instead of keeping the index.
        device : str, pyopencl.Device or Session, optional

        Returns
        -------
        pandas.Series
            Of the same type.

        Raises
        ------
        InvalidInput
            For values that do not sort, such as lists, and as for `clgeom.sort`.
        """
        boolean(ignore_index, "ignore_index", caller="sort")
        found = self._rows.iloc[self._order("sort", descending, device)]
        return found.reset_index(drop=True) if ignore_index else found

    def argsort(self, *, descending: bool = False, device: Any = None) -> np.ndarray:
        """Return the positions that sort the series: ``series.iloc[series.clgeom.argsort()]`` equals
        ``series.clgeom.sort()``.

        Parameters
        ----------
        descending, device
            As in `sort`.

        Returns
        -------
        ndarray of int64, shape (n,)

        Raises
        ------
        InvalidInput
            As for `sort`.
        """
        return self._order("argsort", descending, device)

    def _order(self, caller: str, descending: bool, device: Any) -> Any:
        labels = as_labels(self._rows, None, caller=caller, name="series")
        keys = labels.keys
        order = argsort(keys, descending=descending, device=device)
        if not descending and keys.dtype.kind != "f":  # keys of missing values are the least
            missing = int(np.count_nonzero(np.isin(keys, labels.absent))) if labels.absent else 0
            order = np.concatenate([order[missing:], order[:missing]])
        return order


def _completed(frame: Any, count: int) -> Any:
    """Return a frame with a hull for each number below `count`; hulls that `frame` lacks are empty."""
    if len(frame) == count:
        return frame
    empty = np.setdiff1d(np.arange(count), frame.index)
    frame = frame.reindex(np.arange(count))
    numbers = frame.columns.drop("geometry")
    frame.loc[empty, numbers.drop(["circle_x", "circle_y"], errors="ignore")] = 0
    frame.loc[empty, "geometry"] = require_shapely().GeometryCollection()
    return frame.astype({"points": np.int64})


def _is_noise(index: Any, noise: Any) -> Any:
    """Return which of the groups is noise: a value of `by`, of several columns a tuple of values."""
    if noise is None:
        return np.zeros(len(index), bool)
    if index.nlevels > 1 and not (isinstance(noise, tuple) and len(noise) == index.nlevels):
        expected = f"a tuple of {index.nlevels} values"
        raise wrong("noise", "convex_hull", expected, short(noise))
    values = noise if index.nlevels > 1 else (noise,)
    found = np.ones(len(index), bool)
    for level, value in enumerate(values):
        labels = as_labels(index.get_level_values(level), value, caller="convex_hull", name="by")
        found &= labels.is_absent(np.asarray(labels.keys))
    return found


def _places(frame: Any, x: Any, y: Any, by: str | None, caller: str) -> list[Any]:
    """Return the positions of the columns of x and y: those with these names, or by default those that points have."""
    if x is not None or y is not None:
        return [_place(frame, name, caller) for name in ("x" if x is None else x, "y" if y is None else y)]
    groups = {one for one in (by if isinstance(by, list) else [by]) if isinstance(one, str)}
    places = [place for place, name in enumerate(frame.columns) if name not in groups]
    names = [str(frame.columns[place]) for place in places]
    pair = choose_pair(names, Parameter("frame", caller), ", or columns that x= and y= name")
    return [places[one] for one in pair]


def _place(frame: Any, name: str, caller: str) -> Any:
    """Return the position of a column."""
    try:
        place = frame.columns.get_loc(name)
    except (KeyError, TypeError, pandas.errors.InvalidIndexError) as error:
        raise _unknown(frame, name, "x' and 'y", caller) from error
    if not is_integer(place):
        raise InvalidInput(
            f"The 'x' and 'y' parameters of {caller} must name one column each. Got {short(name)} instead."
        )
    return place


def _unknown(frame: Any, name: str, parameter: Any, caller: str) -> InvalidInput:
    """Return the error for a column that the frame does not have."""
    names = [str(column) for column in frame.columns]
    near = difflib.get_close_matches(str(name), names, 1)
    meant = f"; did you mean {near[0]!r}?" if near else f". It has {listed(names)}."
    words = f"The '{parameter}' parameter{'s' * (' ' in parameter)} of {caller} must name columns."
    return InvalidInput(f"{words} Got {short(name)} instead{meant}")


pandas.api.extensions.register_dataframe_accessor("clgeom")(FrameAccessor)
pandas.api.extensions.register_series_accessor("clgeom")(SeriesAccessor)
