"""Keys of several dimensions as rows along an axis: segments of one length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import wrong
from clgeom.core.launch import run
from clgeom.core.plan import Plan, Step
from clgeom.errors import InvalidInput, is_integer, short
from clgeom.intake.arrays import c_name, host_values
from clgeom.intake.cl_arrays import changed
from clgeom.intake.device_arrays import buffer_of, is_device_array, native_array, within_memory

if TYPE_CHECKING:
    from clgeom.core.device import Session


def as_array(keys: Any, *, caller: str) -> Any:
    """Keys of any shape: a host array, or an array on the device as it is."""
    if is_device_array(keys):  # of one dimension when the call is checked
        return keys if keys.ndim == 1 else within_memory(keys, caller=caller, name="keys")
    array = host_values(keys, caller=caller, name="keys")
    if array.ndim == 0 and array.dtype.kind in "OSU":  # NumPy takes any object for an array
        got = short(keys) if keys is None else f"{type(keys).__name__} {short(keys)}"
        raise wrong("keys", caller, "an array of numbers", got)
    return array


def checked_axis(axis: Any, keys: Any, *, caller: str) -> int | None:
    """The axis counted from 0, or None for the flat array."""
    if axis is None:
        return None
    if keys.ndim == 0:
        raise InvalidInput(
            f"The 'keys' parameter of {caller} must have a dimension, or axis=None. Got {keys.shape} instead."
        )
    if not is_integer(axis) or not -keys.ndim <= axis < keys.ndim:
        raise InvalidInput(
            f"The 'axis' parameter of {caller} must be None or an integer from {-keys.ndim} to {keys.ndim - 1}, for "
            f"keys of shape {keys.shape}. Got {short(axis)} instead."
        )
    return int(axis % keys.ndim)


def flat(session: Session, array: Any, *, caller: str, name: str = "keys") -> Any:
    """An array in one dimension, in C order."""
    if array.ndim == 1:
        return array
    if not is_device_array(array):
        return np.ravel(array)
    if array.size == 0:
        return array.reshape(0) if array.flags.c_contiguous else array[(0,) * (array.ndim - 1)][:0]
    return native_array(session, array, caller=caller, name=name).reshape(array.size)


class Rows:
    """The rows of an array along an axis, one after the other.

    Attributes
    ----------
    flat : ndarray or pyopencl.array.Array, shape (rows * length,)
    length : int
        Keys of a row.
    offsets : ndarray of int64
        Where the rows begin, for `sort`.
    """

    def __init__(self, session: Session, keys: Any, axis: int, *, caller: str) -> None:
        self.session, self.shape = session, keys.shape
        others = [i for i in range(keys.ndim) if i != axis]
        self.axes = [*others, axis]
        self.length = keys.shape[axis]
        if is_device_array(keys):
            moved = keys if self.axes == sorted(self.axes) else keys.transpose(self.axes)
            self.flat = native_array(session, moved, caller=caller, name="keys").reshape(keys.size)
        else:
            self.flat = keys.transpose(self.axes).reshape(-1)
        self.offsets = np.arange(0, keys.size + 1, self.length) if keys.size else np.zeros(1, np.int64)

    def restored(self, result: Any) -> Any:
        """A result of the flat keys, in the shape of the keys."""
        inverse = [self.axes.index(i) for i in range(len(self.axes))]
        moved = result.reshape([self.shape[i] for i in self.axes])
        if inverse == sorted(inverse):
            return moved
        if not is_device_array(moved):
            return np.ascontiguousarray(moved.transpose(inverse))
        return native_array(self.session, moved.transpose(inverse), caller="sort", name="keys")

    def within(self, indices: Any) -> Any:
        """Indices into the flat keys as indices into their rows."""
        if not is_device_array(indices):
            return (indices.reshape(-1, max(self.length, 1)) - self.offsets[:-1, None].astype(indices.dtype)).reshape(
                -1
            )
        n = indices.size
        if n:
            step = Step.over(
                self.session.profile,
                "sorting/row_indices",
                ("indices", np.uint32(n), np.uint32(self.length)),
                n,
                dtype=indices.dtype,
                params={"index": c_name(indices.dtype)},
                bytes_moved=2 * indices.nbytes,
            )
            run(self.session, Plan(step), indices=buffer_of(indices))
            changed(self.session, indices)
        return indices
