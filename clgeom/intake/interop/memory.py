"""Arrays in memory that NumPy cannot read directly: that of other devices, and arrays with only DLPack.

They are copied through the host by the method of their library: arrays of CUDA where `clgeom.intake.interop.cuda` does
not take them. That method waits for the library's current stream only. Another stream may fill the array, so clgeom
waits for all streams.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from clgeom.arguments import Parameter
from clgeom.errors import InvalidInput
from clgeom.optional import is_instance

#: DLPack's numbers of memory that the host can read: CPU, page-locked memory of CUDA and of ROCm.
HOST = (1, 3, 11)
DEVICES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA managed", 14: "oneAPI"}
#: Methods that copy an array to the host: of cuDF, Torch, CuPy and Numba.
TO_HOST = ("to_numpy", "cpu", "get", "copy_to_host")


def host_copy(value: Any, parameter: Parameter) -> Any:
    """Return a host copy of an array on another device or with only DLPack; any other value as it is."""
    with _reported(value, "a device", parameter):
        kind = _device_of(value)
    if kind is None:
        return value
    if kind in HOST:
        value = value.detach() if hasattr(value, "detach") else value  # Torch: without gradients
        if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
            return value
        with _reported(value, "the host", parameter):
            return np.from_dlpack(value)
    with _reported(value, _named(kind), parameter):
        copied = _copied(value)
    if copied is None:
        ways = ", ".join(TO_HOST[:-1])
        raise parameter.wrong(
            "be in the memory of the host, or have a way to be copied there",
            f"{type(value).__name__} in the memory of {_named(kind)} without a method {ways} or {TO_HOST[-1]}, and "
            "without a DLPack that copies",
        )
    parameter.note(
        f"is in the memory of {_named(kind)}, which this call cannot share: it is copied through the host. "
        "A pyopencl.array.Array is used where it is."
    )
    return copied


def _device_of(value: Any) -> int | None:
    """Return DLPack's number of the memory of a value, None if the value does not give it."""
    if hasattr(value, "__cuda_array_interface__"):
        return 2
    if not hasattr(value, "__dlpack__") or not hasattr(value, "__dlpack_device__"):
        return None
    return int(value.__dlpack_device__()[0])


def _named(kind: int) -> str:
    return DEVICES.get(kind, f"a device that DLPack numbers {kind}")


@contextlib.contextmanager
def _reported(value: object, where: str, parameter: Parameter) -> Iterator[None]:
    """Convert an exception of a library that copies an array to `InvalidInput`."""
    try:
        yield
    except Exception as error:
        raise InvalidInput(
            f"The '{parameter.name}' parameter of {parameter.caller} must be an array of numbers that can be read. "
            f"{type(value).__name__} in the memory of {where}: {error}"
        ) from error


def _wait_for_device(value: Any) -> None:
    """Wait for all streams of the value's device."""
    cuda = sys.modules.get("numba.cuda")
    if is_instance(value, "torch", "Tensor"):
        if value.is_cuda:
            sys.modules["torch"].cuda.synchronize(value.device)
    elif hasattr(getattr(value, "device", None), "synchronize"):  # of CuPy
        value.device.synchronize()
    elif cuda is not None and hasattr(value, "copy_to_host"):
        cuda.synchronize()


def _copied(value: Any) -> np.ndarray | None:
    """Return a copy on the host, None if the value has no known method for it."""
    _wait_for_device(value)
    value = value.detach() if hasattr(value, "detach") else value
    for name in TO_HOST:
        if callable(getattr(value, name, None)):
            return np.asarray(getattr(value, name)())
    cupy = sys.modules.get("cupy")
    if cupy is not None and hasattr(value, "__cuda_array_interface__"):
        return np.asarray(cupy.asarray(value).get())
    if hasattr(value, "__array__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__") and np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        return np.from_dlpack(value, device="cpu", copy=True)
    return None
