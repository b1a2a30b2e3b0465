"""Geometries in longitude and latitude (EPSG:4326), for GeoJSON and KML. pyproj and Shapely are imported when needed.

An edge that is straight in a projected system is a curve in longitude and latitude, where GeoJSON's edges are straight.
So edges are cut into pieces until every piece is close to its curve. Then the polygon is moved outwards by more than
the largest distance between a piece and its curve. It contains the curved polygon: everything stays covered.

    edge in the plane           o-----------------------------o
    its curve                   o- - _ _ _           _ _ _ - -o
    pieces                      o------.------.-----.---------o     every piece within the tolerance of its curve
    polygon                   moved outwards by twice the largest distance of a piece from its curve, and 1 mm

Longitudes stay continuous where they pass 180 degrees, and the polygon is cut there. A polygon round a pole is closed
along the pole, from -180 to 180 degrees, before it is cut.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.geo.geodesy import Mapping, as_crs, interleaved, is_plain_geographic, slices, turn_of
from clgeom.geo.geojson import arrays_of, as_geojson, as_lists, polygons_of, twice_area
from clgeom.optional import require, require_shapely

WGS84 = "EPSG:4326"
#: Names of columns that hold longitude and latitude, in lower case.
LONLAT_NAMES = (("lon", "lat"), ("longitude", "latitude"))
#: Largest distance of a piece from its curve, as a share of the resolution.
SHARE = 1 / 128
#: Least distance by which polygons are moved outwards, in degrees: 1 mm, more than the rounding of PROJ.
MARGIN = 1e-8
#: Latitude beyond a pole at which polygons round the pole are closed. Edges moved there are cut off.
BEYOND = 100.0
#: Length of a degree on the earth, in metres.
DEGREE = 6_371_008.8 * math.pi / 180
#: The default resolution, as a share of the extent.
EXTENT = 1e-3
#: Largest error of a transformation to the earth and back, as a share of the largest coordinate.
NOISE = 1e-7
#: Largest extent of a quarter of a piece, in degrees.
STRIDE = 5.0
#: Most halvings of an edge, and most pieces; a boundary that needs more is not a curve.
DEEPEST, MOST_PIECES = 60, 1 << 22


def named_lonlat(x: Any, y: Any) -> bool:
    """Return whether columns of these names hold longitude and latitude."""
    return (str(x).strip().lower(), str(y).strip().lower()) in LONLAT_NAMES


@keeps_subnormals
def to_lonlat(geometry: dict[str, Any], crs: Any, *, caller: str, resolution: float | None = None) -> dict[str, Any]:
    """Return a geometry in longitude and latitude, by the rules of RFC 7946.

    Parameters
    ----------
    geometry : dict
        GeoJSON-like, of any type except Feature, as ``__geo_interface__`` returns it. Polygons are valid.
    crs : object or None
        Its coordinate reference system, as anything that pyproj takes. None if it is in longitude and latitude.
    caller : str
        The action for messages: "Writing 'a.geojson'".
    resolution : float, optional
        Length in units of `crs` below which detail does not matter, such as the side of a cell; a thousandth of the
        geometry's extent by default.

    Returns
    -------
    dict
        GeoJSON; coordinates are lists. Polygons follow the right-hand rule and are cut at 180 degrees (section 3.1.9).
        They contain every point that they contain in `crs`, poles included, except points less than 1 mm beyond 180
        degrees. To ensure this their outline is moved outwards, by at most 1/40 of the resolution. Coordinates that are
        longitude and latitude already keep every bit, except in polygons that are cut. A polygon without area becomes
        an empty one.

    Raises
    ------
    InvalidInput
        There is no such system, pyproj is missing, or the geometry has coordinates that are not on the earth.
    """
    return LonLat(crs, caller=caller, resolution=resolution)(geometry)


@keeps_subnormals
class LonLat:
    """Transformation from a coordinate reference system to longitude and latitude; see `to_lonlat`.

    `added` is the number of vertices that were added along edges. `densify` is the largest distance in metres of a
    piece from its curve; by default a share of the resolution.
    """

    def __init__(self, crs: Any, *, caller: str, resolution: float | None = None, densify: float | None = None) -> None:
        self.caller, self.resolution, self.densify, self.added = caller, resolution, densify, 0
        self.mapping: Any = None  # None for longitude and latitude of WGS 84
        self.turn: float | None = None
        if crs is not None:
            require("pyproj", caller)
            system = as_crs(crs, caller="to_lonlat")
            if not is_plain_geographic(system) or not system.equals(WGS84, ignore_axis_order=True):
                self.mapping = Mapping(system, caller, target=as_crs(WGS84, caller="to_lonlat"))
                self.turn = turn_of(system)

    def __call__(self, geometry: dict[str, Any]) -> dict[str, Any]:
        """Return a GeoJSON-like geometry as GeoJSON in longitude and latitude."""
        return self.all([geometry])[0]

    def all(self, geometries: Any) -> list[Any]:
        """Return GeoJSON-like geometries as GeoJSON in longitude and latitude; one call for many is fastest."""
        kept = [
            self.mapping is None and all((np.abs(places) <= (180, 90)).all() for places in arrays_of(geometry))
            for geometry in geometries
        ]
        if all(kept):
            return [as_lists(geometry) for geometry in geometries]  # without Shapely, which need not be there
        as_shape = require_shapely().geometry.shape
        moved = iter(self.shapes([as_shape(geometry) for geometry, keep in zip(geometries, kept) if not keep]))
        return [as_lists(geometry) if keep else as_geojson(next(moved)) for geometry, keep in zip(geometries, kept)]

    def shapes(self, shapes: Any) -> list[Any]:
        """Return Shapely shapes in longitude and latitude."""
        shapely, images, polygons, owner = require_shapely(), [None] * len(shapes), [], []
        for number, shape in enumerate(shapes):
            kind = shape.geom_type
            if kind == "GeometryCollection":
                images[number] = shapely.GeometryCollection(self.shapes(shape.geoms))
                continue
            if "Polygon" in kind and not shape.is_valid:
                shape = polygons_of(shape)
            if shape.is_empty:  # polygons without area, too
                images[number] = shapely.Polygon()
                continue
            if self.mapping is None or self.turn:
                self._check(shape)
            if "Polygon" in kind:
                parts = shapely.get_parts(shape).tolist()
                polygons += parts
                owner += [number] * len(parts)
            elif "Line" in kind:
                images[number] = shapely.union_all([self._line(part) for part in shapely.get_parts(shape).tolist()])
            else:
                images[number] = shapely.transform(shape, self._places)
        united = _united(self._polygons(polygons), owner, len(shapes))
        for number in set(owner):
            images[number] = polygons_of(united[number])
        return images

    def _check(self, shape: Any) -> None:
        """Refuse coordinates beyond the range of longitude and latitude, except by half a cell at a pole."""
        left, low, right, high = shape.bounds
        turn = self.turn or 360.0
        most = turn / 4 + (self.resolution or 0)
        for name, values, limit in (("latitude", (low, high), most), ("longitude", (left, right), 2 * turn)):
            for value in values:
                if abs(value) > limit:
                    raise InvalidInput(f"{self.caller} is not possible: there is no {name} {value:g}.")

    def _check_on_earth(self, places: np.ndarray, reach: Any) -> None:
        """Refuse positions that are not on the earth but that PROJ moves onto it, such as those beyond a pole line.

        The transformation to the earth and back does not return such a position. It returns a position whose longitude
        passes 180 degrees, because longitudes stay continuous.
        """
        if self.turn or self.mapping.system.geodetic_crs is None:
            return
        most = max(SHARE * reach, NOISE * np.abs(places).max(initial=0.0))
        missed = _missed(self._to_own_degrees(), places) > most
        if missed.any() and (_missed(self._to_own_degrees(force_over=True), places[missed]) > most).any():
            raise self.mapping.beyond()

    def _to_own_degrees(self, **how: Any) -> Any:
        """Return the transformer to the geographic system that the projected one is built on: no datum is shifted."""
        import pyproj

        system = self.mapping.system
        return pyproj.Transformer.from_crs(system, system.geodetic_crs, always_xy=True, **how)

    # Points and lines -------------------------------------------------------------------------------------------

    def _places(self, xy: Any) -> np.ndarray:
        longitude, latitude = xy.T if self.mapping is None else self.mapping(*xy.T)
        if self.mapping is not None:
            self._check_on_earth(xy, 0.0)
        within = np.abs(longitude) <= 180
        longitude = np.where(within, longitude, (longitude + 180) % 360 - 180)
        return np.stack([longitude, np.clip(latitude, -90, 90)], axis=1)

    def _line(self, line: Any) -> Any:
        shapely, places = require_shapely(), np.array(line.coords)[:, :2]
        if self.mapping is not None:
            reach = self._reach(line)
            self._check_on_earth(places, reach)
            (places,), _ = self._curves([places], self._tolerance(places, reach))
        curve = shapely.LineString(places)
        parts = shapely.get_parts(_cut(curve, _turns_of(curve, 0.0))).tolist()
        return shapely.union_all([part for part in parts if part.geom_type == "LineString"])

    # Polygons ---------------------------------------------------------------------------------------------------

    def _polygons(self, polygons: Any) -> Any:
        """Return the images of polygons: polygons that cover the area within the curves of their edges."""
        shapely = require_shapely()
        if self.mapping is None:
            return _placed([_rings_of(polygon) for polygon in polygons], 0.0)
        if self.resolution is None and len(polygons) > 1:  # each polygon has its own resolution
            return [image for polygon in polygons for image in self._polygons([polygon])]
        parts, owner = [], []
        for number, polygon in enumerate(polygons):
            some = [
                part for piece in self._pieces(polygon) for part in shapely.get_parts(self._with_poles(piece)).tolist()
            ]
            parts += [_rings_of(part) for part in some]
            owner += [number] * len(some)
        if not parts:
            return [shapely.Polygon()] * len(polygons)
        rings = [ring for part in parts for ring in part]
        places = np.concatenate(rings)
        reach = self._reach(polygons[0])
        self._check_on_earth(places, reach)
        curves, away = self._curves(rings, self._tolerance(places, reach))
        if not self.mapping.keeps_sides(*places.T):
            curves = [curve[::-1] for curve in curves]
        ends = np.cumsum([len(part) for part in parts])
        grow = 2 * np.maximum.reduceat(away, ends - [len(part) for part in parts]) + MARGIN
        images = _placed([curves[end - len(part) : end] for end, part in zip(ends, parts)], grow)
        return _united(images, owner, len(polygons))

    def _pieces(self, polygon: Any) -> list[Any]:
        """Return a polygon, in parts if its system is geographic: edges may lie along a pole."""
        if self.turn:
            left, low, right, high = polygon.bounds
            if right - left > self.turn / 4 or max(-low, high) > self.turn / 5:
                return list(slices(polygon, self.turn))
        return [polygon]

    def _reach(self, shape: Any) -> Any:
        """Return the length in the plane below which detail does not matter."""
        left, low, right, high = shape.bounds
        return self.resolution or max(right - left, high - low) * EXTENT

    def _tolerance(self, places: np.ndarray, reach: Any) -> Any:
        """Largest distance of a piece from its curve, in degrees where a unit of the plane has the fewest degrees."""
        if self.densify is not None:
            return max(self.densify / DEGREE, MARGIN)
        if self.turn:
            return max(SHARE * reach * 360 / self.turn, MARGIN)
        x, y = places[:: len(places) // 1024 + 1].T
        scales, (_, latitude) = self.mapping.jacobians(x, y, reach), self.mapping(x, y)
        some = np.isfinite(scales).all(axis=(1, 2))
        scales, polar = scales[some], np.abs(latitude[some]) > 89.9
        least = np.linalg.svd(scales, compute_uv=False)[:, 1]
        least[polar] = np.hypot(*scales[polar, 1].T)  # longitudes have no meaning there
        return max(SHARE * reach * float(least.min(initial=math.inf if len(least) else 0.0)), MARGIN)

    @functools.cached_property
    def _poles(self) -> Any:
        """(x, y, latitude) of positions that may be poles."""
        poles = []
        for latitude in (90.0, -90.0):
            x, y = self.mapping.transformer.transform(0.0, latitude, direction="INVERSE")
            for turn in (0.0, self.turn, -self.turn) if self.turn else (0.0,):
                if math.isfinite(x) and math.isfinite(y):
                    poles.append((x + turn, y, latitude))
        return poles

    def _with_poles(self, polygon: Any) -> Any:
        """Return a polygon with a small disc round each pole in it or next to it, so that no edge meets a pole."""
        reach, (left, low, right, high) = 2 * SHARE * self._reach(polygon), polygon.bounds
        for x, y, latitude in self._poles:
            if left - reach <= x <= right + reach and low - reach <= y <= high + reach:
                point = require_shapely().Point(x, y)
                if polygon.distance(point) <= reach and self._is_pole(point.buffer(reach), latitude):
                    polygon = polygon.union(point.buffer(reach))
        return polygon

    def _is_pole(self, disc: Any, latitude: Any) -> bool:
        """Return whether longitudes go once round a disc about a pole's latitude; if not, the pole is a line."""
        longitude, around = self.mapping.anywhere(*np.array(disc.exterior.coords).T)
        if not np.isfinite(longitude).all() or np.abs(around - latitude).max() > 1:
            return False
        return round(abs(np.sum(self.mapping.step(longitude[:-1], longitude[1:]))) / 360) == 1

    def _curves(self, lines: Any, tolerance: float) -> tuple[Any, ...]:
        """For each line its curve, with continuous longitudes, and its distance from the exact curve."""
        sizes = np.array([len(line) - 1 for line in lines])
        owner, edge = np.repeat(np.arange(len(lines)), sizes), np.concatenate([np.arange(n) for n in sizes])
        begin, end = (np.concatenate([line[part] for line in lines]) for part in (slice(-1), slice(1, None)))
        at, start, share = np.stack([begin, (begin + end) / 2, end], axis=1), np.zeros(len(edge)), 1.0
        seen = np.stack(self.mapping(*at.reshape(-1, 2).T), axis=1).reshape(-1, 3, 2)
        last, done, away = seen[np.cumsum(sizes) - 1, 2], [], np.zeros(len(lines))
        for _ in range(DEEPEST):
            quarters = (at[:, :-1] + at[:, 1:]) / 2
            new = np.stack(self.mapping(*quarters.reshape(-1, 2).T), axis=1).reshape(-1, 2, 2)
            at, seen = interleaved(at, quarters), interleaved(seen, new)
            steps = self.mapping.step(seen[:, :-1, 0], seen[:, 1:, 0])
            along = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
            off = _off(along, seen[:, :, 1])
            widest = np.maximum(np.abs(steps), np.abs(np.diff(seen[:, :, 1], axis=1))).max(axis=1)
            good = (off <= tolerance) & (widest < STRIDE)
            np.maximum.at(away, owner[good], off[good])
            done.append((owner[good], edge[good], start[good], seen[good, 0], along[good, -1]))
            at, seen = (np.concatenate([v[~good, :3], v[~good, 2:]]) for v in (at, seen))
            share /= 2
            start = np.concatenate([start[~good], start[~good] + share])
            owner, edge = (np.tile(v[~good], 2) for v in (owner, edge))
            if not len(owner) or len(owner) > MOST_PIECES:
                break
        if len(owner):
            raise self.mapping.no_curve()
        owner, edge, start, seen, widths = (np.concatenate(parts) for parts in zip(*done))
        order = np.lexsort((start, edge, owner))
        bounds = np.searchsorted(owner[order], np.arange(len(lines) + 1))
        self.added += len(owner) - int(sizes.sum())
        curves = []
        for pieces, end in zip(np.split(order, bounds[1:-1]), last):
            places = np.concatenate([seen[pieces], [end]])
            on = places[0, 0] + np.r_[0, np.cumsum(widths[pieces])]
            places[:, 0] += 360 * np.round((on - places[:, 0]) / 360)
            curves.append(places)
        return curves, away


