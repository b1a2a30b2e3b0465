"""Facts about OpenCL devices: limits and capabilities."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from clgeom import quirks
from clgeom.errors import DeviceLimit

if TYPE_CHECKING:
    import pyopencl as cl

#: Short names of OpenCL implementations, by a word of platform and vendor.
RUNTIMES = (
    ("portable computing", "pocl"),
    ("rusticl", "rusticl"),
    ("nvidia", "nvidia"),
    ("intel", "intel"),
    ("amd", "amd"),
    ("advanced micro", "amd"),
    ("apple", "apple"),
)
KINDS = {1 << 1: "cpu", 1 << 2: "gpu", 1 << 3: "accelerator"}


@dataclass(frozen=True)
class DeviceProfile:
    """Facts about an OpenCL device: limits, capabilities, quirks.

    Attributes
    ----------
    name, platform, vendor, version, driver : str
        As the driver tells them.
    kind : {"gpu", "cpu", "accelerator"}
    compute_units : int
    max_wg_size : int
        Most work-items of a work-group.
    local_mem_bytes, global_mem_bytes, max_alloc_bytes : int
        Local memory, memory of the device, and its largest buffer.
    fp64, denormals : bool
        Whether it computes in float64, and with subnormal numbers.
    unified_memory : bool
        Whether it shares its memory with the host.
    quirks : frozenset of str
        Names of the device's known defects.
    architecture : str or None
        NVIDIA's compute capability as "sm_90", AMD's "gfx1100", or Intel's IP version as "ip_12.55"; None where the
        driver does not tell.
    number : int
        Counts the devices of one name, platform and driver from 0.
    is_cpu : bool
        Whether `kind` is "cpu".

    Examples
    --------
    >>> import clgeom
    >>> profile = clgeom.default_session().profile
    >>> profile.kind in ("cpu", "gpu", "accelerator"), profile.max_wg_size >= 1
    (True, True)
    """

    name: str
    platform: str
    vendor: str
    version: str
    driver: str
    kind: str
    compute_units: int
    max_wg_size: int
    local_mem_bytes: int
    global_mem_bytes: int
    max_alloc_bytes: int
    fp64: bool
    unified_memory: bool
    denormals: bool
    quirks: frozenset[str] = field(default_factory=frozenset)
    architecture: str | None = None
    number: int = 0

    @functools.cached_property
    def is_cpu(self) -> bool:
        return self.kind == "cpu"

    @property
    def runtime(self) -> str:
        """Short name of the OpenCL implementation: pocl, nvidia, intel, amd, apple, or the platform's first word.

        It is "unknown" where the platform has no name.
        """
        words = f"{self.platform} {self.vendor}".lower()
        for word, name in RUNTIMES:
            if word in words:
                return name
        return next(iter(self.platform.lower().split()), "unknown")

    @property
    def has_wide_waves(self) -> bool:
        """Whether 64 work-items of an AMD GPU execute together; 32 do since gfx1010."""
        return self.runtime == "amd" and len(self.architecture or "gfx900") < len("gfx1010")

    def asdict(self) -> dict[str, Any]:
        """Return the profile as plain values, ready for JSON.

        Returns
        -------
        dict
            By the names of the attributes; `quirks` as a list, and `runtime`.
        """
        return {**asdict(self), "quirks": sorted(self.quirks), "runtime": self.runtime}

    def require_fp64(self, what: str) -> None:
        """Raise `DeviceLimit` unless the device computes in float64.

        Parameters
        ----------
        what : str
            What needs float64, for the message.

        Raises
        ------
        DeviceLimit
            The device does not compute in float64.
        """
        if not self.fp64:
            raise DeviceLimit(
                f"{what} needs float64, which {self.name} cannot compute. Pass float32, or another device."
            )


def describe(device: cl.Device) -> DeviceProfile:
    """Return the profile of a ``pyopencl.Device``."""
    platform = device.platform
    extensions = device.extensions.split()
    words = f"{platform.name} {device.driver_version} {device.vendor} {device.version} {platform.version}".lower()
    kind = next((name for bit, name in KINDS.items() if device.type & bit), "accelerator")
    return DeviceProfile(
        name=device.name.strip(),
        platform=platform.name.strip(),
        vendor=device.vendor.strip(),
        version=device.version.strip(),
        driver=device.driver_version.strip(),
        kind=kind,
        compute_units=device.max_compute_units,
        max_wg_size=device.max_work_group_size,
        local_mem_bytes=device.local_mem_size,
        global_mem_bytes=device.global_mem_size,
        max_alloc_bytes=device.max_mem_alloc_size,
        fp64="cl_khr_fp64" in extensions,
        unified_memory=bool(device.host_unified_memory),
        denormals=bool(device.single_fp_config & 1),  # CL_FP_DENORM: float32 below 2^-126 is not flushed to zero
        quirks=quirks.defects_of(words),
        architecture=_architecture(device, extensions) if kind == "gpu" else None,
        number=_place(device),
    )


def _place(device: cl.Device) -> int:
    """Return the place of a device among those of its platform that have its name and driver."""
    alike = [
        one
        for one in device.platform.get_devices()
        if (one.name, one.driver_version) == (device.name, device.driver_version)
    ]
    return alike.index(device) if device in alike else 0  # a part of a device


# Architecture ---------------------------------------------------------------------------------------------------------

#: AMD's names of instruction sets; features may follow, as in "gfx90a:sramecc+:xnack-".
GFX = re.compile(r"\bgfx[0-9a-f]{3,4}\b")
#: Intel's IP version. PyOpenCL does not know this number.
IP_VERSION_INTEL = 0x4250


def _architecture(device: cl.Device, extensions: list[str]) -> str | None:
    """Return the architecture of a GPU, None where its driver does not tell or fails."""
    import pyopencl as cl

    try:
        if "cl_nv_device_attribute_query" in extensions:
            return f"sm_{device.compute_capability_major_nv}{device.compute_capability_minor_nv}"
        if "cl_intel_device_attribute_query" in extensions:
            version = _number(device, IP_VERSION_INTEL)
            return f"ip_{version >> 22}.{version >> 14 & 0xFF}" if version else None  # what follows is the stepping
        found = GFX.search(device.name)
        if found is None and "cl_amd_device_attribute_query" in extensions:
            found = GFX.search(device.board_name_amd)
    except (cl.Error, AttributeError, OSError):
        return None
    return found.group() if found else None


def _number(device: cl.Device, parameter: int) -> int | None:
    """Return the cl_uint of clGetDeviceInfo for a parameter; None where the device has no such parameter."""
    import ctypes
    import importlib

    # the loader that pyopencl is linked with, which knows its devices; Windows has one for all
    loader = ctypes.CDLL("OpenCL.dll" if os.name == "nt" else importlib.import_module("pyopencl._cl").__file__)
    value = ctypes.c_uint32(0)
    ask = loader.clGetDeviceInfo
    ask.argtypes = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)
    failed = ask(device.int_ptr, parameter, ctypes.sizeof(value), ctypes.byref(value), None)
    return None if failed else value.value
