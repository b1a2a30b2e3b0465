"""Maps around a transmitter: distances and street angles, shadowing, and received power.

Row 0 of a map is its north edge. Cells are square; the value of a cell is that at its centre.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from clgeom.arguments import number, one_of, pair, positive, rows_and_columns, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InputWarning, InvalidInput, short, warn
from clgeom.intake.interop.objects import values_of
from clgeom.intake.typing import ArrayLike, DeviceLike, DTypeLike, FloatLike, NDArray, Shape
from clgeom.radio.antennas import warn_unused
from clgeom.radio.cells import LEAST_KM, PARAMETERS, LossModel, compute_losses
from clgeom.radio.models import CITIES, MODELS, ModelName
from clgeom.radio.results import RadioMap
from clgeom.radio.sites import check_crs

#: Defaults of `coverage_map` for parameters that some models do not know.
DEFAULTS = {
    "base_height": None,
    "mobile_height": 1.5,
    "roof_height": 15.0,  # but for models with a usual one
    "street_width": 20.0,
    "separation": 40.0,
    "street": 30.0,
    "city": "medium",
}
#: Correlation lengths beyond which shadowing is taken as uncorrelated (1/e^8 = 0.03 % of the variance).
UNRELATED = 8


@keeps_subnormals
def distance_map(
    shape: Shape, position: Sequence[FloatLike], *, pixel: FloatLike = 1.0, dtype: DTypeLike = np.float32
) -> NDArray[Any]:
    """Distance in km along the ground from each cell's centre to a position.

    Parameters
    ----------
    shape : (rows, columns)
    position : (row, column)
        In cells from the north-west corner; (0.5, 0.5) is the first cell's centre.
    pixel : float
        Side of a cell in m.
    dtype : data-type
        A type of floats.

    Returns
    -------
    ndarray of `dtype`, shape (rows, columns)

    Raises
    ------
    InvalidInput
        `shape` has no cells, `position` is no pair of finite numbers, `pixel` is not above 0, or `dtype` is no type of
        floats.

    Examples
    --------
    >>> from clgeom import radio
    >>> radio.distance_map((1, 3), (0.5, 0.5), pixel=1000).tolist()
    [[0.0, 1.0, 2.0]]
    """
    north, east = _offsets(shape, position, caller="distance_map")
    _check_float(dtype, "distance_map")
    km = np.hypot(north, east) * (positive(pixel, "pixel", caller="distance_map", unit="m") / 1000)
    distances: NDArray[Any] = km.astype(dtype)
    return distances


@keeps_subnormals
def orientation_map(
    shape: Shape, position: Sequence[FloatLike], street: ArrayLike, *, dtype: DTypeLike = np.float32
) -> NDArray[Any]:
    """Angle in degrees, 0 to 90, between the streets and the ray from a position to each cell.

    Parameters
    ----------
    shape : (rows, columns)
    position : (row, column)
    street : float or array_like of `shape`
        Direction of the streets in degrees, clockwise from north.
    dtype : data-type
        A type of floats.

    Returns
    -------
    ndarray of `dtype`, shape (rows, columns)

    Raises
    ------
    InvalidInput
        `shape` has no cells, `position` is no pair of finite numbers, `street` is neither a number nor one for each
        cell, or `dtype` is no type of floats.

    Examples
    --------
    >>> from clgeom import radio
    >>> radio.orientation_map((1, 2), (0.5, 0.5), street=0)[0, 1].item()
    90.0
    """
    north, east = _offsets(shape, position, caller="orientation_map")
    _check_float(dtype, "orientation_map")
    towards = np.degrees(np.arctan2(east, north))
    try:
        street = np.broadcast_to(
            np.asarray(values_of(street, caller="orientation_map", name="street"), np.float64), towards.shape
        )
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The 'street' parameter of orientation_map must be a number, or one for each cell. {error}"
        ) from error
    apart = np.abs(towards - street) % 180
    turned: NDArray[Any] = np.minimum(apart, 180 - apart).astype(dtype)
    return turned


def _offsets(shape: Shape, position: Sequence[FloatLike], *, caller: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Offsets of the cells' centres north and east of a position, in cells."""
    (rows, columns), (row, column) = rows_and_columns(shape, caller=caller), pair(position, "position", caller=caller)
    return row - (np.arange(rows)[:, None] + 0.5), (np.arange(columns)[None, :] + 0.5) - column


