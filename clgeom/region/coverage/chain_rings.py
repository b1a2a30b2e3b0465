"""The rings of many outlines by columns as arrays, from their chains, without a loop over regions.

lower  o--o--o   upper  o-----o      of each region, vertices on straight lines left out, become the ring
                                     lower chain from left to right, upper chain from right to left

The chains of covered cells never meet: on each grid line between a region's columns, its lowest and highest corner are
at least one cell apart, and tangents that cross are rounded outwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.hull.measures import polygon_area, two_product
from clgeom.hull.predicates import host_signs
from clgeom.region.arc.chains import Chains, Head

#: Differences of float32 numbers are exact in float64 if the largest magnitude is at most so many times the least.
SPAN = 2.0**28
#: Fractions of products are summed in two halves of so many bits.
HALF = 26


@dataclass(frozen=True, eq=False)
class ChainRings:
    """Ring r has the vertices from ``offsets[r]`` to ``offsets[r + 1]``; its first `lower[r]` are the lower chain."""

    corners: np.ndarray  # columns and rows, float32, shape (n, 2)
    offsets: np.ndarray
    lower: np.ndarray

    def chains(self, ring: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper chain of a ring, both from left to right."""
        first, last = self.offsets[ring : ring + 2].tolist()
        middle = first + int(self.lower[ring])
        return self.corners[first:middle], self.corners[middle:last][::-1]

    def some(self, rings: np.ndarray) -> ChainRings:
        """Return some of the rings."""
        begins, sizes = self.offsets[:-1][rings], np.diff(self.offsets)[rings]
        offsets = np.append(0, np.cumsum(sizes))
        is_all = offsets[-1] == len(self.corners)
        corners = self.corners if is_all else self.corners[_places(begins, sizes, offsets)]
        return ChainRings(corners, offsets, self.lower[rings])


def _places(begins: np.ndarray, sizes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the numbers from each begin on, as many as the size, one after the other from the offsets on."""
    return np.asarray(np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], sizes))


class RingChains(Chains):
    """The chains of rings, of regions with so many `segments`; they are made when they are needed."""

    def __init__(self, rings: ChainRings, segments: np.ndarray) -> None:
        lower = np.append(0, np.cumsum(rings.lower))
        super().__setstate__((len(segments), Head(lower, rings.offsets - lower, segments, False), None))
        self.rings = rings

    def __getstate__(self) -> tuple[Any, ...]:
        return self.rings, self.head.effective

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        RingChains.__init__(self, *state)

    @property
    def on_host(self) -> bool:
        return True

    def vertices(self) -> np.ndarray:
        if self._rows is None:
            (below, above, _, _), rings = self.head, self.rings
            upper = np.repeat(rings.offsets[1:] - 1 + above[:-1], np.diff(above)) - np.arange(above[-1])
            places = np.concatenate([_places(rings.offsets[:-1], rings.lower, below), upper])
            self._rows = rings.corners[places]
        return self._rows


def rings_of(chains: Chains) -> ChainRings:
    """Return the rings of regions; a region without cells has an empty one."""
    if isinstance(chains, RingChains):
        return chains.rings
    (below, above, _, _), regions = chains.head, len(chains)
    points, both = _straightened(chains.vertices(), np.append(below, below[-1] + above[1:]))
    lower_offsets, upper_offsets = both[: regions + 1], both[regions:] - both[regions]
    lower, upper = np.split(points, both[regions : regions + 1])
    sizes = np.diff(lower_offsets)
    offsets, corners = lower_offsets + upper_offsets, np.empty((len(lower) + len(upper), 2), lower.dtype)
    corners[np.arange(len(lower)) + np.repeat(upper_offsets[:-1], sizes)] = lower
    ends = offsets[1:] - 1 + upper_offsets[:-1]  # place of a region's first upper vertex, plus its number
    corners[np.repeat(ends, np.diff(upper_offsets)) - np.arange(len(upper))] = upper
    return ChainRings(corners, offsets, sizes)


def chains_of_one(chains: Chains, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper chain of one region, as `rings_of` has them."""
    if isinstance(chains, RingChains):
        return chains.rings.chains(number)
    lower, upper = (_straightened(chain, np.array([0, len(chain)]))[0] for chain in chains[number])
    return lower, upper


def _straightened(points: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return chains without the vertices on the line between their neighbours, as many corners of cells are."""
    if len(points) < 3:
        return points, offsets
    kept = np.ones(len(points), bool)
    kept[1:-1] = _turns(points)
    filled = offsets[:-1] < offsets[1:]
    kept[offsets[:-1][filled]] = kept[offsets[1:][filled] - 1] = True
    before = np.append(0, np.cumsum(kept))
    return points[kept], before[offsets]


def _turns(points: np.ndarray) -> np.ndarray:
    """Return whether each vertex but the first and the last is off the line through its neighbours, exactly.

    If differences are exact, so are their products as sums of two numbers, which are equal only if both are.
    """
    sizes = np.abs(points[points != 0])
    places = points.astype(np.float64)
    if sizes.max(initial=0.0) > SPAN * sizes.min(initial=1.0):
        return np.asarray(host_signs(places[:-2], places[1:-1], places[2:]) != 0)
    (dx, dy) = np.ascontiguousarray(np.diff(places, axis=0).T)
    rising, falling = dx[:-1] * dy[1:], dx[1:] * dy[:-1]
    turns: np.ndarray = rising != falling
    same = np.flatnonzero(~turns)
    products = two_product(dx[same], dy[same + 1])[1], two_product(dx[same + 1], dy[same])[1]
    turns[same] = products[0] != products[1]
    return turns


def ring_areas(corners: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the area of each ring of float32 corners, correctly rounded as by `polygon_area`; 0 for an empty ring.

    The products of the shoelace formula are exact. Whole numbers and fractions are summed as integers.
    """
    areas, filled = np.zeros(len(offsets) - 1), np.flatnonzero(offsets[:-1] < offsets[1:])
    if not len(filled):
        return areas
    first, last = offsets[:-1][filled], offsets[1:][filled] - 1
    x, y = np.ascontiguousarray(corners.T, np.float64)
    after = np.arange(1, len(x) + 1)
    after[last] = first
    terms = np.stack([x * y[after], -x[after] * y])
    whole = np.floor(terms)
    scaled = (terms - whole) * 2.0 ** (2 * HALF)
    units = scaled.astype(np.int64)
    mask = (1 << HALF) - 1
    low, middle, high = (
        np.add.reduceat(part.sum(axis=0), first) for part in (units & mask, units >> HALF, whole.astype(np.int64))
    )
    middle += low >> HALF
    high += middle >> HALF
    fraction = ((middle & mask) << HALF) + (low & mask)
    areas[filled] = (high + fraction * 2.0 ** (-2 * HALF)) / 2
    fine = np.abs(terms).max(axis=0) >= 2.0**50  # numbers of this many bits, or of finer fractions
    lost = np.logical_or.reduceat((scaled != units).any(axis=0) | fine, first)
    for r in filled[lost].tolist():
        areas[r] = polygon_area(corners[offsets[r] : offsets[r + 1]])
    return areas
