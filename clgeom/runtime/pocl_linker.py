"""The linker that PoCL needs.

PoCL links every kernel with the program ``ld``, and aborts the process when that fails. So the linker is tried once,
and a note names the one that worked.
"""

from __future__ import annotations

import os
import shutil

from clgeom.errors import NoDevice
from clgeom.runtime import caches

HOW_TO_LINK = "Install binutils (apt-get install binutils, dnf install binutils)."


def check_linker(profile) -> None:
    """Raise `NoDevice` unless the program ``ld`` is there and runs."""
    linker = shutil.which("ld")
    if linker is None:
        raise NoDevice(
            f"The device {profile.name} ({profile.platform}) links its kernels with the program 'ld', which is "
            f"not on the PATH. {HOW_TO_LINK}"
        )
    found = os.stat(linker)
    known = [os.path.realpath(linker), found.st_size, found.st_mtime_ns]
    if caches.noted("linker").get("works") == known:
        return
    import subprocess  # once: long to import

    try:
        ended = subprocess.run([linker, "--version"], capture_output=True, timeout=30, text=True, errors="replace")
        said = "" if ended.returncode == 0 else (ended.stderr.strip() or f"exit status {ended.returncode}")
    except (OSError, subprocess.SubprocessError) as error:
        said = str(error)
    if said:
        raise NoDevice(
            f"The device {profile.name} ({profile.platform}) links its kernels with the program 'ld', and {linker} "
            f"fails: {said.splitlines()[0]}. {HOW_TO_LINK}"
        )
    caches.note("linker", {"works": known})
