"""Many transmitters at once: the best server of every cell, the power received of it, and carrier to interference.

One launch reads what differs from cell to cell, if anything does, and writes three numbers for each cell.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from clgeom.arguments import boolean, number, one_of, rows_and_columns, wrong
from clgeom.core.call import Call
from clgeom.core.device import Session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import allocate, read, run
from clgeom.core.plan import Plan, Step
from clgeom.errors import InputWarning, warn
from clgeom.intake.arrays import session_of, to_device
from clgeom.intake.device_arrays import is_device_array, new_array
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.typing import AnyArray, DeviceLike, FloatLike, NDArray, Shape
from clgeom.radio.antennas import warn_unused
from clgeom.radio.cells import LEAST_KM
from clgeom.radio.models import AREAS, CITIES, MODELS, STREETS, SURROUNDINGS, ModelName
from clgeom.radio.results import ServerMap
from clgeom.radio.sites import (
    as_field,
    as_transmitters,
    check_crs,
    farthest_m,
    heights_under,
    nearest_m,
    positions_of,
    whole_buffer,
)
from clgeom.radio.transmitters import Transmitter, check_ranges, fields_of, rows_of

KERNEL = "radio/best_server"
CALLER = "best_server"
#: The numbers that are written for each cell.
OUTPUTS: dict[str, np.dtype[Any]] = {
    "powers": np.dtype(np.float32),
    "servers": np.dtype(np.int16),
    "ratios": np.dtype(np.float32),
}


@keeps_subnormals
@takes_cuda
def best_server(
    transmitters: Sequence[Transmitter],
    *,
    shape: Shape,
    transform: Any,
    crs: Any = None,
    model: ModelName = "wim",
    mobile_height_m: FloatLike = 1.5,
    roof_height_m: FloatLike | None = None,
    street_width_m: FloatLike | None = None,
    separation_m: FloatLike = 50.0,
    street_deg: FloatLike = 30.0,
    city: Literal["medium", "metropolitan"] = "medium",
    area: Literal["urban", "suburban", "open"] = "urban",
    noise_dbm: FloatLike | None = None,
    sensitivity_dbm: FloatLike | None = None,
    ground_m: AnyArray | None = None,
    extra_loss_db: AnyArray | None = None,
    strict: bool = True,
    on_device: bool = False,
    device: DeviceLike = None,
    profile: bool = False,
) -> ServerMap:
    """Return the best server of every cell of a map, its received power, and carrier to interference, in one launch.

    Parameters
    ----------
    transmitters : sequence of Transmitter
        At most 32,768.
    shape : (rows, columns)
    transform : sequence of 6 floats or affine.Affine
        (a, b, c, d, e, f): pixel corner (column, row) is at ``x = a column + b row + c, y = d column + e row + f``, in
        m; y is to the north.
    crs : object, optional
        A projected coordinate reference system in metres, as anything that pyproj takes.
    model : str
        "wim", "wim-los" (`walfisch_ikegami`), "free-space", "two-ray", "okumura-hata", "cost231-hata", "uma",
        "uma-los" (`urban_macro`), "umi", "umi-los" (`urban_micro`), "rma", "rma-los" (`rural_macro`); "-los" is with
        line of sight.
    mobile_height_m : float
        Height of the receiver above the ground.
    roof_height_m, street_width_m, separation_m, street_deg, city, area
        Surroundings, for the models that know them. Roofs are 12 m high and streets 25 m wide by default, 5 m and 20 m
        for "rma"; `street_deg` is the direction of the streets, clockwise from north.
    noise_dbm : float, optional
        Power of noise, which is added to the interference.
    sensitivity_dbm : float, optional
        Least power that is received; see `receiver_sensitivity`.
    ground_m : array_like or pyopencl.array.Array of `shape`, optional
        Height of the ground above the sea in m, for the elevations at antennas and for distances in space. It does not
        screen: see `terrain_loss` for `extra_loss_db`. A raster with a position of its own (of rasterio or xarray) must
        have that of the map.
    extra_loss_db : array_like or pyopencl.array.Array, shape (transmitters, rows, columns), optional
        Further losses of each transmitter in each cell, such as shadowing or `terrain_loss`; NaN and infinities:
        not received.
    strict : bool
        False: a height, a frequency or a greater distance than the model's range gives one `InputWarning`, and the
        formula goes on.
    on_device : bool
        Leave the maps on the device, as ``pyopencl.array.Array``.
    device : optional
        As everywhere in clgeom.
    profile : bool
        Measure the launch, for `phases`.

    Returns
    -------
    ServerMap

    Raises
    ------
    InvalidInput
        No transmitter, a value out of the model's range, a map that is not in metres, arrays of other shapes. Give
        transmitters a `range_m` where the map is larger than the model's range.

    Warns
    -----
    InputWarning
        No cell is served, unless `on_device`. Cells that are nearer to a transmitter than the model's range: there the
        loss continues into free space. A parameter that the model does not know, or `ground_m` where no distance and no
        antenna depends on heights. A `crs` whose scale at the map's centre differs from 1 by more than 1 %, as that of
        Web Mercator (EPSG:3857). A transmitter far from the map, whose position may be a longitude and a latitude.

    See Also
    --------
    coverage_map : One map of a simple model.
    clgeom.raster_regions : The polygons of a map.

    Notes
    -----
    All transmitters use one channel. Distances are those in space between the antennas for "free-space", "two-ray",
    "uma", "umi" and "rma", and those along the ground for the models of Walfisch, Ikegami and Hata. Received power is
    EIRP, less the attenuation of the pattern of the antenna towards the cell, less path loss and `extra_loss_db`, for
    a receiving antenna of 0 dBi. It is within 1e-3 dB of the exact formulas; where two transmitters are nearer to each
    other than that, devices may choose differently. Of equal powers the cell is served by the nearest transmitter, and
    of those as near by the first. A cell is at least 1 m from a transmitter, along the ground.

    Examples
    --------
    >>> from clgeom import radio
    >>> sector = radio.sector_antenna(gain_dbi=15)
    >>> site = [radio.Transmitter(1000, 1000, antenna=sector, azimuth_deg=turn) for turn in (0, 120, 240)]
    >>> made = radio.best_server(site, shape=(200, 200), transform=(10, 0, 0, 0, -10, 2000), sensitivity_dbm=-95)
    >>> made.server[20, 100].item(), made.server[150, 180].item(), made.server[150, 20].item()
    (0, 1, 2)
    """
    from clgeom.region.coverage.grid import as_grid

    shape = rows_and_columns(shape, caller=CALLER)
    one_of(model, tuple(MODELS), "model", caller=CALLER)
    transmitters = as_transmitters(transmitters, CALLER, model)
    around = {"roof_height": roof_height_m, "street_width": street_width_m, "separation": separation_m}
    around = _surroundings(model, {**around, "street": street_deg, "city": city, "area": area})
    mobile = number(mobile_height_m, "mobile_height_m", caller=CALLER, least=0.1, most=1e4, unit="m")
    noise, least = _dbm(noise_dbm, "noise_dbm"), _dbm(sensitivity_dbm, "sensitivity_dbm")
    if transform is None:
        raise wrong("transform", CALLER, "the map in metres", "None", verb="place")
    grid = as_grid(transform, crs, shape, caller=CALLER)
    check_crs(crs, CALLER, grid.centre)
    at, cells = positions_of(transmitters, grid, CALLER)
    reaches = np.array([math.inf if one.range_m is None else one.range_m for one in transmitters])
    low, farthest = MODELS[model].ranges["distance"][0], float(farthest_m(at, reaches, grid).max())
    nearest = nearest_m(at, cells, reaches, grid, low * 1000) if low > LEAST_KM else math.inf
    check_ranges(
        model, transmitters, mobile, around, nearest / 1000, farthest / 1000,
        strict=boolean(strict, "strict", caller=CALLER), caller=CALLER,
    )  # fmt: skip
    session = session_of(next((v for v in (ground_m, extra_loss_db) if is_device_array(v)), None), device)
    ground = as_field(session, ground_m, shape, "ground_m", CALLER, grid)
    extra = as_field(session, extra_loss_db, (len(transmitters), *shape), "extra_loss_db", CALLER, grid)
    grounds = [0.0] * len(transmitters)
    if ground is not None:
        grounds = heights_under(session, cells, at, shape, ground, CALLER)
    params = {
        "fields": fields_of(model),
        "lines": MODELS[model].count,
        "streets": model == "wim",
        "patterns": not all(one.antenna.is_isotropic for one in transmitters),
        "grounds": ground is not None,
        "extras": extra is not None,
        "near": math.isfinite(nearest),
        "ranges": any(one.range_m is not None for one in transmitters),
        **({"bent": True} if MODELS[model].bend else {}),
    }
    if not (params["patterns"] or params["near"] or MODELS[model].in_space):
        beside = f"the model '{model}' and antennas that radiate alike everywhere"
        warn_unused({"ground_m": (ground_m, None)}, CALLER, beside)
    rows, tables = rows_of(model, transmitters, cells, mobile, around, grounds)
    params["tables"] = len(tables) > 0
    a, b, _, d, e, _ = grid.transform
    numbers = tuple(map(np.float32, (a, b, d, e, 10 ** (noise / 10), least)))
    lists, fields = {"transmitters": rows.reshape(-1), "tables": tables}, {"grounds": ground, "extras": extra}
    on_device = boolean(on_device, "on_device", caller=CALLER)
    with Call(CALLER, profile=profile) as call:
        power, server, ratio = _compute_maps(session, shape, lists, numbers, params, fields, on_device)
    if not on_device and (server < 0).all():
        _warn_unserved(transmitters[0], power, grid)
    return ServerMap(power, server, ratio, grid.transform, crs, transmitters, tuple(call.phases))


def _warn_unserved(one: Transmitter, power: NDArray[np.float32], grid: Any) -> None:
    """Warn that no cell is served, and tell where the first transmitter is and how much power is received."""
    received = power[~np.isnan(power)]
    most = f" The greatest power is {received.max():.1f} dBm." if received.size else ""
    place = f"Transmitter 0 is at x {one.x:.10g}, y {one.y:.10g}; the map is {grid.extent}."
    warn(f"No cell of the map of {CALLER} is served. {place}{most}", InputWarning)


def _compute_maps(
    session: Session,
    shape: tuple[int, int],
    lists: dict[str, NDArray[np.float32]],
    numbers: tuple[np.float32, ...],
    params: dict[str, Any],
    fields: dict[str, Any],
    on_device: bool,
) -> list[Any]:
    """Return the maps, on the device or on the host: there by strips of rows where one allocation is too small."""
    (rows, columns), real, extra = shape, np.dtype(np.float32), fields["extras"]
    make = functools.partial(new_array, session) if on_device else np.empty
    maps: list[Any] = [make(shape, dtype) for dtype in OUTPUTS.values()]
    inputs: dict[str, Any] = {}
    for name, values in lists.items():
        values = values if len(values) else np.zeros(1, np.float32)
        inputs[name] = to_device(session, values, caller=CALLER).one_buffer(f"The list of {name} of {CALLER}")
    count = len(lists["transmitters"]) // len(params["fields"])
    first_args = ("transmitters", np.uint32(count), "tables", "grounds", "extras")
    moved = 10 + 4 * (params["grounds"] + count * params["extras"])
    whole = on_device or any(map(is_device_array, fields.values()))
    row_bytes = 4 * columns * (1 if extra is None else len(extra))
    strip = rows if whole else max(min(rows, session.profile.max_alloc_bytes // row_bytes), 1)
    for first in range(0, rows, strip):
        last = min(first + strip, rows)
        n, buffers = (last - first) * columns, dict(inputs)
        for name, value in fields.items():
            part = value if value is None or whole else value[..., first:last, :]
            buffers[name] = inputs["tables"] if value is None else whole_buffer(session, part, name, CALLER)  # not read
        for array, (name, dtype) in zip(maps, OUTPUTS.items()):
            buffers[name] = array.base_data if on_device else allocate(session, n * dtype.itemsize)
        args: tuple[Any, ...] = (*first_args, *map(np.uint32, (first, last - first, columns)), *numbers, *OUTPUTS)
        step = Step.over(session.profile, KERNEL, args, n, dtype=real, params=params, bytes_moved=n * moved)
        run(session, Plan(step), **buffers)
        if not on_device:
            for array, (name, dtype) in zip(maps, OUTPUTS.items()):
                array[first:last] = read(session, buffers[name], dtype, n).reshape(-1, columns)
    return maps


def _surroundings(model: str, around: dict[str, Any]) -> dict[str, Any]:
    """Check the surroundings, and warn of those that the model does not know."""
    one_of(around["city"], CITIES, "city", caller=CALLER)
    one_of(around["area"], AREAS, "area", caller=CALLER)
    usual = {**SURROUNDINGS, **MODELS[model].usual}
    around = {name: usual[name] if value is None else value for name, value in around.items()}
    for name in STREETS[:3]:
        around[name] = number(around[name], f"{name}_m", caller=CALLER, least=0.1, most=1e4, unit="m")
    around["street"] = number(around["street"], "street_deg", caller=CALLER, least=-360, most=360, unit="degrees")
    units = {"street": "_deg", "city": "", "area": ""}
    unknown = {
        f"{name}{units.get(name, '_m')}": (value, usual[name])
        for name, value in around.items()
        if name not in MODELS[model].surroundings
    }
    warn_unused(unknown, CALLER, f"the model '{model}'")
    return around


def _dbm(value: FloatLike | None, name: str) -> float:
    return -math.inf if value is None else number(value, name, caller=CALLER, least=-300, most=300, unit="dBm")
