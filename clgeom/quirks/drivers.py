"""OpenCL drivers: how to install one on this system, and where Intel's CPU runtime from PyPI is."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
import shutil
import site
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from clgeom import caches

if TYPE_CHECKING:
    from clgeom.core.profile import DeviceProfile

#: The line of Intel's ``cl.cfg`` that names the folder of TBB, where it names none.
NO_TBB_FOLDER = re.compile(r"^([ \t]*CL_CONFIG_TBB_DLL_PATH[ \t]*=)[ \t]*(?=\r?$)", re.MULTILINE)
#: Texts with which a caller asks for a GPU by its kind, or by its vendor.
GPU_WORDS = re.compile(r"gpu|nvidia|cuda|geforce|rtx|amd|radeon|rocm|intel|arc", re.IGNORECASE)

#: Time of calls with CPU drivers beside that with PoCL 3.0: geometric means of bench/results/drivers-pocl.json.
MEAN_TIMES = {"PoCL 3.0": 1.0, "PoCL 3.1": 1.04, "Intel's CPU runtime": 1.93}
#: A driver is called slower from this ratio to the fastest on.
ALIKE = 1.1


def fastest_cpu_driver(profiles: Iterable[DeviceProfile]) -> str | None:
    """Return a sentence about the fastest of the CPU drivers present; None where none is slower."""
    words: dict[str, str] = {}  # by which --device chooses them
    for profile in profiles:
        name = "Intel's CPU runtime" if profile.runtime == "intel" else f"PoCL {profile.driver[:3]}"
        if profile.is_cpu and profile.runtime in ("pocl", "intel") and name in MEAN_TIMES:
            words[name] = "Intel" if profile.runtime == "intel" else profile.driver
    best, *others = sorted(words, key=MEAN_TIMES.__getitem__) or [""]
    ratios = {name: MEAN_TIMES[name] / MEAN_TIMES[best] for name in others}
    slower = " and ".join(f"{ratio:.1f} times as long with {name}" for name, ratio in ratios.items() if ratio > ALIKE)
    if not slower:
        return None
    return f"{best} is the fastest CPU driver here (--device {words[best]!r}): calls take {slower} on average."


def no_device_message(platforms: Sequence[str]) -> str:
    """Return the message for a machine without a device, whose drivers show these platforms."""
    if not platforms:
        return f"No OpenCL device was found: no OpenCL driver is installed. {install_hint()}"
    text = f"No OpenCL device was found: the installed drivers show none. They are: {'; '.join(platforms)}. "
    if "Portable" in text:
        text += (
            f"PoCL shows none where it cannot write to its cache, '{caches.pocl_folder()}': let POCL_CACHE_DIR or "
            "XDG_CACHE_HOME name a folder that can be written. "
        )
    if sys.platform == "win32" and intel_runtime():
        text += f"{intel_hint()} "
    return text + "A GPU's driver shows none where its device files (/dev/dri, /dev/nvidia*) cannot be opened."


def install_hint() -> str:
    """Return how to install an OpenCL driver on this operating system and processor."""
    if sys.platform == "win32":
        if intel_runtime():
            return f"{intel_hint()} {gpu_hint()}"
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


def intel_hint() -> str:
    """Why Intel's installed CPU runtime may show no device on Windows."""
    return (
        "Intel's CPU runtime is installed. In an elevated terminal (as administrator) the OpenCL loader ignores it: "
        "use another terminal. It also needs the Visual C++ redistributable of Microsoft (MSVCP140.dll)."
    )


def gpu_hint() -> str:
    """Return which drivers make a GPU an OpenCL device on this operating system, and where the steps are."""
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
    """Return the address of the page about platforms; its path in the repository where no address is known."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        for entry in metadata.metadata("clgeom").get_all("Project-URL", ()):
            name, _, address = entry.partition(", ")
            if name == "Platforms":
                return str(address)
    return "docs/platforms.rst"


def intel_runtime() -> Path | None:
    """Return the library of Intel's CPU runtime from PyPI, or None where it is not installed."""
    parts = ("Library", "bin", "intelocl64.dll") if sys.platform == "win32" else ("lib", "libintelocl.so")
    homes = (sys.prefix, site.getuserbase())
    return next((path for home in homes if (path := Path(home, *parts)).exists()), None)


@contextlib.contextmanager
def platform_discovery() -> Iterator[None]:
    """Let the loader find Intel's CPU runtime from PyPI, which does not register itself.

    On Linux its own .icd file names a path that does not exist: while the loader starts, OCL_ICD_VENDORS names a folder
    with the system's .icd files and one for that runtime. On Windows OCL_ICD_FILENAMES names its library, and
    `prepare_on_windows` lets it find TBB. Neither is set if the user has set it, or if the runtime is not installed.
    """
    library = intel_runtime()
    variable = "OCL_ICD_FILENAMES" if sys.platform == "win32" else "OCL_ICD_VENDORS"
    if library is None or variable in os.environ:
        yield
        return
    with contextlib.ExitStack() as ending:
        value = str(library)
        if sys.platform == "win32":
            prepare_on_windows(library.parent)
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


@functools.cache
def prepare_on_windows(folder: Path) -> str:
    """Let Intel's runtime in this folder find TBB, which it loads at a device's first use; returns what was done.

    Its ``cl.cfg`` names the folder of TBB. In the wheel that line is empty, and only conda fills it. The folder stays
    among the process's DLL directories, and in PATH.
    """
    os.add_dll_directory(str(folder))  # type: ignore[attr-defined]  # exists on Windows only
    if str(folder) not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("PATH"))))
    return _tbb_named(folder)


def _tbb_named(folder: Path) -> str:
    """Write the folder of TBB into ``cl.cfg``, if it names none; returns what was done."""
    config, tbb = folder / "cl.cfg", folder / "tbb12.dll"
    try:
        text = config.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        return f"{config} cannot be read: {error}"
    if not NO_TBB_FOLDER.search(text):
        return f"{config} has no empty line of TBB's folder: left as it is"
    if not tbb.exists():
        return f"{config} names no folder of TBB, and {tbb} does not exist: reinstall the package tbb"
    path = folder.as_posix()
    by_hand = f"CL_CONFIG_TBB_DLL_PATH = {path}"
    if not path.isascii():
        return f"{config} names no folder of TBB, and the folder's name is not ASCII: add '{by_hand}' yourself"
    if not caches.write(config, NO_TBB_FOLDER.sub(lambda line: f"{line[1]} {path}", text, count=1)):
        return f"{config} names no folder of TBB, and cannot be written: add '{by_hand}' yourself"
    return f"the folder of TBB, {path}, was written to {config}"


def intel_notes() -> dict[str, str]:
    """Return where Intel's runtime from PyPI is, and on Windows whether it finds TBB: facts for a report, by name."""
    library = intel_runtime()
    if library is None:
        return {}
    notes = {"library": str(library)}
    if sys.platform == "win32":
        used = "OCL_ICD_FILENAMES" not in os.environ
        notes["TBB"] = prepare_on_windows(library.parent) if used else "not prepared: OCL_ICD_FILENAMES is set"
    return notes
