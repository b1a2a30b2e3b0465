"""OpenCL drivers: how to install one on this system, and where Intel's CPU runtime from PyPI is."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import site
import sys
import tempfile
from pathlib import Path


def install_hint() -> str:
    """How to install an OpenCL driver on this operating system and processor."""
    if sys.platform == "win32":
        return (
            "The drivers of NVIDIA, AMD and Intel GPUs bring one; 'pip install intel-opencl-rt' adds a CPU device on "
            "x86-64."
        )
    if sys.platform == "darwin":
        return "macOS brings one for its GPU; 'conda install -c conda-forge pyopencl pocl' adds a CPU device."
    if sys.platform == "linux" and platform.machine() == "x86_64":
        cpu = "'pip install pocl-binary-distribution' adds a CPU device"
    else:
        cpu = "the package pocl-opencl-icd of Debian and Ubuntu adds a CPU device"
    return (
        f"On this machine {cpu}; for a GPU install the vendor's OpenCL driver (NVIDIA and AMD drivers bring it; "
        "Intel: intel-opencl-icd)."
    )


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
