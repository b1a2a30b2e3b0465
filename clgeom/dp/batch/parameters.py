"""The parameters of an equation for many tables: one value for all, or one for each table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from clgeom.arguments import wrong
from clgeom.dp.fills import checked_value, no_parameter
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.parameters import GIVEN, Parameter, names_of, require_given
from clgeom.errors import InvalidInput
from clgeom.intake.device_arrays import is_device_array
from clgeom.intake.letters import as_batch
from clgeom.intake.typing import NDArray


@dataclass(frozen=True)
class Values:
    """The values of a parameter for all tables.

    `values`: One value for all tables, or the elements of all of them, one table's after another.
    `count`: The number of tables that these are for; None for one value.
    `at`: Where the elements of each table begin; None of a number. `shapes`: Rows and columns of two dimensions.
    """

    parameter: Parameter
    values: Any
    count: int | None = None
    at: NDArray[np.int64] | None = None
    shapes: NDArray[np.int32] | None = None

    def of(self, k: int) -> Any:
        """Return the value for a table."""
        if self.count is None:
            return self.values
        if self.at is None:
            return self.values[k]
        elements = self.values[self.at[k] : self.at[k + 1]]
        return elements if self.shapes is None else elements.reshape(self.shapes[k])


#: Parameters by name.
BatchParameters: TypeAlias = Mapping[str, Values]


def parameters_of(
    equation: Equation, arguments: Mapping[str, Any], offsets: Mapping[str, Any], *, caller: str
) -> tuple[dict[str, Values], int | None]:
    """Return the parameters by name, and the number of tables; None if each parameter has a value for all."""
    require_given(equation, arguments, caller=caller)
    for name in (*arguments, *offsets):
        if name not in equation.parameters:
            raise no_parameter(equation, name, None)
    values: dict[str, Values] = {}
    count, first_name = None, None
    for name, p in equation.parameters.items():
        values[name] = _parameter(p, arguments[name], offsets.get(name), caller=caller)
        tables = values[name].count
        if tables is not None:
            if count not in (None, tables):
                raise InvalidInput(
                    f"The parameters {first_name!r} and {name!r} of {caller} are for {count:,} and {tables:,} tables."
                )
            count, first_name = tables, name
    return values, count


def _parameter(p: Parameter, value: Any, offsets: Any, *, caller: str) -> Values:
    """Return a parameter: a value for all tables, an array with offsets, or a list (an array of numbers) by table."""

    def checked(value: Any, ndim: int = p.ndim) -> Any:
        return checked_value(Parameter(p.name, p.dtype, ndim), value, caller=caller)

    if offsets is not None:
        if p.ndim != 1:
            raise InvalidInput(f"The 'offsets' of {caller} are for one-dimensional parameters, and {p.name!r} is {p}.")
        flat = checked(value)
        try:
            begins = np.asarray(offsets)
        except (ValueError, TypeError):
            begins = np.empty((0, 0))
        are_integers = begins.ndim == 1 and begins.dtype.kind in "iu" and len(begins) > 0
        if not are_integers or begins[0] != 0 or begins[-1] != len(flat) or (begins[1:] < begins[:-1]).any():
            raise InvalidInput(
                f"The 'offsets' of {p.name!r} of {caller} must be integers that ascend from 0 to {len(flat):,}."
            )
        return Values(p, flat, len(begins) - 1, begins.astype(np.int64))
    if p.ndim == 0:
        values = checked(value, min(np.ndim(value), 1))
        return Values(p, values, len(values) if np.ndim(value) else None)
    if not _is_several(value, p):
        return Values(p, checked(value))
    if p.ndim == 1 and p.dtype == np.uint8 and isinstance(value[0], (str, bytes, bytearray)):
        texts = as_batch(list(value), p.name, caller=caller)
        if texts.letters.size and texts.letters.max() > (127 if isinstance(value[0], str) else 255):
            raise InvalidInput(f"The {p.name!r} parameter of {caller} must be text of ASCII, or bytes.")
        return Values(p, texts.letters, len(texts.offsets) - 1, texts.offsets)
    on_device = next((k for k, part in enumerate(value) if is_device_array(part)), None)
    if on_device is not None:
        expected = "arrays on the host, or one on the device with offsets"
        raise wrong(p.name, caller, expected, f"an array on the device at index {on_device}")
    parts = [np.asarray(part) for part in value]
    bad = next((k for k, part in enumerate(parts) if part.ndim != p.ndim), None)
    if bad is not None:
        expected = f"{p.ndim} dimension{'s' * (p.ndim > 1)} for each table"
        raise wrong(p.name, caller, expected, f"shape {parts[bad].shape} for table {bad:,}", verb="have")
    at = np.append(0, np.cumsum([part.size for part in parts], dtype=np.int64))
    shapes = np.array([part.shape for part in parts], np.int32).reshape(-1, 2) if p.ndim == 2 else None
    full = [part.ravel() for part in parts if part.size]
    flat = checked(np.concatenate(full) if full else np.empty(0, p.dtype), 1)
    return Values(p, flat, len(parts), at, shapes)


def _is_several(value: Any, p: Parameter) -> bool:
    """Return whether a value is a list of arrays, one for each table."""
    if not isinstance(value, (list, tuple)) or is_device_array(value):
        return isinstance(value, np.ndarray) and value.ndim == p.ndim + 1
    if not len(value):
        return False
    first = value[0]
    return isinstance(first, (str, bytes, bytearray)) or np.ndim(first) == p.ndim


def kernel_parameters(
    parameters: BatchParameters, first: int, stop: int, buffer_of: Callable[[NDArray[Any]], Any]
) -> tuple[str, str, tuple[Any, ...], dict[str, Any]]:
    """Return the parameters of `batch_fill` for the tables first .. stop - 1.

    In OpenCL C the arguments that it declares, and how it locates the values of table t; the arguments and buffers.
    """
    declared, located, arguments = list[str](), list[str](), list[Any]()
    buffers: dict[str, Any] = {}

    def take(name: str, pointer: str, elements: NDArray[Any]) -> None:
        declared.append(f"global const {pointer}{name}")
        buffers[name] = buffer_of(elements if elements.size else np.zeros(2, elements.dtype))
        arguments.append(name)

    for name, values in parameters.items():
        p, kind = values.parameter, values.parameter.c_type
        sizes = names_of(p, GIVEN)[1:]
        if values.count is None and p.ndim == 0:
            declared.append(f"const {kind} {GIVEN}{name}")
            arguments.append(values.values)
        elif values.count is None:
            take(f"{GIVEN}{name}", f"{kind} *restrict ", values.values.ravel())
            declared += [f"const int {size}" for size in sizes]
            arguments += map(np.int32, values.values.shape)
        elif values.at is None:
            take(f"dp_all_given_{name}", f"{kind} *restrict ", values.values[first:stop])
            located.append(f"const {kind} {GIVEN}{name} = dp_all_given_{name}[t];")
        else:
            begin, end = values.at[first], values.at[stop]
            take(f"dp_all_given_{name}", f"{kind} *restrict ", values.values[begin:end])
            take(f"dp_at_given_{name}", "ulong *", (values.at[first : stop + 1] - begin).astype(np.uint64))
            located.append(
                f"global const {kind} *restrict {GIVEN}{name} = dp_all_given_{name} + dp_at_given_{name}[t];"
            )
            if values.shapes is None:
                located.append(f"const int {sizes[0]} = (int)(dp_at_given_{name}[t + 1] - dp_at_given_{name}[t]);")
            else:
                take(f"dp_shapes_given_{name}", "int2 *", values.shapes[first:stop].ravel())
                located += [f"const int {size} = dp_shapes_given_{name}[t].{axis};" for size, axis in zip(sizes, "xy")]
    return "".join(f", {one}" for one in declared), " ".join(located), tuple(arguments), buffers
