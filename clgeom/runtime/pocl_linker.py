"""The linker that PoCL needs.

PoCL links every kernel with the program ``ld``, and aborts the process when that fails. So the linker is tried once,
and a note names the one that worked.
"""

from __future__ import annotations

import os
import shutil
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
    """What a linker says when it cannot link a shared library of some bytes; empty where it can."""
    import subprocess  # once: long to import

    try:
        with tempfile.TemporaryDirectory(prefix="clgeom-") as folder:
            data, library = Path(folder, "data"), Path(folder, "library.so")
            data.write_bytes(b"some bytes")
            command = [linker, "-shared", "-o", library, "-b", "binary", data]
            ended = subprocess.run(command, capture_output=True, timeout=30, text=True, errors="replace")
            if ended.returncode:
                return ended.stderr.strip() or f"exit status {ended.returncode}"
            if not library.exists() or library.read_bytes()[:4] != b"\x7fELF":
                return "it writes no shared library"
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return ""
