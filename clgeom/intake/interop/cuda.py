"""Arrays of CUDA (CuPy, PyTorch, JAX, Numba) as arrays of OpenCL on the same GPU: the one way in for all functions.

=====================================  =====================================================================
items of the array lie                 what functions get
=====================================  =====================================================================
in memory that a result was given in   the same memory, without a copy (`clgeom.intake.shared`)
elsewhere, `LEAST_BYTES` or more       a copy on the device
elsewhere, fewer bytes                 a copy through the host: to change from CUDA to OpenCL on the device
                                       takes longer
on a GPU that OpenCL does not share    the array itself, which is copied through the host with a warning
                                       (`clgeom.intake.interop.memory`)
=====================================  =====================================================================

A copy comes after what the library's stream has to do: the stream that the array names, else the one that DLPack is
given; where there is neither, after all streams. It has ended when the function begins, so the array may then change or
go.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from clgeom.core import device as devices
from clgeom.core.call import PLAIN, with_others
from clgeom.core.launch import finish, write
from clgeom.errors import ClgeomError, DeviceLimit, InvalidInput
from clgeom.intake.device_arrays import array_in, is_device_array
from clgeom.optional import is_instance
from clgeom.quirks import cuda

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.intake.shared import SharedPool

#: Bytes from which on a copy on the device is faster than one through the host. H100, us: 64 KiB 292 and 67, 256 KiB
#: 292 and 150, 1 MiB 293 and 371.
LEAST_BYTES = 3 << 18
#: Items of a tuple, and values of a dictionary, up to which these are searched for arrays.
MOST_PARTS = 64
#: Numbers of DLPack: memory of CUDA, and that which CUDA moves to and from the host.
CUDA, MANAGED = 2, 13
#: Types whose values may hold arrays of CUDA.
CONTAINERS = (list, tuple, dict)

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass
class Items:
    """Items of an array of CUDA: the first one's address, how they lie, and what must be kept meanwhile."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    owner: Any
    stream: int | None  #: None: any stream may fill the array
    is_readonly: bool = False

    def __post_init__(self) -> None:
        reach = [(n - 1) * stride for n, stride in zip(self.shape, self.strides)]
        self.size = math.prod(self.shape)
        self.begin = self.address + sum(step for step in reach if step < 0)
        self.end = self.address + sum(step for step in reach if step > 0) + self.dtype.itemsize
        self.nbytes = self.end - self.begin if self.size else 0


def takes_cuda(function: Function) -> Function:
    """Decorate a public function that takes arrays on devices: it gets arrays of CUDA as arrays of OpenCL.

    They are looked for among the arguments, in tuples and dictionaries, and in lists that begin with one. If one cannot
    be taken, none is, so that all are copied through the host. An argument `out` must be in shared memory, since a copy
    of it would be no place for a result.
    """
    return with_others(_converted, function)


def takes_like_cuda(function: Function) -> Function:
    """Decorate the same where arrays must be in one place: beside arrays of NumPy all go through the host.

    So do all with `weights`, which no device takes.
    """
    return with_others(_converted_alike, function)


class _Elsewhere(Exception):
    """An array of CUDA that a call cannot take where it is."""