def _missed(transformer: Any, places: np.ndarray) -> np.ndarray:
    """Distances between positions, shape (n, 2), and their transformation to the earth and back; 0 where it fails."""
    back = transformer.transform(*transformer.transform(*places.T), direction="INVERSE")
    away = np.hypot(*(np.stack(back, axis=1) - places).T)
    return np.where(np.isfinite(away), away, 0.0)


def _off(x: Any, y: Any) -> Any:
    """Return the distances of inner positions from the line between the first and the last; shape (n,)."""
    dx, dy = x[:, -1] - x[:, 0], y[:, -1] - y[:, 0]
    x, y = x[:, 1:-1] - x[:, :1], y[:, 1:-1] - y[:, :1]
    length = np.hypot(dx, dy)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        along = np.clip((x * dx[:, None] + y * dy[:, None]) / length**2, 0, 1)
    along = np.where(length > 0, along, 0)
    return np.hypot(x - along * dx[:, None], y - along * dy[:, None]).max(axis=1)


# Cuts at 180 degrees, and along the poles ----------------------------------------------------------------------------


def _placed(polygons: Any, grow: Any) -> list[Any]:
    """Return polygons between -180 and 180 degrees, each moved outwards by its `grow`.

    A polygon is the left side of its first curve, which may go round the earth, without the left sides of the others.
    """
    shapely, grow = require_shapely(), np.broadcast_to(np.asarray(grow, np.float64), len(polygons))
    plain = [
        all((curve[0] == curve[-1]).all() and twice_area(curve) > 0 for curve in curves)
        and all((np.abs(curve) <= (180, 90)).all() for curve in curves)
        for curves in polygons
    ]
    some = [shapely.Polygon(curves[0], curves[1:]) for curves, here in zip(polygons, plain) if here]
    moved = np.array(some, object)
    if grow.any():
        moved = shapely.buffer(moved, grow[plain], join_style="mitre")
        beyond = (np.abs(shapely.bounds(moved).reshape(-1, 4)) > (180, 90, 180, 90)).any(axis=1)
        moved[beyond] = shapely.intersection(moved[beyond], _window())
    moved = iter(moved.tolist())
    return [
        next(moved)
        if here
        else _cut_out([_on_the_left(curve, (1 - 2 * (i > 0)) * by) for i, curve in enumerate(curves)])
        for curves, here, by in zip(polygons, plain, grow.tolist())
    ]


