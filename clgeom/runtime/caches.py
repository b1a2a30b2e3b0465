"""Cache folders: drivers' compiled kernels, pyopencl's tables, our own notes.

PoCL shows no device where its cache cannot be written, and pyopencl cannot be imported: `prepare` gives both a folder
of the user's own among the temporary files then. Our own notes are small JSON files, which save time only.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import tempfile
from pathlib import Path

#: Folders of the user's cache that are written to, by pyopencl, PoCL and us.
USED = ("clgeom", "pocl/kcache", "pyopencl", "pytools")
#: A cache on a file system with less room than this is as good as read-only: PoCL ends the process when it is full.
LEAST_ROOM = 1 << 20


def prepare() -> None:
    """Point environment variables to writable caches, before the first use of pyopencl and OpenCL."""
    if os.name != "posix":
        return
    if not all(writable(_usual() / used) for used in USED):
        with contextlib.suppress(OSError):
            os.environ["XDG_CACHE_HOME"] = str(_own_temporary())
    pocl = os.environ.get("POCL_CACHE_DIR")
    if pocl and not writable(Path(pocl)):
        with contextlib.suppress(OSError):
            os.environ["POCL_CACHE_DIR"] = str(_own_temporary() / "pocl")


def folder() -> Path:
    """Our folder in the user's cache; it may not exist."""
    if sys.platform == "darwin" or os.name == "nt":
        import platformdirs

        return Path(platformdirs.user_cache_dir("clgeom", appauthor=False))
    return _usual() / "clgeom"


def pocl_folder() -> Path:
    """Where PoCL keeps compiled kernels."""
    named = os.environ.get("POCL_CACHE_DIR")
    return Path(named) if named else _usual() / "pocl" / "kcache"


def what_about_tables(error) -> str:
    """The message for a failure of pyopencl to use its cached tables."""
    tables = folder().parent / "pytools"
    return (
        f"pyopencl cannot use its tables in the folder '{tables}': {error}. Remove that folder, or let XDG_CACHE_HOME "
        "name another place."
    )


def _usual() -> Path:
    """The user's cache, as PoCL and pyopencl find it on Linux."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def writable(folder: Path) -> bool:
    """Whether files can be created in a folder, which need not exist yet."""
    if not folder.is_absolute():
        folder = Path.cwd() / folder
    for there in (folder, *folder.parents):
        try:
            mode = there.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return False
        return stat.S_ISDIR(mode) and _takes_files(there)
    return False


def _takes_files(folder) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):  # the mode bits do not decide alone
            room = os.statvfs(folder)
    except OSError:
        return False
    return room.f_blocks == 0 or room.f_bavail * room.f_frsize >= LEAST_ROOM


def _own_temporary() -> Path:
    """A folder among the temporary files that nobody else can write to: kernels in it are run."""
    shared = Path(tempfile.gettempdir(), f"clgeom-{os.geteuid()}")
    with contextlib.suppress(OSError):
        shared.mkdir(mode=0o700)
    with contextlib.suppress(OSError):
        found = shared.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077:
            return shared
    return Path(tempfile.mkdtemp(prefix="clgeom-"))


# Notes ----------------------------------------------------------------------------------------------------------


def noted(name: str) -> dict:
    """The note of this name; empty where there is none or it is unreadable."""
    try:
        found = json.loads((folder() / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def note(name: str, values: dict) -> None:
    """Write a note for later processes, whole or not at all. A failure to write is no error."""
    into = folder()
    with contextlib.suppress(OSError):
        into.mkdir(parents=True, exist_ok=True)
        number, made = tempfile.mkstemp(prefix=f"{name}-", dir=into)
        try:
            with open(number, "w", encoding="utf-8") as file:
                json.dump(values, file)
            os.replace(made, into / f"{name}.json")
        except OSError:
            os.unlink(made)
