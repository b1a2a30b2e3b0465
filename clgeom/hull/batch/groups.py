"""Groups of points: by offsets, or by label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Scratch, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.errors import InvalidInput
from clgeom.hull.batch.result import picked_on_device
from clgeom.intake.arrays import as_device_values, c_name, host_values
from clgeom.intake.device_arrays import as_array, fetched, is_device_array, on_host
from clgeom.primitives.compact import compact
from clgeom.sorting.radix.sort import argsort

if TYPE_CHECKING:
    from clgeom.core.call import Call
    from clgeom.intake.labels import Labels
    from clgeom.intake.points import PointCloud
    from clgeom.intake.typing import CLArray, HostOrDevice

HEADS = "hull/batch/batch_heads"


def as_offsets(offsets: Any, n: int, *, caller: str, on_device: bool) -> HostOrDevice:
    """Checked offsets as int64; those of a device unchanged if they may stay `on_device`: kernels check them."""
    array = offsets
    if not is_device_array(offsets):
        array = host_values(offsets, caller=caller, name="offsets", expected="integers of shape (m + 1,)")
        if array.size == 0 and array.ndim == 1 and not isinstance(offsets, np.ndarray):
            array = array.astype(np.int64)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
        raise wrong("offsets", caller, "integers of shape (m + 1,)", f"{array.dtype} of shape {array.shape}")
    if on_device and is_device_array(array) and array.dtype.itemsize >= 4:
        return array
    return checked_offsets(on_host(array), n, caller=caller)


def checked_offsets(offsets: np.ndarray, n: int, *, caller: str) -> np.ndarray:
    """Host offsets as int64. Raises `InvalidInput` unless they start at 0, never descend and end at n."""
    if offsets.dtype == np.uint64 and (offsets > n).any():
        at = int(np.argmax(offsets > n))
    else:
        offsets = offsets.astype(np.int64, copy=False)
        descends = offsets[1:] < offsets[:-1]
        if offsets[0] == 0 and offsets[-1] == n and not descends.any():
            return offsets
        at = 0 if offsets[0] != 0 else int(np.argmax(descends)) + 1 if descends.any() else len(offsets) - 1
    value, before = int(offsets[at]), int(offsets[max(at - 1, 0)])
    if value < before:
        raise InvalidInput(
            f"The 'offsets' parameter of {caller} must never descend. Got {value} at [{at}] after {before}."
        )
    must = f"begin with 0 and end with the number of points, {n}"
    raise InvalidInput(f"The 'offsets' parameter of {caller} must {must}. Got {value} at [{at}] instead.")


def grouped(labels: Labels, cloud: PointCloud, call: Call) -> tuple[HostOrDevice | None, np.ndarray, Any]:
    """Return (order that sorts by label, None if the labels ascend; offsets; column of distinct labels)."""
    n, keys, sizes = len(cloud), labels.keys, cloud.sizes
    order: Any
    rows, what = (n, "points") if sizes is None else (len(sizes), "geometries")
    if len(keys) != rows:
        raise wrong("labels", call.caller, f"one label for each of the {rows} {what}", len(keys), verb="have")
    if sizes is not None:
        of_rows = on_host(keys)
        keys = np.repeat(of_rows, sizes)
    if is_device_array(keys) and is_device_array(cloud.source) and n:
        order, offsets, distinct = _grouped_on_device(keys, call)
    else:
        host, order = on_host(keys), None
        if n and not (host[1:] >= host[:-1]).all():  # NaN is in no order
            order = argsort(host, device=call.session)
            host = np.take(host, order)
        if sizes is None:
            begins = np.flatnonzero(np.concatenate([np.ones(min(n, 1), bool), host[1:] != host[:-1]]))
            distinct = host[begins]
        else:  # a label of empty geometries has no points
            distinct = np.unique(of_rows)
            begins = np.searchsorted(host, distinct)
        offsets = np.append(begins, n)
    absent = labels.is_absent(distinct)
    if absent.any():
        counts = np.diff(offsets)
        kept = np.repeat(~absent, counts)
        order = np.flatnonzero(kept) if order is None else on_host(order)[kept]
        offsets, distinct = np.append(0, np.cumsum(counts[~absent])), distinct[~absent]
    return order, offsets, labels.column_of(distinct)


def _grouped_on_device(labels: CLArray, call: Call) -> tuple[CLArray, np.ndarray, np.ndarray]:
    """(order, offsets, distinct labels) for points and labels on the device, with `order` on the device."""
    session, n = call.session, len(labels)
    order = argsort(labels, device=session)
    ordered = picked_on_device(session, labels, order, caller=call.caller)
    policy = select(session.profile, HEADS, labels.dtype, n)
    values = as_device_values(session, ordered, caller=call.caller)
    heads = Scratch("heads", np.uint8, n)
    params = {"value": c_name(labels.dtype)}
    moved = n * (1 + labels.dtype.itemsize)
    step = Step(HEADS, policy, ("values[0]", np.uint32(n), heads), ceil_div(n, policy.tile), params, moved)
    result = run(session, Plan(step), values=values)
    begins = compact(as_array(session, result[heads], n, np.uint8), device=session)
    distinct = picked_on_device(session, ordered, begins.astype(np.uint32), caller=call.caller)
    return order, np.append(begins, n), fetched(distinct)
