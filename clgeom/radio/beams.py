"""Antenna patterns for a region: as much power in every direction as the region reaches there, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clgeom.arguments import number, pair, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import short
from clgeom.intake.typing import FloatLike, NDArray
from clgeom.radio.antennas import Antenna
from clgeom.radio.sites import check_crs

CALLER = "beam_pattern"


@keeps_subnormals
def beam_pattern(
    region: Any,
    position: Sequence[FloatLike],
    *,
    exponent: FloatLike = 3.5,
    margin_db: FloatLike = 0.0,
    front_to_back_db: FloatLike = 30.0,
    gain_dbi: FloatLike = 0.0,
) -> Antenna:
    """Return the antenna that serves a region from a position with the least power in every direction.

    A region of low resolution is enough, and gives a smooth pattern: power that is not sent beyond the region does not
    disturb the neighbours.

    Parameters
    ----------
    region : CoverageRegion, Hull, Shapely geometry or anything with ``__geo_interface__``
        A polygon or several, in metres.
    position : (x, y)
        Of the transmitter.
    exponent : float
        Path loss grows as ``10 exponent log10(distance)`` dB; 2 in free space, 3 to 4 in towns.
    margin_db : float
        Power to spare in every direction, up to the greatest.
    front_to_back_db : float
        Greatest attenuation: that of directions in which there is no part of the region.
    gain_dbi : float
        Gain in the direction of the farthest point.

    Returns
    -------
    Antenna
        Its horizontal cut is for an azimuth of 0: degrees clockwise from north. The vertical cut is 0 dB.

    Raises
    ------
    InvalidInput
        A region without area, or in a coordinate reference system that is not in metres.

    Warns
    -----
    InputWarning
        The system's scale at `position` differs from 1 by more than 1 %, as in Web Mercator (EPSG:3857).

    Notes
    -----
    The attenuation in a direction is ``10 exponent log10(farthest / reach)`` dB, with the distance `reach` of the last
    point of the region in the directions within half a degree. Source: V. B. Ramakrishnaiah et al., on adaptive region
    construction, section 1, the second application.

    Examples
    --------
    >>> from shapely.geometry import box
    >>> from clgeom import radio
    >>> antenna = radio.beam_pattern(box(-100, -100, 1000, 100), (0, 0), exponent=2)
    >>> antenna.horizontal[[90, 180, 270]].round(1).tolist()
    [0.0, 20.0, 20.0]
    """
    x, y = pair(position, "position", caller=CALLER)
    check_crs(getattr(region, "crs", None), CALLER, (x, y))
    slope = number(exponent, "exponent", caller=CALLER, least=0.1, most=20, unit="10 dB a decade")
    margin = number(margin_db, "margin_db", caller=CALLER, least=0, most=200, unit="dB")
    most = number(front_to_back_db, "front_to_back_db", caller=CALLER, least=0, most=200, unit="dB")
    rings = _rings(region)
    reach = _reaches(rings, np.array([x, y]))
    farthest = reach.max()
    if not any(_has_area(ring) for ring in rings):
        raise wrong("region", CALLER, "a polygon with an area", short(region))
    with np.errstate(divide="ignore"):
        cut = 10 * slope * np.log10(farthest / reach) - margin
    gain: Any = gain_dbi  # Antenna checks it
    return Antenna(gain, horizontal=np.clip(cut, 0, most).astype(np.float32), vertical=np.zeros(360, np.float32))


def _rings(region: Any) -> list[NDArray[np.float64]]:
    """Return the outer rings of a region as arrays."""
    shape = getattr(region, "__geo_interface__", None) or {}
    shape = shape.get("geometry") or shape
    if shape.get("type") not in ("Polygon", "MultiPolygon"):
        raise wrong("region", CALLER, "a polygon or several", type(region).__name__)
    polygons = [shape["coordinates"]] if shape["type"] == "Polygon" else shape["coordinates"]
    return [np.asarray(polygon[0], float)[:, :2] for polygon in polygons if polygon]


def _has_area(ring: NDArray[np.float64]) -> bool:
    (x, y), (next_x, next_y) = (ring - ring[0]).T, np.roll(ring - ring[0], -1, axis=0).T
    return bool((x * next_y - next_x * y).sum() != 0)


def _reaches(rings: Sequence[NDArray[np.float64]], position: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of the farthest point of rings in each degree, 0 where there is none."""
    reach = np.zeros(360)
    turns = np.radians(np.arange(0, 360, 0.5))  # whole degrees and the borders between them
    east, north = np.sin(turns), np.cos(turns)
    half = np.zeros(720)
    for ring in rings:
        here, step = ring[:-1] - position, np.diff(ring, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            across = east[:, None] * step[:, 1] - north[:, None] * step[:, 0]
            far = (here[:, 0] * step[:, 1] - here[:, 1] * step[:, 0]) / across
            along = (here[:, 0] * north[:, None] - here[:, 1] * east[:, None]) / across
        met = (along >= 0) & (along <= 1) & (far > 0)
        np.maximum(half, np.where(met, far, 0).max(axis=1, initial=0), out=half)
        # corners, which are farther than the rays beside them
        degrees = np.rint(np.degrees(np.arctan2(here[:, 0], here[:, 1]))).astype(int) % 360
        np.maximum.at(reach, degrees, np.hypot(*here.T))
    before, at, after = np.roll(half, 1)[::2], half[::2], half[1::2]
    return np.maximum(np.maximum(reach, before), np.maximum(at, after))
