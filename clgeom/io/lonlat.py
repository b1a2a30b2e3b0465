"""Geometries in longitude and latitude (EPSG:4326), for GeoJSON and KML. pyproj and Shapely are imported when used.

An edge that is straight in a projected system is a curve in longitude and latitude, where GeoJSON's edges are straight.
So edges are cut into pieces until every piece is next to straight, and the polygon is moved outwards by more than the
pieces' curves leave them. It contains the curved polygon, then: everything that the polygon covers is covered still.

    edge in the plane           o-----------------------------o
    its curve                   o- - _ _ _           _ _ _ - -o
    pieces                      o------.------.-----.---------o     every piece within the tolerance of its curve
    polygon                   moved outwards by twice what the pieces' curves are away from them, and 1 mm

Longitudes run on where they pass 180 degrees; the polygon is then cut there. One that goes round a pole is closed along
the pole, from -180 to 180 degrees, before it is cut.
"""

from __future__ import annotations

import functools
import importlib.util
import math
from bisect import bisect_left, bisect_right

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.region.arc.result import require_shapely
from clgeom.region.geodesy import Mapping, as_crs, is_plain_geographic, slices, turn_of

WGS84 = "EPSG:4326"
#: Names of columns that hold longitude and latitude, in lower case.
LONLAT_NAMES = (("lon", "lat"), ("longitude", "latitude"))
#: How far a piece's curve may be from it, as a share of the resolution.
SHARE = 1 / 128
#: Without a resolution, the share of the extent that stands for it.
EXTENT = 1e-3
#: Degrees that polygons are moved outwards at least: 1 mm, more than PROJ rounds by.
MARGIN = 1e-8
#: Quarters of a piece take less than this, in degrees.
STRIDE = 5.0
#: How often an edge is halved at most, and how many pieces there are at most: beyond that the boundary is no curve.
DEEPEST, MOST_PIECES = 60, 1 << 22
#: Where longitudes are cut off beyond the poles, so that what is moved there stays out of sight.
BEYOND = 100.0


def named_lonlat(x, y) -> bool:
    """Whether columns of these names hold longitude and latitude, so that they need no other reference system."""
    return (str(x).strip().lower(), str(y).strip().lower()) in LONLAT_NAMES


def to_lonlat(geometry, crs, *, caller, resolution=None) -> dict:
    """A geometry in longitude and latitude, by the rules of RFC 7946.

    Parameters
    ----------
    geometry : dict
        GeoJSON-like, of any type but Feature: what ``__geo_interface__`` gives. Polygons are valid.
    crs : object or None
        Its coordinate reference system, as anything that pyproj takes. None: it is in longitude and latitude already.
    of : str
        What needs it, for messages: "Writing 'a.geojson'".
    resolution : float, optional
        Length in units of `crs` below which detail does not matter, such as the side of a cell; a thousandth of the
        geometry's extent by default.

    Returns
    -------
    dict
        GeoJSON; coordinates are lists. Polygons go by the right-hand rule, are cut at 180 degrees (section 3.1.9), and
        contain every point that they contain in `crs`, a pole too, but for what is less than 1 mm beyond 180 degrees.
        Their outline is moved outwards by at most 1/40 of the resolution for that. In longitude and latitude already,
        every bit of the coordinates is kept, but for those of a polygon that is cut.

    Raises
    ------
    InvalidInput
        There is no such system, no pyproj, or the geometry reaches beyond what the system can express.
    """
    return LonLat(crs, caller=caller, resolution=resolution)(geometry)