@keeps_subnormals
def shadowing(
    shape: Shape,
    *,
    sigma: FloatLike = 8.0,
    correlation: FloatLike = 50.0,
    pixel: FloatLike = 1.0,
    seed: int | np.random.Generator = 0,
    dtype: DTypeLike = np.float32,
) -> NDArray[Any]:
    """Log-normal shadowing: a random map in dB with mean 0 whose autocorrelation falls as ``exp(-d / correlation)``.

    Parameters
    ----------
    shape : (rows, columns)
    sigma : float
        Standard deviation in dB; 6 to 10 in towns.
    correlation : float
        Distance in m over which the correlation falls to 1/e; 20 to 100 in towns.
    pixel : float
        Side of a cell in m.
    seed : int or numpy.random.Generator
    dtype : data-type
        A type of floats.

    Returns
    -------
    ndarray of `dtype`, shape (rows, columns)
        The same for the same seed, up to the rounding of NumPy's FFT.

    Raises
    ------
    InvalidInput
        `shape` has no cells, `sigma` is negative, `correlation` or `pixel` is not above 0, `seed` is not one of
        NumPy's, or `dtype` is no type of floats.

    Notes
    -----
    White noise is filtered by an FFT on a grid that is larger than the map by 8 correlation lengths, so that values
    that wrap round are uncorrelated with the map. Source of the model: M. Gudmundson, Electronics Letters 27 (1991).

    Examples
    --------
    >>> from clgeom import radio
    >>> map = radio.shadowing((64, 64), sigma=6, seed=1)
    >>> map.shape, (map == radio.shadowing((64, 64), sigma=6, seed=1)).all().item()
    ((64, 64), True)
    """
    shape, pixel = rows_and_columns(shape, caller="shadowing"), positive(pixel, "pixel", caller="shadowing", unit="m")
    reach = positive(correlation, "correlation", caller="shadowing", unit="m") / pixel
    sigma = number(sigma, "sigma", caller="shadowing", least=0, unit="dB")
    if sigma == 0:
        unused = {"correlation": (correlation, 50.0), "pixel": (pixel, 1.0), "seed": (seed, 0)}
        warn_unused(unused, "shadowing", "sigma=0")
    torus = [_fast_length(size + math.ceil(min(UNRELATED * reach, size))) for size in shape]
    rows, columns = (np.minimum(np.arange(size), size - np.arange(size)) for size in torus)
    covariance = np.exp(-np.hypot(rows[:, None], columns[None, :]) / reach)
    gain = np.sqrt(np.maximum(np.fft.rfft2(covariance).real, 0))
    _check_float(dtype, "shadowing")
    noise = _seeded(np.random.default_rng, seed, "shadowing").standard_normal(torus)
    field = np.fft.irfft2(np.fft.rfft2(noise) * gain, torus)
    return (sigma * field[: shape[0], : shape[1]]).astype(dtype)


def _fast_length(size: int) -> int:
    """Return the next length from `size` on whose only prime factors are 2, 3 and 5."""
    while True:
        rest = size
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1


