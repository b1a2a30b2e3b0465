"""The linker that PoCL needs.

PoCL links every kernel with the program ``ld``, and aborts the process when that fails. So the linker is tried once,
and a note names the one that worked. Where there is no C compiler, it is given the libraries that PoCL names.
"""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from clgeom import caches
from clgeom.errors import NoDevice

if TYPE_CHECKING:
    from clgeom.core.profile import DeviceProfile

#: What PoCL's compiler links kernels with, where a C compiler has installed it.
COMPILER_LIBRARIES = ("/usr/lib*/gcc/*/*/libgcc.a", "/usr/include/stdlib.h")
HOW_TO_LINK = "Install binutils (apt-get install binutils, dnf install binutils)."


def check_linker(profile: DeviceProfile) -> None:
    """Raise `NoDevice` for a device that needs ``ld``, if that is missing, fails, or may not write files."""
    if "needs_ld" not in profile.quirks:
        return
    limit = caches.what_about_limit()
    if limit:
        raise NoDevice(f"The device {profile.name} ({profile.platform}) cannot be used. {limit}")
    linker = shutil.which("ld")
    if linker is None:
        raise NoDevice(
            f"The device {profile.name} ({profile.platform}) cannot be used: it links its kernels with the program "
            f"'ld', which is not on the PATH. {HOW_TO_LINK}"
        )
    found = os.stat(linker)
    known = [os.path.realpath(linker), found.st_size, found.st_mtime_ns]
    if caches.noted("linker").get("links") != known:
        said = _failure_of(linker)
        if said:
            raise NoDevice(
                f"The device {profile.name} ({profile.platform}) cannot be used: it links its kernels with the program "
                f"'ld', and {linker} fails: {said.splitlines()[0]}. {HOW_TO_LINK}"
            )
        caches.note("linker", {"links": known})
    if not all(map(glob.glob, COMPILER_LIBRARIES)):
        _supply_libraries(profile)


def _supply_libraries(profile: DeviceProfile) -> None:
    """Let the linker find empty libraries where no C compiler is installed.

    PoCL passes -lgcc, -lgcc_s and -lc for every kernel, and ends the process where the linker finds none of them.
    Kernels take from them only what is loaded in this process already.
    """
    folder = caches.folder() / "libraries"
    for name in ("gcc", "gcc_s", "c"):
        path = folder / f"lib{name}.a"
        if not path.exists() and not caches.write(path, "!<arch>\n"):  # an archive without members
            raise NoDevice(
                f"The device {profile.name} ({profile.platform}) cannot be used: it links its kernels with libgcc and "
                f"libc, which are missing, and '{folder}' cannot be written. Install a C compiler (apt-get install gcc "
                "libc6-dev)."
            )
    named = os.environ.get("LIBRARY_PATH", "").split(os.pathsep)
    if str(folder) not in named:
        os.environ["LIBRARY_PATH"] = os.pathsep.join([*filter(None, named), str(folder)])


def _failure_of(linker: str) -> str:
    """Return what a linker says when it cannot make and link an object for this machine; empty where it can."""
    import subprocess  # once: long to import

    try:
        with tempfile.TemporaryDirectory(prefix="clgeom-") as folder:
            data, made, library = Path(folder, "data"), Path(folder, "made.o"), Path(folder, "library.so")
            data.write_bytes(b"some bytes")
            for options in (
                ["-r", "-o", str(made), "-b", "binary", str(data)],
                ["-shared", "-o", str(library), str(made)],
            ):
                ended = subprocess.run([linker, *options], capture_output=True, timeout=30, text=True, errors="replace")
                if ended.returncode:
                    return ended.stderr.strip() or f"exit status {ended.returncode}"
            if not library.exists() or _machine(library) != _machine(sys.executable):
                return "it writes no shared library for this machine"
    except subprocess.TimeoutExpired:
        return "it does not end within 30 seconds"
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return ""


def _machine(path: str | Path) -> tuple[bytes, bytes]:
    """Return the magic number, class and byte order in an ELF header, and the machine."""
    with open(path, "rb") as file:
        header = file.read(20)
    return header[:6], header[18:]
