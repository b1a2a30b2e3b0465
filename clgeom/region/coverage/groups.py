"""Regions whose chains were computed together, and their outlines."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.geo.ragged import Ragged
from clgeom.intake.several import side_by_side
from clgeom.intake.typing import NDArray
from clgeom.optional import require_shapely
from clgeom.region.arc.chains import Chains
from clgeom.region.arc.result import CrossRegion, Region
from clgeom.region.coverage.chain_rings import ChainRings, chains_of_one, rings_of
from clgeom.region.coverage.grid import Grid
from clgeom.region.coverage.holes import Hole

#: Regions that are made one by one, before the outlines of all are.
ALONE = 4


class CellOutline(Region):
    """A region of cells, whose chains do not meet: a single polygon."""

    @functools.cached_property
    def parts(self) -> tuple[NDArray[Any], ...]:
        lower, upper = self._both()
        ring = np.concatenate([lower, upper[::-1]])
        if self.axis == "y":
            ring = np.concatenate([ring[:1], ring[:0:-1]])[:, ::-1]
        return (ring,) if len(ring) else ()


@dataclass(frozen=True)
class Group:
    """Regions with their chains in one `Chains`: region i of `chains` belongs to `maps`[i], `levels`[i] and `parts`[i].

    `cells` has the numbers of their cells, `holes` the holes by region. With axis="both", `across` has for each region
    (chains, its number in them) of its outline along the other axis. `alone` has the first regions that were asked for.
    """

    chains: Chains
    maps: NDArray[Any]
    levels: NDArray[Any]
    parts: NDArray[Any]
    cells: NDArray[Any] | None = None
    holes: dict[int, tuple[Hole, ...]] | None = None
    across: list[tuple[Chains, int]] | None = None
    alone: set[int] = field(default_factory=set)

    @functools.cached_property
    def rings(self) -> ChainRings:
        """The outlines along x."""
        return rings_of(self.chains)

    def outline(self, i: int) -> CellOutline | CrossRegion:
        """Return the outline of region i."""
        self.alone.add(i)
        is_alone = len(self.alone) <= ALONE and "rings" not in vars(self)
        both = chains_of_one(self.chains, i) if is_alone else self.rings.chains(i)
        own = CellOutline(*both, segments=self.chains.head.effective[i])
        if self.across is None:
            return own
        (chains, number), there = self.across[i], self._rings_across
        other = there[id(chains)].chains(number)
        crossed = CrossRegion(own, CellOutline(*other, segments=chains.head.effective[number], axis="y"))
        if not is_alone and self.crossed is not None:
            vars(crossed)["_shape"] = self.crossed[i]
        return crossed

    @functools.cached_property
    def crossed(self) -> NDArray[np.object_] | None:
        """The shapes of regions with axis="both" in columns and rows; None if GEOS fails, or if a region is empty."""
        shapely = require_shapely()
        if self.across is None or not np.diff(self.rings.offsets).all():
            return None
        own = _polygons(self.rings.corners, self.rings.offsets)
        there = {number: _turned(rings) for number, rings in self._rings_across.items()}
        others = np.array([there[id(chains)][number] for chains, number in self.across], object)
        try:
            return np.asarray(shapely.intersection(own, others))
        except shapely.errors.GEOSException:
            return None

    @functools.cached_property
    def _rings_across(self) -> dict[int, ChainRings]:
        """The outlines along the other axis, by the identity of their chains."""
        return {number: rings_of(chains) for number, chains in {id(one): one for one, _ in self.across or ()}.items()}


def _polygons(corners: NDArray[Any], offsets: NDArray[Any]) -> NDArray[np.object_]:
    """Return rings as polygons, one each; None for those without corners."""
    filled = np.diff(offsets) > 0
    offsets, made = np.append(0, offsets[1:][filled]), np.full(len(filled), None)
    made[filled] = Ragged(corners.astype(np.float64), offsets, np.arange(len(offsets))).to_shapely()
    return made


def _turned(rings: ChainRings) -> NDArray[np.object_]:
    """Return rings along y as polygons: columns and rows exchanged, the other way round. Rings may be empty."""
    offsets, filled = rings.offsets, np.diff(rings.offsets) > 0
    first = offsets[:-1][filled]
    picked = np.repeat(offsets[:-1] + offsets[1:], np.diff(offsets)) - np.arange(offsets[-1])
    picked[first] = first
    return _polygons(rings.corners[picked, ::-1], offsets)


def exteriors(shapes: NDArray[np.object_], grid: Grid) -> Ragged:
    """Return the exteriors of polygons of columns and rows in map coordinates, counter-clockwise."""
    shapely = require_shapely()
    rings = shapely.get_exterior_ring(shapes)
    sizes = shapely.get_num_coordinates(rings) - 1
    offsets = np.append(0, np.cumsum(sizes))
    corners = np.delete(shapely.get_coordinates(rings), offsets[1:] + np.arange(len(sizes)), axis=0)
    begins, ends = np.repeat(offsets[:-1], sizes), np.repeat(offsets[1:], sizes)
    at = np.arange(len(corners))
    turned = np.repeat(shapely.is_ccw(rings) == (grid.determinant < 0), sizes) & (at > begins)
    places = grid.to_map(corners[np.where(turned, begins + ends - at, at)])
    return Ragged(places, offsets, np.arange(len(offsets)))


def read_side_by_side(groups: Iterable[Group]) -> None:
    """Read the vertices that are on several devices from all of them side by side."""
    unread = [(group.chains.session, group.chains) for group in groups if not group.chains.on_host]
    if len(set(session for session, _ in unread)) > 1:
        side_by_side(unread, lambda _, chains: chains.vertices())


def areas_between(chains: Chains) -> np.ndarray:
    """Return the area between the chains of each region, as a sum of trapezoids."""
    under = []
    for points, offsets in ((chains.lower, chains.head.lower_offsets), (chains.upper, chains.head.upper_offsets)):
        points = points.astype(np.float64)
        terms = np.append((points[1:, 0] - points[:-1, 0]) * (points[1:, 1] + points[:-1, 1]) / 2, [0.0, 0.0])
        first, last = offsets[:-1], np.maximum(offsets[1:] - 1, offsets[:-1])
        # each sum by itself: what regions are before it must not change its rounding
        sums = np.add.reduceat(terms, np.stack([first, last], axis=1).ravel())[::2] if len(first) else np.empty(0)
        under.append(np.where(first < last, sums, 0.0))
    return under[1] - under[0]