def _cut_out(shapes: Any) -> Any:
    """Return the first of some shapes without the others."""
    return shapes[0].difference(require_shapely().union_all(shapes[1:])) if len(shapes) > 1 else shapes[0]


def _on_the_left(curve: Any, grow: Any) -> Any:
    """Return the left side of a curve, moved outwards by `grow`, between -180 and 180 degrees."""
    shapely = require_shapely()
    turns = round((curve[-1, 0] - curve[0, 0]) / 360)
    if turns:  # round a pole: five turns, closed beyond the pole, so that their ends are outside the result
        copies = [curve[:-1] + (360 * k * turns, 0) for k in range(-2, 3)]
        pole = math.copysign(BEYOND, turns)
        ends = [(copies[-1][-1, 0], pole), (copies[0][0, 0], pole)]
        return _grown(shapely.Polygon(np.concatenate([*copies, ends])), grow).intersection(_window())
    if twice_area(curve) < 0:  # round both poles
        return _window().difference(_on_the_left(curve[::-1], -grow))
    shape = shapely.Polygon(curve)
    # turns that only the margin reaches are left out
    return shapely.union_all(_cut(_grown(shape, grow), _turns_of(shape, min(abs(grow), MARGIN))))


def _grown(shape: Any, grow: Any) -> Any:
    return shape.buffer(grow, join_style="mitre") if grow else shape


