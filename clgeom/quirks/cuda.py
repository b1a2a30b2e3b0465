"""The driver of CUDA, by ctypes: what it takes to share memory of a GPU between CUDA and OpenCL.

NVIDIA's driver brings both interfaces, and no toolkit is needed. Memory of ``cuMemCreate`` has a descriptor of POSIX,
which OpenCL imports (cl_khr_external_memory_opaque_fd)::

    cuMemCreate ──> physical memory ──> cuMemMap: an address of CUDA
                            └──> descriptor ──> clCreateBufferWithProperties: a buffer of OpenCL

Memory of ``cudaMalloc``, which CuPy and PyTorch take by default, has no descriptor. The two interfaces take turns on a
GPU: a switch takes about 0.25 ms (H100).
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
from contextlib import suppress
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_ulonglong, c_ushort, c_void_p
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyopencl as cl

#: What a device needs to import memory by a descriptor of POSIX.
EXTENSIONS = ("cl_khr_external_memory_opaque_fd", "cl_khr_device_uuid")
#: ``CL_DEVICE_UUID_KHR``, the property of a buffer that is imported by a descriptor, and ``CL_MEM_READ_WRITE``.
DEVICE_UUID, OPAQUE_FD, READ_WRITE = 0x106A, 0x2060, 1
#: ``CU_STREAM_NON_BLOCKING``, ``CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR``, ``CU_MEM_ACCESS_FLAGS_PROT_READWRITE``,
#: ``CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL``.
NON_BLOCKING, POSIX_DESCRIPTOR, READ_AND_WRITE, DEVICE_ORDINAL = 1, 1, 3, 9

Address = c_ulonglong  #: CUdeviceptr, and CUmemGenericAllocationHandle


class CudaError(Exception):
    """A function of CUDA's driver failed."""


class _Properties(ctypes.Structure):
    """``CUmemAllocationProp``."""

    _fields_ = (
        ("type", c_int),
        ("handle_types", c_int),
        ("location_type", c_int),
        ("location_id", c_int),
        ("windows", c_void_p),
        ("flags", c_ubyte * 2),
        ("usage", c_ushort),
        ("reserved", c_ubyte * 4),
    )


class _Access(ctypes.Structure):
    """``CUmemAccessDesc``."""

    _fields_ = (("location_type", c_int), ("location_id", c_int), ("flags", c_int))


#: Functions of the driver and the types of their arguments.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetUuid": (c_ubyte * 16, c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(c_void_p), c_int),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (POINTER(c_void_p),),
    "cuCtxSynchronize": (),
    "cuStreamCreate": (POINTER(c_void_p), c_uint),
    "cuStreamSynchronize": (c_void_p,),
    "cuPointerGetAttribute": (c_void_p, c_int, Address),
    "cuMemGetAddressRange_v2": (POINTER(Address), POINTER(c_size_t), Address),
    "cuMemcpyDtoDAsync_v2": (Address, Address, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, Address, c_size_t, c_void_p),
    "cuMemGetAllocationGranularity": (POINTER(c_size_t), POINTER(_Properties), c_uint),
    "cuMemCreate": (POINTER(Address), c_size_t, POINTER(_Properties), c_ulonglong),
    "cuMemExportToShareableHandle": (c_void_p, Address, c_int, c_ulonglong),
    "cuMemAddressReserve": (POINTER(Address), c_size_t, c_size_t, Address, c_ulonglong),
    "cuMemMap": (Address, c_size_t, c_size_t, Address, c_ulonglong),
    "cuMemSetAccess": (Address, c_size_t, POINTER(_Access), c_size_t),
    "cuMemUnmap": (Address, c_size_t),
    "cuMemAddressFree": (Address, c_size_t),
    "cuMemRelease": (Address,),
}


