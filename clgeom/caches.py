"""Cache folders: drivers' compiled kernels, pyopencl's tables, our own notes.

Without a writable cache PoCL shows no device, and pyopencl cannot be imported. In that case `prepare` gives both a
folder of the user among the temporary files. Our own notes are small JSON files, and texts are rendered templates; both
only save time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

#: Folders in the user's cache that pyopencl, PoCL and clgeom write to.
USED = ("clgeom", "pocl/kcache", "pyopencl", "pytools")
#: Least free bytes of a cache's file system: PoCL ends the process when it is full, so less counts as read-only.
LEAST_ROOM = 1 << 20
#: Least limit of the size of a file: the largest of a test suite's 4,000 programs had 1/8 of it.
LEAST_FILE = 4 << 20
#: Most texts that are kept.
MOST_TEXTS = 2000


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
    """Return the folder of PoCL's compiled kernels."""
    named = os.environ.get("POCL_CACHE_DIR")
    return Path(named) if named else _usual() / "pocl" / "kcache"


def what_about_tables(error: Exception) -> str:
    """Return the message for a failure of pyopencl to use its cached tables."""
    tables = folder().parent / "pytools"
    return what_about_limit() or (
        f"pyopencl cannot use its tables in the folder '{tables}': {error}. Remove that folder, or let XDG_CACHE_HOME "
        "name another folder."
    )


def remove_tables() -> None:
    """Remove pyopencl's cached tables, which are damaged: it makes them anew."""
    for path in (folder().parent / "pytools").glob("pdict-*pyopencl*"):
        with contextlib.suppress(OSError):
            path.unlink()


def what_about_limit() -> str | None:
    """Return the message for a limit of the size of files that is too small for kernels; None where there is none."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    except (ImportError, AttributeError, OSError, ValueError):
        return None
    if limit == resource.RLIM_INFINITY or limit >= LEAST_FILE:
        return None
    return (
        f"No file may be larger than {limit:,} bytes here (ulimit -f). Compiled kernels take up to {LEAST_FILE:,}, and "
        "PoCL ends the process when it cannot write them. Raise that limit."
    )


def _usual() -> Path:
    """Return the user's cache folder, as PoCL and pyopencl find it on Linux."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def writable(folder: Path) -> bool:
    """Return whether files can be created in a folder, which need not exist yet."""
    if not folder.is_absolute():
        folder = Path.cwd() / folder
    for there in (folder, *folder.parents):
        try:
            mode = there.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            if there.is_symlink():  # to something that is gone
                return False
            continue
        except OSError:
            return False
        return stat.S_ISDIR(mode) and _takes_files(there)
    return False


def _takes_files(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):  # mode bits alone are not enough
            room = os.statvfs(folder)
    except OSError:
        return False
    return room.f_blocks == 0 or room.f_bavail * room.f_frsize >= LEAST_ROOM


def _own_temporary() -> Path:
    """Return a temporary folder that only this user can write to, since kernels in it are executed."""
    shared = Path(tempfile.gettempdir(), f"clgeom-{os.geteuid()}")
    with contextlib.suppress(OSError):
        shared.mkdir(mode=0o700)
    with contextlib.suppress(OSError):
        found = shared.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077:
            return shared
    return Path(tempfile.mkdtemp(prefix="clgeom-"))


# Notes ----------------------------------------------------------------------------------------------------------


def noted(name: str) -> dict[str, Any]:
    """Return the note of this name; empty where there is none or it is unreadable."""
    try:
        found = json.loads((folder() / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def note(name: str, values: dict[str, Any]) -> None:
    """Write a note for later processes atomically. A failure to write is ignored."""
    write(folder() / f"{name}.json", json.dumps(values))


# Texts ----------------------------------------------------------------------------------------------------------


def kept(name: str) -> str | None:
    """Return the text kept under this name; None where there is none, or another than was written."""
    return read_checked(folder() / "texts" / name)


def keep(name: str, text: str) -> None:
    """Keep a text for later processes. When there are too many, all go. A failure to write is ignored."""
    into, present = folder() / "texts", list[str]()
    with contextlib.suppress(OSError):
        present = os.listdir(into)
    for old in present if len(present) >= MOST_TEXTS else ():
        with contextlib.suppress(OSError):
            (into / old).unlink()
    write_checked(into / name, text)


def read_checked(path: Path) -> str | None:
    """Return a text that `write_checked` has written; None where there is none, or another than was written."""
    try:
        digest, _, text = path.read_bytes().decode("utf-8").partition("\n")
    except (OSError, ValueError):
        return None
    return text if digest == digest_of(text) else None


def write_checked(path: Path, text: str) -> bool:
    """Write a text with its digest atomically. Returns whether that succeeded."""
    return write(path, f"{digest_of(text)}\n{text}")


def digest_of(text: str) -> str:
    """Return a digest of a text, for a name or a check."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def write(path: Path, text: str) -> bool:
    """Write a file atomically; returns False where that fails."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        number, made = tempfile.mkstemp(prefix=f"{path.stem}-", dir=path.parent)
        try:
            with open(number, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.replace(made, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(made)
            raise
        return True
    return False