@keeps_subnormals
def coverage_map(
    shape: Shape = (512, 512),
    *,
    model: ModelName = "wim",
    transmitters: Sequence[Sequence[FloatLike]] | None = None,
    pixel: FloatLike = 5.0,
    power: FloatLike = 43.0,
    frequency: FloatLike | None = None,
    base_height: FloatLike | None = None,
    mobile_height: FloatLike = 1.5,
    roof_height: FloatLike | None = None,
    street_width: FloatLike = 20.0,
    separation: FloatLike = 40.0,
    street: ArrayLike = 30.0,
    city: Literal["medium", "metropolitan"] = "medium",
    sigma: FloatLike = 8.0,
    correlation: FloatLike = 50.0,
    seed: int | np.random.Generator = 0,
    range_m: FloatLike | None = None,
    origin: Sequence[FloatLike] = (0.0, 0.0),
    crs: Any = None,
    device: DeviceLike = None,
) -> RadioMap:
    """Received power from one or more transmitters (of the best server in each cell), with correlated shadowing.

    Parameters
    ----------
    shape : (rows, columns)
    model : str
        "wim", "wim-los": Walfisch-Ikegami without or with line of sight. "free-space". "two-ray": flat ground.
        "okumura-hata", "cost231-hata": urban macro cells. "uma", "uma-los", "umi", "umi-los", "rma", "rma-los":
        `urban_macro`, `urban_micro` and `rural_macro`.
    transmitters : sequence of (row, column), optional
        In cells from the north-west corner, not in map coordinates; one in the middle by default.
    pixel : float
        Side of a cell in m.
    power : float
        Radiated power in dBm (EIRP).
    frequency, base_height, mobile_height, roof_height, street_width, separation, city
        As for `walfisch_ikegami`; for models that know them. `frequency` is 1800 MHz by default, 900 for
        "okumura-hata"; `base_height` is 25 m, 30 for the models of Hata, 10 for "umi" and 35 for "rma"; `roof_height`
        is 15 m, 5 for "rma". Nearer than the model's range the loss continues into free space, with one warning.
    street : float or array_like of `shape`
        Direction of the streets in degrees, clockwise from north.
    sigma, correlation, seed
        As for `shadowing`, each transmitter with its own; sigma=0 leaves it out.
    range_m : float, optional
        Distance along the ground beyond which a transmitter is not received. Cells without any are NaN, as are those
        beyond the range of the model, of which a warning tells.
    origin : (x, y)
        Of the map's north-west corner in `crs`, in m.
    crs : object, optional
        A projected coordinate reference system in metres, as anything that pyproj takes: "EPSG:32632".
    device : optional
        As everywhere in clgeom.

    Returns
    -------
    RadioMap

    Raises
    ------
    InvalidInput
        An unknown model or city, a transmitter that is no pair of numbers, a parameter out of the model's range, or a
        `crs` that is not in metres.

    Warns
    -----
    InputWarning
        Cells out of the model's range, no cell that is served, or a parameter that the model does not know. A `crs`
        whose scale at the map's centre differs from 1 by more than 1 %, as that of Web Mercator (EPSG:3857).

    See Also
    --------
    best_server : Many transmitters, antennas and terrain.
    clgeom.raster_regions : The polygons of the map.

    Examples
    --------
    >>> from clgeom import radio
    >>> made = radio.coverage_map((64, 64), transmitters=[(16, 16), (48, 48)], sigma=0)
    >>> made.values.shape, made.values.dtype.name, made.transmitters
    ((64, 64), 'float32', ((16.0, 16.0), (48.0, 48.0)))
    """
    shape, origin = rows_and_columns(shape, caller="coverage_map"), pair(origin, "origin", caller="coverage_map")
    pixel = positive(pixel, "pixel", caller="coverage_map", unit="m")
    one_of(model, tuple(MODELS), "model", caller="coverage_map")
    one_of(city, CITIES, "city", caller="coverage_map")
    if transmitters is None:
        transmitters = ((shape[0] / 2, shape[1] / 2),)
    if not hasattr(transmitters, "__len__") or len(transmitters) == 0:
        raise wrong(
            "transmitters", "coverage_map", "one or more (row, column), in a sequence", short(transmitters), verb="name"
        )
    transmitters = tuple(pair(position, "transmitters", caller="coverage_map") for position in transmitters)
    power = number(power, "power", caller="coverage_map", unit="dBm")
    (x, y), (rows, columns) = origin, shape
    check_crs(crs, "coverage_map", (x + pixel * columns / 2, y - pixel * rows / 2))
    if range_m is not None:
        range_m = number(range_m, "range_m", caller="coverage_map", least=1, unit="m")
    if roof_height is None:
        roof_height = MODELS[model].usual.get("roof_height", 15.0)
    around = {"roof_height": roof_height, "street_width": street_width, "separation": separation}
    _warn_unused(model, base_height=base_height, mobile_height=mobile_height, street=street, city=city, **around)
    sigma = number(sigma, "sigma", caller="coverage_map", least=0, unit="dB")
    if sigma == 0:
        warn_unused({"correlation": (correlation, 50.0), "seed": (seed, 0)}, "coverage_map", "sigma=0")
    link: dict[str, Any] = {
        "frequency": MODELS[model].frequency if frequency is None else frequency,
        "base_height": MODELS[model].base_height if base_height is None else base_height,
        "mobile_height": mobile_height,
        "line_of_sight": model.endswith("-los"),
        **around,
    }
    call = LossModel("coverage_map", MODELS[model].kernel, MODELS[model].ranges, "raise", None, city)
    names = PARAMETERS[call.model]
    least, most, _ = call.ranges["distance"]
    wanted = math.inf if range_m is None else range_m / 1000
    reach, best = min(most, wanted), np.full(shape, np.nan, np.float32)
    streams = _seeded(np.random.SeedSequence, seed, "coverage_map").spawn(len(transmitters))
    for position, stream in zip(transmitters, streams):
        distance = distance_map(shape, position, pixel=pixel, dtype=np.float64)
        heard = distance <= reach
        if most < wanted and not heard.all():
            call.warnings["far"] = f"Cells farther than {most:g} km, where the model has no value, are NaN."
        link["distance"] = np.clip(distance, LEAST_KM, reach).astype(np.float32)
        if model == "wim":
            link["orientation"] = orientation_map(shape, position, street)
        received = np.float32(power) - compute_losses(call, {name: link[name] for name in names}, device)
        if sigma:
            received += shadowing(
                shape, sigma=sigma, correlation=correlation, pixel=pixel, seed=np.random.default_rng(stream)
            )
        np.fmax(best, np.where(heard, received, np.float32(np.nan)), out=best)
    if "near" in call.warnings:
        call.warnings["near"] = f"Nearer than {least:g} km the loss continues into free space."
    if call.warnings:
        reasons = " ".join(call.warnings.values())
        warn(f"Cells of the map are out of the range of the model '{model}' of coverage_map. {reasons}", InputWarning)
    power_map = RadioMap(best, (float(pixel), 0.0, x, 0.0, -float(pixel), y), crs, transmitters)
    if np.isnan(best).all():
        from clgeom.region.coverage.grid import Grid

        (row, column), extent = transmitters[0], Grid(power_map.transform, crs, shape).extent
        warn(
            "No cell of the map of coverage_map is served. Transmitters are (row, column) in cells, and the first is "
            f"({row:.10g}, {column:.10g}); the map has {shape[0]:,} rows and {shape[1]:,} columns ({extent}).",
            InputWarning,
        )
    return power_map


def _warn_unused(model: str, **values: Any) -> None:
    """Warn of parameters of `coverage_map` that the model does not know."""
    known = MODELS[model].surroundings + (() if model == "free-space" else ("base_height", "mobile_height"))
    unknown = {name: (values[name], default) for name, default in DEFAULTS.items() if name not in known}
    warn_unused(unknown, "coverage_map", f"the model '{model}'")


def _check_float(dtype: DTypeLike, caller: str) -> None:
    try:
        kind = np.dtype(dtype).kind
    except TypeError:
        kind = None
    if kind != "f":
        raise wrong("dtype", caller, "a type of floats", short(dtype))


def _seeded(make: Callable[[Any], Any], seed: Any, caller: str) -> Any:
    try:
        return make(seed)
    except (TypeError, ValueError) as error:
        raise wrong("seed", caller, "a seed of NumPy's", short(seed)) from error
