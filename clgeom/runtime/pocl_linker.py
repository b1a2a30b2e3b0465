"""The linker that PoCL needs.

PoCL links every kernel with the program ``ld``, and aborts the process when that fails. So the linker is tried once,
and a note names the one that worked.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from clgeom.errors import NoDevice
from clgeom.runtime import caches

HOW_TO_LINK = "Install binutils (apt-get install binutils, dnf install binutils)."


def check_linker(profile) -> None:
    """Raise `NoDevice` unless the program ``ld`` is there and links, and files may be large enough."""
    limit = caches.what_about_limit()
    if limit:
        raise NoDevice(f"The device {profile.name} ({profile.platform}) cannot be used. {limit}")
    linker = shutil.which("ld")
    if linker is None:
        raise NoDevice(
            f"The device {profile.name} ({profile.platform}) links its kernels with the program 'ld', which is "
            f"not on the PATH. {HOW_TO_LINK}"
        )
    found = os.stat(linker)
    known = [os.path.realpath(linker), found.st_size, found.st_mtime_ns]
    if caches.noted("linker").get("links") == known:
        return
    said = _failure_of(linker)
    if said:
        raise NoDevice(
            f"The device {profile.name} ({profile.platform}) links its kernels with the program 'ld', and {linker} "
            f"fails: {said.splitlines()[0]}. {HOW_TO_LINK}"
        )
    caches.note("linker", {"links": known})


def _failure_of(linker) -> str:
    """What a linker says when it cannot make an object of some bytes, and link it; empty where it can.

    The library must be one for this machine: its header has the class, byte order and machine of Python's own.
    """
    import subprocess  # once: long to import

    try:
        with tempfile.TemporaryDirectory(prefix="clgeom-") as folder:
            data, made, library = Path(folder, "data"), Path(folder, "made.o"), Path(folder, "library.so")
            data.write_bytes(b"some bytes")
            for options in (["-r", "-o", made, "-b", "binary", data], ["-shared", "-o", library, made]):
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


def _machine(path) -> tuple[bytes, bytes]:
    """The magic number, class and byte order in an ELF header, and the machine."""
    with open(path, "rb") as file:
        header = file.read(20)
    return header[:6], header[18:]
