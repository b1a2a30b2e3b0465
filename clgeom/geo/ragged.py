"""Many polygons as arrays: to Shapely, to text, and to points of the lattice of cells, without a loop over polygons.

`places` has the vertices of all rings, one after the other, not closed. Ring r has those from ``rings[r]`` on, up to
``rings[r + 1]``, and polygon p the rings from ``polygons[p]`` to ``polygons[p + 1]``: its outer ring, which is
counter-clockwise, then its holes, clockwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clgeom.optional import require_shapely


@dataclass(frozen=True, eq=False)
class Ragged:
    """Polygons as arrays; see the module."""

    places: np.ndarray
    rings: np.ndarray
    polygons: np.ndarray

    def __len__(self) -> int:
        return len(self.polygons) - 1

    @property
    def vertices(self) -> int:
        """The number of vertices of all polygons."""
        return len(self.places)

    @property
    def following(self) -> np.ndarray:
        """The next vertex of each vertex on its ring."""
        after = np.arange(1, len(self.places) + 1)
        after[self.rings[1:] - 1] = self.rings[:-1]
        return after

    @property
    def before(self) -> np.ndarray:
        """The vertex before each vertex on its ring."""
        before = np.empty(len(self.places), np.int64)
        before[self.following] = np.arange(len(before))
        return before

    @property
    def owner(self) -> np.ndarray:
        """The polygon of each vertex."""
        return np.repeat(np.arange(len(self)), np.diff(self.rings[self.polygons]))

    @property
    def counts(self) -> np.ndarray:
        """The number of vertices of each polygon."""
        return np.diff(self.rings[self.polygons])

    def closed(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the places and offsets of rings that repeat their first vertex at the end."""
        count = len(self.rings) - 1
        offsets = self.rings + np.arange(count + 1)
        pick = np.arange(offsets[-1]) - np.repeat(np.arange(count), np.diff(offsets))
        pick[offsets[1:] - 1] = self.rings[:-1]
        return self.places[pick], offsets

    def to_shapely(self) -> np.ndarray:
        """Return the polygons as an array of Shapely geometries."""
        shapely = require_shapely()
        if not len(self):
            return np.empty(0, object)
        places, offsets = self.closed()
        return shapely.from_ragged_array(shapely.GeometryType.POLYGON, places, (offsets, self.polygons))

    def reversed(self) -> Ragged:
        """Return the same polygons with all rings the other way round, each from the same vertex on."""
        sizes = np.diff(self.rings)
        begin = np.repeat(self.rings[:-1], sizes)
        place = np.arange(len(self.places)) - begin
        turned = begin + (np.repeat(sizes, sizes) - place) % np.repeat(sizes, sizes)
        return replace(self, places=self.places[turned])

    def geojson(self, number: str = "%r") -> list[str]:
        """Return the GeoJSON of each polygon; `number` formats a coordinate."""
        texts = self._texts(f"[{number}, {number}]", ", ", "], [", "]]}}\n")
        return [f'{{"type": "Polygon", "coordinates": [[{text}' for text in texts]

    def wkt(self) -> list[str]:
        """Return the WKT of each polygon, with every bit of its coordinates."""
        return [f"POLYGON (({text}" for text in self._texts("%r %r", ", ", "), (", "))\n")]

    def _texts(self, place: Any, between: Any, rings: Any, end: Any) -> Any:
        """Return the text of each polygon: all numbers at once, with what stands between and after them."""
        if not len(self):
            return []
        places, offsets = self.closed()
        forms = np.full(len(places), place + between, object)
        ends = offsets[1:] - 1
        forms[ends] = place + rings
        forms[ends[self.polygons[1:] - 1]] = place + end.replace("}}", "}")
        return ("".join(forms.tolist()) % tuple(places.ravel().tolist())).split("\n")[:-1]


