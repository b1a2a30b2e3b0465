"""Arguments of functions that use sorted keys, and keys sorted where kernels read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.call import Call
from clgeom.intake.arrays import host_values, session_of
from clgeom.intake.cl_arrays import to_array
from clgeom.intake.device_arrays import is_device_array
from clgeom.sorting.arrays import SortInput
from clgeom.sorting.keys import OTHER_KINDS, key_dtype
from clgeom.sorting.radix.rows import flat
from clgeom.sorting.radix.work import most_at_once, sort_arrays

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.intake.typing import DeviceLike


def array_of_keys(keys: Any, *, caller: str, name: str = "keys") -> Any:
    """Keys of any shape as an array, of a type that can be sorted: on the host, or on the device as they are."""
    if not is_device_array(keys):
        keys = host_values(keys, caller=caller, name=name)
    key_dtype(keys, caller=caller, name=name, others=OTHER_KINDS)
    return keys


def flat_keys(
    keys: Any, device: DeviceLike, *, caller: str, name: str = "keys"
) -> tuple[Any, tuple[int, ...], Session]:
    """(keys in one dimension, the shape they came in, session)."""
    keys = array_of_keys(keys, caller=caller, name=name)
    session, shape = session_of(keys, device), keys.shape
    if keys.dtype.kind == "b" and not is_device_array(keys):
        keys = keys.view(np.uint8) != 0  # a mask of other bytes, such as 255, that was viewed as bool
    return flat(session, keys, caller=caller, name=name), shape, session


def sorted_for_kernels(session: Session, keys: Any, *, caller: str, order: bool) -> tuple[Any, Any, bool]:
    """Keys sorted where kernels read them: on the device, on CPU devices also on the host.

    Parameters
    ----------
    session : Session
    keys : ndarray or pyopencl.array.Array, shape (n,)
    caller : str
    order : bool
        Whether the order is needed.

    Returns
    -------
    keys : ndarray or pyopencl.array.Array
    order : the same, of uint32, or None
        Of equal keys the first one comes first.
    whole : bool
        False if there are too many keys for one sort on the device: then both are on the host, the order int64.
    """

    inputs = SortInput(Call(caller=caller, sessions=(session,)), keys)
    inputs.payload_type = np.dtype(np.uint32) if order else None
    whole = inputs.on_device or inputs.n <= most_at_once(inputs, session)
    if not whole and order:
        inputs.payload_type = np.dtype(np.int64)
    if whole and not inputs.on_device and not session.profile.is_cpu and inputs.n:
        return sorted_for_kernels(session, to_array(session, inputs.keys), caller=caller, order=order)
    return *sort_arrays(inputs), whole
