"""Path loss of radio links, for all cells of a map: COST 231 Walfisch-Ikegami, free space, two rays.

Every parameter is one number for the map, or an array with one for each cell. One launch computes the loss and checks
the ranges. Arrays on the device are not copied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.runtime.arguments import unmasked
from clgeom.runtime.arrays import (
    as_device_values,
    c_name,
    chunk_bounds,
    is_device_array,
    session_of,
    to_device,
)
from clgeom.runtime.cl_arrays import new_array
from clgeom.runtime.device_arrays import fetched, native_array
from clgeom.runtime.failures import failures
from clgeom.runtime.host_memory import in_place, show_host
from clgeom.runtime.interop.objects import values_of
from clgeom.runtime.launch import allocate, fill, read, run
from clgeom.runtime.plan import Plan, Scratch, Step
from clgeom.runtime.typing import AnyArray, DeviceLike, DTypeLike

KERNEL = "radio/path_loss"
TYPES = ("float32", "float64")
CITIES = ("medium", "metropolitan")
OUTSIDE = ("raise", "clip", "nan")
#: Name: (lowest, highest, unit). The report limits the first four; the other limits keep logarithms finite.
WALFISCH_IKEGAMI = {
    "distance": (0.02, 5.0, "km"),
    "frequency": (800.0, 2000.0, "MHz"),
    "base_height": (4.0, 50.0, "m"),
    "mobile_height": (1.0, 3.0, "m"),
    "roof_height": (3.5, 200.0, "m"),
    "street_width": (1.0, 500.0, "m"),
    "separation": (1.0, 1000.0, "m"),
    "orientation": (0.0, 90.0, "degrees"),
}
#: Limits of the other models: frequencies of radio waves, and distances and heights on or near the earth.
PHYSICAL = {
    "distance": (1e-3, 1e5, "km"),
    "frequency": (1.0, 3e5, "MHz"),
    "base_height": (0.1, 1e4, "m"),
    "mobile_height": (0.1, 1e4, "m"),
    "reflection": (-1.0, 1.0, ""),
}

#: The kernel's parameters for each model, in its order.
LINK = ("distance", "frequency", "base_height", "mobile_height")
STREET = ("roof_height", "street_width", "separation", "orientation", "line_of_sight")
MODELS = {
    "free_space": LINK[:2],
    "two_ray": LINK,
    "interference": (*LINK, "reflection"),
    "line_of_sight": LINK,
    "walfisch_ikegami": (*LINK, *STREET),
}


def walfisch_ikegami(
    distance: AnyArray,
    *,
    frequency: AnyArray,
    base_height: AnyArray,
    mobile_height: AnyArray = 1.5,
    roof_height: AnyArray = 12.0,
    street_width: AnyArray = 25.0,
    separation: AnyArray = 50.0,
    orientation: AnyArray = 90.0,
    line_of_sight: AnyArray = False,
    city: Literal["medium", "metropolitan"] = "medium",
    outside: Literal["raise", "clip", "nan"] = "raise",
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Path loss in dB in a built-up area: the COST 231 Walfisch-Ikegami model, for street canyons and over roofs.

    Every parameter up to `line_of_sight` is one number, or an array with one for each cell; arrays are broadcast.

    Parameters
    ----------
    distance : float or array_like
        Distance from base to mobile station along the ground, in km, 0.02 to 5.
    frequency : float or array_like
        In MHz, 800 to 2000.
    base_height, mobile_height : float or array_like
        Heights of the antennas above the ground, in m, 4 to 50 and 1 to 3.
    roof_height : float or array_like
        Height of the buildings' roofs around the mobile station, in m, 3.5 to 200 (the report sets no limit).
    street_width : float or array_like
        Width of the mobile station's street, in m, 1 to 500; half the separation where it is not known.
    separation : float or array_like
        Distance from the middle of one building to the next along the path, in m, 1 to 1000; usually 20 to 50.
    orientation : float or array_like
        Angle between the street and the direct ray, in degrees, 0 to 90; the report advises 90 where it is not known.
    line_of_sight : bool or array_like of bool
        Where base and mobile station see each other along a street; the roofs then do not matter.
    city : {"medium", "metropolitan"}
        Medium-sized city or suburb with moderate trees, or metropolitan centre.
    outside : {"raise", "clip", "nan"}
        The result for a cell with a value out of its range. "raise": an error that names the first such cell. "clip":
        the loss for the nearest value allowed, so that a map may contain its own transmitter. "nan": NaN. A cell that
        holds NaN is an error with "raise", and stays NaN otherwise. Single numbers must always be within their ranges.
    dtype : {"float32", "float64"}, optional
        Type of the computation. By default float32 when all floating-point arrays are, else float64.
    device : optional
        As everywhere in clgeom.

    Returns
    -------
    ndarray of `dtype` in the arrays' common shape, or a float for single numbers
        For an array on the device a ``pyopencl.array.Array``.

    Raises
    ------
    InvalidInput
        A value out of its range, or shapes that do not fit.

    Notes
    -----
    Without line of sight ``L = L0 + max(0, Lrts + Lmsd)``: free space, diffraction from the last roof into the street,
    and over the roofs before it. Devices may compute logarithms differently: in float32 the loss is within 2e-4 dB of
    the exact formula for these inputs, in float64 within 1e-12 dB, hence twice that between devices.

    Source: COST Action 231, "Digital mobile radio towards future generation systems", final report (1999), 4.4.1.

    Examples
    --------
    >>> from clgeom import radio
    >>> street = dict(roof_height=12, separation=50, street_width=25, orientation=30)
    >>> loss = radio.walfisch_ikegami(1.0, frequency=1900, base_height=12.5, **street, city="metropolitan")
    >>> round(loss, 3)
    148.536
    """
    if city not in CITIES:
        raise InvalidInput(
            f"The 'city' parameter of walfisch_ikegami must be 'medium' or 'metropolitan'. Got {city!r} instead."
        )
    given = {
        "distance": distance,
        "frequency": frequency,
        "base_height": base_height,
        "mobile_height": mobile_height,
        "roof_height": roof_height,
        "street_width": street_width,
        "separation": separation,
        "orientation": orientation,
        "line_of_sight": line_of_sight,
    }
    model = "walfisch_ikegami"
    if isinstance(line_of_sight, (bool, np.bool_)) and line_of_sight:
        model = "line_of_sight"
        given = {name: given[name] for name in LINK}
    call = Call("walfisch_ikegami", model, WALFISCH_IKEGAMI, outside, dtype, city)
    return _losses(call, given, device)