class Driver:
    """The functions of a library of CUDA's driver; a failure is a `CudaError`."""

    def __init__(self, library: Any) -> None:
        self._functions = {}
        for name, types in FUNCTIONS.items():
            function = getattr(library, name)
            function.argtypes = types
            self._functions[name] = function
        self.call("cuInit", 0)

    def call(self, name: str, *args: Any) -> None:
        """Call a function of the driver."""
        code = self._functions[name](*args)
        if code:
            text = c_char_p()
            self._functions["cuGetErrorName"](code, byref(text))
            raise CudaError(f"{name}: {(text.value or b'error').decode()} ({code})")

    def gpus(self) -> list[Gpu]:
        """Return the GPUs, in CUDA's order."""
        count = c_int()
        self.call("cuDeviceGetCount", byref(count))
        return [Gpu(self, number) for number in range(count.value)]

    def gpu_number(self, pointer: int) -> int:
        """Return the number of the GPU that has the memory at an address."""
        number = c_int(-1)
        self.call("cuPointerGetAttribute", byref(number), DEVICE_ORDINAL, pointer)
        return number.value


class Gpu:
    """A GPU of CUDA, with the context that libraries share. As a context manager it is current in this thread."""

    def __init__(self, driver: Driver, number: int) -> None:
        self.driver, self.number = driver, number
        device, uuid = c_int(), (c_ubyte * 16)()
        driver.call("cuDeviceGet", byref(device), number)
        driver.call("cuDeviceGetUuid", uuid, device)
        self._device, self.uuid = device, bytes(uuid)

    def __enter__(self) -> Gpu:
        self.driver.call("cuCtxPushCurrent_v2", self._context)
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.call("cuCtxPopCurrent_v2", byref(c_void_p()))

    @functools.cached_property
    def _context(self) -> c_void_p:
        context = c_void_p()
        self.driver.call("cuDevicePrimaryCtxRetain", byref(context), self._device)
        return context

    @functools.cached_property
    def stream(self) -> int:
        """A stream for copies, which waits for no other one."""
        stream = c_void_p()
        self.driver.call("cuStreamCreate", byref(stream), NON_BLOCKING)
        return stream.value or 0

    @functools.cached_property
    def _properties(self) -> _Properties:
        return _Properties(1, POSIX_DESCRIPTOR, 1, self.number)  # pinned memory, at this device

    @functools.cached_property
    def granularity(self) -> int:
        """Sizes of `create` are multiples of this."""
        found = c_size_t()
        self.driver.call("cuMemGetAllocationGranularity", byref(found), byref(self._properties), 0)
        return found.value

    def wait(self, stream: int | None = None) -> None:
        """Wait for a stream, or for all streams of the context."""
        if stream is None:
            self.driver.call("cuCtxSynchronize")
        else:
            self.driver.call("cuStreamSynchronize", stream)

    def copy(self, to: int, source: int, nbytes: int, stream: int) -> None:
        """Begin a copy within the device."""
        self.driver.call("cuMemcpyDtoDAsync_v2", to, source, nbytes, stream)

    def fetch(self, to: int, source: int, nbytes: int, stream: int) -> None:
        """Begin a copy to the host."""
        self.driver.call("cuMemcpyDtoHAsync_v2", to, source, nbytes, stream)

    def allocation(self, pointer: int) -> tuple[int, int]:
        """Return the address and the bytes of the allocation that a pointer lies in."""
        begin, size = Address(), c_size_t()
        self.driver.call("cuMemGetAddressRange_v2", byref(begin), byref(size), pointer)
        return begin.value, size.value

    def create(self, nbytes: int) -> Mapping:
        """Return new memory, of a multiple of `granularity`, that has a descriptor."""
        return Mapping(self, nbytes)


