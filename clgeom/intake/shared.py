"""Memory that CUDA and OpenCL share on one GPU, and arrays of pyopencl that CUDA reads where they are.

A result on a GPU of NVIDIA is a `SharedArray`. As long as nobody asks for its address it is an array of pyopencl like
any other, in the session's own memory. To give CUDA an address, the array moves once, by a copy on the device, to
memory that both interfaces map (`SharedPool`); from then on both work on the same items.

The two interfaces know nothing of each other's queues, so each side waits for the other on the host.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
import weakref
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from clgeom.core import device as devices
from clgeom.core.launch import copy, finish
from clgeom.core.memory import Pool, rounded_up
from clgeom.errors import DeviceLimit
from clgeom.quirks import cuda

if TYPE_CHECKING:
    from clgeom.core.device import Session

#: DLPack's numbers of CUDA, and of the kinds of numbers of NumPy.
CUDA, KINDS = 2, {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class OutOfMemory(Exception):
    """CUDA has too little memory, or OpenCL does not import it."""


class SharedPool(Pool):
    """Buffers whose memory CUDA maps, too. It is handed out again when neither interface uses it any more."""

    def __init__(self, session: Session, gpu: cuda.Gpu) -> None:
        super().__init__(session.context, session.queue)
        self.session, self.gpu = session, gpu
        self._new, self._no_memory = self._shared, OutOfMemory  # type: ignore[assignment]
        self._mappings: weakref.WeakValueDictionary[int, cuda.Mapping] = weakref.WeakValueDictionary()
        #: Held while an array moves to this memory.
        self.moving = threading.RLock()
        _pools[session.context.int_ptr] = self
        session.pool.count_idle(self)  # which empties this pool where memory is missing

    #: Buffers that count as those of the session's pool.
    buffers = 0

    def clear(self) -> None:
        """Give unused memory back to the driver."""
        self.free_held()

    def allocate(self, nbytes: int, limit: int | None = None) -> cl.Buffer:
        """Return a buffer that no command of OpenCL and none of CUDA uses; `DeviceLimit` where memory is missing."""
        grain = self.gpu.granularity
        try:
            buffer = super().allocate(-(-rounded_up(nbytes) // grain) * grain)
        except OutOfMemory as error:
            name = self.session.profile.name
            raise DeviceLimit(f"{name} has not enough memory left to share {nbytes:,} bytes with CUDA.") from error
        mapping = self._mappings[buffer.int_ptr]
        buffer.clgeom_mapping = mapping  # type: ignore[attr-defined]  # an attribute of our own
        if mapping.is_used:
            finish(self.session)
        if mapping.is_exported:
            with self.gpu:
                self.gpu.wait()
            mapping.is_exported = False
        mapping.is_used = True
        return buffer

    def _shared(self, nbytes: int) -> cl.Buffer:
        try:
            with self.gpu:
                mapping = self.gpu.create(nbytes)
            memory = cuda.imported(self.session.context, mapping)
        except cuda.CudaError as error:
            self.session.pool.free_held()
            raise OutOfMemory(str(error)) from error
        memory.clgeom_mapping = mapping  # type: ignore[attr-defined]  # an attribute of our own
        self._mappings[memory.int_ptr] = mapping
        return memory

    def buffer_at(self, begin: int, nbytes: int) -> tuple[cl.Buffer, int] | None:
        """Return the buffer with these bytes of CUDA, and where they begin in it; None for other memory."""
        for pointer, mapping in tuple(self._mappings.items()):
            if mapping.address <= begin and begin + nbytes <= mapping.address + mapping.nbytes:
                buffer: Any = cl.Buffer.from_int_ptr(pointer, True)
                buffer.clgeom_mapping = mapping
                return buffer, begin - mapping.address
        return None


#: The pool of each context, by the address of the context.
_pools: weakref.WeakValueDictionary[int, SharedPool] = weakref.WeakValueDictionary()


def shared_pool(session: Session) -> SharedPool | None:
    """Return the memory that a session shares with CUDA; None where it shares none."""

    def make() -> SharedPool | None:
        gpu = None if session.profile.is_cpu else cuda.gpu_of(session.device)
        return None if gpu is None else SharedPool(session, gpu)

    pool: SharedPool | None = session.cached(("memory shared with CUDA",), make)
    return pool


def mapping_of(buffer: Any) -> cuda.Mapping | None:
    """Return the memory that CUDA maps of a buffer of a `SharedPool`; None for any other one."""
    return getattr(buffer, "clgeom_mapping", None)


def array_class(session: Session) -> type[cl_array.Array]:
    """Return the class of arrays on the device of a session for the caller."""
    return SharedArray if shared_pool(session) is not None else cl_array.Array


# Arrays ---------------------------------------------------------------------------------------------------------------


class SharedArray(cl_array.Array):
    """An array of pyopencl on a GPU of NVIDIA, which CuPy, PyTorch, JAX and Numba also read where it is.

    ``cupy.asarray(array)`` and ``torch.as_tensor(array, device="cuda")`` copy nothing but once: the first time the
    array moves on the device to memory that OpenCL and CUDA share, and views that were made of it before stay behind.
    Each time the address is asked for, the host waits for the array's queue. What CUDA then writes into the array,
    clgeom and `get` read after waiting for CUDA; before other operations of pyopencl, call `settle`.
    """

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The array by CUDA's address (version 3 of the interface). Its items are complete: there is no stream."""
        return {
            "shape": tuple(map(int, self.shape)),
            "typestr": self.dtype.str,
            "data": (self._address(), False),
            "strides": None if self.flags.c_contiguous else tuple(map(int, self.strides)),
            "version": 3,
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's number of CUDA, and the number of the GPU."""
        return CUDA, self._pool.gpu.number

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule of DLPack, complete for all streams, as no stream fills the array."""
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("clgeom gives an array by DLPack where it is, without a copy")
        if self.dtype.kind not in KINDS or not self.dtype.isnative:
            raise BufferError(f"DLPack has no type {self.dtype}")
        return _capsule(self, self._address())

    @property
    def _pool(self) -> SharedPool:
        context: Any = self.context
        pool = _pools.get(context.int_ptr)
        if pool is None:
            pool = shared_pool(devices.session_of_context(self.context, self.queue.device if self.queue else None))
        if pool is None:
            raise AttributeError("the device of this array shares no memory with CUDA")
        return pool

    def _address(self) -> int:
        """Return the address of the first item, in memory that CUDA may use from now on."""
        pool = self._pool
        if not self.size:
            return 0
        with pool.moving:
            return self._moved(pool)

    def _moved(self, pool: SharedPool) -> int:
        session = pool.session
        self.finish()  # what its events announce
        self._complete(session)
        mapping = mapping_of(self.base_data)
        if mapping is None:
            whole: Any = self.base_data
            begin, nbytes = (self.offset, self.nbytes) if self.flags.forc else (0, whole.size)
            buffer = pool.allocate(nbytes)
            copy(session, whole, buffer, nbytes, start=begin)
            self.base_data, self.offset = buffer, self.offset - begin
            mapping = buffer.clgeom_mapping  # type: ignore[attr-defined]
            if self.queue is not None:
                pool.hold(buffer, self.queue)
        finish(session)
        mapping.is_exported = True
        return mapping.address + self.offset

    def _complete(self, session: Session) -> None:
        if self.queue is not None and self.queue != session.queue:
            self.queue.finish()

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """Return the items on the host, as pyopencl does, after waiting for CUDA."""
        self.settle()
        return super().get(*args, **kwargs)

    def settle(self) -> None:
        """Wait for CUDA, if it may write into the array."""
        mapping = mapping_of(self.base_data)
        if mapping is not None and mapping.is_exported:
            with mapping.gpu:
                mapping.gpu.wait()


# DLPack ---------------------------------------------------------------------------------------------------------------


class _Tensor(ctypes.Structure):
    """``DLManagedTensor``: ``DLTensor``, and how to let go of it."""

    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
        ("context", c_void_p),
        ("deleter", c_void_p),
    )


#: What other libraries hold of arrays, and capsules that they may take, by the address of the description.
_given: dict[int, tuple[Any, ...]] = {}
_name = b"dltensor"  # a capsule keeps the address of its name
_capsule_new = ctypes.pythonapi.PyCapsule_New
_capsule_new.restype, _capsule_new.argtypes = ctypes.py_object, (c_void_p, c_char_p, c_void_p)
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = c_void_p, (c_void_p, c_char_p)
_capsule_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_capsule_is_valid.restype, _capsule_is_valid.argtypes = ctypes.c_int, (c_void_p, c_char_p)


def _let_go(address: int) -> None:
    _given.pop(address, None)


#: The same as a function of C, for who takes a capsule.
_deleter = ctypes.CFUNCTYPE(None, c_void_p)(_let_go)


def _drop_unused() -> None:
    """Let go of capsules that nobody took, nor can take: a destructor of theirs could run within any exception."""
    for where, (capsule, *_) in list(_given.items()):
        # referenced by the dictionary's entry, by the name here, and by the argument of getrefcount
        if capsule is not None and sys.getrefcount(capsule) <= 3:
            if _capsule_is_valid(id(capsule), _name):
                _given.pop(where, None)
            else:  # taken: kept until the deleter is called
                entry = _given.get(where)
                if entry is not None:
                    _given[where] = (None, *entry[1:])


def _capsule(array: SharedArray, address: int) -> Any:
    """Return a capsule of DLPack that keeps an array."""
    item, ndim = array.dtype.itemsize, array.ndim
    shape = (c_int64 * max(ndim, 1))(*map(int, array.shape))
    strides = (c_int64 * max(ndim, 1))(*(int(stride) // item for stride in array.strides))
    tensor = _Tensor(
        *(address, *array.__dlpack_device__(), ndim, KINDS[array.dtype.kind], 8 * item, 1),
        *(shape, strides, 0, None, ctypes.cast(_deleter, c_void_p)),
    )
    where = ctypes.addressof(tensor)
    _drop_unused()
    capsule = _capsule_new(where, _name, None)
    _given[where] = (capsule, tensor, shape, strides, array)
    return capsule


def tensor_of(capsule: Any) -> tuple[int, tuple[int, ...], tuple[int, ...], np.dtype] | None:
    """Return the address, shape, strides in bytes and type of a capsule of DLPack; None for types NumPy has not."""
    tensor = _Tensor.from_address(_capsule_pointer(id(capsule), _name))
    kinds = {code: kind for kind, code in KINDS.items()}
    if tensor.lanes != 1 or tensor.code not in kinds or tensor.bits % 8:
        return None
    dtype, ndim = np.dtype(f"{kinds[tensor.code]}{tensor.bits // 8}"), tensor.ndim
    shape = tuple(tensor.shape[:ndim])
    if tensor.strides:
        strides = tuple(stride * dtype.itemsize for stride in tensor.strides[:ndim])
    else:
        strides = tuple(itertools.accumulate((dtype.itemsize, *shape[:0:-1]), lambda a, b: a * b))[::-1][:ndim]
    return (tensor.data or 0) + tensor.byte_offset, shape, strides, dtype
