"""The parameters of an equation for many tables: one value for all, or one for each table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clgeom.arguments import wrong
from clgeom.dp.fills import no_parameter, some_values
from clgeom.dp.language.parameters import Parameter, require_given
from clgeom.errors import InvalidInput
from clgeom.intake.arrays import is_device_array
from clgeom.intake.letters import as_batch


@dataclass(frozen=True)
class Shared:
    """One value for all tables."""

    parameter: Parameter
    value: object

    def of(self, k):
        return self.value


@dataclass(frozen=True)
class Own:
    """A value for each table.

    Parameters
    ----------
    flat : ndarray
        All elements, one table's after another; of a number, one for each table.
    at : ndarray of int64, shape (tables + 1,), or None
        Where the elements of each table begin; None of a number.
    shapes : ndarray of int32, shape (tables, 2), or None
        Rows and columns, of two-dimensional parameters.
    """

    parameter: Parameter
    flat: np.ndarray
    at: np.ndarray | None = None
    shapes: np.ndarray | None = None

    def of(self, k):
        if self.at is None:
            return self.flat[k]
        own = self.flat[self.at[k] : self.at[k + 1]]
        return own if self.shapes is None else own.reshape(self.shapes[k])


def parameters_of(equation, given, offsets, *, caller) -> tuple[dict, int | None]:
    """The parameters by name as `Shared` or `Own`, and the number of tables that they tell, None if all are shared."""
    require_given(equation, given, caller=caller)
    for name in (*given, *offsets):
        if name not in equation.parameters:
            raise no_parameter(equation, name, None)
    found, count, first = {}, None, None
    for name, p in equation.parameters.items():
        found[name] = _one(equation, p, given[name], offsets.get(name), caller=caller)
        own = _count(found[name])
        if own is not None:
            if count not in (None, own):
                raise InvalidInput(
                    f"The parameters {first!r} and {name!r} of {caller} are for {count:,} and {own:,} tables."
                )
            count, first = own, name
    return found, count


def _count(found):
    if isinstance(found, Shared):
        return None
    return len(found.flat) if found.at is None else len(found.at) - 1


def _one(equation, p, value, offsets, *, caller):
    """A parameter as given: one value, one with offsets, a list of values; or an array of numbers for a number."""

    def checked(one, ndim=p.ndim):
        as_one = Parameter(p.name, p.dtype, ndim)
        return _checked(equation, as_one, one, caller=caller)

    if offsets is not None:
        if p.ndim != 1:
            raise InvalidInput(f"The 'offsets' of {caller} are for one-dimensional parameters, and {p.name!r} is {p}.")
        flat = checked(value)
        try:
            at = np.asarray(offsets)
        except (ValueError, TypeError):
            at = np.empty((0, 0))
        if at.ndim != 1 or at.dtype.kind not in "iu" or not len(at) or at[0] != 0 or at[-1] != len(flat):
            at = None
        if at is None or (at[1:] < at[:-1]).any():
            raise InvalidInput(
                f"The 'offsets' of {p.name!r} of {caller} must be integers that ascend from 0 to {len(flat):,}."
            )
        return Own(p, flat, at.astype(np.int64))
    if p.ndim == 0:
        return Shared(p, checked(value)) if np.ndim(value) == 0 else Own(p, checked(value, 1))
    if not _is_several(value, p):
        return Shared(p, checked(value))
    if p.ndim == 1 and p.dtype == np.uint8 and isinstance(value[0], (str, bytes, bytearray)):
        held = as_batch(list(value), p.name, caller=caller)
        if held.letters.size and held.letters.max() > (127 if isinstance(value[0], str) else 255):
            raise InvalidInput(f"The {p.name!r} parameter of {caller} must be text of ASCII, or bytes.")
        return Own(p, held.letters, held.offsets)
    at = next((k for k, one in enumerate(value) if is_device_array(one)), None)
    if at is not None:
        expected = "arrays on the host, or one on the device with offsets"
        raise wrong(p.name, caller, expected, f"an array on the device at index {at}")
    parts = [np.asarray(one) for one in value]
    bad = next((k for k, part in enumerate(parts) if part.ndim != p.ndim), None)
    if bad is not None:
        expected = f"{p.ndim} dimension{'s' * (p.ndim > 1)} for each table"
        raise wrong(p.name, caller, expected, f"shape {parts[bad].shape} for table {bad:,}", verb="have")
    at = np.append(0, np.cumsum([part.size for part in parts], dtype=np.int64))
    shapes = np.array([part.shape for part in parts], np.int32).reshape(-1, 2) if p.ndim == 2 else None
    full = [part.ravel() for part in parts if part.size]
    return Own(p, checked(np.concatenate(full) if full else np.empty(0, p.dtype), 1), at, shapes)


def _is_several(value, p) -> bool:
    """Whether a value is a list of arrays, one for each table."""
    if not isinstance(value, (list, tuple)) or is_device_array(value):
        return isinstance(value, np.ndarray) and value.ndim == p.ndim + 1
    if not len(value):
        return False
    first = value[0]
    return isinstance(first, (str, bytes, bytearray)) or np.ndim(first) == p.ndim


def _checked(equation, p, value, *, caller):
    """A value in the declared type, as `fill` takes it."""

    class One:
        name, parameters = equation.name, {p.name: p}

    return some_values(One, {p.name: value}, caller=caller)[p.name]


def in_kernel(parameters) -> tuple[str, str]:
    """OpenCL C of `batch_fill`: the arguments that are declared, and the values of one table from them."""
    declared, located = [], []
    for name, found in parameters.items():
        p, kind = found.parameter, found.parameter.c_type
        sizes = ((), (f"dp_{name}_size",), (f"dp_{name}_rows", f"dp_{name}_columns"))[p.ndim]
        if isinstance(found, Shared):
            declared.append(f"global const {kind} *restrict dp_{name}" if p.ndim else f"const {kind} dp_{name}")
            declared += [f"const int {size}" for size in sizes]
            continue
        declared.append(f"global const {kind} *restrict dp_all_{name}")
        if p.ndim == 0:
            located.append(f"const {kind} dp_{name} = dp_all_{name}[t];")
            continue
        declared.append(f"global const ulong *dp_at_{name}")
        located.append(f"global const {kind} *restrict dp_{name} = dp_all_{name} + dp_at_{name}[t];")
        if p.ndim == 1:
            located.append(f"const int {sizes[0]} = (int)(dp_at_{name}[t + 1] - dp_at_{name}[t]);")
        else:
            declared.append(f"global const int2 *dp_shapes_{name}")
            located += [f"const int {size} = dp_shapes_{name}[t].{axis};" for size, axis in zip(sizes, "xy")]
    return "".join(f", {one}" for one in declared), " ".join(located)


def bound(parameters, first, stop, buffer_of) -> tuple[tuple, dict]:
    """Arguments of the kernel for the tables first .. stop - 1, in the order of `in_kernel`, and their buffers."""
    arguments, buffers = [], {}

    def take(name, values):
        buffers[name] = buffer_of(values if values.size else np.zeros(2, values.dtype))
        arguments.append(name)

    for name, found in parameters.items():
        p = found.parameter
        if isinstance(found, Shared):
            if p.ndim == 0:
                arguments.append(found.value)
                continue
            take(f"dp_{name}", found.value.ravel())
            arguments += map(np.int32, found.value.shape)
        elif p.ndim == 0:
            take(f"dp_all_{name}", found.flat[first:stop])
        else:
            begin, end = found.at[first], found.at[stop]
            take(f"dp_all_{name}", found.flat[begin:end])
            take(f"dp_at_{name}", (found.at[first : stop + 1] - begin).astype(np.uint64))
            if p.ndim == 2:
                take(f"dp_shapes_{name}", found.shapes[first:stop].ravel())
    return tuple(arguments), buffers
