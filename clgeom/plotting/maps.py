"""A self-contained HTML page with a map: it pans, zooms, shows and hides levels, and tells the attributes of a part.

Polygons are in the page as whole numbers of a small step, each vertex relative to the one before; its script draws
them. A Content-Security-Policy in the page forbids it to load anything from a network.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from clgeom.core.messages import counted
from clgeom.errors import InvalidInput
from clgeom.intake.typing import NDArray
from clgeom.io.atomic import check_output, replacing
from clgeom.optional import require_matplotlib
from clgeom.plotting.coverage import VALUES
from clgeom.plotting.figures import LEVEL_LINES
from clgeom.plotting.html import PAGE_FORMATS, filled, script_data, template

TEMPLATE = "map.html"
#: Longest side of the image of a raster, in pixels, and number of its colours.
LONGEST, SHADES = 1024, 64
#: Steps of coordinates in a cell.
STEPS = 256
#: Largest coordinate in steps: sums of such numbers are exact in JavaScript.
MOST_STEPS = 2.0**50


@dataclass(frozen=True, eq=False)
class MapPart:
    """A shape of a map page.

    Parameters
    ----------
    level : str
        Label of its level; parts of one level have one colour.
    polygons : sequence of sequence of array_like, shape (n, 2)
        For each polygon its outer ring and its holes in map coordinates, closed or not.
    attributes : dict of str to str
    """

    level: str
    polygons: Sequence[Sequence[Any]]
    attributes: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class MapFrame:
    """What a map page shows around the shapes.

    Parameters
    ----------
    bounds : tuple of 4 float
        Least x and y, greatest x and y, of all that the page shows, in map coordinates.
    cell : float
        Side of a cell: positions are rounded to `STEPS` parts of it.
    axes : tuple of (str, str, str)
        For x and for y its name, the unit of its values, and the unit of distances.
    downwards : bool
        Whether y counts downwards, as rows do.
    stretch : float
        By what x is multiplied on the screen: the cosine of the latitude for longitudes, else 1.
    metres : float or None
        Length of a unit of y in metres, for the scale bar.
    lonlat : tuple (longitudes, latitudes, digits), or None
        Two arrays of shape (k, k) over the bounds, the first row at least y; `digits` is the number of decimals to
        which values interpolated between them are right.
    sites : sequence of (float, float)
        Positions of transmitters.
    """

    bounds: tuple[float, float, float, float]
    cell: float = 1.0
    axes: tuple[tuple[str, str, str], ...] = (("x", "", ""), ("y", "", ""))
    downwards: bool = False
    stretch: float = 1.0
    metres: float | None = None
    lonlat: tuple[Any, Any, int] | None = None
    sites: Sequence[tuple[float, float]] = ()


def map_text(
    parts: Sequence[MapPart], frame: MapFrame, *, title: str, words: str = "", image: dict[str, Any] | None = None
) -> str:
    """A map page as text.

    Parameters
    ----------
    parts : sequence of MapPart
        At least one; levels come in the order of their first part, the first on top.
    frame : MapFrame
    title, words : str
        Heading and introduction, as plain text.
    image : dict, optional
        As `image_of` makes it.
    """
    if not parts:
        raise InvalidInput("A map page needs at least one part.")
    labels = list(dict.fromkeys(part.level for part in parts))
    low, high = np.array(frame.bounds[:2], np.float64), np.array(frame.bounds[2:], np.float64)
    step = frame.cell / STEPS
    if not np.isfinite(high - low).all() or (high - low).max() / step > MOST_STEPS:
        raise InvalidInput("Coordinates beyond 2**42 cells cannot be shown in a map page; scale them first.")
    data: dict[str, Any] = {
        "origin": low.tolist(),
        "bounds": list(map(float, frame.bounds)),
        "step": step,
        "cell": frame.cell,
        "stretch": frame.stretch,
        "up": -1 if frame.downwards else 1,
        "metres": frame.metres,
        "unit": frame.axes[1][2],
        "axes": [[name, f" {unit}" if unit[:1].isalpha() else unit] for name, unit, _ in frame.axes],
        "lonlat": None,
        "sites": [list(map(float, site)) for site in frame.sites],
        "levels": [
            {
                "label": label,
                "colour": LEVEL_LINES[k % len(LEVEL_LINES)],
                "words": counted(sum(part.level == label for part in parts), "part", "parts"),
            }
            for k, label in enumerate(labels)
        ],
        "features": [
            [
                labels.index(part.level),
                [_code(ring, low, step, hole=k > 0) for rings in part.polygons for k, ring in enumerate(rings)],
                list(part.attributes.items()),
            ]
            for part in parts
        ],
        "image": image,
    }
    if frame.lonlat is not None:
        longitude, latitude, digits = frame.lonlat
        rounded = [np.round(values, 9).ravel().tolist() for values in (longitude, latitude)]
        data["lonlat"] = dict(zip(("longitude", "latitude"), rounded)) | {"count": len(longitude), "digits": digits}
    return filled(template(TEMPLATE), {"title": escape(title), "words": escape(words), "data": script_data(data)})


def save_map(path: Any, parts: Sequence[MapPart], frame: MapFrame, **options: Any) -> None:
    """Write a map page to an .html file, whole or not at all. The parameters of `map_text`."""
    check_output(path, PAGE_FORMATS)
    text = map_text(parts, frame, **options)
    with replacing(path) as file:
        file.write(text.encode())


def image_of(values: Any, transform: Sequence[float], *, label: str, unit: str) -> dict[str, Any] | None:
    """A raster as an image for `map_text`; None if it has no finite value. Needs Matplotlib.

    Parameters
    ----------
    values : array_like, shape (rows, columns)
        At most `LONGEST` rows and columns. NaN is not drawn.
    transform : sequence of 6 float
        From columns and rows of `values` to map coordinates.
    label, unit : str
    """
    require_matplotlib()
    from matplotlib import colormaps
    from PIL import Image

    values = np.asarray(values, np.float64)
    known = np.isfinite(values)
    if not known.any():
        return None
    low, high = values[known].min(), values[known].max()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        share = np.nan_to_num((values - low) / (high - low), nan=0.0, posinf=0.0)
    numbers = np.where(known, 1 + np.round(share * (SHADES - 1)), 0).astype(np.uint8)
    colours = np.round(255 * colormaps[VALUES](np.linspace(0, 1, SHADES))[:, :3]).astype(np.uint8)
    picture = Image.fromarray(numbers, "P")
    picture.putpalette(np.concatenate([[[255, 255, 255]], colours]).astype(np.uint8).tobytes())
    file = io.BytesIO()
    picture.save(file, "PNG", transparency=0, optimize=True)
    ramp = [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in colours[:: (SHADES - 1) // 9].tolist()]
    return {
        "data": "data:image/png;base64," + base64.b64encode(file.getvalue()).decode(),
        "transform": [float(number) for number in transform],
        "label": label,
        "colours": ramp,
        "ends": [f"{low:.4g} {unit}".strip(), f"{high:.4g} {unit}".strip()],
    }


def thinned(shape: tuple[int, int], transform: Sequence[float]) -> tuple[int, tuple[float, ...]]:
    """A step k so that every k-th row and column are at most `LONGEST`, and the transform of these cells."""
    k = -(-max(shape) // LONGEST)
    a, b, c, d, e, f = transform
    return k, (a * k, b * k, c, d * k, e * k, f)


def _code(ring: Any, origin: NDArray[np.float64], step: float, *, hole: bool) -> Any:
    """A ring as whole numbers: the first vertex in steps from the origin, then differences; not closed.

    Outer rings are counter-clockwise and holes clockwise, so that polygons that overlap can be filled together.
    """
    places = np.rint((np.asarray(ring, np.float64) - origin) / step).astype(np.int64)
    places = places[np.r_[True, (places[1:] != places[:-1]).any(axis=1)]]
    if len(places) > 1 and (places[0] == places[-1]).all():
        places = places[:-1]
    x, y = (places - places[0]).astype(np.float64).T
    if ((x * np.roll(y, -1) - np.roll(x, -1) * y).sum() < 0) != hole:
        places = places[::-1]
    return np.diff(places, axis=0, prepend=0).ravel().tolist()