def _converted(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function with its arrays of CUDA as arrays of OpenCL."""
    found = _Arguments(kwargs.get("device"), (*args, *kwargs.values()))
    try:
        taken = [found.taken(value) for value in args]
        named = {name: found.taken(value, in_place=name == "out") for name, value in kwargs.items()}
    except (_Elsewhere, cuda.CudaError, DeviceLimit):
        return function(*args, **kwargs)
    try:
        return function(*taken, **named)
    finally:
        for session in found.in_place:  # before CUDA changes what is read in place
            finish(session)


def _converted_alike(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    values = [value for name, value in given.items() if name not in ("device", "out")]
    values += [part for value in values if type(value) in (list, tuple) for part in value[:MOST_PARTS]]
    if given.get("weights") is not None or any(isinstance(value, np.ndarray) for value in values):
        return function(*args, **kwargs)
    return _converted(function, args, kwargs)


class _Arguments:
    """The arguments of a call. `in_place`: the sessions that read memory of the caller."""

    def __init__(self, device: Any, values: tuple[Any, ...]) -> None:
        self.device = device
        self.in_place: set[Session] = set()
        #: That of arrays of pyopencl among the arguments, which the others must share.
        self.context = next((value.context for value in values if is_device_array(value)), None)

    def taken(self, value: Any, in_place: bool = False) -> Any:
        """Return an argument with its arrays of CUDA as arrays of OpenCL."""
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind is tuple and len(value) <= MOST_PARTS:
            parts = tuple([self.taken(part, in_place) for part in value])
            return parts if any(a is not b for a, b in zip(parts, value)) else value
        if kind is list:
            return [self.taken(part, in_place) for part in value] if value and _may_be_cuda(value[0]) else value
        if kind is dict and len(value) <= MOST_PARTS:
            return {name: self.taken(part, in_place) for name, part in value.items()}
        if _may_be_cuda(value):
            return self._array(value, in_place)
        if kind not in CONTAINERS:
            PLAIN.add(kind)
        return value

    def _array(self, value: Any, in_place: bool) -> Any:
        items = items_of(value)
        if items is None:
            return value
        found = _place(items, self.device, self.context)
        if found is None:
            raise _Elsewhere
        session, pool = found
        there = None if in_place and items.is_readonly else _shared(session, pool, items)
        if there is not None:
            self.in_place.add(session)
            return there
        return value if in_place else _copied(session, pool, items)


@functools.lru_cache(maxsize=256)
def _has_interface(kind: Any) -> bool:
    return hasattr(kind, "__cuda_array_interface__") or hasattr(kind, "__dlpack_device__")


def _may_be_cuda(value: Any) -> bool:
    kind: Any = type(value)
    try:
        has_interface = _has_interface(kind)
    except TypeError:  # a class of a class that has no hash
        return False
    return has_interface and not isinstance(value, np.ndarray) and not is_device_array(value)


# What the array says of itself ----------------------------------------------------------------------------------------


def items_of(value: Any) -> Items | None:
    """Return the items of an array of CUDA; None for one of another device, and one that does not say it all."""
    driver = cuda.driver()
    if driver is None:
        return None
    try:
        if hasattr(value, "__dlpack_device__") and int(value.__dlpack_device__()[0]) not in (CUDA, MANAGED):
            return None
        value = value.detach() if hasattr(value, "detach") else value  # PyTorch: without gradients
        found = getattr(value, "__cuda_array_interface__", None)
        stream = None if found is None else found.get("stream")
        if found is not None and is_instance(value, "torch", "Tensor"):  # whose interface names no stream
            stream = sys.modules["torch"].cuda.current_stream(value.device).cuda_stream
        if stream is None and hasattr(value, "__dlpack__"):
            return _by_dlpack(driver, value)
        return None if found is None else _by_interface(found, value, stream)
    except cuda.CudaError:
        raise
    except Exception:  # of the array's library: its own way to the host says what is wrong
        return None


def _by_interface(found: dict[str, Any], owner: Any, stream: int | None) -> Items | None:
    shape, dtype = tuple(map(int, found["shape"])), np.dtype(found["typestr"])
    if found.get("mask") is not None or not _is_taken(shape, dtype):
        return None
    strides = found.get("strides")
    strides = _c(shape, dtype) if strides is None else tuple(map(int, strides))
    address, is_readonly = found["data"]
    stream = None if stream is None else int(stream)
    return Items(int(address or 0), shape, strides, dtype, owner, stream, bool(is_readonly))


def _is_taken(shape: tuple[int, ...], dtype: np.dtype) -> bool:
    """Return whether functions take such arrays on devices: numbers in one dimension or more."""
    return bool(shape) and dtype.kind in "biuf"


def _c(shape: tuple[int, ...], dtype: np.dtype) -> tuple[int, ...]:
    """Return the strides of items row by row."""
    strides, step = [], dtype.itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def _by_dlpack(driver: cuda.Driver, value: Any) -> Items | None:
    """Return the items by DLPack, whose producer makes our stream wait for its own."""
    from clgeom.intake.shared import tensor_of

    number = int(value.__dlpack_device__()[1])
    gpu = next((gpu for gpu in cuda.gpus() if gpu.number == number), None)
    if gpu is None:
        return None
    with gpu:
        stream = gpu.stream
    capsule = value.__dlpack__(stream=stream)
    tensor = tensor_of(capsule)
    if tensor is None or not _is_taken(tensor[1], tensor[3]):
        return None
    return Items(*tensor, capsule, stream)


# Where it goes --------------------------------------------------------------------------------------------------------


def _place(items: Items, device: Any, context: Any = None) -> tuple[Session, SharedPool] | None:
    """Return the session of the GPU that has the items, and its shared memory; None where a call uses another one."""
    from clgeom.intake.shared import shared_pool

    if isinstance(device, (list, tuple)) or (isinstance(device, str) and device.lower() == "all"):
        return None
    driver: Any = cuda.driver()
    number = driver.gpu_number(items.address) if items.size else None
    try:
        session = devices.as_session(device)
        pool = shared_pool(session)
    except ClgeomError:  # the function says it
        return None
    if pool is not None and number in (None, pool.gpu.number):
        return (session, pool) if context in (None, session.context) else None
    if context is not None or device is not None or os.environ.get("CLGEOM_DEVICE"):
        return None
    for one in devices.all_devices():
        gpu = cuda.gpu_of(one)
        if gpu is not None and number in (None, gpu.number):
            session = devices.as_session(one)
            pool = shared_pool(session)
            return None if pool is None else (session, pool)
    return None


def _shared(session: Session, pool: SharedPool, items: Items) -> Any:
    """Return the array in shared memory that has the items already; None where they lie elsewhere."""
    found = pool.buffer_at(items.begin, items.nbytes) if items.size else None
    if found is None:
        return None
    from clgeom.intake.shared import SharedArray

    with pool.gpu:
        pool.gpu.wait(items.stream)
    buffer, begin = found
    offset = begin + items.address - items.begin
    buffer.clgeom_owner = items.owner  # type: ignore[attr-defined]  # which keeps the memory, also for views
    return SharedArray(session.queue, items.shape, items.dtype, strides=items.strides, data=buffer, offset=offset)


def _memory_of(gpu: cuda.Gpu, items: Items) -> tuple[int, int]:
    """Return the address and the bytes of the memory that has items: allocations that lie one behind the other."""
    begin, held = gpu.allocation(items.address)
    with contextlib.suppress(cuda.CudaError):
        while begin + held < items.end:
            following, more = gpu.allocation(begin + held)
            if following != begin + held:
                break
            held += more
    return begin, held


def _copied(session: Session, pool: SharedPool, items: Items) -> Any:
    """Return the items as a new array in memory of OpenCL. All bytes from the first item to the last are copied."""
    from clgeom.intake.shared import SharedArray, mapping_of

    queue = session.queue
    if not items.size:
        return array_in(session, session.pool.allocate(1), items.shape, items.dtype, queue, [])
    gpu, offset = pool.gpu, items.address - items.begin
    with gpu:
        begin, held = _memory_of(gpu, items)
        if not begin <= items.begin <= items.end <= begin + held:
            raise InvalidInput(
                f"An array of CUDA must lie within its memory of {held:,} bytes. Got items from byte "
                f"{items.begin - begin:,} to byte {items.end - begin:,} instead."
            )
        stream = gpu.stream if items.stream is None else items.stream
        if items.stream is None:
            gpu.wait()
        if items.nbytes < LEAST_BYTES:
            found = np.empty(items.nbytes, np.uint8)
            gpu.fetch(found.ctypes.data, items.begin, items.nbytes, stream)
            gpu.wait(stream)
            buffer = session.pool.allocate(items.nbytes)
            write(session, buffer, found)
        else:
            buffer = pool.allocate(items.nbytes)
            to: Any = mapping_of(buffer)
            gpu.copy(to.address, items.begin, items.nbytes, stream)
            gpu.wait(stream)
    if items.strides == _c(items.shape, items.dtype):
        return array_in(session, buffer, items.shape, items.dtype, queue, [])
    return SharedArray(queue, items.shape, items.dtype, strides=items.strides, data=buffer, offset=offset)
