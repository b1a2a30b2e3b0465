"""Transmitters on a map: their places and distances, and the rasters that must lie on the cells of the map."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from clgeom.arguments import has_type, wrong
from clgeom.core.device import Session
from clgeom.core.launch import read
from clgeom.errors import InputWarning, short, warn
from clgeom.geo.geodesy import as_crs, same_crs, scales_at, shown, utm_zone
from clgeom.geo.heights import metres_in
from clgeom.intake.arrays import as_device_values, host_values, to_device
from clgeom.intake.device_arrays import is_device_array
from clgeom.intake.interop.rasters import placed_raster
from clgeom.intake.typing import NDArray
from clgeom.radio.cells import as_type
from clgeom.radio.transmitters import Transmitter, with_defaults

MOST_TRANSMITTERS = 1 << 15
#: Farthest transmitter from the map's corner, in cells, so that float32 holds whole cells.
FARTHEST = 1 << 23
#: Distance from the map's centre, in extents of the map, from which on a small position may be one in degrees.
FAR_EXTENTS = 10
#: Heights of the ground from which on they are unknown in m, as in the kernels: values that mark cells without data.
HIGHEST = 1e5
#: Rounding of positions on the edge of a map, in cells.
EDGE = 1e-6
#: Largest difference of a map's scale from 1 without a warning.
MOST_DISTORTED = 0.01


def check_crs(crs: Any, caller: str, centre: Sequence[float] | None = None) -> None:
    """Refuse a reference system whose unit is not the metre, and warn of one that distorts lengths at `centre`, (x, y).

    Without pyproj nothing is checked.
    """
    if crs is None or importlib.util.find_spec("pyproj") is None:
        return
    system = as_crs(crs, caller=caller)
    units = [axis.unit_conversion_factor for axis in system.axis_info[:2]]
    if system.is_geographic or units != [1.0, 1.0]:
        raise wrong("crs", caller, "in metres", f"{shown(crs)}, in {system.axis_info[0].unit_name},")
    if centre is not None:
        scale = max(scales_at(system, *centre), key=lambda scale: abs(scale - 1))
        if abs(scale - 1) > MOST_DISTORTED:
            warn(
                f"The 'crs' parameter of {caller} has a scale of {scale:.3g} at the map's centre: its metres are not "
                f"those on the ground, and distances are wrong by that factor. Got {shown(crs)}. Reproject the map and "
                f"the positions, such as to {utm_zone(system, *centre)}.",
                InputWarning,
            )


def as_transmitters(transmitters: Any, caller: str, model: str = "wim") -> tuple[Transmitter, ...]:
    """Return the transmitters of a public function, with the height and the frequency of the model by default."""
    several = tuple(transmitters) if np.iterable(transmitters) else (transmitters,)
    bad = [one for one in several if not isinstance(one, Transmitter)]
    if not several or bad or len(several) > MOST_TRANSMITTERS:
        got = "none" if not several else short(bad[0]) if bad else f"{len(several):,}"
        raise wrong("transmitters", caller, f"1 to {MOST_TRANSMITTERS:,} of radio.Transmitter", got)
    return tuple(with_defaults(one, model) for one in several)


def positions_of(
    transmitters: Sequence[Transmitter], grid: Any, caller: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return positions of transmitters in the map's coordinates, and in columns and rows; refuse distant ones."""
    at = np.array([(one.x, one.y) for one in transmitters])
    cells = grid.to_cells(at)
    if np.abs(cells).max() > FARTHEST:
        bad = transmitters[int(np.abs(cells).max(axis=1).argmax())]
        raise wrong("transmitters", caller, f"within {FARTHEST:,} cells of the map", f"({bad.x:g}, {bad.y:g})")
    _warn_degrees(at, cells, grid, caller)
    return at, cells


def _warn_degrees(at: NDArray[np.float64], cells: NDArray[np.float64], grid: Any, caller: str) -> None:
    """Warn of positions that may be longitudes and latitudes: many extents of the map away from it."""
    extents = np.abs(cells / grid.shape[::-1] - 0.5).max(axis=1)
    bad = np.flatnonzero((np.abs(at) <= (180, 90)).all(axis=1) & (extents > FAR_EXTENTS))
    if len(bad):
        x, y = at[bad[0]].tolist()
        warn(
            f"The 'transmitters' parameter of {caller} must be in the coordinates of the map, in m. Got x {x:.10g}, "
            f"y {y:.10g} at index {bad[0]} ({len(bad):,} of {len(at):,} alike), far from the map ({grid.extent}). "
            "Are they a longitude and a latitude? Project them to the map's coordinates.",
            InputWarning,
        )


def farthest_m(at: NDArray[np.float64], reaches: NDArray[np.float64], grid: Any) -> NDArray[np.float64]:
    """Return the distance of each transmitter to its farthest cell, at most its range."""
    rows, columns = grid.shape
    x, y = grid.to_map([(c, r) for c in (0.5, columns - 0.5) for r in (0.5, rows - 0.5)]).T
    farthest: NDArray[np.float64] = np.hypot(at[:, :1] - x, at[:, 1:] - y).max(axis=1)
    return np.minimum(farthest, reaches)


