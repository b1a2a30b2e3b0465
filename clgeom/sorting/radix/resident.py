"""Sorts of keys that lie on the device as kernels read them, by plans that are cached.

The usual call of a program whose data stays on the device. No `SortInput` is made, which takes the host longer than the
launches of few keys; all other calls go by `clgeom.sorting.radix.work`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import allocate, run, write
from clgeom.core.plan import Plan, Scratch
from clgeom.intake.device_arrays import as_array, complete, in_buffer, let_change, require_memory
from clgeom.sorting.keys import INDEX_TYPES, KEY_TYPES, MOST_KEYS, KeyOrder, unsigned
from clgeom.sorting.radix.passes import SortMemory
from clgeom.sorting.radix.segments import segment_capacity, segments_plan, within_rows_plan
from clgeom.sorting.radix.work import features_of, plan_key

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session

#: Most rows whose offsets stay on the device, and most plans with such offsets.
MOST_ROWS, MOST_ROW_PLANS = 1 << 20, 8
#: Type of indices on the device.
INDEX = INDEX_TYPES[True]


def sort_by_cached_plan(caller: str, keys: Any, descending: bool, session: Session) -> Any:
    """Return the result for contiguous keys on the device if the session has a cached plan for them, else None.

    The plan is that of an earlier sort of as many such keys.
    """
    contiguous = keys.ndim == 1 and not keys.offset and keys.strides == (keys.dtype.itemsize,) and in_buffer(keys)
    if not contiguous or type(descending) is not bool:
        return None
    name, dtype = "keys_out", keys.dtype
    types: tuple[Any, ...] = (None, unsigned(dtype), None)
    if caller == "argsort":
        name, dtype, types = "payload_out", INDEX, ("index", None, INDEX)
    key = plan_key(features_of(session), keys.shape[0], keys.dtype, descending, None, types)
    plan = session.known(key, policies=True)
    if plan is None:
        return None
    require_memory(session, keys, caller=caller, name="keys")
    complete(session, keys)
    buffer = allocate(session, keys.shape[0] * dtype.itemsize)
    last = run(session, plan, **{"keys[0]": keys.base_data, name: buffer}).event
    let_change(session, (keys,))
    return as_array(session, buffer, keys.shape, dtype, queue=keys.queue, wait=False, after=last)


def sort_rows_by_cached_plan(caller: str, keys: Any, descending: bool, session: Session) -> Any:
    """Return the result for rows of contiguous keys on the device that local memory holds; None for all others.

    The offsets of the rows stay on the device, with the plan.
    """
    dtype, shape = keys.dtype, keys.shape
    plain = type(descending) is bool and dtype in KEY_TYPES and dtype.isnative and in_buffer(keys) and not keys.offset
    if not plain or not 0 < keys.size <= MOST_KEYS or not keys.flags.c_contiguous:
        return None
    require_memory(session, keys, caller=caller, name="keys")
    n, length, profile, index = keys.size, shape[-1], session.profile, caller == "argsort"
    if n // length > MOST_ROWS:
        return None

    def make() -> tuple[Plan, cl.Buffer] | None:
        order = KeyOrder(dtype, descending)
        if length > segment_capacity(profile, dtype):
            return None
        given, out = Scratch("keys[0]", order.storage, n), Scratch("out", INDEX if index else order.storage, n)
        memory = SortMemory(given, order, *(("index", None, out) if index else (None, out)))
        plan = segments_plan(profile, memory, segments=n // length, longest=length)
        if index:
            plan += within_rows_plan(profile, "out", n, length, INDEX)
        offsets = allocate(session, 4 * (n // length + 1))
        write(session, offsets, np.arange(0, n + 1, length, dtype=np.uint32))
        return plan.kept(), offsets

    key = "plans of rows", caller, n, length, dtype, descending
    found = session.cached(key, make, most=MOST_ROW_PLANS, policies=True)
    if found is None:
        return None
    plan, offsets = found
    dtype = INDEX if index else dtype
    complete(session, keys)
    buffer = allocate(session, n * dtype.itemsize)
    memory: dict[str, Any] = {"keys[0]": keys.base_data, "offsets[0]": offsets, "out": buffer}
    last = run(session, plan, **memory).event
    let_change(session, (keys,))
    return as_array(session, buffer, shape, dtype, queue=keys.queue, wait=False, after=last)
