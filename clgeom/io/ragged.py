"""Many polygons as arrays: to Shapely, to longitude and latitude, and to GeoJSON, without a loop over polygons.

`places` has the vertices of all rings, one after the other, not closed. Ring r has those from ``rings[r]`` on, up to
``rings[r + 1]``, and polygon p the rings from ``polygons[p]`` to ``polygons[p + 1]``: its outer ring, which is
counter-clockwise, then its holes, clockwise.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np

from clgeom.geodesy import Mapping, as_crs, is_plain_geographic
from clgeom.io.antimeridian import MARGIN
from clgeom.io.geojson import as_geojson
from clgeom.io.lonlat import SHARE, WGS84, LonLat
from clgeom.optional import require_shapely

#: Decimals of degrees in files: 0.1 mm, less than MARGIN.
DECIMALS = 9
#: Largest extent in longitude, and largest latitude, of polygons that no meridian cuts and that are at no pole.
WIDEST, HIGHEST = 90.0, 80.0
#: Most times that edges are cut again.
MOST_CUTS = 8
#: Most times that the polygons of one level move as far as those of another one; more levels are united instead.
MOST_GROWTH = 8.0


@dataclass(frozen=True, eq=False)
class Ragged:
    """Polygons as arrays; see the module."""

    places: np.ndarray
    rings: np.ndarray
    polygons: np.ndarray

    def __len__(self) -> int:
        return len(self.polygons) - 1

    @property
    def following(self) -> np.ndarray:
        """The next vertex of each vertex on its ring."""
        after = np.arange(1, len(self.places) + 1)
        after[self.rings[1:] - 1] = self.rings[:-1]
        return after

    def closed(self) -> tuple[np.ndarray, np.ndarray]:
        """The places and offsets of rings that repeat their first vertex at the end."""
        count = len(self.rings) - 1
        offsets = self.rings + np.arange(count + 1)
        pick = np.arange(offsets[-1]) - np.repeat(np.arange(count), np.diff(offsets))
        pick[offsets[1:] - 1] = self.rings[:-1]
        return self.places[pick], offsets

    def to_shapely(self) -> np.ndarray:
        """The polygons as an array of Shapely geometries."""
        shapely = require_shapely()
        if not len(self):
            return np.empty(0, object)
        places, offsets = self.closed()
        return shapely.from_ragged_array(shapely.GeometryType.POLYGON, places, (offsets, self.polygons))

    def reversed(self) -> Ragged:
        """The same polygons with all rings the other way round, each from the same vertex on."""
        sizes = np.diff(self.rings)
        begin = np.repeat(self.rings[:-1], sizes)
        place = np.arange(len(self.places)) - begin
        return Ragged(self.places[begin + (np.repeat(sizes, sizes) - place) % np.repeat(sizes, sizes)], *self.offsets)

    @property
    def offsets(self) -> tuple[np.ndarray, np.ndarray]:
        return self.rings, self.polygons


# Longitude and latitude -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InDegrees:
    """Polygons in longitude and latitude, with `added` vertices along edges.

    `moved` are the polygons `flat`, each moved outwards by its `grow`: in degrees, with longitudes times `narrow`. So
    corners are about as sharp as on the earth. Where parts of a polygon are closer to each other than that, `moved` is
    not valid.
    """

    moved: Ragged
    flat: Ragged
    grow: np.ndarray
    narrow: float
    added: int

    def grown(self, chosen) -> list:
        """Some of the polygons as Shapely geometries, each moved outwards, valid wherever its parts are."""
        shapely, sides = require_shapely(), np.array([self.narrow, 1.0])
        flat = shapely.transform(self.flat.to_shapely()[chosen], lambda places: places * sides)
        made = shapely.buffer(flat, self.grow[chosen], join_style="mitre")
        return shapely.transform(made, lambda places: places / sides).tolist()


def in_lonlat(given: Ragged, crs, *, caller, resolution, ranks=None) -> InDegrees | None:
    """Polygons in longitude and latitude as arrays; None where a meridian or a pole is near.

    Each contains what it contains in `crs`: its edges are cut until every piece is close to its curve, and it is moved
    outwards by more than the largest distance. See `clgeom.io.lonlat`, whose results are within the same distances.

    Parameters
    ----------
    given : Ragged
    crs : object
        Anything that pyproj takes.
    caller : str
    resolution : float
        Length below which detail does not matter: the side of a cell.
    ranks : ndarray of int, shape (number of polygons,), optional
        How many levels are within each polygon. It is moved so much farther that it still contains polygons of lower
        ranks.
    """
    system, wgs84 = as_crs(crs, caller=caller), as_crs(WGS84, caller=caller)
    if is_plain_geographic(system) and system.equals(WGS84, ignore_axis_order=True):
        return InDegrees(given, given, np.zeros(len(given)), 1.0, 0) if _is_plain(given.places) else None
    if system.is_geographic or not len(given.places):
        return None
    mapping = Mapping(system, caller, target=wgs84)
    x, y = given.places.T
    reach = max(np.ptp(x), np.ptp(y), resolution)
    seen = np.stack(mapping.anywhere(x, y), axis=1)
    if not _is_plain(seen) or not _is_one_to_one(system, given.places, reach):
        return None
    narrow = math.cos(math.radians(seen[:, 1].mean()))
    sides = np.array([narrow, 1.0])

    def images(places):
        return np.stack(mapping.anywhere(*places.T), axis=1) * sides

    seen = seen * sides
    some = slice(None, None, len(x) // 1024 + 1)
    scales = mapping.jacobians(x[some], y[some], reach * 1e-6) * sides[:, None]
    if not np.isfinite(scales).all() or not mapping.keeps_sides(x[some], y[some]):
        return None
    tolerance = max(SHARE * resolution * float(np.linalg.svd(scales, compute_uv=False)[:, 1].min()), MARGIN)
    places, rings, farthest = given.places, given.rings, 0.0
    for _ in range(MOST_CUTS):
        after = Ragged(places, rings, given.polygons).following
        middles = (places + places[after]) / 2
        away = np.hypot(*(images(middles) - (seen + seen[after]) / 2).T)
        if not np.isfinite(away).all():
            return None
        farthest = float(away.max())
        if farthest <= tolerance:
            break
        # half as long is a quarter as far away
        pieces = np.maximum(np.ceil(np.sqrt(away / tolerance * 1.1)), 1).astype(np.int64)
        edge = np.repeat(np.arange(len(places)), pieces)
        share = (np.arange(len(edge)) - np.repeat(np.cumsum(pieces) - pieces, pieces)) / np.repeat(pieces, pieces)
        places = places[edge] + (places[after][edge] - places[edge]) * share[:, None]
        rings = np.append(0, np.cumsum(pieces))[rings]
        seen = images(places)
    else:
        return None
    flat = Ragged(seen, rings, given.polygons)
    miters, corner = _miters(flat)
    grow = (2 * farthest + MARGIN) * (1.0 if ranks is None else (1.05 * corner) ** ranks)
    each = np.repeat(np.repeat(grow, np.diff(given.polygons)), np.diff(rings)) if ranks is not None else grow
    moved = Ragged((seen + miters * np.reshape(each, (-1, 1))) / sides, rings, given.polygons)
    flat = Ragged(seen / sides, rings, given.polygons)
    return InDegrees(moved, flat, np.broadcast_to(grow, len(given)), narrow, len(places) - len(given.places))


def _is_plain(places):
    """Whether polygons are far from the poles, and from the meridian of 180 degrees."""
    if not len(places):
        return True
    if not np.isfinite(places).all():
        return False
    longitude, latitude = places.T
    return bool(
        np.abs(longitude).max() < 180 - 2 * MARGIN and np.ptp(longitude) < WIDEST and np.abs(latitude).max() < HIGHEST
    )


def _is_one_to_one(system, places, reach):
    """Whether the transformation to the earth and back returns the places: PROJ moves some onto the earth."""
    import pyproj

    there = pyproj.Transformer.from_crs(system, system.geodetic_crs, always_xy=True)
    left, low, right, high = (*places.min(axis=0), *places.max(axis=0))
    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(left, right, 9), np.linspace(low, high, 9)))
    back = there.transform(*there.transform(x, y), direction="INVERSE")
    return bool(np.hypot(back[0] - x, back[1] - y).max() <= 1e-6 * reach)


def _miters(given: Ragged):
    """For each vertex how far it moves if all edges move to their right by 1; the longest of these at outer corners."""
    after = given.following
    before = np.empty_like(after)
    before[after] = np.arange(len(after))
    along = given.places[after] - given.places
    length = np.hypot(*along.T)
    normal = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.where(length > 0, length, 1)[:, None]
    both = normal[before] + normal
    square = (both**2).sum(axis=1)
    miters = 2 * both / np.where(square > 0, square, 1)[:, None]
    outer = along[before, 0] * along[:, 1] - along[before, 1] * along[:, 0] > 0
    return miters, max(float(np.hypot(*miters[outer].T).max(initial=1.0)), 1.0)


# GeoJSON --------------------------------------------------------------------------------------------------------------


def geojson(given: Ragged, properties, crs, *, caller, resolution, ranks=None, maps=None):
    """The bytes of a GeoJSON file of polygons, and how many vertices it has and how many of them were added.

    Parameters
    ----------
    given : Ragged
    properties : sequence of str
        The properties of each polygon as JSON.
    crs : object or None
        As for `in_lonlat`; None for coordinates that are longitude and latitude.
    caller, resolution, ranks
        As for `in_lonlat`.
    maps : ndarray of int, shape (number of polygons,), optional
        The map of each polygon: those of different maps do not nest.
    """
    shapely, found, unites = require_shapely(), None, False
    if ranks is not None:
        ranks = np.unique(ranks, return_inverse=True)[1]
    if crs is not None:
        found = in_lonlat(given, crs, caller=caller, resolution=resolution, ranks=ranks)
        unites = found is not None and found.grow.max(initial=0.0) > MOST_GROWTH * found.grow.min(initial=np.inf)
        if unites:
            found = in_lonlat(given, crs, caller=caller, resolution=resolution)
    elif _is_plain(given.places):
        found = InDegrees(given, given, np.zeros(len(given)), 1.0, 0)
    shapes, wrong, made, added, is_moved = given, np.arange(len(given)), [], 0, False
    if found is None:
        way = LonLat(crs, caller=caller, resolution=resolution)
        made = way.shapes([shapely.geometry.mapping(shape) for shape in given.to_shapely().tolist()])
        added = way.added
    else:
        shapes, added, is_moved = found.moved, found.added, bool(found.grow.any())
        if is_moved:
            shapes = Ragged(np.round(shapes.places, DECIMALS), *shapes.offsets)
        wrong = np.flatnonzero(~shapely.is_valid(shapes.to_shapely()))
        if len(wrong):
            made = found.grown(wrong)
    if unites:
        wrong, made = _united(given, shapes, wrong, made, ranks, np.zeros_like(ranks) if maps is None else maps)
    texts = {n: json.dumps(as_geojson(shape), allow_nan=False) for n, shape in zip(wrong.tolist(), made)}
    vertices = sum(_count(shape) for shape in made)
    right = np.setdiff1d(np.arange(len(given)), wrong)
    lines = _texts(shapes, right, f"%.{DECIMALS}f" if is_moved else "%r") if len(right) else []
    texts |= dict(zip(right.tolist(), lines))
    kept = np.repeat(np.isin(np.arange(len(given)), right), np.diff(shapes.polygons))
    vertices += int(np.diff(shapes.rings)[kept].sum())
    body = ",\n".join(
        f'{{"type": "Feature", "id": {number + 1}, "properties": {values}, "geometry": {texts[number]}}}'
        for number, values in enumerate(properties)
    )
    return f'{{"type": "FeatureCollection", "features": [\n{body}\n]}}\n'.encode(), vertices, added


def _united(given: Ragged, shapes: Ragged, wrong, made, ranks, maps):
    """Unite each polygon with those of the next level within it that reach beyond it: (their indices, the shapes).

    `wrong` are the indices of polygons that are `made` shapes already.
    """
    shapely, flat, moved = require_shapely(), given.to_shapely(), shapes.to_shapely()
    moved[wrong] = made
    changed = np.zeros(len(moved), bool)
    changed[wrong] = True
    inside = shapely.point_on_surface(flat)
    for rank in range(1, int(ranks.max(initial=0)) + 1):
        outer, inner = np.flatnonzero(ranks == rank), np.flatnonzero(ranks == rank - 1)
        each, around = shapely.STRtree(flat[outer]).query(inside[inner], predicate="within")
        inner, outer = inner[each], outer[around]
        beyond = (maps[inner] == maps[outer]) & ~shapely.covers(moved[outer], moved[inner])
        order = np.argsort(outer[beyond], kind="stable")
        inner, outer = inner[beyond][order], outer[beyond][order]
        # wider by more than the rounding of the union
        wider = shapely.buffer(moved[inner], 2 * 10.0**-DECIMALS, join_style="mitre")
        found, begins = np.unique(outer, return_index=True)
        for one, own in zip(found.tolist(), np.split(wider, begins[1:])):
            moved[one] = shapely.union_all([moved[one], *own])
        changed[found] = True
    return np.flatnonzero(changed), moved[changed].tolist()


def _count(shape):
    """The number of vertices of the polygons of a Shapely geometry; the first one of a ring counts once."""
    shapely = require_shapely()
    return int(shapely.get_num_coordinates(shape)) - len(shapely.get_rings(shapely.get_parts(shape)))


def _texts(given: Ragged, chosen, number):
    """The GeoJSON of chosen polygons: all numbers are formatted at once, with what stands between them."""
    places, offsets = given.closed()
    between = np.full(len(places), f"[{number}, {number}], ", object)
    ends = offsets[1:] - 1
    between[ends] = f"[{number}, {number}]], ["
    between[ends[given.polygons[1:] - 1]] = f"[{number}, {number}]]]}}\n"
    text = "".join(between.tolist()) % tuple(places.ravel().tolist())
    lines = text.split("\n")
    return [f'{{"type": "Polygon", "coordinates": [[{lines[i]}' for i in chosen.tolist()]
