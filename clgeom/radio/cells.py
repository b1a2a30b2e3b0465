"""Path loss of all cells of a map in one launch: from parameters, numbers or arrays, to the kernel and back.

Every parameter is one number for the map, or an array with one for each cell. One launch computes the loss and checks
the ranges. Arrays on the device are not copied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from clgeom.arguments import boolean, number_type, one_of, unmasked, wrong
from clgeom.core.failures import failures
from clgeom.core.host_memory import in_place, show_host
from clgeom.core.launch import allocate, fill, read, run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.errors import InputWarning, InvalidInput, warn
from clgeom.geo.geodesy import shown
from clgeom.intake.arrays import (
    as_device_values,
    c_name,
    chunk_bounds,
    is_device_array,
    session_of,
    to_device,
)
from clgeom.intake.cl_arrays import new_array
from clgeom.intake.device_arrays import fetched, native_array
from clgeom.intake.interop.objects import values_of

KERNEL = "radio/path_loss"
TYPES = np.dtype(np.float32), np.dtype(np.float64)
OUTSIDE = ("raise", "clip", "nan")
#: Least distance along the ground in km. A cell that holds the base station has this distance.
LEAST_KM = 1e-3

#: The bit of the kernel for a cell nearer than the model's range.
NEAR = 1 << 31
#: The kernel's parameters for each model, in its order.
LINK = ("distance", "frequency", "base_height", "mobile_height")
STREET = ("roof_height", "street_width", "separation", "orientation", "line_of_sight")
MODELS = {
    "free_space": LINK[:2],
    "two_ray": LINK,
    "interference": (*LINK, "reflection"),
    "line_of_sight": LINK,
    "walfisch_ikegami": (*LINK, *STREET),
    "okumura_hata": LINK,
    "cost231_hata": LINK,
    "urban_macro": (*LINK, "line_of_sight"),
    "urban_micro": (*LINK, "line_of_sight"),
}


@dataclass(frozen=True)
class LossModel:
    """A model of path loss for a public function: the kernel's model, the ranges, and what to do beyond them."""

    caller: str
    model: str
    ranges: dict
    outside: str
    dtype: object
    city: str = "medium"
    area: str = "urban"
    strict: bool = True
    warnings: dict = field(default_factory=dict, compare=False)  # the first message of each kind

    @property
    def continues(self) -> bool:
        """Whether the loss of a cell nearer than the model's range continues into free space."""
        return self.outside == "raise" and self.ranges["distance"][0] > LEAST_KM


def losses(call, given, device):
    """The loss for the parameters of a public function, of the type that its docstring says; at most one warning."""
    found = computed_losses(call, given, device)
    if call.warnings:
        warn(" ".join(call.warnings.values()), InputWarning)
    return found


def computed_losses(call, given, device):
    """The same, with the warnings left in the call."""
    if not boolean(call.strict, "strict", caller=call.caller):
        if call.outside != "raise":
            raise InvalidInput(
                f"The parameters 'outside' and 'strict' of {call.caller} do not go together: strict=False computes "
                "what is out of range by the formula."
            )
    one_of(call.outside, OUTSIDE, "outside", caller=call.caller)
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
            raise wrong(name, call.caller, wanted, shown(value))
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
        return number_type(call.dtype, TYPES, "dtype", caller=call.caller)
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
        if name in call.ranges and not _lowest(call, name) <= value <= call.ranges[name][1]:
            _out_of_range(call, f"{_expected(call, name)} Got {value!r} instead.")
    if call.continues and single.get("distance", math.inf) < call.ranges["distance"][0]:
        _warn_near(call, repr(single["distance"]))


def _lowest(call, name):
    """The lowest value of a parameter that is not refused."""
    return 0.0 if name == "distance" and call.continues else call.ranges[name][0]


def _out_of_range(call, message):
    """Refuse what is out of a model's range, or warn with strict=False."""
    if call.strict:
        raise InvalidInput(message)
    call.warnings.setdefault("range", message)


def _warn_near(call, got):
    message = f"{_expected(call, 'distance')} Got {got}: nearer than that the loss continues into free space."
    call.warnings.setdefault("near", message)


def _expected(call, name):
    low, high, unit = call.ranges[name]
    within = f"{low:g}" if low == high else f"within {low:g} to {high:g}"
    return f"The '{name}' parameter of {call.caller} must be {within}{f' {unit}' if unit else ''}."


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
            _judge(call, flat, poison, shape)
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
                raise wrong(
                    name, call.caller, f"the whole map's shape {shape} when it is on a device", value.shape, verb="have"
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
            _judge(call, found, poison, shape)
    return out


def _stored(name, dtype):
    return np.dtype(np.uint8) if name == "line_of_sight" else dtype


def _launch(session, call, dtype, single, fields, count, buffers):
    """Run the kernel. Return a bit for each parameter with a cell out of range, and `NEAR`."""
    plan, poison = path_loss_plan(session.profile, call, dtype, single, tuple(fields), count)
    buffers["poison"] = allocate(session, 4)
    fill(session, buffers["poison"], np.uint32(0), 1)
    result = run(session, plan, **buffers)
    return int(result.read(poison)[0]) if call.outside == "raise" else 0


def _judge(call, fields, poison, shape):
    """Refuse the first cell out of range, of the first parameter that has one; else warn of the first near one."""

    def first_of(name, bad):
        index = int(np.argmax(bad))
        place = ", ".join(map(str, np.unravel_index(index, shape)))
        return f"{fields[name].reshape(-1)[index]} at index [{place}]"

    if poison & ~NEAR:
        name = next(name for bit, name in enumerate(MODELS[call.model]) if poison >> bit & 1)
        values = fields[name].reshape(-1)
        low, high = map(values.dtype.type, (_lowest(call, name), call.ranges[name][1]))
        got = first_of(name, ~((values >= low) & (values <= high)))
        remedy = " (outside='clip' takes the nearest value allowed, outside='nan' marks such cells)"
        _out_of_range(call, f"{_expected(call, name)} Got {got} instead{remedy if call.strict else ''}.")
    if poison & NEAR and "distance" in fields:
        values = fields["distance"].reshape(-1)
        _warn_near(call, first_of("distance", values < values.dtype.type(call.ranges["distance"][0])))


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
        (name, _literal(_lowest(call, name), real), _literal(limits[1], real))
        for name, limits in call.ranges.items()
        if name in fields
    )
    low = call.ranges["distance"][0]
    near = call.continues and ("distance" in fields or real.type(single["distance"]) < real.type(low))
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
            "near": _literal(low, real) if near else "",
            "city": call.city,
            "area": call.area,
        },
        bytes_moved=n * (1 + len(fields)) * real.itemsize,
    )
    return Plan(step), poison


def _literal(value, real) -> str:
    """A limit as an exact OpenCL C literal, rounded to the type of the cells."""
    return f"{float(real.type(value)).hex()}{'f' if real == np.float32 else ''}"
