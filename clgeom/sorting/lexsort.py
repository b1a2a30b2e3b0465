"""Indices that sort by several keys: `lexsort`, one stable sort for each key, the most significant one last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.intake.arrays import host_values, session_of
from clgeom.intake.device_arrays import converted, fetched, is_device_array, to_array, within_memory
from clgeom.intake.interop.cuda import takes_like_cuda
from clgeom.intake.typing import AnyArray, DeviceLike, DTypeLike, IntLike
from clgeom.sorting.arrays import as_key_array
from clgeom.sorting.keys import checked_axis, index_dtype, is_left_to_numpy, order_by_numpy
from clgeom.sorting.radix.sort import argsort, sort_by_key
from clgeom.sorting.take import take_rows

#: Bytes of memory for each key beside the keys themselves, at most.
BYTES_A_KEY = 64


@keeps_subnormals
@takes_like_cuda
def lexsort(
    keys: Sequence[AnyArray] | AnyArray,
    axis: IntLike = -1,
    *,
    index_type: DTypeLike | None = None,
    device: DeviceLike = None,
) -> Any:
    """Return the indices that sort by several keys, the last one first, as ``numpy.lexsort(keys)`` has them.

    Parameters
    ----------
    keys : sequence of array_like or of pyopencl.array.Array, each of shape (n,)
        One or more, all on the host or all on the device, of types that `sort` takes. The last one is the most
        significant. The rows of an array of two dimensions are keys, too. Types that only NumPy orders, as in `sort`,
        go to ``numpy.lexsort``.
    axis : int
        As in ``numpy.lexsort``: -1 or 0 for keys of one dimension.
    index_type : data-type, optional
        int64 or uint32: by default int64 on the host, uint32 on the device.
    device : optional
        As in `sort`.

    Returns
    -------
    ndarray or pyopencl.array.Array, shape (n,)
        Equal entries stay in input order.

    Raises
    ------
    InvalidInput
        For no keys, keys of different lengths, in different places, or of another type.

    See Also
    --------
    argsort : One key.
    numpy.lexsort : The same on the host.

    Examples
    --------
    >>> import clgeom
    >>> surnames, names = [2, 1, 2, 1], [7, 9, 5, 8]
    >>> clgeom.lexsort([names, surnames]).tolist()
    [3, 1, 2, 0]
    """
    caller = "lexsort"
    keys = _checked_keys(keys)
    checked_axis(axis, keys[0], caller=caller)
    if any(map(is_left_to_numpy, keys)):
        order = order_by_numpy(np.lexsort, keys, caller=caller)
        return order.astype(index_dtype(index_type, False, caller=caller), copy=False)
    there = is_device_array(keys[0])
    number = index_dtype(index_type, there, caller=caller)
    session, n = session_of(keys[0], device), len(keys[0])
    widest = max(key.dtype.itemsize for key in keys)
    fits = n * 8 <= session.profile.max_alloc_bytes and n * (widest + BYTES_A_KEY) <= session.profile.global_mem_bytes
    moves = not there and not session.profile.is_cpu and n > 0 and fits
    if moves:
        keys = [to_array(session, key) for key in keys]
    narrow = is_device_array(keys[0]) or fits
    order = argsort(keys[0], index_type="uint32" if len(keys) > 1 and narrow else number, device=session)
    for at, key in enumerate(keys[1:], 2):
        if is_device_array(key):
            ordered = take_rows(session, key, order, n, ())
        else:
            ordered = key[order]
        last = at == len(keys)
        order = sort_by_key(ordered, order, device=session)[1]
        if last:
            order = converted(session, order, number)
    return fetched(order) if moves else order


def _checked_keys(keys: Any) -> list[Any]:
    """Return the keys as arrays in one dimension and of one length."""
    caller = "lexsort"
    if not isinstance(keys, (tuple, list)):
        there = is_device_array(keys)
        keys = keys if there else host_values(keys, caller=caller, name="keys")
        if keys.ndim != 2:
            raise wrong("keys", caller, "a sequence of arrays, or an array of shape (k, n)", f"shape {keys.shape}")
        if there:
            within_memory(keys, caller=caller, name="keys")
        keys = [keys[i] for i in range(len(keys))]
    if not len(keys):
        raise wrong("keys", "lexsort", "one or more keys", "none", verb="have")
    keys = [_checked_key(key, f"keys[{i}]") for i, key in enumerate(keys)]
    for i, key in enumerate(keys):
        if is_device_array(key) != is_device_array(keys[0]):
            raise wrong(f"keys[{i}]", caller, "where the first one is", "one in another place")
        if len(key) != len(keys[0]):
            raise wrong(f"keys[{i}]", caller, f"as long as the first one, {len(keys[0])}", str(len(key)))
        if is_device_array(key) and key.context != keys[0].context:
            raise wrong(f"keys[{i}]", caller, "in the OpenCL context of the first one", "one of another context")
    return [np.ascontiguousarray(key) if isinstance(key, np.ndarray) else key for key in keys]


def _checked_key(key: Any, name: str) -> Any:
    key = key if is_device_array(key) else host_values(key, caller="lexsort", name=name)
    if is_left_to_numpy(key) and key.ndim == 1:
        return key
    return as_key_array(key, caller="lexsort", name=name)