class LonLat:
    """A way from a coordinate reference system to longitude and latitude; see `to_lonlat`.

    `added` counts the vertices that were added along edges.
    """

    def __init__(self, crs, *, caller, resolution=None):
        self.of, self.resolution, self.added = caller, resolution, 0
        self.mapping = self.turn = None
        if crs is not None:
            if importlib.util.find_spec("pyproj") is None:
                raise InvalidInput(f"{caller} needs pyproj, which is not installed: pip install 'clgeom[geo]'.")
            system = as_crs(crs, caller="to_lonlat")
            if not is_plain_geographic(system) or not system.equals(WGS84, ignore_axis_order=True):
                self.mapping, self.turn = (
                    Mapping(system, caller, target=as_crs(WGS84, caller="to_lonlat")),
                    turn_of(system),
                )

    def __call__(self, geometry) -> dict:
        """A GeoJSON-like geometry as GeoJSON in longitude and latitude."""
        return self.all([geometry])[0]

    def all(self, geometries) -> list:
        """GeoJSON-like geometries as GeoJSON in longitude and latitude; many at once take little time each."""
        kept = [
            self.mapping is None and all((np.abs(places) <= (180, 90)).all() for places in _arrays(geometry))
            for geometry in geometries
        ]
        moved = iter(self.shapes([geometry for geometry, keep in zip(geometries, kept) if not keep]))
        return [_kept(geometry) if keep else as_geojson(next(moved)) for geometry, keep in zip(geometries, kept)]

    def shape(self, geometry):
        """A GeoJSON-like geometry as a Shapely one in longitude and latitude."""
        return self.shapes([geometry])[0]

    def shapes(self, geometries) -> list:
        """GeoJSON-like geometries as Shapely ones in longitude and latitude."""
        shapely, found, polygons, owner = require_shapely(), [None] * len(geometries), [], []
        for number, geometry in enumerate(geometries):
            kind = geometry["type"]
            if kind == "GeometryCollection":
                found[number] = shapely.GeometryCollection(self.shapes(geometry["geometries"]))
                continue
            if not len(geometry["coordinates"]):
                found[number] = shapely.Polygon()
                continue
            made = shapely.geometry.shape(geometry)
            if "Polygon" in kind and not made.is_valid:
                made = polygons_of(made)
            if self.mapping is None or self.turn:
                self._check(made)
            if "Polygon" in kind:
                parts = shapely.get_parts(made).tolist()
                polygons += parts
                owner += [number] * len(parts)
            elif "Line" in kind:
                found[number] = shapely.union_all([self._line(part) for part in shapely.get_parts(made).tolist()])
            else:
                found[number] = shapely.transform(made, self._places)
        images = self._polygons(polygons)
        for number in dict.fromkeys(owner):
            first, last = bisect_left(owner, number), bisect_right(owner, number)
            found[number] = polygons_of(images[first] if last - first == 1 else shapely.union_all(images[first:last]))
        return found

    def _check(self, shape):
        """Refuse what is no longitude and latitude; cells at a pole may reach beyond it."""
        left, low, right, high = shape.bounds
        turn = self.turn or 360.0
        most = turn / 4 + (self.resolution or 0)
        for name, value, limit in (
            ("latitude", low, most), ("latitude", high, most), ("longitude", left, 2 * turn),
            ("longitude", right, 2 * turn),
        ):  # fmt: skip
            if abs(value) > limit:
                raise InvalidInput(f"{self.of} is not possible: there is no {name} {value:g}.")

    # Points and lines -------------------------------------------------------------------------------------------

    def _places(self, xy):
        longitude, latitude = xy.T if self.mapping is None else self.mapping(*xy.T)
        within = np.abs(longitude) <= 180
        longitude = np.where(within, longitude, (longitude + 180) % 360 - 180)
        return np.stack([longitude, np.clip(latitude, -90, 90)], axis=1)

    def _line(self, line):
        shapely, places = require_shapely(), np.array(line.coords)[:, :2]
        if self.mapping is not None:
            (places,), _ = self._curves([places], self._tolerance(places, self._reach(line)))
        made = shapely.LineString(places)
        parts = [_shifted(made.intersection(_window(k)), k) for k in _windows(made, 0.0)]
        lines = [p for part in parts for p in shapely.get_parts(part).tolist() if p.geom_type == "LineString"]
        return shapely.union_all(lines)

    # Polygons ---------------------------------------------------------------------------------------------------

    def _polygons(self, polygons):
        """The images of polygons: polygons that cover what their edges' curves enclose."""
        shapely = require_shapely()
        if self.mapping is None:
            return _placed([[np.array(ring.coords)[:, :2] for ring in _rings(one)] for one in polygons], 0.0)
        if self.resolution is None and len(polygons) > 1:  # each has its own
            return [image for polygon in polygons for image in self._polygons([polygon])]
        parts, owner = [], []
        for number, polygon in enumerate(polygons):
            for piece in self._pieces(polygon):
                some = shapely.get_parts(self._with_poles(piece)).tolist()
                parts += some
                owner += [number] * len(some)
        if not parts:
            return [shapely.Polygon()] * len(polygons)
        rings = [[np.array(ring.coords)[:, :2] for ring in _rings(part)] for part in parts]
        places = np.concatenate([ring for some in rings for ring in some])
        reach = self._reach(polygons[0])
        flat, away = self._curves([ring for some in rings for ring in some], self._tolerance(places, reach))
        if not self.mapping.keeps_sides(*places.T):
            flat = [curve[::-1] for curve in flat]
        ends = np.cumsum([len(some) for some in rings])
        curves = [flat[end - len(some) : end] for end, some in zip(ends, rings)]
        images = _placed(curves, 2 * np.maximum.reduceat(away, ends - [len(some) for some in rings]) + MARGIN)
        found = []
        for number in range(len(polygons)):
            first, last = bisect_left(owner, number), bisect_right(owner, number)
            found.append(images[first] if last - first == 1 else shapely.union_all(images[first:last]))
        return found

    def _pieces(self, polygon):
        """A polygon; of a geographic system in parts, where poles may lie in other places or edges along one."""
        if self.turn:
            left, low, right, high = polygon.bounds
            if right - left > self.turn / 4 or max(-low, high) > self.turn / 5:
                return list(slices(polygon, self.turn))
        return [polygon]

    def _reach(self, shape):
        """The length in the plane below which detail does not matter."""
        left, low, right, high = shape.bounds
        return self.resolution or max(right - left, high - low) * EXTENT

    def _tolerance(self, places, reach):
        """Degrees that a piece may be away from its curve: where degrees are the least for a unit of the plane."""
        if self.turn:
            return max(SHARE * reach * 360 / self.turn, MARGIN)
        x, y = places[:: len(places) // 1024 + 1].T
        scales, (_, latitude) = self.mapping.jacobians(x, y, reach), self.mapping(x, y)
        some = np.isfinite(scales).all(axis=(1, 2))
        scales, polar = scales[some], np.abs(latitude[some]) > 89.9
        least = np.linalg.svd(scales, compute_uv=False)[:, 1]
        least[polar] = np.hypot(*scales[polar, 1].T)  # longitudes say nothing there
        return max(SHARE * reach * float(least.min(initial=math.inf if len(least) else 0.0)), MARGIN)

    @functools.cached_property
    def _poles(self):
        """(x, y, latitude) of positions that may be poles."""
        found = []
        for latitude in (90.0, -90.0):
            x, y = self.mapping.transformer.transform(0.0, latitude, direction="INVERSE")
            for turn in (0.0, self.turn, -self.turn) if self.turn else (0.0,):
                if math.isfinite(x) and math.isfinite(y):
                    found.append((x + turn, y, latitude))
        return found

    def _with_poles(self, polygon):
        """A polygon, with a small disc round each pole that is in it or next to it, so that no edge meets a pole."""
        reach, (left, low, right, high) = 2 * SHARE * self._reach(polygon), polygon.bounds
        for x, y, latitude in self._poles:
            if left - reach <= x <= right + reach and low - reach <= y <= high + reach:
                point = require_shapely().Point(x, y)
                if polygon.distance(point) <= reach and self._is_pole(point.buffer(reach), latitude):
                    polygon = polygon.union(point.buffer(reach))
        return polygon

    def _is_pole(self, disc, latitude):
        """Whether longitudes go once round a disc whose centre has a pole's latitude; else the pole is a line there."""
        longitude, around = self.mapping.anywhere(*np.array(disc.exterior.coords).T)
        if not np.isfinite(longitude).all() or np.abs(around - latitude).max() > 1:
            return False
        return round(abs(np.sum(self.mapping.step(longitude[:-1], longitude[1:]))) / 360) == 1

    def _curves(self, lines, tolerance):
        """For each line its curve, with the vertices it needs and longitudes that run on; and how far off that is."""
        sizes = np.array([len(line) - 1 for line in lines])
        owner, edge = np.repeat(np.arange(len(lines)), sizes), np.concatenate([np.arange(n) for n in sizes])
        begin, end = (np.concatenate([line[part] for line in lines]) for part in (slice(-1), slice(1, None)))
        at, start, share = np.stack([begin, (begin + end) / 2, end], axis=1), np.zeros(len(edge)), 1.0
        seen = np.stack(self.mapping(*at.reshape(-1, 2).T), axis=1).reshape(-1, 3, 2)
        last, done, away = seen[np.cumsum(sizes) - 1, 2], [], np.zeros(len(lines))
        for _ in range(DEEPEST):
            quarters = (at[:, :-1] + at[:, 1:]) / 2
            new = np.stack(self.mapping(*quarters.reshape(-1, 2).T), axis=1).reshape(-1, 2, 2)
            at, seen = _alternating(at, quarters), _alternating(seen, new)
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
        for own, end in zip(np.split(order, bounds[1:-1]), last):
            places = np.concatenate([seen[own], [end]])
            on = places[0, 0] + np.r_[0, np.cumsum(widths[own])]
            places[:, 0] += 360 * np.round((on - places[:, 0]) / 360)
            curves.append(places)
        return curves, away


def _alternating(values, middles):
    """Rows of three values with two between them."""
    made = np.empty((len(values), 5, 2))
    made[:, ::2], made[:, 1::2] = values, middles
    return made


def _off(x, y):
    """How far the inner ones of positions are from the line between the first and the last; shape (n,)."""
    dx, dy = x[:, -1] - x[:, 0], y[:, -1] - y[:, 0]
    x, y = x[:, 1:-1] - x[:, :1], y[:, 1:-1] - y[:, :1]
    length = np.hypot(dx, dy)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        along = np.clip((x * dx[:, None] + y * dy[:, None]) / length**2, 0, 1)
    along = np.where(length > 0, along, 0)
    return np.hypot(x - along * dx[:, None], y - along * dy[:, None]).max(axis=1)


# Between -180 and 180 degrees -----------------------------------------------------------------------------------------


def _placed(polygons, grow) -> list:
    """Polygons between -180 and 180 degrees, each moved outwards by its `grow`.

    A polygon is what its first curve encloses, and none of the others; each has that on its left, and may go round the
    earth.
    """
    shapely, grow = require_shapely(), np.broadcast_to(np.asarray(grow, np.float64), len(polygons))
    plain = [
        all((curve[0] == curve[-1]).all() and _twice_area(curve) > 0 for curve in curves)
        and all((np.abs(curve) <= (180, 90)).all() for curve in curves)
        for curves in polygons
    ]
    some = [shapely.Polygon(curves[0], curves[1:]) for curves, here in zip(polygons, plain) if here]
    moved = np.array(some, object)
    if grow.any():
        moved = shapely.buffer(moved, grow[plain], join_style="mitre")
        beyond = (np.abs(shapely.bounds(moved).reshape(-1, 4)) > (180, 90, 180, 90)).any(axis=1)
        moved[beyond] = shapely.intersection(moved[beyond], _window(0))
    moved = iter(moved.tolist())
    return [
        next(moved)
        if here
        else _cut_out([_on_the_left(curve, (1 - 2 * (i > 0)) * by) for i, curve in enumerate(curves)])
        for curves, here, by in zip(polygons, plain, grow.tolist())
    ]


def _cut_out(shapes):
    """The first of some shapes without the others."""
    return shapes[0].difference(require_shapely().union_all(shapes[1:])) if len(shapes) > 1 else shapes[0]


def _on_the_left(curve, grow):
    """What a curve has on its left, moved outwards by `grow`, between -180 and 180 degrees."""
    shapely = require_shapely()
    turns = round((curve[-1, 0] - curve[0, 0]) / 360)
    if turns:  # round a pole: five turns, closed beyond the pole, so that their ends are out of sight
        copies = [curve[:-1] + (360 * k * turns, 0) for k in range(-2, 3)]
        pole = math.copysign(BEYOND, turns)
        ends = [(copies[-1][-1, 0], pole), (copies[0][0, 0], pole)]
        return _grown(shapely.Polygon(np.concatenate([*copies, ends])), grow).intersection(_window(0))
    if _twice_area(curve) < 0:  # round both poles
        return _window(0).difference(_on_the_left(curve[::-1], -grow))
    shape = shapely.Polygon(curve)
    # a turn that only the margin reaches is left out; the shape itself may take next to nothing of one
    grown, windows = _grown(shape, grow), _windows(shape, min(abs(grow), MARGIN))
    return shapely.union_all([_shifted(grown.intersection(_window(k)), k) for k in windows])


def _grown(shape, grow):
    return shape.buffer(grow, join_style="mitre") if grow else shape


def _window(k):
    """The k-th turn round the earth."""
    return require_shapely().box(360 * k - 180, -90, 360 * k + 180, 90)


def _windows(shape, least):
    """The turns that a shape takes more than `least` of; one of them, if it takes that little of all."""
    left, _, right, _ = shape.bounds
    found = {
        k: min(right, 360 * k + 180) - max(left, 360 * k - 180)
        for k in range(math.floor((left + 180) / 360), math.floor((right + 180) / 360) + 1)
    }
    return [k for k, width in found.items() if width > least] or [max(found, key=found.get)]


def _shifted(shape, k):
    return require_shapely().affinity.translate(shape, -360.0 * k) if k else shape


def _twice_area(curve):
    (x, y), (dx, dy) = (curve[:-1] - curve[0]).T, (curve[1:] - curve[:-1]).T
    return float((x * dy - y * dx).sum())


def _rings(polygon):
    """The rings of a Shapely polygon, each with what it encloses on its left."""
    ccw = require_shapely().is_ccw
    return [ring if ccw(ring) else ring.reverse() for ring in (polygon.exterior, *polygon.interiors)]


# Exchange -------------------------------------------------------------------------------------------------------------


def polygons_of(shape):
    """The polygons of a Shapely geometry, without the lines and points where shapes only touch; valid."""
    shapely = require_shapely()
    if not shape.is_valid:
        shape = shapely.make_valid(shape)
    parts = [part for part in shapely.get_parts(shape).tolist() if part.geom_type == "Polygon" and part.area > 0]
    return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)


