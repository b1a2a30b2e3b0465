"""OpenCL drivers: how to install one on this system, and where Intel's CPU runtime from PyPI is."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import site
import sys
import tempfile
from importlib import metadata
from pathlib import Path


def install_hint() -> str:
    """How to install an OpenCL driver on this operating system and processor."""
    if sys.platform == "win32":
        cpu = "'pip install intel-opencl-rt' adds a CPU device on x86-64"
    elif sys.platform == "darwin":
        cpu = "'conda install -c conda-forge pyopencl pocl' adds a CPU device"
    elif sys.platform != "linux" or platform.machine() != "x86_64":
        cpu = "the package pocl-opencl-icd of Debian and Ubuntu adds a CPU device"
    elif platform.libc_ver()[0] == "glibc":
        cpu = "'pip install pocl-binary-distribution' adds a CPU device"
    else:
        cpu = "'apk add pocl' adds a CPU device on Alpine"
    return f"On this machine {cpu}. {gpu_hint()}"


def gpu_hint() -> str:
    """Which drivers make a GPU an OpenCL device on this operating system, and where the steps are."""
    if sys.platform == "darwin":
        text = "macOS brings the driver of its GPU."
    elif sys.platform == "win32":
        text = "A GPU needs its vendor's driver: those of NVIDIA, AMD and Intel for Windows contain OpenCL."
    else:
        text = (
            "A GPU needs its vendor's OpenCL driver. NVIDIA: the driver, with libnvidia-opencl.so.1 named in "
            "/etc/OpenCL/vendors/nvidia.icd. AMD: ROCm's OpenCL (rocm-opencl-runtime). Intel: intel-opencl-icd."
        )
    return f"{text} Steps: {platforms_page()}."


def platforms_page() -> str:
    """The address of the page about platforms; its path in the repository where no address is known."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        for entry in metadata.metadata("clgeom").get_all("Project-URL", ()):
            name, _, address = entry.partition(", ")
            if name == "Platforms":
                return address
    return "docs/platforms.rst"


def intel_runtime() -> Path | None:
    """The library of Intel's CPU runtime from PyPI, or None where it is not installed."""
    parts = ("Library", "bin", "intelocl64.dll") if sys.platform == "win32" else ("lib", "libintelocl.so")
    homes = (sys.prefix, site.getuserbase())
    return next((path for home in homes if (path := Path(home, *parts)).exists()), None)


@contextlib.contextmanager
def intel_runtime_found():
    """Let the loader find Intel's CPU runtime from PyPI, which does not register itself.

    On Linux its own .icd file names a path that does not exist: while the loader starts, OCL_ICD_VENDORS names a folder
    with the system's .icd files and one for that runtime. On Windows OCL_ICD_FILENAMES names its library. Neither is
    set if the user has set it, or if the runtime is not installed.
    """
    library = intel_runtime()
    variable = "OCL_ICD_FILENAMES" if sys.platform == "win32" else "OCL_ICD_VENDORS"
    if library is None or variable in os.environ:
        yield
        return
    with contextlib.ExitStack() as ending:
        value = str(library)
        if sys.platform == "win32":
            ending.enter_context(os.add_dll_directory(str(library.parent)))
        else:
            value = ending.enter_context(tempfile.TemporaryDirectory(prefix="clgeom-"))
            for entry in Path("/etc/OpenCL/vendors").glob("*.icd"):
                shutil.copy(entry, value)
            Path(value, "intel-from-pip.icd").write_text(f"{library}\n")
        os.environ[variable] = value
        try:
            yield
        finally:
            del os.environ[variable]  # programs that we start must not inherit a folder that is gone
