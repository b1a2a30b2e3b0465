"""Diffraction over terrain: the loss between transmitters and every cell of a map of heights, by ITU-R P.526."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from clgeom.arguments import boolean, has_type, number, one_of, rows_and_columns, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, read, run
from clgeom.core.plan import Plan, Step
from clgeom.errors import short
from clgeom.intake.arrays import host_values, session_of
from clgeom.intake.device_arrays import is_device_array, new_array
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.interop.rasters import placed_raster
from clgeom.intake.typing import AnyArray, ArrayLike, DeviceLike, FloatLike
from clgeom.radio.antennas import warn_unused
from clgeom.radio.sites import (
    as_field,
    as_transmitters,
    check_crs,
    heights_under,
    one_band,
    positions_of,
    whole_buffer,
)
from clgeom.radio.transmitters import Transmitter

KERNEL = "radio/diffraction"
METHODS = ("bullington", "complete", "single")
EARTH_RADIUS_M = 6_371_000.0
SPEED_OF_LIGHT = 299.792458  # m MHz
#: Least effective radius of the earth relative to its own; ITU-R P.530 goes down to 0.3.
LEAST_K = 0.1
#: Of land, for the diffraction over a smooth earth; in S/m.
PERMITTIVITY, CONDUCTIVITY = 22.0, 0.003


@keeps_subnormals
@takes_cuda
def terrain_loss(
    transmitters: Transmitter | Sequence[Transmitter],
    ground_m: AnyArray,
    *,
    transform: Any = None,
    crs: Any = None,
    mobile_height_m: FloatLike = 1.5,
    method: Literal["bullington", "complete", "single"] = "bullington",
    k_factor: FloatLike = 4 / 3,
    polarization: Literal["vertical", "horizontal"] = "vertical",
    on_device: bool = False,
    device: DeviceLike = None,
) -> Any:
    """Loss in dB by diffraction over the terrain between transmitters and every cell of a map, beyond free space.

    Parameters
    ----------
    transmitters : Transmitter or sequence of Transmitter
        In cells of the map; their position, height (by default 25 m) and frequency (1800 MHz) count, not their range.
        The height of the ground under a transmitter is that of its cell.
    ground_m : array_like or pyopencl.array.Array, shape (rows, columns)
        Height of the ground at the cells' centres above the sea, in m, float32 in the computation; NaN, masked cells,
        cells without data and heights of 100 km or more, up or down, are unknown. A dataset of rasterio or a DataArray
        of xarray brings its transform and reference system.
    transform, crs : optional
        As for `best_server`. A plain array needs the transform.
    mobile_height_m : float
        Height of the receiver above the ground.
    method : {"bullington", "complete", "single"}
        Bullington's construction with the correction for several edges (P.526, 4.5.1), the same with what a smooth
        earth adds (4.5.2, "delta-Bullington"), which counts beyond the horizon over water and plains, or the knife edge
        with the greatest loss alone (4.1).
    k_factor : float
        Effective radius of the earth, relative to 6371 km: 4/3 in a standard atmosphere, 0.1 or more; infinity for a
        flat earth.
    polarization : {"vertical", "horizontal"}
        For the smooth earth of method="complete", of land (permittivity 22, conductivity 0.003 S/m).
    on_device : bool
        Leave the result on the device, as ``pyopencl.array.Array``.
    device : optional
        As everywhere in clgeom.

    Returns
    -------
    ndarray of float32 or pyopencl.array.Array, shape (transmitters, rows, columns)
        For `extra_loss_db` of `best_server`; of shape (rows, columns) for a single Transmitter. NaN where a height of
        the profile is unknown.

    Raises
    ------
    InvalidInput
        A map that is not in metres, or a transmitter outside of it or in a cell without height.

    Warns
    -----
    InputWarning
        `polarization` with a method without the smooth earth. A `crs` whose scale at the map's centre differs from 1 by
        more than 1 %, as that of Web Mercator (EPSG:3857).

    Notes
    -----
    The profile of a cell is the terrain at all crossings of its ray with the lines through the cells' centres, along
    columns, or along rows for a steep ray; heights are linear between two centres. So no summit of a cell on the ray is
    left out, and no profile is shared or thinned out. On this profile the loss is that of the Recommendation, within
    0.02 dB for heights up to 4000 m ("complete": 0.05 dB).

    Source: ITU-R P.526-15.

    Examples
    --------
    >>> import numpy as np
    >>> from clgeom import radio
    >>> ground = np.zeros((3, 101))
    >>> ground[:, 50] = 80  # a ridge
    >>> site = radio.Transmitter(50.0, 150.0, height_m=30, frequency_mhz=900)
    >>> loss = radio.terrain_loss(site, ground, transform=(100, 0, 0, 0, -100, 300))
    >>> [f"{one:.1f}" for one in loss[1, [40, 60, 100]]]
    ['4.6', '38.8', '33.0']
    """
    from clgeom.region.coverage.grid import as_grid

    caller = "terrain_loss"
    single = isinstance(transmitters, Transmitter)
    transmitters = as_transmitters(transmitters, caller)
    one_of(method, METHODS, "method", caller=caller)
    one_of(polarization, ("vertical", "horizontal"), "polarization", caller=caller)
    if method != "complete":
        warn_unused({"polarization": (polarization, "vertical")}, caller, f"method='{method}'")
    mobile = number(mobile_height_m, "mobile_height_m", caller=caller, least=0, most=1e4, unit="m")
    if not (isinstance(k_factor, numbers.Real) and not isinstance(k_factor, (bool, np.bool_)) and k_factor >= LEAST_K):
        raise wrong("k_factor", caller, f"{LEAST_K} or more", short(k_factor))
    session = session_of(ground_m if is_device_array(ground_m) else None, device)
    raster = placed_raster(ground_m, caller=caller, name="ground_m", transform=transform, crs=crs)
    transform, crs = raster.transform, raster.crs
    ground = as_field(session, raster.values if is_device_array(ground_m) else raster, None, "ground_m", caller)
    shape = rows_and_columns(ground.shape, caller=caller) if ground.ndim == 2 else ()
    if not shape or math.prod(shape) >= 1 << 31:
        expected = "shape (rows, columns), less than 2**31 cells"
        raise wrong("ground_m", caller, expected, ground.shape, verb="have", hint=one_band(ground.shape))
    if transform is None:
        raise wrong("transform", caller, "the map in metres", "None", verb="place")
    grid = as_grid(transform, crs, shape, caller=caller)
    check_crs(crs, caller, grid.centre)
    at, places = positions_of(transmitters, grid, caller)
    grounds = heights_under(session, places, at, shape, ground, caller)
    buffer = whole_buffer(session, ground, "ground_m", caller)
    cells, on_device = math.prod(shape), boolean(on_device, "on_device", caller=caller)
    out: Any
    if on_device:
        out = new_array(session, (len(transmitters), *shape), np.float32)
    else:
        out = np.empty((len(transmitters), *shape), np.float32)
    losses = out.base_data if on_device else allocate(session, 4 * cells)
    (a, b, _, d, e, _), (rows, columns) = grid.transform, shape
    for k, (one, (column, row), height) in enumerate(zip(transmitters, places.tolist(), grounds)):
        values = (
            *(column - 0.5, row - 0.5, height + one.height_m, mobile, a, b, d, e),
            *(0.5 / (float(k_factor) * EARTH_RADIUS_M), one.frequency_mhz / SPEED_OF_LIGHT),
            *(one.height_m, _admittance(one.frequency_mhz / 1000, polarization)),
        )
        args: tuple[Any, ...] = ("ground", np.uint32(rows), np.uint32(columns), *map(np.float32, values))
        args += (np.uint64(k * cells if on_device else 0), "losses")
        real, params = np.dtype(np.float32), {"method": method}
        step = Step.over(session.profile, KERNEL, args, cells, dtype=real, params=params, bytes_moved=8 * cells)
        run(session, Plan(step), ground=buffer, losses=losses)
        if not on_device:
            out[k] = read(session, losses, np.float32, cells).reshape(shape)
    return out[0] if single else out


def _admittance(frequency_ghz: float, polarization: str) -> float:
    """Return the admittance of the ground (P.526, 3.1.1.1) times the cube root of the earth's radius in km."""
    loss = 18 * CONDUCTIVITY / frequency_ghz
    horizontal: float = 0.036 * frequency_ghz ** (-1 / 3) * ((PERMITTIVITY - 1) ** 2 + loss**2) ** -0.25
    return horizontal * math.sqrt(PERMITTIVITY**2 + loss**2) if polarization == "vertical" else horizontal


@keeps_subnormals
def knife_edge_loss(nu: ArrayLike) -> Any:
    """Loss in dB by diffraction over one knife edge, beyond free space: J(nu) of ITU-R P.526, 4.1.

    Parameters
    ----------
    nu : float or array_like
        Height of the edge above the line of sight, in m, times ``sqrt(2 (d1 + d2) / (wavelength d1 d2))``, all in m;
        negative where the edge is below that line.

    Returns
    -------
    float or ndarray of float64
        0 where `nu` is at most -0.78.

    Raises
    ------
    InvalidInput
        `nu` is not of numbers.

    Examples
    --------
    >>> from clgeom import radio
    >>> round(radio.knife_edge_loss(0.0), 2), radio.knife_edge_loss([-1, 1]).round(2).tolist()
    (6.03, [0.0, 13.93])
    """
    values = host_values(nu, caller="knife_edge_loss", name="nu")
    has_type(values, "iuf", "numbers", "nu", caller="knife_edge_loss")
    above = values.astype(np.float64) - 0.1
    with np.errstate(invalid="ignore"):
        loss = np.where(values <= -0.78, 0.0, 6.9 + 20 * np.log10(np.sqrt(above**2 + 1) + above))
    return float(loss) if loss.ndim == 0 else loss
