"""Coordinate reference systems, and areas on the earth. pyproj is imported when it is needed.

An area is an integral along the boundary. On an ellipsoid of revolution the area between the equator, a curve and two
meridians is ``a^2 / 2`` times the integral of ``q(latitude)`` over the longitude (in radians) along the curve, where

    q(phi) = (1 - e^2) (sin(phi) / (1 - e^2 sin(phi)^2) + atanh(e sin(phi)) / e)

(J. P. Snyder, "Map projections: a working manual", USGS 1987, 3-12). So the area of a polygon of any size follows from
its edges. An edge is straight in the coordinates of the region; on the ellipsoid it is the image of that straight line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.geo.geojson import polygons_in
from clgeom.optional import is_installed, require, require_shapely

#: Relative error allowed for the integral of an area, as Simpson's rule estimates it. The result is more accurate.
TOLERANCE = 1e-8
#: Rounding error of float64 in a piece of an integral, relative to its largest value.
NOISE = 1e-15
#: Most halvings of an edge, and most pieces. A boundary that needs more is not a curve.
DEEPEST, MOST_PIECES = 60, 1 << 22
#: Largest difference in longitude between two neighbours on a curve, in radians.
STRIDE = math.radians(30)
#: Distance from a pole, in radians, below which longitudes are not accurate.
POLAR = math.radians(0.01)


def as_crs(crs: Any, *, caller: str) -> Any:
    """Return a horizontal ``pyproj.CRS``; `caller` is the action, for messages, such as "Writing 'a.geojson'"."""
    if crs is None:
        raise InvalidInput(
            f"{caller} needs a coordinate reference system, and there is none: name it (crs='EPSG:32632')."
        )
    require("pyproj", caller)
    import pyproj

    try:
        system = pyproj.CRS.from_user_input(crs)
    except (pyproj.exceptions.ProjError, TypeError, ValueError, OverflowError) as error:
        raise wrong("crs", caller, "a coordinate reference system, as 'EPSG:32632'", shown(crs)) from error
    if not (system.is_projected or system.is_geographic or system.is_engineering) or len(system.axis_info) < 2:
        expected = "a horizontal coordinate reference system, as 'EPSG:32632'"
        raise wrong("crs", caller, expected, f"{shown(crs)} ({system.type_name})")
    return system


def same_crs(one: Any, other: Any) -> bool:
    """Return whether two coordinate reference systems, given as anything that pyproj takes or None, are the same."""
    if one is None or other is None:
        return one is other
    texts = [f"EPSG:{crs}" if isinstance(crs, int) else str(crs) for crs in (one, other)]
    if texts[0] == texts[1] or not is_installed("pyproj"):
        return texts[0] == texts[1]
    return as_crs(one, caller="localize").equals(as_crs(other, caller="localize"), ignore_axis_order=True)


def scales_at(system: Any, x: Any, y: Any) -> tuple[float, float]:
    """Return the least and the greatest scale of a projected ``pyproj.CRS`` at a position; (1, 1) for none."""
    import pyproj

    if not system.is_projected:
        return 1.0, 1.0
    projection = pyproj.Proj(system)
    factors = projection.get_factors(*projection(x, y, inverse=True))
    scales = float(factors.tissot_semiminor), float(factors.tissot_semimajor)
    return scales if all(map(math.isfinite, scales)) else (1.0, 1.0)


def utm_zone(system: Any, x: Any, y: Any) -> str:
    """Return the code and the name of the UTM zone (WGS 84) of a position in a projected ``pyproj.CRS``."""
    import pyproj

    longitude, latitude = pyproj.Proj(system)(x, y, inverse=True)
    zone = int((longitude + 180) // 6) % 60 + 1
    return f"EPSG:{32600 + zone} (UTM zone {zone}N)" if latitude >= 0 else f"EPSG:{32700 + zone} (UTM zone {zone}S)"


def axes_of_crs(crs: Any) -> tuple[str, str]:
    """Return the labels of both axes, as "easting (m), EPSG:32632" and "northing (m)"; "x" and "y" without a system."""
    if crs is None or not is_installed("pyproj"):
        return "x", "y"
    system = as_crs(crs, caller="plot")
    name = system.to_string() if len(system.to_string()) <= 16 else shown(system.name, 40).strip("'")
    if system.is_geographic:
        return f"longitude (degrees), {name}", "latitude (degrees)"
    unit = system.axis_info[0].unit_name
    easting, northing = (f"{name} ({'m' if unit == 'metre' else unit})" for name in ("easting", "northing"))
    return f"{easting}, {name}", northing


def shown(value: Any, most: int = 60) -> str:
    """Return the repr of a value in one line of at most `most` characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def is_plain_geographic(system: Any) -> bool:
    """Return whether a system is geographic and not derived from another one, such as a system with a rotated pole."""
    return system.is_geographic and not (system.source_crs if system.is_bound else system).is_derived


