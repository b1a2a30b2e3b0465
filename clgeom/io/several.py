"""Coverage regions of several rasters in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clgeom.core.host_floats import keeps_subnormals
from clgeom.geo.smooth import with_smooth_outlines
from clgeom.io.atomic import NewFile
from clgeom.io.attributes import attributes_of, style_of
from clgeom.io.features import (
    OPTION,
    Written,
    check_lonlat,
    densify_or_none,
    geometries_of,
    in_degrees,
    write_features,
)
from clgeom.io.outputs import IN_LONLAT


@dataclass(frozen=True, eq=False)
class Joined:
    """Geometries of several collections, one after the other."""

    parts: Sequence[Any]

    @property
    def vertices(self) -> int:
        return sum(part.vertices for part in self.parts)

    def geojson(self) -> list[str]:
        return [text for part in self.parts for text in part.geojson()]

    def wkt(self) -> list[str]:
        return [text for part in self.parts for text in part.wkt()]

    def to_shapely(self) -> np.ndarray:
        return np.concatenate([part.to_shapely() for part in self.parts])


@keeps_subnormals
def write_several(
    collections: Sequence[Any], file: NewFile, *, densify: float | None = None, smooth: int = 0
) -> Written:
    """Write the coverage regions of several rasters to a new file, each as (regions, reference system, unit).

    Ids count through all of them. A format that keeps coordinates gets the system of the first. `smooth` cuts corners
    so many times.
    """
    densify, columns, shapes, added = densify_or_none(densify), [], [], 0
    for regions, crs, unit in collections:
        drawn = with_smooth_outlines(regions, smooth) if smooth else regions
        if file.suffix in IN_LONLAT:
            if crs is None:
                check_lonlat(regions, file.given, OPTION)
            made, more = in_degrees(drawn, crs, caller=f"Writing '{file.given}'", densify=densify)
            added += more
        else:
            made = geometries_of(drawn)
        shapes.append(made)
        columns.append(attributes_of(regions, unit=unit, crs=crs))
    names = list(dict.fromkeys(name for own in columns for name in own))
    joined = {name: _joined([own.get(name) for own in columns], [len(own["id"]) for own in columns]) for name in names}
    joined["id"] = np.arange(1, len(joined["id"]) + 1)
    if "level" in joined:
        joined |= style_of(joined["level"], joined["direction"])
    whole = Joined(shapes)
    write_features(file, joined, whole, collections[0][1])
    return Written(whole.vertices, added)


def _joined(parts: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Return a column that continues those of several tables; values are missing where a table (None) has none."""
    own = next(part for part in parts if part is not None)
    if own.dtype.kind in "iu":
        made = [np.ma.masked_all(size, own.dtype) if part is None else part for part, size in zip(parts, sizes)]
        return np.ma.concatenate(made) if any(map(np.ma.isMaskedArray, made)) else np.concatenate(made)
    fill = np.nan if own.dtype.kind == "f" else None
    return np.concatenate([np.full(n, fill, own.dtype) if part is None else part for part, n in zip(parts, sizes)])
