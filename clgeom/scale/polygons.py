"""Polygons of classes of a raster larger than memory: `polygonize_strips` and `polygonize_file`, some rows at a time.

  rows of the raster -> arcs of a strip, on the device -> lines that pass seams are joined, on the host -> polygons

Polygons are complete when a row has no cell of them any more. They are returned, or written, and forgotten then.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from clgeom.arguments import boolean, function, size_in_bytes, wrong
from clgeom.core.call import Call
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput
from clgeom.geo.degrees import FINER, NotApart
from clgeom.intake.arrays import host_values
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.intake.dispatch import choose_sessions
from clgeom.intake.interop.objects import values_of
from clgeom.intake.interop.rasters import Raster, placed_raster
from clgeom.intake.interop.strips import Strips
from clgeom.intake.typing import AnyArray, DeviceLike, FloatLike
from clgeom.io.atomic import check_output
from clgeom.io.classes import classes_file
from clgeom.io.features import Written
from clgeom.io.outputs import APPENDED
from clgeom.region.classes.arcs import Arcs
from clgeom.region.classes.polygonize import checked_connectivity, checked_names, stack_of
from clgeom.region.classes.result import ClassPolygons, cells_of_tolerance
from clgeom.region.classes.seams import Seams
from clgeom.region.classes.simpler_lines import SimplerLines
from clgeom.region.classes.trace import TooDense, trace_arcs
from clgeom.region.coverage.grid import as_grid
from clgeom.region.coverage.named import opened
from clgeom.region.coverage.rasters import as_nodata

#: Rows of the first strip, by whose corners the heights of others are chosen.
FIRST_ROWS = 64
#: Most times that a strip has as many rows as the one before.
MOST_GROWTH = 4
#: Bytes of memory for a cell and for a corner of a strip, most of all on the device, and so many times the open lines.
CELL_BYTES, CORNER_BYTES, OPEN_COPIES = 4, 640, 4
LEAST_BYTES = 1 << 24


@keeps_subnormals
@dataclass
class PolygonizedFile:
    """What `polygonize_file` wrote.

    Attributes
    ----------
    path : str
    polygons, arcs, vertices, exact_vertices : int
        Numbers of geometries, of the lines between classes, and of the vertices of these; before simplification, too.
    classes : dict
        For each class the number of its geometries, of their cells, and their area.
    written : Written

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from clgeom import scale
    >>> folder = tempfile.TemporaryDirectory()
    >>> made = scale.polygonize_file(np.eye(2, dtype=np.uint8), os.path.join(folder.name, "land.wkt"), nodata=0)
    >>> made.polygons, made.arcs, made.vertices
    (2, 2, 10)
    """

    path: str
    polygons: int = 0
    arcs: int = 0
    vertices: int = 0
    exact_vertices: int = 0
    classes: dict[int, tuple[int, int, float]] = field(default_factory=dict)
    written: Written = field(default=Written(0, 0))

    def _add(self, some: ClassPolygons) -> None:
        """Count polygons."""
        self.polygons += len(some)
        values, number = np.unique(some.classes, return_inverse=True)
        columns = (np.bincount(number, weights) for weights in (None, some.cells, some.areas))
        for value, count, cells, area in zip(values.tolist(), *(column.tolist() for column in columns)):
            before = self.classes.get(value, (0, 0, 0.0))
            self.classes[value] = before[0] + int(count), before[1] + int(cells), before[2] + area


@keeps_subnormals
def polygonize_strips(
    classes: AnyArray | Raster,
    *,
    connectivity: Literal[4, 8] = 4,
    names: Mapping[int, str] | None = None,
    tolerance: FloatLike | None = None,
    boundary: bool = False,
    transform: Sequence[float] | None = None,
    crs: object = None,
    nodata: FloatLike | None = None,
    max_bytes: int | str = "1 GB",
    device: DeviceLike = None,
) -> Iterator[ClassPolygons]:
    """Return an iterator over the polygons of all classes of a raster that need not fit in memory.

    Parameters
    ----------
    classes : path-like, array_like or Raster, shape (rows, columns)
        As for `polygonize`. Files, datasets of rasterio and memory-mapped arrays are read by strips.
    connectivity, names, transform, crs, nodata, device : optional
        As for `polygonize`.
    tolerance, boundary : optional
        As for `ClassPolygons.simplify`.
    max_bytes : int or str
        Memory to use, such as 500_000_000, "500 MB" or "2 GiB", beside about 150 MB of Python and the device's driver.
        Polygons that are not complete are held whatever it is: all lines of one that reaches from the first row to the
        last.

    Returns
    -------
    iterator of ClassPolygons
        The polygons of `polygonize`, each once, some at a time: as soon as they are complete. The heights of strips
        decide which ones come together.

    Raises
    ------
    InvalidInput
        As for `polygonize` and `ClassPolygons.simplify`, or the raster is a stack.

    See Also
    --------
    polygonize_file : Write them to a file.

    Examples
    --------
    >>> import numpy as np
    >>> from clgeom import scale
    >>> classes = np.repeat(np.arange(500) // 7 % 3, 40).reshape(500, 40).astype(np.uint8)
    >>> sum(len(some) for some in scale.polygonize_strips(classes, max_bytes="20 MB"))
    72
    """
    where = {"transform": transform, "crs": crs, "nodata": nodata}
    work = _Work("polygonize_strips", classes, where, connectivity, names, max_bytes, device)
    return work.polygons(tolerance, boundary)


@keeps_subnormals
def polygonize_file(
    classes: AnyArray | Raster,
    out: str | os.PathLike[str],
    *,
    connectivity: Literal[4, 8] = 4,
    names: Mapping[int, str] | None = None,
    tolerance: FloatLike | None = None,
    boundary: bool = False,
    transform: Sequence[float] | None = None,
    crs: object = None,
    nodata: FloatLike | None = None,
    layer: str | None = None,
    densify: FloatLike | None = None,
    max_bytes: int | str = "1 GB",
    device: DeviceLike = None,
    progress: Callable[[int, int], object] | None = None,
) -> PolygonizedFile:
    """Write the polygons of all classes of a raster that need not fit in memory. An error leaves no partial file.

    Parameters
    ----------
    classes, connectivity, names, tolerance, boundary, transform, crs, nodata, max_bytes, device
        As for `polygonize_strips`.
    out : path-like
        Its ending chooses the format: .gpkg (GeoPackage), .geojson, .json, .csv (with WKT) or .wkt (lines).
    layer, densify : optional
        As for `ClassPolygons.to_file`.
    progress : callable, optional
        Called as progress(done, in_all), in rows of the raster.

    Returns
    -------
    PolygonizedFile

    Raises
    ------
    InvalidInput
        As for `polygonize_strips` and `ClassPolygons.to_file`, or no cell has data. .geojson and .json are not possible
        near to a pole or to 180 degrees of longitude.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from clgeom import scale
    >>> folder = tempfile.TemporaryDirectory()
    >>> made = scale.polygonize_file(np.eye(3, dtype=np.uint8), os.path.join(folder.name, "land.csv"))
    >>> made.polygons, made.classes
    (5, {0: (2, 6, 6.0), 1: (3, 3, 3.0)})
    """
    check_output(out, APPENDED)
    where = {"transform": transform, "crs": crs, "nodata": nodata}
    work = _Work("polygonize_file", classes, where, connectivity, names, max_bytes, device)
    report = None if progress is None else function(progress, "progress", caller=work.caller)
    how = {"crs": work.grid.crs, "layer": layer, "densify": densify, "multi": connectivity == 8}
    for finer in range(len(FINER)):
        made = PolygonizedFile(os.fspath(out))
        polygons = work.polygons(tolerance, boundary, report, made)
        # polygons that would overlap in longitude and latitude are written again, all of them
        with contextlib.suppress(NotApart), classes_file(out, finer=finer, **how) as file:
            for some in polygons:
                made._add(some)
                file.add(some)
            if not made.polygons:
                raise InvalidInput("There is nothing to write: every cell is without data.")
            made.written = file.written
            break
    return made


class _Work:
    """The checked parameters of both functions."""

    def __init__(
        self, caller: str, classes: Any, where: Any, connectivity: Any, names: Any, max_bytes: Any, device: Any
    ) -> None:
        self.caller = caller
        self.connectivity = checked_connectivity(connectivity, caller)
        self.names = checked_names(names, caller)
        as_nodata(where["nodata"], np.dtype(np.float64), caller=caller)
        self.max_bytes = size_in_bytes(max_bytes, "max_bytes", caller=caller, least=LEAST_BYTES)
        given = opened(classes, caller=caller, name="classes", nodata=where["nodata"])
        self.raster = placed_raster(given, caller=caller, name="classes", strips=True, **where)
        self.strips = _as_strips(self.raster.values, caller)
        kind = self.strips.dtype.kind
        self.dtype = self.strips.dtype.newbyteorder("=") if kind in "iu" else np.dtype("u1" if kind == "b" else "i8")
        self.grid = as_grid(self.raster.transform, self.raster.crs, self.strips.shape, caller=caller)
        self.call = Call(caller)
        choose_sessions(self.call, self.raster.values, device, shared=False)

    def polygons(
        self, tolerance: Any, boundary: Any, report: Any = None, made: PolygonizedFile | None = None
    ) -> Iterator[ClassPolygons]:
        """Return an iterator over the polygons; it counts lines in `made`."""
        simpler, boundary = None, boolean(boundary, "boundary", caller=self.caller)
        if tolerance is not None:
            cells = cells_of_tolerance(tolerance, self.grid, self.caller)
            simpler = SimplerLines(*self.strips.shape, cells, boundary)
        return self._polygons(Seams(*self.strips.shape, self.dtype, self.connectivity, simpler), report, made)

    def _polygons(self, seams: Seams, report: Any, made: PolygonizedFile | None) -> Iterator[ClassPolygons]:
        rows, columns = self.strips.shape
        each = columns * (CELL_BYTES + self.dtype.itemsize)
        height = self._height(min(FIRST_ROWS, self.max_bytes // each))
        while seams.row < rows:
            arcs, count = self._traced(seams.row, min(height, rows - seams.row), self._room(seams))
            corners = CORNER_BYTES * len(arcs.corners) // count
            for some in seams.add(arcs, count):
                if len(some):
                    yield ClassPolygons(some, self.grid, names=self.names, is_part=True)
            del arcs
            height = self._height(min(self._room(seams) // (each + corners), MOST_GROWTH * count))
            if made is not None:
                made.arcs, made.vertices, made.exact_vertices = seams.counts.tolist()
            if report is not None:
                report(seams.row, rows)

    def _room(self, seams: Seams) -> int:
        """Return the bytes for a strip: some in any case, since all that is open is copied once a strip."""
        return max(self.max_bytes - OPEN_COPIES * seams.nbytes, self.max_bytes // 4)

    def _traced(self, row: int, count: int, room: int) -> tuple[Arcs, int]:
        """Return the arcs of some rows, and the number of these: fewer where they have many corners."""
        values = self.strips.rows(row, row + count)
        while True:
            stack, absent = stack_of(values[:count], self.raster.nodata, self.call.session)
            most = room // CORNER_BYTES if count > 1 else None
            try:
                with self.call:
                    arcs = trace_arcs(stack, connectivity=self.connectivity, nodata=absent, most=most)
                return arcs, count
            except TooDense:
                count //= 2
            finally:
                self.call.phases.clear()

    def _height(self, rows: int) -> int:
        """Return so many rows of whole blocks of the file, at least one."""
        block = self.strips.block
        return max(rows - rows % block if rows > block else rows, 1)


def _as_strips(values: Any, caller: str) -> Strips:
    """Return a raster of any kind as strips."""
    if isinstance(values, Strips):
        return values
    array = fetched(values) if is_device_array(values) else values_of(values, caller=caller, name="classes")
    if not hasattr(array, "dtype"):
        array = host_values(array, caller=caller, name="classes", expected="an array of integers")
    if array.ndim != 2 or 0 in array.shape:
        raise wrong("classes", caller, "shape (rows, columns), none of them 0", array.shape, verb="have")

    def window(row: int, column: int, rows: int, columns: int) -> Any:
        return array[row : row + rows, column : column + columns]

    return Strips(window, array.shape, array.dtype)
