"""Path loss of all cells of a map in one launch: from parameters, numbers or arrays, to the kernel and back.

Every parameter is one number for the map, or an array with one for each cell. One launch computes the loss and checks
the ranges. Arrays on the device are not copied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clgeom.arguments import boolean, number_type, one_of, unmasked, wrong
from clgeom.core.device import Session
from clgeom.core.failures import failures
from clgeom.core.host_memory import in_place, show_host
from clgeom.core.launch import allocate, fill, read, run
from clgeom.core.plan import Plan, Step
from clgeom.errors import InputWarning, InvalidInput, warn
from clgeom.geo.geodesy import shown
from clgeom.intake.arrays import as_device_values, c_name, chunk_bounds, session_of, to_device
from clgeom.intake.device_arrays import is_device_array, native_array, new_array, on_host
from clgeom.intake.interop.objects import values_of
from clgeom.intake.typing import DeviceLike, DTypeLike, NDArray

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
PARAMETERS = {
    "free_space": LINK[:2],
    "two_ray": LINK,
    "interference": (*LINK, "reflection"),
    "line_of_sight": LINK,
    "walfisch_ikegami": (*LINK, *STREET),
    "okumura_hata": LINK,
    "cost231_hata": LINK,
    "urban_macro": (*LINK, "line_of_sight"),
    "urban_micro": (*LINK, "line_of_sight"),
    "rural_macro": (*LINK, "roof_height", "street_width", "line_of_sight"),
}


@dataclass(frozen=True)
class LossModel:
    """The options of a public function: the kernel's model, the ranges of its parameters, the rule beyond them."""

    caller: str
    model: str
    ranges: dict[str, tuple[float, float, str]]
    outside: str
    dtype: DTypeLike | None
    city: str = "medium"
    area: str = "urban"
    strict: bool = True
    warnings: dict[str, str] = field(default_factory=dict, compare=False)  # the first message of each kind

    @property
    def continues(self) -> bool:
        """Whether the loss of a cell nearer than the model's range continues into free space."""
        return self.outside == "raise" and self.ranges["distance"][0] > LEAST_KM

    def lowest(self, name: str) -> float:
        """Return the lowest value of a parameter that is not refused."""
        return 0.0 if name == "distance" and self.continues else self.ranges[name][0]

    def refuse(self, name: str, got: str) -> None:
        """Refuse a value out of the model's range, or warn of it with strict=False."""
        message = f"{self._expected(name)} Got {got}."
        if self.strict:
            raise InvalidInput(message)
        self.warnings.setdefault("range", message)

    def warn_near(self, got: str) -> None:
        message = f"{self._expected('distance')} Got {got}: nearer than that the loss continues into free space."
        self.warnings.setdefault("near", message)

    def _expected(self, name: str) -> str:
        low, high, unit = self.ranges[name]
        within = f"{low:g}" if low == high else f"within {low:g} to {high:g}"
        return f"The '{name}' parameter of {self.caller} must be {within}{f' {unit}' if unit else ''}."


@dataclass(frozen=True)
class _Job:
    """A map to compute, with the parameters that are single numbers and those that are arrays of a common shape."""

    session: Session
    call: LossModel
    dtype: np.dtype[Any]
    single: dict[str, Any]
    fields: dict[str, Any]
    shape: tuple[int, ...]


def link_parameters(distance: Any, frequency: Any, base_height: Any, mobile_height: Any) -> dict[str, Any]:
    """Name the parameters that nearly all models have."""
    return dict(zip(LINK, (distance, frequency, base_height, mobile_height)))


def losses(call: LossModel, values: dict[str, Any], device: DeviceLike) -> Any:
    """Return the loss for the parameters of a public function, with at most one warning."""
    loss = compute_losses(call, values, device)
    if call.warnings:
        warn(" ".join(call.warnings.values()), InputWarning)
    return loss