@keeps_subnormals
def area_km2(region: Any) -> float:
    """Return the area of a region's ``__geo_interface__`` on the ellipsoid, in km2; see `earth_areas`."""
    return float(earth_areas([region.__geo_interface__], region.crs, caller="area_km2")[0]) / 1e6


@keeps_subnormals
def earth_areas(geometries: Any, crs: Any, *, caller: str) -> np.ndarray:
    """Return the areas of GeoJSON-like geometries on the ellipsoid of `crs`, in m2, shape (n,).

    The area of a geometry is that of its polygons without their holes. Edges are straight in `crs`. The relative error
    is at most 1e-8 for 1 m2 or more. In a geographic system latitudes beyond a pole add no area, and an area that is
    covered more than once counts once. In an engineering system, which has no place on the earth, areas are those in
    its plane. `InvalidInput` if a geometry lies beyond the area where `crs` is defined.
    """
    system, rings, signs, owner = as_crs(crs, caller=caller), [], [], []
    for number, geometry in enumerate(geometries):
        for ring, sign in _rings(geometry, system):
            ring = np.asarray(ring, np.float64)[:, :2]
            ring = ring[(ring != np.roll(ring, 1, axis=0)).any(axis=1)]  # not closed
            if len(ring) > 2:
                rings.append(ring)
                signs.append(sign)
                owner.append(number)
    if not rings:
        return np.zeros(len(geometries))
    if system.is_engineering or system.ellipsoid is None:
        areas = np.array([plain_area(ring, system) for ring in rings])
    else:
        areas = Earth(system, caller).areas(np.concatenate(rings), np.cumsum([0, *map(len, rings)]))
    return np.bincount(owner, areas * signs, len(geometries))


@keeps_subnormals
def areas_or_none(geometries: Any, crs: Any) -> list[Any]:
    """Return the areas of geometries on the ellipsoid in km2; None for an area that cannot be computed."""
    if crs is None or not is_installed("pyproj"):
        return [None] * len(geometries)
    try:
        return (earth_areas(geometries, crs, caller="area_km2") / 1e6).tolist()
    except InvalidInput:  # the system cannot express one of them
        if len(geometries) == 1:
            return [None]
    return [area for geometry in geometries for area in areas_or_none([geometry], crs)]


@keeps_subnormals
def ragged_areas(places: np.ndarray, offsets: Any, crs: Any, *, caller: str) -> np.ndarray:
    """Return the area within each ring ``places[offsets[r] : offsets[r + 1]]``, not closed; see `earth_areas`."""
    system = as_crs(crs, caller=caller)
    if not len(places):
        return np.zeros(len(offsets) - 1)
    turn = turn_of(system)
    if system.is_engineering or system.ellipsoid is None or (turn and np.ptp(places[:, 0]) > turn * 0.25):
        polygons = [{"type": "Polygon", "coordinates": [ring]} for ring in np.split(places, offsets[1:-1])]
        return earth_areas(polygons, crs, caller=caller)
    return Earth(system, caller).areas(places, offsets)


@keeps_subnormals
def plain_area(ring: Any, system: Any) -> float:
    """Return the area within a ring, in m2, in a system without an ellipsoid."""
    x, y = (ring - ring[0]).T
    twice = float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum() + x[-1] * y[0] - x[0] * y[-1])
    across, up = system.axis_info[:2]
    return abs(twice) / 2 * across.unit_conversion_factor * up.unit_conversion_factor


