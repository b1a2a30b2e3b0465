"""Sort keys: their types, and how they become ordered keys.

The host's side of ``cl_src/keys/key_order.h``. Kernels see keys only as unsigned integers of the same width, so that
float16 and float64 keys need no such arithmetic on the device.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clgeom.arguments import number_type, wrong, wrong_type
from clgeom.errors import InvalidInput, InvalidType, is_integer, short
from clgeom.intake.arrays import DeviceArray, adopted, as_device_values, host_values, session_of
from clgeom.intake.device_arrays import is_device_array, native_array, within_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

    from clgeom.core.device import Session
    from clgeom.intake.typing import DeviceLike

#: Unsigned integers as wide as keys.
Bits: TypeAlias = "np.unsignedinteger[Any]"
KEY_TYPES = tuple(
    np.dtype(name) for name in "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64".split()
)
NATIVE = frozenset(KEY_TYPES)
#: Kinds of types of bool, dates and durations, which the radix sorts and what is built on them take as well.
OTHER_KINDS = "bMm"
#: Types of the indices of a result: by default the first one on the host, the second one on the device.
INDEX_TYPES = (np.dtype(np.int64), np.dtype(np.uint32))
#: Most keys: indices are uint32, and the last tile, or the last row of a block, may go beyond the end.
MOST_KEYS = (1 << 32) - (1 << 20)


class InvalidAxis(InvalidInput, getattr(np, "exceptions", np).AxisError):  # type: ignore[misc]
    """An axis that keys do not have: also the error of NumPy."""


@functools.lru_cache(maxsize=64)
def unsigned(dtype: DTypeLike) -> np.dtype[Bits]:
    """Return the unsigned integer type of the same width."""
    return np.dtype(f"uint{8 * np.dtype(dtype).itemsize}")


@dataclass(frozen=True)
class KeyOrder:
    """The order of keys of one type, ascending or descending, NaN and NaT last in both.

    Parameters
    ----------
    dtype : numpy.dtype
        One of ``KEY_TYPES``, bool, datetime64 or timedelta64, in native byte order.
    descending : bool
    """

    dtype: np.dtype
    descending: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", np.dtype(self.dtype))
        if self.dtype not in KEY_TYPES and self.dtype.kind not in OTHER_KINDS:
            raise ValueError(f"no key type: {self.dtype}")

    @functools.cached_property
    def bits(self) -> int:
        """Width of a key in bits."""
        return 8 * self.dtype.itemsize

    @functools.cached_property
    def floating(self) -> int:
        """CLGEOM_KEY_FLOAT of keys/key_order.h: 1 for floats, 2 for dates and durations, 0 for others."""
        return {"f": 1, "M": 2, "m": 2}.get(self.dtype.kind, 0)

    @functools.cached_property
    def storage(self) -> np.dtype[Bits]:
        """The unsigned type of the same width."""
        return unsigned(self.dtype)

    @functools.cached_property
    def flip(self) -> Bits:
        """The argument `flip` of the functions of keys/key_order.h."""
        everything = (1 << self.bits) - 1
        sign = 1 << (self.bits - 1) if self.dtype.kind in "iMm" else 0
        return self.storage.type(sign ^ (everything if self.descending else 0))

    @functools.cached_property
    def everything(self) -> Bits:
        """A mask of all bits of a key."""
        return self.storage.type((1 << self.bits) - 1)

    def options(self) -> dict[str, Any]:
        """Template parameters that choose the functions of keys/key_order.h."""
        return {"key_bits": self.bits, "key_float": self.floating}

    @property
    def infinity(self) -> int:
        """The bits of +inf."""
        return int(np.array(np.inf, self.dtype).view(self.storage))

    def digits(self, keys: Any) -> np.ndarray:
        """Return the ordered keys of an array (key_digits), equal for equal keys."""
        bits = np.asarray(keys, self.dtype).view(self.storage)
        if self.floating == 2:
            return (bits ^ self.flip) - (self.flip >> np.uint64(63))
        if not self.floating:
            return bits ^ self.flip
        shape, bits, one = bits.shape, bits.reshape(-1), self.storage.type(1)
        sign = self.storage.type(1 << (self.bits - 1))
        digits: np.ndarray = (bits.view(f"i{self.dtype.itemsize}") >> (self.bits - 1)).view(self.storage)
        digits |= sign
        digits ^= bits
        digits += bits == sign
        if self.descending:
            digits ^= self.flip
        nan = (bits << one) > self.storage.type(2 * self.infinity)
        if nan.any():
            digits[nan] = self.everything
        return digits.reshape(shape)

    def keys_of_digits(self, digits: Any) -> np.ndarray:
        """Return a key for each of these ordered keys (key_of_digits)."""
        unfolded = np.asarray(digits, self.storage)
        if self.floating == 2:
            unfolded = unfolded + (self.flip >> np.uint64(63))
        unfolded = unfolded ^ self.flip
        if self.floating == 1:
            sign = self.storage.type(1 << (self.bits - 1))
            unfolded = np.where(unfolded & sign, unfolded ^ sign, ~unfolded)
        return unfolded.astype(self.storage).view(self.dtype)


@functools.lru_cache(maxsize=64)
def key_order(dtype: np.dtype, descending: bool = False) -> KeyOrder:
    """Return the order of keys of a type in any byte order."""
    return KeyOrder(dtype.newbyteorder("="), descending)


def key_dtype(keys: Any, *, caller: str, name: str = "keys") -> np.dtype:
    """Return the native type of an array of keys; `InvalidInput` when it is no key type."""
    dtype: np.dtype = np.dtype(keys.dtype)
    dtype = dtype.newbyteorder("=") if dtype.kind in "iuf" + OTHER_KINDS else dtype
    if dtype not in KEY_TYPES and dtype.kind not in OTHER_KINDS:
        allowed = ", ".join([*(t.name for t in KEY_TYPES), "bool", "datetime64", "timedelta64"])
        raise wrong_type(name, caller, f"one of {allowed}", keys.dtype)
    return dtype


def is_left_to_numpy(keys: Any) -> bool:
    """Return whether only NumPy orders keys of this type: complex numbers, long double, text, bytes and records."""
    dtype = keys.dtype
    return isinstance(keys, np.ndarray) and (dtype.kind in "cSUTV" or (dtype.kind == "f" and dtype.itemsize > 8))


def order_by_numpy(function: Callable[..., Any], keys: Any, *args: Any, caller: str, **options: Any) -> Any:
    """Return what a function of NumPy returns for keys that are left to it; `InvalidType` if it refuses them."""
    try:
        return function(keys, *args, **options)
    except (TypeError, ValueError) as error:
        raise InvalidType(f"The 'keys' parameter of {caller} must have an order. {error}") from error


def as_keys(keys: Any, *, caller: str, name: str = "keys", by_numpy: bool = False) -> Any:
    """Return keys of any shape: an array on the host, or one on the device as it is.

    Types that only NumPy orders are refused unless `by_numpy`.
    """
    array: Any = keys
    if is_device_array(keys):
        array = keys if keys.ndim == 1 else within_memory(keys, caller=caller, name=name)
    else:
        array = host_values(keys, caller=caller, name=name)
        if array.ndim == 0 and array.dtype.kind in "OSU":  # NumPy takes any object for an array
            got = short(keys) if keys is None else f"{type(keys).__name__} {short(keys)}"
            raise wrong_type(name, caller, "an array of numbers", got)
    if not (by_numpy and is_left_to_numpy(array)):
        key_dtype(array, caller=caller, name=name)
    return array


def flat_keys(
    keys: Any, device: DeviceLike, *, caller: str, name: str = "keys"
) -> tuple[Any, tuple[int, ...], Session]:
    """(keys in one dimension, the shape they came in, session)."""
    keys = as_keys(keys, caller=caller, name=name)
    session, shape = session_of(keys, device), keys.shape
    if keys.dtype.kind == "b" and not is_device_array(keys):
        keys = keys.view(np.uint8) != 0  # a mask of other bytes, such as 255, that was viewed as bool
    return flat(session, keys, caller=caller, name=name), shape, session


def flat(session: Session, array: Any, *, caller: str, name: str = "keys") -> Any:
    """Return an array in one dimension, in C order."""
    if array.ndim == 1:
        return array
    if not is_device_array(array):
        return np.ravel(array)
    if array.size == 0:
        return array.reshape(0) if array.flags.c_contiguous else array[(0,) * (array.ndim - 1)][:0]
    return native_array(session, array, caller=caller, name=name).reshape(array.size)


def checked_axis(axis: Any, keys: Any, *, caller: str) -> int | None:
    """Return the axis counted from 0, or None for the flat array."""
    if axis is None:
        return None
    if keys.ndim == 0:
        raise wrong("keys", caller, "a dimension, or axis=None", keys.shape, verb="have")
    if not is_integer(axis) or not -keys.ndim <= axis < keys.ndim:
        kind = InvalidAxis if is_integer(axis) else InvalidType
        raise kind(
            f"The 'axis' parameter of {caller} must be None or an integer from {-keys.ndim} to {keys.ndim - 1}, for "
            f"keys of shape {keys.shape}. Got {short(axis)} instead."
        )
    return int(axis % keys.ndim)


def as_device_bits(session: Session, keys: Any, *, caller: str, name: str = "keys") -> DeviceArray:
    """Keys from `as_key_array` as unsigned integers in memory that kernels read."""
    storage = unsigned(keys.dtype)
    if is_device_array(keys):
        return adopted(session, native_array(session, keys, caller=caller, name=name), storage)
    bits = keys.view(storage.newbyteorder(keys.dtype.byteorder))
    return as_device_values(session, bits, caller=caller, name=name, types=(storage,))


def require_same_place(array: Any, name: str, other: Any, others: str, *, caller: str) -> None:
    """Refuse an array that is not where another one is, on the host or on the device; `others` is "the keys are"."""
    there = is_device_array(other)
    if is_device_array(array) != there:
        sides = ("on the host", "on the device")
        raise wrong(name, caller, f"where {others}, {sides[there]}", f"an array {sides[not there]}")


def index_dtype(index_type: Any, on_device: bool, *, caller: str) -> np.dtype:
    """Return the type of the indices of a result: `index_type`, else int64 on the host, uint32 on the device."""
    if index_type is None:
        return INDEX_TYPES[on_device]
    return number_type(index_type, INDEX_TYPES, "index_type", caller=caller)
