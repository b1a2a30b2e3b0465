"""Polygons of all classes of rasters of integers, such as land cover, zones, or best servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.call import Call
from clgeom.core.device import Session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput, is_number, short
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.intake.dispatch import choose_sessions
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.interop.objects import values_of
from clgeom.intake.interop.rasters import Raster, placed_raster
from clgeom.intake.interop.strips import Strips
from clgeom.intake.typing import AnyArray, DeviceLike, FloatLike
from clgeom.region.classes.result import ClassPolygons
from clgeom.region.classes.trace import trace_arcs
from clgeom.region.coverage.grid import as_grid, with_names
from clgeom.region.coverage.named import opened
from clgeom.region.coverage.rasters import LARGEST_SIDE, THRESHOLDS, Stack, as_nodata, as_stack

CALLER = "polygonize"
#: Types of integers for classes that came as floats, from the first that holds all of them.
INTEGERS = (np.int16, np.int32, np.int64)


@keeps_subnormals
@takes_cuda
def polygonize(
    classes: AnyArray | Raster,
    *,
    connectivity: Literal[4, 8] = 4,
    names: Mapping[int, str] | None = None,
    transform: Sequence[float] | None = None,
    crs: object = None,
    nodata: FloatLike | None = None,
    device: DeviceLike = None,
    profile: bool = False,
) -> ClassPolygons:
    """Polygons of all classes of a raster, in one pass, with the lines that neighbours share.

    Parameters
    ----------
    classes : array_like, pyopencl.array.Array or Raster, shape (rows, columns) or (maps, rows, columns)
        Integers of any type, bool, or floats that are whole numbers. Masked cells, NaN and nodata are in no polygon.
        Datasets of rasterio, DataArrays of xarray, names of files and lists of them are taken, too. Tables and files
        have the names of several files as the column "map_name".
    connectivity : {4, 8}
        4: a polygon for each piece of a class whose cells share sides. 8: pieces that share a corner are parts of one
        geometry, a MultiPolygon.
    names : mapping of int to str, optional
        The names of classes, which tables and files have as the column "name".
    transform, crs, nodata : optional
        As for `Raster`; they replace those of the raster.
    device : optional
        As everywhere in clgeom.
    profile : bool
        Measure each phase with the device's clock.

    Returns
    -------
    ClassPolygons
        In the order of their first cells, by map, row and column. The method `simplify` returns polygons of fewer
        vertices without gaps and overlaps, `dissolve` one geometry for each class.

    Raises
    ------
    InvalidInput
        The classes are no integers, have another shape, or the position is none.
    DeviceLimit
        The raster is too large for the device.

    See Also
    --------
    raster_outlines : Polygons of the cells that reach a level.

    Examples
    --------
    >>> import clgeom
    >>> land = clgeom.polygonize([[1, 1, 2], [1, 3, 2], [1, 1, 2]], names={1: "water", 2: "wood", 3: "rock"})
    >>> land, land.classes.tolist(), land.areas.tolist()
    (ClassPolygons(3 polygons of 3 classes of 3 x 3 cells, 6 arcs of 18 vertices), [1, 2, 3], [5.0, 3.0, 1.0])
    >>> land.of_class("rock")[0].rings[0].tolist()
    [[2.0, 2.0], [1.0, 2.0], [1.0, 1.0], [2.0, 1.0]]
    """
    call = Call(CALLER, profile=profile)
    connectivity = checked_connectivity(connectivity)
    named = checked_names(names)
    as_nodata(nodata, np.dtype(np.float64), caller=CALLER)
    raster = placed_raster(
        opened(classes, caller=CALLER, name="classes", nodata=nodata),
        caller=CALLER,
        name="classes",
        transform=transform,
        crs=crs,
        nodata=nodata,
        strips=True,
    )
    choose_sessions(call, raster.values, device, shared=False)
    stack, absent = stack_of(raster.values, raster.nodata, call.session)
    grid = as_grid(raster.transform, raster.crs, (stack.rows, stack.columns), caller=CALLER)
    grid = with_names(grid, raster.names, stack.maps, caller=CALLER, name="classes")
    with call:
        arcs = trace_arcs(stack, connectivity=connectivity, nodata=absent)
    return ClassPolygons(arcs, grid, names=named, phases=tuple(call.phases))


def checked_connectivity(connectivity: Any, caller: str = CALLER) -> Any:
    """Return the `connectivity` parameter of `polygonize`."""
    if isinstance(connectivity, bool) or not is_number(connectivity) or connectivity not in (4, 8):
        raise wrong("connectivity", caller, "4 or 8", short(connectivity))
    return connectivity


def checked_names(names: Any, caller: str = CALLER) -> dict[int, str]:
    """Return the `names` parameter of `polygonize`."""
    if names is None:
        return {}
    expected = "a mapping from classes, which are integers, to their names"
    if not isinstance(names, Mapping):
        raise wrong("names", caller, expected, short(names))
    for value, name in names.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not isinstance(name, str):
            raise wrong("names", caller, expected, short({value: name}))
    return {int(value): name for value, name in names.items()}


def stack_of(values: Any, nodata: Any, session: Session) -> tuple[Stack, Any]:
    """Return rasters of integers for the device, and the value of cells that are in no face, or None."""
    if isinstance(values, Strips):
        if values.plain and values.dtype.kind in "iu" and values.dtype.name in THRESHOLDS:
            rows, columns = values.shape
            stack = Stack(session, CALLER, values.dtype, 1, rows, columns, None, strips=values, integers=True)
            return stack, as_nodata(nodata, values.dtype, caller=CALLER)
        values = values.whole()
    if is_device_array(values):
        if values.dtype.kind in "iu" and values.dtype.name in THRESHOLDS:
            return as_stack(values, session, caller=CALLER), as_nodata(nodata, values.dtype, caller=CALLER)
        values = fetched(values)
    array, absent = _integers(values, nodata)
    maps, rows, columns = array.shape
    return Stack(session, CALLER, array.dtype, maps, rows, columns, array, integers=True), absent


def _integers(values: Any, nodata: Any) -> tuple[np.ndarray, Any]:
    """Return an array of integers, (maps, rows, columns), and the value of its cells without data, or None."""
    try:
        given = values_of(values, caller=CALLER, name="classes")
        array = np.asarray(np.ma.getdata(given))
    except (ValueError, TypeError) as error:  # ragged lists and the like
        raise InvalidInput(f"The 'classes' parameter of {CALLER} must be an array of integers. {error}") from error
    if array.ndim not in (2, 3) or 0 in array.shape:
        expected = "shape (rows, columns) or (maps, rows, columns), none of them 0"
        raise wrong("classes", CALLER, expected, array.shape, verb="have")
    if max(array.shape[-2:]) > LARGEST_SIDE:
        raise wrong("classes", CALLER, f"at most {LARGEST_SIDE:,} rows and columns", array.shape, verb="have")
    if array.dtype.kind not in "biuf":
        raise wrong("classes", CALLER, "integers", array.dtype, verb="hold")
    missing = np.ma.getmaskarray(given) if np.ma.isMaskedArray(given) else np.zeros((), bool)
    if array.dtype.kind == "f":
        array = array.astype(np.promote_types(array.dtype, np.float32), copy=False)
        absent = as_nodata(nodata, array.dtype, caller=CALLER)
        missing = missing | np.isnan(array)
        if absent is not None:
            missing = missing | (array == absent)
        array, nodata = _whole(np.where(missing, 0, array)), None
    elif array.dtype.kind == "b":
        array = array.view(np.uint8)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    absent = as_nodata(nodata, array.dtype, caller=CALLER)
    if missing.any():
        if absent is None:
            array, absent = _unused(array, missing)
        array = np.where(missing, array.dtype.type(absent), array)
    return np.require(array.reshape((-1, *array.shape[-2:])), requirements=["C", "A"]), absent


def _whole(array: np.ndarray) -> np.ndarray:
    """Return floats as integers; refuse those that are no whole numbers."""
    with np.errstate(invalid="ignore"):
        bad = ~((array == np.rint(array)) & (np.abs(array) < 1 << 53))
    if bad.any():
        raise wrong("classes", CALLER, "integers", f"{array[bad][0].item()!r}", verb="hold")
    low, high = int(array.min()), int(array.max())  # float32 would round the limits of types
    holds = (kind for kind in INTEGERS if np.iinfo(kind).min < low and high <= np.iinfo(kind).max)
    return array.astype(next(holds))


def _unused(array: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, int]:
    """Return an array of integers whose type has a value that no cell has, and this value."""
    info, known = np.iinfo(array.dtype), np.unique(array[~np.broadcast_to(missing, array.shape)])
    if len(known) == 0 or known[0] > info.min:
        return array, int(info.min)
    if known[-1] < info.max:
        return array, int(info.max)
    gaps = np.flatnonzero(known[1:] != known[:-1] + known.dtype.type(1))
    if len(gaps):
        return array, int(known[gaps[0]]) + 1
    wider = np.promote_types(array.dtype, np.int16)  # all 256 values of 8 bits, or all 65,536 of 16
    wider = wider if wider != array.dtype else np.promote_types(wider, np.int32)
    return array.astype(wider), int(np.iinfo(wider).max)