def compute_losses(call: LossModel, values: dict[str, Any], device: DeviceLike) -> Any:
    """Return the loss as `losses` does, and leave the warnings in `call`."""
    if not boolean(call.strict, "strict", caller=call.caller) and call.outside != "raise":
        raise InvalidInput(
            f"The parameters 'outside' and 'strict' of {call.caller} do not go together: strict=False computes what is "
            "out of range by the formula."
        )
    one_of(call.outside, OUTSIDE, "outside", caller=call.caller)
    on_device = next((value for value in values.values() if is_device_array(value)), None)
    session = session_of(on_device, device)
    single, fields = _split(call, values)
    dtype = _common_type(call, fields)
    if dtype == np.float64:
        session.profile.require_fp64(call.caller)
    _check_numbers(call, single)
    if not fields:  # one number is a map of one cell
        fields = {"distance": np.array([single.pop("distance")])}
        return float(_compute_map(_Job(session, call, dtype, single, fields, (1,)), False)[0])
    job = _Job(session, call, dtype, single, fields, _common_shape(call, fields))
    return _compute_map(job, on_device is not None)


def _split(call: LossModel, values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide parameters into single numbers and arrays."""
    single: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if is_device_array(value):
            fields[name] = value
            continue
        masked = np.ma.is_masked(value)
        value = values_of(value, caller=call.caller, name=name)
        try:
            array = np.ma.getdata(value) if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
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


def _common_type(call: LossModel, fields: dict[str, Any]) -> np.dtype[Any]:
    if call.dtype is not None:
        return number_type(call.dtype, TYPES, "dtype", caller=call.caller)
    types = [value.dtype for name, value in fields.items() if name != "line_of_sight"]
    single = types and all(t.kind == "f" and t.itemsize <= 4 for t in types)
    return np.dtype(np.float32 if single else np.float64)


def _common_shape(call: LossModel, fields: dict[str, Any]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(value.shape for value in fields.values()))
    except ValueError:
        shapes = ", ".join(f"{name}: {value.shape}" for name, value in fields.items())
        raise InvalidInput(
            f"The array parameters of {call.caller} must have shapes that broadcast together. Got {shapes} instead."
        ) from None


def _check_numbers(call: LossModel, single: dict[str, Any]) -> None:
    for name, value in single.items():
        if name in call.ranges and not call.lowest(name) <= value <= call.ranges[name][1]:
            call.refuse(name, f"{value!r} instead")
    if call.continues and single.get("distance", math.inf) < call.ranges["distance"][0]:
        call.warn_near(repr(single["distance"]))


def _compute_map(job: _Job, on_device: bool) -> Any:
    """Compute a map: on the device if an array is there, else chunk by chunk where it is larger than one allocation."""
    session, shape, dtype = job.session, job.shape, job.dtype
    count, in_memory = math.prod(shape), session.profile.is_cpu and not on_device
    out: Any = new_array(session, shape, dtype) if on_device else np.empty(count, dtype)
    fields = {name: _cell_values(job, name, value) for name, value in job.fields.items()}
    parts = chunk_bounds(session.profile, count, dtype.itemsize)
    if on_device and count:
        parts = [(0, count)]
    for start, n in parts:
        buffers: dict[str, Any] = {}
        for name, values in fields.items():
            if isinstance(values, np.ndarray):
                values = to_device(session, values[start : start + n], caller=job.call.caller)
            buffers[name] = values.one_buffer(f"The '{name}' parameter of {job.call.caller}")
        part: Any = None if on_device else out[start : start + n]
        if on_device:
            losses: Any = out.base_data
        else:
            losses = in_place(session, part) if in_memory else allocate(session, part.nbytes)
        if poison := _launch(job, n, {**buffers, "losses": losses}):
            _refuse_or_warn(job, poison)
        if in_memory:
            show_host(session, losses, part)
        elif not on_device:
            part[:] = read(session, losses, dtype, n)
    return out if on_device else out.reshape(shape)


def _cell_values(job: _Job, name: str, value: Any) -> Any:
    """Return the value of each cell, in the type that the kernel takes: an array on the host, or a DeviceArray."""
    stored, caller = _storage_type(name, job.dtype), job.call.caller
    if not is_device_array(value):
        return np.ascontiguousarray(np.broadcast_to(value, job.shape), stored).reshape(-1)
    if value.shape != job.shape:
        raise wrong(name, caller, f"the whole map's shape {job.shape} when it is on a device", value.shape, verb="have")
    value = as_type(job.session, value, stored, name, caller)
    return as_device_values(job.session, value.reshape(-1), caller=caller, name=name, types=[stored])


def as_type(session: Session, array: Any, dtype: np.dtype[Any], name: str, caller: str) -> Any:
    """Convert an array on the device, unless it has the type."""
    array = native_array(session, array, caller=caller, name=name).with_queue(session.queue)
    if array.dtype == dtype:
        return array
    with failures(session.device, "convert an array"):
        return array.astype(dtype)


def _storage_type(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.uint8) if name == "line_of_sight" else dtype


def _refuse_or_warn(job: _Job, poison: int) -> None:
    """Refuse the first cell out of range of the first such parameter, and warn of the first cell that is too near."""
    call = job.call

    def values_of_cells(name: str) -> NDArray[Any]:
        values: NDArray[Any] = _cell_values(job, name, on_host(job.fields[name]))
        return values

    def first_of(values: NDArray[Any], bad: NDArray[np.bool_]) -> str:
        index = int(np.argmax(bad))
        return f"{values[index]} at index [{', '.join(map(str, np.unravel_index(index, job.shape)))}]"

    if poison & ~NEAR:
        name = next(name for bit, name in enumerate(PARAMETERS[call.model]) if poison >> bit & 1)
        values = values_of_cells(name)
        low, high = map(values.dtype.type, (call.lowest(name), call.ranges[name][1]))
        got = first_of(values, ~((values >= low) & (values <= high)))
        remedy = " (outside='clip' takes the nearest value allowed, outside='nan' marks such cells)"
        call.refuse(name, f"{got} instead{remedy if call.strict else ''}")
    if poison & NEAR and "distance" in job.fields:
        values = values_of_cells("distance")
        call.warn_near(first_of(values, values < values.dtype.type(call.ranges["distance"][0])))


def _launch(job: _Job, n: int, buffers: dict[str, Any]) -> int:
    """Run the kernel over `n` cells. Return a bit for each parameter with a cell out of range, and `NEAR`."""
    session, call, dtype, single, fields = job.session, job.call, job.dtype, job.single, job.fields

    def argument(name: str) -> Any:
        return name if name in fields else _storage_type(name, dtype).type(single[name])

    ranges = tuple(
        (name, _literal(call.lowest(name), dtype), _literal(limits[1], dtype))
        for name, limits in call.ranges.items()
        if name in fields
    )
    low = call.ranges["distance"][0]
    near = call.continues and ("distance" in fields or dtype.type(single["distance"]) < dtype.type(low))
    poison = allocate(session, 4)
    fill(session, poison, np.uint32(0), 1)
    step = Step.over(
        session.profile,
        KERNEL,
        (*map(argument, PARAMETERS[call.model]), np.uint64(n), "losses", "poison"),
        n,
        dtype=dtype,
        params={
            "model": call.model,
            "real": c_name(dtype),
            "fields": tuple(sorted(fields)),
            "ranges": ranges,
            "outside": call.outside,
            "near": _literal(low, dtype) if near else "",
            "city": call.city,
            "area": call.area,
        },
        bytes_moved=n * (1 + len(fields)) * dtype.itemsize,
    )
    run(session, Plan(step), **buffers, poison=poison)
    return int(read(session, poison, np.uint32, 1)[0]) if call.outside == "raise" else 0


def _literal(value: float, dtype: np.dtype[Any]) -> str:
    """Return a limit as an exact OpenCL C literal, rounded to the type of the cells."""
    return f"{float(dtype.type(value)).hex()}{'f' if dtype == np.float32 else ''}"