def nearest_m(
    at: NDArray[np.float64], cells: NDArray[np.float64], reaches: NDArray[np.float64], grid: Any, low: float
) -> float:
    """Return the least distance below `low` of a cell to a transmitter that reaches it, else infinity."""
    (a, b, _, d, e, _), ends = grid.transform, np.array(grid.shape[::-1]) - 1
    x, y = (grid.to_map(np.minimum(np.maximum(np.rint(cells - 0.5), 0), ends) + 0.5) - at).T
    near = np.hypot(x, y)
    if a * b + d * e != 0:  # another cell may be nearer: in each row that of the foot of the perpendicular
        off = np.hypot(*np.maximum(np.maximum(0.5 - cells, cells - 0.5 - ends), 0).T)
        least = off * abs(grid.determinant) / math.hypot(a, b, d, e)
        firsts = grid.to_map(np.stack([np.full(grid.shape[0], 0.5), np.arange(grid.shape[0]) + 0.5], axis=1))
        for k in np.flatnonzero(least < low):
            x, y = (at[k] - firsts).T
            column = np.clip(np.rint((x * a + y * d) / (a * a + d * d)), 0, ends[0])
            near[k] = np.hypot(x - a * column, y - d * column).min()
    return float(near[(near < low) & (near <= reaches)].min(initial=math.inf))


def as_field(
    session: Session, values: Any, shape: tuple[int, ...] | None, name: str, caller: str, grid: Any = None
) -> Any:
    """Return float32 values of this shape, on the host or on the device, with NaN for unknown ones; None for None.

    A raster with a position of its own must be where `grid` is, if that is given.
    """
    if values is None:
        return None
    if is_device_array(values):
        values = as_type(session, values, np.dtype(np.float32), name, caller)
    else:
        placed = placed_raster(values, caller=caller, name=name)
        masked = np.ma.getmaskarray(placed.values) if isinstance(placed.values, np.ma.MaskedArray) else None
        values = host_values(placed.values if masked is None else placed.values.data, caller=caller, name=name)
        if grid is not None:
            _check_place(placed, values.shape, grid, name, caller)
        if name == "ground_m" and placed.unit is not None:
            if (metres := metres_in(placed.unit, f"The 'ground_m' parameter of {caller}")) != 1:
                raise wrong(name, caller, "in m", short(placed.unit), hint=f"Multiply it by {metres:.10g}.")
        has_type(values, "iuf", "numbers", name, caller=caller)
        absent = False if placed.nodata is None else values == placed.nodata
        absent = absent if masked is None else absent | masked
        values = np.ascontiguousarray(values, np.float32)
        values = np.where(absent, np.float32(np.nan), values) if np.any(absent) else values
    if shape is not None and values.shape != shape:
        hint = one_band(values.shape) if len(shape) == 2 else ""
        raise wrong(name, caller, f"shape {shape}", values.shape, verb="have", hint=hint)
    return values


def one_band(shape: Sequence[int]) -> str:
    """Return the hint of a message about an array of several bands; empty for other shapes."""
    if len(shape) != 3:
        return ""
    return "Take one band: array[0], or dataset.read(1) with transform=dataset.transform and crs=dataset.crs."


def _check_place(placed: Any, shape: tuple[int, ...], grid: Any, name: str, caller: str) -> None:
    """Refuse a raster that has a position, and is not where the map is."""
    if grid.crs is not None and placed.crs is not None and not same_crs(grid.crs, placed.crs):
        raise wrong(name, caller, f"in {shown(grid.crs)}", shown(placed.crs))
    check_crs(placed.crs, caller)
    if shape[-2:] == grid.shape and not grid.has_place(placed.transform, caller=caller):
        raise wrong(name, caller, "the cells of the map, with its transform", placed.transform, verb="have")


def heights_under(
    session: Session,
    cells: NDArray[np.float64],
    at: NDArray[np.float64],
    shape: Sequence[int],
    ground: Any,
    caller: str,
) -> list[float]:
    """Return the heights of the ground in the cells of transmitters; `ground` is of `as_field`."""
    buffer: Any = whole_buffer(session, ground, "ground_m", caller) if is_device_array(ground) else None
    heights = []
    for cell, (x, y) in zip(cells, at.tolist()):
        most = np.array(shape[::-1])
        inside = bool(((cell >= -EDGE) & (cell <= most + EDGE)).all())
        height = math.nan
        if inside:
            column, row = np.clip(np.floor(cell), 0, most - 1).astype(int).tolist()
            if buffer is None:
                height = float(ground[row, column])
            else:
                height = float(read(session, buffer, np.float32, 1, row * shape[1] + column)[0])
        if not abs(height) < HIGHEST:
            where = "in a cell without height" if inside else "outside of the map"
            raise wrong("transmitters", caller, "in cells with a height of the ground", f"({x:g}, {y:g}), {where},")
        heights.append(height)
    return heights


def whole_buffer(session: Session, value: Any, name: str, caller: str) -> Any:
    """Return the buffer of an array on the host or on the device; None for None."""
    if value is None:
        return None
    if is_device_array(value):
        array = as_device_values(session, value.reshape(-1), caller=caller, name=name, types=[np.float32])
    else:
        array = to_device(session, np.ascontiguousarray(value).reshape(-1), caller=caller)
    return array.one_buffer(f"The '{name}' parameter of {caller}")