@dataclass(frozen=True, eq=False)
class Collected:
    """Geometries of one polygon or several each.

    `shapes` have the polygons of all, one after the other, as `Ragged` or as polygons in degrees. Geometry g has those
    from ``offsets[g]`` to ``offsets[g + 1]``.
    """

    shapes: list[Any]
    offsets: np.ndarray

    @property
    def vertices(self) -> int:
        """The number of vertices of all polygons; the first one of a ring counts once."""
        return sum(one.vertices for one in self.shapes)

    @property
    def _single(self) -> bool:
        return len(self.offsets) == int(self.offsets[-1]) + 1

    def geojson(self) -> list[str]:
        """Return the GeoJSON of each geometry."""
        texts = [text for one in self.shapes for text in one.geojson()]
        return (
            texts
            if self._single
            else self._joined(texts, "MultiPolygon", '{"type": "%s", "coordinates": [%s]}', "[", "]")
        )

    def wkt(self) -> list[str]:
        """Return the WKT of each geometry, with every bit of its coordinates."""
        texts = [text for one in self.shapes for text in one.wkt()]
        return texts if self._single else self._joined(texts, "MULTIPOLYGON", "%s (%s)", "(", ")")

    def _joined(self, texts: list[str], name: str, form: str, begin: str, end: str) -> list[str]:
        """Return texts of polygons, and of multipolygons, as one text for each geometry."""
        made = []
        for first, last in zip(self.offsets.tolist(), self.offsets[1:].tolist()):
            parts = []
            for text in texts[first:last]:
                own = text[text.index(begin) : text.rindex(end) + 1]
                parts.append(own[1:-1] if name in text else own)
            made.append(texts[first] if last == first + 1 else form % (name, ", ".join(parts)))
        return made

    def to_shapely(self) -> np.ndarray:
        """Return the geometries as an array of Shapely's."""
        shapely = require_shapely()
        polygons = np.concatenate([np.empty(0, object), *(one.to_shapely() for one in self.shapes)])
        if self._single:
            return polygons
        several = np.diff(self.offsets) > 1
        owner = np.repeat(np.arange(len(several)), np.diff(self.offsets))
        parts, number = shapely.get_parts(polygons, return_index=True)
        made = polygons[self.offsets[:-1]]
        own = several[owner[number]]
        multi = np.flatnonzero(several)
        made[multi] = shapely.multipolygons(parts[own], indices=np.searchsorted(multi, owner[number[own]]))
        return made


def ranges_of(offsets: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the members of chosen ranges, one range after the other, and their offsets."""
    sizes = np.diff(offsets)[chosen]
    made = np.append(0, np.cumsum(sizes))
    return np.arange(made[-1]) + np.repeat(offsets[:-1][chosen] - made[:-1], sizes), made


# Corners of cells -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Lattice:
    """Corners of cells on the edges of polygons of such corners, edge after edge, without the ends of edges."""

    places: np.ndarray  # columns and rows; int64, shape (m, 2)
    edge: np.ndarray  # the edge of each, by the number of its first vertex
    is_vertex: np.ndarray

    def keys(self, sheets: float = 0) -> np.ndarray:
        """Return a number for each corner of a cell, its own for each of the `sheets`, numbered from 0 on."""
        width, height = (int(side) + 1 for side in self.places.max(axis=0, initial=0))
        return (sheets * height + self.places[:, 1]) * width + self.places[:, 0]


def lattice_of(ragged: Ragged) -> Lattice:
    """Return the corners of cells on the edges of polygons, whose places are columns and rows."""
    corners = ragged.places.astype(np.int64)
    along = corners[ragged.following] - corners
    steps = np.maximum(np.gcd(*along.T), 1)
    edge = np.repeat(np.arange(len(corners)), steps)
    place = np.arange(len(edge)) - np.repeat(np.cumsum(steps) - steps, steps)
    return Lattice(corners[edge] + (along // steps[:, None])[edge] * place[:, None], edge, place == 0)


def noded(ragged: Ragged) -> Ragged:
    """Return polygons of cells with all vertices of all that lie on their edges: neighbours have common vertices."""
    lattice = lattice_of(ragged)
    keys = lattice.keys()
    kept = lattice.is_vertex | np.isin(keys, keys[lattice.is_vertex])
    sizes = np.bincount(lattice.edge[kept], minlength=len(ragged.places))
    return Ragged(lattice.places[kept], np.append(0, np.cumsum(sizes))[ragged.rings], ragged.polygons)
