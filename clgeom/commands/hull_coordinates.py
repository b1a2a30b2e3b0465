"""Hulls of ``clgeom hull`` in coordinates of the reference system: scaled, or across the antimeridian."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom import convex_hull
from clgeom.errors import InvalidInput
from clgeom.geo.longitudes import DEGREES, require_latitudes, turn_of_crs
from clgeom.geo.lonlat import named_lonlat
from clgeom.hull.antimeridian import batch_over_antimeridian, members_of, over_antimeridian
from clgeom.hull.measures import polygon_perimeter
from clgeom.hull.result import Hull
from clgeom.io.outputs import IN_SYSTEM
from clgeom.optional import require

if TYPE_CHECKING:
    from clgeom.commands.hull_points import HullCall
    from clgeom.io.cloud import Cloud

REMEDY = "--antimeridian finds the hull there"


def turn_of_columns(names: Any, crs: Any, wanted: Any) -> float | None:
    """Return the longitude of one turn; None, refused if `wanted`, without longitude and latitude."""
    if wanted and crs is not None:
        require("pyproj", "The option --antimeridian")
    known = crs is None and names is not None and named_lonlat(*names)
    turn = DEGREES if known else turn_of_crs(crs)
    if wanted and turn is None:
        got = "coordinates without a reference system" if crs is None else f"coordinates in {crs}"
        raise InvalidInput(
            f"The option --antimeridian is for longitudes and latitudes: columns lon and lat, or --crs EPSG:4326. "
            f"Got {got} instead."
        )
    return turn


def check_latitudes(values: Any, turn: Any, output: str | None, *, of: str = "") -> None:
    """Refuse an output in a geographic reference system if coordinates are no latitudes; see `require_latitudes`."""
    if output is not None and output.lower().endswith(IN_SYSTEM):
        require_latitudes(values, turn, output, of=of)


def in_system(call: HullCall, hull: Any, cloud: Cloud, parts: Any, turn: float | None, *, caller: str = "") -> Any:
    """Return a hull in coordinates of the reference system, or the one across the antimeridian.

    `parts` returns arrays of coordinates. An output in a geographic reference system is refused if the coordinates are
    no longitudes and latitudes.
    """
    hull = scaled_hull(hull, cloud)
    check_latitudes(hull.points[:, 1], turn, call.output, of=f" of {caller}" if caller else "")
    keep = call.options["collinear"] == "keep"
    return over_antimeridian(
        hull,
        parts,
        turn,
        _solver(call),
        wanted=call.antimeridian,
        caller=caller,
        keep_collinear=keep,
        remedy=REMEDY,
    )


def batch_across(call: HullCall, batch: Any, cloud: Cloud, numbers: Any, turn: float | None) -> Any:
    """Return the same for the hulls of groups; `numbers` has the group of each point."""
    check_latitudes(batch.points[:, 1], turn, call.output)
    assert cloud.groups is not None
    names = np.array(cloud.groups.names, object)[batch.labels]
    how = {"wanted": call.antimeridian, "caller": None, "remedy": REMEDY, "names": names}
    members = members_of(numbers, batch.labels)
    return batch_over_antimeridian(batch, cloud.coordinates, members, turn, _solver(call), **how)


def _solver(call: HullCall) -> Any:
    return functools.partial(convex_hull, collinear=call.options["collinear"], device=call.session)


def placed(found: Any, points: Any) -> Any:
    """Return positions where a picture of a hull has them: with continuous longitudes."""
    return points if found.across is None else found.across.continuous(points)


def placed_groups(batch: Any, cloud: Cloud, numbers: Any) -> Any:
    """Return positions where a picture of the hulls of groups has them; `batch` has the groups' numbers as labels."""
    if not batch.across:
        return cloud.coordinates
    made, members = np.array(cloud.coordinates, np.float64), members_of(numbers, batch.labels)
    for number, hull in batch.across.items():
        rows = members(number)
        made[rows] = hull.across.continuous(made[rows])
    return made


# Scaled integers ---------------------------------------------------------------------------------------------------


def scaled_hull(found: Any, cloud: Cloud) -> Any:
    """Return a hull in coordinates of the reference system, its measures from the integers times the scale."""
    if cloud.scale is None:
        return found
    hull = Hull(
        found.vertices, _coordinates(found.points, cloud), found.dimension, found.n, found.phases, found.session
    )
    hull.__dict__["area"] = found.area * cloud.scale[0] * cloud.scale[1]
    hull.__dict__["perimeter"] = _perimeter(found, cloud.scale)
    return hull


def scaled_batch(batch: Any, cloud: Cloud) -> Any:
    """Return the hulls of groups of `cloud.points` in coordinates of the reference system."""
    if cloud.scale is None:
        return batch
    x, y = cloud.scale
    perimeters = batch.perimeters * x if x == y else np.array([_perimeter(hull, cloud.scale) for hull in batch])
    scaled = replace(batch, points=_coordinates(batch.points, cloud), areas=batch.areas * x * y, perimeters=perimeters)
    scaled.__dict__["dimensions"] = batch.dimensions  # of the integers: rounding may bend a segment
    return scaled


def named_batch(batch: Any, groups: Any) -> Any:
    """Return the hulls with the names of their groups as labels. A group without points has no hull."""
    names = np.array(groups.names, object)[batch.labels]
    named = replace(batch, labels=names, label_column=names, label_name=groups.title)
    named.__dict__["dimensions"] = batch.dimensions
    return named


def _coordinates(points: Any, cloud: Cloud) -> Any:
    return points * cloud.scale + cloud.offset


def _perimeter(hull: Any, scale: Any) -> float:
    if scale[0] == scale[1] or hull.dimension < 1:
        return hull.perimeter * scale[0]
    corners = hull.points * scale
    return polygon_perimeter(corners[[0, -1]] if hull.dimension == 1 else corners)