def free_space(
    distance: AnyArray,
    *,
    frequency: AnyArray,
    outside: Literal["raise", "clip", "nan"] = "raise",
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Path loss in dB in free space, between isotropic antennas: ``20 log10(4 pi d f / c)``.

    Parameters
    ----------
    distance : float or array_like
        In km, 0.001 to 100,000.
    frequency : float or array_like
        In MHz, 1 to 300,000.
    outside, dtype, device
        As for `walfisch_ikegami`.

    Returns
    -------
    ndarray or float
        Within 2e-4 dB (float32) or 1e-12 dB (float64) of the exact formula on every device.

    Examples
    --------
    >>> from clgeom import radio
    >>> round(radio.free_space(1.0, frequency=900), 2)
    91.53
    """
    call = Call("free_space", "free_space", PHYSICAL, outside, dtype)
    return _losses(call, {"distance": distance, "frequency": frequency}, device)


def two_ray(
    distance: AnyArray,
    *,
    frequency: AnyArray,
    base_height: AnyArray,
    mobile_height: AnyArray = 1.5,
    interference: bool = False,
    reflection: AnyArray = -1.0,
    outside: Literal["raise", "clip", "nan"] = "raise",
    dtype: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Path loss in dB over flat ground: the direct ray and the one that the ground reflects.

    Parameters
    ----------
    distance : float or array_like
        Distance along the ground in km, 0.001 to 100,000.
    frequency : float or array_like
        In MHz, 1 to 300,000.
    base_height, mobile_height : float or array_like
        Heights of the antennas in m, 0.1 to 10,000.
    interference : bool
        Add the two rays with their phases, which gives the deep fades near the base station. By default the smooth
        form: free space up to the distance ``4 pi hB hM / wavelength``, from there on the plane earth's
        ``40 log10 d - 20 log10 (hB hM)``.
    reflection : float or array_like
        The ground's reflection coefficient for `interference`, -1 to 1; -1 at grazing incidence.
    outside, dtype, device
        As for `walfisch_ikegami`.

    Returns
    -------
    ndarray or float
        The smooth form within 2e-4 dB (float32) or 1e-12 dB (float64) of the exact formula on every device. With
        `interference` the bound is on the received power, relative to that of the direct ray alone: 1e-4 (float32)
        or 5e-13 (float64) of it, and as much again for every wavelength that the paths differ by.

    Notes
    -----
    Source: T. S. Rappaport, "Wireless communications: principles and practice" (2002), section 4.6.

    Examples
    --------
    >>> from clgeom import radio
    >>> round(radio.two_ray(10.0, frequency=900, base_height=30), 2)
    126.94
    """
    given = {
        "distance": distance,
        "frequency": frequency,
        "base_height": base_height,
        "mobile_height": mobile_height,
    }
    if interference:
        given["reflection"] = reflection
    model = "interference" if interference else "two_ray"
    return _losses(Call("two_ray", model, PHYSICAL, outside, dtype), given, device)


# From parameters to the launch ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A call of a public function: its name, the model of the kernel, the ranges, and what to do beyond them."""

    caller: str
    model: str
    ranges: dict
    outside: str
    dtype: object
    city: str = "medium"


def _losses(call, given, device):
    if call.outside not in OUTSIDE:
        raise InvalidInput(
            f"The 'outside' parameter of {call.caller} must be 'raise', 'clip' or 'nan'. Got {call.outside!r} instead."
        )
    on_device = next((value for value in given.values() if is_device_array(value)), None)
    session = session_of(on_device, device)
    single, fields = _split(call, given)
    dtype = _common_type(call, fields)
    if dtype == np.float64:
        session.profile.require_fp64(call.caller)
    _check_numbers(call, single)
    if not fields:  # one number is a map of one cell
        fields = {"distance": np.array([single.pop("distance")])}
        return float(_on_host(session, call, dtype, single, fields, (1,))[0])
    shape = _common_shape(call, fields)
    if on_device is not None:
        return _on_device(session, call, dtype, single, fields, shape)
    return _on_host(session, call, dtype, single, fields, shape)


def _split(call, given):
    """The parameters that are one number, and those that are arrays."""
    single, fields = {}, {}
    for name, value in given.items():
        if is_device_array(value):
            fields[name] = value
            continue
        masked = np.ma.is_masked(value)
        value = values_of(value, caller=call.caller, name=name)
        try:
            array = np.asarray(np.ma.getdata(value) if isinstance(value, np.ma.MaskedArray) else value)
        except (ValueError, TypeError) as error:  # such as ragged lists
            raise InvalidInput(f"The '{name}' parameter of {call.caller} must be numbers. {error}") from error
        if array.dtype.kind not in "biuf" or (array.dtype.kind == "b") != (name == "line_of_sight"):
            wanted = "bool" if name == "line_of_sight" else "numbers"
            raise InvalidInput(f"The '{name}' parameter of {call.caller} must be {wanted}. Got {array.dtype} instead.")
        if name == "line_of_sight":
            unmasked(value, name, caller=call.caller)
        if array.ndim == 0:
            single[name] = array.item()
        elif masked:  # masked values are unknown
            fields[name] = np.ma.filled(np.ma.asarray(value).astype(np.result_type(array, np.float32)), np.nan)
        else:
            fields[name] = array
    return single, fields


def _common_type(call, fields) -> np.dtype:
    if call.dtype is not None:
        try:
            dtype = np.dtype(call.dtype)
        except TypeError:
            dtype = None
        if dtype is None or dtype.name not in TYPES:
            raise InvalidInput(
                f"The 'dtype' parameter of {call.caller} must be 'float32' or 'float64'. Got {call.dtype!r} instead."
            )
        return dtype
    types = [value.dtype for name, value in fields.items() if name != "line_of_sight"]
    single = types and all(t.kind == "f" and t.itemsize <= 4 for t in types)
    return np.dtype(np.float32 if single else np.float64)


def _common_shape(call, fields):
    try:
        return np.broadcast_shapes(*(value.shape for value in fields.values()))
    except ValueError:
        shapes = ", ".join(f"{name}: {value.shape}" for name, value in fields.items())
        raise InvalidInput(
            f"The array parameters of {call.caller} must have shapes that broadcast together. Got {shapes} instead."
        ) from None


def _check_numbers(call, single):
    for name, value in single.items():
        if name in call.ranges and not call.ranges[name][0] <= value <= call.ranges[name][1]:
            raise InvalidInput(f"{_expected(call, name)} Got {value!r} instead.")


def _expected(call, name):
    low, high, unit = call.ranges[name]
    return f"The '{name}' parameter of {call.caller} must be within {low:g} to {high:g}{f' {unit}' if unit else ''}."


def _on_host(session, call, dtype, single, fields, shape):
    """The loss of a map in NumPy arrays, chunk by chunk where it is larger than one allocation."""
    flat = {
        name: np.ascontiguousarray(np.broadcast_to(value, shape), _stored(name, dtype)).reshape(-1)
        for name, value in fields.items()
    }
    out = np.empty(math.prod(shape), dtype)
    on_cpu = session.profile.is_cpu
    for start, count in chunk_bounds(session.profile, len(out), dtype.itemsize):
        part = out[start : start + count]
        buffers = {
            name: to_device(session, values[start : start + count], caller=call.caller).chunks[0].buffer
            for name, values in flat.items()
        }
        losses = in_place(session, part) if on_cpu else allocate(session, part.nbytes)
        poison = _launch(session, call, dtype, single, fields, count, {**buffers, "losses": losses})
        if poison:
            _refuse(call, flat, poison, shape)
        if on_cpu:
            show_host(session, losses, part)
        else:
            part[:] = read(session, losses, dtype, count)
    return out.reshape(shape)


def _on_device(session, call, dtype, single, fields, shape):
    """The loss of a map on the device, as an array on the device."""
    count, buffers = math.prod(shape), {}
    for name, value in fields.items():
        stored = _stored(name, dtype)
        if is_device_array(value):
            if value.shape != shape:
                raise InvalidInput(
                    f"The '{name}' parameter of {call.caller} must have the whole map's shape {shape} when it is on a "
                    f"device. Got {value.shape} instead."
                )
            value = native_array(session, value, caller=call.caller, name=name).with_queue(session.queue)
            if value.dtype != stored:
                with failures(session.device, "convert an array"):
                    value = value.astype(stored)
            value = as_device_values(session, value.reshape(-1), caller=call.caller, name=name, types=[stored])
        else:
            flat = np.ascontiguousarray(np.broadcast_to(value, shape), stored).reshape(-1)
            value = to_device(session, flat, caller=call.caller)
        if len(value.chunks) > 1:
            raise InvalidInput(f"The '{name}' parameter of {call.caller} is larger than one allocation of the device.")
        buffers[name] = value.chunks[0].buffer if count else None
    out = new_array(session, shape, dtype)
    if count:
        buffers["losses"] = out.base_data
        poison = _launch(session, call, dtype, single, fields, count, buffers)
        if poison:
            found = {
                name: np.broadcast_to(fetched(value) if is_device_array(value) else value, shape)
                for name, value in fields.items()
            }
            _refuse(call, found, poison, shape)
    return out


def _stored(name, dtype):
    return np.dtype(np.uint8) if name == "line_of_sight" else dtype


def _launch(session, call, dtype, single, fields, count, buffers):
    """Run the kernel. Return a bit for each parameter with a cell out of range."""
    plan, poison = path_loss_plan(session.profile, call, dtype, single, tuple(fields), count)
    buffers["poison"] = allocate(session, 4)
    fill(session, buffers["poison"], np.uint32(0), 1)
    result = run(session, plan, **buffers)
    return int(result.read(poison)[0]) if call.outside == "raise" else 0


def _refuse(call, fields, poison, shape):
    """Raise the error for the first cell out of range, of the first parameter that has one."""
    name = next(name for bit, name in enumerate(MODELS[call.model]) if poison >> bit & 1)
    low, high, _ = call.ranges[name]
    values = fields[name].reshape(-1)
    inside = (values >= values.dtype.type(low)) & (values <= values.dtype.type(high))
    first = int(np.argmin(inside))
    place = ", ".join(map(str, np.unravel_index(first, shape)))
    raise InvalidInput(
        f"{_expected(call, name)} Got {values[first]} at index [{place}] instead (outside='clip' takes the nearest "
        "value allowed, outside='nan' marks such cells)."
    )


def path_loss_plan(profile, call, dtype, single, fields, n):
    """One launch over `n` cells; `fields` names the parameters bound to buffers, `single` holds the others' values.

    Pure: needs no device.
    """
    real = np.dtype(dtype)

    def argument(name):
        if name in fields:
            return name
        return np.uint8(single[name]) if name == "line_of_sight" else real.type(single[name])

    ranges = tuple(
        (name, *(_literal(limit, real) for limit in limits[:2]))
        for name, limits in call.ranges.items()
        if name in fields
    )
    poison = Scratch("poison", np.uint32, 1)
    step = Step.over(
        profile,
        KERNEL,
        (*map(argument, MODELS[call.model]), np.uint64(n), "losses", poison),
        n,
        dtype=dtype,
        params={
            "model": call.model,
            "real": c_name(real),
            "fields": tuple(sorted(fields)),
            "ranges": ranges,
            "outside": call.outside,
            "city": call.city,
        },
        bytes_moved=n * (1 + len(fields)) * real.itemsize,
    )
    return Plan(step), poison


def _literal(value, real) -> str:
    """A limit as an exact OpenCL C literal, rounded to the type of the cells."""
    return f"{float(real.type(value)).hex()}{'f' if real == np.float32 else ''}"