def as_geojson(shape) -> dict:
    """A Shapely geometry as GeoJSON; polygons by the right-hand rule."""
    return _kept(require_shapely().geometry.mapping(shape))


def _arrays(geometry):
    """The rings, lines and points of a GeoJSON-like geometry as arrays, shape (n, 2)."""
    kind, parts = geometry["type"], geometry.get("coordinates", ())
    if kind == "GeometryCollection":
        parts = [array for part in geometry["geometries"] for array in _arrays(part)]
    elif kind == "MultiPolygon":
        parts = [ring for rings in parts for ring in rings]
    elif kind not in ("Polygon", "MultiLineString"):
        parts = [parts]
    return [np.asarray(part, np.float64).reshape(-1, np.shape(part)[-1])[:, :2] for part in parts if len(part)]


def _kept(geometry):
    """A GeoJSON-like geometry with the same coordinates as lists, rings by the right-hand rule (RFC 7946, 3.1.6)."""
    kind = geometry["type"]
    if kind == "GeometryCollection":
        return {"type": kind, "geometries": [_kept(part) for part in geometry["geometries"]]}
    coordinates = geometry["coordinates"]
    if kind == "Polygon":
        return {"type": kind, "coordinates": _right_handed(coordinates)}
    if kind == "MultiPolygon":
        return {"type": kind, "coordinates": [_right_handed(rings) for rings in coordinates]}
    if kind == "MultiLineString":
        return {"type": kind, "coordinates": [np.asarray(line, np.float64).tolist() for line in coordinates]}
    return {"type": kind, "coordinates": np.asarray(coordinates, np.float64).tolist()}


def _right_handed(rings):
    """Rings as lists: the first counter-clockwise, the others clockwise."""
    arrays = [np.asarray(ring, np.float64) for ring in rings]
    return [
        (ring if (_twice_area(ring) > 0) == (number == 0) else ring[::-1]).tolist()
        for number, ring in enumerate(arrays)
    ]