def _rings(geometry: dict[str, Any], system: Any) -> list[Any]:
    """Pairs of a ring and its sign, -1 for a hole; of parts of a geometry that reaches far round the globe."""
    rings = [(ring, 1 - 2 * (i > 0)) for polygon in polygons_in(geometry) for i, ring in enumerate(polygon)]
    turn, x = turn_of(system), [place[0] for ring, _ in rings for place in ring]
    if turn and x and max(x) - min(x) > turn * (1 + 1e-12 if is_plain_geographic(system) else 0.25):
        return list(_in_slices(rings, turn))
    return rings


def turn_of(system: Any) -> Any:
    """Return the longitude of one turn round the globe in the unit of a geographic system; None for other systems."""
    return 2 * math.pi / system.axis_info[0].unit_conversion_factor if system.is_geographic else None


def slices(shape: Any, turn: Any) -> Iterator[Any]:
    """Yield the parts of a Shapely shape in longitude and latitude, each within a quarter turn and a hemisphere."""
    shapely, quarter = require_shapely(), turn / 4
    left, _, right, _ = shape.bounds
    for k in range(math.floor(left / quarter), math.ceil(right / quarter)):
        for low, high in ((-quarter, 0), (0, quarter)):
            part = shape.intersection(shapely.box(k * quarter, low, (k + 1) * quarter, high))
            yield from (p for p in shapely.get_parts(part).tolist() if p.geom_type == "Polygon" and p.area > 0)


def _in_slices(rings: Any, turn: Any) -> Any:
    """Rings and signs of the parts of the globe that the rings of a geographic system cover, each part once."""
    shapely = require_shapely()
    outer, inner = ([shapely.make_valid(shapely.Polygon(r)) for r, sign in rings if sign == s] for s in (1, -1))
    parts = slices(shapely.union_all(outer).difference(shapely.union_all(inner)), turn)
    placed = [shapely.affinity.translate(part, -turn * math.floor(part.centroid.x / turn)) for part in parts]
    found = []
    for part in shapely.get_parts(shapely.union_all(placed)):
        for slice_ in slices(part, turn):
            found += [(ring.coords, 1 - 2 * (i > 0)) for i, ring in enumerate((slice_.exterior, *slice_.interiors))]
    return found


