"""Nodes located by a moving beacon: the intersection of the areas in which its broadcasts can be received.

A beacon moves and broadcasts its position. A node that hears it at several places is where all these places can be
received: in the intersection of their masks, of regions around them, or of their convex hulls. Its estimated position
is the centroid of the intersection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clgeom.arguments import has_shape, has_type, integer, number, one_of, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.intake.arrays import host_values
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.interop.rasters import Raster
from clgeom.intake.typing import AnyArray, ArrayLike, DeviceLike, FloatLike, IntLike, NDArray
from clgeom.optional import require_shapely
from clgeom.radio.antennas import warn_unused
from clgeom.region.coverage.grid import as_grid
from clgeom.region.coverage.rasters import covered_mask
from clgeom.region.coverage.regions import raster_regions

CALLER = "locate_by_beacon"
METHODS = ("masks", "regions", "hulls")


@keeps_subnormals
@dataclass(frozen=True, eq=False)
class BeaconFix:
    """Estimated positions of nodes: the result of `locate_by_beacon`.

    Parameters
    ----------
    nodes : ndarray of float64, shape (n, 2)
        The true positions.
    estimates : ndarray of float64, shape (n, 2)
        The centroids; NaN for a node that hears nothing.
    heard : ndarray of int64, shape (n,)
        Number of broadcasts that were used.
    areas : ndarray of float64, shape (n,)
        Area of the intersection in the square of the map's unit; NaN for a node that hears nothing.
    method : str

    Examples
    --------
    >>> import numpy as np
    >>> from clgeom import radio
    >>> maps = np.array([[[-60, -60, -90]], [[-90, -60, -60]]])
    >>> fix = radio.locate_by_beacon(maps, [(1.5, 0.5), (2.5, 0.5)], -70)
    >>> fix.errors.tolist(), fix.success_rate(0.4)
    ([0.0, 0.5], 0.5)
    """

    nodes: NDArray[np.float64]
    estimates: NDArray[np.float64]
    heard: NDArray[np.int64]
    areas: NDArray[np.float64]
    method: str

    @property
    def errors(self) -> NDArray[np.float64]:
        """Distances of the estimates from the true positions, in the map's unit; infinite where nothing is heard."""
        apart = np.hypot(*(self.estimates - self.nodes).T)
        return np.where(np.isnan(apart), np.inf, apart)

    def success_rate(self, accuracy: FloatLike) -> float:
        """Return the share of the nodes whose error is at most `accuracy`.

        Parameters
        ----------
        accuracy : float
            In the map's unit: 0 or more, finite.

        Returns
        -------
        float
            From 0 to 1; 1 without nodes.

        Raises
        ------
        InvalidInput
            `accuracy` is no such number.
        """
        accuracy = number(accuracy, "accuracy", caller="success_rate", least=0, unit="the map's unit")
        return float(np.count_nonzero(self.errors <= accuracy) / len(self.nodes)) if len(self.nodes) else 1.0

    def plot(self, ax: Any = None, *, raster: Any = None, title: str | None = None) -> Any:
        """Draw the nodes and their estimates with Matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot's by default.
        raster : RadioMap, or object with `values` and `transform`, optional
            Drawn below the nodes.
        title : str, optional

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.

        Raises
        ------
        InvalidInput
            Matplotlib is not installed.
        """
        from clgeom.geo.geodesy import axes_of_crs
        from clgeom.plotting.coverage import plot_fixes

        below = {} if raster is None else {"values": raster.values, "transform": raster.transform}
        axes = axes_of_crs(getattr(raster, "crs", None))
        title = f"{len(self.nodes):,} nodes located by {self.method}" if title is None else title
        return plot_fixes(self.nodes, self.estimates, ax, **below, title=title, axes=axes)

    def __repr__(self) -> str:
        known = self.errors[np.isfinite(self.errors)]
        middle = f", median error {np.median(known):.4g}" if len(known) else ""
        return f"BeaconFix({self.method}: {len(self.nodes):,} nodes, {len(known):,} located{middle})"


