"""The environment of PoCL: a linker that works, and a kernel cache without broken files.

PoCL links every kernel with the program ``ld``, and loads what it has linked from its cache. It aborts the process
when either fails, so both are checked before a kernel is built. The linker runs once, and a note names the linker that
worked. The cache is checked when files may have been lost: after a start of the machine, and after a process with PoCL
was killed. Broken kernels are removed, and PoCL builds them again.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
from pathlib import Path

from clgeom.errors import NoDevice
from clgeom.runtime import caches

HOW_TO_LINK = "Install binutils (apt-get install binutils, dnf install binutils)."
#: A file with a value that changes with every start of the machine.
BOOT = Path("/proc/sys/kernel/random/boot_id")


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


def mend_cache() -> int:
    """Remove broken kernels from PoCL's cache, if there may be any; returns their number.

    Remembers that this process uses PoCL until it ends by itself.
    """
    marks, here = caches.folder() / "running", str(os.getpid())
    doubtful = _new_boot()
    with contextlib.suppress(OSError):
        marks.mkdir(parents=True, exist_ok=True)
        for mark in os.listdir(marks):
            if mark != here and not _runs(mark):
                doubtful = True
                (marks / mark).unlink(missing_ok=True)
        if not (marks / here).exists():
            (marks / here).touch()
            atexit.register(_ended, marks / here, os.getpid())
    return _remove_broken(caches.pocl_folder()) if doubtful else 0


def _ended(mark, pid):
    if os.getpid() == pid:  # a forked child did not create the mark
        with contextlib.suppress(OSError):
            mark.unlink()


def _runs(mark) -> bool:
    try:
        os.kill(int(mark), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except OSError:  # of another user
        pass
    return True


def _new_boot() -> bool:
    """Whether the machine was started since the last time this was asked."""
    try:
        boot = BOOT.read_text().strip()
    except OSError:
        return False
    if caches.noted("boot").get("id") == boot:
        return False
    caches.note("boot", {"id": boot})
    return True


def _remove_broken(top) -> int:
    """Remove the programs of a cache that have a truncated file: ``top/xx/program/kernel/shape/kernel.so``."""
    broken = 0
    for group in _folders(top):
        for program in _folders(group):
            kernels = (
                entry for shape in map(_folders, _folders(program)) for folder in shape for entry in _files(folder)
            )
            if not all(map(_is_whole, kernels)) or _is_empty(program / "program.bc"):
                shutil.rmtree(program, ignore_errors=True)
                broken += 1
    return broken


def _folders(path):
    with contextlib.suppress(OSError):
        return [path / entry.name for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
    return []


def _files(path):
    with contextlib.suppress(OSError):
        return [path / entry.name for entry in os.scandir(path) if entry.name.endswith(".so")]
    return []


def _is_empty(path) -> bool:
    try:
        return path.stat().st_size == 0
    except OSError:
        return False


def _is_whole(path) -> bool:
    """Whether a shared library of 64 bits is as long as its own header says."""
    try:
        with open(path, "rb") as file:
            header, size = file.read(64), file.seek(0, os.SEEK_END)
    except OSError:
        return True
    if len(header) < 64 or header[:4] != b"\x7fELF":
        return False
    table, entry, entries = (int.from_bytes(header[at:end], "little") for at, end in ((40, 48), (58, 60), (60, 62)))
    return header[4] != 2 or table + entry * entries <= size
