"""Many polygons as arrays in longitude and latitude, without a loop over polygons.

Edges are cut until every piece is close to its curve, as in `clgeom.geo.lonlat`. Then there are two ways:

- Polygons are moved outwards by more than the largest distance between a piece and its curve. So they contain what they
  contain in the plane. Where a polygon of one level has a boundary in common with one that is within it, it is moved
  farther; where it still does not contain that one, it is united with it.
- Polygons that stay apart are not moved. Common boundaries are cut at the same places, so they stay common, to the bit:
  also those of polygons of one `Frame` that come some at a time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.geo.geodesy import Mapping, as_crs, is_plain_geographic
from clgeom.geo.geojson import as_geojson
from clgeom.geo.lonlat import DEGREE, MARGIN, SHARE, WGS84, LonLat
from clgeom.geo.ragged import Ragged, lattice_of
from clgeom.optional import require_shapely

#: Decimals of degrees in files: 0.1 mm, less than MARGIN.
DECIMALS = 9
#: Largest extent in longitude of an edge of polygons that no meridian cuts and that have no pole inside, and largest
#: latitude of those that are moved outwards: nearer to a pole 1 m is not the same in all longitudes of a map.
WIDEST, HIGHEST = 90.0, 80.0
#: Metres by which a transformation to the earth and back may be off.
THERE_AND_BACK = 0.01
#: Most times that edges are cut again.
MOST_CUTS = 8
#: Most times that a boundary moves as far as one that is alone: this, or as many as are within a share of a cell.
MOST_GROWTH, MOST_SHARE = 4.0, 1 / 16
#: Shares of the tolerance, and decimals, that are tried until polygons stay apart; None for every bit.
FINER = ((1.0, DECIMALS), (0.1, DECIMALS + 2), (0.01, None))


@dataclass(frozen=True, eq=False)
class Sheets:
    """What polygons are on: `ranks` says how many levels are within each, `maps` has their maps.

    Polygons of one map nest by rank. If they are `apart`, polygons of one rank do not overlap, whatever their maps.
    `corners` has the same polygons in columns and rows, ring for ring and vertex for vertex.
    """

    corners: Ragged
    ranks: np.ndarray
    maps: np.ndarray
    apart: bool = False


@dataclass(frozen=True, eq=False)
class Frame:
    """A map whose polygons come some at a time: `places` are spread over it, and all are cut by the same rules.

    `finer` chooses one of `FINER`; `NotApart` tells that a later one is needed, for all polygons.
    """

    places: np.ndarray
    finer: int = 0


class NotApart(Exception):
    """Polygons that must stay apart do not, as finely as they are cut and rounded."""


@dataclass(frozen=True, eq=False)
class InDegrees:
    """Polygons in longitude and latitude: `shapes`, except `others`, Shapely geometries by their number.

    `added` is the number of vertices that were added along edges. The coordinates of `shapes` have so many `decimals`,
    or every bit if that is None.
    """

    shapes: Ragged
    added: int = 0
    decimals: int | None = None
    others: dict[int, Any] = field(default_factory=dict)

    @property
    def vertices(self) -> int:
        """The number of vertices of all polygons; the first one of a ring counts once."""
        shapely, counts = require_shapely(), self.shapes.counts
        counts[list(self.others)] = [
            shapely.get_num_coordinates(shape) - len(shapely.get_rings(shapely.get_parts(shape)))
            for shape in self.others.values()
        ]
        return int(counts.sum())

    def to_shapely(self) -> np.ndarray:
        """Return the polygons as an array of Shapely geometries."""
        polygons = self.shapes.to_shapely()
        for number, shape in self.others.items():
            polygons[number] = shape
        return polygons

    def geojson(self) -> list[str]:
        """Return the GeoJSON of each polygon."""
        texts = self.shapes.geojson("%r" if self.decimals is None else f"%.{self.decimals}f")
        for number, shape in self.others.items():
            texts[number] = json.dumps(as_geojson(shape), allow_nan=False)
        return texts


@keeps_subnormals
def in_degrees(
    ragged: Ragged,
    crs: Any,
    *,
    caller: str,
    resolution: float,
    densify: Any = None,
    sheets: Sheets | None = None,
    frame: Frame | None = None,
) -> InDegrees:
    """Polygons in longitude and latitude, by the rules of RFC 7946.

    `crs` is None for coordinates that are longitude and latitude. The `resolution` is the side of a cell in units of
    `crs`; detail below it does not matter. `densify` is the largest distance in metres of an edge from its curve; by
    default a share of the resolution. `sheets` has the levels and maps of the polygons, if there are several. With a
    `frame` they are part of its polygons, which stay apart.
    `InvalidInput` if coordinates are not on the earth, or polygons that must stay apart do not in float64.
    """
    plain = is_wgs84(crs, caller)
    if plain and _is_plain(ragged, ragged.places):
        same = InDegrees(ragged)
        return replace(same, others=_valid(same.shapes, lambda wrong: same.shapes.to_shapely()[wrong]))
    highest = 90.0 if sheets is not None and sheets.apart else HIGHEST
    curves = None if plain else _curves(ragged, crs, caller, resolution, densify, highest, frame=frame)
    if curves is None and frame is not None and not plain:
        raise InvalidInput(
            f"{caller} is not possible some polygons at a time so near to a pole or to 180 degrees of longitude. Write "
            ".gpkg."
        )
    if curves is None:
        lonlat = LonLat(crs, caller=caller, resolution=resolution, densify=densify)
        shapes = lonlat.shapes(ragged.to_shapely().tolist())
        if sheets is not None and sheets.apart and not _stay_apart(np.array(shapes, object), sheets):
            raise InvalidInput(
                f"{caller} is not possible: in longitude and latitude the polygons would overlap, since a pole or 180 "
                "degrees of longitude is among them, where polygons are cut and move. Write .gpkg."
            )
        return InDegrees(ragged, lonlat.added, None, dict(enumerate(shapes)))
    if sheets is not None and sheets.apart:
        for share, decimals in FINER if frame is None else [FINER[frame.finer]]:
            some = curves if share == 1 else _curves(ragged, crs, caller, resolution, densify, highest, share, frame)
            rounded = None if some is None else some.as_they_are(decimals)
            if rounded is not None and _stay_apart(rounded.shapes.to_shapely(), sheets):
                return rounded
        if frame is not None and frame.finer + 1 < len(FINER):
            raise NotApart
        raise InvalidInput(
            f"{caller} is not possible: in longitude and latitude the polygons would overlap, because cells are too "
            "small there for float64. Write .gpkg."
        )
    if sheets is None or sheets.ranks.max(initial=0) == 0:
        return curves.outwards()
    return _nested(curves.outwards(_growth(ragged, curves, sheets)), sheets)


def is_wgs84(crs: Any, caller: str) -> bool:
    """Return whether coordinates are longitude and latitude of WGS 84, as those without a system must be."""
    if crs is None:
        return True
    system = as_crs(crs, caller=caller)
    return is_plain_geographic(system) and system.equals(WGS84, ignore_axis_order=True)


def _valid(shapes: Ragged, valid: Any) -> dict[int, Any]:
    """Return the polygons that are not valid, by their number, as ``valid(numbers)`` makes them valid."""
    shapely = require_shapely()
    wrong = np.flatnonzero(~shapely.is_valid(shapes.to_shapely()))
    return dict(zip(wrong.tolist(), valid(wrong))) if len(wrong) else {}


# From the plane to curves ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Curves:
    """Polygons in degrees times `sides`, which narrow longitudes: corners are about as sharp as on the earth.

    `edge` has for each vertex the edge that it was cut from, by its first vertex. Pieces are at most `farthest` from
    their curves, and a side of a cell has at least `side` degrees. `added` is the number of vertices from cuts.
    """

    flat: Ragged
    edge: np.ndarray
    sides: np.ndarray
    farthest: float
    side: float
    added: int

    @property
    def least(self) -> float:
        """How far polygons are moved outwards at least."""
        return 2 * self.farthest + MARGIN

    def as_they_are(self, decimals: Any) -> InDegrees:
        """Return the polygons, rounded."""
        places = self.flat.places / self.sides
        places = places if decimals is None else np.round(places, decimals)
        return InDegrees(replace(self.flat, places=places), self.added, decimals)

    def outwards(self, growth: Any = None) -> InDegrees:
        """Return the polygons, each moved outwards by more than its pieces are from their curves, times `growth`.

        Parts of a polygon that are closer to each other than that are joined.
        """
        least = self.least
        grow = least if growth is None else least * growth[:, None]
        moved = (self.flat.places + _miters(self.flat)[0] * grow) / self.sides
        shapes = replace(self.flat, places=np.round(moved, DECIMALS))

        def joined(wrong: Any) -> Any:
            shapely, flat = require_shapely(), self.flat.to_shapely()[wrong]
            most = 1.0
            if growth is not None:
                most = np.maximum.reduceat(growth, self.flat.rings[self.flat.polygons[:-1]])[wrong]
            buffered = shapely.buffer(flat, least * most, join_style="mitre")
            return shapely.transform(buffered, lambda places: places / self.sides).tolist()

        return InDegrees(shapes, self.added, DECIMALS, _valid(shapes, joined))


def _curves(
    ragged: Ragged,
    crs: Any,
    caller: str,
    resolution: float,
    densify: float | None,
    highest: float,
    finer: float = 1.0,
    frame: Frame | None = None,
) -> Curves | None:
    """Return the polygons with edges cut; None near a meridian of 180 degrees or a pole, and where `crs` is not smooth.

    An edge and the same edge the other way round are cut at the same places. `finer` is a factor of the tolerance.
    """
    system = as_crs(crs, caller=caller)
    geographic = system.is_geographic
    if not len(ragged.places) or (geographic and (system.is_derived or not _is_plain(ragged, ragged.places, highest))):
        return None
    mapping = Mapping(system, caller, target=as_crs(WGS84, caller=caller))
    x, y = ragged.places.T
    reach = max(np.ptp(x), np.ptp(y), resolution)
    seen = np.stack(mapping.anywhere(x, y), axis=1)
    if not _is_plain(ragged, seen, highest) or not (geographic or _is_one_to_one(system, ragged.places, reach)):
        return None
    latitudes = seen[:, 1]
    if frame is not None:
        known = np.isfinite(mapping.anywhere(*frame.places.T)).all(axis=0)
        x, y = frame.places[known].T
        reach, latitudes = max(np.ptp(x), np.ptp(y)), mapping.anywhere(x, y)[1]
    far = np.abs(latitudes).max() >= HIGHEST  # where longitudes narrow much within a map: no distance is underrated
    latitude = np.abs(latitudes).min() if far else latitudes.mean()
    sides = np.array([math.cos(math.radians(latitude)), 1.0])

    def images(places: np.ndarray) -> Any:
        return np.stack(mapping.anywhere(*places.T), axis=1) * sides

    seen = seen * sides
    some = slice(None, None, len(x) // 1024 + 1)
    scales = mapping.jacobians(x[some], y[some], reach * 1e-6) * sides[:, None]
    if not np.isfinite(scales).all() or not mapping.keeps_sides(x[some], y[some]):
        return None
    side = resolution * float(np.linalg.svd(scales, compute_uv=False)[:, 1].min())
    tolerance = max(SHARE * side if densify is None else densify / DEGREE, MARGIN) * finer
    places, rings, source, farthest = ragged.places, ragged.rings, np.arange(len(ragged.places)), 0.0
    for _ in range(MOST_CUTS):
        after = Ragged(places, rings, ragged.polygons).following
        away = np.hypot(*(images((places + places[after]) / 2) - (seen + seen[after]) / 2).T)
        if not np.isfinite(away).all():
            return None
        farthest = float(away.max())
        if farthest <= tolerance:
            added = len(places) - len(ragged.places)
            return Curves(Ragged(seen, rings, ragged.polygons), source, sides, farthest, side, added)
        # half as long is a quarter as far away
        pieces = np.maximum(np.ceil(np.sqrt(away / tolerance * 1.1)), 1).astype(np.int64)
        if frame is not None:  # whatever other edges need
            pieces[away <= tolerance] = 1
        edge = np.repeat(np.arange(len(places)), pieces)
        place = np.arange(len(edge)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        places, source = _cut(places, after, edge, place, pieces[edge]), source[edge]
        rings = np.append(0, np.cumsum(pieces))[rings]
        seen = images(places)
    return None


def _cut(places: np.ndarray, after: Any, edge: Any, place: Any, pieces: Any) -> np.ndarray:
    """Return the places where edges are cut, counted from the end that comes first by its coordinates."""
    begin, end = places[edge], places[after[edge]]
    turned = (begin[:, 0] > end[:, 0]) | ((begin[:, 0] == end[:, 0]) & (begin[:, 1] > end[:, 1]))
    first, last = np.where(turned[:, None], end, begin), np.where(turned[:, None], begin, end)
    share = np.where(turned, pieces - place, place) / pieces
    return np.where((place == 0)[:, None], begin, first + (last - first) * share[:, None])


def _is_plain(ragged: Ragged, places: np.ndarray, highest: float = HIGHEST) -> bool:
    """Return whether polygons with these vertices are far from the poles and from 180 degrees of longitude."""
    if not len(places):
        return True
    if not np.isfinite(places).all():
        return False
    longitude, latitude = np.abs(places).max(axis=0)
    widest = np.abs(places[ragged.following, 0] - places[:, 0]).max()
    return bool(longitude < 180 - 2 * MARGIN and widest < WIDEST and latitude < highest)


def _is_one_to_one(system: Any, places: np.ndarray, reach: Any) -> bool:
    """Return whether the transformation to the earth and back returns the places: PROJ moves some onto the earth."""
    import pyproj

    there = pyproj.Transformer.from_crs(system, system.geodetic_crs, always_xy=True)
    left, low, right, high = np.concatenate([places.min(axis=0), places.max(axis=0)])
    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(left, right, 9), np.linspace(low, high, 9)))
    back = there.transform(*there.transform(x, y), direction="INVERSE")
    most = max(1e-6 * reach, THERE_AND_BACK / system.axis_info[0].unit_conversion_factor)
    return bool(np.hypot(back[0] - x, back[1] - y).max() <= most)


def _miters(ragged: Ragged) -> tuple[Any, ...]:
    """Return the shift of each vertex if all edges move to their right by 1, and the normal of the edge after it."""
    after = ragged.following
    along = ragged.places[after] - ragged.places
    length = np.hypot(*along.T)
    normal = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.where(length > 0, length, 1)[:, None]
    both = normal[ragged.before] + normal
    square = (both**2).sum(axis=1)
    return 2 * both / np.where(square > 0, square, 1)[:, None], normal


# Levels ---------------------------------------------------------------------------------------------------------------


def _growth(ragged: Ragged, curves: Curves, sheets: Sheets) -> np.ndarray:
    """For each vertex of the curves how many times as far it moves as one that is alone.

    Where a corner of a cell is on the boundary of a polygon and of one within it, an edge of the outer one moves beyond
    the edge of the inner one, or beyond the corner that the inner one has there.
    """
    corners, owner, after, before = lattice_of(sheets.corners), ragged.owner, ragged.following, ragged.before
    keys = corners.keys(sheets.maps[owner[corners.edge]])
    ranks = sheets.ranks[owner[corners.edge]]
    is_first = np.append(True, curves.edge[1:] != curves.edge[:-1])
    miters, normals = (values[is_first] for values in _miters(curves.flat))
    turns_out = normals[before, 0] * normals[:, 1] - normals[before, 1] * normals[:, 0] > 0
    growth, most = np.ones(len(ragged.places)), max(MOST_GROWTH, MOST_SHARE * curves.side / curves.least)
    for rank in range(1, int(ranks.max()) + 1):
        inner, outer = np.flatnonzero(ranks == rank - 1), np.flatnonzero(ranks == rank)
        inner = inner[np.argsort(keys[inner], kind="stable")]
        first, last = (np.searchsorted(keys[inner], keys[outer], side) for side in ("left", "right"))
        outer, first, last = (values[first < last] for values in (outer, first, last))
        edge, is_vertex, wanted = corners.edge[outer], corners.is_vertex[outer], np.zeros(len(outer))
        for one in (inner[first], inner[last - 1]):  # two polygons of a level may touch at a corner
            inside = corners.edge[one]
            is_corner = corners.is_vertex[one] & turns_out[inside]
            corner = growth[inside, None] * miters[inside]
            beyond, other = ((corner * normals[of]).sum(axis=1) for of in (edge, before[edge]))
            both = np.where(turns_out[edge], np.maximum(beyond, other), np.minimum(beyond, other))
            along = np.where(corners.is_vertex[one], growth[inside], np.maximum(growth[inside], growth[after[inside]]))
            wanted = np.maximum(wanted, along)
            wanted = np.where(is_corner, np.maximum(wanted, np.where(is_vertex, both, beyond)), wanted)
        wanted = np.minimum(1.05 * wanted + 5 * 10.0**-DECIMALS / curves.least, most)
        np.maximum.at(growth, edge, wanted)
        np.maximum.at(growth, after[edge[~is_vertex]], wanted[~is_vertex])
    return np.where(is_first, growth[curves.edge], np.maximum(growth, growth[after])[curves.edge])


def _pairs(sheets: Sheets) -> Iterator[Any]:
    """Yield for each rank but the first pairs of polygons (outer, inner): the inner one is within the outer one."""
    shapely, corners, ranks = require_shapely(), sheets.corners, sheets.ranks
    # one sheet of paper for all maps, side by side, and ranks, one above the other
    width, height = corners.places.max(axis=0, initial=0) + 2
    at = np.stack([sheets.maps * width, ranks * height], axis=1).astype(np.float64)
    shapes = replace(corners, places=corners.places + at[corners.owner]).to_shapely()
    inside = shapely.transform(shapely.point_on_surface(shapes), lambda places: places + (0, height))
    outer, inner = shapely.STRtree(inside).query(shapes, predicate="contains")
    order = np.argsort(ranks[outer], kind="stable")
    bounds = np.searchsorted(ranks[outer][order], np.arange(1, int(ranks.max(initial=0)) + 2))
    for of_rank in np.split(order, bounds)[1:-1]:
        yield outer[of_rank], inner[of_rank]


def _nested(outlines: InDegrees, sheets: Sheets) -> InDegrees:
    """Unite each polygon with what of the next level within it reaches beyond it."""
    shapely, shapes, changed = require_shapely(), outlines.to_shapely(), set(outlines.others)
    slack = 2 * 10.0**-DECIMALS  # more than the rounding of a union
    for outer, inner in _pairs(sheets):
        for whole in (False, True):  # first with the parts beyond it
            shapely.prepare(shapes[outer])
            beyond = ~shapely.covers(shapes[outer], shapes[inner])
            outer, inner = outer[beyond], inner[beyond]
            order = np.argsort(outer, kind="stable")
            outer, inner = outer[order], inner[order]
            parts = shapes[inner] if whole else shapely.difference(shapes[inner], shapes[outer])
            parts = shapely.buffer(parts, slack, join_style="mitre")
            owners, begins = np.unique(outer, return_index=True)
            for number, reaching in zip(owners.tolist(), np.split(parts, begins[1:])):
                shapes[number] = shapely.union_all([shapes[number], *reaching])
                changed.add(number)
    return replace(outlines, others={number: shapes[number] for number in sorted(changed)})


def _stay_apart(shapes: Any, sheets: Sheets) -> bool:
    """Return whether polygons are valid, those of one rank do not overlap, and those of the next rank contain them."""
    shapely = require_shapely()
    if not shapely.is_valid(shapes).all():
        return False
    for rank in range(int(sheets.ranks.max(initial=0)) + 1):
        of_rank = shapes[sheets.ranks == rank]
        one, other = shapely.STRtree(of_rank).query(of_rank, predicate="intersects")
        one, other = of_rank[one[one < other]], of_rank[other[one < other]]
        if shapely.relate_pattern(one, other, "T********").any():
            return False
    return all(shapely.covers(shapes[outer], shapes[inner]).all() for outer, inner in _pairs(sheets))
