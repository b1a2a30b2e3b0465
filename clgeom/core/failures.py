"""Errors of OpenCL as errors of clgeom, so that no raw error reaches a caller."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from clgeom.errors import ClgeomError, DeviceError, DeviceLimit

if TYPE_CHECKING:
    import pyopencl as cl


def failure(device: cl.Device, doing: str, error: Exception) -> ClgeomError:
    """Return the error to raise for a ``pyopencl.Error`` of a device that was to do something: "launch sieve"."""
    import pyopencl as cl

    said = " ".join(str(error).split())
    name = f"{device.name.strip()} ({device.platform.name.strip()})"
    if isinstance(error, cl.MemoryError) or "INVALID_BUFFER_SIZE" in said:
        return DeviceLimit(
            f"{name} has not enough memory left to {doing} ({device.global_mem_size:,} bytes in all). "
            f"OpenCL says: {said}"
        )
    return DeviceError(f"{name} failed to {doing}. OpenCL says: {said}")


class failures:  # noqa: N801 (a context manager, used as a function is)
    """Raise every ``pyopencl.Error`` of the block as one of clgeom's."""

    __slots__ = ("device", "doing")

    def __init__(self, device: cl.Device, doing: str) -> None:
        self.device, self.doing = device, doing

    def __enter__(self) -> failures:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            import pyopencl as cl

            if isinstance(error, cl.Error):
                raise failure(self.device, self.doing, error) from error