class Mapping:
    """Physical memory of a GPU, mapped to an address of CUDA. It goes with this object, but for what else uses it.

    OpenCL owns the descriptor as soon as it has imported it.
    """

    def __init__(self, gpu: Gpu, nbytes: int) -> None:
        self.gpu, self.nbytes = gpu, nbytes
        #: Whether it was handed out before, and whether the caller may use it by its address.
        self.is_used = self.is_exported = False
        call, handle, address, descriptor = gpu.driver.call, Address(), Address(), c_int(-1)
        undo: list[tuple[Any, ...]] = []
        try:
            call("cuMemCreate", byref(handle), nbytes, byref(gpu._properties), 0)
            undo.append(("cuMemRelease", handle))
            call("cuMemAddressReserve", byref(address), nbytes, 0, 0, 0)
            undo.append(("cuMemAddressFree", address, nbytes))
            call("cuMemMap", address, nbytes, 0, handle, 0)
            undo.append(("cuMemUnmap", address, nbytes))
            call("cuMemSetAccess", address, nbytes, byref(_Access(1, gpu.number, READ_AND_WRITE)), 1)
            call("cuMemExportToShareableHandle", byref(descriptor), handle, POSIX_DESCRIPTOR, 0)
        except BaseException:
            for step in reversed(undo):
                call(*step)
            raise
        self.address, self.descriptor, self._undo = address.value, descriptor.value, undo

    def __del__(self) -> None:
        with suppress(Exception):  # CUDA may have ended before the interpreter
            with self.gpu:
                if self.is_exported:
                    self.gpu.wait()
                for step in reversed(self._undo):
                    self.gpu.driver.call(*step)


@functools.cache
def driver() -> Driver | None:
    """Return CUDA's driver; None where there is none with these functions."""
    try:
        return Driver(ctypes.CDLL("libcuda.so.1"))
    except (OSError, AttributeError, CudaError):
        return None


@functools.cache
def gpus() -> tuple[Gpu, ...]:
    """Return the GPUs of CUDA."""
    found = driver()
    try:
        return () if found is None else tuple(found.gpus())
    except CudaError:
        return ()


# OpenCL's side --------------------------------------------------------------------------------------------------------


@functools.cache
def _opencl() -> Any:
    """Return the library of OpenCL that pyopencl has loaded; None where it is not found."""
    with suppress(OSError, AttributeError):
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = dict.fromkeys(re.findall(r"(/\S.*libOpenCL.*)$", maps.read(), re.MULTILINE))
        for path in paths:
            library = ctypes.CDLL(path)
            library.clGetDeviceInfo.argtypes = [c_void_p, c_uint, c_size_t, c_void_p, c_void_p]
            create = library.clCreateBufferWithProperties
            create.restype = c_void_p
            create.argtypes = [c_void_p, POINTER(c_ulonglong), c_ulonglong, c_size_t, c_void_p, POINTER(c_int)]
            return library
    return None


def gpu_of(device: cl.Device) -> Gpu | None:
    """Return the GPU of CUDA that is this device of OpenCL and can share memory with it; None where there is none."""
    if not set(EXTENSIONS) <= set(device.extensions.split()):
        return None
    uuid, library = (c_ubyte * 16)(), _opencl()
    if library is None or library.clGetDeviceInfo(device.int_ptr, DEVICE_UUID, 16, uuid, None):
        return None
    return next((gpu for gpu in gpus() if gpu.uuid == bytes(uuid)), None)


def imported(context: cl.Context, mapping: Mapping) -> cl.Buffer:
    """Return the buffer of a context that is the memory of a mapping."""
    import pyopencl as cl

    properties, error = (c_ulonglong * 3)(OPAQUE_FD, mapping.descriptor, 0), c_int()
    library = _opencl()
    handle = library.clCreateBufferWithProperties(
        context.int_ptr, properties, READ_WRITE, mapping.nbytes, None, byref(error)
    )
    if error.value or not handle:
        os.close(mapping.descriptor)
        raise CudaError(f"clCreateBufferWithProperties: {error.value}")
    buffer: cl.Buffer = cl.Buffer.from_int_ptr(handle, False)  # type: ignore[assignment]  # pyopencl says object
    return buffer