class Mapping:
    """Transformation of coordinates of a ``pyproj.CRS`` to longitude and latitude, which may be beyond 180 degrees.

    The `target` is a geographic system in degrees, which is then the unit. By default it is the geographic system on
    which `system` is based, so that no datum is shifted; the unit is then the radian.
    """

    def __init__(self, system: Any, caller: str, target: Any = None) -> None:
        import pyproj

        self.system, self.caller = system, caller
        self.plain = target is None and is_plain_geographic(system)
        base = system if self.plain else target or system.geodetic_crs
        if base is not None and not self.plain and base.is_derived:
            base = base.source_crs
        try:
            self.transformer: Any = None if self.plain else pyproj.Transformer.from_crs(system, base, always_xy=True)
        except pyproj.exceptions.ProjError as error:
            raise InvalidInput(
                f"{caller} needs a way from {shown(system.name)} to longitude and latitude, and there is none."
            ) from error
        self.unit, self.turn = 1.0, 360.0
        if target is None:
            self.unit, self.turn = base.axis_info[0].unit_conversion_factor, 2 * math.pi

    def anywhere(self, x: Any, y: Any) -> Any:
        """Longitudes and latitudes; not finite where the transformation is not defined."""
        if not self.plain:
            x, y = self.transformer.transform(x, y)
        return tuple(np.asarray(v, np.float64) * self.unit for v in (x, y))

    def __call__(self, x: Any, y: Any) -> tuple[Any, ...]:
        """Longitudes and latitudes; `InvalidInput` where the transformation is not defined."""
        longitude, latitude = self.anywhere(x, y)
        if not (np.isfinite(longitude).all() and np.isfinite(latitude).all()):
            raise self.beyond()
        return longitude, latitude

    def beyond(self) -> InvalidInput:
        """Return the error for coordinates that are not on the earth."""
        return InvalidInput(
            f"{self.caller} is not possible: coordinates reach beyond what {shown(self.system.name)} can express."
        )

    def step(self, start: Any, end: Any) -> Any:
        """Return the difference of two longitudes, by the shorter way round except in a plain geographic system."""
        apart = end - start
        return apart if self.plain else apart - self.turn * np.round(apart / self.turn)

    def no_curve(self) -> InvalidInput:
        """Return the error for a boundary that crosses a discontinuity of the system."""
        return InvalidInput(
            f"{self.caller} is not possible: the boundary is no curve on the earth, because it crosses a line where "
            f"{shown(self.system.name)} is cut."
        )

    def jacobians(self, x: Any, y: Any, reach: Any) -> Any:
        """Derivatives [[d lon/dx, d lon/dy], [d lat/dx, d lat/dy]] at positions, shape (n, 2, 2); some not finite."""
        here, right, up = self.anywhere(x, y), self.anywhere(x + reach, y), self.anywhere(x, y + reach)
        with np.errstate(invalid="ignore"):
            rows = [[self.step(here[0], right[0]), self.step(here[0], up[0])], [right[1] - here[1], up[1] - here[1]]]
        return np.moveaxis(np.array(rows), 2, 0) / reach

    def keeps_sides(self, x: Any, y: Any) -> bool:
        """Return whether the transformation preserves orientation, by the signs of Jacobians at some positions."""
        pick = slice(None, None, len(x) // 32 + 1)
        found = self.jacobians(x[pick], y[pick], max(np.ptp(x), np.ptp(y)) * 1e-6)
        found = found[np.isfinite(found).all(axis=(1, 2))]
        return bool(np.sign(np.linalg.det(found)).sum() >= 0)


class Earth:
    """Areas on the ellipsoid of a coordinate reference system."""

    def __init__(self, system: Any, caller: str) -> None:
        self.mapping, self.caller = Mapping(system, caller), caller
        major, minor = system.ellipsoid.semi_major_metre, system.ellipsoid.semi_minor_metre
        self.half_square = major**2 / 2
        self.e = math.sqrt(max((1 - minor / major) * (1 + minor / major), 0.0))
        self.pole = float(self.q(math.pi / 2))

    def q(self, latitude: Any) -> Any:
        """Twice the area between the equator and a latitude, for one radian of longitude and a semi-major axis of 1."""
        sine = np.sin(np.clip(latitude, -math.pi / 2, math.pi / 2))
        if self.e == 0:
            return 2 * sine
        return (1 - self.e**2) * (sine / (1 - (self.e * sine) ** 2) + np.arctanh(self.e * sine) / self.e)

    def areas(self, places: np.ndarray, offsets: Any) -> np.ndarray:
        """Return the areas within rings ``places[offsets[r] : offsets[r + 1]]`` of 3 positions or more, not closed."""
        sizes, first = np.diff(offsets), offsets[:-1]
        begin, after = np.repeat(first, sizes), np.arange(1, len(places) + 1)
        after[offsets[1:] - 1] = first
        x, y = (places - places[begin]).T
        clockwise = np.add.reduceat(x * y[after] - x[after] * y, first) < 0
        turned = 2 * begin + np.repeat(sizes, sizes) - 1 - np.arange(len(places))
        places = np.where(np.repeat(clockwise, sizes)[:, None], places[turned], places)
        longitude, latitude = self.mapping(*places.T)
        most, least = np.maximum.reduceat(latitude, first), np.minimum.reduceat(latitude, first)
        # q is integrated relative to its value at the first vertex; relative to the equator, digits would cancel.
        # Where the ring comes near a pole, it is relative to the pole: longitudes there then hardly matter.
        level, polar = self.q(latitude[first]), np.where(most > -least, self.pole, -self.pole)
        if not self.mapping.plain:
            level = np.where(np.maximum(most, -least) > math.pi / 2 - POLAR, polar, level)
        level, integral, turns = self._integrals(places, sizes, longitude, latitude, level, polar)
        if self.mapping.plain:
            return np.asarray(self.half_square * np.abs(integral))
        if not self.mapping.keeps_sides(*places[: sizes[0]].T):
            integral, turns = -integral, -turns
        # The area is on the left. A ring that goes round the earth eastwards encloses the north pole, one that goes
        # westwards the south pole, and one that does not go round encloses both if its integral is negative.
        integral += np.select(
            [turns > 0, turns < 0, integral < 0],
            [2 * math.pi * (self.pole - level), 2 * math.pi * (self.pole + level), 4 * math.pi * self.pole],
        )
        return np.asarray(self.half_square * integral)

    def _integrals(
        self, places: np.ndarray, sizes: Any, longitude: Any, latitude: Any, level: Any, polar: Any
    ) -> tuple[Any, ...]:
        """For each ring its level, the integral of ``level - q`` over the longitude, and the number of turns eastwards.

        The level is `level`, or `polar` where an edge comes near a pole.
        """
        rings, plain = len(sizes), self.mapping.plain
        owner, after = np.repeat(np.arange(rings), sizes), np.arange(1, len(places) + 1)
        after[np.cumsum(sizes) - 1] = np.cumsum(sizes) - sizes
        middles = (places + places[after]) / 2
        lon, lat = self.mapping(*middles.T)
        # a piece: positions, longitudes and heights of its ends and its middle
        at = np.stack([places, middles, places[after]], axis=1)
        longitudes = np.stack([longitude, lon, longitude[after]], axis=1)
        q = np.stack([self.q(v) for v in (latitude, lat, latitude[after])], axis=1)
        total, turned, size, pieces = np.zeros(rings), np.zeros(rings), np.zeros(rings), sizes
        near = np.zeros(rings, bool)
        for _ in range(DEEPEST):
            quarters = (at[:, :-1] + at[:, 1:]) / 2
            lon, lat = (v.reshape(-1, 2) for v in self.mapping(*quarters.reshape(-1, 2).T))
            at, longitudes, q = interleaved(at, quarters), interleaved(longitudes, lon), interleaved(q, self.q(lat))
            near[owner[(np.abs(lat) > math.pi / 2 - POLAR).any(axis=1)]] = not plain
            heights = level[owner, None] - q
            steps = self.mapping.step(longitudes[:, :-1], longitudes[:, 1:])
            along = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
            whole = _simpson(along[:, ::2], heights[:, ::2])
            halves = _simpson(along[:, :3], heights[:, :3]) + _simpson(along[:, 2:], heights[:, 2:])
            error, largest, widest = np.abs(halves - whole), np.abs(heights).max(axis=1), np.abs(steps).max(axis=1)
            size = np.maximum(size, np.abs(total + np.bincount(owner, halves, rings)))
            done = error <= np.maximum((TOLERANCE * size / pieces)[owner], NOISE * (largest + widest))
            done &= plain | (widest < STRIDE) | (largest <= NOISE)
            done |= near[owner] & (level != polar)[owner]  # these are integrated again
            total += np.bincount(owner[done], (halves + (halves - whole) / 15)[done], rings)
            turned += np.bincount(owner[done], along[done, -1], rings)
            at, longitudes, q = (np.concatenate([v[~done, :3], v[~done, 2:]]) for v in (at, longitudes, q))
            owner = np.tile(owner[~done], 2)
            if not len(owner) or len(owner) > MOST_PIECES:
                break
            pieces = np.maximum(np.bincount(owner, minlength=rings), 1)
        again, turns = near & (level != polar), turned / (2 * math.pi)
        bad = ~again & ((np.abs(turns - np.round(turns)) > 0.01) | (np.abs(turns) > 1.5))
        if len(owner) or bad.any() and not plain:
            raise self.mapping.no_curve()
        level = np.where(again, polar, level)
        if again.any():
            own = np.repeat(again, sizes)
            _, total[again], turns[again] = self._integrals(
                places[own], sizes[again], longitude[own], latitude[own], polar[again], polar[again]
            )
        return level, total, np.round(turns)


def interleaved(values: np.ndarray, middles: Any) -> Any:
    """Return the rows of values with `middles` between them."""
    made = np.empty((len(values), 5, *values.shape[2:]))
    made[:, ::2], made[:, 1::2] = values, middles
    return made


def _simpson(x: Any, y: Any) -> Any:
    """Return the integrals of y over x along curves, by their values at 0, 1/2 and 1; exact for parabolas."""
    (x0, x1, x2), (y0, y1, y2) = x.T, y.T
    return (y0 * (4 * x1 - 3 * x0 - x2) + 4 * y1 * (x2 - x0) + y2 * (x0 - 4 * x1 + 3 * x2)) / 6