@keeps_subnormals
@takes_cuda
def locate_by_beacon(
    maps: AnyArray,
    nodes: ArrayLike,
    level: FloatLike,
    *,
    method: Literal["masks", "regions", "hulls"] = "regions",
    transform: Any = None,
    heard: ArrayLike | None = None,
    most: IntLike | None = None,
    segments: IntLike = 64,
    device: DeviceLike = None,
) -> BeaconFix:
    """Estimated positions of nodes that hear a moving beacon at some of its places.

    Parameters
    ----------
    maps : array_like or pyopencl.array.Array, shape (places, rows, columns)
        Received power in dBm of the beacon at each of its places, as predicted.
    nodes : array_like, shape (n, 2)
        True positions (x, y) of the nodes, in the coordinates of the map.
    level : float
        Least received power in dBm.
    method : {"masks", "regions", "hulls"}
        What is intersected: the cells themselves (exact, and most to store and send), regions of low resolution around
        them, or their convex hulls.
    transform : optional
        As for `coverage_regions`.
    heard : array_like of bool, shape (n, places), optional
        Which places each node hears; by default those whose predicted power in its cell reaches the level.
    most : int, optional
        Use at most so many places for a node, those that it hears with the most predicted power; 2 for the intersection
        of two maps.
    segments : int
        Resolution of the regions, as for `raster_regions`. Only for method="regions".
    device : optional
        As everywhere in clgeom. Masks are intersected on the host.

    Returns
    -------
    BeaconFix

    Raises
    ------
    InvalidInput
        Arrays of other shapes, or a node outside of the map.

    Warns
    -----
    InputWarning
        `segments` with a method that does not use them.

    Notes
    -----
    A region covers every cell of its mask, so without an error of the prediction the node is in every intersection.
    Source: V. B. Ramakrishnaiah et al., on adaptive region construction, section 2, with success rates of the
    intersection of convex hulls.

    Examples
    --------
    >>> import numpy as np
    >>> from clgeom import radio
    >>> places = [(20.5, 20.5), (20.5, 44.5), (44.5, 32.5)]
    >>> maps = np.stack([radio.coverage_map((64, 64), transmitters=[at], sigma=3, seed=4).values for at in places])
    >>> nodes = np.random.default_rng(0).uniform(20, 44, (50, 2))
    >>> fixes = [radio.locate_by_beacon(maps, nodes, -62, method=how) for how in ("masks", "hulls")]
    >>> bool((fixes[0].areas <= fixes[1].areas).all())
    True
    """
    one_of(method, METHODS, "method", caller=CALLER)
    if method != "regions":
        warn_unused({"segments": (segments, 64)}, CALLER, f"method='{method}'")
    maps = fetched(maps) if is_device_array(maps) else maps
    shaped = maps if isinstance(maps, np.ndarray) else host_values(maps, caller=CALLER, name="maps")
    has_shape(shaped, ("places", "rows", "columns"), "maps", caller=CALLER)
    masks = covered_mask(maps, level, caller=CALLER)
    grid = as_grid(transform, None, masks.shape[1:], caller=CALLER)
    positions = host_values(nodes, caller=CALLER, name="nodes")
    has_type(positions, "biuf", "numbers", "nodes", caller=CALLER)
    has_shape(positions, ("n", 2), "nodes", caller=CALLER)
    positions = positions.astype(np.float64)
    cells = _cells_of(positions, grid)
    known = _heard(heard, masks, cells)
    if most is not None:
        known = _strongest(known, maps, cells, integer(most, "most", caller=CALLER))
    sets, of_node = np.unique(known, axis=0, return_inverse=True)
    if method == "masks":
        fixes = _centroids_of_masks(masks, sets, grid)
    else:
        count = 1 if method == "hulls" else segments
        regions = raster_regions(
            Raster(maps, transform), level, segments=count, parts=method == "regions", device=device
        )
        fixes = _centroids_of_shapes(regions, len(masks), sets)
    fixes[~sets.any(axis=1)] = np.nan
    centroids = fixes[of_node.reshape(-1)]
    return BeaconFix(positions, centroids[:, :2], known.sum(axis=1), centroids[:, 2], method)


def _cells_of(nodes: NDArray[np.float64], grid: Any) -> NDArray[np.int64]:
    """Return the columns and rows of the cells of the nodes."""
    with np.errstate(invalid="ignore"):
        at = np.floor(grid.to_cells(nodes)) if len(nodes) else np.empty((0, 2))
    inside = ((at >= 0) & (at < grid.shape[::-1])).all(axis=1)
    if not inside.all():
        x, y = nodes[int(np.argmin(inside))]
        raise wrong("nodes", CALLER, "within the map", f"({x:g}, {y:g})")
    return np.asarray(at.T, np.int64)


def _heard(heard: ArrayLike | None, masks: NDArray[np.bool_], cells: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which places each node hears, shape (n, places)."""
    column, row = cells
    if heard is None:
        return masks[:, row, column].T
    known = host_values(heard, caller=CALLER, name="heard")
    has_type(known, "b", "bool", "heard", caller=CALLER, shape=(len(row), len(masks)))
    return known


def _strongest(known: NDArray[np.bool_], maps: Any, cells: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    """Return the places that each node hears, without all but the `most` strongest."""
    column, row = cells
    power = np.where(known, np.ma.filled(np.ma.asarray(maps)[:, row, column].T.astype(float), -np.inf), -np.inf)
    order = np.argsort(-np.nan_to_num(power, nan=-np.inf), axis=1, kind="stable")[:, :most]
    kept = np.zeros_like(known)
    np.put_along_axis(kept, order, True, axis=1)
    return kept & known


def _centroids_of_masks(masks: NDArray[np.bool_], sets: NDArray[np.bool_], grid: Any) -> NDArray[np.float64]:
    """(x, y, area) of the cells that all places of a set reach, for each set.

    Cells that the same places reach count together: their number and the sums of their columns and rows are enough.
    """
    places, (rows, columns) = len(masks), grid.shape
    codes = np.packbits(masks.reshape(places, -1), axis=0).T
    codes, of_cell = np.unique(codes, axis=0, return_inverse=True)
    of_cell = of_cell.reshape(-1)
    at = np.arange(rows * columns)
    counts, across, down = (
        np.bincount(of_cell, v, len(codes)) for v in (None, at % columns + 0.5, at // columns + 0.5)
    )
    fixes = np.full((len(sets), 3), np.nan)
    for fix, places_heard in zip(fixes, np.packbits(sets, axis=1)):
        common = (codes & places_heard == places_heard).all(axis=1)
        count = counts[common].sum()
        if count:
            fix[:2] = grid.to_map([(across[common].sum() / count, down[common].sum() / count)])[0]
            fix[2] = count * grid.cell_area
    return fixes


def _centroids_of_shapes(regions: Any, places: int, sets: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(x, y, area) of the intersection of the regions of all places of a set, for each set."""
    shapely = require_shapely()
    parts: list[list[Any]] = [[] for _ in range(places)]
    for place, shape in zip(regions.maps.tolist(), regions.to_shapely()):
        parts[place].append(shape)
    shapes = np.array([shapely.union_all(some) if some else shapely.Polygon() for some in parts], object)
    fixes = np.full((len(sets), 3), np.nan)
    for fix, places_heard in zip(fixes, sets):
        if places_heard.any():
            common = shapely.intersection_all(shapes[places_heard])
            if common.area > 0:
                fix[:] = common.centroid.x, common.centroid.y, common.area
    return fixes
