"""Sorts along an axis: the rows of keys of several dimensions are segments of one length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.launch import run
from clgeom.intake.device_arrays import buffer_of, changed, is_device_array, native_array
from clgeom.intake.dispatch import choose_sessions
from clgeom.sorting.arrays import SortInput, host_array, store_anywhere
from clgeom.sorting.keys import flat, require_same_place
from clgeom.sorting.radix.host import host_may_sort
from clgeom.sorting.radix.host_rows import rows_on_host
from clgeom.sorting.radix.segments import within_rows_plan
from clgeom.sorting.radix.work import sort_arrays

if TYPE_CHECKING:
    from clgeom.core.call import Call
    from clgeom.core.device import Session


def sort_rows(
    call: Call, keys: Any, axis: int | None, out: Any, index_type: Any, *, offsets: Any, device: Any, **options: Any
) -> Any:
    """Return the result of `sort` or `argsort` along an axis, None for the flat keys."""
    _choose_session(call, keys, offsets, device)
    session = call.session
    if axis is None:
        axis, keys = 0, flat(session, keys, caller=call.caller)
    last = keys.ndim - 1
    rows = move_axis(session, keys, axis, last, call.caller)
    bounds = _bounds(rows)
    inputs = SortInput(call, rows.reshape(keys.size), offsets=bounds, index_type=index_type, **options)
    if out is not None:
        inputs.check_out(out, inputs.payload_type or inputs.order.dtype, keys.shape, "out")
    with call:
        result = rows_on_host(inputs, sort_arrays) if host_may_sort() and not inputs.on_device else None
        if result is None:
            sorted_keys, indices = sort_arrays(inputs)
            result = sorted_keys if indices is None else _within_rows(session, indices, bounds, rows.shape[-1])
        elif inputs.payload_type is not None:
            result = result.astype(inputs.payload_type, copy=False)
        return store_anywhere(session, out, move_axis(session, result.reshape(rows.shape), last, axis, call.caller))


def pairs_of_rows(
    call: Call, keys: Any, values: Any, axis: int | None, out: Any, *, offsets: Any, device: Any, **options: Any
) -> tuple[Any, Any]:
    """Return the results of `sort_by_key` along an axis, None for the flat keys."""
    _choose_session(call, keys, offsets, device)
    session, shape = call.session, keys.shape
    if out is not None:
        raise call.wrong("out", "None for keys of several dimensions", "arrays")
    require_same_place(values, "values", keys, "the keys are", caller=call.caller)
    if not is_device_array(values):
        values = host_array(values, "values", f"have the keys' shape, {shape}", caller=call.caller)
    if values.shape != shape:
        raise wrong("values", call.caller, f"the keys' shape, {shape}", values.shape, verb="have")
    pair = keys, values
    if axis is None:
        axis, pair = 0, tuple(flat(session, array, caller=call.caller) for array in pair)
    last = pair[0].ndim - 1
    rows, rest = (move_axis(session, array, axis, last, call.caller) for array in pair)
    inputs = SortInput(call, rows.reshape(rows.size), rest.reshape(rows.size), offsets=_bounds(rows), **options)
    with call:
        found = sort_arrays(inputs)
        first, second = (move_axis(session, array.reshape(rows.shape), last, axis, call.caller) for array in found)
    return first, second


def move_axis(session: Session, array: Any, source: int, target: int, caller: str) -> Any:
    """Return a contiguous array with one axis in another place, as ``numpy.moveaxis`` puts it."""
    axes = [axis for axis in range(array.ndim) if axis != source]
    axes.insert(target, source)
    array = array if source == target else array.transpose(axes)
    if is_device_array(array):
        return native_array(session, array, caller=caller, name="keys")
    return np.ascontiguousarray(array)


def _choose_session(call: Call, keys: Any, offsets: Any, device: Any) -> None:
    if offsets is not None:
        raise call.wrong("offsets", "None for keys of several dimensions", f"offsets for keys of shape {keys.shape}")
    choose_sessions(call, keys, device, shared=False)


def _bounds(rows: Any) -> np.ndarray:
    """Return the offsets of rows."""
    return np.arange(0, rows.size + 1, rows.shape[-1]) if rows.size else np.zeros(1, np.int64)


def _within_rows(session: Session, indices: Any, bounds: np.ndarray, length: int) -> Any:
    """Turn indices into the flat keys into indices into their rows, in place."""
    n = indices.size
    if not is_device_array(indices):
        rows = indices.reshape(-1, max(length, 1))
        rows -= bounds[:-1, None].astype(indices.dtype)
    elif n:
        plan = within_rows_plan(session.profile, "indices", n, length, indices.dtype)
        run(session, plan, indices=buffer_of(indices))
        changed(session, indices)
    return indices