def _window(turn: int = 0) -> Any:
    """Return the box of a turn round the earth; turn 0 is from -180 to 180 degrees."""
    return require_shapely().box(360 * turn - 180, -90, 360 * turn + 180, 90)


def _turns_of(shape: Any, least: float) -> list[int]:
    """Return the turns in which a shape is wider than `least`; the widest one if there is none."""
    left, _, right, _ = shape.bounds
    turns = range(math.floor((left + 180) / 360), math.floor((right + 180) / 360) + 1)
    widths = [min(right, 360 * turn + 180) - max(left, 360 * turn - 180) for turn in turns]
    return [turn for turn, width in zip(turns, widths) if width > least] or [turns[int(np.argmax(widths))]]


def _cut(shape: Any, turns: list[int]) -> list[Any]:
    """Return the part of a shape in each of these turns, moved to turn 0."""
    translate = require_shapely().affinity.translate
    parts = [shape.intersection(_window(turn)) for turn in turns]
    return [translate(part, -360.0 * turn) if turn else part for turn, part in zip(turns, parts)]


def _rings_of(polygon: Any) -> list[np.ndarray]:
    """Return the rings of a Shapely polygon as arrays, each counter-clockwise."""
    rings, is_ccw = (polygon.exterior, *polygon.interiors), require_shapely().is_ccw
    return [np.array((ring if is_ccw(ring) else ring.reverse()).coords)[:, :2] for ring in rings]


def _united(shapes: list[Any], owner: list[int], count: int) -> list[Any]:
    """Return the union of the shapes of each of `count` owners; `owner`, which ascends, has the owner of each shape."""
    bounds = np.searchsorted(owner, np.arange(count + 1)).tolist()
    return [
        shapes[first] if last - first == 1 else require_shapely().union_all(shapes[first:last])
        for first, last in zip(bounds, bounds[1:])
    ]
