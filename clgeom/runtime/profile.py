"""Facts about OpenCL devices: limits, capabilities, known defects."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from clgeom.errors import DeviceLimit

#: Known defects of some devices: (words of platform, driver, vendor and version, quirk, consequence).
QUIRKS = (
    (
        "portable computing language",
        "needs_ld",
        "links every kernel with the system's 'ld' and aborts without it",
    ),
    (
        "portable computing language",
        "vector32",
        "16-wide float and 8-wide double ones break some releases: 32 bytes is the widest used",
    ),
    (
        "pocl hstr: pthread-x86_64-unknown-linux-gnu-generic",
        "unnamed_cpu",
        "does not know processors newer than itself, calls them 'generic', and its compiler refuses that name",
    ),
    (
        "portable computing language 3.0",
        "long_header",
        "reads the declarations of all built-in functions with every program, most of the time of a short build",
    ),
    (
        "nvidia cuda",
        "lost_minus",
        "driver 580 drops the sign of a negated int within two nested minima or maxima (compute capability 9.0)",
    ),
)

KINDS = {1 << 1: "cpu", 1 << 2: "gpu", 1 << 3: "accelerator"}


@dataclass(frozen=True)
class DeviceProfile:
    """Facts about an OpenCL device: limits, capabilities, quirks.

    Sizes are in bytes. `kind` is "gpu", "cpu" or "accelerator". `quirks` names rows of ``QUIRKS``.

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

    @property
    def is_cpu(self) -> bool:
        return self.kind == "cpu"

    @property
    def runtime(self) -> str:
        """Short name of the OpenCL implementation: pocl, nvidia, intel, amd, apple, or the platform's first word."""
        words = f"{self.platform} {self.vendor}".lower()
        for key, name in (
            ("portable computing", "pocl"),
            ("nvidia", "nvidia"),
            ("intel", "intel"),
            ("amd", "amd"),
            ("advanced micro", "amd"),
            ("apple", "apple"),
            ("rusticl", "rusticl"),
        ):
            if key in words:
                return name
        return self.platform.split()[0].lower()

    def asdict(self) -> dict[str, Any]:
        """The profile as plain values, ready for JSON."""
        return {**asdict(self), "quirks": sorted(self.quirks), "runtime": self.runtime}

    def require_fp64(self, what: str) -> None:
        """Raise `DeviceLimit` unless the device computes in float64."""
        if not self.fp64:
            raise DeviceLimit(
                f"{what} needs float64, which {self.name} cannot compute. Pass float32, or another device."
            )


def describe(device) -> DeviceProfile:
    """The profile of a ``pyopencl.Device``."""
    platform = device.platform
    words = f"{platform.name} {device.driver_version} {device.vendor} {device.version}".lower()
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
        fp64="cl_khr_fp64" in device.extensions.split(),
        unified_memory=bool(device.host_unified_memory),
        denormals=bool(device.single_fp_config & 1),  # CL_FP_DENORM: float32 below 2^-126 is not flushed to zero
        quirks=frozenset(quirk for word, quirk, _ in QUIRKS if word in words),
    )
